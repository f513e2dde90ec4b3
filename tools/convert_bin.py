"""pytorch_model.bin to model.safetensors, for models in Hugging Face's format whose weights are in a pickle."""

import json
import os

from mt_directory import FAMILIES, write_model
from refusal import Refused
from torch_files import Tensor, TorchFile

WEIGHTS = "pytorch_model.bin"
INDEX = WEIGHTS + ".index.json"
# Files that rill and transformers' tokenizers read; only config.json is required.
BESIDE = ["generation_config.json", "vocab.json", "target_vocab.json", "source.spm", "target.spm", "vocab-src.json",
          "vocab-tgt.json", "merges.txt", "tokenizer_config.json", "special_tokens_map.json", "tokenizer.json", "added_tokens.json",
          "sentencepiece.bpe.model", "spiece.model", "README.md"]


def read_json(path):
    try:
        with open(path, encoding="utf-8") as file:
            value = json.load(file)
    except FileNotFoundError as error:
        raise Refused(f"{path}: not there: expected a directory of Hugging Face's form") from error
    except ValueError as error:
        raise Refused(f"{path}: not JSON: {error}") from error
    if not isinstance(value, dict):
        raise Refused(f"{path}: expected a JSON object")
    return value


def read_state(path):
    """Return all tensors of a state dictionary, or of a checkpoint that has one under "state_dict"."""
    file = TorchFile(path)
    root = file.root
    if isinstance(root, dict) and isinstance(root.get("state_dict"), dict):
        root = root["state_dict"]
    if not isinstance(root, dict) or not any(isinstance(value, Tensor) for value in root.values()):
        raise Refused(f"{path}: expected tensors by name, found {type(root).__name__}")
    return {str(name): file.array(value, name) for name, value in root.items()}


def read_parts(directory):
    """Return the tensors of all files that the index names, and the index's path. The files must have exactly the tensors of the index."""
    index = os.path.join(directory, INDEX)
    places = read_json(index).get("weight_map")
    if not isinstance(places, dict) or not all(isinstance(n, str) and n and os.path.basename(n) == n for n in places.values()):
        raise Refused(f"{index}: weight_map: expected an object of tensor: file beside it")
    tensors = {}
    for name in sorted(set(places.values())):
        path = os.path.join(directory, name)
        if not os.path.exists(path):
            raise Refused(f"{index}: weight_map names {path}, which is not there")
        part, expected = read_state(path), {tensor for tensor, place in places.items() if place == name}
        for tensor in sorted(expected - set(part)):
            raise Refused(f"{path}: {tensor} is missing, which should be there by weight_map of {index}")
        for tensor in sorted(set(part) - expected):
            raise Refused(f"{path}: {tensor} has no place there by weight_map of {index}")
        tensors.update(part)
    return tensors, index


def read_weights(directory):
    """Return the tensors of the single weights file, or of the files in an index, and the path of that file or index."""
    path = os.path.join(directory, WEIGHTS)
    if os.path.exists(path):
        return read_state(path), path
    if not os.path.exists(os.path.join(directory, INDEX)):
        raise Refused(f"{directory}: neither {WEIGHTS} nor {INDEX} is there")
    return read_parts(directory)


def convert(directory, out, kind):
    config = read_json(os.path.join(directory, "config.json"))
    known = ("marian", "fsmt", *FAMILIES)
    if config.get("model_type") not in known:
        raise Refused(f"{directory}/config.json: model_type: expected one of {', '.join(known)}, found {config.get('model_type')!r}")
    tensors, file = read_weights(directory)
    # positions are computed; a saved table is only as long as the longest text had been when it was saved
    if config["model_type"] in ("fsmt", "m2m_100"):
        tensors = {name: value for name, value in tensors.items() if "embed_positions" not in name}
    copies = [(os.path.join(directory, name), name) for name in BESIDE if os.path.exists(os.path.join(directory, name))]
    try:
        write_model(out, config, tensors, file=file, kind=kind, copies=copies)
    except KeyError as error:
        raise Refused(f"{directory}/config.json: {error.args[0]} is missing") from error
    return [out]
