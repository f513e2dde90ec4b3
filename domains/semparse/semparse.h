/* semparse.h: questions to logical forms, as a domain of rill.
 *
 * Model: attention sequence-to-sequence of Dong and Lapata (2016): a one-layer LSTM reads the question backwards, a second
 * one writes the logical form token by token, attending to the first one's outputs. A model directory holds
 *   config.json         sizes and settings (docs say which)
 *   model.safetensors   weights, F32, F16 or BF16; computed in fp32
 *   source.vocab, target.vocab   one token per line, the first three <s>, </s>, <unk>
 *   lexicon.tsv         optional: how typed text becomes the tokens the model was trained on (lexicon.h)
 *
 * Input: one question per line, raw text or, with options.tokenized, tokens between blanks. Invalid UTF-8 and questions of more
 * than max_input_length tokens fail alone. Names in raw text that neither lexicon nor vocabulary has are a note on the input, and
 * the field "unknown". Output: tokens of the logical form between single blanks, placeholders replaced by the question's own words.
 * State: RILL_STATE_PARENT. Results are the same to the bit for every batch, schedule and number of threads.
 * Stability: internal to rill; reach it by its name, "semparse". */
#ifndef RILL_SEMPARSE_H
#define RILL_SEMPARSE_H

#include "rill/domain.h"

extern const rill_domain rill_semparse_domain;

#endif
