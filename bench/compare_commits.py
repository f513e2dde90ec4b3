#!/usr/bin/env python3
"""Compare the results of two commits, byte by byte: the cases of the golden files, and random requests in one batch.

usage: compare_commits.py OLDER [NEWER] [--requests N] [--seed S] [--renamed FILE] [--work DIR]

OLDER, NEWER (default HEAD): commits, each checked out and built under DIR (default build-commits), where builds are kept. Each decodes the
cases of its own tests/golden; a case may have other options than before and must still have the same results. Then both decode the
same N requests (default 2000): lines of JSON with random settings and constraints, all mixed in one run, for each of four models.
With --renamed, FILE is a script for `sed -E` that is applied to OLDER's results first: for renamed keys.
bench/identical.sh compares schedules of one build, and bench/compare_builds.py the time of two.
"""

import argparse
import filecmp
import json
import os
import random
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
import random_requests  # noqa: E402

RUNS_OWN = {"certify", "exact", "exact-rows", "unknown-penalty"}  # options of a run, which no request may set


def run(*command, **more):
    done = subprocess.run(command, capture_output=True, text=True, **more)
    if done.returncode != 0:
        raise SystemExit(f"commits: {' '.join(command)}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def build(work, commit):
    """Check out and build a commit in a folder of its own; return the folder."""
    name = run("git", "-C", ROOT, "rev-parse", "--short=12", f"{commit}^{{commit}}").strip()
    tree = os.path.join(work, name)
    if not os.path.isdir(tree):
        run("git", "clone", "-q", "--no-checkout", ROOT, tree)
    run("git", "-C", tree, "checkout", "-q", "-f", name)
    if not os.path.exists(os.path.join(tree, "build", "build.ninja")):
        run("meson", "setup", "build", "-Dbuildtype=release", "-Dtests=enabled", cwd=tree)
    run("ninja", "-C", "build", "rill", "tests/golden/kernel_set", "tests/golden/vary_model", cwd=tree)
    return tree


def make_golden(tree):
    """Replace the commit's expected files by the results of the golden cases."""
    groups = [line.split("()")[0][len("group_"):] for line in open(os.path.join(tree, "tests", "golden", "cases.sh"), encoding="utf-8")
              if line.startswith("group_")]
    groups = [group for group in groups if not group.startswith(("brief", "f16"))]
    programs = [os.path.join(tree, "build", name) for name in ("rill", "tests/golden/kernel_set", "tests/golden/vary_model")]
    made = os.path.join(tree, "tests", "golden", "expected")
    shutil.rmtree(made)
    os.mkdir(made)
    # Name this machine's kernels here, so that the comparison is exact, whatever kernels made the commit's own files.
    with open(os.path.join(made, "kernels"), "w", encoding="utf-8") as file:
        file.write(run(programs[1]).strip().removesuffix("vnni") + "\n")
    for group in groups:
        run("bash", os.path.join(tree, "tests", "golden", "golden.sh"), "make", group, *programs, tree)
    return made


def draw(model, n, seed):
    """Draw requests as JSON lines, and a line of constraints for each."""
    rng, lines = random.Random(f"{model} {seed}"), random_requests.lines_of(ROOT, model)
    values = {name: those for name, those in random_requests.OF_REQUESTS.items() if name not in RUNS_OWN}
    requests = [json.dumps({"text": rng.choice(lines), "options": random_requests.draw(rng, values)}) for _ in range(n)]
    kinds, words = ["require", "ban", "allow", "prefix"], random_requests.WORDS[model]
    constraints = ["" if rng.random() < 0.75 else f"{rng.choice(kinds)}:{rng.choice(words)}" for _ in range(n)]
    return "\n".join(requests) + "\n", "\n".join(constraints) + "\n"


def answer(tree, model, requests, constraints):
    path = os.path.join(tree, "constraints.txt")
    with open(path, "w", encoding="utf-8") as file:
        file.write(constraints)
    command = [os.path.join(tree, "build", "rill"), "decode", "-q", "-m", os.path.join(tree, "examples", "models", model), "--jsonl",
               "--constraints", path, "-n", "24"]
    done = subprocess.run(command, input=requests, capture_output=True, text=True)
    if done.returncode not in (0, 2):
        raise SystemExit(f"commits: {tree}: {model}: {done.stderr[-2000:]}")
    return done.stdout + done.stderr.replace(tree, "")


def rename(script, text):
    return run("sed", "-E", "-f", script, input=text) if script else text


def compare_golden(trees, script):
    older, newer = (make_golden(tree) for tree in trees)
    names = [sorted(os.listdir(folder)) for folder in (older, newer)]
    differ = [f"{name}: the newer one lacks it" for name in names[0] if name not in names[1]]
    new = [name for name in names[1] if name not in names[0]]
    both = [name for name in names[0] if name in names[1] and name.endswith(".txt")]
    for name in both:
        one, other = os.path.join(older, name), os.path.join(newer, name)
        if not filecmp.cmp(one, other, shallow=False):
            texts = [open(path, encoding="utf-8", errors="surrogateescape").read() for path in (one, other)]
            if rename(script, texts[0]) != texts[1]:
                differ.append(f"{name}: compare {one} {other}")
    print(f"golden files: {len(both)} of both, {len(new)} new ones, {len(differ)} that differ or are missing", *differ, sep="\n  ",
          flush=True)
    return len(differ)


def compare_requests(trees, n, seed, script):
    total = 0
    for model in random_requests.MODELS:
        requests, constraints = draw(model, n // len(random_requests.MODELS), seed)
        older, newer = (answer(tree, model, requests, constraints).splitlines() for tree in trees)
        older = rename(script, "\n".join(older)).split("\n")
        differ = [pair for pair in zip(older, newer) if pair[0] != pair[1]]
        failed = sum('"error": ' in line for line in newer)
        wrong = max(len(differ), abs(len(older) - len(newer)))
        print(f"{model}: {requests.count(chr(10))} requests, {failed} of them refused or without output, {wrong} lines differ", flush=True)
        for one, other in differ[:3]:
            print(f"  {one[:300]}\n  {other[:300]}")
        total += wrong
    return total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("older")
    parser.add_argument("newer", nargs="?", default="HEAD")
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--renamed")
    parser.add_argument("--work", default=os.path.join(ROOT, "build-commits"))
    args = parser.parse_args()
    os.makedirs(args.work, exist_ok=True)
    trees = [build(args.work, commit) for commit in (args.older, args.newer)]
    print(*(f"{which} {os.path.basename(tree)}" for which, tree in zip(("older", "newer"), trees)), sep="\n")
    differ = compare_golden(trees, args.renamed) + compare_requests(trees, args.requests, args.seed, args.renamed)
    print("all the same" if not differ else "NOT all the same")
    return differ != 0


sys.exit(main())
