#!/usr/bin/env python3
"""The experiments of the papers that rill's methods come from, on rill's models: fused output layers, top-up, sorting, early pruning.

usage: paper_results.py [--model DIR] [--data DIR] [--lines N] [--rounds R] [--save NAME] [PART...]
  grid     {unfused, fused} x {var-batch, top-up} x {unsorted, sorted by windows of 1,280} at n = 128, k = 1 and 5
  lengths  var-batch, var-batch sorted and top-up over batch sizes, on captions cut and joined to two spreads of length
  early    a beam that drops candidates 100 times less likely than its best, against one without pruning
  rows     rows per timestep, as a chart
All parts by default. Runs alternate for R rounds; seconds are medians. With --save the text goes to bench/results/NAME.txt, and the
rows to a second file, which tools/figures.py draws.

"Unfused" is rill with bench/unfused.c for the output layer: a pass over the matrix of all rows for each of its steps
(`ninja -C build unfused_rill` builds it).
Test set: Multi30K's test_2016_flickr; one worker, one thread.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile

METHODS = ("var-batch:n=128", "var-batch:n=128:sort=length:1280", "top-up:n=128", "top-up:n=128:sort=length:1280")
SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
SPREADS = {"long": (21, 12), "short": (7.5, 5)}  # words: mean and deviation; about 26 +- 15 and 9 +- 6 subword tokens
OPEN = ["--absolute", "1e30", "--max-candidates", "1000"]


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="examples/models/de-en-rnn")
    parser.add_argument("--data", default=os.environ.get("RILL_DATA", "../shared/data"))
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--save")
    parser.add_argument("part", nargs="*")
    return parser.parse_args()


class Runs:
    """Runs `rill bench` in rounds, with the output layer fused or not."""

    def __init__(self, args, folder):
        self.args, self.folder = args, folder

    def bench(self, text, methods, more, unfused=False):
        out = os.path.join(self.folder, "bench.json")
        command = ["build/rill", "bench", "-m", self.args.model, "-i", os.path.join(self.folder, text + ".de"), "--quiet",
                   "--repeat", "1", "--workers", "1", "--methods", ",".join(methods), "--json", out, *more]
        references = os.path.join(self.folder, text + ".en")
        if os.path.exists(references):
            command += ["--refs", references]
        environment = dict(os.environ)
        if unfused and not os.path.exists("build/bench/librill.so"):
            sys.exit("sources: build/bench/librill.so is not there: ninja -C build unfused_rill")
        if unfused:
            environment["LD_PRELOAD"] = "build/bench/librill.so"
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
        with open(out, encoding="utf-8") as file:
            return json.load(file)["methods"]

    def rounds(self, cases):
        """Run cases {name: (text, methods, options, unfused)} in turn; return {(name, method): (median seconds, last result)}."""
        seconds, last = {}, {}
        for _ in range(self.args.rounds):
            for name, (text, methods, more, unfused) in cases.items():
                for method, result in zip(methods, self.bench(text, methods, more, unfused)):
                    seconds.setdefault((name, method), []).append(result["seconds_median"])
                    last[name, method] = result
        return {key: (statistics.median(times), last[key]) for key, times in seconds.items()}


def lines_of(args, side):
    path = os.path.join(args.data, "mt/multi30k/test_2016_flickr." + side)
    with open(path, encoding="utf-8") as file:
        return file.read().splitlines()[:args.lines]


def spread(lines, mean, deviation, rng):
    """Return as many texts with random numbers of words; captions are cut and joined to these lengths."""
    words = [word for line in lines for word in line.split()]
    texts, at = [], 0
    while len(texts) < len(lines):
        length = max(1, round(rng.gauss(mean, deviation)))
        if at + length > len(words):
            at = 0
        texts.append(" ".join(words[at:at + length]))
        at += length
    return texts


def prepare(args, folder):
    rng = random.Random(1)
    for side in ("de", "en"):
        with open(os.path.join(folder, f"captions.{side}"), "w", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in lines_of(args, side))
    spreads = []
    for name, (mean, deviation) in SPREADS.items():
        texts = spread(lines_of(args, "de"), mean, deviation, rng)
        lengths = [len(text.split()) for text in texts]
        spreads.append(f"{name}: {statistics.mean(lengths):.1f} +- {statistics.pstdev(lengths):.1f} words")
        with open(os.path.join(folder, name + ".de"), "w", encoding="utf-8") as file:
            file.writelines(text + "\n" for text in texts)
    return "; ".join(spreads)


def grid(args, runs):
    cases = {(k, form): ("captions", METHODS, ["-k", str(k), *OPEN], form == "unfused")
             for k in (1, 5) for form in ("unfused", "fused")}
    found = runs.rounds(cases)
    out = ["Seconds at n = 128, nothing pruned", "                                       k = 1           k = 5",
           "                                    unfused  fused  unfused  fused   BLEU, k = 5"]
    for method in METHODS:
        cells = "".join(f"{found[(k, form), method][0]:8.2f}" for k in (1, 5) for form in ("unfused", "fused"))
        out.append(f"{method:35s}{cells}   {found[(5, 'fused'), method][1]['bleu_percent']:6.2f}")
    slow, fast = found[(5, "unfused"), METHODS[0]][0], min(found[(5, "fused"), m][0] for m in METHODS)
    out.append(f"From the first row unfused to the best row fused, k = 5: {slow / fast:.2f} times as fast.")
    return out


def lengths(args, runs):
    out = []
    for text in SPREADS:
        methods = {"var-batch": "", "sorted": ":sort=length:1280", "top-up": ""}
        names = [f"{'var-batch' if m == 'sorted' else m}:n={n}{more}" for n in SIZES for m, more in methods.items()]
        cases = {part: (text, names[part:part + 12], ["-k", "5", *OPEN], False) for part in range(0, len(names), 12)}
        seconds = {method: value for (_, method), (value, _) in runs.rounds(cases).items()}
        out += [f"Sentences per second by n, {text} texts, k = 5, nothing pruned",
                "n               " + "".join(f"{n:8d}" for n in SIZES)]
        for number, name in enumerate(methods):
            out.append(f"{name:16s}" + "".join(f"{args.lines / seconds[m]:8.0f}" for m in names[number::3]))
        out.append("")
    return out[:-1]


def early(args, runs):
    dropped = ["--absolute", "4.605", "--max-candidates", "1000"]  # 4.605 = ln 100
    cases = {(k, name): ("captions", ("stream-all:n=64",), ["-k", str(k), *more], False)
             for k in (5, 10, 30) for name, more in (("all", OPEN), ("0.01", dropped))}
    found = runs.rounds(cases)
    out = ["Early pruning: what is below 0.01 of the best hypothesis's probability is dropped (--absolute 4.605)",
           " k   seconds, all  0.01   ratio   BLEU, all   0.01   expansions, all   0.01"]
    for k in (5, 10, 30):
        (slow, whole), (fast, pruned) = (found[(k, name), "stream-all:n=64"] for name in ("all", "0.01"))
        out.append(f"{k:2d} {slow:13.2f} {fast:7.2f} {slow / fast:6.2f} {whole['bleu_percent']:11.2f} {pruned['bleu_percent']:6.2f} "
                   f"{whole['run']['expansions']:17,d} {pruned['run']['expansions']:,d}")
    return out


def rows(args, runs):
    if not args.save:
        return ["Rows of timesteps are counted with --save."]
    name = f"bench/results/{args.save}-rows"
    found = runs.bench("captions", ("fixed", "var-batch", "var-stream", "top-up", "stream-all"), ["-k", "5", "-n", "64"])
    with open(name + ".json", "w", encoding="utf-8") as file:
        json.dump({"methods": [{key: m[key] for key in ("method", "timesteps_by_rows")} for m in found]}, file)
        file.write("\n")
    return [f"Rows of timesteps, by method, n = 64, k = 5, pruned as the model recommends: {name}.svg"]


PARTS = {"grid": grid, "lengths": lengths, "early": early, "rows": rows}


def main():
    args = options()
    wrong = [part for part in args.part if part not in PARTS]
    if wrong:
        sys.exit(f"sources: there is no part {wrong[0]}; there are {', '.join(PARTS)}")
    with tempfile.TemporaryDirectory() as folder:
        texts = prepare(args, folder)
        machine = subprocess.run(["bash", "-c", ". bench/common.sh; describe_machine"], capture_output=True, text=True, check=False).stdout
        out = ["# " + " ".join(["python3", "bench/paper_results.py", *sys.argv[1:]]), *("# " + line for line in machine.splitlines()),
               f"# {os.path.basename(args.model)}, {args.lines} sentences; {texts}"]
        for part in args.part or PARTS:
            out += ["", *PARTS[part](args, Runs(args, folder))]
            print(f"{part} done", file=sys.stderr)
    print("\n".join(out))
    if args.save:
        with open(f"bench/results/{args.save}.txt", "w", encoding="utf-8") as file:
            file.write("\n".join(out) + "\n")
        subprocess.run([sys.executable, "tools/figures.py"], check=True)


if __name__ == "__main__":
    main()
