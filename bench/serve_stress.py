#!/usr/bin/env python3
"""`rill serve` with clients of all kinds: 10,000 requests, of which some are cut off, some abandoned while they wait, some read or
written slowly, some invalid. Valid requests must get `rill decode`'s results. The server's memory and number of descriptors are
printed now and then. Exit code 1: a response was lost or wrong, or the server has not returned to its initial state.

usage: bench/serve_stress.py [--rill build/rill] [--model examples/models/de-en] [--requests 10000] [--lines FILE] [--cache SIZE]
"""

import argparse
import asyncio
import json
import os
import random
import re
import signal
import subprocess
import sys
import time

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--rill", default="build/rill")
parser.add_argument("--model", default="examples/models/de-en")
parser.add_argument("--requests", type=int, default=10000)
parser.add_argument("--lines", help="inputs; without it words of the model's language")
parser.add_argument("--cache", default="0")
parser.add_argument("--at-once", type=int, default=100)
args = parser.parse_args()
rng = random.Random(5)
WORDS = "ein eine der die mann frau hund kind ball haus rot läuft spielt sitzt mit und auf in vor einem dem straße .".split()
if args.lines:
    with open(args.lines, encoding="utf-8") as file:
        lines = file.read().splitlines()[:1000]
else:
    lines = [" ".join(rng.choice(WORDS) for _ in range(rng.randint(3, 14))) for _ in range(1000)]
right = subprocess.run([args.rill, "decode", "-q", "-m", args.model], input="".join(line + "\n" for line in lines), text=True,
                       stdout=subprocess.PIPE, check=True).stdout.splitlines()
server = subprocess.Popen([args.rill, "serve", "--port", "0", "-m", args.model, "--cache-size", args.cache, "--request-timeout", "5"],
                          stderr=subprocess.PIPE, text=True)
port = int(re.search(r":(\d+)$", server.stderr.readline().strip()).group(1))
counts = {"answered": 0, "streamed": 0, "slow": 0, "cut": 0, "given up": 0, "broken": 0, "lost": 0, "wrong": 0}


def state():
    with open(f"/proc/{server.pid}/status", encoding="ascii") as file:
        memory = int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1)) / 1024
    return f"{memory:.1f} MB, {len(os.listdir(f'/proc/{server.pid}/fd'))} descriptors"


def post(body):
    text = json.dumps(body).encode()
    return b"POST /v1/decode HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(text) + text


def answer_of(read):
    """Return the texts of a response; None for an error."""
    head, _, body = read.partition(b"\r\n\r\n")
    if b" 200 " not in head[:20]:
        return None
    if b"text/event-stream" in head:
        found = [json.loads(m) for m in re.findall(rb"event: result\ndata: (.*)\n", body)]
        return [r["outputs"][0]["text"] for r in found]
    response = json.loads(body)
    return [r["outputs"][0]["text"] for r in response.get("results", [response])]


async def one(kind):
    chosen = [rng.randrange(len(lines)) for _ in range(1 if kind != "given up" else 20)]
    body = {"inputs": [lines[i] for i in chosen]} if kind == "given up" else {"input": lines[chosen[0]], "stream": kind == "streamed"}
    if kind in ("cut", "given up"):
        body["options"] = {"k": rng.choice((5, 20))}
    data = post(body)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        if kind == "broken":
            writer.write(rng.choice((b"\0\1\2\r\n\r\n", b"POST /v1/decode HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n{{{{{",
                                     data.replace(b"Content-Length: ", b"Content-Length: -"), os.urandom(200))))
            await asyncio.wait_for(reader.read(500), 20)
        elif kind == "cut":
            writer.write(data[:rng.randrange(len(data))])
            await asyncio.sleep(rng.random() * 0.05)
        elif kind == "given up":
            writer.write(data)
            await asyncio.sleep(rng.random() * 0.02)
        else:
            for at in range(0, len(data), 50 if kind == "slow" else len(data)):
                writer.write(data[at:at + 50] if kind == "slow" else data)
                await asyncio.sleep(rng.random() * 0.2 if kind == "slow" else 0)
            read = b""
            while chunk := await asyncio.wait_for(reader.read(40 if kind == "slow" else 65536), 60):
                read += chunk
                if kind == "slow":
                    await asyncio.sleep(0.02)
            texts = answer_of(read)
            counts["lost"] += texts is None
            counts["wrong"] += texts is not None and texts != [right[i] for i in chosen]
        counts[kind] += 1
    except ConnectionError:
        counts[kind if kind in ("broken", "cut", "given up") else "lost"] += 1
    finally:
        writer.close()


async def main():
    gate = asyncio.Semaphore(args.at_once)

    async def next_one():
        async with gate:
            await one(rng.choices(list(counts)[:6], (60, 10, 5, 10, 10, 5))[0])

    before = state()
    print("before:", before)
    step = max(args.requests // 5, 1)
    for begun in range(0, args.requests, step):
        await asyncio.gather(*(next_one() for _ in range(min(step, args.requests - begun))))
        print(f"after {min(begun + step, args.requests)}: {state()}")
    return before


begin = time.monotonic()
before = asyncio.run(main())
time.sleep(1)
after = state()
server.send_signal(signal.SIGTERM)
code = server.wait(60)
print(f"{args.requests} requests in {time.monotonic() - begin:.0f} s: " + ", ".join(f"{n} {name}" for name, n in counts.items()))
print(f"at rest: {after}; the server ended with {code}")
sys.exit(bool(counts["lost"] or counts["wrong"] or code or before.split(", ")[1] != after.split(", ")[1]))
