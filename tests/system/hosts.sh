#!/bin/bash
# Hostfiles over real ssh servers: four hosts with networks, names, users and processors of their own.
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"
# shellcheck source=tests/lib/ssh-hosts.sh
. "$KEEL_TEST_SRCDIR/tests/lib/ssh-hosts.sh"
forget_launchers

run_on_head()
{
    run_limited 30 "${on_first[@]}" "$keelrun" --mca plm_rsh_agent "$ssh_agent -o ConnectTimeout=5" "$@"
}

# places TITLE EXPECTED OPTION...: "HOST*RANKS", as each rank's own host calls itself.
places()
{
    local title=$1 expected=$2
    shift 2
    run_on_head "$@" hostname
    is "$title" "0 $expected" \
        "$code $(sort "$work/out" | uniq -c | awk '{ printf "%s%s*%d", (NR > 1 ? " " : ""), $2, $1 }')"
}

# refused TITLE PATTERN OPTION...
refused()
{
    local title=$1 pattern=$2
    shift 2
    run_on_head "$@" touch "$work/ran"
    is "$title: exit code" 125 "$code"
    like "$title: the reason" "$work/err" "^keelrun: $pattern\$"
    ok "$title: nothing has run" not test -e "$work/ran"
}

hostfiles()
{
    printf '# the rack\nn[1-2] slots=2\nworker@n3 slots=1 max_slots=2 # its own user\n' >"$work/rack"
    printf 'head slots=1\nn1 slots=1\n' >"$work/near"
    places "all slots of a hostfile" "n1*2 n2*2 n3*1" --hostfile "$work/rack"
    places "with keelrun's own host" "head*1 n1*3 n2*2 n3*1" --hostfile "$work/near" --hostfile "$work/rack"
    places "by node" "n1*1 n2*1 n3*1" --hostfile "$work/rack" --map-by node -n 3
    places "without keelrun's own host" "n1*1" --hostfile "$work/near" --nolocal
    places "--host chooses" "n2*1 n3*1" --hostfile "$work/rack" --host n2:1,n3
    places "a relative node" "n3*1" --hostfile "$work/rack" --host +n2
    places "overflow, and not beyond max_slots" "n1*3 n2*3 n3*2" --hostfile "$work/rack" --oversubscribe -n 8
    places "a sequence" "n1*1 n2*2 n3*1" --hostfile "$work/rack" --map-by "seq:FILE=$work/sequence"
    refused "more ranks than slots" "6 ranks are more than the 5 slots that were given; --oversubscribe allows it" \
        --hostfile "$work/rack" -n 6
    refused "a host outside" "host head is not in the hostfile $work/rack" --hostfile "$work/rack" --host head
}

users()
{
    # shellcheck disable=SC2016 # for the ranks' shell
    run_on_head --hostfile "$work/rack" --map-by node -n 3 sh -c 'echo $(hostname) $LOGNAME'
    is "users: exit code" 0 "$code"
    is "users: each host's own" "n1 $(id -un) n2 $(id -un) n3 worker" "$(sort "$work/out" | xargs)"
    run_on_head --host nobody-here@n2:1 true
    is "a user who is not there: exit code" 125 "$code"
    like "a user who is not there: ssh names user and host" "$work/err" 'nobody-here@10\.98\.0\.2: Permission denied'
    like "a user who is not there: keelrun names the host" "$work/err" "^keelrun: node n2: "
}

# Ranks of all hosts talk to each other: none of them but head knows the others by name.
talk()
{
    printf 'head slots=1\nn[1-2] slots=2\nn3 slots=1\n' >"$work/all"
    run_on_head --hostfile "$work/all" "$handoff"
    is "data between all hosts: exit code" 0 "$code"
    like "data between all hosts" "$work/out" '^handoff: 6 ranks, 12 transfers, [0-9]+ bytes, 0 errors$'
}

# The daemon of the second host is started for the children.
spawns()
{
    local spawner=$KEEL_TEST_BUILDDIR/tests/pmix/spawn
    if [ ! -e "$KEEL_TEST_BUILDDIR/lib/keel-pmix.la" ]; then
        skip "ranks are spawned on a host without a daemon" "there is no libpmix"
        return
    fi
    excuse_libpmix
    run_on_head --hostfile "$work/rack" --host n1:1,n2:1 -x LSAN_OPTIONS -n 1 "$spawner" "$spawner"
    is "ranks are spawned on a host without a daemon" "0 child: 2 ranks passed spawn: 1 ranks passed" \
        "$code $(sort "$work/out" | xargs)"
}

