#!/bin/sh
# The BTL conformance suite over self with the checking module before it: it must find nothing but what the
# cases do wrong on purpose.
KEEL_MCA_btl_check=1
export KEEL_MCA_btl_check
exec "${KEEL_TEST_BUILDDIR:-.}/tests/conformance/btl" self
