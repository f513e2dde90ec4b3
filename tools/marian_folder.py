"""Folders of Marian's models as people download them, such as Firefox's: which file is what, and compressed files.

A folder has a config*.yml that names its files, or model*.bin beside vocab*.spm (or srcvocab*.spm and trgvocab*.spm) and, for
students, the shortlist lex*.bin. Any of the files may end in .gz.
"""

import glob
import gzip
import os
import shutil

from marian_yaml import read_options
from refusal import Refused

ENDING = ".gz"
FIREFOX_BEAM = 1  # what Firefox uses; config*.yml of these models says so too


def find_one(directory, patterns, what):
    """The one file of the directory that matches, with or without .gz; several are a question for the user."""
    for pattern in patterns:
        found = sorted(glob.glob(os.path.join(glob.escape(directory), pattern)))
        found += [path for path in sorted(glob.glob(os.path.join(glob.escape(directory), pattern + ENDING)))
                  if path[:-len(ENDING)] not in found]
        if len(found) > 1:
            raise Refused(f"{directory}: {len(found)} files match {pattern}: name the {what} on the command line")
        if found:
            return found[0]
    return None


def named_file(directory, config, name):
    """A file that config*.yml names, with or without .gz. Its path must stay in the folder."""
    parts = str(name).split("/")
    if not isinstance(name, str) or os.path.isabs(name) or ".." in parts:
        raise Refused(f"{config}: {name!r}: expected the name of a file in the folder")
    for path in (os.path.join(directory, name), os.path.join(directory, name + ENDING)):
        if os.path.exists(path):
            return path
    raise Refused(f"{os.path.join(directory, name)}: not there, but {os.path.basename(config)} names it")


def first_of(value):
    return value[0] if isinstance(value, list) and value else value


class Folder:
    """`model`, `vocabularies` (one or two), `shortlist` and `beam`; None where the folder does not say."""

    def __init__(self, directory):
        self.model = self.vocabularies = self.shortlist = self.beam = None
        config = find_one(directory, ["config*.yml"], "model")
        if config is not None:
            self.read_config(directory, config)
        else:
            self.read_names(directory)

    def read_config(self, directory, config):
        with open(config, encoding="utf-8") as file:
            options = read_options(file.read(), config)
        models, vocabularies = options.get("models"), options.get("vocabs")
        if not models or not vocabularies:
            raise Refused(f"{config}: expected lists of models and vocabs")
        if isinstance(models, list) and len(models) > 1:
            raise Refused(f"{config}: an ensemble of {len(models)} models: convert each, and decode with -m A -m B")
        self.model = named_file(directory, config, first_of(models))
        names = vocabularies if isinstance(vocabularies, list) else [vocabularies]
        self.vocabularies = [named_file(directory, config, name) for name in names]
        if first_of(options.get("shortlist")) not in (None, "", False):
            self.shortlist = named_file(directory, config, first_of(options["shortlist"]))
        self.beam = options.get("beam-size")

    def read_names(self, directory):
        sides = [find_one(directory, [side + "vocab*.spm"], "vocabularies (--vocab)") for side in ("src", "trg")]
        shared = find_one(directory, ["vocab*.spm"], "vocabularies (--vocab)")
        self.shortlist = find_one(directory, ["lex*.bin"], "model")
        self.model = find_one(directory, ["model*.bin"], "model")
        self.vocabularies = sides if None not in sides else [shared] if shared is not None else None
        if self.model is not None and self.shortlist is not None:
            self.beam = FIREFOX_BEAM


def unpacked(path, work):
    """The path of a file that is not compressed: itself, or a copy in the folder `work`."""
    if path is None or not path.endswith(ENDING):
        return path
    out = os.path.join(work, os.path.basename(path)[:-len(ENDING)])
    try:
        with gzip.open(path) as source, open(out, "wb") as target:
            shutil.copyfileobj(source, target)
    except (EOFError, gzip.BadGzipFile) as error:
        raise Refused(f"{path}: not a whole gzip file: {error}") from error
    return out
