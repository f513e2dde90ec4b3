"""Functions in Python that the engine calls: heuristics, scorers, schedulers and traces.

librill calls one C function per kind (binding.py) with the handle of a Hook, which has the Python function and its run. An
exception ends the run, and the call that advanced the run raises it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from . import errors, kinds
from ._native import ffi, lib
from .errors import hook


_NOTHING = ffi.new("char[]", b"")


class Hooks:
    """The handles and tables that C borrows for one run, and the first exception of one of the run's functions."""

    def __init__(self) -> None:
        self.failure: BaseException | None = None
        self._kept: list[Any] = []

    def keep(self, *things: Any) -> None:
        """Keep objects alive as long as the run."""
        self._kept.extend(things)

    def handle(self, function: Any) -> Any:
        """Make a handle of the function and this run."""
        handle = ffi.new_handle(Hook(self, function))
        self.keep(handle)
        return handle

    def register(self, ctx: Any, chain: str, function: Any) -> str:
        """Register a heuristic, scorer or scheduler in a context that only this run uses, and return its name for options."""
        name = f"python-{len(self._kept)}"
        text = ffi.new("char[]", name.encode())
        summary = ffi.new("char[]", b"a function in Python")
        maker = {"heuristic": _heuristic, "scorer": _scorer, "scheduler": _scheduler}[chain]
        table = maker(self.handle(function), function)
        table.table.abi_version = lib.RILLPY_ABI_VERSION
        table.table.struct_size = ffi.sizeof(table.table)
        table.table.name = text
        table.table.summary = summary
        self.keep(table, text, summary)
        add = {
            "heuristic": lib.rill_register_heuristic,
            "scorer": lib.rill_register_scorer,
            "scheduler": lib.rill_register_scheduler,
        }[chain]
        errors.check(ctx, add(ctx, ffi.addressof(table.table)))
        return name

    def take_failure(self) -> BaseException | None:
        """Return and forget the exception of a function, or None."""
        failure, self.failure = self.failure, None
        return failure

    def raise_failure(self) -> None:
        """Raise the exception of a function, if there was one."""
        failure = self.take_failure()
        if failure is not None:
            raise failure


class Hook(NamedTuple):
    """A function and its run."""

    hooks: Hooks
    function: Any

    def failed(self, error: BaseException) -> int:
        """Keep the function's exception, and return the status for C."""
        if self.hooks.failure is None:
            self.hooks.failure = error
        return int(lib.RILL_ERR_STOPPED)


def _heuristic(handle: Any, function: Any) -> Any:
    if not callable(function):
        raise errors.OptionTypeError(f"heuristic: a text or a function was expected, found {function!r}", "RILL_ERR_OPTION")
    errors.import_numpy_views("a heuristic in Python")
    table = ffi.new("rillpy_heuristic *")
    lib.rillpy_heuristic_init(table, handle)
    table.table.arguments = _NOTHING
    table.table.apply = lib.rillpy_apply
    return table


def _scorer(handle: Any, function: Any) -> Any:
    if not callable(function):
        raise errors.OptionTypeError(f"scorer: a text or a function was expected, found {function!r}", "RILL_ERR_OPTION")
    views = errors.import_numpy_views("a scorer in Python")
    table = ffi.new("rillpy_scorer *")
    lib.rillpy_scorer_init(table, handle)
    table.table.arguments = _NOTHING
    table.table.score = lib.rillpy_score
    table.table.state_bytes = views.state_bytes(function)
    return table


def _scheduler(handle: Any, function: Any) -> Any:
    if not (callable(getattr(function, "choose", None)) and callable(getattr(function, "refill", None))):
        raise errors.OptionTypeError(
            f"scheduler: a text or an object with choose() and refill() was expected, found {function!r}", "RILL_ERR_OPTION"
        )
    errors.import_numpy_views("a scheduler in Python")
    table = ffi.new("rillpy_scheduler *")
    lib.rillpy_scheduler_init(table, handle)
    table.table.choose = lib.rillpy_choose
    table.table.refill = lib.rillpy_refill
    table.table.overdue_first = bool(getattr(function, "overdue_first", False))
    return table


def _nothing(what: str, value: Any) -> None:
    if value is not None:
        raise TypeError(f"a {what} in Python writes to its arguments and returns None: it returned {value!r}")


