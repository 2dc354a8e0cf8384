# shellcheck shell=bash
# Hosts as those of netns.sh, on one network: each has an /etc/hosts and an ssh server of its own, too. The
# first, on which keelrun is to run, knows the others by their names, and nobody else does. On the last
# there is a user "worker" besides. Sourced after system.sh and netns.sh.
#
#   make_cluster head n1 n2 n3 || skip "..." "$reason"
#   run_limited 20 "$hosts_agent" head "$keelrun" "${cluster_options[@]}" --hostfile ...

# shellcheck disable=SC2034 # for the scripts
readonly cluster_options=(--mca plm_rsh_agent "ssh -x -F $work/ssh.conf")
readonly cluster_network=10.99.30

# Host number N: its interface, plugged into the bridge of the first.
plug_in()
{
    local first=$1 host=$2 number=$3 holder=KEEL_TEST_HOST_$1 other=KEEL_TEST_HOST_$2
    ip link add "p$number" netns "${!holder}" type veth peer name v0 netns "${!other}" || return 1
    on_host "$first" ip link set "p$number" master v0 up || return 1
    on_host "$host" ip addr add "$cluster_network.$number/24" dev v0 || return 1
    on_host "$host" ip link set v0 up || return 1
}

# Puts a file of the text on standard input in the place of one on the host.
replace_on()
{
    cat >"$work/$1.${2##*/}"
    on_host "$1" mount --bind "$work/$1.${2##*/}" "$2"
}

# A user with an id of its own, if that may run what is tested.
add_worker()
{
    local id=4711
    setpriv --reuid $id --regid $id --clear-groups test -x "$keeld" 2>/dev/null || id=0
    { cat /etc/passwd && echo "worker:x:$id:$id::/tmp:/bin/sh"; } | replace_on "$1" /etc/passwd
}

# Its keys are in the host's own /tmp, which every user may read.
serve_ssh()
{
    local host=$1 number=$2
    # shellcheck disable=SC2016 # for the host's shell
    on_host "$host" sh -c 'mount -t tmpfs tmpfs /run && mkdir /run/sshd && cp "$1" /tmp/authorized &&
        cp "$2" /tmp/host-key' sh "$work/user-key.pub" "$work/host-key" || return 1
    cat >"$work/sshd.$host" <<END
ListenAddress $cluster_network.$number
HostKey /tmp/host-key
AuthorizedKeysFile /tmp/authorized
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
END
    on_host "$host" "$sshd" -D -e -f "$work/sshd.$host" </dev/null >"$work/sshd.$host.err" 2>&1 &
    at_exit kill $!
}

ssh_to()
{
    timeout 5 "$hosts_agent" "$1" ssh -F "$work/ssh.conf" "$2" true </dev/null 2>"$work/reason"
}

make_keys()
{
    reason="no ssh, sshd or ssh-keygen"
    sshd=$(PATH=$PATH:/usr/sbin:/sbin type -P sshd) && type -P ssh ssh-keygen >/dev/null || return 1
    ssh-keygen -q -t ed25519 -N '' -f "$work/host-key" </dev/null &&
        ssh-keygen -q -t ed25519 -N '' -f "$work/user-key" </dev/null || return 1
    cat >"$work/ssh.conf" <<END
IdentityFile $work/user-key
IdentitiesOnly yes
StrictHostKeyChecking no
UserKnownHostsFile /dev/null
BatchMode yes
ConnectTimeout 5
LogLevel ERROR
END
}

# The first host, with the bridge that all are plugged into.
hold_first()
{
    hold_host "$1" && on_host "$1" ip link add v0 type bridge 2>"$work/reason" &&
        on_host "$1" ip addr add $cluster_network.1/24 dev v0 && on_host "$1" ip link set v0 up
}

# Sets $reason when that cannot be.
make_cluster()
{
    local first=$1 last=${*: -1} host number=1 names="127.0.0.1 localhost"
    may_make_hosts && make_keys || return 1
    hold_first "$first" || explain_hosts || return 1
    names+=$'\n'"$cluster_network.1 $first"
    for host in "${@:2}"; do
        number=$((number + 1))
        names+=$'\n'"$cluster_network.$number $host"
        hold_host "$host" && plug_in "$first" "$host" $number 2>"$work/reason" &&
            printf '127.0.0.1 localhost %s\n' "$host" | replace_on "$host" /etc/hosts &&
            serve_ssh "$host" $number || explain_hosts || return 1
    done
    replace_on "$first" /etc/hosts <<<"$names"
    add_worker "$last"
    for host in "${@:2}"; do
        wait_for 20 ssh_to "$first" "$host" || explain_hosts || return 1
    done
}
