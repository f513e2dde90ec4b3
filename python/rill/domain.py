"""Domains in Python: your own models, with arithmetic in NumPy, torch or plain Python.

A Domain has the methods of rill_domain (rill/domain.h). The engine owns the hypotheses and numbers their states ("nodes"). The domain
stores the states, usually in arrays with a row per node:

    class Speller(rill.Domain):
        name, actions, end_action = "speller", 27, 0

        def encode(self, text, slot): ...             # encode the input and keep it under its slot
        def step(self, rows): ...                     # states[rows.node] from states[rows.state_parent] and rows.action
        def score(self, rows): return table           # [n, actions] log-probabilities, -inf for actions that are not legal
        def text(self, actions, slot): return "..."   # the output's text

    model = rill.Model(domain=Speller())

The rows (hypotheses) of a call belong to any inputs. A row's result may depend on that row alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from . import errors, kinds
from ._native import ffi, lib
from .errors import hook
from .hooks import Hook, Hooks

if TYPE_CHECKING:
    from .views import DomainRows


class Domain:
    """The base of domains in Python. A subclass sets the attributes, and defines encode(), step(), score() and text().

    Attributes:
        name: [a-z0-9_-]+, not the name of a built-in domain.
        actions: The number of actions.
        end_action: The action that ends an output; every output has one.
        max_length: The largest number of actions in an output.
        path: True if a row reads the states of all its ancestors, so that the engine keeps them; False if it reads its parent's alone.
    """

    name: ClassVar[str] = "python"
    actions: int = 0
    end_action: int = 0
    max_length: int = 256
    path: bool = False

    def reserve(self, nodes: int, slots: int) -> None:
        """Reserve memory for states and inputs; those in use keep their contents.

        Args:
            nodes: Nodes are below this number from now on.
            slots: Slots are below this number from now on.
        """

    def encode(self, text: str, slot: int) -> None:
        """Encode an input.

        Args:
            text: The input.
            slot: The slot under which step() and score() find what they need of it.

        Raises:
            ValueError: The input is invalid. This input alone fails.
        """
        raise NotImplementedError

    def step(self, rows: DomainRows) -> None:
        """Make the states of rows.node from those of rows.state_parent and rows.action, both -1 if an input begins.

        Args:
            rows: The rows.
        """
        raise NotImplementedError

    def score(self, rows: DomainRows) -> object:
        """Compute the log-probabilities of all actions.

        Args:
            rows: The rows; rows.node are the states to read.

        Returns:
            [n, actions] Natural-log probabilities, as a NumPy array or a torch tensor; -inf for actions that are not legal.
        """
        raise NotImplementedError

    def text(self, actions: list[int], slot: int) -> str:
        """Write an output as text, in one line.

        Args:
            actions: The output's actions, without the end action.
            slot: The slot of its input.

        Returns:
            The text; by default the names of the actions with spaces between them.
        """
        return " ".join(self.action_name(action) for action in actions)

    def drop(self, slot: int) -> None:
        """Forget an input.

        Args:
            slot: The slot of the input.
        """

    def action_name(self, action: int) -> str:
        """Return the name of an action.

        Args:
            action: The action.
        """
        return str(action)

    def find_action(self, name: str) -> int | None:
        """Return the action of a name, or None.

        Args:
            name: The name.
        """
        return next((action for action in range(self.actions) if self.action_name(action) == name), None)

    def tokenize(self, text: str) -> list[int]:
        """Cut the text of an output into actions; by default the text is names with spaces between them.

        Args:
            text: The text.

        Returns:
            The actions, without the end action.

        Raises:
            ValueError: The text has a name of no action.
        """
        found = [self.find_action(name) for name in text.split()]
        if None in found:
            raise ValueError(f"{text!r} has names of no action")
        return [action for action in found if action is not None]


class _Kept:
    """A domain, with the array of its actions."""

    def __init__(self, domain: Domain) -> None:
        np = errors.import_numpy_views("a domain in Python").np
        self.domain = domain
        self.every = np.arange(domain.actions, dtype=np.int32)


def register(ctx: Any, domain: Any, kept: Hooks) -> None:
    """Register a domain in a context. `kept` keeps the objects that C points to."""
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


def _message(failure: BaseException) -> bytes:
    """Encode an exception's message for C, which ends a text at its first NUL."""
    return str(failure).replace("\0", "\\0").encode(errors="replace")


def _fail(called: Hook, failure: BaseException, ctx: Any = None) -> int:
    status = called.failed(failure)
    if ctx:
        lib.rillpy_fail(ctx, status, f"{type(failure).__name__}: ".encode() + _message(failure))
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
            lib.rillpy_input_fail(ffi.addressof(given), _message(failure))
        except BaseException as failure:
            return _fail(called, failure)
    return 0


@hook(error=-11)
def rillpy_step(self: Any, rows: Any) -> int:
    """rill_domain.step"""
    from . import views

    called: Hook = ffi.from_handle(self)
    try:
        with views.DomainRows(rows) as lent:
            called.function.domain.step(lent)
    except BaseException as failure:
        return _fail(called, failure)
    return 0


@hook(error=-11)
def rillpy_choices(self: Any, rows: Any, request: Any, out: Any) -> int:
    """rill_domain.score"""
    from . import views

    called: Hook = ffi.from_handle(self)
    try:
        kept: _Kept = called.function
        with views.DomainRows(rows) as lent:
            table = views.as_table(kept.domain.score(lent), (rows.n, kept.domain.actions))
        every, logp = ffi.cast("int32_t *", kept.every.ctypes.data), ffi.cast("float *", table.ctypes.data)
        lib.rillpy_fill_choices(request, rows.n, kept.domain.actions, every, logp, out)
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
    """rill_domain.close: Python frees the domain."""


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
            raise ValueError(f"find_action() returned {found}: an action below {called.function.domain.actions} or None was expected")
        return found
    except BaseException as failure:
        called.failed(failure)
        return -1


@hook(error=-8)
def rillpy_tokenize(self: Any, ctx: Any, text: Any, length: int, out: Any, capacity: int, n: Any) -> int:
    """rill_domain.tokenize"""
    called: Hook = ffi.from_handle(self)
    try:
        actions = called.function.domain.tokenize(ffi.unpack(text, length).decode(errors="replace"))
    except ValueError as failure:
        return int(lib.rillpy_fail(ctx, lib.RILL_ERR_INPUT, _message(failure)))
    except BaseException as failure:
        return _fail(called, failure, ctx)
    try:
        found = [kinds.whole("tokenize()", action) for action in actions]
        if not all(0 <= action < called.function.domain.actions for action in found):
            raise ValueError(f"tokenize() returned {found}: actions below {called.function.domain.actions} were expected")
        n[0] = len(found)
        for i, action in enumerate(found[:capacity]):
            out[i] = action
    except BaseException as failure:
        return _fail(called, failure, ctx)
    return 0
