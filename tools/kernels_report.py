#!/usr/bin/env python3
"""Resources of the CUDA kernels: a Markdown table of registers, spills, shared memory and occupancy, by kernel and architecture.

Compiles each file with nvcc for each architecture and reads what ptxas says (-Xptxas -v) and the launch bounds in the PTX.
Needs nvcc, on the path or as --nvcc; no GPU.

  tools/kernels_report.py kernels/cuda/*.cu
  tools/kernels_report.py kernels/cuda/attention.cu --arch 90 --shared attend_wide=1536

The threads of a block are a kernel's launch bounds, or those of --threads if it has none; the table marks the latter with a star.
Shared memory that a launch requests is not in the compiler's output: --shared KERNEL=BYTES states it, for all sizes of a template
at once. Occupancy is the share of a multiprocessor's warps that such blocks can fill, and the word after it names the limiting
resource.
"""

import argparse
import collections
import os
import re
import subprocess
import sys
import tempfile

# Limits of a multiprocessor: warps, blocks, registers, bytes of shared memory (CUDA C++ Programming Guide, "Compute Capabilities").
Limits = collections.namedtuple("Limits", "warps blocks registers shared")
ARCHITECTURES = {
    80: Limits(64, 32, 65536, 164 << 10),
    90: Limits(64, 32, 65536, 228 << 10),
    100: Limits(64, 32, 65536, 228 << 10),
}
# threads of a warp, and the units in which all of these architectures allocate resources
WARP, REGISTER_UNIT, WARP_UNIT, SHARED_UNIT, SHARED_OF_SYSTEM = 32, 256, 4, 128, 1024

Usage = collections.namedtuple("Usage", "registers spilled shared threads")


def up(n, unit):
    return -(-n // unit) * unit


def occupancy(limits, registers, shared, threads):
    """Return the share of warps that blocks of `threads` threads can fill, and the resource that limits it."""
    warps = -(-threads // WARP)
    by_registers = limits.registers // up(max(registers, 1) * WARP, REGISTER_UNIT) // WARP_UNIT * WARP_UNIT
    blocks = {
        "warps": limits.warps // warps,
        "blocks": limits.blocks,
        "registers": by_registers // up(warps, WARP_UNIT) if warps >= WARP_UNIT else by_registers // warps,
        "shared": limits.shared // up(shared + SHARED_OF_SYSTEM, SHARED_UNIT),
    }
    least = min(blocks, key=blocks.get)
    return blocks[least] * warps / limits.warps, least


def compiled(nvcc, source, architecture, extra):
    """Compile; return the standard error of nvcc and ptxas, and the PTX."""
    with tempfile.TemporaryDirectory() as folder:
        command = [nvcc, "-std=c++17", "-O3", "-fmad=false", "-Xptxas", "-v", "--keep", "--keep-dir", folder, "-c",
                   f"-gencode=arch=compute_{architecture},code=sm_{architecture}", *extra,
                   "-o", os.path.join(folder, "out.o"), source]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{source}, sm_{architecture}: {' '.join(command)} failed\n{done.stderr}")
        ptx = [name for name in os.listdir(folder) if name.endswith(".ptx")]
        with open(os.path.join(folder, ptx[0]), encoding="utf-8") as file:
            return done.stderr, file.read()


def launch_bounds(ptx):
    bounds = {}
    for entry, head in re.findall(r"\.entry (\w+)\(.*?\)\s*([^{]*)\{", ptx, re.DOTALL):
        found = re.search(r"\.maxntid (\d+)(?:, (\d+))?(?:, (\d+))?", head)
        if found:
            bounds[entry] = int(found[1]) * int(found[2] or 1) * int(found[3] or 1)
    return bounds


def usages(listing, bounds):
    """Return {kernel: Usage}, by the compiler's names of kernels and in its order."""
    kernels, name, spilled = {}, None, 0
    for line in listing.splitlines():
        if found := re.search(r"Compiling entry function '(\w+)'", line):
            name = found[1]
        elif found := re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", line):
            spilled = int(found[1]) + int(found[2])
        elif (found := re.search(r"Used (\d+) registers", line)) and name:
            shared = re.search(r"(\d+) bytes smem", line)
            kernels[name] = Usage(int(found[1]), spilled, int(shared[1]) if shared else 0, bounds.get(name))
            name = None
    return kernels


def readable(names):
    """Return readable names of kernels, without the types of arguments and results."""
    listing = subprocess.run(["c++filt", *names], capture_output=True, text=True, check=True).stdout.splitlines()
    return {name: re.sub(r"\(.*", "", text.replace("(anonymous namespace)::", "")).removeprefix("void ")
            for name, text in zip(names, listing)}


def cells(usage, architecture, shared, threads):
    share, limit = occupancy(ARCHITECTURES[architecture], usage.registers, usage.shared + shared, threads)
    return [str(usage.registers), str(usage.spilled), f"{share:.0%} {limit}"]


def report(source, options):
    by_architecture = {}
    for architecture in options.arch:
        listing, ptx = compiled(options.nvcc, source, architecture, options.option)
        by_architecture[architecture] = usages(listing, launch_bounds(ptx))
    names = list(next(iter(by_architecture.values())))
    if not names:
        return
    print(f"\n{os.path.basename(source)}\n")
    heads = [f"sm_{a} {what}" for a in options.arch for what in ("registers", "spilled", "occupancy")]
    print("| kernel | threads | shared | " + " | ".join(heads) + " |")
    print("| --- |" + " ---: |" * (2 + len(heads)))
    text = readable(names)
    for name in sorted(names, key=text.get):
        usage = next(iter(by_architecture.values()))[name]
        shared = options.shared.get(re.sub(r"<.*", "", text[name]), 0)
        threads = usage.threads or options.threads
        row = [f"`{text[name]}`", f"{threads}{'' if usage.threads else '*'}", str(usage.shared + shared)]
        for architecture, kernels in by_architecture.items():
            row += cells(kernels[name], architecture, shared, threads)
        print("| " + " | ".join(row) + " |")


def shared_of(text):
    name, equals, size = text.partition("=")
    if not equals or not size.isdigit():
        raise argparse.ArgumentTypeError(f"{text}: not KERNEL=BYTES")
    return name, int(size)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="+", metavar="FILE.cu")
    parser.add_argument("--nvcc", default="nvcc", help="the compiler (default: %(default)s)")
    parser.add_argument("--arch", type=int, nargs="+", choices=ARCHITECTURES, default=list(ARCHITECTURES))
    parser.add_argument("--threads", type=int, default=256, metavar="N",
                        help="of a block, where a kernel has no launch bounds (default: %(default)s)")
    parser.add_argument("--shared", type=shared_of, action="append", default=[], metavar="KERNEL=BYTES")
    parser.add_argument("--option", action="append", default=[], help="another option for nvcc: --option=-lineinfo")
    options = parser.parse_args()
    options.shared = dict(options.shared)
    for source in options.sources:
        report(source, options)


if __name__ == "__main__":
    main()
