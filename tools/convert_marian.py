"""Marian's model.npz, or a .bin of its 8-bit students, with its vocabularies to Hugging Face's form.

Marian stores matrices as [in, out], numbers layers from 1, and has its training options as YAML in special:model.yml. Names are
those of marian-dev's transformer (src/models/transformer.h) and of transformers' own converter. Unlike the latter, this converter
reads vocabularies of different sizes, SentencePiece vocabularies, and decoders whose layers or feed-forward parts have other sizes
than the encoder's. Positions are computed as in Marian, unless an option says otherwise.
"""

import glob
import os
import re
import tempfile

import numpy as np

from marian_binary import read_binary
from marian_folder import Folder, find_one, unpacked
from marian_yaml import read_options, read_yaml_vocabulary
from model_files import read_npz
from mt_directory import BIAS, DECODER_WORDS, ENCODER_WORDS, HEADS, SHARED, write_model
from refusal import Refused, decoded

OPTIONS = "special:model.yml"
PAD = "<pad>"
# Maximum number of positions in the converted model. Marian has no limit, since sinusoids can be computed for any position.
LENGTH = 4096
ATTENTION = {"self": "self_attn", "context": "encoder_attn"}
FIRST_BLOCKS = {"self-attention": "attention", "rnn": "ssru", "average-attention": "average"}
# Options that change the computation, and their supported values; an absent option means the first.
FIXED = {
    "type": ("transformer",), "transformer-ffn-depth": (2,), "transformer-decoder-ffn-depth": (0, 2),
    "transformer-decoder-autoreg": tuple(FIRST_BLOCKS), "transformer-no-projection": (False,),
    "transformer-no-bias": (False,), "transformer-no-affine": (False,), "transformer-rnn-projection": (False,),
    "transformer-pool": (False,), "transformer-train-position-embeddings": (False,),
    "transformer-train-positions": (False,), "right-left": (False,),
    "layer-normalization": (False,), "ulr": (False,), "ulr-dim-emb": (0,), "lemma-dim-emb": (0,),
    "lemma-dependency": ("",), "factors-combine": ("sum",), "output-omit-bias": (False,), "input-types": ([],),
    "transformer-dim-model": (0,), "skip": (False,),
}
ACTIVATIONS = ("swish", "relu")


# --- vocabularies -----------------------------------------------------------------------------------------------------

