"""Directories of translation models in Hugging Face's form: which tensors of which shapes, and writing one.

docs/mt.md lists what rill reads. Converters build a configuration and tensors; write_model() checks one against
the other, so that what rill would refuse is refused here, with its original name.
"""

import json
import os
import shutil

import numpy as np

from model_files import write_safetensors
from refusal import Refused, written_whole

SHARED = "model.shared.weight"
ENCODER_WORDS, DECODER_WORDS = "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"
# Other model types that rill reads, and the possible names of their embedding tables.
FAMILIES = ("m2m_100", "mbart", "bart", "pegasus", "t5", "mt5", "umt5")
FAMILY_TABLES = [prefix + name + ".weight" for prefix in ("model.", "")
                 for name in ("shared", "encoder.embed_tokens", "decoder.embed_tokens")]
HEADS = {"marian": "lm_head.weight", "fsmt": "model.decoder.output_projection.weight"}
BIAS = "final_logits_bias"


def attention(prefix, width):
    for part in ("q_proj", "k_proj", "v_proj", "out_proj"):
        yield f"{prefix}.{part}.weight", (width, width)
        yield f"{prefix}.{part}.bias", (width,)
    yield f"{prefix}_layer_norm.weight", (width,)
    yield f"{prefix}_layer_norm.bias", (width,)


def linear(name, rows, columns):
    yield name + ".weight", (rows, columns)
    yield name + ".bias", (rows,)


def in_place_of_attention(prefix, config):
    """Yield the tensors of an SSRU or average attention, with the layer norm that self-attention would have."""
    width = config["d_model"]
    for part in ("weight", "bias"):
        yield f"{prefix}self_attn_layer_norm.{part}", (width,)
    if config["decoder_self_attention"] == "ssru":
        yield prefix + "self_ssru.input_proj.weight", (width, width)
        yield from linear(prefix + "self_ssru.forget_proj", width, width)
        return
    inner, prefix = config["average_ffn_dim"], prefix + "self_average."
    if inner > 0:
        yield from linear(prefix + "fc1", inner, width)
    if inner not in (0, width):
        yield from linear(prefix + "fc2", width, inner)
    if config["average_gate"]:
        yield from linear(prefix + "input_gate", width, width)
        yield from linear(prefix + "mean_gate", width, width)


def layer(prefix, config, inner, cross):
    width = config["d_model"]
    if cross and config.get("decoder_self_attention", "attention") != "attention":
        yield from in_place_of_attention(prefix, config)
    else:
        yield from attention(prefix + "self_attn", width)
    if cross:
        yield from attention(prefix + "encoder_attn", width)
    yield from ((prefix + "fc1.weight", (inner, width)), (prefix + "fc1.bias", (inner,)),
                (prefix + "fc2.weight", (width, inner)), (prefix + "fc2.bias", (width,)),
                (prefix + "final_layer_norm.weight", (width,)), (prefix + "final_layer_norm.bias", (width,)))


def vocabulary_sizes(config):
    """Return the numbers of symbols of the source and of the target."""
    if config["model_type"] == "fsmt":
        return config["src_vocab_size"], config["tgt_vocab_size"]
    if config["model_type"] == "rnnsearch" and "vocab_size" not in config:
        return config["source_vocab_size"], config["target_vocab_size"]
    return config["vocab_size"], config.get("decoder_vocab_size") or config["vocab_size"]


def rnn_tensors(config):
    """Return the names and shapes of a recurrent model's tensors, [in, out] as in Nematus. A separate output layer, ff_logit_W, is
    optional."""
    e, h, d, a = (config[part + "_size"] for part in ("embedding", "encoder", "decoder", "attention"))
    source, target = vocabulary_sizes(config)
    shapes = {"Wemb": (source, e), "Wemb_dec": (target, e), "ff_state_W": (2 * h, d), "ff_state_b": (d,), "ff_logit_b": (target,)}
    for prefix, width in (("encoder_", h), ("encoder_r_", h), ("decoder_", d)):
        for name, rows in (("W", e), ("U", width)):
            shapes[prefix + name], shapes[prefix + name + "x"] = (rows, 2 * width), (rows, width)
        shapes[prefix + "b"], shapes[prefix + "bx"] = (2 * width,), (width,)
    shapes.update(decoder_Wc=(2 * h, 2 * d), decoder_Wcx=(2 * h, d), decoder_Wc_att=(2 * h, a), decoder_b_att=(a,),
                  decoder_W_comb_att=(d, a), decoder_U_att=(a, 1), decoder_c_tt=(1,))
    if config["decoder"] == "conditional":
        shapes.update(decoder_U_nl=(d, 2 * d), decoder_b_nl=(2 * d,), decoder_Ux_nl=(d, d), decoder_bx_nl=(d,))
    for part, width in (("lstm", d), ("prev", e), ("ctx", 2 * h)):
        shapes[f"ff_logit_{part}_W"], shapes[f"ff_logit_{part}_b"] = (width, e), (e,)
    return shapes


def rnn_output(config):
    """Return the name and shape of a separate output layer."""
    return {"ff_logit_W": (config["embedding_size"], vocabulary_sizes(config)[1])}


def sharing(config):
    """Return whether source and target share the embeddings, and whether the output layer shares the target's."""
    if config["model_type"] == "fsmt":
        return (config.get("tie_word_embeddings", False),) * 2
    return config.get("share_encoder_decoder_embeddings", True), config.get("tie_word_embeddings", True)


