#!/bin/bash
# Two nodes that share no network, no /tmp and no /dev/shm: network namespaces with a cable between
# them; and another node over a real ssh.
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"
. "$KEEL_TEST_SRCDIR/tests/lib/netns.sh"

readonly perf=$KEEL_TEST_BUILDDIR/bin/keel-perf

# keelrun on host a
run_on_a()
{
    run_limited 30 "${on_a[@]}" "$keelrun" "${hosts_options[@]}" "$@"
}

rails()
{
    sed -nE 's/^rank ([0-9]+) -> [0-9]+ over ([a-z]+): .* ok$/\1 \2/p' "$work/out" | sort -n |
        cut -d ' ' -f 2 | xargs
}

# The other host has fewer processors, and says so.
unlike_nodes()
{
    local first last where
    first=$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')
    last=$(taskset -cp $$ | sed 's/.*[ ,-]//')
    where="echo \$(hostname) \$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status) \$KEEL_BOUND"
    export KEEL_TEST_CPUS_b=$last
    run_on_a --host a:1,b:1 --bind-to core --report-bindings sh -c "$where"
    is "bound on hosts that differ: exit code" 0 "$code"
    is "bound on hosts that differ" "a $first 1 b $last 1" "$(sort "$work/out" | xargs)"
    like "bound on hosts that differ: the picture" "$work/err" \
        "^keelrun: rank 1 on b: bound to processors $last \[(~/)*B(/~)*\]\$"

    printf 'b\na slots=1\n' >"$work/hosts"
    run_on_a --hostfile "$work/hosts" sh -c 'hostname'
    is "a hostfile without slots: exit code" 0 "$code"
    is "a hostfile without slots: as many as the host has cores" "a b" "$(sort "$work/out" | xargs)"

    run_on_a --host a:1,b:2 --bind-to core true
    is "more ranks than processors there: exit code" 125 "$code"
    like "more ranks than processors there: it says which" "$work/err" \
        "^keelrun: node b: 2 ranks would be bound to core [0-9]+, which has 1 processor; "
    unset KEEL_TEST_CPUS_b
}

two_hosts()
{
    run_on_a --host a:2,b:2 sh -c 'echo $KEEL_NODE $(hostname) $(ls /tmp | wc -l)'
    is "ranks run on both hosts: exit code" 0 "$code"
    is "ranks run on both hosts" "a a b b" "$(cut -d ' ' -f 2 "$work/out" | sort | xargs)"

    printf 'a slots=1 max_slots=1\nb slots=1 # and more\n' >"$work/hosts"
    run_on_a --hostfile "$work/hosts" --oversubscribe -n 3 sh -c 'hostname'
    is "a hostfile: exit code" 0 "$code"
    is "a hostfile: b takes more than its slots, a does not" "a b b" "$(sort "$work/out" | xargs)"

    unlike_nodes

    run_on_a --host a:2,b:2 "$handoff"
    is "handoff over two hosts: exit code" 0 "$code"
    is "handoff over two hosts: sm inside, tcp between" "sm tcp sm tcp" "$(rails)"
    like "handoff over two hosts: last line" "$work/out" \
        '^handoff: 4 ranks, 8 transfers, [0-9]+ bytes, 0 errors$'
    is "handoff over two hosts: nothing on stderr" "" "$(cat "$work/err")"

    run_on_a --host b:3 --mca btl self,sm "$handoff"
    is "handoff on the other host alone: exit code" 0 "$code"
    is "handoff on the other host alone: sm" "sm sm sm" "$(rails)"

    run_on_a --host a:1,b:1 --mca modex_collect_max 0 "$handoff" --refusals
    is "refusals over two hosts: exit code" 0 "$code"
    is "refusals over two hosts" 2 "$(grep -c 'forged and stale handles refused$' "$work/out")"

    run_on_a --host a:1,b:1 ./missing
    is "a program that is missing there: exit code" 127 "$code"

    # the other host fails while the job runs
    before=$(megabytes_into_b v0)
    KEEL_TEST_FOLDER=/ start "${on_a[@]}" "$keelrun" "${hosts_options[@]}" \
        --host a:1,b:1 "$helpers/member" hang
    ok "a job that stays" wait_for 15 has_lines "$work/out" 2
    keeld_pid=$(child_named "$pid" keeld)
    kill -KILL "$keeld_pid"
    await 10
    is "the other host's daemon is killed: exit code" 125 "$code"
    like "the other host's daemon is killed: it says so" "$work/err" \
        "^keelrun: lost the daemon of node b: its link to node a \(tcp://[0-9.:]+\) broke$"
    no_leftovers "the other host's daemon is killed: nothing is left" ""
    no_files_left "the other host's daemon is killed: no file is left on either"
}

