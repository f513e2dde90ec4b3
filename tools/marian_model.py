#!/usr/bin/env python3
"""A Hugging Face directory of type `marian` as Marian's own model.npz, for comparing with marian-decoder: the way back from
convert_marian.py. Takes NumPy alone. Tests of the converter write Marian's other files by it: .bin models and vocabularies.

usage: marian_model.py MARIAN_DIRECTORY MODEL.npz

Marian has no row for padding and computes positions itself; the directory decodes alike once its config.json has
"rill": {"positions": "marian"}. Layer norms add 1e-9 there and 1e-5 here.
"""

import json
import os
import struct
import sys

import numpy as np

from model_files import read_safetensors, run_converter


def marian_name(key):
    """Return Marian's name of a tensor of transformers."""
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
    """Return Marian's arrays: matrices are transposed, and vectors become rows."""
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


def binary_items(arrays, options, in_8_bits=()):
    """Return {name: (type, bytes, shape)} of a .bin model. Matrices in `in_8_bits` are stored as marian-conv --gemm-type intgemm8 does."""
    text = yaml_of(options).encode() + b"\0"
    items = {"special:model.yml": (0x101, text, (1, len(text)))}
    for name, array in arrays.items():
        if name not in in_8_bits:
            items[name] = (0x404, np.ascontiguousarray(array, np.float32).tobytes(), array.shape)
            continue
        unit, whole = quantised(array)
        items[name] = (0x4101, (whole if name == "Wemb" else whole.T).tobytes() + unit.tobytes(), array.shape)
        items[name + "_QuantMultA"] = (0x404, np.float32(9).tobytes(), (1, 1))
    return items


def quantised(array):
    """Quantise a matrix to 8 bits; return its multiplier and the integers."""
    unit = np.float32(127 / np.abs(array).max())
    return unit, np.clip(np.rint(array * unit), -127, 127).astype(np.int8)


def save_binary(path, items, align=256):
    """Write a .bin model: headers, names, shapes, padding, and data. `align` divides the number of bytes of each item's data."""
    rows = [(name.encode() + b"\0", kind, shape, data + bytes(-len(data) % align))
            for name, (kind, data, shape) in items.items()]
    head = struct.pack("<QQ", 1, len(rows))
    head += b"".join(struct.pack("<QQQQ", len(name), kind, len(shape), len(data)) for name, kind, shape, data in rows)
    head += b"".join(name for name, *_ in rows) + b"".join(struct.pack(f"<{len(shape)}i", *shape) for _, _, shape, _ in rows)
    gap = -(len(head) + 8) % align
    with open(path, "wb") as file:
        file.write(head + struct.pack("<Q", gap) + bytes(gap) + b"".join(data for *_, data in rows))


def save_vocabulary(path, pieces):
    """Write a vocabulary that uses each kind of YAML quotes."""
    with open(path, "w", encoding="utf-8") as file:
        for number, piece in enumerate(pieces):
            quoted = piece if piece.isalpha() else json.dumps(piece, ensure_ascii=number % 2 == 0)
            if number % 5 == 0 and not piece.isalpha():
                quoted = "'" + piece.replace("'", "''") + "'"
            file.write(f"{quoted}: {number}\n")


def convert(source, target):
    with open(os.path.join(source, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    if config["model_type"] != "marian" or config["pad_token_id"] != config["vocab_size"] - 1:
        sys.exit(f"marian_model: {source}: expected a marian model with padding as its last symbol")
    arrays = marian_arrays(read_safetensors(os.path.join(source, "model.safetensors")), config)
    save_marian(target, {name: np.ascontiguousarray(array) for name, array in arrays.items()}, marian_options(config))


if __name__ == "__main__":
    run_converter(__doc__, convert)
