#!/usr/bin/env python3
"""Run a program that was built against the headers of another minor version with this librill.

Structs of the older version lack the last member of this version's structs; structs of the newer version have one member more. The
program built with the older version must print the same as the one built with this version. The program built with the newer
version is refused, since librill does not know its member.

usage: versions.py COMPILER PROGRAM MODEL LIBRARY... -- FOLDER..."""
import pathlib
import re
import subprocess
import sys
import tempfile

# All structs that may grow: those that a program makes, and those that librill makes.
GROWING = ["rill_context_options", "rill_open_options", "rill_workers_options", "rill_settings", "rill_engine_setup", "rill_request",
           "rill_script_options", "rill_stats", "rill_cost", "rill_progress", "rill_output", "rill_result"]


def change(text, name, member):
    """Remove the struct's last member, or append one. Return the text and the member."""
    found = re.search(r"typedef struct %s \{(.*?)\n\} %s;" % (name, name), text, re.S)
    if found is None:
        return text, None
    code = re.sub(r"/\*.*?\*/", lambda comment: " " * len(comment.group()), found.group(1), flags=re.S)
    end = code.rindex(";")
    begin = max(code.rfind(";", 0, end), code.rfind("{", 0, end)) + 1
    removed = code[begin:end].strip()
    body = found.group(1)[:begin] if member is None else found.group(1) + "\n    " + member
    return text[:found.start(1)] + body + text[found.end(1):], removed


def write_headers(folders, out, member):
    changed = {}
    for folder in folders:
        for header in pathlib.Path(folder).glob("*.h"):
            text = header.read_text()
            for name in GROWING:
                text, removed = change(text, name, member)
                if removed:
                    changed[name] = removed
            (out / header.name).write_text(text)
    missing = set(GROWING) - set(changed)
    if missing:
        sys.exit(f"no header has {', '.join(sorted(missing))}")
    return changed


def main():
    end = sys.argv.index("--")
    compiler, program, model, *libraries = sys.argv[1:end]
    folders = sys.argv[end + 1:]
    output = {}
    with tempfile.TemporaryDirectory() as work:
        for version, member in {"this": "", "older": None, "newer": "int64_t of_a_newer_version;"}.items():
            headers = pathlib.Path(work, version, "rill")
            headers.mkdir(parents=True)
            changed = write_headers(folders, headers, member)
            binary = pathlib.Path(work, version, "program")
            paths = [f"-Wl,-rpath,{pathlib.Path(library).parent}" for library in libraries]
            command = [compiler, "-std=c17", "-Wall", "-Werror", f"-I{headers.parent}", program, "-o", binary, *libraries, *paths]
            subprocess.run(command, check=True)
            output[version] = subprocess.run([binary, model], capture_output=True, text=True)
    for version, run in output.items():
        print(f"--- {version}: {run.returncode}\n{run.stdout}{run.stderr}")
    print("last members:", ", ".join(f"{name}.{member.split()[-1]}" for name, member in changed.items()))
    this, older, newer = (output[version] for version in ("this", "older", "newer"))
    if this.returncode != 0 or "score" not in this.stdout:
        sys.exit("this version's program failed")
    if (older.returncode, older.stdout) != (0, this.stdout):
        sys.exit("the program of the older version prints something else")
    if newer.returncode == 0 or "rebuild the program" not in newer.stderr:
        sys.exit("the program of the newer version was not refused")


main()
