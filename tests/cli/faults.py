#!/usr/bin/env python3
"""Make the system calls of whole runs of rill fail, one at a time.

usage: faults.py RILL FAULTY DATA [--serve] [--all] [--only WORD]

FAULTY is built from faulty.c. Without --all, a fixed selection of calls is tried. Each run must end, and not by a signal. If its
exit code is 0, its output must be complete. Otherwise its message must name the file or stream that failed, and its output must be
a prefix of the correct output. Reports are complete or unchanged. An interrupted call or a short read is no failure and changes
nothing.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

# System calls -> errors to inject. A "+" makes this call and all later ones fail.
FAULTS = {
    "read": ["EIO", "EINTR", "SHORT", "SHRINK"],
    "pread": ["EIO", "EINTR", "SHORT", "SHRINK"],
    "write": ["EIO", "EINTR", "EAGAIN", "SHORT", "ENOSPC+"],
    "open": ["EACCES", "EMFILE+"],
    "close": ["EIO"],
    "fstat": ["EIO"],
    "stat": ["EACCES"],
    "lseek": ["EIO"],
    "rename": ["EACCES"],
    "poll": ["EINTR", "ENOMEM"],
    "thread": ["EAGAIN", "EAGAIN+"],
    "fopen": ["EMFILE"],
    "mmap": ["ENOMEM"],
}
HARMLESS = {"EINTR", "EAGAIN", "SHORT"}  # no failures, except for threads
SHARE = int(os.environ.get("RILL_TEST_SHARE", "1"))
LIMIT = 60  # seconds; a run without faults takes milliseconds
OLD = "what stood there before\n"

MODELS = ("semparse/tiny", "mt/shared", "shiftreduce/tiny")
RUN = """return { model = "semparse/tiny", input = "semparse.in", options = { k = 3 },
  heuristics = { {"absolute", 2.5}, function(b) b.keep = b.path_score:ge(b.best - 4) end } }
