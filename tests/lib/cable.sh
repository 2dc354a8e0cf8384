# shellcheck shell=bash
# Bad networks between the hosts of netns.sh: sourced after it. lib/cable.c says what can be set.
#
#   plug_cable slow 10.99.20 a b || skip "..." "$reason"     interface slow, a has 10.99.20.1, b .2
#   cable slow all loss=2 delay=10
#   cable slow '1>2' cut=1
#   is "..." 5 "$(cable_count slow '1>2' lost)"

declare -A cable_pids cable_inputs

# plug_cable NAME NETWORK HOST...: all of a perfect cable; instead of the one of that name before. Sets
# $reason when that cannot be. CABLE_SEED decides what happens on it.
plug_cable()
{
    local name=$1 network=$2 host holder input holders=() number=0
    shift 2
    unplug_cable "$name"
    for host; do
        holder=KEEL_TEST_HOST_$host
        holders+=("${!holder}")
    done
    reason="no cable of TUN devices"
    rm -f "$work/cable.$name"*
    mkfifo "$work/cable.$name.in" || return 1
    exec {input}<>"$work/cable.$name.in"
    cable_inputs[$name]=$input
    "$KEEL_TEST_BUILDDIR/tests/lib/cable" "$name" "${CABLE_SEED:-1}" "${holders[@]}" \
        <"$work/cable.$name.in" >"$work/cable.$name" 2>"$work/reason" &
    cable_pids[$name]=$!
    if ! wait_for 10 has_lines "$work/cable.$name" 1; then
        reason=$(head -n 1 "$work/reason")
        return 1
    fi
    for host; do
        number=$((number + 1))
        on_host "$host" ip addr add "$network.$number/24" dev "$name" || return 1
        # longer bursts wait, rather than get lost where nobody counts them
        on_host "$host" ip link set "$name" txqueuelen 10000 up || return 1
    done
}

unplug_cable()
{
    local pid=${cable_pids[$1]} input=${cable_inputs[$1]}
    [ -n "$pid" ] || return 0
    kill -KILL "$pid"
    wait "$pid" 2>/dev/null
    exec {input}>&-
    unset "cable_pids[$1]" "cable_inputs[$1]"
}

# ask_cable NAME WORD...: one command, its answer on standard output
ask_cable()
{
    local name=$1 lines
    shift
    lines=$(wc -l <"$work/cable.$name")
    echo "$*" >&"${cable_inputs[$name]}"
    wait_for 5 has_lines "$work/cable.$name" $((lines + 1)) && tail -n 1 "$work/cable.$name"
}

# cable NAME WAYS SETTING...: succeeds when it is so from now on
cable()
{
    local answer
    answer=$(ask_cable "$@")
    [ "$answer" = ok ] || { echo "# cable $*: $answer"; return 1; }
}

# cable_count NAME WAY EVENT: how many packets that happened to
cable_count()
{
    ask_cable "$1" "$2" | grep -oE "(^| )$3 [0-9]+" | grep -oE '[0-9]+$'
}

unplug_cables()
{
    local name
    for name in "${!cable_pids[@]}"; do
        unplug_cable "$name"
    done
}
at_exit unplug_cables
