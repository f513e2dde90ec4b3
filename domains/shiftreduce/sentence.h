/* sentence.h: the words of one input, as they stand in a tree, with their tags.
 *
 * Zero-initialise with the context set; begin, then add words; clear at the end. Memory stays from sentence to sentence.
 * Stability: internal to the shiftreduce domain. */
#ifndef RILL_SHIFTREDUCE_SENTENCE_H
#define RILL_SHIFTREDUCE_SENTENCE_H

#include "tree.h"

enum { SENTENCE_NO_TAG = -1 };

typedef struct sentence {
    rill_text bytes; /* the words, one behind the other */
    size_t *end;     /* [words] where each ends */
    int32_t *tag;    /* [words] row of tags.vocab, SENTENCE_NO_TAG while it is to be predicted */
    size_t end_room, tag_room;
    int32_t words;
} sentence;

void sentence_begin(sentence *s);

/* Append a word of `length` bytes, which with those appended before it is not empty.
 *   RILL_OK · RILL_ERR_MEMORY */
rill_status sentence_add(sentence *s, const char *word, size_t length, int32_t tag);

/* The same, with brackets in the word as they are written in trees. */
rill_status sentence_add_escaped(sentence *s, const char *word, size_t length, int32_t tag);

/* Append bytes that the next word begins with.
 *   RILL_OK · RILL_ERR_MEMORY */
rill_status sentence_append(sentence *s, const char *bytes, size_t length);

/* Word i; borrowed until the next word is added. */
rill_slice sentence_word(const sentence *s, int32_t i);

void sentence_clear(sentence *s);

#endif
