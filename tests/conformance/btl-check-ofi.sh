#!/bin/sh
# The BTL conformance suite over ofi with the checking module before it: it must find nothing but what the
# cases do wrong on purpose.
KEEL_MCA_btl_check=1 KEEL_MCA_btl_ofi_provider=shm
export KEEL_MCA_btl_check KEEL_MCA_btl_ofi_provider
exec "${KEEL_TEST_BUILDDIR:-.}/tests/conformance/btl" ofi 2
