"""Numbers of README.md and docs/measurements from raw files: tools/figures.py writes them in place, and with --check compares.

A rule for a table names its page and the start of its first line, and gives the text of a cell, by row and column, from a raw
file. A rule for a sentence is a pattern, whose groups are numbers. Numbers without a rule stay as they are. page_rules.py has the
rules.
"""

import functools
import json
import os
import re

RESULTS = "bench/results"
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


class Mismatch(Exception):
    """A rule finds no such table, sentence or raw figure."""


@functools.lru_cache(maxsize=None)
def raw(name):
    """Return a raw file: the contents of JSON, or the text."""
    with open(os.path.join(RESULTS, name), encoding="utf-8") as file:
        return json.load(file) if name.endswith(".json") else file.read()


@functools.lru_cache(maxsize=None)
def columns(name):
    """Return the lines of a raw text, each split at two or more spaces."""
    return [re.split(r"\s{2,}", line.strip()) for line in raw(name).splitlines()]


class TableRule:
    """A rule for a table. cell(label, heading) returns the text of a cell, or None to leave the cell. A row whose first cell is empty
    has the label of the row above."""

    def __init__(self, page, start, cell, nth=0):
        self.page, self.start, self.cell, self.nth = page, start, cell, nth

    def apply(self, lines):
        places = [i for i, line in enumerate(lines) if line.startswith("| " + self.start)]
        if len(places) <= self.nth:
            raise Mismatch(f"{self.page}: no table {self.start!r}")
        at, label, written = places[self.nth], "", 0
        headings = cells_of(lines[at])
        for i in range(at + 2, len(lines)):
            if not lines[i].startswith("|"):
                break
            cells = cells_of(lines[i])
            label = cells[0] or label
            for column in range(1, len(cells)):
                text = self.cell(label, *self.names(headings, cells, column))
                if text is not None:
                    written += len(NUMBER.findall(text))
                    cells[column] = text
            lines[i] = "|" + "".join(f" {cell} |" if cell else " |" for cell in cells)
        if not written:
            raise Mismatch(f"{self.page}: the rule of table {self.start!r} gives no number")
        return written

    @staticmethod
    def names(headings, cells, column):
        return (headings[column],)


class KeyedTableRule(TableRule):
    """As a TableRule, but the function also gets the cells before the cell."""

    @staticmethod
    def names(headings, cells, column):
        return headings[column], cells[:column]


class TextRule:
    """A rule for a sentence: a pattern, in which a space also matches a line break, and a function that returns the texts of its groups."""

    def __init__(self, page, pattern, values):
        self.page, self.pattern, self.values = page, pattern.replace(" ", r"\s+"), values

    def apply(self, lines):
        text = "\n".join(lines)
        found = re.search(self.pattern, text)
        if not found:
            raise Mismatch(f"{self.page}: no sentence {self.pattern!r}")
        values = self.values()
        for group in range(len(found.groups()), 0, -1):
            text = text[:found.start(group)] + values[group - 1] + text[found.end(group):]
        lines[:] = text.split("\n")
        return len(found.groups())


def cells_of(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def pages(rules):
    """Return {page: (its text with all numbers of the rules, how many these are, how many numbers the page has)}."""
    out = {}
    for name in dict.fromkeys(rule.page for rule in rules):
        with open(name, encoding="utf-8") as file:
            lines = file.read().split("\n")
        written = sum(rule.apply(lines) for rule in rules if rule.page == name)
        text = "\n".join(lines)
        out[name] = text, written, len(NUMBER.findall(re.sub(r"^```.*?^```$|`[^`]*`|\([^)]*\)\]?\([^)]*\)", "", text, flags=re.S | re.M)))
    return out
