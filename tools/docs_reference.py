"""Markdown of the reference: C headers, the Python package's docstrings, the table of options, the help of the commands.

header() reads the comments and declarations of a header. package() reads the sources of the package, without importing it.
options() reads the types that tools/python_settings.py wrote from the option tables. commands() runs the command.
"""

import ast
import inspect
import itertools
import re
import subprocess

NAME = re.compile(
    r"^#define (\w+)|^(?:typedef )?(?:struct|enum|union) (\w+) \{|^\} (\w+);"  # macros; structs, enums and unions with members
    r"|^typedef .*\(\*(\w+)\)|^typedef [^{;]* \*?(\w+);|\b(rill_\w+)\(",  # other types; functions
    re.M,
)
NO_DECLARATION = re.compile(r"#ifndef \w+_H\n#define \w+_H|#endif\b.*|#include .*|RILL_C_(BEGIN|END)|#ifdef __cplusplus|extern \"C\".*")


def plain(text):
    """Escape a text, so that Markdown shows it unchanged."""
    return re.sub(r"([\\*_<>\[\]#|`])", r"\\\1", text)


def prose(comment):
    """Yield the paragraphs of a C comment. Indented lines and lines in columns become code blocks."""
    lines = [re.sub(r"^ ?\*? ?", "", line) if i else line for i, line in enumerate(comment.strip()[2:-2].strip().split("\n"))]
    for as_it_stands, run in itertools.groupby(lines, lambda line: bool(re.match(r"  +\S|.*\S {3,}\S", line))):
        text = "\n".join(run)
        if as_it_stands:
            yield f"```text\n{text}\n```"
        else:  # a line such as "Threads: ..." begins a paragraph
            yield "\n\n".join(plain(one.strip()) for one in re.split(r"\n\s*\n|(?<=[.:])\n(?=[A-Z][a-z ]*: )", text) if one.strip())


def declarations(body):
    """Split a header at the blank lines outside of braces and comments: (comment, code) of each part."""
    part, depth, inside = [], 0, False
    for line in [*body.split("\n"), ""]:
        if line or depth or inside:
            part.append(line)
        elif part:
            comment, code = re.match(r"(/\*.*?\*/\n?)?(.*)", "\n".join(part), re.S).groups()
            yield comment, code
            part = []
        inside = line.rfind("/*") > line.rfind("*/") or (inside and "*/" not in line)
        depth += line.count("{") - line.count("}")


def header(text):
    """Return the page of a header."""
    opening, body = re.match(r"(/\*.*?\*/)(.*)", text, re.S).groups()
    yield from prose(opening)
    for comment, code in declarations(body):
        code = "\n".join(line for line in code.split("\n") if not NO_DECLARATION.fullmatch(line)).strip()
        if NO_DECLARATION.fullmatch(code):
            continue
        if section := re.fullmatch(r"/\* --- (.*?) -*\s*\*/", (comment or "").strip()):
            yield f"## {plain(section[1])}"
            comment = None
        names = [next(filter(None, found)) for found in NAME.findall(re.sub(r"/\*.*?\*/", "", code, flags=re.S))]
        names = list(dict.fromkeys(names))
        if len(names) > 1:
            yield "".join(f'<span id="{name}"></span>' for name in names)
        if names:
            yield "### " + ", ".join(f"`{name}`" for name in names[:4]) + (" …" if len(names) > 4 else "")
        yield from prose(comment) if comment else ()
        if code:
            yield f"```c\n{code}\n```"


# --- Python -----------------------------------------------------------------------------------------------------------


def docstring(node):
    """Return the docstring of a node: its paragraphs, and its Args, Returns and Raises as lists."""
    yield "\n\n".join(docstring_parts(node)).replace("\n```\n\n```python\n", "\n\n")  # joins a code example with a blank line in it


def docstring_parts(node):
    for paragraph in (ast.get_docstring(node) or "").split("\n\n"):
        title, _, rest = paragraph.partition("\n")
        if title not in ("Args:", "Attributes:", "Returns:", "Raises:"):
            yield f"```python\n{inspect.cleandoc(paragraph)}\n```" if paragraph.startswith("    ") else plain(paragraph)
            continue
        yield f"**{title}**"
        entries = re.split(r"\n(?! )", inspect.cleandoc(rest))
        yield "\n".join("- " + re.sub(r"^([\w, \\]+)(?=: )", r"**\1**", plain(re.sub(r"\s*\n\s*", " ", entry))) for entry in entries)


