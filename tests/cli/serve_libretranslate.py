#!/usr/bin/env python3
"""`rill serve` as LibreTranslate's clients expect it: API keys in all places that clients use, three encodings of forms, names of
languages, multilingual models, and malformed forms.

usage: serve_libretranslate.py RILL SOURCE_ROOT
"""

import itertools
import json
import os
import shutil
import socket
import sys
import tempfile
import urllib.parse

from rill_server import MODEL, ROOT, Server, check, decode_lines, finish

FIELDS = {"q": "Ein Hund & zwei\nKatzen.", "source": "de", "target": "en"}
NO_TYPE = {"Content-Type": None}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def multipart(fields, boundary="b0und"):
    parts = "".join(f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n' for name, value in fields)
    return (parts + f"--{boundary}--\r\n").encode(), {"Content-Type": f"multipart/form-data; boundary={boundary}"}


def keys(s):
    """The API key is accepted in the query, a form, JSON or the header. A wrong or missing one is refused in LibreTranslate's form."""
    def everywhere(key):
        fields = {**FIELDS, "api_key": key}
        yield "JSON", s.request("POST", "/translate", fields)
        yield "a form", s.request("POST", "/translate", urllib.parse.urlencode(fields), FORM)
        yield "multipart", s.request("POST", "/translate", *multipart(fields.items()))
        yield "the query", s.request("POST", "/translate?" + urllib.parse.urlencode(fields), headers=NO_TYPE)
        yield "query and JSON", s.request("POST", "/translate?" + urllib.parse.urlencode({"api_key": key}), FIELDS)
        yield "the header", s.request("POST", "/translate", FIELDS, {"Authorization": "Bearer " + key})

    plain = None
    for where, (code, body, _) in everywhere("secret word"):
        plain = plain or body
        check(code == 200 and body == plain and "\n" in body["translatedText"], f"the key in {where}: {code} {body}")
    for key in ("secret wor", "secret words", "", "secret word\0"):
        for where, (code, body, headers) in itertools.islice(everywhere(key), 5 if "\0" in key else 6):  # a header cannot contain a NUL
            check(code == 401 and isinstance(body["error"], str) and headers["WWW-Authenticate"] == "Bearer",
                  f"another key, {key!r}, in {where}: {code} {body}")
    for key in (None, 3, ["secret word"], {"secret word": 1}, True):
        check(s.request("POST", "/translate", {**FIELDS, "api_key": key})[0] == 401, f"a key that is no text: {key}")
    large = {**FIELDS, "api_key": "secret word", "note": "a" * 200000}
    check(s.request("POST", "/translate", large)[0] == 413, "a large body that comes before its key")
    check(s.request("POST", "/translate?api_key=secret+word", large)[0] != 413, "a large body after its key")
    code, body, _ = s.request("POST", "/translate", {**FIELDS, "api_key": "secret word"}, {"Authorization": "Bearer x"})
    check(code == 401, f"the header counts where there is one: {code} {body}")
    check(s.request("POST", "/v1/decode", {"input": "a", "api_key": "secret word"})[0] == 401, "other paths take the header alone")
    check(s.request("GET", "/v1/models?api_key=secret%20word")[0] == 401, "other paths take no key in the query")
    check(s.request("GET", "/languages")[0] == 200, "languages need no key")
    check(s.request("POST", "/detect", {"q": "a"})[0] == 401, "no key, no detection")
    code, body, _ = s.request("POST", "/detect", {"q": "a", "api_key": "secret word"})
    check(code == 501 and "does not detect languages" in body["error"], f"detection: {code} {body}")


def forms(s):
    """Fields of the query and of the body are merged, and a repeated q is a list. Malformed forms are refused with a message."""
    translated = [decode_lines([text])[0] for text in ("Ein Hund.", "Ein Mann.")]
    expected = {"translatedText": translated[0]}
    two = {"translatedText": translated}
    pair = [("source", "de"), ("target", "en")]
    rest = "?" + urllib.parse.urlencode(pair)
    for query, body, headers, wanted in (
            ("", *multipart([("q", "Ein Hund."), *pair]), expected), (rest, *multipart([("q", "Ein Hund.")]), expected),
            ("", *multipart([("q", "Ein Hund."), ("q", "Ein Mann."), *pair]), two), (rest, b"q=Ein+Hund.&q=Ein%20Mann.", FORM, two),
            (rest + "&q=Ein+Hund.", b"q=Ein+Mann.", FORM, two), (rest + "&q=Ein%20Hund.", None, NO_TYPE, expected),
            (rest, *multipart([("q", "")]), {"translatedText": ""}), (rest, *multipart([("q", " \r\n--b0un\r\n")]), None),
            (rest, *multipart([("q", "Ein Hund.")], "x" * 70), expected)):
        code, found, _ = s.request("POST", "/translate" + query, body, headers)
        check(code == 200 and (found == wanted or not wanted), f"{query} {body}: {code} {found}")
    whole, kind = multipart([("q", "Ein Hund."), *pair])
    for what, body, headers in (
            ("no end", whole[:-4], kind), ("no part's end", whole[:60], kind), ("nothing but a boundary", b"--b0und--\r\n", kind),
            ("another boundary", whole, {"Content-Type": "multipart/form-data; boundary=other"}),
            ("no boundary", whole, {"Content-Type": "multipart/form-data"}),
            ("an empty boundary", whole, {"Content-Type": "multipart/form-data; boundary="}),
            ("no names", whole.replace(b"; name=", b"; nom="), kind), ("no UTF-8", whole.replace(b"Hund", b"H\xff"), kind),
            ("no UTF-8 in a name", whole.replace(b'"q"', b'"\xff"'), kind), ("noise", bytes(range(256)) * 8, kind),
            ("a form without UTF-8", b"q=%ff&source=de&target=en", FORM), ("a NUL in a name", b"q%00=a&source=de&target=en", FORM),
            ("a source twice", b"q=a&source=de&source=de&target=en", FORM)):
        code, found, _ = s.request("POST", "/translate", body, headers)
        check(code == 400 and isinstance(found["error"], str), f"{what}: {code} {found}")
    check(s.request("POST", "/translate" + rest + "&q=%ff", headers=NO_TYPE)[0] == 400, "a query without UTF-8")
    body, headers = multipart([("q", "a" * 2_000_000), *pair])
    check(s.request("POST", "/translate", body, headers)[0] == 413, "a large form")
    body, headers = multipart([("q", "Ein Hund.")] * 1001 + pair)
    check(s.request("POST", "/translate", body, headers)[0] == 413, "too many texts")
    check(s.request("POST", "/v1/decode", *multipart([("input", "a")]))[0] == 415, "other paths take JSON alone")


def numbers(s):
    """Numbers are decimal; in JSON, a whole number may be written 2 or 2.0."""
    answer = lambda value: s.request("POST", "/translate", urllib.parse.urlencode({**FIELDS, "alternatives": value}), FORM)[0]
    fields = json.dumps(FIELDS)[:-1] + ', "alternatives": '
    json_answer = lambda value: s.request("POST", "/translate", fields + value + "}")[0]
    others = ("0x2", "2e0", " 2", "+2", "2.0", "1_000", "-0", "\u0663", "")
    check(answer("2") == 200 and all(answer(value) == 400 for value in others), "alternatives in a form")
    for value, code in (("2", 200), ("2.0", 200), ("2e0", 200), ('"2"', 200), ("2.5", 400), ("-1", 400), ("101", 400), ("1e300", 400),
                        ("true", 400), ("null", 400), ("9223372036854775807", 400), ("4294967298", 400)):
        check(json_answer(value) == code, f"alternatives in JSON: {value}: {json_answer(value)}")


def multilingual():
    """A multilingual model serves all of its language pairs, beside models named after one pair. Short language codes select its own
    codes."""
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "nllb")
        shutil.copytree(os.path.join(ROOT, "tests", "data", "mt", "ct2-nllb"), model)
        with open(os.path.join(model, "config.json"), encoding="utf-8") as file:
            config = json.load(file)
        config["rill"] = {"domain": "mt", "options": {"language_columns": True}}
        with open(os.path.join(model, "config.json"), "w", encoding="utf-8") as file:
            json.dump(config, file)
        with Server(models=(MODEL, model)) as s:
            codes = ["ace_Arab", "deu_Latn", "eng_Latn", "fra_Latn", "zho_Hans", "zul_Latn"]
            listed = s.request("GET", "/languages")[1]
            check([one["code"] for one in listed] == ["de", *codes], f"languages: {listed}")
            check(listed[0] == {"code": "de", "name": "German", "targets": ["en"]}, f"the other model's: {listed[0]}")
            check(listed[5] == {"code": "zho_Hans", "name": "Chinese (Simplified)", "targets": codes}, f"names: {listed[5]}")
            check(s.request("GET", "/v1/models")[1]["models"][1]["languages"] == codes, "the model's languages")
            check("languages" not in s.request("GET", "/v1/models")[1]["models"][0], "a model of one pair has no list")
            translate = lambda source, target: s.request("POST", "/translate", {"q": "a b", "source": source, "target": target})[:2]
            own = {pair: translate(*pair) for pair in (("fra_Latn", "zul_Latn"), ("zho_Hans", "fra_Latn"))}
            for (source, target), (code, body) in own.items():
                direct = s.decode(model="nllb", input=f"{source}\t{target}\ta b")[1]["outputs"][0]["text"]
                check(code == 200 and body == {"translatedText": direct}, f"{source} {target}: {body} {direct}")
            check(len({str(answer) for answer in own.values()}) == 2, f"languages matter: {own}")
            for pair, same in ((("fr", "zu"), ("fra_Latn", "zul_Latn")), (("zh", "fr"), ("zho_Hans", "fra_Latn")),
                               (("zh-Hans", "fr"), ("zho_Hans", "fra_Latn")), (("zh_Hans", "fra"), ("zho_Hans", "fra_Latn"))):
                check(translate(*pair) == own[same], f"{pair} is {same}")
            check(translate("de", "en")[1]["translatedText"] == decode_lines(["a b"])[0], "the first model that has the pair")
            for pair in (("zh-Hant", "fr"), ("fr", "xx"), ("fr", ""), ("", "fr"), ("fr", "f" * 9999), ("fr\t", "zu"), ("auto", "fr"),
                         ("fr", "zu\0"), ("{}", "[]"), ("_", "-")):
                code, body = translate(*pair)
                check(code == 400 and isinstance(body["error"], str), f"{str(pair):.40}: {code} {body}")


