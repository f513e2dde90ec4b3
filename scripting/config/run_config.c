/* Stores a run's configuration in a C struct, from the lists that read.lua and sweep.lua make. The struct keeps the lists alive, because
 * their strings are not copied. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "rill/search_config.h"
#include "run_config.h"

typedef struct config_owner {
    rill_script_config config; /* first member, since callers get a pointer to it */
    rill_script *script;
    int reference;
} config_owner;

/* --- storing fields ----------------------------------------------------------------------------------------------- */

typedef enum field_type { NOTHING, TEXT, NUMBER, LIST, PAIRS, CHAIN, SWEEP } field_type;
typedef struct field {
    const char *name; /* the key in the configuration, and in the table that own.read() returns */
    /* function in read.lua that reads the value; "" for an option, as in `options`; NULL: not a key of configurations */
    const char *read;
    field_type type;
    /* byte offsets in rill_script_config. offset: of the value or the list; count: of the list's length */
    size_t offset, count;
} field;

/* All keys of a configuration, in the order in which they are checked, with the members that store their values. */
#define CONFIG_OFFSET(member) offsetof(rill_script_config, member)
static const field FIELDS[] = {
    {"model", "model", TEXT, CONFIG_OFFSET(model), 0},
    {"domain", "domain", TEXT, CONFIG_OFFSET(domain), 0},
    {"domain_args", "text", TEXT, CONFIG_OFFSET(domain_arguments), 0},
    {"input", "path", TEXT, CONFIG_OFFSET(input), 0},
    {"output", "path", TEXT, CONFIG_OFFSET(output), 0},
    {"references", "path", TEXT, CONFIG_OFFSET(references), 0},
    {"constraints", "path", TEXT, CONFIG_OFFSET(constraints), 0},
    {"tsv_column", "form", TEXT, CONFIG_OFFSET(tsv), 0},
    {"jsonl", "form", TEXT, CONFIG_OFFSET(jsonl), 0},
    {"stats", "path", TEXT, CONFIG_OFFSET(stats), 0},
    {"trace", "path", TEXT, CONFIG_OFFSET(trace), 0},
    {"tokenized", "flag", NUMBER, CONFIG_OFFSET(tokenized), 0},
    {"threads", "threads", NUMBER, CONFIG_OFFSET(threads), 0},
    {"workers", "threads", NUMBER, CONFIG_OFFSET(workers), 0},
    {"plugins", "plugins", LIST, CONFIG_OFFSET(plugins), CONFIG_OFFSET(n_plugins)},
    {"n_best", "", NOTHING, 0, 0},
    {"distinct", "", NOTHING, 0, 0},
    {"unordered", "", NOTHING, 0, 0},
    {"lmbr", "", NOTHING, 0, 0},
    {"lmbr_self", "", NOTHING, 0, 0},
    {"options", "options", NOTHING, 0, 0},
    {"heuristics", "", CHAIN, CONFIG_OFFSET(heuristics.entry), CONFIG_OFFSET(heuristics.n)},
    {"scorers", "", CHAIN, CONFIG_OFFSET(scorers.entry), CONFIG_OFFSET(scorers.n)},
    {"scheduler", "", CHAIN, CONFIG_OFFSET(scheduler.entry), CONFIG_OFFSET(scheduler.n)},
    {"sweep", "sweep", SWEEP, CONFIG_OFFSET(sweep), CONFIG_OFFSET(n_sweep)},
    {"tune", "tune", NUMBER, CONFIG_OFFSET(has_tune), 0},
    {"also", NULL, LIST, CONFIG_OFFSET(ensemble), CONFIG_OFFSET(n_ensemble)},
    {"domain_options", NULL, PAIRS, CONFIG_OFFSET(options), CONFIG_OFFSET(n_options)},
    {"settings", NULL, PAIRS, CONFIG_OFFSET(settings), CONFIG_OFFSET(n_settings)},
    {"point", NULL, PAIRS, CONFIG_OFFSET(point), CONFIG_OFFSET(n_point)},
};
enum { N_FIELDS = sizeof FIELDS / sizeof *FIELDS };
static_assert(sizeof(rill_script_pair) == 2 * sizeof(char *) && sizeof(rill_chain_entry) == 2 * sizeof(char *),
              "pairs are lists of texts");

