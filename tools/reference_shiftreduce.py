#!/usr/bin/env python3
"""Write small random parsers with known results, for tests of rill's shift-reduce domain.

The expected values are computed in numpy with 64-bit floats, straight from the equations (span differences first, then the hidden
layer). They are compared with the PyTorch model before they are written. Two models: `tiny` (sizes that are whole vectors, 32-bit
weights) and `odd` (sizes that are not, 16-bit weights). Each directory holds a model as the trainer writes it, and expected.json:

  cases: for each sentence its tokens and tags (null: predicted); ids: the rows of the tables for
    <s>, words, </s> (shapes and suffixes of the words alone); predicted: the tagger's tag numbers;
    layer1: outputs per framed position; positions: p_0 .. p_n
  forced: a random legal derivation: structure and label of each timestep, and before each the
    log-probabilities: of the structure actions, null where only one is legal, and of the labels
    behind that structure action (null for an illegal one)
  greedy and beam: trees with scores and actions under `search`, best first; expansions: live
    candidates expanded over all cases' beams, counted at the start of each timestep
"""

import argparse
import json
import os
import random
from collections import Counter

import numpy as np
import torch

from model_files import Tokens, read_safetensors, rounded
from shiftreduce_decode import Search, beam_search, greedy_search, scorers, spans_of
from shiftreduce_model import (COMBINE, NONE, SHIFT, WORD_SPECIALS, Parser, Sentence, Symbols, from_tensors,
                               norm, save_model, shape_of, suffixes_of, write_tree)

SHAPES = {
    # name -> embedding, tag, hidden, net, suffix length, weight type, seed
    "tiny": (16, 16, 16, 16, 4, "F32", 3),
    "odd": (7, 5, 13, 11, 2, "F16", 5),
}
WORDS = ["the", "The", "cat", "sat", "on", "mat", ".", "-LRB-", "-RRB-", "0000", "0,000.0", "über", "IBM", "x"]
TAGS = ["DT", "NN", "NNP", "VBD", "IN", ".", "CD", "-LRB-", "-RRB-"]
LABELS = ["NP", "VP", "PP", "S", "S+VP", "NP+QP", "TOP", "TOP+S", "TOP+NP", "TOP+S+VP"]
SENTENCES = [
    ("The cat sat on the mat .", "DT NN VBD IN DT NN ."),
    ("THE unseen Cats 1987 sat -LRB- 3,141.5 -RRB- über Übermut", None),
    ("IBM", "NNP"),
    ("mat", None),
    ("cat sat", None),
    ("x sat on the blue-eyed McDonald-1987 mat x the x cat x .", None),
    ("Æ ° 'n' — Zoë", "NN NN DT IN NNP"),
]


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


