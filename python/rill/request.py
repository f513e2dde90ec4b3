"""Requests: inputs with settings of their own, and their way into the engine's structs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import errors, kinds, split, tables
from ._native import ffi, lib
from .errors import renamed
from .opened import Opened, SearchConfig

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .settings import RequestSettings

_ARGUMENTS = ("text", "timeout", "tag", "arguments")


@renamed(seconds="timeout", user="tag")
class Request:
    """An input with settings of its own."""

    __slots__ = ("text", "timeout", "tag", "arguments", "settings", "_number")

    def __init__(
        self,
        text: str,
        *,
        timeout: float | None = None,
        tag: object = None,
        arguments: Mapping[str, str | Sequence[str]] | None = None,
        **settings: Unpack[RequestSettings],
    ) -> None:
        """Describe an input.

        Args:
            text: The input.
            timeout: The deadline, in seconds after the stream takes the input. The result then has the outputs found so far, and
                `timed_out`.
            tag: Any object, which comes back as the result's `tag`.
            arguments: For heuristics and scorers of the run, by name: their arguments for this input, such as {"prefix": "The cat"}. A list
                of texts is several phrases.
            settings: Settings of this input's search and outputs (rill.options(): "search" and "output"), and what the model's domain
                reads of each input, such as a parser's input_format="tree". All others are the run's.

        Raises:
            OptionError: A setting is unknown, or the timeout is not above 0.
            TypeError: An argument has the wrong type.
        """
        tables.check_names(settings, _ARGUMENTS)
        self.text, self.tag, self.settings = kinds.text("text", text), tag, dict(settings)
        self.timeout = None if timeout is None else kinds.number("timeout", timeout)
        if not isinstance(arguments, Mapping | None):
            raise errors.OptionTypeError(f"arguments: texts by name were expected, found {arguments!r}", "RILL_ERR_OPTION")
        self.arguments = dict(arguments or {})
        self._number = 0
        if self.timeout is not None and not self.timeout > 0:
            raise errors.OptionError(f"timeout: a number above 0 was expected, found {timeout!r}", "RILL_ERR_OPTION")

    def _numbered(self, text: str, number: int) -> Request:
        """Copy the request with another text. Samples are drawn as for input `number` of the run, from 1."""
        one = Request(text, timeout=self.timeout, tag=self.tag, arguments=self.arguments)
        one.settings, one._number = self.settings, number
        return one

    def __repr__(self) -> str:
        own = {"timeout": self.timeout, "tag": self.tag, "arguments": self.arguments or None, **self.settings}
        return f"rill.Request({', '.join([repr(self.text), *(f'{k}={v!r}' for k, v in own.items() if v is not None)])})"


Input = str | Request


def given_requests(opened: Opened, pairs: Iterable[tuple[str, str | Sequence[int]]]) -> Iterator[Request]:
    """Make requests that force the given output of each pair."""
    for pair in pairs:
        if isinstance(pair, str) or len(pair) != 2:
            raise TypeError(f"a pair of an input and its output was expected, found {pair!r}")
        text, output = pair
        if isinstance(output, bytes):
            raise TypeError(f"an output: a text or token ids were expected, found {output!r}")
        if isinstance(output, str):
            yield Request(text, arguments={"given": f"text {output}"})
            continue
        ids = [kinds.whole("a token id of an output", action) for action in output]
        given = {"given": "ids " + " ".join(map(str, ids))}
        info = opened.info
        whole = not ids or (info.has_end_action and ids[-1] == info.end_action)
        phases = max(1, info.phases)
        yield Request(text, arguments=given) if whole else Request(text, arguments=given, max_length=-(-len(ids) // phases))


def as_request(item: Any) -> Request:
    """Make a request of a text; a request stays as it is."""
    if isinstance(item, Request):
        return item
    if isinstance(item, str):
        return Request(item)
    raise TypeError(f"an input: a text or a rill.Request was expected, found {item!r}")


class RequestFiller:
    """Fills the engine's requests for one run: arguments in the order of the run's heuristics and scorers, and the settings of each
    request."""

    def __init__(self, opened: Opened, settings: Mapping[str, Any], config: SearchConfig, given: bool) -> None:
        self._opened, self._run_settings, self._given = opened, settings, given
        setup = config.setup
        self.heuristics = [ffi.string(setup.heuristics[i].name).decode() for i in range(setup.n_heuristics)]
        self.scorers = [ffi.string(setup.scorers[i].name).decode() for i in range(setup.n_scorers)]
        self.split = config.output("split")
        self._resolved = ffi.new("rill_settings *", config.handle.resolved[0])
        needing = [name for name in ("alignment", "unknown_names", "like") if config.output(name) is not None]
        self.needs_whole_inputs = needing[0] if needing else "a scorer" if self.scorers else None

    def fill(self, out: Any, request: Request) -> Any:
        """Fill a rill_request and return what it points to. Raises InputError for a text that has a NUL or is no Unicode."""
        text = split.bytes_of(request.text)
        kept: list[Any] = [ffi.from_buffer(text)]
        out.struct_size = ffi.sizeof("rill_request")
        out.text, out.length = kept[0], len(text)
        out.timeout = request.timeout or 0.0
        out.number = request._number
        if request.arguments:
            out.heuristics, out.scorers = self._arguments(request.arguments, kept)
        if own := {name: value for name, value in request.settings.items() if value is not None}:
            options = self._options(own)
            settings = self._settings({name: value for name, value in own.items() if name not in options})
            kept += [settings, ffi.new("char[]", " ".join(options.values()).encode())]  # keep alive: `out` points into them
            out.settings, out.input_options = kept[-2:]
        return kept

    def resolved(self, request: Request) -> Any:
        """Return the settings of the request's search, as the engine has them."""
        own = {name: value for name, value in request.settings.items() if lib.rill_option_find(lib.rill_setting_table(), name.encode())}
        if not own:
            return self._resolved
        settings = self._settings(own)
        with self._opened.lock:
            if lib.rill_settings_resolve(self._opened.ctx, settings, False) < 0:
                lib.rill_error_clear(self._opened.ctx)  # the engine fails the input with the same message
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
                    f"scorer=[{name!r}] adds it",
                    "RILL_ERR_OPTION",
                )
        kept.extend(lists)
        return lists[0], lists[1]

    def _options(self, given: Mapping[str, Any]) -> dict[str, str]:
        """Return the options of the domain among the settings, as NAME=VALUE."""
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
                raise errors.OptionError(f"{name} is a setting of a run and cannot be set by one request", "RILL_ERR_OPTION")
            if not row:
                with opened.lock:
                    known = lib.rill_option_row(opened.ctx, name.encode())
                if known:
                    raise errors.OptionError(f"{name} is a setting of a run and cannot be set by one request", "RILL_ERR_OPTION")
        with opened.lock:
            return opened.request_settings(given, self._run_settings, self._given)
