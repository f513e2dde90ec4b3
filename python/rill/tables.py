"""Options by name: what the engine's own tables say can be set, and keyword arguments on their way there.

No option is listed here. A keyword is a name of rill_setting_table(), rill_chain_table(), rill_output_table() or of a domain's options,
with "_" for "-"; what the tables do not know is refused with the nearest name that they do.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from . import errors, kinds
from ._native import ffi, lib

#: What a keyword argument may be: text, a number, a switch, a path; for chains a function too, or a list of these; None: not said.
Value = Any
Chains = dict[str, list[Any]]

_CHAIN_IDS = {
    "heuristic": lib.RILL_CHAIN_HEURISTICS,
    "scorer": lib.RILL_CHAIN_SCORERS,
    "policy": lib.RILL_CHAIN_SCHEDULER,
}


class Option(NamedTuple):
    """A row of rill's tables.

    `kind` is "search" (answers depend on it), "schedule" (no answer does), "output" or "model". `argument` is what a value is called, for
    words all of them with bars between, "" for a switch; `initial` is the default in words.
    """

    name: str
    argument: str
    initial: str
    help: str
    kind: str


def _text(value: Any) -> str:
    return str(ffi.string(value).decode()) if value else ""


def _rows(table: Any) -> Iterator[Any]:
    i = 0
    while table and table[i].name:
        yield table[i]
        i += 1


def _option(row: Any) -> Option:
    kinds = {
        lib.RILL_OPTION_SEARCH: "search",
        lib.RILL_OPTION_SCHEDULE: "schedule",
        lib.RILL_OPTION_OUTPUT: "output",
        lib.RILL_OPTION_MODEL: "model",
    }
    name = _text(row.name).replace("-", "_")
    return Option(name, _text(row.argument), _text(row.initial), _text(row.help), kinds[row.kind])


def of_tables(ctx: Any) -> list[Option]:
    """All rows that a context knows: settings, chains, outputs, and the options of each domain."""
    rows = [*_rows(lib.rill_setting_table()), *_rows(lib.rill_chain_table()), *_rows(lib.rill_output_table())]
    i = 0
    while domain := lib.rill_domain_at(ctx, i):
        rows += _rows(domain.options)
        i += 1
    return list({option.name: option for option in map(_option, rows)}.values())


_NUMBERS = {lib.RILL_OPTION_INT: "a whole number", lib.RILL_OPTION_REAL: "a number", lib.RILL_OPTION_BYTES: "a number of bytes"}


def text_of(name: str, value: Value, row: Any = None, switches: bool = True) -> str:
    """A value as the tables read it. row: of the option, if it has one; switches: whether True and False may be values."""
    found, wanted = kinds.plain(value), _NUMBERS.get(row.type) if row else None
    if isinstance(found, bool) and wanted is None and switches:
        return "1" if found else "0"
    if isinstance(found, (int, float)) and not isinstance(found, bool):
        if isinstance(found, int) or wanted != "a whole number":
            return repr(found)
    elif isinstance(found, str):
        return str(found)
    elif isinstance(found, os.PathLike):
        return os.fsdecode(found)
    wanted = wanted or "a text, a number, a path or True/False"
    raise errors.OptionTypeError(f"{name}: {wanted} was expected, found {value!r}", "RILL_ERR_OPTION")


def is_model_option(ctx: Any, name: str) -> bool:
    """Whether the name is an option of a domain's, which is said when a model is opened."""
    row = lib.rill_option_row(ctx, errors.c_text("settings", name))
    return bool(row) and row.kind == lib.RILL_OPTION_MODEL


def is_chain(name: str) -> bool:
    """Whether values of that name add up to a list: prune_absolute, heuristic, scorer, policy ..."""
    return bool(lib.rill_option_find(lib.rill_chain_table(), errors.c_text("settings", name)))


def setting_name(name: str) -> str:
    """The name with "_" of the setting that has this name or alias; of what is no setting the name itself with "_"."""
    row = lib.rill_option_find(lib.rill_setting_table(), errors.c_text("settings", name))
    return (_text(row.name) if row else name).replace("-", "_")


def is_heuristic(name: str) -> bool:
    """Whether values of that name are heuristics: prune_absolute, heuristic ..."""
    return is_chain(name) and _CHAIN_IDS.get(name, lib.RILL_CHAIN_HEURISTICS) == lib.RILL_CHAIN_HEURISTICS


def as_list(value: Value) -> list[Any]:
    """A chain's value as a list of elements."""
    value = kinds.plain(value)
    if isinstance(value, (str, bytes, os.PathLike)) or callable(value) or not isinstance(value, Iterable):
        return [value]
    return list(value)


#: Called with a chain's name and an object in Python; gives the name under which it was registered.
Register = Callable[[str, Any], str]


def fill(ctx: Any, layer: Any, said: Mapping[str, Value], register: Register | None) -> None:
    """Say in a layer what keyword arguments say.

    register: makes elements of chains of Python's functions; None: none may be given
    """
    for name, value in said.items():
        if value is None:
            continue
        if not is_chain(name):
            row = lib.rill_option_row(ctx, errors.c_text("settings", name))
            text = "" if value is True and name == "alignment" else text_of(name, value, row)
            errors.check(ctx, lib.rill_option_source_set(layer, name.encode(), errors.c_text(name, text)))
            continue
        elements = as_list(value)
        chain = _CHAIN_IDS.get(name, lib.RILL_CHAIN_HEURISTICS)
        if not elements:
            lib.rill_option_source_set_chain(layer, chain)
        for element in elements:
            if register is not None and name in _CHAIN_IDS and not isinstance(element, (str, bytes, int, float, os.PathLike)):
                errors.check(ctx, lib.rill_option_source_add_to_chain(layer, chain, register(name, element).encode(), b""))
            else:
                errors.check(ctx, lib.rill_option_source_set(layer, name.encode(), errors.c_text(name, text_of(name, element,
                switches=False))))
