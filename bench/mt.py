"""Translation against a peer: the runs and the table of bench/mt.sh.

usage: mt.py [--peer ctranslate2|none] [--threads T] [--workers W] [--rounds R] [--only TEXT] [--clock wall|cpu]
             --rill BUILD/rill --work DIRECTORY --model MARIAN --data MULTI30K --out NAME

Every row of a task runs once per round, in turn, each in its own process. A ratio is the median of the rounds' ratios, so that
other load affects both sides. Both sides get subword tokens, not text, and their clocks begin when the model is loaded. Memory is
peak resident memory: for rill that of the whole process, for the peer the part beyond Python and its libraries. On a busy machine
and with one thread, `--clock cpu` measures CPU seconds instead, which other load does not lengthen. From rill's, the seconds for
opening the model are subtracted; these vary by up to a second for a large model.

A task is a model, a beam width and inputs; its rows are named after how they run. On the random model (tools/random_mt.py) inputs
come in buckets of equal length, and a minimum length equal to the maximum makes both sides produce the same number of tokens.
With more than one core the peer runs each row twice, with as many threads inside a batch (intra) and with as many batches side by
side (inter), and ratios are against the better of the two. With several workers, rill's seconds are wall time of the whole run,
reading and writing included.
Writes NAME.json, prints the tables.
"""

import argparse
import glob
import json
import os
import re
import statistics
import subprocess
import sys
from dataclasses import dataclass, field

import sacrebleu
import sentencepiece

TRAINED = "test_2016_flickr"
# Models with random weights: options of tools/random_mt.py, and for each beam size the number of lines and the numbers of items in flight
# (None: several are tried).
RANDOM = {
    "random weights, 512/2048, 6+6 layers, V = 32,000": ([], {5: (64, None), 50: (20, None)}),
    "student, 256/1536, 6+2 layers, V = 32,000": (
        ["--width", "256", "--inner", "1536", "--layers", "6", "--decoder-layers", "2"], {5: (64, None)}),
    "NLLB-600M's size, 1024/4096, 12+12 layers, V = 256,206": (
        ["--type", "m2m_100", "--width", "1024", "--inner", "4096", "--layers", "12", "--heads", "16", "--words", "256206"],
        {5: (64, (16,))}),
}
K50_LINES = 250  # lines of the test set at k = 50, since the peer takes a minute for all of them
MOST = 150  # maximum length of the trained model's outputs, for both sides


@dataclass
class Row:
    label: str
    peer: bool
    weights: str
    options: list  # options of the command
    group: str  # rows with the same letter must have identical outputs; rows with "" are not compared
    seconds: list = field(default_factory=list)
    peaks: list = field(default_factory=list)
    inter: int = 1  # of the peer: number of batches at the same time
    outputs: list = None
    stats: dict = None


@dataclass
class Task:
    name: str
    k: int
    rounds: int
    directory: str
    inputs: list  # pairs: a file of subword tokens, and the length of its outputs or 0
    rows: list
    references: list = None
    pieces: object = None  # tokenizer that joins subword tokens to text
    metric: object = None


def peer_row(weights, batch, rule="all"):
    """Return a row of CTranslate2 with its own stopping rules: an item stops at k outputs, or with length penalty 0 when the best of the
    beam has ended."""
    kind = {"fp32": "float32", "int8": "int8"}[weights]
    penalty = {"all": "1", "first": "0"}[rule]
    label = f"ctranslate2 {weights}, batch {batch}" + (", stops at the first" if rule == "first" else "")
    return Row(label, True, weights, ["--type", kind, "--batch", str(batch), "--length-penalty", penalty], "")


def peer_rows(cores, *arguments):
    """Return the peer's rows: one for one core; for several cores one that uses them inside a batch, and one for parallel batches."""
    row = peer_row(*arguments)
    if cores == 1:
        return [row]
    side_by_side = peer_row(*arguments)
    row.label += f", intra {cores}"
    side_by_side.label += f", inter {cores}"
    side_by_side.inter = cores
    return [row, side_by_side]


def rill_row(weights, method, group="", **settings):
    words = {name.replace("_", "-"): str(value) for name, value in settings.items()}
    label = f"rill {weights} {method} " + " ".join(f"{n}={v}" for n, v in words.items() if n not in PRUNING)
    options = ["--method", method] + [w for n, v in words.items() for w in ("--" + n, v)]
    if weights != "fp32":
        options += ["--weights", weights]
    return Row(label.strip(), False, weights, options, f"{group} {weights}" if group else "")


