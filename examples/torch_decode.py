"""Decode with a torch module: an encoder and a decoder of gated recurrent units, as a domain in Python.

The module learns to write words backwards, in some seconds; then rill decodes with it. One tensor holds the states of all hypotheses,
one row for each state id of the engine, so a timestep is one batch for all inputs.

    pip install '.[numpy]' torch
    python examples/torch_decode.py [WORD...]
"""

import random
import sys

import rill
import torch

LETTERS = "abcdefghijklmnopqrstuvwxyz"
END, SIZE = len(LETTERS), 96


class Speller(torch.nn.Module):
    """A module that converts words to words, letter by letter. Letter number 26 is the end symbol, and also the start symbol of outputs."""

    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(END + 1, SIZE)
        self.encoder = torch.nn.GRU(SIZE, SIZE, batch_first=True)
        self.cell = torch.nn.GRUCell(SIZE, SIZE)
        self.out = torch.nn.Linear(SIZE, END + 1)

    def encode(self, letters):
        """Encode m words: [m, letters] to [m, SIZE]."""
        return self.encoder(self.embedding(letters))[1][0]


def train(speller, steps=250):
    """Train on random words of four letters, with the reversed words as outputs."""
    optimiser = torch.optim.Adam(speller.parameters(), 5e-3)
    for _ in range(steps):
        words = torch.randint(0, END, (128, 4))
        wanted = torch.cat([words.flip(1), torch.full((128, 1), END)], 1)
        state, last, loss = speller.encode(words), torch.full((128,), END), 0
        for t in range(wanted.shape[1]):
            state = speller.cell(speller.embedding(last), state)
            loss = loss + torch.nn.functional.cross_entropy(speller.out(state), wanted[:, t])
            last = wanted[:, t]
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()


class SpellerDomain(rill.Domain):
    """A domain of rill that decodes with the module."""

    name, actions, end_action, max_length = "speller", END + 1, END, 20

    def __init__(self, speller):
        self.speller = speller
        self.states, self.inputs = torch.zeros(0, SIZE), torch.zeros(0, SIZE)

    def reserve(self, nodes, slots):
        self.states = torch.cat([self.states, torch.zeros(nodes - len(self.states), SIZE)])
        self.inputs = torch.cat([self.inputs, torch.zeros(slots - len(self.inputs), SIZE)])

    @torch.no_grad()
    def encode(self, text, slot):
        if not set(text) <= set(LETTERS):
            raise ValueError(f"{text!r} must have only the letters a to z")
        self.inputs[slot] = self.speller.encode(torch.tensor([[LETTERS.index(letter) for letter in text]]))[0]

    @torch.no_grad()
    def step(self, rows):
        parent, action = (torch.tensor(array) for array in (rows.state_parent, rows.action))
        slot, node = torch.tensor(rows.slot), torch.tensor(rows.node)
        before = torch.where((parent < 0)[:, None], self.inputs[slot], self.states[parent.clamp(min=0)])
        last = torch.where(action < 0, END, action)
        self.states[node] = self.speller.cell(self.speller.embedding(last), before)

    @torch.no_grad()
    def score(self, rows):
        return torch.log_softmax(self.speller.out(self.states[torch.tensor(rows.node)]), 1)

    def action_name(self, action):
        return "</s>" if action == END else LETTERS[action]

    def text(self, actions, slot):
        return "".join(map(self.action_name, actions))


def main():
    torch.manual_seed(0)
    random.seed(0)
    speller = Speller()
    train(speller)
    model = rill.Model(domain=SpellerDomain(speller))
    for result in model.stream(sys.argv[1:] or ["stop", "draw", "keep", "part"], beam_size=4, n_best=2):
        print("; ".join(f"{output.text} {output.logp:.3f}" for output in result.outputs))


if __name__ == "__main__":
    main()
