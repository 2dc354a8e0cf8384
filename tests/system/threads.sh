#!/bin/bash
# Several threads in the data plane: eight at a time, and the progress thread.
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"

# all_ok NAME RANKS MODE OPTION...: every rank says that it is.
all_ok()
{
    local name=$1 ranks=$2 mode=$3
    shift 3
    run_limited 60 "$keelrun" -n "$ranks" "$@" "$helpers/threads" "$mode" "$count"
    is "$name: $mode: exit code" 0 "$code"
    is "$name: $mode: every rank" "$ranks" "$(grep -c "^rank [0-9]*: $mode: ok$" "$work/out")"
    is "$name: $mode: nothing is complained about" "" "$(grep -v '^keelrun: .* ranks on' "$work/err")"
}

count=300
for mode in mixed meet serve idle; do
    all_ok self 1 $mode --mca btl self
    all_ok sm 2 $mode --mca btl self,sm
    all_ok "sm without single copies" 2 $mode --mca btl self,sm --mca btl_sm_use_cma 0
    all_ok tcp 2 $mode --mca btl self,tcp
done
all_ok sm 2 blocks --mca btl self,sm
all_ok tcp 2 blocks --mca btl self,tcp
all_ok "sm, a progress thread among them" 2 mixed --mca enable_progress_threads 1 --mca btl self,sm
all_ok "tcp, a progress thread among them" 2 mixed --mca enable_progress_threads 1 --mca btl self,tcp
all_ok "sm, checked" 2 mixed --mca btl self,sm --mca btl_check 1
all_ok "tcp, checked" 2 mixed --mca btl self,tcp --mca btl_check 1

# hands_over BTLS OPTION: the main example, which is written for either.
hands_over()
{
    run_limited 60 "$keelrun" --oversubscribe -n 4 --mca btl "$1" --mca "$2" 1 "$handoff" --refusals
    is "handoff over $1, $2: exit code" 0 "$code"
    like "handoff over $1, $2: all is right" "$work/out" \
        "^handoff: 4 ranks, 8 transfers, [0-9]* bytes, 0 errors$"
    is "handoff over $1, $2: nothing is complained about" "" "$(cat "$work/err")"
}

for option in enable_thread_multiple enable_progress_threads; do
    for btls in self,sm self,tcp; do
        hands_over $btls $option
    done
done

if [ -n "$sanitize" ]; then
    skip "ofi" "libfabric is not instrumented"
elif grep -q '^#define HAVE_FABRIC 1' "$KEEL_TEST_BUILDDIR/config.h"; then
    all_ok ofi 2 mixed --mca btl self,ofi
    all_ok ofi 2 serve --mca btl self,ofi
fi
finish
