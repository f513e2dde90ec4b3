/* Memory for arrays that belong together; rill/carve.h says how. */
#include "rill/carve.h"

#include <string.h>

#include "internal.h"

rill_status rill_carve_again(rill_context *ctx, char **block, size_t *room, rill_carver *c)
{
    if (c->used > *room || *block == NULL) {
        size_t had = *room;
        /* Freed first, so that both never count together. */
        rill_free(ctx, *block, had);
        *block = NULL;
        *room = 0;
        RILL__TRY(rill_grow(ctx, (void **)block, room, c->used > had + had / 2 ? c->used : had + had / 2, 1,
                            "scratch memory"));
    }
    *c = (rill_carver){.base = *block};
    return RILL_OK;
}

/* Sets *bytes to what `capacity` elements take; 0 when they cannot be counted. */
static int count_bytes(const rill_array *columns, size_t n, size_t capacity, size_t *bytes)
{
    *bytes = 0;
    for (size_t i = 0; i < n; i++) {
        size_t column;
        if (__builtin_mul_overflow(capacity, columns[i].size, &column) || column > SIZE_MAX - 63) return 0;
        if (__builtin_add_overflow(*bytes, (column + 63) / 64 * 64, bytes)) return 0;
    }
    return 1;
}

rill_status rill_columns_grow(rill_context *ctx, rill_columns *memory, size_t need, const rill_array *columns, size_t n,
                              const char *what)
{
    if (need <= memory->capacity) return RILL_OK;
    size_t wanted = memory->capacity + memory->capacity / 2, bytes;
    if (wanted < need) wanted = need;
    if (wanted < 8) wanted = 8;
    if (!count_bytes(columns, n, wanted, &bytes)) return rill_fail_memory(ctx, SIZE_MAX, what);
    char *block = rill_alloc(ctx, bytes);
    if (block == NULL) return rill_fail_memory(ctx, bytes, what);
    rill_carver carver = {.base = block};
    for (size_t i = 0; i < n; i++) {
        char *fresh = rill_carve(&carver, wanted, columns[i].size), *old;
        size_t had = memory->capacity * columns[i].size;
        memcpy(&old, columns[i].place, sizeof old);
        if (had > 0) memcpy(fresh, old, had);
        memset(fresh + had, 0, wanted * columns[i].size - had);
        memcpy(columns[i].place, &fresh, sizeof fresh);
    }
    rill_columns_free(ctx, memory);
    *memory = (rill_columns){block, bytes, wanted};
    return RILL_OK;
}

void rill_columns_free(rill_context *ctx, rill_columns *memory)
{
    rill_free(ctx, memory->block, memory->bytes);
    *memory = (rill_columns){0};
}
