/* utf8.h: is this text UTF-8, and of which characters?
 *
 * The rules are those of RFC 3629: shortest forms only, no surrogates, nothing above U+10FFFF. Pure functions, any thread.
 * Stability: internal to rill. */
#ifndef RILL_TEXT_UTF8_H
#define RILL_TEXT_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Offset of the first byte that is not part of a well-formed character, or `length` when all of them are. */
size_t rill_utf8_check(const char *bytes, size_t length);

/* Bytes of the well-formed character at the beginning of what is left, 0: there is none. left > 0 */
size_t rill_utf8_length(const char *bytes, size_t length_left);

/* The same character, and how many bytes to move on by; -1, and one byte, where there is none. */
int32_t rill_utf8_next(const char *bytes, size_t length_left, size_t *step);

#endif
