#!/bin/sh
# The documents keep up with the code: man pages are clean, and name every option, fault point and
# public call; docs/parameters.md has every parameter, as keel-info prints it; folders have READMEs; links
# lead somewhere. Output is TAP.
. "${KEEL_TEST_SRCDIR:?}/tests/lint/report.sh"
. "$KEEL_TEST_SRCDIR/tests/lib/man.sh"
cd "$tree" || exit 1
rooms='base oob rml btl btl2 ptl pml wireup bootstrap compat launcher'

# sources: the C files of the rooms.
sources()
{
    # shellcheck disable=SC2086 # the list is meant to be split
    find $rooms -name '*.c'
}

# texts: the .md files of the tree, without what a build made or unpacked.
texts()
{
    find . \( -path './.git' -o -path './build*' -o -path './_*' -o -path './keel-*' \) -prune -o \
        -name '*.md' -print
}

# missing_from FILE: of the words on standard input, those that FILE does not have as a word.
missing_from()
{
    while read -r word; do
        grep -qwF -e "$word" "$1" || echo "$word: not in $1"
    done
}

# --- man pages ---

second_names=$(grep -l '^\.so ' docs/man/*.[1-9])
pages=$(grep -L '^\.so ' docs/man/*.[1-9])
if command -v mandoc >/dev/null; then
    # shellcheck disable=SC2086
    report 'man pages are clean' "$(mandoc -Tlint -Wwarning $pages 2>&1)"
else
    number=$((number + 1))
    echo "ok $number # SKIP man pages are clean: no mandoc"
fi

report 'second names of man pages lead to a page that has them' "$(for page in $second_names; do
    target=docs/man/$(sed -n 's/^\.so man[0-9]\///p' "$page")
    name=$(basename "$page" | sed 's/\.[0-9]$//')
    grep -q "^\.Nm $name" "$target" 2>/dev/null || echo "$page"
done)"
report 'every man page is installed' "$(for page in docs/man/*.[1-9]; do
    grep -q "$page" docs/local.mk || echo "$page"
done)"

# The names in the option table.
options=$(sed -n 's/^    {{\("[^}]*"\)}, .*/\1/p' launcher/request/options/options.c | tr -d '",' | tr ' ' '\n')
report 'options were found' "$(test -n "$options" || echo 'none in launcher/request/options/options.c')"
report 'every option is in keelrun(1)' "$(for option in $options; do
    grep -qE "(^\.It |, )Fl -?$option( |$)" docs/man/keelrun.1 || echo "$option"
done)"

# peers 1: the names that docs/options.md says to be keelrun's, too; peers 0: the others.
peers()
{
    awk -F ' *[|] *' -v ours="$1" \
        '/^\| `-/ && ($4 ~ /^(same|another meaning)/) == ours { print $2 }' docs/options.md |
        grep -oE '`-[^`]*`' | tr -d '`' | sed 's/^-*//' | sort
}
only_in_first()
{
    echo "$1" | grep -vxF -e "$2"
}
answered=$(peers 1)
others=$(peers 0)
own=$(sed -n '/^## What the others do not have/,$p' docs/options.md | grep -oE '`--[a-z-]*`' |
    tr -d '`' | sed 's/^-*//')
report 'options were found in docs/options.md' "$(
    test "$(echo "$others" | wc -l)" -gt 100 || echo "$others")"
report 'an option is answered once' "$(printf '%s\n' "$answered" "$others" "$own" | sort | uniq -d)"
report 'docs/options.md has every option' "$(only_in_first "$options" "$answered
$own")"
report 'the options that docs/options.md calls the same are there' "$(
    only_in_first "$answered
$own" "$options")"
report 'keelrun has none of those that docs/options.md calls others' "$(echo "$others" |
    grep -xF -e "$options")"
report 'what docs/options.md says to write in their place is there' "$(
    awk -F ' *[|] *' '/^\| `-/ { print $4 }' docs/options.md | sed 's/`numactl[^`]*`//g' |
        grep -oE '`(2>&1|--?[A-Za-z][A-Za-z-]*)' | tr -d '`' | grep '^-' | sed 's/^-*//' | sort -u |
        grep -vxF -e "$options" -e "$others")"
