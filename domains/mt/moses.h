/* moses.h: text to tokens and back, as Moses' scripts do it and the models of fairseq's WMT'19 were trained with.
 *
 * Source: the behaviour of sacremoses 0.2, which transformers' FSMTTokenizer calls, checked string by string
 * (tests/data/mt/moses); the rules are those of Moses' replace-unicode-punctuation, normalize-punctuation,
 * remove-non-printing-char, tokenizer (aggressive dash splits, escapes) and detokenizer.
 * Tokens are escaped (&apos; &quot; &amp; ..) and hold no white space. English, German and Russian.
 * One thread at a time per object. Stability: internal to rill. */
#ifndef RILL_MT_MOSES_H
#define RILL_MT_MOSES_H

#include "prefixes.h"

typedef struct mt_moses mt_moses;

/* Takes the next token. A failure ends the call, which then returns it. */
typedef rill_status (*mt_token_fn)(void *user, const char *token, size_t length);

/* The rules of one language; nonbreaking prefixes come from the directory, see prefixes.h.
 *   out: on success the caller closes it; on failure NULL
 *   RILL_OK · RILL_ERR_IO · RILL_ERR_FORMAT · RILL_ERR_MEMORY */
rill_status mt_moses_open(mt_moses **out, rill_context *ctx, const char *directory, mt_language language);

/* A second one for another thread, and its context, with the prefixes of `moses`, which is closed after it.
 *   RILL_OK · RILL_ERR_MEMORY */
rill_status mt_moses_share(mt_moses **out, rill_context *ctx, const mt_moses *moses);

void mt_moses_close(mt_moses *moses); /* NULL is allowed */

/* Normalise valid UTF-8 and cut it into tokens; with `lower`, all letters become lower-case ones first.
 *   RILL_OK · RILL_ERR_MEMORY · what fn returned */
rill_status mt_moses_split(mt_moses *moses, const char *text, size_t length, int lower, mt_token_fn fn, void *user);

/* Append the text of tokens that stand in valid UTF-8 with white space between them.
 *   RILL_OK · RILL_ERR_MEMORY */
rill_status mt_moses_join(mt_moses *moses, const char *tokens, size_t length, rill_text *out);

#endif
