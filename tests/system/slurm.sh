#!/bin/bash
# keelrun inside a Slurm allocation: it finds the nodes, starts its daemons by srun, and nothing is
# left. The Slurm is one of its own, with two nodes (tests/lib/slurm-cluster).
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
cluster=${KEEL_TEST_SRCDIR:?}/tests/lib/slurm-cluster
if [ "$1" != --inside ]; then
    export KEEL_TEST_VISIBLE=$KEEL_TEST_SRCDIR:${KEEL_TEST_BUILDDIR:?}
    { reason=$("$cluster" -n 2 -c 4 salloc -Q -N2 --ntasks-per-node=2 bash "$0" --inside 2>&1 >&3); } 3>&1
    code=$?
    if [ $code != 77 ]; then # there was a cluster
        echo "$reason" >&2
        exit $code
    fi
    echo "ok 1 # SKIP keelrun under Slurm: $reason"
    echo "1..1"
    exit 0
fi
. "$KEEL_TEST_SRCDIR/tests/lib/system.sh"
cd "$KEEL_TEST_BUILDDIR" || exit 1
programs=$KEEL_TEST_BUILDDIR/tests/mpi

# --- helpers ---

# on_node NODE COMMAND...: in the node's own file systems.
on_node()
{
    local node=$1
    shift
    nsenter --mount --target "$(cat "/etc/slurm/slurmd.$node.pid")" "$@"
}

# What the environment would be without this allocation.
outside=(env)
for name in "${!SLURM@}"; do
    outside+=(-u "$name")
done