megabytes_into_b()
{
    on_host b ip -s link show "$1" | awk 'bytes { print int($1 / 1048576); exit } /RX:/ { bytes = 1 }'
}

# What a rail moves goes over its own cable, and nothing but a link's own traffic over one that is not
# to be used; interfaces that lead nowhere, whether the peer's card says so early or late, do no harm.
two_cables()
{
    local before0 before1 late
    lay_cable 1
    is "a second cable between the hosts" 0 $?
    before0=$(megabytes_into_b v0) before1=$(megabytes_into_b v1)
    run_on_a --host a:1,b:1 --mca btl self,tcp --mca btl_tcp_if_include v1 --mca btl_tcp_links 2 \
        "$perf" --btl tcp --test put_bw --size 1M --time 0.2
    is "one cable by choice: exit code" 0 "$code"
    ok "one cable by choice: it carries" test $(($(megabytes_into_b v1) - before1)) -ge 10
    ok "one cable by choice: the other is idle" test $(($(megabytes_into_b v0) - before0)) -le 1

    run_on_a --host a:2,b:2 --mca btl self,tcp "$helpers/anew" 3
    is "checkpoints and restarts over two cables: exit code" 0 "$code"
    is "checkpoints and restarts over two cables: nothing on stderr" "" "$(cat "$work/err")"

    on_host a sh -c 'for i in $(seq 20); do
            ip link add l$i type veth peer name m$i && ip addr add 10.88.$i.1/24 dev l$i &&
                ip link set l$i up && ip link set m$i up
        done'
    for late in 1000 0; do
        run_on_a --host a:2,b:2 --mca btl self,tcp --mca modex_collect_max $late \
            sh -c "ulimit -n 128; exec $handoff"
        is "20 interfaces that lead nowhere ($late): exit code" 0 "$code"
        is "20 interfaces that lead nowhere ($late): nothing on stderr" "" "$(cat "$work/err")"
    done
    on_host a sh -c 'for i in $(seq 20); do ip link del l$i; done'
}

# swallow N: what is sent over a cable goes to nobody; the interfaces stay up.
swallow()
{
    local host other=2
    for host in a b; do
        on_host $host ip neigh replace 10.99.$((7 + $1)).$other dev "v$1" \
            lladdr 02:00:00:00:00:99 nud permanent || return 1
        other=1
    done
}

talks()
{
    [ "$(megabytes_into_b v0)" -gt "$before" ] || is_gone "$pid"
}

# The other host's daemon tries the second cable, in vain, and keeps the link that it has.
stop_keelrun()
{
    KEEL_TEST_FOLDER=/ start "${on_a[@]}" "$keelrun" "${hosts_options[@]}" \
        --mca oob_heartbeat_ms 100 --mca rml_suspect_ms 300 --mca oob_connect_timeout_ms 200 \
        --host a:1,b:1 "$helpers/member" hang
    ok "a job over two cables" wait_for 15 has_lines "$work/out" 2
    kill -STOP "$pid"
    sleep 1.5
    kill -CONT "$pid"
    sleep 0.3
    ok "keelrun stopped for a while: the job lives" is_alive "$pid"
    kill -INT "$pid"
    await 10
    is "keelrun stopped for a while: exit code" 130 "$code"
    is "keelrun stopped for a while: no word" "" "$(cat "$work/err")"
}

