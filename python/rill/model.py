"""Models: opened by path, decoded with, asked for names, pickled."""

from __future__ import annotations

import os
from collections.abc import AsyncIterable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from . import errors, kinds
from ._native import ffi, lib
from .opened import Opened, Recipe
from .results import Result

if TYPE_CHECKING:
    from .stream import Input, Stream

Path = str | os.PathLike[str]


class Info(NamedTuple):
    """What a model says of itself.

    domain: the domain's name; description: one line about the model
    actions: how many there are; end_action: the one that ends an output, None where there is none
    max_length: default bound on actions of an output
    device: what computes ("cpu", "cuda:0, NAME"), "" where it is not said
    languages: names of the languages that a multilingual model knows
    """

    domain: str
    description: str
    actions: int
    end_action: int | None
    max_length: int
    device: str
    languages: list[str]


_BLOCK = 512


class Vocabulary:
    """Names of actions, asked for once each."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._known: dict[int, str] = {}

    def name(self, action: int) -> str:
        """The name of an action; its number as text where the domain has no names."""
        return self.of([action])[0]

    def _ask(self, actions: list[int]) -> None:
        opened = self._opened
        with opened.lock:
            text = ffi.new("rill_text *", {"ctx": opened.ctx})
            lengths = ffi.new("int32_t[]", len(actions))
            try:
                opened.check(lib.rillpy_names(opened.model, len(actions), actions, lengths, text))
                names = ffi.unpack(text.data, text.length) if text.length else b""
            finally:
                lib.rill_text_clear(text)
        at = 0
        for action, length in zip(actions, ffi.unpack(lengths, len(actions))):
            self._known[action] = names[at : at + length].decode(errors="replace")
            at += length

    def of(self, actions: list[int]) -> list[str]:
        """The names of several."""
        known = self._known
        try:
            return [known[action] for action in actions]
        except KeyError:
            # Neighbours with them: a call costs as much as hundreds of names.
            blocks = sorted({action // _BLOCK * _BLOCK for action in actions if action not in known})
            most = self._opened.info.actions
            self._ask([action for first in blocks for action in range(first, min(first + _BLOCK, most))])
            return [known[action] for action in actions]


class Model:
    """A model, ready to decode.

        model = rill.Model("examples/models/de-en")
        for result in model.stream(open("in.txt")):
            print(result.text)

    Any number of threads may use one. It pickles by paths and settings, so that another process opens it anew; so does a child of a fork.
    """

    def __init__(
        self,
        path: Path | Sequence[Path] | None = None,
        *,
        domain: Any = None,
        device: str | None = None,
        weights: str | None = None,
        threads: int = 1,
        workers: int = 1,
        plugins: Sequence[Path] = (),
        tokenized: bool = False,
        arguments: str | None = None,
        **settings: Any,
    ) -> None:
        """Open a model.

        path: its directory; several: an ensemble, which decodes together
        domain: the domain's name where the directory does not say it; or a rill.Domain, one in Python
        device: "cpu", "cuda:0" ...; weights: the form that weights are kept in, as "int8": options of the domain's, as all in `settings`
            that rill.options() calls "model"
        threads: threads inside each operation; workers: inputs that are decoded side by side, each on a thread of its own, 0 for as many as
            this process has processors. Neither changes an answer
        plugins: shared objects with domains, heuristics, scorers and policies
        tokenized: inputs are in the model's own form
        settings: defaults for all that is decoded with it; rill.options() lists them
        Raises rill.Error.
        """
        threads, workers = kinds.whole("threads", threads), kinds.whole("workers", workers)
        for name, number, least in (("threads", threads, 1), ("workers", workers, 0)):
            if not least <= number <= 1024:
                raise errors.OptionError(f"{name}: expected a whole number from {least} to 1024, found {number!r}", "RILL_ERR_OPTION")
        given = {"device": device, "weights": weights, **settings}
        self._recipe = Recipe(
            [] if path is None else kinds.paths("path", path if isinstance(path, (list, tuple)) else [path]),
            domain,
            min(threads, lib.rill_processors()),
            workers or lib.rill_processors(),
            kinds.paths("plugins", plugins),
            kinds.switch("tokenized", tokenized),
            None if arguments is None else kinds.text("arguments", arguments),
            {name: value for name, value in given.items() if value is not None},
        )
        self._open()

    def _open(self) -> None:
        self._at: Opened | None = Opened(self._recipe)
        self._names = Vocabulary(self._at)

    @property
    def _opened(self) -> Opened:
        if self._at is None:
            raise ValueError("the model is closed")
        if self._at.process != os.getpid():
            self._open()
        return self._at

    def __getstate__(self) -> Recipe:
        return self._recipe

    def __setstate__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._open()

    def __repr__(self) -> str:
        return f"rill.Model({', '.join(map(repr, self._recipe.paths)) or repr(self._recipe.domain)})"

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the model go. Its memory is given back when the last stream that decodes with it is closed."""
        self._at = None

    @property
    def info(self) -> Info:
        """What the model says of itself."""
        opened = self._opened
        info = opened.info
        languages: list[str] = []
        while info.languages and info.languages[len(languages)]:
            languages.append(ffi.string(info.languages[len(languages)]).decode())
        return Info(
            domain=opened.domain,
            description=ffi.string(info.description).decode() if info.description else "",
            actions=info.actions,
            end_action=info.end_action if info.has_end_action else None,
            max_length=info.max_length,
            device=ffi.string(info.device).decode() if info.device else "",
            languages=languages,
        )

    def name(self, action: int) -> str:
        """The name of an action, as a user would write it. Raises IndexError where there is no such action."""
        action = kinds.whole("action", action)
        if not 0 <= action < self._opened.info.actions:
            raise IndexError(f"action {action} of {self._opened.info.actions}")
        return self._names.name(action)

    def find(self, name: str) -> int | None:
        """The action of that name; None where there is none."""
        text = kinds.text("name", name).encode()
        opened = self._opened
        with opened.lock:
            action = lib.rill_model_find_action(opened.model, text, len(text))
            opened.check(0)
        return None if action == -1 else int(action)

    def tokenize(self, text: str) -> list[int]:
        """The actions that write a text within an output, none that begins or ends one. Raises rill.Error where the model has none."""
        opened, data, n = self._opened, kinds.text("text", text).encode(), ffi.new("int32_t *")
        with opened.lock:
            opened.check(lib.rill_model_tokenize(opened.model, opened.ctx, data, len(data), ffi.NULL, 0, n))
            out = ffi.new("int32_t[]", max(n[0], 1))
            opened.check(lib.rill_model_tokenize(opened.model, opened.ctx, data, len(data), out, n[0], n))
        return list(ffi.unpack(out, n[0])) if n[0] else []

    def stream(
        self,
        inputs: Iterable[Input] | AsyncIterable[Input],
        *,
        ahead: int | None = None,
        trace: Any = None,
        **settings: Any,
    ) -> Stream:
        """Decode inputs as they come: an iterator of results, in the inputs' order, that holds a bounded number of both.

        inputs: texts, or rill.Request where one wants something of its own. An asynchronous iterable is for `async for` alone
        ahead: inputs taken before their results are; 1 answers each before it asks for the next, as a dialogue needs it; None: as many
            as the search has use for
        trace: called with a TraceEvent for each timestep, admission and end of an input, on the thread that decodes; of an input that is
            decoded as its sentences it tells of these, which have numbers of their own
        settings: rill.options() lists them; heuristic, scorer and policy take functions in Python too
        Raises rill.OptionError for settings that are impossible or contradict each other.
        """
        from .stream import Stream

        return Stream(self, self._opened, self._names, inputs, settings, ahead, trace)

    def decode(self, inputs: Iterable[Input], **settings: Any) -> list[Result]:
        """Decode all inputs: the results in their order. Arguments are stream()'s."""
        if isinstance(inputs, (str, bytes)):
            raise TypeError("inputs: a list of texts was expected, found one text; decode([text]) decodes it")
        with self.stream(inputs, **settings) as stream:
            return list(stream)

    def score(self, pairs: Iterable[tuple[str, str | Sequence[int]]], **settings: Any) -> list[Result]:
        """What probability the model gives to outputs that are there: a result for each pair of an input and its output.

        An output is a text, which is cut into actions as the model writes it, or a sequence of actions, the end action among them; its
        numbers are those of decoding, to the last bit. What the model cannot write, or holds impossible, has an error.
        """
        from .stream import Stream, given_requests

        if isinstance(pairs, (str, bytes)):
            raise TypeError("pairs: a list of inputs and outputs was expected, found one text")
        opened = self._opened
        requests = given_requests(opened, pairs)
        with Stream(self, opened, self._names, requests, settings, None, None, given=True) as stream:
            return list(stream)
