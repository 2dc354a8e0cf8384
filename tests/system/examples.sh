#!/bin/bash
# The examples besides the main job: each checks what it does.
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"

readonly examples=$KEEL_TEST_BUILDDIR/examples

# job RANKS OPTIONS... : the options of keelrun for a job, alone for none.
sizes=(alone '-n 1' '-n 2' '-n 5' '--simulate 3x2')
ranks=(1 1 2 5 6)

for i in "${!sizes[@]}"; do
    how=${sizes[i]} n=${ranks[i]} launch=()
    if [ "$how" != alone ]; then
        # shellcheck disable=SC2206 # the words are meant to be split
        launch=("$keelrun" --oversubscribe $how)
    fi

    run_limited 20 "${launch[@]}" "$examples/rml_chat"
    is "rml_chat, $how: exit code" 0 "$code"
    is "rml_chat, $how: verdict" "rml_chat: $n ranks, $((n * n * 100)) lines, 0 errors" \
        "$(cat "$work/out")"
    is "rml_chat, $how: nothing on stderr" "" "$(cat "$work/err")"

    run_limited 20 "${launch[@]}" "$examples/rml_ring" 4
    is "rml_ring, $how: exit code" 0 "$code"
    like "rml_ring, $how: verdict" "$work/out" \
        ": 4 rounds over $n ranks on [0-9]+ nodes, the number is $((4 * n)), ok\$"
    is "rml_ring, $how: nothing on stderr" "" "$(cat "$work/err")"
done

# Who speaks to ranks that are not there yet is heard when they come, not when it asks again.
median_ms()
{
    local i times=()
    for i in 1 2 3 4 5 6 7; do
        run_limited 20 "$keelrun" --oversubscribe --simulate 3x2 "$@"
        times+=("$wall_ms")
    done
    printf '%s\n' "${times[@]}" | sort -n | sed -n 4p
}
plain_ms=$(median_ms true)
ring_ms=$(median_ms "$examples/rml_ring" 1)
ok "rml_ring begins at once: $ring_ms ms, a program that says nothing $plain_ms ms" \
    [ "$ring_ms" -lt $((plain_ms + 140 * slow)) ]

# The data plane's: over self, over sm, and over tcp between nodes.
for how in '-n 1' '-n 3' '--simulate 2x2'; do
    # shellcheck disable=SC2086 # the words are meant to be split
    for program in message put btl2_put counter; do
        run_limited 20 "$keelrun" --oversubscribe $how "$examples/$program"
        is "$program, $how: exit code" 0 "$code"
        is "$program, $how: nothing on stderr" '' "$(cat "$work/err")"
    done
    is "counter, $how: no two drew the same" "$(seq "$(wc -l <"$work/out")")" \
        "$(sed 's/.* //' "$work/out" | sort -n)"
done

# Messages by source and tag, over the same.
for how in '-n 1' '-n 3' '--simulate 2x2'; do
    ranks=$([ "$how" = '--simulate 2x2' ] && echo 4 || echo "${how#-n }")
    # shellcheck disable=SC2086 # the words are meant to be split
    run_limited 20 "$keelrun" --oversubscribe $how "$examples/pml_ring" 20 300000
    is "pml_ring, $how" "0 pml_ring: $ranks ranks, 20 rounds, the number is $((20 * ranks))" \
        "$code $(cat "$work/out" "$work/err")"
    # shellcheck disable=SC2086
    run_limited 20 "$keelrun" --oversubscribe $how "$examples/halo" 100 200
    is "halo, $how" "0 halo: $ranks ranks, $((100 * ranks)) cells, 200 steps, heat 1000.000000" \
        "$code $(cat "$work/out" "$work/err")"
