#!/usr/bin/env python3
"""Tests and measurements on a GPU: the parts of bench/gpu.sh, which builds and calls it.

Parts, most valuable first:
  open       the device opens, and one model gives the same results on it as on the CPU
  kernels    each kernel against the plain C one
  graphs     random graphs against the reference interpreter, again with guards between arrays, and the launches of a layer
  golden     the shipped models against the golden files
  times      the methods on models of three sizes and on those shipped: rill bench, with a profile of an extra run
  peer       transformers' generate with the same weights, type and lengths
  memcheck, racecheck   the kernels' tests under compute-sanitizer
Each part has a budget: its share (SHARES) of the time that is left, among the parts that are yet to run. So no part takes another's
time, and what one leaves goes to those after it. Results are written at once to --out: gpu.json, and gpu.txt with its table. What is in
gpu.json is not measured again; --earlier names the folder of another call's results, to go on from there on a machine without them.

usage: gpu.py --out FOLDER [--build FOLDER] [--device cuda|cuda-host] [--tiny] [--seconds S] [--types bf16,f32] [--earlier FOLDER]
              [--table] [PART...]
--table: runs nothing; prints the table of OUT's gpu.json. --tiny: small models and few rows, to try all of this on the stand-in.
"""

import argparse
import concurrent.futures
import json
import os
import platform
import random
import shutil
import subprocess
import sys
import threading
import time

import gpu_table

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SHARES = {"open": 1, "kernels": 4, "graphs": 4, "golden": 3, "times": 8, "peer": 6, "memcheck": 3, "racecheck": 3}
PARTS = tuple(SHARES)
KERNELS = ("rows", "index", "products", "lists", "attention", "choices")
GOLDEN = ("geo", "jobs", "atis", "gum", "f32", "bf16", "f16", "recurrent", "students", "families", "ensemble", "deep")
PRUNED = "absolute=1.5:max-candidates=5:length-penalty=1"
SHIPPED = {"de-en": "de-en", "GEO": "geo", "ATIS": "atis", "GUM": "gum"}
SIZES = {  # name -> arguments of tools/random_mt.py, number of words, number of models in the ensemble
    "OPUS": ([], 32000, 1),
    "WMT19": (["--type", "fsmt", "--width", "1024", "--inner", "4096", "--encoder-inner", "8192", "--heads", "16"], 42024, 1),
    "OPUS x5": ([], 32000, 5)}
TINY = ["--width", "32", "--inner", "64", "--encoder-inner", "96", "--heads", "2", "--layers", "2"]


def plan(tiny, types):
    """Return the groups of rows that one call of rill measures, the most valuable first: model, type (+: with --fast), k, rows of a full
    beam, methods."""
    few, many = (10, 20) if tiny else (300, 4000)
    methods = ("fixed", "var-batch", "var-stream", "var-stream-fifo", "top-up", "stream-all")
    groups = []
    for k in (5,) if tiny else (5, 50):
        for kind in types:
            for model in ("OPUS", "WMT19"):
                groups += [(model, kind, k, rows, methods + ("greedy",) * (k == 5)) for rows in (few, many)]
                groups += [] if tiny else [(model, kind, k, rows, ("stream-all",)) for rows in (1200, 12000)]
    groups += [("OPUS", kind + "+", 5, rows, ("fixed",)) for kind in types for rows in (few, many)]
    for model in SHIPPED:
        kind = types[0] if model == "de-en" else "f32"  # the other models have fp32 weights only
        groups += [(model, kind, 5, rows, methods) for rows in (few, many)[: 1 if tiny else 2]]
    groups += [("OPUS x5", types[0], 5, rows, ("fixed", "var-batch", "stream-all")) for rows in (few, many)]
    return groups


