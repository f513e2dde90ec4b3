"""Numbers of pages follow their raw files. A changed raw figure, a changed number on a page and a missing table must be found.

usage: test_page_numbers.py ROOT"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = sys.argv[1]
# The minimum of numbers per page that a rule checks against raw files. If there are fewer, a rule was lost; a new rule raises the minimum.
LEAST = {"README.md": 48, "docs/mt.md": 38, "docs/measurements/engine.md": 43, "docs/measurements/kernels.md": 64,
         "docs/measurements/parsing.md": 118, "docs/measurements/scripting.md": 15, "docs/measurements/search.md": 363,
         "docs/measurements/semantic-parsing.md": 100, "docs/measurements/serving.md": 50, "docs/measurements/translation.md": 221,
         "docs/measurements/workers.md": 20}
PAGE, RAW = "docs/measurements/semantic-parsing.md", "bench/results/semparse-geo-1t.json"


def figures(folder, *arguments):
    done = subprocess.run([sys.executable, os.path.join(folder, "tools", "figures.py"), *arguments], capture_output=True, text=True,
                          check=False)
    return done.returncode, done.stdout + done.stderr


def change(path, old, new):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    assert old in text, (path, old)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(old, new))


def row(path, start):
    with open(path, encoding="utf-8") as file:
        return next(line for line in file if line.startswith(start))


with tempfile.TemporaryDirectory() as work:
    for part in ("tools", "docs", "bench"):
        shutil.copytree(os.path.join(ROOT, part), os.path.join(work, part), ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(os.path.join(ROOT, "README.md"), work)
    page, raw = os.path.join(work, PAGE), os.path.join(work, RAW)
    code, said = figures(work, "--check")
    counts = {name: int(count) for name, count in re.findall(r"^(\S+): (\d+) of \d+ numbers", said, flags=re.M)}
    assert code == 0 and {name: counts.get(name, 0) for name in LEAST if counts.get(name, 0) < LEAST[name]} == {}, said

    before = row(page, "| var-batch |")
    change(page, before, before.replace("21079", "21080"))
    code, said = figures(work, "--check")
    assert code == 1 and PAGE in said and "README.md" not in said.splitlines()[-1], said
    assert figures(work)[0] == 0 and row(page, "| var-batch |") == before

    change(raw, '"expansions": 21079', '"expansions": 21555')
    assert figures(work, "--check")[0] == 1 and row(page, "| var-batch |") == before, "--check writes nothing"
    assert figures(work)[0] == 0 and "| 21555 |" in row(page, "| var-batch |") and "21,555" in row(page, "| expansions (pruned methods)")
    assert figures(work, "--check")[0] == 0

    change(page, "| method | exact %", "| way | exact %")
    code, said = figures(work, "--check")
    assert code == 1 and "does not fit" in said and PAGE in said, said
