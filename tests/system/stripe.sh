#!/bin/bash
# Long messages over two rails at once: cables of 1 Gb/s and 400 Mb/s between two hosts. With the
# argument speed: how much of the sum they have.
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"
. "$KEEL_TEST_SRCDIR/tests/lib/netns.sh"

# shape N RATE: what a cable carries, both ways
shape()
{
    local host
    for host in a b; do
        on_host $host tc qdisc replace dev "v$1" root tbf rate "$2" burst 128k latency 20ms || return 1
    done
}

# stripe MIB COUNT SECONDS PARAMETER...: sets speed, in MB/s
stripe()
{
    local numbers=("${@:1:3}")
    shift 3
    run_limited 60 "${on_a[@]}" "$keelrun" "${hosts_options[@]}" --host a:1,b:1 --mca btl self,tcp "$@" \
        "$helpers/stripe" "${numbers[@]}"
    speed=$(sed -nE 's/^stripe: .* ([0-9.]+) MB\/s$/\1/p' "$work/out")
    [ "$code" = 0 ] && [ -s "$work/out" ] && ! [ -s "$work/err" ]
}

megabytes_into_b()
{
    on_host b ip -s link show "$1" | awk 'bytes { print int($1 / 1048576); exit } /RX:/ { bytes = 1 }'
}

at_least()
{
    awk -v got="$1" -v least="$2" 'BEGIN { exit !(got + 0 >= least + 0) }'
}

every_byte()
{
    local before0 before1 over0 over1 way
    for way in get put send; do
        before0=$(megabytes_into_b v0) before1=$(megabytes_into_b v1)
        ok "$way: every byte is right" stripe 4 16 3 --mca ptl_rail_rendezvous $way
        over0=$(($(megabytes_into_b v0) - before0)) over1=$(($(megabytes_into_b v1) - before1))
        ok "$way: both cables carry ($over0 and $over1 MiB)" test $over1 -ge 10 -a $over0 -ge 10
    done
}

# Each speed is that of the time after the first second, about.
speeds()
{
    local first second
    stripe 4 16 4 --mca btl_tcp_if_include v0
    first=$speed
    stripe 4 16 4 --mca btl_tcp_if_include v1
    second=$speed
    stripe 4 16 4
    ok "two rails have 0.9 of their sum: $first and $second MB/s alone, $speed together" \
        at_least "$speed" "$(awk "BEGIN { print 0.9 * ($first + $second) }")"
}

reason="no tc"
if ! type -P tc >/dev/null || ! make_hosts || ! lay_cable 1; then
    skip "two rails" "$reason"
elif ! shape 0 1gbit || ! shape 1 400mbit; then
    skip "two rails" "no token buckets"
elif [ "$1" = speed ]; then
    speeds
else
    every_byte
fi
finish
