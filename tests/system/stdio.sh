#!/bin/bash
# Standard input, output and error: byte for byte, bounded, and ended in every way.
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"

flood=$helpers/flood

# limited SECONDS COMMAND...: for pipelines; its code.
limited()
{
    local limit=$(($1 * slow))
    shift
    timeout -s KILL $((2 * limit + 120)) "$@"
}

# --- output ---

limited 30 "$keelrun" -n 4 --oversubscribe "$flood" write 5000000 2>"$work/err" |
    "$flood" verify 4 5000000 >"$work/out"
is "20 MB of stdout from 4 ranks" "0 right" "${PIPESTATUS[0]} $(cat "$work/out")"
is "20 MB of stdout: nothing on stderr" "" "$(cat "$work/err")"
limited 30 "$keelrun" --simulate 2x2 "$flood" write 5000000 2>"$work/err" |
    "$flood" verify 4 5000000 >"$work/out"
is "20 MB of stdout over two nodes" "0 right" "${PIPESTATUS[0]} $(cat "$work/out")"
limited 30 "$keelrun" -n 1 sh -c '"$0" write 5000000 >&2' "$flood" 2>&1 >"$work/out" |
    "$flood" verify 1 5000000 >"$work/err"
is "5 MB of stderr" "right" "$(cat "$work/err")"
is "5 MB of stderr: nothing on stdout" "" "$(cat "$work/out")"

run_limited 10 "$keelrun" -n 2 --oversubscribe sh -c 'echo out$KEEL_RANK; echo err$KEEL_RANK >&2'
is "stderr apart: stdout" "out0 out1" "$(sort "$work/out" | xargs)"
is "stderr apart: stderr" "err0 err1" "$(sort "$work/err" | xargs)"

run_limited 10 "$keelrun" -n 1 printf 'no newline'
is "output without a newline" "no newline" "$(cat "$work/out")"
run_limited 10 "$keelrun" -n 1 printf 'a\0b\n\0'
is "NUL bytes" "a.b\n." "$(tr '\0' . <"$work/out" | sed ':a; N; s/\n/\\n/; ta')"

input=/ run_limited 10 "$keelrun" -n 1 cat
is "a folder as standard input: exit code" 0 "$code"
like "a folder as standard input: it says so" "$work/err" "standard input cannot be read: Is a directory$"

# the last bytes of a rank that ends at once
wrong=0
for ((i = 0; i < 50; i++)); do
    run_limited 10 "$keelrun" -n 2 --oversubscribe sh -c 'printf %s abcdefghij; printf %s klmno >&2'
    [ "$code $(cat "$work/out") $(cat "$work/err")" = \
        "0 abcdefghijabcdefghij klmnoklmno" ] || wrong=$((wrong + 1))
done
is "output just before the end, 50 times" 0 $wrong
run_limited 10 "$keelrun" -n 2 --oversubscribe sh -c \
    '[ $KEEL_RANK = 1 ] || { "$0" write 1000000; exit 5; }; exec sleep 60' "$flood"
is "output of a job that fails: exit code" 5 "$code"
is "output of a job that fails: whole" right "$("$flood" verify 1 1000000 <"$work/out")"

# a reader that leaves: the writer ends as in any pipeline
for where in "-n 1" "--simulate 1x1"; do
    # shellcheck disable=SC2086
    limited 10 "$keelrun" $where yes 2>"$work/err" | head -n 1 >"$work/out"
    code=${PIPESTATUS[0]}
    is "a reader that leaves ($where): what it read" y "$(cat "$work/out")"
    is "a reader that leaves ($where): the writer's signal" $((128 + 13)) "$code"
done
limited 10 "$keelrun" -n 1 sh -c 'trap "" PIPE; i=0
    while [ $i -lt 200000 ]; do echo $i || exit 4; i=$((i + 1)); done' 2>"$work/err" | head -n 1 >"$work/out"
is "a reader that leaves, SIGPIPE ignored: the write fails" "4 0" \
    "${PIPESTATUS[0]} $(cat "$work/out")"
limited 10 "$keelrun" -n 2 sh -c 'echo a' 2>"$work/err" | : >"$work/out"
code=${PIPESTATUS[0]}
ok "a reader that was never there: it ends" [ "$code" = 0 -o "$code" = 141 -o "$code" = 125 ]