keelrun=$KEEL_TEST_BUILDDIR/bin/keelrun
if [ -x "$keelrun" ]; then
    report '--help has every option, and no other' "$(
        helped=$("$keelrun" --help | sed -n 's/^  \(-.*\)/\1/p' | sed 's/   *.*//' |
            grep -oE '(^|, )--?[A-Za-z-]+' | sed 's/^[, -]*//' | sort)
        printf '%s\n' "$helped" "$options" | sort | uniq -u)"
fi

points=$(sources | xargs sed -n 's/.*fault_\(at\|ask\)("\([^"]*\)").*/\2/p' | sort -u)
report 'every fault point is in keel(7)' "$(echo "$points" | missing_from docs/man/keel.7)"
rows=$(cat base/settings/fault_points.c btl/*/fault_points.inc | grep '^    {"[a-z.]*", ')
catalogue=$(echo "$rows" | sed 's/^    {"\([a-z.]*\)", .*/\1/' | sort)
report 'base/settings/fault_points.c and the transports have every fault point, and no other' "$(
    [ "$catalogue" = "$points" ] || printf 'sources: %s\ncatalogue: %s\n' \
        "$(echo "$points" | tr '\n' ' ')" "$(echo "$catalogue" | tr '\n' ' ')")"
# The actions of each point, as both have them.
known=$(echo "$rows" | sed 's/^    {"\([a-z.]*\)", \([A-Z |]*\), .*/\1 \2/' | tr -d '|' |
    sed 's/CALL/all but short/' | tr 'A-Z' 'a-z' | tr -s ' ' | sort)
told=$(sed -n 's/^\.It Cm \([a-z]*\.[a-z.]*\) Ta \([a-z, ]*\) Ta .*/\1 \2/p' docs/man/keel.7 | tr -d ',' |
    sort)
report 'keel(7) tells what each fault point knows' "$([ "$known" = "$told" ] ||
    printf '%s\n' "$known" "$told" | sort | uniq -u)"

calls=$(cat include/keel/keel.h include/keel/host.h include/keel/info.h include/keel/tool.h include/keel/pml.h include/keel/btl_ext.h include/keel/btl2.h |
    sed -n 's/^[a-z].*[ *]\(keel_[a-z0-9_]*\)(.*/\1/p' | sort -u)
report "every call of Keel's own headers has a man page" "$(for call in $calls; do
    test -f "docs/man/$call.3" || echo "$call"
done)"

public=$(find include -name '*.h' -exec \
    sed -n 's/^#define.*//; s/.*KEEL_PUBLIC(\([a-z_0-9]*\)).*/\1/p' {} + | sort -u)
report 'everything public is in some man page' "$(for name in $public; do
    grep -qw -e "$name" docs/man/*.[1-9] || echo "$name"
done)"

# Pages show what a program has to define.
callbacks=$(cat include/keel/*.h | sed -n 's/^typedef void (\*\([a-z0-9_]*\)).*/\1/p' |
    grep -vE '^(keel_card_fn|keel_postbox_fn|mca_btl2?_base_module_dump_fn_t|opal_)' | sort -u)
report 'callbacks were found' "$(test "$(echo "$callbacks" | wc -l)" -ge 8 || echo "$callbacks")"
report 'the prototype of every callback is in some man page' "$(for name in $callbacks; do
    grep -qE "^typedef void \(\*$name\)\(" docs/man/*.[1-9] || echo "$name"
done)"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if command -v gcc >/dev/null; then
    report 'prototypes in man pages are those of the headers' "$(for page in $pages; do
        man_prototypes "$page" >"$work/prototypes.c"
        gcc -std=gnu11 -Wall -Werror -fsyntax-only -I include "$work/prototypes.c" 2>&1 |
            sed "s|^|$page: |"
    done)"
    report 'programs in man pages compile' "$(for page in $pages; do
        man_programs "$page" "$work/$(basename "$page")"
    done | xargs -r gcc -std=gnu11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only \
        -I include/compat -I include 2>&1)"
fi
# shellcheck disable=SC2086 # the list is meant to be split
report 'man pages name no files of the sources' "$(grep -nE \
    '^\.Pa (docs|examples|tests|tools|launcher|base|oob|rml|btl|ptl|pml|include|compat)/|[Oo]f the sources' $pages)"
# shellcheck disable=SC2086
named=$(sed -n 's|^\.Pa PREFIX/share/doc/keel/\([a-z_A-Z0-9./-]*[a-z]\).*|\1|p' $pages | sort -u)
report 'documents that man pages name are installed' "$(for file in $named; do
    grep -qE "[[:space:]]$file( |\$)" docs/local.mk examples/local.mk || echo "$file"
done)"
report 'every document and example is installed' "$(
    for file in README.md LICENSE docs/*.md docs/*.txt docs/pictures/*.svg examples/*.md examples/*.c; do
        grep -qE "[[:space:]]$file( |\$)" docs/local.mk examples/local.mk || echo "$file"
    done)"

# --- parameters ---

# registered: "NAME DEFAULT" of each row in the sources.
registered()
{
    sources | xargs cat | tr '\n' ' ' |
        grep -oE 'PARAM_[A-Z]+\([[:space:]]*"[a-z0-9_]+",[[:space:]]*"[^"]*"' |
        sed 's/^[^"]*"\([^"]*\)",[^"]*"\([^"]*\)"$/\1 \2/'
    sed -n 's/.*VERBOSE(LOG_[A-Z]*, "\([a-z]*\)").*/&/p' base/settings/log.c |
        grep -o 'VERBOSE(LOG_[A-Z]*, "[a-z]*")' | sed 's/.*"\(.*\)".*/log_\1_verbose 0/'
}

