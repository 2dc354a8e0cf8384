#!/bin/bash
# Launches over slow networks that lose packets: four hosts, network namespaces, and between them a
# network that takes its time.
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"
. "$KEEL_TEST_SRCDIR/tests/lib/netns.sh"

readonly hosts="a b c d" four="a:1,b:1,c:1,d:1"
export KEEL_TEST_HOST_c="" KEEL_TEST_HOST_d=""

end_network()
{
    if [ -n "$network_pid" ]; then
        kill -KILL "$network_pid"
        wait "$network_pid" 2>/dev/null
    fi
    network_pid=""
}

# slow_network DELAY JITTER LOSS: instead of the one before
slow_network()
{
    local host holder holders=() number=0
    end_network
    for host in $hosts; do
        holder=KEEL_TEST_HOST_$host
        holders+=("${!holder}")
    done
    rm -f "$work/network"
    "$helpers/slownet" "$@" "${holders[@]}" >"$work/network" 2>"$work/reason" </dev/null &
    network_pid=$!
    wait_for 10 grep -sqx ready "$work/network" || return 1
    for host in $hosts; do
        number=$((number + 1))
        on_host $host ip addr add 10.99.20.$number/24 dev slow || return 1
        on_host $host ip link set slow up || return 1
    done
}

make_slow_hosts()
{
    local host
    make_hosts || return 1
    # the cable that is there already is not slow
    on_host a ip link del v0
    for host in c d; do
        hold_host $host || return 1
    done
    reason="no network of tun devices"
    slow_network 0 0 0
}

# launch PROGRAM ARGUMENT...: on all four
launch()
{
    run_limited 60 "${on_a[@]}" "$keelrun" "${hosts_options[@]}" --host "$four" "$@"
    is "$what: exit code" 0 "$code"
    is "$what: no daemon is lost, or silent" "" "$(grep -E 'lost|answer' "$work/err")"
}

network_pid=""
at_exit end_network
if ! make_slow_hosts; then
    skip "launches over slow networks" "$reason"
    finish
fi
what="200 ms each way, up to 50 more or less"
slow_network 200 50 0
launch "$KEEL_TEST_BUILDDIR/examples/rml_chat" 2
like "$what: all is heard" "$work/out" '^rml_chat: 4 ranks, 32 lines, 0 errors$'
what="one packet in five is lost"
slow_network 1 1 20
launch "$KEEL_TEST_BUILDDIR/examples/rml_chat" 2
like "$what: all is heard" "$work/out" '^rml_chat: 4 ranks, 32 lines, 0 errors$'
finish
