#!/bin/bash
# Open MPI's programs under keelrun: PMIx, on one node and over several; and how they end.
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"
. "$KEEL_TEST_SRCDIR/tests/lib/mpi.sh"
need_mpi openmpi

# --- programs that pass ---

all="hello ring allreduce split_type bcast publish"
ob1="--mca pml ob1" # the default looks for hardware, which takes 0.2 s
# shellcheck disable=SC2086
passes "$ob1 --mca osc pt2pt -n 1" 1 1 $all onesided
# shellcheck disable=SC2086
passes "$ob1 -n 4 --oversubscribe" 4 4 $all onesided
# shellcheck disable=SC2086
passes "$ob1 --mca osc pt2pt --simulate 3x2" 6 2 $all onesided
passes "--simulate 2x2" 4 2 hello
passes "$ob1 --simulate 2x1 --bind-to core" 2 1 hello split_type
passes "$ob1 --mca btl tcp,self -n 3 --oversubscribe" 3 3 ring
passes "$ob1 --simulate 4x2 --mca routed_radix 1" 8 2 hello ring split_type
# ranks of one node that are not neighbours
passes "$ob1 --simulate 2x3 --oversubscribe -n 8" 8 4 hello allreduce
# cards on demand instead of everybody's at the start
passes "$ob1 --mca pmix_base_collect_data 0 --simulate 3x2" 6 2 hello ring
passes "--mca pml cm --mca mtl ofi --simulate 2x2" 4 2 ring
passes "$ob1 -n 32 --oversubscribe" 32 32 hello

# --- more ranks ---

cat >"$work/spawn_names.c" <<'END'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    MPI_Comm other;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&other);
    if (other == MPI_COMM_NULL) {
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other,
                       MPI_ERRCODES_IGNORE);
    } else {
        puts(getenv("PMIX_HOSTNAME"));
    }
    MPI_Comm_disconnect(&other);
    MPI_Finalize();
    return 0;
}
END
"$KEEL_TEST_MPICC" -o "$work/spawn_names" "$work/spawn_names.c"
passes "$ob1 -n 2 --oversubscribe" 2 2 spawn
# placement over nodes; what the ranks say to each other over btl/tcp afterwards: docs/mpi.md
run_limited 30 "$keelrun" $ob1 --simulate 2x2 -n 4 "$work/spawn_names"
is "spawned ranks on several nodes" "0 node0 node1" \
    "$code $(sort "$work/out" | tr '\n' ' ' | sed 's/ $//')"
cat >"$work/spawn_info.c" <<'END'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* spawn_info COUNT KEY=VALUE...: each child says its rank, node, folder and program. "program" is the
 * one to spawn, the others are the info's. */
int main(int argc, char **argv)
{
    MPI_Comm other;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&other);
    if (other == MPI_COMM_NULL) {
        char *program = argv[0];
        MPI_Info info;
        MPI_Info_create(&info);
        for (int i = 2; i < argc; i++) {
            char *value = strchr(argv[i], '=');
            *value++ = 0;
            if (strcmp(argv[i], "program") == 0) {
                program = value;
            } else {
                MPI_Info_set(info, argv[i], value);
            }
        }
        MPI_Comm_spawn(program, MPI_ARGV_NULL, atoi(argv[1]), info, 0, MPI_COMM_WORLD, &other,
                       MPI_ERRCODES_IGNORE);
        MPI_Info_free(&info);
    } else {
        int rank;
        char folder[4096];
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        printf("%d:%s:%s:%s\n", rank, getenv("PMIX_HOSTNAME"), getcwd(folder, sizeof(folder)), argv[0]);
    }
    MPI_Comm_disconnect(&other);
    MPI_Finalize();
    return 0;
}
END
"$KEEL_TEST_MPICC" -o "$work/spawn_info" "$work/spawn_info.c"
# spawns "WHERE..." COUNT KEY=VALUE...: the nodes of the children of three ranks on three nodes
spawns()
{
    local expected=$1
    shift
    run_limited 30 "$keelrun" $ob1 --simulate 3x3 -N 1 -n 3 "$work/spawn_info" "$@"
    is "spawn $*" "0 $expected" "$code $(sort "$work/out" | cut -d : -f 2 | tr '\n' ' ' | sed 's/ $//')"
}
spawns "node2 node2" 2 host=node2
spawns "node2 node1 node2" 3 host=node2,node1 map_by=node
spawns "node0 node0 node1" 3 map_by=slot
spawns "node0 node1 node1" 3 host=node0:1,node1 map_by=slot
spawns "node0 node1 node2" 3 npernode=1
spawns "node1 node1 node2" 3 host=node1:2,node2:1 map_by=core
spawns "node0 node1 node2" 3 map_by=ppr:1:package
printf 'node1 slots=1\nelsewhere\nnode2 slots=1\n' >"$work/hosts"
spawns "node1 node2" 2 hostfile="$work/hosts"
for program in spawn_names spawn_info; do
    cat >"$work/bound_${program#spawn_}" <<END
