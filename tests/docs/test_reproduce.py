"""./dev reproduce: a table with a tiny model, a row that fails, and an interruption. Also the report of made-up raw files.

usage: test_reproduce.py ROOT RILL"""

import contextlib
import io
import json
import os
import re
import sys
import tempfile

ROOT, RILL = sys.argv[1], os.path.abspath(sys.argv[2])
sys.path.insert(0, os.path.join(ROOT, "bench", "papers"))
import paper_runs  # noqa: E402

paper_runs.RILL = RILL
import paper_page  # noqa: E402
import reproduce  # noqa: E402

FAILS = """#!/bin/sh
case "$*" in *{method}*) echo "no {method} today" >&2; exit 1 ;; esac
exec {rill} "$@"
"""


def run(*arguments):
    """Run the command; return its exit code, standard output and standard error."""
    out, err, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["reproduce.py", *arguments]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = reproduce.main()
    except SystemExit as error:
        code = error.code
        err.write(code if isinstance(code, str) else "")
    finally:
        sys.argv = before
    return code or 0, out.getvalue(), err.getvalue()


def row(text, *start):
    return next(line for line in text.splitlines() if line.startswith("| " + " | ".join(start) + " |")).split(" | ")


def measured(folder):
    """A table of the paper with a tiny model and 24 inputs; var-stream has ten of them in flight."""
    os.makedirs(os.path.join(folder, "data", "semparse", "geo"))
    os.makedirs(os.path.join(folder, "models"))
    os.symlink(os.path.join(ROOT, "tests", "data", "semparse", "tiny"), os.path.join(folder, "models", "geo"))
    with open(os.path.join(folder, "data", "semparse", "geo", "test.tsv"), "w", encoding="utf-8") as file:
        file.writelines(f"w{i % 5} w{i % 3} w{i % 7}\tw{i % 4}\n" for i in range(24))
    out = os.path.join(folder, "out")
    options = ["--data", os.path.join(folder, "data"), "--models", os.path.join(folder, "models"), "--out", out, "--runs", "2",
               "stream-table-7"]

    code, text, err = run(*options)
    assert code == 0, err
    assert row(text, "var-stream", "paper")[2:5] == ["82.5", "89.6", "2.95 ± 0.04"], text
    assert row(text, "var-stream", "rill")[-1] == "10 |", text
    with open(os.path.join(out, "stream-geo.json"), encoding="utf-8") as file:
        raw = json.load(file)
    found = {one["method"].split(":")[0]: one for one in raw["results"]}
    assert found["greedy"]["run"]["options"]["batch_size"] == 100, "greedy search has as many inputs as others have hypotheses"
    assert found["var-stream"]["run"]["refills"] > 1 and all(one["run"]["options"]["max_batch_hypotheses"] == 100 for one in found.values())
    assert row(text, "fixed", "rill")[6] == f"{found['fixed']['run']['expansions']:,}" and len(found["fixed"]["seconds"]) == 2
    assert folder not in json.dumps(raw), "the raw file names no folder of this machine"
    assert "RILL_DATA/" in raw["commands"][0] or "test.tsv" in raw["commands"][0]

    before = os.stat(os.path.join(out, "stream-geo.json")).st_mtime_ns
    assert run(*options)[0] == 0 and os.stat(os.path.join(out, "stream-geo.json")).st_mtime_ns == before, "measured once"

    with open(os.path.join(folder, "fails"), "w", encoding="utf-8") as file:
        file.write(FAILS.format(method="var-batch", rill=RILL))
    os.chmod(os.path.join(folder, "fails"), 0o755)
    paper_runs.RILL = os.path.join(folder, "fails")
    code, text, err = run(*options[:-3], "--runs", "1", "stream-table-7")
    assert code == 1 and "failed: stream-geo, var-batch" in err, err
    assert "no var-batch today" in row(text, "var-batch", "rill")[2] and row(text, "var-stream", "rill")[-1] == "10 |", text
    paper_runs.RILL = RILL
    return options


def translated(folder, options):
    """Translation: refilling keeps 64 inputs in flight, and a timestep has no limit."""
    os.makedirs(os.path.join(folder, "data", "mt", "multi30k"))
    os.symlink(os.path.join(ROOT, "tests", "data", "mt", "shared"), os.path.join(folder, "models", "de-en"))
    for side in ("de", "en"):
        with open(os.path.join(folder, "data", "mt", "multi30k", "test_2016_flickr." + side), "w", encoding="utf-8") as file:
            file.writelines(f"{i} ab\n" for i in range(70))
    code, text, err = run(*options[:-3], "--runs", "1", "stream-table-4")
    assert code == 0 and "stream-variants-wmt: missing: no WMT'19 models" in err, err
    assert row(text, "var-batch", "paper")[3:4] == ["2,007"] and row(text, "var-stream", "rill")[-1] == "64 |", text
    with open(os.path.join(folder, "out", "stream-variants.json"), encoding="utf-8") as file:
        found = {one["method"]: one["run"] for one in json.load(file)["results"]}
    assert found["fixed:n=12"]["items_peak"] == 12 and found["var-stream"]["refills"] > 1
    assert not any(run["options"].get("max_batch_hypotheses") for run in found.values())


