/* Chains of heuristics and scorers; chain.h.
 *
 * A heuristic's call sees all selected items at once. The checking mode calls it again for each item alone and compares the
 * marks: a heuristic that looks at its neighbours or remembers earlier calls answers differently and fails the run.
 *
 * Divisions: creating · one call · checking · the pass. */
#include <string.h>

#include "chain.h"

/* --- creating ----------------------------------------------------------------------------------------------------- */

static rill_status refuse_arguments(rill_context *ctx, const char *what, const rill_chain_entry *entry)
{
    return rill_fail(ctx, RILL_ERR_OPTION, "%s %s takes no arguments, \"%s\" was given", what, entry->name,
                     entry->arguments);
}

static const char *arguments_of(const rill_chain_entry *entry)
{
    return entry->arguments != NULL ? entry->arguments : "";
}

static rill_status create_heuristic(chain *c, const rill_chain_entry *entry)
{
    const rill_heuristic *table = rill_find_heuristic(c->ctx, entry->name);
    if (table == NULL) return rill__unknown(c->ctx, "heuristic", &c->ctx->heuristics, entry->name);
    void *self = NULL;
    if (table->create != NULL)
        RILL__TRY(table->create(table, c->ctx, arguments_of(entry), &self));
    else if (arguments_of(entry)[0] != '\0')
        return refuse_arguments(c->ctx, "heuristic", entry);
    c->heuristics[c->n_heuristics++] = (chain_heuristic){table, self};
    return RILL_OK;
}

static rill_status create_scorer(chain *c, const rill_chain_entry *entry)
{
    const rill_scorer *table = rill_find_scorer(c->ctx, entry->name);
    if (table == NULL) return rill__unknown(c->ctx, "scorer", &c->ctx->scorers, entry->name);
    void *self = NULL;
    if (table->create != NULL)
        RILL__TRY(table->create(table, c->ctx, arguments_of(entry), &self));
    else if (arguments_of(entry)[0] != '\0')
        return refuse_arguments(c->ctx, "scorer", entry);
    c->scorers[c->n_scorers++] = (chain_scorer){table, self};
    return RILL_OK;
}

rill_status chain_create(chain *c, rill_context *ctx, const rill_engine_setup *setup)
{
    *c = (chain){.ctx = ctx, .check = setup->settings.check};
    c->heuristics = rill_calloc(ctx, (size_t)setup->n_heuristics, sizeof *c->heuristics);
    if (c->heuristics == NULL)
        return rill_fail_memory(ctx, (size_t)setup->n_heuristics * sizeof *c->heuristics, "the heuristics");
    c->heuristics_given = (size_t)setup->n_heuristics;
    c->scorers = rill_calloc(ctx, (size_t)setup->n_scorers, sizeof *c->scorers);
    if (c->scorers == NULL) return rill_fail_memory(ctx, (size_t)setup->n_scorers * sizeof *c->scorers, "the scorers");
    c->scorers_given = (size_t)setup->n_scorers;
    rill_status status = RILL_OK;
    for (int32_t i = 0; status >= 0 && i < setup->n_heuristics; i++)
        status = create_heuristic(c, &setup->heuristics[i]);
    for (int32_t i = 0; status >= 0 && i < setup->n_scorers; i++) status = create_scorer(c, &setup->scorers[i]);
    return status;
}

void chain_destroy(chain *c)
{
    if (c->ctx == NULL) return;
    for (int32_t i = c->n_scorers - 1; i >= 0; i--)
        if (c->scorers[i].table->destroy != NULL) c->scorers[i].table->destroy(c->scorers[i].self);
    for (int32_t i = c->n_heuristics - 1; i >= 0; i--)
        if (c->heuristics[i].table->destroy != NULL) c->heuristics[i].table->destroy(c->heuristics[i].self);
    rill_free(c->ctx, c->heuristics, c->heuristics_given * sizeof *c->heuristics);
    rill_free(c->ctx, c->scorers, c->scorers_given * sizeof *c->scorers);
    rill_columns_free(c->ctx, &c->checked);
    *c = (chain){0};
}

/* --- one call ----------------------------------------------------------------------------------------------------- */

