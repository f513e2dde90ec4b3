"""The result of one input: its outputs, or the error that left it without any."""

from __future__ import annotations

import reprlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from . import errors
from ._native import ffi, lib
from .errors import renamed

if TYPE_CHECKING:
    from .model import Vocabulary

#: Pairs (input token, output token), both counted from 0; with alignment="soft" weights [tokens][input tokens], each row adding up to 1.
Alignment = list[tuple[int, int]] | list[list[float]]


@renamed(rank_score="score", word_scores="token_logprobs", ended="finish_reason")
class Output(NamedTuple):
    """One output of an input.

    Attributes:
        text: The output as text.
        score: The number by which outputs are ordered: path_score after length_penalty and word_penalty.
        path_score: The number by which the beam compares hypotheses: logp plus whatever scorers add.
        logp: The sum of the model's log-probabilities.
        length: The number of tokens, without the end token.
        finish_reason: "stop" if the output ends with the end token; "length", "timeout" or "heuristic" if the length limit, its
            deadline or a heuristic cut it short.
        ids: The token ids, with the end token.
        tokens: The tokens as text, one for each id.
        token_logprobs: The model's log-probability of each token.
        certified: With the setting certify: True if no output outside this list has a higher score.
        alignment: The alignment with the input, if the setting alignment asks for it, else None.
        unknown_names: With the setting unknown_names: names in the input that the model does not know, else None.
    """

    text: str
    score: float
    path_score: float
    logp: float
    length: int
    finish_reason: str
    ids: list[int]
    tokens: list[str]
    token_logprobs: list[float]
    certified: bool
    alignment: Alignment | None
    unknown_names: str | None

    @property
    def truncated(self) -> bool:
        """True if the output does not end with the end token."""
        return self.finish_reason != "stop"

    def __repr__(self) -> str:
        numbers = f"score={self.score:.4f}, logp={self.logp:.4f}, length={self.length}"
        return f"rill.Output({self.text!r}, {numbers}, finish_reason={self.finish_reason!r})"


@renamed(late="timed_out", note="warnings", found="outputs_found", user="tag")
class Result(NamedTuple):
    """The result of one input.

    Attributes:
        id: The number of the input, from 0.
        outputs: The outputs, best first; empty if `error` is set.
        error: The reason why the input has no output, else None.
        timed_out: True if the deadline passed before the search was done; outputs that ended earlier still say "stop".
        outputs_found: The number of outputs that the search found, at least len(outputs).
        warnings: Sentences about how the input was read or what its output may lack.
        tag: The tag of its Request, else None.
    """

    id: int
    outputs: list[Output]
    error: errors.Error | None
    timed_out: bool
    outputs_found: int
    warnings: list[str]
    tag: object = None

    @property
    def ok(self) -> bool:
        """True if the input has an output."""
        return self.error is None

    @property
    def best(self) -> Output:
        """The best output.

        Raises:
            rill.Error: The result's `error`, if it has one. This holds for text, score and tokens as well.
        """
        if self.error is not None:
            raise self.error
        return self.outputs[0]

    @property
    def text(self) -> str:
        """The text of the best output."""
        return self.best.text

    @property
    def score(self) -> float:
        """The score of the best output."""
        return self.best.score

    @property
    def tokens(self) -> list[str]:
        """The tokens of the best output."""
        return self.best.tokens

    def __repr__(self) -> str:
        if self.error is not None:
            return f"rill.Result(id={self.id}, error={type(self.error).__name__}({str(self.error)!r}))"
        best = self.outputs[0]
        parts = [f"id={self.id}", repr(best.text), f"score={best.score:.4f}", f"finish_reason={best.finish_reason!r}"]
        if len(self.outputs) > 1:
            parts.append(f"outputs={len(self.outputs)}")
        if self.warnings:
            parts.append(f"warnings={self.warnings!r}")
        if self.tag is not None:
            parts.append(f"tag={reprlib.repr(self.tag)}")
        return f"rill.Result({', '.join(parts)})"


def read_alignment(text: str, soft: bool) -> Alignment:
    """Parse an alignment: "0-0 1-2", or with weights "0.5,0.5 1,0"."""
    if soft:
        return [[float(cell) for cell in row.split(",")] for row in text.split()]
    pairs = (pair.split("-") for pair in text.split())
    return [(int(source), int(target)) for source, target in pairs]


class Reader:
    """Copies the engine's results. `fields` are the fields that the run's outputs have besides their text."""

    def __init__(self, names: Vocabulary, fields: list[str]) -> None:
        self.names = names
        self.fields = [field.partition("=")[0] for field in fields]
        self.soft = "alignment=soft" in fields
        self._text = ffi.new("char[]", 300)

    def _field(self, output: Any, name: str) -> str | None:
        if not self.fields or name not in self.fields:
            return None
        return str(ffi.string(lib.rill_output_field(output, self.fields.index(name))).decode(errors="replace"))

    def output(self, output: Any, timed_out: bool) -> Output:
        """Copy one borrowed output."""
        n = output.n_ids
        ids = ffi.unpack(output.ids, n) if n else []
        alignment = self._field(output, "alignment")
        return Output(
            text=ffi.unpack(output.text, output.text_bytes).decode(errors="replace"),
            score=output.score,
            path_score=output.path_score,
            logp=output.logp,
            length=output.length,
            finish_reason=ffi.string(lib.rill_finish_reason_name(output.finish_reason)).decode(),
            ids=ids,
            tokens=self.names.texts_of(ids),
            token_logprobs=ffi.unpack(output.id_logps, n) if n else [],
            certified=bool(output.certified),
            alignment=None if alignment is None else read_alignment(alignment, self.soft),
            unknown_names=self._field(output, "unknown"),
        )

    def result(self, result: Any, tag_of: Callable[[Any], object]) -> Result:
        """Copy one borrowed result."""
        timed_out = bool(result.timed_out)
        error = None
        if result.status < 0:
            error = errors.error_of(result.status, ffi.string(result.message).decode(errors="replace"))
        elif result.n_outputs == 0:
            error = errors.NoHypothesisError("the search found no output", "RILL_ERR_NO_HYPOTHESIS")
        warnings = [ffi.string(result.warning).decode(errors="replace")] if result.warning and result.warning[0] != b"\0" else []
        if lib.rill_result_has_fewer(result, self._text, len(self._text)):
            warnings.append(ffi.string(self._text).decode())
        return Result(
            id=result.id,
            outputs=[self.output(lib.rill_result_output(result, i), timed_out) for i in range(result.n_outputs)],
            error=error,
            timed_out=timed_out,
            outputs_found=result.outputs_found,
            warnings=warnings,
            tag=tag_of(result.user),
        )
