/* A script's Lua state: creation, calls into it, and the messages of their failures. script_limits.c and script_memory.c
 * limit the calls. */
#include <stdio.h>
#include <string.h>

#include "limits.h"

enum { MAX_TRACEBACK_FRAMES = 16, DEFAULT_SECONDS = 10 };
#define DEFAULT_INSTRUCTIONS INT64_C(200000000)

static const char raised_key; /* registry key (by address) of the message of the latest script_check() that raised */

/* --- error messages ----------------------------------------------------------------------------------------------- */

/* Push the message that describes the error value at stack index 1. */
static void describe_error(lua_State *L)
{
    if (lua_isstring(L, 1)) {
        lua_pushvalue(L, 1);
    } else if (luaL_getmetafield(L, 1, "__tostring") != LUA_TNIL) {
        lua_pushvalue(L, 1);
        if (lua_pcall(L, 1, 1, 0) != LUA_OK || !lua_isstring(L, -1))
            lua_pushfstring(L, "an error object (a %s value) whose __tostring failed", luaL_typename(L, 1));
    } else {
        lua_pushfstring(L, "an error object (a %s value) was raised", luaL_typename(L, 1));
    }
}

static void add_frame(lua_State *L, luaL_Buffer *b, lua_Debug *frame)
{
    lua_pushfstring(L, "\n\t%s:%d: ", frame->short_src, frame->currentline);
    luaL_addvalue(b);
    if (*frame->namewhat != '\0')
        lua_pushfstring(L, "in %s '%s'", frame->namewhat, frame->name);
    else if (*frame->what == 'm')
        lua_pushliteral(L, "in the main chunk");
    else
        lua_pushfstring(L, "in the function defined at line %d", frame->linedefined);
    luaL_addvalue(b);
}

/* Message handler of lua_pcall(): appends a traceback of at most MAX_TRACEBACK_FRAMES frames, without C functions and scripting/config. */
static int add_traceback(lua_State *L)
{
    luaL_Buffer b;
    lua_Debug frame;
    int frames = 0;
    describe_error(L);
    script_replace_zeros(L);
    lua_replace(L, 1);
    lua_settop(L, 1);
    luaL_buffinit(L, &b);
    lua_pushvalue(L, 1);
    luaL_addvalue(&b);
    for (int level = 1; frames <= MAX_TRACEBACK_FRAMES && lua_getstack(L, level, &frame); level++) {
        lua_getinfo(L, "Sln", &frame);
        if (script_frame_is_internal(&frame)) continue;
        if (frames == 0) luaL_addstring(&b, "\nstack traceback:");
        if (frames < MAX_TRACEBACK_FRAMES)
            add_frame(L, &b, &frame);
        else
            luaL_addstring(&b, "\n\t...");
        frames++;
    }
    luaL_pushresult(&b);
    return 1;
}

int script_check(lua_State *L, rill_status status)
{
    rill_script *s = script_from_lua(L);
    if (status >= 0) return 0;
    s->raised_status = status;
    lua_pushstring(L, rill_error(s->ctx));
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &raised_key);
    return luaL_error(L, "%s", lua_tostring(L, -1));
}

void script_late_keep(script_late *late, rill_context *ctx, rill_status status)
{
    if (status >= 0 || late->status < 0) return;
    late->status = status;
    snprintf(late->message, sizeof late->message, "%s", rill_error(ctx));
}

rill_status script_late_take(script_late *late, rill_context *ctx)
{
    const rill_status status = late->status;
    late->status = RILL_OK;
    return status < 0 ? rill_fail(ctx, status, "%s", late->message) : RILL_OK;
}

/* Return 1 if the message says that Lua is out of memory; after a coroutine the status is that of an ordinary error. */
static int is_about_memory(const char *message)
{
    static const char words[] = "not enough memory"; /* the words of Lua's message */
    const char *phrase = strstr(message, words);
    return phrase != NULL && (phrase == message || phrase[-1] == ' ') &&
           (phrase[sizeof words - 1] == '\n' || !phrase[sizeof words - 1]);
}