/* Convert the list on top of the stack to an array of its strings, both kept alive by the list. */
static const char **read_texts(lua_State *L)
{
    lua_Integer n = (lua_Integer)lua_rawlen(L, -1);
    const char **texts = lua_newuserdatauv(L, (size_t)(n + 1) * sizeof *texts, 0);
    for (lua_Integer i = 0; i < n; i++) {
        lua_rawgeti(L, -2, i + 1);
        texts[i] = lua_tostring(L, -1);
        lua_pop(L, 1);
    }
    lua_rawseti(L, -2, 0);
    return texts;
}

/* Convert the list of sweep parameters on top of the stack, each a list of name and values. *points: number of grid points. */
static const rill_script_axis *read_axes(lua_State *L, int64_t *points)
{
    lua_Integer n = (lua_Integer)lua_rawlen(L, -1);
    rill_script_axis *axes = lua_newuserdatauv(L, (size_t)(n + 1) * sizeof *axes, 0);
    *points = 1;
    for (lua_Integer i = 0; i < n; i++) {
        lua_rawgeti(L, -2, i + 1);
        const char **texts = read_texts(L);
        axes[i] = (rill_script_axis){texts[0], texts + 1, (int32_t)lua_rawlen(L, -1) - 1};
        *points *= axes[i].n;
        lua_pop(L, 1);
    }
    lua_rawseti(L, -2, 0);
    return axes;
}

/* Store the value on top of the stack in the configuration, in the member that `f` describes. */
static void store_field(lua_State *L, const field *f, rill_script_config *config)
{
    char *target = (char *)config + f->offset;
    const void *list = NULL;
    if (f->type == NUMBER) {
        *(int32_t *)target = lua_isboolean(L, -1) ? lua_toboolean(L, -1) : (int32_t)lua_tointeger(L, -1);
    } else if (f->type == TEXT) {
        *(const char **)target = lua_tostring(L, -1);
    } else {
        list = f->type == SWEEP ? (const void *)read_axes(L, &config->sweep_points) : read_texts(L);
        memcpy(target, &list, sizeof list);
        *(int32_t *)((char *)config + f->count) = (int32_t)lua_rawlen(L, -1) /
                                                  (f->type == LIST || f->type == SWEEP ? 1 : 2);
    }
    if (f->type == CHAIN) ((rill_script_chain *)target)->is_set = 1;
}

/* --- keys of a run file -------------------------------------------------------------------------------------------- */

/* own.keys(): return a list of all keys, each followed by the function of read.lua that reads it. */
static int own_keys(lua_State *L)
{
    lua_newtable(L);
    for (int i = 0; FIELDS[i].read != NULL; i++) {
        script_append_text(L, FIELDS[i].name);
        script_append_text(L, FIELDS[i].read);
    }
    return 1;
}

/* Return the name of the function in read.lua that reads the option's value. */
static const char *option_reader(const rill_option *row)
{
    if (row->type == RILL_OPTION_PATH) return "path";
    return row->type == RILL_OPTION_TEXT && row->argument[0] == '[' ? "form" : "value";
}

/* Append a table for each option to the list on top of the stack. Its fields: the name; `spelt`, the same as a Lua identifier; `read`, the
 * function in read.lua; kind; domain; `spellings`, all of its names in both spellings. */
static void append_rows(lua_State *L, const rill_option *row, const char *kind, const char *domain)
{
    char spelt[SCRIPT_NAME_MAX], alias[RILL_OPTION_MAX];
    const char *name;
    for (; row != NULL && row->name != NULL; row++) {
        const char *const fields[][2] = {{"name", row->name},
                                         {"spelt", script_lua_name(row->name, spelt)},
                                         {"read", option_reader(row)},
                                         {"kind", kind},
                                         {"domain", domain}};
        lua_newtable(L);
        for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
            lua_pushstring(L, fields[i][1]);
            lua_setfield(L, -2, fields[i][0]);
        }
        lua_newtable(L);
        for (int i = 0; (name = rill_option_name(row, i, alias)) != NULL; i++) {
            script_append_text(L, script_lua_name(name, spelt));
            if (strcmp(spelt, name) != 0) script_append_text(L, name);
        }
        lua_setfield(L, -2, "spellings");
        lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
    }
}

