#!/usr/bin/env python3
"""Train a small translation transformer and write it as a Hugging Face directory of type `marian`.

  train_mt.py --data DIR --work DIR [--out examples/models/de-en]

--data holds multi30k/{train,val}.{de,en} and tatoeba/{train,val}.{de,en}. --work gets the SentencePiece
model and a checkpoint every few minutes; the same command goes on where it was interrupted. Keep that
folder outside the repository. --out is written at every measurement from the averaged weights.

One SentencePiece model serves both languages. An epoch is all captions and, in turns, a share of the other
sentences, which teach words that captions lack. The loss on the captions' validation pairs is the measure: decoding
here would cost more than training. Needs torch 2 or newer and sentencepiece.
"""

import argparse
import json
import os
import random
import time

import sentencepiece
import torch

from mt_model import Marian, make_config, save_model
from trainer import Trainer

EOS, UNK = 0, 1
# What rill decodes with unless told otherwise; the source's pruning, and the mean of log-probabilities (chosen on val: 41.6 BLEU, the sum
# 40.8).
SEARCH = {"k": 5, "n": 32, "absolute": 1.5, "max_candidates": 5, "length_penalty": 1}


def read_lines(path):
    with open(path, encoding="utf-8") as file:
        return [line.rstrip("\n") for line in file]


def read_pairs(data, corpus, part, source, target):
    sides = [read_lines(os.path.join(data, corpus, f"{part}.{side}")) for side in (source, target)]
    if len(sides[0]) != len(sides[1]):
        raise SystemExit(f"{corpus}/{part}: {len(sides[0])} and {len(sides[1])} lines")
    return [(s, t) for s, t in zip(*sides) if s.strip() and t.strip()]


class Tokens:
    """SentencePiece segments; ids are Marian's: </s> 0, <unk> 1, pieces, <pad> last."""

    def __init__(self, path, pairs, size):
        if not os.path.exists(path):
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter([side for pair in pairs for side in pair]),
                model_prefix=path[:-len(".model")], vocab_size=size, character_coverage=1.0,
                model_type="unigram", bos_id=-1, eos_id=0, unk_id=1, pad_id=-1, num_threads=1,
                minloglevel=2)
        self.path = path
        self.model = sentencepiece.SentencePieceProcessor(model_file=path)
        self.pad = self.model.get_piece_size()

    def __len__(self):
        return self.pad + 1

    def encode(self, text):
        return self.model.encode(text)

    def vocabulary(self):
        words = {self.model.id_to_piece(i): i for i in range(self.pad)}
        words["<pad>"] = self.pad
        return words


def batches(examples, most, rng):
    """Batches of at most `most` padded positions on either side, of similar lengths, in random order."""
    order = sorted(range(len(examples)), key=lambda i: (len(examples[i][1]), len(examples[i][0]), rng.random()))
    plan, batch, longest = [], [], 0
    for i in order:
        length = max(len(examples[i][0]), len(examples[i][1])) + 1
        if batch and max(longest, length) * (len(batch) + 1) > most:
            plan.append(batch)
            batch, longest = [], 0
        batch.append(i)
        longest = max(longest, length)
    plan.append(batch)
    rng.shuffle(plan)
    return plan


def stack(rows, pad):
    width = max(len(r) for r in rows)
    return torch.tensor([r + [pad] * (width - len(r)) for r in rows])


def loss_of(model, batch, pad, smoothing):
    source = stack([s + [EOS] for s, _ in batch], pad)
    inputs = stack([[pad] + t for _, t in batch], pad)
    gold = stack([t + [EOS] for _, t in batch], pad)
    memory, padding = model.encode(source)
    x = model.decode(inputs, memory, padding)
    real = gold != pad
    return model.loss(x[real], gold[real], smoothing), int(real.sum())


