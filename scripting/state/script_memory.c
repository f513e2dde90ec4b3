/* Allocator of a Lua state: a memory limit, and small blocks carved from chunks.
 *
 * The context's 64-byte aligned blocks are too slow for Lua's many small ones. Blocks up to MAX_CARVED_BLOCK bytes are therefore carved
 * from chunks, with free lists by size. A chunk returns to the context when the script ends, or when memory is short and all of its blocks
 * are free.
 *
 * Invariants: heap.memory is the size of all blocks that Lua holds, at most options.memory. heap.context_bytes is the memory that they take
 * from the context, at most 5/4 of options.memory plus SLACK.
 *
 * ALLOC_BYTES_PER_UNIT bytes count as one instruction. A refused request counts as a pass over all memory, because Lua then collects
 * garbage. Texts have a maximum length, because one instruction may compare, hash or parse one. A Lua thread's stack has a maximum size,
 * because a chain of __call metamethods moves its values without an instruction. */
#include <stdlib.h>
#include <string.h>

#include "limits.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITHOUT_CHUNKS 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define WITHOUT_CHUNKS 1
#endif
#ifndef WITHOUT_CHUNKS
/* 1: allocate each block from the context, for the address sanitizer; 0: carve small blocks from chunks */
#define WITHOUT_CHUNKS 0
#endif

enum {
    BLOCK_ALIGNMENT = 8, /* the alignment that Lua requires */
    FINE_CLASSES_MAX = 512,
    COARSE_CLASS_STEP = 128,
    MAX_CARVED_BLOCK = WITHOUT_CHUNKS ? 0
                                      : FINE_CLASSES_MAX + COARSE_CLASS_STEP * (SCRIPT_HEAP_CLASSES -
                                                                                FINE_CLASSES_MAX / BLOCK_ALIGNMENT),
    CHUNK = 32 << 10,
    SLACK = 256 << 10,
    ALLOC_BYTES_PER_UNIT = 64,
    COLLECT_BYTES_PER_UNIT = 16,
    CLOCK_CHECK_BYTES = 64 << 10, /* allocating a block of this many bytes or more checks the clock */
    STACK_SLOT_BYTES = 16,        /* bytes of a stack slot */
    TEXT_SHARE = 16,
    MIN_TEXT_LIMIT = 1 << 20,
};

/* A free block, which is an entry in the free list of its size class. */
struct script_block {
    script_block *next;
};

/* The header of a chunk, which is a block of CHUNK bytes from which small blocks are carved. */
struct script_chunk {
    script_chunk *next;
    size_t carved; /* bytes from the start of the chunk, header included, that were ever allocated */
    size_t unused; /* bytes in free blocks of the chunk; used only during release_unused_chunks() */
};

enum { HEADER = (sizeof(script_chunk) + BLOCK_ALIGNMENT - 1) / BLOCK_ALIGNMENT * BLOCK_ALIGNMENT };

/* Return the index of the size class of a block: steps of BLOCK_ALIGNMENT up to FINE_CLASSES_MAX, then of COARSE_CLASS_STEP. */
static size_t size_class(size_t size)
{
    return size <= FINE_CLASSES_MAX
               ? (size - 1) / BLOCK_ALIGNMENT
               : FINE_CLASSES_MAX / BLOCK_ALIGNMENT + (size - FINE_CLASSES_MAX - 1) / COARSE_CLASS_STEP;
}

static size_t class_size(size_t kind)
{
    return kind < FINE_CLASSES_MAX / BLOCK_ALIGNMENT
               ? (kind + 1) * BLOCK_ALIGNMENT
               : FINE_CLASSES_MAX + (kind - FINE_CLASSES_MAX / BLOCK_ALIGNMENT + 1) * COARSE_CLASS_STEP;
}

/* --- returning chunks ----------------------------------------------------------------------------------------------- */

/* Chunks sorted by address, to find a block's chunk. */
typedef struct chunk_index {
    script_chunk **chunk;
    size_t n;
} chunk_index;

static int compare_addresses(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    return x < y ? -1 : x > y;
}

static script_chunk *find_chunk(const chunk_index *index, const script_block *block)
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
        for (script_block *b = heap->free[c]; b != NULL; b = b->next) find_chunk(index, b)->unused += class_size(c);
}

static void unlink_empty_chunk_blocks(script_heap *heap, const chunk_index *index)
{
    for (size_t c = 0; c < SCRIPT_HEAP_CLASSES; c++)
        for (script_block **b = &heap->free[c]; *b != NULL;) {
            if (is_empty(find_chunk(index, *b)))
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
        heap->context_bytes -= CHUNK;
        rill_free(s->ctx, chunk, CHUNK);
    }
}

