#!/usr/bin/env python3
"""Write the results of other decoders with the small models of tests/data/mt, for tests of rill's presets `--like`.

Needs torch, transformers, safetensors and numpy. Each directory gets search.json: a list of searches, each with the
settings that rill needs for it and, for each input of expected.json, the n-best list: symbols without the end, and the
score that the decoder ranks by.

  hf        transformers' own generate(), with five beams and five outputs: early stopping each way, several length
            penalties, with and without a forced end symbol; under "renormalized" with renormalize_logits
  marian, ct2
            searches written here over the models' log-probabilities, each from its decoder's source: marian-dev's
            beam_search.cpp and history.h, CTranslate2's decoding.cc. They share nothing with rill. (CTranslate2
            masks symbols before the softmax; here they are masked after it.)

forbidden.json has searches of transformers in which sequences of symbols are forbidden: bad_words_ids.

fairseq's own search is reference_fairseq.py's.
"""

import argparse
import json
import os

import numpy as np
import torch
from safetensors.torch import load_file
from transformers import AutoConfig
from transformers.models.fsmt import modeling_fsmt

from model_files import rounded
from reference_mt import Decoder, class_of

BEAM, LENGTH = 5, 21  # LENGTH counts the start token, as in transformers


class Model:
    """A model of tests/data/mt in 64 bits, and the symbols that may be chosen."""

    def __init__(self, folder):
        self.config = AutoConfig.from_pretrained(folder)
        fsmt = self.config.model_type == "fsmt"
        self.net = class_of("fsmt" if fsmt else "marian")(self.config).double().eval()
        weights = load_file(os.path.join(folder, "model.safetensors"))
        self.net.load_state_dict({k: v.double() for k, v in weights.items()}, strict=False)
        self.net.tie_weights()
        self.end, self.pad = self.config.eos_token_id, self.config.pad_token_id
        names = ["vocab-tgt.json"] if fsmt else ["target_vocab.json", "vocab.json"]
        path = next(p for p in (os.path.join(folder, n) for n in names) if os.path.exists(p))
        with open(path, encoding="utf-8") as file:
            self.unknown = json.load(file)["<unk>"]


# --- transformers ------------------------------------------------------------------------------------------------------


def generate(model, ids, early, penalty, forced, least, renormalize=False, forbidden=()):
    out = model.net.generate(
        torch.tensor([ids]), num_beams=BEAM, num_return_sequences=BEAM, do_sample=False, max_length=LENGTH,
        early_stopping=early, length_penalty=penalty, forced_eos_token_id=model.end if forced else None,
        min_length=least, renormalize_logits=renormalize, bad_words_ids=[[model.pad], *forbidden],
        return_dict_in_generate=True, output_scores=True)
    found = []
    for row, score in zip(out.sequences.tolist(), out.sequences_scores.tolist()):
        actions = row[1:]
        if model.end in actions:
            actions = actions[:actions.index(model.end)]
        found.append({"score": score, "actions": [a for a in actions if a != model.pad]})
    return found


STOPS = {True: "count", False: "bound", "never": "bound-max"}


def hf_settings(early, penalty, forced, least):
    """Return rill's settings. With a forced </s>, the last symbol that is not forced is number LENGTH - 2 after the start token."""
    settings = {"like": "hf", "k": BEAM, "length-penalty": penalty, "max-length": LENGTH - (2 if forced else 1)}
    settings["stop"] = STOPS[early]
    if forced:
        settings["at-limit"] = "end-free"
    if least > 0:
        settings["min-length"] = least - 1
    return settings


def hf_searches(model, inputs):
    ways = [(early, penalty, 0, 0) for early in STOPS for penalty in (0.0, 1.0, 0.6)]
    ways += [(early, 1.0, 1, 0) for early in STOPS] + [(False, 1.0, 0, 7)]
    for way in ways:
        yield {"settings": hf_settings(*way), "found": [generate(model, ids, *way) for ids in inputs]}


def renormalized_searches(model, inputs):
    """Yield searches for folders whose generation_config.json has renormalize_logits, as newer ones of OPUS-MT do."""
    for way in ((False, 0.8, 0, 0), (True, 0.6, 1, 0)):
        yield {"settings": hf_settings(*way), "found": [generate(model, ids, *way, renormalize=True) for ids in inputs]}


def sequences_of(model, inputs):
    """Choose sequences to forbid from results of a search without them: pairs and triples, one that begins an output after the start
    token, one that ends an output, then a single symbol, and one that no vocabulary has.
    """
    best = [generate(model, ids, True, 1.0, 0, 0)[0]["actions"] for ids in inputs]
    best = sorted((b for b in best if b), key=lambda actions: (-len(actions), actions))
    start = model.config.decoder_start_token_id
    chosen = [[start, best[-1][0]], best[0][2:4], best[1][1:4], [best[1][-1], model.end], best[2][:2], best[2][3:6]]
    return [s for s in chosen if len(s) > 1] + [[best[0][-1]], [model.end], [3, 10 ** 6]]


def forbidden_searches(model, inputs, forbidden):
    legal = [s for s in forbidden if max(s) < 10 ** 6]  # transformers refuses ids that the vocabulary lacks
    for way in ((True, 0.6, 0, 0), (False, 0.8, 1, 0), ("never", 0.4, 0, 7)):
        yield {"settings": hf_settings(*way), "found": [generate(model, ids, *way, forbidden=legal) for ids in inputs]}


