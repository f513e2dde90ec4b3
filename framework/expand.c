/* Expansion: the rows of a timestep, their states, and their choices.
 *
 * A row is a live candidate of a selected item; rows of one item stand together, in rank order. Its state is made here, not
 * when the candidate was committed: what heuristics drop is never computed.
 *
 * Divisions: rows · asking · checking what scorers said · limits · choices. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "repeats.h"
#include "rooms.h"

/* --- rows --------------------------------------------------------------------------------------------------------- */

void engine_add_row(rill_engine *e, timestep *t, int32_t index, int32_t rank)
{
    row_table *r = &t->rows;
    const forest *f = &e->forest;
    const int32_t i = r->n++, slot = t->selected[index];
    const item *it = &e->items.at[slot];
    const beam_entry *entry = &it->beam[rank];
    const int32_t history = entry->history;
    r->parent[i] = r->state_parent[i] = entry->state_node;
    r->action[i] = entry->action;
    r->slot[i] = slot;
    r->depth[i] = it->timestep;
    r->history[i] = history;
    r->item[i] = index;
    __builtin_prefetch(&f->h[history], 1);
    if (!t->cube.on && e->chain.n_scorers == 0) return; /* who alone look at the last columns */
    r->rank[i] = rank;
    r->item_id[i] = it->id;
    r->score[i] = entry->score;
    if (t->cube.on) r->parent[i] = forest_node(f, f->h[history].parent);
}

/* The model's arithmetic has taken the caches, so each pass over the rows fetches what the next one will look at: the first beams, making
 * rows their histories, giving out nodes the histories before these. */
static rill_status make_rows(rill_engine *e, timestep *t)
{
    int64_t live = 0;
    for (int32_t i = 0; i < t->n; i++) {
        const item *it = &e->items.at[t->selected[i]];
        live += it->live;
        __builtin_prefetch(it->beam);
    }
    RILL__TRY(timestep_reserve_rows(t, (size_t)live));
    t->rows.n = 0;
    t->cube.on = engine_cubed(e, t);
    for (int32_t i = 0; i < t->n; i++) {
        item *it = &e->items.at[t->selected[i]];
        it->expanded = e->statistics.all.expansions;
        if (!exact_is_awake(it, t)) continue;
        for (int32_t rank = 0; rank < it->width; rank++)
            if (!it->beam[rank].ended) engine_add_row(e, t, i, rank);
    }
    return engine_cube_group(e, t);
}

/* Give the rows their nodes, which were promised. */
static rill_status assign_nodes(rill_engine *e, timestep *t)
{
    const row_table *r = &t->rows;
    int grew;
    RILL__TRY(forest_reserve_nodes(&e->forest, r->n, &grew));
    if (grew) RILL__TRY(engine_reserve_domain(e));
    RILL__TRY(engine_exact_keep_rows(e, t));
    forest_assign_nodes(&e->forest, r->history, r->n, r->node);
    engine_keep_promise(t, r->n);
    return RILL_OK;
}

void engine_keep_promise(timestep *t, int64_t n)
{
    t->promised -= t->promised < n ? t->promised : n;
}

/* The rows from `from` on, n of them, as the domain sees them. */
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

/* --- asking ------------------------------------------------------------------------------------------------------- */

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
        .score = r->score + first,
        .history = r->history + first,
        .histories = e->forest.h,
        .info = &e->info,
        .model = e->model,
        .text = e->scoring.text + first,
        .text_length = e->scoring.length + first,
    };
}

/* What stands before the name of the first scorer, since which of several it was nobody knows. */
static const char *scorers_word(const rill_engine *e)
{
    return e->chain.n_scorers == 1 ? "scorer" : "the scorer chain that begins with";
}

/* The item of that row is, by a scorer. */
static rill_status treated_differently(rill_engine *e, const timestep *t, int32_t row)
{
    return rill_fail(
        e->ctx, RILL_ERR_CHECK,
        "%s %s treats input %lld differently alone than among others: it must look at one item at a time and "
        "remember nothing",
        scorers_word(e), e->chain.link[e->chain.n_heuristics].scorer->name, (long long)t->rows.item_id[row]);
}

/* What the item of a row uses for scorer i. */
static const chain_instance *instance_of(const rill_engine *e, const timestep *t, int32_t i, int32_t row)
{
    return e->items.at[t->rows.slot[row]].instances[e->chain.n_heuristics + i];
}

