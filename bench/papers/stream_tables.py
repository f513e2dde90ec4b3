"""Tables and figures of [stream] (docs/algorithms.md), A Streaming Approach For Efficient Batched Beam Search, with its numbers.

On parsers at most 100 hypotheses are expanded in a timestep, for every method. Greedy search has as many inputs in a batch as others have
hypotheses, since each of its inputs has one. var-stream holds more inputs than a batch has, and at most a quarter of them, so that it
refills at least four times. In translation there is no such limit: pruned methods have 64 inputs in flight, refilled or not.
"""

import json
import os
import random
import statistics

import figures
import paper_results
from paper_page import Chart, Grid, Lack, Note, Picture, Table
from paper_runs import QUESTIONS, mean_and_deviation, quality

EVERYTHING = "length:1000000"  # one window for everything: all inputs are sorted by length
HEADINGS = {"quality": "quality, %", "oracle": "oracle, %", "seconds": "seconds", "timesteps": "timesteps", "expansions": "expansions",
            "per step": "exp/step", "in flight": "in flight"}
METHODS = ("greedy", "fixed", "var-batch", "var-stream")
NO_GPU = "One thread of this processor runs a small model; the paper has a V100 and large models."
DEEN = ("Without --wmt19 the model is examples/models/de-en, a transformer of 4 + 4 layers of 128, and the inputs are Multi30K's captions. "
        "The paper has ensembles of five large models, and newstest's longer sentences. " + NO_GPU +
        " rill pads nothing, so mixed lengths cost it no more.")


def inputs_of(options):
    with open(options[1], encoding="utf-8") as file:
        return sum(1 for _ in file)


