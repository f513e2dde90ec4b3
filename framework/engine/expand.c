/* Expansion: the rows of a timestep, their states, modifiers and choices.
 *
 * A row is a live candidate of a selected item; rows of one item are adjacent, in rank order. Its state is computed here, not when the
 * candidate was committed: states of candidates that heuristics drop are never computed.
 *
 * Divisions: rows · scorers · checking scorers · limits · choices. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine_internal.h"
#include "ngram_blocking.h"

/* --- rows --------------------------------------------------------------------------------------------------------- */

void engine_add_row(rill_engine *e, timestep *t, int32_t index, int32_t rank)
{
    row_table *r = &t->rows;
    const hyp_pool *f = &e->hyps;
    const int32_t i = r->n++, slot = t->selected[index];
    const item *it = &e->items.item[slot];
    const beam_entry *entry = &it->beam[rank];
    const int32_t hyp = entry->hyp;
    r->parent[i] = r->state_parent[i] = entry->state_parent;
    r->action[i] = entry->action;
    r->slot[i] = slot;
    r->depth[i] = it->timestep;
    r->hyp[i] = hyp;
    r->item[i] = index;
    __builtin_prefetch(&f->hyp[hyp], 1);
    /* only cube pruning and scorers read the remaining columns */
    if (!t->cube.active && e->chain.n_scorers == 0) return;
    r->rank[i] = rank;
    r->item_id[i] = it->id;
    r->path_score[i] = entry->path_score;
    if (t->cube.active) r->parent[i] = hyp_pool_node(f, f->hyp[hyp].parent);
}

/* Make the rows of the selected items. The model's computation has evicted these data from the CPU caches, so each pass prefetches the
 * memory that the next pass reads: first beams, then hypothesis nodes, then the parents' nodes. */
static rill_status make_rows(rill_engine *e, timestep *t)
{
    int64_t live = 0;
    for (int32_t i = 0; i < t->n; i++) {
        const item *it = &e->items.item[t->selected[i]];
        live += it->n_live;
        __builtin_prefetch(it->beam);
    }
    RILL__TRY(timestep_reserve_rows(t, (size_t)live));
    t->rows.n = 0;
    t->cube.active = engine_uses_cube(e, t);
    for (int32_t i = 0; i < t->n; i++) {
        item *it = &e->items.item[t->selected[i]];
        it->last_expansion = e->statistics.total.expansions;
        if (!exact_runs_in_phase(it, t)) continue;
        for (int32_t rank = 0; rank < it->width; rank++)
            if (!it->beam[rank].ended) engine_add_row(e, t, i, rank);
    }
    return engine_cube_group(e, t);
}

/* Assign nodes (ids of states) to the rows. */
static rill_status assign_nodes(rill_engine *e, timestep *t)
{
    const row_table *r = &t->rows;
    int grew;
    RILL__TRY(hyp_pool_reserve_nodes(&e->hyps, r->n, &grew));
    if (grew) RILL__TRY(engine_reserve_domain(e));
    RILL__TRY(engine_exact_copy_rows(e, t));
    hyp_pool_assign_nodes(&e->hyps, r->hyp, r->n, r->node);
    engine_use_reserved_nodes(t, r->n);
    return RILL_OK;
}

void engine_use_reserved_nodes(timestep *t, int64_t n)
{
    t->reserved_nodes -= t->reserved_nodes < n ? t->reserved_nodes : n;
}

/* Return rows [from, from + n) in the form that the domain sees. */
rill_rows engine_domain_rows(const timestep *t, int32_t from, int32_t n)
{
    const row_table *r = &t->rows;
    return (rill_rows){.n = n,
                       .phase = t->phase,
                       .node = r->node + from,
                       .parent = r->parent + from,
                       .state_parent = r->state_parent + from,
                       .action = r->action + from,
                       .slot = r->slot + from,
                       .depth = r->depth + from,
                       .group = t->group};
}

/* --- scorers ------------------------------------------------------------------------------------------------------ */

