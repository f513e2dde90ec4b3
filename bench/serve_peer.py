"""Baseline servers for bench/serve_load.py: a small FastAPI app that collects requests for some milliseconds and decodes them as one
batch.

It decodes with CTranslate2, or with `rill decode`, which gets the next batch after it has written the last. POST /translate with
{"q": TEXT}; the response is {"text": TEXT}."""

import argparse
import asyncio
import concurrent.futures
import subprocess

import fastapi
import sentencepiece
import uvicorn

parser = argparse.ArgumentParser()
parser.add_argument("--engine", choices=("ctranslate2", "rill"), required=True)
parser.add_argument("--model", required=True, help="rill's folder; CTranslate2's is its --folder")
parser.add_argument("--folder")
parser.add_argument("--rill")
parser.add_argument("--options", default="", help="of rill decode")
parser.add_argument("--port", type=int, required=True)
parser.add_argument("--window", type=float, default=0.010, help="seconds in which requests are collected")
parser.add_argument("--batch", type=int, default=32, help="most requests of a batch")
args = parser.parse_args()


class Ctranslate2:
    def __init__(self):
        import ctranslate2
        self.translator = ctranslate2.Translator(args.folder, device="cpu", compute_type="float32", inter_threads=1, intra_threads=1)
        self.source = sentencepiece.SentencePieceProcessor(model_file=args.model + "/source.spm")
        self.target = sentencepiece.SentencePieceProcessor(model_file=args.model + "/target.spm")

    def decode(self, texts):
        pieces = self.source.encode(texts, out_type=str)
        results = self.translator.translate_batch(pieces, beam_size=5, max_batch_size=args.batch)
        return [self.target.decode(r.hypotheses[0]) for r in results]


class Rill:
    def __init__(self):
        self.process = subprocess.Popen([args.rill, "decode", "-q", "-m", args.model, "--workers", "1", *args.options.split()],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def decode(self, texts):
        self.process.stdin.write("".join(" ".join(text.split()) + "\n" for text in texts))
        self.process.stdin.flush()
        return [self.process.stdout.readline().rstrip("\n") for _ in texts]


app = fastapi.FastAPI()
waiting = []
some = asyncio.Event()


async def decode_batches():
    engine = Ctranslate2() if args.engine == "ctranslate2" else Rill()
    loop = asyncio.get_running_loop()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        while True:
            await some.wait()
            if len(waiting) < args.batch:
                await asyncio.sleep(args.window)
            batch = waiting[:args.batch]
            del waiting[:args.batch]
            if not waiting:
                some.clear()
            for (_, future), text in zip(batch, await loop.run_in_executor(pool, engine.decode, [q for q, _ in batch])):
                if not future.done():
                    future.set_result(text)


@app.on_event("startup")
async def start():
    app.state.task = asyncio.create_task(decode_batches())


@app.post("/translate")
async def translate(request: fastapi.Request):
    future = asyncio.get_running_loop().create_future()
    waiting.append(((await request.json())["q"], future))
    some.set()
    return {"text": await future}


uvicorn.run(app, host="127.0.0.1", port=args.port, log_level="error")
