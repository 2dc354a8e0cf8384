#!/bin/bash
# Hostile command lines, environments, standard input and strangers at the door: each is refused with
# a reason, and the job of somebody else goes on.
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"

# --- keelrun's command line ---

# refused ARGUMENT...: usage error, with one line that says why.
refused()
{
    run_limited 5 "$keelrun" "$@"
    is "refused: $*" "2 1" "$code $(grep -c '^keelrun: ' "$work/err")"
    is "only a line: $*" 1 "$(wc -l <"$work/err")"
}

refused
refused -n
refused -n 0 true
refused -n -1 true
refused -n 1x true
refused -n 1048577 true
refused -n 99999999999999999999999 true
refused -n 1048576 true : -n 1 true
refused --timeout 0 true
refused --timeout 1e3 true
refused --simulate 3 true
refused --simulate 0x2 true
refused --simulate 3x true
refused --simulate 4294967297x1 true
refused --simulate 3x2 --host localhost true
refused --host '' true
refused --host a:0 true
refused --host a:99999999999 true
refused --host "$(printf 'x%.0s' {1..300})" true
refused --host 'a b' true
refused -x = true
refused -x '' true
refused --mca '' value true
refused --mca a=b value true
refused --wdir '' true
refused --bind-to '' true
refused --version=3
refused ''
refused -n 1 true :
refused -n 1 true : : true
refused "--$(printf 'x%.0s' {1..5000})" true
run_limited 5 "$keelrun" "$(printf -- '--\033[31mred')" true
is "a control character in an argument" 2 "$code"
ok "no control character is repeated" not grep -q "$(printf '\033')" "$work/err"

refused --mca fault nonsense true
like "a fault rule that makes no sense is shown" "$work/err" 'bad rule "nonsense"'
refused --mca fault oob.sned:drop true
like "a fault point that is not there: those near it" "$work/err" 'point oob.sned: .* oob.recv, oob.send'
refused --mca fault 'btl.tcp.send:short=1;btl.sm.send:short=9' true
like "an action that a fault point does not know" "$work/err" 'point btl.sm.send: it does not know short'

run_limited 20 "$keelrun" -n 1 echo "$(printf 'x%.0s' {1..100000})"
is "a long argument: exit code" 0 "$code"
is "a long argument arrives" 100001 "$(wc -c <"$work/out")"
run_limited 20 "$keelrun" --simulate 2x1 -x LONG="$(printf 'y%.0s' {1..100000})" sh -c 'echo ${#LONG}'
is "a long variable arrives" "100000 100000" "$(xargs <"$work/out")"
many=()
for ((i = 0; i < 2000; i++)); do
    many+=("argument$i")
done
run_limited 20 "$keelrun" -n 1 sh -c 'echo $#' "${many[@]}"
is "many arguments arrive" 1999 "$(cat "$work/out")"
many=(-n 1 true)
for ((i = 0; i < 100; i++)); do
    many+=(: -n 1 true)
done
run_limited 30 "$keelrun" --oversubscribe "${many[@]}"
is "101 programs" 0 "$code"
run_limited 10 "$keelrun" -n 1 --output-filename /proc/nowhere echo x
is "an output folder that cannot be made: exit code" 125 "$code"
like "an output folder that cannot be made: the reason" "$work/err" "/proc/nowhere: "
run_limited 10 "$keelrun" --mca oob_tcp_if_include no-such-if --simulate 2x1 true
is "an interface that is not there: exit code" 125 "$code"
like "an interface that is not there is named" "$work/err" "no-such-if"
long=/tmp/$(printf 'd%.0s' {1..100})
mkdir -p "$long" && at_exit "rmdir $long"
run_limited 10 env TMPDIR="$long" "$keelrun" -n 1 true
is "a path too long for sockets: exit code" 125 "$code"
like "a path too long for sockets: what to do" "$work/err" "set TMPDIR to a shorter one"
ln -s /tmp "$work/keel-link"
mkdir "$work/other" && ln -s "$work" "$work/other/keel-$(id -u)"
run_limited 10 env TMPDIR="$work/other" "$keelrun" -n 1 true
is "a link in place of the session folder: exit code" 125 "$code"
like "a link in place of the session folder: refused" "$work/err" "refused to use $work/other/keel-"

# --- a rank's environment ---

# no_member NAME=VALUE...: keel_init refuses, and names the variable.
no_member()
{
    run_limited 10 env "$@" "$helpers/member" leave
    is "keel_init refuses $*" 77 "$code"
    like "and says why" "$work/err" "bootstrap: error: "
}
export KEEL_DAEMON="1.0;unix:///nowhere" KEEL_JOB=0123456789abcdef0123456789abcdef
export KEEL_JOBID=65537 KEEL_SIZE=2 KEEL_RANK=0

