#!/usr/bin/env python3
"""One schema of options and results. JSON lines, requests to `rill serve`, config.json and run files accept and refuse the same
options, with the same messages. The options that the server lists can be sent back to it. The examples in docs/ are valid by its
OpenAPI description.

usage: serve_schema.py RILL SOURCE_ROOT
"""

import json
import os
import re
import signal
import subprocess
import tempfile
import time
import urllib.parse

from rill_server import MODEL, RILL, ROOT, Server, check, finish

LINE = "ein hund ."


def called(words, text):
    return subprocess.run([RILL, *words], input=text, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def json_lines(objects):
    """Decode the objects as JSON lines; return the results and the messages on stderr."""
    text = "".join(json.dumps(item) + "\n" for item in objects)
    run = called(["decode", "-q", "-m", MODEL, "--jsonl"], text)
    return [json.loads(line) for line in run.stdout.splitlines()], run.stderr


def lua(value):
    if isinstance(value, list):
        return "{" + ", ".join(map(lua, value)) + "}"
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else json.dumps(value)


def config_json(options):
    """Return the error message for these options in a model's config.json; "" if they are accepted."""
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "m")
        os.mkdir(model)
        for name in os.listdir(MODEL):
            if name != "config.json":
                os.symlink(os.path.join(MODEL, name), os.path.join(model, name))
        with open(os.path.join(MODEL, "config.json"), encoding="utf-8") as file:
            config = json.load(file)
        config["rill"] = {**config.get("rill", {}), **options}
        with open(os.path.join(model, "config.json"), "w", encoding="utf-8") as file:
            json.dump(config, file)
        run = called(["decode", "-q", "-m", model], LINE + "\n")
        return "" if run.returncode == 0 and run.stdout.strip() and "warning" not in run.stderr else run.stderr


def run_file(text):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.lua")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'return {{ model = "{MODEL}", {text} }}\n')
        run = called(["run", "-q", path], LINE + "\n")
        return "" if run.returncode == 0 and run.stdout.strip() else run.stderr


def values(s):
    """All sources accept the same values of an option, and give the same message for a bad value."""
    good = [("beam_size", "3"), ("beam_size", 3.0), ("distinct", 1), ("distinct", "true"), ("distinct", False), ("length_penalty", "1/2"),
            ("length_penalty", "0.5"), ("length_penalty", 0), ("finish", "top"), ("num_beams", 4)]
    bad = [("beam_size", 2.5, '"2.5" is not a whole number from 1 to 65536'),
           ("beam_size", True, "true is not a whole number from 1 to 65536"),
           ("beam_size", [1], " is not a whole number from 1 to 65536"), ("distinct", 2, '"2" is not true or false'),
           ("length_penalty", "x", '"x" is not a number from -25 to 25'), ("distinct", "", '"" is not true or false'),
           ("finish", 3, '"3" is not one of top|immediate|shrink|one-step')]
    results, _ = json_lines([{"text": LINE, "options": {name: value}} for name, value in good] +
                            [{"text": LINE, "options": {name: value}} for name, value, _ in bad])
    for (name, value), result in zip(good, results):
        messages = (str(result.get("error", "")), str(s.decode(input=LINE, options={name: value})[1].get("error", "")),
                config_json({"options": {name: value}}), run_file(f"options = {{ {name} = {lua(value)} }}"))
        check(messages == ("", "", "", ""), f"{name} = {value!r} is accepted everywhere: {messages}")
    for (name, value, why), result in zip(bad, results[len(good):]):
        code, body = s.decode(input=LINE, options={name: value})
        check(code == 400 and body["error"] == result["error"], f"{name} = {value!r}: {body} {result}")
        check(body["error"]["code"] == "bad-option", f"{name} = {value!r}: {body}")
        messages = (body["error"]["message"], config_json({"options": {name: value}}), run_file(f"options = {{ {name} = {lua(value)} }}"))
        check(all(why in one for one in messages), f"{name} = {value!r}: {why}: {messages}")


