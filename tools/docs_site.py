#!/usr/bin/env python3
"""Build the documentation as a static site with MkDocs: docs/, README.md and the other pages, and the reference that is made from sources.

usage: docs_site.py RILL OUTPUT    RILL: the command, for its help; OUTPUT: the folder of the site, which is replaced

MkDocs reads a copy of the pages in the same folders, so that links need no change. A file that is no page, and that a page links to,
becomes a page with its text. The order of the pages is that of docs/README.md. MkDocs calls on_config() of this file, too.
"""

import importlib.util
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import docs_reference  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[1]
PICTURES = {".svg", ".png"}
# The site has its own theme: MkDocs' themes need fonts and jQuery, which Debian 12's package lacks in part.
THEME = {
    "name": None,
    "custom_dir": str(ROOT / "tools" / "docs_theme"),
    "static_templates": ["search.html"],
    "include_search_page": True,
    "search_index_only": False,
}
PROJECT = {"Changes": "CHANGELOG.md", "Contributing": "CONTRIBUTING.md", "Security": "SECURITY.md", "Examples": "examples/README.md"}


def slug(heading, separator):
    """Return the anchor of a heading as GitHub makes it; tests/docs/links.py has the same rule."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", separator)


def on_config(config):
    """Called by MkDocs: set the function that makes anchors, which mkdocs.yml cannot name."""
    config["mdx_configs"]["toc"]["slugify"] = slug
    return config


def links(text):
    """Return the files that a page links to, outside of code."""
    text = re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.S | re.M)
    return {target for target in re.findall(r"\]\(([^)\s#]+)", text) if not re.match(r"[a-z]+:", target)}


def title_of(page, text):
    found = re.search(r"^# (.*)$", text, re.M)
    return found[1].replace("`", "") if found else page


class Site:
    """The pages of the site: path below the root -> text."""

    def __init__(self, rill):
        self.pages, self.pictures, self.files = {}, set(), set()  # files: files that are no Markdown and get a page with their text
        python = ROOT / "python/rill"
        reference = {
            "command.md": ("The command", docs_reference.commands(rill)),
            "options.md": ("Options", docs_reference.options((python / "settings.py").read_text())),
            "python.md": ("The Python package", docs_reference.package(*sorted(python.glob("*.py")))),
            "ctranslate2.md": ("rill.compat.ctranslate2", docs_reference.package(*sorted(python.glob("compat/ct*.py"), reverse=True))),
            "transformers.md": ("rill.compat.transformers", docs_reference.package(python / "compat/transformers.py")),
        }
        for path, (title, parts) in reference.items():
            self.pages[f"docs/reference/{path}"] = "\n\n".join([f"# {title}", *parts])
        for path in sorted((ROOT / "framework/include/rill").glob("*.h")):
            self.add(str(path.relative_to(ROOT)))
        for path in ["README.md", "docs/README.md", *PROJECT.values()]:
            self.add(path)

    def add(self, path):
        """Add a file and the files that it links to. Return the path of its page."""
        file = ROOT / path
        if file.suffix in PICTURES:
            self.pictures.add(path)
            return path
        page = path if file.suffix == ".md" else f"{path}.md"
        if page in self.pages:
            return page
        text = file.read_text(encoding="utf-8")
        if file.suffix == ".md":
            self.pages[page] = text
            for target in links(text):
                there = (file.parent / target).resolve().relative_to(ROOT).as_posix()
                moved = self.add(there) != there
                if moved:
                    self.pages[page] = self.pages[page].replace(f"]({target}", f"]({target}.md")
        elif path.startswith("framework/include/"):
            self.pages[page] = "\n\n".join([f"# rill/{file.name}", *docs_reference.header(text)])
        else:
            self.files.add(page)
            self.pages[page] = f"# {path}\n\n````{file.suffix[1:]}\n{text}\n````"
        return page

    def listed(self, text, folder):
        """Return the pages that a text links to, by their titles."""
        paths = [(pathlib.Path(folder) / target).as_posix() for target in re.findall(r"^(?:- |\| ).*?\]\(([^)#\s]+)", text, re.M)]
        paths = list(dict.fromkeys(path for path in paths if path in self.pages and path not in self.files))
        return [{title_of(path, self.pages[path]): path} for path in paths]

    def nav(self):
        """Return the tree of pages: the parts of docs/README.md with the pages that they list."""
        parts = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", self.pages["docs/README.md"], re.S | re.M))
        headers = [{path.rpartition("/")[2].removesuffix(".md"): path} for path in self.pages if path.startswith("framework/include/")]
        made = [{title_of(path, text): path} for path, text in self.pages.items() if path.startswith("docs/reference/")]
        tree = [{"rill": "README.md"}, {"Documentation": "docs/README.md"}]
        for title, text in parts.items():
            pages = self.listed(text, "docs")
            if title == "Reference":
                pages = made + pages + [{"C headers": headers}]
            elif title == "Measurements":
                index = "docs/measurements/README.md"
                pages = [{"Overview": index}, *self.listed(self.pages[index], "docs/measurements")]
            if pages:
                tree.append({title: pages})
        return [*tree, {"Project": [{title: path} for title, path in PROJECT.items()]}]

    def write(self, folder):
        for path, text in self.pages.items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        for path in self.pictures:
            shutil.copyfile(ROOT / path, folder / path)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    if importlib.util.find_spec("mkdocs") is None:
        sys.exit(f"docs_site.py: {sys.executable} has no MkDocs: install the package mkdocs of Debian or PyPI")
    site, output = Site(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        site.write(folder / "pages")
        config = {
            "site_name": "rill",
            "docs_dir": "pages",
            "site_dir": str(output),
            "use_directory_urls": False,
            "nav": site.nav(),
            "theme": THEME,
            "plugins": ["search"],
            "markdown_extensions": [{"toc": {"permalink": False}}, "tables", "fenced_code"],
            "hooks": [__file__],
        }
        (folder / "mkdocs.yml").write_text(json.dumps(config))  # MkDocs reads YAML, and JSON is YAML
        status = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--config-file", folder / "mkdocs.yml"])
    sys.exit(status.returncode)


if __name__ == "__main__":
    main()
