#!/usr/bin/env python3
"""One worker, two workers, two threads inside operations, and two processes with half of the lines each, in turn, on
test_2016_flickr with the German-English model. Two processes share nothing: they show the machine's limit.

usage: worker_scaling.py [--rill build/rill] [--data DIR] [--rounds R] [--copies C] [--busy] [--against RILL]
--busy keeps one processor busy; --against adds an older rill with one thread and with two.
Ratios are medians over the rounds of seconds of one worker by seconds of the other; more than 1 is faster than one worker.
"""

import argparse
import os
import statistics
import subprocess
import tempfile
import time

SEARCHES = {"stream-all": "--method stream-all -k 5 --absolute 1.5 --max-candidates 5", "fixed": "--method fixed -k 5"}


def seconds(command, sources):
    """Run the command on all of the sources at the same time; return the seconds."""
    start = time.monotonic()
    running = []
    for source in sources:
        with open(source, encoding="utf-8") as inputs:
            running.append(subprocess.Popen(command.split(), stdin=inputs, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    if any([process.wait() for process in running]):
        raise SystemExit(f"workers: {command}: it failed")
    return time.monotonic() - start


def write_inputs(folder, source, copies):
    """Write the lines as often as requested, to one file and, alternating, to two files."""
    with open(source, encoding="utf-8") as text:
        lines = text.readlines() * copies
    parts = {"all": lines, "even": lines[0::2], "odd": lines[1::2]}
    for name, part in parts.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as out:
            out.writelines(part)
    return [os.path.join(folder, name) for name in parts]


def measure(args, search, weights, whole, halves):
    common = f"decode -q -m examples/models/de-en --weights {weights} {SEARCHES[search]}"
    one = f"{args.rill} {common} --workers 1 --threads 1"
    ways = {"1 worker": (one, whole), "2 workers": (f"{args.rill} {common} --workers 2 --threads 1", whole),
            "2 threads": (f"{args.rill} {common} --workers 1 --threads 2", whole), "2 processes": (one, halves)}
    if args.against:
        ways["older, 1 thread"] = (f"{args.against} {common} --threads 1", whole)
        ways["older, 2 threads"] = (f"{args.against} {common} --threads 2", whole)
    taken = {name: [] for name in ways}
    for _ in range(args.rounds):
        for name, way in ways.items():
            taken[name].append(seconds(*way))
    for name, all_of in taken.items():
        ratio = statistics.median(one / other for one, other in zip(taken["1 worker"], all_of))
        print(f"{search:12}{weights:6}{name:18}{statistics.median(all_of):8.2f} s{ratio:7.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rill", default="build/rill")
    parser.add_argument("--data", default=os.environ.get("RILL_DATA", "../shared/data"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--copies", type=int, default=2, help="so many times the lines are decoded")
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
        with tempfile.TemporaryDirectory() as folder:
            whole, *halves = write_inputs(folder, source, args.copies)
            for weights in ("f32", "int8"):
                for search in SEARCHES:
                    measure(args, search, weights, [whole], halves)
    finally:
        if other:
            other.kill()


if __name__ == "__main__":
    main()
