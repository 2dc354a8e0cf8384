#!/bin/bash
# Why a job ended: who ended first, how, and who followed; as lines for the user.
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"

host=$(hostname)
readonly member=$helpers/member
who="^keelrun: rank 1 \([^ ]*, pid [0-9]+\) on node"
readonly who

# reason NAME CODE PATTERN ARGUMENT...: keelrun's code, and a line on stderr.
reason()
{
    local what=$1 expected=$2 pattern=$3
    shift 3
    run_limited 30 "$keelrun" "$@"
    is "$what: exit code" "$expected" "$code"
    like "$what: the reason" "$work/err" "$pattern"
}

# followed NAME LINE: what keelrun says after the reason.
followed()
{
    is "$1: who followed" "$2" "$(grep "^keelrun: " "$work/err" | tail -n +2)"
}

# pid_of_rank RANK: as it said itself.
pid_of_rank()
{
    sed -n "s/^pid of $1: //p" "$work/out"
}

# --- who was first, and who followed ---

# all_up: part of a script that waits until all ranks have begun: those that have not by the end of
# the job are never started. stay: what the others do.
readonly all_up='
    : >"$up.$KEEL_RANK"
    until [ "$(ls "$up".* | wc -l)" = "$KEEL_SIZE" ]; do sleep 0.05; done'
export up=$work/up
readonly stay='echo "pid of $KEEL_RANK: $$"; exec sleep 60'
for layout in "-n 4 --oversubscribe" "--simulate 2x2 -n 4"; do
    # shellcheck disable=SC2086 # words
    reason "exit 3, $layout" 3 "$who [^ ]+ exited with code 3$" $layout \
        bash -c "$all_up; [ \$KEEL_RANK = 1 ] && exit 3; $stay"
    rm -f "$up".*
    followed "exit 3, $layout" "keelrun: ranks 0, 2-3 were ended by keelrun"
    # shellcheck disable=SC2086 # words
    reason "abort, $layout" 7 "$who [^ ]+ aborted the job with code 7: asked for 7$" $layout \
        "$member" abort 7
    followed "abort, $layout" "keelrun: ranks 0, 2-3 were ended by keelrun"
done

start "$keelrun" -n 3 --oversubscribe bash -c "$stay"
ok "kill -9: there is a job" wait_for 20 has_lines "$work/out" 3
victim=$(pid_of_rank 1)
kill -KILL "$victim"
await 20
is "kill -9: exit code" 137 "$code"
is "kill -9: the reason" \
    "keelrun: rank 1 (bash, pid $victim) on node $host was killed by signal 9 (SIGKILL, Killed)
keelrun: ranks 0, 2 were ended by keelrun" "$(cat "$work/err")"

# Rank 2 ignores SIGTERM and is killed; rank 3 ends by itself when it gets it, rank 4 with 0, and ranks 5 and 6 by
# another signal.
reason "others end by themselves" 5 "$who [^ ]+ exited with code 5$" -n 7 --oversubscribe \
    --mca abort_grace_ms 500 bash -c '
    ready=$KEEL_SESSION_DIR/ready.$KEEL_RANK
    case $KEEL_RANK in
    2) trap "" TERM ;;
    3) trap "exit 9" TERM ;;
    4) trap "exit 0" TERM ;;
    5 | 6) trap "kill -USR1 \$\$" TERM ;;
    esac
    : >"$ready"
    if [ $KEEL_RANK = 1 ]; then
        until [ "$(ls "$KEEL_SESSION_DIR"/ready.* | wc -l)" = 7 ]; do sleep 0.05; done
        exit 5
    fi
    while :; do sleep 0.05; done'
followed "others end by themselves" "keelrun: ranks 0, 2 were ended by keelrun; rank 3 exited with code 9; \
ranks 5-6 were killed by signal 10 (SIGUSR1, User defined signal 1)"

reason "one rank alone" 3 "exited with code 3$" -n 1 sh -c 'exit 3'
followed "one rank alone" ""

start "$keelrun" -n 2 --oversubscribe bash -c "$stay"
ok "an interrupt: there is a job" wait_for 20 has_lines "$work/out" 2
kill -INT "$pid"
await 20
is "an interrupt: nothing is said" "" "$(cat "$work/err")"
for signal in "HUP, Hangup" "TERM, Terminated"; do
    start "$keelrun" -n 2 --oversubscribe bash -c "$stay"
    ok "a signal of a process: there is a job" wait_for 20 has_lines "$work/out" 2
    kill -s "${signal%,*}" "$pid"
    await 20
    is "a signal of a process: is said, with whose it is" \
        "keelrun: signal $(kill -l "${signal%,*}") (SIG$signal) from process $$ (bash) ends the job" "$(cat "$work/err")"
