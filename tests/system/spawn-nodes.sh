#!/bin/bash
# Ranks that are spawned on nodes on which nothing of the job runs: daemons are started there. The
# clients are bash scripts that speak PMI-1; Open MPI's and PMIx's are in openmpi.sh and pmix.sh.
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"
. "$KEEL_TEST_SRCDIR/tests/lib/pmi1.sh"
forget_launchers
export TEST_WORK=$work
cd "$work" || exit 1

# A child says where it is and, when all have put something, the sum of it.
cat >"$work/child" <<'END'
#!/bin/bash
. "$TEST_WORK/client"
begin; kvs
ask "cmd=put kvsname=$kvs key=k$PMI_RANK value=$((PMI_RANK + 1))"
barrier
for ((i = 0; i < PMI_SIZE; i++)); do
    get k$i
    sum=$((sum + answer))
done
echo "child $KEEL_NODE $sum"
barrier; end
END
chmod +x "$work/child"

# The agent: what host_NAME does comes first.
cat >"$work/agent" <<'END'
#!/bin/bash
host=$1
shift
[ ! -f "$TEST_WORK/host_$host" ] || . "$TEST_WORK/host_$host"
exec "$@"
END
chmod +x "$work/agent"
printf 'alpha slots=1\nbeta slots=1\ngamma slots=1\n' >"$work/three"

by_agent=(--mca plm_rsh_agent "$work/agent" --hostfile "$work/three" -n 1)

# Where the children were: "beta:3 gamma:3", or how many of them on how many nodes.
children()
{
    sed -n 's/^child //p' out | sort | tr ' ' : | xargs
}
count()
{
    echo "$(grep -c ^child out) on $(sed -n 's/^child //p' out | sort -u | wc -l), $(grep -c "$1" out)"
}
# spawn_on COUNT [HOST]: and says how that went
on='spawn_on() { program $1 $TEST_WORK/child ${2:+"$(info host $2)"}; spawn; echo "${answer%% errcodes*}"; }'
done_well="cmd=spawn_result rc=0"
refused="cmd=spawn_result rc=-1 msg=spawn_failed"

# --- they come ---

parent "${by_agent[@]}" -- "$on; spawn_on 2"
is "two more nodes, by agents" "0 $done_well beta:3 gamma:3" "$code $(grep ^cmd out) $(children)"
is "two more nodes: nothing on standard error" "" "$(cat err)"
parent "${by_agent[@]}" -- "$on; spawn_on 1 gamma; spawn_on 3"
is "one more node, then another" "0 $done_well $done_well alpha:6 beta:6 gamma:1 gamma:6" \
    "$code $(grep ^cmd out | xargs) $(children)"
for radix in 64 2 1; do
    parent --simulate 20x2 --mca routed_radix $radix -n 1 -- "$on; spawn_on 40"
    is "40 ranks on 20 nodes from one, radix $radix" "0 $done_well 40 on 20, 40" \
        "$code $(grep ^cmd out) $(count ' 820$')"
done
parent --simulate 9x1 --mca routed_radix 2 -n 2 -- "$on; spawn_on 2; spawn_on 3; spawn_on 4"
is "a tree that grows three times" "0 9" "$code $(grep -c ^child out)"
is "a tree that grows three times: all spawned" 3 "$(grep -c "^$done_well\$" out)"
parent --mca plm_tree 3 --mca plm_rsh_agent "$work/agent" --host 'n[1-10]:1' -n 1 -- "$on; spawn_on 9"
is "agents that daemons start" "0 $done_well 9 on 9, 9" "$code $(grep ^cmd out) $(count ' 45$')"

# --- processors are asked for ---

# mapped COUNT MAP_BY [HOST]
mapped='mapped() { program $1 $TEST_WORK/child "$(info map_by $2 ${3:+host $3})"; spawn; echo "${answer%% errcodes*}"; }'
parent "${by_agent[@]}" -- "$mapped; mapped 3 ppr:1:package gamma,alpha,beta; mapped 2 core gamma:1,alpha:1"
is "by objects of nodes with and without daemons" \
    "0 $done_well $done_well alpha:3 alpha:6 beta:6 gamma:3 gamma:6" "$code $(grep ^cmd out | xargs) $(children)"