/* Return the status with which script_check() raised, if its message is in this error; else RILL_ERR_PLUGIN. */
static rill_status error_status(rill_script *s, const char *message)
{
    rill_status status = RILL_ERR_PLUGIN;
    if (s->raised_status < 0 && lua_rawgetp(s->L, LUA_REGISTRYINDEX, &raised_key) == LUA_TSTRING &&
        strstr(message, lua_tostring(s->L, -1)) != NULL)
        status = s->raised_status;
    if (s->raised_status < 0) lua_pop(s->L, 1);
    return status;
}

/* Return the last of the equal positions "FILE:LINE: " at the message's start; each coroutine.wrap() adds one. *place: length of one. */
static const char *last_place(const char *message, size_t *place)
{
    const char *pos = message, *colon = strstr(message, ": ");
    *place = colon != NULL ? (size_t)(colon - message) + 2 : 0;
    while (*place > 0 && strncmp(pos + *place, message, *place) == 0) pos += *place;
    return pos;
}

/* Record the message of a failure. Lua shortens long paths in messages; here the script's full path replaces the shortened one. */
static rill_status fail_message(rill_script *s, rill_status status, const char *message)
{
    const size_t length = strlen(s->source);
    size_t place;
    const char *last = last_place(message, &place);
    if (length > 0 && strncmp(message, s->source, length) == 0 && message[length] == ':')
        return last < message + 2 * place
                   ? rill_fail(s->ctx, status, "%s%s", s->path, message + length)
                   : rill_fail(s->ctx, status, "%s%.*s... %s", s->path, (int)(place - length), message + length, last);
    return rill_fail(s->ctx, status, "script %s: %s", s->path, message);
}

static rill_status fail_overflow(rill_script *s)
{
    char message[LUA_IDSIZE + 200], place[LUA_IDSIZE + 20] = "";
    if (s->caller_line > 0) snprintf(place, sizeof place, "%s:%d: ", s->caller, s->caller_line);
    snprintf(message, sizeof message,
             "%sstack overflow: variables and arguments of the nested calls take more than %d values", place,
             SCRIPT_MAX_SLOTS);
    return fail_message(s, RILL_ERR_PLUGIN, message);
}

static rill_status fail_memory(rill_script *s)
{
    if (!s->heap.failed_limit)
        return rill_fail(s->ctx, RILL_ERR_MEMORY, "script %s: out of memory: cannot allocate %zu bytes", s->path,
                         s->heap.failed_size);
    if (s->heap.failed_limit == 3) return fail_overflow(s);
    if (s->heap.failed_limit == 2)
        return rill_fail(
            s->ctx, RILL_ERR_MEMORY,
            "script %s: out of memory: a text of %zu bytes exceeds the maximum of %zu bytes (--script-memory raises the "
            "limit)",
            s->path, s->heap.failed_size, script_max_text(s));
    return rill_fail(
        s->ctx, RILL_ERR_MEMORY,
        "script %s: out of memory: the script holds %zu bytes, and %zu more would exceed its limit of %zu bytes "
        "(--script-memory raises the limit)",
        s->path, s->heap.used_at_failure, s->heap.failed_size, s->options.memory);
}

/* Record the failure of a Lua call in the context. Its message is on top of the stack and is popped. */
static rill_status fail_call(rill_script *s, int code)
{
    const char *message = lua_tostring(s->L, -1);
    rill_status status;
    if (message == NULL) message = "an error without a message";
    if (code == LUA_ERRMEM || (s->heap.failed_size > 0 && is_about_memory(message)))
        status = fail_memory(s);
    else
        status = fail_message(s, error_status(s, message), message);
    lua_pop(s->L, 1);
    return status;
}

/* --- protected calls ---------------------------------------------------------------------------------------------- */

