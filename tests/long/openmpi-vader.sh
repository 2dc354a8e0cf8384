#!/bin/bash
# Open MPI, pml ob1 over vader, which reaches no other node: TCP goes between nodes.
. "${KEEL_TEST_SRCDIR:?}/tests/lib/matrix.sh"
begin_matrix openmpi
ob1="--mca pml ob1"
one="$ob1 --mca btl vader,self" many="$ob1 --mca btl vader,tcp,self"
matrix "$one" "$many"
passes "$one -n 4 --oversubscribe" 4 4 onesided
passes "$many -n 4 --oversubscribe" 4 4 spawn

# vader knows the ranks of its own job only
fails_alike "spawn over vader alone" "unable to reach each other" \
    "$one -n 2 --oversubscribe $programs/spawn.openmpi 2" \
    mpirun.openmpi $one --oversubscribe -n 2 "$programs/spawn.openmpi" 2
finish