def names(s):
    """For a name that is unknown or that no input may set, JSON lines and HTTP give the same message."""
    of_run = ("scheduler", "absolute", "prune_absolute", "alignment", "weights", "pretty", "method", "heuristics", "exact")
    cases = [*((name, "an option of the whole run") for name in of_run),
             ("lenght_penalty", 'did you mean "length-penalty"?'), ("early_stopping", "of transformers"), ("kk", 'did you mean "k"?')]
    results, _ = json_lines([{"text": LINE, "options": {name: 1}} for name, _ in cases])
    for (name, why), result in zip(cases, results):
        code, body = s.decode(input=LINE, options={name: 1})
        check(code == 400 and body["error"] == result["error"] and why in body["error"]["message"], f"{name}: {body} {result['error']}")


def containers(s):
    """Options are in "options". Another name of this key is refused with a message that names it."""
    for name in ("settings", "setings", "Options", "search", "params", "option", "setting"):
        for value in ({"kx": 2}, {}):
            results, _ = json_lines([{"text": LINE, name: value}])
            body = s.decode(input=LINE, **{name: value})[1]
            messages = [results[0].get("error", {}).get("message", ""), body.get("error", {}).get("message", ""),
                    config_json({name: value}), run_file(f"{name} = {{}}")]
            check(all('in "options"' in one for one in messages), f"{name}: {messages}")
    for key, why in (("optionss", 'in "options"'), ("beam_size", 'in "options"'), ("num_beams", 'in "options"'),
                     ("token", 'did you mean "tokens"?'),
                     ("seconds", 'did you mean "timeout"?'), ("deadline", 'did you mean "timeout"?'), ("text", 'did you mean "input"?'),
                     ("q", 'did you mean "input"?'), ("prompt", 'did you mean "input"?'), ("weights", "the whole run"),
                     ("early_stopping", "of transformers")):
        body = s.decode(input=LINE, **{key: 1})[1]
        check(body.get("error", {}).get("code") == "bad-request" and why in body["error"]["message"], f"{key}: {body}")
    check(s.request("POST", "/v1/decode", {"inputs": "x"})[0] == 400, "inputs are a list")
    for key, why in (("n_best", 'in "options"'), ("method", "an option of the whole run")):
        messages = json_lines([{"text": LINE, key: 1}])[1]
        check(why in messages, f"{key}: {messages}")
    for key in ("timeout", "deadline", "constraints", "glossary"):
        results, messages = json_lines([{"text": LINE, key: 1}])
        check(results[0]["outputs"] and "`rill serve`" in messages and '"options"' not in messages, f"{key}: {messages}")


def other_rows():
    """The options of a run file and of config.json accept the same values."""
    for name, value in (("prune_absolute", 5), ("heuristics", ["absolute:5"]), ("heuristic", ["absolute:5"]), ("heuristic", "absolute:5"),
                        ("scheduler", "all"), ("weights", "f32"), ("source_lang", "de"), ("scorers", ["word_reward:0.1"])):
        messages = (config_json({"options": {name: value}}), run_file(f"options = {{ {name} = {lua(value)} }}"))
        same = messages[0] == messages[1] == "" or (name == "source_lang" and all("source" in one for one in messages))
        check(same, f"{name} = {value!r}: {messages}")
    check(run_file('options = { alignment = true }') == "", "the options of outputs are the user's")


def examples(s):
    """The example of an input in config.json must be one line. The server lists it and can decode it."""
    for value in (3, ["a"], "a" * 256, "a\nb"):
        check("a line of at most 255 bytes" in config_json({"example": value}), f"{value!r:.20}: {config_json({'example': value})}")
    check(config_json({"example": "a" * 255}) == "" and config_json({"example": "ä"}) == "", "examples of any kind")
    model = s.request("GET", "/v1/models")[1]["models"][0]
    check(s.decode(input=model["example"])[1]["outputs"][0]["finish_reason"] == "stop", f"the example: {model['example']}")


