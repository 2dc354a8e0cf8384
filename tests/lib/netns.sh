# shellcheck shell=bash
# Two hosts on one machine, a and b: network namespaces with a cable between them, each with a host
# name, and with a /tmp and a /dev/shm of its own, which stay until the test ends. Sourced after
# system.sh. What runs there sees the two trees and $work; TMPDIR is not set.
#
#   make_hosts || skip "..." "$reason"
#   run_limited 10 "${on_a[@]}" keelrun "${hosts_options[@]}" --host a:2,b:2 ...
#   no_files_left "nothing is left"

export KEEL_TEST_FOLDER=$KEEL_TEST_BUILDDIR
net_hosts=() # their names
readonly hosts_agent=$KEEL_TEST_SRCDIR/tests/lib/netns-agent
# shellcheck disable=SC2034 # for the scripts
readonly on_a=(env -u TMPDIR "$hosts_agent" a) hosts_options=(--mca plm_rsh_agent "$hosts_agent")

# Starts the process that holds a host's namespaces; it ends with the test.
hold_host()
{
    setpriv --pdeathsig KILL unshare --net --mount --uts bash "$hosts_agent" --hold "$1" \
        "$KEEL_TEST_SRCDIR" "$KEEL_TEST_BUILDDIR" "$work" >"$work/host.$1" 2>&1 </dev/null &
    local holder=$!
    disown $holder
    declare -gx "KEEL_TEST_HOST_$1=$holder"
    net_hosts+=("$1")
    at_exit kill -KILL $holder
    wait_for 10 grep -qx ready "$work/host.$1"
}

on_host()
{
    "$hosts_agent" "$@"
}

is_plugged()
{
    on_host "$1" ip link show "v$2" | grep -q 'state UP'
}

# lay_cable N: interface vN at both ends, with addresses 10.99.(7 + N).1 and .2
lay_cable()
{
    local host number=1
    ip link add "v$1" netns "$KEEL_TEST_HOST_a" type veth \
        peer name "v$1" netns "$KEEL_TEST_HOST_b" || return 1
    for host in a b; do
        on_host $host ip addr add 10.99.$((7 + $1)).$number/24 dev "v$1" || return 1
        on_host $host ip link set "v$1" up || return 1
        number=$((number + 1))
    done
    # the kernel takes up to a second to see that the cable is there
    wait_for 5 is_plugged a "$1" && wait_for 5 is_plugged b "$1"
}

# Sets $reason when there can be no hosts.
may_make_hosts()
{
    local program
    reason="only root makes network namespaces"
    [ "$(id -u)" = 0 ] || return 1
    for program in ip nsenter setpriv unshare; do
        reason="no $program"
        type -P $program >"$work/reason" || return 1
    done
    unshare --net --mount --uts true 2>"$work/reason" && return 0
    explain_hosts
}

explain_hosts()
{
    reason=$(cat "$work/reason" "$work"/host.* 2>/dev/null | grep -vx ready | head -n 1)
    return 1
}

# Sets $reason when that cannot be.
make_hosts()
{
    may_make_hosts || return 1
    if hold_host a && hold_host b && lay_cable 0 2>"$work/reason"; then
        list_hosts >"$work/files-of-hosts"
        return 0
    fi
    explain_hosts
}

list_hosts()
{
    local host holder
    for host in "${net_hosts[@]}"; do
        holder=KEEL_TEST_HOST_$host
        (cd "/proc/${!holder}/root" && find tmp dev/shm -xdev) | sed "s,^,$host: /,"
    done
}

# What has come into the hosts' /tmp and /dev/shm since they were made.
files_of_hosts()
{
    list_hosts | grep -vxF -f "$work/files-of-hosts"
}

hosts_are_clean()
{
    [ -z "$(files_of_hosts)" ]
}

# One TAP line: what was there before is all that is there, 2 s from now at the latest.
no_files_left()
{
    wait_for 2 hosts_are_clean
    is "$1" "" "$(files_of_hosts)"
}
