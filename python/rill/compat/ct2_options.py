"""Results and options of CTranslate2's calls, and their translation to rill's settings. ctranslate2.py has the calls."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import difflib
import json
import math
import os
import random
import re
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypedDict, TypeVar

from ..kinds import by_annotation, function, typed, whole
from ..model import Model
from ..results import Output, Result

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..views import Candidates, Modifiers, ScorerRows

_Result = TypeVar("_Result")
Tokens = Sequence[str]
DICE = random.Random()


@typed
def set_random_seed(seed: int) -> None:
    """Seed the random numbers of later samples."""
    DICE.seed(seed)


def token_list(what: str, given: object) -> list[str]:
    """Check a list of tokens. Raises TypeError for a single text, and for tokens that are not texts."""
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable) or not hasattr(given, "__getitem__") or hasattr(given, "keys"):
        raise TypeError(f"{what}: a list of tokens was expected, found {reprlib.repr(given)}")
    tokens = [token.decode() if isinstance(token, bytes) else token for token in given]
    for token in tokens:
        if not isinstance(token, str):
            raise TypeError(f"{what}: tokens of type str were expected, found {reprlib.repr(token)}")
    return tokens


def token_lists(what: str, given: Any, missing: bool = False) -> list[Any]:
    """Check a list of token lists. missing: accept None in place of a list."""
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable) or not hasattr(given, "__getitem__") or hasattr(given, "keys"):
        raise TypeError(f"{what}: a list of lists of tokens was expected, found {reprlib.repr(given)}")
    return [None if missing and one is None else token_list(what, one) for one in given]


_BLANK = re.compile("[ \\t-\\r\\0]")


def input_line(tokens: list[str]) -> str:
    """Join tokens with spaces to an input of rill. Empty tokens and tokens with spaces become <unk>, since no model has them."""
    return " ".join("<unk>" if not token or _BLANK.search(token) else token for token in tokens)


class Hypothesis(TypedDict, total=False):
    """One output in the form of CTranslate2's old results; "score" and "attention" if they were requested."""

    tokens: list[str]
    score: float
    attention: list[list[float]]


@dataclasses.dataclass
class TranslationResult:
    """hypotheses: [n] lists of tokens; scores: [n]; attention: [n][tokens][source tokens]; logits. Empty unless requested."""

    hypotheses: list[list[str]]
    scores: list[float] = dataclasses.field(default_factory=list)
    attention: list[list[list[float]]] = dataclasses.field(default_factory=list)
    logits: list[NDArray[np.float32]] = dataclasses.field(default_factory=list)

    def __len__(self) -> int:
        return len(self.hypotheses)

    def __getitem__(self, i: int) -> Hypothesis:
        """Output i in the form of CTranslate2's old results: {"tokens", "score", "attention"}."""
        found: Hypothesis = {"tokens": self.hypotheses[i]}
        if self.scores:
            found["score"] = self.scores[i]
        if self.attention:
            found["attention"] = self.attention[i]
        return found


@dataclasses.dataclass
class ScoringResult:
    """tokens: of the target, including the end; log_probs: one natural log-probability per token."""

    tokens: list[str]
    log_probs: list[float]


@dataclasses.dataclass
class GenerationStepResult:
    """A generated token; step counts from 0, hypothesis_id is 0."""

    step: int
    batch_id: int
    token_id: int
    hypothesis_id: int
    token: str
    log_prob: float | None
    logits: None
    is_last: bool


@dataclasses.dataclass
class ExecutionStats:
    """num_tokens: in outputs; total_time_in_ms: wall-clock time."""

    num_tokens: int
    num_examples: int
    total_time_in_ms: float


class Async(Generic[_Result]):
    """A result that another thread computes."""

    def __init__(self, future: concurrent.futures.Future[list[_Result]], index: int) -> None:
        self._future, self._index = future, index

    def result(self) -> _Result:
        """Wait for the result. Raises the exception of the computation."""
        return self._future.result()[self._index]

    def done(self) -> bool:
        """Whether the result is available."""
        return self._future.done()