is "by objects: nothing on standard error" "" "$(cat err)"
# asked "HOST..." COUNT MAP_BY: which nodes get a daemon for it
asked()
{
    rm -f called
    parent "${by_agent[@]}" -- "$mapped; mapped $2 $3"
    is "$2 ranks by $3: the nodes that get a daemon" "0 $done_well $1" "$code $(grep ^cmd out) $(sort called | xargs)"
}
echo 'echo $host >>$TEST_WORK/called' >host_beta
cp host_beta host_gamma
asked beta 1 core
asked "beta gamma" 2 core:SPAN
rm host_beta host_gamma
for radix in 64 1; do
    parent --simulate 5x1 --mca routed_radix $radix -n 2 -- "$mapped; mapped 5 ppr:1:package; mapped 1 core:PE=1"
    is "by objects, radix $radix" "0 $done_well $done_well 6 on 6, 5" "$code $(grep ^cmd out | xargs) $(count ' 15$')"
done

# --- they do not ---

echo 'echo "no way to $host" >&2; exit 255' >host_gamma
parent "${by_agent[@]}" -- "$on; spawn_on 2; spawn_on 1 beta"
is "an agent that fails: the job goes on, without that node" "0 $refused $done_well beta:1" \
    "$code $(grep ^cmd out | xargs) $(children)"
like "an agent that fails: the reason" err \
    '^keelrun: rank 0: MPI_Comm_spawn is refused: node gamma: no way to gamma \(the agent ended with code 255'
echo 'rm $TEST_WORK/host_gamma; exit 255' >host_gamma
parent "${by_agent[@]}" -- "$on; spawn_on 1 gamma; spawn_on 1 gamma"
is "a node may be tried again" "0 $refused $done_well gamma:1" "$code $(grep ^cmd out | xargs) $(children)"
echo 'exec sleep 600' >host_gamma
parent "${by_agent[@]}" --mca plm_start_timeout_s 2 -- "$on; spawn_on 1 gamma; spawn_on 1 beta"
is "a daemon that never comes" "0 $refused $done_well beta:1" "$code $(grep ^cmd out | xargs) $(children)"
like "a daemon that never comes: the reason" err \
    '^keelrun: rank 0: MPI_Comm_spawn is refused: node gamma: its daemon has not called home within 2 s'
echo 'export KEEL_MCA_fault=launcher.launch:kill' >host_gamma
for radix in 64 1; do
    parent "${by_agent[@]}" --mca routed_radix $radix --mca plm_start_timeout_s 600 -- "$on; spawn_on 2; spawn_on 1 beta"
    is "a daemon that is killed while it joins, radix $radix" "0 $refused $done_well beta:1" \
        "$code $(grep ^cmd out | xargs) $(children)"
    like "a daemon that is killed while it joins, radix $radix: the reason names it" err \
        '^keelrun: rank 0: MPI_Comm_spawn is refused: node gamma: '
done
# The spawn was placed there; the next one gets a new daemon for that node.
echo 'rm $TEST_WORK/host_gamma; export KEEL_MCA_fault=launcher.check:kill' >host_gamma
parent "${by_agent[@]}" -- "$on; spawn_on 2; spawn_on 1 gamma"
is "a daemon that is killed while the spawn is checked" "0 $refused $done_well gamma:1" \
    "$code $(grep ^cmd out | xargs) $(children)"
like "a daemon that is killed while the spawn is checked: the reason" err \
    '^keelrun: rank 0: MPI_Comm_spawn is refused: node gamma: its daemon is lost'
echo 'export KEEL_MCA_fault=launcher.check:error=EACCES' >host_gamma
parent "${by_agent[@]}" -- "$on; spawn_on 2; spawn_on 1 beta"
is "a folder that cannot be entered there" "0 $refused $done_well beta:1" \
    "$code $(grep ^cmd out | xargs) $(children)"
like "a folder that cannot be entered there: the reason" err \
    '^keelrun: rank 0: MPI_Comm_spawn is refused: cannot enter the folder .* on node gamma: Permission denied'
