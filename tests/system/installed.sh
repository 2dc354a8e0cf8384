#!/bin/bash
# An installation in a folder with a space in its name: what pkg-config says builds the examples and the
# programs in man pages, all as they are installed, and they run; so do programs that do not say where
# their library is, also over ssh.
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"
# shellcheck source=tests/lib/sshd.sh
. "$KEEL_TEST_SRCDIR/tests/lib/sshd.sh"
. "$KEEL_TEST_SRCDIR/tests/lib/man.sh"

command -v pkg-config >/dev/null || {
    skip 'an installation' 'no pkg-config'
    finish
}
root="$work/the root"

run_limited 120 env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -s -C "$KEEL_TEST_BUILDDIR" install \
    DESTDIR="$root"
is 'make install' 0 "$code"
prefix=$(sed -n 's/^prefix = //p' "$KEEL_TEST_BUILDDIR/Makefile")
libraries=$root$prefix/lib
export PKG_CONFIG_PATH=$libraries/pkgconfig
keelrun_there=$root$prefix/bin/keelrun
unset LD_LIBRARY_PATH

documents=$root$prefix/share/doc/keel

# compile PACKAGE SOURCE PROGRAM [FILTER]: with what pkg-config says, the FILTER of sed on it.
compile()
{
    local flags
    flags=$(pkg-config --cflags "$1")
    eval "run_limited 60 ${CC:-cc} $sanitize -Wall -Wextra -Wpedantic -Werror $flags -o '$work/$3' \
        '$2' $(pkg-config --libs "$1" | sed "${4-}")"
    is "$3 builds with $1" 0 "$code"
}

# runs NAME ARGUMENT...: of keelrun.
runs()
{
    local name=$1
    shift
    run_limited 20 "$keelrun_there" --oversubscribe "$@"
    is "$name" 0 "$code"
}

# build PACKAGE SOURCE: into a program, which runs.
build()
{
    local name
    name=$(basename "$2" .c)
    compile "$1" "$2" "$name"
    runs "$name runs" -n 3 "$work/$name"
}

build keel "$documents/examples/rml_chat.c"
build keel-compat "$documents/examples/rml_ring.c"
built=0
for page in "$root$prefix"/share/man/man[37]/*.[37]; do
    package=keel
    [ "${page##*/}" = keel-compat.7 ] && package=keel-compat
    for source in $(man_programs "$page" "$work/${page##*/}"); do
        build $package "$source"
        built=$((built + 1))
    done
done
is 'programs were found in man pages' yes "$([ $built -ge 7 ] && echo yes)"
is 'what man pages name is installed' '' "$(sed -n 's|^\.Pa PREFIX/\(share/[^ ]*[a-zA-Z]\).*|\1|p' \
    "$root$prefix"/share/man/man?/* | while read -r file; do
    [ -e "$root$prefix/$file" ] || echo "$file"
done)"
pkg-config --libs keel-compat >"$work/flags"
like 'keel-compat links the math library, as ORTE did' "$work/flags" '(^| )-lm( |$)'
is 'keel alone has no old paths' '' "$(pkg-config --cflags keel | grep compat)"
run_limited 20 "$work/rml_chat"
is 'rml_chat runs alone' 0 "$code"

run_limited 20 "$keelrun_there" --stack-traces -n 1 "$helpers/crash" segv
is 'a rank that crashes there' 139 "$code"
like 'a rank that crashes there: why it has no stack' "$work/err" \
    '^keelrun: no stack of 1 of 1 .*: the path of keel-crash.so has a blank or a colon'

# --- a program without a run path ---

compile keel "$documents/examples/rml_chat.c" lost 's/-Wl,-rpath,[^ ]*\(\\ [^ ]*\)*//'
run_limited 20 "$work/lost"
is 'a program that does not find libkeel' 127 "$code"
runs 'it does below keelrun' -n 3 "$work/lost"
runs 'on simulated nodes' --simulate 2x2 "$work/lost"
run_limited 20 "$keelrun_there" --noprefix -n 1 "$work/lost"
is '--noprefix leaves it alone' 127 "$code"
run_limited 20 "$keelrun_there" --noprefix --simulate 2x1 "$work/lost"
is '--noprefix on simulated nodes' 127 "$code"
path_of()
{
    run_limited 20 "$@" sh -c 'echo "$LD_LIBRARY_PATH"'
    cat "$work/out"
}
is 'the library folder comes last' "/nowhere:$libraries" \
    "$(path_of env LD_LIBRARY_PATH=/nowhere "$keelrun_there" -n 1)"
is 'also behind that of -x' "/far:$libraries" \
    "$(path_of "$keelrun_there" -n 1 -x LD_LIBRARY_PATH=/far)"
is 'and once' "$libraries:/nowhere" \
    "$(path_of "$keelrun_there" -n 1 -x "LD_LIBRARY_PATH=$libraries:/nowhere")"

# --- over ssh ---

if make_sshd; then
    runs 'over ssh' --mca plm_rsh_agent "$ssh_agent" --host localhost:1,kt-far:2 -n 3 "$work/lost"
    is 'over ssh: nothing on stderr' '' "$(cat "$work/err")"
    run_limited 20 "$keelrun_there" --noprefix --mca plm_rsh_agent "$ssh_agent" --host kt-far:1 \
        "$work/lost"
    is 'over ssh with --noprefix' 127 "$code"
    # Both end together, however long a busy machine takes for each: a file for each that is done.
    cat >"$work/elsewhere" <<EOF
#!/bin/sh
host=\$1
shift
ssh -x -F "$work/ssh.conf" kt-far "\$(echo "\$*" | sed s,/bin/keeld,/gone,)"
code=\$?
: >"$work/done.\$host"
tries=0
until [ -e "$work/done.kt-far1" ] && [ -e "$work/done.kt-far2" ] || [ \$tries -eq 150 ]; do
    sleep 0.1
    tries=\$((tries + 1))
done
exit \$code
EOF
    chmod +x "$work/elsewhere"
    run_limited 20 "$keelrun_there" --mca plm_rsh_agent "$work/elsewhere" \
        --host kt-far1:1,localhost:1,kt-far2:1 true
    is 'no keeld over ssh: exit code' 125 "$code"
    like 'no keeld over ssh: where it has to be, on all nodes that lack it' "$work/err" \
        "^keelrun: nodes kt-far\[1-2\]: there is no '$root$prefix/bin/keeld' there, .*the same place"
else
    skip 'over ssh' "$reason"
fi

# --- a moved tree ---

mv "$root$prefix" "$work/it's moved"
keelrun_there="$work/it's moved/bin/keelrun"
export PKG_CONFIG_PATH="$work/it's moved/lib/pkgconfig"
runs 'a moved tree' --simulate 2x2 "$work/lost"
[ -n "${reason-}" ] ||
    runs 'a moved tree over ssh' --mca plm_rsh_agent "$ssh_agent" --host kt-far:2 "$work/lost"
finish
