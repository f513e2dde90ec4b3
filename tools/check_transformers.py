#!/usr/bin/env python3
"""Compares rill with transformers on random model directories: `rill decode --like hf` and generate() must give the same lists.

Needs torch, transformers, sentencepiece, protobuf, sacremoses, and rill (--rill build/rill). Each directory is a tiny random model
of one of the families, saved by transformers and then edited at random: keys of its configurations (removed, changed,
contradicting), ties and stored tables, activations, weight types, added and special tokens, lengths, search settings. Both read
texts with the directory's tokenizer. transformers computes in 64 bits; its search, which would add log-probabilities in 32 bits,
is patched to use 64.

rill may refuse directories for the reasons in docs/mt.md. Such directories, and those that transformers does not open, are counted
separately. So are directories for which transformers' own lists in 32 and in 64 bits differ, since a rounding decides their
searches. Lists count as equal if scores agree within 3e-4 (rill computes in 32 bits; 1.2e-4 was seen), and if outputs whose scores
differ by more than that have the same tokens.
"""

import argparse
import collections
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import warnings

os.environ["HF_HUB_OFFLINE"] = "1"
warnings.filterwarnings("ignore")

try:
    import torch
    import transformers
    import transformers.generation.utils as generation_utils
    from safetensors.torch import load_file, save_file
    from tokenizers import AddedToken
    from transformers.models.fsmt import modeling_fsmt
    import google.protobuf  # without sacremoses, transformers asks for tiktoken
    import sacremoses
    import sentencepiece
    import reference_text
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TEXTS = os.path.join(ROOT, "tests", "data", "text")
MODELS = os.path.join(ROOT, "tests", "data", "mt")
WORDS = "ein mann spielt gitarre the keys are on table Two dogs run , . ! can't it's 42 a b über".split()
SCORES = 3e-4  # allowed relative difference of scores
ACTIVATIONS = ["relu", "gelu", "gelu_new", "silu", "swish", "quick_gelu", "gelu_pytorch_tanh", "gelu_fast"]

# A family: its tokenizer's class and directory, the classes of its configuration and model, its languages.
Family = collections.namedtuple("Family", "tokenizer folder model languages")
FAMILIES = {
    "marian": Family("MarianTokenizer", os.path.join(MODELS, "shared"), "Marian", ()),
    "fsmt": Family("FSMTTokenizer", os.path.join(MODELS, "fsmt-tied"), "FSMT", ()),
    "nllb": Family("NllbTokenizer", os.path.join(TEXTS, "nllb"), "M2M100", ("eng_Latn", "deu_Latn", "fra_Latn")),
    "m2m": Family("M2M100Tokenizer", os.path.join(TEXTS, "m2m"), "M2M100", ("en", "de", "zu")),
    "mbart": Family("MBartTokenizer", os.path.join(TEXTS, "mbart"), "MBart", ("en_XX", "de_DE", "zh_CN")),
    "mbart50": Family("MBart50Tokenizer", os.path.join(TEXTS, "mbart50"), "MBart", ("en_XX", "de_DE", "sl_SI")),
    "bart": Family("BartTokenizer", os.path.join(TEXTS, "bart"), "Bart", ()),
    "pegasus": Family("PegasusTokenizer", os.path.join(TEXTS, "pegasus"), "Pegasus", ()),
    "t5": Family("T5Tokenizer", os.path.join(TEXTS, "t5"), "T5", ()),
    "mt5": Family("T5Tokenizer", os.path.join(TEXTS, "t5"), "MT5", ()),
    "umt5": Family("T5Tokenizer", os.path.join(TEXTS, "t5"), "UMT5", ()),
    "byt5": Family("ByT5Tokenizer", os.path.join(TEXTS, "byt5"), "T5", ()),
    "codet5": Family("RobertaTokenizer", os.path.join(TEXTS, "codet5"), "T5", ()),
}
LISTED = {"nllb": reference_text.FLORES, "mbart": reference_text.MBART_25, "mbart50": reference_text.MBART_50}
VOCABULARY_FILES = ("source.spm", "target.spm", "vocab.json", "vocab-src.json", "vocab-tgt.json", "merges.txt", "spiece.model",
                    "sentencepiece.bpe.model")


