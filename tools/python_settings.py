#!/usr/bin/env python3
"""Write python/rill/settings.py, the types of the Python package's keyword arguments, from the option tables of the installed package.

usage: python_settings.py [OUTPUT]    OUTPUT: default python/rill/settings.py; "-": standard output

Run it after a change of an option, with the Python that has the package: build-python/venv/bin/python after
tests/python/install_and_test.sh.
tests/python/test_settings.py fails while the file differs from the tables.
"""

import inspect
import pathlib
import sys
import textwrap

import rill
from rill import tables
from rill.context import make_context

ROOT = pathlib.Path(__file__).resolve().parents[1]
WIDTH = 140
HEAD = '''"""Types of the keyword arguments that are options. tools/python_settings.py writes this file from the option tables."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypedDict

if TYPE_CHECKING:
    from .callbacks import Heuristic, Scheduler, Scorer
'''
TYPES = {
    "int": "int",
    "float": "float",
    "bool": "bool",
    "bytes": "int | str",
    "text": "str",
    "path": "str | os.PathLike[str]",
}
CHAINS = {
    "heuristic": "str | Heuristic | Sequence[str | Heuristic]",
    "scorer": "str | Scorer | Sequence[str | Scorer]",
    "scheduler": "str | Scheduler",
}
# Options with text values for which Python also accepts numbers or bools.
TEXTS = {"alignment": "bool | float | str"}


def type_of(option):
    """Return the type annotation of an option."""
    if option.name in CHAINS:
        return CHAINS[option.name]
    if option.type == "word":
        return f"Literal[{', '.join(repr(word) for word in option.argument.split('|'))}]".replace("'", '"')
    if tables.is_chain(option.name):
        value = "str | os.PathLike[str]" if option.type == "path" else "float | str"
        return f"{value} | Sequence[{value}]"
    return TEXTS.get(option.name, TYPES[option.type])


def members(options, without=()):
    """Yield the lines of a TypedDict: each option with its help, each alias with its option's name."""
    for option in options:
        help_text = option.help.replace("\\", "\\\\").replace('"""', "'''")
        if option.initial:
            help_text += f" (default: {option.initial})"
        help_text = help_text[0].upper() + help_text[1:] + "."
        texts = {option.name: help_text, **{alias: f"The same as {option.name}." for alias in option.aliases}}
        for name, text in texts.items():
            if name not in without and name.isidentifier():
                yield f"    {name}: {type_of(option)} | None"
                yield textwrap.fill(f'"""{text}', WIDTH - 3, initial_indent="    ", subsequent_indent="    ") + '"""'


def main():
    context = make_context()
    options = tables.all_options(context)
    run = [option for option in options if option.kind != "model"]
    request = [option for option in options if tables.is_of_requests(option.name)] + tables.input_options(context)
    model = [option for option in options if option.kind == "model"]
    parameters = inspect.signature(rill.Model.__init__).parameters
    parts = [
        HEAD,
        "",
        "class RequestSettings(TypedDict, total=False):",
        '    """Settings of one input: keyword arguments of rill.Request()."""',
        "",
        *members(request),
        "",
        "",
        "class Settings(TypedDict, total=False):",
        '    """Settings of a run: keyword arguments of Model.stream(), decode() and score()."""',
        "",
        *members(run),
        "",
        "",
        "class ModelSettings(Settings, total=False):",
        '    """Options of opening a model, and defaults of Settings: keyword arguments of rill.Model()."""',
        "",
        *members(model, parameters),
    ]
    text = "\n".join(parts) + "\n"
    output = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "python" / "rill" / "settings.py")
    if output == "-":
        sys.stdout.write(text)
    else:
        pathlib.Path(output).write_text(text, encoding="utf-8")


main()
