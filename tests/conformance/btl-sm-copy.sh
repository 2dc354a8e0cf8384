#!/bin/sh
# The BTL conformance suite over sm as it is where the kernel allows neither single copies nor memfds.
. "$(dirname "$0")/btl-suite.sh"
suite btl_sm_use_cma=0 btl_sm_backing=file sm 2
