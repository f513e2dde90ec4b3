#!/usr/bin/env python3
"""Change one thing in the sources at a time, build, and see whether a test fails.

A survivor is a change (a mutant) that no test notices. It shows a missing test, unneeded code, or a change without effect.
docs/measurements/mutants.md lists the survivors of the last run that stayed, with a reason for each.

usage: mutate.py --work FOLDER [--sample N] [--seed S] [--part I/N] [--suites NAME,...] [--results FILE] [PATH...]
       mutate.py --list [PATH...]              how many places there are, by operator
       mutate.py --again FILE --work FOLDER --results OTHER
                                               try the survivors of FILE once more, after tests were added

PATH: files or folders of sources in C and Python; without one, the sources in DEFAULT below. FOLDER gets a clone and its build and
may be kept: the next call with the same results FILE continues where the last one stopped. The clone is of the last commit,
without uncommitted changes.

Tests run one at a time, those that have caught the most mutants per second first, and only tests whose programs the change
altered. A test's programs are built when its turn comes. A mutant that alters no program is `same` and does not count; nor does
one that cannot be compiled (`broken`). For Python, the package is tested by the classes of tests/python, one at a time, in an
environment whose `rill` is the clone's sources (pip fetches numpy, cffi and others for it). A tool is tested by the tests that
name it or a converter. A test also catches a mutant if it takes five seconds and four times as long as without the change. Seconds
are CPU seconds, which a busy machine does not change. Two calls with --part 1/2 and 2/2, each with its own folder, share a sample
between two cores. --longest S leaves out tests that take more than S seconds. A survivor costs the time of all tests, so a large
sample is best tried with the short tests first, and its survivors once more with all (--again). --suites leaves out tests of other
Meson suites.

After Jia and Harman, An Analysis and Survey of the Development of Mutation Testing, 2011; the operators are the sufficient ones of
Offutt et al., 1996, and the removal of a statement.
"""

import argparse
import ast
import collections
import glob
import hashlib
import io
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import time
import tokenize

DEFAULT = ["framework", "domains", "cli", "python", "tools/convert_*.py", "tools/torch_files.py", "tools/marian_binary.py",
           "tools/model_files.py"]

SOON = 6 # tests

Mutant = collections.namedtuple("Mutant", "path line column operator old new")

SWAPS = [
    ("relation", r"(?<=\s)(<=|>=|==|!=|<|>)(?=\s)", {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}),
    ("sum", r"(?<=\s)(\+|-)(?=\s)", {"+": "-", "-": "+"}),
    ("product", r"(?<=[\w)\]] )(\*|/|%)(?= [\w(])", {"*": "+", "/": "*", "%": "/"}),
    ("logic", r"(?<=\s)(&&|\|\|)(?=\s)", {"&&": "||", "||": "&&"}),
    ("assign", r"(?<=\s)(\+=|-=|\|=|&=)(?=\s)", {"+=": "-=", "-=": "+=", "|=": "&=", "&=": "|="}),
    ("step", r"(\+\+|--)", {"++": "--", "--": "++"}),
    ("jump", r"\b(continue|break)(?=;)", {"continue": "break", "break": "continue"}),
]
DECLARATION = re.compile(r"^(const |static |struct |enum |union |unsigned |typedef |[A-Za-z_]\w* \*?\*?[A-Za-z_]\w*( =|;|\[|,))")
STATEMENT = re.compile(r"^[A-Za-z_*(][^{}]*;$")
KEEP = re.compile(r"^(return|goto|break|continue|case|default|else|do|while|for|if|va_\w+)\b")


def blanked(text):
    """Replace comments, strings, characters and preprocessor lines by spaces, so that columns stay."""

    def blank(match):
        return re.sub(r"[^\n]", " ", match.group())

    text = re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", blank, text, flags=re.M)


PYTHON_SWAPS = [swap for swap in SWAPS if swap[0] in ("relation", "sum", "product", "assign")] + [
    ("logic", r"(?<=\s)(and|or)(?=\s)", {"and": "or", "or": "and"}),
    ("jump", r"\b(continue|break)$", {"continue": "break", "break": "continue"}),
    ("truth", r"\b(True|False)\b", {"True": "False", "False": "True"}),
]