/* own.rows(): return a list of all options, settings first. */
static int own_rows(lua_State *L)
{
    const rill_domain *d;
    lua_newtable(L);
    append_rows(L, rill_setting_table(), "setting", NULL);
    append_rows(L, rill_chain_table(), "chain", NULL);
    append_rows(L, rill_output_table(), "output", NULL);
    for (size_t i = 0; (d = rill_domain_at(script_from_lua(L)->ctx, i)) != NULL; i++)
        append_rows(L, d->options, "domain", d->name);
    return 1;
}

static void add_names(lua_State *L, const char *kind, const rill_option *row)
{
    char spelt[SCRIPT_NAME_MAX];
    for (; row != NULL && row->name != NULL; row++) script_name_add(L, kind, script_lua_name(row->name, spelt));
}

void script_open_config(lua_State *L)
{
    static const luaL_Reg functions[] = {{"keys", own_keys}, {"rows", own_rows}, {NULL, NULL}};
    const rill_domain *d;
    script_open_config_lua(L, functions);
    for (int i = 0; FIELDS[i].read != NULL; i++) script_name_add(L, "config", FIELDS[i].name);
    add_names(L, "options", rill_setting_table());
    add_names(L, "config", rill_output_table());
    for (size_t i = 0; (d = rill_domain_at(script_from_lua(L)->ctx, i)) != NULL; i++)
        add_names(L, "config", d->options);
}

/* --- reading a configuration -------------------------------------------------------------------------------------- */

/* Read a configuration with own.READER and the topmost `arguments` values. *out is unchanged after a failure. Raises Lua errors. */
static rill_status create_config(lua_State *L, const char *reader, int arguments, rill_script_config **out)
{
    rill_status status = script_internal_call(L, reader, arguments, 1);
    if (status < 0) return status;
    int table_index = lua_gettop(L);
    config_owner *o = lua_newuserdatauv(L, sizeof *o, 1);
    *o = (config_owner){.config.struct_size = sizeof o->config,
                        .config.script = script_from_lua(L)->path,
                        .script = script_from_lua(L)};
    for (int i = 0; i < N_FIELDS; i++) {
        if (lua_getfield(L, table_index, FIELDS[i].name) != LUA_TNIL) store_field(L, &FIELDS[i], &o->config);
        lua_pop(L, 1);
    }
    if (lua_getfield(L, table_index, "budget") != LUA_TNIL)
        script_budget_create(L, -1, &o->config.budget, &o->config.budget_user);
    if (lua_getfield(L, table_index, "cube_key") != LUA_TNIL)
        script_cube_key_create(L, -1, &o->config.cube_key, &o->config.cube_key_user);
    lua_settop(L, table_index + 1);
    lua_insert(L, table_index);
    lua_setiuservalue(L, table_index, 1);
    o->reference = luaL_ref(L, LUA_REGISTRYINDEX);
    *out = &o->config;
    return RILL_OK;
}

void rill_script_config_free(rill_script_config *config)
{
    if (config != NULL)
        luaL_unref(((config_owner *)config)->script->L, LUA_REGISTRYINDEX, ((config_owner *)config)->reference);
}

/* Make the configuration of one sweep point from own.apply()'s arguments on the stack: table, point, edit function or nil, order of
 * parameters or nil.
 *   *out: replaced, the old one freed; unchanged after a failure. Raises. */
static rill_status take_point(lua_State *L, rill_script_config **out)
{
    lua_settop(L, 4);
    for (int i = 1; i <= 4; i++) lua_pushvalue(L, i);
    rill_status status = script_internal_call(L, "apply", 4, 4);
    if (status < 0) return status;
    if (lua_isfunction(L, 3)) {
        lua_pushvalue(L, 3);
        lua_pushvalue(L, 5);
        lua_pushvalue(L, 8);
        lua_call(L, 2, 0);
    }
    lua_settop(L, 7);
    rill_script_config_free(*out);
    *out = NULL;
    return create_config(L, "read", 3, out);
}