# unexamined NODE FAULT WHY: NODE's daemon has this fault; the others are examined later
unexamined()
{
    rm -f host_*
    echo "export KEEL_MCA_fault=launcher.topology:$2" >"host_$1"
    parent "${by_agent[@]}" --mca plm_start_timeout_s 5 -- "$on; $mapped; mapped 2 core $1,beta; mapped 1 core beta; spawn_on 1 $1"
    is "a topology that does not come, $1 $2" "0 $refused $done_well $done_well $(printf 'beta:1\n%s:1' "$1" | sort | xargs)" \
        "$code $(grep ^cmd out | xargs) $(children)"
    like "a topology that does not come, $1 $2: the reason" err \
        "^keelrun: rank 0: MPI_Comm_spawn is refused: node $1: $3"
}
for node in alpha gamma; do
    unexamined $node error=ENOENT 'its processors are not known: No such file'
    unexamined $node drop '.* not reported .*processors .*(plm_start_timeout_s)'
done
unexamined gamma kill ''
# All nodes are of one kind here: the whole is asked of one of them alone.
rm host_*
echo 'export KEEL_MCA_fault=launcher.topology:error=ENOENT:after=1' >host_alpha
parent "${by_agent[@]}" -- "$mapped; mapped 1 core alpha; mapped 1 core beta; mapped 1 core alpha,beta"
is "the hash comes, the topology does not" "0 $refused $done_well $done_well" "$code $(grep ^cmd out | xargs)"
like "the hash comes, the topology does not: the reason" err \
    '^keelrun: rank 0: MPI_Comm_spawn is refused: node alpha: its processors are not known: No such file'
rm host_alpha
parent "${by_agent[@]}" -- "$on; program 1 /nonexistent \"\$(info host gamma)\"; spawn; echo \"\$answer\"; spawn_on 1 gamma"
is "a program that is missing there" "0 $refused $done_well gamma:1" "$code $(grep ^cmd out | xargs) $(children)"
like "a program that is missing there: the reason" err \
    '^keelrun: rank 0: MPI_Comm_spawn is refused: cannot start /nonexistent on node gamma: No such file'
parent "${by_agent[@]}" -- "$on; program 1 true \"\$(info add-host delta)\"; spawn; echo \"\$answer\"; spawn_on 1 gamma"
is "a node that was not allocated" "0 $refused $done_well gamma:1" "$code $(grep ^cmd out | xargs) $(children)"
parent "${by_agent[@]}" -- "program 1 sh arg1=-c 'arg2=kill -9 \$PPID' \"\$(info host gamma)\"; spawn; sleep 60"
is "a daemon that is killed when its ranks run ends the job" 125 "$code"
like "a daemon that is killed when its ranks run: the reason" err '^keelrun: .*node gamma'

# --- too many at a time ---

echo 'touch $TEST_WORK/under_way; until [ -e $TEST_WORK/go ]; do sleep 0.05; done' >host_beta
run_limited 60 "$keelrun" --mca plm_rsh_agent "$work/agent" --host alpha:2,beta:1 --mca spawn_requests_max 1 -n 2 \
    bash -c ". $work/client; begin; kvs; [ \$PMI_RANK = 0 ] || until [ -e under_way ]; do sleep 0.05; done
        program 1 $work/child \"\$(info host beta)\"; spawn; echo \"\$PMI_RANK \${answer%% errcodes*}\"; touch go; end"
is "one request too many" "0 0 $done_well 1 $refused child beta 1" "$code $(sort out | xargs)"
like "one request too many: the reason" err \
    '^keelrun: rank 1: MPI_Comm_spawn is refused: 1 requests are under way \(spawn_requests_max\)$'
rm host_beta

# --- nothing is left ---

# shellcheck disable=SC2016
echo 'echo $BASHPID >>$TEST_WORK/pids' >host_beta
cp host_beta host_gamma
echo 'touch $TEST_WORK/hangs; exec sleep 600' >>host_gamma
: >pids
rm -f hangs
"$keelrun" "${by_agent[@]}" bash -c ". $work/client; echo \$\$ >>pids; begin; program 2 true; spawn; sleep 600" \
    >out 2>err &
victim=$!
ok "daemons are being started" wait_for 20 test -e hangs
kill -9 "$victim"
wait "$victim" 2>/dev/null
all_ended()
{
    local pid
    while read -r pid; do
        ! kill -0 "$pid" 2>/dev/null || return 1
    done <pids
}
is "keelrun killed meanwhile: three processes" 3 "$(wc -l <pids)"
ok "keelrun killed meanwhile: all have ended" wait_for 10 all_ended
ok "no session folder is left" wait_for 10 not test -e "$sessions"
finish
