"""The options of `rill COMMAND --help`, parsed, for the manual (man.py) and shell completion (completion.py). They are made from the
help, so they are never out of date."""

import functools
import re
import subprocess

ENTRY = re.compile(r"  (-\w)?(?:, )?(--[\w-]+)?(.*)")
HELP_COLUMN = 28


class Option:
    """An option: letter ("-k" or None), name ("--input" or None), argument ("FILE", "" for a switch), optional (whether the argument may
    be omitted), help."""

    def __init__(self, line):
        self.letter, self.name, rest = ENTRY.match(line[:HELP_COLUMN] if line[HELP_COLUMN - 1:HELP_COLUMN] == " " else line).groups()
        self.argument = rest.strip()
        self.optional = rest.startswith("[")
        self.help = line[HELP_COLUMN:].strip() if line[HELP_COLUMN - 1:HELP_COLUMN] == " " else ""

    def add(self, line):
        self.help = f"{self.help} {line.strip()}".strip()


def output_of(rill, *arguments):
    return subprocess.run([rill, *arguments], check=True, capture_output=True, text=True).stdout


@functools.cache
def groups_of(rill, command):
    """Return {title: options} of a help text."""
    groups, options = {}, None
    for line in output_of(rill, command, "--help").split("\n"):
        if re.match(r"[A-Z][^:]*:$", line):
            options = groups.setdefault(line[:-1], [])
        elif options is not None and re.match(r"  -", line):
            options.append(Option(line))
        elif options and line.startswith(" " * HELP_COLUMN):
            options[-1].add(line)
        elif line:
            options = None
    return groups


def commands_of(rill):
    """Return [(name, summary)] of the commands in `rill --help`."""
    part = output_of(rill, "--help").split("\nCommands:\n")[1].split("\n\n")[0]
    return [tuple(line.split(None, 1)) for line in part.split("\n")]


def names_of(rill, kind):
    """Return the names that `rill list KIND` prints, without headings."""
    return re.findall(r"^  ([a-z0-9_-]+)(?=[ :]|$)", output_of(rill, "list", kind), re.M)
