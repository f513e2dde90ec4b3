"""Features that users know from other packages: a progress bar, names of the Hugging Face Hub, multiprocessing, cancelled asyncio tasks,
and tests of a heuristic."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import io
import multiprocessing
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock
from collections.abc import AsyncIterator, Iterator

import numpy as np
import rill
from common import CAPTIONS, MODELS, ROOT, Case
from rill import views


def texts_of(model: rill.Model) -> list[str]:
    """A function at the top level of a module, so that worker processes can import it."""
    return [result.text for result in model.decode(CAPTIONS[:2])]


class Progress(Case):
    def shown(self, **settings: object) -> str:
        """Decode with a progress bar; return what it writes to standard error."""
        out = io.StringIO()
        with contextlib.redirect_stderr(out):
            found = self.model.decode(CAPTIONS[:3], progress=True, **settings)  # type: ignore[arg-type]
        self.assertEqual([result.text for result in found], [result.text for result in self.model.decode(CAPTIONS[:3])])
        return out.getvalue()

    def test_a_bar_counts_results(self) -> None:
        self.assertRegex(self.shown(), r"100%.*3/3 \[.*input/s")
        with contextlib.redirect_stderr(io.StringIO()) as out:
            list(self.model.stream(iter(CAPTIONS[:3]), progress=True))  # an input of unknown length
            self.model.score([(CAPTIONS[0], "A dog.")], progress=True)
        self.assertRegex(out.getvalue(), r"3input \[")
        self.assertRegex(out.getvalue(), r"1/1 \[")
        with contextlib.redirect_stderr(io.StringIO()) as out:
            self.model.decode(CAPTIONS[:1])
        self.assertEqual(out.getvalue(), "")

    def test_a_loader_without_a_length(self) -> None:
        class Loader(list[str]):
            def __len__(self) -> int:
                raise TypeError("a stream has no length")

        for progress in (False, True):
            with contextlib.redirect_stderr(io.StringIO()), self.model.stream(Loader(CAPTIONS[:2]), progress=progress) as stream:
                self.assertEqual(sum(1 for _ in stream), 2)

    def test_without_the_package(self) -> None:
        with unittest.mock.patch.dict(sys.modules, {"tqdm": None, "tqdm.auto": None}):
            with self.assertRaisesRegex(ModuleNotFoundError, "^progress=True needs tqdm, which is not installed: pip install tqdm$"):
                self.model.decode(CAPTIONS[:1], progress=True)
            self.assertEqual(len(self.model.decode(CAPTIONS[:1])), 1)


class Pretrained(unittest.TestCase):
    @contextlib.contextmanager
    def cache(self) -> Iterator[pathlib.Path]:
        """Make a cache folder with one model, as the Hub's client writes it."""
        with tempfile.TemporaryDirectory() as folder:
            repository = pathlib.Path(folder, "models--someone--de-en")
            snapshot = repository / "snapshots" / "0123abcd"
            for path in (snapshot, repository / "refs" / "pr", repository / "blobs"):
                path.mkdir(parents=True)
            (repository / "refs" / "main").write_text("0123abcd")
            (repository / "refs" / "pr" / "1").write_text("0123abcd\n")
            (repository / "refs" / "broken").write_text("../../..")
            for i, path in enumerate((MODELS / "de-en").iterdir()):
                (repository / "blobs" / str(i)).symlink_to(path)
                (snapshot / path.name).symlink_to(f"../../blobs/{i}")
            yield pathlib.Path(folder)

    def test_a_folder(self) -> None:
        with rill.Model.from_pretrained(MODELS / "de-en", beam_size=3) as model:
            self.assertEqual(len(texts_of(model)), 2)
        with self.assertRaisesRegex(rill.OptionError, "which has no revisions"):
            rill.Model.from_pretrained(MODELS / "de-en", revision="v1")

    def test_a_name_in_the_cache(self) -> None:
        with self.cache() as folder, rill.Model(MODELS / "de-en") as plain:
            wanted = texts_of(plain)
            for revision in ("main", "0123abcd", "pr/1"):
                with rill.Model.from_pretrained("someone/de-en", revision=revision, cache_dir=folder) as model:
                    self.assertEqual(texts_of(pickle.loads(pickle.dumps(model))), wanted)
            (folder / "home").mkdir()
            (folder / "home" / "hub").symlink_to(folder)
            for variables in ({"HF_HUB_CACHE": str(folder)}, {"HF_HUB_CACHE": "", "HF_HOME": str(folder / "home")}):
                with unittest.mock.patch.dict(os.environ, {"HUGGINGFACE_HUB_CACHE": "", **variables}):
                    rill.Model.from_pretrained("someone/de-en").close()

    def test_what_is_not_there(self) -> None:
        with self.cache() as folder:
            for name, revision, why in (
                ("someone/other", "main", "^someone/other: .*, and revision main .* where `hf download someone/other` puts it$"),
                ("someone/de-en", "v2", "`hf download someone/de-en --revision v2`"),
                ("someone/de-en", "broken", "revision broken is not in the cache"),
                ("someone/de-en", "../main", "no name of the Hugging Face Hub"),
                ("../de-en", "main", "no name of the Hugging Face Hub"),
                ("a/b/c", "main", "no such folder, and no name"),
                ("", "main", "no such folder, and no name"),
            ):
                with self.subTest(name=name, revision=revision), self.assertRaisesRegex(rill.NotFoundError, why):
                    rill.Model.from_pretrained(name, revision=revision, cache_dir=folder)
            with self.assertRaisesRegex(rill.OptionTypeError, "did you mean"):
                rill.Model.from_pretrained("someone/de-en", cache_dir=folder, beam_sizes=3)


