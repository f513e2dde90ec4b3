"""The table of bench/scripting_quality.sh: python3 bench/scripting_quality.py OUT.json SET-N.json...

A chain's gain is its oracle less that of `absolute` at the same number of expansions, interpolated on the curve of `absolute` over the
logarithm of expansions: above 0 is better. One input is 0.36 (GEO), 0.71 (JOBS), 0.22 (ATIS), so gains below are noise."""
import bisect
import json
import math
import pathlib
import sys

SETS = ("geo", "jobs", "atis")


def label(run):
    options = run["options"]
    chain = "+".join(options["heuristics"])
    return chain + (f", stop-after {options['stop_after']}" if options["stop_after"] != options["beam_size"] else "")


def read(paths):
    """Return [label] -> [set] -> inputs, exact, oracle (counts), expansions, in the order in which they were tried."""
    table = {}
    for path in sorted(paths):
        content = json.load(open(path, encoding="utf-8"))
        n = content["inputs"]
        for method in content["methods"]:
            run = method["run"]
            table.setdefault(label(run), {})[pathlib.Path(path).stem.split("-")[0]] = (
                n, round(method["exact_percent"] * n / 100), round(method["oracle_percent"] * n / 100), run["expansions"])
    return table


def pooled(row):
    return tuple(sum(row[s][i] for s in SETS) for i in range(4))


def at_expansions(curve, expansions):
    """Interpolate the curve [(expansions, oracle)]; return the oracle, as a count, at this number of expansions."""
    i = bisect.bisect_left([e for e, _ in curve], expansions)
    if i == 0:
        return curve[0][1]
    if i == len(curve):
        return curve[-1][1]
    (e0, o0), (e1, o1) = curve[i - 1], curve[i]
    if e0 == e1:
        return o1
    return o0 + (o1 - o0) * math.log(expansions / e0) / math.log(e1 / e0)


def main(out, *paths):
    table = read(paths)
    columns = {s: (lambda row, s=s: row[s]) for s in SETS} | {"all": pooled}
    is_curve = {name: name.startswith("absolute:") and "," not in name and "+" not in name for name in table}
    curves = {c: sorted((get(row)[3], get(row)[2]) for name, row in table.items() if is_curve[name]) for c, get in columns.items()}
    width = max(len(name) for name in table)
    print(f"\n{'':{width}} {'exact%':>6}" + "".join(f" | {c + ' oracle':>11} {'expansions':>10} {'gain':>5}" for c in columns))
    rows = []
    for name, row in table.items():
        n, exact, _, _ = pooled(row)
        cells, numbers = "", {}
        for c, get in columns.items():
            inputs, _, oracle, expansions = get(row)
            gain = 100 * (oracle - at_expansions(curves[c], expansions)) / inputs
            shown = "" if is_curve[name] else f"{gain:+.2f}"
            cells += f" | {100 * oracle / inputs:11.2f} {expansions:10d} {shown:>5}"
            numbers[c] = {"oracle_percent": 100 * oracle / inputs, "expansions": expansions, "gain": gain}
        print(f"{name:{width}} {100 * exact / n:6.2f}{cells}".rstrip())
        rows.append({"chain": name, "exact_percent": 100 * exact / n, **numbers})
    print("\ngain: oracle less that of absolute at the same expansions, in points")
    with open(out, "w", encoding="utf-8") as file:
        json.dump(rows, file, indent=2)
        file.write("\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
