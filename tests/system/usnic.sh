#!/bin/bash
# The rails over datagrams between two hosts, over cables that lose packets, swallow large ones, or are cut.
# With arguments one of these instead:
#   conformance N...   the conformance suite with so many processes, over a cable that loses
#   other-way          nothing passes to the first host
#   goodput            what is left of a stream over such a cable
#   all-to-all         eight ranks on one host, as fast as they can
#   flood COUNT        so many forged datagrams, while two ranks send and receive
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"
. "$KEEL_TEST_SRCDIR/tests/lib/netns.sh"
. "$KEEL_TEST_SRCDIR/tests/lib/cable.sh"

readonly perf=$KEEL_TEST_BUILDDIR/bin/keel-perf

# job SECONDS WORD...: a rank on each host, over the cable bad
job()
{
    local limit=$1
    shift
    run_limited "$limit" "${on_a[@]}" "$keelrun" "${hosts_options[@]}" --host a:1,b:1 \
        --mca oob_tcp_if_include v0 --mca btl_usnic_if_include bad --mca btl self,usnic "$@"
}

# counted NAME: what a rail has counted, of all ranks together
counted()
{
    grep -oE "(^|[^a-z_])$1 +[0-9]+" "$work/out" | grep -oE '[0-9]+$' | awk '{ n += $1 } END { print n + 0 }'
}

# sent_again: packets that were, of all ranks together, as they log it
sent_again()
{
    sed -n 's/.* packets sent, \([0-9]*\) sent again, .*/\1/p' "$work/out" "$work/err" |
        awk '{ n += $1 } END { print n + 0 }'
}

# At 2 %, both ways: everything comes, whole.
losses()
{
    local gauge
    what="2 % of all packets are lost"
    cable bad all loss=2 || return
    job 60 "$helpers/failover" sum 8 /dev/null 11
    is "$what: exit code" 0 "$code"
    like "$what: every message has come, whole" "$work/out" "^[0-9]+ messages, [0-9]+ MiB: the sum is right$"
    job 60 "$perf" --btl usnic --stats --iterations 40 --size 16k --test am_lat,am_bw,put_bw,get_bw,atomic_lat
    is "$what: keel-perf's exit code" 0 "$code"
    ok "$what: packets were sent again ($(counted resends))" [ "$(counted resends)" -gt 0 ]
    for gauge in round_trip timeout window credit; do
        like "$what: $gauge is told of the peer" "$work/out" "^peer $gauge [1-9][0-9]* (us|bytes)$"
    done
    ok "$what: the cable has lost some" [ "$(cable_count bad '1>2' lost)" -gt 0 ]
    cable bad all loss=0
}

# At 30 %, both ways, half of all probes and acknowledgements are lost: that is no narrow path, and ends
# no session.
heavy_losses()
{
    what="30 % of all packets are lost"
    cable bad all loss=30 || return
    job 100 --mca log_btl_verbose 1 "$helpers/failover" sum 2 /dev/null 27
    is "$what: exit code" 0 "$code"
    like "$what: every message has come, whole" "$work/out" "^[0-9]+ messages, [0-9]+ MiB: the sum is right$"
    unlike "$what: nobody takes the path for a narrow one" "$work/err" "pass"
    ok "$what: packets were sent again ($(sent_again))" [ "$(sent_again)" -gt 0 ]
    ok "$what: the cable has lost some" [ "$(cable_count bad '1>2' lost)" -gt 100 ]
    cable bad all loss=0
}

hole()
{
    what="packets above 1400 bytes vanish"
    cable bad all mtu=1400 || return
    rm -f "$work/map"
    # longer than the search, which takes half a second
    job 60 --mca btl_usnic_connectivity_map "$work/map" "$perf" --btl usnic --time 3 --size 64k --test am_bw
    is "$what: exit code" 0 "$code"
    # 1400 with the headers of IP and UDP; found to four bytes
    like "$what: a warning names both ends, the interface and the size" "$work/err" \
        "usnic:bad \(10\.99\.50\.[12]\) to .* on [ab] \(10\.99\.50\.[12]\): only packets of up to 13(69|7[0-2]) bytes pass, of 1472"
    unlike "$what: no warning says that nothing does" "$work/err" "nothing passes"
    is "$what: the map has a line for each way" 2 "$(grep -c 'only packets of up to 13' "$work/map")"
    rm "$work/map"
    job 60 --mca btl_usnic_connectivity_map "$work/map" "$perf" --btl usnic --iterations 1 --size 8 --test am_lat
    is "$what: so does that of a job that ends amid the search" 2 \
        "$(grep -c 'packets of up to [0-9]* bytes pass, of 1472' "$work/map")"
    cable bad all mtu=0
}

