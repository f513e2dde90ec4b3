"""Packages of Argos Translate: a zip with a CTranslate2 folder, model/, and the tokenizer beside it.

rill reads the folder as it is, so the files are copied out of the zip unchanged: those of model/, and sentencepiece.model, or
bpe.model with metadata.json, which names the languages.
"""

import json
import os
import shutil
import zipfile
import zlib

from refusal import Refused, check_unpacked, written_whole

ENDING = ".argosmodel"
MODEL = "model/"
TOKENIZERS = (["sentencepiece.model"], ["bpe.model", "metadata.json"])


def is_package(path):
    return path.endswith(ENDING) and os.path.isfile(path)


def find_top(path, names):
    """Return the folder in the zip that contains model/model.bin."""
    found = sorted(name[:-len(MODEL + "model.bin")] for name in names if ("/" + name).endswith("/" + MODEL + "model.bin"))
    if len(found) != 1:
        raise Refused(f"{path}: expected a {MODEL}model.bin in the zip, found {len(found)}")
    return found[0]


def check_metadata(path, archive, top):
    if top + "metadata.json" not in archive.namelist():
        return
    try:
        metadata = json.loads(archive.read(top + "metadata.json"))
    except ValueError as error:
        raise Refused(f"{path}: {top}metadata.json: {error}") from error
    if isinstance(metadata, dict) and metadata.get("target_prefix"):
        raise Refused(f"{path}: {top}metadata.json: target_prefix: packages of several target languages are not supported")


def convert(path, out):
    try:
        with zipfile.ZipFile(path) as archive:
            top = find_top(path, archive.namelist())
            check_metadata(path, archive, top)
            found = next((names for names in TOKENIZERS if all(top + name in archive.namelist() for name in names)), ())
            wanted = [name for name in archive.namelist() if os.path.dirname(name) == (top + MODEL).rstrip("/") and not name.endswith("/")]
            wanted += [top + name for name in found]
            check_unpacked(path, sum(archive.getinfo(name).file_size for name in wanted))
            for name in wanted:
                if os.path.basename(name) in (".", ".."):
                    raise Refused(f"{path}: {name}: expected the name of a file")
            with written_whole(out) as folder:
                for name in wanted:
                    with archive.open(name) as source, open(os.path.join(folder, os.path.basename(name)), "wb") as target:
                        shutil.copyfileobj(source, target)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise Refused(f"{path}: not a whole zip: {error}") from error
    if not found:
        return [f"{out}: the package has neither sentencepiece.model nor bpe.model with metadata.json: decode tokens, with --tokenized"]
    return [out]