class Plain:
    """The model's equations in NumPy, one vector at a time."""

    def __init__(self, tensors, symbols):
        self.w = {name: t.astype(np.float64) for name, t in tensors.items()}
        self.symbols = symbols
        self.width = self.w["layer1.forward.weight_hh"].shape[1]

    def lstm(self, name, inputs):
        h = c = np.zeros(self.width)
        rows = []
        for x in inputs:
            gates = self.w[f"{name}.weight_ih"] @ x + self.w[f"{name}.weight_hh"] @ h + self.w[f"{name}.bias"]
            i, f, g, o = np.split(gates, 4)
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            h = sigmoid(o) * np.tanh(c)
            rows.append(h)
        return rows

    def layer(self, name, inputs):
        forward = self.lstm(f"{name}.forward", inputs)
        backward = self.lstm(f"{name}.backward", inputs[::-1])[::-1]
        return forward, backward

    def ids(self, tokens):
        s = self.symbols
        words = [s.words.ids.get(t, s.words.ids.get(norm(t), 2)) for t in tokens]
        suffixes = [[s.suffixes.ids[x] for x in suffixes_of(t, s.suffix_length) if x in s.suffixes.ids]
                    for t in tokens]
        return {"words": [0] + words + [1], "shapes": [s.shapes.ids.get(shape_of(t), 0) for t in tokens],
                "suffixes": suffixes}

    def encode(self, tokens, given):
        """Return the ids, the rows of layer 1, the predicted tags and the positions."""
        ids = self.ids(tokens)
        x = [self.w["words.weight"][i] for i in ids["words"]]
        for at, (shape, suffixes) in enumerate(zip(ids["shapes"], ids["suffixes"]), 1):
            x[at] = sum([self.w["suffixes.weight"][i] for i in suffixes], x[at] + self.w["shapes.weight"][shape])
        rows = [np.concatenate(pair) for pair in zip(*self.layer("layer1", x))]
        scores = [self.w["tagger.weight"] @ row + self.w["tagger.bias"] for row in rows[1:-1]]
        predicted = [int(np.argmax(s[1:])) + 1 for s in scores]
        tags = [self.symbols.tags.ids[t] for t in given] if given else predicted
        tags = [NONE] + tags + [NONE]
        forward, backward = self.layer("layer2", [np.concatenate([row, self.w["tags.weight"][tag]])
                                                  for row, tag in zip(rows, tags)])
        positions = [np.concatenate([forward[i], -backward[i + 1]]) for i in range(len(tokens) + 1)]
        return ids, rows, predicted, positions

    def network(self, name, spans, legal=None):
        hidden = np.maximum(self.w[f"{name}.hidden.weight"] @ np.concatenate(spans) + self.w[f"{name}.hidden.bias"], 0)
        scores = self.w[f"{name}.output.weight"] @ hidden + self.w[f"{name}.output.bias"]
        if legal is not None:
            scores[~legal] = -np.inf
        top = scores.max()
        return scores - top - np.log(np.exp(scores - top).sum())

    def structure(self, p, a, b, c):
        return self.network("structure", [p[a] - p[0], p[b] - p[a], p[c] - p[b], p[-1] - p[c]])

    def label(self, p, b, c, last):
        return self.network("label", [p[b] - p[0], p[c] - p[b], p[-1] - p[c]], self.symbols.is_root == last)


def finite(row):
    return [None if np.isinf(x) else float(x) for x in row]


def forced_derivation(plain, positions, rng):
    """Draw a random derivation: shifts and combines at random, labels of any probability."""
    n = len(positions) - 1
    stack, end, result = [], 0, {"structure": [], "label": [], "structure_logp": [], "label_logp": []}
    for step in range(2 * n - 1):
        last = step == 2 * n - 2
        shift, combine = end < n, len(stack) >= 2
        free = shift and combine
        result["structure_logp"].append(
            finite(plain.structure(positions, stack[-2], stack[-1], end)) if free else None)
        action = rng.randrange(2) if free else SHIFT if shift else COMBINE
        if action == SHIFT:
            stack.append(end)
            end += 1
        else:
            stack.pop()
        logp = plain.label(positions, stack[-1], end, last)
        legal = [i for i, x in enumerate(logp) if x > -np.inf]
        label = rng.choice(legal) if last or rng.random() < 0.6 else NONE
        result["structure"].append(action)
        result["label"].append(label)
        result["label_logp"].append(finite(logp))
    return result


def output(candidate, symbols, tokens, tags):
    actions = candidate.actions()
    return {"tree": write_tree(tokens, tags, spans_of(actions, symbols)), "score": candidate.score,
            "structure": [a for a, _ in actions], "label": [b for _, b in actions]}


def make_symbols(suffix_length):
    counts = Counter(x for w in WORDS for x in suffixes_of(w, suffix_length))
    return Symbols(Tokens(WORD_SPECIALS + WORDS), Tokens(sorted(counts)[::2]),
                   Tokens(["<unk>"] + sorted({shape_of(w) for w in WORDS})[1:]),
                   Tokens(["<none>"] + TAGS), Tokens(["<none>"] + LABELS), suffix_length)


