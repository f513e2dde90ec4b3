/* moses_inner.h: what the two directions of moses.h share. Only moses.c and moses_join.c include it. */
#ifndef RILL_TEXT_MOSES_INNER_H
#define RILL_TEXT_MOSES_INNER_H

#include "moses.h"
#include "rewrite.h"

/* Quotation marks of an output that count as alike, and whether the next of them closes. */
typedef struct rill_quote {
    const char32_t *at; /* [length], in the text at work */
    size_t length;
    int open;
} rill_quote;

struct rill_moses {
    rill_context *ctx;
    rill_language language;
    const rill_prefixes *prefixes;
    rill_prefixes *own;     /* the same, unless they are another's */
    rill_chars text, spare; /* the text at work */
    rill_text bytes;        /* a word as UTF-8 */
    rill_quote *quotes;     /* of the output at work, each kind once */
    size_t quotes_room, n_quotes;
};

#endif
