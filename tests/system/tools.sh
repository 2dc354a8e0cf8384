#!/bin/bash
# Tools: processes that keelrun did not start, which join its job by its contact string.
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"

readonly control=$KEEL_TEST_BUILDDIR/examples/rml_control visitor=$helpers/visitor
readonly uri=$work/uri

# A job of ranks that can be asked, in the background, with these options.
start_job()
{
    rm -f "$uri"
    "$keelrun" --oversubscribe --report-uri "$uri" "$@" "$control" work 120 \
        >"$work/job.out" 2>"$work/job.err" &
    job=$!
    started+=("$job")
    wait_for 20 test -s "$uri"
}

# End it by the tool, which says so to every rank.
stop_job()
{
    run_limited 20 "$control" ask "file:$uri" stop
    wait "$job"
    job_code=$?
    unset "started[-1]"
}

session()
{
    sed 's,.*unix://,,; s,/oob.*,,' "$uri"
}

for layout in '-n 1' '-n 4' '--simulate 3x2'; do
    case $layout in
    '-n 1') ranks=1 daemons=1 ;;
    '-n 4') ranks=4 daemons=1 ;;
    *) ranks=6 daemons=4 ;;
    esac
    # shellcheck disable=SC2086 # words
    start_job $layout
    is "$layout: the contact string is for this user alone" 600 "$(stat -c %a "$uri")"
    is "$layout: and the key" '600 32' "$(stat -c '%a %s' "$(session)/tool.key")"
    for how in "file:$uri" "$(cat "$uri")"; do
        run_limited 20 "$control" ask "$how"
        is "$layout: every rank answers: exit code" 0 "$code"
        like "$layout: and is counted" "$work/out" ": $ranks of $ranks ranks have answered\$"
        is "$layout: each rank once" "$ranks" "$(grep '^rank ' "$work/out" | sort -u | wc -l)"
        is "$layout: nothing on stderr" '' "$(cat "$work/err")"
    done
    run_limited 20 "$visitor" everywhere "file:$uri" "$daemons"
    is "$layout: messages to daemons and ranks" "visited $daemons daemons and $ranks ranks" \
        "$(cat "$work/out")"
    run_limited 20 "$visitor" forbidden "file:$uri" "$daemons"
    is "$layout: the runtime's tags are refused" said "$(cat "$work/out")"
    like "$layout: which is logged" "$work/job.err" 'a runtime message is refused: tag [0-9]+, origin .*,655'
    stop_job
    is "$layout: the job goes on, and ends as it should" '0 0' "$code $job_code"
    ok "$layout: the contact string goes with keelrun" test ! -e "$uri"
done

# --- where the contact string goes ---

for where in - +; do
    run_limited 20 "$keelrun" -n 1 --report-uri $where true
    stream=out
    [ $where = - ] || stream=err
    like "--report-uri $where" "$work/$stream" '^[0-9]+\.0;unix:///.*/oob$'
    is "--report-uri $where: exit code" 0 "$code"
done
run_limited 20 "$keelrun" -n 1 --report-uri "$work/no/such/folder" true
is 'a file that cannot be written: exit code' 125 "$code"
like 'a file that cannot be written' "$work/err" 'contact string cannot be written to .*/no/such/folder: No such'
mkfifo "$work/fifo"
ln -s "$work/elsewhere" "$work/link"
for old in fifo link; do
    run_limited 20 "$keelrun" -n 1 --report-uri "$work/$old" true
    is "a $old in its place: exit code" 125 "$code"
    like "a $old in its place" "$work/err" "cannot be written to .*/$old: it is not a plain file"
done
ok 'the fifo stays' test -p "$work/fifo"
ok 'the link stays' test -L "$work/link"
run_limited 20 "$keelrun" -n 1 --report-uri '' true
is 'no file' 2 "$code"

# --- who may join ---

start_job -n 1 --mca tools_max 2
key=$(session)/tool.key
cp -p "$key" "$work/key"

# refused WHAT TEXT OPTIONS... : a tool with these variables is
refused()
{
    local what=$1 text=$2
    shift 2
    run_limited 20 env "$@" "$visitor" call "file:$uri" 0
    is "$what: exit code" 1 "$code"
    like "$what: says why" "$work/err" "$text"
}

