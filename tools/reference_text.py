#!/usr/bin/env python3
"""Write small tokenizers of transformers' families with their results for texts, for tests of rill's tokenizers.

Needs transformers, tokenizers and sentencepiece. Each directory under tests/data/text holds the files of one folder, and expected.json:

  model_type, words: of config.json; source, target: languages that are asked for, null for none; end: the number of </s>
  cases: a text, the ids that the encoder reads, and the text that these ids without the symbols around them are written as
  first, start: the symbol that an output begins with, that the decoder starts from; -1 for none

There are three kinds of folders. NAME has a SentencePiece model; it is read here with the library SentencePiece and the family's
ids, which this file states independently (for M2M100 and BART with transformers itself). NAME-4 has a tokenizer.json as
transformers 4 converted such models, NAME-5 one as transformers 5 saves its own. Both are read with the library tokenizers.

--wide N: another N texts a folder, to compare with and not to keep; --out tells where.
"""

import argparse
import importlib
import io
import json
import os
import random
import re
import shutil
import warnings

os.environ["HF_HUB_OFFLINE"] = "1"
warnings.filterwarnings("ignore")

import sentencepiece  # noqa: E402
import transformers  # noqa: E402
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers  # noqa: E402

convert = importlib.import_module("transformers.convert_slow_tokenizer")  # a function of the package may have the module's name too
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FLORES = ["ace_Arab", "deu_Latn", "eng_Latn", "fra_Latn", "zho_Hans", "zul_Latn"]
MBART_25 = convert.MBART_LANGUAGES
MBART_50 = convert.MBART50_LANGUAGES
# A small normalisation table with one rule of each kind. The full NFKC table takes 240 KB.
RULES = [("\ufb01", "fi"), ("\u2460", "1"), ("\u3000", " "), ("\t", " "), ("\u00a0", " "), ("e\u0301", "\u00e9"),
         ("\u2026", "..."), ("\uff21", "A"), ("\uff22", "B"), ("\u200b", ""), ("\u0001", ""), ("\u00bd", "1/2"), ("\u2028", " ")]
SIGNS = ["", "", "", ".", ",", "!", "?", " - ", "'s", "n't", " 're", "...", "(", ")", "\"", "&", "@", "%", "/", "=", "_", "#", "1",
         "42", "2024", "3.14"]
ODD = ["\ufb01", "\u2460", "\u3000", "\t", "\u00a0", "e\u0301", "\u00e9", "\u00fc", "\u00df", "\uff21\uff22", "\u200b", "\u0001",
       "\u007f", "\u00bd", "\u4e2d\u6587", "\u5b57", "\u65e5\u672c\u8a9e", "\ud55c\uad6d", "\u1112\u1161\u11ab", "\u0627\u0644",
       "\u05e9\u05dc", "\u0928\u092e\u0938\u094d", "\u0e44\u0e17\u0e22", "\U0001f600",
       "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f1e9\U0001f1ea", "\u0301", "a\u0308\u0323", "\u2028", "\u0085",
       "\u2581", "\u2581\u2581x", "\u0663", "\u216b", "\u00b2", "\U00010348", "\U000e0001", "\ufffd", "\ufeff", "\u202e", "\u2009"]
MARKS = ["<s>", "</s>", "<pad>", "<unk>", "<mask>", "<extra_id_0>", "<extra_id_1>", "<extra_id_99>", "<extra_id_100>", "<mask_1>",
         "<mask_2>", "<unk_2>", "<unk_102>", "eng_Latn", "fra_Latn", "en_XX", "af_ZA", "__en__", "__de__", "<2de>", "<0x41>", "<|x|>",
         "</S>", "<extra_id_0"]
M2M = importlib.import_module("transformers.models.m2m_100.tokenization_m2m_100").FAIRSEQ_LANGUAGE_CODES["m2m100"]


def corpus():
    """Return the inputs of other tests: German captions, English sentences and questions."""
    folder, lines = os.path.join(ROOT, "tests", "golden", "inputs"), []
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            lines += [line.strip() for line in file if len(line.split()) > 3]
    return lines


