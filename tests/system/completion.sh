#!/bin/bash
# What keelrun --completion bash prints, in a bash: options, the words of an option, files and folders.
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"

run_limited 5 "$keelrun" --completion bash
is "the script: exit code" 0 "$code"
is "the script: nothing on stderr" "" "$(cat "$work/err")"
mv "$work/out" "$work/completion"

mkdir -p "$work/here/folder"
: >"$work/here/hosts"
: >"$work/here/host names"

# completes WORDS: how a bash of its own, in that folder, completes the end of this command line; sorted.
completes()
{
    # shellcheck disable=SC2016 # for that bash, which takes lines apart at these signs
    (cd "$work/here" && timeout 10 bash --norc -c '. "$0"; COMP_LINE="keelrun $1" COMP_POINT=${#COMP_LINE}
        parts=$(sed -E "s/([:=]+)/ \1 /g" <<<"$1"); COMP_WORDS=(keelrun $parts); case $1 in *[[:blank:]]) COMP_WORDS+=("") ;; esac
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _keelrun; printf "%s\n" "${COMPREPLY[@]}"' "$work/completion" "$1" 2>&1 |
        LC_ALL=C sort -u | tr '\n' ' ' | sed 's/ $//')
}

is "the script completes keelrun" "complete -F _keelrun keelrun" \
    "$(bash --norc -c '. "$0" && complete -p keelrun' "$work/completion")"
is "options that begin so" "--machinefile --map-by --mca --merge-stderr-to-stdout" "$(completes --m)"
is "an option behind others" "--bind-to --bind-to-core --bind-to-none --bind-to-socket" \
    "$(completes '-n 2 --json --bind')"
is "an option of the second program" "--wd --wdir" "$(completes '-n 1 true : --wd')"
options=$("$keelrun" --help | sed -n 's/^  \(-.*\)/\1/p' | sed 's/   *.*//' | grep -oE '(^|, )--?[A-Za-z-]+' |
    sed 's/^, //' | LC_ALL=C sort | xargs)
is "all options that --help names" "$options" "$(completes -)"

# sorted WORD...
sorted()
{
    printf '%s\n' "$@" | LC_ALL=C sort | xargs
}

objects="core hwthread l1cache l2cache l3cache numa package socket"
modifiers="PE= OVERSUBSCRIBE NOOVERSUBSCRIBE NOLOCAL HWTCPUS"
# shellcheck disable=SC2086 # words
{
    is "the policies of --map-by" "$(sorted $objects node ppr rankfile seq slot)" "$(completes '--map-by ')"
    is "the words of --bind-to" "$(sorted $objects none)" "$(completes '--bind-to ')"
    is "the words of --rank-by" "$(sorted $objects fill node slot span)" "$(completes '--rank-by ')"
    for object in $objects; do
        is "what can follow --map-by $object" "$(sorted $modifiers SPAN)" "$(completes "--map-by $object:")"
        is "what can follow --bind-to $object" "if-supported overload-allowed" "$(completes "--bind-to $object:")"
        is "what can follow --rank-by $object" "FILL SPAN" "$(completes "--rank-by $object:")"
    done
    is "what can follow --map-by slot" "$(sorted $modifiers)" "$(completes '--map-by slot:')"
    is "what can follow --map-by seq" "$(sorted $modifiers FILE=)" "$(completes '--map-by seq:')"
    is "what can follow --map-by rankfile: its file says which processors" "$(sorted ${modifiers#PE= } FILE=)" \
        "$(completes '--map-by=rankfile:')"
    is "the number of --map-by ppr" "" "$(completes '--map-by ppr:')"
    is "the objects of --map-by ppr" "$(sorted $objects node)" "$(completes '--map-by ppr:2:')"
    is "what can follow --map-by ppr:2:core" "$(sorted $modifiers)" "$(completes '--map-by ppr:2:core:')"
}
is "nothing follows --rank-by slot, and --bind-to none" "" "$(completes '--rank-by slot:')$(completes '--bind-to none:')"
is "a word of --map-by" "node numa" "$(completes '--map-by n')"
is "a modifier of --map-by" "NOLOCAL NOOVERSUBSCRIBE" "$(completes '--map-by core:NO')"
is "a modifier behind others" "SPAN" "$(completes '--map-by=core:PE=2:SP')"
is "a modifier behind a comma" "core,NOLOCAL core,NOOVERSUBSCRIBE" "$(completes '--map-by core,NO')"
is "a modifier of --bind-to" "overload-allowed" "$(completes '-n 2 -bind-to core:if-supported:ov')"
is "a word of -bind-to, with one dash" "none numa" "$(completes '-bind-to n')"
is "a word behind an equals sign" "l1cache l2cache l3cache" "$(completes --rank-by=l)"
is "all words behind an equals sign" "allocation bind map topo" "$(completes --display=)"
is "another word of --display" "map,allocation map,bind map,map map,topo" "$(completes '--display map,')"
is "another word behind an equals sign" "topo,map,bind" "$(completes --display=topo,map,b)"
is "every object that is offered is one, and every modifier" "" "$(for object in $objects; do
    for modifier in PE=1 SPAN OVERSUBSCRIBE NOOVERSUBSCRIBE NOLOCAL HWTCPUS; do
        "$keelrun" --dry-run --simulate 1x1 --simulate-topo 'package:1 numa:1 l3:1 l2:1 l1:1 core:1 pu:1' -n 1 \
            --map-by "$object:$modifier" --rank-by "$object:SPAN" true 2>&1 >/dev/null
    done
    "$keelrun" --dry-run --simulate 1x1 --simulate-topo 'package:1 numa:1 l3:1 l2:1 l1:1 core:1 pu:1' -n 1 \
        --bind-to "$object:overload-allowed:if-supported" true 2>&1 >/dev/null
done)"

is "files for --hostfile" "host names hosts" "$(completes '--hostfile h')"
is "files behind an equals sign" "host names hosts" "$(completes --hostfile=h)"
is "files of --map-by" "host names hosts" "$(completes '--map-by rankfile:FILE=h')"
is "files of --output" "host names hosts" "$(completes '--output tag,file=h')"
is "folders of --output" "folder" "$(completes '--output dir=')"
is "folders for --wdir" "folder" "$(completes '--wdir ')"
is "nothing for a number" "" "$(completes '-n ')"
is "nothing for a parameter" "" "$(completes '--mca h')"
is "a program by its path: commands and files" "fold folder" "$(completes '-n 2 fold')"
ok "a program in PATH" grep -qw hostname <<<"$(completes '-n 2 hostnam')"

# as it is typed: tab in an interactive bash
type -P script >/dev/null && {
    printf '. %q/completion\ncd %q/here\nbind "set completion-query-items 0"\n' "$work" "$work" >"$work/rc"
    printf 'PATH=%q:$PATH\nPS1=\n' "$KEEL_TEST_BUILDDIR/bin" >>"$work/rc"
    printf 'keelrun --dry-run --disp\t-m\t --simu\t 1x1 --map-by pp\t:1:nod\t\b:NOO\t --bind-to=hwthread:ov\t true; exit\n' \
        >"$work/typed"
    input=$work/typed run_limited 20 script -q -e -c "bash --noprofile --rcfile $work/rc -i" /dev/null
    is "typed: exit code" 0 "$code"
    like "typed: the map is displayed" "$work/out" "Map: 1 rank"
} || skip "typed" "no script"
finish
