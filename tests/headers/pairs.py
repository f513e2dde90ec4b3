#!/usr/bin/env python3
"""Compile every two public headers together, in both orders, so that no name means two things in the public interface.

Two source files do that: one includes all headers, the other includes them in reverse order.

usage: pairs.py COMPILER LANGUAGE FOLDER... -- NAME...    LANGUAGE: c or c++"""
import pathlib
import subprocess
import sys

end = sys.argv.index("--")
compiler, language, *folders = sys.argv[1:end]
names = sys.argv[end + 1:]
standard = {"c": "-std=c17", "c++": "-std=c++17"}[language]
includes = [f"-I{pathlib.Path(folder).parent}" for folder in folders]
for order in (names, names[::-1]):
    unit = "".join(f'#include "rill/{name}.h"\n' for name in order)
    run = subprocess.run([compiler, "-x", language, standard, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", *includes, "-"],
                         input=unit, capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(run.stderr[:4000])
