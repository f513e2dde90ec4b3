"""Tables and figures of [cube] (docs/algorithms.md), Speeding Up Neural Machine Translation Decoding by Cube Pruning, with its numbers.

Forms of the search: the plain beam (NBS), naive and accelerated cube pruning (NCP, ACP), each with scores normalised by the softmax, and,
with
a network trained to be self-normalised (SN), with logits. The repository ships no such network; --models may have one, de-en-rnn-selfnorm.
"""

import json

import cube_pruning
from paper_page import Chart, Grid, Lack, Note, Table
from paper_runs import RILL, Missing

WIDTHS = (1, 2, 3, 4, 8, 10, 15, 18, 20, 30, 40)
LINES, BATCH = 500, 32
NAMES = {"plain": "NBS", "naive": "NCP", "accelerated": "ACP"}
NETWORKS = {"": ("de-en-rnn", "logp"), "+SN": ("de-en-rnn-selfnorm", "logits")}
DIFFERS = ("The network is a GRU of 192 and 256 units with a vocabulary of 8,001, on Multi30K De-En. The paper's has 512 units and"
           " a vocabulary of 30,000, on Zh-En MT03. So more of rill's time is outside the output layer. One thread of this "
           "processor runs rill, and the paper has a GPU and a CPU. Shorter sentences have smaller equivalence classes.")


def measure_width(width, network):
    """Measure the three forms at a beam size, with their case-insensitive BLEU."""
    model, scores = NETWORKS[network]

    def part(runs):
        model_options = runs.model(model)
        inputs = runs.test_set("captions", lines=LINES)
        methods = [f"stream-all:cube={form}" for form in cube_pruning.FORMS]
        options = ["-k", str(width), "-n", str(BATCH), "--finish", "shrink", "--length-penalty", "1", "--scores", scores,
                   "--prune-absolute", "1e30", "--max-children", str(width)]
        found, plain = [], None
        for form, method in zip(cube_pruning.FORMS, runs.bench(model_options, inputs, methods, options)):
            if "failed" in method:
                raise Missing(f"{form}: {method['failed']}")
            method["seconds_median"] = sum(method["seconds"]) / len(method["seconds"])
            plain = plain or method["seconds_median"]
            method.setdefault("bleu_percent", None)
            row = cube_pruning.row_of(form, method, plain)
            if "--refs" in inputs:
                runs.decode(model_options, inputs[:2], *options, "--method", "stream-all", "--cube", form, "-o", runs.place("out"))
                row["bleu"] = caseless(runs, runs.place("out"), inputs[3])
            found.append(row)
        return found
    return part


def caseless(runs, outputs, references):
    paths = []
    for path, name in ((outputs, "out.lower"), (references, "refs.lower")):
        with open(path, encoding="utf-8") as file:
            paths.append(runs.copied(name, [line.lower() for line in file]))
    return json.loads(runs.command([RILL, "eval", "--metric", "bleu", "--refs", paths[1], "--json", "-", paths[0]]))["bleu_percent"]


def widths(*networks):
    return {f"cube-k{width}{network}": measure_width(width, network) for network in networks or NETWORKS for width in WIDTHS}


def series(results, value, forms=tuple(NAMES)):
    """Return {form: [(width, value)]} of the measured widths, and the reasons why others are missing."""
    found, lacks = {}, []
    for network in NETWORKS:
        for width in WIDTHS:
            ours = results[f"cube-k{width}{network}"]
            if isinstance(ours, Lack):
                lack = f"{network or 'without SN'}: {ours}"
                lacks += [lack] if lack not in lacks else []
                continue
            for row in ours:
                if row["form"] in forms and value(width, row) is not None:
                    found.setdefault(NAMES[row["form"]] + network, []).append(value(width, row))
    return found, [Note(lack + ".") for lack in lacks]


# --- table 1

EQUATIONS = ("state (6)", "readout (7)", "logits (8)", "normaliser and search (9)")
TABLE_1 = {"GPU": ("551.07 (75.73 %)", "88.25 (12.13 %)", "25.33 (3.48 %)", "63.00 (8.66 %)"),
           "CPU": ("1370.92 (19.42 %)", "277.76 (3.93 %)", "2342.53 (33.18 %)", "3069.25 (43.47 %)")}


def measure_equations(runs):
    one = runs.bench(runs.model("de-en-rnn"), runs.test_set("captions", lines=LINES), ["stream-all"],
                     ["-k", "10", "-n", str(BATCH), "--finish", "shrink", "--prune-absolute", "1e30", "--max-children", "10"], runs=1,
                     profile=True)[0]
    seconds = dict.fromkeys(EQUATIONS, 0.0)
    for operation in one["profile"]:
        product = operation["operation"].startswith("product")
        if operation["program"] == "score":
            seconds[EQUATIONS[2 if product else 3]] += operation["seconds"]
        elif operation["program"] == "step":
            seconds[EQUATIONS[1 if operation["operation"].startswith("product 160 x") else 0]] += operation["seconds"]
    return seconds