PRUNING = {"absolute", "max-candidates", "length-penalty"}
PRUNED = {"absolute": 1.5, "max_candidates": 5, "length_penalty": 1}


def rows_of(k, kinds, peer, cores, only=None):
    """Return the rows of a task: both sides with batches that suit them, and rill also with fewer and more items in flight, to see where
    more of them stop helping."""
    rows = []
    for weights in kinds:
        batch = 64 if k == 5 else 16
        if peer:
            rows += peer_rows(cores, weights, batch)
        if peer and k == 5:
            rows += peer_rows(cores, weights, batch, "first")
        for n in (32, 64) if k == 5 else (4,):
            rows.append(rill_row(weights, "fixed", n=n, length_penalty=1))
        sizes = (1, 4, 16, 48) if k == 5 else (1, 8, 32)
        for n in only or (sizes if weights == "fp32" else sizes[1:3]):
            rows.append(rill_row(weights, "var-batch", "pruned", n=n, **PRUNED))
            rows.append(rill_row(weights, "var-stream", "pruned", n=n, budget=4 * n, max_items=4 * n, **PRUNED))
            rows.append(rill_row(weights, "stream-all", "pruned", n=n, **PRUNED))
        rows.append(rill_row(weights, "stream-all", "first", n=(only or sizes[1:])[0], stop_after=1, **PRUNED))
    return rows


# --- runs -----------------------------------------------------------------------------------------------------------------------


def run(command):
    """Run a command; return its standard output, CPU seconds, and peak resident memory in bytes."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    text = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"mt.py: exit code {process.returncode}: {' '.join(command)}")
    return text, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def rill_command(args, task, row, path, length, out):
    limits = ["--min-length", str(length)] if length else []
    return [args.rill, "decode", "-m", task.directory, "--tokenized", "-k", str(task.k), "--threads", str(args.threads),
            "--workers", str(args.workers), "--max-length", str(length or MOST), "--count-end", *limits, *row.options,
            "-i", path, "-o", out, "--stats", "-", "--quiet"]


def opening(args, task, row, kept={}):
    """Return the CPU seconds of a run without inputs, since the CPU clock of a run also counts the loading of the model."""
    key = task.directory, row.weights
    if key not in kept:
        kept[key] = statistics.median(run(rill_command(args, task, row, "/dev/null", 0, "/dev/null"))[1] for _ in range(3))
    return kept[key]


def run_row(args, task, row):
    seconds, peak, outputs, stats = 0.0, 0, [], {}
    for path, length in task.inputs:
        out = os.path.join(args.work, "out")
        if row.peer:
            command = [sys.executable, os.path.join(os.path.dirname(__file__), "mt_peer.py"), "--model", task.directory + ".ct2",
                       "--threads", str(args.cores // row.inter), "--inter", str(row.inter), "--beam", str(task.k),
                       "--max-length", str(MOST), "--length", str(length), *row.options, path, out]
            results = json.loads(run(command)[0])
            seconds, peak = seconds + results[args.clock], max(peak, results["peak"])
        else:
            text, cpu, resident = run(rill_command(args, task, row, path, length, out))
            results = json.loads(text)
            took = results["seconds"]["total" if args.workers == 1 else "wall"] if args.clock == "wall" else cpu - opening(args, task, row)
            seconds, peak = seconds + took, max(peak, resident)
            for key in ("expansions", "timesteps"):
                stats[key] = stats.get(key, 0) + results[key]
            for key, value in results["seconds"].items():
                stats.setdefault("seconds", {})[key] = stats.get("seconds", {}).get(key, 0) + value
        with open(out, encoding="utf-8") as file:
            outputs += [line.rstrip("\n") for line in file]
    row.seconds.append(seconds)
    row.peaks.append(peak)
    row.outputs, row.stats = outputs, stats


# --- tables ---------------------------------------------------------------------------------------------------------------------


def ratio(slow, fast):
    """Return how many times as fast the second row is: median, minimum and maximum over the rounds."""
    ratios = [s / f for s, f in zip(slow.seconds, fast.seconds)]
    return statistics.median(ratios), min(ratios), max(ratios)


def quality(task, row):
    if not task.references:
        return None
    texts = [task.pieces.decode(line.split()) for line in row.outputs]
    task.metric = task.metric or sacrebleu.metrics.BLEU()
    return round(task.metric.corpus_score(texts, [task.references]).score, 2)


def peer_of(task, row):
    """Return the peer's first row with the same weights, with the cores used in the way that is faster."""
    rows = [r for r in task.rows if r.peer and r.weights == row.weights]
    same = [r for r in rows if r.options == rows[0].options]
    return min(same, key=lambda r: statistics.median(r.seconds)) if same else None


