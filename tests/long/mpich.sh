#!/bin/bash
# MPICH as it comes: ch4 over ucx.
. "${KEEL_TEST_SRCDIR:?}/tests/lib/matrix.sh"
begin_matrix mpich
matrix "" "" onesided
passes "-n 4 --oversubscribe" 4 4 "onesided allocate"
fails_alike "spawn" "internal_Comm_spawn.*Other MPI error|Error in spawn call" \
    "-n 2 --oversubscribe $programs/spawn.mpich 2" mpiexec.hydra -n 2 "$programs/spawn.mpich" 2
fails_alike "windows that MPI allocates, on three nodes" "what a peer has put" \
    "--simulate 3x2 $programs/onesided.mpich 6 2 allocate" \
    env MPIR_CVAR_NUM_CLIQUES=3 mpiexec.hydra -n 6 "$programs/onesided.mpich" 6 2 allocate
finish
