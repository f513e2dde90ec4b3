"""Span-based shift-reduce parsing (Cross and Huang 2016): trees, features, the model and its files.

One place holds what the trainer, the decoder and the reference vectors must agree on: how a word
becomes rows of tables, what a label is, and how a model directory is laid out. rill's C loader
reads exactly what `save_model` writes.
"""

import json
import os
from collections import Counter

import numpy as np
import torch
from torch import nn

import convert_ptb
from model_files import Tokens, read_safetensors, write_safetensors

START, END, UNK = 0, 1, 2
WORD_SPECIALS = ["<s>", "</s>", "<unk>"]
NONE = 0  # the tag of the tokens around a sentence, and the label of a span without a bracket
SHIFT, COMBINE = 0, 1
VOCABULARIES = ("words", "suffixes", "shapes", "tags", "labels")


# --- trees -----------------------------------------------------------------------------------

class Sentence:
    """A sentence: words, their tags, and the chain of labels of every bracketed span: {(begin, end): "S+VP"}."""

    def __init__(self, words, tags, spans):
        self.words, self.tags, self.spans = words, tags, spans

    def __len__(self):
        return len(self.words)


def sentence_of(tree):
    """Make a sentence of a tree from convert_ptb.py. A node with one child shares its child's span, so both go into one chain."""
    words, tags, spans = [], [], {}

    def visit(node):
        if node.word:
            tags.append(node.label)
            words.append(node.word)
            return
        first = len(words)
        for child in node.children:
            visit(child)
        span = first, len(words)
        # A bracket that is an only child has the same span as its parent: join their labels.
        spans[span] = node.label + ("+" + spans[span] if span in spans else "")

    visit(tree)
    return Sentence(words, tags, spans)


def read_trees(path):
    return [sentence_of(tree) for tree in convert_ptb.read_converted(path)]


def write_tree(words, tags, spans):
    """Return the bracketed tree of nested spans that include the whole sentence."""
    opening, closing = Counter(), Counter()
    order = sorted(spans, key=lambda s: (s[0], -s[1]))
    opens = [""] * len(words)
    for begin, end in order:
        chain = spans[begin, end].split("+")
        opens[begin] += "".join(f"({label} " for label in chain)
        closing[end] += len(chain)
    parts = []
    for i, (word, tag) in enumerate(zip(words, tags)):
        parts.append(f"{opens[i]}({tag} {word})" + ")" * closing[i + 1])
    return " ".join(parts)


# --- features of a word ------------------------------------------------------------------------

_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ123456789", "abcdefghijklmnopqrstuvwxyz" + "0" * 9)


def norm(word):
    """Lower-case ASCII letters, and replace digits by 0."""
    return word.translate(_LOWER)


def suffixes_of(word, longest):
    """Return the last 1 .. `longest` characters of "^" + norm(word), where ^ marks the word's start."""
    text = "^" + norm(word)
    return [text[-n:] for n in range(1, min(longest, len(text)) + 1)]


def shape_of(word):
    """Return the classes of a word's bytes, with runs merged: "McDonald-1987" becomes XxXx-d."""
    classes = []
    for byte in word.encode():
        c = chr(byte)
        if byte >= 0x80:
            c = "u"
        elif c.isupper():
            c = "X"
        elif c.islower():
            c = "x"
        elif c.isdigit():
            c = "d"
        if not classes or classes[-1] != c:
            classes.append(c)
    return "".join(classes)


