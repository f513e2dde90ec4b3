"""Tables of the papers beside rill's, as text (Markdown) and as one HTML page without scripts and requests.

A table is shown as grids, charts and notes, which its function `show` makes from raw files alone.
"""

import os
import re
import sys
import traceback
from html import escape

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools"))
import figures  # noqa: E402

STYLE = """
:root { color-scheme: light dark; --line: #8886; --soft: #8881; }
body { font: 16px/1.45 system-ui, sans-serif; max-width: 50rem; margin: 0 auto; padding: 0 .8rem 4rem; overflow-wrap: break-word; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; } h3 { font-size: 1rem; margin-bottom: .3rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .5rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child, td.who { text-align: left; } tr.rill { font-weight: 600; background: var(--soft); }
svg { width: 100%; height: auto; } p.small { font-size: .85rem; opacity: .85; } .failed { color: #d33; }
code { font-size: .85em; overflow-wrap: anywhere; }
"""


class Grid:
    """Rows with a paper's numbers and rill's: (label, the paper's cells or None, rill's cells or a text in their place)."""

    def __init__(self, title, columns, rows):
        self.title, self.columns, self.rows = title, columns, rows

    def lines(self):
        """Yield (label, "paper" or "rill", cells or the text in their place)."""
        for label, papers, ours in self.rows:
            if papers is not None:
                yield label, "paper", papers
            if ours is not None:
                yield label, "rill", ours

    def text(self):
        out = [f"**{self.title}**", "", "| | | " + " | ".join(self.columns) + " |", "| --- | --- |" + " --- |" * len(self.columns)]
        for label, whose, cells in self.lines():
            cells = [cells] + [""] * (len(self.columns) - 1) if isinstance(cells, str) else cells
            out.append(" | ".join([f"| {label}", whose, *(str(cell).replace("|", "\\|") for cell in cells)]) + " |")
        return out

    def html(self):
        head = "".join(f"<th>{escape(name)}</th>" for name in ("", "", *self.columns))
        out = [f"<h3>{escape(self.title)}</h3><div class=wide><table><tr>{head}</tr>"]
        for label, whose, cells in self.lines():
            one = f'<td colspan="{len(self.columns)}" class=who>{escape(cells)}</td>' if isinstance(cells, str) else \
                "".join(f"<td>{escape(str(cell))}</td>" for cell in cells)
            out.append(f"<tr class={whose}><td>{escape(label)}</td><td class=who>{whose}</td>{one}</tr>")
        return out + ["</table></div>"]


class Chart:
    """Lines of points over common axes; the text form shows them as a table."""

    def __init__(self, title, x, y, series):
        self.title, self.x, self.y, self.series = title, x, y, {name: points for name, points in series.items() if points}

    def text(self):
        if not self.series:
            return []
        places = sorted({x for points in self.series.values() for x, _ in points})
        out = [f"**{self.title}** ({self.y})", "", f"| {self.x} | " + " | ".join(self.series) + " |", "| --- |" + " --- "
               "|" * len(self.series)]
        for place in places:
            cells = [next((f"{y:.4g}" for x, y in points if x == place), "") for points in self.series.values()]
            out.append(f"| {place:g} | " + " | ".join(cells) + " |")
        return out

    def html(self):
        return [f"<h3>{escape(self.title)}</h3>", figures.lines(self.title, self.x, self.y, self.series).rstrip()] if self.series else []


class Picture:
    """A drawing, and a sentence that says what it shows."""

    def __init__(self, title, sentence, svg):
        self.title, self.sentence, self.svg = title, sentence, svg

    def text(self):
        return [f"**{self.title}**", "", self.sentence]

    def html(self):
        return [f"<h3>{escape(self.title)}</h3><p>{escape(self.sentence)}</p>", self.svg.rstrip()]


class Note:
    def __init__(self, sentence):
        self.sentence = sentence

    def text(self):
        return [self.sentence]

    def html(self):
        return [f"<p>{escape(self.sentence)}</p>"]


class Table:
    """A table or figure of a paper. `parts`: names and functions that measure; `show`: gets {part: its results, or a Lack} and returns
    what to show."""

    def __init__(self, name, title, minutes, measures, differs, parts, show):
        self.name, self.title, self.minutes, self.measures, self.differs = name, title, minutes, measures, differs
        self.parts, self.show = parts, show


class Lack(str):
    """The reason why a part has no results."""