def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def fields(data):
    """Yield the number and the content of each field of a protocol buffer message."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(kind)
            if kind == 2:
                size, at = varint(data, at)
            if size is None or at + size > len(data):
                raise IndexError
            value, at = data[at:at + size], at + size
        yield tag >> 3, value


def read_spm_vocabulary(path):
    """Return the tokens of a SentencePiece model in order of their ids: field 1 of each message in field 1."""
    with open(path, "rb") as file:
        data = file.read()
    try:
        pieces = [dict(fields(value))[1].decode("utf-8") for number, value in fields(data) if number == 1]
    except (IndexError, KeyError, UnicodeDecodeError, AttributeError) as error:
        raise Refused(f"{path}: not a SentencePiece model") from error
    return {piece: number for number, piece in enumerate(pieces)}


def read_vocabulary(path):
    """Read {token: id}; ids must be 0, 1, 2 ... without gaps, and include </s> and <unk>."""
    if not os.path.exists(path):
        raise Refused(f"{path}: not there: expected a vocabulary of Marian (.yml) or SentencePiece (.spm)")
    pieces = read_spm_vocabulary(path) if path.endswith((".spm", ".model")) else read_yaml_vocabulary(path)
    for needed in ("</s>", "<unk>"):
        if needed not in pieces:
            raise Refused(f"{path}: expected a piece {needed}")
    if sorted(pieces.values()) != list(range(len(pieces))):
        raise Refused(f"{path}: expected the numbers 0 to {len(pieces) - 1}, each once, for its {len(pieces)} pieces")
    return pieces


def with_padding(path, pieces, rows):
    """Return the vocabulary with made-up names for rows without a token, and with <pad> in the appended row."""
    if PAD in pieces:
        raise Refused(f"{path}: has a {PAD}: Marian's vocabularies have none, it is appended here")
    if len(pieces) > rows:
        raise Refused(f"{path}: {len(pieces)} pieces, but the model has embeddings for {rows}: another model's?")
    names = {f"<unused{number}>": number for number in range(len(pieces), rows)}
    if set(names) & set(pieces):
        raise Refused(f"{path}: {len(pieces)} pieces for {rows} embeddings: no names for the rest")
    return {**pieces, **names, PAD: rows}


# --- the model --------------------------------------------------------------------------------------------------------

class Source:
    """The arrays of an .npz or .bin. Arrays that nothing has taken at the end are an error."""

    def __init__(self, file, name=None):
        """`name`: how messages call the file, if not by its path."""
        self.path = name or file
        try:
            if file.endswith(".bin"):
                self.arrays = read_binary(file)
            else:
                self.arrays = read_npz(file)
        except Refused:
            raise
        except Exception as error:
            raise Refused(f"{self.path}: not an .npz of arrays: {error}") from error
        if OPTIONS not in self.arrays:
            raise Refused(f"{self.path}: {OPTIONS} is missing: not a model of Marian, or saved without its options")
        raw = self.arrays.pop(OPTIONS).tobytes().rstrip(b"\0")
        self.options = read_options(decoded(raw, f"{self.path}: {OPTIONS}"), f"{self.path}: {OPTIONS}")

    def has(self, name):
        return name in self.arrays

    def take(self, name):
        if name not in self.arrays:
            raise Refused(f"{self.path}: {name} is missing")
        array = self.arrays.pop(name)
        if array.dtype.kind != "f":
            raise Refused(f"{self.path}: {name}: expected floating-point numbers, found {array.dtype}: quantised matrices "
                          "are read of .bin models alone")
        return array

    def matrix(self, name):
        array = self.take(name)
        if array.ndim != 2:
            raise Refused(f"{self.path}: {name}: expected a matrix, found shape {list(array.shape)}")
        return array

    def vector(self, name):
        return self.take(name).reshape(-1)

    def option(self, key, default=None):
        if key not in self.options:
            if default is None:
                raise Refused(f"{self.path}: {OPTIONS}: {key} is missing")
            return default
        return self.options[key]


def operations(source, key, default):
    """Return the operations of a chain such as "dan", without d, dropout."""
    return (source.option(key, default) or "").replace("d", "")


def refuse_option(source, key, expected):
    raise Refused(f"{source.path}: {OPTIONS}: {key}: only {expected} can be converted, found {source.option(key, '')!r}")


def check_norms(source):
    """Return where the norms are: before blocks, after the embeddings, after the last layer."""
    pre, post = operations(source, "transformer-preprocess", ""), operations(source, "transformer-postprocess", "dan")
    form = "'dan' with 'transformer-preprocess' '', and 'da' with 'n',"
    if pre not in ("", "n") or (pre, post) == ("n", "an"):
        refuse_option(source, "transformer-preprocess", "'' with 'transformer-postprocess' 'dan', and 'n' with 'da',")
    if post != {"": "an", "n": "a"}[pre]:
        refuse_option(source, "transformer-postprocess", form)
    for key, default in (("transformer-postprocess-emb", "d"), ("transformer-postprocess-top", "")):
        if operations(source, key, default) not in ("", "n"):
            refuse_option(source, key, "'', 'd' and 'n'")
    version = re.match(r"v?(\d+)\.(\d+)", str(source.options.get("version", "")))
    if pre == "n" and version and (int(version[1]), int(version[2])) < (1, 10):
        raise Refused(f"{source.path}: {OPTIONS}: version: {source.options['version']!r}: before version 1.10 Marian with "
                      "transformer-preprocess 'n' did not normalise keys and values: it cannot be converted")
    return pre == "n", operations(source, "transformer-postprocess-emb", "d") == "n", operations(
        source, "transformer-postprocess-top", "") == "n"


def check_decoder(source):
    """Return the decoder's first sublayer, and for each layer the number of the stored layer that it uses."""
    kind, depth = source.option("transformer-decoder-autoreg", "self-attention"), source.option("dec-depth")
    if kind == "rnn" and source.option("dec-cell", "gru") != "ssru":
        refuse_option(source, "dec-cell", "'ssru'")
    if kind == "average-attention":
        if source.option("transformer-aan-depth", 2) not in (1, 2):
            refuse_option(source, "transformer-aan-depth", "1 and 2")
        if source.option("transformer-aan-activation", "swish") not in ACTIVATIONS:
            refuse_option(source, "transformer-aan-activation", "swish and relu")
    if str(source.option("transformer-guided-alignment-layer", "last")) not in ("last", *map(str, range(1, depth + 1))):
        refuse_option(source, "transformer-guided-alignment-layer", f"'last' and a layer of {depth}")
    tied = [number for number in source.option("transformer-tied-layers", []) if number != ""]
    if tied and (len(tied) != depth or not all(isinstance(number, int) and number > 0 for number in tied)):
        refuse_option(source, "transformer-tied-layers", f"a number for each of {depth} layers")
    return FIRST_BLOCKS[kind], tied or list(range(1, depth + 1))


