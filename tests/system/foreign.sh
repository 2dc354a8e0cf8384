#!/bin/bash
# Keel's programs under PMIx servers: keelrun's own, Open MPI's mpirun, Slurm's srun.
#
#   foreign.sh --slurm NUMBER     the part on a Slurm cluster, with tests numbered from there
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"
. "$KEEL_TEST_SRCDIR/tests/lib/netns.sh"

peers=$helpers/peers member=$helpers/member
if [ ! -e "$KEEL_TEST_BUILDDIR/lib/keel-bootstrap-pmix.la" ]; then
    skip "PMIx servers" "there is no libpmix"
    finish
fi
forget_launchers
unset "${!SLURM_@}"
excuse_libpmix

# The rails that the ranks named, in order of the ranks.
rails()
{
    sed -nE 's/^rank ([0-9]+) -> [0-9]+ over ([a-z]+): .* ok$/\1 \2/p' "$work/out" | sort -n |
        cut -d ' ' -f 2 | xargs
}

# hands_over NAME RANKS RAILS COMMAND...: handoff under some launcher.
hands_over()
{
    local name=$1 ranks=$2 expected=$3 size
    size=$(stat -c %s "$handoff")
    shift 3
    run_limited 30 "$@"
    is "$name: exit code" 0 "$code"
    ok "$name: last line" grep -qx \
        "handoff: $ranks ranks, $((2 * ranks)) transfers, $((2 * ranks * size)) bytes, 0 errors" \
        "$work/out"
    is "$name: rails" "$expected" "$(rails)"
}

# talks NAME RANKS COMMAND...: the calls between all ranks.
talks()
{
    local name=$1 ranks=$2
    shift 2
    run_limited 60 "$@"
    is "$name: exit code" 0 "$code"
    ok "$name: all calls" grep -qx "peers: $ranks ranks passed" "$work/out"
}

no_folders()
{
    [ -z "$(find "$sessions" -mindepth 1 2>/dev/null)" ]
}

# --- Slurm's srun ---

cluster=$KEEL_TEST_SRCDIR/tests/lib/slurm-cluster

# What of Keel's is in the folders of the nodes.
node_folders()
{
    timeout 20 srun -N2 -n2 find /tmp /dev/shm -name 'keel-*' -mindepth 1 -exec find {} -mindepth 1 ';'
}

no_node_folders()
{
    [ -z "$(node_folders 2>&1)" ]
}

under_slurm()
{
    local srun=(srun --mpi=pmix -N2)
    # what is written to a file would be written on the nodes
    unset ASAN_OPTIONS UBSAN_OPTIONS
    export LSAN_OPTIONS=detect_leaks=0
    hands_over "srun, three and one" 4 "sm sm tcp tcp" "${srun[@]}" -n4 "$handoff"
    hands_over "srun, two and two" 4 "sm tcp sm tcp" "${srun[@]}" --ntasks-per-node=2 "$handoff"
    hands_over "srun, one and one" 2 "tcp tcp" "${srun[@]}" -n2 "$handoff"
    hands_over "srun, one node" 3 "sm sm sm" srun --mpi=pmix -N1 -n3 "$handoff"
    hands_over "srun, cards on demand" 4 "sm tcp sm tcp" \
        env KEEL_MCA_modex_collect_max=0 "${srun[@]}" --ntasks-per-node=2 "$handoff"
    talks "srun" 4 "${srun[@]}" --ntasks-per-node=2 "$peers" again
    talks "srun, three and one" 4 "${srun[@]}" -n4 "$peers"
    ok "srun: no folder is left" wait_for 5 no_node_folders

    run_limited 30 "${srun[@]}" -n4 "$member" abort 42
    is "srun: keel_abort's code" 42 "$code"
    like "srun: keel_abort's reason" "$work/err" "aborted: asked for 42"
    ok "srun: no folder is left after keel_abort" wait_for 5 no_node_folders
    run_limited 30 "${srun[@]}" -n4 --kill-on-bad-exit "$member" kill
    ok "srun: a rank is killed, and the job ends" [ "$code" != 0 -a "$code" != late ]
    ok "srun: no folder is left after a kill" wait_for 5 no_node_folders

    run_limited 30 srun -N2 -n2 "$handoff"
    is "srun without PMIx: two jobs of one" 2 "$(grep -c '^handoff: 1 ranks' "$work/out")"
    is "srun without PMIx: one line says so" 1 "$(grep -c 'srun started 2 tasks without .*--mpi=pmix' "$work/err")"
    run_limited 30 env KEEL_MCA_bootstrap=singleton srun -N2 -n2 "$handoff"
    is "srun without PMIx, as wished: no word" "0 " "$code $(grep -v '^srun: job' "$work/err")"
    run_limited 30 srun -N1 -n1 "$handoff"
    is "srun of one task without PMIx: no word" "0 " "$code $(grep -v "^srun: job" "$work/err")"
}

