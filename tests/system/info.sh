#!/bin/bash
# keel-info: what it shows for people, for programs and for docs/, and wrong usage.
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"
info=$KEEL_TEST_BUILDDIR/bin/keel-info

mkdir -p "$work/config/keel"
export XDG_CONFIG_HOME=$work/config
printf '# mine\nbtl_tcp_links = 2\nrouted_radix = lots\n' >"$work/config/keel/keel.conf"

# member FILTER: what jq's or python's view of $work/out is: an expression over the object d.
member()
{
    python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$work/out" "$1" 2>&1
}

run_limited 20 "$info"
is "without an option: exit code, nothing on stderr" 0: "$code:$(cat "$work/err")"
like "the version" "$work/out" "^  version +[0-9]+\.[0-9]+"
like "a library" "$work/out" "^  libsodium +[0-9]+\."
like "a component" "$work/out" "^  btl tcp +interface 3\."
like "one that has to be named" "$work/out" "^  btl ofi .*(has to be named|not built)"
is "and no parameter" 0 "$(grep -c ' = ' "$work/out")"

KEEL_MCA_btl_tcp_sndbuf=$'1\e[m' run_limited 20 "$info" --param btl_tcp --param routed_radix
is "parameters: exit code" 0 "$code"
like "of a file, with its line" "$work/out" "^btl_tcp_links = 2 \\($work/config/keel/keel.conf:2\\)$"
like "with type, range, unit and meaning" "$work/out" "^    int, 1 to 8 links\. Links of a rail"
like "a value that does not fit, without control characters" "$work/out" \
    "^    not used: environment: btl_tcp_sndbuf = 1\\?\\[m: a size from 0"
like "one of the launcher's that does not fit" "$work/out" "^    not used: $work.*:3: routed_radix = lots"
is "and no other" "" "$(sed -n 's/^\([a-z_]*\) = .*/\1/p' "$work/out" | grep -vE '^(btl_tcp_|routed_radix$)')"

run_limited 20 "$info" --param btl tcp
all=$(grep -c ' = .*(' "$work/out")
is "as ompi_info has it: exit code" 0 "$code"
is "the same parameters" "$("$info" --param btl_tcp_ 2>/dev/null | grep -c ' = .*(')" "$all"
run_limited 20 "$info" --param oob
is "of a layer" "" "$(sed -n 's/^\([a-z_]*\) = .*/\1/p' "$work/out" | grep -v '^oob_')"

KEEL_MCA_oob_tcp_if_include=$'\xff"\\\n\xc3\xa9' run_limited 30 "$info" --all --json
is "JSON: exit code" 0 "$code"
is "JSON: its members" "build components devices keel_info libraries parameters topology" \
    "$(member '" ".join(sorted(d))')"
is "JSON: bytes that are no text" "'\ufffd\"\\\\\\n\xe9'" \
    "$(member 'ascii([p["value"] for p in d["parameters"] if p["name"] == "oob_tcp_if_include"][0])')"
is "JSON: every parameter once" True \
    "$(member 'len({p["name"] for p in d["parameters"]}) == len(d["parameters"]) > 100')"
is "JSON: the parameters of a component that nobody opened" True \
    "$(member 'any(c["lacks"] for c in d["components"]) or any(p["name"] == "btl_ofi_provider" for p in d["parameters"])')"
is "JSON: sources" "['$work/config/keel/keel.conf:2', 'default', 'environment']" \
    "$(member 'sorted({p["source"] for p in d["parameters"]})')"
run_limited 20 "$info" --topology --json
is "JSON: only what is asked for" "keel_info topology" "$(member '" ".join(sorted(d))')"
is "topology: no more processors than the kernel says" True "$(member "1 <= int(d['topology']['usable hardware threads']) <= $(nproc)")"