def read(folder, name):
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def write(folder, name, value):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        json.dump(value, file, ensure_ascii=False, indent=1)


class Torch64:
    """Replaces the module torch in transformers' search: what the search creates in 32 bits, log-probabilities and their sums, has 64
    bits."""
    float = float32 = torch.float64

    def __getattr__(self, name):
        return getattr(torch, name)


class Folder:
    """A random model directory."""

    def __init__(self, path, seed):
        self.path, self.dice = path, random.Random(seed)
        self.generator = torch.Generator().manual_seed(seed)
        self.name = self.dice.choice(sorted(FAMILIES))
        self.family = FAMILIES[self.name]
        self.is_t5 = self.family.model in ("T5", "MT5", "UMT5")
        self.edits = []
        self.make_tokenizer()
        self.make_model()
        self.edit_tensors()
        self.edit_config()
        self.edit_generation()

    def maybe(self, share):
        return self.dice.random() < share

    # --- tokenizer

    def load_tokenizer(self, path):
        more = {}
        if self.family.languages:
            more["src_lang"] = self.family.languages[0]
        return getattr(transformers, self.family.tokenizer).from_pretrained(path, **more)

    def make_tokenizer(self):
        for name in os.listdir(self.family.folder):
            if name in VOCABULARY_FILES + ("tokenizer_config.json", "special_tokens_map.json"):
                shutil.copy(os.path.join(self.family.folder, name), self.path)
        if self.name in LISTED:  # number languages as published directories do, before the mask, and not as transformers 5 does
            languages, pieces = LISTED[self.name], sentencepiece.SentencePieceProcessor(
                model_file=os.path.join(self.path, "sentencepiece.bpe.model")).get_piece_size()
            numbers = {**dict(enumerate(["<s>", "<pad>", "</s>", "<unk>"])),
                       **{pieces + 1 + i: token for i, token in enumerate([*languages, "<mask>"])}}
            write(self.path, "tokenizer_config.json", {
                "tokenizer_class": self.family.tokenizer, "additional_special_tokens": languages,
                "added_tokens_decoder": {str(i): {"content": token, "special": True, "normalized": False, "rstrip": False,
                                                  "lstrip": token == "<mask>", "single_word": False}
                                         for i, token in numbers.items()}})
        if self.name == "fsmt":  # give rill the prefix lists of sacremoses, since rill's own are shorter
            prefixes = sacremoses.corpus.NonbreakingPrefixes()
            for language in ("de", "en"):
                with open(os.path.join(self.path, "nonbreaking_prefix." + language), "w", encoding="utf-8") as file:
                    file.write("".join(word + "\n" for word in prefixes.words(language)))
        self.added = []
        tokenizer = self.load_tokenizer(self.path)
        if self.maybe(0.6):
            for token in self.dice.sample(["<formal>", "<x y>", "newtok", "[SEP]", "Mann", ">>xx<<"], self.dice.randint(1, 3)):
                special = self.maybe(0.4)
                self.added.append(token)
                tokenizer.add_tokens([AddedToken(token, lstrip=self.maybe(0.2), rstrip=self.maybe(0.2),
                                                 normalized=False, special=special)], special_tokens=special)
            self.edits.append(f"added {self.added}")
            tokenizer.save_pretrained(self.path)
        elif self.maybe(0.5):
            tokenizer.save_pretrained(self.path)
            self.edits.append("tokenizer saved")
        both = read(self.path, "tokenizer.json")
        if both is not None and self.maybe(0.5):  # save the added tokens as older versions of transformers did
            config = read(self.path, "tokenizer_config.json")
            config["added_tokens_decoder"] = {token.pop("id"): token for token in both["added_tokens"]}
            write(self.path, "tokenizer_config.json", config)
            os.remove(os.path.join(self.path, "tokenizer.json"))
        elif both is not None and self.maybe(0.7):  # as newer versions save a tokenizer: only this file
            self.edits.append("tokenizer.json alone")
            for name in VOCABULARY_FILES:
                if os.path.exists(os.path.join(self.path, name)):
                    os.remove(os.path.join(self.path, name))
        elif both is not None:
            self.edits.append("tokenizer.json beside older files")
        tokens = tokenizer.get_vocab()
        self.size = max(max(tokens.values()) + 1, len(tokens))
        if self.name == "m2m":
            self.size = max(self.size, max(tokenizer.lang_token_to_id.values()) + 1)
        self.pad, self.end, self.unknown = tokenizer.pad_token_id, tokenizer.eos_token_id, tokenizer.unk_token_id
        if self.name == "fsmt":
            self.end = tokenizer.sep_token_id

    # --- model

    def sizes(self):
        d, dice = self.dice.choice([12, 16, 18, 20]), self.dice
        heads = [h for h in (1, 2, 3, 4) if d % h == 0]
        if self.is_t5:
            activation = dice.choice(ACTIVATIONS)
            return dict(d_model=d, d_kv=dice.choice([3, 4, 8]), num_heads=dice.choice([1, 2, 3]), d_ff=dice.randint(10, 30),
                        num_layers=dice.randint(1, 3), num_decoder_layers=dice.randint(1, 3),
                        feed_forward_proj=dice.choice(["relu", "gated-gelu", "gelu", "gated-silu", activation, "gated-" + activation]),
                        relative_attention_num_buckets=dice.choice([8, 32, 16]), relative_attention_max_distance=dice.choice([20, 128]),
                        layer_norm_epsilon=dice.choice([1e-6, 1e-3]), tie_word_embeddings=self.maybe(0.6))
        return dict(d_model=d, encoder_attention_heads=dice.choice(heads), decoder_attention_heads=dice.choice(heads),
                    encoder_layers=dice.randint(1, 3), decoder_layers=dice.randint(1, 3), encoder_ffn_dim=dice.randint(10, 30),
                    decoder_ffn_dim=dice.randint(10, 30), max_position_embeddings=dice.choice([64, 80]),
                    activation_function=dice.choice(ACTIVATIONS), scale_embedding=self.maybe(0.5),
                    tie_word_embeddings=self.maybe(0.75))

    def make_model(self):
        kind, more = self.family.model, {}
        if kind == "FSMT":
            more = dict(src_vocab_size=self.size, tgt_vocab_size=self.size, langs=["de", "en"])
        start = self.end if self.name in ("fsmt", "nllb", "m2m", "mbart50", "bart") else self.pad
        if self.name == "mbart":
            start = self.load_tokenizer(self.path).convert_tokens_to_ids(self.family.languages[1])
        config = getattr(transformers, kind + "Config")(
            vocab_size=self.size, pad_token_id=self.pad, eos_token_id=self.end, decoder_start_token_id=start,
            forced_eos_token_id=None, **more, **self.sizes())
        cls = kind + ("MTModel" if kind == "Marian" else "ForConditionalGeneration")
        model = getattr(transformers, cls)(config).eval()
        with torch.no_grad():
            for key, value in model.named_parameters():
                width = value.shape[-1] if value.dim() > 1 else 100
                noise = torch.randn(value.shape, generator=self.generator)
                if "norm" in key:
                    value += 0.3 * noise
                elif "relative" in key:
                    value.copy_(noise)
                elif "embed_positions" not in key or kind in ("Bart", "MBart"):
                    value.copy_(noise * (1.6 / width ** 0.5))
            if hasattr(model, "final_logits_bias"):
                bias = torch.randn(model.final_logits_bias.shape, generator=self.generator) * 0.5
                bias[0, self.end] += 3.0
                model.final_logits_bias.copy_(bias)
            else:
                model.get_output_embeddings().weight[self.end] *= self.dice.choice([2.0, 3.0, 4.0])
        types = [torch.float32] if self.name == "fsmt" else [torch.float32, torch.float32, torch.float16, torch.bfloat16]
        self.dtype = self.dice.choice(types)  # FSMT stores its position tables, which 16 bits would round; rill computes them
        model.to(self.dtype).save_pretrained(self.path)

    def edit_tensors(self):
        path = os.path.join(self.path, "model.safetensors")
        tensors = load_file(path)
        prefix = "" if self.is_t5 else "model."
        tables = [prefix + "shared.weight", prefix + "encoder.embed_tokens.weight", prefix + "decoder.embed_tokens.weight",
                  "lm_head.weight"]
        if self.name == "fsmt":
            tables = tables[1:3] + ["model.decoder.output_projection.weight"]
        present = [name for name in tables if name in tensors]
        if present and self.maybe(0.5):
            base = tensors[present[0]]
            for name in tables:
                if name in tensors or not self.maybe(0.4):
                    continue
                table = base.clone()
                # Marian and FSMT models with different copies of a table are refused
                if self.maybe(0.4) and self.name not in ("marian", "fsmt"):
                    table = (table.float() + 0.5 * torch.randn(table.shape, generator=self.generator)).to(table.dtype)
                    self.edits.append(f"another {name}")
                else:
                    self.edits.append(f"a copy {name}")
                tensors[name] = table
        save_file({k: v.contiguous() for k, v in tensors.items()}, path, metadata={"format": "pt"})

    # --- configurations

    def edit_config(self):
        config, before = read(self.path, "config.json"), None
        defaults = getattr(transformers, self.family.model + "Config")().to_dict()
        for key in [k for k in config if k in defaults and config[k] == defaults[k]]:
            if self.maybe(0.15) and key not in ("model_type", "architectures"):
                del config[key]
                self.edits.append(f"without {key}")
        if self.is_t5:
            if self.maybe(0.3):  # as versions before transformers 5 wrote it
                config.pop("scale_decoder_outputs", None)
                config["tie_word_embeddings"] = self.maybe(0.5)
                self.edits.append(f"tie_word_embeddings {config['tie_word_embeddings']}")
            if self.maybe(0.2):
                config["dense_act_fn"] = self.dice.choice(ACTIVATIONS)
                self.edits.append(f"dense_act_fn {config['dense_act_fn']}")
            if self.maybe(0.1):
                config.pop("dense_act_fn", None)
        elif self.maybe(0.2):
            config["scale_embedding"] = not config.get("scale_embedding", False)
            self.edits.append(f"scale_embedding {config['scale_embedding']}")
        if self.maybe(0.1):
            config["eos_token_id"] = [self.end]
        if self.name == "bart" and self.maybe(0.2):
            config["force_bos_token_to_be_generated"] = True
            self.edits.append("force_bos_token_to_be_generated")
        if before != config:
            write(self.path, "config.json", config)

    def edit_generation(self):
        dice, generation = self.dice, read(self.path, "generation_config.json") or {}
        generation["bad_words_ids"] = [[self.pad]]
        self.beams = dice.choice([1, 2, 4, 4, 5])
        generation["num_beams"] = self.beams
        choices = {
            "max_length": lambda: dice.randint(6, 24), "max_new_tokens": lambda: dice.randint(5, 20),
            "min_length": lambda: dice.randint(0, 5), "min_new_tokens": lambda: dice.randint(0, 5),
            "length_penalty": lambda: dice.choice([0.0, 0.6, 1.0, 2.0, -0.5]),
            "early_stopping": lambda: dice.choice([True, False, "never"]),
            "no_repeat_ngram_size": lambda: dice.randint(2, 3), "repetition_penalty": lambda: dice.choice([1.2, 1.5, 0.9]),
            "forced_eos_token_id": lambda: self.end, "renormalize_logits": lambda: True,
            "suppress_tokens": lambda: [dice.randint(4, self.size - 1) for _ in range(3)],
        }
        for key, value in choices.items():
            share = 0.5 if key in ("max_length", "early_stopping") else 0.2
            if self.maybe(share):
                generation[key] = value()
        if self.beams == 1:
            # transformers' greedy search applies it to logits; its beam search and rill apply it to log-probabilities
            generation.pop("repetition_penalty", None)
        if any(key in generation for key in ("min_length", "min_new_tokens", "no_repeat_ngram_size", "repetition_penalty")):
            generation.pop("renormalize_logits", None)  # rill's renormalisation ignores masks that change from step to step
        if self.maybe(0.2) and "renormalize_logits" not in generation:
            generation["bad_words_ids"].append([dice.randint(4, self.size - 1) for _ in range(2)])
        if self.maybe(0.2) and self.name not in ("mbart",):
            generation["forced_bos_token_id"] = dice.randint(4, self.size - 1)
        if self.maybe(0.1):
            generation["eos_token_id"] = [self.end]
        self.edits.append("generation " + json.dumps({k: v for k, v in generation.items() if k in choices or "forced" in k}))
        if self.maybe(0.15):  # as versions before transformers 4.25 wrote it: in config.json
            config = read(self.path, "config.json")
            config.update({k: v for k, v in generation.items() if not k.startswith("_")})
            write(self.path, "config.json", config)
            if os.path.exists(os.path.join(self.path, "generation_config.json")):
                os.remove(os.path.join(self.path, "generation_config.json"))
            self.edits.append("in config.json")
        else:
            write(self.path, "generation_config.json", generation)

    # --- texts

    def texts(self):
        """Draw inputs. In directories with a SentencePiece model, added tokens have no spaces next to them: for some families
        transformers 5, unlike SentencePiece and rill, makes an additional token of such a space.
        """
        special = self.added + ["</s>", "<unk>"]
        close = any(os.path.exists(os.path.join(self.path, name)) for name in ("spiece.model", "sentencepiece.bpe.model"))
        lines = []
        for count in (3, 6, 9):
            line = ""
            for _ in range(count):
                if self.maybe(0.15):
                    token = self.dice.choice(special)
                    line = line.rstrip() + token if close else line + token + " " * self.maybe(0.5)
                else:
                    line += self.dice.choice(WORDS) + " " * self.maybe(0.8)
            lines.append(line.strip())
        return lines

    def languages(self):
        """Return the language options of rill, and the token that transformers must force, for the languages of the run. Both are empty
        for other families."""
        if not self.family.languages:
            return [], None
        source, target = self.dice.sample(self.family.languages, 2)
        if self.name == "mbart":
            target = self.family.languages[1]
        return ["--source-lang", source, "--target-lang", target], (source, target)


