#!/usr/bin/env python3
"""rill.compat.ctranslate2 against CTranslate2: for each set of options, how many n-best lists are the same.

usage: compat_ctranslate2.py [--model examples/models/de-en] [--data DIR] [--inputs 100] [--only WORD]
Needs the packages rill, ctranslate2 and sentencepiece. The data are a folder with mt/multi30k/val.de, $RILL_DATA or ../shared/data;
without them the inputs are examples/questions/de-en.txt. No times are measured.

best      inputs whose first output has the same tokens
list      inputs whose outputs all have the same tokens, in the same order
rounding  of the others: wherever the lists differ, their scores are within 1e-4: sums in another order
differ    the rest
score     the largest difference of scores in lists that are the same
"""

import argparse
import math
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
NEAR = 1e-4

# Words to force outputs to begin with; captions often do.
PREFIX = ["▁a", "▁man"]
SETS = [
    {},
    {"beam_size": 1},
    {"beam_size": 4, "num_hypotheses": 4},
    {"beam_size": 8, "num_hypotheses": 8},
    {"beam_size": 16, "num_hypotheses": 3},
    {"beam_size": 4, "length_penalty": 0},
    {"beam_size": 4, "length_penalty": 0, "num_hypotheses": 4},
    {"beam_size": 4, "length_penalty": 0.6, "num_hypotheses": 4},
    {"beam_size": 4, "length_penalty": 2, "num_hypotheses": 2},
    {"beam_size": 4, "length_penalty": -0.5, "num_hypotheses": 4},
    {"beam_size": 1, "length_penalty": 0.3},
    {"beam_size": 1, "patience": 2, "num_hypotheses": 2},
    {"beam_size": 4, "patience": 2, "num_hypotheses": 4},
    {"beam_size": 4, "patience": 2, "num_hypotheses": 8},
    {"beam_size": 5, "patience": 0.5, "num_hypotheses": 2},
    {"beam_size": 3, "patience": 1.5, "length_penalty": 0, "num_hypotheses": 3},
    {"beam_size": 4, "coverage_penalty": 0.3, "num_hypotheses": 4},
    {"beam_size": 3, "coverage_penalty": 0.5, "patience": 1.5, "num_hypotheses": 4},
    {"beam_size": 4, "coverage_penalty": 1.5, "length_penalty": 0, "num_hypotheses": 4},
    {"beam_size": 4, "min_decoding_length": 0, "num_hypotheses": 4},
    {"beam_size": 4, "max_decoding_length": 10, "num_hypotheses": 4},
    {"beam_size": 1, "max_decoding_length": 5},
    {"beam_size": 4, "max_input_length": 4, "num_hypotheses": 4},
    {"beam_size": 4, "max_batch_size": 3, "num_hypotheses": 4},
    {"beam_size": 4, "max_batch_size": 50, "batch_type": "tokens"},
    {"beam_size": 1, "target_prefix": PREFIX},
    {"beam_size": 4, "target_prefix": PREFIX, "num_hypotheses": 4},
    {"beam_size": 4, "target_prefix": PREFIX, "length_penalty": 0, "num_hypotheses": 4},
    {"beam_size": 1, "prefix_bias_beta": 0.3, "target_prefix": PREFIX},
    {"beam_size": 4, "prefix_bias_beta": 0.3, "target_prefix": PREFIX},
    {"beam_size": 4, "prefix_bias_beta": 0.9, "target_prefix": PREFIX, "num_hypotheses": 4},
    {"return_alternatives": True, "num_hypotheses": 4, "target_prefix": PREFIX[:1]},
    {"return_alternatives": True, "num_hypotheses": 4, "target_prefix": PREFIX},
    {"return_alternatives": True, "num_hypotheses": 4, "beam_size": 3, "patience": 2, "target_prefix": PREFIX[:1]},
    {"return_alternatives": True, "num_hypotheses": 6, "beam_size": 4, "min_alternative_expansion_prob": 0.05},
    {"beam_size": 1, "return_attention": True},
    {"beam_size": 4, "return_attention": True, "return_end_token": True, "replace_unknowns": True, "num_hypotheses": 4},
    {"beam_size": 1, "no_repeat_ngram_size": 1, "return_scores": False},
    {"beam_size": 1, "no_repeat_ngram_size": 2, "return_scores": False},
    {"beam_size": 1, "min_decoding_length": 20, "return_scores": False},
    {"beam_size": 1, "disable_unk": True, "return_scores": False},
    {"beam_size": 1, "suppress_sequences": [["▁a"], ["▁man", "▁in"], ["."]], "return_scores": False},
    {"beam_size": 1, "suppress_sequences": [["▁a", "▁dog"]], "target_prefix": PREFIX, "no_repeat_ngram_size": 2, "return_scores": False},
    {"beam_size": 1, "suppress_sequences": [["▁a"]], "target_prefix": PREFIX, "no_repeat_ngram_size": 2, "return_scores": False},
    {"beam_size": 1, "repetition_penalty": 1.2},
    {"beam_size": 4, "repetition_penalty": 1.2, "num_hypotheses": 4},
    {"beam_size": 4, "no_repeat_ngram_size": 2, "num_hypotheses": 4},
    {"beam_size": 4, "min_decoding_length": 20, "num_hypotheses": 4},
    {"beam_size": 4, "disable_unk": True, "num_hypotheses": 4},
    {"beam_size": 4, "suppress_sequences": [["▁a"], ["▁man", "▁in"], ["."]], "num_hypotheses": 4},
    {"beam_size": 1, "min_decoding_length": 20},
    {"beam_size": 4, "sampling_topk": 5},
    {"return_logits_vocab": True},
    {"return_alternatives": True, "coverage_penalty": 0.3},
    {"return_alternatives": True, "prefix_bias_beta": 0.3, "target_prefix": PREFIX},
    {"end_token": "."},
    {"target_prefix": ["▁a", "</s>", "▁man"]},
]


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default=ROOT / "examples" / "models" / "de-en", type=pathlib.Path)
    parser.add_argument("--data", default=os.environ.get("RILL_DATA", ROOT.parent / "shared" / "data"), type=pathlib.Path)
    parser.add_argument("--inputs", default=100, type=int)
    parser.add_argument("--only", default="")
    return parser.parse_args()


