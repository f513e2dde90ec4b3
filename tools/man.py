#!/usr/bin/env python3
"""The manual page: docs/rill.1.in with the options of every command filled in from its help text.

usage: man.py RILL TEMPLATE OUTPUT

A line `@options COMMAND GROUP` becomes that group of `RILL COMMAND --help`, an entry per option. What follows it up to `@end` adds
paragraphs to entries, each behind `@note OPTION`, where a help text's sentence is not all that there is to say. A note without its option,
or a group that a command does not have, is an error: the page cannot fall behind the program. Lines from `@when COMMAND` to `@done` are
of a command that not every build has.
"""

import functools
import re
import subprocess
import sys

ENTRY = re.compile(r"  (-\w)?(?:, )?(--[\w-]+)?(.*)")
HELP_COLUMN = 28


def escape(text):
    """Text as roff has it."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return "\\&" + text if text[:1] in ".'" else text


class Option:
    def __init__(self, line):
        self.letter, self.name, rest = ENTRY.match(line[:HELP_COLUMN] if line[HELP_COLUMN - 1:HELP_COLUMN] == " " else line).groups()
        self.argument = rest.strip()
        self.optional = rest.startswith("[")
        self.help = line[HELP_COLUMN:].strip() if line[HELP_COLUMN - 1:HELP_COLUMN] == " " else ""

    def add(self, line):
        self.help = f"{self.help} {line.strip()}".strip()

    def roff(self, notes):
        names = ", ".join(f"\\fB{escape(n)}\\fR" for n in (self.letter, self.name) if n)
        argument = f"{'' if self.optional else ' '}\\fI{escape(self.argument)}\\fR" if self.argument else ""
        sentence = self.help[:1].upper() + self.help[1:]
        return [".TP", names + argument, escape(sentence) + "."] + notes


@functools.cache
def groups_of(rill, command):
    """title -> options, of a help text."""
    text = subprocess.run([rill, command, "--help"], check=True, capture_output=True, text=True).stdout
    groups, options = {}, None
    for line in text.split("\n"):
        if re.match(r"[A-Z][^:]*:$", line):
            options = groups.setdefault(line[:-1], [])
        elif options is not None and re.match(r"  -", line):
            options.append(Option(line))
        elif options and line.startswith(" " * HELP_COLUMN):
            options[-1].add(line)
        elif line:
            options = None
    return groups


def read_notes(lines):
    """option -> lines, up to @end."""
    notes, name = {}, None
    for line in lines:
        if line == "@end":
            return notes
        if line.startswith("@note "):
            name = line[6:]
            notes[name] = []
        else:
            notes[name].append(line)
    raise SystemExit("man.py: @options without @end")


def is_there(rill, command):
    return subprocess.run([rill, command, "--help"], capture_output=True).returncode == 0


def drop_absent(rill, lines):
    """Without what stands between @when and @done of commands that are not there, and without these marks."""
    dropped = False
    for line in lines:
        if line.startswith("@when "):
            dropped = not is_there(rill, line[6:])
        elif line == "@done":
            dropped = False
        elif not dropped:
            yield line


def fill(rill, template):
    lines = drop_absent(rill, template.split("\n"))
    for line in lines:
        if not line.startswith("@options "):
            yield line
            continue
        _, command, title = line.split(" ", 2)
        notes = read_notes(lines)
        options = groups_of(rill, command).get(title)
        if not options:
            raise SystemExit(f"man.py: `rill {command} --help` has no group \"{title}\"")
        for option in options:
            yield from option.roff(notes.pop(option.name or option.letter, []))
        if notes:
            raise SystemExit(f"man.py: {title} of `rill {command}` has no option {', '.join(notes)}")


def main():
    rill, template, output = sys.argv[1:]
    with open(template, encoding="utf-8") as file:
        text = "\n".join(fill(rill, file.read()))
    with open(output, "w", encoding="utf-8") as file:
        file.write(text)


main()
