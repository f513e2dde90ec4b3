"""The table of bench/gpu.sh: measured rows next to bounds from the card's published limits, and the targets. docs/gpu.md explains the
columns. A column without a figure has a dash.
"""

import os
import re

import gpu_predict

PREDICTED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "results", "gpu-predicted.txt")


def card_of(name):
    """Return the card of gpu_predict.py whose name is a prefix of nvidia-smi's name, or None."""
    return next((card for card in gpu_predict.CARDS if name and card.split()[0] in name), None)


def measured(one, tokens, card, kind):
    """Return a row from the output of `rill bench --profile --json` for a method. The seconds of a timestep are those of the run,
    without encoding."""
    run, seconds = one["run"], one["run"]["seconds"]
    steps, card = max(run["timesteps"], 1), card_of(card)
    per_step = (seconds["total"] - seconds["encode"]) / steps
    waited, hidden = seconds.get("waited", 0), seconds.get("hidden", 0)
    device = waited + hidden if waited else seconds["encode"] + seconds["step"] + seconds["score"]
    results = {"tokens_per_second": tokens / one["seconds_median"], "rows": run["exp_per_step"], "ms": 1e3 * per_step, "timesteps": steps,
            "expansions": run["expansions"], "seconds": one["seconds_median"], "parts": seconds,
            "exposed_ms": 1e3 * max(seconds["total"] - device, 0) / steps, "hidden_ms": 1e3 * hidden / steps}
    for name in gpu_predict.CARDS:
        bound, launches = gpu_predict.lower_bound(one["profile"], name, "tf32" if kind == "f32+" else kind.rstrip("+"))
        results.setdefault("least_ms", {})[name] = 1e3 * bound / steps
        results["launches"] = launches and launches / steps
        if name == card:
            results["share"] = bound / steps / per_step
    return results


def predictions(path=PREDICTED):
    """Return {(model, type, rows): launches, and ms by card}, read from the table that gpu_predict.py printed, for full beams of 300 and
    4000 rows."""
    results = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if len(words) == 6 + len(gpu_predict.CARDS) and words[2].isdigit():
                results[words[0], words[1], int(words[2])] = {"launches": float(words[3]),
                                                           "least_ms": dict(zip(gpu_predict.CARDS, map(float, words[6:])))}
    return results


def number(value, digits=0):
    return "-" if value is None else f"{value:,.{digits}f}"


def row_line(place, row, predicted):
    """Return the launches and lower bounds of a row: for measured rows from their own profile, for others the predicted ones, which hold
    for full beams."""
    full = place["method"] in ("fixed", "greedy")
    known = row or (predicted.get((place["model"], place["type"].rstrip("+"), place["full"]), {}) if full else {})
    bound, rows, share = known.get("least_ms", {}), row.get("rows"), row.get("share")
    return (f"{place['model']:8} {place['type']:5} {place['k']:3} {place['method']:15} {place['n']:5} {number(rows):>7} "
            f"{number(row.get('tokens_per_second')):>10} {number(row.get('ms'), 3):>8} {number(share and 100 * share):>6} "
            f"{number(known.get('launches')):>8} {number(row.get('hidden_ms'), 3):>7} {number(row.get('exposed_ms'), 3):>8} " +
            " ".join(f"{number(bound.get(card), 3):>8}" for card in gpu_predict.CARDS))


HEAD = (f"{'':39} {'rows a':>7} {'':>10} {'ms a':>8} {'share':>6} {'launches':>8} {'host ms a step':>16} {'least ms a step':>17}\n"
        f"{'model':8} {'type':5} {'k':>3} {'method':15} {'n':>5} {'step':>7} {'tokens/s':>10} {'step':>8} {'%':>6} {'a step':>8} "
        f"{'hidden':>7} {'exposed':>8} " + " ".join(f"{card.split()[0]:>8}" for card in gpu_predict.CARDS))


# --- targets ----------------------------------------------------------------------------------------------------------------------


