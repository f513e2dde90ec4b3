/* Arenas, model options, rows of hypotheses. A header before each arena block holds its size, for rill_free(). */
#include "domain_base.h"

#include <stdio.h>
#include <string.h>

rill_status rill_struct_alloc(rill_context *ctx, void *out, size_t size, const char *what)
{
    void *block = rill_calloc(ctx, 1, size);
    memcpy(out, &block, sizeof block); /* `out` is the address of a pointer of any type; memcpy avoids type punning */
    return block != NULL ? RILL_OK : rill_fail_memory(ctx, size, what);
}

/* --- arenas ------------------------------------------------------------------------------------------------------- */

static rill_status add_block(rill_arena *arena, size_t count, size_t size, const char *what, rill_arena_block **out)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || __builtin_add_overflow(bytes, sizeof **out, &bytes))
        return rill_fail_memory(arena->ctx, SIZE_MAX, what);
    rill_arena_block *block = *out = rill_alloc(arena->ctx, bytes);
    if (block == NULL) return rill_fail_memory(arena->ctx, bytes, what);
    *block = (rill_arena_block){.prev = arena->last, .bytes = bytes};
    if (arena->last != NULL) arena->last->next = block;
    arena->last = block;
    return RILL_OK;
}

static void free_block(rill_arena *arena, rill_arena_block *block)
{
    if (block->prev != NULL) block->prev->next = block->next;
    if (block->next != NULL)
        block->next->prev = block->prev;
    else
        arena->last = block->prev;
    rill_free(arena->ctx, block, block->bytes);
}

rill_status rill_arena_alloc(rill_arena *arena, void *out, size_t count, size_t size, const char *what)
{
    rill_arena_block *block;
    TRY(add_block(arena, count, size, what, &block));
    void *first = block + 1;
    memcpy(out, &first, sizeof first); /* store through the caller's T **, as in rill_struct_alloc() */
    return RILL_OK;
}

rill_status rill_arena_grow(rill_arena *arena, void **array, size_t count, size_t size, const char *what)
{
    rill_arena_block *old = *array, *block;
    const size_t old_count = old != NULL ? rill_arena_bytes(old) / size : 0, more = old_count + old_count / 2;
    if (old != NULL && count <= old_count) return RILL_OK;
    TRY(add_block(arena, count < 8 ? 8 : count < more ? more : count, size, what, &block));
    if (old != NULL) memcpy(block + 1, old, old_count * size);
    if (old != NULL) free_block(arena, old - 1);
    *array = block + 1;
    return RILL_OK;
}

rill_status rill_arena_copy(rill_arena *arena, const char *bytes, size_t length, const char *what, const char **out)
{
    char *copy;
    TRY(rill_arena_alloc(arena, &copy, length + 1, 1, what));
    memcpy(copy, bytes, length);
    copy[length] = '\0';
    *out = copy;
    return RILL_OK;
}

void rill_arena_clear(rill_arena *arena)
{
    while (arena->last != NULL) free_block(arena, arena->last);
}

/* --- options of opening a model ----------------------------------------------------------------------------------- */

rill_status rill_options_network(rill_context *ctx, const char *domain, const rill_open_options *options,
                                 rill_device **device, rill_network **network)
{
    const char *weights = rill_open_option(options, "weights");
    const rill_device_options wanted = {.struct_size = sizeof wanted,
                                        .name = rill_open_option(options, "device"),
                                        .fast = rill_open_switch(options, "fast"),
                                        .int8 = weights != NULL && strcmp(weights, "int8") == 0};
    if (options->path == NULL)
        return rill_fail(ctx, RILL_ERR_OPTION, "%s: expected the path of a model's directory, found none", domain);
    if (options->arguments != NULL && options->arguments[0] != '\0')
        return rill_fail(ctx, RILL_ERR_OPTION, "%s: expected no arguments for the domain, found \"%.60s\"", domain,
                         options->arguments);
    rill_status status = rill_device_open(device, ctx, &wanted);
    if (status == RILL_OK && wanted.name != NULL && strcmp(wanted.name, "auto") == 0)
        rill_log(ctx, RILL_LOG_INFO, "%s: the model runs on %s", domain, rill_device_name(*device));
    if (status == RILL_ERR_OPTION) return rill_fail(ctx, status, "%s: %s", domain, rill_error(ctx));
    return status == RILL_OK ? rill_network_open(network, ctx, *device) : status;
}

rill_domain_info rill_network_info(const rill_device *device, const rill_network *network, char *description,
                                   size_t size)
{
    const rill_network_bytes bytes = rill_network_sizes(network);
    const char *name = rill_device_name(device);
    const size_t used = strlen(description);
    if (strcmp(name, "cpu") != 0) snprintf(description + used, size - used, ", on %s", name);
    return (rill_domain_info){.group_rows = rill_device_group_rows(device),
                              .description = description,
                              .device = name,
                              .node_bytes = bytes.node,
                              .row_bytes = bytes.row,
                              .runner_bytes = bytes.session,
                              .slot_bytes = bytes.slot,
                              .slot_unit_bytes = bytes.unit,
                              .memory_bytes = rill_device_free_bytes(device)};
}

/* --- rows (one per hypothesis) ------------------------------------------------------------------------------------ */

rill_status rill_rows_run(rill_session *session, rill_graph graph, const rill_rows *rows, const int32_t *const *columns,
                          const rill_selection *selection)
{
    const rill_run_arguments run = {.struct_size = sizeof run,
                                    .n = rows->n,
                                    .columns = columns,
                                    .selection = selection,
                                    .async_group = rows->group + 1};
    return rill_session_run(session, graph, &run);
}

void rill_rows_parents(const rill_rows *rows, int32_t *parent_or_self, int32_t *root_slot)
{
    for (int32_t i = 0; i < rows->n; i++) {
        const int is_root = rows->state_parent[i] == RILL_NO_NODE;
        parent_or_self[i] = is_root ? rows->node[i] : rows->state_parent[i];
        root_slot[i] = is_root ? rows->slot[i] : -1;
    }
}

rill_selection rill_selection_for_request(const rill_score_request *req, const rill_score_result *result)
{
    return (rill_selection){.max_choices = req->max_choices,
                            .legal_words = req->legal_words,
                            .legal = req->legal,
                            .legal_set = req->legal_set,
                            .n_picks = req->n_picks,
                            .pick_row = req->pick_row,
                            .pick_action = req->pick_action,
                            .stride = result->stride,
                            .count = result->count,
                            .action = result->action,
                            .logp = result->logp,
                            .pick_logp = result->pick_logp};
}

void rill_score_result_force(const rill_score_request *req, rill_score_result *result, int32_t row, int32_t action)
{
    static const float zero_logp = 0.0f;
    rill_score_result_fill(req, row, 1, &action, &zero_logp, NULL, result);
}
