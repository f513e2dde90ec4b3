/* Makes the instances of a run's heuristics and scorers, and calls the heuristics, which drop candidates.
 *
 * A heuristic is called once for adjacent inputs that share an instance. The setting `check` compares the result with that of a new
 * instance per input. */
#include <stddef.h>
#include <string.h>

#include "engine_internal.h"

enum { STATE_ALIGNMENT = 16 };

/* --- instances of heuristics and scorers -------------------------------------------------------------------------- */

rill_status chain_create_instance(rill_context *ctx, const chain_link *link, const char *arguments, void **self)
{
    const rill_heuristic *h = link->heuristic;
    const rill_scorer *s = link->scorer;
    const char *what = h != NULL ? "heuristic" : "scorer", *name = h != NULL ? h->name : s->name;
    rill_status status = RILL_OK;
    *self = NULL;
    rill_error_clear(ctx);
    if (h != NULL && h->create != NULL)
        status = h->create(h, ctx, arguments, self);
    else if (s != NULL && s->create != NULL)
        status = s->create(s, ctx, arguments, self);
    else if (arguments[0] != '\0')
        return rill_fail(ctx, RILL_ERR_OPTION, "%s %s takes no arguments, found \"%s\"", what, name, arguments);
    status = rill__method_status(ctx, status, what, name, "create");
    return status < 0 ? status : RILL_OK;
}

void chain_destroy_instance(const chain_link *link, void *self)
{
    if (link->heuristic != NULL && link->heuristic->destroy != NULL) link->heuristic->destroy(self);
    if (link->scorer != NULL && link->scorer->destroy != NULL) link->scorer->destroy(self);
}

/* Find the instance of heuristic or scorer `link` with these arguments, or create it. The instance gains one user. */
static rill_status acquire(chain *c, chain_link *link, const char *arguments, chain_instance **out)
{
    chain_instance *instance = link->instances;
    size_t length = strlen(arguments);
    while (instance != NULL && strcmp(instance->arguments, arguments) != 0) instance = instance->next;
    if (instance == NULL) {
        instance = rill_alloc(c->ctx, sizeof *instance + length + 1);
        if (instance == NULL) return rill_fail_memory(c->ctx, sizeof *instance + length + 1, "arguments");
        *instance = (chain_instance){.next = link->instances, .length = length};
        memcpy(instance->arguments, arguments, length + 1);
        rill_status status = chain_create_instance(c->ctx, link, arguments, &instance->self);
        if (status < 0) {
            rill_free(c->ctx, instance, sizeof *instance + length + 1);
            return status;
        }
        link->instances = instance;
    }
    instance->n_users++;
    *out = instance;
    return RILL_OK;
}

static void release_instance(chain *c, chain_link *link, chain_instance *instance)
{
    chain_instance **link_ptr = &link->instances;
    if (--instance->n_users > 0) return;
    while (*link_ptr != instance) link_ptr = &(*link_ptr)->next;
    *link_ptr = instance->next;
    chain_destroy_instance(link, instance->self);
    rill_free(c->ctx, instance, sizeof *instance + instance->length + 1);
}

rill_status chain_acquire(chain *c, const char *const *arguments, chain_instance **out)
{
    for (int32_t i = 0; i < c->n; i++) {
        const char *own_arguments = arguments[i];
        rill_status status = acquire(
            c, &c->link[i], own_arguments != NULL ? own_arguments : c->default_instances[i]->arguments, &out[i]);
        if (status >= 0) continue;
        while (i-- > 0) release_instance(c, &c->link[i], out[i]);
        return status;
    }
    c->n_custom++;
    return RILL_OK;
}

void chain_release(chain *c, chain_instance *const *instances)
{
    for (int32_t i = c->n - 1; i >= 0; i--) release_instance(c, &c->link[i], instances[i]);
    c->n_custom--;
}

/* --- creating a chain --------------------------------------------------------------------------------------------- */