def method(name, k, rows):
    """Return a method with its options, and n. Refilled beams under a budget have about as many rows as full beams of whole batches."""
    n = rows if name == "greedy" else rows // k
    options = {"greedy": "", "fixed": ":length-penalty=1"}.get(name, ":" + PRUNED)
    if name in ("var-stream", "var-stream-fifo"):
        options += f":budget={rows}:max-items={4 * n}"
    return f"{name}:n={n}{options}", n


class Bench:
    def __init__(self, args):
        self.args, self.end = args, time.monotonic() + args.seconds
        self.part_end = self.end
        self.work = os.path.join(args.build, "bench-models" + "-tiny" * args.tiny)
        self.length = 8 if args.tiny else 26  # subword tokens of each input and output of a random model
        self.path = os.path.join(args.out, "gpu.json")
        self.results = {"device": args.device, "tiny": args.tiny, "card": None, "checks": {}, "rows": {}, "peer": {}, "limits": {}}
        earlier = [os.path.join(folder, "gpu.json") for folder in (args.out, args.earlier) if folder]
        for path in [path for path in earlier if os.path.exists(path)][:1]:
            with open(path, encoding="utf-8") as file:
                self.results = json.load(file)
        self.lock = threading.RLock()
        self.failed_models = set()  # models that could not be made in this call
        self.rill = os.path.join(args.build, "rill")
        os.environ["RILL_MODULES"] = os.path.join(args.build, "tests/cuda" if args.device == "cuda-host" else "domains")
        self.log = open(os.devnull if args.table else os.path.join(args.out, "gpu.log"), "a", encoding="utf-8")

    def save(self):
        with open(self.path + ".new", "w", encoding="utf-8") as file:
            json.dump(self.results, file, indent=1)
        os.replace(self.path + ".new", self.path)
        with open(os.path.join(self.args.out, "gpu.txt"), "w", encoding="utf-8") as file:
            file.write(self.table())

    def table(self):
        return gpu_table.table(self.results, self.listed())

    def listed(self):
        """Yield the key and the description of each row of the table, measured or not."""
        for model, kind, k, rows, methods in plan(self.args.tiny, self.args.types):
            for name in methods:
                label, n = method(name, k, rows)
                beam = 1 if name == "greedy" else k
                yield f"{model} {kind} {beam} {label}", {"model": model, "type": kind, "k": beam, "method": name, "n": n,
                                                         "full": n * beam}

    def measured_types(self):
        """Keep only the types with measurements: --table prints no others."""
        known = {key.removeprefix(model + " ").split()[0] for key in self.results["rows"] for model in SIZES if key.startswith(model + " ")}
        self.args.types = [kind for kind in self.args.types if kind in known] or self.args.types

    def left(self):
        return min(self.end, self.part_end) - time.monotonic()

    def begin(self, part, later):
        """Give the part its budget of the time that is left; `later`: the parts after it."""
        now = time.monotonic()
        self.part_end = now + (self.end - now) * SHARES[part] / sum(SHARES[name] for name in (part, *later))
        print(f"{'budget':10} {part}: {self.part_end - now:.0f} s", flush=True)

    def run(self, command, limit, folder=ROOT):
        """Run a command; return its exit code and output. Exit code None: no time was left, or the command was stopped at its limit."""
        limit = min(limit, self.left())
        if limit < 2:
            return None, "no time was left"
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                  timeout=limit, cwd=folder, check=False)
            code, text = done.returncode, done.stdout
        except subprocess.TimeoutExpired as stopped:
            output = stopped.stdout or b""
            code, text = None, (output if isinstance(output, str) else output.decode(errors="replace")) + f"\nstopped after {limit:.0f} s"
        except OSError as failure:
            code, text = 127, str(failure)
        with self.lock:
            self.log.write(f"$ {' '.join(command)}\n{text}\n[{code}]\n")
            self.log.flush()
        return code, text

    # --- checks ---------------------------------------------------------------------------------------------------------------

    def done(self, name):
        return self.results["checks"].get(name, {}).get("result") == "ok"

    def keep(self, name, result, seconds, output):
        with self.lock:
            self.results["checks"][name] = {"result": result, "seconds": round(seconds, 1)}
            if result.startswith("FAILED"):
                self.results["checks"][name]["said"] = output[-1500:]
                print(output[-1500:], flush=True)
            print(f"{result:10} {name} ({seconds:.0f} s)", flush=True)
            self.save()

    def check(self, name, command, limit):
        if self.done(name):
            return
        began = time.monotonic()
        code, text = self.run(command, limit)
        result = "ok" if code == 0 else "no time" if code is None else f"FAILED, exit code {code}"
        self.keep(name, result, time.monotonic() - began, text)

    def open(self):
        self.check("the device opens", [self.rill, "info", "-m", "examples/models/geo", "--device", self.args.device], 60)
        self.check("a model answers", [self.rill, "decode", "-m", "examples/models/geo", "-i", "examples/questions/geo.txt", "--device",
                                       self.args.device, "-o", "/dev/null"], 60)

    def tests(self, names, limit):
        """Run tests of the build in parallel, as Meson would; Meson itself may be missing."""
        with open(os.path.join(self.args.build, "meson-info/intro-tests.json"), encoding="utf-8") as file:
            known = {one["name"]: one for one in json.load(file)}
        for name in names:
            if name not in known:  # on the stand-in there are golden files for some groups only
                self.keep(name, "left out" if self.args.device == "cuda-host" else "FAILED: not in the build", 0, "")
        with concurrent.futures.ThreadPoolExecutor(max_workers=4) as pool:
            for future in [pool.submit(self.test, name, known[name], time.monotonic() + limit) for name in names
                           if name in known and not self.done(name)]:
                future.result()

    def test(self, name, one, end, **extra):
        began = time.monotonic()
        libraries = os.environ.get("LD_LIBRARY_PATH", "")  # first Meson's folders, then those of this process
        variables = {**one["env"], **extra, "LD_LIBRARY_PATH": ":".join(filter(None, [one["env"].get("LD_LIBRARY_PATH"), libraries]))}
        code, text = self.run(["env", *(f"{key}={value}" for key, value in variables.items()), *one["cmd"]],
                              min(one["timeout"], end - began), self.args.build)
        result = {0: "ok", 77: "left out", None: "no time"}.get(code, f"FAILED, exit code {code}")
        self.keep(name, result, time.monotonic() - began, text)

    def prefix(self):
        return "cuda_" if self.args.device == "cuda-host" else "gpu_"

    def kernels(self):
        self.tests([self.prefix() + name for name in KERNELS], 150)

    def graphs(self):
        host = self.args.device == "cuda-host"
        self.tests(["cuda_executor_7", "cuda_fuse"] if host else ["gpu_executor", "gpu_fuse", "gpu_runs"], 150)
        if not host and not self.done("gpu_executor, guards"):
            with open(os.path.join(self.args.build, "meson-info/intro-tests.json"), encoding="utf-8") as file:
                for one in json.load(file):
                    if one["name"] == "gpu_executor":
                        self.test("gpu_executor, guards", one, time.monotonic() + 150, RILL_CUDA_GUARDS="1")

    def golden(self):
        self.tests([f"golden_{self.prefix()}{name}" for name in GOLDEN], 120)

    def sanitizer(self, tool):
        program = shutil.which("compute-sanitizer", path=os.environ["PATH"] + ":/usr/local/cuda/bin:/usr/local/cuda/compute-sanitizer")
        if program is None or self.args.device == "cuda-host":
            print(f"left out   {tool}: no compute-sanitizer, or no GPU")
            return
        with concurrent.futures.ThreadPoolExecutor(max_workers=len(KERNELS)) as pool:
            for name in KERNELS:
                test = os.path.join(self.args.build, "tests/cuda/test_gpu_" + name)
                pool.submit(self.check, f"gpu_{name}, {tool}",
                            [program, "--tool", tool, "--error-exitcode", "9", test, "--iterations", "5"], 75)

    # --- models and inputs ----------------------------------------------------------------------------------------------------

    def directories(self, model):
        """Return the folders of a model, which are made once. Empty: the model could not be made, and the table says so."""
        if model in SHIPPED:
            return [f"examples/models/{SHIPPED[model]}"]
        if model in self.failed_models:
            return []
        arguments, words, count = SIZES[model]
        words = 500 if self.args.tiny else words
        found = []
        for seed in range(1, count + 1):
            directory = os.path.join(self.work, f"{model.split()[0]}-{seed}")
            if not os.path.exists(os.path.join(directory, "ready")):
                began = time.monotonic()
                code, text = self.run([sys.executable, "tools/random_mt.py", directory, "--words", str(words), "--seed", str(seed),
                                       *arguments, *(TINY if self.args.tiny else [])], 90)
                if code != 0:
                    why = "no time" if code is None else "FAILED: " + (text.strip().splitlines() or ["no message"])[-1]
                    self.keep(f"a model: {model}", why, time.monotonic() - began, text)
                    self.failed_models.add(model)
                    return []
                open(os.path.join(directory, "ready"), "w", encoding="utf-8").close()
            found.append(directory)
        return found

    def inputs(self, model, lines):
        os.makedirs(self.work, exist_ok=True)
        path = os.path.join(self.work, f"{model}-{lines}.in")
        with open(path, "w", encoding="utf-8") as out:
            if model in SHIPPED:
                with open(os.path.join(ROOT, f"examples/questions/{SHIPPED[model]}.txt"), encoding="utf-8") as file:
                    some = file.read().splitlines()
            else:
                draw, words = random.Random(1), 500 if self.args.tiny else SIZES[model][1]
                some = [" ".join(f"t{draw.randrange(4, words)}" for _ in range(self.length)) for _ in range(lines)]
            out.write("".join(some[i % len(some)] + "\n" for i in range(lines)))
        return path

    # --- times ----------------------------------------------------------------------------------------------------------------

    def options(self, model, kind, k):
        options = ["--device", self.args.device, "--weights", kind.rstrip("+"), "-k", str(k)] + ["--fast"] * kind.endswith("+")
        equal = ["--tokenized", "--min-length", str(self.length), "--max-length", str(self.length), "--count-end"]
        return options + ([] if model in SHIPPED else equal)

    def tokens(self, model, kind, path, where, lines):
        """Count the tokens of the best outputs, as they are written."""
        if model not in SHIPPED:
            return lines * self.length
        out = os.path.join(self.work, "out")
        code, _ = self.run([self.rill, "decode", *where, "-i", path, "-o", out, "-q", *self.options(model, kind, 5)], 60)
        if code not in (0, 2):
            return 0
        with open(out, encoding="utf-8") as file:
            return sum(len(line.split()) for line in file)

    def group(self, model, kind, k, rows, methods):
        keys = {f"{model} {kind} {1 if name == 'greedy' else k} {method(name, k, rows)[0]}": name for name in methods}
        if all(key in self.results["rows"] for key in keys):
            return
        began = time.monotonic()
        where = [a for directory in self.directories(model) for a in ("-m", directory)]
        if not where:
            return
        lines = (2 if self.args.tiny else 4) * max(rows // k, 1)
        path, results = self.inputs(model, lines), os.path.join(self.work, "told.json")
        tokens = self.tokens(model, kind, path, where, lines) if self.left() > 2 else 0
        if os.path.exists(results):
            os.remove(results)
        code, text = self.run([self.rill, "bench", *where, "-i", path, *self.options(model, kind, k), "--methods",
                               ",".join(key.split(" ")[-1] for key in keys), "--repeat", "1" if self.args.tiny else "2", "--profile", "-q",
                               "--json", results], 90)
        # exit code 1 may also mean that outputs differ
        result = "ok" if code == 0 else "no time" if code is None else f"FAILED, exit code {code}"
        self.keep(f"bench: {model} {kind} k={k} {rows}", result, time.monotonic() - began, text)
        if not os.path.exists(results):
            return
        with open(results, encoding="utf-8") as file:
            measured = json.load(file)["methods"]
        for key, one in zip(keys, measured):
            self.results["rows"][key] = gpu_table.measured(one, tokens, self.results.get("card"), kind)
        self.save()

    def times(self):
        for group in plan(self.args.tiny, self.args.types):
            if self.left() > 5:
                self.group(*group)

    def peer(self):
        """Run one process for each model, type and beam size. The results of a batch are kept, however the process ends."""
        for kind in self.args.types:
            for beam in (5, 50, 1):
                for model in ("OPUS", "WMT19"):
                    if self.left() > 15 and f"{model} {kind} {beam}" not in self.results["peer"]:
                        self.peer_of(model, kind, beam)

    def peer_of(self, model, kind, beam):
        where = self.directories(model)
        if not where:
            return
        words = 500 if self.args.tiny else SIZES[model][1]
        rows = ["10", "20"] if self.args.tiny else ["1280", "5120", "20480"]
        device = "cpu" if self.args.device == "cuda-host" else self.args.device
        code, text = self.run(["env", "LD_LIBRARY_PATH=" + os.environ.get("PEER_LIBRARY_PATH", ""), sys.executable, "bench/gpu_peer.py",
                               *where, "--type", kind, "--device", device, "--words", str(words), "--length", str(self.length), "--beams",
                               str(beam), "--rows", *rows], 90)
        results = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
        if code != 0:
            print(text[-800:], flush=True)
        batches = [t for t in results if "batch" in t]
        self.results["limits"].update({t["limits"]: t for t in results if "limits" in t})
        if batches:
            self.results["peer"][f"{model} {kind} {beam}"] = batches
            best = max(batches, key=lambda t: t["tokens_per_second"])
            print(f"{'ok':10} generate: {model}, {kind}, beam {beam}: {best['tokens_per_second']:.0f} tokens/s", flush=True)
        self.save()

    def machine(self):
        """Find out which card this is. Results of another card are dropped."""
        asked = ["nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
        code, text = self.run(asked, 20)
        card = text.splitlines()[0] if code == 0 and self.args.device != "cuda-host" else None
        here = {"device": self.args.device, "tiny": self.args.tiny, "card": card}
        if any(self.results[name] != value for name, value in here.items()):
            self.results = {**here, "checks": {}, "rows": {}, "peer": {}, "limits": {}}
        self.results.update(processor=f"{platform.machine()}, {os.cpu_count()} cores", date=time.strftime("%Y-%m-%d", time.gmtime()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--out", required=True)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--types", default="bf16,f32", type=lambda text: text.split(","))
    parser.add_argument("--seconds", type=float, default=570)
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--earlier")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("parts", nargs="*", metavar="PART", default=PARTS)
    args = parser.parse_args()
    unknown = [part for part in args.parts if part not in PARTS]
    if unknown:
        parser.error(f"no part is called {unknown[0]}: {', '.join(PARTS)}")
    args.build, args.out = os.path.abspath(args.build), os.path.abspath(args.out)
    os.makedirs(args.out, exist_ok=True)
    bench = Bench(args)
    if args.table:
        bench.measured_types()
        print(bench.table(), end="")
        return
    bench.machine()
    parts = sorted(set(args.parts), key=PARTS.index)
    for i, part in enumerate(parts):
        bench.begin(part, parts[i + 1 :])
        if part.endswith("check"):
            bench.sanitizer(part)
        else:
            getattr(bench, part)()
    if "times" in parts:  # then use the time that the other parts left
        bench.part_end = bench.end
        bench.times()
    bench.save()
    print(bench.table(), end="")
    sys.exit(any(check["result"].startswith("FAILED") for check in bench.results["checks"].values()))


if __name__ == "__main__":
    main()
