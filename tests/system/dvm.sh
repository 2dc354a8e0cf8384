#!/bin/bash
# A standing DVM: jobs of several keelruns on its daemons, what they find there, and what is left when one
# of them all ends in some other way.
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"
. "$KEEL_TEST_SRCDIR/tests/lib/pmi1.sh"
forget_launchers

readonly dvm=$KEEL_TEST_BUILDDIR/bin/keel-dvm uri=$work/uri

# stand OPTION...: a DVM, whose pid is in dvm_pid.
stand()
{
    "$dvm" --uri "$uri" "$@" >"$work/dvm.out" 2>"$work/dvm.err" </dev/null &
    dvm_pid=$!
    started+=("$dvm_pid")
    ok "$1 $2: the DVM stands" wait_for 20 stands_there
}

# The file is this DVM's, and not one that another has left.
stands_there()
{
    [ -s "$uri" ] && [ "$uri" -nt "$work/dvm.out" ]
}

# fell NAME: waits for the end of the DVM; its exit code in dvm_code. Nothing is left of it.
fell()
{
    ok "$1: the DVM ends" wait_for 30 is_gone "$dvm_pid"
    wait "$dvm_pid" 2>/dev/null
    dvm_code=$?
    ok "$1: no process is left" wait_for 10 no_keeld
    ok "$1: no folder is left" wait_for 10 no_session
}

no_keeld()
{
    [ -z "$(keelds)$(spares)" ]
}

# named NAME: of the pids on standard input, those of this name.
named()
{
    local one
    while read -r one; do
        [ "$(cat "/proc/$one/comm" 2>/dev/null)" != "$1" ] || is_zombie "$one" || echo "$one"
    done
}

keelds()
{
    processes_with "TMPDIR=$work" | named keeld
}

spares()
{
    processes_with "TMPDIR=$work" | named keel-spare
}

# has_spares COUNT
has_spares()
{
    [ "$(spares | wc -l)" -eq "$1" ]
}

has_keelds()
{
    [ "$(keelds | wc -l)" -eq "$1" ]
}

no_session()
{
    [ ! -e "$sessions" ] || [ -z "$(find "$sessions" -mindepth 1 2>/dev/null)" ]
}

# --- what a job finds ---

same_as_without()
{
    # shellcheck disable=SC2016 # for the ranks
    local look='echo $KEEL_RANK $KEEL_TEST_WORD $(umask) $PWD; echo $KEEL_RANK >&2'
    mkdir -p "$work/folder"
    (
        cd "$work/folder" && umask 027 || exit
        export KEEL_TEST_WORD='a b'
        run_limited 20 "$keelrun" --dvm "$uri" -n 4 sh -c "$look"
        is "environment, folder and umask: exit code" 0 "$code"
        is "environment, folder and umask are the submitter's" \
            "0 a b 0027 $work/folder 1 a b 0027 $work/folder 2 a b 0027 $work/folder 3 a b 0027 $work/folder" \
            "$(sort "$work/out" | xargs)"
        is "standard error comes, too" "0 1 2 3" "$(sort "$work/err" | xargs)"
        echo "$number" >"$work/number"
    )
    number=$(cat "$work/number")

    echo 'some words' >"$work/words"
    input=$work/words run_limited 20 "$keelrun" --dvm "file:$uri" -n 2 --stdin 1 --tag-output cat
    is "standard input goes to the rank that gets it" "[1,1]<stdout>: some words" "$(cat "$work/out")"

    run_limited 20 "$keelrun" --dvm "$uri" -n 3 sh -c 'exit 7'
    is "a rank's exit code is keelrun's" 7 "$code"
    run_limited 20 "$keelrun" --dvm "$uri" -n 1 "$work/nothing-there"
    is "a program that is not there" 127 "$code"
    like "a program that is not there: the line" "$work/err" 'cannot start .*nothing-there on node node0'
    run_limited 60 env KEEL_MCA_dvm="$uri" "$keelrun" -n 4 "$handoff"
    is "the parameter dvm; ranks find each other" 0 "$code"

    start "$keelrun" --dvm "$uri" -n 2 sh -c 'echo here; exec sleep 60'
    ok "a job that stays" wait_for 20 has_lines "$work/out" 2
    kill -INT "$pid"
    await 15
    is "an interrupt ends the job" 130 "$code"
}

