"""Type checks of arguments: whole numbers, numbers, switches, texts. A wrong type raises OptionTypeError, which is a TypeError.

NumPy scalars and similar objects (tensors with one element) are converted by their item().
"""

from __future__ import annotations

import functools
import inspect
import operator
import os
import reprlib
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

from .errors import OptionTypeError

Signed = int  # annotation of whole numbers that may be negative
_Function = TypeVar("_Function", bound=Callable[..., Any])


def _wrong(what: str, expected: str, value: Any) -> OptionTypeError:
    return OptionTypeError(f"{what}: {expected} was expected, found {reprlib.repr(value)}", "RILL_ERR_OPTION")


def plain(value: Any) -> Any:
    """Convert a NumPy scalar to a Python number; return any other value unchanged."""
    item = getattr(value, "item", None)
    return item() if callable(item) and getattr(value, "ndim", 1) == 0 else value


def whole(what: str, value: Any, switches: bool = False) -> int:
    """Check a whole number. switches: accept True and False."""
    found = plain(value)
    if isinstance(found, bool) and not switches:
        raise _wrong(what, "a whole number", value)
    try:
        return operator.index(found)
    except TypeError:
        raise _wrong(what, "a whole number", value) from None


def number(what: str, value: Any, switches: bool = False) -> float:
    """Check a number."""
    found = plain(value)
    if isinstance(found, bool) and not switches or isinstance(found, (str, bytes)) or hasattr(found, "ndim"):
        raise _wrong(what, "a number", value)
    try:
        return float(found)
    except (TypeError, OverflowError):
        raise _wrong(what, "a number", value) from None


def switch(what: str, value: Any) -> bool:
    """Check a switch, True or False; 0, 1 and None are accepted."""
    found = plain(value)
    if found is not None and not isinstance(found, (int, float)):
        raise _wrong(what, "True or False", value)
    return bool(found)


def text(what: str, value: Any) -> str:
    """Check a text."""
    if not isinstance(value, str):
        raise _wrong(what, "a text", value)
    return value


def path(what: str, value: Any) -> str:
    """Check a path."""
    if not isinstance(value, (str, bytes, os.PathLike)):
        raise _wrong(what, "a path", value)
    return os.fsdecode(value)


def paths(what: str, value: Any) -> list[str]:
    """Check a list of paths."""
    if isinstance(value, (str, bytes, os.PathLike)) or not isinstance(value, Iterable):
        raise _wrong(what, "a list of paths", value)
    return [path(what, one) for one in value]


def function(what: str, value: Any) -> Any:
    """Check a function."""
    if not callable(value):
        raise _wrong(what, "a function", value)
    return value


def _counted(what: str, value: Any) -> int:
    found = whole(what, value, switches=True)
    if not 0 <= found < 2**64:
        raise _wrong(what, "a whole number from 0", value)
    return found


def _word(what: str, value: Any) -> str:
    return text(what, value.decode(errors="replace") if isinstance(value, bytes) else value)


def _optional(kind: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    return lambda what, value: None if value is None else kind(what, value)


_OF_ANNOTATIONS: dict[str, Callable[[str, Any], Any]] = {
    "int": _counted,
    "Signed": lambda what, value: whole(what, value, switches=True),
    "float": lambda what, value: number(what, value, switches=True),
    "bool": switch,
    "str": _word,
    "str | os.PathLike[str]": path,
}
_OF_ANNOTATIONS |= {f"{name} | None": _optional(kind) for name, kind in _OF_ANNOTATIONS.items()}


def by_annotation(annotations: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Convert arguments by their annotations: "int" (not negative), "float", "bool", "str", or one of these or None."""
    kinds = {name: _OF_ANNOTATIONS.get(str(annotations.get(name))) for name in given}
    return {name: value if (kind := kinds[name]) is None else kind(name, value) for name, value in given.items()}


def typed(function: _Function) -> _Function:
    """Decorate a function so that its arguments are converted by_annotation()."""
    names = [name for name in inspect.signature(function).parameters]

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        first = by_annotation(function.__annotations__, dict(zip(names, args)))
        return function(*first.values(), *args[len(names) :], **by_annotation(function.__annotations__, kwargs))

    return cast(_Function, call)
