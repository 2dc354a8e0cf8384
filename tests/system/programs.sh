#!/bin/bash
# Any program under keelrun: exit codes and their reasons, several programs, environment, folders,
# slots and binding.
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"

host=$(hostname)
# as many slots as keelrun counts: a cgroup's quota may leave less than nproc says
cpus=$("$keelrun" printenv KEEL_SIZE 2>"$work/err" | head -n 1)
ok "slots: at least one, and no more than processors" [ "$cpus" -ge 1 -a "$cpus" -le "$(nproc)" ]

run_limited 10 "$keelrun" -n 4 --oversubscribe hostname
is "hostname: exit code" 0 "$code"
is "hostname: one line a rank" "$(printf '%s\n' "$host" "$host" "$host" "$host")" "$(cat "$work/out")"
is "hostname: nothing on stderr" "" "$(cat "$work/err")"

# --- exit codes ---

# exits CODE PATTERN ARGUMENT...: keelrun's code, and a line on stderr.
exits()
{
    local expected=$1 pattern=$2
    shift 2
    run_limited 15 "$keelrun" "$@"
    is "exit code $expected: ${*: -3}" "$expected" "$code"
    if [ -n "$pattern" ]; then
        like "its reason: ${*: -3}" "$work/err" "$pattern"
    fi
}

exits 0 "" -n 2 true
exits 1 "^keelrun: rank 0 \(false, pid [0-9]+\) on node $host exited with code 1$" -n 1 false
exits 42 "^keelrun: rank 1 \(sh, pid [0-9]+\) on node $host exited with code 42$" \
    -n 2 sh -c '[ $KEEL_RANK = 0 ] || exit 42'
exits 139 "^keelrun: rank 0 \(sh, pid [0-9]+\) on node $host was killed by signal 11 \(SIGSEGV, Segmentation fault\)" -n 1 sh -c 'kill -SEGV $$'
exits 137 "^keelrun: rank 0 \(sh, pid [0-9]+\) on node $host was killed by signal 9 \(SIGKILL, Killed\)$" \
    -n 1 sh -c 'kill -KILL $$'
exits 127 "^keelrun: cannot start ./missing on node $host \(rank 0\): No such file or directory$" \
    -n 2 ./missing
exits 127 "^keelrun: cannot start no-such-program on node $host \(rank 0\): it is neither in PATH nor in the folder where" \
    -n 1 no-such-program
printf '#!/no/such/interpreter\n' >"$work/orphaned"
chmod +x "$work/orphaned"
exits 127 "^keelrun: cannot start $work/orphaned on node $host \(rank 0\): the interpreter .* that it names is not there$" \
    -n 1 "$work/orphaned"
exits 125 "the agent cannot be started: the interpreter .* that it names is not there$" \
    --mca plm_rsh_agent "$work/orphaned" --host nowhere true
exits 127 "^keelrun: cannot start ./missing on node node1 \(rank 1\): No such file" \
    --simulate 2x1 -n 1 hostname : -n 1 ./missing
: >"$work/plain"
exits 126 "^keelrun: cannot start $work/plain on node $host \(rank 0\): Permission denied$" \
    -n 1 "$work/plain"
exits 126 "^keelrun: cannot start $work on node $host \(rank 0\): Is a directory$" -n 1 "$work"
exits 125 "^keelrun: node $host: the launch cannot be followed: out of resources$" \
    --mca fault launcher.launch:error=ENOMEM -n 1 sleep 60
exits 125 "^keelrun: node [^:]*: the launch cannot be followed: out of resources$" \
    --mca fault launcher.launch:error=ENOMEM --simulate 2x1 -n 2 sleep 60
exits 125 "^keelrun: node node1: no link to its parent in the tree: " \
    --mca fault oob.connect:error=ECONNREFUSED:after=1 --mca routed_radix 1 --simulate 2x1 \
    -n 2 sleep 60
