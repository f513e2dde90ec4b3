#!/usr/bin/env python3
"""A `marian` directory with random weights, and inputs for it, where no trained model of a size can be had: for measuring speed, not
quality. Needs NumPy only.

An output's length means nothing here, so whoever measures fixes it: inputs come in buckets, INPUTS.LENGTH, every output of which
is to have LENGTH pieces. Random weights give flat distributions; `--sharpness` is the gain of the last norm, hence the spread of the
logits, and 5 to 7 make beams about as wide as those of trained models.

usage: random_mt.py NEW_DIRECTORY [--width 512 --inner 2048 --layers 6 --heads 8 --words 32000 --sharpness 6 --seed 1]
                    [--lengths PIECES --inputs NAME --lines 100 --bucket 4]
PIECES is a text cut into pieces: the inputs have lengths drawn from it.
"""

import argparse
import json
import os

import numpy as np

from model_files import write_safetensors


def attention(tensors, name, width, draw):
    for part in ("q", "k", "v", "out"):
        tensors[f"{name}.{part}_proj.weight"] = draw(width, width)
        tensors[f"{name}.{part}_proj.bias"] = draw(width, scale=0.02)
    norm(tensors, name + "_layer_norm", width)


def norm(tensors, name, width, gain=1.0):
    tensors[name + ".weight"] = np.full(width, gain, np.float32)
    tensors[name + ".bias"] = np.zeros(width, np.float32)


def make_tensors(args):
    random = np.random.default_rng(args.seed)

    def draw(*shape, scale=None):
        return (random.standard_normal(shape, np.float32) * (scale or shape[-1] ** -0.5)).astype(np.float32)

    shared = draw(args.words + 1, args.width)
    shared[args.words] = 0
    tensors = {"model.shared.weight": shared, "final_logits_bias": np.zeros((1, args.words + 1), np.float32)}
    for side in ("encoder", "decoder"):
        for i in range(args.layers):
            name = f"model.{side}.layers.{i}"
            attention(tensors, name + ".self_attn", args.width, draw)
            if side == "decoder":
                attention(tensors, name + ".encoder_attn", args.width, draw)
            for inner, (rows, columns) in (("fc1", (args.inner, args.width)), ("fc2", (args.width, args.inner))):
                tensors[f"{name}.{inner}.weight"] = draw(rows, columns)
                tensors[f"{name}.{inner}.bias"] = draw(rows, scale=0.02)
            last = side == "decoder" and i == args.layers - 1
            norm(tensors, name + ".final_layer_norm", args.width, args.sharpness if last else 1.0)
    return tensors


def make_config(args):
    sides = {}
    for side in ("encoder", "decoder"):
        sides.update({side + "_layers": args.layers, side + "_attention_heads": args.heads, side + "_ffn_dim": args.inner})
    return {"model_type": "marian", "architectures": ["MarianMTModel"], "activation_function": "swish", "d_model": args.width,
            "vocab_size": args.words + 1, "decoder_vocab_size": args.words + 1, "scale_embedding": True, "eos_token_id": 0,
            "pad_token_id": args.words, "decoder_start_token_id": args.words, "bad_words_ids": [[args.words]],
            "max_position_embeddings": 512, "max_length": 512, "share_encoder_decoder_embeddings": True,
            "tie_word_embeddings": True, "static_position_embeddings": True, "normalize_before": False,
            "normalize_embedding": False, "add_final_layer_norm": False, **sides}


def write_inputs(args):
    """Lines of random pieces, as long as those of the sample; one file per length of output, which is the input's rounded up to
    a multiple of the bucket, so that files are few and the work is about the sample's."""
    random = np.random.default_rng(args.seed + 1)
    with open(args.lengths, encoding="utf-8") as file:
        lengths = [max(len(line.split()), 1) for line in file]
    buckets = {}
    for at in range(args.lines):
        length = lengths[at * len(lengths) // args.lines]
        pieces = " ".join(f"t{p}" for p in random.integers(2, args.words, length))
        buckets.setdefault(-(-length // args.bucket) * args.bucket, []).append(pieces)
    for length, lines in buckets.items():
        with open(f"{args.inputs}.{length}", "w", encoding="utf-8") as file:
            file.write("".join(line + "\n" for line in lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory")
    for name, default in (("width", 512), ("inner", 2048), ("layers", 6), ("heads", 8), ("words", 32000), ("seed", 1)):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--sharpness", type=float, default=6)
    parser.add_argument("--lengths", metavar="PIECES")
    parser.add_argument("--inputs", metavar="NAME")
    parser.add_argument("--lines", type=int, default=100)
    parser.add_argument("--bucket", type=int, default=4)
    args = parser.parse_args()
    os.makedirs(args.directory, exist_ok=True)
    write_safetensors(os.path.join(args.directory, "model.safetensors"), make_tensors(args), "F16")
    with open(os.path.join(args.directory, "config.json"), "w", encoding="utf-8") as file:
        json.dump(make_config(args), file, indent=2, sort_keys=True)
    pieces = ["</s>", "<unk>", *(f"t{i}" for i in range(2, args.words)), "<pad>"]
    with open(os.path.join(args.directory, "vocab.json"), "w", encoding="utf-8") as file:
        json.dump({piece: i for i, piece in enumerate(pieces)}, file, indent=0)
    if args.inputs:
        write_inputs(args)


if __name__ == "__main__":
    main()
