# shellcheck shell=bash
# Hosts on one machine, h0 to hN, each with a network, a name, a /tmp and, but for h0, an ssh server of
# its own. They share one network, 10.98.0.0/24, in which h1 is .1. keelrun runs on h0. Sourced after
# system.sh.
#
#   make_ssh_hosts 8 || skip "..." "$reason"
#   run_limited 20 "${on_h0[@]}" keelrun --mca plm_rsh_agent "$ssh_agent" --host h[1-8]:1 ...

# shellcheck source=tests/lib/netns.sh
. "$KEEL_TEST_SRCDIR/tests/lib/netns.sh"
# shellcheck source=tests/lib/sshd.sh
. "$KEEL_TEST_SRCDIR/tests/lib/sshd.sh"

# shellcheck disable=SC2034 # for the scripts
readonly on_h0=(env -u TMPDIR "$hosts_agent" h0)

# plug NUMBER: a cable from the host to the switch, which is on h0.
plug()
{
    local switch=KEEL_TEST_HOST_h0 host=KEEL_TEST_HOST_h$1
    ip link add "s$1" netns "${!switch}" type veth peer name v0 netns "${!host}" || return 1
    on_host h0 ip link set "s$1" master switch up || return 1
    on_host "h$1" ip addr add "10.98.0.$1/24" dev v0 || return 1
    on_host "h$1" ip link set v0 up
}

# serve NUMBER OPTION...: its ssh server, with more lines of sshd.conf.
serve()
{
    local at=$1 option
    shift
    cp "$work/sshd.conf" "$work/sshd.conf.$at"
    for option; do
        echo "$option" >>"$work/sshd.conf.$at"
    done
    setpriv --pdeathsig KILL "$hosts_agent" "h$at" "$sshd" -D -e -f "$work/sshd.conf.$at" \
        2>"$work/sshd.err.$at" </dev/null >/dev/null &
    declare -g "sshd_$at=$!"
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
    timeout 10 "${on_h0[@]}" ssh -F "$work/ssh.conf" "h$1" true </dev/null 2>"$work/reason"
}

connect_ssh_hosts()
{
    local at
    hold_host h0 || return 1
    on_host h0 ip link add switch type bridge forward_delay 0 || return 1
    on_host h0 ip addr add 10.98.0.100/24 dev switch || return 1
    on_host h0 ip link set switch up || return 1
    for ((at = 1; at <= $1; at++)); do
        hold_host h$at && plug $at || return 1
        printf 'Host h%s\n    HostName 10.98.0.%s\n' $at $at >>"$work/ssh.conf"
    done
    echo "Host *" | cat - "$work/ssh.defaults" >>"$work/ssh.conf"
}

# make_ssh_hosts N: sets $reason when that cannot be.
make_ssh_hosts()
{
    local at
    may_make_hosts || return 1
    at_exit drop_sshd
    find_sshd >"$work/reason" || { reason=$(cat "$work/reason"); return 1; }
    if connect_ssh_hosts "$1" 2>"$work/reason"; then
        for ((at = 1; at <= $1; at++)); do
            serve $at
        done
        for ((at = 1; at <= $1; at++)); do
            wait_for 10 answers $at || { reason=$(head -n 1 "$work/reason"); return 1; }
        done
        list_hosts >"$work/files-of-hosts"
        return 0
    fi
    reason=$(cat "$work/reason" "$work"/host.* 2>/dev/null | grep -vx ready | head -n 1)
    return 1
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
