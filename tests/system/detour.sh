#!/bin/bash
# Which rails there are, and what happens when the best one fails.
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"

# takes RAILS RANKS WORDS: every rank sends over these rails, one after another.
takes()
{
    local rails=$1 ranks=$2 words=$3
    # shellcheck disable=SC2086 # words
    run_limited 30 "$keelrun" -n "$ranks" --oversubscribe $words "$helpers/detour"
    is "$words: code" 0 "$code"
    is "$words: rails" "$ranks" "$(grep -cx "rails: $rails" "$work/out")"
}

readonly lo="--mca btl_tcp_if_include lo"

# Exclusivity, and the choice by name.
takes self 1 "--mca btl_yield 1"
takes sm 2 "$lo"
takes sm 2 "$lo --mca btl self,sm"
takes tcp 2 "$lo --mca btl self,tcp"
takes tcp 2 "$lo --mca btl ^sm"
takes sm 2 "$lo --mca btl ^tcp"
takes tcp 2 "$lo --simulate 2x1"
is "nothing on stderr" "" "$(cat "$work/err")"

# Another exclusivity: another choice, or rails that share.
takes tcp 2 "$lo --mca btl_tcp_exclusivity 65536"
takes sm 2 "$lo --mca btl_sm_exclusivity 101"
takes sm+tcp 2 "$lo --mca btl_tcp_exclusivity 65535"
takes "sm+tcp tcp" 2 "$lo --mca btl_tcp_exclusivity 65535 --mca fault btl.sm.attach:error=EACCES:after=2"

# Peers' shared memory that cannot be opened: known before, tcp is chosen at once; found out at the
# first message, tcp takes over.
takes tcp 2 "$lo --mca fault btl.sm.attach:error=EACCES"
run_limited 30 "$keelrun" -n 2 $lo --mca fault "btl.sm.attach:error=EACCES:after=2" "$helpers/detour"
is "a rail that fails: code" 0 "$code"
is "a rail that fails: another takes its place" 2 "$(grep -cx "rails: sm tcp" "$work/out")"
like "a rail that fails is reported with its reason" "$work/err" \
    'sm: .*: opening the segment of process [0-9]+: Permission denied'

# Nobody reaches the peer: an error that names it, no hang.
run_limited 30 "$keelrun" -n 2 --mca btl self "$helpers/detour"
ok "no rail: an error" test "$code" != 0
ok "no rail: it is named" grep -q "is reached by no component of the data plane" "$work/err"
run_limited 30 "$keelrun" -n 2 --mca btl self,nothing "$helpers/detour"
ok "an unknown component: an error" test "$code" != 0
ok "an unknown component: it is named" grep -q 'no component "nothing"' "$work/err"

finish
