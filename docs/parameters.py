"""Writes docs/parameters.md from a build's own parameter rows (base/settings/param.h). Run by gdb:

    KEEL_BUILD=build gdb -nx -batch -x docs/parameters.py
"""
import os
import re

import gdb

HEAD = """# Parameters

Every parameter of Keel, by the room that registers it. `docs/man/keelrun.1` says how to set one:
`--mca NAME VALUE`, the environment variable `KEEL_MCA_NAME`, or a line `NAME = VALUE` in
`~/.config/keel/keel.conf` or `/etc/keel/keel.conf`.

Types: *int* and *size* are whole numbers, a size with an optional `k`, `m` or `g` (powers of 1024)
behind it; *bool* is `0`/`1`, `true`/`false`, `yes`/`no` or `on`/`off`; *enum* is one of the words
in the column of the range; *string* is text of at most 4095 characters. A value that does not fit
is reported once, with where it came from, and the default holds; but `fault`, `btl` and the `btl_`
parameters of the components that are opened have to fit, or keel_init fails with the reason.

This file is made from the rows in the built programs, by
`KEEL_BUILD=build gdb -nx -batch -x docs/parameters.py`; a lint (`tests/lint/check-docs.sh`) fails
when a parameter of the sources is missing here, or has another default there.
"""
ROOMS = ("base", "oob", "rml", "btl", "ptl", "pml", "bootstrap", "launcher")
TYPES = ("int", "size", "bool", "string", "enum")
SIZE = 1


def text(value):
    return value.string() if int(value) else ""


def number(value, kind):
    value = int(value)
    if kind == SIZE:
        for shift, letter in ((30, "g"), (20, "m"), (10, "k")):
            if value and value % (1 << shift) == 0:
                return "%d%s" % (value >> shift, letter)
    return str(value)


def choices(value):
    words = []
    while int(value) and int(value[len(words)]):
        words.append("`%s`" % value[len(words)].string())
    return ", ".join(words)


def span(param, kind):
    low, high = int(param["min"]), int(param["max"])
    if TYPES[kind] == "enum":
        return choices(param["choices"])
    if TYPES[kind] in ("bool", "string") or (low == 0 and high == 0):
        return ""
    return "%s to %s" % (number(low, kind), number(high, kind))


def row(param):
    like = param["like"].dereference() if int(param["like"]) else param
    kind = int(like["type"])
    default = text(param["default_text"])
    cells = (
        "`%s`" % text(param["name"]),
        TYPES[kind],
        "`%s`" % default if default else "",
        span(like, kind),
        text(like["unit"]),
        (text(param["help"]) or text(like["help"])).rstrip(".").replace("|", "\\|"),
    )
    return "| " + " | ".join(cells) + " |"


def rows(variable):
    """A row, an array of rows, or a table: a struct of rows."""
    if variable.type.code == gdb.TYPE_CODE_ARRAY:
        low, high = variable.type.range()
        return [variable[i] for i in range(low, high + 1)]
    if variable.type.tag != "param":
        return [variable[field] for field in variable.type.fields()]
    return [variable]


def collect(program, rooms):
    """Reads the rows of a program that stands at its main: its pointers are relocated then."""
    gdb.execute("file " + program, to_string=True)
    gdb.execute("start", to_string=True)
    listing = gdb.execute("info variables -q -t ^struct.param", to_string=True)
    listing += gdb.execute("info variables -q ^params$", to_string=True)
    found = re.compile(
        r"^File (.*):$|^\d+:\s+static struct (?:param|{[^}]*}) (\w+)(?:\[\d+\])?;$", re.MULTILINE
    )
    source = None
    for match in found.finditer(listing):
        if match.group(1):
            source = match.group(1)
            continue
        room = [part for part in source.split("/") if part in ROOMS][-1]
        symbol = gdb.parse_and_eval("'%s'::%s" % (source, match.group(2)))
        for param in rows(symbol):
            rooms[room][text(param["name"])] = row(param)


def main():
    build = os.environ["KEEL_BUILD"]
    rooms = {room: {} for room in ROOMS}
    for program in ("bin/keelrun", "examples/handoff"):
        collect(os.path.join(build, program), rooms)
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "parameters.md")
    with open(path, "w", encoding="utf-8") as file:
        print(HEAD, end="", file=file)
        for room in ROOMS:
            print("\n## %s\n\n| name | type | default | range | unit | meaning |" % room, file=file)
            print("|---|---|---|---|---|---|", file=file)
            for name in sorted(rooms[room]):
                print(rooms[room][name], file=file)


main()