/* Return unused chunks to the context. Takes time proportional to the number of free blocks in all chunks. */
static void release_unused_chunks(rill_script *s)
{
    script_heap *heap = &s->heap;
    chunk_index index = {.n = heap->n_chunks};
    if (index.n > 0) index.chunk = rill_alloc(s->ctx, index.n * sizeof *index.chunk);
    if (index.chunk == NULL) return;
    size_t i = 0;
    for (script_chunk *c = heap->chunks; c != NULL; c = c->next) index.chunk[i++] = c;
    qsort(index.chunk, index.n, sizeof *index.chunk, compare_addresses);
    count_unused(heap, &index);
    unlink_empty_chunk_blocks(heap, &index);
    rill_free(s->ctx, index.chunk, index.n * sizeof *index.chunk);
    release_empty_chunks(s);
    /* The newest chunk may have been released, since its uncarved bytes counted as unused: carve no more blocks from it. */
    heap->bump = heap->bump_end = NULL;
    s->instructions -= (int64_t)(heap->context_bytes / ALLOC_BYTES_PER_UNIT);
}

void script_heap_free(rill_script *s)
{
    for (script_chunk *next, *chunk = s->heap.chunks; chunk != NULL; chunk = next) {
        next = chunk->next;
        rill_free(s->ctx, chunk, CHUNK);
    }
    s->heap = (script_heap){0};
}

/* --- memory of the context ------------------------------------------------------------------------------------------ */

static int fits_context_limit(const rill_script *s, size_t size)
{
    size_t limit = s->options.memory;
    size_t max_bytes = limit < SIZE_MAX / 2 ? limit + limit / 4 + SLACK : SIZE_MAX;
    return size <= max_bytes && s->heap.context_bytes <= max_bytes - size;
}

static void *alloc_from_context(rill_script *s, size_t size)
{
    if (!fits_context_limit(s, size)) release_unused_chunks(s);
    int fits_limit = fits_context_limit(s, size);
    void *block = fits_limit ? rill_alloc(s->ctx, size) : NULL;
    if (block != NULL)
        s->heap.context_bytes += size;
    else
        s->heap.failed_limit = !fits_limit;
    return block;
}

/* --- Lua's blocks --------------------------------------------------------------------------------------------------- */

/* Turn the unused bytes of the newest chunk into free blocks, the largest possible ones first. */
static void free_chunk_rest(script_heap *heap)
{
    while (heap->bump < heap->bump_end) {
        size_t n_left = (size_t)(heap->bump_end - heap->bump), kind = size_class(n_left);
        if (class_size(kind) > n_left) kind--;
        script_block *rest = (void *)heap->bump;
        rest->next = heap->free[kind];
        heap->free[kind] = rest;
        heap->chunks->carved += class_size(kind);
        heap->bump += class_size(kind);
    }
}

static int add_chunk(rill_script *s)
{
    script_heap *heap = &s->heap;
    free_chunk_rest(heap);
    script_chunk *chunk = alloc_from_context(s, CHUNK);
    if (chunk == NULL) return 0;
    *chunk = (script_chunk){.next = heap->chunks, .carved = HEADER};
    heap->chunks = chunk;
    heap->n_chunks++;
    heap->bump = (char *)chunk + HEADER;
    heap->bump_end = (char *)chunk + CHUNK;
    return 1;
}

static void *carve_block(rill_script *s, size_t size)
{
    script_heap *heap = &s->heap;
    script_block *block = heap->free[size_class(size)];
    if (block != NULL) {
        heap->free[size_class(size)] = block->next;
        return block;
    }
    size_t block_size = class_size(size_class(size));
    if ((size_t)(heap->bump_end - heap->bump) < block_size && !add_chunk(s)) return NULL;
    block = (void *)heap->bump;
    heap->bump += block_size;
    heap->chunks->carved += block_size;
    return block;
}

static void *take_block(rill_script *s, size_t size)
{
    void *block = size <= MAX_CARVED_BLOCK ? carve_block(s, size) : alloc_from_context(s, size);
    if (block != NULL) s->heap.memory += size;
    return block;
}

static void release_block(rill_script *s, void *block, size_t size)
{
    if (block == NULL) return;
    s->heap.memory -= size;
    if (WITHOUT_CHUNKS || size > MAX_CARVED_BLOCK) {
        s->heap.context_bytes -= size;
        rill_free(s->ctx, block, size);
    } else {
        script_block *freed = block;
        freed->next = s->heap.free[size_class(size)];
        s->heap.free[size_class(size)] = freed;
    }
}

static int within_limit(const rill_script *s, size_t old_size, size_t new_size)
{
    if (new_size <= old_size) return 1;
    size_t more = new_size - old_size, limit = s->options.memory;
    return more <= limit && s->heap.memory <= limit - more;
}

size_t script_max_text(const rill_script *s)
{
    size_t share = s->options.memory / TEXT_SHARE;
    return share > MIN_TEXT_LIMIT ? share : MIN_TEXT_LIMIT;
}

/* --- Lua's stacks ------------------------------------------------------------------------------------------------- */

/* Return the stack address of a frame's function (first member of Lua's frame); an offset while Lua 5.4.6 and later move a stack. */
static uintptr_t frame_address(const lua_Debug *frame)
{
    uintptr_t address;
    memcpy(&address, frame->i_ci, sizeof address);
    return address;
}

