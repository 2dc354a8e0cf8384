#!/bin/sh
# The BTL conformance suite over sm with a bell, on which its cases of sleepers sleep.
KEEL_MCA_btl_sm_bell=1
export KEEL_MCA_btl_sm_bell
exec "${KEEL_TEST_BUILDDIR:-.}/tests/conformance/btl" sm 2
