#!/usr/bin/env python3
"""The tables and figures of the papers that rill's methods come from, measured here and put beside the papers' numbers.

usage: ./dev reproduce [--list] [--data DIR] [--models DIR] [--wmt19 DIR] [--out DIR] [--runs N] [--lines N] [TABLE...]

Without a TABLE all of them; --list names them. Each part of a table is kept in --out as soon as it is measured: the same command goes on
after an interruption, and measures again what is missing or failed. The report is --out/report.md and --out/report.html.

Data (--data, $RILL_DATA, or ../shared/data): semparse/{geo,jobs,atis}/test.tsv, treebank/gum/test.ptb, treebank/ptb/test.ptb,
mt/multi30k/{test_2016_flickr,val}.{de,en}. Models (--models): geo, jobs, atis, gum, wsj, de-en, de-en-rnn, de-en-rnn-selfnorm; those of
examples/models where it has none. WMT'19 (--wmt19): newstest2018-de-en.{de,en}, newstest2018-ru-en.{ru,en}, newstest2017-de-en.{de,en}, and
de-en and ru-en, each a model or a folder of the models of an ensemble.
"""

import argparse
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import cube_tables  # noqa: E402
import lmbr_tables  # noqa: E402
import paper_page  # noqa: E402
import paper_runs  # noqa: E402
import stream_tables  # noqa: E402
import topup_tables  # noqa: E402

TABLES = [*stream_tables.TABLES, *topup_tables.TABLES, *lmbr_tables.TABLES, *cube_tables.TABLES]


def options():
    parser = argparse.ArgumentParser(prog="./dev reproduce", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     usage=argparse.SUPPRESS)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--data", default=os.environ.get("RILL_DATA") or os.path.join(paper_runs.ROOT, "..", "shared", "data"))
    parser.add_argument("--models")
    parser.add_argument("--wmt19")
    parser.add_argument("--out", default=os.path.join(paper_runs.ROOT, "build-reproduce"))
    parser.add_argument("--runs", type=int, default=5, help="runs of each method (5)")
    parser.add_argument("--lines", type=int, default=0, help="only the first lines of each set, to try things out")
    parser.add_argument("table", nargs="*")
    args = parser.parse_args()
    for name in ("data", "models", "wmt19"):
        folder = getattr(args, name)
        if folder and not os.path.isdir(folder) and f"--{name}" in " ".join(sys.argv[1:]):
            parser.error(f"--{name} {folder}: no such folder")
    if args.runs < 1 or args.lines < 0:
        parser.error("--runs is at least 1, --lines at least 0")
    known = [table.name for table in TABLES]
    for name in args.table:
        if name not in known:
            parser.error(f'no table "{name}"; --list names them')
    return args


def listed():
    for table in TABLES:
        print(f"{table.name:17} {table.title}; about {table.minutes} min\n    {table.measures}")


def write(out):
    for path, content in reports(out).items():
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)


def reports(out):
    """Return {path: content} of the reports, with the tables of which the folder has a part."""
    runs = paper_runs.Runs(out)
    raws = {name: runs.kept(name) for table in TABLES for name in table.parts}
    tables = [table for table in TABLES if any(raws[name] for name in table.parts)]
    return {os.path.join(out, "report.md"): paper_page.text_of(tables, raws), os.path.join(out, "report.html"): paper_page.html_of(tables,
                                                                                                                                   raws)}


def measure(runs, tables, raws):
    """Measure the parts of the tables. After each table write the report, with everything kept so far."""
    done = set()
    for table in tables:
        for name, part in table.parts.items():
            if name in done:
                continue
            done.add(name)
            raws[name] = runs.measure(name, part)
            for kind in ("failed", "missing"):
                reason = raws[name].get(kind)
                if reason and reason not in done:
                    print(f"reproduce: {table.name}: {name}: {kind}: {reason}", file=sys.stderr)
                done.add(reason)
        write(runs.out)
        print(f"reproduce: {table.name} done", file=sys.stderr)


def failures(raws):
    """Yield the parts that failed, and failed rows of other parts."""
    for name, raw in raws.items():
        if raw and "failed" in raw:
            yield name
        found = raw.get("results") if raw else None
        for one in found if isinstance(found, list) else []:
            if isinstance(one, dict) and "failed" in one:
                yield f"{name}, {one['method']}"


def main():
    args = options()
    if args.list:
        return listed()
    if not os.path.exists(paper_runs.RILL):
        sys.exit("reproduce: build first: ./dev build")
    tables = [table for table in TABLES if not args.table or table.name in args.table]
    os.makedirs(args.out, exist_ok=True)
    runs = paper_runs.Runs(args.out, args.data, args.models, args.wmt19, args.runs, args.lines)
    raws = {name: runs.kept(name) for table in TABLES for name in table.parts}
    try:
        measure(runs, tables, raws)
    except KeyboardInterrupt:
        write(args.out)
        print(f"\nreproduce: interrupted; {args.out} keeps what was measured, and the same command goes on there", file=sys.stderr)
        return 130
    shown = [table.name for table in tables]
    print(paper_page.text_of([table for table in TABLES if table.name in shown], raws))
    failed = sorted(set(failures({name: raws[name] for table in tables for name in table.parts})))
    print(f"reproduce: {os.path.join(args.out, 'report.html')}" + "".join(f"\nreproduce: failed: {name}" for name in failed),
          file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
