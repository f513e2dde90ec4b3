"""What CTranslate2's calls take and give: results, and the arguments of a translation in rill's words. ctranslate2.py has the calls."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import difflib
import math
import random
import re
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypedDict

from ..kinds import by_annotation, function, typed, whole
from ..results import Output

Tokens = Sequence[str]
DICE = random.Random()


@typed
def set_random_seed(seed: int) -> None:
    """Let samples that are drawn from now on be the same in every run."""
    DICE.seed(seed)


def tokens_of(what: str, given: Any) -> list[str]:
    """Tokens as they were given. TypeError for a text, whose characters are no tokens, and for tokens that are no texts."""
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable) or not hasattr(given, "__getitem__") or hasattr(given, "keys"):
        raise TypeError(f"{what}: a list of tokens was expected, found {reprlib.repr(given)}")
    tokens = [token.decode() if isinstance(token, bytes) else token for token in given]
    for token in tokens:
        if not isinstance(token, str):
            raise TypeError(f"{what}: tokens of type str were expected, found {reprlib.repr(token)}")
    return tokens


def many_of(what: str, given: Any, missing: bool = False) -> list[Any]:
    """Lists of tokens. missing: whether None may stand in place of one."""
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable) or not hasattr(given, "__getitem__") or hasattr(given, "keys"):
        raise TypeError(f"{what}: a list of lists of tokens was expected, found {reprlib.repr(given)}")
    return [None if missing and one is None else tokens_of(what, one) for one in given]


_BLANK = re.compile("[ \\t-\\r\\0]")


def line_of(tokens: list[str]) -> str:
    """An input of rill's, which has blanks between its tokens: a token that is empty or has a blank is none that a model has."""
    return " ".join("<unk>" if not token or _BLANK.search(token) else token for token in tokens)


@dataclasses.dataclass
class TranslationResult:
    """hypotheses: [n] lists of tokens; scores: [n], attention: [n][tokens][source tokens], logits: empty unless they were asked for."""

    hypotheses: list[list[str]]
    scores: list[float] = dataclasses.field(default_factory=list)
    attention: list[list[list[float]]] = dataclasses.field(default_factory=list)
    logits: list[Any] = dataclasses.field(default_factory=list)

    def __len__(self) -> int:
        return len(self.hypotheses)

    def __getitem__(self, i: int) -> dict[str, Any]:
        """The form of old: {"tokens", "score", "attention"}."""
        found: dict[str, Any] = {"tokens": self.hypotheses[i]}
        if self.scores:
            found["score"] = self.scores[i]
        if self.attention:
            found["attention"] = self.attention[i]
        return found


@dataclasses.dataclass
class ScoringResult:
    """tokens: the target's, the end among them; log_probs: natural logarithms, one for each."""

    tokens: list[str]
    log_probs: list[float]


@dataclasses.dataclass
class GenerationStepResult:
    """A token as it is generated; step counts from 0, hypothesis_id is 0."""

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
    """num_tokens: of outputs; total_time_in_ms: by the clock."""

    num_tokens: int
    num_examples: int
    total_time_in_ms: float


class Async:
    """A result that is being worked out elsewhere."""

    def __init__(self, future: concurrent.futures.Future[list[Any]], index: int) -> None:
        self._future, self._index = future, index

    def result(self) -> Any:
        """Wait for it; raises what working it out raised."""
        return self._future.result()[self._index]

    def done(self) -> bool:
        """Whether it is there."""
        return self._future.done()


class AsyncTranslationResult(Async):
    """A TranslationResult to come."""


class AsyncScoringResult(Async):
    """A ScoringResult to come."""


def refuse(**unsupported: bool) -> None:
    for name, given in unsupported.items():
        if given:
            raise NotImplementedError(f"{name}: {LACKS.get(name, 'rill has nothing that does this')}")


_BEFORE = "CTranslate2 does this to logits before the softmax, and rill to log-probabilities behind it, which gives other "
STRUCK = ("min_decoding_length", "no_repeat_ngram_size", "disable_unk", "suppress_sequences")
LACKS = {"repetition_penalty": _BEFORE + "outputs"}

WEIGHTS = {
    "default": None,
    "auto": None,
    "float32": "f32",
    "int8": "int8",
    "int8_float32": "int8",
    "bfloat16": "bf16",
}


