/* Fuzz target: trie files (trie_file.c). If the first byte is odd, the bytes are the file; otherwise they are the
 * numbers after a header that matches them.
 *
 * For any bytes: no crash and no leak. A refused file has a message. In an accepted file every node except the root is
 * the child of exactly one node, and is found by its action. */
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz_target.h"
#include "text_constraints.h"

enum { CAPACITY = 1 << 12 };

static size_t make_file(const uint8_t *data, size_t size, char *out)
{
    if (size > CAPACITY) size = CAPACITY;
    if (data[0] & 1) {
        memcpy(out, data + 1, size - 1);
        return size - 1;
    }
    const uint32_t nodes = (uint32_t)(size < 13 ? 0 : (size - 1 - 4) / 8);
    const trie_header head = {.magic = TRIE_MAGIC, .version = TRIE_VERSION, .actions = 300, .nodes = nodes};
    const size_t numbers = ((size_t)nodes * 2 + 1) * 4;
    memcpy(out, &head, sizeof head);
    if (nodes > 0) memcpy(out + sizeof head, data + 1, numbers);
    return sizeof head + (nodes > 0 ? numbers : 0);
}

static void walk(const trie *t)
{
    uint32_t seen = 1;
    for (uint32_t v = 0; v < t->header.nodes; v++)
        for (uint32_t c = t->first[v]; c < t->first[v + 1]; c++) {
            require(c == seen && c > v);
            require(trie_child(t, v, t->action[c]) == c);
            seen++;
        }
    require(seen == t->header.nodes);
    require(trie_child(t, 0, 299) == 0 || t->action[trie_child(t, 0, 299)] == 299);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char file[CAPACITY + 64];
    char path[64];
    rill_context *ctx;
    trie *t = NULL, *same = NULL;
    if (size == 0 || rill_context_create(&ctx, NULL) != RILL_OK) return 0;
    const int fd = memfd_create("trie", 0);
    const size_t n = make_file(data, size, file);
    require(fd >= 0 && write(fd, file, n) == (ssize_t)n);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const rill_status status = trie_acquire(&t, ctx, path);
    require(status == RILL_OK || (status == RILL_ERR_FORMAT && t == NULL && rill_error(ctx)[0] != '\0'));
    if (t != NULL) {
        walk(t);
        require(trie_acquire(&same, ctx, path) == RILL_OK && same == t);
    }
    trie_release(ctx, same);
    trie_release(ctx, t);
    require(rill_memory_used(ctx) == 0);
    rill_context_destroy(ctx);
    close(fd);
    return 0;
}
