/* Lua's patterns with their work counted: find, match, gmatch and gsub.
 *
 * A pattern of thirty bytes can make the library's own matcher run for days, in C, where no hook comes. This one does the
 * same as the one of Lua 5.4 (lstrlib.c, copyright Lua.org, PUC-Rio, MIT licence), whose algorithm it follows, but tells
 * script_charge() what it does. That the two agree is tested on random patterns.
 *
 * Divisions: single characters · matching · captures · find and match · gmatch · gsub. */
#include <ctype.h>
#include <string.h>

#include "state.h"

enum { MOST_CAPTURES = 32, DEEPEST = 200, ESCAPE = '%', WORK_AT_ONCE = 4096, WORK_OF_STEP = 2 };
enum { OPEN = -1, POSITION = -2 }; /* lengths of captures that are not closed, or are places */

typedef struct matcher {
    lua_State *L;
    const char *subject, *subject_end, *pattern_end;
    int depth;    /* of recursion */
    int64_t work; /* not charged yet */
    int captures;
    struct {
        const char *start;
        ptrdiff_t length;
    } capture[MOST_CAPTURES];
} matcher;

static const char *match(matcher *m, const char *s, const char *p);

static void count_work(matcher *m, ptrdiff_t work)
{
    m->work += work;
    if (m->work < WORK_AT_ONCE) return;
    script_charge(m->L, m->work);
    m->work = 0;
}

static int byte_at(const char *s)
{
    return (unsigned char)*s;
}

/* --- single characters -------------------------------------------------------------------------------------------- */

/* Behind the single-character class that begins at p. */
static const char *class_end(const matcher *m, const char *p)
{
    if (*p == ESCAPE) {
        if (++p == m->pattern_end) luaL_error(m->L, "malformed pattern (ends with '%%')");
        return p + 1;
    }
    if (*p++ != '[') return p;
    if (p < m->pattern_end && *p == '^') p++;
    do { /* a ']' at the beginning stands for itself */
        if (p == m->pattern_end) luaL_error(m->L, "malformed pattern (missing ']')");
        if (*p++ == ESCAPE) {
            if (p == m->pattern_end) luaL_error(m->L, "malformed pattern (missing ']')");
            p++;
        }
    } while (p == m->pattern_end || *p != ']');
    return p + 1;
}

static int is_in_class(int c, int letter)
{
    int in;
    switch (tolower(letter)) {
    case 'a': in = isalpha(c); break;
    case 'c': in = iscntrl(c); break;
    case 'd': in = isdigit(c); break;
    case 'g': in = isgraph(c); break;
    case 'l': in = islower(c); break;
    case 'p': in = ispunct(c); break;
    case 's': in = isspace(c); break;
    case 'u': in = isupper(c); break;
    case 'w': in = isalnum(c); break;
    case 'x': in = isxdigit(c); break;
    case 'z': in = c == 0; break; /* from before patterns could hold a zero */
    default: return letter == c;
    }
    return isupper(letter) ? !in : in != 0;
}

/* Whether the set from the '[' at p to its ']' at `last` holds c. */
static int is_in_set(int c, const char *p, const char *last)
{
    int found = 1;
    if (*++p == '^') {
        found = 0;
        p++;
    }
    for (; p < last; p++) {
        if (*p == ESCAPE) {
            if (is_in_class(c, byte_at(++p))) return found;
        } else if (p[1] == '-' && p + 2 < last) {
            if (byte_at(p) <= c && c <= byte_at(p + 2)) return found;
            p += 2;
        } else if (byte_at(p) == c) {
            return found;
        }
    }
    return !found;
}

/* Whether the character at s is of the class from p to `end`. */
static int is_single(const matcher *m, const char *s, const char *p, const char *end)
{
    if (s >= m->subject_end) return 0;
    switch (*p) {
    case '.': return 1;
    case ESCAPE: return is_in_class(byte_at(s), byte_at(p + 1));
    case '[': return is_in_set(byte_at(s), p, end - 1);
    default: return *p == *s;
    }
}

/* --- matching ----------------------------------------------------------------------------------------------------- */

static const char *match_most(matcher *m, const char *s, const char *p, const char *end)
{
    ptrdiff_t n = 0;
    while (is_single(m, s + n, p, end)) n++;
    count_work(m, n / 4);
    for (; n >= 0; n--) {
        const char *rest = match(m, s + n, end + 1);
        if (rest != NULL) return rest;
    }
    return NULL;
}

static const char *match_least(matcher *m, const char *s, const char *p, const char *end)
{
    for (;; s++) {
        const char *rest = match(m, s, end + 1);
        if (rest != NULL) return rest;
        if (!is_single(m, s, p, end)) return NULL;
    }
}