/* --- results returned by the script ------------------------------------------------------------------------------- */

/* Push the value that the script returned; nil if it returned no value. */
static void push_result(lua_State *L)
{
    const rill_script *s = script_from_lua(L);
    if (s->result == LUA_NOREF)
        lua_pushnil(L);
    else
        lua_rawgeti(L, LUA_REGISTRYINDEX, s->result);
}

typedef struct config_reading {
    /* name of the function in read.lua that reads the table returned by the script; NULL: read grid point `index` of its sweep */
    const char *reader;
    int64_t index; /* index of a grid point, used if `reader` is NULL */
    rill_script_config *config;
    rill_status status;
} config_reading;

static int read_protected(lua_State *L)
{
    config_reading *r = lua_touserdata(L, 1);
    push_result(L);
    lua_replace(L, 1);
    if (r->reader != NULL) {
        r->status = create_config(L, r->reader, 1, &r->config);
        return 0;
    }
    lua_pushvalue(L, 1);
    lua_pushinteger(L, r->index);
    script_internal_call(L, "point", 2, 3);
    r->status = take_point(L, &r->config);
    return 0;
}

static rill_status read_result(rill_script *script, config_reading r, rill_script_config **out)
{
    rill_status status = script_protect(script, read_protected, &r);
    *out = r.config;
    return status < 0 ? status : r.status;
}

rill_status rill_script_sweep_point(rill_script *script, int64_t index, rill_script_config **out)
{
    return read_result(script, (config_reading){.index = index}, out);
}

rill_status rill_script_config_read(rill_script *script, rill_script_config **out)
{
    return read_result(script, (config_reading){.reader = "read"}, out);
}

rill_status rill_script_config_plugins(rill_script *script, rill_script_config **out)
{
    return read_result(script, (config_reading){.reader = "read_plugins"}, out);
}

/* --- tuning functions ---------------------------------------------------------------------------------------------- */

/* A search over configurations that a script defines: tune = function(try) ... end. */
typedef struct script_tuning {
    rill_script_try_fn attempt;
    void *user;
    rill_script_config *config; /* configuration of the latest attempt */
    int busy;                   /* 1: an attempt is in progress */
    rill_status status;         /* status of the first attempt that failed; 0: none */
    /* userdata by which the script's function try() finds this struct; its pointer is set to NULL when the search ends */
    struct script_tuning **lua_handle;
} script_tuning;

/* registry key (by address) of the userdata `lua_handle`, which must outlive the search */
static const char tuning_key = 0;

/* Push a configuration's measures, without NaN. Contradictory settings get the worst values, so that a search avoids them. */
static void push_measures(lua_State *L, const rill_script_measures *m)
{
    const int bad = m->refused != NULL;
    const struct {
        const char *name;
        double value;
        int64_t count; /* the integer to push if `value` is NaN; -1: push nil */
    } measures[] = {
        {"quality", bad ? 0 : m->quality, -1},
        {"exact", bad ? 0 : m->exact, -1},
        {"oracle", bad ? 0 : m->oracle, -1},
        {"seconds", bad ? INFINITY : m->seconds, -1},
        {"expansions", bad ? INFINITY : NAN, m->expansions},
        {"timesteps", bad ? INFINITY : NAN, m->timesteps},
        {"failed", bad ? INFINITY : NAN, m->failed},
    };
    lua_createtable(L, 0, 8);
    for (size_t i = 0; i < sizeof measures / sizeof *measures; i++) {
        if (!isnan(measures[i].value))
            lua_pushnumber(L, measures[i].value);
        else if (measures[i].count >= 0)
            lua_pushinteger(L, (lua_Integer)measures[i].count);
        else
            lua_pushnil(L);
        lua_setfield(L, -2, measures[i].name);
    }
    lua_pushstring(L, m->refused);
    lua_setfield(L, -2, "refused");
}

/* try(point [, function(config, point)]): decode with a point's configuration, and return the measures. Fails after the search: the
 * userdata is cleared then. */
