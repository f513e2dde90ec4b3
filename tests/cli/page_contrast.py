#!/usr/bin/env python3
"""Check the colours of the pages of `rill serve` and `rill trace` in their style sheets. Text has a contrast of at least 4.5 with its
background, on light and dark pages (WCAG 2.1, 1.4.3), and no text has a colour that is not a variable of the style sheet.

usage: page_contrast.py SOURCE_ROOT
"""

import os
import re
import sys

GROUNDS = ("ground", "box")
TEXT = {"ink", "dull", "error"}  # text colours of HTML
CHART_TEXT = {"ink", "dull", "a"}  # text colours of charts
# selectors of shapes, which have no text
NO_TEXT = ("dot", "refill", "rect", "chosen", "fill-", "line-", "node-", "edge", ".grid", ".axis")


def luminance(colour):
    channels = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def rules(text):
    """Return the rules of a style sheet, including those inside @media, as (selector, declarations)."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    for selector, body in re.findall(r"([^{}]+)\{([^{}]*)\}", text):
        yield selector.strip(), dict(re.findall(r"([\w-]+)\s*:\s*([^;]+?)\s*(?:;|$)", body))


def schemes(view):
    """Return the variables of the light page, and those of the dark page, which overrides some."""
    found = {selector: body for selector, body in rules(view) if "--ground" in body}
    colours = [{name[2:]: value for name, value in body.items() if name.startswith("--")} for body in found.values()]
    assert len(colours) == 2 and any("not(.light)" in selector for selector in found), list(found)
    return {"light": colours[0], "dark": {**colours[0], **colours[1]}}


root, wrong, n = sys.argv[1], [], 0
sheets = {}
for name in ("view/view.css", "serve/page.css"):
    with open(os.path.join(root, "cli", name), encoding="ascii") as file:
        sheets[name] = file.read()
for scheme, colours in schemes(sheets["view/view.css"]).items():
    for ground in GROUNDS:
        for name in sorted(TEXT | CHART_TEXT):
            n += 1
            ratio = contrast(colours[name], colours[ground])
            if ratio < 4.5:
                wrong.append(f"{scheme}: --{name} on --{ground} has a contrast of {ratio:.2f}")
for sheet, text in sheets.items():
    for selector, body in rules(text):
        values = [("color", body.get("color"), TEXT)]
        if not any(part in selector for part in NO_TEXT):
            values.append(("fill", body.get("fill"), CHART_TEXT))
        for key, value, allowed in values:
            n += 1
            if value not in (None, "none") and value not in {f"var(--{name})" for name in allowed}:
                wrong.append(f"{sheet}: {selector}: {key}: {value} is none of the colours of text, {sorted(allowed)}")
        if "opacity" in body and body["opacity"] != "1" and ":disabled" not in selector:
            wrong.append(f"{sheet}: {selector}: opacity takes contrast from text")
print(*(f"FAILED: {what}" for what in wrong), f"{n} checks, {len(wrong)} failed", sep="\n")
sys.exit(1 if wrong else 0)
