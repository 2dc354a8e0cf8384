#!/bin/bash
# Ranks that only wait for others are told of their ends: of one that is killed or ends without
# keel_finalize, of all behind a lost daemon, of one that leaves in order; after what those sent, and
# also where nothing was ever exchanged. At the usual end of a job nobody is told anything.
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"

# Rank R of 6 lives on node R / 2; keelrun has a node of its own.
layout=(--simulate 3x2 -n 6 --mca routed_radix 1 --enable-recovery)

victims_wait()
{
    [ "$(grep -c '^victim ' "$work/out")" -ge "$1" ]
}

# mourned NAME CODE "VICTIMS" "SURVIVORS" WORDS: each survivor was told of each victim, once where
# it had heard it (the even ranks), and rank 0 of each of the others.
mourned()
{
    local name=$1 expected=$2 victims=$3 survivors=$4 words=$5 one rank heard told
    await 25
    is "$name: exit code" "$expected" "$code"
    for one in $victims; do
        for rank in $survivors; do
            heard=$((1 - rank % 2)) told=$((1 - rank % 2))
            [ "$rank" != 0 ] || heard=$((1 + words))
            like "$name: rank $rank is told of $one" "$work/out" \
                "^rank $rank: $one ended: -108, heard $heard, told $told\$"
            like "$name: and waits no more" "$work/out" "^rank $rank: $one again: -108, told $told\$"
        done
    done
    for one in ${survivors#0}; do
        like "$name: rank $one leaves, and rank 0 is told" "$work/out" "^rank 0: $one ended: -108, heard 0, told 0\$"
    done
    unlike "$name: nothing else is told" "$work/out" '^rank [0-9]: exception'
}

start "$keelrun" "${layout[@]}" "$helpers/mourner" stay 5
wait_for 15 victims_wait 1
kill -KILL "$(sed -n 's/^victim 5 //p' "$work/out")"
mourned "a rank is killed" 137 5 "0 1 2 3 4" 0

start "$keelrun" "${layout[@]}" "$helpers/mourner" exit 1 4
mourned "two ranks end without keel_finalize" 1 "1 4" "0 2 3 5" 0

start "$keelrun" "${layout[@]}" "$helpers/mourner" talk 5
mourned "a rank is killed behind what it says" 137 5 "0 1 2 3 4" 50

# The daemons of the chain: 0 (keelrun), 1, 2, 3; daemon D has node D - 1.
daemon_pid()
{
    local one
    for one in $(descendants "$pid" | awk '$2 == "keeld" { print $1 }'); do
        if [ "$(tr '\0' ' ' <"/proc/$one/cmdline" 2>/dev/null | sed 's/.*--vpid //')" = "$1 " ]; then
            echo "$one"
            return
        fi
    done
}

start "$keelrun" "${layout[@]}" "$helpers/mourner" stay 2 3
wait_for 15 victims_wait 2
kill -KILL "$(daemon_pid 2)"
mourned "a relaying daemon is killed" 125 "2 3" "0 1 4 5" 0

start "$keelrun" --simulate 3x2 -n 6 "$helpers/mourner" nobody
await 20
is "a job that ends as usual: exit code" 0 "$code"
is "a job that ends as usual: nothing is told" "" "$(cat "$work/out" "$work/err")"
finish
