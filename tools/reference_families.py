#!/usr/bin/env python3
"""Write small random models of the families that transformers has beside Marian and FSMT, with known results.

It writes the same expected.json as reference_mt.py, which describes it. There are two models of each family, with different
configurations. The directories go to tests/data/mt.
"""

import argparse
import io
import json
import os
import random
import shutil

import sentencepiece
import torch
from safetensors.torch import load_file, save_file
from transformers import (BartConfig, BartForConditionalGeneration, M2M100Config, M2M100ForConditionalGeneration,
                          MBartConfig, MBartForConditionalGeneration, MT5Config, MT5ForConditionalGeneration,
                          PegasusConfig, PegasusForConditionalGeneration, T5Config, T5ForConditionalGeneration,
                          UMT5Config, UMT5ForConditionalGeneration)

from transformers.models.t5.modeling_t5 import T5Attention

from model_files import rounded
from reference_mt import CORPUS, FORCED_STEPS, STEPS, Decoder, best_outputs
from reference_text import MBART_25, MBART_50

CLASSES = {"m2m": (M2M100Config, M2M100ForConditionalGeneration), "mbart": (MBartConfig, MBartForConditionalGeneration),
           "bart": (BartConfig, BartForConditionalGeneration), "pegasus": (PegasusConfig, PegasusForConditionalGeneration),
           "t5": (T5Config, T5ForConditionalGeneration), "mt5": (MT5Config, MT5ForConditionalGeneration),
           "umt5": (UMT5Config, UMT5ForConditionalGeneration)}

def bart_sizes(width, heads, layers, inner):
    return dict(d_model=width, encoder_attention_heads=heads[0], decoder_attention_heads=heads[1],
                encoder_layers=layers[0], decoder_layers=layers[1], encoder_ffn_dim=inner[0], decoder_ffn_dim=inner[1],
                max_position_embeddings=40)


def t5_sizes(width, heads, head, layers, inner, buckets=(8, 12)):
    return dict(d_model=width, num_heads=heads, d_kv=head, num_layers=layers[0], num_decoder_layers=layers[1],
                d_ff=inner, relative_attention_num_buckets=buckets[0], relative_attention_max_distance=buckets[1])


# name -> family, seed, bias that makes </s> likely, weight type, the rest of config.json
SHAPES = {
    "m2m": ("m2m", 6, 7.0, torch.float32, dict(scale_embedding=True, activation_function="relu",
                                               **bart_sizes(16, (4, 2), (2, 2), (32, 24)))),
    "m2m-odd": ("m2m", 17, 7.0, torch.float16, dict(scale_embedding=False, activation_function="swish",
                                                   **bart_sizes(15, (3, 5), (1, 2), (19, 37)))),
    "mbart": ("mbart", 3, 4.5, torch.float32, dict(scale_embedding=True, activation_function="gelu",
                                                   **bart_sizes(16, (4, 2), (2, 2), (32, 24)))),
    "mbart-odd": ("mbart", 4, 3.0, torch.float32, dict(scale_embedding=False, activation_function="relu",
                                                       **bart_sizes(21, (3, 7), (1, 2), (19, 30)))),
    "bart": ("bart", 5, 5.0, torch.float32, dict(activation_function="gelu",
                                                 **bart_sizes(16, (4, 2), (2, 2), (32, 24)))),
    "bart-untied": ("bart", 6, 7.0, torch.float16, dict(scale_embedding=True, activation_function="gelu_new",
                                                        tie_word_embeddings=False,
                                                        **bart_sizes(18, (3, 2), (1, 3), (20, 24)))),
    "pegasus": ("pegasus", 8, 2.5, torch.float32, dict(scale_embedding=True, activation_function="relu",
                                                       **bart_sizes(16, (4, 2), (2, 2), (32, 24)))),
    "pegasus-odd": ("pegasus", 9, 4.0, torch.float32, dict(scale_embedding=False, activation_function="gelu",
                                                           **bart_sizes(15, (3, 5), (1, 2), (19, 37)))),
    "t5": ("t5", 20, 3.0, torch.float32, dict(feed_forward_proj="relu", **t5_sizes(16, 4, 4, (2, 2), 32))),
    "t5-gated": ("t5", 11, 1.8, torch.float16, dict(feed_forward_proj="gated-gelu", tie_word_embeddings=False,
                                                    **t5_sizes(14, 3, 6, (1, 2), 20, (16, 20)))),
    "mt5": ("mt5", 22, 3.4, torch.float32, dict(feed_forward_proj="gated-gelu", **t5_sizes(16, 2, 6, (2, 2), 24))),
    "mt5-silu": ("mt5", 13, 1.8, torch.float32, dict(feed_forward_proj="gated-silu", layer_norm_epsilon=1e-3,
                                                     **t5_sizes(12, 3, 5, (1, 2), 18))),
    "umt5": ("umt5", 14, 2.2, torch.float32, dict(feed_forward_proj="gated-gelu", **t5_sizes(16, 4, 4, (2, 2), 24))),
    "umt5-relu": ("umt5", 15, 2.7, torch.float32, dict(feed_forward_proj="relu", tie_word_embeddings=False,
                                                       **t5_sizes(12, 2, 8, (3, 2), 20))),
    "byt5": ("t5", 16, 2.4, torch.float32, dict(feed_forward_proj="gated-gelu", tie_word_embeddings=False,
                                                **t5_sizes(12, 2, 6, (3, 1), 16))),
    "t5-tables": ("t5", 21, 3.0, torch.float32, dict(feed_forward_proj="relu", **t5_sizes(12, 2, 6, (1, 2), 16))),
    "codet5": ("t5", 20, 6.0, torch.float32, dict(feed_forward_proj="relu", bos_token_id=1, eos_token_id=2,
                                                  **t5_sizes(12, 2, 6, (2, 2), 16))),
}


