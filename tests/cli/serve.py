#!/usr/bin/env python3
"""`rill serve`, with a client that needs only the standard library. Responses equal `rill decode`'s, whatever other requests are in
flight. Bad requests get a status and a message. Clients that disconnect, send slowly or come in large numbers harm no other
client. Accepted requests are answered when the server stops.

usage: serve.py RILL SOURCE_ROOT
"""

import concurrent.futures
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

from rill_server import MODEL, RACES, RILL, Server, check, decode_lines, finish, rng, sentence, until

WIDE = 10 if RACES else 30  # the beam size of slow searches


def answers(s):
    lines = [sentence() for _ in range(8 if RACES else 40)]
    plain, wide = decode_lines(lines), decode_lines(lines, "-k", "9", "--length-penalty", "0.5")
    code, body = s.decode(inputs=lines)
    check(code == 200 and [r["outputs"][0]["text"] for r in body["results"]] == plain, "a request of many is decode's")
    jobs = [(i, wide_one) for i in range(len(lines)) for wide_one in (0, 1)]
    rng.shuffle(jobs)

    def one(job):
        i, is_wide = job
        settings = {"k": 9, "length-penalty": 0.5} if is_wide else {}
        code, body = s.decode(input=lines[i], options=settings)
        return code == 200 and body["outputs"][0]["text"] == (wide if is_wide else plain)[i]

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        check(all(pool.map(one, jobs)), "requests side by side, with settings of their own, are decode's")
    if RACES:
        return
    code, body = s.decode(input=lines[0], options={"n-best": 3}, tokens=True)
    best = body["outputs"]
    check(best[0]["text"] == plain[0] and all(a["score"] >= b["score"] for a, b in zip(best, best[1:])), "a list, best first")
    check(bool(body["warnings"]) == (len(best) < 3), "a list that is short says so")
    code, body = s.decode(input=lines[0], options={"n-best": 3, "k": 9, "min-width": 9, "max-candidates": 9})
    check(len(body["outputs"]) == 3 and not body["warnings"], "a wider search finds three")
    check(all(abs(sum(t["logprob"] for t in o["tokens"]) - o["logp"]) < 1e-4 for o in best), "tokens' log-probabilities add up")
    listed = subprocess.run([RILL, "list", "actions", "-m", MODEL], check=True, capture_output=True, text=True).stdout.splitlines()
    names = dict(line.split("\t") for line in listed)
    tokens = [t for o in best for t in o["tokens"]]
    check(len(tokens) > 3 and all(names[str(t["id"])] == t["text"] for t in tokens), f"tokens have their own names: {tokens}")
    check(not body["warnings"], "a list that is as long as was asked for")
    for settings, why in (({"n-best": 9, "k": 3}, "of 9 outputs: beam-size is smaller than n-best"),
                          ({"n-best": 9, "k": 9, "stop-after": 2}, "of 9 outputs: the search stops after fewer")):
        for _ in range(2):  # first from the search, then from the cache
            code, body = s.decode(input="ein hund .", options=settings)
            n = len(body["outputs"])
            check(code == 200 and n < int(why.split()[1]) and body["warnings"][0].startswith(f"{n} {why}"), f"{settings}: {body}")
    check(not s.decode(input="", options={"n-best": 3})[1]["warnings"], "nothing has one output")
    paragraph = "Ein Hund läuft über die Wiese. " * 8
    code, body = s.decode(input=paragraph)
    check(code == 200 and len(body["outputs"][0]["text"]) * 3 < len(paragraph) and '"split": "sentences"' in body["warnings"][0],
          f"text that a sentence-level model loses is said: {body}")
    code, body = s.decode(input=paragraph, split="sentences")
    check(code == 200 and len(body["text"]) * 3 > len(paragraph) and all(not part["warnings"] for part in body["parts"]), f"{body}")
    code, body = s.decode(inputs=[lines[0], "", " "])
    check(code == 200 and body["results"][1]["outputs"][0]["text"] == "", "nothing is decoded to nothing")
    check(s.decode(inputs=[]) == (200, {"model": "de-en", "results": []}), "no inputs, no results")
    long = " ".join(["hund"] * 400)
    code, body = s.decode(inputs=[lines[0], long])
    check(code == 200 and "outputs" in body["results"][0] and "error" in body["results"][1], "a bad input fails alone")
    check(s.decode(input=long)[0] == 422, "a single bad input is what the request is about")
    check(s.decode(input=lines[0], timeout=30)[0] == 200, "a deadline far away")


