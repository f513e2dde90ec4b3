#!/usr/bin/env python3
"""Train a small translation transformer and write it as a Hugging Face directory of type `marian`.

  train_mt.py --data DIR --work DIR [--out examples/models/de-en]

--data has {train,val}.{de,en} in a folder for each of --corpora. --work gets the SentencePiece model and a checkpoint every few
minutes; the same command continues an interrupted training. Keep that folder outside the repository. --out is written at every
measurement, from the averaged weights.

One SentencePiece model serves both languages. An epoch is the main corpus and, in turns, a share of the others, which
teach words that it lacks (captions, and everyday sentences). The loss on the main corpus's validation pairs is the
measure: decoding here would cost more than training. Needs torch 2 or newer and sentencepiece.
"""

import torch

from mt_model import Marian, make_config, save_model
from mt_training import EOS, TranslationTraining, parse_options, read_corpora, stack

# Search settings in the model's config.json: pruning of Yang et al. 2020, and scores divided by length (41.6 BLEU on the dev set; sums of
# log-probabilities: 40.8).
SEARCH = {"beam_size": 5, "batch_size": 32, "prune_absolute": 1.5, "max_children": 5, "length_penalty": 1}
RECIPE = (("width", 128, "d_model"), ("ffn", 256, "inner width"), ("layers", 4, "on either side"), ("heads", 4, "of attention"),
          ("epochs", 20, ""), ("batch", 2048, "padded positions per update"), ("rate", 2.5e-3, "highest learning rate"),
          ("dropout", 0.2, ""), ("gentle", 6, "epochs in which dropout rises to that"), ("bf16", 1, "1: compute in bfloat16"))


class Training(TranslationTraining):
    def __init__(self, options, tokens, corpora):
        sizes = {"d_model": options.width, "encoder_ffn_dim": options.ffn, "decoder_ffn_dim": options.ffn,
                 "encoder_layers": options.layers, "decoder_layers": options.layers,
                 "encoder_attention_heads": options.heads, "decoder_attention_heads": options.heads,
                 "dropout": options.dropout, "rill": {"domain": "mt", "options": SEARCH}}
        super().__init__(options, tokens, corpora, Marian(make_config(sizes, len(tokens), tokens.pad)))

    def loss_of(self, model, batch, smoothing):
        pad = self.tokens.pad
        source = stack([s + [EOS] for s, _ in batch], pad)
        inputs = stack([[pad] + t for _, t in batch], pad)
        gold = stack([t + [EOS] for _, t in batch], pad)
        memory, padding = model.encode(source)
        x = model.decode(inputs, memory, padding)
        real = gold != pad
        return model.loss(x[real], gold[real], smoothing), int(real.sum())

    @torch.no_grad()
    def mend(self):
        self.model.model.shared.weight[self.tokens.pad] = 0

    @torch.no_grad()
    def note(self):
        """Return for the log how much the encoder's outputs of one input differ, as a standard deviation. Near 0 they have collapsed
        to one vector, and the decoder translates bags of words."""
        source, _ = self.held[0]
        memory, _ = self.average.encode(torch.tensor([source + [EOS]]))
        return f" spread {memory.std(1).mean():.3f}"

    def write(self):
        save_model(self.o.out, self.average)
        self.tokens.write(self.o.out)


def main():
    options = parse_options(__doc__, RECIPE)
    Training(options, *read_corpora(options)).run()


if __name__ == "__main__":
    main()