rill_scorer_rows engine_scorer_rows(const rill_engine *e, const timestep *t, int32_t first, int32_t n)
{
    const row_table *r = &t->rows;
    return (rill_scorer_rows){
        .struct_size = sizeof(rill_scorer_rows),
        .n = n,
        .phase = t->phase,
        .item_id = r->item_id + first,
        .timestep = r->depth + first,
        .rank = r->rank + first,
        .path_score = r->path_score + first,
        .hyp_node = r->hyp + first,
        .hyp_nodes = e->hyps.hyp,
        .info = &e->info,
        .model = e->model,
        .text = e->scorer_states.text + first,
        .text_length = e->scorer_states.length + first,
    };
}

/* Words before the first scorer's name in messages. With several scorers it is unknown which of them caused the failure. */
static const char *scorer_label(const rill_engine *e)
{
    return e->chain.n_scorers == 1 ? "scorer" : "the list of scorers that begins with";
}

/* With the setting `check`: fail, since a scorer depends on items other than the row's item. */
static rill_status fail_not_independent(rill_engine *e, const timestep *t, int32_t row)
{
    return rill_fail(
        e->ctx, RILL_ERR_CHECK,
        "%s %s gives input %lld another result alone than in a batch: it must use one input at a time and keep no "
        "state",
        scorer_label(e), e->chain.link[e->chain.n_heuristics].scorer->name, (long long)t->rows.item_id[row]);
}

/* Return the instance of scorer i that the row's item uses. */
static const chain_instance *row_instance(const rill_engine *e, const timestep *t, int32_t i, int32_t row)
{
    return e->items.item[t->rows.slot[row]].instances[e->chain.n_heuristics + i];
}

/* Call an instance of scorer i for some rows. If `b` is check_modifiers, the rows are those of one item alone (setting `check`), and a
 * fresh instance is called unless the scorer keeps data of inputs. */
static rill_status call_scorer(rill_engine *e, rill_modifiers *b, int32_t i, const chain_instance *instance,
                               const rill_scorer_rows *rows)
{
    const int32_t link = e->chain.n_heuristics + i;
    const rill_scorer *table = e->chain.link[link].scorer;
    const int checking = b == &e->check_modifiers && table->begin == NULL;
    void *self = instance->self;
    if (checking) RILL__TRY(chain_create_fresh(&e->chain, link, instance, &self));
    rill_error_clear(e->ctx);
    rill_status status = table->score(self, rows, b);
    if (checking) chain_destroy_fresh(&e->chain, link, self);
    status = rill__method_status(e->ctx, status, "scorer", table->name, "score");
    return status < 0 ? status : RILL_OK;
}

static int row_has_failed(const rill_engine *e, const timestep *t, int32_t row)
{
    return e->items.item[t->rows.slot[row]].failed < 0;
}

/* Return the index of the first row after the rows of `row`'s item. */
static int32_t item_end(const timestep *t, int32_t row, int32_t end)
{
    const int32_t own = t->rows.item[row];
    while (row < end && t->rows.item[row] == own) row++;
    return row;
}

/* Call scorer i for rows [first, next), whose items share an instance. `from` is the first row of the modifiers `b`. */
static rill_status run_scorer_on_rows(rill_engine *e, const timestep *t, rill_modifiers *b, int32_t i, int32_t from,
                                      int32_t first, int32_t next)
{
    const chain_link *link = &e->chain.link[e->chain.n_heuristics + i];
    rill_scorer_rows rows = engine_scorer_rows(e, t, first, next - first);
    rows.state = scorer_states_gather(&e->scorer_states, &e->chain, link, &t->rows, first, rows.n);
    b->first_row = first - from;
    b->n_scorer_rows = next - first;
    RILL__TRY(call_scorer(e, b, i, row_instance(e, t, i, first), &rows));
    if (b != &e->check_modifiers)
        scorer_states_keep(&e->scorer_states, &e->chain, link, &t->rows, first, rows.n);
    else if (!scorer_states_same(&e->scorer_states, &e->chain, link, &t->rows, first, rows.n))
        return fail_not_independent(e, t, first);
    return RILL_OK;
}

/* Scorer i failed for rows [first, next) with arguments of a request: call it for each item alone, and fail the items for which it fails
 * again. Returns RILL_AGAIN if items have failed, so that all scorers are called again for the other items. */