def report(task, results):
    print(f"\n== {task.name}, k = {task.k}: {sum(1 for p, _ in task.inputs for _ in open(p, encoding='utf-8'))} inputs, "
          f"{task.rounds} rounds")
    width = max(len(r.label) for r in task.rows)
    print(f"{'':{width}}   BLEU  seconds   +-  tokens/s   MB  exp/step  expansions  against the peer")
    first = {}
    for row in task.rows:
        seconds = statistics.median(row.seconds)
        spread = (max(row.seconds) - min(row.seconds)) / 2 / seconds
        tokens = sum(len(line.split()) for line in row.outputs)
        bleu = quality(task, row)
        entry = {"row": row.label, "bleu": bleu, "seconds": row.seconds, "tokens": tokens, "peak": max(row.peaks), "run": row.stats}
        against = ""
        peer = peer_of(task, row)
        if peer and peer is not row:
            entry["against_peer"] = ratio(peer, row)
            against = "x {:.2f} ({:.2f}-{:.2f})".format(*entry["against_peer"])
        if row.group:
            kept = first.setdefault(row.group, row)
            entry["identical"] = kept.outputs == row.outputs
            against += "" if kept is row else ", identical" if entry["identical"] else ", DIFFERS"
        steps = row.stats.get("timesteps") or 0
        print(f"{row.label:{width}} {bleu if bleu is not None else '-':>6} {seconds:8.3f} {spread:4.0%} {tokens / seconds:9.0f} "
              f"{max(row.peaks) / 1e6:4.0f} {row.stats['expansions'] / steps if steps else 0:9.1f} "
              f"{row.stats.get('expansions', 0):11}  {against}".rstrip())
        results.append({"task": task.name, "k": task.k, **entry})


def best(task, word):
    """Return the fastest row of a method, by median."""
    rows = [r for r in task.rows if f"fp32 {word} " in r.label + " " and "stop-after" not in r.label]
    return min(rows, key=lambda r: statistics.median(r.seconds)) if rows else None


def report_methods(task):
    if task.metric:
        print(f"BLEU: {task.metric.get_signature()}")
    pairs = (("fixed", "var-stream"), ("fixed", "stream-all"), ("var-batch", "var-stream"), ("var-stream", "stream-all"))
    for slow, fast in pairs:
        a, b = best(task, slow), best(task, fast)
        if a and b:
            print(f"  {b.label} is {{:.2f}} ({{:.2f}}-{{:.2f}}) times as fast as {a.label}".format(*ratio(a, b)))


# --- where time goes ------------------------------------------------------------------------------------------------------------

KINDS = {"product": "products", "attend": "attention", "best": "best", "normalise": "layer norm"}  # an operation's first word -> its kind


def profile(args, task):
    """Print the profile of each operation of rill's rows on the first inputs, as rill prints it, and then all rows by kind of
    operation. "between" is the time of encode, step and score outside operations, including waits for other threads.
    """
    summary = f"\n== {task.name}, k = {task.k}: percent of the time\n{'':32}"
    summary += "".join(f"{kind:>12}" for kind in (*KINDS.values(), "the rest", "engine", "between"))
    for row in task.rows:
        if row.peer or not re.search(r"fixed|stream-all n=[48]$", row.label):
            continue
        print(f"\n== {task.name}, k = {task.k}: {row.label}", flush=True)
        results = json.loads(run([*rill_command(args, task, row, *task.inputs[0], "/dev/null"), "--profile"])[0])
        shares = dict.fromkeys((*KINDS.values(), "the rest"), 0.0)
        for op in results["profile"]["operations"]:
            shares[KINDS.get(op["operation"].split()[0], "the rest")] += op["seconds"] / results["seconds"]["total"] / args.threads
        whole = (*shares.values(), results["engine_share"])
        summary += f"\n{row.label:32}" + "".join(f"{100 * share:12.1f}" for share in (*whole, 1 - sum(whole)))
    print(summary, flush=True)


