#!/usr/bin/env python3
"""The page of `rill serve` in Chromium. It is readable and fits the screen: light, dark and on a phone. Its examples, languages,
copying, saving and API key work. Runs with RILL_TEST_LONG, which `./dev test --long` sets. RILL_SCREENSHOTS=DIR keeps pictures of
the page.

usage: serve_page.py RILL SOURCE_ROOT
"""

import json
import os
import sys
import tempfile
import time

from rill_browser import Browser, find_browser
from rill_server import MODEL, ROOT, Server, check, decode_lines, finish

DONE = "+(document.body.dataset.done || 0)"
LINE = "Ein Hund läuft über die Wiese."
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "page_look.js"), encoding="ascii") as look_file:
    LOOK = look_file.read()


def look(b, what):
    wrong = b.run(LOOK)
    check(not wrong, f"{what}: {wrong}")
    if os.environ.get("RILL_SCREENSHOTS"):
        b.screenshot(os.path.join(os.environ["RILL_SCREENSHOTS"], what.replace(" ", "-").replace(",", "") + ".png"))


def choose(b, element, value):
    b.run(f"document.getElementById('{element}').value = {json.dumps(value)}; "
          f"document.getElementById('{element}').dispatchEvent(new Event('change'))")


def decode(b):
    before = b.run(DONE)
    b.run("document.getElementById('ask').requestSubmit()")
    done = b.until(f"{DONE} > {before}")
    check(done, "the page comes to its end: " + b.run("document.getElementById('state').textContent"))


def outputs(b):
    return b.run("[...document.querySelectorAll('#outputs li')].map(li => li.firstChild.data.trim())")


def shows(b, url):
    """An empty box shows an example for the model and decodes it. The page is readable on light, dark and narrow screens."""
    for width, scheme in ((1200, "light"), (1200, "dark"), (390, "light"), (390, "dark")):
        what = f"{width} pixels, {scheme}"
        b.open(url, width, scheme)
        check(b.until("document.getElementById('text').placeholder === " + json.dumps(LINE)), f"{what}: the example")
        look(b, what + ", empty")
        decode(b)
        check(outputs(b)[0] == decode_lines([LINE])[0], f"{what}: {outputs(b)}")
        check(b.run("document.querySelectorAll('#search svg').length") >= 4, f"{what}: the search is drawn")
        check("1 inputs" not in b.run("document.body.innerText.replace(/\\s+/g, ' ')"), f"{what}: one input")
        b.until("document.querySelector('#load polyline').points.length > 1")
        look(b, what)
    choose(b, "model", "gum")
    check(b.run("document.getElementById('text').placeholder").startswith("Where did"), "another model's example")
    b.open(url + "#input=" + "Zwei%20M%C3%A4nner.")
    check(b.until(DONE) and outputs(b)[0] == decode_lines(["Zwei Männer."])[0], "an input of the address")
    b.run("document.getElementById('beam-size').value = 99999999")
    check(not b.run("document.getElementById('ask').checkValidity()"), "a beam size that no server takes")


