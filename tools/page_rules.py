"""Which numbers of the pages come from which raw files (page_numbers.py applies the rules). A raw figure that no rule reads is on no
page."""

import re
import statistics

from page_numbers import KeyedTableRule, Mismatch, TableRule, TextRule, columns, raw

README, MEASUREMENTS = "README.md", "docs/measurements/"


def thousands(value):
    return f"{round(value):,}"


# --- rill bench --json: methods of parsers and of translation

def method(name, *labels):
    """Return the figures of a method in a raw file; of several names, the first that the file has."""
    methods = {one["method"]: one for one in raw(name)["methods"]}
    for label in labels:
        if label in methods:
            return methods[label]
    raise Mismatch(f"{name}: no method {' or '.join(labels)}")


FIXED = {"greedy": ("greedy:n=100", "greedy"), "fixed": ("fixed:finish=top", "fixed"),
         "fixed, finish immediate": ("fixed:finish=immediate", "fixed")}
FIGURES = {
    "exact %": lambda one: f"{one['exact_percent']:.2f}", "oracle %": lambda one: f"{one['oracle_percent']:.2f}",
    "F1": lambda one: f"{one['bracket_percent']:.2f}", "oracle F1": lambda one: f"{one['oracle_percent']:.2f}",
    "timesteps": lambda one: str(one["run"]["timesteps"]), "expansions": lambda one: str(one["run"]["expansions"]),
    "exp/step": lambda one: f"{one['run']['exp_per_step']:.1f}", "timesteps ÷ bound": lambda one: f"{one['over_least_advanced_bound']:.2f}",
}


def semparse_cell(label, heading):
    labels = FIXED.get(label, (label,))
    for title, file in (("seconds, 1 thread", "semparse-geo-1t.json"), ("2 threads", "semparse-geo-2t.json")):
        if heading == title:
            return f"{method(file, *labels)['seconds_median']:.3f}"
    return FIGURES[heading](method("semparse-geo-1t.json", *labels))


def parse_cell(name):
    def cell(label, heading):
        if label == "greedy" and heading == "timesteps ÷ bound":
            return None
        return FIGURES[heading](method(f"parse-{name}-1t.json", *FIXED.get(label, (label,))))
    return cell


def batch_cell(label, heading):
    """Return what a full batch gains on one of the three semantic parsers."""
    one, two = f"semparse-{heading.lower()}-1t.json", f"semparse-{heading.lower()}-2t.json"

    def ratio(file, slow, fast):
        return f"{method(file, *slow)['seconds_median'] / method(file, fast)['seconds_median']:.2f}"
    stream = method(one, "var-stream")
    return {
        "expansions (pruned methods)": lambda: thousands(stream["run"]["expansions"]),
        "var-stream, seconds, 1 thread": lambda: f"{stream['seconds_median']:.3f}",
        "µs per expansion, total": lambda: f"{1e6 * stream['seconds_median'] / stream['run']['expansions']:.1f}",
        "engine's share (all but encode, step, score)": lambda: f"{100 * stream['run']['engine_share']:.1f} %",
        "`fixed` ÷ var-stream, seconds": lambda: ratio(one, FIXED["fixed"], "var-stream"),
        "`fixed`, finish immediate ÷ var-stream": lambda: ratio(one, FIXED["fixed, finish immediate"], "var-stream"),
        "var-batch ÷ var-stream, 1 thread": lambda: ratio(one, ["var-batch"], "var-stream"),
        "the same, var-stream with `--max-in-flight 20`": lambda: ratio(one, ["var-batch"], "var-stream:max-items=20"),
        "var-batch ÷ var-stream-fifo, 1 thread": lambda: ratio(one, ["var-batch"], "var-stream-fifo"),
        "var-batch ÷ top-up, 1 thread": lambda: ratio(one, ["var-batch"], "top-up"),
        "var-batch ÷ var-stream, 2 threads": lambda: ratio(two, ["var-batch"], "var-stream"),
        "var-batch ÷ top-up, 2 threads": lambda: ratio(two, ["var-batch"], "top-up"),
        "exp/step: var-batch, var-stream, stream-all": lambda: " / ".join(
            f"{method(one, name)['run']['exp_per_step']:.0f}" for name in ("var-batch", "var-stream", "stream-all")),
        "var-stream's timesteps ÷ Σ_d ceil(W_d/100), W_d = hypotheses at depth d": lambda: f"{stream['over_least_advanced_bound']:.2f}",
        "max(expansions ÷ 100, timesteps of the longest item) ÷ stream-all's timesteps": lambda:
            f"{100 / method(one, 'stream-all')['over_any_bound']:.0f} %",
    }[label]()


