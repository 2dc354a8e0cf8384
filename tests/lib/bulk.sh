# shellcheck shell=bash
# What a large message costs in memory, at its ends and in the daemons that relay it; sourced.
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"

peak_kib()
{
    sed -n 's/^VmHWM:[ \t]*\([0-9]*\) kB/\1/p' "/proc/$1/status"
}

# Growth of a daemon's peak since it was noted.
growth()
{
    echo $(($(peak_kib "$1") - ${before[$1]}))
}

at_most()
{
    [ -n "$1" ] && [ "$1" -le "$2" ]
}

# bulk MIB alloc|into SECONDS NODES RADIX: from the first node's rank to the last one's, over the tree
# of daemons: a chain with radix 1, of which all but the ends relay; else up to keelrun and down again.
bulk()
{
    local one mib=$1 how=$2 seconds=$3 nodes=$4 radix=$5 over
    local name="$mib MiB, $how, $nodes nodes, radix $radix"
    declare -gA before=()
    rm -f "$work/go" "$work/end"
    start "$keelrun" --mca routed_radix "$radix" --simulate "${nodes}x1" -n "$nodes" \
        "$helpers/bulk" "$mib" "$work" "$how"
    if ! wait_for 20 grep -qs ready "$work/out"; then
        ok "$name: it starts" false
        return
    fi
    for one in $pid $(descendants "$pid" | awk '$2 == "keeld" { print $1 }'); do
        before[$one]=$(peak_kib "$one")
    done
    : >"$work/go"
    ok "$name: it arrives" wait_for "$seconds" grep -qs '^done 0' "$work/out"
    for one in "${!before[@]}"; do
        over=$(growth "$one")
        ok "$name: a daemon needs at most 4 MiB ($over KiB)" at_most "$over" 4096
    done
    for one in 0 $((nodes - 1)); do
        over=$(sed -n "s/^rank $one: over by \(-*[0-9]*\) KiB/\1/p" "$work/out")
        ok "$name: rank $one needs at most 16 MiB more ($over KiB)" at_most "$over" 16384
    done
    : >"$work/end"
    await 20
    is "$name: exit code" 0 "$code"
}