static rill_beams beams_of(const candidates *cands, int32_t phase)
{
    return (rill_beams){
        .struct_size = sizeof(rill_beams),
        .n = cands->n,
        .phase = phase,
        .offset = cands->offset,
        .item_id = cands->item_id,
        .k = cands->k,
        .timestep = cands->timestep,
        .outputs = cands->outputs,
        .best_output = cands->best_output,
        .best = cands->best,
        .score = cands->score,
        .action_logp = cands->action_logp,
        .parent_rank = cands->parent_rank,
        .action = cands->action,
        .ended = cands->ended,
        .keep = cands->keep,
        .width = cands->mark_width,
        .stop = cands->mark_stop,
    };
}

static void clear_marks(rill_beams *b)
{
    memset(b->keep + b->offset[0], 1, (size_t)(b->offset[b->n] - b->offset[0]));
    for (int32_t i = 0; i < b->n; i++) b->width[i] = INT32_MAX;
    memset(b->stop, 0, (size_t)b->n);
}

static rill_status call(chain *c, const chain_heuristic *h, rill_beams *beams)
{
    clear_marks(beams);
    rill_status status = h->table->apply(h->self, beams);
    if (status >= 0) return RILL_OK;
    if (rill_error_status(c->ctx) == status) return status;
    return rill_fail(c->ctx, status, "heuristic %s failed with %s", h->table->name, rill_status_name(status));
}

/* --- checking ----------------------------------------------------------------------------------------------------- */

static rill_status reserve_checks(chain *c, const candidates *cands)
{
    const rill_array columns[] = {RILL_ARRAY(c->checked_width), RILL_ARRAY(c->checked_stop),
                                  RILL_ARRAY(c->checked_keep)};
    size_t n = (size_t)cands->n, total = (size_t)cands->offset[cands->n];
    /* One at least: there may be no candidate left, and memcmp() wants a place even for none. */
    return rill_columns_grow(c->ctx, &c->checked, n > total ? n : total + 1, columns, sizeof columns / sizeof *columns,
                             "checked marks");
}

/* The view of item i alone: the same arrays from its first entry on, with offsets that start at 0. */
static rill_beams alone(const rill_beams *all, int32_t i, int32_t offset[2])
{
    rill_beams one = *all;
    int32_t first = all->offset[i];
    offset[0] = 0;
    offset[1] = all->offset[i + 1] - first;
    one.n = 1;
    one.offset = offset;
    one.item_id += i;
    one.k += i;
    one.timestep += i;
    one.outputs += i;
    one.best_output += i;
    one.best += i;
    one.score += first;
    one.action_logp += first;
    one.parent_rank += first;
    one.action += first;
    one.ended += first;
    one.keep += first;
    one.width += i;
    one.stop += i;
    return one;
}

/* Compare a call over all items, whose marks are in `beams`, with calls for each alone; leaves the marks as they were. */
static rill_status check(chain *c, const chain_heuristic *h, const candidates *cands, rill_beams *beams)
{
    size_t n = (size_t)cands->n, total = (size_t)cands->offset[cands->n];
    RILL__TRY(reserve_checks(c, cands));
    memcpy(c->checked_width, beams->width, n * sizeof *beams->width);
    memcpy(c->checked_stop, beams->stop, n);
    memcpy(c->checked_keep, beams->keep, total);
    for (int32_t i = 0; i < cands->n; i++) {
        int32_t offset[2], first = cands->offset[i];
        rill_beams one = alone(beams, i, offset);
        RILL__TRY(call(c, h, &one));
        int same = memcmp(one.keep, c->checked_keep + first, (size_t)offset[1]) == 0 &&
                   *one.width == c->checked_width[i] && *one.stop == c->checked_stop[i];
        if (!same)
            return rill_fail(
                c->ctx, RILL_ERR_CHECK,
                "heuristic %s treats input %lld differently alone than among %d items: it must look at one "
                "item at a time and remember nothing",
                h->table->name, (long long)cands->item_id[i], cands->n);
    }
    return RILL_OK;
}

/* --- the pass ----------------------------------------------------------------------------------------------------- */

rill_status chain_prune(chain *c, candidates *cands, int32_t phase, int64_t *pruned)
{
    *pruned = 0;
    if (c->n_heuristics == 0) return RILL_OK;
    for (int32_t i = 0; i < c->n_heuristics; i++) {
        rill_beams beams = beams_of(cands, phase);
        RILL__TRY(call(c, &c->heuristics[i], &beams));
        if (c->check) RILL__TRY(check(c, &c->heuristics[i], cands, &beams));
        for (int32_t j = 0; j < cands->n; j++) cands->stop[j] |= cands->mark_stop[j];
        *pruned += candidates_compact(cands);
    }
    return RILL_OK;
}
