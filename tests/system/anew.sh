#!/bin/bash
# Jobs go through checkpoints and restarts: what was queued arrives, and what is sent after a restart
# finds its way by new cards.
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"

# goes_through RAIL RANKS WORDS: every rank ends well, over that rail.
goes_through()
{
    local rail=$1 ranks=$2 words=$3
    # shellcheck disable=SC2086 # words
    run_limited 60 "$keelrun" $words -n "$ranks" --oversubscribe "$helpers/anew" 3
    is "keelrun $words -n $ranks: code" 0 "$code"
    is "keelrun $words -n $ranks: over $rail" "$ranks" "$(grep -cx "$rail" "$work/out")"
    is "keelrun $words -n $ranks: nothing on stderr" "" "$(cat "$work/err")"
}

goes_through self 1 ""
goes_through sm 2 ""
goes_through sm 4 ""
goes_through tcp 2 "--mca btl self,tcp --mca btl_tcp_if_include lo"
goes_through tcp 4 "--mca btl self,tcp --mca btl_tcp_if_include lo"
goes_through tcp 2 "--simulate 2x1"
goes_through sm 2 "--mca btl_check 1"
goes_through sm 2 "--mca modex_collect_max 0"

finish
