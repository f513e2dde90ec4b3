/* A run described by a Lua table: reading what a script returned into a rill_script_config.
 *
 * Everything is checked here, by tables rather than by code where there is a choice: KEYS says what the table may hold, and
 * rill_setting_table() what `search` may. Mistakes are failures with the file, the line where it can be told, and the key; none of
 * them is a Lua error, which would carry a traceback that tells the user nothing. Keys are visited in the order of these
 * tables, for Lua's own order changes from run to run.
 *
 * Divisions: messages · single values · settings · lists and chains · the table. */
#include <stdio.h>
#include <string.h>

#include "config.h"

enum { PATH_MAX_LENGTH = 160, SETTINGS_MAX = 64, ENTRIES_MAX = 32 };

typedef struct reader {
    rill_script *script;
    rill_script_config *config;
    int table; /* of the whole configuration */
} reader;

typedef struct config_key {
    const char *name;
    rill_status (*read)(lua_State *L, reader *r,
                        const struct config_key *key); /* the value, not nil, is on top; NULL: a setting */
    size_t member;
} config_key;

/* --- messages ----------------------------------------------------------------------------------------------------- */

static const char *a_type(lua_State *L, int index)
{
    switch (lua_type(L, index)) {
    case LUA_TNIL: return "nil";
    case LUA_TBOOLEAN: return lua_toboolean(L, index) ? "true" : "false";
    case LUA_TSTRING: return "a string";
    case LUA_TNUMBER: return "a number";
    case LUA_TTABLE: return "a table";
    case LUA_TFUNCTION: return "a function";
    default: return "an object";
    }
}

static rill_status wrong_type(lua_State *L, reader *r, const char *path, const char *wanted)
{
    return script_config_fail(r->script, path, "%s was expected, not %s", wanted, a_type(L, -1));
}

const char *script_lua_name(const char *name, char out[SCRIPT_NAME_MAX])
{
    size_t i = 0;
    for (; name[i] != '\0' && i < SCRIPT_NAME_MAX - 1; i++) out[i] = (char)(name[i] == '-' ? '_' : name[i]);
    out[i] = '\0';
    return out;
}

static int same_name(const char *a, const char *b)
{
    char x[SCRIPT_NAME_MAX], y[SCRIPT_NAME_MAX];
    return strcmp(script_lua_name(a, x), script_lua_name(b, y)) == 0;
}

const rill_setting_info *script_find_setting(const char *name)
{
    const rill_setting_info *s = rill_setting_table();
    while (s->name != NULL && !same_name(s->name, name)) s++;
    return s->name != NULL ? s : NULL;
}

/* --- single values ------------------------------------------------------------------------------------------------ */

static rill_status read_string(lua_State *L, reader *r, const char *path, const char **out)
{
    size_t length;
    if (lua_type(L, -1) != LUA_TSTRING) return wrong_type(L, r, path, "a string");
    const char *text = lua_tolstring(L, -1, &length);
    if (strlen(text) != length) return script_config_fail(r->script, path, "the string has a NUL byte");
    if (length == 0) return script_config_fail(r->script, path, "the string is empty; leave the key out instead");
    *out = script_config_copy(r->config, text, length);
    return *out == NULL ? RILL_ERR_MEMORY : RILL_OK;
}

/* Paths are beside the script, so that it works from wherever it is called; `plain` is what stays in the current directory
 * as it is, and is marked for the loader, which looks for bare names elsewhere. */
static rill_status read_path(lua_State *L, reader *r, const char *path, const char *plain, const char **out)
{
    const char *text, *slash = strrchr(r->script->path, '/');
    rill_status status = read_string(L, r, path, &text);
    if (status < 0) return status;
    *out = text;
    if (text[0] == '/' || strcmp(text, "-") == 0) return RILL_OK;
    size_t length = strlen(text), directory = slash != NULL ? (size_t)(slash + 1 - r->script->path) : strlen(plain);
    char *whole = script_config_alloc(r->config, directory + length + 1, 1);
    if (whole == NULL) return RILL_ERR_MEMORY;
    memcpy(whole, slash != NULL ? r->script->path : plain, directory);
    memcpy(whole + directory, text, length);
    *out = whole;
    return RILL_OK;
}

