"""CTranslate2's Translator on top of rill: a program changes only its import, and keeps its model directory.

    from rill.compat.ctranslate2 import Translator

Arguments have CTranslate2 4.8's names, order, defaults and errors. An unsupported argument raises NotImplementedError; none is ignored.
rill forms the batches: max_batch_size limits the number of inputs decoded together, and does not change results. Outputs whose scores are
equal to the last bit may have another order. A callback needs NumPy.
"""

from __future__ import annotations

import collections
import concurrent.futures
import dataclasses
import itertools
import json
import math
import os
import reprlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from .._native import lib
from ..kinds import Signed, text, typed, whole
from ..model import Model
from ..results import Output, Result
from ..request import Request
from .ct2_words import (
    WEIGHTS,
    Async,
    AsyncScoringResult,
    AsyncTranslationResult,
    ExecutionStats,
    GenerationStepResult,
    ScoringResult,
    Tokens,
    TranslationOptions,
    TranslationResult,
    Wanted,
    empty,
    line_of,
    many_of,
    refuse,
    set_random_seed,
    together_of,
    tokens_of,
    wanted_of,
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
    "set_random_seed",
]

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
        if device not in ("cpu", "cuda", "auto"):
            raise ValueError(f"unsupported device {device}")
        name = compute_type.get(device, "default") if isinstance(compute_type, dict) else compute_type
        if text("compute_type", name) not in WEIGHTS:
            raise NotImplementedError(f"compute_type: {name!r} is none of {', '.join(WEIGHTS)}, which rill has")
        self._device = device
        many = device_index if isinstance(device_index, (list, tuple)) else [device_index]
        self._indexes = [whole("device_index", one) for one in many]
        if device == "cpu" and self._indexes != [0]:
            raise ValueError(f"device_index: {device_index}: there is one cpu, number 0")
        self._compute_type = "float32" if WEIGHTS[name] in (None, "f32") else name
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
        self._marks = _marks_of(os.fspath(model_path))
        self._pool = concurrent.futures.ThreadPoolExecutor(max(1, inter_threads), "rill-translator")
        self._tasks: list[concurrent.futures.Future[list[Any]]] = []

    # --- what it is ---

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
        """Number type of the weights."""
        return self._compute_type

    @property
    def num_translators(self) -> int:
        """Number of workers."""
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
    def load_model(self, keep_cache: bool = False) -> bool:
        """Load the model again after unload_model(). keep_cache=True is not supported."""
        refuse(keep_cache=keep_cache)
        self._model = self._model or Model(**self._made)
        return True

    @typed
    def unload_model(self, to_cpu: bool = False) -> bool:
        """Free the model's memory."""
        refuse(to_cpu=to_cpu)
        if self._model is not None:
            self._model.close()
            self._model = None
        return True

    def __enter__(self) -> Translator:
        return self

    def __exit__(self, *_: object) -> None:
        self.unload_model()
        self._pool.shutdown()

    def _open(self) -> Model:
        if self._model is None:
            raise RuntimeError("The model for this translator was unloaded: load_model() loads it")
        return self._model

    def _later(self, function: Callable[[], list[Any]], n: int, kind: type[Async]) -> list[Any]:
        self._tasks = [task for task in self._tasks if not task.done()]
        if 0 < self._max_queued <= self.num_queued_batches:
            concurrent.futures.wait(self._tasks, return_when=concurrent.futures.FIRST_COMPLETED)
        task = self._pool.submit(function)
        self._tasks.append(task)
        return [kind(task, i) for i in range(n)]

    # --- translating ---

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
        """Translate tokenised inputs. Returns a TranslationResult, or an AsyncTranslationResult, for each. options: see Wanted.

        repetition_penalty, and no_repeat_ngram_size with a beam, raise NotImplementedError, because results would differ from
        CTranslate2's. rill masks forbidden tokens (min_decoding_length, disable_unk, suppressed and repeated tokens) after the softmax,
        CTranslate2 before it.
        Raises rill.Error for an input that cannot be translated, NotImplementedError for a prefix that continues after an end token.
        """
        wanted = wanted_of("translate_batch", options)
        source = many_of("source", source)
        prefixes = many_of("target_prefix", target_prefix if target_prefix is not None else [], missing=True)[: len(source)]
        prefixes += [None] * (len(source) - len(prefixes))
        together = together_of(max_batch_size, batch_type, source)
        self._check_tokens(wanted)
        pairs = list(zip(source, prefixes))
        if asynchronous:
            return self._later(lambda: list(self._translate(pairs, wanted, together)), len(pairs), AsyncTranslationResult)
        return list(self._translate(pairs, wanted, together))

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
        wanted = wanted_of("translate_iterable", options)
        if max_batch_size < 1:
            raise ValueError("max_batch_size must be >= 1")
        together = together_of(max_batch_size, batch_type, ())
        self._check_tokens(wanted)
        pairs = zip(source, itertools.repeat(None)) if target_prefix is None else itertools.zip_longest(source, target_prefix)
        return self._translate(pairs, wanted, together)

    def _check_tokens(self, wanted: Wanted) -> None:
        model = self._open()
        for token in itertools.chain.from_iterable(wanted.suppress_sequences or ()):
            if model.token_to_id(token) is None:
                raise ValueError(f"Token {token} is not in the vocabulary")
        for end in wanted.end_token or ():
            action = end if isinstance(end, int) else model.token_to_id(end)
            if action is None:
                raise ValueError(f"Token {end} is not in the vocabulary")
            if action != model.info.end_action:
                raise NotImplementedError(f"end_token: {end!r}: rill ends outputs with the model's own end alone")

    def _cut(self, tokens: list[str], most: int, marks: int) -> list[str]:
        """Truncate an input as CTranslate2 does: `most` tokens (0: all), including the `marks` tokens that the model adds."""
        if most and tokens and most <= marks:
            raise NotImplementedError(f"max_input_length: {most}: {marks} go to marks of the model's own, and none is left for tokens")
        return tokens[: most - marks] if most else tokens

    def _source(self, given: Any, most: int) -> list[str]:
        return self._cut(tokens_of("source", given), most, self._marks)

    def _prefix(self, tokens: Tokens) -> list[int]:
        model = self._open()
        unknown = model.token_to_id("<unk>")
        found = [model.token_to_id(token) for token in tokens]
        return [one if one is not None else unknown if unknown is not None else 0 for one in found]

    def _forced(self, tokens: Tokens, wanted: Wanted, said: str = "target_prefix") -> list[int]:
        """Ids of tokens that an output must contain. Raises NotImplementedError for an end token, and for forbidden tokens."""
        ids, end = self._prefix(tokens), self._open().info.end_action
        if end is not None and end in ids:
            name = self._open().id_to_token(end)
            raise NotImplementedError(f"{said}: {reprlib.repr(list(tokens))}: {name!r} ends an output, and rill does not go on behind it")
        if (struck := self._struck_of(ids, wanted)) is not None:
            raise NotImplementedError(f"{said}: {reprlib.repr(list(tokens))} has what {struck} forbids, and rill makes no exception")
        return ids

    def _favoured(self, tokens: Tokens) -> list[int]:
        """Ids of a prefix that outputs are biased towards, up to its end token, where such outputs end."""
        ids, end = self._prefix(tokens), self._open().info.end_action
        return ids[: ids.index(end) + 1] if end is not None and end in ids else ids

    def _struck_of(self, ids: list[int], wanted: Wanted) -> str | None:
        """The option that forbids a token of the prefix; None: no option does."""
        if wanted.disable_unk and self._open().token_to_id("<unk>") in ids:
            return "disable_unk"
        if (n := wanted.no_repeat_ngram_size) and len({tuple(ids[i : i + n]) for i in range(len(ids) + 1 - n)}) < len(ids) + 1 - n:
            return "no_repeat_ngram_size"
        for sequence in wanted.suppress_sequences or ():
            banned = self._prefix(sequence)
            if banned and any(ids[i : i + len(banned)] == banned for i in range(len(ids))):
                return "suppress_sequences"
        return None

    def _names(self, ids: list[int]) -> list[str]:
        return [self._open().id_to_token(one) for one in ids]

    def _requests(self, pairs: Iterable[tuple[Any, Any]], wanted: Wanted) -> Iterator[tuple[list[str], list[int], Request]]:
        """For each pair: input tokens, prefix ids, and the request. The prefix is forced, or favoured with prefix_bias_beta."""
        read, biased = self._read(pairs, wanted), wanted.prefix_bias_beta > 0
        while many := list(itertools.islice(read, 64 if biased else 1)):
            scored = iter(self._open().score((line_of(tokens), ids) for tokens, ids in many if tokens and ids) if biased else ())
            for tokens, ids in many:
                arguments = None
                if biased and tokens and ids:
                    found = next(scored)
                    if found.error is not None:
                        why = f"target_prefix: {reprlib.repr(self._names(ids))} of an input of {len(tokens)} tokens: {found.error}"
                        raise type(found.error)(why, found.error.status)
                    arguments = {"python-bias": _bias(ids, found, wanted.prefix_bias_beta)}
                elif ids:
                    arguments = {"python-prefix": " ".join(map(str, ids))}
                yield tokens, ids, Request(line_of(tokens), arguments=arguments)

    def _read(self, pairs: Iterable[tuple[Any, Any]], wanted: Wanted) -> Iterator[tuple[list[str], list[int]]]:
        for source, prefix in pairs:
            if source is None:
                raise ValueError("there are more target prefixes than inputs")
            tokens = self._source(source, wanted.max_input_length)
            prefix = tokens_of("target_prefix", prefix) if prefix is not None else []
            if tokens and wanted.prefix_bias_beta <= 0:
                yield tokens, self._forced(prefix, wanted)
            else:
                yield tokens, (self._favoured if tokens else self._prefix)(prefix)

    def _translate(self, pairs: Iterable[tuple[Any, Any]], wanted: Wanted, together: int | None) -> Iterator[TranslationResult]:
        """Yield results in the order of inputs. The engine does not get inputs without tokens."""
        waiting: collections.deque[tuple[list[str], list[int]]] = collections.deque()  # tokens and prefix of each input
        watch = _Watch(self._open(), wanted) if wanted.callback is not None else None

        def requests() -> Iterator[Request]:
            for number, (tokens, ids, request) in enumerate(self._requests(pairs, wanted)):
                waiting.append((tokens, ids))
                if not tokens:
                    continue
                if watch is not None:
                    watch.numbers.append((number, len(ids)))
                yield request

        if wanted.use_vmap and os.path.exists(os.path.join(self._made["path"], "vmap.txt")):
            raise NotImplementedError("use_vmap: rill does not read vmap.txt")
        settings = wanted.settings()
        if together is not None:
            settings["batch_size"] = together
        if watch is not None:
            settings["heuristic"] = watch
        if wanted.return_alternatives:
            yield from self._alternatives(pairs, wanted, settings)
            return
        with self._open().stream(requests(), **settings) as stream:
            for result in stream:
                while not waiting[0][0]:
                    yield empty(wanted, self._names(waiting.popleft()[1]))
                entry = waiting.popleft()
                if watch is not None:
                    watch.finish(result)
                yield self._result(result, entry, wanted)
        for _, ids in waiting:
            yield empty(wanted, self._names(ids))

    def _result(self, result: Result, entry: tuple[list[str], list[int]], wanted: Wanted) -> TranslationResult:
        if result.error is not None:
            raise result.error
        source, _ = entry
        ordered = wanted.ordered(result.outputs)
        return TranslationResult(
            hypotheses=[self._tokens(output, source, wanted) for _, output in ordered],
            scores=[score for score, _ in ordered] if wanted.return_scores else [],
            attention=[self._attention(output, wanted) for _, output in ordered] if wanted.return_attention else [],
        )

    def _kept(self, output: Output, wanted: Wanted) -> int:
        """Number of an output's tokens in the result, with or without the end token."""
        ended = bool(output.ids) and output.ids[-1] == self._open().info.end_action
        return len(output.ids) - (1 if ended and not wanted.return_end_token else 0)

    def _attention(self, output: Output, wanted: Wanted) -> list[list[float]]:
        return [list(row) for row in (output.alignment or [])[: self._kept(output, wanted)]]

    def _tokens(self, output: Output, source: list[str], wanted: Wanted) -> list[str]:
        tokens = output.tokens[: self._kept(output, wanted)]
        if wanted.replace_unknowns and "<unk>" in tokens:
            shares: Any = output.alignment or []
            for i, token in enumerate(tokens):
                if token == "<unk>" and i < len(shares):
                    best = max(range(len(shares[i])), key=shares[i].__getitem__)
                    tokens[i] = source[best] if best < len(source) else token
        return tokens

    def _alternatives(self, pairs: Iterable[tuple[Any, Any]], wanted: Wanted, settings: dict[str, Any]) -> Iterator[TranslationResult]:
        """For each prefix, find the most probable next tokens, and the best output that continues each."""
        model = self._open()
        end = model.info.end_action
        one = dataclasses.replace(wanted, return_alternatives=False, num_hypotheses=1, callback=None)
        all_of_one = {**one.settings(), "min_length": wanted.min_decoding_length} | ({"n_best": one.most} if one.beam_size > 1 else {})
        for source, prefix in pairs:
            tokens = self._source(source, wanted.max_input_length)
            prefix = tokens_of("target_prefix", prefix) if prefix is not None else []
            if not tokens:
                yield empty(wanted, self._names(self._prefix(prefix)))
                continue
            text, ids = line_of(tokens), self._forced(prefix, wanted)
            if len(ids) >= wanted.max_decoding_length:
                yield empty(wanted, self._names(ids))
                continue
            begun = self._begun(text, ids, wanted, settings)
            given = [Request(text, arguments={"python-prefix": " ".join(map(str, [*ids, action]))}) for action, _ in begun]
            hypotheses, scores, attention = [], [], []
            for (_, logp), result in zip(begun, model.decode(given, **all_of_one)):
                if result.error is not None:
                    raise result.error
                # The prefix and the expanded token do not count in the length that normalises the score.
                ranked = [(out.path_score / max(1, len(out.ids) - len(ids) - 1) ** wanted.length_penalty, out) for out in result.outputs]
                score, best = max(ranked, key=lambda pair: pair[0])
                hypotheses.append(self._tokens(best, tokens, wanted))
                scores.append(logp + score)
                attention.append(self._attention(best, wanted))
            yield TranslationResult(
                hypotheses, scores if wanted.return_scores else [], attention if wanted.return_attention and end is not None else []
            )

    def _begun(self, text: str, ids: list[int], wanted: Wanted, settings: dict[str, Any]) -> list[tuple[int, float]]:
        """The most probable next tokens of a prefix except the end, with log-probabilities renormalised without the end."""
        model = self._open()
        end = model.info.end_action
        request = Request(text, arguments={"python-prefix": " ".join(map(str, ids))})
        n = wanted.num_hypotheses + 1
        kept: dict[str, Any] = {name: settings[name] for name in ("scorer", "unknown_penalty") if name in settings}
        kept |= {"beam_size": n, "n_best": n, "max_children": n, "stop_after": n, "heuristic": []}
        kept |= {"finish": "immediate", "length_penalty": 0}
        found = model.decode([request], max_length=len(ids) + 1, **kept)
        rest = 0.0
        if end is not None:
            ending = model.score([(text, [*ids, end])])[0]
            rest = math.log1p(-min(math.exp(ending.best.token_logprobs[-1]), 1 - 1e-9)) if ending.ok else 0.0
        begun = [(output.ids[-1], output.token_logprobs[-1] - rest) for output in found[0].outputs]
        begun = [(action, logp) for action, logp in begun if action != end][: wanted.num_hypotheses]
        least = wanted.min_alternative_expansion_prob
        return [one for i, one in enumerate(begun) if i == 0 or math.exp(one[1]) >= least]

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
                asked = cast("TranslationOptions", {**options, "return_scores": with_scores})
                for result in self.translate_iterable(sources, targets, max_batch_size, batch_type, **asked):
                    examples += 1
                    tokens += len(result.hypotheses[0])
                    for i, hypothesis in enumerate(result.hypotheses):
                        out.write((f"{result.scores[i]:.6g} ||| " if with_scores else "") + join(hypothesis) + "\n")
            finally:
                if prefixes is not None:
                    prefixes.close()
        return ExecutionStats(tokens, examples, (time.monotonic() - begin) * 1000)

    # --- scoring ---

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
        source, target = many_of("source", source), many_of("target", target)
        if len(source) != len(target):
            raise ValueError(f"there are {len(source)} inputs and {len(target)} targets")
        together_of(max_batch_size, batch_type, source)
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
        together_of(max_batch_size, batch_type, ())
        pairs = zip(source, target)
        while many := list(itertools.islice(pairs, 16 * max_batch_size)):
            yield from self._score(many, max_input_length, offset)

    def _score(self, pairs: Iterable[tuple[Any, Any]], max_input_length: int, offset: int) -> Iterator[ScoringResult]:
        if offset < 0 or max_input_length < 0:
            raise ValueError("offset and max_input_length must be >= 0")
        model = self._open()
        end = model.info.end_action
        cut = [(self._source(one, max_input_length), tokens_of("target", other)) for one, other in pairs]
        pairs = [(source, target[: max_input_length - 1] if max_input_length else target) for source, target in cut]
        pairs = [(source, self._forced(target, Wanted(), "target") if source else self._prefix(target)) for source, target in pairs]
        pairs = [(source, [*target, *([] if end is None else [end])]) for source, target in pairs]
        found = iter(model.score((line_of(source), ids) for source, ids in pairs if source))
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
            wanted = (cut_target(line.rstrip("\n")) for line in targets)
            for result in self.score_iterable(sources, wanted, max_batch_size, batch_type, max_input_length, offset):
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
        """Yield the tokens of the greedy output during the search."""
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
        wanted = wanted_of("generate_tokens", {**options, "beam_size": 1, "return_scores": return_log_prob, "callback": look})
        self._check_tokens(wanted)
        watch = _Watch(self._open(), wanted)
        ids = self._forced(tokens_of("target_prefix", target_prefix) if target_prefix is not None else (), wanted)
        watch.numbers.append((0, len(ids)))
        text = line_of(self._source(source, max_input_length))
        arguments = {"python-prefix": " ".join(map(str, ids))} if ids else None
        settings = {**wanted.settings(), "heuristic": watch}
        if not text:
            return
        with self._open().stream([Request(text, arguments=arguments)], **settings) as stream:
            for result in stream._in_steps():
                if result is not None:
                    watch.finish(result)
                while steps:
                    step = steps.popleft()
                    yield step if return_log_prob else dataclasses.replace(step, log_prob=None)


