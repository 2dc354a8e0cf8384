#!/usr/bin/env python3
"""chart.py LAUNCH.TXT|RML.TXT|COMPARE.TXT OUT.SVG: what bench/launch, bench/rml or bench/compare
printed as a picture: Keel's time as a share of each peer's; of compare, curves against size."""
import math
import re
import sys

LAUNCH = re.compile(r"^(?P<program>\S.*?)\s+(?P<ranks>\d+)\s+(?P<launcher>keelrun|hydra|mpirun)\s+"
                    r"(?P<median>[\d.]+)\s+[\d.]+\s+[\d.]+(?:\s+[\d.]+\s+[\d.]+)?(?:\s|$)")
RML = re.compile(r"^\s*(?P<bytes>\d+)  (?P<who>(?:RML|ZeroMQ|NNG).*?)\s+"
                 r"(?P<trip>[\d.]+)\s+[\d.]+\s+(?P<rate>[\d.]+)\s+[\d.]+(?:\s|$)")
METRIC = re.compile(r"^(?P<name>[^ ].*), (?P<unit>\S+)$")
NOTE = re.compile(r"(date|machine|kernel|WARNING) ")
STYLE = """
    .page { fill: #ffffff; stroke: #c9d1d9; }
    .one { fill: #93c5fd; } .two { fill: #86efac; } .three { fill: #d8b4fe; }
    .slower { fill: #fca5a5; }
    .line { stroke: #57606a; stroke-width: 1.2; stroke-dasharray: 5 4; }
    .grid { stroke: #d0d7de; }
    polyline { fill: none; stroke-width: 2; }
    .curve0 { fill: #cf222e; stroke: #cf222e; }
    .curve1 { fill: #0969da; stroke: #0969da; }
    .curve2 { fill: #1a7f37; stroke: #1a7f37; }
    .curve3 { fill: #8250df; stroke: #8250df; }
    .curve4 { fill: #bc4c00; stroke: #bc4c00; }
    .curve5 { fill: #57606a; stroke: #57606a; }
    .curve6 { fill: #0a7ea4; stroke: #0a7ea4; }
    .name { font-weight: bold; fill: #1f2328; }
    .text { fill: #1f2328; }
    .note { fill: #57606a; font-size: 12px; }
    @media (prefers-color-scheme: dark) {
      .page { fill: #0d1117; stroke: #30363d; }
      .one { fill: #1d4ed8; } .two { fill: #15803d; } .three { fill: #7e22ce; }
      .slower { fill: #b91c1c; }
      .line { stroke: #8b949e; }
      .grid { stroke: #30363d; }
      .curve0 { fill: #ff7b72; stroke: #ff7b72; }
      .curve1 { fill: #58a6ff; stroke: #58a6ff; }
      .curve2 { fill: #3fb950; stroke: #3fb950; }
      .curve3 { fill: #bc8cff; stroke: #bc8cff; }
      .curve4 { fill: #f0883e; stroke: #f0883e; }
      .curve5 { fill: #9da7b1; stroke: #9da7b1; }
      .curve6 { fill: #39c5cf; stroke: #39c5cf; }
      .name, .text { fill: #e6edf3; }
      .note { fill: #9da7b1; }
    }
"""
LEFT, UNIT, RIGHT, STEP, HEAD = 270, 300, 190, 22, 78
MOST = 1.3  # a longer bar is cut off
PANEL_WIDTH, PANEL_HEIGHT, CURVES = 560, 240, 7


COLOURS = {"hydra": "one", "mpirun": "two", "ZeroMQ": "one", "ZeroMQ CURVE": "two", "NNG": "three"}


# xml.sax has one, which a minimal installation of Python lacks.
def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


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


def tables(lines):
    """[(name, unit, [(who, [(bytes, figure)])])] of latencies and bandwidths at several sizes"""
    found, curves = [], None
    for line, below in zip(lines, lines[1:] + [""]):
        words = re.split(r"\s{2,}", line.strip())
        metric = METRIC.match(line)
        if metric and below.split()[:1] == ["bytes"]:
            curves = [(who, []) for who in re.split(r"\s{2,}", below.strip())[1:]]
            found.append((metric["name"], metric["unit"], curves))
        elif words[0].isdigit() and curves and len(words) == len(curves) + 1:
            for (_, points), figure in zip(curves, words[1:]):
                if figure != "-":
                    points.append((int(words[0]), float(figure)))
        elif words[0] != "bytes":
            curves = None
    found = [(name, unit, [curve for curve in curves if curve[1]]) for name, unit, curves in found]
    return [(name, unit, curves) for name, unit, curves in found
            if unit in ("us", "MB/s") and any(len(points) > 1 for _, points in curves)]


def read(path):
    """The lines, and the notes on the machine"""
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    return lines, [re.sub(r"\s+", " ", line) for line in lines if NOTE.match(line)]