# --- daemons in reserve ---

reserve()
{
    local big one
    run_limited 20 "$keelrun" --dvm "$uri" -n 4 true
    ok "each node has one daemon in reserve" wait_for 20 has_spares 4
    for one in $(spares); do
        kill -KILL "$one"
    done
    ok "they are killed" wait_for 20 has_spares 0
    run_limited 20 "$keelrun" --dvm "$uri" -n 4 echo here
    is "a job without one" "0 here here here here" "$code $(xargs <"$work/out")"
    is "and what it says" "" "$(cat "$work/err")"

    ok "there is one again" wait_for 20 has_spares 4
    big=$(head -c 100000 /dev/zero | tr '\0' x)
    # shellcheck disable=SC2016
    run_limited 20 env BIG1="$big" BIG2="$big" BIG3="$big" "$keelrun" --dvm "$uri" -n 2 \
        sh -c 'echo ${#BIG1} ${#BIG3}'
    is "a large environment" "100000 100000 100000 100000" "$(xargs <"$work/out")"
}

is_quiet()
{
    has_keelds "$standing" && has_spares 4
}

# The pids of the daemons in reserve, one on each node, when no job has one.
reserved()
{
    wait_for 20 is_quiet && spares | sort -n | xargs
}

# A daemon that has ended its part of a job in order serves the next one, which finds nothing of it.
again()
{
    local before helper
    before=$(reserved)
    # shellcheck disable=SC2016
    KEEL_TEST_WORD=first run_limited 20 "$keelrun" --dvm "$uri" -n 4 \
        sh -c 'setsid sleep 600 & echo $!; exit 5'
    is "a job that fails: exit code" 5 "$code"
    ok "a job that fails: what it left has ended" wait_for 10 all_gone "$work/out"
    is "the daemons are in reserve again" "$before" "$(reserved)"
    # shellcheck disable=SC2016
    (umask 077 && run_limited 20 "$keelrun" --dvm "$uri" -n 4 sh -c 'echo $KEEL_TEST_WORD $(umask)' && echo "$code")
    is "the next job has nothing of the one before" "0077 0077 0077 0077" "$(xargs <"$work/out")"
    is "the daemons are in reserve again" "$before" "$(reserved)"
    start env KEEL_MCA_log_launcher_verbose=1 "$keelrun" --dvm "$uri" -n 4 sleep 120
    ok "parameters are the job's: all nodes log" wait_for 20 all_log
    kill -TERM "$pid"
    await 15
    ok "daemons that have said something are not used again" no_common "$before" "$(reserved)"

    before=$(reserved)
    hold 4
    kill -KILL "$held"
    wait "$held" 2>/dev/null
    ok "nor are those whose keelrun was killed" no_common "$before" "$(reserved)"
    unlucky
    before=$(reserved)
    helper=${before%% *}
    kill -TERM "$helper"
    ok "one in reserve can be ended" wait_for 10 is_gone "$helper"
}

# A daemon of a job that does not end with it: it stands still, as its keelrun is killed.
unlucky()
{
    local all one
    all=$(reserved)
    hold 1
    for one in $all; do
        [ "$(cat "/proc/$one/comm")" != keeld ] || break
    done
    kill -STOP "$one"
    kill -KILL "$held"
    wait "$held" 2>/dev/null
    ok "a daemon that stands still is ended after its job" wait_for 40 is_gone "$one"
}

all_log()
{
    [ "$(grep -o '^.node[0-3]:[0-9]* .* is process' "$work/err" | cut -c 2-6 | sort -u | wc -l)" -eq 4 ]
}

# all_gone FILE: of each pid in it
all_gone()
{
    local one
    for one in $(cat "$1"); do
        is_gone "$one" || return
    done
}

# no_common WORDS WORDS: none is in both.
no_common()
{
    [ -z "$(printf '%s\n' $1 $2 | sort | uniq -d)" ]
}

# --- slots ---

# hold COUNT: a job of so many ranks, which stays until it is ended by release; its pid in held.
hold()
{
    local out=$work/held.$1
    : >"$out"
    "$keelrun" --dvm "$uri" -n "$1" sh -c 'echo here; exec sleep 120' >"$out" 2>"$out.err" </dev/null &
    held=$!
    started+=("$held")
    ok "a job holds $1 slots" wait_for 20 has_lines "$out" "$1"
}