def translation_cell(label, heading, before):
    """Return a cell of the methods' table: its first columns are for k = 5, the others for k = 50; headings do not say which."""
    k = 5 if len(before) <= 3 else 50
    if label == "greedy" and k == 50:
        return None
    one = method(f"mt-methods-k{k}-1t.json", label)
    if heading.startswith("BLEU"):
        return f"{one['bleu_percent']:.2f}"
    if heading == "seconds":
        return f"{one['seconds_median']:.2f}" if one["seconds_median"] < 10 else f"{one['seconds_median']:.1f}"
    steps = one["run"]["exp_per_step"]
    return thousands(one["run"]["timesteps"]) if heading == "timesteps" else f"{steps:.1f}" if steps < 160 or k == 5 else f"{steps:.0f}"


# --- bench/mt.sh: rows beside those of the peer

PEER_ROW = re.compile(r"^(\S.*?)\s{2,}([\d.]+|-)\s+[\d.]+\s+\d+%\s+(\d+)\s+(\d+)\s+[\d.]+\s+\d+(?:\s+x ([\d.]+) \(([\d.]+)-([\d.]+)\))?")
SECTIONS = {("128", 5): "test_2016_flickr, k = 5:", ("128", 50): "test_2016_flickr, k = 50:",
            ("512/2048", 5): "random weights, 512/2048, 6+6 layers, V = 32,000, k = 5:",
            ("512/2048", 50): "random weights, 512/2048, 6+6 layers, V = 32,000, k = 50:"}


def peer_row(name, section, kind, form, n=None):
    """Return a row of a section: (BLEU, tokens per second, MB, speed relative to the peer, least, most). The row is of the peer or of a
    method, at its best batch size or at n."""
    inside, found = False, []
    start = f"ctranslate2 {kind}" if form == "peer" else f"rill {kind} {form} n="
    for line in raw(name).splitlines():
        if line.startswith("== "):
            inside = line[3:].startswith(section)
        row = PEER_ROW.match(line)
        if inside and row and row[1].startswith(start) and "stop" not in row[1] and (n is None or row[1].endswith(n.replace(" ", ""))):
            found.append((row[2], int(row[3]), int(row[4]), *(row[5], row[6], row[7])))
    if not found:
        raise Mismatch(f"{name}: no row {start} in {section}")
    return max(found, key=lambda one: float(one[3] or 0))


def times(value):
    return f"{float(value):.2f}" if float(value) < 10 else f"{float(value):.1f}"


def sizes_cell(label, heading, before):
    """Return a cell of the first table of README.md: tokens per second, and the speed relative to the peer."""
    if heading == "weights":
        return None
    file, section = ("mt-nllb-1t.txt", "NLLB-600M's size") if label.startswith("NLLB") else ("mt-1t.txt", SECTIONS["512/2048", 5])
    if label.endswith("AMX"):
        file = "mt-amx-1t.txt"
    form = {"CTranslate2": "peer", "rill, same search": "fixed", "rill, pruned": "stream-all"}[heading]
    _, tokens, _, ratio, _, _ = peer_row(file, section, before[1], form)
    return f"{tokens}" if form == "peer" else f"{tokens} ({ratio} ×)"


