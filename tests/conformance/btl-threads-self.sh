#!/bin/sh
# The BTL conformance suite over self with the lock that lets any thread call, while a second one polls.
. "$(dirname "$0")/btl-suite.sh"
suite enable_thread_multiple=1 self