/* Have scorer i, of that instance, speak about some rows. What is said of an item alone (`b` is the checks') is said by an instance that
 * has seen nothing, unless the scorer keeps something of its inputs. */
static rill_status speak(rill_engine *e, rill_ask_builder *b, int32_t i, const chain_instance *instance,
                         const rill_scorer_rows *rows)
{
    const int32_t link = e->chain.n_heuristics + i;
    const rill_scorer *table = e->chain.link[link].scorer;
    const int checking = b == &e->check_asks && table->begin == NULL;
    void *self = instance->self;
    if (checking) RILL__TRY(chain_make_fresh(&e->chain, link, instance, &self));
    rill_error_clear(e->ctx);
    rill_status status = table->score(self, rows, b);
    if (checking) chain_drop_fresh(&e->chain, link, self);
    status = rill__method_status(e->ctx, status, "scorer", table->name, "score");
    return status < 0 ? status : RILL_OK;
}

static int has_failed(const rill_engine *e, const timestep *t, int32_t row)
{
    return e->items.at[t->rows.slot[row]].failed < 0;
}

/* The first row behind those of the row's item. */
static int32_t behind_item(const timestep *t, int32_t row, int32_t end)
{
    const int32_t own = t->rows.item[row];
    while (row < end && t->rows.item[row] == own) row++;
    return row;
}

/* Have scorer i speak about rows [first, next), whose items share an instance; the builder's rows begin at `from`. */
static rill_status ask_scorer(rill_engine *e, const timestep *t, rill_ask_builder *b, int32_t i, int32_t from,
                              int32_t first, int32_t next)
{
    const chain_link *link = &e->chain.link[e->chain.n_heuristics + i];
    rill_scorer_rows rows = engine_scorer_rows(e, t, first, next - first);
    rows.state = scoring_gather(&e->scoring, &e->chain, link, &t->rows, first, rows.n);
    b->first = first - from;
    b->n_heard = next - first;
    RILL__TRY(speak(e, b, i, instance_of(e, t, i, first), &rows));
    if (b != &e->check_asks)
        scoring_keep(&e->scoring, &e->chain, link, &t->rows, first, rows.n);
    else if (!scoring_same(&e->scoring, &e->chain, link, &t->rows, first, rows.n))
        return treated_differently(e, t, first);
    return RILL_OK;
}

/* Scorer i has failed about rows [first, next). With arguments that a request gave it, that is the request's affair: each item that it
 * fails about fails alone, and scorers are asked anew about the others (RILL_AGAIN). */
static rill_status blame_items(rill_engine *e, const timestep *t, rill_ask_builder *b, int32_t i, int32_t from,
                               int32_t first, int32_t next, rill_status status)
{
    rill_status outcome = status;
    if (b == &e->check_asks || !engine_is_of_input(status) ||
        instance_of(e, t, i, first) == e->chain.own[e->chain.n_heuristics + i])
        return status;
    const int alone = behind_item(t, first, next) == next;
    for (int32_t end; first < next; first = end) {
        end = behind_item(t, first, next);
        const rill_status own = alone ? status : ask_scorer(e, t, b, i, from, first, end);
        if (own >= 0) continue;
        if (!engine_is_of_input(own)) return own;
        RILL__TRY(engine_fail_selected(e, t->rows.slot[first], own, rill_error(e->ctx)));
        outcome = RILL_AGAIN;
    }
    return outcome;
}

/* Let scorer i speak about rows [from, end): once for each run of neighbours whose items share an instance. */
static rill_status run_scorer(rill_engine *e, const timestep *t, rill_ask_builder *b, int32_t i, int32_t from,
                              int32_t end)
{
    const int alike = e->chain.n_foreign == 0 && e->items.n_cancelled == 0;
    b->name = e->chain.link[e->chain.n_heuristics + i].scorer->name;
    for (int32_t first = from, next; first < end; first = next) {
        const chain_instance *instance = instance_of(e, t, i, first);
        const int failed = has_failed(e, t, first);
        next = alike ? end : first + 1;
        while (next < end && instance_of(e, t, i, next) == instance && has_failed(e, t, next) == failed) next++;
        if (failed) continue;
        rill_status status = ask_scorer(e, t, b, i, from, first, next);
        if (status < 0) status = blame_items(e, t, b, i, from, first, next, status);
        if (status != RILL_OK) return status;
    }
    return RILL_OK;
}

