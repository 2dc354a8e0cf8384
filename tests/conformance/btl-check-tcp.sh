#!/bin/sh
# The BTL conformance suite over tcp with the checking module before it: it must find nothing but what the
# cases do wrong on purpose.
. "$(dirname "$0")/btl-suite.sh"
suite btl_check=1 tcp
