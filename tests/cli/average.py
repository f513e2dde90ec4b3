#!/usr/bin/env python3
"""`rill convert average`. The checkpoints are a shipped model with noise added that cancels in the average.

usage: average.py RILL TOOLS MODEL
"""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile

RILL, TOOLS, MODEL = map(os.path.abspath, sys.argv[1:])
sys.path.insert(0, TOOLS)
try:
    import numpy as np
except ImportError:
    print("skipped: NumPy is not installed")
    sys.exit(77)
from model_files import read_safetensors, write_safetensors  # noqa: E402

failures = 0


def check(what, found, expected):
    global failures
    if found != expected:
        failures += 1
        print(f"FAILED: {what}: expected {expected!r}, found {found!r}")


def run(*arguments, text=None):
    done = subprocess.run([RILL, *arguments], input=text, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr.strip()


def checkpoint(name, sign, **config):
    """Copy the model with sign * 1/8 of each weight's magnitude added to the weight, and with keys of config.json replaced."""
    shutil.copytree(MODEL, name)
    tensors = read_safetensors(f"{MODEL}/model.safetensors")
    write_safetensors(f"{name}/model.safetensors", {key: value * np.float32(1 + sign / 8) for key, value in tensors.items()}, "F32")
    with open(f"{name}/config.json", encoding="utf-8") as file:
        whole = json.load(file)
    with open(f"{name}/config.json", "w", encoding="utf-8") as file:
        json.dump({**whole, **config}, file)


def refused(what, *folders):
    code, _, told = run("convert", "average", *folders, "--out", "none")
    check(what, (code, os.path.exists("none")), (1, False))
    check(what, what in told, True)


def averages():
    original = read_safetensors(f"{MODEL}/model.safetensors")
    checkpoint("less", -1)
    checkpoint("more", 1, _name_or_path="checkpoint-2")
    checkpoint("same", 0)
    check("the command", run("convert", "average", "less", "more", "same", "--out", "mean"), (0, "mean\n", ""))
    mean = read_safetensors("mean/model.safetensors", None)
    check("the tensors", sorted(mean), sorted(original))
    check("the type", {str(array.dtype) for array in mean.values()}, {"float32"})
    check("the means", [key for key in mean if not np.allclose(mean[key], original[key], rtol=1e-6, atol=0)], [])
    text = "Ein Hund schläft.\nWo ist der Bahnhof?\n"
    check("its outputs", run("decode", "-q", "-m", "mean", text=text), run("decode", "-q", "-m", MODEL, text=text))
    checkpoint("listed", 0, rill={"options": {"shortlist": "lex.s2t,50,40"}})
    with open("listed/lex.s2t", "w", encoding="utf-8") as file:
        file.write("Hund dog 1\n")
    shutil.copytree("listed", "listed2")
    check("a shortlist", run("convert", "average", "listed", "listed2", "--out", "both")[0], 0)
    check("a shortlist", os.path.exists("both/lex.s2t"), True)
    check("in 16 bits", run("convert", "average", "less", "more", "--type", "F16", "--out", "half")[0], 0)
    check("in 16 bits", {str(array.dtype) for array in read_safetensors("half/model.safetensors", None).values()}, {"float16"})
    check("bfloat16", np.array_equal(bfloat16(), np.float32([1.5, -2])), True)


def bfloat16():
    """Write a file with a tensor in bfloat16 and read it."""
    header = json.dumps({"a": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}).encode()
    with open("bf16", "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header + bytes.fromhex("c03f00c0"))
    return read_safetensors("bf16", None)["a"]


def full_disk():
    """An average that cannot be written changes no file, even if the output folder is one of the checkpoints."""
    before = {name: os.stat(f"more/{name}").st_mtime_ns for name in sorted(os.listdir("more"))}
    weights = read_safetensors("more/model.safetensors")
    done = subprocess.run([RILL, "convert", "average", "less", "more", "--out", "more"], capture_output=True, text=True,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000)), check=False)
    check("a full disk", (done.returncode, done.stderr), (1, "rill convert: more: File too large\n"))
    check("its files", {name: os.stat(f"more/{name}").st_mtime_ns for name in sorted(os.listdir("more"))}, before)
    check("its weights", all(np.array_equal(weights[key], now) for key, now in read_safetensors("more/model.safetensors").items()), True)


def bad_folders():
    refused("expected two folders or more", "less")
    refused("nowhere/model.safetensors: not there", "nowhere", "less")
    checkpoint("wider", 0, max_length=77)
    refused("wider/config.json: max_length is 77", "less", "wider")
    checkpoint("others", 0)
    os.remove("others/target.spm")
    refused("others/target.spm: not the same as less/target.spm", "less", "others")
    checkpoint("fewer", 0)
    tensors = read_safetensors("fewer/model.safetensors")
    name = sorted(tensors)[0]
    write_safetensors("fewer/model.safetensors", {key: value for key, value in tensors.items() if key != name})
    refused(f"fewer/model.safetensors: {name}: expected {list(tensors[name].shape)}", "less", "fewer")
    refused(f"less/model.safetensors: {name}: expected no such tensor", "fewer", "less")
    for size in (3, 8, 100000):
        with open("fewer/model.safetensors", "wb") as file, open("same/model.safetensors", "rb") as whole:
            file.write(whole.read(size))
        refused("fewer/model.safetensors: not a safetensors file of floats, or damaged", "less", "fewer")


with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    averages()
    full_disk()
    bad_folders()
print(f"{failures} failures")
sys.exit(1 if failures else 0)
