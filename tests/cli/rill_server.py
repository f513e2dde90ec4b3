"""Shared by the tests of `rill serve`: a running server, a client that needs only the standard library, and a counter of checks.

A test is called with RILL SOURCE_ROOT as its first arguments.
"""

import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time

RILL, ROOT = sys.argv[1], sys.argv[2]
MODEL = os.path.join(ROOT, "examples", "models", "de-en")
WORDS = ("ein eine der die mann frau hund kind ball haus rot blau läuft spielt sitzt steht mit und auf in vor einem dem straße "
         "wasser .").split()
# Under a thread sanitizer, which takes ten times as long: only the tests of threads, with fewer inputs.
RACES = "RILL_TEST_RACES" in os.environ
rng = random.Random(7)
failures = []
checks = 0


def check(truth, what):
    global checks
    checks += 1
    if not truth:
        failures.append(what)
        print("FAILED:", what)


def sentence(low=3, high=12):
    return " ".join(rng.choice(WORDS) for _ in range(rng.randint(low, high)))


class Server:
    """A running server: `with Server(options) as s`. After the block, `s.log` has its messages and `s.code` its exit code."""

    def __init__(self, *options, models=(MODEL,)):
        command = [RILL, "serve", "--port", "0", *options]
        for model in models:
            command += ["-m", model]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.log = ""
        self.port, started = None, 0
        while started < len(models):
            line = self.process.stderr.readline()
            self.log += line
            found = re.search(r"http://([^:]+):(\d+)", line)
            if found:
                self.host, self.port, started = found.group(1), int(found.group(2)), started + 1
            elif not line:
                raise SystemExit("the server did not start: " + self.log)

        # A thread reads later messages as they come.
        self.reader = threading.Thread(target=self.listen)
        self.reader.start()

    def listen(self):
        for line in self.process.stderr:
            self.log += line

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self, asked=False):
        if not asked and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.code = self.process.wait(timeout=60)
        self.reader.join()
        self.process.stderr.close()

    def request(self, method, path, body=None, headers=None, timeout=180 if RACES else 60):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=timeout)
        try:
            text = body if body is None or isinstance(body, (str, bytes)) else json.dumps(body)
            sent = {"Content-Type": "application/json", **(headers or {})}
            connection.request(method, path, text.encode() if isinstance(text, str) else text,
                               {name: value for name, value in sent.items() if value is not None})
            answer = connection.getresponse()
            read = answer.read()
            kind = answer.getheader("Content-Type") or ""
            return answer.status, json.loads(read) if kind == "application/json" and read else read.decode(), dict(answer.getheaders())
        finally:
            connection.close()

    def decode(self, **body):
        return self.request("POST", "/v1/decode", body)[:2]

    def counts(self):
        text = self.request("GET", "/metrics")[1]
        return {m.group(1): float(m.group(2)) for m in re.finditer(r'^rill_(\w+)\{model="[^"]*"\} (\S+)$', text, re.M)}

    def counts_of(self, model):
        text = self.request("GET", "/metrics")[1]
        return {m.group(1): float(m.group(2)) for m in re.finditer(rf'^rill_(\w+)\{{model="{model}"\}} (\S+)$', text, re.M)}

    def raw(self, data):
        link = socket.create_connection((self.host, self.port), timeout=30)
        link.sendall(data)
        return link


def decode_lines(lines, *options):
    run = subprocess.run([RILL, "decode", "-q", "-m", MODEL, *options], input="".join(line + "\n" for line in lines), text=True,
                         stdout=subprocess.PIPE, check=True)
    return run.stdout.splitlines()


def until(what, seconds=120 if RACES else 20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if what():
            return True
        time.sleep(0.05)
    return False


def finish():
    """Print the number of checks and return the exit code."""
    print(f"{checks} checks, {len(failures)} failed")
    return 1 if failures else 0
