/* rill.domain{}: domains written in Lua, and their options.
 *
 * The Lua registry keeps the functions. The rill_domain is the first member of the script_domain; optional callbacks that the script omits
 * stay NULL.
 *
 * options = { {name = "beta", argument = "B", type = "number", default = 1, help = "..."}, ... } become rill_option rows. open() gets
 * their values in options.given. */
#include <math.h>
#include <string.h>

#include "script_domain.h"

/* --- options of a domain ------------------------------------------------------------------------------------------- */

enum { MAX_DOMAIN_OPTIONS = 32 };

static const struct {
    const char *word;
    rill_option_type type;
} option_types[] = {{"text", RILL_OPTION_TEXT},
                    {"path", RILL_OPTION_PATH},
                    {"number", RILL_OPTION_REAL},
                    {"switch", RILL_OPTION_SWITCH}};

/* Return the string field `name` of the options entry on top of the stack, or `otherwise`. Raises if both are missing. The list at `kept`
 * keeps the string alive. */
static const char *entry_text(lua_State *L, int kept, const char *name, const char *otherwise)
{
    size_t length;
    if (lua_getfield(L, -1, name) == LUA_TNIL) {
        lua_pop(L, 1);
        if (otherwise == NULL) luaL_error(L, "rill.domain: options: an entry has no %s", name);
        return otherwise;
    }
    const char *text = lua_tolstring(L, -1, &length);
    if (text == NULL || strlen(text) != length)
        luaL_error(L, "rill.domain: options: %s must be a string without zero bytes", name);
    lua_rawseti(L, kept, (lua_Integer)lua_rawlen(L, kept) + 1);
    return text;
}

/* Return the default value of the options entry as text. It is checked like a value that a user sets. */
static const char *entry_default(lua_State *L, int kept, const rill_option *row)
{
    rill_context *ctx = script_from_lua(L)->ctx;
    const int type = lua_getfield(L, -1, "default"), is_switch = row->type == RILL_OPTION_SWITCH;
    const int on = type == LUA_TBOOLEAN && lua_toboolean(L, -1);
    lua_pop(L, 1);
    if (is_switch && type != LUA_TBOOLEAN && type != LUA_TNIL)
        luaL_error(L, "rill.domain: options: %s: the default of a switch must be true or false", row->name);
    if (is_switch) return on ? "true" : "";
    const char *text = entry_text(L, kept, "default", "");
    if (text[0] == '\0' || rill_option_read(ctx, row, text, NULL) == RILL_OK) return text;
    rill_error_clear(ctx);
    luaL_error(L, "rill.domain: options: %s: the default \"%s\" is not a number", row->name, text);
    return "";
}

static rill_option_type entry_type(lua_State *L, int kept, const char *argument)
{
    const char *word = entry_text(L, kept, "type", argument[0] != '\0' ? "text" : "switch");
    for (size_t i = 0; i < sizeof option_types / sizeof *option_types; i++)
        if (strcmp(option_types[i].word, word) == 0) return option_types[i].type;
    luaL_error(L, "rill.domain: options: type \"%s\": text, path, number or switch was expected", word);
    return RILL_OPTION_TEXT;
}

/* Convert the options entry on top of the stack to a rill_option row. The option's name is checked when the domain is registered. */
static void read_entry(lua_State *L, int kept, rill_option *row)
{
    static const char *const keys[] = {"name", "argument", "type", "default", "help"};
    if (!lua_istable(L, -1))
        luaL_error(L, "rill.domain: options: {name = \"NAME\", ...} was expected, not a %s", luaL_typename(L, -1));
    script_check_keys(L, lua_gettop(L), keys, sizeof keys / sizeof *keys, "rill.domain: options");
    *row = (rill_option){.kind = RILL_OPTION_MODEL, .min = -HUGE_VAL, .max = HUGE_VAL};
    row->name = entry_text(L, kept, "name", NULL);
    row->argument = entry_text(L, kept, "argument", "");
    row->help = entry_text(L, kept, "help", "");
    row->type = entry_type(L, kept, row->argument);
    if ((row->type == RILL_OPTION_SWITCH) != (row->argument[0] == '\0'))
        luaL_error(L, "rill.domain: options: %s: an option must have either the type \"switch\" or an argument",
                   row->name);
    row->initial = entry_default(L, kept, row);
}

/* Return the length of the list at this stack index. Raises if the value is not a list, or is too long. */
static lua_Integer checked_length(lua_State *L, int list)
{
    const lua_Integer n = (lua_Integer)lua_rawlen(L, list);
    if (n > MAX_DOMAIN_OPTIONS) luaL_error(L, "rill.domain: options: more than %d options", MAX_DOMAIN_OPTIONS);
    for (lua_pushnil(L); lua_next(L, list) != 0; lua_pop(L, 1)) {
        if (lua_type(L, -2) == LUA_TSTRING)
            luaL_error(
                L,
                "rill.domain: options: a list { {name = \"NAME\", ...}, ... } was expected, not a table with the key \"%s\"",
                lua_tostring(L, -2));
        if (!lua_isinteger(L, -2) || lua_tointeger(L, -2) < 1 || lua_tointeger(L, -2) > n)
            luaL_error(L, "rill.domain: options: a list without gaps was expected");
    }
    return n;
}

