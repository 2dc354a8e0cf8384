#!/bin/bash
# Bad neighbours of the PMIx port: whatever they do, an MPI job takes its usual time, and one line a
# second says why somebody was refused.
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"

programs=$KEEL_TEST_BUILDDIR/tests/mpi
if [ ! -e "$KEEL_TEST_BUILDDIR/lib/keel-pmix.la" ] || [ -z "${KEEL_TEST_MPICC-}" ] ||
    [ ! -x "$programs/hello.openmpi" ]; then
    skip "neighbours of the PMIx port" "there is no libpmix, hwloc or mpicc.openmpi"
    finish
fi
forget_launchers
excuse_libpmix

# neighbour KIND: four ranks begin while it does its worst; sets wall_ms.
neighbour()
{
    # shellcheck disable=SC2016 # for the ranks
    run_limited 20 "$keelrun" --mca pml ob1 -n 4 --oversubscribe bash -c '
        if [ "$PMIX_RANK" = 0 ] && [ "$1" != nobody ]; then
            read -r line < <(exec "$2" "$1" "${PMIX_SERVER_URI4##*:}" "$PMIX_NAMESPACE") || exit 9
        fi
        exec "$3" 4' - "$1" "$helpers/neighbour" "$programs/hello.openmpi"
}

median()
{
    printf '%s\n' "$@" | sort -n | sed -n "$((($# + 1) / 2))p"
}

# passed KIND: its last run was like any other, and said little.
passed()
{
    [ "$code" = 0 ] && [ "$(grep -cx 'hello: 4 ranks passed' "$work/out")" = 1 ] &&
        [ "$(grep -c refused "$work/err")" -le $((1 + wall_ms / 1000)) ]
}

# bad KIND LINE: with and without it, in turn; LINE says why it was refused ("" for nothing). Twice as
# often when it looks slower, for the machine may have been.
bad()
{
    local kind=$1 usual=() times=() round limit
    for round in 1 2 3 4 5 6 7 8 9; do
        neighbour nobody
        usual+=("$wall_ms")
        neighbour "$kind"
        times+=("$wall_ms")
        passed "$kind" || break
        limit=$(($(median "${usual[@]}") * 12 / 10 + 200))
        if [ $((round % 3)) = 0 ] && [ "$(median "${times[@]}")" -le "$limit" ]; then
            break
        fi
    done
    ok "$kind: all ranks pass, one line a second at most" passed "$kind"
    ok "$kind: in the usual time (${times[*]} ms beside ${usual[*]})" \
        [ "$(median "${times[@]}")" -le "${limit:-0}" ]
    if [ -n "$2" ]; then
        like "$kind: a line in the log" "$work/err" \
            "refused a connection to the PMIx port from 127.0.0.1: $2"
    fi
}

bad idle ""
bad crowd ""
bad byte ""
bad half ""
bad dribble ""
bad huge "its first message is too long"
bad http "this is not PMIx"
bad random "this is not PMIx"
bad none "its security mode is not native"
bad user "its credential names another user or group"
bad job "it names another job"
bad rank "it names no living rank of this node"
bad liar "it names another user or group than its credential"
bad deserter ""
bad truant ""
bad silent ""
if [ "$(id -u)" = 0 ]; then
    bad foreign "it belongs to another user"
    bad orphan "(its sender is gone already|it belongs to another user)"
else
    skip "another user's connections" "this needs root"
fi

ok "no session folder is left" wait_for 4 not test -e "$sessions"
finish