/* What the item cannot have together with banks; NULL: nothing. */
static const char *without_banks(const rill_settings *s)
{
    if (s->sample > 0) return "sampling";
    if (s->groups > 1) return "a beam of groups";
    return s->cube > RILL_CUBE_NONE ? "cube pruning" : NULL;
}

/* Items whose beams were divided into banks and cannot be fail alone: RILL_AGAIN. */
static rill_status check_banks(rill_engine *e, const timestep *t, const rill_ask_builder *b)
{
    rill_status outcome = RILL_OK;
    char why[200];
    for (int32_t row = 0, end; b->has_banks && row < t->rows.n; row = end) {
        const int32_t slot = t->rows.slot[row], banks = b->banks[row];
        const char *without = without_banks(e->items.at[slot].settings);
        int same = 1;
        end = behind_item(t, row, t->rows.n);
        for (int32_t i = row; i < end; i++) same &= b->banks[i] == banks;
        if (same && (banks == 0 || without == NULL)) continue;
        if (!same)
            snprintf(why, sizeof why, "%s %s divides the hypotheses of one input into different numbers of banks",
                     scorers_word(e), e->chain.link[e->chain.n_heuristics].scorer->name);
        else
            snprintf(why, sizeof why,
                     "%s cannot be combined with a scorer that divides beams into banks, as required phrases do",
                     without);
        RILL__TRY(engine_fail_selected(e, slot, same ? RILL_ERR_OPTION : RILL_ERR_PLUGIN, why));
        outcome = RILL_AGAIN;
    }
    return outcome;
}

/* Let every scorer speak about rows [first, first + n). RILL_AGAIN: items have failed meanwhile. */
static rill_status run_scorers_once(rill_engine *e, const timestep *t, rill_ask_builder *b, int32_t first, int32_t n)
{
    RILL__TRY(ask_begin(b, n));
    for (int32_t i = 0; i < e->chain.n_scorers; i++) {
        b->scorer = i;
        const rill_status status = run_scorer(e, t, b, i, first, first + n);
        if (status != RILL_OK) return status;
    }
    b->first = 0;
    b->n_heard = n;
    return b != &e->check_asks ? check_banks(e, t, b) : RILL_OK;
}

/* Items that have failed may do nothing more. */
static rill_status run_scorers(rill_engine *e, const timestep *t, rill_ask_builder *b, int32_t first, int32_t n)
{
    rill_status status;
    while ((status = run_scorers_once(e, t, b, first, n)) == RILL_AGAIN) continue;
    RILL__TRY(status);
    b->scorer = -1;
    for (int32_t i = 0; i < n && e->items.n_cancelled > 0; i++)
        if (has_failed(e, t, first + i)) RILL__TRY(rill_ask_allow_none(b, i));
    return RILL_OK;
}

/* --- checking what scorers said ----------------------------------------------------------------------------------- */