slots()
{
    hold 3
    local first=$held
    run_limited 20 "$keelrun" --dvm "$uri" -n 2 true
    is "a job that does not fit: exit code" 125 "$code"
    like "a job that does not fit: how much is in use" "$work/err" \
        "2 ranks are more than the 1 slot .*; 3 of the DVM's 4 slots are in use by other jobs"
    run_limited 20 "$keelrun" --dvm "$uri" --host node0 true
    is "a node that is full: exit code" 125 "$code"
    like "a node that is full: why" "$work/err" 'host node0 is not in the DVM of .*; 3 of'
    # shellcheck disable=SC2016
    run_limited 20 "$keelrun" --dvm "$uri" sh -c 'echo $KEEL_NODE'
    is "without -n a job gets what is free" node3 "$(cat "$work/out")"
    hold 1
    run_limited 20 "$keelrun" --dvm "$uri" true
    like "no slot is free" "$work/err" "no slot is free: 4 of the DVM's 4 slots are in use"

    kill -KILL "$held"
    wait "$held" 2>/dev/null
    run_limited 20 "$keelrun" --dvm "$uri" true
    is "the slots of a keelrun that was killed are free" 0 "$code"
    ok "the job of another one goes on" is_alive "$first"
    kill -TERM "$first"
    wait "$first" 2>/dev/null
    is "and ends as it was told" 143 $?
    ok "no daemon of these jobs is left" wait_for 20 has_keelds "$standing"
}

# Ranks that a job spawns have slots, too.
spawned()
{
    local out=$work/spawned
    printf '%s\n' '#!/bin/bash' ". $work/client" 'begin; kvs; echo here; await_end; end' >"$work/child"
    chmod +x "$work/child"
    echo "await_end() { until [ -e $work/go ]; do sleep 0.05; done; }" >>"$work/client"
    "$keelrun" --dvm "$uri" -n 1 bash -c \
        ". $work/client; begin; kvs; program 2 $work/child; spawn; echo here; await_end; end" \
        >"$out" 2>"$out.err" </dev/null &
    held=$!
    started+=("$held")
    ok "a rank spawns two" wait_for 20 has_lines "$out" 3
    run_limited 20 "$keelrun" --dvm "$uri" -n 2 true
    like "they have slots" "$work/err" "2 ranks are more than the 1 slot .*; 3 of the DVM's 4 slots"
    touch "$work/go"
    ok "the job ends" wait_for 20 is_gone "$held"
    wait "$held"
    is "its exit code" 0 $?
    run_limited 20 "$keelrun" --dvm "$uri" -n 4 true
    is "their slots are free again" 0 "$code"
}

# Several at a time: each waits for its turn to plan, and all have room.
at_a_time()
{
    local one pids=() codes=
    for one in 1 2 3 4; do
        "$keelrun" --dvm "$uri" -n 1 sh -c 'exit 3' >/dev/null 2>&1 </dev/null &
        pids+=($!)
    done
    for one in "${pids[@]}"; do
        wait "$one"
        codes+=" $?"
    done
    is "four at a time" " 3 3 3 3" "$codes"
}

# talks COUNT: so many connections to the DVM's socket, which listens itself, are there.
talks()
{
    [ "$(grep -c " $sessions/.*/dvm$" /proc/net/unix)" -ge "$1" ]
}

# Whoever waits for the turn to plan can be interrupted: here for a DVM that stands still.
interrupted_wait()
{
    local before
    before=$(grep -c " $sessions/.*/dvm$" /proc/net/unix)
    kill -STOP "$dvm_pid"
    start "$keelrun" --dvm "$uri" true
    ok "a keelrun that waits for its turn" wait_for 20 talks $((before + 1))
    kill -INT "$pid"
    await 15
    is "an interrupt ends the wait for the turn" 130 "$code"
    run_limited 20 "$keelrun" --dvm "$uri" --timeout 1 true
    is "the time limit counts from the wait on" 124 "$code"
    like "the time limit: why" "$work/err" 'the time limit of 1 s is over: no turn to plan this job'
    kill -CONT "$dvm_pid"
    run_limited 20 "$keelrun" --dvm "$uri" true
    is "the DVM goes on" 0 "$code"
}

