#!/bin/bash
# How the daemons of other nodes are started by agents: through a tree where there are many, and what
# the user is told of those that do not come. The agents are scripts; starting-ssh.sh has real ones.
#   starting.sh many    256 nodes, and how long that takes
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"
cd "$work" || exit 1

# The agent notes each call: host, and how many agents are above the daemon. $depth_N, if there is
# such a file, is what it does there in place of starting the daemon.
cat >agent <<'END'
#!/bin/bash
export KT_DEPTH=$((${KT_DEPTH-0} + 1)) KT_HOST=$1
shift
echo "$KT_HOST $KT_DEPTH" >>"$KT_WORK/calls"
for script in "$KT_WORK/depth_$KT_DEPTH" "$KT_WORK/host_$KT_HOST"; do
    [ ! -f "$script" ] || . "$script"
done
exec "$@"
END
chmod +x agent
export KT_WORK=$work

# launch HOSTS OPTION...: true on one rank of each.
launch()
{
    local hosts=$1
    shift
    : >calls
    run_limited 30 "$keelrun" --mca plm_rsh_agent "$work/agent" --host "$hosts" "$@"
}

# The depths of the calls, with how many had each: "1*6 2*34".
depths()
{
    cut -d ' ' -f 2 calls | sort | uniq -c | awk '{ printf "%s%s*%d", (NR > 1 ? " " : ""), $2, $1 }'
}

forget()
{
    rm -rf depth_* host_* tried.*
}

# --- the tree ---

tree()
{
    # shellcheck disable=SC2016
    launch 'n[1-40]:1' sh -c 'echo $KEEL_NODE'
    is "40 hosts: exit code" 0 "$code"
    is "40 hosts: a rank on each" 40 "$(sort -u out | grep -c '^n')"
    is "40 hosts: nothing on stderr" "" "$(cat err)"
    is "40 hosts: 6 agents of keelrun, and the rest one further" "1*6 2*34" "$(depths)"
    launch 'n[1-31]:1' true
    is "31 hosts: one agent for each" "0 1*31" "$code $(depths)"
    launch 'n[1-40]:1' --mca plm_tree 0 true
    is "no tree: one agent for each" "0 1*40" "$code $(depths)"
    launch 'n[1-4]:1' --mca plm_tree 3 true
    is "a tree of 4" "0 1*2 2*2" "$code $(depths)"
    launch 'n[1-9]:1' --mca plm_tree 9 --mca routed_radix 2 "$helpers/member" exit 9
    is "a rank's exit code comes through" "9 1*3 2*6" "$code $(depths)"
}

# Two rounds of agents, and no more, whatever an agent takes.
many()
{
    local try simulated limit
    for ((try = 0; try < 3; try++)); do
        run_limited 60 "$keelrun" --simulate 256x1 true
        simulated=$wall_ms
        echo 'sleep 0.5' | tee depth_1 >depth_2
        launch 'n[1-256]:1' true
        limit=$((simulated + 1500 * slow))
        [ "$code" = 0 ] && [ "$wall_ms" -le $limit ] && break
    done
    forget
    is "256 hosts: exit code" 0 "$code"
    is "256 hosts: no daemon is further away than two agents" "1*16 2*240" "$(depths)"
    ok "256 hosts and agents of 0.5 s: $wall_ms ms; simulated: $simulated ms" [ "$wall_ms" -le $limit ]
}

# How many agents were on their way at a time, at most: + and - for each.
at_a_time()
{
    awk '{ now += $1 == "+" ? 1 : -1; if (now > most) most = now } END { print most }' way
}

limited_number()
{
    : >way
    # shellcheck disable=SC2016
    echo 'echo + >>"$KT_WORK/way"; sleep 0.2; echo - >>"$KT_WORK/way"' >depth_1
    launch 'n[1-9]:1' --mca plm_agents_max 3 true
    is "3 agents at a time: exit code" 0 "$code"
    is "3 agents at a time" 3 "$(at_a_time)"
    forget
}

# --- daemons that cannot start others ---

