/* UTF-8, slices and words of a text. UTF-8 is valid by RFC 3629: shortest forms, no surrogates, nothing above U+10FFFF. Pure functions,
 * any thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <uchar.h>

#include "rill/context.h"

RILL_C_BEGIN

/* --- UTF-8 -------------------------------------------------------------------------------------------------------- */

/* Returns the offset of the first byte that is not part of a well-formed character, or `length` if there is none. */
size_t rill_utf8_check(const char *bytes, size_t length);

/* Returns the length in bytes of the well-formed character at the start of `bytes`, or 0 if it is malformed. length_left > 0 */
size_t rill_utf8_length(const char *bytes, size_t length_left);

/* Returns the character at *pos < length, and moves *pos past it. If it is malformed: returns -1, and moves *pos by 1. */
int32_t rill_utf8_read(const char *text, size_t length, size_t *pos);

/* Returns the number of bytes up to the start of the next character, at least 1; length > 0. */
size_t rill_utf8_skip(const char *text, size_t length);

/* Returns the offset of the character that ends before `pos`; pos > 0. */
size_t rill_utf8_prev(const char *text, size_t pos);

/* Tests for ASCII characters; the locale has no effect. */
static inline int rill_is_digit(char c)
{
    return c >= '0' && c <= '9';
}
static inline int rill_is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}
static inline int rill_is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}
static inline int rill_is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

/* Returns 1 if the character is in a range; pairs[n]: the first and the last character of each range, ascending. */
int rill_in_ranges(int32_t character, const int32_t *pairs, size_t n);
#define RILL_IN_RANGES(character, pairs) rill_in_ranges(character, pairs, sizeof(pairs) / sizeof *(pairs))

/* Returns 1 if the text `list` contains the character. */
int rill_char_in(char32_t character, const char32_t *list);

/* Returns 1 if the character has Unicode's property White_Space. */
int rill_is_white_space(int32_t character);

/* Length in bytes of the white-space character at the start of the text, or 0. */
size_t rill_white_space_length(const char *text, size_t length);

/* --- slices and words --------------------------------------------------------------------------------------------- */

/* Borrowed bytes of a text; not NUL-terminated. */
typedef struct rill_slice {
    const char *data;
    size_t length;
} rill_slice;

/* Returns 1 if a slice equals a NUL-terminated string, or if two slices are equal. */
int rill_slice_is(rill_slice slice, const char *text);
int rill_slice_equal(rill_slice a, rill_slice b);

/* Returns the index of the name that equals the slice, or -1. */
int rill_slice_index(rill_slice slice, const char *const *names, size_t n);
#define RILL_SLICE_INDEX(slice, names) rill_slice_index(slice, names, sizeof(names) / sizeof *(names))
#define RILL_NAME_INDEX(name, names) RILL_SLICE_INDEX(((rill_slice){(name), strlen(name)}), names)

/* Returns the index of the word that equals the slice, or -1; spaces separate the words. */
int rill_word_index(rill_slice slice, const char *words);

/* Set *part to the text before the first separator in *rest, and move *rest past the separator; without one *part is all of *rest, which
 * becomes empty. Returns 1 if there was a separator, else 0. */
int rill_slice_cut(rill_slice *rest, char separator, rill_slice *part);

/* Called with each word or subword token. If it fails, the calling function stops and returns its status. */
typedef rill_status (*rill_word_fn)(void *user, const char *word, size_t length);

/* Returns the next word, and moves *text past it; empty at the end. Bytes up to ' ' (ASCII spaces and control characters) separate words.
 */
rill_slice rill_next_word(rill_slice *text);

/* Bytes of the Unicode space at the start of a text; 0: none. Unlike for rill_blank_bytes(), U+200C and U+200D do not count. */
size_t rill_space_length(const char *text, size_t length);

/* Returns the next word of natural text, which Unicode spaces separate. ASCII spaces separate model tokens. */
rill_slice rill_next_text_word(rill_slice *text);

/* Call fn with each word that rill_next_word() returns. RILL_OK · the status that fn returned */
rill_status rill_for_each_word(const char *text, size_t length, rill_word_fn fn, void *user);

/* The action ids that rill_domain.tokenize writes. `n` counts all ids; ids beyond `capacity` are not stored. */
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

RILL_C_END
