#!/usr/bin/env python3
"""Find CUDA's compiler, headers and libraries: in a toolkit, or in NVIDIA's wheels, which PyTorch installs.

usage: find_cuda.py           prints a line for each of: nvcc, the folders of headers, libcublasLt.so.13, libcudart.so.13
                              An empty line: not found. Folders are separated by colons
       find_cuda.py --path    prints the folders of the two libraries, for LD_LIBRARY_PATH

A toolkit is the folder of the nvcc on PATH, or /usr/local/cuda. RILL_CUDA_FOLDERS, separated by colons, replaces these places and
the wheels: folders like a toolkit's, or a wheel's folder `nvidia`.
"""

import glob
import os
import shutil
import subprocess
import sys

MAJOR = "13"


def wheels():
    """Return the folders `nvidia` in all folders of Python packages. Each has a folder per library, or one per CUDA release."""
    return [os.path.join(place, "nvidia") for place in sys.path if os.path.isdir(os.path.join(place, "nvidia"))]


def homes():
    """Return folders with bin, include, lib or lib64 in them, the most likely first."""
    named = os.environ.get("RILL_CUDA_FOLDERS")
    if named is not None:
        places = [place for place in named.split(":") if place]
    else:
        nvcc = shutil.which("nvcc")
        places = ([os.path.dirname(os.path.dirname(os.path.realpath(nvcc)))] if nvcc else []) + ["/usr/local/cuda"] + wheels()
    found = []
    for place in places:
        found += [place] + (sorted(glob.glob(os.path.join(place, "*"))) if os.path.basename(place) == "nvidia" else [])
    return found


def first(patterns, usable=os.path.exists):
    """Return the first usable path that matches. glob also finds dangling links, which do not exist."""
    for home in homes():
        for pattern in patterns:
            for path in sorted(glob.glob(os.path.join(home, pattern))):
                if usable(path):
                    return path
    return ""


def runs(path):
    """Whether the program runs: a script named nvcc may call a compiler that is not there any more."""
    try:
        return subprocess.run([path, "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0
    except OSError:
        return False


def library(name):
    file = f"lib{name}.so.{MAJOR}"
    return first([f"lib64/{file}", f"lib/{file}", f"targets/*/lib/{file}", f"lib64/{file}.*", f"lib/{file}.*"])


def main():
    libraries = [library("cublasLt"), library("cudart")]
    if sys.argv[1:] == ["--path"]:
        print(":".join(dict.fromkeys(os.path.dirname(path) for path in libraries if path)))
        return
    headers = [first([f"include/{name}"]) for name in ("cuda_runtime.h", "cublasLt.h", "cuda.h", "crt/host_config.h")]
    print(first(["bin/nvcc"], runs))
    print(":".join(dict.fromkeys(os.path.dirname(path.replace("/crt/", "/")) for path in headers if path)))
    print(*libraries, sep="\n")


if __name__ == "__main__":
    main()
