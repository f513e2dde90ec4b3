/* One allocation for several arrays; rill/carve.h. */
#include "rill/carve.h"

#include <string.h>

#include "internal.h"

rill_status rill_carve_reserve(rill_context *ctx, char **block, size_t *capacity, rill_carver *c)
{
    if (c->used > *capacity || *block == NULL) {
        size_t old_capacity = *capacity;
        /* The old block is freed first, so that the memory peak does not count both blocks. */
        rill_free(ctx, *block, old_capacity);
        *block = NULL;
        *capacity = 0;
        RILL__TRY(rill_grow(ctx, (void **)block, capacity,
                            c->used > old_capacity + old_capacity / 2 ? c->used : old_capacity + old_capacity / 2, 1,
                            "scratch memory"));
    }
    *c = (rill_carver){.base = *block};
    return RILL_OK;
}

/* Set *bytes to the size of `capacity` elements of all columns. Returns 1, or 0 on overflow. */
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
    size_t new_capacity = memory->capacity + memory->capacity / 2, bytes;
    if (new_capacity < need) new_capacity = need;
    if (new_capacity < 8) new_capacity = 8;
    if (!count_bytes(columns, n, new_capacity, &bytes)) return rill_fail_memory(ctx, SIZE_MAX, what);
    char *block = rill_alloc(ctx, bytes);
    if (block == NULL) return rill_fail_memory(ctx, bytes, what);
    rill_carver carver = {.base = block};
    for (size_t i = 0; i < n; i++) {
        char *fresh = rill_carve(&carver, new_capacity, columns[i].size), *old;
        size_t old_bytes = memory->capacity * columns[i].size;
        memcpy(&old, columns[i].place, sizeof old);
        if (old_bytes > 0) memcpy(fresh, old, old_bytes);
        memset(fresh + old_bytes, 0, new_capacity * columns[i].size - old_bytes);
        memcpy(columns[i].place, &fresh, sizeof fresh);
    }
    rill_columns_free(ctx, memory);
    *memory = (rill_columns){block, bytes, new_capacity};
    return RILL_OK;
}

void rill_columns_free(rill_context *ctx, rill_columns *memory)
{
    rill_free(ctx, memory->block, memory->bytes);
    *memory = (rill_columns){0};
}
