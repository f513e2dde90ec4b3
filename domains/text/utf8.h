/* utf8.h: UTF-8 validation and decoding.
 *
 * RFC 3629: shortest forms only, no surrogates, nothing above U+10FFFF. Pure functions, any thread.
 * Stability: internal to rill. */
#ifndef RILL_TEXT_UTF8_H
#define RILL_TEXT_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Offset of the first byte that is not part of a well-formed character, or `length`. */
size_t rill_utf8_check(const char *bytes, size_t length);

/* Bytes of the well-formed character at the start of `bytes`, 0: none. length_left > 0 */
size_t rill_utf8_length(const char *bytes, size_t length_left);

/* Decode that character, and set *step to its bytes; for invalid bytes -1, and a step of 1. */
int32_t rill_utf8_next(const char *bytes, size_t length_left, size_t *step);

#endif
