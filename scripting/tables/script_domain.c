/* rill.domain{}: domains written in Lua.
 *
 * A declaration is checked field by field, and the registry gets references to its functions. Then the rill_domain at
 * the start of the script_domain is registered. Callbacks for which the engine has a default stay NULL.
 *
 * Divisions: fields · declaration. */
#include <string.h>

#include "declaration.h"
#include "script_domain.h"

/* --- fields ------------------------------------------------------------------------------------------------------- */

/* the interface of domains that has a field: both, row by row, or whole timesteps */
enum { ANY = 0, PLAIN = 1, BY_ROWS = 2 };

/* A field of a declaration. */
typedef struct field {
    const char *name;
    int type;     /* Lua type; LUA_TNIL: model information, which domain_open() checks */
    int function; /* index in domain_function; -1: the field is no function */
    int styles;
} field;

static const field fields[] = {
    {"name", LUA_TSTRING, -1, ANY},
    {"summary", LUA_TSTRING, -1, ANY},
    {"open", LUA_TFUNCTION, DOMAIN_OPEN, ANY},
    {"start", LUA_TFUNCTION, DOMAIN_START, PLAIN},
    {"advance", LUA_TFUNCTION, DOMAIN_ADVANCE, PLAIN},
    {"choices", LUA_TFUNCTION, DOMAIN_CHOICES, PLAIN},
    {"encode", LUA_TFUNCTION, DOMAIN_ENCODE, BY_ROWS},
    {"step", LUA_TFUNCTION, DOMAIN_STEP, BY_ROWS},
    {"score", LUA_TFUNCTION, DOMAIN_SCORE, BY_ROWS},
    {"finalize", LUA_TFUNCTION, DOMAIN_FINALIZE, ANY},
    {"drop", LUA_TFUNCTION, DOMAIN_DROP, BY_ROWS},
    {"free", LUA_TFUNCTION, DOMAIN_FREE, BY_ROWS},
    {"close", LUA_TFUNCTION, DOMAIN_CLOSE, ANY},
    {"measure", LUA_TFUNCTION, DOMAIN_MEASURE, ANY},
    {"canonical", LUA_TFUNCTION, DOMAIN_CANONICAL, ANY},
    {"tokenize", LUA_TFUNCTION, DOMAIN_TOKENIZE, ANY},
    {"actions", LUA_TNIL, -1, ANY},
    {"end_action", LUA_TNIL, -1, ANY},
    {"max_length", LUA_TNIL, -1, ANY},
    {"phases", LUA_TNIL, -1, ANY},
    {"limited_phases", LUA_TNIL, -1, ANY},
    {"state", LUA_TNIL, -1, ANY},
    {"node_bytes", LUA_TNIL, -1, ANY},
    {"slot_bytes", LUA_TNIL, -1, ANY},
    {"slot_unit_bytes", LUA_TNIL, -1, ANY},
    {"unnormalised", LUA_TNIL, -1, ANY},
    {"description", LUA_TNIL, -1, ANY},
    {"separator", LUA_TNIL, -1, ANY},
    {"options", LUA_TTABLE, -1, ANY},
};
enum { FIELDS = sizeof fields / sizeof *fields };

static const field *find_field(const char *name)
{
    for (int i = 0; i < FIELDS; i++)
        if (strcmp(fields[i].name, name) == 0) return &fields[i];
    return NULL;
}

static int unknown_field(lua_State *L, const char *name)
{
    const char *names[FIELDS];
    for (int i = 0; i < FIELDS; i++) names[i] = fields[i].name;
    const char *near = script_nearest(name, names, FIELDS);
    if (near != NULL) return luaL_error(L, "rill.domain: unknown field \"%s\": did you mean \"%s\"?", name, near);
    luaL_Buffer list;
    luaL_buffinit(L, &list);
    for (int i = 0; i < FIELDS; i++) {
        luaL_addstring(&list, i > 0 ? " " : "");
        luaL_addstring(&list, names[i]);
    }
    luaL_pushresult(&list);
    return luaL_error(L, "rill.domain: unknown field \"%s\": expected one of %s", name, lua_tostring(L, -1));
}

/* --- declaration -------------------------------------------------------------------------------------------------- */

enum { STACK_GIVEN = 1, STACK_DECLARED, STACK_DOMAIN }; /* stack indexes */

static const char domain_type[] = "rill.domain";

/* Read one field of the declaration; key and value are on top of the stack. */
static void take_field(lua_State *L, script_domain *d, int *ways)
{
    const char *key = lua_type(L, -2) == LUA_TSTRING ? script_text(L, -2, "rill.domain: a key") : NULL;
    const field *f = key != NULL ? find_field(key) : NULL;
    if (f == NULL) unknown_field(L, luaL_tolstring(L, -2, NULL));
    if (f->type != LUA_TNIL && lua_type(L, -1) != f->type)
        luaL_error(L, "rill.domain: %s is a %s; a %s was expected", f->name, luaL_typename(L, -1),
                   lua_typename(L, f->type));
    *ways |= f->styles;
    if (f->function >= 0) {
        lua_pushvalue(L, -1);
        d->function[f->function] = luaL_ref(L, LUA_REGISTRYINDEX);
    } else {
        lua_pushvalue(L, -1);
        lua_setfield(L, STACK_DECLARED, f->name);
    }
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
    lua_pop(L, 2); /* the table of declared fields keeps the string alive */
    return text;
}

static void require_function(lua_State *L, const script_domain *d, int function)
{
    for (int i = 0; i < FIELDS; i++)
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
                             .options = domain_options_read(L, STACK_DECLARED)};
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

    int ways = 0;
    for (lua_pushnil(L); lua_next(L, STACK_GIVEN); lua_settop(L, STACK_DOMAIN + 1)) take_field(L, d, &ways);
    if (lua_getfield(L, STACK_DECLARED, "name") == LUA_TNIL) luaL_error(L, "rill.domain: name = \"...\" is missing");
    fill_table(L, d);
    check_functions(L, d, ways);

    /* The context allocates its list of domains, outside the script's memory limit, so their number is limited. */
    if (s->domains++ >= SCRIPT_MAX_TABLES)
        luaL_error(L, "rill.domain: a script may declare at most %d domains: is this call in a loop?",
                   SCRIPT_MAX_TABLES);
    lua_pushvalue(L, STACK_DECLARED);
    d->declared = luaL_ref(L, LUA_REGISTRYINDEX);
    lua_pushvalue(L, STACK_DOMAIN);
    (void)luaL_ref(L, LUA_REGISTRYINDEX); /* the context refers to the domain's struct: keep it until the script ends */
    rill_status status = rill_register_domain(s->ctx, &d->table);
    if (status < 0) script_raise(L, status);
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
    for (int i = 0; i < FIELDS; i++) script_name_add(L, "domain", fields[i].name);
    lua_pushcfunction(L, declare);
    lua_setfield(L, -2, "domain");
}
