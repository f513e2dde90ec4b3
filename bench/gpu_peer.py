"""transformers' generate on a model's directory, for bench/gpu.py: a line of JSON for the card's limits as PyTorch reaches them, then one
for each beam and batch, as soon as it is known.

Inputs are random subword tokens, all of one length, and so are outputs: nothing is padded, and every batch does the same work. Seconds are
those of generate alone, the best of two after a warm-up."""

import argparse
import json
import time

import torch
import transformers

TYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}


def wait(device):
    if device != "cpu":
        torch.cuda.synchronize()


def best_seconds(work, device, times):
    seconds = []
    for _ in range(times + 1):
        wait(device)
        begin = time.perf_counter()
        work()
        wait(device)
        seconds.append(time.perf_counter() - begin)
    return min(seconds[1:])


def limits(kind, device):
    """Return the bytes per second of a copy, reads and writes together, and the operations per second of a matrix product."""
    size, floats = (8192, 1 << 29) if device != "cpu" else (256, 1 << 20)
    a, b = (torch.randn(size, size, device=device, dtype=TYPES[kind]) for _ in range(2))
    x, y = (torch.empty(floats, device=device) for _ in range(2))
    result = {"limits": kind, "flops": 2 * size**3 / best_seconds(lambda: a @ b, device, 5)}
    result["bytes"] = 8 * floats / best_seconds(lambda: y.copy_(x), device, 5)
    return result


def measure(model, args, beam, batch):
    ids = torch.randint(4, args.words, (batch, args.length), generator=torch.Generator().manual_seed(1))
    ids = torch.cat([ids, torch.full((batch, 1), model.config.eos_token_id)], 1).to(args.device)
    mask = torch.ones_like(ids)

    def work():
        out = model.generate(input_ids=ids, attention_mask=mask, num_beams=beam, do_sample=False, min_new_tokens=args.length,
                             max_new_tokens=args.length, early_stopping=False)
        if out.shape != (batch, 1 + args.length):
            raise SystemExit(f"gpu_peer.py: outputs of {tuple(out.shape)}, not of {batch} lines and {args.length} pieces")

    with torch.inference_mode():
        seconds = best_seconds(work, args.device, 2)
    return {"k": beam, "batch": batch, "seconds": seconds, "tokens": batch * args.length,
            "tokens_per_second": batch * args.length / seconds}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--type", default="bf16", choices=TYPES)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--words", type=int, required=True)
    parser.add_argument("--length", type=int, default=26)
    parser.add_argument("--rows", type=int, nargs="+", help="a batch has as many lines as fill so many rows")
    parser.add_argument("--beams", type=int, nargs="+", default=[5, 50])
    args = parser.parse_args()
    transformers.logging.set_verbosity_error()
    print(json.dumps(limits(args.type, args.device)), flush=True)
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(args.model, dtype=TYPES[args.type]).to(args.device).eval()
    for beam in args.beams:
        for rows in args.rows:
            try:
                result = measure(model, args, beam, max(rows // beam, 1))
            except torch.cuda.OutOfMemoryError:
                break
            print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