def python_blanked(text):
    """Replace comments and strings by spaces, so that columns stay."""
    lines = text.split("\n")
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.STRING, tokenize.COMMENT):
            (first, begin), (last, end) = token.start, token.end
            for row in range(first, last + 1):
                line = lines[row - 1]
                left, right = begin if row == first else 0, end if row == last else len(line)
                lines[row - 1] = line[:left] + " " * (right - left) + line[right:]
    return lines


def python_places(path, text):
    """Return every mutant of a Python file, in order, from bodies of functions only."""
    found, blank, lines = [], python_blanked(text), text.split("\n")
    for function in (n for n in ast.walk(ast.parse(text)) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))):
        for number in range(function.body[0].lineno, function.end_lineno + 1):
            for name, pattern, new in PYTHON_SWAPS:
                for match in re.finditer(pattern, blank[number - 1]):
                    found.append(Mutant(path, number, match.start(), name, match.group(), new[match.group()]))
            for match in re.finditer(r"(?<![\w.])(\d{1,2})(?![\w.])", blank[number - 1]):
                found.append(Mutant(path, number, match.start(), "number", match.group(), str(int(match.group()) + 1)))
        for node in ast.walk(function):
            if isinstance(node, (ast.If, ast.While)) and node.test.lineno == node.test.end_lineno:
                found.append(python_mutant(path, lines, node.test, "negate"))
            elif isinstance(node, ast.Return) and node.value is not None and node.lineno == node.end_lineno:
                found.append(python_mutant(path, lines, node.value, "return", "None"))
            elif isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr, ast.Raise)) and node.lineno == node.end_lineno:
                if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)): # a docstring
                    found.append(python_mutant(path, lines, node, "remove", "pass"))
    return sorted(set(found))


def python_mutant(path, lines, node, operator, new=None):
    """Make a mutant of a node, with its column in characters: ast counts bytes."""
    line = lines[node.lineno - 1].encode()
    column = len(line[:node.col_offset].decode())
    old = line[node.col_offset:node.end_col_offset].decode()
    return Mutant(path, node.lineno, column, operator, old, new or "(not (" + old + "))")


def places(path, text):
    """Return every mutant of a file, in order, from bodies of functions only: unindented lines are declarations."""
    if path.endswith(".py"):
        return python_places(path, text)
    found = []
    for number, line in enumerate(blanked(text).split("\n"), 1):
        if not line.startswith(" "):
            continue
        body = line.strip()
        for name, pattern, new in SWAPS:
            for match in re.finditer(pattern, line):
                found.append(Mutant(path, number, match.start(), name, match.group(), new[match.group()]))
        for match in re.finditer(r"(?<![\w.])(\d{1,2})(?![\w.])", line):  # larger numbers are mostly capacities of buffers
            found.append(Mutant(path, number, match.start(), "number", match.group(), str(int(match.group()) + 1)))
        match = re.match(r"\s*(?:\} )?(?:else )?if \((.*)\)(?: \{| .*;)?$", line)
        if match and match.group(1).count("(") == match.group(1).count(")"):
            found.append(Mutant(path, number, match.start(1), "negate", match.group(1), "!(" + match.group(1) + ")"))
        match = re.match(r"\s*return ([^;]+);$", line)
        if match and match.group(1) not in ("0", "NULL", "RILL_OK"):
            found.append(Mutant(path, number, match.start(1), "return", match.group(1), "0"))
        if STATEMENT.match(body) and not KEEP.match(body) and not DECLARATION.match(body) and body.count("(") == body.count(")"):
            found.append(Mutant(path, number, len(line) - len(line.lstrip()), "remove", body, ";"))
    return found


def sources(paths):
    for path in (p for pattern in paths for p in sorted(glob.glob(pattern))):
        if os.path.isfile(path):
            yield path
        for folder, _, names in sorted(os.walk(path)):
            yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith((".c", ".py")))


def apply(text, mutant):
    """Return the mutated text and the original line. The blanked text has the same columns as the text."""
    lines = text.split("\n")
    line = lines[mutant.line - 1]
    end = mutant.column + len(mutant.old)
    old = line[mutant.column:end]
    new = "!(" + old + ")" if mutant.operator == "negate" and not mutant.path.endswith(".py") else mutant.new
    lines[mutant.line - 1] = line[:mutant.column] + new + line[end:]
    return "\n".join(lines)


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).digest()


def seconds_of_children():
    """Return the CPU seconds of child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def seconds_of_session(session):
    """Return the CPU seconds that the session's processes have used so far."""
    ticks = 0
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:  # the process has ended
            continue
        ticks += sum(map(int, fields[11:15])) * (int(fields[3]) == session)
    return ticks / os.sysconf("SC_CLK_TCK")