# --- what disturbs nobody ---

# kept FILE WHY: a file that no new DVM takes for its own
kept()
{
    local before
    before=$(cat "$work/$1")
    run_limited 20 "$dvm" --uri "$work/$1" --simulate 2x1
    is "$1 is not replaced: exit code" 125 "$code"
    like "$1 is not replaced: why" "$work/err" "^keel-dvm: $2"
    is "$1 is not replaced: it is as it was" "$before" "$(cat "$work/$1")"
}

bad_input()
{
    if find_another_user; then
        chmod 711 "$work" && cp "$uri" "$work/copy" && chmod 644 "$work/copy"
        run_limited 20 "${another_user[@]}" "$keelrun" --dvm "$work/copy" true
        is "another user: exit code" 125 "$code"
        like "another user: why" "$work/err" "copy: others than this user may have written it"
    else
        skip "another user" "$reason"
    fi
    hold 1
    run_limited 20 "$keelrun" --dvm "$uri" --no-such-option true
    is "a wrong command line: exit code" 2 "$code"
    run_limited 20 "$keelrun" --dvm "$uri" --simulate 2x2 true
    is "with --simulate: exit code" 2 "$code"
    run_limited 20 "$keelrun" --dvm "$work/none" true
    is "no file: exit code" 125 "$code"
    like "no file: why" "$work/err" "none: No such file"
    printf '%s\n' "1.0;unix://$sessions/x/0/oob" "$(hostname)" >"$work/stale"
    run_limited 20 "$keelrun" --dvm "$work/stale" true
    like "a file of a DVM that has ended" "$work/err" '^keelrun: the DVM that wrote .*/stale is gone \('
    printf '%s\n' "1.0;unix://$sessions/x/0/oob" elsewhere >"$work/far"
    run_limited 20 "$keelrun" --dvm "$work/far" true
    like "a file of a DVM elsewhere" "$work/err" '^keelrun: the DVM that wrote .*/far is on host elsewhere$'
    kept far '.*/far: whether the DVM that wrote it stands is known on host elsewhere alone: .*or remove the file'
    echo notes >"$work/notes"
    kept notes '.*/notes: not a file of keel-dvm$'
    python3 - "$(sed -n 's/.*unix:..\([^;]*\)oob.*/\1dvm/p' "$uri")" <<'EOF'
import os, socket, struct, sys
def talk(data):
    one = socket.socket(socket.AF_UNIX)
    one.connect(sys.argv[1])
    one.settimeout(20)
    one.sendall(data)
    try:
        return one.recv(1 << 16)
    except ConnectionError:
        return b""
for data in (b"\0\0\0\0", b"\xff" * 64, struct.pack("<I", 4) + b"\2\0\0\1", struct.pack("<I", 1) + b"\xfe"):
    if talk(data):
        sys.exit("an answer to " + repr(data))
idle = socket.socket(socket.AF_UNIX)
idle.connect(sys.argv[1])
EOF
    is "who speaks nonsense is hung up on" 0 $?
    run_limited 20 "$keelrun" --dvm "$uri" true
    is "and the DVM goes on" 0 "$code"
    ok "as does the job that ran" is_alive "$held"
    kill -TERM "$held"
    wait "$held" 2>/dev/null
    for words in "" "--uri" "--stop" "--uri $uri true" "--uri $uri -n 2" "--uri $uri --no-such" "--stop $uri --host a" \
        "--add-host a" "--uri $uri --add-host a --host b" "--uri $uri --add-host"; do
        # shellcheck disable=SC2086
        run_limited 20 "$dvm" $words
        is "keel-dvm $words: exit code" 2 "$code"
    done
}

# --- nodes that come and go ---

# changes WORDS...: of a DVM that stands
changes()
{
    run_limited 60 "$dvm" --uri "$uri" "$@"
}

# The nodes of a job's ranks, without -n: all that are free.
nodes()
{
    # shellcheck disable=SC2016
    run_limited 20 "$keelrun" --dvm "$uri" sh -c 'echo $KEEL_NODE'
    sort "$work/out" | xargs
}

