/* text_words.h: texts as slices, the words between blanks, and where the actions that words stand for go.
 *
 * Any number of threads may ask at once: nothing here keeps anything. Stability: internal to rill. */
#ifndef RILL_TEXT_WORDS_H
#define RILL_TEXT_WORDS_H

#include "rill/context.h"

/* Bytes of a text that belongs to another, or of static memory; not NUL-terminated. */
typedef struct rill_slice {
    const char *data;
    size_t length;
} rill_slice;

/* Is it that text, which ends in a NUL? Are both the same? */
int rill_slice_is(rill_slice slice, const char *text);
int rill_slice_equal(rill_slice a, rill_slice b);

/* Takes the next word, token or piece. A failure ends the call, which then returns it. */
typedef rill_status (*rill_word_fn)(void *user, const char *word, size_t length);

/* Cut from the front of the text what stands between blanks, which are all bytes up to ' '; it is empty when nothing is left. */
rill_slice rill_next_word(rill_slice *text);

/* The bytes of the space at the beginning of some text, 0 if it begins with none: rill_blank_bytes(), but for what joins letters and
 * signs within a word (U+200C, U+200D). */
size_t rill_space_length(const char *text, size_t length);

/* Likewise what stands between such spaces: the words of a text that people write. What models write has blanks. */
rill_slice rill_next_text_word(rill_slice *text);

/* What rill_next_word() cuts, in order. RILL_OK · what fn returned */
rill_status rill_for_each_word(const char *text, size_t length, rill_word_fn fn, void *user);

/* What rill_domain.tokenize fills, the first `room` of n; and who asks which model, for those who take words or pieces. */
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
