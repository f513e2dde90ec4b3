/* text_families.h: finds the tokenizer of a model family by config.json's model_type.
 *
 * The families are transformers' sequence-to-sequence models: m2m_100 (M2M100, NLLB, SMaLL-100), mbart (mBART-25,
 * mBART-50), bart, pegasus, t5, mt5 and umt5 (and t5 models with another vocabulary, such as MADLAD-400). The files of a
 * directory decide which variant of a family it has, and the ids of its tokens; family_open.c reads them. Stability:
 * internal to rill. */
#ifndef RILL_TEXT_FAMILIES_H
#define RILL_TEXT_FAMILIES_H

#include "tokenizer.h"

/* Return 1 if a family has this model_type. */
int rill_family_exists(const char *model_type);

/* *out = the model_type whose tokenizer the directory's tokenizer_config.json names; NULL if it names none, or one that no
 * family has.
 *   RILL_OK · as rill_family_files() */
rill_status rill_family_from_tokenizer_config(rill_context *ctx, const char *directory, const char **out);

/* Fill *out with the family and its tokenizer files in the directory, except for vocabulary sizes and the model's special
 * tokens. Pointers in *out refer to static memory and to `directory`.
 *   RILL_OK · RILL_ERR_FORMAT (tokenizer_config.json is wrong, or names an unsupported tokenizer) · RILL_ERR_IO ·
 *   RILL_ERR_MEMORY */
rill_status rill_family_files(rill_context *ctx, const char *model_type, const char *directory,
                              rill_tokenizer_files *out);

#endif