# n1 has the first processor, n2 the last.
bindings()
{
    local where="echo \$(hostname) \$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)"
    run_on_head --hostfile "$work/rack" --host n1:1,n2:1 --bind-to core sh -c "$where"
    is "bound: exit code" 0 "$code"
    is "bound to each host's own processors" "n1 $KEEL_TEST_CPUS_n1 n2 $KEEL_TEST_CPUS_n2" \
        "$(sort "$work/out" | xargs)"
    printf 'n1\nn2\n' >"$work/counted"
    places "slots that the hosts count" "n1*1 n2*1" --hostfile "$work/counted"
    printf 'rank 0 = n2\nrank 1=n1 slot = 0\n' >"$work/ranks"
    run_on_head --hostfile "$work/rack" --rankfile "$work/ranks" sh -c "$where \$KEEL_RANK"
    is "a rankfile: exit code" 0 "$code"
    is "a rankfile" "n1 $KEEL_TEST_CPUS_n1 1 n2 $KEEL_TEST_CPUS_n2 0" "$(sort "$work/out" | xargs)"
    refused "more ranks than processors there" \
        "node n2: 2 ranks would be bound to core [0-9]+, which has 1 processor; .*" \
        --hostfile "$work/rack" --host n2:2 --bind-to core
}

dead_hosts()
{
    printf 'n1 slots=1\ngone slots=1\n' >"$work/gone"
    on_host head sh -c "echo 10.98.0.99 gone >>/etc/hosts"
    run_on_head --hostfile "$work/gone" touch "$work/ran"
    is "a host that is switched off: exit code" 125 "$code"
    like "a host that is switched off: ssh says why" "$work/err" "connect to host gone port 22"
    like "a host that is switched off: keelrun names it" "$work/err" "^keelrun: node gone: "
    not_named "a host that is switched off" n1

    printf 'n1 slots=1\nunheard slots=1\n' >"$work/unheard"
    run_on_head --hostfile "$work/unheard" touch "$work/ran"
    is "a name that nobody has: exit code" 125 "$code"
    like "a name that nobody has: ssh says why" "$work/err" "resolve hostname unheard"
    like "a name that nobody has: keelrun names it" "$work/err" "^keelrun: node unheard: "
    not_named "a name that nobody has" n1
    ok "without a host no rank has run" not test -e "$work/ran"

    on_host n2 ip link set v0 down
    run_on_head --hostfile "$work/rack" true
    is "a host whose cable is out: exit code" 125 "$code"
    like "a host whose cable is out: keelrun names it" "$work/err" "^keelrun: node n2: "
    not_named "a host whose cable is out" n3
    on_host n2 ip link set v0 up
    wait_for 10 answers n2
    places "it is plugged in again" "n1*2 n2*2 n3*1" --hostfile "$work/rack"
}

not_named()
{
    ok "$1: no other host is blamed" not grep -q "^keelrun: .*node $2\b" "$work/err"
}

# A user on n3, with an id of its own if that may run what is tested, and a key that every user may read.
add_worker()
{
    local id=4711
    setpriv --reuid $id --regid $id --clear-groups test -x "$keeld" 2>/dev/null || id=0
    { cat /etc/passwd && echo "worker:x:$id:$id::/tmp:/bin/sh"; } | replace_on n3 /etc/passwd
    on_host n3 cp "$work/user-key.pub" /tmp/authorized
    stop_serving n3
    serve n3 "Match User worker" "AuthorizedKeysFile /tmp/authorized"
    wait_for 10 answers n3
    list_hosts >"$work/files-of-hosts"
}

KEEL_TEST_CPUS_n1=$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')
KEEL_TEST_CPUS_n2=$(taskset -cp $$ | sed 's/.*[ ,-]//')
export KEEL_TEST_CPUS_n1 KEEL_TEST_CPUS_n2
printf 'n2\nn1\nn2\nn3\n' >"$work/sequence"
if make_ssh_hosts head n{1..3}; then
    add_worker
    hostfiles
    users
    talk
    spawns
    bindings
    dead_hosts
    no_files_left "no file is left on any host"
else
    skip "hostfiles over ssh" "$reason"
fi
finish
