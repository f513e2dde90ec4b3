"""Options by name: the engine's own tables, and keyword arguments on their way to the engine.

A keyword argument is a name or alias in rill_setting_table(), rill_chain_table(), rill_output_table() or a domain's tables, with
"_" for "-". An unknown one is refused with the nearest known name.
"""

from __future__ import annotations

import difflib
import functools
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from . import errors, kinds
from ._native import ffi, lib
from .context import make_context

#: A keyword argument's value: text, number, bool or path; for heuristics, scorers and schedulers also a function, or a list; None:
#: not set.
Value = Any

_CHAIN_IDS = {
    "heuristic": lib.RILL_CHAIN_HEURISTICS,
    "scorer": lib.RILL_CHAIN_SCORERS,
    "scheduler": lib.RILL_CHAIN_SCHEDULER,
}
_KINDS = {
    lib.RILL_OPTION_SEARCH: "search",
    lib.RILL_OPTION_SCHEDULE: "schedule",
    lib.RILL_OPTION_OUTPUT: "output",
    lib.RILL_OPTION_MODEL: "model",
}
_TYPES = {
    lib.RILL_OPTION_INT: "int",
    lib.RILL_OPTION_REAL: "float",
    lib.RILL_OPTION_SWITCH: "bool",
    lib.RILL_OPTION_WORD: "word",
    lib.RILL_OPTION_BYTES: "bytes",
    lib.RILL_OPTION_TEXT: "text",
    lib.RILL_OPTION_PATH: "path",
}

#: Arguments of other calls, other toolkits and former versions, and for each the message with the argument to use instead.
_ELSEWHERE = {
    "timeout": "timeout= belongs to one input: rill.Request(text, timeout=...)",
    "deadline": "a limit of time belongs to one input, in seconds: rill.Request(text, timeout=...)",
    "settings": "settings are keyword arguments: model.decode(inputs, beam_size=5)",
    "options": "options are keyword arguments: model.decode(inputs, beam_size=5)",
    "return_scores": "every output has score, path_score and logp: leave return_scores= out",
    "output_scores": "every output has score, path_score and logp: leave output_scores= out",
    "intra_threads": "intra_threads= is threads= here: rill.Model(path, threads=...)",
    "cpu_threads": "cpu_threads= is workers= here, threads side by side, or threads= within operations: rill.Model(path, workers=...)",
    "inter_threads": "inter_threads= is workers= here: rill.Model(path, workers=...)",
    "num_workers": "num_workers= is workers= here: rill.Model(path, workers=...)",
    "workers": "workers= belongs to a model: rill.Model(path, workers=...)",
    "threads": "threads= belongs to a model: rill.Model(path, threads=...)",
    "jobs": "jobs= is workers= here: rill.Model(path, workers=...)",
    "seconds": "seconds= is now timeout=: rill.Request(text, timeout=...)",
    "user": "user= is now tag=: rill.Request(text, tag=...)",
    "ahead": "ahead= is now prefetch=: model.stream(inputs, prefetch=...)",
}


class Option(NamedTuple):
    """An option: a row of rill's tables.

    Attributes:
        name: The keyword argument.
        argument: What help calls the value; all words of a "word", with bars between; "" of a "bool".
        initial: The default, in words.
        help: One sentence.
        kind: "search" if answers depend on it, "schedule" if only speed and memory do, "output" if it chooses what outputs have, "model"
            if it is an option of opening a model.
        type: "int", "float", "bool", "word", "bytes", "text" or "path".
        aliases: Other names of the same option.
    """

    name: str
    argument: str
    initial: str
    help: str
    kind: str
    type: str
    aliases: tuple[str, ...]

    def __repr__(self) -> str:
        value = f"={self.argument}" if self.argument else ""
        default = f", default {self.initial}" if self.initial else ""
        return f"<rill.Option {self.name}{value}: {self.help}{default}>"


def _text(value: Any) -> str:
    return str(ffi.string(value).decode()) if value else ""


def _rows(table: Any) -> Iterator[Any]:
    i = 0
    while table and table[i].name:
        yield table[i]
        i += 1


def _option(row: Any) -> Option:
    aliases = _text(getattr(row, "aliases", None)).replace("-", "_").split()
    name = _text(row.name).replace("-", "_")
    texts = _text(row.argument), _text(row.initial), _text(row.help)
    return Option(name, *texts, _KINDS[row.kind], _TYPES[row.type], tuple(aliases))


def _domains(ctx: Any) -> Iterator[Any]:
    i = 0
    while domain := lib.rill_domain_at(ctx, i):
        yield domain
        i += 1


def all_options(ctx: Any) -> list[Option]:
    """Return all options that a context knows: settings, heuristics, scorers and scheduler (chain options), outputs, and those of each
    domain."""
    rows = [*_rows(lib.rill_setting_table()), *_rows(lib.rill_chain_table()), *_rows(lib.rill_output_table())]
    for domain in _domains(ctx):
        rows += _rows(domain.options)
    return list({option.name: option for option in map(_option, rows)}.values())


def input_options(ctx: Any) -> list[Option]:
    """Return the options of domains that a single request may set."""
    rows = [row for domain in _domains(ctx) for row in _rows(lib.rill_domain_input_rows(domain))]
    return list({option.name: option for option in map(_option, rows)}.values())


def is_of_requests(name: str) -> bool:
    """Tell whether a single request may set the setting of this name."""
    row = lib.rill_option_find(lib.rill_setting_table(), name.encode())
    return bool(row) and bool(lib.rill_setting_is_per_request(row))


_plugin_names: set[str] = set()


def _names_of(ctx: Any) -> set[str]:
    return {name for option in all_options(ctx) + input_options(ctx) for name in (option.name, *option.aliases)}


