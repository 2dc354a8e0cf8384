#!/usr/bin/env python3
"""chart.py LAUNCH.TXT OUT.SVG: what bench/launch printed as a picture: keelrun's time as a share of
each peer's."""
import re
import sys
from xml.sax.saxutils import escape

LINE = re.compile(r"^(?P<program>\S.*?)\s+(?P<ranks>\d+)\s+(?P<launcher>keelrun|hydra|mpirun)\s+"
                  r"(?P<median>[\d.]+)\s+[\d.]+\s+[\d.]+(?:\s+(?P<ratio>[\d.]+)\s+[\d.]+)?(?:\s|$)")
STYLE = """
    .page { fill: #ffffff; stroke: #c9d1d9; }
    .hydra { fill: #93c5fd; } .mpirun { fill: #86efac; } .slower { fill: #fca5a5; }
    .line { stroke: #57606a; stroke-width: 1.2; stroke-dasharray: 5 4; }
    .name { font-weight: bold; fill: #1f2328; }
    .text { fill: #1f2328; }
    .note { fill: #57606a; font-size: 12px; }
    @media (prefers-color-scheme: dark) {
      .page { fill: #0d1117; stroke: #30363d; }
      .hydra { fill: #1d4ed8; } .mpirun { fill: #15803d; } .slower { fill: #b91c1c; }
      .line { stroke: #8b949e; }
      .name, .text { fill: #e6edf3; }
      .note { fill: #9da7b1; }
    }
"""
LEFT, UNIT, RIGHT, STEP, HEAD = 270, 300, 190, 22, 78
MOST = 1.3  # a longer bar is cut off


def read(path):
    """[(program, ranks, peer, keelrun's ms, the peer's ms)], the notes on the machine"""
    rows, own, notes = [], None, []
    with open(path, encoding="utf-8") as file:
        for line in file:
            found = LINE.match(line)
            if not found:
                if re.match(r"(date|machine|kernel|WARNING) ", line):
                    notes.append(re.sub(r"\s+", " ", line.strip()))
                continue
            if found["launcher"] == "keelrun":
                own = float(found["median"])
            elif own and float(found["median"]) > 0:
                rows.append((found["program"], found["ranks"], found["launcher"], own,
                             float(found["median"])))
    return rows, notes


def milliseconds(value):
    return f"{value:.1f}" if value < 10 else f"{value:.0f}"


def bar(row, y, first):
    program, ranks, peer, own, other = row
    ratio = own / other
    width = min(ratio, MOST) * UNIT
    kind = peer if ratio <= 1 else "slower"
    lines = []
    if first:
        lines.append(f'<text class="name" x="16" y="{y + 12}">{escape(program)}</text>')
    lines.append(f'<text class="text" x="{LEFT - 8}" y="{y + 12}" text-anchor="end">'
                 f'N = {ranks}, {peer}</text>')
    lines.append(f'<rect class="{kind}" x="{LEFT}" y="{y}" width="{width:.1f}" height="15"/>')
    lines.append(f'<text class="text" x="{LEFT + width + 8:.1f}" y="{y + 12}">{ratio:.2f}</text>')
    lines.append(f'<text class="note" x="{LEFT + MOST * UNIT + RIGHT - 16:.0f}" y="{y + 12}" '
                 f'text-anchor="end">{milliseconds(own)} / {milliseconds(other)} ms</text>')
    return lines


def draw(rows, notes):
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
            'aria-label="The time keelrun takes as a share of what its peers take">',
            '<title>Launch time, keelrun beside its peers</title>', f'<style>{STYLE}</style>',
            f'<rect class="page" x="0.5" y="0.5" width="{width - 1:.0f}" height="{height - 1}" '
            'rx="10"/>',
            '<text class="name" x="16" y="28">Time from start to end: keelrun as a share of its '
            'peer; shorter is better</text>',
            f'<text class="note" x="{one}" y="{HEAD - 16}" text-anchor="middle">as long as the '
            'peer</text>',
            f'<line class="line" x1="{one}" y1="{HEAD - 8}" x2="{one}" y2="{y}"/>']
    foot = [f'<text class="note" x="16" y="{y + 20 + 16 * i}">{escape(note)}</text>'
            for i, note in enumerate(notes)]
    return "\n".join(head + body + foot) + "\n</svg>\n"


def main():
    rows, notes = read(sys.argv[1])
    if not rows:
        sys.exit(f"{sys.argv[1]}: no figures")
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(draw(rows, notes))


if __name__ == "__main__":
    main()