/* %bxy */
static const char *match_balance(matcher *m, const char *s, const char *p)
{
    if (m->pattern_end - p < 2) luaL_error(m->L, "malformed pattern (missing arguments to '%%b')");
    if (s >= m->subject_end || *s != p[0]) return NULL;
    const char *start = s;
    for (int nested = 1; ++s < m->subject_end;) {
        if (*s == p[1]) {
            if (--nested == 0) {
                count_work(m, (s - start) / 4);
                return s + 1;
            }
        } else if (*s == p[0]) {
            nested++;
        }
    }
    count_work(m, (s - start) / 4);
    return NULL;
}

static const char *open_capture(matcher *m, const char *s, const char *p, ptrdiff_t length)
{
    if (m->captures == MOST_CAPTURES) luaL_error(m->L, "too many captures");
    m->capture[m->captures].start = s;
    m->capture[m->captures].length = length;
    m->captures++;
    const char *rest = match(m, s, p);
    if (rest == NULL) m->captures--;
    return rest;
}

static const char *close_capture(matcher *m, const char *s, const char *p)
{
    int i = m->captures - 1;
    while (i >= 0 && m->capture[i].length != OPEN) i--;
    if (i < 0) luaL_error(m->L, "invalid pattern capture");
    m->capture[i].length = s - m->capture[i].start;
    const char *rest = match(m, s, p);
    if (rest == NULL) m->capture[i].length = OPEN;
    return rest;
}

/* %1 to %9: behind what equals that capture. */
static const char *match_capture(matcher *m, const char *s, int digit)
{
    int i = digit - '1';
    if (i < 0 || i >= m->captures || m->capture[i].length == OPEN)
        luaL_error(m->L, "invalid capture index %%%d", i + 1);
    /* A place has no length of its own, and equals nothing that is left of the subject, as in the library. */
    size_t length = (size_t)m->capture[i].length;
    if ((size_t)(m->subject_end - s) < length) return NULL;
    count_work(m, (ptrdiff_t)length / 16);
    return memcmp(m->capture[i].start, s, length) == 0 ? s + length : NULL;
}

/* %f[set]: between a character outside the set and one in it; the subject's ends count as '\0'. */
static int is_frontier(const matcher *m, const char *s, const char *p, const char *end)
{
    int before = s == m->subject ? 0 : byte_at(s - 1), here = s < m->subject_end ? byte_at(s) : 0;
    return !is_in_set(before, p, end - 1) && is_in_set(here, p, end - 1);
}

/* What begins with '%' and is no single-character class: 1 with *s and *p behind it, or *s NULL where it does not match. */
static int match_escape(matcher *m, const char **s, const char **p)
{
    const char *at = *p + 1;
    if (at == m->pattern_end) return 0;
    if (*at == 'b') {
        *s = match_balance(m, *s, at + 1);
        *p = at + 3;
    } else if (*at == 'f') {
        if (++at == m->pattern_end || *at != '[') luaL_error(m->L, "missing '[' after '%%f' in pattern");
        *p = class_end(m, at);
        if (!is_frontier(m, *s, at, *p)) *s = NULL;
    } else if (isdigit(byte_at(at))) {
        *s = match_capture(m, *s, byte_at(at));
        *p = at + 1;
    } else {
        return 0;
    }
    return 1;
}

static const char *match_here(matcher *m, const char *s, const char *p)
{
    while (s != NULL && p != m->pattern_end) {
        count_work(m, 1);
        if (*p == '(') {
            int place = p + 1 < m->pattern_end && p[1] == ')';
            return open_capture(m, s, p + 1 + place, place ? POSITION : OPEN);
        }
        if (*p == ')') return close_capture(m, s, p + 1);
        if (*p == '$' && p + 1 == m->pattern_end) return s == m->subject_end ? s : NULL;
        if (*p == ESCAPE && match_escape(m, &s, &p)) continue;
        const char *end = class_end(m, p);
        int repeat = end < m->pattern_end ? *end : '\0';
        if (is_single(m, s, p, end)) {
            const char *rest = NULL;
            if (repeat == '*') return match_most(m, s, p, end);
            if (repeat == '+') return match_most(m, s + 1, p, end);
            if (repeat == '-') return match_least(m, s, p, end);
            if (repeat == '?' && (rest = match(m, s + 1, end + 1)) != NULL) return rest;
            if (repeat != '?') s++;
        } else if (repeat != '*' && repeat != '?' && repeat != '-') {
            return NULL;
        }
        p = repeat == '*' || repeat == '?' || repeat == '-' ? end + 1 : end;
    }
    return s;
}

