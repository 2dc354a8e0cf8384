#!/bin/bash
# Programs written for ORTE, which see the old include paths and nothing else: alone, with one, two
# and four ranks, and on three simulated nodes.
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"

readonly programs=$KEEL_TEST_BUILDDIR/tests/conformance/compat
readonly source=$KEEL_TEST_SRCDIR/tests/conformance/compat

# try NAME PROGRAM...: alone and in jobs of every size.
try()
{
    local name=$1 how
    shift
    run_limited 20 "$@"
    is "$name: alone" 0 "$code"
    for how in '-n 1' '-n 2' '-n 4' '--simulate 3x2'; do
        # shellcheck disable=SC2086 # the words are meant to be split
        run_limited 30 "$keelrun" --oversubscribe $how "$@"
        is "$name: keelrun $how" 0 "$code"
    done
}

for name in life old13 buffers events matching classes contact errors; do
    try "$name" "$programs/$name"
done
run_limited 20 "$keelrun" --oversubscribe -n 2 "$programs/life" : -n 1 "$programs/life" 1
is 'the number of the program' 0 "$code"

run_limited 20 "$keelrun" --oversubscribe --simulate 3x2 "$programs/errors"
like 'ORTE_ERROR_LOG says what and where' "$work/err" \
    '^\[[^]:]+:[0-9]+\] \[\[[0-9]+,1\],[0-9]+\] ORTE_ERROR_LOG: not found \(-13\) at .*errors\.c:[0-9]+$'
is 'and is silent for success and silence' 6 "$(grep -c ORTE_ERROR_LOG "$work/err")"

run_limited 20 "$keelrun" --oversubscribe -n 2 "$programs/errors" abort
is 'orte_errmgr.abort ends the job with its code' 7 "$code"
like 'and the reason is told' "$work/err" 'for a test'

if command -v g++ >/dev/null; then
    objects=("$programs"/.libs/libold.a)
    ok 'C++ compiles' g++ -std=c++17 -Wall -Wextra -Wpedantic -Werror $sanitize \
        -I "$KEEL_TEST_SRCDIR/include/compat" -I "$KEEL_TEST_SRCDIR/include" -o "$work/cplusplus" \
        "$source/cplusplus.cc" "${objects[@]}" -L "$KEEL_TEST_BUILDDIR/lib/.libs" -lkeel \
        -Wl,-rpath,"$KEEL_TEST_BUILDDIR/lib/.libs"
    try 'C++' "$work/cplusplus"
else
    skip 'C++' 'no g++'
fi
finish
