/* mt.h: machine translation with encoder-decoder transformers and recurrent models, as a rill domain.
 *
 * A model is an unchanged Hugging Face or CTranslate2 directory. For example, type "marian" (OPUS-MT) has config.json,
 * generation_config.json (optional), model.safetensors in F32, F16 or BF16, vocab.json, source.spm, target.spm and
 * target_vocab.json (optional). Type "fsmt" has vocab-src.json, vocab-tgt.json and merges.txt instead of the last four
 * files. Type "rnnsearch" has Nematus' tensors and the tokenizer files of "marian". docs/mt.md lists all types and files,
 * and which settings are errors.
 *
 * Input: one sentence per line; with options.tokenized, the model's subword tokens separated by spaces. A line that is
 * not UTF-8, or has more tokens than the model has positions, fails without affecting other inputs. Output: text, or
 * tokens separated by spaces.
 * State: RILL_STATE_PATH. Results are bit-identical for every batch, schedule and number of threads.
 * Stability: internal to rill; reach it by its name, "mt". */
#ifndef RILL_MT_H
#define RILL_MT_H

#include "rill/domain.h"

extern const rill_domain rill_mt_domain;

#endif
