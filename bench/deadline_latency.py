#!/usr/bin/env python3
"""How fast `rill serve` answers requests with extreme option values: every option of a request with each of its extremes, with a
deadline of one second.

usage: deadline_latency.py [--rill build/rill] [--models de-en,gum]
Prints a line for each option and value, the slowest first, about requests of 1, 4 and 1000 inputs to each model: the status codes,
seconds to the response, seconds past the deadline, the server's peak resident memory, and the message of a refusal. Then it prints
counts. Options and their ranges are those of the server's own description.
"""

import argparse
import http.client
import json
import os
import re
import subprocess
import time

TIMEOUT = 1
LINE = "Ein Hund läuft über die Wiese und spielt mit einem Ball."
INPUTS = [{"input": LINE}] + [{"inputs": [f"{LINE} {i}" for i in range(n)]} for n in (4, 1000)]
VALUES = [0, -1, 1, 1e-6, 1000, 65536, 1 << 31, 1e308, "nan", "inf"]
SAMPLES = {"num_samples": 1000}
# other options that an option needs to have an effect
BESIDE = {"temperature": SAMPLES, "top_k": SAMPLES, "top_p": SAMPLES, "seed": SAMPLES, "min_width": {"beam_size": 1000},
          "diversity_penalty": {"beam_groups": 500, "beam_size": 1000}}
WIDEST = [{"beam_size": 1000, "max_children": 1000, "n_best": 1000, "min_width": 1000}, {"beam_groups": 2, "beam_size": 1000},
          {"num_samples": 1000, "top_k": 5000}, {"beam_size": 1000, "max_children": 1000, "finish": "immediate", "stop": "bound"}]


def extremes(schema):
    if "enum" in schema:
        return schema["enum"]
    if schema.get("type") == "boolean":
        return [True]
    values = VALUES + [schema[end] for end in ("minimum", "maximum") if end in schema]
    return [v for i, v in enumerate(values) if v not in values[:i]]


class Server:
    def __init__(self, rill, model):
        command = [rill, "serve", "--port", "0", "--shutdown-timeout", "0", "-m", os.path.join("examples", "models", model)]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.port = int(re.search(r"http://[^:]+:(\d+)", self.process.stderr.readline()).group(1))

    def ask(self, method, path, body=None):
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        link.request(method, path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        answer = link.getresponse()
        return answer.status, json.loads(answer.read())

    def peak(self):
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as file:
            return int(re.search(r"VmHWM:\s+(\d+)", file.read()).group(1)) / 1024

    def end(self):
        self.process.terminate()
        self.process.wait()
        self.process.stderr.close()


def measure(args, options):
    """Send requests with this value to a server. Return (seconds, MiB, codes, the sentence of a refusal); numbers are the maxima over
    all requests. A server that has searched gets no other request."""
    seconds, mib, codes, said = 0, 0, set(), ""
    for model in args.servers:
        for inputs in INPUTS:
            server = args.servers[model] = args.servers[model] or Server(args.rill, model)
            begin = time.monotonic()
            code, body = server.ask("POST", "/v1/decode", {"options": options, "timeout": TIMEOUT} | inputs)
            seconds = max(seconds, time.monotonic() - begin)
            mib = max(mib, server.peak())
            codes.add(code)
            if code != 200:
                said = said or body["error"]["message"]
            if code == 200:
                server.end()
                args.servers[model] = None
    return seconds, mib, codes, said


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rill", default="build/rill")
    parser.add_argument("--models", default="de-en,gum")
    args = parser.parse_args()
    args.servers = dict.fromkeys(args.models.split(","))
    first = Server(args.rill, next(iter(args.servers)))
    settings = first.ask("GET", "/openapi.json")[1]["components"]["schemas"]["Options"]["properties"]
    first.end()
    assert BESIDE.keys() <= settings.keys()
    rows = [(options, *measure(args, options)) for options in WIDEST]
    for name, schema in settings.items():
        for value in extremes(schema):
            options = BESIDE.get(name, {}) | {name: value}
            rows.append((options, *measure(args, options)))
    for server in filter(None, args.servers.values()):
        server.end()
    print(f"{'codes':8}{'seconds':>8}{'late':>7}{'MiB':>6}  options: refusal")
    for options, seconds, mib, codes, said in sorted(rows, key=lambda row: -row[1]):
        print(f"{'/'.join(map(str, sorted(codes))):8}{seconds:8.2f}{max(0, seconds - TIMEOUT):7.2f}{mib:6.0f}  "
              f"{json.dumps(options)}{': ' if said else ''}{said}")
    refused = sum(200 not in codes for _, _, _, codes, _ in rows)
    print(f"{len(rows)} settings of {len(settings)} options: {refused} refused, {len(rows) - refused} answered, "
          f"{sum(seconds > TIMEOUT for _, seconds, _, _, _ in rows)} at the deadline; longest {max(row[1] for row in rows):.2f} s, "
          f"most memory {max(row[2] for row in rows):.0f} MiB")


if __name__ == "__main__":
    main()
