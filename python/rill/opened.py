"""An open model in this process: contexts, workers, and search configurations for engines.

A context belongs to one thread at a time, so every use of the model's context holds `lock`. Each run has its own context
(rill_context_create_worker), created under the lock.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
import weakref
from collections.abc import Mapping
from typing import Any

from . import errors, hooks, tables
from ._native import ffi, lib
from .context import make_context


class Calls:
    """Counts running C calls of each thread, for an orderly interpreter exit. `with calls:` surrounds each long call.

    At exit, daemon threads may still use memory, so finalizers free nothing. A daemon thread's next call raises SystemExit, which
    ends the thread without a message. The interpreter waits up to SECONDS for running calls.
    """

    SECONDS = 5.0

    def __init__(self) -> None:
        self._under_way: dict[int, int] = {}  # by thread: each thread changes only its own entry
        self._ender: int | None = None
        self._stops: weakref.WeakSet[Any] = weakref.WeakSet()

    def __enter__(self) -> None:
        me = threading.get_ident()
        self._under_way[me] = self._under_way.get(me, 0) + 1
        try:
            self.check()
        except SystemExit:
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        me = threading.get_ident()
        left = self._under_way.pop(me, 1) - 1
        if left > 0:
            self._under_way[me] = left

    @property
    def ending(self) -> bool:
        """Whether the interpreter is exiting."""
        return self._ender is not None

    def check(self) -> None:
        """Raise SystemExit while the interpreter is exiting, except in the exiting thread."""
        if self._ender not in (None, threading.get_ident()):
            raise SystemExit

    def stop_at_end(self, run: Any) -> None:
        """Call run.stop() at exit, if the run still exists."""
        self._stops.add(run)

    def end(self) -> None:
        """At exit, stop all runs and wait for running calls."""
        me = self._ender = threading.get_ident()
        for run in list(self._stops):
            run.stop()
        until = time.monotonic() + self.SECONDS
        while any(thread != me for thread in list(self._under_way)) and time.monotonic() < until:
            time.sleep(0.002)

    def forget(self) -> None:
        """After a fork, drop the calls and runs of the parent's other threads."""
        me = threading.get_ident()
        self._under_way = {me: self._under_way[me]} if me in self._under_way else {}
        self._stops = weakref.WeakSet()


calls = Calls()
atexit.register(calls.end)
os.register_at_fork(after_in_child=calls.forget)


def finalizer(owner: Any, function: Any, *arguments: Any) -> Any:
    """weakref.finalize() that does nothing at interpreter exit."""
    made = weakref.finalize(owner, function, *arguments)
    made.atexit = False
    return made


class Closer:
    """A stack of cleanup calls that run once, last first, on any thread, when the owner is closed or garbage-collected."""

    def __init__(self) -> None:
        self._steps: list[tuple[Any, tuple[Any, ...]]] = []

    def add(self, function: Any, *arguments: Any) -> None:
        """Add function(*arguments) to the cleanup calls."""
        self._steps.append((function, arguments))

    def close(self) -> None:
        """Run all cleanup calls."""
        while self._steps:
            function, arguments = self._steps.pop()
            function(*arguments)


