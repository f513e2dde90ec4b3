"""Shared by the checks of convert_mt.py: a conversion, its refusal, rill's outputs on the result, and the count of failures."""

import contextlib
import io
import os
import subprocess

import convert_mt

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "data", "mt")
FAILED = []
STEPS = 20  # of an output at most


def verdict(good, what):
    if not good:
        FAILED.append(what)
    print(("ok      " if good else "FAILED  ") + what)


def convert(*arguments):
    """The exit code and messages."""
    messages = io.StringIO()
    with contextlib.redirect_stdout(messages), contextlib.redirect_stderr(messages):
        code = convert_mt.main([str(a) for a in arguments])
    return code, messages.getvalue()


def made(what, *arguments):
    code, messages = convert(*arguments)
    verdict(code == 0, f"{what} is converted" + (": " + messages.strip() if code else ""))
    return code == 0


def refused(what, sentence, *arguments):
    code, messages = convert(*arguments)
    verdict(code == 1 and sentence in messages,
            f"{what} is refused: {sentence}" + ("" if sentence in messages else f" (messages: {messages.strip()})"))


class Rill:
    def __init__(self, path):
        self.path = path

    def decode(self, directories, lines, *options):
        models = [part for directory in directories for part in ("-m", directory)]
        run = subprocess.run([self.path, "decode", *models, "-q", "--max-length", str(STEPS), *options],
                             input="".join(line + "\n" for line in lines), capture_output=True, text=True, check=False)
        if run.returncode:
            verdict(False, f"rill decode {directories}: {run.stderr.strip()}")
        return run.stdout.removesuffix("\n").split("\n")

    def n_best(self, directories, lines):
        """For each line its outputs, best first: tokens and score."""
        found = [[] for _ in lines]
        search = ["-k", "5", "--n-best", "5", "--length-penalty", "0", "--max-candidates", "5", "--absolute", "inf"]  # plainly
        for line in self.decode(directories, lines, "--tokenized", *search):
            number, pieces, values, _score = line.split(" ||| ")
            found[int(number)].append((pieces.split(), float(values.split()[1])))
        return found
