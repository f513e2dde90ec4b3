/* text_families.h: whose text a model reads: from what config.json calls a model to the files and rules of its vocabulary.
 *
 * The families are those of transformers that translate or write: m2m_100 (M2M100, NLLB, SMaLL-100), mbart (mBART-25, mBART-50), bart,
 * pegasus, t5, mt5 and umt5 (with those that are t5 by another vocabulary, as MADLAD-400). What files a folder has decides between
 * them, and how its pieces are numbered; family_open.c reads them. Stability: internal to rill. */
#ifndef RILL_TEXT_FAMILIES_H
#define RILL_TEXT_FAMILIES_H

#include "tokenizer.h"

/* Whether there is a family of that model_type. */
int rill_family_exists(const char *model_type);

/* *out = a model_type whose text tokenizer_config.json of the directory says that it is; NULL: it says nothing, or none that is known.
 *   RILL_OK · as below */
rill_status rill_family_from_tokenizer_config(rill_context *ctx, const char *directory, const char **out);

/* Fill in what rill_tokenizer_open() needs to know of the text of a model of that type in the directory, but for `words`, `actions` and
 * what its model has as symbols. Pointers are to static memory and to `directory`.
 *   RILL_OK · RILL_ERR_FORMAT (tokenizer_config.json, or a tokenizer that is not read; names file and key) · RILL_ERR_NOT_FOUND (there
 *   is no vocabulary; names what was looked for) · RILL_ERR_IO · RILL_ERR_MEMORY */
rill_status rill_family_files(rill_context *ctx, const char *model_type, const char *directory,
                              rill_tokenizer_files *out);

#endif
