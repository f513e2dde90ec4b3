#!/usr/bin/env python3
"""Draw how full a batch is: one SVG of the runs that `rill decode --trace` wrote down.

A panel per run, a bar per timestep: how many hypotheses the model expanded. The pale part above a bar is room that nothing used. All
panels share both axes. A triangle below the axis is a timestep that began with new inputs. Needs Python alone.

  tools/draw_trace.py var-batch.jsonl stream-all.jsonl --out batch.svg      # a panel is named after its file
  tools/draw_trace.py --capacity 100 a.jsonl                                # on standard output; a full batch is 100 hypotheses

Without --capacity a full batch is the most that any run expanded in a timestep. Standard error says what the picture shows, a line
per run: the timesteps, the expansions, and the share of timesteps that were at least nine tenths full.
"""

import argparse
import collections
import json
import os
import sys
from html import escape

LEFT, WIDTH, HEIGHT, HEAD, FOOT, MARGIN = 64, 700, 110, 34, 30, 16
# A grey that reads on white and on black; two colours that are told apart with any kind of colour vision (Okabe and Ito).
INK, COLOURS = "#767676", ("#d55e00", "#0072b2", "#009e73", "#cc79a7")
FULL = 0.9

Run = collections.namedtuple("Run", "name rows admitted")


def read_run(path):
    name = os.path.basename(path).removesuffix(".jsonl")
    rows, admitted = [], set()
    try:
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                event = json.loads(line)
                if event["event"] == "timestep":
                    rows.append(event["rows"])
                elif event["event"] == "admitted":
                    admitted.add(event["timestep"])
    except (OSError, UnicodeDecodeError) as error:
        sys.exit(f"draw_trace: {path}: {error}")
    except (ValueError, KeyError, TypeError):
        sys.exit(f"draw_trace: {path}: line {number} is no event of `rill decode --trace`")
    if not rows:
        sys.exit(f"draw_trace: {path}: no timesteps")
    return Run(name, rows, sorted(admitted))


def share_full(run, capacity):
    return sum(rows >= FULL * capacity for rows in run.rows) / len(run.rows)


def summary(run, capacity):
    timesteps = len(run.rows)
    return (f"{timesteps} timesteps, {sum(run.rows) / timesteps:.1f} hypotheses in each on average, "
            f"{100 * share_full(run, capacity):.0f} % of the timesteps full")


def text(x, y, content, anchor="start", extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{extra}>{escape(content)}</text>'


def draw_panel(run, colour, top, step, capacity):
    """The panel's pieces; `step` is a timestep's width."""
    base, unit = top + HEIGHT, HEIGHT / capacity
    length = len(run.rows) * step
    outline = " ".join(f"V{base - rows * unit:.1f}h{step:.2f}" for rows in run.rows)
    yield text(LEFT, top - 12, run.name, extra=f' font-size="15" font-weight="bold" fill="{colour}"')
    yield text(LEFT + WIDTH, top - 12, summary(run, capacity), "end")
    yield f'<rect x="{LEFT}" y="{top}" width="{length:.1f}" height="{HEIGHT}" fill="{colour}" fill-opacity="0.16"/>'
    yield f'<path d="M{LEFT} {base} {outline} V{base}Z" fill="{colour}"/>'
    yield f'<path d="M{LEFT} {top}h{WIDTH}M{LEFT} {base}h{WIDTH}" stroke="{INK}" stroke-width="0.6" fill="none"/>'
    for value in (0, capacity):
        yield text(LEFT - 8, base - value * unit + 4, f"{value}", "end")
    for timestep in run.admitted:
        x = LEFT + timestep * step
        yield f'<path d="M{x:.1f} {base + 3} l3.5 6 h-7Z" fill="{INK}"/>'


def draw(runs, capacity):
    longest = max(len(run.rows) for run in runs)
    step = WIDTH / longest
    height = len(runs) * (HEAD + HEIGHT + FOOT) + MARGIN
    parts = []
    for i, run in enumerate(runs):
        top = i * (HEAD + HEIGHT + FOOT) + HEAD
        parts += draw_panel(run, COLOURS[i % len(COLOURS)], top, step, capacity)
        middle = top + HEIGHT / 2
        parts.append(text(LEFT - 40, middle, "hypotheses", "middle", f' transform="rotate(-90 {LEFT - 40} {middle})"'))
    base = height - MARGIN - FOOT
    every = max(1, round(longest / 5 / 10)) * 10 if longest > 20 else 5
    parts += [text(LEFT + value * step, base + 24, str(value), "middle") for value in range(0, longest + 1, every)]
    parts.append(text(LEFT + WIDTH, base + 40, "timestep; a triangle is where new inputs come in", "end"))
    told = ". ".join(f"{run.name}: {summary(run, capacity)}" for run in runs)
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + MARGIN} {height}" font-family="sans-serif" '
        f'font-size="12" fill="{INK}" role="img">',
        f"<title>How full the batch is, timestep by timestep</title>\n<desc>{escape(told)}.</desc>", *parts, "</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="+", metavar="TRACE.jsonl")
    parser.add_argument("--out", metavar="FILE.svg", help="the picture; standard output without it")
    parser.add_argument("--capacity", type=int, metavar="ROWS", help="hypotheses in a full batch")
    options = parser.parse_args()
    runs = [read_run(path) for path in options.traces]
    most = max(max(run.rows) for run in runs)
    capacity = options.capacity or most
    if capacity < most:
        sys.exit(f"draw_trace: --capacity {capacity}: a timestep has {most} hypotheses")
    picture = draw(runs, capacity)
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            file.write(picture)
    else:
        sys.stdout.write(picture)
    for run in runs:
        print(f"{run.name}: {sum(run.rows)} expansions, {summary(run, capacity)}", file=sys.stderr)


main()
