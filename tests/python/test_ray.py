"""rill.ray on a local Ray cluster of several nodes. Skipped without Ray: docs/measurements/serving.md has the command to install it."""

import asyncio
import importlib.util
import itertools
import os
import signal
import subprocess
import tempfile
import threading
import unittest

import rill
import rill.ray
from common import COMMAND, ROOT

HAS_RAY = importlib.util.find_spec("ray") is not None
MODEL = os.path.join(ROOT, "examples", "models", "de-en")
QUESTIONS = os.path.join(ROOT, "examples", "questions", "de-en.txt")


class Lines(unittest.TestCase):
    """The parts of files, joined, are the files."""

    def test_parts_are_the_whole(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for name, data in (("a", b"one\ntwo\n\nthree"), ("b", b""), ("c", b"four\nfive\n")):
                paths.append(os.path.join(folder, name))
                with open(paths[-1], "wb") as file:
                    file.write(data)
            for shards in range(1, 30):
                lines = [line for shard in range(shards) for line in rill.ray.lines_of(paths, shard, shards)]
                self.assertEqual(lines, [b"one", b"two", b"", b"three", b"four", b"five"])


class Settings(unittest.TestCase):
    """Settings that would have no effect are refused by name, before Ray is imported."""

    def refused(self, decode, **settings):
        name = next(iter(settings))
        with self.subTest(settings=settings), self.assertRaisesRegex(rill.OptionError, f"^{name}: "):
            decode(**settings)

    def test_ignored_settings(self):
        with tempfile.TemporaryDirectory() as folder:
            output = os.path.join(folder, "out")

            def files(**settings):
                rill.ray.decode_files(MODEL, [QUESTIONS], output, shards=2, **settings)

            for decode in (files, lambda **settings: rill.ray.Decoder(MODEL, **settings)):
                for name in ("alignment", "unknown_names", "unknown-names", "certify", "word_scores", "ids", "pretty"):
                    self.refused(decode, **{name: True})
                self.refused(decode, alignment="soft")
                self.refused(decode, alignment=0)  # a threshold of attention, as alignment=0.3
                self.refused(decode, path=MODEL)
                for name, value in itertools.product(("n_best", "n-best", "sample"), (2, "2", "2.0", "x", [2])):
                    self.refused(decode, **{name: value})
            self.refused(files, workers=2)
            self.refused(files, sample=1)
            self.assertFalse(os.path.exists(output))
        rill.ray.Decoder(MODEL, n_best=1, alignment=None, certify=False, sample=1, workers=2)


class Columns(unittest.TestCase):
    """Batches of a dataset, decoded without Ray."""

    def decoded(self, batch, **names):
        async def result_rows():
            return [one async for one in rill.ray.Decoder(MODEL, **names)(batch)]

        return asyncio.run(result_rows())

    def test_columns_are_not_overwritten(self):
        batch = {"text": ["Ein Hund bellt."], "output": ["mine"]}
        with self.assertRaisesRegex(rill.OptionError, "^output: there is a column 'output' already.* say output=NAME"):
            self.decoded(batch)
        with self.assertRaisesRegex(rill.OptionError, "^error: there is a column 'why' already.* say error=NAME"):
            self.decoded({"text": [], "why": []}, error="why")
        with self.assertRaisesRegex(KeyError, "say column=NAME"):
            self.decoded(batch, column="source")
        result_rows = self.decoded(batch, output="english")
        self.assertEqual(result_rows, [{**batch, "english": ["A dog barks."], "error": [""]}])
        result_rows = self.decoded({"text": ["a\0b", "Ein Hund bellt.", 3]})
        wanted = ["there is a NUL in the text", "", "a text was expected, found int"]
        self.assertEqual(result_rows, [{"text": ["a\0b", "Ein Hund bellt.", 3], "output": ["", "A dog barks.", ""], "error": wanted}])
        for names in ({"output": "text"}, {"output": "error"}, {"error": "text"}):
            with self.assertRaisesRegex(rill.OptionError, "three names"):
                rill.ray.Decoder(MODEL, **names)


class Parts(unittest.TestCase):
    """The work of an actor, run in this process."""

    def test_lines_that_cannot_be_decoded(self):
        with tempfile.TemporaryDirectory() as folder:
            path, out = os.path.join(folder, "in"), os.path.join(folder, "out")
            with open(path, "wb") as file:
                file.write(b"Ein Hund bellt.\na\0b\n\xff\nEin Hund bellt.\n")
            failed = asyncio.run(rill.ray.Shards([MODEL], [path], 1, 1, {}).decode(0, out))
            with open(out, "rb") as file:
                self.assertEqual(file.read(), b"A dog barks.\n\n\nA dog barks.\n")
            self.assertEqual(failed, [(0, 2, "byte 2 is a NUL"), (0, 3, "byte 1 is not UTF-8")])


@unittest.skipUnless(HAS_RAY, "there is no Ray here")
class Cluster(unittest.TestCase):
    """A cluster of four nodes on this machine, of which three decode."""

    @classmethod
    def setUpClass(cls):
        import ray
        from ray.cluster_utils import Cluster as Local

        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.input = os.path.join(folder.name, "in.txt")
        with open(QUESTIONS, encoding="utf-8") as file:
            lines = file.read().splitlines()
        with open(cls.input, "w", encoding="utf-8") as file:
            for i in range(int(os.environ.get("RILL_RAY_LINES", "3000"))):
                file.write(" ".join(lines[(i * k) % len(lines)].rstrip(".") for k in (1, 7)) + ".\n")
        whole = subprocess.run([COMMAND, "decode", "-q", "-m", MODEL, "-i", cls.input], stdout=subprocess.PIPE, check=True)
        cls.whole = whole.stdout
        # Beside other programs, workers of Ray's niceness, 15, hardly run.
        system = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500, "health_check_failure_threshold": 4,
                  "worker_niceness": 0}
        cls.cluster = Local(initialize_head=True, head_node_args={"num_cpus": 0, "_system_config": system})
        cls.addClassCleanup(cls.cluster.shutdown)
        cls.nodes = [cls.cluster.add_node(num_cpus=1) for _ in range(3)]
        ray.init(address=cls.cluster.address, log_to_driver=False)
        cls.addClassCleanup(ray.shutdown)

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def joined(self, report):
        parts = []
        for path in report.shards:
            with open(path, "rb") as file:
                parts.append(file.read())
        return b"".join(parts)

    def test_workers_that_are_killed(self):
        output = os.path.join(self.folder.name, "out")
        killed, stop = [], threading.Event()

        def kill():
            """Kill actors' processes and a node while shards are decoded."""
            while not stop.wait(0.2):
                there = [name for name in os.listdir(output) if name.endswith(".txt")] if os.path.isdir(output) else []
                if len(killed) < 3 and len(there) > 4 * len(killed):
                    found = subprocess.run(["pgrep", "-f", "ray::Shards"], stdout=subprocess.PIPE, text=True, check=False).stdout.split()
                    for process in found[:1]:
                        os.kill(int(process), signal.SIGKILL)
                        killed.append(f"process {process}")
                elif len(killed) == 3 and len(there) > 14:
                    self.cluster.remove_node(self.nodes.pop(0), allow_graceful=False)
                    killed.append("a node")

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            report = rill.ray.decode_files(MODEL, [self.input], output, shards=24, actors=2)
        finally:
            stop.set()
            killer.join()
        print(f"\n{report.done} shards, killed: {', '.join(killed)}")
        self.assertGreaterEqual(len(killed), 2)
        self.assertEqual(self.joined(report), self.whole)
        self.assertEqual((report.there, report.done, report.failed), (0, 24, []))
        # A second run decodes only the missing shards.
        times = {path: os.path.getmtime(path) for path in report.shards}
        for path in report.shards[3:5]:
            os.remove(path)
        again = rill.ray.decode_files(MODEL, [self.input], output, shards=24, actors=2)
        self.assertEqual((again.there, again.done, self.joined(again)), (22, 2, self.whole))
        self.assertEqual([p for p in again.shards if os.path.getmtime(p) != times[p]], report.shards[3:5])
        self.assertFalse([name for name in os.listdir(output) if not name.endswith(".txt") and name != "run.json"])
        with self.assertRaisesRegex(rill.OptionError, "shards of another run"):
            rill.ray.decode_files(MODEL, [self.input], output, shards=24, k=3)

    def test_wrong_settings_and_inputs(self):
        output = os.path.join(self.folder.name, "out")
        with self.assertRaisesRegex(rill.OptionError, "lenght"):
            rill.ray.decode_files(MODEL, [self.input], output, shards=2, lenght_penalty=1)
        with self.assertRaisesRegex(rill.OptionError, "n_best"):
            rill.ray.decode_files(MODEL, [self.input], output, shards=2, n_best=2)
        bad = os.path.join(self.folder.name, "bad.txt")
        with open(bad, "wb") as file:
            file.write(b"Ein Hund.\n\xff\nEin Mann.\nEin\0Kind.\n")
        report = rill.ray.decode_files(MODEL, [bad], output, shards=1)
        self.assertEqual([(shard, line) for shard, line, _ in report.failed], [(0, 2), (0, 4)])
        self.assertEqual(rill.ray.decode_files(MODEL, [bad], output, shards=1), rill.ray.Report(report.shards, 1, 0, report.failed))
        self.assertEqual(self.joined(report).splitlines()[1], b"")

    def test_data(self):
        import ray.data

        with open(self.input, encoding="utf-8") as file:
            rows = [{"number": i, "text": line} for i, line in enumerate(file.read().splitlines()[:400])]
        rows[7]["text"] = None
        done = ray.data.from_items(rows).map_batches(rill.ray.Decoder, fn_constructor_kwargs={"model": MODEL}, batch_size=50, concurrency=1)
        result_rows = {row["number"]: row for row in done.iter_rows()}
        wanted = self.whole.decode().splitlines()[:400]
        wanted[7] = ""
        self.assertEqual([result_rows[i]["output"] for i in range(400)], wanted)
        self.assertEqual([i for i in result_rows if result_rows[i]["error"]], [7])
        with self.assertRaisesRegex(Exception, "there is a column 'output' already"):
            done.map_batches(rill.ray.Decoder, fn_constructor_kwargs={"model": MODEL}, batch_size=50, concurrency=1).take_all()


if __name__ == "__main__":
    unittest.main()
