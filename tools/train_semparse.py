#!/usr/bin/env python3
"""Train the semantic parsers of rill: Dong and Lapata's attention sequence-to-sequence model.

One command per data set trains on train.tsv and writes a model directory that rill loads:

  train_semparse.py --task geo  --data DIR --out examples/models/geo
  train_semparse.py --task jobs --data DIR --out examples/models/jobs
  train_semparse.py --task atis --data DIR --out examples/models/atis

DIR holds train.tsv, test.tsv and perhaps dev.tsv: question, tab, logical form, tokens separated
by spaces. No development pair is trained on. If there are some, the training measures itself on
them and leaves test.tsv alone, so that seeds can be compared; else it measures the finished
directory on test.tsv.

The recipe (sizes, dropout, epochs ...) comes from a preset of the task; each part can be given as
an option. The presets were chosen by five-fold cross-validation on the training pairs, by the sum
of exact match and oracle:

  train_semparse.py --task geo --data DIR --folds 5

trains one model per fold on the other folds and prints the mean quality at several epochs. Then
give the epochs that did best to the final training.

  train_semparse.py --task geo --data DIR --evaluate examples/models/geo

measures a finished directory on dev.tsv, if it exists, and test.tsv with the reference beam decoder.

With --checkpoints DIR an interrupted training goes on where it stopped. Keep that folder outside
the repository.
"""

import argparse
import copy
import json
import os
import random
import time

import torch
from torch import nn

from plain_search import Search
from semparse_decode import evaluate, evaluate_greedy
from semparse_model import (END, START, UNK, Seq2Seq, Vocabulary, frame_source, load_model,
                            make_config, pad, read_pairs, save_model, to_tensors)
from trainer import Trainer

COMMON = {"embedding": 144, "hidden": 144, "drop_embedding": 0.3,
          "drop_state": 0.3, "drop_attended": 0.3, "word_dropout": 0.0,
          "smoothing": 0.0, "min_count": 2, "batch": 20, "rate": 0.008, "clip": 5.0,
          "average": 0.995, "decay": 1e-4, "again": 0, "seed": 1}
PRESETS = {
    "geo": {"epochs": 100},
    "jobs": {"epochs": 80},
    "atis": {"epochs": 64, "rate": 0.006, "batch": 32},
}


def batches(examples, size, rng):
    """Yield shuffled batches of similar target length, since the decoder runs as long as the longest target of a batch."""
    order = list(range(len(examples)))
    rng.shuffle(order)
    pool = size * 8
    result = []
    for start in range(0, len(order), pool):
        chunk = sorted(order[start:start + pool], key=lambda i: len(examples[i][1]))
        result += [chunk[i:i + size] for i in range(0, len(chunk), size)]
    rng.shuffle(result)
    return result


def loss_of(model, batch, recipe, rng):
    """Return the mean negative log-likelihood per action. Label smoothing spreads over legal actions."""
    sources = [[UNK if recipe["word_dropout"] and rng.random() < recipe["word_dropout"] else w
                for w in source] for source, _ in batch]
    framed, lengths = pad([frame_source(s) for s in sources])
    inputs, _ = pad([[START] + t for _, t in batch])
    gold, target_lengths = pad([t + [END] for _, t in batch])
    logp = model(framed, lengths, inputs)
    real = torch.arange(gold.shape[1]).unsqueeze(0) < target_lengths.unsqueeze(1)
    logp, gold = logp[real], gold[real]
    loss = -logp.gather(1, gold.unsqueeze(1)).mean()
    smoothing = recipe["smoothing"]
    if smoothing:
        # Ids 0 and 2 are never output: their log-probability is -infinity.
        uniform = -(logp[:, 1].sum() + logp[:, 3:].sum()) / (gold.numel() * (logp.shape[1] - 2))
        loss = (1.0 - smoothing) * loss + smoothing * uniform
    return loss


def rate_at(epoch, recipe):
    """Return the learning rate: full for half of the epochs, then a linear fall to a twentieth. If the recipe has additional epochs
    ("again"), they fall from half the rate to a twentieth."""
    if epoch < recipe["epochs"]:
        progress = epoch / recipe["epochs"]
        return 1.0 if progress < 0.5 else 1.0 - 0.95 * (progress - 0.5) / 0.5
    return 0.5 - 0.45 * (epoch - recipe["epochs"]) / recipe["again"]


