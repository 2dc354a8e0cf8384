# shellcheck shell=bash
# A job beside somebody who does his worst: its time against what it takes alone, and what the log
# says. Sourced after system.sh. The script defines
#
#   beside KIND     runs the job beside that kind of neighbour ("nobody": alone); sets code, wall_ms
#   passed KIND     that run was like any other, and its log was short
#   refusal=TEXT    what each line about somebody who was refused begins with
#
#   bad KIND REASON     "" for the reason: none has to be in the log

median()
{
    printf '%s\n' "$@" | sort -n | sed -n "$((($# + 1) / 2))p"
}

# With and without it, in turn. Twice as often when it looks slower, for the machine may have been.
bad()
{
    local kind=$1 usual=() times=() round limit
    for round in 1 2 3 4 5 6 7 8 9; do
        beside nobody
        usual+=("$wall_ms")
        beside "$kind"
        times+=("$wall_ms")
        passed "$kind" || break
        limit=$(($(median "${usual[@]}") * 12 / 10 + 200))
        if [ $((round % 3)) = 0 ] && [ "$(median "${times[@]}")" -le "$limit" ]; then
            break
        fi
    done
    ok "$kind: all ranks pass, one line a second at most" passed "$kind"
    ok "$kind: in the usual time (${times[*]} ms beside ${usual[*]})" \
        [ "$(median "${times[@]}")" -le "${limit:-0}" ]
    if [ -n "$2" ]; then
        # shellcheck disable=SC2154 # the script's
        like "$kind: a line in the log" "$work/err" "$refusal$2"
    fi
}