# What jobs left on the nodes. The tree may be seen there, as a mount: it and its parents do not count.
left_on_nodes()
{
    local node path
    for node in n1 n2; do
        on_node "$node" find /tmp /dev/shm -xdev -path '*keel*' | while read -r path; do
            case "$KEEL_TEST_SRCDIR/:$KEEL_TEST_BUILDDIR/" in
            "$path"/* | *":$path"/*) ;;
            *) echo "$node: $path" ;;
            esac
        done
    done
}

nothing_on_nodes()
{
    [ -z "$(left_on_nodes)" ]
}

has_no_steps()
{
    ! squeue -h -s -o %j | grep -q keeld
}

# nothing_left NAME [UUID]: of what was started last, on head and nodes, within 2 s. Slurm may need
# longer for its own record of a step whose srun is gone.
nothing_left()
{
    no_leftovers "$1: nothing is left" "${2-}"
    wait_for 2 nothing_on_nodes
    is "$1: nothing is left on the nodes" "" "$(left_on_nodes)"
    ok "$1: no step is left" wait_for 6 has_no_steps
}

# runs NAME CODE OPTION...: keelrun's exit code; its output in $work/out and $work/err.
runs()
{
    local name=$1 expected=$2
    shift 2
    run_limited 20 "$keelrun" "$@"
    is "$name: exit code" "$expected" "$code"
}

# says NAME PATTERN OPTION...: keelrun fails with 125 and this message.
says()
{
    local name=$1 pattern=$2
    shift 2
    runs "$name" 125 "$@"
    like "$name: it says so" "$work/err" "$pattern"
}

sorted()
{
    sort "$work/out" | xargs
}

# --- where ranks run ---

# shellcheck disable=SC2016
show='echo $KEEL_RANK $KEEL_NODE $(hostname) $KEEL_LOCAL_RANK/$KEEL_LOCAL_SIZE/$KEEL_SIZE'
runs "all slots" 0 sh -c "$show"
is "all slots: where" "0 n1 n1 0/2/4 1 n1 n1 1/2/4 2 n2 n2 0/2/4 3 n2 n2 1/2/4" "$(sorted)"
is "all slots: nothing on stderr" "" "$(cat "$work/err")"
runs "-n" 0 -n 3 sh -c "$show"
is "-n: where" "0 n1 n1 0/2/3 1 n1 n1 1/2/3 2 n2 n2 0/1/3" "$(sorted)"
runs "one host" 0 --host n2 sh -c "$show"
is "one host: where" "0 n2 n2 0/2/2 1 n2 n2 1/2/2" "$(sorted)"
runs "hosts with slots" 0 --host n2:1,n1:2 sh -c "$show"
is "hosts with slots: where" "0 n2 n2 0/1/3 1 n1 n1 0/2/3 2 n1 n1 1/2/3" "$(sorted)"
runs "oversubscribed" 0 --oversubscribe -n 6 sh -c 'echo $KEEL_NODE'
is "oversubscribed: where" "n1 n1 n1 n2 n2 n2" "$(sorted)"

# Daemons that stand in the allocation: jobs on them start without srun.
"$KEEL_TEST_BUILDDIR/bin/keel-dvm" --uri "$work/uri" >"$work/dvm.out" 2>&1 </dev/null &
dvm=$!
started+=("$dvm")
ok "a DVM stands in the allocation" wait_for 20 test -s "$work/uri"
for _ in 1 2; do
    runs "a job on the DVM" 0 --dvm "$work/uri" sh -c "$show"
    is "a job on the DVM: where" "0 n1 n1 0/2/4 1 n1 n1 1/2/4 2 n2 n2 0/2/4 3 n2 n2 1/2/4" "$(sorted)"
done
says "more than the DVM has" '5 ranks are more than the 4 slots' --dvm "$work/uri" -n 5 true
run_limited 60 "$KEEL_TEST_BUILDDIR/bin/keel-dvm" --stop "$work/uri"
is "the DVM ends: exit code" 0 "$code"
wait "$dvm"
is "the DVM's exit code and what it says" "0 " "$? $(cat "$work/dvm.out")"
nothing_left "a DVM in the allocation"

says "too many ranks" "^keelrun: 5 ranks are more than the 4 slots that were given" -n 5 true
says "too many slots" \
    "^keelrun: host n2: 3 slots are more than the 2 that Slurm's job $SLURM_JOB_ID has there" \
    --host n2:3 true
says "a host that was not allocated" \
    "^keelrun: host n3 is not in the allocation of Slurm's job $SLURM_JOB_ID; " --host n1,n3 true
printf 'n2 slots=1\n' >"$work/hosts"
runs "a hostfile" 0 --hostfile "$work/hosts" sh -c "$show"
is "a hostfile chooses among the nodes" "0 n2 n2 0/1/1" "$(sorted)"
says "more ranks than a hostfile's slots" \
    "^keelrun: 2 ranks are more than the 1 slot that was given; --oversubscribe allows it\$" \
    --hostfile "$work/hosts" -n 2 true
runs "beyond a hostfile's slots" 0 --hostfile "$work/hosts" --oversubscribe -n 2 sh -c 'echo $KEEL_NODE'
is "beyond a hostfile's slots: where" "n2 n2" "$(sorted)"
spawner=$KEEL_TEST_BUILDDIR/tests/pmix/spawn
if [ -e "$KEEL_TEST_BUILDDIR/lib/keel-pmix.la" ]; then
    # libpmix leaks, and the nodes do not see the file that would excuse it
    ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" \
        runs "spawn on a node without a daemon" 0 -n 1 "$spawner" "$spawner"
    is "spawn on a node without a daemon: they meet" "child: 2 ranks passed spawn: 1 ranks passed" "$(sorted)"
    nothing_left "spawn on a node without a daemon"
else
    skip "spawn on a node without a daemon" "there is no libpmix"
fi
runs "a relative node" 0 --host +n1 sh -c "$show"
is "a relative node: where" "0 n2 n2 0/2/2 1 n2 n2 1/2/2" "$(sorted)"
printf 'n1\nn2 slots=3\n' >"$work/hosts"
says "a hostfile with more slots than the job has there" \
    "^keelrun: host n2: 3 slots are more than the 2 that Slurm's job $SLURM_JOB_ID has there" \
    --hostfile "$work/hosts" true
printf 'n1\nn3\n' >"$work/hosts"
says "a hostfile with a node that was not allocated" \
    "^keelrun: host n3 is not in the allocation of Slurm's job $SLURM_JOB_ID; " \
    --hostfile "$work/hosts" true
says "the host of salloc" "^keelrun: host localhost is not in the allocation" --host localhost true
runs "without Slurm" 0 --mca plm rsh --host localhost:2 hostname
is "without Slurm: where" "head head" "$(sorted)"
runs "simulated nodes" 0 --simulate 2x1 hostname
is "simulated nodes: where" "head head" "$(sorted)"
SLURM_JOB_NODELIST='n[1-' says "a list that makes no sense" \
    "^keelrun: SLURM_JOB_NODELIST=n\[1-: character 3: there is no '\]'" true
SLURM_TASKS_PER_NODE=2 says "slots for one of two nodes" \
    "^keelrun: SLURM_TASKS_PER_NODE=2: character 2: numbers for 2 nodes" true
run_limited 10 "${outside[@]}" "$keelrun" --mca plm slurm true
is "no allocation: exit code" 125 "$code"
like "no allocation: it says so" "$work/err" "SLURM_JOB_ID and SLURM_JOB_NODELIST are not set"

# --- what ranks see of Slurm ---

runs "variables" 0 -x MINE=1 sh -c 'env | grep -E "^(SLURM|SRUN|MINE)"; exit 0'
is "variables: the job's own, the same for all" \
    "4 MINE=1 4 SLURM_JOB_ID=$SLURM_JOB_ID 4 SLURM_JOB_NODELIST=n[1-2] 4 SLURM_NNODES=2 4 SLURM_NTASKS=4" \
    "$(grep -E '^(MINE|SLURM_(NTASKS|NNODES|JOB_ID|JOB_NODELIST))=' "$work/out" | sort |
        uniq -c | xargs)"
is "variables: none of a step" "" "$(grep -E '^(SLURM_(STEP|PROCID|LOCALID|NODEID|TASK_PID|SRUN)|SRUN)' \
    "$work/out")"
# what a user sets for steps of his own does not reach the daemons' step
export SLURM_STDINMODE=none SLURM_EXPORT_ENV=NONE SLURM_NTASKS_PER_NODE=7 SLURM_LABELIO=1 \
    SLURM_MPI_TYPE=pmix SLURM_OVERCOMMIT=1 SLURM_STDOUTMODE=/nowhere/out SRUN_CPUS_PER_TASK=3
runs "options of srun in variables" 0 sh -c 'echo $KEEL_NODE'
is "options of srun in variables: where" "n1 n1 n2 n2" "$(sorted)"
is "options of srun in variables: nothing on stderr" "" "$(cat "$work/err")"
unset SLURM_STDINMODE SLURM_EXPORT_ENV SLURM_NTASKS_PER_NODE SLURM_LABELIO SLURM_MPI_TYPE \
    SLURM_OVERCOMMIT SLURM_STDOUTMODE SRUN_CPUS_PER_TASK

# --- jobs ---

runs "handoff" 0 "$handoff"
is "handoff: rails" "sm tcp sm tcp" \
    "$(sed -nE 's/^rank ([0-9]+) -> [0-9]+ over ([a-z]+): .* ok$/\1 \2/p' "$work/out" | sort -n |
        cut -d ' ' -f 2 | xargs)"
like "handoff: last line" "$work/out" '^handoff: 4 ranks, 8 transfers, [0-9]+ bytes, 0 errors$'
runs "a rank's exit code" 7 sh -c '[ $KEEL_RANK = 3 ] && exit 7; exec sleep 60'
like "a rank's exit code: who" "$work/err" "^keelrun: rank 3 \(sh, pid [0-9]+\) on node n2 exited with code 7$"
runs "a missing program" 127 ./missing
runs "keel_abort" 9 "$helpers/member" abort 9
head -c 1000000 /dev/urandom >"$work/random"
input=$work/random runs "standard input" 0 --host n2:1 cat
ok "standard input: 1 MB through cat" cmp -s "$work/random" "$work/out"

for program in hello ring allreduce; do
    if [ ! -x "$programs/$program.openmpi" ] || [ ! -e lib/keel-pmix.la ]; then
        skip "$program of Open MPI" "not built"
        continue
    fi
    runs "$program of Open MPI" 0 "$programs/$program.openmpi" 4 2
    like "$program of Open MPI: all ranks" "$work/out" "^$program: 4 ranks passed$"
done
for program in hello ring allreduce; do
    if [ ! -x "$programs/$program.mpich" ]; then
        skip "$program of MPICH" "not built"
        continue
    fi
    # UCX 1.13 hangs in MPI_Finalize between hosts, under every launcher: docs/mpi.md
    run_limited 20 "$keelrun" --timeout 5 "$programs/$program.mpich" 4 2
    like "$program of MPICH: all ranks" "$work/out" "^$program: 4 ranks passed$"
    runs "$program of MPICH on one node" 0 --host n2 "$programs/$program.mpich" 2 2
done

# --- from other places ---

cat >"$KEEL_TEST_BUILDDIR/slurm-script.$$" <<END
#!/bin/sh
"$keelrun" sh -c 'echo \$KEEL_RANK \$KEEL_NODE \$(hostname)'
"$keelrun" -n 1 cat /proc/self/comm
END
at_exit rm -f "$KEEL_TEST_BUILDDIR/slurm-script.$$" "$KEEL_TEST_BUILDDIR/slurm-script.$$.out"
run_limited 20 "${outside[@]}" sbatch -Q -W -N2 --ntasks-per-node=1 --export=ALL \
    -o "$KEEL_TEST_BUILDDIR/slurm-script.$$.out" "$KEEL_TEST_BUILDDIR/slurm-script.$$"
is "a batch script: exit code" 0 "$code"
is "a batch script: where" "0 n1 n1 1 n2 n2 cat" \
    "$(sort "$KEEL_TEST_BUILDDIR/slurm-script.$$.out" | xargs)"
# a script that was to get no variables: srun would give none to the daemons
run_limited 20 "${outside[@]}" sbatch -Q -W -N2 --ntasks-per-node=1 --export=NONE \
    -o "$KEEL_TEST_BUILDDIR/slurm-script.$$.out" "$KEEL_TEST_BUILDDIR/slurm-script.$$"
is "a batch script without variables: where" "0 n1 n1 1 n2 n2 cat" \
    "$(sort "$KEEL_TEST_BUILDDIR/slurm-script.$$.out" | xargs)"

run_limited 20 srun --quiet -N1 -n1 --mpi=none "$keelrun" sh -c 'echo $KEEL_NODE $(hostname) $PMI_RANK'
is "in a step: exit code" 0 "$code"
is "in a step: all of the job's nodes" "n1 n1 0 n1 n1 1 n2 n2 2 n2 n2 3" "$(sorted)"
run_limited 20 srun --quiet -N1 -n1 -w n2 --mpi=pmix "$keelrun" \
    sh -c 'echo $KEEL_NODE $PMIX_RANK $SLURM_PROCID'
is "in a step with PMIx: exit code" 0 "$code"
is "in a step with PMIx: all of the job's nodes" "n1 n1 n2 n2" "$(cut -d ' ' -f 1 "$work/out" | sort | xargs)"
is "in a step with PMIx: not the step's ranks" "" "$(grep -E ' .* .' "$work/out")"

# --- what fails ---

mkdir "$work/bin" "$work/empty" "$work/copy"
# with_path PATH NAME PATTERN OPTION...: srun is looked for there.
with_path()
{
    local folders=$1 name=$2 pattern=$3
    shift 3
    run_limited 20 env PATH="$folders" "$keelrun" "$@"
    is "$name: exit code" 125 "$code"
    like "$name: it says so" "$work/err" "$pattern"
}

with_path "$work/empty" "no srun" \
    "^keelrun: cannot start the daemons of nodes n\[1-2\]: srun: No such file" true
cp bin/keelrun bin/keeld "$work/copy"
run_limited 20 "$work/copy/keelrun" true
is "no keeld: exit code" 125 "$code"
like "no keeld: Slurm's own words are shown" "$work/err" 'copy/keeld: No such file or directory'
like "no keeld: it says so" "$work/err" \
    '^keelrun: nodes n\[1-2\]: srun ended with code 2 before the daemons called home$'
on_node n1 mkdir -p "$work/copy"
on_node n1 cp "$keeld" "$work/copy"
run_limited 20 "$work/copy/keelrun" true
is "no keeld on one node: exit code" 125 "$code"
like "no keeld on one node: it says so" "$work/err" \
    '^keelrun: node n2: srun ended with code [0-9]+ before the daemon called home$'
on_node n1 rm -r "$work"
nothing_left "no keeld on one node"
says "srun does not know an option" \
    '^keelrun: nodes n\[1-2\]: srun ended with code [0-9]+ before the daemons called home$' \
    --mca plm_slurm_args --nonsense true
printf '#!/bin/sh\nkill -KILL $$\n' >"$work/bin/srun"
chmod +x "$work/bin/srun"
with_path "$work/bin:$PATH" "srun is killed" \
    '^keelrun: nodes n\[1-2\]: srun was killed by signal 9 before the daemons called home$' true
printf '#!/bin/sh\nexec sleep 60\n' >"$work/bin/srun"
with_path "$work/bin:$PATH" "srun hangs" \
    '^keelrun: nodes n\[1-2\]: none of their daemons has called home within 1 s \(plm_start_timeout_s\)$' \
    --mca plm_start_timeout_s 1 true
ok "srun hangs: on time" [ "$wall_ms" -lt $((5000 * slow)) ]

# --- nothing is left ---

# A rank that leaves a process of a session of its own, says its job, joins and stays.
rank='(setsid -f sleep 1000 &); echo "job $KEEL_JOB $SLURM_JOB_ID"; exec "$0" hang'

# The job's processes that are called so, on a node.
job_processes()
{
    local process
    for process in $(processes_with "KT_MARK=$mark"); do
        if [ "$(cat "/proc/$process/comm" 2>/dev/null)" = "$1" ] &&
            grep -qzx "SLURMD_NODENAME=$2" "/proc/$process/environ" 2>/dev/null; then
            echo "$process"
        fi
    done
}

is_running()
{
    has_lines "$work/out" 8 && [ "$(job_processes sleep n1 | wc -l)" = 2 ] &&
        [ "$(job_processes sleep n2 | wc -l)" = 2 ]
}

# job NAME COMMAND...: starts it, with four such ranks, and waits until they run.
job()
{
    local name=$1
    shift
    start "$@" sh -c "$rank" "$helpers/member"
    wait_for 15 is_running
    uuid=$(sed -n 's/^job \([^ ]*\) .*/\1/p' "$work/out" | head -n 1)
    ok "$name: the job runs" is_running
}