class Symbols:
    """The five vocabularies of a model, and the mapping of words to rows of its tables."""

    def __init__(self, words, suffixes, shapes, tags, labels, suffix_length=4, root="TOP"):
        self.words, self.suffixes, self.shapes = words, suffixes, shapes
        self.tags, self.labels = tags, labels
        self.suffix_length, self.root = suffix_length, root
        self.is_root = np.array([label.split("+")[0] == root for label in labels.tokens])

    @classmethod
    def count(cls, sentences, suffix_length=4, least_word=2, least_suffix=4, least_shape=3):
        exact = Counter(w for s in sentences for w in s.words)
        # Rare words are counted under their normal form.
        forms = Counter({w: c for w, c in exact.items() if c >= least_word})
        back = Counter()
        for word, c in exact.items():
            if c < least_word and norm(word) not in forms:
                back[norm(word)] += c
        forms.update({w: c for w, c in back.items() if c >= least_word})
        types = [w for w in exact for _ in range(min(exact[w], 3))]
        return cls(
            Tokens.counted(WORD_SPECIALS, forms),
            Tokens.counted([], Counter(x for w in types for x in suffixes_of(w, suffix_length)), least_suffix),
            Tokens.counted(["<unk>"], Counter(shape_of(w) for w in types), least_shape),
            Tokens.counted(["<none>"], Counter(t for s in sentences for t in s.tags)),
            Tokens.counted(["<none>"], Counter(c for s in sentences for c in s.spans.values())),
            suffix_length)

    @classmethod
    def read(cls, directory, config):
        return cls(*(Tokens.read(os.path.join(directory, name + ".vocab")) for name in VOCABULARIES),
                   config["suffix_length"], config["root"])

    def write(self, directory):
        for name in VOCABULARIES:
            getattr(self, name).write(os.path.join(directory, name + ".vocab"))

    def word_id(self, word):
        ids = self.words.ids
        return ids.get(word, ids.get(norm(word), UNK))

    def features(self, word):
        """Return (word row, shape row, suffix rows); -1: there is no such suffix."""
        suffixes = [self.suffixes.ids.get(x, -1) for x in suffixes_of(word, self.suffix_length)]
        suffixes += [-1] * (self.suffix_length - len(suffixes))
        return self.word_id(word), self.shapes.ids.get(shape_of(word), 0), suffixes


class Input:
    """A sentence with <s> and </s>, as numbers; tags is None if they are to be predicted."""

    def __init__(self, symbols, words, tags=None):
        rows = [symbols.features(w) for w in words]
        none = [-1] * symbols.suffix_length
        self.words = np.array([START] + [r[0] for r in rows] + [END])
        self.shapes = np.array([-1] + [r[1] for r in rows] + [-1])
        self.suffixes = np.array([none] + [r[2] for r in rows] + [none])
        self.tags = None if tags is None else np.array([NONE] + [symbols.tags.ids[t] for t in tags] + [NONE])

    def __len__(self):
        return len(self.words) - 2


# --- model -------------------------------------------------------------------------------------

class Batch:
    """Inputs padded into arrays. Row 0 of PyTorch's shape and suffix tables means "nothing"."""

    def __init__(self, inputs):
        self.lengths = np.array([len(x) for x in inputs])
        width = self.lengths.max() + 2

        def pad(name, fill):
            rows = [getattr(x, name) for x in inputs]
            out = np.full((len(rows), width) + rows[0].shape[1:], fill)
            for row, values in zip(out, rows):
                row[:len(values)] = values
            return torch.from_numpy(out)

        self.words = pad("words", END)
        self.shapes = pad("shapes", -1) + 1
        self.suffixes = pad("suffixes", -1) + 1
        self.tags = pad("tags", NONE) if all(x.tags is not None for x in inputs) else None


class Locked(nn.Module):
    """Dropout with one mask for all positions of a sentence, so that differences stay differences."""

    def __init__(self, rate):
        super().__init__()
        self.rate = rate

    def forward(self, x):
        if not self.training or self.rate == 0:
            return x
        mask = torch.empty(x.shape[0], 1, x.shape[2]).bernoulli_(1 - self.rate) / (1 - self.rate)
        return x * mask


