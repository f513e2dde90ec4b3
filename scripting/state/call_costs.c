/* Charges the work of Lua's library functions to the script's limit of instructions, before the work is done.
 *
 * All library functions that scripts can reach are wrapped. They cost per argument and byte of text, unless they have a cost function.
 * pattern.c charges for patterns, script_memory.c for memory.
 *
 * table.concat, insert, move, remove, sort and unpack are replaced by functions that charge each access. A hook could not count these: a
 * chain of tables linked by __index runs no instruction. Results and messages are Lua 5.4's (tests/scripting/test_table_functions.c). */
#include <limits.h>
#include <string.h>

#include "limits.h"

/* Integers from a script are clamped to [0, MAX_CALL_COST] before costs are computed: sums of costs cannot overflow. */
#define MAX_CALL_COST (INT64_MAX / 4)

/* Bytes of text charged as one instruction. The most expensive work is reading a number: two or three nanoseconds per digit. */
enum { BYTES_PER_UNIT = 4 };

/* How much library functions charge to the script's limit of instructions. */
typedef struct script_work {
    const char *names; /* the functions, separated by spaces */
    /* position of the text argument that is exempt from the charge per byte, because only `cost` charges for it; or a constant below */
    int text;
    /* returns the charge for the exempt argument and for the result; NULL: there is none */
    int64_t (*cost)(lua_State *L);
} script_work;

/* Values of script_work.text: which text argument costs nothing, because the function does not read it. */
enum { NO_ARGUMENT = 0, EVERY_ARGUMENT = -1 };

/* --- costs of list functions -------------------------------------------------------------------------------------- */

/* Instructions charged per access to an element and per comparison; COMPARED_PER_UNIT: bytes of compared text per instruction. */
enum { ELEMENT_COST = 10, COMPARE_COST = 2, COMPARED_PER_UNIT = 16 };

static const char *const read_fields[] = {"__index", NULL}, *const write_fields[] = {"__newindex", NULL};
static const char *const length_fields[] = {"__index", "__len", NULL};
static const char *const change_fields[] = {"__index", "__newindex", "__len", NULL};

/* Raise unless the argument is a table, or an object whose metatable has all of these fields (a NULL-terminated list). */
static void check_list(lua_State *L, int index, const char *const *fields)
{
    if (lua_istable(L, index)) return;
    int good = lua_getmetatable(L, index);
    for (; good && *fields != NULL; fields++) {
        lua_pushstring(L, *fields);
        good = lua_rawget(L, -2) != LUA_TNIL;
        lua_pop(L, 1);
    }
    if (!good) luaL_checktype(L, index, LUA_TTABLE);
    lua_pop(L, 1);
}

static lua_Integer list_length(lua_State *L, const char *const *fields)
{
    check_list(L, 1, fields);
    return luaL_len(L, 1);
}

static void copy_element(lua_State *L, int from_list, lua_Integer from, int to_list, lua_Integer to)
{
    script_charge(L, ELEMENT_COST);
    lua_geti(L, from_list, from);
    lua_seti(L, to_list, to);
}

static int counted_insert(lua_State *L)
{
    lua_Integer end = (lua_Integer)((lua_Unsigned)list_length(L, change_fields) + 1), place = end;
    int n = lua_gettop(L);
    if (n != 2 && n != 3) return luaL_error(L, "wrong number of arguments to 'insert'");
    if (n == 3) {
        place = luaL_checkinteger(L, 2);
        luaL_argcheck(L, (lua_Unsigned)place - 1u < (lua_Unsigned)end, 2, "position out of bounds");
        for (lua_Integer i = end; i > place; i--) copy_element(L, 1, i - 1, 1, i);
    }
    lua_seti(L, 1, place);
    return 0;
}

static int counted_remove(lua_State *L)
{
    lua_Integer size = list_length(L, change_fields), place = luaL_optinteger(L, 2, size);
    if (place != size) luaL_argcheck(L, (lua_Unsigned)place - 1u <= (lua_Unsigned)size, 2, "position out of bounds");
    lua_geti(L, 1, place);
    for (; place < size; place++) copy_element(L, 1, place + 1, 1, place);
    lua_pushnil(L);
    lua_seti(L, 1, place);
    return 1;
}

static int counted_move(lua_State *L)
{
    lua_Integer first = luaL_checkinteger(L, 2), last = luaL_checkinteger(L, 3), to = luaL_checkinteger(L, 4);
    int other = lua_isnoneornil(L, 5) ? 1 : 5;
    check_list(L, 1, read_fields);
    check_list(L, other, write_fields);
    if (last >= first) {
        luaL_argcheck(L, first > 0 || last < LUA_MAXINTEGER + first, 3, "too many elements to move");
        lua_Integer n = last - first + 1;
        luaL_argcheck(L, to <= LUA_MAXINTEGER - n + 1, 4, "destination wrap around");
        int is_forward = to > last || to <= first || (other != 1 && !lua_compare(L, 1, other, LUA_OPEQ));
        for (lua_Integer i = 0; is_forward && i < n; i++) copy_element(L, 1, first + i, other, to + i);
        for (lua_Integer i = n - 1; !is_forward && i >= 0; i--) copy_element(L, 1, first + i, other, to + i);
    }
    lua_pushvalue(L, other);
    return 1;
}

