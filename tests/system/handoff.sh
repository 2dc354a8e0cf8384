#!/bin/bash
# The main job: every rank hands a file to its neighbour, by send and by put, and verifies it.
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"

# The last line for so many ranks and so big a file.
last_line()
{
    echo "handoff: $1 ranks, $((2 * $1)) transfers, $((2 * $1 * $2)) bytes, 0 errors"
}

# The rail that rank $1 named.
rail_of()
{
    sed -nE "s/^rank $1 -> [0-9]+ over ([a-z]+): [0-9]+ bytes, [0-9]+ MB\/s by send, [0-9]+ MB\/s by put, ok\$/\1/p" \
        "$work/out"
}

rails()
{
    local rank list=
    for ((rank = 0; rank < $1; rank++)); do
        list="$list $(rail_of "$rank")"
    done
    echo "${list# }"
}

repeat()
{
    local list=
    for ((i = 0; i < $2; i++)); do
        list="$list $1"
    done
    echo "${list# }"
}

# hands_over NAME RANKS BYTES RAILS: what run_limited left is right.
hands_over()
{
    is "$1: exit code" 0 "$code"
    is "$1: last line" "$(last_line "$2" "$3")" "$(tail -n 1 "$work/out")"
    is "$1: rails" "$4" "$(rails "$2")"
    is "$1: nothing on stderr" "" "$(cat "$work/err")"
}

size=$(stat -c %s "$handoff")

head -c 3000001 /dev/urandom >"$work/file"
: >"$work/empty"

# hand_over VIA COMMAND...: all of it, started by this command.
hand_over()
{
    local via=$1 run ranks rail btl
    shift
    run=("$@")

    for ranks in 1 2 4 7; do
        rail=sm
        [ $ranks -gt 1 ] || rail=self
        run_limited 20 "${run[@]}" -n $ranks --oversubscribe "$handoff"
        hands_over "$via$ranks ranks" $ranks "$size" "$(repeat $rail $ranks)"
    done

    run_limited 20 "${run[@]}" -n 2 --oversubscribe "$handoff" "$work/file"
    hands_over "${via}a given file" 2 3000001 "sm sm"

    run_limited 20 "${run[@]}" -n 2 --oversubscribe "$handoff" "$work/empty"
    hands_over "${via}an empty file" 2 0 "sm sm"

    run_limited 20 "${run[@]}" -n 2 "$handoff" "$work/missing"
    is "${via}a missing file: exit code" 1 "$code"
    like "${via}a missing file is named" "$work/err" "$work/missing: No such file or directory"

    run_limited 20 "${run[@]}" -n 4 --oversubscribe --mca btl self,tcp "$handoff"
    hands_over "${via}tcp chosen" 4 "$size" "tcp tcp tcp tcp"

    run_limited 20 "${run[@]}" -n 4 --oversubscribe --mca btl self,sm "$handoff"
    hands_over "${via}sm chosen" 4 "$size" "sm sm sm sm"

    run_limited 20 "${run[@]}" -n 2 --mca btl self "$handoff"
    ok "${via}no rail to the neighbour: it fails" [ "$code" != 0 -a "$code" != late ]
    like "${via}no rail to the neighbour: it says so" "$work/err" "no rail to rank|rank [01]"

    run_limited 20 "${run[@]}" --simulate 3x2 -n 6 "$handoff" "$work/file"
    hands_over "${via}three nodes" 6 3000001 "sm tcp sm tcp sm tcp"

    run_limited 20 "${run[@]}" --simulate 3x2 "$handoff"
    hands_over "${via}three nodes, as many ranks as slots" 6 "$size" "sm tcp sm tcp sm tcp"

    run_limited 30 "${run[@]}" --simulate 7x1 --mca routed_radix 2 "$handoff"
    hands_over "${via}seven nodes, daemons that relay" 7 "$size" "$(repeat tcp 7)"

    run_limited 30 "${run[@]}" --simulate 4x1 --mca routed_radix 1 "$handoff"
    hands_over "${via}four nodes in a chain" 4 "$size" "$(repeat tcp 4)"

    run_limited 20 "${run[@]}" --simulate 2x2 --mca modex_collect_max 0 "$handoff"
    hands_over "${via}cards on demand" 4 "$size" "sm tcp sm tcp"

    # refusals: each rank tries forged and stale handles, on each rail
    for btl in self,sm self,tcp; do
        run_limited 30 "${run[@]}" -n 2 --mca btl $btl "$handoff" --refusals "$work/file"
        is "${via}refusals over $btl: exit code" 0 "$code"
        is "${via}refusals over $btl: each rank" 2 \
            "$(grep -c '^rank [01]: forged and stale handles refused$' "$work/out")"
        is "${via}refusals over $btl: last line" "$(last_line 2 3000001)" "$(tail -n 1 "$work/out")"
    done
    run_limited 30 "${run[@]}" -n 1 "$handoff" --refusals
    is "${via}refusals over self: exit code" 0 "$code"
    like "${via}refusals over self" "$work/out" "^rank 0: forged and stale handles refused$"
}

hand_over "" "$keelrun"
if [ -e "$KEEL_TEST_BUILDDIR/lib/keel-bootstrap-pmix.la" ] &&
    [ -e "$KEEL_TEST_BUILDDIR/lib/keel-pmix.la" ]; then
    excuse_libpmix
    hand_over "PMIx: " "$keelrun" --mca bootstrap pmix
    unset LSAN_OPTIONS
else
    skip "over PMIx" "there is no libpmix"
fi

# alone, without keelrun
run_limited 20 "$handoff"
hands_over "a singleton" 1 "$size" "self"
run_limited 20 "$handoff" "$work/file"
hands_over "a singleton with a file" 1 3000001 "self"

# one bit of what arrived at rank 1 is turned
if ${CC:-cc} -shared -fPIC -o "$work/bend.so" "$KEEL_TEST_SRCDIR/tests/system/bend.c" -ldl \
    2>"$work/cc.err"; then
    run_limited 20 env ASAN_OPTIONS="${ASAN_OPTIONS-}:verify_asan_link_order=0" \
        "$keelrun" --oversubscribe -n 1 "$handoff" "$work/file" : \
        -n 1 -x LD_PRELOAD="$work/bend.so" "$handoff" "$work/file" : -n 1 "$handoff" "$work/file"
    is "corruption: exit code" 1 "$code"
    is "corruption: rank 0 learns of it" 1 "$(grep -c '^rank 0 -> 1 .* WRONG$' "$work/out")"
    is "corruption: the others are right" 2 "$(grep -c '^rank [12] -> .* ok$' "$work/out")"
    like "corruption: last line" "$work/out" \
        "^handoff: 3 ranks, 6 transfers, 18000006 bytes, 2 errors$"
else
    skip "corruption" "no compiler"
fi

ok "no session folder is left" wait_for 2 not test -e "$sessions"
finish