limited 10 "$keelrun" --help >/dev/full 2>"$work/err"
is "stdout is full: --help ends with" 125 "$?"
like "stdout is full: --help says so" "$work/err" "stdout: No space left on device"
limited 10 "$keelrun" --version >&- 2>"$work/err"
is "stdout is closed: --version ends with" 125 "$?"
limited 10 "$keelrun" -n 2 echo text >/dev/full 2>"$work/err"
is "stdout is full: exit code" 125 "$?"
like "stdout is full: it says so" "$work/err" "stdout: No space left on device"
limited 10 "$keelrun" -n 1 sh -c 'echo out; echo err >&2; exit 6' 2>/dev/full >"$work/out"
is "stderr is full: the job's own code" 6 "$?"
limited 10 "$keelrun" -n 1 sh -c 'echo out; echo err >&2' 2>/dev/full >"$work/out"
is "stderr is full, and all ranks ended with 0: exit code" 125 "$?"
limited 10 "$keelrun" -n 1 sh -c 'echo out; echo err >&2' >&- 2>"$work/err"
is "stdout is closed: exit code" 125 "$?"
like "stdout is closed: it says so" "$work/err" "^keelrun: stdout: Bad file descriptor"
like "stdout is closed: stderr is whole" "$work/err" "^err$"
limited 10 "$keelrun" -n 1 sh -c 'echo out; exit 6' >&- 2>"$work/err"
is "stdout is closed: the job's own code" 6 "$?"
limited 10 "$keelrun" -n 1 true >&- 2>"$work/err"
is "stdout is closed, and nobody writes" 0 "$?"
limited 10 "$keelrun" -n 1 sh -c 'echo out; echo err >&2' 2>&- >"$work/out"
is "stderr is closed" "125 out" "$? $(cat "$work/out")"
limited 10 "$keelrun" -n 100 true 2>&- >"$work/out"
is "stderr is closed, and only keelrun writes" 125 "$?"
limited 10 "$keelrun" --report-bindings -n 2 true 2>/dev/full
is "stderr is full, and only keelrun writes" 125 "$?"
limited 10 "$keelrun" --report-bindings -n 2 sh -c 'exit 6' 2>/dev/full
is "stderr is full, and only keelrun writes: the job's own code" 6 "$?"
mkfifo "$work/unread"
exec 6<>"$work/unread" 7>"$work/unread" 6<&-
limited 10 "$keelrun" -n 1 sh -c 'trap "" PIPE; echo out' >&7 2>"$work/err"
is "nobody reads: exit code" 125 "$?"
like "nobody reads: it says so" "$work/err" "^keelrun: stdout: nobody reads it any more"
exec 7>&-

# a reader that reads nothing for a while: ranks wait, and keelrun does not grow
mkfifo "$work/pipe"
"$keelrun" -n 2 "$flood" write 30000000 >"$work/pipe" 2>"$work/err" </dev/null &
pid=$!
started+=("$pid")
exec 5<"$work/pipe"
ranks_wait()
{
    local now=
    for one in $(descendants $pid | awk '$2 == "flood" { print $1 }'); do
        now="$now $(sed -n 's/^wchar: //p' "/proc/$one/io" 2>/dev/null)"
    done
    calm=$((calm + 1))
    if [ "$now" != "$before" ] || [ -z "$now" ]; then
        calm=0
        before=$now
    fi
    [ $calm -ge 15 ]
}
calm=0 before=
ok "a reader that does not read: ranks wait" wait_for 20 ranks_wait
memory=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' /proc/$pid/status)
echo "# keelrun's memory: $memory kB"
ok "a reader that does not read: keelrun stays small" [ "$memory" -lt $((32000 * slow * slow)) ]
"$flood" verify 2 30000000 <&5 >"$work/out"
exec 5<&-
wait $pid
is "a reader that does not read for a while: byte for byte" "0 right" "$? $(cat "$work/out")"
unset "started[-1]"

# --- a terminal for the ranks ---

# Which of its outputs are terminals.
ttys='[ ! -t 1 ] || echo out; [ ! -t 2 ] || echo err; exit 0'
run_limited 10 "$keelrun" -n 1 sh -c "$ttys"
is "no pty where keelrun's output is none" "0 " "$code $(xargs <"$work/out")"
run_limited 10 "$keelrun" --pty --simulate 2x1 sh -c "$ttys"
is "--pty: standard output alone, on each node" "0 out out" "$code $(xargs <"$work/out")"

