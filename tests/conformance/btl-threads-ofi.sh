#!/bin/sh
# Some cases of the BTL conformance suite over ofi with a second thread that polls, and driven by the
# progress thread. All of them take minutes: each process loads libfabric. A thread that polls while a
# peer restarts over shm with messages queued may end in libfabric 1.17's fi_cq_read (keel-btl-ofi(7)):
# restarts come after a checkpoint here, and btl.sh has those without.
. "${KEEL_TEST_SRCDIR:?}/tests/lib/btl-suite.sh"
if grep -q '^KEEL_LDFLAGS = .*-fsanitize=thread' "${KEEL_TEST_BUILDDIR:-.}/Makefile"; then
    echo "1..0 # SKIP libfabric is not instrumented"
    exit 0
fi
number=0
for option in enable_thread_multiple enable_progress_threads; do
    for ranks in 2 4; do
        for name in tags sizes 'sends from callbacks' 'put, cards late' 'operations overlap' \
            'atomics overlap' 'del_procs, put and get in flight' 'peers come back' flush \
            'pending, small' 'checkpoint, small' restart; do
            output=$(suite $option=1 btl_ofi_provider=shm ofi $ranks "$name" 2>&1)
            case $output in
            "1..0 # SKIP"*) echo "$output"; exit 0 ;;
            esac
            number=$((number + 1))
            echo "$output" | grep -E '^(ok|not ok) ' | sed -E "s/ok 1 - /ok $number - $option: /"
        done
    done
done
echo "1..$number"
