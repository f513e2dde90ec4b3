#!/usr/bin/env python3
"""Speed of two builds of rill on the shipped models, in alternating runs: the older one's seconds over the newer one's.

usage: compare_builds.py OLDER [--rill build/rill] [--data DIR] [--rounds R] [--threads T] [--workers W] [--only WORD] [--clock wall|cpu]
               [--busy]
OLDER runs with --threads T times W, the newer one with --threads T and, where W is not 1, --workers W.
A ratio above 1: the newer build is faster. It is the median over the rounds, followed by the minimum and the maximum.
--clock cpu measures processor time, which other load disturbs less; --busy keeps one processor busy.
"""

import argparse
import os
import statistics
import subprocess
import tempfile
import time

PRUNED = "--method stream-all -k {k} --absolute 1.5 --max-candidates 5"
SEARCHES = {"greedy": "--method fixed -k 1", "fixed": "--method fixed -k {k}", "stream-all": PRUNED}
DE = "mt/multi30k/test_2016_flickr.de"

# name, model and its options, inputs, lines, repetitions, k, searches
CASES = [
    ("geo", "geo", "--tokenized", "semparse/geo/test.tsv", 280, 4, 5, "greedy fixed stream-all"),
    ("jobs", "jobs", "--tokenized", "semparse/jobs/test.tsv", 140, 8, 5, "greedy fixed stream-all"),
    ("atis", "atis", "--tokenized", "semparse/atis/test.tsv", 448, 2, 5, "greedy fixed stream-all"),
    ("de-en f32", "de-en", "", DE, 1000, 1, 5, "greedy fixed stream-all"),
    ("de-en int8", "de-en", "--weights int8", DE, 1000, 1, 5, "greedy fixed stream-all"),
    ("de-en bf16", "de-en", "--weights bf16", DE, 500, 1, 5, "fixed"),
    ("de-en f32 k50", "de-en", "", DE, 200, 1, 50, "fixed stream-all"),
    ("de-en int8 k50", "de-en", "--weights int8", DE, 200, 1, 50, "fixed stream-all"),
    ("gum", "gum", "", "treebank/gum/test.ptb", 100000, 1, 10, "greedy fixed stream-all"),
]


def lines_of(path, max_lines, copies):
    with open(path, encoding="utf-8") as source:
        lines = [line.rstrip("\n").split("\t")[0] for line in source][:max_lines]
    return "".join(line + "\n" for line in lines) * copies


def seconds(command, path, clock):
    start = time.monotonic()
    with open(path, encoding="utf-8") as inputs:
        running = subprocess.Popen(command.split(), stdin=inputs, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(running.pid, 0)
    if status != 0:
        raise SystemExit(f"pair: {command}: it failed")
    running.returncode = 0
    return usage.ru_utime + usage.ru_stime if clock == "cpu" else time.monotonic() - start


def measure(args, name, search, command, path):
    older = f"{args.older} {command} --threads {args.threads * args.workers}"
    newer = f"{args.rill} {command} --threads {args.threads}" + (f" --workers {args.workers}" if args.workers > 1 else "")
    taken = [(seconds(older, path, args.clock), seconds(newer, path, args.clock)) for _ in range(args.rounds)]
    ratios = [old / new for old, new in taken]
    print(f"{name:16}{search:12}{statistics.median(t[0] for t in taken):8.2f}{statistics.median(t[1] for t in taken):8.2f}"
          f"{statistics.median(ratios):8.2f}{min(ratios):8.2f}{max(ratios):6.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("older")
    parser.add_argument("--rill", default="build/rill")
    parser.add_argument("--data", default=os.environ.get("RILL_DATA", "../shared/data"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall")
    parser.add_argument("--busy", action="store_true")
    args = parser.parse_args()
    print(f"{os.cpu_count()} processors, {args.rounds} rounds in turn, threads {args.threads}, workers {args.workers}, {args.clock} clock"
          f"{', one processor kept busy' if args.busy else ''}")
    print(f"{'model':16}{'search':12}{'older s':>8}{'newer s':>8}{'ratio':>8}{'least':>8}{'most':>6}")
    other = subprocess.Popen(["taskset", "-c", "1", "sh", "-c", "while :; do :; done"]) if args.busy else None
    try:
        for name, model, options, source, max_lines, copies, k, searches in CASES:
            path = os.path.join(args.data, source)
            if args.only not in name or not os.path.exists(path):
                continue
            with tempfile.NamedTemporaryFile("w", encoding="utf-8") as inputs:
                inputs.write(lines_of(path, max_lines, copies))
                inputs.flush()
                for search in searches.split():
                    command = f"decode -q -m examples/models/{model} {options} {SEARCHES[search].format(k=k)}"
                    measure(args, name, search, command, inputs.name)
    finally:
        if other:
            other.kill()


if __name__ == "__main__":
    main()
