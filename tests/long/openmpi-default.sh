#!/bin/bash
# Open MPI with nothing chosen: it looks for hardware, and takes ob1.
. "${KEEL_TEST_SRCDIR:?}/tests/lib/matrix.sh"
begin_matrix openmpi
matrix "" ""
passes "-n 4 --oversubscribe" 4 4 onesided spawn
passes "--mca osc pt2pt --simulate 3x2" 6 2 onesided
[ -z "$have_hosts" ] || passes "--mca osc pt2pt ${hosts_options[*]} --host a:2,b:2" 4 2 onesided
finish
