#!/bin/bash
# Many jobs on a standing DVM leave nothing: what its processes have after FIRST jobs (1000) is what they
# have after MORE (10000): descriptors, processes and folders as many, memory but for 1 MiB.
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"

# What AddressSanitizer keeps of freed memory, to find its use, is no leak.
[ -z "$sanitize" ] || ASAN_OPTIONS+=:quarantine_size_mb=0:thread_local_quarantine_size_kb=0

readonly first=${1:-1000} more=${2:-10000} uri=$work/uri

# run_jobs COUNT: two at a time; failed is how many did not end with 0.
run_jobs()
{
    local i
    for ((i = 0; i < $1; i += 2)); do
        "$keelrun" --dvm "$uri" --host node0 true >/dev/null 2>&1 </dev/null &
        "$keelrun" --dvm "$uri" --host node1 true >/dev/null 2>&1 </dev/null || failed=$((failed + 1))
        wait $! || failed=$((failed + 1))
    done
}

# Those of the DVM: itself and its descendants.
dvm_processes()
{
    echo "$dvm_pid keel-dvm"
    descendants "$dvm_pid"
}

# Each node has its daemon and one in reserve, and none that still serves a job.
has_spares()
{
    [ "$(dvm_processes | grep -c keel-spare)" -eq 2 ] && [ "$(dvm_processes | grep -c keeld)" -eq 2 ]
}

# No job has left a daemon or a folder.
is_idle()
{
    [ "$(dvm_processes | wc -l)" -eq "$idle" ] && [ "$(count_folders)" -eq "$folders" ]
}

count_descriptors()
{
    local one
    dvm_processes | while read -r one _; do
        find "/proc/$one/fd" -mindepth 1 | wc -l
    done | paste -sd ' '
}

count_folders()
{
    find "$sessions" | wc -l
}

memory_kib()
{
    local one
    dvm_processes | while read -r one _; do
        awk '$1 == "Private_Dirty:" { sum += $2 } END { print sum + 0 }' "/proc/$one/smaps_rollup"
    done | awk '{ sum += $1 } END { print sum }'
}

"$KEEL_TEST_BUILDDIR/bin/keel-dvm" --uri "$uri" --simulate 2x1 2>"$work/dvm.err" </dev/null &
dvm_pid=$!
started+=("$dvm_pid")
ok "the DVM stands" wait_for 20 test -s "$uri"
failed=0
run_jobs 2
ok "the first jobs have ended" wait_for 20 has_spares
idle=$(dvm_processes | wc -l) folders=$(count_folders)
run_jobs $((first - 2))
ok "$first jobs: no daemon and no folder of theirs is left" wait_for 20 is_idle
descriptors=$(count_descriptors) memory=$(memory_kib)
run_jobs $((more - first))
ok "$more jobs: no daemon and no folder of theirs is left" wait_for 20 is_idle
is "no job fails" 0 "$failed"
is "descriptors of each process" "$descriptors" "$(count_descriptors)"
now=$(memory_kib)
echo "# private memory of all: $memory KiB after $first jobs, $now KiB after $more"
ok "memory" test "$now" -le $((memory + 1024))
kill -TERM "$dvm_pid"
wait "$dvm_pid" 2>/dev/null
is "the DVM's exit code" 0 $?
is "and all that it says beside what ended it" "" "$(grep -v 'ends the DVM$' "$work/dvm.err")"
finish
