"""rill on Ray (docs.ray.io): each actor has one engine, which decodes several blocks or shards at once to stay busy.

    import ray, rill.ray

    captions = ray.data.read_text("captions/")
    captions = captions.map_batches(rill.ray.Decoder, fn_constructor_kwargs={"model": "examples/models/de-en"}, concurrency=2)
    captions.write_parquet("translated/")

    rill.ray.decode_files("examples/models/de-en", ["in.txt"], "out/", shards=64, actors=8, num_cpus=4)

Outputs do not depend on other inputs, so another machine can repeat the work of a lost one with the same output, byte for byte.
Ray is installed separately: pip install "ray[data]".
"""

from __future__ import annotations

import asyncio
import dataclasses
import glob
import importlib
import itertools
import json
import os
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import errors, tables
from .model import Model
from .results import Result
from .request import Request

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .settings import ModelSettings

Path = str | os.PathLike[str]


class Feed:
    """One engine for all callers on an event loop. Inputs can join at any time."""

    def __init__(self, model: Model, settings: Mapping[str, Any]) -> None:
        """model: borrowed; settings: apply to all inputs. Raises rill.Error for wrong settings."""
        self._queue: asyncio.Queue[Request] = asyncio.Queue()
        self._stream = model.stream(self._inputs(), unordered=True, **settings)
        self._waiting: set[asyncio.Future[Result]] = set()
        self._task: asyncio.Task[None] | None = None
        self._failure: Exception | None = None

    async def _inputs(self) -> AsyncIterator[Request]:
        while True:
            yield await self._queue.get()

    async def _run(self) -> None:
        try:
            async for result in self._stream:
                future = result.tag
                if isinstance(future, asyncio.Future) and not future.done():
                    future.set_result(result)
        except Exception as failure:
            self._failure = failure
            for future in self._waiting:
                if not future.done():
                    future.set_exception(failure)

    def submit(self, text: str) -> asyncio.Future[Result]:
        """Decode a text; the future gets a result even if the input fails. Raises the exception that ended the engine."""
        if self._failure is not None:
            raise self._failure
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.add(future)
        future.add_done_callback(self._waiting.discard)
        self._queue.put_nowait(Request(text, tag=future))
        return future


_SET_ELSEWHERE = {"path": "the model is given as model=DIRECTORY"}
_BESIDE_TEXTS = ("alignment", "unknown_names", "certify", "word_scores", "ids", "pretty")


def _not_one(name: str, value: Any, drawn: bool) -> str | None:
    """Why this number of outputs or samples is not supported; None: it is. drawn: outputs may differ between runs."""
    try:
        n = float(tables.text_of(name, value))
    except ValueError:
        return f"a whole number was expected, found {value!r}"
    if n > 1:
        return "best outputs alone are given here, one for each input"
    if tables.setting_name(name) == "num_samples" and n > 0 and not drawn:
        return "what is drawn goes by an input's number among all, which a shard does not know; rill decode --shard draws so"
    return None


def _check(settings: Mapping[str, Any], set_elsewhere: Mapping[str, str], drawn: bool) -> None:
    """Raise rill.OptionError for settings that have no effect here: they give more than a text per input, or are set in another way.

    set_elsewhere: settings that are set in another way, with the message; drawn: outputs may differ between runs
    """
    for given, value in settings.items():
        if value is None or value is False:
            continue
        name, why = given.replace("-", "_"), None
        if name in set_elsewhere:
            why = set_elsewhere[name]
        elif name in _BESIDE_TEXTS:
            why = "texts alone are given here; results of rill.Model have the rest"
        elif tables.setting_name(name) in ("n_best", "num_samples"):
            why = _not_one(name, value, drawn)
        if why is not None:
            raise errors.OptionError(f"{given}: {why}", "RILL_ERR_OPTION")


