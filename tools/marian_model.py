#!/usr/bin/env python3
"""A Hugging Face directory of type `marian` as Marian's own model.npz, for comparing with marian-decoder: the way back from
convert_marian.py. Takes NumPy alone.

usage: marian_model.py MARIAN_DIRECTORY MODEL.npz

Marian has no row for padding and computes positions itself; the directory decodes alike once its config.json has
"rill": {"positions": "marian"}. Layer norms add 1e-9 there and 1e-5 here.
"""

import json
import os
import sys

import numpy as np

from model_files import read_safetensors, run_converter


def marian_name(key):
    """Marian's name for transformers'."""
    _model, side, _layers, layer, *rest = key.split(".")
    prefix = f"{side}_l{int(layer) + 1}_"
    norm = {"weight": "ln_scale", "bias": "ln_bias"}
    attention = {"self_attn": "self", "encoder_attn": "context"}
    if rest[0] in attention:
        part = rest[1][0]
        return f"{prefix}{attention[rest[0]]}_{'W' if rest[2] == 'weight' else 'b'}{part}"
    if rest[0] == "final_layer_norm":
        return f"{prefix}ffn_ffn_{norm[rest[1]]}"
    if rest[0].endswith("_layer_norm"):
        return f"{prefix}{attention[rest[0][:-len('_layer_norm')]]}_Wo_{norm[rest[1]]}"
    return f"{prefix}ffn_{'W' if rest[1] == 'weight' else 'b'}{rest[0][2]}"


def marian_arrays(tensors, config):
    """Matrices are transposed, vectors become rows."""
    arrays = {}
    for key, value in tensors.items():
        if ".layers." in key:
            arrays[marian_name(key)] = value.T if value.ndim == 2 else value[np.newaxis]
    arrays["decoder_ff_logit_out_b"] = tensors["final_logits_bias"][:, :-1]
    if config["share_encoder_decoder_embeddings"]:
        arrays["Wemb"] = tensors["model.shared.weight"][:-1]
    else:
        arrays["encoder_Wemb"] = tensors["model.encoder.embed_tokens.weight"][:-1]
        arrays["decoder_Wemb"] = tensors["model.decoder.embed_tokens.weight"][:-1]
    if not config["tie_word_embeddings"]:
        arrays["decoder_ff_logit_out_W"] = tensors["lm_head.weight"][:-1].T
    return arrays


def marian_options(config):
    tied, shared = config["tie_word_embeddings"], config["share_encoder_decoder_embeddings"]
    return {
        "type": "transformer", "enc-depth": config["encoder_layers"], "dec-depth": config["decoder_layers"],
        "dim-emb": config["d_model"], "dim-vocabs": [config["vocab_size"] - 1, config["decoder_vocab_size"] - 1],
        "transformer-heads": config["encoder_attention_heads"], "transformer-dim-ffn": config["encoder_ffn_dim"],
        "transformer-decoder-dim-ffn": config["decoder_ffn_dim"], "transformer-ffn-depth": 2,
        "transformer-ffn-activation": config["activation_function"], "transformer-preprocess": '""',
        "transformer-postprocess": "dan", "transformer-postprocess-emb": "d", "transformer-tied-layers": [],
        "tied-embeddings-all": str(tied and shared).lower(), "tied-embeddings": str(tied and not shared).lower(),
        "tied-embeddings-src": str(shared and not tied).lower(), "version": "v1.9.0 1d6b1a5 2020-01-01",
    }


def yaml_of(options):
    text = ""
    for key, value in options.items():
        if isinstance(value, list):
            text += f"{key}:\n" + ("".join(f"  - {item}\n" for item in value) or "  []\n")
        else:
            text += f"{key}: {value}\n"
    return text


def save_marian(path, arrays, options):
    raw = np.frombuffer(yaml_of(options).encode() + b"\0", dtype=np.int8)
    np.savez(path, **arrays, **({"special:model.yml": raw} if options else {}))


def convert(source, target):
    with open(os.path.join(source, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    if config["model_type"] != "marian" or config["pad_token_id"] != config["vocab_size"] - 1:
        sys.exit(f"marian_model: {source}: expected a marian model with padding as its last symbol")
    arrays = marian_arrays(read_safetensors(os.path.join(source, "model.safetensors")), config)
    save_marian(target, {name: np.ascontiguousarray(array) for name, array in arrays.items()}, marian_options(config))


if __name__ == "__main__":
    run_converter(__doc__, convert)
