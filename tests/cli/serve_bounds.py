#!/usr/bin/env python3
"""Limits of one request to `rill serve`. Every setting of the server's description is sent with its extreme values and words, with a
deadline and without one. A request is refused with the name of the setting to lower, or it completes. No other request waits, and
the server stops on request.

usage: serve_bounds.py RILL SOURCE_ROOT
"""

import json
import os
import sys
import time

from rill_server import Server, check, decode_lines, finish

WIDTH = 10
MODELS = [os.path.join(sys.argv[2], "examples", "models", name) for name in ("de-en", "geo")]
# These parameters of sampling and beam groups have no effect without others.
BESIDE = {"temperature": {"num-samples": 4}, "top-k": {"num-samples": 4}, "top-p": {"num-samples": 4}, "seed": {"num-samples": 4},
          "diversity-penalty": {"beam-groups": 2, "beam-size": 4}}
LINE = "Ein Hund läuft über die Wiese."


# Values to try for a numeric setting.
NUMBERS = [0, -1, 1, 65536, 1 << 20, 1 << 31, 1e308, "inf", "nan"]


def extremes(schema):
    """Return the values to try for a setting: the ends of its range, numbers inside and outside it, and words."""
    if "enum" in schema:
        return schema["enum"]
    if schema.get("type") == "integer":
        return NUMBERS + [schema["minimum"], schema["maximum"]]
    if "oneOf" in schema:
        return NUMBERS + [1e-9, 1e6, -1e6, -20]
    return [True] if schema.get("type") == "boolean" else []


def is_outside(schema, value):
    return schema.get("type") == "integer" and not (isinstance(value, int) and schema["minimum"] <= value <= schema["maximum"])


class Counting(Server):
    def counts_of(self, model):
        return {line.split("{")[0][5:]: float(line.rsplit(" ", 1)[1]) for line in self.request("GET", "/metrics")[1].splitlines()
                if f'{{model="{model}"}}' in line}


def request(s, model, settings, again=True, **more):
    """Send one request and check the server's counters after it. Return the status and the response."""
    before = s.counts_of(model)
    code, body = s.decode(model=model, options=settings, timeout=0.3, **({"input": LINE} | more))
    said = body.get("error", {}).get("message", "")
    check(code in (200, 400, 422), f"{model} {settings}: {code} {body}")
    check(s.counts_of(model)["inputs_under_way"] == 0, f"{model} {settings}: nothing is under way behind the answer")
    after = s.counts_of(model)
    steps, rows = (after[count] - before[count] for count in ("timesteps_total", "expansions_total"))
    if code == 400 and rows > 0 and again:  # The counter may have included the last timestep of the request before this one only now.
        return request(s, model, settings, again=False, **more)
    check(code != 400 or (rows == 0 and said), f"{model} {settings}: refused before any work: {said}")
    check(rows <= WIDTH * steps, f"{model} {settings}: {rows} rows in {steps} timesteps")
    return code, said


def every_option(s):
    settings = s.request("GET", "/openapi.json")[1]["components"]["schemas"]["Options"]["properties"]
    check({"beam_size", "beam_groups", "num_samples", "n_best", "max_length"} <= settings.keys()
          and "exact_rows" not in settings, "what is described")
    codes = {200: 0, 400: 0, 422: 0}
    for model in ("de-en", "geo"):
        for name, schema in settings.items():
            for value in extremes(schema):
                code, said = request(s, model, {name: value} | BESIDE.get(name.replace("_", "-"), {}))
                codes[code] = codes.get(code, 0) + 1
                check(value != "nan" or code == 400, f"{name}: nan: {code}")
                if is_outside(schema, value):
                    check(code == 400 and said.startswith(f"options: {name.replace('_', '-')}: "), f"{name}: {value}: {code} {said}")
                elif schema.get("maximum", 0) in (65536, 131072) and value > WIDTH:
                    why = f"{name.replace('_', '-')}: {value}: the maximum of a request is {WIDTH} (--max-beam-size)"
                    check(code == 400 and why in said, f"{name}: {said}")
    check(min(codes[200], codes[400]) > 20, f"some are answered and some refused: {codes}")


