#!/usr/bin/env python3
"""Time until the n-th line of a long file is written, in order, by method.

usage: output_latency.py [--rill build/rill] [--data DIR] [--copies C] [--rounds R] [--model M] [OPTION...]
The lines are test_2016_flickr's, C times over; OPTIONs go to rill decode. Figures are medians over the rounds, in seconds.
"""

import argparse
import os
import statistics
import subprocess
import tempfile
import time

METHODS = ["var-batch", "var-stream", "var-stream-fifo", "top-up", "stream-all"]
MARKS = [1, 10, 100, 300, 1000, 3000]


def arrivals(command, path):
    """Return the seconds after which each line came."""
    start = time.monotonic()
    with open(path, encoding="utf-8") as inputs, subprocess.Popen(
            command, stdin=inputs, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as running:
        at = [time.monotonic() - start for _ in running.stdout]
    if running.returncode != 0:
        raise SystemExit(f"prompt: {' '.join(command)}: it failed")
    return at


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rill", default="build/rill")
    parser.add_argument("--data", default=os.environ.get("RILL_DATA", "../shared/data"))
    parser.add_argument("--copies", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--model", default="examples/models/de-en")
    args, options = parser.parse_known_args()
    source = os.path.join(args.data, "mt/multi30k/test_2016_flickr.de")
    if not os.path.exists(source):
        print(f"prompt: nothing to measure: {source} is not there")
        return
    with open(source, encoding="utf-8") as text:
        lines = text.readlines() * args.copies
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as inputs:
        inputs.writelines(lines)
        inputs.flush()
        print(f"{len(lines)} lines, {args.rounds} rounds in turn; seconds to the n-th line\n"
              f"{'method':18}" + "".join(f"{mark:>8}" for mark in MARKS) + f"{'last':>8}")
        taken = {method: [] for method in METHODS}
        for _ in range(args.rounds):
            for method in METHODS:
                command = [args.rill, "decode", "-q", "-m", args.model, "--method", method, "--workers", "1", *options]
                taken[method].append(arrivals(command, inputs.name))
        for method, rounds in taken.items():
            marks = [mark for mark in MARKS if mark <= len(lines)] + [len(lines)]
            print(f"{method:18}" + "".join(f"{statistics.median(at[mark - 1] for at in rounds):8.2f}" for mark in marks),
                  flush=True)


if __name__ == "__main__":
    main()