def results_of(raw):
    if raw is None:
        return Lack("not measured yet")
    if "results" in raw:
        return raw["results"]
    return Lack("failed: " + raw["failed"] if "failed" in raw else "not measured: " + raw.get("missing", "no results"))


def pieces_of(table, raws):
    """Return what a table shows, and the notes of its runs. A table that cannot be made from its raw files says so, in the page and on
    stderr."""
    try:
        return table.show({part: results_of(raws.get(part)) for part in table.parts})
    except (KeyError, IndexError, TypeError, ValueError, ZeroDivisionError) as error:
        traceback.print_exc()
        return [Note(f"This table cannot be made of its raw files ({type(error).__name__}: {error}).")]


def conditions(raws):
    """Return a line for each combination of commit, machine and number of runs."""
    lines = []
    for raw in raws:
        line = (f"commit {raw['commit']}, {raw['date'][:10]}, {raw['machine']}; "
                f"{raw['runs']} run{'s' * (raw['runs'] > 1)}{', the first %d lines of each set' % raw['lines'] if raw['lines'] else ''}")
        line = line.split(", load ")[0] + line[line.index("; "):] if ", load " in line else line
        if line not in lines:
            lines.append(line)
    return lines


def loads(raws):
    found = [float(raw["machine"].rsplit("load ", 1)[1]) for raw in raws if "load " in raw["machine"]]
    return max(found) if found else None


INTRODUCTION = ("The papers' numbers stand above rill's. Seconds are means of the runs, with their standard deviation; each method also "
                "runs once untimed. A column without a number has none in the paper, or needs references that are missing. Where data "
                "and models differ from the paper's, qualities can be compared within a table only, and seconds by their ratios.")


def warnings(raws):
    most = loads(raws)
    if most is not None and most > 1.5:
        yield (f"Other programs used the machine (load up to {most:g}), so its seconds mean little. Counts and qualities do not depend on "
               "it.")


def text_of(tables, raws):
    """Return the report in Markdown. raws: {part: raw file}"""
    used = [raws[part] for table in tables for part in table.parts if raws.get(part)]
    out = ["# The papers' tables and figures", "", INTRODUCTION, "", *("- " + line for line in conditions(used)), "", *warnings(used)]
    differs = differences(tables)
    for table in tables:
        out += ["", f"## {table.name}: {table.title}", "", table.measures]
        for piece in pieces_of(table, raws):
            out += ["", *piece.text()]
        out += ["", f"*What differs:* {differs[table.name]}"]
        out += ["", *("- " + note for note in notes_of(table, raws))]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).rstrip() + "\n"


def differences(tables):
    """Return the differences from the paper, by table. A table with the same differences as one above refers to that one."""
    first = {}
    return {table.name: table.differs if first.setdefault(table.differs, table.name) == table.name else f"as in {first[table.differs]}."
            for table in tables}


def notes_of(table, raws):
    return list(dict.fromkeys(note for part in table.parts if raws.get(part) for note in raws[part].get("notes", ())))


def html_of(tables, raws):
    used = [raws[part] for table in tables for part in table.parts if raws.get(part)]
    out = ["<!doctype html>", '<html lang="en"><head><meta charset="utf-8">',
           '<meta name="viewport" content="width=device-width, initial-scale=1">',
           f"<title>The papers' tables and figures, by rill</title><style>{STYLE}</style></head><body>",
           f"<h1>The papers' tables and figures</h1><p>{escape(INTRODUCTION)}</p>",
           "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in conditions(used)) + "</ul>",
           *(f"<p class=failed>{escape(line)}</p>" for line in warnings(used)),
           "<ul>" + "".join(f'<li><a href="#{table.name}">{escape(table.name)}</a>: '
                            f'{escape(table.title)}</li>' for table in tables) + "</ul>"]
    differs = differences(tables)
    for table in tables:
        out += [f'<h2 id="{table.name}">{escape(table.name)}: {escape(table.title)}</h2><p>{escape(table.measures)}</p>']
        for piece in pieces_of(table, raws):
            out += piece.html()
        out += [f"<p><b>What differs:</b> {escape(differs[table.name])}</p>"]
        out += [f"<p class=small>{escape(note)}</p>" for note in notes_of(table, raws)]
        commands = [command for part in table.parts if raws.get(part) for command in raws[part].get("commands", ())]
        if commands:
            out += ["<details><summary>Commands</summary>", *(f"<p><code>{escape(one)}</code></p>" for one in commands), "</details>"]
    return "\n".join([*out, "</body></html>", ""])