def pivot():
    """Two models that meet at a language make a third pair, which is listed and translated by both."""
    with tempfile.TemporaryDirectory() as folder:
        second, back = os.path.join(folder, "en-fr"), os.path.join(folder, "en-de")
        for copy in (second, back):
            shutil.copytree(MODEL, copy)
        with Server(models=(MODEL, second, back)) as s:
            listed = {one["code"]: one["targets"] for one in s.request("GET", "/languages")[1]}
            check(listed == {"de": ["en", "fr"], "en": ["fr", "de"]}, f"languages: {listed}")
            code, body = s.request("POST", "/translate", {"q": "Ein Hund.", "source": "de", "target": "fr"})[:2]
            check(code == 200 and body["translatedText"] == decode_lines(decode_lines(["Ein Hund."]))[0], f"de to fr: {code} {body}")
            check(s.request("POST", "/translate", {"q": "a", "source": "fr", "target": "de"})[0] == 400, "no model translates from fr")


def leaver(s):
    """A client that closes its side of the connection counts as disconnected, not as a failure of the server."""
    body = json.dumps({**FIELDS, "q": ["Ein Hund und zwei Katzen."[:i % 20] + f" {i}." for i in range(300)]}).encode()
    head = f"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    with s.raw(head.encode() + body) as link:
        link.shutdown(socket.SHUT_WR)
        answer = link.recv(100)
    check(answer.startswith(b"HTTP/1.1 499 "), f"a client that leaves: {answer}")
    metrics = s.request("GET", "/metrics")[1]
    check('code="500"' not in metrics and 'code="499"} 1\n' in metrics, "it is counted as gone, not as a failure")


with tempfile.NamedTemporaryFile("w") as key_file:
    key_file.write("secret word\n")
    key_file.flush()
    with Server("--api-key-file", key_file.name) as server:
        keys(server)
with Server() as server:
    forms(server)
    numbers(server)
    leaver(server)
check(server.code == 0, f"the end: {server.code} {server.log}")
multilingual()
pivot()
sys.exit(finish())
