#!/usr/bin/env python3
"""Make a lexical shortlist for `rill decode --shortlist` from parallel text.

Writes lines "TARGET SOURCE PROBABILITY", the form that marian-decoder reads and that lexicons of fast_align and giza have. The
probability of a target token given a source token is that of IBM model 1 (Brown et al. 1993). Its NULL word on the source side is
not written. Text is segmented by the model's SentencePiece models (needs the sentencepiece package), or given as tokens separated
by spaces with --tokenized. Needs numpy, and about 60 bytes of memory for each pair of tokens that share a line.

  tools/make_shortlist.py --model examples/models/de-en train.de train.en >lex.s2t
"""

import argparse
import os
import sys

import numpy


def read_side(path, segment, limit):
    """Read the lines of a file as lists of tokens."""
    try:
        with open(path, encoding="utf-8", newline="\n") as file:
            return [segment(line.rstrip("\r\n")) for line, _ in zip(file, range(limit))]
    except (OSError, UnicodeDecodeError) as error:
        sys.exit(f"make_shortlist: {path}: {error.strerror if isinstance(error, OSError) else 'not UTF-8'}")


def segmenter(options, name):
    if options.tokenized:
        return str.split
    if not options.model:
        sys.exit("make_shortlist: --model DIR names the model whose tokens are wanted; with --tokenized lines are tokens")
    path = os.path.join(options.model, name)
    if not os.path.exists(path):
        sys.exit(f"make_shortlist: {path}: not there; for a model that takes subword tokens, give these and --tokenized")
    import sentencepiece

    model = sentencepiece.SentencePieceProcessor(model_file=path)
    return lambda line: model.encode(line, out_type=str)


def number(lines, first):
    """Number the tokens from `first` on. Return the tokens, and each line as an array of numbers."""
    index = {}
    arrays = [numpy.array([index.setdefault(p, len(index) + first) for p in line], dtype=numpy.int64) for line in lines]
    return list(index), arrays


def occurrences(source, target, targets):
    """For each pair of tokens in a pair of lines, return a key of the pair, and the number of the target token's occurrence."""
    keys, explained, seen = [], [], 0
    for s, t in zip(source, target):
        if len(t) == 0:
            continue
        s = numpy.append(s, 0)  # 0 is the NULL word
        keys.append((s[None, :] * targets + t[:, None]).ravel())
        explained.append(numpy.repeat(numpy.arange(seen, seen + len(t)), len(s)))
        seen += len(t)
    return numpy.concatenate(keys), numpy.concatenate(explained)


def model1(source, target, targets, rounds):
    """Train IBM model 1. Return the pairs as source * targets + target, and the probability of each target given its source."""
    keys, explained = occurrences(source, target, targets)
    pairs, which = numpy.unique(keys, return_inverse=True)
    source_of = pairs // targets
    table = numpy.full(len(pairs), 1.0 / targets)
    for _ in range(rounds):
        share = table[which]
        share /= numpy.bincount(explained, share)[explained]
        counts = numpy.bincount(which, share, minlength=len(pairs))
        table = counts / numpy.bincount(source_of, counts)[source_of]
    return pairs, table


def write(pairs, table, sources, targets, options, out):
    """Write the best targets of each source token, the most probable first."""
    source, target = numpy.divmod(pairs, len(targets))
    order = numpy.lexsort((target, -table, source))
    rank = numpy.arange(len(order)) - numpy.searchsorted(source[order], source[order])
    for i in order[rank < options.best]:
        if source[i] > 0 and table[i] >= options.least:
            out.write(f"{targets[target[i]]} {sources[source[i] - 1]} {table[i]:.6f}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("source", help="source text, a sentence per line")
    parser.add_argument("target", help="its translation, line by line")
    parser.add_argument("--model", metavar="DIR", help="the model, for its source.spm and target.spm")
    parser.add_argument("--tokenized", action="store_true", help="lines are tokens separated by spaces")
    parser.add_argument("--rounds", type=int, default=5, help="of expectation maximisation (default 5)")
    parser.add_argument("--best", type=int, default=100, help="target tokens written per source token (default 100)")
    parser.add_argument("--least", type=float, default=1e-4, help="probability below which none is (default 0.0001)")
    parser.add_argument("--lines", type=int, default=sys.maxsize, help="read so many lines at most")
    options = parser.parse_args()
    sides = [read_side(options.source, segmenter(options, "source.spm"), options.lines),
             read_side(options.target, segmenter(options, "target.spm"), options.lines)]
    if len(sides[0]) != len(sides[1]) or not any(sides[1]):
        sys.exit(f"make_shortlist: {len(sides[0])} source lines and {len(sides[1])} target lines: expected as many, and text")
    (sources, source), (targets, target) = number(sides[0], 1), number(sides[1], 0)
    pairs, table = model1(source, target, len(targets), options.rounds)
    write(pairs, table, sources, targets, options, sys.stdout)


if __name__ == "__main__":
    main()