exits 2 "^keelrun: unknown option '--nonsense'" --nonsense true
exits 2 "^keelrun: no program is given" -n 2
exits 124 "^keelrun: the time limit of 1 s is over$" --timeout 1 --mca stack_traces_s 0 -n 2 sleep 60
ok "--timeout: on time" [ "$real_ms" -ge 1000 -a "$wall_ms" -lt $((2500 * slow)) ]
exits 124 "^keelrun: the time limit of 1 s is over$" --timeout 1 --simulate 2x1 sleep 60
exits 1 "" -n 1 "$helpers/member" exit 0
like "keel_finalize forgotten" "$work/err" "^keelrun: rank 0 .* exited without keel_finalize$"
exits 5 "" -n 1 "$helpers/member" exit 5

# the first that fails decides, and the others are ended
exits 3 "^keelrun: rank 1 .* exited with code 3$" -n 2 --oversubscribe \
    sh -c '[ $KEEL_RANK = 1 ] && exit 3; exec sleep 60'
ok "the others are ended soon" [ "$wall_ms" -lt $((2000 * slow)) ]
exits 3 "" -n 2 --oversubscribe \
    bash -c '[ $KEEL_RANK = 1 ] && exit 3; trap "" TERM; while :; do sleep 60; done'
ok "also one that ignores SIGTERM" [ "$wall_ms" -lt $((4000 * slow)) ]

# keel_abort
exits 7 "^keelrun: rank 1 .* aborted the job with code 7: asked for 7$" \
    -n 2 "$helpers/member" abort 7
exits 1 "aborted the job with code 1: asked for 0$" -n 1 "$helpers/member" abort 0
exits 7 "^keelrun: rank 1 .* aborted the job with code 7$" -n 2 "$helpers/member" give-up 7
exits 7 "^keelrun: rank 1 .* on node node1 aborted the job with code 7: asked for 7$" \
    --simulate 2x1 "$helpers/member" abort 7

# a rank that is killed while its peers are inside a fence: they learn of it
run_limited 15 "$keelrun" -n 2 --mca abort_grace_ms 10000 sh -c \
    '[ $KEEL_RANK = 0 ] && exec "$0" fences; timeout -s KILL 0.2 "$0" hang; kill -KILL $$' \
    "$helpers/member"
is "a peer that dies: exit code" 137 "$code"
ok "a peer that dies ends the others' fence" [ "$wall_ms" -lt $((5000 * slow)) ]

run_limited 15 "$keelrun" --oversubscribe --enable-recovery -n 3 false
is "with recovery the job goes on, but not behind the last rank" "1 2 1" \
    "$code $(grep -c 'code 1; the job goes on$' "$work/err") $(grep -c 'code 1$' "$work/err")"

# --- jobs of other resource managers: their nodes, by the agent ---

printf '#!/bin/sh\nshift\nexec "$@"\n' >"$work/agent"
chmod +x "$work/agent"
# given TITLE VARIABLE=VALUE ARGUMENT...: a rank on each of the slots of n1, n1 and n2.
given()
{
    local title=$1 variable=$2
    shift 2
    run_limited 15 env "$variable" "$keelrun" --mca plm_rsh_agent "$work/agent" "$@" \
        sh -c 'echo $KEEL_NODE'
    is "in a job of $title" "0 n1 n1 n2" "$code $(sort "$work/out" | xargs)"
}
printf 'n1\nn2\nn1\n' >"$work/nodes"
given PBS PBS_NODEFILE="$work/nodes"
given LSF LSB_DJOB_HOSTFILE="$work/nodes"
printf 'n1 2 all.q@n1 UNDEFINED\nn2 4 all.q@n2 UNDEFINED\n' >"$work/nodes"
given "SGE, with fewer ranks" PE_HOSTFILE="$work/nodes" -n 3
given "SGE, with hosts chosen" PE_HOSTFILE="$work/nodes" --host n2:1,n1
given "LSF that sets LSB_MCPU_HOSTS only" LSB_MCPU_HOSTS='n1 2 n2 1'
given "LSF that sets LSB_HOSTS only" LSB_HOSTS='n1 n2 n1'
LSB_HOSTS='n1 n2' exits 125 \
    "^keelrun: host n3 is not in the allocation of LSF's job .$" \
    --host n3 true
