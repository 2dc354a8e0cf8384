#!/bin/sh
# The BTL conformance suite over sm as it is where the kernel allows neither single copies nor memfds.
KEEL_MCA_btl_sm_use_cma=0 KEEL_MCA_btl_sm_backing=file
export KEEL_MCA_btl_sm_use_cma KEEL_MCA_btl_sm_backing
exec "${KEEL_TEST_BUILDDIR:-.}/tests/conformance/btl" sm 2
