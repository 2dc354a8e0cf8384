# shellcheck shell=bash
# What the system tests share; sourced by bash scripts that print TAP. Every command runs under a
# time limit; nothing sleeps for an event, it is waited for (wait_for). A script ends with finish.
#
#   run_limited 10 keelrun -n 2 hostname    sets code, wall_ms; output in $work/out and $work/err
#   start keelrun -n 2 ...                  the same in the background: pid; end with await LIMIT
#   is "what" EXPECTED GOT                  one TAP line; also ok, like, no_leftovers

: "${KEEL_TEST_SRCDIR:?}" "${KEEL_TEST_BUILDDIR:?}"
# shellcheck disable=SC2034 # for the scripts
readonly keelrun=$KEEL_TEST_BUILDDIR/bin/keelrun keeld=$KEEL_TEST_BUILDDIR/bin/keeld
# shellcheck disable=SC2034
readonly handoff=$KEEL_TEST_BUILDDIR/examples/handoff helpers=$KEEL_TEST_BUILDDIR/tests/system

# Sessions in a folder of the test's own; its path must be short, for sockets are made in it.
# In memory where programs may be run there: a disk that stalls for seconds is no launcher that hangs.
base=/dev/shm
if ! [ -w $base ] || ! findmnt -n -o OPTIONS $base 2>/dev/null | grep -vq noexec; then
    base=/tmp
fi
work=$(mktemp -d $base/kt.XXXXXX) || exit 1
readonly work
export TMPDIR=$work
unset XDG_RUNTIME_DIR "${!KEEL_MCA_@}" KEEL_DAEMON KEEL_RANK KEEL_JOB
sessions=$work/keel-$(id -u)
readonly sessions

# Sanitizers make everything slower, and the address space larger.
sanitize=$(sed -n 's/^KEEL_LDFLAGS = .*\(-fsanitize=[^ ]*\).*/\1/p' "$KEEL_TEST_BUILDDIR/Makefile")
readonly sanitize
slow=1
if [ -n "$sanitize" ]; then # what any process finds out goes to a file, which finish looks for
    slow=4
    export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}log_path=$work/sanitizer"
    export UBSAN_OPTIONS="${UBSAN_OPTIONS:+$UBSAN_OPTIONS:}log_path=$work/sanitizer"
    export TSAN_OPTIONS="${TSAN_OPTIONS:+$TSAN_OPTIONS:}log_path=$work/sanitizer"
    TSAN_OPTIONS+=:suppressions=$KEEL_TEST_SRCDIR/tests/lib/tsan.supp
fi
readonly slow

# Takes away what an outer launcher of MPI programs has set.
forget_launchers()
{
    unset "${!OMPI_@}" "${!PMIX_@}" "${!PMI_@}" "${!MPI_@}"
}

# What libpmix and hwloc keep to a process's end is no leak of Keel's.
excuse_libpmix()
{
    printf 'leak:libpmix.so\nleak:libhwloc.so\n' >"$work/leaks"
    export LSAN_OPTIONS=suppressions=$work/leaks:print_suppressions=0
}

number=0
marks=0
mark=none
cleanups=()
started=() # pids of this test's own background processes
limited=   # the pid, and the process group, of what run_limited runs

at_exit()
{
    cleanups+=("$*")
}