# The cable that the daemons talk over is cut while ranks talk: the other one, which has IPv6 alone,
# carries the rest, and nothing is lost.
cut_cable()
{
    local last=1 host before
    for host in a b; do
        on_host $host ip addr flush dev v1
        on_host $host ip addr add fd99::$last/64 dev v1 nodad || return 1
        last=$((last + 1))
    done
    before=$(megabytes_into_b v0)
    KEEL_TEST_FOLDER=/ start "${on_a[@]}" "$keelrun" "${hosts_options[@]}" \
        --mca oob_heartbeat_ms 200 --mca rml_suspect_ms 1000 --mca rml_fail_ms 6000 \
        --host a:2,b:2 "$KEEL_TEST_BUILDDIR/examples/rml_chat" 20000
    wait_for 15 talks
    swallow 0
    is "a cable is cut amid a stream" 0 $?
    await 30
    is "a cable is cut amid a stream: exit code" 0 "$code"
    like "a cable is cut amid a stream: everything was heard once and in order" "$work/out" \
        '^rml_chat: 4 ranks, 320000 lines, 0 errors$'
    is "a cable is cut amid a stream: nobody noticed" "" "$(cat "$work/err")"
    ok "a cable is cut amid a stream: it took longer ($wall_ms ms)" [ "$wall_ms" -ge 1000 ]
}

if make_hosts; then
    two_hosts
    two_cables
    stop_keelrun
    cut_cable
else
    skip "two network namespaces" "$reason"
fi

# --- ssh ---

# shellcheck source=tests/lib/sshd.sh
. "$KEEL_TEST_SRCDIR/tests/lib/sshd.sh"

over_ssh()
{
    local agent=$ssh_agent
    run_limited 20 "$keelrun" --mca plm_rsh_agent "$agent" --host localhost:1,kt-far:2 \
        sh -c 'echo $KEEL_RANK $KEEL_NODE'
    is "over ssh: exit code" 0 "$code"
    is "over ssh: where the ranks are" "0 localhost 1 kt-far 2 kt-far" "$(sort "$work/out" | xargs)"
    run_limited 20 "$keelrun" --oversubscribe --mca plm_rsh_agent "$agent" --host localhost:2,kt-far:2 \
        "$handoff"
    is "handoff over ssh: exit code" 0 "$code"
    is "handoff over ssh: rails" "sm tcp sm tcp" "$(rails)"
    is "handoff over ssh: nothing on stderr" "" "$(cat "$work/err")"
    run_limited 20 "$keelrun" --mca plm_rsh_agent "$agent" --host kt-far:1 sh -c 'exit 9'
    is "over ssh: a rank's exit code" 9 "$code"
    head -c 1000000 /dev/urandom >"$work/random"
    input=$work/random run_limited 20 "$keelrun" --mca plm_rsh_agent "$agent" --host kt-far:1 cat
    ok "over ssh: 1 MB through cat" cmp -s "$work/random" "$work/out"
    run_limited 20 "$keelrun" --mca plm_rsh_agent "$agent" --host kt-nowhere.invalid:1 true
    is "over ssh: an unknown host: exit code" 125 "$code"
    like "over ssh: an unknown host is named" "$work/err" "^keelrun: node kt-nowhere.invalid: "
    like "over ssh: ssh's own reason is shown" "$work/err" \
        "ould not resolve hostname .* \(the agent ended with code 255 before the daemon called home\)$"

    start "$keelrun" --mca plm_rsh_agent "$agent" --host kt-far:2 \
        sh -c '(setsid -f sleep 1000 &); echo "job $KEEL_JOB"; exec "$0" hang' "$helpers/member"
    ok "over ssh: a job that stays" wait_for 15 has_lines "$work/out" 4
    uuid=$(sed -n 's/^job //p' "$work/out" | head -n 1)
    ok "over ssh: its processes are found" [ "$(processes_with "KEEL_JOB=$uuid" | wc -l)" -ge 4 ]
    kill -KILL "$pid"
    no_leftovers "over ssh: keelrun is killed: nothing is left" "$uuid"
    ok "over ssh: no session folder there" wait_for 2 not test -e "/tmp/keel-$(id -u)/$uuid"
    await 5
}

if make_sshd; then
    over_ssh
else
    skip "over ssh" "$reason"
fi
finish
