#!/usr/bin/env python3
"""Results of default searches: the shipped models with and without their own options, and how many n-best lists are short.

usage: default_search.py [--rill build/rill] [--data DIR] [--only WORD]
No times are measured: all figures are the same on every machine with the same kernels. Quality is exact match (semparse), BLEU (mt) or
labelled bracketing F1 (shiftreduce), in percent.
"""

import argparse
import json
import os
import subprocess
import tempfile

# model, inputs, the option with the references, options of the model; the metric is the domain's
SETS = [
    ("geo", "test", ["--test-set", "semparse/geo/test.tsv"], ["--tokenized"]),
    ("jobs", "test", ["--test-set", "semparse/jobs/test.tsv"], ["--tokenized"]),
    ("atis", "dev", ["--test-set", "semparse/atis/dev.tsv"], ["--tokenized"]),
    ("atis", "test", ["--test-set", "semparse/atis/test.tsv"], ["--tokenized"]),
    ("de-en", "val", ["-i", "mt/multi30k/val.de", "--refs", "mt/multi30k/val.en"], []),
    ("de-en", "test", ["-i", "mt/multi30k/test_2016_flickr.de", "--refs", "mt/multi30k/test_2016_flickr.en"], []),
    ("gum", "dev", ["-i", "treebank/gum/dev.ptb", "--refs", "treebank/gum/dev.ptb"], []),
    ("gum", "test", ["-i", "treebank/gum/test.ptb", "--refs", "treebank/gum/test.ptb"], []),
]
UNPRUNED = ["-k", "10", "--length-penalty", "0", "--absolute", "1e9", "--max-candidates", "10"]
SEARCHES = [("unpruned, by sums, k = 10", True, UNPRUNED, ""), ("--like hf", True, ["--like", "hf"], "de-en"),
            ("what the domain advises", True, [], ""), ("what the model recommends", False, [], "")]


def plain_copy(model, folder):
    """Copy the model without its "rill" options."""
    os.makedirs(folder)
    for name in os.listdir(model):
        if name != "config.json":
            os.symlink(os.path.abspath(os.path.join(model, name)), os.path.join(folder, name))
    with open(os.path.join(model, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    config["rill"].pop("options", None)
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file)
    return folder


def run(command, report):
    subprocess.run([*command, report], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(report, encoding="utf-8") as file:
        return json.load(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rill", default="build/rill")
    parser.add_argument("--data", default=os.environ.get("RILL_DATA", "../shared/data"))
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        print(f"{'model':7}{'set':6}{'search':28}{'quality':>8}{'expansions':>12}")
        for name, part, files, options in SETS:
            files = [os.path.join(args.data, f) if "/" in f else f for f in files]
            model = os.path.join("examples/models", name)
            plain = os.path.join(folder, name)
            if args.only not in name or not os.path.exists(files[1]):
                continue
            if not os.path.isdir(plain):
                plain_copy(model, plain)
            for title, without, search, only in SEARCHES:
                if only in name:
                    got = run([args.rill, "bench", "-q", "-m", plain if without else model, *options, *files, *search,
                               "--methods", "stream-all", "--repeat", "1", "--json"], report)["methods"][0]
                    print(f"{name:7}{part:6}{title:28}{got[got['metric'] + '_percent']:8.2f}{got['run']['expansions']:12,}", flush=True)
        print(f"\n{'model':7}{'n-best':>7} {'search':12}{'fewer':>7}{'expansions':>12}")
        for name, part, files, options in SETS:
            path = os.path.join(args.data, files[1])
            if part != "test" or args.only not in name or not os.path.exists(path):
                continue
            lines = os.path.join(folder, "lines")
            with open(path, encoding="utf-8") as source, open(lines, "w", encoding="utf-8") as out:
                out.writelines(line.rstrip("\n").split("\t")[0] + "\n" for line in source)
            for n in ("5", "10"):
                for title, wider in (("recommended", []), ("wider", ["-k", n, "--min-width", n, "--max-candidates", n])):
                    got = run([args.rill, "decode", "-q", "-m", os.path.join("examples/models", name), *options, "-i", lines,
                               "--n-best", n, *wider, "--stats"], report)
                    print(f"{name:7}{n:>7} {title:12}{got['inputs_with_fewer']:7}{got['expansions']:12,}", flush=True)


if __name__ == "__main__":
    main()
