#!/usr/bin/env python3
"""The rules of CONTRIBUTING.md that a script can check.

usage: lint.py [--list] [CHECK...]        without a name, all checks except those that need a build
       lint.py symbols LIBRARY            the exports of the built library

Every check is a function below whose docstring is the rule. Findings are printed as `path:line: what`; the exit code is 1
when there are any, and 77 ("skipped") when a tool the check needs is not there.
"""

import ast
import os
import re
import shutil
import subprocess
import sys

from prose import findings

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CODE = (".c", ".h", ".cu", ".cuh")
SCRIPTS = (".py", ".sh", ".lua")
PROSE = (".md", ".1", ".build", ".txt")
LONGEST_FILE = 700
LONGEST_LINE = 140  # The formatter wraps code at 120 columns; this limit is for comments, which it leaves alone.
SKIPPED = 77


class Skip(Exception):
    pass


def list_files():
    """Tracked files and new ones that git does not ignore; without git, all but build folders."""
    try:
        out = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
        names = [n for n in out.decode("utf-8", "surrogateescape").split("\0") if n]
    except (OSError, subprocess.CalledProcessError):
        names = []
        for folder, folders, files in os.walk(ROOT):
            folders[:] = [d for d in folders if d != ".git" and not d.startswith("build")]
            names += [os.path.relpath(os.path.join(folder, f), ROOT) for f in files]
    return sorted({n for n in names if os.path.isfile(os.path.join(ROOT, n))})


FILES = list_files()


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8", errors="replace", newline="") as f:
        return f.read()


def is_script(name):
    return name.endswith(SCRIPTS) or name in ("dev", ".ci/run")


def is_text(name):
    """Whether a file is written by hand, as opposed to data."""
    if name.startswith("tests/") and not name.endswith(CODE + SCRIPTS + (".md", ".build")):
        return False
    return name.endswith(CODE + PROSE) or is_script(name)


def code_only(text):
    """Return the text with comments, strings and character constants blanked; line numbers stay."""
    pattern = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
    return pattern.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


# --- the rules --------------------------------------------------------------------------------------------------------

def scripting_includes(modules):
    """scripting/ has an internal order: each module includes those before it, and the files beside the modules include all."""
    order = ["scripting/" + module for module in modules] + ["scripting"]
    return {module: order[:i + 1] + ["rill/script", "rill/"] for i, module in enumerate(order)}


# Module: what its files may include, modules or single headers. "rill/" are the public headers of librill, "rill/script" those of
# librill-script. This is the only list: CONTRIBUTING.md and docs/architecture.md refer to it. A domain builds graphs with rill/device.h and
# needs no kernel. bench/ and tests/ may include anything.
INCLUDES = {
    "kernels": ["kernels", "framework/include/rill/ops.h"],
    "kernels/device": ["kernels/device", "kernels", "framework/include/rill/carve.h", "framework/include/rill/context.h",
                       "framework/include/rill/device.h", "framework/include/rill/profile.h"],
    "kernels/cuda": ["kernels/cuda", "kernels/device", "kernels", "framework/include/rill/device.h"],
    "framework/base": ["framework/base", "rill/"],
    "framework/config": ["framework/config", "framework/base", "rill/"],
    "framework/engine": ["framework/engine", "framework/config", "framework/base", "rill/"],
    "framework/search": ["framework/search", "framework/engine", "framework/config", "framework/base", "rill/"],
    "framework/scorers": ["framework/scorers", "framework/engine", "framework/config", "framework/base", "rill/"],
    "domains/common": ["domains/common", "rill/"],
    "domains/text": ["domains/text", "domains/common", "rill/"],
    "domains/seq2seq": ["domains/seq2seq", "domains/text", "domains/common", "rill/"],
    "domains/*": ["self", "domains/seq2seq", "domains/text", "domains/common", "rill/"],
    "rill/script": ["rill/script", "rill/"],
    **scripting_includes(["state", "arrays", "tables", "native", "config"]),
    "cli/quality": ["cli/quality", "rill/script", "rill/", "domains/common/domain_base.h", "domains/text/tree.h", "domains/text/utf8.h"],
    "cli": ["cli", "cli/quality", "rill/script", "rill/", "domains/common/domain_base.h", "domains/text/sentence_splitter.h",
            "domains/text/tree.h", "domains/text/utf8.h"],
    "python": ["python", "rill/"],
    "examples": ["examples", "rill/script", "rill/"],
}
# Libraries that a module must not include. The engine and the kernels use the C library and the system's threads only.
FOREIGN = {
    "framework": r"jansson|libstemmer|utf8proc|lua|lauxlib|dnnl|cuda|immintrin",
    "kernels": r"jansson|libstemmer|utf8proc|lua|lauxlib|dnnl",
    "domains": r"lua|lauxlib|dnnl|cuda|immintrin",
    "scripting": r"jansson|libstemmer|utf8proc|dnnl|cuda",
}


