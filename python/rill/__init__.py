"""rill: streaming batched beam search.

    import rill

    model = rill.Model("examples/models/de-en")
    for result in model.stream(["Ein Hund läuft.", "Zwei Katzen schlafen."]):
        print(result.text)

Model opens, Model.stream() and Model.decode() decode, Request asks for something of its own, options() lists all settings. The rest of the
documentation is docs/guides/python.md.
"""

from __future__ import annotations

from . import tables as _tables
from ._native import ffi as _ffi
from ._native import lib as _lib
from .domain import Domain
from .errors import (
    CancelledError,
    DeviceError,
    Error,
    FileError,
    FormatError,
    InputError,
    LateError,
    MemoryShortError,
    NoHypothesisError,
    NotFoundError,
    OptionError,
    OptionTypeError,
    StaleViewError,
)
from .hooks import TraceEvent
from .model import Info, Model
from .opened import make_context as _make_context
from .tables import Option
from .results import Output, Result
from .stream import Request, Stream

__version__: str = _ffi.string(_lib.RILL_VERSION_STRING).decode()

__all__ = [
    "CancelledError",
    "DeviceError",
    "Domain",
    "Error",
    "FileError",
    "FormatError",
    "Info",
    "InputError",
    "LateError",
    "MemoryShortError",
    "Model",
    "NoHypothesisError",
    "NotFoundError",
    "Option",
    "OptionError",
    "OptionTypeError",
    "Output",
    "Request",
    "Result",
    "StaleViewError",
    "Stream",
    "TraceEvent",
    "options",
    "processors",
]


def options() -> list[Option]:
    """All that can be set by name: settings, chains, what outputs have besides texts, and the options of domains."""
    ctx = _make_context()
    try:
        return _tables.of_tables(ctx)
    finally:
        _lib.rill_context_destroy(ctx)


def processors() -> int:
    """Processors that this process may use."""
    return int(_lib.rill_processors())


del _ffi
