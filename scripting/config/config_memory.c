/* The memory of configurations: one list of blocks each, freed together. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"

typedef struct block {
    struct block *next;
    size_t size; /* of the whole block */
    _Alignas(max_align_t) char data[];
} block;

typedef struct owner {
    rill_script_config config; /* first: callers hold a pointer to it */
    rill_context *ctx;
    block *blocks;
} owner;

rill_script_config *script_config_new(rill_script *s)
{
    owner *o = rill_calloc(s->ctx, 1, sizeof *o);
    if (o == NULL) {
        rill_fail_memory(s->ctx, sizeof *o, "a configuration");
        return NULL;
    }
    o->ctx = s->ctx;
    o->config.struct_size = sizeof o->config;
    o->config.script = s->path;
    return &o->config;
}

void *script_config_alloc(rill_script_config *config, size_t count, size_t size)
{
    owner *o = (owner *)config;
    if (size != 0 && count > SIZE_MAX / 2 / size) {
        rill_fail(o->ctx, RILL_ERR_MEMORY, "a configuration of %zu parts is too large", count);
        return NULL;
    }
    size_t whole = offsetof(block, data) + count * size;
    block *b = rill_calloc(o->ctx, 1, whole);
    if (b == NULL) {
        rill_fail_memory(o->ctx, whole, "a configuration");
        return NULL;
    }
    b->size = whole;
    b->next = o->blocks;
    o->blocks = b;
    return b->data;
}

const char *script_config_copy(rill_script_config *config, const char *text, size_t length)
{
    char *copy = script_config_alloc(config, length + 1, 1);
    if (copy != NULL) memcpy(copy, text, length);
    return copy;
}

void rill_script_config_free(rill_script_config *config)
{
    if (config == NULL) return;
    owner *o = (owner *)config;
    while (o->blocks != NULL) {
        block *b = o->blocks;
        o->blocks = b->next;
        rill_free(o->ctx, b, b->size);
    }
    rill_free(o->ctx, o, sizeof *o);
}

/* The shortest of two forms that reads back as the same number. Whole numbers have no point and no exponent. */
static int number_text(lua_State *L, int index, char *out, size_t size)
{
    int whole;
    lua_Integer integer = lua_tointegerx(L, index, &whole);
    if (whole) return snprintf(out, size, "%lld", (long long)integer);
    double number = lua_tonumber(L, index);
    if (!isfinite(number)) return -1;
    int length = snprintf(out, size, "%.15g", number);
    return strtod(out, NULL) == number ? length : snprintf(out, size, "%.17g", number);
}

rill_status script_config_scalar(lua_State *L, int index, rill_script_config *config, const char **out)
{
    char number[64];
    size_t length;
    const char *text = NULL;
    *out = NULL;
    switch (lua_type(L, index)) {
    case LUA_TSTRING: text = lua_tolstring(L, index, &length); break;
    case LUA_TBOOLEAN:
        text = lua_toboolean(L, index) ? "true" : "false";
        length = strlen(text);
        break;
    case LUA_TNUMBER: {
        int written = number_text(L, index, number, sizeof number);
        if (written < 0) return RILL_OK;
        text = number;
        length = (size_t)written;
        break;
    }
    default: return RILL_OK;
    }
    if (memchr(text, '\0', length) != NULL) return RILL_OK; /* what is read as text later would be cut short */
    *out = script_config_copy(config, text, length);
    return *out == NULL ? RILL_ERR_MEMORY : RILL_OK;
}
