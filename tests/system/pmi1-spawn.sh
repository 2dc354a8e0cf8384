#!/bin/bash
# PMI-1's spawn: ranks that bash clients ask for, beside what hydra gives them; and MPICH's MPI_Comm_spawn,
# where it can open a port for its children.
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"
. "$KEEL_TEST_SRCDIR/tests/lib/mpi.sh"
. "$KEEL_TEST_SRCDIR/tests/lib/pmi1.sh"
forget_launchers
export TEST_WORK=$work

# A child tells what it finds; all children add up what they have put, and the first publishes the sum.
cat >"$work/child" <<'END'
#!/bin/bash
. "$TEST_WORK/client"
begin; kvs
get PARENT_ROOT_PORT_NAME; port=$answer
get PMI_process_mapping; mapping=$answer
ask cmd=get_appnum
line="$PMI_RANK/$PMI_SIZE ${answer#cmd=appnum } spawned=$PMI_SPAWNED port=$port in=$PWD args=$*"
line+=" local=$MPI_LOCALRANKID/$MPI_LOCALNRANKS $mapping on ${KEEL_NODE-}"
ask "cmd=put kvsname=$kvs key=k$PMI_RANK value=$((PMI_RANK + 1))"
barrier
for ((i = 0; i < PMI_SIZE; i++)); do
    get k$i
    sum=$((sum + answer))
