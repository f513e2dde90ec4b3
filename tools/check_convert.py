#!/usr/bin/env python3
"""Checks convert_mt.py: tiny models in each original format, converted, decoded, compared.

Needs torch, transformers, sentencepiece, and rill (--rill build/rill). The models are transformers' with random
weights; their originals are made from transformers' names backwards, as torch.save, Marian and fairseq would have
written them. rill's outputs on what was converted must be those of transformers' model by the plain beam search of
plain_search.py: the same actions at k = 5, scores within 1e-4. Then each thing that must be refused is.
"""

import argparse
import json
import math
import os
import pickle
import random
import shutil
import struct
import sys
import tempfile
import types

import numpy as np
import torch
from safetensors.torch import load_file
from transformers import MarianTokenizer

import reference_mt
import reference_mt_marian
import reference_mt_rnn
from convert_checks import DATA, FAILED, STEPS, Rill, made, refused, verdict
from marian_model import marian_arrays, marian_options, save_marian, yaml_of
from marian_numpy import Net
from plain_search import Search
from reference_mt import (SHAPES, Decoder, beam_search, class_of, make_fsmt_vocabularies, make_model,
                          make_vocabularies)

def in_64_bits(model):
    double = class_of(model.config.model_type)(model.config).double().eval()
    double.load_state_dict({k: v.double() for k, v in model.state_dict().items()}, strict=False)
    if model.config.model_type == "marian":  # may have Marian's name
        for side in ("encoder", "decoder"):
            table = getattr(model.model, side).embed_positions.weight.data
            getattr(double.model, side).embed_positions.weight.data.copy_(table)
    return double


class Mean:
    """Several models' decoders as one: the logarithm of the mean of their probabilities."""

    def __init__(self, decoders):
        self.decoders = decoders

    def logp(self, prefixes):
        return torch.stack([d.logp(prefixes) for d in self.decoders]).logsumexp(0) - math.log(len(self.decoders))


def agrees(rill, what, directories, models, sides):
    """The n-best lists of rill on the directories and of the plain search on transformers' models in 64 bits."""
    doubles, config = [in_64_bits(model) for model in models], models[0].config
    rng = random.Random(1)
    usable = [p for p in sides[0] if p not in ("<s>", "</s>", "<unk>", "<pad>")]
    inputs = [[rng.choice(usable) for _ in range(n)] for n in (3, 9)]
    search = Search(5, math.inf, 5, 0, STEPS, config.eos_token_id)
    numbers = {piece: number for number, piece in enumerate(sides[0])}
    found = rill.n_best(directories, [" ".join(pieces) for pieces in inputs])
    worst = 0.0
    for pieces, ours in zip(inputs, found):
        ids = [numbers[piece] for piece in pieces] + [config.eos_token_id]
        theirs = beam_search(Mean([Decoder(double, ids) for double in doubles]), search, config.pad_token_id)
        names = [[sides[1][a] for a in output["actions"] if a != config.eos_token_id] for output in theirs]
        if [pieces for pieces, _score in ours] != names:
            return verdict(False, f"{what}: {ours[0]} instead of {names[0]}")
        worst = max([worst] + [abs(a[1] - b["score"]) for a, b in zip(ours, theirs)])
    return verdict(worst < 1e-4, f"{what} decodes as in transformers (scores within {worst:.1e})")


def reads_text(rill, what, directory, model):
    """Text to text, greedily, with the tokenizer that transformers finds in the directory."""
    tokenizer = MarianTokenizer.from_pretrained(directory)
    lines, expected = ["ein mann spielt gitarre .", "two  dogs", "eine frau"], []
    for line in lines:
        ids = torch.tensor([tokenizer(line).input_ids])
        out = model.generate(ids, num_beams=1, do_sample=False, max_length=STEPS + 1, forced_eos_token_id=None,
                             bad_words_ids=[[model.config.pad_token_id]])[0].tolist()
        expected.append(tokenizer.decode(out, skip_special_tokens=True).strip())
    verdict(rill.decode([directory], lines, "-k", "1") == expected, f"{what}: text becomes the same text")


# --- pytorch_model.bin ------------------------------------------------------------------------------------------------

