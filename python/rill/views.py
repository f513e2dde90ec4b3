"""The arguments of functions and domains in Python: members of C structs, with arrays as NumPy arrays.

Attributes are the members of a C struct (rill/heuristic.h, rill/scorer.h, rill/scheduler.h, rill/domain.h). Numbers are int or
float; arrays are Views: NumPy arrays that copy the engine's.

When the function returns, rill reads back the arrays that it may write. Any later use of a View raises StaleViewError; np.array(view)
makes a copy to keep. np.asarray(view) and memoryview(view) copy too: writing to them does not reach the engine.
"""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from . import errors, kinds
from ._native import ffi, lib

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_UNCHECKED = frozenset({"_loan", "__class__", "__array_finalize__", "__dict__"})


class Loan:
    """The time during which the views of a call may be used; `over` ends it."""

    __slots__ = ("over",)

    def __init__(self) -> None:
        self.over = False

    def check(self) -> None:
        """Raise StaleViewError if the call has ended."""
        if self.over:
            raise errors.StaleViewError("the view is valid only during the call that got it; np.array(view) makes a copy to keep")


class View(np.ndarray[Any, Any]):
    """An array of a call, or a slice of one."""

    _loan: Loan | None

    def __array_finalize__(self, parent: Any) -> None:
        # Slices of a borrowed array expire with it. Results of arithmetic own their memory and become plain arrays (__array_ufunc__).
        self._loan = object.__getattribute__(parent, "__dict__").get("_loan") if isinstance(parent, View) else None

    def __getattribute__(self, name: str) -> Any:
        if name not in _UNCHECKED:
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
    """Turn the views among arguments into arrays. Raises StaleViewError if one is stale."""
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
    """Return the value as an array. Raises OptionError if NumPy would wrap or round a number to store it as an integer of type dtype."""
    array = np.asarray(value)
    if np.dtype(dtype).kind in "iu" and array.size and array.dtype.kind != "b":
        minimum, maximum = np.iinfo(dtype).min, np.iinfo(dtype).max
        fits = array.dtype.kind in "iuf" and array.min() >= minimum and array.max() <= maximum
        if not fits or array.dtype.kind == "f" and (array != np.floor(array)).any():
            raise errors.OptionError(f"whole numbers from {minimum} to {maximum} were expected, found {value!r}", "RILL_ERR_OPTION")
    return array


def _whole(value: Any) -> Any:
    """Return row or action numbers as an array of int32."""
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
    """Copy the memory at a C pointer."""
    wide = writable and dtype is None  # int64, so that written numbers do not wrap
    dtype = dtype or _TYPES[ffi.typeof(pointer).item.cname]
    count = 1
    for size in shape:
        count *= size
    if count == 0 or pointer == ffi.NULL:
        array = np.zeros(shape if count == 0 else (0,), dtype)
    else:
        array = np.frombuffer(ffi.buffer(ffi.cast("char *", pointer), count * dtype.itemsize), dtype).reshape(shape)
        array = array.astype(np.int64 if wide else dtype)
    array.flags.writeable = writable  # set on the owner of the memory, so that no view of a read-only array can be made writable
    view = array.view(View)
    view._loan = loan
    return view


_Lent = TypeVar("_Lent", bound="Lent")


class Lent:
    """The members of a C struct, during one call."""

    _arrays: dict[str, str] = {}
    _numbers: tuple[str, ...] = ()
    _written: frozenset[str] = frozenset()

    def __init__(self, struct: Any) -> None:
        self._struct = struct
        self._loan = Loan()
        self._made: dict[str, Any] = {}
        self._back: list[tuple[str, Any, Any]] = []  # pointers, and the arrays to be written there at the end of the call

    def __enter__(self: _Lent) -> _Lent:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self._loan.over = True
        for name, pointer, array in self._back if kind is None else ():
            narrow: Any = _TYPES[ffi.typeof(pointer).item.cname] if name in self._written else array.dtype
            if name in self._written and not (array.min() >= 0 and array.max() <= np.iinfo(narrow).max):
                why = f"{name}: whole numbers from 0 to {np.iinfo(narrow).max} were expected, found {array.tolist()}"
                raise errors.OptionError(why, "RILL_ERR_OPTION")
            data = np.ascontiguousarray(array.astype(narrow))
            ffi.memmove(pointer, data, data.nbytes)

    def _array(self, name: str, pointer: Any, shape: tuple[int, ...], writable: bool, dtype: Any = None) -> Any:
        """Return the array of a name; it is made once."""
        if name not in self._made:
            view = self._made[name] = over(pointer, shape, self._loan, writable, dtype)
            if writable and view.size:
                self._back.append((name, pointer, view.view(np.ndarray)))
        return self._made[name]

    def _length(self, name: str) -> int:
        return int(self._struct.n)

    if not TYPE_CHECKING:  # for type checkers, the subclasses declare their members

        def __getattr__(self, name: str) -> object:
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
    """Find the arrays of numbers in a struct; each has the name of its length."""
    found = {}
    for name, field in ffi.typeof(struct).fields:
        if field.type.kind == "pointer" and field.type.item.cname.replace("const ", "") in _TYPES:
            found[name] = lengths.get(name, default)
    return found