def refusals(s):
    request = s.request
    for body, code, word in (({"inputs": ["a"], "options": {"kk": 1}}, 400, "did you mean"),
                             ({"input": "a", "inputs": ["a"]}, 400, "expected either"),
                             ({}, 400, "expected either"), ({"input": 3}, 400, "text"), ({"inputs": ["a", 3]}, 400, "text"),
                             ([], 400, "object"),
                             ({"input": "a", "beam": 3}, 400, "beam"), ({"input": "a", "options": {"n": 3}}, 400, "the whole run"),
                             ({"input": "a", "options": {"k": -1}}, 400, "beam-size"),
                             ({"input": "a", "options": {"k": None}}, 400, "whole number"),
                             ({"input": "a", "model": "x"}, 404, "models"), ({"input": "a", "tokens": 1}, 400, "tokens"),
                             ({"input": "a", "timeout": 0}, 400, "timeout"), ({"input": "a", "deadline": 1}, 400, 'mean "timeout"'),
                             ({"input": "a", "settings": {}}, 400, 'in "options"'), ({"inputs": ["a"] * 1001}, 413, "1000")):
        found, answer, _ = request("POST", "/v1/decode", body)
        check(found == code and word in answer["error"]["message"], f"{body!s:.60}: {found} {answer}")
    check(request("POST", "/v1/decode", "{")[0] == 400, "bad JSON")
    check(request("POST", "/v1/decode", b"\xff")[0] == 400, "no UTF-8")
    check(request("POST", "/v1/decode", "a=b", {"Content-Type": "text/plain"})[0] == 415, "another type")
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    check(request("POST", "/v1/decode", '{"input": "a"}', form)[0] == 200, "as curl sends it")
    check(request("GET", "/nowhere")[0] == 404, "no such path")
    code, _, headers = request("GET", "/v1/decode")
    check(code == 405 and headers["Allow"] == "POST", "no such method")
    link = s.raw(b"POST /v1/decode HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1048577\r\n"
                 b"Expect: 100-continue\r\n\r\n")
    check(b" 413 " in link.recv(100), "too large, told before it is sent")
    check(request("POST", "/v1/decode", "x" * 3000000)[0] == 413, "too large, told when it is sent")
    check(request("POST", "/v1/decode", "x" * 900000, {"Content-Type": "text/plain"})[0] == 415, "another large type")
    check(s.decode(input="a", model="de-en\0x")[0] == 400, "a name with a NUL")
    check(request("POST", "/v1/decode", {"inputs": [], "stream": True})[1] == "event: end\ndata: {}\n\n", "a stream of nothing")
    link.close()
    link = s.raw(b"POST /v1/decode HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\n")
    for _ in range(40):
        link.sendall(b"10000\r\n" + b"x" * 65536 + b"\r\n")
    link.sendall(b"0\r\n\r\n")
    check(b" 413 " in link.recv(100), "too large without a length")
    link.close()
    for path in ("/health", "/ready", "/", "/v1/models", "/metrics", "/openapi.json", "/languages"):
        code, text, headers = request("HEAD", path)
        whole = request("GET", path)
        check(code == whole[0] == 200 and text == "" and headers["Content-Type"] == whole[2]["Content-Type"],
              f"HEAD {path}: {code} {text!r}")
        check(path == "/metrics" or headers["Content-Length"] == whole[2]["Content-Length"], f"the length of {path}")
    code, _, headers = request("HEAD", "/v1/decode")
    check(code == 405 and headers["Allow"] == "POST" and request("POST", "/health", {})[2]["Allow"] == "GET, HEAD", "no such method")
    check(request("HEAD", "/nowhere")[0] == 404, "no such path")
    check(request("GET", "/health")[:2] == (200, {"status": "ok"}) and request("GET", "/ready")[0] == 200, "healthy and ready")


