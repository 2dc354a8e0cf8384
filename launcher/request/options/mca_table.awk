# Makes launcher/request/options/mca_table.inc, of docs/parameters.md and openmpi_names.txt: the tables
# of mca_names.c. They hold no pointers, which the loader would relocate at each start.

function bytes(text,   factor)
{
    factor = 1
    if (text ~ /k$/) factor = 1024
    if (text ~ /m$/) factor = 1048576
    if (text ~ /g$/) factor = 1073741824
    sub(/[kmg]$/, "", text)
    return sprintf("INT64_C(%.0f)", text * factor)
}

function failed(what)
{
    print FILENAME ":" FNR ": " what >"/dev/stderr"
    broken = 1
    exit 1
}

# | `name` | type | `default` | range | unit | meaning |
FILENAME ~ /parameters\.md$/ && /^\| `/ {
    split($0, cell, / *\| */)
    name = cell[2]; type = toupper(cell[3]); range = cell[5]
    gsub(/`/, "", name)
    extra = ""
    if (type == "ENUM") {
        choices = split(range, choice, / *, */)
        if (choices > 4) failed("more than 4 choices")
        for (i = 1; i <= choices; i++) if (length(choice[i]) >= 12 + 2) failed("too long: " choice[i])
        gsub(/`/, "\"", range)
        extra = sprintf(", .choices = {%s}", range)
    } else if (range != "") {
        if (split(range, limit, / to /) != 2) failed("not a range: " range)
        extra = sprintf(", .min = %s, .max = %s", bytes(limit[1]), bytes(limit[2]))
    }
    if (type !~ /^(INT|SIZE|BOOL|STRING|ENUM)$/) failed("not a type: " type)
    if (length(name) >= 64) failed("too long")
    params = params sprintf("    {.name = \"%s\", .type = PARAM_TYPE_%s%s},\n", name, type, extra)
}

FILENAME ~ /openmpi_names\.txt$/ && !/^#/ {
    if (length($0) >= 64) failed("too long")
    names = names sprintf("    \"%s\",\n", $0)
}

END {
    if (broken) exit 1
    if (params == "" || names == "") { print "no parameters" >"/dev/stderr"; exit 1 }
    print "/* Made by mca_table.awk. */"
    print "struct known {"
    print "    char name[64];"
    print "    enum param_type type;"
    print "    int64_t min, max;"
    print "    char choices[4][12];"
    print "};"
    print "static const struct known keels[] = {\n" params "};"
    print "static const char openmpis[][64] = {\n" names "};"
}
