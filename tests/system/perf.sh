#!/usr/bin/env bash
# keel-perf: every test over every rail, its output for people and programs, and wrong usage.
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"
perf=$KEEL_TEST_BUILDDIR/bin/keel-perf
few="--iterations 3"

# The lines of figures: "BYTES ITERATIONS ...".
figures()
{
    grep -cE '^ +[0-9]+ +[0-9]+ ' "$work/out"
}

for btl in sm tcp; do
    # shellcheck disable=SC2086
    run_limited 60 "$keelrun" -n 2 "$perf" --btl $btl $few --size 100k
    is "$btl: measures" 0 "$code"
    like "$btl: the head names module and limits" "$work/out" "^# module +$btl: .*MB/s"
    like "$btl: and the processors" "$work/out" '^# rank 1 +.*processors [0-9]'
    is "$btl: a line for every test" 15 "$(figures)"
    # shellcheck disable=SC2086
    run_limited 60 "$keelrun" -n 2 "$perf" --btl $btl $few --size 0:1 --test am_lat,put_lat,put2_bw
    is "$btl: empty messages" 0 "$code"
    is "$btl: and one byte" 6 "$(figures)"
done

run_limited 20 "$keelrun" -n 2 "$perf" --btl sm --time 0.05 --size 0 --test am_rate
is "empty messages into a full ring" 0 "$code"

# The end of a test and the first message of the next may come in one pass.
both=am_lat,am2_lat
# shellcheck disable=SC2086
run_limited 20 "$keelrun" -n 2 "$perf" --btl sm $few --size 8 \
    --test put_lat,am2_lat,$both,$both,$both,$both,$both,$both,$both,$both,$both
is "BTL 2.0 and 3.0 in turn: measures" 0 "$code"
is "BTL 2.0 and 3.0 in turn: a line for each" 20 "$(figures)"
is "BTL 2.0 and 3.0 in turn: nothing on stderr" '' "$(cat "$work/err")"

# shellcheck disable=SC2086
run_limited 20 "$keelrun" -n 2 --mca btl ^ofi "$perf" $few --size 8 --test am_lat
is "a rail is left out, built or not" 0 "$code"

# shellcheck disable=SC2086
run_limited 20 "$keelrun" -n 1 "$perf" --btl self $few --size 8:8
is "self: a job of one rank" 0 "$code"
like "self: has put and get" "$work/out" '^# get_bw over self'
like "self: has atomics of 4 bytes" "$work/out" '^ +4 +[0-9]+ '

for btl in sm tcp; do
    # shellcheck disable=SC2086
    run_limited 20 "$keelrun" -n 2 "$perf" --btl $btl --progress-thread $few
    is "$btl: ranks that sleep" 0 "$code"
    like "$btl: are woken" "$work/out" "^# wake_lat over $btl"
    is "$btl: a line for wake_lat" 1 "$(figures)"
done
run_limited 20 "$keelrun" -n 2 "$perf" --test wake_lat,am_lat --size 8 --iterations 3
is "wake_lat without a progress thread: the other tests run" "0 1" "$code $(figures)"
like "wake_lat without a progress thread: says so" "$work/err" 'wake_lat.*it needs --progress-thread'

run_limited 20 "$keelrun" -n 2 --mca enable_progress_threads 1 \
    "$perf" --btl sm --test am_lat,am_rate --size 8 --iterations 3
is "polling tests where a progress thread was asked for: they poll" "0 2" "$code $(figures)"

# shellcheck disable=SC2086
run_limited 20 "$keelrun" -n 4 --oversubscribe "$perf" $few --size 1m --test am_bw,put_bw
is "ranks that stand by" 0 "$code"
is "only the tests that were named" 2 "$(figures)"

# shellcheck disable=SC2086
run_limited 20 "$keelrun" --simulate 2x1 -n 2 "$perf" $few --size 8 --json --plot "$work/plot.svg"
is "between nodes" 0 "$code"
like "JSON: tcp between nodes" "$work/out" '"btl":"tcp","test":"am_lat","size":8,"iterations":[0-9]+,"latency_us":\{"min":[0-9.]+,"median":[0-9.]+,"mean":[0-9.]+,"p99":(null|[0-9.]+)\},"MB_per_s":[0-9.]+,"messages_per_s":[0-9]+,"cpu_us":[0-9.]+\}'
if python3 -c 'import json' 2>"$work/python"; then
    is "JSON: one object with machine and results" "machine results window" \
        "$(python3 -c 'import json, sys; print(*sorted(json.load(sys.stdin)))' <"$work/out")"
else
    skip "JSON: one object with machine and results" "$(tail -n 1 "$work/python")"
fi
like "a picture" "$work/plot.svg" '<polyline .*points=.[0-9.]+,[0-9.]+'
like "a picture: a single result shows" "$work/plot.svg" '<circle cx='
is "a picture to its end" "</svg>" "$(tail -n 1 "$work/plot.svg")"

run_limited 20 "$keelrun" -n 2 "$perf" --btl sm --json --time 0.02 --rotate 100k --compute 200 \
    --size 1k:256k --test put_bw,am_bw
is "buffers in turn, a target that computes" "0 18" "$code $(grep -c '"cpu_us":[0-9.]*}' "$work/out")"

run_limited 20 "$keelrun" -n 2 "$perf" --btl tcp --stats --iterations 3 --size 8 \
    --test am_lat,put_lat,atomic_lat
is "counters: measures" "0 3" "$code $(figures)"
for scope in module peer; do
    like "counters: $scope: messages" "$work/out" "^$scope messages_sent [1-9][0-9]* messages$"
    like "counters: $scope: accesses" "$work/out" "^$scope put_bytes [1-9][0-9]* bytes$"
