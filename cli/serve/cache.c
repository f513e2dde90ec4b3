/* Cache of responses; see serve.h. A hash table with chaining, and a list of all entries in order of use. */
#include "serve.h"

#include <sys/random.h>

typedef struct entry {
    struct entry *next_in_chain;
    struct entry *newer, *older;
    uint64_t hash;
    size_t key_length, bytes; /* key_length: bytes of the key; bytes: size of the whole entry */
    char text[];              /* the key, then the response with its final NUL */
} entry;

struct cache {
    size_t max_bytes, used, n, n_chains;
    uint64_t seed[2];
    entry **chains; /* [n_chains] first entry of each chain of the hash table; n_chains is a power of two */
    entry *newest, *oldest;
};

enum { FIRST_N_CHAINS = 256 };

cache *cache_create(size_t max_bytes)
{
    cache *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    *c = (cache){
        .max_bytes = max_bytes, .n_chains = FIRST_N_CHAINS, .chains = calloc(FIRST_N_CHAINS, sizeof *c->chains)};
    if (!c->chains) {
        free(c);
        return NULL;
    }
    /* getrandom() fails early during boot, when there is no entropy: use an address as the seed */
    if (getrandom(c->seed, sizeof c->seed, GRND_NONBLOCK) != sizeof c->seed) c->seed[0] = (uintptr_t)c;
    return c;
}

void cache_destroy(cache *c)
{
    if (!c) return;
    for (entry *e = c->newest; e;) {
        entry *next = e->older;
        free(e);
        e = next;
    }
    free(c->chains);
    free(c);
}

/* Mix bits by multiplication with odd numbers and shifts. seed[1] is mixed in last, so that hash values do not reveal seed[0]. */
uint64_t cache_hash(const cache *c, const void *key, size_t length)
{
    const unsigned char *byte = key;
    uint64_t x = c->seed[0] ^ length;
    for (size_t i = 0; i < length; i++) {
        x = (x ^ byte[i]) * UINT64_C(0x9E3779B97F4A7C15);
        x ^= x >> 29;
    }
    x = (x ^ c->seed[1]) * UINT64_C(0xD6E8FEB86659FD93);
    return x ^ x >> 32;
}

static entry **find_chain(const cache *c, uint64_t hash)
{
    return &c->chains[hash & (c->n_chains - 1)];
}

static void link_newest(cache *c, entry *e)
{
    e->newer = NULL;
    e->older = c->newest;
    *(c->newest ? &c->newest->newer : &c->oldest) = e;
    c->newest = e;
}

static void unlink_entry(cache *c, entry *e)
{
    *(e->newer ? &e->newer->older : &c->newest) = e->older;
    *(e->older ? &e->older->newer : &c->oldest) = e->newer;
}

static entry *find_in_chain(const cache *c, uint64_t hash, const void *key, size_t length)
{
    entry *e = *find_chain(c, hash);
    while (e && (e->hash != hash || e->key_length != length || memcmp(e->text, key, length) != 0)) e = e->next_in_chain;
    return e;
}

const char *cache_find(cache *c, uint64_t hash, const void *key, size_t length)
{
    entry *e = find_in_chain(c, hash, key, length);
    if (!e) return NULL;
    unlink_entry(c, e);
    link_newest(c, e);
    return e->text + e->key_length;
}

static void drop_oldest(cache *c)
{
    entry *e = c->oldest, **from = find_chain(c, e->hash);
    while (*from != e) from = &(*from)->next_in_chain;
    *from = e->next_in_chain;
    unlink_entry(c, e);
    c->used -= e->bytes;
    c->n--;
    free(e);
}

/* Double the number of chains. Without memory the chains grow longer instead. */
static void double_chains(cache *c)
{
    entry **more = calloc(2 * c->n_chains, sizeof(entry *));
    if (!more) return;
    free(c->chains);
    c->chains = more;
    c->n_chains *= 2;
    for (entry *e = c->newest; e; e = e->older) {
        entry **to = find_chain(c, e->hash);
        e->next_in_chain = *to;
        *to = e;
    }
}

void cache_add(cache *c, uint64_t hash, const void *key, size_t length, const char *answer)
{
    const size_t text = strlen(answer) + 1, bytes = sizeof(entry) + sizeof(entry *) + length + text;
    if (bytes > c->max_bytes || find_in_chain(c, hash, key, length)) return;
    while (c->used + bytes > c->max_bytes) drop_oldest(c);
    entry *e = malloc(sizeof *e + length + text);
    if (!e) return;
    if (c->n >= c->n_chains) double_chains(c);
    entry **chain = find_chain(c, hash);
    *e = (entry){.next_in_chain = *chain, .hash = hash, .key_length = length, .bytes = bytes};
    memcpy(e->text, key, length);
    memcpy(e->text + length, answer, text);
    *chain = e;
    link_newest(c, e);
    c->used += bytes;
    c->n++;
}

size_t cache_n_entries(const cache *c)
{
    return c->n;
}

size_t cache_n_bytes(const cache *c)
{
    return c->used;
}
