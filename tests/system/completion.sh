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

# completes WORD...: how a bash of its own, in that folder, completes the last of these words; sorted.
completes()
{
    (cd "$work/here" && timeout 10 bash --norc -c '. "$0"; COMP_WORDS=(keelrun "$@") COMP_CWORD=$#
        _keelrun; printf "%s\n" "${COMPREPLY[@]}"' "$work/completion" "$@" 2>&1 | LC_ALL=C sort -u | tr '\n' ' ' |
        sed 's/ $//')
}

is "the script completes keelrun" "complete -F _keelrun keelrun" \
    "$(bash --norc -c '. "$0" && complete -p keelrun' "$work/completion")"
is "options that begin so" "--machinefile --map-by --mca --merge-stderr-to-stdout" "$(completes --m)"
is "an option behind others" "--bind-to --bind-to-core --bind-to-none --bind-to-socket" \
    "$(completes -n 2 --json --bind)"
is "an option of the second program" "--wd --wdir" "$(completes -n 1 true : --wd)"
options=$("$keelrun" --help | sed -n 's/^  \(-.*\)/\1/p' | sed 's/   *.*//' | grep -oE '(^|, )--?[A-Za-z-]+' |
    sed 's/^, //' | LC_ALL=C sort | xargs)
is "all options that --help names" "$options" "$(completes -)"

objects="core hwthread l1cache l2cache l3cache numa package"
is "the words of --map-by" "$(printf '%s\n' $objects node ppr: rankfile:FILE= seq slot | LC_ALL=C sort | xargs)" \
    "$(completes --map-by '')"
is "a word of --map-by" "node numa" "$(completes --map-by n)"
is "the words of --bind-to" "$(printf '%s\n' $objects none | LC_ALL=C sort | xargs)" "$(completes --bind-to '')"
is "a word of -bind-to, with one dash" "none numa" "$(completes -bind-to n)"
is "a word behind an equals sign" "l1cache l2cache l3cache" "$(completes --rank-by = l)"
is "all words behind an equals sign" "allocation bind map topo" "$(completes --display =)"
is "another word of --display" "map,allocation map,bind map,map map,topo" "$(completes --display map,)"
is "another word behind an equals sign" "topo,map,bind" "$(completes --display = topo,map,b)"
is "every object that is offered is one" "" "$(for object in $objects; do
    "$keelrun" --dry-run --simulate 1x1 --simulate-topo 'package:1 numa:1 l3:1 l2:1 l1:1 core:1 pu:1' \
        --map-by "$object" --bind-to "$object" true 2>&1 >/dev/null
done)"

is "files for --hostfile" "host names hosts" "$(completes --hostfile h)"
is "files behind an equals sign" "host names hosts" "$(completes --hostfile = h)"
is "folders for --wdir" "folder" "$(completes --wdir '')"
is "nothing for a number" "" "$(completes -n '')"
is "nothing for a parameter" "" "$(completes --mca h)"
is "a program by its path: commands and files" "fold folder" "$(completes -n 2 fold)"
ok "a program in PATH" grep -qw hostname <<<"$(completes -n 2 hostnam)"

# as it is typed: tab in an interactive bash
type -P script >/dev/null && {
    printf '. %q/completion\ncd %q/here\nbind "set completion-query-items 0"\n' "$work" "$work" >"$work/rc"
    printf 'PATH=%q:$PATH\nPS1=\n' "$KEEL_TEST_BUILDDIR/bin" >>"$work/rc"
    printf 'keelrun --dry-run --disp\t-m\t --simu\t 1x1 --bind-to=hw\t true; exit\n' >"$work/typed"
    input=$work/typed run_limited 20 script -q -e -c "bash --noprofile --rcfile $work/rc -i" /dev/null
    is "typed: exit code" 0 "$code"
    like "typed: the map is displayed" "$work/out" "Map: 1 rank"
} || skip "typed" "no script"
finish