/* Behind what the pattern from p on matches at s, or NULL. */
static const char *match(matcher *m, const char *s, const char *p)
{
    if (m->depth == DEEPEST) luaL_error(m->L, "pattern too complex");
    m->depth++;
    count_work(m, WORK_OF_STEP);
    const char *rest = match_here(m, s, p);
    m->depth--;
    return rest;
}

/* --- captures ----------------------------------------------------------------------------------------------------- */

/* Push capture i; without any, capture 0 is the match from s to e. */
static void push_capture(matcher *m, int i, const char *s, const char *e)
{
    if (i >= m->captures) {
        if (i != 0) luaL_error(m->L, "invalid capture index %%%d", i + 1);
        lua_pushlstring(m->L, s, (size_t)(e - s));
        return;
    }
    ptrdiff_t length = m->capture[i].length;
    if (length == OPEN) luaL_error(m->L, "unfinished capture");
    if (length == POSITION)
        lua_pushinteger(m->L, m->capture[i].start - m->subject + 1);
    else
        lua_pushlstring(m->L, m->capture[i].start, (size_t)length);
}

/* Push all; the match itself where there are none and s is given. */
static int push_captures(matcher *m, const char *s, const char *e)
{
    int n = m->captures == 0 && s != NULL ? 1 : m->captures;
    luaL_checkstack(m->L, n, "too many captures");
    for (int i = 0; i < n; i++) push_capture(m, i, s, e);
    return n;
}

static matcher matcher_of(lua_State *L, const char *s, size_t length, const char *p, size_t pattern_length)
{
    return (matcher){.L = L, .subject = s, .subject_end = s + length, .pattern_end = p + pattern_length};
}

static const char *try_at(matcher *m, const char *s, const char *p)
{
    m->captures = 0;
    m->depth = 0;
    return match(m, s, p);
}

/* --- find and match ----------------------------------------------------------------------------------------------- */

/* The offset from 0 that a script's `init` means. */
static size_t offset_of(lua_State *L, int index, size_t length)
{
    lua_Integer init = luaL_optinteger(L, index, 1);
    if (init > 0) return (size_t)init - 1;
    if (init == 0 || init < -(lua_Integer)length) return 0;
    return length - (size_t)(-init);
}

static int is_plain(const char *p, size_t length)
{
    static const char special[] = "^$*+?.([%-";
    for (size_t i = 0; i < length; i++)
        if (p[i] != '\0' && strchr(special, p[i]) != NULL) return 0;
    return 1;
}

static int find_plain(lua_State *L, const char *s, size_t length, size_t init, const char *p, size_t pattern_length)
{
    script_charge(L, (int64_t)((length - init + pattern_length) / 16));
    const char *at = memmem(s + init, length - init, p, pattern_length);
    if (at == NULL) {
        lua_pushnil(L);
        return 1;
    }
    lua_pushinteger(L, at - s + 1);
    lua_pushinteger(L, (lua_Integer)((size_t)(at - s) + pattern_length));
    return 2;
}

static int search(lua_State *L, int find)
{
    size_t length, pattern_length;
    const char *s = luaL_checklstring(L, 1, &length), *p = luaL_checklstring(L, 2, &pattern_length);
    size_t init = offset_of(L, 3, length);
    if (init > length) {
        lua_pushnil(L);
        return 1;
    }
    if (find && (lua_toboolean(L, 4) || is_plain(p, pattern_length)))
        return find_plain(L, s, length, init, p, pattern_length);
    matcher m = matcher_of(L, s, length, p, pattern_length);
    int anchored = pattern_length > 0 && *p == '^';
    for (const char *at = s + init; at <= m.subject_end; at++) {
        const char *end = try_at(&m, at, p + anchored);
        if (end != NULL) {
            script_charge(L, m.work);
            if (!find) return push_captures(&m, at, end);
            lua_pushinteger(L, at - s + 1);
            lua_pushinteger(L, end - s);
            return push_captures(&m, NULL, NULL) + 2;
        }
        if (anchored) break;
    }
    script_charge(L, m.work);
    lua_pushnil(L);
    return 1;
}

static int pattern_find(lua_State *L)
{
    return search(L, 1);
}

static int pattern_match(lua_State *L)
{
    return search(L, 0);
}

/* --- gmatch ------------------------------------------------------------------------------------------------------- */

