"""The attention sequence-to-sequence model of Dong and Lapata (2016), its data and its files.

One place holds what the trainer, the reference vectors and any later script must agree on:
how a question becomes source ids, which target ids are actions, and how a model directory is
laid out. rill's C loader reads exactly what `save_model` writes.
"""

import json
import os
from collections import Counter

import numpy as np
import torch
from torch import nn

from model_files import Tokens, read_safetensors, write_safetensors

START, END, UNK = 0, 1, 2
SPECIALS = ["<s>", "</s>", "<unk>"]


def read_pairs(path):
    """Read the pairs of a file: question tokens, a tab, logical form tokens."""
    pairs = []
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            columns = line.rstrip("\n").split("\t")
            if len(columns) != 2:
                raise SystemExit(f"{path}:{number}: expected two columns, found {len(columns)}")
            pairs.append((columns[0].split(), columns[1].split()))
    return pairs


class Vocabulary(Tokens):
    """A vocabulary; lines 0, 1, 2 of its file are <s>, </s>, <unk>."""

    def __init__(self, tokens):
        if list(tokens[:3]) != SPECIALS:
            raise ValueError("a vocabulary starts with <s>, </s>, <unk>")
        super().__init__(tokens)

    @classmethod
    def count(cls, sequences, min_count=1):
        counts = Counter(token for sequence in sequences for token in sequence)
        return cls.counted(SPECIALS, counts, min_count)

    def encode(self, tokens):
        return [self.ids.get(token, UNK) for token in tokens]

    def decode(self, ids):
        return [self.tokens[i] for i in ids]


def frame_source(ids):
    """Return the encoder's input: the question backwards, between the two special tokens."""
    return [START] + list(reversed(ids)) + [END]


class Seq2Seq(nn.Module):
    """One-layer LSTM encoder and decoder with dot-product attention, no input feeding.

Without input feeding the attention result of one step does not enter the next one. So with known targets the decoder is a
    single LSTM call, and attention is two batched products.
    """

    def __init__(self, source_size, target_size, embedding, hidden, dropout=(0.0, 0.0, 0.0)):
        super().__init__()
        self.encoder_embedding = nn.Embedding(source_size, embedding)
        self.encoder = nn.LSTM(embedding, hidden, batch_first=True)
        self.decoder_embedding = nn.Embedding(target_size, embedding)
        self.decoder = nn.LSTM(embedding, hidden, batch_first=True)
        self.attention = nn.Linear(2 * hidden, hidden)
        self.output = nn.Linear(hidden, target_size)
        self.drop_embedding, self.drop_state, self.drop_attended = map(nn.Dropout, dropout)
        # <s> and <unk> are symbols of the input side only, never something to predict.
        never = torch.zeros(target_size)
        never[[START, UNK]] = float("-inf")
        self.register_buffer("never", never, persistent=False)

    def encode(self, source, lengths):
        """Encode. Return the memory [B, S, H], its additive mask [B, 1, S] and the last state."""
        embedded = self.drop_embedding(self.encoder_embedding(source))
        packed = nn.utils.rnn.pack_padded_sequence(
            embedded, lengths, batch_first=True, enforce_sorted=False)
        outputs, state = self.encoder(packed)
        memory, _ = nn.utils.rnn.pad_packed_sequence(
            outputs, batch_first=True, total_length=source.shape[1])
        positions = torch.arange(source.shape[1]).unsqueeze(0)
        mask = torch.zeros(source.shape, dtype=memory.dtype)
        mask.masked_fill_(positions >= lengths.unsqueeze(1), float("-inf"))
        return memory, mask.unsqueeze(1), state

    def decode(self, inputs, memory, mask, state):
        """Return the log-probabilities [B, T, V] after each of the T decoder inputs, and the new state."""
        embedded = self.drop_embedding(self.decoder_embedding(inputs))
        hidden, state = self.decoder(embedded, state)
        hidden, memory = self.drop_state(hidden), self.drop_state(memory)
        weights = torch.softmax(hidden @ memory.transpose(1, 2) + mask, dim=2)
        joined = torch.cat([weights @ memory, hidden], dim=2)
        attended = self.drop_attended(torch.tanh(self.attention(joined)))
        return torch.log_softmax(self.output(attended) + self.never, dim=2), state

    def forward(self, source, lengths, inputs):
        memory, mask, state = self.encode(source, lengths)
        return self.decode(inputs, memory, mask, state)[0]


