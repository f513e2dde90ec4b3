#!/usr/bin/env python3
"""`rill serve` with a model whose plugin fails. Requests in flight get the error, other models are unaffected, and the server opens
the model again.

usage: serve_reopen.py RILL SOURCE_ROOT PLUGIN
"""

import concurrent.futures
import json
import os
import signal
import sys
import tempfile
import threading

from rill_server import MODEL, Server, check, finish, sentence, until

PLUGIN = sys.argv[3]


def opened_again(folder):
    with Server("--plugin", PLUGIN, models=("de-en=" + MODEL, folder)) as s:
        name = os.path.basename(folder)
        request = lambda text, **more: s.request("POST", "/v1/decode", {"model": name, "input": text, **more})
        code, first, _ = request("abc")
        check(code == 200 and first["outputs"][0]["text"] != "", f"it decodes: {code} {first}")
        line = "ein hund läuft ."
        known = s.decode(input=line)
        kept = s.counts_of("de-en")["cache_entries"]
        stop, wrong, answered = threading.Event(), [], []

        def others():
            while not stop.is_set():
                found = s.decode(input=sentence())
                answered.append(found[0])
                if found[0] != 200:
                    wrong.append(found)

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            beside = [pool.submit(others) for _ in range(2)]
            for round_ in range(3):
                before = s.log.count("is open again")
                code, body, _ = request("break")
                check(code == 500 and "broken" in body["error"]["message"], f"round {round_}: it breaks: {code} {body}")
                check(until(lambda: s.request("GET", "/ready")[0] == 200 and request("abc")[:2] == (200, first)),
                      f"round {round_}: it decodes again")
                check(s.request("GET", "/health")[0] == 200, f"round {round_}: healthy")
                check(until(lambda: s.log.count("is open again") == before + 1), f"round {round_}: it says so")
            stop.set()
            for future in beside:
                future.result()
        check(not wrong and len(answered) > 3, f"the other model answers all along: {len(answered)} {wrong[:1]}")
        check(s.decode(input=line) == known and s.counts_of("de-en")["cache_entries"] >= kept, "and keeps what it has")
        s.process.send_signal(signal.SIGHUP)
        check(until(lambda: "the models are reloaded" in s.log) and request("abc")[:2] == (200, first), "a reload behind it")
    check(s.code == 0, f"what was mended is no failure: {s.code} {s.log}")


def cannot_be_opened(folder):
    """A model whose folder is missing stays failed, with a message. When the folder is back, the model is opened."""
    other = folder + ".gone"
    with Server("--plugin", PLUGIN, models=(folder,)) as s:
        os.rename(folder, other)
        check(s.decode(input="break")[0] == 500, "it breaks")
        check(until(lambda: "config.json" in s.log or folder in s.log.split("decodes no more")[-1]), "it cannot be opened")
        code, body, headers = s.request("POST", "/v1/decode", {"input": "abc"})
        check(code == 503 and headers["Retry-After"] == "1" and "broken" in body["error"]["message"], f"so it is not there: {code} {body}")
        check(s.request("GET", "/ready")[0] == 500 and s.request("GET", "/health")[0] == 500, "and is not ready")
        os.rename(other, folder)
        check(until(lambda: s.request("GET", "/ready")[0] == 200, 30) and s.decode(input="abc")[0] == 200, "until it can")
    check(s.code == 0, f"the end: {s.code}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "fragile")
        os.mkdir(model)
        with open(os.path.join(model, "config.json"), "w") as file:
            json.dump({"rill": {"domain": "breaks"}}, file)
        for part in (opened_again, cannot_be_opened):
            part(model)
    return finish()


sys.exit(main())
