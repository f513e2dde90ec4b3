/* text_families.h: model families and their tokenizers: from config.json's model_type to vocabulary files and rules.
 *
 * The families are transformers' sequence-to-sequence models: m2m_100 (M2M100, NLLB, SMaLL-100), mbart (mBART-25,
 * mBART-50), bart, pegasus, t5, mt5 and umt5 (and t5 models with another vocabulary, such as MADLAD-400). The files of
 * a directory select a variant, and its token ids; family_open.c reads them. Stability: internal to rill. */
#ifndef RILL_TEXT_FAMILIES_H
#define RILL_TEXT_FAMILIES_H

#include "tokenizer.h"

/* Whether there is a family of that model_type. */
int rill_family_exists(const char *model_type);

/* *out = the model_type whose tokenizer the directory's tokenizer_config.json names; NULL: none, or unknown.
 *   RILL_OK · as below */
rill_status rill_family_from_tokenizer_config(rill_context *ctx, const char *directory, const char **out);

/* Describe the tokenizer files of a model of that type in the directory, except for vocabulary sizes and the model's
 * special tokens. Pointers are to static memory and to `directory`.
 *   RILL_OK · RILL_ERR_FORMAT (tokenizer_config.json, or an unsupported tokenizer; names file and key) ·
 *   RILL_ERR_NOT_FOUND (no vocabulary; names the files looked for) · RILL_ERR_IO · RILL_ERR_MEMORY */
rill_status rill_family_files(rill_context *ctx, const char *model_type, const char *directory,
                              rill_tokenizer_files *out);

#endif
