#!/usr/bin/env python3
"""Write the results of fairseq's own search with the small models of tests/data/mt, for tests of `--like fairseq`.

Needs what reference_search.py needs, and the folder of an unpacked source distribution of fairseq 0.12.2:

  pip download --no-deps --no-binary :all: fairseq==0.12.2 && tar xf fairseq-0.12.2.tar.gz

fairseq cannot be installed on current Pythons. So only sequence_generator.py, search.py and the two small files that they need are
loaded; empty modules replace their other imports. fairseq searches, with the log-probabilities of transformers' model in 64 bits.
Each directory gets fairseq.json, in the form of search.json.
"""

import argparse
import os
import sys
import types

import torch

from reference_mt import Decoder
from reference_search import Model, cases_of, in_64_bits, write_searches

WAYS = [
    # arguments of SequenceGenerator, and options of rill
    (dict(), {}),  # the length limit is then the model's
    (dict(max_len_b=20), {"max-length": 20}),
    (dict(max_len_b=9, len_penalty=0.6), {"max-length": 9, "length-penalty": 0.6}),
    (dict(max_len_b=15, len_penalty=1.3), {"max-length": 15, "length-penalty": 1.3}),
    (dict(max_len_b=12, normalize_scores=False), {"max-length": 12, "length-penalty": 0}),
    (dict(max_len_b=12, len_penalty=-0.5, min_len=6), {"max-length": 12, "length-penalty": -0.5, "min-length": 6}),
    (dict(max_len_b=6, min_len=6, beam_size=4), {"max-length": 6, "min-length": 6, "k": 4}),
    (dict(max_len_a=1.5, max_len_b=2, unk_penalty=3.0, min_len=3, beam_size=3),
     {"max-length-factor": 1.5, "max-length": 2, "unknown-penalty": 3, "min-length": 3, "k": 3}),
    (dict(max_len_a=0.7, max_len_b=4, unk_penalty=-2.0), {"max-length-factor": 0.7, "max-length": 4, "unknown-penalty": -2}),
    (dict(max_len_b=10, beam_size=12), {"max-length": 10, "k": 12}),
]


class Nothing:
    """A placeholder for classes that fairseq imports but does not use here."""


def load_generator(folder):
    """Load fairseq's SequenceGenerator, without running fairseq's __init__ or loading any of its models."""
    package = types.ModuleType("fairseq")
    package.__path__ = [os.path.join(folder, "fairseq")]
    sys.modules["fairseq"] = package
    stand_ins = {"utils": {}, "data": {}, "data.data_utils": {}, "models": {"FairseqIncrementalDecoder": Nothing}}
    for name, content in stand_ins.items():
        module = types.ModuleType("fairseq." + name)
        vars(module).update(content)
        sys.modules[module.__name__] = module
    sys.modules["fairseq.data"].data_utils = sys.modules["fairseq.data.data_utils"]
    from fairseq.sequence_generator import SequenceGenerator
    return SequenceGenerator


class Dictionary:
    """The ids of special symbols, with the interface of fairseq's dictionary."""

    def __init__(self, model):
        self.model = model

    def __len__(self):
        config = self.model.config
        return getattr(config, "decoder_vocab_size", None) or config.tgt_vocab_size

    def eos(self):
        return self.model.end

    def pad(self):
        return self.model.pad

    def unk(self):
        return self.model.unknown


class Encoder(torch.nn.Module):
    """A stand-in for fairseq's encoder: the state of an input is its number, repeated for each beam."""

    def forward_torchscript(self, net_input):
        return torch.arange(len(net_input["src_tokens"]))

    def reorder_encoder_out(self, out, order):
        return out[order]


class Network(torch.nn.Module):
    """A model of transformers with the interface that fairseq's search calls."""

    def __init__(self, model, ids):
        super().__init__()
        self.most, self.known = model.config.max_position_embeddings, Decoder(model.net, ids)
        self.encoder, self.decoder = Encoder(), types.SimpleNamespace(forward=self.step)

    def step(self, tokens, encoder_out):
        assert not encoder_out.any()  # there is one input, number 0
        return (self.known.logp(tokens[:, 1:].tolist())[:, None], None)

    def max_decoder_positions(self):
        return self.most

    def get_normalized_probs(self, out, log_probs, sample):
        assert log_probs and sample is None
        return out[0]


def search(generator_class, model, ids, way):
    options = {"beam_size": 5, **way}
    generator = generator_class([Network(model, ids)], Dictionary(model), **options)
    hypotheses = generator.generate([], {"net_input": {"src_tokens": torch.tensor([ids])}})[0]
    found = [{"score": float(h["score"]), "actions": h["tokens"].tolist()} for h in hypotheses]
    assert all(f["actions"].pop() == model.end for f in found)
    return found


@torch.no_grad()
def build(generator_class, folder):
    model, cases = Model(folder), cases_of(folder)
    searches = []
    for way, settings in WAYS:
        found = [search(generator_class, model, case["ids"], way) for case in cases]
        searches.append({"settings": {"like": "fairseq", **settings}, "found": found})
    write_searches(folder, "fairseq.json", cases, searches)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--fairseq", required=True, help="the folder of the unpacked source distribution")
    parser.add_argument("folders", nargs="+", help="model directories: tests/data/mt/*")
    options = parser.parse_args()
    in_64_bits()
    generator_class = load_generator(options.fairseq)
    for folder in options.folders:
        build(generator_class, folder)


if __name__ == "__main__":
    main()
