#!/usr/bin/env python3
"""Instructions, registers and shared memory of gpu_collectives.cu, from the compiler's output. It needs nvcc, and nvdisasm beside it
or on PATH; no GPU.

usage: gpu_collectives.py [COMPUTE_CAPABILITY]    default: 90
"""

import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
COUNTED = {"SHFL": "shuffles", "LDS": "shared", "STS": "shared", "ATOMS": "shared", "BAR": "barriers"}


def main():
    target = sys.argv[1] if len(sys.argv) > 1 else "90"
    nvcc = subprocess.run([sys.executable, os.path.join(HERE, "../tools/find_cuda.py")], check=True, capture_output=True,
                          text=True).stdout.split("\n")[0]
    disassembler = shutil.which("nvdisasm", path=os.path.dirname(nvcc) + ":" + os.environ["PATH"])
    if not nvcc or not disassembler:
        sys.exit("gpu_collectives.py: nvcc or nvdisasm was not found")
    with tempfile.TemporaryDirectory() as folder:
        cubin = os.path.join(folder, "a.cubin")
        said = subprocess.run([nvcc, "-std=c++17", "-O3", "-fmad=false", f"-arch=sm_{target}", "-cubin", "-Xptxas", "-v", "-o", cubin,
                               os.path.join(HERE, "gpu_collectives.cu")], check=True, capture_output=True, text=True).stderr
        assembly = subprocess.run([disassembler, "-c", cubin], check=True, capture_output=True, text=True).stdout
    used = {}  # kernel -> registers, bytes of shared memory
    for name, text in re.findall(r"Compiling entry function '(\w+)'(.*?)(?=Compiling entry|\Z)", said, re.DOTALL):
        numbers = [re.search(pattern, text) for pattern in (r"Used (\d+) registers", r"(\d+) bytes smem")]
        used[name] = [int(found.group(1)) if found else 0 for found in numbers]
    counts, kernel = {}, None
    for line in assembly.splitlines():
        if found := re.match(r"\.text\.(\w+):", line):
            kernel = counts.setdefault(found.group(1), collections.Counter())
        elif kernel is not None and (found := re.match(r"\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?\w+\s+)?([A-Z0-9]+)", line)):
            if found.group(1) != "NOP":
                kernel["instructions"] += 1
                kernel[COUNTED.get(found.group(1), "others")] += 1
    print(f"sm_{target}: as compiled, loops counted once")
    print(f"{'kernel':18} {'instructions':>12} {'registers':>9} {'shuffles':>8} {'shared':>6} {'barriers':>8} {'shared bytes':>12}")
    for name in sorted(counts, key=lambda text: (re.sub("ours|cub", "", text), text)):
        if plain := re.match(r"_Z\d+((?:ours|cub)_\w+?_(?:sum|scan|total|sort))", name):
            c = counts[name]
            print(f"{plain.group(1):18} {c['instructions']:12} {used[name][0]:9} {c['shuffles']:8} {c['shared']:6} {c['barriers']:8} "
                  f"{used[name][1]:12}")


if __name__ == "__main__":
    main()
