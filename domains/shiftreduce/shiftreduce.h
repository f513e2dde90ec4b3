/* shiftreduce.h: sentences to constituency trees, as a domain of rill.
 *
 * Model: span-based shift-reduce parsing of Cross and Huang (2016): two bidirectional LSTM layers read the sentence, a span of
 * words is the difference of their outputs at its ends, and two small networks decide, in turn, whether to shift or to combine and
 * which bracket the span on top of the stack gets. A model directory holds
 *   config.json         sizes and settings (docs/parsing.md says which)
 *   model.safetensors   weights, F32, F16 or BF16; computed in fp32
 *   words.vocab, suffixes.vocab, shapes.vocab, tags.vocab, labels.vocab
 *
 * Input: one sentence per line: a tree, of which words and tags are read; word_TAG tokens; or text (options.input_format). Lines
 * that are none of these, or longer than max_input_length words, fail alone. Output: one tree in brackets.
 * Actions: 0 shift, 1 combine, then the labels. Phases: 0 structure, 1 label; max_candidates applies to labels alone.
 * State: RILL_STATE_PATH. Results are the same to the bit for every batch, schedule and number of threads.
 * Stability: internal to rill; reach it by its name, "shiftreduce". */
#ifndef RILL_SHIFTREDUCE_H
#define RILL_SHIFTREDUCE_H

#include "rill/domain.h"

extern const rill_domain rill_shiftreduce_domain;

#endif