#!/bin/bash
sed -n 's/^Cpus_allowed_list:/bound to/p' /proc/self/status
exec -a "\$0" "$work/$program" "\$@"
END
    chmod +x "$work/bound_${program#spawn_}"
done
# How many ranks each set of processors has.
sharers()
{
    grep "^bound to" "$work/out" | sort | uniq -c | awk '{ print $1 }' | xargs
}
if [ "$(nproc)" -ge 2 ]; then
    run_limited 30 "$keelrun" $ob1 --simulate 2x1 --bind-to core "$work/bound_names"
    is "spawned ranks are bound to free cores" "0 2 2" "$code $(sharers)"
    run_limited 30 "$keelrun" $ob1 --simulate 2x2 -n 1 "$work/spawn_info" 2 bind_to=core host=node1 program="$work/bound_info"
    is "spawned ranks of a job that is not bound are bound to cores" "0 1 1" "$code $(sharers)"
    run_limited 30 "$keelrun" $ob1 --simulate 2x2 -n 1 "$work/spawn_info" 1 map_by=slot:PE=2 program="$work/bound_info"
    is "a spawned rank of a job that is not bound has two processors" "0 2" \
        "$code $(expand "$(sed -n 's/^bound to[[:space:]]*//p' "$work/out")" | wc -w)"
else
    skip "spawned ranks are bound to free cores" "one processor"
