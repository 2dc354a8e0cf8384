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
    exec "${KEEL_TEST_BUILDDIR:-.}/tests/conformance/btl" "$@"
}
