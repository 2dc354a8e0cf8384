#!/bin/bash
# Messages by tag and several threads: eight at a time, the progress thread, ranks that sleep,
# and checkpoints.
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"

# all_ok NAME RANKS MODE OPTION...: every rank says that it is.
all_ok()
{
    local name=$1 ranks=$2 mode=$3
    shift 3
    rm -f "$work/served"
    run_limited 60 "$keelrun" --oversubscribe -n "$ranks" "$@" "$helpers/tagged" "$mode" \
        "$([ "$mode" = serve ] && echo "$work/served" || echo "$count")"
    is "$name: $mode: exit code" 0 "$code"
    is "$name: $mode: every rank" "$ranks" "$(grep -c "^rank [0-9]*: $mode: ok$" "$work/out")"
    is "$name: $mode: nothing is complained about" "" "$(cat "$work/err")"
}

count=60
all_ok self 1 mixed --mca btl self
for btls in self,sm self,tcp; do
    all_ok $btls 2 mixed --mca btl $btls
    all_ok $btls 3 mixed --mca btl $btls
    all_ok "$btls, a progress thread" 2 mixed --mca btl $btls --mca enable_progress_threads 1
    all_ok "$btls, which sends" 2 mixed --mca btl $btls --mca ptl_rail_rendezvous send
    all_ok "$btls, checked" 2 mixed --mca btl $btls --mca btl_check 1
    all_ok $btls 2 serve --mca btl $btls
    all_ok $btls 2 idle --mca btl $btls
    all_ok "$btls, several threads" 2 idle --mca btl $btls --mca enable_thread_multiple 1
    all_ok "$btls, a progress thread" 2 idle --mca btl $btls --mca enable_progress_threads 1
    all_ok "$btls, polling as ever" 2 mixed --mca btl $btls --mca pml_spin_us 3600000000
    all_ok $btls 3 anew --mca btl $btls
    all_ok "$btls, a progress thread" 2 anew --mca btl $btls --mca enable_progress_threads 1
    # what waits for each other in a program with one thread
    run_limited 40 "$keelrun" -n 2 --mca btl $btls --mca enable_progress_threads 1 "$helpers/tags"
    is "$btls, a progress thread: tags" ok "$(cat "$work/out" "$work/err")"
done
finish