def theirs(folder, lines, languages, dtype=torch.float64):
    tokenizer = folder.load_tokenizer(folder.path)
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder.path, dtype=dtype).eval()
    generation_utils.torch = Torch64() if dtype == torch.float64 else torch
    more, shared = {}, set()
    if folder.name == "m2m":  # the id of a language may also be that of an added token: docs/mt.md says which of them rill writes
        shared = set(tokenizer.lang_token_to_id.values()) & set(tokenizer.added_tokens_decoder)
    if languages:
        tokenizer.src_lang = languages[0]
        if folder.name != "mbart":
            more["forced_bos_token_id"] = (tokenizer.get_lang_id(languages[1]) if folder.name == "m2m"
                                           else tokenizer.convert_tokens_to_ids(languages[1]))
    found = []
    for line in lines:
        ids = tokenizer(line, return_tensors="pt").input_ids
        result = model.generate(ids, num_beams=folder.beams, num_return_sequences=folder.beams, do_sample=False,
                                # for other families the cache is off: UMT5's fails if the decoder has more layers than the encoder
                                use_cache=folder.name == "fsmt",
                                output_scores=True, return_dict_in_generate=True, **more)
        scores = result.sequences_scores.tolist() if folder.beams > 1 else [None]
        outputs = []
        for sequence, score in zip(result.sequences.tolist(), scores):
            actions = sequence[1:]
            if folder.end in actions:
                actions = actions[:actions.index(folder.end)]
            outputs.append((actions, score))
        text = None if shared & set(outputs[0][0]) else tokenizer.decode(result.sequences[0], skip_special_tokens=True)
        found.append((ids[0].tolist(), outputs, text))
    return found


