#!/usr/bin/env python3
"""`rill serve` with searches in flight, on a model that takes a third of a second per timestep. It tests which requests share a
search, what a deadline returns, which searches are abandoned, and that the request timeout covers receiving a request, not
computing its response.

usage: serve_slow.py RILL SOURCE_ROOT PLUGIN
"""

import concurrent.futures
import contextlib
import json
import os
import sys
import tempfile
import time

from rill_server import Server, check, finish, until

PLUGIN = sys.argv[3]
pool = concurrent.futures.ThreadPoolExecutor(8)


@contextlib.contextmanager
def serving(*options):
    """A server with two models: the slow one, and the same without delays to compare with."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for name in ("slow", "letters"):
            paths.append(os.path.join(folder, name))
            os.mkdir(paths[-1])
            with open(os.path.join(paths[-1], "config.json"), "w") as file:
                json.dump({"rill": {"domain": name}}, file)
        with Server("--plugin", PLUGIN, *options, models=paths) as s:
            yield s


def begin(s, **body):
    """Send a request to the slow model; return when its search is running, or waits for one that is."""
    before = s.counts_of("slow")
    asked = pool.submit(s.decode, model="slow", **body)

    def has_come():
        now = s.counts_of("slow")
        return now["inputs_under_way"] + now["inputs_waiting"] + now["inputs_shared_total"] > \
            before["inputs_under_way"] + before["inputs_waiting"] + before["inputs_shared_total"]
    check(until(has_come), f"{body} has come")
    return asked


def whole(s, text, **more):
    """The expected result, decoded by the model without delays."""
    code, body = s.decode(model="letters", input=text, **more)
    check(code == 200, f"{text}: {code} {body}")
    return body["outputs"]


def is_late(answer):
    """Whether the deadline passed before the search ended."""
    code, body = answer
    if code == 422:
        return body["error"]["code"] == "timeout"
    return code == 200 and "the deadline passed before the search ended" in body["warnings"]


def sharing(s):
    """Identical requests share a search. A request with a deadline gets its own search, whose result is not cached."""
    plain = whole(s, "x")
    shared = lambda: s.counts_of("slow")["inputs_shared_total"]
    asked, before = begin(s, input="x"), shared()
    other = s.decode(model="slow", input="x", timeout=0.5)
    check(is_late(other), f"a deadline beside a search without one: {other}")
    same = s.decode(model="slow", input="x")
    check(asked.result() == same and same[1]["outputs"] == plain and shared() == before + 1, f"the same without one: {same}")
    asked = begin(s, input="y", timeout=0.9)
    other = s.decode(model="slow", input="y")
    check(is_late(asked.result()), f"a deadline: {asked.result()}")
    check(other[1]["outputs"] == whole(s, "y") and not other[1]["warnings"], f"the same without one, behind it: {other}")
    check(shared() == before + 1, "neither shared")
    cut = s.decode(model="slow", input="z", timeout=0.5)
    check(is_late(cut), f"a deadline alone: {cut}")
    check(s.decode(model="slow", input="z")[1]["outputs"] == whole(s, "z"), "what it left is not kept")
    check(s.decode(model="slow", input="z", timeout=0.1)[1] == s.decode(model="slow", input="z")[1],
          "what is kept has no deadline to miss")


def streaming(s):
    """A stream does not share a search with a request that is not streamed; a second stream of the same input does."""
    plain = whole(s, "s")
    asked = begin(s, input="s")
    before = s.counts_of("slow")["inputs_shared_total"]
    streams = [pool.submit(s.request, "POST", "/v1/decode", {"model": "slow", "input": "s", "stream": True})]
    check(until(lambda: s.counts_of("slow")["inputs_under_way"] == 2), "a stream has a search of its own")
    streams.append(pool.submit(s.request, "POST", "/v1/decode", {"model": "slow", "input": "s", "stream": True}))
    check(until(lambda: s.counts_of("slow")["inputs_shared_total"] == before + 1), "which another one shares")
    for stream, min_drafts in zip(streams, (3, 1)):
        text = stream.result()[1]
        results = [json.loads(line[6:]) for line in text.split("\n") if line.startswith("data: ") and "outputs" in line]
        check(text.count("event: draft") >= min_drafts and [r["outputs"] for r in results] == [plain], f"drafts: {text}")
    check(asked.result()[1]["outputs"] == plain, "who does not watch is answered")


def giving_up(s):
    """When all clients of a search have disconnected, the search ends: the engine runs no more timesteps for it."""
    steps = lambda: s.counts_of("slow")["timesteps_total"]
    before = steps()
    check(s.decode(model="slow", input="a whole one")[0] == 200, "a whole search")
    check(until(lambda: s.counts_of("slow")["inputs_under_way"] == 0), "is over")
    check(s.decode(model="slow", input="a whole one")[0] == 200, "and kept")
    whole_steps = steps() - before
    check(whole_steps >= 5, f"and takes some timesteps: {whole_steps}")
    for stream in (False, True):
        text = json.dumps({"model": "slow", "input": f"given up {stream}", "stream": stream}).encode()
        before, gone = steps(), s.counts_of("slow")["inputs_cancelled_total"]
        link = s.raw(b"POST /v1/decode HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text))
        check(until(lambda: s.counts_of("slow")["inputs_under_way"] == 1), "a search begins")
        link.close()
        check(until(lambda: s.counts_of("slow")["inputs_under_way"] == 0), "and ends")
        check(s.counts_of("slow")["inputs_cancelled_total"] == gone + 1, "given up")
        check(steps() - before < whole_steps, f"before its time: {steps() - before} of {whole_steps} timesteps")


def waiting():
    """The deadline counts from the request's arrival: time spent in the queue is not available to the search."""
    with serving("--workers", "1", "--max-items", "1") as s:
        steps = lambda: s.counts_of("slow")["timesteps_total"]
        before = [begin(s, input=text, timeout=1.2) for text in "ab"]
        last = begin(s, input="c", timeout=1.8)
        check(all(is_late(asked.result()) for asked in before), "those before it are late")
        begun = steps()
        check(is_late(last.result()), f"and so is this: {last.result()}")
        check(until(lambda: s.counts_of("slow")["inputs_under_way"] == 0) and s.decode(model="slow", input="d", timeout=0.1), "the end")
        check(steps() - begun <= 4, f"with the timesteps that were left of its time: {steps() - begun}")


def answering():
    """The timeout covers receiving a request, not computing or streaming its response."""
    with serving("--request-timeout", "1") as s:
        start = time.monotonic()
        check(s.decode(model="slow", input="q")[1]["outputs"] == whole(s, "q"), "an answer that takes long")
        check(time.monotonic() - start > 1.5, "which it did")
        text = s.request("POST", "/v1/decode", {"model": "slow", "input": "r", "stream": True})[1]
        check(text.endswith("event: end\ndata: {}\n\n") and "event: result" in text, "a stream that takes long")
        start = time.monotonic()
        link = s.raw(b"POST /v1/decode HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{")
        check(link.recv(1000) == b"" and 0.5 < time.monotonic() - start < 20, "half a request is ended")
        link.close()


def main():
    with serving("--workers", "1") as s:
        for part in (sharing, streaming, giving_up):
            part(s)
    for part in (waiting, answering):
        part()
    return finish()


sys.exit(main())