for where in "-n 4 --oversubscribe" "--simulate 2x2"; do
    # shellcheck disable=SC2086
    limited 30 "$keelrun" --pty $where "$flood" write 2000000 2>"$work/err" |
        "$flood" verify 4 2000000 >"$work/out"
    is "--pty: 8 MB ($where)" "0 right" "${PIPESTATUS[0]} $(cat "$work/out")"
done
wrong=0
for ((i = 0; i < 20; i++)); do
    run_limited 10 "$keelrun" --pty -n 2 --oversubscribe sh -c \
        'printf "a\\nb\\r\\nc\\003\\004"; printf %s klmno >&2'
    [ "$code $(od -An -c "$work/out" | tr -d ' \n') $(cat "$work/err")" = \
        '0 a\nb\r\nc003004a\nb\r\nc003004 klmnoklmno' ] || wrong=$((wrong + 1))
done
is "--pty: bytes as they are, to the last" 0 $wrong

# what is written through stdio, to a pipe beside it
start "$keelrun" --pty -n 2 --oversubscribe sh -c '(echo shown; exec sleep 60) | cut -c 1-'
ok "--pty: lines are shown at once" wait_for 10 has_lines "$work/out" 2
kill -INT $pid
await 10
is "--pty: a job that is interrupted" 130 "$code"

limited 10 "$keelrun" --pty -n 1 yes 2>"$work/err" | head -n 1 >"$work/out"
is "--pty: a reader that leaves" "141 y" "${PIPESTATUS[0]} $(cat "$work/out")"
best_ms=100000
for _ in 1 2 3 4 5; do
    begin=$(now_ms)
    limited 10 "$keelrun" --pty -n 1 yes 2>"$work/err" | head -n 1 >"$work/out"
    took_ms=$(($(now_ms) - begin))
    best_ms=$((took_ms < best_ms ? took_ms : best_ms))
done
ok "--pty: a reader that leaves: the end is not waited for ($best_ms ms)" [ $best_ms -lt $((90 * slow)) ]
limited 10 "$keelrun" --pty -n 1 sh -c 'trap "" PIPE; i=0
    while [ $i -lt 200000 ]; do echo $i || exit 4; i=$((i + 1)); done' 2>"$work/err" | head -n 1 >"$work/out"
is "--pty: a reader that leaves, SIGPIPE ignored: the write fails" "4 0" \
    "${PIPESTATUS[0]} $(cat "$work/out")"

without_pty=(unshare -rm sh -c 'mount --bind /dev/null /dev/ptmx && exec "$0" "$@"')
if "${without_pty[@]}" true 2>/dev/null; then
    run_limited 10 "${without_pty[@]}" "$keelrun" --pty -n 1 sh -c "echo text; $ttys"
    is "--pty where there is none: a pipe" "0 text" "$code $(xargs <"$work/out")"
else
    skip "--pty where there is none" "/dev/ptmx cannot be hidden"
fi

# --- tags ---

line='for i in 1 2 3; do printf "%s" part; printf "%s\n" " $i"; done; printf last; echo e >&2'
run_limited 10 "$keelrun" -n 2 --oversubscribe --tag-output sh -c "$line"
for rank in 0 1; do
    is "--tag-output: rank $rank" "$(printf "[1,$rank]<stdout>: %s\n" "part 1" "part 2" "part 3" last)" \
        "$(grep "^\[1,$rank\]" "$work/out")"
done
is "--tag-output: nothing else" 8 "$(wc -l <"$work/out")"
is "--tag-output: stderr" "[1,0]<stderr>: e [1,1]<stderr>: e" "$(sort "$work/err" | xargs)"
run_limited 10 "$keelrun" -n 4 --oversubscribe --tag-output sh -c \
    'i=0; while [ $i -lt 3000 ]; do echo "$KEEL_RANK line $i of many"; i=$((i + 1)); done'
is "--tag-output: 12000 lines, none torn" 12000 \
    "$(grep -cE '^\[1,([0-3])\]<stdout>: \1 line [0-9]+ of many$' "$work/out")"
is "--tag-output: no other line" 12000 "$(wc -l <"$work/out")"

run_limited 10 env LC_ALL=C "$keelrun" -n 1 --timestamp-output echo text
like "--timestamp-output" "$work/out" \
    '^(Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ 0-9][0-9] [0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6} [0-9]{4} text$'
