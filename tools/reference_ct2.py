#!/usr/bin/env python3
"""Write small random models in CTranslate2's format, with CTranslate2's own n-best lists for them.

Needs ctranslate2, torch, transformers, safetensors and sentencepiece. Models of transformers' types are converted from the other
models of tests/data/mt. Models as of OpenNMT and fairseq are made here, with the specifications that CTranslate2's converters
fill. Each model gets a directory tests/data/mt/ct2-NAME, with search.json in the form of reference_search.py. Models in int8 get a
second file, search-int8.json, of searches that multiply in int8. There the order of additions may decide how a number halfway
between two integers is rounded, so a few of these lists may differ. nllb has the tokenizer of tests/data/text/nllb. It also has
texts.json, with texts as inputs, and prefix.json, with outputs that begin with a language.
"""

import argparse
import json
import os
import random
import shutil

import ctranslate2
import numpy as np
import sentencepiece
import torch
from ctranslate2.converters import transformers as loaders
from ctranslate2.specs import common_spec, transformer_spec
from safetensors.torch import load_file
from transformers import AutoConfig, AutoModelForSeq2SeqLM

import reference_families
from model_files import rounded

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "data", "mt")
TEXT = os.path.join(DATA, "..", "text")
LENGTH = 20
SEARCHES = [  # options of CTranslate2, and the options of rill that differ
    (dict(beam_size=2, num_hypotheses=2), {}),
    (dict(beam_size=5, num_hypotheses=5), {}),
    (dict(beam_size=5, num_hypotheses=5, length_penalty=0.6), {"length-penalty": "0.6"}),
    (dict(beam_size=5, num_hypotheses=5, max_decoding_length=4), {"max-length": "4"}),
    (dict(beam_size=5, num_hypotheses=8, patience=2), {"patience": "2"}),
    (dict(beam_size=12, num_hypotheses=12), {}),
]


class Tokenizer:
    """A stand-in for a tokenizer, with the members that the converters use."""

    special_tokens_map = {}

    def __init__(self, numbers, bos="<s>", eos="</s>", pad="<pad>"):
        self.numbers, self.pieces = numbers, {number: piece for piece, number in numbers.items()}
        self.bos_token, self.eos_token, self.pad_token, self.unk_token = bos, eos, pad, "<unk>"
        self.unk_token_id = numbers["<unk>"]

    def get_vocab(self):
        return dict(self.numbers)

    def convert_ids_to_tokens(self, number):
        return self.pieces[number]


def of_transformers(name, change):
    """Return the specification that CTranslate2's converter makes of a model of tests/data/mt."""
    folder = os.path.join(DATA, name)
    config = AutoConfig.from_pretrained(folder)
    for key, value in change.items():
        setattr(config, key, value)
    model = AutoModelForSeq2SeqLM.from_config(config, dtype=torch.float32).eval()
    tensors = {key: value.float() for key, value in load_file(os.path.join(folder, "model.safetensors")).items()}
    if not config.tie_word_embeddings and "lm_head.weight" in tensors:
        model.lm_head.weight = torch.nn.Parameter(tensors["lm_head.weight"].clone())
    model.load_state_dict(tensors, strict=False)
    with open(os.path.join(folder, "vocab.json"), encoding="utf-8") as file:
        numbers = json.load(file)
    if config.model_type in ("t5", "mt5", "umt5") and len(numbers) < config.vocab_size:
        numbers.update({f"<more{i}>": i for i in range(len(numbers), config.vocab_size)})
    with torch.no_grad():
        return loaders._MODEL_LOADERS[type(config).__name__](model, Tokenizer(numbers))


def of_nllb():
    """Return the specification of M2M100, with a tokenizer that knows languages."""
    folder = os.path.join(TEXT, "nllb")
    model = sentencepiece.SentencePieceProcessor(model_file=os.path.join(folder, "sentencepiece.bpe.model"))
    with open(os.path.join(folder, "special_tokens_map.json"), encoding="utf-8") as file:
        languages = json.load(file)["additional_special_tokens"]
    pieces = [*reference_families.FAIRSEQ, *(model.id_to_piece(i) for i in range(3, model.get_piece_size())), *languages, "<mask>"]
    shape = dict(scale_embedding=True, activation_function="relu", **reference_families.bart_sizes(16, (4, 4), (1, 1), (24, 24)))
    net = reference_families.make_model("m2m", 3, 2.6, torch.float32, shape, pieces)
    with torch.no_grad():
        return loaders.M2M100Loader()(net, Tokenizer({piece: i for i, piece in enumerate(pieces)}))


