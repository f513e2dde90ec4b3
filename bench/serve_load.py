#!/usr/bin/env python3
"""Load on a server: latency and throughput against the rate at which requests arrive. bench/serve.sh starts it.

The client is open-loop: requests come at times drawn before the run (Poisson), whether or not earlier ones are answered, and latency
counts from the time at which a request was due. Servers run on one processor, the client on another. A rate counts as sustained when
at least 97 % of its requests are answered within its time and 2 s.

usage: serve_load.py --rill RILL --model DIR --ct2 DIR --input FILE [--rates 25,50,...] [--seconds 8] [--rounds 1] [--out JSON]
"""

import argparse
import asyncio
import json
import os
import random
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("rill", "model", "ct2", "input"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--rates", default="25,50,100,150,200,300,400,500,600,700")
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--cpu", type=int, nargs=2, default=(0, 1), help="the servers' processor, the client's")
    parser.add_argument("--out")
    return parser.parse_args()


# --- servers ---------------------------------------------------------------------------------------------------------------------


class Server:
    def __init__(self, args, name, command, body, port=None):
        self.name, self.body, self.port = name, body, port
        self.process = subprocess.Popen(["taskset", "-c", str(args.cpu[0]), *command], stderr=subprocess.PIPE, text=True)
        if port is None:
            line = self.process.stderr.readline()
            self.port = int(re.search(r":(\d+)$", line.strip()).group(1))

    async def ready(self):
        for _ in range(600):
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", self.port)
                writer.close()
                return
            except OSError:
                await asyncio.sleep(0.1)
        sys.exit(f"serve_load.py: {self.name} does not come up")

    def stop(self):
        self.process.terminate()
        self.process.wait()


def servers(args):
    """Yield the servers in the order of the table. Those of rill use the same search, the model's default."""
    python = [sys.executable, os.path.join(HERE, "serve_peer.py"), "--model", args.model]
    plain = "-k 5 --method {} -n 32"

    def v1(text):
        return "/v1/decode", {"input": text}

    def translate(text):
        return "/translate", {"q": text}

    yield lambda: Server(args, "rill serve", [args.rill, "serve", "--port", "0", "--workers", "1", "--cache-size", "0", "-m", args.model,
                                              *plain.format("stream-all").split()], v1)
    yield lambda: Server(args, "rill, batches of 10 ms", [*python, "--engine", "rill", "--rill", args.rill, "--port", "8291",
                                                          "--options", plain.format("var-batch")], translate, 8291)
    yield lambda: Server(args, "ctranslate2, batches of 10 ms", [*python, "--engine", "ctranslate2", "--folder", args.ct2,
                                                                 "--port", "8292"], translate, 8292)


# --- the client ------------------------------------------------------------------------------------------------------------------


class Client:
    """A client that keeps its connections open, and opens as many as it needs at a time."""

    def __init__(self, port):
        self.port, self.free, self.all = port, [], []

    async def ask(self, path, body):
        if self.free:
            reader, writer = self.free.pop()
        else:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            self.all.append(writer)
        data = json.dumps(body).encode()
        writer.write(b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" %
                     (path.encode(), len(data), data))
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(re.search(rb"(?i)content-length: (\d+)", head).group(1))
        text = await reader.readexactly(length)
        self.free.append((reader, writer))
        if b" 200 " not in head[:20]:
            raise OSError(head[:60])
        return text

    def close(self):
        for writer in self.all:
            writer.close()


async def load(server, lines, rate, seconds, seed):
    """Send requests at a rate. Return the latencies of the answered requests, in seconds, and the number of requests that were due."""
    rng = random.Random(seed)
    due, at = [], rng.expovariate(rate)
    while at < seconds:
        due.append(at)
        at += rng.expovariate(rate)
    client, latency = Client(server.port), []
    start = time.perf_counter() + 0.1

    async def one(when):
        path, body = server.body(rng.choice(lines))
        try:
            await client.ask(path, body)
            latency.append(time.perf_counter() - start - when)
        except (OSError, asyncio.IncompleteReadError):
            pass

    tasks = []
    for when in due:
        wait = start + when - time.perf_counter()
        if wait > 0:
            await asyncio.sleep(wait)
        tasks.append(asyncio.create_task(one(when)))
    left = start + seconds + 2 - time.perf_counter()
    _, pending = await asyncio.wait(tasks, timeout=max(left, 0.1))
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
    client.close()
    return sorted(latency), len(due)


def at_share(values, share):
    return values[min(int(share * len(values)), len(values) - 1)] if values else float("inf")


async def measure(args, lines):
    rows = []
    for make in servers(args):
        server = make()
        await server.ready()
        await load(server, lines, 20, 2, 0)  # warm-up
        for rate in map(float, args.rates.split(",")):
            for turn in range(args.rounds):
                latency, n = await load(server, lines, rate, args.seconds, 1000 * rate + turn)
                row = {"server": server.name, "rate": rate, "due": n, "answered": len(latency),
                       **{f"p{p}": at_share(latency, p / 100) for p in (50, 95, 99)}}
                rows.append(row)
                print(f"{server.name:30} {rate:6.0f} {len(latency) / args.seconds:8.1f} {100 * len(latency) / n:5.0f} %"
                      f" {1000 * row['p50']:8.1f} {1000 * row['p95']:8.1f} {1000 * row['p99']:8.1f}", flush=True)
            if len(latency) < 0.8 * n:
                break
        server.stop()
    return rows


def main():
    args = options()
    os.sched_setaffinity(0, {args.cpu[1]})
    with open(args.input, encoding="utf-8") as file:
        lines = file.read().splitlines()
    print(f"{'':30} {'rate':>6} {'answers/s':>8} {'in time':>7} {'p50, ms':>8} {'p95':>8} {'p99':>8}")
    rows = asyncio.run(measure(args, lines))
    if args.out:
        with open(args.out, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)


main()
