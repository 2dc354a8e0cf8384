#!/bin/bash
# keel-ps: several jobs, on several nodes, of all kinds, those that do not answer, and what killed ones left.
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"
. "$KEEL_TEST_SRCDIR/tests/lib/mpi.sh"
forget_launchers
excuse_libpmix
readonly ps=$KEEL_TEST_BUILDDIR/bin/keel-ps member=$helpers/member

# A keel-ps with time enough for a busy machine.
ask()
{
    run_limited 90 "$ps" --timeout $((40 * slow)) "$@"
}

# member_of EXPRESSION: of the JSON in $work/out: an expression over the list of jobs j.
member_of()
{
    python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); j = d["jobs"]; print(eval(sys.argv[2]))' \
        "$work/out" "$1" 2>&1
}

# shows PATTERN [OPTION...]: keel-ps prints a line of this pattern.
shows()
{
    local pattern=$1
    shift
    ask "$@"
    grep -Eq -e "$pattern" "$work/out"
}

# start_job LINES OPTION...: in the background, until its ranks have printed so many lines: job.
start_job()
{
    local lines=$1
    shift
    jobs=$((${jobs-0} + 1))
    "$keelrun" "$@" >"$work/job$jobs" 2>"$work/job$jobs.err" &
    job=$!
    started+=("$job")
    wait_for 30 has_lines "$work/job$jobs" "$lines"
}

end_job()
{
    kill -TERM "$1"
    wait "$1"
}

