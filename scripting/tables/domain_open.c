/* Models of Lua domains: open, close, information, files.
 *
 * Information (actions, max_length ...) is the second result of open(), or else in the declaration. Scripts have no io: options.read(NAME)
 * returns a file's text in the model's directory. */
#include <string.h>

#include "rill/file.h"
#include "script_domain.h"

/* Limits that no reasonable model reaches. Each model allocates tables of these lengths. */
enum { MAX_ACTION_NAMES = 1 << 24, MAX_SCRIPT_PHASES = 8, DEFAULT_LENGTH = 200 };
enum { OPEN_WORK = 2000 }; /* instructions charged to the script's limit for opening a file */

/* --- reading the model's files ------------------------------------------------------------------------------------ */

static const char file_type[] = "rill.domain.file";

static int close_file(lua_State *L)
{
    rill_file_close(luaL_checkudata(L, 1, file_type));
    return 0;
}

/* Push a userdata that will hold an open file. Its finaliser closes the file even if an error is raised. */
static rill_file *push_file(lua_State *L)
{
    rill_file *file = lua_newuserdatauv(L, sizeof *file, 0);
    *file = (rill_file){0};
    /* the field is set each time: at an earlier time memory may have run out before it was set */
    luaL_newmetatable(L, file_type);
    lua_pushcfunction(L, close_file);
    lua_setfield(L, -2, "__gc");
    lua_setmetatable(L, -2);
    return file;
}

static void check_file(lua_State *L, rill_context *ctx, rill_status status)
{
    if (status < 0) script_check(L, rill_fail(ctx, status, "options.read: %s", rill_error(ctx)));
}

/* options.read(NAME): return a file's text in the model's directory, or without NAME the model file's. Upvalue 1: the model's path. */
static int read_file(lua_State *L)
{
    const char *path = lua_tostring(L, lua_upvalueindex(1));
    rill_context *ctx = script_from_lua(L)->ctx;
    luaL_Buffer text;
    size_t length = 0;
    const char *name = luaL_optlstring(L, 1, "", &length);
    if (path == NULL) return luaL_error(L, "options.read: the domain was opened without a model (--model)");
    if (strlen(name) != length) return luaL_error(L, "options.read: a name without zero bytes was expected");
    script_charge(L, OPEN_WORK);
    lua_settop(L, 1);
    rill_file *file = push_file(L);
    check_file(L, ctx,
               length > 0 ? rill_file_open_inside(file, ctx, path, name)
                          : rill_file_open(file, ctx, path, RILL_FILE_REGULAR));
    luaL_buffinit(L, &text);
    for (uint64_t offset = 0; offset < file->size;) {
        const size_t n = file->size - offset < LUAL_BUFFERSIZE ? (size_t)(file->size - offset) : LUAL_BUFFERSIZE;
        check_file(L, ctx, rill_file_get(file, offset, n, luaL_prepbuffer(&text)));
        luaL_addsize(&text, n);
        offset += n;
    }
    luaL_pushresult(&text);
    rill_file_close(file);
    return 1;
}

/* --- options given to the script ---------------------------------------------------------------------------------- */

/* Push the value of an option as a Lua number, boolean or string, according to the option's type. */
static void push_value(lua_State *L, const rill_option *row, const char *value)
{
    double number = 0;
    int32_t on = 0;
    rill_context *ctx = script_from_lua(L)->ctx;
    if (row->type == RILL_OPTION_REAL && rill_option_read(ctx, row, value, &number) == RILL_OK)
        lua_pushnumber(L, number);
    else if (row->type == RILL_OPTION_SWITCH && rill_option_read(ctx, row, value, &on) == RILL_OK)
        lua_pushboolean(L, on);
    else
        lua_pushstring(L, value);
}

/* Push a table with the values of these options, or their defaults. In its keys "_" replaces "-". */
static void push_given(lua_State *L, const rill_option *rows, const rill_open_options *options)
{
    char name[SCRIPT_NAME_MAX];
    lua_newtable(L);
    for (const rill_option *row = rows; row != NULL && row->name != NULL; row++) {
        const char *given_value = rill_open_option(options, row->name);
        if (given_value == NULL && row->initial[0] == '\0') continue;
        push_value(L, row, given_value != NULL ? given_value : row->initial);
        lua_setfield(L, -2, script_lua_name(row->name, name));
    }
}

