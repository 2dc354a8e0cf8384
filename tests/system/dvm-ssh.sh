#!/bin/bash
# A standing DVM over real ssh: the daemons are started once, and jobs have no more to do with ssh. A host
# that is lost costs its jobs, and nobody else's.
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"
# shellcheck source=tests/lib/ssh-hosts.sh
. "$KEEL_TEST_SRCDIR/tests/lib/ssh-hosts.sh"

readonly dvm=$KEEL_TEST_BUILDDIR/bin/keel-dvm uri=$work/uri

run_there()
{
    run_limited 40 "${on_first[@]}" "$keelrun" "$@"
}

if ! make_ssh_hosts h{0..3}; then
    skip "a DVM over ssh" "$reason"
    finish
fi

run_limited 60 "${on_first[@]}" "$dvm" --uri "$uri" --daemonize --mca plm_rsh_agent "$ssh_agent" --host 'h[1-3]:2'
is "the DVM stands: exit code" 0 "$code"
for host in h1 h2 h3; do
    stop_serving $host
done
# shellcheck disable=SC2016 # for the ranks
run_there --dvm "$uri" sh -c 'echo $KEEL_NODE $(hostname)'
is "a job on three hosts, whose ssh servers are gone" "h1 h1 h1 h1 h2 h2 h2 h2 h3 h3 h3 h3" "$(sort "$work/out" | xargs)"
is "its exit code" 0 "$code"
run_there --dvm "$uri" --map-by core --bind-to core:overload-allowed -n 2 true
is "a job that needs the hosts' topologies" 0 "$code"
run_there --dvm "$uri" -n 6 "$handoff"
is "ranks of three hosts find each other" 0 "$code"
like "and hand over" "$work/out" '^handoff: 6 ranks, .* 0 errors$'
run_limited 60 "${on_first[@]}" "$dvm" --stop "$uri"
is "the DVM ends" 0 "$code"
no_job_left "the DVM" 5
finish
