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
refused --simulate 1x1 --simulate-topo x true
printf '<topology><object</topology>\n' >"$work/none.xml"
run_limited 5 "$keelrun" --simulate 1x1 --simulate-topo "$work/none.xml" true
is "a topology's file that is none: exit code" 2 "$code"
like "a topology's file that is none: what is needed" "$work/err" \
    "^keelrun: --simulate-topo '$work/none.xml': a file that hwloc wrote"
refused --host '' true
refused --host a:0 true
refused --host a:99999999999 true
refused --host "$(printf 'x%.0s' {1..300})" true
refused --host 'a b' true
refused --host 'n[1-' true
refused --hostfile '' true
refused --hostfile "$work/nowhere" true
refused --hostfile "$work" true
printf 'a slots=2\nb slots=two\n' >"$work/hosts"
refused --hostfile "$work/hosts" true
like "a line of a hostfile that makes no sense: file, line and what is wanted" "$work/err" \
    "$work/hosts:2: 'slots=two': a whole number from 1 to"
refused --simulate 3x2 -f "$work/hosts" true
refused -x = true
refused -x '' true
refused --mca '' value true
refused --mca a=b value true
refused --wdir '' true
refused --bind-to '' true
refused --version=3
refused ''
refused --mca oob_security no true
like "a value that a parameter cannot have: what is wanted" "$work/err" "one of auto, encrypt"
refused --host far --mca plm_rsh_agent '' true
refused -n 1 true :
refused -n 1 true : : true
refused "--$(printf 'x%.0s' {1..5000})" true
run_limited 5 "$keelrun" "$(printf -- '--\033[31mred')" true
is "a control character in an argument" 2 "$code"
ok "no control character is repeated" not grep -q "$(printf '\033')" "$work/err"

refused --mca plm_rsh_agent "$(printf 'ssh\n-q')" true
like "a value of two lines: it says so" "$work/err" "plm_rsh_agent: a value is one line"
mkdir -p "$work/config/keel"
printf '# mine\nbtl_tcp_link = 2\n' >"$work/config/keel/keel.conf"
run_limited 10 env XDG_CONFIG_HOME="$work/config" KEEL_MCA_btl_sm_exclusivty=1 "$keelrun" -n 1 true
is "names that are nearly right: the job runs" 0 "$code"
like "a name in the environment that is nearly right" "$work/err" \
    "environment: btl_sm_exclusivty: no parameter has this name; was btl_sm_exclusivity meant"
like "a name in a file that is nearly right" "$work/err" \
    "/keel.conf:2: btl_tcp_link: no parameter has this name; was btl_tcp_links meant"
is "names that are nearly right: a line for each" 2 "$(wc -l <"$work/err")"
printf '# mine\n\nbtl_tcp_nonsense = 2\n' >"$work/config/keel/keel.conf"
run_limited 20 env XDG_CONFIG_HOME="$work/config" KEEL_MCA_btl_usnic_window=5 \
    OMPI_MCA_btl_tcp_window=1 "$keelrun" --simulate 2x2 --mca rml_suspect 1 "$helpers/member" leave
is "names that a component does not have: the job runs" 0 "$code"
like "on the command line" "$work/err" \
    "--mca rml_suspect: no parameter has this name; the nearest: rml_suspect_ms"
like "in the environment" "$work/err" \
    "environment: btl_usnic_window: no parameter has this name; the nearest: btl_usnic_bandwidth,"
