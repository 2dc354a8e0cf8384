#!/bin/bash
# Calls that wait sleep, and every message wakes them: without a progress thread, and with one. Time
# limits of sleep are an hour here, so that who is not woken hangs.
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"

# asleep NAME RANKS OPTION... -- WORD...: every rank says that it is well.
asleep()
{
    local name=$1 ranks=$2 options=()
    shift 2
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    run_limited 60 "$keelrun" --oversubscribe -n "$ranks" --mca pml_sleep_max_ms 3600000 \
        "${options[@]}" "$helpers/asleep" "$@"
    is "$name: $1: exit code" 0 "$code"
    is "$name: $1: every rank" "$ranks" "$(grep -c "^rank [0-9]*: $1: ok$" "$work/out")"
    is "$name: $1: nothing is complained about" "" "$(cat "$work/err")"
    sed -n 's/^\(.* asleep .*\|woken .*\)$/# &/p' "$work/out"
}

for btls in self,sm self,tcp; do
    rails=(--mca btl "$btls")
    asleep $btls 2 "${rails[@]}" -- waits 2000 100
    asleep "$btls, several threads" 2 "${rails[@]}" --mca enable_thread_multiple 1 -- waits 500 0
    asleep "$btls, a progress thread" 2 "${rails[@]}" --mca enable_progress_threads 1 -- waits 500 0
    asleep "$btls, at once" 2 "${rails[@]}" --mca pml_spin_us 0 -- wakes 5000
    asleep "$btls, at once" 3 "${rails[@]}" --mca pml_spin_us 0 -- wakes 1000
    asleep "$btls, sent" 2 "${rails[@]}" --mca pml_spin_us 0 --mca ptl_rail_rendezvous send -- wakes 2000
done
asleep "all rails" 3 --mca pml_spin_us 0 -- wakes 1000
# Rails that have to be polled: who waits looks now and then, at all of them.
if grep -qx '#define HAVE_FABRIC 1' "$KEEL_TEST_BUILDDIR/config.h" && [ -z "$sanitize" ]; then
    polled=(--mca btl self,ofi --mca btl_ofi_provider "tcp;ofi_rxm")
    asleep ofi 2 "${polled[@]}" -- waits 500 0
    asleep "ofi, at once" 2 "${polled[@]}" --mca pml_spin_us 0 -- wakes 100
    polled=(--mca btl self,usnic --mca btl_usnic_if_include lo)
    asleep usnic 2 "${polled[@]}" -- waits 500 0
    asleep "usnic, at once" 2 "${polled[@]}" --mca pml_spin_us 0 -- wakes 100
fi
# Where the kernel has no barrier for all: senders make their own, or who waits looks now and then.
barrier=(--mca btl self,sm --mca fault btl.sm.barrier:error=ENOSYS)
asleep "senders' barriers" 2 "${barrier[@]}" --mca btl_sm_bell 1 -- waits 500 100
asleep "senders' barriers" 2 "${barrier[@]}" --mca btl_sm_bell 1 --mca pml_spin_us 0 -- wakes 5000
asleep "no bell" 2 "${barrier[@]}" -- waits 500 0
asleep "no bell" 2 "${barrier[@]}" --mca pml_spin_us 0 -- wakes 500
finish