static rill_status fail_custom_items(rill_engine *e, const timestep *t, rill_modifiers *b, int32_t i, int32_t from,
                                     int32_t first, int32_t next, rill_status status)
{
    rill_status outcome = status;
    if (b == &e->check_modifiers || !engine_is_input_error(status) ||
        row_instance(e, t, i, first) == e->chain.default_instances[e->chain.n_heuristics + i])
        return status;
    const int alone = item_end(t, first, next) == next;
    for (int32_t end; first < next; first = end) {
        end = item_end(t, first, next);
        const rill_status item_status = alone ? status : run_scorer_on_rows(e, t, b, i, from, first, end);
        if (item_status >= 0) continue;
        if (!engine_is_input_error(item_status)) return item_status;
        RILL__TRY(engine_fail_selected(e, t->rows.slot[first], item_status, rill_error(e->ctx)));
        outcome = RILL_AGAIN;
    }
    return outcome;
}

/* Call scorer i for rows [from, end): once per sequence of adjacent rows whose items share an instance. */
static rill_status run_scorer(rill_engine *e, const timestep *t, rill_modifiers *b, int32_t i, int32_t from,
                              int32_t end)
{
    const int same_instance = e->chain.n_custom == 0 && e->items.n_cancelled == 0;
    b->scorer_name = e->chain.link[e->chain.n_heuristics + i].scorer->name;
    for (int32_t first = from, next; first < end; first = next) {
        const chain_instance *instance = row_instance(e, t, i, first);
        const int failed = row_has_failed(e, t, first);
        next = same_instance ? end : first + 1;
        while (next < end && row_instance(e, t, i, next) == instance && row_has_failed(e, t, next) == failed) next++;
        if (failed) continue;
        rill_status status = run_scorer_on_rows(e, t, b, i, from, first, next);
        if (status < 0) status = fail_custom_items(e, t, b, i, from, first, next, status);
        if (status != RILL_OK) return status;
    }
    return RILL_OK;
}

/* Return the name of the item's search that cannot be combined with constraint banks; NULL: none. */
static const char *banks_conflict(const rill_settings *s)
{
    if (s->sample > 0) return "sampling";
    if (s->groups > 1) return "diverse beam search";
    return s->cube > RILL_CUBE_NONE ? "cube pruning" : NULL;
}

/* Fail the items whose rows have different numbers of banks, or whose settings do not allow banks. Returns RILL_AGAIN if items have
 * failed. */
static rill_status check_banks(rill_engine *e, const timestep *t, const rill_modifiers *b)
{
    rill_status outcome = RILL_OK;
    char message[200];
    for (int32_t row = 0, end; b->has_banks && row < t->rows.n; row = end) {
        const int32_t slot = t->rows.slot[row], banks = b->n_banks[row];
        const char *conflict = banks_conflict(e->items.item[slot].settings);
        int same = 1;
        end = item_end(t, row, t->rows.n);
        for (int32_t i = row; i < end; i++) same &= b->n_banks[i] == banks;
        if (same && (banks == 0 || conflict == NULL)) continue;
        if (!same)
            snprintf(
                message, sizeof message,
                "%s %s divides the beam of one input into different numbers of banks: expected one number per input",
                scorer_label(e), e->chain.link[e->chain.n_heuristics].scorer->name);
        else
            snprintf(message, sizeof message,
                     "%s cannot be combined with a scorer that divides beams into banks, such as require", conflict);
        RILL__TRY(engine_fail_selected(e, slot, same ? RILL_ERR_OPTION : RILL_ERR_PLUGIN, message));
        outcome = RILL_AGAIN;
    }
    return outcome;
}

/* Call every scorer for rows [first, first + n). Returns RILL_AGAIN if items have failed. */
static rill_status run_scorers_once(rill_engine *e, const timestep *t, rill_modifiers *b, int32_t first, int32_t n)
{
    RILL__TRY(modifiers_begin(b, n));
    for (int32_t i = 0; i < e->chain.n_scorers; i++) {
        b->current_scorer = i;
        const rill_status status = run_scorer(e, t, b, i, first, first + n);
        if (status != RILL_OK) return status;
    }
    b->first_row = 0;
    b->n_scorer_rows = n;
    return b != &e->check_modifiers ? check_banks(e, t, b) : RILL_OK;
}

/* Call every scorer for the rows, and again without failed items until no more items fail. All actions are forbidden in rows of failed
 * items. */
