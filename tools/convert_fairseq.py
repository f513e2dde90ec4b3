"""fairseq's checkpoints (model1.pt .. with dict.LANG.txt and bpecodes) to FSMT directories, one for each checkpoint.

FSMT has fairseq's names of tensors with "model." before them. Older checkpoints have queries, keys and values in one matrix, and
layer norms by number. fastBPE marks the tokens that continue (`ab@@`); FSMT's vocabularies mark those that end a word (`ab</w>`).
"""

import os
import re

from convert_bin import read_json
from mt_directory import DECODER_WORDS, ENCODER_WORDS, HEADS, vocabulary_sizes, write_model
from refusal import Refused, open_text
from torch_files import TorchFile, plain

SPECIALS = ["<s>", "<pad>", "</s>", "<unk>"]
CODES = ("bpecodes", "code", "codes", "bpe.codes")
ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "swish": "swish"}
# Arguments that change the computation, and the only supported value of each.
FIXED = {
    "encoder_normalize_before": False, "decoder_normalize_before": False, "encoder_learned_pos": False,
    "decoder_learned_pos": False, "no_token_positional_embeddings": False, "adaptive_softmax_cutoff": None,
    "layernorm_embedding": False, "no_cross_attention": False, "cross_self_attention": False,
    "adaptive_input": False, "base_layers": 0, "scale_fc": False, "scale_heads": False, "scale_attn": False,
    "scale_resids": False,
}
NORMS = {"encoder": ("self_attn_layer_norm", "final_layer_norm"),
         "decoder": ("self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm")}
# Tensors that are no weights: version numbers, and sinusoidal positions, which are computed.
PASSED_OVER = re.compile(r"(encoder|decoder)\.(version|embed_positions\.(_float_tensor|weights)|future_mask)$")


# --- arguments --------------------------------------------------------------------------------------------------------

def read_arguments(file):
    """Return the training arguments: a Namespace, or in newer files the part "model" of a configuration."""
    root = file.root
    if not isinstance(root, dict) or not isinstance(root.get("model"), dict):
        raise Refused(f"{file.path}: expected a checkpoint of fairseq with tensors under \"model\"")
    arguments = plain(root.get("args"))
    if arguments is None:
        configuration = plain(root.get("cfg")) or {}
        arguments = {**(configuration.get("task") or {}), **(configuration.get("model") or {})}
    if not isinstance(arguments, dict) or not arguments:
        raise Refused(f"{file.path}: neither \"args\" nor \"cfg\" says how the model is built")
    return arguments


def check_arguments(path, arguments):
    name = str(arguments.get("arch") or arguments.get("_name") or "transformer")
    if not name.startswith("transformer") or name.startswith("transformer_lm"):
        raise Refused(f"{path}: arch: expected a transformer for translation, found {name}")
    for key, value in FIXED.items():
        if arguments.get(key, value) != value and arguments.get(key) not in (None, ""):
            raise Refused(f"{path}: {key}: only {value} can be converted, found {arguments[key]!r}")
    width = arguments.get("encoder_embed_dim")
    for key in ("decoder_embed_dim", "decoder_input_dim", "decoder_output_dim"):
        if arguments.get(key, width) != width:
            raise Refused(f"{path}: {key}: expected encoder_embed_dim = {width}, found {arguments[key]}")
    if arguments.get("activation_fn", "relu") not in ACTIVATIONS:
        raise Refused(f"{path}: activation_fn: expected one of {', '.join(ACTIVATIONS)}, "
                      f"found {arguments['activation_fn']!r}")