def check_options(source):
    for key, allowed in FIXED.items():
        value = source.option(key, allowed[0])
        if value not in allowed and not (value in (None, "", [], [""]) and allowed[0] in ("", [], None)):
            expected = " or ".join(repr(a) for a in allowed)
            raise Refused(f"{source.path}: {OPTIONS}: {key}: only {expected} can be converted, found {value!r}")
    activation = source.option("transformer-ffn-activation", "swish")
    if activation not in ACTIVATIONS:
        why = " (Marian's gelu is another function than transformers')" if activation == "gelu" else ""
        raise Refused(f"{source.path}: {OPTIONS}: transformer-ffn-activation: expected swish or relu, "
                      f"found {activation!r}{why}")


def take_norm(source, before, behind, ours, tensors, pre):
    """Convert a norm. Its name in a pre-norm model differs from that in a post-norm model."""
    for ending, part in (("scale", "weight"), ("bias", "bias")):
        tensors[f"{ours}.{part}"] = source.vector(f"{before}_ln_{ending}_pre" if pre else f"{behind}_ln_{ending}")


def take_dense(source, prefix, suffix, ours, tensors):
    tensors[ours + ".weight"] = source.matrix(f"{prefix}_W{suffix}").T
    tensors[ours + ".bias"] = source.vector(f"{prefix}_b{suffix}")


def take_ssru(source, marian, ours, tensors, pre):
    tensors[ours + "self_ssru.input_proj.weight"] = source.matrix(marian + "rnn_W").T
    take_dense(source, marian + "rnn", "f", ours + "self_ssru.forget_proj", tensors)
    take_norm(source, marian + "rnn", marian + "rnn_ffn", ours + "self_attn_layer_norm", tensors, pre)


def take_average(source, marian, ours, tensors, pre):
    prefix, ours_here = marian + "aan", ours + "self_average."
    inner = average_inner(source)
    if inner > 0:
        take_dense(source, prefix, "1", ours_here + "fc1", tensors)
    if inner not in (0, source.option("dim-emb")):
        take_dense(source, prefix, "2", ours_here + "fc2", tensors)
    if not source.option("transformer-aan-nogate", False):
        take_dense(source, prefix, "i", ours_here + "input_gate", tensors)
        take_dense(source, prefix, "f", ours_here + "mean_gate", tensors)
    take_norm(source, prefix + "_ffn", prefix + "_ffn", ours + "self_attn_layer_norm", tensors, pre)


def average_inner(source):
    """Return the width of the feed-forward block inside average attention; with a depth of 1 there is none."""
    return source.option("transformer-dim-aan", 2048) if source.option("transformer-aan-depth", 2) > 1 else 0


def take_layer(source, side, place, number, first, pre, tensors):
    """Convert Marian's layer `number` to the layer with `place` others before it."""
    marian, ours = f"{side}_l{number}_", f"model.{side}.layers.{place}."
    if first != "attention":
        (take_ssru if first == "ssru" else take_average)(source, marian, ours, tensors, pre)
    for kind, name in ATTENTION.items():
        if kind == ("context" if side == "encoder" else "self" if first != "attention" else None):
            continue
        for part in "qkvo":
            full = "out" if part == "o" else part
            tensors[f"{ours}{name}.{full}_proj.weight"] = source.matrix(f"{marian}{kind}_W{part}").T
            tensors[f"{ours}{name}.{full}_proj.bias"] = source.vector(f"{marian}{kind}_b{part}")
        take_norm(source, f"{marian}{kind}_Wo", f"{marian}{kind}_Wo", f"{ours}{name}_layer_norm", tensors, pre)
    for part in "12":
        take_dense(source, marian + "ffn", part, f"{ours}fc{part}", tensors)
    take_norm(source, marian + "ffn_ffn", marian + "ffn_ffn", ours + "final_layer_norm", tensors, pre)


