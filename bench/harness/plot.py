"""Bars as SVG: a bar to the median, a line over the inner half. Colours follow the reader's light or dark theme."""

import math
from xml.sax.saxutils import escape

ROW, LEFT, WIDTH, RIGHT = 22, 210, 430, 110
STYLE = """<style>
text{font:12px system-ui,sans-serif;fill:#24292f}.t{font-weight:600}.g{stroke:#d0d7de}.o{fill:#0969da}.f{fill:#8c959f}
.p{fill:#bf8700}.w{stroke:#24292f;stroke-width:1.5}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.g{stroke:#30363d}.o{fill:#4493f8}.f{fill:#6e7681}.p{fill:#d29922}.w{stroke:#e6edf3}}
</style>"""


def bars(title, unit, rows):
    """`rows`: name, kind (`floor`, `ours` or `peer`), and median, low and high. The scale is logarithmic."""
    smallest = min(figure["low"] for _, _, figure in rows)
    largest = max(figure["high"] for _, _, figure in rows)
    start = 10 ** math.floor(math.log10(max(smallest, 1e-9)) - 0.01)
    end = max(10 ** math.ceil(math.log10(largest)), start * 10)
    scale = lambda value: LEFT + WIDTH * math.log10(max(value, start) / start) / math.log10(end / start)
    height = 62 + ROW * len(rows)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + RIGHT} {height}" role="img">',
        f"<title>{escape(title)}</title>{STYLE}",
        f'<text class="t" x="8" y="20">{escape(title)} ({escape(unit)}, logarithmic)</text>',
    ]
    tick = start
    while tick <= end * 1.001:
        x = scale(tick)
        out.append(f'<line class="g" x1="{x:.1f}" y1="32" x2="{x:.1f}" y2="{height - 22}"/>')
        out.append(f'<text x="{x:.1f}" y="{height - 8}" text-anchor="middle">{number(tick)}</text>')
        tick *= 10
    for index, (name, kind, figure) in enumerate(rows):
        y = 36 + ROW * index
        x, low, high = scale(figure["median"]), scale(figure["low"]), scale(figure["high"])
        out.append(f'<text x="{LEFT - 8}" y="{y + 13}" text-anchor="end">{escape(name)}</text>')
        out.append(f'<rect class="{kind[0]}" x="{LEFT}" y="{y + 2}" width="{max(x - LEFT, 1):.1f}" height="{ROW - 7}"/>')
        out.append(f'<line class="w" x1="{low:.1f}" y1="{y + 9.5}" x2="{high:.1f}" y2="{y + 9.5}"/>')
        out.append(f'<text x="{max(x, high) + 6:.1f}" y="{y + 13}">{number(figure["median"])}</text>')
    return "\n".join([*out, "</svg>", ""])


def number(value):
    """Three digits that count, and groups of thousands."""
    if value == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{min(digits, 3)}f}"
