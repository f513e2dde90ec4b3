#!/usr/bin/env python3
"""Write small random Marian and FSMT models with known results, for tests of rill's translation domain.

Needs torch, transformers, safetensors and sentencepiece. The models are transformers' own, with random weights. Expected results
are computed in 64 bits from the weights as they are stored. Each directory under tests/data/mt has a model as transformers writes
it, and expected.json:

  cases: for each input its subword tokens, the ids the encoder reads, `memory` (encoder states as the last decoder layer reads
    them: a row of keys and values per id), for forced actions the log-probabilities of the first steps and how much
    each attends to each id in the last layer (`attention`, the mean over its heads), the greedy
    output of transformers, and `beam`: the outputs of a beam of 5, best first, with scores, by the plain decoder of
    plain_search.py, which follows the search that rill calls finish "top"
  texts: what transformers' tokenizer makes of a text, and of target ids

The expected results in `ensemble` are those of the models `shared` and `ensemble` together. Their log-probabilities are the
logarithm of the mean of both models' probabilities. These cases have no memory.

The seeds were picked so that some outputs end early, some late and some at the length limit.
"""

import argparse
import io
import json
import math
import os
import random
import shutil

import sentencepiece
import torch
from safetensors.torch import load_file, save_file
from transformers import (FSMTConfig, FSMTForConditionalGeneration, FSMTTokenizer, MarianConfig, MarianMTModel,
                          MarianTokenizer)
from transformers.models.fsmt import modeling_fsmt

from model_files import rounded
from plain_search import Candidate, Item, Search, advance

SHAPES = {
    # name -> seed, heads, layers and inner widths of encoder and decoder, and the rest of config.json
    "shared": dict(seed=6, end=3.5, dtype=torch.float32, d_model=16, encoder_attention_heads=4,
                   decoder_attention_heads=2, encoder_layers=2, decoder_layers=2, encoder_ffn_dim=32,
                   decoder_ffn_dim=24, activation_function="swish", scale_embedding=True),
    "odd": dict(seed=2, end=2.5, dtype=torch.float16, d_model=21, encoder_attention_heads=3, decoder_attention_heads=7,
                encoder_layers=1, decoder_layers=2, encoder_ffn_dim=19, decoder_ffn_dim=37,
                activation_function="relu", scale_embedding=False),
    "separate": dict(seed=5, end=2.5, dtype=torch.float32, d_model=12, encoder_attention_heads=1,
                     decoder_attention_heads=3, encoder_layers=1, decoder_layers=2, encoder_ffn_dim=24,
                     decoder_ffn_dim=14, activation_function="gelu", scale_embedding=True,
                     share_encoder_decoder_embeddings=False, tie_word_embeddings=False),
    "fsmt": dict(seed=7, end=1.6, dtype=torch.float32, d_model=15, encoder_attention_heads=3, decoder_attention_heads=1,
                 encoder_layers=1, decoder_layers=2, encoder_ffn_dim=28, decoder_ffn_dim=14,
                 activation_function="relu", scale_embedding=True, tie_word_embeddings=False),
    "fsmt-tied": dict(seed=6, end=1.6, dtype=torch.float16, d_model=20, encoder_attention_heads=2,
                      decoder_attention_heads=4, encoder_layers=2, decoder_layers=1, encoder_ffn_dim=16,
                      decoder_ffn_dim=30, activation_function="relu", scale_embedding=True, tie_word_embeddings=True),
    "ensemble": dict(seed=12, end=1.0, dtype=torch.float32, d_model=12, encoder_attention_heads=2,
                     decoder_attention_heads=3, encoder_layers=1, decoder_layers=3, encoder_ffn_dim=16,
                     decoder_ffn_dim=20, activation_function="relu", scale_embedding=True),
}
FSMT_SPECIALS = ["<s>", "<pad>", "</s>", "<unk>"]
STEPS, FORCED_STEPS = 20, 3
CORPUS = ["ein mann spielt gitarre .", "zwei hunde laufen im schnee .", "eine frau liest ein buch .",
          "a man plays the guitar .", "two dogs run in the snow .", "a woman reads a book .",
          "the man and the woman run .", "der hund liest im buch ."]
TEXTS = ["Ein Mann spielt Gitarre.", "two  dogs ", ">>de<< a book", "", "x\u00e9y", ">>de<<", "a >>de<< b"]
FSMT_TEXTS = ["ein mann liest.", "Der Hund, ein  buch & <s> a", "", "hunde\u00a0laufen \u201eim\u201c buch...", "e-b", "dogs' a's",
              "\u0001"]