class Evil:
    """Contents of a hostile pickle."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


FAMILY_MODELS = ("m2m", "mbart", "bart", "pegasus", "t5", "t5-gated", "umt5")


def copy_model(name, out):
    shutil.copytree(os.path.join(DATA, name), out)
    tensors = load_file(os.path.join(out, "model.safetensors"))
    os.remove(os.path.join(out, "model.safetensors"))
    return tensors


def check_parts(rill, work, lines):
    """A model in three files with an index, as save_pretrained() of older versions leaves it."""
    directory, out = (os.path.join(work, name) for name in ("parts", "from-parts"))
    tensors = copy_model("shared", directory)
    places = {name: f"pytorch_model-{i % 3 + 1:05}-of-00003.bin" for i, name in enumerate(sorted(tensors))}
    for place in set(places.values()):
        torch.save({name: tensors[name] for name in tensors if places[name] == place}, os.path.join(directory, place))

    def index(weight_map):
        with open(os.path.join(directory, "pytorch_model.bin.index.json"), "w", encoding="utf-8") as file:
            json.dump({"metadata": {"total_size": 1}, "weight_map": weight_map}, file)

    index(places)
    if made("bin in three files", "bin", directory, "--out", out):
        ours, original = (rill.n_best([d], lines) for d in (out, os.path.join(DATA, "shared")))
        verdict(ours == original, "bin in three files decodes as the original")
    first, last = sorted(set(places.values()))[::2]
    name = next(name for name in places if places[name] == first)
    index({**places, name: last})
    refused("an index that errs", f"{first}: {name} has no place there", "bin", directory, "--out", out)
    index({**places, "of.no.file": first})
    refused("a tensor that is in no file", f"{first}: of.no.file is missing", "bin", directory, "--out", out)
    index({**places, "of.no.file": "absent.bin"})
    refused("a file that is not there", "absent.bin, which is not there", "bin", directory, "--out", out)
    index({**places, "of.no.file": "../absent.bin"})
    refused("a file elsewhere", "weight_map: expected an object", "bin", directory, "--out", out)


def check_families(rill, work):
    """A pickle has each name of a tied table, as transformers before version 4.30 wrote it."""
    for name in FAMILY_MODELS:
        directory, out = (os.path.join(work, f"{part}-{name}") for part in ("bin", "from-bin"))
        tensors = copy_model(name, directory)
        table = next(k for k in tensors if k.endswith("shared.weight"))
        for copy in ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight"):
            tensors[table.replace("shared.weight", copy)] = tensors[table]
        tensors.setdefault("lm_head.weight", tensors[table])
        torch.save(tensors, os.path.join(directory, "pytorch_model.bin"))
        if not made(f"bin {name}", "bin", directory, "--out", out):
            continue
        second = load_file(os.path.join(out, "model.safetensors"))
        verdict(sum(k.endswith("embed_tokens.weight") for k in second) == 0, f"bin {name} stores a tied table once")
        lines = ["\u2581a \u2581t", "d"]
        ours, original = (rill.n_best([d], lines) for d in (out, os.path.join(DATA, name)))
        verdict(ours == original, f"bin {name} decodes as the original")


def check_bin(rill, work):
    lines = ["a b", "man </s> a"]
    for name in sorted(SHAPES):
        for zipped in (True, False):
            what = f"bin {name} ({'zip' if zipped else 'before zip'})"
            directory, out = (os.path.join(work, f"{part}-{name}-{zipped}") for part in ("bin", "from-bin"))
            tensors = copy_model(name, directory)
            if name == "shared":  # aliases, views and a table of positions, as in the wild
                tensors["lm_head.weight"] = tensors["model.encoder.embed_tokens.weight"] = tensors["model.shared.weight"]
                tensors["model.encoder.layers.0.fc1.weight"] = tensors["model.encoder.layers.0.fc1.weight"].t().contiguous().t()
            torch.save(tensors, os.path.join(directory, "pytorch_model.bin"), _use_new_zipfile_serialization=zipped)
            if not made(what, "bin", directory, "--out", out):
                continue
            first, second = (load_file(os.path.join(d, "model.safetensors")) for d in (os.path.join(DATA, name), out))
            equal = sorted(first) == sorted(second) and all(
                first[k].dtype == second[k].dtype and torch.equal(first[k], second[k]) for k in first)
            verdict(equal, f"{what} has the original's tensors")
            ours, original = (rill.n_best([d], lines) for d in (out, os.path.join(DATA, name)))
            verdict(ours == original, f"{what} decodes as the original")
    check_families(rill, work)
    check_parts(rill, work, lines)
    directory = os.path.join(work, "hostile")
    tensors = copy_model("shared", directory)
    path = os.path.join(directory, "pytorch_model.bin")
    trap = os.path.join(work, "trap")
    torch.save({**tensors, "final_logits_bias": Evil(trap)}, path)
    refused("a pickle that calls a function", "final_logits_bias: expected a tensor, found posix.mkdir", "bin", directory,
            "--out", directory)
    verdict(not os.path.exists(trap), "what a pickle calls is not called")
    torch.save({k: v for k, v in tensors.items() if "layers.1.fc2.bias" not in k}, path)
    refused("a missing tensor", "model.encoder.layers.1.fc2.bias is missing, expected with shape [16]", "bin", directory,
            "--out", directory)
    torch.save({**tensors, "model.encoder.layers.2.fc2.bias": torch.zeros(16)}, path)
    refused("a layer too many", "model.encoder.layers.2.fc2.bias: a marian model of these sizes has no such tensor", "bin",
            directory, "--out", directory)
    torch.save({**tensors, "final_logits_bias": torch.full((1, 51), math.nan)}, path)
    refused("no number", "final_logits_bias: has values that are infinite or no numbers", "bin", directory, "--out",
            directory)
    for zipped in (True, False):
        torch.save(tensors, path, _use_new_zipfile_serialization=zipped)
        os.truncate(path, os.path.getsize(path) - 4000)
        refused("a file that is cut off", f"{path}: ", "bin", directory, "--out", directory)
    with open(path, "wb") as file:
        pickle.dump({"a": 1}, file)
    refused("any pickle", "expected PyTorch's magic number", "bin", directory, "--out", directory)
    os.remove(path)
    refused("a directory without weights", "neither pytorch_model.bin nor", "bin", directory, "--out", directory)


# --- Marian -----------------------------------------------------------------------------------------------------------

def marian_parts(model):
    """Its arrays and options."""
    config = model.config.to_dict()
    return marian_arrays({k: v.numpy() for k, v in model.state_dict().items()}, config), marian_options(config)


def save_vocabulary(path, pieces):
    """With each kind of YAML's quotes."""
    with open(path, "w", encoding="utf-8") as file:
        for number, piece in enumerate(pieces):
            plain = piece.isalpha()
            quoted = piece if plain else json.dumps(piece, ensure_ascii=number % 2 == 0)
            if number % 5 == 0 and not plain:
                quoted = "'" + piece.replace("'", "''") + "'"
            file.write(f"{quoted}: {number}\n")


