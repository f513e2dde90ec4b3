#!/usr/bin/env python3
"""Cube pruning against the plain beam, over beam widths: the paper's figure, on a model of rill's.

usage: cube_pruning.py [--model DIR] [--data DIR] [--lines N] [--widths 1,2,...] [--batch N] [--repeat R] [--scores logits] [--save NAME]
Every width is one `rill bench` in which the forms alternate: the plain beam, naive and accelerated, each unpruned and pruned
(absolute 1.5, max-candidates 5). Beams shrink as hypotheses end (finish shrink), lengths are normalised. Prints a table; with --save
writes bench/results/NAME.json and .txt, and tools/figures.py draws NAME.svg. Quality is BLEU on Multi30K's test_2016_flickr.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

FORMS = ("none", "naive", "accelerated")


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="examples/models/de-en")
    parser.add_argument("--data", default=os.environ.get("RILL_DATA", "../shared/data"))
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--widths", default="1,2,3,4,8,10,15,18,20,30,40")
    parser.add_argument("--batch", type=int, default=32, help="items in flight")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--scores", default="logp", help="logits: without the normaliser")
    parser.add_argument("--save")
    return parser.parse_args()


def bench(args, folder, width, pruning):
    out = os.path.join(folder, "bench.json")
    methods = ",".join(f"stream-all:cube={form}" for form in FORMS)
    command = ["build/rill", "bench", "-m", args.model, "-i", os.path.join(folder, "de"), "--refs",
               os.path.join(folder, "en"), "--quiet", "-k", str(width), "-n", str(args.batch), "--finish", "shrink",
               "--length-penalty", "1", "--repeat", str(args.repeat), "--scores", args.scores, "--methods",
               methods, "--json", out, *pruning]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    with open(out, encoding="utf-8") as file:
        return json.load(file)["methods"]


def row_of(form, method, plain):
    run = method["run"]
    classes = run.get("cube_classes", 0)
    return {"form": "plain" if form == "none" else form, "bleu": method["bleu_percent"],
            "seconds": method["seconds_median"], "speed": plain / method["seconds_median"],
            "merging": run["cube_hypotheses"] / classes if classes else 1.0,
            "rows": classes + run.get("cube_rescored", 0) if classes else run["expansions"]}


def measure(args, folder):
    for side in ("de", "en"):
        path = os.path.join(args.data, "mt/multi30k/test_2016_flickr." + side)
        with open(path, encoding="utf-8") as source, open(os.path.join(folder, side), "w", encoding="utf-8") as to:
            to.writelines(source.readlines()[:args.lines])
    results = []
    for width in map(int, args.widths.split(",")):
        plain = None
        for pruned, threshold, children in ((0, "1e30", width), (1, "1.5", 5)):
            pruning = ["--absolute", threshold, "--max-candidates", str(children)]
            for form, method in zip(FORMS, bench(args, folder, width, pruning)):
                plain = plain or method["seconds_median"]
                results.append({"k": width, "pruned": pruned, **row_of(form, method, plain)})
        print(f"k = {width} done", file=sys.stderr)
    return results


def table(results):
    lines = ["                        unpruned                     absolute 1.5, max-candidates 5",
             " k form          BLEU seconds  speed merging    BLEU seconds  speed merging"]
    by = {(r["k"], r["form"], r["pruned"]): r for r in results}
    for (k, form, pruned), r in by.items():
        if pruned:
            continue
        cells = "  ".join("{bleu:6.2f} {seconds:7.2f} {speed:6.2f} {merging:7.2f}".format(**one)
                          for one in (r, by[(k, form, 1)]))
        lines.append(f"{k:2d} {form:12s}{cells}")
    lines.append("speed: by the seconds of the plain, unpruned beam of that width. merging: hypotheses in a class.")
    return "\n".join(lines) + "\n"


def main():
    args = options()
    with tempfile.TemporaryDirectory() as folder:
        results = measure(args, folder)
    command = " ".join(["python3", "bench/cube_pruning.py", *sys.argv[1:]])
    machine = subprocess.run(["bash", "-c", ". bench/common.sh; describe_machine"], capture_output=True, text=True, check=False).stdout
    head = f"# {command}\n" + "".join(f"# {line}\n" for line in machine.splitlines()) + \
        f"# {os.path.basename(args.model)}, {args.lines} sentences, one thread\n"
    print(head + table(results), end="")
    if args.save is None:
        return
    raw = json.dumps({"command": command, "machine": machine.splitlines(), "results": results}, indent=1) + "\n"
    for ending, content in (("json", raw), ("txt", head + table(results))):
        with open(f"bench/results/{args.save}.{ending}", "w", encoding="utf-8") as file:
            file.write(content)
    subprocess.run([sys.executable, "tools/figures.py"], check=True)


if __name__ == "__main__":
    main()
