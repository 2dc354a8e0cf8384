#!/bin/sh
# The BTL conformance suite over ofi, with put, get and atomics of the provider's own.
KEEL_MCA_btl_ofi_provider=shm KEEL_MCA_btl_ofi_rma=native KEEL_MCA_btl_ofi_atomics=native
export KEEL_MCA_btl_ofi_provider KEEL_MCA_btl_ofi_rma KEEL_MCA_btl_ofi_atomics
exec "${KEEL_TEST_BUILDDIR:-.}/tests/conformance/btl" ofi 2
