#!/bin/bash
# A message of 96 MiB costs itself and little more, wherever it passes. tests/long/bulk.sh has 1 GiB.
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/bulk.sh"
if [ -n "$sanitize" ]; then
    skip "memory" "sanitizers have their own"
    finish
fi
bulk 96 alloc 30 3 1
bulk 96 into 30 6 1
finish