run_limited 10 "$keelrun" -n 1 --timestamp-output --tag-output echo text
like "the time before the tag" "$work/out" \
    '[0-9]{2}:[0-9]{2}\.[0-9]{6} [0-9]{4} \[1,0\]<stdout>: text$'

run_limited 20 "$keelrun" -n 2 --output-filename "$work/files:nocopy" sh -c '"$0" write 300000; echo e >&2' "$flood"
is "--output-filename: exit code" 0 "$code"
is "--output-filename, :nocopy: nothing on stdout, nor on stderr" ":" "$(cat "$work/out"):$(cat "$work/err")"
"$flood" verify 1 300000 <"$work/files/1/rank.0/stdout" >"$work/verdict"
is "--output-filename: stdout of rank 0" right "$(cat "$work/verdict")"
is "--output-filename: stdout of rank 1" 300000 "$(stat -c %s "$work/files/1/rank.1/stdout")"
is "--output-filename: stderr of rank 1" e "$(cat "$work/files/1/rank.1/stderr")"
run_limited 10 "$keelrun" -n 1 --output-filename "$work/files" echo again
is "--output-filename: an older file is replaced" "0 again" "$code $(cat "$work/files/1/rank.0/stdout")"
is "--output-filename: a copy on stdout" again "$(cat "$work/out")"
mkdir "$work/kept" "$work/kept/1" "$work/kept/1/rank.0.old"
run_limited 10 "$keelrun" -n 1 --output-filename "$work/kept" echo kept
is "--output-filename: a folder that the user has renamed" "0 kept" "$code $(cat "$work/kept/1/rank.0/stdout")"
run_limited 10 sh -c "ulimit -f 8; exec $keelrun -n 1 --output-filename $work/files head -c 100000 /dev/zero"
is "--output-filename: a file that grows too large: exit code" 125 "$code"
like "--output-filename: a file that grows too large: the reason" "$work/err" "^keelrun: .*: File too large"


run_limited 10 "$keelrun" -n 2 --output file="$work/new/log" sh -c 'echo "$KEEL_RANK"; echo e >&2'
is "--output file=NAME: a file for each rank and stream, and a copy" "0:0 1:0:1:e:e" \
    "$code:$(sort "$work/out" | xargs):$(cat "$work/new/log.0.stdout"):$(cat "$work/new/log.1.stdout"):$(cat \
        "$work/new/log.0.stderr"):$(cat "$work/new/log.1.stderr")"
run_limited 20 "$keelrun" --simulate 2x2 --output tag-detailed,file="$work/by/%h/%r:pattern:nocopy" sh -c 'echo "$$"'
is "a pattern: exit code, nothing on stdout" "0:" "$code:$(cat "$work/out")"
is "a pattern: files by node and rank" "node0/0.stdout node0/1.stdout node1/2.stdout node1/3.stdout" \
    "$(cd "$work/by" && find . -type f | sed 's|^\./||' | sort | xargs)"
ok "tag-detailed: namespace, node and pid" grep -Exq '\[keel-[0-9a-f]{32},2\]\[node1:([0-9]+)\]<stdout>: \1' \
    "$work/by/node1/2.stdout"
run_limited 20 "$keelrun" --simulate 2x2 --output file="$work/%h.%j:pattern:nocopy" sh -c \
    'i=0; while [ $i -lt 1000 ]; do echo "$KEEL_RANK line $i of many"; i=$((i + 1)); done; printf rest'
for node in 0 1; do
    is "ranks that share a file (node$node): no line is torn" "2000 2" \
        "$(grep -cEx '[0-3] line [0-9]+ of many' "$work/node$node.1.stdout") $(grep -cx rest "$work/node$node.1.stdout")"
done
run_limited 10 "$keelrun" -n 1 --output tag-fullname,merge-stderr-to-stdout sh -c \
    'echo "$PMIX_NAMESPACE"; sleep 0; echo e >&2'
like "tag-fullname: as the program knows it" "$work/out" '^\[(keel-[0-9a-f]+),0\]<stdout>: \1$'
like "tag-fullname: stderr that is merged" "$work/out" '^\[keel-[0-9a-f]+,0\]<stdout>: e$'
ln -s /dev/full "$work/full.0.stdout"
run_limited 10 "$keelrun" -n 2 --output file="$work/full" echo text
is "a full disk: exit code" 125 "$code"
like "a full disk: the reason, once" "$work/err" "^keelrun: $work/full: No space left on device; output files are not"
is "a full disk: once" 1 "$(grep -c 'output files' "$work/err")"
is "a full disk: the copies are whole" "text text" "$(xargs <"$work/out")"

