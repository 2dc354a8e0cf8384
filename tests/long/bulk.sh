#!/bin/bash
# A message of 1 GiB costs itself and 16 MiB at its ends, and 4 MiB in a daemon that relays it.
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/bulk.sh"
if [ -n "$sanitize" ]; then
    skip "memory" "sanitizers have their own"
    finish
fi
bulk 1024 alloc 120 3 1
bulk 1024 into 120 3 1
bulk 1024 alloc 240 8 1 # six relays in a row
bulk 1024 into 240 6 2  # over keelrun
finish
