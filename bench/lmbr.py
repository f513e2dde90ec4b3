#!/usr/bin/env python3
"""n-gram posteriors in the beam: quality, cost, and throughput in batches.

usage: lmbr.py [quality] [time] [batches] [--rill build/rill] [--data DIR] [--only MODEL] [--model MODEL] [--repeat R]

quality  the shipped models: T, p and r from the best of a grid on dev, then test with and without. No times.
         "of" names the model whose n-best lists are the evidence, if it is another one.
time     German-English (--model): seconds of the first pass, of making evidence and of the second run, and of a timestep alone, with
         thetas so small that the search stays the same. Each is the fastest of R runs; the runs alternate.
batches  k, 1 to 7 sentences at once, sorted by length or not: sentences per second and the process's memory.
"""

import argparse
import itertools
import json
import os
import re
import subprocess
import tempfile
import time

WIDE = ["-k", "10", "--max-candidates", "10", "--min-width", "10", "--n-best", "10"]
MULTI30K = (["-i", "mt/multi30k/val.de", "--refs", "mt/multi30k/val.en"],
            ["-i", "mt/multi30k/test_2016_flickr.de", "--refs", "mt/multi30k/test_2016_flickr.en"], 8)
# name, dev, test, scale, and the model whose n-best lists are the evidence. A parser's lists are no sequences of actions, so it makes its
# own evidence while it decodes.
SETS = [
    ("de-en", *MULTI30K, "de-en"),
    ("de-en-rnn", *MULTI30K, "de-en-rnn"),
    ("de-en", *MULTI30K, "de-en-rnn"),
    ("de-en-rnn", *MULTI30K, "de-en"),
    ("atis", ["--tokenized", "--test-set", "semparse/atis/dev.tsv"], ["--tokenized", "--test-set", "semparse/atis/test.tsv"], 1, "atis"),
    ("gum", ["-i", "treebank/gum/dev.ptb", "--refs", "treebank/gum/dev.ptb"],
     ["-i", "treebank/gum/test.ptb", "--refs", "treebank/gum/test.ptb"], 1, "gum"),
]
GRID = [(4, 16, 64), (0.5, 0.8), (0.7,)]
SENTENCES = 300  # number of sentences that are timed: short runs, so that some of them are undisturbed
TIMESTEP = ("step", "score", "scorers", "choose", "select", "prune", "commit")


