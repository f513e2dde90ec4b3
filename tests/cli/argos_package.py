#!/usr/bin/env python3
"""`rill convert` and `rill decode` with packages of Argos Translate and other CTranslate2 folders. The SentencePiece model is in the
folder, beside it, or nowhere.

usage: argos_package.py RILL ROOT

ROOT: the repository. The package's model is made up (ct2_versions.py), with words of examples/models/de-en's source.spm.
"""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import zipfile

import ct2_versions

RILL, ROOT = map(os.path.realpath, sys.argv[1:3])
SPM = os.path.join(ROOT, "examples", "models", "de-en", "source.spm")
WORDS = ["a", "in", "I", "Tom", "the", "is", "on", "and"]
TEXTS = ["Tom is in the", "a", "I and Tom and I", "on on a the"]
NO_TOKENIZER = "there is no tokenizer, so inputs must be the model's tokens"
failures = 0


def check(what, found, expected):
    global failures
    if found != expected:
        failures += 1
        print(f"FAILED: {what}\n  found    {found!r}\n  expected {expected!r}")


def run(*command, lines=()):
    return subprocess.run(command, input="".join(line + "\n" for line in lines), capture_output=True, encoding="utf-8")


def decode(folder, *options, lines=TEXTS):
    return run(RILL, "decode", "-m", folder, "--quiet", "--no-repeat-ngram-size", "1", *options, lines=lines)


def convert(path, out):
    return run(sys.executable, os.path.join(ROOT, "tools", "convert_mt.py"), path, "--out", out)


def pack(path, folder, *more):
    """Write a zip of the folder's files as Argos Translate does. `more`: names of further entries in its folder."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for top, _folders, names in os.walk(folder):
            for name in names:
                full = os.path.join(top, name)
                archive.write(full, os.path.join("translate-x_y-1_0", os.path.relpath(full, folder)))
        for name in more:
            archive.writestr("translate-x_y-1_0/" + name, "evil")


def damage(path, out):
    """Copy the package so that the compressed bytes of model.bin cannot be unpacked."""
    with open(path, "rb") as file:
        data = bytearray(file.read())
    with zipfile.ZipFile(path) as archive:
        start = next(info for info in archive.infolist() if info.filename.endswith("model.bin")).header_offset
    start += 30 + int.from_bytes(data[start + 26:start + 28], "little") + int.from_bytes(data[start + 28:start + 30], "little")
    data[start:start + 8] = b"\xff" * 8
    with open(out, "wb") as file:
        file.write(data)


def tokens_and_texts(model):
    """Decode TEXTS as SentencePiece tokens, and return the outputs as texts."""
    lines = [" ".join("▁" + word for word in text.split()) for text in TEXTS]
    found = decode(model, "--tokenized", lines=lines)
    check("tokens without a warning", found.stderr, "")
    return "".join(line.replace("<unk>", "").replace(" ", "").replace("▁", " ").strip() + "\n" for line in found.stdout.splitlines())


def check_codes():
    """Packages with BPE codes of subword-nmt decode text with Moses' tokenization."""
    ct2_versions.TARGET = ["the", "is", "in", "T@@", "o@@", "m"]
    ct2_versions.SOURCE = [*ct2_versions.TARGET, ","]
    ct2_versions.write_folder("codes/model", 6, ct2_versions.make_model("f"), scales=False)
    with open("codes/bpe.model", "w", encoding="utf-8") as file:
        file.write("#version: 0.2\nt h\nth e</w>\ni s</w>\ni n</w>\n")
    check("codes need the languages", decode("codes/model").stderr.count(NO_TOKENIZER), 1)
    with open("codes/metadata.json", "w", encoding="utf-8") as file:
        json.dump({"from_code": "pt", "to_code": "en"}, file)
    texts = ["the Tom, is", "in", "Tom the", "is in Tom", "m o", "Tom"]
    tokens = ["the T@@ o@@ m , is", "in", "T@@ o@@ m the", "is in T@@ o@@ m", "m o", "T@@ o@@ m"]
    expected = ""
    for line in decode("codes/model", "--tokenized", lines=tokens).stdout.splitlines():
        expected += " ".join(word for word in line.split() if word not in ("<s>", "<unk>")).replace("@@ ", "") + "\n"
    check("outputs that differ", len(set(expected.split("\n"))) > 2, True)
    found = decode("codes/model", lines=texts)
    check("a package with codes", (found.stdout, found.stderr), (expected, ""))
    pack("codes.argosmodel", "codes")
    found = convert("codes.argosmodel", "of-codes")
    check("a package with codes is converted", (found.stdout, found.stderr), ("of-codes\n", ""))
    found = decode("of-codes", lines=texts)
    check("a converted package with codes", (found.stdout, found.stderr), (expected, ""))