def take_side(source, side, layers, first, norms, tensors):
    """Convert the layers of one side. A tied layer is stored as many times as it is used."""
    pre, embedded, top = norms
    seen = {}
    for place, number in enumerate(layers):
        if number in seen:
            own, others = f"model.{side}.layers.{place}.", f"model.{side}.layers.{seen[number]}."
            tensors.update({own + name[len(others):]: value for name, value in list(tensors.items()) if name.startswith(others)})
        else:
            take_layer(source, side, place, number, first, pre, tensors)
        seen.setdefault(number, place)
    if embedded:
        take_norm(source, side + "_emb", None, f"model.{side}.layernorm_embedding", tensors, True)
    if top:
        take_norm(source, None, side + "_top", f"model.{side}.layer_norm", tensors, False)


def padded(array):
    """Append a zero row, or a zero element, for <pad>, which Marian lacks and which starts outputs here."""
    return np.concatenate([array, np.zeros_like(array[:1])])


def take_tables(source, tensors):
    """Convert the embeddings, output layer and bias. The stored tensors must be tied as the options say."""
    everything = source.option("tied-embeddings-all", False)
    shared, tied = everything or source.option("tied-embeddings-src", False), everything or source.option("tied-embeddings", False)
    if shared:
        tensors[SHARED] = padded(source.matrix("Wemb"))
    else:
        tensors[ENCODER_WORDS] = padded(source.matrix("encoder_Wemb"))
        tensors[DECODER_WORDS] = padded(source.matrix("decoder_Wemb"))
    if not tied:
        transposed = source.has("decoder_ff_logit_out_Wt")
        head = source.matrix("decoder_ff_logit_out_W" + "t" * transposed)
        tensors[HEADS["marian"]] = padded(head if transposed else head.T)
    tensors[BIAS] = padded(source.vector("decoder_ff_logit_out_b"))[np.newaxis]
    return shared, tied


def decoder_config(source, first):
    """Return the keys of "rill" in config.json, for features that transformers lacks."""
    if first == "attention":
        return {}
    if first == "ssru":
        return {"decoder_self_attention": first}
    return {"decoder_self_attention": first, "average_ffn_dim": average_inner(source),
            "average_activation": source.option("transformer-aan-activation", "swish"),
            "average_gate": not source.option("transformer-aan-nogate", False)}


def aligned_layer(source):
    """Return the layer, from 0, whose first head gives alignments."""
    layer, depth = source.option("transformer-guided-alignment-layer", "last"), source.option("dec-depth")
    return (depth if layer == "last" else int(layer)) - 1


def make_config(source, tensors, shared, tied, positions, first, norms):
    rows = [tensors[SHARED if shared else name].shape[0] for name in (ENCODER_WORDS, DECODER_WORDS)]
    width, inner = source.option("dim-emb"), source.option("transformer-dim-ffn")
    heads, pad = source.option("transformer-heads"), rows[1] - 1
    return {
        "model_type": "marian", "architectures": ["MarianMTModel"], "is_encoder_decoder": True,
        "d_model": width, "vocab_size": rows[0], "decoder_vocab_size": rows[1],
        "share_encoder_decoder_embeddings": bool(shared), "tie_word_embeddings": bool(tied),
        "encoder_layers": source.option("enc-depth"), "decoder_layers": source.option("dec-depth"),
        "encoder_attention_heads": heads, "decoder_attention_heads": heads, "encoder_ffn_dim": inner,
        "decoder_ffn_dim": source.option("transformer-decoder-dim-ffn", 0) or inner,
        "activation_function": source.option("transformer-ffn-activation", "swish"), "scale_embedding": True,
        "normalize_before": norms[0], "normalize_embedding": norms[1], "add_final_layer_norm": norms[2],
        **decoder_config(source, first),
        "static_position_embeddings": True, "max_position_embeddings": max(LENGTH, width),
        "pad_token_id": pad, "decoder_start_token_id": pad, "bad_words_ids": [[pad]], "max_length": LENGTH,
        "rill": {"positions": positions, "alignment_layer": aligned_layer(source), "alignment_heads": 1},
    }