class AsyncTranslationResult(Async[TranslationResult]):
    """A future TranslationResult."""


class AsyncScoringResult(Async[ScoringResult]):
    """A future ScoringResult."""


def refuse(**unsupported: bool) -> None:
    for name, given in unsupported.items():
        if given:
            raise NotImplementedError(f"{name}: {LACKS.get(name, 'rill does not support it')}")


_BEFORE_SOFTMAX = "CTranslate2 changes logits before the softmax and rill log-probabilities after it, which gives other "
FORBIDDING = ("min_decoding_length", "no_repeat_ngram_size", "disable_unk", "suppress_sequences")
LACKS = {"repetition_penalty": _BEFORE_SOFTMAX + "outputs"}

WEIGHTS = {
    "default": None,
    "auto": None,
    "float32": "f32",
    "int8": "int8",
    "int8_float32": "int8",
    "bfloat16": "bf16",
    "float16": "f16",
}


@typed
def contains_model(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a folder with a model.bin, as in CTranslate2: the file is not read."""
    return os.path.exists(os.path.join(path, "model.bin"))


@typed
def get_supported_compute_types(device: str, device_index: int = 0) -> set[str]:
    """Return the types that Translator(device=, compute_type=) takes, besides "default" and "auto". The device need not exist."""
    if device == "cpu" and device_index != 0:
        raise ValueError(f"device_index: {device_index}: there is one cpu, number 0")
    if device not in ("cpu", "cuda", "auto"):
        raise ValueError(f"unsupported device {device}")
    return {"float32", "bfloat16", "float16"} if device == "cuda" else {"float32", "bfloat16", "int8", "int8_float32"}


class TranslationOptions(TypedDict, total=False):
    """Keyword arguments of translate_batch() and similar calls: the fields of SearchOptions."""

    beam_size: int
    patience: float
    num_hypotheses: int
    length_penalty: float
    coverage_penalty: float
    repetition_penalty: float
    no_repeat_ngram_size: int
    disable_unk: bool
    suppress_sequences: Sequence[Tokens] | None
    end_token: str | Sequence[str] | Sequence[int] | None
    return_end_token: bool
    prefix_bias_beta: float
    max_input_length: int
    max_decoding_length: int
    min_decoding_length: int
    use_vmap: bool
    return_scores: bool
    return_logits_vocab: bool
    return_attention: bool
    return_alternatives: bool
    min_alternative_expansion_prob: float
    sampling_topk: int
    sampling_topp: float
    sampling_temperature: float
    replace_unknowns: bool
    callback: Callable[[GenerationStepResult], bool] | None


@dataclasses.dataclass(frozen=True)
class SearchOptions:
    """Search and result options of a translation: the arguments of translate_batch()."""

    beam_size: int = 2
    patience: float = 1
    num_hypotheses: int = 1
    length_penalty: float = 1
    coverage_penalty: float = 0
    repetition_penalty: float = 1
    no_repeat_ngram_size: int = 0
    disable_unk: bool = False
    suppress_sequences: Sequence[Tokens] | None = None
    end_token: str | Sequence[str] | Sequence[int] | None = None
    return_end_token: bool = False
    prefix_bias_beta: float = 0
    max_input_length: int = 1024
    max_decoding_length: int = 256
    min_decoding_length: int = 1
    use_vmap: bool = False
    return_scores: bool = False
    return_logits_vocab: bool = False
    return_attention: bool = False
    return_alternatives: bool = False
    min_alternative_expansion_prob: float = 0
    sampling_topk: int = 1
    sampling_topp: float = 1
    sampling_temperature: float = 1
    replace_unknowns: bool = False
    callback: Callable[[GenerationStepResult], bool] | None = None

    @property
    def samples(self) -> bool:
        """Whether outputs are sampled."""
        return self.sampling_topk != 1

    @property
    def covers(self) -> bool:
        """True if coverage_penalty reorders the outputs of an input."""
        return self.coverage_penalty != 0 and self.beam_size > 1 and not self.samples

    @property
    def max_outputs(self) -> int:
        """Largest number of outputs of a beam."""
        return self.enough + self.beam_size

    @property
    def enough(self) -> int:
        """The number of outputs after which the search ends."""
        return math.floor(self.beam_size * self.patience + 0.5)

    @property
    def forbidding(self) -> list[str]:
        """Names of the given options that forbid tokens. min_decoding_length 1 is left out: it affects all outputs of an input equally."""
        given = self.min_decoding_length > 1, self.no_repeat_ngram_size > 0, self.disable_unk, bool(self.suppress_sequences)
        return [name for name, one in zip(FORBIDDING, given) if one]

    @property
    def greedy(self) -> bool:
        """Whether the search is greedy."""
        return not (self.beam_size > 1 or self.samples or self.return_alternatives or self.prefix_bias_beta > 0)

    def ordered(self, outputs: list[Output]) -> list[tuple[float, Output]]:
        """Return the outputs with their scores, best first."""
        if self.beam_size == 1 and not self.samples:
            outputs = outputs[:1] * self.num_hypotheses
        if not self.covers:
            return [(output.score, output) for output in outputs]
        scored = [(output.score + self.coverage_penalty * _coverage(output.alignment or []), output) for output in outputs]
        return sorted(scored, key=lambda pair: -pair[0])[: self.num_hypotheses]

    def check(self) -> None:
        """Raise for impossible options, with CTranslate2's message if there is one, and for options that rill does not support."""
        for wrong, why in (
            (self.beam_size < 1, "The beam size must be > 0"),
            (self.num_hypotheses < 1, "The number of hypotheses must be > 0"),
            (self.patience <= 0, "The patience factor must be > 0"),
            (self.repetition_penalty <= 0, "The repetition penalty must be > 0"),
            (self.no_repeat_ngram_size < 0 or self.sampling_topk < 0, "no_repeat_ngram_size and sampling_topk must be >= 0"),
            (self.max_decoding_length < 1, "The maximum decoding length must be > 0"),
            (
                self.min_decoding_length > self.max_decoding_length,
                "The minimum decoding length is greater than the maximum decoding length",
            ),
            (
                not self.samples and not self.return_alternatives and self.num_hypotheses > self.enough,
                "The number of hypotheses cannot be greater than beam_size * patience",
            ),
            (
                self.callback is not None and (self.beam_size > 1 or self.prefix_bias_beta > 0),
                "The callback function is not compatible with beam_size > 1 or prefix_bias_beta > 0",
            ),
            (self.prefix_bias_beta >= 1, "The beta value in biased decoding must be < 1"),
            (not 0 < self.sampling_topp <= 1, "sampling_topp must be between 0 and 1"),
        ):
            if wrong:
                raise ValueError(why)
        for name in self.forbidding:
            if not self.greedy:
                raise NotImplementedError(f"{name}: {_BEFORE_SOFTMAX}outputs unless the search is greedy")
            if self.return_scores:
                raise NotImplementedError(f"{name} with scores: {_BEFORE_SOFTMAX}ones")
        refuse(
            prefix_bias_beta_with_alternatives=self.prefix_bias_beta > 0 and self.return_alternatives,
            repetition_penalty=self.repetition_penalty != 1,
            coverage_penalty_with_alternatives=self.coverage_penalty != 0 and self.return_alternatives,
            return_logits_vocab=self.return_logits_vocab,
            sampling_with_a_beam=self.samples and self.beam_size > 1,
            callback_with_several_samples=self.callback is not None and self.samples and self.num_hypotheses > 1,
            callback_with_alternatives=self.callback is not None and self.return_alternatives,
        )

    def settings(self) -> dict[str, Any]:
        """Return the options as settings of rill."""
        settings: dict[str, Any] = {
            "like": "ct2",
            "length_penalty": self.length_penalty,
            "max_length": self.max_decoding_length,
            "min_length": self.min_decoding_length,
            "heuristic": [],
            "scorer": ["python-prefix"],
        }
        if self.samples:
            settings |= {"num_samples": self.num_hypotheses, "n_best": self.num_hypotheses}
            settings |= {"top_k": self.sampling_topk, "top_p": self.sampling_topp}
            settings |= {"temperature": self.sampling_temperature, "seed": DICE.getrandbits(31)}
        elif self.callback is not None:
            settings |= {"beam_size": 1, "max_children": 1}
        elif self.beam_size == 1:
            settings |= {"method": "greedy"}
        else:
            settings |= {"beam_size": self.beam_size, "n_best": self.max_outputs if self.covers else self.num_hypotheses}
            if self.covers:
                settings |= {"stop": "count", "stop_after": self.enough}
            elif self.length_penalty == 0:
                settings |= {"stop_after": self.num_hypotheses}
            elif self.patience != 1:
                settings |= {"patience": self.patience}
        if self.no_repeat_ngram_size:
            settings["no_repeat_ngram"] = self.no_repeat_ngram_size
        if self.disable_unk:
            settings["unknown_penalty"] = "inf"
        if self.suppress_sequences:
            phrases = [" ".join(sequence) for sequence in self.suppress_sequences]
            settings["scorer"] = ["python-prefix", "ban:" + " ||| ".join(phrases)]
        if self.prefix_bias_beta > 0:
            settings["scorer"] = ["python-bias", *settings["scorer"]]
        if self.return_attention or self.replace_unknowns or self.covers:
            settings["alignment"] = "soft"
        return settings


def search_options(call: str, options: Mapping[str, Any]) -> SearchOptions:
    """Check the options of a call. The TypeError for an unknown option suggests the nearest known one."""
    known = [field.name for field in dataclasses.fields(SearchOptions)]
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            raise TypeError(f"{call}() got an unexpected keyword argument {name!r}" + (f": did you mean {near[0]!r}?" if near else ""))
    options = by_annotation(SearchOptions.__annotations__, dict(options))
    for name, read in (("suppress_sequences", token_lists), ("callback", function), ("end_token", _ends_of)):
        if options.get(name) is not None:
            options = {**options, name: read(name, options[name])}
    search = SearchOptions(**options)
    search.check()
    return search


def _ends_of(what: str, given: Any) -> list[str | int]:
    """Check end_token: tokens, or their ids."""
    if isinstance(given, (str, bytes)):
        return [*token_list(what, [given])]
    if isinstance(given, Iterable) and (ends := list(given)) and not isinstance(ends[0], (str, bytes)):
        return [whole(what, end) for end in ends]
    return [*token_list(what, given)]


def _coverage(shares: Any) -> float:
    """Coverage of Wu et al. (2016) without its factor: the sum over source tokens of log min(1, their total attention)."""
    return sum(math.log(min(1.0, piece)) for piece in map(sum, zip(*shares)) if piece > 0)


def empty(search: SearchOptions, prefix: list[str]) -> TranslationResult:
    """Return the result of an input without tokens: its prefix."""
    n, tokens = search.num_hypotheses, prefix[: search.max_decoding_length]
    return TranslationResult(
        hypotheses=[list(tokens) for _ in range(n)],
        scores=[0.0] * n if search.return_scores else [],
        attention=[[[] for _ in tokens] for _ in range(n)] if search.return_attention else [],
    )


def inputs_per_batch(max_batch_size: int, batch_type: str, source: Sequence[Tokens]) -> int | None:
    """Number of inputs to decode together according to CTranslate2's batch arguments; None: rill chooses."""
    if batch_type not in ("examples", "tokens"):
        raise ValueError(f"Invalid batch type: {batch_type}")
    if max_batch_size < 0:
        raise ValueError("max_batch_size must be >= 0")
    if max_batch_size == 0:
        return None
    max_batch_size = min(max_batch_size, 1 << 20)
    if batch_type == "examples":
        return max_batch_size
    return max(1, max_batch_size // max([len(tokens) for tokens in source] or [32]))


def added_tokens(folder: str) -> int:
    """Number of tokens that the model adds to an input."""
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    return sum(bool(config.get(name, False)) for name in ("add_source_bos", "add_source_eos"))


def bias_arguments(ids: list[int], scored: Result, beta: float) -> str:
    """Return the arguments of the scorer python-bias: log p becomes log((1 - beta) p + beta) for the prefix, log((1 - beta) p) for other
    tokens."""
    share = math.log1p(-beta)
    biases = [math.log((1 - beta) * math.exp(logp) + beta) - logp - share for logp in scored.best.token_logprobs]
    return f"{share!r} " + " ".join(f"{one}:{bias!r}" for one, bias in zip(ids, biases))


class StepCallback:
    """Reports each token of a greedy search or of samples to a callback, which may stop the search.

    Greedy search: a heuristic that never prunes. Samples: a scorer that changes no score and sees each token one timestep
    later. A stopped sample is drawn to its end, then cut.
    """

    def __init__(self, model: Model, search: SearchOptions) -> None:
        self._model, self._callback, self._max_length = model, search.callback, search.max_decoding_length
        self.numbers: list[tuple[int, int]] = []  # for each input: number in the batch, length of the prefix
        self._last: dict[int, int] = {}  # last reported step of each input
        self._scores: dict[int, float] = {}  # path_score of each sample at its last reported step
        self._stopped: set[int] = set()  # samples that the callback stopped
        self._samples = search.samples
        self._length_penalty = search.length_penalty

    def added_to(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Return the settings of a search that reports its steps."""
        if self._samples:
            return {**settings, "scorer": [*settings["scorer"], self.sampled]}
        return {**settings, "heuristic": self}

    def sampled(self, rows: ScorerRows, modifiers: Modifiers) -> None:
        """Report the last token of each sample."""
        for row in range(rows.n):
            item, step, score = int(rows.item_id[row]), int(rows.timestep[row]) - 1, float(rows.path_score[row])
            if step >= 0 and item not in self._stopped:
                if self._report(item, step, int(rows.path(row)[-1]), score - self._scores.get(item, 0.0), False):
                    self._stopped.add(item)
                self._scores[item] = score

    def __call__(self, candidates: Candidates) -> None:
        for i in range(candidates.n):
            first = int(candidates.offset[i])
            if first == int(candidates.offset[i + 1]):
                continue
            item, step = int(candidates.item_id[i]), int(candidates.timestep[i])
            if self._report(item, step, int(candidates.action[first]), float(candidates.action_logp[first]), step + 1 == self._max_length):
                candidates.stop[i] = 1

    def _report(self, item: int, step: int, action: int, logp: float, last: bool) -> bool:
        number, prefix = self.numbers[item]
        self._last[item] = step
        if self._callback is None:
            return False
        logp = 0.0 if step < prefix else logp  # forced tokens have no score
        return bool(self._callback(GenerationStepResult(step, number, action, 0, self._model.id_to_token(action), logp, None, last)))

    def finish(self, result: Result) -> Result:
        """Report the last tokens of an output, which the search did not report. Return the result; if a sample was stopped, it is cut."""
        reported = self._last.pop(result.id, -1)
        self._scores.pop(result.id, None)
        if result.ok and result.id in self._stopped:
            self._stopped.remove(result.id)
            return result._replace(outputs=[self._cut(result.best, result.id, reported + 1)])
        if result.ok:
            best = result.best
            for step in range(reported + 1, len(best.ids)):
                self._report(result.id, step, best.ids[step], best.token_logprobs[step], True)
            self._last.pop(result.id, None)
        return result

    def _cut(self, output: Output, item: int, n: int) -> Output:
        """Cut a sample to its first n tokens."""
        logp = sum(output.token_logprobs[self.numbers[item][1] : n])
        return output._replace(
            ids=output.ids[:n],
            tokens=output.tokens[:n],
            token_logprobs=output.token_logprobs[:n],
            score=logp / n**self._length_penalty,
            alignment=output.alignment[:n] if output.alignment is not None else None,
        )