static rill_status run_scorers(rill_engine *e, const timestep *t, rill_modifiers *b, int32_t first, int32_t n)
{
    rill_status status;
    while ((status = run_scorers_once(e, t, b, first, n)) == RILL_AGAIN) continue;
    RILL__TRY(status);
    b->current_scorer = -1;
    for (int32_t i = 0; i < n && e->items.n_cancelled > 0; i++)
        if (row_has_failed(e, t, first + i)) RILL__TRY(rill_modifiers_allow_none(b, i));
    return RILL_OK;
}

/* --- checking scorers --------------------------------------------------------------------------------------------- */

static int same_entries(const int32_t *offset_a, const int32_t *action_a, const float *value_a, int32_t a,
                        const int32_t *offset_b, const int32_t *action_b, const float *value_b, int32_t b)
{
    int32_t n_a = offset_a != NULL ? offset_a[a + 1] - offset_a[a] : 0;
    int32_t n_b = offset_b != NULL ? offset_b[b + 1] - offset_b[b] : 0;
    if (n_a != n_b) return 0;
    for (int32_t i = 0; i < n_a; i++) {
        if (action_a[offset_a[a] + i] != action_b[offset_b[b] + i]) return 0;
        if (value_a != NULL && value_a[offset_a[a] + i] != value_b[offset_b[b] + i]) return 0;
    }
    return 1;
}

/* Return 1 if the factors in two rows with equal lists of bonuses are equal, else 0. */
static int same_factors(const modifier_table *x, int32_t a, const modifier_table *y, int32_t b)
{
    if (x->add_factor == NULL && y->add_factor == NULL) return 1;
    const int32_t n = x->add_offset != NULL ? x->add_offset[a + 1] - x->add_offset[a] : 0;
    for (int32_t i = 0; i < n && y->add_offset != NULL; i++) {
        const float one = x->add_factor != NULL ? x->add_factor[x->add_offset[a] + i] : 1,
                    other = y->add_factor != NULL ? y->add_factor[y->add_offset[b] + i] : 1;
        if (one != other) return 0;
    }
    return 1;
}

/* Return 1 if the modifiers of row a (of the call with all items) and of row b (of one item alone) are equal, else 0. */
static int same_modifiers(const modifier_table *x, int32_t a, const modifier_table *y, int32_t b)
{
    int limits = (x->limit != NULL ? x->limit[a] : INT32_MAX) == (y->limit != NULL ? y->limit[b] : INT32_MAX);
    int rules = (x->end_rule != NULL ? x->end_rule[a] : 0) == (y->end_rule != NULL ? y->end_rule[b] : 0);
    int rewards = (x->reward != NULL ? x->reward[a] : 0) == (y->reward != NULL ? y->reward[b] : 0);
    int ends = (x->end_reward != NULL ? x->end_reward[a] : 0) == (y->end_reward != NULL ? y->end_reward[b] : 0);
    int banks = (x->n_banks != NULL ? x->n_banks[a] : 0) == (y->n_banks != NULL ? y->n_banks[b] : 0);
    if (banks && x->n_banks != NULL && x->n_banks[a] > 0) banks = x->default_bank[a] == y->default_bank[b];
    return limits && rules && rewards && ends && banks &&
           same_entries(x->bank_offset, x->bank_action, x->bank_target, a, y->bank_offset, y->bank_action,
                        y->bank_target, b) &&
           same_factors(x, a, y, b) &&
           same_entries(x->ban_offset, x->ban_action, NULL, a, y->ban_offset, y->ban_action, NULL, b) &&
           same_entries(x->allow_offset, x->allow_action, NULL, a, y->allow_offset, y->allow_action, NULL, b) &&
           same_entries(x->add_offset, x->add_action, x->add_score, a, y->add_offset, y->add_action, y->add_score, b);
}

static rill_status fail_max_bonus(rill_engine *e, const timestep *t, int32_t row)
{
    return rill_fail(e->ctx, RILL_ERR_CHECK, "%s %s adds more to an action of input %lld than its declared max_bonus",
                     scorer_label(e), e->chain.link[e->chain.n_heuristics].scorer->name,
                     (long long)t->rows.item_id[row]);
}

/* With the setting `check`: call the scorers for each item alone, and compare the modifiers with those of the call with all items and with
 * max_bonus. */