fi
spawns "node0" 1 wdir=/
is "spawned in a folder" "/" "$(cut -d : -f 3 "$work/out")"
mkdir "$work/programs"
ln -s ../spawn_info "$work/programs/named"
# Open MPI keeps the key "path" to itself (docs/mpi.md)
spawns "node0" 1 program=named ompi_prefix="$work/programs"
is "found in path" "named" "$(cut -d : -f 4 "$work/out" | sed 's|.*/||')"
# inherits "WHERE..." COUNT OPTION...: the nodes of so many children of a job that is mapped so
inherits()
{
    local expected=$1 count=$2
    shift 2
    run_limited 30 "$keelrun" $ob1 --simulate 3x3 "$@" "$work/spawn_info" "$count"
    is "$count spawned by keelrun $*" "0 $expected" \
        "$code $(sort "$work/out" | cut -d : -f 2 | tr '\n' ' ' | sed 's/ $//')"
}
inherits "node1 node1 node2" 3 -n 4
inherits "node0 node0 node1" 3 -n 1
inherits "node0 node1 node2" 3 --map-by node -n 1
inherits "node0 node1 node2" 3 --map-by node -n 4
inherits "node0 node1 node0 node1" 4 -n 4 --map-by ppr:2:node --rank-by node
inherits "node0 node1 node2 node0" 4 -N 1 --rank-by span
# refuses WHY COUNT KEY=VALUE...
refuses()
{
    local why=$1
    shift
    run_limited 30 "$keelrun" $ob1 --simulate 3x3 -N 1 -n 3 "$work/spawn_info" "$@"
    like "spawn $* is refused ($code)" "$work/err" "^keelrun: rank 0: MPI_Comm_spawn is refused: $why\$"
    ok "spawn $* ends the job" [ "$code" = 50 ]
}
refuses "host elsewhere is none of the nodes of this job" 1 host=elsewhere
refuses "there is room for 3 of 4 ranks" 4 npernode=1
refuses "mapper=x: this info key is not supported; .*" 1 mapper=x
passes "$ob1 -n 1 --oversubscribe" 1 1 "spawn twice"
cat >"$work/spawn_try.c" <<'END'
#include <mpi.h>
#include <stdio.h>
/* spawn_try PROGRAM FOLDER: rank 0 spawns it there by itself, and says how that ended. */
int main(int argc, char **argv)
{
    MPI_Comm children;
    MPI_Info info;
    int rank, class = MPI_SUCCESS;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Info_create(&info);
    MPI_Info_set(info, "wdir", argv[2]);
    if (rank == 0) {
        int status = MPI_Comm_spawn(argv[1], MPI_ARGV_NULL, 2, info, 0, MPI_COMM_SELF, &children,
                                    MPI_ERRCODES_IGNORE);
        MPI_Error_class(status, &class);
        puts(class == MPI_ERR_SPAWN ? "MPI_ERR_SPAWN" : class == MPI_SUCCESS ? "spawned" : "another error");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
END
"$KEEL_TEST_MPICC" -o "$work/spawn_try" "$work/spawn_try.c"
# missing WHAT PROGRAM FOLDER: the job goes on without them
missing()
{
    run_limited 20 "$keelrun" $ob1 --simulate 2x1 -n 2 "$work/spawn_try" "$2" "$3"
    is "spawn of $2 in $3: the parent goes on with an error" "0 MPI_ERR_SPAWN" "$code $(cat "$work/out")"
    like "spawn of $2 in $3: the reason" "$work/err" \
        "^keelrun: rank 0: MPI_Comm_spawn is refused: cannot $1 on node node[01]: No such file or directory$"
}
missing "start /nonexistent" /nonexistent /
missing "start nothing-here" nothing-here /
missing "enter the folder /nowhere" "$work/spawn_try" /nowhere
printf '#!/bin/sh\nexit 255\n' >"$work/no_agent"
chmod +x "$work/no_agent"
run_limited 20 "$keelrun" $ob1 --host "$host:1,far:2" --mca plm_rsh_agent "$work/no_agent" -n 1 "$work/spawn_try" true /
is "spawn on a node that does not come: the parent goes on with an error" "0 MPI_ERR_SPAWN" "$code $(cat "$work/out")"
like "spawn on a node that does not come: the reason" "$work/err" \
    "^keelrun: rank 0: MPI_Comm_spawn is refused: node far: the agent ended with code 255"
run_limited 20 "$keelrun" $ob1 --simulate 2x1 --mca fault launcher.spawn:error=ENOMEM \
    -n 2 "$work/spawn_try" true /
is "daemons that cannot start more ranks: exit code" 125 "$code"
like "daemons that cannot start more ranks: the reason" "$work/err" \
    "^keelrun: node [^ ]*: more ranks cannot be started: "
printf '#!/bin/sh\nshift\nKEEL_MCA_fault=launcher.spawn:delay=60000 exec "$@"\n' >"$work/agent"
chmod +x "$work/agent"
run_limited 20 "$keelrun" $ob1 --host far:1 --mca plm_rsh_agent "$work/agent" \
    --mca plm_launch_timeout_s 3 -n 1 "$work/spawn_try" true /
is "a daemon that does not start more ranks: exit code" 125 "$code"
like "a daemon that does not start more ranks: the reason" "$work/err" \
    "^keelrun: node far: its daemon has not started more ranks in time$"

# --- a thread that is late ---

"$KEEL_TEST_MPICC" -D_GNU_SOURCE -shared -fPIC -o "$work/laggard.so" \
    "$KEEL_TEST_SRCDIR/tests/system/laggard.c"
for i in 1 2 3; do
    passes "$ob1 -n 2 --oversubscribe -x LD_PRELOAD=$work/laggard.so" 2 2 hello
done

# --- two programs, other launchers ---

run_limited 20 "$keelrun" $ob1 --oversubscribe -n 1 "$programs/hello.openmpi" 3 : \
    -n 2 "$programs/hello.openmpi" 3
is "two programs" "rank 0 of 3, program 0 rank 1 of 3, program 1 rank 2 of 3, program 1" \
    "$(grep ^rank "$work/out" | sort | tr '\n' ' ' | sed 's/ $//')"
run_limited 20 "$keelrun" $ob1 -n 2 --oversubscribe "$keelrun" -n 2 --oversubscribe \
    "$programs/hello.openmpi" 2
is "keelrun under keelrun" "0 2" "$code $(grep -cx 'hello: 2 ranks passed' "$work/out")"
if [ "$(id -u)" = 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
run_limited 20 "$keelrun" -n 1 mpirun.openmpi $ob1 --oversubscribe -n 2 \
    "$programs/hello.openmpi" 2
is "mpirun under keelrun" "0 1" "$code $(grep -cx 'hello: 2 ranks passed' "$work/out")"
run_limited 20 mpirun.openmpi -n 1 "$keelrun" $ob1 -n 2 --oversubscribe \
    "$programs/hello.openmpi" 2
is "keelrun under mpirun" "0 1" "$code $(grep -cx 'hello: 2 ranks passed' "$work/out")"

# --- what the ranks are told ---

run_limited 20 "$keelrun" --simulate 2x2 bash -c 'echo $OMPI_COMM_WORLD_RANK/$OMPI_COMM_WORLD_SIZE \
    $OMPI_COMM_WORLD_LOCAL_RANK/$OMPI_COMM_WORLD_LOCAL_SIZE $PMIX_RANK $PMIX_HOSTNAME'
is "ranks, sizes and nodes" "0/4 0/2 0 node0 1/4 1/2 1 node0 2/4 0/2 2 node1 3/4 1/2 3 node1" \
    "$(sort "$work/out" | tr '\n' ' ' | sed 's/ $//')"
PMIX_SERVER_URI9=x PMIX_RANK=9 PMIX_NAMESPACE=x PMIX_MCA_psec=none PMIX_MCA_gds=ds21 \
    OMPI_MCA_orte_hnp_uri=x run_limited 20 "$keelrun" $ob1 -n 1 "$programs/hello.openmpi" 1
is "an outer launcher's variables do no harm" 0 "$code"
run_limited 20 "$keelrun" -n 1 -x OMPI_MCA_btl_vader_backing_directory=/tmp bash -c \
    'echo $OMPI_MCA_btl_vader_backing_directory'
is "the user's folder for shared memory stays" /tmp "$(cat "$work/out")"
# shellcheck disable=SC2016 # for the rank
run_limited 20 "$keelrun" -n 1 bash -c 'echo $OMPI_MCA_orte_bound_at_launch'
is "ranks need not look whether they are bound" 1 "$(cat "$work/out")"
# shellcheck disable=SC2016
run_limited 20 "$keelrun" -n 1 -x OMPI_MCA_orte_bound_at_launch=0 \
    bash -c 'echo $OMPI_MCA_orte_bound_at_launch'
is "but the user's word stays" 0 "$(cat "$work/out")"

run_limited 20 "$keelrun" -n 1 --mca shmem posix bash -c 'echo $OMPI_MCA_shmem'
is "so does the user's kind of shared memory" posix "$(cat "$work/out")"
cat >"$work/shm.c" <<'END'
#include <stdio.h>
#include <sys/types.h>
int shm_open(const char *name, int flags, mode_t mode)
{
    (void) flags;
    (void) mode;
    dprintf(2, "shm_open %s\n", name);
    return -1;
}
END
"$KEEL_TEST_MPICC" -shared -fPIC -o "$work/shm.so" "$work/shm.c"
run_limited 20 "$keelrun" $ob1 -n 2 --oversubscribe -x LD_PRELOAD="$work/shm.so" \
    "$programs/hello.openmpi" 2
is "nothing is tried with shared memory that a killed rank would leave" "0 " \
    "$code $(cat "$work/err")"

# --- ends ---

for layout in "-n 4 --oversubscribe" "--simulate 2x2"; do
    ends "$ob1 $layout" 4 0 abort quit all kill crash never
done

# A rank fails while another has just connected, and libpmix's server is being started for it.
run_limited 20 "$keelrun" $ob1 --simulate 2x1 --mca fault launcher.pmix:delay=700 sh -c '
    [ $PMIX_RANK = 1 ] || exec "$0" 2; sleep 0.4; exit 7' "$programs/hello.openmpi"
is "an end while the server is being started: exit code" 7 "$code"
is "an end while the server is being started: nothing else is said" \
    "keelrun: rank 1 (sh) on node node1 exited with code 7
keelrun: rank 0 was ended by keelrun" "$(sed "s/, pid [0-9]*//" "$work/err")"

# keelrun itself is killed while the ranks run: nothing is left, no process and no file.
mkfifo "$work/fifo"
cat >"$work/block.c" <<'END'
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        int fd = open(argv[1], O_WRONLY);
        dprintf(fd, "%s\n", getenv("OMPI_MCA_btl_vader_backing_directory"));
    }
    pause();
    return 0;
}
END
"$KEEL_TEST_MPICC" -o "$work/block" "$work/block.c"
exists()
{
    compgen -G "$1" >"$work/glob"
}
has_rank()
{
    pgrep -f "^$work/block" >"$work/glob"
}
start "$keelrun" $ob1 --simulate 2x2 "$work/block" "$work/fifo"
job=$(timeout 20 head -n 1 "$work/fifo")
job=${job%-*} # of /dev/shm/keel-JOB-VPID
ok "ranks that wait" has_rank
ok "they have files in shared memory" exists "$job-*/vader*"
kill -KILL "$pid"
await 10
ok "after kill -9 no rank is left" wait_for 4 not has_rank
ok "nor a file in shared memory" wait_for 4 not exists "$job-*"

# --- /dev/shm is full ---

elsewhere=$(mktemp -d /tmp/kt.XXXXXX)
at_exit rm -rf "$elsewhere"
if unshare -m true 2>"$work/unshare"; then
    cp "$work/leaks" "$elsewhere" # where it is not hidden
    run_limited 30 env TMPDIR="$elsewhere" LSAN_OPTIONS="${LSAN_OPTIONS//$work/$elsewhere}" \
        unshare -m sh -c \
        'mount -t tmpfs -o size=64k,nr_inodes=2 none /dev/shm && exec "$@"' - \
        "$keelrun" $ob1 --mca btl self,tcp -n 2 --oversubscribe "$programs/hello.openmpi" 2
    is "/dev/shm is full: the session folder has to do" "0 hello: 2 ranks passed" \
        "$code $(grep '^hello: ' "$work/out")"
else
    skip "/dev/shm is full" "a mount namespace is not to be had"
fi

# --- without a server, without the module ---

run_limited 20 "$keelrun" $ob1 -n 2 --oversubscribe --mca fault launcher.pmix:error=EIO \
    "$programs/hello.openmpi" 2
is "no server: exit code" 1 "$code"
like "no server: the reason" "$work/err" "called MPI_Init, but PMIx is not offered: it is made to fail"

if [ -z "$sanitize" ]; then # libpmix would crash
    run_limited 20 bash -c 'ulimit -v 45000; exec "$@"' - "$keelrun" $ob1 -n 2 --oversubscribe \
        "$programs/hello.openmpi" 2
    is "no memory: exit code" 1 "$code"
    like "no memory: the reason" "$work/err" "called MPI_Init, but PMIx is not offered: no "
fi

mkdir -p "$work/bare/bin"
cp "$keelrun" "$work/bare/bin/"
run_limited 20 "$work/bare/bin/keelrun" $ob1 -n 2 --oversubscribe "$programs/hello.openmpi" 2
is "no module: exit code" 1 "$code"
like "no module: the reason" "$work/err" \
    "^keelrun: rank . \(.*\) on node $host called MPI_Init, but PMIx is not offered: .*keel-pmix.so is not installed"

ok "no session folder is left" wait_for 4 not test -e "$sessions"
finish
