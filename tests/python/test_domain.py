"""Domains in Python: the search is compared with a plain beam search, and each mistake of a domain is reported."""

from __future__ import annotations

import importlib.util
import math
import subprocess
import sys
import unittest
from typing import Any

import numpy as np
import rill
from common import ROOT

ACTIONS, END = 6, 5


def logp(text: str, path: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Return log-probabilities after a path of actions; they depend only on the text and the path."""
    dice = np.random.default_rng([len(text), *text.encode(), *path])
    scores = dice.normal(size=ACTIONS).astype(np.float32) * 2
    if len(path) == 0:
        scores[END] = -np.inf
    return (scores - np.log(np.exp(scores).sum())).astype(np.float32)


class Paths(rill.Domain):
    """A domain whose states are whole paths of actions."""

    name, actions, end_action, max_length = "paths", ACTIONS, END, 6

    def __init__(self) -> None:
        self.paths: dict[int, tuple[str, tuple[int, ...]]] = {}
        self.inputs: dict[int, str] = {}

    def encode(self, text: str, slot: int) -> None:
        if text == "bad":
            raise ValueError("this one is bad")
        self.inputs[slot] = text

    def step(self, rows: Any) -> None:
        before = [self.paths[parent][1] if parent >= 0 else () for parent in rows.state_parent.tolist()]
        for node, path, action, slot in zip(rows.node.tolist(), before, rows.action.tolist(), rows.slot.tolist()):
            self.paths[node] = (self.inputs[slot], path + ((action,) if action >= 0 else ()))

    def score(self, rows: Any) -> Any:
        return np.stack([logp(*self.paths[node]) for node in rows.node.tolist()])

    def action_name(self, action: int) -> str:
        return "abcde."[action]

    def text(self, actions: list[int], slot: int) -> str:
        return "".join(map(self.action_name, actions))


def naive(text: str, k: int) -> list[tuple[float, tuple[int, ...]]]:
    """A plain beam search: keep the k best of all extensions and ended hypotheses until all have ended."""
    beam: list[tuple[float, tuple[int, ...], bool]] = [(0.0, (), False)]
    for _ in range(Paths.max_length):
        candidates = [one for one in beam if one[2]]
        for score, path, ended in beam:
            if not ended:
                candidates += [(score + float(one), (*path, a), a == END) for a, one in enumerate(logp(text, path)) if one > -math.inf]
        beam = sorted(candidates, key=lambda one: -one[0])[:k]
    return sorted(((score, path) for score, path, _ in beam), reverse=True)


class Domains(unittest.TestCase):
    def test_the_search_is_the_one_written_down(self) -> None:
        texts = [f"input {i}" for i in range(30)]
        with rill.Model(domain=Paths()) as model:
            for text, result in zip(texts, model.stream(texts, k=4, finish="top", n_best=1)):
                score, path = naive(text, 4)[0]
                self.assertEqual(result.best.ids, list(path))
                self.assertAlmostEqual(result.best.logp, score, places=4)
                self.assertEqual(result.text, "".join("abcde."[a] for a in path if a != END))
            self.assertEqual(model.id_to_token(END), ".")
            self.assertEqual(model.tokenize("a c"), [0, 2])
            one = model.decode(texts, n=1, k=3)
            self.assertEqual(one, model.decode(texts, n=30, k=3))
            scored = model.score((text, result.best.ids) for text, result in zip(texts, one))
            self.assertEqual([r.best.logp for r in scored], [r.best.logp for r in one])

    def test_constraints_hold(self) -> None:
        with rill.Model(domain=Paths()) as model:
            found = model.decode(["x"], scorer=["ban:a", "prefix:c d"])[0].best.ids
            self.assertEqual(found[:2], [2, 3])
            self.assertNotIn(0, found)

    def test_a_bad_input_fails_alone(self) -> None:
        with rill.Model(domain=Paths()) as model:
            found = model.decode(["x", "bad", "y"])
            self.assertEqual([result.ok for result in found], [True, False, True])
            self.assertIn("this one is bad", str(found[1].error))

    def test_exceptions_propagate(self) -> None:
        class Broken(Paths):
            def score(self, rows: Any) -> Any:
                raise KeyError("mine")

        class Shapeless(Paths):
            def score(self, rows: Any) -> Any:
                return np.zeros((rows.n, 2))

        for kind, raised in ((Broken, KeyError), (Shapeless, ValueError)):
            with rill.Model(domain=kind()) as model, self.assertRaises(raised):
                model.decode(["x"])
        for bad in (object(), type("None_", (Paths,), {"actions": 0})()):
            with self.assertRaises(rill.OptionError):
                rill.Model(domain=bad)

    def test_wrong_return_values(self) -> None:
        """An invalid value is reported by the call that received it, and by no later call."""
        for method, value, kind in (
            ("tokenize", [1.5], TypeError),
            ("tokenize", ["1"], TypeError),
            ("tokenize", [True], TypeError),
            ("tokenize", None, TypeError),
            ("tokenize", [-1], ValueError),
            ("tokenize", [2**32 + 1], ValueError),
            ("find_action", 1.5, TypeError),
            ("find_action", "1", TypeError),
            ("find_action", -2, ValueError),
            ("find_action", 2**32 + 1, ValueError),
            ("action_name", 3, TypeError),
            ("action_name", None, TypeError),
        ):
            wrong = type("Wrong", (Paths,), {method: lambda self, given: value})
            call = {"tokenize": "tokenize", "find_action": "token_to_id", "action_name": "id_to_token"}[method]
            with rill.Model(domain=wrong()) as model, self.subTest(method=method, value=value):
                with self.assertRaises(kind):
                    getattr(model, call)(2 if call == "id_to_token" else "a")
                if method != "action_name":
                    self.assertTrue(model.decode(["x"])[0].ok)
        for method, value in (("tokenize", [np.int64(2)]), ("find_action", np.int32(2))):
            with rill.Model(domain=type("Right", (Paths,), {method: lambda self, given: value})()) as model:
                self.assertIn(model.tokenize("x") if method == "tokenize" else model.token_to_id("x"), (2, [2]))
        wrong_types = ("actions", "5"), ("actions", 5.0), ("end_action", None), ("end_action", 0.0), ("max_length", "9"), ("name", 3)
        for name, value in wrong_types:
            with self.subTest(name=name, value=value), self.assertRaises(TypeError):
                rill.Model(domain=type("Wrong", (Paths,), {name: value})())
        for name, value in (("actions", 2**32 + 5), ("end_action", 2**32), ("max_length", 2**32 + 9), ("name", "a\0b")):
            with self.subTest(name=name, value=value), self.assertRaises(rill.OptionError):
                rill.Model(domain=type("Wrong", (Paths,), {name: value})())

        def encode(self: Any, text: str, slot: int) -> None:
            raise ValueError("before\0behind")

        with rill.Model(domain=type("Nul", (Paths,), {"encode": encode, "text": lambda self, actions, slot: "a\0b"})()) as model:
            self.assertIn("before\\0behind", str(model.decode(["x"])[0].error))
        with rill.Model(domain=type("Nul", (Paths,), {"text": lambda self, actions, slot: "a\0b"})()) as model:
            with self.assertRaisesRegex(ValueError, "one line"):
                model.decode(["x"])

    def test_rows_are_stale_after_their_call(self) -> None:
        seen: list[Any] = []

        class Looks(Paths):
            def step(self, rows: Any) -> None:
                seen.append((rows, rows.node))
                super().step(rows)

        with rill.Model(domain=Looks()) as model:
            model.decode(["x"])
        for use in (lambda: seen[0][0].n, lambda: seen[0][0].action, lambda: seen[0][1][0], lambda: seen[0][1].sum()):
            with self.assertRaises(rill.StaleViewError):
                use()

    @unittest.skipUnless(importlib.util.find_spec("torch"), "torch is not installed")
    def test_a_torch_module(self) -> None:
        run = subprocess.run([sys.executable, str(ROOT / "examples" / "torch_decode.py")], capture_output=True, text=True, check=True)
        self.assertEqual([line.split()[0] for line in run.stdout.splitlines()][:3], ["pots", "ward", "peek"])


if __name__ == "__main__":
    unittest.main()