static rill_status add_link(chain *c, const rill_chain_entry *entry, int is_scorer)
{
    chain_link *link = &c->link[c->n];
    if (is_scorer)
        *link = (chain_link){.scorer = rill_find_scorer(c->ctx, entry->name), .state_offset = c->state_bytes};
    else
        *link = (chain_link){.heuristic = rill_find_heuristic(c->ctx, entry->name)};
    RILL__TRY(rill__check_registered(c->ctx, is_scorer ? RILL__SCORER : RILL__HEURISTIC, entry->name));
    const char *arguments = entry->arguments != NULL ? entry->arguments : "";
    RILL__TRY(acquire(c, link, arguments, &c->default_instances[c->n]));
    c->n++;
    if (is_scorer)
        c->state_bytes += (link->scorer->state_bytes + STATE_ALIGNMENT - 1) / STATE_ALIGNMENT * STATE_ALIGNMENT;
    return RILL_OK;
}

rill_status chain_create(chain *c, rill_context *ctx, const rill_engine_setup *setup)
{
    *c = (chain){.ctx = ctx, .n_heuristics = setup->n_heuristics, .n_scorers = setup->n_scorers};
    size_t n = (size_t)setup->n_heuristics + (size_t)setup->n_scorers;
    c->link = rill_calloc(ctx, n, sizeof *c->link);
    c->default_instances = rill_calloc(ctx, n, sizeof *c->default_instances);
    if (c->link == NULL || c->default_instances == NULL)
        return rill_fail_memory(ctx, n * sizeof *c->link, "heuristics and scorers");
    for (int32_t i = 0; i < setup->n_heuristics; i++) RILL__TRY(add_link(c, &setup->heuristics[i], 0));
    for (int32_t i = 0; i < setup->n_scorers; i++) RILL__TRY(add_link(c, &setup->scorers[i], 1));
    return RILL_OK;
}

void chain_destroy(chain *c)
{
    if (c->ctx == NULL) return;
    size_t capacity = (size_t)c->n_heuristics + (size_t)c->n_scorers;
    while (c->n > 0) {
        c->n--;
        release_instance(c, &c->link[c->n], c->default_instances[c->n]);
    }
    rill_free(c->ctx, c->link, capacity * sizeof *c->link);
    rill_free(c->ctx, c->default_instances, capacity * sizeof *c->default_instances);
    rill_free(c->ctx, c->checked_keep, c->checked_capacity);
    *c = (chain){0};
}

/* --- calling one heuristic ---------------------------------------------------------------------------------------- */

/* Returns the candidates of inputs [i, end) as a heuristic takes them: pointers into the columns. Their offsets must start at 0, so they
 * are written to `offset` unless i is 0. */
static rill_candidates view_items(const timestep *t, int32_t i, int32_t end, int32_t *offset)
{
    const candidates *c = &t->candidates;
    const int32_t first = c->offset[i];
    for (int32_t j = i; i > 0 && j <= end; j++) offset[j - i] = c->offset[j] - first;
    return (rill_candidates){
        .struct_size = sizeof(rill_candidates),
        .n = end - i,
        .phase = t->phase,
        .offset = i > 0 ? offset : c->offset,
        .item_id = c->item_id + i,
        .k = c->k + i,
        .timestep = c->timestep + i,
        .outputs = c->n_outputs + i,
        .best_output_score = c->best_output_score + i,
        .best_path_score = c->best_path_score + i,
        .path_score = c->path_score + first,
        .action_logp = c->action_logp + first,
        .parent_rank = c->parent_rank + first,
        .action = c->action + first,
        .ended = c->ended + first,
        .keep = c->keep + first,
        .width = c->marked_width + i,
        .stop = c->marked_stop + i,
    };
}

static void clear_marks(rill_candidates *b)
{
    memset(b->keep + b->offset[0], 1, (size_t)(b->offset[b->n] - b->offset[0]));
    for (int32_t i = 0; i < b->n; i++) b->width[i] = INT32_MAX;
    memset(b->stop, 0, (size_t)b->n);
}

