#!/bin/bash
# Processes that stop: a daemon for 3 s, which nobody notices; one that stays stopped, which is a
# lost node; keelrun itself, by Ctrl-Z or SIGSTOP; a rank, by its debugger; all of them at once.
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"

examples=$KEEL_TEST_BUILDDIR/examples
# A chain of daemons, so that those between the ends relay.
chain=(--simulate 4x1 -n 4 --mca routed_radix 1)
# Limits short enough for a test; where a process must not be suspected, the usual ones hold.
short=(--mca oob_heartbeat_ms 200 --mca rml_suspect_ms 1000 --mca rml_fail_ms 3000)

# daemon VPID: the pid of that daemon, which is on node VPID - 1: keelrun has a node of its own.
daemon()
{
    local one
    for one in $(descendants "$pid" | awk '$2 == "keeld" { print $1 }'); do
        if tr '\0' ' ' <"/proc/$one/cmdline" | grep -q -- "--vpid $1 " && ! is_shepherd "$one"; then
            echo "$one"
            return
        fi
    done
}

# A daemon's shepherd is its child, and is called as it is.
is_shepherd()
{
    local parent
    parent=$(awk '{ print $4 }' "/proc/$1/stat")
    [ "$(cat "/proc/$parent/comm")" = keeld ]
}

# held SECONDS PID...: stops processes for that time.
held()
{
    local seconds=$1
    shift
    kill -STOP "$@"
    sleep "$seconds"
    kill -CONT "$@"
}

state()
{
    sed 's/.*) \(.\).*/\1/' "/proc/$1/stat"
}

is_stopped()
{
    [ "$(state "$1")" = T ]
}

everything()
{
    pids="$pid $(descendants "$pid" | cut -d ' ' -f 1 | xargs)"
}

hanging_by=() # what runs keelrun
# hanging OPTION...: a job whose ranks stay; sets pids.
hanging()
{
    start "${hanging_by[@]}" "$keelrun" "$@" "$helpers/member" hang
    wait_for 15 has_lines "$work/out" 4 || ok "the job starts: $*" false
    everything
}

# The same below a shell that could let it go on: where nobody could, Ctrl-Z stops nothing. Sets
# keelrun_pid. What the shell itself says of its job is not wanted. Without job control it does not
# see the job stop: with it, and wait -f, bash 5.2 now and then loses a job that ends right after it
# went on, and waits for ever.
hanging_in_shell()
{
    hanging_by=(setsid bash -c 'exec 3>&2 2>/dev/null; set -m; "$@" 2>&3 3>&- & set +m; wait $!' sh)
    hanging "$@"
    hanging_by=()
    keelrun_pid=$(child_named "$pid" keelrun)
}

# --- a daemon ---

has_ranks()
{
    [ "$(descendants "$pid" | grep -c ' rml_chat$')" = 4 ]
}

start "$keelrun" "${chain[@]}" "$examples/rml_chat" $((60000 / slow))
wait_for 15 has_ranks
victim=$(daemon 2)
sleep 0.3
held 3 "$victim"
await 60
is "a relay stopped for 3 s amid a stream: exit code" 0 "$code"
like "a relay stopped for 3 s: everything was heard once and in order" "$work/out" \
    '^rml_chat: 4 ranks, [0-9]+ lines, 0 errors$'
is "a relay stopped for 3 s: nobody noticed" "" "$(cat "$work/err")"
ok "a relay stopped for 3 s: the stream took longer ($wall_ms ms)" [ "$wall_ms" -ge 3000 ]

hanging "${chain[@]}" "${short[@]}"
victim=$(daemon 2)
begin=$(now_ms)
kill -STOP "$victim"
ok "a daemon that stays stopped: keelrun says so at first" \
    wait_for 3 grep -q '^keelrun: the daemon of node node1 does not answer$' "$work/err"
ok "... and goes on" is_alive "$pid"
await 15
is "a daemon that stays stopped: exit code" 125 "$code"
like "a daemon that stays stopped: the reason" "$work/err" \
    '^keelrun: lost the daemon of node node1: it has not answered for too long over its link to node node[02]$'
ok "a daemon that stays stopped: in time" [ $(($(now_ms) - begin)) -le $((7000 * slow)) ]
no_leftovers "a daemon that stays stopped: nothing is left" "" "$pids"

hanging --simulate 4x1 -n 4 "${short[@]}"
victims=("$(daemon 2)" "$(daemon 3)")
kill -STOP "${victims[@]}"
wait_for 3 grep -q ' do not answer$' "$work/err"
kill -CONT "${victims[@]}"
ok "daemons that come back in time are forgiven" wait_for 3 grep -q ' answer again$' "$work/err"
ok "... and the job lives" is_alive "$pid"
kill -INT "$pid"
await 10
is "daemons that come back: exit code" 130 "$code"
is "daemons that come back: one line for both" "keelrun: the daemons of nodes node[1-2] do not answer
keelrun: the daemons of nodes node[1-2] answer again" "$(grep ' answer' "$work/err")"

