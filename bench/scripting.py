"""The table of bench/scripting.sh: python3 bench/scripting.py OUT.json SET.json...

Each SET.json is what `rill bench` wrote for methods in threes: in C, with the heuristic in Lua, with heuristic and scorer in Lua.
Ratios are medians of the ratios of neighbouring runs, so that other load affects both sides. Costs come from the minimum of
each stage over the runs: the Lua heuristic's time minus the C one's, in the stage `prune`, as a line over timesteps
and candidates; the scorer's are the stage `scorers`, over timesteps and rows. Exit code 1 when outputs differ."""
import json
import pathlib
import statistics
import sys


def line(points):
    """Fit seconds = a * calls + b * elements by least squares, without a constant. Return a, b."""
    cc = sum(c * c for c, e, s in points)
    ce = sum(c * e for c, e, s in points)
    ee = sum(e * e for c, e, s in points)
    cs = sum(c * s for c, e, s in points)
    es = sum(e * s for c, e, s in points)
    determinant = cc * ee - ce * ce
    return (cs * ee - es * ce) / determinant, (es * cc - cs * ce) / determinant


def ratio(lua, c):
    return statistics.median(a / b for a, b in zip(lua["seconds"], c["seconds"]))


def main(out, *paths):
    rows, prune, speak, differ = [], [], [], []
    for path in paths:
        methods = json.load(open(path, encoding="utf-8"))["methods"]
        name = pathlib.Path(path).stem
        for c, heuristic, both in zip(methods[0::3], methods[1::3], methods[2::3]):
            label = c["method"].split(":")[0]
            same = all(methods[0]["method"] in (m["method"], m["same_outputs_as"]) for m in (c, heuristic, both))
            if not same:
                differ.append(f"{name} {label}")
            run, seconds = c["run"], c["run"]["seconds"]
            steps, candidates, rows_expanded = run["timesteps"], run["candidates"], run["expansions"]
            extra = heuristic["run"]["seconds"]["prune"] - seconds["prune"]
            prune.append((steps, candidates, extra))
            speak.append((steps, rows_expanded, both["run"]["seconds"]["scorers"]))
            rows.append({
                "set": name, "method": label, "outputs": "the same" if same else "DIFFER",
                "seconds_c": c["seconds_median"], "seconds_lua": both["seconds_median"],
                "ratio_heuristic": ratio(heuristic, c), "ratio_both": ratio(both, c),
                "timesteps": steps, "candidates_per_timestep": candidates / steps,
                "prune_c_ns_per_timestep": 1e9 * seconds["prune"] / steps,
                "prune_lua_ns_per_timestep": 1e9 * heuristic["run"]["seconds"]["prune"] / steps,
                "scorer_ns_per_timestep": 1e9 * both["run"]["seconds"]["scorers"] / steps,
            })
    costs = {}
    for key, points, element in (("heuristic", prune, "candidate"), ("scorer", speak, "row")):
        per_call, per_element = line(points)
        costs[key] = {"ns_per_timestep": 1e9 * per_call, f"ns_per_{element}": 1e9 * per_element}

    print(f"{'':22} {'seconds':>17} {'ratio to C':>17} {'cands per':>10}     ns per timestep")
    print(f"{'':22} {'C':>8} {'Lua':>8} {'heuristic':>9} {'both':>7} {'timestep':>10} {'prune C':>9} {'prune Lua':>9} "
          f"{'scorer':>8}  outputs")
    for r in rows:
        print(f"{r['set']:5} {r['method']:16} {r['seconds_c']:8.4f} {r['seconds_lua']:8.4f} {r['ratio_heuristic']:9.3f} "
              f"{r['ratio_both']:7.3f} {r['candidates_per_timestep']:10.1f} {r['prune_c_ns_per_timestep']:9.0f} "
              f"{r['prune_lua_ns_per_timestep']:9.0f} {r['scorer_ns_per_timestep']:8.0f}  {r['outputs']}")
    print(f"\nlua-absolute over absolute: {costs['heuristic']['ns_per_timestep']:.0f} ns per timestep and "
          f"{costs['heuristic']['ns_per_candidate']:.2f} ns per candidate")
    print(f"lua-max_candidates: {costs['scorer']['ns_per_timestep']:.0f} ns per timestep and "
          f"{costs['scorer']['ns_per_row']:.2f} ns per row")
    print(f"largest ratio: {max(r['ratio_both'] for r in rows):.3f}")
    with open(out, "w", encoding="utf-8") as file:
        json.dump({"rows": rows, "costs": costs}, file, indent=2)
        file.write("\n")
    for place in differ:
        print(f"scripting: {place}: outputs differ from C's", file=sys.stderr)
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