/* Upvalues: subject, pattern, offset to go on at, end of the latest match (-1: none), which an empty one may not repeat. */
static int next_match(lua_State *L)
{
    size_t length, pattern_length;
    const char *s = lua_tolstring(L, lua_upvalueindex(1), &length);
    const char *p = lua_tolstring(L, lua_upvalueindex(2), &pattern_length);
    lua_Integer from = lua_tointeger(L, lua_upvalueindex(3)), latest = lua_tointeger(L, lua_upvalueindex(4));
    matcher m = matcher_of(L, s, length, p, pattern_length);
    for (const char *at = s + from; at <= m.subject_end; at++) {
        const char *end = try_at(&m, at, p);
        if (end == NULL || end - s == latest) continue;
        lua_pushinteger(L, end - s);
        lua_copy(L, -1, lua_upvalueindex(3));
        lua_replace(L, lua_upvalueindex(4));
        script_charge(L, m.work);
        return push_captures(&m, at, end);
    }
    script_charge(L, m.work);
    return 0;
}

static int pattern_gmatch(lua_State *L)
{
    size_t length;
    luaL_checklstring(L, 1, &length);
    luaL_checkstring(L, 2);
    size_t from = offset_of(L, 3, length);
    lua_settop(L, 2);
    lua_pushinteger(L, (lua_Integer)(from > length ? length + 1 : from));
    lua_pushinteger(L, -1);
    lua_pushcclosure(L, next_match, 4);
    return 1;
}

/* --- gsub --------------------------------------------------------------------------------------------------------- */

/* Add the replacement text at index 3 with its %0 to %9 filled in. */
static void add_text(matcher *m, luaL_Buffer *b, const char *s, const char *e)
{
    size_t length;
    const char *text = lua_tolstring(m->L, 3, &length), *end = text + length;
    count_work(m, (ptrdiff_t)length / 16);
    for (const char *escape; (escape = memchr(text, ESCAPE, (size_t)(end - text))) != NULL; text = escape + 2) {
        luaL_addlstring(b, text, (size_t)(escape - text));
        if (escape[1] == ESCAPE) {
            luaL_addchar(b, ESCAPE);
        } else if (escape[1] == '0') {
            luaL_addlstring(b, s, (size_t)(e - s));
        } else {
            if (!isdigit(byte_at(escape + 1))) luaL_error(m->L, "invalid use of '%%' in replacement string");
            push_capture(m, escape[1] - '1', s, e);
            luaL_addvalue(b); /* of a place, the digits */
        }
    }
    luaL_addlstring(b, text, (size_t)(end - text));
}

/* Add what stands for the match from s to e: a text, or what the function or table at index 3 says. */
static void add_replacement(matcher *m, luaL_Buffer *b, const char *s, const char *e)
{
    lua_State *L = m->L;
    if (lua_type(L, 3) == LUA_TFUNCTION) {
        lua_pushvalue(L, 3);
        lua_call(L, push_captures(m, s, e), 1);
    } else if (lua_type(L, 3) == LUA_TTABLE) {
        push_capture(m, 0, s, e);
        lua_gettable(L, 3);
    } else {
        add_text(m, b, s, e);
        return;
    }
    if (!lua_toboolean(L, -1)) {
        lua_pop(L, 1);
        luaL_addlstring(b, s, (size_t)(e - s));
    } else if (lua_isstring(L, -1)) {
        luaL_addvalue(b);
    } else {
        luaL_error(L, "invalid replacement value (a %s)", luaL_typename(L, -1));
    }
}

static int pattern_gsub(lua_State *L)
{
    size_t length, pattern_length;
    const char *s = luaL_checklstring(L, 1, &length), *p = luaL_checklstring(L, 2, &pattern_length), *latest = NULL;
    int type = lua_type(L, 3), anchored = pattern_length > 0 && *p == '^';
    luaL_argexpected(L, type == LUA_TNUMBER || type == LUA_TSTRING || type == LUA_TFUNCTION || type == LUA_TTABLE, 3,
                     "string/function/table");
    lua_Integer most = luaL_optinteger(L, 4, (lua_Integer)length + 1), n = 0;
    matcher m = matcher_of(L, s, length, p, pattern_length);
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    while (n < most) {
        const char *end = try_at(&m, s, p + anchored);
        if (end != NULL && end != latest) {
            n++;
            add_replacement(&m, &b, s, end);
            s = latest = end;
        } else if (s < m.subject_end) {
            luaL_addchar(&b, *s++);
        } else {
            break;
        }
        if (anchored) break;
    }
    luaL_addlstring(&b, s, (size_t)(m.subject_end - s));
    luaL_pushresult(&b);
    lua_pushinteger(L, n);
    script_charge(L, m.work);
    return 2;
}

void script_open_patterns(lua_State *L)
{
    static const luaL_Reg functions[] = {{"find", pattern_find},
                                         {"match", pattern_match},
                                         {"gmatch", pattern_gmatch},
                                         {"gsub", pattern_gsub},
                                         {NULL, NULL}};
    luaL_setfuncs(L, functions, 0);
}
