#!/usr/bin/env python3
"""Rename what C sources declare, by a table, and nothing else: every mention that the compiler resolves to the declaration.

usage: rename.py list BUILD [PATH...]            what files under PATH declare: a line "KIND<TAB>OWNER<TAB>NAME<TAB>FILE:LINE<TAB>MENTIONS"
       rename.py apply BUILD TABLE... [--dry]    rename in the sources, and move files

BUILD: a build folder with compile_commands.json. Needs clang, and the package libclang of PyPI
in the version of clang (libclang==14.*), whose headers it reads.

A table has rows of cells with tabs between them; lines that begin with # are comments:
  KIND  OWNER  OLD  NEW
KIND is file (OLD and NEW are paths), or what `list` prints: function, type, field, constant, global, macro, local. OWNER is the struct of
a field and PATH:FUNCTION of a local or a parameter, and of others "-" or the beginning of a path; "*": whoever has one of that name;
PATH:*: all functions of the file; PATH:STRUCT: a struct of that file. Declarations are renamed wherever they are mentioned: in sources
that the build compiles by what the compiler says; in macros, in sources that it does not compile (kernels of other processors) and in
comments by name, where the name has a capital, a digit or an underscore in it, since such a name is no word of a text.
Names in strings, in documents and in other languages are not touched. It stops where a new name is taken already.
"""

import argparse
import collections
import json
import os
import re
import shlex
import subprocess
import sys

from clang import cindex
from clang.cindex import CursorKind as K

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KINDS = {K.FUNCTION_DECL: "function", K.STRUCT_DECL: "type", K.UNION_DECL: "type", K.ENUM_DECL: "type", K.TYPEDEF_DECL: "type",
         K.FIELD_DECL: "field", K.ENUM_CONSTANT_DECL: "constant", K.VAR_DECL: "local", K.PARM_DECL: "local", K.MACRO_DEFINITION: "macro"}
MENTIONS = {K.DECL_REF_EXPR, K.MEMBER_REF_EXPR, K.MEMBER_REF, K.TYPE_REF, K.MACRO_INSTANTIATION}

file_location = cindex.conf.lib.clang_getFileLocation
file_location.argtypes = [cindex.SourceLocation, cindex.POINTER(cindex.c_object_p), cindex.POINTER(cindex.c_uint),
                          cindex.POINTER(cindex.c_uint), cindex.POINTER(cindex.c_uint)]
file_location.restype = None
_paths = {}


def place(cursor):
    """Return (path in the tree, offset) of a cursor; within a macro's argument, the position there. None: the file is not in the tree."""
    handle, line, column, offset = cindex.c_object_p(), cindex.c_uint(), cindex.c_uint(), cindex.c_uint()
    file_location(cursor.location, handle, line, column, offset)
    if not handle:
        return None
    key = cindex.cast(handle, cindex.c_void_p).value
    name = _paths.get(key)
    if name is None:
        real = os.path.realpath(cindex.File(handle).name)
        name = os.path.relpath(real, ROOT) if real.startswith(ROOT + os.sep) else ""
        if name.startswith(("build", "..")):
            name = ""
        _paths[key] = name
    return (name, offset.value, line.value) if name else None


