"""The mean of several checkpoints of one training, which translates better than each (Junczys-Dowmunt, Dwojak and Sennrich, 2016).

Sums are kept in 64 bits, in the order of the folders; a mean has the type of the first folder's tensor (bfloat16: 32-bit floats).
"""

import json
import os
import shutil

import numpy as np

from convert_bin import BESIDE, read_json
from model_files import read_safetensors, write_safetensors
from refusal import Refused, written_whole

WEIGHTS, CONFIG = "model.safetensors", "config.json"
MAY_DIFFER = ("_name_or_path", "transformers_version", "architectures")


def read_weights(folder):
    path = os.path.join(folder, WEIGHTS)
    if not os.path.exists(path):
        raise Refused(f"{path}: not there: average takes folders that the other commands made (`bin` for pytorch_model.bin)")
    try:
        return read_safetensors(path, None)
    except Exception as error:  # reading a damaged header may raise any exception
        raise Refused(f"{path}: not a safetensors file of floats, or damaged: {type(error).__name__}: {error}") from error


def check_config(first, folder):
    ours, theirs = (read_json(os.path.join(place, CONFIG)) for place in (first, folder))
    for key in sorted((ours.keys() | theirs.keys()) - set(MAY_DIFFER)):
        if ours.get(key) != theirs.get(key):
            raise Refused(f"{folder}/{CONFIG}: {key} is {json.dumps(theirs.get(key))[:60]}, in {first} {json.dumps(ours.get(key))[:60]}: "
                          "expected checkpoints of one training")


def check_files(first, folder):
    """Refuse folders whose tokenizer files differ; README.md may differ."""
    for name in BESIDE:
        ours, theirs = (os.path.join(place, name) for place in (first, folder))
        there = os.path.exists(ours), os.path.exists(theirs)
        if name != "README.md" and there != (False, False):
            if there != (True, True) or open(ours, "rb").read() != open(theirs, "rb").read():
                raise Refused(f"{theirs}: not the same as {ours}: expected checkpoints of one training")


def shortlist(folder):
    """Return a list with the translations file that config.json names; empty if it names none."""
    options = read_json(os.path.join(folder, CONFIG)).get("rill", {}).get("options", {})
    return [os.path.basename(str(options["shortlist"]).split(",")[0])] if options.get("shortlist") else []


def add(sums, folder, tensors):
    for name in sorted(sums.keys() | tensors.keys()):
        shapes = [list(table[name].shape) if name in table else "no such tensor" for table in (sums, tensors)]
        if shapes[0] != shapes[1]:
            raise Refused(f"{folder}/{WEIGHTS}: {name}: expected {shapes[0]} as in the first folder, found {shapes[1]}")
        sums[name] += tensors[name]


def convert(folders, out, kind):
    first = folders[0]
    if len(folders) < 2:
        raise Refused(f"{first}: expected two folders or more to average")
    tensors = read_weights(first)
    types = {name: array.dtype for name, array in tensors.items()}
    sums = {name: array.astype(np.float64) for name, array in tensors.items()}
    for folder in folders[1:]:
        check_config(first, folder)
        check_files(first, folder)
        add(sums, folder, read_weights(folder))
    means = {name: (array / len(folders)).astype(types[name]) for name, array in sums.items()}
    with written_whole(out) as folder:
        for name in [CONFIG, *BESIDE, *shortlist(first)]:
            source = os.path.join(first, name)
            if os.path.exists(source) and os.path.realpath(source) != os.path.realpath(os.path.join(out, name)):
                shutil.copyfile(source, os.path.join(folder, name))
        write_safetensors(os.path.join(folder, WEIGHTS), means, kind)
    return [out]
