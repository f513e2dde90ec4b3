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
    """Maximum number of children kept per parent hypothesis (default: beam-size; twice that with finish immediate)."""
    max_candidates: int | None
    """The same as max_children."""
    finish: Literal["top", "immediate", "shrink", "one-step"] | None
    """When a hypothesis that ended leaves the beam (default: the method's)."""
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
    """Maximum number of actions of a hypothesis (default: the model's)."""
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
    """Maximum number of outputs per input (default: 1)."""
    num_hypotheses: int | None
    """The same as n_best."""
    num_return_sequences: int | None
    """The same as n_best."""
    nbest: int | None
    """The same as n_best."""
    distinct: bool | None
    """Leave out outputs with the same text as a better one."""
    like: Literal["hf", "fairseq", "marian", "ct2"] | None
    """Use the conventions of another decoder for options that are not set."""
    keep: Literal["all", "first", "best"] | None
    """Which outputs are kept once stop-after were found (default: all)."""
    stop: Literal["count", "bound", "bound-max", "top"] | None
    """When an input with stop-after outputs stops (default: count: at once)."""
    at_limit: Literal["open", "first", "end", "end-free", "best-ended"] | None
    """How hypotheses end at the length limit (default: open: as they are)."""
    count_end: bool | None
    """Count the end action in the length that penalties use."""
    max_length_factor: float | None
    """Maximum number of actions: A times the input's size, plus max-length if that is set (default: 0: max-length alone)."""
    word_penalty: float | None
    """Order outputs by (path_score - W * length) / length^A (default: 0)."""
    min_width: int | None
    """Minimum number of candidates that heuristics leave an input, its outputs included (default: 0)."""
    require_end: bool | None
    """Return no truncated output; an input without another fails."""
    cube: Literal["none", "naive", "accelerated"] | None
    """Cube pruning: expand one hypothesis for all with the same last actions; naive then rescores the chosen extensions of the others
    (default: none)."""
    no_repeat_ngram_size: int | None
    """No output repeats a sequence of N tokens (default: 0: any may repeat)."""
    no_repeat_ngram: int | None
    """The same as no_repeat_ngram_size."""
    repetition_penalty: float | None
    """Multiply the log-probabilities of tokens that the output already has by P (default: 1: none)."""
    num_samples: int | None
    """Draw N outputs instead of searching for the best (default: 0: search)."""
    sample: int | None
    """The same as num_samples."""
    temperature: float | None
    """Divide log-probabilities by T before drawing (default: 1)."""
    sampling_temperature: float | None
    """The same as temperature."""
    top_k: int | None
    """Draw from the best K tokens of a hypothesis; 0: from all, which takes longer (default: 50)."""
    sampling_topk: int | None
    """The same as top_k."""
    top_p: float | None
    """Draw from the fewest best tokens whose probabilities sum to P (default: 1)."""
    sampling_topp: float | None
    """The same as top_p."""
    seed: int | None
    """Seed of the random numbers; each input draws its own (default: 0)."""
    beam_groups: int | None
    """Diverse beam search: divide the beam into G groups that avoid each other's tokens (default: 1)."""
    groups: int | None
    """The same as beam_groups."""
    num_beam_groups: int | None
    """The same as beam_groups."""
    diverse_beam_groups: int | None
    """The same as beam_groups."""
    diversity_penalty: float | None
    """Subtracted from a token's score for each earlier group that chose it (default: 0.5)."""
    diversity: float | None
    """The same as diversity_penalty."""
    diverse_beam_strength: float | None
    """The same as diversity_penalty."""
    tokenized: bool | None
    """Inputs are tokens separated by spaces, in the model's own form."""
    input_format: Literal["auto", "tree", "tagged", "text"] | None
    """Format of the inputs (default: auto)."""


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
    """Inputs decoded together; for Marian's -n (--normalize) use --length-penalty (default: 10)."""
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
    """Maximum number of hypotheses expanded in a timestep (default: 0: no limit)."""
    budget: int | None
    """The same as max_batch_hypotheses."""
    refill_threshold: float | None
    """Admit new inputs when at most this fraction of max-in-flight is in flight (default: 1/6; top-up 1/2)."""
    refill: float | None
    """The same as refill_threshold."""
    max_children: int | None
    """Maximum number of children kept per parent hypothesis (default: beam-size; twice that with finish immediate)."""
    max_candidates: int | None
    """The same as max_children."""
    finish: Literal["top", "immediate", "shrink", "one-step"] | None
    """When a hypothesis that ended leaves the beam (default: the method's)."""
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
    """Maximum number of actions of a hypothesis (default: the model's)."""
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
    """Maximum number of outputs per input (default: 1)."""
    num_hypotheses: int | None
    """The same as n_best."""
    num_return_sequences: int | None
    """The same as n_best."""
    nbest: int | None
    """The same as n_best."""
    distinct: bool | None
    """Leave out outputs with the same text as a better one."""
    sort: str | None
    """Admit inputs by size within windows of W inputs (default: none; W: the larger of max-in-flight and 1000)."""
    flush_every: int | None
    """Every T timesteps, finish all inputs in flight before admitting more (default: 0: never)."""
    unordered: bool | None
    """Return results in order of completion."""
    check: bool | None
    """Check while decoding that heuristics and scorers use one input at a time (slow)."""
    max_nodes: int | None
    """Maximum number of states kept at once; inputs wait, results do not change (default: 0: no bound)."""
    memory: int | str | None
    """Maximum memory of states and inputs in flight in bytes, as in 2G; inputs wait, results do not change (default: 0: no bound)."""
    like: Literal["hf", "fairseq", "marian", "ct2"] | None
    """Use the conventions of another decoder for options that are not set."""
    keep: Literal["all", "first", "best"] | None
    """Which outputs are kept once stop-after were found (default: all)."""
    stop: Literal["count", "bound", "bound-max", "top"] | None
    """When an input with stop-after outputs stops (default: count: at once)."""
    at_limit: Literal["open", "first", "end", "end-free", "best-ended"] | None
    """How hypotheses end at the length limit (default: open: as they are)."""
    count_end: bool | None
    """Count the end action in the length that penalties use."""
    max_length_factor: float | None
    """Maximum number of actions: A times the input's size, plus max-length if that is set (default: 0: max-length alone)."""
    word_penalty: float | None
    """Order outputs by (path_score - W * length) / length^A (default: 0)."""
    min_width: int | None
    """Minimum number of candidates that heuristics leave an input, its outputs included (default: 0)."""
    require_end: bool | None
    """Return no truncated output; an input without another fails."""
    unknown_penalty: float | None
    """Subtracted from the log-probability of the unknown token; inf: never choose it (default: 0)."""
    unkpen: float | None
    """The same as unknown_penalty."""
    cube: Literal["none", "naive", "accelerated"] | None
    """Cube pruning: expand one hypothesis for all with the same last actions; naive then rescores the chosen extensions of the others
    (default: none)."""
    certify: bool | None
    """Report which outputs are provably the model's best for their input."""
    exact: bool | None
    """After the beam search, search until the n best outputs are proved optimal; sets certify."""
    exact_rows: int | None
    """Maximum number of hypotheses that exact search expands for an input (default: 10000)."""
    no_repeat_ngram_size: int | None
    """No output repeats a sequence of N tokens (default: 0: any may repeat)."""
    no_repeat_ngram: int | None
    """The same as no_repeat_ngram_size."""
    repetition_penalty: float | None
    """Multiply the log-probabilities of tokens that the output already has by P (default: 1: none)."""
    num_samples: int | None
    """Draw N outputs instead of searching for the best (default: 0: search)."""
    sample: int | None
    """The same as num_samples."""
    temperature: float | None
    """Divide log-probabilities by T before drawing (default: 1)."""
    sampling_temperature: float | None
    """The same as temperature."""
    top_k: int | None
    """Draw from the best K tokens of a hypothesis; 0: from all, which takes longer (default: 50)."""
    sampling_topk: int | None
    """The same as top_k."""
    top_p: float | None
    """Draw from the fewest best tokens whose probabilities sum to P (default: 1)."""
    sampling_topp: float | None
    """The same as top_p."""
    seed: int | None
    """Seed of the random numbers; each input draws its own (default: 0)."""
    beam_groups: int | None
    """Diverse beam search: divide the beam into G groups that avoid each other's tokens (default: 1)."""
    groups: int | None
    """The same as beam_groups."""
    num_beam_groups: int | None
    """The same as beam_groups."""
    diverse_beam_groups: int | None
    """The same as beam_groups."""
    diversity_penalty: float | None
    """Subtracted from a token's score for each earlier group that chose it (default: 0.5)."""
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
    """Drop candidates whose last action has less than R times the probability of the item's best last action."""
    relative_local: float | str | Sequence[float | str] | None
    """The same as prune_relative_local."""
    heuristic: str | Heuristic | Sequence[str | Heuristic] | None
    """Add a heuristic of `rill list heuristics`; may be repeated; all apply in the order given, prune-* included."""
    scorer: str | Scorer | Sequence[str | Scorer] | None
    """Add a scorer of `rill list scorers`; may be repeated."""
    lmbr: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None
    """Reward n-grams by their posteriors in FILE, made by `rill evidence`; docs/guides/lmbr.md explains lambda, T, p, r and theta."""
    lmbr_self: float | str | Sequence[float | str] | None
    """Reward n-grams by their posteriors among the input's N best outputs; decodes every input twice."""
    scheduler: str | Scheduler | None
    """Use this scheduler instead of the method's."""
    policy: str | Scheduler | None
    """The same as scheduler."""
    alignment: bool | float | str | None
    """Append " ||| " and the alignment with the input to each output; FORM: hard (default), soft, or a minimum attention weight."""
    word_scores: bool | None
    """Append " ||| WordScores=" and the log-probability of each token to each output."""
    unknown_names: bool | None
    """Append " ||| " and the input's names that the model does not know to each output."""
    ids: bool | None
    """Write token ids, as in `rill list actions`, in place of texts."""
    split: str | None
    """Decode inputs sentence by sentence and join the outputs; auto (default): inputs longer than the translation model's training
    sentences; sentences: all; off: none."""
    pretty: bool | None
    """Write trees indented, one constituent per line."""


