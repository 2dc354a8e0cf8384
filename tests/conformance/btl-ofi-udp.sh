#!/bin/sh
# The BTL conformance suite over ofi with libfabric's udp.
. "$(dirname "$0")/btl-suite.sh"
suite 'btl_ofi_provider=udp;ofi_rxd' ofi
