#!/bin/sh
# Keys of BTL 2.0 over ofi with the provider's own put and get, in each memory mode: keys of Keel's, and
# keys of the provider's.
. "${KEEL_TEST_SRCDIR:?}/tests/lib/btl-suite.sh"
suite_program=tests/conformance/btl2/suite
for mode in needed local basic; do
    part "native, $mode" btl_ofi_rma=always "btl_ofi_mr_mode=$mode" btl_ofi_provider=shm ofi 2 \
        put get segments 'beyond the room' 'accesses at once' 'any use' registrations
done
parts_end