def make_texts(count, seed, lines):
    words = sorted({word for line in lines for word in re.findall(r"[A-Za-z]+", line)})
    dice = random.Random(seed)
    texts = ["", "a", " a", "a ", "  a  b  ", "Hello  world ", "\ta\t", "<extra_id_0>", " <extra_id_0> ", "a<mask>b", "a <mask> b",
             "it's 'tis they're I'll", "x</s>y", "\u3000", "   ", "\U0001f600\U0001f600",
             "\u4e2d\u6587\u4e2d\u6587", "1234567890", "a\u00a0b", "\u2581", "\u2581a"]
    while len(texts) < count:
        text = ""
        for _ in range(dice.randint(1, 12)):
            kind = dice.random()
            if kind < 0.62:
                text += dice.choice(words) if dice.random() < 0.8 else dice.choice(words).capitalize()
            elif kind < 0.78:
                text += dice.choice(ODD)
            elif kind < 0.86:
                text += dice.choice(MARKS)
            text += dice.choice(SIGNS)
            text += dice.choice(["", " ", " ", " ", "  ", "   "])
        texts.append(text)
    return texts


def train(path, lines, size, **how):
    """Train a SentencePiece model with the small normalisation table RULES."""
    table = path + ".tsv"
    with open(table, "w", encoding="utf-8") as file:
        for before, behind in RULES:
            file.write(" ".join("%X" % ord(c) for c in before) + "\t" + " ".join("%X" % ord(c) for c in behind) + "\n")
    writer = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=writer, vocab_size=size,
                                             hard_vocab_limit=False, num_threads=1, minloglevel=2, normalization_rule_tsv=table, **how)
    os.remove(table)
    with open(path, "wb") as file:
        file.write(writer.getvalue())


def dump(path, value):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file, ensure_ascii=False, indent=1)
        file.write("\n")


def tidy(text):
    """Normalise the text to what rill writes: one line, no spaces at its ends."""
    return re.sub("[\r\n\u2581]", " ", text).strip(" ")


class Family:
    """The ids of a family, and the special tokens around a text; SentencePiece does the rest."""

    def __init__(self, name, model_type, tokenizer, model, languages=(), source=None, target=None, first=None, start=None):
        self.name, self.model_type, self.tokenizer, self.model = name, model_type, tokenizer, model
        self.languages, self.source, self.target, self.first, self.start = list(languages), source, target, first, start


FAMILIES = [
    Family("nllb", "m2m_100", "NllbTokenizer", "bpe", FLORES, "eng_Latn", "fra_Latn", first="fra_Latn"),
    Family("nllb-legacy", "m2m_100", "NllbTokenizer", "bpe", FLORES, "deu_Latn", "zho_Hans", first="zho_Hans"),
    Family("m2m", "m2m_100", "M2M100Tokenizer", "bpe", (), "en", "de", first="__de__"),
    Family("small100", "m2m_100", "SMALL100Tokenizer", "bpe", (), None, "de"),
    Family("mbart", "mbart", "MBartTokenizer", "unigram", MBART_25, "en_XX", "ro_RO", start="ro_RO"),
    Family("mbart50", "mbart", "MBart50Tokenizer", "unigram", MBART_50, "en_XX", "sl_SI", first="sl_SI"),
    Family("pegasus", "pegasus", "PegasusTokenizer", "t5"),
    Family("t5", "t5", "T5Tokenizer", "t5"),
    Family("mt5", "mt5", "T5Tokenizer", "bytes"),
]


def numbered(family, model):
    """Return the tokens of a folder with a SentencePiece model in order of their ids, and the added tokens that are split off first."""
    pieces = [model.id_to_piece(i) for i in range(model.get_piece_size())]
    if family.model_type in ("m2m_100", "mbart"):
        specials = ["<s>", "<pad>", "</s>", "<unk>"]
        listed = family.tokenizer in ("M2M100Tokenizer", "SMALL100Tokenizer")
        languages = ["__%s__" % code for code in M2M] if listed else family.languages
        behind = languages + ([] if listed else ["<mask>"])
        return specials + pieces[3:] + behind, specials + behind
    if family.model_type == "pegasus":
        front = ["<pad>", "</s>", "<mask_1>", "<mask_2>"] + ["<unk_%d>" % i for i in range(2, 103)]
        return front + pieces[2:], front + ["<unk>"]
    behind = ["<extra_id_%d>" % i for i in range(99, -1, -1)] if family.name == "t5" else []
    return pieces + behind, ["<pad>", "</s>", "<unk>"] + behind


