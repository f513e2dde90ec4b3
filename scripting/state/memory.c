/* Memory of a Lua state: its limit, and small blocks carved out of chunks.
 *
 * Lua makes many blocks of a few dozen bytes. The context's allocator gives each 64 aligned bytes of its own, which takes as
 * long as everything else that such a script does; so blocks up to LARGEST bytes are carved from chunks and used again by
 * size. Larger ones are the context's. A chunk goes back when the script ends, or when room is short and nothing in it is used.
 *
 * Invariants: heap.memory is the sum of the sizes that Lua holds, at most the limit; heap.held is what the context gave for
 * them, at most a quarter more and SLACK.
 *
 * Allocating is work that the counting of instructions does not see, so it is charged here: one instruction per UNIT bytes,
 * and a pass over all that is held when a request is refused, since Lua then collects all garbage and asks again. A text, which one
 * instruction may compare, hash or read as a number, has a limit of its own. */
#include <stdlib.h>
#include <string.h>

#include "limits.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EACH_ALONE 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define EACH_ALONE 1
#endif
#ifndef EACH_ALONE
#define EACH_ALONE 0 /* 1: no chunks, so that the address sanitizer sees the end of every block, and its death */
#endif

enum {
    GRAIN = 8, /* what Lua asks of alignment */
    FINE = 512,
    COARSE = 128,
    LARGEST = EACH_ALONE ? 0 : FINE + COARSE * (SCRIPT_HEAP_CLASSES - FINE / GRAIN),
    CHUNK = 32 << 10,
    SLACK = 256 << 10,
    UNIT = 64,
    UNIT_OF_COLLECTING = 16,
    LARGE = 64 << 10, /* blocks at which the time is looked at */
    SHARE_OF_TEXT = 16,
    LEAST_TEXT = 1 << 20,
};

/* A free block of Lua's. */
struct script_block {
    script_block *next;
};

/* Stands at the beginning of its CHUNK bytes. */
struct script_chunk {
    script_chunk *next;
    size_t carved; /* bytes that were given out at least once, this header included */
    size_t unused; /* while trimming: bytes that nobody uses */
};

enum { HEADER = (sizeof(script_chunk) + GRAIN - 1) / GRAIN * GRAIN };

/* Classes grow by GRAIN up to FINE, then by COARSE up to LARGEST: as large as the arrays of a timestep usually are. */
static size_t class_of(size_t size)
{
    return size <= FINE ? (size - 1) / GRAIN : FINE / GRAIN + (size - FINE - 1) / COARSE;
}

static size_t size_of(size_t kind)
{
    return kind < FINE / GRAIN ? (kind + 1) * GRAIN : FINE + (kind - FINE / GRAIN + 1) * COARSE;
}

/* --- chunks going back ---------------------------------------------------------------------------------------------- */

/* The chunks by address, to find the one around a block. */
typedef struct chunk_index {
    script_chunk **chunk;
    size_t n;
} chunk_index;

static int by_address(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    return x < y ? -1 : x > y;
}

static script_chunk *chunk_around(const chunk_index *index, const script_block *block)
{
    size_t low = 0, high = index->n;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if ((const char *)index->chunk[middle] <= (const char *)block)
            low = middle;
        else
            high = middle;
    }
    return index->chunk[low];
}

static int is_empty(const script_chunk *chunk)
{
    return chunk->unused == CHUNK - HEADER;
}

static void count_unused(const script_heap *heap, const chunk_index *index)
{
    for (size_t i = 0; i < index->n; i++) index->chunk[i]->unused = CHUNK - index->chunk[i]->carved;
    for (size_t c = 0; c < SCRIPT_HEAP_CLASSES; c++)
        for (script_block *b = heap->free[c]; b != NULL; b = b->next) chunk_around(index, b)->unused += size_of(c);
}

static void forget_blocks_of_empty_chunks(script_heap *heap, const chunk_index *index)
{
    for (size_t c = 0; c < SCRIPT_HEAP_CLASSES; c++)
        for (script_block **b = &heap->free[c]; *b != NULL;) {
            if (is_empty(chunk_around(index, *b)))
                *b = (*b)->next;
            else
                b = &(*b)->next;
        }
}

static void release_empty_chunks(rill_script *s)
{
    script_heap *heap = &s->heap;
    for (script_chunk **link = &heap->chunks; *link != NULL;) {
        script_chunk *chunk = *link;
        if (!is_empty(chunk)) {
            link = &chunk->next;
            continue;
        }
        *link = chunk->next;
        heap->n_chunks--;
        heap->held -= CHUNK;
        rill_free(s->ctx, chunk, CHUNK);
    }
}

/* Give back chunks in which nothing is used. The time it takes goes with the number of free blocks. */
static void trim(rill_script *s)
{
    script_heap *heap = &s->heap;
    chunk_index index = {.n = heap->n_chunks};
    if (index.n > 0) index.chunk = rill_alloc(s->ctx, index.n * sizeof *index.chunk);
    if (index.chunk == NULL) return;
    size_t i = 0;
    for (script_chunk *c = heap->chunks; c != NULL; c = c->next) index.chunk[i++] = c;
    qsort(index.chunk, index.n, sizeof *index.chunk, by_address);
    count_unused(heap, &index);
    forget_blocks_of_empty_chunks(heap, &index);
    rill_free(s->ctx, index.chunk, index.n * sizeof *index.chunk);
    release_empty_chunks(s);
    heap->bump = heap->bump_end =
        NULL; /* the rest of a chunk that stays is counted as unused, and may go with it later */
    s->instructions -= (int64_t)(heap->held / UNIT);
}

