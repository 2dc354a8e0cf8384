#!/bin/sh
# The BTL conformance suite over ofi with libfabric's tcp.
. "$(dirname "$0")/btl-suite.sh"
suite 'btl_ofi_provider=tcp;ofi_rxm' ofi