like "in a file" "$work/err" "/keel.conf:3: btl_tcp_nonsense: no parameter has this name"
is "names that a component does not have: a line for each, in all" 3 "$(wc -l <"$work/err")"

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
# no_folder NAME FOLDER PATH: nothing is started where the output cannot be put; PATH is the reason.
no_folder()
{
    run_limited 10 "$keelrun" -n 1 --output-filename "$2" sh -c "echo x; : >$work/ran"
    is "an output folder $1: exit code" 125 "$code"
    like "an output folder $1: the reason" "$work/err" "^keelrun: output files: $3: [A-Z]"
    ok "an output folder $1: nothing is started" not test -e "$work/ran"
}
no_folder "that cannot be made" /proc/nowhere /proc/nowhere
: >"$work/file"
no_folder "that is a file" "$work/file" "$work/file/1"
mkdir -p "$work/older/1" "$work/oldest/1/rank.0/stdout"
: >"$work/older/1/rank.0"
no_folder "with a file in a folder's place" "$work/older" "$work/older/1/rank.0"
no_folder "with a folder in a file's place" "$work/oldest" "$work/oldest/1/rank.0/stdout"
run_limited 10 "$keelrun" --mca oob_tcp_if_include no-such-if --simulate 2x1 true
is "an interface that is not there: exit code" 125 "$code"
like "an interface that is not there is named" "$work/err" "no-such-if"
long=/tmp/$(printf 'd%.0s' {1..100})
mkdir -p "$long" && at_exit "rmdir $long"
run_limited 10 env TMPDIR="$long" "$keelrun" -n 1 true
is "a path too long for sockets: exit code" 125 "$code"
like "a path too long for sockets: what to do" "$work/err" "set TMPDIR to a shorter one"
mkdir "$work/a;b"
run_limited 10 env TMPDIR="$work/a;b" "$keelrun" -n 1 true
is "a path that no contact string holds: exit code" 125 "$code"
like "a path that no contact string holds: what to do" "$work/err" "has a ';'.* set TMPDIR to another folder"
mkdir "$work/a b"
run_limited 10 env TMPDIR="$work/a b" "$keelrun" --simulate 2x2 "$handoff"
is "a path with a space: exit code" 0 "$code"
long=()
for ((i = 0; i < 13; i++)); do
    long+=(--mca "somebodys_$i" "$(printf 'v%.0s' {1..4000})")
done
run_limited 10 "$keelrun" "${long[@]}" -n 1 sh -c 'echo ${#KEEL_MCA_somebodys_12}'
is "many long parameters on one node" "0 4000" "$code $(cat "$work/out")"
run_limited 10 "$keelrun" "${long[@]}" --simulate 2x1 true
is "many long parameters on several nodes: exit code" 125 "$code"
like "many long parameters on several nodes: the reason, and what to do" "$work/err" \
    "more than 48 KiB, 5[0-9]{4} bytes of it the settings of --mca: put long ones into keel.conf"
is "many long parameters on several nodes: nothing else" 1 "$(wc -l <"$work/err")"
if [ "$(id -u)" = 0 ]; then # only root can give folders away
    mkdir -p "$work/theirs/keel-0"
    chown 65534:65534 "$work/theirs/keel-0"
    for layout in '-n 2' '--simulate 2x2'; do
        # shellcheck disable=SC2086 # words
        run_limited 20 env TMPDIR="$work/theirs" "$keelrun" --oversubscribe $layout "$handoff"
        is "another user has the session folder's name, $layout: exit code" 0 "$code"
        is "another user has the session folder's name, $layout: nothing on stderr" "" \
            "$(cat "$work/err")"
        ok "another user has the session folder's name, $layout: only that is left" \
            wait_for 2 test "$(ls "$work/theirs")" = keel-0
    done
    run_limited 20 env TMPDIR="$work/theirs" "$keelrun" -n 1 sh -c 'echo $KEEL_SESSION_DIR; stat -c %a ${KEEL_SESSION_DIR%/*/*}'
    like "another user has the session folder's name: a name of its own" "$work/out" \
        "^$work/theirs/keel-0-[0-9a-f]{8}/[0-9a-f]{32}/0$"
    is "another user has the session folder's name: for this user alone" 700 "$(tail -n 1 "$work/out")"
else
    skip "another user has the session folder's name" "this needs root"
fi
ln -s /tmp "$work/keel-link"
mkdir "$work/other" && ln -s "$work" "$work/other/keel-$(id -u)"
run_limited 10 env TMPDIR="$work/other" "$keelrun" -n 1 true
is "a link in place of the session folder: exit code" 125 "$code"
like "a link in place of the session folder: refused" "$work/err" "refused to use $work/other/keel-"