if [ "$1" = --slurm ]; then
    number=$2
    under_slurm
    finish
fi

# --- keelrun's own server ---

# both_talk RANKS LAYOUT...: the same calls over keelrun's own wire-up and its PMIx server.
both_talk()
{
    local ranks=$1 back_end
    shift
    for back_end in native pmix; do
        talks "$back_end, keelrun $*" "$ranks" \
            "$keelrun" --mca bootstrap $back_end "$@" "$peers" again
    done
}

both_talk 1 -n 1
both_talk 5 -n 5 --oversubscribe
both_talk 6 --simulate 3x2
both_talk 3 --simulate 3x1
both_talk 4 --simulate 2x2 --mca modex_collect_max 0
both_talk 4 --simulate 4x1 --mca routed_radix 1
both_talk 4 --simulate 2x2 --mca btl_sm_backing file
run_limited 30 "$keelrun" --mca bootstrap pmix -n 3 --oversubscribe "$member" abort 42
is "keelrun: keel_abort's code" 42 "$code"
like "keelrun: keel_abort's reason" "$work/err" "aborted the job with code 42: asked for 42"
run_limited 30 "$keelrun" --mca bootstrap pmix -n 3 --oversubscribe "$member" exit 0
ok "keelrun: an end without keel_finalize ends the job" [ "$code" != 0 -a "$code" != late ]
start "$keelrun" --mca bootstrap pmix --simulate 2x2 "$member" hang
ok "keelrun: all ranks joined" wait_for 30 has_lines "$work/out" 4
kill -KILL "$(child_named "$pid" member)"
await 10
is "keelrun: a rank is killed" 137 "$code"
no_leftovers "keelrun: nothing is left" ""

# --- no server ---

run_limited 10 env PMIX_NAMESPACE=gone PMIX_RANK=0 "$handoff"
is "a server that is not there: exit code" 1 "$code"
like "a server that is not there is named" "$work/err" "PMIx server of job gone.*cannot be joined"
run_limited 10 env PMIX_NAMESPACE=gone PMIX_RANK=0 KEEL_MCA_bootstrap=singleton "$handoff"
is "a singleton in spite of it" 0 "$code"
run_limited 10 env KEEL_MCA_bootstrap=pmix "$handoff"
is "no server in the environment: exit code" 1 "$code"
like "no server in the environment: it says so" "$work/err" "PMIX_NAMESPACE or PMIX_RANK is not set"

# --- a library that lies ---

# fake COMMAND...: with a libpmix that does what FAKE_PMIX says (tests/system/fake-pmix.c).
fake()
{
    run_limited 20 env PMIX_NAMESPACE=fake PMIX_RANK=0 LD_LIBRARY_PATH="$work/fake" \
        KEEL_MCA_bootstrap_timeout_s=1 KEEL_MCA_init_timeout_s=1 "$@"
}

