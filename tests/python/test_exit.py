"""The interpreter exits while threads are decoding. Each case runs in a process of its own, which must end without messages."""

from __future__ import annotations

import os
import subprocess
import sys
import unittest

from common import MODELS

BEGIN = f"""
import asyncio, atexit, itertools, os, signal, sys, threading, time
at = [0.0]
atexit.register(lambda: time.monotonic() - at[0] > 4 and print("the end took as long as it may when nothing can be stopped"))
import rill
atexit.register(lambda: at.__setitem__(0, time.monotonic()))
path = {str(MODELS / "de-en")!r}
model = rill.Model(path, workers=int(os.environ.get("RILL_TEST_WORKERS", "1")))
line = "Ein Hund läuft über die Wiese."
slow = dict(k=30, method="fixed")
begun = threading.Event()
def lines(n=10**6):
    for i in range(n):
        if i == 20: begun.set()
        yield line
def decode(model=model, **more): model.decode(lines(), **slow, **more)
def stream(model=model):
    for result in model.stream(lines(), **slow): pass
def many():
    while True: model.decode([line] * 3, **slow); begun.set()
def requests(): model.decode((rill.Request(text, n_best=2, timeout=60) for text in lines()), **slow)
async def results(inputs):
    async for result in model.stream(inputs, **slow): pass
async def later():
    for text in lines():
        await asyncio.sleep(0)
        yield text
def start(*functions, daemon=True):
    for function in functions: threading.Thread(target=function, daemon=daemon).start()
    begun.wait()
"""

SPELLER = """
import numpy as np
class Speller(rill.Domain):
    name, actions, end_action, max_length = "speller", 27, 0, 40
    def encode(self, text, slot): pass
    def step(self, rows): pass
    def score(self, rows): return np.full((rows.n, 27), -3.2958)
    def text(self, actions, slot): return "x"
speller = rill.Model(domain=Speller())
"""

FORK = "left = model.stream(lines()); next(left)\nchild = os.fork()\nif child: assert os.waitpid(child, 0)[1] == 0\n"

# Name -> the program of a process. Its exit code must be 0, unless another code precedes the name.
KINDS = {
    "decode": "start(decode)",
    "stream": "start(stream)",
    "many calls": "start(many)",
    "requests": "start(requests)",
    "two threads, one model": "start(decode, stream)",
    "several models": "other = rill.Model(path); start(decode, lambda: decode(other), lambda: stream(rill.Model(path)))",
    "async": "start(lambda: asyncio.run(results(lines())))",
    "async generator": "start(lambda: asyncio.run(results(later())))",
    "heuristic": "start(lambda: model.decode(lines(), heuristic=lambda beams: None))",
    "heuristic that sleeps": "start(lambda: model.decode(lines(), heuristic=lambda beams: time.sleep(0.2)))",
    "scorer": "start(lambda: decode(scorer=lambda rows, modifiers: modifiers.add(0, 5, -1.0)))",
    "trace": "start(lambda: [None for _ in model.stream(lines(), trace=lambda event: None)])",
    "domain": SPELLER + "start(lambda: speller.decode(lines()))",
    "model being opened": "begun.set(); start(lambda: [rill.Model(path) for _ in range(10**6)])",
    "stream left open": "left = model.stream(lines()); next(left)",
    "decoding at exit": "atexit.register(lambda: model.decode([line])); start(decode)",
    "fork": "start(decode)\nchild = os.fork()\nif child: assert os.waitpid(child, 0)[1] == 0",
    "fork with a stream": FORK,
    # If the child hangs, its alarm ends it.
    "fork, the child drops the stream": FORK + "else: signal.alarm(60); del left",
    "fork, the child drops all": FORK + "else:\n signal.alarm(60)\n del left\n model.decode([line])\n model.close()\n del model",
    "sys.exit in a thread": "def leave():\n for _ in zip(range(30), model.stream(lines())): pass\n sys.exit(3)\nstart(leave, daemon=False)",
    "3 sys.exit": "start(decode); sys.exit(3)",
    "interrupt": "start(decode)\ntry: os.kill(os.getpid(), signal.SIGINT); time.sleep(60)\nexcept KeyboardInterrupt: pass",
}
WITH_WORKERS = ("decode", "stream", "many calls", "requests", "several models", "async", "stream left open", "decoding at exit", "fork",
                "fork with a stream", "fork, the child drops the stream", "fork, the child drops all", "3 sys.exit",
                "interrupt")
TIMES = int(os.environ.get("RILL_TEST_EXITS", "1"))


class Exit(unittest.TestCase):
    def test_quiet(self) -> None:
        cases = [(name, 1) for name in KINDS] + [(name, 2) for name in WITH_WORKERS]
        for name, workers in cases * TIMES:
            code = int(name[0]) if name[0].isdigit() else 0
            with self.subTest(kind=name, workers=workers):
                environment = {**os.environ, "RILL_TEST_WORKERS": str(workers)}
                # SIGINT may be ignored where this test runs, as in a background job.
                script = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)" + BEGIN + KINDS[name] + "\n"
                run = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=120)
                self.assertEqual((run.returncode, run.stderr, run.stdout), (code, "", ""))


if __name__ == "__main__":
    unittest.main()