# --- where ranks run: each mistake is named, with its file and line, what is needed, and what is nearest ---

# answers REASON ARGUMENT...: refused, with this one line.
answers()
{
    local reason=$1
    shift
    run_limited 5 "$keelrun" --dry-run "$@" true
    ok "refused: $*" [ "$code" = 2 -o "$code" = 125 ]
    is "the reason" "keelrun: $reason" "$(cat "$work/err")"
}
# in_file NAME TEXT REASON OPTION...: the same with a file of this text, which the options name.
in_file()
{
    local text=$2 reason=$3
    local file=$work/$1
    shift 3
    printf '%b' "$text" >"$file"
    answers "$reason" "$@"
}
policies='slot, node, hwthread, core, l1cache, l2cache, l3cache, numa, package, socket, ppr, seq or rankfile is needed'
words='PE=, SPAN, OVERSUBSCRIBE, NOOVERSUBSCRIBE, NOLOCAL, HWTCPUS or FILE= is needed'
two=(--simulate 2x4 --simulate-topo 'package:2 core:2 pu:2')

answers "--map-by 'cor': $policies; the nearest is core" --map-by cor
answers "--map-by 'SPN': $words; the nearest is SPAN" --map-by core:SPN
answers "--map-by '': $words" --map-by :::
answers "--map-by 'PE=0': a whole number from 1 to 65536 is needed, as in PE=2" --map-by core:PE=0
answers "--map-by '': a whole number from 1 to 1048576 is needed, as in ppr:2:package" --map-by ppr::core
answers "--map-by 'ppr:2': ppr:N:OBJECT is needed, as in ppr:2:package" --map-by ppr:2
answers "--map-by 'sockt': node, hwthread, core, l1cache, l2cache, l3cache, numa, package or socket is needed; the nearest is socket" \
    --map-by ppr:2:sockt
answers "--map-by slot:SPAN: SPAN goes with an object, as in core:SPAN" --map-by slot:SPAN
answers "--map-by ppr:2:node:SPAN: SPAN goes with an object, as in core:SPAN" --map-by ppr:2:node:SPAN
answers "--map-by 'seq:FILE=': a file is needed, as in seq:FILE=F" --map-by seq:FILE=
answers "--map-by seq:FILE=$work/none: No such file or directory" --map-by "seq:FILE=$work/none"
answers "--map-by rankfile:FILE=$work/none: No such file or directory" --map-by "rankfile:FILE=$work/none"
answers "--map-by OVERSUBSCRIBE and NOOVERSUBSCRIBE exclude each other" --map-by slot:OVERSUBSCRIBE:NOOVERSUBSCRIBE
answers "--rank-by 'SPAN': nothing can follow slot" --rank-by slot:SPAN
answers "--bind-to 'overload-alowed': overload-allowed or if-supported is needed; the nearest is overload-allowed" \
    --bind-to core:overload-alowed
answers "--bind-to l3cache: node node0 has no l3cache; with :if-supported its ranks are not bound" \
    --bind-to l3cache "${two[@]}"
answers "--cpu-set '3-1': numbers of processors are needed, as in 0-3,8" --cpu-set 3-1
answers "--bind-to 'overlod': overload-allowed or if-supported is needed; the nearest is overload-allowed" \
    --bind-to core:overlod
answers "--display 'mop': map, allocation, bind or topo is needed; the nearest is map" --display bind,mop
answers "--output 'tga': tag, tag-detailed, tag-fullname, rank, timestamp, raw, merge-stderr-to-stdout, dir= or file= is needed; the nearest is tag" \
    --output tga
answers "-n 'two': a whole number from 1 to 1048576 is needed" -n two
answers "--simulate '3': NODESxSLOTS is needed, up to 1024x16384, as in 3x2" --simulate 3
answers "--map-by ppr:1:l3cache: node node0 has no l3cache" --map-by ppr:1:l3cache \
    --simulate 1x4 --simulate-topo 'package:2 core:2 pu:2'
