/* string.find, match, gmatch and gsub that count their work and can be stopped; Lua's can take days on a short pattern.
 *
 * pattern_compile.c turns the pattern into a list of items for a backtracking matcher. A match passes each item once, so
 *   - each item has at most one open choice: the stack is allocated beforehand, and no pattern is "too complex";
 *   - backtracking runs all later items again, so captures need not be restored.
 *
 * Results and messages are Lua 5.4's (tests/scripting/test_patterns.c). */
#include <string.h>

#include "pattern.h"

/* --- charging work ------------------------------------------------------------------------------------------------ */

/* Work is counted in units of a quarter of an instruction. It is charged to the script's limit in blocks of 1000 instructions. */
enum { UNITS = 4, BLOCK = 1000 * UNITS, CALL_COST = 10 * UNITS, ITEM_COST = UNITS, BYTES_PER_UNIT = 16 };

static void charge_work(pattern_match *m)
{
    int64_t work = m->work;
    m->work = 0;
    script_charge(m->L, (work + UNITS - 1) / UNITS);
}

static inline void count_work(pattern_match *m, int64_t work)
{
    m->work += work;
    if (m->work >= BLOCK) charge_work(m);
}

/* Return the cost, in quarters of an instruction, of copying or comparing n bytes. */
static inline int64_t bytes_cost(size_t n)
{
    return (int64_t)(1 + n / BYTES_PER_UNIT);
}

/* --- matching ----------------------------------------------------------------------------------------------------- */

/* Return the first position in [s, end) whose character is not in the set; `end` if all are in it. */
static inline const char *set_run_end(const uint64_t *set, const char *s, const char *end)
{
    while (s < end && set_has(set, *s)) s++;
    return s;
}

static const char *balanced(const char *s, const char *end, char open, char close)
{
    if (s == end || *s != open) return NULL;
    for (size_t depth = 1; ++s < end;) {
        if (*s == close) {
            if (--depth == 0) return s + 1;
        } else if (*s == open) {
            depth++;
        }
    }
    return NULL;
}

static int at_frontier(const pattern_match *m, const uint64_t *set, const char *s)
{
    return !set_has(set, s > m->subject ? s[-1] : '\0') && set_has(set, s < m->end ? *s : '\0');
}

/* Backtrack to the latest open choice. Returns the item to continue with, at position *s; NULL: none. */
static inline const pattern_item *backtrack_choice(pattern_match *m, pattern_choice **top, const char **s)
{
    while (*top != m->choices) {
        pattern_choice *choice = *top - 1;
        if (choice->item->kind != ITEM_LAZY) {
            *s = --choice->pos;
            if (choice->pos == choice->min_pos) --*top;
            return choice->item + 1;
        }
        if (choice->pos < m->end && set_has(choice->item->set, *choice->pos)) {
            *s = ++choice->pos;
            return choice->item + 1;
        }
        --*top;
    }
    return NULL;
}

/* Match the whole pattern at position s. Return the end of the match, or NULL if there is none. */
static const char *match_at(pattern_match *m, const char *s)
{
    const char *const end = m->end;
    const pattern_item *item = m->items;
    pattern_choice *top = m->choices;
    while (item != NULL) {
        const char *stop = NULL; /* end of the current item's match; NULL: it does not match */
        count_work(m, ITEM_COST);
        switch ((item_kind)item->kind) {
        case ITEM_SINGLE:
            if (s < end && set_has(item->set, *s)) stop = s + 1;
            break;
        case ITEM_OPTION:
            stop = s;
            if (s < end && set_has(item->set, *s)) *top++ = (pattern_choice){item, ++stop, s};
            break;
        case ITEM_STAR:
        case ITEM_PLUS: {
            const char *min_end = s + (item->kind == ITEM_PLUS), *max_end = set_run_end(item->set, s, end);
            m->work += max_end - s;
            if (max_end > min_end) *top++ = (pattern_choice){item, max_end, min_end};
            if (max_end >= min_end) stop = max_end;
            break;
        }
        case ITEM_LAZY:
            *top++ = (pattern_choice){item, s, s};
            stop = s;
            break;
        case ITEM_POSITION:
        case ITEM_OPEN:
            m->from[item->number] = s;
            stop = s;
            break;
        case ITEM_CLOSE:
            m->to[item->number] = s;
            stop = s;
            break;
        case ITEM_BACKREFERENCE: {
            const char *text = m->from[item->number];
            size_t length = (size_t)(m->to[item->number] - text);
            m->work += bytes_cost(length);
            if ((size_t)(end - s) >= length && memcmp(s, text, length) == 0) stop = s + length;
            break;
        }
        case ITEM_BALANCE:
            stop = balanced(s, end, item->open, item->close);
            if (s < end && *s == item->open) m->work += (stop != NULL ? stop : end) - s;
            break;
        case ITEM_FRONTIER:
            if (at_frontier(m, item->set, s)) stop = s;
            break;
        case ITEM_END:
            if (s == end) stop = s;
            break;
        case ITEM_ERROR:
            charge_work(m);
            luaL_error(m->L, item->error, (int)item->number);
            break;
        case ITEM_DONE: return s;
        }
        if (stop != NULL) {
            s = stop;
            item++;
        } else {
            item = backtrack_choice(m, &top, &s);
        }
    }
    return NULL;
}