def marian_positions(config):
    """As marian-decoder: the exponents' denominator is D / 2 - 1."""
    half = config.d_model // 2
    angle = np.arange(config.max_position_embeddings)[:, None] * np.exp(-np.arange(half) * np.log(10000.0) / (half - 1))
    return torch.tensor(np.concatenate([np.sin(angle), np.cos(angle)], axis=1), dtype=torch.float32)


def marian_model(name, out, **changes):
    """A model that Marian could have: no row for padding."""
    shape = {**SHAPES["separate" if name == "separate" else "shared"], "scale_embedding": True, **changes}
    shape["decoder_attention_heads"] = shape["encoder_attention_heads"]
    os.makedirs(out)
    rng = random.Random(shape["seed"])
    sides = make_vocabularies(name, out, rng)
    if name == "separate":  # </s> where Marian has it, on both sides
        special = ["</s>", "<unk>", "<pad>"]
        sides = [special[:2] + [p for p in pieces if p not in special] + special[2:] for pieces in sides]
    if name == "spm":
        pieces = reference_mt.sentencepiece.SentencePieceProcessor(model_file=os.path.join(out, "source.spm"))
        sides = [[pieces.id_to_piece(i) for i in range(pieces.get_piece_size())] + ["<pad>"]] * 2
    model = make_model("separate" if name == "separate" else "shared", shape, sides, torch.Generator().manual_seed(shape["seed"]))
    with torch.no_grad():
        model.final_logits_bias[0, -1] = 0.0
        for table in (model.model.encoder.embed_tokens, model.model.decoder.embed_tokens, model.lm_head):
            table.weight[-1] = 0.0
    return model, sides