is_stopped()
{
    local stat
    { read -r stat <"/proc/$1/stat"; } && [[ ${stat##*)} == " T"* ]]
}

ask
is "no job: exit code, nothing on stderr" 0: "$code:$(cat "$work/err")"
is "no job: says so" "no jobs" "$(cat "$work/out")"
ask --json
is "no job: JSON" "[]" "$(member_of j)"

# --- several ---

start_job 4 -n 4 --oversubscribe "$member" stuck
local_job=$job
start_job 4 --simulate 2x2 -n 4 "$member" stuck
nodes_job=$job
ask
is "two jobs: exit code, nothing on stderr" 0: "$code:$(cat "$work/err")"
for pid in "$local_job" "$nodes_job"; do
    like "each with its keelrun" "$work/out" \
        "^job [0-9a-f]{32}: 4 ranks of $member, running for [0-9.]+ s, keelrun $pid$"
done
like "a node" "$work/out" "^  node1 +[0-9]+  runs$"
like "a rank" "$work/out" "^     3 node1 +[0-9]+ +[0-9.]+ +[0-9.]+ s +[0-9.]+M +[0-9.]+ +[0-9.]+ s  in fence [0-9]+$"
ask --json
is "JSON: both" "[('running', 4, '$member')]" "$(member_of 'sorted({(x["state"], x["rank_count"], x["program"]) for x in j})')"
is "JSON: their keelruns" True "$(member_of "{x['keelrun'] for x in j} == {$local_job, $nodes_job}")"
is "JSON: nodes" "[1, 3]" "$(member_of 'sorted(len(x["nodes"]) for x in j)')"
is "JSON: ranks by number" True "$(member_of 'all([r["rank"] for r in x["ranks"]] == [0, 1, 2, 3] for x in j)')"
is "JSON: their nodes" "['node0', 'node0', 'node1', 'node1']" \
    "$(member_of "[r['node'] for x in j if x['keelrun'] == $nodes_job for r in x['ranks']]")"
is "JSON: states" True "$(member_of 'all(r["state"] == "running, after keel_init" if r["rank"] == 1
    else r["state"].startswith("in fence ") for x in j for r in x["ranks"])')"
is "JSON: memory, and time since the start" True \
    "$(member_of 'all(r["memory_bytes"] > 100000 and r["age_ms"] >= r["still_ms"] >= 0 for x in j for r in x["ranks"])')"
is "JSON: each pid is of a process" "member" \
    "$(member_of '"\n".join(str(r["pid"]) for x in j for r in x["ranks"])' | while read -r pid; do
        cat "/proc/$pid/comm"; done | sort -u)"
id=$(member_of "[x['id'] for x in j if x['keelrun'] == $nodes_job][0]")
ask --json --job "${id:0:6}"
is "one of them" "['$id']" "$(member_of '[x["id"] for x in j]')"

# --- a rank that is stopped, a daemon that is ---

ask --json --job "$id"
rank=$(member_of 'j[0]["ranks"][0]["pid"]') daemon=$(member_of 'j[0]["nodes"][2]["pid"]')
kill -STOP "$rank"
ok "a rank is stopped" wait_for 10 is_stopped "$rank"
ok "which it shows" shows " $rank .* in fence [0-9]+, stopped by a signal$"
kill -CONT "$rank"
kill -STOP "$daemon"
ok "a daemon is stopped" wait_for 10 is_stopped "$daemon"
ask --job "$id"
is "a stopped daemon: exit code" 0 "$code"
like "a stopped daemon: is named" "$work/out" "^  node1 .*  does not answer$"
like "a stopped daemon: its ranks" "$work/out" "^     2 node1 .*  not known: its node does not answer$"
like "a stopped daemon: the others are there" "$work/out" "^     0 node0 .* in fence "
kill -CONT "$daemon"
ok "it goes on, and answers" wait_for 30 shows "^     2 node1 .* in fence " --job "$id"

# --- a keelrun that is stopped ---

kill -STOP "$local_job"
ok "a keelrun is stopped" wait_for 10 is_stopped "$local_job"
run_limited 90 "$ps" --timeout 8
is "a stopped keelrun: exit code" 1 "$code"
like "a stopped keelrun: is named" "$work/out" "^job [0-9a-f]{32}: its keelrun does not answer$"
like "a stopped keelrun: the other job is there" "$work/out" "^job $id: 4 ranks"
kill -CONT "$local_job"
ok "it goes on, and answers" wait_for 30 shows "keelrun $local_job$"

# --- what ranks wait in, and have counted ---

start_job 4 -n 4 --oversubscribe "$member" waits
waits_job=$job
ok "a receive in the RML" wait_for 30 shows " in an RML receive from 3 with tag 500$"
ok "a receive" wait_for 30 shows "^     1 .* [1-9][0-9.]*K? +[0-9.]+ s  in a receive from 3 with tag 12$"
ok "a probe" wait_for 30 shows " in a probe for a message from 1 with tag 7$"
ok "a receive from any" wait_for 30 shows " in a receive from any rank with any tag$"
ok "counters" wait_for 30 shows "^       rml_waiting 2$" --counters
rank_says()
{
    ask --json
    [ "$(member_of "[x['ranks'][1]['counters']['$1'] for x in j if x['keelrun'] == $waits_job][0]")" = "$2" ]
}
ok "counters as JSON: of the RML" wait_for 30 rank_says rml_waiting 2
ok "counters as JSON: of messages" rank_says pml_messages_received 0
is "counters as JSON: of rails" True \
    "$(member_of "any(n.startswith('btl_') for x in j for r in x['ranks'] for n in r['counters'])")"
kill -QUIT "$waits_job"
ok "keelrun tells the same on SIGQUIT" wait_for 30 \
    grep -q "^keelrun: 1 of 4: in a receive from 3 with tag 12 (rank 1)$" "$work/job$jobs.err"
end_job "$waits_job"

# --- stacks ---

if type -P gdb >/dev/null; then
    ask --stacks --job "$id"
    is "stacks: exit code" 0 "$code"
    like "stacks: those in the fence" "$work/out" "^  3 of 4 are in keel_fence \(ranks 0, 2-3\):$"
    like "stacks: the one that is not" "$work/out" "^  1 of 4 are in .*pause.* \(rank 1\):$"
    ok "stacks: the job goes on" is_alive "$nodes_job"
    is "stacks: keelrun says nothing" "" "$(cat "$work/job2.err")"
    ask --stacks --json --job "$id"
    is "stacks: as JSON" True "$(member_of '"3 of 4 are in keel_fence (ranks 0, 2-3):" in j[0]["stacks"]')"
else
    skip "stacks" "there is no gdb"
fi

# --- ends ---

end_job "$local_job"
is "a job that was asked ends as ever" 143 "$?"
ask --json
is "and is no more" "[$nodes_job]" "$(member_of '[x["keelrun"] for x in j]')"
end_job "$nodes_job"

# --- what others left, and garbage ---

start_job 1 -n 1 "$member" hang
id=$(ls "$sessions")
cp -a "$sessions/$id" "$work/copy"
end_job "$job"
mkdir -p "$sessions" && chmod 700 "$sessions" && mv "$work/copy" "$sessions/$id"
mkdir -m 700 "$sessions/00112233445566778899aabbccddeeff" "$sessions/no-job"
: >"$sessions/ffeeddccbbaa99887766554433221100"
mkfifo "$sessions/fifo"
ask
is "a killed keelrun's folder: exit code, nothing on stderr" 0: "$code:$(cat "$work/err")"
is "a killed keelrun's folder: is named, and nothing else" \
    "job $id: its keelrun is gone, and has left a session folder" "$(cat "$work/out")"
rm "$sessions/$id/0/held."*
mkfifo "$sessions/$id/0/held.$(hostname)"
ask
is "a pipe in place of the lock" "0:job $id: its keelrun is gone, and has left a session folder" \
    "$code:$(cat "$work/out")"
rm -r "$sessions"

# --- at every moment ---

"$keelrun" -n 64 --oversubscribe sleep 300 >"$work/many" 2>&1 &
many=$!
started+=("$many")
ok "64 ranks" wait_for 60 shows "^    63 .* started, and has not called keel_init or MPI_Init$"
is "64 ranks: a line each" 64 "$(grep -Ec "^ +[0-9]+ $host +[0-9]+ " "$work/out")"
end_job "$many"

asking()
{
    local i
    for i in {1..25}; do
        "$ps" --json --timeout $((40 * slow)) || echo "keel-ps: $?"
    done >"$work/asked" 2>&1
}
asking &
asker=$!
started+=("$asker")
for i in {1..12}; do
    run_limited 30 "$keelrun" -n 2 --oversubscribe "$member" leave
    [ "$code" = 0 ] || break
done
is "jobs that are asked while they start and end: exit code" 0 "$code"
wait "$asker"
is "each answer is whole" 25 "$(python3 -c 'import json, sys
print(sum("jobs" in json.loads(line) for line in open(sys.argv[1])))' "$work/asked" 2>&1)"

for mpi in openmpi mpich; do
    if ! has_mpi $mpi; then
        skip "MPI programs of $mpi" "it is not installed"
        continue
    fi
    "$keelrun" --oversubscribe -n 2 "$programs/stay.$mpi" 2 >"$work/mpi" 2>&1 &
    job=$!
    started+=("$job")
    ok "$mpi: a rank" wait_for 60 shows "^     1 $host .*  running, in or after MPI_Init(, after fence [0-9]+)?$"
    end_job "$job"
done

# --- again and again ---

start_job 1 -n 1 "$member" hang
start "$ps" --json --watch 0.1
ok "--watch: more than once" wait_for 30 has_lines "$work/out" 3
end_job "$job"
ok "--watch: the job ends" wait_for 30 grep -q '"jobs":\[\]' "$work/out"
kill -TERM "$pid"
await 20
is "--watch: goes on until it is ended" 143 "$code"

# --- wrong usage ---

refuses()
{
    what=$1 expected=$2 pattern=$3
    shift 3
    run_limited 10 "$ps" "$@"
    is "$what: exit code" "$expected" "$code"
    like "$what: says why" "$work/err" "$pattern"
}
refuses "no such option" 2 "nosuch" --nosuch
refuses "a word too many" 2 "^keel-ps: takes no arguments: word" word
refuses "no id" 2 "^keel-ps: --job: no job's id begins with xyz" --job xyz
refuses "no time" 2 "^keel-ps: --watch does not take 0, but 0.1 to 86400" --watch 0
refuses "another shell" 2 "^keel-ps: --completion: bash" --completion fish
run_limited 10 "$ps" --version
like "--version" "$work/out" '^keel-ps \(Keel\) [0-9]'
run_limited 10 "$ps" --help
is "--help has every option of the man page" "$(grep -oE 'Fl -?-?[a-z]+' "$KEEL_TEST_SRCDIR/docs/man/keel-ps.1" |
    sed 's/^Fl -*//' | sort -u | xargs)" \
    "$(grep -oE -- '(^| )-[-a-z]+' "$work/out" | sed 's/^ *-*//' | grep -E '^(h|V|[a-z]{2,})$' | sort -u | xargs)"
is "completion" "--watch" "$(bash --norc -c '. <("$0" --completion bash); complete -p keel-ps' "$ps" |
    grep -oE -- '--watch' | sort -u | xargs)"
no_leftovers "nothing is left" ""
finish