def description(s):
    code, doc, _ = s.request("GET", "/openapi.json")
    check(code == 200 and doc["openapi"].startswith("3.0"), "the description")
    names = doc["components"]["schemas"]["Options"]["properties"]
    check("beam_size" in names and "length_penalty" in names and "batch_size" not in names, "settings of searches, none of schedules")
    check(s.decode(input="ein hund .", options={"num_beams": 3}) == s.decode(input="ein hund .", options={"beam-size": 3}), "an alias")
    code, body = s.decode(input="ein hund .", options={"num_beams": 3, "k": 4})
    check(code == 400 and "are one option, given twice" in str(body), f"an option and its alias: {body}")
    for reference in set(re.findall(r'"#/([^"]+)"', json.dumps(doc))):
        at = doc
        for part in reference.split("/"):
            at = at.get(part, {})
        check(at != {}, "the description has " + reference)
    models = s.request("GET", "/v1/models")[1]["models"]
    check(models[0]["name"] == "de-en" and models[0]["domain"] == "mt" and models[0]["options"]["beam_size"] == 5, "the models")


def figures(s):
    """The histogram of requests adds up: each bucket counts all requests that took no longer than its bound, and the last one counts
    all."""
    for body in ({"input": "ein hund ."}, {"input": "ein hund .", "k": 3}, {"inputs": [sentence(20, 30) for _ in range(30)]}):
        s.request("POST", "/v1/decode", body)
    text = s.request("GET", "/metrics")[1]
    buckets = [(float(edge), int(n)) for edge, n in re.findall(r'^rill_request_seconds_bucket\{le="(.*?)"\} (\d+)$', text, re.M)]
    numbers = dict(re.findall(r"^rill_request_seconds_(sum|count) (\S+)$", text, re.M))
    by_code = {int(code): int(n) for code, n in re.findall(r'^rill_requests_total\{code="(\d+)"\} (\d+)$', text, re.M)}
    check([edge for edge, _ in buckets] == [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, float("inf")], f"edges: {buckets}")
    counts, total = [n for _, n in buckets], int(numbers["count"])
    check(counts == sorted(counts) and counts[-1] == total == sum(by_code.values()), f"cumulative: {buckets} {numbers} {by_code}")
    check(counts[9] > total / 2, f"most take less than five seconds: {buckets}")
    min_seconds = sum((high - low) * edge for (edge, _), low, high in zip([(0, 0), *buckets], [0, *counts], counts))
    check(min_seconds <= float(numbers["sum"]) and by_code[200] > 2 and by_code[400] > 0, f"seconds: {numbers} {min_seconds}")
    check(s.counts()["inputs_total"] >= 31 and s.counts()["timesteps_total"] > 0, "inputs and timesteps")


def slow_and_gone(s):
    """A small request does not wait until a large one is done, whether the large one's client stays or disconnects."""
    settings, known = {"k": WIDE, "max-candidates": WIDE}, [sentence(1, 1) + f" {i}" for i in range(50 if RACES else 200)]
    check(s.decode(inputs=known, options=settings)[0] == 200, "some that the cache has")
    large = json.dumps({"inputs": [sentence(20, 30) for _ in range(700)] + known, "options": settings}).encode()
    head = b"POST /v1/decode HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(large)
    before = s.counts()
    link = s.raw(head + large)
    check(until(lambda: s.counts()["inputs_under_way"] > 0), "the large request is under way")
    check(s.decode(input="ein hund .")[0] == 200 and s.counts()["inputs_waiting"] > 0, "a small one overtakes it")
    link.close()
    check(until(lambda: s.counts()["inputs_waiting"] == 0 and s.counts()["inputs_under_way"] == 0, 60 if RACES else 5), "it is given up")
    after = s.counts()
    check(500 < after["inputs_cancelled_total"] - before["inputs_cancelled_total"] <= 700, "and counted, but for what was answered")
    check(after["inputs_total"] - before["inputs_total"] == 701 + len(known), "each input once")
    links = [s.raw(head[:rng.randint(1, len(head))]) for _ in range(20)] + [s.raw(head + large[:1000]) for _ in range(5)]
    check(s.decode(input="ein hund .")[0] == 200, "halves of requests keep nobody waiting")
    said = []
    for link in links:
        link.settimeout(20)
        try:
            said.append(link.recv(1000))
        except ConnectionResetError:
            said.append(b"")
        except TimeoutError:
            said.append(b"nothing, and is open")
        link.close()
    check(said == [b""] * 25, f"halves of requests are ended without an answer: {said}")


