#!/bin/bash
# --report: each line is an object of JSON; docs/report.md has its members, and no others.
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"

readonly report=$work/report
readonly seen=$work/seen # "event member" of all reports

# ask EXPRESSION: of the report, which is the list e of its events; one(NAME) and all(NAME) choose.
ask()
{
    python3 - "$report" "$1" <<'END'
import json, sys
e = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
all = lambda name: [event for event in e if event["event"] == name]
def one(name):
    found = all(name)
    assert len(found) == 1, (name, len(found))
    return found[0]
print(eval(sys.argv[2]))
END
}

# reported NAME CODE ARGUMENT...: keelrun's code; the report's lines, and their members.
reported()
{
    local what=$1 expected=$2
    shift 2
    run_limited 30 "$keelrun" --report "json:$report" "$@"
    is "$what: exit code" "$expected" "$code"
    ok "$what: each line is an object of JSON" check_lines
}

check_lines()
{
    python3 - "$report" >>"$seen" <<'END'
import json, sys
def members(value, at):
    if isinstance(value, dict):
        for name in value:
            yield at + name
            if not (at == "" and name == "phases"):
                yield from members(value[name], at + name + ".")
    elif isinstance(value, list):
        for element in value:
            yield from members(element, at)
last = 0
for line in open(sys.argv[1], encoding="utf-8"):
    assert line.endswith("\n")
    event = json.loads(line)
    assert event["time"] >= last, (event["time"], last)
    last = event["time"]
    for member in members(event, ""):
        print(event["event"], member)
assert event["event"] == "summary", event
END
}

reported "two ranks" 0 -n 2 --oversubscribe true
is "two ranks: both ended with 0" "[(0, 0), (1, 0)]" \
    "$(ask 'sorted((x["rank"], x["code"]) for x in all("rank_ended"))')"
is "two ranks: the summary" "0 [{'code': 0, 'ranks': 2}] [] 0 0" "$(ask \
    '" ".join(str(one("summary")[m]) for m in ("exit_code", "codes", "signals", "daemons_lost", "depth"))')"
is "two ranks: the map" "['$(hostname)', '$(hostname)']" "$(ask 'one("map")["ranks"]')"
is "two ranks: the job runs, and is done" "['launching', 'running', 'draining', 'done']" \
    "$(ask '[x["to"] for x in all("state") if x["of"] == "job" and x["to"] != "waiting"]')"
ok "two ranks: the times of the phases are those of the job" [ "$(ask \
    'abs(sum(one("summary")["phases"].values()) - one("summary")["seconds"]) < 0.001')" = True ]

reported "simulated nodes" 0 --simulate 3x2 -n 6 true
is "simulated nodes: all daemons have called home" "['node0', 'node1', 'node2']" \
    "$(ask 'sorted(x["node"] for x in all("state") if x["of"] == "daemon" and x["to"] == "home")')"
is "simulated nodes: each is started by keelrun's" "3 1" \
    "$(ask 'str(len(all("daemon"))) + " " + str(one("summary")["depth"])')"
is "simulated nodes: ranks of each" "[('node0', 2), ('node1', 2), ('node2', 2)]" \
    "$(ask 'sorted((x["node"], x["count"]) for x in all("ranks_started") if x["count"])')"
ok "simulated nodes: the slowest is one of them" [ "$(ask \
    'one("summary")["slowest_node"] in [x["node"] for x in all("node")]')" = True ]

reported "a node without ranks" 0 --simulate 3x2 -n 2 true
is "a node without ranks: is allocated" "[('node0', 2), ('node1', 2), ('node2', 2)]" \
    "$(ask 'sorted((x["node"], x["slots"]) for x in one("allocation")["nodes"])')"

# 64 MB of memory that is written to, in one of the ranks
reported "memory" 0 -n 2 --oversubscribe bash -c \
    '[ $KEEL_RANK = 0 ] || exec python3 -c "x = bytearray(64 << 20)"'
ok "memory: the most of it" [ "$(ask '64 << 10 <= one("summary")["peak_kib"] < 256 << 10')" = True ]
is "memory: whose it was" 1 "$(ask 'one("summary")["peak_rank"]')"

# The first does not end before all have begun: those that have not would never be started.
export up=$work/up
reported "kill -9" 137 -n 3 --oversubscribe bash -c '
    : >"$up.$KEEL_RANK"
    until [ "$(ls "$up".* | wc -l)" = 3 ]; do sleep 0.05; done
    [ $KEEL_RANK = 1 ] && kill -KILL $$
    exec sleep 60'
is "kill -9: the signals" "[{'signal': 9, 'ranks': 1}, {'signal': 15, 'ranks': 2}]" \
    "$(ask 'sorted(one("summary")["signals"], key=lambda x: x["signal"])')"
is "kill -9: what was told" "$(sed -n 's/^keelrun: //p' "$work/err")" \
    "$(ask '"\n".join(x["text"] for x in all("message"))')"

name=$(printf 'a"b\\c\t\351')
ln -s "$(type -P true)" "$work/$name"
reported "any name" 0 -n 1 "$work/$name"
is "any name: as JSON has it" True "$(ask 'one("job")["programs"][0].endswith("/a\"b\\c\t\ufffd")')"

reported "no such program" 127 -n 1 ./missing
reported "no such node" 125 --mca plm_rsh_agent false --host far true
is "no such node: its daemon is lost" 1 "$(ask 'len([x for x in all("message") if "far" in x["text"]])')"
reported "--dry-run" 0 --dry-run -n 1 true

# --- where it goes ---

# The rank stays until the report has it.
timeout 60 "$keelrun" --report "json:$report" -n 1 bash -c '
    echo text
    until grep -q output_lost "$1"; do sleep 0.05; done' sh "$report" >/dev/full 2>"$work/err"
ok "a full disk for the output: each line is an object" check_lines
is "a full disk for the output: is told" "stdout" "$(ask 'one("output_lost")["where"]')"

run_limited 20 "$keelrun" --report json -n 1 true
is "on standard error: exit code" 0 "$code"
cp "$work/err" "$report"
ok "on standard error: each line is an object" check_lines

run_limited 20 "$keelrun" --report "json:$work/no/such/folder" -n 1 touch "$work/started"
is "a file that cannot be opened: exit code" 125 "$code"
is "a file that cannot be opened: the reason" \
    "keelrun: --report: $work/no/such/folder: No such file or directory" "$(cat "$work/err")"
ok "a file that cannot be opened: nothing was started" [ ! -e "$work/started" ]

run_limited 20 "$keelrun" --report json:/dev/full -n 2 --oversubscribe echo done
is "a full disk: the job goes on" "0 2" "$code $(grep -c '^done$' "$work/out")"
is "a full disk: told once" \
    "keelrun: --report: /dev/full: No space left on device; the rest of the report is lost" \
    "$(cat "$work/err")"

# --- docs/report.md ---

# Its rows are "| EVENT | MEMBER | ...". All events have "event" and "time".
documented()
{
    sed -n 's/^| `\([a-z_]*\)` | `\([a-z_.]*\)` |.*/\1 \2/p' "$KEEL_TEST_SRCDIR/docs/report.md"
}
sort -u "$seen" | grep -v ' event$\| time$' >"$work/members"
documented | sort -u >"$work/documented"
is "docs/report.md has all members that were seen" "" "$(comm -23 "$work/members" "$work/documented")"
is "all members of docs/report.md were seen" "" "$(comm -13 "$work/members" "$work/documented")"

no_leftovers "nothing is left" ""
finish
