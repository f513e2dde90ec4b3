#!/usr/bin/env python3
"""Add up what `./dev test` ran: one row per build directory, then `N passed, N failed` alone on the last line.

usage: tally.py BUILD_DIRECTORY...

`./dev test` leaves tally.txt in each directory (part, directory, state, seconds, tests listed), and Meson leaves its log, with one
JSON object per line. Three cases count as failed although no line says so: a build that broke, a listed test without a line, and a
run with a bad exit code whose lines are all good.
"""

import json
import os
import sys

PASSED = {"OK", "EXPECTEDFAIL"}
SKIPPED = {"SKIP"}


def read_log(path):
    """Return (passed, failed names, skipped names)."""
    passed, failed, skipped = 0, [], []
    try:
        with open(path, encoding="utf-8", errors="replace") as log:
            for line in log:
                try:
                    entry = json.loads(line)
                except ValueError:
                    failed.append("an unreadable line of " + path)
                    continue
                result, name = entry.get("result", "?"), entry.get("name", "?")
                if result in PASSED:
                    passed += 1
                elif result in SKIPPED:
                    skipped.append(name)
                else:
                    failed.append("%s (%s)" % (name, result.lower()))
    except OSError:
        pass
    return passed, failed, skipped


def main(directories):
    total_passed, all_failed, all_skipped, rows = 0, [], [], []
    for directory in directories:
        part, state, seconds, listed = directory, "broken", "0", "0"
        try:
            with open(os.path.join(directory, "tally.txt"), encoding="utf-8") as tally:
                part, _, state, seconds, listed = tally.read().split()
        except (OSError, ValueError):
            pass
        passed, failed, skipped = read_log(os.path.join(directory, "meson-logs", "dev.json"))
        if state == "broken":
            failed.append("the build in " + directory)
        else:
            lost = int(listed) - passed - len(failed) - len(skipped)
            failed += ["a test that left no result in " + directory] * max(lost, 0)
            if state == "failed" and not failed:
                failed.append("the run in " + directory)
            if not passed and not failed:
                failed.append("no test passed in " + directory)
        rows.append((part, passed, len(failed), len(skipped), seconds))
        total_passed += passed
        all_failed += ["%s: %s" % (part, name) for name in failed]
        all_skipped += ["%s: %s" % (part, name) for name in skipped]

    print()
    for name in all_skipped:
        print("skipped  " + name)
    for name in all_failed:
        print("FAILED   " + name)
    print("%-20s %8s %8s %8s %8s" % ("part", "passed", "failed", "skipped", "seconds"))
    for row in rows:
        print("%-20s %8s %8s %8s %8s" % row)
    print()
    last = "%d passed, %d failed" % (total_passed, len(all_failed))
    if all_skipped:
        last += ", %d skipped" % len(all_skipped)
    print(last)
    return 1 if all_failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
