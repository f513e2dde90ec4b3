"""Decodes long inputs sentence by sentence: translation models are made for inputs of limited length.

Split wraps a run (stream.Local, workers.WorkersRun): it takes inputs, submits their sentences, and joins the results.
"""

from __future__ import annotations

import collections
import re
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import errors
from ._native import ffi, lib
from .opened import Opened
from .results import Output, Result

if TYPE_CHECKING:
    from .request import Request

_SPACES = re.compile("[\0- \x85\u2028\u2029]+")
_MIN_WIDTH, _SUSPICIOUS_RATIO = 100, 3


def cuts_of(opened: Opened, text: bytes, always: bool) -> tuple[int, int, list[tuple[int, int]]] | None:
    """Return what rill_model_split() finds: the number of sentences, the length in bytes of the prefix that is put before each, and
    where each begins and ends. None: the model never splits."""
    n, head, capacity = ffi.new("int32_t *"), ffi.new("size_t *"), 64
    with opened.lock:
        while True:
            parts = ffi.new("rill_part[]", capacity)
            status = lib.rill_model_split(opened.model, opened.ctx, always, text, len(text), parts, capacity, n, head)
            if status == lib.RILL_ERR_NOT_FOUND:
                return None
            errors.check(opened.ctx, status)
            if n[0] <= capacity:
                break
            capacity = n[0]
    cuts = [(parts[i].begin, parts[i].begin + parts[i].length) for i in range(n[0])] if n[0] > 1 else []
    return n[0], head[0], cuts


def width_of(text: str) -> int:
    """Count characters; those of Chinese, Japanese and Korean count three times."""
    return sum(3 if 0x3000 <= ord(c) <= 0xDFFF else 1 for c in text)


def bytes_of(text: str) -> bytes:
    """Encode a text. Raises InputError for one that has a NUL or is no Unicode."""
    if "\0" in text:
        raise errors.InputError("there is a NUL in the text", "RILL_ERR_INPUT")
    try:
        return text.rstrip("\n").encode()
    except UnicodeEncodeError as wrong:
        why = f"character {wrong.start + 1} of the text, {text[wrong.start]!r}, is none of Unicode's"
        raise errors.InputError(why, "RILL_ERR_INPUT") from None


class _Line:
    """An input in flight."""

    def __init__(self, identity: int, request: Request) -> None:
        self.id, self.request = identity, request
        self.between: list[str] = []  # the text around its sentences; empty if it is decoded whole
        self.first = 0
        self.settings: Any = None
        self.results: dict[int, Result] = {}
        self.translates = False
        self.deadline = None if request.timeout is None else time.monotonic() + request.timeout


def _join_text(between: Sequence[str], outputs: Sequence[Output]) -> str:
    """Join the outputs of sentences with the text between them, as `rill decode` does: runs of spaces become one space, and after an
    output in ASCII comes a space even if the input has none there."""
    text = ""
    for i, gap in enumerate(between):
        last = i == len(outputs)
        words = [word for word in _SPACES.split(gap) if word]
        spaced = bool(_SPACES.match(gap[-1:])) or (not gap and text[-1:].isascii() and text != "")
        if words:
            text += " " * (text != "" and bool(_SPACES.match(gap[:1]))) + " ".join(words)
        if spaced and not last and text:
            text += " "
        text += "" if last else outputs[i].text
    return text


def _join(between: Sequence[str], outputs: Sequence[Output], settings: Any) -> Output:
    path_score, length, ids = sum(o.path_score for o in outputs), sum(o.length for o in outputs), [one for o in outputs for one in o.ids]
    reason = next((o.finish_reason for o in outputs if o.finish_reason != "stop"), "stop")
    return Output(
        text=_join_text(between, outputs),
        score=lib.rill_settings_final_score(settings, path_score, len(ids) if settings.count_end else length),
        path_score=path_score,
        logp=sum(o.logp for o in outputs),
        length=length,
        finish_reason=reason,
        ids=ids,
        tokens=[one for o in outputs for one in o.tokens],
        token_logprobs=[one for o in outputs for one in o.token_logprobs],
        certified=all(o.certified for o in outputs),
        alignment=None,
        unknown_names=None,
    )


def _join_warnings(results: Sequence[Result], n: int, requested: int) -> list[str]:
    """Choose the warnings of a line from those of its sentences.

    These are the input warnings of the first sentence that has any. If the line has fewer outputs than requested, the warning that says so
    follows; it is the last warning of a sentence that has fewer.
    """
    inputs = [one.warnings[:-1] if 0 < len(one.outputs) < requested else one.warnings for one in results]
    warnings = next((one for one in inputs if one), [])
    if 0 < n < requested:
        warnings = warnings + next(one.warnings[-1:] for one in results if len(one.outputs) == n)
    return warnings


