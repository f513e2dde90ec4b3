/* moses.h: text to tokens and back, as Moses' scripts do it and the models of fairseq's WMT'19 were trained with.
 *
 * Source: the behaviour of sacremoses 0.2, which transformers' FSMTTokenizer calls, checked string by string
 * (tests/data/mt/moses); the rules are those of Moses' replace-unicode-punctuation, normalize-punctuation,
 * remove-non-printing-char, tokenizer (aggressive dash splits, escapes) and detokenizer.
 * Tokens are escaped (&apos; &quot; &amp; ..) and hold no white space. English, German and Russian.
 * One thread at a time per object. Stability: internal to rill. */
#ifndef RILL_TEXT_MOSES_H
#define RILL_TEXT_MOSES_H

#include "prefixes.h"
#include "words.h"

typedef struct rill_moses rill_moses;

/* The rules of one language; nonbreaking prefixes come from the directory, see prefixes.h.
 *   out: on success the caller closes it; on failure NULL
 *   RILL_OK · RILL_ERR_IO · RILL_ERR_FORMAT · RILL_ERR_MEMORY */
rill_status rill_moses_open(rill_moses **out, rill_context *ctx, const char *directory, rill_language language);

/* A second one for another thread, and its context, with the prefixes of `moses`, which is closed after it.
 *   RILL_OK · RILL_ERR_MEMORY */
rill_status rill_moses_share(rill_moses **out, rill_context *ctx, const rill_moses *moses);

void rill_moses_close(rill_moses *moses); /* NULL is allowed */

/* Normalise valid UTF-8 and cut it into tokens; with `lower`, all letters become lower-case ones first.
 *   RILL_OK · RILL_ERR_MEMORY · what fn returned */
rill_status rill_moses_split(rill_moses *moses, const char *text, size_t length, int lower, rill_word_fn fn,
                             void *user);

/* Append the text of tokens that stand in valid UTF-8 with white space between them.
 *   RILL_OK · RILL_ERR_MEMORY */
rill_status rill_moses_join(rill_moses *moses, const char *tokens, size_t length, rill_text *out);

#endif
