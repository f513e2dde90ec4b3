/* shiftreduce.h: constituency parsing, as a rill domain.
 *
 * Model: span-based shift-reduce parsing of Cross and Huang (2016). Two bidirectional LSTM layers read the sentence. A
 * span of words is represented by the difference of their outputs at the span's ends. Two feed-forward networks take
 * turns: one chooses shift or combine, the other labels the span on top of the stack. A model directory holds
 *   config.json         sizes and settings (see docs/parsing.md)
 *   model.safetensors   weights, F32, F16 or BF16; computed in fp32
 *   words.vocab, suffixes.vocab, shapes.vocab, tags.vocab, labels.vocab
 *
 * Input: one sentence per line, as a tree, of which only words and tags are read, as word_TAG tokens, or as text
 * (option input-format). Malformed lines, and those longer than max_input_length words, fail without affecting others.
 * Output: one tree in brackets.
 * Actions: 0 shift, 1 combine, then the labels. Phases: 0 structure, 1 label; max_candidates applies to labels alone.
 * State: RILL_STATE_PATH. Results are bit-identical for every batch, schedule and number of threads.
 * Stability: internal to rill; reach it by its name, "shiftreduce". */
#ifndef RILL_SHIFTREDUCE_H
#define RILL_SHIFTREDUCE_H

#include "rill/domain.h"

extern const rill_domain rill_shiftreduce_domain;

#endif