class House:
    """A clone with its build. It has the unmutated programs, and the tests with the files that they depend on."""

    def __init__(self, work, suites, with_python):
        self.source = os.path.abspath(os.path.join(work, "source"))
        self.build = os.path.join(self.source, "build")  # built programs look here for the tools of the sources
        head = self.read("git", "rev-parse", "HEAD").strip()
        if not os.path.isdir(self.source):
            self.run("git", "clone", "--quiet", "--shared", ".", self.source)
        self.run("git", "-C", self.source, "fetch", "--quiet", "origin")
        self.run("git", "-C", self.source, "checkout", "--quiet", "--force", "--detach", head)
        if with_python and os.path.isdir(self.build) and not os.path.isdir(os.path.join(work, "venv")):
            sys.exit("mutate: %s was made for sources in C alone: name another folder" % work)
        if not os.path.isfile(os.path.join(self.build, "build.ninja")):
            more = self.make_environment(work) if with_python else []
            # the options of `./dev build`, whose objects ccache has
            self.run("meson", "setup", self.build, self.source, "-Dbuildtype=release",
                     "-Dtests=enabled", "-Dcuda=disabled", *more, stdout=subprocess.DEVNULL)
        if not self.make():
            sys.exit("mutate: the sources do not build")
        targets = {t["id"]: t["filename"] for t in json.loads(self.read("meson", "introspect", self.build, "--targets"))}
        self.tests = {}
        for test in json.loads(self.read("meson", "introspect", self.build, "--tests")):
            suite = {name.split(":")[-1] for name in test["suite"]}
            if test["name"] != "python_package" and (suite & suites if suites else not {"lint", "kernels", "headers"} & suite):
                test["files"] = sorted({f for d in test["depends"] for f in targets.get(d, []) if os.path.isfile(f)})
                test["scripts"] = [a for a in test["cmd"] if a.startswith(self.source) and a.endswith((".sh", ".py"))]
                self.tests[test["name"]] = test
        if with_python:
            self.add_python_tests(work)
        self.digests = {}
        libraries = {f: self.libraries(f) for f in {f for t in self.tests.values() for f in t["files"]}}
        for test in self.tests.values():
            test["files"] = sorted({found for f in test["files"] for found in (f, *libraries[f])})
        self.whole = {f: self.digest(f) for t in self.tests.values() for f in t["files"]}
        self.seconds, self.kills = {}, collections.Counter()

    def make_environment(self, work):
        """Make a Python environment for tests of the package, in which `rill` is a link to the sources. Return options for Meson."""
        environment, package = (os.path.abspath(os.path.join(work, name)) for name in ("venv", "package/rill"))
        self.run(sys.executable, "-m", "venv", environment)
        self.run(os.path.join(environment, "bin/python"), "-m", "pip", "--quiet", "install", "numpy>=1.26", "tqdm", "cffi>=1.17",
                 "ctranslate2>=4.8,<5")
        os.makedirs(os.path.dirname(package), exist_ok=True)
        if not os.path.islink(package):
            os.symlink(os.path.join(self.source, "python/rill"), package)
        native = os.path.join(work, "native.ini")
        with open(native, "w", encoding="utf-8") as file:
            file.write("[binaries]\npython = '%s'\n" % os.path.join(environment, "bin/python"))
        return ["-Dpython=system", "--native-file", native]

    def add_python_tests(self, work):
        """Add a test for each class of tests/python: a whole file takes longer than many of its classes."""
        native = glob.glob(os.path.join(self.build, "python", "_native*.so"))[0]
        link = os.path.join(self.source, "python/rill", os.path.basename(native))
        if not os.path.islink(link):
            os.symlink(native, link)
        files = [native, os.path.join(self.build, "rill")]  # the extension module needs the same libraries as this program
        environment = {"RILL_ROOT": self.source, "RILL_COMMAND": os.path.join(self.build, "rill"),
                       "PYTHONPATH": os.path.abspath(os.path.join(work, "package")), "PYTHONWARNINGS": "error::ResourceWarning",
                       "LD_LIBRARY_PATH": ":".join(sorted({os.path.dirname(path) for path in self.libraries(files[1])}))}
        for path in sorted(glob.glob(os.path.join(self.source, "tests/python/test_*.py"))):
            with open(path, encoding="utf-8") as file:
                tree = ast.parse(file.read())
            for group in (n for n in tree.body if isinstance(n, ast.ClassDef)):
                if any(isinstance(n, ast.FunctionDef) and n.name.startswith("test") for n in group.body):
                    name = os.path.basename(path)[:-3] + "." + group.name
                    self.tests["python " + name] = {
                        "cmd": [os.path.abspath(os.path.join(work, "venv/bin/python")), "-m", "unittest", "-f", name], "files": files,
                        "scripts": [path], "workdir": os.path.dirname(path), "env": environment, "suite": ["rill:python"]}

    @staticmethod
    def read(*command):
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    @staticmethod
    def run(*command, **more):
        subprocess.run(command, check=True, **more)

    def libraries(self, program):
        """Return the build's shared libraries that a program or a module loads."""
        told = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
        paths = {os.path.realpath(path) for path in re.findall(r"=> (/\S+)", told)}
        return sorted(path for path in paths if path.startswith(self.build + "/"))

    def digest(self, path):
        """Return a file's hash; unchanged files are not read again, since ninja does not touch them."""
        stamp = os.stat(path).st_mtime_ns
        if self.digests.get(path, (None,))[0] != stamp:
            self.digests[path] = (stamp, digest(path))
        return self.digests[path][1]

    def make(self, files=()):
        """Build these files, or everything."""
        wanted = [os.path.relpath(f, self.build) for f in files]
        return subprocess.run(["ninja", "-C", self.build, *wanted], stdout=subprocess.DEVNULL).returncode == 0

    def test(self, name, limit):
        """Run a test. Return whether it passes (or skips) within these CPU seconds, and the seconds it used. Its process group ends with
        it."""
        test = self.tests[name]
        begin, before = time.monotonic(), seconds_of_children()
        # Write no bytecode: a mutant may have the size and modification time of the original source, whose bytecode would then be used.
        process = subprocess.Popen(test["cmd"], cwd=test["workdir"] or self.build,
                                   env={**os.environ, **test["env"], "PYTHONDONTWRITEBYTECODE": "1"},
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   start_new_session=True)
        code, used = None, 0.0
        while code is None and used <= limit and time.monotonic() - begin < 30 + 4 * limit:
            try:
                code = process.wait(0.3)
            except subprocess.TimeoutExpired:
                used = seconds_of_session(process.pid)
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        return code in (0, 77), max(used, seconds_of_children() - before)

    def concerns(self, name, mutant):
        """Whether the test may notice the mutant: it runs built programs, or Python sources."""
        test = self.tests[name]
        if not mutant.path.endswith(".py"):
            return bool(test["files"])
        if mutant.path.startswith("python/"):
            return "rill:python" in test["suite"]
        if "text" not in test:
            test["text"] = "".join(open(path, encoding="utf-8").read() for path in test["scripts"])
        return "convert" in test["text"] or os.path.basename(mutant.path)[:-3] in test["text"]

    def measure(self, longest):
        """Measure the seconds of each test without a mutant, or read them from an earlier call. negative: the test takes more than
        `longest`."""
        path = os.path.join(self.build, "seconds.json")
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                self.seconds = json.load(file)
        for name in self.tests:
            known = self.seconds.get(name, 0)
            if known > 0 or -known >= longest:
                continue
            good, seconds = self.test(name, longest)
            if not good and seconds <= longest:
                good, seconds = self.test(name, longest)
                print("mutate: %s failed without a mutant, %s" % (name, "once" if good else "twice: it is left out"), flush=True)
            self.seconds[name] = max(seconds, 0.01) if good else -longest if seconds > longest else -1e9
            with open(path, "w", encoding="utf-8") as file:
                json.dump(self.seconds, file)
        self.tests = {n: t for n, t in self.tests.items() if 0 < self.seconds[n] <= longest}
        print("mutate: %d tests, %.0f seconds" % (len(self.tests), sum(self.seconds[n] for n in self.tests)), flush=True)

    def promise(self, name, path):
        """Estimate the worth of a second of this test for a mutant of this file: how many mutants it caught in the file, in its
        folder, and anywhere, and whether the test's name has a word of the file's name.
        """
        folder, (first, *words) = os.path.dirname(path), re.findall(r"[a-z0-9]+", path.rpartition(".")[0])
        guess = 0.1 + ("rill:" + first in self.tests[name]["suite"]) + 2 * any(word in name for word in words if word != first)
        return (self.kills[name, path] * 4 + self.kills[name, folder] + self.kills[name] / 8 + guess) / (self.seconds[name] + 0.3)

    def caught(self, name, path):
        for place in ((name, path), (name, os.path.dirname(path)), name):
            self.kills[place] += 1

    def judge(self, mutant):
        path = os.path.join(self.source, mutant.path)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        try:
            with open(path, "w", encoding="utf-8") as file:
                file.write(apply(text, mutant))
            tried, script = 0, mutant.path.endswith(".py")
            order = sorted((n for n in self.tests if self.concerns(n, mutant)), key=lambda n: -self.promise(n, mutant.path))
            for i, name in enumerate(order):
                files = self.tests[name]["files"]
                # Most mutants fail one of the first tests. So only after SOON tests everything that the other tests need is built.
                if i <= SOON and not self.make(files if i < SOON else sorted({f for n in order[i:] for f in self.tests[n]["files"]})):
                    return "broken", ""
                if not script and all(self.digest(f) == self.whole[f] for f in files):
                    continue
                tried += 1
                if not self.test(name, 4 * self.seconds[name] + 5)[0]:
                    self.caught(name, mutant.path)
                    return "killed", name
            return ("SURVIVED" if tried else "same"), ""
        finally:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)


