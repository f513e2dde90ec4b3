/* pattern.h: compiled Lua patterns. pattern_compile.c creates them, pattern.c matches them. */
#pragma once

#include "limits.h"

enum { PATTERN_CAPTURES = 32, SET_WORDS = 256 / 64 };

typedef enum item_kind {
    ITEM_SINGLE, /* matches one character of the set */
    ITEM_OPTION,
    ITEM_STAR, /* matches zero or more characters of the set, as many as possible */
    ITEM_PLUS, /* matches one or more characters of the set, as many as possible */
    ITEM_LAZY, /* matches zero or more characters of the set, as few as possible */
    ITEM_OPEN, /* begins capture `number` */
    ITEM_CLOSE,
    ITEM_POSITION,      /* stores the position in the subject as capture `number` */
    ITEM_BACKREFERENCE, /* matches the text of capture `number` again */
    ITEM_BALANCE,       /* matches a balanced text between the characters `open` and `close` */
    ITEM_FRONTIER,
    ITEM_END, /* matches only at the end of the subject */
    ITEM_ERROR,
    ITEM_DONE,
} item_kind;

typedef struct pattern_item {
    union {
        uint64_t set[SET_WORDS]; /* a bit for each of the 256 characters: 1 if it is in the set */
        const char *error;       /* ITEM_ERROR only: a format string for the message, which may print `number` */
    };
    uint8_t kind, number;
    char open, close;
} pattern_item;

/* A place to backtrack to: an item that could match a text of another length. */
typedef struct pattern_choice {
    const pattern_item *item; /* the item whose match can be shortened or, if lazy, extended */
    const char *pos;          /* end of the text that the item matches in the current attempt */
    const char *min_pos;      /* greedy items only: end of the shortest text that the item can match */
} pattern_choice;

typedef enum capture_state { CAPTURE_OPEN, CAPTURE_CLOSED, CAPTURE_POSITION } capture_state;

/* A compiled pattern, the subject string and the latest match. Both strings belong to Lua; the caller keeps them
 * alive. */
typedef struct pattern_match {
    lua_State *L;
    int64_t work; /* work that is not charged to the script's limit yet, in units of 1 / UNITS instruction */
    const char *subject, *end;
    const pattern_item *items;
    pattern_choice *choices;
    const uint64_t *first; /* set of the characters with which a match can begin; NULL: any character */
    int anchored;
    int captures;
    const char *start, *stop; /* the latest match; `stop` is NULL before the first match */
    const char *from[PATTERN_CAPTURES], *to[PATTERN_CAPTURES];
    uint8_t states[PATTERN_CAPTURES];
} pattern_match;

static inline int set_has(const uint64_t *set, char c)
{
    return (int)(set[(unsigned char)c / 64] >> ((unsigned char)c % 64) & 1);
}

/* Compile the pattern [p, end), without the anchor '^', into *m. items: one more than the pattern's bytes. An invalid part becomes an item
 * that raises when matched. */
void pattern_compile(pattern_match *m, pattern_item *items, const char *p, const char *end);
