"""Shared by the tests: the repository's path, and small models."""

from __future__ import annotations

import os
import pathlib
import unittest

import rill

ROOT = pathlib.Path(os.environ["RILL_ROOT"])
COMMAND = os.environ["RILL_COMMAND"]
MODELS = ROOT / "examples" / "models"
CAPTIONS = (ROOT / "examples" / "questions" / "de-en.txt").read_text().splitlines()
QUESTIONS = (ROOT / "examples" / "questions" / "geo.txt").read_text().splitlines()


class Case(unittest.TestCase):
    """A test case with a translation model that is opened once."""

    model: rill.Model

    @classmethod
    def setUpClass(cls) -> None:
        cls.model = rill.Model(MODELS / "de-en")

    @classmethod
    def tearDownClass(cls) -> None:
        cls.model.close()
