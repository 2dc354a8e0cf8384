#!/bin/bash
# Where ranks run, as users say it: hostfiles over a real ssh server in a network of its own, --host, --app,
# the nodes that resource managers tell, a site's defaults, and what is refused.
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"
cd "$work" || exit 1
unset "${!PBS_@}" "${!LSB_@}" PE_HOSTFILE JOB_ID "${!SLURM@}"

printf '#!/bin/sh\nshift\nexec "$@"\n' >"$work/agent"
chmod +x "$work/agent"
agent=(--mca plm_rsh_agent "$work/agent")

# where: "NODE*RANKS" of each node, in the order of their names.
where()
{
    sort "$work/out" | uniq -c | awk '{ printf "%s%s*%d", (NR > 1 ? " " : ""), $2, $1 }'
}

# places TITLE EXPECTED OPTION...: the nodes of the ranks of a job.
places()
{
    local title=$1 expected=$2
    shift 2
    run_limited 20 "$keelrun" "${agent[@]}" "$@" sh -c 'echo $KEEL_NODE'
    is "$title" "0 $expected" "$code $(where)"
}

# refused CODE TITLE PATTERN OPTION...: one line that says why, and no rank.
refused()
{
    local expected=$1 title=$2 pattern=$3
    shift 3
    run_limited 20 "$keelrun" "${agent[@]}" "$@" sh -c "echo >>$work/ran"
    is "$title: exit code, and one line" "$expected 1" "$code $(wc -l <"$work/err")"
    like "$title: the reason" "$work/err" "^keelrun: $pattern\$"
    ok "$title: nothing has run" not test -e "$work/ran"
}

# --- hostfiles ---

hostfiles()
{
    printf '# the first rack\nn[01-02] slots=2 # two each\n\n' >one
    printf 'u1@m1:1\nu1@m[2-3] slots=1 max_slots=2\n' >two
    places "two hostfiles" "m1*1 m2*1 m3*1 n01*2 n02*2" --hostfile one -f two
    places "a hostfile twice adds slots up" "n01*4 n02*4" --hostfile one --machinefile one
    places "fewer ranks" "n01*2 n02*1" --hostfile one -n 3
    places "by node" "m1*1 n01*1 n02*1" --hostfile one --hostfile two --bynode -n 5 --host n01,n02,m1:1 -n 3
    places "--host chooses from the hostfile" "m1*1 n02*2" --hostfile one --hostfile two --host n02,m1
    places "--host with slots chooses some" "n02*1" --hostfile one --host n02:1
    places "a range of --host chooses" "m2*1 m3*1" --hostfile two --host 'm[2-3]'
    places "a relative node" "n02*2" --hostfile one --host +n1
    places "a relative node among others" "m1*1 n01*2" --hostfile one --hostfile two --host +n2,+n0
    places "an empty node" "n01*1 n02*1" --hostfile one -n 1 --host +n0 sh -c 'echo $KEEL_NODE' : -n 1 --host +e
    places "as many empty nodes as are asked for" "n01*1 n02*2" --hostfile one --hostfile two \
        -n 1 --host +n0 sh -c 'echo $KEEL_NODE' : --host +e:1
    places "ranks for each node" "n01*1 n02*1" --hostfile one -N 1
    places "overflow, a node in turn, and not beyond max_slots" "m1*3 m2*2 m3*2" \
        --hostfile two --oversubscribe -n 7
    refused 125 "beyond max_slots" ".*8 ranks.*" --hostfile two --oversubscribe -n 8 --host m2,m3
    refused 125 "more ranks than slots" \
        "5 ranks are more than the 4 slots that were given; --oversubscribe allows it" --hostfile one -n 5
    refused 125 "a host outside of the hostfile" "host n03 is not in the hostfile one" --hostfile one --host n01,n03
    refused 125 "a host outside of two" "host alpha is not in the hostfile one, two" \
        --hostfile one --hostfile two --host alpha
    printf 'alpha\nbeta\n' >names
    refused 125 "a host that is nearly in the hostfile" "host alfa is not in the hostfile names; the nearest is alpha" \
        --hostfile names --host alfa
    refused 125 "a relative node that is not there" \
        "host \+n2 is not in the hostfile one, which has 2 nodes, \+n0 to \+n1" --hostfile one --host +n2
    refused 125 "a relative node of nothing" "host \+n1 counts the nodes of an allocation or a hostfile, .*" --host +n1
    printf 'a slots=2\nu1@a\nu2@a\n' >users
    refused 2 "a host with two users" "--hostfile users:3: 'u2@a': for this host another user, u1, is named already" \
        --hostfile users
}

