#!/bin/sh
# The BTL conformance suite over self.
exec "${KEEL_TEST_BUILDDIR:-.}/tests/conformance/btl" self