rill_status script_call(rill_script *s, int arguments, int results)
{
    lua_State *L = s->L;
    const int64_t old_instructions = s->instructions, old_cpu_start = s->cpu_start,
                  old_clock_check = s->next_clock_check;
    int base = lua_gettop(L) - arguments;
    if (!lua_checkstack(L, LUA_MINSTACK)) {
        lua_settop(L, base - 1);
        return fail_memory(s);
    }
    lua_pushcfunction(L, add_traceback);
    lua_insert(L, base);
    script_start_limits(s, L);
    if (s->depth++ == 0) {
        s->raised_status = RILL_OK;
        s->heap.failed_size = 0;
        s->caller_line = 0;
    }
    /* Set the C locale during the call: Lua uses the locale to read and write numbers, compare texts and classify letters. */
    void *locale = rill_enter_plain_locale();
    int code = lua_pcall(L, arguments, results, base);
    rill_leave_plain_locale(locale);
    s->L = L; /* restore the current thread: an error may have left a coroutine as the current one */
    s->has_hit_limit = code != LUA_OK && s->is_exhausted;
    if (code != LUA_OK && s->watch != NULL) s->watch_end(s, 0);
    if (--s->depth == 0) s->is_exhausted = 0;
    /* Charge a whole interval for the instructions since the last check of this thread's hook, which are not counted. */
    s->instructions = old_instructions - (s->depth > 0 ? SCRIPT_STRIDE : 0);
    s->cpu_start = old_cpu_start;
    s->next_clock_check = old_clock_check;
    lua_remove(L, base);
    return code == LUA_OK ? RILL_OK : fail_call(s, code);
}

rill_status script_protect(rill_script *s, lua_CFunction fn, void *user)
{
    if (!lua_checkstack(s->L, LUA_MINSTACK)) return fail_memory(s);
    lua_pushcfunction(s->L, fn);
    lua_pushlightuserdata(s->L, user);
    return script_call(s, 1, 0);
}

script_frame script_begin(rill_script *s, const int32_t *offset, int32_t items)
{
    const script_frame old_frame = s->frame;
    s->frame = (script_frame){++s->last_stamp, offset, items, offset != NULL ? offset[items] - offset[0] : 0};
    return old_frame;
}

void script_end(rill_script *s, script_frame frame)
{
    if (s->watch != NULL && frame.stamp == 0) s->watch_end(s, 1);
    s->frame = frame;
}

/* --- creating and freeing ----------------------------------------------------------------------------------------- */

void script_destroy(rill_script *s)
{
    if (s == NULL) return;
    if (s->main != NULL) lua_close(s->main);
    for (const script_part *part = script_parts; part->open != NULL; part++)
        if (part->close != NULL) part->close(s);
    script_heap_free(s);
    rill_free(s->ctx, s->path, s->path_size);
    rill_free(s->ctx, s, sizeof *s);
}

static int open_state(lua_State *L)
{
    script_open_limits(L);
    lua_pushboolean(L, 0); /* create the registry entry now, so that no memory is needed when it is set */
    lua_rawsetp(L, LUA_REGISTRYINDEX, &raised_key);
    for (const script_part *part = script_parts; part->open != NULL; part++) part->open(L);
    return 0;
}

rill_status script_make(rill_script **out, rill_context *ctx, const char *path, const rill_script_options *options)
{
    rill_script_options own = {0};
    if (options != NULL) {
        const rill_status status = rill_copy_struct(ctx, "rill_script_options", &own, sizeof own, options,
                                                    offsetof(rill_script_options, seconds));
        if (status < 0) return status;
    }
    rill_script *s = *out = rill_calloc(ctx, 1, sizeof *s);
    if (s == NULL) return rill_fail_memory(ctx, sizeof *s, "a script");
    s->ctx = ctx;
    s->result = LUA_NOREF;
    s->stride = SCRIPT_STRIDE;
    s->options = own;
    if (s->options.memory == 0) s->options.memory = SCRIPT_DEFAULT_MEMORY;
    if (s->options.seconds == 0) s->options.seconds = s->options.instructions < 0 ? -1 : DEFAULT_SECONDS;
    if (s->options.instructions == 0) s->options.instructions = DEFAULT_INSTRUCTIONS;
    s->path_size = strlen(path) + 1;
    s->path = rill_alloc(ctx, s->path_size);
    if (s->path != NULL) {
        memcpy(s->path, path, s->path_size);
        s->main = s->L = lua_newstate(script_allocate, s);
    }
    rill_status status = s->main == NULL ? rill_fail_memory(ctx, s->path_size, "a script's state") : RILL_OK;
    if (status == RILL_OK) status = script_protect(s, open_state, NULL);
    return RILL_OPENED(status, out, script_destroy);
}
