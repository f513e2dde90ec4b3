"""Models: opened from files, decoded with, pickled."""

from __future__ import annotations

import os
import pathlib
from collections.abc import AsyncIterable, Iterable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from . import errors, kinds
from ._native import ffi, lib
from .errors import renamed
from .opened import Opened, Recipe
from .results import Result

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .callbacks import Trace
    from .domain import Domain
    from .request import Input
    from .settings import ModelSettings, Settings
    from .stream import Stream

Path = str | os.PathLike[str]

if TYPE_CHECKING:

    class ModelArguments(ModelSettings, total=False):
        """Keyword arguments of Model()."""

        domain: str | Domain | None
        threads: int
        workers: int | Literal["auto"]
        plugins: Sequence[Path]
        tokenized: bool
        arguments: str | None


class Info(NamedTuple):
    """Facts about a model.

    Attributes:
        domain: The name of the domain, such as "mt".
        description: One line about the model.
        actions: The size of the vocabulary (for a parser, the number of actions).
        end_action: The id of the end token, None if the model has none.
        max_length: The default limit on the length of an output.
        device: Where the model computes: "cpu", "cuda:0, NAME"; "" if it does not say.
        languages: The names of the languages of a multilingual model.
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
    """The texts of tokens, each read once."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._known: dict[int, str] = {}

    def _ask(self, ids: list[int]) -> None:
        opened = self._opened
        with opened.lock:
            text = ffi.new("rill_text *", {"ctx": opened.ctx})
            lengths = ffi.new("int32_t[]", len(ids))
            try:
                opened.check(lib.rillpy_names(opened.model, len(ids), ids, lengths, text))
                names = ffi.unpack(text.data, text.length) if text.length else b""
            finally:
                lib.rill_text_clear(text)
        offset = 0
        for token_id, length in zip(ids, ffi.unpack(lengths, len(ids))):
            self._known[token_id] = names[offset : offset + length].decode(errors="replace")
            offset += length

    def texts_of(self, ids: list[int]) -> list[str]:
        """Return the texts of tokens; the id as text if the domain has no names."""
        known = self._known
        try:
            return [known[token_id] for token_id in ids]
        except KeyError:
            # A call of librill costs as much as reading hundreds of names, so read whole blocks of ids.
            blocks = sorted({token_id // _BLOCK * _BLOCK for token_id in ids if token_id not in known})
            size = self._opened.info.actions
            self._ask([token_id for first in blocks for token_id in range(first, min(first + _BLOCK, size))])
            return [known[token_id] for token_id in ids]


@renamed(name="id_to_token", find="token_to_id")
class Model:
    """A model, ready to decode.

        model = rill.Model("examples/models/de-en")
        for result in model.stream(open("in.txt")):
            print(result.text)

    Any number of threads may use one model. A model pickles as its paths and settings: the process that unpickles it opens it again, and so
    does the child of a fork.
    """

    def __init__(
        self,
        path: Path | Sequence[Path] | None = None,
        *,
        domain: str | Domain | None = None,
        device: str | None = None,
        weights: str | None = None,
        threads: int = 1,
        workers: int | Literal["auto"] = 1,
        plugins: Sequence[Path] = (),
        tokenized: bool = False,
        arguments: str | None = None,
        **settings: Unpack[ModelSettings],
    ) -> None:
        """Open a model.

        Args:
            path: The model's directory. Several directories are an ensemble.
            domain: The name of the domain, if the directory does not name it; or a rill.Domain, a domain in Python.
            device: "cpu", "cuda", "cuda:0" ...
            weights: The format in which the weights are kept in memory, such as "int8".
            threads: Threads within each operation. No answer depends on it.
            workers: Inputs that are decoded side by side, each on its own thread; "auto" or 0: one for each processor. No answer depends
                on it.
            plugins: Paths of shared objects and Lua files with domains, heuristics, scorers and schedulers.
            tokenized: True if the inputs are tokens with spaces between them.
            arguments: Arguments of the domain, as the command's --domain-args.
            settings: Other options of opening the model, and defaults of the settings of decoding. rill.options() lists them all.

        Raises:
            OptionError: An argument is unknown or out of range; the message has the nearest known name.
            NotFoundError, FormatError, FileError: The model cannot be read.
        """
        threads, workers = kinds.whole("threads", threads), 0 if workers == "auto" else kinds.whole("workers", workers)
        for name, number, minimum in (("threads", threads, 1), ("workers", workers, 0)):
            if not minimum <= number <= 1024:
                raise errors.OptionError(f"{name}: a whole number from {minimum} to 1024 was expected, found {number!r}", "RILL_ERR_OPTION")
        options = {"device": device, "weights": weights, **settings}
        self._recipe = Recipe(
            [] if path is None else kinds.paths("path", path if isinstance(path, (list, tuple)) else [path]),
            domain,
            min(threads, lib.rill_processors()),
            workers or lib.rill_processors(),
            kinds.paths("plugins", plugins),
            kinds.switch("tokenized", tokenized),
            None if arguments is None else kinds.text("arguments", arguments),
            {name: value for name, value in options.items() if value is not None},
        )
        self._open()

    @classmethod
    def from_pretrained(
        cls, name: Path, *, revision: str = "main", cache_dir: Path | None = None, **arguments: Unpack[ModelArguments]
    ) -> Model:
        """Open a model by its folder, or by its name on the Hugging Face Hub if it is in the local cache. Nothing is downloaded.

        Args:
            name: A folder, or a name such as "Helsinki-NLP/opus-mt-de-en". A folder of that name comes first.
            revision: The branch, tag or commit of a name.
            cache_dir: The cache, if it is not where $HF_HUB_CACHE, $HF_HOME or the default say.
            arguments: As in rill.Model().

        Raises:
            NotFoundError: There is no such folder, and the cache does not have the name; the message has the command that downloads it.
        """
        name = kinds.text("name", os.fspath(name) if isinstance(name, os.PathLike) else name)
        place = pathlib.Path(name)
        if not name or not place.is_dir():
            from . import hub

            cache = hub.cache_folder() if cache_dir is None else pathlib.Path(cache_dir)
            place = hub.find(name, kinds.text("revision", revision), cache)
        elif revision != "main":
            raise errors.OptionError(f"revision: {place} is a folder, which has no revisions", "RILL_ERR_OPTION")
        return cls(place, **arguments)

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
        paths, domain = self._recipe.paths, self._recipe.domain
        names = [repr(paths[0] if len(paths) == 1 else paths)] if paths else []
        if domain is not None:
            names.append(f"domain={domain!r}")
        return f"rill.Model({', '.join(names)})" if self._at is not None else f"<closed rill.Model({', '.join(names)})>"

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the model. Its memory is freed when the last stream that uses it is closed."""
        self._at = None

    @property
    def info(self) -> Info:
        """Facts about the model."""
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

    def id_to_token(self, id: int) -> str:
        """Return the text of a token.

        Args:
            id: The token's id.

        Raises:
            IndexError: The id is not in the vocabulary.
        """
        id = kinds.whole("id", id)
        if not 0 <= id < self._opened.info.actions:
            raise IndexError(f"token id {id}: the vocabulary has {self._opened.info.actions}")
        return self._names.texts_of([id])[0]

    def token_to_id(self, token: str) -> int | None:
        """Return the id of a token.

        Args:
            token: The token's text.

        Returns:
            The id; None if the token is not in the vocabulary.
        """
        text = kinds.text("token", token).encode()
        opened = self._opened
        with opened.lock:
            action = lib.rill_model_find_action(opened.model, text, len(text))
            opened.check(0)
        return None if action == -1 else int(action)

    def tokenize(self, text: str) -> list[int]:
        """Cut the text of an output into tokens.

        Args:
            text: The text, as outputs have it.

        Returns:
            The token ids, without a begin or end token.

        Raises:
            InputError: The model cannot write the text.
        """
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
        prefetch: int | None = None,
        trace: Trace | None = None,
        progress: bool = False,
        **settings: Unpack[Settings],
    ) -> Stream:
        """Decode inputs as they come, in bounded memory.

        Args:
            inputs: Texts, or a rill.Request for an input with its own settings. The results of an asynchronous iterable are for
                `async for` alone.
            prefetch: The number of inputs that the stream takes before it returns their results. With 1 it answers each input before it
                takes the next one, as in a dialogue. None: as many as the search can use.
            trace: A function that is called with a TraceEvent for each timestep and when an input is admitted or finished, on the thread
                that asks for results. If a long input is decoded as its sentences, the events are about the sentences.
            progress: Show the number of results, and the total if the inputs have a length, as a bar of the package tqdm.
            settings: Settings of the search; rill.options() lists them. heuristic, scorer and scheduler also take functions in Python.

        Returns:
            An iterator over the results, in the order of the inputs.

        Raises:
            OptionError: A setting is unknown, out of range, or cannot be combined with another.
        """
        from .stream import Stream

        return Stream(self, self._opened, self._names, inputs, settings, prefetch, trace, progress)

    def decode(
        self,
        inputs: Iterable[Input],
        *,
        prefetch: int | None = None,
        trace: Trace | None = None,
        progress: bool = False,
        **settings: Unpack[Settings],
    ) -> list[Result]:
        """Decode all inputs.

        Args:
            inputs: Texts, or a rill.Request for an input with its own settings.
            prefetch: As in stream().
            trace: As in stream().
            progress: As in stream().
            settings: As in stream().

        Returns:
            The results, in the order of the inputs. An input that cannot be decoded has a result with an `error`.

        Raises:
            OptionError: A setting is unknown, out of range, or cannot be combined with another.
        """
        if isinstance(inputs, (str, bytes)):
            raise TypeError("inputs: a list of texts was expected, found one text; decode([text]) decodes it")
        with self.stream(inputs, prefetch=prefetch, trace=trace, progress=progress, **settings) as stream:
            return list(stream)

    def score(
        self, pairs: Iterable[tuple[str, str | Sequence[int]]], *, progress: bool = False, **settings: Unpack[Settings]
    ) -> list[Result]:
        """Score given outputs: compute the model's probability of each, without a search.

        The numbers are those of decoding, to the last bit.

        Args:
            pairs: Pairs of an input and its output. An output is a text, which the model tokenizes, or token ids with the end token.
            progress: As in stream().
            settings: As in stream(), except for settings of the search.

        Returns:
            A result for each pair. It has an `error` if the model cannot produce the output.

        Raises:
            OptionError: A setting is unknown or has no effect here.
        """
        from .request import given_requests
        from .stream import Stream, length_of

        if isinstance(pairs, (str, bytes)):
            raise TypeError("pairs: a list of inputs and outputs was expected, found one text")
        opened = self._opened
        requests = given_requests(opened, pairs)
        with Stream(self, opened, self._names, requests, settings, None, None, progress, length_of(pairs), given=True) as stream:
            return list(stream)
