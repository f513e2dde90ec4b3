#!/usr/bin/env python3
"""LibreTranslate's Python client and another client, both unchanged, work with `rill serve`. Without the packages the test exits with
77 and says so; with RILL_TEST_LONG, which `./dev test --long` sets, it installs them into a separate environment first.

usage: serve_clients.py RILL SOURCE_ROOT
"""

import os
import subprocess
import sys
import tempfile
import urllib.error

PACKAGES = ["libretranslatepy", "libretranslate-aio"]


def import_clients():
    import libretranslate_aio
    import libretranslatepy
    return libretranslatepy, libretranslate_aio


def run_in_new_environment():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = os.path.join(folder, "bin", "python")
        if subprocess.run([python, "-m", "pip", "-q", "--disable-pip-version-check", "install", *PACKAGES]).returncode:
            print(f"skipped: pip does not get {' '.join(PACKAGES)}")
            return 77
        return subprocess.run([python, *sys.argv], env={**os.environ, "RILL_TEST_LONG": ""}).returncode


def official(libretranslatepy, s, translated):
    """libretranslatepy sends forms. It sends the API key as a field of the form, also in the body of GET /languages."""
    client = libretranslatepy.LibreTranslateAPI(f"http://localhost:{s.port}", "secret word")
    check(client.translate("Ein Hund.", "de", "en") == translated[0], "libretranslatepy: a text")
    check(client.languages() == [{"code": "de", "name": "German", "targets": ["en"]}], "libretranslatepy: languages")
    for call, code in ((lambda: client.detect("Ein Hund."), 501), (lambda: client.translate("Ein Hund.", "de", "xx"), 400)):
        try:
            check(False, f"libretranslatepy: refused with {code}, not {call()}")
        except urllib.error.HTTPError as e:
            check(e.code == code, f"libretranslatepy: {e.code} is {code}")
            e.close()
    client.api_key = "another"
    try:
        check(False, f"libretranslatepy: another key, {client.translate('Ein Hund.', 'de', 'en')}")
    except urllib.error.HTTPError as e:
        check(e.code == 401, f"libretranslatepy: another key: {e.code}")
        e.close()


def typed(libretranslate_aio, s, translated):
    """libretranslate-aio checks the types in responses, and sends lists as repeated fields."""
    with libretranslate_aio.LibreTranslate(f"http://localhost:{s.port}", api_key="secret word") as client:
        check(client.health(), "libretranslate-aio: health")
        check([(one.code, one.name, one.targets) for one in client.languages()] == [("de", "German", ["en"])], "languages")
        check(client.translate(["Ein Hund.", "Ein Mann."], "de", "en").translated_text == translated, "libretranslate-aio: texts")
        one = client.translate("Ein Hund.", "de", "en", alternatives=2)
        check(one.translated_text == translated[0] and 1 <= len(one.alternatives) <= 2, f"libretranslate-aio: alternatives {one}")
        page = client.translate("<p>Ein <b>Hund</b>.</p>", "de", "en", format="html").translated_text
        check(page.startswith("<p>") and "<b>" in page and page.endswith("</p>"), f"libretranslate-aio: HTML {page}")
        for call, code, word in ((lambda: client.detect("Ein Hund."), 501, "does not detect"),
                                 (lambda: client.translate("a", "de", "xx"), 400, "no model"),
                                 (lambda: client.translate("a", "de", "en", format="pdf"), 400, "format")):
            try:
                check(False, f"libretranslate-aio: refused with {code}, not {call()}")
            except libretranslate_aio.LibreTranslateError as e:
                check(e.status_code == code and word in e.message, f"libretranslate-aio: {e.status_code} {e.message}")


try:
    clients = import_clients()
except ImportError as e:
    if os.environ.get("RILL_TEST_LONG"):
        sys.exit(run_in_new_environment())
    print(f"skipped: {e}: pip install {' '.join(PACKAGES)}")
    sys.exit(77)

from rill_server import Server, check, decode_lines, finish  # noqa: E402

texts = decode_lines(["Ein Hund.", "Ein Mann."])
with tempfile.NamedTemporaryFile("w") as file:
    file.write("secret word\n")
    file.flush()
    with Server("--api-key-file", file.name) as server:
        official(clients[0], server, texts)
        typed(clients[1], server, texts)
sys.exit(finish())
