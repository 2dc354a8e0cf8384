#!/bin/sh
# The BTL conformance suite over self.
. "$(dirname "$0")/btl-suite.sh"
suite self
