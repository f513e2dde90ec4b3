#!/usr/bin/env python3
"""tools/find_cuda.py on made-up folders: a toolkit with lib64 or lib, and wheels, whose libraries have names with a version only.

usage: cuda_folders.py FIND_CUDA
"""

import os
import subprocess
import sys
import tempfile

NAMES = ("cuda_runtime.h", "cublasLt.h", "cuda.h", "crt/host_config.h")


def put(home, *files):
    for file in files:
        path = os.path.join(home, file)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as out:
            out.write("#!/bin/sh\n")
        os.chmod(path, 0o755)


def find(*options, folders):
    return subprocess.run([sys.executable, sys.argv[1], *options], check=True, capture_output=True, text=True,
                          env={**os.environ, "RILL_CUDA_FOLDERS": folders}).stdout.split("\n")[:-1]


def expect(found, wanted):
    if found != wanted:
        sys.exit(f"found {found}, expected {wanted}")


with tempfile.TemporaryDirectory() as top:
    expect(find(folders=top), ["", "", "", ""])
    for lib in ("lib64", "lib", "targets/x86_64-linux/lib"):
        kit = os.path.join(top, "kit-" + lib.split("/")[0])
        put(kit, "bin/nvcc", f"{lib}/libcublasLt.so.13", f"{lib}/libcublasLt.so", f"{lib}/libcudart.so.13",
            *("include/" + name for name in NAMES))
        expect(find(folders=kit), [f"{kit}/bin/nvcc", f"{kit}/include", f"{kit}/{lib}/libcublasLt.so.13", f"{kit}/{lib}/libcudart.so.13"])
    # one folder per library, as in wheels of CUDA 12, and one folder for a release
    wheel = os.path.join(top, "nvidia")
    put(wheel, "cublas/lib/libcublasLt.so.13", "cublas/include/cublasLt.h", "cuda_runtime/lib/libcudart.so.13",
        "cuda_runtime/include/cuda_runtime.h", "cuda_nvcc/bin/nvcc", "cuda_nvcc/include/crt/host_config.h", "cuda_runtime/include/cuda.h")
    headers = ":".join(f"{wheel}/{name}/include" for name in ("cuda_runtime", "cublas", "cuda_nvcc"))
    expect(find(folders=wheel), [f"{wheel}/cuda_nvcc/bin/nvcc", headers,
                                 f"{wheel}/cublas/lib/libcublasLt.so.13", f"{wheel}/cuda_runtime/lib/libcudart.so.13"])
    expect(find("--path", folders=wheel), [f"{wheel}/cublas/lib:{wheel}/cuda_runtime/lib"])
    # libraries of another release, a dangling link, and a compiler that does not run
    other = os.path.join(top, "other")
    put(other, "lib/libcublasLt.so.12", "bin/nvcc")
    with open(os.path.join(other, "bin/nvcc"), "w", encoding="utf-8") as script:
        script.write("#!/bin/sh\nexec missing/nvcc\n")
    os.symlink("missing/libcudart.so.13", os.path.join(other, "lib/libcudart.so.13"))
    expect(find(folders=other), ["", "", "", ""])
    expect(find(folders=f"{other}:{wheel}")[2:], [f"{wheel}/cublas/lib/libcublasLt.so.13", f"{wheel}/cuda_runtime/lib/libcudart.so.13"])