class Opened:
    """An open model. Each user holds a reference, so the model is closed after the last one."""

    def __init__(self, recipe: Recipe) -> None:
        self.lock = threading.RLock()
        self.process = os.getpid()
        self.recipe = recipe
        self.hooks = hooks.Hooks()
        closer = Closer()
        self.close = finalizer(self, _close_in, self.process, closer)
        try:
            # Two contexts, because runs and queries may happen at the same time: one for the model, one for search configs and names.
            self.model_ctx = self._context(closer)
            self.ctx = self._context(closer)
            self._open(closer)
        except BaseException:
            self.close()
            self.hooks.raise_failure()
            raise

    def _context(self, closer: Closer) -> Any:
        """Create a context. Register the plugins and the domain with which the model is opened."""
        ctx = make_context()
        lib.rill_option_set_style(ctx, lib.RILL_OPTION_UNDERSCORED)
        closer.add(lib.rill_context_destroy, ctx)
        for scorer in (lib.rillpy_prefix(), lib.rillpy_bias(), lib.rillpy_ban()):
            errors.check(ctx, lib.rill_register_scorer(ctx, scorer))
        for plugin in self.recipe.plugins:
            errors.check(ctx, lib.rill_plugin_load(ctx, errors.c_text("plugins", os.fsencode(plugin))))
        if self.recipe.domain is not None and not isinstance(self.recipe.domain, str):
            from .domain import register

            register(ctx, self.recipe.domain, self.hooks)
        if self.recipe.plugins:
            tables.add_plugin_names(ctx)
        return ctx

    def _open(self, closer: Closer) -> None:
        recipe = self.recipe
        tables.check_names(recipe.settings, Recipe.ARGUMENTS)
        domain = recipe.domain if isinstance(recipe.domain, str) or recipe.domain is None else recipe.domain.name
        first = errors.c_text("path", os.fsencode(recipe.paths[0])) if recipe.paths else ffi.NULL
        path = ffi.new("char[]", first) if recipe.paths else ffi.NULL
        folder = ffi.new("rill_folder *")
        closer.add(lib.rill_folder_clear, folder)
        domain_name = errors.c_text("domain", domain) if domain else ffi.NULL
        errors.check(self.ctx, lib.rill_folder_read(folder, self.ctx, path, domain_name))
        self.folder = folder
        theirs = ffi.string(folder.domain)
        name = domain.encode() if domain else theirs
        if not name:
            if not recipe.paths:
                raise errors.OptionError("no model: a path, or domain= for a domain that needs no files, was expected", "RILL_ERR_OPTION")
            errors.check(self.ctx, lib.rill_folder_fail_no_domain(folder, path))
        self.search_defaults, opening = self._parted()
        source = self._source(opening, None)
        closer.add(lib.rill_option_source_free, source)
        values, n_values = ffi.new("rill_pair **"), ffi.new("int32_t *")
        sources = ffi.new("rill_option_source *[]", [source, folder.search])
        foreign = bool(theirs) and theirs != name
        errors.check(self.ctx, lib.rill_option_sources_domain_values(self.ctx, sources, 1 if foreign else 2, values, n_values))
        size = n_values[0] * ffi.sizeof("rill_pair")
        also = [ffi.new("char[]", errors.c_text("path", os.fsencode(other))) for other in recipe.paths[1:]]
        also_list = ffi.new("char *[]", also)
        arguments = ffi.new("char[]", errors.c_text("arguments", recipe.arguments)) if recipe.arguments is not None else ffi.NULL
        given = ffi.new("rill_open_options *")
        given.struct_size = ffi.sizeof("rill_open_options")
        given.path, given.threads, given.tokenized = path, recipe.threads, recipe.tokenized
        given.arguments = arguments
        given.ensemble, given.n_ensemble = also_list, len(also)
        given.values, given.n_values = values[0], n_values[0]
        workers = ffi.new("rill_workers_options *", {"struct_size": ffi.sizeof("rill_workers_options"), "workers": recipe.workers})
        out = ffi.new("rill_workers **")
        try:
            with calls:
                errors.check(self.model_ctx, lib.rill_workers_open(out, self.model_ctx, name, given, workers))
        finally:
            if values[0]:
                lib.rill_free(self.ctx, values[0], size)
        self.workers = out[0]
        closer.add(lib.rill_workers_close, self.workers)
        self.n_workers = lib.rill_workers_count(self.workers)
        self.workers_lock = threading.Lock()  # held by the run that uses the workers
        self.model = lib.rill_workers_model(self.workers)
        self.info = lib.rill_model_info(self.model)
        self.domain = ffi.string(name).decode() if not isinstance(name, bytes) else name.decode()

    def check(self, status: int) -> None:
        """Raise the exception of a Python domain, or the error that `ctx` records. Requires the lock."""
        self.hooks.raise_failure()
        errors.check(self.ctx, status)

    def _parted(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Split the settings into search settings and options for opening the model."""
        search: dict[str, Any] = {}
        opening: dict[str, Any] = {}
        for name, value in self.recipe.settings.items():
            if value is not None:
                (opening if tables.is_model_option(self.ctx, name) else search)[name] = value
        return search, opening

    def _source(self, settings: Mapping[str, Any], register: Any) -> Any:
        out = ffi.new("rill_option_source **")
        errors.check(self.ctx, lib.rill_option_source_create(out, self.ctx, lib.RILL_FROM_USER))
        try:
            tables.fill(self.ctx, out[0], settings, register)
        except BaseException:
            lib.rill_option_source_free(out[0])
            raise
        return out[0]

    def config(self, nearest: list[Mapping[str, Any]], register: Any, given: bool = False) -> SearchConfig:
        """Combine keyword arguments, highest precedence first, with the model's defaults. Requires the lock; the caller frees the result.

        given: True if the run scores given outputs; its settings are then the last ones in `nearest`
        """
        for settings in nearest:
            for name in settings:
                if settings[name] is not None and tables.is_model_option(self.ctx, name):
                    raise errors.OptionError(f"{name} is an option of opening a model: rill.Model(..., {name}=...)", "RILL_ERR_OPTION")
        sources: list[Any] = []
        try:
            for settings in [*nearest, self.search_defaults]:
                sources.append(self._source(settings, register))
            if given:
                errors.check(self.ctx, lib.rill_option_source_force_decode(sources[len(nearest) - 1]))
            soft = ffi.new("rill_option_source *[]", [*sources[1:], self.folder.search])
            out = ffi.new("rill_search_config **")
            errors.check(self.ctx, lib.rill_search_config_make(out, self.ctx, sources[0], soft, len(soft)))
        except BaseException:
            for source in sources:
                lib.rill_option_source_free(source)
            raise
        return SearchConfig(self, out[0], sources)

    def request_settings(self, own: Mapping[str, Any], settings: Mapping[str, Any], given: bool) -> Any:
        """Return the rill_settings of one request: its settings on top of the run's. Requires the lock."""
        run = {name: value for name, value in settings.items() if not tables.is_chain(name)}
        if any(tables.is_heuristic(name) for name in settings):
            run["heuristic"] = []  # a request cannot change heuristics, so their arguments do not matter here
        config = self.config([run], None, given)
        source = ffi.NULL
        try:
            source = self._source(own, None)
            out = ffi.new("rill_search_config **")
            errors.check(self.ctx, lib.rill_search_config_request(out, config.handle, self.ctx, source, 0))
            try:
                return ffi.new("rill_settings *", out[0].setup.settings)
            finally:
                lib.rill_search_config_free(out[0])
        finally:
            lib.rill_option_source_free(source)
            config.free()


def _close_in(process: int, closer: Closer) -> None:
    """Close only in the process that opened the model: a forked child does not have the threads of its parent."""
    if os.getpid() == process:
        closer.close()


class SearchConfig:
    """A search config and the option sources that it was made from."""

    def __init__(self, opened: Opened, config: Any, sources: list[Any]) -> None:
        self._opened, self.handle, self._sources = opened, config, sources

    @property
    def setup(self) -> Any:
        """The rill_engine_setup of the search config."""
        return self.handle.setup

    def output(self, name: str) -> str | None:
        """Value of an output option; None: not set."""
        sources = ffi.new("rill_option_source *[]", self._sources)
        value = lib.rill_option_sources_get(sources, len(sources), name.encode())
        return ffi.string(value).decode() if value else None

    def free(self) -> None:
        """Free the search config and its sources. Requires the lock."""
        if self.handle:
            lib.rill_search_config_free(self.handle)
            for source in self._sources:
                lib.rill_option_source_free(source)
            self.handle = None


class Recipe:
    """The arguments of rill.Model(), to open the model again, here or in another process."""

    ARGUMENTS = ("path", "domain", "threads", "workers", "plugins", "tokenized", "arguments")

    def __init__(
        self,
        paths: list[str],
        domain: Any,
        threads: int,
        workers: int,
        plugins: list[str],
        tokenized: bool,
        arguments: str | None,
        settings: dict[str, Any],
    ) -> None:
        self.paths, self.domain, self.threads, self.workers, self.plugins = paths, domain, threads, workers, plugins
        self.tokenized, self.arguments, self.settings = tokenized, arguments, settings
