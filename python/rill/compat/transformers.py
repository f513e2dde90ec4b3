"""generate() with the arguments of transformers, decoded by rill.

    from rill.compat.transformers import generate

    found = generate(model, ["Ein Hund läuft."], num_beams=4, num_return_sequences=2)
    found.texts, found.sequences, found.sequences_scores

As in transformers, arguments override the model's generation_config.json (docs/search.md, preset hf). Inputs are texts, which the model's
tokenizer splits. Other arguments of transformers are refused.
"""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import random
from collections.abc import Iterable, Sequence
from typing import Any

from .._native import lib
from ..kinds import typed, whole
from ..model import Model
from ..stream import Engine

__all__ = ["GenerateOutput", "generate"]


@dataclasses.dataclass(frozen=True)
class GenerateOutput:
    """Results of n inputs with r sequences each, input by input and best first.

    texts: [n r]; sequences: [n r] lists of ids with the end token, without padding
    sequences_scores: [n r] sums of log-probabilities / length ** length_penalty
    scores: [n r] lists with the log-probability of each id, 0 for forced ones (transformers: of the whole vocabulary); empty with
    output_scores=False
    """

    texts: list[str]
    sequences: list[list[int]]
    sequences_scores: list[float]
    scores: list[list[float]]


_REFUSED = {
    "input_ids": "inputs are texts, which the model's tokenizer splits: generate(model, [text])",
    "inputs_embeds": "inputs are texts, which the model's tokenizer splits: generate(model, [text])",
    "attention_mask": "inputs are texts and have no padding: leave it out",
    "decoder_input_ids": 'rill.Request(text, arguments={"prefix": ...}) with scorer="prefix" forces the beginning of an output',
    "force_words_ids": 'rill.Request(text, arguments={"require": ...}) with scorer="require" requires phrases',
    "logits_processor": "model.stream(inputs, scorer=function) changes scores",
    "stopping_criteria": "model.stream(inputs, heuristic=function) stops inputs",
    "streamer": "model.stream(inputs, trace=function) reports each timestep",
    "generation_config": "the model's own generation_config.json is read; other values are arguments",
    "pad_token_id": "results have no padding: leave it out",
    "eos_token_id": "the model's own end token ends outputs: leave it out",
    "use_cache": "the KV cache is always used: leave it out",
    "return_dict_in_generate": "the result always has scores: leave it out",
    "penalty_alpha": "contrastive search is not supported",
    "typical_p": "typical sampling is not supported; top_p is",
    "min_p": "min-p sampling is not supported; top_p is",
}

_STOPS = {False: "bound", True: "count", "never": "bound-max"}


def _length_limit(model: Model) -> tuple[int, bool]:
    """Returns the length limit that the model's files set, without a forced end token, and whether they force one after it."""
    engine = Engine(model._opened, {"like": "hf", "heuristic": []}, None, model._names, False)
    try:
        settings = lib.rill_engine_settings(engine.engine)
        return settings.max_length or model.info.max_length, settings.at_limit == lib.RILL_LIMIT_END_FREE
    finally:
        engine.close()


def _ids(model: Model, what: str, given: Any) -> list[int]:
    """Check token ids."""
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise TypeError(f"{what}: a list of token ids was expected, found {given!r}")
    ids = [whole(what, one) for one in given]
    for one in ids:
        if not 0 <= one < model.info.actions:
            raise ValueError(f"{what}: token id {one}: the vocabulary has {model.info.actions}")
    return ids


def _banned(model: Model, given: Any, free_first: bool) -> str:
    """Return the scorer that bans sequences of ids. free_first: True if the first token is forced, so that it may be a banned one."""
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise TypeError(f"bad_words_ids: a list of lists of token ids was expected, found {given!r}")
    sequences = [_ids(model, "bad_words_ids", one) for one in given]
    if not all(sequences):
        raise ValueError("bad_words_ids: a list of token ids is empty")
    return "python-ban:" + "| " * free_first + " | ".join(" ".join(map(str, one)) for one in sequences if one != [model.info.end_action])


def _opened_by(model: Model, texts: list[str], token: int) -> tuple[list[str], bool]:
    """The inputs to decode for outputs that begin with `token`, and whether a scorer has to force the token."""
    _ids(model, "forced_bos_token_id", [token])
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("inputs: forced_bos_token_id is for texts")
    if model._recipe.settings.get("language_columns"):
        return [f"\t{model.id_to_token(token)}\t{text}" for text in texts], False
    opened, forced = model._opened, set()
    for data in (text.encode(errors="replace") for text in texts):
        with opened.lock:
            forced.add(int(lib.rill_model_first_action(opened.model, opened.ctx, data, len(data))))  # -1: none
    for other in sorted(forced - {token, -1}):
        why = "rill.Model(..., language_columns=True) takes a language for each call" if model.info.languages else "leave it out"
        raise ValueError(f"forced_bos_token_id: {token}: the model's files or options force {other}, {model.id_to_token(other)!r}: {why}")
    return texts, forced == {-1}


