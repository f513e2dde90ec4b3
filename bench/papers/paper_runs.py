"""The measurements of reproductions. Each part of a table is measured once and kept as a raw file, so that an interrupted run can be
continued.

A raw file has the part's commands, commit, machine, date and load, and its results; or, in place of results, what is missing or what
failed. A part is measured again only if its file is of another commit, of other data or of another number of runs or lines.
"""

import hashlib
import itertools
import json
import os
import statistics
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RILL = os.path.join(ROOT, "build", "rill")
UNFUSED = os.path.join(ROOT, "build", "bench", "librill.so")
QUESTIONS = os.path.join(ROOT, "examples", "questions")
# Test sets: their files in the data folder, with inputs and references.
TABS = ("geo", "jobs", "atis")
TREES = {"gum": "treebank/gum/test.ptb", "ptb": "treebank/ptb/test.ptb"}
CAPTIONS = {"captions": "test_2016_flickr", "captions-dev": "val"}
SHIPPED = {"ptb": "wsj", "captions": "de-en", "captions-dev": "de-en"}  # the model of a test set, if it has another name


class Missing(Exception):
    """The reason why a part cannot be measured here."""


class Failed(Exception):
    """The last line of errors of a command that failed."""


class Runs:
    def __init__(self, out, data=None, models=None, wmt19=None, runs=5, lines=0):
        self.out, self.data, self.models, self.wmt19, self.runs, self.lines = out, data, models, wmt19, runs, lines
        self.folder, self.commands, self.notes = None, [], []
        folders = "\n".join(os.path.abspath(one) if one else "" for one in (data, models, wmt19))
        self.about = {"commit": commit(), "runs": runs, "lines": lines, "folders": hashlib.sha256(folders.encode()).hexdigest()[:8]}

    # --- raw files

    def path(self, name):
        return os.path.join(self.out, name + ".json")

    def kept(self, name):
        """Return the raw file of a part, or None."""
        try:
            with open(self.path(name), encoding="utf-8") as file:
                raw = json.load(file)
        except (OSError, ValueError):
            return None
        whole = isinstance(raw, dict) and {"commit", "date", "machine", "runs", "lines"} <= raw.keys()
        return raw if whole and raw.keys() & {"results", "missing", "failed"} else None

    def measure(self, name, part):
        """Return the raw file of a part; measure the part if there is no such file."""
        raw = self.kept(name)
        if raw and "results" in raw and all(raw.get(key) == value for key, value in self.about.items()):
            return raw
        self.commands, self.notes = [], []
        raw = {"part": name, **self.about, **machine()}
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as self.folder:
            try:
                raw["results"] = part(self)
            except Missing as reason:
                raw["missing"] = str(reason)
            except (Failed, OSError, ValueError, KeyError, IndexError) as error:
                raw["failed"] = f"{type(error).__name__}: {error}" if not isinstance(error, Failed) else str(error)
        raw.update(wall_seconds=round(time.monotonic() - began, 1), commands=self.commands, notes=self.notes)
        os.makedirs(self.out, exist_ok=True)
        with open(self.path(name) + ".part", "w", encoding="utf-8") as file:
            json.dump(raw, file, indent=1)
            file.write("\n")
        os.replace(self.path(name) + ".part", self.path(name))
        return raw

    # --- commands

    def command(self, arguments, unfused=False):
        """Run a command. The raw file keeps its line, without the names of this machine's folders."""
        shown = " ".join(arguments).replace(self.folder + "/", "").replace(ROOT + "/", "")
        for folder, name in ((self.data, "RILL_DATA"), (self.models, "MODELS"), (self.wmt19, "WMT19")):
            shown = shown.replace(folder + "/", name + "/") if folder else shown
        environment = dict(os.environ)
        if unfused:
            if not os.path.exists(UNFUSED):
                raise Missing("the output layer that is not fused is not built: ninja -C build unfused_rill")
            environment["LD_PRELOAD"] = UNFUSED
            shown = "LD_PRELOAD=build/bench/librill.so " + shown
        self.commands.append(shown)
        done = subprocess.run(arguments, capture_output=True, text=True, env=environment, check=False, stdin=subprocess.DEVNULL)
        if done.returncode:
            raise Failed((done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}").splitlines()[-1])
        return done.stdout

    def place(self, name):
        return os.path.join(self.folder, name)

    def bench(self, model, inputs, methods, options, unfused=False, runs=None, profile=False):
        """Run `rill bench`; return the figures of each method. A method that fails is named; the figures of the others are kept."""
        def together(some):
            self.command([RILL, "bench", *model, *inputs, "--methods", ",".join(some), "--repeat", str(runs or self.runs), "--workers", "1",
                          "--quiet", "--json", self.place("bench.json"), *(["--profile"] if profile else []), *options], unfused)
            with open(self.place("bench.json"), encoding="utf-8") as file:
                return json.load(file)["methods"]
        try:
            return [shortened(method) for method in together(methods)]
        except Failed as error:
            if len(methods) == 1:
                raise
            self.notes.append(f"all methods in one run: {error}")
        found = []
        for method in methods:
            try:
                found += [shortened(one) for one in together([method])]
            except Failed as error:
                found.append({"method": method, "failed": str(error)})
        if all("failed" in one for one in found):
            raise Failed(found[0]["failed"])
        return found

    def decode(self, model, inputs, *options):
        """Run `rill decode`; return the run's statistics."""
        self.command([RILL, "decode", "-q", *model, *inputs, "--workers", "1", "--stats", self.place("stats.json"), *options])
        with open(self.place("stats.json"), encoding="utf-8") as file:
            return json.load(file)

    # --- models and test sets

    def model(self, name):
        """Return the options for a model: the user's, or the repository's."""
        for folder in (self.models, os.path.join(ROOT, "examples", "models")):
            if folder and os.path.isdir(os.path.join(folder, name)):
                return ["-m", os.path.join(folder, name)]
        raise Missing(f"no model {name}: name the folder that has it with --models")

    def lines_of(self, path, lines=0):
        most = self.lines or lines
        if self.lines and lines:
            most = min(self.lines, lines)
        with open(path, encoding="utf-8") as file:
            return list(itertools.islice(file, most or None))

    def copied(self, name, lines):
        with open(self.place(name), "w", encoding="utf-8") as file:
            file.writelines(lines)
        return self.place(name)

    def test_set(self, name, copies=1, lines=0):
        """Return options with inputs and references. Without the data, they name the repository's few questions, without references."""
        files = {"tsv": f"semparse/{name}/test.tsv"} if name in TABS else {"both": TREES[name]} if name in TREES else \
            {side: f"mt/multi30k/{CAPTIONS[name]}.{side}" for side in ("de", "en")}
        paths = {side: os.path.join(self.data or "", file) for side, file in files.items()}
        if not self.data or not all(map(os.path.exists, paths.values())):
            if name == "ptb":
                raise Missing("no Penn Treebank: make treebank/ptb/test.ptb in the folder of --data with `rill convert ptb`")
            question = SHIPPED.get(name, name)
            self.notes.append(f"{next(iter(files.values()))} is not in the folder of --data: the inputs are "
                              f"examples/questions/{question}.txt, and there are no references")
            text = self.lines_of(os.path.join(QUESTIONS, question + ".txt"))
            return ["-i", self.copied(question + ".txt", text * copies)]
        texts = {side: self.copied(os.path.basename(path), self.lines_of(path, lines) * copies) for side, path in paths.items()}
        if "tsv" in texts:
            return ["--test-set", texts["tsv"], "--tokenized"]
        return ["-i", texts.get("both") or texts["de"], "--refs", texts.get("both") or texts["en"]]

    def news(self, pair, year):
        """Return the options for a WMT test set and its models: newstestYEAR-PAIR.SIDE, and WMT19/PAIR, a model or a folder of an
        ensemble's models."""
        if not self.wmt19:
            raise Missing("no WMT'19 models: name their folder with --wmt19")
        sides, at = pair.split("-"), os.path.join(self.wmt19, pair)
        models = [at] if os.path.exists(os.path.join(at, "config.json")) else sorted(
            os.path.join(at, one) for one in (os.listdir(at) if os.path.isdir(at) else ()) if os.path.isdir(os.path.join(at, one)))
        texts = [os.path.join(self.wmt19, f"newstest{year}-{pair}.{side}") for side in sides]
        for path in [*texts, *(models or [at])]:
            if not os.path.exists(path):
                raise Missing(f"WMT19/{os.path.relpath(path, self.wmt19)} is missing")
        source, target = (self.copied(os.path.basename(path), self.lines_of(path)) for path in texts)
        return [word for one in models for word in ("-m", one)], ["-i", source, "--refs", target]


def shortened(method):
    """Return a method's figures, without those that no table shows."""
    keep = {key: value for key, value in method.items() if key not in ("same_outputs_as", "profile", "seconds_median", "seconds_spread")}
    keep["run"] = {key: value for key, value in method["run"].items() if key not in ("nodes", "histories", "model")}
    if "profile" in method:
        keep["profile"] = [{key: one[key] for key in ("program", "operation", "rows", "seconds")} for one in method["profile"]["operations"]
                           if one["rows"]]
    return keep


def commit():
    done = subprocess.run(["git", "describe", "--always", "--dirty", "--exclude", "*"], cwd=ROOT, capture_output=True, text=True,
                          check=False)
    return done.stdout.strip() or "unknown"


def machine():
    text = subprocess.run(["bash", "-c", ". bench/common.sh; describe_machine"], cwd=ROOT, capture_output=True, text=True,
                          check=False).stdout
    told = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    return {key: told.get(key, "unknown") for key in ("date", "machine", "compiler")}


def quality(method):
    """Return a method's quality in percent, or None without references."""
    return method.get(method.get("metric", "") + "_percent")


def mean_and_deviation(values):
    return statistics.mean(values), statistics.stdev(values) if len(values) > 1 else 0.0
