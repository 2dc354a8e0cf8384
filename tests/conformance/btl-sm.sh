#!/bin/sh
# The BTL conformance suite over sm.
exec "${KEEL_TEST_BUILDDIR:-.}/tests/conformance/btl" sm
