#!/usr/bin/env python3
"""Compares `rill decode --like ct2` with CTranslate2, and `--like marian` with marian-decoder: n-best lists of the same model
and lines, with several beam sizes, penalties and lengths.

usage: check_presets.py --peer ct2|marian --rill build/rill --text test_2016_flickr.de [--model examples/models/de-en]
       check_presets.py --peer ct2 --folder float32|int8|... the same: rill reads the folder that CTranslate2 reads, with such weights

Needs sentencepiece, NumPy and the peer's Python package: ctranslate2, or pymarian, which contains marian-decoder. ct2_model.py or
marian_model.py converts the directory. All programs compute in fp32, but add in different orders. So sums differ in their last
digits, and hypotheses that are almost equally likely may change places. Lists with the same hypotheses in another order, and lists
that differ, are counted separately. --show prints those that differ.
"""

import argparse
import json
import os
import shutil
import subprocess
import tempfile

import sentencepiece

import ct2_model
import marian_model


class CTranslate2:
    SETTINGS = [
        # options of the other toolkit, and rill's options
        ({"beam_size": 2, "num_hypotheses": 2}, []),
        ({"beam_size": 5, "num_hypotheses": 5}, []),
        ({"beam_size": 5, "num_hypotheses": 5, "length_penalty": 0.6}, ["--length-penalty", "0.6"]),
        ({"beam_size": 5, "num_hypotheses": 5, "length_penalty": 1.5}, ["--length-penalty", "1.5"]),
        ({"beam_size": 5, "num_hypotheses": 5, "length_penalty": -0.5}, ["--length-penalty", "-0.5"]),
        ({"beam_size": 5, "num_hypotheses": 1, "length_penalty": 0}, ["--length-penalty", "0"]),
        ({"beam_size": 5, "num_hypotheses": 5, "length_penalty": 0}, ["--length-penalty", "0", "--stop-after", "5"]),
        ({"beam_size": 5, "num_hypotheses": 10, "patience": 2}, ["--patience", "2"]),
        ({"beam_size": 5, "num_hypotheses": 3, "patience": 0.6}, ["--patience", "0.6"]),
        ({"beam_size": 5, "num_hypotheses": 5, "max_decoding_length": 8}, ["--max-length", "8"]),
        ({"beam_size": 5, "num_hypotheses": 5, "min_decoding_length": 12}, ["--min-length", "12"]),
        ({"beam_size": 12, "num_hypotheses": 12}, []),
    ]

    def __init__(self, model, work, folder):
        import ctranslate2
        converted, kind = os.path.join(work, "model"), "int8_float32" if (folder or "").startswith("int8") else "float32"
        ct2_model.convert(model, converted, folder or "float32")
        self.directory, self.name = converted if folder else model, f"CTranslate2 {ctranslate2.__version__} in {kind}"
        self.more = ["--weights", "int8"] if kind != "float32" else []
        self.translator = ctranslate2.Translator(converted, device="cpu", compute_type=kind, inter_threads=1, intra_threads=1)

    def search(self, _texts, lines, options):
        results = self.translator.translate_batch(lines, return_scores=True, max_batch_size=64, **options)
        return [list(zip([" ".join(h) for h in r.hypotheses], r.scores)) for r in results]

    def options_of_rill(self, options):
        return ["-k", str(options["beam_size"]), "--n-best", str(options["num_hypotheses"]), *self.more]


