# shellcheck shell=bash
# Hosts on one machine, each with a network, a name, a /tmp and, but for the first, an ssh server of its
# own. They share one network, 10.98.0.0/24, in which the first is .100 and the others count from .1. Every
# ssh knows them all; else the first knows the others' names, and these know their own as 127.0.0.1.
# keelrun runs on the first. Sourced after system.sh.
#
#   make_ssh_hosts h{0..8} || skip "..." "$reason"
#   run_limited 20 "${on_first[@]}" keelrun --mca plm_rsh_agent "$ssh_agent" --host h[1-8]:1 ...

# shellcheck source=tests/lib/netns.sh
. "$KEEL_TEST_SRCDIR/tests/lib/netns.sh"
# shellcheck source=tests/lib/sshd.sh
. "$KEEL_TEST_SRCDIR/tests/lib/sshd.sh"

# plug HOST NUMBER: a cable from the host to the switch, which is on the first.
plug()
{
    local first=KEEL_TEST_HOST_${net_hosts[0]} host=KEEL_TEST_HOST_$1
    ip link add "s$2" netns "${!first}" type veth peer name v0 netns "${!host}" || return 1
    on_host "${net_hosts[0]}" ip link set "s$2" master switch up || return 1
    on_host "$1" ip addr add "10.98.0.$2/24" dev v0 || return 1
    on_host "$1" ip link set v0 up
}

# Puts what is on standard input in the place of a file: replace_on HOST FILE.
replace_on()
{
    cat >"$work/$1.${2##*/}"
    on_host "$1" mount --bind "$work/$1.${2##*/}" "$2"
}

# serve HOST OPTION...: its ssh server, with more lines of sshd.conf.
serve()
{
    local host=$1
    shift
    { cat "$work/sshd.conf"; [ $# = 0 ] || printf '%s\n' "$@"; } >"$work/sshd.conf.$host"
    setpriv --pdeathsig KILL "$hosts_agent" "$host" "$sshd" -D -e -f "$work/sshd.conf.$host" \
        2>"$work/sshd.err.$host" </dev/null >/dev/null &
    declare -g "sshd_$host=$!"
    disown $!
    at_exit "kill $! 2>/dev/null"
}

# What only one of them shall say is said by serve again.
stop_serving()
{
    local server=sshd_$1
    kill "${!server}"
    wait_for 5 is_gone "${!server}"
}

answers()
{
    timeout 10 "${on_first[@]}" ssh -F "$work/ssh.conf" "$1" true </dev/null 2>"$work/reason"
}

connect_ssh_hosts()
{
    local host number=0 names=$'127.0.0.1 localhost\n10.98.0.100 '$1
    hold_host "$1" && on_host "$1" ip link add switch type bridge forward_delay 0 || return 1
    on_host "$1" ip addr add 10.98.0.100/24 dev switch || return 1
    on_host "$1" ip link set switch up || return 1
    for host in "${@:2}"; do
        number=$((number + 1))
        names+=$'\n'"10.98.0.$number $host"
        hold_host "$host" && plug "$host" $number || return 1
        echo "127.0.0.1 localhost $host" | replace_on "$host" /etc/hosts || return 1
        printf 'Host %s\n    HostName 10.98.0.%s\n' "$host" $number >>"$work/ssh.conf"
    done
    replace_on "$1" /etc/hosts <<<"$names" || return 1
    echo "Host *" | cat - "$work/ssh.defaults" >>"$work/ssh.conf"
}

# make_ssh_hosts FIRST HOST...: sets $reason when that cannot be.
make_ssh_hosts()
{
    local host
    readonly on_first=(env -u TMPDIR "$hosts_agent" "$1")
    may_make_hosts || return 1
    at_exit drop_sshd
    find_sshd >"$work/reason" && connect_ssh_hosts "$@" 2>"$work/reason" || explain_hosts || return 1
    for host in "${@:2}"; do
        serve "$host"
    done
    for host in "${@:2}"; do
        wait_for 10 answers "$host" || explain_hosts || return 1
    done
    list_hosts >"$work/files-of-hosts"
}

# The processes of this name on the hosts: "HOST PID" each.
processes_of_hosts()
{
    local host holder pid
    for host in "${net_hosts[@]}"; do
        holder=KEEL_TEST_HOST_$host
        for pid in $(grep -lx "$1" /proc/[0-9]*/comm 2>/dev/null | sed 's,^/proc/,,; s,/comm$,,'); do
            if [ "/proc/$pid/ns/net" -ef "/proc/${!holder}/ns/net" ] && ! is_zombie "$pid"; then
                echo "$host $pid"
            fi
        done
    done
}

has_no_processes_of_hosts()
{
    [ -z "$(processes_of_hosts "$1")" ]
}

# One TAP line: nothing of a job is left on any of the hosts, SECONDS from now at the latest.
no_job_left()
{
    wait_for "$2" has_no_processes_of_hosts keeld
    is "$1: no daemon is left" "" "$(processes_of_hosts keeld)"
    wait_for "$2" has_no_processes_of_hosts keel-shepherd
    is "$1: no shepherd is left" "" "$(processes_of_hosts keel-shepherd)"
    no_files_left "$1: no file is left"
}
