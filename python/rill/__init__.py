"""rill: fast beam search for translation models, parsers and your own models.

    import rill

    model = rill.Model("examples/models/de-en")
    for result in model.stream(["Ein Hund läuft.", "Zwei Katzen schlafen."]):
        print(result.text)

rill.Model opens a model, its stream() and decode() decode, rill.Request is an input with its own settings, and rill.options() lists all
settings. The guide is docs/guides/python.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._native import ffi as _ffi
from ._native import lib as _lib
from . import errors as _errors
from . import tables as _tables

from .callbacks import Heuristic, Scheduler, Scorer, Trace
from .context import make_context as _make_context
from .domain import Domain
from .errors import (
    CancelledError,
    DeviceError,
    Error,
    FileError,
    FormatError,
    InputError,
    DeadlineError,
    OutOfMemoryError,
    NoHypothesisError,
    NotFoundError,
    OptionError,
    OptionTypeError,
    StaleViewError,
)
from .hooks import TraceEvent
from .model import Info, Model
from .tables import Option
from .request import Request
from .results import Output, Result
from .settings import ModelSettings, RequestSettings, Settings
from .stream import Stream

__version__: str = _ffi.string(_lib.RILL_VERSION_STRING).decode()

#: Arguments of functions and domains in Python: arrays, so these classes need NumPy and are imported at first use.
_VIEWS = ("Candidates", "DomainRows", "Modifiers", "SchedView", "ScorerRows")
_FORMER = {
    "LateError": "DeadlineError",
    "MemoryShortError": "OutOfMemoryError",
    "Beams": "Candidates",
    "Flight": "SchedView",
}

if TYPE_CHECKING:
    from .views import Candidates, DomainRows, Modifiers, SchedView, ScorerRows
else:

    def __getattr__(name: str) -> object:
        if name in _VIEWS:
            return getattr(_errors.import_numpy_views(f"rill.{name}"), name)
        if name in _FORMER:
            raise AttributeError(f"rill.{name} is now rill.{_FORMER[name]}")
        raise AttributeError(f"module 'rill' has no attribute {name!r}")


__all__ = [
    "CancelledError",
    "Candidates",
    "DeadlineError",
    "DeviceError",
    "Domain",
    "DomainRows",
    "Error",
    "FileError",
    "FormatError",
    "Heuristic",
    "Info",
    "InputError",
    "Model",
    "ModelSettings",
    "Modifiers",
    "NoHypothesisError",
    "NotFoundError",
    "Option",
    "OptionError",
    "OptionTypeError",
    "OutOfMemoryError",
    "Output",
    "Request",
    "RequestSettings",
    "Result",
    "SchedView",
    "Scheduler",
    "Scorer",
    "ScorerRows",
    "Settings",
    "StaleViewError",
    "Stream",
    "Trace",
    "TraceEvent",
    "options",
    "processors",
]


def options() -> list[Option]:
    """List all options: settings of the search, what outputs have besides their text, and options of opening a model.

    Returns:
        The options, in the order of the tables.
    """
    ctx = _make_context()
    try:
        return _tables.all_options(ctx)
    finally:
        _lib.rill_context_destroy(ctx)


def processors() -> int:
    """Count the processors that this process may use.

    Returns:
        The number.
    """
    return int(_lib.rill_processors())
