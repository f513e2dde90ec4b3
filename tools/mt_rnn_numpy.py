"""The recurrent translation model (rnnsearch) in NumPy, in 64 bits and one position at a time: the reference for rill's arithmetic.

The arithmetic and the names of tensors, [in, out], are those of Nematus and Amun, on row vectors; docs/mt.md describes it.
Independent of mt_rnn_model.py, which the trainer uses.
"""

import json
import os

import numpy as np

from model_files import read_safetensors


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    x = np.exp(x - x.max(-1, keepdims=True))
    return x / x.sum(-1, keepdims=True)


def log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


class Net:
    """A model. tensors: by name; config: the contents of config.json."""

    def __init__(self, tensors, config):
        self.t = {name: np.asarray(value, np.float64) for name, value in tensors.items()}
        self.conditional = config["decoder"] == "conditional"
        self.end, self.unknown = config["eos_token_id"], config["unk_token_id"]

    @classmethod
    def read(cls, directory):
        with open(os.path.join(directory, "config.json"), encoding="utf-8") as file:
            return cls(read_safetensors(os.path.join(directory, "model.safetensors")), json.load(file))

    def gates(self, x):
        """Return the reset gate and the update gate, the two halves of x."""
        both = sigmoid(x)
        half = both.shape[-1] // 2
        return both[..., :half], both[..., half:]

    def gru(self, prefix, x, h):
        t = self.t
        r, u = self.gates(x @ t[prefix + "W"] + t[prefix + "b"] + h @ t[prefix + "U"])
        c = np.tanh(x @ t[prefix + "Wx"] + t[prefix + "bx"] + r * (h @ t[prefix + "Ux"]))
        return u * h + (1 - u) * c

    def encode(self, ids):
        """Return the annotations [positions, 2H] of a source, whose last id is </s>."""
        words, sides = self.t["Wemb"][ids], []
        for prefix, order in (("encoder_", 1), ("encoder_r_", -1)):
            h, states = np.zeros(self.t[prefix + "Ux"].shape[0]), []
            for x in words[::order]:
                h = self.gru(prefix, x, h)
                states.append(h)
            sides.append(np.stack(states[::order]))
        return np.concatenate(sides, 1)

    def start(self, annotations):
        return np.tanh(annotations.mean(0) @ self.t["ff_state_W"] + self.t["ff_state_b"])

    def attend(self, annotations, h):
        """Return the attention weights [rows, positions], and the weighted sums of the annotations [rows, 2H]."""
        t = self.t
        keys = annotations @ t["decoder_Wc_att"] + t["decoder_b_att"]
        e = np.tanh(keys + (h @ t["decoder_W_comb_att"])[:, None]) @ t["decoder_U_att"][:, 0] + t["decoder_c_tt"]
        share = softmax(e)
        return share, share @ annotations

    def step(self, annotations, s, words):
        """Decode one position of several rows: return the next states, log-probabilities of all words, and attention. words: the
        previous ids; None at the first position.
        """
        t = self.t
        y = np.zeros((len(s), t["Wemb"].shape[1])) if words is None else self.targets()[words]
        if self.conditional:
            h = self.gru("decoder_", y, s)
            share, ctx = self.attend(annotations, h)
            r, u = self.gates(h @ t["decoder_U_nl"] + t["decoder_b_nl"] + ctx @ t["decoder_Wc"])
            c = np.tanh(r * (h @ t["decoder_Ux_nl"] + t["decoder_bx_nl"]) + ctx @ t["decoder_Wcx"])
            s = u * h + (1 - u) * c
        else:
            share, ctx = self.attend(annotations, s)
            r, u = self.gates(y @ t["decoder_W"] + t["decoder_b"] + s @ t["decoder_U"] + ctx @ t["decoder_Wc"])
            c = np.tanh(y @ t["decoder_Wx"] + t["decoder_bx"] + ctx @ t["decoder_Wcx"] + r * (s @ t["decoder_Ux"]))
            s = u * s + (1 - u) * c
        out = np.tanh(s @ t["ff_logit_lstm_W"] + t["ff_logit_lstm_b"] + y @ t["ff_logit_prev_W"] + t["ff_logit_prev_b"]
                      + ctx @ t["ff_logit_ctx_W"] + t["ff_logit_ctx_b"])
        table = t["ff_logit_W"] if "ff_logit_W" in t else self.targets().T
        return s, log_softmax(out @ table + t["ff_logit_b"]), share

    def targets(self):
        return self.t["Wemb_dec"]
