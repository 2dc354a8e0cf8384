# shellcheck shell=bash
# Clients of PMI-1 that are bash scripts, on descriptor PMI_FD. Sourced after system.sh.
#
#   client -n 2 -- 'begin; kvs; ask "cmd=put kvsname=$kvs key=a value=b"; barrier; end'
#
# Programs of their own begin with ". $work/client".

# shellcheck disable=SC2016 # for the clients' shell
cat >"$work/client" <<'END'
# ask REQUEST: the answer in $answer
ask()
{
    printf '%s\n' "$1" >&$PMI_FD && IFS= read -r -t 10 answer <&$PMI_FD
}
begin()
{
    ask 'cmd=init pmi_version=1 pmi_subversion=1'
}
barrier()
{
    ask 'cmd=barrier_in' && [ "$answer" = cmd=barrier_out ]
}
kvs()
{
    ask 'cmd=get_my_kvsname' && kvs=${answer#cmd=my_kvsname kvsname=}
}
# get KEY: its value in $answer
get()
{
    ask "cmd=get kvsname=$kvs key=$1" && answer=${answer#*value=}
}
# program COUNT NAME LINE...: one of those that spawn asks for
program()
{
    programs+=("$(printf '%s\n' "nprocs=$1" "execname=$2" "${@:3}")")
}
# info KEY VALUE...: lines of a program
info()
{
    local i
    printf 'info_num=%s' $(($# / 2))
    for ((i = 0; $# > 0; i++)); do
        printf '\ninfo_key_%s=%s\ninfo_val_%s=%s' $i "$1" $i "$2"
        shift 2
    done
}
# spawn: all of these, as MPICH's root does
spawn()
{
    local one count=0 lines=
    for one in "${programs[@]}"; do
        count=$((count + 1))
        lines+=$(printf 'mcmd=spawn\n%s\ntotspawns=%s\nspawnssofar=%s\npreput_num=1' "$one" ${#programs[@]} $count)
        lines+=$'\n''preput_key_0=PARENT_ROOT_PORT_NAME'$'\n''preput_val_0=tag#0$port#7$'$'\nendcmd\n'
    done
    programs=()
    ask "${lines%$'\n'}"
}
end()
{
    ask 'cmd=finalize'
}
END

# client ARGUMENTS... -- SCRIPT: bash ranks with the functions above
client()
{
    run_limited 15 "$keelrun" --oversubscribe "${@:1:$#-2}" bash -c ". $work/client; ${!#}"
}

# parent OPTION... -- SCRIPT: rank 0 does this
parent()
{
    run_limited 60 "$keelrun" "${@:1:$#-2}" \
        bash -c ". $work/client; begin; kvs; [ \$PMI_RANK != 0 ] || { ${!#}; }; end"
}
