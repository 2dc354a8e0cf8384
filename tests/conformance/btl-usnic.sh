#!/bin/sh
# usnic over a wire that loses, repeats, reorders, corrupts and cuts packets: each fault at 5 % of all
# packets, on both sides, must be invisible above it, and so must all of them together.
#
#   btl-usnic.sh [PARAMETER=VALUE ...] [all] [PROCESSES]
#
# With "all": the whole suite, else a few cases for each fault, and those with most packets for all of
# them together. That the faults struck shows in what the modules have counted: packets that were sent
# again, came again, or came early.
program="${KEEL_TEST_BUILDDIR:-.}/tests/conformance/btl"
KEEL_TEST_LOG=' sent again, '
export KEEL_MCA_fault KEEL_TEST_LOG
number=0
least=100
processes=2
cases=some

# result STATUS NAME OUTPUT
result()
{
    number=$((number + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $number - $2"
    else
        echo "not ok $number - $2"
        echo "$3" | grep -v '^ok' | sed 's/^/# /'
        failed=1
    fi
}

# faults ACTION...: each at every point, from a seed of its own
faults()
{
    seed=$number
    for action; do
        for point in send recv; do
            seed=$((seed + 1))
            printf 'btl.usnic.%s:%s:p=.05:seed=%d;' $point "$action" $seed
        done
    done
}

# run_cases: sets output and status
run_cases()
{
    case $cases in
    all) set -- ;;
    some) set -- sizes 'many to one' 'atomics overlap' 'all end at once' ;;
    *) set -- sizes 'many to one' 'atomics overlap' 'all end at once' traffic order put get ;;
    esac
    output=$("$program" usnic "$processes" "$@" 2>&1)
    status=$?
    case $output in
    "1..0 # SKIP"*) echo "$output"; exit 0 ;;
    esac
}

# counted WORDS: packets of which the modules say so, of all processes together
counted()
{
    echo "$output" | grep -oE "[0-9]+ $1" | awk '{ n += $1 } END { print n + 0 }'
}

# under SIGNS ACTION...: the suite with these faults; of each sign there were packets
under()
{
    signs=$1
    shift
    KEEL_MCA_fault=$(faults "$@")
    run_cases
    result $status "$*" "$output"
    for sign in $signs; do
        packets=$(counted "$(echo "$sign" | tr _ ' ')")
        [ "$packets" -ge $least ]
        result $? "$*: $packets packets $(echo "$sign" | tr _ ' '), at least $least" "$output"
    done
}

for word; do
    case $word in
    *=*) export "KEEL_MCA_$word" ;;
    all) cases=all ;;
    *) processes=$word ;;
    esac
done
for fault in drop corrupt short=100 error=EIO; do
    under sent_again $fault
done
under came_again duplicate
under came_early reorder
[ $cases = all ] || cases=more
under 'sent_again came_again came_early' drop corrupt short=100 error=EIO duplicate reorder
echo "1..$number"
exit ${failed:-0}