no_member KEEL_RANK=abc
like "KEEL_RANK is named" "$work/err" "KEEL_RANK"
no_member KEEL_RANK=2
no_member KEEL_RANK=-1
no_member KEEL_RANK=99999999999999999999
no_member KEEL_SIZE=0
no_member KEEL_SIZE=1048577
no_member KEEL_JOB=xyz
no_member KEEL_JOB=
no_member KEEL_JOBID=4294967295
no_member KEEL_JOBID=
no_member KEEL_DAEMON=
no_member KEEL_DAEMON=garbage
no_member KEEL_DAEMON="65536.0;unix://"
no_member KEEL_DAEMON="65536.0;tcp://999.1.1.1:5"
no_member KEEL_DAEMON="65536.0;tcp://127.0.0.1:99999"
no_member KEEL_DAEMON="65536.0;unix://$work/no-such-socket"
no_member KEEL_DAEMON="65536.0;$(printf 'unix:///x;%.0s' {1..50})"
no_member -u KEEL_JOB
no_member -u KEEL_RANK
unset KEEL_DAEMON KEEL_JOB KEEL_JOBID KEEL_SIZE KEEL_RANK
run_limited 10 env KEEL_MCA_btl=nonsense "$helpers/member" leave
is "a component that is not there" 77 "$code"
run_limited 10 env KEEL_MCA_fault=nonsense "$helpers/member" leave
is "a fault that makes no sense" 77 "$code"
run_limited 10 env KEEL_MCA_fault=btl.tcp.sent:drop "$helpers/member" leave
is "a fault point that is not there" 77 "$code"
like "a fault point that is not there is named" "$work/err" 'keel_init: parameter fault: point btl.tcp.sent: '
run_limited 10 env KEEL_RANK=5 KEEL_SIZE=3 KEEL_JOB=x "$helpers/member" leave
is "without KEEL_DAEMON the rest means nothing" "0 rank 0 of 1" "$code $(cat "$work/out")"

# a rank that answers to another's name, or to one that is not there
run_limited 20 "$keelrun" -n 1 env KEEL_RANK=1 KEEL_SIZE=2 KEEL_MCA_init_timeout_s=2 \
    "$helpers/member" leave
ok "a rank of a made-up name is refused" [ "$code" = 77 ]
run_limited 20 "$keelrun" -n 1 env KEEL_JOBID=65537 "$helpers/member" leave
ok "a rank of a made-up job is refused" [ "$code" = 77 ]

# --- keeld's standard input ---

# no_daemon NAME: with standard input from $work/in, keeld ends with 125 and says why.
no_daemon()
{
    input=$work/in run_limited 10 "$keeld"
    is "keeld: $1" 125 "$code"
    like "keeld: $1: it says so" "$work/err" "^keeld: "
}

key=$(printf '0%.0s' {1..64})
home="keel 1
key $key
job 0123456789abcdef0123456789abcdef
family 65536
vpid 1
count 2
radix 64
node far
hnp 65536.0;tcp://127.0.0.1:1
"
: >"$work/in"
no_daemon "nothing"
head -c 100000 /dev/urandom >"$work/in"
no_daemon "noise"
head -c 100000 /dev/zero >"$work/in"
no_daemon "zeros"
printf '%s' "$home" >"$work/in"
no_daemon "no end"
printf '%s.\n' "${home/vpid 1/vpid 2}" >"$work/in"
no_daemon "a vpid out of range"
printf '%s.\n' "${home/key 0/key x}" >"$work/in"
no_daemon "a bad key"
printf '%s.\n' "${home/count 2/count 99999999999}" >"$work/in"
no_daemon "a huge count"
printf '%sset PATH=/nowhere\n.\n' "$home" >"$work/in"
no_daemon "a variable that is none of Keel's"
printf '%s.\n' "${home/hnp 65536.0;/hnp }" >"$work/in"
no_daemon "a bad contact"
printf '%s.\n' "$home" >"$work/in"
no_daemon "nobody at the contact"
ok "keeld leaves no session folder" wait_for 2 not test -e "$sessions"

# --- strangers at the door ---

# few descriptors: whatever cannot be opened first, that is the reason
for files in 8 9 10 12 13 14; do
    run_limited 20 bash -c 'ulimit -n "$0"; exec "$@"' $files "$keelrun" -n 2 --oversubscribe true
    ok "ulimit -n $files: keelrun fails" [ "$code" != 0 -a "$code" != late ]
    like "ulimit -n $files: the reason" "$work/err" "Too many open files|ulimit -n"
done

# Rank 0 tells keelrun's contact, and stays until it has read a line. The job runs on two nodes, so
# that keelrun listens on TCP, too.
printf '#!/bin/sh\nshift\nexec "$@"\n' >"$work/agent"
chmod +x "$work/agent"
mkfifo "$work/go"
exec 7<>"$work/go"
for how in garbage idle http; do
    input=$work/go start "$keelrun" --oversubscribe --mca plm_rsh_agent "$work/agent" \
        --host localhost:1,far:1 sh -c '[ $KEEL_RANK = 1 ] || { echo "contact $KEEL_DAEMON"; read -r line; }; exec "$0"' "$handoff"
    wait_for 15 has_lines "$work/out" 1
    contact=$(sed -n 's/^contact //p' "$work/out")
    ok "$how: the daemon's contact has both kinds of address" \
        [ "$contact" != "${contact/unix:/}" -a "$contact" != "${contact/tcp:/}" ]
    "$helpers/poke" $how "$contact" >"$work/poke" 2>&1 &
    poke=$!
    started+=($poke)
    ok "$how: strangers are at the door" wait_for 10 grep -q '^poking$' "$work/poke"
    echo go >&7
    await 20
    is "$how: the job's exit code" 0 "$code"
    like "$how: the job's last line" "$work/out" \
        '^handoff: 2 ranks, 4 transfers, [0-9]+ bytes, 0 errors$'
    kill -KILL $poke
    wait $poke 2>/dev/null
    no_leftovers "$how: nothing is left" ""
done
exec 7<&-

finish