def make_config(path, arguments, langs, sizes):
    def needed(key):
        if not isinstance(arguments.get(key), int):
            raise Refused(f"{path}: {key}: expected a number, found {arguments.get(key)!r}")
        return arguments[key]

    sides = {f"{side}_{ours}": needed(f"{side}_{theirs}") for side in NORMS
             for ours, theirs in (("layers", "layers"), ("attention_heads", "attention_heads"),
                                  ("ffn_dim", "ffn_embed_dim"))}
    lengths = [arguments.get(f"max_{side}_positions") or 1024 for side in ("source", "target")]
    return {
        "model_type": "fsmt", "architectures": ["FSMTForConditionalGeneration"], "is_encoder_decoder": True,
        "langs": list(langs), "src_vocab_size": sizes[0], "tgt_vocab_size": sizes[1],
        "d_model": needed("encoder_embed_dim"), **sides, "max_position_embeddings": min(lengths),
        "activation_function": ACTIVATIONS[arguments.get("activation_fn", "relu")],
        "scale_embedding": not arguments.get("no_scale_embedding", False),
        "tie_word_embeddings": bool(arguments.get("share_all_embeddings", False)),
        "bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2,
        "forced_eos_token_id": 2, "max_length": 200, "num_beams": 5,
    }


# --- tensors ----------------------------------------------------------------------------------------------------------

def renamed(key):
    """Return FSMT's name of a fairseq tensor that is stored unchanged."""
    match = re.fullmatch(r"(encoder|decoder)\.layers\.(\d+)\.layer_norms\.(\d)\.(weight|bias)", key)
    if match and int(match.group(3)) < len(NORMS[match.group(1)]):
        side, layer, number, part = match.groups()
        return f"model.{side}.layers.{layer}.{NORMS[side][int(number)]}.{part}"
    if key == "decoder.embed_out":
        return HEADS["fsmt"]
    return "model." + key


def read_tensors(file):
    tensors = {}
    for key, value in file.root["model"].items():
        if PASSED_OVER.fullmatch(key):
            continue
        array = file.array(value, key)
        match = re.fullmatch(r"(.*_attn)\.in_proj_(weight|bias)", key)
        if not match:
            tensors[renamed(key)] = array
            continue
        if array.shape[0] % 3:
            raise Refused(f"{file.path}: {key}: expected queries, keys and values, found shape {list(array.shape)}")
        third = array.shape[0] // 3
        for i, part in enumerate("qkv"):
            tensors[f"model.{match.group(1)}.{part}_proj.{match.group(2)}"] = array[i * third:(i + 1) * third]
    return tensors


def tie(arguments, tensors):
    """Keep one copy of a shared table: fairseq stores it under each of its names, in some checkpoints only once."""
    if arguments.get("share_decoder_input_output_embed") and not arguments.get("share_all_embeddings"):
        tensors.pop(HEADS["fsmt"], None)  # without an output layer, FSMT uses the decoder's embedding


# --- vocabularies -----------------------------------------------------------------------------------------------------

def read_dictionary(path):
    """Read a dict.LANG.txt into {token: id}: lines of token and count, with ids from 4 on."""
    symbols = {symbol: number for number, symbol in enumerate(SPECIALS)}
    count = len(symbols)
    if not os.path.exists(path):
        raise Refused(f"{path}: not there: give the folder of dict.LANG.txt with --data")
    with open_text(path) as file:
        for number, line in enumerate(file, 1):
            parts = line.rstrip("\r\n").split(" ")
            overwrites = parts[-1] == "#fairseq:overwrite"
            parts = parts[:-1] if overwrites else parts
            if len(parts) < 2 or not parts[-1].isdigit():
                raise Refused(f"{path}:{number}: expected SYMBOL COUNT, found {line.strip()[:60]!r}")
            symbol = " ".join(parts[:-1])
            if symbol in symbols and not overwrites:
                raise Refused(f"{path}:{number}: {symbol!r} occurs twice")
            symbols[symbol] = count
            count += 1
    return symbols, count


