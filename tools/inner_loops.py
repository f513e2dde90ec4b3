#!/usr/bin/env python3
"""Count the instructions of the inner loops of AArch64 kernels: an indication of their speed without such a processor.

usage: inner_loops.py OBJECT [PATTERN]        functions of an object file whose names match PATTERN (all)

The inner loop of a function is the one, of those without another inside, that multiplies most. Printed are its instructions, of them
those that multiply, load, store, copy a register; and how many multiplications an instruction makes. Needs an objdump that knows AArch64.
"""

import re
import shutil
import subprocess
import sys

# Number of multiplications that one instruction computes.
PRODUCTS = {"fmla": 4, "smull": 8, "smull2": 8, "smlal": 8, "smlal2": 8, "sdot": 16, "smmla": 32}
BRANCH = re.compile(r"b\.\w+|cbn?z|tbn?z")


def functions(listing):
    """Yield (name, [(address, operation, operands)]) for each function of the listing."""
    for match in re.finditer(r"^[0-9a-f]+ <(\S+)>:\n((?:.+\n)+)", listing, re.M):
        rows = [line.split("\t") for line in match.group(2).splitlines() if "\t" in line]
        yield match.group(1), [(int(r[0].strip(" :"), 16), r[1].strip(), r[2] if len(r) > 2 else "") for r in rows]


def inner_loop(code):
    """Return the instructions of the innermost loop with the most multiplications; empty if there is none."""
    back = []
    for address, operation, operands in code:
        target = re.search(r"([0-9a-f]+) <", operands)
        if BRANCH.fullmatch(operation) and target and int(target.group(1), 16) < address:
            back.append((int(target.group(1), 16), address))
    inner = [a for a in back if not any(b != a and a[0] <= b[0] and b[1] <= a[1] for b in back)]
    loops = [[row for row in code if first <= row[0] <= last] for first, last in inner]
    return max(loops, key=lambda loop: sum(row[1] in PRODUCTS for row in loop), default=[])


def count(loop):
    return (len(loop), sum(op in PRODUCTS for _, op, _ in loop), sum(op.startswith("ld") for _, op, _ in loop),
            sum(op.startswith("st") for _, op, _ in loop),
            sum(op == "mov" and where.startswith("v") for _, op, where in loop),
            sum(PRODUCTS.get(op, 0) for _, op, _ in loop))


def main(arguments):
    if len(arguments) not in (1, 2):
        sys.exit(__doc__)
    objdump = shutil.which("aarch64-linux-gnu-objdump") or "objdump"
    run = subprocess.run([objdump, "-d", "--no-show-raw-insn", arguments[0]], capture_output=True, text=True, check=True)
    print("%-28s %12s %10s %6s %7s %7s %22s" % ("function", "instructions", "multiply", "load", "store", "copy", "products/instruction"))
    for name, code in functions(run.stdout):
        loop = inner_loop(code)
        if re.search(arguments[1] if len(arguments) > 1 else "", name) and any(row[1] in PRODUCTS for row in loop):
            total, multiply, load, store, copy, products = count(loop)
            print("%-28s %12d %10d %6d %7d %7d %22.2f" % (name, total, multiply, load, store, copy, products / total))


if __name__ == "__main__":
    main(sys.argv[1:])
