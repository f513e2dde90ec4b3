"""Random settings of requests, for tests that decode requests together and alone and compare the results."""

import os

MODELS = ("de-en", "geo", "gum", "de-en-rnn")
# Words for constraints, by model.
WORDS = {"de-en": ["dog", "a man", "the", "zebra"], "de-en-rnn": ["dog", "a man", "the"], "geo": ["argmax", "state:t", "( count"],
         "gum": ["NP", "S", "(NP"]}

# Values of each setting that a request may have.
OF_REQUESTS = {
    "beam-size": [1, 2, 3, 5, 8],
    "max-children": [1, 3, 6],
    "finish": ["top", "immediate", "shrink", "one-step"],
    "stop-after": [1, 2, 4],
    "patience": [0.4, 1, 2],
    "min-length": [0, 2, 6],
    "max-length": [1, 4, 9, 30],
    "length-penalty": [0, 0.6, 1, -0.5, 3],
    "n-best": [1, 2, 4],
    "distinct": [True],
    "like": ["hf", "fairseq", "marian", "ct2"],
    "keep": ["all", "first", "best"],
    "stop": ["count", "bound", "bound-max", "top"],
    "at-limit": ["open", "first", "end", "end-free", "best-ended"],
    "count-end": [True],
    "max-length-factor": [0.5, 1, 2],
    "word-penalty": [0, 0.4, -1],
    "min-width": [0, 2, 5],
    "require-end": [True],
    "unknown-penalty": [0, 1, "inf"],
    "cube": ["none", "naive", "accelerated"],
    "certify": [True],
    "exact": [True],
    "exact-rows": [1, 40],
    "no-repeat-ngram-size": [0, 1, 2, 3],
    "repetition-penalty": [1, 1.3, 0.8],
    "num-samples": [1, 3],
    "temperature": [0.5, 1, 2],
    "top-k": [0, 2, 10],
    "top-p": [0.3, 0.9],
    "seed": [0, 1, 77],
    "beam-groups": [1, 2, 3],
    "diversity-penalty": [0.2, 1.5],
}
# Settings that fit together, since most random combinations would be refused.
KINDS = (["num-samples", "temperature", "top-k", "seed"], ["num-samples", "top-p"], ["beam-groups", "diversity-penalty", "beam-size"],
         ["cube"], ["cube", "beam-size"], ["beam-size", "n-best"], ["finish", "beam-size", "n-best"], ["like", "n-best"],
         ["no-repeat-ngram-size", "repetition-penalty", "beam-size"], [])


def draw(rng, values):
    """Draw settings of one kind, with a few others besides."""
    names = set(rng.choice(KINDS)) & set(values)
    names.update(rng.sample(sorted(values), rng.choice([0, 0, 1, 2, 4])))
    drawn = {name: rng.choice(values[name]) for name in sorted(names)}
    for master, dependent in (("num-samples", ("temperature", "top-k", "top-p", "seed")), ("beam-groups", ("diversity-penalty",))):
        if master not in drawn and rng.random() < 0.9:  # without the master setting, nine of ten requests would be refused
            for name in dependent:
                drawn.pop(name, None)
    return drawn


def lines_of(root, model):
    """Return inputs of the model, of medium length."""
    name = "de-en" if model.startswith("de-en") else model
    with open(os.path.join(root, "examples", "questions", name + ".txt"), encoding="utf-8") as file:
        return [line for line in file.read().splitlines() if 10 < len(line) < 90]
