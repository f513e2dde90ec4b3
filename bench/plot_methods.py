"""Bars of what methods took: python3 bench/plot_methods.py OUT.svg LABEL:BENCH.json...

One row of two charts per file that `rill bench --json` wrote: median seconds with half the range of the runs, and expansions per
timestep. Bars of one row share a scale, rows do not: what is compared are methods, not beam widths."""
import json
import sys
from html import escape

LEFT, BAR, GAP, CHART, MIDDLE, TOP = 150, 16, 6, 300, 110, 54
INK, DULL, BARS = "#222", "#888", ("#4c78a8", "#b07c4f")


def text(x, y, content, anchor="start", size=12, colour=INK):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{colour}">{escape(content)}</text>'


def bars(x, y, rows, colour, form):
    """Horizontal bars of [(value, spread)], the longest CHART wide."""
    most = max(value + spread for value, spread in rows) or 1
    parts = []
    for i, (value, spread) in enumerate(rows):
        at, width = y + i * (BAR + GAP), CHART * value / most
        parts.append(f'<rect x="{x}" y="{at}" width="{width:.1f}" height="{BAR}" fill="{colour}"/>')
        if spread:
            low, high = (x + CHART * (value + s * spread) / most for s in (-1, 1))
            parts.append(f'<path d="M{low:.1f} {at + BAR / 2}H{high:.1f}" stroke="{INK}"/>')
        parts.append(text(x + CHART * (value + spread) / most + 5, at + BAR - 4, form.format(value), colour=DULL))
    return parts


def panel(label, path, y):
    methods = json.load(open(path, encoding="utf-8"))["methods"]
    names = [m["method"] for m in methods]
    seconds = [(m["seconds_median"], m["seconds_spread"] * m["seconds_median"]) for m in methods]
    filled = [(m["run"]["expansions"] / max(1, m["run"]["timesteps"]), 0) for m in methods]
    parts = [text(10, y - 12, label, size=15), text(LEFT, y - 12, "seconds", colour=DULL),
             text(LEFT + CHART + MIDDLE, y - 12, "expansions per timestep", colour=DULL)]
    for i, name in enumerate(names):
        parts.append(text(LEFT - 8, y + i * (BAR + GAP) + BAR - 4, name, "end"))
    parts += bars(LEFT, y, seconds, BARS[0], "{:.2f}")
    parts += bars(LEFT + CHART + MIDDLE, y, filled, BARS[1], "{:.0f}")
    return parts, y + len(methods) * (BAR + GAP) + TOP


def main(out, *panels):
    y, parts = TOP, []
    for item in panels:
        label, _, path = item.partition(":")
        more, y = panel(label, path, y)
        parts += more
    width, height = LEFT + 2 * CHART + MIDDLE + 70, y - TOP + 12
    with open(out, "w", encoding="utf-8") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif">\n'
                   f'<rect width="{width}" height="{height}" fill="white"/>\n' + "\n".join(parts) + "\n</svg>\n")


main(sys.argv[1], *sys.argv[2:])
