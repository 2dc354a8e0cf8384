#!/usr/bin/env python3
"""chart.py LAUNCH.TXT|RML.TXT|COMPARE.TXT OUT.SVG: what bench/launch, bench/rml or bench/compare
printed as a picture: Keel's time as a share of each peer's."""
import re
import sys
from xml.sax.saxutils import escape

LAUNCH = re.compile(r"^(?P<program>\S.*?)\s+(?P<ranks>\d+)\s+(?P<launcher>keelrun|hydra|mpirun)\s+"
                    r"(?P<median>[\d.]+)\s+[\d.]+\s+[\d.]+(?:\s+[\d.]+\s+[\d.]+)?(?:\s|$)")
RML = re.compile(r"^\s*(?P<bytes>\d+)  (?P<who>(?:RML|ZeroMQ|NNG).*?)\s+"
                 r"(?P<trip>[\d.]+)\s+[\d.]+\s+(?P<rate>[\d.]+)\s+[\d.]+(?:\s|$)")
METRIC = re.compile(r"^(?P<where>shared memory|TCP on loopback|libfabric \S+), "
                    r"(?P<what>\d+ \S+, (?:half trip|rate|stream)), (?P<unit>\S+)$")
PROBE = re.compile(r"^  (?P<who>(?P<kind>Keel|UCX|Open MPI|raw|fi_pingpong)\b.*?)\s+(?P<value>[\d.]+)\s+"
                   r"[\d.]+ x")
NOTE = re.compile(r"(date|machine|kernel|WARNING) ")
STYLE = """
    .page { fill: #ffffff; stroke: #c9d1d9; }
    .one { fill: #93c5fd; } .two { fill: #86efac; } .three { fill: #d8b4fe; }
    .slower { fill: #fca5a5; }
    .line { stroke: #57606a; stroke-width: 1.2; stroke-dasharray: 5 4; }
    .name { font-weight: bold; fill: #1f2328; }
    .text { fill: #1f2328; }
    .note { fill: #57606a; font-size: 12px; }
    @media (prefers-color-scheme: dark) {
      .page { fill: #0d1117; stroke: #30363d; }
      .one { fill: #1d4ed8; } .two { fill: #15803d; } .three { fill: #7e22ce; }
      .slower { fill: #b91c1c; }
      .line { stroke: #8b949e; }
      .name, .text { fill: #e6edf3; }
      .note { fill: #9da7b1; }
    }
"""
LEFT, UNIT, RIGHT, STEP, HEAD = 330, 300, 190, 22, 78
MOST = 1.3  # a longer bar is cut off


COLOURS = {"hydra": "one", "mpirun": "two", "ZeroMQ": "one", "ZeroMQ CURVE": "two", "NNG": "three",
           "UCX": "one", "Open MPI": "two", "fi_pingpong": "one", "raw": "three"}
WHERE = {"shared memory": "sm", "TCP on loopback": "tcp"}


def launch_rows(lines):
    """[(group, label, peer, Keel's time, the peer's, unit)]"""
    rows, own = [], None
    for found in filter(None, map(LAUNCH.match, lines)):
        if found["launcher"] == "keelrun":
            own = float(found["median"])
        elif own and float(found["median"]) > 0:
            rows.append((found["program"], f"N = {found['ranks']}, {found['launcher']}",
                         found["launcher"], own, float(found["median"]), "ms"))
    return rows


def size(number):
    for shift, unit in ((20, "MiB"), (10, "KiB")):
        if number >> shift:
            return f"{number >> shift} {unit}"
    return f"{number} B"


def rml_rows(lines):
    """Half a round trip, and the time a message takes in a stream: the same rows."""
    trips, streams, own = [], [], None
    for found in filter(None, map(RML.match, lines)):
        times = float(found["trip"]), 1e3 / float(found["rate"])
        if found["who"] == "RML tcp":
            own = times
        elif own and found["who"] in COLOURS:
            label = f"{size(int(found['bytes']))}, {found['who']}"
            trips.append(("half round trip", label, found["who"], own[0], times[0], "us"))
            streams.append(("one of a stream", label, found["who"], own[1], times[1], "us"))
    return trips + streams


