/* Cache of responses; see serve.h. Entries are in a balanced tree, since a client could choose keys that collide in a hash table. A list
 * has them in order of use. */
#include "serve.h"

#include <search.h>

typedef struct cache_entry {
    struct cache_entry *newer, *older;
    const char *key;          /* [key_length] bytes of `text`, or of the caller's key in a lookup */
    size_t key_length, bytes; /* bytes: size of the whole entry and its node in the tree */
    char text[];              /* the key, then the response with its final NUL */
} cache_entry;

struct cache {
    size_t max_bytes, used, n;
    void *tree; /* root of the tree, for tsearch() */
    cache_entry *newest, *oldest;
};

cache *cache_create(size_t max_bytes)
{
    cache *c = calloc(1, sizeof *c);
    if (c) c->max_bytes = max_bytes;
    return c;
}

static int compare_keys(const void *a, const void *b)
{
    const cache_entry *x = a, *y = b;
    if (x->key_length != y->key_length) return x->key_length < y->key_length ? -1 : 1;
    return memcmp(x->key, y->key, x->key_length);
}

static void link_newest(cache *c, cache_entry *e)
{
    e->newer = NULL;
    e->older = c->newest;
    *(c->newest ? &c->newest->newer : &c->oldest) = e;
    c->newest = e;
}

static void unlink_entry(cache *c, cache_entry *e)
{
    *(e->newer ? &e->newer->older : &c->newest) = e->older;
    *(e->older ? &e->older->newer : &c->oldest) = e->newer;
}

const char *cache_find(cache *c, const void *key, size_t length)
{
    cache_entry **found = tfind(&(cache_entry){.key = key, .key_length = length}, &c->tree, compare_keys);
    if (!found) return NULL;
    unlink_entry(c, *found);
    link_newest(c, *found);
    return (*found)->text + length;
}

static void drop_oldest(cache *c)
{
    cache_entry *e = c->oldest;
    tdelete(e, &c->tree, compare_keys);
    unlink_entry(c, e);
    c->used -= e->bytes;
    c->n--;
    free(e);
}

void cache_destroy(cache *c)
{
    while (c && c->oldest) drop_oldest(c);
    free(c);
}

void cache_add(cache *c, const void *key, size_t length, const char *answer)
{
    const size_t text = strlen(answer) + 1, bytes = sizeof(cache_entry) + 3 * sizeof(void *) + length + text;
    if (bytes > c->max_bytes || cache_find(c, key, length)) return;
    while (c->used + bytes > c->max_bytes) drop_oldest(c);
    cache_entry *e = malloc(sizeof *e + length + text);
    if (!e) return;
    *e = (cache_entry){.key = e->text, .key_length = length, .bytes = bytes};
    memcpy(e->text, key, length);
    memcpy(e->text + length, answer, text);
    if (!tsearch(e, &c->tree, compare_keys)) {
        free(e);
        return;
    }
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
