/* What scorers hear of inputs besides rows: that one begins, what was found for it, that it leaves. On what was found they may want it
 * decoded again: the item then begins anew where it stands in flight, from its encoded input. Its search depends on itself and on
 * what scorers keep of it alone, so no schedule changes what it comes to. */
#include "rooms.h"

static const rill_scorer *scorer_at(const rill_engine *e, int32_t i)
{
    return e->chain.link[e->chain.n_heuristics + i].scorer;
}

static void *self_of(const rill_engine *e, chain_instance *const *instances, int32_t i)
{
    return instances[e->chain.n_heuristics + i]->self;
}

/* Scorers [0, n) of the chain. */
static void say_done(const rill_engine *e, chain_instance *const *instances, int64_t id, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        if (scorer_at(e, i)->done != NULL) scorer_at(e, i)->done(self_of(e, instances, i), id);
}

rill_status engine_scorers_begin(rill_engine *e, rill_input *input, int32_t entry)
{
    chain_instance *const *instances = chain_of(&e->chain, e->intake.entries[entry].request);
    for (int32_t i = 0; i < e->chain.n_scorers; i++) {
        const rill_scorer *table = scorer_at(e, i);
        if (table->begin == NULL) continue;
        rill_error_clear(e->ctx);
        rill_status status = table->begin(self_of(e, instances, i), input->id);
        status = rill__method_status(e->ctx, status, "scorer", table->name, "begin");
        if (status >= 0) continue;
        say_done(e, instances, input->id, i);
        return rill_input_fail(input, status, "%s", rill_error(e->ctx));
    }
    return RILL_OK;
}

void engine_scorers_done(rill_engine *e, const item *it)
{
    say_done(e, it->instances, it->id, e->chain.n_scorers);
}

/* Show the item's outputs, which are in order. */
static rill_status show(rill_engine *e, int32_t slot, rill_found *found)
{
    const item *it = &e->items.at[slot];
    again *a = &e->again;
    size_t n_actions = 0;
    RILL__TRY(RILL__GROW(e->ctx, a->output, a->outputs, (size_t)it->n_outputs, "outputs"));
    for (int32_t i = 0; i < it->n_outputs; i++)
        n_actions += ((size_t)it->outputs[i].length + 1) * (size_t)e->info.phases;
    RILL__TRY(RILL__GROW(e->ctx, a->action, a->actions, n_actions, "outputs"));
    n_actions = 0;
    for (int32_t i = 0; i < it->n_outputs; i++) {
        rill_hypothesis h;
        RILL__TRY(unroll_output(&e->writing.unroll, &e->forest, slot, &it->outputs[i], e->info.phases, &h));
        memcpy(a->action + n_actions, h.action, (size_t)h.length * sizeof *h.action);
        a->output[i] = (rill_found_output){.action = a->action + n_actions,
                                           .n_actions = h.length,
                                           .score = h.score,
                                           .rank_score = it->outputs[i].rank,
                                           .logp = h.logp,
                                           .truncated = h.truncated};
        n_actions += (size_t)h.length;
    }
    *found = (rill_found){
        .struct_size = sizeof *found, .item_id = it->id, .output = a->output, .n = it->n_outputs, .model = e->model};
    return RILL_OK;
}

rill_status engine_scorers_found(rill_engine *e, int32_t slot)
{
    item *it = &e->items.at[slot];
    rill_found found = {0};
    int wanted = 0;
    for (int32_t i = 0; i < e->chain.n_scorers; i++) {
        const rill_scorer *table = scorer_at(e, i);
        if (table->found == NULL) continue;
        if (found.n == 0) RILL__TRY(show(e, slot, &found));
        rill_error_clear(e->ctx);
        rill_status status = table->found(self_of(e, it->instances, i), &found);
        status = rill__method_status(e->ctx, status, "scorer", table->name, "found");
        if (status < 0) return status;
        wanted |= status == RILL_AGAIN;
    }
    if (!wanted) return RILL_OK;
    if (it->request != NULL) it->request->told = 0;
    RILL__TRY(engine_keep_found(e, slot));
    statistics_forget(&e->statistics, it);
    items_clear(&e->items, &e->forest, slot);
    RILL__TRY(items_begin(&e->items, &e->forest, slot));
    return RILL_AGAIN;
}
