#!/usr/bin/env python3
"""Run random command lines: none may crash, hang or fail without a message, and options of the schedule may not change results.

usage: random_commands.py RILL DATA [--n N] [--seed S] [--limit SECONDS]

RILL: the command; DATA: tests/data. Each case draws a command, a tiny model or an invalid path, and good and bad inputs and option
values. A decode runs twice, under two schedules, and must give the same results. A case depends on its seed alone, which a failure
prints. Every option that `--help` names must be known here, so that a new one is tried too.
"""

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile

ODD_NUMBERS = ["-1", "0", "1e99", "nan", "-inf", "inf", "99999999999999999999", "2147483648", "0x10", "", " ", "1,5", "three", "1.5",
               "1/0", "1/6"]
ODD_TEXTS = ["", " ", "nonsense", ":", "a:b:c", "\xff", "../", "/dev/null", "-", "--", "%s%n", "x" * 5000]

# Options that change results -> good values. None: the option has no value.
SEARCH = {
    "--beam-size": "1 2 3 5 17", "--max-children": "1 2 3 9", "--finish": "top immediate shrink one-step", "--stop-after": "1 2 5",
    "--patience": "0.5 1 2", "--min-length": "0 1 3", "--max-length": "1 4 20", "--length-penalty": "0 0.6 1", "--n-best": "1 2 5",
    "--distinct": None, "--like": "hf fairseq marian ct2", "--keep": "all first best", "--stop": "count bound bound-max top",
    "--at-limit": "open first end end-free best-ended", "--count-end": None, "--max-length-factor": "0 0.5 2", "--word-penalty": "0 0.3",
    "--no-repeat-ngram-size": "0 1 3", "--repetition-penalty": "1 1.3 0.5",
    "--unknown-penalty": "0 2 inf", "--min-width": "0 1 4", "--require-end": None, "--unknown-names": None,
    "--cube": "none naive accelerated", "--scores": "logp", "--certify": None, "--exact": None,
    "--exact-rows": "1 20 500",
    "--num-samples": "1 2 5", "--temperature": "0.5 1 3", "--top-k": "0 1 3 1000", "--top-p": "0.3 0.9", "--seed": "0 7",
    "--beam-groups": "1 2 3", "--diversity-penalty": "0.5 3",
    "--prune-absolute": "0.5 2 10", "--prune-relative": "0.01 0.5", "--prune-relative-local": "0.1",
    "--heuristic": "absolute:3 relative:0.1 relative_local:0.2", "--scorer": "word_reward:0.2 word_reward:-1",
    "--lmbr-self": "1 3 5,T=2",
    "--weights": "f32 bf16 int8", "--device": "cpu", "--input-format": "auto tree tagged text", "--tokenized": None,
    "--split": "auto sentences off",
    "--word-scores": None, "--alignment": None, "--alignment=soft": None, "--alignment=0.3": None, "--ids": None, "--pretty": None,
}
# Options that must not change results.
SCHEDULE = {
    "--batch-size": "1 2 7 100", "--max-in-flight": "1 3 50", "--max-batch-hypotheses": "0 1 10 200", "--refill-threshold": "1/6 1/2 1",
    "--sort": "none length longest-first longest-first:3",
    "--flush-every": "0 1 5", "--max-nodes": "0 2000", "--memory": "0 1G", "--threads": "1 2", "--workers": "1 2 3 auto",
    "--fast": None, "--profile": None, "--progress": None, "--verbose": None, "--quiet": None,
    "--scheduler": "batch least-advanced most-advanced top-up all", "--unsafe-scripts": None, "--script-memory": "1M 64M",
    "--script-steps": "0 100000", "--script-seconds": "0 5",
}
BOUNDS = {"--max-nodes", "--memory"}  # Without enough of these an input fails, so only good values are drawn.
SAME_METHODS = [["var-batch", "var-stream", "var-stream-fifo", "top-up", "stream-all"], ["fixed-stream"], ["fixed"], ["greedy"]]
# Options that are set elsewhere in this file, or that other tests cover.
OTHERS = {"--constraints", "--model", "--domain", "--domain-args", "--lmbr", "--shortlist", "--source-lang", "--target-lang",
          "--language-columns", "--shard", "--tsv-column", "--jsonl", "--plugin", "--config", "--input", "--output",
          "--stats", "--trace", "--trace-trees", "--method", "--unordered", "--help"}
WORDS = ["a", "b", "c", "cat", "dog", "jobs", "in", "w1", "w2", "ci0", "the", "(", ")", "NN", "what", "\u00fc\u4e16", "<unk>", "</s>",
         "\x01", "|||", "\ufeff", "'"]

