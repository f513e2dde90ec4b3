"""Heuristics, scorers and policies in Python over NumPy views: the same answers as the built-in ones, and what misuse comes to."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
import rill
from common import CAPTIONS, Case


def absolute(delta: float) -> Any:
    """The built-in heuristic `absolute`: candidates more than delta behind the best are dropped."""

    def apply(beams: Any) -> None:
        beams.keep[beams.score < beams.best[beams.items()] - delta] = 0

    return apply


class Heuristics(Case):
    def test_the_same_as_the_built_in_one(self) -> None:
        for check in (False, True):
            mine = self.model.decode(CAPTIONS, heuristic=absolute(1.5), n_best=3, min_width=0, check=check)
            theirs = self.model.decode(CAPTIONS, heuristic="absolute:1.5", n_best=3, min_width=0)
            self.assertEqual(mine, theirs)

    def test_views_are_the_engines_memory(self) -> None:
        seen: dict[str, Any] = {}

        def apply(beams: Any) -> None:
            self.assertIs(beams.score.dtype.type, np.float64)
            self.assertEqual(beams.offset.shape, (beams.n + 1,))
            self.assertEqual(beams.score.shape, (int(beams.offset[-1]),))
            self.assertTrue(bool((beams.keep == 1).all()))
            self.assertTrue(bool((np.diff(beams.offset) >= 0).all()))
            with self.assertRaises(ValueError):
                beams.score[0] = 0  # read-only
            with self.assertRaises(AttributeError):
                beams.nothing
            seen.update(score=beams.score, part=beams.score[:1], beams=beams, copy=np.array(beams.score), doubled=beams.score * 2)

        self.model.decode(CAPTIONS[:1], heuristic=[apply])
        for use in (
            lambda: seen["score"][0],
            lambda: seen["part"][0],
            lambda: seen["score"].sum(),
            lambda: seen["score"] + 1,
            lambda: np.concatenate([seen["score"], seen["part"]]),
            lambda: list(seen["score"]),
            lambda: seen["score"].tolist(),
            lambda: repr(seen["score"]),
            lambda: len(seen["score"]),
            lambda: seen["beams"].score,
            lambda: seen["beams"].n,
        ):
            with self.assertRaises(rill.StaleViewError):
                use()
        self.assertTrue(np.isfinite(seen["copy"]).all() and np.allclose(seen["doubled"], seen["copy"] * 2))

    def test_a_width_and_a_stop(self) -> None:
        def narrow(beams: Any) -> None:
            beams.width[:] = 1

        greedy = self.model.decode(CAPTIONS, heuristic=narrow, max_candidates=1)
        self.assertEqual([r.text for r in greedy], [r.text for r in self.model.decode(CAPTIONS, k=1, heuristic=[])])

        def stop(beams: Any) -> None:
            beams.stop[beams.timestep >= 2] = 1

        self.assertTrue(all(result.best.ended == "cut" for result in self.model.decode(CAPTIONS, heuristic=stop)))

    def test_what_it_raises_comes_out(self) -> None:
        class Mine(Exception):
            pass

        def apply(beams: Any) -> None:
            raise Mine("here")

        with self.assertRaisesRegex(Mine, "here"):
            self.model.decode(CAPTIONS, heuristic=apply)
        with self.assertRaisesRegex(TypeError, "returned"):
            self.model.decode(CAPTIONS, heuristic=lambda beams: beams.keep)
        with self.assertRaises(rill.OptionError):
            self.model.decode(CAPTIONS, heuristic=[3.5j])
        self.assertTrue(self.model.decode(CAPTIONS[:1])[0].ok)


class Scorers(Case):
    def test_bans_and_rewards(self) -> None:
        text = "Ein Hund läuft im Schnee."
        (dog,) = self.model.tokenize("dog")

        def ban(rows: Any, ask: Any) -> None:
            ask.ban(np.arange(rows.n), dog)

        mine = self.model.decode([text], scorer=ban)[0]
        self.assertNotIn(dog, mine.best.ids)
        self.assertEqual(mine.best, self.model.decode([text], scorer="ban:dog")[0].best)

        def favour(rows: Any, ask: Any) -> None:
            for row in range(rows.n):
                self.assertEqual(rows.text(row), text)
                self.assertEqual(len(rows.path(row)), int(rows.timestep[row]))
                ask.add(row, self.model.find("</s>"), -1.0)

        found = self.model.decode([text], scorer=favour)[0].best
        self.assertAlmostEqual(found.score, found.logp - 1, places=4)

    def test_state_follows_hypotheses(self) -> None:
        class Counts:
            state_type = np.dtype([("length", np.int32)])

            def __call__(self, rows: Any, ask: Any) -> None:
                state = rows.state
                first = np.array(rows.timestep) == 0
                state["length"][:] = np.where(first, 0, state["length"] + 1)
                lengths = [len(rows.path(row)) for row in range(rows.n)]
                assert lengths == state["length"].tolist(), (lengths, state["length"].tolist())

        self.assertTrue(self.model.decode(CAPTIONS[:3], scorer=Counts())[0].ok)

    def test_misuse(self) -> None:
        for wrong in (
            lambda rows, ask: ask.ban(rows.n, 0),
            lambda rows, ask: ask.ban(0, 10**6),
            lambda rows, ask: rows.text(rows.n),
            lambda rows, ask: rows.state,
        ):
            with self.assertRaises((rill.Error, IndexError, AttributeError)):
                self.model.decode(CAPTIONS[:1], scorer=wrong)
        refused = self.model.decode(CAPTIONS[:1], scorer=lambda rows, ask: ask.refuse(0, "not this one"))[0]
        self.assertIn("not this one", str(refused.error))


class Policies(Case):
    def test_no_policy_changes_an_answer(self) -> None:
        class Newest:
            def choose(self, flight: Any) -> Any:
                return np.argsort(-flight.timestep, kind="stable")

            def refill(self, flight: Any) -> int:
                return int(flight.max_items - flight.n)

        wanted = self.model.decode(CAPTIONS)
        self.assertEqual(self.model.decode(CAPTIONS, policy=Newest()), wanted)

        class Wrong(Newest):
            def choose(self, flight: Any) -> Any:
                return [0, 0]

        with self.assertRaisesRegex(ValueError, "each once"):
            self.model.decode(CAPTIONS, policy=Wrong())
        with self.assertRaises(rill.OptionError):
            self.model.decode(CAPTIONS, policy=lambda flight: [])


if __name__ == "__main__":
    unittest.main()
