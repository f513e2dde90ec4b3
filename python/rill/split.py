"""Inputs that are decoded as their sentences, since they are longer than a model for translation was made for.

A run around a run (stream.Local, crew.Crew): it takes inputs, has their sentences decoded side by side, and gives a result for each input.
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
    from .stream import Request

_SPACES = re.compile("[\0- \x85\u2028\u2029]+")
_LEAST_WIDTH, _SHORTER = 100, 3


def cuts_of(opened: Opened, text: bytes, always: bool) -> tuple[int, int, list[tuple[int, int]]] | None:
    """How many sentences rill_model_split() tells of, the bytes before each, and where they are. None: the model has no such inputs."""
    n, head, room = ffi.new("int32_t *"), ffi.new("size_t *"), 64
    with opened.lock:
        while True:
            parts = ffi.new("rill_part[]", room)
            status = lib.rill_model_split(opened.model, opened.ctx, always, text, len(text), parts, room, n, head)
            if status == lib.RILL_ERR_NOT_FOUND:
                return None
            errors.check(opened.ctx, status)
            if n[0] <= room:
                break
            room = n[0]
    cuts = [(parts[i].begin, parts[i].begin + parts[i].length) for i in range(n[0])] if n[0] > 1 else []
    return n[0], head[0], cuts


def width_of(text: str) -> int:
    """Characters, of which those of scripts that write words with few of them count three times."""
    return sum(3 if 0x3000 <= ord(c) <= 0xDFFF else 1 for c in text)


def bytes_of(text: str) -> bytes:
    """A text as the engine reads it. Raises InputError for one that it cannot."""
    if "\0" in text:
        raise errors.InputError("there is a NUL in the text", "RILL_ERR_INPUT")
    try:
        return text.rstrip("\n").encode()
    except UnicodeEncodeError as wrong:
        why = f"character {wrong.start + 1} of the text, {text[wrong.start]!r}, is none of Unicode's"
        raise errors.InputError(why, "RILL_ERR_INPUT") from None


class _Line:
    """An input on its way."""

    def __init__(self, identity: int, request: Request) -> None:
        self.id, self.request = identity, request
        self.between: list[str] = []  # what is around its sentences; none where it is decoded whole
        self.first = 0
        self.settings: Any = None
        self.results: dict[int, Result] = {}
        self.translates = False
        self.deadline = None if request.seconds is None else time.monotonic() + request.seconds


def _join_text(between: Sequence[str], outputs: Sequence[Output]) -> str:
    """As rill decode does it: spaces are one, and there is one where the input writes none but the output may."""
    text = ""
    for i, gap in enumerate(between):
        last = i == len(outputs)
        words = [word for word in _SPACES.split(gap) if word]
        behind = bool(_SPACES.match(gap[-1:])) or (not gap and text[-1:].isascii() and text != "")
        if words:
            text += " " * (text != "" and bool(_SPACES.match(gap[:1]))) + " ".join(words)
        if behind and not last and text:
            text += " "
        text += "" if last else outputs[i].text
    return text


def _join(between: Sequence[str], outputs: Sequence[Output], settings: Any) -> Output:
    score, length, ids = sum(o.score for o in outputs), sum(o.length for o in outputs), [one for o in outputs for one in o.ids]
    ended = next((word for word in ("late", "cut") if any(o.ended == word for o in outputs)), "end")
    return Output(
        text=_join_text(between, outputs),
        score=score,
        rank_score=lib.rill_settings_rank(settings, score, len(ids) if settings.count_end else length),
        logp=sum(o.logp for o in outputs),
        length=length,
        ids=ids,
        word_scores=[one for o in outputs for one in o.word_scores],
        ended=ended,
        certified=all(o.certified for o in outputs),
        alignment=None,
        unknown_names=None,
        tokens=[one for o in outputs for one in o.tokens],
    )


class Split:
    """A run that reads inputs and decodes sentences: what stream.Local has."""

    def __init__(self, run: Any, opened: Opened, how: str, whole: bool) -> None:
        self._run, self._opened = run, opened
        self._always, self._cuts = how == "sentences", how != "off" and not whole
        self.process = run.process
        self._waiting: collections.deque[tuple[_Line, Request]] = collections.deque()
        self._of: dict[int, _Line] = {}  # by the run's ids
        self._lines = self._submitted = 0
        self._closing = False

    @property
    def failed(self) -> bool:
        """Whether the run has ended before its inputs."""
        return bool(self._run.failed)

    def room(self) -> int:
        """How many inputs can be submitted now."""
        self._flush()
        return 0 if self._waiting else int(self._run.room())

    def _submit(self, line: _Line, request: Request) -> None:
        self._run.submit(request)
        self._of[self._submitted] = line
        self._submitted += 1

    def _flush(self) -> None:
        while self._waiting and self._run.room() > 0:
            line, request = self._waiting.popleft()
            if line.deadline is not None:
                request.seconds = max(line.deadline - time.monotonic(), 1e-6)
            self._submit(line, request)
        if self._closing and not self._waiting:
            self._closing = False
            self._run.close_input()

    def submit(self, request: Request) -> None:
        """Submit one; there is room."""
        line = _Line(self._lines, request)
        try:
            text = bytes_of(request.text)
        except errors.InputError:
            text = b""
        found = None if request.arguments or not (self._cuts or len(text) >= _LEAST_WIDTH) else cuts_of(self._opened, text, self._always)
        n, head, cuts = found or (0, 0, [])
        line.translates = n > 0
        if not self._cuts or not cuts:
            self._submit(line, request.numbered(request.text, line.id + 1))
            self._lines += 1
            return
        ends = [head, *(end for _, end in cuts)]
        begins = [*(begin for begin, _ in cuts), len(text)]
        line.between = [text[end:begin].decode() for end, begin in zip(ends, begins)]
        line.first = self._submitted
        line.settings = self._run.wishes.resolved(request)
        for i, (begin, end) in enumerate(cuts):  # each with samples of its own, as those of rill decode
            self._waiting.append((line, request.numbered((text[:head] + text[begin:end]).decode(), line.id + 1 + (i << 32))))
        self._lines += 1
        self._flush()

    def close_input(self) -> None:
        """No more inputs will come."""
        self._closing = True
        self._flush()

    def take(self, user_of: Any) -> Result | None:
        """The next result, if there is one now."""
        while True:
            self._flush()
            result: Result | None = self._run.take(lambda _: None)
            if result is None:
                return None
            line = self._of.pop(result.id)
            if not line.between:
                return self._told(line, result, user_of)
            line.results[result.id - line.first] = result
            if len(line.results) == len(line.between) - 1:
                return self._told(line, self._joined(line), user_of)

    @staticmethod
    def _told(line: _Line, result: Result, user_of: Any) -> Result:
        note = result.note
        if line.translates and result.outputs and not note:
            width = width_of(line.request.text)
            if width >= _LEAST_WIDTH and width_of(result.outputs[0].text) * _SHORTER < width:
                note = "the output is shorter than a third of its input: text may be missing"
        return result._replace(id=line.id, user=user_of(line.id), note=note)

    @staticmethod
    def _joined(line: _Line) -> Result:
        results = [line.results[i] for i in range(len(line.results))]
        error = next((one.error for one in results if one.error is not None), None)
        n = 0 if error else max(len(one.outputs) for one in results)
        return Result(
            id=line.id,
            outputs=[_join(line.between, [one.outputs[min(i, len(one.outputs) - 1)] for one in results], line.settings) for i in range(n)],
            error=error,
            late=any(one.late for one in results),
            found=min(one.found for one in results),
            note=next((one.note for one in results if one.note), ""),
        )

    def idle(self) -> bool:
        """Nothing is waiting, in flight or unread."""
        return not self._waiting and bool(self._run.idle())

    def advance(self) -> None:
        """As the run's."""
        self._flush()
        self._run.advance()

    def cancel(self, identity: int) -> bool:
        """Give an input up: all of its sentences that have no result."""
        given = [self._run.cancel(part) for part, line in list(self._of.items()) if line.id == identity]
        for line, request in self._waiting:
            if line.id == identity:
                line.deadline = time.monotonic()
        return any(given)

    def stats(self, out: Any) -> None:
        """As the run's: its inputs are sentences."""
        self._run.stats(out)

    def close(self) -> None:
        """As the run's."""
        self._run.close()


def around(run: Any, opened: Opened, how: str | None, whole_for: str | None) -> Any:
    """The run, with inputs split where the model is one for translation.

    how: "auto", "sentences" or "off"; whole_for: what belongs to inputs that are decoded whole
    """
    try:
        if how not in (None, "auto", "sentences", "off"):
            raise errors.OptionError(f"split: {how!r} is not auto, sentences or off", "RILL_ERR_OPTION")
        if how == "sentences" and whole_for is not None:
            raise errors.OptionError(f"split='sentences' and {whole_for} exclude each other", "RILL_ERR_OPTION")
        if cuts_of(opened, b"", False) is not None:
            return Split(run, opened, how or "auto", whole_for is not None)
        if how == "sentences":
            raise errors.OptionError("split: the model's inputs are no texts to be translated sentence by sentence", "RILL_ERR_OPTION")
        return run
    except BaseException:
        run.close()
        raise
