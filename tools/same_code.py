#!/usr/bin/env python3
"""Is the machine code of two builds the same? For commits that rename: `.text` of every object must be equal, symbols apart.

usage: same_code.py BUILD_BEFORE BUILD_AFTER [TABLE...]

BUILD_BEFORE, BUILD_AFTER: build folders of the same compiler and options. TABLE: tables of rename.py, whose rows `file` tell which object
was which. Prints each object whose executable sections differ or that only one build has. Exits with 1 where there is any.
"""

import os
import struct
import sys

EXECUTABLE = 4


def code(path):
    """The bytes of an ELF object's executable sections."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:4] != b"\x7fELF" or data[4] != 2:
        return None
    at, size, count = struct.unpack_from("<Q", data, 40)[0], *struct.unpack_from("<HH", data, 58)
    found = []
    for i in range(count):
        _, kind, flags, _, offset, length = struct.unpack_from("<IIQQQQ", data, at + i * size)
        if flags & EXECUTABLE and kind == 1:
            found.append(data[offset:offset + length])
    return b"".join(found)


def objects(build):
    for folder, _, names in os.walk(build):
        for name in names:
            if name.endswith(".o"):
                yield os.path.relpath(os.path.join(folder, name), build)


def moved(tables):
    """Pieces of objects' names, before and after."""
    for path in tables:
        for line in open(path, encoding="utf-8"):
            cells = line.rstrip("\n").split("\t")
            if cells[0] == "file":
                old, new = cells[2], cells[3]
                for join in ("/", "_"):  # Meson writes sources of other folders with underscores
                    yield old.replace("/", join), new.replace("/", join)
                yield (os.path.dirname(old).split("/", 1)[-1] + "_" + os.path.basename(old),
                       os.path.dirname(new).split("/", 1)[-1] + "_" + os.path.basename(new))
                yield os.path.basename(old), os.path.basename(new)


def main():
    before, after, *tables = sys.argv[1:]
    moves = [(old, new) for old, new in moved(tables) if old.endswith((".c", ".cc"))]
    there, bad, same = set(objects(after)), [], 0
    for name in sorted(objects(before)):
        names = [name] + [name.replace(old + ".o", new + ".o") for old, new in moves if name.endswith(old + ".o")]
        now = next((n for n in reversed(names) if n in there), None)
        if now is None:
            bad.append(f"{name}: only before")
            continue
        there.discard(now)
        if code(os.path.join(before, name)) == code(os.path.join(after, now)):
            same += 1
        else:
            bad.append(f"{now}: other code")
    bad += [f"{name}: only after" for name in sorted(there)]
    print(f"{same} objects have the same code", *bad, sep="\n  ")
    return len(bad) > 0


sys.exit(main())
