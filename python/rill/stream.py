"""Streams: inputs in, results out, in order and in bounded memory.

A stream owns an engine and a context of its own, and advances when a result is asked for: on the caller's thread, a timestep at a time,
each without Python's lock. So signals are heeded between timesteps, and functions in Python run where the caller is. With several workers a
Crew (crew.py) does the same on threads of its own.
"""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from . import errors, hooks, kinds, split, tables
from ._native import ffi, lib
from .opened import Closer, Opened, Plan, _close_in, calls, finalizer
from .results import Reader, Result

if TYPE_CHECKING:
    import asyncio
    import concurrent.futures

    from .model import Model, Vocabulary


class Request:
    """An input that wants something of its own.

    text: the input
    seconds: its deadline from when it is taken: then it gives the best that it has, and its result says `late`
    user: comes back with the result
    arguments: of the run's heuristics and scorers by name, for this input, as {"prefix": "The cat"}; a list of texts is several phrases
    settings: those of its search (rill.options(): "search" and "output"), and the domain's options that an input may have of its own, as
        input_format="tree" and tokenized=True of a parser; what is not said is the run's
    """

    __slots__ = ("text", "seconds", "user", "arguments", "settings", "_number")

    def __init__(
        self,
        text: str,
        *,
        seconds: float | None = None,
        user: Any = None,
        arguments: Mapping[str, str | Sequence[str]] | None = None,
        **settings: Any,
    ) -> None:
        self.text, self.user, self.settings = kinds.text("text", text), user, settings
        self.seconds = None if seconds is None else kinds.number("seconds", seconds)
        if not isinstance(arguments, Mapping | None):
            raise errors.OptionTypeError(f"arguments: texts by name were expected, found {arguments!r}", "RILL_ERR_OPTION")
        self.arguments = dict(arguments or {})
        self._number = 0
        if self.seconds is not None and not self.seconds > 0:
            raise errors.OptionError(f"seconds: a number above 0 was expected, found {seconds!r}", "RILL_ERR_OPTION")

    def numbered(self, text: str, number: int) -> Request:
        """The same of another text; samples are drawn as for input `number` of the run, from 1."""
        one = Request(text, seconds=self.seconds, user=self.user, arguments=self.arguments, **self.settings)
        one._number = number
        return one

    def __repr__(self) -> str:
        return f"rill.Request({self.text!r})"


Input = str | Request