static rill_status check_scorers(rill_engine *e, const timestep *t, const modifier_table *all, int32_t max_choices)
{
    const row_table *r = &t->rows;
    for (int32_t first = 0, n; first < r->n; first += n) {
        n = item_end(t, first, r->n) - first;
        if (row_has_failed(e, t, first)) continue;
        modifier_table one;
        RILL__TRY(run_scorers(e, t, &e->check_modifiers, first, n));
        RILL__TRY(modifiers_build(&e->check_modifiers, max_choices, &one));
        for (int32_t i = 0; i < n; i++)
            if (!same_modifiers(all, first + i, &one, i)) return fail_not_independent(e, t, first);
        for (int32_t i = first; i < first + n; i++)
            if (!certify_check_bonus(&e->chain, &e->items.item[r->slot[i]], all, i, &e->info))
                return fail_max_bonus(e, t, i);
    }
    return RILL_OK;
}

/* --- limits ------------------------------------------------------------------------------------------------------- */

/* Return the number of choices to request for a row of the item: the maximum number of children per parent, or the number of choices to
 * sample from. Further choices could not enter the item's beam. */
static int32_t item_choices(const rill_engine *e, const item *it, int32_t phase)
{
    const rill_settings *s = it->settings;
    int32_t m = s->sample > 0 ? s->top_k : rill__max_children(s);
    if (it->exact.active) return it->exact.kind.n_choices;
    if (s->sample == 0 && e->info.max_choices_phases >> phase & 1 && s->max_candidates < m) m = s->max_candidates;
    return m < e->info.actions ? m : e->info.actions;
}

/* Return 1 if all items have the same settings, else 0. */
static int same_settings(const rill_engine *e)
{
    return e->requests.n_requests == 0 && !e->settings.exact;
}

/* Maximum of item_choices() over the selected items. */
static int32_t max_choices(const rill_engine *e, const timestep *t)
{
    int32_t max_m = 1;
    if (same_settings(e)) return item_choices(e, &e->items.item[t->selected[0]], t->phase);
    for (int32_t i = 0; i < t->n; i++) {
        int32_t m = item_choices(e, &e->items.item[t->selected[i]], t->phase);
        if (m > max_m) max_m = m;
    }
    return max_m;
}

/* Return 1 if some row needs its own limit on choices: fewer choices than the maximum, or exact search, to which scorers' limits do not
 * apply. */
static int any_limit(const rill_engine *e, const timestep *t, int32_t max_m)
{
    for (int32_t i = 0; i < t->n && !same_settings(e); i++) {
        const item *it = &e->items.item[t->selected[i]];
        if (item_choices(e, it, t->phase) < max_m || (it->exact.active && e->chain.n_scorers > 0)) return 1;
    }
    return 0;
}

static int any_ngram_blocking(const rill_engine *e, const timestep *t)
{
    if (e->requests.n_requests == 0) return ngram_blocking_is_on(&e->settings);
    for (int32_t i = 0; i < t->n; i++)
        if (ngram_blocking_is_on(e->items.item[t->selected[i]].settings)) return 1;
    return 0;
}

static int any_end_rule(const rill_engine *e, const timestep *t)
{
    for (int32_t i = 0; i < t->n; i++)
        if (stop_end_rule(&e->items.item[t->selected[i]]) != RILL_END_ALLOWED) return 1;
    return 0;
}

/* Add the modifiers that follow from settings, after the scorers' modifiers. */
static rill_status add_setting_modifiers(rill_engine *e, timestep *t, int32_t max_m)
{
    int last = t->phase == e->info.phases - 1;
    rill_modifiers *mods = timestep_modifiers(t);
    mods->current_scorer = -1;
    for (int32_t i = 0; i < t->rows.n; i++) {
        const item *it = &e->items.item[t->rows.slot[i]];
        int32_t m = item_choices(e, it, t->phase);
        if (it->exact.active) modifiers_unlimit(mods, i);
        if (m < max_m) RILL__TRY(rill_modifiers_limit_children(mods, i, m));
        if (last) RILL__TRY(rill_modifiers_end_rule(mods, i, stop_end_rule(it)));
        if (ngram_blocking_is_on(it->settings))
            RILL__TRY(ngram_blocking_add(mods, i, it->settings, e->hyps.hyp, t->rows.hyp[i], e->info.start_action));
        if (e->bad_words.n > 0) RILL__TRY(bad_words_ban(&e->bad_words, mods, i, e->hyps.hyp, t->rows.hyp[i]));
        if (e->unknown_action < 0) continue;
        if (isinf(e->settings.unknown_penalty))
            RILL__TRY(rill_modifiers_ban(mods, i, e->unknown_action));
        else
            RILL__TRY(rill_modifiers_add(mods, i, e->unknown_action, -(float)e->settings.unknown_penalty));
    }
    return RILL_OK;
}