def compare_rows(lines):
    """The first of Keel's ways in each table, which is put where there are several; of rates the
    time for one."""
    rows, metric, own = [], None, None
    for line in lines:
        if METRIC.match(line):
            metric, own = METRIC.match(line), None
        elif not line.startswith(" "):
            metric = None
        found = metric and PROBE.match(line)
        if found and found["kind"] == "Keel":
            own = own or float(found["value"])
        elif found and own:
            other, unit, mine = float(found["value"]), metric["unit"], own
            if unit.endswith("/s"):
                one = 1e3 if unit == "M/s" else 1048576  # ns for a message, us for 1 MiB
                mine, other, unit = one / own, one / other, "ns" if unit == "M/s" else "us"
            where = WHERE.get(metric["where"], metric["where"].replace("libfabric ", ""))
            rows.append((f"{where}, {metric['what']}", found["who"], found["kind"], mine, other,
                         unit))
    return rows


def read(path):
    """The rows, the title, and the notes on the machine"""
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    notes = [re.sub(r"\s+", " ", line) for line in lines if NOTE.match(line)]
    if any(line.split()[1:2] == ["who"] for line in lines):
        return rml_rows(lines), "The RML's time over encrypted TCP as a share of its peer's", notes
    if any(METRIC.match(line) for line in lines):
        return (compare_rows(lines), "The data plane's time as a share of its peer's or of a bare "
                "program's", notes)
    return launch_rows(lines), "Time from start to end: keelrun as a share of its peer", notes


def short(value):
    return f"{value:.2f}" if value < 1 else f"{value:.1f}" if value < 10 else f"{value:.0f}"


def bar(row, y, first):
    group, label, peer, own, other, unit = row
    ratio = own / other
    width = min(ratio, MOST) * UNIT
    kind = COLOURS[peer] if ratio <= 1 else "slower"
    lines = []
    if first:
        lines.append(f'<text class="name" x="16" y="{y + 12}">{escape(group)}</text>')
    lines.append(f'<text class="text" x="{LEFT - 8}" y="{y + 12}" text-anchor="end">'
                 f'{escape(label)}</text>')
    lines.append(f'<rect class="{kind}" x="{LEFT}" y="{y}" width="{width:.1f}" height="15"/>')
    lines.append(f'<text class="text" x="{LEFT + width + 8:.1f}" y="{y + 12}">{ratio:.2f}</text>')
    lines.append(f'<text class="note" x="{LEFT + MOST * UNIT + RIGHT - 16:.0f}" y="{y + 12}" '
                 f'text-anchor="end">{short(own)} / {short(other)} {unit}</text>')
    return lines


def draw(rows, title, notes):
    body, y, last = [], HEAD, None
    for row in rows:
        if last and row[0] != last:
            y += 10
        body += bar(row, y, row[0] != last)
        last = row[0]
        y += STEP
    width, height = LEFT + MOST * UNIT + RIGHT, y + 18 + 16 * len(notes)
    one = LEFT + UNIT
    head = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" '
            f'width="{width:.0f}" height="{height}" font-size="13" role="img" '
            'font-family="DejaVu Sans, Helvetica, Arial, sans-serif" '
            f'aria-label="{escape(title)}">',
            f'<title>{escape(title)}</title>', f'<style>{STYLE}</style>',
            f'<rect class="page" x="0.5" y="0.5" width="{width - 1:.0f}" height="{height - 1}" '
            'rx="10"/>',
            f'<text class="name" x="16" y="28">{escape(title)}; shorter is better</text>',
            f'<text class="note" x="{one}" y="{HEAD - 16}" text-anchor="middle">as long as the '
            'peer</text>',
            f'<line class="line" x1="{one}" y1="{HEAD - 8}" x2="{one}" y2="{y}"/>']
    foot = [f'<text class="note" x="16" y="{y + 20 + 16 * i}">{escape(note)}</text>'
            for i, note in enumerate(notes)]
    return "\n".join(head + body + foot) + "\n</svg>\n"


def main():
    rows, title, notes = read(sys.argv[1])
    if not rows:
        sys.exit(f"{sys.argv[1]}: no figures")
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(draw(rows, title, notes))


if __name__ == "__main__":
    main()