def fill(spec, rng, width, inner, sizes):
    """Fill a specification's layers with random weights of the size that training leaves."""
    def matrix(rows, columns):
        return (rng.standard_normal((rows, columns)) * 1.6 / columns ** 0.5).astype(np.float32)

    def linear(part, rows, columns):
        part.weight = matrix(rows, columns)
        part.bias = (rng.standard_normal(rows) * 0.16).astype(np.float32)

    def norm(part):
        part.gamma = (1 + 0.3 * rng.standard_normal(width)).astype(np.float32)
        if hasattr(part, "beta"):
            part.beta = (0.3 * rng.standard_normal(width)).astype(np.float32)

    for side, size in ((spec.encoder, sizes[0]), (spec.decoder, sizes[1])):
        table = side.embeddings[0] if isinstance(side.embeddings, list) else side.embeddings
        table.weight = matrix(size, width)
        for part in ("layer_norm", "layernorm_embedding"):
            if hasattr(side, part):
                norm(getattr(side, part))
        for layer in side.layer:
            linear(layer.self_attention.linear[0], 3 * width, width)
            linear(layer.self_attention.linear[1], width, width)
            norm(layer.self_attention.layer_norm)
            if hasattr(layer, "attention"):
                for part, rows in zip(layer.attention.linear, (width, 2 * width, width)):
                    linear(part, rows, width)
                norm(layer.attention.layer_norm)
            linear(layer.ffn.linear_0, inner, width)
            if hasattr(layer.ffn, "linear_0_noact"):
                layer.ffn.linear_0_noact.weight = matrix(inner, width)  # this layer may lack a bias
            linear(layer.ffn.linear_1, width, inner)
            norm(layer.ffn.layer_norm)
    linear(spec.decoder.projection, sizes[1], width)
    spec.decoder.projection.bias[2] += 2.5  # makes the end token likely


def words(side, count):
    return ["<blank>", "<s>", "</s>", "<unk>"] + [f"{side}{i}" for i in range(count - 4)]


def of_opennmt(seed, **options):
    """A model as of OpenNMT: pre-norm, computed sinusoidal positions, two vocabularies, and special tokens at both ends of the source."""
    sizes = (31, 27)
    spec = transformer_spec.TransformerSpec.from_config((2, 1), 4, **options)
    fill(spec, np.random.default_rng(seed), 16, 24, sizes)
    spec.register_source_vocabulary(words("q", sizes[0]))
    spec.register_target_vocabulary(words("a", sizes[1]))
    spec.config.add_source_bos = spec.config.add_source_eos = True
    return spec


def of_fairseq(seed):
    """A model as of fairseq: post-norm with a norm after the embeddings, stored sinusoidal positions, and outputs that start from </s>."""
    spec = transformer_spec.TransformerSpec.from_config((1, 2), 2, pre_norm=False, layernorm_embedding=True,
                                                        activation=common_spec.Activation.GELU)
    rng = np.random.default_rng(seed)
    fill(spec, rng, 12, 20, (29, 29))
    for side in (spec.encoder, spec.decoder):
        side.scale_embeddings = 12 ** 0.5
        side.position_encodings.encodings = rng.standard_normal((40, 12)).astype(np.float32)
    spec.decoder.embeddings.weight = spec.encoder.embeddings[0].weight
    spec.decoder.projection.weight = spec.encoder.embeddings[0].weight
    spec.register_source_vocabulary(words("w", 29))
    spec.register_target_vocabulary(words("w", 29))
    spec.config.decoder_start_token = spec.config.eos_token
    spec.config.add_source_eos = True
    return spec


OPENNMT = dict(activation=common_spec.Activation.GELUTanh)
EOLE = dict(activation=common_spec.Activation.SWISH, ffn_glu=True, rms_norm=True)
MODELS = {  # name -> weight type, and the function that makes the specification
    "marian": ("float32", lambda: of_transformers("shared", {})),
    "marian-int8": ("int8", lambda: of_transformers("shared", {})),
    "marian-brain": ("int8_bfloat16", lambda: of_transformers("shared", {})),
    "bart": ("int8_float16", lambda: of_transformers("bart", {"normalize_before": False})),
    "bart-untied": ("float16", lambda: of_transformers("bart-untied", {"normalize_before": False})),
    "m2m": ("int8", lambda: of_transformers("m2m", {})),
    "mbart": ("float16", lambda: of_transformers("mbart", {"normalize_before": True, "tokenizer_class": "MBart50Tokenizer"})),
    "pegasus": ("float16", lambda: of_transformers("pegasus", {"normalize_before": True, "normalize_embedding": False})),
    "t5": ("float16", lambda: of_transformers("t5", {})),
    "t5-gated": ("int8", lambda: of_transformers("t5-gated", {})),
    "umt5": ("float16", lambda: of_transformers("umt5", {})),
    "nllb": ("int8", of_nllb),
    "opennmt": ("float16", lambda: of_opennmt(1, **OPENNMT)),
    "eole": ("int8", lambda: of_opennmt(2, **EOLE)),
    "fairseq": ("int16", lambda: of_fairseq(3)),
}


