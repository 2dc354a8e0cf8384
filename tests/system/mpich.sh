#!/bin/bash
# MPICH's programs under keelrun: PMI-1 on an inherited descriptor, on one node and over several;
# then clients that break its rules.
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"
. "$KEEL_TEST_SRCDIR/tests/lib/mpi.sh"
. "$KEEL_TEST_SRCDIR/tests/lib/pmi1.sh"

# --- the protocol, without MPICH: bash is the client ---

client -n 1 -- 'say() { ask "$1"; echo "$answer"; }
    say "cmd=init pmi_version=1 pmi_subversion=1"
    say cmd=get_maxes; say cmd=get_appnum; kvs; say "cmd=put kvsname=$kvs key=a value=b=c"
    say "cmd=put kvsname=$kvs key=a value=d"; say "cmd=get kvsname=$kvs key=a"
    say "cmd=get kvsname=$kvs key=b"; say "cmd=get kvsname=other key=a"
    say "cmd=put kvsname=$kvs key=long value=$(printf %0900d 0)"
    say cmd=barrier_in
    say "cmd=publish_name service=s port=p"; say "cmd=publish_name service=s port=p"
    say "cmd=lookup_name service=s"; say "cmd=unpublish_name service=s"
    say "cmd=lookup_name service=s"; say "cmd=unpublish_name service=s"
    printf "mcmd=spawn\nnprocs=1\nexecname=true\ntotspawns=2\nspawnssofar=1\nendcmd\n" >&3
    say "$(printf "mcmd=spawn\nnprocs=1\nexecname=/none\ntotspawns=2\nspawnssofar=2\nendcmd")"
    say cmd=finalize'
is "every command: exit code" 0 "$code"
is "every command is answered" "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0
cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024
cmd=appnum appnum=0
cmd=put_result rc=0 msg=success
cmd=put_result rc=-1 msg=duplicate_key
cmd=get_result rc=0 msg=success value=b=c
cmd=get_result rc=-1 msg=key_b_not_found value=unknown
cmd=get_result rc=-1 msg=key_a_not_found value=unknown
cmd=put_result rc=0 msg=success
cmd=barrier_out
cmd=publish_result info=ok rc=0 msg=success
cmd=publish_result info=fail rc=1 msg=key_already_present
cmd=lookup_result port=p info=ok rc=0 msg=success
cmd=unpublish_result info=ok rc=0 msg=success
cmd=lookup_result info=fail rc=1 msg=service_not_found
cmd=unpublish_result info=fail rc=1 msg=service_not_found
cmd=spawn_result rc=-1 msg=spawn_failed
cmd=finalize_ack" "$(cat "$work/out")"

