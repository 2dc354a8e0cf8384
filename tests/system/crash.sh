#!/bin/bash
# A rank that crashes says where, with --stack-traces; any program's does.
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"
# what gcc's AddressSanitizer says of a library that is loaded before its own
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0"
readonly crash=$helpers/crash
mkdir "$work/cores"

three_crash()
{
    [ "$(grep -o 'ranks crash on node .*' "$work/err" | sort -u | wc -l)" = 3 ]
}

# crashes NAME CODE OPTION... : the rank's code; what is said is in $work/err.
crashes()
{
    local what=$1 expected=$2
    shift 2
    run_limited 60 "$keelrun" --wdir "$work/cores" --mca stack_trace_s 30 --mca stack_traces_s 50 "$@"
    is "$what: exit code" "$expected" "$code"
    rm -f "$work"/cores/core*
}

is_killed()
{
    like "$1: then it ends as ever" "$work/err" "^keelrun: rank [0-9]+ .* was killed by signal $2 "
}

# --- without the option nothing is different ---

crashes "without the option" 139 -n 1 "$crash" segv
ok "without the option: one line" has_lines "$work/err" 1
is_killed "without the option" 11
run_limited 20 "$keelrun" -n 1 env
unlike "without the option: nothing is loaded" "$work/out" "LD_PRELOAD|KEEL_STACK_TRACES"
crashes "a rank that has itself traced" 4 -n 1 "$crash" traced
for how in kill:11 abrt:6 segv:11 trap:5; do
    crashes "a rank that has itself traced, ${how%:*}" $((128 + ${how#*:})) -n 1 "$crash" traced "${how%:*}"
done
crashes "a rank that has itself traced, and becomes another program" 6 -n 1 "$crash" traced exec

# --- a debugger looks ---

# looks DEBUGGER
looks()
{
    local debugger=(--stack-traces --mca stack_debugger "$1") how signal
    for how in segv:11 abrt:6 fpe:8 ill:4 kill:11 "traced kill:11"; do
        signal=${how#*:}
        # shellcheck disable=SC2086 # two words
        crashes "$1, ${how%:*}" $((128 + signal)) "${debugger[@]}" -n 1 "$crash" ${how%:*}
        like "$1, ${how%:*}: where" "$work/err" "^keelrun: 1 of 1 crashed in .* \(rank 0\):$"
        like "$1, ${how%:*}: the stack" "$work/err" "^keelrun:   #[0-9] tumble(\.cold)?( at .*crash\.c:[0-9]+)?( from .*)?$"
        unlike "$1, ${how%:*}: without what handles the signal" "$work/err" "keel_crash|signal handler"
        is_killed "$1, ${how%:*}" "$signal"
    done
    crashes "$1, a thread" 139 "${debugger[@]}" -n 1 "$crash" segv threads
    like "$1, a thread: its stack" "$work/err" "^keelrun:   #0 tumble"
    is "$1, a thread: that of the first alone" 1 "$(grep -c '#0 ' "$work/err")"
    crashes "$1, all ranks" 139 "${debugger[@]}" -n 6 --oversubscribe \
        sh -c '[ "$KEEL_RANK" = 3 ] && exec sleep 60; exec "$1" segv' sh "$crash"
    like "$1, all ranks: those of one place in one" "$work/err" \
        "^keelrun: [1-5] of 6 crashed in tumble \(ranks? [0-5, -]+\):$"
    is "$1, all ranks: its stack once" 1 "$(grep -c '#0 tumble' "$work/err")"
    crashes "$1, another node" 139 "${debugger[@]}" --simulate 2x1 -n 2 \
        sh -c '[ "$KEEL_RANK" = 0 ] && exec sleep 60; exec "$1" segv' sh "$crash"
    like "$1, another node: where" "$work/err" "^keelrun: 1 of 2 crashed in tumble \(rank 1\):$"
}

for debugger in gdb eu-stack; do
    if type -P "$debugger" >/dev/null; then
        looks "$debugger"
    else
        skip "crashes, by $debugger" "there is no $debugger"
    fi
done

if type -P gdb >/dev/null && [ -z "$sanitize" ]; then
    start "$keelrun" --stack-traces --mca stack_trace_s 30 --mca stack_traces_s 50 -n 2 --oversubscribe "$helpers/member" hang
    ok "a member of Keel: there is a job" wait_for 20 has_lines "$work/out" 2
    kill -SEGV "$(child_named "$pid" member)"
    await 60
    is "a member of Keel: exit code" 139 "$code"
    like "a member of Keel: its stack" "$work/err" "^keelrun:   #[0-9]+ main( at .*)?$"
fi

# --- on several nodes ---

# The debuggers begin when all ranks have stopped and keelrun knows it.
for debugger in gdb eu-stack; do
    type -P "$debugger" >/dev/null || continue
    printf '#!/bin/sh\nuntil [ -e %s ]; do sleep 0.05; done\nexec %s "$@"\n' "$work/go" "$debugger" >"$work/late-$debugger"
    chmod +x "$work/late-$debugger"
    start "$keelrun" --stack-traces --mca stack_debugger "$work/late-$debugger" --mca stack_trace_s 60 \
        --mca stack_traces_s 90 --mca log_launcher_verbose 1 --wdir "$work/cores" --simulate 3x2 -n 6 \
        sh -c '[ "$KEEL_RANK" = 4 ] && exec sleep 600; exec "$1" segv' sh "$crash"
    ok "$debugger, three nodes: ranks of all crash" wait_for 30 three_crash
    touch "$work/go"
    await 60
    is "$debugger, three nodes: exit code" 139 "$code"
    like "$debugger, three nodes: told together" "$work/err" "^keelrun: 5 of 6 crashed in tumble \(ranks 0-3, 5\):$"
    is "$debugger, three nodes: once" 1 "$(grep -c ' crashed in ' "$work/err")"
    rm -f "$work"/cores/core* "$work/go"
done

# --- none can ---

crashes "no debugger" 136 --stack-traces --mca stack_debugger gdb-that-is-not-there -n 1 "$crash" fpe
like "no debugger: is said" "$work/err" \
    "^keelrun: no stack of 1 of 1 \(rank 0\): gdb-that-is-not-there: No such file or directory"
is_killed "no debugger" 8
printf '#!/no/such/interpreter\n' >"$work/orphaned"
chmod +x "$work/orphaned"
crashes "a debugger without an interpreter" 136 --stack-traces --mca stack_debugger "$work/orphaned" -n 1 "$crash" fpe
like "a debugger without an interpreter: is said" "$work/err" \
    "^keelrun: no stack of 1 of 1 \(rank 0\): the debugger is not started: the interpreter .* that it names is not there$"

printf '#!/bin/sh\nexec sleep 600\n' >"$work/slow"
chmod +x "$work/slow"
crashes "a debugger that hangs" 136 --stack-traces --mca stack_debugger "$work/slow" --mca stack_trace_s 1 \
    -n 1 "$crash" fpe
like "a debugger that hangs: is said" "$work/err" \
    "^keelrun: no stack of 1 of 1 \(rank 0\): the debugger took too long"

crashes "debuggers that hang" 136 --stack-traces --mca stack_debugger "$work/slow" --mca stack_trace_s 3600 \
    --mca stack_traces_s 1 -n 6 --oversubscribe "$crash" fpe
like "debuggers that hang: their time is over" "$work/err" "^keelrun: no stack of [1-6] of 6 .*\(.*stack_traces_s\)$"
unlike "debuggers that hang: no rank has a stack" "$work/err" " crashed in "
crashes "debuggers that hang, of a job with no time for them" 136 --stack-traces --mca stack_debugger "$work/slow" \
    --mca stack_trace_s 1 --mca stack_traces_s 0 -n 1 "$crash" fpe
like "debuggers that hang, of a job with no time for them: no stack" "$work/err" \
    "^keelrun: no stack of 1 of 1 \(rank 0\): the debugger took too long"

# One node's debugger is done soon after the other one has begun. What that one says ends only a while after
# it was killed, or with the rank.
cat >"$work/uneven" <<END
#!/bin/sh
for process; do :; done
killed=\$$ tries=0
if tr '\0' '\n' <"/proc/\$process/environ" | grep -qx KEEL_RANK=0; then
    while [ ! -e $work/begun ] && [ \$tries -lt 100 ]; do
        sleep 0.05
        tries=\$((tries + 1))
    done
    sleep 0.5
    exit
fi
touch $work/begun
(
    while kill -0 "\$killed"; do sleep 0.05; done
    while kill -0 "\$process" && [ \$tries -lt 30 ]; do
        sleep 0.05
        tries=\$((tries + 1))
    done
) 2>/dev/null &
exec sleep 600
END
chmod +x "$work/uneven"
crashes "a node that is slower" 139 --stack-traces --mca stack_debugger "$work/uneven" --mca stack_trace_s 3600 \
    --mca stack_traces_s 3 --simulate 2x1 -n 2 \
    "$crash" segv
like "a node that is slower: is told with the others" "$work/err" \
    "^keelrun: no stack of 1 of 2 \(rank 1\): the debugger took too long"
like "a node that is slower: as are these" "$work/err" "^keelrun: no stack of 1 of 2 \(rank 0\): the debugger said nothing"

# --- while a debugger looks, no other one does ---

cat >"$work/watched" <<END
#!/bin/sh
for process; do :; done
echo "\$process" >>$work/looked
while [ ! -e $work/go ] && [ -e /proc/\$process ]; do sleep 0.1; done
END
chmod +x "$work/watched"
start "$keelrun" --stack-traces --mca stack_debugger "$work/watched" --mca stack_trace_s 60 --mca stack_traces_s 90 -n 2 --oversubscribe \
    sh -c '[ "$KEEL_RANK" = 0 ] && exec sleep 120; exec "$1" segv' sh "$crash"
ok "two debuggers: one looks at the rank that crashes" wait_for 20 has_lines "$work/looked" 1
kill -QUIT "$pid"
ok "two debuggers: another one looks at the other rank" wait_for 20 has_lines "$work/looked" 2
touch "$work/go"
await 60
is "two debuggers: exit code" 139 "$code"
like "two debuggers: why not at the first" "$work/err" "^keelrun: no stack of 1 of 2 \(rank 1\): it has crashed$"
is "two debuggers: each rank had one" "1 1" "$(sort "$work/looked" | uniq -c | awk '{print $1}' | paste -sd ' ')"

crashes "no handler" 139 --stack-traces -n 1 "$crash" default
like "no handler: is said" "$work/err" \
    "^keelrun: no stack of 1 of 1 \(rank 0\): it did not stop for a debugger: "
crashes "a handler of its own" 3 --stack-traces -n 1 "$crash" own
unlike "a handler of its own: is left alone" "$work/err" "stack of|crashed in"

for how in orphan detached; do
    crashes "$how" 5 --stack-traces -n 1 "$crash" "$how"
    unlike "$how: the rank has not crashed" "$work/err" "stack of|crashed in"
done

# --- core files ---

if [[ $(cat /proc/sys/kernel/core_pattern) == [/@\|]* ]]; then
    skip "a core file" "core_pattern is '$(cat /proc/sys/kernel/core_pattern)'"
else
    # in the rank: AddressSanitizer takes core files from keelrun and all that it starts
    run_limited 60 "$keelrun" --stack-traces --wdir "$work/cores" -n 1 \
        sh -c 'ulimit -c unlimited; exec "$1" segv' sh "$crash"
    like "a core file: comes as ever" "$work/err" "\(SIGSEGV, Segmentation fault\), core file $work/cores/core"
fi

no_leftovers "nothing is left" ""
finish
