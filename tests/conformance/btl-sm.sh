#!/bin/sh
# The BTL conformance suite over sm.
. "$(dirname "$0")/btl-suite.sh"
suite sm
