#!/bin/bash
# Two hosts that are cut from each other on the data plane alone, while their daemons talk over another
# cable: rails fail in time, others take their place, they return with the cable, and jobs without any
# end with an error; and who only computes is not taken for dead.
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"
. "$KEEL_TEST_SRCDIR/tests/lib/netns.sh"
. "$KEEL_TEST_SRCDIR/tests/lib/cable.sh"

readonly timeout_ms=3000
readonly common=("${hosts_options[@]}" --mca oob_tcp_if_include v0 --mca btl_tcp_timeout_ms $timeout_ms)

# job NAME CABLE HOSTS PROGRAM WORD...: in the background, as others; its output in $work/NAME.*
job()
{
    local name=$1 cable=$2 where=$3
    shift 3
    rm -f "$work/$name.code"
    {
        timeout -s KILL $((60 * slow)) "${on_a[@]}" "$keelrun" "${common[@]}" \
            --mca btl_tcp_if_include "$cable" --mca btl "${rails:-self,sm,tcp}" --host "$where" "$@" \
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

# Over tcp, with ofi as its standby over the daemons' cable.
start_return()
{
    local rails=self,tcp,ofi
    [ -n "$libfabric" ] || return 0
    job return data a:1,b:1 --mca btl_ofi_exclusivity 10 --mca btl_ofi_domain v0 --mca log_btl_verbose 1 \
        "$helpers/outage" return
    ok "ranks whose rail is to return" wait_for 15 has_lines "$work/return.out" 2
}

# ofi_job NAME CABLE PROVIDER HOSTS PROGRAM WORD...: by ofi; tcp would be over the daemons' cable
ofi_job()
{
    local name=$1 cable=$2 provider=$3 where=$4 rails=${rails:-self,ofi}
    shift 4
    job "$name" v0 "$where" --mca btl_ofi_provider "$provider" --mca btl_ofi_domain "$cable" \
        --mca btl_ofi_timeout_ms $timeout_ms "$@"
}

start_ofi()
{
    local rails=self,ofi,tcp
    [ -n "$libfabric" ] || return 0
    ofi_job return-ofi data 'udp;ofi_rxd' a:1,b:1 "$helpers/outage" return
    rails=self,ofi
    ofi_job rxd data 'udp;ofi_rxd' a:1,b:1 "$helpers/outage" cut
    ofi_job rxm data 'tcp;ofi_rxm' a:1,b:1 "$helpers/outage" cut
    ofi_job compute whole 'udp;ofi_rxd' a:1,b:2 "$helpers/outage" full $((3 * timeout_ms / 1000))
    cable long all delay=300 # a round trip takes more than an eighth of the timeout
    ofi_job compute-far long 'tcp;ofi_rxm' a:1,b:2 "$helpers/outage" full $((3 * timeout_ms / 1000))
    ok "a rank over ofi that is to be stopped" wait_for 15 grep -qs '^pid' "$work/compute.out"
    stopped_ofi=$(sed -n 's/^pid //p' "$work/compute.out")
    kill -STOP "$stopped_ofi"
    for job in return-ofi rxd rxm; do
        ok "ranks of $job" wait_for 15 has_lines "$work/$job.out" 2
    done
}

# changes_in_time RAIL FROM_MS LIMIT_MS RANK [JOB]: the last time that the rank had that rail as its best
changes_in_time()
{
    local at
    at=$(sed -n "s/^rank $4: $1 at //p" "$work/${5:-return}.out" | tail -n 1)
    ok "$what: rank $4 has $1 in time (after $((${at:-0} - $2)) ms)" \
        [ $((${at:-0} - $2)) -le $(($3 * slow)) -a "${at:-0}" -ge "$2" ]
}

# is_replaced JOB RAIL
is_replaced()
{
    [ "$(grep -c ": $2 at" "$work/$1.out")" = 2 ]
}

# A peer whose round trip is longer than most.
start_far()
{
    cable far all delay=300
    job far far a:1,b:1 "$helpers/outage" return
    ok "ranks that are far from each other" wait_for 15 has_lines "$work/far.out" 2
}

is_far_alone()
{
    [ "$(grep -c ': none at' "$work/far.out")" = 2 ]
}

far_returns()
{
    local rank
    what="a rail to a peer that is far"
    ended far
    is "$what: exit code" 0 "$code"
    for rank in 0 1; do
        changes_in_time tcp "$back_ms" 5000 $rank far
    done
}

# Two equal rails, one a cable: each carries its part, and one goes on while the other is cut.
start_share()
{
    local rails=self,tcp
    job share data,other a:1,b:1 "$helpers/outage" share
    ok "ranks with two rails" wait_for 15 has_lines "$work/share.out" 2
    is "ranks with two rails: both see them" 2 "$(grep -c ': 2 at' "$work/share.out")"
    ok "ranks with two rails: the second cable carries some ($(cable_count other all sent) packets)" \
        [ "$(cable_count other '1>2' sent)" -gt 10 -a "$(cable_count other '2>1' sent)" -gt 10 ]
}

is_alone()
{
    [ "$(grep -c ': 1 at' "$work/share.out")" = 2 ]
}

one_of_two_goes_on()
{
    local rank before
    what="one of two cables"
    wait_for 10 is_alone
    for rank in 0 1; do
        changes_in_time 1 "$cut_ms" $((timeout_ms + 1000)) $rank share
    done
    before=$(cable_count other '1>2' sent)
    ok "$what: the other goes on" wait_for 5 more_than "$before"
}

more_than()
{
    [ "$(cable_count other '1>2' sent)" -gt $(($1 + 100)) ]
}

both_carry_again()
{
    local rank
    ended share
    is "$what: both carry again: exit code" 0 "$code"
    for rank in 0 1; do
        changes_in_time 2 "$back_ms" 1000 $rank share
    done
}

# replaced_in_time JOB RAIL
replaced_in_time()
{
    local rank
    what="a standby: $1"
    wait_for 10 is_replaced "$1" "$2"
    for rank in 0 1; do
        changes_in_time "$2" "$cut_ms" $((timeout_ms + 1000)) $rank "$1"
    done
}

rails_are_replaced()
{
    if [ -z "$libfabric" ]; then
        skip "a standby" "no libfabric, or not instrumented"
        return
    fi
    replaced_in_time return ofi
    replaced_in_time return-ofi tcp
}

# While the cable is still cut: else the next try, which is never far, could come first and succeed.
link_comes_up()
{
    on_host a ip link set data down
    on_host a ip link set data up
    [ -n "$libfabric" ] || return
    ok "a network link that comes up is heard of" wait_for 5 grep -q \
        'tcp:data: a network link came up: 1 lost peers are tried at once' "$work/return.err"
}

# returned_in_time JOB RAIL LIMIT_MS
returned_in_time()
{
    local rank
    ended "$1"
    is "$what: $1: exit code" 0 "$code"
    for rank in 0 1; do
        changes_in_time "$2" "$back_ms" "$3" $rank "$1"
    done
    is "$what: $1: nobody saw a peer without rails" 0 "$(grep -c none "$work/out")"
}

rails_return()
{
    [ -n "$libfabric" ] || return
    returned_in_time return tcp 1000
    returned_in_time return-ofi ofi 5000 # its provider tries every 4 s
}

ofi_is_cut()
{
    local job
    [ -n "$libfabric" ] || return
    for job in rxd rxm; do
        what="a cable of $job is cut"
        ended $job
        is "$what: exit code" 7 "$code"
        lost_in_time 0
        lost_in_time 1
        like "$what: the reason is told" "$work/err" 'its host does not answer'
    done
}

libfabric=$(grep -x '#define HAVE_FABRIC 1' "$KEEL_TEST_BUILDDIR/config.h")
[ -z "$sanitize" ] || libfabric="" # it is not instrumented

# The jobs that are cut off run beside those that must not notice anything.
start_jobs()
{
    job full whole a:1,b:2 "$helpers/outage" full $((3 * timeout_ms / 1000))
    job cut data a:1,b:1 "$helpers/outage" cut
    job half half a:1,b:1 "$helpers/outage" cut
    job perf data a:1,b:1 "$KEEL_TEST_BUILDDIR/bin/keel-perf" --btl tcp --test am_lat --time 60
    ok "a rank that is to be stopped" wait_for 15 grep -qs '^pid' "$work/full.out"
    stopped=$(sed -n 's/^pid //p' "$work/full.out")
    kill -STOP "$stopped"
    ok "ranks that are to be cut off" wait_for 15 has_lines "$work/cut.out" 2
    ok "ranks of which one is to be cut off" wait_for 15 has_lines "$work/half.out" 2
    ok "keel-perf measures" wait_for 15 talks
    start_far
    start_return
    start_ofi
    start_share
}

talks()
{
    [ "$(cable_count data '1>2' sent)" -gt 1000 ]
}

cut_off()
{
    cut_ms=$(wall_clock)
    cable data all cut=1
    cable half '2>1' cut=1
    cable far all cut=1
    what="one way is cut"
    ended half
    is "$what: exit code" 7 "$code"
    lost_in_time 0
    lost_in_time 1
    what="a cable is cut"
    ended cut
    is "$what: exit code" 7 "$code"
    lost_in_time 0
    lost_in_time 1
    like "$what: peer, interface and time are named" "$work/err" \
        'tcp:data: .*: no acknowledgement from tcp://10.99.30.2:[0-9]+ to tcp://10.99.30.1:[0-9]+ for 3\.[0-9] s'
    ended perf
    is "$what: keel-perf ends: exit code" 1 "$code"
    like "$what: keel-perf ends with an error" "$work/err" 'the rail to rank [01] has failed'
    ofi_is_cut
}

not_dead()
{
    what="peers that compute, or are stopped, with full buffers"
    # counted from the stop: as long as rank 0 sends
    sleep $((3 * timeout_ms / 1000 - ($(wall_clock) - stop_ms) / 1000))
    kill -CONT "$stopped" ${libfabric:+"$stopped_ofi"}
    for job in full ${libfabric:+compute compute-far}; do
        ended $job
        is "$what: $job: exit code" 0 "$code"
        is "$what: $job: no word" "" "$(cat "$work/err")"
    done
}

if make_hosts && plug_cable data 10.99.30 a b && plug_cable half 10.99.31 a b &&
    plug_cable whole 10.99.32 a b && plug_cable other 10.99.33 a b &&
    plug_cable far 10.99.34 a b && plug_cable long 10.99.35 a b; then
    start_jobs
    stop_ms=$(wall_clock)
    cut_off
    one_of_two_goes_on
    rails_are_replaced
    ok "a peer that is far: lost" wait_for 15 is_far_alone
    link_comes_up
    what="the cable is back"
    on_host a ip link set data down
    cable data all cut=0
    back_ms=$(wall_clock)
    cable far all cut=0
    on_host a ip link set data up
    both_carry_again
    rails_return
    far_returns
    not_dead
    no_files_left "no file is left on either host"
else
    skip "a data plane that is cut" "$reason"
fi
finish