def shares(lines):
    """The rows of bars, and their title"""
    if any(line.split()[1:2] == ["who"] for line in lines):
        return rml_rows(lines), "The RML's time over encrypted TCP as a share of its peer's"
    return launch_rows(lines), "Time from start to end: keelrun as a share of its peer"


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


def page(width, height, title, subtitle, body, notes):
    head = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
            f'width="{width:.0f}" height="{height:.0f}" font-size="13" role="img" '
            'font-family="DejaVu Sans, Helvetica, Arial, sans-serif" '
            f'aria-label="{escape(title)}">',
            f'<title>{escape(title)}</title>', f'<style>{STYLE}</style>',
            f'<rect class="page" x="0.5" y="0.5" width="{width - 1:.0f}" height="{height - 1:.0f}" '
            'rx="10"/>',
            f'<text class="name" x="16" y="28">{escape(title)}; {subtitle}</text>']
    top = height - 16 * len(notes)
    foot = [f'<text class="note" x="16" y="{top + 2 + 16 * i:.0f}">{escape(note)}</text>'
            for i, note in enumerate(notes)]
    return "\n".join(head + body + foot) + "\n</svg>\n"


def draw_bars(rows, title, notes):
    body, y, last = [], HEAD, None
    for row in rows:
        if last and row[0] != last:
            y += 10
        body += bar(row, y, row[0] != last)
        last = row[0]
        y += STEP
    one = LEFT + UNIT
    body = [f'<text class="note" x="{one}" y="{HEAD - 16}" text-anchor="middle">as long as the '
            'peer</text>',
            f'<line class="line" x1="{one}" y1="{HEAD - 8}" x2="{one}" y2="{y}"/>'] + body
    return page(LEFT + MOST * UNIT + RIGHT, y + 18 + 16 * len(notes), title, "shorter is better",
                body, notes)


def decades(values):
    return math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)) + 1e-9)


def axes(places, low, high, left, top):
    """Lines and figures of a panel whose sizes stand at these places."""
    lines = []
    for power in range(low, high + 1):
        y = top + (high - power) / (high - low) * PANEL_HEIGHT
        lines.append(f'<line class="grid" x1="{left}" x2="{left + PANEL_WIDTH}" y1="{y:.1f}" '
                     f'y2="{y:.1f}"/>')
        lines.append(f'<text class="note" x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">'
                     f'{10 ** power if power >= 0 else f"{10 ** power:.{-power}f}"}</text>')
    for number, bytes_ in enumerate(places):
        if number % 3 == 0 or bytes_ == max(places):
            lines.append(f'<text class="note" x="{places[bytes_]:.1f}" y="{top + PANEL_HEIGHT + 16}" '
                         f'text-anchor="middle">{size(bytes_)}</text>')
    return lines


def panel(table, left, top):
    """The curves of one table, both axes logarithmic, with their names on the right."""
    name, unit, curves = table
    figures = [figure for _, points in curves for _, figure in points]
    sizes = sorted({bytes_ for _, points in curves for bytes_, _ in points})
    low, high = decades(figures)
    step = PANEL_WIDTH / max(math.log2(sizes[-1] / sizes[0]), 1)
    places = {bytes_: left + math.log2(bytes_ / sizes[0]) * step for bytes_ in sizes}
    lines = [f'<text class="name" x="{left}" y="{top - 12}">{escape(name)}, {escape(unit)}</text>']
    lines += axes(places, low, high, left, top)
    for number, (who, points) in enumerate(curves):
        at = [(places[bytes_], top + (high - math.log10(figure)) / (high - low) * PANEL_HEIGHT)
              for bytes_, figure in points]
        corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
        dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5"/>' for x, y in at)
        y, x = top + 8 + 18 * number, left + PANEL_WIDTH + 16
        lines.append(f'<g class="curve{number % CURVES}"><polyline points="{corners}"/>{dots}'
                     f'<rect x="{x}" y="{y}" width="14" height="3"/></g>')
        lines.append(f'<text class="text" x="{x + 20}" y="{y + 6}">{escape(who)}</text>')
    return lines


def draw_curves(found, notes):
    body = []
    for number, table in enumerate(found):
        body += panel(table, 70, 80 + number * (PANEL_HEIGHT + 76))
    return page(PANEL_WIDTH + 280, 60 + len(found) * (PANEL_HEIGHT + 76) + 16 * len(notes),
                "The data plane beside its peers", "bytes of a message or an access below", body,
                notes)


def main():
    lines, notes = read(sys.argv[1])
    found = tables(lines)
    rows, title = shares(lines)
    if not rows and not found:
        sys.exit(f"{sys.argv[1]}: no figures")
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(draw_curves(found, notes) if found else draw_bars(rows, title, notes))


if __name__ == "__main__":
    main()
