#!/usr/bin/env python3
"""The documentation as a site. It builds, and all links lead to existing pages and headings. Pages request nothing from other hosts,
and fit on a phone.

usage: test_site.py ROOT RILL

Exits with 77 without MkDocs, and without RILL_TEST_LONG, which `./dev test --long` sets.
"""
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse
from html.parser import HTMLParser

# attributes whose address a browser loads without a click; href is one only in <link>
REQUESTS = {"src", "srcset", "data", "poster", "action"}


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.requests = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id":
                self.ids.add(value)
            elif name == "href" and tag == "a":
                self.links.append(value)
            elif name in REQUESTS or (name == "href" and tag == "link" and ("rel", "canonical") not in attributes):
                self.requests.append(value or "")


def broken(site, pages):
    """Return what is wrong with the links and requests of a site, one line each."""
    for path, page in pages.items():
        for target in page.links + page.requests:
            there = urllib.parse.urlsplit(target)
            if there.scheme or there.netloc:
                if target in page.requests and there.scheme != "data":
                    yield f"{path}: requests {target}"
                continue
            file = (path.parent / urllib.parse.unquote(there.path)).resolve() if there.path else path
            if not file.is_file():
                yield f"{path}: {target}: no such file"
            elif there.fragment and file in pages and urllib.parse.unquote(there.fragment) not in pages[file].ids:
                yield f"{path}: {target}: no such heading"
    for path in site.rglob("*.css"):
        for url in re.findall(r"(?:url\(|@import\s*)[\"' ]*((?:https?:)?//[^\"')\s]+)", path.read_text(encoding="utf-8")):
            yield f"{path}: requests {url}"


def too_wide(site, pages):
    """Return the pages that a phone would have to scroll sideways, measured with Chromium; without Chromium, none."""
    chromium = shutil.which("chromium")
    for path in pages if chromium else ():
        measure = "<script>document.body.style.width = '360px'; document.title = document.body.scrollWidth + ' of 360'</script>"
        copy = (site / path).with_name("width.html")
        copy.write_text((site / path).read_text(encoding="utf-8").replace("</body>", measure + "</body>"), encoding="utf-8")
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--window-size=500,800", "--dump-dom"]
        ran = subprocess.run([chromium, *options, copy.as_uri()], capture_output=True, text=True, check=True)
        copy.unlink()
        found = re.search(r"<title>(\d+) of 360</title>", ran.stdout)
        if found is None or int(found[1]) > 360:
            yield f"{path}: {found and found[1]} pixels wide on a phone that has 360"


def undocumented(root, site, pages):
    """Return the header functions, names of the Python package and options that the reference lacks."""
    for header in sorted((root / "framework/include/rill").glob("*.h")):
        code = re.sub(r"/\*.*?\*/", "", header.read_text(encoding="utf-8"), flags=re.S)
        ids = pages[site / f"{header.relative_to(root)}.html"].ids
        yield from (f"{header.name}: {name}" for name in re.findall(r"RILL_API [^;{]*?\b(rill_\w+)\(", code) if name not in ids)
    module = (root / "python/rill/__init__.py").read_text(encoding="utf-8")
    names = re.findall(r'"(\w+)"', module[module.index("__all__ = [") :].partition("]")[0])
    ids = pages[site / "docs/reference/python.html"].ids
    aliases = {"Heuristic", "Scheduler", "Scorer", "Trace"}  # aliases of types
    yield from (f"rill.{name}" for name in names if name.lower() not in ids and not name.endswith("Settings") and name not in aliases)
    table = (site / "docs/reference/options.html").read_text(encoding="utf-8")
    settings = (root / "python/rill/settings.py").read_text(encoding="utf-8")
    options = {name.replace("_", "-") for name in re.findall(r"^    (\w+): ", settings, re.M)}
    yield from (f"option {name}" for name in sorted(options) if f"<code>{name}</code>" not in table)


def main():
    root, rill = sys.argv[1:]
    if not os.environ.get("RILL_TEST_LONG"):
        print("skipped: it belongs to the long run: RILL_TEST_LONG is not set")
        sys.exit(77)
    if importlib.util.find_spec("mkdocs") is None:
        print("skipped: MkDocs is not installed")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        site = pathlib.Path(name, "site").resolve()
        subprocess.run([sys.executable, pathlib.Path(root, "tools/docs_site.py"), rill, site], check=True)
        pages = {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
        found = [line.replace(f"{site}/", "") for line in broken(site, pages)]
        found += [f"the reference lacks {name}" for name in undocumented(pathlib.Path(root).resolve(), site, pages)]
        if not {"rill-decode", "rill-serve", "rill-convert"} <= pages[site / "docs/reference/command.html"].ids:
            found.append("the reference lacks commands")
        wide = ["index.html", "docs/reference/options.html", "docs/renamed.html", "docs/measurements/translation.html"]
        found += too_wide(site, [*wide, "framework/include/rill/engine.h.html", "docs/guides/python.html"])
        print(*found, f"{len(pages)} pages, {len(found)} findings", sep="\n")
        sys.exit(1 if found or len(pages) < 90 else 0)


if __name__ == "__main__":
    main()
