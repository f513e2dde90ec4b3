#!/usr/bin/env python3
"""unique_option_names.py RILL TOOLS: no option name of a command has two meanings, and an option that several commands have is the
same in all.

The help texts are compared. Within a command each name, alias and letter belongs to one option. Across commands an option has the
same argument, and an alias stands for the same option.
"""

import re
import sys

RILL, TOOLS = sys.argv[1:]
sys.path.insert(0, TOOLS)
from help_text import commands_of, groups_of  # noqa: E402

ALIASES = re.compile(r"also ((?:--?[\w-]+(?:, )?)+)")

def words_of(option):
    """Return all names of the option: long name, letter and aliases."""
    found = ALIASES.findall(option.help)
    aliases = re.findall(r"--?[\w-]+", found[-1]) if found else []
    return [option.name or option.letter, *aliases, *filter(None, [option.name and option.letter])]


def main():
    problems, arguments, owners, n = [], {}, {}, 0
    for command, _ in commands_of(RILL):
        if command == "convert":
            continue  # the help of tools written in Python
        seen = {}
        for title, options in groups_of(RILL, command).items():
            for option in options:
                name, *others = words_of(option)
                n += 1
                for word in (name, *others):
                    if word in seen:
                        problems.append(f"{command}: {word} is {seen[word]} and {name} ({title})")
                    seen[word] = name
                    if owners.setdefault(word, (name, command))[0] != name:
                        problems.append(f"{word} is {name} of {command} and {owners[word][0]} of {owners[word][1]}")
                known = arguments.setdefault(name, (option.argument, command))
                if known[0] != option.argument:
                    problems.append(f"{name} takes {option.argument!r} in {command} and {known[0]!r} in {known[1]}")
    print(*problems, sep="\n")
    print(f"{n} options, {len(owners)} names, {len(problems)} problems")
    return bool(problems) or n < 100


sys.exit(main())
