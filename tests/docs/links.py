#!/usr/bin/env python3
"""Every link of a page leads to an existing file and heading; every page under docs/ that a source names exists; every page under
docs/ is reachable from docs/README.md.

usage: links.py ROOT
"""
import os
import re
import sys

ROOT = sys.argv[1]
PAGE = re.compile(r"docs/[a-z0-9_/-]+\.(?:md|svg)")


def files():
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [d for d in folders if not d.startswith((".", "build")) and os.path.join(folder, d) != os.path.join(ROOT, "shared")]
        for name in names:
            yield os.path.relpath(os.path.join(folder, name), ROOT)


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def prose(text):
    """Return the text without its code."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    return re.sub(r"`[^`\n]*`", "", text)


def anchors(name):
    """Return the anchors that GitHub makes from headings: lower case, hyphens for spaces, other punctuation removed."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", read(name), flags=re.S | re.M), re.M)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


def links(name):
    """Return the links of a page to files of the repository, as (target as written, path, anchor)."""
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(read(name))):
        if not re.match(r"[a-z]+:", target):
            path, _, anchor = target.partition("#")
            yield target, os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name, anchor


def broken(pages, names):
    for page in pages:
        for target, path, anchor in links(page):
            if not os.path.exists(os.path.join(ROOT, path)):
                yield f"{page}: {target}: no such file"
            elif anchor and path.endswith(".md") and anchor not in anchors(path):
                yield f"{page}: {target}: {path} has no such heading"
    for name in names:
        if name.endswith((".c", ".h", ".py", ".sh", ".lua", ".md", ".build", ".tsv")):
            for path in sorted(set(PAGE.findall(read(name)))):
                if not os.path.exists(os.path.join(ROOT, path)) and not os.path.exists(os.path.join(ROOT, os.path.dirname(name), path)):
                    yield f"{name}: {path}: no such page"


def unreached(pages):
    seen, next_ones = set(), ["docs/README.md"]
    while next_ones:
        page = next_ones.pop()
        if page not in seen and page in pages:
            seen.add(page)
            next_ones += [path for _, path, _ in links(page)]
    return [f"{page}: no way leads here from docs/README.md" for page in pages if page.startswith("docs/") and page not in seen]


def main():
    names = sorted(files())
    pages = [n for n in names if n.endswith(".md")]
    found = [*broken(pages, names), *unreached(pages)]
    print(*found, f"{len(pages)} pages, {len(found)} findings", sep="\n")
    sys.exit(1 if found else 0)


main()
