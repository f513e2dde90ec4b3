"""Tables and figures of [lmbr] (docs/algorithms.md), Accelerating NMT Batched Beam Decoding with LMBR Posteriors, with its numbers.

Its systems are a GRU ensemble (FNMT), the same with posteriors of a phrase-based system's lattices (LNMT), a transformer (TNMT), and that
with
posteriors (LTNMT). Here the posteriors are of the other architecture's n-best lists.
"""

import itertools
import statistics

import lmbr
from paper_page import Chart, Grid, Lack, Note, Table
from paper_runs import RILL, quality

SCALE, LIST = 8, 10
WIDE = ["-k", str(LIST), "--n-best", str(LIST), "--min-width", str(LIST), "--max-children", str(LIST)]
FULL = ["--prune-absolute", "1e30", "--max-children", "1000"]
STAGES = ("encode", "step", "score", "scorers")
# name -> model, and the model whose n-best lists are the evidence
SYSTEMS = {"GRU": ("de-en-rnn", "de-en"), "transformer": ("de-en", "de-en-rnn")}
DIFFERS = ("Two small networks (examples/models/de-en-rnn and de-en) translate Multi30K's captions. The paper has ensembles on "
           "five pairs of languages. The other network's 10-best lists replace a phrase-based system's lattices, and one thread of"
           " this processor a GPU.")


def evidence(runs, inputs, model, of):
    """Make a file of evidence for a model from the n-best lists of another; return its path."""
    lists, file = runs.place("lists"), runs.place("evidence")
    runs.decode(runs.model(of), inputs[:2], *WIDE, "-o", lists)
    runs.command([RILL, "evidence", lists, *runs.model(model), "-o", file, "--scale", str(SCALE)])
    return file


# --- table 1: quality

def measure_quality(system):
    """Measure BLEU without and with posteriors; T and p are the best of a grid on the development set."""
    def part(runs):
        model, of = SYSTEMS[system]
        sets = {part: runs.test_set(name) for part, name in (("dev", "captions-dev"), ("test", "captions"))}

        def bleu(part, *options):
            return quality(runs.bench(runs.model(model), sets[part], ["stream-all"], list(options), runs=1)[0])
        if "--refs" not in sets["dev"] or "--refs" not in sets["test"]:
            return {"plain": None, "posteriors": None, "theta": "none: no references"}
        file = evidence(runs, sets["dev"], model, of)
        grid = [f"T={t:g},p={p:g},r={r:g}" for t, p, r in itertools.product(*lmbr.GRID)]
        best = max(grid, key=lambda theta: bleu("dev", "--lmbr", f"{file},{theta}"))
        file = evidence(runs, sets["test"], model, of)
        return {"plain": bleu("test"), "posteriors": bleu("test", "--lmbr", f"{file},{best}"), "theta": best}
    return part


TABLE_1 = {"PBMT": ("28.9", "19.6", "15.8", "33.4", "18.0"),
           "FNMT (GRU)": ("32.8", "26.1", "20.8", "39.1", "25.3"),
           "LNMT (with posteriors)": ("33.7", "26.6", "22.0", "40.4", "26.1"),
           "TNMT (transformer)": ("35.2", "28.9", "24.8", "44.6", "29.4"),
           "LTNMT (with posteriors)": ("35.4", "29.2", "25.4", "44.9", "30.2"),
           "best submission": ("35.1", "28.3", "26.4", "43.3", "28.4")}


def show_table_1(results):
    rows = [(label, row, None) for label, row in TABLE_1.items()]
    ours = []
    for system in SYSTEMS:
        found = results["lmbr-quality-" + system]
        for label, key in ((system, "plain"), (system + ", with posteriors", "posteriors")):
            cells = found
            if not isinstance(found, Lack):
                cells = "no references" if found[key] is None else [f"{found[key]:.2f}", found["theta"] if key == "posteriors" else ""]
            ours.append((label, None, cells))
    return [Grid("Paper: cased BLEU", ["De-En", "En-De", "Zh-En", "En-Ja", "Ja-En"], rows),
            Grid("rill: BLEU on Multi30K De-En", ["BLEU", "parameters, chosen on the development set"], ours),
            Note("Paper: posteriors gain 0.5 to 1.3 on the GRU ensemble and 0.2 to 0.8 on the transformer.")]


# --- table 2: research and accelerated settings

NARROW = ["-k", "4", "--prune-relative", "0.01", "--max-children", "1000"]
SETTINGS = {"research": ["-k", "12", *FULL], "accelerated": [*NARROW, "--weights", "int8"]}


def measure_speed(runs):
    """Measure BLEU and words per minute of the GRU network, without and with posteriors, one sentence at a time."""
    model, of = SYSTEMS["GRU"]
    inputs, found = runs.test_set("captions", lines=300), {}
    file = evidence(runs, inputs, model, of)
    with open(inputs[1], encoding="utf-8") as text:
        words = sum(len(line.split()) for line in text)
    for posteriors, setting in itertools.product((False, True), SETTINGS):
        options = [*SETTINGS[setting], "-n", "1", *(["--lmbr", f"{file},T=16,p=0.5"] if posteriors else [])]
        one = runs.bench(runs.model(model), inputs, ["var-batch"], options)[0]
        found[f"{'LNMT' if posteriors else 'FNMT'} {setting}"] = [quality(one), 60 * words / statistics.mean(one["seconds"])]
    return found


TABLE_2 = {"FNMT research": ("26.1", "2,207"), "FNMT accelerated": ("25.2", "9,449"), "LNMT research": ("26.6", "263"),
           "LNMT accelerated": ("25.7", "4,927")}


