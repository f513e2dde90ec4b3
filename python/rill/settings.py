"""Types of the keyword arguments that are options. tools/python_settings.py writes this file from the option tables."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypedDict

if TYPE_CHECKING:
    from .callbacks import Heuristic, Scheduler, Scorer


class RequestSettings(TypedDict, total=False):
    """Settings of one input: keyword arguments of rill.Request()."""

    beam_size: int | None
    """Hypotheses in the beam of an input (default: 10; greedy: 1)."""
    k: int | None
    """The same as beam_size."""
    b: int | None
    """The same as beam_size."""
    num_beams: int | None
    """The same as beam_size."""
    beam: int | None
    """The same as beam_size."""
    beams: int | None
    """The same as beam_size."""
    beam_width: int | None
    """The same as beam_size."""
    max_children: int | None
    """Children kept per parent (default: beam-size; twice that with finish immediate)."""
    max_candidates: int | None
    """The same as max_children."""
    finish: Literal["top", "immediate", "shrink"] | None
    """When an ended hypothesis leaves the beam (default: the method's)."""
    stop_after: int | None
    """Outputs after which an input stops (default: beam-size)."""
    patience: float | None
    """Stop after round(P * beam-size) outputs; instead of stop-after."""
    min_length: int | None
    """Actions before a hypothesis may end (default: 0)."""
    min_new_tokens: int | None
    """The same as min_length."""
    min_decoding_length: int | None
    """The same as min_length."""
    min_len: int | None
    """The same as min_length."""
    max_length: int | None
    """Most actions of a hypothesis (default: the model's)."""
    max_new_tokens: int | None
    """The same as max_length."""
    max_decoding_length: int | None
    """The same as max_length."""
    max_len: int | None
    """The same as max_length."""
    length_penalty: float | None
    """Order outputs by path_score / length^A (default: 0: by path_score; 1: by its mean)."""
    lenpen: float | None
    """The same as length_penalty."""
    normalize: float | None
    """The same as length_penalty."""
    n_best: int | None
    """Outputs per input, of those that the search finds (default: 1)."""
    num_hypotheses: int | None
    """The same as n_best."""
    num_return_sequences: int | None
    """The same as n_best."""
    nbest: int | None
    """The same as n_best."""
    distinct: bool | None
    """Leave out outputs whose text is that of a better one."""
    like: Literal["hf", "fairseq", "marian", "ct2"] | None
    """Follow another decoder's conventions where no option says otherwise."""
    keep: Literal["all", "first", "best"] | None
    """Outputs kept once there are stop-after (default: all)."""
    stop: Literal["count", "bound", "bound-max", "top"] | None
    """When an input that has stop-after outputs stops (default: count: at once)."""
    at_limit: Literal["open", "first", "end", "end-free", "best-ended"] | None
    """How hypotheses end at the length limit (default: open: as they are)."""
    count_end: bool | None
    """Count the end action in the length that penalties use."""
    max_length_factor: float | None
    """Most actions: A times the input's size, plus max-length (default: 0: max-length alone)."""
    word_penalty: float | None
    """Order outputs by (path_score - W * length) / length^A (default: 0)."""
    min_width: int | None
    """Fewest candidates that heuristics leave an input, its outputs included (default: 0)."""
    require_end: bool | None
    """Give no output that was cut short; an input with no other fails."""
    cube: Literal["none", "naive", "accelerated"] | None
    """Cube pruning: expand one hypothesis for all that end alike; naive scores anew what it takes of the others (default: none)."""
    no_repeat_ngram_size: int | None
    """No output has the same N actions in a row twice (default: 0: any may repeat)."""
    no_repeat_ngram: int | None
    """The same as no_repeat_ngram_size."""
    repetition_penalty: float | None
    """Multiply log-probabilities of actions that the output has already by P (default: 1: none)."""
    num_samples: int | None
    """Draw N outputs instead of searching for the best (default: 0: search)."""
    sample: int | None
    """The same as num_samples."""
    temperature: float | None
    """Divide log-probabilities by T before drawing (default: 1)."""
    sampling_temperature: float | None
    """The same as temperature."""
    top_k: int | None
    """Draw among the best K choices of a hypothesis; 0: among all, which takes longer (default: 50)."""
    sampling_topk: int | None
    """The same as top_k."""
    top_p: float | None
    """Draw among the fewest best choices that have probability P (default: 1)."""
    sampling_topp: float | None
    """The same as top_p."""
    seed: int | None
    """Seed of the random numbers, which the number of the input changes too (default: 0)."""
    beam_groups: int | None
    """Divide the beam into G groups, each of which avoids the choices of earlier ones (default: 1)."""
    groups: int | None
    """The same as beam_groups."""
    num_beam_groups: int | None
    """The same as beam_groups."""
    diverse_beam_groups: int | None
    """The same as beam_groups."""
    diversity_penalty: float | None
    """Subtracted from a choice for each earlier group that made it (default: 0.5)."""
    diversity: float | None
    """The same as diversity_penalty."""
    diverse_beam_strength: float | None
    """The same as diversity_penalty."""
    tokenized: bool | None
    """Inputs are in the model's own form: they are split at blanks and not changed."""
    input_format: Literal["auto", "tree", "tagged", "text"] | None
    """The form of inputs (default: auto)."""


class Settings(TypedDict, total=False):
    """Settings of a run: keyword arguments of Model.stream(), decode() and score()."""

    method: str | None
    """Search method (default: stream-all)."""
    beam_size: int | None
    """Hypotheses in the beam of an input (default: 10; greedy: 1)."""
    k: int | None
    """The same as beam_size."""
    b: int | None
    """The same as beam_size."""
    num_beams: int | None
    """The same as beam_size."""
    beam: int | None
    """The same as beam_size."""
    beams: int | None
    """The same as beam_size."""
    beam_width: int | None
    """The same as beam_size."""
    batch_size: int | None
    """Inputs decoded together; Marian's -n is --normalize, here --length-penalty (default: 10)."""
    n: int | None
    """The same as batch_size."""
    mini_batch: int | None
    """The same as batch_size."""
    max_batch_size: int | None
    """The same as batch_size."""
    max_sentences: int | None
    """The same as batch_size."""
    max_in_flight: int | None
    """Inputs in flight, streaming methods (default: batch-size, or 100 times that with max-batch-hypotheses)."""
    max_items: int | None
    """The same as max_in_flight."""
    max_batch_hypotheses: int | None
    """Most hypotheses expanded per timestep (default: 0: no limit)."""
    budget: int | None
    """The same as max_batch_hypotheses."""
    refill_threshold: float | None
    """Admit inputs when at most this share of max-in-flight is in flight (default: 1/6; top-up 1/2)."""
    refill: float | None
    """The same as refill_threshold."""
    max_children: int | None
    """Children kept per parent (default: beam-size; twice that with finish immediate)."""
    max_candidates: int | None
    """The same as max_children."""
    finish: Literal["top", "immediate", "shrink"] | None
    """When an ended hypothesis leaves the beam (default: the method's)."""
    stop_after: int | None
    """Outputs after which an input stops (default: beam-size)."""
    patience: float | None
    """Stop after round(P * beam-size) outputs; instead of stop-after."""
    min_length: int | None
    """Actions before a hypothesis may end (default: 0)."""
    min_new_tokens: int | None
    """The same as min_length."""
    min_decoding_length: int | None
    """The same as min_length."""
    min_len: int | None
    """The same as min_length."""
    max_length: int | None
    """Most actions of a hypothesis (default: the model's)."""
    max_new_tokens: int | None
    """The same as max_length."""
    max_decoding_length: int | None
    """The same as max_length."""
    max_len: int | None
    """The same as max_length."""
    length_penalty: float | None
    """Order outputs by path_score / length^A (default: 0: by path_score; 1: by its mean)."""
    lenpen: float | None
    """The same as length_penalty."""
    normalize: float | None
    """The same as length_penalty."""
    n_best: int | None
    """Outputs per input, of those that the search finds (default: 1)."""
    num_hypotheses: int | None
    """The same as n_best."""
    num_return_sequences: int | None
    """The same as n_best."""
    nbest: int | None
    """The same as n_best."""
    distinct: bool | None
    """Leave out outputs whose text is that of a better one."""
    sort: str | None
    """Admit inputs by size within windows of W inputs (default: none; W: the larger of max-in-flight and 1000)."""
    flush_every: int | None
    """Every T timesteps finish all in flight before admitting more (default: 0: never)."""
    unordered: bool | None
    """Give results in order of completion."""
    check: bool | None
    """Check while decoding that heuristics and scorers look at one item at a time (slow)."""
    max_nodes: int | None
    """Most states kept at once; inputs wait, no answer changes (default: 0: no bound)."""
    memory: int | str | None
    """The same in bytes, inputs in flight included, as in 2G (default: 0: no bound)."""
    like: Literal["hf", "fairseq", "marian", "ct2"] | None
    """Follow another decoder's conventions where no option says otherwise."""
    keep: Literal["all", "first", "best"] | None
    """Outputs kept once there are stop-after (default: all)."""
    stop: Literal["count", "bound", "bound-max", "top"] | None
    """When an input that has stop-after outputs stops (default: count: at once)."""
    at_limit: Literal["open", "first", "end", "end-free", "best-ended"] | None
    """How hypotheses end at the length limit (default: open: as they are)."""
    count_end: bool | None
    """Count the end action in the length that penalties use."""
    max_length_factor: float | None
    """Most actions: A times the input's size, plus max-length (default: 0: max-length alone)."""
    word_penalty: float | None
    """Order outputs by (path_score - W * length) / length^A (default: 0)."""
    min_width: int | None
    """Fewest candidates that heuristics leave an input, its outputs included (default: 0)."""
    require_end: bool | None
    """Give no output that was cut short; an input with no other fails."""
    unknown_penalty: float | None
    """Taken from the log-probability of the unknown action; inf: never choose it (default: 0)."""
    unkpen: float | None
    """The same as unknown_penalty."""
    cube: Literal["none", "naive", "accelerated"] | None
    """Cube pruning: expand one hypothesis for all that end alike; naive scores anew what it takes of the others (default: none)."""
    certify: bool | None
    """Tell which outputs are provably the best that the model has for their input."""
    exact: bool | None
    """Search until the n best are certified, behind the beam search; sets certify."""
    exact_rows: int | None
    """Most hypotheses that exact search expands for an input (default: 10000)."""
    no_repeat_ngram_size: int | None
    """No output has the same N actions in a row twice (default: 0: any may repeat)."""
    no_repeat_ngram: int | None
    """The same as no_repeat_ngram_size."""
    repetition_penalty: float | None
    """Multiply log-probabilities of actions that the output has already by P (default: 1: none)."""
    num_samples: int | None
    """Draw N outputs instead of searching for the best (default: 0: search)."""
    sample: int | None
    """The same as num_samples."""
    temperature: float | None
    """Divide log-probabilities by T before drawing (default: 1)."""
    sampling_temperature: float | None
    """The same as temperature."""
    top_k: int | None
    """Draw among the best K choices of a hypothesis; 0: among all, which takes longer (default: 50)."""
    sampling_topk: int | None
    """The same as top_k."""
    top_p: float | None
    """Draw among the fewest best choices that have probability P (default: 1)."""
    sampling_topp: float | None
    """The same as top_p."""
    seed: int | None
    """Seed of the random numbers, which the number of the input changes too (default: 0)."""
    beam_groups: int | None
    """Divide the beam into G groups, each of which avoids the choices of earlier ones (default: 1)."""
    groups: int | None
    """The same as beam_groups."""
    num_beam_groups: int | None
    """The same as beam_groups."""
    diverse_beam_groups: int | None
    """The same as beam_groups."""
    diversity_penalty: float | None
    """Subtracted from a choice for each earlier group that made it (default: 0.5)."""
    diversity: float | None
    """The same as diversity_penalty."""
    diverse_beam_strength: float | None
    """The same as diversity_penalty."""
    prune_absolute: float | str | Sequence[float | str] | None
    """Drop candidates more than D below the best."""
    absolute: float | str | Sequence[float | str] | None
    """The same as prune_absolute."""
    prune_relative: float | str | Sequence[float | str] | None
    """Drop candidates with less than R times the best's probability."""
    relative: float | str | Sequence[float | str] | None
    """The same as prune_relative."""
    prune_relative_local: float | str | Sequence[float | str] | None
    """The same, for the probability of the last action alone."""
    relative_local: float | str | Sequence[float | str] | None
    """The same as prune_relative_local."""
    heuristic: str | Heuristic | Sequence[str | Heuristic] | None
    """Any heuristic of `rill list heuristics`; all are applied in the order given, the three above too."""
    scorer: str | Scorer | Sequence[str | Scorer] | None
    """Add a scorer of `rill list scorers`; may be repeated."""
    lmbr: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None
    """Reward n-grams of actions by their posteriors in FILE, which `rill evidence` made; lambda, T, p, r and theta are explained in
    docs/guides/lmbr.md."""
    lmbr_self: float | str | Sequence[float | str] | None
    """The same with every input's own N best outputs: it is decoded, and then decoded again."""
    scheduler: str | Scheduler | None
    """Use this scheduler instead of the method's."""
    policy: str | Scheduler | None
    """The same as scheduler."""
    alignment: bool | float | str | None
    """Add " ||| " and the alignment with the input behind each output; FORM: hard (default), soft or a share."""
    word_scores: bool | None
    """Add " ||| WordScores=" and the log-probability of each action behind each output."""
    unknown_names: bool | None
    """Add " ||| " and the input's names that the model does not know behind each output."""
    ids: bool | None
    """Outputs are numbers of actions, as in `rill list actions`, and not texts."""
    split: str | None
    """Auto (default): an input that is longer than a model for translation was made for is decoded as its sentences, and its output put
    together; sentences: every input; off: none."""
    pretty: bool | None
    """Write trees indented, a constituent per line."""


class ModelSettings(Settings, total=False):
    """Options of opening a model, and defaults of Settings: keyword arguments of rill.Model()."""

    compute_type: Literal["f32"] | None
    """The same as weights."""
    quantization: Literal["f32"] | None
    """The same as weights."""
    fast: bool | None
    """On a GPU, products as fast as cuBLASLt has them, f32 in tf32: answers may then depend on the batch."""
    shortlist: str | os.PathLike[str] | None
    """Choose only among the first F actions and, by this lexicon, the best B for each piece of the input (default: F and B: 100)."""
    scores: Literal["logp", "logits"] | None
    """What an action scores: its log-probability, or its logit as it is, for models that are trained to need no normaliser (default:
    logp)."""
    source_lang: str | None
    """The language of inputs, by the name that a multilingual model has for it."""
    src: str | None
    """The same as source_lang."""
    src_lang: str | None
    """The same as source_lang."""
    target_lang: str | None
    """The language of outputs, likewise."""
    tgt: str | None
    """The same as target_lang."""
    tgt_lang: str | None
    """The same as target_lang."""
    language_columns: bool | None
    """Inputs say their languages themselves: SOURCE-LANGUAGE TAB TARGET-LANGUAGE TAB TEXT, where an empty column says nothing."""
    input_format: Literal["auto", "tree", "tagged", "text"] | None
    """The form of inputs (default: auto)."""
