#!/usr/bin/env python3
"""Code metrics of the engine: functions that one plain timestep calls, variants that the loop depends on, lines and files.

usage: meter.py [--check] [--write] [--calls] PLAIN_TIMESTEP LIBRARY

PLAIN_TIMESTEP: tools/meter/plain_timestep.c, built (`ninja -C build tools/meter/plain_timestep`); LIBRARY: the framework's static library,
build/framework/librill_framework.a.
--check fails where a number of limits.json is exceeded: structure may get better, not worse. --write makes today's numbers the limits.
--calls lists the functions of the timestep by file.

Functions of files in BASE, and callbacks, are not counted, nor are the functions that they call. A call from file to file is a
pair of functions. Comment lines have nothing but a comment. Blank lines are not counted.
"""

import argparse
import collections
import json
import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
LIMITS = os.path.join(HERE, "limits.json")
FOLDERS = ("framework", "domains", "kernels", "scripting", "cli")
# base names are unique in these folders; in kernels/, all files of an operation share one
UNIQUE = ("framework", "domains", "scripting", "cli")
ENDINGS = (".c", ".h", ".cc", ".lua", ".js", ".css", ".html")
BASE = {"context.c", "page_allocator.c", "carve.h", "file.c", "nearest_name.c", "internal.h", "context.h", "status.h", "option.c"}
MAX_DEPTH = 100
CALLBACKS = {"builtin_heuristics.c", "refill_schedulers.c"}
LOOP, VARIANTS = "engine_", "search_"  # folder of the loop and folder of its variants, as prefixes of object names


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


# --- a timestep ---------------------------------------------------------------------------------------------------------

def named(program, addresses):
    """Return (function, file) of each address."""
    lines = output("addr2line", "-f", "-e", program, *addresses).splitlines()
    return {address: (lines[2 * i], os.path.basename(lines[2 * i + 1].rsplit(":", 1)[0])) for i, address in enumerate(addresses)}


def timestep(program):
    """Return the functions by file, the pairs of functions from file to file, and the depth."""
    calls = [line.split()[1:] for line in output(program).splitlines()]
    names = named(program, sorted({address for _, *pair in calls for address in pair if address != "0"}))
    below = collections.defaultdict(set)
    for _, caller, callee in calls:
        below[names.get(caller)].add(names[callee])
    files, pairs, depth = collections.defaultdict(set), set(), {None: 0}
    waiting = [None]
    while waiting:
        caller = waiting.pop()
        for callee in below[caller]:
            if callee[1] in BASE | CALLBACKS:
                continue
            files[callee[1]].add(callee[0])
            if caller and caller[1] != callee[1]:
                pairs.add((caller, callee))
            if depth[caller] + 1 > depth.get(callee, 0) and depth[caller] < MAX_DEPTH:  # recursion does not count as depth
                depth[callee] = depth[caller] + 1
                waiting.append(callee)
    return files, pairs, max(depth.values())


# --- variants -----------------------------------------------------------------------------------------------------------

def taken(library):
    """Return the symbols of the variants that the loop uses, as "decode.c: symbol", without the table of variants."""
    loop, variants = ({folder + name[:-2] for name in os.listdir(os.path.join(ROOT, "framework", folder[:-1])) if name.endswith(".c")}
                      for folder in (LOOP, VARIANTS))
    defined, wanted = {}, collections.defaultdict(set)
    member = ""
    for line in output("nm", library).splitlines():
        if line.endswith(".o:"):
            member = os.path.basename(line[:-3]).split(".")[0]
        words = line.split()
        if len(words) == 3 and words[1] in "TDBR" and member in variants and words[2] != "search_variants":
            defined[words[2]] = member
        if len(words) == 2 and words[0] == "U" and member in loop:
            wanted[words[1]].add(member)
    return sorted(f"{user}.c: {symbol}" for symbol, users in wanted.items() if symbol in defined for user in users)


# --- lines and files ----------------------------------------------------------------------------------------------------

def count_lines(path):
    """Return (lines of code, lines of comments)."""
    code = comments = 0
    within = None
    begins = {".lua": ("--[[", "]]", "--"), ".html": ("<!--", "-->", None)}.get(os.path.splitext(path)[1], ("/*", "*/", "//"))
    for line in open(path, encoding="utf-8"):
        line = line.strip()
        if not line:
            continue
        if within or line.startswith(begins[0]):
            comments += 1
            within = begins[1] not in line
        elif begins[2] and line.startswith(begins[2]):
            comments += 1
        else:
            code += 1
    return code, comments


def sources(folder):
    for where, _, names in sorted(os.walk(os.path.join(ROOT, folder))):
        for name in sorted(names):
            path = os.path.relpath(os.path.join(where, name), ROOT)
            if name.endswith(ENDINGS) and not path.startswith("kernels/cuda/"):
                yield path


def shared_names():
    """Return the base names of C sources that occur in several folders."""
    folders = collections.defaultdict(set)
    for folder in UNIQUE:
        for path in sources(folder):
            if path.endswith(".c"):
                folders[os.path.basename(path)].add(os.path.dirname(path))
    return sorted(name for name, those in folders.items() if len(those) > 1)


# --- the table ----------------------------------------------------------------------------------------------------------

def measure(args):
    files, pairs, depth = timestep(args.plain_timestep)
    if args.calls:
        for name in sorted(files):
            print(f"{name:20} {len(files[name]):3}  {' '.join(sorted(files[name]))}")
    symbols, shared = taken(args.library), shared_names()
    if args.calls:
        print("symbols of variants:", *symbols, sep="\n  ")
        print("shared base names:", *shared)
    return {"functions of a plain timestep": sum(map(len, files.values())), "files": len(files), "depth": depth,
            "calls from file to file": len(pairs), "symbols that the loop takes from variants": len(symbols),
            "base names that folders share": len(shared)}


def print_sizes():
    print(f"{'folder':12}{'files':>8}{'code':>8}{'comments':>10}")
    total = [0, 0, 0]
    for folder in FOLDERS:
        paths = list(sources(folder))
        lines = [count_lines(os.path.join(ROOT, path)) for path in paths]
        row = [len(paths), sum(code for code, _ in lines), sum(comments for _, comments in lines)]
        total = [a + b for a, b in zip(total, row)]
        print(f"{folder:12}{row[0]:8}{row[1]:8}{row[2]:10}")
    print(f"{'all':12}{total[0]:8}{total[1]:8}{total[2]:10}    without kernels/cuda")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--calls", action="store_true")
    parser.add_argument("plain_timestep")
    parser.add_argument("library")
    args = parser.parse_args()
    found = measure(args)
    limits = json.load(open(LIMITS, encoding="utf-8"))
    if not found["functions of a plain timestep"] or limits.keys() != found.keys():
        raise SystemExit(f"meter: {args.plain_timestep} calls nothing, or {LIMITS} has other numbers than {list(found)}")
    worse = 0
    for name, number in found.items():
        over = number > limits[name]
        worse += over
        print(f"{name:44}{number:6}   at most {limits[name]}{'   WORSE' if over else ''}")
    print_sizes()
    if args.write:
        with open(LIMITS, "w", encoding="utf-8") as file:
            file.write(json.dumps(found, indent=2) + "\n")
    if args.check and worse:
        raise SystemExit("meter: the structure got worse; --calls lists what a timestep runs through")


main()