static void add_element(lua_State *L, luaL_Buffer *out, lua_Integer i)
{
    script_charge(L, ELEMENT_COST);
    lua_geti(L, 1, i);
    if (!lua_isstring(L, -1))
        luaL_error(L, "invalid value (%s) at index %I in table for 'concat'", luaL_typename(L, -1), (LUAI_UACINT)i);
    luaL_addvalue(out);
}

static int counted_concat(lua_State *L)
{
    luaL_Buffer out;
    size_t length;
    lua_Integer last = list_length(L, length_fields);
    const char *separator = luaL_optlstring(L, 2, "", &length);
    lua_Integer i = luaL_optinteger(L, 3, 1);
    last = luaL_optinteger(L, 4, last);
    luaL_buffinit(L, &out);
    for (; i < last; i++) {
        add_element(L, &out, i);
        luaL_addlstring(&out, separator, length);
    }
    if (i == last) add_element(L, &out, i);
    luaL_pushresult(&out);
    return 1;
}

static int counted_unpack(lua_State *L)
{
    lua_Integer first = luaL_optinteger(L, 2, 1);
    lua_Integer last = lua_isnoneornil(L, 3) ? luaL_len(L, 1) : luaL_checkinteger(L, 3);
    if (first > last) return 0;
    lua_Unsigned n = (lua_Unsigned)last - (lua_Unsigned)first;
    if (n >= INT_MAX || !script_reserve_stack(L, (int)++n)) return luaL_error(L, "too many results to unpack");
    for (lua_Integer i = first;; i++) {
        script_charge(L, ELEMENT_COST);
        lua_geti(L, 1, i);
        if (i == last) return (int)n;
    }
}

/* The default comparison of table.sort, which charges to the script's limit. Comparing two texts takes time proportional to the shorter
 * one. */
static int counted_less(lua_State *L)
{
    int64_t work = COMPARE_COST;
    if (lua_type(L, 1) == LUA_TSTRING && lua_type(L, 2) == LUA_TSTRING) {
        size_t x = lua_rawlen(L, 1), y = lua_rawlen(L, 2);
        work += (int64_t)((x < y ? x : y) / COMPARED_PER_UNIT);
    }
    script_charge(L, work);
    lua_pushboolean(L, lua_compare(L, 1, 2, LUA_OPLT));
    return 1;
}

/* Before table.sort: replace a missing comparison function by one that charges for each comparison. Returns the cost 0. */
static int64_t sort_order(lua_State *L)
{
    if (lua_gettop(L) == 0 || !lua_isnoneornil(L, 2)) return 0;
    lua_settop(L, 1);
    lua_pushcfunction(L, counted_less);
    return 0;
}

/* --- costs that depend on arguments ------------------------------------------------------------------------------- */

static int64_t arguments_cost(lua_State *L, int except)
{
    int n = lua_gettop(L);
    int64_t bytes = 0;
    for (int i = 1; i <= n && except != EVERY_ARGUMENT; i++)
        if (i != except && lua_type(L, i) == LUA_TSTRING) bytes += (int64_t)lua_rawlen(L, i);
    return bytes / BYTES_PER_UNIT + n;
}

/* Return the cost of converting the argument to a number: 0 unless the argument is a text. */
static int64_t number_cost(lua_State *L, int index)
{
    return lua_type(L, index) == LUA_TSTRING ? (int64_t)lua_rawlen(L, index) / BYTES_PER_UNIT : 0;
}

/* Cost of select(n, ...), where n may be a text that must be read as a number. */
static int64_t select_cost(lua_State *L)
{
    return number_cost(L, 1);
}

/* Cost of table.insert(list, pos, value), where pos may be a text to be read as a number. */
static int64_t insert_cost(lua_State *L)
{
    return lua_gettop(L) == 3 ? number_cost(L, 2) : 0;
}

static int64_t clamped_integer(lua_State *L, int index)
{
    lua_Integer value = lua_tointeger(L, index);
    return value < 0 ? 0 : value < MAX_CALL_COST ? value : MAX_CALL_COST;
}

/* --- costs of text functions -------------------------------------------------------------------------------------- */