def pad(sequences, fill=END):
    width = max(map(len, sequences))
    rows = [list(s) + [fill] * (width - len(s)) for s in sequences]
    return torch.tensor(rows, dtype=torch.long), torch.tensor([len(s) for s in sequences])


# --- model directories ---------------------------------------------------------------------

def to_tensors(model):
    """Return the tensors of the file format by name. PyTorch has two LSTM biases, which are only ever added."""
    state = {k: v.detach().cpu() for k, v in model.state_dict().items()}
    tensors = {}
    for side in ("encoder", "decoder"):
        tensors[f"{side}.embedding.weight"] = state[f"{side}_embedding.weight"]
        tensors[f"{side}.lstm.weight_ih"] = state[f"{side}.weight_ih_l0"]
        tensors[f"{side}.lstm.weight_hh"] = state[f"{side}.weight_hh_l0"]
        tensors[f"{side}.lstm.bias"] = state[f"{side}.bias_ih_l0"] + state[f"{side}.bias_hh_l0"]
    for name in ("attention", "output"):
        tensors[f"{name}.weight"] = state[f"{name}.weight"]
        tensors[f"{name}.bias"] = state[f"{name}.bias"]
    return {name: t.float().numpy() for name, t in tensors.items()}


def from_tensors(tensors):
    source_size, embedding = tensors["encoder.embedding.weight"].shape
    target_size, hidden = tensors["output.weight"].shape
    model = Seq2Seq(source_size, target_size, embedding, hidden)
    state = {}
    for side in ("encoder", "decoder"):
        bias = tensors[f"{side}.lstm.bias"]
        state[f"{side}_embedding.weight"] = tensors[f"{side}.embedding.weight"]
        state[f"{side}.weight_ih_l0"] = tensors[f"{side}.lstm.weight_ih"]
        state[f"{side}.weight_hh_l0"] = tensors[f"{side}.lstm.weight_hh"]
        state[f"{side}.bias_ih_l0"] = bias
        state[f"{side}.bias_hh_l0"] = np.zeros_like(bias)
    for name in ("attention", "output"):
        state[f"{name}.weight"] = tensors[f"{name}.weight"]
        state[f"{name}.bias"] = tensors[f"{name}.bias"]
    model.load_state_dict({k: torch.tensor(np.asarray(v, dtype=np.float32))
                           for k, v in state.items()})
    return model


def make_config(task, model, max_length):
    return {
        "model_type": "seq2seq-attention",
        "rill": {"domain": "semparse",
                 "options": {"beam_size": 10, "batch_size": 10, "prune_absolute": 10,
                            "max_children": 3, "max_batch_hypotheses": 100}},
        "task": task,
        "embedding_size": model.encoder_embedding.embedding_dim,
        "hidden_size": model.encoder.hidden_size,
        "source_vocab_size": model.encoder_embedding.num_embeddings,
        "target_vocab_size": model.output.out_features,
        "max_length": max_length,
    }


def save_model(directory, config, tensors, source, target, kind="F32"):
    """Write a model directory, except for the lexicon, which is made by hand."""
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "config.json"), "w", encoding="utf-8") as out:
        json.dump(config, out, indent=2)
        out.write("\n")
    write_safetensors(os.path.join(directory, "model.safetensors"), tensors, kind)
    source.write(os.path.join(directory, "source.vocab"))
    target.write(os.path.join(directory, "target.vocab"))


def load_model(directory):
    """Read the model, the configuration and both vocabularies of a directory."""
    with open(os.path.join(directory, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    model = from_tensors(read_safetensors(os.path.join(directory, "model.safetensors")))
    source = Vocabulary.read(os.path.join(directory, "source.vocab"))
    target = Vocabulary.read(os.path.join(directory, "target.vocab"))
    return model.eval(), config, source, target
