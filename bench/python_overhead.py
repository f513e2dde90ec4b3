"""Alternating runs of the command and of Python; see python_overhead.sh.

usage: python_overhead.py RILL MODEL INPUTS ROUNDS THREADS WORKERS
"""

import statistics
import subprocess
import sys
import time

PROGRAM = """
import sys, rill
model = rill.Model(sys.argv[1], threads=int(sys.argv[3]), workers=int(sys.argv[4]))
with open(sys.argv[2], encoding="utf-8") as lines:
    for result in model.stream(lines, k=5, heuristic=HEURISTIC, max_candidates=5):
        print(result.text)
"""
IN_PYTHON = """
def absolute(candidates):
    candidates.keep[candidates.path_score < candidates.best_path_score[candidates.items()] - 1.5] = 0
"""


def main():
    rill, model, inputs, rounds, threads, workers = sys.argv[1:]
    threads_options = ["--threads", threads, "--workers", workers]
    options = ["-k", "5", "--heuristic", "absolute:1.5", "--max-candidates", "5"]
    given = [model, inputs, threads, workers]
    runs = {
        "command": [rill, "decode", "--quiet", "-m", model, "-i", inputs, *threads_options, *options],
        "python": [sys.executable, "-c", PROGRAM.replace("HEURISTIC", '"absolute:1.5"'), *given],
        "python, heuristic in Python": [sys.executable, "-c", IN_PYTHON + PROGRAM.replace("HEURISTIC", "absolute"), *given],
    }
    seconds, outputs = {name: [] for name in runs}, {}
    for i in range(int(rounds) + 1):  # the first round is not counted
        for name, command in runs.items():
            begin = time.monotonic()
            outputs[name] = subprocess.run(command, capture_output=True, check=True).stdout
            if i:
                seconds[name].append(time.monotonic() - begin)
    if len(set(outputs.values())) != 1:
        sys.exit("python: the runs give different outputs")
    print(f"{'':30} {'seconds':>8} {'least':>7} {'most':>7}  ratio to the command, median of rounds (least to most)")
    for name, times in seconds.items():
        ratios = [mine / theirs for mine, theirs in zip(times, seconds["command"])]
        spread = f"{statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})"
        print(f"{name:30} {statistics.median(times):8.3f} {min(times):7.3f} {max(times):7.3f}  {spread}")


main()
