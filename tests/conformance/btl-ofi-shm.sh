#!/bin/sh
# The BTL conformance suite over ofi with libfabric's shm.
. "$(dirname "$0")/btl-suite.sh"
suite btl_ofi_provider=shm ofi