def check_marian(rill, work):
    kinds = {"shared": {}, "separate": {"activation_function": "relu"}, "odd": {"activation_function": "relu"},
             "spm": {"decoder_layers": 1}, "positions": {}}
    for name, changes in kinds.items():
        directory, out, what = os.path.join(work, "npz-" + name), os.path.join(work, "from-npz-" + name), f"marian {name}"
        model, sides = marian_model("shared" if name == "positions" else name, directory, **changes)
        path, options = os.path.join(directory, "model.npz"), []
        save_marian(path, *marian_parts(model))
        if name == "spm":
            options = ["--vocab", os.path.join(directory, "source.spm")]
        elif name == "separate":
            for side, pieces in zip(("src", "trg"), sides):
                save_vocabulary(os.path.join(directory, f"opus.{side}.vocab.yml"), pieces[:-1])
        else:
            save_vocabulary(os.path.join(directory, "opus.vocab.yml"), sides[0][:-1])
        if name == "positions":
            with torch.no_grad():
                for side in (model.model.encoder, model.model.decoder):
                    side.embed_positions.weight.copy_(marian_positions(model.config))
        else:
            options += ["--positions", "hf"]
        if not made(what, "marian", directory if name != "spm" else path, "--out", out, *options):
            continue
        agrees(rill, what, [out], [model], sides)
        if name in ("shared", "odd", "spm"):
            reads_text(rill, what, out, model)
    check_marian_refusals(work)


def check_marian_refusals(work):
    directory = os.path.join(work, "npz-refused")
    model, sides = marian_model("shared", directory)
    arrays, options = marian_parts(model)
    path, vocabulary = os.path.join(directory, "model.npz"), os.path.join(directory, "vocab.yml")
    save_vocabulary(vocabulary, sides[0][:-1])
    command = ("marian", directory, "--out", os.path.join(work, "never"))
    for key, value in [
            ("type", "s2s"), ("transformer-preprocess", "n"), ("transformer-preprocess", "r"), ("transformer-postprocess", "da"),
            ("transformer-postprocess-emb", "r"), ("transformer-postprocess-top", "a"), ("transformer-ffn-depth", 3),
            ("transformer-decoder-autoreg", "gru"), ("transformer-no-projection", "true"),
            ("transformer-guided-alignment-layer", 99), ("transformer-tied-layers", [1]),
            ("transformer-train-position-embeddings", "true"),
            ("right-left", "true"), ("layer-normalization", "true"), ("lemma-dim-emb", 64),
            ("transformer-ffn-activation", "gelu"), ("transformer-ffn-activation", "tanh")]:
        save_marian(path, arrays, {**options, key: value})
        refused(f"{key}: {value}", f"special:model.yml: {key}: ", *command)
    for key, more in [("dec-cell", {"transformer-decoder-autoreg": "rnn"}),
                      ("transformer-aan-depth", {"transformer-decoder-autoreg": "average-attention", "transformer-aan-depth": 3}),
                      ("version", {"transformer-preprocess": "n", "transformer-postprocess": "da"})]:
        save_marian(path, arrays, {**options, **more})
        refused(f"{more}", f"special:model.yml: {key}: ", *command)
    for name, more in [("encoder_emb_ln_scale_pre", {"transformer-postprocess-emb": "n"}),
                       ("decoder_l1_rnn_W", {"transformer-decoder-autoreg": "rnn", "dec-cell": "ssru"}),
                       ("decoder_l1_aan_W1", {"transformer-decoder-autoreg": "average-attention"}),
                       ("decoder_l1_self_Wo_ln_scale_pre", {"transformer-preprocess": "n", "transformer-postprocess": "da",
                                                            "version": "v1.10.1"})]:
        save_marian(path, arrays, {**options, **more})
        refused(f"{more}", f"{name} is missing" if "pre" not in name or "emb" in name else "_ln_scale_pre is missing", *command)
    save_marian(path, arrays, {k: v for k, v in options.items() if k != "dec-depth"})
    refused("no dec-depth", "special:model.yml: dec-depth is missing", *command)
    save_marian(path, arrays, {})
    refused("no options", "special:model.yml is missing", *command)
    save_marian(path, {**arrays, "Wpos": np.zeros((4, 16), np.float32)}, options)
    refused("trained positions", "Wpos: nothing that a model with these options has", *command)
    save_marian(path, {k: v for k, v in arrays.items() if k != "decoder_l2_context_Wk"}, options)
    refused("a missing matrix", "decoder_l2_context_Wk is missing", *command)
    save_marian(path, {**arrays, "encoder_l1_ffn_W1": np.zeros((16, 32), np.int8)}, options)
    refused("a quantised matrix", "encoder_l1_ffn_W1: expected floating-point numbers, found int8", *command)
    save_marian(path, {**arrays, "encoder_l1_ffn_W1": np.zeros((16, 31), np.float32)}, options)
    refused("a matrix of another size", "model.encoder.layers.0.fc1.weight: expected shape [32, 16], found [31, 16]", *command)
    save_marian(path, arrays, options)
    save_vocabulary(vocabulary, sides[0])
    refused("a vocabulary with padding", "vocab.yml: has a <pad>", *command)
    save_vocabulary(vocabulary, sides[0][:-1] + ["one", "more"])
    refused("a vocabulary too large", "vocab.yml: 52 pieces, but the model has embeddings for 50", *command)
    with open(vocabulary, "w", encoding="utf-8") as file:
        file.write("</s>: 0\n<unk> 1\n")
    refused("a vocabulary that is none", "vocab.yml:2: expected PIECE: NUMBER, found '<unk> 1'", *command)
    with open(path, "wb") as file:
        file.write(b"no archive")
    refused("no archive", "model.npz: not an .npz of arrays", *command)
    refused("no file", "none.npz: not there", "marian", os.path.join(directory, "none.npz"), "--out", directory)