PBS_NODEFILE="$work/nowhere" exits 125 \
    "^keelrun: PBS_NODEFILE=$work/nowhere: No such file or directory$" -n 1 true
run_limited 15 env LSB_HOSTS='n1 n2' "$keelrun" --host localhost --mca plm rsh -n 1 true
is "a host outside of a job" "0 0" "$code $(wc -l <"$work/err")"

# --- the runtime fails: 125 ---

cat >"$work/agent" <<'END'
#!/bin/sh
echo "no way to $1" >&2
exit 7
END
chmod +x "$work/agent"
exits 125 "^keelrun: node far: no way to far \(the agent ended with code 7 before the daemon called home\)$" \
    --host far:1 --mca plm_rsh_agent "$work/agent" true
is "the agent's own words are the reason, and said once" 1 "$(wc -l <"$work/err")"
printf '#!/bin/sh\nkill -KILL $$\n' >"$work/agent"
exits 125 "^keelrun: node far: the agent was killed by signal 9 before the daemon called home$" \
    --host far:1 --mca plm_rsh_agent "$work/agent" true
exits 125 "^keelrun: nodes far\[1-2\]: the agent was killed by signal 9 before the daemon called home$" \
    --host far1:1,far2:1 --mca plm_rsh_agent "$work/agent" true
cat >"$work/agent" <<'END'
#!/bin/sh
case $1 in
late*) while ! [ -e "$0.go" ]; do sleep 0.02; done; exit 7 ;;
lost*) : >"$0.go"; exit 127 ;;
*) shift; exec "$@" ;;
esac
END
exits 125 "^keelrun: nodes late\[1-2\]: the agent ended with code 7 before the daemon called home$" \
    --host lost1:1,late1:1,fine:1,late2:1,lost2:1 --mca plm_rsh_agent "$work/agent" true
like "bad nodes: those without keeld, too" "$work/err" \
    "^keelrun: nodes lost\[1-2\]: there is no $(realpath "$keeld") there, .*at the same place"
is "bad nodes: the last line counts them" "keelrun: 4 of 5 nodes cannot be started" "$(tail -n 1 "$work/err")"
printf '#!/bin/sh\n[ "$1" = lost ] && exit 126\nexec sleep 60\n' >"$work/agent"
exits 125 "^keelrun: node lost: $(realpath "$keeld") cannot be executed there \(code 126\)$" \
    --host hangs:1,lost:1 --mca plm_start_timeout_s 3 --mca plm_rsh_agent "$work/agent" true
ok "a bad node beside one that hangs: soon" [ "$wall_ms" -lt $((3000 * slow)) ]
exits 125 "^keelrun: cannot start the daemons: $work/no-agent: No such file" \
    --host far:1 --mca plm_rsh_agent "$work/no-agent" true
printf '#!/bin/sh\nexec sleep 60\n' >"$work/agent"
exits 125 "^keelrun: node far: its daemon has not called home within 1 s \(plm_start_timeout_s\)$" \
    --host far:1 --mca plm_start_timeout_s 1 --mca plm_rsh_agent "$work/agent" true
ok "an agent that hangs: on time" [ "$wall_ms" -lt $((4000 * slow)) ]
printf '#!/bin/sh\nshift\nKEEL_MCA_fault=launcher.launch:delay=60000 exec "$@"\n' >"$work/agent"
exits 125 "^keelrun: node far: its daemon has not started its ranks within 1 s \(plm_launch_timeout_s\)$" \
    --host far:1 --mca plm_launch_timeout_s 1 --mca plm_rsh_agent "$work/agent" sleep 60
ok "a daemon that hangs: on time" [ "$wall_ms" -lt $((9000 * slow)) ]
printf '#!/bin/sh\nshift\nexec "$@"\n' >"$work/agent"
exits 0 "" --host far:2 -n 2 --mca plm_rsh_agent "$work/agent" sh -c 'echo $KEEL_NODE'
is "a daemon that an agent started" "far far" "$(tr '\n' ' ' <"$work/out" | sed 's/ $//')"

