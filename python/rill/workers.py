"""Runs with several workers (rill/workers.h): engines on their own threads, with one queue of inputs and one of results.

A thread of this class reads requests from one queue and writes results to another. The user's iterables advance only on the thread
that asks for results.
"""

from __future__ import annotations

import collections
import os
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from . import errors, hooks
from ._native import ffi, lib
from .errors import hook
from .opened import Opened, calls, finalizer
from .results import Reader, Result

if TYPE_CHECKING:
    from .model import Vocabulary
    from .request import Request


class Desk:
    """The state that the stream's thread and the workers' share; `change` guards all of it."""

    def __init__(self, opened: Opened, reader: Reader) -> None:
        self.opened, self.reader = opened, reader
        self.change = threading.Condition()
        # (request, the objects it points to, status; RILL_ERR_INPUT: an invalid input)
        self.inputs: collections.deque[tuple[Any, Any, int]] = collections.deque()
        self.results: collections.deque[Result] = collections.deque()
        self.cancels: dict[int, bool | None] = {}
        self.stats = ffi.new("rill_stats *", {"struct_size": ffi.sizeof("rill_stats")})
        self.closed = self.stopping = self.done = False
        self.written = 0
        self.reading: Any = None  # keeps the objects alive that the last request read points to
        self.failure: BaseException | None = None

    def work(self, handle: Any) -> None:
        """Run all workers. Runs on the workers' thread."""
        opened = self.opened
        with calls:
            status = lib.rill_workers_run_requests(opened.workers, lib.rillpy_read, handle, lib.rillpy_write, handle)
        with self.change:
            self.settle()
            lib.rill_workers_stats(opened.workers, self.stats)
            if status < 0 and not self.stopping and self.failure is None:
                message = ffi.string(lib.rill_error(opened.model_ctx)).decode(errors="replace")
                self.failure = opened.hooks.take_failure() or errors.error_of(status, message)
            self.done = True
            for identity, answer in self.cancels.items():
                self.cancels[identity] = bool(answer)
            self.change.notify_all()

    def settle(self) -> None:
        """Cancel the inputs in `cancels`. Called on the workers' thread."""
        for identity, answer in self.cancels.items():
            if answer is None:
                self.cancels[identity] = lib.rill_workers_cancel(self.opened.workers, identity) == lib.RILL_OK
                self.change.notify_all()

    def read(self, may_block: bool, request: Any) -> int:
        """rill_read_request_fn"""
        with self.change:
            self.settle()
            while may_block and not (self.inputs or self.closed or self.stopping):
                self.change.wait()
                self.settle()
            if self.stopping or (self.closed and not self.inputs):
                return int(lib.RILL_END_OF_INPUT)
            if not self.inputs:
                return int(lib.RILL_AGAIN)
            filled, self.reading, status = self.inputs.popleft()
            request[0] = filled[0]
            return status

    def write(self, result: Any) -> int:
        """rill_write_fn"""
        copied = self.reader.result(result, lambda _: None)
        with self.change:
            self.settle()
            lib.rill_workers_stats(self.opened.workers, self.stats)
            self.results.append(copied)
            self.written += 1
            self.change.notify_all()
            return int(lib.RILL_ERR_STOPPED) if self.stopping else 0

    def stop(self) -> None:
        """End the run before its inputs end; waiting callers get a CancelledError.

        Another thread may hold `change`; this method does not wait long for it."""
        held = self.change.acquire(timeout=1)
        self.failure = self.failure or errors.CancelledError("the interpreter ends", "RILL_ERR_CANCELLED")
        self.stopping = True
        if held:
            self.change.notify_all()
            self.change.release()
        if not self.done:
            lib.rill_workers_stop(self.opened.workers)

    def fail(self, failure: BaseException) -> int:
        """Keep the exception of a function in Python."""
        with self.change:
            self.failure = self.failure or failure
        return int(lib.RILL_ERR_STOPPED)


@hook(error=-11)
def rillpy_read(self: Any, may_block: int, request: Any) -> int:
    """rill_read_request_fn"""
    desk: Desk = ffi.from_handle(self)
    try:
        return desk.read(bool(may_block), request)
    except BaseException as failure:
        return desk.fail(failure)


@hook(error=-11)
def rillpy_write(self: Any, result: Any) -> int:
    """rill_write_fn"""
    desk: Desk = ffi.from_handle(self)
    try:
        return desk.write(result)
    except BaseException as failure:
        return desk.fail(failure)


