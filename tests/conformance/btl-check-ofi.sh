#!/bin/sh
# The BTL conformance suite over ofi with the checking module before it, with each provider: it must find
# nothing but what the cases do wrong on purpose.
. "$(dirname "$0")/btl-suite.sh"
for provider in shm 'tcp;ofi_rxm' 'udp;ofi_rxd'; do
    part "$provider" btl_check=1 "btl_ofi_provider=$provider" ofi 2
done
parts_end