static void push_options(lua_State *L, const rill_option *rows, const rill_open_options *options)
{
    lua_createtable(L, 0, 7);
    push_given(L, rows, options);
    lua_setfield(L, -2, "given");
    lua_pushstring(L, options->path); /* pushes nil if there is no path */
    lua_setfield(L, -2, "path");
    lua_pushstring(L, options->arguments != NULL ? options->arguments : "");
    lua_setfield(L, -2, "arguments");
    lua_pushinteger(L, options->threads);
    lua_setfield(L, -2, "threads");
    lua_pushboolean(L, options->tokenized);
    lua_setfield(L, -2, "tokenized");
    lua_pushstring(L, options->path);
    lua_pushcclosure(L, read_file, 1);
    lua_setfield(L, -2, "read");
}

/* --- names of the actions ----------------------------------------------------------------------------------------- */

/* Stack indexes below. STACK_CALL: the open_call; STACK_INFO: second result of open(), or nil; STACK_DECLARED: declared fields. */
enum { STACK_CALL = 1, STACK_INFO, STACK_DECLARED };

/* Push a field of the second result of open(), else of the declaration, else nil. Returns its Lua type. */
static int push_field(lua_State *L, const char *name)
{
    if (!lua_isnil(L, STACK_INFO)) {
        if (lua_getfield(L, STACK_INFO, name) != LUA_TNIL) return lua_type(L, -1);
        lua_pop(L, 1);
    }
    return lua_getfield(L, STACK_DECLARED, name);
}

/* Return the integer at `index`. Raises unless it is in [min, max]. */
static lua_Integer read_integer_in(lua_State *L, int index, const char *what, lua_Integer min, lua_Integer max)
{
    lua_Integer value;
    if (!script_whole_number(L, index, min, max, &value))
        luaL_error(L, "%s: a whole number from %I to %I was expected, not %s", what, (LUAI_UACINT)min, (LUAI_UACINT)max,
                   luaL_tolstring(L, index, NULL));
    return value;
}

static int32_t integer_field(lua_State *L, const char *name, int32_t otherwise, int32_t max)
{
    int32_t value = otherwise;
    if (push_field(L, name) != LUA_TNIL) value = (int32_t)read_integer_in(L, -1, name, 1, max);
    lua_pop(L, 1);
    return value;
}

/* Read a list of action names, at stack index `list`, into two tables: action + 1 to name, and name to action. */
static void read_names(lua_State *L, script_model *m, int list)
{
    lua_Integer n = luaL_len(L, list);
    if (n < 1 || n > MAX_ACTION_NAMES) luaL_error(L, "actions: a list of 1 to %d names was expected", MAX_ACTION_NAMES);
    m->info.actions = (int32_t)n;
    lua_createtable(L, (int)n, 0);
    int names = lua_gettop(L);
    lua_createtable(L, 0, (int)n);
    for (lua_Integer i = 1; i <= n; i++) {
        if (lua_geti(L, list, i) != LUA_TSTRING)
            luaL_error(L, "actions: entry %I must be a string, not a %s", (LUAI_UACINT)i, luaL_typename(L, -1));
        size_t length;
        const char *name = lua_tolstring(L, -1, &length);
        if (length == 0 || strlen(name) != length || memchr(name, '\n', length) != NULL)
            luaL_error(L, "actions: name %I is empty, or has a line break or a zero byte", (LUAI_UACINT)i);
        lua_pushvalue(L, -1);
        if (lua_rawget(L, names + 1) != LUA_TNIL) luaL_error(L, "actions: \"%s\" occurs twice", name);
        lua_pop(L, 1);
        lua_pushvalue(L, -1);
        lua_rawseti(L, names, i);
        lua_pushinteger(L, i - 1);
        lua_rawset(L, names + 1);
    }
    m->ids = luaL_ref(L, LUA_REGISTRYINDEX);
    m->names = luaL_ref(L, LUA_REGISTRYINDEX);
}

static void read_actions(lua_State *L, script_model *m)
{
    int type = push_field(L, "actions");
    if (type == LUA_TTABLE)
        read_names(L, m, lua_gettop(L));
    else if (type == LUA_TNUMBER)
        m->info.actions = (int32_t)read_integer_in(L, -1, "actions", 1, MAX_ACTION_NAMES);
    else
        luaL_error(L, "actions: their number, or a list of their names, was expected, not %s", luaL_typename(L, -1));
    lua_pop(L, 1);
    m->seen = rill_calloc(m->script->ctx, (size_t)m->info.actions, 1);
    if (m->seen == NULL) script_check(L, rill_fail_memory(m->script->ctx, (size_t)m->info.actions, "actions"));
}