def _marks_of(folder: str) -> int:
    """Number of tokens that the model adds to an input."""
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
        said = json.load(file)
    return sum(bool(said.get(name, False)) for name in ("add_source_bos", "add_source_eos"))


def _bias(ids: list[int], scored: Result, beta: float) -> str:
    """Arguments of python-bias: log p becomes log((1 - beta) p + beta) for tokens of the prefix, log((1 - beta) p) for others."""
    share = math.log1p(-beta)
    biases = [math.log((1 - beta) * math.exp(logp) + beta) - logp - share for logp in scored.best.token_logprobs]
    return f"{share!r} " + " ".join(f"{one}:{bias!r}" for one, bias in zip(ids, biases))


class _Watch:
    """A heuristic that never prunes. It reports the steps of greedy searches to a callback, and stops a search if the callback says so."""

    def __init__(self, model: Model, wanted: Wanted) -> None:
        self._model, self._callback, self._most = model, wanted.callback, wanted.max_decoding_length
        self.numbers: list[tuple[int, int]] = []  # for each input: number in the batch, length of the prefix
        self._last: dict[int, int] = {}  # last reported step of each input

    def __call__(self, beams: Any) -> None:
        for i in range(beams.n):
            first = int(beams.offset[i])
            if first == int(beams.offset[i + 1]):
                continue
            item, step = int(beams.item_id[i]), int(beams.timestep[i])
            if self._tell(item, step, int(beams.action[first]), float(beams.action_logp[first]), step + 1 == self._most):
                beams.stop[i] = 1

    def _tell(self, item: int, step: int, action: int, logp: float, last: bool) -> bool:
        number, prefix = self.numbers[item]
        self._last[item] = step
        if self._callback is None:
            return False
        logp = 0.0 if step < prefix else logp  # forced tokens have no score
        return bool(self._callback(GenerationStepResult(step, number, action, 0, self._model.id_to_token(action), logp, None, last)))

    def finish(self, result: Result) -> None:
        """Report the end of an output, which the heuristic does not see."""
        told = self._last.pop(result.id, -1)
        if result.ok:
            best = result.best
            for step in range(told + 1, len(best.ids)):
                self._tell(result.id, step, best.ids[step], best.token_logprobs[step], True)
            self._last.pop(result.id, None)
