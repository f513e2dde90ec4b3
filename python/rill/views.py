"""The engine's arrays as NumPy sees them: copies, for the time of a call.

What a heuristic, scorer, policy or domain in Python is handed is a Lent: its attributes are the members of the C struct of the same name
(rill/heuristic.h, rill/scorer.h, rill/scheduler.h, rill/domain.h), numbers as int or float and arrays as View, a NumPy array of its own
memory. What a function is to write is read of it when the function returns. When the call is over all of them are stale: whatever is done
with one raises StaleViewError, for it says nothing of what comes next. np.array(view) makes a copy that stays; what np.asarray(view),
memoryview(view) and the like give stays too, and nothing that is done to it after the call reaches the engine.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any

import numpy as np

from . import errors, kinds
from ._native import ffi, lib

_MINE = frozenset({"_loan", "__class__", "__array_finalize__", "__dict__"})


class Loan:
    """Whether what was lent may still be used."""

    __slots__ = ("over",)

    def __init__(self) -> None:
        self.over = False

    def check(self) -> None:
        """Raise when it may not."""
        if self.over:
            raise errors.StaleViewError("this view of the engine's memory was lent for one call, which is over; np.array(view) copies")


class View(np.ndarray[Any, Any]):
    """An array over the engine's memory, and all that is cut out of it."""

    _loan: Loan | None

    def __array_finalize__(self, parent: Any) -> None:
        # What shares the memory shares the loan; results of arithmetic own theirs, and are let go in __array_ufunc__.
        self._loan = object.__getattribute__(parent, "__dict__").get("_loan") if isinstance(parent, View) else None

    def __getattribute__(self, name: str) -> Any:
        if name not in _MINE:
            loan = object.__getattribute__(self, "__dict__").get("_loan")
            if loan is not None:
                loan.check()
        return super().__getattribute__(name)

    def _live(self) -> None:
        if self._loan is not None:
            self._loan.check()

    def __getitem__(self, key: Any) -> Any:
        self._live()
        return super().__getitem__(_plain(key))

    def __setitem__(self, key: Any, value: Any) -> None:
        self._live()
        value = _plain(value)
        _fit(value, self.dtype)
        super().__setitem__(_plain(key), value)

    def __len__(self) -> int:
        self._live()
        return super().__len__()

    def __iter__(self) -> Any:
        self._live()
        return super().__iter__()

    def __repr__(self) -> str:
        self._live()
        return super().__repr__()

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        out = kwargs.get("out")
        if out is not None:
            kwargs["out"] = tuple(_plain(array) for array in out)
        answer = getattr(ufunc, method)(*(_plain(array) for array in inputs), **kwargs)
        return out[0] if out is not None and len(out) == 1 else answer

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return func(*_plain(args), **_plain(kwargs))


def _plain(value: Any) -> Any:
    """Views among a call's arguments as arrays, once they are found to be live."""
    if isinstance(value, View):
        value._live()
        return value.view(np.ndarray)
    if isinstance(value, tuple):
        return tuple(_plain(one) for one in value)
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return value


def _fit(value: Any, dtype: Any) -> Any:
    """The value as an array; raises OptionError where NumPy would wrap or round a number to store it as a whole one of type dtype."""
    array = np.asarray(value)
    if np.dtype(dtype).kind in "iu" and array.size and array.dtype.kind != "b":
        least, greatest = np.iinfo(dtype).min, np.iinfo(dtype).max
        fits = array.dtype.kind in "iuf" and array.min() >= least and array.max() <= greatest
        if not fits or array.dtype.kind == "f" and (array != np.floor(array)).any():
            raise errors.OptionError(f"whole numbers from {least} to {greatest} were expected, found {value!r}", "RILL_ERR_OPTION")
    return array


def _whole(value: Any) -> Any:
    """Numbers of rows or actions as an array of int32."""
    array = _fit(value, np.int32)
    if array.size and array.dtype.kind not in "iu":
        raise errors.OptionError(f"whole numbers were expected, found {value!r}", "RILL_ERR_OPTION")
    return array


