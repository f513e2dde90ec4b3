/* rewrite.h: text as characters, and lists of replacements over it: what Moses' scripts write as regular expressions.
 *
 * A rule has a pattern and a result, both NUL-terminated. A pattern has eight elements at most, each a character or one
 * of the classes below; RW_RUN behind it makes it as many as there are, one at least, RW_ANY also none. Elements count
 * as parts, from 0, and RW_P0.. in a result stand for what they met. Matches are looked for from left to right and do
 * not overlap; the last `keep` elements, each a single character, are met again by the next match.
 * A run is never given back but by RW_ANY, so a pass takes time linear in the text for all rules without it.
 * Classes of Unicode come from libutf8proc. Texts are valid UTF-8. Stability: internal to rill. */
#ifndef RILL_TEXT_REWRITE_H
#define RILL_TEXT_REWRITE_H

#include <stdint.h>
#include <uchar.h>

#include "rill/context.h"

/* Written as strings, so that they can stand in patterns; the numbers lie above all characters. */
#define RW_WHITE_SPACE U"\x110001" /* white space, as Python's \s */
#define RW_DIGIT U"\x110002"       /* decimal digits of any script */
#define RW_NUMBER U"\x110003"      /* decimal digits, fractions, Roman numbers, .. */
#define RW_NO_NUMBER U"\x110004"   /* everything else */
#define RW_LETTER U"\x110005"      /* letters and the signs that belong to them */
#define RW_NO_LETTER U"\x110006"   /* everything else */
#define RW_NOT_ALNUM U"\x110007"   /* neither letter nor number */
#define RW_WORD U"\x110008"        /* letters and decimal digits */
#define RW_MARK U"\x110009"        /* neither of them, nor white space, nor one of . ' ` , - */
#define RW_CLOSER U"\x11000A"      /* one of . ! : ? ; , */
#define RW_STOP U"\x11000B"        /* one of . , */
#define RW_NO_ANGLE U"\x11000C"    /* everything but < */
#define RW_NOT_HIDDEN U"\x11000D"  /* everything but RW_HIDDEN_DOT */
#define RW_INVISIBLE U"\x11000E"   /* category C: control, format, private, not assigned */
#define RW_RUN U"\x110010"
#define RW_ANY U"\x110011"
#define RW_END U"\x110012" /* the text's end, an element without character */
#define RW_P0 U"\x110020"
#define RW_P1 U"\x110021"
#define RW_P2 U"\x110022"
#define RW_P3 U"\x110023"

/* A dot that belongs to others and no longer counts as one; no text has it once RW_INVISIBLE is removed. */
#define RW_HIDDEN_DOT U"\x1"

typedef struct rill_chars {
    rill_context *ctx;
    char32_t *data; /* [used] */
    size_t length, capacity;
} rill_chars;

typedef struct rill_rewrite_rule {
    const char32_t *pattern, *result;
    int keep;
} rill_rewrite_rule;

/* Replace what is in `chars` by the characters of valid UTF-8. RILL_OK · RILL_ERR_MEMORY */
rill_status rill_chars_read(rill_chars *chars, const char *text, size_t length);

/* Append characters, or their UTF-8. RILL_OK · RILL_ERR_MEMORY */
rill_status rill_chars_append(rill_chars *chars, const char32_t *chars_to_add, size_t count);
rill_status rill_chars_write(const char32_t *text, size_t count, rill_text *out);

void rill_chars_clear(rill_chars *chars);
void rill_chars_swap(rill_chars *a, rill_chars *b);

/* Apply rules one after the other; `spare` is scratch. RILL_OK · RILL_ERR_MEMORY */
rill_status rill_rewrite(const rill_rewrite_rule *rules, size_t count, rill_chars *text, rill_chars *spare);

/* Is c of the class, one of those above? */
int rill_char_is(char32_t c, const char32_t *class);

/* The next word at or behind *from, up to white space: its place, its length in *length, 0 at the end. *from is then
 * behind it. */
size_t rill_chars_word(const rill_chars *chars, size_t *from, size_t *length);

#endif
