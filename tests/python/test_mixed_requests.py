"""Random requests with settings of their own give the same results together and alone. RILL_TEST_MIXED_REQUESTS: the number of requests."""

from __future__ import annotations

import os
import random
import sys
import unittest

import rill

from common import MODELS, ROOT

sys.path.insert(0, str(ROOT / "tests" / "support"))
import random_requests  # noqa: E402

AT_ONCE = 8
SCORERS = ["require", "ban"]
# it is an option of the run, not of a request
VALUES = {name: values for name, values in random_requests.OF_REQUESTS.items() if name != "unknown-penalty"}


def draw(rng: random.Random, model: str, lines: list[str]) -> rill.Request:
    settings = {name.replace("-", "_"): value for name, value in random_requests.draw(rng, VALUES).items()}
    arguments = {rng.choice(SCORERS): rng.choice(random_requests.WORDS[model])} if rng.random() < 0.25 else {}
    return rill.Request(rng.choice(lines), arguments=arguments, **settings)


def alone(model: rill.Model, place: int, rng: random.Random, name: str, lines: list[str]) -> tuple[rill.Request, rill.Result]:
    """Draw a valid request and decode it alone. `place`: its input number, which its samples depend on."""
    while True:
        request = draw(rng, name, lines)
        try:
            return request, model.decode([""] * place + [request], scorer=SCORERS)[place]
        except rill.OptionError:
            continue


class MixedRequests(unittest.TestCase):
    def test_together_as_alone(self) -> None:
        n, answered = int(os.environ.get("RILL_TEST_MIXED_REQUESTS", "24")), 0
        for name in random_requests.MODELS:
            lines = random_requests.lines_of(str(ROOT), name)
            with rill.Model(MODELS / name) as model, rill.Model(MODELS / name, workers=2) as shared:
                for seed in range(0, n, len(random_requests.MODELS)):
                    rng = random.Random(seed)
                    requests, expected = zip(*(alone(model, place, rng, name, lines) for place in range(AT_ONCE)))
                    answered += sum(result.ok for result in expected)
                    for opened in (model, shared):
                        schedule = {"n": rng.choice([1, 3, 8]), "budget": rng.choice([0, 7, 20])}
                        found = opened.decode(requests, scorer=SCORERS, **schedule)
                        for request, one, other in zip(requests, found, expected):
                            self.assertEqual(repr(one), repr(other), f"{name} {seed} {schedule}: {request.text} {request.settings}")
        self.assertGreater(answered, n)