# --- tasks ----------------------------------------------------------------------------------------------------------------------


def wanted(args, name, k):
    return args.only in f"{name}, k = {k}:"


def write_lines(path, lines):
    with open(path, "w", encoding="utf-8") as file:
        file.write("".join(line + "\n" for line in lines))
    return path


def trained_tasks(args, kinds, peer):
    pieces = sentencepiece.SentencePieceProcessor(model_file=os.path.join(args.model, "source.spm"))
    with open(os.path.join(args.data, "test_2016_flickr.de"), encoding="utf-8") as file:
        lines = [" ".join(pieces.encode(line.strip(), out_type=str)) for line in file]
    with open(os.path.join(args.data, "test_2016_flickr.en"), encoding="utf-8") as file:
        references = [line.rstrip("\n") for line in file]
    path = write_lines(os.path.join(args.work, "source.pieces"), lines)
    some = write_lines(os.path.join(args.work, "some.pieces"), lines[:K50_LINES])
    target = sentencepiece.SentencePieceProcessor(model_file=os.path.join(args.model, "target.spm"))
    directory = os.path.join(args.work, "trained")
    if not os.path.exists(directory):
        os.symlink(os.path.abspath(args.model), directory)
    tasks = [Task(TRAINED, 5, args.rounds, directory, [(path, 0)], rows_of(5, kinds, peer, args.cores), references, target),
             Task(TRAINED, 50, (args.rounds + 1) // 2, directory, [(some, 0)], rows_of(50, kinds, peer, args.cores),
                  references[:K50_LINES], target)]
    return [t for t in tasks if wanted(args, TRAINED, t.k)]


def random_tasks(args, kinds, peer):
    tasks = []
    for number, (title, (options, widths)) in enumerate(RANDOM.items()):
        directory = os.path.join(args.work, f"random{number}")
        for k, (lines, sizes) in widths.items():
            if not wanted(args, title, k):
                continue
            name = os.path.join(args.work, f"random{number}-{k}")
            subprocess.run([sys.executable, "tools/random_mt.py", directory, *options, "--lengths",
                            os.path.join(args.work, "source.pieces"), "--inputs", name, "--lines", str(lines), "--bucket", "8"],
                           check=True)
            inputs = sorted((path, int(path.rsplit(".", 1)[1])) for path in glob.glob(name + ".*"))
            tasks.append(Task(title, k, (args.rounds + 1) // 2, directory, inputs,
                              rows_of(k, kinds, peer, args.cores, sizes)))
    return tasks


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("rill", "work", "model", "data", "out"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--peer", default="ctranslate2", choices=("ctranslate2", "none"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--clock", default="wall", choices=("wall", "cpu"))
    parser.add_argument("--profile", action="store_true", help="where our time goes, by operation, instead")
    parser.add_argument("--only", default="", help="tasks whose \"NAME, k = K:\" holds this")
    args = parser.parse_args()
    args.cores = args.threads * args.workers
    peer = args.peer != "none"
    options = subprocess.run([args.rill, "decode", "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
    kinds = ["fp32", "int8"] if "--weights" in options else ["fp32"]
    tasks = trained_tasks(args, kinds, peer) + random_tasks(args, kinds, peer)
    results = []
    print(f"threads: {args.threads}, workers: {args.workers}, {args.clock} seconds")
    for task in tasks if args.profile else ():
        profile(args, task)
    for task in tasks if not args.profile else ():
        if peer and not os.path.exists(task.directory + ".ct2"):
            subprocess.run([sys.executable, "tools/ct2_model.py", task.directory, task.directory + ".ct2"], check=True)
        for _ in range(task.rounds):
            for row in task.rows:
                run_row(args, task, row)
        report(task, results)
        report_methods(task)
        sys.stdout.flush()
    with open(args.out + ".json", "w", encoding="utf-8") as file:
        json.dump({"threads": args.threads, "workers": args.workers, "clock": args.clock, "rows": results}, file, indent=1)
    differing = [t["row"] for t in results if t.get("identical") is False]
    if differing:
        sys.exit("mt.py: outputs differ: " + "; ".join(differing))


if __name__ == "__main__":
    main()
