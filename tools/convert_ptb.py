"""The Penn Treebank as the LDC ships it to train.ptb, dev.ptb and test.ptb, which train_shiftreduce.py and rill read: one tree per line.

An .mrg file has trees of several lines, whose outer bracket has no label. A tree is simplified as domains/text/tree.h does, with one
more step that the model's labels need: a constituent with the same label as its only child is merged with it.
"""

import os
import re

from refusal import Refused, written_whole

TRACE = "-NONE-"
MAX_DEPTH = 300  # limit on open brackets of a tree, since the functions below are recursive
ROOT, ROOTS = "TOP", ("", "TOP", "ROOT")
# Tokens of a tree: a bracket with tag and word, an opening bracket with its label, a closing bracket, or a misplaced word.
PART = re.compile(r"\(\s*([^()\s]+)\s+([^()\s]+)\s*\)|\(\s*([^()\s]*)|(\))|[^()\s]+")
PARTS = ("train", "dev", "test")


# --- trees ------------------------------------------------------------------------------------------

class Tree:
    """A bracket: its label or tag, and either a word or the brackets in it. `line` is the line where it opens."""

    def __init__(self, label, word, line):
        self.label, self.word, self.line, self.children = label, word, line, []

    def __str__(self):
        return f"({self.label} {self.word or ' '.join(map(str, self.children))})"


def read(path):
    """Yield the trees of a file as they are written; Refused names the line of an invalid tree."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except ValueError as error:
        raise Refused(f"{path}: expected UTF-8: {error}") from error
    open_trees, line, counted = [], 1, 0
    for part in PART.finditer(text):
        line, counted = line + text.count("\n", counted, part.start()), part.start()
        tag, word, label, end = part.groups()

        def wrong(what, line=line):
            inside = f", in the tree that begins in line {open_trees[0].line}" if open_trees else ""
            return Refused(f"{path}: line {line}: {what}{inside}")

        if end:
            if not open_trees:
                raise wrong("a bracket closes that was not opened")
            if not open_trees[-1].children:
                raise wrong(f"the bracket of {open_trees[-1].label or 'no label'} is empty")
            tree = open_trees.pop()
            if not open_trees:
                yield tree
            continue
        if tag is None and label is None:
            raise wrong(f'"{part.group()}" is not in a bracket of a tag and one word')
        if tag and not open_trees:
            raise wrong(f'"{part.group()}" is not in a tree')
        if label == "" and open_trees:
            raise wrong("a bracket without a label: one before it is not closed")
        tree = Tree(tag or label, word, line)
        if open_trees:
            open_trees[-1].children.append(tree)
        if tag is None:
            open_trees.append(tree)
            if len(open_trees) > MAX_DEPTH:
                raise wrong(f"more than {MAX_DEPTH} brackets are open")
    if open_trees:
        raise Refused(f"{path}: line {open_trees[0].line}: the tree that begins here is not closed")


def leaves(tree):
    """Return the brackets with words, in order."""
    return [tree] if tree.word else [leaf for child in tree.children for leaf in leaves(child)]


def stripped(tree):
    """Return the tree without traces, function tags and indices; None if it has only traces."""
    if tree.word:
        return None if tree.label == TRACE else tree
    children = [child for child in map(stripped, tree.children) if child]
    label = tree.label if tree.label[:1] in "-=|" else re.split("[-=|]", tree.label)[0]
    if len(children) == 1 and not children[0].word and children[0].label == label:
        return children[0]
    tree.label, tree.children = label, children
    return tree if children else None


def read_converted(path):
    """Yield the trees of a file that convert() made. Refuse other files with a message that names the converter."""
    try:
        for tree in read(path):
            if tree.label != ROOT:
                raise Refused(f"{path}: line {tree.line}: the outer bracket has {tree.label or 'no label'}, not {ROOT}")
            if any(leaf.label == TRACE for leaf in leaves(tree)):
                raise Refused(f"{path}: line {tree.line}: the tree has traces ({TRACE})")
            yield tree
    except (Refused, OSError) as error:
        what = f"{path}: {error.strerror}" if isinstance(error, OSError) else error
        raise Refused(f"{what}; `rill convert ptb DIR --out NEW` makes train.ptb, dev.ptb and test.ptb of a treebank's "
                      ".mrg files") from error


# --- a treebank -------------------------------------------------------------------------------------

def sections(text):
    """Parse "2-21" or "2-10,24" into section numbers."""
    numbers = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        numbers += range(int(first), int(last if dash else first) + 1)
    if not numbers:
        raise ValueError
    return numbers


def find_sections(folder):
    """Return {section: its .mrg files in order}; a section is a folder whose name is two digits."""
    found = {}
    for place, _, names in os.walk(folder):
        files = sorted(os.path.join(place, name) for name in names if name.lower().endswith(".mrg"))
        name = os.path.basename(os.path.abspath(place))
        if not files or not re.fullmatch("[0-9][0-9]", name):
            continue
        if int(name) in found:
            raise Refused(f"{folder}: section {name} is there twice: {place}, {os.path.dirname(found[int(name)][0])}")
        found[int(name)] = files
    return found


def convert(folder, out, wanted):
    """Convert a treebank. wanted: the sections of each of PARTS. Returns a line about each file that it made."""
    found = find_sections(folder)
    lines, told, taken = {}, [], {}
    for part in PARTS:
        lines[part], traces = [], 0
        for section in wanted[part]:
            if section in taken:
                raise Refused(f"section {section:02} is in {taken[section]} and in {part}" if taken[section] != part else
                              f"section {section:02} is named twice for {part}")
            if section not in found:
                raise Refused(f"{folder}: section {section:02} of {part} is missing: expected a folder {section:02} with .mrg files")
            taken[section] = part
            for path in found[section]:
                for tree in read(path):
                    if tree.label not in ROOTS:
                        raise Refused(f"{path}: line {tree.line}: the outer bracket has the label {tree.label}; expected none, "
                                      "TOP or ROOT")
                    tree.label = ROOT
                    tree = stripped(tree)
                    traces += tree is None
                    lines[part] += [f"{tree}\n"] if tree else []
        if not lines[part]:
            raise Refused(f"{folder}: no trees in the sections of {part}")
        told.append(f"{os.path.join(out, part + '.ptb')}: {len(lines[part])} trees"
                    + (f"; {traces} of traces alone left out" if traces else ""))
    os.makedirs(out, exist_ok=True)
    there = [name for name in os.listdir(out) if name in [part + ".ptb" for part in PARTS]]
    if there:
        raise Refused(f"{os.path.join(out, there[0])} is there already: name a new folder with --out")
    with written_whole(out) as made:
        for part in PARTS:
            with open(os.path.join(made, part + ".ptb"), "w", encoding="utf-8") as file:
                file.writelines(lines[part])
    return told