def layer_tensors(config):
    """Return the names and shapes of the tensors that all layers of both model types have."""
    shapes = {}
    for side in ("encoder", "decoder"):
        for i in range(config[side + "_layers"]):
            shapes.update(layer(f"model.{side}.layers.{i}.", config, config[side + "_ffn_dim"], side == "decoder"))
        for key, name in (("add_final_layer_norm", "layer_norm"), ("normalize_embedding", "layernorm_embedding")):
            if config["model_type"] == "marian" and config.get(key):
                shapes.update({f"model.{side}.{name}.{part}": (config["d_model"],) for part in ("weight", "bias")})
    return shapes


def table_tensors(config):
    """Return the names and shapes of all possible embeddings, output layers and biases, of which a model has some."""
    width, (source, target) = config["d_model"], vocabulary_sizes(config)
    shapes = {ENCODER_WORDS: (source, width), DECODER_WORDS: (target, width),
              HEADS[config["model_type"]]: (target, width)}
    if config["model_type"] == "marian":
        shapes[SHARED] = (source, width)
        shapes[BIAS] = (1, target)
        for side in ("encoder", "decoder"):
            shapes[f"model.{side}.embed_positions.weight"] = (config["max_position_embeddings"], width)
    return shapes


def check_numbers(file, name, value):
    if not np.isfinite(value).all():
        raise Refused(f"{file}: {name}: has values that are infinite or no numbers")


def check_family(file, tensors):
    """Refuse model types that rill does not read, and values that are not numbers."""
    if not any(name in tensors for name in FAMILY_TABLES):
        raise Refused(f"{file}: no embedding of words: expected one of {', '.join(FAMILY_TABLES)}")
    for name, value in tensors.items():
        check_numbers(file, name, value)


def check_tensors(file, config, tensors):
    """Refuse missing tensors, wrong shapes and unknown tensors."""
    if config["model_type"] in FAMILIES:
        check_family(file, tensors)
        return
    recurrent = config["model_type"] == "rnnsearch"
    needed, possible = ((rnn_tensors(config), rnn_output(config)) if recurrent else
                        (layer_tensors(config), table_tensors(config)))
    for name, shape in needed.items():
        if name not in tensors:
            raise Refused(f"{file}: {name} is missing, expected with shape {list(shape)}")
    for name, value in tensors.items():
        shape = needed.get(name) or possible.get(name)
        if shape is None:
            raise Refused(f"{file}: {name}: a {config['model_type']} model of these sizes has no such tensor")
        if tuple(value.shape) != shape and not (name == BIAS and value.shape == shape[1:]):
            raise Refused(f"{file}: {name}: expected shape {list(shape)}, found {list(value.shape)}")
        check_numbers(file, name, value)
    if not recurrent:
        check_tables(file, config, tensors)


def check_tables(file, config, tensors):
    """Refuse a model that lacks a table which no other table may replace under this configuration."""
    (shared, tied), head = sharing(config), HEADS[config["model_type"]]
    either = [SHARED, ENCODER_WORDS] + [DECODER_WORDS, head] * shared
    if not any(name in tensors for name in either):
        raise Refused(f"{file}: no embedding of source words: expected one of {', '.join(either)}")
    either = [SHARED, DECODER_WORDS, head]
    if not shared and not any(name in tensors for name in either):
        raise Refused(f"{file}: no embedding of target words: expected one of {', '.join(either)}")
    if config["model_type"] == "marian" and not tied and head not in tensors:
        raise Refused(f"{file}: {head} is missing, expected since tie_word_embeddings is false")


def same(tensors, names):
    """Whether all of these tensors that exist have the same numbers."""
    found = [tensors[name] for name in names if name in tensors]
    return all(a.shape == found[0].shape and np.array_equal(a, found[0]) for a in found[1:])


def drop_copies(config, tensors):
    """Keep one copy of tables that the configuration ties: rill and transformers use it for all of them. In FAMILIES, tables are tied
    if only one is stored, so there one copy of equal tables is kept.
    """
    if config["model_type"] in FAMILIES:
        present = [name for name in (*FAMILY_TABLES, "lm_head.weight") if name in tensors]
        for name in present[1:]:
            if same(tensors, [present[0], name]):
                del tensors[name]
        return
    shared, tied = sharing(config)
    head = [HEADS[config["model_type"]]] if tied else []
    group = [SHARED, ENCODER_WORDS, DECODER_WORDS, *head] if shared else [DECODER_WORDS, *head]
    present = [name for name in group if name in tensors]
    if same(tensors, present):
        for name in present[1:]:
            del tensors[name]


def write_json(path, value):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file, ensure_ascii=False, indent=2)
        file.write("\n")


def write_model(out, config, tensors, *, file, kind=None, documents=None, texts=None, copies=()):
    """Make the directory `out`: config.json, model.safetensors, JSON `documents` and `texts` by name, and `copies`, pairs of a file
    and its name in the directory. `file`: the original model, which messages name."""
    check_tensors(file, config, tensors)
    if config["model_type"] != "rnnsearch":
        drop_copies(config, tensors)
    with written_whole(out) as folder:
        for source, name in copies:
            if os.path.abspath(source) != os.path.abspath(os.path.join(out, name)):
                shutil.copyfile(source, os.path.join(folder, name))
        for name, text in (texts or {}).items():
            with open(os.path.join(folder, name), "w", encoding="utf-8", newline="\n") as target:
                target.write(text)
        for name, value in (documents or {}).items():
            write_json(os.path.join(folder, name), value)
        write_json(os.path.join(folder, "config.json"), config)
        write_safetensors(os.path.join(folder, "model.safetensors"), tensors, kind)