static void *member(reader *r, const config_key *key)
{
    return (char *)r->config + key->member;
}

static rill_status read_text_key(lua_State *L, reader *r, const config_key *key)
{
    return read_string(L, r, key->name, member(r, key));
}

static rill_status read_path_key(lua_State *L, reader *r, const config_key *key)
{
    return read_path(L, r, key->name, "", member(r, key));
}

static rill_status read_flag_key(lua_State *L, reader *r, const config_key *key)
{
    if (!lua_isboolean(L, -1)) return wrong_type(L, r, key->name, "true or false");
    *(int *)member(r, key) = lua_toboolean(L, -1);
    return RILL_OK;
}

/* true, a word or a number. */
static rill_status read_alignment_key(lua_State *L, reader *r, const config_key *key)
{
    const char **out = member(r, key);
    if (lua_isboolean(L, -1)) {
        *out = lua_toboolean(L, -1) ? "" : NULL;
        return RILL_OK;
    }
    rill_status status = script_config_scalar(L, -1, r->config, out);
    if (status < 0 || *out != NULL) return status;
    return wrong_type(L, r, key->name, "true, \"hard\", \"soft\" or a number");
}

static rill_status read_threads_key(lua_State *L, reader *r, const config_key *key)
{
    int whole = 0;
    lua_Integer n = lua_type(L, -1) == LUA_TNUMBER ? lua_tointegerx(L, -1, &whole) : 0;
    if (lua_type(L, -1) != LUA_TNUMBER) return wrong_type(L, r, key->name, "a number");
    if (!whole || n < 1 || n > 1024)
        return script_config_fail(r->script, key->name, "a whole number from 1 to 1024 was expected");
    *(int32_t *)member(r, key) = (int32_t)n;
    return RILL_OK;
}

/* --- settings ----------------------------------------------------------------------------------------------------- */

/* What values of a setting are like is found out by trying, since no list of them can then drift from the library's. */
static int takes(rill_context *ctx, const rill_setting_info *setting, const char *value)
{
    rill_settings trial;
    rill_settings_default(&trial);
    int taken = rill_settings_set(ctx, &trial, setting->name, value) >= 0;
    if (!taken) rill_error_clear(ctx);
    return taken;
}

/* Whether a number may be written as a text, for what Lua's numbers cannot say. */
static int takes_both(rill_context *ctx, const rill_setting_info *setting)
{
    return takes(ctx, setting, "1K") || takes(ctx, setting, "inf");
}

/* Pass on why a value was refused, which begins with the setting's name: the path says that already. */
static rill_status refused(reader *r, const char *path, const rill_setting_info *setting)
{
    char why[512];
    snprintf(why, sizeof why, "%s", rill_error(r->script->ctx));
    size_t n = strlen(setting->name);
    const char *rest = strncmp(why, setting->name, n) == 0 && strncmp(why + n, ": ", 2) == 0 ? why + n + 2 : why;
    return script_config_fail(r->script, path, "%s", rest);
}

static rill_status check_value(reader *r, const char *path, const rill_setting_info *setting, const char *value)
{
    rill_settings trial;
    rill_settings_default(&trial);
    return rill_settings_set(r->script->ctx, &trial, setting->name, value) < 0 ? refused(r, path, setting) : RILL_OK;
}

/* *out: the value on top as text, checked by itself. */
static rill_status setting_value(lua_State *L, reader *r, const char *path, const rill_setting_info *setting,
                                 const char **out)
{
    int type = lua_type(L, -1);
    if (setting->argument[0] == '\0') {
        *out = lua_toboolean(L, -1) ? "1" : "0";
        return type != LUA_TBOOLEAN ? wrong_type(L, r, path, "true or false") : RILL_OK;
    }
    int words = !takes(r->script->ctx, setting, "1");
    if (type == LUA_TSTRING && !words) words = takes_both(r->script->ctx, setting);
    if (words && type != LUA_TSTRING) return wrong_type(L, r, path, "a string");
    if (!words && type != LUA_TNUMBER)
        return wrong_type(L, r, path, strcmp(setting->name, "budget") == 0 ? "a number or a function" : "a number");
    rill_status status = script_config_scalar(L, -1, r->config, out);
    if (status < 0) return status;
    if (*out == NULL)
        return script_config_fail(r->script, path,
                                  words ? "a text without zero bytes was expected" : "a finite number was expected");
    return check_value(r, path, setting, *out);
}