KEEL_MCA_btl=tcp KEEL_MCA_btl_tcp_if_include=lo run_limited 30 "$info" --devices
is "devices: exit code" 0 "$code"
like "an interface that is chosen" "$work/out" '^  tcp +lo 127\.0\.0\.1/8, loopback, MTU [0-9]+$'
like "a component that is left out" "$work/out" '^  sm .*; not used: the parameter btl leaves'
KEEL_MCA_btl_tcp_if_include=nosuch0 run_limited 30 "$info" --devices
like "a choice that chooses nothing" "$work/out" '^  tcp +lo .*not used: no interface that is up is one of "nosuch0"'
KEEL_MCA_btl_sm_use_cma=0 run_limited 30 "$info" --devices
like "sm without single copy" "$work/out" '^  sm .*btl_sm_use_cma is off'
if [ -e "$KEEL_TEST_BUILDDIR/lib/.libs/keel-libfabric.so" ]; then
    KEEL_MCA_btl=ofi,usnic KEEL_MCA_btl_ofi_domain=lo KEEL_MCA_btl_usnic_if_include=lo \
        run_limited 30 "$info" --devices
    like "a provider's domain that is chosen" "$work/out" '^  ofi +tcp;ofi_rxm lo 127\.0\.0\.1$'
    like "another provider" "$work/out" '^  ofi +udp;ofi_rxd lo .*another provider'
    like "usnic's interface" "$work/out" '^  usnic +udp lo 127\.0\.0\.1'
    is "no device of libfabric twice" "" "$(grep -E '^  (ofi|usnic)' "$work/out" | sort | uniq -d)"
    mkdir -p "$work/bare/lib" "$work/bare/bin"
    cp "$info" "$work/bare/bin/"
    cp -L "$KEEL_TEST_BUILDDIR/lib/.libs/libkeel.so.0" "$work/bare/lib/"
    LD_LIBRARY_PATH=$work/bare/lib run_limited 30 "$work/bare/bin/keel-info" --all
    is "without keelrun: exit code" 1 "$code"
    like "without keelrun: says so" "$work/err" "^keel-info: the launcher's parameters are missing: no keelrun"
    like "without keelrun: the library's" "$work/out" '^btl_tcp_links = 2 '
    like "without a module: says so" "$work/out" 'keel-libfabric.so, which is not there'
else
    skip "libfabric" "not built"
fi

refuses()
{
    what=$1 expected=$2 pattern=$3
    shift 3
    run_limited 10 "$info" "$@"
    is "$what: exit code" "$expected" "$code"
    like "$what: says why" "$work/err" "$pattern"
}
refuses "no such parameter" 1 "^keel-info: no parameter's name begins with zz_y" --param zz y
refuses "no such option" 2 "nosuch" --nosuch
refuses "ompi_info's format" 2 "^keel-info: --parsable: --json" --parsable
refuses "a word too many" 2 "^keel-info: takes no arguments: word" word
refuses "a word with a control character" 2 '^keel-info: takes no arguments: \?\[31mred' "$(printf '\033[31mred')"
refuses "a parameter with one" 1 "^keel-info: no parameter's name begins with \?\[31mred" --param "$(printf '\033[31mred')"
refuses "--md and another" 2 "^keel-info: --md prints" --md --devices
refuses "--md and --json" 2 "^keel-info: --md prints" --md --json
refuses "--json and --md" 2 "^keel-info: --md prints" --json --md
refuses "another shell" 2 "^keel-info: --completion: bash" --completion fish
is "a full disk: exit code" 1 "$("$info" --params 2>/dev/null >/dev/full; echo $?)"
run_limited 10 "$info" --version
like "--version" "$work/out" '^keel-info \(Keel\) [0-9]'
run_limited 10 "$info" --help
is "--help has every option of the man page" "$(grep -oE 'Fl -?-?[a-z]+' "$KEEL_TEST_SRCDIR/docs/man/keel-info.1" |
    sed 's/^Fl -*//' | grep -vx parsable | sort -u | xargs)" \
    "$(grep -oE -- '-[-a-z]+' "$work/out" | sed 's/^-*//' | grep -E '^(a|h|V|[a-z]{2,})$' | grep -vx info | sort -u | xargs)"
is "completion" "--param --params" "$(bash --norc -c '. <("$0" --completion bash); complete -p keel-info' "$info" |
    grep -oE -- '--param[s]?' | sort -u | xargs)"
finish