# The agent gets the user along with the name; ranks and messages have the name alone.
users()
{
    printf '#!/bin/sh\necho "$1" >>%q/called\nshift\nexec "$@"\n' "$work" >"$work/recorder"
    chmod +x "$work/recorder"
    printf 'm1\nm2 slots=1\n' >plain
    agent=(--mca plm_rsh_agent "$work/recorder")
    places "users in a hostfile" "m1*1 m2*1 m3*1" -f two
    is "users in a hostfile: the agent logs in as them" "u1@m1 u1@m2 u1@m3" "$(sort called | xargs)"
    rm called
    places "a user of --host" "m1*1 m2*1" --host u2@m1:1,m2:1
    is "a user of --host: the agent logs in as it" "m2 u2@m1" "$(sort called | xargs)"
    agent=(--mca plm_rsh_agent "$work/agent")
    refused 2 "a user that would be an option" "--host '-oProxyCommand=x@m1': USER@NAME is needed, .*" \
        --host=-oProxyCommand=x@m1
}

# --- --app, and a site's defaults ---

app_files()
{
    # shellcheck disable=SC2016
    printf '%s\n' '# two programs' '-n 1 --host n01 sh -c '\''echo "first $KEEL_NODE"'\' '-n 2 --host n02 sh -c '\''echo "second $KEEL_NODE"'\' \
        >app
    for option in --app -configfile; do
        run_limited 20 "$keelrun" "${agent[@]}" --hostfile one $option app
        is "$option" "0 first n01 second n02 second n02" "$code $(sort "$work/out" | xargs)"
    done
    printf -- '-n 1 true\n-n two true\n' >app
    run_limited 20 "$keelrun" --app app
    is "a line of an --app file that makes no sense" \
        "2 keelrun: app:2: -n 'two': a whole number from 1 to 1048576 is needed" "$code $(cat "$work/err")"
}

defaults()
{
    mkdir -p config/keel
    printf 'hostfile = %s\nmap_by = node\n' "$work/one" >config/keel/keel.conf
    export XDG_CONFIG_HOME=$work/config
    places "a default hostfile and mapping of keel.conf" "n01*1 n02*1" -n 2
    places "--map-by in place of the default" "n01*2" -n 2 --map-by slot
    places "--hostfile in place of the default" "m1*1" -n 1 --hostfile two
    printf 'hostfile = %s\n' "$work/nowhere" >config/keel/keel.conf
    refused 2 "a default hostfile that is not there" \
        "the parameter hostfile: $work/nowhere: No such file or directory" -n 1
    printf 'orte_default_hostfile = %s\nrmaps_base_mapping_policy = ppr:1:node\nrmaps_base_oversubscribe = 1\n' \
        "$work/one" >config/keel/keel.conf
    places "the defaults by Open MPI's names" "n01*1 n02*1"
    unset XDG_CONFIG_HOME
}

# --- resource managers ---

# in_job TITLE VARIABLE=VALUE...: n1 with two slots and n2 with one, and what is refused there.
in_job()
{
    local title=$1 name
    shift
    for name in "$@"; do export "${name?}"; done
    places "$title: all slots" "n1*2 n2*1"
    places "$title: by node" "n1*1 n2*1" -n 2 --map-by node
    places "$title: --host" "n2*1" --host n2
    places "$title: a relative node" "n2*1" --host +n1
    printf 'n2 slots=1\n' >some
    places "$title: a hostfile chooses" "n2*1" --hostfile some
    places "$title: oversubscribed" "n1*3 n2*1" --oversubscribe -n 4
    refused 125 "$title: more ranks" "4 ranks are more than the 3 slots that were given; --oversubscribe allows it" -n 4
    printf 'n1\nn3\n' >some
    refused 125 "$title: a hostfile of others" \
        "host n3 is not in the allocation of ${title% *}'s job 4711" --hostfile some
    refused 125 "$title: more slots than given" "host n2: 2 slots are more than the 1 that ${title% *}'s job 4711 has there; .*" \
        --host n2:2
    for name in "$@"; do unset "${name%%=*}"; done
}