class Decoder:
    """A callable for Dataset.map_batches(): reads a column of texts, and adds a column with the best outputs and one with errors."""

    def __init__(self, model: Path | Sequence[Path], *, column: str = "text", output: str = "output", error: str = "error",
                 threads: int = 1, workers: int = 1, **settings: Unpack[ModelSettings]) -> None:
        """model: its directory, on every machine; column, output, error: names of the columns; the rest as in rill.Model.

        Raises rill.Error, which ends the run before anything is decoded.
        """
        if len({column, output, error}) < 3:
            raise errors.OptionError(
                f"column, output, error: three names were expected, found {column!r}, {output!r} and {error!r}", "RILL_ERR_OPTION"
            )
        _check(settings, _SET_ELSEWHERE, drawn=True)
        self._column, self._output, self._error = column, output, error
        self._model = Model(model, threads=threads, workers=workers, **settings)
        self._feed: Feed | None = None

    async def __call__(self, batch: Mapping[str, Sequence[object]]) -> AsyncIterator[dict[str, object]]:
        """Decode a batch; several calls may run at once.

        Raises KeyError if the column of texts is missing, rill.OptionError if a column to add exists already.
        """
        if self._column not in batch:
            raise KeyError(f"there is no column {self._column!r}, but {', '.join(map(repr, batch))}: say column=NAME")
        for name, column in (("output", self._output), ("error", self._error)):
            if column in batch:
                why = f"there is a column {column!r} already, which would be lost: say {name}=NAME, or drop it before"
                raise errors.OptionError(f"{name}: {why}", "RILL_ERR_OPTION")
        if self._feed is None:
            self._feed = Feed(self._model, {})
        results = await asyncio.gather(*[self._one(cell) for cell in batch[self._column]])
        yield {**batch, self._output: [text for text, _ in results], self._error: [why for _, why in results]}

    async def _one(self, cell: Any) -> tuple[str, str]:
        assert self._feed is not None
        if not isinstance(cell, str):
            return "", f"a text was expected, found {type(cell).__name__}"
        result = await self._feed.submit(cell)
        return (result.text, "") if result.error is None else ("", str(result.error))


# --- files ---


@dataclasses.dataclass(frozen=True)
class Report:
    """The result of decode_files().

    shards: paths of all shards, in order; there: number of shards that existed before; done: number of shards decoded in this run
    failed: failed inputs of all shards as (shard from 0, line in the shard from 1, message); their output lines are empty
    """

    shards: list[str]
    there: int
    done: int
    failed: list[tuple[int, int, str]]


def lines_of(inputs: Sequence[str], shard: int, shards: int) -> Iterator[bytes]:
    """Return the lines of shard number `shard`, from 0. Bytes are divided evenly; a line belongs to the shard in which it begins."""
    sizes = [os.path.getsize(path) for path in inputs]
    begin, end = sum(sizes) * shard // shards, sum(sizes) * (shard + 1) // shards
    for path, size, first in zip(inputs, sizes, itertools.accumulate([0, *sizes])):
        low, high = max(begin - first, 0), min(end - first, size)
        if low >= high:
            continue
        with open(path, "rb") as file:
            if low > 0:
                file.seek(low - 1)
                file.readline()
            while file.tell() < high:
                yield file.readline().removesuffix(b"\n")


