#!/usr/bin/env python3
"""Draw the figures of docs/ and bench/results, as SVG, and write the numbers of README.md and docs/measurements, from raw results. Needs
Python alone.

  tools/figures.py                                                      # all that have raw files in bench/results
  tools/figures.py --check                                              # write nothing: are they what these files give?
  tools/figures.py trace var-batch.jsonl stream-all.jsonl --out batch.svg

  trace    how full a batch is, by `rill decode --trace`: a bar per timestep, a panel per run; a triangle is where new inputs come in
  rows     how many rows timesteps had, by `rill bench --json`: a panel per method
  methods  what methods took, by `rill bench --json`: median seconds with half the range of the runs, and expansions per timestep
  cube     seconds over beam width, by bench/cube_pruning.py

Of traces standard error says what the picture shows, a line per run: the timesteps, the expansions, and the share of timesteps that were
at least nine tenths as full as the fullest of all runs.
"""

import argparse
import json
import math
import os
import re
import sys
from html import escape

import page_numbers
import page_rules

# A grey that is legible on white and on black, and colours for all kinds of colour vision (Okabe and Ito).
INK, COLOURS = "#767676", ("#d55e00", "#0072b2", "#009e73", "#cc79a7")
LEFT, WIDTH, HEIGHT, STEP, HEAD, FOOT = 64, 700, 110, 174, 34, 46
FULL, BINS = 0.9, 56
RESULTS = "bench/results"


class Panel:
    """Axes from 0 to `maxima` at a position in the figure; `parts` collects the content."""

    def __init__(self, top, maxima, left=LEFT, width=WIDTH, height=HEIGHT):
        self.left, self.top, self.width, self.height, self.maxima = left, top, width, height, [value or 1 for value in maxima]
        self.base, self.right, self.parts = top + height, left + width, []

    def x(self, value):
        return self.left + self.width * value / self.maxima[0]

    def y(self, value):
        return self.base - self.height * value / self.maxima[1]

    def text(self, x, y, content, anchor="start", extra=""):
        if content:
            self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{extra}>{escape(content)}</text>')

    def heading(self, name, caption="", colour=INK):
        self.text(self.left, self.top - 12, name, extra=f' font-size="15" font-weight="bold" fill="{colour}"')
        self.text(self.right, self.top - 12, caption, "end")

    def path(self, d, colour=INK, width=0.0, extra=""):
        """Add a line of this width, or a filled area if the width is 0."""
        kind = f'fill="none" stroke="{colour}" stroke-width="{width}"' if width else f'fill="{colour}"'
        self.parts.append(f'<path d="{d}" {kind}{extra}/>')

    def bar(self, from_x, to_x, y, colour, extra=""):
        self.path(f"M{self.x(from_x):.1f} {self.base}V{self.y(y):.1f}H{self.x(to_x):.1f}V{self.base}Z", colour, extra=extra)

    def axes(self, x_title, y_title, unit=""):
        middle = (self.top + self.base) / 2
        self.path(f"M{self.left} {self.top}V{self.base}H{self.right}", width=0.6)
        for value in ticks(self.maxima[0], 8):
            self.text(self.x(value), self.base + 24, f"{value:g}", "middle")
        for value in ticks(self.maxima[1], self.height / 27):
            self.text(self.left - 6, self.y(value) + 4, f"{value:g}{unit}", "end")
            self.path(f"M{self.left} {self.y(value):.1f}H{self.right}", width=0.2)
        self.text(self.right, self.base + 40, x_title, "end")
        self.text(self.left - 44, middle, y_title, "middle", f' transform="rotate(-90 {self.left - 44} {middle})"')


def ticks(maxima, wanted):
    power = 10 ** math.floor(math.log10(maxima / wanted))
    step = next(times * power for times in (1, 2, 5, 10) if times * power * wanted >= maxima * 0.999)
    return [i * step for i in range(int(maxima / step + 1e-9) + 1)]


def sheet(panels, caption, margin=16):
    """Return the SVG of some panels, with a sentence that describes it."""
    width, height = max(panel.right for panel in panels) + margin, panels[-1].base + FOOT
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12" '
                      f'fill="{INK}" role="img">', f"<title>{escape(caption)}</title>", *(part for panel in panels for part in panel.parts),
                      "</svg>", ""])


def read_trace(path):
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
        sys.exit(f"figures: {path}: {error}")
    except (ValueError, KeyError, TypeError):
        sys.exit(f"figures: {path}: line {number} is no event of `rill decode --trace`")
    if not rows:
        sys.exit(f"figures: {path}: no timesteps")
    return rows, sorted(admitted)


def read_json(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError) as error:
        sys.exit(f"figures: {path}: {error}")


