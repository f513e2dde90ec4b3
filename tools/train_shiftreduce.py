#!/usr/bin/env python3
"""Train the shift-reduce constituency parser of rill (Cross and Huang 2016), with its tagger.

  train_shiftreduce.py --task gum --data DIR --out examples/models/gum --checkpoints /somewhere

DIR holds train.ptb, dev.ptb and test.ptb, one bracketed tree per line: `rill convert ptb` makes them of the
Penn Treebank. The recipe (sizes, dropout, epochs ...) can be given as options; the defaults are those of the
shipped model. After every few epochs the running average of the weights is measured on dev by greedy
parsing; --out is written at the end.

  train_shiftreduce.py --data DIR --evaluate examples/models/gum [--split test]

measures a finished directory with the reference decoder: greedy and beam, given and predicted tags.

The oracle: a state is shown the action that still reaches the most gold brackets, combine where both
do, so that of each tree one derivation is shown. With --explore P a
sentence follows, with probability P, actions sampled from the model instead of the gold ones; the
features depend on span ends alone, so all states of a batch are scored at once behind one encoding.

--start MODEL begins with the weights of an earlier training on the same trees instead of random ones, with
a falling rate of its own: for another dropout, say.

With --checkpoints DIR an interrupted training goes on where it stopped. Keep that folder outside
the repository.
"""

import argparse
import os
import random
import sys
import time

import numpy as np
import torch
from torch import nn

from refusal import Refused
from shiftreduce_decode import Search, evaluate
from shiftreduce_model import (COMBINE, NONE, SHIFT, UNK, Batch, Input, Parser, Symbols, load_model, read_trees,
                               save_model)
from trainer import Trainer

RECIPE = {"embedding": 96, "tag": 32, "hidden": 144, "net": 160,
          "drop_x": 0.2, "drop_between": 0.35, "drop_positions": 0.35, "drop_net": 0.3,
          "word_dropout": 0.8375, "explore": 0.5, "start_exploring": 3, "own_tags": 0.4, "no_tag": 0.05, "tagging": 0.5,
          "epochs": 24, "hold": 0.33, "batch": 16, "rate": 0.003, "warmup": 1.0, "clip": 5.0, "decay": 1e-4,
          "average": 0.998, "suffix_length": 4, "seed": 1}


# --- the oracle ------------------------------------------------------------------------------------

class Gold:
    """What the oracle needs to know of a tree: how far brackets reach, and the label of each span."""

    def __init__(self, symbols, sentence):
        self.reach = np.zeros(len(sentence) + 1, dtype=np.int64)
        self.labels = {}
        for (begin, end), chain in sentence.spans.items():
            self.reach[begin] = max(self.reach[begin], end)
            self.labels[begin, end] = symbols.labels.ids.get(chain, NONE)


def roll_out(golds, lengths, choose):
    """Derive all sentences together, one step at a time; return the states they pass.

    choose(rows, a, b, c, gold): the structure actions taken where both are legal
    structure: [N, 5] sentence, a, b, c, gold action; label: [M, 5] sentence, b, c, gold label, last
    """
    count, width = len(golds), lengths.max()
    reach = np.zeros((count, width + 1), dtype=np.int64)
    for row, gold in zip(reach, golds):
        row[:len(gold.reach)] = gold.reach
    stack = np.zeros((count, width + 2), dtype=np.int64)
    depth, end = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    structure, label = [], []
    for step in range(2 * width - 1):
        alive = np.flatnonzero(step < 2 * lengths - 1)
        action = np.where(end[alive] < lengths[alive], SHIFT, COMBINE)
        free = (end[alive] < lengths[alive]) & (depth[alive] >= 2)
        if free.any():
            rows = alive[free]
            b, c = stack[rows, depth[rows] - 1], end[rows]
            a = stack[rows, depth[rows] - 2]
            # Dynamic oracle: shift if a gold bracket begins with s0 and ends later, since combining would lose the bracket.
            gold = np.where(reach[rows, b] > c, SHIFT, COMBINE)
            structure.append(np.stack([rows, a, b, c, gold], 1))
            action[free] = choose(rows, a, b, c, gold)
        shifting, combining = alive[action == SHIFT], alive[action == COMBINE]
        stack[shifting, depth[shifting]] = end[shifting]
        depth[shifting] += 1
        end[shifting] += 1
        depth[combining] -= 1
        begin = stack[alive, depth[alive] - 1]
        spans = zip(alive.tolist(), begin.tolist(), end[alive].tolist())
        gold = [golds[i].labels.get((b, c), NONE) for i, b, c in spans]
        last = step == 2 * lengths[alive] - 2
        label.append(np.stack([alive, begin, end[alive], gold, last], 1))
    empty = np.zeros((0, 5), dtype=np.int64)
    return np.concatenate(structure or [empty]), np.concatenate(label)


