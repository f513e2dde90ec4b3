/* Expansion: the rows of a timestep, their states, and their choices.
 *
 * A row is a live candidate of a selected item; rows of one item stand together, in rank order. Its state is made here, not
 * when the candidate was committed: what heuristics drop is never computed.
 *
 * Divisions: rows · asking · checking what scorers said · limits · choices. */
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
static rill_status speak(rill_engine *e, const timestep *t, rill_ask_builder *b, int32_t i,
                         const chain_instance *instance, const rill_scorer_rows *rows)
{
    const int32_t link = e->chain.n_heuristics + i;
    const rill_scorer *table = e->chain.link[link].scorer;
    const int checking = b != &t->asks && table->begin == NULL;
    void *self = instance->self;
    if (checking) RILL__TRY(chain_make_fresh(&e->chain, link, instance, &self));
    rill_error_clear(e->ctx);
    rill_status status = table->score(self, rows, b);
    if (checking) chain_drop_fresh(&e->chain, link, self);
    status = rill__method_status(e->ctx, status, "scorer", table->name, "score");
    return status < 0 ? status : RILL_OK;
}

/* Let scorer i speak about rows [from, end): once for each run of neighbours whose items share an instance. */
static rill_status run_scorer(rill_engine *e, const timestep *t, rill_ask_builder *b, int32_t i, int32_t from,
                              int32_t end)
{
    const chain_link *link = &e->chain.link[e->chain.n_heuristics + i];
    b->name = link->scorer->name;
    for (int32_t first = from, next; first < end; first = next) {
        const chain_instance *instance = instance_of(e, t, i, first);
        next = e->chain.n_foreign == 0 ? end : first + 1;
        while (next < end && instance_of(e, t, i, next) == instance) next++;
        rill_scorer_rows rows = engine_scorer_rows(e, t, first, next - first);
        rows.state = scoring_gather(&e->scoring, &e->chain, link, &t->rows, first, rows.n);
        b->first = first - from;
        b->n_heard = next - first;
        RILL__TRY(speak(e, t, b, i, instance, &rows));
        if (b == &t->asks)
            scoring_keep(&e->scoring, &e->chain, link, &t->rows, first, rows.n);
        else if (!scoring_same(&e->scoring, &e->chain, link, &t->rows, first, rows.n))
            return treated_differently(e, t, first);
    }
    return RILL_OK;
}

/* Let every scorer speak about rows [first, first + n). */
static rill_status run_scorers(rill_engine *e, const timestep *t, rill_ask_builder *b, int32_t first, int32_t n)
{
    RILL__TRY(ask_begin(b, n));
    for (int32_t i = 0; i < e->chain.n_scorers; i++) {
        b->scorer = i;
        RILL__TRY(run_scorer(e, t, b, i, first, first + n));
    }
    b->first = 0;
    b->n_heard = n;
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
        for (n = 1; first + n < r->n && r->item[first + n] == r->item[first];) n++;
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

/* What has no banks; NULL: everything has. */
static const char *without_banks(const rill_engine *e, const timestep *t)
{
    for (int32_t i = 0; i < t->n; i++) {
        const rill_settings *s = e->items.at[t->selected[i]].settings;
        if (s->sample > 0 || s->groups > 1) return s->sample > 0 ? "sampling" : "a beam of groups";
    }
    return t->cube.on ? "cube pruning" : NULL;
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
    rill_ask_builder *asks = &t->asks;
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
static rill_status note_refusals(rill_engine *e, const timestep *t)
{
    const rill_ask_builder *asks = &t->asks;
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
    int last = t->phase == e->info.phases - 1;
    int limited = e->unknown >= 0 || (last && any_end_rule(e, t)) || any_limit(e, t, most) || any_repeats(e, t) ||
                  e->forbidden.n > 0 || t->cube.exact;
    if (e->chain.n_scorers == 0 && !limited) {
        t->rules = (ask_rules){.max_choices = most, .plain = 1};
        return RILL_OK;
    }
    if (e->chain.n_scorers > 0)
        RILL__TRY(scoring_begin(&e->scoring, &e->chain, e->forest.node_capacity, &t->rows, &e->items, &e->intake));
    RILL__TRY(run_scorers(e, t, &t->asks, 0, t->rows.n));
    if (t->asks.n_refused > 0) RILL__TRY(note_refusals(e, t));
    if (e->settings.check && e->chain.n_scorers > 0) {
        RILL__TRY(ask_build(&t->asks, most, &t->rules));
        RILL__TRY(check_scorers(e, t, &t->rules, most));
    }
    if (limited) RILL__TRY(ask_limits(e, t, most));
    t->asks.scorer = e->chain.n_scorers; /* what follows is nobody's who spoke before */
    if (t->cube.exact) RILL__TRY(engine_cube_allow(t));
    RILL__TRY(ask_build(&t->asks, most, &t->rules));
    if (t->rules.banks != NULL && without_banks(e, t) != NULL)
        return rill_fail(e->ctx, RILL_ERR_OPTION, "%s has no banks, and a scorer divides beams into some",
                         without_banks(e, t));
    return RILL_OK;
}

/* --- choices ------------------------------------------------------------------------------------------------------ */

rill_status engine_wrong_choices(rill_engine *e, const timestep *t)
{
    const selector *s = t->cube.exact && t->exact.wrong != NULL ? &t->exact : &t->selector;
    const item *it = &e->items.at[t->rows.slot[s->bad]];
    if (s->by_scorers)
        return rill_fail(e->ctx, RILL_ERR_PLUGIN, "%s %s: choices of input %lld at timestep %d are %s", scorers_word(e),
                         e->chain.link[e->chain.n_heuristics].scorer->name, (long long)it->id, t->rows.depth[s->bad],
                         s->wrong);
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
    for (int32_t i = t->from; t->rules.blamed != NULL && i < t->from + t->part; i++)
        if (timestep_selector(t)->choices.count[i] == 0 && t->rules.blamed[i] > 0)
            e->items.at[t->rows.slot[i]].blamed = t->rules.blamed[i];
}

rill_status engine_answer(rill_engine *e, timestep *t)
{
    for (;;) {
        rill_status status = t->submitted ? collect_part(e, t) : score_part(e, t);
        statistics_lap(&e->statistics, &e->statistics.now.score);
        if (status != RILL_OK) return status;
        const char *wrong = selector_take(timestep_selector(t), t->from, t->part, t->phase == e->info.phases - 1);
        if (wrong != NULL) return engine_wrong_choices(e, t);
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
    RILL__TRY(selector_ask(timestep_selector(t), &t->rules, rows.n));
    statistics_lap(s, &s->now.scorers);
    t->from = 0;
    return RILL_OK;
}