def streams(s):
    """Text that a stream calls final stays, as the beginning of the output. The server notices a client that disconnects during its
    stream."""
    lines = [sentence(8, 20) for _ in range(6)]
    plain = decode_lines(lines)
    text = s.request("POST", "/v1/decode", {"inputs": lines, "stream": True})[1]
    events = [(block.split("\n")[0][7:], json.loads(block.split("\n")[1][6:])) for block in text.strip().split("\n\n")]
    final, results = [""] * 6, {}
    for name, data in events:
        if name == "final":
            check(data["text"].startswith(final[data["input"]]), "what is final is not taken back")
            final[data["input"]] = data["text"]
        elif name == "result":
            results[data["input"]] = data["outputs"][0]["text"]
    check(events[-1] == ("end", {}) and [results[i] for i in range(6)] == plain, "a stream's results are decode's")
    check(all(results[i].startswith(final[i]) for i in range(6)) and any(final), "and begin with what was final")
    check(sum(name == "draft" for name, _ in events) > 20, "drafts")
    large = json.dumps({"inputs": [sentence(20, 30) for _ in range(900)], "options": {"k": WIDE}, "stream": True}).encode()
    link = s.raw(b"POST /v1/decode HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(large) + large)
    check(b"text/event-stream" in link.recv(200), "a large stream begins")
    link.close()
    check(until(lambda: s.counts()["inputs_waiting"] == 0 and s.counts()["inputs_under_way"] == 0, 60 if RACES else 5), "it is given up")


def answered_before(s):
    """Identical requests, earlier or in flight, are not decoded again; different requests are."""
    line, count = sentence(10, 12), lambda name: s.counts()["inputs_" + name + "_total"]
    before, first = count("from_cache"), s.decode(input=line)
    check(s.decode(input=line) == first and count("from_cache") == before + 1, "an answer that was given before")
    events = s.request("POST", "/v1/decode", {"input": line, "stream": True})[1]
    check("event: result" in events and "event: end" in events and count("from_cache") == before + 2, "a stream of it")
    check(s.decode(input=line, options={"k": 3})[0] == 200, "another search")
    check("tokens" in s.decode(input=line, tokens=True)[1]["outputs"][0], "other things told")
    check(count("from_cache") == before + 2, "are decoded")
    line = sentence(6, 8)
    drawn = s.decode(inputs=[line, line, sentence(6, 8)], options={"sample": 2, "seed": 7})[1]["results"]
    texts = [output["text"] for result in drawn[:2] for output in result["outputs"]]
    asked = [said.split(" ||| ")[1] for said in decode_lines([line, line], "--sample", "2", "--seed", "7", "--n-best", "2")]
    check(texts == asked and texts[:2] != texts[2:], "samples are the command's, by their place")
    before = count("from_cache")
    check(s.decode(inputs=[line], options={"sample": 2, "seed": 7})[1]["results"] == drawn[:1], "and the same when they are asked again")
    check(count("from_cache") == before + 1, "from the cache")
    line, before = sentence(25, 30), count("shared")
    slow = {"input": line, "options": {"k": WIDE, "max-candidates": WIDE}}
    head, body = b"POST /v1/decode HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n", json.dumps(slow).encode()
    beside = json.dumps({"inputs": [sentence(20, 30) for _ in range(40 if RACES else 600)], "options": slow["options"]}).encode()
    large = s.raw(head % len(beside) + beside)
    check(until(lambda: s.counts()["inputs_under_way"] > 8), "many are under way")
    gone = s.raw(head % len(body) + body)
    time.sleep(0.05)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(s.decode, **slow) for _ in range(4)]
        check(until(lambda: count("shared") > before), "others wait for it")
        gone.close()
        results = [f.result() for f in asked]
    check(results[0][0] == 200 and all(r == results[0] for r in results), "who asked first goes, the others are answered")
    large.close()
    code, body = s.decode(input=line, timeout=1e-9)  # A deadline makes another search than the one in the cache.
    check(code == 422 and body["error"] == {"code": "timeout", "message": "the deadline passed while the input was queued"},
          f"late: {code} {body}")
    check(s.decode(**slow, timeout=1e-9) == results[0], "what is known is not late")


