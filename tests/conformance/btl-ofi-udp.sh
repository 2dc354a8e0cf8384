#!/bin/sh
# The BTL conformance suite over ofi with libfabric's udp.
KEEL_MCA_btl_ofi_provider='udp;ofi_rxd'
export KEEL_MCA_btl_ofi_provider
exec "${KEEL_TEST_BUILDDIR:-.}/tests/conformance/btl" ofi
