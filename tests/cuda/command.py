#!/usr/bin/env python3
"""The command on the stand-in for a GPU (tests/cuda/stand_in.h): the choice of a device, messages without one, the device's memory,
and counts in --stats.

usage: command.py RILL ROOT   (RILL_MODULES names the folder of the stand-in's module)
"""

import ctypes
import json
import os
import subprocess
import sys
import tempfile

RILL, ROOT = sys.argv[1:3]
MODEL, INPUTS = os.path.join(ROOT, "examples/models/geo"), os.path.join(ROOT, "examples/questions/geo.txt")


def run(*options, lines=None, **variables):
    """Run the command; return the exit code, standard output and standard error."""
    done = subprocess.run([RILL, *options], input=lines, capture_output=True, text=True, check=False,
                          env={**os.environ, "LC_ALL": "C", **variables})
    return done.returncode, done.stdout, done.stderr


def info(device, **variables):
    return run("info", "-m", MODEL, "--device", device, **variables)


def expect(found, wanted, what):
    if wanted not in found:
        sys.exit(f"{what}: expected {wanted!r} in {found!r}")


def devices():
    """The stand-in has two devices. CUDA_VISIBLE_DEVICES hides some of them, as for CUDA itself."""
    expect(info("cuda-host")[1], "cuda-host:0", "the first device")
    expect(info("cuda-host:1")[1], "cuda-host:1", "the second device")
    expect(info("cuda-host:2")[2], "GPU 2 does not exist: the machine has 2\n", "a third device")
    expect(info("cuda-host:0", CUDA_VISIBLE_DEVICES="1")[1], "cuda-host:0", "the visible device is the first")
    expect(info("cuda-host:1", CUDA_VISIBLE_DEVICES="1")[2], "GPU 1 does not exist: CUDA_VISIBLE_DEVICES=1 leaves 1", "a hidden device")
    expect(info("cuda-host", CUDA_VISIBLE_DEVICES="")[2], "GPU 0 does not exist: CUDA_VISIBLE_DEVICES= leaves 0", "all hidden")
    expect(info("cuda-host:x")[2], "expected cuda-host or cuda-host:NUMBER", "no number")
    expect(info("cuda-host:0,cpu")[2], "cuda-host:0", "two kinds")
    code, out, _ = run("decode", "-m", MODEL, "--device", "cuda-host:0,cuda-host:1", "-i", INPUTS, "-q")
    if code != 0 or out != run("decode", "-m", MODEL, "-i", INPUTS, "-q")[1]:
        sys.exit("two devices answer otherwise than the processor")


def no_driver():
    """A build with CUDA, on a machine without a driver, says that there is no driver."""
    module = os.path.join(os.path.dirname(RILL), "domains")
    if not any(name.startswith("rill-cuda-") and name.endswith(".so") for name in os.listdir(module)):
        print("left out: this build has no CUDA")
        return
    try:
        ctypes.CDLL("libcuda.so.1")
        print("left out: this machine has a driver")
    except OSError:
        expect(info("cuda", RILL_MODULES=module)[2], "no NVIDIA driver is installed", "no driver")


def timesteps(lines, options, **variables):
    """Decode; return standard output and the number of timesteps."""
    with tempfile.TemporaryDirectory() as folder:
        stats = os.path.join(folder, "stats.json")
        code, out, said = run("decode", *options, "--stats", stats, lines=lines, **variables)
        if code != 0:
            sys.exit(f"memory: {said}")
        with open(stats, encoding="utf-8") as file:
            return out, json.load(file)["timesteps"]


def memory():
    """With little device memory the command either fails with a message, or gives all results, in smaller batches if necessary."""
    with open(INPUTS, encoding="utf-8") as file:
        lines = file.read() * 3
    options = ["-m", MODEL, "--device", "cuda-host", "--batch-size", "24", "-q"]
    everything, few = timesteps(lines, options)
    answers, many = timesteps(lines, options, RILL_CUDA_HOST_MEMORY="14200000")
    if answers != everything or many < 2 * few:
        sys.exit(f"memory: answers are missing or differ, or {many} timesteps instead of {few} are no smaller batches")
    for size, said in (("9000000", "the device has no more free: lower the number of workers"),
                       ("900000", "the device is out of memory: ")):
        expect(run("decode", *options, lines=lines, RILL_CUDA_HOST_MEMORY=size)[2], said, f"{size} bytes")


def graph_runs():
    with tempfile.TemporaryDirectory() as folder:
        stats = os.path.join(folder, "stats.json")
        for device in ("cuda-host", "cpu"):
            run("decode", "-m", MODEL, "--device", device, "-i", INPUTS, "-q", "-o", os.devnull, "--stats", stats)
            with open(stats, encoding="utf-8") as file:
                counts = json.load(file).get("graph_runs")
            if device == "cpu" and counts is not None:
                sys.exit(f"graph runs on a processor: {counts}")
            if device != "cpu" and not (counts["direct"] > 0 and counts["replayed"] > counts["captured"] > counts["evicted"] == 0):
                sys.exit(f"graph runs: {counts}")


if __name__ == "__main__":
    devices()
    no_driver()
    graph_runs()
    memory()
