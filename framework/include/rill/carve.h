/* carve.h: memory for arrays that belong together.
 *
 * Two ways, both with one block for all arrays, each of which starts on a cache line:
 *
 *   scratch   what a call needs. A layout function runs twice: with no base to add up sizes, then with the block to set pointers.
 *             The block grows and stays, so that the steady state allocates nothing; content does not survive growth.
 *
 *                 rill_carver carver = {0};
 *                 lay_out(&work, &carver);
 *                 status = rill_carve_reserve(ctx, &block, &room, &carver);
 *                 lay_out(&work, &carver);
 *
 *   columns   parallel arrays of one capacity whose content survives growth: a table that is added to.
 *
 *                 const rill_array columns[] = {RILL_ARRAY(table->id), RILL_ARRAY(table->size)};
 *                 status = rill_columns_grow(ctx, &table->memory, need, columns, 2, "the table");
 *
 * Threads: as for the context. Stability: stable within a major version. */
#ifndef RILL_CARVE_H
#define RILL_CARVE_H

#include "rill/context.h"

RILL_C_BEGIN

typedef struct rill_carver {
    char *base; /* NULL while sizes are added up */
    size_t used;
} rill_carver;

static inline void *rill_carve(rill_carver *c, size_t count, size_t size)
{
    void *array = c->base != NULL ? c->base + c->used : NULL;
    c->used += (count * size + 63) / 64 * 64;
    return array;
}

/* Room for c->used bytes at *block, of *room bytes so far; then *c is at its start. Where it grows its content is lost; on
 * failure there is no block.
 *   RILL_OK · RILL_ERR_MEMORY (recorded) */
RILL_API rill_status rill_carve_reserve(rill_context *ctx, char **block, size_t *room, rill_carver *c);

/* An array of a table, a column: where its pointer is, and the size of one element. */
typedef struct rill_array {
    void *place;
    size_t size;
} rill_array;
#define RILL_ARRAY(pointer)                   \
    (rill_array)                              \
    {                                         \
        (void *)&(pointer), sizeof *(pointer) \
    }

/* The memory behind a table's columns; zeroed at first. */
typedef struct rill_columns {
    char *block;
    size_t bytes, capacity; /* elements of each column */
} rill_columns;

/* Make room for `need` elements in each of the n columns; grows by half at least. What was there stays, what is new is zero.
 * `what` names the thing in the error. On failure all is as before.
 *   RILL_OK · RILL_ERR_MEMORY (recorded) */
RILL_API rill_status rill_columns_grow(rill_context *ctx, rill_columns *memory, size_t need, const rill_array *columns,
                                       size_t n, const char *what);
/* Give the memory back; the columns' pointers are the caller's to forget. */
RILL_API void rill_columns_free(rill_context *ctx, rill_columns *memory);

RILL_C_END

#endif