def run_rill(rill, folder, lines, options):
    run = subprocess.run([rill, "decode", "-m", folder.path, "-q", "--like", "hf", *options],
                         input="".join(line + "\n" for line in lines), capture_output=True, text=True, check=False)
    return run.returncode, run.stdout, run.stderr


def ours(rill, folder, lines, options):
    code, out, messages = run_rill(rill, folder, lines, ["--ids", "--n-best", str(folder.beams), *options])
    if code:
        return None, messages
    found = [[] for _ in lines]
    for line in out.splitlines():
        number, ids, _, score = line.split(" ||| ")
        actions = [int(i) for i in ids.split()]
        found[int(number)].append((actions[:-1] if actions and actions[-1] == folder.end else actions, float(score)))
    code, out, messages = run_rill(rill, folder, lines, options)
    return list(zip(found, out.split("\n"))), messages


def tidy(text):
    """Normalise the text to what rill writes: one line, no spaces at its ends, and no languages, which M2M100 in transformers 5 does not
    treat as special tokens."""
    return re.sub("(__[a-z]+__)+", "", re.sub("[\r\n\u2581\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029]", " ", text)).strip(" ")


def difference(expected, found):
    """Return what differs in the list of one input, or None."""
    ids, outputs, text = expected
    lists, written = found
    if len(outputs) != len(lists):
        return f"{len(outputs)} outputs, found {len(lists)}"
    for i, ((actions, score), (others, other)) in enumerate(zip(outputs, lists)):
        close = score is None or abs(score - other) < SCORES * max(1, abs(score))
        near = score is not None and any(j != i and abs(score - s) < SCORES * max(1, abs(score)) for j, (_, s) in enumerate(outputs))
        if not close or (actions != others and not near):
            same = next((j for j, (a, b) in enumerate(zip(actions, others)) if a != b), 0)
            return (f"inputs {ids}\n  output {i}, {len(actions)} tokens, from {same} on: {actions[same:same + 20]} at {score}\n"
                    f"  found, {len(others)} tokens: {others[same:same + 20]} at {other}")
    if text is not None and outputs[0][0] == lists[0][0] and tidy(text) != tidy(written):
        return f"text {tidy(text)!r}\n  found {written!r} of {lists[0][0]}"
    return None