done
echo "child $line sum=$sum"
[ "$PMI_RANK" != 0 ] || ask "cmd=publish_name service=sum port=$sum"
barrier; end
END
# What its parent, rank 0, does: spawns, waits for the sum of its children, and says both.
cat >>"$work/client" <<'END'
told()
{
    spawn; result=${answer%% errcodes*}
    for ((i = 0; i < 100; i++)); do
        ask "cmd=lookup_name service=sum"
        [[ $answer != *port=* ]] || break
        sleep 0.1
    done
    answer=${answer#*port=}
    echo "parent $result sum=${answer%% *}"
}
END
chmod +x "$work/child"

# children: what they have said, without what follows WORD
children()
{
    sed -n "s/^child //; s/ $1.*//p" "$work/out" | sort | paste -sd ';'
}

one='program 3 $TEST_WORK/child arg1=a "arg2=b c" argcnt=2; told'
two='program 2 $TEST_WORK/child argcnt=0 "$(info wdir /)"; program 1 $TEST_WORK/child arg1=x argcnt=1; told'

spawns()
{
    parent "$@" -- "$one"
    is "spawn, keelrun $*: exit code" 0 "$code"
    is "spawn, keelrun $*: the parent" "parent cmd=spawn_result rc=0 sum=6" "$(grep ^parent "$work/out")"
    is "spawn, keelrun $*: the children" \
        "0/3 appnum=0 spawned=1 port=tag#0\$port#7\$ in=$PWD args=a b c;1/3 appnum=0 spawned=1 port=tag#0\$port#7\$ in=$PWD args=a b c;2/3 appnum=0 spawned=1 port=tag#0\$port#7\$ in=$PWD args=a b c" \
        "$(children local)"
    is "spawn, keelrun $*: nothing on standard error" "" "$(cat "$work/err")"
    parent "$@" -- "$two"
    is "spawn of two programs, keelrun $*: exit code" 0 "$code"
    is "spawn of two programs, keelrun $*" "0/3 appnum=0 in=/ args=;1/3 appnum=0 in=/ args=;2/3 appnum=1 in=$PWD args=x" \
        "$(children local | sed 's/ spawned=[^;]* in=/ in=/g')"
}
spawns -n 1
spawns --simulate 2x2 -n 2 --map-by node

# --- where they are ---

# on TITLE EXPECTED LINE: the mapping and the nodes of three children of two ranks on two nodes
on()
{
    parent --simulate 2x4 -n 2 --map-by node -- "program 3 \$TEST_WORK/child $3; told"
    is "$1" "0 $2" "$code $(sed -n 's/^child .* \((vector[^ ]*\) on \([^ ]*\) sum=6$/\1 \2/p' "$work/out" | sort | xargs)"
}
on "as the job is mapped" "(vector,(0,2,1)) node0 (vector,(0,2,1)) node0 (vector,(0,2,1)) node1"
on "info key host" "(vector,(0,1,3)) node1 (vector,(0,1,3)) node1 (vector,(0,1,3)) node1" '"$(info host node1)"'
on "info key ppn" "(vector,(0,1,2),(1,1,1)) node0 (vector,(0,1,2),(1,1,1)) node0 (vector,(0,1,2),(1,1,1)) node1" \
    '"$(info ppn 2)"'
on "info key map_by" "(vector,(0,1,3)) node0 (vector,(0,1,3)) node0 (vector,(0,1,3)) node0" '"$(info map_by slot)"'
mkdir "$work/there"
ln -s ../child "$work/there/named"
parent -n 1 -- 'program 1 named "$(info path $TEST_WORK/there)"; told'
is "info key path" "0 parent cmd=spawn_result rc=0 sum=1" "$code $(grep ^parent "$work/out")"

# --- children of children ---

cat >"$work/middle" <<'END'
#!/bin/bash
. "$TEST_WORK/client"
begin; kvs; [ "$PMI_RANK" != 0 ] || { program 2 $TEST_WORK/child; told; }; barrier; end
END
chmod +x "$work/middle"
parent -n 1 -- 'program 2 $TEST_WORK/middle; spawn; echo "first $answer"'
is "children of children" "0 child 0/2;child 1/2;first cmd=spawn_result rc=0 errcodes=0,0;parent cmd=spawn_result rc=0 sum=3" \
    "$code $(sed 's/ appnum.*//' "$work/out" | sort | paste -sd ';')"

# --- what fails ---

# refused TITLE REASON SCRIPT OPTION...: the parent is told and goes on
refused()
{
    local title=$1 reason=$2 script=$3
    shift 3
    parent "$@" -- "$script; spawn; echo \"\$answer\""
    is "$title" "0 cmd=spawn_result rc=-1 msg=spawn_failed" "$code $(cat "$work/out")"
    like "$title: the reason" "$work/err" "^keelrun: rank 0: MPI_Comm_spawn is refused: $reason\$"
}
refused "a program that is missing" "cannot start /nonexistent on node $host: No such file or directory" \
    'program 1 /nonexistent' -n 1
refused "one of two programs is missing" "cannot start /nonexistent on node $host: No such file or directory" \
    'program 1 $TEST_WORK/child; program 1 /nonexistent' -n 1
is "one of two programs is missing: the other does not run" "" "$(grep child "$work/out")"
refused "a folder that is missing" "cannot enter the folder /nowhere on node $host: No such file or directory" \
    'program 1 true "$(info wdir /nowhere)"' -n 1
refused "more ranks than slots" "there is room for 1 of 3 ranks" 'program 3 true' --simulate 1x2 -n 1 --nooversubscribe
refused "a host that the job does not have" "host elsewhere is none of the nodes of this job" \
    'program 1 true "$(info host elsewhere)"' -n 1
for script in 'program 0 true' 'program 1 true; program 0 true'; do
    parent -n 1 -- "$script; spawn; echo \"\$answer\""
    is "$script: no ranks" "0 cmd=spawn_result rc=-1 msg=nprocs_is_0" "$code $(cat "$work/out")"
    like "$script: the reason" "$work/err" \
        '^keelrun: rank 0: MPI_Comm_spawn is refused: a program with 0 ranks \(nprocs\)$'
done
parent -n 1 -- 'program 1 ""; spawn; echo "$answer"'
is "no program" "0 cmd=spawn_result rc=-1 msg=execname_is_missing" "$code $(cat "$work/out")"
like "no program: the reason" "$work/err" \
    '^keelrun: rank 0: MPI_Comm_spawn is refused: a program without a name \(execname\)$'
refused "too many ranks" "70000 ranks: 1 to 65536 can be spawned at a time" 'program 70000 true' -n 1

cat >"$work/bad" <<'END'
#!/bin/bash
. "$TEST_WORK/client"
begin; [ "$PMI_RANK" != 1 ] || exit 3; barrier; end
END
chmod +x "$work/bad"
parent -n 1 -- 'program 2 $TEST_WORK/bad; spawn; sleep 20'
is "a child that fails ends the job" 3 "$code"
like "a child that fails: the reason" "$work/err" "^keelrun: rank 2 \($work/bad, pid [0-9]+\) on node $host exited with code 3$"
parent -n 1 -- 'program 1 bash "arg1=-c" "arg2=. $TEST_WORK/client; begin; ask \"cmd=abort exitcode=5\"; sleep 20"
    spawn; sleep 20'
is "a child that aborts ends the job" 5 "$code"

# --- beside hydra ---

# What the clients say, but for what hydra does in another way: it has the parents' process mapping, and no errcodes.
if type -P mpiexec.hydra >"$work/hydra"; then
    for script in "$one" "$two"; do
        parent -n 1 -- "$script"
        sed 's/ local=.* sum/ sum/' "$work/out" | sort >"$work/ours"
        run_limited 30 mpiexec.hydra -n 1 bash -c ". $work/client; begin; kvs; $script; end"
        is "as under hydra: $script" "$(sed 's/ local=.* sum/ sum/' "$work/out" | sort)" "$(cat "$work/ours")"
    done
else
    skip "as under hydra" "no mpiexec.hydra"
fi

# --- MPICH ---

need_mpi mpich
cat >"$work/port.c" <<'END'
#include <mpi.h>
#include <stdio.h>
/* Says why no port can be opened, or nothing. */
int main(int argc, char **argv)
{
    char port[MPI_MAX_PORT_NAME], text[MPI_MAX_ERROR_STRING];
    int size, status;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    status = MPI_Open_port(MPI_INFO_NULL, port);
    if (status != MPI_SUCCESS) {
        MPI_Error_string(status, text, &size);
        puts(text);
    }
    MPI_Finalize();
    return 0;
}
END
"$KEEL_TEST_MPICH_MPICC" -o "$work/port" "$work/port.c"
run_limited 20 "$keelrun" -n 1 "$work/port"
if [ ! -s "$work/out" ]; then
    passes "-n 2 --oversubscribe" 2 2 spawn
    passes "--simulate 2x2" 4 2 spawn
else
    skip "MPI_Comm_spawn, mpich" "it opens no port for its children: $(tail -n 1 "$work/out")"
fi
ok "no session folder is left" wait_for 2 not test -e "$sessions"
finish
