/* Creates scripts: runs the file and stores the value that it returns. The only file that depends on all modules of
 * scripting/. */
#include <string.h>

#include "config/run_config.h"
#include "native/native.h"
#include "rill/file.h"

const script_part script_parts[] = {
    {script_open_libraries, NULL},
    {script_open_arrays, script_watch_free},
    {script_open_array_arithmetic, NULL},
    {script_open_array_segments, NULL},
    {script_open_heuristics, script_tables_free},
    {script_open_scorers, NULL},
    {script_open_schedulers, NULL},
    {script_open_domains, NULL},
    {script_open_config, NULL},
    {script_open_ffi, script_native_free},
    {script_open_names, NULL},
    {script_protect_rill, NULL},
    {NULL, NULL},
};

/* --- running a script --------------------------------------------------------------------------------------------- */

typedef struct chunk {
    rill_script *script;
    const char *text;
    size_t length;
} chunk;

/* Skip a byte order mark and a first line "#!...", but not its newline: line numbers stay right. */
static void skip_bom_and_shebang(chunk *c)
{
    static const char mark[] = "\xef\xbb\xbf";
    size_t skipped = c->length >= 3 && memcmp(c->text, mark, 3) == 0 ? 3 : 0;
    if (skipped < c->length && c->text[skipped] == '#')
        while (skipped < c->length && c->text[skipped] != '\n') skipped++;
    c->text += skipped;
    c->length -= skipped;
}

/* Store the script's name in the form that Lua's messages use. The path is on top of the stack. */
static void store_chunk_name(lua_State *L, rill_script *s)
{
    lua_Debug record;
    if (luaL_loadbufferx(L, "", 0, lua_tostring(L, -1), "t") != LUA_OK) lua_error(L);
    lua_getinfo(L, ">S", &record);
    memcpy(s->source, record.short_src, sizeof s->source);
}

static int run_chunk(lua_State *L)
{
    const chunk *c = lua_touserdata(L, 1);
    rill_script *s = c->script;
    lua_pushfstring(L, "@%s", s->path);
    store_chunk_name(L, s);
    if (script_compile(L, c->text, c->length, lua_tostring(L, -1)) != LUA_OK) return lua_error(L);
    lua_call(L, 0, 1);
    s->result = luaL_ref(L, LUA_REGISTRYINDEX);
    return 0;
}

static void destroy_deferred(void *script)
{
    script_destroy(script);
}

/* Load a script from a text. If running the script fails, everything that it registered is unregistered before its tables are freed. */
rill_status rill_script_load_text(rill_script **out, rill_context *ctx, const char *name, const char *text,
                                  size_t length, const rill_script_options *options)
{
    *out = NULL;
    rill_script *s;
    rill_status status = script_make(&s, ctx, name, options);
    if (status < 0) return status;
    chunk c = {s, text, length};
    skip_bom_and_shebang(&c);
    rill_registry_mark old_registry = rill_registry_size(ctx);
    status = script_protect(s, run_chunk, &c);
    if (status == RILL_OK) status = rill_context_defer(ctx, destroy_deferred, s);
    if (status < 0) {
        rill_registry_restore(ctx, old_registry);
        script_destroy(s);
        return status;
    }
    *out = s;
    return RILL_OK;
}

int rill_script_returned(const rill_script *s)
{
    return s->result != LUA_NOREF && s->result != LUA_REFNIL;
}

/* --- loading a file ----------------------------------------------------------------------------------------------- */

rill_status rill_script_load(rill_script **out, rill_context *ctx, const char *path, const rill_script_options *options)
{
    rill_text text = {.ctx = ctx};
    const size_t limit = options != NULL && options->memory != 0 ? options->memory : SCRIPT_DEFAULT_MEMORY;
    *out = NULL;
    rill_status status = rill_file_read(&text, path, limit);
    if (status == RILL_OK) status = rill_script_load_text(out, ctx, path, text.data, text.length, options);
    rill_text_clear(&text);
    return status;
}