static rill_status call_heuristic(chain *c, const rill_heuristic *h, void *self, rill_candidates *marked)
{
    /* the plugin gets a copy, so that it cannot change the pointers in the engine's own view */
    rill_candidates plugin_view = *marked;
    clear_marks(marked);
    rill_error_clear(c->ctx);
    rill_status status = h->apply(self, &plugin_view);
    status = rill__method_status(c->ctx, status, "heuristic", h->name, "apply");
    return status < 0 ? status : RILL_OK;
}

/* Fail selected input i alone, because a heuristic with arguments of the input's own request has failed. */
static rill_status fail_item(rill_engine *e, const timestep *t, int32_t i, rill_status status)
{
    if (!engine_is_input_error(status)) return status;
    return engine_fail_selected(e, t->selected[i], status, rill_error(e->ctx));
}

/* Heuristic number `link` has failed for inputs [i, end), which share an instance. If a request set the instance's arguments, call it for
 * each input alone, and fail the inputs whose own call fails. Otherwise fail the run. */
static rill_status fail_custom_items(rill_engine *e, const timestep *t, int32_t link, int32_t i, int32_t end,
                                     rill_status status)
{
    chain *c = &e->chain;
    const chain_instance *instance = t->candidates.instances[i][link];
    const int alone = end == i + 1;
    int any = 0;
    if (instance == c->default_instances[link]) return status;
    for (; i < end; i++) {
        rill_candidates one = view_items(t, i, i + 1, t->candidates.part_offset);
        const rill_status own = alone ? status : call_heuristic(c, c->link[link].heuristic, instance->self, &one);
        if (own >= 0) continue;
        RILL__TRY(fail_item(e, t, i, own));
        clear_marks(&one);
        any = 1;
    }
    return any ? RILL_OK : status;
}

/* Call heuristic number `link` for all inputs. Adjacent inputs with equal arguments share an instance and a call. */
static rill_status call_for_all(rill_engine *e, const timestep *t, int32_t link)
{
    chain *c = &e->chain;
    const candidates *cands = &t->candidates;
    const rill_heuristic *h = c->link[link].heuristic;
    rill_candidates all = view_items(t, 0, cands->n, NULL);
    if (c->n_custom == 0) return call_heuristic(c, h, c->default_instances[link]->self, &all);
    for (int32_t i = 0, end; i < cands->n; i = end) {
        const chain_instance *instance = cands->instances[i][link];
        for (end = i + 1; end < cands->n && cands->instances[end][link] == instance;) end++;
        rill_candidates part = view_items(t, i, end, cands->part_offset);
        const rill_status status = call_heuristic(c, h, instance->self, &part);
        if (status < 0) RILL__TRY(fail_custom_items(e, t, link, i, end, status));
    }
    return RILL_OK;
}

/* --- checking independence of other inputs ------------------------------------------------------------------------ */

/* Call heuristic number `link` for each input alone. The run fails if its marks (keep, width, stop) differ from those of the call for all
 * inputs. */
static rill_status check_independence(rill_engine *e, const timestep *t, int32_t link)
{
    chain *c = &e->chain;
    const candidates *cands = &t->candidates;
    RILL__TRY(
        RILL__GROW(c->ctx, c->checked_keep, c->checked_capacity, (size_t)cands->offset[cands->n] + 1, "checked marks"));
    for (int32_t i = 0; i < cands->n; i++) {
        int32_t offset[2], width;
        uint8_t stop;
        void *fresh;
        const int32_t first = cands->offset[i], n = cands->offset[i + 1] - first;
        rill_candidates one = view_items(t, i, i + 1, offset);
        one.keep = c->checked_keep;
        one.width = &width;
        one.stop = &stop;
        RILL__TRY(chain_create_instance(c->ctx, &c->link[link], cands->instances[i][link]->arguments, &fresh));
        const rill_status status = call_heuristic(c, c->link[link].heuristic, fresh, &one);
        chain_destroy_instance(&c->link[link], fresh);
        if (status < 0 && cands->instances[i][link] != c->default_instances[link]) {
            RILL__TRY(fail_item(e, t, i, status));
            continue;
        }
        RILL__TRY(status);
        if (memcmp(c->checked_keep, cands->keep + first, (size_t)n) != 0 || width != cands->marked_width[i] ||
            stop != cands->marked_stop[i])
            return rill_fail(
                c->ctx, RILL_ERR_CHECK,
                "heuristic %s gives input %lld another result alone than in a batch of %d: it must use one input "
                "at a time and keep no state",
                c->link[link].heuristic->name, (long long)cands->item_id[i], cands->n);
    }
    return RILL_OK;
}