# --- searches written from the others' sources ----------------------------------------------------------------------------


def best(scores, n):
    """Return the n best of a matrix of scores, as (score, row, column), best first."""
    flat = scores.reshape(-1)
    order = [i for i in np.argsort(-flat, kind="stable")[:n] if flat[i] > -np.inf]
    return [(flat[i], i // scores.shape[1], int(i % scores.shape[1])) for i in order]


def expand(model, decoder, beam):
    logp = decoder.logp([list(actions) for _, actions in beam]).numpy().copy()
    logp[:, model.pad] = -np.inf
    return logp, np.array([score for score, _ in beam])[:, None]


def ranked(found):
    found.sort(key=lambda f: -f["score"])
    return found


def marian(model, decoder, source, k=12, normalize=0.0, word_penalty=0.0, factor=3, allow_unk=False):
    beam, done, step, places = [(0.0, ())], [], 0, k
    while beam:
        step += 1
        logp, scores = expand(model, decoder, beam)
        if not allow_unk:
            logp[:, model.unknown] = -np.inf
        new = [(s, beam[r][1] + (a,)) for s, r, a in best(logp + scores, places)]
        last = step >= min(factor * source, model.config.max_position_embeddings)
        for score, actions in new:
            if last or actions[-1] == model.end:
                rank = (score - word_penalty * step) / step ** normalize
                done.append({"score": rank, "actions": [a for a in actions if a != model.end]})
        if last:
            break
        beam = [h for h in new if h[1][-1] != model.end]
        places = len(beam)
    return ranked(done)


def ct2(model, decoder, source, k=2, penalty=1.0, patience=1.0, max_length=256, min_length=1):
    del source
    beam, done, top_ended = [(0.0, ())], [], False
    for step in range(max_length):
        logp, scores = expand(model, decoder, beam)
        if step < min_length:
            logp[:, model.end] = -np.inf
        candidates = best(logp + scores, 2 * k)
        live = [(s, beam[r][1] + (a,)) for s, r, a in candidates if a != model.end]
        for place, (score, row, action) in enumerate(candidates[:k]):
            if action != model.end and step + 1 < max_length:
                continue
            top_ended |= place == 0
            actions = list(beam[row][1]) + ([action] if action != model.end else [])
            done.append({"score": score / (step + 1) ** penalty, "actions": actions})
        if (top_ended and done) if penalty == 0 else len(done) >= round(k * patience):
            break
        beam = live[:k]
    return ranked(done)


def written_searches(model, inputs):
    ways = [
        (marian, dict(k=5, normalize=1.0), {"like": "marian", "k": 5, "length-penalty": 1}),
        (marian, dict(k=4, factor=2, word_penalty=0.3, allow_unk=True),
         {"like": "marian", "k": 4, "max-length-factor": 2, "word-penalty": 0.3, "unknown-penalty": 0}),
        (ct2, dict(max_length=20), {"like": "ct2", "max-length": 20}),
        (ct2, dict(k=5, max_length=12, patience=2.0), {"like": "ct2", "k": 5, "max-length": 12, "patience": 2}),
        (ct2, dict(k=5, max_length=20, penalty=0.0), {"like": "ct2", "k": 5, "max-length": 20, "length-penalty": 0}),
    ]
    decoders = [Decoder(model.net, ids) for ids in inputs]
    for search, arguments, settings in ways:
        found = [search(model, d, len(ids), **arguments) for d, ids in zip(decoders, inputs)]
        yield {"settings": settings, "found": found}


def cases_of(folder):
    with open(os.path.join(folder, "expected.json"), encoding="utf-8") as file:
        return json.load(file)["cases"]


def write_searches(folder, name, cases, searches, renormalized=(), **more):
    """Write the file. Scores may not tie, since the test compares results symbol by symbol."""
    for search in (*searches, *renormalized):
        search["settings"] = {name: str(value) for name, value in search["settings"].items()}
        for outputs in search["found"]:
            close = [a["score"] - b["score"] < 2e-6 for a, b in zip(outputs, outputs[1:])]
            assert not any(close), ("a tie", search["settings"])
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        results = {**more, "pieces": [case["pieces"] for case in cases], "searches": searches}
        if renormalized:
            results["renormalized"] = renormalized
        json.dump(rounded(results, 6), file, ensure_ascii=False, separators=(",", ":"))
        file.write("\n")
    print(f"{path}: {len(searches)} searches, {os.path.getsize(path)} bytes")


@torch.no_grad()
def build(folder):
    model, cases = Model(folder), cases_of(folder)
    inputs = [case["ids"] for case in cases]
    write_searches(folder, "search.json", cases, [*hf_searches(model, inputs), *written_searches(model, inputs)],
                   [*renormalized_searches(model, inputs)])
    forbidden = sequences_of(model, inputs)
    write_searches(folder, "forbidden.json", cases, [*forbidden_searches(model, inputs, forbidden)], bad_words_ids=forbidden)


def in_64_bits():
    modeling_fsmt.fill_with_neg_inf = lambda t: torch.full_like(t, float("-inf"))  # FSMT's own function overflows in 64 bits


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs="+", help="model directories: tests/data/mt/*")
    options = parser.parse_args()
    in_64_bits()
    for folder in options.folders:
        build(folder)


if __name__ == "__main__":
    main()
