/* rewrite.h: small regular-expression substitutions on characters, as in Moses' scripts.
 *
 * A rule has a pattern and a result, both NUL-terminated. A pattern has at most eight elements, each a character or one of
 * the classes below. RW_RUN after an element means one or more characters, RW_ANY zero or more. Each element is a capture,
 * numbered from 0; RW_P0 .. RW_P3 in a result insert a capture. Matches are found from left to right without overlap, but
 * the last `keep` elements, which must be single characters, may be part of the next match.
 * Only RW_ANY backtracks, so applying a rule without it takes time linear in the text.
 * libutf8proc provides Unicode's categories. Texts are valid UTF-8. Stability: internal to rill. */
#ifndef RILL_TEXT_REWRITE_H
#define RILL_TEXT_REWRITE_H

#include <stdint.h>
#include <uchar.h>

#include "rill/context.h"

/* Classes, as strings for use in patterns. Their code points are above Unicode's. */
#define RW_WHITE_SPACE U"\x110001" /* white space, as Python's \s */
#define RW_DIGIT U"\x110002"       /* decimal digits of any script */
#define RW_NUMBER U"\x110003"      /* decimal digits, fractions, Roman numbers, .. */
#define RW_NO_NUMBER U"\x110004"   /* everything else */
#define RW_LETTER U"\x110005"      /* letters and the marks that belong to them */
#define RW_NO_LETTER U"\x110006"   /* everything else */
#define RW_NOT_ALNUM U"\x110007"   /* neither letter nor number */
#define RW_WORD U"\x110008"        /* letters and decimal digits */
#define RW_MARK U"\x110009"        /* neither letter nor number nor white space nor one of . ' ` , - */
#define RW_CLOSER U"\x11000A"      /* one of . ! : ? ; , */
#define RW_STOP U"\x11000B"        /* one of . , */
#define RW_NO_ANGLE U"\x11000C"    /* every character except < */
#define RW_NOT_HIDDEN U"\x11000D"  /* every character except RW_HIDDEN_DOT */
#define RW_INVISIBLE U"\x11000E"   /* category C: control, format, private, not assigned */
#define RW_RUN U"\x110010"
#define RW_ANY U"\x110011"
#define RW_END U"\x110012" /* end of the text, matches no character */
#define RW_P0 U"\x110020"
#define RW_P1 U"\x110021"
#define RW_P2 U"\x110022"
#define RW_P3 U"\x110023"

/* A placeholder for a dot of a run of dots. It cannot occur in a text from which RW_INVISIBLE characters are removed. */
#define RW_HIDDEN_DOT U"\x1"

typedef struct rill_chars {
    rill_context *ctx;
    char32_t *data; /* [length] */
    size_t length, capacity;
} rill_chars;

typedef struct rill_rewrite_rule {
    const char32_t *pattern, *result;
    int keep;
} rill_rewrite_rule;

/* Set `chars` to the characters of `text`, which must be valid UTF-8. RILL_OK · RILL_ERR_MEMORY */
rill_status rill_chars_read(rill_chars *chars, const char *text, size_t length);

/* Append characters to `chars`. RILL_OK · RILL_ERR_MEMORY */
rill_status rill_chars_append(rill_chars *chars, const char32_t *chars_to_add, size_t count);
rill_status rill_chars_write(const char32_t *text, size_t count, rill_text *out);

void rill_chars_clear(rill_chars *chars);
void rill_chars_swap(rill_chars *a, rill_chars *b);

/* Apply rules to `text`, one after the other; `spare` is scratch memory. RILL_OK · RILL_ERR_MEMORY */
rill_status rill_rewrite(const rill_rewrite_rule *rules, size_t count, rill_chars *text, rill_chars *spare);

/* Return 1 if the character c is in a class, e.g. RW_LETTER. */
int rill_char_is(char32_t c, const char32_t *class);

/* Return the position of the next word at or after *from, and set *length to its length, 0 at the end of the text. Words
 * are separated by white space. *from moves past the word. */
size_t rill_chars_word(const rill_chars *chars, size_t *from, size_t *length);

#endif