answers "1 of 3 ranks find no 2 free processors; --bind-to :overload-allowed lets ranks share them" \
    -n 3 --map-by slot:PE=2 --simulate 1x4 --simulate-topo 'package:2 core:2 pu:2'
answers "1 of 1 ranks find no 5 free processors" -n 1 --map-by slot:PE=5 --simulate 1x4 --simulate-topo 'core:4 pu:1'
answers "--host '+x': +nK, +nK:SLOTS or +e[:K] is needed, separated by commas" --host +x
answers "--simulate-topo 'cor:2': hwloc's description of a node is needed, as in \"package:2 core:4 pu:2\", or a file NAME.xml" \
    --simulate 1x2 --simulate-topo cor:2
answers "keelrun has no option '--gpus-per-task'; in its place: nothing: Keel does not know GPUs; a script can choose one by KEEL_LOCAL_RANK" \
    --gpus-per-task 1

in_file h 'a\nb slot=4\n' "--hostfile $work/h:2: 'slot=4': slots= or max_slots= is needed; the nearest is slots=" --hostfile "$work/h"
in_file h 'a slots=0\n' "--hostfile $work/h:1: 'slots=0': a whole number from 1 to 1048576 is needed" --hostfile "$work/h"
in_file h '\n# none\n' "--hostfile $work/h: no host is in it" --hostfile "$work/h"
in_file h 'n[5-1]\n' "--hostfile $work/h:1: 'n[5-1]': character 6: the range ends before it begins" --hostfile "$work/h"
in_file h 'a;b@n1\n' "--hostfile $work/h:1: 'a;b@n1': USER@NAME is needed, of letters, digits, '.', '_' and '-'" \
    --hostfile "$work/h"
answers "--hostfile /dev/zero: larger than 4 MiB" --hostfile /dev/zero
mkfifo "$work/fifo"
exec 5<>"$work/fifo" # a writer that never writes, and one that never ends
answers "--hostfile $work/fifo: nobody has written anything to it within 1 s" --mca file_timeout_s 1 --hostfile "$work/fifo"
echo alpha >&5
answers "--hostfile $work/fifo: it has not ended within 1 s" --mca file_timeout_s 1 --hostfile "$work/fifo"
exec 5>&-
answers "--rankfile $work/fifo: nobody has written anything to it within 1 s" --mca file_timeout_s 1 --rankfile "$work/fifo"
answers "--map-by seq:FILE=$work/fifo: nobody has written anything to it within 1 s" --mca file_timeout_s 1 \
    --map-by seq:FILE="$work/fifo"
in_file h 'alpha slots=2\n' "host alpa is not in the hostfile $work/h; the nearest is alpha" --hostfile "$work/h" --host alpa
in_file h 'alpha slots=2\n' "3 ranks are more than the 2 slots that were given; --oversubscribe allows it" \
    --hostfile "$work/h" -n 3

in_file r 'rnk 0=node0 slot=0\n' "--rankfile $work/r:1: 'rnk': a line is 'rank N=HOST slot=CPUS'" --rankfile "$work/r"
in_file r 'rank 0=node0 slot=0\nrank 0=node1 slot=0\n' "--rankfile $work/r:2: rank 0 is in line 1 already" --rankfile "$work/r"
in_file r 'rank 1=node0 slot=0\n' "--rankfile $work/r: rank 0 is missing; the last is rank 1" --rankfile "$work/r"
in_file r 'rank 0=node0 slot=0:1-\n' \
    "--rankfile $work/r:1: 'slot=0:1-': slot=PACKAGE:CORES, slot=PACKAGE:* or slot=CORES is needed, as in slot=0:1-2,4" \
    --rankfile "$work/r"
in_file r 'rank 0=node9 slot=0\n' "$work/r:1: host node9 is not among true's nodes" --rankfile "$work/r" "${two[@]}"
in_file r 'rank 0=node0 slot=3,2-7\n' \
    "$work/r:1: slot=3,2-7: 4 names no processor that may be used on node node0" --rankfile "$work/r" "${two[@]}"
