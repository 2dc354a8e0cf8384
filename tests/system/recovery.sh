#!/bin/bash
# A daemon that relays is killed while ranks on both its sides send each other messages and
# broadcasts: with --enable-recovery each arrives once and in order, and the rest of the job goes on
# to its end; without it the job ends, in order.
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"

# The daemons of the tree of radix 2 on 7 simulated nodes: 0 (keelrun) has 1 and 2, 1 has 3 and 5, 2
# has 4 and 6, 3 has 7. Rank R lives with daemon R + 1.
daemon_pid()
{
    local one
    for one in $(descendants "$pid" | awk '$2 == "keeld" { print $1 }'); do
        if [ "$(tr '\0' ' ' <"/proc/$one/cmdline" 2>/dev/null | sed 's/.*--vpid //')" = "$1 " ]; then
            echo "$one"
            return
        fi
    done
}

has_all()
{
    [ "$(grep -c "^$1" "$work/out")" -ge "$2" ]
}

has_all_or_over()
{
    has_all "$@" || is_gone "$pid"
}

# run RADIX COUNT "LOST ranks" OPTION...: starts it and waits until some are in the middle.
run()
{
    local radix=$1 count=$2 lost=$3
    shift 3
    # shellcheck disable=SC2086 # several ranks
    start "$keelrun" "$@" --mca routed_radix "$radix" --simulate 7x1 -n 7 \
        "$helpers/survivor" "$count" $lost
    wait_for 30 has_all_or_over "half" 1
    uuid=$(sed -n 's/^job //p' "$work/out" | head -n 1)
    pids="$pid $(descendants "$pid" | cut -d ' ' -f 1 | xargs)"
}

# survived NAME RANKS: so many ranks got everything; keelrun says what was lost.
survived()
{
    is "$1: each message once, in order" "$2" "$(grep -c 'all, once, in order' "$work/out")"
    is "$1: exit code" 125 "$code"
    like "$1: the user is told" "$work/err" 'lost the daemon of node .*; the job goes on'
    no_leftovers "$1: nothing is left" "$uuid" "$pids"
}

run 2 400 0 --enable-recovery
kill -KILL "$(daemon_pid 1)"
await 60
survived "a relay" 6

run 1 200 "2 4" --enable-recovery
kill -KILL "$(daemon_pid 3)" "$(daemon_pid 5)"
await 60
survived "two of a chain" 5

run 2 400 "0 2" --enable-recovery
kill -KILL "$(daemon_pid 1)" "$(daemon_pid 3)"
await 60
survived "a relay and its child" 5

# without recovery
run 2 2000 0
kill -KILL "$(daemon_pid 1)"
await 10
is "without recovery: exit code" 125 "$code"
like "without recovery: the reason" "$work/err" '^keelrun: lost the daemon of node node0: its link to node .* broke$'
no_leftovers "without recovery: nothing is left" "$uuid" "$pids"

# the ends of the others are heard over the repaired tree: their last words, and their signals
start "$keelrun" --mca routed_radix 2 --mca abort_grace_ms 5000 --simulate 7x1 -n 7 sh -c \
    'trap "echo ended \$KEEL_RANK; exit 0" TERM; echo job $KEEL_JOB; sleep 60 & wait'
wait_for 15 has_all job 7
uuid=$(sed -n 's/^job //p' "$work/out" | head -n 1)
pids="$pid $(descendants "$pid" | cut -d ' ' -f 1 | xargs)"
kill -KILL "$(daemon_pid 1)"
await 10
is "the others are ended in order" 6 "$(grep -c '^ended ' "$work/out")"
is "the others are ended in order: exit code" 125 "$code"
no_leftovers "the others are ended in order: nothing is left" "$uuid" "$pids"

# what waits for a lost node: the user's input on its way to rank 0 there ...
mkfifo "$work/pipe"
(
    yes >"$work/pipe"
    touch "$work/input-ended"
) 2>"$work/yes" &
started+=($!)
input=$work/pipe start "$keelrun" --enable-recovery --simulate 2x1 -n 2 sh -c \
    "echo job \$KEEL_JOB; until [ -e $work/over ]; do sleep 0.1; done"
