# shellcheck shell=bash
# The programs of tests/mpi over one MPI with one choice of transports, on one node, on three simulated
# ones, and on two hosts that share neither network nor files. Sourced by the scripts in tests/long.
#
#   matrix openmpi "WORDS on one node" "WORDS on several"
#   fails_alike "what" PATTERN "keelrun words" COMMAND...    neither keelrun nor another launcher can

. "$KEEL_TEST_SRCDIR/tests/lib/system.sh"
. "$KEEL_TEST_SRCDIR/tests/lib/netns.sh"
. "$KEEL_TEST_SRCDIR/tests/lib/mpi.sh"

readonly common=(hello ring allreduce split_type bcast publish placement)
readonly ends_early=(abort quit all kill crash never)

# Every job runs on a host of its own, where each file that stays is seen.
begin_matrix()
{
    need_mpi "$1"
    if make_hosts; then
        have_hosts=yes
        inside=("${on_a[@]}")
        clean=hosts_are_clean
    else
        have_hosts=
    fi
    if [ "$(id -u)" = 0 ]; then
        export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    fi
}

# one_layout LAYOUT SIZE LOCAL PROGRAM...: what passes, and every early end.
one_layout()
{
    local layout=$1 size=$2 per_node=$3
    shift 3
    passes "$layout" "$size" "$per_node" "${common[@]}" "$@"
    passes "--bind-to core $layout" "$size" "$per_node" "placement core"
    ends "$layout" "$size" "$per_node" "${ends_early[@]}"
}

matrix()
{
    local one=$1 many=$2
    shift 2
    one_layout "$one -n 4 --oversubscribe" 4 4 "$@"
    one_layout "$many --simulate 3x2" 6 2 "$@"
    if [ -n "$have_hosts" ]; then
        one_layout "$many ${hosts_options[*]} --host a:2,b:2" 4 2 "$@"
    else
        skip "two hosts" "$reason"
    fi
}

# keelrun WORDS ends with an error that says PATTERN, and so does the other launcher's COMMAND.
fails_alike()
{
    local what=$1 pattern=$2 words=$3
    shift 3
    # shellcheck disable=SC2086 # words
    run_limited 30 "${inside[@]}" "$keelrun" $words
    ok "$what, keelrun: it fails" not is_one_of "$code" 0 late
    ok "$what, keelrun: the reason" grep -Eq -e "$pattern" "$work/out" "$work/err"
    run_limited 30 "${inside[@]}" "$@"
    ok "$what, $(basename "$1"): it fails" not is_one_of "$code" 0 late
    # mpirun loses the text at times, and says so
    ok "$what, $(basename "$1"): the reason" \
        grep -Eq -e "$pattern|ORTE_ERROR_LOG: .*/show_help\.c " "$work/out" "$work/err"
}

is_one_of()
{
    [ "$1" = "$2" ] || [ "$1" = "$3" ]
}