static void read_end_action(lua_State *L, script_model *m)
{
    int type = push_field(L, "end_action");
    if (type == LUA_TSTRING) {
        if (m->ids == LUA_NOREF) luaL_error(L, "end_action: a number was expected, because the actions have no names");
        domain_push(L, m->ids);
        m->info.end_action = domain_read_action(L, m, lua_gettop(L) - 1, lua_gettop(L), "end_action");
        lua_pop(L, 1);
    } else if (type != LUA_TNIL) {
        m->info.end_action = (int32_t)read_integer_in(L, -1, "end_action", 0, m->info.actions - 1);
    }
    lua_pop(L, 1);
}

/* --- model information -------------------------------------------------------------------------------------------- */

static void read_state_need(lua_State *L, script_model *m)
{
    if (push_field(L, "state") != LUA_TNIL) {
        const char *word = lua_type(L, -1) == LUA_TSTRING ? script_text(L, -1, "state") : "?";
        if (!m->domain->by_rows)
            luaL_error(
                L,
                "state: only domains with step and score have this field; the state that advance returns may refer to the parent's");
        if (strcmp(word, "path") != 0 && strcmp(word, "parent") != 0)
            luaL_error(L, "state: \"parent\" or \"path\" was expected, not %s", luaL_tolstring(L, -1, NULL));
        m->info.state_need = strcmp(word, "path") == 0 ? RILL_STATE_PATH : RILL_STATE_PARENT;
    }
    lua_pop(L, 1);
}

/* As push_field(). Raises unless the value is nil or has this Lua type, which `expected` names. */
static int push_typed_field(lua_State *L, const char *name, int type, const char *expected)
{
    const int found = push_field(L, name);
    if (found != LUA_TNIL && found != type)
        luaL_error(L, "%s: %s was expected, not a %s", name, expected, luaL_typename(L, -1));
    return found;
}

static int boolean_field(lua_State *L, const char *name)
{
    push_typed_field(L, name, LUA_TBOOLEAN, "true or false");
    const int value = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return value;
}

/* Read the list `limited_phases` into a bit set. */
static void read_limited_phases(lua_State *L, script_model *m)
{
    const int type = push_typed_field(L, "limited_phases", LUA_TTABLE, "a list of phases, from 0,");
    const lua_Integer n = type == LUA_TTABLE ? luaL_len(L, -1) : 0;
    for (lua_Integer i = 1; i <= n; i++, lua_pop(L, 1)) {
        lua_geti(L, -1, i);
        m->info.max_choices_phases |= UINT32_C(1) << read_integer_in(L, -1, "limited_phases", 0, m->info.phases - 1);
    }
    lua_pop(L, 1);
}

/* Return a registry reference of the string in this field of the model information, or of `otherwise` if the field is missing. */
static int text_field(lua_State *L, const char *name, const char *otherwise)
{
    if (push_typed_field(L, name, LUA_TSTRING, "a text") == LUA_TSTRING)
        script_text(L, -1, name);
    else
        lua_pushstring(L, otherwise);
    return luaL_ref(L, LUA_REGISTRYINDEX);
}

const char *const domain_info_names[DOMAIN_INFO_NAMES] = {
    "actions",    "end_action", "max_length",      "phases",       "limited_phases", "state",
    "node_bytes", "slot_bytes", "slot_unit_bytes", "unnormalised", "description",    "separator"};

static void check_info(lua_State *L)
{
    if (lua_isnil(L, STACK_INFO)) return;
    if (!lua_istable(L, STACK_INFO))
        luaL_error(L, "the second result must be a table {actions =, max_length =, ...}, not a %s",
                   luaL_typename(L, STACK_INFO));
    script_check_keys(L, STACK_INFO, domain_info_names, DOMAIN_INFO_NAMES, "the second result");
}

static void read_info(lua_State *L, script_model *m)
{
    check_info(L);
    domain_push(L, m->domain->declared);
    m->info.end_action = -1;
    read_actions(L, m);
    read_end_action(L, m);
    m->info.has_end_action = m->info.end_action >= 0;
    m->info.terminals_by_flag = 1; /* a script may mark any row as terminal */
    m->info.phases = integer_field(L, "phases", 1, MAX_SCRIPT_PHASES);
    m->info.max_length = integer_field(L, "max_length", DEFAULT_LENGTH, INT32_MAX);
    m->info.node_bytes = integer_field(L, "node_bytes", 0, INT32_MAX);
    m->info.slot_bytes = integer_field(L, "slot_bytes", 0, INT32_MAX);
    m->info.slot_unit_bytes = integer_field(L, "slot_unit_bytes", 0, INT32_MAX);
    m->info.unnormalised = boolean_field(L, "unnormalised");
    read_state_need(L, m);
    read_limited_phases(L, m);
    m->separator = text_field(L, "separator", " ");
    m->description = text_field(L, "description", NULL);
    domain_push(L, m->description);
    m->info.description = lua_tostring(L, -1); /* the string stays alive, because the registry refers to it */
    lua_pop(L, 1);
}