/* Return the position in a text of `length` bytes that the argument at `index` means, clamped to [0, length]; negative: from the end. */
static int64_t text_position(lua_State *L, int index, int64_t length, int64_t otherwise)
{
    lua_Integer place = lua_isnoneornil(L, index) ? otherwise : lua_tointeger(L, index);
    if (place < 0) place = place < -length ? 0 : length + place + 1;
    return place < 0 ? 0 : place < length ? place : length;
}

/* Return the length of the text at index 1 between the positions in arguments 2 and 3, with these defaults; last < 0: the first position.
 */
static int64_t span_length(lua_State *L, int64_t first, int64_t last)
{
    int64_t length = (int64_t)lua_rawlen(L, 1), span;
    first = text_position(L, 2, length, first);
    last = text_position(L, 3, length, last < 0 ? first : last);
    span = last - first + 1;
    return span > 0 ? span : 0;
}

/* Cost of string.byte(s, i, j) and utf8.codepoint(s, i, j), which read the characters from position i to position j; j defaults to i. */
static int64_t places_cost(lua_State *L)
{
    int64_t span = span_length(L, 1, -1);
    if (!script_reserve_stack(L, span)) luaL_error(L, "string slice too long");
    return span;
}

/* Cost of utf8.len(s, i, j), which by default reads the whole text. */
static int64_t utf8_len_cost(lua_State *L)
{
    return span_length(L, 1, INT64_MAX) / BYTES_PER_UNIT;
}

/* Cost of string.rep(s, n, separator). A result beyond the memory limit costs nothing: string.rep allocates it first, and fails at once. */
static int64_t rep_cost(lua_State *L)
{
    int64_t n = clamped_integer(L, 2), each = (int64_t)(lua_rawlen(L, 1) + (lua_isstring(L, 3) ? lua_rawlen(L, 3) : 0)),
            bytes;
    if (each == 0 && n > 0) { /* repeating nothing n times: the library would loop n times, so n is set to 0 */
        lua_pushinteger(L, 0);
        lua_replace(L, 2);
    }
    if (each == 0) return 0;
    if (__builtin_mul_overflow(n, each, &bytes) || (uint64_t)bytes > script_from_lua(L)->options.memory) return 0;
    return n / 4 + bytes / 64;
}

/* Cost of string.format. Formatting a number takes 0.1 to 10 microseconds, the most for large numbers with a hundred
 * decimals. */
static int64_t format_cost(lua_State *L)
{
    enum { FORMAT_ITEM_COST = 40, LONG_FORMAT_COST = 2000 };
    size_t length;
    const char *text = lua_tolstring(L, 1, &length), *end = text + length;
    int64_t cost = 0;
    for (; text != NULL && (text = memchr(text, '%', (size_t)(end - text))) != NULL; text++) {
        size_t digits = strspn(text + 1, "-+ #0123456789.");
        cost += memchr("fFeEgGaA", text[1 + digits], 8) != NULL ? FORMAT_ITEM_COST * 10 : FORMAT_ITEM_COST;
        if (digits > 2 && text[1 + digits] == 'f') cost += LONG_FORMAT_COST;
    }
    return cost;
}

/* Cost of string.pack(format, ...) in addition to its arguments: "cN" pads a text to N bytes. */
static int64_t pack_cost(lua_State *L)
{
    const char *format = lua_tostring(L, 1);
    const int64_t max_bytes = (int64_t)(script_from_lua(L)->options.memory < INT64_MAX / 2
                                            ? script_from_lua(L)->options.memory
                                            : INT64_MAX / 2);
    int64_t bytes = 0;
    for (; format != NULL && *format != '\0'; format++) {
        int64_t size = 0;
        if (*format != 'c') continue;
        for (; format[1] >= '0' && format[1] <= '9' && size < max_bytes; format++) size = 10 * size + (format[1] - '0');
        bytes += size < max_bytes ? size : max_bytes;
        if (bytes > max_bytes) bytes = max_bytes;
    }
    return bytes / BYTES_PER_UNIT;
}

/* Cost of string.unpack(format, text, pos): a string that is unpacked may extend to the end of the text. */
static int64_t unpack_cost(lua_State *L)
{
    const char *format = lua_tostring(L, 1);
    int64_t length = (int64_t)lua_rawlen(L, 2);
    if (format == NULL || strpbrk(format, "csz") == NULL) return 0;
    return (length - text_position(L, 3, length, 1)) / BYTES_PER_UNIT;
}

/* --- functions that charge their cost ----------------------------------------------------------------------------- */

/* Wraps a library function, to charge for its work. Upvalues: 1: a copy of the original's; 2: its script_work; 3: the original, run in
 * this frame. */
static int call_charged(lua_State *L)
{
    const script_work *work = lua_touserdata(L, lua_upvalueindex(2));
    lua_CFunction function = lua_tocfunction(L, lua_upvalueindex(3));
    script_charge(L, 1 + arguments_cost(L, work->text));
    if (work->cost != NULL) script_charge(L, work->cost(L));
    return function(L);
}