# name -> tokenizer class, file of the SentencePiece model, further arguments
TOKENIZERS = {"m2m": ("NllbTokenizer", "sentencepiece.bpe.model", {"src_lang": "deu_Latn", "tgt_lang": "eng_Latn"}),
              "mbart": ("MBart50Tokenizer", "sentencepiece.bpe.model", {"src_lang": "de_DE", "tgt_lang": "en_XX"}),
              "mbart-odd": ("MBartTokenizer", "sentencepiece.bpe.model", {"src_lang": "de_DE", "tgt_lang": "en_XX"}),
              "pegasus": ("PegasusTokenizer", "spiece.model", {}), "t5": ("T5Tokenizer", "spiece.model", {"extra_ids": 0})}
LANGUAGES = {"NllbTokenizer": ["deu_Latn", "eng_Latn"], "MBart50Tokenizer": MBART_50, "MBartTokenizer": MBART_25}


def train(google):
    """Train a SentencePiece model without normalisation tables."""
    marks = dict(pad_id=0, eos_id=1, unk_id=2, bos_id=-1) if google else dict(unk_id=0, bos_id=1, eos_id=2)
    writer = io.BytesIO()  # written to memory, since a file's name would become part of the model
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(CORPUS), model_writer=writer, vocab_size=44,
                                             hard_vocab_limit=False, normalization_rule_name="identity", num_threads=1,
                                             minloglevel=2, **marks)
    return writer.getvalue()


def write_json(folder, name, value):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        json.dump(value, file, indent=1)
        file.write("\n")


class Text:
    """A model's vocabulary: tokens with their ids, and special tokens around a text. Its files are written to the folder. BART's
    files, with a token for each byte, are copied from those of reference_text.py.
    """

    def __init__(self, name, family, out):
        self.before, self.first, self.start = [], -1, None
        if name == "byt5":
            self.take_bytes(out)
            return
        if family == "bart" or name == "codet5":
            self.take_bpe(out, "bart" if family == "bart" else name)
            return
        kind, file, tokenizer_config = TOKENIZERS.get(name) or TOKENIZERS.get(family) or TOKENIZERS["t5"]
        google = file == "spiece.model"
        model = train(google)
        with open(os.path.join(out, file), "wb") as to:
            to.write(model)
        write_json(out, "tokenizer_config.json", {"tokenizer_class": kind, **tokenizer_config})
        pieces = sentencepiece.SentencePieceProcessor(model_proto=model)
        shift = {"PegasusTokenizer": 103, "T5Tokenizer": 0}.get(kind, 1)
        self.number = {pieces.id_to_piece(i): i + shift for i in range(3 if not google else 2, pieces.get_piece_size())}
        marks = ["<pad>", "</s>"] if google else ["<s>", "<pad>", "</s>", "<unk>"]
        self.number.update({mark: i for i, mark in enumerate(marks)})
        self.size, self.end = pieces.get_piece_size() + shift, self.number["</s>"]
        self.behind = [self.end]
        if tokenizer_config.get("src_lang"):
            self.speak(kind, tokenizer_config, out)
        self.pad, self.unknown = self.number["<pad>"], self.number["<unk>"]

    def take_bytes(self, out):
        write_json(out, "tokenizer_config.json", {"tokenizer_class": "ByT5Tokenizer", "extra_ids": 5})
        self.number = {token: i for i, token in enumerate(["<pad>", "</s>", "<unk>"] + ["<0x%02X>" % i for i in range(256)])}
        self.size, self.end, self.behind = len(self.number) + 5, 1, [1]
        self.pad, self.unknown = 0, 2

    def take_bpe(self, out, name):
        """Copy the files of a directory of reference_text.py. Sentinel tokens get the ids after the other tokens."""
        origin = os.path.join(os.path.dirname(os.path.dirname(out)), "text", name)
        for file in ("vocab.json", "merges.txt", "tokenizer_config.json"):
            shutil.copy(os.path.join(origin, file), out)
        with open(os.path.join(out, "vocab.json"), encoding="utf-8") as file:
            self.number = json.load(file)
        self.size, self.end = len(self.number) + (3 if name == "codet5" else 0), self.number["</s>"]
        self.before, self.behind = [self.number["<s>"]], [self.end]
        self.pad, self.unknown = self.number["<pad>"], self.number["<unk>"]

    def speak(self, kind, tokenizer_config, out):
        """Number the languages after the tokens, and the mask after the languages."""
        languages = LANGUAGES[kind]
        if kind == "NllbTokenizer":
            write_json(out, "special_tokens_map.json", {"additional_special_tokens": languages})
        source, target = (self.size + languages.index(tokenizer_config[side]) for side in ("src_lang", "tgt_lang"))
        self.size += len(languages) + 1
        self.before, self.behind = ([], [self.end, source]) if kind == "MBartTokenizer" else ([source], [self.end])
        self.first, self.start = (-1, target) if kind == "MBartTokenizer" else (target, self.end)

    def ids(self, pieces):
        return self.before + [self.number.get(p, self.unknown) for p in pieces] + self.behind


