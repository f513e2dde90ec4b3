/* Answers that are kept: an exact cache from what was asked, as bytes, to what was answered, as a text. An answer never depends on what
 * is decoded beside it, so a kept one is what would be decoded again. The entries used last stay; their keys, answers and what keeps them
 * take no more than a number of bytes. Threads: one at a time. */
#ifndef CLI_SERVE_CACHE_H
#define CLI_SERVE_CACHE_H

#include <stddef.h>
#include <stdint.h>

typedef struct cache cache;

/* most: bytes; 0: nothing is kept. NULL: out of memory */
cache *cache_create(size_t max_bytes);
void cache_destroy(cache *c); /* NULL is allowed */

/* A number by which keys are found. No client knows what it depends on, so none can choose keys that share one. */
uint64_t cache_hash(const cache *c, const void *key, size_t length);

/* The answer, until the next call of cache_add(); NULL: there is none. */
const char *cache_find(cache *c, uint64_t hash, const void *key, size_t length);
/* Keep a copy of both; what is too large, or what there is no memory for, is not kept. */
void cache_add(cache *c, uint64_t hash, const void *key, size_t length, const char *answer);

size_t cache_n_entries(const cache *c);
size_t cache_n_bytes(const cache *c);

#endif