done
like "counters: what tcp has beside" "$work/out" '^module writes [1-9][0-9]* calls$'
run_limited 20 "$keelrun" -n 2 "$perf" --btl sm --stats --iterations 3 --size 8 --test tag_lat
like "counters: messages by tag" "$work/out" "^tagged messages_sent [1-9][0-9]* messages$"
run_limited 20 "$keelrun" -n 2 "$perf" --btl sm --stats --iterations 3 --size 8 \
    --posted 300 --unexpected 200 --test tag_lat,tag_rate
is "messages among others of other tags" "0 2" "$code $(figures)"
like "messages among others: they came" "$work/out" '^tagged unexpected 20[0-9] messages$'
run_limited 20 "$keelrun" -n 2 "$perf" --btl sm --iterations 3 --size 8 --posted 300 --any --test tag_lat
is "messages by any source and tag" "0 1" "$code $(figures)"
run_limited 20 "$keelrun" -n 2 "$perf" --btl sm --stats --json --iterations 3 --size 8 --test am_lat
like "counters: JSON" "$work/out" \
    '^\],"counters":\{"module":\{"messages_sent":[1-9][0-9]*,.*\},"peer":\{"messages_sent":[1-9].*\}\}\}$'
run_limited 20 "$keelrun" -n 2 "$perf" --btl sm --iterations 3 --size 8 --test am_lat
is "counters: only where asked for" 0 "$(grep -c '^module' "$work/out")"

# Messages by tag over several rails, of which one alone would leave out the other.
several="sm,tcp"
if grep -qx '#define HAVE_FABRIC 1' "$KEEL_TEST_BUILDDIR/config.h" && [ -z "$sanitize" ]; then
    several="sm,tcp tcp,usnic"
fi
for rails in $several; do
    run_limited 20 "$keelrun" -n 2 --mca btl_usnic_if_include lo "$perf" --rails "$rails" \
        --iterations 3 --size 1m --test tag_lat,tag_rate,tag_bw,put_lat
    is "rails $rails: measures" "0 4" "$code $(figures)"
    like "rails $rails: messages by tag go over both" "$work/out" "^# tag_bw over $rails: "
    like "rails $rails: the first alone puts" "$work/out" "^# put_lat over ${rails%,*}: "
done

# The rank that answers is not needed by single copies: several sizes go by before it looks again.
# shellcheck disable=SC2016 # for the ranks' shell
start "$keelrun" -n 2 sh -c 'echo $$ >"$1/rank.$KEEL_RANK"; shift; exec "$@"' sh "$work" \
    "$perf" --btl sm --test put_lat --size 1:16k --time 0.02
wait_for 20 has_lines "$work/rank.1" 1
answering=$(cat "$work/rank.1")
wait_for 20 grep -qE '^ +1 +[0-9]+ ' "$work/out"
kill -STOP "$answering"
wait_for 5 grep -qE '^ +4096 +[0-9]+ ' "$work/out"
kill -CONT "$answering"
await 20
is "a rank that answers late: ends" 0 "$code"
is "a rank that answers late: all sizes" 15 "$(figures)"

# --- wrong usage ---

# refuses NAME CODE PATTERN OPTION...
refuses()
{
    local name=$1 expected=$2 pattern=$3
    shift 3
    run_limited 20 "$keelrun" -n 2 "$perf" "$@"
    is "$name: exit code" "$expected" "$code"
    like "$name: says so" "$work/err" "$pattern"
}

refuses "no such test" 2 '^keel-perf: --test does not take am_lat,am_lag; the tests are am_lat, am_rate' --test am_lat,am_lag
refuses "sizes that go down" 2 '^keel-perf: --size does not take 64:8' --size 64:8
refuses "a size too large" 2 '^keel-perf: --size does not take 99999999m' --size 99999999m
refuses "a negative size" 2 '^keel-perf: --size does not take -8' --size=-8
refuses "no window" 2 '^keel-perf: --window does not take 0' --window 0
refuses "no memory to rotate in" 2 '^keel-perf: --rotate does not take 0' --rotate 0
refuses "too much to compute" 2 '^keel-perf: --compute does not take 1000001' --compute 1000001
refuses "too many posted receives" 2 '^keel-perf: --posted does not take 1000001' --posted 1000001
refuses "any messages among others" 2 '^keel-perf: --any would take' --any --unexpected 1
refuses "no time" 2 '^keel-perf: --time does not take nan' --time nan
refuses "a word too many" 2 '^keel-perf: takes no arguments: sm' sm
refuses "no such option" 2 'unrecognized option' --fast
refuses "no such module" 1 'no component "nosuch"; there are self, sm' --rails tcp,nosuch --size 8
refuses "a module named twice" 1 'tcp stands there twice' --rails tcp,tcp --size 8
refuses "a rail that does not reach" 1 'keel-perf: no rail self to rank [01]; there is tcp$' \
    --rails tcp,self --size 8
refuses "no module's name" 2 '^keel-perf: --rails does not take tcp,,sm' --rails tcp,,sm
refuses "several modules for --btl" 2 '^keel-perf: --btl does not take tcp,sm' --btl tcp,sm
refuses "a picture in a folder that is not there" 1 \
    "cannot write $work/none/plot.svg: No such file" --size 8 --test am_lat --time 60 \
    --plot "$work/none/plot.svg"
is "wrong usage is said once" 1 \
    "$("$keelrun" -n 2 "$perf" --window 0 2>&1 | grep -c 'keel-perf: --window')"

run_limited 20 "$perf" --help
is "help without a launcher" 0 "$code"
like "help lists the tests" "$work/out" '^  atomic_lat '
finish