def cut(text, added):
    """Yield the parts of a text and the added tokens in it, the longest match first. A mask absorbs the spaces before it."""
    at, begin = 0, 0
    ordered = sorted(added, key=len, reverse=True)
    while at < len(text):
        found = next((token for token in ordered if text.startswith(token, at)), None)
        if found is None:
            at += 1
            continue
        part = text[begin:at]
        yield part.rstrip() if found == "<mask>" else part, False
        yield found, True
        at += len(found)
        begin = at
    yield text[begin:], False


def around(family, ids, number):
    language = (lambda name: number["__%s__" % name] if "__%s__" % name in number else number[name])
    end = [number["</s>"]]
    if family.name == "nllb-legacy" or family.name == "mbart":
        return ids + end + [language(family.source)]
    if family.name == "small100":
        return [language(family.target)] + ids + end
    return ([language(family.source)] if family.source else []) + ids + end


def expect_spm(family, path, texts):
    model = sentencepiece.SentencePieceProcessor(model_file=path)
    tokens, added = numbered(family, model)
    number = {token: i for i, token in enumerate(tokens)}
    cases = []
    for text in texts:
        ids = []
        for part, is_token in cut(text, added):
            pieces = [part] if is_token else model.encode(part, out_type=str)
            ids += [number.get(piece, number["<unk>"]) for piece in pieces]
        kept = [tokens[i] for i in ids if tokens[i] not in added]
        cases.append({"text": text, "ids": around(family, ids, number) if ids else [], "back": tidy(model.decode(kept))})
    return tokens, cases


def expect_tokenizer(tokenizer, texts, before, behind):
    cases = []
    for text in texts:
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        back = tidy(tokenizer.decode(ids, skip_special_tokens=True))
        cases.append({"text": text, "ids": before + ids + behind if ids else [], "back": back})
    return cases


def write_folder(out, family, words, cases, number):
    def symbol(name):
        return -1 if name is None else number[name]
    head = {"model_type": family.model_type, "words": words, "source": family.source, "target": family.target,
            "end": number["</s>"], "first": symbol(family.first), "start": symbol(family.start)}
    with open(os.path.join(out, "expected.json"), "w", encoding="utf-8") as file:
        file.write(json.dumps(head)[:-1] + ", \"cases\": [\n")
        file.write(",\n".join(json.dumps(case, separators=(",", ":")) for case in cases) + "]}\n")


def config_of(family):
    config = {"tokenizer_class": family.tokenizer}
    if family.name == "nllb-legacy":
        config["legacy_behaviour"] = True
    if family.name == "mt5":
        config["extra_ids"] = 0
    return config


def make_spm(out, family, lines, texts):
    os.makedirs(out, exist_ok=True)
    name = "sentencepiece.bpe.model" if family.model_type in ("m2m_100", "mbart") else "spiece.model"
    path = os.path.join(out, name)
    how = {"bpe": dict(model_type="bpe"), "unigram": {}, "t5": dict(pad_id=0, eos_id=1, unk_id=2, bos_id=-1),
           "bytes": dict(pad_id=0, eos_id=1, unk_id=2, bos_id=-1, byte_fallback=True,
                         user_defined_symbols=["<2de>", "<2en>"])}[family.model]
    train(path, lines, 560 if family.model == "bytes" else 300, **how)
    tokens, cases = expect_spm(family, path, texts)
    number = {token: i for i, token in enumerate(tokens)}
    dump(os.path.join(out, "tokenizer_config.json"), config_of(family))
    if family.name.startswith("nllb"):
        dump(os.path.join(out, "special_tokens_map.json"),
             {"additional_special_tokens": family.languages, "mask_token": {"content": "<mask>", "lstrip": True}})
    if family.tokenizer in ("M2M100Tokenizer", "SMALL100Tokenizer"):
        listed = {token: i for i, token in enumerate(tokens) if not re.fullmatch("__.+__", token)}
        dump(os.path.join(out, "vocab.json"), listed)
    write_folder(out, family, len(tokens) + 3, cases, number)
    return path, tokens


