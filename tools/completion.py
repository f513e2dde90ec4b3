#!/usr/bin/env python3
"""Shell completion of `rill`: commands, their options, and values where there is a choice. Made from the help texts, which are
made from the tables of options.

usage: completion.py RILL bash|zsh OUTPUT
"""

import re
import sys

from help_text import commands_of, groups_of, names_of

# Options whose values `rill list` prints.
LISTED = {"--method": "methods", "--methods": "methods", "--like": "likes", "--scheduler": "schedulers", "--heuristic": "heuristics",
          "--scorer": "scorers", "--domain": "domains", "--metric": "metrics"}
KINDS = "domains methods heuristics scorers schedulers metrics settings likes outputs options actions"
ARGUMENTS = {"info": "folder", "list": KINDS.split(" "), "help": "commands", "convert": ["bin", "marian", "nematus", "fairseq", "ptb"]}


def values(rill, option):
    """Return the completion of an option's value: "file", "folder", a list of words, or None; "" if the option takes no value."""
    if not option.argument or option.optional:
        return ""
    if option.name in LISTED:
        return names_of(rill, LISTED[option.name])
    if re.fullmatch(r"[a-z0-9-]+(\|[a-z0-9-]+)+", option.argument):
        return option.argument.split("|")
    if re.match(r"DIR\b", option.argument):
        return "folder"
    return "file" if re.match(r"(FILE|PATH)", option.argument) else None


def tables(rill):
    """Return [(command, summary, [(names, help, values)])]."""
    for command, summary in commands_of(rill):
        groups = {} if command == "convert" else groups_of(rill, command)
        rows = [([n for n in (o.letter, o.name) if n], o.help, values(rill, o), o.optional) for group in groups.values() for o in group]
        yield command, summary, rows + [(["-h", "--help"], "explain the command", "", False)]


# --- bash -------------------------------------------------------------------------------------------------------------

def bash(rill):
    all_of = list(tables(rill))
    names = " ".join(command for command, _, _ in all_of)
    yield "# bash completion for rill; made by tools/completion.py"
    yield "_rill() {"
    yield '  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]-} options= kind='
    yield "  COMPREPLY=()"
    yield f'  if [ "$COMP_CWORD" -eq 1 ]; then COMPREPLY=($(compgen -W "{names} help --help --version" -- "$word")); return; fi'
    yield '  # "--finish=t" comes in three words'
    yield '  if [ "$word" = "=" ]; then word=; elif [ "$before" = "=" ]; then before=${COMP_WORDS[COMP_CWORD-2]}; fi'
    yield '  case $command in'
    for command, _, rows in all_of:
        yield f"  {command})"
        yield f'    options="{" ".join(name for row in rows for name in row[0])}"'
        yield '    case $before in'
        for words, _, value, _ in rows:
            if value != "":
                yield f'    {"|".join(words)}) kind="{" ".join(value) if isinstance(value, list) else value or "none"}" ;;'
        yield "    esac ;;"
    yield "  esac"
    for command, value in ARGUMENTS.items():
        words = names if value == "commands" else " ".join(value) if isinstance(value, list) else value
        yield f'  if [ "$command" = {command} ] && [ -z "$kind" ] && [ "${{word#-}}" = "$word" ]; then kind="{words}"; fi'
    yield '  if [ -z "$kind" ] && [ "${word#-}" != "$word" ]; then kind=$options; fi'
    yield '  case $kind in'
    yield '  none) ;;'
    yield '  folder) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- "$word")) ;;'
    yield '  file | "") compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$word")) ;;'
    yield '  *) COMPREPLY=($(compgen -W "$kind" -- "$word")) ;;'
    yield "  esac"
    yield "}"
    yield "complete -F _rill rill"


# --- zsh --------------------------------------------------------------------------------------------------------------

def zsh_text(text):
    return re.sub(r"([\[\]:\\])", r"\\\1", text).replace("'", "'\\''")


def zsh_spec(row):
    names, text, value, optional = row
    action = {"folder": ":folder:_files -/", "file": ":file:_files", "": "", None: ":value: "}.get(value) if not isinstance(
        value, list) else f":value:({' '.join(value)})"
    for name in names:
        mark = "=-" if optional and name.startswith("--") else "" if not action else "=" if name.startswith("--") else "+"
        more = "::value: " if optional else action
        yield f"'*{name}{mark}[{zsh_text(text)}]{more}'"


def zsh(rill):
    all_of = list(tables(rill))
    yield "#compdef rill"
    yield "# zsh completion for rill; made by tools/completion.py"
    yield "_rill() {"
    yield "  local -a commands"
    yield "  commands=("
    for command, summary, _ in all_of:
        yield f"    '{command}:{zsh_text(summary)}'"
    yield "    'help:explain a command'"
    yield "  )"
    yield "  if (( CURRENT == 2 )); then"
    yield "    _describe command commands"
    yield "    return"
    yield "  fi"
    yield "  local command=$words[2]"
    yield "  shift words"
    yield "  (( CURRENT-- ))"
    yield "  case $command in"
    for command, _, rows in all_of:
        value = ARGUMENTS.get(command)
        rest = "'*:folder:_files -/'" if value == "folder" else "'*:file:_files'"
        if isinstance(value, list):
            rest = f"'1:word:({' '.join(value)})' '*:file:_files'"
        yield f"  {command})"
        yield "    _arguments -s \\"
        for row in rows:
            for spec in zsh_spec(row):
                yield f"      {spec} \\"
        yield f"      {rest} ;;"
    yield "  help) _arguments '1:command:(" + " ".join(command for command, _, _ in all_of) + ")' ;;"
    yield "  esac"
    yield "}"
    yield '_rill "$@"'


def main():
    rill, shell, output = sys.argv[1:]
    with open(output, "w", encoding="utf-8") as file:
        for line in {"bash": bash, "zsh": zsh}[shell](rill):
            file.write(line + "\n")


main()
