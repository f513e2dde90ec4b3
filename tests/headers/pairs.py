#!/usr/bin/env python3
"""Compile every two public headers together, in both orders, so that no name means two things in the public interface.

usage: pairs.py COMPILER LANGUAGE FOLDER... -- NAME...    LANGUAGE: c or c++"""
import itertools
import pathlib
import subprocess
import sys
import tempfile

end = sys.argv.index("--")
compiler, language, *folders = sys.argv[1:end]
names = sys.argv[end + 1:]
standard = {"c": "-std=c17", "c++": "-std=c++17"}[language]
with tempfile.TemporaryDirectory() as work:
    units = []
    for first, second in itertools.permutations(names, 2):
        unit = pathlib.Path(work, f"{first}-{second}.{'c' if language == 'c' else 'cc'}")
        unit.write_text(f'#include "rill/{first}.h"\n#include "rill/{second}.h"\n')
        units.append(str(unit))
    includes = [f"-I{pathlib.Path(folder).parent}" for folder in folders]
    run = subprocess.run([compiler, "-x", language, standard, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", *includes, *units],
                         capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(run.stderr[:4000])
