# What the lints share. Sourced.
tree=${KEEL_TEST_SRCDIR:?}
number=0

# report TEXT VIOLATIONS: one test line, ok when there are no violations.
report()
{
    number=$((number + 1))
    if [ -z "$2" ]; then
        echo "ok $number - $1"
    else
        echo "not ok $number - $1"
        echo "$2" | sed 's/^/# /'
    fi
}
