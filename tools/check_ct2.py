#!/usr/bin/env python3
"""Does `rill decode --like ct2` search as CTranslate2 does? The same model, the same pieces, n-best lists side by side.

usage: check_ct2.py --rill build/rill --text test_2016_flickr.de [--model examples/models/de-en] [--lines N] [--show]

Needs CTranslate2's Python package, sentencepiece and NumPy. Both compute in fp32 and add up in orders of their own, so sums
differ in their last digits and hypotheses that are all but equally likely may change places: lists that hold the same
hypotheses in another order, and lists that differ, are counted apart. Where they differ, --show writes both.
"""

import argparse
import os
import subprocess
import tempfile

import ctranslate2
import sentencepiece

import ct2_model

SETTINGS = [
    # what CTranslate2 is given, and rill
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


def of_peer(translator, lines, options):
    results = translator.translate_batch(lines, return_scores=True, max_batch_size=64, **options)
    return [list(zip([" ".join(h) for h in r.hypotheses], r.scores)) for r in results]


def of_rill(args, lines, options, more):
    command = [args.rill, "decode", "-m", args.model, "-q", "--tokenized", "--like", "ct2", "-n", "32", "--sort", "length",
               "-k", str(options["beam_size"]), "--n-best", str(options["num_hypotheses"]), *more]
    run = subprocess.run(command, input="".join(" ".join(line) + "\n" for line in lines), capture_output=True, text=True, check=True)
    found = [[] for _ in lines]
    for line in run.stdout.splitlines():
        number, pieces, _values, score = line.split(" ||| ")
        found[int(number)].append((pieces, float(score)))
    return found


def compare(args, lines, theirs, ours):
    """How many lists are equal, are the same in another order, differ; the largest difference of a score in lists that hold
    the same, and the largest distance of what changed places."""
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
          f"scores within {worst:.1e}")
    for number in different if args.show else []:
        print(f"  line {number + 1}: {' '.join(lines[number])}")
        for side, found in (("CTranslate2", theirs[number]), ("rill", ours[number])):
            print("".join(f"    {side:12}{score:.7f} {pieces}\n" for pieces, score in found), end="")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rill", required=True)
    parser.add_argument("--text", required=True, help="a file of lines in the model's source language")
    parser.add_argument("--model", default="examples/models/de-en", help="a directory that ct2_model.py can convert")
    parser.add_argument("--lines", type=int, help="only the first")
    parser.add_argument("--show", action="store_true", help="write the lists that differ")
    args = parser.parse_args()
    pieces = sentencepiece.SentencePieceProcessor(model_file=os.path.join(args.model, "source.spm"))
    with open(args.text, encoding="utf-8") as file:
        lines = [pieces.encode(line.strip(), out_type=str) for line in file][:args.lines]
    with tempfile.TemporaryDirectory() as work:
        converted = os.path.join(work, "model")
        ct2_model.convert(args.model, converted)
        translator = ctranslate2.Translator(converted, device="cpu", compute_type="float32", inter_threads=1, intra_threads=1)
        print(f"CTranslate2 {ctranslate2.__version__}, {len(lines)} lines")
        for options, more in SETTINGS:
            print(", ".join(f"{name} {value}" for name, value in options.items()) + ":")
            compare(args, lines, of_peer(translator, lines, options), of_rill(args, lines, options, more))


if __name__ == "__main__":
    main()
