#!/bin/sh
# The BTL conformance suite over sm with a bell, on which its cases of sleepers sleep.
. "$(dirname "$0")/btl-suite.sh"
suite btl_sm_bell=1 sm 2
