#!/bin/sh
# The BTL conformance suite over ofi with the provider's own put, get and atomics, as far as each provider
# can (keel-btl-ofi(7), Native access): the cases left out refuse operations at the target, need room for
# atomics before the peer is known, or have a peer leave amid operations. First with the memory modes that software providers can do without.
program="${KEEL_TEST_BUILDDIR:-.}/tests/conformance/btl"
LSAN_OPTIONS=suppressions=${KEEL_TEST_SRCDIR:-.}/tests/lib/fabric.supp:print_suppressions=0
KEEL_MCA_btl_ofi_rma=always KEEL_MCA_btl_ofi_atomics=always
export LSAN_OPTIONS KEEL_MCA_btl_ofi_rma KEEL_MCA_btl_ofi_atomics
number=0
failed=0

# provider, atomics, memory mode, cases
run()
{
    KEEL_MCA_btl_ofi_provider=$1 KEEL_MCA_btl_ofi_atomics=$2 KEEL_MCA_btl_ofi_mr_mode=$3
    export KEEL_MCA_btl_ofi_provider KEEL_MCA_btl_ofi_atomics KEEL_MCA_btl_ofi_mr_mode
    name="$1, $3"
    shift 3
    output=$("$program" ofi 2 "$@" 2>&1) || failed=1
    case $output in
    "1..0 # SKIP"*) echo "$output"; exit 0 ;;
    esac
    echo "$output" | grep -E '^(ok|not ok) ' | awk -v from="$number" -v name="$name" '
        { at = $1 == "ok" ? 2 : 3; $at = ++from; sub(/ofi x2/, "ofi x2, native, " name); print }'
    echo "$output" | grep -vE '^(ok|not ok|1\.\.) ?' | sed 's/^/# /'
    number=$((number + $(echo "$output" | grep -cE '^(ok|not ok) ')))
}

basics='put get boundaries flush restart'
run shm always basic $basics 'operations overlap' 'each atomic' sums 'in place'
run shm always local $basics 'operations overlap' 'each atomic' sums 'in place' order
run 'udp;ofi_rxd' emulated local $basics
run shm always needed -'forged hints' -'stale handles' -'regions end' -'flush tells' \
    -'full with atomics'
run 'tcp;ofi_rxm' always needed limits put 'put, cards late' get boundaries 'operations overlap' \
    'no callback' 'forged handles' bounds 'bounds of large ones' rights "atomics' flags" 'each atomic' \
    sums bits locks 'atomics overlap' 'atomics refused' 'full with puts' 'peers come back' flush 'flush gives up' 'checkpoint, puts' restart
run 'udp;ofi_rxd' emulated needed limits put 'put, cards late' get boundaries 'operations overlap' \
    'no callback' 'forged handles' bounds 'bounds of large ones' rights 'full with puts' \
    'del_procs, put and get in flight' 'peers come back' flush 'checkpoint, puts' restart
echo "1..$number"
exit $failed
