"""pytorch_model.bin to model.safetensors: the model is Hugging Face's already, only its weights are in a pickle."""

import json
import os

from mt_directory import write_model
from torch_files import Refused, Tensor, TorchFile

WEIGHTS = "pytorch_model.bin"
INDEX = WEIGHTS + ".index.json"
# What rill and transformers' tokenizers read beside the weights; of these only config.json must be there.
BESIDE = ["generation_config.json", "vocab.json", "target_vocab.json", "source.spm", "target.spm", "vocab-src.json",
          "vocab-tgt.json", "merges.txt", "tokenizer_config.json", "special_tokens_map.json", "README.md"]


def read_json(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError as error:
        raise Refused(f"{path}: not there: expected a directory of Hugging Face's form") from error
    except ValueError as error:
        raise Refused(f"{path}: not JSON: {error}") from error


def weight_files(directory):
    """The one file, or those that an index names."""
    if os.path.exists(os.path.join(directory, WEIGHTS)):
        return [os.path.join(directory, WEIGHTS)]
    if not os.path.exists(os.path.join(directory, INDEX)):
        raise Refused(f"{directory}: neither {WEIGHTS} nor {INDEX} is there")
    names = read_json(os.path.join(directory, INDEX)).get("weight_map", {}).values()
    return [os.path.join(directory, os.path.basename(name)) for name in sorted(set(names))]


def read_state(path):
    """All tensors of a state dictionary, or of a checkpoint that has one under "state_dict"."""
    file = TorchFile(path)
    root = file.root
    if isinstance(root, dict) and isinstance(root.get("state_dict"), dict):
        root = root["state_dict"]
    if not isinstance(root, dict) or not any(isinstance(value, Tensor) for value in root.values()):
        raise Refused(f"{path}: expected tensors by name, found {type(root).__name__}")
    return {str(name): file.array(value, name) for name, value in root.items()}


def convert(directory, out, kind):
    config = read_json(os.path.join(directory, "config.json"))
    if config.get("model_type") not in ("marian", "fsmt"):
        raise Refused(f"{directory}/config.json: model_type: expected marian or fsmt, found {config.get('model_type')!r}")
    tensors, files = {}, weight_files(directory)
    for path in files:
        tensors.update(read_state(path))
    if config["model_type"] == "fsmt":  # computed, and as long as the longest text so far when they were saved
        tensors = {name: value for name, value in tensors.items() if "embed_positions" not in name}
    copies = [(os.path.join(directory, name), name) for name in BESIDE if os.path.exists(os.path.join(directory, name))]
    try:
        write_model(out, config, tensors, file=files[0], kind=kind, copies=copies)
    except KeyError as error:
        raise Refused(f"{directory}/config.json: {error.args[0]} is missing") from error
    return [out]
