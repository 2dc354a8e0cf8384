#!/bin/bash
# A message of 1 GiB costs itself and 16 MiB at its ends, and 4 MiB in a daemon that relays it.
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/bulk.sh"
if [ -n "$sanitize" ]; then
    skip "memory" "sanitizers have their own"
    finish
fi
bulk 1024 alloc 120
bulk 1024 into 120
finish
