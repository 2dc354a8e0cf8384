#!/bin/bash
# A rail that returns, or takes the place of another one, soon carries messages: within a second where
# the machine has time. With the argument, so many returns of each.
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"
. "$KEEL_TEST_SRCDIR/tests/lib/netns.sh"
. "$KEEL_TEST_SRCDIR/tests/lib/cable.sh"

readonly times=${1:-2} soon_ms=$((5000 * slow))
timeout_ms=1000 # of a rail

# comeback NAME COUNT WORD...: prints how long each rail took until it carried messages
comeback()
{
    local what=$1 count=$2
    shift 2
    run_limited $((20 + 10 * times)) "${on_a[@]}" "$keelrun" "${hosts_options[@]}" --mca oob_tcp_if_include v0 \
        --mca btl_base_stats 1 --mca btl_tcp_timeout_ms $timeout_ms --mca btl_usnic_peer_timeout_ms $timeout_ms \
        "$@"
    is "$what: exit code" 0 "$code"
    sed 's/^/# /' "$work/out"
    is "$what: rails that carry messages within $soon_ms ms" "$count" \
        "$(sed -nE 's/.* ([0-9]+) ms used$/\1/p' "$work/out" | awk "\$1 < $soon_ms" | wc -l)"
}

# returns NAME SIZE CUT MEND WORD...: of a rail, by these commands of rank 1
returns()
{
    local what=$1 program=("$helpers/comeback" "$2" "$times" "$3" "$4")
    shift 4
    comeback "$what" "$times" --host a:1,b:1 "$@" "${program[@]}"
}

# loss_costs_little WHAT: to the messages of that run; they stop for at most the rail's timeout and a second
loss_costs_little()
{
    local limit_ms=$(((timeout_ms + 1000) * slow))
    is "$1: losses after which no message comes for at most $limit_ms ms" "$times" \
        "$(sed -nE 's/.* no message for ([0-9]+) ms;.*/\1/p' "$work/out" | awk "\$1 <= $limit_ms" | wc -l)"
}

# No packet passes, and nobody is told.
readonly cut_one=("echo all cut=1 >$work/cable.one.in" "echo all cut=0 >$work/cable.one.in")
readonly cut_two=("${cut_one[@]//cable.one/cable.two}")
readonly down_two=("ip link set two down" "ip link set two up")

libfabric=$(grep -x '#define HAVE_FABRIC 1' "$KEEL_TEST_BUILDDIR/config.h")
[ -z "$sanitize" ] || libfabric="" # it is not instrumented

if make_hosts && plug_cable one 10.99.40 a b && plug_cable two 10.99.41 a b; then
    cable one all rate=50
    cable two all rate=50
    both=(--mca btl "self,tcp" --mca btl_tcp_if_include "one,two")
    timeout_ms=3000 # who is silent is asked by the kernel, in whole seconds
    returns "long messages" $((1 << 20)) "${cut_two[@]}" "${both[@]}"
    loss_costs_little "long messages"
    timeout_ms=1000
    returns "messages of one piece" $((200 << 10)) "${cut_two[@]}" "${both[@]}"
    returns "an interface that goes" $((200 << 10)) "${down_two[@]}" "${both[@]}"
    returns "short messages" 64 "${cut_one[@]}" "${both[@]}"
    if [ -n "$libfabric" ]; then
        returns "usnic beside tcp" $((1 << 20)) "${cut_two[@]}" --mca btl self,tcp,usnic \
            --mca btl_tcp_if_include one --mca btl_tcp_exclusivity 1024 --mca btl_usnic_if_include two
        loss_costs_little "usnic beside tcp"
    else
        skip "usnic beside tcp" "no libfabric, or not instrumented"
    fi
    comeback "tcp in the place of sm" 1 --host a:2 --mca btl self,sm,tcp --mca btl_tcp_if_include one \
        --mca fault "btl.sm.send:drop:after=2000" "$helpers/comeback" $((1 << 20))
    no_files_left "no file is left on either host"
else
    skip "rails that return" "$reason"
fi
finish
