#!/bin/bash
# libkeel and Open MPI in one process: both are used, linked and loaded at run time.
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"

mpicc=${KEEL_TEST_MPICC:-}
if [ -z "$mpicc" ] || ! type -P "$mpicc" >/dev/null; then
    skip "Keel and Open MPI in one process" "no mpicc of Open MPI"
    finish
fi

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader
# Open MPI itself leaks
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"

sources=$KEEL_TEST_SRCDIR/tests/system
libraries=$KEEL_TEST_BUILDDIR/lib/.libs
# shellcheck disable=SC2206 # options are meant to be split
flags=(-g -Wall -rdynamic $sanitize -I "$KEEL_TEST_SRCDIR/include")
link=(-L "$libraries" -Wl,-rpath,"$libraries" -lkeel)

run_limited 60 "$mpicc" "${flags[@]}" -o "$work/linked" \
    "$sources/coexist.c" "$sources/coexist_keel.c" "${link[@]}"
is "linked: compiles" "0 " "$code $(cat "$work/out" "$work/err")"
run_limited 60 "$mpicc" "${flags[@]}" -shared -fPIC -o "$work/half.so" \
    "$sources/coexist_keel.c" "${link[@]}"
is "loaded: the Keel half compiles" "0 " "$code $(cat "$work/out" "$work/err")"
run_limited 60 "$mpicc" "${flags[@]}" -DBY_DLOPEN -o "$work/loading" "$sources/coexist.c" -ldl
is "loaded: compiles" "0 " "$code $(cat "$work/out" "$work/err")"

for first in keel mpi; do
    run_limited 30 "$work/linked" $first
    is "linked, $first begins" "0 both work" "$code $(cat "$work/out")"
    run_limited 30 "$work/loading" $first "$work/half.so"
    is "loaded, $first begins" "0 both work" "$code $(cat "$work/out")"
done

# what Open MPI is told in the environment does not disturb a job of Keel
run_limited 30 "$keelrun" -n 2 "$helpers/member" leave
is "Keel alone under the same environment" "0 2" "$code $(wc -l <"$work/out")"
ok "the Open MPI libraries are there" grep -q libmpi <(ldd "$work/linked")
ok "no session folder is left" wait_for 2 not test -e "$sessions"
finish
