#!/bin/bash
# A job that hangs says where: at its time limit, and on SIGQUIT.
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"
. "$KEEL_TEST_SRCDIR/tests/lib/mpi.sh"
. "$KEEL_TEST_SRCDIR/tests/lib/pmi1.sh"
forget_launchers
excuse_libpmix
export TEST_WORK=$work
readonly member=$helpers/member
readonly no_stacks=(--mca stack_traces_s 0)

# said PATTERN COUNT: so many lines of standard error match.
said()
{
    [ "$(grep -Ec -e "$1" "$work/err")" = "$2" ]
}

# asks LINE: SIGQUIT to keelrun, until it has said this.
asks()
{
    kill -QUIT "$pid"
    wait_for 20 grep -Eq -e "$1" "$work/err"
}

is_stopped()
{
    local stat
    { read -r stat <"/proc/$1/stat"; } && [[ ${stat##*)} == " T"* ]]
}

ends()
{
    kill -TERM "$pid"
    await 20
}

# --- at the time limit ---

# shellcheck disable=SC2086 # words
for layout in "-n 4 --oversubscribe" "--simulate 2x2 -n 4"; do
    run_limited 30 "$keelrun" $layout "${no_stacks[@]}" --timeout 2 "$member" stuck
    is "--timeout, $layout: exit code" 124 "$code"
    like "--timeout, $layout: those in the fence" "$work/err" \
        "^keelrun: 3 of 4: in fence [0-9]+ \(ranks 0, 2-3\)$"
    like "--timeout, $layout: the one that is not" "$work/err" \
        "^keelrun: 1 of 4: running, after keel_init \(rank 1\)$"
    ok "--timeout, $layout: each with its node, pid and time" said \
        "^keelrun:   rank [0-3] on node [^ ]+, pid [0-9]+: for [0-9]+\.[0-9] s$" 4
    ok "--timeout, $layout: then it says why it ends" \
        [ "$(tail -n 1 "$work/err")" = "keelrun: the time limit of 2 s is over" ]
    no_leftovers "--timeout, $layout: nothing is left" ""
done

run_limited 30 "$keelrun" -n 2 --oversubscribe --mca stack_debugger gdb-that-is-not-there --timeout 1 sleep 60
like "no debugger" "$work/err" \
    "^keelrun: no stack of 2 of 2 \(ranks 0-1\): gdb-that-is-not-there: No such file or directory"
like "programs that never join" "$work/err" \
    "^keelrun: 2 of 2: started, and has not called keel_init or MPI_Init \(ranks 0-1\)$"

run_limited 60 "$keelrun" -n 64 --oversubscribe --timeout 4 --report-state-on-timeout --get-stack-traces sleep 60
is "64 ranks: exit code" 124 "$code"
like "64 ranks in one line" "$work/err" "^keelrun: 64 of 64: started, .* \(ranks 0-63\)$"
ok "64 ranks: one line each" said "^keelrun:   rank [0-9]+ on node" 64

# --- a start that hangs: who has not called home ---

cat >"$work/agent" <<END
#!/bin/sh
node=\$1
shift
[ "\$node" = late ] && touch "$work/late" && exec sleep 120
exec sh -c "\$*"
END
chmod +x "$work/agent"
run_limited 60 "$keelrun" --mca plm_rsh_agent "$work/agent" --timeout 1 --host late:1 true
is "--timeout of a start: exit code" 124 "$code"
is "--timeout of a start: says what it waits for" "keelrun: 0 of 1 nodes have called home; waiting for late
keelrun: the time limit of 1 s is over" "$(cat "$work/err")"
rm "$work/late"
start "$keelrun" --mca plm_rsh_agent "$work/agent" --host early:1,late:1 true
ok "SIGQUIT in a start: keelrun starts it" wait_for 60 test -e "$work/late"
waits_for_late()
{
    kill -QUIT "$pid"
    wait_for 2 grep -q "^keelrun: 1 of 2 nodes has called home; waiting for late$" "$work/err"
}
ok "SIGQUIT in a start: says what it waits for" wait_for 60 waits_for_late
ends

# --- on SIGQUIT the job goes on ---

start "$keelrun" -n 3 --oversubscribe "${no_stacks[@]}" "$member" stuck
ok "SIGQUIT: there is a job" wait_for 20 has_lines "$work/out" 3
ok "SIGQUIT: says what the ranks do" asks "^keelrun: 2 of 3: in fence [0-9]+ \(ranks 0, 2\)$"
ok "SIGQUIT: the whole of it" wait_for 10 said "^keelrun:   rank [0-2] on node" 3
ok "SIGQUIT: the job goes on" is_alive "$pid"
rank=$(sed -n 's/^keelrun:   rank 1 on node.*pid \([0-9]*\): .*/\1/p' "$work/err")
ok "SIGQUIT: the pid is the rank's" [ "$(cat "/proc/$rank/comm")" = member ]
kill -STOP "$rank"
ok "a rank is stopped" wait_for 10 is_stopped "$rank"
ok "a stopped rank is called so" asks \
    "^keelrun: 1 of 3: running, after keel_init, stopped by a signal \(rank 1\)$"
ok "SIGQUIT again: answers again" said "^keelrun: this is what the ranks do:$" 2
ends
is "SIGQUIT: the job ends as ever" 143 "$code"
no_leftovers "SIGQUIT: nothing is left" ""

# --- stacks ---

if type -P gdb >/dev/null; then
    for layout in "-n 4 --oversubscribe" "--simulate 2x2 -n 4"; do
        # shellcheck disable=SC2086 # words
        run_limited 60 "$keelrun" $layout --mca stack_traces_s 30 --mca stack_trace_s 20 --timeout 2 \
            "$member" stuck
        like "stacks, $layout: those in the fence" "$work/err" "^keelrun: 3 of 4 are in keel_fence \(ranks 0, 2-3\):$"
        like "stacks, $layout: the one that is not" "$work/err" "^keelrun: 1 of 4 are in .*pause.* \(rank 1\):$"
        ok "stacks, $layout: each once" said "^keelrun:   #[0-9]+ main( at .*)?$" 2
        is "stacks, $layout: exit code" 124 "$code"
    done

    # a rank that is stopped stays so; one that another debugger looks at cannot be looked at
    start "$keelrun" -n 1 "$member" hang : -n 1 gdb -q -nx -batch -ex run --args "$member" hang
    ok "under a debugger: there is a job" wait_for 30 grep -q "^rank 1 of 2$" "$work/out"
    ok "under a debugger: ptrace is forbidden" asks \
        "^keelrun: no stack of 1 of 2 \(rank 1\): ptrace is forbidden: process [0-9]+ traces it already$"
    like "under a debugger: the other one" "$work/err" "^keelrun: 1 of 2 are in .*pause.* \(rank 0\):$"
    rank=$(sed -n 's/^keelrun:   rank 0 on node.*pid \([0-9]*\): .*/\1/p' "$work/err")
    ok "it runs on" not is_stopped "$rank"
    kill -STOP "$rank"
    ok "it is stopped" wait_for 10 is_stopped "$rank"
    kill -QUIT "$pid"
    ok "a stopped rank has a stack" wait_for 20 said "^keelrun: 1 of 2 are in .*pause.* \(rank 0\):$" 2
    ok "it stays stopped" is_stopped "$rank"
    ends
    no_leftovers "stacks: nothing is left" ""
else
    skip "stacks" "there is no gdb"
fi

if type -P eu-stack >/dev/null; then
    run_limited 60 "$keelrun" -n 4 --oversubscribe --mca stack_debugger gdb-that-is-not-there,eu-stack \
        --mca stack_traces_s 30 --mca stack_trace_s 20 --timeout 2 "$member" stuck
    like "stacks by eu-stack: those in the fence" "$work/err" "^keelrun: 3 of 4 are in keel_fence \(ranks 0, 2-3\):$"
    like "stacks by eu-stack: the one that is not" "$work/err" "^keelrun: 1 of 4 are in .*pause.* \(rank 1\):$"
    ok "stacks by eu-stack: each once" said "^keelrun:   #[0-9]+ main( (at|from) .*)?$" 2
else
    skip "stacks by eu-stack" "there is no eu-stack (elfutils)"
fi

# Whether Yama then lets the debugger in can only be seen where there is Yama.
if type -P strace >/dev/null; then
    # LeakSanitizer does not work under strace
    run_limited 30 env ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" \
        strace -f -qq -o "$work/calls" -e trace=prctl,execve "$keelrun" -n 1 true
    rank=$(sed -n 's/^\([0-9]*\) *execve("[^"]*\/true".*/\1/p' "$work/calls")
    shepherd=$(sed -n 's/^\([0-9]*\) *prctl(PR_SET_NAME, "keel-shepherd.*/\1/p' "$work/calls" | head -n 1)
    like "a rank names its shepherd as who may look at it" "$work/calls" "^$rank +prctl\(PR_SET_PTRACER, $shepherd"
else
    skip "a rank names its shepherd as who may look at it" "there is no strace"
fi

# What Yama says, where it is not, or lets root do all: a folder in the place of the kernel's, and a debugger that
# is refused.
printf '#!/bin/sh\necho "ptrace: Operation not permitted."\n' >"$work/refused"
printf '%s\n' 'mount -t tmpfs yama /proc/sys/kernel && mkdir /proc/sys/kernel/yama || exit 99' \
    'echo "$1" >/proc/sys/kernel/yama/ptrace_scope; shift; exec "$@"' >"$work/with_scope"
chmod +x "$work/refused"
if unshare -m sh "$work/with_scope" 1 true 2>/dev/null; then
    while IFS=: read -r scope why; do
        run_limited 60 unshare -m sh "$work/with_scope" "$scope" "$keelrun" -n 2 --oversubscribe \
            --mca stack_debugger "$work/refused" --timeout 1 sleep 60
        like "Yama's ptrace_scope $scope" "$work/err" "^keelrun: no stack of 2 of 2 \\(ranks 0-1\\): $why"
    done <<'END'
0:ptrace: Operation not permitted\.$
1:ptrace is forbidden: kernel.yama.ptrace_scope is 1: .*PR_SET_PTRACER
2:ptrace is forbidden: kernel.yama.ptrace_scope is 2: .*CAP_SYS_PTRACE
3:ptrace is forbidden: kernel.yama.ptrace_scope is 3: nobody may trace
END
else
    skip "Yama's ptrace_scope" "no mount namespace can be made"
fi

# --- debuggers that hang ---

printf '#!/bin/sh\necho $$ >>"%s"\nexec sleep 600\n' "$work/debuggers" >"$work/slow"
chmod +x "$work/slow"
slow_debugger=(--mca stack_debugger "$work/slow")
run_limited 30 "$keelrun" -n 6 --oversubscribe "${slow_debugger[@]}" --mca stack_traces_s 2 \
    --mca stack_trace_s 1 --timeout 1 sleep 60
is "a debugger that hangs: exit code" 124 "$code"
like "each has its time" "$work/err" "^keelrun: no stack of [456] of 6 .*: the debugger took too long"
ok "each rank once" [ "$(wc -l <"$work/debuggers")" -le 6 ]
no_leftovers "a debugger that hangs: nothing is left" ""

start "$keelrun" -n 2 --oversubscribe "${slow_debugger[@]}" --mca stack_traces_s 100 --mca stack_trace_s 100 \
    sh -c 'echo here; exec sleep 100'
: >"$work/debuggers"
ok "SIGQUIT: there is a job" wait_for 20 has_lines "$work/out" 2
ok "SIGQUIT: the states" asks "^keelrun:   rank 1 on node"
ok "SIGQUIT: the debuggers" wait_for 20 has_lines "$work/debuggers" 2
kill -QUIT "$pid"
ok "SIGQUIT again: the stacks are cut off" wait_for 20 said "^keelrun: not all stacks are known of the ranks" 1
while read -r debugger; do
    ok "SIGQUIT again: a debugger is ended" wait_for 10 is_gone "$debugger"
done <"$work/debuggers"
ok "SIGQUIT again: the job goes on" is_alive "$pid"
kill -QUIT "$pid"
ok "SIGQUIT: debuggers again" wait_for 20 has_lines "$work/debuggers" 4
ends
is "the job's end cuts them off" 143 "$code"
ok "soon" [ "$wall_ms" -lt $((60000 * slow)) ]
no_leftovers "the job's end: nothing is left" ""

# --- daemons that do not answer ---

start "$keelrun" --simulate 3x1 -n 3 "${no_stacks[@]}" "$member" stuck
ok "a stopped daemon: there is a job" wait_for 20 has_lines "$work/out" 3
ok "all daemons answer" asks "^keelrun:   rank 1 on node"
rank=$(sed -n 's/^keelrun:   rank 1 on node.*pid \([0-9]*\): .*/\1/p' "$work/err")
shepherd=$(awk '{ print $4 }' "/proc/$rank/stat")
daemon=$(awk '{ print $4 }' "/proc/$shepherd/stat")
kill -STOP "$daemon"
ok "a stopped daemon is named" asks "^keelrun: nothing is known of the ranks of node [^ ]+: no answer$"
ok "the others have answered" said "^keelrun:   rank [02] on node" 4
ok "the stopped one has not" said "^keelrun:   rank 1 on node" 1
kill -QUIT "$pid"
ok "another question is asked" wait_for 10 said "^keelrun: this is what the ranks do:$" 3
kill -QUIT "$pid"
ok "SIGQUIT meanwhile: it is cut off" wait_for 10 said "^keelrun: what is not known yet is not waited for$" 1
kill -CONT "$daemon"
ends
is "a stopped daemon that goes on: the job ends as ever" 143 "$code"
no_leftovers "a stopped daemon: nothing is left" ""

# --- programs of others ---

# shellcheck disable=SC2016 # for the client
client_script='. "$TEST_WORK/client"; begin; kvs; echo here; [ "$PMI_RANK" = 1 ] || ask cmd=barrier_in; read -r -t 60 x <&$PMI_FD'
start "$keelrun" -n 2 --oversubscribe "${no_stacks[@]}" bash -c "$client_script"
ok "PMI-1: there is a job" wait_for 20 has_lines "$work/out" 2
ok "PMI-1: a barrier" asks "^keelrun: 1 of 2: in a PMI-1 barrier, of MPI_Init or MPI_Finalize \(rank 0\)$"
like "PMI-1: after MPI_Init" "$work/err" "^keelrun: 1 of 2: running, in or after MPI_Init \(rank 1\)$"
ends

for mpi in openmpi mpich; do
    if ! has_mpi $mpi; then
        skip "MPI programs of $mpi" "it is not installed"
        continue
    fi
    run_limited 60 "$keelrun" --oversubscribe -n 2 "${no_stacks[@]}" --timeout 4 "$programs/stay.$mpi" 2
    is "$mpi: exit code" 124 "$code"
    like "$mpi: runs" "$work/err" \
        "^keelrun: 2 of 2: running, in or after MPI_Init(, after fence [0-9]+)? \(ranks 0-1\)$"
done

# asks_until LINE: the same, again and again: the ranks are on their way there.
asks_until()
{
    wait_for 60 asks_once "$1"
}

asks_once()
{
    kill -QUIT "$pid"
    grep -Eq -e "$1" "$work/err"
}

if has_mpi openmpi; then
    for layout in "-n 4 --oversubscribe" "--simulate 2x2 -n 4"; do
        # shellcheck disable=SC2086 # words
        start "$keelrun" $layout "${no_stacks[@]}" "$KEEL_TEST_BUILDDIR/tests/pmix/apart"
        ok "PMIx, $layout: there is a job" wait_for 60 has_lines "$work/out" 4
        ok "PMIx, $layout: those in a fence" asks_until "^keelrun: 2 of 4: in fence 1 \(ranks 0, 3\)$"
        ok "PMIx, $layout: the one in another call" asks_until "^keelrun: 1 of 4: in PMIx_Connect \(rank 2\)$"
        ok "PMIx, $layout: the one that stays away" asks_until \
            "^keelrun: 1 of 4: running, in or after MPI_Init, after fence 0 \(rank 1\)$"
        victim=$(sed -n 's/^keelrun:   rank 3 on node.*pid \([0-9]*\): .*/\1/p' "$work/err" | tail -n 1)
        kill -KILL "$victim"
        await 30
        like "PMIx, $layout: the reason has the fence" "$work/err" \
            "^keelrun: rank 3 .* was killed by signal 9 \(SIGKILL, Killed\) in fence 1$"
    done

    # shellcheck disable=SC2016 # for the ranks
    start "$keelrun" --oversubscribe -n 3 "${no_stacks[@]}" \
        sh -c 'echo here; [ "$PMIX_RANK" = 1 ] && exec sleep 600; exec "$@"' sh "$programs/hello.openmpi" 3
    ok "Open MPI: there is a job" wait_for 60 has_lines "$work/out" 3
    ok "Open MPI: MPI_Init waits in a fence" asks_until "^keelrun: 2 of 3: in fence 0 \(ranks 0, 2\)$"
    ok "Open MPI: for this one" asks_until \
        "^keelrun: 1 of 3: started, and has not called keel_init or MPI_Init \(rank 1\)$"
    ends
else
    skip "fences of PMIx" "there is no Open MPI"
fi

finish