# lies WORDS PATTERN: keel_init fails and tells.
lies()
{
    FAKE_PMIX=$1 fake "$member" leave
    is "libpmix lies ($1): exit code" 77 "$code"
    like "libpmix lies ($1): it is told" "$work/err" "$2"
}

with_lies()
{
    local words
    lies "init-fails" "cannot be joined: FAKE-ERROR"
    lies "init-hangs" "does not answer"
    lies "size-none" "does not say how many ranks fake has"
    lies "size-text" "does not say how many ranks fake has"
    lies "size-0" "rank 0 of 0 in fake"
    lies "size-huge" "rank 0 of 4294967295 in fake; at most 1048576"
    lies "rank-1" "rank 1 of 1 in fake"
    lies "host-bad" "name for the node of rank 0"
    lies "put-fails" "key cannot be shared.*out of resources"
    lies "commit-fails" "key cannot be shared"
    lies "fence-fails" "first fence failed"
    lies "fence-silent" "first fence failed: timed out"
    lies "size-2 rank-1 get-fails" "rank 0's key is not to be had"
    lies "size-2 rank-1 get-text" "rank 0's key is not to be had"
    lies "size-2 rank-1 get-null" "rank 0's key is not to be had"
    lies "size-2 rank-1 get-nothing" "rank 0's key is not to be had"
    lies "size-2 rank-1" "rank 0's key is not to be had.*invalid argument" # an empty one
    for words in "fence-at-once" "host-none" "host-none peers-bad" "host-null"; do
        FAKE_PMIX=$words fake "$member" leave
        is "libpmix is odd ($words): exit code" 0 "$code"
    done
    FAKE_PMIX=finalize-hangs fake "$member" leave
    is "libpmix does not come back from PMIx_Finalize" 0 "$code"
    FAKE_PMIX=abort-hangs fake "$member" abort 5
    is "libpmix does not come back from PMIx_Abort" 5 "$code"
    ok "libpmix lies: no folder is left" no_folders
}

mkdir "$work/fake"
# shellcheck disable=SC2046 # words
if ${CC:-cc} -shared -fPIC -Wl,-soname,libpmix.so.2 -o "$work/fake/libpmix.so.2" \
    $(pkg-config --cflags pmix 2>/dev/null) "$KEEL_TEST_SRCDIR/tests/system/fake-pmix.c" \
    2>"$work/cc.err"; then
    with_lies
else
    skip "a library that lies" "no compiler"
fi

# --- Open MPI's mpirun ---

mpirun=(mpirun.openmpi --oversubscribe)
[ "$(id -u)" != 0 ] || mpirun+=(--allow-run-as-root)

under_mpirun()
{
    hands_over "mpirun" 4 "sm sm sm sm" "${mpirun[@]}" -n 4 "$handoff"
    hands_over "mpirun, one rank" 1 "self" "${mpirun[@]}" -n 1 "$handoff"
    hands_over "mpirun, tcp" 3 "tcp tcp tcp" "${mpirun[@]}" -x KEEL_MCA_btl=self,tcp -n 3 "$handoff"
    run_limited 60 "${mpirun[@]}" -n 2 "$helpers/anew" 2
    is "mpirun, checkpoints and restarts: exit code" 0 "$code"
    is "mpirun, checkpoints and restarts: rails" 2 "$(grep -cx sm "$work/out")"
    hands_over "mpirun, segments in files" 3 "sm sm sm" \
        "${mpirun[@]}" -x KEEL_MCA_btl_sm_backing=file -n 3 "$handoff"
    hands_over "keelrun below mpirun" 2 "sm sm" "${mpirun[@]}" -n 1 "$keelrun" -n 2 "$handoff"
    hands_over "mpirun below keelrun" 2 "sm sm" "$keelrun" -n 1 "${mpirun[@]}" -n 2 "$handoff"
    talks "mpirun" 5 "${mpirun[@]}" -n 5 "$peers" again
    talks "mpirun, cards on demand" 4 "${mpirun[@]}" -x KEEL_MCA_modex_collect_max=0 -n 4 "$peers"
    ok "mpirun: no folder is left" wait_for 5 no_folders

    run_limited 20 "${mpirun[@]}" -n 3 "$member" abort 42
    is "mpirun: keel_abort's code" 42 "$code"
    like "mpirun: keel_abort's reason" "$work/err" "aborted: asked for 42"
    ok "mpirun: no folder is left after keel_abort" wait_for 5 no_folders

    start "${mpirun[@]}" -n 3 "$member" hang
    ok "mpirun: all ranks joined" wait_for 30 has_lines "$work/out" 3
    kill -KILL "$(child_named "$pid" member)"
    await 20
    is "mpirun: a rank is killed" 137 "$code"
    ok "mpirun: no folder is left after a kill" wait_for 5 no_folders

    # nobody stops the ranks then: they find out by themselves
    start "${mpirun[@]}" -n 3 "$member" fences
    ok "mpirun: all ranks joined" wait_for 30 has_lines "$work/out" 3
    kill -KILL "$pid"
    await 20
    no_leftovers "mpirun killed: the ranks end, and nothing is left" ""
}

