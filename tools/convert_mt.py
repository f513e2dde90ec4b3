#!/usr/bin/env python3
"""Turn translation models into directories that `rill decode -m DIR` reads: Hugging Face's form with safetensors.
And the Penn Treebank into files that train a parser.

Models need numpy, and neither PyTorch nor the toolkit that made the model. Pickles are read without executing what is in
them. What cannot be converted is refused, with the file and the key; nothing that would change an output is ignored.
"""

import argparse
import glob
import importlib.util
import os
import sys

import convert_argos
import convert_ptb
from refusal import Refused

HAS_NUMPY = importlib.util.find_spec("numpy") is not None
NO_NUMPY = "NumPy is missing: apt-get install python3-numpy, or pip install numpy"
if HAS_NUMPY:
    import convert_average
    import convert_bin
    import convert_fairseq
    import convert_marian
    import convert_nematus

BIN = """Replace pytorch_model.bin (a pickle, in a zip or older) by model.safetensors. config.json, vocabularies and the
files of the tokenizer are copied as they are. DIRECTORY may be converted in place: --out DIRECTORY."""
MARIAN = """Marian's model.npz, or the .bin of an 8-bit student such as Firefox's: a transformer with norms behind blocks
(--transformer-preprocess "", --transformer-postprocess dan) or before them (n and da), swish or relu, and
self-attention, SSRUs or average attention. Its vocabularies are .yml or SentencePiece's .spm; with .yml, source.spm and
target.spm cut the text, and without them the model takes pieces (--tokenized). MODEL may be the folder of an OPUS-MT
release, or of one of Firefox's models as downloaded, compressed or not, where all are found, its shortlist too."""
FAIRSEQ = """fairseq's checkpoints of post-norm transformers, such as WMT'19's model1.pt .. model4.pt, with dict.LANG.txt
and the codes of fastBPE or subword-nmt beside them. Several models are an ensemble: each gets a folder of its own in
--out, by its name, and `rill decode -m OUT/model1 -m OUT/model2` reads them."""
NEMATUS = """Nematus' model.npz (and dl4mt's, and what Amun reads) with model.npz.json: GRUs with attention, one layer on either
side, without layer norms and factors. Its dictionaries are JSON, by their names there or --vocab. Without --spm the model takes
pieces (--tokenized): those that subword-nmt made of the text."""
AVERAGE = """The mean of the weights of several checkpoints of one training, each a folder with model.safetensors as the other commands and
transformers write it. config.json and the vocabularies must be the same."""
ARGOS = """A package of Argos Translate, FILE.argosmodel, is a zip with a CTranslate2 folder, which rill reads as it is. This takes it
out, with sentencepiece.model or bpe.model."""
PTB = """The .mrg files of the Wall Street Journal as the LDC ships them, below DIR in folders 00 to 24. Makes train.ptb, dev.ptb and
test.ptb with one tree per line, for tools/train_shiftreduce.py, `rill tune` and `rill eval`. Traces, function tags and indices are
removed."""
EPILOGUE = """examples:
  rill convert bin opus-mt-en-de --out opus-mt-en-de
  rill convert marian opus-2020-02-26/ --out sv-en
  rill convert firefox/models/enpt --out en-pt
  rill convert marian model.npz --vocab vocab.spm --out model
  rill convert nematus model.npz --vocab vocab.de.json vocab.en.json --out de-en-gru
  rill convert fairseq wmt19.de-en/model1.pt wmt19.de-en/model2.pt --langs de en --out de-en
  rill convert average checkpoints/checkpoint_48 checkpoints/checkpoint_49 checkpoints/checkpoint_50 --out de-en
  rill convert translate-en_es-1_0.argosmodel --out en-es
  rill convert ptb treebank_3/parsed/mrg/wsj --out ptb

Without COMMAND the files of a model tell: rill convert opus-2020-02-26/ --out sv-en.
`rill info DIR` then describes what was made."""


COMMANDS = ("bin", "marian", "nematus", "fairseq", "average", "argos", "ptb")
WITHOUT_NUMPY = ("argos", "ptb")


