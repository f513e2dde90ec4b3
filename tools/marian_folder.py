"""Folders of Marian's models as people download them, such as Firefox's: which file is what, and compressed files.

A folder has a config*.yml that names its files, or model*.bin beside vocab*.spm (or srcvocab*.spm and trgvocab*.spm) and, for
students, the shortlist lex*.bin. Any of the files may end in .gz.
"""

import fnmatch
import glob
import gzip
import os
import tempfile
import zlib

from marian_yaml import read_options
from refusal import Refused, check_unpacked, open_text

ENDING = ".gz"
FIREFOX_BEAM = 1  # the beam size that Firefox uses, also stated in config*.yml of these models


def find_all(directory, pattern):
    """Return the files of the directory that match, with or without .gz. If both exist, the uncompressed file counts."""
    found = sorted(glob.glob(os.path.join(glob.escape(directory), pattern)))
    packed = sorted(glob.glob(os.path.join(glob.escape(directory), pattern + ENDING)))
    return found + [path for path in packed if path[:-len(ENDING)] not in found]


def find_one(directory, patterns, what):
    """Return the one file of the directory that matches; if there are several, the user has to choose."""
    for pattern in patterns:
        found = find_all(directory, pattern)
        if len(found) > 1:
            raise Refused(f"{directory}: {len(found)} files match {pattern}: name the {what} on the command line")
        if found:
            return found[0]
    return None


def named_file(directory, config, name):
    """Return a file that config*.yml names, with or without .gz. Its path must stay in the folder."""
    parts = str(name).split("/")
    if not isinstance(name, str) or os.path.isabs(name) or ".." in parts:
        raise Refused(f"{config}: {name!r}: expected the name of a file in the folder")
    for path in (os.path.join(directory, name), os.path.join(directory, name + ENDING)):
        if os.path.exists(path):
            return path
    raise Refused(f"{os.path.join(directory, name)}: not there, but {os.path.basename(config)} names it")


def first_of(value):
    return value[0] if isinstance(value, list) and value else value


def number_of(config, options, key):
    """Return a number of config*.yml; 0, as in Marian, if it is missing. Marian reads a bare `normalize` as 1."""
    try:
        number = float(options.get(key) or 0)
        return int(number) if number == int(number) else number
    except (TypeError, ValueError, OverflowError) as error:
        raise Refused(f"{config}: {key}: expected a number, found {options[key]!r}") from error


class Folder:
    """The files and options of a folder; None or empty if the folder does not say. `vocabularies`: one or two; `counts`: F and B of the
    shortlist, if config*.yml has them; `search`: keys of config.json, with word_penalty among rill's options. The user may name the
    vocabularies and the model. If the user names the model, config*.yml is not read, since it may belong to another model."""

    def __init__(self, directory, model=None, vocabularies=None):
        self.model, self.vocabularies = model, vocabularies
        self.shortlist, self.counts, self.search = None, [], {}
        config, options = None if model else find_one(directory, ["config*.yml"], "model"), {}
        if config is not None:
            with open_text(config, newline=None) as file:
                options = read_options(file.read(), config)
        if "models" in options:  # a config.yml of Marian's training has `model` instead, and says nothing here
            self.read_config(directory, config, options)
        else:
            self.read_names(directory)

    def read_config(self, directory, config, options):
        models, vocabularies, shortlist = options["models"], options.get("vocabs"), options.get("shortlist")
        if not models or not (self.vocabularies or vocabularies):
            raise Refused(f"{config}: expected lists of models and vocabs")
        if isinstance(models, list) and len(models) > 1:
            raise Refused(f"{config}: an ensemble of {len(models)} models: convert each, and decode with -m A -m B")
        self.model = named_file(directory, config, first_of(models))
        if not self.vocabularies:
            names = vocabularies if isinstance(vocabularies, list) else [vocabularies]
            self.vocabularies = [named_file(directory, config, name) for name in names]
        if first_of(shortlist) not in (None, "", False):
            self.shortlist = named_file(directory, config, first_of(shortlist))
            if isinstance(shortlist, list) and not self.shortlist.endswith((".bin", ".bin" + ENDING)):
                self.counts = [number for number in shortlist[1:3] if type(number) is int]
        if "beam-size" in options:
            self.search = {"num_beams": number_of(config, options, "beam-size"), "length_penalty": number_of(config, options, "normalize"),
                           "word_penalty": number_of(config, options, "word-penalty")}

    def read_names(self, directory):
        if not self.vocabularies:
            sides = [find_one(directory, [side + "vocab*.spm"], "vocabularies (--vocab)") for side in ("src", "trg")]
            shared = None if None not in sides else find_one(directory, ["vocab*.spm"], "vocabularies (--vocab)")
            self.vocabularies = sides if None not in sides else [shared] if shared is not None else None
        self.model = self.model or find_one(directory, ["model*.bin"], "model")
        if self.model is None or not fnmatch.fnmatch(os.path.basename(self.model), "model*.bin*"):
            return
        lexicons = find_all(directory, "lex*.bin")
        if len(lexicons) > 1:
            raise Refused(f"{directory}: {len(lexicons)} files match lex*.bin: leave the one of {os.path.basename(self.model)} there")
        if lexicons:
            self.shortlist, self.search = lexicons[0], {"num_beams": FIREFOX_BEAM}


def unpacked(path, work):
    """Return the path of an uncompressed file: itself, or a copy below the folder `work`, where files of the same name get different
    paths."""
    if path is None or not path.endswith(ENDING):
        return path
    out = os.path.join(tempfile.mkdtemp(dir=work), os.path.basename(path)[:-len(ENDING)])
    try:
        with gzip.open(path) as source, open(out, "wb") as target:
            while part := source.read(1 << 20):
                target.write(part)
                check_unpacked(path, target.tell())
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise Refused(f"{path}: not a whole gzip file: {error}") from error
    return out