static int try_point(lua_State *L)
{
    script_tuning *t = *(script_tuning **)lua_touserdata(L, lua_upvalueindex(1));
    if (t == NULL) return luaL_error(L, "try: the search has ended");
    if (t->busy) return luaL_error(L, "try: calls cannot be nested: another point is being tried");
    luaL_checktype(L, 1, LUA_TTABLE);
    if (!lua_isnoneornil(L, 2)) luaL_checktype(L, 2, LUA_TFUNCTION);
    script_check(L, t->status);
    lua_settop(L, 2);
    push_result(L);
    lua_insert(L, 1);
    script_check(L, take_point(L, &t->config));

    rill_script_measures measures = {.quality = NAN, .exact = NAN, .oracle = NAN};
    t->busy = 1;
    t->status = t->attempt(t->user, t->config, &measures);
    t->busy = 0;
    script_reset_limits(script_from_lua(L));
    script_check(L, t->status);
    push_measures(L, &measures);
    return 1;
}

static int tune_protected(lua_State *L)
{
    script_tuning *t = lua_touserdata(L, 1);
    push_result(L);
    if (lua_istable(L, -1)) {
        lua_pushliteral(L, "tune");
        lua_rawget(L, -2);
    }
    if (!lua_isfunction(L, -1)) return luaL_error(L, "the script has no function tune");
    script_tuning **box = lua_newuserdatauv(L, sizeof *box, 0);
    *box = t;
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &tuning_key);
    t->lua_handle = box;
    lua_pushcclosure(L, try_point, 1);
    lua_call(L, 1, 0);
    return 0;
}

rill_status rill_script_tune(rill_script *script, rill_script_try_fn attempt, void *user)
{
    script_tuning t = {.attempt = attempt, .user = user};
    rill_status status = script_protect(script, tune_protected, &t);
    if (t.lua_handle != NULL) *t.lua_handle = NULL;
    rill_script_config_free(t.config);
    return t.status < 0 ? t.status : status;
}

/* --- locating errors ----------------------------------------------------------------------------------------------- */

/* Plugins' names and arguments are checked when an engine is created. If that fails, each entry is tried alone, to find its line. */

/* Return 1 if the plugin of this entry exists and accepts its arguments, else 0. */
#define RETURN_WORKS(type, find)                                              \
    do {                                                                      \
        const type *table = find(ctx, entry->name);                           \
        if (table == NULL) return 0;                                          \
        if (table->create == NULL) return entry->arguments[0] == '\0';        \
        if (table->create(table, ctx, entry->arguments, &self) < 0) return 0; \
        if (table->destroy != NULL) table->destroy(self);                     \
        return 1;                                                             \
    } while (0)

static int entry_works(rill_context *ctx, script_kind kind, const rill_chain_entry *entry)
{
    void *self = NULL;
    if (kind == SCRIPT_HEURISTIC) RETURN_WORKS(rill_heuristic, rill_find_heuristic);
    if (kind == SCRIPT_SCORER) RETURN_WORKS(rill_scorer, rill_find_scorer);
    RETURN_WORKS(rill_scheduler, rill_find_scheduler);
}

/* Find the first entry that is named in the context's message and fails alone. Put its file, line and key before the message. */
void rill_script_config_locate_error(rill_script *script, const rill_script_config *config)
{
    static const char *const keys[] = {"heuristics[%d]", "scorers[%d]", "scheduler"};
    const rill_script_chain *const chains[] = {&config->heuristics, &config->scorers, &config->scheduler};
    rill_context *ctx = script->ctx;
    char message[SCRIPT_MESSAGE_MAX], key[SCRIPT_NAME_MAX];
    rill_status status = rill_error_status(ctx);
    int found = 0;
    snprintf(message, sizeof message, "%s", rill_error(ctx));
    for (int kind = SCRIPT_HEURISTIC; kind <= SCRIPT_SCHEDULER && !found; kind++)
        for (int32_t i = 0; i < chains[kind]->n && !found; i++) {
            const rill_chain_entry *entry = &chains[kind]->entry[i];
            found = strstr(message, entry->name) != NULL && !entry_works(ctx, (script_kind)kind, entry);
            if (found) snprintf(key, sizeof key, keys[kind], (int)i + 1);
        }
    if (found) rill_script_config_refuse(script, key, message);
    rill_fail(ctx, status, "%s", found ? rill_error(ctx) : message);
}
