#!/usr/bin/env python3
"""Write small random recurrent translation models (rnnsearch) with known results, for tests of rill's translation domain.

Needs only numpy. mt_rnn_numpy.py computes the expected results in 64 bits from the weights as they are stored. The tokenizer files
are those of tests/data/mt/shared and separate, without their padding token. expected.json has the form that reference_mt.py gives
it: `memory` has the encoder's annotations, and `texts` the results of those directories for the same texts.

The seeds were picked so that some outputs end early, some late and some at the length limit.
"""

import argparse
import json
import os
import random
import shutil

import numpy as np

from model_files import rounded, write_safetensors
from mt_directory import rnn_output, rnn_tensors
from mt_rnn_numpy import Net
from plain_search import Candidate, Item, Search, advance

SIZES = ("embedding_size", "encoder_size", "decoder_size", "attention_size")
SHAPES = {
    # name -> sizes in this order; whether the output layer is a separate tensor; the model whose tokenizer files are used
    "rnn": dict(seed=2, end=4.0, decoder="conditional", sizes=(12, 9, 14, 11), own_output=False, pieces="shared", kind="F32"),
    "rnn-own": dict(seed=2, end=4.0, decoder="conditional", sizes=(13, 16, 16, 7), own_output=True, pieces="separate", kind="F16"),
    "rnn-simple": dict(seed=3, end=3.0, decoder="simple", sizes=(16, 8, 21, 16), own_output=True, pieces="shared", kind="F32"),
    "rnn-simple-two": dict(seed=1, end=3.0, decoder="simple", sizes=(10, 11, 12, 13), own_output=False, pieces="separate", kind="F16"),
}
EOS, UNK, FIRST = "</s>", "<unk>", ["</s>", "<unk>"]
STEPS, FORCED_STEPS = 20, 3


# --- the directory

