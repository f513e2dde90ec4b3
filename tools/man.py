#!/usr/bin/env python3
"""The manual page: docs/rill.1.in with the options of every command filled in from its help text.

usage: man.py RILL TEMPLATE OUTPUT

`@version` becomes what `RILL --version` prints. A line `@options COMMAND GROUP` becomes that group of `RILL COMMAND --help`, an
entry per option. The lines after it, up to `@end`, add paragraphs to entries, each after `@note OPTION`. A note without its
option, and a group that the command lacks, are errors, so the page cannot be older than the program. Lines from `@when COMMAND` to
`@done` are about a command that only some builds have.
"""

import subprocess
import sys

from help_text import commands_of, groups_of


def escape(text):
    """Escape a text for roff."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return "\\&" + text if text[:1] in ".'" else text


def roff(option, notes):
    names = ", ".join(f"\\fB{escape(n)}\\fR" for n in (option.letter, option.name) if n)
    argument = f"{'' if option.optional else ' '}\\fI{escape(option.argument)}\\fR" if option.argument else ""
    sentence = option.help[:1].upper() + option.help[1:]
    return [".TP", names + argument, escape(sentence) + "."] + notes


def read_notes(lines):
    """Read {option: lines} up to @end."""
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


def drop_absent(rill, lines):
    """Leave out the lines between @when and @done for commands that this build lacks, and these marks themselves."""
    dropped = False
    for line in lines:
        if line.startswith("@when "):
            dropped = line[6:] not in dict(commands_of(rill))
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
            yield from roff(option, notes.pop(option.name or option.letter, []))
        if notes:
            raise SystemExit(f"man.py: {title} of `rill {command}` has no option {', '.join(notes)}")


def main():
    rill, template, output = sys.argv[1:]
    version = subprocess.run([rill, "--version"], stdout=subprocess.PIPE, check=True, text=True).stdout.strip()
    with open(template, encoding="utf-8") as file:
        text = "\n".join(fill(rill, file.read().replace("@version", version)))
    with open(output, "w", encoding="utf-8") as file:
        file.write(text)


main()
