/* What pattern_compile.c makes of a pattern and pattern.c matches. */
#ifndef RILL_SCRIPTING_PATTERN_H
#define RILL_SCRIPTING_PATTERN_H

#include "limits.h"

enum { PATTERN_CAPTURES = 32, SET_WORDS = 256 / 64 };

typedef enum item_kind {
    ITEM_SINGLE, /* a character of the set; */
    ITEM_OPTION,
    ITEM_STAR, /* none or more, */
    ITEM_PLUS, /* one or more: as many as can be; */
    ITEM_LAZY, /* none or more: as few as can be */
    ITEM_OPEN, /* capture `number` begins, */
    ITEM_CLOSE,
    ITEM_POSITION,      /* or is this position */
    ITEM_BACKREFERENCE, /* what capture `number` has */
    ITEM_BALANCE,       /* from `open` to the `close` that belongs to it */
    ITEM_FRONTIER,
    ITEM_END, /* the end of the subject */
    ITEM_ERROR,
    ITEM_DONE,
} item_kind;

typedef struct pattern_item {
    union {
        uint64_t set[SET_WORDS]; /* a bit for each character */
        const char *error;       /* a format that may have `number` in it */
    };
    uint8_t kind, number;
    char open, close;
} pattern_item;

/* Where to go on from when what follows fails. */
typedef struct pattern_choice {
    const pattern_item *item; /* of several lengths */
    const char *pos;          /* where the one that is being tried ends */
    const char *min_pos;      /* as many as can be: where the shortest ends */
} pattern_choice;

typedef enum capture_state { CAPTURE_OPEN, CAPTURE_CLOSED, CAPTURE_POSITION } capture_state;

/* A pattern, its subject and the latest match. Strings of Lua's; those who have it keep them alive. */
typedef struct pattern_match {
    lua_State *L;
    int64_t work; /* not charged yet; in UNITS */
    const char *subject, *end;
    const pattern_item *items;
    pattern_choice *choices;
    const uint64_t *first; /* a match begins with one of these; NULL if it need not */
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

/* Fill m->items, ->first and what is known of captures from the pattern between p and end, behind its anchor if it has one.
 * `items` has room for one more than that has bytes. Raises nothing. */
void pattern_compile(pattern_match *m, pattern_item *items, const char *p, const char *end);

#endif
