#!/bin/bash
# The PMIx server itself, without an MPI: tools that look at a job, and clients that use what Open
# MPI does not.
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"

if [ ! -e "$KEEL_TEST_BUILDDIR/lib/keel-pmix.la" ]; then
    skip "PMIx" "there is no libpmix or hwloc"
    finish
fi
forget_launchers
excuse_libpmix
host=$(hostname)
host=${host%%.*}

clients=$KEEL_TEST_BUILDDIR/tests/pmix

# --- clients ---

# passes LAYOUT RANKS PROGRAM [ARGUMENT...]
passes()
{
    local layout=$1 ranks=$2 program=$3
    shift 3
    # shellcheck disable=SC2086 # words
    run_limited 40 "$keelrun" $layout "$clients/$program" "$@"
    is "$program, keelrun $layout" "0 $program: $ranks ranks passed" \
        "$code $(grep "^$program: " "$work/out")"
}

# ends HOW CODE: job control ends it.
ends()
{
    local how=$1 expected=$2 layout=$3
    # shellcheck disable=SC2086 # words
    run_limited 20 "$keelrun" $layout "$clients/control" "$how"
    is "control $how, keelrun $layout" "$expected" "$code"
    ok "control $how, keelrun $layout: soon" [ "$wall_ms" -lt $((6000 * slow)) ]
}

for layout in "1 1 -n 1" "4 4 -n 4 --oversubscribe" "6 2 --simulate 3x2"; do
    read -r ranks per_node layout <<<"$layout"
    passes "$layout" "$ranks" values "$ranks" "$per_node"
    for program in fence names connect group events query control; do
        passes "$layout" "$ranks" "$program"
    done
    last=$((ranks - 1))
    # shellcheck disable=SC2086 # words
    run_limited 20 "$keelrun" $layout --tag-output "$clients/log"
    is "log, keelrun $layout: exit code" 0 "$code"
    like "log, keelrun $layout: standard output" "$work/out" \
        "^\[[0-9a-f]+,$last\]<stdout>: rank $last logs to stdout$"
    like "log, keelrun $layout: standard error" "$work/err" \
        "^\[[0-9a-f]+,$last\]<stderr>: rank $last logs to stderr$"
    # shellcheck disable=SC2086 # words
    run_limited 40 "$keelrun" $layout "$clients/spawn" "$clients/spawn"
    is "spawn, keelrun $layout" "0 child: 2 ranks passed spawn: $ranks ranks passed" \
        "$code $(sort "$work/out" | tr '\n' ' ' | sed 's/ $//')"
    ends terminate 143 "$layout"
    ends kill 137 "$layout"
done
run_limited 40 "$keelrun" --simulate 3x1 --mca routed_radix 1 -n 1 "$clients/spawn" "$clients/spawn"
is "spawn, on nodes without a daemon" "0 child: 2 ranks passed spawn: 1 ranks passed" \
    "$code $(sort "$work/out" | tr '\n' ' ' | sed 's/ $//')"
