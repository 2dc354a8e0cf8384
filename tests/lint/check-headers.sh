#!/bin/sh
# Every installed header compiles alone, as C11 and as C++17, with each compiler that is there.
# Output is TAP.
tree=${KEEL_TEST_SRCDIR:?}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
number=0

# check COMPILER LANGUAGE STANDARD: one test line.
check()
{
    number=$((number + 1))
    text="headers compile alone: $1, $3"
    if ! command -v "$1" >/dev/null 2>&1; then
        echo "ok $number # SKIP $text: no $1"
        return
    fi
    for header in "$tree"/include/keel/*.h; do
        name=${header##*/}
        printf '#include <keel/%s>\n#include <keel/%s>\nextern int not_empty;\n' "$name" "$name" \
            >"$work/alone"
        "$1" -x "$2" -std="$3" -Wall -Wextra -Wpedantic -Werror -fsyntax-only \
            -I "$tree/include" "$work/alone"
    done >"$work/errors" 2>&1
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