class Parser(nn.Module):
    """Tables summed into x; BiLSTM; tagger; BiLSTM over its outputs and tags; two span networks.

The span networks' first layer is applied to span differences p_j - p_i. So it is computed once per position (`tables`), and
    only added up per state.
    """

    def __init__(self, sizes, embedding, tag, hidden, net, dropout=(0.0, 0.0, 0.0, 0.0)):
        super().__init__()
        words, suffixes, shapes, tags, labels = sizes
        self.words = nn.Embedding(words, embedding)
        self.suffixes = nn.Embedding(suffixes + 1, embedding, padding_idx=0)
        self.shapes = nn.Embedding(shapes + 1, embedding, padding_idx=0)
        self.tags = nn.Embedding(tags, tag)
        self.layer1 = nn.LSTM(embedding, hidden, bidirectional=True, batch_first=True)
        self.layer2 = nn.LSTM(2 * hidden + tag, hidden, bidirectional=True, batch_first=True)
        self.tagger = nn.Linear(2 * hidden, tags)
        self.structure_hidden = nn.Linear(8 * hidden, net)
        self.structure_output = nn.Linear(net, 2)
        self.label_hidden = nn.Linear(6 * hidden, net)
        self.label_output = nn.Linear(net, labels)
        self.hidden = hidden
        self.drop_x, self.drop_between, self.drop_positions = map(Locked, dropout[:3])
        self.drop_net = nn.Dropout(dropout[3])

    @staticmethod
    def run(lstm, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(x, torch.as_tensor(lengths + 2), batch_first=True,
                                                   enforce_sorted=False)
        return nn.utils.rnn.pad_packed_sequence(lstm(packed)[0], batch_first=True,
                                                total_length=x.shape[1])[0]

    def tag(self, batch):
        """Return layer 1 [B, T, 2H] and the tagger's logits [B, T, tags]."""
        x = self.words(batch.words) + self.shapes(batch.shapes) + self.suffixes(batch.suffixes).sum(2)
        h1 = self.drop_between(self.run(self.layer1, self.drop_x(x), batch.lengths))
        return h1, self.tagger(h1)

    @staticmethod
    def predicted(logits, lengths):
        """Return the best tags; those of <s> and </s> are NONE."""
        tags = logits[:, :, 1:].argmax(2) + 1
        inside = torch.arange(tags.shape[1]).unsqueeze(0)
        inside = (inside >= 1) & (inside <= torch.as_tensor(lengths).unsqueeze(1))
        return tags * inside

    def positions(self, h1, tags, lengths):
        """Return p_0 .. p_n of every sentence, padded: [B, N + 1, 2H]."""
        both = self.run(self.layer2, torch.cat([h1, self.tags(tags)], 2), lengths)
        forward, backward = both[:, :-1, :self.hidden], both[:, 1:, self.hidden:]
        return self.drop_positions(torch.cat([forward, -backward], 2))

    def tables(self, positions, lengths):
        """Return what each position adds to the hidden layers, and what the whole sentence adds.

        structure: [B, N + 1, 3 D] for a, b, c and [B, D]; label: [B, N + 1, 2 D] for b, c and [B, D]
        """
        last = positions[torch.arange(len(lengths)), torch.as_tensor(lengths)]
        first = positions[:, 0]
        results = []
        for layer in (self.structure_hidden, self.label_hidden):
            parts = layer.weight.split(2 * self.hidden, 1)
            weight = torch.cat([left - right for left, right in zip(parts, parts[1:])], 0)
            results += [positions @ weight.T, last @ parts[-1].T - first @ parts[0].T + layer.bias]
        return results

    def structure(self, summed):
        return self.structure_output(self.drop_net(torch.relu(summed)))

    def label(self, summed):
        return self.label_output(self.drop_net(torch.relu(summed)))


# --- model directories -------------------------------------------------------------------------

LINEAR = {"tagger": "tagger", "structure.hidden": "structure_hidden", "structure.output": "structure_output",
          "label.hidden": "label_hidden", "label.output": "label_output"}
DIRECTIONS = {"forward": "", "backward": "_reverse"}


def to_tensors(model):
    """Return the tensors of the file format by name. PyTorch has two LSTM biases, which are only ever added."""
    state = {k: v.detach().cpu().float() for k, v in model.state_dict().items()}
    tensors = {"words.weight": state["words.weight"], "tags.weight": state["tags.weight"],
               "suffixes.weight": state["suffixes.weight"][1:], "shapes.weight": state["shapes.weight"][1:]}
    for layer in ("layer1", "layer2"):
        for name, ending in DIRECTIONS.items():
            tensors[f"{layer}.{name}.weight_ih"] = state[f"{layer}.weight_ih_l0{ending}"]
            tensors[f"{layer}.{name}.weight_hh"] = state[f"{layer}.weight_hh_l0{ending}"]
            tensors[f"{layer}.{name}.bias"] = (state[f"{layer}.bias_ih_l0{ending}"]
                                               + state[f"{layer}.bias_hh_l0{ending}"])
    for name, module in LINEAR.items():
        tensors[f"{name}.weight"], tensors[f"{name}.bias"] = state[f"{module}.weight"], state[f"{module}.bias"]
    return {name: t.numpy() for name, t in tensors.items()}


def from_tensors(tensors):
    sizes = [tensors[f"{name}.weight"].shape[0] for name in ("words", "suffixes", "shapes", "tags", "label.output")]
    model = Parser(sizes, tensors["words.weight"].shape[1], tensors["tags.weight"].shape[1],
                   tensors["layer1.forward.weight_hh"].shape[1], tensors["label.hidden.weight"].shape[0])
    state = {"words.weight": tensors["words.weight"], "tags.weight": tensors["tags.weight"]}
    for name in ("suffixes", "shapes"):
        table = tensors[f"{name}.weight"]
        state[f"{name}.weight"] = np.concatenate([np.zeros((1, table.shape[1]), table.dtype), table])
    for layer in ("layer1", "layer2"):
        for name, ending in DIRECTIONS.items():
            state[f"{layer}.weight_ih_l0{ending}"] = tensors[f"{layer}.{name}.weight_ih"]
            state[f"{layer}.weight_hh_l0{ending}"] = tensors[f"{layer}.{name}.weight_hh"]
            state[f"{layer}.bias_ih_l0{ending}"] = tensors[f"{layer}.{name}.bias"]
            state[f"{layer}.bias_hh_l0{ending}"] = np.zeros_like(tensors[f"{layer}.{name}.bias"])
    for name, module in LINEAR.items():
        state[f"{module}.weight"], state[f"{module}.bias"] = tensors[f"{name}.weight"], tensors[f"{name}.bias"]
    model.load_state_dict({k: torch.from_numpy(np.asarray(v, dtype=np.float32).copy()) for k, v in state.items()})
    return model.eval()


def make_config(task, model, symbols):
    return {
        "model_type": "span-shift-reduce",
        "rill": {"domain": "shiftreduce",
                 "options": {"beam_size": 10, "batch_size": 10, "prune_absolute": 2.5,
                            "max_children": 3, "max_batch_hypotheses": 100}},
        "task": task,
        "root": symbols.root,
        "embedding_size": model.words.embedding_dim,
        "tag_size": model.tags.embedding_dim,
        "hidden_size": model.hidden,
        "net_size": model.label_hidden.out_features,
        "suffix_length": symbols.suffix_length,
        "word_vocab_size": len(symbols.words),
        "suffix_vocab_size": len(symbols.suffixes),
        "shape_vocab_size": len(symbols.shapes),
        "tag_vocab_size": len(symbols.tags),
        "label_vocab_size": len(symbols.labels),
    }


def save_model(directory, task, model, symbols, kind="F32"):
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "config.json"), "w", encoding="utf-8") as out:
        json.dump(make_config(task, model, symbols), out, indent=2)
        out.write("\n")
    write_safetensors(os.path.join(directory, "model.safetensors"), to_tensors(model), kind)
    symbols.write(directory)


def load_model(directory):
    """Read the model, the configuration and the vocabularies of a directory."""
    with open(os.path.join(directory, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    model = from_tensors(read_safetensors(os.path.join(directory, "model.safetensors")))
    return model, config, Symbols.read(directory, config)
