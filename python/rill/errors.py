"""Exceptions: one class for each of rill's status codes that a program may want to tell apart."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from ._native import ffi, lib

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Class = TypeVar("_Class", bound=type)


def renamed(**names: str) -> Callable[[_Class], _Class]:
    """Decorate a class so that reading an attribute by its former name raises AttributeError with the present name."""

    def decorate(cls: _Class) -> _Class:
        def __getattr__(self: object, name: str) -> NoReturn:
            why = f"{cls.__name__}.{name} is now {cls.__name__}.{names[name]}" if name in names else ""
            raise AttributeError(why or f"{cls.__name__!r} object has no attribute {name!r}", name=name, obj=self)

        setattr(cls, "__getattr__", __getattr__)
        return cls

    return decorate


def hook(error: int | None = None) -> Callable[[_Function], _Function]:
    """Define a function that C calls by its name (binding.py); `error` is what C gets if it raises."""

    def define(function: _Function) -> _Function:
        ffi.def_extern(**({} if error is None else {"error": error}))(function)
        return function

    return define


class Error(Exception):
    """The base of rill's exceptions.

    Attributes:
        status: The name of the status code, such as "RILL_ERR_OPTION".
    """

    def __init__(self, message: str, status: str = "") -> None:
        super().__init__(message)
        self.status = status

    def __reduce__(self) -> tuple[type[Error], tuple[str, str]]:
        return type(self), (str(self), self.status)


class OptionError(Error, ValueError):
    """An unknown option, a value out of range, or options that cannot be combined."""


class OptionTypeError(OptionError, TypeError):
    """A value of the wrong type, or an unknown keyword argument."""


class NotFoundError(Error, LookupError):
    """A name or a file that does not exist."""


class FormatError(Error, ValueError):
    """A file that violates its format."""


class FileError(Error, OSError):
    """A failure to read or write a file."""


class InputError(Error, ValueError):
    """An input that cannot be decoded; the other inputs go on."""


class NoHypothesisError(Error):
    """An input whose search ended without any output."""


class CancelledError(Error):
    """An input that was cancelled."""


class DeadlineError(Error, TimeoutError):
    """An input whose deadline passed before the search found any output."""


class OutOfMemoryError(Error, MemoryError):
    """A failed allocation."""


class DeviceError(Error, RuntimeError):
    """A failure of a device, such as a GPU."""


class StaleViewError(Error, RuntimeError):
    """Use of an array of a callback after the callback returned."""


_CLASSES: dict[str, type[Error]] = {
    "RILL_ERR_OPTION": OptionError,
    "RILL_ERR_ARGUMENT": OptionError,
    "RILL_ERR_NOT_FOUND": NotFoundError,
    "RILL_ERR_FORMAT": FormatError,
    "RILL_ERR_IO": FileError,
    "RILL_ERR_INPUT": InputError,
    "RILL_ERR_NO_HYPOTHESIS": NoHypothesisError,
    "RILL_ERR_CANCELLED": CancelledError,
    "RILL_ERR_DEADLINE": DeadlineError,
    "RILL_ERR_MEMORY": OutOfMemoryError,
    "RILL_ERR_DEVICE": DeviceError,
}


def import_numpy_views(purpose: str) -> Any:
    """Import rill.views. Raises ImportError if NumPy is missing. `purpose`: what needs NumPy, for the message."""
    try:
        from . import views
    except ModuleNotFoundError as missing:
        if missing.name != "numpy":
            raise
        why = f"{purpose} needs NumPy, which is not installed: pip install numpy"
        raise ModuleNotFoundError(why, name="numpy") from None
    return views


def c_text(what: str, text: str | bytes | os.PathLike[Any]) -> bytes:
    """Encode a text for C, which ends a text at its first NUL. Raises OptionError if the text has one."""
    if not isinstance(text, (str, bytes, os.PathLike)):
        raise OptionTypeError(f"{what}: a text was expected, found {text!r}", "RILL_ERR_OPTION")
    data = os.fsencode(text) if isinstance(text, os.PathLike) else text.encode() if isinstance(text, str) else text
    if b"\0" in data:
        raise OptionError(f"{what}: there is a NUL in {text!r}", "RILL_ERR_OPTION")
    return data


def error_of(status: int, message: str) -> Error:
    """Make the exception of a status and its message."""
    name = ffi.string(lib.rill_status_name(status)).decode()
    return _CLASSES.get(name, Error)(message or name, name)


def fail(ctx: object, status: int) -> NoReturn:
    """Raise the failure that the context records."""
    raise error_of(status, ffi.string(lib.rill_error(ctx)).decode(errors="replace"))


def check(ctx: object, status: int) -> int:
    """Return the status, or raise the failure that the context records if it is negative."""
    if status < 0:
        fail(ctx, status)
    return status