/* Read the list `options` of the declaration at `declared`, which owns the rows. NULL: no list. Raises if invalid. */
static const rill_option *read_options(lua_State *L, int declared)
{
    int list = lua_gettop(L) + 1;
    if (lua_getfield(L, declared, "options") == LUA_TNIL) {
        lua_pop(L, 1);
        return NULL;
    }
    const lua_Integer n = checked_length(L, list);
    lua_newtable(L); /* table that keeps the rows and their strings alive */
    rill_option *rows = lua_newuserdatauv(L, (size_t)(n + 1) * sizeof *rows, 0);
    lua_rawseti(L, list + 1, 1);
    for (lua_Integer i = 0; i < n; i++) {
        lua_rawgeti(L, list, i + 1);
        read_entry(L, list + 1, &rows[i]);
        lua_settop(L, list + 1);
    }
    rows[n] = (rill_option){0};
    lua_setfield(L, declared, "options");
    lua_settop(L, list - 1);
    return rows;
}

/* --- fields of a domain ------------------------------------------------------------------------------------------- */

/* The interface of a field. PLAIN: start, advance and choices, for one hypothesis. BY_ROWS: encode, step and score, for a whole timestep.
 */
enum { ANY = 0, PLAIN = 1, BY_ROWS = 2 };

typedef struct field {
    const char *name;
    int type;     /* Lua type of the field's value */
    int function; /* index in domain_function; -1: the field is no function */
    int styles;
} field;

static const field fields[] = {
    {"name", LUA_TSTRING, -1, ANY},
    {"summary", LUA_TSTRING, -1, ANY},
#define FIELD(FUNCTION, name, form) {name, LUA_TFUNCTION, DOMAIN_##FUNCTION, form},
    DOMAIN_FUNCTION_LIST(FIELD){"options", LUA_TTABLE, -1, ANY},
};
/* fields above, and model information, which domain_open() checks */
enum { OWN_FIELDS = sizeof fields / sizeof *fields, FIELDS = OWN_FIELDS + DOMAIN_INFO_NAMES };
static void list_fields(const char *names[FIELDS])
{
    for (int i = 0; i < FIELDS; i++) names[i] = i < OWN_FIELDS ? fields[i].name : domain_info_names[i - OWN_FIELDS];
}

/* --- declaration -------------------------------------------------------------------------------------------------- */

enum { STACK_GIVEN = 1, STACK_DECLARED, STACK_DOMAIN }; /* stack indexes */

static const char domain_type[] = "rill.domain";

/* Store the declaration's functions in *d, its other values in the table of declared fields. Returns the interfaces of its fields. */
static int take_fields(lua_State *L, script_domain *d)
{
    int ways = 0;
    for (const field *f = fields; f < fields + OWN_FIELDS; f++) {
        const int type = script_raw_field(L, STACK_GIVEN, f->name), is_given = type != LUA_TNIL;
        if (is_given && type != f->type)
            luaL_error(L, "rill.domain: %s is a %s; a %s was expected", f->name, luaL_typename(L, -1),
                       lua_typename(L, f->type));
        if (is_given) ways |= f->styles;
        if (is_given && f->function >= 0)
            d->function[f->function] = luaL_ref(L, LUA_REGISTRYINDEX);
        else
            lua_setfield(L, STACK_DECLARED, f->name); /* no effect if the field is missing */
    }
    for (int i = 0; i < DOMAIN_INFO_NAMES; i++) {
        script_raw_field(L, STACK_GIVEN, domain_info_names[i]);
        lua_setfield(L, STACK_DECLARED, domain_info_names[i]);
    }
    return ways;
}

static const char *declared_text(lua_State *L, const char *name, const char *otherwise)
{
    if (lua_getfield(L, STACK_DECLARED, name) == LUA_TNIL) {
        lua_pop(L, 1);
        lua_pushstring(L, otherwise);
        lua_pushvalue(L, -1);
        lua_setfield(L, STACK_DECLARED, name);
    }
    const char *text = script_text(L, -2, lua_pushfstring(L, "rill.domain: %s", name));
    lua_pop(L, 2); /* the string stays alive, because it is in the table of declared fields */
    return text;
}

static void require_function(lua_State *L, const script_domain *d, int function)
{
    for (int i = 0; i < OWN_FIELDS; i++)
        if (fields[i].function == function && d->function[function] == LUA_NOREF)
            luaL_error(L, "rill.domain: %s lacks the function %s", d->table.name, fields[i].name);
}