done
# A rail that breaks with a message: tcp takes over.
for how in '-n 2' '-n 3'; do
    ranks=${how#-n }
    # shellcheck disable=SC2086
    run_limited 30 "$keelrun" --oversubscribe $how "$examples/failover"
    is "failover, $how" "0 $ranks" "$code $(grep -c \
        '^failover: rank [0-9]: 1000 of 1000 messages came in order and whole; rails changed meanwhile$' \
        "$work/out")"
done
# wrong_number PROGRAM NAME LEAST WORD...: the last word is none
wrong_number()
{
    local program=$1 name=$2 least=$3
    shift 3
    run_limited 10 "$keelrun" -n 1 "$examples/$program" "$@"
    is "$program $*: exit code" 2 "$code"
    like "$program $*: says why" "$work/err" "^$name is a number from $least on, not \"${*: -1}\"$"
}
wrong_number failover MESSAGES 1 some
wrong_number failover MESSAGES 1 10x
wrong_number pml_ring ROUNDS 1 0
wrong_number pml_ring ROUNDS 1 -3
wrong_number pml_ring BYTES 8 5 7
wrong_number pml_ring BYTES 8 5 99999999999999999999
wrong_number halo CELLS 1 none
wrong_number halo STEPS 1 10 0
for btl in self,sm self,tcp; do
    run_limited 40 "$keelrun" -n 2 --mca btl $btl "$KEEL_TEST_BUILDDIR/tests/system/tags"
    is "messages by tag that wait for each other, $btl" '0 ok' "$code $(cat "$work/out" "$work/err")"
done
run_limited 20 "$keelrun" -n 1 "$examples/handoff" --mib 2
like 'handoff --mib 2' "$work/out" '^handoff: 1 ranks, 2 transfers, 4194304 bytes, 0 errors$'
for n in '' 0 -1 1025 much; do
    run_limited 20 "$keelrun" -n 1 "$examples/handoff" --mib $n
    is "handoff --mib $n: wrong usage" 2 "$code"
done

# Links that break all the time, those of ranks to their daemons too.
for seed in 1 2; do
    run_limited 60 "$keelrun" --oversubscribe --simulate 3x2 --mca rml_reconnect_ms 20000 \
        --mca fault "oob.recv:error=ECONNRESET:p=0.01:seed=$seed:after=100" "$examples/rml_chat" 200
    is "rml_chat over links that break, seed $seed" '0 rml_chat: 6 ranks, 7200 lines, 0 errors' \
        "$code $(cat "$work/out")"
done

# A job, and the tool that asks its ranks (tests/system/tools.sh has the rest).
for how in '-n 3' '--simulate 3x2'; do
    # shellcheck disable=SC2086 # the words are meant to be split
    "$keelrun" --oversubscribe --report-uri "$work/uri" $how "$examples/rml_control" work 60 \
        >"$work/job" 2>&1 &
    job=$!
    started+=("$job")
    wait_for 20 test -s "$work/uri"
    run_limited 20 "$examples/rml_control" ask "file:$work/uri"
    is "rml_control, $how: exit code" 0 "$code"
    like "rml_control, $how: verdict" "$work/out" ': ([36]) of \1 ranks have answered$'
    run_limited 20 "$examples/rml_control" ask "file:$work/uri" stop
    wait "$job"
    is "rml_control, $how: the job was told to stop" '0 0' "$code $?"
    unset "started[-1]"
    is "rml_control, $how: the ranks say nothing" '' "$(cat "$work/job")"
done
run_limited 20 "$examples/rml_control" ask "file:$work/uri"
is 'rml_control without a job' 1 "$code"
run_limited 20 "$examples/rml_control" say
is 'rml_control, wrong usage' 2 "$code"

# No launcher at all: two processes and a pipe. The folder that they share is gone afterwards.
for rail in sm tcp; do
    KEEL_MCA_btl=self,$rail run_limited 20 "$examples/own_host" 'two words'
    is "own_host over $rail" "0 rank 1 heard over $rail: two words" "$code $(cat "$work/out")"
    is "own_host over $rail: nothing on stderr" '' "$(cat "$work/err")"
done
for rail in sm tcp; do
    KEEL_MCA_btl=self,$rail KEEL_MCA_fault=btl.any.send:kill run_limited 8 "$examples/own_host"
    is "own_host over $rail, whose sender is killed" 1 "$code"
    like "own_host over $rail: says so" "$work/err" '^own_host: the other process: .*has ended$'
done
KEEL_MCA_btl=self run_limited 20 "$examples/own_host"
is 'own_host without a way to the other process' 1 "$code"
like 'own_host without a way: says so' "$work/err" 'is reached by no component of the data plane$'

for program in rml_chat rml_ring; do
    for argument in 0 -1 many; do
        run_limited 20 "$keelrun" --oversubscribe -n 2 "$examples/$program" $argument
        is "$program $argument: wrong usage" 2 "$code"
        like "$program $argument: says how" "$work/err" "^usage: $program "
    done
done

# A rank that is lost in the middle: the others do not wait for ever, and the job fails.
run_limited 20 "$keelrun" --oversubscribe -n 3 sh -c \
    "[ \$KEEL_RANK != 2 ] || exit 3; exec '$examples/rml_ring'"
is 'rml_ring without a rank fails with its code' 3 "$code"
finish
