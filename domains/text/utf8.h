/* utf8.h: UTF-8 validation and decoding.
 *
 * Valid is what RFC 3629 allows: shortest forms, no surrogates, no characters above U+10FFFF. Pure functions, any thread.
 * Stability: internal to rill. */
#ifndef RILL_TEXT_UTF8_H
#define RILL_TEXT_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Return the offset of the first byte that is not part of a well-formed character, or `length` if there is none. */
size_t rill_utf8_check(const char *bytes, size_t length);

/* Return the length in bytes of the well-formed character at the start of `bytes`, or 0 if it is malformed. length_left > 0 */
size_t rill_utf8_length(const char *bytes, size_t length_left);

/* Return the character at the start of `bytes`, and set *step to its length in bytes. If it is malformed, return -1, and set
 * *step to 1. length_left > 0 */
int32_t rill_utf8_next(const char *bytes, size_t length_left, size_t *step);

#endif