job "secrets" "$keelrun"
for process in $(processes_with "KT_MARK=$mark"); do
    if tr '\0' '\n' <"/proc/$process/cmdline" | cat - "/proc/$process/environ" 2>/dev/null |
        grep -aqE '[0-9a-f]{64}'; then
        secrets="${secrets-} $process"
    fi
done
is "secrets: no key in arguments or environment" "" "${secrets-}"
is "secrets: of enough processes" yes "$([ "$(processes_with "KT_MARK=$mark" | wc -l)" -ge 14 ] && echo yes)"
kill -INT "$pid"
await 5
is "SIGINT: exit code" 130 "$code"
nothing_left "SIGINT" "$uuid"

# killed NAME VICTIM CODE PATTERN: after kill -9; CODE "": keelrun is the victim.
killed()
{
    local name=$1 victim=$2 expected=$3 pattern=$4
    ok "$name: there is one to kill" [ -n "$victim" ]
    kill -KILL "$victim"
    nothing_left "$name" "$uuid"
    await 5
    [ -z "$expected" ] || is "$name: exit code" "$expected" "$code"
    [ -z "$expected" ] || like "$name: it says so" "$work/err" "$pattern"
}

job "keelrun is killed" "$keelrun"
killed "keelrun is killed" "$pid" "" ""
job "a rank is killed" "$keelrun"
killed "a rank is killed" "$(job_processes member n2 | head -n 1)" 137 \
    '^keelrun: rank [23] \(sh, pid [0-9]+\) on node n2 was killed by signal 9'
