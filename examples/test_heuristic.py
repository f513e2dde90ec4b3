"""A heuristic in Python, and its tests in plain unittest: copy the file and put your own heuristic in it.

    pip install '.[numpy]'
    python examples/test_heuristic.py

The first class tests the function alone, on beams made by hand: a heuristic needs only the attributes that it reads. The second class tests
it in a search. pytest runs the same file.
"""

import pathlib
import types
import unittest

import numpy as np
import rill

MODEL = pathlib.Path(__file__).parent / "models" / "de-en"
TEXTS = (pathlib.Path(__file__).parent / "questions" / "de-en.txt").read_text().splitlines()
LIMIT = 1.0


def gap(candidates):
    """Drop an item's candidates after its first gap in path_score that is larger than LIMIT."""
    for i in range(candidates.n):
        first, end = candidates.offset[i], candidates.offset[i + 1]
        gaps = np.flatnonzero(-np.diff(candidates.path_score[first:end]) > LIMIT)
        if gaps.size:
            candidates.keep[first + gaps[0] + 1 : end] = 0


def kept(*beams):
    """Return the places in each beam that the heuristic keeps. beams: lists of path_scores, best first."""
    scores = np.array([score for beam in beams for score in beam])
    candidates = types.SimpleNamespace(
        n=len(beams), offset=np.cumsum([0, *map(len, beams)]), path_score=scores, keep=np.ones(len(scores), np.int64)
    )
    gap(candidates)
    return [np.flatnonzero(one).tolist() for one in np.split(candidates.keep, candidates.offset[1:-1])]


class Alone(unittest.TestCase):
    def test_a_gap_ends_the_beam(self):
        self.assertEqual(kept([-1.0, -1.5, -3.0, -3.1]), [[0, 1]])

    def test_a_gap_of_the_limit_does_not(self):
        self.assertEqual(kept([-1.0, -2.0, -3.0]), [[0, 1, 2]])

    def test_one_candidate_and_none(self):
        self.assertEqual(kept([-7.0], []), [[0], []])

    def test_items_are_apart(self):
        self.assertEqual(kept([-1.0, -9.0], [-20.0, -20.5]), [[0], [0, 1]])


class InASearch(unittest.TestCase):
    def test_outputs_do_not_depend_on_the_batch(self):
        with rill.Model(MODEL) as model:
            one, many = (model.decode(TEXTS, heuristic=gap, beam_size=5, batch_size=n) for n in (1, 16))
        self.assertEqual([result.text for result in one], [result.text for result in many])

    def test_it_prunes(self):
        expansions = []
        with rill.Model(MODEL) as model:
            for heuristic in ([], gap):
                with model.stream(TEXTS, heuristic=heuristic, beam_size=5) as stream:
                    self.assertTrue(all(next(stream).ok for _ in TEXTS))
                    expansions.append(stream.stats["expansions"])  # read before the stream ends, since the end closes it
        self.assertLess(expansions[1], expansions[0])


if __name__ == "__main__":
    unittest.main()
