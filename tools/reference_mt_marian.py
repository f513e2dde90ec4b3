#!/usr/bin/env python3
"""Write small random Marian models with decoders that transformers does not have, with known results, for tests of rill's translation
domain: norms before blocks, SSRUs, average attention, tied layers.

Needs only numpy. Each model is made as Marian's parameters. marian_numpy.py computes with them in 64 bits, and convert_marian.py
converts them to the directory, so a passed test confirms both. The subword tokens are those of tests/data/mt/shared. expected.json
has the form that reference_mt.py gives it, without texts.

The seeds were picked so that some outputs end early, some late and some at the length limit.
"""

import argparse
import json
import os
import random
import shutil
import tempfile

import numpy as np

import convert_marian
from marian_model import save_marian
from marian_numpy import Net
from model_files import rounded
from plain_search import Search
from reference_mt_rnn import beam_search, read_json, write_json

STEPS, FORCED_STEPS = 20, 3
POST = {"transformer-preprocess": "", "transformer-postprocess": "dan", "transformer-postprocess-emb": "d",
        "transformer-postprocess-top": ""}
PRE = {"transformer-preprocess": "n", "transformer-postprocess": "da", "transformer-postprocess-emb": "d",
       "transformer-postprocess-top": "n"}
SSRU = {"transformer-decoder-autoreg": "rnn", "dec-cell": "ssru"}
AVERAGE = {"transformer-decoder-autoreg": "average-attention", "transformer-aan-depth": 2, "transformer-dim-aan": 20,
           "transformer-aan-activation": "swish", "transformer-aan-nogate": False}
SHAPES = {
    # name -> Marian's options, in addition to those below
    "ssru": {**POST, **SSRU, "seed": 1, "end": 4.5, "kind": np.float32, "dim-emb": 16, "transformer-heads": 4, "enc-depth": 2},
    "ssru-pre": {**PRE, **SSRU, "seed": 2, "end": 2.5, "kind": np.float16, "dim-emb": 18, "transformer-heads": 3,
                 "transformer-postprocess-emb": "nd", "transformer-decoder-dim-ffn": 19, "own": True},
    "ssru-tied": {**POST, **SSRU, "seed": 3, "end": 3.5, "kind": np.float32, "dec-depth": 3, "transformer-tied-layers": [1, 2, 1]},
    "average": {**POST, **AVERAGE, "seed": 4, "end": 1.0, "kind": np.float32, "transformer-ffn-activation": "swish"},
    "average-pre": {**PRE, **AVERAGE, "seed": 5, "end": 3.5, "kind": np.float32, "transformer-dim-aan": 12,
                    "transformer-aan-activation": "relu"},
    "average-plain": {**POST, **AVERAGE, "seed": 6, "end": 4.7, "kind": np.float16, "transformer-aan-depth": 1},
    "average-free": {**PRE, **AVERAGE, "seed": 7, "end": 3.5, "kind": np.float32, "transformer-aan-nogate": True},
    "marian-pre": {**PRE, "transformer-decoder-autoreg": "self-attention", "seed": 8, "end": 3.5, "kind": np.float32},
}
USUAL = {"type": "transformer", "dim-emb": 12, "transformer-heads": 2, "enc-depth": 1, "dec-depth": 2, "transformer-dim-ffn": 24,
         "transformer-ffn-depth": 2, "transformer-ffn-activation": "relu", "own": False, "version": "v1.12.0"}


# --- the model

def parameters(options, words):
    """Return the names and shapes of parameters; the options say where the norms are."""
    width, shapes = options["dim-emb"], {}

    def dense(name, suffix, rows, columns):
        shapes[f"{name}_W{suffix}"], shapes[f"{name}_b{suffix}"] = (rows, columns), (1, columns)

    def norms(before, behind, pre="transformer-preprocess", post="transformer-postprocess"):
        for name, key, suffix in ((before, pre, "_pre"), (behind, post, "")):
            if name and "n" in options[key]:
                shapes[f"{name}_ln_scale{suffix}"] = shapes[f"{name}_ln_bias{suffix}"] = (1, width)

    def attention(name):
        for part in "qkvo":
            dense(name, part, width, width)
        norms(name + "_Wo", name + "_Wo")

    def first(name):
        if options["transformer-decoder-autoreg"] == "rnn":
            shapes[f"{name}_rnn_W"] = (width, width)
            dense(f"{name}_rnn", "f", width, width)
            norms(f"{name}_rnn", f"{name}_rnn_ffn")
        elif options["transformer-decoder-autoreg"] == "self-attention":
            attention(name + "_self")
        else:
            inner = options["transformer-dim-aan"]
            if options["transformer-aan-depth"] == 2:
                dense(f"{name}_aan", "1", width, inner)
                if inner != width:
                    dense(f"{name}_aan", "2", inner, width)
            for part in "if" if not options["transformer-aan-nogate"] else "":
                dense(f"{name}_aan", part, width, width)
            norms(f"{name}_aan_ffn", f"{name}_aan_ffn")

    for side in ("encoder", "decoder"):
        layers = options.get("transformer-tied-layers", range(1, options["dec-depth"] + 1))
        for number in sorted(set(layers)) if side == "decoder" else range(1, options["enc-depth"] + 1):
            name = f"{side}_l{number}"
            first(name) if side == "decoder" else attention(name + "_self")
            if side == "decoder":
                attention(name + "_context")
            inner = side == "decoder" and options.get("transformer-decoder-dim-ffn") or options["transformer-dim-ffn"]
            dense(name + "_ffn", "1", width, inner)
            dense(name + "_ffn", "2", inner, width)
            norms(name + "_ffn_ffn", name + "_ffn_ffn")
        norms(side + "_emb", side + "_top", "transformer-postprocess-emb", "transformer-postprocess-top")
    shapes["Wemb"] = (words, width)
    if options["own"]:
        shapes["decoder_ff_logit_out_W"] = (width, words)
    shapes["decoder_ff_logit_out_b"] = (1, words)
    return shapes