client --simulate 3x2 -- 'begin; kvs; ask "cmd=put kvsname=$kvs key=k$PMI_RANK value=v$PMI_RANK"
    barrier; for i in 0 1 2 3 4 5; do ask "cmd=get kvsname=$kvs key=k$i"; all+=${answer#*value=}\ ; done
    ask "cmd=get kvsname=$kvs key=PMI_process_mapping"; echo "$all$answer"; barrier; end'
is "puts reach every node: exit code" 0 "$code"
is "puts reach every node" "6 v0 v1 v2 v3 v4 v5 cmd=get_result rc=0 msg=success value=(vector,(0,3,2))" "$(wc -l <"$work/out") $(sort -u "$work/out")"

# The node of each rank, as MPICH reads it: (first node, nodes, ranks on each), and all of it again until
# there is a node for each rank. Nodes are counted as they come.
printf 'node2\nnode0\nnode0\nnode1\nnode0\n' >"$work/row"
process_mapping()
{
    local expected=$1
    shift
    client "$@" -- 'begin; kvs; ask "cmd=get kvsname=$kvs key=PMI_process_mapping"
        echo "${answer#*value=}"; barrier; end'
    is "the process mapping, $*" "0 (vector,$expected)" "$code $(sort -u "$work/out")"
}
process_mapping "(0,3,1)" --simulate 3x2 --map-by node
process_mapping "(0,3,1)" --simulate 3x2 --map-by node -n 4
process_mapping "(0,2,2),(2,1,1)" --simulate 3x2 -n 5
process_mapping "(0,1,1),(1,1,2),(2,1,1),(1,1,1)" --simulate 3x3 --map-by "seq:FILE=$work/row"

client --simulate 2x1 -n 1 env -u PMI_FD true : -n 1 -- 'begin; barrier; end'
is "a rank that never begins: exit code" 1 "$code"
like "a rank that never begins: the reason" "$work/err" \
    "^keelrun: rank 0 \(env, pid [0-9]+\) on node node0 ended without MPI_Init, which another rank has called$"

client -n 2 -x PMI_FD=99 -x PMI_PORT=x:1 -x PMI_SIZE=9 -- 'echo $PMI_FD $PMI_RANK/$PMI_SIZE'
is "the user's own PMI variables give way" "3 0/2 3 1/2" "$(sort "$work/out" | tr '\n' ' ' | sed 's/ $//')"
PMI_PORT=stale:1 PMI_ID=9 PMI_RANK=7 PMIX_RANK=7 PMIX_SERVER_URI9=x OMPI_COMM_WORLD_RANK=7 \
    OMPI_MCA_orte_hnp_uri=x OMPI_MCA_btl=self PMIX_MCA_x=y \
    client -n 1 -- 'echo ${PMI_PORT-no} ${PMI_ID-no} $PMI_RANK ${PMIX_SERVER_URI9-no} \
        ${OMPI_MCA_orte_hnp_uri-no} $OMPI_MCA_btl $PMIX_MCA_x'
is "an outer launcher's variables go, the user's stay" "no no 0 no no self y" "$(cat "$work/out")"

# --- clients that break the rules ---

# breaks NAME REASON SCRIPT: two ranks; the second does it while the first waits.
breaks()
{
    client -n 2 -- "begin; [ \$PMI_RANK = 1 ] || { barrier; exit; }; $3"
    is "$1: exit code" 1 "$code"
    like "$1: the reason" "$work/err" "^keelrun: rank 1 \(bash, pid [0-9]+\) on node $host $2"
    ok "$1: soon" [ "$wall_ms" -lt $((10000 * slow)) ]
}
breaks "no finalize" "exited without MPI_Finalize$" "exit 0"
breaks "no finalize, and its end is told late" "exited without MPI_Finalize$" \
    "shepherd=\$PPID; kill -STOP \$shepherd; (exec 3>&-; sleep 2; kill -CONT \$shepherd) & exit 0"
breaks "a closed connection" "closed its PMI-1 connection without MPI_Finalize$" \
    "exec 3>&-; exec sleep 60"
breaks "a long line" "misused its PMI-1 connection: it sent a line that is too long$" \
    "printf %02000d 0 >&3; exec sleep 60"
breaks "no protocol" "misused its PMI-1 connection: it sent a line that is not PMI-1$" \
    "head -c 4096 /dev/zero | tr '\\0' '\\n' >&3; exec sleep 60"
breaks "an unknown command" "misused .*: it sent a command that PMI-1 does not have$" \
    "echo cmd=put_everything >&3; exec sleep 60"
breaks "binary" "misused its PMI-1 connection: it sent a line that is (not PMI-1|too long)$" \
    "head -c 65536 /dev/urandom >&3; exec sleep 60"
breaks "a line with a zero" "misused its PMI-1 connection: it sent a line that is not PMI-1$" \
    "printf 'cmd=get_maxes\\0\\n' >&3; exec sleep 60"
breaks "a count that is no number" "misused its PMI-1 connection: it sent a line that is not PMI-1$" \
    "printf 'mcmd=spawn\\ntotspawns=99999999999\\nendcmd\\n' >&3; exec sleep 60"
breaks "too many pairs" "misused its PMI-1 connection: it sent a line that is not PMI-1$" \
    "printf 'cmd=put%s\\n' \"\$(printf ' a=%d' {1..65})\" >&3; exec sleep 60"
breaks "a long name" "misused its PMI-1 connection: it sent a line that is not PMI-1$" \
    "printf 'cmd=put %032d=x\\n' 0 >&3; exec sleep 60"
breaks "a long line in pieces" "misused its PMI-1 connection: it sent a line that is too long$" \
    "for i in {1..40}; do printf %064d 0 >&3; done; exec sleep 60"
client -n 2 -- 'begin; [ $PMI_RANK = 0 ] || { printf "mcmd=spawn\n" >&3
    yes execname=x | head -n 400000 >&3; printf "endcmd\n" >&3; IFS= read -r -t 10 answer <&3; }
    barrier && end && echo alive'