class Index:
    """All declarations by their USR, and all mentions: (path, offset) -> USR."""

    def __init__(self, build):
        self.declared, self.mentions, self.includes, self.walked, self.problems = {}, {}, {}, set(), []
        index = cindex.Index.create()
        headers = subprocess.run(["clang", "-print-resource-dir"], check=True, capture_output=True, text=True).stdout.strip() + "/include"
        commands = json.load(open(os.path.join(build, "compile_commands.json"), encoding="utf-8"))
        self.compiled = set()
        for i, command in enumerate(commands):
            path = os.path.realpath(os.path.join(command["directory"], command["file"]))
            name = os.path.relpath(path, ROOT)
            if not path.endswith(".c") or name in self.compiled or name.startswith("build"):
                continue
            self.compiled.add(name)
            arguments = [word for word in shlex.split(command["command"]) if word.startswith(("-I", "-D", "-std", "-m"))]
            arguments += ["-isystem", headers]
            os.chdir(command["directory"])
            unit = index.parse(path, args=arguments, options=cindex.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD)
            bad = [d for d in unit.diagnostics if d.severity >= cindex.Diagnostic.Error]
            if bad:
                self.problems.append(f"{name}: {bad[0].spelling}: what is wrong there is not renamed")
            self.walk(unit)
        os.chdir(ROOT)

    def walk(self, unit):
        _paths.clear()  # handles of files are only valid within their translation unit
        new = set()
        for top in unit.cursor.get_children():
            at = place(top)
            if at is None or at[0] in self.walked:
                continue
            new.add(at[0])
            if top.kind == K.INCLUSION_DIRECTIVE and top.get_included_file():
                included = os.path.realpath(top.get_included_file().name)
                self.includes[(at[0], top.displayname)] = os.path.relpath(included, ROOT)
            self.visit(top, None)
        self.walked |= new

    @staticmethod
    def identity(cursor, at):
        """Return a declaration's identity; for a name without external linkage it includes the file."""
        usr = cursor.get_usr()
        external = cursor.linkage == cindex.LinkageKind.EXTERNAL and cursor.kind in (K.FUNCTION_DECL, K.VAR_DECL)
        if external and usr:
            return usr
        if cursor.kind == K.FUNCTION_DECL or (cursor.kind == K.VAR_DECL and cursor.semantic_parent.kind == K.TRANSLATION_UNIT):
            return f"{at[0]}:{cursor.spelling}"
        return f"{at[0]}@{at[1]}"

    def note(self, cursor, owner):
        kind = KINDS[cursor.kind]
        at = place(cursor)
        if at is None or not cursor.spelling or "(" in cursor.spelling:
            return
        usr = self.identity(cursor, at)
        if kind == "local":
            parent = cursor.semantic_parent
            if cursor.kind == K.VAR_DECL and parent is not None and parent.kind == K.TRANSLATION_UNIT:
                kind, who = "global", "-"
            else:
                who = f"{at[0]}:{owner}"
        elif kind == "field":
            who = (cursor.semantic_parent.spelling or cursor.semantic_parent.type.spelling).replace(ROOT + os.sep, "")
        else:
            who = "-"
        self.declared.setdefault(usr, (kind, who, cursor.spelling, at[0], at[2]))
        self.mentions.setdefault(at[:2], usr)

    def visit(self, cursor, owner):
        if cursor.kind in KINDS:
            self.note(cursor, owner)
        if cursor.kind == K.FUNCTION_DECL:
            owner = cursor.spelling
        elif cursor.kind in MENTIONS:
            target, at = cursor.referenced, place(cursor)
            if target is not None and at is not None:
                where = place(target)
                # the first mention at a place stays: a macro comes before its expansion, which has the position of its name
                if where is not None:
                    self.mentions.setdefault(at[:2], self.identity(target, where))
        for child in cursor.get_children():
            self.visit(child, owner)


def listed(index, paths):
    counts = collections.Counter(index.mentions.values())
    for usr, (kind, owner, name, path, line) in sorted(index.declared.items(), key=lambda item: item[1][3:]):
        if not paths or path.startswith(tuple(paths)):
            print(kind, owner, name, f"{path}:{line}", counts[usr], sep="\t")


def read_tables(paths):
    for path in paths:
        for number, line in enumerate(open(path, encoding="utf-8"), 1):
            cells = line.rstrip("\n").split("\t")
            if line.strip() and not line.startswith("#"):
                if len(cells) != 4:
                    raise SystemExit(f"rename: {path}:{number}: four cells, not {len(cells)}")
                yield (path, number, *(cell.strip() for cell in cells))


def matches(row_owner, owner, path):
    if row_owner in ("*", "-", owner):
        return True
    if row_owner == f"{path}:{owner}":
        return True
    if owner == "-":
        return path.startswith(row_owner)
    return row_owner.endswith(":*") and owner.startswith(row_owner[:-1])


def is_distinctive(name):
    return re.search(r"[A-Z0-9_]", name) is not None


def wanted(index, rows):
    """Return {USR: new name}, and the (old, new) names that are also replaced in text."""
    by_name = collections.defaultdict(list)
    for usr, entry in index.declared.items():
        by_name[entry[2]].append((usr, entry))
    new_names, by_text, problems = {}, {}, []
    for path, number, kind, owner, old, new in rows:
        found = [usr for usr, entry in by_name[old] if entry[0] == kind and matches(owner, entry[1], entry[3])]
        if not found:
            problems.append(f"{path}:{number}: nothing that is declared is a {kind} {owner} {old}")
        for usr in found:
            new_names[usr] = new
        if kind != "local" and is_distinctive(old) and len({entry[2] for _, entry in by_name[old]}) == 1:
            by_text[old] = new
    for old in list(by_text):
        if {new_names.get(usr) for usr, entry in by_name[old] if entry[0] != "local"} != {by_text[old]}:
            del by_text[old]
    return new_names, by_text, problems


def taken(index, new_names):
    """Return the new names that another declaration in the same place has already."""
    kept = collections.defaultdict(set)
    for usr, (kind, owner, name, path, _) in index.declared.items():
        now = new_names.get(usr, name)
        place_of = owner if kind in ("field", "local") else "global"
        kept[(place_of, now, kind if kind in ("field", "local", "type") else "name")].add((name, usr in new_names, path))
    for (owner, name, kind), those in kept.items():
        if kind == "local" or len({old for old, *_ in those}) < 2 or not any(renamed for _, renamed, _ in those):
            continue
        yield f"{name}: {kind} of {owner} twice: {sorted({path for *_, path in those})}"


TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|[A-Za-z_]\w*', re.S)


def of_file(path, index, new_names):
    """Return {old: new} of names that a file declares, and that its macros may mention."""
    return {entry[2]: new_names[usr] for usr, entry in index.declared.items()
            if usr in new_names and entry[3] == path and entry[0] in ("function", "global", "constant", "macro")}