job "a daemon is killed" "$keelrun"
killed "a daemon is killed" "$(job_processes keeld n2)" 125 \
    "^keelrun: lost the daemon of node n2: srun says: task 1: Killed$"
job "a shepherd is killed" "$keelrun"
killed "a shepherd is killed" "$(job_processes keel-shepherd n2)" 125 \
    "^keelrun: lost the daemon of node n2: (.* broke|srun says: task 1: Exited with exit code 125)$"
# Slurm ends the other one at once, whose loss is seen first
for node in n1 n2; do
    job "$node's daemon is killed, Slurm ends the other" "$keelrun" \
        --mca plm_slurm_args "--overlap --kill-on-bad-exit=1"
    killed "$node's daemon is killed, Slurm ends the other" "$(job_processes keeld $node)" 125 \
        "^keelrun: lost the daemon of node $node: srun says: task [01]: Killed$"
    is "$node's daemon is killed, Slurm ends the other: that is all" 1 "$(grep -c '^keelrun:' "$work/err")"
done

job "srun is killed" "$keelrun" # Slurm ends its daemons then
killed "srun is killed" "$(child_named "$pid" srun)" 125 \
    "^keelrun: lost the daemon of node n[12]: (.* broke$|Slurm ended it by SIGTERM)"

# cancelled NAME COMMAND...: keelrun, with $path before PATH, says what Slurm said of the job in an
# allocation of its own, when COMMAND, with the job's number for JOB, has run.
cancelled()
{
    local name=$1 id
    shift
    job "$name" "${outside[@]}" salloc -Q -k -N2 --ntasks-per-node=2 \
        env PATH="${path:+$path:}$PATH" "$keelrun"
    id=$(sed -n 's/^job [^ ]* //p' "$work/out" | head -n 1)
    "${@/JOB/$id}"
    nothing_left "$name" "$uuid"
    await 10
    is "$name: exit code" 125 "$code"
    like "$name: what Slurm said" "$work/err" \
        "^keelrun: lost the daemon of node n[12]: Slurm has cancelled step $id.0$"
    is "$name: no warning" "" "$(grep warning "$work/err")"
}