class Explorer:
    """Chooses gold actions; in some sentences, actions drawn from the model."""

    def __init__(self, parser, tables, rest, drawn, rng):
        self.table, self.rest, self.drawn, self.rng = tables.numpy(), rest.numpy(), drawn, rng
        weight, bias = (p.detach().numpy() for p in (parser.structure_output.weight, parser.structure_output.bias))
        self.weight, self.bias = weight[COMBINE] - weight[SHIFT], bias[COMBINE] - bias[SHIFT]
        self.net = self.rest.shape[1]

    def __call__(self, rows, a, b, c, gold):
        drawn = self.drawn[rows]
        if not drawn.any():
            return gold
        d, table = self.net, self.table
        r = rows[drawn]
        hidden = (table[r, a[drawn], :d] + table[r, b[drawn], d:2 * d] + table[r, c[drawn], 2 * d:] + self.rest[r])
        odds = np.maximum(hidden, 0) @ self.weight + self.bias
        action = gold.copy()
        action[drawn] = np.where(self.rng.random(len(r)) * (1 + np.exp(-odds)) < 1, COMBINE, SHIFT)
        return action


# --- training --------------------------------------------------------------------------------------

def batches(lengths, size, rng):
    """Yield shuffled batches of similar length."""
    order = list(range(len(lengths)))
    rng.shuffle(order)
    pool, result = size * 16, []
    for start in range(0, len(order), pool):
        chunk = sorted(order[start:start + pool], key=lambda i: lengths[i])
        result += [chunk[i:i + size] for i in range(0, len(chunk), size)]
    rng.shuffle(result)
    return result


def rate_at(progress, recipe):
    """Return the learning rate: a linear rise within `warmup` epochs, full for the share `hold` of the training, then a linear fall to a
    fiftieth."""
    epoch = progress * recipe["epochs"]
    if epoch < recipe["warmup"]:
        return (0.05 + epoch) / (0.05 + recipe["warmup"])
    hold = recipe["hold"]
    return 1.0 if progress < hold else 1.0 - 0.98 * (progress - hold) / (1.0 - hold)


def initialise(model):
    for name, parameter in model.named_parameters():
        if "layer" in name and "bias" in name:
            nn.init.zeros_(parameter)
        elif "layer" in name and "weight_hh" in name:
            for gate in parameter.data.chunk(4):
                nn.init.orthogonal_(gate)
        elif "layer" in name:
            nn.init.xavier_uniform_(parameter)
        elif name.split(".")[0] in ("words", "suffixes", "shapes", "tags"):
            nn.init.normal_(parameter, std=0.3)
    for table in (model.suffixes, model.shapes):
        table.weight.data[0] = 0  # row 0 means "nothing"