def _close(process: int, desk: Desk, thread: threading.Thread, kept: hooks.Hooks) -> None:
    if os.getpid() != process:
        return
    opened = desk.opened
    with desk.change:
        desk.stopping = True
        desk.change.notify_all()
    lib.rill_workers_stop(opened.workers)
    thread.join()
    lib.rill_workers_finish(opened.workers)
    del kept
    opened.workers_lock.release()


class WorkersRun:
    """A run of a model's workers, with the methods of stream.Local. The caller holds opened.workers_lock, which close() releases."""

    def __init__(self, opened: Opened, settings_given: Mapping[str, Any], names: Vocabulary, given: bool) -> None:
        from .request import RequestFiller
        from .stream import fields_of

        self.process = opened.process
        kept = hooks.Hooks()
        try:
            with opened.lock:
                config = opened.config([settings_given], None, given)
                try:
                    if given:
                        errors.check(opened.ctx, lib.rill_search_config_add_scorer(config.handle, b"given", b""))
                    self.filler = RequestFiller(opened, settings_given, config, given)
                    self._desk = Desk(opened, Reader(names, fields_of(config, kept)))
                    setups = ffi.new("rill_engine_setup *[]", [config.setup] * opened.n_workers)
                    errors.check(opened.model_ctx, lib.rill_workers_begin(opened.workers, setups))
                finally:
                    config.free()
        except BaseException:
            opened.workers_lock.release()
            raise
        settings = lib.rill_workers_settings(opened.workers)
        window = (settings.sort_window or 1000) if settings.sort else 0
        self._max_submitted = 2 * opened.n_workers * max(settings.max_items, settings.n) + window
        self._submitted = self._taken = 0
        handle = ffi.new_handle(self._desk)
        kept.keep(handle)
        thread = threading.Thread(target=self._desk.work, args=(handle,), name="rill-workers", daemon=True)
        self._finish = finalizer(self, _close, opened.process, self._desk, thread, kept)
        calls.stop_at_end(self._desk)
        thread.start()

    @property
    def failed(self) -> bool:
        """True if the run has ended before its inputs."""
        return self._desk.done and self._desk.failure is not None

    def free_places(self) -> int:
        """Return how many inputs can be submitted now."""
        return 0 if self._desk.done else self._max_submitted - (self._submitted - self._taken)

    def submit(self, request: Request) -> None:
        """Submit an input; free_places() is above 0."""
        filled, status = ffi.new("rill_request *"), 0
        try:
            kept = self.filler.fill(filled, request)
        except errors.InputError as bad:
            kept, status = ffi.new("char[]", str(bad).encode()), int(lib.RILL_ERR_INPUT)
            filled.struct_size, filled.text, filled.length = ffi.sizeof("rill_request"), kept, len(kept) - 1
        with self._desk.change:
            self._desk.inputs.append((filled, kept, status))
            self._submitted += 1
            self._desk.change.notify_all()

    def close_input(self) -> None:
        """Tell the engines that no more inputs come."""
        with self._desk.change:
            self._desk.closed = True
            self._desk.change.notify_all()

    def take(self, tag_of: Callable[[int], object]) -> Result | None:
        """Return the next result, or None if there is none now."""
        with self._desk.change:
            if not self._desk.results:
                return None
            result = self._desk.results.popleft()
        self._taken += 1
        tag = tag_of(result.id)
        return result if tag is None else result._replace(tag=tag)

    def idle(self) -> bool:
        """True if no input is waiting, in flight or unread."""
        return self._taken == self._submitted

    def advance(self) -> None:
        """Wait for a result. Raises what ended the run, once all its results are taken."""
        with self._desk.change:
            calls.check()
            # Asynchronous streams advance in pool threads; the exiting interpreter waits for these first.
            pooled = threading.current_thread().name.startswith("rill_")
            while not self._desk.change.wait_for(lambda: self._desk.results or self._desk.done, 0.2 if pooled else None):
                if not threading.main_thread().is_alive():
                    raise SystemExit
            calls.check()
            if self._desk.results:
                return
            if self._desk.failure is not None:
                raise self._desk.failure

    def cancel(self, identity: int) -> bool:
        """Have the workers' thread cancel an input."""
        desk = self._desk
        with desk.change:
            if desk.done or not 0 <= identity < self._submitted:
                return False
            desk.cancels[identity] = None
            desk.change.notify_all()
            desk.change.wait_for(lambda: desk.cancels[identity] is not None)
            return bool(desk.cancels.pop(identity))

    def stats(self, out: Any) -> None:
        """Read the counters, as of the last finished result."""
        with self._desk.change:
            ffi.memmove(out, self._desk.stats, ffi.sizeof("rill_stats"))

    def close(self) -> None:
        """Stop the workers."""
        self._finish()