class Bench:
    def __init__(self, args, folder):
        self.args, self.folder = args, folder

    def files(self, options):
        return [os.path.join(self.args.data, o) if "/" in o else o for o in options]

    def run(self, command, model, *options):
        report = os.path.join(self.folder, "report.json")
        name = "--stats" if command == "decode" else "--json"
        subprocess.run([self.args.rill, command, "-q", "-m", "examples/models/" + model, *options, name, report], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(report, encoding="utf-8") as file:
            return json.load(file)

    def quality_of(self, model, files, *options):
        got = self.run("bench", model, *self.files(files), "--methods", "stream-all", "--repeat", "1", *options)["methods"][0]
        return got[got["metric"] + "_percent"], got.get("oracle_percent", float("nan")), got["run"]["expansions"]

    # --- quality

    def evidence_of(self, model, files, scale, of):
        """Make evidence from the 10-best lists that the model `of` makes of a set. Return the options that use it, and those of the
        search."""
        if model == "gum":
            return ["--lmbr-self", f"10,scale={scale}"], WIDE
        files, source, lists, evidence = self.files(files), *(os.path.join(self.folder, name) for name in ("in", "list", "evidence"))
        with open(files[-1] if "--test-set" in files else files[1], encoding="utf-8") as given, open(source, "w", encoding="utf-8") as out:
            out.writelines(line.rstrip("\n").split("\t")[0] + "\n" for line in given)
        tokenized = [o for o in files if o == "--tokenized"]
        self.run("decode", of, *tokenized, "-i", source, "-k", "10", "--n-best", "10", "-o", lists)
        subprocess.run([self.args.rill, "evidence", lists, "-m", "examples/models/" + model, "-o", evidence, "--scale", str(scale)],
                       check=True)
        return ["--lmbr", evidence], []

    def quality(self):
        print(f"{'model':10}{'of':10}{'set':6}{'search':20}{'quality':>8}{'oracle':>8}{'expansions':>12}")
        for one in SETS:
            if self.args.only in ("", one[0]) and os.path.exists(self.files(one[1])[-1]):
                self.quality_on(*one)

    def quality_on(self, model, dev, test, scale, of):
        def tell(part, title, got):
            print(f"{model:10}{of:10}{part:6}{title:20}{got[0]:8.2f}{got[1]:8.2f}{got[2]:12,}", flush=True)
        (option, evidence), search = self.evidence_of(model, dev, scale, of)
        tell("dev", "plain", self.quality_of(model, dev, *search))
        tried = []
        for t, p, r in itertools.product(*GRID):
            words = f"T={t:g},p={p:g},r={r:g}"
            tried.append((self.quality_of(model, dev, *search, option, f"{evidence},{words}"), words))
            tell("dev", words, tried[-1][0])
        best = max(tried, key=lambda one: one[0][0])[1]
        (option, evidence), search = self.evidence_of(model, test, scale, of)
        tell("test", "plain", self.quality_of(model, test, *search))
        tell("test", best, self.quality_of(model, test, *search, option, f"{evidence},{best}"))

    # --- time

    def seconds(self, *options):
        return self.run("decode", self.args.model, "-i", os.path.join(self.folder, "in"), "--workers", "1", *options)

    def time(self):
        with open(self.files(["mt/multi30k/test_2016_flickr.de"])[0], encoding="utf-8") as source:
            lines = list(itertools.islice(source, SENTENCES))
        with open(os.path.join(self.folder, "in"), "w", encoding="utf-8") as out:
            out.writelines(lines)
        lists, evidence = (os.path.join(self.folder, name) for name in ("list", "evidence"))
        first = self.seconds("--n-best", "10", "-k", "10", "-o", lists)
        began = time.monotonic()
        subprocess.run([self.args.rill, "evidence", lists, "-m", "examples/models/" + self.args.model, "-o", evidence, "--scale", "8"],
                       check=True)
        made = time.monotonic() - began
        none = "theta=0/1e-9/1e-9/1e-9/1e-9"
        runs = {"plain": [], "--lmbr": ["--lmbr", evidence], "--lmbr, the same search": ["--lmbr", f"{evidence},{none}"],
                "--lmbr-self 5": ["--lmbr-self", "5"]}
        minimum = {}
        for _ in range(self.args.repeat):
            for name, options in runs.items():
                got = self.seconds(*options)
                step = 1e6 * sum(got["seconds"][part] for part in TIMESTEP) / got["expansions"]
                total, steps = minimum.get(name, (float("inf"), float("inf")))
                minimum[name] = (min(total, got["seconds"]["total"]), min(steps, step))
        print(f"{'':28}{'seconds':>9}{'us per row of a timestep':>26}{'ratio':>7}")
        print(f"{'first pass, 10-best':28}{first['seconds']['total']:9.2f}")
        print(f"{'rill evidence':28}{made:9.2f}")
        for name, (total, step) in minimum.items():
            print(f"{name:28}{total:9.2f}{step:26.1f}{step / minimum['plain'][1]:7.2f}")

    # --- batches

    def memory_of(self, *options):
        command = [self.args.rill, "decode", "-q", "-m", "examples/models/" + self.args.model, *options, "-o", "/dev/null"]
        text = subprocess.run(["/usr/bin/time", "-v", *command], check=True, capture_output=True, text=True).stderr
        return int(re.search(r"Maximum resident set size \(kbytes\): (\d+)", text).group(1)) / 1024

    def batches(self):
        source = self.files(["-i", "mt/multi30k/test_2016_flickr.de"])
        print(f"{'k':>3}{'at once':>9}{'sorted':>8}{'inputs/s':>10}{'MB':>7}")
        for k, n, order in itertools.product((1, 2, 5, 10), range(1, 8), ("none", "length")):
            options = ["--workers", "1", "--method", "fixed", "-k", str(k), "-n", str(n), "--sort", order, "--lmbr-self", str(k)]
            speed = max(self.run("decode", self.args.model, *source, *options)["inputs_per_second"] for _ in range(self.args.repeat))
            print(f"{k:3}{n:9}{order:>8}{speed:10.1f}{self.memory_of(*source, *options):7.1f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", choices=["quality", "time", "batches", []], default=[])
    parser.add_argument("--rill", default="build/rill")
    parser.add_argument("--data", default=os.environ.get("RILL_DATA", "../shared/data"))
    parser.add_argument("--only", default="")
    parser.add_argument("--model", default="de-en", help="whose time is taken")
    parser.add_argument("--repeat", type=int, default=5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for what in args.what or ["quality", "time"]:
            getattr(Bench(args, folder), what)()
            print()


if __name__ == "__main__":
    main()
