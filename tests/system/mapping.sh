#!/bin/bash
# Where ranks run, beside mpirun's own map of the same words; and what the kernel says of their
# processors.
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"
excuse_libpmix
forget_launchers

# The nodes with ranks and their ranks, "alpha 0 1; beta 2; ", of a map of each kind.
map_of_mpirun()
{
    awk '/^ Data for node: / { node = $4 }
        / Process rank: / { sub(/.* Process rank: /, ""); ranks[node] = ranks[node] " " $1
            if (!seen[node]++) order[++count] = node }
        END { for (i = 1; i <= count; i++) printf "%s%s; ", order[i], ranks[order[i]] }' "$work/out"
}

map_of_keelrun()
{
    awk '/^    [^ ]*:$/ { node = substr($1, 1, length($1) - 1) }
        /^ *rank [0-9]*: / { ranks[node] = ranks[node] " " ($2 + 0)
            if (!seen[node]++) order[++count] = node }
        END { for (i = 1; i <= count; i++) printf "%s%s; ", order[i], ranks[order[i]] }' "$work/out"
}

# Nodes that do not exist: nothing is launched. Left out is where the two differ: with nodes full on the
# way, mpirun gives by node what remains to the first with room; its --host without a number is one
# slot of a hostfile's node; its defaults bind.
beside_mpirun()
{
    local words=$1 expected
    # shellcheck disable=SC2086 # words
    run_limited 20 mpirun.openmpi --bind-to none --do-not-launch --display-map $words
    expected=$(map_of_mpirun)
    ok "mpirun has a map, $words" [ -n "$expected" ]
    # shellcheck disable=SC2086
    run_limited 20 "$keelrun" --bind-to none --do-not-launch --display-map $words
    is "the map is mpirun's, $words" "0 $expected" "$code $(map_of_keelrun)"
}

# --- files that are commands' output ---

# maps NAME EXPECTED ARGUMENT...: the map of a dry run.
maps()
{
    local name=$1 expected=$2
    shift 2
    run_limited 20 "$keelrun" --dry-run "$@"
    is "$name" "0 $expected" "$code $(map_of_keelrun)"
}

maps "a hostfile" "alpha 0 1; beta 2; " --hostfile <(echo alpha slots=2 && echo beta slots=2) -n 3 true
maps "two hostfiles, each line a rank" "beta 0; alpha 1 2; " --hostfile <(echo beta slots=1) \
    --hostfile <(printf 'alpha slots=1\nalpha slots=1\n') --map-by seq true
maps "a sequence" "alpha 1; beta 0; " --hostfile <(printf 'alpha slots=1\nbeta slots=1\n') \
    --map-by seq:FILE=<(printf 'beta\nalpha\n') true
maps "a rankfile" "alpha 1; beta 0; " --hostfile <(printf 'alpha slots=1\nbeta slots=1\n') \
    --rankfile <(printf 'rank 0=beta\nrank 1=alpha\n') true
maps "programs" "alpha 0 1; beta 2; " --app <(printf -- '-n 2 --host alpha:2 true\n-n 1 --host beta true\n')

# --- a node with more processors than a cpu_set_t has ---

# places PATTERN NAME ARGUMENT...: a line of what a dry run on it shows.
places()
{
    local pattern=$1 name=$2
    shift 2
    run_limited 60 "$keelrun" --dry-run --display bind --simulate 1x4096 \
        --simulate-topo 'package:8 core:256 pu:2' "$@" true
    like "4096 processors: $name" "$work/out" "$pattern"
}

places '^rank 4095 on node0: bound to processors 4095 ' "each has a rank" -n 4096 --use-hwthread-cpus \
    --map-by hwthread --bind-to hwthread
places '^rank 1 on node0: bound to processors 3001 ' "--cpu-set" -n 2 --use-hwthread-cpus --map-by hwthread \
    --bind-to hwthread --cpu-set 3000-3001
places '^rank 0 on node0: bound to processors 3996-3997 ' "a rankfile" --rankfile <(echo 'rank 0=node0 slot=7:206')
places '^rank 1 on node0: bound to processors 2048-4095 ' "PE=n" -n 2 --map-by slot:PE=1024

# A child reads the topology, whatever the parent of keelrun has ignored.
run_limited 60 env --ignore-signal=CHLD "$keelrun" --dry-run --simulate 1x4 --simulate-topo 'core:4 pu:1' true
is "SIGCHLD is ignored: exit code" 0 "$code"
is "SIGCHLD is ignored: no word" "" "$(cat "$work/err")"

# --- beside mpirun ---

cd "$work" || exit 1
printf 'alpha slots=4\nbeta slots=2\ngamma slots=3\n' >three
printf 'alpha slots=1\nbeta slots=8\ngamma slots=1 max_slots=1\ndelta slots=2\n' >four
printf 'gamma\nalpha\nbeta\nalpha\n' >row
if [ -n "$(type -P mpirun.openmpi)" ]; then
    if [ "$(id -u)" = 0 ]; then
        export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    fi
    for words in "-n 1" "-n 4" "-n 5" "-n 7" "-n 9" "" "--map-by slot -n 6" "--byslot -n 8" \
        "--rank-by node -n 7" "--host gamma:3,alpha:2" "-n 3 --host beta:1,gamma:3" \
        "--nooversubscribe -n 8" "--map-by node" "--map-by node -n 4" "--bynode -n 7" \
        "--map-by node --rank-by slot -n 7" "-N 1" "-N 2" "-N 2 -n 3" "--npernode 2 -n 5" "--pernode" \
        "--map-by ppr:1:node" "--map-by ppr:2:node"; do
        beside_mpirun "--hostfile three $words true"
    done
    for words in "-n 1" "-n 5" "-n 12" "" "--map-by node -n 9" "--map-by node" "-N 1"; do
        beside_mpirun "--hostfile four $words true"
    done
    beside_mpirun "--hostfile three -n 2 true : -n 3 true : -n 1 true"
    beside_mpirun "--hostfile three -n 2 --host alpha:2 true : -n 3 --host gamma:3 true"
    beside_mpirun "--host alpha:2,beta:3 true"
    beside_mpirun "--host alpha,beta,alpha true"
