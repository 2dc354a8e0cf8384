#!/bin/sh
# The BTL conformance suite over ofi with libfabric's shm.
KEEL_MCA_btl_ofi_provider='shm'
export KEEL_MCA_btl_ofi_provider
exec "${KEEL_TEST_BUILDDIR:-.}/tests/conformance/btl" ofi