class Shards:
    """An actor that decodes several shards of files at once with one engine."""

    AHEAD = 2000  # maximum number of lines of a shard that are in flight

    def __init__(self, model: Sequence[str], inputs: Sequence[str], shards: int, threads: int, settings: Mapping[str, Any]) -> None:
        """inputs: paths of all files; shards: number of shards. Raises rill.Error."""
        self._inputs, self._shards = list(inputs), shards
        self._model = Model(list(model), workers=threads, **settings)
        self._feed: Feed | None = None

    async def check(self) -> int:
        """Return the process id after the model is open and the settings are accepted."""
        self._feed = self._feed or Feed(self._model, {})
        return os.getpid()

    async def decode(self, shard: int, path: str) -> list[tuple[int, int, str]]:
        """Decode a shard into `path`, which appears when it is complete. Failed inputs are returned, and written to PATH.failed."""
        self._feed = self._feed or Feed(self._model, {})
        failed: list[tuple[int, int, str]] = []
        unfinished = f"{path}.{uuid.uuid4().hex}.tmp"
        lines = enumerate(lines_of(self._inputs, shard, self._shards), 1)
        try:
            with open(unfinished, "wb") as file:
                while block := list(itertools.islice(lines, self.AHEAD)):
                    for number, result in await asyncio.gather(*[self._one(number, line) for number, line in block]):
                        if isinstance(result, str):
                            failed.append((shard, number, result))
                        file.write(b"\n" if isinstance(result, str) else result.text.encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
            if failed:
                with open(f"{path}.failed", "w", encoding="utf-8") as notes:
                    json.dump(failed, notes)
            os.replace(unfinished, path)
        finally:
            if os.path.exists(unfinished):
                os.remove(unfinished)
        return failed

    async def _one(self, number: int, line: bytes) -> tuple[int, Result | str]:
        assert self._feed is not None
        try:
            text = line.decode()
        except UnicodeDecodeError as wrong:
            return number, f"byte {wrong.start + 1} is not UTF-8"
        if "\0" in text:
            return number, f"byte {line.index(0) + 1} is a NUL"
        result = await self._feed.submit(text)
        return number, result if result.error is None else str(result.error)


def _agree(output: str, plan: Mapping[str, Any], note: bool) -> None:
    """Check that the folder has shards of this run only. note: write the parameters of the run to the folder, in run.json."""
    path = os.path.join(output, "run.json")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            before = json.load(file)
        if before != plan:
            differs = ", ".join(key for key in plan if before.get(key) != plan[key])
            raise errors.OptionError(f"{output}: it has shards of another run ({differs} differ): name another folder", "RILL_ERR_OPTION")
    if not note or os.path.exists(path):
        return
    with open(f"{path}.{uuid.uuid4().hex}.tmp", "w", encoding="utf-8") as file:
        json.dump(plan, file)
    os.replace(file.name, path)


def _failed(path: str) -> list[tuple[int, int, str]]:
    if not os.path.exists(f"{path}.failed"):
        return []
    with open(f"{path}.failed", encoding="utf-8") as file:
        return [(shard, line, why) for shard, line, why in json.load(file)]


def _import_ray() -> Any:
    try:
        return importlib.import_module("ray")
    except ImportError as missing:
        raise ImportError('rill.ray needs Ray: pip install "ray[data]"') from missing


def decode_files(model: Path | Sequence[Path], inputs: Sequence[Path], output: Path, *, shards: int = 64, actors: int = 1, at_once: int = 2,
                 num_cpus: int = 1, num_gpus: float = 0, **settings: Unpack[ModelSettings]) -> Report:
    """Decode lines of files on a Ray cluster into shards. Joining the shards in order gives the output of the whole input.

    model, inputs, output: paths that all machines can access; output: a folder, created if missing
    shards: number of output files. A file appears when it is complete. Existing files are skipped, so an interrupted run can be continued
    actors: number of processes, with an engine each, num_cpus processors (one worker each) and num_gpus GPUs
    at_once: number of shards that an actor decodes at the same time
    settings: as in rill.Model, except workers and settings that give more than one text (n_best, alignment ...)
    A lost actor or machine is replaced, and its shards are restarted, each at most five times.
    Raises rill.Error for a wrong model or wrong settings, before anything is decoded.
    """
    _check(settings, {**_SET_ELSEWHERE, "workers": "an actor has num_cpus of them"}, drawn=False)
    ray = _import_ray()
    paths = [os.path.abspath(os.fspath(path)) for path in inputs]
    models = [model] if isinstance(model, (str, os.PathLike)) else list(model)
    models = [os.path.abspath(os.fspath(path)) for path in models]
    folder = os.path.abspath(os.fspath(output))
    if shards < 1 or actors < 1 or at_once < 1:
        raise errors.OptionError("shards, actors, at_once: numbers from 1 were expected", "RILL_ERR_OPTION")
    sizes = [os.path.getsize(path) for path in paths]
    os.makedirs(folder, exist_ok=True)
    plan = {"model": [str(one) for one in models], "inputs": paths, "sizes": sizes, "shards": shards,
            "settings": {name: str(value) for name, value in sorted(settings.items())}}
    _agree(folder, plan, note=False)
    width = len(str(shards))
    targets = [os.path.join(folder, f"part-{shard + 1:0{width}}-of-{shards}.txt") for shard in range(shards)]
    left = [shard for shard in range(shards) if not os.path.exists(targets[shard])]
    failed = [one for shard in range(shards) if shard not in left for one in _failed(targets[shard])]
    if not ray.is_initialized():
        ray.init()
    again = {"max_restarts": -1, "max_task_retries": 5}
    kind = ray.remote(Shards).options(num_cpus=num_cpus, num_gpus=num_gpus, max_concurrency=at_once + 1, **again)
    actor_list = [kind.remote(models, paths, shards, num_cpus, settings) for _ in range(min(actors, len(left)))]
    try:
        if actor_list:
            ray.get(actor_list[0].check.remote())
    except ray.exceptions.RayActorError as failure:
        raise errors.OptionError(f"no actor could open the model: {failure}", "RILL_ERR_OPTION") from failure
    _agree(folder, plan, note=True)
    # Each actor has at_once shards; the actor that finishes one gets the next.
    queue, under_way = iter(left), {}
    for actor in actor_list * at_once:
        for shard in itertools.islice(queue, 1):
            under_way[actor.decode.remote(shard, targets[shard])] = actor
    while under_way:
        ready, _ = ray.wait(list(under_way), num_returns=1)
        actor = under_way.pop(ready[0])
        failed += ray.get(ready[0])
        for shard in itertools.islice(queue, 1):
            under_way[actor.decode.remote(shard, targets[shard])] = actor
    for actor in actor_list:
        ray.kill(actor)
    # Remove temporary files of killed actors.
    for path in glob.glob(os.path.join(glob.escape(folder), "part-*.tmp")):
        os.remove(path)
    return Report(targets, shards - len(left), len(left), sorted(failed))
