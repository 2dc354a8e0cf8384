#!/bin/sh
# The BTL conformance suite over tcp with the lock that lets any thread call.
KEEL_MCA_enable_thread_multiple=1
export KEEL_MCA_enable_thread_multiple
exec "${KEEL_TEST_BUILDDIR:-.}/tests/conformance/btl" tcp 2