# --- Marian's own decoders --------------------------------------------------------------------------------------------

def agrees_with_numpy(rill, what, directory, net, numbers):
    """As agrees(), with the NumPy of Marian's decoders."""
    rng, names = random.Random(1), {number: piece for piece, number in numbers.items()}
    usable = [p for p in numbers if p not in ("</s>", "<unk>", "<pad>")]
    inputs = [[rng.choice(usable) for _ in range(n)] for n in (3, 9)]
    search = Search(5, math.inf, 5, 0, STEPS, numbers["</s>"])
    worst = 0.0
    for pieces, ours in zip(inputs, rill.n_best([directory], [" ".join(pieces) for pieces in inputs])):
        ids = [numbers[piece] for piece in pieces] + [numbers["</s>"]]
        theirs = reference_mt_rnn.beam_search(reference_mt_marian.Decoder(net, ids), search)
        if [pieces for pieces, _score in ours] != [[names[a] for a in o["actions"] if a != numbers["</s>"]] for o in theirs]:
            return verdict(False, f"{what}: {ours[0]} instead of {theirs[0]}")
        worst = max([worst] + [abs(a[1] - b["score"]) for a, b in zip(ours, theirs)])
    return verdict(worst < 1e-4, f"{what} decodes as the reference (scores within {worst:.1e})")


def check_students(rill, work):
    """Each model of reference_mt_marian.py; then one as marian-conv quantises it, whose values the reference has too."""
    numbers = json.load(open(os.path.join(DATA, "shared", "vocab.json"), encoding="utf-8"))
    vocabulary = os.path.join(work, "students.yml")
    save_vocabulary(vocabulary, [piece for piece in numbers if piece != "<pad>"])
    for name, shape in reference_mt_marian.SHAPES.items():
        options = {**reference_mt_marian.USUAL, **shape}
        arrays = reference_mt_marian.make_arrays(options, len(numbers) - 1, numbers["</s>"])
        check_student(rill, work, f"marian {name}", f"{name}.npz", arrays, options, vocabulary, numbers)
    options = {**reference_mt_marian.USUAL, **reference_mt_marian.SHAPES["ssru"], "transformer-dim-ffn": 32}
    arrays = reference_mt_marian.make_arrays(options, len(numbers) - 1, numbers["</s>"])
    stored, rounded_arrays = quantised(arrays)
    check_student(rill, work, "marian in 8 bits", "ssru.bin", rounded_arrays, options, vocabulary, numbers, stored)
    check_binary_refusals(work, stored, vocabulary)