class Training(Trainer):
    kept = ("epoch", "steps", "history")

    def __init__(self, sentences, recipe, checkpoint=None, start=None):
        torch.manual_seed(recipe["seed"])
        self.numpy_rng = np.random.default_rng(recipe["seed"])
        self.symbols = Symbols.count(sentences, recipe["suffix_length"])
        self.inputs = [Input(self.symbols, s.words, s.tags) for s in sentences]
        self.golds = [Gold(self.symbols, s) for s in sentences]
        symbols = self.symbols
        sizes = [len(v) for v in (symbols.words, symbols.suffixes, symbols.shapes, symbols.tags, symbols.labels)]
        model = Parser(sizes, recipe["embedding"], recipe["tag"], recipe["hidden"], recipe["net"],
                       [recipe[f"drop_{place}"] for place in ("x", "between", "positions", "net")])
        if start:
            model.load_state_dict(load_model(start)[0].state_dict())
        else:
            initialise(model)
        optimiser = torch.optim.AdamW(model.parameters(), lr=recipe["rate"], betas=(0.9, 0.98),
                                      weight_decay=recipe["decay"])
        super().__init__(model, optimiser, random.Random(recipe["seed"]), recipe["average"], recipe["clip"], checkpoint,
                         recipe)
        self.history = []
        counts = np.bincount(np.concatenate([x.words for x in self.inputs]), minlength=sizes[0])
        # A word seen c times is hidden with probability z / (z + c), so that <unk> is learnt.
        hide = recipe["word_dropout"] / (recipe["word_dropout"] + np.maximum(counts, 1))
        hide[:UNK + 1] = 0
        self.hide = torch.from_numpy(hide)
        self.is_root = torch.from_numpy(symbols.is_root)
        self.go_on()

    def tags_for(self, batch, logits):
        """Return the tags to train with: given ones in some sentences, predicted ones in the others, and some of them missing."""
        own = self.model.predicted(logits, batch.lengths)
        mine = torch.rand(len(batch.lengths), 1) < self.recipe["own_tags"]
        tags = torch.where(mine, own, batch.tags)
        return tags * (torch.rand(tags.shape) >= self.recipe["no_tag"])

    def loss(self, chosen):
        model, recipe = self.model, self.recipe
        batch = Batch([self.inputs[i] for i in chosen])
        batch.words = batch.words.masked_fill(torch.rand(batch.words.shape) < self.hide[batch.words], UNK)
        h1, logits = model.tag(batch)
        given = batch.tags > 0
        tagging = nn.functional.cross_entropy(logits[given], batch.tags[given], reduction="sum")
        positions = model.positions(h1, self.tags_for(batch, logits), batch.lengths)
        structure_table, structure_rest, label_table, label_rest = model.tables(positions, batch.lengths)
        share = recipe["explore"] if self.epoch >= recipe["start_exploring"] else 0.0
        drawn = self.numpy_rng.random(len(chosen)) < share
        explorer = Explorer(model, structure_table.detach(), structure_rest.detach(), drawn, self.numpy_rng)
        structure, label = map(torch.from_numpy,
                               roll_out([self.golds[i] for i in chosen], batch.lengths, explorer))
        d = recipe["net"]
        # Use index_select on flat tables: it is much faster than advanced indexing, also backward.
        width = positions.shape[1]

        def rows(table, part, sentence, position):
            return table[:, :, part * d:(part + 1) * d].reshape(-1, d).index_select(0, sentence * width + position)

        s, a, b, c, gold = structure.unbind(1)
        summed = (rows(structure_table, 0, s, a) + rows(structure_table, 1, s, b) + rows(structure_table, 2, s, c)
                  + structure_rest.index_select(0, s))
        loss = nn.functional.cross_entropy(model.structure(summed), gold, reduction="sum")
        s, b, c, gold, last = label.unbind(1)
        summed = rows(label_table, 0, s, b) + rows(label_table, 1, s, c) + label_rest.index_select(0, s)
        illegal = self.is_root.unsqueeze(0) != last.bool().unsqueeze(1)
        scores = model.label(summed).masked_fill(illegal, float("-inf"))
        loss = loss + nn.functional.cross_entropy(scores, gold, reduction="sum")
        return (loss + recipe["tagging"] * tagging) / batch.lengths.sum()

    def run_epoch(self):
        self.model.train()
        plan = batches([len(x) for x in self.inputs], self.recipe["batch"], self.rng)
        total = 0.0
        for number, chosen in enumerate(plan):
            factor = rate_at((self.epoch + number / len(plan)) / self.recipe["epochs"], self.recipe)
            loss = self.loss(chosen)
            self.descend(loss, self.recipe["rate"] * factor)
            self.update_average()
            total += loss.item()
        self.epoch += 1
        return total / len(plan)

    def state(self):
        return {**super().state(), "numpy_rng": self.numpy_rng.bit_generator.state}

    def restore(self, state):
        super().restore(state)
        self.numpy_rng.bit_generator.state = state["numpy_rng"]

    def run(self, watch, every):
        while self.epoch < self.recipe["epochs"]:
            started = time.monotonic()
            loss = self.run_epoch()
            line = f"epoch {self.epoch} loss {loss:.4f} {time.monotonic() - started:.1f} s"
            if self.epoch % every == 0 or self.epoch == self.recipe["epochs"]:
                given = evaluate(self.average, self.symbols, watch, True).first.f1
                predicted = evaluate(self.average, self.symbols, watch, False)
                self.history.append((self.epoch, given, predicted.first.f1))
                line += (f" dev F1 {given:.2f}, predicted tags {predicted.first.f1:.2f} "
                         f"(right {100.0 * predicted.right_tags / predicted.tags:.2f})")
            print(line, flush=True)
            self.save()


