/* Cache of responses. The key is everything that a result depends on, as bytes; the value is the response text. Results do not depend
 * on other requests, so a cached response is exact. The least recently used entries are dropped when keys, values and their
 * bookkeeping exceed a number of bytes. Threads: one at a time. */
#ifndef CLI_SERVE_CACHE_H
#define CLI_SERVE_CACHE_H

#include <stddef.h>
#include <stdint.h>

typedef struct cache cache;

/* max_bytes: 0 disables the cache. NULL: out of memory. */
cache *cache_create(size_t max_bytes);
void cache_destroy(cache *c); /* NULL is allowed */

/* Hash a key with a secret seed, so that clients cannot construct keys that collide. */
uint64_t cache_hash(const cache *c, const void *key, size_t length);

/* Find a response, valid until the next cache_add(). NULL: not cached. */
const char *cache_find(cache *c, uint64_t hash, const void *key, size_t length);
/* Store copies of key and response. Entries that are too large, or for which there is no memory, are not stored. */
void cache_add(cache *c, uint64_t hash, const void *key, size_t length, const char *answer);

size_t cache_n_entries(const cache *c);
size_t cache_n_bytes(const cache *c);

#endif
