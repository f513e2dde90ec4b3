#!/usr/bin/env python3
"""Write small random models with known results, for tests of rill's semantic parsing domain.

The expected values are computed in numpy with 64-bit floats, straight from the equations. They are compared with the PyTorch model
before they are written. Two models: `tiny` (sizes that are whole vectors, 32-bit weights) and `odd` (sizes that are not, 16-bit
weights). Each directory holds a model as the trainer writes it, and expected.json:

  cases: for each question its tokens, the framed ids the encoder reads, the encoder outputs
    (one row per framed id), the last state, and for the forced actions the log-probabilities of
    the first steps (null for a symbol that is never an action); the greedy output with its
    score, without the end action
  search, and per case `beam`: the outputs under those settings, best first, with scores;
    expansions: live candidates expanded over all cases

The seeds were picked so that some outputs end early, some late and some at the length limit.
"""

import argparse
import json
import os
import random

import numpy as np
import torch

from model_files import read_safetensors, rounded
from plain_search import Search
from semparse_decode import beam_search
from semparse_model import (END, SPECIALS, START, UNK, Seq2Seq, Vocabulary, frame_source,
                            from_tensors, make_config, save_model, to_tensors)

SHAPES = {
    # name -> embedding, hidden, source words, target words, weight type, seed
    "tiny": (16, 16, 17, 13, "F32", 55),
    "odd": (7, 13, 9, 18, "F16", 50),
}
FORCED_STEPS = 3


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


class Plain:
    """The model's equations in NumPy, one vector at a time."""

    def __init__(self, tensors):
        self.w = {name: t.astype(np.float64) for name, t in tensors.items()}

    def lstm(self, side, token, h, c):
        x = self.w[f"{side}.embedding.weight"][token]
        gates = (self.w[f"{side}.lstm.weight_ih"] @ x + self.w[f"{side}.lstm.weight_hh"] @ h
                 + self.w[f"{side}.lstm.bias"])
        i, f, g, o = np.split(gates, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        return sigmoid(o) * np.tanh(c), c

    def encode(self, framed):
        h = c = np.zeros(self.w["attention.bias"].shape)
        rows = []
        for token in framed:
            h, c = self.lstm("encoder", token, h, c)
            rows.append(h)
        return np.array(rows), h, c

    def step(self, memory, previous, h, c):
        h, c = self.lstm("decoder", previous, h, c)
        scores = memory @ h
        weights = np.exp(scores - scores.max())
        context = (weights / weights.sum()) @ memory
        attended = np.tanh(self.w["attention.weight"] @ np.concatenate([context, h])
                           + self.w["attention.bias"])
        logits = self.w["output.weight"] @ attended + self.w["output.bias"]
        logits[[START, UNK]] = -np.inf
        top = logits.max()
        return logits - top - np.log(np.exp(logits - top).sum()), h, c


def case(plain, source, target, tokens, rng, max_length):
    framed = frame_source(source.encode(tokens))
    memory, h, c = plain.encode(framed)
    result = {"tokens": tokens, "framed": framed, "encoder": memory.tolist(),
              "state_h": h.tolist(), "state_c": c.tolist()}

    forced = [rng.randrange(UNK + 1, len(target)) for _ in range(FORCED_STEPS - 1)]
    rows, previous, state = [], START, (h, c)
    for step in range(FORCED_STEPS):
        logp, *state = plain.step(memory, previous, *state)
        rows.append([None if np.isinf(x) else float(x) for x in logp])
        previous = forced[step] if step < len(forced) else None
    result.update(forced=forced, log_probabilities=rows)

    actions, score, previous, state = [], 0.0, START, (h, c)
    while True:
        logp, *state = plain.step(memory, previous, *state)
        previous = int(np.argmax(logp))
        score += float(logp[previous])
        if previous == END:
            break
        actions.append(previous)
        if len(actions) == max_length:
            break
    result["greedy"] = {"actions": actions, "tokens": target.decode(actions), "score": score,
                        "truncated": previous != END}
    return result


def check(model, cases, max_length):
    """Fail unless PyTorch and NumPy, which were written separately, agree up to rounding."""
    worst = 0.0
    for entry in cases:
        framed = torch.tensor([entry["framed"]])
        with torch.no_grad():
            memory, mask, state = model.encode(framed, torch.tensor([framed.shape[1]]))
            inputs = torch.tensor([[START] + entry["forced"]])
            logp, _ = model.decode(inputs, memory, mask, state)
        expected = np.array([[-np.inf if x is None else x for x in row]
                             for row in entry["log_probabilities"]])
        legal = np.isfinite(expected)
        worst = max(worst, np.abs(logp[0].numpy()[legal] - expected[legal]).max(),
                    np.abs(memory[0].numpy() - np.array(entry["encoder"])).max())
    if worst > 1e-9:
        raise SystemExit(f"numpy and PyTorch differ by {worst:g}")
    return worst


def build(name, out):
    embedding, hidden, source_words, target_words, kind, seed = SHAPES[name]
    rng = random.Random(seed)
    torch.manual_seed(seed)
    source = Vocabulary(SPECIALS + [f"w{i}" for i in range(source_words)])
    target = Vocabulary(SPECIALS + [f"a{i}" for i in range(target_words)])
    model = Seq2Seq(len(source), len(target), embedding, hidden)
    for parameter in model.parameters():
        # The range is wide, so that attention and gates are far from uniform.
        torch.nn.init.uniform_(parameter, -1.3, 1.3)
    with torch.no_grad():
        # Without this bias, outputs of a random model seldom end.
        model.output.bias[END] += 0.7

    max_length = 12
    directory = os.path.join(out, name)
    config = make_config(name, model, max_length)
    save_model(directory, config, to_tensors(model), source, target, kind)
    # Read the weights back, because 16-bit weights are rounded in the file.
    tensors = read_safetensors(os.path.join(directory, "model.safetensors"))
    double = from_tensors(tensors).double().eval()

    questions = [["w0"], ["w3", "w1", "w2"], ["unseen"], ["w1", "unseen", "w1", "w5"],
                 [f"w{rng.randrange(source_words)}" for _ in range(11)], []]
    cases = [case(Plain(tensors), source, target, q, rng, max_length) for q in questions]
    worst = check(double, cases, max_length)

    settings = Search(k=4, absolute=3.0, max_candidates=3, max_length=max_length)
    results, expansions, _ = beam_search(double, [source.encode(q) for q in questions], settings)
    for entry, outputs in zip(cases, results):
        entry["beam"] = [{"score": s, "actions": a, "truncated": t} for s, a, t in outputs]
    expected = {"options": {"k": settings.k, "absolute": settings.absolute,
                           "max_candidates": settings.max_candidates,
                           "max_length": max_length},
                "expansions": expansions, "cases": cases}
    path = os.path.join(directory, "expected.json")
    text = json.dumps(rounded(expected, 9), separators=(",", ":"))
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace('{"tokens":["', '\n{"tokens":["').replace(
            '{"tokens":[]', '\n{"tokens":[]') + "\n")
    ended = sum(not c["greedy"]["truncated"] for c in cases)
    print(f"{directory}: {len(cases)} cases, {ended} greedy outputs end by themselves, "
          f"numpy and PyTorch agree to {worst:.1g}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True,
                        help="folder for the models, such as tests/data/semparse")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for name in SHAPES:
        build(name, options.out)


if __name__ == "__main__":
    main()
