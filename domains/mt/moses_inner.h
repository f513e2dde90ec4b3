/* moses_inner.h: what the two directions of moses.h share. Only moses.c and moses_join.c include it. */
#ifndef RILL_MT_MOSES_INNER_H
#define RILL_MT_MOSES_INNER_H

#include "moses.h"
#include "rewrite.h"

/* Quotation marks of an output that count as alike, and whether the next of them closes. */
typedef struct mt_quote {
    const char32_t *at; /* [length], in the text at work */
    size_t length;
    int open;
} mt_quote;

struct mt_moses {
    rill_context *ctx;
    mt_language language;
    const mt_prefixes *prefixes;
    mt_prefixes *own;     /* the same, unless they are another's */
    mt_chars text, spare; /* the text at work */
    rill_text bytes;      /* a word as UTF-8 */
    mt_quote *quotes;     /* of the output at work, each kind once */
    size_t quotes_room, n_quotes;
};

#endif