# shows_node PATTERN: keel-ps shows a node of the DVM like this.
shows_node()
{
    "$KEEL_TEST_BUILDDIR/bin/keel-ps" --timeout $((40 * slow)) >"$work/ps"
    grep -qE "$1" "$work/ps"
}

# shows_no_node PATTERN: keel-ps shows those of the DVM, and none of these.
shows_no_node()
{
    shows_node node0 && ! grep -qE "$1" "$work/ps"
}

hosts()
{
    changes --add-host extra:2,more
    is "hosts are added: exit code" 0 "$code"
    is "hosts are added: jobs have them" "extra extra more node0 node1 node2 node3" "$(nodes)"
    changes --add-host next,extra
    is "a host that is there: exit code" 125 "$code"
    like "a host that is there: why" "$work/err" '^keel-dvm: the DVM has host extra already$'
    changes --add-host next:x
    like "a host that is none" "$work/err" "^keel-dvm: the DVM does not take it: 'next:x': "

    "$keelrun" --dvm "$uri" --host extra:1,node0 sh -c 'echo here; exec sleep 120' >"$work/busy" 2>&1 </dev/null &
    held=$!
    started+=("$held")
    ok "a job on an added host" wait_for 20 has_lines "$work/busy" 2
    changes --remove-host more,extra
    is "a host with ranks is not removed: exit code" 125 "$code"
    like "a host with ranks is not removed: why" "$work/err" '^keel-dvm: the DVM has 1 rank of jobs on host extra$'
    is "nor are the others" "extra more node1 node2 node3" "$(nodes)"
    changes --remove-host more
    is "a host without ranks is removed, while jobs run" 0 "$code"
    ok "the job goes on" is_alive "$held"
    kill -TERM "$held"
    wait "$held" 2>/dev/null

    "$keelrun" --dvm "$uri" --bind-to core -n 1 sh -c 'echo here; exec sleep 120' >"$work/bound" 2>&1 </dev/null &
    held=$!
    started+=("$held")
    ok "a job that has asked all nodes for their processors" wait_for 20 has_lines "$work/bound" 1
    changes --remove-host extra
    is "a host with a daemon of a job is not removed: exit code" 125 "$code"
    like "a host with a daemon of a job is not removed: why" "$work/err" \
        '^keel-dvm: the DVM has a daemon of a job on host extra$'
    ok "nor does that end the job" is_alive "$held"
    kill -TERM "$held"
    wait "$held" 2>/dev/null
    removed_meanwhile
    changes --remove-host extra,none
    like "a host that is not there" "$work/err" '^keel-dvm: the DVM has no host none$'
    changes --remove-host extra
    is "hosts are removed" "0 node0 node1 node2 node3" "$code $(nodes)"
    ok "their daemons end" wait_for 20 has_keelds "$standing"
    ok "keel-ps does not show them" wait_for 20 shows_no_node 'extra|more'
    is "the DVM misses none of them" "" "$(grep 'lost the daemon' "$work/dvm.err")"
}

# A job that was planned before a host was removed may spawn ranks: not there.
removed_meanwhile()
{
    local out=$work/removed
    changes --add-host late
    rm -f "$work/go"
    "$keelrun" --dvm "$uri" -n 1 bash -c \
        ". $work/client; begin; kvs; echo here; await_end; program 6 $work/child; spawn; echo \"\$answer\"; end" \
        >"$out" 2>"$out.err" </dev/null &
    held=$!
    started+=("$held")
    ok "a job that knows of a host" wait_for 20 has_lines "$out" 1
    changes --remove-host late
    is "the host is removed meanwhile" 0 "$code"
    run_limited 20 "$keelrun" --dvm "$uri" --host late true
    is "a job for a host that was removed: exit code" 125 "$code"
    like "a job for a host that was removed: why" "$work/err" '^keelrun: host late is not in the DVM of '
    touch "$work/go"
    ok "ranks are spawned there: the job ends" wait_for 20 is_gone "$held"
    wait "$held"
    is "ranks are spawned there: it is told that it cannot" "cmd=spawn_result rc=-1" \
        "$(grep -o 'cmd=spawn_result rc=-1' "$out")"
    like "ranks are spawned there: why" "$out.err" \
        '^keelrun: rank 0: MPI_Comm_spawn is refused: node late: it was removed from the DVM$'
}