def train_pieces(path, lines, size):
    """Train a SentencePiece model without normalisation tables, which would take 240 KB. Return its tokens in order of their ids."""
    writer = io.BytesIO()  # written to memory, since a file's name would become part of the model
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=writer, vocab_size=size, hard_vocab_limit=False, bos_id=-1,
        eos_id=0, unk_id=1, normalization_rule_name="identity", num_threads=1, minloglevel=2)
    with open(path, "wb") as file:
        file.write(writer.getvalue())
    model = sentencepiece.SentencePieceProcessor(model_file=path)
    return [model.id_to_piece(i) for i in range(model.get_piece_size())]


def make_vocabularies(name, out, rng):
    """Write both .spm files and vocab.json (target_vocab.json); return source and target tokens in order of their ids."""
    sides = []  # subword tokens
    for side, lines in (("source", CORPUS), ("target", CORPUS[3:])):
        sides.append(train_pieces(os.path.join(out, side + ".spm"), lines, 48 if side == "source" else 40))
    if name == "separate":
        for pieces in sides:
            pieces.append("<pad>")
    else:
        both = ["</s>", "<unk>", ">>de<<"] + sorted(set(sides[0] + sides[1]) - {"</s>", "<unk>"})
        if name == "odd":
            rng.shuffle(both)  # so that no special symbol has its usual id
        sides = [both + ["<pad>"]] * 2
    if name == "separate":
        rng.shuffle(sides[1])  # so that </s> has different ids as a source symbol and as a target symbol
    for pieces, file in zip(sides, ("vocab.json", "target_vocab.json")):
        if file == "vocab.json" or name == "separate":
            with open(os.path.join(out, file), "w", encoding="utf-8") as f:
                json.dump({piece: i for i, piece in enumerate(pieces)}, f, ensure_ascii=False)
    return sides


def make_fsmt_vocabularies(name, out):
    """Write FSMT's vocabularies, with tokens as BPE makes them: the last one of a word ends in </w>."""
    words = sorted({w for line in CORPUS for w in line.split()})
    source = FSMT_SPECIALS + [w + "</w>" for w in words[:20]] + sorted(set("".join(words)))
    sides = [source, source if name == "fsmt-tied" else source[:2 - 20]]
    for pieces, file in zip(sides, ("vocab-src.json", "vocab-tgt.json")):
        with open(os.path.join(out, file), "w", encoding="utf-8") as f:
            json.dump({piece: i for i, piece in enumerate(pieces)}, f, ensure_ascii=False)
    with open(os.path.join(out, "merges.txt"), "w", encoding="utf-8") as f:
        f.writelines(merge + "\n" for merge in merges_of(words[:20]))
    with open(os.path.join(out, "tokenizer_config.json"), "w", encoding="utf-8") as f:
        json.dump({"langs": ["de", "en"], "do_lower_case": name == "fsmt-tied"}, f)
    return sides


def merges_of(words):
    """Return merges that build each word from its left end, the longest words first."""
    merges = {}
    for word in sorted(words, key=lambda w: (-len(w), w)):
        for i in range(1, len(word)):
            merges[f"{word[:i]} {word[i]}{'</w>' if i + 1 == len(word) else ''}"] = None
    return list(merges)


def make_config(name, shape, sides):
    if name.startswith("fsmt"):
        return FSMTConfig(langs=["de", "en"], src_vocab_size=len(sides[0]), tgt_vocab_size=len(sides[1]),
                          max_position_embeddings=40, **shape)
    target = {piece: i for i, piece in enumerate(sides[1])}
    return MarianConfig(
        vocab_size=len(sides[0]), decoder_vocab_size=len(sides[1]), max_position_embeddings=40,
        pad_token_id=target["<pad>"], decoder_start_token_id=target["<pad>"], eos_token_id=target["</s>"], **shape)


def class_of(name):
    return FSMTForConditionalGeneration if name.startswith("fsmt") else MarianMTModel