def large_cell(label, heading, before):
    """Return a cell for a large model and a small one: speed relative to the peer with its range, and memory."""
    file, section = (("mt-nllb-1t.txt", "NLLB"), ("mt-student-1t.txt", ""))[len(before) > 2]
    kind = ("fp32", "int8")[(len(before) - 1) % 2]
    if label.startswith("memory"):
        form, n = ("peer", None) if "CTranslate2" in label else ("fixed", "n = 64")
    else:
        form, n = forms_of(label), label.rpartition(", ")[2]
    try:
        _, _, memory, ratio, least, most = peer_row(file, section, kind, form, n)
    except Mismatch:
        return None  # empty in the raw file: a dash
    return f"{memory:,}" if label.startswith("memory") else f"{ratio} ({least}–{most})"


def parse_speed_cell(label, heading):
    """Return a cell of the summary of both treebanks; the engine's share of time is rounded by hand."""
    name = "gum" if heading.startswith("GUM") else "wsj-sample"

    def figures(file, form, methods):
        return [form.format(method(f"parse-{name}{file}.json", *one.split("|"))) for one in methods]

    def ratio(file):
        slow, fast = (method(f"parse-{name}{file}.json", one)["seconds_median"] for one in ("fixed", "stream-all"))
        return f"{slow / fast:.2f}"
    return {
        "F1 / oracle, tags from the trees": lambda: figures("-1t", "{0[bracket_percent]:.2f} / {0[oracle_percent]:.2f}", ["stream-all"])[0],
        "F1 / oracle, predicted tags": lambda: figures("-tagger-1t", "{0[bracket_percent]:.2f} / {0[oracle_percent]:.2f}",
                                                       ["stream-all"])[0],
        "timesteps ÷ bound: var-stream, var-batch": lambda:
            ", ".join(figures("-1t", "{0[over_least_advanced_bound]:.2f}", ["var-stream", "var-batch"])),
        "exp/step: var-stream, var-batch, stream-all": lambda:
            ", ".join(figures("-1t", "{0[run][exp_per_step]:.1f}", ["var-stream", "var-batch", "stream-all"])),
        "time of `fixed` ÷ stream-all: one thread, two": lambda: f"{ratio('-1t')}, {ratio('-2t')}",
        "ten copies of the test set, two threads, sentences per second: greedy (n = 10, n = 64)": lambda:
            ", ".join(figures("-speed-2t", "{0[run][inputs_per_second]:,.0f}", ["greedy", "greedy:n=64"])),
        "the same for stream-all: by default, with `--max-in-flight 200`": lambda:
            ", ".join(figures("-speed-2t", "{0[run][inputs_per_second]:,.0f}", ["stream-all", "stream-all:max-items=200"])),
    }.get(label, lambda: None)()


def forms_of(label):
    return "peer" if label.startswith("CTranslate2") else "fixed" if "fixed" in label or "same search" in label else "stream-all"


def against_cell(label, heading):
    """Return a cell of the tables of README.md and translation.md with tokens per second of the small model."""
    section = SECTIONS["128", 50 if "50" in label else 5]
    form = forms_of(label)
    kind = "int8" if "int8" in heading else "fp32"
    bleu, tokens, _, ratio, _, _ = peer_row("mt-1t.txt", section, kind, form)
    if heading.startswith("BLEU"):
        return f"{float(bleu):.2f}"
    if heading.startswith(("speed-up", "times as fast")) or heading == "int8 ":
        return times(ratio) if ratio else "1"
    return f"{tokens:,}"


def twice_int8(cell):
    """Tell two columns called int8 apart: tokens per second, and then the speed relative to the peer."""
    return lambda label, heading, before: cell(label, "speed-up, int8" if heading == "int8" and len(before) == 5 else heading)


