/* text_words.h: texts as slices, splitting at spaces, and lists of actions.
 *
 * Stateless; any thread. Stability: internal to rill. */
#ifndef RILL_TEXT_WORDS_H
#define RILL_TEXT_WORDS_H

#include "rill/context.h"

/* Borrowed bytes of a text; not NUL-terminated. */
typedef struct rill_slice {
    const char *data;
    size_t length;
} rill_slice;

/* Whether a slice equals a NUL-terminated text; whether two slices are equal. */
int rill_slice_is(rill_slice slice, const char *text);
int rill_slice_equal(rill_slice a, rill_slice b);

/* Called with each word or subword token. A failure ends the iteration and is returned by it. */
typedef rill_status (*rill_word_fn)(void *user, const char *word, size_t length);

/* Cut the next space-delimited word from the front of the text; bytes up to ' ' are spaces. Empty at the end. */
rill_slice rill_next_word(rill_slice *text);

/* Bytes of the Unicode space at the start of a text, 0 if none: rill_blank_bytes() without the joiners within words
 * (U+200C, U+200D). */
size_t rill_space_length(const char *text, size_t length);

/* Return the next word of natural text, which Unicode spaces separate. (Model tokens are separated by ASCII spaces.) */
rill_slice rill_next_text_word(rill_slice *text);

/* Call fn with each word as rill_next_word(). RILL_OK · what fn returned */
rill_status rill_for_each_word(const char *text, size_t length, rill_word_fn fn, void *user);

/* Output of rill_domain.tokenize: the first `capacity` of n actions; with the model and context, for callbacks. */
typedef struct rill_action_list {
    void *model;
    rill_context *ctx;
    int32_t *actions;
    int32_t capacity, n;
} rill_action_list;

static inline void rill_action_list_add(rill_action_list *to, int32_t action)
{
    if (to->n < to->capacity) to->actions[to->n] = action;
    to->n++;
}

#endif