def random_parser(symbols, embedding, tag, hidden, net, seed):
    torch.manual_seed(seed)
    sizes = [len(v) for v in (symbols.words, symbols.suffixes, symbols.shapes, symbols.tags, symbols.labels)]
    parser = Parser(sizes, embedding, tag, hidden, net).eval()
    for name, parameter in parser.named_parameters():
        if name.endswith(("suffixes.weight", "shapes.weight")):
            parameter.data[1:].uniform_(-1.0, 1.0)
        else:
            parameter.data.uniform_(-1.0, 1.0)
    return parser


def check(double, symbols, sentence, case, scorer, tags):
    """Return the largest difference between this file's arithmetic and PyTorch's on the forced derivation."""
    n, worst = len(sentence), 0.0
    if sentence.tags is None and tags != case["predicted"]:
        raise SystemExit(f"tags differ: {tags} and {case['predicted']}")
    stack, end = [], 0
    for step in range(2 * n - 1):
        expected = case["forced"]["structure_logp"][step]
        if expected is not None:
            found = scorer.structure(*(np.array([x]) for x in (stack[-2], stack[-1], end)))[0]
            worst = max(worst, np.abs(found - expected).max())
        if case["forced"]["structure"][step] == SHIFT:
            stack.append(end)
            end += 1
        else:
            stack.pop()
        found = scorer.label(np.array([stack[-1]]), np.array([end]), step == 2 * n - 2)[0]
        for x, y in zip(found, case["forced"]["label_logp"][step]):
            if (y is None) != np.isinf(x):
                raise SystemExit("legal labels differ")
            worst = max(worst, 0.0 if y is None else abs(x - y))
    return worst


def build(name, out):
    embedding, tag, hidden, net, suffix_length, kind, seed = SHAPES[name]
    directory = os.path.join(out, name)
    symbols = make_symbols(suffix_length)
    save_model(directory, name, random_parser(symbols, embedding, tag, hidden, net, seed), symbols, kind)
    # Read the weights back, because 16-bit weights are rounded in the file.
    tensors = read_safetensors(os.path.join(directory, "model.safetensors"))
    double, plain = from_tensors(tensors).double(), Plain(tensors, symbols)
    rng, cases, worst, expansions = random.Random(seed), [], 0.0, 0
    search = Search(k=4, absolute=3.0, max_candidates=3)
    for text, tag_text in SENTENCES:
        tokens, given = text.split(), tag_text and tag_text.split()
        ids, rows, predicted, positions = plain.encode(tokens, given)
        case = {"tokens": tokens, "tags": given, "ids": ids, "predicted": predicted,
                "layer1": np.array(rows).tolist(), "positions": np.array(positions).tolist(),
                "forced": forced_derivation(plain, positions, rng)}
        sentence = Sentence(tokens, given, {})
        scorer, tags = scorers(double, symbols, [sentence], given is not None)[0]
        worst = max(worst, check(double, symbols, sentence, case, scorer, tags))
        names = [symbols.tags.tokens[t] for t in tags]
        case["greedy"] = output(greedy_search(scorer), symbols, tokens, names)
        found, expanded = beam_search(scorer, search)
        single, _ = beam_search(scorers(from_tensors(tensors), symbols, [sentence], given is not None)[0][0], search)
        if [c.actions() for c in single] != [c.actions() for c in found]:
            raise SystemExit("32-bit arithmetic decides otherwise: pick another seed")
        case["beam"] = [output(c, symbols, tokens, names) for c in found]
        expansions += expanded
        cases.append(case)
    expected = {"options": {"k": search.k, "absolute": search.absolute, "max_candidates": search.max_candidates},
                "expansions": expansions, "cases": cases}
    text = json.dumps(rounded(expected, 9), separators=(",", ":"))
    with open(os.path.join(directory, "expected.json"), "w", encoding="utf-8") as file:
        file.write(text.replace('{"tokens":', '\n{"tokens":') + "\n")
    print(f"{directory}: {len(cases)} cases, {expansions} expansions, numpy and PyTorch agree to {worst:.1g}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, help="folder for the models, such as tests/data/shiftreduce")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for name in SHAPES:
        build(name, options.out)


if __name__ == "__main__":
    main()
