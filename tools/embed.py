#!/usr/bin/env python3
"""Files as C data: {"NAME", TEXT, LENGTH}, for each, to be included where an array of such is initialised. Run by the build.

usage: embed.py FILE...
"""

import os
import sys


def main(paths):
    for path in paths:
        with open(path, "rb") as f:
            numbers = [str(byte if byte < 128 else byte - 256) for byte in f.read()]
        print('{"%s", (const char[]){%s}, %d},' % (os.path.basename(path), ",".join(numbers), len(numbers)))


main(sys.argv[1:])