def read_json(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return json.load(file)


def write_json(value, *path, **form):
    with open(os.path.join(*path), "w", encoding="utf-8") as file:
        json.dump(value, file, ensure_ascii=False, **form)
        file.write("\n")


def make_vocabularies(donor, out):
    """Write the tokenizer files; return the tokens of both sides in order of their ids, </s> and <unk> first."""
    sides = []
    for side, name in (("source", "vocab.json"), ("target", "target_vocab.json")):
        shutil.copyfile(os.path.join(donor, side + ".spm"), os.path.join(out, side + ".spm"))
        if os.path.exists(os.path.join(donor, name)):
            numbers = read_json(donor, name)
            rest = sorted((p for p in numbers if p not in FIRST and p != "<pad>"), key=numbers.get)
            sides.append(FIRST + rest)
            write_json({piece: i for i, piece in enumerate(sides[-1])}, out, name)
        else:
            sides.append(sides[0])
    return sides


def make_config(shape, sides):
    config = {"model_type": "rnnsearch", "decoder": shape["decoder"], "eos_token_id": 0, "unk_token_id": 1, "max_length": 40,
              **dict(zip(SIZES, shape["sizes"]))}
    if sides[0] is sides[1]:
        return {**config, "vocab_size": len(sides[0])}
    return {**config, "source_vocab_size": len(sides[0]), "target_vocab_size": len(sides[1])}


def make_tensors(shape, config, draw):
    """Draw weights that are large enough for gates to open and close and for words to differ; the end token is likely."""
    shapes, tensors = {**rnn_tensors(config), **(rnn_output(config) if shape["own_output"] else {})}, {}
    for name, size in shapes.items():
        if len(size) == 1:
            scale = 0.5
        else:
            scale = 1.0 if name.startswith("Wemb") else 1.4 * size[0] ** -0.5
        if name == "ff_logit_W":
            scale *= 1.5
        tensors[name] = draw.standard_normal(size) * scale
    tensors["ff_logit_b"][0] += shape["end"]
    kind = {"F32": np.float32, "F16": np.float16}[shape["kind"]]
    return {name: value.astype(kind) for name, value in tensors.items()}


# --- expected results

class Decoder:
    """The log-probabilities after prefixes of one input."""

    def __init__(self, net, ids):
        self.net, self.annotations, self.after = net, net.encode(ids), {}

    def step(self, prefixes):
        """Return log-probabilities of all words, and attention, after prefixes of the same length. Shorter prefixes of them must have
        been computed before."""
        first = not prefixes[0]
        before = [self.net.start(self.annotations)] if first else [self.after[p[:-1]] for p in prefixes]
        words = None if first else np.array([p[-1] for p in prefixes])
        states, logp, share = self.net.step(self.annotations, np.stack(before), words)
        self.after.update(zip(prefixes, states))
        return logp, share


def beam_search(decoder, search):
    """Decode as reference_mt.py does; return the outputs, best first."""
    item, depth = Item([Candidate(0.0, ())]), 0
    while not item.done:
        depth += 1
        live = [c for c in item.live if not c.ended]
        logp, _ = decoder.step([c.actions for c in live])
        actions = np.argsort(-logp, axis=1, kind="stable")[:, :search.k]
        scores = np.take_along_axis(logp, actions, 1)
        advance(item, {id(c): i for i, c in enumerate(live)}, scores.tolist(), actions.tolist(), search, depth)
    outputs = sorted(item.outputs, key=lambda o: -o.score)
    return [{"score": o.score, "actions": list(o.actions), "truncated": o.truncated} for o in outputs]


def case(net, sides, pieces, rng):
    source = {piece: i for i, piece in enumerate(sides[0])}
    ids = [source.get(p, net.unknown) for p in pieces] + [net.end]
    decoder = Decoder(net, ids)
    forced = [rng.randrange(1, len(sides[1])) for _ in range(FORCED_STEPS)]
    steps, shares = zip(*(decoder.step([tuple(forced[:i])]) for i in range(FORCED_STEPS)))
    greedy, beam = (beam_search(decoder, Search(k, float("inf"), k, 0, STEPS, net.end)) for k in (1, 5))
    scores = sorted(o["score"] for o in beam)
    assert all(b - a > 1e-4 for a, b in zip(scores, scores[1:])), "a tie: pick another seed"
    return {"pieces": pieces, "ids": ids, "forced": forced, "steps": [s[0].tolist() for s in steps], "greedy": greedy[0],
            "beam": beam, "attention": [s[0].tolist() for s in shares], "memory": decoder.annotations.tolist()}


def texts(donor, cases, sides):
    """Return the donor's texts with their ids in the new vocabulary, and the texts of outputs: their tokens, with spaces where tokens
    mark them."""
    old = {i: piece for piece, i in read_json(donor, "vocab.json").items()}
    new = {piece: i for i, piece in enumerate(sides[0])}
    into = [{"text": one["text"], "ids": [new[old[i]] for i in one["ids"]]}
            for one in read_json(donor, "expected.json")["texts"]["into"]]
    back = []
    for one in cases:
        actions = one["greedy"]["actions"]
        text = "".join(sides[1][a] for a in actions if sides[1][a] not in FIRST)
        back.append({"actions": actions, "text": text.replace("\u2581", " ").strip()})
    return {"into": into, "back": back}


def build(name, folder):
    shape, out = SHAPES[name], os.path.join(folder, name)
    donor = os.path.join(folder, shape["pieces"])
    rng, draw = random.Random(shape["seed"]), np.random.default_rng(shape["seed"])
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    sides = make_vocabularies(donor, out)
    config = make_config(shape, sides)
    write_json(config, out, "config.json", indent=2)
    write_safetensors(os.path.join(out, "model.safetensors"), make_tensors(shape, config, draw))
    net = Net.read(out)
    usable = [p for p in sides[0] if p != EOS]
    cases = [case(net, sides, [rng.choice(usable) for _ in range(n)], rng) for n in (1, 3, 5, 13)]
    cases += [case(net, sides, p, rng) for p in (["nothing", usable[5]], usable[2:6])]
    expected = {"max_length": STEPS, "cases": cases, "texts": texts(donor, cases, sides)}
    write_json(rounded(expected, 6), out, "expected.json", separators=(",", ":"))
    ended = [len(o["actions"]) for c in cases for o in c["beam"] if not o["truncated"]]
    cut = sum(o["truncated"] for c in cases for o in c["beam"])
    size = sum(os.path.getsize(os.path.join(out, f)) for f in os.listdir(out))
    print(f"{name}: lengths of ended outputs {sorted(ended)}, {cut} truncated, {size} bytes")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", help="where the model directories go, and shared and separate are: tests/data/mt")
    parser.add_argument("names", nargs="*", help=f"which ones: {', '.join(SHAPES)}; all by default")
    options = parser.parse_args()
    for name in options.names or SHAPES:
        build(name, options.folder)


if __name__ == "__main__":
    main()