"""
BROKEN = """return { model = "semparse/tiny", input = "semparse.in", heuristics = { function(b) error("no such beam") end } }
"""
SWEEP = """return { model = "semparse/tiny", input = "semparse.in", sweep = rill.sweep{ k = {1, 2} } }
"""
# The first half of this script is a valid script too.
PLUGIN = 'rill.scorer{ name = "first", score = function(rows) end }\n' + "\n" * 200 + """
rill.scorer{ name = "second", score = function(rows) end }
"""


class Scenario:
    """A command line, run in its own folder. `outputs`: files that the command streams to. `reports`: files that it writes as a whole."""

    def __init__(self, name, arguments, outputs=(), reports=(), streams=True, pipe=False):
        self.name, self.arguments, self.pipe = name, arguments, pipe
        self.outputs, self.reports = list(outputs), list(reports)
        self.streams = streams  # standard output has results, and a run that fails may write some of them


def scenarios():
    found = []
    for model, short in (("semparse/tiny", "semparse"), ("mt/shared", "mt"), ("shiftreduce/tiny", "parse")):
        decode = ["decode", "-m", model, "-q", "--tokenized"] if short == "mt" else ["decode", "-m", model, "-q"]
        found.append(Scenario(f"{short}", decode + ["-i", f"{short}.in"]))
        found.append(Scenario(f"{short}-files", decode + ["-i", f"{short}.in", "-o", "o", "--stats", "s", "--trace", "t", "--workers", "1"],
                              ["o"], ["s"]))
    decode = ["decode", "-m", "semparse/tiny", "-q"]
    found += [
        Scenario("pipe", decode, pipe=True),
        Scenario("workers", decode + ["-i", "semparse.in", "-o", "o", "--workers", "3", "--stats", "s"], ["o"], ["s"]),
        Scenario("threads", decode + ["-i", "semparse.in", "-o", "o", "--threads", "3"], ["o"]),
        Scenario("nbest", decode + ["-i", "semparse.in", "--n-best", "3", "-n", "1", "--method", "fixed"]),
        Scenario("run", ["run", "run.lua", "-q", "-o", "o", "--stats", "s"], ["o"], ["s"]),
        Scenario("sweep", ["run", "sweep.lua", "-q", "-r", "refs", "--stats", "s"], [], ["s"], streams=False),
        Scenario("tune", ["tune", "sweep.lua", "-q", "--dev", "tsv", "--plot", "v", "--json", "s"], [], ["v", "s"], streams=False),
        Scenario("bench", ["bench", "-m", "semparse/tiny", "-q", "--test-set", "tsv", "--repeat", "1", "--json", "s", "--plot", "v",
                           "--methods", "greedy"], [], ["s", "v"], streams=False),
        Scenario("eval", ["eval", "-m", "semparse/tiny", "--refs", "refs", "hypotheses"], streams=False),
        Scenario("info", ["info", "semparse/tiny"], streams=False),
        Scenario("list", ["list", "--plugin", "plugin.lua"]),
    ]
    return found


def write_lines(data, folder):
    """Write inputs of each model: random words of its vocabulary."""
    made = {}
    words = [w for w in (data / "semparse/tiny/source.vocab").read_text().split("\n") if w][3:]
    made["semparse"] = [" ".join(words[(i * (j + 3)) % len(words)] for j in range(1 + i % 5)) for i in range(30)]
    pieces = [w for w in json.loads((data / "mt/shared/vocab.json").read_text()) if "<" not in w and " " not in w]
    made["mt"] = [" ".join(pieces[(i * (j + 3) + j) % len(pieces)] for j in range(1 + i % 4)) for i in range(12)]
    made["parse"] = ["a dog barks .", "the cat sleeps", "it rains"] * 4
    for name, lines in made.items():
        (folder / f"{name}.in").write_text("".join(line + "\n" for line in lines))


class Bench:
    def __init__(self, options):
        self.rill, self.faulty = os.path.abspath(options.rill), os.path.abspath(options.faulty)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rill-faults-"))
        self.data = pathlib.Path(options.data)
        self.runs, self.struck, self.turns, self.bad = 0, 0, 0, []

    def prepare(self):
        for model in MODELS:
            shutil.copytree(self.data / model, self.folder / model)
        write_lines(self.data, self.folder)
        (self.folder / "run.lua").write_text(RUN)
        (self.folder / "broken.lua").write_text(BROKEN)
        (self.folder / "sweep.lua").write_text(SWEEP)
        (self.folder / "plugin.lua").write_text(PLUGIN)
        decoded = self.run(Scenario("refs", ["decode", "-m", "semparse/tiny", "-q", "-i", "semparse.in"]), None)
        assert decoded["code"] == 0, decoded["err"]
        (self.folder / "refs").write_bytes(decoded["out"])
        (self.folder / "hypotheses").write_bytes(decoded["out"])
        inputs, refs = (self.folder / "semparse.in").read_text().split("\n"), decoded["out"].decode().split("\n")
        (self.folder / "tsv").write_text("".join(f"{a}\t{b}\n" for a, b in zip(inputs[:-1], refs)))
        self.made = {path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}

    def restore(self):
        for path, content in self.made.items():
            path.write_bytes(content)

    def run(self, scenario, fault):
        """Return the exit code, stdout, stderr, the files written and the log of faulty.c."""
        for name in ("o", "t", "s", "v", "log"):
            (self.folder / name).unlink(missing_ok=True)
        for name in scenario.reports:
            (self.folder / name).write_text(OLD)
        # Sanitizers want to be loaded first. Here they may come second, since faulty.c is built without them.
        environment = dict(os.environ, LD_PRELOAD=self.faulty, FAULT_LOG=str(self.folder / "log"), LC_ALL="C",
                           ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "abort_on_error=1") + ":verify_asan_link_order=0")
        environment.pop("FAULT", None)
        if fault:
            environment["FAULT"] = fault
        process = subprocess.Popen([self.rill] + scenario.arguments, cwd=self.folder, env=environment, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, stdin=subprocess.PIPE if scenario.pipe else subprocess.DEVNULL)
        try:
            out, err = process.communicate((self.folder / "semparse.in").read_bytes() if scenario.pipe else None, timeout=LIMIT)
        except subprocess.TimeoutExpired:
            process.kill()
            return {"code": "hang", "out": b"", "err": process.communicate()[1], "files": {}, "log": ""}
        files = {name: (self.folder / name).read_bytes() for name in scenario.outputs + scenario.reports + ["t"]
                 if (self.folder / name).exists()}
        partial = [path.name for path in self.folder.glob("*.partial")]
        for name in partial:
            (self.folder / name).unlink()
        log = (self.folder / "log").read_text() if (self.folder / "log").exists() else ""
        return {"code": process.returncode, "out": out, "err": err, "files": files, "log": log, "partial": partial}

    # Return what is wrong with a run, or None.
    def judge(self, scenario, right, got, kind, action):
        code, harmless = got["code"], action in HARMLESS and kind != "thread"
        if code == "hang" or code < 0:
            return f"ends by {code}: {got['err'][-300:]}"
        if b"Sanitizer" in got["err"]:
            return f"{got['err'][:300]}"
        struck = [self.name_of(line) for line in got["log"].splitlines()]
        written = kind in ("write", "close", "rename") and self.written(scenario) & set(struck)
        if got["partial"]:
            return f"leaves {got['partial']}"
        if scenario.streams and not right["out"].startswith(got["out"]):
            return "writes what is not right"
        for output in scenario.outputs:
            if not right["files"][output].startswith(got["files"].get(output, b"")):
                return f"writes to {output} what is not right"
        for report in scenario.reports:
            trouble = self.judge_report(got["files"].get(report), report)
            if trouble:
                return trouble
        if code == right["code"]:
            if kind == "thread" and struck and scenario.name in ("threads", "workers") and b"ulimit -u" not in got["err"]:
                return "does not say that threads are missing"
            if written and not harmless:
                return f"says nothing of a {kind} of {written} that failed"
            same = not scenario.streams or got["out"] == right["out"]
            same = same and all(got["files"].get(o) == right["files"][o] for o in scenario.outputs)
            same = same and all(got["files"].get(r, b"") != OLD.encode() for r in scenario.reports)
            return None if same else "ends well, and something is missing"
        if harmless:
            return f"fails, though nothing did: {got['err'][-200:]}"
        # Thread 2 belongs to the first worker. If it cannot start, the run fails too, since thread 1 was only a trial.
        excused = scenario.name == "workers" and got["fault"].startswith(("thread:2:", "thread:2+:"))
        if kind == "thread" and scenario.name in ("threads", "workers") and not excused:
            return f"fails, though one thread suffices: {got['err'][-200:]}"
        if struck and not any(name.encode() in got["err"] for name in struck):
            return f"does not name {struck}: {got['err'][-200:]}"
        return None if got["err"] else "fails without a word"

    @staticmethod
    def written(scenario):
        return set(scenario.outputs + scenario.reports + ["t", "standard output"])

    @staticmethod
    def name_of(line):
        """Return the name that a message must give to the file in a line of the log."""
        _, descriptor, path = line.split(" ", 2)
        name = {"0": "standard input", "1": "standard output"}.get(descriptor, os.path.basename(path))
        return name.split(".")[0] if name.endswith(".partial") else name

    @staticmethod
    def judge_report(content, name):
        if content is None:
            return f"{name} is gone"
        if content == OLD.encode():
            return None
        if name == "v":
            return None if content.rstrip().endswith(b"</html>") else f"{name} is not whole"
        try:
            json.loads(content)
        except ValueError:
            return f"{name} is not whole"
        return None

    def try_all(self, scenario, every):
        right = self.run(scenario, None)
        if right["code"] != 0:
            self.bad.append(f"{scenario.name}: fails by itself: {right['err']}")
            return
        counted = dict(line.split() for line in right["log"].splitlines())
        for kind, actions in FAULTS.items():
            n = int(counted[kind])
            for action in actions:
                plus = action.endswith("+")
                chosen = range(1, n + 1) if every else sorted({1, n, 1 + len(scenario.name) * 7 % n}) if n else []
                if chosen and not every:  # SHARE > 1: only every SHARE-th call, from another start for each kind and scenario
                    chosen = chosen[self.turns % min(SHARE, len(chosen))::SHARE]
                    self.turns += 1
                for number in chosen:
                    fault = f"{kind}:{number}{'+' if plus else ''}:{action.rstrip('+')}"
                    self.try_one(scenario, right, kind, action.rstrip("+"), fault)

    def try_one(self, scenario, right, kind, action, fault):
        got = self.run(scenario, fault)
        got["fault"] = fault
        if action == "SHRINK":
            self.restore()
        self.runs += 1
        self.struck += bool(got["log"])
        trouble = self.judge(scenario, right, got, kind, action)
        if trouble:
            self.bad.append(f"{scenario.name}, {fault} ({got['log'].strip()}): {trouble}")

    def try_broken_script(self):
        """With one worker left the message names the failure's cause, as with several workers."""
        (self.folder / "folder").mkdir()
        for script, words in (("run broken.lua", b"no such beam"), ("decode -m semparse/tiny -i folder", b"folder")):
            for fault in (None, "thread:1:EAGAIN"):
                got = self.run(Scenario("broken", script.split() + ["-q", "--workers", "3"]), fault)
                self.runs += 1
                self.struck += bool(got["log"])
                if got["code"] == 0 or words not in got["err"]:
                    self.bad.append(f"{script}, {fault}: {got['err']}")

    def try_server(self):
        """A server whose threads cannot be created does not start, and its message says what to do."""
        serve = Scenario("serve", ["serve", "-m", "semparse/tiny", "--port", "0", "--workers", "1"])
        for number in (1, 2, 3):
            got = self.run(serve, f"thread:{number}:EAGAIN")
            self.runs += 1
            self.struck += bool(got["log"])
            if got["code"] != 1 or b"cannot start a thread: raise the limit of threads" not in got["err"]:
                self.bad.append(f"serve, thread {number}: {got['code']} {got['err']}")


def main():
    parser = argparse.ArgumentParser()
    for name in ("rill", "faulty", "data"):
        parser.add_argument(name)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--serve", action="store_true", help="the command has rill serve")
    options = parser.parse_args()
    bench = Bench(options)
    try:
        bench.prepare()
        for scenario in scenarios():
            if options.only in scenario.name:
                bench.try_all(scenario, options.all)
        bench.try_broken_script()
        if options.serve:
            bench.try_server()
    finally:
        shutil.rmtree(bench.folder)
    for line in bench.bad:
        print(line)
    print(f"{bench.runs} runs, {bench.struck} with a fault, {len(bench.bad)} went wrong")
    return 1 if bench.bad or bench.struck < bench.runs // 2 else 0


if __name__ == "__main__":
    sys.exit(main())
