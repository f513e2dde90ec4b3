"""Domains in Python: whatever is built one action at a time, with its arithmetic in NumPy, torch or plain Python.

A Domain is a table of methods, as rill_domain is (rill/domain.h). The engine owns hypotheses and the numbers of their states; the domain
owns what lies behind a number, in arrays of its own with a row for each node:

    class Speller(rill.Domain):
        name, actions, end_action = "speller", 27, 0

        def encode(self, text, slot): ...             # what the input is: kept under its slot
        def step(self, rows): ...                     # states[rows.node] from states[rows.state_parent] and rows.action
        def score(self, rows): return table           # [n, actions] log-probabilities, -inf where an action is not legal
        def text(self, actions, slot): return "..."   # what the user reads

    model = rill.Model(domain=Speller())

Rows of a call are any nodes of any inputs; what comes of a row must depend on that row alone.
"""

from __future__ import annotations

from typing import Any, ClassVar

from . import errors, kinds
from ._native import ffi, lib
from .errors import hook
from .hooks import Hook, Hooks


class Domain:
    """A domain in Python: a subclass says what stands below, and defines encode, step, score and text.

    name: [a-z0-9_-]+, not a built-in one's; actions: how many there are
    end_action: the one that ends an output, of which every output has one; max_length: actions of an output at the most
    path: whether a row reads the states of all its ancestors, so that these are kept; False: its parent's state is enough
    """

    name: ClassVar[str] = "python"
    actions: int = 0
    end_action: int = 0
    max_length: int = 256
    path: bool = False

    def reserve(self, nodes: int, slots: int) -> None:
        """Numbers of nodes below `nodes` and of slots below `slots` may be used from now on; what is kept of those in use stays."""

    def encode(self, text: str, slot: int) -> None:
        """Take an input; what the others of its calls need is kept under `slot`. An exception of kind ValueError fails this input alone."""
        raise NotImplementedError

    def step(self, rows: Any) -> None:
        """Make the states of rows.node. rows: a RowViews; rows.state_parent is -1 where an input begins, and rows.action then too."""
        raise NotImplementedError

    def score(self, rows: Any) -> Any:
        """[n, actions] natural-log probabilities of each row's actions, as a NumPy array or a torch tensor; -inf: not legal."""
        raise NotImplementedError

    def text(self, actions: list[int], slot: int) -> str:
        """What the user reads of an output, its end left out: one line."""
        return " ".join(self.action_name(action) for action in actions)

    def drop(self, slot: int) -> None:
        """The slot's input is done."""

    def action_name(self, action: int) -> str:
        """The name of an action."""
        return str(action)

    def find_action(self, name: str) -> int | None:
        """The action of that name; None: there is none."""
        return next((action for action in range(self.actions) if self.action_name(action) == name), None)

    def tokenize(self, text: str) -> list[int]:
        """The actions that write a text; ValueError where it cannot be written. By default names with blanks between."""
        found = [self.find_action(name) for name in text.split()]
        if None in found:
            raise ValueError(f"{text!r} has names of no action")
        return [action for action in found if action is not None]


class _Kept:
    """A domain and what its calls need that is made once."""

    def __init__(self, domain: Domain) -> None:
        import numpy as np

        self.domain = domain
        self.every = np.arange(domain.actions, dtype=np.int32)


def register(ctx: Any, domain: Any, kept: Hooks) -> None:
    """Register a domain in a context. `kept` keeps what C points to."""
    if not isinstance(domain, Domain):
        raise errors.OptionTypeError(f"domain: a name or a rill.Domain was expected, found {domain!r}", "RILL_ERR_OPTION")
    for name in ("actions", "end_action", "max_length"):
        kinds.whole(f"domain {domain.name}: {name}", getattr(domain, name))
    if not (0 < domain.actions < 2**31 and -1 < domain.end_action < domain.actions and 0 < domain.max_length < 2**31):
        raise errors.OptionError(
            f"domain {domain.name}: actions and max_length above 0 and below 2^31 and an end_action below actions were expected, found "
            f"{domain.actions}, {domain.max_length} and {domain.end_action}",
            "RILL_ERR_OPTION",
        )
    table = ffi.new("rillpy_domain *")
    name, summary = ffi.new("char[]", errors.c_text("domain", domain.name)), ffi.new("char[]", b"a domain in Python")
    methods = {
        "name": name,
        "summary": summary,
        "abi_version": lib.RILLPY_ABI_VERSION,
        "struct_size": ffi.sizeof("rill_domain"),
        "open": lib.rillpy_open,
        "reserve": lib.rillpy_reserve,
        "encode": lib.rillpy_encode,
        "step": lib.rillpy_step,
        "score": lib.rillpy_choices,
        "finalize": lib.rillpy_finalize,
        "drop": lib.rillpy_drop,
        "close": lib.rillpy_close,
        "action_name": lib.rillpy_action_name,
        "find_action": lib.rillpy_find_action,
        "tokenize": lib.rillpy_tokenize,
    }
    for member, value in methods.items():
        setattr(table.table, member, value)
    table.handle = kept.handle(_Kept(domain))
    kept.keep(table, name, summary)
    errors.check(ctx, lib.rill_register_domain(ctx, ffi.addressof(table.table)))


def _said(failure: BaseException) -> bytes:
    """What an exception says, for C, which ends a text at its first NUL."""
    return str(failure).replace("\0", "\\0").encode(errors="replace")


def _fail(called: Hook, failure: BaseException, ctx: Any = None) -> int:
    status = called.failed(failure)
    if ctx:
        lib.rillpy_fail(ctx, status, f"{type(failure).__name__}: ".encode() + _said(failure))
    return status


