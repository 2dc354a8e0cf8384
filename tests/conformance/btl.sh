#!/bin/sh
# The BTL conformance suite over one module: btl.sh [PARAMETER=VALUE ...] MODULE [PROCESSES [CASE ...]]
. "${KEEL_TEST_SRCDIR:?}/tests/lib/btl-suite.sh"
suite "$@"