def check_student(rill, work, what, file, arrays, options, vocabulary, numbers, stored=None):
    path, out = os.path.join(work, file), os.path.join(work, "from-" + file)
    written = reference_mt_marian.written(options)
    if stored is None:
        save_marian(path, arrays, written)
    else:
        stored["special:model.yml"] = (0x101, yaml_of(written).encode() + b"\0", None)
        save_binary(path, stored)
    if made(what, "marian", path, "--vocab", vocabulary, "--out", out):
        agrees_with_numpy(rill, what, out, Net(arrays, options), numbers)


def quantised(arrays):
    """What marian-conv --gemm-type intgemm8 stores: type, bytes, shape; and the values that it represents."""
    stored, values = {}, {}
    for name, array in arrays.items():
        if name != "Wemb" and name[-3:-1] != "_W" and name[-2:] != "_W":
            stored[name], values[name] = (0x404, array.tobytes(), array.shape), array
            continue
        unit = np.float32(127 / np.abs(array).max())
        whole = np.clip(np.rint(array * unit), -127, 127).astype(np.int8)
        laid = whole if name == "Wemb" else whole.T
        stored[name] = (0x4101, np.ascontiguousarray(laid).tobytes() + unit.tobytes(), array.shape)
        stored[name + "_QuantMultA"] = (0x404, np.float32(9).tobytes(), (1, 1))
        values[name] = whole.astype(np.float32) / unit
    return stored, values


def save_binary(path, stored):
    """Marian's form: headers, names, shapes, padding to 256 bytes, data of as many bytes as 256 divides."""
    items = [(name.encode() + b"\0", kind, list(shape or (1, len(data))), data + b"\0" * (-len(data) % 256))
             for name, (kind, data, shape) in stored.items()]
    head = struct.pack("<QQ", 1, len(items))
    head += b"".join(struct.pack("<QQQQ", len(name), kind, len(shape), len(data)) for name, kind, shape, data in items)
    head += b"".join(name for name, _kind, _shape, _data in items)
    head += b"".join(struct.pack(f"<{len(shape)}i", *shape) for _name, _kind, shape, _data in items)
    gap = -(len(head) + 8) % 256
    with open(path, "wb") as file:
        file.write(head + struct.pack("<Q", gap) + b"\0" * gap + b"".join(data for *_rest, data in items))


def check_binary_refusals(work, stored, vocabulary):
    path, name = os.path.join(work, "refused.bin"), "encoder_l1_self_Wq"
    command = ("marian", path, "--vocab", vocabulary, "--out", os.path.join(work, "never"))
    _kind, data, shape = stored[name]
    for what, item, words in [
            ("a matrix packed for a processor", (0x4101 + 0x1000, data, shape), f"{name}: numbers of type 0x5101 cannot be converted"),
            ("no multiplier", (0x4101, data[:-4] + b"\0" * 4, shape), f"{name}: expected a multiplier above 0"),
            ("a matrix in 8 bits of odd sizes", (0x4101, data, (15, 16)), f"{name}: expected rows and columns that 16 divides"),
            ("a matrix cut off", (0x404, data[:100], shape), f"{name}: 256 bytes, too few")]:
        save_binary(path, {**stored, name: item})
        refused(what, words, *command)
    save_binary(path, stored)
    os.truncate(path, os.path.getsize(path) - 300)
    refused("a .bin that is cut off", "not a whole .bin model of Marian", *command)
    with open(path, "wb") as file:
        file.write(b"no model of Marian")
    refused("any .bin", "expected version 1 of Marian's .bin models", *command)


# --- fairseq ----------------------------------------------------------------------------------------------------------

def fairseq_arguments(config, **more):
    sides = {f"{side}_{theirs}": getattr(config, f"{side}_{ours}") for side in ("encoder", "decoder")
             for ours, theirs in (("layers", "layers"), ("attention_heads", "attention_heads"), ("ffn_dim", "ffn_embed_dim"))}
    return {"arch": "transformer_wmt_en_de_big", "encoder_embed_dim": config.d_model, "decoder_embed_dim": config.d_model,
            "share_all_embeddings": config.tie_word_embeddings, "max_source_positions": config.max_position_embeddings,
            "max_target_positions": config.max_position_embeddings, "activation_fn": config.activation_function,
            "source_lang": "de", "target_lang": "en", "encoder_normalize_before": False, "dropout": 0.2, **sides, **more}