def show_table_2(results):
    ours = results["lmbr-speed"]
    rows = [(label, papers, ours if isinstance(ours, Lack) else
             ["–" if ours[label][0] is None else f"{ours[label][0]:.2f}", f"{ours[label][1]:,.0f}"]) for label, papers in TABLE_2.items()]
    return [Grid("En-De · Multi30K De-En, one sentence at a time", ["BLEU", "source words a minute"], rows),
            Note("Research is k = 12, accelerated k = 4 with hypotheses below 0.01 of the best one's probability dropped. The paper's "
                 "accelerated systems are also one network shrunk from an ensemble; here the weights are int8 in its place. rill looks "
                 "posteriors up as it decodes, so they cost much less here.")]


# --- figures

def measure_stages(runs):
    """Measure the share of time by stage, for the GRU network with posteriors at k = 12."""
    model, of = SYSTEMS["GRU"]
    inputs = runs.test_set("captions", lines=300)
    file, found = evidence(runs, inputs, model, of), {}
    for label, more in (("FNMT", []), ("LNMT", ["--lmbr", f"{file},T=16,p=0.5"])):
        run = runs.bench(runs.model(model), inputs, ["var-batch"], [*SETTINGS["research"], "-n", "1", *more], runs=1)[0]["run"]["seconds"]
        found[label] = {**{stage: run[stage] for stage in STAGES}, "total": run["total"]}
    return found


def show_figure_1(results):
    ours, rows = results["lmbr-stages"], []
    for label in ("FNMT", "LNMT"):
        cells = ours
        if not isinstance(ours, Lack):
            shares = [100 * ours[label][stage] / ours[label]["total"] for stage in STAGES]
            cells = [f"{share:.1f} %" for share in (*shares, 100 - sum(shares))]
        rows.append((label, None, cells))
    return [Grid("Share of the time, k = 12, one sentence at a time", ["encoder", "decoder", "output layer", "posteriors", "the rest"],
                 rows),
            Note("The paper draws the time by part; its posteriors take most of it (263 words a minute with, 2,207 without), in a dense "
                 "matrix.")]


def measure_rows(runs):
    """Measure microseconds per hypothesis by beam size, one sentence at a time."""
    inputs, found = runs.test_set("captions", lines=200), []
    for k in (1, 2, 4, 8, 12):
        one = runs.bench(runs.model("de-en-rnn"), inputs, ["fixed:finish=top"], ["-k", str(k), "-n", "1"])[0]
        found.append([k, one["run"]["expansions"], statistics.mean(one["seconds"])])
    return found


def show_figure_2(results):
    ours = results["lmbr-rows"]
    if isinstance(ours, Lack):
        return [Note(ours)]
    alone = ours[0][2] / ours[0][1]  # at k = 1 a timestep has one row
    gains = [(k, alone * rows / seconds) for k, rows, seconds in ours]
    return [Chart("Hypotheses of a beam together against one by one", "beam size", "times as fast", {"rill": gains}),
            Note(f"Paper: 5 times as fast at a beam of 12; rill: {gains[-1][1]:.1f} times. rill always computes a beam's hypotheses "
                 "together, so one by one is computed: as many hypotheses, each at the cost of one at k = 1.")]


def measure_sentences(runs):
    """Measure words per minute at k = 4, with 1 to 7 sentences at a time."""
    inputs, found = runs.test_set("captions", lines=500), {}
    with open(inputs[1], encoding="utf-8") as text:
        words = sum(len(line.split()) for line in text)
    methods = {(n, order): f"var-batch:n={n}" + (":sort=length:1000000" if order == "sorted" else "") for n in range(1, 8)
               for order in ("unsorted", "sorted")}
    several = runs.bench(runs.model("de-en-rnn"), inputs, list(methods.values()), NARROW)
    for (n, order), one in zip(methods, several):
        found.setdefault(order, []).append([n, 60 * words / statistics.mean(one["seconds"])])
    return found


def show_figure_3(results):
    ours = results["lmbr-sentences"]
    if isinstance(ours, Lack):
        return [Note(ours)]
    gain = ours["sorted"][-1][1] / ours["sorted"][0][1]
    points = {name: [tuple(point) for point in line] for name, line in ours.items()}
    return [Chart("Sentences at a time, k = 4, width 0.01", "sentences at a time", "source words a minute", points),
            Note("Paper: 9,449 words a minute at one sentence, almost 21,000 at 5, beyond 24,000 at 7: 2.5 times as fast. "
                 f"rill: {gain:.2f} times at 7.")]


TABLES = [
    Table("lmbr-table-1", "posteriors and quality", 3,
          "BLEU of two architectures, without and with n-gram posteriors of another system.", DIFFERS,
          {"lmbr-quality-" + system: measure_quality(system) for system in SYSTEMS}, show_table_1),
    Table("lmbr-table-2", "research and accelerated settings", 1,
          "BLEU and words a minute of large unpruned beams and of small pruned ones.", DIFFERS, {"lmbr-speed": measure_speed},
          show_table_2),
    Table("lmbr-figure-1", "time by part", 1, "Where the time of decoding with posteriors goes.", DIFFERS,
          {"lmbr-stages": measure_stages}, show_figure_1),
    Table("lmbr-figure-2", "hypotheses together", 1, "What computing the hypotheses of a beam together gains, by beam size.", DIFFERS,
          {"lmbr-rows": measure_rows}, show_figure_2),
    Table("lmbr-figure-3", "sentences together", 2,
          "Words a minute with several sentences at a time, in the order of the set and sorted by length.", DIFFERS,
          {"lmbr-sentences": measure_sentences}, show_figure_3),
]
