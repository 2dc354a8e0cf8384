#!/bin/sh
# The BTL conformance suite over ofi with libfabric's tcp.
KEEL_MCA_btl_ofi_provider='tcp;ofi_rxm'
LSAN_OPTIONS=suppressions=${KEEL_TEST_SRCDIR:-.}/tests/lib/fabric.supp:print_suppressions=0
export LSAN_OPTIONS KEEL_MCA_btl_ofi_provider
exec "${KEEL_TEST_BUILDDIR:-.}/tests/conformance/btl" ofi