class Processes(Case):
    def test_models_go_to_other_processes(self) -> None:
        wanted = texts_of(self.model)
        for method in ("spawn", "fork", "forkserver"):
            context = multiprocessing.get_context(method)
            with self.subTest(method=method), concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
                self.assertEqual(list(pool.map(texts_of, [self.model] * 3)), [wanted] * 3)

    def test_a_stream_stays(self) -> None:
        with self.model.stream(CAPTIONS) as stream, self.assertRaisesRegex(TypeError, "a stream belongs to its process"):
            pickle.dumps(stream)


class Cancellation(Case):
    def test_the_engine_is_at_rest_when_a_task_ends(self) -> None:
        """A task may be cancelled any number of times; afterwards the stream goes on where it was."""
        running = threading.Event()

        def slow(candidates: rill.Candidates) -> None:
            running.set()
            time.sleep(0.2)
            running.clear()

        async def main() -> None:
            async with self.model.stream(CAPTIONS[:2], heuristic=slow, beam_size=2, max_length=4) as stream:
                task = asyncio.ensure_future(anext(stream))
                await asyncio.to_thread(running.wait)
                for _ in range(3):
                    task.cancel()
                    await asyncio.sleep(0.01)
                with self.assertRaises(asyncio.CancelledError):
                    await task
                self.assertFalse(running.is_set())
                self.assertEqual([result.id async for result in stream], [0, 1])

        asyncio.run(main())

    def test_closing_ends_the_inputs_generator(self) -> None:
        ended = []

        async def source() -> AsyncIterator[str]:
            try:
                yield CAPTIONS[0]
                await asyncio.sleep(60)
            finally:
                ended.append(True)

        async def main() -> None:
            async with self.model.stream(source()) as stream:
                await anext(stream)
                with self.assertRaises(asyncio.TimeoutError):
                    await asyncio.wait_for(anext(stream), 0.05)
                self.assertEqual(ended, [])  # the stream can go on
            self.assertEqual(ended, [True])
            async with self.model.stream(source(), prefetch=1) as stream:
                await anext(stream)  # the generator waits at its `yield`
            self.assertEqual(ended, [True, True])

        asyncio.run(main())


class Copies(unittest.TestCase):
    def test_a_table_of_scores_is_not_copied(self) -> None:
        """score()'s array is used without a copy if it has the layout that C reads."""
        table = np.zeros((2, 3), np.float32)
        self.assertTrue(np.shares_memory(views.as_table(table, (2, 3)), table))
        for other in (table.astype(np.float64), np.zeros((3, 2), np.float32).T, table.tolist()):
            self.assertEqual(views.as_table(other, (2, 3)).dtype, np.float32)


class Examples(unittest.TestCase):
    def test_the_tests_of_a_heuristic(self) -> None:
        ran = subprocess.run([sys.executable, ROOT / "examples" / "test_heuristic.py"], capture_output=True, text=True)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("Ran 6 tests", ran.stderr)


if __name__ == "__main__":
    unittest.main()