# record INTERFACE COUNT: what passes on host a from now on, for replay
record()
{
    wanted=$2
    on_host a timeout 60 "$helpers/forger" record "$1" "$2" "$work/recorded" >"$work/recorder" &
    at_exit "kill $! 2>/dev/null"
    ok "$what: what passes is recorded" wait_for 10 grep -qx records "$work/recorder"
}

# Sends it again, from another port.
replay()
{
    local all
    ok "$what: so much has passed" wait_for 30 grep -qx recorded "$work/recorder"
    on_host a "$helpers/forger" replay "$work/recorded" >"$work/replayed"
    all=$(sed -n 's/^sent //p' "$work/replayed")
    is "$what: datagrams come again" "$wanted" "$all"
}

has_rails()
{
    [ "$(grep -c "^rank [01]: $1 rails" "$work/out")" -ge "$2" ]
}

# Amid a session: what is under way cannot be cut anew, so the session ends, and another one begins.
narrower()
{
    what="the path becomes narrower amid a session"
    local rails
    rm -f "$work/stop" "$work/map"
    record bad 400
    start "${on_a[@]}" "$keelrun" "${hosts_options[@]}" --host a:1,b:1 --mca oob_tcp_if_include v0 \
        --mca btl_usnic_if_include bad --mca btl self,usnic,tcp --mca btl_tcp_if_include v0 \
        --mca btl_usnic_connectivity_map "$work/map" --mca btl_tcp_exclusivity 1024 --mca btl_yield 1 \
        "$helpers/failover" sum 8 "$work/stop" 11
    ok "$what: both ranks have two rails" wait_for 15 has_rails 2 2
    ok "$what: large packets pass first" wait_for 15 has_lines "$work/map" 2
    cable bad all mtu=1000 || return
    ok "$what: it is found out" wait_for 20 grep -q 'only packets of up to 9[67][0-9] bytes pass' "$work/err"
    ok "$what: both ranks have two rails again" wait_for 20 has_rails 2 4
    rails=$(grep -c '2 rails' "$work/out")
    replay
    touch "$work/stop"
    await 40
    is "$what: exit code" 0 "$code"
    like "$what: every message has come, whole" "$work/out" "^[0-9]+ messages, [0-9]+ MiB: the sum is right$"
    is "$what: datagrams of the first session end none" "$rails" "$(grep -c '2 rails' "$work/out")"
    cable bad all mtu=0
}

whole()
{
    what="a cable that does nothing"
    rm -f "$work/map"
    job 60 --mca btl_usnic_connectivity_map "$work/map" "$perf" --btl usnic --time 0.05 --size 8 --test am_lat
    is "$what: exit code" 0 "$code"
    unlike "$what: no warning" "$work/err" "packets of up to"
    is "$what: the map has a line for each way" 2 "$(grep -c ': packets of 1472 bytes pass' "$work/map")"
}

# one_way NAME WAY: cut before the ranks meet; the end that still hears says so.
one_way()
{
    what=$1
    cable bad "$2" cut=1 || return
    job 60 --mca btl_usnic_hello_timeout_ms 2000 "$helpers/failover" last
    ok "$what: the job fails" [ "$code" != 0 ]
    like "$what: who still hears says so" "$work/err" "usnic:bad: .*: its hellos come, and it hears none of mine"
    cable bad "$2" cut=0
}

nothing()
{
    what="nothing passes"
    cable bad all cut=1 || return
    job 60 --mca btl_usnic_hello_timeout_ms 2000 "$perf" --btl usnic --time 0.05 --size 8 --test am_lat
    ok "$what: the job fails" [ "$code" != 0 ]
    like "$what: both ends say so" "$work/err" "usnic:bad: .*: no answer to my hello in time"
    ok "$what: in time ($wall_ms ms)" [ "$wall_ms" -le $((12000 * slow)) ]
    job 60 --mca btl self,usnic,tcp --mca btl_tcp_if_include v0 --mca btl_usnic_hello_timeout_ms 2000 \
        "$helpers/failover" sum 8 /dev/null 11
    is "$what: with tcp beside it the job is done" 0 "$code"
    cable bad all cut=0
}