def together(s):
    """A product of several settings, or of a setting and the number of inputs, is limited too."""
    for settings, word in (({"beam-groups": 65536}, "groups: 65536"), ({"patience": 50}, "stop-after comes to"),
                           ({"beam-size": 10, "patience": 1.5}, "stop-after comes to 15"),
                           ({"exact": True}, '"exact" is an option of the whole run'),
                           ({"exact-rows": 5}, '"exact-rows" is an option of the whole run'),
                           ({"max-nodes": 5}, '"max-nodes" is an option of the whole run')):
        code, said = request(s, "de-en", settings)
        check(code == 400 and word in said, f"{settings}: {code} {said}")
    for settings in ({"max-length": 2147483647}, {"max-length-factor": 1e6}):
        code, said = request(s, "geo", settings)
        check(code == 400 and "--max-request" in said and "max-length" in said, f"{settings}: {code} {said}")
        check(request(s, "de-en", settings)[0] in (200, 422), f"{settings}: a model with positions has an end")
    longest = {"min-length": 2147483647, "max-length": 2147483647}
    for model, word in ("geo", "--max-request"), ("de-en", "is above the 256 actions that the model can make"):
        code, said = request(s, model, longest)
        check(code == 400 and "length" in said and word in said, f"{model} {longest}: {code} {said}")
    code, said = request(s, "de-en", {"beam-groups": 5, "beam-size": 10, "n-best": 10})
    check(code == 200, f"groups within the width: {code} {said}")
    check(s.decode(input=LINE, model="de-en")[1]["outputs"][0]["text"] == decode_lines([LINE])[0], "others are answered as ever")


def memory():
    """Samples of the whole vocabulary for several inputs complete."""
    asked = {"num-samples": 1000, "top-k": 0}
    with Counting("--max-request", "256M") as s:
        code, body = s.decode(inputs=[LINE, LINE + " Ja.", LINE + " Nein.", LINE + " Doch."], options=asked, timeout=0.3)
        said = body["error"]["message"]
        check(code == 400 and "(--max-request): lower num-samples, top-k, or send fewer inputs" in said, f"{code} {said}")
        code, body = s.decode(input=LINE, options=asked | {"num-samples": 3})
        check(code == 200 and len(body["outputs"]) == 3, f"{code} {body}")
        code, body = s.request("POST", "/translate", {"q": LINE, "source": "de", "target": "en", "alternatives": 3})[:2]
        check(code == 200 and body["translatedText"] == decode_lines([LINE])[0], "alternatives leave the translation as it is")


def looked_at():
    """A trace runs without a limit, but ends when the server stops."""
    s = Counting("--shutdown-timeout", "0", "--max-request", "10000M", models=MODELS[1:])
    settings = {"beam-size": 30, "min-length": 100000, "max-length": 100000}
    body = json.dumps({"inputs": ["what states border texas"] * 20, "options": settings}).encode()
    link = s.raw(b"POST /v1/trace HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    link.settimeout(1)
    try:
        said = link.recv(1000)
    except TimeoutError:
        said = b""
    check(said == b"", f"it is under way: {said}")
    before = time.monotonic()
    s.stop()
    link.close()
    check(s.code in (0, 1) and time.monotonic() - before < 8, f"it ends: {s.code} {time.monotonic() - before:.1f} s {s.log}")


def main():
    with Counting("--max-beam-size", str(WIDTH), "--max-request", "64M", "--shutdown-timeout", "2", models=MODELS) as s:
        every_option(s)
        together(s)
    check(s.code == 0, f"the end: {s.code} {s.log}")
    memory()
    looked_at()
    return finish()


sys.exit(main())