managers()
{
    printf 'n1\nn1\nn2\n' >nodes
    printf 'n1 2 all.q@n1 UNDEFINED\nn2 1 all.q@n2 UNDEFINED\n' >slots
    in_job "PBS file" PBS_JOBID=4711 PBS_NODEFILE="$work/nodes"
    in_job "LSF file" LSB_JOBID=4711 LSB_DJOB_HOSTFILE="$work/nodes"
    in_job "LSF counted" LSB_JOBID=4711 LSB_MCPU_HOSTS='n1 2 n2 1'
    in_job "LSF list" LSB_JOBID=4711 LSB_HOSTS='n1 n1 n2'
    in_job "SGE file" JOB_ID=4711 PE_HOSTFILE="$work/slots"
    printf 'n1\nn2 n3\n' >nodes
    export PBS_NODEFILE=$work/nodes
    refused 125 "a line of PBS with two hosts" \
        "PBS_NODEFILE=$work/nodes:2: 'n3': a line is a host, and nothing else" -n 1
    unset PBS_NODEFILE
    without_nodes PBS_JOBID=4711 PBS_NODEFILE
    without_nodes LSB_AFFINITY_HOSTFILE="$work/nodes" LSB_DJOB_HOSTFILE
    NSLOTS=2 without_nodes JOB_ID=4711 PE_HOSTFILE
}

# without_nodes NAME=VALUE MISSING: a job's variable without that of its nodes, unless the user names some.
without_nodes()
{
    run_limited 20 env "$1" "$keelrun" -n 1 true
    is "${1%%=*} alone: a warning names what is missing" \
        "0 keelrun: warning: ${1%%=*} is set, but $2, which would name the job's nodes, is not: only this one is used" \
        "$code $(cat "$work/err")"
    run_limited 20 env "$1" "$keelrun" --host localhost -n 1 true
    is "${1%%=*} alone, with --host: no warning" "0 " "$code $(cat "$work/err")"
}

# --- what is not loaded ---

# loads TITLE YES OPTION...: whether keelrun or a daemon of a job loads hwloc, as the dynamic linker says.
loads()
{
    local title="hwloc is loaded for $1" expected=$2 loaded=no
    shift 2
    rm -rf "$work/linked"
    mkdir "$work/linked"
    run_limited 30 env LD_DEBUG=files LD_DEBUG_OUTPUT="$work/linked/by" "$keelrun" "${agent[@]}" "$@" true
    ! cat "$work"/linked/by.* | grep -q 'calling init: .*libhwloc' || loaded=yes
    is "$title" "0 $expected" "$code $loaded"
}

hwloc()
{
    loads "--host with slots" no --host n1:2,n2:2
    loads "a hostfile with slots" no --hostfile one --bynode
    loads "ranks on this machine" no -n 1
    loads "simulated nodes" no --simulate 2x1
    loads "binding" yes -n 1 --bind-to core
    loads "nodes without slots" yes --hostfile names
}

hostfiles
users
app_files
defaults
managers
if "$keelrun" --dry-run --bind-to core -n 1 true 2>"$work/reason"; then
    hwloc
else
    skip "what is not loaded" "$(head -n 1 "$work/reason")"
fi

# --- ssh ---

# shellcheck source=tests/lib/sshd.sh
. "$KEEL_TEST_SRCDIR/tests/lib/sshd.sh"

over_ssh()
{
    sed 's/^Host .*/Host kt-far1 kt-far2/' -i "$work/ssh.conf"
    agent=(--mca plm_rsh_agent "$ssh_agent")
    printf '# over ssh\n%s@kt-far[1-2] slots=1 max_slots=2\n' "$(id -un)" >far
    printf 'localhost slots=1\n' >near
    places "over ssh: two hostfiles, a range, a user" "kt-far1*1 kt-far2*1 localhost*1" --hostfile near --hostfile far
    places "over ssh: --host chooses" "kt-far2*1" --hostfile far --host kt-far2
    places "over ssh: overflow up to max_slots" "kt-far1*2 kt-far2*2" --hostfile far --oversubscribe -n 4
    places "over ssh: by node, without slots" "kt-far1*1 localhost*1" --host localhost,kt-far1 --map-by node -n 2
    run_limited 20 "$keelrun" "${agent[@]}" --host kt-nobody@kt-far1:1 true
    is "over ssh: a user who is not there: exit code" 125 "$code"
    like "over ssh: a user who is not there: ssh says it" "$work/err" "kt-nobody@|Permission denied"
    refused 125 "over ssh: a host outside" "host kt-far3 is not in the hostfile far" --hostfile far --host kt-far3
}

if make_sshd; then
    over_ssh
else
    skip "over ssh" "$reason"
fi
finish