run_limited 10 "$keelrun" -n 2 --oversubscribe -l sh -c 'echo "line $KEEL_RANK"'
is "-l" "[0] line 0 [1] line 1" "$(sort "$work/out" | xargs)"
run_limited 10 "$keelrun" -n 6 --oversubscribe --output-ranks 1,4-5 sh -c 'echo "$KEEL_RANK"; echo e >&2'
is "--output-ranks: the ranks" "0 1 4 5" "$code $(sort "$work/out" | xargs)"
is "--output-ranks: their stderr" "e e e" "$(xargs <"$work/err")"
run_limited 10 "$keelrun" -n 2 --oversubscribe --output-ranks 1,9 sh -c 'echo "$KEEL_RANK"'
is "--output-ranks: a rank that is not there" "0 1" "$code $(cat "$work/out")"
is "--output-ranks: is warned of" \
    "keelrun: warning: --output-ranks 1,9: there is no rank 9, the ranks are 0 to 1" "$(cat "$work/err")"
run_limited 10 "$keelrun" -n 1 --output tag,raw,file="$work/raw":pattern:raw sh -c 'printf "a\nb"; printf c'
is "--output raw: without tags, and no newline more" "0 a bc." "$code $(cat "$work/out" <(echo .) | xargs)"
is "--output raw: the file" "a bc." "$(cat "$work/raw.stdout" <(echo .) | xargs)"
run_limited 10 "$keelrun" --output xml true
is "--output xml: exit code" 2 "$code"
like "--output xml: the reason" "$work/err" "^keelrun: --output 'xml': there is no XML; tags mark lines"
for pty in --pty --no-pty; do
    run_limited 10 "$keelrun" -n 1 $pty --output merge-stderr-to-stdout sh -c \
        'for i in 1 2 3; do printf "o$i "; printf "e$i " >&2; done'
    is "--merge-stderr-to-stdout $pty: in the order of writing" "0 o1 e1 o2 e2 o3 e3" "$code $(xargs <"$work/out")"
    is "--merge-stderr-to-stdout $pty: nothing on stderr" "" "$(cat "$work/err")"
done

# --- input ---

head -c 5000000 /dev/urandom >"$work/random"
sum=$(sha256sum <"$work/random")
input=$work/random run_limited 20 "$keelrun" --simulate 3x2 -n 6 --stdin all sh -c 'echo "$KEEL_RANK $(sha256sum)"'
is "--stdin all: exit code" 0 "$code"
is "--stdin all: each rank gets all" "$(for rank in 0 1 2 3 4 5; do echo "$rank $sum"; done)" "$(sort "$work/out")"
input=$work/random run_limited 20 "$keelrun" --simulate 2x2 -n 4 --stdin all sh -c \
    'case $KEEL_RANK in 0) ;; 3) head -c 1000 >"$0"; exec 0<&-; ;; *) sha256sum ;; esac' "$work/head"
is "--stdin all: ranks that take nothing, or stop, hold up nobody" "0 $sum $sum" "$code $(paste -sd ' ' "$work/out")"
is "--stdin all: the rank that stops has the beginning" right \
    "$(head -c 1000 "$work/random" | cmp -s - "$work/head" && echo right)"
