"""Tables and figures of [topup] (docs/algorithms.md), Faster Neural Machine Translation Inference, with its numbers.

Its model is a GRU network with a vocabulary of 85,000, beam 5, batches of 128, sorted in windows of 1,280. Its test sets differ in length,
so
captions are cut and joined to two spreads of length here: "long" stands for Europarl, "short" for OpenSubtitles.
"""

import json
import os
import random
import re
import statistics

import paper_results
from paper_page import Chart, Grid, Lack, Note, Table
from paper_runs import ROOT, mean_and_deviation

LINES = 500
WINDOW = "length:1280"
BATCHES = (8, 32, 128)
SETS = {"long": "Europarl", "short": "OpenSubtitles"}
OPEN = ["--prune-absolute", "1e30", "--max-children", "1000"]
SCHEDULES = {"batch": "var-batch:n={n}", "batch, sorted": "var-batch:n={n}:sort=" + WINDOW,
             "top-up": "top-up:n={n}", "top-up, sorted": "top-up:n={n}:sort=" + WINDOW}
DIFFERS = ("The network is a GRU of 192 and 256 units with a vocabulary of 8,001 (examples/models/de-en-rnn). The paper's has 512 "
           "units and a vocabulary of 85,000. The test sets are captions, cut and joined to two spreads of length. One thread of "
           "this processor runs rill, and a GTX 1060 ran the paper's system. A processor's time per hypothesis hardly depends on "
           "the batch size. So fuller batches gain little here.")


def texts(runs, name):
    """Return captions, cut and joined to a spread of lengths."""
    with open(runs.test_set("captions", lines=LINES)[1], encoding="utf-8") as file:
        lines = file.read().splitlines()
    return runs.copied(name + ".de", [text + "\n" for text in paper_results.spread(lines, *paper_results.SPREADS[name], random.Random(1))])


# --- table 1: the test sets

def count(runs):
    found = {}
    for name in SETS:
        with open(texts(runs, name), encoding="utf-8") as file:
            lengths = [len(line.split()) for line in file]
        found[name] = [len(lengths), sum(lengths), statistics.mean(lengths), statistics.pstdev(lengths)]
    return found


TABLE_1 = {"long": ("30,000", "787,908 subwords", "26.3 ± 14.9"), "short": ("50,000", "467,654 subwords", "9.4 ± 6.1")}


def show_table_1(results):
    ours, rows = results["topup-sets"], []
    for name, papers in TABLE_1.items():
        cells = ours if isinstance(ours, Lack) else "{:,}|{:,} words|{:.1f} ± {:.1f}".format(*ours[name]).split("|")
        rows.append((f"{SETS[name]} · {name} texts", papers, cells))
    return [Grid("Test sets", ["sentences", "length", "mean, deviation"], rows)]


# --- tables 2 and 3, figures 1 and 5: the output layer's time

def profile(name):
    def part(runs):
        text, found = texts(runs, name), {}
        for k in (1, 5):
            for form in ("separate", "fused"):
                one = runs.bench(runs.model("de-en-rnn"), ["-i", text], ["var-batch:sort=" + WINDOW], ["-k", str(k), "-n", "128", *OPEN],
                                 unfused=form == "separate", runs=1, profile=True)[0]
                found[f"{form} {k}"] = shares(one)
        return found
    return part


def shares(method):
    """Measure the seconds of the product with the vocabulary, of the rest of the output layer, of the decoder, of the encoder, and of
    everything."""
    def seconds(program, product):
        return sum(one["seconds"] for one in method["profile"] if one["program"] == program and (product is None or
                   one["operation"].startswith("product") == product))
    return {"multiply": seconds("score", True), "rest": seconds("score", False), "decoder": seconds("step", None),
            "encoder": seconds("encode", None), "total": method["run"]["seconds"]["total"]}


TABLES_23 = {("long", 1): (("25.62", "34.43 (4.98, 12.81, 16.64)", ""), ("26.47", "7.94", "−76.9 %")),
             ("long", 5): (("112.9", "155.39 (23.66, 56.61, 75.12)", ""), ("115.04", "67.58", "−56.5 %")),
             ("short", 1): (("21.47", "26.03 (3.29, 8.83, 13.91)", ""), ("21.94", "5.70", "−78.1 %")),
             ("short", 5): (("79.66", "120.61 (14.95, 36.86, 68.80)", ""), ("80.01", "42.91", "−64.4 %"))}