def module_of(name):
    parts = name.split("/")
    if name.startswith("framework/include/rill/"):
        return "rill/"
    if name.startswith("scripting/include/rill/"):
        return "rill/script"
    if name.startswith(("kernels/device/", "kernels/cuda/", "framework/")):
        return "/".join(parts[:2])
    if name.startswith("cli/quality/"):
        return "cli/quality"
    if parts[0] in ("domains", "scripting"):
        return "/".join(parts[:2]) if len(parts) > 2 else parts[0]
    return parts[0]


def check_includes():
    """Includes follow the layers: framework includes nothing above or beside it, kernels neither, domains not each other."""
    headers = [n for n in FILES if n.endswith((".h", ".cuh", ".inc"))]
    for name in FILES:
        if not name.endswith(CODE):
            continue
        module = module_of(name)
        if module == "rill/":
            allowed = ["rill/"]
        elif module.startswith("domains/") and module not in INCLUDES:
            allowed = INCLUDES["domains/*"]
        else:
            allowed = INCLUDES.get(module)
        text = read(name)
        foreign = FOREIGN.get(name.split("/")[0])
        for match in re.finditer(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', text, re.M):
            path, line = match.group(2), line_of(text, match.start())
            if foreign and re.match(r"(%s)" % foreign, path):
                yield name, line, "%s must not include <%s>" % (module, path)
            if match.group(1) == "<" or not allowed:
                continue
            near = os.path.normpath(os.path.join(os.path.dirname(name), path))
            if near in headers:
                found = [near]
            else:
                found = [h for h in headers if h == path or h.endswith("/" + path)]
            modules = {module_of(h) for h in found}
            own = set(allowed) | {module}
            if modules and not (modules | set(found)) & own:
                yield name, line, "%s must not include %s" % (module, found[0])


def check_calls():
    """The library never prints and never ends the process: no exit, abort or printf in framework, kernels, domains."""
    pattern = re.compile(r"\b(exit|_exit|quick_exit|abort|printf|vprintf|fprintf|puts|putchar|perror|system)\s*\(")
    for name in FILES:
        if name.endswith(CODE) and name.split("/")[0] in ("framework", "kernels", "domains", "scripting"):
            text = code_only(read(name))
            for match in pattern.finditer(text):
                yield name, line_of(text, match.start()), match.group(1) + "() in the library"


def check_files():
    """Files are opened in one place: by framework/base/file.c to be read, by cli/cli_output.c to be written, and no file is mapped."""
    pattern = re.compile(r"(?<![\w.>])(fopen|fopen64|freopen|open|open64|openat|creat|mmap|json_load_file|luaL_loadfilex?)\s*\(")
    for name in FILES:
        if not name.endswith(CODE) or name in ("framework/base/file.c", "cli/cli_output.c"):
            continue
        if name.split("/")[0] not in ("framework", "kernels", "domains", "scripting", "cli"):
            continue
        text = code_only(read(name))
        for match in pattern.finditer(text):
            call = read(name)[match.start():match.start() + 100]
            if 'open("/dev/null"' not in call[:40] and "MAP_ANONYMOUS" not in call:
                yield name, line_of(text, match.start()), match.group(1) + "(): rill/file.h opens what is read, cli/cli_output.h others"


def check_length():
    """A file has one subject: at most 700 lines."""
    for name in FILES:
        if name.endswith(CODE) or is_script(name):
            lines = read(name).count("\n")
            if lines > LONGEST_FILE:
                yield name, lines, "%d lines, at most %d" % (lines, LONGEST_FILE)


def check_paths():
    """No path of one machine: absolute paths are those that every Linux system has."""
    known = r"(?:usr|etc|srv|tmp|dev|proc|sys|var|bin|lib|include|share|v1)\b"  # v1 is a part of addresses of rill serve
    pattern = re.compile(r"(?:^|[\s\"'`=(:,])(/(?!%s)[a-z_][\w.+-]*/[\w.+-]+)" % known, re.M)
    home = re.compile(r"/(?:home|Users)/\w+|\bfile://")
    for name in FILES:
        if not is_text(name) or name == "tools/lint/lint.py":
            continue
        text = read(name)
        for match in list(pattern.finditer(text)) + list(home.finditer(text)):
            yield name, line_of(text, match.start()), "a path of one machine? " + match.group().strip()


def check_marks():
    """Nothing is left for later in the source: no marks of unfinished work."""
    words = ["TO" + "DO", "FIX" + "ME", "X" * 3, "HA" + "CK", "not " + "implemented", "un" + "implemented",
             "place" + "holder for now"]
    pattern = re.compile(r"\b(%s)\b" % "|".join(words))
    for name in FILES:
        if is_text(name):
            text = read(name)
            for match in pattern.finditer(text):
                yield name, line_of(text, match.start()), "a mark of unfinished work: " + match.group()


def check_dots():
    """No tool leaves its cache: names that begin with a dot are these few."""
    ours = {".ci", ".clang-format", ".editorconfig", ".github", ".gitignore"}
    for name in FILES:
        for part in name.split("/"):
            if part.startswith(".") and part not in ours:
                yield name, 0, "a tool's own? .gitignore keeps it out"
                break


def check_readme():
    """Every top-level folder, every domain and every module of scripting describes its contents in a README.md of about ten lines."""
    folders = {n.split("/")[0] for n in FILES if "/" in n and not n.startswith(".")}
    folders |= {"/".join(n.split("/")[:2]) for n in FILES if re.match(r"(domains|scripting)/(?!include/)[^/]+/", n)}
    for folder in sorted(folders):
        if folder + "/README.md" not in FILES:
            yield folder, 0, "no README.md"


def check_whitespace():
    """UTF-8, unix newlines, no tabs, no trailing spaces, a newline at the end, lines within the limit."""
    for name in FILES:
        if not is_text(name):
            continue
        text = read(name)
        if "\ufffd" in text and name != "tools/lint/lint.py":
            yield name, line_of(text, text.index("\ufffd")), "not UTF-8"
        if text and not text.endswith("\n"):
            yield name, line_of(text, len(text)), "no newline at the end"
        if text.endswith("\n\n"):
            yield name, line_of(text, len(text)), "empty lines at the end"
        for number, line in enumerate(text.split("\n"), 1):
            if line.endswith("\r"):
                yield name, number, "carriage return"
            elif line != line.rstrip():
                yield name, number, "blank at the end"
            if "\t" in line and not name.endswith(".1"):
                yield name, number, "tab"
            if name.endswith(CODE + SCRIPTS) and len(line) > LONGEST_LINE and "://" not in line:
                yield name, number, "%d columns, at most %d" % (len(line), LONGEST_LINE)


def declarations(text):
    """Yield (line number, first line) of each exported declaration without a comment: none above, inside or after it, and none above
    its group of lines.
    """
    lines = text.split("\n")
    for i, line in enumerate(lines):
        if not line.startswith("RILL_API"):
            continue
        end = i
        while end + 1 < len(lines) and ";" not in code_only(lines[end]):
            end += 1
        if "/*" in " ".join(lines[i:end + 1]):
            continue
        above = i - 1
        while above >= 0 and lines[above].strip() and not lines[above].rstrip().endswith("*/"):
            above -= 1
        if above < 0 or not lines[above].strip():
            yield i + 1, line


def check_headers():
    """Public headers open with a comment that states their stability, and document their exports. (Tests under tests/headers check
    that each compiles alone.)
    """
    headers = [n for n in FILES if re.fullmatch(r"(framework|scripting)/include/rill/[^/]+\.h", n)]
    for name in headers:
        text = read(name)
        if not text.startswith("/*"):
            yield name, 1, "does not open with a comment"
        opening = text[:text.find("*/")]
        if "tability" not in opening and name != "framework/include/rill/rill.h":
            yield name, 1, "does not say how stable it is"
        for line, what in declarations(text):
            yield name, line, "undocumented: " + what


def check_shell():
    """Shell scripts parse, and stop at the first failure (set -e) or state at the top why not."""
    for name in FILES:
        if name.endswith(".sh") or name in ("dev", ".ci/run"):
            run = subprocess.run(["bash", "-n", os.path.join(ROOT, name)], stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True)
            if run.returncode:
                yield name, 1, run.stdout.strip().split("\n")[0]
            if not re.search(r"^set -\w*[eu]", read(name), re.M):
                yield name, 1, "no `set -eu`"


def check_python():
    """Python scripts parse."""
    for name in FILES:
        if name.endswith(".py"):
            try:
                ast.parse(read(name), name)
            except SyntaxError as error:
                yield name, error.lineno or 1, error.msg


def check_numbers():
    """Numbers are read by rill_read_number() and written by rill_print(), never in the locale that a host has set."""
    readers = re.compile(r"\b(strto(?:d|f|ld)|atof|setlocale)\(")
    printers = re.compile(r"\b(v?snprintf|v?sscanf)\(([^;]*)")
    number = re.compile(r"%[-+ #0]*(?:\*|\d+)?(?:\.(?:\*|\d+))?[lL]?[aAeEfFgG]")
    for name in FILES:
        if not name.startswith(("framework/", "domains/", "scripting/", "python/", "cli/", "examples/")):
            continue
        if not name.endswith(CODE) or name == "framework/base/context.c":
            continue
        text = read(name)
        for m in readers.finditer(code_only(text)):
            yield name, line_of(text, m.start()), m.group(1) + " goes by the host's locale: rill_read_number()"
        for m in printers.finditer(text):
            if number.search(m.group(2)) or m.group(1) == "vsnprintf":
                yield name, line_of(text, m.start()), m.group(1) + " goes by the host's locale: rill_print()"


def check_prose():
    """Pages use the field's words, in sentences of at most 35 words: tools/lint/prose.py has the list."""
    for name in FILES:
        if name.endswith(".md"):
            for line, what in findings(read(name), long_sentences=name == "README.md" or name.startswith("docs/")):
                yield name, line, what


def check_version():
    """framework/include/rill/version.h alone has the version; all else is generated from it."""
    header = read("framework/include/rill/version.h")
    version = r"\.".join(re.findall(r"^#define RILL_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", header, re.M))
    pattern = re.compile(r"(?<![\d.])%s(?![\d.])" % version)
    for name in FILES:
        if name.startswith(("docs/", "python/", "framework/", "cli/")) or "/" not in name and name != "CHANGELOG.md":
            text = read(name)
            for match in pattern.finditer(text):
                yield name, line_of(text, match.start()), "the version stands in framework/include/rill/version.h alone: " + match.group()


def check_renamed():
    """docs/renamed.md names only existing files as new, and describes the changes of each ABI version up to today's."""
    name, text = "docs/renamed.md", read("docs/renamed.md")
    for match in re.compile(r"^\| .* \| (.*) \|$", re.M).finditer(text, text.index("## Files")):
        for file in re.findall(r"`([^`]*)`", match.group(1)):
            if file not in FILES:
                yield name, line_of(text, match.start()), "no such file: " + file
    newest = re.search(r"^#define RILL_ABI_VERSION (\d+)", read("framework/include/rill/version.h"), re.M).group(1)
    for version in range(2, int(newest) + 1):
        if "\n- Version %d: " % version not in text:
            yield name, 1, "no line says what changed in ABI version %d" % version


def check_symbols(library):
    """Every symbol that a library of rill exports starts with rill_."""
    if not shutil.which("nm"):
        raise Skip("no nm")
    out = subprocess.run(["nm", "-D", "--defined-only", library], stdout=subprocess.PIPE, check=True, text=True).stdout
    names = [line.split()[-1].split("@")[0] for line in out.splitlines() if line.strip()]
    if not any(n.startswith("rill_") for n in names):
        yield library, 0, "exports nothing of rill"
    for name in names:
        if not name.startswith("rill_") and not re.match(r"__(asan|odr_asan|ubsan|tsan|sanitizer|start_|stop_)", name):
            yield library, 0, "exports " + name


CHECKS = {name[6:]: function for name, function in list(globals().items()) if name.startswith("check_")}


def run_check(name, *arguments):
    try:
        findings = list(CHECKS[name](*arguments))
    except Skip as reason:
        print("%s: skipped: %s" % (name, reason))
        return SKIPPED
    for path, line, what in findings:
        print("%s:%d: %s" % (path, line, what))
    print("%s: %s" % (name, "%d findings" % len(findings) if findings else "ok"))
    return 1 if findings else 0


def main(arguments):
    if arguments == ["--list"]:
        for name, function in CHECKS.items():
            print("%-11s %s" % (name, " ".join(function.__doc__.split())))
        return 0
    if arguments[:1] == ["symbols"] and len(arguments) == 2:
        return run_check("symbols", arguments[1])
    names = arguments or [n for n in CHECKS if n != "symbols"]
    for name in names:
        if name not in CHECKS or name == "symbols":
            print(__doc__, file=sys.stderr)
            return 2
    results = [run_check(name) for name in names]
    if 1 in results:
        return 1
    return SKIPPED if results == [SKIPPED] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
