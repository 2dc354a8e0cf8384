#!/bin/bash
# The PMIx server itself, without an MPI: tools that look at a job, and clients that use what Open
# MPI does not.
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"

if [ ! -e "$KEEL_TEST_BUILDDIR/lib/keel-pmix.la" ]; then
    skip "PMIx" "there is no libpmix or hwloc"
    finish
fi
unset "${!OMPI_@}" "${!PMIX_@}" "${!PMI_@}"
# what libpmix and hwloc keep at the end of a server
printf 'leak:libpmix.so\nleak:libhwloc.so\n' >"$work/leaks"
export LSAN_OPTIONS=suppressions=$work/leaks:print_suppressions=0
host=$(hostname)
host=${host%%.*}

# --- tools ---

exists()
{
    compgen -G "$1" >"$work/glob"
}

# told JOB...: a job runs while pps asks; its namespace is what pps says.
if command -v pps >"$work/which"; then
    for layout in "-n 2 --oversubscribe" "--simulate 3x2"; do
        # shellcheck disable=SC2086 # words
        start "$keelrun" $layout sleep 60
        ok "a file for tools, keelrun $layout" wait_for 10 exists "$sessions/*/0/pmix.$host.tool"
        file=$(head -n 1 "$work/glob")
        job=${file#"$sessions"/} job=${job%%/*}
        is "only this user can read it, keelrun $layout" 600 "$(stat -c %a "$file")"
        server=$pid
        timeout 20 pps >"$work/pps" 2>&1
        is "pps, keelrun $layout: exit code" 0 $?
        like "pps, keelrun $layout: the job" "$work/pps" "^Active nspaces: keel-$job$"
        like "its server and port" "$file" "^keel-$job-server\.0;tcp4://127\.0\.0\.1:[0-9]+$"
        timeout 20 pevent --event -147 --range 4 >"$work/pps" 2>&1
        is "pevent, keelrun $layout: exit code" 0 $?
        timeout 20 pps >"$work/pps" 2>&1
        is "and keelrun is alive" 0 $?
        kill -TERM "$server"
        await 10
        is "it ends as ever, keelrun $layout" 143 "$code"
        ok "no file is left, keelrun $layout" not test -e "$sessions/$job"
    done

    # two jobs: a tool has to be told which
    for i in 1 2; do
        start "$keelrun" -n 1 --oversubscribe sleep 60
        jobs[i]=$pid
    done
    two_jobs()
    {
        [ "$(find "$sessions" -name "pmix.$host.tool" 2>"$work/find" | wc -l)" = 2 ]
    }
    ok "two jobs" wait_for 10 two_jobs
    timeout 20 pps >"$work/pps" 2>&1
    ok "pps does not guess" [ $? != 0 ]
    for folder in "$sessions"/*; do
        PMIX_SYSTEM_TMPDIR=$folder timeout 20 pps >"$work/pps" 2>&1
        like "pps is told the job" "$work/pps" "^Active nspaces: keel-${folder##*/}$"
    done

    # kill -9 of keelrun: its shepherd removes the file
    kill -KILL "${jobs[@]}"
    ok "after kill -9 no file is left" wait_for 4 not exists "$sessions/*/*/pmix*"

    run_limited 20 "$keelrun" -n 2 --oversubscribe pps
    is "pps as ranks: exit code" 0 "$code"
    is "pps as ranks: both" 2 "$(grep -c '^Active nspaces: keel-' "$work/err")"
    PMIX_HOSTNAME=node1 run_limited 20 "$keelrun" --simulate 2x1 bash -c \
        "[ \$PMIX_RANK = 0 ] || exec sleep 2
        until [ -e $sessions/*/*/pmix.node1.tool ]; do sleep 0.05; done; exec env -u PMIX_RANK -u PMIX_NAMESPACE \
        -u PMIX_SERVER_URI41 -u PMIX_SERVER_URI4 -u PMIX_SERVER_URI3 -u PMIX_SERVER_URI2 \
        -u PMIX_SERVER_URI21 PMIX_HOSTNAME=node1 PMIX_SYSTEM_TMPDIR=$sessions pps"
    is "another node's daemon answers too" "0 1" \
        "$code $(grep -c '^Active nspaces: keel-' "$work/err")"
else
    skip "tools" "there is no pps"
fi

ok "no session folder is left" wait_for 4 not test -e "$sessions"
finish
