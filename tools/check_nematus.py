#!/usr/bin/env python3
"""Checks `convert_mt.py nematus`: the small models of tests/data/mt as Nematus writes them, converted, compared.

Needs numpy alone. The tensors must be the same; with --rill build/rill its 5-best lists must be those of the plain search on
mt_rnn_numpy.py, scores within 1e-4. Then each thing that must be refused is.
"""

import argparse
import json
import math
import os
import random
import shutil
import sys
import tempfile

import numpy as np

from convert_checks import DATA, FAILED, STEPS, Rill, made, refused, verdict
from model_files import read_safetensors
from mt_rnn_numpy import Net
from plain_search import Search
from reference_mt_rnn import Decoder, beam_search

NAMES = {"</s>": "eos", "<unk>": "UNK"}


def read_json(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return json.load(file)


def write_json(value, *path):
    with open(os.path.join(*path), "w", encoding="utf-8") as file:
        json.dump(value, file)
    return os.path.join(*path)


def save_nematus(directory, name, tensors, **options):
    """model.npz with the records of a training, its options, and dictionaries that are longer than the tables."""
    model = os.path.join(directory, "model.npz")
    np.savez(model, uidx=7, history_errs=[1.5], adam_t=3.0, **tensors)
    for side, file in (("de", "vocab.json"), ("en", "target_vocab.json")):
        path = os.path.join(DATA, name, file)
        words = read_json(path if os.path.exists(path) else os.path.join(DATA, name, "vocab.json"))
        words = {NAMES.get(word, word): number for word, number in words.items()}
        write_json({**words, "behind": len(words)}, directory, side + ".json")
    write_json({"dictionaries": ["corpus/de.json", "corpus/en.json"], "use_dropout": True, "model_version": 0.1, **options},
               model + ".json")
    return model


def same_model(name, out):
    """The converted directory has the original's tensors, sizes and words."""
    ours, theirs = (read_safetensors(os.path.join(d, "model.safetensors")) for d in (out, os.path.join(DATA, name)))
    verdict(ours.keys() == theirs.keys() and all(np.array_equal(ours[n], theirs[n]) for n in ours), f"{name}: the same tensors")
    ours, theirs = (read_json(d, "config.json") for d in (out, os.path.join(DATA, name)))
    verdict({**ours, "max_length": 0} == {**theirs, "max_length": 0}, f"{name}: the same configuration")
    for file in ("vocab.json", "target_vocab.json"):
        paths = [os.path.join(d, file) for d in (out, os.path.join(DATA, name))]
        there = [os.path.exists(path) for path in paths]
        verdict(there[0] == there[1] and (not there[0] or read_json(paths[0]) == read_json(paths[1])), f"{name}: the same {file}")


def decodes(rill, name, out):
    net, rng = Net.read(out), random.Random(1)
    source = read_json(out, "vocab.json")
    target = read_json(out, "target_vocab.json") if os.path.exists(os.path.join(out, "target_vocab.json")) else source
    written = {number: piece for piece, number in target.items()}
    usable = [p for p in source if p not in NAMES]
    inputs = [[rng.choice(usable) for _ in range(n)] for n in (3, 9)]
    worst = 0.0
    for pieces, ours in zip(inputs, rill.n_best([out], [" ".join(pieces) for pieces in inputs])):
        theirs = beam_search(Decoder(net, [source[p] for p in pieces] + [net.end]), Search(5, math.inf, 5, 0, STEPS, net.end))
        if [p for p, _score in ours] != [[written[a] for a in o["actions"]] for o in theirs]:
            return verdict(False, f"{name}: {ours[:1]} instead of {theirs[0]}")
        worst = max([worst] + [abs(a[1] - b["score"]) for a, b in zip(ours, theirs)])
    return verdict(worst < 1e-4, f"{name} decodes as in NumPy (scores within {worst:.1e})")


def check_models(rill, work):
    for name in ("rnn", "rnn-own", "rnn-simple", "rnn-simple-two"):
        directory, out = os.path.join(work, name), os.path.join(work, "from-" + name)
        os.makedirs(directory)
        model = save_nematus(directory, name, read_safetensors(os.path.join(DATA, name, "model.safetensors")))
        if made(name, "nematus", model, "--out", out):
            same_model(name, out)
            if rill:
                decodes(rill, name, out)
    tensors = read_safetensors(os.path.join(DATA, "rnn", "model.safetensors"))
    one, out = os.path.join(work, "one"), os.path.join(work, "from-one")
    os.makedirs(one)
    few = {n: v for n, v in tensors.items() if n not in ("Wemb_dec", "decoder_c_tt")}
    model, vocabulary = save_nematus(one, "rnn", few), os.path.join(one, "de.json")
    write_json({word: number for word, number in read_json(vocabulary).items() if number != 5}, vocabulary)
    if made("a model with one table", "nematus", model, "--vocab", vocabulary, "--out", out):
        verdict(read_json(out, "vocab.json").get("<row 5>") == 5, "a row without a word has a name")
        net = read_safetensors(os.path.join(out, "model.safetensors"))
        verdict(np.array_equal(net["Wemb"], net["Wemb_dec"]) and not net["decoder_c_tt"].any(), "the one table is both sides'")


def check_refusals(work):
    directory = os.path.join(work, "never")
    os.makedirs(directory)
    tensors = read_safetensors(os.path.join(DATA, "rnn", "model.safetensors"))
    command = ("nematus", os.path.join(directory, "model.npz"), "--out", os.path.join(work, "nothing"))
    refused("no model", "model.npz: not there", *command)
    for key, value in [("factors", 2), ("output_hidden_activation", "relu"), ("softmax_mixture_size", 3), ("model_type", "transformer"),
                       ("model_version", 0)]:
        save_nematus(directory, "rnn", tensors, **{key: value})
        refused(f"{key} = {value}", f"model.npz.json: {key}: ", *command)
    save_nematus(directory, "rnn", tensors, dictionaries=["de.json"])
    refused("one dictionary", "dictionaries: expected two, found 1", *command)
    for name in ("encoder_U_drt_1", "decoder_W_comb_att_lnb", "Wemb1"):
        save_nematus(directory, "rnn", {**tensors, name: np.zeros(3)})
        refused(name, f"model.npz: {name}: a rnnsearch model of these sizes has no such tensor", *command)
    save_nematus(directory, "rnn", {n: v for n, v in tensors.items() if n != "ff_state_b"})
    refused("a missing tensor", "ff_state_b is missing", *command)
    save_nematus(directory, "rnn", {**tensors, "decoder_Wc": tensors["decoder_Wc"][:-1]})
    refused("another shape", "decoder_Wc: expected shape", *command)
    save_nematus(directory, "rnn", tensors)
    write_json({"eos": 0, "UNK": 1, "a": 2, "b": 2}, directory, "de.json")
    refused("a number twice", "de.json: 2 is the number of 'a' and of 'b'", *command)
    write_json({"a": 0, "UNK": 1}, directory, "de.json")
    refused("no end", "de.json: expected eos (or </s>) with number 0", *command)
    with open(os.path.join(directory, "model.npz"), "wb") as file:
        file.write(b"no zip")
    refused("another file", "expected Nematus' model.npz", *command)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rill", metavar="FILE", help="the command: decode with it too")
    given = parser.parse_args()
    work = tempfile.mkdtemp()
    try:
        check_models(Rill(os.path.abspath(given.rill)) if given.rill else None, work)
        check_refusals(work)
    finally:
        shutil.rmtree(work)
    print(f"{len(FAILED)} failures")
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