def contents(folder):
    found = {}
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), "rb") as file:
            found[name] = file.read()
    return found


def check_full_disk():
    """A conversion that cannot write all of its files leaves the folder as it was, and its message names the folder."""
    before = contents("out6")
    for bytes_ in (100, 20000):
        found = subprocess.run([sys.executable, os.path.join(ROOT, "tools", "convert_mt.py"), "package2.argosmodel", "--out", "out6"],
                               preexec_fn=lambda most=bytes_: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)), capture_output=True,
                               encoding="utf-8")
        check("a full disk", (found.returncode, found.stderr), (1, "convert_mt: out6: File too large\n"))
        check("the folder that was there", contents("out6") == before, True)


def main():
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        check_codes()
        ct2_versions.SOURCE = ct2_versions.TARGET = ["▁" + word for word in WORDS]
        for version in (2, 6):
            package = f"package{version}"
            ct2_versions.write_folder(f"{package}/model", version, ct2_versions.make_model("f"), scales=False)
            expected = tokens_and_texts(f"{package}/model")
            check("outputs that differ", len(set(expected.split("\n"))) > 2, True)

            found = decode(f"{package}/model")
            check("a folder without a tokenizer works", found.returncode, 0)
            check("it says so once", found.stderr.count(NO_TOKENIZER), 1)
            shutil.copy(SPM, f"{package}/sentencepiece.model")
            with open(f"{package}/metadata.json", "w", encoding="utf-8") as file:
                json.dump({"from_code": "x", "to_code": "y", "target_prefix": ""}, file)
            found = decode(f"{package}/model")
            check("a tokenizer beside the model", (found.stdout, found.stderr), (expected, ""))
            found = decode(package)
            check("a package's folder", (found.returncode, f"its model is {package}/model" in found.stderr), (1, True))

            pack(f"{package}.argosmodel", package, "model/../evil", "model/../../evil", "model/inner/evil")
            found = decode(f"{package}.argosmodel")
            check("a package", f"unpack it with rill convert {package}.argosmodel --out NEW" in found.stderr, True)
            found = convert(f"{package}.argosmodel", f"out{version}")
            check("a package is converted", (found.stdout, found.stderr), (f"out{version}\n", ""))
            check("its files", sorted(os.listdir(f"out{version}")), sorted(os.listdir(f"{package}/model") + ["sentencepiece.model"]))
            check("nothing beside it", os.path.exists("evil"), False)
            found = decode(f"out{version}")
            check("a converted package", (found.stdout, found.stderr), (expected, ""))

        check_full_disk()
        for names in (("source.spm", "target.spm"), ("source.model", "target.model"), ("spm.model",)):
            shutil.copytree("package6/model", "named")
            for name in names:
                shutil.copy(SPM, os.path.join("named", name))
            found = decode("named")
            check(" and ".join(names), (found.stdout, found.stderr), (expected, ""))
            shutil.rmtree("named")
        with open("package6/sentencepiece.model", "w", encoding="utf-8") as file:
            file.write("#version: 0.2\na b\n")  # codes of subword-nmt, no SentencePiece model
        check("a file that is no SentencePiece model", decode("package6/model").stderr.count(NO_TOKENIZER), 1)

        os.remove("package6/sentencepiece.model")
        pack("bpe.argosmodel", "package6")
        check("a package without SentencePiece", "decode tokens, with --tokenized" in convert("bpe.argosmodel", "bpe").stdout, True)
        with open("package6/metadata.json", "w", encoding="utf-8") as file:
            json.dump({"target_prefix": "__en__"}, file)
        pack("many.argosmodel", "package6")
        check("a package of many languages", "target_prefix: packages of several" in convert("many.argosmodel", "never").stderr, True)
        with open("text.argosmodel", "w", encoding="utf-8") as file:
            file.write("no zip")
        check("no zip", "not a whole zip" in convert("text.argosmodel", "never").stderr, True)
        damage("bpe.argosmodel", "damaged.argosmodel")
        check("a damaged zip", "not a whole zip" in convert("damaged.argosmodel", "part").stderr, True)
        with zipfile.ZipFile("empty.argosmodel", "w") as archive:
            archive.writestr("x", "y")
        with zipfile.ZipFile("bomb.argosmodel", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("model/model.bin", bytes(17 << 20))
        check("a bomb", "unpacks to more than 16777216 bytes" in convert("bomb.argosmodel", "never").stderr, True)
        with zipfile.ZipFile("out.argosmodel", "w") as archive:
            archive.writestr("model/model.bin", "x")
            archive.writestr("model/..", "x")
        check("a way out", "model/..: expected the name of a file" in convert("out.argosmodel", "never").stderr, True)
        check("no model", "expected a model/model.bin in the zip, found 0" in convert("empty.argosmodel", "never").stderr, True)
        check("what was refused is not there", os.path.exists("never"), False)
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