def signature(node, name):
    arguments = ast.unparse(node.args)
    for first in ("self, ", "cls, ", "self", "cls"):
        arguments = arguments.removeprefix(first)
    returns = f" -> {ast.unparse(node.returns)}" if node.returns and name[0] != "_" else ""
    one_line = f"{name}({arguments}){returns}"
    return one_line if len(one_line) < 90 else f"{name}(\n    " + ",\n    ".join(ast.unparse(node.args).split(", ")) + f"\n){returns}"


def documented(node, name, level):
    """Return the section of a function or a class, with its public methods and properties."""
    yield f"{'#' * level} `{name}`"
    if isinstance(node, ast.FunctionDef):
        if not any(ast.unparse(one) == "property" for one in node.decorator_list):
            yield f"```python\n{signature(node, name)}\n```"
        yield from docstring(node)
        return
    yield from docstring(node)
    for member in node.body:
        if isinstance(member, ast.FunctionDef) and member.name == "__init__" and member.args.args[1:] + member.args.kwonlyargs:
            yield f"```python\n{signature(member, name)}\n```"
            yield from docstring(member)
        elif isinstance(member, ast.FunctionDef) and member.name[0] != "_" and ast.get_docstring(member):
            yield from documented(member, f"{name}.{member.name}", level + 1)


def package(*paths):
    """Return the page of a module: the names in __all__ of the first file, found in all files."""
    found, wanted = {}, []
    for path in paths:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in tree.body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                found.setdefault(node.name, node)
        if path == paths[0]:
            wanted = next(ast.literal_eval(node.value) for node in tree.body if ast.unparse(node).startswith("__all__ ="))
            yield from docstring(tree)
    for name in wanted:
        if name in found and not name.endswith("Settings"):
            yield from documented(found[name], name, 2)


# --- options ----------------------------------------------------------------------------------------------------------

KINDS = {
    "RequestSettings": "Of one input",
    "Settings": "Of a run",
    "ModelSettings": "Of opening a model",
}


def values(annotation):
    """Return the values that an option's type allows."""
    words = ast.unparse(annotation).removesuffix(" | None")
    if words.startswith("Literal["):
        return ", ".join(f"`{word}`" for word in ast.literal_eval(f"[{words[8:-1]}]"))
    types = {"int": "whole number", "float": "number", "bool": "switch", "int | str": "size", "str": "text"}
    return types.get(words, "path" if "PathLike" in words else "name, function or list of them")


def options(settings):
    """Return the page of the options, from the file settings.py."""
    for table in ast.parse(settings).body:
        if not isinstance(table, ast.ClassDef):
            continue
        yield f"## {KINDS[table.name]}"
        rows = {}
        for field, text in zip(table.body, table.body[1:]):
            if isinstance(field, ast.AnnAssign):
                name, help = field.target.id.replace("_", "-"), text.value.value
                if same := re.fullmatch(r"The same as (\w+)\.", help):
                    # an alias of an argument, not of a setting
                    model = ([], "`rill.Model()` and the options of its domain describe it", "")
                    rows.setdefault(same[1].replace("_", "-"), model)[0].append(f"`{name}`")
                else:
                    rows[name] = ([], values(field.annotation), plain(re.sub(r"\s+", " ", help)))
        lines = [
            f"| `{name}` | {help} {kind[0].upper() + kind[1:]}." + (f" Also {', '.join(also)}." if also else "") + " |"
            for name, (also, kind, help) in rows.items()
        ]
        yield "\n".join(["| option | meaning and values |", "| --- | --- |", *lines])


def commands(rill):
    """Return the page with the help of each command."""

    def help(*words):
        return subprocess.run([rill, *words, "--help"], capture_output=True, text=True, check=True).stdout.rstrip()

    yield f"```text\n{help()}\n```"
    for name in re.findall(r"^  ([a-z]+) +\S", help().partition("Commands:\n")[2].partition("\n\n")[0], re.M):
        yield f"## rill {name}"
        yield f"```text\n{help(name)}\n```"