def models(s):
    """A request can send back the options that the server lists."""
    model = s.request("GET", "/v1/models")[1]["models"][0]
    everything, schemas = model["options"], s.request("GET", "/openapi.json")[1]["components"]["schemas"]
    options = {name: value for name, value in everything.items() if name in schemas["Options"]["properties"]}
    check(options["beam_size"] == 5 and options["finish"] and not {"temperature", "method"} & options.keys(), f"in effect: {options}")
    check(everything["method"] == "stream-all" and everything["heuristics"] and everything["batch_size"] > 0, f"the run's: {everything}")
    plain, sent = s.decode(input=LINE), s.decode(input=LINE, options=options)
    check(sent == plain, f"sent back: {sent} {plain}")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "stats.json")
        called(["decode", "-q", "-m", MODEL, "--stats", path], LINE + "\n")
        with open(path, encoding="utf-8") as file:
            stats = json.load(file)
    same = all(stats["options"].get(name) == value for name, value in options.items())
    check("settings" not in stats and "server_options" not in model and same, f"--stats: {stats['options']}")
    check(stats["options"]["heuristics"] == everything["heuristics"], "--stats has the chain")


def resolve(doc, schema):
    while "$ref" in schema:
        at = doc
        for part in schema["$ref"].removeprefix("#/").split("/"):
            at = at[part]
        schema = at
    return schema


def valid(doc, schema, value):
    """Whether a value is valid by a schema, for the keywords of JSON Schema that the description uses."""
    schema = resolve(doc, schema)
    if "oneOf" in schema and "properties" not in schema:
        return sum(valid(doc, one, value) for one in schema["oneOf"]) == 1
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float)}
    kind = schema.get("type")
    if kind and (not isinstance(value, kinds[kind]) or (isinstance(value, bool) and kind != "boolean")):
        return False
    if kind == "array":
        return all(valid(doc, schema.get("items", {}), item) for item in value)
    if kind != "object":
        return value in schema.get("enum", [value])
    known, more = schema.get("properties", {}), schema.get("additionalProperties", True)
    if not all(name in value for name in schema.get("required", [])):
        return False
    if "oneOf" in schema and sum(all(name in value for name in one["required"]) for one in schema["oneOf"]) != 1:
        return False
    return all(valid(doc, known[name], item) if name in known else more is True or (more is not False and valid(doc, more, item))
               for name, item in value.items())


def documented(s):
    """The requests in the manual, also with aliases of options, are valid by the OpenAPI description, and so are the responses."""
    doc = s.request("GET", "/openapi.json")[1]
    schemas, n = doc["components"]["schemas"], 0
    for page in ("docs/guides/serve.md", "docs/guides/translate.md", "README.md"):
        with open(os.path.join(ROOT, page), encoding="utf-8") as file:
            text = file.read()
        for path, body in re.findall(r"/v1/(decode|trace) -d '(\{.*?\})'", text):
            n += 1
            check(valid(doc, schemas[{"decode": "DecodeRequest", "trace": "TraceRequest"}[path]], json.loads(body)), f"{page}: {body}")
    check(n >= 5, f"{n} examples")
    for options in ({"beam_size": 10}, {"beam-size": 10}, {"num_beams": 3}, {"length_penalty": "1/2"}):
        check(valid(doc, schemas["DecodeRequest"], {"input": LINE, "options": options}), f"{options}")
        check(s.decode(input=LINE, options=options)[0] == 200, f"{options} are decoded")
    check(not valid(doc, schemas["DecodeRequest"], {"input": LINE, "option": {}}), "an unknown key is not")
    result = s.decode(input=LINE, tokens=True)[1]
    check(valid(doc, schemas["Result"], result), f"a result: {result}")
    check(result["outputs"][0]["path_score"] == result["outputs"][0]["logp"], "no scorer adds to the path's score")
    check(valid(doc, schemas["Models"], s.request("GET", "/v1/models")[1]), "the models")


