# Makes launcher/request/peers_table.inc, of docs/options.md: what other launchers' options are here.

# | `--name`, `-n` | whose | answer |; the answer to what keelrun has as well begins so
/^\| `-/ {
    cells = split($0, cell, / *\| */)
    if (cells != 5) {
        print FILENAME ":" FNR ": not a row of three cells" >"/dev/stderr"
        broken = 1
        exit 1
    }
    names = cell[2]; answer = cell[4]
    if (answer ~ /^(same|another meaning)/) next
    gsub(/[`,]/, "", names)
    gsub(/(^| )-+/, "|", names)
    gsub(/`/, "", answer)
    gsub(/["\\]/, "\\\\&", answer)
    rows = rows sprintf("    \"%s|\\0\"\n    \"%s\\0\"\n", names, answer)
}

END {
    if (broken) exit 1
    if (rows == "") { print "no options" >"/dev/stderr"; exit 1 }
    print "/* Made by peers_table.awk. */\n" rows
}