def sized(labels, threads):
    """Return a cell of the table of relative speeds. labels: (size, k, kind) of each column."""
    def cell(label, heading, before):
        if label.startswith("BLEU") or "against" in label or len(before) > len(labels):
            return None
        file = "mt-2t.txt" if "two threads" in label + heading else threads
        size, k, kind = labels[len(before) - 1]
        return times(peer_row(file, SECTIONS[size, k], kind, forms_of(label))[3])
    return cell


SMALL = [("128", 5, "fp32"), ("128", 5, "int8"), ("128", 50, "fp32"), ("128", 50, "int8"), ("512/2048", 5, "fp32"), ("512/2048", 5, "int8")]
LARGE = [("512/2048", 50, "fp32"), ("512/2048", 50, "fp32"), ("512/2048", 50, "int8"), ("512/2048", 50, "int8")]


# --- search.md: cube pruning, posteriors, certificates, exact search, latency, tries

def cube_cell(label, heading, before):
    """Return a cell of the transformer's table of cube pruning; the column decides form and pruning."""
    if not label.isdigit():
        return None
    forms = (("plain", 0, "bleu"), ("plain", 0, "rows"), ("naive", 0, "bleu"), ("naive", 0, "rows"), ("accelerated", 0, "bleu"),
             ("accelerated", 0, "rows"), ("accelerated", 0, "merging"), ("plain", 1, "bleu"), ("plain", 1, "rows"),
             ("accelerated", 1, "bleu"), ("accelerated", 1, "rows"))
    form, pruned, what = forms[len(before) - 1]
    value = cube("cube-de-en.json", label, form, pruned)[what]
    return f"{value:,}" if what == "rows" else f"{value:.2f}"


def cube(name, k, form, pruned):
    return next(one for one in raw(name)["results"] if (one["k"], one["form"], one["pruned"]) == (int(k), form, pruned))


def cube_rnn_cell(label, heading, before):
    file = "cube-de-en-rnn" + ("-logits" if len(before) > 4 else "") + ".json"
    form = ("plain", "naive", "accelerated", "accelerated", "plain", "accelerated")[len(before) - 1]
    one = cube(file, label, form, 0)
    if heading == "class size":
        return f"{one['merging']:.2f}"
    if label == "40" and len(before) > 4:
        return f"{one['bleu']:.2f}, -"  # no seconds, since other programs disturbed these runs
    return f"{one['bleu']:.2f}, {one['seconds']:.2f}" + (f", {one['speed']:.2f}" if form == "accelerated" else "")


def posterior_cell(label, heading):
    n = heading.split()[0]
    return next(f"{float(row[3]):.0f}" for row in columns("lmbr-batches.txt") if row[:3] == [label, n, "none"])


def latency_cell(label, heading):
    index = {"line 1": 1, "10": 2, "100": 3, "300": 4, "1,000": 5, "3,000": 6, "last": 7}[heading]
    return next(row[index] for row in columns("prompt.txt") if row[0] == label.strip("`"))


def exact_cell(label, heading, before):
    search = {("sum", "1"): "sum, k = 1", ("sum", "5"): "sum, k = 5", ("sum", "50"): "sum, k = 50", ("A = 0.2", "5"): "A = 0.2, k = 5",
              ("mean", "5"): "mean, k = 5", ("mean, F = 1.2", "5"): "the same, F = 1.2"}
    if heading in ("order", "k"):
        return None
    order = before[1] or "sum"
    row = next(row for row in columns("exact.txt") if row[0] == label and row[1] == search[order, before[2]])
    if heading in ("rows of the beams", "rows of exact search"):
        return row[2 if heading == "rows of the beams" else 5]
    column = {"other": 8, "empty": 9, "short": 10}.get(heading) or (3 if len(before) == 4 else 6)
    return f"{float(row[column]):.0f}"


