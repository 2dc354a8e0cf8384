#!/bin/sh
# Programs written for ORTE compile without a warning, and name nothing of Keel's own. Output is TAP.
. "${KEEL_TEST_SRCDIR:?}/tests/lint/report.sh"
cd "$tree" || exit 1
sources="examples/rml_ring.c $(find tests/conformance/compat -name '*.c')"

# compile COMPILER STANDARD
compile()
{
    if ! command -v "$1" >/dev/null 2>&1; then
        report "old sources compile: $1, $2 # SKIP no $1" ''
        return
    fi
    report "old sources compile: $1, $2" "$(for source in $sources; do
        "$1" -std="$2" -Wall -Wextra -Wpedantic -Werror -fsyntax-only \
            -I include/compat -I include "$source"
    done 2>&1)"
}

# Of what is Keel's own, one macro and one variable of the environment are known.
# shellcheck disable=SC2086 # the list is meant to be split
report 'old sources name nothing of Keel' "$(grep -niE 'keel' $sources |
    grep -vE ':(/\*| \*)|KEEL_COMPAT_ORTE_1_3|KEEL_DAEMON')"
compile gcc gnu99
compile gcc gnu11
compile clang gnu99
compile clang gnu11
echo "1..$number"