def check(rill, seed, counts, keep):
    work = tempfile.mkdtemp(prefix=f"rill-{seed}-")
    torch.manual_seed(seed)
    try:
        folder = Folder(work, seed)
        lines = folder.texts()
        options, languages = folder.languages()
        expected = theirs(folder, lines, languages)
    except Exception as error:  # pylint: disable=broad-except
        counts["not opened by transformers"] += 1
        if keep:
            print(f"{seed}: transformers: {type(error).__name__}: {str(error)[:200]}")
        shutil.rmtree(work)
        return
    found, messages = ours(rill, folder, lines, options)
    wrong = []
    if found is None:
        wrong.append(messages.strip())
    else:
        wrong += [what for what in (difference(e, f) for e, f in zip(expected, found)) if what]
        rounded = theirs(folder, lines, languages, torch.float32) if wrong else []
        if any([a for a, _ in e[1]] != [a for a, _ in r[1]] and difference(e, f) for e, r, f in zip(expected, rounded, found)):
            counts["undecided in 32 bits"] += 1
            print(f"{seed}: {folder.name}: transformers' lists differ between 32 and 64 bits")
            shutil.rmtree(work)
            return
    counts["lists"] += len(lines)
    counts["different" if wrong else "equal"] += 1
    if wrong:
        print(f"{seed}: {folder.name}, {folder.dtype}: {'; '.join(folder.edits)}\n  texts {lines}, {options}")
        for what in wrong[:1]:
            print("  " + what)
        sys.stdout.flush()
    if not (keep and wrong):
        shutil.rmtree(work)
    else:
        print("  kept in " + work)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rill", required=True)
    parser.add_argument("--folders", type=int, default=100)
    parser.add_argument("--first", type=int, default=1, help="seed of the first directory")
    parser.add_argument("--keep", action="store_true", help="keep the directories that differ")
    arguments = parser.parse_args()
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(1)
    modeling_fsmt.fill_with_neg_inf = lambda t: torch.full_like(t, float("-inf"))  # FSMT's own function overflows in 64 bits
    counts = collections.Counter()
    for seed in range(arguments.first, arguments.first + arguments.folders):
        check(arguments.rill, seed, counts, arguments.keep)
    print(f"transformers {transformers.__version__}: " + ", ".join(f"{n} {what}" for what, n in sorted(counts.items())))
    return 1 if counts["different"] or counts["equal"] == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
