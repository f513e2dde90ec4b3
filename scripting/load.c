/* Loading a script: reading the file, running it, keeping what it returns. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "state.h"

/* --- running ------------------------------------------------------------------------------------------------------ */

typedef struct chunk {
    rill_script *script;
    const char *text;
    size_t length;
} chunk;

/* A byte order mark and a first line "#!..." are not Lua; the newline stays, so that lines keep their numbers. */
static void skip_beginning(chunk *c)
{
    static const char mark[] = "\xef\xbb\xbf";
    size_t skipped = c->length >= 3 && memcmp(c->text, mark, 3) == 0 ? 3 : 0;
    if (skipped < c->length && c->text[skipped] == '#')
        while (skipped < c->length && c->text[skipped] != '\n') skipped++;
    c->text += skipped;
    c->length -= skipped;
}

/* How Lua will name the chunk in its messages: what it makes of the path, which is on top of the stack. */
static void note_source(lua_State *L, rill_script *s)
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
    note_source(L, s);
    if (script_compile(L, c->text, c->length, lua_tostring(L, -1)) != LUA_OK) return lua_error(L);
    lua_call(L, 0, 1);
    s->result = luaL_ref(L, LUA_REGISTRYINDEX);
    return 0;
}

static void destroy_deferred(void *script)
{
    script_destroy(script);
}

/* Everything or nothing: what the chunk registered before it failed is forgotten before the script's tables go. */
rill_status rill_script_load_text(rill_script **out, rill_context *ctx, const char *name, const char *text,
                                  size_t length, const rill_script_options *options)
{
    *out = NULL;
    rill_script *s;
    rill_status status = script_create(&s, ctx, name, options);
    if (status < 0) return status;
    chunk c = {s, text, length};
    skip_beginning(&c);
    rill_registry_mark before = rill_registry_size(ctx);
    status = script_protect(s, run_chunk, &c);
    if (status == RILL_OK) status = rill_context_defer(ctx, destroy_deferred, s);
    if (status < 0) {
        rill_registry_restore(ctx, before);
        script_destroy(s);
        return status;
    }
    *out = s;
    return RILL_OK;
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static rill_status read_file(FILE *file, const char *path, size_t limit, rill_text *text)
{
    char block[8192];
    size_t n;
    while ((n = fread(block, 1, sizeof block, file)) > 0) {
        if (text->length > limit)
            return rill_fail(text->ctx, RILL_ERR_FORMAT, "script %s is larger than the %zu bytes it may hold", path,
                             limit);
        rill_status status = rill_text_append(text, block, n);
        if (status < 0) return status;
    }
    if (!ferror(file)) return RILL_OK;
    return rill_fail(text->ctx, RILL_ERR_IO, "script %s cannot be read: %s", path, strerror(errno));
}

static rill_status open_file(rill_context *ctx, const char *path, FILE **out)
{
    struct stat info;
    *out = fopen(path, "rb");
    if (*out == NULL)
        return rill_fail(ctx, errno == ENOENT ? RILL_ERR_NOT_FOUND : RILL_ERR_IO, "script %s cannot be opened: %s",
                         path, strerror(errno));
    if (fstat(fileno(*out), &info) != 0 || !S_ISDIR(info.st_mode)) return RILL_OK;
    fclose(*out);
    *out = NULL;
    return rill_fail(ctx, RILL_ERR_IO, "script %s is a directory: a file of Lua was expected", path);
}

rill_status rill_script_load(rill_script **out, rill_context *ctx, const char *path, const rill_script_options *options)
{
    FILE *file;
    rill_text text = {.ctx = ctx};
    *out = NULL;
    rill_status status = open_file(ctx, path, &file);
    if (status < 0) return status;
    size_t limit = options != NULL && options->memory != 0 ? options->memory : SCRIPT_DEFAULT_MEMORY;
    status = read_file(file, path, limit, &text);
    fclose(file);
    if (status == RILL_OK)
        status = rill_script_load_text(out, ctx, path, text.length > 0 ? text.data : "", text.length, options);
    rill_text_clear(&text);
    return status;
}
