#!/bin/sh
# The cases of the BTL conformance suite that put, get or do atomics, over ofi with the provider's own
# put, get and atomics. Not among them: handles with forged hints, stale ones and those of regions that
# end, of whose refusal libfabric's shm tells the initiator nothing (keel-btl-ofi(7), BUGS), and
# filling it up with operations, since it has no room for any until the peer is known.
program="${KEEL_TEST_BUILDDIR:-.}/tests/conformance/btl"
KEEL_MCA_btl_ofi_provider=shm KEEL_MCA_btl_ofi_rma=native KEEL_MCA_btl_ofi_atomics=native
export KEEL_MCA_btl_ofi_provider KEEL_MCA_btl_ofi_rma KEEL_MCA_btl_ofi_atomics
number=0
for name in limits put 'put, cards late' get boundaries 'operations overlap' 'no callback' \
    'forged handles' bounds 'bounds of large ones' rights "atomics' flags" 'each atomic' sums bits \
    locks 'atomics overlap' 'atomics refused' 'del_procs, put and get in flight' close \
    'peers come back' flush 'checkpoint, puts' restart; do
    output=$("$program" ofi 2 "$name" 2>&1)
    case $output in
    "1..0 # SKIP"*) echo "$output"; exit 0 ;;
    esac
    number=$((number + 1))
    echo "$output" | grep -E '^(ok|not ok) ' | sed -E "s/ofi x2/ofi x2, native/; s/ok 1 - /ok $number - /"
done
echo "1..$number"