# Stopped by the rank that is about to join: its connection is tried again, up to the documented
# limit.
cat >"$work/stops-daemon" <<'END'
daemon=$(awk '{ print $4 }' /proc/$PPID/stat)
kill -STOP "$daemon"
(sleep "$1"; exec kill -CONT "$daemon") &
exec "$2"
END
run_limited 30 "$keelrun" -n 1 --mca oob_connect_timeout_ms 300 sh "$work/stops-daemon" 1 \
    "$examples/rml_ring"
is "a daemon that is stopped for longer than a connect may take: exit code" 0 "$code"
is "a daemon that is stopped for longer than a connect may take: no word" "" "$(cat "$work/err")"
run_limited 30 "$keelrun" -n 1 --mca oob_connect_timeout_ms 300 --mca bootstrap_timeout_s 1 \
    sh "$work/stops-daemon" 3 "$examples/rml_ring"
is "a daemon that is stopped for longer than bootstrap_timeout_s: exit code" 1 "$code"
like "a daemon that is stopped for longer than bootstrap_timeout_s: the reason" "$work/err" \
    'no link to the daemon .*: no answer in time'

# --- a rank ---

hanging "${chain[@]}" "${short[@]}"
victim=$(descendants "$pid" | awk '$2 == "member" { print $1; exit }')
held 5 "$victim"
is "a rank that is stopped for longer than the limit: no word" "" "$(cat "$work/err")"
ok "... and the job lives" is_alive "$pid"
kill -INT "$pid"
await 10
is "a stopped rank: exit code" 130 "$code"

# --- keelrun ---

# Longer than any other may be silent, shorter than the lifeline's grace.
hanging "${chain[@]}" "${short[@]}" --mca lifeline_grace 30
held 5 "$pid"
sleep 1
is "keelrun stopped for 5 s: no word" "" "$(cat "$work/err")"
ok "... and the job lives" is_alive "$pid"
kill -INT "$pid"
await 10
is "keelrun stopped for 5 s: exit code" 130 "$code"

hanging_in_shell "${chain[@]}" "${short[@]}" --mca lifeline_grace 30
kill -TSTP "$keelrun_pid"
ok "Ctrl-Z suspends keelrun" wait_for 3 is_stopped "$keelrun_pid"
is "... which says what that means" \
    "keelrun: suspended: the job goes on without keelrun; other nodes wait for it for 30 s" \
    "$(cat "$work/err")"
sleep 4
kill -CONT "$keelrun_pid"
sleep 1
ok "... and the job lives" is_alive "$keelrun_pid"
kill -TSTP "$keelrun_pid"
ok "Ctrl-Z again" wait_for 3 is_stopped "$keelrun_pid"
kill -CONT "$keelrun_pid"
kill -INT "$keelrun_pid"
await 10
is "Ctrl-Z: exit code" 130 "$code"

# Links that break meanwhile (each send with a chance of 1 in 20, 20 a second) are made again when
# keelrun goes on, although rml_reconnect_ms is over.
hanging "${chain[@]}" --mca oob_heartbeat_ms 50 --mca oob_connect_timeout_ms 200 \
    --mca lifeline_grace 30 --mca log_rml_verbose 1 \
    --mca fault 'oob.send:error=ECONNRESET:p=0.05:seed=3:after=300'
breaks()
{
    grep -c '^\[node0.*the link to .*,0\] broke: ' "$work/err"
}
has_broken_again()
{
    [ "$(breaks)" -gt "$before" ]
}
kill -STOP "$pid"
before=$(breaks)
ok "the link to a stopped keelrun breaks" wait_for 20 has_broken_again
sleep 4
kill -CONT "$pid"
sleep 1
ok "keelrun stopped while links break: the job lives" is_alive "$pid"
kill -INT "$pid"
await 10
is "keelrun stopped while links break: exit code" 130 "$code"
unlike "keelrun stopped while links break: nothing is lost" "$work/err" '^keelrun: '

# Nobody who could end them is left to those nodes.
hanging "${chain[@]}" "${short[@]}" --mca lifeline_grace 4
nodes="$(daemon 1) $(daemon 2) $(daemon 3) $(daemon 4)"
ranks=$(descendants "$pid" | awk '$2 == "member" { print $1 }' | xargs)
all_gone()
{
    local one
    for one in $nodes $ranks; do
        is_gone "$one" || return 1
    done
}
kill -STOP "$pid"
ok "keelrun stopped for longer than the grace: the other nodes' processes end" wait_for 10 all_gone
kill -CONT "$pid"
await 10
is "keelrun stopped for longer than the grace: exit code" 125 "$code"
like "keelrun stopped for longer than the grace: the reason" "$work/err" \
    '^keelrun: lost the daemon of node node0: '

# --- all of them ---

# Whatever goes on first blames nobody.
hanging "${chain[@]}" "${short[@]}" --mca lifeline_grace 3
# shellcheck disable=SC2086 # a list
held 6 $pids
sleep 3
is "everything stopped for 6 s: no word" "" "$(cat "$work/err")"
ok "... and the job lives" is_alive "$pid"
kill -INT "$pid"
await 10
is "everything stopped: exit code" 130 "$code"

finish
