/* The default allocator: large blocks are mappings (mmap), small ones come from the C library.
 *
 * Large blocks use huge pages (madvise), because state tables are read at random. A growing block keeps its pages (mremap). Under
 * sanitizers all blocks come from the C library. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "internal.h"

enum { ALIGNMENT = 64, HUGE_PAGE = 2 << 20, MIN_MAPPED = HUGE_PAGE / 2 };

#if defined(__has_feature)
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif
#if SANITIZED
static const int use_mmap = 0;
#else
static const int use_mmap = 1;
#endif

static int is_mapped(size_t size)
{
    return use_mmap && size >= MIN_MAPPED;
}

static size_t round_to_pages(size_t size)
{
    const size_t page = 64 << 10; /* the largest size of small pages on supported processors */
    return (size + page - 1) / page * page;
}

/* Map pages aligned to a huge page; the excess before and after is unmapped at once. NULL: out of memory. */
static void *map_pages(size_t size, int access)
{
    const size_t more = size + HUGE_PAGE;
    char *block = mmap(NULL, more, access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) return NULL;
    const size_t n_before = (HUGE_PAGE - (uintptr_t)block % HUGE_PAGE) % HUGE_PAGE;
    if (n_before > 0) munmap(block, n_before);
    block += n_before;
    munmap(block + size, more - n_before - size);
    return block;
}

/* Request huge pages for the whole block, aligned or not: mremap can only move a single mapping. */
static void *advise_huge_pages(void *block, size_t size)
{
#if defined(MADV_HUGEPAGE)
    if (block != NULL) madvise(block, size, MADV_HUGEPAGE);
#endif
    return block;
}

/* Resize a block from `pages` to `wanted` bytes, both whole pages; the block may move. NULL: the system refused, and the block is
 * unchanged. */
static void *remap_pages(void *block, size_t pages, size_t wanted)
{
#if defined(MREMAP_FIXED)
    if (mremap(block, pages, wanted, 0) != MAP_FAILED) return advise_huge_pages(block, wanted);
    void *place = map_pages(wanted, PROT_NONE);
    if (place == NULL) return NULL;
    if (mremap(block, pages, wanted, MREMAP_MAYMOVE | MREMAP_FIXED, place) != MAP_FAILED)
        return advise_huge_pages(place, wanted);
    munmap(place, wanted);
#endif
    return NULL;
}

static void free_block(void *block, size_t size)
{
    if (block != NULL && is_mapped(size))
        munmap(block, round_to_pages(size));
    else
        free(block);
}

/* A block that changes its size is copied, unless both sizes are large enough for remap_pages(). realloc() does not keep the alignment. */
void *rill__default_allocate(void *user, void *block, size_t old_size, size_t new_size)
{
    (void)user;
    if (new_size == 0) {
        free_block(block, old_size);
        return NULL;
    }
    if (new_size > SIZE_MAX - 2 * HUGE_PAGE) return NULL;
    void *fresh = NULL;
    if (block != NULL && old_size >= HUGE_PAGE && is_mapped(new_size))
        fresh = remap_pages(block, round_to_pages(old_size), round_to_pages(new_size));
    if (fresh != NULL) return fresh;
    const size_t rounded = (new_size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT, pages = round_to_pages(new_size);
    fresh = is_mapped(new_size) ? advise_huge_pages(map_pages(pages, PROT_READ | PROT_WRITE), pages)
                                : aligned_alloc(ALIGNMENT, rounded);
    if (fresh == NULL) return NULL;
    if (block != NULL) {
        memcpy(fresh, block, old_size < new_size ? old_size : new_size);
        free_block(block, old_size);
    }
    return fresh;
}