# --- command line ---

run_limited 5 "$keelrun" --version
is "--version: exit code" 0 "$code"
like "--version" "$work/out" "^keelrun \(Keel\) [0-9]+\.[0-9]"
run_limited 5 env KEEL_MCA_plm_rsh_agent="a$(printf '\t')b\\" "$keelrun" --mca routed_radix 3 --parameters
is "--parameters: exit code, nothing on stderr" 0: "$code:$(cat "$work/err")"
is "--parameters: ten fields a line" 10 "$(awk -F'\t' '{ print NF }' "$work/out" | sort -u)"
is "--parameters: of the command line" "3:command line" \
    "$(awk -F'\t' '$1 == "routed_radix" { print $5 ":" $6 }' "$work/out")"
is "--parameters: what a field cannot have" 'a\tb\\:environment' \
    "$(awk -F'\t' '$1 == "plm_rsh_agent" { print $5 ":" $6 }' "$work/out")"

run_limited 5 "$keelrun" --help
is "--help: exit code" 0 "$code"
for word in -n -x --wdir --mca --bind-to --oversubscribe --simulate --tag-output --timeout \
    --report-bindings --version --help : Examples; do
    grep -q -e "^ *$word\|, $word" "$work/out" || missing="$missing $word"
done
is "--help: names every option, and examples" "" "$missing"

run_limited 10 "$keelrun" --oversubscribe -n 1 sh -c 'echo a$KEEL_RANK/$KEEL_SIZE' : \
    -n 2 sh -c 'echo b$KEEL_RANK/$KEEL_SIZE'
is "several programs: exit code" 0 "$code"
is "several programs are one job" "a0/3 b1/3 b2/3" "$(sort "$work/out" | tr '\n' ' ' | sed 's/ $//')"

export KT_OWN=own
run_limited 10 "$keelrun" -n 1 -x KT_OWN -x KT_SET=set -x KT_EMPTY= \
    sh -c 'echo "$KT_OWN $KT_SET ${KT_EMPTY-unset}|"' : -n 1 sh -c 'echo "${KT_SET-unset}"'
is "-x reaches its own program" "own set |" "$(grep '|$' "$work/out")"
is "-x reaches no other" "unset" "$(grep -v '|$' "$work/out")"

mkdir "$work/a folder"
run_limited 10 "$keelrun" -n 1 --wdir "$work/a folder" pwd
is "--wdir" "$work/a folder" "$(cat "$work/out")"
(cd "$work/a folder" && exec "$keelrun" --simulate 1x1 pwd) >"$work/out" 2>"$work/err"
is "without --wdir: keelrun's folder" "$work/a folder" "$(cat "$work/out")"
printf '#!/bin/sh\necho "found here"\n' | tee "$work/a folder/tool" >"$work/a folder/hostname"
chmod +x "$work/a folder/tool" "$work/a folder/hostname"
for layout in "-n 1" "--simulate 1x1"; do
    # shellcheck disable=SC2086 # words
    run_limited 10 "$keelrun" $layout --wdir "$work/a folder" tool
    is "a program in the working folder is found, $layout" "0 found here" "$code $(cat "$work/out")"
    # shellcheck disable=SC2086
    run_limited 10 "$keelrun" $layout --wdir "$work/a folder" hostname
    is "after those in PATH, $layout" "$host" "$(cat "$work/out")"
done
exits 125 "^keelrun: cannot enter the folder $work/nowhere on node $host" \
    -n 1 --wdir "$work/nowhere" pwd

run_limited 10 "$keelrun" -n 1 --mca kt_param value sh -c 'echo $KEEL_MCA_kt_param $OMPI_MCA_kt_param'
is "--mca reaches the ranks under both names" "value value" "$(cat "$work/out")"
run_limited 10 "$keelrun" --simulate 1x1 --mca kt_param value sh -c \
    'echo $KEEL_MCA_kt_param $OMPI_MCA_kt_param'
is "--mca reaches other nodes" "value value" "$(cat "$work/out")"