# Hosts of a file, read where keel-dvm is called.
by_file()
{
    printf '%s\n' '# comment' 'f[1-2] slots=2' 'f3' >"$work/hosts"
    (cd "$work" && exec "$dvm" --uri "$uri" --add-hostfile hosts) >"$work/out" 2>"$work/err"
    is "--add-hostfile: exit code" 0 $?
    is "--add-hostfile: jobs have them" "f1 f1 f2 f2 f3 one" "$(nodes)"
    changes --add-hostfile "$work/hosts"
    like "--add-hostfile: a host that is there" "$work/err" '^keel-dvm: the DVM has host f1 already$'
    changes --remove-host f1,f2,f3
    is "--remove-host: exit code" 0 "$code"
    echo 'f4 slots=x' >"$work/hosts"
    changes --add-hostfile "$work/hosts"
    is "--add-hostfile: a wrong one: exit code" 2 "$code"
    like "--add-hostfile: a wrong one: why" "$work/err" "^keel-dvm: $work/hosts:1: "
    echo '# nothing' >"$work/hosts"
    changes --add-hostfile "$work/hosts"
    is "--add-hostfile: an empty one: exit code" 2 "$code"
    like "--add-hostfile: an empty one: why" "$work/err" "^keel-dvm: $work/hosts: no host is in it$"
    changes --add-hostfile "$work/none"
    is "--add-hostfile: none: exit code" 2 "$code"
}

hosts_by_agent()
{
    cat >"$work/agent" <<'END'
#!/bin/bash
[ "$1" != bad ] || { echo "no way to $1" >&2; exit 255; }
[ "$1" != slow ] || exec sleep 600
shift
exec "$@"
END
    chmod +x "$work/agent"
    ok "the file of the one that was killed is there" test -s "$uri"
    run_limited 20 "$keelrun" --dvm "$uri" true
    is "a DVM that was killed: exit code" 125 "$code"
    like "a DVM that was killed: why" "$work/err" "^keelrun: the DVM that wrote $uri is gone \("
    stand --mca plm_rsh_agent "$work/agent" --host one --mca plm_start_timeout_s $((4 * slow))
    run_limited 20 "$dvm" --uri "$uri" --simulate 2x1
    is "the file of a DVM that stands is not replaced: exit code" 125 "$code"
    is "the file of a DVM that stands is not replaced: why" \
        "keel-dvm: $uri: the DVM that wrote it stands (keel-dvm --stop ends it)" "$(cat "$work/err")"
    like "keel-ps --json: a DVM" <("$KEEL_TEST_BUILDDIR/bin/keel-ps" --json) \
        "\"program\":\"keel-dvm\",\"keel-dvm\":$dvm_pid,"
    by_file
    changes --add-host slow
    is "a host that takes too long: exit code" 125 "$code"
    like "a host that takes too long: why" "$work/err" \
        '^keel-dvm: the DVM has no daemon on node slow: its daemon has not called home within [0-9]+ s'
    is "jobs go on elsewhere" "one" "$(nodes)"
    changes --add-host two,bad
    is "a host without a daemon: exit code" 125 "$code"
    like "a host without a daemon: why" "$work/err" '^keel-dvm: the DVM has no daemon on node bad: .*no way to bad'
    is "the other is there" "one two" "$(nodes)"
    changes --remove-host two
    changes --add-host two:2
    is "one that comes back" "0 one two two" "$code $(nodes)"
    run_limited 60 "$dvm" --stop "$uri"
    fell "hosts by an agent"
}

# The jobs that had ranks on a node that is lost end, and the rest go on.
lost_node()
{
    local victim first
    hold 1
    first=$held
    "$keelrun" --dvm "$uri" --host node2 sh -c 'echo here; exec sleep 120' >"$work/second" \
        2>"$work/second.err" </dev/null &
    held=$!
    started+=("$held")
    ok "a job on node2" wait_for 20 has_lines "$work/second" 1
    victim=$(child_with_vpid 3)
    kill -KILL "$victim"
    ok "its node is lost: it ends" wait_for 20 is_gone "$held"
    wait "$held" 2>/dev/null
    is "its node is lost: exit code" 125 $?
    ok "the job elsewhere goes on" is_alive "$first"
    ok "the DVM says so" wait_for 10 grep -q 'lost the daemon of node node2: .*; the DVM goes on' "$work/dvm.err"
    ok "keel-ps shows that it is lost" shows_node 'node2.*lost'
    # shellcheck disable=SC2016
    run_limited 20 "$keelrun" --dvm "$uri" sh -c 'echo $KEEL_NODE'
    is "the next job has the other nodes" "node1 node3" "$(sort "$work/out" | xargs)"
    kill -TERM "$first"
    wait "$first" 2>/dev/null
}