in_file r 'rank 0 = node0 slot = 0:\n' \
    "--rankfile $work/r:1: 'slot = 0:': slot=PACKAGE:CORES, slot=PACKAGE:* or slot=CORES is needed, as in slot=0:1-2,4" \
    --rankfile "$work/r"
in_file r 'rank 0 =\n' "--rankfile $work/r:1: '0 =': a host's name is needed behind the '='" --rankfile "$work/r"
in_file s 'node0\nnode3\n' "$work/s: rank 1: host node3 is not among true's nodes" --map-by "seq:FILE=$work/s" "${two[@]}"
printf 'alpha slots=2\n' >"$work/h"
in_file r 'rank 0=alfa\n' "$work/r:1: host alfa is not among true's nodes; the nearest is alpha" \
    --rankfile "$work/r" --hostfile "$work/h"
in_file s 'alpha\nalpa\n' "$work/s: rank 1: host alpa is not among true's nodes; the nearest is alpha" \
    --map-by "seq:FILE=$work/s" --hostfile "$work/h"
printf -- '-n 1 true\n-n 2 "true\n' >"$work/a"
refused --app "$work/a"
is "a quote without an end: file and line" "keelrun: --app $work/a:2: a quote has no end" "$(cat "$work/err")"
for ((i = 0; i < 4097; i++)); do
    echo true
done >"$work/a"
refused --app "$work/a"
is "too many programs: file, line and limit" "keelrun: $work/a:4097: 4097 programs are more than 4096" \
    "$(cat "$work/err")"
printf 'true\ntrue \0\n' >"$work/a"
refused --app "$work/a"
is "a file that is no text: file and line" "keelrun: --app $work/a:2: a byte 0 is there: not a text" \
    "$(cat "$work/err")"
rm "$work"/[hrsa]

# what resource managers tell
in_variable()
{
    local variable=$1 reason=$2
    shift 2
    run_limited 5 env "$variable" "$keelrun" --dry-run true
    is "$variable: exit code" 125 "$code"
    is "$variable: the reason" "keelrun: $variable:$reason" "$(cat "$work/err")"
}
in_variable PBS_NODEFILE=/nowhere " No such file or directory"
printf 'n1 2 q U\nn2 x q U\n' >"$work/nodes"
in_variable PE_HOSTFILE="$work/nodes" "2: host n2: a number of slots from 1 to 1048576 is needed, not x"
in_variable LSB_MCPU_HOSTS='n1 2 n2' " host n2: a number of slots from 1 to 1048576 is needed, not nothing"
in_variable LSB_HOSTS='n1 n2[' " 'n2[': character 4: there is no ']'"
run_limited 5 env KEEL_MCA_bind_to=coer "$keelrun" --dry-run true
like "a default that makes no sense: the parameter, and what is nearest" "$work/err" \
    "^keelrun: the parameter bind_to: 'coer': none, .* or socket is needed; the nearest is core\$"

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
version=$("$keelrun" --version | sed 's/.* //')
home="keel 2 $version
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
printf '%s.\n' "${home/keel 2 /keel 2 9}" >"$work/in"
no_daemon "another version"
like "keeld: another version: both are named" "$work/err" "of Keel $version, and keelrun of 9$version: "
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
# its keelrun may have ended, and is about to end it; on a busy machine that may come too late once
ends_silently()
{
    for _ in 1 2 3 4 5; do
        timeout -s TERM 0.2 "$keeld" <"$1" 2>"$work/err"
        [ -s "$work/err" ] || return 0
    done
    return 1
}
ok "keeld: nobody at the contact, and SIGTERM soon: not a word" ends_silently "$work/in"
ok "keeld: nothing on standard input, and SIGTERM soon: not a word" ends_silently /dev/null
ok "keeld leaves no session folder" wait_for 2 not test -e "$sessions"