class Marian:
    SETTINGS = [
        ({"beam-size": 12}, []),
        ({"beam-size": 5, "normalize": 1}, ["--length-penalty", "1"]),
        ({"beam-size": 5, "normalize": 0.6, "word-penalty": 0.5}, ["--length-penalty", "0.6", "--word-penalty", "0.5"]),
        ({"beam-size": 5, "word-penalty": -0.4}, ["--word-penalty", "-0.4"]),
        ({"beam-size": 5, "normalize": 1, "max-length-factor": 1}, ["--length-penalty", "1", "--max-length-factor", "1"]),
        ({"beam-size": 5, "allow-unk": "true"}, ["--unknown-penalty", "0"]),
    ]

    def __init__(self, model, work, _folder):
        import pymarian
        self.marian, self.name = pymarian, f"Marian, pymarian {pymarian.__version__}"
        self.model, self.vocabulary = os.path.join(work, "model.npz"), os.path.join(model, "source.spm")
        marian_model.convert(model, self.model)
        self.directory = os.path.join(work, "directory")
        shutil.copytree(model, self.directory)
        with open(os.path.join(model, "config.json"), encoding="utf-8") as file:
            config = json.load(file)
        config.setdefault("rill", {})["positions"] = "marian"
        with open(os.path.join(self.directory, "config.json"), "w", encoding="utf-8") as file:
            json.dump(config, file)

    def search(self, texts, lines, options):
        """Decode one line at a time, since pymarian's length limit is that of the longest line of a batch."""
        words = " ".join(f"--{name} {value}" for name, value in options.items())
        translator = self.marian.Translator(f"-m {self.model} -v {self.vocabulary} {self.vocabulary} --cpu-threads 1 --quiet --n-best "
                                            f"--no-spm-decode --mini-batch 1 --maxi-batch 1 {words}")
        return read_lists(translator.translate(texts), len(lines))

    def options_of_rill(self, options):
        return ["-k", str(options["beam-size"]), "--n-best", str(options["beam-size"])]


PEERS = {"ct2": CTranslate2, "marian": Marian}


def read_lists(lines, n):
    found = [[] for _ in range(n)]
    for line in lines:
        number, pieces, _values, score = line.split(" ||| ")
        found[int(number)].append((pieces, float(score)))
    return found


def of_rill(args, peer, lines, options, more):
    command = [args.rill, "decode", "-m", peer.directory, "-q", "--tokenized", "--like", args.peer, "-n", "32", "--sort", "length",
               *peer.options_of_rill(options), *more]
    run = subprocess.run(command, input="".join(" ".join(line) + "\n" for line in lines), capture_output=True, text=True, check=True)
    return read_lists(run.stdout.removesuffix("\n").split("\n"), len(lines))


def compare(args, lines, theirs, ours):
    """Return how many lists are equal, have the same hypotheses in another order, and differ; the largest score difference in lists with
    the same hypotheses; and the largest score distance between hypotheses that changed places."""
    equal, other_order, different, worst, distance = 0, 0, [], 0.0, 0.0
    for number, (a, b) in enumerate(zip(theirs, ours)):
        if sorted(h for h, _ in a) != sorted(h for h, _ in b):
            different.append(number)
            continue
        scores = dict(b)
        worst = max([worst] + [abs(s - scores[h]) for h, s in a])
        if [h for h, _ in a] == [h for h, _ in b]:
            equal += 1
        else:
            other_order += 1
            distance = max([distance] + [abs(dict(a)[x] - dict(a)[y]) for (x, _), (y, _) in zip(a, b)])
    print(f"{equal:6} equal, {other_order:3} in another order (at most {distance:.1e} apart), {len(different):4} differ; "
          f"scores within {worst:.1e}", flush=True)
    for number in different if args.show else []:
        print(f"  line {number + 1}: {' '.join(lines[number])}")
        for side, found in (("peer", theirs[number]), ("rill", ours[number])):
            print("".join(f"    {side:6}{score:.7f} {pieces}\n" for pieces, score in found), end="")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--peer", required=True, choices=PEERS)
    parser.add_argument("--rill", required=True)
    parser.add_argument("--text", required=True, help="a file of lines in the model's source language")
    parser.add_argument("--model", default="examples/models/de-en", help="a directory of type marian")
    parser.add_argument("--lines", type=int, help="only the first")
    parser.add_argument("--folder", metavar="KIND", choices=["float32", "float16", "bfloat16", "int16", "int8"],
                        help="have rill read CTranslate2's folder, with weights of this kind")
    parser.add_argument("--show", action="store_true", help="write the lists that differ")
    args = parser.parse_args()
    splitter = sentencepiece.SentencePieceProcessor(model_file=os.path.join(args.model, "source.spm"))
    with open(args.text, encoding="utf-8") as file:
        texts = [line.strip() for line in file][:args.lines]
    lines = [splitter.encode(text, out_type=str) for text in texts]
    with tempfile.TemporaryDirectory() as work:
        peer = PEERS[args.peer](args.model, work, args.folder)
        print(f"{peer.name}, {len(lines)} lines")
        for options, more in peer.SETTINGS:
            print(", ".join(f"{name} {value}" for name, value in options.items()) + ":")
            compare(args, lines, peer.search(texts, lines, options), of_rill(args, peer, lines, options, more))


if __name__ == "__main__":
    main()
