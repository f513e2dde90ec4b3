#!/usr/bin/env python3
"""Concurrent requests to `rill serve` with random settings. Each must get the same response, to the last digit, as when it is sent
alone, or the same error message. For a longer test by hand: --n 1000.

usage: serve_mixed_requests.py RILL SOURCE_ROOT [--n REQUESTS] [--seed S]
"""

import argparse
import http.client
import os
import random
import sys
from concurrent.futures import ThreadPoolExecutor

from rill_server import RACES, Server, check, finish

sys.path.insert(0, os.path.join(sys.argv[2], "tests", "support"))
import random_requests  # noqa: E402

AT_ONCE = 6


def draw_request(rng, model, lines, text, values):
    """Draw a request of one or two inputs. Constraints and glossaries use words that the model knows."""
    request = {"model": model, "inputs": rng.sample(lines, rng.choice([1, 1, 2])), "options": random_requests.draw(rng, values),
               "tokens": rng.random() < 0.5}
    if rng.random() < 0.25:
        request["constraints"] = f"{rng.choice(['require', 'ban', 'allow', 'prefix'])}:{rng.choice(text)}"
    elif model.startswith("de") and rng.random() < 0.15:
        request["glossary"] = {rng.choice(["Hund", "Mann", "Frau"]): rng.choice(text)}
    if rng.random() < 0.2:
        request["timeout"] = 600
    if model.startswith("de") and rng.random() < 0.1:
        request["split"] = "sentences"
    return request


def answer(server, request):
    try:
        return server.decode(**request)
    except (OSError, http.client.HTTPException) as error:
        return 0, f"no answer: {error}"


def mix(server, pool, rng, model, *drawn):
    """Send requests concurrently, then one after the other. Return the timesteps of both, and how many requests succeeded."""
    requests = [draw_request(rng, model, *drawn) for _ in range(AT_ONCE)]
    counts = [server.counts_of(model)["timesteps_total"]]
    together = list(pool.map(lambda request: answer(server, request), requests))
    counts.append(server.counts_of(model)["timesteps_total"])
    for request, found in zip(requests, together):
        alone = answer(server, request)
        check(found == alone, f"{request}\n  together {found}\n  alone    {alone}")
        check(found[0] in (200, 400, 422), f"{request}: {found}")
    counts.append(server.counts_of(model)["timesteps_total"])
    return counts[1] - counts[0], counts[2] - counts[1], sum(code == 200 for code, _ in together)


READING = {"input-format", "tokenized"}  # how inputs are read: an option of the model, not of the search


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("rill")
    parser.add_argument("root")
    parser.add_argument("--n", type=int, default=4 if RACES else 24)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    models = [os.path.join(given.root, "examples", "models", name) for name in random_requests.MODELS]
    for options in (["--workers", "1"], ["--workers", "2"]):
        totals = [0, 0, 0]
        with Server("--cache-size", "0", *options, models=models) as server, ThreadPoolExecutor(AT_ONCE) as pool:
            known = server.request("GET", "/openapi.json")[1]["components"]["schemas"]["Options"]["properties"].keys()
            known = {name.replace("_", "-") for name in known} - READING
            undrawn = known - random_requests.OF_REQUESTS.keys()
            check(not undrawn, f"settings that are never drawn: {undrawn}")
            values = {name: random_requests.OF_REQUESTS[name] for name in known}
            for i in range(given.n // 2):
                rng = random.Random(given.seed * 1000003 + i)
                model = random_requests.MODELS[i % len(random_requests.MODELS)]
                drawn = random_requests.lines_of(given.root, model), random_requests.WORDS[model], values
                totals = [a + b for a, b in zip(totals, mix(server, pool, rng, model, *drawn))]
        check(server.code == 0, server.log)
        check(totals[0] < 0.9 * totals[1], f"requests shared timesteps: {totals}")
        check(totals[2] * 3 > given.n // 2 * AT_ONCE, f"enough are answered: {totals}")
        print(f"{' '.join(options)}: {given.n // 2} mixes, {totals[2]} answered, timesteps together {totals[0]:.0f}, alone {totals[1]:.0f}")
    return finish()


sys.exit(main())