head -c 32 /dev/zero >"$work/wrong" && chmod 600 "$work/wrong"
refused 'another key' 'another key' KEEL_MCA_tool_key_file="$work/wrong"
chmod 640 "$work/wrong"
refused 'a key that others can read' 'not a file for this user alone' KEEL_MCA_tool_key_file="$work/wrong"
ln -s "$work/key" "$work/link"
refused 'a link' 'cannot be read' KEEL_MCA_tool_key_file="$work/link"
refused 'a folder' 'not a file for this user' KEEL_MCA_tool_key_file="$work"
head -c 31 "$work/key" >"$work/short" && chmod 600 "$work/short"
refused 'a short key' 'not 32 bytes' KEEL_MCA_tool_key_file="$work/short"
refused 'no key' 'cannot be read' KEEL_MCA_tool_key_file="$work/none"
if find_another_user; then
    cp -p "$key" "$work/theirs" && chown 65534 "$work/theirs"
    refused "another user's key" 'not a file for this user' KEEL_MCA_tool_key_file="$work/theirs"
    chmod 711 "$work"
    run_limited 20 "${another_user[@]}" env KEEL_MCA_tool_key_file="$work/theirs" \
        "$visitor" call "$(cat "$uri")" 0
    is 'another user: exit code' 1 "$code"
    like 'another user' "$work/err" 'Permission denied|another user'
else
    skip "another user" "$reason"
fi
run_limited 20 "$visitor" call 'nonsense' 0
is 'no contact string' 1 "$code"
run_limited 20 "$visitor" call "$(sed 's/\.0;/.1;/' "$uri")" 0
like 'not keelrun' "$work/err" "is not keelrun's contact string"
run_limited 20 "$visitor" call "$(sed 's/unix.*/unix:\/\/\/nobody\/oob/' "$uri")" 0
like 'nobody there, and no key' "$work/err" '/nobody/tool.key cannot be read'

# --- many, and often ---

# Tools that come at once ask for their names under the few that guests have, and choose these anew.
"$keelrun" --oversubscribe --simulate 3x1 --report-uri "$work/many" "$control" work 100 \
    >"$work/job" 2>&1 &
many=$!
started+=("$many")
wait_for 20 test -s "$work/many"
visits=()
for i in 1 2 3 4 5 6 7 8; do
    for j in {1..20}; do
        timeout $((20 * slow)) "$control" ask "file:$work/many" || echo "tool $i.$j: $?"
    done >"$work/visits$i" 2>&1 &
    visits+=("$!")
done
wait "${visits[@]}"
is 'tools that come and go get names and answers' 160 \
    "$(cat "$work"/visits* | grep -c ': 3 of 3 ranks have answered$')"
run_limited 20 "$control" ask "file:$work/many" stop
wait "$many"
is 'their job ends well' '0 0' "$code $?"
unset "started[-1]"

# --- how many ---

# A tool that stays until its pipe closes: its number in name.
guest()
{
    mkfifo "$work/in$1"
    "$visitor" stay "file:$uri" <"$work/in$1" >"$work/guest$1" 2>&1 &
    guests[$1]=$!
    started+=("$!")
    eval "exec 1$1>'$work/in$1'"
    wait_for 20 has_lines "$work/guest$1" 1
    name=$(sed -n 's/^here //p' "$work/guest$1")
}

guests=()
guest 1
first=$name
guest 2
ok 'tools have names of their own' test -n "$first" -a -n "$name" -a "$first" != "$name"
run_limited 20 "$visitor" call "file:$uri" "$first"
like 'as many as tools_max' "$work/err" 'this tool gets no name: the HNP gives no name: out of resources'
exec 12>&-
wait "${guests[2]}"
is 'a tool leaves' 0 $?
joins()
{
    run_limited 20 "$visitor" call "file:$uri" "$first"
    [ "$code" = 0 ]
}
ok 'its name is given back' wait_for 20 joins
is 'tools talk to each other' 'sent 1' "$(cat "$work/out")"
ok 'and hear it' wait_for 20 grep -q '^heard 65521\.' "$work/guest1"
guest 3
kill -KILL "${guests[3]}"
ok 'so is the name of one that was killed' wait_for 20 joins
stop_job
is 'the job ends well' '0 0' "$code $job_code"
ok 'a tool whose keelrun is gone goes on' is_alive "${guests[1]}"
exec 11>&- 13>&-
wait "${guests[1]}"
is 'and ends' 0 $?
is 'nothing is left' '' "$(leftovers '' '')"

