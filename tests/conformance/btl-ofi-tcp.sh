#!/bin/sh
# The BTL conformance suite over ofi with libfabric's tcp.
KEEL_MCA_btl_ofi_provider='tcp;ofi_rxm'
export KEEL_MCA_btl_ofi_provider
exec "${KEEL_TEST_BUILDDIR:-.}/tests/conformance/btl" ofi
