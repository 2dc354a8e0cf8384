#!/bin/sh
# The BTL conformance suite over ofi with the provider's own put, get and atomics, as far as each provider
# can (keel-btl-ofi(7), Native access): the cases left out refuse operations at the target, need room for
# atomics before the peer is known, have a peer leave amid operations, or (udp;ofi_rxd) restart, after which
# libfabric 1.17 may not come back from fi_recv. First with the memory modes that
# software providers can do without.
. "${KEEL_TEST_SRCDIR:?}/tests/lib/btl-suite.sh"

# provider, atomics, memory mode, cases
run()
{
    provider=$1 atomics=$2 mode=$3
    shift 3
    part "native, $provider, $mode" btl_ofi_rma=always "btl_ofi_atomics=$atomics" \
        "btl_ofi_mr_mode=$mode" "btl_ofi_provider=$provider" ofi 2 "$@"
}

basics='put get boundaries keys flush'
run shm always basic $basics restart 'operations overlap' 'each atomic' sums 'in place'
run shm always local $basics restart 'operations overlap' 'each atomic' sums 'in place' order
run 'udp;ofi_rxd' emulated local $basics
run shm always needed -'forged hints' -'stale handles' -'regions end' -'regions end, get' \
    -'flush tells' -'full with atomics'
run 'tcp;ofi_rxm' always needed limits put 'put, cards late' get boundaries 'operations overlap' \
    'no callback' 'forged handles' bounds 'bounds of large ones' rights "atomics' flags" 'each atomic' \
    sums bits locks 'atomics overlap' 'atomics refused' 'full with puts' 'peers come back' flush \
    'flush gives up' 'checkpoint, puts' restart
run 'udp;ofi_rxd' emulated needed limits put 'put, cards late' get boundaries 'operations overlap' \
    'no callback' 'forged handles' bounds 'bounds of large ones' rights 'full with puts' \
    'del_procs, put and get in flight' 'peers come back' flush 'checkpoint, puts'
parts_end