def end_marked(path, symbols, count):
    """Turn continuation marks into end marks. A token that another one has overwritten keeps a unique name."""
    pieces = {}
    for symbol, number in symbols.items():
        if number < len(SPECIALS) and symbol == SPECIALS[number]:
            piece = symbol
        else:
            piece = symbol[:-2] if symbol.endswith("@@") else symbol + "</w>"
        if piece in pieces:
            raise Refused(f"{path}: two symbols would be {piece!r}")
        pieces[piece] = number
    taken = set(pieces.values())
    pieces.update({f"<unused{number}>": number for number in range(count) if number not in taken})
    return dict(sorted(pieces.items(), key=lambda entry: entry[1]))


def read_merges(codes):
    """Return the merges in order, one per line, without fastBPE's counts and without subword-nmt's first line."""
    text = ""
    with open_text(codes) as file:
        for number, line in enumerate(file, 1):
            parts = line.rstrip("\r\n").split(" ")
            if number == 1 and line.startswith("#version"):
                continue
            if len(parts) not in (2, 3) or not all(parts) or (len(parts) == 3 and not parts[2].isdigit()):
                raise Refused(f"{codes}:{number}: expected a pair of pieces, found {line.strip()[:60]!r}")
            text += " ".join(parts[:2]) + "\n"
    return text


def find_codes(directory):
    for name in CODES:
        if os.path.exists(os.path.join(directory, name)):
            return os.path.join(directory, name)
    raise Refused(f"{directory}: no {' or '.join(CODES)}: give the file with --codes, or --no-merges for a model that "
                  "takes pieces only (rill's --tokenized)")


# --- a whole model -------------------------------------------------------------------------------------------------------

def guess_langs(path, arguments, langs):
    langs = langs or [arguments.get("source_lang"), arguments.get("target_lang")]
    if not all(isinstance(lang, str) for lang in langs):
        raise Refused(f"{path}: source_lang, target_lang: not said: give --langs SOURCE TARGET")
    return langs


def convert_one(model, out, kind, options):
    file = TorchFile(model)
    arguments = read_arguments(file)
    check_arguments(model, arguments)
    langs = guess_langs(model, arguments, options.langs)
    directory = options.data or os.path.dirname(model) or "."
    dictionaries = [os.path.join(directory, f"dict.{lang}.txt") for lang in langs]
    sides = [end_marked(path, *read_dictionary(path)) for path in dictionaries]
    config = make_config(model, arguments, langs, [len(side) for side in sides])
    tensors = read_tensors(file)
    tie(arguments, tensors)
    for name, path, size in zip((ENCODER_WORDS, DECODER_WORDS), dictionaries, vocabulary_sizes(config)):
        if name in tensors and tensors[name].shape[0] != size:
            raise Refused(f"{path}: {size} symbols with the {len(SPECIALS)} special ones, but {model} has embeddings "
                          f"for {tensors[name].shape[0]} ({name[len('model.'):]})")
    merges = "" if options.no_merges else read_merges(options.codes or find_codes(directory))
    lower = all(piece == piece.lower() for piece in sides[0])
    tokenizer = {"langs": list(langs), "model_max_length": config["max_position_embeddings"], "do_lower_case": lower}
    write_model(out, config, tensors, file=model, kind=kind,
                documents={"vocab-src.json": sides[0], "vocab-tgt.json": sides[1], "tokenizer_config.json": tokenizer},
                texts={"merges.txt": merges} if merges else None)
    return out


def convert(models, out, kind, options):
    """Convert one model to `out` itself, or several models to folders in it with the models' names."""
    names = [os.path.splitext(os.path.basename(model))[0] for model in models]
    if len(set(names)) < len(names):
        raise Refused(f"{models[0]}: several models are called {names[0]}: their folders would be one")
    outs = [out] if len(models) == 1 else [os.path.join(out, name) for name in names]
    made = [convert_one(model, where, kind, options) for model, where in zip(models, outs)]
    for name in ("vocab-src.json", "vocab-tgt.json"):
        first = read_json(os.path.join(made[0], name))
        for where in made[1:]:
            if read_json(os.path.join(where, name)) != first:
                raise Refused(f"{where}/{name}: differs from {made[0]}'s: these are no ensemble")
    return made
