#!/usr/bin/env python3
"""`rill serve`: how inputs of every domain are read. Non-breaking spaces of web pages separate words, byte order marks are not part
of a text, and brackets outside trees are text. A request can say how its inputs are read. Results equal `rill decode`'s.

usage: serve_input_text.py RILL SOURCE_ROOT
"""

import json
import os
import re
import subprocess

from rill_server import RILL, ROOT, Server, check, finish

MODELS = {name: os.path.join(ROOT, "examples", "models", name) for name in ("gum", "geo", "de-en")}
TEXTS = {"gum": "The dog barks .", "geo": "what states border texas", "de-en": "Ein Hund läuft schnell ."}
SPACES = "\t\v\f\u0085\u00a0\u1680\u2003\u2007\u2009\u2028\u2029\u202f\u205f\u3000"
TREE = "(S (NP (DT The) (NN cat)) (VP (VBD sat)))"


def decode(name, text, *options):
    line = [RILL, "decode", "-q", "-m", MODELS[name], *options]
    return subprocess.run(line, input=text + "\n", text=True, stdout=subprocess.PIPE, check=True).stdout.removesuffix("\n")


def answer(s, name, text, **more):
    code, body = s.decode(model=name, input=text, **more)
    return body["outputs"][0]["text"] if code == 200 else f"{code}: {body['error']['message']}"


def words(tree):
    return " ".join(re.findall(r" ([^ ()]+)\)", tree))


def spaces(s):
    for name, text in TEXTS.items():
        plain = decode(name, text)
        check(answer(s, name, text) == plain, f"{name}: a text")
        for space in SPACES + ("\u200b\u2060\ufeff" if name != "de-en" else ""):
            found = answer(s, name, text.replace(" ", space))
            check(found == plain, f"{name}: U+{ord(space):04X} parts words: {found}")
        for around in ("\ufeff{}", "\ufeff\ufeff{}", "\u00a0{}\u3000", "\u2003{}\u0085"):
            found = answer(s, name, around.format(text))
            check(found == plain, f"{name}: around a text, {ascii(around)}: {found}")
        code, body = s.decode(model=name, inputs=[text.replace(" ", "\u00a0"), "\u3000", "\ufeff", text])
        check(code == 200 and [r["outputs"][0]["text"] for r in body["results"]] == [plain, "", "", plain], f"{name}: a list: {body}")
    check(words(answer(s, "gum", "\ufeffThe\u00a0dog\u3000barks .")) == "The dog barks .", "the words of a tree")


def brackets(s):
    for text, expected in (("(CD included)", "-LRB- CD included -RRB-"), ("(Laughs loudly) Hello.", "-LRB- Laughs loudly -RRB- Hello ."),
                           ("(see (Smith 1999))", "-LRB- see -LRB- Smith 1999 -RRB- -RRB-"), ("Hi (NN cat)", "Hi -LRB- NN cat -RRB-"),
                           ("(", "-LRB-"), ("()", "-LRB- -RRB-"), (TREE, "The cat sat"), ("The_DT cat_NN sat_VBD", "The cat sat"),
                           ("snake_case MAX_LENGTH", "snake_case MAX_LENGTH")):
        found = answer(s, "gum", text)
        check(words(found) == expected and found == decode("gum", text), f"{text}: {found}")


def forms(s):
    """A request's options of reading work as a model's do, and responses with other such options are not reused, cached or running."""
    forms_of_it = (({}, ()), ({"input_format": "text"}, ("--input-format", "text")), ({"input-format": "auto", "tokenized": False}, ()),
                   ({"tokenized": True}, ("--tokenized",)), ({"input_format": "text", "tokenized": True, "k": 1}, ("--tokenized", "-k1")))
    cases = [("gum", text, *form) for text in (TREE, "The_DT cat_NN sat_VBD", "(CD included)", "Don't go.") for form in forms_of_it]
    for text in ("rivers in texas", "Rivers in s0?"):
        cases += [("geo", text, {"tokenized": False}, ()), ("geo", text, {"tokenized": True}, ("--tokenized",))]
    for again in range(2):
        for name, text, settings, options in cases:
            found = answer(s, name, text, options=settings)
            check(found == decode(name, text, *options), f"{text} with {settings}, {again}: {found}")
    check(words(answer(s, "gum", TREE, options={"input_format": "text"})).startswith("-LRB- S -LRB- NP"), "a tree as text")
    check(answer(s, "gum", TREE, options={"input_format": "tagged"}) == '422: word 1: expected word_TAG, found "(S"', "a tree as tokens")
    for name, settings, why in (
            ("gum", {"input_format": "table"}, 'options: input-format: "table" is not one of auto|tree|tagged|text'),
            ("gum", {"input_format": 1}, 'options: input-format: "1" is not one of auto|tree|tagged|text'),
            ("gum", {"tokenized": "yes"}, 'options: tokenized: "yes" is not true or false'),
            ("gum", {"input_format": "text tokenized=1"}, 'options: input-format: "text tokenized=1" is not one of'),
            ("gum", {"weights": "int8"}, 'options: "weights" is an option of the whole run'),
            ("geo", {"input_format": "text"}, 'options: "input_format" is an option of the whole run'),
            ("de-en", {"tokenized": True}, 'options: unknown option "tokenized"')):
        code, body = s.decode(model=name, input="a", options=settings)
        said = body["error"] if code == 400 else {"code": "", "message": ""}
        check(said["code"] == "bad-option" and why in said["message"], f"{name}, {settings}: {code} {body}")
    code, trace, _ = s.request("POST", "/v1/trace", {"model": "gum", "inputs": [TREE], "options": {"input_format": "text"}})
    results = [event for event in map(json.loads, trace.splitlines()) if event["event"] == "result"]
    check(code == 200 and results[0]["output"] == decode("gum", TREE, "--input-format", "text"), f"a trace is of the same: {results}")
    described = s.request("GET", "/openapi.json")[1]["components"]["schemas"]["Options"]["properties"]
    check(described["input_format"]["enum"] == ["auto", "tree", "tagged", "text"], f"described: {described.get('input_format')}")
    check(described["tokenized"]["type"] == "boolean", f"described: {described.get('tokenized')}")


def greek(s):
    """The name of a model gives the language, as the name of a model's folder does in `rill decode`."""
    text = "Ein Hund bellt; Eine Katze schläft."
    apart = [decode("de-en", part) for part in ("Ein Hund bellt;", "Eine Katze schläft.")]
    code, body = s.decode(model="el-en", input=text, split="sentences")
    check(code == 200 and body["text"] == " ".join(apart), f"Greek: {body}")
    code, body = s.decode(model="de-en", input=text, split="sentences")
    check(code == 200 and len(body["parts"]) == 1, f"no Greek: {body}")


with Server(models=[*MODELS.values(), "el-en=" + MODELS["de-en"]]) as server:
    spaces(server)
    brackets(server)
    forms(server)
    greek(server)
raise SystemExit(finish())