def find_vocabularies(directory):
    """Find the vocabularies of an OPUS-MT release: one for each side, or one for both."""
    what = "vocabularies (--vocab)"
    sides = [find_one(directory, [f"*{side}.vocab.yml"], what) for side in ("src", "trg")]
    if None not in sides:
        return sides
    shared = find_one(directory, ["*vocab.yml", "vocab.spm"], what)
    if shared is None:
        raise Refused(f"{directory}: no *vocab.yml, nor *.src.vocab.yml and *.trg.vocab.yml: name them with --vocab")
    return [shared]


def find_pieces(directory, vocabularies):
    """Return the SentencePiece models of source and target, which may be the vocabularies themselves."""
    if vocabularies[0].endswith((".spm", ".model")):
        return [vocabularies[0], vocabularies[-1]]
    found = [os.path.join(directory, name) for name in ("source.spm", "target.spm")]
    return found if all(map(os.path.exists, found)) else []


def find_files(model, vocabularies):
    """Find the files in the folder that the command line does not name."""
    inside = os.path.isdir(model)
    directory = model if inside else os.path.dirname(model) or "."
    if not os.path.exists(model):
        raise Refused(f"{model}: not there: expected Marian's model.npz, or the folder of an OPUS-MT release")
    found = Folder(directory, None if inside else model, vocabularies)
    found.model = found.model or find_one(directory, ["*.npz", "*.bin"], "model")
    if found.model is None:
        raise Refused(f"{directory}: no .npz in it, nor a .bin")
    found.vocabularies = found.vocabularies or find_vocabularies(directory)
    return directory, found


def convert(model, out, kind, vocabularies, pieces, positions):
    directory, files = find_files(model, vocabularies)
    with tempfile.TemporaryDirectory() as work:
        paths = [unpacked(path, work) for path in files.vocabularies]
        pieces = pieces or find_pieces(directory, paths)
        shortlist = unpacked(files.shortlist, work), files.counts
        convert_files(files.model, unpacked(files.model, work), out, kind, paths, pieces, positions, shortlist, files.search)
    return [out]


def convert_files(name, model, out, kind, vocabularies, pieces, positions, shortlist, search):
    """Convert a model. `name`: what the user calls it; `shortlist`: a lexicon or None, and its counts F and B; `search`: as in
    marian_folder.Folder."""
    source, tensors = Source(model, name), {}
    check_options(source)
    norms, (first, layers) = check_norms(source), check_decoder(source)
    shared, tied = take_tables(source, tensors)
    take_side(source, "encoder", range(1, source.option("enc-depth") + 1), "attention", norms, tensors)
    take_side(source, "decoder", layers, first, norms, tensors)
    left = [name for name in source.arrays if not name.startswith("special:")]
    if left:
        raise Refused(f"{name}: {left[0]}: nothing that a model with these options has: it cannot be converted")
    config = make_config(source, tensors, shared, tied, positions, first, norms)
    sides = [with_padding(path, read_vocabulary(path), config[key] - 1)
             for path, key in zip((vocabularies[0], vocabularies[-1]), ("vocab_size", "decoder_vocab_size"))]
    for side, path in zip(sides, (vocabularies[0], vocabularies[-1])):
        if side["</s>"] != sides[1]["</s>"]:
            raise Refused(f"{path}: </s> is {side['</s>']}, in {vocabularies[-1]} it is {sides[1]['</s>']}")
    config["eos_token_id"] = config["forced_eos_token_id"] = sides[1]["</s>"]
    documents = {"vocab.json": sides[0]}
    if not shared and sides[0] != sides[1]:
        documents["target_vocab.json"] = sides[1]
    copies = list(zip((pieces[0], pieces[-1]), ("source.spm", "target.spm"))) if pieces else []
    lexicon, counts = shortlist
    if lexicon is not None:
        copies.append((lexicon, os.path.basename(lexicon)))
        config["rill"]["options"] = {"shortlist": ",".join([os.path.basename(lexicon), *map(str, counts)])}
    config.update({key: value for key, value in search.items() if key != "word_penalty"})
    if search.get("word_penalty"):
        config["rill"].setdefault("options", {})["word_penalty"] = search["word_penalty"]
    write_model(out, config, tensors, file=name, kind=kind, documents=documents, copies=copies)