@typed
def generate(
    model: Model,
    inputs: Iterable[str] | None = None,
    *,
    num_beams: int | None = None,
    num_return_sequences: int = 1,
    do_sample: bool = False,
    early_stopping: bool | str | None = None,
    length_penalty: float | None = None,
    max_length: int | None = None,
    max_new_tokens: int | None = None,
    min_length: int | None = None,
    min_new_tokens: int | None = None,
    no_repeat_ngram_size: int | None = None,
    repetition_penalty: float | None = None,
    bad_words_ids: Sequence[Sequence[int]] | None = None,
    forced_bos_token_id: int | None = None,
    forced_eos_token_id: int | None = None,
    temperature: float | None = None,
    top_k: int | None = None,
    top_p: float | None = None,
    num_beam_groups: int | None = None,
    diversity_penalty: float | None = None,
    seed: int | None = None,
    output_scores: bool = True,
    **others: object,
) -> GenerateOutput:
    """Decode as transformers' generate() does. None: the value of the model's generation_config.json, or its default.

    max_length counts the decoder's start token; max_new_tokens does not, and overrides it. Likewise min_length and min_new_tokens.
    Without a length here or in the model's files, the model's largest is the limit; in transformers 20 new tokens.
    num_beams: 1 is greedy search. seed: of samples; None: different in every call
    bad_words_ids: sequences of ids that no output contains. The end token alone is not one, as in transformers.
    forced_bos_token_id: the first token of outputs. If the model's files or target_lang= force one, it must be equal. With
    language_columns=True it is the target language of the inputs, which are texts without columns.
    Raises rill.OptionError for impossible values, ValueError for contradictory ones, and the error of a failed input.
    """
    for name in others:
        known = [one for one in inspect.signature(generate).parameters if one not in ("model", "others")]
        near = difflib.get_close_matches(name, known, 1)
        why = _REFUSED.get(name) or (f"did you mean {near[0]}?" if near else "rill does not support it")
        raise TypeError(f"generate() has no argument {name}: {why}")
    if inputs is None:
        raise TypeError("generate() needs inputs: generate(model, [text])")
    if isinstance(inputs, (str, bytes)):
        raise TypeError("inputs: a list of texts was expected, found one text; generate(model, [text]) decodes it")
    if early_stopping is not None and early_stopping not in _STOPS:
        raise ValueError(f"early_stopping: True, False or 'never' was expected, found {early_stopping!r}")
    if forced_eos_token_id is not None and forced_eos_token_id != model.info.end_action:
        raise ValueError(f"forced_eos_token_id: this model ends with {model.info.end_action}, found {forced_eos_token_id}")
    if not do_sample and any(one is not None for one in (temperature, top_k, top_p, seed)):
        raise ValueError("temperature, top_k, top_p and seed are for do_sample=True")
    if not do_sample and num_return_sequences > (num_beams or 1) and num_beams is not None:
        raise ValueError(f"num_return_sequences ({num_return_sequences}) has to be at most num_beams ({num_beams})")
    file_length, file_forces = _length_limit(model)
    forced = file_forces or forced_eos_token_id is not None
    if max_new_tokens is None:
        max_new_tokens = file_length + file_forces if max_length is None else max_length - 1
    longest = max_new_tokens - forced
    if longest < 1:
        raise ValueError(f"max_length, max_new_tokens: no token fits besides the start token{' and the forced end' if forced else ''}")
    texts = list(inputs)
    opens = False  # True: a scorer forces the first token, and the outputs have its log-probability
    if forced_bos_token_id is not None:
        texts, opens = _opened_by(model, texts, forced_bos_token_id)
    scorers = [f"python-prefix:{forced_bos_token_id}"] if opens else []
    if bad_words_ids:
        scorers.append(_banned(model, bad_words_ids, free_first=forced_bos_token_id is not None))
    shortest = min_new_tokens if min_new_tokens is not None else None if min_length is None else max(0, min_length - 1)
    settings: dict[str, Any] = {
        "like": "hf",
        "heuristic": [],
        "max_length": longest,
        "min_length": shortest,
        "length_penalty": length_penalty,
        "stop": None if early_stopping is None else _STOPS[early_stopping],
        "at_limit": "end-free" if forced else None,
        "no_repeat_ngram": no_repeat_ngram_size or None,
        "repetition_penalty": repetition_penalty,
        "groups": num_beam_groups if num_beam_groups != 1 else None,
        "diversity": diversity_penalty,
        "scorer": scorers or None,
    }
    if do_sample:
        if (num_beams or 1) != 1:
            raise NotImplementedError("do_sample with num_beams above 1: rill draws without a beam")
        drawn = {"sample": num_return_sequences, "n_best": num_return_sequences, "temperature": temperature, "top_k": top_k, "top_p": top_p}
        settings |= {**drawn, "seed": random.getrandbits(31) if seed is None else seed, "stop": None}
    elif num_beams == 1:
        settings |= {"method": "greedy", "stop": None}
    else:
        settings |= {"beam_size": num_beams, "n_best": num_return_sequences}
    outputs = [output for result in model.stream(texts, **settings) for output in (result.best, *result.outputs[1:])]
    sequences, scores = [output.ids for output in outputs], [output.token_logprobs for output in outputs]
    end = model.info.end_action
    if forced and end is not None:  # rill's output does not contain a forced end; transformers' does, with probability 1
        for output, ids, logprobs in zip(outputs, sequences, scores, strict=True):
            if output.finish_reason == "length":
                ids.append(end)
                logprobs.append(0.0)
    if opens:
        for logprobs in scores:
            logprobs[:1] = [0.0]
    ranks = [output.score for output in outputs]
    return GenerateOutput([output.text for output in outputs], sequences, ranks, scores if output_scores else [])
