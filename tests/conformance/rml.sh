#!/bin/bash
# The conformance matrix of orte_rml, function x flags x outcome: alone, with two and four ranks, on
# three simulated nodes, and on two hosts that share nothing. The cells of peers that end are in
# tests/conformance/rml/failures.
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"
. "$KEEL_TEST_SRCDIR/tests/lib/netns.sh"

readonly job=$KEEL_TEST_BUILDDIR/tests/conformance/rml/job

run_limited 10 "$job" --list
is 'no cell is empty' 0 "$code"
is 'the matrix is whole: 18 functions, 12 combinations of flags, 11 outcomes' $((18 * 12 * 11)) \
    "$(sort -u "$work/out" | wc -l)"
cp "$work/out" "$work/matrix"
cells=$(grep -cP '\tjob$' "$work/out")

# holds HOW RANKS
holds()
{
    is "$1: exit code" 0 "$code"
    is "$1: every cell holds" "$cells cells of $2 ranks hold" "$(tail -n 1 "$work/out")"
}

run_limited 60 "$job"
holds alone 1
for ranks in 2 4; do
    run_limited 60 "$keelrun" --oversubscribe -n $ranks "$job"
    holds "$ranks ranks" $ranks
done
run_limited 120 "$keelrun" --oversubscribe --simulate 3x2 "$job"
holds 'three nodes' 6
if make_hosts; then
    run_limited 120 "${on_a[@]}" "$keelrun" "${hosts_options[@]}" --host a:2,b:2 "$job"
    holds 'two hosts' 4
else
    skip 'two hosts' "$reason"
fi

# The cells of a tool, at a job of ranks that wait to be told to end.
visits=$(grep -cP '\ttool$' "$work/matrix")
control=$KEEL_TEST_BUILDDIR/examples/rml_control
for layout in '-n 1' '--simulate 3x2'; do
    # shellcheck disable=SC2086 # words
    "$keelrun" --oversubscribe --report-uri "$work/uri" --mca tools_max 1 $layout \
        "$control" work 100 >"$work/job" 2>&1 &
    ranks_pid=$!
    started+=("$ranks_pid")
    wait_for 20 test -s "$work/uri"
    run_limited 60 "$KEEL_TEST_BUILDDIR/tests/conformance/rml/visit" "$(cat "$work/uri")"
    is "a tool at $layout: exit code" 0 "$code"
    is "a tool at $layout: every cell holds" "$visits cells of a tool hold" "$(tail -n 1 "$work/out")"
    wait_for 20 "$control" ask "file:$work/uri" stop >"$work/asked" 2>&1 # the last name is given back
    wait "$ranks_pid"
    is "a tool at $layout: the job ends" 0 $?
    unset "started[-1]"
done
finish