class Split:
    """A run that reads inputs and decodes sentences, with the methods of stream.Local."""

    def __init__(self, run: Any, opened: Opened, how: str, whole: bool) -> None:
        self._run, self._opened = run, opened
        self._always, self._cuts = how == "sentences", how != "off" and not whole
        self.process = run.process
        self._waiting: collections.deque[tuple[_Line, Request]] = collections.deque()
        self._line_by_id: dict[int, _Line] = {}  # the line of each sentence in flight, by the sentence's id in the run
        self._lines = self._submitted = 0
        self._closing = False

    @property
    def failed(self) -> bool:
        """True if the run has ended before its inputs."""
        return bool(self._run.failed)

    def free_places(self) -> int:
        """Return how many inputs can be submitted now."""
        self._flush()
        return 0 if self._waiting else int(self._run.free_places())

    def _submit(self, line: _Line, request: Request) -> None:
        self._run.submit(request)
        self._line_by_id[self._submitted] = line
        self._submitted += 1

    def _flush(self) -> None:
        while self._waiting and self._run.free_places() > 0:
            line, request = self._waiting.popleft()
            if line.deadline is not None:
                request.timeout = max(line.deadline - time.monotonic(), 1e-6)
            self._submit(line, request)
        if self._closing and not self._waiting:
            self._closing = False
            self._run.close_input()

    def submit(self, request: Request) -> None:
        """Submit an input; free_places() is above 0."""
        line = _Line(self._lines, request)
        try:
            text = bytes_of(request.text)
        except errors.InputError:
            text = b""
        found = None if request.arguments or not (self._cuts or len(text) >= _MIN_WIDTH) else cuts_of(self._opened, text, self._always)
        n, head, cuts = found or (0, 0, [])
        line.translates = n > 0
        if not self._cuts or not cuts:
            self._submit(line, request._numbered(request.text, line.id + 1))
            self._lines += 1
            return
        ends = [head, *(end for _, end in cuts)]
        begins = [*(begin for begin, _ in cuts), len(text)]
        line.between = [text[end:begin].decode() for end, begin in zip(ends, begins)]
        line.first = self._submitted
        line.settings = self._run.filler.resolved(request)
        for i, (begin, end) in enumerate(cuts):  # each sentence draws other samples, the same as in `rill decode`
            self._waiting.append((line, request._numbered((text[:head] + text[begin:end]).decode(), line.id + 1 + (i << 32))))
        self._lines += 1
        self._flush()

    def close_input(self) -> None:
        """Tell the engine that no more inputs come."""
        self._closing = True
        self._flush()

    def take(self, tag_of: Any) -> Result | None:
        """Return the next result, or None if there is none now."""
        while True:
            self._flush()
            result: Result | None = self._run.take(lambda _: None)
            if result is None:
                return None
            line = self._line_by_id.pop(result.id)
            if not line.between:
                return self._finished(line, result, tag_of)
            line.results[result.id - line.first] = result
            if len(line.results) == len(line.between) - 1:
                return self._finished(line, self._joined(line), tag_of)

    def _finished(self, line: _Line, result: Result, tag_of: Any) -> Result:
        warnings = result.warnings
        width = width_of(line.request.text) if line.translates and result.outputs else 0
        if width >= _MIN_WIDTH and width_of(result.outputs[0].text) * _SUSPICIOUS_RATIO < width:
            why = "the output is shorter than a third of its input: text may be missing"
            warnings = [*warnings, why + ("" if self._cuts else " (split='sentences' decodes each sentence alone)")]
        return result._replace(id=line.id, tag=tag_of(line.id), warnings=warnings)

    @staticmethod
    def _joined(line: _Line) -> Result:
        results = [line.results[i] for i in range(len(line.results))]
        error = next((one.error for one in results if one.error is not None), None)
        n = 0 if error else max(len(one.outputs) for one in results)
        return Result(
            id=line.id,
            outputs=[_join(line.between, [one.outputs[min(i, len(one.outputs) - 1)] for one in results], line.settings) for i in range(n)],
            error=error,
            timed_out=any(one.timed_out for one in results),
            outputs_found=min(one.outputs_found for one in results),
            warnings=_join_warnings(results, n, line.settings.n_best),
        )

    def idle(self) -> bool:
        """True if no input is waiting, in flight or unread."""
        return not self._waiting and bool(self._run.idle())

    def advance(self) -> None:
        """See stream.Local."""
        self._flush()
        self._run.advance()

    def cancel(self, identity: int) -> bool:
        """Cancel an input: all of its sentences without a result."""
        given = [self._run.cancel(part) for part, line in list(self._line_by_id.items()) if line.id == identity]
        for line, request in self._waiting:
            if line.id == identity:
                line.deadline = time.monotonic()
        return any(given)

    def stats(self, out: Any) -> None:
        """Read the counters of the run, whose inputs are sentences."""
        self._run.stats(out)

    def close(self) -> None:
        """See stream.Local."""
        self._run.close()


def around(run: Any, opened: Opened, how: str | None, needs_whole_inputs: str | None) -> Any:
    """Wrap the run in a Split if the model translates.

    Args:
        run: The run.
        opened: Its model.
        how: "auto", "sentences" or "off".
        needs_whole_inputs: The name of a setting that needs inputs decoded whole; None: no setting does.
    """
    try:
        if how not in (None, "auto", "sentences", "off"):
            raise errors.OptionError(f"split: {how!r} is not auto, sentences or off", "RILL_ERR_OPTION")
        if how == "sentences" and needs_whole_inputs is not None:
            raise errors.OptionError(f"split='sentences' and {needs_whole_inputs} cannot be combined", "RILL_ERR_OPTION")
        if cuts_of(opened, b"", False) is not None:
            return Split(run, opened, how or "auto", needs_whole_inputs is not None)
        if how == "sentences":
            raise errors.OptionError("split: the model does not translate, so it has no sentences to split", "RILL_ERR_OPTION")
        return run
    except BaseException:
        run.close()
        raise