static void check_functions(lua_State *L, script_domain *d, int ways)
{
    if (ways == (PLAIN | BY_ROWS))
        luaL_error(
            L,
            "rill.domain: %s mixes two interfaces: declare start, advance and choices, or encode, step and score (with "
            "drop and free)",
            d->table.name);
    d->by_rows = ways == BY_ROWS;
    for (int i = 0; i < 3; i++) require_function(L, d, (d->by_rows ? DOMAIN_ENCODE : DOMAIN_START) + i);
    if (d->function[DOMAIN_OPEN] == LUA_NOREF && lua_getfield(L, STACK_DECLARED, "actions") == LUA_TNIL)
        luaL_error(
            L,
            "rill.domain: %s has neither actions (their number, or a list of names) nor a function open that returns them",
            d->table.name);
}

static void fill_table(lua_State *L, script_domain *d)
{
    d->table = (rill_domain){.abi_version = RILL_ABI_VERSION,
                             .struct_size = sizeof d->table,
                             .name = declared_text(L, "name", ""),
                             .summary = declared_text(L, "summary", "a domain in Lua"),
                             .open = domain_open,
                             .reserve = domain_reserve,
                             .encode = domain_encode,
                             .step = domain_step,
                             .score = domain_score,
                             .finalize = domain_finalize,
                             .drop = domain_drop,
                             .free = domain_free,
                             .close = domain_close,
                             .measure = d->function[DOMAIN_MEASURE] != LUA_NOREF ? domain_measure : NULL,
                             .canonical = d->function[DOMAIN_CANONICAL] != LUA_NOREF ? domain_canonical : NULL,
                             .action_name = domain_action_name,
                             .find_action = domain_find_action,
                             .tokenize = d->function[DOMAIN_TOKENIZE] != LUA_NOREF ? domain_tokenize : NULL,
                             .options = read_options(L, STACK_DECLARED)};
}

/* rill.domain{name =, ...}: check the declaration, create the domain and register it. Returns an object for
 * configurations. */
static int declare(lua_State *L)
{
    rill_script *s = script_from_lua(L);
    luaL_checktype(L, STACK_GIVEN, LUA_TTABLE);
    lua_settop(L, STACK_GIVEN);
    lua_newtable(L);
    script_domain *d = lua_newuserdatauv(L, sizeof *d, 0);
    *d = (script_domain){.script = s, .declared = LUA_NOREF};
    for (int i = 0; i < DOMAIN_FUNCTIONS; i++) d->function[i] = LUA_NOREF;
    luaL_setmetatable(L, domain_type);

    const char *names[FIELDS];
    list_fields(names);
    script_check_keys(L, STACK_GIVEN, names, FIELDS, "rill.domain");
    const int ways = take_fields(L, d);
    if (lua_getfield(L, STACK_DECLARED, "name") == LUA_TNIL) luaL_error(L, "rill.domain: name = \"...\" is missing");
    fill_table(L, d);
    check_functions(L, d, ways);

    /* the context allocates its list of domains, so the script's memory limit does not cover it; their number is limited instead */
    if (s->domains++ >= SCRIPT_MAX_TABLES)
        luaL_error(L, "rill.domain: a script may declare at most %d domains: is this call in a loop?",
                   SCRIPT_MAX_TABLES);
    lua_pushvalue(L, STACK_DECLARED);
    d->declared = luaL_ref(L, LUA_REGISTRYINDEX);
    lua_pushvalue(L, STACK_DOMAIN);
    /* keep the userdata until the script ends, because the context refers to the domain's struct in it */
    (void)luaL_ref(L, LUA_REGISTRYINDEX);
    script_check(L, rill_register_domain(s->ctx, &d->table));
    lua_settop(L, STACK_DOMAIN);
    return 1;
}

const char *script_domain_name(lua_State *L, int index)
{
    const script_domain *d = luaL_testudata(L, index, domain_type);
    return d != NULL ? d->table.name : NULL;
}

static int domain_name(lua_State *L)
{
    const script_domain *d = luaL_checkudata(L, 1, domain_type);
    lua_pushfstring(L, "rill.domain %s", d->table.name);
    return 1;
}

void script_open_domains(lua_State *L)
{
    luaL_newmetatable(L, domain_type);
    lua_pushcfunction(L, domain_name);
    lua_setfield(L, -2, "__tostring");
    lua_pop(L, 1);
    luaL_newmetatable(L, DOMAIN_ROWS);
    lua_newtable(L);
    lua_pushcfunction(L, domain_rows_answer);
    lua_setfield(L, -2, "answer");
    lua_setfield(L, -2, "__index");
    /* scripts cannot access the metatable: by setting its field __gc they would get finalizers, to which the limits do not apply */
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 1);
    const char *names[FIELDS];
    list_fields(names);
    for (int i = 0; i < FIELDS; i++) script_name_add(L, "domain", names[i]);
    lua_pushcfunction(L, declare);
    lua_setfield(L, -2, "domain");
}