def certified_cell(label, heading):
    k = heading.removeprefix("k = ")
    penalty = "0" if "sum" in label else "1"
    model = label.split(",")[0]
    inside = False
    for line in raw("certify.txt").splitlines():
        if line.startswith("== "):
            inside = line.startswith(f"== "
                                     f"{model} ") and "k=1," in line and (model != "de-en" or line.endswith("--length-penalty " + penalty))
        if inside and line.startswith(f"stream-all:k={k} "):
            share = float(line.split()[3])
            return f"{share:.0f} %" if share in (0, 100) else f"{share:.1f} %"
    raise Mismatch(f"certify.txt: nothing of {label}, k = {k}")


def trie_cell(label, heading):
    k = re.match(r"k = ([\d,]+)", label)[1].replace(",", "")
    kind = "none" if heading == "no trie" else re.match(r"[\d,]+", heading)[0].replace(",", "")
    row = next(row for row in columns("trie.txt") if row[:2] == [k, kind] and len(row) == 4)
    return f"{row[2]}, {row[3]}"


def default_rows(model, part):
    return [row for row in columns("defaults.txt") if row[:2] == [model, part]]


DEFAULTS = ("the default before", "`--like hf`", "the default", "the model's recommendation")


def default_cell(label, heading, before):
    at = DEFAULTS.index(max((start for start in DEFAULTS if label.startswith(start)), key=len))
    row = default_rows("de-en", "val" if len(before) <= 2 else "test")[at]
    return row[3] if heading.startswith("BLEU") else row[4]


def domain_cell(label, heading):
    if heading == "settings":
        return None
    row = default_rows(label.lower(), "dev")[1 if heading.endswith(" default") else 0]
    unit = " exact" if label == "ATIS" and heading == "quality, default" else " F1" if heading == "quality, default" else ""
    return row[3] + unit if heading.startswith("quality") else row[4]


def limits_cell(label, heading, before):
    """Return a cell for an operation in the OPUS size: its share of the time, or of the processor's peak rate."""
    kind = "fp32" if len(before) < 3 else "int8"
    rows = raw("mt-profile-opus-1t.txt").split(f"rill {kind} fixed n=32\n")[1].split("seconds: ")[0].splitlines()
    share, peak = next(re.search(r"([\d.]+)%.* (\d+)%$", row).groups() for row in rows if " ".join(row.split()).startswith(label))
    return peak if heading.endswith("peak, %") else share


def times_cell(label, heading, before):
    """Return a cell of Firefox's student model beside its own engine."""
    program = "its own engine" if label.startswith("Firefox") else label.replace("`", "")
    row = next(row for row in columns("published-times.txt") if row[:2] == ["Firefox enpt, FLORES dev", program])
    cells = {"seconds": row[2], "memory, MB": row[3], "BLEU": row[4]}
    if len(row) < 6:
        return cells.get(heading, "1")
    return cells[heading] if heading in cells else re.sub(r"x ([\d.]+) \(([\d.]+)-([\d.]+)\)", "\\1 × (\\2–\\3)", row[5])


def published_cell(label, heading, before):
    """Return a cell of published models beside the programs they were made for."""
    if heading not in ("equal", "BLEU"):
        return None
    for row in columns("published.txt"):
        if row[:2] == [label, before[1].strip("`")]:
            mark = "/" if heading == "equal" else "."
            return next((cell for cell in row[2:] if mark in cell), "")
    raise Mismatch(f"published.txt: no row {label}, {before[1]}")


# --- the engine, workers, the server, scripts

def share_cell(name):
    def cell(label, heading):
        kind = label.split("`")[1]
        row = next(re.split(r"\s+", line) for line in raw(name).splitlines() if re.match(rf"{heading}\s+{kind}\s", line))
        return f"{float(row[3]) * float(row[4].rstrip('%')) / 100:.2f}" if "µs" in label else row[4].replace("%", " %")
    return cell


