#!/usr/bin/env python3
"""One made-up model is written in the versions 1 to 6 of CTranslate2's model.bin. All must give the same n-best lists.

usage: ct2_versions.py RILL

With RILL_TEST_LONG, CTranslate2 decodes the versions too, if this Python has it, and must find rill's outputs.
"""

import json
import os
import random
import struct
import subprocess
import sys
import tempfile

WIDTH, INNER, LAYERS, HEADS = 32, 64, 2, 8
SOURCE, TARGET = [f"q{i}" for i in range(12)], [f"a{i}" for i in range(9)]
SPECIAL = ["<blank>", "<s>", "</s>"]
CONFIG = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "decoder_start_token": "<s>", "add_source_bos": False,
          "add_source_eos": False, "layer_norm_epsilon": None}
TYPES = {"f": (0, 4), "b": (1, 1), "h": (2, 2)}  # array's type codes -> CTranslate2's number of the type, bytes of an element
# Revision 1 of the format uses OpenNMT-tf's names of the tensors.
FIRST_NAMES = [("embeddings_0/weight", "w_embs"), ("embeddings/weight", "w_embs"), ("weight", "kernel"), ("linear_0", "conv1d"),
               ("linear_", "conv1d_"), ("layer_norm", "LayerNorm"), ("projection", "dense")]


# --- the model --------------------------------------------------------------------------------------------------------

def make_model(kind):
    """Return {name: (shape, type code of the elements, elements)}. `kind`: "f" for weights in fp32, "h" for weights in 16 bits."""
    rng, tensors = random.Random(5), {}

    def floats(name, shape, middle=0.0):
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        tensors[name] = shape, "f", [middle + rng.gauss(0, 0.3) for _ in range(count)]

    def weights(name, rows, columns):
        values = [round(rng.gauss(0, 400)) for _ in range(rows * columns)]
        tensors[name] = ((rows, columns), "h", values) if kind == "h" else ((rows, columns), "f", [v / 1000 for v in values])

    def norm(name):
        floats(name + "/gamma", (WIDTH,), 1.0)
        floats(name + "/beta", (WIDTH,))

    def linear(name, rows, columns):
        weights(name + "/weight", rows, columns)
        floats(name + "/bias", (rows,))

    def attention(name, parts):
        for i, count in enumerate(parts):
            linear(f"{name}/linear_{i}", count * WIDTH, WIDTH)
        norm(name + "/layer_norm")

    for side in ("encoder", "decoder"):
        norm(side + "/layer_norm")
        for i in range(LAYERS):
            layer = f"{side}/layer_{i}/"
            attention(layer + "self_attention", (3, 1))
            if side == "decoder":
                attention(layer + "attention", (1, 2, 1))
            linear(layer + "ffn/linear_0", INNER, WIDTH)
            linear(layer + "ffn/linear_1", WIDTH, INNER)
            norm(layer + "ffn/layer_norm")
    weights("encoder/embeddings_0/weight", len(SPECIAL + SOURCE) + 1, WIDTH)
    weights("decoder/embeddings/weight", len(SPECIAL + TARGET) + 1, WIDTH)
    linear("decoder/projection", len(SPECIAL + TARGET) + 1, WIDTH)
    return tensors


def settings(version):
    """Return the scalars and tokens that a version stores as variables."""
    sides = ("encoder/", "decoder/") if version >= 5 else ("",)
    found = {side + name: ((), code, [value]) for side in sides
             for name, code, value in (("num_heads", "h", HEADS), ("pre_norm", "b", 1), ("activation", "b", 0))}
    if version <= 2:
        del found["num_heads"]
    if version == 1:
        return {}
    if version == 5:
        for name in ("unk_token", "bos_token", "eos_token"):
            token = {"u": b"<unk>", "b": b"<s>", "e": b"</s>"}[name[0]]
            found[name] = (len(token),), "b", list(token)
        found.update(with_source_bos=((), "b", [0]), with_source_eos=((), "b", [1]), with_target_bos=((), "b", [1]))
    return found


# --- files ------------------------------------------------------------------------------------------------------------

def first_name(name):
    side = name.split("/")[0]
    if side == "encoder":
        name = name.replace("self_attention", "multi_head")
    else:
        name = name.replace("/attention", "/multi_head").replace("self_attention", "masked_multi_head")
    for new, old in FIRST_NAMES:
        name = name.replace(new, old)
    return f"transformer/{name}:0"


def text(name):
    return struct.pack("<H", len(name) + 1) + name.encode() + b"\0"