run_limited 10 "$keelrun" --simulate 2x2 sh -c \
    'echo $KEEL_RANK $KEEL_LOCAL_RANK/$KEEL_LOCAL_SIZE $KEEL_NODE $KEEL_NODE_ID'
is "who a rank is" "$(printf '0 0/2 node0 0\n1 1/2 node0 0\n2 0/2 node1 1\n3 1/2 node1 1')" \
    "$(sort "$work/out")"

run_limited 10 "$keelrun" --simulate 2x2 sh -c '[ "${KEEL_HNP%%.*}" = "${KEEL_DAEMON%%.*}" ] &&
    [ "${KEEL_HNP#*.}" != "${KEEL_DAEMON#*.}" ] && echo $KEEL_APP' : -n 1 sh -c 'echo $KEEL_APP'
is "which program, and where keelrun is" "$(printf '0\n0\n0\n1')" "$(sort "$work/out")"

# --- slots ---

run_limited 10 "$keelrun" sh -c 'echo $KEEL_SIZE'
is "without -n: as many ranks as slots" "$cpus" "$(wc -l <"$work/out")"
run_limited 10 "$keelrun" --simulate 3x2 true
is "simulated slots: exit code" 0 "$code"
run_limited 10 "$keelrun" --host localhost:3 sh -c 'echo $KEEL_SIZE'
is "slots of a host" 3 "$(wc -l <"$work/out")"
exits 125 "^keelrun: 7 ranks are more than the 6 slots that were given; --oversubscribe allows it$" \
    --simulate 3x2 -n 7 true
exits 125 "^keelrun: 3 ranks are more than the 2 slots" --host localhost:2 -n 3 true
run_limited 10 "$keelrun" --simulate 3x2 --oversubscribe -n 13 sh -c 'echo $KEEL_NODE'
is "--oversubscribe: exit code" 0 "$code"
is "--oversubscribe: every rank has a node" "13 3" \
    "$(wc -l <"$work/out") $(sort -u "$work/out" | wc -l)"
is "--oversubscribe: no warning" "" "$(cat "$work/err")"
run_limited 10 "$keelrun" -n $((cpus + 1)) true
is "more ranks than processors run: exit code" 0 "$code"
is "one warning" "keelrun: warning: $((cpus + 1)) ranks share $cpus processors (--oversubscribe silences this)" \
    "$(cat "$work/err")"
run_limited 10 taskset -c 0 "$keelrun" sh -c 'echo $KEEL_SIZE'
is "slots follow the affinity" 1 "$(cat "$work/out")"

# --- binding ---

allowed='s/^Cpus_allowed_list:[[:space:]]*//p'
own=$(sed -n "$allowed" /proc/self/status)
run_limited 10 "$keelrun" -n 2 --report-bindings sed -n "$allowed" /proc/self/status
is "no binding by default" "$own $own" "$(tr '\n' ' ' <"$work/out" | sed 's/ $//')"
like "--report-bindings says so" "$work/err" "^keelrun: rank 1 on $host: not bound$"
run_limited 10 "$keelrun" -n 1 --bind-to none sed -n "$allowed" /proc/self/status
is "--bind-to none" "$own" "$(cat "$work/out")"
run_limited 10 "$keelrun" --simulate 2x1 --bind-to core --report-bindings \
    sh -c "echo \$KEEL_RANK \$(sed -n '$allowed' /proc/self/status) \$KEEL_BOUND"
is "--bind-to core: exit code" 0 "$code"
for rank in 0 1; do
    reported=$(sed -nE "s/^keelrun: rank $rank on node$rank: bound to processors ([0-9,-]+) \[[]B./~[]+\]\$/\1/p" \
        "$work/err")
    is "--bind-to core: rank $rank is where the report says" "$rank $reported 1" \
        "$(grep "^$rank " "$work/out")"
    ok "--bind-to core: the report names processors" [ -n "$reported" ]
done
exits 2 "none, hwthread, core, .* is needed" --bind-to nowhere true

ok "no session folder is left" wait_for 2 not test -e "$sessions"
finish
