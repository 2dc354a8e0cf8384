#!/bin/bash
# Nothing is left: after kill -9 of a rank, of keelrun, of a daemon or of a shepherd, every process of
# the job, also one that did setsid and a double fork, its shared memory and its session folder are
# gone within 2 s.
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"

# A rank that leaves a process of a session of its own, says its job, joins and stays.
rank='(setsid -f sleep 1000 &); echo "job $KEEL_JOB"; exec "$0" "$1"'

# has_processes COUNT NAME: so many descendants of $pid are called so.
has_processes()
{
    [ "$(descendants "$pid" | grep -c " $2\$")" -ge "$1" ]
}

is_running()
{
    has_lines "$work/out" $((2 * $1)) && has_processes "$1" member && has_processes "$1" sleep
}

is_running_or_over()
{
    is_running "$1" || is_gone "$pid"
}

# job RANKS OPTION...: starts it and waits until every rank has joined and left its process; sets
# uuid and pids (all of its processes).
job()
{
    local ranks=$1
    shift
    start "$keelrun" "$@" sh -c "$rank" "$helpers/member" hang
    wait_for 15 is_running_or_over "$ranks"
    if ! is_running "$ranks"; then
        ok "the job starts: $*" false
    fi
    uuid=$(sed -n 's/^job //p' "$work/out" | head -n 1)
    pids="$pid $(descendants "$pid" | cut -d ' ' -f 1 | xargs)"
}

# gone NAME VICTIM [CODE]: after kill -9 of the victim; CODE is keelrun's, where that lives.
gone()
{
    local name=$1 victim=$2 expected=${3-} begin
    if [ -z "$victim" ]; then
        ok "$name: there is one to kill" false
    fi
    begin=$(now_ms)
    kill -KILL "$victim"
    no_leftovers "$name: nothing is left" "$uuid" "$pids"
    await 5
    if [ -n "$expected" ]; then
        is "$name: exit code" "$expected" "$code"
        like "$name: a reason is given" "$work/err" "^keelrun: "
    fi
}

# The only daemon of a vpid, or the first of several.
first_named()
{
    child_named "$pid" "$1"
}

for where in "-n 2" "--simulate 2x2"; do
    ranks=2
    [ "$where" = "-n 2" ] || ranks=4
    # shellcheck disable=SC2086
    job $ranks $where
    gone "a rank ($where)" "$(first_named member)" 137
    # shellcheck disable=SC2086
    job $ranks $where
    gone "keelrun ($where)" "$pid"
    # shellcheck disable=SC2086
    job $ranks $where
    gone "keelrun's shepherd ($where)" "$(first_named keel-shepherd)" 125
done

# keelrun and its shepherd: ranks go at once, what they put into the background and the files with the
# next keelrun
has_ranks_left()
{
    for one in $pids; do
        [ "$(cat "/proc/$one/comm" 2>/dev/null)" != member ] || ! is_alive "$one" || return 0
    done
    return 1
}
for where in "-n 2" "--simulate 2x1"; do
    # shellcheck disable=SC2086
    job 2 $where
    shepherd=$(first_named keel-shepherd)
    kill -KILL "$pid" "$shepherd"
    ok "keelrun and its shepherd ($where): no rank is left" wait_for 2 not has_ranks_left
    await 5
    run_limited 10 "$keelrun" -n 1 true
    no_leftovers "keelrun and its shepherd ($where): nothing is left by the next" "$uuid" "$pids"
done

job 4 --simulate 2x2
gone "a daemon" "$(first_named keeld)" 125
job 4 --simulate 2x2
gone "a daemon's shepherd" "$(child_named "$(first_named keeld)" keel-shepherd)" 125
job 5 --simulate 5x1 --mca routed_radix 1
gone "a daemon that relays" "$(first_named keeld)" 125
job 5 --simulate 5x1 --mca routed_radix 1
gone "the last daemon of a chain" "$(descendants "$pid" | awk '$2 == "keeld" { last = $1 } END { print last }')" 125
job 2 -n 2 --pty
gone "keelrun, with terminals for its ranks" "$pid"
job 2 -n 2 --mca btl self,sm --mca btl_sm_backing file
gone "shared memory in files: keelrun" "$pid"

# what a rank leaves when it ends well
start "$keelrun" -n 2 sh -c '(setsid -f sleep 1000 >/dev/null 2>&1 &); echo "job $KEEL_JOB"; exec "$0" leave' \
    "$helpers/member"
await 10
is "ranks that leave processes behind: exit code" 0 "$code"
no_leftovers "ranks that leave processes behind: nothing is left" \
    "$(sed -n 's/^job //p' "$work/out" | head -n 1)"
# one that keeps stdout open, too
start "$keelrun" -n 2 sh -c '(setsid -f sleep 1000 &); echo "job $KEEL_JOB"'
await 10
is "left processes that hold the output: exit code" 0 "$code"
ok "left processes that hold the output: soon" [ "$wall_ms" -lt $((2000 * slow)) ]
no_leftovers "left processes that hold the output: nothing is left" \
    "$(sed -n 's/^job //p' "$work/out" | head -n 1)"

# a rank that is stopped
job 2 -n 2
for one in $pids; do
    [ "$(cat "/proc/$one/comm" 2>/dev/null)" != member ] || kill -STOP "$one"
