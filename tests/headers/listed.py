#!/usr/bin/env python3
"""Compare the public headers in a folder with the list that is compiled alone."""
import pathlib
import sys

folder, *listed = sys.argv[1:]
there = {path.stem for path in pathlib.Path(folder).glob("*.h")}
missing = sorted(there ^ set(listed))
if missing:
    sys.exit(f"headers and the list in tests/headers/meson.build differ: {', '.join(missing)}")