not_onward()
{
    echo 'echo "Permission denied (publickey)." >&2; exit 255' >depth_2
    launch 'n[1-9]:1' --mca plm_tree 2 --mca log_launcher_verbose 1 true
    is "no node may start another: exit code" 0 "$code"
    is "no node may start another: each is tried once, then keelrun starts it" "1*9 2*6" "$(depths)"
    like "no node may start another: the log says why" err \
        'node n2 is started by keelrun, not by node n1: Permission denied \(publickey\)\. \(the agent'
    forget

    echo 'mkdir "$KT_WORK/tried.$KT_HOST" 2>/dev/null && exec sleep 60' >host_n5
    launch 'n[1-9]:1' --mca plm_tree 2 --mca plm_start_timeout_s 9 true
    is "a start by another node that hangs: exit code" 0 "$code"
    ok "a start by another node that hangs: a third of the time" [ "$wall_ms" -ge 2900 ]
    is "a start by another node that hangs: keelrun starts it" "1 2" \
        "$(sed -n 's/^n5 //p' calls | sort | xargs)"
    forget

    # where the agent is not on the other nodes
    echo 'PATH=/usr/bin:/bin' >depth_1
    : >calls
    run_limited 30 env PATH="$work:$PATH" "$keelrun" --mca plm_rsh_agent agent --mca plm_tree 2 \
        --mca log_launcher_verbose 1 --host 'n[1-4]:1' true
    is "no agent on the other nodes: exit code" "0 1*4" "$code $(depths)"
    like "no agent on the other nodes: the log says so" err \
        'n2 is started by keelrun, not by node n1: agent: No such file or directory$'
    forget
}

# --- bad nodes ---

bad_nodes()
{
    echo 'echo "banner of n1" >&2; echo >&2; echo "ssh: no route to n1" >&2; exit 255' >host_n1
    echo 'echo "no way to n6" >&2; exit 255' >host_n6
    echo 'exit 3' | tee host_n8 >host_n9
    launch 'n[1-9]:1' --mca plm_tree 2 true
    is "four bad nodes: exit code" 125 "$code"
    is "four bad nodes: all, with their reasons" "banner of n1

keelrun: node n1: ssh: no route to n1 (the agent ended with code 255 before the daemon called home)
keelrun: node n6: no way to n6 (the agent ended with code 255 before the daemon called home)
keelrun: nodes n[8-9]: the agent ended with code 3 before the daemon called home
keelrun: 4 of 9 nodes cannot be started" "$(cat err)"
    no_leftovers "four bad nodes: nothing is left" ""
    forget

    echo 'exec sleep 60' >host_n2
    echo 'exit 3' >host_n3
    launch 'n[1-3]:1' --mca plm_start_timeout_s 4 true
    is "a bad node and a silent one: exit code" 125 "$code"
    is "a bad node and a silent one" "keelrun: node n2: its daemon has not called home within N s
keelrun: node n3: the agent ended with code 3 before the daemon called home
keelrun: 2 of 3 nodes cannot be started" "$(sed 's/within [0-9]* s$/within N s/' err)"
    ok "a bad node and a silent one: before the time is over" [ "$wall_ms" -lt $((4000 * slow)) ]
    forget

    echo 'exec "$@" </dev/null' >host_n2
    launch 'n[1-2]:1' true
    is "an agent that takes no input: exit code" 125 "$code"
    like "an agent that takes no input: the daemon's word is the reason" err \
        '^keelrun: node n2: keeld: node \?: standard input: nothing from keelrun \(the agent ended with code 125 before'
    forget

    echo 'exec "$@" 2>/dev/null' >host_n2
    launch 'n[1-2]:1' true
    is "an agent that throws stderr away" 0 "$code"
    forget
}

banners()
{
    local i
    # shellcheck disable=SC2016
    echo 'for ((i = 0; i < 20000; i++)); do echo "welcome to $KT_HOST"; done | tee /dev/stderr' |
        tee host_n1 >host_n2
    launch 'n[1-2]:1' --mca plm_tree 2 sh -c 'echo rank'
    is "agents that say much: exit code" 0 "$code"
    is "agents that say much: the ranks' output is theirs alone" "rank rank" "$(xargs <out)"
    for i in 1 2; do
        ok "agents that say much: $i is heard" grep -qx "welcome to n$i" err
    done
    unlike "agents that say much: no line is torn" err -v '^welcome to n[12]$'
    forget
}

# A name that is in DNS only at the third look.
late_names()
{
    # shellcheck disable=SC2016
    echo 'mkdir "$KT_WORK/tried.1" 2>/dev/null || mkdir "$KT_WORK/tried.2" 2>/dev/null || return 0
        echo "ssh: Could not resolve hostname n2" >&2
        exit 255' >host_n2
    launch 'n[1-2]:1' --mca plm_ssh_retries 2 true
    is "a name that comes late: exit code" 0 "$code"
    is "a name that comes late: three calls" 3 "$(grep -c '^n2 ' calls)"
    is "a name that comes late: not a word" "" "$(cat err)"
    rmdir tried.*
    launch 'n[1-9]:1' --mca plm_tree 2 --mca plm_ssh_retries 2 true
    is "a name that comes late to a node that starts others: exit code" 0 "$code"
    is "a name that comes late to a node that starts others: that node tries it again" "2 2 2" \
        "$(sed -n 's/^n2 //p' calls | xargs)"
    rmdir tried.*
    launch 'n[1-2]:1' --mca plm_ssh_retries 1 true
    is "a name that comes too late: exit code" 125 "$code"
    like "a name that comes too late: it is said" err '^keelrun: node n2: ssh: Could not resolve hostname n2 \('
    rmdir tried.*
    launch 'n[1-2]:1' true
    is "a name that comes late, without retries" "125 1" "$code $(grep -c '^n2 ' calls)"
    forget
}

