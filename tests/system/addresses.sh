#!/bin/bash
# A daemon that is told several addresses of keelrun's, of which some lead nowhere: it takes the next
# one. Two hosts, which each have more than the network between them.
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"
. "$KEEL_TEST_SRCDIR/tests/lib/netns.sh"

# Host b has a network 10.99.8 whose cable leads nowhere: what is sent there is swallowed.
make_pit()
{
    local one
    on_host b ip link add d0 type veth peer name d1 || return 1
    on_host b ip addr add 10.99.8.2/24 dev d0
    on_host b ip link set d0 up
    on_host b ip link set d1 up
    for one in 1 3; do
        on_host b ip neigh add 10.99.8.$one lladdr 02:00:00:00:00:0$one dev d0 nud permanent
    done
}

# from_a OPTION...: two ranks on b; the addresses of a in the order of the interfaces.
from_a()
{
    run_limited 30 "${on_a[@]}" "$keelrun" "${hosts_options[@]}" "$@" --host b:2 \
        "$KEEL_TEST_BUILDDIR/examples/rml_chat" 50
    is "$what: exit code" 0 "$code"
    like "$what: all is heard" "$work/out" '^rml_chat: 2 ranks, 200 lines, 0 errors$'
    is "$what: no word" "" "$(cat "$work/err")"
}

if ! make_hosts; then
    skip "addresses that lead nowhere" "$reason"
    finish
fi
what="the usual network"
from_a
usual=$wall_ms

if make_pit; then
    # a says that it is there, before it names the good network
    on_host a ip addr flush dev v0
    for address in 10.99.8.1/32 10.99.8.3/32 10.99.7.1/24; do
        on_host a ip addr add $address dev v0
    done
    what="addresses that swallow everything"
    from_a --mca oob_connect_timeout_ms 700
    ok "... they were tried first ($real_ms ms)" [ "$real_ms" -ge 700 ]
    what="addresses that swallow everything, with the usual times"
    from_a
    ok "... cost a second each ($wall_ms ms)" [ "$wall_ms" -le $((usual * 2 + 3000)) ]
    what="the network that is chosen"
    from_a --mca oob_tcp_if_include 10.99.7.0/24
    ok "... takes no longer ($wall_ms ms beside $usual)" [ "$wall_ms" -le $((usual * 2 + 600)) ]
    # b has the addresses of a: it meets itself, where nobody listens
    on_host b ip addr add 10.99.8.1/32 dev lo
    on_host b ip addr add 10.99.8.3/32 dev lo
    what="addresses that the daemon's own host has, too"
    from_a
    ok "... cost no time ($wall_ms ms beside $usual)" [ "$wall_ms" -le $((usual * 2 + 600)) ]
else
    skip "a network that leads nowhere" "it cannot be made"
fi

finish