def engine_cell(label, heading):
    name = {"`fixed`, k = 5": "fixed k=5", "10": "fixed k=10", "50": "fixed k=50", "top, k = 10": "top k=10", "pruned, k = 10, M = "
            "3": "pruned k=10",
            "the same, `RILL_STATE_PATH`": "pruned k=10 path"}[heading]
    return next(re.split(r"\s+", line[len(name):].strip())[3] for line in raw("engine.txt").splitlines()
                if re.match(rf"{name}\s+{label.replace(',', '')}\s", line))


def workers_cell(label, heading):
    """Return a cell of the table of workers: the first raw table is of idle processors, the second of one that was kept busy."""
    name, kind = re.match(r"([\w-]+), k = 5, (\w+)", label).groups()
    part = raw("workers.txt").split("command: ")[2 if "busy" in heading else 1]
    title = heading.split(",")[0]
    return re.search(rf"^{name}\s+{kind.replace('fp32', 'f32')}\s+{title}\s+[\d.]+ s\s+([\d.]+)$", part, re.M)[1]


SERVERS = {"`rill serve`": "rill serve", "rill, dynamic batching": "rill, batches of 10 ms", "CTranslate2, dynamic "
           "batching": "ctranslate2, batches of 10 ms"}


def serve_cell():
    last = []

    def cell(label, heading):
        server, _, share = label.rpartition(", ")
        last[:] = [server] if server else last
        name = next(value for key, value in SERVERS.items() if key == last[0])
        one = next((row for row in raw("serve.json") if row["server"] == name and row["rate"] == float(heading)), None)
        if one is None or one["answered"] < one["due"]:
            return None
        value = 1e3 * one["p" + share.removesuffix(" %")]
        return f"{value:.1f}" if value < 100 else f"{value:.0f}"
    return cell


def script_cell(label, heading):
    row = next(one for one in raw("scripting.json")["rows"] if (one["set"], one["method"]) == (label.lower(), heading))
    return f"{row['ratio_both']:.2f}"


# --- kernels, the profile, short lists

SIX_SHAPES = 6  # shapes with several matrices, whose weights come from the L3 cache


def gemm_cell(label, heading):
    who = {"rill": "rill", "rill, median": "rill", "rill, GFLOP/s": "rill", "oneDNN packed, GFLOP/s": "onednn packed",
           "oneDNN sgemm, GFLOP/s": "onednn sgemm"}.get(label)
    if who is None:
        return None
    what, rows = "median" if label == "rill, median" else "fastest", raw("kernels.json")["results"]
    mean = statistics.geometric_mean(one[what] for one in rows if one["op"] == "gemm" and one["who"] == who and one["copies"] > 1 and
                                     (one["m"], one["threads"]) == (int(heading), 1))
    if "GFLOP/s" in label:
        return f"{mean:.1f}"
    return f"{100 * mean / next(one['roofline'] for one in rows if one['op'] == 'gemm mean' and one['m'] == int(heading)):.0f} %"


def small_gemm_cell(label, heading):
    """Return a cell of shapes whose weights stay in the L2 cache."""
    m, (k, n) = int(re.match(r"M = (\d+)", label)[1]), map(int, heading.split(" x "))
    who = "onednn packed" if "oneDNN" in label else "rill"
    return next(f"{one['fastest']:.0f}" for one in raw("kernels.json")["results"] if one["op"] == "gemm" and
                (one["who"], one["m"], one["k"], one["n"], one["copies"], one["threads"]) == (who, m, k, n, 1, 1))


def profile_cell(label, heading, before):
    """Return a cell with percentages of the small model's profile samples."""
    form, k, kind = re.match(r"([\w-]+), k = (\d+), (\w+)", label).groups()
    part = raw("mt-profile-1t.txt").split(f"== test_2016_flickr, k = {k}: percent")[1].split("\n== ")[0]
    row = next(line for line in part.splitlines() if line.startswith(f"rill {kind} {form} "))
    return re.split(r"\s+", re.sub(r".* n=\d+\s+", "", row))[len(before) - 1]