# --- kills during the start ---

# The daemon of n1 is there, and its agents wait.
is_between()
{
    grep -q ' 2$' calls
}

# starts_slowly: keelrun is on its way to start n1 to n9, of which n1, n4 and n7 start the rest.
starts_slowly()
{
    echo 'sleep 20' >depth_2
    : >calls
    start "$keelrun" --mca plm_rsh_agent "$work/agent" --mca plm_tree 2 --host 'n[1-9]:1' sleep 60
    wait_for 15 is_between
    pids=$(descendants "$pid" | cut -d ' ' -f 1)
}

kills()
{
    local i keeld_pid
    for ((i = 0; i < 3; i++)); do
        starts_slowly
        keeld_pid=$(child_named "$pid" keeld)
        kill -KILL "$keeld_pid"
        await 10
        is "a daemon that starts others is killed: exit code" 125 "$code"
        like "a daemon that starts others is killed: it is named" err \
            '^keelrun: lost the daemon of node n[147]: '
        is "a daemon that starts others is killed: one line" 1 "$(grep -c '^keelrun: ' err)"
        no_leftovers "a daemon that starts others is killed: nothing is left" "" "$pids"
    done

    starts_slowly
    kill -KILL "$pid"
    await 10
    no_leftovers "keelrun is killed while daemons start others: nothing is left" "" "$pids"

    starts_slowly
    kill -INT "$pid"
    await 10
    is "an interrupt while daemons start others: exit code" 130 "$code"
    no_leftovers "an interrupt while daemons start others: nothing is left" "" "$pids"
    forget
}

# --- where keeld is ---

elsewhere()
{
    mkdir -p other/bin
    ln -s "$(realpath "$keeld")" other/bin/keeld
    ln -s "$(realpath "$keeld")" other/bin/keeld-too
    echo 'echo "$1" >>"$KT_WORK/programs"' | tee depth_1 >depth_2
    launch 'n[1-4]:1' --mca plm_tree 2 --prefix "$work/other" true
    is "--prefix: exit code" 0 "$code"
    is "--prefix: on all nodes" "4 $work/other/bin/keeld" "$(sort programs | uniq -c | xargs)"
    rm programs
    launch 'n[1-4]:1' --mca plm_tree 2 --prefix "$work/other" --launch-agent 'keeld-too' true
    is "--launch-agent within --prefix" "0 4 $work/other/bin/keeld-too" \
        "$code $(sort programs | uniq -c | xargs)"
    rm programs
    PATH=$PATH:$work/other/bin launch 'n[1-2]:1' --launch-agent 'env A=1 keeld' true
    is "--launch-agent of several words" "0 2 env" "$code $(sort programs | uniq -c | xargs)"
    rm programs
    launch 'n[1-2]:1' --prefix "$work/other" --noprefix true
    is "--noprefix takes it back" "0 2 $(realpath "$keeld")" "$code $(sort programs | uniq -c | xargs)"
    launch 'n[1-2]:1' --prefix "$work/nowhere" true
    is "--prefix that is wrong: exit code" 125 "$code"
    like "--prefix that is wrong: it says where it looked" err \
        "^keelrun: nodes n\[1-2\]: there is no $work/nowhere/bin/keeld there, "
    forget
    launch n1:1 --prefix other true
    is "--prefix that is no path: exit code" 2 "$code"
    is "--prefix that is no path" "keelrun: --prefix 'other': the whole path of a folder is needed" "$(cat err)"
    launch n1:1 --mca plm_prefix other true
    is "plm_prefix that is no path" "2 keelrun: plm_prefix (--prefix) is other: a whole path is needed" \
        "$code $(cat err)"
    launch n1:1 --launch-agent ' ' true
    is "--launch-agent that is empty" "2 keelrun: --launch-agent: a command is needed, as keeld" \
        "$code $(cat err)"
    launch n1:1 --mca plm_tree -1 true
    is "plm_tree that makes no sense: exit code" 2 "$code"
    launch n1:1 --mca plm_agents_max 0 true
    is "plm_agents_max that makes no sense: exit code" 2 "$code"
}

if [ "${1-}" = many ]; then
    many
    finish
fi
tree
limited_number
not_onward
bad_nodes
banners
late_names
kills
elsewhere
finish
