"""Shared by the tests of converters: a conversion, its refusal, and the comparison of models."""

from __future__ import annotations

import contextlib
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
from typing import Any

import numpy as np
from common import COMMAND, ROOT

sys.path.insert(0, str(ROOT / "tools"))
import convert_mt  # noqa: E402
from model_files import read_safetensors  # noqa: E402

DATA = ROOT / "tests" / "data" / "mt"
Tensors = dict[str, Any]


def read_json(*path: str | pathlib.Path) -> Any:
    return json.loads(pathlib.Path(*path).read_text(encoding="utf-8"))


def tensors_of(folder: pathlib.Path) -> Tensors:
    return read_safetensors(str(folder / "model.safetensors"), None)


class Conversion(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.work = pathlib.Path(folder.name)
        self.out = self.work / "out"

    def convert(self, *arguments: Any) -> str:
        """Run a conversion; return what it prints, or its messages if it fails."""
        printed, said = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said):
            code = convert_mt.main([str(a) for a in (*arguments, "--out", self.out)])
        self.assertEqual(code, 1 if said.getvalue() else 0, said.getvalue())
        return said.getvalue() or printed.getvalue()

    def made(self, *arguments: Any) -> pathlib.Path:
        self.assertEqual(self.convert(*arguments), f"{self.out}\n")
        return self.out

    def refused(self, words: str, *arguments: Any) -> None:
        with self.subTest(words=words):
            said = self.convert(*arguments)
            self.assertTrue(said.startswith("convert_mt: ") and words in said, said)

    def same(self, ours: Tensors, theirs: Tensors) -> None:
        self.assertEqual(sorted(ours), sorted(theirs))
        for name, value in theirs.items():
            self.assertEqual((ours[name].dtype, ours[name].shape), (value.dtype, value.shape), name)
            self.assertTrue(np.array_equal(ours[name], value), name)

    def decodes_as(self, out: pathlib.Path, original: pathlib.Path) -> None:
        command = [COMMAND, "decode", "--quiet", "--tokenized", "--max-length", "20", "--beam-size", "5", "--n-best", "5", "-m"]
        text = "a b\n\u2581a \u2581t\n"
        self.assertEqual(*(subprocess.run([*command, str(folder)], input=text, capture_output=True, encoding="utf-8", check=True).stdout
                           for folder in (out, original)))  # fmt: skip