class Training(Trainer):
    kept = ("epoch", "steps", "history", "first")

    def __init__(self, pairs, recipe, checkpoint=None):
        self.source = Vocabulary.count([q for q, _ in pairs], recipe["min_count"])
        self.target = Vocabulary.count([f for _, f in pairs])
        self.examples = [(self.source.encode(q), self.target.encode(f)) for q, f in pairs]
        # Limit the length of hypotheses that never end; correct outputs are shorter.
        self.max_length = int(1.5 * max(len(f) for _, f in pairs))
        torch.manual_seed(recipe["seed"])
        model = Seq2Seq(len(self.source), len(self.target), recipe["embedding"], recipe["hidden"],
                        [recipe["drop_" + place] for place in ("embedding", "state", "attended")])
        for parameter in model.parameters():
            nn.init.uniform_(parameter, -0.08, 0.08)
        optimiser = torch.optim.AdamW(model.parameters(), lr=recipe["rate"], weight_decay=recipe["decay"])
        super().__init__(model, optimiser, random.Random(recipe["seed"]), recipe["average"], recipe["clip"],
                         checkpoint, recipe)
        self.first = None  # the running average at the end of the first fall of the rate
        self.history = []
        self.go_on()

    def run_epoch(self):
        self.model.train()
        plan = batches(self.examples, self.recipe["batch"], self.rng)
        total = 0.0
        for number, indices in enumerate(plan):
            factor = rate_at(self.epoch + number / len(plan), self.recipe)
            loss = loss_of(self.model, [self.examples[i] for i in indices], self.recipe,
                           self.rng)
            self.descend(loss, self.recipe["rate"] * factor)
            self.update_average()
            total += loss.item()
        self.epoch += 1
        if self.recipe["again"] and self.epoch == self.recipe["epochs"]:
            self.first = copy.deepcopy(self.average.state_dict())
        return total / len(plan)

    @torch.no_grad()
    def finish(self):
        """Return the final weights: the mean of those at the ends of both falls of the rate, if there were two.

        The weights at the second end are more certain, so their beams are narrow and miss more. The mean keeps their best output,
        and the wide beams of the first end.
        """
        if self.first and self.epoch == self.recipe["epochs"] + self.recipe["again"]:
            for name, mean in self.average.state_dict().items():
                mean.lerp_(self.first[name], 0.5)
            self.first = None
        return self.average

    def run(self, watch=None, every=10, say=print, write=None):
        """Train to the last epoch; at intervals measure on `watch` and call `write`."""
        saved = time.monotonic()
        last_epoch = self.recipe["epochs"] + self.recipe["again"]
        while self.epoch < last_epoch:
            started = time.monotonic()
            loss = self.run_epoch()
            line = f"epoch {self.epoch} loss {loss:.4f} {time.monotonic() - started:.1f} s"
            last = self.epoch == last_epoch
            if watch and (last or self.epoch % every == 0):
                exact = evaluate_greedy(self.average, watch, self.source, self.target,
                                        self.max_length)
                self.history.append((self.epoch, exact))
                line += f" greedy {exact:.2f}"
            if self.epoch % every == 0 or last:
                say(line, flush=True)
                if write:
                    write()
            if time.monotonic() - saved > 30 or last:
                self.save()
                saved = time.monotonic()

    def search(self):
        return Search(max_length=self.max_length)


def checkpoint_path(options, name):
    if not options.checkpoints:
        return None
    return os.path.join(options.checkpoints, f"{options.task}-{name}.pt")


def measure(training, watch):
    """Return the beam quality of the final weights, and also of both ends of the falls of the rate."""
    ends = {}
    if training.first and training.recipe["again"]:
        ends["second end"] = training.average
        ends["first end"] = copy.deepcopy(training.average)
        ends["first end"].load_state_dict(training.first)
    results = {name: evaluate(model, watch, training.source, training.target, training.search())
               for name, model in ends.items()}
    results["result"] = evaluate(training.finish(), watch, training.source, training.target,
                                 training.search())
    return results


def print_means(results):
    """Print the means over folds, weighted by the folds' sizes, for each kind of weights that was measured."""
    total = sum(size for size, _ in results)
    for kind in results[0][1]:
        exact, oracle = (sum(size * getattr(q[kind], name) for size, q in results) / total
                         for name in ("exact", "oracle"))
        width = sum(q[kind].expansions for _, q in results) / total
        print(f"mean of {len(results)} folds, {kind}: exact {exact:.2f} oracle {oracle:.2f}, "
              f"{width:.1f} expansions per question")


def cross_validate(pairs, recipe, options):
    """Print the mean quality over folds; each pair is held out once."""
    order = list(range(len(pairs)))
    random.Random(0).shuffle(order)
    parts = [order[i::options.folds] for i in range(options.folds)]
    results, curves = [], []
    for number, part in enumerate(parts[:options.max_folds or None]):
        held = set(part)
        training = Training([p for i, p in enumerate(pairs) if i not in held],
                            recipe, checkpoint_path(options, f"fold{number}"))
        watch = [pairs[i] for i in part]
        training.run(watch, options.every, say=lambda *a, **k: None)
        quality = measure(training, watch)
        for kind, value in quality.items():
            print(f"fold {number} {kind}: {value}", flush=True)
        results.append((len(part), quality))
        curves.append(dict(training.history))
    for epoch in sorted(curves[0]):
        print(f"  epoch {epoch}: greedy {sum(c[epoch] for c in curves) / len(curves):.2f}")
    print_means(results)