def make_model(family, seed, end, dtype, shape, text):
    generator = torch.Generator().manual_seed(seed)
    config_class, model_class = CLASSES[family]
    config = config_class(vocab_size=text.size, **shape)
    if text.start is not None or getattr(config, "decoder_start_token_id", None) is None:
        config.decoder_start_token_id = text.start if text.start is not None else text.pad
    config.forced_eos_token_id = None
    model = model_class(config).eval()
    model.generation_config.max_length = STEPS + 1
    model.generation_config.forced_eos_token_id = None
    model.generation_config.decoder_start_token_id = config.decoder_start_token_id
    with torch.no_grad():
        for key, value in model.named_parameters():
            if "norm" in key:
                value += 0.3 * torch.randn(value.shape, generator=generator)
            elif "relative" in key:
                value.copy_(torch.randn(value.shape, generator=generator))
            elif family != "pegasus" or "embed_positions" not in key:
                width = value.shape[-1] if value.dim() > 1 else 100
                value.copy_(torch.randn(value.shape, generator=generator) * (1.6 / width ** 0.5))
        if hasattr(model, "final_logits_bias"):
            bias = torch.randn(model.final_logits_bias.shape, generator=generator) * 0.5
            bias[0, config.eos_token_id] += end
            bias[0, config.pad_token_id] += 2.0  # makes <pad> the best symbol in many steps, to show that it is never chosen
            model.final_logits_bias.copy_(bias)
        else:
            if family in ("t5", "mt5", "umt5") and shape.get("tie_word_embeddings", True) is False:
                model.lm_head.weight = torch.nn.Parameter(
                    torch.randn(model.lm_head.weight.shape, generator=generator) * (1.6 / shape["d_model"] ** 0.5))
            model.lm_head.weight[config.eos_token_id] *= end
    return model.to(dtype)


def separate_decoder(model, generator=None):
    """Give the decoder an embedding table of its own; the output layer stays tied to `shared`."""
    own = torch.nn.Embedding(*model.shared.weight.shape, dtype=model.shared.weight.dtype)
    if generator is not None:
        own.weight.copy_(torch.randn(own.weight.shape, generator=generator))
    model.decoder.embed_tokens = own


def last_memory(model, states):
    if hasattr(model, "model"):
        layer = model.model.decoder.layers[-1].encoder_attn
        return torch.cat([layer.k_proj(states), layer.v_proj(states)], dim=-1)[0]
    layer = model.decoder.block[-1].layer[1].EncDecAttention
    return torch.cat([layer.k(states), layer.v(states)], dim=-1)[0]


def in_double(family, model):
    """Return the same model in 64 bits, with its separate tables."""
    double = CLASSES[family][1](model.config).double().eval()
    double.set_attn_implementation("eager")  # only this implementation returns attention weights
    skipped = "embed_positions" if family == "pegasus" else "nothing"
    weights = {k: v.double() for k, v in model.state_dict().items() if skipped not in k}
    if "decoder.embed_tokens.weight" in weights:
        separate_decoder(double)
    elif family in ("t5", "mt5", "umt5"):
        double.lm_head.weight = torch.nn.Parameter(double.lm_head.weight.clone())
    double.load_state_dict(weights, strict=False)
    return double


