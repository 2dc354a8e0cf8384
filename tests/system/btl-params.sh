#!/bin/bash
# Values of the data plane's parameters that do not fit: each is one error that names parameter, value
# and what is wanted; the process ends at once and leaves nothing. The ends of each range are good.
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"

# refused NAME VALUE WORDS: keel_init refuses it with one line that has these words (grep -E).
refused()
{
    run_limited 10 env "KEEL_MCA_$1=$2" "$helpers/member" leave
    is "$1 = ${2:0:40}: refused, with a line" "77 1" "$code $(grep -c . "$work/err")"
    like "$1 = ${2:0:40}: says what is wrong" "$work/err" "$1 = .*$3"
}

# taken NAME VALUE
taken()
{
    run_limited 10 env "KEEL_MCA_$1=$2" "$helpers/member" leave
    is "$1 = $2 is taken" 0 "$code"
}

# --- which components ---

refused btl '^' 'a name is empty'
refused btl 'self,,sm' 'a name is empty'
refused btl ',' 'a name is empty'
refused btl ' ' 'a name is empty'
refused btl 'self,' 'a name is empty'
refused btl 'self,sm,self' 'self stands there twice'
refused btl '^tcp, tcp' 'tcp stands there twice'
refused btl 'self,^tcp' 'a \^ may stand before the whole list only'
refused btl '^self,^tcp' 'a \^ may stand before the whole list only'
refused btl '^^tcp' 'a \^ may stand before the whole list only'
refused btl 'nope' 'no component "nope"; there are self, sm, tcp'
refused btl 'self;sm' 'no component "self;sm"'
refused btl 'SELF' 'no component "SELF"'
refused btl 'sel' 'no component "sel"'
refused btl '^self,sm,tcp' 'no component is left'
refused btl "$(printf 'x%.0s' {1..4000})" 'xxx\.\.\.": no component "x'
refused btl "$(printf 'x%.0s' {1..5000})" 'xxx\.\.\.: at most 4095 characters are wanted'
taken btl ''
taken btl ' self , tcp '
taken btl '^sm,tcp'
taken btl '^ofi'
run_limited 10 "$keelrun" --mca btl "$(printf 'x%.0s' {1..5000})" true
is "a long value for keelrun" "2 1" "$code $(wc -l <"$work/err")"
like "a long value for keelrun: the reason" "$work/err" \
    '^keelrun: --mca btl: the value has 5000 characters; at most 4095 are possible$'

# --- each value ---

# table TYPE: the lines "name lowest highest" of the data plane's parameters of this type.
table()
{
    awk -F'|' -v type=" $1 " '$2 ~ /^ `btl_/ && $3 == type {
        gsub(/[` ]/, "", $2); split($5, range, " "); print $2, range[1], range[3]
    }' "$KEEL_TEST_SRCDIR/docs/parameters.md"
}

# The components to open for its parameter.
components_for()
{
    local name=${1#btl_}
    case $name in
    sm_* | tcp_* | ofi_* | usnic_*) echo "self,${name%%_*}" ;;
    *) echo self ;;
    esac
}

bytes()
{
    case $1 in
    *k) echo $((${1%k} << 10)) ;;
    *m) echo $((${1%m} << 20)) ;;
    *g) echo $((${1%g} << 30)) ;;
    *) echo "$1" ;;
    esac
}

libfabric=$(grep -x '#define HAVE_FABRIC 1' "$KEEL_TEST_BUILDDIR/config.h")
[ -z "$sanitize" ] || libfabric="" # it is not instrumented
least=25
[ -z "$libfabric" ] || least=45
# On the loopback interface alone, whatever others the machine has.
export KEEL_MCA_btl_ofi_address=127.0.0.1 KEEL_MCA_btl_usnic_if_include=lo
count=0
for type in int size; do
    while read -r name lowest highest; do
        case $name in btl_ofi_* | btl_usnic_*) [ -n "$libfabric" ] || continue ;; esac
        KEEL_MCA_btl=$(components_for "$name")
        export KEEL_MCA_btl
        wanted="from $(bytes "$lowest") to $(bytes "$highest") is wanted"
        refused "$name" $(($(bytes "$lowest") - 1)) "$wanted"
        refused "$name" $(($(bytes "$highest") + 1)) "$wanted"
        refused "$name" 99999999999999999999999 "$wanted"
        refused "$name" '' "$wanted"
        refused "$name" many "$wanted"
        refused "$name" '7 7' "$wanted"
        refused "$name" 1x "$wanted"
        refused "$name" 9999999999999g "$wanted"
        [ $type = size ] || refused "$name" 1k "$wanted"
        taken "$name" "$lowest"
        taken "$name" "$highest"
        count=$((count + 1))
    done <<<"$(table $type)"
done
ok "there were parameters" [ $count -gt $least ]
KEEL_MCA_btl=self,sm
refused btl_check maybe 'yes or no is wanted'
refused btl_sm_use_cma 2 'yes or no is wanted'
refused btl_sm_backing paper 'one of auto, memfd, file is wanted'
refused btl_check_action stop 'one of report, abort is wanted'
unset KEEL_MCA_btl

# --- in a job ---

run_limited 10 "$keelrun" --mca btl_sm_max_peers -1 true
is "on the command line keelrun refuses it" "2 1" "$code $(wc -l <"$work/err")"
run_limited 10 env KEEL_MCA_btl_sm_max_peers=-1 "$keelrun" --oversubscribe -n 3 "$helpers/member" hang
is "a job with a value that does not fit ends" 77 "$code"
like "and says why" "$work/err" 'btl_sm_max_peers = -1: a whole number from 2 to 65536 is wanted'
no_leftovers "and leaves nothing" ""

finish
