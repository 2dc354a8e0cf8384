#!/bin/bash
# Programs that speak PMIx on machines that stand still in a bad moment.
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"

if [ ! -x "$helpers/goodbye" ]; then
    skip "a PMIx client" "there is no libpmix or hwloc"
    finish
fi
forget_launchers
excuse_libpmix

# A client waits no more than 2 s for the answer to its goodbye. keelrun stands still all that time,
# and finds the goodbye and the end of the process at once.
mkfifo "$work/fifo"
for layout in "-n 1" "--simulate 2x1 -n 1"; do
    # shellcheck disable=SC2086 # words
    start "$keelrun" $layout "$helpers/goodbye" "$work/fifo"
    rank=$(timeout 20 head -n 1 "$work/fifo")
    server=$pid
    if [ "$layout" != "-n 1" ]; then # the daemon of its node
        shepherd=$(awk '{ print $4 }' "/proc/$rank/stat")
        server=$(awk '{ print $4 }' "/proc/$shepherd/stat")
    fi
    kill -STOP "$server"
    echo go >"$work/fifo"
    ok "the rank does not wait for ever, keelrun $layout" wait_for 10 is_gone "$rank"
    kill -CONT "$server"
    await 10
    is "it has said goodbye, keelrun $layout" 0 "$code"
done

finish