def add_command(commands, name, brief, about, model, run, count=None):
    parser = commands.add_parser(name, help=brief, description=about,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", metavar=model, nargs=count, help="what is converted")
    parser.add_argument("--out", required=True, metavar="DIR", help="the directory to make")
    parser.set_defaults(run=run)
    return parser


def kind_of(path):
    """Return the command for a file or a folder, by the names in it; None if these do not decide it."""
    inside = os.path.isdir(path)

    def holds(pattern):
        return bool(glob.glob(os.path.join(glob.escape(path), pattern))) if inside else glob.fnmatch.fnmatch(path, "*" + pattern)

    if convert_argos.is_package(path):
        return "argos"
    if not HAS_NUMPY:
        raise Refused(NO_NUMPY)
    if inside and (holds(convert_bin.WEIGHTS) or holds(convert_bin.INDEX)):
        return "bin"
    if holds("*.npz"):
        return "nematus" if (holds("*.npz.json") if inside else os.path.exists(path + ".json")) else "marian"
    if holds("*.pt"):
        return "fairseq"
    return "marian" if holds("*.bin") or holds("*.bin.gz") else None


def with_command(arguments):
    """If the first argument is a path and no command, insert the command that fits it."""
    if not arguments or arguments[0].startswith("-") or not os.path.exists(arguments[0]) or arguments[0] in COMMANDS:
        return arguments
    kind = kind_of(arguments[0])
    if kind is None:
        raise Refused(f"{arguments[0]}: neither pytorch_model.bin, nor .npz or .bin of Marian or Nematus, nor .pt of fairseq, "
                      "nor .argosmodel: nothing to convert")
    return [kind, *arguments]


def parse(arguments):
    parser = argparse.ArgumentParser(prog=os.environ.get("RILL_CONVERT"), description=__doc__, epilog=EPILOGUE,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(metavar="COMMAND", required=True, dest="command")
    plain = add_command(
        commands, "bin", "Hugging Face's directory with pytorch_model.bin", BIN, "DIRECTORY",
        lambda a: convert_bin.convert(a.model, a.out, a.type))
    marian = add_command(
        commands, "marian", "Marian's model.npz or .bin with its vocabularies", MARIAN, "MODEL",
        lambda a: convert_marian.convert(a.model, a.out, a.type, a.vocab, a.spm, a.positions))
    nematus = add_command(
        commands, "nematus", "Nematus' model.npz with its dictionaries", NEMATUS, "MODEL.npz",
        lambda a: convert_nematus.convert(a.model, a.out, a.type, a.vocab, a.spm))
    for command in (marian, nematus):
        command.add_argument("--vocab", nargs="+", metavar="FILE", help="vocabulary of both sides, or source's and target's")
        command.add_argument("--spm", nargs="+", metavar="FILE", help="SentencePiece model of both sides, or of each")
    marian.add_argument("--positions", choices=["marian", "hf"], default="marian",
                        help="how sines are spaced: as marian-decoder does, which the model was trained with "
                        "(the default), or as transformers does after its own conversion")
    fairseq = add_command(
        commands, "fairseq", "fairseq's model.pt, or several that are an ensemble", FAIRSEQ, "MODEL.pt",
        lambda a: convert_fairseq.convert(a.model, a.out, a.type, a), "+")
    fairseq.add_argument("--langs", nargs=2, metavar="LANG", help="source and target (default: as the model says)")
    fairseq.add_argument("--data", metavar="DIR", help="where dict.LANG.txt and the codes are (default: the model's)")
    fairseq.add_argument("--codes", metavar="FILE", help="codes of fastBPE or subword-nmt (default: bpecodes, code, ..)")
    fairseq.add_argument("--no-merges", action="store_true", help="without codes: the model takes pieces only")
    average = add_command(
        commands, "average", "the mean of several checkpoints of one training", AVERAGE, "DIRECTORY",
        lambda a: convert_average.convert(a.model, a.out, a.type), "+")
    for command in (plain, marian, nematus, fairseq, average):
        command.add_argument("--type", choices=["F32", "F16"], help="store all numbers so (default: each as it is)")
    add_command(commands, "argos", "a package of Argos Translate, which is a zip", ARGOS, "FILE.argosmodel",
                lambda a: convert_argos.convert(a.model, a.out))
    ptb = add_command(commands, "ptb", "the Penn Treebank's .mrg files, to train a parser", PTB, "DIR",
                      lambda a: convert_ptb.convert(a.model, a.out, vars(a)))
    for part, default in zip(convert_ptb.PARTS, ("2-21", "22", "23")):
        ptb.add_argument("--" + part, type=convert_ptb.sections, default=default, metavar="SECTIONS",
                         help=f"sections of {part}.ptb, as in 2-21,24 (default {default})")
    given = parser.parse_args(arguments)
    for option in ("vocab", "spm"):
        if len(getattr(given, option, None) or []) > 2:
            parser.error(f"--{option}: one file, or the source's and the target's")
    return given


def main(arguments=None):
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        given = parse(with_command(arguments))
        if not HAS_NUMPY and given.command not in WITHOUT_NUMPY:
            raise Refused(NO_NUMPY)
        for made in given.run(given):
            print(made)
    except (Refused, OSError) as error:
        what = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else error
        print(f"{os.environ.get('RILL_CONVERT', 'convert_mt')}: {what}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
