# shellcheck shell=bash
# A real ssh server on the loopback address, which ends with the test; its host is called kt-far. Sourced
# after system.sh.
#
#   make_sshd || skip "..." "$reason"
#   run_limited 10 keelrun --mca plm_rsh_agent "$ssh_agent" --host kt-far:2 ...

# shellcheck disable=SC2034 # for the scripts
readonly ssh_agent="ssh -x -F $work/ssh.conf"

# The folder that sshd needs. Whoever made it removes it, unless another test has it, too.
hold_run_sshd()
{
    [ -d /run/sshd ] || { mkdir -p /run/sshd && : >"$work/made-run-sshd"; } || return 1
    exec 6</run/sshd && flock -s 6
}

# Sets $sshd, makes keys, and what sshd and ssh are told of them: sshd.conf and ssh.defaults in $work.
# It prints what is missing. With SHLVL in its environment, bash does not read the user's ~/.bashrc, which
# may be slow or print something.
find_sshd()
{
    sshd=$(PATH=$PATH:/usr/sbin:/sbin type -P sshd) || { echo "no sshd"; return 1; }
    type -P ssh ssh-keygen >/dev/null || { echo "no ssh"; return 1; }
    if [ "$(id -u)" = 0 ] && ! hold_run_sshd 2>"$work/err"; then
        echo "no /run/sshd: $(cat "$work/err")"
        return 1
    fi
    ssh-keygen -q -t ed25519 -N '' -f "$work/host-key" </dev/null
    ssh-keygen -q -t ed25519 -N '' -f "$work/user-key" </dev/null
    cat >"$work/sshd.conf" <<END
HostKey $work/host-key
AuthorizedKeysFile $work/user-key.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
SetEnv SHLVL=1
END
    cat >"$work/ssh.defaults" <<END
    IdentityFile $work/user-key
    IdentitiesOnly yes
    StrictHostKeyChecking no
    UserKnownHostsFile /dev/null
    BatchMode yes
    LogLevel ERROR
END
}

# An ssh server of the test's own on a port of its own. It prints why there is none.
start_sshd()
{
    find_sshd || return 1
    echo "ListenAddress 127.0.0.1" >>"$work/sshd.conf"
    # no port can be reserved for it; the next one is tried if somebody took it
    local try port
    for ((try = 0; try < 10; try++)); do
        port=$((20000 + (RANDOM + $$) % 12000))
        "$sshd" -D -e -f "$work/sshd.conf" -p $port 2>"$work/sshd.err" </dev/null >/dev/null &
        echo $! >"$work/sshd.pid"
        printf 'Host kt-far\n    HostName 127.0.0.1\n    Port %s\n' $port |
            cat - "$work/ssh.defaults" >"$work/ssh.conf"
        sshd_answers()
        {
            timeout 10 ssh -F "$work/ssh.conf" kt-far true </dev/null 2>"$work/err" ||
                ! kill -0 "$(cat "$work/sshd.pid")" 2>/dev/null
        }
        if wait_for 5 sshd_answers && kill -0 "$(cat "$work/sshd.pid")" 2>/dev/null; then
            return 0
        fi
        kill "$(cat "$work/sshd.pid")" 2>/dev/null
    done
    echo "sshd does not work: $(tail -n 1 "$work/sshd.err") $(tail -n 1 "$work/err")"
    return 1
}

drop_sshd()
{
    [ ! -f "$work/sshd.pid" ] || kill "$(cat "$work/sshd.pid")" 2>/dev/null
    [ ! -f "$work/made-run-sshd" ] || ! flock -nx 6 || rmdir /run/sshd
}

# Sets $reason when that cannot be.
make_sshd()
{
    at_exit drop_sshd
    start_sshd >"$work/reason" || { reason=$(cat "$work/reason"); return 1; }
}
