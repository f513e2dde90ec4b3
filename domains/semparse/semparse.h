/* semparse.h: questions to logical forms, as a rill domain.
 *
 * Model: attention sequence-to-sequence of Dong and Lapata (2016). A one-layer LSTM encodes the question in reverse. A
 * second LSTM decodes the logical form token by token with attention to the encoder outputs. A model directory holds
 *   config.json         sizes and settings
 *   model.safetensors   weights, F32, F16 or BF16; computed in fp32
 *   source.vocab, target.vocab   one token per line, the first three <s>, </s>, <unk>
 *   lexicon.tsv         optional: maps typed text to the tokens the model was trained on (lexicon.h)
 *
 * Input: one question per line, raw text or, with options.tokenized, tokens separated by spaces. Invalid UTF-8 and
 * questions of more than max_input_length tokens fail without affecting others. Names in raw text that neither lexicon
 * nor vocabulary contains give a warning and are listed in the output field "unknown". Output: tokens of the logical
 * form separated by spaces; placeholders are replaced by the constants of the question's mentions.
 * State: RILL_STATE_PARENT. Results are bit-identical for every batch, schedule and number of threads.
 * Stability: internal to rill; reach it by its name, "semparse". */
#ifndef RILL_SEMPARSE_H
#define RILL_SEMPARSE_H

#include "rill/domain.h"

extern const rill_domain rill_semparse_domain;

#endif
