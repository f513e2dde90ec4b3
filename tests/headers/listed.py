#!/usr/bin/env python3
"""Compare the public headers in folders with the list that is compiled alone.

usage: listed.py FOLDER... -- NAME..."""
import pathlib
import sys

end = sys.argv.index("--")
folders, listed = sys.argv[1:end], sys.argv[end + 1:]
there = {path.stem for folder in folders for path in pathlib.Path(folder).glob("*.h")}
missing = sorted(there ^ set(listed))
if missing:
    sys.exit(f"headers and the list in tests/headers/meson.build differ: {', '.join(missing)}")
