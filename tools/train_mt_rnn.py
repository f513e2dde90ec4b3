#!/usr/bin/env python3
"""Train a small recurrent translation model (rnnsearch: attention and GRUs) and write it as a directory for rill.

  train_mt_rnn.py --data DIR --work DIR [--pieces FILE.spm] [--out examples/models/de-en-rnn]

--data, --work, the corpora, the epochs and the measure are those of train_mt.py. --pieces takes the SentencePiece model of another
directory instead of training one. The same command continues an interrupted training.

--self-norm ALPHA adds ALPHA (log Z)^2 to the loss of a position, where Z is the sum that normalises its probabilities. After such
a training log Z is near 0, and a search without it (rill decode --scores logits) finds much the same outputs. --from CHECKPOINT
begins with the weights of another training, which learn this in a few epochs. Needs torch 2 or newer and sentencepiece.
"""

import os
import shutil

import torch

from mt_rnn_model import Rnn, save_model
from mt_training import EOS, UNK, TranslationTraining, parse_options, read_corpora, stack

SEARCH = {"beam_size": 5, "batch_size": 32, "prune_absolute": 1.5, "max_children": 5, "length_penalty": 1}
RECIPE = (("embedding", 160, "width of words"), ("encoder", 192, "width of either direction"), ("state", 256, "the decoder's width"),
          ("attention", 192, "its width"), ("epochs", 12, ""), ("batch", 1024, "padded positions per update"), ("warmup", 500, "updates"),
          ("rate", 2e-3, "highest learning rate"), ("dropout", 0.25, "of words, annotations and the readout"),
          ("gentle", 3, "epochs in which dropout rises to that"), ("others", 0.25, "share of the other sentences per epoch"),
          ("bf16", 0, "1: compute in bfloat16"), ("self-norm", 0.0, "ALPHA"))


class Training(TranslationTraining):
    def __init__(self, options, tokens, corpora):
        config = {"model_type": "rnnsearch", "decoder": options.decoder, "embedding_size": options.embedding,
                  "encoder_size": options.encoder, "decoder_size": options.state, "attention_size": options.attention,
                  "vocab_size": tokens.pad, "eos_token_id": EOS, "unk_token_id": UNK, "max_length": 256,
                  "dropout": options.dropout}
        model = Rnn(config)
        if options.begin:
            model.load_state_dict(torch.load(options.begin)["average"])
        super().__init__(options, tokens, corpora, model)

    def loss_of(self, model, batch, smoothing):
        pad = self.tokens.pad
        annotations, real = model.encode(stack([s + [EOS] for s, _ in batch], pad))
        x = model.decode(stack([[pad] + t for _, t in batch], pad), annotations, real)
        gold = stack([t + [EOS] for _, t in batch], pad)
        counted = gold != pad
        penalty = self.o.self_norm if model.training else 0.0
        return model.loss(x[counted], gold[counted], smoothing, penalty), int(counted.sum())

    @torch.no_grad()
    def note(self):
        """Return for the log the mean and the deviation of the normaliser's logarithm on a few held-out pairs."""
        few = sorted(self.held[:64], key=lambda pair: len(pair[1]))
        pad, model = self.tokens.pad, self.average
        targets = stack([[pad] + t for _, t in few], pad)
        x = model.decode(targets, *model.encode(stack([s + [EOS] for s, _ in few], pad)))
        normaliser = model.logits(x).logsumexp(2)
        normaliser = torch.cat([row[:len(t) + 1] for row, (_, t) in zip(normaliser, few)])
        return f" log Z {normaliser.mean():.2f} deviation {normaliser.std():.2f}"

    def write(self):
        save_model(self.o.out, self.average, SEARCH)
        self.tokens.write(self.o.out)


def add_options(parser):
    parser.add_argument("--decoder", choices=("conditional", "simple"), default="conditional")
    parser.add_argument("--pieces", metavar="FILE", help="a SentencePiece model; without it one is trained")
    parser.add_argument("--from", dest="begin", metavar="CHECKPOINT", help="begin with its averaged weights")


def main():
    options = parse_options(__doc__, RECIPE, add_options)
    pieces = os.path.join(options.work, "pieces.model")
    if options.pieces and not os.path.exists(pieces):
        shutil.copyfile(options.pieces, pieces)
    Training(options, *read_corpora(options)).run()


if __name__ == "__main__":
    main()
