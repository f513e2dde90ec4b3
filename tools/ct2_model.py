#!/usr/bin/env python3
"""A Hugging Face directory of type `marian` or `m2m_100` as a model of CTranslate2, for comparing speed: the same numbers, nothing
trained or quantised here. Takes CTranslate2's Python package and NumPy, not PyTorch.

usage: ct2_model.py DIRECTORY NEW_DIRECTORY
"""

import json
import os
import sys

import numpy as np

from model_files import read_safetensors, run_converter

ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "swish": "SWISH", "silu": "SWISH"}


def positions(rows, width):
    angle = np.arange(rows)[:, None] / 10000 ** (np.arange(0, width, 2) / width)
    return np.concatenate([np.sin(angle), np.cos(angle)], axis=1).astype(np.float32)


def positions_of_fairseq(rows, width, pad):
    """Compute fairseq's sinusoidal positions from the first token on, whose position is the padding id plus one."""
    half = width // 2
    angle = np.arange(pad + 1, pad + 1 + rows)[:, None] * np.exp(np.arange(half) * -(np.log(10000) / (half - 1)))
    return np.concatenate([np.sin(angle), np.cos(angle)], axis=1).astype(np.float32)


def set_linear(spec, tensors, names):
    """Join several layers with the same input into one, as CTranslate2 wants queries, keys and values."""
    spec.weight = np.concatenate([tensors[n + ".weight"] for n in names])
    spec.bias = np.concatenate([tensors[n + ".bias"] for n in names])


def set_norm(spec, tensors, name):
    spec.gamma, spec.beta = tensors[name + ".weight"], tensors[name + ".bias"]


def set_layer(spec, tensors, name, cross):
    self_attention = name + ".self_attn."
    set_linear(spec.self_attention.linear[0], tensors, [self_attention + p + "_proj" for p in "qkv"])
    set_linear(spec.self_attention.linear[1], tensors, [self_attention + "out_proj"])
    set_norm(spec.self_attention.layer_norm, tensors, name + ".self_attn_layer_norm")
    if cross:
        attention = name + ".encoder_attn."
        set_linear(spec.attention.linear[0], tensors, [attention + "q_proj"])
        set_linear(spec.attention.linear[1], tensors, [attention + p + "_proj" for p in "kv"])
        set_linear(spec.attention.linear[2], tensors, [attention + "out_proj"])
        set_norm(spec.attention.layer_norm, tensors, name + ".encoder_attn_layer_norm")
    set_linear(spec.ffn.linear_0, tensors, [name + ".fc1"])
    set_linear(spec.ffn.linear_1, tensors, [name + ".fc2"])
    set_norm(spec.ffn.layer_norm, tensors, name + ".final_layer_norm")


def check(path, config):
    """Refuse models that cannot be converted: there must be one table for both sides and the output layer, and positions as transformers
    computes them."""
    expected = {"tie_word_embeddings": True}
    if config.get("model_type") != "m2m_100":
        expected = {"model_type": "marian", "pad_token_id": config.get("vocab_size", 0) - 1,
                    "share_encoder_decoder_embeddings": True, "tie_word_embeddings": True}
    for key, value in expected.items():
        found = config.get(key, True)
        if found != value:
            sys.exit(f"ct2_model: {path}: {key}: expected {value}, found {found}")
    if config.get("rill", {}).get("positions", "hf") != "hf":
        sys.exit(f"ct2_model: {path}: rill.positions: only hf can be converted")


def convert(source, target, quantization="float32"):
    from ctranslate2.specs import common_spec, transformer_spec

    path = os.path.join(source, "config.json")
    with open(path, encoding="utf-8") as file:
        config = json.load(file)
    with open(os.path.join(source, "vocab.json"), encoding="utf-8") as file:
        numbers = json.load(file)
    check(path, config)
    tensors = read_safetensors(os.path.join(source, "model.safetensors"))
    marian, width = config["model_type"] == "marian", config["d_model"]
    words = config["vocab_size"] - marian  # CTranslate2 starts from a zero embedding, and so needs no row for Marian's <pad>
    table = np.ascontiguousarray(tensors["model.shared.weight"][:words])
    spec = transformer_spec.TransformerSpec.from_config(
        (config["encoder_layers"], config["decoder_layers"]), config["encoder_attention_heads"], pre_norm=not marian,
        activation=getattr(common_spec.Activation, ACTIVATIONS[config["activation_function"]]))
    for side, name in ((spec.encoder, "encoder"), (spec.decoder, "decoder")):
        rows = config["max_position_embeddings"]
        side.position_encodings.encodings = positions(rows, width) if marian else positions_of_fairseq(
            rows, width, config["pad_token_id"])
        if not marian:
            set_norm(side.layer_norm, tensors, f"model.{name}.layer_norm")
        for i, layer in enumerate(side.layer):
            set_layer(layer, tensors, f"model.{name}.layers.{i}", name == "decoder")
    spec.encoder.embeddings[0].weight = table
    spec.decoder.embeddings.weight = table
    spec.decoder.projection.weight = table
    if marian:
        bias = tensors.get("final_logits_bias", np.zeros(words + 1, np.float32)).reshape(-1)
        spec.decoder.projection.bias = np.ascontiguousarray(bias[:words])
    spec.decoder.start_from_zero_embedding = marian
    pieces = sorted(numbers, key=numbers.get)[:words]
    spec.register_source_vocabulary(pieces)
    spec.register_target_vocabulary(pieces)
    spec.config.add_source_eos = True
    spec.config.eos_token = spec.config.decoder_start_token = pieces[config["eos_token_id"]]
    spec.config.unk_token = "<unk>"
    spec.validate()
    spec.optimize(quantization=quantization)
    os.makedirs(target, exist_ok=True)
    spec.save(target)


if __name__ == "__main__":
    run_converter(__doc__, convert)