void script_heap_finish(rill_script *s)
{
    for (script_chunk *next, *chunk = s->heap.chunks; chunk != NULL; chunk = next) {
        next = chunk->next;
        rill_free(s->ctx, chunk, CHUNK);
    }
    s->heap = (script_heap){0};
}

/* --- memory of the context ------------------------------------------------------------------------------------------ */

static int has_room(const rill_script *s, size_t size)
{
    size_t limit = s->options.memory;
    size_t most = limit < SIZE_MAX / 2 ? limit + limit / 4 + SLACK : SIZE_MAX;
    return size <= most && s->heap.held <= most - size;
}

static void *from_context(rill_script *s, size_t size)
{
    if (!has_room(s, size)) trim(s);
    int room = has_room(s, size);
    void *block = room ? rill_alloc(s->ctx, size) : NULL;
    if (block != NULL)
        s->heap.held += size;
    else
        s->heap.by_limit = !room;
    return block;
}

/* --- Lua's blocks --------------------------------------------------------------------------------------------------- */

/* What is left of the latest chunk becomes free blocks, the largest first. */
static void use_up(script_heap *heap)
{
    while (heap->bump < heap->bump_end) {
        size_t left = (size_t)(heap->bump_end - heap->bump), kind = class_of(left);
        if (size_of(kind) > left) kind--;
        script_block *rest = (void *)heap->bump;
        rest->next = heap->free[kind];
        heap->free[kind] = rest;
        heap->chunks->carved += size_of(kind);
        heap->bump += size_of(kind);
    }
}

static int add_chunk(rill_script *s)
{
    script_heap *heap = &s->heap;
    use_up(heap);
    script_chunk *chunk = from_context(s, CHUNK);
    if (chunk == NULL) return 0;
    *chunk = (script_chunk){.next = heap->chunks, .carved = HEADER};
    heap->chunks = chunk;
    heap->n_chunks++;
    heap->bump = (char *)chunk + HEADER;
    heap->bump_end = (char *)chunk + CHUNK;
    return 1;
}

static void *carve(rill_script *s, size_t size)
{
    script_heap *heap = &s->heap;
    script_block *block = heap->free[class_of(size)];
    if (block != NULL) {
        heap->free[class_of(size)] = block->next;
        return block;
    }
    size_t whole = size_of(class_of(size));
    if ((size_t)(heap->bump_end - heap->bump) < whole && !add_chunk(s)) return NULL;
    block = (void *)heap->bump;
    heap->bump += whole;
    heap->chunks->carved += whole;
    return block;
}

static void *get(rill_script *s, size_t size)
{
    void *block = size <= LARGEST ? carve(s, size) : from_context(s, size);
    if (block != NULL) s->heap.memory += size;
    return block;
}

static void put(rill_script *s, void *block, size_t size)
{
    if (block == NULL) return;
    s->heap.memory -= size;
    if (EACH_ALONE || size > LARGEST) {
        s->heap.held -= size;
        rill_free(s->ctx, block, size);
    } else {
        script_block *freed = block;
        freed->next = s->heap.free[class_of(size)];
        s->heap.free[class_of(size)] = freed;
    }
}

static int within_limit(const rill_script *s, size_t old_size, size_t new_size)
{
    if (new_size <= old_size) return 1;
    size_t more = new_size - old_size, limit = s->options.memory;
    return more <= limit && s->heap.memory <= limit - more;
}

size_t script_longest_text(const rill_script *s)
{
    size_t share = s->options.memory / SHARE_OF_TEXT;
    return share > LEAST_TEXT ? share : LEAST_TEXT;
}

/* Lua then collects all garbage and asks once more. */
static void *refuse(rill_script *s, size_t size, int why)
{
    s->heap.by_limit = why;
    s->heap.wanted = size;
    s->heap.had = s->heap.memory;
    s->instructions -= (int64_t)(s->heap.held / UNIT_OF_COLLECTING);
    script_hasten(s);
    return NULL;
}

void *script_allocate(void *user, void *block, size_t old_size, size_t new_size)
{
    rill_script *s = user;
    const int is_text = block == NULL &&
                        old_size == LUA_TSTRING; /* Lua passes a kind of object where there is no block */
    if (block == NULL) old_size = 0;
    if (new_size == 0) {
        put(s, block, old_size);
        return NULL;
    }
    if (block != NULL && old_size <= LARGEST && new_size <= LARGEST && class_of(old_size) == class_of(new_size)) {
        if (!within_limit(s, old_size, new_size)) return NULL;
        s->heap.memory += new_size - old_size;
        return block;
    }
    if (is_text && new_size > script_longest_text(s)) return refuse(s, new_size, 2);
    if (!within_limit(s, old_size, new_size)) return refuse(s, new_size, 1);
    void *fresh = get(s, new_size);
    if (fresh == NULL) return refuse(s, new_size, s->heap.by_limit);
    if (new_size > old_size) s->instructions -= (int64_t)(new_size / UNIT);
    if (new_size >= LARGE) script_hasten(s);
    if (block != NULL) {
        memcpy(fresh, block, old_size < new_size ? old_size : new_size);
        put(s, block, old_size);
    }
    return fresh;
}
