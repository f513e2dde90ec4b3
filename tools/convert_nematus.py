"""Recurrent models of Nematus, of dl4mt, and those that Amun reads, to a directory of type `rnnsearch`.

The names and the arithmetic are Nematus' own. model.npz has the tensors, model.npz.json the options, and a dictionary for each side
the words' ids. Nematus' theano_tf_convert.py makes such files from TensorFlow checkpoints. Some options change the computation but no
tensor's name; values that are not supported are refused.
"""

import json
import os
import zipfile
import zlib

import numpy as np

from model_files import read_npz
from mt_directory import write_model
from refusal import Refused

END, UNKNOWN, LENGTH = 0, 1, 200  # ids of </s> and <unk> in Nematus, and its limit on the length of an output
SPECIALS = {"eos": "</s>", "UNK": "<unk>"}
RECORDS = ("history_errs", "uidx", "zipped_params")  # records of the training, which no model needs
# Options that change the computation, and their supported values; an absent option means the first.
FIXED = {"factors": (1,), "output_hidden_activation": ("tanh",), "softmax_mixture_size": (1,), "model_type": ("rnn",)}


def read_arrays(path):
    try:
        return read_npz(path, lambda name: name not in RECORDS and not name.startswith("adam"))
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise Refused(f"{path}: expected Nematus' model.npz: {error}") from error


def read_json(path):
    try:
        with open(path, encoding="utf-8") as file:
            value = json.load(file)
    except ValueError as error:
        raise Refused(f"{path}: expected JSON: {error}") from error
    if not isinstance(value, dict):
        raise Refused(f"{path}: expected an object")
    return value


def check_options(path, options):
    for key, values in FIXED.items():
        if options.get(key, values[0]) not in values:
            raise Refused(f"{path}: {key}: {options[key]!r} cannot be converted, only {values[0]!r}")
    version = options.get("model_version", 0.1 if "source_vocab_size" in options else 0)
    if options.get("use_dropout") and version < 0.1:
        raise Refused(f"{path}: model_version: {version} with use_dropout scales what it reads by the share kept, "
                      "which cannot be converted")


def read_words(path, size):
    """Read {token: id} for all rows of a table. Words beyond the table's end are unknown to Nematus too. A row without a word gets a
    name that occurs in no text.
    """
    pieces = [None] * size
    for word, number in read_json(path).items():
        if not isinstance(number, int) or number < 0:
            raise Refused(f"{path}: {word!r}: expected a number from 0 on, found {number!r}")
        if number >= size:
            continue
        if pieces[number] is not None:
            raise Refused(f"{path}: {number} is the number of {pieces[number]!r} and of {word!r}")
        pieces[number] = SPECIALS.get(word, word) if number in (END, UNKNOWN) else word
    pieces = [f"<row {number}>" if piece is None else piece for number, piece in enumerate(pieces)]
    if pieces[END] != "</s>" or pieces[UNKNOWN] != "<unk>":
        raise Refused(f"{path}: expected eos (or </s>) with number 0 and UNK (or <unk>) with 1, "
                      f"found {pieces[END]!r} and {pieces[UNKNOWN]!r}")
    words = {piece: number for number, piece in enumerate(pieces)}
    if len(words) != size:
        raise Refused(f"{path}: </s> or <unk> is there twice")
    return words


def size_of(path, arrays, name, axis):
    if name not in arrays:
        raise Refused(f"{path}: {name} is missing: expected a model of Nematus with GRUs and attention")
    if arrays[name].ndim != 2:
        raise Refused(f"{path}: {name}: expected a matrix, found shape {list(arrays[name].shape)}")
    return arrays[name].shape[axis]


def make_config(path, arrays, options):
    sizes = {"source": size_of(path, arrays, "Wemb", 0), "target": size_of(path, arrays, "Wemb_dec", 0)}
    return {
        "model_type": "rnnsearch", "decoder": "conditional" if "decoder_U_nl" in arrays else "simple",
        "embedding_size": size_of(path, arrays, "Wemb", 1), "encoder_size": size_of(path, arrays, "encoder_Ux", 1),
        "decoder_size": size_of(path, arrays, "decoder_Ux", 1),
        "attention_size": size_of(path, arrays, "decoder_W_comb_att", 1),
        "source_vocab_size": sizes["source"], "target_vocab_size": sizes["target"],
        "eos_token_id": END, "unk_token_id": UNKNOWN, "max_length": options.get("translation_maxlen", LENGTH),
    }


def complete(arrays):
    """Add tensors that Nematus does not store: a table that equals the other side's, and a bias that has no effect after the softmax."""
    arrays.setdefault("decoder_c_tt", np.zeros(1, np.float32))
    if "Wemb" in arrays:
        arrays.setdefault("Wemb_dec", arrays["Wemb"])
    for name in ("decoder_c_tt", "decoder_U_att"):
        if name in arrays:
            arrays[name] = arrays[name].reshape((-1, 1) if name == "decoder_U_att" else (-1,))


def find_dictionaries(model, options):
    """Return the paths of the dictionaries that the options name, in the model's folder."""
    named = options.get("dictionaries") or []
    if len(named) != 2:
        raise Refused(f"{model}.json: dictionaries: expected two, found {len(named)}: name them with --vocab")
    return [os.path.join(os.path.dirname(model), os.path.basename(name)) for name in named]


def convert(model, out, kind, vocabularies, pieces):
    if not os.path.exists(model):
        raise Refused(f"{model}: not there: expected Nematus' model.npz")
    arrays, options = read_arrays(model), {}
    if os.path.exists(model + ".json"):
        options = read_json(model + ".json")
        check_options(model + ".json", options)
    complete(arrays)
    config = make_config(model, arrays, options)
    vocabularies = vocabularies or find_dictionaries(model, options)
    sides = [read_words(path, config[key]) for path, key in
             zip((vocabularies[0], vocabularies[-1]), ("source_vocab_size", "target_vocab_size"))]
    documents = {"vocab.json": sides[0]}
    if sides[0] == sides[1]:
        config["vocab_size"] = config.pop("source_vocab_size")
        del config["target_vocab_size"]
    else:
        documents["target_vocab.json"] = sides[1]
    copies = list(zip((pieces[0], pieces[-1]), ("source.spm", "target.spm"))) if pieces else []
    write_model(out, config, arrays, file=model, kind=kind, documents=documents, copies=copies)
    return [out]
