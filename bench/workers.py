#!/usr/bin/env python3
"""One worker, two workers, and two threads inside operations, in turn, on test_2016_flickr with the German-English model.

usage: workers.py [--rill build/rill] [--data DIR] [--rounds R] [--busy] [--against RILL]
--busy keeps one of the processors at work with something else; --against adds an older rill with one thread and with two.
Ratios are medians over the rounds of seconds of one worker by seconds of the other; more than 1 is faster than one worker.
"""

import argparse
import os
import statistics
import subprocess
import time

SEARCHES = {"stream-all": "--method stream-all -k 5 --absolute 1.5 --max-candidates 5", "fixed": "--method fixed -k 5"}


def seconds(command, source):
    start = time.monotonic()
    with open(source, encoding="utf-8") as inputs:
        subprocess.run(command.split(), stdin=inputs, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.monotonic() - start


def measure(args, search, weights, source):
    common = f"decode -q -m examples/models/de-en --weights {weights} {SEARCHES[search]}"
    ways = {"1 worker": f"{args.rill} {common} --workers 1 --threads 1",
            "2 workers": f"{args.rill} {common} --workers 2 --threads 1",
            "2 threads": f"{args.rill} {common} --workers 1 --threads 2"}
    if args.against:
        ways["older, 1 thread"] = f"{args.against} {common} --threads 1"
        ways["older, 2 threads"] = f"{args.against} {common} --threads 2"
    taken = {name: [] for name in ways}
    for _ in range(args.rounds):
        for name, command in ways.items():
            taken[name].append(seconds(command, source))
    for name, all_of in taken.items():
        ratio = statistics.median(one / other for one, other in zip(taken["1 worker"], all_of))
        print(f"{search:12}{weights:6}{name:18}{statistics.median(all_of):8.2f} s{ratio:7.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rill", default="build/rill")
    parser.add_argument("--data", default=os.environ.get("RILL_DATA", "../shared/data"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--busy", action="store_true")
    parser.add_argument("--against")
    args = parser.parse_args()
    source = os.path.join(args.data, "mt/multi30k/test_2016_flickr.de")
    if not os.path.exists(source):
        print(f"workers: nothing to measure: {source} is not there")
        return
    print(f"{os.cpu_count()} processors, {args.rounds} rounds in turn{', one processor kept busy' if args.busy else ''}")
    other = subprocess.Popen(["taskset", "-c", "1", "sh", "-c", "while :; do :; done"]) if args.busy else None
    try:
        for weights in ("f32", "int8"):
            for search in SEARCHES:
                measure(args, search, weights, source)
    finally:
        if other:
            other.kill()


if __name__ == "__main__":
    main()