LUA_VALUES = "1 2 3 0.5 'top' {} nil true -1 1e308 0/0 function()end"


class Case:
    def __init__(self, seed, tool, data, work):
        self.draw = random.Random(seed)
        self.tool, self.data, self.work = tool, data, work

    def chance(self, percent):
        return self.draw.random() * 100 < percent

    def value(self, values, odd):
        if not self.chance(odd):
            return self.draw.choice(values.split(" "))
        return self.draw.choice(ODD_NUMBERS + ODD_TEXTS)

    def options(self, table, max_options, odd):
        """Draw up to `limit` options of a table, some with bad values."""
        chosen = []
        for name in self.draw.sample(sorted(table), self.draw.randint(0, max_options)):
            if name not in KNOWN:
                continue
            chosen.append(name)
            if table[name] is not None:
                chosen.append(self.value(table[name], 0 if name in BOUNDS else odd))
        return chosen

    def models(self):
        """Draw a model's folder, or sometimes an invalid path; return it with options that select the domain."""
        good = ["semparse/tiny", "semparse/odd", "shiftreduce/tiny", "shiftreduce/odd", "mt/shared", "mt/separate", "mt/fsmt", "mt/odd"]
        if self.chance(95):
            chosen = [os.path.join(self.data, self.draw.choice(good))]
        else:
            chosen = [self.draw.choice([self.data, self.work, "/nowhere", "", os.path.join(self.data, "semparse/tiny/config.json")])]
        if self.chance(5):
            chosen.append(os.path.join(self.data, self.draw.choice(good)))
        words = [word for model in chosen for word in ("-m", model)]
        if self.chance(3):
            words += ["--domain", self.draw.choice(["mt", "semparse", "shiftreduce", "nonsense"])]
        return words

    def inputs(self):
        """Draw some lines as bytes; some are no valid text."""
        lines = []
        for _ in range(self.draw.choice([0, 1, 2, 5, 12])):
            words = [self.draw.choice(WORDS) for _ in range(self.draw.choice([0, 1, 3, 8, 30]))]
            lines.append(" ".join(words).encode())
            if self.chance(3):
                lines[-1] += bytes(self.draw.randrange(256) for _ in range(9)).replace(b"\n", b"")
        end = self.draw.choice([b"\n", b"\n", b"\n", b"\r\n"])
        text = end.join(lines)
        return text + end if lines and self.chance(90) else text

    def file(self, name, content):
        path = os.path.join(self.work, name)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def decode(self):
        """Draw a decode, and the same one under another schedule."""
        family = self.draw.choices(SAME_METHODS, [7, 1, 1, 1])[0]
        head = [self.tool, "decode", *self.models()]
        answers = self.options(SEARCH, 5, 4)
        source = self.file("in", self.inputs())
        reports = [word for name in ("--stats", "--trace") if self.chance(10) for word in (name, os.path.join(self.work, name[2:]))]
        schedule = SCHEDULE
        # The exact search may stop early if states are too few, so their number is not bounded. Here it also need not run long.
        if "--exact" in answers:
            schedule = {name: values for name, values in SCHEDULE.items() if name not in BOUNDS}
            answers += [] if "--exact-rows" in answers else ["--exact-rows", "200"]
        one = [*head, *answers, "--method", self.draw.choice(family), *self.options(schedule, 4, 4), *reports]
        two = [*head, *answers, "--method", self.draw.choice(family), *self.options(schedule, 4, 0)]
        return source, one, two

    def other(self):
        """Draw another command or an unknown one; only its exit code is checked."""
        source = self.file("in", self.inputs())
        kind = self.draw.choice(["bench", "check", "eval", "info", "list", "actions", "run", "tune", "nothing"])
        if kind == "bench":
            methods = self.value("greedy,fixed var-batch,stream-all fixed:k=3", 10)
            words = [kind, *self.models(), "-i", source, "--methods", methods, "--repeat", "1", *self.options(SEARCH, 3, 10)]
        elif kind == "check":
            chain = self.value("absolute:1 relative:0.1 absolute: nonsense", 20)
            words = [kind, *(self.models() if self.chance(50) else []), "--heuristic", chain, "--runs", "1",
                     *(["--seed", self.value("0 1 77", 30)] if self.chance(50) else []), *(["-i", source] if self.chance(50) else [])]
        elif kind == "eval":
            words = [kind, "--refs", self.file("refs", self.inputs()), source, "--metric", self.value("exact bleu bracket", 10)]
        elif kind == "info":
            words = [kind, *self.models()]
        elif kind == "list":
            words = [kind, self.value("domains methods heuristics scorers schedulers metrics settings likes fields", 30)]
        elif kind == "actions":
            words = ["list", kind, self.models()[1]]
        elif kind in ("run", "tune"):
            search = ", ".join("%s = %s" % (name.strip("-").replace("-", "_"), self.value(LUA_VALUES, 0))
                               for name in self.draw.sample(sorted(SEARCH), 3))
            sweep = self.draw.choice(["nil", "rill.sweep{ k = {1, 2} }", "3", "{ k = 5 }"])
            script = "return { model = '%s', options = { %s }, n_best = %s, sweep = %s }" % (
                self.models()[1], search, self.value("1 3 -1 'x'", 0), sweep)
            words = [kind, self.file("run.lua", script.encode()), *(["--dev", source] if kind == "tune" else ["-i", source])]
        else:
            words = [self.value("decod --version --help help -m decode", 50), *self.options(SEARCH, 2, 50)]
        return source, [self.tool, *words], None