def bounds(s):
    """A request cannot exceed the server's limits. A deadline also holds while the request is queued."""
    for name in ("k", "n-best", "max-candidates"):
        code, body = s.decode(input="a", options={name: 1001})
        check(code == 400 and "--max-beam-size" in body["error"]["message"], f"{name}: {code} {body}")
    beside = json.dumps({"inputs": [sentence(20, 30) for _ in range(100 if RACES else 900)],
                         "options": {"k": 30, "max-candidates": 30}}).encode()
    large = s.raw(b"POST /v1/decode HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(beside) + beside)
    check(until(lambda: s.counts()["inputs_under_way"] > 8), "many are under way")
    begin = time.monotonic()
    code, body = s.decode(inputs=[sentence(5, 9) for _ in range(400)], timeout=0.3)
    check(code == 200 and len(body["results"]) == 400 and time.monotonic() - begin < (30 if RACES else 3), "a deadline in the queue")
    check(any(r.get("error", {}).get("code") == "timeout" for r in body["results"]), "which says so")
    large.close()


def wishes(s):
    """Constraints and glossaries of a request give the results of `rill decode --constraints`."""
    lines = ["Ein Hund läuft über die Wiese.", "Zwei Männer sitzen."]
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("ban:dog\nrequire:women\n")
        file.flush()
        wished = decode_lines(lines, "--constraints", file.name)
    code, body = s.decode(inputs=lines, constraints=["ban:dog", "require:women"])
    check(code == 200 and [r["outputs"][0]["text"] for r in body["results"]] == wished, "constraints")
    one, other = (s.decode(input=lines[0], constraints=line)[1]["outputs"][0]["text"] for line in ("ban:dog", "ban:run"))
    alone = decode_lines(lines[:1])[0]
    check("dog" in alone and "dog" not in one and "dog" in other, f"constraints of one length are not each other's: {one} {other}")
    check(one == wished[0] and s.decode(input=lines[0])[1]["outputs"][0]["text"] == alone, "nor those of an input without any")
    check(s.decode(inputs=lines, constraints=[None, ""])[1]["results"] == s.decode(inputs=lines)[1]["results"], "no constraints")
    texts = [r["outputs"][0]["text"] for r in s.decode(inputs=lines, glossary={"hund": "puppy", "männer": "women"})[1]["results"]]
    check("puppy" in texts[0] and "women" in texts[1], "a glossary")
    for wrong in ({"constraints": "huh:dog"}, {"constraints": [None]}, {"constraints": 1}, {"glossary": {"a": 1}}, {"glossary": {"": "b"}},
                  {"glossary": {"a": "b ||| c"}}, {"constraints": "ban:a", "split": "lines"}, {"constraints": "ban:a\nban:b"},
                  {"glossary": {"a": "b\rc"}}, {"glossary": {"a": "b" * 201}}):
        check(s.decode(inputs=lines, **wrong)[0] == 400, f"{wrong}")
    begin, terms = time.monotonic(), {f"{'a' * 190}{i}": "b" for i in range(300)}
    code, body = s.decode(input="a" * 300000, glossary=terms)
    check(code == 422 and "bytes" in body["error"]["message"], f"long terms in a long word: {code} {body}")
    check(s.decode(input="a" * 400000, glossary=terms)[0] == 413 and time.monotonic() - begin < (60 if RACES else 10), "too many of them")
    code, body = s.decode(inputs=lines, split="sentences", options={"n-best": 2})
    check([r["text"] for r in body["results"]] == decode_lines(lines) and len(body["results"][0]["parts"][0]["outputs"]) == 2, "parts")
    code, body = s.decode(input="Ein Hund. " * 1500, split="sentences")
    check(code == 413 and "more than 1000" in body["error"]["message"], "too many parts")
    check(s.decode(input="a", split="x")[0] == 400 and s.decode(input="a", split="lines", stream=True)[0] == 400, "no such parts")


def reload():
    """When models are reloaded, new ones replace the old ones and no request is lost. If a new model cannot be read, the old one stays."""
    with tempfile.TemporaryDirectory() as folder:
        link, other = os.path.join(folder, "model"), os.path.join(folder, "token")
        os.symlink(MODEL, link)
        with open(other, "w") as file:
            file.write("one\n")
        with Server("--api-key-file", other, models=(link,)) as s:
            lines, plain = [sentence() for _ in range(20 if RACES else 300)], None
            body = {"inputs": lines, "options": {"k": 10}}
            request = lambda word: s.request("POST", "/v1/decode", body, {"Authorization": "Bearer " + word})
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                slow = pool.submit(request, "one")
                time.sleep(0.3)
                with open(other, "w") as file:
                    file.write("two\n")
                s.process.send_signal(signal.SIGHUP)
                check(until(lambda: request("two")[0] == 200), "another token, and models that answer")
                code, plain, _ = slow.result()
            check(code == 200 and all("outputs" in r for r in plain["results"]), "what was under way is answered")
            check(request("one")[0] == 401, "the old token is of no use")
            os.remove(link)
            s.process.send_signal(signal.SIGHUP)
            time.sleep(1)
            check(request("two")[1] == plain, "without a model to read the old one answers")
        check(s.code == 0 and "the models are reloaded" in s.log and "the previous models stay in use" in s.log, f"{s.code} {s.log}")


def page(s):
    """The page loads no other file. (serve_page.py tests it in a browser.)"""
    code, text, headers = s.request("GET", "/")
    check(code == 200 and "default-src 'none'" in headers["Content-Security-Policy"], "the page")
    check("frame-ancestors 'none'" in headers["Content-Security-Policy"], "no other page shows it, whose address could send inputs")
    check(not re.search(r"https?://", text.replace("http://www.w3.org/2000/svg", "")), "it needs no other place")
    line = "ein hund läuft über die wiese ."
    code, trace, _ = s.request("POST", "/v1/trace", {"inputs": [line, sentence()], "options": {"k": 4}})
    events = [json.loads(row) for row in trace.splitlines()]
    best = [e["output"] for e in events if e["event"] == "result" and e["item"] == 0]
    check(code == 200 and best == decode_lines([line], "-k", "4"), "a search that is looked at is the search")
    check(any("hypotheses" in e for e in events) and events[-1]["event"] == "actions", "and has its trees")
    check(s.request("POST", "/v1/trace", {"inputs": ["a"] * 21})[0] == 400, "of a few inputs alone")


def full_queue():
    with Server("--queue-size", "50", "--max-body-size", "100K") as s:
        large = [{"inputs": [sentence(20, 30) for _ in range(50)], "options": {"k": 8 if RACES else 30, "max-candidates": 8}}
                 for _ in range(6)]
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            codes = [f.result() for f in [pool.submit(s.request, "POST", "/v1/decode", body) for body in large]]
        refused = [headers for code, _, headers in codes if code == 503]
        check(refused and all("Retry-After" in h for h in refused), "a full queue refuses at once")
        check(any(code == 200 for code, _, _ in codes), "and answers what it took")


def token():
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("secret word\n")
        file.flush()
        with Server("--api-key-file", file.name) as s:
            code, body, headers = s.request("POST", "/v1/decode", {"input": "a"})
            check(code == 401 and headers["WWW-Authenticate"] == "Bearer" and body["error"]["code"] == "unauthorized", "no token")
            given = lambda word: s.request("POST", "/v1/decode", {"input": "a"}, {"Authorization": word})[0]
            for word in ("secret wor", "secret wors", "secret words", "secret wordse", "secret wordsecret word", "Secret word", "secret",
                         "",
                         " secret word", "secret word word", "ecret word", "xecret word"):
                check(given("Bearer " + word) == 401, f"another token: {word}")
            for word in ("Basic secret word", "secret word", "Bearersecret word", "Bearer", ""):
                check(given(word) == 401, f"no token: {word}")
            check(given("Bearer secret word") == given("bearer secret word") == 200, "the token")
            check(s.request("POST", "/translate", {"q": "a", "source": "de", "target": "en"})[0] == 401, "translations need it")
            check(s.request("GET", "/health")[0] == 200 and s.request("GET", "/metrics")[0] == 401, "health is open, figures are not")


def libre():
    with Server(models=("de-en=" + MODEL, "en-fr=" + MODEL)) as s:
        request = lambda **body: s.request("POST", "/translate", body)[:2]
        plain = decode_lines(["ein hund .", "ein mann ."])
        check(request(q="ein hund .", source="de", target="en") == (200, {"translatedText": plain[0]}), "a text")
        check(request(q=["ein hund .", "ein mann ."], source="de", target="en") == (200, {"translatedText": plain}), "texts")
        check(request(q="ein hund .", source="de", target="fr") == (200, {"translatedText": decode_lines(plain[:1])[0]}), "through a third")
        check(request(q="ein hund .", source="auto", target="en")[0] == 200, "the only source there is")
        code, body = request(q="ein hund .", source="de", target="en", alternatives=2)
        check(code == 200 and len(body["alternatives"]) == 2, "alternatives")
        code, body = request(q="<p>Ein <i>Hund</i> &rarr; läuft.</p>\n", source="de", target="en", format="html", alternatives=2)
        check(code == 200 and all(re.fullmatch(r"<p>[^<]*<i>[^<]*</i>[^<]*&rarr;[^<]*</p>\n", text)
                                  for text in (body["translatedText"], *body["alternatives"])), "alternatives with markup")
        long = "A " * 9000 + "."
        for target in ("en", "fr"):
            code, body = request(q=["Ein Hund. " + long, "Ein Mann."], source="de", target=target)
            one = decode_lines(["Ein Hund.", "Ein Mann."])
            if target == "fr":
                one = decode_lines(one)
            check(code == 200 and body["translatedText"] == [f"{one[0]} {long}", one[1]] and
                  [(bad["q"], bad["text"]) for bad in body["untranslated"]] == [(0, long)], "a sentence that stays")
        code, body = request(q=[long], source="de", target="fr")
        check(code == 400 and "bytes" in body["error"], "nothing that could be translated")
        code, body = request(q="a", source="de", target="xx")
        check(code == 400 and isinstance(body["error"], str), "languages that are not there")
        check(request(q="Ein Hund.\n\n Ein Mann.  Ein Kind.", source="de", target="en")[1]["translatedText"] ==
              "{}\n\n {}  {}".format(*decode_lines(["Ein Hund.", "Ein Mann.", "Ein Kind."])), "paragraphs")
        code, body = request(q="<p>Ein Hund &amp; ein Mann.</p>\n<hr> <p></p>", source="de", target="fr", format="html")
        check(code == 200 and re.fullmatch(r"<p>[^<]+</p>\n<hr> <p></p>", body["translatedText"]), "markup, through a third")
        check(request(q=" \n", source="de", target="fr") == (200, {"translatedText": " \n"}), "nothing to translate")
        check(request(q="a", source="de", target="en", format="pdf")[0] == 400, "another format")
        form = s.request("POST", "/translate", "q=ein+hund+%2E&source=de&target=en", {"Content-Type": "application/x-www-form-urlencoded"})
        check(form[:2] == (200, {"translatedText": plain[0]}), "a form")
        check(s.request("GET", "/languages")[1] == [{"code": "de", "name": "German", "targets": ["en", "fr"]},
                                                {"code": "en", "name": "English", "targets": ["fr"]}], "languages")


def languages():
    """A model named FROM-TO, with one dash, has these languages. If several models have the target, the source language is not guessed."""
    plain = decode_lines(["ein hund ."])[0]
    with Server(models=("de-en=" + MODEL, "fr-en=" + MODEL)) as s:
        request = lambda **body: s.request("POST", "/translate", {"q": "ein hund .", **body})[:2]
        code, body = request(source="auto", target="en")
        check(code == 400 and "does not detect languages" in body["error"], f"two sources: {code} {body}")
        expected = (200, {"translatedText": plain})
        check(request(source="fr", target="en") == request(source="de", target="en") == expected, "either by its name")
        check(request(source="de", target="fr")[0] == request(source="en", target="de")[0] == 400, "nothing leads there")
    with Server(models=("my-de-en=" + MODEL, "plain=" + MODEL, "x-=" + MODEL, "-y=" + MODEL)) as s:
        check(s.request("GET", "/languages")[:2] == (200, []), "names that are no pairs")
        for source, target in (("my", "de-en"), ("my-de", "en"), ("my", "en"), ("de", "en"), ("auto", "en"), ("auto", "de-en"), ("x", ""),
                               ("", "y"), ("auto", "")):
            check(s.request("POST", "/translate", {"q": "a", "source": source, "target": target})[0] == 400, f"{source} into {target}")


def ordinals(s):
    """In German, a number of one or two digits with a dot before a word is an ordinal and ends no sentence."""
    for text, n in (("Am 23. Mai läuft ein Hund.", 1), ("Am 3. Mai läuft ein Hund.", 1), ("Der 1. Hund. Der 12. Mann.", 2),
                    ("Das war 1923. Ein Hund läuft.", 2), ("Es sind 123. Ein Hund läuft.", 2)):
        code, body = s.decode(input=text, split="sentences")
        check(code == 200 and len(body["parts"]) == n, f"{text}: {[part['input'] for part in body['parts']]}")


def stopping():
    s = Server("--shutdown-timeout", "120")
    lines = [sentence(10, 20) for _ in range(20 if RACES else 300)]
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        asked = pool.submit(s.decode, inputs=lines, options={"k": 10})
        check(until(lambda: s.counts()["inputs_under_way"] > 0), "under way")
        s.process.send_signal(signal.SIGTERM)
        code, body = asked.result()
    s.stop(asked=True)
    check(code == 200 and len(body["results"]) == len(lines), "what was accepted is answered")
    check(all("outputs" in r for r in body["results"]), "with outputs")
    check(s.code == 0, f"and the server ends well: {s.code} {s.log}")
    s = Server("--shutdown-timeout", "0")
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        asked = pool.submit(s.decode, inputs=lines * 3, options={"k": 30, "max-candidates": 30})
        check(until(lambda: s.counts()["inputs_under_way"] > 0), "under way again")
        s.process.send_signal(signal.SIGTERM)
        code, body = asked.result()
        check(any("error" in r for r in body["results"]), "what is not decoded in time says so")
    s.stop(asked=True)
    check(s.code == 1 and "not answered" in s.log, f"no time to drain: {s.code} {s.log}")


def usage():
    # Aliases of the server's options. --patience is an option of the search.
    old = ["--max-waiting", "9", "--max-width", "90", "--drain", "9"]
    with Server("--patience", "3", *old, "--max-body-size", "1K", "--cache-size", "0") as s:
        check(s.request("GET", "/v1/models")[1]["models"][0]["options"]["stop_after"] == 15, "--patience is the search's")
        check(s.request("POST", "/v1/decode", {"input": "a", "options": {"k": 91}})[0] == 400, "--max-width is --max-beam-size")
        check(s.request("POST", "/v1/decode", {"inputs": ["a"] * 10})[0] == 503, "--max-waiting is --queue-size")
        check(s.request("POST", "/v1/decode", {"input": "a " * 100})[0] == 200, "a body below 1K")
        check(s.request("POST", "/v1/decode", {"input": "a " * 600})[0] == 413, "a body above 1K")
    for options, word in (([], "no model"), (["-m", MODEL, "--request-timeout", "0"], "request-timeout"),
                          (["-m", MODEL, "-m", MODEL], "two models"),
                          (["-m", MODEL, "--host", "no.such.host.invalid"], "no.such"),
                          (["-m", MODEL, "--max-body", "100"], "use --max-body-size SIZE, a number of bytes as in 1M"),
                          (["-m", MODEL, "--cache", "64"], "use --cache-size SIZE, a number of bytes as in 64M"),
                          (["-m", MODEL, "--cache-size", "64X"], "\"64X\" is not a number of bytes from 0 to 1T"),
                          (["-m", MODEL, "--max-body-size", "0"], "--max-body-size: \"0\" is not a number of bytes from 1 to 1G"),
                          (["-m", MODEL, "--max-body-size", ""], '--max-body-size: "" is not a number of bytes'),
                          (["-m", MODEL, "--max-body-size", "2G"], '"2G" is not a number of bytes from 1 to 1G'),
                          (["-m", MODEL, "--max-request", "64"], '"64" is not a number of bytes from 1M to 1T'),
                          (["-m", MODEL, "--unordered"], "unordered"), (["-m", MODEL, "--port", "x"], "port")):
        run = subprocess.run([RILL, "serve", "--port", "0", *options], stderr=subprocess.PIPE, text=True)
        check(run.returncode == 1 and word in run.stderr, f"{options}: {run.returncode} {run.stderr}")


def main():
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)  # The servers would inherit an ignored signal from this process.
    with Server("--request-timeout", "3", "--workers", "2") as s:
        for part in (answers, refusals, description, streams, answered_before, bounds, wishes, ordinals, figures, page, slow_and_gone):
            if not RACES or part not in (refusals, description, ordinals, figures):
                part(s)
    check(s.code == 0, f"the end: {s.code} {s.log}")
    for part in (full_queue, token, libre, reload, stopping) if RACES else (full_queue, token, libre, languages, reload, stopping, usage):
        part()
    return finish()


if __name__ == "__main__":
    sys.exit(main())