/* Return the number of stack slots that the thread uses, not counting a few at the bottom of the stack. */
static size_t slots_in_use(lua_State *L)
{
    lua_Debug inner, outer;
    int low = 0, high = 1;
    if (!lua_getstack(L, 0, &inner)) return (size_t)lua_gettop(L);
    while (lua_getstack(L, high, &outer)) high *= 2;
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        if (lua_getstack(L, middle, &outer))
            low = middle;
        else
            high = middle;
    }
    lua_getstack(L, low, &outer);
    return (size_t)(frame_address(&inner) - frame_address(&outer)) / STACK_SLOT_BYTES + (size_t)lua_gettop(L) + 1;
}

/* Return 1 if this request grows the running thread's stack. Lua 5.4.3 to 5.4.5 do not name the old block. There the new size is twice the
 * old number of slots plus five, an odd number that almost no table has. About half of the old stack is then in use. */
static int is_stack(rill_script *s, const void *block, size_t old_size, size_t new_size)
{
    enum { MAX_FRAME_VARIABLES = 300 };
    lua_Debug frame;
    if (s->L == NULL || new_size <= (size_t)SCRIPT_SHORT_STACK * STACK_SLOT_BYTES || new_size <= old_size) return 0;
    if (!lua_getstack(s->L, 0, &frame)) return 0;
    if (block != NULL) return frame_address(&frame) < old_size || frame_address(&frame) - (uintptr_t)block < old_size;
    return new_size / STACK_SLOT_BYTES % 2 == 1 && new_size % STACK_SLOT_BYTES == 0 &&
           new_size / STACK_SLOT_BYTES <= 4 * (slots_in_use(s->L) + MAX_FRAME_VARIABLES);
}

int script_reserve_stack(lua_State *L, lua_Integer n)
{
    enum { SMALL_STACK_REQUEST = SCRIPT_SHORT_STACK / 2, STACK_RESERVE = 100 };
    if (n <= SMALL_STACK_REQUEST) return lua_checkstack(L, n > 0 ? (int)n : 0);
    const size_t used = slots_in_use(L), max_slots = SCRIPT_MAX_SLOTS - STACK_RESERVE;
    if (used > max_slots || (size_t)n > max_slots - used) return 0;
    /* If doubling would exceed the stack's maximum, grow it to the maximum. Lua 5.4.7 fails at that size; then request n slots. */
    if (!lua_checkstack(L, used + (size_t)n > max_slots / 2 ? (int)(max_slots - used) : (int)n) &&
        !lua_checkstack(L, (int)n))
        return 0;
    script_check_at_calls(L);
    return 1;
}

/* --- Lua's allocator ---------------------------------------------------------------------------------------------- */

/* Record which limit the request exceeds and return NULL, after which Lua collects all garbage and tries once more. */
static void *refuse_request(rill_script *s, size_t size, int why)
{
    s->heap.failed_limit = why;
    s->heap.failed_size = size;
    s->heap.used_at_failure = s->heap.memory;
    s->instructions -= (int64_t)(s->heap.context_bytes / COLLECT_BYTES_PER_UNIT);
    script_check_seconds(s);
    return NULL;
}

void *script_allocate(void *user, void *block, size_t old_size, size_t new_size)
{
    rill_script *s = user;
    /* if there is no old block, Lua passes the type of the new object in old_size */
    const int is_text = block == NULL && old_size == LUA_TSTRING;
    const int is_untyped = block == NULL && old_size == 0;
    if (block == NULL) old_size = 0;
    if (new_size == 0) {
        release_block(s, block, old_size);
        return NULL;
    }
    if (block != NULL && old_size <= MAX_CARVED_BLOCK && new_size <= MAX_CARVED_BLOCK &&
        size_class(old_size) == size_class(new_size)) {
        if (!within_limit(s, old_size, new_size)) return NULL;
        s->heap.memory += new_size - old_size;
        return block;
    }
    if (is_text && new_size > script_max_text(s)) return refuse_request(s, new_size, 2);
    if ((block != NULL || is_untyped) && is_stack(s, block, old_size, new_size)) {
        if (new_size > (size_t)SCRIPT_MAX_SLOTS * STACK_SLOT_BYTES) return refuse_request(s, new_size, 3);
        if (new_size / STACK_SLOT_BYTES > s->heap.max_stack_slots)
            s->heap.max_stack_slots = new_size / STACK_SLOT_BYTES;
        script_check_at_calls(s->L);
    }
    if (!within_limit(s, old_size, new_size)) return refuse_request(s, new_size, 1);
    void *fresh = take_block(s, new_size);
    if (fresh == NULL) return refuse_request(s, new_size, s->heap.failed_limit);
    if (is_text && new_size >= CLOCK_CHECK_BYTES && s->L != NULL) script_note_long_text(s->L, new_size);
    if (new_size > old_size) s->instructions -= (int64_t)(new_size / ALLOC_BYTES_PER_UNIT);
    if (new_size >= CLOCK_CHECK_BYTES) script_check_seconds(s);
    if (block != NULL) {
        memcpy(fresh, block, old_size < new_size ? old_size : new_size);
        release_block(s, block, old_size);
    }
    return fresh;
}