def make_arrays(options, words, end):
    """Draw weights that are large enough for gates to open and close and for words to differ; the end token is likely."""
    draw, arrays = np.random.default_rng(options["seed"]), {}
    for name, shape in parameters(options, words).items():
        if "_ln_" in name:
            value = ("scale" in name) + 0.3 * draw.standard_normal(shape)
        elif name == "Wemb":
            value = draw.standard_normal(shape) * 1.6 * shape[1] ** -0.5
        else:
            value = draw.standard_normal(shape) * (0.5 if shape[0] == 1 else 1.6 * shape[0] ** -0.5)
        arrays[name] = value.astype(options["kind"])
    arrays["decoder_ff_logit_out_b"][0, end] += options["end"]
    return arrays


def written(options):
    """Return the options as special:model.yml has them."""
    left = {key: value for key, value in options.items() if key not in ("seed", "end", "kind", "own")}
    left["tied-embeddings-all"], left["tied-embeddings-src"] = not options["own"], options["own"]
    return {key: str(value).lower() if isinstance(value, bool) else value if value != "" else '""' for key, value in left.items()}


# --- expected results

class Decoder:
    """The log-probabilities after prefixes of one input; padding is never chosen."""

    def __init__(self, net, ids):
        self.net, self.states = net, net.encode(ids)

    def step(self, prefixes):
        logp = np.stack([self.net.decode(self.states, prefix)[0][-1] for prefix in prefixes])
        logp[:, -1] = -np.inf
        return logp, None


def case(net, numbers, pieces, rng):
    end, words = numbers["</s>"], len(numbers) - 1
    ids = [numbers.get(p, numbers["<unk>"]) for p in pieces] + [end]
    decoder = Decoder(net, ids)
    forced = [rng.choice([a for a in range(words) if a != end]) for _ in range(FORCED_STEPS)]
    logp, share = net.decode(decoder.states, forced[:-1])
    greedy, beam = (beam_search(decoder, Search(k, float("inf"), k, 0, STEPS, end)) for k in (1, 5))
    scores = sorted(o["score"] for o in beam)
    assert all(b - a > 1e-4 for a, b in zip(scores, scores[1:])), "a tie: pick another seed"
    return {"pieces": pieces, "ids": ids, "forced": forced, "steps": logp.tolist(), "greedy": greedy[0], "beam": beam,
            "attention": share.tolist(), "memory": net.last_memory(decoder.states).tolist()}


def build(name, folder):
    options, out = {**USUAL, **SHAPES[name]}, os.path.join(folder, name)
    numbers = read_json(folder, "shared", "vocab.json")
    arrays = make_arrays(options, len(numbers) - 1, numbers["</s>"])
    shutil.rmtree(out, ignore_errors=True)
    with tempfile.TemporaryDirectory() as work:
        model, vocabulary = os.path.join(work, "model.npz"), os.path.join(work, "vocab.yml")
        save_marian(model, arrays, written(options))
        with open(vocabulary, "w", encoding="utf-8") as file:
            file.writelines(f"{json.dumps(p, ensure_ascii=False)}: {i}\n" for p, i in numbers.items() if p != "<pad>")
        convert_marian.convert(model, out, None, [vocabulary], None, "marian")
    write_json({**read_json(out, "config.json"), "max_length": STEPS + 1, "max_position_embeddings": 40}, out, "config.json", indent=2)
    net, rng = Net(arrays, options), random.Random(options["seed"])
    usable = [p for p in numbers if p not in ("</s>", "<unk>", "<pad>")]
    cases = [case(net, numbers, [rng.choice(usable) for _ in range(n)], rng) for n in (1, 3, 5, 13)]
    cases += [case(net, numbers, p, rng) for p in (["nothing", usable[0]], usable[:4])]
    write_json(rounded({"max_length": STEPS, "cases": cases}, 6), out, "expected.json", separators=(",", ":"))
    ended = [len(o["actions"]) for c in cases for o in c["beam"] if not o["truncated"]]
    cut = sum(o["truncated"] for c in cases for o in c["beam"])
    size = sum(os.path.getsize(os.path.join(out, f)) for f in os.listdir(out))
    print(f"{name}: lengths of ended outputs {sorted(ended)}, {cut} truncated, {size} bytes")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", help="where the model directories go, and shared is: tests/data/mt")
    parser.add_argument("names", nargs="*", help=f"which ones: {', '.join(SHAPES)}; all by default")
    options = parser.parse_args()
    for name in options.names or SHAPES:
        build(name, options.folder)


if __name__ == "__main__":
    main()