def fairseq_state(model, old):
    """fairseq's names: of today, or of 2019 and before."""
    state = {k[len("model."):]: v for k, v in model.state_dict().items() if "embed_positions" not in k}
    for side in ("encoder", "decoder"):
        state[f"{side}.embed_positions._float_tensor"] = torch.zeros(1)
        state[f"{side}.version"] = torch.tensor([3.0])
    if not old:
        return state
    norms = {"encoder": ["self_attn", "final"], "decoder": ["self_attn", "encoder_attn", "final"]}
    for side, names in norms.items():
        for i in range(getattr(model.config, side + "_layers")):
            prefix = f"{side}.layers.{i}."
            for number, name in enumerate(names):
                for part in ("weight", "bias"):
                    state[f"{prefix}layer_norms.{number}.{part}"] = state.pop(f"{prefix}{name}_layer_norm.{part}")
                    if name != "final":
                        state[f"{prefix}{name}.in_proj_{part}"] = torch.cat(
                            [state.pop(f"{prefix}{name}.{p}_proj.{part}") for p in "qkv"])
    if "decoder.output_projection.weight" in state:
        state["decoder.embed_out"] = state.pop("decoder.output_projection.weight")
    return state


def strange_class(module, name):
    """A class of a package that is not installed where the checkpoint is read."""
    for i in range(len(module.split("."))):
        part = ".".join(module.split(".")[:i + 1])
        sys.modules.setdefault(part, types.ModuleType(part))
    if not hasattr(sys.modules[module], name):
        setattr(sys.modules[module], name, type(name, (), {"__module__": module}))
    return getattr(sys.modules[module], name)


def node(value):
    """omegaconf's tree of a value."""
    is_map = isinstance(value, dict)
    made_node = strange_class("omegaconf.dictconfig" if is_map else "omegaconf.nodes", "DictConfig" if is_map else "AnyNode")()
    setattr(made_node, "_content" if is_map else "_val", {k: node(v) for k, v in value.items()} if is_map else value)
    return made_node


def save_fairseq(path, state, arguments, form):
    meter = strange_class("fairseq.meters", "AverageMeter")()
    meter.value, meter.best = 3.0, np.float64(2.5)
    checkpoint = {"args": None, "model": state, "extra_state": {"train_meters": {"loss": meter}},
                  "last_optimizer_state": {"state": {0: torch.zeros(100)}}, "optimizer_history": [{"num_updates": 3}]}
    if form == "namespace":
        checkpoint["args"] = argparse.Namespace(**arguments)
    elif form == "cfg":
        checkpoint["cfg"] = {"model": argparse.Namespace(**arguments), "task": {"_name": "translation"}}
    else:
        checkpoint["cfg"] = node({"model": arguments, "task": {"_name": "translation"}})
    torch.save(checkpoint, path, _use_new_zipfile_serialization=form != "namespace")


def save_dictionary(path, pieces):
    with open(path, "w", encoding="utf-8") as file:
        for piece in pieces[4:]:
            file.write((piece[:-4] if piece.endswith("</w>") else piece + "@@") + " 7\n")


def check_fairseq(rill, work):
    for name in ("fsmt", "fsmt-tied"):
        directory, out = os.path.join(work, "pt-" + name), os.path.join(work, "from-pt-" + name)
        os.makedirs(directory)
        sides, models = make_fsmt_vocabularies(name, directory), []
        for lang, pieces in zip(("de", "en"), sides):
            save_dictionary(os.path.join(directory, f"dict.{lang}.txt"), pieces)
        with open(os.path.join(directory, "bpecodes"), "w", encoding="utf-8") as file:
            file.write("e i 90\nei n</w> 50\nm a 7\n")
        for number, form in enumerate(("namespace", "cfg", "omegaconf"), 1):
            shape = {**SHAPES[name], "dtype": torch.float32}
            model = make_model(name, shape, sides, torch.Generator().manual_seed(number))
            save_fairseq(os.path.join(directory, f"model{number}.pt"), fairseq_state(model, form == "namespace"),
                         fairseq_arguments(model.config), form)
            models.append(model)
        paths = [os.path.join(directory, f"model{number}.pt") for number in (1, 2, 3)]
        if not made(f"fairseq {name}", "fairseq", *paths, "--out", out):
            continue
        for number, model in enumerate(models, 1):
            agrees(rill, f"fairseq {name} {number}", [os.path.join(out, f"model{number}")], [model], sides)
        agrees(rill, f"fairseq {name}, all three", [os.path.join(out, f"model{i}") for i in (1, 2, 3)], models, sides)
        with open(os.path.join(out, "model2", "merges.txt"), encoding="utf-8") as file:
            verdict(file.read() == "e i\nei n</w>\nm a\n", f"fairseq {name}: merges without counts")
        for file in ("vocab-src.json", "vocab-tgt.json"):
            first, second = (json.load(open(os.path.join(d, file), encoding="utf-8")) for d in (directory, os.path.join(out, "model1")))
            verdict(first == second, f"fairseq {name}: {file} as FSMT has it")
    check_fairseq_refusals(work)


