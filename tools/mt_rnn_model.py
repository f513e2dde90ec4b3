"""The recurrent translation model (rnnsearch) in PyTorch for training, and its files.

Parameters have Nematus' names and shapes, [in, out], so the state dictionary can be saved as it is. mt_rnn_numpy.py has the same
arithmetic in NumPy, one position at a time. Here a whole batch is computed at once. Inputs are multiplied for all positions together,
both directions of the encoder are one batched product, and weights that read the same state are joined. Ids from the vocabulary's
size on are padding. The output layer is the table of target words.
"""

import json
import math
import os

import numpy as np
import torch
from torch import nn

from model_files import write_safetensors
from mt_directory import rnn_tensors
from mt_model import Dropout, SmoothedLoss

DIRECTIONS = ("encoder_", "encoder_r_")


def start_of(name, shape):
    """Initialise a parameter: recurrent matrices orthogonally, as in the original code, others by Xavier's range, biases with zeros."""
    if len(shape) == 1:
        return torch.zeros(shape)
    if name.startswith("Wemb"):
        return torch.randn(shape) * shape[1] ** -0.5
    if "_U" in name and shape[1] % shape[0] == 0:
        return torch.cat([nn.init.orthogonal_(torch.empty(shape[0], shape[0])) for _ in range(shape[1] // shape[0])], 1)
    return nn.init.xavier_uniform_(torch.empty(shape))


def gated(inputs, recurrent, state, width):
    """Return a GRU's next state from the products of its input and of its state, each [..., 3 width]: reset, update, candidate."""
    gates = torch.sigmoid(inputs[..., :2 * width] + recurrent[..., :2 * width])
    reset, update = gates[..., :width], gates[..., width:]
    new = torch.tanh(inputs[..., 2 * width:] + reset * recurrent[..., 2 * width:])
    return new + update * (state - new)


class Rnn(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        for name, shape in rnn_tensors(config).items():
            self.register_parameter(name, nn.Parameter(start_of(name, shape)))
        self.drop = Dropout(config["dropout"])

    def set_dropout(self, share):
        self.drop.set_share(share)

    def joined(self, *names):
        return torch.cat([getattr(self, name) for name in names], -1)

    def embed(self, table, ids):
        real = ids < self.config["vocab_size"]
        return self.drop(nn.functional.embedding(ids.masked_fill(~real, 0), table)), real

    def encode(self, source):
        """Return the annotations [B, S, 2H], and which of them belong to words and not to padding."""
        width = self.config["encoder_size"]
        x, real = self.embed(self.Wemb, source)
        inputs = [x @ self.joined(p + "W", p + "Wx") + self.joined(p + "b", p + "bx") for p in DIRECTIONS]
        inputs = torch.stack([inputs[0], inputs[1].flip(1)], 0).unbind(2)
        words = torch.stack([real, real.flip(1)], 0).unsqueeze(-1).to(x.dtype).unbind(2)
        weights = torch.stack([self.joined(p + "U", p + "Ux") for p in DIRECTIONS], 0)
        state, states = x.new_zeros(2, len(source), width), []
        # Padding leaves the state unchanged; in the backward direction it comes first, so the state stays zero until the first word.
        for step, word in zip(inputs, words):
            state = state + word * (gated(step, torch.bmm(state, weights), state, width) - state)
            states.append(state)
        forward, backward = torch.stack(states, 2).unbind(0)
        return self.drop(torch.cat([forward, backward.flip(1)], 2)), real

    def decode(self, inputs, annotations, real):
        """Return the input of the output layer, [B, T, E]. inputs[b, t] is the word before position t; padding gives the zero vector."""
        width = self.config["decoder_size"]
        words, given = self.embed(self.Wemb_dec, inputs)
        words = words * given.unsqueeze(-1)
        weight = real.to(annotations.dtype)
        mean = (annotations * weight.unsqueeze(-1)).sum(1) / weight.sum(1, keepdim=True)
        state = torch.tanh(mean @ self.ff_state_W + self.ff_state_b)
        steps = (words @ self.joined("decoder_W", "decoder_Wx") + self.joined("decoder_b", "decoder_bx")).unbind(1)
        # Attention keys: computed once per sentence; only the query depends on the decoder state.
        keys = annotations @ self.decoder_Wc_att + self.decoder_b_att
        hidden = torch.zeros(real.shape).masked_fill_(~real, -math.inf)
        run = self.conditional if self.config["decoder"] == "conditional" else self.simple
        states, contexts = run(steps, state, annotations, keys, hidden, width)
        return self.drop(torch.tanh(states @ self.ff_logit_lstm_W + self.ff_logit_lstm_b
                                    + words @ self.ff_logit_prev_W + self.ff_logit_prev_b
                                    + contexts @ self.ff_logit_ctx_W + self.ff_logit_ctx_b))

    def attend(self, query, keys, hidden, annotations):
        scores = (torch.tanh(keys + query.unsqueeze(1)) @ self.decoder_U_att).squeeze(2) + self.decoder_c_tt
        share = (scores.float() + hidden).softmax(1).to(annotations.dtype)
        return torch.bmm(share.unsqueeze(1), annotations).squeeze(1)

    def conditional(self, steps, state, annotations, keys, hidden, width):
        first = self.joined("decoder_U", "decoder_Ux")
        second, bias = self.joined("decoder_U_nl", "decoder_Ux_nl", "decoder_W_comb_att"), self.joined("decoder_b_nl", "decoder_bx_nl")
        from_context = self.joined("decoder_Wc", "decoder_Wcx")
        states, contexts = [], []
        for step in steps:
            middle = gated(step, state @ first, state, width)
            recurrent = middle @ second
            context = self.attend(recurrent[:, 3 * width:], keys, hidden, annotations)
            state = gated(context @ from_context, recurrent[:, :3 * width] + bias, middle, width)
            states.append(state)
            contexts.append(context)
        return torch.stack(states, 1), torch.stack(contexts, 1)

    def simple(self, steps, state, annotations, keys, hidden, width):
        own = self.joined("decoder_U", "decoder_Ux", "decoder_W_comb_att")
        from_context = self.joined("decoder_Wc", "decoder_Wcx")
        states, contexts = [], []
        for step in steps:
            recurrent = state @ own
            context = self.attend(recurrent[:, 3 * width:], keys, hidden, annotations)
            state = gated(step + context @ from_context, recurrent[:, :3 * width], state, width)
            states.append(state)
            contexts.append(context)
        return torch.stack(states, 1), torch.stack(contexts, 1)

    def loss(self, x, gold, smoothing, penalty):
        return SmoothedLoss.apply(x, self.Wemb_dec, self.ff_logit_b, gold, smoothing, penalty)

    def logits(self, x):
        return x @ self.Wemb_dec.T + self.ff_logit_b


def with_padding(tensors):
    """Append a padding symbol that is never chosen, as in the transformer's vocabulary, so that models of both kinds can form an
    ensemble."""
    for name, value in (("Wemb", 0), ("Wemb_dec", 0), ("ff_logit_b", -100)):
        rows = ((0, 1),) + ((0, 0),) * (tensors[name].ndim - 1)
        tensors[name] = np.pad(tensors[name], rows, constant_values=value)
    return tensors


def save_model(directory, model, search):
    """Save the model in float16, with a padding symbol and the default search options."""
    os.makedirs(directory, exist_ok=True)
    tensors = {name: tensor.detach().numpy() for name, tensor in model.state_dict().items()}
    write_safetensors(os.path.join(directory, "model.safetensors"), with_padding(tensors), "F16")
    config = {name: value for name, value in model.config.items() if name != "dropout"}
    config.update(vocab_size=config["vocab_size"] + 1, pad_token_id=config["vocab_size"], rill={"domain": "mt", "options": search})
    with open(os.path.join(directory, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file, indent=2, sort_keys=True)
        file.write("\n")