def _numbers_of(struct: str) -> tuple[str, ...]:
    return tuple(name for name, field in ffi.typeof(struct).fields if field.type.kind == "primitive" and name != "struct_size")


class Candidates(Lent):
    """The argument of a heuristic: the candidates of n items (rill_candidates).

    Item i has the candidates offset[i] to offset[i + 1] - 1, best first. A heuristic writes keep, width and stop. What it does to an item
    may depend on that item's entries alone.

    Attributes:
        n: The number of items.
        phase: The domain's phase.
        offset: [n + 1] The first candidate of each item, and the end.
        item_id: [n] The input's number.
        k: [n] The beam size.
        timestep: [n] The item's timestep, from 0.
        outputs: [n] The number of outputs found.
        best_output_score: [n] The score of the best output found.
        best_path_score: [n] The path_score of the best candidate.
        path_score: [candidates] logp plus what scorers add.
        action_logp: [candidates] The log-probability of the last action.
        parent_rank: [candidates] The parent's place in the beam.
        action: [candidates] The last action (of a text model, the token id).
        ended: [candidates] 1 if the candidate has ended.
        keep: [candidates] 1; write 0 to drop a candidate.
        width: [n] The largest number of candidates that stay.
        stop: [n] 0; write 1 to end the item's search.
    """

    n: int
    phase: int
    offset: NDArray[np.int32]
    item_id: NDArray[np.int64]
    k: NDArray[np.int32]
    timestep: NDArray[np.int32]
    outputs: NDArray[np.int32]
    best_output_score: NDArray[np.float64]
    best_path_score: NDArray[np.float64]
    path_score: NDArray[np.float64]
    action_logp: NDArray[np.float32]
    parent_rank: NDArray[np.int32]
    action: NDArray[np.int32]
    ended: NDArray[np.uint8]
    keep: NDArray[np.int64]
    width: NDArray[np.int64]
    stop: NDArray[np.int64]

    _arrays = _arrays_of(
        "rill_candidates",
        {name: "all" for name in ("path_score", "action_logp", "parent_rank", "action", "ended", "keep")} | {"offset": "n+1"},
    )
    _numbers = _numbers_of("rill_candidates")
    _written = frozenset({"keep", "width", "stop"})

    def _length(self, name: str) -> int:
        n = int(self._struct.n)
        return n if name == "n" else n + 1 if name == "n+1" else int(self._struct.offset[n])

    def items(self) -> NDArray[np.int64]:
        """Find the item of each candidate.

        Returns:
            [candidates] The index of the item, from 0.
        """
        return np.repeat(np.arange(self.n), np.diff(self.offset))


class SchedView(Lent):
    """The argument of a scheduler: the items in flight, in order of admission (rill_sched_view).

    Attributes:
        n: The number of items in flight.
        batch: The batch size.
        max_items: The largest number of items in flight.
        budget: The largest number of hypotheses in a batch, 0: no limit.
        refill: The refill threshold.
        waiting: The number of inputs that wait.
        timesteps: The number of timesteps so far.
        k: The beam size.
        item_id: [n] The input's number.
        timestep: [n] The item's timestep, from 0.
        width: [n] The number of live hypotheses.
        size: [n] The size of the input.
        refill_index: [n] The number of the refill that admitted the item.
    """

    n: int
    batch: int
    max_items: int
    budget: int
    refill: float
    waiting: int
    timesteps: int
    k: int
    item_id: NDArray[np.int64]
    timestep: NDArray[np.int32]
    width: NDArray[np.int32]
    size: NDArray[np.int64]
    refill_index: NDArray[np.int64]

    _arrays = _arrays_of("rill_sched_view", {})
    _numbers = _numbers_of("rill_sched_view")