class Rows:
    """The measured rows, found by their parameters."""

    def __init__(self, results, listed):
        self.of = [(place, results["rows"][key]) for key, place in listed if key in results["rows"]]
        self.peers = results["peer"]

    def some(self, model, kind, k, *methods, full=None):
        return [row for p, row in self.of if (p["model"], p["type"], p["k"]) == (model, kind, k) and p["method"] in methods and
                full in (None, p["full"])]

    def best(self, *what, full=None):
        return max(self.some(*what, full=full), key=lambda row: row["tokens_per_second"], default=None)

    def share(self, model, kind, full):
        row = self.best(model, kind, 5, "fixed", full=full)
        return row and row.get("share") and 100 * row["share"]

    def streaming(self, model, kind):
        """Return the speed of stream-all at its best, relative to var-batch with 300 rows."""
        fast, slow = self.best(model, kind, 5, "stream-all"), self.best(model, kind, 5, "var-batch", full=300)
        return fast and slow and fast["tokens_per_second"] / slow["tokens_per_second"]

    def refilled(self, model, kind, k):
        """Return the speed of var-stream relative to fixed, each at its best, and the ratio of their expansions per token."""
        fast, slow = self.best(model, kind, k, "var-stream"), self.best(model, kind, k, "fixed")
        if not fast or not slow:
            return None, None
        each = [row["expansions"] / (row["tokens_per_second"] * row["seconds"]) for row in (slow, fast)]
        return fast["tokens_per_second"] / slow["tokens_per_second"], each[0] / each[1]

    def freedom(self, model, kind, full):
        """Return the speed with --fast relative to the speed without."""
        fast, slow = self.best(model, kind + "+", 5, "fixed", full=full), self.best(model, kind, 5, "fixed", full=full)
        return fast and slow and fast["tokens_per_second"] / slow["tokens_per_second"]

    def generate(self, model, kind, k):
        """Return rill's best speed relative to that of transformers at its best batch size."""
        ours = max((row for p, row in self.of if (p["model"], p["type"], p["k"]) == (model, kind, k)),
                   key=lambda row: row["tokens_per_second"], default=None)
        theirs = max((results["tokens_per_second"] for results in self.peers.get(f"{model} {kind} {k}", [])), default=None)
        return ours and theirs and ours["tokens_per_second"] / theirs


def targets(rows):
    """Yield lines: target, required value, measured value."""
    for model in ("OPUS", "WMT19"):
        for full, bound in ((4000, 60), (300, 20)):
            yield f"share of the limits, %: {model}, bf16, {full} rows, fixed", bound, rows.share(model, "bf16", full)
    for kind, asked in (("bf16", (2.5, 1.6)), ("f32", (1.1, 1.0))):
        for model, bound in zip(("OPUS", "WMT19"), asked):
            yield f"stream-all at its best / var-batch at 300 rows: {model}, {kind}", bound, rows.streaming(model, kind)
    for model in ("OPUS", "WMT19"):
        for k in (5, 50):
            ratio, expansions = rows.refilled(model, "bf16", k)
            bound = expansions and (max(0.8 * expansions, 3.5) if k == 50 else 0.8 * expansions)
            yield f"var-stream / fixed, 0.8 of expansions{', 3.5' * (k == 50)}: {model}, bf16, k = {k}", bound, ratio
    for model in ("OPUS", "WMT19"):
        for k, bound in ((5, 10), (50, 50)):
            yield f"rill / transformers' generate, each at its best: {model}, bf16, k = {k}", bound, rows.generate(model, "bf16", k)
    for kind in ("bf16", "f32"):
        for full in (300, 4000):
            yield f"with --fast / without: OPUS, {kind}, {full} rows, fixed", None, rows.freedom("OPUS", kind, full)


# --- the whole table -----------------------------------------------------------------------------------------------------


def table(results, listed):
    listed, predicted = list(listed), predictions()
    where = f"{results.get('card') or results['device']}{', tiny models' * bool(results.get('tiny'))}"
    lines = [f"Measured on: {where}, {results['date']}" if results["rows"] or results["checks"] else
             "Not measured: no GPU has been at hand. Least times and launches are those predicted, for full beams."]
    lines += ["", f"{'check':32} {'seconds':>7}  result"] if results["checks"] else []
    lines += [f"{name:32} {check['seconds']:7.0f}  {check['result']}" for name, check in results["checks"].items()]
    lines += ["", HEAD] + [row_line(place, results["rows"].get(key, {}), predicted) for key, place in listed]
    lines += ["", f"{'transformers generate':22} {'type':5} {'k':>3} {'batch':>6} {'tokens/s':>10}"]
    for key, batches in results["peer"].items():
        model, kind, k = re.fullmatch(r"(.+) (\S+) (\d+)", key).groups()
        lines += [f"{model:22} {kind:5} {k:>3} {b['batch']:6} {number(b['tokens_per_second']):>10}" for b in batches]
    lines += [] if results["peer"] else ["-"]
    for kind, one in results["limits"].items():
        lines.append(f"limits as PyTorch reaches them, {kind}: {one['flops'] / 1e12:.1f} TFLOP/s, {one['bytes'] / 1e12:.2f} TB/s")
    lines += ["", f"{'target':75} {'asked':>8} {'measured':>8}"]
    lines += [f"{name:75} {number(bound, 1):>8} {number(is_, 1):>8}" for name, bound, is_ in targets(Rows(results, listed))]
    return "\n".join(lines) + "\n"
