#!/bin/bash
# The same job again and again: none hangs, and each passes.
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"
. "$KEEL_TEST_SRCDIR/tests/lib/mpi.sh"

# again COUNT NAME KEELRUN-WORDS...: how many of so many runs do not pass within 30 s; none shall.
again()
{
    local count=$1 name=$2 bad=0 slowest=0 i
    shift 2
    for ((i = 0; i < count; i++)); do
        run_limited 30 "$keelrun" "$@"
        [ "$wall_ms" -le "$slowest" ] || slowest=$wall_ms
        if [ "$code" != 0 ]; then
            bad=$((bad + 1))
            diagnose
        fi
    done
    is "$name: $count runs, the slowest of $slowest ms" 0 "$bad"
}

again 20 "true, 256 ranks" --oversubscribe -n 256 true
if has_mpi openmpi; then
    need_mpi openmpi
    again 100 "Open MPI, ob1, 4 ranks" --mca pml ob1 --oversubscribe -n 4 "$programs/ring.openmpi" 4
    again 100 "Open MPI, default, 4 ranks" --oversubscribe -n 4 "$programs/ring.openmpi" 4
    again 100 "Open MPI, ob1, 4 ranks on 2 nodes" --mca pml ob1 --simulate 2x2 "$programs/ring.openmpi" 4
else
    skip "Open MPI again and again" "it is not installed, or there is no libpmix or hwloc"
fi
if has_mpi mpich; then
    again 100 "MPICH, 4 ranks" --oversubscribe -n 4 "$programs/ring.mpich" 4
else
    skip "MPICH again and again" "it is not installed"
fi
ok "no session folder is left" wait_for 4 not test -e "$sessions"
finish
