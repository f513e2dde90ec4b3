"""Shared by the trainers of translation models: pairs of lines, their subword tokens, batches of similar lengths, and epochs that mix
a main corpus with others.
"""

import argparse
import json
import os
import random
import shutil
import time

import sentencepiece
import torch

from trainer import Trainer

EOS, UNK = 0, 1


def read_lines(path):
    with open(path, encoding="utf-8") as file:
        return [line.rstrip("\n") for line in file]


def read_pairs(data, corpus, part, source, target):
    sides = [read_lines(os.path.join(data, corpus, f"{part}.{side}")) for side in (source, target)]
    if len(sides[0]) != len(sides[1]):
        raise SystemExit(f"{corpus}/{part}: {len(sides[0])} and {len(sides[1])} lines")
    return [(s, t) for s, t in zip(*sides) if s.strip() and t.strip()]


class Tokens:
    """A SentencePiece tokenizer with Marian's ids: </s> 0, <unk> 1, other tokens, <pad> last."""

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

    def write(self, out):
        """Write the tokenizer files of a model directory."""
        words = {self.model.id_to_piece(i): i for i in range(self.pad)}
        words["<pad>"] = self.pad
        for side in ("source", "target"):
            shutil.copyfile(self.path, os.path.join(out, side + ".spm"))
        with open(os.path.join(out, "vocab.json"), "w", encoding="utf-8") as file:
            json.dump(words, file, ensure_ascii=False, indent=0)
            file.write("\n")


def batches(examples, most, rng):
    """Yield batches of at most `most` padded positions on either side, of similar lengths, in random order."""
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


class TranslationTraining(Trainer):
    """A training. A subclass builds its model and defines its loss; see train_mt.py and train_mt_rnn.py."""

    def __init__(self, options, tokens, corpora, model):
        """corpora: pairs of ids: the main corpus, the others, and the held-out sentences."""
        self.o, self.tokens = options, tokens
        self.main, self.others, self.held = corpora
        optimiser = torch.optim.AdamW(model.parameters(), lr=1.0, betas=(0.9, 0.98), eps=1e-9, weight_decay=options.decay)
        super().__init__(model, optimiser, random.Random(options.seed), options.average, options.clip,
                         os.path.join(options.work, "checkpoint.pt"))
        self.go_on()
        if self.epoch:
            print(f"going on after epoch {self.epoch}", flush=True)
        print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f} million parameters, "
              f"{len(self.main)} pairs, {len(self.others)} others", flush=True)

    # --- defined by subclasses

    def loss_of(self, model, batch, smoothing):
        """Return the mean loss over a batch's positions, and the number of positions."""
        raise NotImplementedError

    def mend(self):
        """Called after each update of the weights."""

    def write(self):
        """Write the model's directory, --out."""
        raise NotImplementedError

    def note(self):
        """Return further fields for a log line."""
        return ""

    # --- epochs

    def rate(self, progress):
        """Return the learning rate: linear warm-up, then a linear fall to a fiftieth. progress: in epochs."""
        if self.steps < self.o.warmup:
            return self.o.rate * (self.steps + 1) / self.o.warmup
        return self.o.rate * max(0.02, 1 - progress / self.o.epochs)

    def run_epoch(self):
        self.model.train()
        self.model.set_dropout(self.o.dropout * min(1, (self.epoch + 1) / self.o.gentle))
        shares = round(1 / self.o.others)
        pool = self.main + self.others[self.epoch % shares::shares]
        plan, total, count = batches(pool, self.o.batch, self.rng), 0.0, 0
        for number, indices in enumerate(plan):
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bool(self.o.bf16)):
                loss, n = self.loss_of(self.model, [pool[i] for i in indices], self.o.smoothing)
            self.descend(loss, self.rate(self.epoch + number / len(plan)))
            self.mend()
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
            loss, n = self.loss_of(self.average, [self.held[i] for i in indices], 0.0)
            total, count = total + loss.item() * n, count + n
        return total / count

    def run(self):
        """Train the remaining epochs; if none is left, write the directory again."""
        if self.epoch >= self.o.epochs and self.o.out:
            self.write()
        while self.epoch < self.o.epochs:
            begin = time.monotonic()
            loss = self.run_epoch()
            line = f"epoch {self.epoch} loss {loss:.3f} {time.monotonic() - begin:.0f} s"
            if self.epoch % self.o.every == 0 or self.epoch == self.o.epochs:
                line += f" validation {self.measure():.4f}"
                if self.o.out:
                    self.write()
            print(line + self.note(), flush=True)
            self.save()


# --- the command line

COMMON = (("vocabulary", 8000, "pieces"), ("warmup", 1000, "updates"), ("smoothing", 0.1, "of labels"), ("decay", 1e-4, "of weights"),
          ("clip", 1.0, "norm of the gradient"), ("average", 0.999, "kept by the running average per update"),
          ("others", 0.5, "share of the other sentences per epoch"), ("seed", 1, ""))


def parse_options(about, recipe, add=None):
    """Parse the options of a trainer. `recipe`: (name, default, help) of options that extend or replace the common ones; add(parser)
    adds others."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--work", required=True, help="folder of the checkpoint and the SentencePiece model")
    parser.add_argument("--out", help="model directory to write")
    parser.add_argument("--corpora", nargs="+", default=["multi30k", "tatoeba"], metavar="NAME",
                        help="folders of --data: the main corpus, which is also the measure, and others (multi30k tatoeba)")
    parser.add_argument("--source", default="de")
    parser.add_argument("--target", default="en")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--every", type=int, default=2, help="epochs between measurements")
    parser.add_argument("--max-batches", type=int, default=0, help="of an epoch: for trying things out")
    if add:
        add(parser)
    group, own = parser.add_argument_group("recipe"), [name for name, _, _ in recipe]
    for name, value, text in recipe + tuple(entry for entry in COMMON if entry[0] not in own):
        group.add_argument("--" + name, type=type(value), default=value, help=f"{text} ({value})".strip())
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    os.makedirs(options.work, exist_ok=True)
    return options


def read_corpora(options):
    """Return the tokenizer, and the pairs of ids: the main corpus, the others, and the held-out pairs of the main corpus."""
    main, *others = [read_pairs(options.data, corpus, "train", options.source, options.target) for corpus in options.corpora]
    parts = [main, sum(others, []), read_pairs(options.data, options.corpora[0], "val", options.source, options.target)]
    tokens = Tokens(os.path.join(options.work, "pieces.model"), parts[0] + parts[1], options.vocabulary)
    corpora = [[(tokens.encode(s), tokens.encode(t)) for s, t in part] for part in parts]
    random.Random(0).shuffle(corpora[1])
    return tokens, corpora
