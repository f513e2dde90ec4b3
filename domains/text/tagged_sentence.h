/* tagged_sentence.h: the words of one input, as they stand in a tree, with their tags.
 *
 * Zero-initialise with the context set; begin, then add words; clear at the end. Memory stays from sentence to sentence.
 * Stability: internal to rill. */
#ifndef RILL_TEXT_TAGGED_SENTENCE_H
#define RILL_TEXT_TAGGED_SENTENCE_H

#include "tree.h"

enum { RILL_NO_TAG = -1 };

typedef struct rill_sentence {
    rill_text bytes; /* the words, one behind the other */
    size_t *end;     /* [words] where each ends */
    int32_t *tag;    /* [words] row of tags.vocab, RILL_NO_TAG while it is to be predicted */
    size_t end_capacity, tag_capacity;
    int32_t words;
} rill_sentence;

void rill_sentence_begin(rill_sentence *s);

/* Append a word of `length` bytes, which with those appended before it is not empty.
 *   RILL_OK · RILL_ERR_MEMORY */
rill_status rill_sentence_add(rill_sentence *s, const char *word, size_t length, int32_t tag);

/* The same, with brackets in the word as they are written in trees. */
rill_status rill_sentence_add_escaped(rill_sentence *s, const char *word, size_t length, int32_t tag);

/* Append bytes that the next word begins with.
 *   RILL_OK · RILL_ERR_MEMORY */
rill_status rill_sentence_append_bytes(rill_sentence *s, const char *bytes, size_t length);

/* Word i; borrowed until the next word is added. */
rill_slice rill_sentence_word(const rill_sentence *s, int32_t i);

void rill_sentence_clear(rill_sentence *s);

#endif
