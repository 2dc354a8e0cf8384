#!/bin/bash
# Messages outlive rails: a cable between two hosts is cut at random moments, and whole again at others,
# while messages of all sizes are under way. With the argument: so many cuts, of 1 GiB; else two, of
# 128 MiB.
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"
. "$KEEL_TEST_SRCDIR/tests/lib/netns.sh"
. "$KEEL_TEST_SRCDIR/tests/lib/cable.sh"

readonly cuts=${1:-2}
timeout_ms=1000
mib=$((128 / slow))
[ "$cuts" -le 2 ] || mib=1024
RANDOM=${FAILOVER_SEED:-1}

# --- cables ---

# No packet passes, and nobody is told; or the interface goes.
cut()
{
    if [ $((RANDOM % 2)) = 0 ]; then
        cable "$1" all cut=1
    else
        on_host b ip link set "$1" down
    fi
}

mend()
{
    on_host b ip link set "$1" up && cable "$1" all cut=0
}

# --- jobs ---

# failover HOSTS WORD...: starts the two ranks
failover()
{
    local where=$1
    shift
    rm -f "$work/stop"
    start "${on_a[@]}" "$keelrun" "${hosts_options[@]}" --host "$where" --mca oob_tcp_if_include v0 \
        --mca btl_tcp_timeout_ms $timeout_ms --mca btl_ofi_timeout_ms $timeout_ms \
        --mca btl_usnic_peer_timeout_ms $timeout_ms "$@"
}

# has RANK COUNT: the rank has so many rails now
has()
{
    grep "^rank $1: [0-9]* rails" "$work/out" | tail -n 1 | grep -q ": $2 rails"
}

# both_have COUNT, one_has COUNT
both_have()
{
    has 0 "$1" && has 1 "$1"
}

one_has()
{
    has 0 "$1" || has 1 "$1"
}

has_lost_one()
{
    not both_have 2
}

# A moment of 0 to so many milliseconds.
moment()
{
    local ms=$((RANDOM % $1))
    sleep "$((ms / 1000)).$(printf %03d $((ms % 1000)))"
}

