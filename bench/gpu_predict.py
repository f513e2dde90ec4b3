#!/usr/bin/env python3
"""A lower bound of a timestep's cost on a GPU, from the counts of a profile, to be compared with measurements.

A run with --profile on the GPU, or on its stand-in, gives for each operation outside encode its calls per timestep, its bytes and
multiply-adds per row, and its launches. From these follow, for R rows, the bytes that must move and the multiplications. Weights
move once, and rows once for each operation that reads or writes them. The bound of an operation is the time of its bytes at the
card's bandwidth, or of its multiplications at the peak rate of the type, whichever is longer.

Bytes that stay in the card's second-level cache are counted as if they came from memory, and launches as if they took no time.

usage: gpu_predict.py NAME/TYPE=STATS.json ...     (each from: rill decode --device cuda-host --weights TYPE ... --profile
                                                    --stats STATS.json)
"""

import json
import re
import sys

# Published limits: bytes per second; operations per second without sparsity, where a multiply-add counts as two.
PEAKS = {"f32": 67e12, "tf32": 494e12, "f16": 989e12, "bf16": 989e12}
CARDS = {"H100 SXM": (3.35e12, PEAKS), "H200": (4.8e12, PEAKS)}
ROWS = (300, 4000)


def packed(n, k, size):
    """Return the bytes of packed weights: columns are padded to 16, rows to four bytes."""
    return -(-n // 16) * 16 * -(-k * size // 4) * 4


def operations(stats, size_of_weights):
    """Return for each operation its calls and launches per timestep, bytes moved per row, multiply-adds per row, and weights (N, K)
    or None. The operation with the fewest calls in its graph is called once per run of the graph; it gives the number of rows per
    run.
    """
    ops = [o for o in stats["profile"]["operations"] if o["program"] != "encode" and o["rows"] > 0]
    for program in {o["program"]: 1 for o in ops}:
        mine = [o for o in ops if o["program"] == program]
        runs = min(o["calls"] for o in mine)
        rows = max(o["rows"] for o in mine if o["calls"] == runs)
        for o in mine:
            size = re.fullmatch(r"product (\d+) x (\d+)", o["operation"])
            weights = (int(size[1]), int(size[2])) if size else None
            moved = o["bytes"] - (o["calls"] * packed(*weights, size_of_weights) if weights else 0)
            yield max(round(o["calls"] / runs), 1), o["launches"] / runs, moved / rows, o["flops"] / 2 / rows, weights


def predict(stats, rows, card, kind):
    bandwidth, peak = CARDS[card]
    total = moved = multiplied = launches = 0
    size = 4 if kind == "f32" else 2
    for calls, put, moved_by_row, products, weights in operations(stats, size):
        bytes_ = rows * moved_by_row + (calls * weights[0] * weights[1] * size if weights else 0)
        flops = 2 * rows * products
        total += max(bytes_ / bandwidth, flops / peak[kind if weights else "f32"])
        moved += bytes_
        multiplied += flops
        launches += put
    return {"ms": 1e3 * total, "mbytes": moved / 1e6, "gflops": multiplied / 1e9, "launches": launches}


def lower_bound(profile, card, kind):
    """Return a lower bound of the seconds that a run's operations take without encoding, by the card's limits. Also return the number
    of their launches, None if they were not counted.
    """
    bandwidth, peak = CARDS[card]
    ops = [o for o in profile["operations"] if o["program"] != "encode"]
    seconds = sum(max(o["bytes"] / bandwidth, o["flops"] / peak[kind if o["operation"].startswith("product") else "f32"]) for o in ops)
    return seconds, sum(o.get("launches", 0) for o in ops) or None


def main():
    cases = [re.fullmatch(r"([^/=]+)/(f32|f16|bf16)=(.+)", argument) for argument in sys.argv[1:]]
    if not cases or None in cases:
        sys.exit(__doc__.rsplit("\n\n", 1)[1].strip())
    print(f"{'model':10} {'type':5} {'rows':>5} {'launches':>8} {'MB':>8} {'GFLOP':>8} " + " ".join(f"{c + ' ms':>12}" for c in CARDS))
    for name, kind, path in (case.groups() for case in cases):
        with open(path) as file:
            stats = json.load(file)
        for rows in ROWS:
            at = {card: predict(stats, rows, card, kind) for card in CARDS}
            one = next(iter(at.values()))
            print(f"{name:10} {kind:5} {rows:5} {one['launches']:8.0f} {one['mbytes']:8.1f} {one['gflops']:8.1f} " +
                  " ".join(f"{at[c]['ms']:12.3f}" for c in CARDS))


if __name__ == "__main__":
    main()