def show_fusion(name):
    def show(results):
        rows, ours = [], results["topup-profile-" + name]
        for k in (1, 5):
            for form, papers in zip(("separate", "fused"), TABLES_23[name, k]):
                cells = ours
                if not isinstance(ours, Lack):
                    slow, one = ours[f"separate {k}"], ours[f"{form} {k}"]
                    change = 100 * (one["rest"] / slow["rest"] - 1)
                    cells = [f"{one['multiply']:.3f}", f"{one['rest']:.3f}", f"{change:+.1f} %" if form == "fused" else ""]
                rows.append((f"beam {k}, {form}", papers, cells))
        return [Grid(f"{SETS[name]} · {name} texts", ["multiplication, s", "bias, softmax, search, s", "change"], rows), *kernel(results)]
    return show


def measure_kernel(runs):
    """Measure the output layer without the product, in thousand rows per second, fused and in separate passes, for the paper's
    vocabulary."""
    text = runs.command([os.path.join(ROOT, "build", "bench", "bench_kernels"), "best"])
    return [[int(b), float(fused), float(apart)] for b, fused, apart in
            re.findall(r"V=85000 +B=(\d+) +([\d.]+) .*unfused +([\d.]+)", text)]


def kernel(results):
    ours = results["topup-kernel"]
    if isinstance(ours, Lack):
        return [Note(f"The layer alone: {ours}")]
    rows = [(f"beam {b}", None, [f"{1e3 / apart:.0f}", f"{1e3 / fused:.1f}", f"{100 * (apart / fused - 1):+.1f} %"]) for b, fused,
            apart in ours]
    return [Grid("The same three steps alone, at a vocabulary of 85,000", ["separate, µs a row", "fused", "change"], rows)]


def show_shares(form, sentence):
    def show(results):
        rows = []
        for name in SETS:
            ours = results["topup-profile-" + name]
            for k in (1, 5):
                cells = ours
                if not isinstance(ours, Lack):
                    one = ours[f"{form} {k}"]
                    cells = [f"{100 * one[part] / one['total']:.0f} %" for part in ("multiply", "rest", "decoder", "encoder")]
                rows.append((f"{name} texts, beam {k}", None, cells))
        return [Grid("Share of the time", ["multiplication", "bias, softmax, search", "decoder", "encoder"], rows), Note(sentence)]
    return show


# --- figures 2 and 8: sentences in the batch

def sentences_in_flight(runs):
    """Count for each text and schedule how many timesteps expanded how many sentences."""
    found = {}
    for name in SETS:
        text = texts(runs, name)
        for schedule, method in SCHEDULES.items():
            method, _, *order = method.format(n=128).split(":", 2)
            trace, counts = runs.place("trace.jsonl"), {}
            runs.decode(runs.model("de-en-rnn"), ["-i", text], "--method", method, "-n", "128", "-k", "5", *OPEN, "--trace", trace,
                        "-o", runs.place("out"), *[word for one in order for word in ("--sort", one.removeprefix("sort="))])
            with open(trace, encoding="utf-8") as file:
                for line in file:
                    event = json.loads(line)
                    if event["event"] == "timestep":
                        counts[event["selected"]] = counts.get(event["selected"], 0) + 1
            found[f"{name}: {schedule}"] = sorted(counts.items())
    return found


def show_sentences(sentence):
    def show(results):
        ours = results["topup-sentences"]
        if isinstance(ours, Lack):
            return [Note(ours)]
        rows = []
        for name, counts in ours.items():
            steps = sum(times for _, times in counts)
            most = max(count for count, _ in counts)
            rows.append((name, None, [steps, f"{100 * sum(t for c, t in counts if c >= 0.9 * most) / steps:.0f} %",
                                      f"{100 * sum(t for c, t in counts if c < 8) / steps:.0f} %",
                                      f"{sum(c * t for c, t in counts) / steps:.0f}"]))
        return [Grid("Sentences in a timestep, batches of 128", ["timesteps", "at least 90 % full", "below 8 sentences", "mean"], rows),
                Note(sentence)]
    return show


# --- figures 3, 4, 6, 7, 9, 10: speed over batch sizes

def speeds(name):
    """Measure the sentences per second of each schedule, with the output layer in separate passes and fused, in turn."""
    def part(runs):
        text, seconds = texts(runs, name), {"separate": {}, "fused": {}}
        methods = [method.format(n=n) for method in SCHEDULES.values() for n in BATCHES]
        with open(text, encoding="utf-8") as file:
            lines = sum(1 for _ in file)
        for _ in range(runs.runs):
            for form, found in seconds.items():
                measured = runs.bench(runs.model("de-en-rnn"), ["-i", text], methods, ["-k", "5", *OPEN], form == "separate", runs=1)
                for one in measured:
                    if "seconds" in one:
                        found.setdefault(one["method"], []).extend(one["seconds"])
        return {form: {method: lines / mean_and_deviation(times)[0] for method, times in found.items()} for form, found in seconds.items()}
    return part