static rill_status read_setting(lua_State *L, reader *r, const char *path, const rill_setting_info *setting)
{
    const char *value;
    if (strcmp(setting->name, "budget") == 0 && lua_isfunction(L, -1))
        return script_budget_make(L, lua_gettop(L), &r->config->budget, &r->config->budget_user);
    rill_status status = setting_value(L, r, path, setting, &value);
    if (status < 0) return status;
    rill_script_pair *pairs = (rill_script_pair *)r->config->settings; /* made by read_settings() */
    pairs[r->config->n_settings++] = (rill_script_pair){setting->name, value};
    return RILL_OK;
}

rill_status script_config_check_setting(lua_State *L, rill_script *s, rill_script_config *config, const char *path,
                                        const char *name)
{
    const char *value;
    return setting_value(L, &(reader){s, config, 0}, path, script_find_setting(name), &value);
}

/* Push the value that the table at `index` has for a setting, under either spelling. */
static void push_setting(lua_State *L, int index, const char *name)
{
    char spelt[SCRIPT_NAME_MAX];
    lua_pushstring(L, script_lua_name(name, spelt));
    if (lua_rawget(L, index) != LUA_TNIL || strchr(name, '-') == NULL) return;
    lua_pop(L, 1);
    lua_pushstring(L, name);
    lua_rawget(L, index);
}

static const config_key *find_key(const char *name);

/* Words that others use, too far from ours for a resemblance. */
static const char *other_word(const char *name)
{
    static const char *const words[][2] = {{"beam", "k"},         {"beam_size", "k"},  {"beam_width", "k"},
                                           {"batch", "n"},        {"batch_size", "n"}, {"M", "max_candidates"},
                                           {"refs", "references"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(name, words[i][0]) == 0) return words[i][1];
    return NULL;
}

/* What a key that is not known under `search` was meant to be. */
static rill_status unknown_setting(reader *r, const char *path, const char *name)
{
    char spelt[SETTINGS_MAX][SCRIPT_NAME_MAX];
    const char *names[SETTINGS_MAX];
    size_t n = 0;
    for (const rill_setting_info *s = rill_setting_table(); s->name != NULL && n < SETTINGS_MAX; s++, n++)
        names[n] = script_lua_name(s->name, spelt[n]);
    const char *word = other_word(name), *near = word != NULL ? word : rill_nearest(name, names, n);
    if (strcmp(name, "delta") == 0) name = "absolute"; /* whose argument it is */
    if (find_key(name) != NULL)
        return script_config_fail(r->script, path, "unknown key; \"%s\" stands beside \"search\", not inside it", name);
    if (rill_find_heuristic(r->script->ctx, name) != NULL)
        return script_config_fail(
            r->script, path, "unknown key; a heuristic stands in their list: heuristics = { {\"%s\", ...} }", name);
    if (near != NULL) return script_config_fail(r->script, path, "unknown key; did you mean \"%s\"?", near);
    return script_config_fail(r->script, path,
                              "unknown key; the keys of \"search\" are the settings of `rill decode --help`");
}

/* Of the keys of the table on top that are not known, the first in the alphabet; NULL if there is none. Valid while the table is.
 * A key that is no string is refused. */
static rill_status find_unknown(lua_State *L, reader *r, const char *path, int (*known)(const char *), const char **out)
{
    int table = lua_gettop(L);
    *out = NULL;
    for (lua_pushnil(L); lua_next(L, table) != 0; lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING)
            return script_config_fail(r->script, path, "a value without a name; write name = value");
        const char *name = lua_tostring(L, -2);
        if (!known(name) && (*out == NULL || strcmp(name, *out) < 0)) *out = name;
    }
    return RILL_OK;
}

static int is_setting(const char *name)
{
    return script_find_setting(name) != NULL;
}