# conformance PROCESSES: every other process is on the second host
conformance()
{
    what="the conformance suite, $1 processes, 2 % of all packets are lost"
    cable bad all loss=2 || return
    KEEL_MCA_btl_usnic_if_include=bad KEEL_TEST_LOG=' sent again, ' \
        KEEL_TEST_NETWORKS="$KEEL_TEST_HOST_a $KEEL_TEST_HOST_b" run_limited 900 \
        nsenter --net="/proc/$KEEL_TEST_HOST_a/ns/net" "$KEEL_TEST_BUILDDIR/tests/conformance/btl" usnic "$1"
    is "$what: exit code" 0 "$code"
    is "$what: no case fails" "" "$(grep '^not ok' "$work/out")"
    ok "$what: cases are run" [ "$(grep -c '^ok' "$work/out")" -ge 50 ]
    ok "$what: packets were sent again ($(sent_again))" [ "$(sent_again)" -gt 0 ]
    ok "$what: the cable has lost some" [ "$(cable_count bad '1>2' lost)" -gt 0 ]
    cable bad all loss=0
}

# goodput_at LOSS: sets mbps, the median of three; a cable of 20 MB/s and half a millisecond, with room
# for 92 packets
goodput_at()
{
    local time all=()
    cable bad all loss="$1" rate=20 delay=0.5 queue=138000 || return
    for time in 1 2 3; do
        # each rank believes to have a host, and its first processor, for itself
        job 60 --mca btl_yield 1 "$perf" --btl usnic --time 2 --size 64k --test am_bw
        is "$1 % loss, $time: exit code" 0 "$code"
        all+=("$(awk '$1 == 65536 { print $6 }' "$work/out")")
    done
    mbps=$(printf '%s\n' "${all[@]}" | sort -n | sed -n 2p)
    echo "# $1 % loss: ${all[*]} MB/s"
    cable bad all loss=0 rate=0 delay=0 queue=0
}

# share_of LOSS LEAST: of what the same cable brings over without losses
share_of()
{
    goodput_at "$1"
    ok "$1 % loss: $mbps of $whole_mbps MB/s, at least $2 of it" \
        awk -v whole="$whole_mbps" -v got="$mbps" "BEGIN { exit !(whole > 0 && got >= $2 * whole) }"
}

goodput()
{
    local whole_mbps
    goodput_at 0
    whole_mbps=$mbps
    share_of 1 0.8
    share_of 5 0.4
    ok "the cable has lost some" [ "$(cable_count bad '1>2' lost)" -gt 0 ]
}

# A message that is longer than the queue may be goes alone.
small_queue()
{
    run_limited 30 "$keelrun" -n 2 --oversubscribe --mca btl self,usnic --mca btl_usnic_if_include lo \
        --mca btl_usnic_tx_queue_size 1k "$helpers/all-to-all" 1
    is "a queue of 1 KiB: exit code" 0 "$code"
    like "a queue of 1 KiB: everything has come, whole" "$work/out" '^2 ranks, 1 MiB to each: whole$'
}

# Of two processes only one wants checksums: both send and check them, and no bit that flips gets through.
unequal_checksums()
{
    local rank
    for rank in 0 1; do
        run_limited 30 "$keelrun" -n 2 --oversubscribe --mca btl self,usnic --mca btl_usnic_if_include lo \
            --mca fault btl.usnic.send:corrupt:p=.1:seed=5 --mca log_btl_verbose 1 \
            sh -c "[ \$KEEL_RANK = $rank ] || export KEEL_MCA_btl_usnic_checksum=0; exec $helpers/all-to-all 4"
        is "checksums of rank $rank alone: exit code" 0 "$code"
        like "checksums of rank $rank alone: everything has come, whole" "$work/out" \
            '^2 ranks, 4 MiB to each: whole$'
        ok "checksums of rank $rank alone: packets were sent again ($(sent_again))" [ "$(sent_again)" -gt 0 ]
    done
}

# A map that cannot be written is told of once by each process, however many paths it has.
map_refused()
{
    run_limited 30 "$keelrun" -n 4 --oversubscribe --mca btl self,usnic --mca btl_usnic_if_include lo \
        --mca btl_usnic_connectivity_map "$work/none/map" "$helpers/all-to-all" 1
    is "a map that cannot be written: exit code" 0 "$code"
    is "a map that cannot be written: each process says so once" 4 \
        "$(grep -c 'btl_usnic_connectivity_map: .*: No such file or directory' "$work/err")"
}

# strange_frames: to each datagram socket on host a frames HERE for the first two of its peers, of a sender
# that knows no token
strange_frames()
{
    # shellcheck disable=SC2016 # for the other bash
    on_host a bash -c 'awk "NR > 1 { split(\$2, at, \":\"); print at[2] }" /proc/net/udp | while read -r port; do
        for frame in "\x00$0\x79\x7a\x8c\x8e" "\x01$0\x49\xae\xfd\xbf"; do
            printf "\xe4\x02\x00\x00$frame" >"/dev/udp/127.0.0.1/$((16#$port))" && echo "sent to $port"
        done
    done' '\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00'
}