def final(pairs, watch, recipe, options):
    """Train on all pairs and write the directory, with 16-bit weights if they give the same results."""
    training = Training(pairs, recipe, checkpoint_path(options, "final"))

    def write(kind="F16"):
        # The model is also written during training, for tests of the decoder.
        config = make_config(options.task, training.average, training.max_length)
        save_model(options.out, config, to_tensors(training.average), training.source,
                   training.target, kind)

    training.run(watch, options.every, write=write)
    training.finish()
    write()
    # Keep 16-bit weights only if they give the same results on a sample of the training pairs.
    half = load_model(options.out)[0]
    sample = random.Random(0).sample(pairs, min(len(pairs), 300))
    full, rounded = (evaluate(m, sample, training.source, training.target, training.search())
                     for m in (training.average, half))
    kind = "F16" if (full.right, full.oracle) == (rounded.right, rounded.oracle) else "F32"
    write(kind)
    print(f"wrote {options.out} with {kind} weights")


def evaluate_directory(directory, name, pairs):
    model, config, source, target = load_model(directory)
    settings = config["rill"]["options"]
    search = Search(settings["beam_size"], float(settings["prune_absolute"]), settings["max_children"],
                    max_length=config["max_length"])
    print(f"{name}: greedy exact {evaluate_greedy(model, pairs, source, target, search.max_length):.2f}")
    print(f"{name}: k {search.k} absolute {search.absolute:g} max-candidates {search.max_candidates}: "
          f"{evaluate(model, pairs, source, target, search)}")


def parse_options():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", required=True, choices=sorted(PRESETS))
    parser.add_argument("--data", required=True, help="folder with train.tsv, test.tsv and perhaps dev.tsv")
    parser.add_argument("--out", help="model directory to write")
    parser.add_argument("--folds", type=int, default=0, help="cross-validate with so many folds")
    parser.add_argument("--max-folds", type=int, default=0, help="only the first of the folds")
    parser.add_argument("--evaluate", metavar="MODEL", help="measure a model directory on dev and test")
    parser.add_argument("--checkpoints", help="folder to save to and resume from")
    parser.add_argument("--every", type=int, default=10, help="epochs between measurements")
    parser.add_argument("--threads", type=int, default=1)
    recipe = parser.add_argument_group("recipe (defaults: the preset of the task)")
    helps = {"embedding": "size of both embeddings", "hidden": "size of both LSTMs",
             "drop_embedding": "dropout on the embeddings of both sides",
             "drop_state": "dropout on encoder outputs and decoder states as attention sees them",
             "drop_attended": "dropout on the attention result",
             "word_dropout": "share of question words replaced by <unk>",
             "smoothing": "label smoothing: flatter models prune less and keep more oracle",
             "min_count": "rarer question words become <unk>", "batch": "pairs per update",
             "rate": "AdamW's learning rate", "clip": "bound on the gradient's norm",
             "average": "how much of the running average of the weights each update keeps",
             "decay": "weight decay", "seed": "of weights, order and dropout",
             "again": "further epochs at half the rate; the result is the mean of both ends",
             "epochs": "passes over the data; the rate falls in the second half"}
    for name, text in helps.items():
        kind = type({**COMMON, **PRESETS["geo"]}[name])
        recipe.add_argument("--" + name.replace("_", "-"), type=kind, help=text)
    options = parser.parse_args()
    values = {**COMMON, **PRESETS[options.task]}
    values.update({n: getattr(options, n) for n in helps if getattr(options, n) is not None})
    return parser, options, values


def main():
    parser, options, recipe = parse_options()
    torch.set_num_threads(options.threads)
    pairs = {}
    for name in ("train", "dev", "test"):
        path = os.path.join(options.data, name + ".tsv")
        pairs[name] = read_pairs(path) if os.path.exists(path) else []
    if not pairs["test" if options.evaluate else "train"]:
        parser.error(f"{options.data} lacks " + ("test.tsv" if options.evaluate else "train.tsv"))
    if options.evaluate:
        for name in ("dev", "test"):
            if pairs[name]:
                evaluate_directory(options.evaluate, name, pairs[name])
    elif options.folds:
        cross_validate(pairs["train"], recipe, options)
    elif options.out:
        print("recipe:", json.dumps(recipe))
        final(pairs["train"], pairs["dev"], recipe, options)
        name = "dev" if pairs["dev"] else "test"
        if pairs[name]:
            evaluate_directory(options.out, name, pairs[name])
    else:
        parser.error("say what to do: --out, --folds or --evaluate")


if __name__ == "__main__":
    main()
