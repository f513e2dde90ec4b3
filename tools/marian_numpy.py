"""Marian's transformer in NumPy, in 64 bits, a whole output at a time: the reference for rill's arithmetic.

Written from marian-dev's src/models/transformer.h and src/rnn/cells.h, with their names of parameters and options. Matrices are [in,
out]; layers count from 1. Decoders have self-attention, average attention or an SSRU. Like rill, this differs from marian-decoder in
two ways: norms add 1e-5, and there is one more symbol besides the words, padding, whose logit is 0.
"""

import numpy as np

EPS = 1e-5


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


ACTIVATIONS = {"relu": lambda x: np.maximum(x, 0), "swish": lambda x: x * sigmoid(x)}


def softmax(x):
    x = np.exp(x - x.max(-1, keepdims=True))
    return x / x.sum(-1, keepdims=True)


def log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def positions(count, width):
    """Return sinusoidal positions: sines, then cosines. The last of the D / 2 frequencies is 1 / 10000."""
    half = width / 2
    number = np.arange(width)
    frequency = 1e-4 ** ((number % ((width + 1) // 2)) / (half - 1))
    angle = np.arange(count)[:, None] * frequency
    return np.where(number < (width + 1) // 2, np.sin(angle), np.cos(angle))


class Net:
    """A model. arrays: Marian's parameters by name; options: those of special:model.yml that it is built from."""

    def __init__(self, arrays, options):
        self.p = {name: np.asarray(value, np.float64) for name, value in arrays.items()}
        self.o = options
        self.width, self.heads = options["dim-emb"], options["transformer-heads"]

    # --- parts

    def affine(self, x, weights, bias):
        return x @ self.p[weights] + self.p[bias].reshape(-1)

    def norm(self, x, name, suffix=""):
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + EPS)
        return x * self.p[f"{name}_ln_scale{suffix}"].reshape(-1) + self.p[f"{name}_ln_bias{suffix}"].reshape(-1)

    def before(self, x, name, key="transformer-preprocess"):
        for op in self.o[key]:
            x = self.norm(x, name, "_pre") if op == "n" else x
        return x

    def behind(self, x, residual, name, key="transformer-postprocess"):
        for op in self.o[key]:
            x = x + residual if op == "a" else self.norm(x, name) if op == "n" else x
        return x

    def split(self, x):
        return x.reshape(len(x), self.heads, -1).transpose(1, 0, 2)

    def memory(self, prefix, states):
        """Return keys and values, concatenated."""
        return np.concatenate([self.affine(states, f"{prefix}_W{part}", f"{prefix}_b{part}") for part in "kv"], 1)

    def attention(self, prefix, x, states=None, causal=False):
        """Attend from x to itself, or to states. Return the output and the attention weights [heads, rows, states]."""
        read = self.before(x, prefix + "_Wo")
        memory = self.memory(prefix, read if states is None else states)
        q = self.split(self.affine(read, prefix + "_Wq", prefix + "_bq"))
        k, v = self.split(memory[:, :self.width]), self.split(memory[:, self.width:])
        score = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
        if causal:
            score = np.where(np.tri(len(x), dtype=bool), score, -np.inf)
        share = softmax(score)
        out = self.affine((share @ v).transpose(1, 0, 2).reshape(len(x), -1), prefix + "_Wo", prefix + "_bo")
        return self.behind(out, x, prefix + "_Wo"), share

    def feed_forward(self, prefix, x):
        y = self.before(x, prefix + "_ffn")
        y = ACTIVATIONS[self.o["transformer-ffn-activation"]](self.affine(y, prefix + "_W1", prefix + "_b1"))
        return self.behind(self.affine(y, prefix + "_W2", prefix + "_b2"), x, prefix + "_ffn")

    def ssru(self, prefix, x):
        read = self.before(x, prefix)
        new, forget = read @ self.p[prefix + "_W"], sigmoid(self.affine(read, prefix + "_Wf", prefix + "_bf"))
        cell, out = np.zeros(self.width), []
        for n, f in zip(new, forget):
            cell = f * cell + (1 - f) * n
            out.append(np.maximum(cell, 0))
        return self.behind(np.stack(out), x, prefix + "_ffn")

    def average(self, prefix, x):
        y = np.cumsum(x, 0) / np.arange(1, len(x) + 1)[:, None]
        y = self.before(y, prefix + "_ffn")
        depth = self.o["transformer-aan-depth"]
        for i in range(1, depth):
            y = ACTIVATIONS[self.o["transformer-aan-activation"]](self.affine(y, f"{prefix}_W{i}", f"{prefix}_b{i}"))
        if y.shape[1] != self.width:
            y = self.affine(y, f"{prefix}_W{depth}", f"{prefix}_b{depth}")
        if not self.o["transformer-aan-nogate"]:
            own = sigmoid(self.affine(x, prefix + "_Wi", prefix + "_bi"))
            y = own * x + sigmoid(self.affine(y, prefix + "_Wf", prefix + "_bf")) * y
        return self.behind(y, x, prefix + "_ffn")

    # --- the whole model -----------------------------------------------------------------------------------------------------

    def table(self, side):
        return self.p["Wemb" if "Wemb" in self.p else f"{side}_Wemb"]

    def embed(self, rows, side):
        x = rows * np.sqrt(self.width) + positions(len(rows), self.width)
        return self.before(x, side + "_emb", "transformer-postprocess-emb")

    def top(self, x, side):
        return self.behind(x, None, side + "_top", "transformer-postprocess-top")

    def encode(self, ids):
        x = self.embed(self.table("encoder")[ids], "encoder")
        for i in range(1, self.o["enc-depth"] + 1):
            x, _ = self.attention(f"encoder_l{i}_self", x)
            x = self.feed_forward(f"encoder_l{i}_ffn", x)
        return self.top(x, "encoder")

    def layer_name(self, i):
        tied = self.o.get("transformer-tied-layers") or range(1, self.o["dec-depth"] + 1)
        return f"decoder_l{tied[i]}"

    def last_memory(self, states):
        return self.memory(self.layer_name(self.o["dec-depth"] - 1) + "_context", states)

    def decode(self, states, actions):
        """Return the log-probabilities [positions, words and padding] before each action and after the last one. Also return the last
        layer's attention to the input, averaged over its heads."""
        rows = self.table("decoder")[list(actions)] if actions else np.zeros((0, self.width))
        x = self.embed(np.concatenate([np.zeros((1, self.width)), rows]), "decoder")
        for i in range(self.o["dec-depth"]):
            name, kind = self.layer_name(i), self.o["transformer-decoder-autoreg"]
            if kind == "rnn":
                x = self.ssru(name + "_rnn", x)
            elif kind == "average-attention":
                x = self.average(name + "_aan", x)
            else:
                x, _ = self.attention(name + "_self", x, causal=True)
            x, share = self.attention(name + "_context", x, states)
            x = self.feed_forward(name + "_ffn", x)
        x = self.top(x, "decoder")
        matrix = self.p["decoder_ff_logit_out_W"] if "decoder_ff_logit_out_W" in self.p else self.table("decoder").T
        logits = x @ matrix + self.p["decoder_ff_logit_out_b"].reshape(-1)
        return log_softmax(np.concatenate([logits, np.zeros((len(x), 1))], 1)), share.mean(0)
