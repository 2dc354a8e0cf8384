#!/bin/bash
# Two hosts that are cut from each other on the data plane alone, while their daemons talk over another
# cable: rails fail in time, jobs end with an error; and who only computes is not taken for dead.
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"
. "$KEEL_TEST_SRCDIR/tests/lib/netns.sh"
. "$KEEL_TEST_SRCDIR/tests/lib/cable.sh"

readonly timeout_ms=3000
readonly common=("${hosts_options[@]}" --mca oob_tcp_if_include v0 --mca btl self,sm,tcp
    --mca btl_tcp_timeout_ms $timeout_ms)

# job NAME CABLE HOSTS PROGRAM WORD...: in the background, as others; its output in $work/NAME.*
job()
{
    local name=$1 cable=$2 where=$3
    shift 3
    rm -f "$work/$name.code"
    {
        timeout -s KILL $((60 * slow)) "${on_a[@]}" "$keelrun" "${common[@]}" \
            --mca btl_tcp_if_include "$cable" --host "$where" "$@" \
            >"$work/$name.out" 2>"$work/$name.err" </dev/null
        echo $? >"$work/$name.code"
    } &
    started+=($!)
}

# ended NAME: 20 s at most; its code in $code, its output where is and like show it
ended()
{
    wait_for 20 test -s "$work/$1.code"
    code=$(cat "$work/$1.code" 2>/dev/null)
    cp "$work/$1.out" "$work/out"
    cp "$work/$1.err" "$work/err"
}

# lost_in_time RANK: at most the timeout and a second after the cut
lost_in_time()
{
    local at
    at=$(sed -n "s/^rank $1 lost rank [01] at //p" "$work/out")
    ok "$what: rank $1 knows in time (after $((${at:-0} - cut_ms)) ms)" \
        [ $((${at:-0} - cut_ms)) -le $(((timeout_ms + 1000) * slow)) -a -n "$at" ]
}

# The jobs that are cut off run beside those that must not notice anything.
start_jobs()
{
    job full whole a:1,b:2 "$helpers/outage" full $((3 * timeout_ms / 1000))
    job cut data a:1,b:1 "$helpers/outage" cut
    job perf data a:1,b:1 "$KEEL_TEST_BUILDDIR/bin/keel-perf" --btl tcp --test am_lat --time 60
    ok "a rank that is to be stopped" wait_for 15 grep -qs '^pid' "$work/full.out"
    stopped=$(sed -n 's/^pid //p' "$work/full.out")
    kill -STOP "$stopped"
    ok "ranks that are to be cut off" wait_for 15 has_lines "$work/cut.out" 2
    ok "keel-perf measures" wait_for 15 talks
}

talks()
{
    [ "$(cable_count data '1>2' sent)" -gt 1000 ]
}

cut_off()
{
    cut_ms=$(wall_clock)
    cable data all cut=1
    what="a cable is cut"
    ended cut
    is "$what: exit code" 7 "$code"
    lost_in_time 0
    lost_in_time 1
    like "$what: peer, interface and time are named" "$work/err" \
        'tcp: .*: no acknowledgement on data \(tcp://10.99.30.1:[0-9]+ to tcp://10.99.30.2:[0-9]+\) for 3\.[0-9] s'
    ended perf
    is "$what: keel-perf ends: exit code" 1 "$code"
    like "$what: keel-perf ends with an error" "$work/err" 'the rail to rank [01] has failed'
}

not_dead()
{
    what="peers that compute, or are stopped, with full buffers"
    # counted from the stop: as long as rank 0 sends
    sleep $((3 * timeout_ms / 1000 - ($(wall_clock) - stop_ms) / 1000))
    kill -CONT "$stopped"
    ended full
    is "$what: exit code" 0 "$code"
    is "$what: no word" "" "$(cat "$work/err")"
}

if make_hosts && plug_cable data 10.99.30 a b && plug_cable whole 10.99.31 a b; then
    start_jobs
    stop_ms=$(wall_clock)
    cut_off
    not_dead
    no_files_left "no file is left on either host"
else
    skip "a data plane that is cut" "$reason"
fi
finish