/* Record why scorers refuse inputs: the first reason for each input. */
static rill_status note_refusals(rill_engine *e, const timestep *t, const rill_modifiers *mods)
{
    for (size_t i = 0; i < mods->n_refusals; i++) {
        item *it = &e->items.item[t->rows.slot[mods->refusals[i].row]];
        const char *reason = mods->reasons.data + mods->refusals[i].text_offset;
        if (it->fail_reason.length == 0) RILL__TRY(rill_text_append(&it->fail_reason, reason, strlen(reason)));
    }
    return RILL_OK;
}

/* Build the phase's modifiers from the scorers and from the settings. */
static rill_status make_modifiers(rill_engine *e, timestep *t)
{
    const int32_t max_m = max_choices(e, t);
    rill_modifiers *mods = timestep_modifiers(t);
    modifier_table *rules = timestep_modifier_table(t);
    int last = t->phase == e->info.phases - 1;
    int limited = e->unknown_action >= 0 || (last && any_end_rule(e, t)) || any_limit(e, t, max_m) ||
                  any_ngram_blocking(e, t) || e->bad_words.n > 0 || t->cube.second_call;
    if (e->chain.n_scorers == 0 && !limited) {
        *rules = (modifier_table){.max_choices = max_m, .limits_only = 1};
        return RILL_OK;
    }
    if (e->chain.n_scorers > 0)
        RILL__TRY(
            scorer_states_begin(&e->scorer_states, &e->chain, e->hyps.node_capacity, &t->rows, &e->items, &e->queue));
    RILL__TRY(run_scorers(e, t, mods, 0, t->rows.n));
    if (mods->n_refusals > 0) RILL__TRY(note_refusals(e, t, mods));
    if (e->settings.check && e->chain.n_scorers > 0) {
        RILL__TRY(modifiers_build(mods, max_m, rules));
        RILL__TRY(check_scorers(e, t, rules, max_m));
    }
    if (limited) RILL__TRY(add_setting_modifiers(e, t, max_m));
    mods->current_scorer = e->chain.n_scorers; /* modifiers added from here on are not attributed to a scorer */
    if (t->cube.second_call) RILL__TRY(engine_cube_restrict(t));
    return modifiers_build(mods, max_m, rules);
}

/* --- choices ------------------------------------------------------------------------------------------------------ */

rill_status engine_fail_choices(rill_engine *e, const timestep *t)
{
    const topk *s = t->cube.second_call && t->cube_topk.error != NULL ? &t->cube_topk : &t->topk;
    const item *it = &e->items.item[t->rows.slot[s->error_row]];
    return rill_fail(e->ctx, RILL_ERR_PLUGIN, "domain %s: choices of input %lld at timestep %d are %s", e->domain->name,
                     (long long)it->id, t->rows.depth[s->error_row], s->error);
}

static rill_status score_status(rill_engine *e, timestep *t, rill_status status)
{
    if (status == RILL_AGAIN && e->domain->collect == NULL)
        return rill_fail(e->ctx, RILL_ERR_PLUGIN,
                         "domain %s: score() is asynchronous, but the domain has no "
                         "collect()",
                         e->domain->name);
    t->submitted = status == RILL_AGAIN;
    return status > 0 && !t->submitted ? RILL_OK : engine_domain_status(e, status, "score");
}

/* Score the next rows: as many rows as top-k selection processes in one call. */
static rill_status score_part(rill_engine *e, timestep *t)
{
    t->part_size = topk_request_part(timestep_topk(t), t->next_row, &t->request, &t->result);
    t->part_rows = engine_domain_rows(t, t->next_row, t->part_size);
    rill_error_clear(e->ctx);
    return score_status(e, t, e->domain->score(e->self, &t->part_rows, &t->request, &t->result));
}