class ScorerRows(Lent):
    """The first argument of a scorer: the hypotheses that are about to be expanded, one a row (rill_scorer_rows).

    Attributes:
        n: The number of rows.
        phase: The domain's phase.
        item_id: [n] The input's number.
        timestep: [n] The item's timestep, from 0.
        rank: [n] The hypothesis's place in the beam.
        path_score: [n] logp plus what scorers added so far.
    """

    n: int
    phase: int
    item_id: NDArray[np.int64]
    timestep: NDArray[np.int32]
    rank: NDArray[np.int32]
    path_score: NDArray[np.float64]

    _arrays = {name: "n" for name in ("item_id", "timestep", "rank", "path_score")}
    _numbers = ("n", "phase")

    def __init__(self, struct: Any, state: Any = None) -> None:
        super().__init__(struct)
        self._state = state

    @property
    def state(self) -> NDArray[np.generic]:
        """[n] The scorer's state of each hypothesis, of its state_type, a NumPy type of plain data.

        On entry a row has the state of the parent hypothesis (all zero in an item's first timestep); the scorer writes the row's own.
        """
        self._loan.check()
        if self._state is None:
            raise AttributeError("the scorer has no state: set its attribute state_type")
        return cast("View", self._array("state", self._struct.state, (self.n,), True, self._state))

    @property
    def actions(self) -> int:
        """The size of the vocabulary."""
        self._loan.check()
        return int(self._struct.info.actions)

    @property
    def end_action(self) -> int | None:
        """The id of the end token, None if the model has none."""
        self._loan.check()
        return int(self._struct.info.end_action) if self._struct.info.has_end_action else None

    def _row(self, row: int) -> int:
        self._loan.check()
        row = kinds.whole("row", row)
        if not 0 <= row < self._struct.n:
            raise IndexError(f"row {row} of {self._struct.n}")
        return row

    def text(self, row: int) -> str:
        """Return the text of a row's input.

        Args:
            row: The number of the row.
        """
        row = self._row(row)
        return str(ffi.unpack(self._struct.text[row], self._struct.text_length[row]).decode(errors="replace"))

    def path(self, row: int) -> NDArray[np.int32]:
        """Copy the actions of a row's hypothesis, oldest first.

        Args:
            row: The number of the row.

        Returns:
            [length] The actions (of a text model, the token ids).
        """
        row = self._row(row)
        n = lib.rillpy_path(self._struct, row, ffi.NULL, 0)
        out = np.empty(n, np.int32)
        lib.rillpy_path(self._struct, row, ffi.cast("int32_t *", out.ctypes.data), n)
        return out


class DomainRows(Lent):
    """The rows of a domain's step() and score(): one a state (rill_rows).

    Attributes:
        n: The number of rows.
        phase: The domain's phase.
        group: 0 or 1: the micro-batch: which of two timesteps that overlap.
        node: [n] The state to make, or to read.
        parent: [n] The node of the parent hypothesis, -1 if the input begins.
        state_parent: [n] The state that `node` extends, -1 if the input begins.
        action: [n] The action that extends it, -1 if the input begins.
        slot: [n] The slot of the input.
        depth: [n] The number of earlier timesteps of the input.
    """

    n: int
    phase: int
    group: int
    node: NDArray[np.int32]
    parent: NDArray[np.int32]
    state_parent: NDArray[np.int32]
    action: NDArray[np.int32]
    slot: NDArray[np.int32]
    depth: NDArray[np.int32]

    _arrays = _arrays_of("rill_rows", {})
    _numbers = _numbers_of("rill_rows")


def as_table(table: Any, shape: tuple[int, int]) -> Any:
    """Return the result of a domain's score() as C reads it: float32 in rows. A torch tensor on the CPU is not copied."""
    if hasattr(table, "detach"):
        table = table.detach().cpu().float().numpy()
    table = np.ascontiguousarray(_plain(table), np.float32)
    if table.shape != shape:
        raise ValueError(f"score() returned an array of shape {list(table.shape)}; [rows, actions] = {list(shape)} was expected")
    return table


def state_type(function: Any) -> Any:
    """Return the NumPy type of a scorer's state, or None."""
    dtype_given = getattr(function, "state_type", None)
    if dtype_given is None:
        return None
    dtype = np.dtype(dtype_given)
    if dtype.hasobject:
        raise errors.OptionError(f"scorer: state_type {dtype} has Python objects; plain data was expected", "RILL_ERR_OPTION")
    return dtype


