"""The table of GPU measurements. The saved table follows from the saved results. Values for made-up results are those computed by hand.

usage: test_gpu_table.py ROOT"""

import os
import subprocess
import sys

ROOT = sys.argv[1]
sys.path.insert(0, os.path.join(ROOT, "bench"))
import gpu_table  # noqa: E402


def operation(program, name, seconds, flops, launches):
    return {"program": program, "operation": name, "bytes": seconds * 3.35e12, "flops": flops, "launches": launches}


def run(tokens, card="NVIDIA H100 80GB HBM3", expansions=200, seconds=2.0, late=None, kind="bf16"):
    """A made-up result: 10 timesteps in `seconds`, of which encoding takes 1. On this card the timesteps' work takes at least 0.5 s,
    half of it to move its bytes."""
    return gpu_table.measured({
        "seconds_median": 4.0,
        "run": {"timesteps": 10, "expansions": expansions, "exp_per_step": expansions / 10,
                "seconds": {"total": seconds, "encode": 1.0, "step": 0.7, "score": 0.1, **(late or {})}},
        "profile": {"operations": [operation("encode", "product 8 x 8", 9.0, 0, 900), operation("step", "sum", 0.25, 0, 20),
                                   operation("step", "product 8 x 8", 0.1, 0.25 * 989e12, 30)]}}, tokens, card, kind)


def near(value, expected):
    assert value is not None and abs(value - expected) < 1e-9 * abs(expected), (value, expected)


def rows_follow():
    row = run(400)
    near(row["tokens_per_second"], 100)
    near(row["ms"], 100)
    near(row["share"], 0.5)
    near(row["launches"], 5)
    near(row["exposed_ms"], 20)
    near(run(400, kind="f32+")["share"], 0.25 + 0.25 * 989 / 494)  # with --fast, f32 products run in tf32
    near(run(400, kind="f32")["share"], 0.25 + 0.25 * 989 / 67)
    late = run(400, late={"waited": 1.2, "hidden": 0.5})
    near(late["hidden_ms"], 50)
    near(late["exposed_ms"], 30)
    assert row["hidden_ms"] == 0 and "share" not in run(400, card="another card")
    assert run(400)["least_ms"]["H200"] < row["least_ms"]["H100 SXM"]


def targets_follow():
    places = {"a": ("fixed", 300), "b": ("var-stream", 300), "c": ("stream-all", 1200), "d": ("var-batch", 300), "e": ("var-batch", 4000)}
    listed = [(key, {"model": "OPUS", "type": "bf16", "k": 5, "method": method, "n": full // 5, "full": full})
              for key, (method, full) in places.items()]
    run_results = {"rows": {"a": run(100), "b": run(400, expansions=400), "c": run(900), "d": run(300), "e": run(600)},
            "peer": {"OPUS bf16 5": [{"tokens_per_second": 5}, {"tokens_per_second": 15}]}}
    found = {name: (bound, is_) for name, bound, is_ in gpu_table.targets(gpu_table.Rows(run_results, listed)) if is_ is not None}
    expected = {"share of the limits, %: OPUS, bf16, 300 rows, fixed": (20, 50),
                "stream-all at its best / var-batch at 300 rows: OPUS, bf16": (2.5, 3),
                "var-stream / fixed, 0.8 of expansions: OPUS, bf16, k = 5": (0.8 * 2, 4),
                "rill / transformers' generate, each at its best: OPUS, bf16, k = 5": (10, 15)}
    assert found.keys() == expected.keys(), found.keys()
    for name, (bound, is_) in expected.items():
        near(found[name][0], bound)
        near(found[name][1], is_)


def saved_table_matches_results():
    results = os.path.join(ROOT, "bench", "results")
    table = subprocess.run([sys.executable, os.path.join(ROOT, "bench", "gpu.py"), "--out", results, "--table"], stdout=subprocess.PIPE,
                           text=True, check=True).stdout
    with open(os.path.join(results, "gpu.txt"), encoding="utf-8") as file:
        assert file.read() == table, "bench/results/gpu.txt is not what `bench/gpu.py --out bench/results --table` prints"


rows_follow()
targets_follow()
saved_table_matches_results()