# bound_by OPTION... -- COUNT [ATTRIBUTE=VALUE...]: for each rank that is spawned on node1, how many processors
# it may use, and whether its cpuset says the same.
bound_by()
{
    local options=()
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    run_limited 30 "$keelrun" --simulate 2x2 -n 1 "${options[@]}" \
        "$clients/spawn_where" "$2" "$KEEL_TEST_BUILDDIR/tests/system/places" pmix.host=node1 "${@:3}"
    echo "$code" "$(sed -n 's/^rank=.* cpuset=\([^ ]*\) .* affinity=\([^ ]*\)$/\1 \2/p' "$work/out" | sort |
        while read -r cpuset affinity; do
            [ "$cpuset" = none ] || [ "$(expand "${cpuset#hwloc:}" | tr ' ' ,)" != "$affinity" ] || cpuset=same
            echo "$(echo "$affinity" | tr , '\n' | wc -l) $cpuset"
        done | xargs)"
}
processors=$(nproc)
if [ "$processors" -ge 2 ]; then
    is "spawned by a job that is not bound: not bound" "0 $processors none $processors none" "$(bound_by -- 2)"
    is "spawned by a job that is not bound, to cores" "0 1 same 1 same" "$(bound_by -- 2 pmix.bindto=core)"
    ok "to cores: each has its own" [ "$(grep -c '^rank=.* affinity=' "$work/out")" = \
        "$(sed -n 's/^rank=.* affinity=//p' "$work/out" | sort -u | wc -l)" ]
    is "spawned with processors of their own" "0 1 same 1 same" "$(bound_by -- 2 pmix.mapby=PE=1)"
    is "spawned with two processors" "0 2 same" "$(bound_by -- 1 pmix.mapby=slot:PE=2)"
    is "spawned with two processors, by their number" "0 2 same" "$(bound_by -- 1 pmix.cpuperproc=2)"
    is "spawned with two processors, by a job that is not bound, as it says" "0 2 same" \
        "$(bound_by --bind-to none -- 1 pmix.mapby=slot:PE=2)"
    is "spawned by a job that is bound: bound" "0 1 same 1 same" "$(bound_by --bind-to core -- 2)"
    is "spawned by a job that is bound, not bound" "0 $processors none $processors none" \
        "$(bound_by --bind-to core -- 2 pmix.bindto=none)"
else
    skip "spawned ranks are bound" "one processor"
fi
# spawned_one ATTRIBUTE=VALUE: how that ends, with the reason where it is refused
spawned_one()
{
    run_limited 30 "$keelrun" --simulate 2x2 -n 1 "$clients/spawn_where" 3 "$KEEL_TEST_BUILDDIR/tests/system/places" "$@"
    grep -q "^PMIx_Spawn: SUCCESS" "$work/out" && echo served || grep -o "refused: .*" "$work/err"
}
is "spawned beyond the slots" served "$(spawned_one pmix.host=node1)"
is "spawned, allowed beyond the slots" served "$(spawned_one pmix.host=node1 pmix.noover=false)"
for no in pmix.noover=no job:pmix.noover=False; do # as PMIx writes booleans
    is "spawned, allowed beyond the slots: $no" served "$(spawned_one pmix.host=node1 $no)"
done
for yes in pmix.noover=true pmix.noover pmix.noover=null job:pmix.noover=yes; do
    is "spawned beyond the slots, not allowed: $yes" "refused: there is room for 2 of 3 ranks" \
        "$(spawned_one pmix.host=node1 $yes)"
done
is "spawned beyond the slots, not allowed by the program itself" served \
    "$(spawned_one pmix.host=node1 job:pmix.noover pmix.noover=false)"
is "spawned where no rank was" "served node1 node1 node1" \
    "$(spawned_one pmix.host=+e) $(sed -n 's/.* host=\([^ ]*\) .*/\1/p' "$work/out" | xargs)"
is "spawned with a map and bindings that are shown" "served" \
    "$(spawned_one pmix.bindto=none job:pmix.dispmap pmix.repbind=true)"
is "the map of what was spawned" "Map: 3 ranks on 2 nodes node0: rank 1: local rank 1, program 1, " \
    "$(sed -n '/^Map/,/rank 1/p' "$work/out" | xargs | sed 's/[^ ]*places$//')"
is "the bindings of what was spawned" "rank 1 on node0: not bound rank 2 on node1: not bound rank 3 on node1: not bound" \
    "$(sed 's/^keelrun: //' "$work/err" | xargs)"
is "spawned with the allocation that is shown" "served Nodes: 2 node0: 2 slots, given node1: 2 slots, given" \
    "$(spawned_one pmix.dispalloc) $(grep -A2 '^Nodes' "$work/out" | xargs)"
like "spawned with topologies that are shown" <(spawned_one job:pmix.disptopo=node0) \
    '^refused: display-topology=node0: this info key is not supported; '
if "$keelrun" --dry-run --simulate 1x1 --simulate-topo "core:1 pu:1" true >/dev/null 2>&1; then
    run_limited 30 "$keelrun" --simulate 1x9 --simulate-topo "package:1 core:9 pu:1" --bind-to core -n 1 \
        "$clients/spawn_where" 8 "$KEEL_TEST_BUILDDIR/tests/system/places" pmix.repbind
    is "spawned on simulated processors: shown, and not bound to them" "0 8 none" \
        "$code $(grep -c ": bound to processors [1-8] " "$work/err") $(sed -n 's/.* cpuset=\([^ ]*\) .*/\1/p' "$work/out" | sort -u)"
else
    skip "spawned on simulated processors" "no hwloc"
fi
# where a program is looked for that is none of PATH's
in_folder()
{
    run_limited 30 "$keelrun" --simulate 2x2 -n 1 "$clients/spawn_where" 1 ./places "$@"
    grep -o '^PMIx_Spawn: .*' "$work/out"
}
is "spawned in a folder of the job's info" "PMIx_Spawn: SUCCESS" \
    "$(in_folder job:pmix.wdir="$KEEL_TEST_BUILDDIR/tests/system")"
is "spawned in the program's own folder" "PMIx_Spawn: SUCCESS" \
    "$(in_folder job:pmix.wdir=/ pmix.wdir="$KEEL_TEST_BUILDDIR/tests/system")"
run_limited 20 "$keelrun" -n 1 "$clients/spawn_where" 1 "$KEEL_TEST_BUILDDIR/tests/system/places" pmix.nolocal=true
like "spawned without keelrun's node, where there is no other" "$work/err" "there is no node for .* without keelrun's own"
like "an attribute that is not served" <(spawned_one pmix.cpulist=0-1) "cpu-list=0-1: this info key is not supported"
run_limited 20 "$keelrun" --simulate 3x2 "$clients/died"
is "a rank dies: exit code" 137 "$code"
is "a rank dies: all others hear of it" "5 PROC-ABORTED of rank 5" \
    "$(sort "$work/out" | uniq -c | sed 's/^ *//')"

# a rank that fails while servers start must not be their end
for _ in 1 2 3 4; do
    run_limited 20 "$keelrun" --simulate 2x2 bash -c \
        "[ \$PMIX_RANK = 0 ] && exit 3; exec $clients/fence"
    is "a rank fails at the start: exit code" 3 "$code"
    unlike "and no server says anything" "$work/err" "ptl|terminated|PMIX ERROR"
done

# libpmix itself may stand still: the job can be ended all the same
run_limited 20 "$keelrun" -n 3 --oversubscribe --timeout 3 "$clients/standstill"
like "libpmix stands still: the time limit holds" <(echo "$code") "^(124|0)$"
ok "libpmix stands still: soon" [ "$wall_ms" -lt $((10000 * slow)) ]

# ranks that die at once while some wait for one of them: libpmix finds all their connections ended
# when keelrun goes on
are_gone()
{
    local one
    for one in "$@"; do
        is_gone "$one" || return 1
    done
}
start "$keelrun" -n 6 --oversubscribe "$clients/huddle"
ok "ranks wait for one of them" wait_for 20 has_lines "$work/out" 6
mapfile -t waiting < <(sed 's/^waits //' "$work/out")
kill -STOP "$pid"
kill -KILL "${waiting[@]}"
ok "all die" wait_for 10 are_gone "${waiting[@]}"
kill -CONT "$pid"
await 10
is "all die at once: exit code" 137 "$code"
like "all die at once: the reason" "$work/err" "^keelrun: rank [0-5] .* was killed by signal 9"

# the other daemons have messages for one that is lost: events that its ranks have ended
start "$keelrun" --simulate 4x2 "$clients/huddle"
ok "ranks wait on four nodes" wait_for 20 has_lines "$work/out" 8
kill -KILL "$(descendants "$pid" | awk '$2 == "keeld" { print $1; exit }')"
await 20
is "a daemon is lost: exit code" 125 "$code"
like "a daemon is lost: the reason" "$work/err" "^keelrun: lost the daemon of node node[0-3]: "
unlike "and no other daemon complains" "$work/err" "cannot send"

# --- tools ---

exists()
{
    compgen -G "$1" >"$work/glob"
}

start "$keelrun" --simulate 3x2 sleep 60
ok "a job to look at" wait_for 10 exists "$sessions/*/0/pmix.$host.tool"
file=$(head -n 1 "$work/glob")
job=${file#"$sessions"/} job=${job%%/*}
{
    read -r uri
    read -r _
    read -r server
} <"$file"
for how in "uri $uri" "pid $server" "nspace keel-$job-server"; do
    # shellcheck disable=SC2086 # words
    timeout 20 "$clients/tool" $how looks "keel-$job" 6 >"$work/tool" 2>&1
    is "a tool, ${how%% *}" "0 tool: passed" "$? $(tail -n 1 "$work/tool")"
done
timeout 20 "$clients/tool" pid "$server" names itself >"$work/tool" 2>&1
is "a tool with a name of its own is refused" 0 $?
like "and logged" "$work/err" "refused a connection .*: it is neither a client nor a tool"
"$clients/tool" pid "$server" stays >"$work/stays" 2>&1 &
stopped=$!
started+=("$stopped")
ok "a tool that stops" wait_for 10 grep -q connected "$work/stays"
timeout 20 "$clients/tool" pid "$server" kills "keel-$job" >"$work/tool" 2>&1
is "a tool ends the job" "0 tool: passed" "$? $(tail -n 1 "$work/tool")"
await 10
is "the job ends, whatever the stopped tool does" 143 "$code"
kill -KILL "$stopped"

if command -v pps >"$work/which"; then
    for layout in "-n 2 --oversubscribe" "--simulate 3x2"; do
        # shellcheck disable=SC2086 # words
        start "$keelrun" $layout sleep 60
        ok "a file for tools, keelrun $layout" wait_for 10 exists "$sessions/*/0/pmix.$host.tool"
        file=$(head -n 1 "$work/glob")
        job=${file#"$sessions"/} job=${job%%/*}
        is "only this user can read it, keelrun $layout" 600 "$(stat -c %a "$file")"
        server=$pid
        timeout 20 pps >"$work/pps" 2>&1
        is "pps, keelrun $layout: exit code" 0 $?
        like "pps, keelrun $layout: the job" "$work/pps" "^Active nspaces: keel-$job$"
        like "its server and port" "$file" "^keel-$job-server\.0;tcp4://127\.0\.0\.1:[0-9]+$"
        timeout 20 pevent --event -147 --range 4 >"$work/pps" 2>&1
        is "pevent, keelrun $layout: exit code" 0 $?
        timeout 20 pattrs --host all >"$work/pps" 2>&1
        like "pattrs, keelrun $layout: what would end libpmix is refused" "$work/pps" NOT-SUPPORTED
        timeout 20 pps >"$work/pps" 2>&1
        is "and keelrun is alive" 0 $?
        kill -TERM "$server"
        await 10
        is "it ends as ever, keelrun $layout" 143 "$code"
        ok "no file is left, keelrun $layout" not test -e "$sessions/$job"
    done

    # two jobs: a tool has to be told which
    for i in 1 2; do
        start "$keelrun" -n 1 --oversubscribe sleep 60
        jobs[i]=$pid
    done
    two_jobs()
    {
        [ "$(find "$sessions" -name "pmix.$host.tool" 2>"$work/find" | wc -l)" = 2 ]
    }
    ok "two jobs" wait_for 10 two_jobs
    timeout 20 pps >"$work/pps" 2>&1
    ok "pps does not guess" [ $? != 0 ]
    for folder in "$sessions"/*; do
        PMIX_SYSTEM_TMPDIR=$folder timeout 20 pps >"$work/pps" 2>&1
        like "pps is told the job" "$work/pps" "^Active nspaces: keel-${folder##*/}$"
    done

    # kill -9 of keelrun: its shepherd removes the file
    kill -KILL "${jobs[@]}"
    ok "after kill -9 no file is left" wait_for 4 not exists "$sessions/*/*/pmix*"

    run_limited 20 "$keelrun" -n 2 --oversubscribe pps
    is "pps as ranks: exit code" 0 "$code"
    is "pps as ranks: both" 2 "$(grep -c '^Active nspaces: keel-' "$work/err")"
    PMIX_HOSTNAME=node1 run_limited 20 "$keelrun" --simulate 2x1 bash -c \
        "[ \$PMIX_RANK = 0 ] || exec sleep 2
        until [ -e $sessions/*/*/pmix.node1.tool ]; do sleep 0.05; done; exec env -u PMIX_RANK -u PMIX_NAMESPACE \
        -u PMIX_SERVER_URI41 -u PMIX_SERVER_URI4 -u PMIX_SERVER_URI3 -u PMIX_SERVER_URI2 \
        -u PMIX_SERVER_URI21 PMIX_HOSTNAME=node1 PMIX_SYSTEM_TMPDIR=$sessions pps"
    is "another node's daemon answers too" "0 1" \
        "$code $(grep -c '^Active nspaces: keel-' "$work/err")"
else
    skip "pps, pevent and pattrs" "there is no libpmix-bin"
fi

ok "no session folder is left" wait_for 4 not test -e "$sessions"
finish