# The number of one that has ended may be another process's by now.
is_child()
{
    local stat
    { read -r stat <"/proc/$1/stat"; } 2>/dev/null && [[ ${stat##*)} == " "?" $$ "* ]]
}

clean_up()
{
    local i
    trap '' HUP INT TERM # timeout(1) sends two; the second would end this
    for i in "${started[@]}" "$meter_pid"; do
        ! is_child "$i" || kill -KILL "$i" 2>/dev/null
    done
    for i in $limited ${limited:+-$limited}; do
        kill -KILL -- "$i" 2>/dev/null
    done
    for ((i = ${#cleanups[@]} - 1; i >= 0; i--)); do
        eval "${cleanups[i]}"
    done
    rm -rf "$work"
}
trap clean_up EXIT
trap 'trap "" HUP INT TERM; exit 1' HUP INT TERM

# Busy machines, and guests of busy hosts, stand still for seconds: for the tests and what they test
# alike. That time does not count: a meter wakes up all the time and adds up by how much it was late.
wall_clock()
{
    local now=${EPOCHREALTIME/[.,]/}
    echo $((now / 1000))
}

meter()
{
    local before now stalled=0
    before=$(wall_clock)
    exec 4<>"$work/nothing"
    while [ -d "$work" ]; do
        read -rt 0.1 <&4
        now=${EPOCHREALTIME/[.,]/}
        now=$((now / 1000))
        [ $((now - before)) -le 300 ] || stalled=$((stalled + now - before - 100))
        before=$now
        printf '%020d %020d\n' "$now" "$stalled" 1<>"$work/meter" # one write, always as long
    done
}

now_ms()
{
    local now last stalled
    now=$(wall_clock)
    read -r last stalled <"$work/meter"
    last=$((10#$last)) stalled=$((10#$stalled))
    if [ $((now - last)) -gt 300 ]; then
        stalled=$((stalled + now - last - 100))
    fi
    echo $((now - stalled))
}

mkfifo "$work/nothing"
printf '%020d %020d\n' "$(wall_clock)" 0 >"$work/meter"
meter </dev/null >/dev/null 2>&1 &
meter_pid=$!
disown "$meter_pid"

# --- TAP ---

# ok NAME COMMAND...: passes when the command succeeds.
ok()
{
    local name=$1
    shift
    number=$((number + 1))
    if "$@"; then
        echo "ok $number - $name"
        return 0
    fi
    echo "not ok $number - $name"
    echo "#   failed: $*"
    diagnose
    return 1
}

# What the last command said.
diagnose()
{
    echo "#   command: ${command[*]-}"
    echo "#   code ${code-?}, ${wall_ms-?} ms"
    [ ! -f "$work/out" ] || head -c 2000 "$work/out" | tr -d '\0' | sed 's/^/#   stdout: /'
    [ ! -f "$work/err" ] || head -c 6000 "$work/err" | tr -d '\0' | sed 's/^/#   stderr: /'
    echo "#"
}

is()
{
    local name=$1 expected=$2 got=$3
    number=$((number + 1))
    if [ "$expected" = "$got" ]; then
        echo "ok $number - $name"
        return 0
    fi
    echo "not ok $number - $name"
    printf 'expected: %s\ngot: %s\n' "$expected" "$got" | head -n 40 | sed 's/^/#   /'
    diagnose
    return 1
}

# like NAME FILE PATTERN: a line of the file matches (grep -E).
like()
{
    ok "$1" grep -Eq -e "$3" "$2"
}

unlike()
{
    ok "$1" not grep -Eq -e "$3" "$2"
}

not()
{
    ! "$@"
}

skip()
{
    number=$((number + 1))
    echo "ok $number # SKIP $1: $2"
}

finish()
{
    if [ -n "$sanitize" ]; then
        # that a thread ended while LeakSanitizer looked is no finding
        is "nothing found by sanitizers" "" \
            "$(cat "$work"/sanitizer.* 2>/dev/null | grep -v 'Unable to get registers from thread')"
    fi
    echo "1..$number"
    exit 0
}

# --- running ---

# run_limited SECONDS COMMAND...: code is "late" when it took longer; it is killed when it hangs. Of
# wall_ms the time that the machine stood still is taken off; of real_ms, for lower bounds, not.
# Its standard input is the file named by $input. It runs in the background, in a process group of its
# own: bash heeds a signal at once, not at the command's end, and clean_up ends the group.
run_limited()
{
    local limit=$(($1 * slow)) begin real_begin
    shift
    command=("$@")
    begin=$(now_ms)
    real_begin=$(wall_clock)
    env --default-signal=INT,QUIT timeout -s KILL $((2 * limit + 120)) "$@" <"${input:-/dev/null}" \
        >"$work/out" 2>"$work/err" &
    limited=$!
    wait $limited 2>/dev/null
    code=$?
    limited=
    wall_ms=$(($(now_ms) - begin))
    real_ms=$(($(wall_clock) - real_begin))
    if [ $wall_ms -ge $((limit * 1000)) ]; then
        code=late
    fi
}

# Starts a command in the background, with the signals that a shell ignores there at their default;
# its pid in $pid. Standard input is the file named by $input. It and all that it starts carry a mark
# in their environment, for no_leftovers.
start()
{
    command=("$@")
    code="" wall_ms=""
    mark=$BASHPID.$((++marks))
    : >"$work/out" # at once: the process empties them some time later
    : >"$work/err"
    env --default-signal=INT,QUIT KT_MARK="$mark" "$@" <"${input:-/dev/null}" >"$work/out" 2>"$work/err" &
    pid=$!
    started+=("$pid")
    started_ms=$(now_ms)
}

# How long a process was ready to run and had no processor, in delay_ms; as before when it is gone.
look_at_delay()
{
    local delayed
    if { read -r _ delayed _ <"/proc/$1/schedstat"; } 2>/dev/null; then
        delay_ms=$((delayed / 1000000))
    fi
}

# await SECONDS: waits for the end of what was started last, or kills it (code late). For as long as it
# was kept from running it may take longer, up to four times as long.
await()
{
    local limit=$(($1 * 1000 * slow)) begin delay_ms=0 delayed delay
    begin=$(now_ms)
    look_at_delay "$pid"
    delayed=$delay_ms
    code=
    while kill -0 "$pid" 2>/dev/null && ! is_zombie "$pid"; do
        look_at_delay "$pid"
        delay=$((delay_ms - delayed < 3 * limit ? delay_ms - delayed : 3 * limit))
        if [ $(($(now_ms) - begin - delay)) -ge $limit ]; then
            { where_it_is "$pid"; descendants "$pid" | while read -r one _; do where_it_is "$one"; done; } \
                >>"$work/err" 2>&1
            kill -KILL "$pid"
            code=late
            break
        fi
        pause
    done
    wait "$pid" 2>/dev/null
    code=${code:-$?}
    wall_ms=$(($(now_ms) - started_ms))
    unset "started[-1]"
}

# where_it_is PID: what a process that is late does: its state, where the kernel has it, its stacks.
where_it_is()
{
    echo "late: $1 $(tr '\0' ' ' <"/proc/$1/cmdline")($(sed 's/.*) \(.\).*/\1/' "/proc/$1/stat")," \
        "$(cat "/proc/$1/wchan"))"
    timeout 20 gdb -p "$1" -batch -ex 'thread apply all bt 12' 2>/dev/null | grep -E '^(#|Thread)'
}

# A breath between two looks at a condition.
pause()
{
    sleep 0.02
}

# wait_for SECONDS COMMAND...: until the command succeeds; its last status.
wait_for()
{
    local end=$(($(now_ms) + $1 * 1000 * slow))
    shift
    until "$@"; do
        if [ "$(now_ms)" -ge $end ]; then
            return 1
        fi
        pause
    done
}

# Sets another_user, a command that runs another as nobody; or $reason, where this cannot be: only root
# becomes another user, who cannot run what lies in a folder of root's alone.
find_another_user()
{
    another_user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
    reason="this needs root"
    [ "$(id -u)" = 0 ] || return 1
    reason="no setpriv"
    type -P setpriv >/dev/null || return 1
    reason="another user cannot reach $KEEL_TEST_BUILDDIR"
    "${another_user[@]}" test -x "$keelrun"
}

# "0-2,4" as "0 1 2 4"
expand()
{
    tr ',' '\n' <<<"$1" | while IFS=- read -r first last; do
        seq "$first" "${last:-$first}"
    done | sort -n | paste -sd ' '
}

# Whether FILE has at least COUNT lines.
has_lines()
{
    [ -f "$1" ] && [ "$(wc -l <"$1")" -ge "$2" ]
}

# --- processes ---

is_zombie()
{
    local stat
    { read -r stat <"/proc/$1/stat"; } 2>/dev/null && [[ ${stat##*)} == " Z"* ]]
}

is_alive()
{
    kill -0 "$1" 2>/dev/null && ! is_zombie "$1"
}

is_gone()
{
    ! is_alive "$1"
}

# The living processes with NAME=VALUE in their environment (KEEL_JOB: a job's ranks and what they
# started).
processes_with()
{
    # a process may end while it is looked at
    grep -lzx -e "$1" /proc/[0-9]*/environ 2>/dev/null | sed 's,^/proc/,,; s,/environ$,,'
}

# Descendants of a process, with their names: "PID NAME", in the order of the tree.
descendants()
{
    cat /proc/[0-9]*/stat 2>/dev/null | awk -v root="$1" '
        {
            open = index($0, "("); close_at = 0
            for (i = length($0); i > 0; i--) if (substr($0, i, 1) == ")") { close_at = i; break }
            pid = substr($0, 1, open - 2); split(substr($0, close_at + 2), rest, " ")
            name[pid] = substr($0, open + 1, close_at - open - 1)
            children[rest[2]] = children[rest[2]] " " pid
        }
        function walk(pid, list, n, i) {
            n = split(children[pid], list, " ")
            for (i = 1; i <= n; i++) { print list[i], name[list[i]]; walk(list[i]) }
        }
        END { walk(root) }'
}

# child_named PID NAME: the first descendant of this name.
child_named()
{
    descendants "$1" | awk -v name="$2" '$2 == name { print $1; exit }'
}

# --- leftovers ---

# What a job left: its processes, what was started last, those of a tree noted before (pids), shared
# memory, session folders.
leftovers()
{
    local uuid=$1 pids=$2 one
    [ -z "$uuid" ] || processes_with "KEEL_JOB=$uuid" | sed 's/^/process of the job: /'
    processes_with "KT_MARK=$mark" | sed 's/^/started process: /'
    for one in $pids; do
        if is_alive "$one"; then
            echo "process: $one $(cat "/proc/$one/comm" 2>/dev/null)"
        fi
    done
    [ -z "$uuid" ] || find /dev/shm -name "*$uuid*" 2>/dev/null
    [ ! -e "$sessions" ] || find "$sessions" -mindepth 1 2>/dev/null
}

has_no_leftovers()
{
    [ -z "$(leftovers "$1" "$2")" ]
}

# no_leftovers NAME UUID [PIDS]: everything is gone within 2 s (from now).
no_leftovers()
{
    local name=$1 uuid=$2 pids=${3-}
    if [ -n "${uuid//[0-9a-f]/}" ] || [ ${#uuid} -ne 32 ]; then
        uuid=
    fi
    number=$((number + 1))
    if wait_for 2 has_no_leftovers "$uuid" "$pids"; then
        echo "ok $number - $name"
        return 0
    fi
    echo "not ok $number - $name"
    leftovers "$uuid" "$pids" | head -n 20 | sed 's/^/#   left: /'
    diagnose
    return 1
}
