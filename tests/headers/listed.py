#!/usr/bin/env python3
"""Compare the public headers in folders with the list of headers that are compiled alone, and check that only one header declares
each type. C would take two declarations of one struct for the same type, so a caller could pass an object to the wrong close
function.

usage: listed.py FOLDER... -- NAME..."""
import collections
import pathlib
import re
import sys

end = sys.argv.index("--")
folders, listed = sys.argv[1:end], sys.argv[end + 1:]
headers = [path for folder in folders for path in pathlib.Path(folder).glob("*.h")]
there = {path.stem for path in headers}
missing = sorted(there ^ set(listed))
if missing:
    sys.exit(f"headers and the list in tests/headers/meson.build differ: {', '.join(missing)}")

declared = collections.defaultdict(set)
named = collections.defaultdict(set)
for path in headers:
    for name, body in re.findall(r"^typedef (?:struct|enum|union) (\w+)( \{)?", path.read_text(encoding="utf-8"), flags=re.M):
        (declared if body else named)[name].add(path.name)
for name, files in named.items():  # a type without visible members also belongs to one header, unless plugin authors see its members
    if name not in declared:
        declared[name] = files
twice = sorted(f"{name} ({', '.join(sorted(files))})" for name, files in declared.items() if len(files) > 1)
if twice:
    sys.exit(f"types that two headers declare: {'; '.join(twice)}")
