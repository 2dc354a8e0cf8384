#!/bin/sh
# The BTL conformance suite over tcp, driven by the progress thread.
. "$(dirname "$0")/btl-suite.sh"
suite enable_progress_threads=1 tcp