/* Find the first match from s on, except an empty one where the previous match ended. Returns 1 with m->start and m->stop, or 0. */
static int search(pattern_match *m, const char *s)
{
    for (; s <= m->end; s++) {
        if (m->first != NULL && !m->anchored) {
            const char *begin = s;
            while (s < m->end && !set_has(m->first, *s)) s++;
            m->work += s - begin;
        }
        const char *stop = match_at(m, s);
        if (stop != NULL && stop != m->stop) {
            m->start = s;
            m->stop = stop;
            return 1;
        }
        if (m->anchored) return 0;
    }
    return 0;
}

/* --- captures ----------------------------------------------------------------------------------------------------- */

/* Return the text of capture `number`, from 0; NULL for a position capture. Without captures, capture 0 is the whole match. */
static const char *capture_text(const pattern_match *m, int number, size_t *length)
{
    if (number >= m->captures) {
        if (number > 0) luaL_error(m->L, "invalid capture index %%%d", number + 1);
        *length = (size_t)(m->stop - m->start);
        return m->start;
    }
    if (m->states[number] == CAPTURE_OPEN) luaL_error(m->L, "unfinished capture");
    if (m->states[number] == CAPTURE_POSITION) return NULL;
    *length = (size_t)(m->to[number] - m->from[number]);
    return m->from[number];
}

static void push_capture(pattern_match *m, int number)
{
    size_t length = 0;
    const char *text = capture_text(m, number, &length);
    count_work(m, UNITS + bytes_cost(length));
    if (text != NULL)
        lua_pushlstring(m->L, text, length);
    else
        lua_pushinteger(m->L, m->from[number] - m->subject + 1);
}

/* Push all captures and return their number; without captures the whole match, if match_if_none. */
static int push_captures(pattern_match *m, int match_if_none)
{
    int n = m->captures > 0 ? m->captures : match_if_none;
    luaL_checkstack(m->L, n, "too many captures");
    for (int i = 0; i < n; i++) push_capture(m, i);
    return n;
}

/* --- reading arguments -------------------------------------------------------------------------------------------- */

/* Patterns of at most LOCAL_ITEMS bytes are compiled into a buffer on the C stack, which saves creating a userdata. */
enum { LOCAL_ITEMS = 24 };
typedef struct pattern_buffer {
    pattern_item items[LOCAL_ITEMS + 1];
    pattern_choice choices[LOCAL_ITEMS];
} pattern_buffer;

static size_t items_size(size_t length)
{
    return (length + 1) * sizeof(pattern_item) + length * sizeof(pattern_choice);
}

/* Compile the pattern at stack index 2, and prepare *m (with L and work set) for the subject at index 1. buffer: items_size() bytes. */
static void prepare_match(pattern_match *m, void *buffer, int may_be_anchored)
{
    lua_State *L = m->L;
    size_t subject_length, length;
    const char *subject = lua_tolstring(L, 1, &subject_length), *pattern = lua_tolstring(L, 2, &length);
    m->subject = subject;
    m->end = subject + subject_length;
    m->start = m->stop = NULL;
    m->anchored = may_be_anchored && length > 0 && *pattern == '^';
    m->choices = (pattern_choice *)((pattern_item *)buffer + length + 1);
    count_work(m, 2 * ITEM_COST * (int64_t)length);
    pattern_compile(m, buffer, pattern + m->anchored, pattern + length);
}

