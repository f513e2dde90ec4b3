/* Compiles patterns of string.find, match, gmatch and gsub into a list of items.
 *
 * As in Lua, an invalid pattern raises only when matching reaches the error: the error becomes the last item. Character classes are the C
 * locale's. */
#include "pattern.h"

/* --- sets of bytes ------------------------------------------------------------------------------------------------ */

static inline void add_byte(uint64_t *set, unsigned c)
{
    set[c / 64] |= UINT64_C(1) << (c % 64);
}

static void add_range(uint64_t *set, unsigned char first, unsigned char last)
{
    for (unsigned c = first; c <= last; c++) add_byte(set, c);
}

/* Add the characters that '%' followed by `letter` stands for: a class, the complement of a class, or the character itself. */
static void add_class(uint64_t *set, char letter)
{
    /* The classes as bit sets of the first 128 characters; no class contains other characters. */
    static const struct {
        char lower, upper;
        uint64_t members[2];
    } classes[] = {
        {'a', 'A', {0, 0x07fffffe07fffffe}},
        {'c', 'C', {0x00000000ffffffff, 0x8000000000000000}},
        {'d', 'D', {0x03ff000000000000, 0}},
        {'g', 'G', {0xfffffffe00000000, 0x7fffffffffffffff}},
        {'l', 'L', {0, 0x07fffffe00000000}},
        {'p', 'P', {0xfc00fffe00000000, 0x78000001f8000001}},
        {'s', 'S', {0x0000000100003e00, 0}},
        {'u', 'U', {0, 0x0000000007fffffe}},
        {'w', 'W', {0x03ff000000000000, 0x07fffffe07fffffe}},
        {'x', 'X', {0x03ff000000000000, 0x0000007e0000007e}},
        {'z', 'Z', {1, 0}},
    };
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        const uint64_t *members = classes[i].members;
        if (letter == classes[i].lower) {
            for (int k = 0; k < 2; k++) set[k] |= members[k];
            return;
        }
        if (letter == classes[i].upper) {
            for (int k = 0; k < SET_WORDS; k++) set[k] |= k < 2 ? ~members[k] : UINT64_MAX;
            return;
        }
    }
    add_byte(set, (unsigned char)letter);
}

static void invert(uint64_t *set)
{
    for (int k = 0; k < SET_WORDS; k++) set[k] = ~set[k];
}

/* Read a set "[...]" from after the '['. Returns the position after the ']', or NULL. As in Lua, the ']' is found first: "[a-]" contains a
 * hyphen. */
static const char *read_set(uint64_t *set, const char *p, const char *end)
{
    int inverted = p < end && *p == '^';
    if (inverted) p++;
    const char *close = p;
    do {
        if (close < end && *close == '%') close++;
        if (close >= end || ++close >= end) return NULL;
    } while (*close != ']');
    for (; p < close; p++) {
        if (*p == '%') {
            add_class(set, *++p);
        } else if (close - p > 2 && p[1] == '-') {
            add_range(set, (unsigned char)p[0], (unsigned char)p[2]);
            p += 2;
        } else {
            add_byte(set, (unsigned char)*p);
        }
    }
    if (inverted) invert(set);
    return close + 1;
}

/* --- compiling a pattern ------------------------------------------------------------------------------------------ */

static const char *bad_item(pattern_item *item, const char *error, const char *end)
{
    item->kind = ITEM_ERROR;
    item->error = error;
    return end;
}

/* Functions that make an item from the pattern's text at p; each returns the start of the next item's text. */

static const char *compile_opening(pattern_match *m, pattern_item *item, const char *p, const char *end)
{
    int position = end - p > 1 && p[1] == ')';
    if (m->captures == PATTERN_CAPTURES) return bad_item(item, "too many captures", end);
    item->kind = position ? ITEM_POSITION : ITEM_OPEN;
    item->number = (uint8_t)m->captures;
    m->states[m->captures++] = position ? CAPTURE_POSITION : CAPTURE_OPEN;
    return p + 1 + position;
}