def copies_and_saves(b, url):
    """An output is copied unchanged. The tree is saved whole, in the colours of the page."""
    b.open(url)
    b.run("document.getElementById('text').value = 'Ein Mann.'; document.getElementById('n-best').value = 1")
    decode(b)
    for how in ("navigator.clipboard.writeText = text => { window.copied = text; return Promise.resolve(); }",
                "navigator.clipboard.writeText = () => Promise.reject(new Error()); "
                "document.execCommand = () => { window.copied = document.activeElement.value; return true; }"):
        b.run(f"window.copied = ''; {how}; document.querySelector('#outputs .copy').click()")
        check(b.until("document.querySelector('#outputs .copy').textContent === 'Copied'"), "the button says so")
        check(b.run("window.copied") == decode_lines(["Ein Mann."])[0], f"copied: {b.run('window.copied')}")
        b.until("document.querySelector('#outputs .copy').textContent === 'Copy'")
    b.run("HTMLAnchorElement.prototype.click = function () { window.saved = this.download; }; "
          "URL.createObjectURL = blob => { blob.text().then(text => { window.picture = text; }); return '#'; }; "
          "document.querySelector('figure[data-chart=item] .scroll').scrollLeft = 100; "
          "document.querySelector('figure[data-chart=item] .save').click()")
    check(b.until("window.picture"), "the tree is saved")
    nodes = "document.querySelectorAll('.tree .node').length"
    b.run("window.read = new DOMParser().parseFromString(window.picture, 'image/svg+xml')")
    n = b.run("window.read.querySelectorAll('title').length")
    check(b.run("window.saved") == "item.svg" and n >= b.run(nodes) > 3, "with all nodes")
    texts = b.run("[...window.read.querySelectorAll('text')].every(text => /^rgb/.test(text.getAttribute('fill')))")
    left = b.run("Math.min(...[...window.picture.matchAll(/translate\\(([-\\d.]+) /g)].map(m => +m[1]))")
    check(texts and left >= 0, f"in its colours, from its left edge: {left}")


def languages(b):
    """A multilingual model has language pickers, and the example follows the source language."""
    with Server("--language-columns", models=("nllb=" + os.path.join(ROOT, "tests", "data", "mt", "ct2-nllb"),)) as s:
        b.open(f"http://{s.host}:{s.port}/", 390, "dark")
        check(b.until("document.getElementById('from').options.length === 6"), "the source languages")
        check(b.run("document.getElementById('from').value + document.getElementById('to').value") == "deu_Latneng_Latn", "chosen")
        names = b.run("[...document.getElementById('to').options].map(o => o.textContent)")
        check("Chinese (Simplified)" in "".join(names) or "Simplified Chinese" in names, f"names: {names}")
        choose(b, "from", "fra_Latn")
        check("chien" in b.run("document.getElementById('text').placeholder"), "the example is in the source language")
        choose(b, "to", "zul_Latn")
        decode(b)
        example = b.run("document.getElementById('text').value")
        direct = s.decode(input=f"fra_Latn\tzul_Latn\t{example}", options={"n_best": 3})[1]["outputs"]
        check(outputs(b) == [one["text"] for one in direct], f"outputs: {outputs(b)} {direct}")
        look(b, "languages")


def api_key(b):
    """Without its API key the page asks for the key once and waits; with the key, it goes on."""
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("secret\n")
        file.flush()
        with Server("--api-key-file", file.name) as s:
            key = {"Authorization": "Bearer secret"}
            refused = lambda: int(s.request("GET", "/metrics", headers=key)[1].split('code="401"} ')[1].split()[0])
            b.open(f"http://{s.host}:{s.port}/", 390, "dark")
            check(b.until("!document.getElementById('key-line').hidden"), "the page asks for the key")
            time.sleep(3)
            check(refused() == 1, f"and does not ask the server again: {refused()}")
            look(b, "without a key")
            choose(b, "key", "wrong")
            time.sleep(2.5)
            check(refused() == 2, f"once for each key: {refused()}")
            choose(b, "key", "secret")
            check(b.until("document.querySelector('#load polyline')?.points.length > 2"), "with the key it goes on")
            check(b.run("document.getElementById('state').textContent") == "", "and the refusal is gone")
            decode(b)
            check(refused() == 2, "nothing else was refused")


if not os.environ.get("RILL_TEST_LONG"):
    print("skipped: RILL_TEST_LONG=1 looks at the page in Chromium")
    sys.exit(77)
if not find_browser():
    print("skipped: no chromium, so the page was not looked at")
    sys.exit(77)
with Browser(find_browser()) as browser:
    with Server(models=(MODEL, os.path.join(ROOT, "examples", "models", "gum"))) as server:
        address = f"http://{server.host}:{server.port}/"
        shows(browser, address)
        copies_and_saves(browser, address)
    languages(browser)
    api_key(browser)
sys.exit(finish())
