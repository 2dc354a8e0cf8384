#!/bin/sh
# Locks, puts and gets: stale.sh ROUNDS [WAY[.PROCESSES] ...] runs tests/conformance/stale over all ways that
# the bytes can go, or over these.
rounds=$1
shift
wanted=${*:-}
number=0
failed=0

# over WAY PROCESSES [PARAMETER=VALUE ...] MODULE
over()
{
    way=$1 sizes=$2
    shift 2
    for size in $sizes; do
        case " ${wanted:-$way} " in *" $way "* | *" $way.$size "*) ;; *) continue ;; esac
        number=$((number + 1))
        output=$(one "$size" "$@" 2>&1) || failed=1
        echo "$output" | sed "s/^\(ok\|not ok\) 1 - /\1 $number - $way: /; t; /^1\.\./d; s/^/# /"
    done
}

# one PROCESSES [PARAMETER=VALUE ...] MODULE
one()
(
    size=$1
    shift
    while [ $# -gt 1 ]; do
        export "KEEL_MCA_$1"
        shift
    done
    exec "${KEEL_TEST_BUILDDIR:-.}/tests/conformance/stale" "$1" "$size" "$rounds"
)

over self 1 self
over sm '2 4' sm
over sm-target '2 4' btl_sm_use_cma=0 sm
over sm-copy '2 4' btl_sm_patience=0 sm
over tcp '2 4' tcp
if [ -n "$(find "${KEEL_TEST_BUILDDIR:-.}/lib" -name 'keel-libfabric*' -print -quit)" ]; then
    over ofi-rxm '2 4' 'btl_ofi_provider=tcp;ofi_rxm' ofi
    over ofi-shm '2 4' btl_ofi_provider=shm ofi
    over ofi-rxd 2 'btl_ofi_provider=udp;ofi_rxd' ofi
    over ofi-native 2 'btl_ofi_provider=tcp;ofi_rxm' btl_ofi_rma=always btl_ofi_atomics=always ofi
fi
echo "1..$number"
exit "$failed"