/* As prepare_match(), with a buffer for the items: `near` if the pattern is short enough, else a userdata that is pushed. */
static void prepare_local_match(pattern_match *m, pattern_buffer *near)
{
    size_t length = lua_rawlen(m->L, 2);
    prepare_match(m, length <= LOCAL_ITEMS ? near : lua_newuserdatauv(m->L, items_size(length), 0), 1);
}

/* Return the position in the subject that the argument at `index` means, or NULL if it is after the end of the subject. */
static const char *start_position(lua_State *L, int index, const char *subject, size_t length)
{
    lua_Integer position = luaL_optinteger(L, index, 1), size = (lua_Integer)length;
    if (position > 0) return position - 1 <= size ? subject + (position - 1) : NULL;
    if (position == 0 || position < -size) return subject;
    return subject + (size + position);
}

/* --- find and match ----------------------------------------------------------------------------------------------- */

static int is_plain(const char *pattern, size_t length)
{
    static const uint64_t specials[SET_WORDS] = {/* $%(*+-.? */ 0x80006d3000000000, /* [^ */ 0x0000000048000000};
    for (size_t i = 0; i < length; i++)
        if (set_has(specials, pattern[i])) return 0;
    return 1;
}

/* Return the first occurrence of `text` in [s, end), or NULL. Searches block by block, to count the examined bytes. */
static const char *find_plain(pattern_match *m, const char *s, const char *end, const char *text, size_t length)
{
    enum { STEP = 64 * BYTES_PER_UNIT };
    for (; (size_t)(end - s) >= length; s++) {
        const char *begin = s;
        if (length > 0) s = memchr(s, *text, (size_t)(end - s) - length + 1);
        count_work(m, UNITS + bytes_cost((size_t)((s != NULL ? s : end) - begin)));
        if (s == NULL) return NULL;
        size_t same = 0;
        while (same < length) {
            size_t step = length - same < STEP ? length - same : STEP;
            m->work += bytes_cost(step);
            if (memcmp(s + same, text + same, step) != 0) break;
            same += step;
        }
        if (same == length) return s;
    }
    return NULL;
}

static int find_or_match(lua_State *L, int find)
{
    size_t length, pattern_length;
    const char *subject = luaL_checklstring(L, 1, &length), *pattern = luaL_checklstring(L, 2, &pattern_length);
    const char *begin = start_position(L, 3, subject, length);
    pattern_match m;
    pattern_buffer near;
    int found = 0;
    m.L = L;
    m.work = bytes_cost(pattern_length);
    if (begin != NULL && find && (lua_toboolean(L, 4) || is_plain(pattern, pattern_length))) {
        m.captures = 0;
        m.start = find_plain(&m, begin, subject + length, pattern, pattern_length);
        found = m.start != NULL;
        if (found) m.stop = m.start + pattern_length;
    } else if (begin != NULL) {
        prepare_local_match(&m, &near);
        found = search(&m, begin);
    }
    charge_work(&m);
    if (!found) {
        luaL_pushfail(L);
        return 1;
    }
    if (!find) return push_captures(&m, 1);
    lua_pushinteger(L, m.start - subject + 1);
    lua_pushinteger(L, m.stop - subject);
    return 2 + push_captures(&m, 0);
}

static int counted_find(lua_State *L)
{
    return find_or_match(L, 1);
}

static int counted_match(lua_State *L)
{
    return find_or_match(L, 0);
}

/* --- gmatch ------------------------------------------------------------------------------------------------------- */

/* State of a gmatch iterator, in its upvalue 1 together with the pattern's items. Upvalue 2 is the subject. */
typedef struct gmatch_state {
    pattern_match match;
    const char *next; /* where the next search starts; NULL: no more matches */
    pattern_item items[];
} gmatch_state;

static int next_match(lua_State *L)
{
    gmatch_state *walk = lua_touserdata(L, lua_upvalueindex(1));
    walk->match.L = L; /* set anew: the iterator may run in another coroutine than the one that created it */
    int found = walk->next != NULL && search(&walk->match, walk->next);
    charge_work(&walk->match);
    if (!found) return 0;
    walk->next = walk->match.stop;
    return push_captures(&walk->match, 1);
}

