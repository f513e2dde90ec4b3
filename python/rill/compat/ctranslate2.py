"""CTranslate2's Translator on top of rill: a program changes only its import, and keeps its model directory.

    from rill.compat.ctranslate2 import Translator

Arguments have CTranslate2 4.8's names, order, defaults and errors. Unsupported arguments raise NotImplementedError.
rill forms the batches: max_batch_size limits the inputs decoded together, and does not change results. Outputs with equal scores may
have another order. A callback needs NumPy.
"""

from __future__ import annotations

import collections
import concurrent.futures
import dataclasses
import itertools
import math
import os
import reprlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast, overload

from .._native import lib
from ..kinds import Signed, text, typed, whole
from ..model import Model
from ..results import Output, Result
from ..request import Request
from .ct2_options import (
    WEIGHTS,
    AsyncScoringResult,
    AsyncTranslationResult,
    ExecutionStats,
    GenerationStepResult,
    ScoringResult,
    Tokens,
    TranslationOptions,
    TranslationResult,
    SearchOptions,
    StepCallback,
    added_tokens,
    bias_arguments,
    contains_model,
    empty,
    input_line,
    token_lists,
    refuse,
    get_supported_compute_types,
    set_random_seed,
    inputs_per_batch,
    token_list,
    search_options,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = [
    "AsyncScoringResult",
    "AsyncTranslationResult",
    "ExecutionStats",
    "GenerationStepResult",
    "ScoringResult",
    "TranslationResult",
    "Translator",
    "contains_model",
    "get_supported_compute_types",
    "set_random_seed",
]

_Result = TypeVar("_Result")
_Async = TypeVar("_Async")


class Translator:
    """A translator with CTranslate2's arguments. inter_threads: rill's workers; intra_threads: rill's threads (0: at most 4)."""

    @typed
    def __init__(
        self,
        model_path: str | os.PathLike[str],
        device: str = "cpu",
        *,
        device_index: int | list[int] = 0,
        compute_type: str | dict[str, str] = "default",
        inter_threads: int = 1,
        intra_threads: int = 0,
        max_queued_batches: Signed = 0,
        flash_attention: bool = False,
        tensor_parallel: bool = False,
        files: object = None,
    ) -> None:
        refuse(flash_attention=flash_attention, tensor_parallel=tensor_parallel, files=files is not None)
        if max_queued_batches < -1:
            raise ValueError("max_queued_batches: -1, 0 or a number above it was expected")
        types = ("default", "auto", *sorted(get_supported_compute_types(device)))
        name = compute_type.get(device, "default") if isinstance(compute_type, dict) else compute_type
        if text("compute_type", name) not in types:
            raise NotImplementedError(f"compute_type: {name!r} is none of {', '.join(types)}, which rill has on this device")
        self._device = device
        many = device_index if isinstance(device_index, (list, tuple)) else [device_index]
        self._indexes = [whole("device_index", one) for one in many]
        if device == "cpu" and self._indexes != [0]:
            raise ValueError(f"device_index: {device_index}: there is one cpu, number 0")
        self._compute_type = {None: "float32", "f32": "float32", "int8": "int8_float32"}.get(WEIGHTS[name], name)
        self._max_queued = max_queued_batches
        where = ",".join(f"cuda:{index}" for index in self._indexes) if device == "cuda" else device
        threads = intra_threads or max(1, min(4, int(lib.rill_processors()) // max(1, inter_threads)))
        self._workers = inter_threads
        self._made: dict[str, Any] = {
            "path": model_path,
            "tokenized": True,
            "weights": WEIGHTS[name],
            "device": where,
            "threads": threads,
            "workers": inter_threads * len(self._indexes),
        }
        self._model: Model | None = Model(**self._made)
        self._marks = added_tokens(os.fspath(model_path))
        self._pool = concurrent.futures.ThreadPoolExecutor(max(1, inter_threads), "rill-translator")
        self._tasks: list[concurrent.futures.Future[list[Any]]] = []

    # --- properties ---

    @property
    def device(self) -> str:
        """"cpu" or "cuda"."""
        if self._device != "auto":
            return self._device
        return "cuda" if self._open().info.device.startswith("cuda") else "cpu"

    @property
    def device_index(self) -> list[int]:
        """Device numbers."""
        return list(self._indexes)

    @property
    def compute_type(self) -> str:
        """The number type of the weights."""
        return self._compute_type

    @property
    def num_translators(self) -> int:
        """The number of workers."""
        return self._workers * len(self._indexes)

    @property
    def num_queued_batches(self) -> int:
        """Number of asynchronous calls that have not begun."""
        return sum(not task.running() and not task.done() for task in self._tasks)

    @property
    def num_active_batches(self) -> int:
        """Number of asynchronous calls that are not done."""
        return sum(not task.done() for task in self._tasks)

    @property
    def model_is_loaded(self) -> bool:
        """Whether the model is in memory."""
        return self._model is not None

    @typed
    def load_model(self, keep_cache: bool = False) -> None:
        """Load the model again after unload_model(). keep_cache: no effect, since rill keeps no copy of an unloaded model."""
        self._model = self._model or Model(**self._made)

    @typed
    def unload_model(self, to_cpu: bool = False) -> None:
        """Free the model's memory. to_cpu: a model on the CPU then stays loaded, as in CTranslate2; a model on a GPU cannot be moved."""
        refuse(to_cpu=to_cpu and self.device != "cpu")
        if self._model is not None and not to_cpu:
            self._model.close()
            self._model = None

    def __repr__(self) -> str:
        loaded = "" if self._model is not None else ", unloaded"
        return f"<rill.compat.ctranslate2.Translator {os.fspath(self._made['path'])!r} on {self._device}, {self._compute_type}{loaded}>"

    def __enter__(self) -> Translator:
        return self

    def __exit__(self, *_: object) -> None:
        self.unload_model()
        self._pool.shutdown()

    def _open(self) -> Model:
        if self._model is None:
            raise RuntimeError("The model for this translator was unloaded: load_model() loads it")
        return self._model

    def _later(
        self, function: Callable[[], list[_Result]], n: int, kind: Callable[[concurrent.futures.Future[list[_Result]], int], _Async]
    ) -> list[_Async]:
        self._tasks = [task for task in self._tasks if not task.done()]
        if 0 < self._max_queued <= self.num_queued_batches:
            concurrent.futures.wait(self._tasks, return_when=concurrent.futures.FIRST_COMPLETED)
        task = self._pool.submit(function)
        self._tasks.append(task)
        return [kind(task, i) for i in range(n)]

    # --- translating ---

    @overload
    def translate_batch(
        self,
        source: Sequence[Tokens],
        target_prefix: Sequence[Tokens | None] | None = None,
        *,
        max_batch_size: int = 0,
        batch_type: str = "examples",
        asynchronous: Literal[False] = False,
        **options: Unpack[TranslationOptions],
    ) -> list[TranslationResult]: ...

    @overload
    def translate_batch(
        self,
        source: Sequence[Tokens],
        target_prefix: Sequence[Tokens | None] | None = None,
        *,
        max_batch_size: int = 0,
        batch_type: str = "examples",
        asynchronous: Literal[True],
        **options: Unpack[TranslationOptions],
    ) -> list[AsyncTranslationResult]: ...

    @typed
    def translate_batch(
        self,
        source: Sequence[Tokens],
        target_prefix: Sequence[Tokens | None] | None = None,
        *,
        max_batch_size: int = 0,
        batch_type: str = "examples",
        asynchronous: bool = False,
        **options: Unpack[TranslationOptions],
    ) -> list[TranslationResult] | list[AsyncTranslationResult]:
        """Translate tokenised inputs. Returns a TranslationResult, or an AsyncTranslationResult, for each. options: see SearchOptions.

        repetition_penalty, and no_repeat_ngram_size with a beam, raise NotImplementedError: results would differ from CTranslate2's.
        Forbidden tokens (min_decoding_length, disable_unk, suppressed and repeated tokens) are masked after the softmax, in CTranslate2
        before it.
        Raises rill.Error for an input that cannot be translated, NotImplementedError for a prefix that continues after an end token.
        """
        search = search_options("translate_batch", options)
        source = token_lists("source", source)
        prefixes = token_lists("target_prefix", target_prefix if target_prefix is not None else [], missing=True)[: len(source)]
        prefixes += [None] * (len(source) - len(prefixes))
        batch_inputs = inputs_per_batch(max_batch_size, batch_type, source)
        self._check_tokens(search)
        pairs = list(zip(source, prefixes))
        if asynchronous:
            return self._later(lambda: list(self._translate(pairs, search, batch_inputs)), len(pairs), AsyncTranslationResult)
        return list(self._translate(pairs, search, batch_inputs))

    @typed
    def translate_iterable(
        self,
        source: Iterable[Tokens],
        target_prefix: Iterable[Tokens | None] | None = None,
        max_batch_size: int = 32,
        batch_type: str = "examples",
        **options: Unpack[TranslationOptions],
    ) -> Iterator[TranslationResult]:
        """Translate a stream of inputs in bounded memory. Results are in the order of the inputs."""
        search = search_options("translate_iterable", options)
        if max_batch_size < 1:
            raise ValueError("max_batch_size must be >= 1")
        batch_inputs = inputs_per_batch(max_batch_size, batch_type, ())
        self._check_tokens(search)
        pairs = zip(source, itertools.repeat(None)) if target_prefix is None else itertools.zip_longest(source, target_prefix)
        return self._translate(pairs, search, batch_inputs)

    def _check_tokens(self, search: SearchOptions) -> None:
        model = self._open()
        for token in itertools.chain.from_iterable(search.suppress_sequences or ()):
            if model.token_to_id(token) is None:
                raise ValueError(f"Token {token} is not in the vocabulary")
        for end in search.end_token or ():
            action = end if isinstance(end, int) else model.token_to_id(end)
            if action is None:
                raise ValueError(f"Token {end} is not in the vocabulary")
            if action != model.info.end_action:
                raise NotImplementedError(f"end_token: {end!r}: rill ends outputs with the model's own end alone")

    def _cut(self, tokens: list[str], max_tokens: int, marks: int) -> list[str]:
        """Truncate an input as CTranslate2 does: `max_tokens` tokens (0: all), including the `marks` tokens that the model adds."""
        if max_tokens and tokens and max_tokens <= marks:
            raise NotImplementedError(f"max_input_length: {max_tokens}: the model adds {marks} tokens, so none is left for the input")
        return tokens[: max_tokens - marks] if max_tokens else tokens

    def _source(self, given: Any, max_tokens: int) -> list[str]:
        return self._cut(token_list("source", given), max_tokens, self._marks)

    def _prefix(self, tokens: Tokens) -> list[int]:
        model = self._open()
        unknown = model.token_to_id("<unk>")
        found = [model.token_to_id(token) for token in tokens]
        return [one if one is not None else unknown if unknown is not None else 0 for one in found]

    def _forced(self, tokens: Tokens, search: SearchOptions, argument: str = "target_prefix") -> list[int]:
        """Ids of tokens that an output must contain. Raises NotImplementedError for an end token, and for forbidden tokens."""
        ids, end = self._prefix(tokens), self._open().info.end_action
        if end is not None and end in ids:
            name = self._open().id_to_token(end)
            raise NotImplementedError(f"{argument}: {reprlib.repr(list(tokens))}: {name!r} ends an output, so nothing can follow it")
        if (option := self._forbidding_option(ids, search)) is not None:
            raise NotImplementedError(f"{argument}: {reprlib.repr(list(tokens))} has a token that {option} forbids; rill cannot force it")
        return ids

    def _favoured(self, tokens: Tokens) -> list[int]:
        """Ids of a prefix that outputs are biased towards, up to its end token, where such outputs end."""
        ids, end = self._prefix(tokens), self._open().info.end_action
        return ids[: ids.index(end) + 1] if end is not None and end in ids else ids

    def _forbidding_option(self, ids: list[int], search: SearchOptions) -> str | None:
        """Return the option that forbids a token of the prefix; None: no option does."""
        if search.disable_unk and self._open().token_to_id("<unk>") in ids:
            return "disable_unk"
        if (n := search.no_repeat_ngram_size) and len({tuple(ids[i : i + n]) for i in range(len(ids) + 1 - n)}) < len(ids) + 1 - n:
            return "no_repeat_ngram_size"
        for sequence in search.suppress_sequences or ():
            banned = self._prefix(sequence)
            if banned and any(ids[i : i + len(banned)] == banned for i in range(len(ids))):
                return "suppress_sequences"
        return None

    def _names(self, ids: list[int]) -> list[str]:
        return [self._open().id_to_token(one) for one in ids]

    def _requests(self, pairs: Iterable[tuple[Any, Any]], search: SearchOptions) -> Iterator[tuple[list[str], list[int], Request]]:
        """For each pair: input tokens, prefix ids, and the request. The prefix is forced, or favoured with prefix_bias_beta."""
        read, biased = self._read(pairs, search), search.prefix_bias_beta > 0
        while many := list(itertools.islice(read, 64 if biased else 1)):
            scored = iter(self._open().score((input_line(tokens), ids) for tokens, ids in many if tokens and ids) if biased else ())
            for tokens, ids in many:
                arguments = None
                if biased and tokens and ids:
                    found = next(scored)
                    if found.error is not None:
                        why = f"target_prefix: {reprlib.repr(self._names(ids))} of an input of {len(tokens)} tokens: {found.error}"
                        raise type(found.error)(why, found.error.status)
                    arguments = {"python-bias": bias_arguments(ids, found, search.prefix_bias_beta)}
                elif ids:
                    arguments = {"python-prefix": " ".join(map(str, ids))}
                yield tokens, ids, Request(input_line(tokens), arguments=arguments)

    def _read(self, pairs: Iterable[tuple[Any, Any]], search: SearchOptions) -> Iterator[tuple[list[str], list[int]]]:
        for source, prefix in pairs:
            if source is None:
                raise ValueError("there are more target prefixes than inputs")
            tokens = self._source(source, search.max_input_length)
            prefix = token_list("target_prefix", prefix) if prefix is not None else []
            if tokens and search.prefix_bias_beta <= 0:
                yield tokens, self._forced(prefix, search)
            else:
                yield tokens, (self._favoured if tokens else self._prefix)(prefix)

    def _translate(self, pairs: Iterable[tuple[Any, Any]], search: SearchOptions, batch_inputs: int | None) -> Iterator[TranslationResult]:
        """Yield results in the order of inputs. The engine does not get inputs without tokens."""
        waiting: collections.deque[tuple[list[str], list[int]]] = collections.deque()  # tokens and prefix of each input
        watch = StepCallback(self._open(), search) if search.callback is not None else None

        def requests() -> Iterator[Request]:
            for number, (tokens, ids, request) in enumerate(self._requests(pairs, search)):
                waiting.append((tokens, ids))
                if not tokens:
                    continue
                if watch is not None:
                    watch.numbers.append((number, len(ids)))
                yield request

        if search.use_vmap and os.path.exists(os.path.join(self._made["path"], "vmap.txt")):
            raise NotImplementedError("use_vmap: rill does not read vmap.txt")
        settings = search.settings()
        if batch_inputs is not None:
            settings["batch_size"] = batch_inputs
        if watch is not None:
            settings = watch.added_to(settings)
        if search.return_alternatives:
            yield from self._alternatives(pairs, search, settings)
            return
        with self._open().stream(requests(), **settings) as stream:
            for result in stream:
                while not waiting[0][0]:
                    yield empty(search, self._names(waiting.popleft()[1]))
                entry = waiting.popleft()
                if watch is not None:
                    result = watch.finish(result)
                yield self._result(result, entry, search)
        for _, ids in waiting:
            yield empty(search, self._names(ids))

    def _result(self, result: Result, entry: tuple[list[str], list[int]], search: SearchOptions) -> TranslationResult:
        if result.error is not None:
            raise result.error
        source, _ = entry
        ordered = search.ordered(result.outputs)
        return TranslationResult(
            hypotheses=[self._tokens(output, source, search) for _, output in ordered],
            scores=[score for score, _ in ordered] if search.return_scores else [],
            attention=[self._attention(output, search) for _, output in ordered] if search.return_attention else [],
        )

    def _kept(self, output: Output, search: SearchOptions) -> int:
        """Return how many of an output's tokens the result has, with or without the end token."""
        ended = bool(output.ids) and output.ids[-1] == self._open().info.end_action
        return len(output.ids) - (1 if ended and not search.return_end_token else 0)

    def _attention(self, output: Output, search: SearchOptions) -> list[list[float]]:
        return [list(row) for row in (output.alignment or [])[: self._kept(output, search)]]

    def _tokens(self, output: Output, source: list[str], search: SearchOptions) -> list[str]:
        tokens = output.tokens[: self._kept(output, search)]
        if search.replace_unknowns and "<unk>" in tokens:
            shares: Any = output.alignment or []
            for i, token in enumerate(tokens):
                if token == "<unk>" and i < len(shares):
                    best = max(range(len(shares[i])), key=shares[i].__getitem__)
                    tokens[i] = source[best] if best < len(source) else token
        return tokens

    def _alternatives(
        self, pairs: Iterable[tuple[Any, Any]], search: SearchOptions, settings: dict[str, Any]
    ) -> Iterator[TranslationResult]:
        """For each prefix, find the most probable next tokens, and the best output that continues each."""
        model = self._open()
        end = model.info.end_action
        one = dataclasses.replace(search, return_alternatives=False, num_hypotheses=1, callback=None)
        all_of_one = {**one.settings(), "min_length": search.min_decoding_length}
        if one.beam_size > 1:
            all_of_one["n_best"] = one.max_outputs
        for source, prefix in pairs:
            tokens = self._source(source, search.max_input_length)
            prefix = token_list("target_prefix", prefix) if prefix is not None else []
            if not tokens:
                yield empty(search, self._names(self._prefix(prefix)))
                continue
            text, ids = input_line(tokens), self._forced(prefix, search)
            if len(ids) >= search.max_decoding_length:
                yield empty(search, self._names(ids))
                continue
            begun = self._begun(text, ids, search, settings)
            given = [Request(text, arguments={"python-prefix": " ".join(map(str, [*ids, action]))}) for action, _ in begun]
            hypotheses, scores, attention = [], [], []
            for (_, logp), result in zip(begun, model.decode(given, **all_of_one)):
                if result.error is not None:
                    raise result.error
                # The prefix and the expanded token do not count in the length that normalises the score.
                ranked = [(out.path_score / max(1, len(out.ids) - len(ids) - 1) ** search.length_penalty, out) for out in result.outputs]
                score, best = max(ranked, key=lambda pair: pair[0])
                hypotheses.append(self._tokens(best, tokens, search))
                scores.append(logp + score)
                attention.append(self._attention(best, search))
            yield TranslationResult(
                hypotheses, scores if search.return_scores else [], attention if search.return_attention and end is not None else []
            )

    def _begun(self, text: str, ids: list[int], search: SearchOptions, settings: dict[str, Any]) -> list[tuple[int, float]]:
        """Find the most probable next tokens of a prefix except the end, with log-probabilities renormalised without the end."""
        model = self._open()
        end = model.info.end_action
        request = Request(text, arguments={"python-prefix": " ".join(map(str, ids))})
        n = search.num_hypotheses + 1
        kept: dict[str, Any] = {name: settings[name] for name in ("scorer", "unknown_penalty") if name in settings}
        kept |= {"beam_size": n, "n_best": n, "max_children": n, "stop_after": n, "heuristic": []}
        kept |= {"finish": "immediate", "length_penalty": 0}
        found = model.decode([request], max_length=len(ids) + 1, **kept)
        rest = 0.0
        if end is not None:
            ending = model.score([(text, [*ids, end])])[0]
            rest = math.log1p(-min(math.exp(ending.best.token_logprobs[-1]), 1 - 1e-9)) if ending.ok else 0.0
        begun = [(output.ids[-1], output.token_logprobs[-1] - rest) for output in found[0].outputs]
        begun = [(action, logp) for action, logp in begun if action != end][: search.num_hypotheses]
        minimum = search.min_alternative_expansion_prob
        return [one for i, one in enumerate(begun) if i == 0 or math.exp(one[1]) >= minimum]

    @typed
    def translate_file(
        self,
        source_path: str | os.PathLike[str],
        output_path: str | os.PathLike[str],
        target_path: str | os.PathLike[str] | None = None,
        *,
        max_batch_size: int = 32,
        read_batch_size: int = 0,
        batch_type: str = "examples",
        with_scores: bool = False,
        source_tokenize_fn: Callable[[str], list[str]] | None = None,
        target_tokenize_fn: Callable[[str], list[str]] | None = None,
        target_detokenize_fn: Callable[[list[str]], str] | None = None,
        **options: Unpack[TranslationOptions],
    ) -> ExecutionStats:
        """Translate the lines of a file. Without tokenize functions, spaces separate the tokens. `target_path`: a file of prefixes."""
        if read_batch_size < 0:
            raise ValueError("read_batch_size must be >= 0")
        if (source_tokenize_fn is None) != (target_detokenize_fn is None):
            raise ValueError("source_tokenize_fn and target_detokenize_fn should both be set or none at all")
        cut, cut_target = source_tokenize_fn or str.split, target_tokenize_fn or str.split
        join = target_detokenize_fn or " ".join
        begin, tokens, examples = time.monotonic(), 0, 0
        with open(source_path, encoding="utf-8", newline="\n") as lines, open(output_path, "w", encoding="utf-8", newline="\n") as out:
            prefixes = open(target_path, encoding="utf-8", newline="\n") if target_path is not None else None
            try:
                sources = (cut(line.rstrip("\n")) for line in lines)
                targets = (cut_target(line.rstrip("\n")) for line in prefixes) if prefixes is not None else None
                own = cast("TranslationOptions", {**options, "return_scores": with_scores})
                for result in self.translate_iterable(sources, targets, max_batch_size, batch_type, **own):
                    examples += 1
                    tokens += len(result.hypotheses[0])
                    for i, hypothesis in enumerate(result.hypotheses):
                        out.write((f"{result.scores[i]:.6g} ||| " if with_scores else "") + join(hypothesis) + "\n")
            finally:
                if prefixes is not None:
                    prefixes.close()
        return ExecutionStats(tokens, examples, (time.monotonic() - begin) * 1000)

    # --- scoring ---

    @overload
    def score_batch(
        self, source: Sequence[Tokens], target: Sequence[Tokens], *, max_batch_size: int = 0, batch_type: str = "examples",
        max_input_length: int = 1024, offset: int = 0, asynchronous: Literal[False] = False,
    ) -> list[ScoringResult]: ...

    @overload
    def score_batch(
        self, source: Sequence[Tokens], target: Sequence[Tokens], *, max_batch_size: int = 0, batch_type: str = "examples",
        max_input_length: int = 1024, offset: int = 0, asynchronous: Literal[True],
    ) -> list[AsyncScoringResult]: ...

    @typed
    def score_batch(
        self,
        source: Sequence[Tokens],
        target: Sequence[Tokens],
        *,
        max_batch_size: int = 0,
        batch_type: str = "examples",
        max_input_length: int = 1024,
        offset: int = 0,
        asynchronous: bool = False,
    ) -> list[ScoringResult] | list[AsyncScoringResult]:
        """Score each pair: log-probabilities of the target tokens, including the end, from number `offset` on."""
        source, target = token_lists("source", source), token_lists("target", target)
        if len(source) != len(target):
            raise ValueError(f"there are {len(source)} inputs and {len(target)} targets")
        inputs_per_batch(max_batch_size, batch_type, source)
        pairs = list(zip(source, target))
        if asynchronous:
            return self._later(lambda: list(self._score(pairs, max_input_length, offset)), len(pairs), AsyncScoringResult)
        return list(self._score(pairs, max_input_length, offset))

    @typed
    def score_iterable(
        self,
        source: Iterable[Tokens],
        target: Iterable[Tokens],
        max_batch_size: int = 64,
        batch_type: str = "examples",
        max_input_length: int = 1024,
        offset: int = 0,
    ) -> Iterator[ScoringResult]:
        """score_batch() for a stream of pairs."""
        if max_batch_size < 1:
            raise ValueError("max_batch_size must be >= 1")
        inputs_per_batch(max_batch_size, batch_type, ())
        pairs = zip(source, target)
        while many := list(itertools.islice(pairs, 16 * max_batch_size)):
            yield from self._score(many, max_input_length, offset)

    def _score(self, pairs: Iterable[tuple[Any, Any]], max_input_length: int, offset: int) -> Iterator[ScoringResult]:
        if offset < 0 or max_input_length < 0:
            raise ValueError("offset and max_input_length must be >= 0")
        model = self._open()
        end = model.info.end_action
        cut = [(self._source(one, max_input_length), token_list("target", other)) for one, other in pairs]
        pairs = [(source, target[: max_input_length - 1] if max_input_length else target) for source, target in cut]
        pairs = [(source, self._forced(target, SearchOptions(), "target") if source else self._prefix(target)) for source, target in pairs]
        pairs = [(source, [*target, *([] if end is None else [end])]) for source, target in pairs]
        found = iter(model.score((input_line(source), ids) for source, ids in pairs if source))
        for source, ids in pairs:
            names = self._names(ids)
            if not source and self._marks:
                raise NotImplementedError("source: an input without tokens, which CTranslate2 scores by the model's own marks")
            if not source:
                yield ScoringResult(names, [0.0] * len(names))
                continue
            result = next(found)
            if result.error is not None:
                raise result.error
            yield ScoringResult(names[offset:], result.best.token_logprobs[offset:])

    @typed
    def score_file(
        self,
        source_path: str | os.PathLike[str],
        target_path: str | os.PathLike[str],
        output_path: str | os.PathLike[str],
        *,
        max_batch_size: int = 32,
        read_batch_size: int = 0,
        batch_type: str = "examples",
        max_input_length: int = 1024,
        offset: int = 0,
        with_tokens_score: bool = False,
        source_tokenize_fn: Callable[[str], list[str]] | None = None,
        target_tokenize_fn: Callable[[str], list[str]] | None = None,
        target_detokenize_fn: Callable[[list[str]], str] | None = None,
    ) -> ExecutionStats:
        """Score lines to "MEAN ||| target". with_tokens_score appends " ||| " and the log-probabilities of the tokens."""
        if read_batch_size < 0:
            raise ValueError("read_batch_size must be >= 0")
        cut, cut_target = source_tokenize_fn or str.split, target_tokenize_fn or str.split
        join = target_detokenize_fn or " ".join
        begin, tokens, examples = time.monotonic(), 0, 0
        with (
            open(source_path, encoding="utf-8", newline="\n") as lines,
            open(target_path, encoding="utf-8", newline="\n") as targets,
            open(output_path, "w", encoding="utf-8", newline="\n") as out,
        ):
            sources = (cut(line.rstrip("\n")) for line in lines)
            search = (cut_target(line.rstrip("\n")) for line in targets)
            for result in self.score_iterable(sources, search, max_batch_size, batch_type, max_input_length, offset):
                examples += 1
                tokens += len(result.tokens)
                mean = sum(result.log_probs) / max(1, len(result.log_probs))
                line = f"{mean:.6g} ||| {join(result.tokens)}"
                if with_tokens_score:
                    line += " ||| " + " ".join(f"{one:.6g}" for one in result.log_probs)
                out.write(line + "\n")
        return ExecutionStats(tokens, examples, (time.monotonic() - begin) * 1000)

    # --- token by token ---

    @typed
    def generate_tokens(
        self,
        source: Tokens,
        target_prefix: Tokens | None = None,
        *,
        return_log_prob: bool = False,
        max_decoding_length: int = 256,
        min_decoding_length: int = 1,
        sampling_topk: int = 1,
        sampling_topp: float = 1,
        sampling_temperature: float = 1,
        repetition_penalty: float = 1,
        no_repeat_ngram_size: int = 0,
        disable_unk: bool = False,
        suppress_sequences: Sequence[Tokens] | None = None,
        end_token: str | Sequence[str] | Sequence[int] | None = None,
        max_input_length: int = 1024,
        use_vmap: bool = False,
    ) -> Iterator[GenerationStepResult]:
        """Yield the tokens of the greedy output, or of a sample, during the search."""
        steps: collections.deque[GenerationStepResult] = collections.deque()

        def look(step: GenerationStepResult) -> bool:
            steps.append(step)
            return False

        options = {
            "max_decoding_length": max_decoding_length,
            "min_decoding_length": min_decoding_length,
            "sampling_topk": sampling_topk,
            "sampling_topp": sampling_topp,
            "sampling_temperature": sampling_temperature,
            "repetition_penalty": repetition_penalty,
            "no_repeat_ngram_size": no_repeat_ngram_size,
            "disable_unk": disable_unk,
            "suppress_sequences": suppress_sequences,
            "end_token": end_token,
            "max_input_length": max_input_length,
            "use_vmap": use_vmap,
        }
        search = search_options("generate_tokens", {**options, "beam_size": 1, "return_scores": return_log_prob, "callback": look})
        self._check_tokens(search)
        watch = StepCallback(self._open(), search)
        ids = self._forced(token_list("target_prefix", target_prefix) if target_prefix is not None else (), search)
        watch.numbers.append((0, len(ids)))
        text = input_line(self._source(source, max_input_length))
        arguments = {"python-prefix": " ".join(map(str, ids))} if ids else None
        settings = watch.added_to(search.settings())
        if not text:
            return
        with self._open().stream([Request(text, arguments=arguments)], **settings) as stream:
            for result in stream._in_steps():
                if result is not None:
                    watch.finish(result)
                while steps:
                    step = steps.popleft()
                    yield step if return_log_prob else dataclasses.replace(step, log_prob=None)
