#!/bin/bash
# Open MPI, pml cm over mtl ofi: libfabric.
. "${KEEL_TEST_SRCDIR:?}/tests/lib/matrix.sh"
begin_matrix openmpi
ofi="--mca pml cm --mca mtl ofi"
matrix "$ofi" "$ofi"
passes "$ofi -n 4 --oversubscribe" 4 4 onesided
passes "$ofi --mca osc pt2pt --simulate 3x2" 6 2 onesided
[ -z "$have_hosts" ] || passes "$ofi --mca osc pt2pt ${hosts_options[*]} --host a:2,b:2" 4 2 onesided
finish