def sources(folder, rng):
    """Return lines of tokens, one of them unknown, with </s> where the model adds none."""
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    names = [n for n in ("source_vocabulary.json", "shared_vocabulary.json") if os.path.exists(os.path.join(folder, n))]
    with open(os.path.join(folder, names[0]), encoding="utf-8") as file:
        usual = [p for p in json.load(file) if not p.startswith("<")]
    end = [] if config["add_source_eos"] else [config["eos_token"]]
    lines = [[rng.choice(usual) for _ in range(n)] for n in (1, 3, 7, 12, 5)]
    lines[-1][2] = "never-seen"
    return [line + end for line in lines]


def search(folder, lines, kind, shown=None, prefix=None):
    """Return CTranslate2's results for lines of tokens."""
    translator = ctranslate2.Translator(folder, compute_type=kind, inter_threads=1, intra_threads=1)
    names = [n for n in ("target_vocabulary.json", "shared_vocabulary.json") if os.path.exists(os.path.join(folder, n))]
    with open(os.path.join(folder, names[0]), encoding="utf-8") as file:
        number = {piece: i for i, piece in enumerate(json.load(file))}
    searches = []
    for theirs, ours in SEARCHES:
        given = dict(max_decoding_length=LENGTH, min_decoding_length=0, return_scores=True)
        found = translator.translate_batch(lines, prefix and [prefix] * len(lines), **{**given, **theirs})
        settings = {"like": "ct2", "k": str(theirs["beam_size"]), "n-best": str(theirs["num_hypotheses"]), "min-length": "0",
                    "max-length": str(LENGTH), **ours}
        lists = [[{"score": score, "actions": [number[p] for p in pieces]} for pieces, score in zip(r.hypotheses, r.scores)]
                 for r in found]
        searches.append({"settings": settings, "found": lists})
    return {"pieces": shown or lines, "searches": rounded(searches, 7)}


def write_json(folder, name, value):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        json.dump(value, file, ensure_ascii=False, separators=(",", ":"))
        file.write("\n")


def search_texts(folder):
    """Return texts whose words are separated by one space, with the ids of transformers' tokenizer, from one language to another."""
    with open(os.path.join(TEXT, "nllb", "expected.json"), encoding="utf-8") as file:
        texts = json.load(file)
    with open(os.path.join(folder, "shared_vocabulary.json"), encoding="utf-8") as file:
        pieces = json.load(file)
    cases = [c for c in texts["cases"] if c["text"].isascii() and c["text"] == " ".join(c["text"].split()) and 3 < len(c["ids"]) < 30][:6]
    for name in ("sentencepiece.bpe.model", "special_tokens_map.json", "tokenizer_config.json"):
        shutil.copy(os.path.join(TEXT, "nllb", name), folder)
    lines = [[pieces[i] for i in c["ids"]] for c in cases]
    return search(folder, lines, "float32", [c["text"].split() for c in cases], [texts["target"]])


def make(name, out):
    quantization, specify = MODELS[name]
    folder = os.path.join(out, "ct2-" + name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    spec = specify()
    spec.validate()
    spec.optimize(quantization=quantization)
    spec.save(folder)
    lines = sources(folder, random.Random(7))
    write_json(folder, "search.json", search(folder, lines, "float32"))
    if name == "nllb":
        write_json(folder, "texts.json", search_texts(folder))
        write_json(folder, "prefix.json", search(folder, lines, "float32", None, ["fra_Latn"]))
    elif quantization == "int8":
        write_json(folder, "search-int8.json", search(folder, lines, "int8_float32"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--out", default=DATA)
    parser.add_argument("names", nargs="*", choices=[*MODELS, []], help="only these models")
    args = parser.parse_args()
    for name in args.names or MODELS:
        make(name, args.out)


if __name__ == "__main__":
    main()
