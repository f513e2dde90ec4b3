/* Fuzz target: trees. A tree that was read can be written, in one line and indented, and reads back as the same tree.
 *
 * For any bytes: no crash, no leak, consistent spans, and a reader that always ends. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "tree.h"

static void check_spans(const rill_tree *tree)
{
    require(tree->count > 0 && tree->words > 0 && tree->node[0].end == tree->count);
    for (int32_t i = 0; i < tree->count; i++) {
        const rill_tree_node *node = &tree->node[i];
        require(node->end > i && node->end <= tree->count && node->from < node->to && node->to <= tree->words);
        require(node->label.length > 0 && (node->word.data == NULL) == (node->end > i + 1));
    }
}

static void write_and_read(rill_context *ctx, rill_tree *tree, int indented)
{
    rill_text once = {.ctx = ctx}, twice = {.ctx = ctx};
    rill_tree again = {.ctx = ctx};
    require(rill_tree_write(tree, &once, indented) == RILL_OK);
    require(rill_tree_parse(&again, once.data, once.length, RILL_TREE_AS_WRITTEN) == RILL_OK);
    require(again.count == tree->count && again.words == tree->words);
    require(rill_tree_write(&again, &twice, indented) == RILL_OK);
    require(once.length == twice.length && memcmp(once.data, twice.data, once.length) == 0);
    rill_tree_clear(&again);
    rill_text_clear(&once);
    rill_text_clear(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rill_context *ctx;
    if (rill_context_create(&ctx, NULL) != RILL_OK) return 0;
    for (int flags = 0; flags <= (RILL_TREE_AS_WRITTEN | RILL_TREE_KEEP_BARS); flags++) {
        rill_tree tree = {.ctx = ctx};
        const rill_status status = rill_tree_parse(&tree, (const char *)data, size, flags);
        require(status == RILL_OK || status == RILL_ERR_INPUT);
        if (status == RILL_OK) {
            check_spans(&tree);
            write_and_read(ctx, &tree, 0);
            write_and_read(ctx, &tree, 1);
        }
        rill_tree_clear(&tree);
    }
    require(rill_memory_used(ctx) == 0);
    rill_context_destroy(ctx);
    return 0;
}
