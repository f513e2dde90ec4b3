"""The Marian transformer in PyTorch for training, and its files.

Names of modules are the names of tensors in a Hugging Face directory of type `marian`, so the state dictionary can be saved as it is.
Layers are post-norm, positions sinusoidal (first half sine, second half cosine, without offset). Both sides and the output layer
share one embedding, which is scaled by the square root of its width. The decoder starts from <pad>, whose embedding is zero.
"""

import json
import math
import os

import torch
from torch import nn
from torch.nn import functional as F

from model_files import write_safetensors


def positions(rows, width):
    angle = torch.arange(rows).unsqueeze(1) / 10000 ** (torch.arange(0, width, 2) / width)
    return torch.cat([angle.sin(), angle.cos()], dim=1)


class Dropout(nn.Module):
    """Dropout with one random byte per element. Drawing a float for each would cost a fifth of a training step on a CPU."""

    def __init__(self, share):
        super().__init__()
        self.set_share(share)

    def set_share(self, share):
        self.threshold = round(share * 256)

    def forward(self, x):
        if not self.training or self.threshold == 0:
            return x
        draws = torch.empty((x.numel() + 7) // 8, dtype=torch.int64).random_(-2 ** 63, None)
        kept = draws.view(torch.uint8)[:x.numel()].view(x.shape) >= self.threshold
        return x * kept.to(x.dtype).mul_(256 / (256 - self.threshold))


class SmoothedLoss(torch.autograd.Function):
    """Mean cross entropy with smoothed labels of the output layer; a few rows at a time, with the gradient computed in the same pass,
    so that no array of all positions by all tokens ever exists. `penalty` times the squared logarithm of the normaliser is added
    per position: it trains the normaliser to be one.
    """

    @staticmethod
    def forward(ctx, x, table, bias, gold, smoothing, penalty=0.0):
        rows, total = 256, 0.0
        kind = torch.bfloat16 if torch.is_autocast_enabled("cpu") else torch.float32
        low, inputs = table.to(kind), x.to(kind)
        x_grad, table_grad, bias_grad = torch.empty_like(x), torch.zeros_like(table), torch.zeros_like(bias)
        for begin in range(0, len(x), rows):
            part, right = inputs[begin:begin + rows], gold[begin:begin + rows, None]
            scores = torch.mm(part, low.T).float().add_(bias)
            error = scores.softmax(1)  # only softmax() is vectorised here, so the normaliser is computed from it
            whole = scores.amax(1, keepdim=True) - error.amax(1, keepdim=True).log()
            wanted = (1 - smoothing) * scores.gather(1, right) + smoothing * scores.mean(1, keepdim=True)
            total += float((whole - wanted).sum())
            if penalty:
                total += penalty * float(whole.square().sum())
                error.mul_(1 + 2 * penalty * whole)
            error.sub_(smoothing / len(table)).scatter_add_(1, right, torch.full_like(whole, smoothing - 1)).div_(len(x))
            bias_grad += error.sum(0)
            error = error.to(kind)
            x_grad[begin:begin + rows] = torch.mm(error, low)
            table_grad += torch.mm(error.T, part)
        ctx.save_for_backward(x_grad, table_grad, bias_grad)
        return torch.tensor(total / len(x))

    @staticmethod
    def backward(ctx, grad):
        x_grad, table_grad, bias_grad = ctx.saved_tensors
        return grad * x_grad, grad * table_grad, grad * bias_grad, None, None, None


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
            setattr(self, name, nn.Linear(width, width))

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

    def forward(self, x, memory, mask):
        """`mask` is added to the scores: minus infinity for positions that a query must not see. Written out, because on a CPU PyTorch's
        fused attention takes five times as long in the backward pass."""
        q, k, v = (self.split(p(s)) for p, s in
                   ((self.q_proj, x), (self.k_proj, memory), (self.v_proj, memory)))
        scores = torch.matmul(q * q.shape[-1] ** -0.5, k.transpose(2, 3)) + mask
        y = torch.matmul(scores.softmax(3).to(v.dtype), v)
        return self.out_proj(y.transpose(1, 2).reshape(x.shape))


class Layer(nn.Module):
    """An encoder layer; with `cross`, a decoder layer."""

    def __init__(self, config, side, cross):
        super().__init__()
        width = config["d_model"]
        self.self_attn = Attention(width, config[side + "_attention_heads"])
        self.self_attn_layer_norm = nn.LayerNorm(width)
        if cross:
            self.encoder_attn = Attention(width, config[side + "_attention_heads"])
            self.encoder_attn_layer_norm = nn.LayerNorm(width)
        self.fc1 = nn.Linear(width, config[side + "_ffn_dim"])
        self.fc2 = nn.Linear(config[side + "_ffn_dim"], width)
        self.final_layer_norm = nn.LayerNorm(width)
        self.drop = Dropout(config["dropout"])
        self.activation = {"swish": F.silu, "relu": F.relu, "gelu": F.gelu}[config["activation_function"]]

    def forward(self, x, mask, memory=None, memory_mask=None):
        x = self.self_attn_layer_norm(x + self.drop(self.self_attn(x, x, mask)))
        if memory is not None:
            x = self.encoder_attn_layer_norm(x + self.drop(self.encoder_attn(x, memory, memory_mask)))
        return self.final_layer_norm(x + self.drop(self.fc2(self.activation(self.fc1(x)))))


class Side(nn.Module):
    def __init__(self, config, side):
        super().__init__()
        self.layers = nn.ModuleList(Layer(config, side, side == "decoder")
                                    for _ in range(config[side + "_layers"]))


class Inner(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.shared = nn.Embedding(config["vocab_size"], config["d_model"], config["pad_token_id"])
        self.encoder, self.decoder = Side(config, "encoder"), Side(config, "decoder")


class Marian(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.model = Inner(config)
        self.register_parameter("final_logits_bias", nn.Parameter(torch.zeros(1, config["vocab_size"])))
        self.register_buffer("table", positions(config["max_position_embeddings"], config["d_model"]),
                             persistent=False)
        self.drop = Dropout(config["dropout"])
        for name, parameter in self.named_parameters():
            if "norm" in name or "shared" in name or name == "final_logits_bias":
                continue
            if parameter.dim() == 1:
                nn.init.zeros_(parameter)
                continue
            # Blocks begin with small outputs. With larger ones the post-norm shrinks the residual stream, and the decoder's
            # positions become equal before cross-attention is learnt.
            begins_small = any(part in name for part in ("v_proj", "out_proj", "fc1", "fc2"))
            nn.init.xavier_uniform_(parameter, 0.5 if begins_small else 1.0)
        nn.init.normal_(self.model.shared.weight, std=config["d_model"] ** -0.5)
        with torch.no_grad():
            self.model.shared.weight[config["pad_token_id"]] = 0

    def set_dropout(self, share):
        for part in self.modules():
            if isinstance(part, Dropout):
                part.set_share(share)

    def embed(self, ids):
        scale = math.sqrt(self.config["d_model"])
        return self.drop(self.model.shared(ids) * scale + self.table[:ids.shape[1]])

    def encode(self, source):
        padding = torch.zeros(source.shape).masked_fill_(source == self.config["pad_token_id"], -math.inf)
        padding = padding[:, None, None, :]
        x = self.embed(source)
        for layer in self.model.encoder.layers:
            x = layer(x, padding)
        return x, padding

    def decode(self, inputs, memory, padding):
        x, n = self.embed(inputs), inputs.shape[1]
        future = torch.full((n, n), -math.inf).triu_(1)
        for layer in self.model.decoder.layers:
            x = layer(x, future, memory, padding)
        return x

    def loss(self, x, gold, smoothing):
        return SmoothedLoss.apply(x, self.model.shared.weight, self.final_logits_bias, gold, smoothing)

    def logits(self, x):
        return x @ self.model.shared.weight.T + self.final_logits_bias

    def forward(self, source, inputs):
        memory, padding = self.encode(source)
        return self.logits(self.decode(inputs, memory, padding))


def make_config(sizes, vocabulary, pad):
    """Return a Hugging Face configuration; `sizes` overrides d_model and so on."""
    config = {
        "model_type": "marian", "architectures": ["MarianMTModel"], "vocab_size": vocabulary,
        "decoder_vocab_size": vocabulary, "d_model": 128, "encoder_layers": 4, "decoder_layers": 4,
        "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 256,
        "decoder_ffn_dim": 256, "activation_function": "relu", "scale_embedding": True,
        "static_position_embeddings": True, "max_position_embeddings": 256,
        "normalize_before": False, "normalize_embedding": False, "add_final_layer_norm": False,
        "share_encoder_decoder_embeddings": True, "tie_word_embeddings": True,
        "is_encoder_decoder": True, "eos_token_id": 0, "forced_eos_token_id": 0, "bos_token_id": 0,
        "pad_token_id": pad, "decoder_start_token_id": pad, "bad_words_ids": [[pad]],
        "num_beams": 5, "max_length": 256, "dropout": 0.3,
    }
    config.update(sizes)
    return config


def save_model(directory, model, half=True):
    os.makedirs(directory, exist_ok=True)
    tensors = {name: tensor.detach().cpu().numpy() for name, tensor in model.state_dict().items()}
    write_safetensors(os.path.join(directory, "model.safetensors"), tensors, "F16" if half else "F32")
    config = {k: v for k, v in model.config.items() if "dropout" not in k}
    config["torch_dtype"] = "float16" if half else "float32"
    with open(os.path.join(directory, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file, indent=2, sort_keys=True)
        file.write("\n")