class Plain:
    """A stand-in for a tokenizer, with the members that a converter of transformers 4 uses."""

    def __init__(self, family, path, tokens):
        self.vocab_file, self.tokens = path, tokens
        self.pad_token, self.eos_token, self.mask_token_sent, self.mask_token = "<pad>", "</s>", "<mask_1>", "<mask_2>"
        self.mask_token_id, self.eos_token_id, self.offset, self._extra_ids = 3, 1, 103, 100 if family.name == "t5" else 0

    def convert_tokens_to_ids(self, token):
        return self.tokens.index(token)


class Pairs(convert.SentencePieceExtractor):
    """Extracts the merges of a BPE SentencePiece model as transformers 4 did: by the scores of the merged tokens."""

    def extract(self, scores):
        return None, convert.generate_merges({piece.piece: i for i, piece in enumerate(self.proto.pieces)}, scores)


def make_4(out, family, path, tokens, texts):
    """Write tokenizer.json in the form of most published folders."""
    converter = {"NllbTokenizer": convert.NllbConverter, "MBartTokenizer": convert.MBartConverter,
                 "MBart50Tokenizer": convert.MBart50Converter, "PegasusTokenizer": convert.PegasusConverter,
                 "T5Tokenizer": convert.T5Converter}[family.tokenizer]
    converter.post_processor, converter.SpmExtractor = lambda self: None, Pairs
    tokenizer = converter(Plain(family, path, tokens)).converted()
    _, added = numbered(family, sentencepiece.SentencePieceProcessor(model_file=path))
    behind = sorted(added, key=tokens.index)
    tokenizer.add_special_tokens([AddedToken(token, normalized=False, lstrip=token == "<mask>", special=True)
                                  for token in behind])
    os.makedirs(out, exist_ok=True)
    tokenizer.save(os.path.join(out, "tokenizer.json"))
    read_back(out, family, texts, config_of(family))


def read_back(out, family, texts, config):
    tokenizer = Tokenizer.from_file(os.path.join(out, "tokenizer.json"))
    tokenizer.save(os.path.join(out, "tokenizer.json"), pretty=False)
    number = tokenizer.get_vocab()
    probe = around(family, [-1], number)
    at = probe.index(-1)
    dump(os.path.join(out, "tokenizer_config.json"), config)
    cases = expect_tokenizer(tokenizer, texts, probe[:at], probe[at + 1:])
    write_folder(out, family, tokenizer.get_vocab_size() + 3, cases, number)


def make_5(out, family, folder, texts):
    """Write tokenizer.json as transformers 5 saves it, from the files of transformers 4."""
    tokenizer = getattr(transformers, family.tokenizer).from_pretrained(folder)
    tokenizer.save_pretrained(out)
    read_back(out, family, texts, {"tokenizer_class": family.tokenizer + "Fast"})


def make_bart(out, lines, texts):
    """Write byte-level BPE tokenizers: one in two files, and one in a single file."""
    family = Family("bart", "bart", "BartTokenizer", None)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=420, special_tokens=specials, show_progress=False,
                                                             initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), True, False)
    number = tokenizer.get_vocab()
    for name, prefix in [("bart", False), ("bart-prefix", True)]:
        folder = os.path.join(out, name)
        os.makedirs(folder, exist_ok=True)
        merges = [tuple(merge) for merge in json.loads(tokenizer.to_str())["model"]["merges"]]
        dump(os.path.join(folder, "vocab.json"), dict(sorted(number.items(), key=lambda pair: pair[1])))
        with open(os.path.join(folder, "merges.txt"), "w", encoding="utf-8") as file:
            file.write("#version: 0.2\n" + "".join("%s %s\n" % merge for merge in merges))
        dump(os.path.join(folder, "tokenizer_config.json"), {"tokenizer_class": "BartTokenizer", "add_prefix_space": prefix})
        theirs = transformers.RobertaTokenizer(vocab=number, merges=merges, add_prefix_space=prefix,
                                               mask_token=AddedToken("<mask>", lstrip=True, special=True))
        cases = []
        for text in texts:
            ids = theirs(text)["input_ids"]
            back = tidy(theirs.decode(ids[1:-1], skip_special_tokens=True))
            cases.append({"text": text, "ids": ids if len(ids) > 2 else [], "back": back})
        write_folder(folder, family, len(number), cases, number)
        if prefix:
            continue
        folder = os.path.join(out, "bart-5")
        os.makedirs(folder, exist_ok=True)
        theirs.backend_tokenizer.save(os.path.join(folder, "tokenizer.json"), pretty=False)
        dump(os.path.join(folder, "tokenizer_config.json"), {"tokenizer_class": "TokenizersBackend"})
        write_folder(folder, family, len(number), cases, number)


