/* Re-decoding: call scorers' begin(), found() and done() for inputs, and decode an input again if found() requests it. The
 * item then stays in flight and restarts from its encoded input. The new search depends only on the input and on what
 * scorers have stored for it, so the schedule does not change the result. */
#include "engine_internal.h"

static const rill_scorer *get_scorer(const rill_engine *e, int32_t i)
{
    return e->chain.link[e->chain.n_heuristics + i].scorer;
}

static void *get_scorer_self(const rill_engine *e, chain_instance *const *instances, int32_t i)
{
    return instances[e->chain.n_heuristics + i]->self;
}

/* Call done() of the chain's first n scorers. */
static void notify_done(const rill_engine *e, chain_instance *const *instances, int64_t id, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        if (get_scorer(e, i)->done != NULL) get_scorer(e, i)->done(get_scorer_self(e, instances, i), id);
}

rill_status engine_scorers_begin(rill_engine *e, rill_input *input, int32_t entry)
{
    chain_instance *const *instances = request_instances(&e->chain, e->queue.entries[entry].request);
    for (int32_t i = 0; i < e->chain.n_scorers; i++) {
        const rill_scorer *table = get_scorer(e, i);
        if (table->begin == NULL) continue;
        rill_error_clear(e->ctx);
        rill_status status = table->begin(get_scorer_self(e, instances, i), input->id);
        status = rill__method_status(e->ctx, status, "scorer", table->name, "begin");
        if (status >= 0) continue;
        notify_done(e, instances, input->id, i);
        return rill_input_fail(input, status, "%s", rill_error(e->ctx));
    }
    return RILL_OK;
}

void engine_scorers_done(rill_engine *e, const item *it)
{
    notify_done(e, it->instances, it->id, e->chain.n_scorers);
}

const rill_found_output *rill_found_output_at(const rill_found *found, int32_t i)
{
    return (const rill_found_output *)found->outputs + i;
}

/* Write the item's outputs, which are already sorted, to *found, in the form that scorers' found() gets. */
static rill_status list_outputs(rill_engine *e, int32_t slot, rill_found *found)
{
    const item *it = &e->items.item[slot];
    redecode_buffer *a = &e->redecode;
    size_t n_actions = 0;
    RILL__TRY(RILL__GROW(e->ctx, a->found, a->found_capacity, (size_t)it->n_outputs, "outputs"));
    for (int32_t i = 0; i < it->n_outputs; i++)
        n_actions += ((size_t)it->outputs[i].length + 1) * (size_t)e->info.phases;
    RILL__TRY(RILL__GROW(e->ctx, a->found_action, a->found_action_capacity, n_actions, "outputs"));
    n_actions = 0;
    for (int32_t i = 0; i < it->n_outputs; i++) {
        rill_hypothesis h;
        RILL__TRY(backtrace_output(&e->output_writer.backtrace, &e->hyps, slot, &it->outputs[i], e->info.phases, &h));
        memcpy(a->found_action + n_actions, h.action, (size_t)h.length * sizeof *h.action);
        a->found[i] = (rill_found_output){.ids = a->found_action + n_actions,
                                          .n_ids = h.length,
                                          .path_score = h.path_score,
                                          .score = it->outputs[i].final_score,
                                          .logp = h.logp,
                                          .truncated = h.truncated};
        n_actions += (size_t)h.length;
    }
    *found = (rill_found){.struct_size = sizeof *found,
                          .item_id = it->id,
                          .outputs = (const struct rill_found_outputs *)a->found,
                          .n = it->n_outputs,
                          .model = e->model};
    return RILL_OK;
}

rill_status engine_scorers_review(rill_engine *e, int32_t slot)
{
    item *it = &e->items.item[slot];
    rill_found found = {0};
    int wanted = 0;
    for (int32_t i = 0; i < e->chain.n_scorers; i++) {
        const rill_scorer *table = get_scorer(e, i);
        if (table->found == NULL) continue;
        if (found.n == 0) RILL__TRY(list_outputs(e, slot, &found));
        rill_error_clear(e->ctx);
        rill_status status = table->found(get_scorer_self(e, it->instances, i), &found);
        status = rill__method_status(e->ctx, status, "scorer", table->name, "found");
        if (status < 0) return status;
        wanted |= status == RILL_AGAIN;
    }
    if (!wanted) return RILL_OK;
    if (it->request != NULL) it->request->last_reported = 0;
    RILL__TRY(engine_save_result(e, slot));
    statistics_remove_item(&e->statistics, it);
    items_clear(&e->items, &e->hyps, slot);
    RILL__TRY(items_begin(&e->items, &e->hyps, slot));
    return RILL_AGAIN;
}