# cut_often CABLE...: one of them at a time, and mended before anybody notices or later; it is used again
# before the next.
cut_often()
{
    local i cable
    for ((i = 0; i < cuts; i++)); do
        moment 700
        cable=${*:RANDOM % $# + 1:1}
        cut "$cable"
        if [ $((i % 2)) = 0 ]; then
            wait_for 5 has_lost_one || return 1
            moment $timeout_ms
        else
            moment $((timeout_ms / 2))
        fi
        mend "$cable"
        wait_for 15 both_have $# || return 1
    done
}

# ends_well: what has been started, once it was told that it may stop
ends_well()
{
    touch "$work/stop"
    await $((20 + mib / 10))
    is "$what: exit code" 0 "$code"
    like "$what: every message has come, whole" "$work/out" \
        "^[0-9]+ messages, [0-9]+ MiB: the sum is right$"
}

# carry_more COUNT COUNT: packets have gone over both cables since these were the counts. A rail that is cut
# before it is used is not lost until then.
carry_more()
{
    [ "$(cable_count one '1>2' sent)" -gt $(($1 + 10)) ] && [ "$(cable_count two '1>2' sent)" -gt $(($2 + 10)) ]
}

# two_rails NAME WORD...: over cables one and two
two_rails()
{
    local before_one before_two
    what=$1
    shift
    before_one=$(cable_count one '1>2' sent)
    before_two=$(cable_count two '1>2' sent)
    failover a:1,b:1 "$@" "$helpers/failover" sum $mib "$work/stop" $RANDOM
    ok "$what: both ranks have two rails" wait_for 15 both_have 2
    ok "$what: both carry messages" wait_for 15 carry_more "$before_one" "$before_two"
    ok "$what: cables are cut $cuts times, and used again" cut_often one two
    ends_well
}

# The cable of ofi's rail is cut, and stays so: what ofi did not get rid of keeps no job from its end.
left_cut()
{
    local try
    for try in 1 2; do
        what="ofi, left cut, $try"
        failover a:1,b:1 "$@" "$helpers/failover" sum $((mib / 4)) "$work/stop" $RANDOM
        ok "$what: both ranks have two rails" wait_for 15 both_have 2
        moment 1500
        cable two all cut=1
        ok "$what: both ranks have lost it" wait_for 15 both_have 1
        ends_well
        mend two
    done
}

# cut_before NAME WORD...: cable two is cut before a session begins there. What waits for it goes over
# cable one. A rank that sends nothing by it does not lose it. Once it is mended cable one is cut.
cut_before()
{
    local name=$1 mended timeout_ms=2000 # an address that is silent has a second, if there are others
    shift
    for mended in 0 1; do
        what="$name, cut from the start, mended: $mended"
        cable two all cut=1
        failover a:1,b:1 "$@" "$helpers/failover" sum $((mib / 4)) "$work/stop" $RANDOM
        ok "$what: it is lost" wait_for 15 one_has 1
        if [ $mended = 1 ]; then
            mend two
            ok "$what: both ranks have it again" wait_for 15 both_have 2
            cable one all cut=1
            ok "$what: both ranks have lost the other one" wait_for 15 both_have 1
        fi
        ends_well
        mend one
        mend two
    done
}

# sm is lost with a message, or by one that makes no sense; it does not come again. tcp takes over what was
# fetched, and then, as a rail that only sends, what sm can do and it cannot.
standby()
{
    local i fault only=none
    for ((i = 0; i < cuts; i++)); do
        what="sm, with tcp as its standby, $i"
        fault="btl.sm.send:drop:after=$((RANDOM % 200))"
        [ $((i % 2)) = 0 ] || fault="btl.sm.recv:error=EPROTO:after=$((RANDOM % 200))"
        [ $((i % 2)) = 0 ] || only=tcp
        failover a:2 --mca btl self,sm,tcp --mca btl_tcp_if_include one --mca fault "$fault" \
            --mca ptl_rail_send_only $only \
            "$helpers/failover" sum $((mib / cuts)) "$work/stop" $RANDOM
        wait_for 20 uses_tcp
        ends_well
        ok "$what: tcp has taken over" uses_tcp
    done
}

uses_tcp()
{
    [ "$(grep -c '^rank [01]: 1 rails tcp' "$work/out")" = 2 ]
}

# The rail that is left is cut, too: each request ends in time.
last_rail()
{
    local rank at cut_ms
    what="the last rail"
    timeout_ms=3000 # who is silent is asked by the kernel, in whole seconds
    failover a:1,b:1 --mca btl self,tcp --mca btl_tcp_if_include one,two "$helpers/failover" last
    ok "$what: ranks talk" wait_for 15 has_lines "$work/out" 2
    cable one all cut=1
    moment $timeout_ms
    cut_ms=$(wall_clock)
    cable two all cut=1
    await 20
    mend one
    mend two
    is "$what: exit code" 7 "$code"
    for rank in 0 1; do
        at=$(sed -nE "s/^rank $rank: 16 of 16 requests ended with an error at //p" "$work/out")
        ok "$what: requests of rank $rank end in time (after $((${at:-0} - cut_ms)) ms)" \
            test -n "$at" -a $((${at:-0} - cut_ms)) -le $(((timeout_ms + 1000) * slow))
    done
}

libfabric=$(grep -x '#define HAVE_FABRIC 1' "$KEEL_TEST_BUILDDIR/config.h")
[ -z "$sanitize" ] || libfabric="" # it is not instrumented

if make_hosts && plug_cable one 10.99.40 a b && plug_cable two 10.99.41 a b; then
    cable one all rate=50
    cable two all rate=50
    two_rails "two interfaces" --mca btl self,tcp --mca btl_tcp_if_include one,two
    two_rails "two interfaces, by puts" --mca btl self,tcp --mca btl_tcp_if_include one,two \
        --mca ptl_rail_rendezvous put
    cut_before "two interfaces" --mca btl self,tcp --mca btl_tcp_if_include one,two
    standby
    if [ -n "$libfabric" ]; then
        over_ofi=(--mca btl self,tcp,ofi --mca btl_tcp_if_include one --mca btl_tcp_exclusivity 1024
            --mca btl_ofi_provider 'tcp;ofi_rxm' --mca btl_ofi_domain two)
        two_rails "tcp and ofi" "${over_ofi[@]}"
        two_rails "tcp only sends, ofi puts" "${over_ofi[@]}" --mca ptl_rail_rendezvous put \
            --mca ptl_rail_send_only tcp
        left_cut "${over_ofi[@]}"
        cut_before ofi "${over_ofi[@]}"
        over_usnic=(--mca btl self,tcp,usnic --mca btl_tcp_if_include one --mca btl_tcp_exclusivity 1024
            --mca btl_usnic_if_include two)
        two_rails "tcp and usnic" "${over_usnic[@]}"
        two_rails "tcp gets, usnic only sends" "${over_usnic[@]}" --mca ptl_rail_send_only usnic
        cut_before usnic "${over_usnic[@]}"
    else
        skip "tcp and ofi, tcp and usnic" "no libfabric, or not instrumented"
    fi
    last_rail
    no_files_left "no file is left on either host"
else
    skip "rails that die" "$reason"
fi
finish
