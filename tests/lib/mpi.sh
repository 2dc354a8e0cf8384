# shellcheck shell=bash
# What the tests of MPI programs share. Sourced after system.sh.
#
#   need_mpi openmpi               or mpich: the rest is skipped where it is not installed
#   passes "-n 4" 4 4 hello ring   each program ends well under keelrun -n 4, and finds 4 ranks, 4 a node
#   ends "-n 4" 4 4 kill quit      the last rank ends so, and with it the job: soon, with a reason
#
# A program may have words of its own, as in "spawn twice". Both run $keelrun behind the words of
# the array inside (on_a of netns.sh: on a host of the test).

readonly programs=$KEEL_TEST_BUILDDIR/tests/mpi
host=$(hostname)
inside=()
clean=true # the command that says whether a job has left a file

has_mpi()
{
    case $1 in
    openmpi) [ -n "${KEEL_TEST_MPICC-}" ] && [ -e "$KEEL_TEST_BUILDDIR/lib/keel-pmix.la" ] ;;
    mpich) [ -n "${KEEL_TEST_MPICH_MPICC-}" ] ;;
    esac
}

# need_mpi KIND: sets mpi, and takes away what an outer launcher has set.
need_mpi()
{
    mpi=$1
    forget_launchers
    case $mpi in
    openmpi)
        if ! has_mpi openmpi; then
            skip "Open MPI's programs" "there is no libpmix, hwloc or mpicc.openmpi"
            finish
        fi
        excuse_libpmix
        ;;
    mpich)
        if ! has_mpi mpich; then
            skip "MPICH's programs" "there is no mpicc.mpich"
            finish
        fi
        ;;
    esac
}

# Runs keelrun LAYOUT PROGRAM SIZE LOCAL WORD...
run_mpi()
{
    local layout=$1 size=$2 per_node=$3 program extra
    read -r program extra <<<"$4"
    # shellcheck disable=SC2086 # words
    run_limited 30 "${inside[@]}" "$keelrun" $layout "$programs/$program.$mpi" "$size" "$per_node" $extra
}

# What is wrong with a run that should have passed; nothing: it has.
faults()
{
    [ "$code" = 0 ] || echo "exit code $code"
    grep -qx "$1: $2 ranks passed" "$work/out" || echo "not all ranks passed"
    [ ! -s "$work/err" ] || echo "something on standard error"
    wait_for 2 $clean || echo "files are left"
}

passes()
{
    local layout=$1 size=$2 per_node=$3 program
    shift 3
    for program in "$@"; do
        run_mpi "$layout" "$size" "$per_node" "$program"
        is "$program, $mpi, keelrun $layout" "" "$(faults "${program%% *}" "$size")"
    done
}

# How the last of SIZE ranks ends: sets expected_code and reason, a pattern.
expect_end()
{
    local last=$(($2 - 1))
    case $1 in
    abort) expected_code=42 reason="$last .* aborted the job with code 42: MPI_Abort" ;;
    quit) expected_code=1 reason="$last .* exited without MPI_Finalize" ;;
    all) expected_code=1 reason="[0-$last] .* exited without MPI_Finalize" ;;
    kill) expected_code=137 reason="$last .* was killed by signal 9 \(SIGKILL, Killed\)( in fence 1)?" ;;
    crash) expected_code=139 reason="$last .* was killed by signal 11 \(SIGSEGV, Segmentation fault\)( in fence 1)?(, core .*)?" ;;
    never) expected_code=1 reason="$last .* ended without MPI_Init, which another rank has called" ;;
    esac
    reason="^keelrun: rank ${reason/ \.\*/ \\(.*\\) on node .*}$"
}

# How long keelrun went on after the rank said that it ends. (A machine that stood still meanwhile did
# so in both clocks.)
lasted_ms()
{
    local said
    said=$(sed -n 's/^ends at //p' "$work/out" | sort -n | head -n 1)
    echo $((ended_ms - ${said:-0} - (real_ms - wall_ms)))
}

ends()
{
    local layout=$1 size=$2 per_node=$3 how lasted
    shift 3
    for how in "$@"; do
        expect_end "$how" "$size"
        run_mpi "$layout" "$size" "$per_node" "end_early $how"
        ended_ms=$(wall_clock)
        lasted=$(lasted_ms)
        is "$how, $mpi, keelrun $layout: exit code" "$expected_code" "$code"
        like "$how, $mpi, keelrun $layout: the reason" "$work/err" "$reason"
        ok "$how, $mpi, keelrun $layout: within 2 s ($lasted ms)" [ "$lasted" -lt $((2000 * slow)) ]
        ok "$how, $mpi, keelrun $layout: no file is left" wait_for 2 $clean
    done
}