/* The last entry of each list is for all other functions. */
static const script_work base_work[] = {
    {"assert error ipairs next pairs rawequal rawget rawlen rawset tostring type", EVERY_ARGUMENT, NULL},
    {"select", EVERY_ARGUMENT, select_cost},
    {NULL, NO_ARGUMENT, NULL},
};
static const script_work table_work[] = {{"insert", EVERY_ARGUMENT, insert_cost},
                                         {"pack", EVERY_ARGUMENT, NULL},
                                         {"sort", NO_ARGUMENT, sort_order},
                                         {NULL, NO_ARGUMENT, NULL}};
static const script_work string_work[] = {
    {"find gmatch gsub len match sub", 1, NULL},
    {"byte", 1, places_cost},
    {"format", NO_ARGUMENT, format_cost},
    {"pack", NO_ARGUMENT, pack_cost},
    {"rep", 1, rep_cost},
    {"unpack", 2, unpack_cost},
    {NULL, NO_ARGUMENT, NULL},
};
static const script_work utf8_work[] = {
    {"codepoint", 1, places_cost}, {"codes", 1, NULL}, {"len", 1, utf8_len_cost}, {NULL, NO_ARGUMENT, NULL}};
static const script_work no_work[] = {{NULL, NO_ARGUMENT, NULL}};

static const script_work *find_work(const script_work *table, const char *name)
{
    while (table->names != NULL && !script_is_listed(table->names, name)) table++;
    return table;
}

/* Wrap each C function in the table on top of the stack. table: functions with their own cost rule. */
static void charge_functions(lua_State *L, const script_work *table)
{
    for (lua_pushnil(L); lua_next(L, -2) != 0;) {
        if (!lua_iscfunction(L, -1) || lua_type(L, -2) != LUA_TSTRING) {
            lua_pop(L, 1);
            continue;
        }
        if (lua_getupvalue(L, -1, 1) == NULL) lua_pushnil(L);
        lua_pushlightuserdata(L, (void *)find_work(table, lua_tostring(L, -3)));
        lua_pushvalue(L, -3);
        lua_pushcclosure(L, call_charged, 3);
        lua_replace(L, -2);
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, -4); /* lua_next() allows assigning existing fields */
    }
}

/* --- compiling Lua source ----------------------------------------------------------------------------------------- */

/* Source text for the compiler. Each piece is charged, which also checks the clock: compile time can grow much faster than the text. */
typedef struct compile_source {
    const char *text;
    size_t length;
} compile_source;

static const char *next_piece(lua_State *L, void *user, size_t *size)
{
    enum { PIECE = 4096, COMPILE_BYTE_COST = 4 };
    compile_source *from = user;
    const char *piece = from->text;
    *size = from->length < PIECE ? from->length : PIECE;
    from->text += *size;
    from->length -= *size;
    script_charge(L, COMPILE_BYTE_COST * (int64_t)*size);
    return piece;
}

/* Return the cost of "goto" statements: the square of their number, since the compiler compares each with all pending. */
static int64_t goto_cost(const char *text, size_t length)
{
    static const char word[] = "goto";
    int64_t jumps = 0;
    for (const char *pos = text, *end = text + length; (pos = memmem(pos, (size_t)(end - pos), word, 4)) != NULL;
         pos += 4)
        jumps++;
    return jumps < INT32_MAX ? jumps * jumps : MAX_CALL_COST;
}

int script_compile(lua_State *L, const char *text, size_t length, const char *name)
{
    compile_source from = {text, length};
    script_charge(L, goto_cost(text, length));
    return lua_load(L, next_piece, &from, name, "t");
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

static void open_lists(lua_State *L)
{
    static const luaL_Reg functions[] = {{"concat", counted_concat}, {"insert", counted_insert}, {"move", counted_move},
                                         {"remove", counted_remove}, {"unpack", counted_unpack}, {NULL, NULL}};
    luaL_setfuncs(L, functions, 0);
}

void script_open_work(lua_State *L)
{
    static const struct {
        const char *name;
        const script_work *work;
        void (*open)(lua_State *L);
    } libraries[] = {{"string", string_work, script_open_patterns},
                     {"table", table_work, open_lists},
                     {"math", no_work, NULL},
                     {"utf8", utf8_work, NULL}};
    charge_functions(L, base_work);
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        lua_getfield(L, -1, libraries[i].name);
        if (libraries[i].open != NULL) libraries[i].open(L);
        charge_functions(L, libraries[i].work);
        lua_pop(L, 1);
    }
    /* push a string, to get the metatable of all strings, which has functions for arithmetic on strings */
    lua_pushliteral(L, "");
    lua_getmetatable(L, -1);
    charge_functions(L, no_work);
    lua_pop(L, 2);
}