class TranslationOptions(TypedDict, total=False):
    """Keyword arguments of translate_batch() and its like: the fields of Wanted."""

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
class Wanted:
    """How a translation is searched and what is made of it; the arguments of translate_batch()."""

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
        """Whether outputs are drawn."""
        return self.sampling_topk != 1

    @property
    def covers(self) -> bool:
        """Whether what was found of an input is put in order by coverage_penalty."""
        return self.coverage_penalty != 0 and self.beam_size > 1 and not self.samples

    @property
    def most(self) -> int:
        """Outputs that a beam comes to at the most."""
        return self.enough + self.beam_size

    @property
    def enough(self) -> int:
        """Outputs of a beam after which its search ends."""
        return math.floor(self.beam_size * self.patience + 0.5)

    @property
    def struck(self) -> list[str]:
        """Options by which some tokens may not be chosen. A min_decoding_length of 1 changes all of an input's outputs alike."""
        given = self.min_decoding_length > 1, self.no_repeat_ngram_size > 0, self.disable_unk, bool(self.suppress_sequences)
        return [name for name, one in zip(STRUCK, given) if one]

    @property
    def greedy(self) -> bool:
        """Whether the most probable token alone is looked for."""
        return not (self.beam_size > 1 or self.samples or self.return_alternatives or self.prefix_bias_beta > 0)

    def ordered(self, outputs: list[Output]) -> list[tuple[float, Output]]:
        """Outputs with the scores that order them, best first."""
        if self.beam_size == 1 and not self.samples:
            outputs = outputs[:1] * self.num_hypotheses
        if not self.covers:
            return [(output.score, output) for output in outputs]
        scored = [(output.score + self.coverage_penalty * _coverage(output.alignment or []), output) for output in outputs]
        return sorted(scored, key=lambda pair: -pair[0])[: self.num_hypotheses]

    def check(self) -> None:
        """Raise for what is impossible, in CTranslate2's words where it has some, and for what rill lacks."""
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
        for name in self.struck:
            if not self.greedy:
                raise NotImplementedError(f"{name}: {_BEFORE}outputs unless the search is greedy")
            if self.return_scores:
                raise NotImplementedError(f"{name} with scores: {_BEFORE}ones")
        refuse(
            prefix_bias_beta_with_alternatives=self.prefix_bias_beta > 0 and self.return_alternatives,
            repetition_penalty=self.repetition_penalty != 1,
            coverage_penalty_with_alternatives=self.coverage_penalty != 0 and self.return_alternatives,
            return_logits_vocab=self.return_logits_vocab,
            sampling_with_a_beam=self.samples and self.beam_size > 1,
            callback_with_samples=self.callback is not None and self.samples,
            callback_with_alternatives=self.callback is not None and self.return_alternatives,
        )

    def settings(self) -> dict[str, Any]:
        """The same in rill's words."""
        said: dict[str, Any] = {
            "like": "ct2",
            "length_penalty": self.length_penalty,
            "max_length": self.max_decoding_length,
            "min_length": self.min_decoding_length,
            "heuristic": [],
            "scorer": ["python-prefix"],
        }
        if self.samples:
            said |= {"sample": self.num_hypotheses, "top_k": self.sampling_topk, "top_p": self.sampling_topp, "n_best": self.num_hypotheses}
            said |= {"temperature": self.sampling_temperature, "seed": DICE.getrandbits(31)}
        elif self.callback is not None:
            said |= {"beam_size": 1, "max_children": 1}
        elif self.beam_size == 1:
            said |= {"method": "greedy"}
        else:
            said |= {"beam_size": self.beam_size, "n_best": self.most if self.covers else self.num_hypotheses}
            if self.covers:
                said |= {"stop": "count", "stop_after": self.enough}
            elif self.length_penalty == 0:
                said |= {"stop_after": self.num_hypotheses}
            elif self.patience != 1:
                said |= {"patience": self.patience}
        if self.no_repeat_ngram_size:
            said["no_repeat_ngram"] = self.no_repeat_ngram_size
        if self.disable_unk:
            said["unknown_penalty"] = "inf"
        if self.suppress_sequences:
            phrases = [" ".join(sequence) for sequence in self.suppress_sequences]
            said["scorer"] = ["python-prefix", "ban:" + " ||| ".join(phrases)]
        if self.prefix_bias_beta > 0:
            said["scorer"] = ["python-bias", *said["scorer"]]
        if self.return_attention or self.replace_unknowns or self.covers:
            said["alignment"] = "soft"
        return said


def wanted_of(call: str, options: Mapping[str, Any]) -> Wanted:
    """The options of a call, checked. TypeError names one that there is not, and the nearest that there is."""
    known = [field.name for field in dataclasses.fields(Wanted)]
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            raise TypeError(f"{call}() got an unexpected keyword argument {name!r}" + (f": did you mean {near[0]!r}?" if near else ""))
    options = by_annotation(Wanted.__annotations__, dict(options))
    for name, read in (("suppress_sequences", many_of), ("callback", function), ("end_token", _ends_of)):
        if options.get(name) is not None:
            options = {**options, name: read(name, options[name])}
    wanted = Wanted(**options)
    wanted.check()
    return wanted


def _ends_of(what: str, given: Any) -> list[str | int]:
    """Tokens, or their numbers, that may end an output."""
    if isinstance(given, (str, bytes)):
        return [*tokens_of(what, [given])]
    if isinstance(given, Iterable) and (ends := list(given)) and not isinstance(ends[0], (str, bytes)):
        return [whole(what, end) for end in ends]
    return [*tokens_of(what, given)]


def _coverage(shares: Any) -> float:
    """The sum over pieces of log min(1, attention that they had in all) (Wu et al. 2016, without its factor)."""
    return sum(math.log(min(1.0, piece)) for piece in map(sum, zip(*shares)) if piece > 0)


def empty(wanted: Wanted, prefix: list[str]) -> TranslationResult:
    """What comes of an input without tokens: its prefix."""
    n, tokens = wanted.num_hypotheses, prefix[: wanted.max_decoding_length]
    return TranslationResult(
        hypotheses=[list(tokens) for _ in range(n)],
        scores=[0.0] * n if wanted.return_scores else [],
        attention=[[[] for _ in tokens] for _ in range(n)] if wanted.return_attention else [],
    )


def together_of(max_batch_size: int, batch_type: str, source: Sequence[Tokens]) -> int | None:
    """Inputs that are decoded together, by what CTranslate2 is told of batches; None: as many as rill likes."""
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