/* "max-items" and "max_items" are one setting: of two values one would be lost. */
static rill_status refuse_two_spellings(lua_State *L, reader *r)
{
    char spelt[SCRIPT_NAME_MAX], path[PATH_MAX_LENGTH];
    int table = lua_gettop(L);
    for (const rill_setting_info *s = rill_setting_table(); s->name != NULL; s++) {
        if (strchr(s->name, '-') == NULL) continue;
        lua_pushstring(L, s->name);
        lua_pushstring(L, script_lua_name(s->name, spelt));
        int both = lua_rawget(L, table) != LUA_TNIL;
        lua_pop(L, 1);
        both &= lua_rawget(L, table) != LUA_TNIL;
        lua_pop(L, 1);
        snprintf(path, sizeof path, "search.%s", s->name);
        if (both) return script_config_fail(r->script, path, "%s is said too, and means the same", spelt);
    }
    return RILL_OK;
}

static rill_status check_search(lua_State *L, reader *r)
{
    char path[PATH_MAX_LENGTH];
    const char *unknown;
    rill_status status = find_unknown(L, r, "search", is_setting, &unknown);
    if (status == RILL_OK && unknown == NULL) status = refuse_two_spellings(L, r);
    if (status < 0 || unknown == NULL) return status;
    snprintf(path, sizeof path, "search.%s", unknown);
    return unknown_setting(r, path, unknown);
}

static int is_top_setting(const char *name);

/* One setting from wherever it may stand: under `search`, and a few beside it too. `search` is 0 when there is none. */
static rill_status read_setting_places(lua_State *L, reader *r, int search, const rill_setting_info *setting)
{
    char path[PATH_MAX_LENGTH], spelt[SCRIPT_NAME_MAX];
    rill_status status = RILL_OK;
    int top = lua_gettop(L), said = 0;
    script_lua_name(setting->name, spelt);
    if (is_top_setting(spelt)) {
        push_setting(L, r->table, setting->name);
        said = !lua_isnil(L, -1);
        if (said) status = read_setting(L, r, spelt, setting);
    }
    if (search != 0 && status == RILL_OK) {
        push_setting(L, search, setting->name);
        snprintf(path, sizeof path, "search.%s", spelt);
        if (!lua_isnil(L, -1) && said)
            status = script_config_fail(r->script, path, "%s is said beside \"search\" too", spelt);
        if (!lua_isnil(L, -1) && status == RILL_OK) status = read_setting(L, r, path, setting);
    }
    lua_settop(L, top);
    return status;
}

static rill_status read_settings(lua_State *L, reader *r)
{
    rill_status status = RILL_OK;
    int search = 0;
    r->config->settings = script_config_alloc(r->config, SETTINGS_MAX, sizeof *r->config->settings);
    if (r->config->settings == NULL) return RILL_ERR_MEMORY;
    lua_pushstring(L, "search");
    if (lua_rawget(L, r->table) != LUA_TNIL) {
        if (!lua_istable(L, -1)) return wrong_type(L, r, "search", "a table of settings");
        search = lua_gettop(L);
        status = check_search(L, r);
    }
    for (const rill_setting_info *s = rill_setting_table(); s->name != NULL && status == RILL_OK; s++)
        status = read_setting_places(L, r, search, s);
    return status;
}

/* --- lists and chains --------------------------------------------------------------------------------------------- */

/* The length of the list on top. A table with names in it is none. */
static rill_status check_list(lua_State *L, reader *r, const char *path, const char *wanted, lua_Integer *out)
{
    int table = lua_gettop(L);
    if (!lua_istable(L, -1)) return wrong_type(L, r, path, wanted);
    lua_Integer n = (lua_Integer)lua_rawlen(L, table);
    for (lua_pushnil(L); lua_next(L, table) != 0; lua_pop(L, 1)) {
        int whole;
        lua_Integer i = lua_tointegerx(L, -2, &whole);
        if (lua_type(L, -2) == LUA_TSTRING)
            return script_config_fail(r->script, path, "%s was expected; \"%s\" is a name in it", wanted,
                                      lua_tostring(L, -2));
        if (!whole || i < 1 || i > n)
            return script_config_fail(r->script, path, "%s was expected, without gaps", wanted);
    }
    if (n > ENTRIES_MAX) return script_config_fail(r->script, path, "a list of at most %d was expected", ENTRIES_MAX);
    *out = n;
    return RILL_OK;
}