strangers_end_no_session()
{
    what="frames of a stranger, with the token 0, and replays"
    rm -f "$work/stop"
    record lo 2000
    start "${on_a[@]}" "$keelrun" -n 2 --oversubscribe --mca btl self,usnic --mca btl_usnic_if_include lo \
        "$helpers/failover" sum 8 "$work/stop" 11
    ok "$what: both ranks have a rail" wait_for 15 has_rails 1 2
    strange_frames >"$work/strange"
    is "$what: they were sent to both" 4 "$(grep -c '^sent' "$work/strange")"
    replay
    touch "$work/stop"
    await 40
    is "$what: exit code" 0 "$code"
    like "$what: every message has come, whole" "$work/out" "^[0-9]+ messages, [0-9]+ MiB: the sum is right$"
    unlike "$what: no session fails" "$work/err" "the session failed"
}

# Kilobytes of the ranks together, whose lines are "pid RANK PID".
memory_of_ranks()
{
    sed -n 's,^pid [01] \(.*\),/proc/\1/status,p' "$work/out" | xargs awk '/^VmRSS/ { n += $2 } END { print n + 0 }'
}

# flood COUNT: forged datagrams cost what the socket loses, and no more. Then the end of one rank is told to
# the other by the host, long before btl_usnic_peer_timeout_ms.
flood()
{
    local before after
    what="a flood of $1 forged datagrams"
    # shellcheck disable=SC2016 # for sh
    start "${on_a[@]}" "$keelrun" -n 2 --oversubscribe --enable-recovery --mca btl self,usnic \
        --mca btl_usnic_if_include lo sh -c 'echo "pid $KEEL_RANK $$"; exec "$0" last' "$helpers/failover"
    ok "$what: both ranks send and receive" wait_for 30 grep -q 'rank 0 is ready' "$work/out"
    before=$(memory_of_ranks)
    on_host a timeout 120 "$helpers/forger" flood "$1" 5 >"$work/flood"
    like "$what: they are sent to both" "$work/flood" "^sent $1 to 2 sockets$"
    after=$(memory_of_ranks)
    ok "$what: memory does not grow ($before to $after KiB)" [ "$after" -le $((before + 4096)) ]
    unlike "$what: no session ends" "$work/out" "requests ended"
    kill -KILL "$(sed -n 's/^pid 1 //p' "$work/out")"
    ok "after kill -9 of a rank all requests of the other end, at once" wait_for 20 \
        grep -q '^rank 0: 16 of 16 requests ended with an error' "$work/out"
    await 20
    ok "after kill -9 of a rank: exit code $code" [ "$code" != late ]
}

# Of five runs, the median of the packets that came twice.
all_to_all()
{
    local time median shares=()
    for time in 1 2 3 4 5; do
        run_limited 120 "$keelrun" -n 8 --oversubscribe --mca btl self,usnic --mca btl_usnic_if_include lo \
            --mca log_btl_verbose 1 "$helpers/all-to-all" 16
        is "all to all, $time: exit code" 0 "$code"
        like "all to all, $time: everything has come, whole" "$work/out" '^8 ranks, 16 MiB to each: whole$'
        shares+=("$(sed -n 's/.*: \([0-9]*\) packets sent, .* sent again, \([0-9]*\) came again, .*/\1 \2/p' "$work/err" |
            awk '{ sent += $1; again += $2 } END { printf "%.2f\n", NR == 8 ? 100 * again / sent : 100 }')")
    done
    median=$(printf '%s\n' "${shares[@]}" | sort -n | sed -n 3p)
    ok "all to all: $median % came twice in the median (${shares[*]}), at most 5" \
        awk "BEGIN { exit !($median <= 5) }"
}

libfabric=$(grep -x '#define HAVE_FABRIC 1' "$KEEL_TEST_BUILDDIR/config.h")
[ -z "$sanitize" ] || libfabric="" # it is not instrumented

if [ -z "$libfabric" ]; then
    skip "rails over datagrams" "no libfabric, or not instrumented"
elif [ "$1" = all-to-all ]; then
    all_to_all
elif make_hosts && plug_cable bad 10.99.50 a b; then
    case $1 in
    conformance)
        for processes in "${@:2}"; do
            conformance "$processes"
        done
        ;;
    flood) flood "$2" ;;
    goodput) goodput ;;
    other-way) one_way "nothing passes to the first" '2>1' ;;
    esac
    [ $# = 0 ] || finish
    whole
    small_queue
    map_refused
    unequal_checksums
    strangers_end_no_session
    flood 20000
    losses
    heavy_losses
    hole
    narrower
    one_way "nothing passes to the second" '1>2'
    nothing
    no_files_left "no file is left on either host"
else
    skip "rails over datagrams" "$reason"
fi
finish
