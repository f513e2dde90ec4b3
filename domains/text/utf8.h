/* utf8.h: is this text UTF-8?
 *
 * The rules are those of RFC 3629: shortest forms only, no surrogates, nothing above U+10FFFF. Pure function, any thread.
 * Stability: internal to rill. */
#ifndef RILL_TEXT_UTF8_H
#define RILL_TEXT_UTF8_H

#include <stddef.h>

/* Offset of the first byte that is not part of a well-formed character, or `length` when all of them are. */
size_t rill_utf8_check(const char *bytes, size_t length);

#endif
