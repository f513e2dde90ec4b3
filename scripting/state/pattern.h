/* pattern.h: compiled Lua patterns: written by pattern_compile.c, matched by pattern.c. */
#ifndef RILL_SCRIPTING_PATTERN_H
#define RILL_SCRIPTING_PATTERN_H

#include "limits.h"

enum { PATTERN_CAPTURES = 32, SET_WORDS = 256 / 64 };

typedef enum item_kind {
    ITEM_SINGLE, /* a character of the set; */
    ITEM_OPTION,
    ITEM_STAR, /* none or more, */
    ITEM_PLUS, /* one or more, greedy */
    ITEM_LAZY, /* zero or more, lazy */
    ITEM_OPEN, /* capture `number` begins, */
    ITEM_CLOSE,
    ITEM_POSITION,      /* or is this position */
    ITEM_BACKREFERENCE, /* the text of capture `number` */
    ITEM_BALANCE,       /* a balanced match of `open` and `close` */
    ITEM_FRONTIER,
    ITEM_END, /* the end of the subject */
    ITEM_ERROR,
    ITEM_DONE,
} item_kind;

typedef struct pattern_item {
    union {
        uint64_t set[SET_WORDS]; /* a bit for each character */
        const char *error;       /* a format with an optional `number` */
    };
    uint8_t kind, number;
    char open, close;
} pattern_item;

/* A backtracking point. */
typedef struct pattern_choice {
    const pattern_item *item; /* item with several possible lengths */
    const char *pos;          /* end of the current attempt */
    const char *min_pos;      /* greedy: end of the shortest match */
} pattern_choice;

typedef enum capture_state { CAPTURE_OPEN, CAPTURE_CLOSED, CAPTURE_POSITION } capture_state;

/* A pattern, its subject and the latest match. The strings are Lua's; the owner keeps them alive. */
typedef struct pattern_match {
    lua_State *L;
    int64_t work; /* not charged yet; in UNITS */
    const char *subject, *end;
    const pattern_item *items;
    pattern_choice *choices;
    const uint64_t *first; /* set of first characters of a match; NULL: any */
    int anchored;
    int captures;
    const char *start, *stop; /* the latest match; stop is NULL before it */
    const char *from[PATTERN_CAPTURES], *to[PATTERN_CAPTURES];
    uint8_t states[PATTERN_CAPTURES];
} pattern_match;

static inline int set_has(const uint64_t *set, char c)
{
    return (int)(set[(unsigned char)c / 64] >> ((unsigned char)c % 64) & 1);
}

/* Compile the pattern between p and end, after its anchor, into m->items, ->first and the captures. `items` has one
 * entry more than the pattern has bytes. Raises nothing. */
void pattern_compile(pattern_match *m, pattern_item *items, const char *p, const char *end);

#endif
