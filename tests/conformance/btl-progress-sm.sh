#!/bin/sh
# The BTL conformance suite over sm, driven by the progress thread.
. "$(dirname "$0")/btl-suite.sh"
suite enable_progress_threads=1 sm
