#!/bin/sh
# The BTL modules while things fail on purpose, with the checking module before them. What only makes
# things late or short: the whole suite must pass. What loses something: traffic ends, each part of it
# well or with an error, and never in silence. A callback that comes twice: the check says so.
program="${KEEL_TEST_BUILDDIR:-.}/tests/conformance/btl"
KEEL_MCA_btl_check=1
export KEEL_MCA_btl_check KEEL_MCA_fault
number=0

# result STATUS NAME OUTPUT
result()
{
    number=$((number + 1))
    case $3 in
    "1..0 # SKIP"*)
        echo "ok $number - $2 # SKIP${3#*# SKIP}"
        return ;;
    esac
    if [ "$1" -eq 0 ]; then
        echo "ok $number - $2"
    else
        echo "not ok $number - $2"
        echo "$3" | grep -v '^ok' | sed 's/^/# /'
        failed=1
    fi
}

# under FAULTS MODULE [CASE [NAME]]: the suite, or one case of it, by two processes.
under()
{
    KEEL_MCA_fault=$1
    output=$("$program" "$2" 2 ${3:+"$3"} 2>&1)
    result $? "$2 with ${4:-$1}" "$output"
}

# reported FAULTS MODULE: the checking module tells of a second callback.
reported()
{
    KEEL_MCA_fault=$1
    output=$("$program" "$2" 2 traffic 2>&1)
    echo "$output" | grep '^not ok' | grep -qE 'check: .*: module: calls back (twice|for a descriptor)'
    result $? "$2 with $1 is reported" "$output"
}

# broken FAULTS MODULE WORDS: the module reports its peer's failure with these words (grep -E).
broken()
{
    KEEL_MCA_fault=$1
    output=$(KEEL_TEST_ERRORS=1 "$program" "$2" 2 traffic 2>&1) && echo "$output" | grep -qE "$3"
    result $? "$2 with $1 reports its failure" "$output"
}

late='btl.any.send:error=EAGAIN:p=.1:seed=2;btl.any.send:early:p=.1:seed=3'
late="$late;btl.any.send:delay=1:p=.004:seed=4;btl.any.alloc:error=ENOMEM:p=.01:seed=5"
for call in put get atomic; do
    late="$late;btl.any.$call:error=EBUSY:p=.1:seed=6;btl.any.$call:early:p=.1:seed=7"
    late="$late;btl.any.$call:delay=1:p=.02:seed=8"
done
under "$late" self "" "shortages, delays and early ends"
under "$late;btl.sm.send:error=EAGAIN:p=.1;btl.sm.cma:error=EPERM:after=9" \
    sm "" "shortages, delays and early ends"
under "$late;btl.tcp.send:short=100:p=.2;btl.tcp.recv:short=50:p=.2" \
    tcp "" "shortages, delays and early ends"

for module in self sm tcp; do
    under 'btl.any.send:drop:p=.1:seed=3' $module traffic
    under 'btl.any.send:error=EPIPE:p=.1' $module traffic
    under 'btl.any.put:drop:p=.3;btl.any.get:drop:p=.2' $module traffic
    under 'btl.any.send:delay=3:p=.05;btl.any.put:delay=20' $module traffic
    reported 'btl.any.send:duplicate:after=100' $module
    reported 'btl.any.put:duplicate:p=.1' $module
done
under 'btl.sm.recv:error=EIO:after=1000' sm traffic
under 'btl.sm.memory:error=ENOSPC:after=8' sm traffic
under 'btl.sm.cma:error=EFAULT:p=.2' sm traffic
under 'btl.sm.send:duplicate:p=.3' sm traffic
broken 'btl.sm.send:drop:after=700:p=.02' sm 'error: sm: .* a message to it was lost'
broken 'btl.sm.send:drop' sm 'error: sm: .* a message to it was lost'
under 'btl.tcp.connect:error=ECONNREFUSED' tcp traffic
under 'btl.tcp.connect:error=ENETUNREACH:p=.5' tcp traffic
under 'btl.tcp.send:error=ECONNRESET:after=500:p=.01' tcp traffic
under 'btl.tcp.recv:error=ECONNRESET:after=900' tcp traffic
# Lost for good, or twice on a stream: the rail fails.
broken 'btl.tcp.send:drop:after=300:p=.05' tcp 'error: .*(Connection timed out|closed by the peer)'
broken 'btl.tcp.send:drop' tcp 'error: .*Connection timed out'
broken 'btl.tcp.send:duplicate:after=300:p=.05' tcp 'error: .*one is missing, or came twice'
under 'btl.tcp.send:short=1:p=.5;btl.tcp.recv:short=3:p=.4' tcp traffic

KEEL_MCA_btl_ofi_provider=shm
export KEEL_MCA_btl_ofi_provider
under 'btl.any.send:drop:p=.1:seed=3' ofi traffic
under 'btl.any.send:delay=3:p=.05;btl.any.put:delay=20' ofi traffic
under 'btl.ofi.send:error=EAGAIN:p=.2' ofi traffic
under 'btl.ofi.send:error=EIO:after=1000' ofi traffic
under 'btl.ofi.send:duplicate:p=.3' ofi traffic
under 'btl.ofi.send:drop:after=700:p=.02' ofi traffic
under 'btl.ofi.recv:error=EIO:after=700' ofi traffic
echo "1..$number"
exit ${failed:-0}