def make_model(name, shape, sides, generator):
    shape = dict(shape)
    dtype, end, _ = shape.pop("dtype"), shape.pop("end"), shape.pop("seed")
    config = make_config(name, shape, sides)
    config.forced_eos_token_id = None
    model = class_of(name)(config).eval()
    model.generation_config.max_length = STEPS + 1
    with torch.no_grad():
        for key, value in model.named_parameters():
            if "norm" in key:
                value += 0.3 * torch.randn(value.shape, generator=generator)
            elif "embed_positions" not in key:
                width = value.shape[-1] if value.dim() > 1 else 100
                value.copy_(torch.randn(value.shape, generator=generator) * (1.6 / width ** 0.5))
        if name.startswith("fsmt"):
            # FSMT has no output bias: a symbol that should be likely gets a longer row of weights instead.
            model.model.decoder.output_projection.weight[config.eos_token_id] *= end
        else:
            bias = torch.randn(model.final_logits_bias.shape, generator=generator) * 0.5
            bias[0, config.eos_token_id] += end
            bias[0, config.pad_token_id] += 2.0  # makes <pad> the best symbol in many steps, to show that it is never chosen
            model.final_logits_bias.copy_(bias)
    return model.to(dtype)


def last_memory(model, states):
    layer = model.model.decoder.layers[-1].encoder_attn
    return torch.cat([layer.k_proj(states), layer.v_proj(states)], dim=-1)[0]


class Decoder:
    """The log-probabilities of all symbols after given prefixes, for one input."""

    def __init__(self, model, ids):
        self.model, self.config, self.ids = model, model.config, torch.tensor([ids])
        self.states = model.get_encoder()(self.ids).last_hidden_state

    def logp(self, prefixes):
        inputs = torch.tensor([[self.config.decoder_start_token_id, *p] for p in prefixes])
        states = self.states.expand(len(prefixes), -1, -1)
        # Without input_ids, transformers' FSMT attends to future tokens if it has no cache.
        out = self.model(input_ids=self.ids.expand(len(prefixes), -1), encoder_outputs=(states,),
                         decoder_input_ids=inputs, use_cache=False)
        return out.logits[:, -1].log_softmax(-1)


    def attention(self, actions):
        """Return the attention at the positions where `actions` are chosen."""
        inputs = torch.tensor([[self.config.decoder_start_token_id, *actions[:-1]]])
        out = self.model(input_ids=self.ids, encoder_outputs=(self.states,), decoder_input_ids=inputs, use_cache=False,
                         output_attentions=True)
        return out.cross_attentions[-1][0].mean(0)


class Ensemble:
    """The same for several models together, an ensemble."""

    def __init__(self, models, ids):
        self.decoders = [Decoder(model, ids) for model in models]

    def logp(self, prefixes):
        each = torch.stack([decoder.logp(prefixes) for decoder in self.decoders])
        return each.logsumexp(0) - math.log(len(each))


def beam_search(decoder, search, pad):
    item, depth = Item([Candidate(0.0, ())]), 0
    while not item.done:
        depth += 1
        live = [c for c in item.live if not c.ended]
        logp = decoder.logp([c.actions for c in live])
        logp[:, pad] = float("-inf")
        scores, actions = logp.sort(dim=1, descending=True, stable=True)
        advance(item, {id(c): i for i, c in enumerate(live)}, scores[:, :search.k].tolist(),
                actions[:, :search.k].tolist(), search, depth)
    outputs = sorted(item.outputs, key=lambda o: -o.score)
    return [{"score": o.score, "actions": list(o.actions), "truncated": o.truncated} for o in outputs]


def best_outputs(decoder, config):
    """Decode greedily, and with a beam of 5."""
    greedy, beam = (beam_search(decoder, Search(k, float("inf"), k, 0, STEPS, config.eos_token_id), config.pad_token_id)
                    for k in (1, 5))
    scores = sorted(o["score"] for o in beam)
    assert all(b - a > 1e-4 for a, b in zip(scores, scores[1:])), "a tie: pick another seed"
    return greedy[0], beam


def case(model, sides, pieces, rng, others=()):
    config = model.config
    source = {piece: i for i, piece in enumerate(sides[0])}
    ids = [source.get(p, source["<unk>"]) for p in pieces] + [source["</s>"]]
    decoder = Ensemble([*others, model], ids) if others else Decoder(model, ids)
    legal = [a for a in range(len(sides[1])) if a not in (config.eos_token_id, config.pad_token_id)]
    forced = [rng.choice(legal) for _ in range(FORCED_STEPS)]
    steps = [decoder.logp([forced[:i]])[0].tolist() for i in range(FORCED_STEPS)]
    ours, beam = best_outputs(decoder, config)
    expected = {"pieces": pieces, "ids": ids, "forced": forced, "steps": steps, "greedy": ours, "beam": beam}
    if others:
        return expected
    greedy = model.generate(torch.tensor([ids]), num_beams=1, do_sample=False, bad_words_ids=[[config.pad_token_id]],
                            max_length=STEPS + 1, forced_eos_token_id=None)[0].tolist()[1:]
    assert greedy == ours["actions"] + [config.eos_token_id] * (not ours["truncated"]), (greedy, ours)
    expected["attention"] = decoder.attention(forced).tolist()
    expected["memory"] = last_memory(model, decoder.states).tolist()
    return expected