_TYPES = {
    "int32_t": np.dtype(np.int32),
    "int64_t": np.dtype(np.int64),
    "uint8_t": np.dtype(np.uint8),
    "uint64_t": np.dtype(np.uint64),
    "float": np.dtype(np.float32),
    "double": np.dtype(np.float64),
}


def over(pointer: Any, shape: tuple[int, ...], loan: Loan, writable: bool = False, dtype: Any = None) -> View:
    """A copy of the memory at a pointer of C's."""
    wide = writable and dtype is None  # so wide that what is written does not wrap
    dtype = dtype or _TYPES[ffi.typeof(pointer).item.cname]
    count = 1
    for size in shape:
        count *= size
    if count == 0 or pointer == ffi.NULL:
        array = np.zeros(shape if count == 0 else (0,), dtype)
    else:
        array = np.frombuffer(ffi.buffer(ffi.cast("char *", pointer), count * dtype.itemsize), dtype).reshape(shape)
        array = array.astype(np.int64 if wide else dtype)
    array.flags.writeable = writable  # of the owner of the memory: no view can be made writable that is not
    view = array.view(View)
    view._loan = loan
    return view


class Lent:
    """Members of a C struct, for one call."""

    _arrays: dict[str, str] = {}
    _numbers: tuple[str, ...] = ()
    _written: frozenset[str] = frozenset()

    def __init__(self, struct: Any) -> None:
        self._struct = struct
        self._loan = Loan()
        self._made: dict[str, Any] = {}
        self._back: list[tuple[str, Any, Any]] = []  # pointers, and the arrays to be read at the call's end

    def __enter__(self) -> Any:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self._loan.over = True
        for name, pointer, array in self._back if kind is None else ():
            narrow: Any = _TYPES[ffi.typeof(pointer).item.cname] if name in self._written else array.dtype
            if name in self._written and not (array.min() >= 0 and array.max() <= np.iinfo(narrow).max):
                why = f"{name}: whole numbers from 0 to {np.iinfo(narrow).max} were expected, found {array.tolist()}"
                raise errors.OptionError(why, "RILL_ERR_OPTION")
            told = np.ascontiguousarray(array.astype(narrow))
            ffi.memmove(pointer, told, told.nbytes)

    def _array(self, name: str, pointer: Any, shape: tuple[int, ...], writable: bool, dtype: Any = None) -> Any:
        """The array of that name, made once."""
        if name not in self._made:
            view = self._made[name] = over(pointer, shape, self._loan, writable, dtype)
            if writable and view.size:
                self._back.append((name, pointer, view.view(np.ndarray)))
        return self._made[name]

    def _length(self, name: str) -> int:
        return int(self._struct.n)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        self._loan.check()
        if name in self._numbers:
            return getattr(self._struct, name)
        if name not in self._arrays:
            raise AttributeError(f"{type(self).__name__} has no member {name}")
        return self._array(name, getattr(self._struct, name), (self._length(self._arrays[name]),), name in self._written)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._numbers, *self._arrays]


def _arrays_of(struct: str, lengths: dict[str, str], default: str = "n") -> dict[str, str]:
    """The arrays of numbers in a struct, each with what its length is called."""
    found = {}
    for name, field in ffi.typeof(struct).fields:
        if field.type.kind == "pointer" and field.type.item.cname.replace("const ", "") in _TYPES:
            found[name] = lengths.get(name, default)
    return found


def _numbers_of(struct: str) -> tuple[str, ...]:
    return tuple(name for name, field in ffi.typeof(struct).fields if field.type.kind == "primitive" and name != "struct_size")


