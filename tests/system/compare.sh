#!/usr/bin/env bash
# bench/compare: peers that are not installed are named, a busy machine meets no gate, wrong usage;
# and the picture of what it prints.
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"
compare=$KEEL_TEST_BUILDDIR/bench/compare

for _ in $(seq "$(getconf _NPROCESSORS_ONLN)"); do
    (while :; do :; done) &
    started+=($!)
done
run_limited 30 env PATH="$work" "$compare" --quick --only "shared memory, half trip"
is "without peers: no gate is missed" 0 "$code"
for peer in "UCX: there is no ucx_perftest" "MPI: there is no mpirun.openmpi" \
    "fi_pingpong: there is no fi_pingpong"; do
    like "a peer that is not there is named" "$work/out" "^skipped +$peer$"
done
like "Keel is measured all the same" "$work/out" '^ +8 +[0-9.]+ +- +- +- +[0-9.]+$'
like "nothing to compare it with" "$work/out" '^  gate  8 B: no figure of a peer$'
is "only what was asked for, quickly" 1 "$(grep -cE '^ +[0-9]' "$work/out")"
like "a busy machine: says so" "$work/out" '^  goal  8 B, .* x raw cache line, at most 1.25: busy$'
is "a busy machine: no line says met" 0 "$(grep -c ': met$' "$work/out")"
kill "${started[@]}"
wait "${started[@]}" 2>/dev/null
started=()

for options in "--rounds 0" "--time 0" "--time x" "--minutes -1" "--limit 0" "--nosuch" "word"; do
    # shellcheck disable=SC2086 # two words
    run_limited 5 "$compare" $options
    is "$options: exit code" 2 "$code"
    like "$options: says why" "$work/err" "[ ']${options%% *}( |'|\$)"
done

cat >"$work/table" <<'END'
machine     nobody's

shared memory, half trip, us
      bytes   Keel sm  UCX <posix>
          8    0.0792       0.0870
       1024     1.500            -
  gate  8 B, Keel sm: 0.0792 us, 0.91 x UCX <posix>, at most 1.00: met

sm, an empty pass of progress, ns
      bytes    1 peer
          8     14.67
END
if python3 -c 'import math' 2>"$work/python"; then
    run_limited 10 python3 "$KEEL_TEST_SRCDIR/bench/chart.py" "$work/table" "$work/plot.svg"
    is "a picture of the table" "0 2" "$code $(grep -c '<polyline' "$work/plot.svg")"
    like "a picture: names are escaped" "$work/plot.svg" '>UCX &lt;posix&gt;<'
else
    skip "a picture of the table" "$(tail -n 1 "$work/python")"
fi
finish
