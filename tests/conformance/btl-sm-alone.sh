#!/bin/sh
# The BTL conformance suite over sm, where put and get never go through the target.
. "$(dirname "$0")/btl-suite.sh"
suite btl_sm_patience=0 sm 2
