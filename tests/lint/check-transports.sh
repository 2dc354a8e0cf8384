#!/bin/sh
# What docs/add-a-transport.md says is true: the places outside a transport's folder that have its name,
# the excerpts of the template, and the names of functions. Output is TAP.
. "${KEEL_TEST_SRCDIR:?}/tests/lint/report.sh"
cd "$tree" || exit 1
page=docs/add-a-transport.md

transports=$(grep -o '&btl_[a-z]*_component' btl/framework/registry.c | sed 's/^&btl_\(.*\)_component$/\1/')
report 'transports were found' "$(for name in self sm tcp ofi; do
    echo "$transports" | grep -qx "$name" || echo "$name: not in btl/framework/registry.c"
done)"
any=$(echo "$transports" | tr '\n' '|' | sed 's/|$//')

# places WHOSE: those in the page's table.
places()
{
    awk -F'|' -v whose=" $1 " '$3 == whose { print $2 }' $page | grep -o '`[^`]*`' | tr -d '`'
}

report 'places were found' "$([ "$(places all | wc -l)" -ge 5 ] && [ "$(places some | wc -l)" -ge 5 ] ||
    echo "in the table of $page")"
report 'every place is there' "$(for file in $(places all) $(places some); do
    [ -f "$file" ] || echo "$file"
done)"
report 'what all transports are named in has each' "$(for file in $(places all); do
    for name in $transports; do
        grep -qE "(^|[^A-Za-z])$name([^A-Za-z]|\$)" "$file" || echo "$file: no $name"
    done
done)"

# named FILE: the lines of code in which it names a transport. In oob/ and launcher/ "tcp" is a kind of
# address.
named()
{
    case $1 in oob/* | launcher/*) quoted='"ofi"' ;; *) quoted="\"($any)\"" ;; esac
    grep -nvE '^[[:space:]]*\*' "$1" | sed 's|/\*.*||' |
        grep -E "btl[-./]($any)([^a-z]|\$)|btl_($any)_|$quoted|(^|[^A-Za-z_])(ofi|HAVE_FABRIC)([^A-Za-z_]|\$)" |
        sed "s|^|$1:|"
}

# sources: the code and the build of the tree, without transports' folders.
sources()
{
    echo configure.ac
    echo Makefile.am
    find base oob rml btl btl2 ptl pml wireup bootstrap compat launcher include lib tools tests/conformance tests/lib -type f \
        \( -name '*.[ch]' -o -name '*.mk' \) | grep -vE "^(btl/($any)|tests/conformance/compat)/"
}

report 'no other source names a transport' "$(sources | while read -r file; do
    { places all; places some; } | grep -qxF -e "$file" || named "$file"
done)"
report 'no place is in base/' "$({ places all; places some; } | grep '^base/')"
report 'every list of fault points is in the build' "$(for file in btl/*/fault_points.inc; do
    grep -qxF "transport_points += $file" "${file%/*}/local.mk" || echo "$file"
done)"
report 'what some transports are named in has one' "$(for file in $(places some); do
    grep -qE "(^|[^A-Za-z])($any)([^A-Za-z]|\$)" "$file" || echo "$file: take it out of the table"
done)"

# An excerpt begins with ```c FILE; the file has its lines in this order, one behind the other.
report 'excerpts are the text of the template' "$(awk '
    function text_of(file, text, line) {
        while ((getline line < file) > 0) text = text line "\n"
        close(file)
        return text
    }
    /^```c / { from = "tests/lib/udgram/" $2; first = NR; excerpt = ""; count++; next }
    from != "" && (/^```$/ || /^$/) {
        if (excerpt != "" && !index(text_of(from), excerpt)) print FILENAME ":" first ": not in " from
        excerpt = ""
        if (/^```$/) from = ""
        next
    }
    from != "" { excerpt = excerpt $0 "\n" }
    END { if (count < 5) print "only " count + 0 " excerpts" }' $page)"
report 'functions and files that the page names are there' "$(
    sed '/^```/,/^```$/d' $page | grep -oE '`[A-Za-z_./]+[a-z_]`' | tr -d '`' | sort -u | while read -r name; do
        case $name in
        btl/wire/* | docs/man/keel-btl-wire* | *' '*) ;;
        */*) [ -e "$name" ] || [ -e "btl/$name" ] || [ -e "include/$name" ] || echo "$name: no such file" ;;
        *_*) grep -rqwF -e "$name" btl base include tests/lib/udgram || echo "$name: in no source" ;;
        esac
    done)"

echo "1..$number"