# A second daemon of the same number: it is refused, and the first goes on.
printf '#!/bin/sh\nshift\ntee "%s" | "$@"\n' "$work/told" >"$work/agent"
chmod +x "$work/agent"
mkfifo "$work/go"
exec 7<>"$work/go"
input=$work/go start "$keelrun" --mca plm_rsh_agent "$work/agent" --host far:1 \
    sh -c 'echo $KEEL_SESSION_DIR; read -r line; ls "$KEEL_SESSION_DIR"'
ok "a daemon's job runs" wait_for 15 has_lines "$work/out" 1
session=$(cat "$work/out")
timeout $((10 * slow)) "$keeld" <"$work/told" 2>"$work/second"
is "a second daemon of its number: exit code" 125 $?
like "a second daemon of its number: it says so" "$work/second" "^keeld: node far: .*$session exists already"
ok "the first one's session folder stays" test -S "$session/oob"
echo go >&7
await 20
is "the first daemon's job ends well" 0 "$code"
exec 7<&-
rm "$work/go"

# --- strangers at the door ---

# few descriptors: whatever cannot be opened first, that is the reason
for files in 8 9 10 12 13 14; do
    run_limited 20 bash -c 'ulimit -n "$0"; exec "$@"' $files "$keelrun" -n 2 --oversubscribe true
    ok "ulimit -n $files: keelrun fails" [ "$code" != 0 -a "$code" != late ]
    like "ulimit -n $files: the reason" "$work/err" "Too many open files|ulimit -n"
done

# no_room NAME LIMIT COMMAND...: what cannot be is refused before anything is started, with the limit
no_room()
{
    local name=$1 limit=$2
    shift 2
    run_limited 20 "$@" sh -c ": >$work/ran"
    is "$name: exit code" 125 "$code"
    is "$name: one line" 1 "$(wc -l <"$work/err")"
    like "$name: the limit" "$work/err" "^keelrun: .*$limit"
    ok "$name: nothing is started" not test -e "$work/ran"
}
no_room "3000 ranks and few descriptors" "the limit is 1024 .ulimit -n" \
    bash -c 'ulimit -n 1024; exec "$@"' - "$keelrun" -n 3000 --oversubscribe
no_room "30 ranks of a simulated node and few descriptors" "node n.*the limit is 80 .ulimit -n" \
    bash -c 'ulimit -n 80; exec "$@"' - "$keelrun" --simulate 1x30
for layout in 1x1 3x2; do
    no_room "daemons of simulated nodes ($layout) and few descriptors" "the limit is 17 .ulimit -n" \
        bash -c 'ulimit -n 17; exec "$@"' - "$keelrun" --simulate $layout
done
# where little is missing: in keelrun, or in a daemon
for files in 19 20 21 22; do
    run_limited 20 bash -c 'ulimit -n "$0"; exec "$@"' $files "$keelrun" --simulate 3x2 sleep 0.1
    ok "ulimit -n $files, three simulated nodes: the job runs, or one line says why not" \
        grep -qxE '0 0|125 1' <<<"$code $(wc -l <"$work/err")"
done
no_room "more ranks than this machine can have" "the limit is [0-9]+ " \
    bash -c 'ulimit -n 20000; exec "$@"' - "$keelrun" -n 1048576 --oversubscribe
if [ "$(cat /proc/sys/kernel/pid_max)" -lt 1000000 ]; then
    no_room "more simulated nodes than this machine can have" "the limit is [0-9]+ .kernel" \
        "$keelrun" --simulate 1024x1024
else
    skip "more simulated nodes than this machine can have" "it can have them"
fi

group=/sys/fs/cgroup
[ ! -d $group/pids ] || group=$group/pids
group=$group/kt.$$
if mkdir $group 2>/dev/null && at_exit "rmdir $group" && echo 200 2>/dev/null >$group/pids.max; then
    no_room "more ranks than the control group can have" "the limit is 1[0-9]+ .pids.max" \
        sh -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' $group "$keelrun" -n 300 --oversubscribe
else
    skip "more ranks than the control group can have" "no control group can be made"
fi

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
