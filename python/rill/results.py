"""What comes of an input: its outputs, or why there are none."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from . import errors
from ._native import ffi, lib

if TYPE_CHECKING:
    from .model import Vocabulary

#: An alignment: pairs (input piece, action) both from 0, or for "soft" the shares [actions][pieces], each row adding up to 1.
Alignment = list[tuple[int, int]] | list[list[float]]


class Output(NamedTuple):
    """One output of an input.

    text: what the user reads
    score: sum over actions of natural-log probabilities, and of what scorers added
    rank_score: what outputs are ordered by: the score under length_penalty and word_penalty
    logp: sum of the model's log-probabilities alone
    length: actions, an end action not counted
    ids: [n] actions, the end action included
    word_scores: [n] the model's log-probability of each
    ended: "end": by an end of its own; "cut": by the length limit or a heuristic's stop; "late": by its deadline
    certified: with the setting certify: no output of the model that is not before it ranks higher
    alignment: with the option alignment, else None
    unknown_names: with the option unknown_names: names of the input that the model does not know; else None
    """

    text: str
    score: float
    rank_score: float
    logp: float
    length: int
    ids: list[int]
    word_scores: list[float]
    ended: str
    certified: bool
    alignment: Alignment | None
    unknown_names: str | None
    tokens: list[str]

    @property
    def truncated(self) -> bool:
        """Whether it was cut short, by whatever."""
        return self.ended != "end"


class Result(NamedTuple):
    """What came of one input.

    id: its place among the inputs, from 0
    outputs: best first; none where `error` says why
    error: why there are none, else None
    late: its deadline came first; these are what there was by then
    found: outputs that the search came to, at least those given
    note: what the domain says of how the input was read, "" for nothing
    user: what its request was given as `user`, else None
    """

    id: int
    outputs: list[Output]
    error: errors.Error | None
    late: bool
    found: int
    note: str
    user: Any = None

    @property
    def ok(self) -> bool:
        """Whether there is an output."""
        return self.error is None

    @property
    def best(self) -> Output:
        """The best output. Raises `error` where there is none."""
        if self.error is not None:
            raise self.error
        return self.outputs[0]

    @property
    def text(self) -> str:
        """The best output's text. Raises `error` where there is none."""
        return self.best.text

    @property
    def score(self) -> float:
        """The best output's score. Raises `error` where there is none."""
        return self.best.score

    @property
    def tokens(self) -> list[str]:
        """The best output's actions by name. Raises `error` where there is none."""
        return self.best.tokens


def read_alignment(text: str, soft: bool) -> Alignment:
    """An alignment as domains write it: "0-0 1-2", or with shares "0.5,0.5 1,0"."""
    if soft:
        return [[float(cell) for cell in row.split(",")] for row in text.split()]
    pairs = (pair.split("-") for pair in text.split())
    return [(int(piece), int(action)) for piece, action in pairs]


class Reader:
    """Reads results of the engine's: which fields stand beside texts is the run's."""

    def __init__(self, names: Vocabulary, fields: list[str]) -> None:
        self.names = names
        self.fields = [field.partition("=")[0] for field in fields]
        self.soft = "alignment=soft" in fields

    def _field(self, output: Any, name: str) -> str | None:
        if not self.fields or name not in self.fields:
            return None
        return str(ffi.string(lib.rill_output_field(ffi.addressof(output), self.fields.index(name))).decode(errors="replace"))

    def output(self, output: Any, late: bool) -> Output:
        """A copy of one output of the engine's, which is borrowed."""
        n = output.n_ids
        ids = ffi.unpack(output.ids, n) if n else []
        alignment = self._field(output, "alignment")
        return Output(
            text=ffi.unpack(output.text, output.text_bytes).decode(errors="replace"),
            score=output.path_score,
            rank_score=output.score,
            logp=output.logp,
            length=output.length,
            ids=ids,
            word_scores=ffi.unpack(output.id_logps, n) if n else [],
            ended="end" if not output.truncated else "late" if late else "cut",
            certified=bool(output.certified),
            alignment=None if alignment is None else read_alignment(alignment, self.soft),
            unknown_names=self._field(output, "unknown"),
            tokens=self.names.of(ids),
        )

    def result(self, result: Any, user_of: Callable[[Any], Any]) -> Result:
        """A copy of one result of the engine's, which is borrowed."""
        late = bool(result.timed_out)
        error = None
        if result.status < 0:
            error = errors.error_of(result.status, ffi.string(result.message).decode(errors="replace"))
        elif result.n_outputs == 0:
            error = errors.NoHypothesisError("there is no output", "RILL_ERR_NO_HYPOTHESIS")
        return Result(
            id=result.id,
            outputs=[self.output(result.outputs[i], late) for i in range(result.n_outputs)],
            error=error,
            late=late,
            found=result.outputs_found,
            note=ffi.string(result.warning).decode(errors="replace") if result.warning else "",
            user=user_of(result.user),
        )