is "a flood of lines: exit code" 0 "$code"
is "a flood of lines: both go on" 2 "$(grep -c alive "$work/out")"
breaks "a second init" "misused .*: it sent a command" "begin; exec sleep 60"
client -n 2 -- '[ $PMI_RANK = 1 ] && { yes "cmd=get kvsname=x key=y" | head -c 1000000 >&3 & sleep 0.5;
    kill $! 2>/dev/null; exit 0; }; sleep 0.2; echo alive'
is "requests before init: nobody is hurt" "alive" "$(cat "$work/out")"
client -n 2 -- 'begin; [ $PMI_RANK = 1 ] && { yes "cmd=get kvsname=x key=y" | head -c 1000000 >&3 & sleep 0.5;
    kill $! 2>/dev/null; }; sleep 0.2; echo alive; exit 0'
is "a client that reads no answers: its peer goes on" 1 "$(grep -c alive "$work/out" | sed 's/2/1/')"
client -n 2 --mca pmi_kvs_max_bytes 8192 -- 'begin; kvs; i=0
    while ask "cmd=put kvsname=$kvs key=$PMI_RANK.$i value=$(printf %0500d 0)" &&
        [ "$answer" = "cmd=put_result rc=0 msg=success" ]; do i=$((i + 1)); done
    echo "$answer"; end'
is "a full key-value space: exit code" 0 "$code"
is "a full key-value space" "cmd=put_result rc=-1 msg=no_space" "$(sort -u "$work/out")"
client --simulate 3x1 -- 'begin; [ $PMI_RANK = 2 ] && ask "cmd=abort exitcode=42"; barrier; end'
is "abort: exit code" 42 "$code"
like "abort: the reason" "$work/err" "^keelrun: rank 2 .* aborted the job with code 42: MPI_Abort$"

# --- MPICH ---

need_mpi mpich
all="hello ring allreduce split_type bcast onesided publish"
# shellcheck disable=SC2086
passes "-n 1" 1 1 $all
# shellcheck disable=SC2086
passes "-n 4 --oversubscribe" 4 4 $all
# shellcheck disable=SC2086
passes "--simulate 3x2" 6 2 $all
passes "--simulate 4x2 --mca routed_radix 1" 8 2 hello ring split_type
passes "--simulate 2x1 --bind-to core" 2 1 hello split_type
# ranks of one node that are not neighbours
passes "--simulate 2x3 --oversubscribe -n 8" 8 4 hello allreduce
passes "-n 32 --oversubscribe" 32 32 hello

run_limited 20 "$keelrun" --oversubscribe -n 1 "$programs/hello.mpich" 3 : -n 2 "$programs/hello.mpich" 3
is "two programs" "rank 0 of 3, program 0 rank 1 of 3, program 1 rank 2 of 3, program 1" \
    "$(grep ^rank "$work/out" | sort | tr '\n' ' ' | sed 's/ $//')"

run_limited 20 "$keelrun" -n 2 --oversubscribe mpiexec.hydra -n 1 "$programs/ring.mpich" 1
is "hydra under keelrun" "0 2" "$code $(grep -cx 'ring: 1 ranks passed' "$work/out")"
run_limited 20 mpiexec.hydra -n 1 "$keelrun" -n 2 --oversubscribe "$programs/hello.mpich" 2
is "keelrun under hydra" "0 1" "$code $(grep -cx 'hello: 2 ranks passed' "$work/out")"

# windows that MPI allocates: MPICH 4.0.2 puts into the wrong ones on three nodes, under hydra too
passes "-n 4 --oversubscribe" 4 4 "onesided allocate"
passes "--simulate 2x2" 4 2 "onesided allocate"

# --- ends ---

for layout in "-n 4 --oversubscribe" "--simulate 2x2"; do
    ends "$layout" 4 0 abort quit all kill crash never
done

ok "no session folder is left" wait_for 2 not test -e "$sessions"
finish
