#!/bin/sh
# Every installed header compiles alone, and the old include paths in any order, as C11 and as C++17,
# with each compiler that is there. Output is TAP.
tree=${KEEL_TEST_SRCDIR:?}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
number=0

old=$(cd "$tree/include/compat" && find . -name '*.h' | sed 's/^\.\///' | sort)

# compile COMPILER LANGUAGE STANDARD HEADER...: a file that includes these.
compile()
{
    compiler=$1 language=$2 standard=$3
    shift 3
    printf '#include <%s>\n' "$@" >"$work/file"
    echo 'extern int not_empty;' >>"$work/file"
    "$compiler" -x "$language" -std="$standard" -Wall -Wextra -Wpedantic -Werror -fsyntax-only \
        -I "$tree/include/compat" -I "$tree/include" "$work/file"
}

compile_all()
{
    for header in "$tree"/include/keel/*.h; do
        compile "$@" "keel/${header##*/}" "keel/${header##*/}"
    done
    before=
    for header in $old; do
        compile "$@" "$header" "$header"
        # shellcheck disable=SC2086 # the lists are meant to be split
        compile "$@" "$header" $old
        before="$header $before"
    done
    # shellcheck disable=SC2086
    compile "$@" $before
    use_macros "$@"
}

# use_macros COMPILER LANGUAGE STANDARD: what a program's own lines become.
use_macros()
{
    cat >"$work/file" <<'END'
#include <keel/keel.h>
int main(void)
{
    struct keel_options options = KEEL_OPTIONS_DEFAULT;
    opal_buffer_t buffer;
    OBJ_CONSTRUCT(&buffer, opal_buffer_t);
    OBJ_DESTRUCT(&buffer);
    return options.data_plane ? 0 : 1;
}
END
    "$1" -x "$2" -std="$3" -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I "$tree/include" \
        "$work/file"
}

# check COMPILER LANGUAGE STANDARD: one test line.
check()
{
    number=$((number + 1))
    text="headers compile alone, and in any order: $1, $3"
    if ! command -v "$1" >/dev/null 2>&1; then
        echo "ok $number # SKIP $text: no $1"
        return
    fi
    compile_all "$@" >"$work/errors" 2>&1
    if [ -s "$work/errors" ]; then
        echo "not ok $number - $text"
        sed 's/^/# /' "$work/errors"
    else
        echo "ok $number - $text"
    fi
}

check gcc c c11
check clang c c11
check g++ c++ c++17
check clang++ c++ c++17
echo "1..$number"