def examples_of_description(s):
    """Every example in the description is valid by its schema, and the server decodes it. `--openapi` prints the same description, with
    the options of all domains."""
    doc, n = s.request("GET", "/openapi.json")[1], 0
    for path, operations in doc["paths"].items():
        for kind, media in operations.get("post", {}).get("requestBody", {}).get("content", {}).items():
            values = [one["value"] for one in media.get("examples", {}).values()] + [media[key] for key in ["example"] if key in media]
            check(values, f"{path} has an example of {kind}")
            for value in values:
                n += 1
                body, headers = value, {}
                if kind == "application/x-www-form-urlencoded":
                    body, headers = urllib.parse.urlencode(value), {"Content-Type": kind}
                elif kind == "multipart/form-data":
                    parts = [f'--bound\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{text}\r\n' for name, text in value.items()]
                    body, headers = "".join(parts) + "--bound--\r\n", {"Content-Type": kind + "; boundary=bound"}
                code, answer, _ = s.request("POST", path, body, headers)
                check(valid(doc, media["schema"], value), f"{path}: {value} fits its schema")
                wanted = 501 if path == "/detect" else 200
                check(code == wanted and ("error" in answer) == (code == 501), f"{path}: {value}: {answer}")
    check(n >= 14, f"{n} examples")
    printed = json.loads(called(["serve", "--openapi"], "").stdout)
    for one in (doc, printed):
        one["components"]["schemas"].pop("Options")
    check(printed == doc, "--openapi prints the same description")
    with_model = called(["serve", "--openapi", "-m", MODEL, "-m", "gum=/nowhere"], "")
    check(json.loads(with_model.stdout)["components"]["schemas"]["Options"]["properties"]["input_format"], "without opening a model")
    check(called(["serve", "--openapi", "--no-such"], "").returncode == 1, "a wrong option")


def failures_of_inputs(s):
    """Error codes of inputs are the same in JSON lines and HTTP."""
    long = " ".join(["hund"] * 400)
    results, _ = json_lines([{"text": long}, {"text": LINE, "options": {"k": 0}}, {"text": 3}])
    codes = [result["error"]["code"] for result in results]
    check(codes == ["bad-input", "bad-option", "bad-input"], f"JSON lines: {codes}")
    code, body = s.decode(input=long)
    check(code == 422 and body["error"]["code"] == "bad-input" and body["error"] == results[0]["error"], f"HTTP: {code} {body}")


def stopped():
    """A request that the server stops gets status 503 and a message."""
    with Server("--shutdown-timeout", "0", "--threads", "1") as s:
        inputs = [" ".join(["ein hund"] * 15) + f" {i}" for i in range(900)]
        body = json.dumps({"inputs": inputs, "options": {"k": 90, "max_children": 90}})
        link = s.raw(b"POST /v1/decode HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
                     + str(len(body)).encode() + b"\r\nConnection: close\r\n\r\n" + body.encode())
        time.sleep(0.5)
        s.process.send_signal(signal.SIGTERM)
        said = b""
        while chunk := link.recv(65536):
            said += chunk
        link.close()
    head, _, text = said.partition(b"\r\n\r\n")
    check(b" 503 " in head.splitlines()[0], f"the status: {head[:100]}")
    errors = [item["error"] for item in json.loads(text)["results"] if "error" in item]
    check(errors and all(e == {"code": "stopping", "message": "the server stopped before the input was decoded"} for e in errors),
          f"the errors: {errors[:2]}")


with Server(models=(MODEL, os.path.join(ROOT, "examples", "models", "gum"))) as server:
    values(server)
    names(server)
    containers(server)
    examples(server)
    examples_of_description(server)
    models(server)
    documented(server)
    failures_of_inputs(server)
other_rows()
stopped()
raise SystemExit(finish())
