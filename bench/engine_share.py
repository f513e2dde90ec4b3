#!/usr/bin/env python3
"""The engine's share of the time with the shipped models, which are small, so that it is large. One thread, test sets of RILL_DATA.

usage: engine_share.py [--rill build/rill] [--data DIR] [--rounds R] [--only TEXT]
Percent of seconds.total of --stats: the engine, that is all but encode, step and score, then its stages; "rest" is the time
outside stages, and finalize includes the domain's work on texts. A line is the fastest of R runs (5).
The target is at most 8 %.
"""

import argparse
import json
import os
import subprocess

# model -> its test set, options, and options of pruned search
SEMPARSE = "-k 10 -n 10 --budget 100 --tokenized", "--absolute 10 --max-candidates 3"
MODELS = {"geo": ("semparse/geo/test.tsv", *SEMPARSE),
          "jobs": ("semparse/jobs/test.tsv", *SEMPARSE),
          "atis": ("semparse/atis/test.tsv", *SEMPARSE),
          "gum": ("treebank/gum/test.ptb", "-k 10 -n 10 --budget 100", "--absolute 2.5 --max-candidates 3"),
          "de-en": ("mt/multi30k/test_2016_flickr.de", "-k 5 -n 16", "--absolute 1.5 --max-candidates 5")}
STAGES = ("choose", "select", "scorers", "prune", "commit", "finalize")


def fastest(args, name, method, lines):
    """Return the statistics of the fastest run."""
    _, options, pruning = MODELS[name]
    command = [args.rill, "decode", "-m", f"examples/models/{name}", "-o", "/dev/null", "--method", method, *options.split(),
               *(pruning.split() if method != "fixed" else ()), "--threads", "1", "--workers", "1", "--stats", "-", "--quiet"]
    runs = [json.loads(subprocess.run(command, input=lines, stdout=subprocess.PIPE, check=True).stdout) for _ in range(args.rounds)]
    return min(runs, key=lambda run: run["seconds"]["total"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rill", default="build/rill")
    parser.add_argument("--data", default=os.environ.get("RILL_DATA", "../shared/data"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="models whose name holds this")
    args = parser.parse_args()
    print(f"{'':18}{'expansions':>11}{'µs each':>9}" + "".join(f"{stage:>9}" for stage in ("engine", *STAGES, "rest")))
    for name in (model for model in MODELS if args.only in model):
        path = os.path.join(args.data, MODELS[name][0])
        if not os.path.exists(path):
            print(f"{name}: nothing to measure: RILL_DATA/{MODELS[name][0]} is not there")
            continue
        with open(path, "rb") as file:
            lines = b"".join(line.split(b"\t")[0].rstrip(b"\n") + b"\n" for line in file)
        for method in ("fixed", "stream-all"):
            run = fastest(args, name, method, lines)
            total = run["seconds"]["total"]
            shares = [run["engine_share"], *(run["seconds"][stage] / total for stage in STAGES)]
            shares.append(shares[0] - sum(shares[1:]))
            print(f"{name:6}{method:12}{run['expansions']:11}{1e6 * total / run['expansions']:9.2f}"
                  + "".join(f"{100 * share:8.1f}%" for share in shares), flush=True)


if __name__ == "__main__":
    main()
