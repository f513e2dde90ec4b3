"""Failures: a class for each of rill's status codes that a program may want to tell apart."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from ._native import ffi, lib

_Function = TypeVar("_Function", bound=Callable[..., Any])


def hook(error: int | None = None) -> Callable[[_Function], _Function]:
    """Make a function that C calls by its name (binding.py). error: what C gets should an exception leave it."""

    def define(function: _Function) -> _Function:
        ffi.def_extern(**({} if error is None else {"error": error}))(function)
        return function

    return define


class Error(Exception):
    """A failure of rill's. `status` is the code's name, as "RILL_ERR_OPTION"; the text is a sentence that names what was given."""

    def __init__(self, message: str, status: str = "") -> None:
        super().__init__(message)
        self.status = status

    def __reduce__(self) -> tuple[type[Error], tuple[str, str]]:
        return type(self), (str(self), self.status)


class OptionError(Error, ValueError):
    """An unknown option, a value out of range, or options that contradict each other."""


class OptionTypeError(OptionError, TypeError):
    """A value of a type that the option cannot have."""


class NotFoundError(Error, LookupError):
    """There is no such name or file."""


class FormatError(Error, ValueError):
    """A file is not what its format demands."""


class FileError(Error, OSError):
    """Reading or writing failed."""


class InputError(Error, ValueError):
    """This input cannot be decoded; others can."""


class NoHypothesisError(Error):
    """Every hypothesis of this input died."""


class CancelledError(Error):
    """This input was cancelled."""


class LateError(Error, TimeoutError):
    """The input's deadline came before there was anything to give."""


class MemoryShortError(Error, MemoryError):
    """An allocation failed."""


class DeviceError(Error, RuntimeError):
    """A device failed at its work."""


class StaleViewError(Error, RuntimeError):
    """A view of the engine's memory was used after the call that it was lent for."""


_CLASSES: dict[str, type[Error]] = {
    "RILL_ERR_OPTION": OptionError,
    "RILL_ERR_ARGUMENT": OptionError,
    "RILL_ERR_NOT_FOUND": NotFoundError,
    "RILL_ERR_FORMAT": FormatError,
    "RILL_ERR_IO": FileError,
    "RILL_ERR_INPUT": InputError,
    "RILL_ERR_NO_HYPOTHESIS": NoHypothesisError,
    "RILL_ERR_CANCELLED": CancelledError,
    "RILL_ERR_DEADLINE": LateError,
    "RILL_ERR_MEMORY": MemoryShortError,
    "RILL_ERR_DEVICE": DeviceError,
}


def c_text(what: str, text: str | bytes | os.PathLike[Any]) -> bytes:
    """A text for C, which ends a text at its first NUL: OptionError where it has one."""
    if not isinstance(text, (str, bytes, os.PathLike)):
        raise OptionTypeError(f"{what}: a text was expected, found {text!r}", "RILL_ERR_OPTION")
    data = os.fsencode(text) if isinstance(text, os.PathLike) else text.encode() if isinstance(text, str) else text
    if b"\0" in data:
        raise OptionError(f"{what}: there is a NUL in {text!r}", "RILL_ERR_OPTION")
    return data


def error_of(status: int, message: str) -> Error:
    """The exception for a status and its sentence."""
    name = ffi.string(lib.rill_status_name(status)).decode()
    return _CLASSES.get(name, Error)(message or name, name)


def fail(ctx: object, status: int) -> NoReturn:
    """Raise what the context records."""
    raise error_of(status, ffi.string(lib.rill_error(ctx)).decode(errors="replace"))


def check(ctx: object, status: int) -> int:
    """The status; raises what the context records when it is a failure."""
    if status < 0:
        fail(ctx, status)
    return status
