"""Streams: inputs in, results out, in order and in bounded memory.

A stream owns an engine and its context. It advances on the caller's thread when the caller asks for a result: one timestep at a
time, without Python's lock. Signals are handled between timesteps. With several workers, see WorkersRun (workers.py).
"""

from __future__ import annotations

import importlib
import os
import threading
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Mapping, Sized
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn

from . import errors, hooks, kinds, split, tables
from ._native import ffi, lib
from .opened import Closer, Opened, SearchConfig, _close_in, calls, finalizer
from .request import Input, Request, RequestFiller, as_request
from .results import Reader, Result

if TYPE_CHECKING:
    import asyncio
    import concurrent.futures

    from .callbacks import Trace
    from .model import Model, Vocabulary


class Engine:
    """The engine of a run, with its context."""

    def __init__(self, opened: Opened, settings: Mapping[str, Any], trace: Any, names: Vocabulary, given: bool) -> None:
        self.opened = opened
        self.hooks = hooks.Hooks()
        closer = Closer()
        # The finalizer holds `opened`, so that the model closes after its last stream, in whatever order they are collected.
        closer.add(_let_go, opened, self.hooks)
        self.close = finalizer(self, _close_in, opened.process, closer)
        with opened.lock:
            out = ffi.new("rill_context **")
            errors.check(opened.ctx, lib.rill_context_create_worker(out, opened.ctx, ffi.NULL))
            self.ctx = out[0]
            closer.add(lib.rill_context_destroy, self.ctx)
            ctx = self.ctx
            config = opened.config([settings], lambda chain, function: self.hooks.register(ctx, chain, function), given)
            try:
                if given:
                    errors.check(opened.ctx, lib.rill_search_config_add_scorer(config.handle, b"given", b""))
                self.filler = RequestFiller(opened, settings, config, given)
                self.reader = Reader(names, fields_of(config, self.hooks))
                if trace is not None:
                    config.setup.trace, config.setup.trace_user = lib.rillpy_trace, self.hooks.handle(trace)
                engine = ffi.new("rill_engine **")
                status = lib.rill_engine_create(engine, self.ctx, opened.model, config.setup)
                if status < 0:
                    self.hooks.raise_failure()
                    errors.fail(self.ctx, status)
                self.engine = engine[0]
                closer.add(lib.rill_engine_destroy, self.engine)
            except BaseException:
                self.close()
                raise
            finally:
                config.free()


def _let_go(*_: Any) -> None:
    """Drop the references that the closer held."""


def fields_of(config: SearchConfig, kept: hooks.Hooks) -> list[str]:
    """Set the fields that outputs have besides their text in the config's setup."""
    for name in ("word_scores", "ids", "pretty"):
        if config.output(name) is not None:
            why = f"{name}: an option of the command's lines; in Python every output has ids and token_logprobs"
            raise errors.OptionError(why, "RILL_ERR_OPTION")
    fields = []
    alignment = config.output("alignment")
    if alignment is not None:
        fields.append(f"alignment={alignment}" if alignment else "alignment")
    if config.output("unknown_names") not in (None, "0", "false"):
        fields.append("unknown")
    texts = [ffi.new("char[]", field.encode()) for field in fields]
    array = ffi.new("char *[]", texts)
    kept.keep(texts, array)
    config.setup.fields, config.setup.n_fields = array, len(fields)
    return fields


def _import_tqdm() -> Any:
    """Import tqdm, which draws bars. Raises ModuleNotFoundError without the package."""
    try:
        return importlib.import_module("tqdm.auto").tqdm
    except ModuleNotFoundError as missing:
        if missing.name not in ("tqdm", "tqdm.auto"):
            raise
        raise ModuleNotFoundError("progress=True needs tqdm, which is not installed: pip install tqdm", name="tqdm") from None


def length_of(inputs: object) -> int | None:
    """Return the number of inputs, None if it is unknown. Loaders of other packages may have a __len__() that raises TypeError."""
    try:
        return len(inputs) if isinstance(inputs, Sized) else None
    except TypeError:
        return None