def show_speeds(name, lines, sentence):
    """Return a function that shows speeds. lines: {label: (form, schedule)}; gains are relative to the first line."""
    def show(results):
        series, ours = {}, results["topup-speed-" + name]
        if isinstance(ours, Lack):
            return [Note(ours)]
        for label, (form, schedule) in lines.items():
            series[label] = [(n, ours[form][SCHEDULES[schedule].format(n=n)]) for n in BATCHES
                             if SCHEDULES[schedule].format(n=n) in ours[form]]
        first, *others = series.values()
        gains = [100 * (y / one[1] - 1) for other in others for one, (_, y) in zip(first, other)]
        return [Chart(f"{SETS[name]} · {name} texts", "batch size", "sentences per second", series),
                Note(f"Paper: {sentence} rill: {min(gains):+.0f} to {max(gains):+.0f} %.")]
    return show


FUSING = {"separate": ("separate", "batch"), "fused": ("fused", "batch")}
PROFILES = {"topup-profile-" + name: profile(name) for name in SETS}
SPEED = "Sentences per second over batch sizes, "
SPEEDS = {"topup-speed-" + name: speeds(name) for name in SETS}
IN_FLIGHT = {"topup-sentences": sentences_in_flight}


def fusion_table(number, name):
    return Table(f"topup-table-{number}", f"the fused output layer on {SETS[name]}", 2,
                 "Seconds of the output layer: the product with the vocabulary; and bias, softmax and search for the best, as three "
                 "passes and as one.",
                 DIFFERS + " The three passes are one operation in rill's profile; the paper's are in parentheses. A profile is one run.",
                 {"topup-profile-" + name: PROFILES["topup-profile-" + name], "topup-kernel": measure_kernel}, show_fusion(name))


def fusion_figure(number, name, gain, minutes):
    return Table(f"topup-figure-{number}", f"fusing on {SETS[name]}", minutes, SPEED + "with the output layer in separate passes and "
                 "fused.",
                 DIFFERS, {"topup-speed-" + name: SPEEDS["topup-speed-" + name]}, show_speeds(name, FUSING, f"up to {gain} % faster."))


def topup_figure(number, sorting, schedules, sentence):
    lines = {schedule: ("fused", schedule) for schedule in schedules}
    return Table(f"topup-figure-{number}", f"top-up {sorting}", 17, SPEED + f"in batches and topped up, {sorting}.",
                 DIFFERS, SPEEDS,
                 lambda results: [piece for name in SETS for piece in show_speeds(name, lines, sentence)(results)])


def both_figure(number, name, unsorted, in_order, minutes):
    def show(results):
        return [piece for order, sentence in (("", unsorted), (", sorted", in_order)) for piece in show_speeds(
            name, {f"separate, batch{order}": ("separate", "batch" + order), f"fused, top-up{order}": ("fused", "top-up" + order)},
            sentence)(results)]
    return Table(f"topup-figure-{number}", f"both on {SETS[name]}", minutes,
                 SPEED + "from separate passes in batches to the fused layer with top-up.", DIFFERS,
                 {"topup-speed-" + name: SPEEDS["topup-speed-" + name]}, show)


TABLES = [
    Table("topup-table-1", "test sets", 1, "Sentences and lengths of the test sets.", DIFFERS, {"topup-sets": count}, show_table_1),
    fusion_table(2, "long"),
    fusion_table(3, "short"),
    Table("topup-figure-1", "share of the output layer", 3, "Where the time goes before fusing.", DIFFERS, PROFILES,
          show_shares("separate", "Paper: nearly 70 % of the time in the output layer.")),
    Table("topup-figure-2", "sentences in a batch", 1, "How full the batch is during decoding.", DIFFERS, IN_FLIGHT,
          show_sentences("Paper: the batch is full in 42 % of the iterations.")),
    fusion_figure(3, "long", "+23", 11),
    fusion_figure(4, "short", "+41", 6),
    Table("topup-figure-5", "share of the output layer, fused", 3, "Where the time goes after fusing.", DIFFERS, PROFILES,
          show_shares("fused", "Paper: figures 1 and 5 show the share of the output layer, nearly 70 %.")),
    topup_figure(6, "with inputs sorted in windows of 1,280", ("batch, sorted", "top-up, sorted"), "2 to 18 % slower."),
    topup_figure(7, "without sorting", ("batch", "top-up"), "up to 12 % faster."),
    Table("topup-figure-8", "sentences in a batch, by set", 1, "How full batches are: Europarl sorted, OpenSubtitles unsorted.", DIFFERS,
          IN_FLIGHT, show_sentences("Paper: below 8 sentences in 20 % of the iterations (Europarl, sorted) and 50 % (OpenSubtitles, "
                                    "unsorted).")),
    both_figure(9, "long", "34 % faster, unsorted.", "21 % faster, sorted.", 11),
    both_figure(10, "short", "57 % faster, unsorted.", "41 % faster, sorted.", 6),
]