def short_cell(label, heading, before):
    """Return a cell with expansions of the recommended search, and with shortlists and expansions of the wider search."""
    name = label.split(",")[0]
    if len(before) < 3:
        return None
    if len(before) == 3:
        return default_rows(name, "test")[-1][4]
    return next(row for row in columns("defaults.txt") if row[:2] == [name, before[1]] and len(row) == 4)[len(before) - 2]


def extreme_values():
    return re.search(r"^(\d+) settings of (\d+) options: (\d+) refused, (\d+) answered, (\d+) at the deadline", raw("extremes.txt"),
                     re.M).groups()


def refill_values():
    """Return the largest gain of refilling with two threads on any of the parsers, in percent."""
    gains = [round(100 * float(batch_cell(f"var-batch ÷ {name}, 2 threads", heading)) - 100)
             for name in ("var-stream", "top-up") for heading in ("GEO", "JOBS", "ATIS")]
    return [str(max(gains))]


def avx2_values():
    return [times(peer_row("mt-1t-avx2.txt", SECTIONS["128", k], kind, form)[3])
            for k, form in ((5, "fixed"), (5, "stream-all"), (50, "stream-all")) for kind in ("fp32", "int8")]


def avx2_range():
    values = sorted(avx2_values(), key=float)
    return [values[0], values[-1]]


def length_values():
    words, sizes = zip(*((f"{words:.1f}", f"{hypotheses / classes:.2f}") for words, hypotheses,
                         classes in raw("papers/cube-lengths.json")["results"]))
    return [*words, *sizes]


def reached_values():
    one = cube("cube-de-en-rnn.json", 30, "accelerated", 0)
    return [f"{100 * one['speed'] / one['merging']:.0f}"]


def amx_values():
    return [times(peer_row("mt-amx-1t.txt", SECTIONS["512/2048", 5], kind, form)[3])
            for kind, form in (("int8", "fixed"), ("int8", "stream-all"), ("fp32", "fixed"))]


SEMPARSE, PARSING, SEARCH = (MEASUREMENTS + page for page in ("semantic-parsing.md", "parsing.md", "search.md"))
TRANSLATION, ENGINE = MEASUREMENTS + "translation.md", MEASUREMENTS + "engine.md"


def percents(name, *keys):
    return lambda: [f"{method(name, 'stream-all')[key]:.2f}" for key in keys]


