#!/bin/bash
# Open MPI, pml ob1 over TCP alone, within a node too. What Debian's settings leave of one-sided
# communication needs shared memory or a network card; osc pt2pt does not.
. "${KEEL_TEST_SRCDIR:?}/tests/lib/matrix.sh"
begin_matrix openmpi
tcp="--mca pml ob1 --mca btl tcp,self"
matrix "$tcp" "$tcp"
passes "$tcp -n 4 --oversubscribe" 4 4 spawn
passes "$tcp --mca osc pt2pt -n 4 --oversubscribe" 4 4 onesided
passes "$tcp --mca osc pt2pt --simulate 3x2" 6 2 onesided
[ -z "$have_hosts" ] ||
    passes "$tcp --mca osc pt2pt ${hosts_options[*]} --host a:2,b:2" 4 2 onesided
fails_alike "one-sided over TCP without osc pt2pt" MPI_ERR_WIN \
    "$tcp -n 2 --oversubscribe $programs/onesided.openmpi 2" \
    mpirun.openmpi $tcp --oversubscribe -n 2 "$programs/onesided.openmpi" 2
finish