typedef struct entry_call {
    script_kind kind;
    script_entry entry;
} entry_call;

static int read_entry_protected(lua_State *L)
{
    entry_call *call = lua_touserdata(L, 2);
    script_entry_read(L, 1, call->kind, &call->entry);
    return 0;
}

/* The value on top as a name and arguments. A Lua error in it is a mistake in the configuration: it gets the place. */
static rill_status read_entry(lua_State *L, reader *r, const char *path, script_kind kind, rill_chain_entry *out)
{
    entry_call call = {.kind = kind};
    lua_pushcfunction(L, read_entry_protected);
    lua_pushvalue(L, -2);
    lua_pushlightuserdata(L, &call);
    r->script->raised = RILL_OK;
    int code = lua_pcall(L, 2, 0, 0);
    if (code == LUA_ERRMEM) return rill_fail_memory(r->script->ctx, sizeof call, "a configuration");
    if (code != LUA_OK && r->script->raised == RILL_ERR_MEMORY)
        return rill_fail(r->script->ctx, RILL_ERR_MEMORY, "%s", luaL_tolstring(L, -1, NULL));
    if (code != LUA_OK) return script_config_fail(r->script, path, "%s", luaL_tolstring(L, -1, NULL));
    out->name = script_config_copy(r->config, call.entry.name, strlen(call.entry.name));
    out->arguments = script_config_copy(r->config, call.entry.arguments, strlen(call.entry.arguments));
    return out->name == NULL || out->arguments == NULL ? RILL_ERR_MEMORY : RILL_OK;
}

static rill_status read_chain(lua_State *L, reader *r, const config_key *key, script_kind kind, const char *wanted)
{
    char path[PATH_MAX_LENGTH];
    rill_script_chain *chain = member(r, key);
    lua_Integer n;
    int list = lua_gettop(L);
    rill_status status = check_list(L, r, key->name, wanted, &n);
    if (status < 0) return status;
    rill_chain_entry *entries = script_config_alloc(r->config, (size_t)n, sizeof *entries);
    if (entries == NULL) return RILL_ERR_MEMORY;
    for (lua_Integer i = 0; i < n && status == RILL_OK; i++) {
        snprintf(path, sizeof path, "%s[%d]", key->name, (int)i + 1);
        lua_rawgeti(L, list, i + 1);
        status = read_entry(L, r, path, kind, &entries[i]);
        lua_settop(L, list);
    }
    *chain = (rill_script_chain){entries, (int32_t)n, 1};
    return status;
}

static rill_status read_heuristics_key(lua_State *L, reader *r, const config_key *key)
{
    return read_chain(L, r, key, SCRIPT_HEURISTIC, "a list such as { {\"absolute\", 10} }");
}

static rill_status read_scorers_key(lua_State *L, reader *r, const config_key *key)
{
    return read_chain(L, r, key, SCRIPT_SCORER, "a list such as { {\"word_reward\", 0.5} }");
}

static rill_status read_policy_key(lua_State *L, reader *r, const config_key *key)
{
    rill_chain_entry *entry = script_config_alloc(r->config, 1, sizeof *entry);
    if (entry == NULL) return RILL_ERR_MEMORY;
    *(rill_script_chain *)member(r, key) = (rill_script_chain){entry, 1, 1};
    return read_entry(L, r, key->name, SCRIPT_POLICY, entry);
}

/* A name, or what rill.domain made. */
static rill_status read_domain_key(lua_State *L, reader *r, const config_key *key)
{
    rill_chain_entry entry;
    if (lua_type(L, -1) == LUA_TSTRING) return read_text_key(L, r, key);
    rill_status status = read_entry(L, r, key->name, SCRIPT_DOMAIN, &entry);
    if (status < 0) return status;
    r->config->domain = entry.name;
    if (entry.arguments[0] != '\0') r->config->domain_arguments = entry.arguments;
    return RILL_OK;
}