class Beams(Lent):
    """The candidates of n items (rill_candidates): item i has entries [offset[i], offset[i+1]), best first.

    n, phase: numbers. offset [n+1]. Of items, [n]: item_id, k, timestep, outputs, best_output_score, best_path_score. Of candidates,
    [offset[n]]: path_score, action_logp, parent_rank, action, ended. To be written, as int64: keep, 1 for each candidate, 0 drops it;
    width [n], how many stay at the most; stop [n], 1 ends the item. What is done to an item must follow from its own entries alone.
    """

    _arrays = _arrays_of(
        "rill_candidates",
        {name: "all" for name in ("path_score", "action_logp", "parent_rank", "action", "ended", "keep")} | {"offset": "n+1"},
    )
    _numbers = _numbers_of("rill_candidates")
    _written = frozenset({"keep", "width", "stop"})

    def _length(self, name: str) -> int:
        n = int(self._struct.n)
        return n if name == "n" else n + 1 if name == "n+1" else int(self._struct.offset[n])

    def items(self) -> Any:
        """[offset[n]] the item of each candidate."""
        return np.repeat(np.arange(self.n), np.diff(self.offset))


class Flight(Lent):
    """The items in flight (rill_sched_view), in order of admission. [n]: item_id, timestep, width, size, refill_index; numbers: n, batch,
    max_items, budget, refill, waiting, timesteps, k."""

    _arrays = _arrays_of("rill_sched_view", {})
    _numbers = _numbers_of("rill_sched_view")


class Rows(Lent):
    """The rows about to be scored (rill_scorer_rows). n, phase: numbers; [n]: item_id, timestep, rank, path_score.

    state: [n] what the scorer keeps of each hypothesis, where it says `state_type`, a NumPy type of plain data: in, of the hypothesis that
    the row's extends; to be written, of the row's own. All zero for an item's first.
    """

    _arrays = {name: "n" for name in ("item_id", "timestep", "rank", "path_score")}
    _numbers = ("n", "phase")

    def __init__(self, struct: Any, state: Any = None) -> None:
        super().__init__(struct)
        self._state = state

    @property
    def state(self) -> Any:
        """[n] of the scorer's state_type."""
        self._loan.check()
        if self._state is None:
            raise AttributeError("the scorer keeps nothing of hypotheses: it has no state_type")
        return self._array("state", self._struct.state, (self.n,), True, self._state)

    @property
    def actions(self) -> int:
        """How many actions the model has."""
        self._loan.check()
        return int(self._struct.info.actions)

    @property
    def end_action(self) -> int | None:
        """The action that ends a hypothesis; None where there is none."""
        self._loan.check()
        return int(self._struct.info.end_action) if self._struct.info.has_end_action else None

    def _row(self, row: int) -> int:
        self._loan.check()
        row = kinds.whole("row", row)
        if not 0 <= row < self._struct.n:
            raise IndexError(f"row {row} of {self._struct.n}")
        return row

    def text(self, row: int) -> str:
        """The input of a row, as it was given."""
        row = self._row(row)
        return str(ffi.unpack(self._struct.text[row], self._struct.text_length[row]).decode(errors="replace"))

    def path(self, row: int) -> Any:
        """[length] the actions of a row's hypothesis, oldest first: a copy."""
        row = self._row(row)
        room = lib.rillpy_path(self._struct, row, ffi.NULL, 0)
        out = np.empty(room, np.int32)
        lib.rillpy_path(self._struct, row, ffi.cast("int32_t *", out.ctypes.data), room)
        return out


class RowViews(Lent):
    """Rows of a domain's call (rill_rows). n: a number; [n]: node, the state to be made or read; parent, state_parent and action, -1 where
    an input begins; slot, the input's; depth, timesteps that it has had."""

    _arrays = _arrays_of("rill_rows", {})
    _numbers = _numbers_of("rill_rows")


def as_table(table: Any, shape: tuple[int, int]) -> Any:
    """What a domain's score() gave, as C reads it: float32 in rows. A tensor of torch's on the processor is read where it lies."""
    if hasattr(table, "detach"):
        table = table.detach().cpu().float().numpy()
    table = np.ascontiguousarray(_plain(table), np.float32)
    if table.shape != shape:
        raise ValueError(f"score() gave an array of shape {list(table.shape)}; {list(shape)}, rows and actions, was expected")
    return table