def near(a, b):
    return math.isclose(a, b, rel_tol=NEAR, abs_tol=NEAR)


def compare(mine, theirs, counts):
    """Compare both results of one input, and count the outcome."""
    a, b = mine.hypotheses, theirs.hypotheses
    counts["best"] += a[0] == b[0]
    if a == b:
        counts["list"] += 1
        counts["score"] = max([counts["score"], *(abs(x - y) for x, y in zip(mine.scores, theirs.scores, strict=True))])
    else:
        others = [i for i, (x, y) in enumerate(zip(a, b)) if x != y]
        rounding = len(a) == len(b) and all(near(mine.scores[i], theirs.scores[i]) for i in others)
        counts["rounding" if rounding else "differ"] += 1


def run(translators, sources, kwargs):
    """Return the outcome for all inputs under one set of options: counts, or the reason why it is refused."""
    kwargs = {"return_scores": True, **kwargs}
    if "coverage_penalty" in kwargs or "return_attention" in kwargs:
        kwargs["max_batch_size"] = 1  # CTranslate2's attention of a beam depends on the batch
    if "target_prefix" in kwargs:
        kwargs["target_prefix"] = [kwargs["target_prefix"]] * len(sources)
    counts = {"best": 0, "list": 0, "rounding": 0, "differ": 0, "score": 0.0}
    try:
        mine = translators[0].translate_batch(sources, **kwargs)
    except NotImplementedError as refused:
        return str(refused)
    for a, b in zip(mine, translators[1].translate_batch(sources, **kwargs), strict=True):
        compare(a, b, counts)
    return counts


def main():
    args = options()
    import ctranslate2
    import sentencepiece

    from rill.compat import ctranslate2 as facade

    lines = args.data / "mt" / "multi30k" / "val.de"
    lines = lines if lines.exists() else ROOT / "examples" / "questions" / "de-en.txt"
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(args.model / "source.spm"))
    sources = [pieces.encode(line, out_type=str) for line in lines.read_text(encoding="utf-8").splitlines()[: args.inputs]]
    print(f"command: bench/compat_ctranslate2.py --inputs {args.inputs}" + (f" --only {args.only}" if args.only else ""))
    print(f"{lines.name}, {len(sources)} inputs, {args.model.name}; CTranslate2 {ctranslate2.__version__}, float32")
    print("\n| options | best | list | rounding | differ | score |\n| --- | --- | --- | --- | --- | --- |")
    total, refused = {"best": 0, "list": 0, "rounding": 0, "differ": 0}, []
    with tempfile.TemporaryDirectory() as name:
        folder = os.path.join(name, "model")
        subprocess.run([sys.executable, str(ROOT / "tools" / "ct2_model.py"), str(args.model), folder], check=True)
        translators = [package.Translator(folder, compute_type="float32", intra_threads=1) for package in (facade, ctranslate2)]
        for kwargs in SETS:
            shown = ", ".join(f"{key}={value}" for key, value in kwargs.items()) or "none"
            if args.only not in shown:
                continue
            found = run(translators, sources, kwargs)
            if isinstance(found, str):
                refused.append(f"| {shown} | {found} |")
                continue
            for key in total:
                total[key] += found[key]
            row = " | ".join(str(found[key]) for key in total)
            print(f"| {shown} | {row} | {found['score']:.1e} |", flush=True)
    print(f"| all | {' | '.join(map(str, total.values()))} | |")
    print(f"\n{len(refused)} of {len(SETS)} sets are refused\n\n| options | NotImplementedError |\n| --- | --- |", *refused, sep="\n")


if __name__ == "__main__":
    main()