wait_for 15 has_all job 2
kill -KILL "$(daemon_pid 1)"
ok "a lost node takes no more input, and its writer is told" wait_for 5 test -e "$work/input-ended"
ok "... while the job goes on" is_alive "$pid"
touch "$work/over"
await 20
is "input for a lost node: exit code" 125 "$code"
rm "$work/over"

# ... and ranks that are to be added there
lost=$KEEL_TEST_BUILDDIR/tests/pmix/spawn_lost
if [ -x "$lost" ]; then
    excuse_libpmix
    start "$keelrun" --enable-recovery --simulate 3x1 -n 3 "$lost" "$lost" "$work"
    wait_for 20 has_all ready 3
    victim=$(daemon_pid 2)
    kill -STOP "$victim"
    touch "$work/go"
    sleep 0.5
    kill -KILL "$victim"
    ok "ranks that were to be added to a lost node: their parent is told" \
        wait_for 10 has_all "the first failed" 1
    ok "more are added elsewhere" wait_for 10 has_all "the second went well" 1
    touch "$work/over"
    await 20
    is "ranks that were to be added to a lost node: exit code" 125 "$code"
    rm "$work/over"
else
    skip "ranks that are to be added to a lost node" "there is no libpmix or hwloc"
fi

# a rank that is killed before it joins, on any node: nobody waits for it in vain
for victim in 0 1 2; do
    run_limited 20 "$keelrun" --enable-recovery --simulate 3x1 sh -c \
        "[ \$KEEL_RANK != $victim ] || kill -9 \$\$; exec '$handoff'"
    is "rank $victim is killed before it joins: exit code" 137 "$code"
    ok "rank $victim is killed before it joins: the others are told" [ "$wall_ms" -lt $((5000 * slow)) ]
done

# a rank alone
start "$keelrun" --enable-recovery --simulate 2x2 -n 4 sh -c \
    'echo job $KEEL_JOB; [ $KEEL_RANK != 2 ] || kill -9 $$; sleep 1; echo end $KEEL_RANK'
await 20
is "a rank that is killed: the others go on" 3 "$(grep -c '^end ' "$work/out")"
is "a rank that is killed: exit code" 137 "$code"

# ... while another sends to it and gets from it: over each rail it is told, as soon as keelrun knows
# where the transport would not tell
bereft()
{
    run_limited 60 "$keelrun" --enable-recovery -n 2 --mca btl "self,$1" \
        --mca btl_ofi_provider "${2:-shm}" "$helpers/bereft"
    like "a peer that is killed, ${2:-$1}" "$work/out" '^rank 0: told, '
    is "a peer that is killed, ${2:-$1}: exit code" 137 "$code"
}

# ... and while another one ends, which waits for it as long as a module may: it is told, too
bereft_at_the_end()
{
    start "$keelrun" --enable-recovery -n 2 --mca btl "self,$1" --mca "btl_$1_flush_timeout_ms" 30000 \
        --mca btl_usnic_if_include lo --mca btl_ofi_provider "${2:-shm}" "$helpers/bereft" ends
    ok "a peer that is killed amid the end, ${2:-$1}: the other one ends" wait_for 20 has_all "ends" 1
    ok "a peer that is killed amid the end, ${2:-$1}: it is there" wait_for 20 has_all "pid" 1
    kill -KILL "$(sed -n 's/^pid //p' "$work/out")"
    await 10
    is "a peer that is killed amid the end, ${2:-$1}: exit code" 137 "$code"
}

bereft sm
bereft tcp
bereft_at_the_end tcp
if [ -n "$sanitize" ]; then
    skip "a peer that is killed, ofi" "libfabric is not instrumented"
elif grep -q '^#define HAVE_FABRIC 1' "$KEEL_TEST_BUILDDIR/config.h"; then
    bereft ofi 'tcp;ofi_rxm'
    bereft ofi shm
    bereft ofi 'udp;ofi_rxd'
    bereft_at_the_end ofi
    bereft_at_the_end usnic
fi
finish
