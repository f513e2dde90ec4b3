"""One run of CTranslate2, as bench/mt.py starts it: a model, lines of subword tokens, a beam size. Seconds are those of translating
alone, after a few warm-up lines; sorting by length and batching are the peer's own.
"""

import argparse
import json
import resource
import time

import ctranslate2

parser = argparse.ArgumentParser()
parser.add_argument("--model", required=True)
parser.add_argument("--type", default="float32", help="of computation: float32, int8")
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--inter", type=int, default=1, help="batches side by side, each with so many threads")
parser.add_argument("--beam", type=int, default=5)
parser.add_argument("--batch", type=int, default=32)
parser.add_argument("--length-penalty", type=float, default=1)
parser.add_argument("--length", type=int, default=0, help="of every output; 0: as the model ends them")
parser.add_argument("--max-length", type=int, default=256)
parser.add_argument("input")
parser.add_argument("output")
args = parser.parse_args()

with open(args.input, encoding="utf-8") as file:
    lines = [line.split() for line in file]
base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
translator = ctranslate2.Translator(args.model, device="cpu", compute_type=args.type, inter_threads=args.inter,
                                    intra_threads=args.threads)
batch = min(args.batch, -(-len(lines) // args.inter))  # with few lines, smaller batches, so that each parallel batch gets some
options = {"beam_size": args.beam, "length_penalty": args.length_penalty, "max_batch_size": batch, "batch_type": "examples",
           "max_decoding_length": args.length or args.max_length, "min_decoding_length": args.length or 1}
translator.translate_batch(lines[:4 * args.inter], **{**options, "max_batch_size": 4})
begin, cpu = time.perf_counter(), time.process_time()
results = translator.translate_batch(lines, **options)
seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
with open(args.output, "w", encoding="utf-8") as file:
    for result in results:
        file.write(" ".join(result.hypotheses[0]) + "\n")
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"wall": seconds, "cpu": cpu, "peak": (peak - base) * 1024, "version": ctranslate2.__version__}))