static rill_status collect_part(rill_engine *e, timestep *t)
{
    t->submitted = 0;
    rill_error_clear(e->ctx);
    double start = statistics_clock();
    rill_status status = e->domain->collect(e->self, t->group);
    e->statistics.current.waited += statistics_clock() - start;
    if (status == RILL_AGAIN)
        return rill_fail(e->ctx, RILL_ERR_PLUGIN, "domain %s: collect() returned before the result was ready",
                         e->domain->name);
    return status > 0 ? RILL_OK : engine_domain_status(e, status, "collect");
}

/* For rows in which scorers forbade every action, record the scorer in the row's item, for the error message. */
static void note_blocked_rows(rill_engine *e, timestep *t)
{
    const int32_t *blamed = timestep_modifier_table(t)->blocked_by;
    for (int32_t i = t->next_row; blamed != NULL && i < t->next_row + t->part_size; i++)
        if (timestep_topk(t)->choices.count[i] == 0 && blamed[i] > 0)
            e->items.item[t->rows.slot[i]].blocked_by = blamed[i];
}

/* Fail the items in whose rows a choice has an infinite score, since the order of choices is then undefined. */
static rill_status fail_unbounded(rill_engine *e, timestep *t)
{
    choice_table *c = &timestep_topk(t)->choices;
    char message[200];
    for (int32_t i = t->next_row; timestep_topk(t)->is_unbounded && i < t->next_row + t->part_size; i++) {
        if (c->count[i] == 0 || c->score[(size_t)i * (size_t)c->stride] <= FLT_MAX) continue;
        const item *it = &e->items.item[t->rows.slot[i]];
        c->count[i] = 0;
        snprintf(message, sizeof message,
                 "%s %s: the score of a choice of input %lld at timestep %d is infinite "
                 "or NaN",
                 scorer_label(e), e->chain.link[e->chain.n_heuristics].scorer->name, (long long)it->id,
                 t->rows.depth[i]);
        RILL__TRY(engine_fail_selected(e, t->rows.slot[i], RILL_ERR_PLUGIN, message));
    }
    return RILL_OK;
}

rill_status engine_score(rill_engine *e, timestep *t)
{
    for (;;) {
        rill_status status = t->submitted ? collect_part(e, t) : score_part(e, t);
        statistics_end_stage(&e->statistics, &e->statistics.current.score);
        if (status != RILL_OK) return status;
        const char *wrong = topk_take_result(timestep_topk(t), t->next_row, t->part_size,
                                             t->phase == e->info.phases - 1);
        if (wrong != NULL) return engine_fail_choices(e, t);
        RILL__TRY(fail_unbounded(e, t));
        note_blocked_rows(e, t);
        t->next_row += t->part_size;
        if (t->next_row >= t->rows.n) return RILL_OK;
        statistics_end_stage(&e->statistics, &e->statistics.current.select);
    }
}

void engine_collect_pending(rill_engine *e)
{
    /* copy of the error that may have ended the run, which collect_part() may overwrite */
    char why[RILL__MESSAGE_BYTES];
    const rill_status failed = rill_error_status(e->ctx);
    if (!e->timesteps[0].submitted && !e->timesteps[1].submitted) return;
    snprintf(why, sizeof why, "%s", rill_error(e->ctx));
    for (int i = 0; i < 2; i++)
        if (e->timesteps[i].submitted) collect_part(e, &e->timesteps[i]);
    if (failed < 0) rill_fail(e->ctx, failed, "%s", why);
}

rill_status engine_expand(rill_engine *e, timestep *t)
{
    RILL__TRY(make_rows(e, t));
    return engine_step_rows(e, t);
}

rill_status engine_step_rows(rill_engine *e, timestep *t)
{
    statistics *s = &e->statistics;
    RILL__TRY(assign_nodes(e, t));
    const rill_rows rows = engine_domain_rows(t, 0, t->rows.n);
    statistics_end_stage(s, &s->current.choose);
    rill_error_clear(e->ctx);
    RILL__TRY(engine_domain_status(e, e->domain->step(e->self, &rows), "step"));
    statistics_end_stage(s, &s->current.step);
    for (int32_t i = 0; i < t->rows.n; i++) hyp_pool_mark_stepped(&e->hyps, t->rows.hyp[i]);
    engine_free_nodes(e);
    RILL__TRY(make_modifiers(e, t));
    RILL__TRY(topk_begin(timestep_topk(t), timestep_modifier_table(t), rows.n));
    statistics_end_stage(s, &s->current.scorers);
    t->next_row = 0;
    return RILL_OK;
}
