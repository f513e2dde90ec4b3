#!/usr/bin/env python3
"""Cost and results of exact search on the shipped models: rows of beam search and of the exact search after it, inputs whose best output
is certified by either, and the model's true best outputs compared with the beam's.

usage: exact_search.py [--rill build/rill] [--data DIR] [--only WORD] [--lines N] [--rows N]
Of the certified best outputs: "other" rank above the beam's output, "empty" have no action, "short" have fewer than half the beam's. One
worker; the seconds are those of one run.
"""

import argparse
import json
import os
import subprocess
import tempfile

SETS = [("geo", "semparse/geo/test.tsv", ["--tokenized"]), ("jobs", "semparse/jobs/test.tsv", ["--tokenized"]),
        ("atis", "semparse/atis/test.tsv", ["--tokenized"]), ("gum", "treebank/gum/test.ptb", []),
        ("de-en", "mt/multi30k/val.de", [])]
WHOLE = ["--absolute", "1e9", "--method", "var-stream", "--length-penalty"]
SEARCHES = [("as it comes", [], ""), ("sum, k = 1", [*WHOLE, "0", "-k", "1"], ""), ("sum, k = 5", [*WHOLE, "0", "-k", "5"], ""),
            ("sum, k = 50", [*WHOLE, "0", "-k", "50"], ""), ("A = 0.2, k = 5", [*WHOLE, "0.2", "-k", "5"], "de-en"),
            ("mean, k = 5", [*WHOLE, "1", "-k", "5"], "de-en"),
            ("the same, F = 1.2", [*WHOLE, "1", "-k", "5", "--max-length-factor", "1.2"], "de-en")]


def decode(command, folder):
    """Return the statistics, and the best output of each input: (text, length, score, certified)."""
    stats, out = os.path.join(folder, "stats"), os.path.join(folder, "out")
    subprocess.run([*command, "--n-best", "1", "--stats", stats, "-o", out], check=True, stderr=subprocess.DEVNULL)
    best = {}
    with open(out, encoding="utf-8") as file:
        for line in file:
            number, text, values, score = line.rstrip("\n").split(" ||| ")
            words = values.split()
            best.setdefault(number, (text, int(words[words.index("length=") + 1]), float(score), "certified=" in words))
    with open(stats, encoding="utf-8") as file:
        return json.load(file), best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rill", default="build/rill")
    parser.add_argument("--data", default=os.environ.get("RILL_DATA", "../shared/data"))
    parser.add_argument("--only", default="")
    parser.add_argument("--lines", type=int, default=100)
    parser.add_argument("--rows", default="10000", help="the setting exact-rows")
    args = parser.parse_args()
    print(f"first {args.lines} lines, exact-rows {args.rows}")
    print(f"{'model':6} {'search':18}{'beam: rows':>11}{'cert%':>7}{'s':>7}{'exact: rows':>12}{'cert%':>7}{'s':>8}"
          f"{'other':>6}{'empty':>6}{'short':>6}")
    with tempfile.TemporaryDirectory() as folder:
        for name, path, options in SETS:
            path = os.path.join(args.data, path)
            if args.only not in name or not os.path.exists(path):
                continue
            lines = os.path.join(folder, "lines")
            with open(path, encoding="utf-8") as source, open(lines, "w", encoding="utf-8") as out:
                out.writelines(line.rstrip("\n").split("\t")[0] + "\n" for _, line in zip(range(args.lines), source))
            for title, search, only in SEARCHES:
                if only not in name:
                    continue
                command = [args.rill, "decode", "-q", "--workers", "1", "-m", f"examples/models/{name}", "-i", lines, *options, *search]
                beam, beams = decode([*command, "--certify"], folder)
                exact, bests = decode([*command, "--exact", "--exact-rows", args.rows], folder)
                true = [(beams[i], best) for i, best in bests.items() if best[3] and i in beams]
                n = beam["inputs"] / 100
                print(f"{name:6} {title:18}{beam['expansions']:11,}{beam['certified'] / n:7.1f}{beam['seconds']['total']:7.2f}"
                      f"{exact['exact_rows']:12,}{exact['certified'] / n:7.1f}{exact['seconds']['total']:8.2f}"
                      f"{sum(b[2] > a[2] for a, b in true):6}{sum(b[1] == 0 for _, b in true):6}"
                      f"{sum(2 * b[1] < a[1] for a, b in true):6}", flush=True)


if __name__ == "__main__":
    main()
