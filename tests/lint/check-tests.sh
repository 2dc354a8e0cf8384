#!/bin/sh
# tests/table and the tree agree: every test is in the table and is built. Output is TAP.
. "${KEEL_TEST_SRCDIR:?}/tests/lint/report.sh"
cd "$tree" || exit 1

# What the table runs, without words.
listed=$(awk '!/^#/ && NF { print $3 }' tests/table)

# The programs and scripts that are tests. Scripts without #! are read by others.
tests()
{
    for source in $(find tests/unit -name 'test-*.c'); do
        echo "${source%.c}"
    done
    grep -l '^int LLVMFuzzerTestOneInput' tests/fuzz/*.c | sed 's/\.c$//'
    for script in tests/system/*.sh tests/conformance/*.sh tests/long/*.sh tests/lint/check-*.sh; do
        head -n 1 "$script" | grep -q '^#!' && echo "$script"
    done
}

report 'every test is in tests/table' "$(tests | while read -r test; do
    echo "$listed" | grep -qxF -e "$test" || echo "$test"
done)"
report 'tests/table names what is there' "$(echo "$listed" | sort -u | while read -r test; do
    [ -f "$test" ] || [ -f "$test.c" ] || echo "$test"
done)"
report 'tests/table names nothing twice' "$(awk '!/^#/ && NF { $1 = $2 = ""; print }' tests/table |
    sort | uniq -d)"
report 'every test program is built' "$(echo "$listed" | sort -u | while read -r test; do
    [ ! -f "$test.c" ] || cat tests/*/local.mk tests/*/*/*.mk tests/*/*/*/local.mk | grep -qwF -e "$test" || echo "$test"
done)"

echo "1..$number"
