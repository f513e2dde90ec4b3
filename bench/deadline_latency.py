#!/usr/bin/env python3
"""Response times of requests with a deadline of one second: every setting with its extremes, within `rill serve`'s limits.

usage: deadline_latency.py [--rill build/rill] [--models de-en,gum] [--least 1.2]
A line for each request that took longer than --least seconds, the longest first, then their number. Refused requests take no time.
"""

import argparse
import http.client
import json
import os
import re
import subprocess
import time

LINE = "Ein Hund läuft über die Wiese und spielt mit einem Ball."
MANY = {"inputs": [f"{LINE} {i}" for i in range(4)]}
BESIDE = {"temperature": {"sample": 1000}, "top-k": {"sample": 1000}, "top-p": {"sample": 1000}, "seed": {"sample": 1000},
          "diversity": {"groups": 500, "k": 1000}}


def extremes(schema):
    if "enum" in schema:
        return schema["enum"]
    if schema.get("type") == "integer":
        return sorted({schema["minimum"], min(schema["maximum"], 1000), schema["maximum"]})
    return [1e-6, 1, 1e3, -20] if "oneOf" in schema else [True]


def requests(settings):
    yield from ({"k": 1000, "max-candidates": 1000, "n-best": 1000, "min-width": 1000}, {"groups": 1000}, {"groups": 2, "k": 1000},
                {"sample": 1000, "top-k": 0}, {"k": 1000, "max-candidates": 1000, "finish": "immediate", "stop": "bound"})
    for name, schema in settings.items():
        for value in extremes(schema):
            yield BESIDE.get(name, {}) | {name: value}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rill", default="build/rill")
    parser.add_argument("--models", default="de-en,gum")
    parser.add_argument("--least", type=float, default=1.2)
    args = parser.parse_args()
    models = args.models.split(",")
    command = [args.rill, "serve", "--port", "0", "--shutdown-timeout", "2"]
    for name in models:
        command += ["-m", os.path.join("examples", "models", name)]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    port = [re.search(r":(\d+)", server.stderr.readline().split("http://")[1]).group(1) for _ in models][0]

    def ask(method, path, body=None):
        link = http.client.HTTPConnection("127.0.0.1", int(port), timeout=600)
        link.request(method, path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        answer = link.getresponse()
        return answer.status, json.loads(answer.read())

    settings = ask("GET", "/openapi.json")[1]["components"]["schemas"]["Options"]["properties"]
    took, codes = [], {}
    for model in models:
        for asked in requests(settings):
            for inputs in ({"input": LINE}, MANY):
                begin = time.monotonic()
                code = ask("POST", "/v1/decode", {"model": model, "options": asked, "timeout": 1} | inputs)[0]
                took.append((time.monotonic() - begin, model, len(inputs.get("inputs", "1")), code, asked))
                codes[code] = codes.get(code, 0) + 1
    server.terminate()
    server.wait()
    print(f"{'seconds':>8}  {'model':8}{'inputs':>7}{'code':>6}  settings")
    for seconds, model, n, code, asked in sorted(took, key=lambda row: -row[0]):
        if seconds >= args.least:
            print(f"{seconds:8.2f}  {model:8}{n:7}{code:6}  {json.dumps(asked)}")
    print(f"{len(took)} requests: " + ", ".join(f"{n} answered with {code}" for code, n in sorted(codes.items())))
    print(f"longest: {max(took)[0]:.2f} s")


if __name__ == "__main__":
    main()