static const char *compile_closing(pattern_match *m, pattern_item *item, const char *p, const char *end)
{
    int number = m->captures - 1;
    while (number >= 0 && m->states[number] != CAPTURE_OPEN) number--;
    if (number < 0) return bad_item(item, "invalid pattern capture", end);
    item->kind = ITEM_CLOSE;
    item->number = (uint8_t)number;
    m->states[number] = CAPTURE_CLOSED;
    return p + 1;
}

static const char *compile_reference(const pattern_match *m, pattern_item *item, const char *p, const char *end)
{
    int number = p[1] - '1';
    item->number = (uint8_t)(number + 1);
    if (number < 0 || number >= m->captures || m->states[number] == CAPTURE_OPEN)
        return bad_item(item, "invalid capture index %%%d", end);
    item->number = (uint8_t)number;
    /* a position capture cannot be matched again: ITEM_SINGLE with an empty set never matches */
    item->kind = m->states[number] == CAPTURE_POSITION ? ITEM_SINGLE : ITEM_BACKREFERENCE;
    return p + 2;
}

static const char *compile_balance(pattern_item *item, const char *p, const char *end)
{
    if (end - p < 4) return bad_item(item, "malformed pattern (missing arguments to '%%b')", end);
    item->kind = ITEM_BALANCE;
    item->open = p[2];
    item->close = p[3];
    return p + 4;
}

static const char *compile_frontier(pattern_item *item, const char *p, const char *end)
{
    if (end - p < 3 || p[2] != '[') return bad_item(item, "missing '[' after '%%f' in pattern", end);
    item->kind = ITEM_FRONTIER;
    p = read_set(item->set, p + 3, end);
    return p != NULL ? p : bad_item(item, "malformed pattern (missing ']')", end);
}

static const char *compile_character(pattern_item *item, const char *p, const char *end)
{
    switch (*p) {
    case '.':
        invert(item->set);
        p++;
        break;
    case '%':
        if (end - p < 2) return bad_item(item, "malformed pattern (ends with '%%')", end);
        add_class(item->set, p[1]);
        p += 2;
        break;
    case '[':
        p = read_set(item->set, p + 1, end);
        if (p == NULL) return bad_item(item, "malformed pattern (missing ']')", end);
        break;
    default: add_byte(item->set, (unsigned char)*p++);
    }
    item->kind = ITEM_SINGLE;
    if (p == end) return p;
    switch (*p) {
    case '?': item->kind = ITEM_OPTION; return p + 1;
    case '*': item->kind = ITEM_STAR; return p + 1;
    case '+': item->kind = ITEM_PLUS; return p + 1;
    case '-': item->kind = ITEM_LAZY; return p + 1;
    default: return p;
    }
}

static const char *compile_item(pattern_match *m, pattern_item *item, const char *p, const char *end)
{
    *item = (pattern_item){.set = {0}};
    if (*p == '(') return compile_opening(m, item, p, end);
    if (*p == ')') return compile_closing(m, item, p, end);
    if (*p == '%' && end - p > 1) {
        if (p[1] >= '0' && p[1] <= '9') return compile_reference(m, item, p, end);
        if (p[1] == 'b') return compile_balance(item, p, end);
        if (p[1] == 'f') return compile_frontier(item, p, end);
    }
    if (*p == '$' && end - p == 1) {
        item->kind = ITEM_END;
        return end;
    }
    return compile_character(item, p, end);
}

void pattern_compile(pattern_match *m, pattern_item *items, const char *p, const char *end)
{
    pattern_item *item = items;
    m->items = items;
    m->captures = 0;
    while (p < end) p = compile_item(m, item++, p, end);
    item->kind = ITEM_DONE;
    for (item = items; item->kind == ITEM_OPEN || item->kind == ITEM_POSITION;) item++;
    m->first = item->kind == ITEM_SINGLE || item->kind == ITEM_PLUS ? item->set : NULL;
}
