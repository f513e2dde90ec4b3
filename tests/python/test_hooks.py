"""Heuristics, scorers and schedulers in Python over NumPy views: the same results as the built-in ones, and errors for misuse."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
import rill
from common import CAPTIONS, Case


def absolute(delta: float) -> Any:
    """A copy of the built-in heuristic `absolute`: drop candidates more than delta below the best."""

    def apply(beams: Any) -> None:
        beams.keep[beams.path_score < beams.best_path_score[beams.items()] - delta] = 0

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
            self.assertIs(beams.path_score.dtype.type, np.float64)
            self.assertEqual(beams.offset.shape, (beams.n + 1,))
            self.assertEqual(beams.path_score.shape, (int(beams.offset[-1]),))
            self.assertTrue(bool((beams.keep == 1).all()))
            self.assertTrue(bool((np.diff(beams.offset) >= 0).all()))
            with self.assertRaises(ValueError):
                beams.path_score[0] = 0  # attributes are read-only
            with self.assertRaises(AttributeError):
                beams.nothing
            seen.update(path_score=beams.path_score, part=beams.path_score[:1], beams=beams, copy=np.array(beams.path_score),
            doubled=beams.path_score * 2)

        self.model.decode(CAPTIONS[:1], heuristic=[apply])
        for use in (
            lambda: seen["path_score"][0],
            lambda: seen["part"][0],
            lambda: seen["path_score"].sum(),
            lambda: seen["path_score"] + 1,
            lambda: np.concatenate([seen["path_score"], seen["part"]]),
            lambda: list(seen["path_score"]),
            lambda: seen["path_score"].tolist(),
            lambda: repr(seen["path_score"]),
            lambda: len(seen["path_score"]),
            lambda: seen["beams"].score,
            lambda: seen["beams"].n,
        ):
            with self.assertRaises(rill.StaleViewError):
                use()
        self.assertTrue(np.isfinite(seen["copy"]).all() and np.allclose(seen["doubled"], seen["copy"] * 2))

    def test_exported_buffers_are_copies(self) -> None:
        """Arrays and buffers made from a view are copies of the engine's memory: they keep their numbers, and changing them changes no
        result."""
        text, other = CAPTIONS[:1], CAPTIONS[1:]
        kept: list[Any] = []

        def apply(beams: Any) -> None:
            if not kept:
                for name in ("path_score", "keep"):
                    view = getattr(beams, name)
                    same = [np.asarray(view), np.frombuffer(view, view.dtype), np.array(view, copy=None), memoryview(view)]
                    kept.extend((np.array(view), one) for one in same)
                    self.assertTrue(all(np.shares_memory(np.asarray(view), np.asarray(one)) for one in same))

        wanted = self.model.decode(text, heuristic=[])
        self.assertEqual(self.model.decode(text, heuristic=apply), wanted)
        self.model.decode(other, k=20)  # this decoding overwrites the engine's memory
        for copy, one in kept:
            self.assertEqual(copy.tolist(), np.asarray(one).tolist())

    def test_read_only_views_stay_read_only(self) -> None:
        def apply(beams: Any) -> None:
            for view in (beams.path_score, beams.path_score[:1], np.asarray(beams.path_score)):
                with self.assertRaises(ValueError):
                    view.setflags(write=True)
                with self.assertRaises(ValueError):
                    view[0] = 0

        self.model.decode(CAPTIONS[:1], heuristic=apply)

    def test_writes_through_other_arrays_count(self) -> None:
        def narrow(beams: Any) -> None:
            np.asarray(beams.width)[:] = 1
            beams.keep[1:] &= 1

        found = self.model.decode(CAPTIONS, heuristic=narrow, max_candidates=1)
        self.assertEqual([r.text for r in found], [r.text for r in self.model.decode(CAPTIONS, k=1, heuristic=[])])

    def test_numbers_that_do_not_fit(self) -> None:
        for name, value in (
            ("width", -1),
            ("width", 2**31),
            ("width", np.int64(2**32 + 1)),
            ("width", np.array([2.0**40])),
            ("width", np.inf),
            ("width", np.nan),
            ("width", 2.5),
            ("width", "5"),
            ("width", None),
            ("keep", np.array([256])),
            ("stop", np.array([-1])),
        ):

            def apply(beams: Any) -> None:
                getattr(beams, name)[:1] = value

            with self.subTest(name=name, value=value), self.assertRaisesRegex(rill.OptionError, "were expected, found"):
                self.model.decode(CAPTIONS[:1], heuristic=apply)

    def test_numbers_that_do_not_fit_in_any_form(self) -> None:
        big = np.int64(2**32)
        for name, write in (
            ("width", lambda beams: np.asarray(beams.width).fill(-1)),
            ("width", lambda beams: np.asarray(beams.width).__setitem__(0, big)),
            ("width", lambda beams: np.copyto(beams.width, big)),
            ("width", lambda beams: np.put(beams.width, [0], big + 1)),
            ("width", lambda beams: np.add(beams.width, big, out=beams.width)),
            ("width", lambda beams: beams.width.__iadd__(big)),
            ("width", lambda beams: beams.width.__isub__(2**31)),
            ("width", lambda beams: memoryview(beams.width).__setitem__(0, -1)),
            ("width", lambda beams: beams.width[:1].fill(2**31)),
            ("keep", lambda beams: np.asarray(beams.keep).fill(256)),
            ("keep", lambda beams: beams.keep.__isub__(2)),
            ("stop", lambda beams: np.copyto(beams.stop, 256)),
        ):

            def apply(beams: Any) -> None:
                write(beams)

            with self.subTest(name=name, write=write), self.assertRaisesRegex(rill.OptionError, f"^{name}: whole numbers from 0 to"):
                self.model.decode(CAPTIONS[:1], heuristic=apply)

    def test_a_width_and_a_stop(self) -> None:
        def narrow(beams: Any) -> None:
            beams.width[:] = 1

        greedy = self.model.decode(CAPTIONS, heuristic=narrow, max_candidates=1)
        self.assertEqual([r.text for r in greedy], [r.text for r in self.model.decode(CAPTIONS, k=1, heuristic=[])])

        def stop(beams: Any) -> None:
            beams.stop[beams.timestep >= 2] = 1

        self.assertTrue(all(result.best.finish_reason == "heuristic" for result in self.model.decode(CAPTIONS, heuristic=stop)))

    def test_exceptions_propagate(self) -> None:
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

        def ban(rows: Any, modifiers: Any) -> None:
            modifiers.ban(np.arange(rows.n), dog)

        mine = self.model.decode([text], scorer=ban)[0]
        self.assertNotIn(dog, mine.best.ids)
        self.assertEqual(mine.best, self.model.decode([text], scorer="ban:dog")[0].best)

        paths: set[tuple[int, ...]] = set()

        def favour(rows: Any, modifiers: Any) -> None:
            for row in range(rows.n):
                self.assertEqual(rows.text(row), text)
                self.assertEqual(len(rows.path(row)), int(rows.timestep[row]))
                paths.add(tuple(rows.path(row).tolist()))
                modifiers.add(row, self.model.token_to_id("</s>"), -1.0)

        found = self.model.decode([text], scorer=favour)[0].best
        self.assertAlmostEqual(found.path_score, found.logp - 1, places=4)
        ids = tuple(found.ids)
        self.assertGreater(len(set(ids)), 3)
        self.assertLessEqual({ids[:n] for n in range(len(ids))}, paths)  # oldest item first

    def test_state_follows_hypotheses(self) -> None:
        class Counts:
            state_type = np.dtype([("length", np.int32)])

            def __call__(self, rows: Any, modifiers: Any) -> None:
                state = rows.state
                first = np.array(rows.timestep) == 0
                state["length"][:] = np.where(first, 0, state["length"] + 1)
                lengths = [len(rows.path(row)) for row in range(rows.n)]
                assert lengths == state["length"].tolist(), (lengths, state["length"].tolist())

        self.assertTrue(self.model.decode(CAPTIONS[:3], scorer=Counts())[0].ok)

        class Plain(Counts):
            state_type = np.int32

            def __call__(self, rows: Any, modifiers: Any) -> None:
                rows.state[:] = np.where(np.array(rows.timestep) == 0, 0, rows.state + 1)
                assert [len(rows.path(row)) for row in range(rows.n)] == rows.state.tolist()

        self.assertTrue(self.model.decode(CAPTIONS[:3], scorer=Plain())[0].ok)

    def test_views_are_stale_after_their_call(self) -> None:
        seen: list[Any] = []

        def look(rows: Any, modifiers: Any) -> None:
            if not seen:
                seen.extend((rows, modifiers, rows.path_score, rows.item_id[:1], np.asarray(rows.path_score), np.array(rows.path_score),
                rows.path(0)))

        wanted = self.model.decode(CAPTIONS[:1])
        self.assertEqual(self.model.decode(CAPTIONS[:1], scorer=look), wanted)
        rows, modifiers, score, part, *copies = seen
        for number, use in enumerate((
            lambda: rows.n,
            lambda: rows.path_score,
            lambda: rows.text(0),
            lambda: rows.path(0),
            lambda: rows.state,
            lambda: rows.actions,
            lambda: rows.end_action,
            lambda: modifiers.ban(0, 5),
            lambda: modifiers.add(0, 5, 1.0),
            lambda: modifiers.allow_none(0),
            lambda: modifiers.refuse(0, "no"),
            lambda: modifiers.end(0),
            lambda: modifiers.reward(0, 1.0),
            lambda: modifiers.end_reward(0, 1.0),
            lambda: modifiers.limit(0, 1),
            lambda: score[0],
            lambda: score.sum(),
            lambda: np.add(1.0, score),
            lambda: score == 0,
            lambda: part.item(),
        )):
            with self.subTest(use=number), self.assertRaises(rill.StaleViewError):
                use()
        self.assertEqual([copy.tolist() for copy in copies], [[0.0], [0.0], []])

    def test_numbers_that_do_not_fit(self) -> None:
        text, whole = CAPTIONS[:1], 2**32 + 8
        for number in (whole, -(2**32) + 8, 2**63, 2**70, 8.5, np.int64(whole), np.array([8, whole]), "8", None):
            for method in ("ban", "allow", "add", "scale"):
                for row, action in ((0, number), (number, 8)):

                    def apply(rows: Any, modifiers: Any) -> None:
                        getattr(modifiers, method)(row, action, *([1.0] if method in ("add", "scale") else []))

                    with self.subTest(method=method, row=row, action=action), self.assertRaisesRegex(rill.OptionError, "whole numbers"):
                        self.model.decode(text, scorer=apply)
        for call in (
            lambda rows, modifiers: modifiers.allow_none(2**32),
            lambda rows, modifiers: modifiers.end(2**32, forbidden=True),
            lambda rows, modifiers: modifiers.reward(2**32, 1.0),
            lambda rows, modifiers: modifiers.end_reward(2**32, 1.0),
            lambda rows, modifiers: modifiers.limit(0, 2**32 + 1),
            lambda rows, modifiers: modifiers.refuse(2**32, "no"),
        ):
            with self.assertRaises(OverflowError):
                self.model.decode(text, scorer=call)
        for call in (
            lambda rows, modifiers: modifiers.add(0, 8, "1.5"),
            lambda rows, modifiers: modifiers.add(0, 8, None),
            lambda rows, modifiers: modifiers.scale(0, 8, True),
            lambda rows, modifiers: modifiers.limit(0, np.float32(2.5)),
            lambda rows, modifiers: modifiers.limit(0, "2"),
            lambda rows, modifiers: modifiers.allow_none(0.0),
            lambda rows, modifiers: modifiers.end(0, forbidden="no"),
            lambda rows, modifiers: modifiers.reward(0, "1"),
            lambda rows, modifiers: modifiers.end_reward("0", 1.0),
            lambda rows, modifiers: modifiers.refuse(0, 3),
            lambda rows, modifiers: rows.text(0.0),
            lambda rows, modifiers: rows.path("0"),
        ):
            with self.assertRaises(TypeError):
                self.model.decode(text, scorer=call)
        with self.assertRaisesRegex(rill.OptionError, "why: there is a NUL"):
            self.model.decode(text, scorer=lambda rows, modifiers: modifiers.refuse(0, "a\0b"))

    def test_misuse(self) -> None:
        for wrong in (
            lambda rows, modifiers: modifiers.ban(rows.n, 0),
            lambda rows, modifiers: modifiers.ban(0, 10**6),
            lambda rows, modifiers: rows.text(rows.n),
            lambda rows, modifiers: rows.state,
        ):
            with self.assertRaises((rill.Error, IndexError, AttributeError)):
                self.model.decode(CAPTIONS[:1], scorer=wrong)
        refused = self.model.decode(CAPTIONS[:1], scorer=lambda rows, modifiers: modifiers.refuse(0, "not this one"))[0]
        self.assertIn("not this one", str(refused.error))


class Schedulers(Case):
    def test_no_scheduler_changes_an_answer(self) -> None:
        class Newest:
            def choose(self, flight: Any) -> Any:
                return np.argsort(-flight.timestep, kind="stable")

            def refill(self, flight: Any) -> int:
                return int(flight.max_items - flight.n)

        wanted = self.model.decode(CAPTIONS)
        self.assertEqual(self.model.decode(CAPTIONS, scheduler=Newest()), wanted)

        class Wrong(Newest):
            def choose(self, flight: Any) -> Any:
                return [0, 0]

        with self.assertRaisesRegex(ValueError, "each once"):
            self.model.decode(CAPTIONS, scheduler=Wrong())
        with self.assertRaises(rill.OptionError):
            self.model.decode(CAPTIONS, scheduler=lambda flight: [])
        for name, value, kind in (
            ("choose", [0.0], TypeError),
            ("choose", ["0"], TypeError),
            ("choose", [2**32], ValueError),
            ("choose", [-1], ValueError),
            ("choose", None, TypeError),
            ("refill", 1.5, TypeError),
            ("refill", "1", TypeError),
            ("refill", None, TypeError),
            ("refill", 2**32 + 1, OverflowError),
        ):
            scheduler = Newest()
            setattr(scheduler, name, lambda flight: value)
            with self.subTest(name=name, value=value), self.assertRaises(kind):
                self.model.decode(CAPTIONS[:2], scheduler=scheduler)
        seen: list[Any] = []
        scheduler = Newest()
        scheduler.refill = lambda flight: seen.append((flight, flight.item_id)) or 1  # type: ignore[method-assign,func-returns-value]
        self.assertEqual(self.model.decode(CAPTIONS[:2], scheduler=scheduler), wanted[:2])
        for use in (lambda: seen[0][0].n, lambda: seen[0][0].width, lambda: seen[-1][1].tolist()):
            with self.assertRaises(rill.StaleViewError):
                use()


if __name__ == "__main__":
    unittest.main()