def check_fairseq_refusals(work):
    directory = os.path.join(work, "pt-fsmt")
    model = make_model("fsmt", SHAPES["fsmt"], make_fsmt_vocabularies("fsmt", directory), torch.Generator().manual_seed(1))
    path, state = os.path.join(directory, "model1.pt"), fairseq_state(model, False)
    command = ("fairseq", path, "--out", os.path.join(work, "never"))
    for key, value in [("encoder_normalize_before", True), ("decoder_normalize_before", True), ("encoder_learned_pos", True),
                       ("no_token_positional_embeddings", True), ("adaptive_softmax_cutoff", "4,5"), ("layernorm_embedding", True),
                       ("no_cross_attention", True), ("decoder_embed_dim", 99), ("activation_fn", "gelu_accurate"),
                       ("encoder_layers", None), ("arch", "lightconv")]:
        save_fairseq(path, state, fairseq_arguments(model.config, **{key: value}), "cfg")
        refused(f"{key} = {value}", f"model1.pt: {key}: ", *command)
    plain = fairseq_arguments(model.config)
    save_fairseq(path, {**state, "encoder.layer_norm.weight": torch.zeros(15)}, plain, "cfg")
    refused("a norm of the stack", "model.encoder.layer_norm.weight: a fsmt model of these sizes has no such tensor", *command)
    save_fairseq(path, {k: v for k, v in state.items() if k != "decoder.layers.1.fc1.bias"}, plain, "cfg")
    refused("a missing tensor", "model.decoder.layers.1.fc1.bias is missing", *command)
    save_fairseq(path, state, {**plain, "source_lang": None}, "cfg")
    refused("languages not said", "source_lang, target_lang: not said: give --langs", *command)
    torch.save({"weights": 1}, path)
    refused("another checkpoint", "expected a checkpoint of fairseq", *command)
    save_fairseq(path, state, plain, "cfg")
    refused("another language", "dict.fr.txt: not there", *command, "--langs", "fr", "en")
    refused("no codes", "none.txt", *command, "--codes", os.path.join(directory, "none.txt"))
    with open(os.path.join(directory, "none.txt"), "w", encoding="utf-8") as file:
        file.write("#version: 0.2\na b\nc\n")
    refused("codes that are none", "none.txt:3: expected a pair of pieces, found 'c'", *command, "--codes",
            os.path.join(directory, "none.txt"))
    with open(os.path.join(directory, "dict.en.txt"), "a", encoding="utf-8") as file:
        file.write("more 3\n")
    refused("a dictionary too long", "dict.en.txt: ", *command)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rill", default="build/rill", metavar="FILE", help="the command (default build/rill)")
    parser.add_argument("--keep", metavar="DIR", help="leave originals and results in this new folder")
    checks = {"bin": check_bin, "marian": check_marian, "students": check_students, "fairseq": check_fairseq}
    parser.add_argument("--only", choices=sorted(checks), help="one form (default: all)")
    given = parser.parse_args()
    work = given.keep or tempfile.mkdtemp()
    os.makedirs(work, exist_ok=True)
    rill = Rill(os.path.abspath(given.rill))
    torch.manual_seed(0)
    # Its own overflows in 64 bits.
    reference_mt.modeling_fsmt.fill_with_neg_inf = lambda t: torch.full_like(t, -math.inf)
    try:
        with torch.no_grad():
            for form in [given.only] if given.only else checks:
                checks[form](rill, work)
    finally:
        if not given.keep:
            shutil.rmtree(work)
    print(f"{len(FAILED)} failures")
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
