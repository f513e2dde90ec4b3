#!/usr/bin/env python3
"""Does any label of an SVG picture cross another, or leave the picture?

usage: labels.py FILE.svg

Letters are taken to be 0.56 of their size wide. Turned labels are left out. Says nothing where all is well.
"""

import re
import sys
import xml.dom.minidom

WIDE, HIGH = 0.56, 0.8


def boxes(document):
    for text in document.getElementsByTagName("text"):
        if text.hasAttribute("transform"):
            continue
        content = "".join(node.data for node in text.childNodes)
        size, x, y = (float(text.getAttribute(name)) for name in ("font-size", "x", "y"))
        width = WIDE * size * len(content)
        left = x - {"start": 0, "middle": 0.5, "end": 1}[text.getAttribute("text-anchor")] * width
        yield content, left, y - HIGH * size, left + width, y


def main():
    document = xml.dom.minidom.parse(sys.argv[1])
    root = document.documentElement
    width, height = float(root.getAttribute("width")), float(root.getAttribute("height"))
    found = list(boxes(document))
    wrong = [f"leaves the picture: {c}" for c, left, top, right, bottom in found
             if left < 0 or top < 0 or right > width or bottom > height]
    for i, a in enumerate(found):
        for b in found[:i]:
            if a[1] < b[3] and b[1] < a[3] and a[2] < b[4] and b[2] < a[4]:
                wrong.append(f"cross: {a[0]!r} and {b[0]!r}")
    fills = set(re.findall(r'fill="(#[0-9a-f]{6})"', root.toxml()))
    if not found or not fills:
        wrong.append("there are no labels")
    for line in wrong:
        print(line)
    sys.exit(1 if wrong else 0)


main()
