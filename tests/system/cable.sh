#!/bin/bash
# The cable that other tests use (tests/lib/cable.sh): what it does to datagrams is seen by a program.
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"
. "$KEEL_TEST_SRCDIR/tests/lib/netns.sh"
. "$KEEL_TEST_SRCDIR/tests/lib/cable.sh"

# send COUNT SIZE [back]: datagrams from a to b, or back; what came in the variables got, distinct ...
send()
{
    local ends=("$KEEL_TEST_HOST_a" 10.99.30.1 "$KEEL_TEST_HOST_b" 10.99.30.2)
    [ -z "$3" ] || ends=("${ends[@]:2}" "${ends[@]:0:2}")
    run_limited 20 "$helpers/datagrams" "${ends[@]}" "$1" "$2"
    is "$what: exit code" 0 "$code"
    read -r _ got _ distinct _ late _ short _ wrong <"$work/out"
}

# happened EVENT: from a to b, since the cable is there
happened()
{
    cable_count bad '1>2' "$1"
}

all_at_once()
{
    what="everything goes wrong at times"
    cable bad '1>2' loss=5 burst=0.5 burst_length=10 duplicate=5 reorder=5 reorder_by=2 corrupt=5 \
        truncate=5 delay=2 jitter=1 || return
    send 4000 600
    is "$what: all was sent" 4000 "$(happened sent)"
    is "$what: what is lost does not come, and duplicates come twice" \
        $((4000 - $(happened lost) - $(happened burst) + $(happened duplicated))) "$got"
    ok "$what: some is lost ($(happened lost))" [ "$(happened lost)" -gt 100 ]
    ok "$what: some in bursts ($(happened burst))" [ "$(happened burst)" -gt 50 ]
    ok "$what: some comes twice ($(happened duplicated))" [ "$(happened duplicated)" -gt 100 ]
    is "$what: some is short" "$(happened truncated)" "$short"
    ok "$what: some is wrong ($wrong)" [ "$wrong" -gt 100 ]
    ok "$what: some is overtaken ($late)" [ "$late" -gt 50 ]
    cable bad '1>2' loss=0 burst=0 duplicate=0 reorder=0 corrupt=0 truncate=0 delay=0 jitter=0
}

hole()
{
    what="packets above 1400 bytes vanish"
    cable bad all mtu=1400 || return
    send 100 $((1400 - 28))
    is "$what: 1400 pass" 100 "$distinct"
    send 100 $((1401 - 28))
    is "$what: 1401 do not" 0 "$got"
    cable bad all mtu=0
}

one_way()
{
    what="one way is cut"
    cable bad '2>1' cut=1 || return
    send 100 64 back
    is "$what: nothing comes that way" 0 "$got"
    send 100 64
    is "$what: the other way all does" 100 "$distinct"
    cable bad '2>1' cut=0
    send 100 64 back
    is "$what, and back: all comes again" 100 "$distinct"
}

line()
{
    what="1 MB/s, and a queue of 50 packets"
    cable bad all rate=1 queue=50000 || return
    send 300 972
    ok "$what: the burst overflows it ($got)" [ "$got" -ge 50 -a "$got" -lt 300 ]
    ok "$what: the 50 take 50 ms ($real_ms ms in all)" [ "$real_ms" -ge 1050 ]
    cable bad all rate=0
}

if make_hosts && plug_cable bad 10.99.30 a b; then
    is "a setting that is none" "los=1: no setting" "$(ask_cable bad all los=1)"
    is "hosts that are not there" "1>3: neither all nor A>B" "$(ask_cable bad '1>3')"
    all_at_once
    hole
    one_way
    line
else
    skip "a cable that impairs" "$reason"
fi
finish