# child_with_vpid N: the standing daemon of this number: a child of the DVM's shepherd.
child_with_vpid()
{
    local one
    for one in $(pgrep -P "$(pgrep -P "$dvm_pid" -x keel-shepherd)" -x keeld); do
        if tr '\0' ' ' <"/proc/$one/cmdline" | grep -q -- "--vpid $1 \$"; then
            echo "$one"
            return
        fi
    done
}

# --- ends ---

ends()
{
    hold 2
    kill -TERM "$dvm_pid"
    fell "SIGTERM"
    is "SIGTERM: exit code" 0 "$dvm_code"
    wait "$held" 2>/dev/null
    is "SIGTERM: its job has ended" 125 $?
    like "SIGTERM: why" "$work/held.2.err" 'the DVM ends'
    is "SIGTERM: the file is gone" "" "$(cat "$uri" 2>/dev/null)"

    stand --simulate 2x1
    hold 2
    kill -STOP "$held"
    kill -TERM "$dvm_pid"
    ok "SIGTERM twice: is told" wait_for 20 grep -q 'ends the DVM$' "$work/dvm.err"
    kill -TERM "$dvm_pid"
    ok "SIGTERM twice: jobs are not waited for" wait_for 30 is_gone "$dvm_pid"
    kill -CONT "$held"
    wait "$held" 2>/dev/null
    is "SIGTERM twice: its job has ended" 125 $?
    fell "SIGTERM twice"
    is "SIGTERM twice: is told once" 1 "$(grep -c 'ends the DVM$' "$work/dvm.err")"

    # shellcheck disable=SC2016
    run_limited 20 bash -c '"$@" 2>&1 | cat' sh "$dvm" --uri "$uri" --daemonize --simulate 2x1
    is "--daemonize returns when the DVM stands, and so does who reads its output" 0 "$code"
    run_limited 20 "$keelrun" --dvm "$uri" true
    is "--daemonize: a job runs" 0 "$code"
    run_limited 60 "$dvm" --stop "$uri"
    is "--stop: exit code" 0 "$code"
    ok "--stop: no process is left" wait_for 10 no_keeld
    ok "--stop: no folder is left" wait_for 10 no_session
    run_limited 20 "$dvm" --stop "$uri"
    is "--stop of none: exit code" 125 "$code"

    run_limited 20 "$dvm" --uri "$uri" --simulate 2x2 --simulate-topo 'core:2 pu:1'
    is "a topology for a DVM: exit code" 2 "$code"
    like "a topology for a DVM: the reason" "$work/err" 'simulate-topo goes with keelrun alone'
    run_limited 20 "$dvm" --uri "$uri" --daemonize --mca plm_rsh_agent false --host nowhere
    is "a DVM that cannot be started: exit code" 125 "$code"

    stand --simulate 2x1
    hold 2
    kill -KILL "$dvm_pid"
    fell "SIGKILL"
    ok "SIGKILL: its job has ended" wait_for 20 is_gone "$held"
    wait "$held" 2>/dev/null
    is "SIGKILL: exit code" 125 $?
}

stand --simulate 4x1
is "the file is this user's alone" 600 "$(stat -c %a "$uri")"
standing=$(keelds | wc -l)
run_limited 90 "$KEEL_TEST_BUILDDIR/bin/keel-ps" --timeout $((40 * slow))
like "keel-ps: a DVM without ranks" "$work/out" '^job [0-9a-f]{32}: a DVM, stands for .*, keel-dvm [0-9]+$'
is "keel-ps: no rank is listed" "" "$(grep 'not started' "$work/out")"
same_as_without
reserve
again
slots
spawned
at_a_time
interrupted_wait
bad_input
hosts
lost_node
ends
hosts_by_agent
finish