def trace(paths):
    return draw_traces([(os.path.basename(path).removesuffix(".jsonl"), *read_trace(path)) for path in paths], loud=True)


def draw_traces(runs, width=WIDTH, loud=False):
    """Draw how full batches are. runs: (name, rows of each timestep, timesteps in which inputs were admitted)."""
    maxima = max(max(rows) for _, rows, _ in runs), max(len(rows) for _, rows, _ in runs)
    panels, caption = [], []
    for number, (name, rows, admitted) in enumerate(runs):
        colour, n = COLOURS[number % 4], len(rows)
        summary = (f"{n} timesteps, {sum(rows) / n:.1f} hypotheses in each on average, "
                f"{100 * sum(count >= FULL * maxima[0] for count in rows) / n:.0f} % of the timesteps full")
        panel = Panel(HEAD + number * STEP, (maxima[1], maxima[0]), width=width)
        panel.heading(name, summary if width == WIDTH else "", colour)
        panel.bar(0, n, maxima[0], colour, ' fill-opacity="0.16"')
        panel.path(f"M{LEFT} {panel.base}" + "".join(f"V{panel.y(count):.1f}H{panel.x(i + 1):.1f}" for i, count in enumerate(rows)) +
                   f"V{panel.base}Z", colour)
        panel.path("".join(f"M{panel.x(at):.1f} {panel.base + 3}l3.5 6h-7Z" for at in admitted))
        panel.axes("timestep; a triangle is where new inputs come in" if number + 1 == len(runs) else "", "hypotheses")
        panels.append(panel)
        caption.append(f"{name}: {summary}")
        if loud:
            print(f"{name}: {sum(rows)} expansions, {summary}", file=sys.stderr)
    return sheet(panels, "How full the batch is, timestep by timestep. " + ". ".join(caption))


