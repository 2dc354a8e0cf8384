#!/bin/sh
# usnic over a wire that loses, repeats, reorders, corrupts and cuts packets: each fault at 5 % of all
# packets, on both sides, must be invisible above it. With "all": the whole suite, else the cases in which
# most packets go. That packets were lost indeed shows in those that were sent again.
program="${KEEL_TEST_BUILDDIR:-.}/tests/conformance/btl"
KEEL_TEST_LOG=' sent again, '
export KEEL_MCA_fault KEEL_TEST_LOG
number=0

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

# resends OUTPUT: packets that were sent again, of all processes together
resends()
{
    echo "$1" | sed -n 's/.* packets sent, \([0-9]*\) sent again, .*/\1/p' | awk '{ n += $1 } END { print n + 0 }'
}

# under ACTION LEAST CASE...: two processes; at least so many packets are sent again
under()
{
    action=$1
    least=$2
    shift 2
    KEEL_MCA_fault="btl.usnic.send:$action:p=.05:seed=$number;btl.usnic.recv:$action:p=.05:seed=1$number"
    output=$("$program" usnic 2 "$@" 2>&1)
    status=$?
    case $output in
    "1..0 # SKIP"*) echo "$output"; exit 0 ;;
    esac
    result $status "$action" "$output"
    again=$(resends "$output")
    [ "$again" -ge "$least" ]
    result $? "$action: $again packets are sent again, at least $least" "$output"
}

if [ "$1" = all ]; then
    set --
else
    set -- sizes order 'full with large' 'many to one' put get 'atomics overlap' traffic
fi
for fault in drop corrupt short=100 error=EIO; do
    under $fault 100 "$@"
done
under duplicate 0 "$@"
under reorder 0 "$@"
echo "1..$number"
exit ${failed:-0}