input=$work/random run_limited 20 "$keelrun" -n 3 --oversubscribe --stdin 2 sh -c 'echo "$KEEL_RANK $(wc -c)"'
is "--stdin 2" "0 0 0 1 0 2 5000000" "$code $(sort "$work/out" | xargs)"
run_limited 20 sh -c "seq 3 | while read -r n; do $keelrun -n 1 --stdin none echo \"\$n\"; done"
is "--stdin none leaves it to others" "1 2 3" "$(xargs <"$work/out")"
run_limited 10 "$keelrun" -n 2 --oversubscribe --stdin 2 true
is "--stdin of a rank that is not there: exit code" 125 "$code"
is "--stdin of a rank that is not there: the reason" "keelrun: --stdin 2: the ranks are 0 to 1" "$(cat "$work/err")"
input=$work/random run_limited 20 "$keelrun" -n 2 sh -c 'echo "$KEEL_RANK $(sha256sum)"'
is "5 MB of stdin: exit code" 0 "$code"
is "5 MB of stdin reach rank 0" "0 $sum" "$(grep ^0 "$work/out")"
is "the other ranks have none" "1 $(sha256sum </dev/null)" "$(grep ^1 "$work/out")"
input=$work/random run_limited 20 "$keelrun" --simulate 2x1 sha256sum
is "5 MB of stdin reach another node" 1 "$(grep -c "^$sum" "$work/out")"
cat "$work/random" | limited 20 "$keelrun" -n 1 wc -c >"$work/out" 2>"$work/err"
is "5 MB of stdin from a pipe" 5000000 "$(cat "$work/out")"
run_limited 10 "$keelrun" -n 1 wc -c
is "stdin is /dev/null" "0 0" "$code $(cat "$work/out")"
limited 10 "$keelrun" -n 1 wc -c <&- >"$work/out" 2>"$work/err"
is "stdin is closed" "0 0" "$? $(cat "$work/out")"
yes | limited 10 "$keelrun" -n 1 true >"$work/out" 2>"$work/err"
is "stdin that nobody reads" 0 "${PIPESTATUS[1]}"
yes | limited 10 "$keelrun" -n 1 head -n 3 >"$work/out" 2>"$work/err"
is "stdin without end, of which a little is read" "0 y y y" "${PIPESTATUS[1]} $(xargs <"$work/out")"
mkfifo "$work/silent"
exec 6<>"$work/silent"
fastest=10000
for ((i = 0; i < 5; i++)); do
    begin=$(now_ms)
    limited 10 "$keelrun" -n 1 true <&6 >"$work/out" 2>"$work/err"
    is "stdin that stays open and silent" 0 $?
    took=$(($(now_ms) - begin))
    fastest=$((took < fastest ? took : fastest))
done
ok "stdin that stays open and silent: nothing waits for it ($fastest ms)" [ $fastest -lt $((170 * slow)) ]
# what was not asked for stays there for the next program
printf 'first\n' >&6
limited 10 "$keelrun" -n 1 head -n 1 <&6 >"$work/out" 2>"$work/err"
is "a line through a pipe that stays open" "first" "$(cat "$work/out")"
exec 6<&-

# --- signals ---

child_is_named()
{
    [ -n "$(child_named "$pid" "$1")" ]
}

# A rank that traps: says it is ready, then which signal came.
traps='for s in INT TERM USR1 USR2 HUP; do trap "echo $KEEL_RANK got $s; exit 0" $s; done
    echo ready; while :; do sleep 0.05; done'
for signal in INT TERM HUP; do
    start "$keelrun" -n 2 sh -c "$traps"
    wait_for 10 has_lines "$work/out" 2
    kill -s $signal $pid
    await 10
    is "SIG$signal is passed on" "0 got $signal 1 got $signal" "$(grep got "$work/out" | sort | xargs)"
    is "SIG$signal: exit code" $((128 + $(kill -l $signal))) "$code"
done
start "$keelrun" --simulate 2x1 sh -c "$traps"
wait_for 10 has_lines "$work/out" 2
kill -INT $pid
await 10
is "SIGINT is passed on to other nodes" "0 got INT 1 got INT" "$(grep got "$work/out" | sort | xargs)"
is "SIGINT, two nodes: exit code" 130 "$code"
start "$keelrun" -n 1 sh -c "$traps"
wait_for 10 has_lines "$work/out" 1
kill -USR1 $pid
await 10
is "SIGUSR1 is passed on, and is no interrupt" "0 0 got USR1" "$code $(grep got "$work/out")"
start "$keelrun" -n 2 sleep 60
wait_for 10 eval '[ $(descendants '$pid' | grep -c " sleep$") -eq 2 ]'
begin=$(now_ms)
kill -INT $pid
await 10
is "SIGINT to ranks that do not trap: exit code" 130 "$code"
ok "SIGINT to ranks that do not trap: at once" [ $(($(now_ms) - begin)) -lt $((1500 * slow)) ]

# the keys of a terminal
if type -P script >/dev/null; then
    mkfifo "$work/keys"
    exec 8<>"$work/keys"
    printf '%s\n' "$traps" >"$work/traps"
    input=$work/keys start script -qec "$keelrun -n 2 --oversubscribe sh $work/traps" /dev/null
    ok "at a terminal: it starts" wait_for 10 has_lines "$work/out" 2
    printf '\003' >&8
    await 10
    is "at a terminal: Ctrl-C reaches each rank once" 2 "$(grep -c '[01] got INT' "$work/out")"
    is "at a terminal: Ctrl-C: exit code" 130 "$code"
    input=$work/keys start script -qec "$keelrun -n 1 head -n 1" /dev/null
    printf 'a line\n' >&8
    await 10
    is "at a terminal: a line that is typed" "0 1" "$code $(tr -d '\r' <"$work/out" | sort -u | grep -c 'a line')"
    # its size, and a new one
    cat >"$work/sized" <<END