# --- where another user has taken the session folder's name ---

if [ "$(id -u)" = 0 ]; then # only root can give folders away
    mkdir -p "$work/t/keel-0"
    chown 65534:65534 "$work/t/keel-0"
    excuse_libpmix
    TMPDIR=$work/t start_job -n 2
    like 'the contact string has another folder' "$uri" ";unix://$work/t/keel-0-[0-9a-f]{8}/"
    run_limited 20 "$control" ask "file:$uri"
    is 'a tool joins the job there' '0 1' "$code $(grep -c ': 2 of 2 ranks have answered$' "$work/out")"
    if type -P pps >"$work/reason"; then
        finds()
        {
            run_limited 20 env TMPDIR="$work/t" pps
            cat "$work/out" "$work/err" | grep -Eqx 'Active nspaces: keel-[0-9a-f]{32}'
        }
        ok 'a tool of PMIx finds it' wait_for 10 finds
    else
        skip 'a tool of PMIx finds it' 'no pps'
    fi
    stop_job
    ok 'what is left is theirs' wait_for 4 test "$(ls "$work/t")" = keel-0
else
    skip "another user's session folder" 'this is not root'
fi

# --- from another host ---

# shellcheck source=tests/lib/netns.sh
. "$KEEL_TEST_SRCDIR/tests/lib/netns.sh"

# from_b NAME=VALUE... -- COMMAND...: on the host that has no file of keelrun's
from_b()
{
    local variables=()
    while [ "$1" != -- ]; do
        variables+=("$1")
        shift
    done
    shift
    run_limited 20 env -u TMPDIR "${variables[@]}" "$hosts_agent" b "$@"
}

if make_hosts; then
    rm -f "$uri"
    start "${on_a[@]}" "$keelrun" "${hosts_options[@]}" --report-uri "$uri" --host a:2,b:2 -n 4 \
        "$control" work 120
    ok 'another host: the contact string has an address' \
        wait_for 20 grep -q ';tcp://10.99.7.1:[0-9]*' "$uri"
    "$hosts_agent" a cp -p "$(session)/tool.key" "$work/key-of-a"
    for how in "file:$uri" "$(sed 's,unix:[^;]*;,,' "$uri")"; do
        from_b KEEL_MCA_tool_key_file="$work/key-of-a" -- "$control" ask "$how"
        what=${how//[0-9]/}
        is "another host, by ${what%%:*}: every rank answers" '0 1' \
            "$code $(grep -c ': 4 of 4 ranks have answered$' "$work/out")"
        is "another host, by ${what%%:*}: nothing on stderr" '' "$(cat "$work/err")"
    done
    from_b KEEL_MCA_tool_key_file="$work/key-of-a" -- "$visitor" everywhere "file:$uri" 2
    is 'another host: messages to daemons and ranks' 'visited 2 daemons and 4 ranks' "$(cat "$work/out")"
    from_b -- "$visitor" call "file:$uri" 0
    like 'another host, without the key' "$work/err" 'tool.key cannot be read: No such file'
    from_b KEEL_MCA_tool_key_file="$work/wrong2" -- "$visitor" call "file:$uri" 0
    is 'another host, no such key: exit code' 1 "$code"
    head -c 32 /dev/zero >"$work/wrong2" && chmod 600 "$work/wrong2"
    from_b KEEL_MCA_tool_key_file="$work/wrong2" -- "$visitor" call "file:$uri" 0
    is 'another host, another key: exit code' 1 "$code"
    like 'another host, another key' "$work/err" 'another key'
    keelrun_pid=$pid
    from_b KEEL_MCA_tool_key_file="$work/key-of-a" -- "$control" ask "file:$uri" stop
    pid=$keelrun_pid
    await 15
    is 'another host: the job ends well' 0 "$code"
else
    skip 'a tool on another host' "$reason"
fi
finish