@hook(error=-11)
def rillpy_open(table: Any, ctx: Any, options: Any, out: Any, info: Any) -> int:
    """rill_domain.open: the model is the domain's own object."""
    handle = lib.rillpy_domain_handle(table)
    domain: Domain = ffi.from_handle(handle).function.domain
    out[0] = handle
    info.actions, info.phases = domain.actions, 1
    info.state_need = lib.RILL_STATE_PATH if domain.path else lib.RILL_STATE_PARENT
    info.max_length = domain.max_length
    info.has_end_action, info.end_action = 1, domain.end_action
    return 0


@hook(error=-11)
def rillpy_reserve(self: Any, nodes: int, slots: int) -> int:
    """rill_domain.reserve"""
    called: Hook = ffi.from_handle(self)
    try:
        called.function.domain.reserve(nodes, slots)
    except BaseException as failure:
        return _fail(called, failure)
    return 0


@hook(error=-11)
def rillpy_encode(self: Any, m: int, inputs: Any) -> int:
    """rill_domain.encode"""
    called: Hook = ffi.from_handle(self)
    for i in range(m):
        given = inputs[i]
        try:
            called.function.domain.encode(ffi.unpack(given.text, given.length).decode(errors="replace"), given.slot)
        except ValueError as failure:
            lib.rillpy_input_fail(ffi.addressof(given), _said(failure))
        except BaseException as failure:
            return _fail(called, failure)
    return 0


@hook(error=-11)
def rillpy_step(self: Any, rows: Any) -> int:
    """rill_domain.step"""
    from . import views

    called: Hook = ffi.from_handle(self)
    try:
        with views.RowViews(rows) as lent:
            called.function.domain.step(lent)
    except BaseException as failure:
        return _fail(called, failure)
    return 0


@hook(error=-11)
def rillpy_choices(self: Any, rows: Any, ask: Any, out: Any) -> int:
    """rill_domain.score"""
    from . import views

    called: Hook = ffi.from_handle(self)
    try:
        kept: _Kept = called.function
        with views.RowViews(rows) as lent:
            table = views.as_table(kept.domain.score(lent), (rows.n, kept.domain.actions))
        every, logp = ffi.cast("int32_t *", kept.every.ctypes.data), ffi.cast("float *", table.ctypes.data)
        lib.rillpy_answer(ask, rows.n, kept.domain.actions, every, logp, out)
    except BaseException as failure:
        return _fail(called, failure)
    return 0


@hook(error=-11)
def rillpy_finalize(self: Any, hypothesis: Any, out: Any) -> int:
    """rill_domain.finalize"""
    called: Hook = ffi.from_handle(self)
    try:
        domain: Domain = called.function.domain
        actions = ffi.unpack(hypothesis.action, hypothesis.length) if hypothesis.length else []
        if actions and actions[-1] == domain.end_action:
            actions.pop()
        text = kinds.text("text()", domain.text(actions, hypothesis.slot)).encode()
        if b"\n" in text or b"\0" in text:
            raise ValueError(f"domain {domain.name}: an output is one line, found {text!r}")
        return int(lib.rill_text_append(out, text, len(text)))
    except BaseException as failure:
        return _fail(called, failure)


@hook()
def rillpy_drop(self: Any, slot: int) -> None:
    """rill_domain.drop"""
    called: Hook = ffi.from_handle(self)
    try:
        called.function.domain.drop(slot)
    except BaseException as failure:
        called.failed(failure)


@hook()
def rillpy_close(self: Any) -> None:
    """rill_domain.close: what the domain holds is Python's to let go."""


@hook(error=-11)
def rillpy_action_name(self: Any, action: int, out: Any) -> int:
    """rill_domain.action_name"""
    called: Hook = ffi.from_handle(self)
    try:
        name = kinds.text("action_name()", called.function.domain.action_name(action)).encode()
        return int(lib.rill_text_append(out, name, len(name)))
    except BaseException as failure:
        return _fail(called, failure)


@hook(error=-1)
def rillpy_find_action(self: Any, text: Any, length: int) -> int:
    """rill_domain.find_action"""
    called: Hook = ffi.from_handle(self)
    try:
        action = called.function.domain.find_action(ffi.unpack(text, length).decode(errors="replace"))
        found = -1 if action is None else kinds.whole("find_action()", action)
        if not -1 <= found < called.function.domain.actions:
            raise ValueError(f"find_action() gave {found}: an action below {called.function.domain.actions} or None was expected")
        return found
    except BaseException as failure:
        called.failed(failure)
        return -1


@hook(error=-8)
def rillpy_tokenize(self: Any, ctx: Any, text: Any, length: int, out: Any, room: int, n: Any) -> int:
    """rill_domain.tokenize"""
    called: Hook = ffi.from_handle(self)
    try:
        actions = called.function.domain.tokenize(ffi.unpack(text, length).decode(errors="replace"))
    except ValueError as failure:
        return int(lib.rillpy_fail(ctx, lib.RILL_ERR_INPUT, _said(failure)))
    except BaseException as failure:
        return _fail(called, failure, ctx)
    try:
        found = [kinds.whole("tokenize()", action) for action in actions]
        if not all(0 <= action < called.function.domain.actions for action in found):
            raise ValueError(f"tokenize() gave {found}: actions below {called.function.domain.actions} were expected")
        n[0] = len(found)
        for i, action in enumerate(found[:room]):
            out[i] = action
    except BaseException as failure:
        return _fail(called, failure, ctx)
    return 0