# --- the command -----------------------------------------------------------------------------------

def measure(model, symbols, sentences, search):
    for given in (True, False):
        tags = "given tags" if given else "predicted tags"
        print(f"{tags}, greedy: {evaluate(model, symbols, sentences, given)}", flush=True)
        print(f"{tags}, k {search.k} absolute {search.absolute:g} max-candidates {search.max_candidates}: "
              f"{evaluate(model, symbols, sentences, given, search)}", flush=True)


def evaluate_directory(options):
    model, config, symbols = load_model(options.evaluate)
    settings = config["rill"]["options"]
    search = Search(settings["beam_size"], settings["prune_absolute"], settings["max_children"])
    measure(model, symbols, read_trees(os.path.join(options.data, options.split + ".ptb")), search)


def train(options):
    recipe = {name: getattr(options, name) for name in RECIPE}
    sentences = read_trees(os.path.join(options.data, "train.ptb"))
    dev = read_trees(os.path.join(options.data, "dev.ptb"))
    checkpoint = options.checkpoints and os.path.join(options.checkpoints, options.task + ".pt")
    training = Training(sentences, recipe, checkpoint, options.start)
    print(f"{sum(p.numel() for p in training.model.parameters())} weights, recipe {recipe}", flush=True)
    training.run(dev, options.every)
    save_model(options.out, options.task, training.average, training.symbols, options.kind)
    model, _, symbols = load_model(options.out)  # read back, since the file may have 16-bit weights
    measure(model, symbols, dev, Search())


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="folder with train.ptb, dev.ptb, test.ptb")
    parser.add_argument("--task", default="parser", help="name in config.json")
    parser.add_argument("--out", help="model directory to write")
    parser.add_argument("--kind", default="F16", choices=("F16", "F32"), help="element type of the weights")
    parser.add_argument("--checkpoints", help="folder to continue from and to save in")
    parser.add_argument("--start", metavar="MODEL",
                        help="begin with the weights of this directory, made from the same trees")
    parser.add_argument("--evaluate", metavar="MODEL", help="measure this directory and stop")
    parser.add_argument("--split", default="test", choices=("train", "dev", "test"), help="what --evaluate reads")
    parser.add_argument("--every", type=int, default=4, help="epochs between measurements")
    for name, value in RECIPE.items():
        parser.add_argument("--" + name.replace("_", "-"), type=type(value), default=value,
                            help=f"recipe (default {value})")
    options = parser.parse_args()
    if not options.evaluate and not options.out:
        parser.error("--out or --evaluate is needed")
    return options


def main():
    options = parse_options()
    torch.set_num_threads(1)
    try:
        (evaluate_directory if options.evaluate else train)(options)
    except Refused as error:
        sys.exit(f"train_shiftreduce: {error}")


if __name__ == "__main__":
    main()