report 'parameters were found' "$(test "$(registered | grep -vc '^log_ ')" -gt 30 || registered)"
report 'docs/parameters.md has every parameter with its default' "$(registered |
    grep -v '^log_ ' | while read -r name default; do
    cell=" ${default:+\`$default\`} "
    awk -F'|' -v name=" \`$name\` " -v text="$cell" \
        '$2 == name && $4 == text { found = 1 } END { exit !found }' docs/parameters.md ||
        echo "$name ($default): make docs/parameters.md anew"
done)"
names=$(registered | cut -d' ' -f1)
info=$KEEL_TEST_BUILDDIR/bin/keel-info
if [ -x "$info" ] && ! "$info" --components | grep -q 'not built'; then
    report 'docs/parameters.md is what keel-info --md prints' "$(
        "$info" --md 2>&1 | diff - docs/parameters.md)"
fi
report "a rail's parameters are in its man page" "$(for name in $names; do
    module=$(echo "$name" | sed -n 's/^btl_\([a-z]*\)_.*/\1/p')
    [ -z "$module" ] || [ "$module" = base ] ||
        grep -qw "$name" "docs/man/keel-btl-$module.7" 2>/dev/null || echo "$name"
done)"
report 'man pages of the data plane have the defaults of the sources' "$(
    cat docs/man/keel_btl.7 docs/man/keel-btl-*.7 |
        sed -n 's/^\.It Va \([a-z0-9_]*\) No (\(.*\))$/\1 \2/p' | while read -r name default; do
        registered | grep -qxF -e "$name $default" || echo "$name ($default)"
    done)"
report 'docs/parameters.md has no other' "$(sed -n 's/^| `\([a-z0-9_]*\)` .*/\1/p' \
    docs/parameters.md | while read -r name; do
    echo "$names" | grep -qxF -e "$name" || echo "$name"
done)"

# --- texts ---

report 'every top folder has a README.md' "$(for folder in */; do
    folder=${folder%/}
    case $folder in build* | _* | autom4te.cache | keel-*) continue ;; esac
    content=$(find "$folder" -type f ! -name local.mk | head -n 1)
    [ -z "$content" ] || [ -f "$folder/README.md" ] || echo "$folder"
done)"

report 'every relative link leads to a file' "$(texts | while read -r text; do
    grep -oE '\]\([^)]*\)' "$text" | sed 's/^](//; s/)$//; s/#.*//' | while read -r link; do
        case $link in '' | http:* | https:* | mailto:*) continue ;; esac
        [ -e "$(dirname "$text")/$link" ] || echo "$text: $link"
    done
done)"

# Files that a text or a comment names with their folder.
report 'every docs/ file that is named exists' "$(
    # shellcheck disable=SC2086
    grep -rohE '\bdocs/[a-z_/]+[a-z0-9_]*\.(md|[1-9]|py|svg)\b' --include='*.[ch]' --include='*.md' \
        $rooms include docs tests README.md CONTRIBUTING.md | sort -u | while read -r file; do
        [ -e "$file" ] || echo "$file"
    done)"

echo "1..$number"
