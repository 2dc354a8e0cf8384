#!/bin/bash
# An installation in a folder of its own: what pkg-config says builds the examples, and they run.
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"

command -v pkg-config >/dev/null || {
    skip 'an installation' 'no pkg-config'
    finish
}
root=$work/root

run_limited 120 env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -s -C "$KEEL_TEST_BUILDDIR" install \
    DESTDIR="$root"
is 'make install' 0 "$code"
prefix=$(sed -n 's/^prefix=//p' "$KEEL_TEST_BUILDDIR/keel.pc")
export PKG_CONFIG_PATH=$root$prefix/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root
libraries=$root$prefix/lib

# build PACKAGE SOURCE: into a program of the same name.
build()
{
    # shellcheck disable=SC2046,SC2086 # the flags are meant to be split
    run_limited 60 ${CC:-cc} $sanitize -Wall -Wextra -Wpedantic -Werror $(pkg-config --cflags "$1") \
        -o "$work/$2" "$KEEL_TEST_SRCDIR/examples/$2.c" $(pkg-config --libs "$1") \
        -Wl,-rpath,"$libraries"
    is "$2 builds with $1" 0 "$code"
    run_limited 20 "$root$prefix/bin/keelrun" --oversubscribe -n 3 "$work/$2"
    is "$2 runs" 0 "$code"
}

build keel rml_chat
build keel-compat rml_ring
is 'keel alone has no old paths' '' "$(pkg-config --cflags keel | grep compat)"
finish