def make_byt5(out, texts):
    """Write a tokenizer of bytes, whose only files are the configurations."""
    family = Family("byt5", "t5", "ByT5Tokenizer", None)
    os.makedirs(out, exist_ok=True)
    dump(os.path.join(out, "tokenizer_config.json"), {"tokenizer_class": "ByT5Tokenizer", "extra_ids": 5})
    write_slow(out, family, transformers.ByT5Tokenizer.from_pretrained(out), texts)


def make_codet5(out, texts):
    """Write BART's tokenizer with T5's order of special tokens, and with sentinel tokens."""
    with open(os.path.join(out, "bart", "vocab.json"), encoding="utf-8") as file:
        words = [word for word in json.load(file) if word not in ("<s>", "<pad>", "</s>", "<unk>", "<mask>")]
    folder = os.path.join(out, "codet5")
    os.makedirs(folder, exist_ok=True)
    shutil.copy(os.path.join(out, "bart", "merges.txt"), folder)
    dump(os.path.join(folder, "vocab.json"),
         {word: i for i, word in enumerate(["<pad>", "<s>", "</s>", "<unk>", "<mask>"] + words)})
    sentinels = ["<extra_id_%d>" % i for i in (2, 1, 0)]
    dump(os.path.join(folder, "tokenizer_config.json"),
         {"tokenizer_class": "RobertaTokenizer", "add_prefix_space": False, "additional_special_tokens": sentinels,
          "bos_token": "<s>", "eos_token": "</s>", "cls_token": "<s>", "sep_token": "</s>", "unk_token": "<unk>",
          "pad_token": "<pad>",
          "mask_token": {"__type": "AddedToken", "content": "<mask>", "lstrip": True, "rstrip": False, "normalized": True,
                         "single_word": False}})
    theirs = transformers.RobertaTokenizer.from_pretrained(folder)
    write_slow(folder, Family("codet5", "t5", "RobertaTokenizer", None), theirs, texts)


def write_slow(folder, family, theirs, texts):
    """Write expected.json for a tokenizer that adds its special tokens itself."""
    cases, nothing = [], theirs("")["input_ids"]
    for text in texts:
        ids = theirs(text)["input_ids"]
        back = tidy(theirs.decode(ids, skip_special_tokens=True))
        cases.append({"text": text, "ids": ids if text and ids != nothing or "</s>" in text else [], "back": back})
    write_folder(folder, family, len(theirs), cases, theirs.get_vocab())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", default=os.path.join(ROOT, "tests", "data", "text"))
    parser.add_argument("--wide", type=int, default=0, metavar="N")
    arguments = parser.parse_args()
    transformers.logging.set_verbosity_error()
    lines = corpus()
    texts = make_texts(arguments.wide or 100, 1 + arguments.wide, lines)
    shutil.rmtree(arguments.out, ignore_errors=True)
    for family in FAMILIES:
        out = os.path.join(arguments.out, family.name)
        path, tokens = make_spm(out, family, lines, texts)
        if family.name in ("nllb", "mbart", "mbart50", "pegasus", "t5", "mt5"):
            make_4(out + "-4", family, path, tokens, texts)
        if family.name in ("nllb", "mbart", "mbart50", "pegasus", "t5"):
            make_5(out + "-5", family, out + "-4", texts)
    make_bart(arguments.out, lines, texts)
    make_codet5(arguments.out, texts)
    make_byt5(os.path.join(arguments.out, "byt5"), texts)


if __name__ == "__main__":
    main()