done
start "$keelrun" -n 2 --oversubscribe --mca abort_grace_ms 600000 bash -c '
    trap "" TERM HUP
    if [ $KEEL_RANK = 1 ]; then
        until [ -e "$KEEL_SESSION_DIR"/ready ]; do sleep 0.05; done
        exit 5
    fi
    : >"$KEEL_SESSION_DIR"/ready
    exec sleep 600'
ok "a signal to a job that ends: it ends" wait_for 20 grep -q "exited with code 5" "$work/err"
kill -HUP "$pid"
kill -TERM "$pid"
await 20
is "a signal to a job that ends: exit code" 5 "$code"
unlike "a signal to a job that ends: is not its reason" "$work/err" "ends the job"
reason "a shell whose program was killed" 139 "exited with code 139 \(128 \+ SIGSEGV\)$" -n 1 sh -c 'exit 139'
followed "a shell whose program was killed" ""

# --- in which call ---

start "$keelrun" -n 3 --oversubscribe --mca stack_traces_s 0 "$member" stuck
ok "in a fence: there is a job" wait_for 20 has_lines "$work/out" 3
in_fence()
{
    kill -QUIT "$pid"
    wait_for 5 grep -q "in fence [0-9]* (ranks 0, 2)" "$work/err"
}
ok "in a fence: two ranks are" wait_for 20 in_fence
victim=$(sed -n 's/^keelrun:   rank 2 on node.*pid \([0-9]*\): .*/\1/p' "$work/err" | head -n 1)
kill -KILL "$victim"
await 20
like "in a fence: the reason says it" "$work/err" \
    "^keelrun: rank 2 \([^ ]*, pid $victim\) on node .* was killed by signal 9 \(SIGKILL, Killed\) in fence [0-9]+$"

# --- core files ---

pattern=$(cat /proc/sys/kernel/core_pattern)
mkdir "$work/cores"
crash='cd "$1" && ulimit -c unlimited && kill -ABRT $$'
run_limited 20 "$keelrun" -n 1 --wdir "$work/cores" sh -c "$crash" sh .
is "a crash: exit code" 134 "$code"
core=$(find "$work/cores" -type f | head -n 1)
if [ -n "$core" ] && [[ $pattern != [/@\|]* ]]; then
    like "a crash: where the core file is" "$work/err" \
        "was killed by signal 6 \(SIGABRT, Aborted\), core file $core$"
    rm -f "$core"
    mkdir "$work/cores/deep"
    run_limited 20 "$keelrun" -n 1 --wdir "$work/cores" sh -c "$crash" sh deep
    like "a crash in a folder that is not known" "$work/err" \
        "was killed by signal 6 \(SIGABRT, Aborted\), core dumped$"
else
    skip "a crash: where the core file is" "core_pattern is '$pattern'"
    skip "a crash in a folder that is not known" "core_pattern is '$pattern'"
fi

# --- want of memory ---

# limited FOLDER FILE: makes a control group that may have 64 MB, by this file of it. Writes its folder.
limited()
{
    mkdir "$1" || return
    if echo 64M >"$1/$2"; then
        echo "$1"
    else # a group without the controller of memory
        rmdir "$1"
        return 1
    fi
}

# A group of this test's own, for the ranks.
make_group()
{
    local own
    own=$(sed -n 's/^[0-9]*:memory:\(.*\)/\1/p' /proc/self/cgroup)
    limited "/sys/fs/cgroup/memory$own/keel-test-$$" memory.limit_in_bytes && return
    own=$(sed -n 's/^0::\(.*\)/\1/p' /proc/self/cgroup)
    limited "/sys/fs/cgroup$own/keel-test-$$" memory.max
}

if group=$(make_group 2>"$work/why"); then
    at_exit "rmdir '$group'"
    run_limited 60 bash -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' sh "$group" \
        "$keelrun" -n 2 --oversubscribe bash -c '
        [ $KEEL_RANK = 0 ] && exec sleep 60
        echo 1000 >/proc/self/oom_score_adj
        exec python3 -c "x = bytearray(200 << 20)"'
    is "want of memory: exit code" 137 "$code"
    like "want of memory: the reason" "$work/err" \
        "$who $host was killed by signal 9 \(SIGKILL, Killed\) while the cgroup counted an out-of-memory kill$"
    run_limited 60 bash -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' sh "$group" \
        "$keelrun" -n 1 sh -c 'kill -KILL $$'
    like "an old kill for want of memory is not this job's" "$work/err" \
        "was killed by signal 9 \(SIGKILL, Killed\)$"
else
    skip "want of memory" "no memory control group can be made here: $(tail -n 1 "$work/why")"
fi

no_leftovers "nothing is left" ""
finish
