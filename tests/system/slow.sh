#!/bin/bash
# Launches over slow networks that lose packets: four hosts, network namespaces, and between them a
# network that takes its time.
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"
. "$KEEL_TEST_SRCDIR/tests/lib/netns.sh"
. "$KEEL_TEST_SRCDIR/tests/lib/cable.sh"

readonly hosts="a b c d" four="a:1,b:1,c:1,d:1"

make_slow_hosts()
{
    local host
    make_hosts || return 1
    # the cable that is there already is not slow
    on_host a ip link del v0
    for host in c d; do
        hold_host $host || return 1
    done
    # shellcheck disable=SC2086 # names
    plug_cable slow 10.99.20 $hosts
}

on_all_four()
{
    run_limited 60 "${on_a[@]}" "$keelrun" "${hosts_options[@]}" --host "$four" "$@"
}

# launch PROGRAM ARGUMENT...: on all four. TCP doubles its pause after each loss, so where one packet in
# five is lost, some link passes nothing for rml_fail_ms in one launch of about twenty: that is tried again,
# once. For the same reason a daemon may be silent for a while there.
launch()
{
    local bad="lost|answer"
    [ "$what" != "one packet in five is lost" ] || bad=lost
    on_all_four "$@"
    if [ $bad = lost ] &&
        grep -q '^keelrun: lost the daemon of node .: its link to node .* broke$' "$work/err"; then
        echo "# $what: a link passed nothing for rml_fail_ms, and the launch is tried again"
        on_all_four "$@"
    fi
    is "$what: exit code" 0 "$code"
    # links that fail, and are made again, are a matter of luck here
    is "$what: no daemon is lost, or silent" "" "$(grep -E "^keelrun: .*($bad)" "$work/err")"
}

if ! make_slow_hosts; then
    skip "launches over slow networks" "$reason"
    finish
fi
what="200 ms each way, up to 50 more or less"
cable slow all delay=150 reorder=100 reorder_by=100
launch "$KEEL_TEST_BUILDDIR/examples/rml_chat" 2
like "$what: all is heard" "$work/out" '^rml_chat: 4 ranks, 32 lines, 0 errors$'
what="... and links that break"
launch --mca fault "oob.recv:error=ECONNRESET:after=20:p=0.04:seed=1" \
    "$KEEL_TEST_BUILDDIR/examples/rml_chat" 2
like "$what: all is heard" "$work/out" '^rml_chat: 4 ranks, 32 lines, 0 errors$'
what="one packet in five is lost"
cable slow all delay=1 reorder=0 loss=20
launch "$KEEL_TEST_BUILDDIR/examples/rml_chat" 2
like "$what: all is heard" "$work/out" '^rml_chat: 4 ranks, 32 lines, 0 errors$'
launch "$KEEL_TEST_BUILDDIR/examples/handoff"
like "$what: all is handed over" "$work/out" '^handoff: 4 ranks, 8 transfers, [0-9]+ bytes, 0 errors$'
finish
