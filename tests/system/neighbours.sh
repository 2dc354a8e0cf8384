#!/bin/bash
# Bad neighbours of the PMIx port: whatever they do, an MPI job takes its usual time, and one line a
# second says why somebody was refused.
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"
. "$KEEL_TEST_SRCDIR/tests/lib/beside.sh"

programs=$KEEL_TEST_BUILDDIR/tests/mpi
if [ ! -e "$KEEL_TEST_BUILDDIR/lib/keel-pmix.la" ] || [ -z "${KEEL_TEST_MPICC-}" ] ||
    [ ! -x "$programs/hello.openmpi" ]; then
    skip "neighbours of the PMIx port" "there is no libpmix, hwloc or mpicc.openmpi"
    finish
fi
forget_launchers
excuse_libpmix

refusal="refused a connection to the PMIx port from 127.0.0.1: "

# Four ranks begin while it does its worst.
beside()
{
    # shellcheck disable=SC2016 # for the ranks
    run_limited 20 "$keelrun" --mca pml ob1 -n 4 --oversubscribe bash -c '
        if [ "$PMIX_RANK" = 0 ] && [ "$1" != nobody ]; then
            read -r line < <(exec "$2" "$1" "${PMIX_SERVER_URI4##*:}" "$PMIX_NAMESPACE") || exit 9
        fi
        exec "$3" 4' - "$1" "$helpers/neighbour" "$programs/hello.openmpi"
}

passed()
{
    [ "$code" = 0 ] && [ "$(grep -cx 'hello: 4 ranks passed' "$work/out")" = 1 ] &&
        [ "$(grep -c refused "$work/err")" -le $((1 + wall_ms / 1000)) ]
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
