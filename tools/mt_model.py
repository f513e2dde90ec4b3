"""The Marian transformer in PyTorch, as training needs it, and its form on disk.

Names of modules are the names of tensors in a Hugging Face directory of type `marian`, so that saving is writing the state
dictionary. Post-norm layers, sinusoidal positions (first half sine, second half cosine, without offset), one embedding for both
sides and the output layer, scaled by the square root of its width. The decoder starts from <pad>, whose embedding is zero.
"""

import json
import math
import os
import struct

import torch
from torch import nn
from torch.nn import functional as F


def positions(rows, width):
    angle = torch.arange(rows).unsqueeze(1) / 10000 ** (torch.arange(0, width, 2) / width)
    return torch.cat([angle.sin(), angle.cos()], dim=1)


class Attention(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
            setattr(self, name, nn.Linear(width, width))

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

    def forward(self, x, memory, mask=None, causal=False):
        q, k, v = (self.split(p(s)) for p, s in
                   ((self.q_proj, x), (self.k_proj, memory), (self.v_proj, memory)))
        drop = self.dropout if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, mask, drop, is_causal=causal)
        return self.out_proj(y.transpose(1, 2).reshape(x.shape))


class Layer(nn.Module):
    """An encoder layer, or with `cross` a decoder layer."""

    def __init__(self, config, side, cross):
        super().__init__()
        width, dropout = config["d_model"], config["attention_dropout"]
        self.self_attn = Attention(width, config[side + "_attention_heads"], dropout)
        self.self_attn_layer_norm = nn.LayerNorm(width)
        if cross:
            self.encoder_attn = Attention(width, config[side + "_attention_heads"], dropout)
            self.encoder_attn_layer_norm = nn.LayerNorm(width)
        self.fc1 = nn.Linear(width, config[side + "_ffn_dim"])
        self.fc2 = nn.Linear(config[side + "_ffn_dim"], width)
        self.final_layer_norm = nn.LayerNorm(width)
        self.drop = nn.Dropout(config["dropout"])
        self.drop_inside = nn.Dropout(config["activation_dropout"])
        self.activation = {"swish": F.silu, "relu": F.relu, "gelu": F.gelu}[config["activation_function"]]

    def forward(self, x, mask, memory=None, memory_mask=None):
        causal = memory is not None
        x = self.self_attn_layer_norm(x + self.drop(self.self_attn(x, x, mask, causal)))
        if causal:
            x = self.encoder_attn_layer_norm(x + self.drop(self.encoder_attn(x, memory, memory_mask)))
        inner = self.drop_inside(self.activation(self.fc1(x)))
        return self.final_layer_norm(x + self.drop(self.fc2(inner)))


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
        self.drop = nn.Dropout(config["dropout"])
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1 and "bias" not in name and "shared" not in name:
                nn.init.xavier_uniform_(parameter)
        nn.init.normal_(self.model.shared.weight, std=config["d_model"] ** -0.5)
        with torch.no_grad():
            self.model.shared.weight[config["pad_token_id"]] = 0

    def embed(self, ids):
        scale = math.sqrt(self.config["d_model"])
        return self.drop(self.model.shared(ids) * scale + self.table[:ids.shape[1]])

    def encode(self, source):
        keep = (source != self.config["pad_token_id"])[:, None, None, :]
        x = self.embed(source)
        for layer in self.model.encoder.layers:
            x = layer(x, keep)
        return x, keep

    def decode(self, inputs, memory, keep):
        x = self.embed(inputs)
        for layer in self.model.decoder.layers:
            x = layer(x, None, memory, keep)
        return x

    def logits(self, x):
        return x @ self.model.shared.weight.T + self.final_logits_bias

    def forward(self, source, inputs):
        memory, keep = self.encode(source)
        return self.logits(self.decode(inputs, memory, keep))


def make_config(sizes, vocabulary, pad):
    """A Hugging Face config; `sizes` overrides d_model and so on."""
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
        "num_beams": 5, "max_length": 256, "dropout": 0.3, "attention_dropout": 0.1,
        "activation_dropout": 0.1,
    }
    config.update(sizes)
    return config


def save_safetensors(path, tensors):
    """Tensors in name order; dtype float16 or float32."""
    header, offset, blobs = {}, 0, []
    for name in sorted(tensors):
        tensor = tensors[name].detach().cpu().contiguous()
        blob = tensor.numpy().tobytes()
        header[name] = {"dtype": {torch.float16: "F16", torch.float32: "F32"}[tensor.dtype],
                        "shape": list(tensor.shape), "data_offsets": [offset, offset + len(blob)]}
        offset += len(blob)
        blobs.append(blob)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path + ".new", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))
    os.replace(path + ".new", path)


def save_model(directory, model, half=True):
    os.makedirs(directory, exist_ok=True)
    kind = torch.float16 if half else torch.float32
    save_safetensors(os.path.join(directory, "model.safetensors"),
                     {n: t.to(kind) for n, t in model.state_dict().items()})
    config = {k: v for k, v in model.config.items() if "dropout" not in k}
    config["torch_dtype"] = "float16" if half else "float32"
    with open(os.path.join(directory, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file, indent=2, sort_keys=True)
        file.write("\n")