def rewrite(path, index, new_names, by_text):
    with open(os.path.join(ROOT, path), encoding="utf-8", newline="") as file:
        text = file.read()
    raw = text.encode("utf-8")
    ascii_only = len(raw) == len(text)

    def byte_at(i):
        return i if ascii_only else len(text[:i].encode("utf-8"))

    def is_directive(i):
        begin = text.rfind("\n", 0, i) + 1
        while begin > 1 and text[begin - 2] == "\\":
            begin = text.rfind("\n", 0, begin - 1) + 1
        return text[begin:i].lstrip().startswith("#")

    own = of_file(path, index, new_names)

    def change(match):
        token = match.group(0)
        if token.startswith(("//", "/*")):
            return re.sub(r"[A-Za-z_]\w*", lambda m: by_text.get(m.group(0), m.group(0)), token)
        if token[0] in "\"'":
            return token
        usr = index.mentions.get((path, byte_at(match.start())))
        if usr is not None:
            entry = index.declared.get(usr)
            if usr in new_names and entry and entry[2] == token:
                return new_names[usr]
            return token
        if path in index.walked and not is_directive(match.start()):
            return token
        return own.get(token, by_text.get(token, token))

    changed = TOKEN.sub(change, text)
    return changed if changed != text else None


def sources():
    for path in subprocess.run(["git", "-C", ROOT, "ls-files"], check=True, capture_output=True, text=True).stdout.split("\n"):
        if path.endswith((".c", ".h", ".cc", ".cu", ".cuh")):
            yield path


def apply(args):
    rows = list(read_tables(args.tables))
    files = {old: new for _, _, kind, _, old, new in rows if kind == "file"}
    rows = [row for row in rows if row[2] != "file"]
    index = Index(args.build)
    new_names, by_text, problems = wanted(index, rows)
    problems += [*taken(index, new_names), *index.problems]
    for problem in problems:
        print(f"rename: {problem}", file=sys.stderr)
    if problems and not args.force:
        raise SystemExit(1)
    changed = 0
    for path in sources():
        text = rewrite(path, index, new_names, by_text)
        if text is None:
            continue
        changed += 1
        if not args.dry:
            with open(os.path.join(ROOT, path), "w", encoding="utf-8", newline="") as file:
                file.write(text)
    print(f"{len(new_names)} declarations renamed in {changed} files")
    if files and not args.dry:
        move(files, index.includes)


MENTION = re.compile(r"(?<![\w.-])(?:[\w.-]+/)*[\w-]+\.(?:c|h|cc|cu|cuh|sh|py|lua)(?![\w-])")


def meant(mention, folder, by_base):
    """Return the file that a name, or the end of a path, means in `folder`. None: no file, or several."""
    near = os.path.normpath(os.path.join(folder, mention))
    those = by_base.get(os.path.basename(mention), [])
    if near in those:
        return near
    those = [path for path in those if path == mention or path.endswith("/" + mention)]
    if len(those) > 1:
        those = [path for path in those if path.split("/")[0] == folder.split("/")[0]] or those
    return those[0] if len(those) == 1 else None


def move(files, includes):
    """Move files within their folders, and rename every mention of them: in includes, meson.build, scripts and documents."""
    every = subprocess.run(["git", "-C", ROOT, "ls-files"], check=True, capture_output=True, text=True).stdout.split()
    by_base = collections.defaultdict(list)
    for path in every:
        by_base[os.path.basename(path)].append(path)
    for old, new in files.items():
        subprocess.run(["git", "-C", ROOT, "mv", old, new], check=True)
    for path in every:
        full = os.path.join(ROOT, files.get(path, path))
        if not os.path.isfile(full) or path.startswith(("bench/results", "tests/data", "examples/models")):
            continue
        try:
            text = open(full, encoding="utf-8", newline="").read()
        except UnicodeDecodeError:
            continue

        def change(match):
            target = includes.get((path, match.group(0))) or meant(match.group(0), os.path.dirname(path), by_base)
            if target not in files:
                return match.group(0)
            head = match.group(0)[:-len(os.path.basename(target))]
            return head + os.path.basename(files[target])

        changed = MENTION.sub(change, text)
        if changed != text:
            with open(full, "w", encoding="utf-8", newline="") as file:
                file.write(changed)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_subparsers(dest="what", required=True)
    lister = what.add_parser("list")
    lister.add_argument("build")
    lister.add_argument("paths", nargs="*")
    applier = what.add_parser("apply")
    applier.add_argument("build")
    applier.add_argument("tables", nargs="+")
    applier.add_argument("--dry", action="store_true")
    applier.add_argument("--force", action="store_true")
    args = parser.parse_args()
    sys.setrecursionlimit(10000)
    args.build = os.path.realpath(args.build)
    args.tables = [os.path.realpath(path) for path in getattr(args, "tables", [])]
    if args.what == "list":
        index = Index(args.build)
        listed(index, args.paths)
        print(*index.problems, sep="\n", file=sys.stderr)
    else:
        apply(args)


main()
