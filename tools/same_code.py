#!/usr/bin/env python3
"""Compare the machine code of two builds. For commits that rename: code and constants of every object must be equal, names apart.

usage: same_code.py BUILD_BEFORE BUILD_AFTER [TABLE...]

BUILD_BEFORE, BUILD_AFTER: build folders of the same compiler and options. TABLE: tables of rename.py, which say what was renamed.
The sections with code and data are compared, and their relocations by place, kind and symbol. Texts may contain renamed names, so
a relocation to a text must only lead to some text. Prints each object that differs or that only one build has. Exits with 1 if
there is any, or nothing to compare.
"""

import collections
import os
import re
import struct
import sys

PROGBITS, RELA, NOBITS = 1, 4, 8  # types of ELF sections
ALLOC, STRINGS = 2, 0x20  # flags of ELF sections
SECTION_SYMBOL = 3

Section = collections.namedtuple("Section", "name kind flags offset size link info bytes")


def text_at(data, at):
    return data[at:data.index(b"\0", at)].decode()


def sections(path):
    with open(path, "rb") as file:
        data = file.read()
    if data[:4] != b"\x7fELF" or data[4] != 2:
        raise SystemExit(f"same_code: {path} is no ELF object of 64 bits")
    at, size, count, names = struct.unpack_from("<Q", data, 40)[0], *struct.unpack_from("<HHH", data, 58)
    raw = [struct.unpack_from("<IIQQQQII", data, at + i * size) for i in range(count)]
    base = raw[names][4]
    return [Section(text_at(data, base + name), kind, flags, offset, length, link, info,
                    data[offset:offset + length] if kind != NOBITS else b"") for name, kind, flags, _, offset, length, link, info in raw]


def content(path):
    """Return the contents of an object file: code and data, and their relocations."""
    all_sections = sections(path)
    found = []
    for section in all_sections:
        if section.kind == PROGBITS and section.flags & ALLOC and not section.flags & STRINGS and not section.name.startswith(".eh_frame"):
            found.append((section.flags, section.bytes))
        if section.kind != RELA or not all_sections[section.info].flags & ALLOC or all_sections[section.info].name.startswith(".eh_frame"):
            continue
        symbols = all_sections[section.link]
        strings = all_sections[symbols.link].bytes
        target = all_sections[section.info].flags
        for at in range(0, section.size, 24):
            offset, info, addend = struct.unpack_from("<QQq", section.bytes, at)
            name, kind, _, index, _, _ = struct.unpack_from("<IBBHQQ", symbols.bytes, (info >> 32) * 24)
            to = all_sections[index] if 0 < index < len(all_sections) else None
            if to is not None and to.flags & STRINGS:
                found.append((target, offset, info & 0xffffffff, "a text"))
            else:
                # the compiler numbers copies, as in name.part.0
                symbol = "" if kind & 15 == SECTION_SYMBOL else re.sub(r"\.\d+", ".N", text_at(strings, name))
                found.append((target, offset, info & 0xffffffff, symbol, addend))
    return found


def objects(build):
    for folder, _, names in os.walk(build):
        for name in names:
            if name.endswith(".o"):
                yield os.path.relpath(os.path.join(folder, name), build)


def read_tables(paths):
    """Return parts of object names, before and after, and for each old symbol name its possible new names."""
    moves, names = [], collections.defaultdict(set)
    for path in paths:
        for line in open(path, encoding="utf-8"):
            cells = line.rstrip("\n").split("\t")
            if line.startswith("#") or len(cells) != 4:
                continue
            kind, _, old, new = cells
            if kind == "file":
                moves += [(old, new), (old.replace("/", "_"), new.replace("/", "_")), (os.path.basename(old), os.path.basename(new)),
                          (old.split("/", 1)[-1].replace("/", "_"), new.split("/", 1)[-1].replace("/", "_"))]
            elif kind in ("function", "global", "local"):
                names[old].add(new)
    return moves, names


def same(before, after, names):
    """Whether two objects are equal, except that a symbol has one of its possible new names."""
    one, other = content(before), content(after)
    if len(one) != len(other):
        return False
    for a, b in zip(one, other):
        if a == b:
            continue
        if len(a) != 5 or len(b) != 5 or a[:3] + a[4:] != b[:3] + b[4:]:
            return False
        old, new = a[3].partition("."), b[3].partition(".")
        # names of C++ symbols contain the types of parameters, which may be renamed
        if old[0].startswith("_Z") and new[0].startswith("_Z"):
            continue
        if new[0] not in names.get(old[0], ()) or old[2] != new[2]:
            return False
    return True


def main():
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    before, after, *tables = sys.argv[1:]
    moves, names = read_tables(tables)
    there, bad, equal = set(objects(after)), [], 0
    for name in sorted(objects(before)):
        fit = [(old, new) for old, new in moves if name.endswith(old + ".o")]
        candidates = [name] + [name[:-len(old + ".o")] + new + ".o" for old, new in sorted(fit, key=lambda move: len(move[0]))]
        now = next((n for n in reversed(candidates) if n in there), None)
        if now is None:
            bad.append(f"{name}: only before")
            continue
        there.discard(now)
        if same(os.path.join(before, name), os.path.join(after, now), names):
            equal += 1
        else:
            bad.append(f"{now}: other code, data or symbols")
    bad += [f"{name}: only after" for name in sorted(there)]
    print(f"{equal} objects have the same code", *bad, sep="\n  ")
    return len(bad) > 0 or equal == 0


sys.exit(main())
