#!/usr/bin/env python3
"""The time budgets of the parts of bench/gpu.py, on a clock that only the test moves: every part gets time, however long the others take.

usage: gpu_budgets.py FOLDER_OF_GPU_PY
"""

import os
import sys
import tempfile
import types

sys.path.insert(0, sys.argv[1])
import gpu  # noqa: E402


def budgets(parts, use):
    """Return the seconds that each part could use, if it uses use(part, budget)."""
    clock = [1000.0]
    gpu.time = types.SimpleNamespace(monotonic=lambda: clock[0])
    with tempfile.TemporaryDirectory() as out:
        args = types.SimpleNamespace(seconds=570.0, build=out, out=out, earlier=None, device="cuda-host", tiny=True, table=True,
                                     types=["bf16"])
        bench, given = gpu.Bench(args), {}
        for i, part in enumerate(parts):
            bench.begin(part, parts[i + 1:])
            given[part] = bench.left()
            clock[0] += use(part, given[part])
        bench.log.close()
    return given, clock[0] - 1000.0


def check(condition, what):
    if not condition:
        sys.exit(what)


greedy, used = budgets(gpu.PARTS, lambda part, budget: budget)
check(abs(used - 570) < 1e-6, f"all parts together take {used} s of 570")
check(greedy["peer"] > 80 and greedy["times"] > 120, f"times and peer: {greedy}")
check(min(greedy.values()) > 15, f"a part starves: {greedy}")
frugal, _ = budgets(gpu.PARTS, lambda part, budget: budget if part in ("times", "peer") else 1.0)
check(frugal["peer"] > greedy["peer"] and frugal["racecheck"] > greedy["racecheck"], f"what is left is lost: {frugal}")
alone, _ = budgets(("peer",), lambda part, budget: budget)
check(alone["peer"] == 570, f"a part alone has all the time: {alone}")