def given_requests(opened: Opened, pairs: Iterable[tuple[str, str | Sequence[int]]]) -> Iterator[Request]:
    """Requests that allow one output each."""
    for text, output in pairs:
        if isinstance(output, bytes):
            raise TypeError(f"an output: a text or numbers of actions were expected, found {output!r}")
        if isinstance(output, str):
            yield Request(text, arguments={"given": f"text {output}"})
            continue
        ids = [kinds.whole("an output's action", action) for action in output]
        given = {"given": "ids " + " ".join(map(str, ids))}
        info = opened.info
        whole = not ids or (info.has_end_action and ids[-1] == info.end_action)
        phases = max(1, info.phases)
        yield Request(text, arguments=given) if whole else Request(text, arguments=given, max_length=-(-len(ids) // phases))


def as_request(item: Any) -> Request:
    """What an input wants; a text wants nothing."""
    if isinstance(item, Request):
        return item
    if isinstance(item, str):
        return Request(item)
    raise TypeError(f"an input: a text or a rill.Request was expected, found {item!r}")


class Wishes:
    """What requests want, as the engine takes it: arguments in the chain's order and settings of their own."""

    def __init__(self, opened: Opened, said: Mapping[str, Any], plan: Plan, given: bool) -> None:
        self._opened, self._said, self._given = opened, said, given
        setup = plan.setup
        self.heuristics = [ffi.string(setup.heuristics[i].name).decode() for i in range(setup.n_heuristics)]
        self.scorers = [ffi.string(setup.scorers[i].name).decode() for i in range(setup.n_scorers)]
        self.split = plan.output("split")
        self._resolved = ffi.new("rill_settings *", plan.plan.resolved)
        asked = [name for name in ("alignment", "unknown_names", "like") if plan.output(name) is not None]
        self.whole_for = asked[0] if asked else "a scorer" if self.scorers else None

    def fill(self, out: Any, request: Request) -> Any:
        """Fill a rill_request; what is returned must live as long as it. Raises InputError for a text that is none."""
        text = split.bytes_of(request.text)
        kept: list[Any] = [ffi.from_buffer(text)]
        out.struct_size = ffi.sizeof("rill_request")
        out.text, out.length = kept[0], len(text)
        out.timeout = request.seconds or 0.0
        out.number = request._number
        if request.arguments:
            out.heuristics, out.scorers = self._arguments(request.arguments, kept)
        if said := {name: value for name, value in request.settings.items() if value is not None}:
            options = self._options(said)
            settings = self._settings({name: value for name, value in said.items() if name not in options})
            kept += [settings, ffi.new("char[]", " ".join(options.values()).encode())]  # owners of what `out` has bare pointers to
            out.settings, out.input_options = kept[-2:]
        return kept

    def resolved(self, request: Request) -> Any:
        """The settings of its search, as the engine has them."""
        own = {name: value for name, value in request.settings.items() if lib.rill_option_find(lib.rill_setting_table(), name.encode())}
        if not own:
            return self._resolved
        settings = self._settings(own)
        with self._opened.lock:
            if lib.rill_settings_resolve(self._opened.ctx, settings, False) < 0:
                lib.rill_error_clear(self._opened.ctx)  # the engine says it of what it decodes
        return settings

    def _arguments(self, given: Mapping[str, Any], kept: list[Any]) -> tuple[Any, Any]:
        lists = []
        for names in (self.heuristics, self.scorers):
            row = [ffi.NULL] * len(names)
            for i, name in enumerate(names):
                if name in given:
                    value = given[name]
                    many = value if isinstance(value, (list, tuple)) else [value]
                    text = " ||| ".join(tables.text_of(f"arguments: {name}", one) for one in many)
                    row[i] = ffi.new("char[]", errors.c_text(f"arguments: {name}", text))
            kept.extend(row)
            lists.append(ffi.new("char *[]", row) if row else ffi.NULL)
        for name in given:
            if name not in self.heuristics and name not in self.scorers:
                raise errors.OptionError(
                    f"arguments: {name!r} is no heuristic or scorer of this run, which has {self.heuristics + self.scorers}; "
                    f"scorer=[{name!r}] gives it one",
                    "RILL_ERR_OPTION",
                )
        kept.extend(lists)
        return lists[0], lists[1]

    def _options(self, given: Mapping[str, Any]) -> dict[str, str]:
        """Those that are the domain's for inputs, as NAME=VALUE."""
        opened, found = self._opened, {}
        rows = lib.rill_domain_input_rows(lib.rill_model_domain(opened.model))
        for name, value in given.items():
            row = lib.rill_option_find(rows, errors.c_text("settings", name))
            if not row:
                continue
            text = tables.text_of(name, value)
            with opened.lock:
                errors.check(opened.ctx, lib.rill_option_read(opened.ctx, row, errors.c_text(name, text), ffi.NULL))
            found[name] = f"{name}={text}"
        return found

    def _settings(self, given: Mapping[str, Any]) -> Any:
        opened = self._opened
        for name in given:
            row = lib.rill_option_find(lib.rill_setting_table(), errors.c_text("settings", name))
            if row and (row.kind == lib.RILL_OPTION_SCHEDULE or tables.setting_name(name) == "unknown_penalty"):
                raise errors.OptionError(f"{name} belongs to a run, and cannot be one request's", "RILL_ERR_OPTION")
            if not row:
                with opened.lock:
                    known = lib.rill_option_row(opened.ctx, name.encode())
                if known:
                    raise errors.OptionError(f"{name} belongs to a run, and cannot be one request's", "RILL_ERR_OPTION")
        with opened.lock:
            return opened.request_settings(given, self._said, self._given)


class Engine:
    """An engine of a run's own, with the context it works in."""

    def __init__(self, opened: Opened, said: Mapping[str, Any], trace: Any, names: Vocabulary, given: bool) -> None:
        self.opened = opened
        self.hooks = hooks.Hooks()
        closer = Closer()
        # The steps hold `opened`, so that a model closes behind its last stream, in whatever order the two are collected.
        closer.add(_let_go, opened, self.hooks)
        self.close = finalizer(self, _close_in, opened.process, closer)
        with opened.lock:
            out = ffi.new("rill_context **")
            errors.check(opened.ctx, lib.rill_context_create_worker(out, opened.ctx, ffi.NULL))
            self.ctx = out[0]
            closer.add(lib.rill_context_destroy, self.ctx)
            own = self.ctx
            plan = opened.plan([said], lambda chain, function: self.hooks.register(own, chain, function), given)
            try:
                if given:
                    errors.check(opened.ctx, lib.rill_search_config_add_scorer(plan.plan, b"given", b""))
                self.wishes = Wishes(opened, said, plan, given)
                self.reader = Reader(names, fields_of(plan, self.hooks))
                if trace is not None:
                    plan.setup.trace, plan.setup.trace_user = lib.rillpy_trace, self.hooks.handle(trace)
                engine = ffi.new("rill_engine **")
                status = lib.rill_engine_create(engine, self.ctx, opened.model, ffi.addressof(plan.setup))
                if status < 0:
                    self.hooks.raise_failure()
                    errors.fail(self.ctx, status)
                self.engine = engine[0]
                closer.add(lib.rill_engine_destroy, self.engine)
            except BaseException:
                self.close()
                raise
            finally:
                plan.free()


def _let_go(*_: Any) -> None:
    """What is held until here may go."""


def fields_of(plan: Plan, kept: hooks.Hooks) -> list[str]:
    """The fields that outputs shall have besides texts, set in the plan's setup."""
    for name in ("word_scores", "ids", "pretty"):
        if plan.output(name) is not None:
            raise errors.OptionError(f"{name}: is for the command's lines; outputs have ids and word_scores at any time", "RILL_ERR_OPTION")
    fields = []
    alignment = plan.output("alignment")
    if alignment is not None:
        fields.append(f"alignment={alignment}" if alignment else "alignment")
    if plan.output("unknown_names") not in (None, "0", "false"):
        fields.append("unknown")
    texts = [ffi.new("char[]", field.encode()) for field in fields]
    array = ffi.new("char *[]", texts)
    kept.keep(texts, array)
    plan.setup.fields, plan.setup.n_fields = array, len(fields)
    return fields


class _Held:
    """A lock that is held already, until the end of a `with`."""

    def __init__(self, lock: threading.Lock) -> None:
        self._lock = lock

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class Stream(Iterator[Result], AsyncIterator[Result]):
    """Results in the order of inputs: an iterator, or with `async for` an asynchronous one; and a context manager that closes it.

    Threads: one at a time, as a generator. Closing it, or dropping it, lets go of what is under way.
    """

    def __init__(
        self,
        model: Model,
        opened: Opened,
        names: Vocabulary,
        inputs: Iterable[Input] | AsyncIterable[Input],
        settings: Mapping[str, Any],
        ahead: int | None,
        trace: Any,
        given: bool = False,
    ) -> None:
        ahead = None if ahead is None else kinds.whole("ahead", ahead)
        trace = None if trace is None else kinds.function("trace", trace)
        if ahead is not None and ahead < 1:
            raise errors.OptionError(f"ahead: a whole number from 1 was expected, found {ahead!r}", "RILL_ERR_OPTION")
        if isinstance(inputs, (str, bytes)):
            raise TypeError("inputs: an iterable of texts was expected, found one text")
        self._source: Iterator[Input] | None = None
        self._async_source: AsyncIterator[Input] | None = None
        if isinstance(inputs, AsyncIterable):
            self._async_source = aiter(inputs)
        else:
            self._source = iter(inputs)
        if not all(settings.get(name) is None or tables.is_chain(name) or not callable(settings[name]) for name in settings):
            raise errors.OptionError("settings: functions are for heuristic, scorer and policy", "RILL_ERR_OPTION")
        self.model = model
        self._ahead = ahead
        run = self._make_run(opened, settings, trace, names, given)
        whole_for = "score()" if given else run.wishes.whole_for
        self._run: Any = run if given and run.wishes.split is None else split.around(run, opened, run.wishes.split, whole_for)
        self._busy = threading.Lock()
        self._held = _Held(self._busy)
        self._users: dict[int, Any] = {}
        self._taken = self._given = 0
        self._ended = False  # no more inputs come
        self._failure: BaseException | None = None  # what ends the stream behind the results that there are
        self._pool: concurrent.futures.ThreadPoolExecutor | None = None
        self._pending: asyncio.Future[Input] | None = None

    @staticmethod
    def _make_run(opened: Opened, settings: Mapping[str, Any], trace: Any, names: Vocabulary, given: bool) -> Any:
        plain = not any(callable(one) or hasattr(one, "choose") for value in settings.values() for one in tables.as_list(value))
        many = opened.n_workers > 1 and trace is None and plain and not calls.ending  # no thread starts at the interpreter's end
        if many and opened.crew.acquire(blocking=False):
            from .crew import Crew

            return Crew(opened, settings, names, given)
        return Local(Engine(opened, settings, trace, names, given))

    # --- the loop ---

    def _hold(self) -> Any:
        if self._run is not None and self._run.process != os.getpid():
            raise RuntimeError("the stream was made before a fork, in another process")
        if not self._busy.acquire(blocking=False):
            raise RuntimeError("the stream is being advanced already: by another thread, or by the function that it has called")
        return self._held

    def _wants(self) -> bool:
        return not self._ended and (self._ahead is None or self._taken - self._given < self._ahead) and self._run.room() > 0

    def _submit(self, item: Any) -> None:
        request = as_request(item)
        if request.user is not None:
            self._users[self._taken] = request.user
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
            except Exception as failure:  # what was read before it is decoded and given first
                self._end(failure)

    def _take(self) -> Result | None:
        result: Result | None = self._run.take(self._user_of)
        if result is not None:
            self._given += 1
        return result

    def _user_of(self, identity: int) -> Any:
        return self._users.pop(identity, None)

    def _over(self) -> BaseException:
        """What ends the iteration: the failure behind all results, or nothing more."""
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

    def in_steps(self) -> Iterator[Result | None]:
        """The results, and None behind each timestep: for those who look on."""
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
        """Take inputs that are there; with `wait` wait for one."""
        if self._async_source is None:
            await self._in_pool(self._feed)
            return
        import asyncio  # takes as long to load as all the rest

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
        except RuntimeError:  # a pool that is not shut down takes nothing more when the interpreter ends
            raise SystemExit from None
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            await asyncio.wait([future])  # the engine belongs to one thread at a time
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
        """Give input number `id` up: its result has a CancelledError. False where there is no such input without a result."""
        id = kinds.whole("id", id)
        with self._hold():
            return bool(self._run is not None and self._run.cancel(id))

    @property
    def stats(self) -> dict[str, int | float | dict[str, float]]:
        """Counters so far, by the names of rill_stats (rill/stats.h); "seconds" by those of rill_seconds."""
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
        if self._pool is not None:
            self._pool.shutdown(wait=False)
        if self._pending is not None:
            self._pending.cancel()
            self._pending = None
        close = getattr(self._source, "close", None)
        if callable(close) and not hasattr(self._source, "read"):  # a generator ends with the stream; a file is its owner's
            close()

    def close(self) -> None:
        """Let go of what is under way. The stream then gives nothing more."""
        with self._hold():
            self._close()

    async def aclose(self) -> None:
        """close(), for asynchronous programs."""
        self.close()

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
    """A run of one engine on the caller's thread."""

    def __init__(self, engine: Engine) -> None:
        self._at = engine
        self._engine, self.wishes = engine.engine, engine.wishes
        self._request, self._nothing = ffi.new("rill_request *"), ffi.new("rill_request *")
        self._bytes = ffi.sizeof("rill_request")
        self._id = ffi.new("int64_t *")
        self._result = ffi.new("rill_result *")
        self.process = engine.opened.process
        self.failed = False

    def room(self) -> int:
        """How many inputs can be submitted now."""
        return int(lib.rill_engine_free_slots(self._engine))

    def submit(self, request: Request) -> None:
        """Submit one; there is room."""
        ffi.memmove(self._request, self._nothing, self._bytes)
        try:
            kept = self._at.wishes.fill(self._request, request)
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
        """No more inputs will come."""
        lib.rill_engine_close_input(self._engine)

    def take(self, user_of: Any) -> Result | None:
        """The next result, if there is one now."""
        if lib.rill_engine_next(self._engine, self._result) != lib.RILL_OK:
            return None
        return self._at.reader.result(self._result, lambda _: user_of(self._result.id))

    def idle(self) -> bool:
        """Nothing is waiting, in flight or unread."""
        return bool(lib.rill_engine_idle(self._engine))

    def advance(self) -> None:
        """One timestep. Raises what a function in Python raised, or what the engine says."""
        with calls:
            status = lib.rill_engine_step(self._engine)
        if status < 0:
            self.failed = True
        self._check(status)

    def cancel(self, identity: int) -> bool:
        """Give an input up."""
        status = lib.rill_engine_cancel(self._engine, identity)
        if status == lib.RILL_ERR_NOT_FOUND:
            return False
        errors.check(self._at.ctx, status)
        return True

    def stats(self, out: Any) -> None:
        """Counters so far."""
        lib.rill_engine_stats(self._engine, out)

    def close(self) -> None:
        """Destroy the engine."""
        self._at.close()