class Opened(Decoder):
    """A decoder whose first action may be forced: it is then the only choice, with log-probability 0."""

    def __init__(self, model, ids, first):
        super().__init__(model, ids)
        self.first = first

    def logp(self, prefixes):
        found = super().logp(prefixes)
        if self.first >= 0 and not prefixes[0]:
            found.fill_(float("-inf"))
            found[:, self.first] = 0.0
        return found


def case(model, text, pieces, rng):
    config, ids = model.config, text.ids(pieces)
    decoder = Opened(model, ids, text.first)
    legal = [a for a in range(text.size) if a not in (config.eos_token_id, config.pad_token_id)]
    forced = [rng.choice(legal) for _ in range(FORCED_STEPS)]
    forced[:1] = [text.first] if text.first >= 0 else forced[:1]
    steps = [[None if x == float("-inf") else x for x in decoder.logp([forced[:i]])[0].tolist()] for i in range(FORCED_STEPS)]
    ours, beam = best_outputs(decoder, config)
    greedy = model.generate(torch.tensor([ids]), num_beams=1, do_sample=False, bad_words_ids=[[config.pad_token_id]],
                            max_length=STEPS + 1, forced_eos_token_id=None, use_cache=False,
                            forced_bos_token_id=text.first if text.first >= 0 else None)[0].tolist()[1:]
    assert greedy == ours["actions"] + [config.eos_token_id] * (not ours["truncated"]), (greedy, ours)
    return {"pieces": pieces, "ids": ids, "forced": forced, "steps": steps, "greedy": ours, "beam": beam,
            "attention": decoder.attention(forced).tolist(), "memory": last_memory(model, decoder.states).tolist()}


@torch.no_grad()
def build(name, out):
    family, seed, end, dtype, shape = SHAPES[name]
    rng = random.Random(seed)
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    text = Text(name, family, out)
    model = make_model(family, seed, end, dtype, shape, text)
    if name == "t5-tables":
        separate_decoder(model, torch.Generator().manual_seed(seed))
    model.save_pretrained(out)
    path = os.path.join(out, "model.safetensors")
    tensors = load_file(path)
    if family == "pegasus":
        tensors = {k: v for k, v in tensors.items() if "embed_positions" not in k}
    if hasattr(model, "final_logits_bias"):
        tensors["final_logits_bias"] = model.final_logits_bias
    save_file(tensors, path)
    double = in_double(family, model)
    usable = [p for p in text.number if p not in ("<s>", "<pad>", "</s>", "<unk>") and len(p) > 1]
    cases = [case(double, text, [rng.choice(usable) for _ in range(n)], rng) for n in (1, 3, 5, 17)]
    cases += [case(double, text, p, rng) for p in (["nothing-like-it", usable[0]], usable[:4])]
    with open(os.path.join(out, "expected.json"), "w", encoding="utf-8") as file:
        json.dump(rounded({"max_length": STEPS, "cases": cases}, 6), file, ensure_ascii=False, separators=(",", ":"))
        file.write("\n")
    ended = [len(o["actions"]) for c in cases for o in c["beam"] if not o["truncated"]]
    cut = sum(o["truncated"] for c in cases for o in c["beam"])
    print(f"{name}: lengths of ended outputs {sorted(ended)}, {cut} truncated, "
          f"{sum(os.path.getsize(os.path.join(out, f)) for f in os.listdir(out))} bytes")


def write_buckets(path):
    """Write the buckets of distances as T5 computes them: for each kind of buckets a list, for distances from -reach - 3 on."""
    rows = []
    for buckets, reach in ((32, 128), (8, 12), (16, 20), (64, 256), (32, 100), (6, 50), (9, 33)):
        distances = torch.arange(-reach - 3, reach + 4)
        for causal in (0, 1):
            found = T5Attention._relative_position_bucket(distances, not causal, buckets, reach)
            rows.append({"buckets": buckets, "reach": reach, "causal": causal, "found": found.tolist()})
    with open(path, "w", encoding="utf-8") as file:
        json.dump(rows, file, separators=(",", ":"))
        file.write("\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", help="where the model directories go: tests/data/mt")
    parser.add_argument("names", nargs="*", help=f"which ones: {', '.join(SHAPES)}; all by default")
    options = parser.parse_args()
    torch.manual_seed(0)
    for name in options.names or SHAPES:
        build(name, os.path.join(options.folder, name))
    write_buckets(os.path.join(options.folder, "buckets.json"))


if __name__ == "__main__":
    main()