cancelled "scancel" scancel JOB
cancelled "scancel of the step" scancel JOB.0

# Of what srun writes, the line of the step's end comes 0.2 s behind the first end of a task.
mkdir "$work/late"
cat >"$work/late/srun" <<END
#!/bin/bash
{ "$(type -P srun)" "\$@" 2>&1 >&3 | while IFS= read -r line; do
    case \$line in
    *CANCELLED*) held=\$line; continue ;;
    esac
    echo "\$line" >&2
    [ -z "\$held" ] || { sleep 0.2; echo "\$held" >&2; held=; }
done; [ -z "\$held" ] || echo "\$held" >&2; } 3>&1
END
chmod +x "$work/late/srun"
path=$work/late cancelled "scancel of the step, whose line is late" scancel JOB.0
like "scancel of the step, whose line is late: it was" "$work/err" "^srun: error: n[12]: task [01]: Killed$"

# --- a node fails; this test's own allocation is gone after that ---

start "${outside[@]}" salloc -k -Q -N2 --ntasks-per-node=2 "$keelrun" --enable-recovery \
    sh -c 'echo up; sleep 4; echo "end of $KEEL_RANK"'
ok "a node fails: the job runs" wait_for 15 has_lines "$work/out" 4
scontrol update nodename=n2 state=down reason=test
await 20
is "a node fails: exit code" 125 "$code"
like "a node fails: the job goes on" "$work/err" "^keelrun: lost the daemon of node n2.*; the job goes on$"
is "a node fails: to the end of the other's ranks" "end of 0 end of 1" "$(grep end "$work/out" | sort | xargs)"
unlike "a node fails: no other is lost" "$work/err" "daemon of node n1"

finish