def known_options(tool):
    """Return the options of every command, from --help."""
    found = set()
    for command in ("decode", "bench", "tune", "eval", "info", "check", "list"):
        text = subprocess.run([tool, command, "--help"], capture_output=True, text=True, check=True).stdout
        found |= set(re.findall(r"(?m)^  (?:-\w, )?(--[a-z-]+|-[kn])\b", text))
    return found | {"--alignment=soft", "--alignment=0.3"}


def look(command, source, limit):
    """Run the command; return (exit code, output, problem or None)."""
    command = [word.encode("latin-1", "surrogateescape") for word in command]
    with open(source, "rb") as file:
        try:
            done = subprocess.run(command, stdin=file, capture_output=True, timeout=limit)
        except subprocess.TimeoutExpired:
            return None, b"", "did not end within %d s" % limit
    problem = None
    if done.returncode not in (0, 1, 2):
        problem = "status %d: %s" % (done.returncode, done.stderr[-1500:].decode("utf-8", "replace"))
    elif re.search(rb"(Address|Leak|Thread|UndefinedBehavior)Sanitizer|runtime error:|Assertion", done.stderr):
        problem = done.stderr[-3000:].decode("utf-8", "replace")
    elif done.returncode != 0 and not done.stderr:
        problem = "status %d without a word" % done.returncode
    return done.returncode, done.stdout, problem


def try_one(seed, tool, data, limit, counts):
    with tempfile.TemporaryDirectory() as work:
        case = Case(seed, tool, data, work)
        source, one, two = case.decode() if case.chance(75) else case.other()
        status, output, problem = look(one, source, limit)
        counts[status] = counts.get(status, 0) + 1
        if problem is None and two is not None and status in (0, 2):
            again, other, problem = look(two, source, limit)
            if problem is None and again in (0, 2):
                counts["compared"] = counts.get("compared", 0) + 1
                if (again, other) != (status, output):
                    problem = "answers differ from those of\n  %s\n%r\n%r" % (" ".join(two), output[:2000], other[:2000])
        if problem is not None:
            with open(source, "rb") as file:
                words = " ".join(map(repr, one[1:]))
                print("case --seed %d --n 1: %s\n  %s\n  input: %r" % (seed, problem, words, file.read()[:2000]), flush=True)
        return problem is None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool", metavar="RILL")
    parser.add_argument("data", metavar="DATA")
    parser.add_argument("--n", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=int, default=60)
    args = parser.parse_args()
    global KNOWN
    KNOWN = known_options(args.tool)
    of_decode = KNOWN - {"--dev", "--metric", "--plot", "--json", "--refs", "--test-set", "--methods", "--repeat", "--runs", "--seed"}
    unknown = of_decode - set(SEARCH) - set(SCHEDULE) - OTHERS
    if unknown:
        sys.exit("random_commands: options that are not tried: " + " ".join(sorted(unknown)))
    args.n = -(-args.n // int(os.environ.get("RILL_TEST_SHARE", "1")))
    counts, bad = {}, 0
    for seed in range(args.seed, args.seed + args.n):
        bad += not try_one(seed, args.tool, args.data, args.limit, counts)
    print("%d command lines, by status: %s; %d failures" % (args.n, ", ".join("%s: %d" % c for c in sorted(counts.items(), key=str)), bad))
    if bad or counts.get("compared", 0) < args.n / 10:
        sys.exit(1)


if __name__ == "__main__":
    main()