def show_table_1(results):
    ours = results["cube-equations"]
    cells = ours
    if not isinstance(ours, Lack):
        total = sum(ours.values())
        cells = [f"{value:.3f} ({100 * value / total:.1f} %)" for value in ours.values()]
    rows = [(place, papers, cells if place == "CPU" else None) for place, papers in TABLE_1.items()]
    return [Grid("Plain beam of 10, seconds and share by equation", list(EQUATIONS), rows)]


# --- figures

def measure_lengths(runs):
    """Measure the number of classes at k = 30 for the shortest, middle and longest third of the sentences."""
    text = sorted(runs.lines_of(runs.test_set("captions", lines=LINES)[1]), key=lambda line: len(line.split()))
    third, found = len(text) // 3, []
    for start in (0, third, 2 * third):
        part = text[start:start + third]
        stats = runs.decode(runs.model("de-en-rnn"), ["-i", runs.copied("third", part)], "-k", "30", "-n", str(BATCH), "--finish", "shrink",
                            "--length-penalty", "1", "--prune-absolute", "1e30", "--max-children", "30", "--method", "stream-all",
                            "--cube", "accelerated", "-o", runs.place("out"))
        found.append([sum(len(line.split()) for line in part) / len(part), stats["cube_hypotheses"], stats["cube_classes"]])
    return found


def by_length(ours):
    if isinstance(ours, Lack):
        return Note(ours)
    rows = [(label, None, [f"{words:.1f}", f"{hypotheses:,}", f"{classes:,}", f"{hypotheses / classes:.2f}"])
            for label, (words, hypotheses, classes) in zip(("shortest third", "middle third", "longest third"), ours)]
    return Grid("ACP at k = 30, by the length of sentences", ["words", "hypotheses", "classes", "merging rate"], rows)


def show_merging(results):
    found, lacks = series(results, lambda width, row: (width, row["merging"]), ("naive", "accelerated"))
    return [Chart("Merging rate", "beam size", "hypotheses in a class", found), *lacks, by_length(results["cube-lengths"]),
            Note("A class is expanded once, so cube pruning is at most as many times as fast as the merging rate says. It grows with the "
                 "length of sentences: a long search has more hypotheses that end alike."),
            Note("Paper: the plain beam's is 1 by definition; ACP's is far above NCP's, and SN's above that without SN.")]


def show_quality(sentence):
    def show(results):
        found, lacks = series(results, lambda width, row: None if row["bleu"] is None else (width, f"{row['bleu']:.2f} in "
                                                                                            f"{row['seconds']:.2f} s"))
        at_30 = [(NAMES[row["form"]] + network, None, ["–" if row["bleu"] is None else f"{row['bleu']:.2f}", f"{row['seconds']:.2f}",
                                                       f"{row['speed']:.2f}"])
                 for network in NETWORKS for ours in [results[f"cube-k30{network}"]] if not isinstance(ours, Lack) for row in ours]
        rows = [(f"k = {width}", None, [dict(points).get(width, "") for points in found.values()]) for width in WIDTHS]
        return [Grid("Case-insensitive BLEU at k = 30", ["BLEU", "seconds", "times NBS's speed"], at_30),
                Grid("Case-insensitive BLEU and seconds", list(found), rows), *lacks, Note(sentence)]
    return show


def show_seconds(sentence):
    def show(results):
        found, lacks = series(results, lambda width, row: (width, row["seconds"]))
        return [Chart("Seconds over beam sizes", "beam size", "seconds", found), *lacks, Note(sentence)]
    return show


GPU = "The paper's figure is of a GPU; rill's is of this processor. "
SIZES = "over beam sizes 1 to 40."
QUALITY = "Paper: without SN cube pruning loses about 0.5 BLEU. "
ON_CPU = "Best are NBS+SN, 38.05, and ACP+SN, 38.12, both at 30; the latter is 3.5 times as fast."
TABLES = [
    Table("cube-table-1", "time by equation", 1, "Where the plain beam's time goes.",
          DIFFERS + " The readout is the product before the vocabulary's.", {"cube-equations": measure_equations}, show_table_1),
    Table("cube-figure-3", "merging rate", 10, "Hypotheses in a class, " + SIZES, DIFFERS,
          {"cube-lengths": measure_lengths, **widths()}, show_merging),
    Table("cube-figure-4", "quality against time, GPU", 10, "Case-insensitive BLEU and seconds " + SIZES, DIFFERS, widths(),
          show_quality(GPU + QUALITY + "ACP+SN at 30 is 3.3 times as fast.")),
    Table("cube-figure-5", "quality against time, CPU", 10, "Case-insensitive BLEU and seconds " + SIZES, DIFFERS, widths(),
          show_quality(QUALITY + ON_CPU)),
    Table("cube-figure-6", "seconds over beam sizes, GPU", 10, "Seconds of each form " + SIZES, DIFFERS, widths(),
          show_seconds(GPU + "Paper: at 40 cube pruning is 3.8 times as fast.")),
    Table("cube-figure-7", "seconds over beam sizes, CPU", 10, "Seconds of each form " + SIZES, DIFFERS, widths(),
          show_seconds("Paper: at 40 cube pruning is 4.2 times as fast.")),
]
