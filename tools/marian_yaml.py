"""YAML as Marian writes it: options and vocabularies."""

import re

from refusal import Refused, open_text

ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "a": "\a", "b": "\b", "v": "\v", "f": "\f", "e": "\x1b",
           "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029", " ": " ", "/": "/", '"': '"', "\\": "\\"}
ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.S)


def unquoted(text, where):
    """Parse a YAML string in any of its three styles."""
    if len(text) >= 2 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    if len(text) < 2 or not text[0] == text[-1] == '"':
        return text

    def character(match):
        code = match.group(1) or match.group(2) or match.group(3)
        if code:
            return chr(int(code, 16))
        if match.group(4) not in ESCAPES:
            raise Refused(f"{where}: \\{match.group(4)} is no escape of YAML")
        return ESCAPES[match.group(4)]

    return ESCAPE.sub(character, text[1:-1])


def scalar(text, where):
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(r"[-+]?\d+", text):
        return int(text)
    if text in ("~", "null"):
        return None
    return unquoted(text, where)


def read_options(text, where):
    """Read the unindented keys with a value, a list in brackets, or a list below them; nested maps are skipped."""
    options, key = {}, None
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        item = re.match(r"\s*-\s+(.*)$", line)
        if item and key is not None:
            options[key] = (options[key] if isinstance(options[key], list) else []) + [scalar(item.group(1), where)]
        elif not line[0].isspace():
            match = re.match(r"([\w.-]+):\s*(.*)$", line)
            if not match:
                raise Refused(f"{where}: line {number}: expected KEY: VALUE, found {line[:60]!r}")
            key, value = match.group(1), match.group(2).strip()
            if value.startswith("["):
                inner = value.strip("[]").strip()
                options[key] = [scalar(part.strip(), where) for part in inner.split(",")] if inner else []
            else:
                options[key] = scalar(value, where)
    return options


def read_yaml_vocabulary(path):
    """Read {token: id}. A token may have any form of quotes and any characters, including colons."""
    pieces, pending = {}, None
    with open_text(path) as file:
        for number, line in enumerate(file, 1):
            where, line = f"{path}:{number}", line.rstrip("\n")
            line = line[:-1] if line.endswith("\r") else line
            if not line.strip() or line in ("---", "...") or (line.startswith("#") and ":" not in line):
                continue
            if line.startswith("? "):  # a key on a line of its own, as YAML writers put long keys
                pending = line[2:]
                continue
            key, colon, value = line.rpartition(":")
            if pending is not None:
                key, pending = pending, None
            if not colon or not re.fullmatch(r"\s*\d+\s*", value):
                raise Refused(f"{where}: expected PIECE: NUMBER, found {line[:60]!r}")
            pieces[unquoted(key, where)] = int(value)
    return pieces
