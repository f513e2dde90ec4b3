#!/usr/bin/env python3
"""Prose of Markdown pages: sentences of at most 35 words, and none of the retired words below.

usage: prose.py FILE...        findings as `path:line: what`; exit code 1 when there are any

Code blocks, inline code, tables, quotations and addresses of links are not prose. lint.py calls findings() for the tree.
"""

import re
import sys

LONGEST = 35
# Retired phrases and their replacements. Patterns match whole words, in any case, also across line ends.
RETIRED = {
    r"rooms?": "a module, a folder, space",
    r"struck": "masked, forbidden, rejected",
    r"kin": "family",
    r"twins?": "a per-worker copy",
    r"wishes": "request options",
    r"blanks?(?! lines?)": "spaces, whitespace, empty lines",
    r"pieces?": "subword tokens",
    r"told": "passed, reported, warned",
    r"behind(?! an? (?:reverse )?proxy)": "after, below, on top of",
    r"at hand": "available",
    r"for all (?:that is known|we know)": "as far as we know",
    r"(?:that|which) (?:is|are) given": "the noun alone, or 'passed'",
    r"what is given": "the noun",
    r"what is there": "the noun",
    r"that (?:is|are) there": "existing",
    r"by (?:itself|themselves)": "alone, automatically",
    r"of (?:its|their) own": "its own NOUN, separate",
    r"those that": "the noun",
}
PATTERNS = [(re.compile(r"\b%s\b" % phrase.replace(" ", r"\s+"), re.I), now) for phrase, now in RETIRED.items()]
BLOCK = re.compile(r"\s*(?:[-*+]|\d+\.)\s|\s*#+\s|\s*\||\s*>|\s*$")
ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|vs|cf|et al|Dr|No)\.")


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def prose(text):
    """Return the text with everything but prose blanked; lines stay where they are. Inline code counts as one word."""
    text = re.sub(r"^(```|~~~).*?^\1[^\n]*$", blank, text, flags=re.S | re.M)
    text = re.sub(r"<!--.*?-->", blank, text, flags=re.S)
    text = re.sub(r"(`+)(?:.+?)\1", lambda m: "\n".join("x" * bool(line) for line in m.group().split("\n")), text, flags=re.S)
    text = re.sub(r"\]\([^)]*\)", lambda m: "]" + "\n" * m.group().count("\n"), text)
    return re.sub(r"^(?:    (?![ ]*(?:[-*+]|\d+\.)\s).*|\|.*|\s*>.*|\[[^\]]*\]:.*)$", blank, text, flags=re.M)


def sentences(text):
    """Yield (line, sentence) of the text that prose() left, block by block: paragraphs, items of lists and headings."""
    start, block = 0, []
    for number, line in enumerate(text.split("\n") + [""], 1):
        if BLOCK.match(line) and block:
            yield from cut(start, block)
            block = []
        if line.strip():
            start = start if block else number
            block.append(line)
            if line.lstrip().startswith("#"):
                yield from cut(start, block)
                block = []


def cut(start, lines):
    text = ABBREVIATION.sub(lambda m: m.group().replace(".", " "), "\n".join(lines))
    at = 0
    for end in [m.end() for m in re.finditer(r"[.!?][)\"”*_]*(?=\s|$)", text)] + [len(text)]:
        sentence = text[at:end]
        if sentence.strip():
            yield start + text.count("\n", 0, at + len(sentence) - len(sentence.lstrip())), " ".join(sentence.split())
        at = end


def words(sentence):
    return len(re.findall(r"[^\W_]+(?:['’.,/-][^\W_]+)*", sentence))


def findings(text, long_sentences=True):
    """Return (line, message) of each finding in a page's text."""
    text = prose(text)
    for pattern, now in PATTERNS:
        for match in pattern.finditer(text):
            yield text.count("\n", 0, match.start()) + 1, "'%s' is retired: %s" % (" ".join(match.group().split()), now)
    if long_sentences:
        for line, sentence in sentences(text):
            if words(sentence) > LONGEST:
                yield line, "%d words in a sentence, at most %d: %s ..." % (words(sentence), LONGEST, " ".join(sentence.split()[:6]))


def main(names):
    found = 0
    for name in names:
        with open(name, encoding="utf-8") as file:
            for line, what in sorted(findings(file.read())):
                print("%s:%d: %s" % (name, line, what))
                found = 1
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
