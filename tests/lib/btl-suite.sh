# Read by the scripts of the BTL conformance suite.

# suite [PARAMETER=VALUE ...] MODULE [PROCESSES]: becomes the suite over a module, with parameters.
suite()
{
    for word; do
        case $word in *=*) export "KEEL_MCA_$word" && shift ;; esac
    done
    # libfabric's own leaks are not the suite's.
    LSAN_OPTIONS=suppressions=${KEEL_TEST_SRCDIR:-..}/tests/lib/fabric.supp:print_suppressions=0
    export LSAN_OPTIONS
    # A module that only tests have is in a program of its own.
    program=${KEEL_TEST_BUILDDIR:-.}/${suite_program:-tests/conformance/btl}
    [ ! -x "$program-$1" ] || program=$program-$1
    exec "$program" "$@"
}

suite_number=0
suite_failed=0

# part NAME [PARAMETER=VALUE ...] MODULE [PROCESSES [CASE ...]]: one of several runs of the suite in one
# script, whose cases are numbered on; parts_end ends it.
part()
{
    part_name=$1
    shift
    part_output=$(suite "$@" 2>&1) || suite_failed=1
    case $part_output in
    "1..0 # SKIP"*) echo "$part_output"; exit 0 ;;
    esac
    echo "$part_output" | awk -v from="$suite_number" -v name="$part_name" '
        /^(ok|not ok) / { at = $1 == "ok" ? 2 : 3; $at = ++from; sub(/:/, ", " name ":"); print; next }
        !/^1\.\./ && NF { print "# " $0 }'
    suite_number=$((suite_number + $(echo "$part_output" | grep -cE '^(ok|not ok) ')))
}

parts_end()
{
    echo "1..$suite_number"
    exit "$suite_failed"
}
