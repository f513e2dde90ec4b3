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
 * instruction may compare, hash or read as a number, has a limit of its own; so has the stack of a thread, since a chain of __call moves
 * all values above the called one at each of its links, without an instruction. A stack that has grown needs no more memory for that, so
 * it is kept from growing.
 *
 * Divisions: chunks going back · memory of the context · Lua's blocks · stacks · requests. */
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
    SLOT = 16,        /* bytes of a value on a stack */
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

/* --- stacks ------------------------------------------------------------------------------------------------------- */

/* Where the function of a frame stands: a frame begins with its address or, while Lua 5.4.6 and later move a stack, with how far from the
 * beginning of the stack it is. */
static uintptr_t place_of(const lua_Debug *frame)
{
    uintptr_t at;
    memcpy(&at, frame->i_ci, sizeof at);
    return at;
}

/* Values on the stack of the thread, but for a few at its beginning. */
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
    return (size_t)(place_of(&inner) - place_of(&outer)) / SLOT + (size_t)lua_gettop(L) + 1;
}

/* Whether the stack of the running thread is what is to grow. Lua 5.4.3 to 5.4.5 ask for a new block without naming the one to be
 * copied. It is twice as large as the old one and five more, which makes it odd, as hardly a table is; before it may be asked for, half of
 * the old one is used at least, up to the variables of one function. */
static int is_stack(rill_script *s, const void *block, size_t old_size, size_t new_size)
{
    enum { VARIABLES = 300 };
    lua_Debug frame;
    if (s->L == NULL || new_size <= (size_t)SCRIPT_SHORT_STACK * SLOT || new_size <= old_size) return 0;
    if (!lua_getstack(s->L, 0, &frame)) return 0;
    if (block != NULL) return place_of(&frame) < old_size || place_of(&frame) - (uintptr_t)block < old_size;
    return new_size / SLOT % 2 == 1 && new_size % SLOT == 0 && new_size / SLOT <= 4 * (slots_in_use(s->L) + VARIABLES);
}

int script_has_room(lua_State *L, lua_Integer n)
{
    enum { FEW = SCRIPT_SHORT_STACK / 2, BEGINNING = 100 };
    if (n <= FEW) return lua_checkstack(L, n > 0 ? (int)n : 0);
    const size_t used = slots_in_use(L), most = SCRIPT_MAX_SLOTS - BEGINNING;
    if (used > most || (size_t)n > most - used) return 0;
    /* What is to come on top of so many would double the stack, so it becomes as large as it may. Where it is so already, Lua 5.4.7 makes
     * it no larger, but has room for fewer. */
    if (!lua_checkstack(L, used + (size_t)n > most / 2 ? (int)(most - used) : (int)n) && !lua_checkstack(L, (int)n))
        return 0;
    script_watch_calls(L);
    return 1;
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

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
    const int of_no_kind = block == NULL && old_size == 0;
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
    if ((block != NULL || of_no_kind) && is_stack(s, block, old_size, new_size)) {
        if (new_size > (size_t)SCRIPT_MAX_SLOTS * SLOT) return refuse(s, new_size, 3);
        if (new_size / SLOT > s->heap.slots) s->heap.slots = new_size / SLOT;
        script_watch_calls(s->L);
    }
    if (!within_limit(s, old_size, new_size)) return refuse(s, new_size, 1);
    void *fresh = get(s, new_size);
    if (fresh == NULL) return refuse(s, new_size, s->heap.by_limit);
    if (is_text && new_size >= LARGE && s->L != NULL) script_watch_text(s->L, new_size);
    if (new_size > old_size) s->instructions -= (int64_t)(new_size / UNIT);
    if (new_size >= LARGE) script_hasten(s);
    if (block != NULL) {
        memcpy(fresh, block, old_size < new_size ? old_size : new_size);
        put(s, block, old_size);
    }
    return fresh;
}