class Training(Trainer):
    def __init__(self, options, tokens, captions, others, held):
        self.o, self.tokens, self.captions, self.others, self.held = options, tokens, captions, others, held
        torch.manual_seed(options.seed)
        sizes = {"d_model": options.width, "encoder_ffn_dim": options.ffn, "decoder_ffn_dim": options.ffn,
                 "encoder_layers": options.layers, "decoder_layers": options.layers,
                 "encoder_attention_heads": options.heads, "decoder_attention_heads": options.heads,
                 "dropout": options.dropout, "rill": {"domain": "mt", "search": SEARCH}}
        model = Marian(make_config(sizes, len(tokens), tokens.pad))
        optimiser = torch.optim.AdamW(model.parameters(), lr=1.0, betas=(0.9, 0.98), eps=1e-9, weight_decay=options.decay)
        super().__init__(model, optimiser, random.Random(options.seed), options.average, options.clip,
                         os.path.join(options.work, "checkpoint.pt"))
        self.go_on()
        if self.epoch:
            print(f"going on after epoch {self.epoch}", flush=True)

    def rate(self, progress):
        """Warming up linearly, then falling linearly to a fiftieth; progress in epochs."""
        if self.steps < self.o.warmup:
            return self.o.rate * (self.steps + 1) / self.o.warmup
        return self.o.rate * max(0.02, 1 - progress / self.o.epochs)

    def run_epoch(self):
        self.model.train()
        self.model.set_dropout(self.o.dropout * min(1, (self.epoch + 1) / self.o.gentle))
        shares = round(1 / self.o.others)
        pool = self.captions + self.others[self.epoch % shares::shares]
        plan, total, count = batches(pool, self.o.batch, self.rng), 0.0, 0
        for number, indices in enumerate(plan):
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bool(self.o.bf16)):
                loss, n = loss_of(self.model, [pool[i] for i in indices], self.tokens.pad, self.o.smoothing)
            self.descend(loss, self.rate(self.epoch + number / len(plan)))
            with torch.no_grad():
                self.model.model.shared.weight[self.tokens.pad] = 0
            self.update_average()
            total, count = total + loss.item() * n, count + n
            if self.o.max_batches and number + 1 >= self.o.max_batches:
                break
        self.epoch += 1
        return total / count

    @torch.no_grad()
    def measure(self):
        total, count = 0.0, 0
        for indices in batches(self.held, self.o.batch, random.Random(0)):
            loss, n = loss_of(self.average, [self.held[i] for i in indices], self.tokens.pad, 0.0)
            total, count = total + loss.item() * n, count + n
        return total / count

    @torch.no_grad()
    def spread(self):
        """How much the encoder's outputs of one input differ from each other, in standard deviations: near 0 they have collapsed
        to one, and the decoder translates bags of words."""
        source, _ = self.held[0]
        memory, _ = self.average.encode(torch.tensor([source + [EOS]]))
        return float(memory.std(1).mean())

    def run(self):
        while self.epoch < self.o.epochs:
            begin = time.monotonic()
            loss = self.run_epoch()
            line = f"epoch {self.epoch} loss {loss:.3f} {time.monotonic() - begin:.0f} s"
            if self.epoch % self.o.every == 0 or self.epoch == self.o.epochs:
                line += f" validation {self.measure():.4f}"
                if self.o.out:
                    self.write()
            print(line + f" spread {self.spread():.3f}", flush=True)
            self.save()

    def write(self):
        save_model(self.o.out, self.average)
        for side in ("source", "target"):
            with open(self.tokens.path, "rb") as model, open(os.path.join(self.o.out, side + ".spm"), "wb") as out:
                out.write(model.read())
        with open(os.path.join(self.o.out, "vocab.json"), "w", encoding="utf-8") as file:
            json.dump(self.tokens.vocabulary(), file, ensure_ascii=False, indent=0)
            file.write("\n")


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--work", required=True, help="folder of the checkpoint and the SentencePiece model")
    parser.add_argument("--out", help="model directory to write")
    parser.add_argument("--source", default="de")
    parser.add_argument("--target", default="en")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--every", type=int, default=2, help="epochs between measurements")
    parser.add_argument("--max-batches", type=int, default=0, help="of an epoch: for trying things out")
    recipe = parser.add_argument_group("recipe")
    for name, value, text in (
            ("vocabulary", 8000, "pieces"), ("width", 128, "d_model"), ("ffn", 256, "inner width"),
            ("layers", 4, "on either side"), ("heads", 4, "of attention"), ("epochs", 20, ""),
            ("batch", 2048, "padded positions per update"), ("warmup", 1000, "updates"), ("rate", 2.5e-3, "highest learning rate"),
            ("dropout", 0.2, ""), ("gentle", 6, "epochs in which dropout rises to that"), ("smoothing", 0.1, "of labels"),
            ("decay", 1e-4, "of weights"), ("clip", 1.0, "norm of the gradient"),
            ("average", 0.999, "kept by the running average per update"),
            ("others", 0.5, "share of the other sentences per epoch"), ("seed", 1, ""), ("bf16", 1, "1: compute in bfloat16")):
        recipe.add_argument("--" + name, type=type(value), default=value, help=f"{text} ({value})".strip())
    return parser.parse_args()


def main():
    options = parse_options()
    torch.set_num_threads(options.threads)
    os.makedirs(options.work, exist_ok=True)
    captions = read_pairs(options.data, "multi30k", "train", options.source, options.target)
    others = read_pairs(options.data, "tatoeba", "train", options.source, options.target)
    held = read_pairs(options.data, "multi30k", "val", options.source, options.target)
    tokens = Tokens(os.path.join(options.work, "pieces.model"), captions + others, options.vocabulary)
    ids = [[(tokens.encode(s), tokens.encode(t)) for s, t in part] for part in (captions, others, held)]
    random.Random(0).shuffle(ids[1])
    training = Training(options, tokens, *ids)
    print(f"{sum(p.numel() for p in training.model.parameters()) / 1e6:.2f} million parameters, "
          f"{len(ids[0])} captions, {len(ids[1])} others", flush=True)
    training.run()


if __name__ == "__main__":
    main()
