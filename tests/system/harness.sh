#!/bin/bash
# What tests/lib/system.sh promises: a script that is interrupted leaves nothing behind, and one that ends
# kills what it started, and nobody else.
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"

# A test script that runs its arguments.
# shellcheck disable=SC2016
script='. "$KEEL_TEST_SRCDIR/tests/lib/system.sh"; echo "$work"; run_limited 60 "$@"; echo behind'

sleeps()
{
    local process
    for process in $(processes_with "KT_MARK=$mark"); do
        ! grep -qx sleep "/proc/$process/comm" 2>/dev/null || return 0
    done
    return 1
}

# interrupted NAME COMMAND...: the script with COMMAND, which runs sleep, gets a signal, many times.
interrupted()
{
    local name=$1 signal=${1%% *}
    shift
    start bash -c "$script" script "$@"
    ok "$name: the command runs" wait_for 15 sleeps
    for ((i = 0; i < 2000; i++)); do
        kill -"$signal" "$pid" 2>/dev/null || break
    done
    await 5
    is "$name: the script has ended" 1 "$code"
    is "$name: it went no further" 1 "$(wc -l <"$work/out")"
    ok "$name: its folder is gone" [ ! -e "$(head -n 1 "$work/out")" ]
    no_leftovers "$name" ""
}

for signal in HUP INT TERM; do
    interrupted "$signal in a command" sh -c 'sleep 1000 & wait'
    interrupted "$signal in a job" "$keelrun" -n 1 sleep 1000
done

# as tests/run limits a script's time
start timeout -k 10 2 bash -c "$script" script sh -c 'sleep 1000 & wait'
await 8
is "a script that takes too long: it has ended" 124 "$code"
ok "a script that takes too long: its folder is gone" [ ! -e "$(head -n 1 "$work/out")" ]
no_leftovers "a script that takes too long" ""

# shellcheck disable=SC2016
ends='. "$KEEL_TEST_SRCDIR/tests/lib/system.sh"; sleep 1000 & started+=($! "$1"); echo $! >"$2"'
sleep 1000 &
other=$!
started+=("$other")
run_limited 20 bash -c "$ends" script "$other" "$work/own"
ok "a script that ends: what it started is gone" wait_for 10 is_gone "$(cat "$work/own")"
ok "a script that ends: a process that is not its own lives on" is_alive "$other"

finish
