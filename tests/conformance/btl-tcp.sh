#!/bin/sh
# The BTL conformance suite over tcp.
. "$(dirname "$0")/btl-suite.sh"
suite tcp