def in_flight(inputs, n):
    return max(n, min(100 * n, inputs_of(inputs) // 4))


def search(k, n, budget, threshold, children):
    return ["-k", str(k), "-n", str(n), "--max-batch-hypotheses", str(budget), "--prune-absolute", str(threshold),
            "--max-children", str(children), "--sort", EVERYTHING]


def parser(name, threshold, copies=1):
    """Measure the four methods with n = k = 10, M = 3, and at most 100 hypotheses in a timestep."""
    def part(runs):
        model, inputs = runs.model("wsj" if name == "ptb" else name), runs.test_set(name, copies)
        methods = ["greedy:n=100", "fixed", "var-batch", f"var-stream:max-in-flight={in_flight(inputs, 10)}"]
        return runs.bench(model, inputs, methods, search(10, 10, 100, threshold, 3))
    return part


# In translation only memory limits the paper's batches, whose sizes it adjusts in steps of 64. Its full beams of 50 had 599 hypotheses.
FULL = {5: 64, 50: 12}


def translation(k, methods, test_set="captions", news=None, limit=0):
    """Measure methods with the paper's pruning (threshold 1.5, 5 children): 64 inputs in flight, or {full} with full beams."""
    def part(runs):
        model, inputs = runs.news(*news) if news else (runs.model("de-en"), runs.test_set(test_set, lines=limit))
        return runs.bench(model, inputs, [method.format(full=FULL[k]) for method in methods], search(k, 64, 0, 1.5, 5))
    return part


def cells(method, columns):
    if "failed" in method:
        return "failed: " + method["failed"]
    run, percent = method["run"], lambda value: "–" if value is None else f"{value:.2f}"
    seconds = "{:.3g} ± {:.2g}".format(*mean_and_deviation(method["seconds"]))
    figures_of = {"quality": percent(quality(method)), "oracle": percent(method.get("oracle_percent")), "seconds": seconds,
                  "timesteps": f"{run['timesteps']:,}", "expansions": f"{run['expansions']:,}", "per step": f"{run['exp_per_step']:.1f}",
                  "in flight": f"{run['items_peak']:,}"}
    return [figures_of[column] for column in columns]


def methods_grid(title, columns, papers, results):
    """Return the grid of a table. papers: {label: its cells, or None}, in the order of the methods. The column "in flight" is only
    rill's."""
    rows = []
    for i, (label, row) in enumerate(papers.items()):
        ours = str(results) if isinstance(results, Lack) else cells(results[i], columns)
        rows.append((label, list(row) + [""] * (len(columns) - len(row)) if row else None, ours))
    return Grid(title, [HEADINGS[column] for column in columns], rows)


# --- table 1: methods on translation

COLUMNS_1 = ("quality", "seconds", "timesteps", "per step", "in flight")
ALL = ("greedy", "fixed:n={full}", "var-batch", "var-stream")
TABLE_1 = {
    ("de-en", 50): (("48.18", "39.01 ± 0.14"), ("49.57", "891.53 ± 0.77"), ("49.59", "308.15 ± 3.48"), ("49.59", "257.20 ± 0.54")),
    ("de-en", 5): (("48.18", "46.41 ± 0.23"), ("49.42", "102.25 ± 0.58"), ("49.46", "114.18 ± 0.17"), ("49.46", "92.39 ± 1.05")),
    ("ru-en", 50): (("37.84", "42.09 ± 1.33"), ("38.98", "893.23 ± 1.23"), ("39.04", "399.98 ± 1.25"), ("39.04", "342.18 ± 1.28")),
    ("ru-en", 5): (("37.84", "42.09 ± 1.33"), ("38.83", "103.59 ± 0.34"), ("39.03", "130.01 ± 2.33"), ("39.03", "95.45 ± 0.21")),
}
SMALL_GPU = {
    "de-en": (("48.18", "46.41 ± 0.23"), ("49.57", "2072.86 ± 23.18"), ("49.59", "645.70 ± 17.49"), ("49.59", "606.17 ± 4.96")),
    "ru-en": (("37.84", "52.26 ± 0.50"), ("38.98", "2155.95 ± 58.47"), ("39.04", "852.93 ± 9.11"), ("39.04", "803.72 ± 15.94")),
}


def show_table_1(results):
    out = []
    for (pair, k), papers in TABLE_1.items():
        ours = results[f"stream-wmt-{pair}-k{k}"]
        if isinstance(ours, Lack) and pair == "de-en":
            ours, title = results[f"stream-captions-k{k}"], f"k = {k}: newstest2018 De-En, GPU of 32 GB · Multi30K De-En"
        else:
            title = f"k = {k}: newstest2018 {pair.title()}, GPU of 32 GB"
        out.append(methods_grid(title, COLUMNS_1, dict(zip(METHODS, papers)), ours))
    for pair, papers in SMALL_GPU.items():
        rows = [(label, [*row, "", "", ""], None) for label, row in zip(METHODS, papers)]
        out.append(Grid(f"k = 50: newstest2018 {pair.title()}, GPU of 16 GB", [HEADINGS[one] for one in COLUMNS_1], rows))
    return out + [Note("A smaller GPU makes the paper's batches smaller; a processor has no counterpart, so rill's numbers are those "
                       "above.")]


# --- tables 2, 6, 7: parsers

COLUMNS_2 = ("quality", "oracle", "seconds", "per step", "in flight")
COLUMNS_67 = ("quality", "oracle", "seconds", "timesteps", "expansions", "per step", "in flight")
ATIS = (("86.4", "86.4", "1.4 ± 0.0", "46.5"), ("86.6", "91.2", "7.7 ± 0.1", "48.0"), ("86.6", "90.2", "8.2 ± 0.2", "16.9"),
        ("86.6", "90.2", "6.3 ± 0.1", "72.1"))
PTB = (("91.3", "91.3", "22.3 ± 0.2", "86.7"), ("91.2", "94.0", "224.2 ± 2.1", "97.1"), ("91.2", "93.8", "235.6 ± 1.8", "48.2"),
       ("91.2", "93.8", "220.5 ± 2.5", "95.7"))
JOBS = (("87.1", "87.1", "0.67 ± 0.02", "136", "2,715", "20.0"), ("87.1", "90.0", "2.36 ± 0.04", "705", "27,781", "39.4"),
        ("87.1", "89.3", "2.29 ± 0.02", "585", "5,071", "8.7"), ("87.1", "89.3", "1.47 ± 0.01", "126", "5,071", "40.2"))
GEO = (("82.5", "82.5", "0.96 ± 0.02", "138", "5,492", "39.8"), ("82.5", "89.3", "4.54 ± 0.09", "1,469", "57,550", "39.2"),
       ("82.5", "89.6", "4.77 ± 0.05", "1,344", "14,154", "10.5"), ("82.5", "89.6", "2.95 ± 0.04", "248", "14,154", "57.1"))
SEMPARSE = ("The models and their preprocessing are rill's own, of the paper's architecture. " + NO_GPU +
            " var-stream holds a quarter of the inputs; the paper holds more than a batch and does not say how many. "
            "With all inputs in flight GEO has 82.3 hypotheses in a timestep, and never refills.")


def show_table_2(results):
    ptb = results["stream-ptb"]
    syntax = methods_grid("Penn Treebank, section 23", COLUMNS_2, dict(zip(METHODS, PTB)), ptb) if not isinstance(ptb, Lack) else \
        methods_grid("Penn Treebank, section 23 · GUM's test set, ten times over", COLUMNS_2, dict(zip(METHODS, PTB)),
                     results["stream-gum"])
    return [methods_grid("ATIS", COLUMNS_2, dict(zip(METHODS, ATIS)), results["stream-atis"]), syntax]


def one_parser(part, title, papers):
    return lambda results: [methods_grid(title, COLUMNS_67, dict(zip(METHODS, papers)), results[part])]


# --- tables 3 to 5: variants and the ablation

def show_variants(columns, papers):
    def show(results):
        ours = results["stream-variants-wmt"]
        title = "newstest2018 De-En, k = 50"
        if isinstance(ours, Lack):
            ours, title = results["stream-variants"], title + " · Multi30K De-En"
        index = [VARIANTS.index(method) for method in papers]
        return [methods_grid(title, columns, {label: row for label, row in papers.values()},
                             ours if isinstance(ours, Lack) else [ours[i] for i in index])]
    return show


VARIANTS = ("fixed:n={full}", "fixed:n={full}:finish=top", "fixed-stream:n={full}", "var-batch", "var-stream", "var-stream-fifo")
TABLE_3 = {"fixed:n={full}": ("fixed, as fairseq", ("49.57", "891.53 ± 0.77")),
           "fixed:n={full}:finish=top": ("fixed, as var-stream ends", ("49.75", "1280.59 ± 5.34")),
           "fixed-stream:n={full}": ("fixed-stream", ("49.75", "1004.18 ± 6.82"))}
TABLE_4 = {"var-batch": ("var-batch", ("308.15 ± 3.48", "2,007")),
           "var-stream": ("var-stream", ("257.20 ± 0.54", "2,180")),
           "var-stream-fifo": ("var-stream-fifo", ("343.10 ± 0.41", "1,538"))}
TABLE_5 = {"fixed:n={full}": ("fixed", "42.71", "921.57 ± 2.95", "6,620", "3,967,200", "599"),
           "var-stream": ("var-stream, δ 1.5, M 5, ε 1/6", "42.71", "259.78 ± 2.52", "2,261", "651,786", "288"),
           "var-stream:absolute=0.5": ("δ 0.5", "42.49", "104.28 ± 1.35", "860", "131,108", "152"),
           "var-stream:absolute=2.5": ("δ 2.5", "42.72", "558.71 ± 5.49", "4,325", "1,788,047", "413"),
           "var-stream:max-children=3": ("M 3", "42.7", "248.45 ± 2.66", "2,070", "625,099", "302"),
           "var-stream:max-children=10": ("M 10", "42.71", "268.62 ± 3.91", "2,543", "655,300", "258"),
           "var-stream:refill=1/12": ("ε 1/12", "42.71", "255.03 ± 0.49", "2,479", "651,786", "263"),
           "var-stream:refill=1/4": ("ε 1/4", "42.71", "264.73 ± 1.05", "2,352", "651,786", "277")}


def show_table_5(results):
    columns = ("quality", "seconds", "timesteps", "expansions", "per step", "in flight")
    ours, title = results["stream-ablation-wmt"], "newstest2017 De-En, k = 50"
    if isinstance(ours, Lack):
        ours, title = results["stream-ablation"], title + " · Multi30K's development set"
    return [methods_grid(title, columns, {row[0]: row[1:] for row in TABLE_5.values()}, ours)]


# --- figures

def drawing(runs):
    """Draw the rows of each timestep and the refills, for the questions of this repository: k = 2, n = 3, ε = 1/3."""
    trace = runs.place("trace.jsonl")
    runs.decode(runs.model("de-en"), ["-i", os.path.join(QUESTIONS, "de-en.txt")], "-k", "2", "-n", "3", "--refill-threshold", "1/3",
                "--method", "var-stream", "--trace", trace, "-o", runs.place("out"))
    rows, admitted = figures.read_trace(trace)
    return {"rows": rows, "admitted": admitted}


def show_figure_1(results):
    found = results["stream-drawing"]
    if isinstance(found, Lack):
        return [Note(found)]
    sentence = (f"{len(found['rows'])} timesteps expand {sum(found['rows'])} hypotheses of eight sentences; new ones come in "
                f"{len(found['admitted'])} times (triangles).")
    return [Picture("var-stream, k = 2, n = 3, ε = 1/3", sentence,
                    figures.draw_traces([("var-stream", found["rows"], found["admitted"])], width=380))]


def step_times(runs):
    """Measure microseconds per hypothesis of a timestep, by the length of its hypotheses: medians over the timesteps of all runs."""
    lines = [line.rstrip("\n") for line in open(runs.test_set("captions")[1], encoding="utf-8")]
    texts = runs.copied("long.de", [text + "\n" for text in paper_results.spread(lines, 35, 12, random.Random(1))])
    found = {}
    for _ in range(runs.runs):
        trace = runs.place("trace.jsonl")
        runs.decode(runs.model("de-en"), ["-i", texts], "-k", "5", "-n", "32", "--sort", EVERYTHING, "--method", "fixed",
                    "--trace", trace, "-o", runs.place("out"))
        with open(trace, encoding="utf-8") as file:
            for line in file:
                event = json.loads(line)
                if event["event"] == "timestep" and event["rows"] >= 80:
                    seconds = event["seconds"]
                    found.setdefault(max(event["depths"]) + 1, []).append(1e6 * (seconds["total"] - seconds["encode"]) / event["rows"])
    return [(length, statistics.median(times)) for length, times in sorted(found.items()) if length <= 40]


def show_figure_2(results):
    found = results["stream-step-times"]
    if isinstance(found, Lack):
        return [Note(found)]
    return [Chart("Time of a timestep", "length of its hypotheses", "µs per hypothesis", {"rill": [tuple(point) for point in found]}),
            Note("In the paper the median time of a timestep grows about linearly with the length, up to 40.")]


WMT_18 = {f"stream-wmt-{pair}-k{k}": translation(k, ALL, news=(pair, 2018)) for pair in ("de-en", "ru-en") for k in (50, 5)}
VARIANT_PARTS = {"stream-variants": translation(50, VARIANTS), "stream-variants-wmt": translation(50, VARIANTS, news=("de-en", 2018))}
TABLES = [
    Table("stream-table-1", "methods on translation", 5,
          "BLEU and seconds of greedy search, full beams, pruned beams in batches, and pruned beams in a stream: k = 50 and 5, δ = 1.5, "
          "M = 5, ε = 1/6.",
          DEEN, {"stream-captions-k50": translation(50, ALL), "stream-captions-k5": translation(5, ALL), **WMT_18}, show_table_1),
    Table("stream-table-2", "methods on parsers", 3,
          "F1 (ATIS: exact match), that of the best output of the beam (oracle), seconds, and hypotheses expanded per timestep: n = k = "
          "10, at most 100 hypotheses in a timestep, δ = 10 (ATIS) and 2.5, M = 3. Inputs are sorted by length.",
          SEMPARSE + " Without the Penn Treebank GUM takes its place. GUM's trees are those of another parser. Ten copies of its 452 "
                     "sentences are nearly twice as many as section 23 has.",
          {"stream-atis": parser("atis", 10), "stream-gum": parser("gum", 2.5, 10), "stream-ptb": parser("ptb", 2.5)}, show_table_2),
    Table("stream-table-3", "full beams, three ways", 10,
          "What the paper's rule of ending a search gives without pruning, and what refilling then saves.",
          DEEN, VARIANT_PARTS, show_variants(("quality", "seconds", "timesteps", "in flight"), TABLE_3)),
    Table("stream-table-4", "schedules", 10,
          "Seconds and timesteps of batches, of a stream that expands the shortest hypotheses first, and of one that expands the longest "
          "first.",
          DEEN, VARIANT_PARTS, show_variants(("seconds", "timesteps", "per step", "in flight"), TABLE_4)),
    Table("stream-table-5", "ablation", 2,
          "Threshold δ, children M and refill threshold ε, on the first 300 lines of a development set: k = 50.",
          DEEN, {"stream-ablation": translation(50, TABLE_5, "captions-dev", limit=300),
                 "stream-ablation-wmt": translation(50, TABLE_5, news=("de-en", 2017))}, show_table_5),
    Table("stream-table-6", "methods on JOBS", 1, "As table 2, for the queries of JOBS: δ = 10.", SEMPARSE,
          {"stream-jobs": parser("jobs", 10)}, one_parser("stream-jobs", "JOBS", JOBS)),
    Table("stream-table-7", "methods on GEO", 1, "As table 2, for the queries of GEO: δ = 10.", SEMPARSE,
          {"stream-geo": parser("geo", 10)}, one_parser("stream-geo", "GEO", GEO)),
    Table("stream-figure-1", "a run, drawn", 1, "Hypotheses of each timestep of var-stream, and its refills.",
          "The paper's drawing is made up; this one is a run on the sentences of examples/questions/de-en.txt.",
          {"stream-drawing": drawing}, show_figure_1),
    Table("stream-figure-2", "time of a timestep by length", 1,
          "Whether a timestep of longer hypotheses takes longer, which makes equal lengths worth having on hardware that pads.",
          "Full beams of k = 5 on captions joined to 35 ± 12 words, of timesteps with at least 80 hypotheses. " + NO_GPU,
          {"stream-step-times": step_times}, show_figure_2),
]