@hook(error=-11)
def rillpy_apply(self: Any, candidates: Any) -> int:
    """rill_heuristic.apply"""
    from . import views

    called: Hook = ffi.from_handle(self)
    try:
        with views.Candidates(candidates) as lent:
            _nothing("heuristic", called.function(lent))
    except BaseException as error:
        return called.failed(error)
    return 0


@hook(error=-11)
def rillpy_score(self: Any, rows: Any, modifiers: Any) -> int:
    """rill_scorer.score"""
    from . import views

    called: Hook = ffi.from_handle(self)
    try:
        with views.ScorerRows(rows, views.state_type(called.function)) as lent, views.Modifiers(modifiers) as lent_modifiers:
            _nothing("scorer", called.function(lent, lent_modifiers))
    except BaseException as error:
        return called.failed(error)
    return 0


@hook(error=-11)
def rillpy_choose(self: Any, view: Any, order: Any, count: Any) -> int:
    """rill_scheduler.choose"""
    from . import views

    called: Hook = ffi.from_handle(self)
    try:
        with views.SchedView(view) as lent:
            chosen = [kinds.whole("choose()", index) for index in called.function.choose(lent)]
            if sorted(set(chosen)) != sorted(chosen) or not all(0 <= index < view.n for index in chosen):
                raise ValueError(f"choose() returned {chosen}: indexes of items in flight, 0 to {view.n - 1}, each once, were expected")
            order[0 : len(chosen)] = chosen
            count[0] = len(chosen)
    except BaseException as error:
        return called.failed(error)
    return 0


@hook(error=-11)
def rillpy_refill(self: Any, view: Any, admit: Any) -> int:
    """rill_scheduler.refill"""
    from . import views

    called: Hook = ffi.from_handle(self)
    try:
        with views.SchedView(view) as lent:
            admit[0] = kinds.whole("refill()", called.function.refill(lent))
    except BaseException as error:
        return called.failed(error)
    return 0


class TraceEvent(NamedTuple):
    """An event of a trace.

    Attributes:
        kind: "timestep", or "admitted", "finished" or "sent_back" of an item.
        timestep: The run's timestep, from 0.
        item: The number of the item; -1 if `kind` is "timestep".
        outputs: The number of outputs of a finished item.
        rows: The number of hypotheses that the timestep expanded.
        in_flight: The number of items in flight in the timestep.
        items: The numbers of the timestep's items. The lists are empty for all other kinds.
        depths: The number of earlier timesteps of each item.
        widths_before: The number of live hypotheses of each item before expansion.
        widths_merged: The number of candidates of each item before pruning.
        widths_after: The number of candidates of each item that became the new beam.
    """

    kind: str
    timestep: int
    item: int
    outputs: int
    rows: int
    in_flight: int
    items: list[int]
    depths: list[int]
    widths_before: list[int]
    widths_merged: list[int]
    widths_after: list[int]


_KINDS = {
    lib.RILL_TRACE_ADMITTED: "admitted",
    lib.RILL_TRACE_TIMESTEP: "timestep",
    lib.RILL_TRACE_FINISHED: "finished",
    lib.RILL_TRACE_RESTARTED: "sent_back",
}


def read_event(event: Any) -> TraceEvent:
    """Copy one borrowed event."""
    step = event.kind == lib.RILL_TRACE_TIMESTEP

    def many(array: Any) -> list[int]:
        return list(ffi.unpack(array, event.n)) if step and event.n else []

    return TraceEvent(
        kind=_KINDS.get(event.kind, str(event.kind)),
        timestep=event.timestep,
        item=-1 if step else event.item_id,
        outputs=event.outputs if event.kind == lib.RILL_TRACE_FINISHED else 0,
        rows=event.rows if step else 0,
        in_flight=event.in_flight if step else 0,
        items=many(event.items),
        depths=many(event.depths),
        widths_before=many(event.widths_before),
        widths_merged=many(event.widths_merged),
        widths_after=many(event.widths_after),
    )


@hook()
def rillpy_trace(self: Any, event: Any) -> None:
    """rill_trace_fn"""
    called: Hook = ffi.from_handle(self)
    try:
        called.function(read_event(event))
    except BaseException as error:
        called.failed(error)