done
gone "keelrun, with stopped ranks" "$pid"
job 2 -n 2
for one in $pids; do
    [ "$(cat "/proc/$one/comm" 2>/dev/null)" != member ] || kill -STOP "$one"
done
kill -TERM "$pid"
await 8
is "SIGTERM with stopped ranks: exit code" 143 "$code"
no_leftovers "SIGTERM with stopped ranks: nothing is left" "$uuid" "$pids"

# the shepherd of a simulated node that is stopped is killed before it removes anything
job 2 --simulate 2x1
kill -STOP "$(child_named "$(first_named keeld)" keel-shepherd)"
kill -TERM "$pid"
await 8
is "SIGTERM with a node's shepherd stopped: exit code" 143 "$code"
no_leftovers "SIGTERM with a node's shepherd stopped: nothing is left" "$uuid" "$pids"

# keelrun's own: it is not waited for, and said to be the reason that ranks got no SIGTERM
job 2 -n 2 --timeout $((2 * slow))
kill -STOP "$(first_named keel-shepherd)"
await $((10 * slow))
is "a time limit with keelrun's shepherd stopped: exit code" 124 "$code"
is "a time limit with keelrun's shepherd stopped: both reasons" \
    "the time limit of $((2 * slow)) s is over|the shepherd of this node is stopped, and is killed with all that it started" \
    "$(sed -n 's/^keelrun: the /the /p' "$work/err" | paste -sd '|')"
like "a time limit with keelrun's shepherd stopped: no stacks" "$work/err" \
    "^keelrun: no stack of 2 of 2 .*: the shepherd that starts debuggers there is stopped$"
ok "a time limit with keelrun's shepherd stopped: soon" [ "$wall_ms" -lt $((4000 * slow)) ]
no_leftovers "a time limit with keelrun's shepherd stopped: nothing is left" "$uuid" "$pids"

# an agent that is killed when its daemon runs: the job goes on; before: it fails
cat >"$work/agent" <<'END'
#!/bin/sh
shift
"$@" <&0
END
chmod +x "$work/agent"
job 2 --host far:2 --mca plm_rsh_agent "$work/agent"
agent=$(descendants "$pid" | awk '$2 == "agent" { print $1; exit }')
kill -KILL "$agent"
wait_for 5 is_gone "$agent"
sends_on()
{
    kill -USR1 "$pid"
    [ "$(descendants "$pid" | grep -c ' member$')" = 0 ]
}
ok "the agent of a running daemon: the job goes on" [ "$(descendants "$pid" | grep -c ' member$')" = 2 ]
ok "the agent of a running daemon: ranks are still reached" wait_for 5 sends_on
await 5
is "the agent of a running daemon: the ranks' end comes through" $((128 + 10)) "$code"
no_leftovers "the agent of a running daemon: nothing is left" "$uuid" "$pids"

# keelrun's shepherd, with which all agents end; here, with those, their daemons: simulated ones are
# known to, others are not heard of again
for where in "--simulate 5x1" "--host a,b,c,d,e --mca plm_rsh_agent $work/agent"; do
    # shellcheck disable=SC2086
    job 5 $where --mca routed_radix 1
    begin=$(now_ms)
    gone "keelrun's shepherd above a chain ($where)" "$(first_named keel-shepherd)" 125
    ok "... in time" [ $(($(now_ms) - begin)) -lt $((2500 * slow)) ]
    is "... and only the reason is given" "keelrun: the shepherd of this node was killed" \
        "$(grep '^keelrun: ' "$work/err")"
done

# at random moments of the start: the delays only spread the kills
RANDOM=${KEEL_TEST_SEED:-$$}
left=0 hung=0
for ((i = 0; i < 30; i++)); do
    start "$keelrun" --simulate 2x2 sh -c "$rank" "$helpers/member" hang
    sleep "0.0$((RANDOM % 10))$((RANDOM % 10))"
    victims=("$pid" "$pid")
    mapfile -t -O 2 victims < <(descendants "$pid" | cut -d ' ' -f 1)
    victim=${victims[RANDOM % ${#victims[@]}]}
    signals=(KILL KILL KILL TERM INT)
    signal=${signals[RANDOM % 5]}
    [ "$victim" = "$pid" ] || signal=KILL
    name=$(cat "/proc/$victim/comm" 2>/dev/null)
    kill -s "$signal" "$victim" 2>/dev/null
    case $name in
    keelrun | keeld | keel-shepherd) ;;
    *) kill -TERM "$pid" 2>/dev/null ;; # it need not be a rank, and may be over already
    esac
    await 5
    if [ "$code" = late ]; then
        hung=$((hung + 1))
        echo "# round $i: hung after SIG$signal to $name"
    fi
    if ! wait_for 2 has_no_leftovers "" ""; then
        left=$((left + 1))
        echo "# round $i: after SIG$signal to $name, keelrun's code $code:"
        leftovers "" "" | sed 's/^/#   /'
        processes_with "KT_MARK=$mark" | xargs -r kill -KILL
        rm -rf "$sessions"
    fi
done
is "kills at random moments of the start: none hangs" 0 $hung
is "kills at random moments of the start: nothing is left" 0 $left

ok "no session folder is left" not test -e "$sessions"
finish
