#!/bin/bash
# Shared memory that is short: another module takes over, with one warning a process, or what there is
# suffices. Nothing waits for ever, and nobody is killed by a signal.
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"

# warnings RANK: how many of its lines warn of memory.
warnings()
{
    grep -cE "\[\[[0-9]+,1\],$1\]\] btl: warning: sm: (no shared memory|there is no more)" "$work/err"
}

# went_well NAME: two ranks handed over, and warned at most once each.
went_well()
{
    is "$1: exit code" 0 "$code"
    like "$1: all arrived" "$work/out" '^handoff: 2 ranks, 4 transfers, [0-9]+ bytes, 0 errors$'
    for rank in 0 1; do
        ok "$1: at most one warning of rank $rank" test "$(warnings $rank)" -le 1
    done
}

run_limited 20 "$keelrun" -n 2 sh -c "ulimit -f 64; exec $handoff"
went_well 'a limit for file sizes'
is 'a limit for file sizes: over tcp' 2 "$(grep -c ' over tcp: ' "$work/out")"
is 'a limit for file sizes: both warn' '1 1' "$(warnings 0) $(warnings 1)"

# A limit for the address space: too little for a segment of one's own, or for those of others, which
# is seen at the first message.
for limit in 20000 24000 30000 40000; do
    if [ -n "$sanitize" ]; then
        skip "$limit KiB of address space" "the sanitizers' own shadow does not fit"
        continue
    fi
    run_limited 20 "$keelrun" -n 2 sh -c "ulimit -v $limit; exec $helpers/detour"
    is "$limit KiB of address space: exit code" 0 "$code"
    is "$limit KiB of address space: all arrived, over sm or tcp" 2 \
        "$(grep -cE '^rails:( sm)?( tcp)?$' "$work/out")"
    for rank in 0 1; do
        ok "$limit KiB of address space: at most one warning of rank $rank" test \
            "$(grep -c "1\],$rank\]\] btl: warning: sm: " "$work/err")" -le 1
    done
done
# What keeps to its rails has none of sm where a peer's segment would not fit.
for limit in 24000 32000 40000; do
    [ -n "$sanitize" ] && continue
    run_limited 20 "$keelrun" -n 2 sh -c "ulimit -v $limit; exec $handoff"
    went_well "a limit of $limit KiB for the address space"
    is "a limit of $limit KiB for the address space: over tcp" 2 \
        "$(grep -c ' over tcp: ' "$work/out")"
done

# keelrun's own: its threads' stacks and their buffers must fit, or it does without
for limit in 9000 12000 20000; do
    if [ -n "$sanitize" ]; then
        skip "keelrun in $limit KiB of address space" "the sanitizers' own shadow does not fit"
        continue
    fi
    run_limited 20 sh -c "ulimit -v $limit; exec $keelrun -n 1 sh -c 'echo out; echo err >&2'"
    is "keelrun in $limit KiB of address space: no output is lost" "0 out err" \
        "$code $(cat "$work/out") $(grep -v '^\(keelrun: node\|\[\)' "$work/err")"
done
# less than it needs for what is under way: all, or the code says that some is lost
for limit in 5000 5400 5800 6200; do
    [ -z "$sanitize" ] || break
    run_limited 20 sh -c "ulimit -v $limit; exec $keelrun -n 2 --oversubscribe $helpers/flood write 3000000"
    verdict=$("$helpers/flood" verify 2 3000000 <"$work/out")
    ok "keelrun in $limit KiB of address space: code $code, output: $verdict" \
        test "$code $verdict" = "0 right" -o "$code" = 125
done

mkdir "$work/small"
# shellcheck disable=SC2016 # for the inner shell
mounts='mount --make-rprivate / && mount -t tmpfs -o size=$0 tmpfs $1'
if unshare -m sh -c "$mounts" 1m "$work/small" 2>/dev/null; then
    for size in 512k 1m 1500k 2m 2500k 4m; do
        run_limited 20 unshare -m sh -c "$mounts && XDG_RUNTIME_DIR=\$1 exec \"\$2\" -n 2 --mca \
btl_sm_backing file \"\$3\"" $size "$work/small" "$keelrun" "$handoff"
        went_well "a file system of $size"
    done
    start unshare -m sh -c "$mounts && exec \"\$2\" -n 1 --output-filename \$1 sh -c \
'head -c 200000 /dev/zero; until [ -e $work/go ]; do sleep 0.02; done'" 64k "$work/small" "$keelrun"
    ok "an output folder that fills up: it says so at once" wait_for 10 \
        grep -q "^keelrun: $work/small.*No space left" "$work/err"
    : >"$work/go"
    await 10
    is "an output folder that fills up: exit code" 125 "$code"
    is "an output folder that fills up: once" 1 "$(wc -l <"$work/err")"
else
    skip "small file systems" "no mount namespaces"
fi
finish