def interrupted(folder, options):
    table = reproduce.TABLES[0]
    reproduce.TABLES.insert(0, paper_page.Table("a", "", 1, "", "", {"one": lambda runs: 1, "two": stop, "three": lambda runs: 3},
                                                lambda results: []))
    code, _, err = run(*options[:-1], "a")
    assert code == 130 and "interrupted" in err, (code, err)
    assert sorted(one for one in os.listdir(os.path.join(folder, "out")) if one in ("one.json", "two.json", "three.json")) == ["one.json"]
    assert os.path.exists(os.path.join(folder, "out", "report.html"))
    del reproduce.TABLES[0]
    assert reproduce.TABLES[0] is table


def stop(runs):
    raise KeyboardInterrupt


def refused(folder):
    for arguments, what in ((["no-such-table"], "--list names them"), (["--runs", "0"], "at least 1"), (["--data", folder + "/no"],
                                                                                                        "no such folder")):
        code, _, err = run(*arguments)
        assert code == 2 and what in err, (arguments, code, err)
    code, text, _ = run("--list")
    assert code == 0 and all(table.name in text for table in reproduce.TABLES)
    names = [table.name for table in reproduce.TABLES]
    assert len(set(names)) == len(names) == 33


def reported():
    """The report of made-up raw files."""
    def show(results):
        if isinstance(results["a"], paper_page.Lack):
            return [paper_page.Note(results["a"])]
        return [paper_page.Grid("<b>", ["x & y"], [("row", ["1.5"], [results["a"]["value"]]), ("late", None, "not | here")]),
                paper_page.Chart("chart", "k", "seconds", {"NBS": [(1, 2.0), (4, 3.5)]})]
    table = paper_page.Table("t-1", "title", 1, "measures", "differs", {"a": None}, show)
    raw = {"commit": "abc1234", "date": "2026-01-02T03:04Z", "machine": "a <machine>, load 0.10", "runs": 5, "lines": 0,
           "results": {"value": "2.5"}, "notes": ["a note"], "commands": ["rill bench <x>"]}
    text, page = (make([table], {"a": raw}) for make in (paper_page.text_of, paper_page.html_of))
    assert "| row | paper | 1.5 |" in text and "| row | rill | 2.5 |" in text and "not \\| here" in text and "| 4 | 3.5 |" in text, text
    assert "abc1234" in text and "a note" in text and "mean little" not in text and "load" not in text
    for shown in ("&lt;b&gt;", "x &amp; y", "a &lt;machine&gt;", "rill bench &lt;x&gt;", "<td>2.5</td>", "<svg ", 'name="viewport"',
                  "abc1234"):
        assert shown in page, shown
    assert not re.search(r"<script|<link|<img|\bsrc=|@import|url\(", page) and set(re.findall(r"https?://[\w./]+",
                                                                                              page)) <= {"http://www.w3.org/2000/svg"}
    assert paper_page.Chart("c", "x", "y", {"a": []}).text() == paper_page.Chart("c", "x", "y", {}).html() == []
    again = paper_page.Table("t-2", "title", 1, "measures", "differs", {"a": None}, show)
    for make in (paper_page.text_of, paper_page.html_of):
        assert make([table, again], {"a": raw}).count("as in t-1.") == 1 and "as in" not in make([again], {"a": raw})
    assert "mean little" in paper_page.text_of([table], {"a": {**raw, "machine": "m, load 7.5"}})
    assert "does not" not in text and "cannot be made" in paper_page.text_of([table], {"a": {**raw, "results": {}}})
    assert "failed: boom" in paper_page.text_of([table], {"a": {"failed": "boom", **{k: raw[k] for k in raw if k != "results"}}})
    assert "not measured yet" in paper_page.html_of([table], {"a": None})
    for every in reproduce.TABLES:  # every table says that it is not measured yet
        assert "not measured yet" in paper_page.text_of([every], {}), every.name


with tempfile.TemporaryDirectory() as work:
    run_options = measured(work)
    translated(work, run_options)
    interrupted(work, run_options)
    refused(work)
reported()