def lines(caption, x_title, y_title, series):
    """Draw lines over common axes, small enough to be read on a phone. series: {name: [(x, y)]}"""
    points = [point for line in series.values() for point in line]
    top = HEAD + 18 * len(series)
    panel = Panel(top, (max((x for x, _ in points), default=1), max((y for _, y in points), default=1)), width=380, height=230)
    panel.axes(x_title, y_title)
    for number, (name, line) in enumerate(series.items()):
        colour, broken = COLOURS[number % 4], ' stroke-dasharray="5 4"' * (number // 4 % 2)
        panel.path("M" + "L".join(f"{panel.x(x):.1f} {panel.y(y):.1f}" for x, y in sorted(line)), colour, 2, broken)
        panel.path("".join(f"M{panel.x(x):.1f} {panel.y(y) - 2.5:.1f}v5" for x, y in line), colour, 5)
        panel.path(f"M{LEFT} {HEAD + 18 * number - 12}h20", colour, 2, broken)
        panel.text(LEFT + 26, HEAD + 18 * number - 8, name)
    return sheet([panel], caption)


def rows(paths):
    found = [(m["method"], {int(count): n for count, n in m.get("timesteps_by_rows", {}).items()}) for path in paths
             for m in read_json(path).get("methods", [])]
    if not found or not all(counts for _, counts in found):
        sys.exit("figures: no method of these files says how many rows its timesteps had")
    each = max(max(counts) for _, counts in found) // BINS + 1
    shares = []
    for _, counts in found:
        share = [0] * (max(counts) // each + 1)
        for count, n in counts.items():
            share[count // each] += 100 * n / sum(counts.values())
        shares.append(share)
    maxima = each * max(map(len, shares)), max(map(max, shares))
    panels = []
    for number, ((name, counts), share) in enumerate(zip(found, shares)):
        panel, n, expansions = Panel(HEAD + number * STEP, maxima), sum(counts.values()), sum(count * n for count, n in counts.items())
        panel.heading(name, f"{n} timesteps, {expansions / n:.1f} rows on average (dashed)")
        panel.axes("rows of a timestep" if number + 1 == len(found) else "", "timesteps", " %")
        for i, value in enumerate(share):
            panel.bar(i * each, (i + 0.9) * each, value, COLOURS[1])
        panel.path(f"M{panel.x(expansions / n + 0.5):.1f} {panel.base}V{panel.top}", COLOURS[0], 1, ' stroke-dasharray="4 3"')
        panels.append(panel)
    return sheet(panels, "The share of timesteps that had so many rows, by method")


def methods(paths):
    panels, top = [], 2 * HEAD
    for path in paths:
        found = read_json(path)["methods"]
        for column, (title, form, values) in enumerate((
                ("seconds", "{:.2f}", [(m["seconds_median"], m["seconds_spread"] * m["seconds_median"]) for m in found]),
                ("expansions per timestep", "{:.0f}", [(m["run"]["expansions"] / max(1, m["run"]["timesteps"]), 0) for m in found]))):
            panel = Panel(top, (max(map(sum, values)), len(found)), 150 + 410 * column, 300, 22 * len(found))
            run = found[-1]["run"]  # older files have "settings" with a key k
            options = run.get("options") or run["settings"]
            panel.heading(f"k = {options.get('beam_size') or options['k']}: {title}")
            for i, (method, (value, spread)) in enumerate(zip(found, values)):
                y, end = panel.top + 22 * i, panel.x(value)
                panel.path(f"M{panel.left} {y}H{end:.1f}v16H{panel.left}Z", COLOURS[1 - column])
                if spread:
                    panel.path(f"M{panel.x(value - spread):.1f} {y + 8}H{panel.x(value + spread):.1f}", COLOURS[0], 2)
                panel.text(panel.x(value + spread) + 5, y + 12, form.format(value))
                if column == 0:
                    panel.text(panel.left - 8, y + 12, method["method"], "end")
            panels.append(panel)
        top = panels[-1].base + 2 * HEAD
    return sheet(panels, "Seconds of methods, and how many hypotheses a timestep expanded", 70)


def cube(paths):
    results = [result for path in paths for result in read_json(path)["results"]]
    panel = Panel(HEAD, (max(r["k"] for r in results), max(r["seconds"] for r in results)), height=320)
    panel.axes("beam width k", "seconds")
    for number, form in enumerate(dict.fromkeys(r["form"] for r in results)):
        panel.text(panel.left + 20, panel.top + 18 * number + 14, form, extra=f' font-size="13" fill="{COLOURS[number]}"')
        for pruned in 0, 1:
            points = [f'{panel.x(r["k"]):.1f} {panel.y(r["seconds"]):.1f}' for r in results if (r["form"], r["pruned"]) == (form, pruned)]
            panel.path("M" + "L".join(points), COLOURS[number], 2, ' stroke-dasharray="5 4"' * pruned)
    panel.text(panel.left + 20, panel.top + 72, "broken: absolute 1.5, max-candidates 5")
    return sheet([panel], "Seconds of cube pruning's forms over beam width")


KINDS = {"trace": trace, "rows": rows, "methods": methods, "cube": cube}


def saved():
    """Yield (file, figure) for the raw files in bench/results."""
    for name in sorted(os.listdir(RESULTS)):
        place = os.path.join(RESULTS, name)
        width = re.fullmatch(r"mt-methods-k5-(\d[tw].*)\.json", name)
        if re.fullmatch(r"cube-.*\.json", name):
            yield place.removesuffix(".json") + ".svg", cube([place])
        elif name.endswith("-rows.json"):
            yield place.removesuffix(".json") + ".svg", rows([place])
        elif name == "papers":  # reproductions that were kept, made by ./dev reproduce --out bench/results/papers
            yield from reports(place)
        elif width:
            yield f"{RESULTS}/mt-methods-{width[1]}.svg", methods([place, place.replace("-k5-", "-k50-")])


def reports(folder):
    """Yield the reports of a folder of reproductions."""
    for place in ("bench/papers", "bench"):
        sys.path.insert(0, place)
    import reproduce  # imported here, since it imports this module
    yield from reproduce.reports(folder).items()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", nargs="?", choices=KINDS)
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("--out", metavar="FILE.svg", help="the picture")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.kind and not (options.files and options.out):
        parser.error(f"{options.kind}: name what to draw, and with --out the picture")
    if not options.kind:
        os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    stale, made = [], [(options.out, KINDS[options.kind](options.files))] if options.kind else list(saved())
    if not options.kind:
        try:
            numbers = page_numbers.pages(page_rules.RULES)
        except (page_numbers.Mismatch, OSError, AttributeError, LookupError, StopIteration, TypeError, ValueError) as error:
            sys.exit(f"figures: a rule of tools/page_rules.py does not fit: {type(error).__name__}: {error}")
        made += [(page, text) for page, (text, _, _) in numbers.items()]
        print("\n".join(f"{page}: {written} of {all_of_it} numbers are written from raw files" for page, (_, written,
                                                                                                          all_of_it) in numbers.items()))
    for place, content in made:
        if not options.check:
            with open(place, "w", encoding="utf-8") as file:
                file.write(content)
        elif not os.path.exists(place) or open(place, encoding="utf-8").read() != content:
            stale.append(place)
    sys.exit(f"figures: these are not what their files give: {', '.join(stale)}; tools/figures.py writes them" if stale else 0)


if __name__ == "__main__":
    main()
