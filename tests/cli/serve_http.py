#!/usr/bin/env python3
"""`rill serve` over HTTP. Ambiguous requests are refused, pages of other origins cannot send requests, and an API key must match
completely. Idle connections block nobody. Timeouts apply to sending requests, not to computing responses.

usage: serve_http.py RILL SOURCE_ROOT
"""

import json
import re
import socket
import subprocess
import sys
import time

from rill_server import MODEL, RACES, RILL, Server, check, decode_lines, finish, sentence, until

INPUT = "ein hund ."
BODY = json.dumps({"input": INPUT}).encode()
SECOND = b"GET /smuggled HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def talk(s, data, seconds=5):
    """Return everything that the server sends in response to these bytes until it closes, and whether it closes the connection."""
    link = s.raw(data)
    link.settimeout(seconds)
    said, closed = b"", True
    try:
        while part := link.recv(65536):
            said += part
    except socket.timeout:
        closed = False
    except ConnectionResetError:
        pass
    link.close()
    return said, closed


def codes(said):
    return [int(code) for code in re.findall(rb"HTTP/1\.1 (\d+)", said)]


def framing(s):
    """RFC 9112, 3.2, 5.1, 6.1, 6.3: a message that two parsers may read differently is refused, and the bytes after it are not read."""
    length = b"Content-Length: %d\r\n" % len(BODY)
    chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
    behind = b"0\r\n\r\n" + SECOND
    both = b"Content-Length: %d\r\n" % len(behind)
    for headers, body, code in (
            (b"Content-Length: %d\r\n" % (len(BODY) + len(SECOND)) + length, BODY, 400),
            (length + b"Content-Length: 99\r\n", BODY, 400), (length + length, BODY, 400), (length + b"content-length: 0\r\n", BODY, 400),
            (b"Content-Length: %d, %d\r\n" % (len(BODY), len(BODY)), BODY, 400), (b"Content-Length: +%d\r\n" % len(BODY), BODY, 400),
            (b"Content-Length: -1\r\n", BODY, 400), (b"Content-Length: 0x16\r\n", BODY, 400), (b"Content-Length: 2 2\r\n", BODY, 400),
            (b"Content-Length:\r\n", BODY, 400), (b"Content-Length: %d\r\n" % 10**40, BODY, 413),
            (b"Content-Length : %d\r\n" % len(BODY), BODY, 400),
            (both + b"Transfer-Encoding: chunked\r\n", behind, 400), (b"Transfer-Encoding: chunked\r\n" + both, behind, 400),
            (b"Transfer-Encoding : chunked\r\n" + both, behind, 400), (b"Transfer-Encoding: xchunked\r\n" + both, behind, 400),
            (b"Transfer-Encoding: identity, chunked\r\nContent-Length: 5\r\n", behind, 400),
            (b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", chunked, 400),
            (b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", chunked, 400),
            (b"Transfer-Encoding: gzip\r\n", chunked, 501), (b"Transfer-Encoding: gzip, chunked\r\n", chunked, 501),
            (b"Transfer-Encoding: chunked, chunked\r\n", chunked, 501), (b"Transfer-Encoding: identity\r\n", chunked, 501),
            (b"Transfer-Encoding:\r\n", chunked, 501), (b"X Y: 1\r\n" + length, BODY, 400), (b"X\tY: 1\r\n" + length, BODY, 400)):
        for method in (b"POST /v1/decode", b"GET /health"):
            said, closed = talk(s, method + b" HTTP/1.1\r\nHost: localhost\r\n" + headers + b"\r\n" + body + SECOND)
            # libmicrohttpd writes the head of its own responses twice. Newer versions refuse a transfer coding themselves, with 400.
            check(set(codes(said)) in ({code}, {min(code, 400)}) and closed, f"{method} {headers}: {codes(said)} {closed} {said[-100:]}")
    for line, host, code in ((b"HTTP/1.1", b"", 400), (b"HTTP/1.1", b"Host: localhost\r\nHost: localhost\r\n", 400),
                             (b"HTTP/1.1", b"Host: localhost\r\nhost: evil.example\r\n", 400),
                             (b"HTTP/1.0", b"Host: localhost\r\nHost: localhost\r\n", 400), (b"HTTP/1.0", b"", 200)):
        said, closed = talk(s, b"POST /v1/decode " + line + b"\r\n" + host + length + b"\r\n" + BODY + (SECOND if code != 200 else b""))
        check(codes(said) == [code] and closed, f"{line} {host}: {codes(said)} {closed}")
    # Folded header lines: they may be refused. A version of libmicrohttpd that accepts them must join them correctly.
    fold = b"Content-Length:\r\n %d\r\n" % len(SECOND)
    for headers in (fold, b"X: 1\r\n" + fold, b"Content-Length:\r\n\t%d\r\n" % len(SECOND), b"Content-Length: 0\r\n %d\r\n" % len(SECOND),
                    b"Content-Length: 6\r\n 2\r\n", b"Transfer-Encoding:\r\n chunked\r\n", b"Transfer-Encoding: chun\r\n ked\r\n",
                    fold + b"Expect: 100-continue\r\n", fold + b"Content-Length: 0\r\n"):
        for first in (b"POST /v1/decode", b"GET /health", b"GET /nowhere", b"DELETE /health"):
            said, closed = talk(s, first + b" HTTP/1.1\r\nHost: localhost\r\n" + headers + b"\r\n" + SECOND)
            check(404 not in codes(said)[1:] and closed, f"{first} {headers}: {codes(said)} {closed}")
    said, closed = talk(s, b"POST /v1/decode HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked + SECOND)
    check(codes(said) == [400] and closed, f"chunks in HTTP/1.0: {codes(said)} {closed}")
    text = s.decode(input=INPUT)[1]["outputs"][0]["text"].encode()
    for headers, body in ((length, BODY), (b"Transfer-Encoding: Chunked\r\n", chunked), (b"content-length:%d\r\n" % len(BODY), BODY),
                          (b"Content-Length: 000%d\r\n" % len(BODY), BODY)):
        said, closed = talk(s, b"POST /v1/decode HTTP/1.1\r\nHost: localhost\r\n" + headers + b"\r\n" + body + SECOND)
        check(codes(said) == [200, 404] and text in said, f"two requests on a connection, {headers}: {codes(said)}")


def request(s, headers, path="/v1/decode", body=BODY, method="POST"):
    """Send a request with these headers and those that its body needs. Return the status, the response and its headers."""
    lines = [f"{method} {path} HTTP/1.1", "Connection: close", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers]
    said = talk(s, "\r\n".join(lines).encode() + b"\r\n\r\n" + body)[0]
    head, _, text = said.partition(b"\r\n\r\n")
    return codes(head)[0], text.decode(), dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:])


JSON, FORM = ("Content-Type", "application/json"), ("Content-Type", "application/x-www-form-urlencoded")


def sources(s, allowed=()):
    """Pages of other origins cannot send requests, by whichever name they call the server. Clients that are no browsers can."""
    port, own = s.port, ("Host", f"localhost:{s.port}")
    for host in (f"localhost:{port}", "localhost", "LocalHost", "localhost.", f"127.0.0.1:{port}", "127.8.9.10", "[::1]", f"[::1]:{port}",
                 "rill.localhost", f"localhost:{port + 1}", socket.gethostname()):
        check(request(s, [("Host", host), JSON])[0] == 200, f"Host {host}")
    for host in ("evil.example", f"evil.example:{port}", "localhost.evil.example", "127.0.0.1.evil.example", "evil-localhost", "10.0.0.1",
                 "128.0.0.1", "[::2]", "[::1", "localhost:1:2", "localhost:x", "127.1", "", ".", "user@localhost", "localhost/", "[::1]x"):
        for method, path in (("POST", "/v1/decode"), ("GET", "/"), ("GET", "/metrics"), ("POST", "/translate"), ("OPTIONS", "/v1/decode")):
            code, text, _ = request(s, [("Host", host), JSON], path, BODY if method == "POST" else b"", method)
            check(code == 403 and "is not this machine" in text, f"{method} {path}, Host {host}: {code} {text}")
    for origin in (f"http://localhost:{port}", f"https://localhost:{port}", f"HTTP://LOCALHOST:{port}", *allowed):
        check(request(s, [own, JSON, ("Origin", origin)])[0] == 200, f"Origin {origin}")
    for origin in ("http://evil.example", "https://evil.example", "null", "", f"http://localhost:{port + 1}", f"http://127.0.0.1:{port}",
                   "http://localhost", f"ftp://localhost:{port}", f"localhost:{port}", f"http://localhost:{port}.evil.example"):
        for kind in ([JSON], [FORM], [("Content-Type", "text/plain")], []):
            for path in ("/v1/decode", "/v1/trace", "/translate"):
                code, text, headers = request(s, [own, ("Origin", origin), *kind], path)
                check(code == 403 and "may not send requests" in text and "Access-Control-Allow-Origin" not in headers,
                      f"{path}, Origin {origin}, {kind}: {code} {text}")
        code, text, headers = request(s, [own, ("Origin", origin), ("Access-Control-Request-Method", "POST")], body=b"", method="OPTIONS")
        check(code == 403 and "Access-Control-Allow-Origin" not in headers, f"preflight of {origin}: {code} {text}")
    check(request(s, [own, JSON, ("Origin", f"http://localhost:{port}"), ("Origin", "http://evil.example")])[0] == 403, "two origins")


def types(s):
    """A content type that a page can send without a CORS preflight is not accepted as JSON. curl's default content type is accepted."""
    own, page = ("Host", f"localhost:{s.port}"), ("Origin", f"http://localhost:{s.port}")
    plain = decode_lines([INPUT])[0]
    for kind, without, within in (([JSON], 200, 200), ([("Content-Type", "Application/JSON; charset=utf-8")], 200, 200), ([], 200, 415),
                                  ([("Content-Type", "application/json;charset=utf-8")], 200, 200), ([FORM], 200, 415),
                                  ([("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")], 200, 415),
                                  ([("Content-Type", "text/plain")], 415, 415),
                                  ([("Content-Type", "multipart/form-data; boundary=a")], 415, 415),
                                  ([("Content-Type", "application/jsonp")], 415, 415), ([("Content-Type", "")], 415, 415)):
        code, text, _ = request(s, [own, *kind])
        check(code == without and (code != 200 or json.loads(text)["outputs"][0]["text"] == plain), f"{kind}: {code} {text}")
        check(request(s, [own, page, *kind])[0] == within, f"{kind}, of a page")
    check(request(s, [own, FORM], body=b"input=a")[0] == 415, "a form that is one")
    form = b"q=ein+hund+.&source=de&target=en"
    for headers in ([own, FORM], [own, page, FORM]):
        code, text, _ = request(s, headers, "/translate", form)
        check(code == 200 and json.loads(text) == {"translatedText": plain}, f"LibreTranslate's forms: {code} {text}")


def origins():
    """Pages of allowed origins can send requests and read responses. A proxy may forward the allowed origin's host name."""
    one, two = "https://translate.example", "http://localhost:3000"
    with Server("--allow-origin", one, "--allow-origin", two) as s:
        own = ("Host", f"localhost:{s.port}")
        sources(s, allowed=(one, two, one.upper()))
        for origin in (one, two):
            code, text, headers = request(s, [own, ("Origin", origin), ("Access-Control-Request-Method", "POST"),
                                          ("Access-Control-Request-Headers", "content-type")], body=b"", method="OPTIONS")
            check(code == 204 and text == "" and headers["Access-Control-Allow-Origin"] == origin and headers["Vary"] == "Origin" and
                  headers["Access-Control-Allow-Methods"] == "POST" and "Content-Type" in headers["Access-Control-Allow-Headers"],
                  f"preflight of {origin}: {code} {headers}")
            for body, answer in ((BODY, 200), (b"{", 400), (json.dumps({"input": INPUT, "stream": True}).encode(), 200)):
                code, _, headers = request(s, [own, ("Origin", origin), JSON], body=body)
                check(code == answer and headers["Access-Control-Allow-Origin"] == origin, f"{origin} may read {body}: {code} {headers}")
            check(request(s, [own, ("Origin", origin), FORM])[0] == 415, "a form of an allowed page is no JSON")
        check(request(s, [own, ("Origin", one)], "/nowhere", b"", "OPTIONS")[0] == 404, "a preflight of nothing")
        check("Access-Control-Allow-Origin" not in request(s, [own, JSON])[2], "nothing is said of origins where none asks")
        check(request(s, [("Host", "translate.example"), ("Origin", one), JSON])[0] == 200, "a proxy hands its name on")
    with Server("--allow-origin", "*") as s:
        check(request(s, [("Host", "localhost"), ("Origin", "http://evil.example"), JSON])[0] == 200, "all origins")
        check(request(s, [("Host", "evil.example"), JSON])[0] == 200, "and by any name")
    for wrong in ("", "example.org", "https://", "https://example.org/", "https://example.org/a", "://a", "https://a b", "https://a\nb"):
        run = subprocess.run([RILL, "serve", "--port", "0", "-m", MODEL, "--allow-origin", wrong], stderr=subprocess.PIPE, text=True)
        check(run.returncode == 1 and "--allow-origin" in run.stderr, f"--allow-origin {wrong!r}: {run.returncode} {run.stderr}")


def is_open(link):
    """Read what has come, and return whether the server has kept the connection open."""
    link.setblocking(False)
    try:
        while link.recv(65536):
            pass
        return False
    except BlockingIOError:
        return True
    except ConnectionResetError:
        return False


def idlers():
    """Idle connections, wherever they are in a request, block nobody. Connections with requests in flight stay open."""
    head = b"POST /v1/decode HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n"
    large = json.dumps({"inputs": [sentence(20, 30) for _ in range(30 if RACES else 60)],
                        "options": {"k": 30, "max-candidates": 30}}).encode()
    for sent in (b"", b"POST /v1/de", head, head + b"{" * 500, b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"):
        with Server("--max-connections", "8", "--request-timeout", "600") as s:
            busy = s.raw(b"POST /v1/decode HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(large) + large)
            idle = []
            for _ in range(60):
                idle.append(s.raw(sent))
                check(s.request("GET", "/health", timeout=30)[0] == 200, f"{sent[:20]}: another comes in")
            check(s.decode(input=INPUT)[0] == 200, f"{sent[:20]}: and is answered")
            check(until(lambda: not any(is_open(link) for link in idle[:50])), f"{sent[:20]}: the oldest made room")
            check(sum(map(is_open, idle)) > 2, f"{sent[:20]}: and no more of them than had to")
            busy.settimeout(60)
            said = busy.recv(65536)
            check(codes(said) == [200], f"{sent[:20]}: one that waits for its answer stays: {said[:60]}")
            for link in (busy, *idle):
                link.close()
        check(s.code == 0, f"the end: {s.code} {s.log}")


def nul_in_path(s):
    """A path or a field of a query that contains %00 does not end there."""
    for path in ("/%00", "/health%00", "/metrics%00x", "/v1/decode%00"):
        for method in ("GET", "POST"):
            code, body, _ = s.request(method, path)
            check(code == 404 and path in body["error"]["message"], f"{method} {path}: {code} {body}")
    query = "/translate?source=de&target=en&q=Ein+Hund.%00Ein+Mann."
    code, body, _ = s.request("POST", query, headers={"Content-Type": None})
    check(code == 200 and body["translatedText"] != s.decode(input="Ein Hund.")[1]["outputs"][0]["text"], f"{query}: {code} {body}")


def above_the_limit():
    """While all connections wait for responses, /health and the like are still answered. Decoding is refused until connections are free
    again."""
    head = b"POST /v1/decode HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"
    with Server("--max-connections", "3", "--request-timeout", "600") as s:
        busy = []
        for _ in range(3):
            large = json.dumps({"inputs": [sentence(20, 30) for _ in range(100 if RACES else 1000)],
                                "options": {"k": 60, "max-candidates": 60}}).encode()
            busy.append(s.raw(head % len(large) + large))
        # Wait until these requests have arrived. To make room, the server closes connections that have not sent their request.
        time.sleep(1)
        check(until(lambda: s.counts()["inputs_under_way"] > 8), "many are under way")
        for path in ("/health", "/ready", "/metrics", "/v1/models", "/"):
            code, _, headers = s.request("GET", path, timeout=30)
            check(code == 200 and headers.get("Connection", "").lower() == "close", f"{path} is answered: {code}")
        for path, body in (("/v1/decode", {"input": INPUT}), ("/translate", {"q": INPUT, "source": "de", "target": "en"})):
            code, answer, headers = s.request("POST", path, body, timeout=30)
            is_said = "--max-connections" in str(answer.get("error")) and headers.get("Retry-After") == "1"
            check(code == 503 and is_said, f"{path}: {code} {answer}")
        silent = [s.raw(b"") for _ in range(40)]
        check(s.request("GET", "/health", timeout=30)[0] == 200, "behind many that say nothing")
        check(all(map(is_open, busy)), "those that wait stay")
        for link in (*silent, *busy):
            link.close()
        check(until(lambda: s.decode(input=INPUT)[0] == 200), "and when they are gone, decoding is not refused")
    check(s.code == 0, f"the end: {s.code} {s.log}")


def heads():
    """Errors in request heads are JSON, even where libmicrohttpd would send a page of its own."""
    with Server() as s:
        for n in (33000, 48000, 60000):
            for line in (b"GET /%s HTTP/1.1\r\nHost: localhost\r\n\r\n" % (b"a" * n),
                         b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: %s\r\n\r\n" % (b"a" * n),
                         b"POST /translate?q=%s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}" % (b"a" * n)):
                said, closed = talk(s, line + SECOND)
                is_json = b'{"error":' in said
                check(codes(said) == [431] and closed and is_json, f"a head of {n} bytes: {codes(said)} {closed} {said[-100:]}")
        said, _ = talk(s, b"GET /%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" % (b"a" * 32000))
        check(codes(said) == [404], "a head of 32000 bytes is read")
        check(codes(talk(s, b"GET /%s HTTP/1.1\r\nHost: localhost\r\n\r\n" % (b"a" * 99000))[0])[:1] == [414], "a much larger head")


def addresses():
    """Over the limit, the client with the most connections loses one first: another client's slow upload stays."""
    with Server("--max-connections", "8", "--request-timeout", "600") as s:
        slow = socket.create_connection((s.host, s.port), source_address=("127.0.0.2", 0))
        slow.sendall(b"POST /v1/decode HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY[:5])
        idle = []
        for _ in range(40):
            idle.append(s.raw(b""))
            check(s.request("GET", "/health", timeout=30)[0] == 200, "another comes in")
        slow.sendall(BODY[5:])
        slow.settimeout(60)
        check(codes(slow.recv(65536)) == [200], "the slow one is answered")
        check(not is_open(idle[0]), "and the oldest of the many made room")
        for link in (slow, *idle):
            link.close()
    check(s.code == 0, f"the end: {s.code} {s.log}")


def main():
    with Server("--request-timeout", "3", "--workers", "2") as s:
        for part in (framing, sources, types, nul_in_path):
            part(s)
    check(s.code == 0, f"the end: {s.code} {s.log}")
    for part in (origins, idlers, above_the_limit, heads, addresses):
        part()
    return finish()


sys.exit(main())