static rill_status read_plugins_key(lua_State *L, reader *r, const config_key *key)
{
    char path[PATH_MAX_LENGTH];
    lua_Integer n;
    int list = lua_gettop(L);
    rill_status status = check_list(L, r, key->name, "a list of files", &n);
    if (status < 0) return status;
    const char **plugins = script_config_alloc(r->config, (size_t)n, sizeof *plugins);
    if (plugins == NULL) return RILL_ERR_MEMORY;
    for (lua_Integer i = 0; i < n && status == RILL_OK; i++) {
        snprintf(path, sizeof path, "%s[%d]", key->name, (int)i + 1);
        lua_rawgeti(L, list, i + 1);
        status = read_path(L, r, path, "./", &plugins[i]);
        lua_settop(L, list);
    }
    r->config->plugins = plugins;
    r->config->n_plugins = (int32_t)n;
    return status;
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

/* A path, or a list of them: an ensemble. */
static rill_status read_model_key(lua_State *L, reader *r, const config_key *key)
{
    static const char wanted[] = "a path, or a list of them for an ensemble,";
    enum { ALSO_MAX = 16 };
    char path[PATH_MAX_LENGTH];
    const char *paths[1 + ALSO_MAX];
    lua_Integer n;
    int list = lua_gettop(L);
    if (lua_type(L, -1) == LUA_TSTRING) return read_path_key(L, r, key);
    rill_status status = check_list(L, r, key->name, wanted, &n);
    if (status < 0) return status;
    if (n < 1 || n > 1 + ALSO_MAX)
        return script_config_fail(r->script, key->name, "1 to %d models were expected", 1 + ALSO_MAX);
    for (lua_Integer i = 0; i < n && status == RILL_OK; i++) {
        snprintf(path, sizeof path, "%s[%d]", key->name, (int)i + 1);
        lua_rawgeti(L, list, i + 1);
        status = read_path(L, r, path, "", &paths[i]);
        lua_settop(L, list);
    }
    const char **also = status == RILL_OK ? script_config_alloc(r->config, (size_t)n, sizeof *also) : NULL;
    if (also == NULL) return status < 0 ? status : RILL_ERR_MEMORY;
    memcpy(also, paths + 1, (size_t)(n - 1) * sizeof *also);
    r->config->model = paths[0];
    r->config->also = also;
    r->config->n_also = (int32_t)n - 1;
    return RILL_OK;
}

static rill_status read_sweep_key(lua_State *L, reader *r, const config_key *key)
{
    if (!script_sweep_is(L, -1)) return wrong_type(L, r, key->name, "a grid such as rill.sweep{ delta = {0.5, 1.5} }");
    return script_sweep_read(L, lua_gettop(L), r->config);
}

static rill_status read_tune_key(lua_State *L, reader *r, const config_key *key)
{
    if (!lua_isfunction(L, -1)) return wrong_type(L, r, key->name, "a function(try)");
    r->config->has_tune = 1;
    return RILL_OK;
}

#define KEY(name, read)                                 \
    {                                                   \
#name, read, offsetof(rill_script_config, name) \
    }
static const config_key KEYS[] = {
    KEY(model, read_model_key),
    KEY(domain, read_domain_key),
    {"domain_args", read_text_key, offsetof(rill_script_config, domain_arguments)},
    KEY(weights, read_text_key),
    KEY(backend, read_text_key),
    KEY(input_format, read_text_key),
    KEY(input, read_path_key),
    KEY(output, read_path_key),
    KEY(references, read_path_key),
    KEY(stats, read_path_key),
    KEY(trace, read_path_key),
    KEY(shortlist, read_path_key),
    KEY(tokenized, read_flag_key),
    KEY(threads, read_threads_key),
    KEY(workers, read_threads_key),
    KEY(plugins, read_plugins_key),
    KEY(alignment, read_alignment_key),
    KEY(unknown_names, read_flag_key),
    KEY(word_scores, read_flag_key),
    KEY(pretty, read_flag_key),
    {"n_best", NULL, 0},
    {"distinct", NULL, 0},
    {"unordered", NULL, 0},
    {"search", NULL, 0}, /* with the settings */
    KEY(heuristics, read_heuristics_key),
    KEY(scorers, read_scorers_key),
    KEY(policy, read_policy_key),
    KEY(sweep, read_sweep_key),
    {"tune", read_tune_key, 0},
};
enum { N_KEYS = sizeof KEYS / sizeof *KEYS };

static const config_key *find_key(const char *name)
{
    for (size_t i = 0; i < N_KEYS; i++)
        if (strcmp(KEYS[i].name, name) == 0) return &KEYS[i];
    return NULL;
}

static int is_key(const char *name)
{
    return find_key(name) != NULL;
}

static int is_top_setting(const char *name)
{
    const config_key *key = find_key(name);
    return key != NULL && key->read == NULL;
}

static rill_status check_keys(lua_State *L, reader *r)
{
    const char *unknown, *names[N_KEYS];
    rill_status status = find_unknown(L, r, "", is_key, &unknown);
    if (status < 0 || unknown == NULL) return status;
    for (size_t i = 0; i < N_KEYS; i++) names[i] = KEYS[i].name;
    const char *word = other_word(unknown), *near = word != NULL ? word : rill_nearest(unknown, names, N_KEYS);
    const char *setting = word != NULL && is_setting(word) ? word : unknown;
    if (is_setting(setting))
        return script_config_fail(r->script, unknown, "unknown key; it is one of \"search\": search = { %s = ... }",
                                  setting);
    if (near != NULL) return script_config_fail(r->script, unknown, "unknown key; did you mean \"%s\"?", near);
    return script_config_fail(r->script, unknown, "unknown key; docs/scripting.md lists them all");
}

void script_config_names(lua_State *L)
{
    char spelt[SCRIPT_NAME_MAX];
    for (size_t i = 0; i < N_KEYS; i++) script_name_add(L, "config", KEYS[i].name);
    for (const rill_setting_info *s = rill_setting_table(); s->name != NULL; s++)
        script_name_add(L, "search", script_lua_name(s->name, spelt));
}

rill_status script_config_table(lua_State *L, int index, rill_script *s, rill_script_config **out)
{
    reader r = {s, script_config_new(s), lua_absindex(L, index)};
    int top = lua_gettop(L);
    *out = r.config;
    if (r.config == NULL) return RILL_ERR_MEMORY;
    luaL_checkstack(L, 20, "a configuration");
    lua_pushvalue(L, r.table);
    rill_status status = check_keys(L, &r);
    for (size_t i = 0; i < N_KEYS && status == RILL_OK; i++) {
        if (KEYS[i].read == NULL) continue;
        lua_settop(L, top);
        lua_pushstring(L, KEYS[i].name);
        if (lua_rawget(L, r.table) != LUA_TNIL) status = KEYS[i].read(L, &r, &KEYS[i]);
    }
    if (status == RILL_OK) status = read_settings(L, &r);
    lua_settop(L, top);
    return status;
}

rill_status script_config_result(lua_State *L, rill_script *s, rill_script_config **out)
{
    int type = s->result == LUA_NOREF ? LUA_TNIL : lua_rawgeti(L, LUA_REGISTRYINDEX, s->result);
    if (type == LUA_TNIL)
        return script_config_fail(s, "",
                                  "the script returns nothing; a configuration ends with: return { model = \"DIR\" }");
    if (type != LUA_TTABLE)
        return script_config_fail(
            s, "", "the script returns %s, not a table; a configuration ends with: return { model = \"DIR\" }",
            a_type(L, -1));
    return script_config_table(L, -1, s, out);
}

static int read_protected(lua_State *L)
{
    script_reading *call = lua_touserdata(L, 1);
    call->status = script_config_result(L, call->script, &call->config);
    return 0;
}

rill_status script_config_protect(rill_script *script, lua_CFunction fn, int64_t index, rill_script_config **out)
{
    script_reading call = {.script = script, .index = index};
    rill_status status = script_protect(script, fn, &call);
    if (status == RILL_OK) status = call.status;
    if (status < 0) {
        rill_script_config_free(call.config);
        call.config = NULL;
    }
    *out = call.config;
    return status;
}

rill_status rill_script_config_read(rill_script *script, rill_script_config **out)
{
    return script_config_protect(script, read_protected, 0, out);
}
