#!/usr/bin/env python3
"""The keys alignment_layer and alignment_heads of "rill" in config.json choose the decoder layer and the heads whose attention is the
alignment. A model with these keys is compared with two models without them. The decoder of the first ends with that layer. The
second has its heads in reverse order, so that the first half of the heads of both models are all heads of one.

usage: aligned_heads.py RILL DATA

DATA: tests/data
"""

import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile

INPUTS = ["▁a b c", "t t ▁b", "c ▁a"]
OUTPUTS = ["t t", "b", "c a t"]


def read_tensors(path):
    """Return the header's entries and the bytes of each tensor."""
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(size))
        data = file.read()
    header.pop("__metadata__", None)
    return {name: (entry, data[slice(*entry["data_offsets"])]) for name, entry in header.items()}


def write_tensors(path, tensors):
    header, data = {}, b""
    for name, (entry, block) in tensors.items():
        header[name] = {**entry, "data_offsets": [len(data), len(data) + len(block)]}
        data += block
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def swap_rows(entry, block):
    """Swap the rows of the two heads, which are stored one after the other."""
    half = len(block) // 2
    return entry, block[half:] + block[:half]


def swap_columns(entry, block):
    rows, columns = entry["shape"]
    size = len(block) // rows
    half = size // 2
    return entry, b"".join(block[i * size + half : (i + 1) * size] + block[i * size : i * size + half] for i in range(rows))


def make(model, out, keys, change=None, **config_keys):
    """Copy the model, with keys of "rill" and other changes."""
    shutil.copytree(model, out)
    path = os.path.join(out, "config.json")
    with open(path, encoding="utf-8") as file:
        config = json.load(file)
    config.update(config_keys)
    config["rill"] = {**config.get("rill", {}), **keys}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(config, file)
    if change is not None:
        weights = os.path.join(out, "model.safetensors")
        write_tensors(weights, change(read_tensors(weights)))
    return out


def without_last_layer(tensors):
    return {name: tensor for name, tensor in tensors.items() if ".decoder.layers.1." not in name}


def other_way_round(tensors):
    swapped = dict(tensors)
    for name, (entry, block) in tensors.items():
        if ".decoder.layers.1.encoder_attn." not in name:
            continue
        if "out_proj" in name:
            swapped[name] = swap_columns(entry, block) if name.endswith("weight") else (entry, block)
        else:
            swapped[name] = swap_rows(entry, block)
    return swapped


def shares(rill, model, work):
    """Return the soft alignment of each pair: a row of attention weights for each output token."""
    pairs = os.path.join(work, "pairs.tsv")
    with open(pairs, "w", encoding="utf-8") as file:
        file.writelines(f"{one}\t{other}\n" for one, other in zip(INPUTS, OUTPUTS))
    command = [rill, "score", "-m", model, "-i", pairs, "--alignment=soft", "-q"]
    text = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return [[[float(cell) for cell in row.split(",")] for row in line.split(" ||| ")[2].split()] for line in text.splitlines()]


def warned(rill, model):
    """Return the warnings that opening the model prints."""
    return subprocess.run([rill, "decode", "-m", model], input="w1\n", stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
                          check=True).stderr


def near(a, b):
    return len(a) == len(b) and all(near(x, y) if isinstance(x, list) else abs(x - y) < 2e-5 for x, y in zip(a, b))


def mean(a, b):
    return [mean(x, y) if isinstance(x, list) else (x + y) / 2 for x, y in zip(a, b)]


def main():
    rill, data = sys.argv[1:]
    model, failed = os.path.join(data, "mt", "shared"), []
    with tempfile.TemporaryDirectory() as work:
        def at(name, keys, change=None, **more):
            return shares(rill, make(model, os.path.join(work, name), keys, change, **more), work)

        plain, first, one = at("plain", {}), at("first", {"alignment_layer": 0}), at("one", {"alignment_heads": 1})
        turned = at("turned", {"alignment_heads": 1}, other_way_round)
        slips = warned(rill, make(model, os.path.join(work, "slips"), {"alignment_layers": 0, "positions": "hf", "colour": 1}))
        for what, holds in (
            ("a slip is named with the key that is meant",
             '"alignment_layers" under "rill" is not read: did you mean "alignment_layer"?' in slips),
            ("a key that is none", '"colour" under "rill" is not read: this kind of model' in slips),
            ("a key that is one", "positions" not in slips),
            ("all heads of the last layer are named", at("named", {"alignment_layer": 1, "alignment_heads": 2}) == plain),
            ("the first layer", near(first, at("short", {}, without_last_layer, decoder_layers=1))),
            ("the first layer is another than the last", not near(first, plain)),
            ("heads the other way round", near(at("round", {}, other_way_round), plain)),
            ("a head and the other", near(mean(one, turned), plain)),
            ("a head is not the mean", not near(one, plain)),
        ):
            print("ok" if holds else "FAILED", what)
            failed += [] if holds else [what]
    sys.exit(1 if failed else 0)


main()
