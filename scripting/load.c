/* Loading a script: reading the file, running it, keeping what it returns. */
#include <stdio.h>
#include <string.h>

#include "internal.h"
#include "state.h"

static rill_status run_text(rill_script *s, const char *text, size_t length)
{
    char name[1024];
    snprintf(name, sizeof name, "@%s", s->path);
    if (luaL_loadbufferx(s->L, text, length, name, "t") != LUA_OK) {
        rill_fail(s->ctx, RILL_ERR_PLUGIN, "%s", lua_tostring(s->L, -1));
        lua_pop(s->L, 1);
        return RILL_ERR_PLUGIN;
    }
    rill_status status = script_call(s, 0, 1);
    if (status == RILL_OK) s->result = luaL_ref(s->L, LUA_REGISTRYINDEX);
    return status;
}

rill_status rill_script_load_text(rill_script **out, rill_context *ctx, const char *name, const char *text,
                                  size_t length, const rill_script_options *options)
{
    rill_script *s;
    rill_status status = script_create(&s, ctx, name, options);
    if (status < 0) return status;
    status = run_text(s, text, length);
    if (status < 0) {
        script_destroy(s);
        return status;
    }
    *out = s; /* the context takes it over: see rill_context_defer() */
    return RILL_OK;
}

rill_status rill_script_load(rill_script **out, rill_context *ctx, const char *path, const rill_script_options *options)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) return rill_fail(ctx, RILL_ERR_NOT_FOUND, "script %s cannot be opened", path);
    rill_text text = {.ctx = ctx};
    char block[8192];
    size_t n;
    rill_status status = RILL_OK;
    while (status == RILL_OK && (n = fread(block, 1, sizeof block, file)) > 0) status = rill_text_append(&text, block, n);
    if (status == RILL_OK && ferror(file)) status = rill_fail(ctx, RILL_ERR_IO, "script %s cannot be read", path);
    fclose(file);
    if (status == RILL_OK) status = rill_script_load_text(out, ctx, path, text.data, text.length, options);
    rill_text_clear(&text);
    return status;
}
