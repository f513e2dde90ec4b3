#!/usr/bin/env python3
"""Checks the traces of `rill decode --trace --trace-trees`.

usage: trace_events.py RILL DATA

Runs small models with many searches. Each trace must be consistent with itself and with --stats. Every candidate before pruning
has one fate, and the number that heuristics dropped is right. A timestep's beam contains the parents of the next timestep. Scores
are sums along the tree. The number of outputs equals that of the statistics. The actions of each best output are a path in the
tree.
"""

import json
import os
import subprocess
import sys
import tempfile

LIVE, WAITING, OUTPUT, NO_ROOM, LEFT = -1, -2, -3, -4, -5
MODELS = ("semparse/tiny", "shiftreduce/tiny", "mt/shared")
SEARCHES = (
    "-k 4",
    "-k 5 --absolute 2 --max-candidates 2 --heuristic absolute:1",
    "-k 3 --finish immediate --n-best 3 -n 2",
    "-k 3 --finish shrink --workers 2",
    "-k 4 --at-limit end-free --max-length 3",
    "-k 4 --stop bound --max-length 5 --min-length 1 --stop-after 2",
    "-k 6 --groups 3",
    "-k 4 --certify --relative 0.01",
    "--sample 4 --n-best 4 --seed 3",
    "-k 4 --cube naive",
    "-k 5 --budget 7 --method var-stream",
)
LINES = ["w0 w1 w2", "w3", "", "w4 w5 w6 w7", "a b c", "the cat", "w1 w1"]


class Wrong(Exception):
    pass


def expect(condition, what):
    if not condition:
        raise Wrong(what)


class Item:
    """The search tree of an input, as traced so far."""

    def __init__(self):
        self.beam = [(0.0, (), False)]  # (score, actions, ended) by rank
        self.paths = []  # actions of the outputs
        self.depth = 0

    def phase(self, hypotheses):
        """Take the candidates of one phase; return how many there are of each fate."""
        new, counts = {}, {}
        for h in hypotheses:
            counts[h["fate"]] = counts.get(h["fate"], 0) + 1
            expect(0 <= h["parent"] < len(self.beam), f"parent {h['parent']} of a beam of {len(self.beam)}")
            score, actions, ended = self.beam[h["parent"]]
            if not ended:
                actions += (h["action"],)
                expect(h["score"] <= score + 1e-4, f"a score of {h['score']} below a parent of {score}")
            else:
                expect(abs(h["score"] - score) < 1e-4 * max(1, abs(score)), "one that waits keeps its score")
            expect((h["rank"] >= 0) == (h["fate"] in (LIVE, WAITING)), "what is in the beam has a rank")
            if h["rank"] >= 0:
                expect(h["rank"] not in new, "a rank is given once")
                new[h["rank"]] = (h["score"], actions, h["fate"] == WAITING)
            if h["fate"] == OUTPUT:
                self.paths.append(actions)
        expect(sorted(new) == list(range(len(new))), "ranks have no gaps")
        self.beam = [new[rank] for rank in sorted(new)]
        return counts


def read_timestep(event, items, totals):
    h = event["hypotheses"]
    rows = [dict(zip(h, values)) for values in zip(*h.values())]
    for i, number in enumerate(event["items"]):
        item = items.setdefault(number, Item())
        expect(item.depth == event["depths"][i], "depths go up by one")
        item.depth += 1
        mine = [row for row in rows if row["item"] == i]
        dropped, last = {}, {}
        for phase in sorted({row["phase"] for row in mine}):
            last = item.phase([row for row in mine if row["phase"] == phase])
            for fate, count in last.items():
                dropped[fate] = dropped.get(fate, 0) + (count if fate >= 0 else 0)
        for link, counts in enumerate(event.get("dropped", [])):
            expect(dropped.get(link, 0) == counts[i], f"heuristic {link} dropped {counts[i]}, not {dropped.get(link, 0)}")
            totals["dropped"] += counts[i]
        if mine:
            kept = last.get(LIVE, 0) + last.get(WAITING, 0)
            expect(kept == event["widths_after"][i], f"{kept} kept of {event['widths_after'][i]}")
            counted = sum(count for fate, count in last.items())
            expect(counted >= event["widths_merged"][i], f"{counted} fates of {event['widths_merged'][i]} candidates")
    totals["rows"] += event["rows"]


def check(rill, data, model, search, work):
    source, trace, stats = (os.path.join(work, name) for name in ("in", "trace", "stats"))
    with open(source, "w", encoding="utf-8") as file:
        file.write("".join(line + "\n" for line in LINES))
    command = [rill, "decode", "-m", os.path.join(data, model), "-q", *search.split(), source, "-o", os.devnull, "--stats", stats,
               "--trace", trace, "--trace-trees"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    expect(run.returncode in (0, 2), f"exit code {run.returncode}: {run.stderr}")
    with open(stats, encoding="utf-8") as file:
        figures = json.load(file)
    items, totals, results, names, inputs = {}, {"dropped": 0, "rows": 0}, 0, set(), {}
    with open(trace, encoding="utf-8") as file:
        events = [json.loads(line) for line in file]
    expect(events[0]["event"] == "run" and events[0]["trees"] is True, "the run comes first")
    expect(events[-1]["event"] == "actions", "names come last")
    for event in events:
        if event["event"] == "timestep":
            read_timestep(event, items, totals)
            names.update(event["hypotheses"]["action"])
        elif event["event"] == "input":
            inputs[event["item"]] = event["text"]
        elif event["event"] == "result" and event["actions"]:
            results += 1
            expect(tuple(event["actions"]) in items[event["item"]].paths, f"no path of item {event['item']}'s best output")
    expect([inputs[i] for i in sorted(inputs)] == LINES, "texts of inputs")
    expect(totals["dropped"] == figures["pruned"], f"{totals['dropped']} dropped, {figures['pruned']} by --stats")
    outputs = sum(len(item.paths) for item in items.values()) + LINES.count("")  # An empty line has one output, for which no model runs.
    expect(outputs >= figures["outputs"], f"{outputs} outputs, {figures['outputs']} by --stats")
    if "--stop" not in search:  # with --stop, better outputs replace others
        expect(outputs == figures["outputs"], f"{outputs} outputs, {figures['outputs']} by --stats")
    expect(totals["rows"] <= figures["expansions"], "rows")
    expect({str(action) for action in names} == set(events[-1]["names"]), "all actions have names")
    return results


def main():
    rill, data = (os.path.abspath(path) for path in sys.argv[1:])
    failures = results = 0
    with tempfile.TemporaryDirectory() as work:
        for model in MODELS:
            for search in SEARCHES:
                try:
                    results += check(rill, data, model, search, work)
                except Wrong as wrong:
                    failures += 1
                    print(f"{model} {search}: {wrong}")
    print(f"{len(MODELS) * len(SEARCHES)} traces, {results} best outputs found in their trees, {failures} failures")
    sys.exit(1 if failures or results < 100 else 0)


main()
