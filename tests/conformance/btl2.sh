#!/bin/sh
# The conformance suite of BTL 2.0 over one module: btl2.sh [PARAMETER=VALUE ...] MODULE [PROCESSES [CASE ...]]
. "${KEEL_TEST_SRCDIR:?}/tests/lib/btl-suite.sh"
suite_program=tests/conformance/btl2/suite
suite "$@"
