/* mt.h: machine translation with encoder-decoder transformers and recurrent models, as a domain of rill.
 *
 * A model is a Hugging Face directory of type "marian" (OPUS-MT and its kin) or "fsmt", unchanged: config.json,
 * generation_config.json (optional), model.safetensors in F32, F16 or BF16, vocab.json, source.spm and target.spm,
 * target_vocab.json (optional); of an "fsmt" model vocab-src.json, vocab-tgt.json and merges.txt in place of the last
 * four. One of type "rnnsearch" has Nematus' tensors and the text of "marian". What of it is read, and what is refused, says docs/mt.md.
 *
 * Input: one sentence per line; with options.tokenized, the model's own pieces between blanks. A line that is not UTF-8, or
 * has more pieces than the model has positions, fails alone. Output: text, or pieces between blanks.
 * State: RILL_STATE_PATH. Results are the same to the bit for every batch, schedule and number of threads.
 * Stability: internal to rill; reach it by its name, "mt". */
#ifndef RILL_MT_H
#define RILL_MT_H

#include "rill/domain.h"

extern const rill_domain rill_mt_domain;

#endif
