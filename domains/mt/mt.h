/* mt.h: machine translation with encoder-decoder transformers and recurrent models, as a rill domain.
 *
 * A model is an unchanged Hugging Face directory of type "marian" (OPUS-MT and its family) or "fsmt": config.json,
 * generation_config.json (optional), model.safetensors in F32, F16 or BF16, vocab.json, source.spm and target.spm,
 * target_vocab.json (optional); an "fsmt" model has vocab-src.json, vocab-tgt.json and merges.txt instead of the last
 * four. Type "rnnsearch" has Nematus' tensors and the text files of "marian". docs/mt.md lists what is read and what is
 * refused.
 *
 * Input: one sentence per line; with options.tokenized, the model's subword tokens separated by spaces. A line that is
 * not UTF-8, or has more tokens than the model has positions, fails without affecting others. Output: text, or tokens
 * separated by spaces.
 * State: RILL_STATE_PATH. Results are bit-identical for every batch, schedule and number of threads.
 * Stability: internal to rill; reach it by its name, "mt". */
#ifndef RILL_MT_H
#define RILL_MT_H

#include "rill/domain.h"

extern const rill_domain rill_mt_domain;

#endif
