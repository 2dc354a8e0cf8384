#!/bin/bash
# Daemons that start daemons over real ssh, on hosts of which one is dead, one is slow, and one has Keel
# elsewhere; and what is left when one between is killed.
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"
# shellcheck source=tests/lib/ssh-hosts.sh
. "$KEEL_TEST_SRCDIR/tests/lib/ssh-hosts.sh"

readonly tree=(--mca plm_rsh_agent "$ssh_agent -o ConnectTimeout=3" --mca plm_tree 2)

launch()
{
    run_limited 40 "${on_first[@]}" "$keelrun" "${tree[@]}" "$@"
}

start_job()
{
    start "${on_first[@]}" "$keelrun" "${tree[@]}" "$@"
}

# has_processes NAME COUNT [HOST]
has_processes()
{
    [ "$(processes_of_hosts "$1" | grep -c "^${3-}")" -ge "$2" ]
}

pid_on()
{
    processes_of_hosts "$1" | sed -n "s/^$2 //p" | head -n 1
}

# h1, h4 and h7 are keelrun's; h2 and h3, h5 and h6, and h8 are theirs.
all_well()
{
    # shellcheck disable=SC2016
    launch --host 'h[1-8]:1' sh -c 'echo $KEEL_NODE $(hostname)'
    is "8 hosts: exit code" 0 "$code"
    is "8 hosts: each rank is where it belongs" "h1 h1 h2 h2 h3 h3 h4 h4 h5 h5 h6 h6 h7 h7 h8 h8" \
        "$(sort "$work/out" | xargs)"
    is "8 hosts: nothing on stderr" "" "$(cat "$work/err")"
    no_job_left "8 hosts" 3

    start_job --host 'h[1-8]:1' sh -c 'echo here; sleep 60'
    ok "a job that stays" wait_for 20 has_lines "$work/out" 8
    is "a job that stays: who started whom" "h0 3 h1 2 h4 2 h7 1" \
        "$(processes_of_hosts ssh | cut -d ' ' -f 1 | sort | uniq -c | awk '{ print $2, $1 }' | xargs)"
    kill -INT "$pid"
    await 10
    is "a job that stays: exit code" 130 "$code"
    no_job_left "a job that stays" 3
}

# h3 answers late.
slow_host()
{
    stop_serving h3
    # shellcheck disable=SC2016
    serve h3 'ForceCommand sleep 2; eval "$SSH_ORIGINAL_COMMAND"'
    wait_for 10 answers h3
    launch --host 'h[1-8]:1' hostname
    is "a slow host: exit code" 0 "$code"
    ok "a slow host: it was waited for" [ "$real_ms" -ge 2000 ]
    is "a slow host: nothing on stderr" "" "$(cat "$work/err")"
}

# h7, which is to start h8, has Keel elsewhere; nobody has the address of h5.
bad_hosts()
{
    # shellcheck disable=SC2016
    on_host h7 sh -c 'mkdir /mnt/elsewhere && mount --bind "$1" /mnt/elsewhere && mount -t tmpfs tmpfs "$1"' \
        sh "$KEEL_TEST_BUILDDIR"
    is "Keel is elsewhere on h7" 0 $?
    on_host h5 ip link set v0 down
    launch --host 'h[1-8]:1' true
    is "a dead host, and one without Keel: exit code" 125 "$code"
    like "a dead host: ssh's reason" "$work/err" \
        '^keelrun: node h5: ssh: connect to host 10\.98\.0\.5 port 22: .* \(the agent ended with code 255 '
    like "a host without Keel: where it was looked for" "$work/err" \
        "^keelrun: node h7: there is no $(realpath "$keeld") there, or .* \(code 127\): .*No such file"
    is "a dead host, and one without Keel: both are named, and no other" \
        "keelrun: 2 of 8 nodes cannot be started" "$(tail -n 1 "$work/err")"
    is "a dead host, and one without Keel: three lines" 3 "$(wc -l <"$work/err")"
    no_job_left "a dead host, and one without Keel" 5
    on_host h5 ip link set v0 up
    wait_for 10 answers h5

    # a shell on each finds keeld in its PATH
    local host path=$KEEL_TEST_BUILDDIR/bin:/mnt/elsewhere/bin:/usr/local/bin:/usr/bin:/bin
    for host in h1 h2 h4 h5 h6 h7 h8; do
        stop_serving $host
        serve $host "ForceCommand PATH='$path'; eval \"\$SSH_ORIGINAL_COMMAND\""
    done
    for host in h1 h2 h4 h5 h6 h7 h8; do
        wait_for 10 answers $host
    done
    launch --host 'h[1-2]:1,h[4-8]:1' --launch-agent keeld hostname
    is "--launch-agent keeld: exit code" 0 "$code"
    is "--launch-agent keeld: also where Keel is elsewhere" "h1 h2 h4 h5 h6 h7 h8" "$(sort "$work/out" | xargs)"
    launch --host h7:1 --prefix /mnt/elsewhere hostname
    is "--prefix" "0 h7" "$code $(cat "$work/out")"
    on_host h7 umount -l "$KEEL_TEST_BUILDDIR"
}

# h5 is reached from h4, and cannot call home.
cut_off()
{
    on_host h5 ip route add blackhole 10.98.0.100/32
    start_job --host 'h[1-8]:1' true
    ok "a daemon that cannot call home runs" wait_for 15 has_processes keeld 1 h5
    ok "all others are home" wait_for 15 has_processes keeld 8
    kill -KILL "$pid"
    await 5
    no_job_left "keelrun is killed while a daemon cannot call home" 5

    start_job --host 'h[1-8]:1' true
    wait_for 15 has_processes keeld 1 h5
    wait_for 15 has_processes keeld 8
    kill -KILL "$(pid_on keeld h4)"
    await 10
    is "the daemon between is killed: exit code" 125 "$code"
    like "the daemon between is killed: it is named" "$work/err" "^keelrun: lost the daemon of node h4: "
    is "the daemon between is killed: one line" 1 "$(grep -c '^keelrun: ' "$work/err")"
    no_job_left "the daemon between is killed" 5

    launch --mca plm_start_timeout_s 12 --host 'h[1-8]:1' true
    is "a host that only its neighbours reach: exit code" 125 "$code"
    like "a host that only its neighbours reach: why keelrun does not" "$work/err" \
        '^keelrun: node h5: ssh: connect to host 10\.98\.0\.5 port 22: Connection timed out \('
    no_job_left "a host that only its neighbours reach" 5
    on_host h5 ip route del blackhole 10.98.0.100/32
}

# h4, which has started h5 and h6, is lost while the job runs.
recovers()
{
    # shellcheck disable=SC2016
    start_job --enable-recovery --host 'h[1-8]:1' \
        sh -c 'echo here; until [ -e "$0" ]; do sleep 0.1; done; echo "done $KEEL_NODE"' "$work/go"
    ok "a job that outlives daemons" wait_for 20 has_lines "$work/out" 8
    kill -KILL "$(pid_on keeld h4)"
    ok "its daemon is lost" wait_for 10 grep -q 'lost the daemon of node h4: .*the job goes on$' "$work/err"
    : >"$work/go"
    await 20
    is "the others go on, also those that it had started" "h1 h2 h3 h5 h6 h7 h8" \
        "$(sed -n 's/^done //p' "$work/out" | sort | xargs)"
    no_job_left "a job that outlives daemons" 5
}

if make_ssh_hosts h{0..8}; then
    all_well
    slow_host
    bad_hosts
    cut_off
    recovers
else
    skip "hosts with ssh" "$reason"
fi
finish
