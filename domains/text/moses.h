/* moses.h: text to tokens and back, as Moses' scripts do it and the models of fairseq's WMT'19 were trained with.
 *
 * Source: the behaviour of sacremoses 0.2, which transformers' FSMTTokenizer calls, checked string by string
 * (tests/data/mt/moses); the rules are those of Moses' replace-unicode-punctuation, normalize-punctuation,
 * remove-non-printing-char, tokenizer (aggressive dash splits, escapes) and detokenizer.
 * Tokens are escaped (&apos; &quot; &amp; ..) and hold no white space. English, German and Russian.
 * One thread at a time per object. Stability: internal to rill. */
#ifndef RILL_TEXT_MOSES_H
#define RILL_TEXT_MOSES_H

#include "nonbreaking_prefixes.h"
#include "rewrite.h"
#include "text_words.h"

/* Quotation marks of an output that count as alike, and whether the next of them closes. */
typedef struct rill_quote {
    const char32_t *text; /* [length], in the text at work */
    size_t length;
    int open;
} rill_quote;

/* What works by the rules of a language. Zero-initialise but for the first three; memory stays from text to text. */
typedef struct rill_moses {
    rill_context *ctx;
    rill_moses_language language;
    const rill_prefixes *prefixes; /* of the same language */
    rill_chars text, spare;        /* the text at work */
    rill_text bytes;               /* a word as UTF-8 */
    rill_quote *quotes;            /* of the output at work, each kind once */
    size_t quotes_capacity, n_quotes;
} rill_moses;

void rill_moses_clear(rill_moses *moses);

/* Normalise valid UTF-8 and cut it into tokens; with `lower`, all letters become lower-case ones first.
 *   RILL_OK · RILL_ERR_MEMORY · what fn returned */
rill_status rill_moses_split(rill_moses *moses, const char *text, size_t length, int lower, rill_word_fn fn,
                             void *user);

/* Append the text of tokens that stand in valid UTF-8 with white space between them.
 *   RILL_OK · RILL_ERR_MEMORY */
rill_status rill_moses_join(rill_moses *moses, const char *tokens, size_t length, rill_text *out);

#endif