class _Held:
    """Releases a lock at the end of a `with`; the caller has acquired it."""

    def __init__(self, lock: threading.Lock) -> None:
        self._lock = lock

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class Stream(Iterator[Result], AsyncIterator[Result]):
    """The results of inputs, in the order of the inputs; Model.stream() makes it.

    It is an iterator, an asynchronous iterator, and a context manager that closes it. As a generator, it belongs to one thread at a time.
    Closing it, or dropping it, cancels the inputs in flight.

    Attributes:
        model: The model.
    """

    def __init__(
        self,
        model: Model,
        opened: Opened,
        names: Vocabulary,
        inputs: Iterable[Input] | AsyncIterable[Input],
        settings: Mapping[str, object],
        prefetch: int | None,
        trace: Trace | None,
        progress: bool = False,
        total: int | None = None,
        given: bool = False,
    ) -> None:
        tables.check_names(settings, ("pairs", "progress") if given else ("inputs", "prefetch", "trace", "progress"))
        prefetch = None if prefetch is None else kinds.whole("prefetch", prefetch)
        trace = None if trace is None else kinds.function("trace", trace)
        if prefetch is not None and prefetch < 1:
            raise errors.OptionError(f"prefetch: a whole number from 1 was expected, found {prefetch!r}", "RILL_ERR_OPTION")
        if isinstance(inputs, (str, bytes)):
            raise TypeError("inputs: an iterable of texts was expected, found one text")
        self._source: Iterator[Input] | None = None
        self._async_source: AsyncIterator[Input] | None = None
        if isinstance(inputs, AsyncIterable):
            self._async_source = aiter(inputs)
        else:
            self._source = iter(inputs)
        if not all(settings.get(name) is None or tables.is_chain(name) or not callable(settings[name]) for name in settings):
            raise errors.OptionError("settings: functions are for heuristic, scorer and scheduler", "RILL_ERR_OPTION")
        bar = _import_tqdm() if kinds.switch("progress", progress) else None
        self.model = model
        self._prefetch = prefetch
        run = self._make_run(opened, settings, trace, names, given)
        needs_whole_inputs = "score()" if given else run.filler.needs_whole_inputs
        self._run: Any = run if given and run.filler.split is None else split.around(run, opened, run.filler.split, needs_whole_inputs)
        self._busy = threading.Lock()
        self._held = _Held(self._busy)
        self._tags: dict[int, object] = {}
        self._taken = self._given = 0
        self._ended = False  # all inputs are read
        self._failure: BaseException | None = None  # raised after the results that exist
        self._pool: concurrent.futures.ThreadPoolExecutor | None = None
        self._pending: asyncio.Future[Input] | None = None
        self._bar = bar(total=length_of(inputs) if total is None else total, unit="input") if bar is not None else None

    @staticmethod
    def _make_run(opened: Opened, settings: Mapping[str, Any], trace: Any, names: Vocabulary, given: bool) -> Any:
        plain = not any(callable(one) or hasattr(one, "choose") for value in settings.values() for one in tables.as_list(value))
        many = opened.n_workers > 1 and trace is None and plain and not calls.ending  # no thread starts at the interpreter's end
        if many and opened.workers_lock.acquire(blocking=False):
            from .workers import WorkersRun

            return WorkersRun(opened, settings, names, given)
        return Local(Engine(opened, settings, trace, names, given))

    # --- the loop ---

    def _hold(self) -> Any:
        if self._run is not None and self._run.process != os.getpid():
            raise RuntimeError("the stream was made before a fork, in another process")
        if not self._busy.acquire(blocking=False):
            raise RuntimeError("the stream is being advanced already: by another thread, or by the function that it has called")
        return self._held

    def _wants(self) -> bool:
        return not self._ended and (self._prefetch is None or self._taken - self._given < self._prefetch) and self._run.free_places() > 0

    def _submit(self, item: Any) -> None:
        request = as_request(item)
        if request.tag is not None:
            self._tags[self._taken] = request.tag
        self._run.submit(request)
        self._taken += 1

    def _end(self, failure: BaseException | None = None) -> None:
        if not self._ended:
            self._ended = True
            self._failure = self._failure or failure
            self._run.close_input()

    def _feed(self) -> None:
        while self._wants():
            assert self._source is not None
            try:
                item = next(self._source)
                self._submit(item)
            except StopIteration:
                self._end()
            except Exception as failure:  # raised later: the results of the inputs read before it come first
                self._end(failure)

    def _take(self) -> Result | None:
        result: Result | None = self._run.take(self._tag_of)
        if result is not None:
            self._given += 1
            if self._bar is not None:
                self._bar.update()
        return result

    def _tag_of(self, identity: int) -> object:
        return self._tags.pop(identity, None)

    def _over(self) -> BaseException:
        """Close the stream; return the exception that ends the iteration."""
        failure, self._failure = self._failure, None
        self._close()
        return failure or StopIteration()

    def _advance(self) -> None:
        try:
            self._run.advance()
        except Exception as failure:
            self._ended = True
            self._failure = failure

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> Result:
        if self._source is None:
            raise TypeError("the inputs are an asynchronous iterable: `async for` takes the results")
        with self._hold():
            while True:
                if self._run is None:
                    raise StopIteration
                result = self._take()
                if result is not None:
                    return result
                if self._failure is not None and self._run.failed:
                    raise self._over()
                self._feed()
                if self._ended and self._run.idle():
                    raise self._over()
                self._advance()

    def _in_steps(self) -> Iterator[Result | None]:
        """Iterate over the results, with None after each timestep."""
        while True:
            with self._hold():
                if self._run is None:
                    return
                result = self._take()
                if result is None:
                    if not (self._failure is not None and self._run.failed):
                        self._feed()
                    if self._failure is not None and self._run.failed or self._ended and self._run.idle():
                        failure = self._over()
                        if not isinstance(failure, StopIteration):
                            raise failure
                        return
                    self._advance()
            yield result

    # --- asynchronous ---

    def __aiter__(self) -> Stream:
        return self

    async def _aread(self, wait: bool) -> None:
        """Take the inputs that are ready; with `wait`, wait for one."""
        if self._async_source is None:
            await self._in_pool(self._feed)
            return
        import asyncio  # takes as long to import as the whole package

        while self._wants():
            if self._pending is None:
                self._pending = asyncio.ensure_future(_anext(self._async_source))
                await asyncio.sleep(0)
            if not wait and not self._pending.done():
                return
            pending, wait = self._pending, False
            await asyncio.wait([pending])
            self._pending = None
            try:
                self._submit(pending.result())
            except StopAsyncIteration:
                self._end()
            except Exception as failure:
                self._end(failure)

    async def _in_pool(self, function: Any) -> Any:
        import asyncio
        import concurrent.futures

        if self._pool is None:
            self._pool = concurrent.futures.ThreadPoolExecutor(1, "rill")
        try:
            future = asyncio.get_running_loop().run_in_executor(self._pool, function)
        except RuntimeError:  # at the interpreter's end pools refuse new work
            raise SystemExit from None
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            while not future.done():  # the engine belongs to one thread at a time, however often the task is cancelled
                try:
                    await asyncio.wait([future])
                except asyncio.CancelledError:
                    continue
            raise

    async def __anext__(self) -> Result:
        with self._hold():
            while True:
                if self._run is None:
                    raise StopAsyncIteration
                result = self._take()
                if result is not None:
                    return result
                if self._failure is not None and self._run.failed:
                    raise self._async_over()
                await self._aread(wait=self._run.idle())
                if self._ended and self._run.idle():
                    raise self._async_over()
                if not self._run.idle():
                    await self._in_pool(self._advance)

    def _async_over(self) -> BaseException:
        failure = self._over()
        return StopAsyncIteration() if isinstance(failure, StopIteration) else failure

    # --- the rest ---

    def cancel(self, id: int) -> bool:
        """Cancel an input, whose result then has a CancelledError.

        Args:
            id: The input's number, from 0.

        Returns:
            False if no input of this number is waiting or in flight.
        """
        id = kinds.whole("id", id)
        with self._hold():
            return bool(self._run is not None and self._run.cancel(id))

    @property
    def stats(self) -> dict[str, int | float | dict[str, float]]:
        """Counters so far, named as in rill_stats (rill/stats.h); "seconds" is a dict, named as in rill_seconds.

        Raises:
            ValueError: The stream is closed.
        """
        with self._hold():
            if self._run is None:
                raise ValueError("the stream is closed")
            out = ffi.new("rill_stats *", {"struct_size": ffi.sizeof("rill_stats")})
            self._run.stats(out)
        return _dict_of(out)

    def _close(self) -> None:
        run, self._run = self._run, None
        if run is not None:
            run.close()
        if self._bar is not None:
            self._bar.close()
        if self._pool is not None:
            self._pool.shutdown(wait=False)
        if self._pending is not None:
            self._pending.cancel()
            self._pending = None
        close = getattr(self._source, "close", None)
        if callable(close) and not hasattr(self._source, "read"):  # a generator ends with the stream; a file is its owner's
            close()

    def close(self) -> None:
        """Cancel the inputs in flight and free the engine. The stream then has no more results."""
        with self._hold():
            self._close()

    async def aclose(self) -> None:
        """Close the stream, as close() does, and then an asynchronous generator of inputs."""
        pending = self._pending
        self.close()
        if self._async_source is None:
            return
        import asyncio

        if pending is not None:
            await asyncio.wait([pending])  # close() has cancelled this read; the generator cannot be closed while it runs
        close = getattr(self._async_source, "aclose", None)
        if callable(close):
            await close()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a stream belongs to its process and cannot be pickled; pickle the model and make a stream of it there")

    def __repr__(self) -> str:
        state = "closed" if self._run is None else f"{self._taken} inputs read, {self._given} results given"
        return f"<rill.Stream of {self.model!r}: {state}>"

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    async def __aenter__(self) -> Stream:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()