# mpirun's daemon is started by a command line for a shell, as ssh does it. An empty folder of the
# user's may stay after a kill.
on_two_hosts()
{
    printf '#!/bin/sh\nhost=$1\nshift\nexec "%s" "$host" sh -c "$*"\n' "$hosts_agent" >"$work/agent"
    chmod +x "$work/agent"
    local two=("${on_a[@]}" "${mpirun[@]}" --mca plm_rsh_agent "$work/agent" --host a:2,b:2)
    hands_over "mpirun, two hosts" 4 "sm tcp sm tcp" "${two[@]}" -n 4 "$handoff"
    hands_over "mpirun, two hosts, one and one" 2 "tcp tcp" "${two[@]}" -n 2 --map-by node "$handoff"
    talks "mpirun, two hosts" 4 "${two[@]}" -n 4 "$peers" again
    talks "mpirun, two hosts, cards on demand" 4 \
        "${two[@]}" -n 4 -x KEEL_MCA_modex_collect_max=0 "$peers"
    no_files_left "mpirun, two hosts: no folder is left"
    run_limited 30 "${two[@]}" -n 4 "$member" abort 42
    is "mpirun, two hosts: keel_abort's code" 42 "$code"
    run_limited 30 "${two[@]}" -n 4 "$member" kill
    is "mpirun, two hosts: a rank is killed" 137 "$code"
    ok "mpirun, two hosts: no folder is left after a kill" wait_for 5 only_empty_folders
}

only_empty_folders()
{
    not grep -qvE ' /tmp/keel-[0-9]+$' <(files_of_hosts)
}

if type -P mpirun.openmpi >/dev/null; then
    under_mpirun
    if make_hosts; then
        on_two_hosts
    else
        skip "mpirun on two hosts" "$reason"
    fi
else
    skip "mpirun" "no mpirun.openmpi"
fi

# --- on a Slurm cluster ---

export KEEL_TEST_VISIBLE=$KEEL_TEST_SRCDIR:$KEEL_TEST_BUILDDIR
timeout -s KILL 280 "$cluster" "$BASH" "$0" --slurm $number >"$work/slurm" 2>"$work/slurm.err"
slurm_code=$?
if [ $slurm_code != 77 ]; then # there was a cluster
    grep -v '^1\.\.' "$work/slurm"
    number=$((number + $(grep -cE '^(not )?ok ' "$work/slurm")))
    ok "the tests on the cluster came to their end" \
        [ $slurm_code = 0 -a -n "$(grep '^1\.\.' "$work/slurm")" ] ||
        sed 's/^/#   /' "$work/slurm.err"
else
    skip "srun" "$(cat "$work/slurm.err")"
fi

finish
