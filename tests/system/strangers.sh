#!/bin/bash
# Strangers at keelrun's OOB port: whatever they do there, daemons come in and the job takes its usual
# time; one line a second says why somebody was refused.
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"
. "$KEEL_TEST_SRCDIR/tests/lib/beside.sh"

refusal="no link for tcp://127[.0-9]+:[0-9]+: "

# Starts the daemons of two hosts that are this one. What keelrun tells a daemon passes through it: it
# leaves TCP as the only way home. The stranger is there before either daemon calls.
cat >"$work/agent" <<'END'
#!/bin/bash
host=$1
shift
text=
while IFS= read -r line; do
    text+=$line$'\n'
    [ "$line" != . ] || break
done
if [ "$host" = here1 ]; then
    if [ -n "$KT_FILES" ]; then # keelrun is my parent's parent
        read -r _ _ _ keelrun _ <"/proc/$PPID/stat"
        prlimit --pid "$keelrun" --nofile="$KT_FILES:$KT_FILES" || exit 9
    fi
    if [ "$KT_KIND" != nobody ]; then
        contact=$(sed -n 's/^hnp //p' <<<"$text")
        read -r line < <(exec "$KT_STRANGER" "$KT_KIND" "$contact") || exit 9
    fi
    : >"$KT_READY"
fi
until [ -e "$KT_READY" ]; do
    sleep 0.005
done
exec "$@" < <(printf '%s' "$text" | sed '/^hnp /s,;unix:[^;]*,,')
END
chmod +x "$work/agent"
export KT_STRANGER=$helpers/stranger KT_READY=$work/ready KT_KIND KT_FILES=

beside()
{
    KT_KIND=$1
    rm -f "$KT_READY"
    run_limited 30 "$keelrun" \
        --mca plm_rsh_agent "$work/agent" --mca oob_tcp_if_include lo --host here1:2,here2:2 \
        "$KEEL_TEST_BUILDDIR/examples/rml_chat" 200
}

passed()
{
    [ "$code" = 0 ] && grep -q '^rml_chat: 4 ranks, 3200 lines, 0 errors$' "$work/out" &&
        [ "$(grep -c 'no link for' "$work/err")" -le $((1 + wall_ms / 1000)) ]
}

# Lines for each source, at most 64 a second.
many_sources()
{
    [ "$code" = 0 ] && [ "$(grep -c 'no link for' "$work/err")" -le $((64 + 64 * wall_ms / 1000)) ]
}

beside nobody
is "alone: exit code" 0 "$code"
is "alone: nothing on stderr" "" "$(cat "$work/err")"

bad idle ""
bad crowd ""
bad thousand ""
bad here ""
bad byte ""
bad dribble ""
bad http "not Keel's protocol"
bad random "not Keel's protocol"
bad cut "closed during the handshake"
bad oversize "another message than the handshake has here"
bad version "another version of the protocol"
bad wrong "it has another key"
bad replay "it has another key"
bad storm "not Keel's protocol"
bad hellos ""
if [ "$(id -u)" = 0 ]; then
    bad foreign "it has another key"
else
    skip "another user at the unix socket" "this needs root"
fi

beside sources
ok "125 sources: all ranks pass, and the log is bounded" many_sources

# So few descriptors that the strangers have them all for a while.
if type -P prlimit >/dev/null; then
    KT_FILES=48
    beside sources
    is "500 connections and 48 descriptors: exit code" 0 "$code"
    like "500 connections and 48 descriptors: all ranks pass" "$work/out" \
        '^rml_chat: 4 ranks, 3200 lines, 0 errors$'
    like "500 connections and 48 descriptors: it says so" "$work/err" \
        'no link for whoever connects: Too many open files'
else
    skip "few descriptors" "no prlimit"
fi

ok "no session folder is left" wait_for 4 not test -e "$sessions"
finish