static int counted_gmatch(lua_State *L)
{
    size_t length, pattern_length;
    const char *subject = luaL_checklstring(L, 1, &length);
    luaL_checklstring(L, 2, &pattern_length);
    const char *begin = start_position(L, 3, subject, length);
    gmatch_state *walk = lua_newuserdatauv(L, sizeof *walk + items_size(pattern_length), 0);
    walk->match.L = L;
    walk->match.work = 0;
    prepare_match(&walk->match, walk->items, 0);
    walk->next = begin;
    lua_pushvalue(L, 1);
    lua_pushcclosure(L, next_match, 2);
    return 1;
}

/* --- gsub --------------------------------------------------------------------------------------------------------- */

static void add_bytes(pattern_match *m, luaL_Buffer *out, const char *text, size_t length)
{
    count_work(m, bytes_cost(length));
    luaL_addlstring(out, text, length);
}

static void append_capture(pattern_match *m, luaL_Buffer *out, int number)
{
    size_t length = 0;
    const char *text = capture_text(m, number, &length);
    if (text != NULL) {
        add_bytes(m, out, text, length);
    } else {
        push_capture(m, number);
        luaL_addvalue(out);
    }
}

/* Append the replacement `text`, in which %0 to %9 stand for captures, to the result. */
static void add_text(pattern_match *m, luaL_Buffer *out, const char *text, size_t length)
{
    const char *end = text + length, *percent;
    while ((percent = memchr(text, '%', (size_t)(end - text))) != NULL) {
        add_bytes(m, out, text, (size_t)(percent - text));
        char what = percent + 1 < end ? percent[1] : '\0';
        if (what == '%')
            luaL_addchar(out, '%');
        else if (what == '0')
            add_bytes(m, out, m->start, (size_t)(m->stop - m->start));
        else if (what >= '1' && what <= '9')
            append_capture(m, out, what - '1');
        else
            luaL_error(m->L, "invalid use of '%%' in replacement string");
        text = percent + 2;
    }
    add_bytes(m, out, text, (size_t)(end - text));
}

/* Append a match's replacement: the value of the table or function at index 3, or the match if false or nil. */
static void add_replacement(pattern_match *m, luaL_Buffer *out)
{
    lua_State *L = m->L;
    count_work(m, CALL_COST);
    if (lua_istable(L, 3)) {
        push_capture(m, 0);
        lua_gettable(L, 3);
    } else {
        lua_pushvalue(L, 3);
        lua_call(L, push_captures(m, 1), 1);
    }
    if (!lua_toboolean(L, -1)) {
        lua_pop(L, 1);
        add_bytes(m, out, m->start, (size_t)(m->stop - m->start));
        return;
    }
    if (!lua_isstring(L, -1)) luaL_error(L, "invalid replacement value (a %s)", luaL_typename(L, -1));
    count_work(m, bytes_cost(lua_rawlen(L, -1)));
    luaL_addvalue(out);
}

static int counted_gsub(lua_State *L)
{
    size_t length, text_length = 0;
    const char *s = luaL_checklstring(L, 1, &length), *text = NULL;
    luaL_checkstring(L, 2);
    lua_Integer max_matches = luaL_optinteger(L, 4, (lua_Integer)length + 1), n = 0;
    int type = lua_type(L, 3);
    int is_text = type == LUA_TSTRING || type == LUA_TNUMBER;
    luaL_argexpected(L, is_text || type == LUA_TTABLE || type == LUA_TFUNCTION, 3, "string/function/table");
    if (is_text) text = lua_tolstring(L, 3, &text_length);
    pattern_match m;
    pattern_buffer near;
    luaL_Buffer out;
    m.L = L;
    m.work = 0;
    prepare_local_match(&m, &near);
    luaL_buffinit(L, &out);
    while (n < max_matches && search(&m, s)) {
        n++;
        add_bytes(&m, &out, s, (size_t)(m.start - s));
        if (is_text)
            add_text(&m, &out, text, text_length);
        else
            add_replacement(&m, &out);
        s = m.stop;
        if (m.anchored) break;
    }
    if (n > 0) {
        add_bytes(&m, &out, s, (size_t)(m.end - s));
        luaL_pushresult(&out);
    } else {
        lua_pushvalue(L, 1);
    }
    charge_work(&m);
    lua_pushinteger(L, n);
    return 2;
}

void script_open_patterns(lua_State *L)
{
    static const luaL_Reg functions[] = {{"find", counted_find},
                                         {"match", counted_match},
                                         {"gmatch", counted_gmatch},
                                         {"gsub", counted_gsub},
                                         {NULL, NULL}};
    luaL_setfuncs(L, functions, 0);
}