@functools.cache
def _builtin_names() -> frozenset[str]:
    ctx = make_context()
    try:
        return frozenset(_names_of(ctx))
    finally:
        lib.rill_context_destroy(ctx)


def add_plugin_names(ctx: Any) -> None:
    """Accept from now on, in requests too, the options of a context that has loaded plugins."""
    _plugin_names.update(_names_of(ctx))


def check_names(given: Iterable[str], arguments: Iterable[str]) -> None:
    """Refuse unknown keyword arguments.

    Args:
        given: The names of the settings among the keyword arguments of a call.
        arguments: The names of the call's other keyword arguments.

    Raises:
        OptionTypeError: One of them is unknown; the message has the nearest known name.
    """
    for name in given:
        key = name.replace("-", "_")
        if key not in _builtin_names() and key not in _plugin_names:
            errors.c_text("settings", name)
            raise errors.OptionTypeError(_ELSEWHERE.get(key) or _unknown(name, key, arguments), "RILL_ERR_OPTION")


def _unknown(name: str, key: str, arguments: Iterable[str]) -> str:
    near = difflib.get_close_matches(key, list(arguments), 1, 0.75)
    if near:
        return f'unknown keyword argument "{name}": did you mean "{near[0]}"?'
    ctx, out = make_context(), ffi.new("rill_option_source **")
    try:  # the engine's own sentence
        errors.check(ctx, lib.rill_option_source_create(out, ctx, lib.RILL_FROM_USER))
        lib.rill_option_source_set(out[0], name.encode(), b"1")
        lib.rill_option_source_free(out[0])
        sentence = _text(lib.rill_error(ctx)) or f'unknown keyword argument "{name}"'
        return re.sub(r'(?<=did you mean ")[^"]*', lambda near: near[0].replace("-", "_"), sentence)
    finally:
        lib.rill_context_destroy(ctx)


_NUMBERS = {lib.RILL_OPTION_INT: "a whole number", lib.RILL_OPTION_REAL: "a number", lib.RILL_OPTION_BYTES: "a number of bytes"}


def text_of(name: str, value: Value, row: Any = None, switches: bool = True) -> str:
    """Return a value as text that the option tables parse. row: the option's row, if it has one; switches: accept True and False."""
    found, expected = kinds.plain(value), _NUMBERS.get(row.type) if row else None
    if isinstance(found, bool) and expected is None and switches:
        return "1" if found else "0"
    if isinstance(found, (int, float)) and not isinstance(found, bool):
        if isinstance(found, int) or expected != "a whole number":
            return repr(found)
    elif isinstance(found, str):
        return str(found)
    elif isinstance(found, os.PathLike):
        return os.fsdecode(found)
    expected = expected or "a text, a number, a path or True/False"
    raise errors.OptionTypeError(f"{name}: {expected} was expected, found {value!r}", "RILL_ERR_OPTION")


def is_model_option(ctx: Any, name: str) -> bool:
    """Tell whether the name is an option of a domain, which belongs to rill.Model()."""
    row = lib.rill_option_row(ctx, errors.c_text("settings", name))
    return bool(row) and row.kind == lib.RILL_OPTION_MODEL


def is_chain(name: str) -> bool:
    """Tell whether the option takes a list: prune_absolute, heuristic, scorer, scheduler ..."""
    return bool(lib.rill_option_find(lib.rill_chain_table(), errors.c_text("settings", name)))


def setting_name(name: str) -> str:
    """Return the setting's main name for a name or an alias, with "_" for "-"; any other name is returned with "_" for "-"."""
    row = lib.rill_option_find(lib.rill_setting_table(), errors.c_text("settings", name))
    return (_text(row.name) if row else name).replace("-", "_")


def is_heuristic(name: str) -> bool:
    """Tell whether the option adds heuristics: prune_absolute, heuristic ..."""
    return is_chain(name) and _CHAIN_IDS.get(name, lib.RILL_CHAIN_HEURISTICS) == lib.RILL_CHAIN_HEURISTICS


def as_list(value: Value) -> list[Any]:
    """Return the value of a chain option (heuristics, scorers, scheduler) as a list of elements."""
    value = kinds.plain(value)
    if isinstance(value, (str, bytes, os.PathLike)) or callable(value) or not isinstance(value, Iterable):
        return [value]
    return list(value)


#: Registers a Python object for an option (heuristics, scorers, scheduler). Returns the registered name.
Register = Callable[[str, Any], str]


def fill(ctx: Any, source: Any, settings: Mapping[str, Value], register: Register | None) -> None:
    """Set keyword arguments in an option source.

    Args:
        ctx: The source's context.
        source: The source.
        settings: The keyword arguments.
        register: Registers a function in Python as a heuristic, scorer or scheduler; None: functions are refused.
    """
    for name, value in settings.items():
        if value is None:
            continue
        if not is_chain(name):
            row = lib.rill_option_row(ctx, errors.c_text("settings", name))
            text = "" if value is True and name == "alignment" else text_of(name, value, row)
            errors.check(ctx, lib.rill_option_source_set(source, name.encode(), errors.c_text(name, text)))
            continue
        elements = as_list(value)
        chain = _CHAIN_IDS.get(name, lib.RILL_CHAIN_HEURISTICS)
        if not elements:
            lib.rill_option_source_set_chain(source, chain)
        for element in elements:
            if register is not None and name in _CHAIN_IDS and not isinstance(element, (str, bytes, int, float, os.PathLike)):
                errors.check(ctx, lib.rill_option_source_add_to_chain(source, chain, register(name, element).encode(), b""))
            else:
                errors.check(ctx, lib.rill_option_source_set(source, name.encode(), errors.c_text(name, text_of(name, element,
                switches=False))))
