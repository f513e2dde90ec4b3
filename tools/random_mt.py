#!/usr/bin/env python3
"""A translation model's directory with random weights, and inputs for it, where no trained model of a size can be had: for measuring
speed, not quality. Needs NumPy only. rill and transformers read the directory alike.

The length of an output means nothing here, so measurements fix it: inputs come in files INPUTS.LENGTH, whose outputs get LENGTH
tokens. Random weights give flat distributions. `--sharpness` is the gain of the last norm, and so the spread of the logits; with 5
to 7 beams are about as wide as those of trained models.

usage: random_mt.py NEW_DIRECTORY [--type marian|fsmt|m2m_100] [--width 512 --inner 2048 --encoder-inner INNER --layers 6 --heads 8]
                    [--decoder-layers LAYERS --ssru]
                    [--words 32000 --sharpness 6 --seed 1] [--lengths PIECES --inputs NAME --lines 100 --bucket 4]
fsmt is the type of the WMT'19 models: --width 1024 --inner 4096 --encoder-inner 8192 --heads 16 --words 42024 is their size.
m2m_100 is NLLB's, --width 1024 --inner 4096 --layers 12 --heads 16 --words 256206 the size of its smallest, without languages.
--width 256 --inner 1536 --layers 6 --decoder-layers 2 --ssru is the size of a small student of Marian's, which transformers does not
read.
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


def ssru(tensors, layer, width, draw):
    for part in ("input", "forget"):
        tensors[f"{layer}.self_ssru.{part}_proj.weight"] = draw(width, width)
    tensors[f"{layer}.self_ssru.forget_proj.bias"] = draw(width, scale=0.02)
    norm(tensors, layer + ".self_attn_layer_norm", width)


def norm(tensors, name, width, gain=1.0):
    tensors[name + ".weight"] = np.full(width, gain, np.float32)
    tensors[name + ".bias"] = np.zeros(width, np.float32)


def symbols(args):
    """Return the number of symbols, and the id of <pad>: Marian's is the last, after the words; FSMT's is 1."""
    return (args.words + 1, args.words) if args.type == "marian" else (args.words, 1)


def layers_of(args, side):
    return args.decoder_layers or args.layers if side == "decoder" else args.layers


def make_tensors(args):
    random = np.random.default_rng(args.seed)

    def draw(*shape, scale=None):
        return (random.standard_normal(shape, np.float32) * (scale or shape[-1] ** -0.5)).astype(np.float32)

    size, pad = symbols(args)
    shared = draw(size, args.width)
    shared[pad] = 0
    if args.type == "fsmt":
        tensors = {f"model.{side}.embed_tokens.weight": shared for side in ("encoder", "decoder")}
    elif args.type == "m2m_100":
        tensors = {"model.shared.weight": shared}
    else:
        tensors = {"model.shared.weight": shared, "final_logits_bias": np.zeros((1, size), np.float32)}
    for side in ("encoder", "decoder"):
        width_inside = args.encoder_inner if side == "encoder" else args.inner
        layers = layers_of(args, side)
        for i in range(layers):
            name = f"model.{side}.layers.{i}"
            if side == "decoder" and args.ssru:
                ssru(tensors, name, args.width, draw)
            else:
                attention(tensors, name + ".self_attn", args.width, draw)
            if side == "decoder":
                attention(tensors, name + ".encoder_attn", args.width, draw)
            for inner, (rows, columns) in (("fc1", (width_inside, args.width)), ("fc2", (args.width, width_inside))):
                tensors[f"{name}.{inner}.weight"] = draw(rows, columns)
                tensors[f"{name}.{inner}.bias"] = draw(rows, scale=0.02)
            last = side == "decoder" and i == layers - 1 and args.type != "m2m_100"
            norm(tensors, name + ".final_layer_norm", args.width, args.sharpness if last else 1.0)
        if args.type == "m2m_100":
            norm(tensors, f"model.{side}.layer_norm", args.width, args.sharpness if side == "decoder" else 1.0)
    return tensors


def make_config(args):
    size, pad = symbols(args)
    config = {"model_type": args.type, "d_model": args.width, "scale_embedding": True, "pad_token_id": pad,
              "max_position_embeddings": 512, "max_length": 512, "tie_word_embeddings": True}
    for side, inner in (("encoder", args.encoder_inner), ("decoder", args.inner)):
        config.update({side + "_layers": layers_of(args, side), side + "_attention_heads": args.heads, side + "_ffn_dim": inner})
    if args.type == "fsmt":
        return {**config, "architectures": ["FSMTForConditionalGeneration"], "activation_function": "relu", "langs": ["de", "en"],
                "src_vocab_size": size, "tgt_vocab_size": size, "bos_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 2,
                "forced_eos_token_id": None}
    if args.type == "m2m_100":
        return {**config, "architectures": ["M2M100ForConditionalGeneration"], "activation_function": "relu", "vocab_size": size,
                "bos_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 2}
    if args.ssru:
        config["decoder_self_attention"] = "ssru"
    return {**config, "architectures": ["MarianMTModel"], "activation_function": "relu" if args.ssru else "swish", "vocab_size": size,
            "decoder_vocab_size": size, "eos_token_id": 0, "decoder_start_token_id": pad, "bad_words_ids": [[pad]],
            "share_encoder_decoder_embeddings": True, "static_position_embeddings": True, "normalize_before": False,
            "normalize_embedding": False, "add_final_layer_norm": False}


def write_json(args, name, value, indent):
    with open(os.path.join(args.directory, name), "w", encoding="utf-8") as file:
        json.dump(value, file, indent=indent, sort_keys=name == "config.json")


def write_vocabulary(args):
    """Write vocabularies in which token tI has the id I, for both types."""
    pieces = ["<s>", "<pad>", "</s>", "<unk>", *(f"t{i}" for i in range(4, args.words))]
    if args.type == "m2m_100":
        write_json(args, "vocab.json", {piece: i for i, piece in enumerate(pieces)}, 0)
    elif args.type == "fsmt":
        write_json(args, "vocab-src.json", {piece: i for i, piece in enumerate(pieces)}, 0)
        write_json(args, "vocab-tgt.json", {piece: i for i, piece in enumerate(pieces)}, 0)
        write_json(args, "tokenizer_config.json", {"langs": ["de", "en"], "do_lower_case": False}, 0)
        with open(os.path.join(args.directory, "merges.txt"), "w", encoding="utf-8") as file:
            file.write("#version: 0.2\n")
    else:
        pieces = ["</s>", "<unk>", *(f"t{i}" for i in range(2, args.words)), "<pad>"]
        write_json(args, "vocab.json", {piece: i for i, piece in enumerate(pieces)}, 0)


def write_inputs(args):
    """Write lines of random tokens, as long as those of the sample, in one file per output length. The output length is the input's,
    rounded up to a multiple of the bucket. So there are few files, and about as much work as with the sample.
    """
    random = np.random.default_rng(args.seed + 1)
    with open(args.lengths, encoding="utf-8") as file:
        lengths = [max(len(line.split()), 1) for line in file]
    buckets = {}
    for at in range(args.lines):
        length = lengths[at * len(lengths) // args.lines]
        pieces = " ".join(f"t{p}" for p in random.integers(4, args.words, length))
        buckets.setdefault(-(-length // args.bucket) * args.bucket, []).append(pieces)
    for length, lines in buckets.items():
        with open(f"{args.inputs}.{length}", "w", encoding="utf-8") as file:
            file.write("".join(line + "\n" for line in lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory")
    for name, default in (("width", 512), ("inner", 2048), ("layers", 6), ("heads", 8), ("words", 32000), ("seed", 1)):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--type", default="marian", choices=("marian", "fsmt", "m2m_100"))
    parser.add_argument("--encoder-inner", type=int)
    parser.add_argument("--decoder-layers", type=int)
    parser.add_argument("--ssru", action="store_true")
    parser.add_argument("--sharpness", type=float, default=6)
    parser.add_argument("--lengths", metavar="PIECES")
    parser.add_argument("--inputs", metavar="NAME")
    parser.add_argument("--lines", type=int, default=100)
    parser.add_argument("--bucket", type=int, default=4)
    args = parser.parse_args()
    if args.ssru and args.type != "marian":
        parser.error("--ssru: only with --type marian")
    args.encoder_inner = args.encoder_inner or args.inner
    os.makedirs(args.directory, exist_ok=True)
    write_safetensors(os.path.join(args.directory, "model.safetensors"), make_tensors(args), "F16")
    write_json(args, "config.json", make_config(args), 2)
    write_vocabulary(args)
    if args.inputs:
        write_inputs(args)


if __name__ == "__main__":
    main()