RULES = [
    TableRule(SEMPARSE, "method | exact %", semparse_cell),
    TableRule(SEMPARSE, "| GEO | JOBS | ATIS |", batch_cell),
    TableRule(PARSING, "method | F1", parse_cell("gum")),
    TableRule(PARSING, "method | F1", parse_cell("wsj-sample"), 1),
    TextRule(PARSING, r"words\) F1 is ([\d.]+) and oracle F1 ([\d.]+); punctuation aside, ([\d.]+) % of",
             percents("parse-gum-tagger-1t.json", "bracket_percent", "oracle_percent", "tags_percent")),
    TextRule(PARSING, r"With predicted tags F1 is ([\d.]+) and oracle F1 ([\d.]+); ([\d.]+) % of the tags",
             percents("parse-wsj-sample-tagger-1t.json", "bracket_percent", "oracle_percent", "tags_percent")),
    TableRule(PARSING, "| GUM, 452 sentences |", parse_speed_cell),
    TextRule(README, r"at most (\d+) % faster on \[two threads\]", refill_values),
    TextRule(README, r"speed-ups of `de-en` are between ([\d.]+) and ([\d.]+)\.", avx2_range),
    TextRule(TRANSLATION, r"int8 weights and AMX, `fixed` is ([\d.]+) times as fast as CTranslate2 and `stream-all` with pruning ([\d.]+) "
             r"times\. In fp32, which AMX does not multiply, `fixed` is ([\d.]+) times", amx_values),
    TextRule(TRANSLATION, r"`fixed` is ([\d.]+) times as fast as CTranslate2 in fp32 and ([\d.]+) times in int8 \(k = 5\)\. "
             r"Without AVX-512 `stream-all` is ([\d.]+) times as fast in fp32 and ([\d.]+) times in int8 at k = 5, and ([\d.]+) and "
             r"([\d.]+) times as fast at k = 50", avx2_values),
    KeyedTableRule(README, "size, processor | weights |", sizes_cell),
    KeyedTableRule(TRANSLATION, "| NLLB's size, fp32 |", large_cell),
    KeyedTableRule(README, "| BLEU, fp32 | tokens/s, fp32", twice_int8(against_cell)),
    KeyedTableRule(TRANSLATION, "| BLEU | tokens/s, fp32", twice_int8(against_cell)),
    KeyedTableRule(TRANSLATION, "| 128, k = 5, fp32 |", sized(SMALL, "mt-1t.txt")),
    KeyedTableRule(TRANSLATION, "| fp32, one thread |", sized(LARGE, "mt-1t.txt")),
    KeyedTableRule(TRANSLATION, "method | BLEU, k = 5", translation_cell),
    KeyedTableRule(TRANSLATION, "| BLEU, val |", default_cell),
    KeyedTableRule("docs/mt.md", "model and inputs | program", published_cell),
    TableRule(SEARCH, "| settings | quality, default", domain_cell),
    KeyedTableRule(SEARCH, "k | plain BLEU", cube_cell),
    KeyedTableRule(SEARCH, "k | plain: BLEU, s", cube_rnn_cell),
    TextRule(SEARCH, r"`accelerated` reaches (\d+) % of", reached_values),
    TextRule(SEARCH, r"have ([\d.]+), ([\d.]+) and ([\d.]+) words on average\. Their class size at k = 30 is ([\d.]+), ([\d.]+) and "
             r"([\d.]+)\.", length_values),
    KeyedTableRule(SEARCH, "set, inputs | N |", short_cell),
    KeyedTableRule(TRANSLATION, "| gemm | attention |", profile_cell),
    KeyedTableRule(TRANSLATION, "operation, 512/2048 |", limits_cell),
    KeyedTableRule(README, "Firefox's English-Portuguese student", times_cell),
    TableRule(MEASUREMENTS + "kernels.md", "M | 1 | 5 |", gemm_cell),
    TableRule(MEASUREMENTS + "kernels.md", "K x N | 128 x 512 |", small_gemm_cell),
    TextRule(MEASUREMENTS + "serving.md", r"Of (\d+) settings of (\d+) options, (\d+) are refused before any work\. (\d+) settings are "
             r"answered, (\d+) of them",
             extreme_values),
    TableRule(SEARCH, "k | 1 in flight", posterior_cell),
    TableRule(SEARCH, "method | line 1", latency_cell),
    TableRule(SEARCH, "model | k = 1", certified_cell),
    KeyedTableRule(SEARCH, "| order | k |", exact_cell),
    TableRule(SEARCH, "| no trie |", trie_cell),
    TableRule(ENGINE, "| geo | jobs | atis |", share_cell("engine-share.txt")),
    TableRule(ENGINE, "| geo | jobs | atis |", share_cell("engine-share-xeon.txt"), 1),
    TableRule(ENGINE, "rows per timestep | `fixed`, k = 5 | 10 | 50 | top, k = 10 | pruned, k = 10, M = 3 | the same", engine_cell),
    TableRule(MEASUREMENTS + "workers.md", "| 2 workers | 2 threads | 2 processes |", workers_cell),
    TableRule(MEASUREMENTS + "serving.md", "requests per second |", serve_cell()),
    TableRule(MEASUREMENTS + "scripting.md", "| var-batch | var-stream |", script_cell),
]
