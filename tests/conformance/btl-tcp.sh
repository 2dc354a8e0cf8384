#!/bin/sh
# The BTL conformance suite over tcp.
exec "${KEEL_TEST_BUILDDIR:-.}/tests/conformance/btl" tcp