else
    skip "the same map as mpirun" "Open MPI is not installed"
fi

# --- what the kernel says ---

run_limited 20 "$keelrun" -n 1 --oversubscribe --dry-run --display topo true
cp "$work/out" "$work/topology"

# core K, hwthread K: the kernel's numbers of what the topology shows.
core()
{
    sed -n "s/.* core $1 hwthread [0-9]*: processor //p" "$work/topology" | sort -n | paste -sd ' '
}
hwthread()
{
    sed -n "s/.* hwthread $1: processor //p" "$work/topology"
}

# The ranks' processors, a line each, as /proc tells them.
# shellcheck disable=SC2016 # for the ranks
readonly show='echo "$KEEL_RANK $(sed -n "s/^Cpus_allowed_list:\t*//p" /proc/self/status)"'
# The last job's exit code, and its ranks' processors.
bound()
{
    echo "$code"
    sort -n "$work/out" | while read -r rank cpus; do
        echo "$rank: $(expand "$cpus")"
    done
}

# binds "EXPECTED" WORDS...: EXPECTED has a line for each rank.
binds()
{
    local expected=$1
    shift
    run_limited 20 "$keelrun" "$@" sh -c "$show"
    is "processors of $*" "0
$expected" "$(bound)"
}

all=$(expand "$(sed -n 's/^Cpus_allowed_list:\t*//p' /proc/self/status)")
one=$(core 0) two=$(core 1)
both=$(echo "$one" "$two" | tr ' ' '\n' | sort -n | paste -sd ' ')

two_cores()
{
    binds "0: $one
1: $two" --host localhost:2 --bind-to core
    binds "0: $one
1: $one
2: $two
3: $two" --host localhost:4 --map-by ppr:2:core --bind-to core:overload-allowed
    binds "0: $both" --host localhost:1 --map-by slot:PE=2
    binds "0: $both" -n 1 --host localhost:2 --cpus-per-proc 2 --bind-to core
    binds "0: $two" --host localhost:1 --cpu-set 1
    binds "0: $two" --host localhost:1 --cpu-set 1 --bind-to core
    binds "0: $both
1: $both" --host localhost:2 --cpu-set 0-1
    binds "0: $(hwthread 0)
1: $(hwthread 1)" --host localhost:2 --bind-to hwthread
    binds "0: $all
1: $all" --host localhost:2 --bind-to none
    binds "0: $all
1: $all" --host localhost:2 --map-by core
    binds "0: $two
1: $one" --host localhost:2 --rankfile "$work/ranks"
    binds "0: $both
1: $all" --host localhost:2 --rankfile "$work/wide"
    # with nobody's slots, one rank more than cores
    cores=$(grep -o ' core [0-9]*' "$work/topology" | sort -u | wc -l)
    run_limited 20 "$keelrun" -n $((cores + 1)) --bind-to core sh -c "$show"
    is "one rank more than cores is not bound" "0 $((cores + 1)) $all" \
        "$(bound | awk 'NR == 1 { code = $1 }
            NR > 1 { sub(/^[0-9]*: /, ""); if (!seen[$0]++) what = what " " $0; count++ }
            END { print code, count what }')"
    like "and keelrun says so" "$work/err" \
        "^keelrun: ranks are not bound: node [^ ]* has $((cores + 1)) of them for $cores processors?\$"
    binds "0: $one
1: $one" -n 2 --host localhost:2 --cpu-set 0 --bind-to core:overload-allowed
    run_limited 20 "$keelrun" -n 2 --host localhost:2 --cpu-set 0 --bind-to core true
    is "two ranks on a core are refused: exit code" 125 "$code"
    like "two ranks on a core are refused" "$work/err" "--bind-to core:overload-allowed allows it\$"
    # every node of a simulation is this machine
    binds "0: $one
1: $one
2: $two
3: $two" --simulate 2x2 --map-by node --bind-to core
    # a mask around keelrun is one for all
    run_limited 20 taskset -c "${two%% *}" "$keelrun" -n 1 --bind-to core sh -c "$show"
    is "nothing is bound outside of the mask" "0
0: ${two%% *}" "$(bound)"
}

printf 'rank 0=localhost slot=1\nrank 1=localhost slot=0\n' >"$work/ranks"
printf 'rank 0=localhost slot=0-1\nrank 1=localhost\n' >"$work/wide"
if [ -n "$one" ] && [ -n "$two" ] &&
    [ "$(sed -n 's/.*: processor //p' "$work/topology" | sort -n | paste -sd ' ')" = "$all" ]; then
    two_cores
else
    skip "real bindings" "this machine does not have two cores that may be used, or has others too"
fi

ok "no session folder is left" wait_for 4 not test -e "$sessions"
finish