def write_bin(path, version, tensors, scales):
    """Write a model.bin. `scales`: 16-bit matrices have a scale of 1000 in the file; otherwise the reader must assume 1000."""
    tensors = {**settings(version), **tensors}
    if scales:
        tensors.update({name + "_scale": ((), "f", [1000.0]) for name, (_, code, _) in list(tensors.items())
                        if code == "h" and name.endswith("weight")})
    aliases = []
    if version >= 3:  # The output layer's matrix is stored once: the embeddings are an alias of it.
        aliases = [("decoder/embeddings/weight", "decoder/projection/weight")]
        del tensors["decoder/embeddings/weight"]
        tensors.pop("decoder/embeddings/weight_scale", None)
    else:
        tensors["decoder/embeddings/weight"] = tensors["decoder/projection/weight"]
    spec = {2: ("TransformerBase", 2), 3: ("TransformerSpec", 3), 4: ("TransformerSpec", 4)}.get(version, ("TransformerSpec", 5))
    with open(path, "wb") as file:
        file.write(struct.pack("<I", version))
        if version > 1:
            file.write(text(spec[0]) + struct.pack("<I", spec[1]))
        file.write(struct.pack("<I", len(tensors)))
        for name, (shape, code, values) in sorted(tensors.items()):
            name = name.replace("embeddings_0", "embeddings") if version < 5 else name
            file.write(text(first_name(name) if version == 1 else name))
            file.write(struct.pack(f"<B{len(shape)}I", len(shape), *shape))
            number, size = TYPES[code]
            file.write(struct.pack("<BI", size, len(values)) if version < 4 else struct.pack("<BI", number, size * len(values)))
            file.write(struct.pack(f"<{len(values)}{code}", *values))
        if version >= 3:
            file.write(struct.pack("<I", len(aliases)) + b"".join(text(a) + text(b) for a, b in aliases))


def write_folder(folder, version, tensors, scales):
    os.makedirs(folder)
    write_bin(os.path.join(folder, "model.bin"), version, tensors, scales)
    for side, words in (("source", SOURCE), ("target", TARGET)):
        with open(os.path.join(folder, side + "_vocabulary.txt"), "w", encoding="utf-8") as file:
            file.write("".join(word + "\n" for word in SPECIAL + words))
    if version >= 6:
        with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
            json.dump(CONFIG, file)


# --- decoding ---------------------------------------------------------------------------------------------------------

def inputs():
    rng = random.Random(7)
    return [" ".join(rng.choice([*SOURCE, "none"]) for _ in range(rng.randint(1, 9))) for _ in range(20)]


def decode(rill, folder, lines):
    command = [rill, "decode", "-m", folder, "--tokenized", "--like", "ct2", "-k", "4", "--n-best", "3", "--max-length", "30", "-q"]
    return subprocess.run(command, input="\n".join(lines) + "\n", capture_output=True, check=True, encoding="utf-8").stdout


def compare_with_ctranslate2(folder, lines, found):
    try:
        import ctranslate2
    except ImportError:
        print("this Python has no ctranslate2: not compared with it")
        return
    translator = ctranslate2.Translator(folder, compute_type="float32", intra_threads=1)
    results = translator.translate_batch([line.split() for line in lines], beam_size=4, num_hypotheses=3, max_decoding_length=30)
    theirs = [f"{i} ||| {' '.join(h)}" for i, result in enumerate(results) for h in result.hypotheses]
    ours = [line[:line.index(" ||| logp=")].rstrip() for line in found.splitlines()]
    assert ours == [line.rstrip() for line in theirs], f"{folder}: CTranslate2 finds other outputs"


def check_refusals(rill, work):
    """Invalid values of the variables of version 5 are refused."""
    for number, (name, variable, words) in enumerate([
            ("eos_token", ((3,), "b", list(b'a"b')), "expected a token without quotes, backslashes and control characters"),
            ("bos_token", ((201,), "b", [97] * 201), "expected a token of 1 to 200 bytes"),
            ("unk_token", ((2,), "h", [97, 98]), "expected a token of 1 to 200 bytes"),
            ("unk_token", ((1,), "b", [97]), 'model.bin: unk_token: expected "<unk>", found "a"'),
            ("eos_token", ((1,), "b", [97]), "source_vocabulary.txt: expected a token a, which ends inputs"),
            ("with_target_bos", ((), "b", [2]), "expected a number from 0 to 1, found 2"),
            ("user_decoder_start_tokens", ((), "b", [1]), "model.bin: decoder_start_token: expected a token"),
            ("with_source_bits", ((), "b", [1]), 'tensor "with_source_bits": this value is not supported')]):
        folder = os.path.join(work, f"refused{number}")
        write_folder(folder, 5, {**make_model("f"), name: variable}, scales=False)
        run = subprocess.run([rill, "decode", "-m", folder, "--tokenized"], input="q1\n", capture_output=True, encoding="utf-8")
        assert run.returncode == 1 and words in run.stderr, f"{name}: {run.stderr}"


def main():
    rill, lines = sys.argv[1], inputs()
    with tempfile.TemporaryDirectory() as work:
        check_refusals(rill, work)
        for kind in "fh":
            expected, model = None, make_model(kind)
            for version in (6, 5, 4, 3, 2, 1):
                # Version 5 of this model adds </s> to inputs itself.
                given = lines if version == 5 else [line + " </s>" for line in lines]
                folder = os.path.join(work, f"{kind}{version}")
                write_folder(folder, version, model, scales=kind == "h" and version in (6, 3))
                found = decode(rill, folder, given)
                expected = expected or found
                assert len(set(expected.split("\n"))) > 30, "the model's outputs are all alike"
                assert found == expected, f"version {version} of {kind} gives other outputs than version 6"
                if os.environ.get("RILL_TEST_LONG"):
                    compare_with_ctranslate2(folder, given, found)


if __name__ == "__main__":
    main()