/* --- open and close ----------------------------------------------------------------------------------------------- */

typedef struct open_call {
    script_model *m;
    const rill_open_options *options;
    /* status of the failure if open() returned nil and a message; the message is then reported without a traceback */
    rill_status refused;
} open_call;

/* Call the script's open(), and leave self and info on the stack. Without open(), self is the table of options, info nil. */
static void call_open(lua_State *L, open_call *call)
{
    const script_domain *d = call->m->domain;
    if (d->function[DOMAIN_OPEN] == LUA_NOREF) {
        push_options(L, d->table.options, call->options);
        lua_pushnil(L);
        return;
    }
    domain_push(L, d->function[DOMAIN_OPEN]);
    push_options(L, d->table.options, call->options);
    lua_call(L, 1, 2);
    if (!lua_isnil(L, -2)) return;
    if (lua_type(L, -1) != LUA_TSTRING)
        luaL_error(
            L,
            "open returned nil without a message: it must return a value (self of the other functions), or nil and a message");
    call->refused = rill_fail(d->script->ctx, RILL_ERR_FORMAT, "domain %s: %s", d->table.name,
                              script_text(L, -1, "open: the message"));
}

static int new_table(lua_State *L)
{
    lua_newtable(L);
    return luaL_ref(L, LUA_REGISTRYINDEX);
}

static int open_model(lua_State *L)
{
    open_call *call = lua_touserdata(L, STACK_CALL);
    script_model *m = call->m;
    call_open(L, call);
    if (call->refused < 0) return 0;
    lua_insert(L, -2); /* move `info` below `self` */
    m->self = luaL_ref(L, LUA_REGISTRYINDEX);
    read_info(L, m);
    m->states = new_table(L);
    m->starts = new_table(L);
    m->texts = new_table(L);
    return 0;
}

rill_status domain_open(const rill_domain *table, rill_context *ctx, const rill_open_options *options, void **self,
                        rill_domain_info *info)
{
    const script_domain *d = (const script_domain *)table;
    script_model *m = rill_calloc(ctx, 1, sizeof *m);
    if (m == NULL) return rill_fail_memory(ctx, sizeof *m, "a model");
    m->domain = d;
    m->script = d->script;
    m->self = m->description = m->separator = m->names = m->ids = LUA_NOREF;
    m->states = m->starts = m->texts = LUA_NOREF;
    open_call call = {.m = m, .options = options};
    rill_status status = domain_protect(m, "open", open_model, &call);
    if (status >= 0) status = call.refused;
    *self = m;
    if (status >= 0) *info = m->info;
    return RILL_OPENED(status, self, domain_close);
}

static int close_model(lua_State *L)
{
    const script_model *m = lua_touserdata(L, 1);
    domain_push_method(L, m, DOMAIN_CLOSE);
    lua_call(L, 1, 0);
    return 0;
}

/* Release all of the model's registry references. luaL_unref() neither raises nor allocates. */
static int release_references(lua_State *L)
{
    const script_model *m = lua_touserdata(L, 1);
    const int references[] = {m->self, m->description, m->separator, m->names, m->ids, m->states, m->starts, m->texts};
    for (size_t i = 0; i < sizeof references / sizeof *references; i++) luaL_unref(L, LUA_REGISTRYINDEX, references[i]);
    return 0;
}

/* Log the failure of a callback that returned no status: the model is being closed, and no later call can return it. */
static void log_late(script_model *m)
{
    if (m->failed.status < 0) rill_log(m->script->ctx, RILL_LOG_WARNING, "%s", m->failed.message);
    m->failed.status = RILL_OK;
}

void domain_close(void *self)
{
    script_model *m = self;
    if (m == NULL) return;
    rill_context *ctx = m->script->ctx;
    log_late(m);
    if (m->self != LUA_NOREF && domain_has(m, DOMAIN_CLOSE)) {
        domain_protect_deferred(m, "close", close_model, m);
        log_late(m);
    }
    domain_protect_deferred(m, "close", release_references, m);
    rill_columns_free(ctx, &m->choices);
    rill_free(ctx, m->seen, (size_t)m->info.actions);
    rill_free(ctx, m->inputs, m->inputs_capacity * sizeof *m->inputs);
    rill_free(ctx, m, sizeof *m);
}