def state_bytes(function: Any) -> int:
    """Return the size of a scorer's state in bytes."""
    dtype = state_type(function)
    return 0 if dtype is None else int(dtype.itemsize)


class Modifiers(Lent):
    """The second argument of a scorer: changes to the scores of the rows (rill_modifiers_*, rill/scorer.h).

    Rows, actions and values are numbers, or arrays of one length.
    """

    def _check(self, status: int) -> None:
        if status < 0:
            raise errors.error_of(status, "the row or the action does not exist, or the value is not a number")

    def _modify(self, what: int, row: ArrayLike, action: ArrayLike, value: ArrayLike) -> None:
        self._loan.check()
        arguments = _whole(_plain(row)), _whole(_plain(action)), _plain(value)
        if np.asarray(arguments[2]).dtype.kind not in "iuf":
            raise errors.OptionTypeError(f"numbers were expected, found {value!r}", "RILL_ERR_OPTION")
        rows, actions, values = np.broadcast_arrays(*(np.atleast_1d(one) for one in arguments))
        rows, actions = (np.ascontiguousarray(array, np.int32) for array in (rows, actions))
        values = np.ascontiguousarray(values, np.float32)
        pointers = [ffi.cast("int32_t *", array.ctypes.data) for array in (rows, actions)]
        self._check(lib.rillpy_modify(self._struct, what, rows.size, *pointers, ffi.cast("float *", values.ctypes.data)))

    def add(self, row: ArrayLike, action: ArrayLike, value: ArrayLike) -> None:
        """Add to scores.

        Args:
            row: The number of the row.
            action: The action (of a text model, the token id).
            value: The value to add.
        """
        self._modify(0, row, action, value)

    def scale(self, row: ArrayLike, action: ArrayLike, factor: ArrayLike) -> None:
        """Multiply log-probabilities by factors above 0.

        Args:
            row: The number of the row.
            action: The action (of a text model, the token id).
            factor: The factor.
        """
        self._modify(1, row, action, factor)

    def ban(self, row: ArrayLike, action: ArrayLike) -> None:
        """Ban actions.

        Args:
            row: The number of the row.
            action: The action (of a text model, the token id).
        """
        self._modify(2, row, action, 0)

    def allow(self, row: ArrayLike, action: ArrayLike) -> None:
        """Ban all other actions of the rows.

        Args:
            row: The number of the row.
            action: The action (of a text model, the token id).
        """
        self._modify(3, row, action, 0)

    def allow_none(self, row: int) -> None:
        """Ban all actions, so that the row's hypothesis ends without an output.

        Args:
            row: The number of the row.
        """
        self._loan.check()
        self._check(lib.rill_modifiers_allow_none(self._struct, kinds.whole("row", row)))

    def refuse(self, row: int, why: str) -> None:
        """Fail the input of the row; the other inputs go on.

        Args:
            row: The number of the row.
            why: The message of its InputError.
        """
        self._loan.check()
        self._check(lib.rill_modifiers_fail_input(self._struct, kinds.whole("row", row), errors.c_text("why", why)))

    def end(self, row: int, forbidden: bool = False, required: bool = False) -> None:
        """Forbid the end token, or all others.

        Args:
            row: The number of the row.
            forbidden: True to forbid the end token.
            required: True to forbid all others.
        """
        self._loan.check()
        rule = lib.RILL_END_FORBIDDEN if kinds.switch("forbidden", forbidden) else 0
        rule |= lib.RILL_END_REQUIRED if kinds.switch("required", required) else 0
        self._check(lib.rill_modifiers_end_rule(self._struct, kinds.whole("row", row), rule))

    def reward(self, row: int, value: float) -> None:
        """Add to the score of every token except the end token.

        Args:
            row: The number of the row.
            value: The value to add.
        """
        self._loan.check()
        self._check(lib.rill_modifiers_reward(self._struct, kinds.whole("row", row), kinds.number("value", value)))

    def end_reward(self, row: int, value: float) -> None:
        """Add to the score of the end token.

        Args:
            row: The number of the row.
            value: The value to add.
        """
        self._loan.check()
        self._check(lib.rill_modifiers_end_reward(self._struct, kinds.whole("row", row), kinds.number("value", value)))

    def limit(self, row: int, max_choices: int) -> None:
        """Limit how many of the row's best tokens become candidates.

        Args:
            row: The number of the row.
            max_choices: The limit.
        """
        self._loan.check()
        self._check(lib.rill_modifiers_limit_children(self._struct, kinds.whole("row", row), kinds.whole("max_choices", max_choices)))