def written(tokenizer, pieces, actions):
    """Return the text of actions. transformers omits special symbols, but with two vocabularies looks for them by the source's ids,
    which is wrong here."""
    if not getattr(tokenizer, "separate_vocabs", False):
        return tokenizer.decode(actions, skip_special_tokens=True)
    return tokenizer.spm_target.decode([pieces[a] for a in actions if pieces[a] not in ("</s>", "<unk>", "<pad>")])


def texts(name, out, cases, pieces):
    if name.startswith("fsmt"):
        tokenizer, lines = FSMTTokenizer.from_pretrained(out), FSMT_TEXTS
    else:
        tokenizer = MarianTokenizer.from_pretrained(out)
        tags = ">>de<<" in tokenizer.get_vocab()  # a vocabulary without language tags: rill then reads a tag as text
        lines = [t for t in TEXTS if tags or ">>" not in t]
    into = [{"text": t, "ids": tokenizer(t).input_ids} for t in lines]
    back = [{"actions": c["greedy"]["actions"],
             "text": written(tokenizer, pieces, c["greedy"]["actions"])} for c in cases]
    return {"into": into, "back": back}


def in_double(name, model):
    """Return the same model in 64 bits."""
    double = class_of(name)(model.config).double().eval()
    double.set_attn_implementation("eager")  # only this implementation returns attention weights
    weights = {k: v.double() for k, v in model.state_dict().items() if "embed_positions" not in k}
    double.load_state_dict(weights, strict=False)
    return double


@torch.no_grad()
def build(name, out):
    shape = SHAPES[name]
    rng, generator = random.Random(shape["seed"]), torch.Generator().manual_seed(shape["seed"])
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    if name.startswith("fsmt"):
        sides = make_fsmt_vocabularies(name, out)
    else:
        sides = make_vocabularies(name, out, rng)
    model = make_model(name, shape, sides, generator)
    model.save_pretrained(out)
    path = os.path.join(out, "model.safetensors")
    tensors = {k: v for k, v in load_file(path).items() if "embed_positions" not in k}
    if "final_logits_bias" not in tensors and not name.startswith("fsmt"):
        tensors["final_logits_bias"] = model.final_logits_bias
    save_file(tensors, path)
    double = in_double(name, model)
    others = []
    if name == "ensemble":
        shared = os.path.join(os.path.dirname(out), "shared")
        others.append(in_double("shared", MarianMTModel.from_pretrained(shared).eval()))
    lengths = [1, 3, 5, 13]
    usable = [p for p in sides[0] if p not in FSMT_SPECIALS]
    cases = [case(double, sides, [rng.choice(usable) for _ in range(n)], rng, others) for n in lengths]
    cases += [case(double, sides, p, rng, others) for p in (["nothing", usable[0]], usable[:4])]
    expected = {"max_length": STEPS, "cases": cases}
    if not name.startswith("fsmt"):
        with open(os.path.join(out, "tokenizer_config.json"), "w", encoding="utf-8") as file:
            json.dump({"source_lang": "de", "target_lang": "en", "separate_vocabs": name == "separate"}, file)
    expected["texts"] = texts(name, out, cases, sides[1])
    with open(os.path.join(out, "expected.json"), "w", encoding="utf-8") as file:
        json.dump(rounded(expected, 6), file, ensure_ascii=False, separators=(",", ":"))
        file.write("\n")
    ended = [len(o["actions"]) for c in cases for o in c["beam"] if not o["truncated"]]
    cut = sum(o["truncated"] for c in cases for o in c["beam"])
    print(f"{name}: lengths of ended outputs {sorted(ended)}, {cut} truncated, "
          f"{sum(os.path.getsize(os.path.join(out, f)) for f in os.listdir(out))} bytes")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", help="where the model directories go: tests/data/mt")
    parser.add_argument("names", nargs="*", help=f"which ones: {', '.join(SHAPES)}; all by default")
    options = parser.parse_args()
    torch.manual_seed(0)
    modeling_fsmt.fill_with_neg_inf = lambda t: torch.full_like(t, float("-inf"))  # FSMT's own function overflows in 64 bits
    for name in options.names or SHAPES:
        build(name, os.path.join(options.folder, name))


if __name__ == "__main__":
    main()