async def _anext(source: AsyncIterator[Input]) -> Input:
    return await anext(source)


def _dict_of(struct: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, field in ffi.typeof(struct).item.fields if ffi.typeof(struct).kind == "pointer" else ffi.typeof(struct).fields:
        if name != "struct_size":
            value = getattr(struct, name)
            found[name] = _dict_of(value) if field.type.kind == "struct" else value
    return found


class Local:
    """A run of one engine, on the caller's thread."""

    def __init__(self, engine: Engine) -> None:
        self._at = engine
        self._engine, self.filler = engine.engine, engine.filler
        self._request, self._nothing = ffi.new("rill_request *"), ffi.new("rill_request *")
        self._bytes = ffi.sizeof("rill_request")
        self._id = ffi.new("int64_t *")
        self._result = ffi.new("const rill_result **")
        self.process = engine.opened.process
        self.failed = False

    def free_places(self) -> int:
        """Return how many inputs can be submitted now."""
        return int(lib.rill_engine_free_slots(self._engine))

    def submit(self, request: Request) -> None:
        """Submit an input; free_places() is above 0."""
        ffi.memmove(self._request, self._nothing, self._bytes)
        try:
            kept = self._at.filler.fill(self._request, request)
        except errors.InputError as bad:
            self._check(lib.rill_engine_submit_failed(self._engine, lib.RILL_ERR_INPUT, str(bad).encode()))
            return
        with calls:
            status = lib.rill_engine_submit_request(self._engine, self._request, self._id)
        del kept
        self._check(status)

    def _check(self, status: int) -> None:
        if self._at.hooks.failure is not None:
            self._at.hooks.raise_failure()
        if self._at.opened.hooks.failure is not None:
            self._at.opened.hooks.raise_failure()
        if status < 0:
            errors.fail(self._at.ctx, status)

    def close_input(self) -> None:
        """Tell the engine that no more inputs come."""
        lib.rill_engine_close_input(self._engine)

    def take(self, tag_of: Callable[[int], object]) -> Result | None:
        """Return the next result, or None if there is none now."""
        if lib.rill_engine_next(self._engine, self._result) != lib.RILL_OK:
            return None
        result = self._result[0]
        return self._at.reader.result(result, lambda _: tag_of(result.id))

    def idle(self) -> bool:
        """True if no input is waiting, in flight or unread."""
        return bool(lib.rill_engine_idle(self._engine))

    def advance(self) -> None:
        """Do one timestep. Raises what a function in Python raised, or the engine's failure."""
        with calls:
            status = lib.rill_engine_step(self._engine)
        if status < 0:
            self.failed = True
        self._check(status)

    def cancel(self, identity: int) -> bool:
        """Cancel an input."""
        status = lib.rill_engine_cancel(self._engine, identity)
        if status == lib.RILL_ERR_NOT_FOUND:
            return False
        errors.check(self._at.ctx, status)
        return True

    def stats(self, out: Any) -> None:
        """Read the counters."""
        lib.rill_engine_stats(self._engine, out)

    def close(self) -> None:
        """Destroy the engine."""
        self._at.close()
