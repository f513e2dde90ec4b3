/* One allocation for several arrays; every array begins at a cache line.
 *
 *   scratch   temporary arrays of a call. The layout function runs twice: first without a block, to add up
 *             sizes, then with the block, to set the pointers. The block only grows. Its content is lost when it grows.
 *
 *                 rill_carver carver = {0};
 *                 lay_out(&work, &carver);
 *                 status = rill_carve_reserve(ctx, &block, &room, &carver);
 *                 lay_out(&work, &carver);
 *
 *   columns   parallel arrays of one capacity that grow and keep their content.
 *
 *                 const rill_array columns[] = {RILL_ARRAY(table->id), RILL_ARRAY(table->size)};
 *                 status = rill_columns_grow(ctx, &table->memory, need, columns, 2, "the table");
 *
 * Threads: as for the context.
 * Stability: stable within a major version. */
#ifndef RILL_CARVE_H
#define RILL_CARVE_H

#include "rill/context.h"

RILL_C_BEGIN

typedef struct rill_carver {
    char *base;  /* start of the block; NULL while sizes are added up */
    size_t used; /* bytes of the block that arrays use so far */
} rill_carver;

static inline void *rill_carve(rill_carver *c, size_t count, size_t size)
{
    void *array = c->base != NULL ? c->base + c->used : NULL;
    c->used += (count * size + 63) / 64 * 64;
    return array;
}

/* Grow *block to at least c->used bytes, and set *c to its start. The content is lost. On failure *block is NULL.
 *   RILL_OK · RILL_ERR_MEMORY (recorded) */
RILL_API rill_status rill_carve_reserve(rill_context *ctx, char **block, size_t *capacity, rill_carver *c);

/* A column: the address of the pointer to its elements, and the size of one element. */
typedef struct rill_array {
    void *place;
    size_t size;
} rill_array;
#define RILL_ARRAY(pointer)                   \
    (rill_array)                              \
    {                                         \
        (void *)&(pointer), sizeof *(pointer) \
    }

/* The memory of a table's columns; zero-initialise. */
typedef struct rill_columns {
    char *block;
    size_t bytes, capacity; /* size of the block in bytes; elements per column */
} rill_columns;

/* Grow n columns to at least `need` elements. Content is kept; new elements are zero. On failure nothing changes.
 *   what: the table's name in errors
 *   RILL_OK · RILL_ERR_MEMORY (recorded) */
RILL_API rill_status rill_columns_grow(rill_context *ctx, rill_columns *memory, size_t need, const rill_array *columns,
                                       size_t n, const char *what);
/* Free the memory; the columns' pointers become invalid. */
RILL_API void rill_columns_free(rill_context *ctx, rill_columns *memory);

RILL_C_END

#endif
