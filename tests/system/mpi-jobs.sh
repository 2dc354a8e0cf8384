#!/bin/bash
# MPI programs as users run them: through wrappers, with input and output, as another user, bound,
# interrupted; and what they are told of the node.
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"
. "$KEEL_TEST_SRCDIR/tests/lib/mpi.sh"

mpis=()
for kind in openmpi mpich; do
    ! has_mpi $kind || mpis+=($kind)
done
[ ${#mpis[@]} -gt 0 ] || { skip "MPI programs" "no MPI is installed"; finish; }

declare -A fast=([openmpi]="--mca pml ob1" [mpich]="") # the default looks for hardware for 0.2 s

# job NAME PASSED COMMAND...: keelrun with two ranks; PASSED: the program that says so.
job()
{
    local name=$1 program=$2
    shift 2
    # shellcheck disable=SC2086 # words
    run_limited 20 "$keelrun" ${fast[$mpi]} --oversubscribe -n 2 "$@"
    is "$name, $mpi" "" "$(faults "$program" 2)"
}

# --- how it is started, what it starts ---

started_in_many_ways()
{
    local hello=$programs/hello.$mpi
    job "a shell that waits" hello sh -c '"$0" 2; exit $?' "$hello"
    job "a shell that becomes it" hello sh -c 'exec "$0" 2' "$hello"
    [ -z "$(type -P perl)" ] ||
        job "perl that waits" hello perl -e 'exit(system(@ARGV) >> 8)' "$hello" 2
    [ -z "$(type -P python3)" ] ||
        job "python that waits" hello python3 -c \
            'import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:], close_fds=False))' \
            "$hello" 2
    job "a process before MPI_Init" helper "$programs/helper.$mpi" 2 2 "exec true"
    job "keelrun started by a rank" helper "$programs/helper.$mpi" 2 2 \
        "$keelrun ${fast[$mpi]} --oversubscribe -n 2 $hello 2 >/dev/null"
}

# --- input and output ---

input_and_output()
{
    head -c 300000 /dev/urandom >"$work/bytes"
    input=$work/bytes job "standard input" input "$programs/input.$mpi" 2
    ok "rank 0 read all of it, $mpi" grep -qx "300000 bytes" "$work/out"

    # shellcheck disable=SC2086 # words
    run_limited 20 "$keelrun" ${fast[$mpi]} --oversubscribe -n 2 --tag-output "$programs/hello.$mpi" 2
    is "--tag-output, $mpi" "[1,0]<stdout>: rank 0 of 2, program 0
[1,1]<stdout>: rank 1 of 2, program 0" "$(grep ' of ' "$work/out" | sort)"
    # shellcheck disable=SC2086
    run_limited 20 "$keelrun" ${fast[$mpi]} --oversubscribe -n 2 --output-filename "$work/files" \
        "$programs/hello.$mpi" 2
    is "--output-filename, $mpi" "0 rank 1 of 2, program 0" "$code $(cat "$work/files/1/rank.1/stdout")"
    rm -rf "$work/files"
}

# --- interrupted ---

both_stay()
{
    [ "$(grep -c stays "$work/out")" = 2 ]
}

interrupted()
{
    local signal expected
    for signal in INT TERM; do
        expected=130
        [ $signal = INT ] || expected=143
        # shellcheck disable=SC2086 # words
        start "$keelrun" ${fast[$mpi]} --oversubscribe -n 2 "$programs/stay.$mpi" 2
        ok "ranks that stay, $mpi" wait_for 20 both_stay
        kill -$signal "$pid"
        await 10
        is "SIG$signal, $mpi: exit code" $expected "$code"
        no_leftovers "SIG$signal, $mpi: nothing is left" ""
    done
    # shellcheck disable=SC2086
    run_limited 20 "$keelrun" ${fast[$mpi]} --oversubscribe -n 2 --timeout 2 "$programs/stay.$mpi" 2
    is "--timeout, $mpi: exit code" 124 "$code"
    ok "--timeout, $mpi: not before" [ "$real_ms" -ge 2000 ]
    no_leftovers "--timeout, $mpi: nothing is left" ""
}

# --- mapped ---

printf 'node2\nnode0\nnode0\nnode1\nnode0\n' >"$work/row"
printf 'rank %d=node%d slot=0\n' 0 1 1 1 2 0 3 2 4 1 >"$work/ranks"

# Three nodes of two ranks, or of three: who is where. Uneven maps, and ranks that are no neighbours.
mapped()
{
    local few=${fast[$mpi]}
    passes "$few --simulate 3x2 --map-by node" 6 0 "mapped 012012"
    passes "$few --simulate 3x2 --map-by node --rank-by slot" 6 0 "mapped 001122"
    passes "$few --simulate 3x2 --map-by node -n 4" 4 0 "mapped 0120"
    passes "$few --simulate 3x2 -n 5" 5 0 "mapped 00112"
    passes "$few --simulate 3x2 -N 1" 3 0 "mapped 012"
    passes "$few --simulate 3x3 --map-by seq:FILE=$work/row" 5 0 "mapped 20010"
    passes "$few --simulate 3x3 --rankfile $work/ranks" 5 0 "mapped 11021"
    passes "$few --simulate 3x2 --oversubscribe -n 8" 8 0 "mapped 00011122"
    passes "$few --simulate 3x2 --map-by node --bind-to core:overload-allowed" 6 0 "mapped 012012"
}

# --- another user ---

as_another_user()
{
    mkdir -p "$work/nobody"
    chmod 755 "$work"
    chown 65534:65534 "$work/nobody"
    # shellcheck disable=SC2086 # words
    TMPDIR=$work/nobody HOME=$work/nobody run_limited 20 "${another_user[@]}" "$keelrun" ${fast[$mpi]} \
        --oversubscribe -n 2 "$programs/hello.$mpi" 2
    is "all of it as another user, $mpi" "" "$(faults hello 2)"
    is "its folder is empty afterwards, $mpi" "" "$(find "$work/nobody" -type f)"
    rm -rf "$work/nobody"

    # a rank that becomes another user is a stranger to the PMIx port; its socket for PMI-1 it keeps
    # shellcheck disable=SC2086
    run_limited 20 "$keelrun" ${fast[$mpi]} --oversubscribe -n 2 "${another_user[@]}" \
        "$programs/hello.$mpi" 2
    if [ $mpi = openmpi ]; then
        ok "a rank that becomes another user, $mpi: it fails" [ "$code" != 0 ]
        ok "a rank that becomes another user, $mpi: and does not hang" [ "$code" != late ]
    else
        is "a rank that becomes another user, $mpi" 0 "$code"
    fi
}

# --- other languages ---

cat >"$work/sum.cpp" <<'CODE'
#include <cstdio>
#include <mpi.h>
#include <vector>
int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    std::vector<int> all(size);
    MPI_Gather(&rank, 1, MPI_INT, all.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank == 0 && size == 2 && all[1] == 1) {
        std::puts("sum: 2 ranks passed");
    }
    MPI_Finalize();
}
CODE
cat >"$work/sum.f90" <<'CODE'
program sum
    use mpi
    implicit none
    integer :: error, rank, ranks, total
    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    if (rank == 0 .and. ranks == 2 .and. total == 1) write (*, '(a)') 'sum: 2 ranks passed'
    call MPI_Finalize(error)
end program
CODE

other_languages()
{
    local compiler
    for compiler in mpicxx:cpp mpif90:f90; do
        if type -P "${compiler%:*}.$mpi" >"$work/which" &&
            (cd "$work" && "${compiler%:*}.$mpi" -o sum "sum.${compiler#*:}") 2>"$work/err"; then
            job "a program of ${compiler%:*}" sum "$work/sum"
        else
            skip "a program of ${compiler%:*}, $mpi" "$(head -n 1 "$work/err")"
        fi
    done
}

for kind in "${mpis[@]}"; do
    need_mpi "$kind"
    started_in_many_ways
    input_and_output
    mapped
    interrupted
    if find_another_user; then
        as_another_user
    else
        skip "another user, $mpi" "$reason"
    fi
    other_languages
done

# --- what ranks are told of their node ---

if [ -x "$helpers/places" ]; then
    need_mpi openmpi
    for layout in "--simulate 4x1" "--simulate 2x2"; do
        # shellcheck disable=SC2086 # words
        run_limited 20 "$keelrun" --bind-to core $layout "$helpers/places"
        is "the key of a rank's processors is what the kernel says, $layout" 4 \
            "$(grep -Ec ' cpuset=hwloc:([0-9,]+) .* affinity=\1$' "$work/out")"
        is "and each has a locality, $layout" 4 "$(grep -c ' locality=SK[0-9]*:.*CR[0-9]*:' "$work/out")"
    done
    is "local ranks, sizes and peers, on two nodes" \
        "rank=0 local=0 node=0 nodeid=0 host=node0 app=0 size=4 nodes=2 locals=2 peers=0,1
rank=1 local=1 node=1 nodeid=0 host=node0 app=0 size=4 nodes=2 locals=2 peers=0,1
rank=2 local=0 node=0 nodeid=1 host=node1 app=0 size=4 nodes=2 locals=2 peers=2,3
rank=3 local=1 node=1 nodeid=1 host=node1 app=0 size=4 nodes=2 locals=2 peers=2,3" \
        "$(sed 's/ cpuset=.*//' "$work/out" | sort)"
    run_limited 20 "$keelrun" --simulate 3x2 --map-by node -n 5 --bind-to core:overload-allowed \
        "$helpers/places"
    is "the same by node, uneven" \
        "rank=0 local=0 node=0 nodeid=0 host=node0 app=0 size=5 nodes=3 locals=2 peers=0,3
rank=1 local=0 node=0 nodeid=1 host=node1 app=0 size=5 nodes=3 locals=2 peers=1,4
rank=2 local=0 node=0 nodeid=2 host=node2 app=0 size=5 nodes=3 locals=1 peers=2
rank=3 local=1 node=1 nodeid=0 host=node0 app=0 size=5 nodes=3 locals=2 peers=0,3
rank=4 local=1 node=1 nodeid=1 host=node1 app=0 size=5 nodes=3 locals=2 peers=1,4" \
        "$(sed 's/ cpuset=.*//' "$work/out" | sort)"
    is "and their processors are what the kernel says" 5 \
        "$(grep -Ec ' cpuset=hwloc:([0-9,]+) .* affinity=\1$' "$work/out")"
    run_limited 20 "$keelrun" --host localhost:1 --map-by slot:PE=2 "$helpers/places"
    is "those of PE=2 are a list" 1 "$(grep -Ec ' cpuset=hwloc:([0-9]+(-|,)[0-9,-]+) ' "$work/out")"
    run_limited 20 "$keelrun" --oversubscribe -n 2 "$helpers/places"
    is "unbound ranks have neither" 2 "$(grep -c ' cpuset=none locality=none ' "$work/out")"
else
    skip "keys of placement" "there is no libpmix"
fi

# The node's topology is discovered once: no rank reads it again. A program alone does.
reads_of_topology()
{
    cat "$work"/trace.* 2>/dev/null | grep -c -e '/topology/' -e '/sys/bus/pci/devices'
    rm -f "$work"/trace.*
}

if has_mpi openmpi && type -P strace >"$work/which" &&
    strace -f -o "$work/trace.try" true 2>"$work/err"; then
    need_mpi openmpi
    rm -f "$work/trace.try"
    run_limited 30 "$keelrun" --mca pml ob1 --oversubscribe -n 2 strace -ff -e trace=openat,open \
        -o "$work/trace.rank" "$programs/hello.openmpi" 2
    is "traced ranks: exit code" 0 "$code"
    is "ranks do not discover the node again" 0 "$(reads_of_topology)"
    run_limited 30 strace -ff -e trace=openat,open -o "$work/trace.alone" \
        env OMPI_MCA_pml=ob1 "$programs/hello.openmpi" 1
    ok "a program alone does" [ "$(reads_of_topology)" -gt 0 ]
else
    skip "who discovers the node" "there is no strace that may trace, or no Open MPI"
fi

ok "no session folder is left" wait_for 4 not test -e "$sessions"
finish