def state_type(function: Any) -> Any:
    """The NumPy type of what a scorer keeps of hypotheses; None where it keeps nothing."""
    wanted = getattr(function, "state_type", None)
    if wanted is None:
        return None
    dtype = np.dtype(wanted)
    if dtype.hasobject:
        raise errors.OptionError(f"scorer: state_type {dtype} has objects in it; plain data was expected", "RILL_ERR_OPTION")
    return dtype


def state_bytes(function: Any) -> int:
    """Its size in bytes."""
    dtype = state_type(function)
    return 0 if dtype is None else int(dtype.itemsize)


class Ask(Lent):
    """What a scorer says of rows (rill_modifiers_*, rill/scorer.h). Rows, actions and values are numbers, or arrays that go together."""

    def _check(self, status: int) -> None:
        if status < 0:
            raise errors.error_of(status, "the scorer named a row or an action that there is not, or no number")

    def _say(self, what: int, row: Any, action: Any, value: Any) -> None:
        self._loan.check()
        said = _whole(_plain(row)), _whole(_plain(action)), _plain(value)
        if np.asarray(said[2]).dtype.kind not in "iuf":
            raise errors.OptionTypeError(f"numbers were expected, found {value!r}", "RILL_ERR_OPTION")
        rows, actions, values = np.broadcast_arrays(*(np.atleast_1d(one) for one in said))
        rows, actions = (np.ascontiguousarray(array, np.int32) for array in (rows, actions))
        values = np.ascontiguousarray(values, np.float32)
        pointers = [ffi.cast("int32_t *", array.ctypes.data) for array in (rows, actions)]
        self._check(lib.rillpy_say(self._struct, what, rows.size, *pointers, ffi.cast("float *", values.ctypes.data)))

    def add(self, row: Any, action: Any, value: Any) -> None:
        """Add to the scores of actions."""
        self._say(0, row, action, value)

    def scale(self, row: Any, action: Any, factor: Any) -> None:
        """Multiply log-probabilities of actions by factors above 0."""
        self._say(1, row, action, factor)

    def ban(self, row: Any, action: Any) -> None:
        """Forbid actions."""
        self._say(2, row, action, 0)

    def allow(self, row: Any, action: Any) -> None:
        """Restrict rows to the actions so named."""
        self._say(3, row, action, 0)

    def allow_none(self, row: int) -> None:
        """Let the row's hypothesis die."""
        self._loan.check()
        self._check(lib.rill_modifiers_allow_none(self._struct, kinds.whole("row", row)))

    def refuse(self, row: int, why: str) -> None:
        """Fail the row's input alone, with that message."""
        self._loan.check()
        self._check(lib.rill_modifiers_fail_input(self._struct, kinds.whole("row", row), errors.c_text("why", why)))

    def end(self, row: int, forbidden: bool = False, required: bool = False) -> None:
        """Forbid ending, or require it."""
        self._loan.check()
        rule = lib.RILL_END_FORBIDDEN if kinds.switch("forbidden", forbidden) else 0
        rule |= lib.RILL_END_REQUIRED if kinds.switch("required", required) else 0
        self._check(lib.rill_modifiers_end_rule(self._struct, kinds.whole("row", row), rule))

    def reward(self, row: int, value: float) -> None:
        """Add to the score of every action but the end action."""
        self._loan.check()
        self._check(lib.rill_modifiers_reward(self._struct, kinds.whole("row", row), kinds.number("value", value)))

    def end_reward(self, row: int, value: float) -> None:
        """Add to the score of the end action."""
        self._loan.check()
        self._check(lib.rill_modifiers_end_reward(self._struct, kinds.whole("row", row), kinds.number("value", value)))

    def limit(self, row: int, most: int) -> None:
        """Keep no more than the best `most` choices of the row."""
        self._loan.check()
        self._check(lib.rill_modifiers_limit_children(self._struct, kinds.whole("row", row), kinds.whole("most", most)))