static int same_span(const int32_t *offset_a, const int32_t *action_a, const float *value_a, int32_t a,
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

/* Of additions that are the same. */
static int same_factors(const ask_rules *x, int32_t a, const ask_rules *y, int32_t b)
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

/* What was said of row a of the call and of row b of one item alone. */
static int same_rules(const ask_rules *x, int32_t a, const ask_rules *y, int32_t b)
{
    int limits = (x->limit != NULL ? x->limit[a] : INT32_MAX) == (y->limit != NULL ? y->limit[b] : INT32_MAX);
    int rules = (x->end_rule != NULL ? x->end_rule[a] : 0) == (y->end_rule != NULL ? y->end_rule[b] : 0);
    int rewards = (x->reward != NULL ? x->reward[a] : 0) == (y->reward != NULL ? y->reward[b] : 0);
    int ends = (x->end_reward != NULL ? x->end_reward[a] : 0) == (y->end_reward != NULL ? y->end_reward[b] : 0);
    int banks = (x->banks != NULL ? x->banks[a] : 0) == (y->banks != NULL ? y->banks[b] : 0);
    if (banks && x->banks != NULL && x->banks[a] > 0) banks = x->bank_rest[a] == y->bank_rest[b];
    return limits && rules && rewards && ends && banks &&
           same_span(x->bank_offset, x->bank_action, x->bank_to, a, y->bank_offset, y->bank_action, y->bank_to, b) &&
           same_factors(x, a, y, b) &&
           same_span(x->ban_offset, x->ban_action, NULL, a, y->ban_offset, y->ban_action, NULL, b) &&
           same_span(x->allow_offset, x->allow_action, NULL, a, y->allow_offset, y->allow_action, NULL, b) &&
           same_span(x->add_offset, x->add_action, x->add_score, a, y->add_offset, y->add_action, y->add_score, b);
}

static rill_status says_less(rill_engine *e, const timestep *t, int32_t row)
{
    return rill_fail(e->ctx, RILL_ERR_CHECK,
                     "%s %s adds more to an action of input %lld than it says that it does at most", scorers_word(e),
                     e->chain.link[e->chain.n_heuristics].scorer->name, (long long)t->rows.item_id[row]);
}

/* Ask the scorers about each item alone and compare with what they said of all, and with what they say of themselves. */
static rill_status check_scorers(rill_engine *e, const timestep *t, const ask_rules *all, int32_t max_choices)
{
    const row_table *r = &t->rows;
    for (int32_t first = 0, n; first < r->n; first += n) {
        n = behind_item(t, first, r->n) - first;
        if (has_failed(e, t, first)) continue;
        ask_rules one;
        RILL__TRY(run_scorers(e, t, &e->check_asks, first, n));
        RILL__TRY(ask_build(&e->check_asks, max_choices, &one));
        for (int32_t i = 0; i < n; i++)
            if (!same_rules(all, first + i, &one, i)) return treated_differently(e, t, first);
        for (int32_t i = first; i < first + n; i++)
            if (!certify_covers(&e->chain, &e->items.at[r->slot[i]], all, i, &e->info)) return says_less(e, t, i);
    }
    return RILL_OK;
}

/* --- limits ------------------------------------------------------------------------------------------------------- */

/* The most children that a parent may have under these settings, or draw among; of more than its item keeps the rest would be found in
 * vain. */
static int32_t choices_of(const rill_engine *e, const item *it, int32_t phase)
{
    const rill_settings *s = it->settings;
    int32_t m = s->sample > 0 ? s->top_k : rill__merge_limit(s);
    if (it->exact.on) return it->exact.kind.ask;
    if (s->sample == 0 && e->info.max_choices_phases >> phase & 1 && s->max_candidates < m) m = s->max_candidates;
    return m < e->info.actions ? m : e->info.actions;
}

/* All items are searched in one way. */
static int are_alike(const rill_engine *e)
{
    return e->requests.n == 0 && !e->settings.exact;
}

/* Of any of the selected items. */
static int32_t max_choices(const rill_engine *e, const timestep *t)
{
    int32_t most = 1;
    if (are_alike(e)) return choices_of(e, &e->items.at[t->selected[0]], t->phase);
    for (int32_t i = 0; i < t->n; i++) {
        int32_t m = choices_of(e, &e->items.at[t->selected[i]], t->phase);
        if (m > most) most = m;
    }
    return most;
}

/* Rows of items that may have fewer are limited, and where exact search asks more than a scorer would have. */
static int any_limit(const rill_engine *e, const timestep *t, int32_t most)
{
    for (int32_t i = 0; i < t->n && !are_alike(e); i++) {
        const item *it = &e->items.at[t->selected[i]];
        if (choices_of(e, it, t->phase) < most || (it->exact.on && e->chain.n_scorers > 0)) return 1;
    }
    return 0;
}

static int any_repeats(const rill_engine *e, const timestep *t)
{
    if (e->requests.n == 0) return repeats_matter(&e->settings);
    for (int32_t i = 0; i < t->n; i++)
        if (repeats_matter(e->items.at[t->selected[i]].settings)) return 1;
    return 0;
}

static int any_end_rule(const rill_engine *e, const timestep *t)
{
    for (int32_t i = 0; i < t->n; i++)
        if (ending_rule(&e->items.at[t->selected[i]]) != RILL_END_ALLOWED) return 1;
    return 0;
}

/* What the settings have to say of the rows, behind what the scorers said. */
static rill_status ask_limits(rill_engine *e, timestep *t, int32_t most)
{
    int last = t->phase == e->info.phases - 1;
    rill_ask_builder *asks = timestep_asks(t);
    asks->scorer = -1;
    for (int32_t i = 0; i < t->rows.n; i++) {
        const item *it = &e->items.at[t->rows.slot[i]];
        int32_t m = choices_of(e, it, t->phase);
        if (it->exact.on) ask_unlimit(asks, i);
        if (m < most) RILL__TRY(rill_ask_limit(asks, i, m));
        if (last) RILL__TRY(rill_ask_end(asks, i, ending_rule(it)));
        if (repeats_matter(it->settings))
            RILL__TRY(repeats_ask(asks, i, it->settings, e->forest.h, t->rows.history[i], e->info.start_action));
        if (e->forbidden.n > 0) RILL__TRY(forbidden_ask(&e->forbidden, asks, i, e->forest.h, t->rows.history[i]));
        if (e->unknown < 0) continue;
        if (isinf(e->settings.unknown_penalty))
            RILL__TRY(rill_ask_ban(asks, i, e->unknown));
        else
            RILL__TRY(rill_ask_add(asks, i, e->unknown, -(float)e->settings.unknown_penalty));
    }
    return RILL_OK;
}

/* Inputs that a scorer refuses: the first reason of each is kept. */
static rill_status note_refusals(rill_engine *e, const timestep *t, const rill_ask_builder *asks)
{
    for (size_t i = 0; i < asks->n_refused; i++) {
        item *it = &e->items.at[t->rows.slot[asks->refused[i].row]];
        const char *why = asks->reasons.data + asks->refused[i].at;
        if (it->refused.length == 0) RILL__TRY(rill_text_append(&it->refused, why, strlen(why)));
    }
    return RILL_OK;
}

/* The rules of the phase: what scorers and settings say. */
static rill_status make_rules(rill_engine *e, timestep *t)
{
    const int32_t most = max_choices(e, t);
    rill_ask_builder *asks = timestep_asks(t);
    ask_rules *rules = timestep_rules(t);
    int last = t->phase == e->info.phases - 1;
    int limited = e->unknown >= 0 || (last && any_end_rule(e, t)) || any_limit(e, t, most) || any_repeats(e, t) ||
                  e->forbidden.n > 0 || t->cube.exact;
    if (e->chain.n_scorers == 0 && !limited) {
        *rules = (ask_rules){.max_choices = most, .plain = 1};
        return RILL_OK;
    }
    if (e->chain.n_scorers > 0)
        RILL__TRY(scoring_begin(&e->scoring, &e->chain, e->forest.node_capacity, &t->rows, &e->items, &e->intake));
    RILL__TRY(run_scorers(e, t, asks, 0, t->rows.n));
    if (asks->n_refused > 0) RILL__TRY(note_refusals(e, t, asks));
    if (e->settings.check && e->chain.n_scorers > 0) {
        RILL__TRY(ask_build(asks, most, rules));
        RILL__TRY(check_scorers(e, t, rules, most));
    }
    if (limited) RILL__TRY(ask_limits(e, t, most));
    asks->scorer = e->chain.n_scorers; /* what follows is nobody's who spoke before */
    if (t->cube.exact) RILL__TRY(engine_cube_allow(t));
    return ask_build(asks, most, rules);
}

/* --- choices ------------------------------------------------------------------------------------------------------ */

rill_status engine_wrong_choices(rill_engine *e, const timestep *t)
{
    const selector *s = t->cube.exact && t->exact.wrong != NULL ? &t->exact : &t->selector;
    const item *it = &e->items.at[t->rows.slot[s->bad]];
    return rill_fail(e->ctx, RILL_ERR_PLUGIN, "domain %s: choices of input %lld at timestep %d are %s", e->domain->name,
                     (long long)it->id, t->rows.depth[s->bad], s->wrong);
}

static rill_status score_status(rill_engine *e, timestep *t, rill_status status)
{
    if (status == RILL_AGAIN && e->domain->collect == NULL)
        return rill_fail(e->ctx, RILL_ERR_PLUGIN, "domain %s: score answers later, and there is no collect",
                         e->domain->name);
    t->submitted = status == RILL_AGAIN;
    return status > 0 && !t->submitted ? RILL_OK : engine_domain_status(e, status, "score");
}

/* Score the next rows, as many as the selector takes at once. */
static rill_status score_part(rill_engine *e, timestep *t)
{
    t->part = selector_part(timestep_selector(t), t->from, &t->ask, &t->out);
    t->part_rows = engine_domain_rows(t, t->from, t->part);
    rill_error_clear(e->ctx);
    return score_status(e, t, e->domain->score(e->self, &t->part_rows, &t->ask, &t->out));
}

static rill_status collect_part(rill_engine *e, timestep *t)
{
    t->submitted = 0;
    rill_error_clear(e->ctx);
    double start = statistics_clock();
    rill_status status = e->domain->collect(e->self, t->group);
    e->statistics.now.waited += statistics_clock() - start;
    if (status == RILL_AGAIN)
        return rill_fail(e->ctx, RILL_ERR_PLUGIN, "domain %s: collect returned before the answer was there",
                         e->domain->name);
    return status > 0 ? RILL_OK : engine_domain_status(e, status, "collect");
}

/* Rows of the part that scorers have left nothing: their items know by whom, for the case that they come to nothing. */
static void note_deaths(rill_engine *e, timestep *t)
{
    const int32_t *blamed = timestep_rules(t)->blamed;
    for (int32_t i = t->from; blamed != NULL && i < t->from + t->part; i++)
        if (timestep_selector(t)->choices.count[i] == 0 && blamed[i] > 0)
            e->items.at[t->rows.slot[i]].blamed = blamed[i];
}

/* Items of rows of the part that scorers have lifted beyond all numbers, where there is no order any more, fail alone. */
static rill_status fail_lifted(rill_engine *e, timestep *t)
{
    choice_table *c = &timestep_selector(t)->choices;
    char why[200];
    for (int32_t i = t->from; timestep_selector(t)->lifted && i < t->from + t->part; i++) {
        if (c->count[i] == 0 || c->score[(size_t)i * (size_t)c->stride] <= FLT_MAX) continue;
        const item *it = &e->items.at[t->rows.slot[i]];
        c->count[i] = 0;
        snprintf(why, sizeof why, "%s %s: choices of input %lld at timestep %d are lifted beyond all numbers",
                 scorers_word(e), e->chain.link[e->chain.n_heuristics].scorer->name, (long long)it->id,
                 t->rows.depth[i]);
        RILL__TRY(engine_fail_selected(e, t->rows.slot[i], RILL_ERR_PLUGIN, why));
    }
    return RILL_OK;
}

rill_status engine_answer(rill_engine *e, timestep *t)
{
    for (;;) {
        rill_status status = t->submitted ? collect_part(e, t) : score_part(e, t);
        statistics_lap(&e->statistics, &e->statistics.now.score);
        if (status != RILL_OK) return status;
        const char *wrong = selector_take(timestep_selector(t), t->from, t->part, t->phase == e->info.phases - 1);
        if (wrong != NULL) return engine_wrong_choices(e, t);
        RILL__TRY(fail_lifted(e, t));
        note_deaths(e, t);
        t->from += t->part;
        if (t->from >= t->rows.n) return RILL_OK;
        statistics_lap(&e->statistics, &e->statistics.now.select);
    }
}

void engine_collect_rest(rill_engine *e)
{
    char why[RILL__MESSAGE_BYTES]; /* the run may have ended with */
    const rill_status failed = rill_error_status(e->ctx);
    if (!e->step[0].submitted && !e->step[1].submitted) return;
    snprintf(why, sizeof why, "%s", rill_error(e->ctx));
    for (int i = 0; i < 2; i++)
        if (e->step[i].submitted) collect_part(e, &e->step[i]);
    if (failed < 0) rill_fail(e->ctx, failed, "%s", why);
}

rill_status engine_expand(rill_engine *e, timestep *t)
{
    RILL__TRY(make_rows(e, t));
    return engine_score_rows(e, t);
}

rill_status engine_score_rows(rill_engine *e, timestep *t)
{
    statistics *s = &e->statistics;
    RILL__TRY(assign_nodes(e, t));
    const rill_rows rows = engine_domain_rows(t, 0, t->rows.n);
    statistics_lap(s, &s->now.choose);
    rill_error_clear(e->ctx);
    RILL__TRY(engine_domain_status(e, e->domain->step(e->self, &rows), "step"));
    statistics_lap(s, &s->now.step);
    for (int32_t i = 0; i < t->rows.n; i++) forest_stepped(&e->forest, t->rows.history[i]);
    engine_free_nodes(e);
    RILL__TRY(make_rules(e, t));
    RILL__TRY(selector_ask(timestep_selector(t), timestep_rules(t), rows.n));
    statistics_lap(s, &s->now.scorers);
    t->from = 0;
    return RILL_OK;
}