def read_results(path):
    done = collections.OrderedDict()
    if path and os.path.isfile(path):
        with open(path, encoding="utf-8") as file:
            for line in file:
                cells = line.rstrip("\n").split("\t")
                done[(cells[0], cells[1], cells[2], cells[3])] = cells
    return done


def survivors(path, every):
    """Return the survivors in a file of results, at their present places: the same change in the nearest line."""
    found = {}
    for cells in read_results(path).values():
        if cells[6] != "SURVIVED":
            continue
        alike = [m for m in every if (m.path, m.operator, m.old, m.new) == (cells[0], *cells[3:6]) and key(m) not in found]
        for mutant in sorted(alike, key=lambda m: (abs(m.line - int(cells[1])), abs(m.column - int(cells[2]))))[:1]:
            found[key(mutant)] = mutant
    return list(found.values())


def key(mutant):
    return (mutant.path, str(mutant.line), str(mutant.column), mutant.operator)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", metavar="PATH")
    parser.add_argument("--work")
    parser.add_argument("--sample", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", default="1/1", metavar="I/N")
    parser.add_argument("--longest", type=float, default=600, metavar="S")
    parser.add_argument("--suites", default="", metavar="NAME,...")
    parser.add_argument("--results", default="mutants.tsv")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--again", metavar="FILE")
    args = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler) # jobs in the background ignore SIGINT, and some tests raise it
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    every = []
    for path in sources(args.paths or DEFAULT):
        with open(path, encoding="utf-8") as file:
            every += places(path, file.read())
    if args.list:
        for name, n in sorted(collections.Counter(m.operator for m in every).items()):
            print("%-10s %6d" % (name, n))
        print("%-10s %6d" % ("all", len(every)))
        return
    if args.work is None:
        parser.error("--work FOLDER: where the clone and its build go")
    if args.again:
        if os.path.abspath(args.again) == os.path.abspath(args.results):
            parser.error("--results: another file than that of --again")
        every = survivors(args.again, every)
    random.Random(args.seed).shuffle(every)
    part, parts = map(int, args.part.split("/"))
    every = every[part - 1::parts]
    done = read_results(args.results)
    house = House(args.work, set(filter(None, args.suites.split(","))), any(m.path.endswith(".py") for m in every))
    house.measure(args.longest)
    counts = collections.Counter(c[6] for c in done.values())
    for cells in done.values():
        if cells[6] == "killed":
            house.caught(cells[7], cells[0])
    with open(args.results, "a", encoding="utf-8") as out:
        for mutant in every:
            if (counts["killed"] + counts["SURVIVED"]) * parts >= args.sample:
                break
            if key(mutant) in done:
                continue
            verdict, by = house.judge(mutant)
            counts[verdict] += 1
            print(*mutant, verdict, by, sep="\t", file=out, flush=True)
            if verdict == "SURVIVED":
                print("%s:%d: %s: %s -> %s" % (mutant.path, mutant.line, mutant.operator, mutant.old, mutant.new), flush=True)
    print("killed %(killed)d, survived %(SURVIVED)d, changed nothing %(same)d, did not compile %(broken)d" %
          collections.defaultdict(int, counts))


if __name__ == "__main__":
    main()