class ModelSettings(Settings, total=False):
    """Options of opening a model, and defaults of Settings: keyword arguments of rill.Model()."""

    compute_type: Literal["f32"] | None
    """The same as weights."""
    quantization: Literal["f32"] | None
    """The same as weights."""
    fast: bool | None
    """On a GPU, use cuBLASLt's fastest matrix products, tf32 for f32: results may then depend on the batch."""
    shortlist: str | os.PathLike[str] | None
    """Limit the output vocabulary to its first F tokens and, by this lexicon, the best B for each token of the input; none: no limit,
    whatever config.json says (default: F and B: 100)."""
    scores: Literal["logp", "logits"] | None
    """Score of a token: its log-probability, or its logit, for models trained to be self-normalised (default: logp)."""
    source_lang: str | None
    """Language of the inputs, as a multilingual model names it."""
    src: str | None
    """The same as source_lang."""
    src_lang: str | None
    """The same as source_lang."""
    target_lang: str | None
    """Language of the outputs, as a multilingual model names it."""
    tgt: str | None
    """The same as target_lang."""
    tgt_lang: str | None
    """The same as target_lang."""
    language_columns: bool | None
    """Each input is SOURCE-LANGUAGE TAB TARGET-LANGUAGE TAB TEXT; an empty column leaves the option's language."""
    input_format: Literal["auto", "tree", "tagged", "text"] | None
    """Format of the inputs (default: auto)."""