stty rows 25 cols 101; tty; "$keelrun" "\$@" -n 2 --oversubscribe sh -c '
    trap "stty size <&1; exit" WINCH; stty size <&1 || echo none; while :; do sleep 0.05; done'
END
    input=$work/keys start script -qec "sh $work/sized" /dev/null
    ok "at a terminal: the ranks know its size" wait_for 10 has_lines "$work/out" 3
    is "at a terminal: the size" 2 "$(grep -c '^25 101' "$work/out")"
    stty -F "$(head -n 1 "$work/out" | tr -d '\r')" rows 40 cols 90
    await 10
    is "at a terminal: its new size" 2 "$(grep -c '^40 90' "$work/out")"
    is "at a terminal whose size changes: exit code" 0 "$code"
    input=$work/keys start script -qec "$keelrun --no-pty -n 1 sh -c '$ttys'" /dev/null
    await 10
    is "at a terminal: --no-pty" "0 " "$code $(cat "$work/out")"
    exec 8<&-
else
    skip "at a terminal" "no script"
fi

ignores='trap "" INT TERM HUP; echo ready; while :; do sleep 0.05; done'
for signal in INT TERM; do
    start "$keelrun" -n 2 sh -c "$ignores"
    wait_for 10 has_lines "$work/out" 2
    begin=$(now_ms) real_begin=$(wall_clock)
    kill -s $signal $pid
    await 10
    took=$(($(now_ms) - begin)) real=$(($(wall_clock) - real_begin))
    is "SIG$signal to ranks that ignore it: exit code" $((128 + $(kill -l $signal))) "$code"
    ok "SIG$signal to ranks that ignore it: SIGKILL after 2 s ($took ms)" \
        [ $real -ge 1900 -a $took -lt $((3000 * slow)) ]
done
start "$keelrun" -n 2 sh -c "$ignores"
wait_for 10 has_lines "$work/out" 2
begin=$(now_ms)
kill -INT $pid
kill -INT $pid # one that is not taken yet is one
until is_gone $pid || [ $(($(now_ms) - begin)) -gt 1000 ]; do
    kill -INT $pid 2>/dev/null
    pause
done
await 10
took=$(($(now_ms) - begin))
is "a second SIGINT: exit code" 130 "$code"
ok "a second SIGINT: at once ($took ms)" [ $took -lt $((1500 * slow)) ]
# before there are ranks
cat >"$work/agent" <<END
#!/bin/sh
shift
echo here >"$work/called"
until [ -e "$work/go" ]; do sleep 0.02; done
exec "\$@"
END
chmod +x "$work/agent"
start "$keelrun" --host far:2 -n 2 --mca plm_rsh_agent "$work/agent" sleep 60
ok "a signal before there are ranks: they are awaited" wait_for 10 test -e "$work/called"
kill -USR1 $pid
: >"$work/go"
await 10
is "a signal before there are ranks reaches them" $((128 + 10)) "$code"

# while they are started
for signal in INT TERM; do
    start "$keelrun" -n 600 --oversubscribe sleep 60
    ok "SIG$signal early in a launch: it begins" wait_for 10 child_is_named sleep
    begin=$(now_ms)
    kill -s $signal $pid
    await 10
    is "SIG$signal early in a launch: exit code" $((128 + $(kill -l $signal))) "$code"
    took=$(($(now_ms) - begin))
    ok "SIG$signal early in a launch: nobody is waited for ($took ms)" [ $took -lt $((1500 * slow)) ]
    unlike "SIG$signal early in a launch: no complaint" "$work/err" "^keelrun: .*(cannot|was killed|exited|lost)"
done

start nohup "$keelrun" -n 1 sh -c 'echo ready; while :; do sleep 0.05; done'
wait_for 10 has_lines "$work/out" 1
kill -HUP $pid
kill -USR2 $pid
await 10
is "under nohup SIGHUP does nothing, SIGUSR2 still ends the rank" $((128 + 12)) "$code"

ok "no session folder is left" wait_for 2 not test -e "$sessions"
finish