/* --- dropping candidates ------------------------------------------------------------------------------------------ */

static inline void copy_candidate(candidates *c, int32_t to, int32_t from)
{
    c->path_score[to] = c->path_score[from];
    c->action_logp[to] = c->action_logp[from];
    c->action_score[to] = c->action_score[from];
    c->parent_rank[to] = c->parent_rank[from];
    c->group[to] = c->group[from];
    c->action[to] = c->action[from];
    c->hyp[to] = c->hyp[from];
    c->terminal[to] = c->terminal[from];
    c->ended[to] = c->ended[from];
}

/* If fewer of the candidates [start, end) are kept than input i needs, keep its best dropped candidates too. */
static void restore_min_kept(candidates *c, int32_t i, int32_t start, int32_t end)
{
    int32_t n_kept = 0, n_restored;
    for (int32_t j = start; j < end; j++) n_kept += c->keep[j];
    if (n_kept > c->marked_width[i]) n_kept = c->marked_width[i];
    n_restored = c->min_kept[i] - n_kept;
    if (n_restored <= 0) return;
    for (int32_t j = start, n_seen = 0; j < end; j++) {
        const int is_kept = c->keep[j] && n_seen < n_kept;
        n_seen += is_kept;
        c->keep[j] = (uint8_t)(is_kept || n_restored-- > 0);
    }
    c->marked_width[i] = INT32_MAX;
}

/* Record for the trace and for certificates that heuristic number `link` drops candidate j of input i. */
static void note_dropped(rill_engine *e, timestep *t, int32_t link, int32_t i, int32_t j)
{
    if (e->tracer.fn != NULL) tracer_dropped(&e->tracer, t, link, i, j);
    if (e->settings.certify) stop_abandon_candidate(&t->candidates, &e->items.item[t->selected[i]], j);
}

/* Remove candidates that heuristic `link` did not keep, and those beyond marked_width[i]; at least min_kept[i] remain. Returns the number
 * removed. */
static int64_t drop_candidates(rill_engine *e, timestep *t, int32_t link)
{
    candidates *c = &t->candidates;
    const int is_watched = e->settings.certify || e->tracer.fn != NULL;
    int32_t to = 0, from = 0, old_n = c->n > 0 ? c->offset[c->n] : 0;
    for (int32_t i = 0; i < c->n; i++) {
        int32_t start = to, end = c->offset[i + 1];
        if (c->min_kept[i] > 0) restore_min_kept(c, i, from, end);
        for (; from < end; from++)
            if (c->keep[from] && to - start < c->marked_width[i]) {
                if (to < from) copy_candidate(c, to, from);
                to++;
            } else if (is_watched) {
                note_dropped(e, t, link, i, from);
            }
        c->offset[i] = start;
    }
    c->offset[c->n] = to;
    return old_n - to;
}

/* --- calling all heuristics --------------------------------------------------------------------------------------- */

rill_status engine_prune(rill_engine *e, timestep *t)
{
    candidates *cands = &t->candidates;
    for (int32_t i = 0; i < e->chain.n_heuristics; i++) {
        RILL__TRY(call_for_all(e, t, i));
        if (e->settings.check) RILL__TRY(check_independence(e, t, i));
        for (int32_t j = 0; j < cands->n; j++) cands->stop[j] |= cands->marked_stop[j];
        e->statistics.total.pruned += drop_candidates(e, t, i);
    }
    statistics_end_stage(&e->statistics, &e->statistics.current.prune);
    return RILL_OK;
}
