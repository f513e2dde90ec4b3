/* Expansion: the rows of a timestep, their states, and their choices.
 *
 * A row is a live candidate of a selected item; rows of one item stand together, in rank order. Its state is made here, not
 * when the candidate was committed: what heuristics drop is never computed.
 *
 * Divisions: rows · asking · checking what scorers said · limits · choices. */
#include <math.h>
#include <string.h>

#include "engine_private.h"

/* --- rows --------------------------------------------------------------------------------------------------------- */

static rill_status grow_rows(rill_engine *e, size_t n)
{
    row_table *r = &e->rows;
    if (n <= r->capacity) return RILL_OK;
    size_t old = r->capacity, wanted = n + n / 2;
    void **columns[] = {(void **)&r->node, (void **)&r->parent,  (void **)&r->state_parent, (void **)&r->action,
                        (void **)&r->slot, (void **)&r->depth,   (void **)&r->history,      (void **)&r->rank,
                        (void **)&r->item, (void **)&r->item_id, (void **)&r->score};
    enum { COLUMNS = sizeof columns / sizeof columns[0], WIDE = 2 };
    for (int i = 0; i < COLUMNS; i++) {
        size_t size = i < COLUMNS - WIDE ? sizeof(int32_t) : sizeof(int64_t);
        rill_free(e->ctx, *columns[i], old * size);
        *columns[i] = NULL;
    }
    r->capacity = wanted;
    for (int i = 0; i < COLUMNS; i++) {
        size_t size = i < COLUMNS - WIDE ? sizeof(int32_t) : sizeof(int64_t);
        *columns[i] = rill_alloc(e->ctx, wanted * size);
        if (*columns[i] == NULL) return rill_fail_memory(e->ctx, wanted * size, "the rows of a timestep");
    }
    return RILL_OK;
}

static void add_rows(rill_engine *e, int32_t index)
{
    row_table *r = &e->rows;
    forest *f = &e->forest;
    int32_t slot = e->selected[index];
    const item *it = &e->items[slot];
    for (int32_t rank = 0; rank < it->width; rank++) {
        const beam_entry *entry = &it->beam[rank];
        if (entry->ended) continue;
        int32_t i = r->n++, history = entry->history;
        /* One row for both: every history here continues its own parent's state. */
        r->parent[i] = r->state_parent[i] = entry->state_row;
        r->node[i] = forest_assign_row(f, history);
        r->action[i] = entry->action;
        r->slot[i] = slot;
        r->depth[i] = it->timestep;
        r->history[i] = history;
        r->rank[i] = rank;
        r->item[i] = index;
        r->item_id[i] = it->id;
        r->score[i] = entry->score;
    }
}

static rill_status make_rows(rill_engine *e, int32_t n)
{
    int64_t live = 0;
    int grew;
    for (int32_t i = 0; i < n; i++) live += e->items[e->selected[i]].live;
    RILL__TRY(grow_rows(e, (size_t)live));
    RILL__TRY(forest_reserve_rows(&e->forest, live, &grew));
    if (grew) RILL__TRY(engine_reserve_domain(e));
    e->rows.n = 0;
    for (int32_t i = 0; i < n; i++) add_rows(e, i);
    return RILL_OK;
}

static rill_rows domain_rows(const rill_engine *e, int32_t phase)
{
    const row_table *r = &e->rows;
    return (rill_rows){r->n, phase, r->node, r->parent, r->state_parent, r->action, r->slot, r->depth};
}

/* --- asking ------------------------------------------------------------------------------------------------------- */

static rill_scorer_rows scorer_rows(const rill_engine *e, int32_t phase, int32_t first, int32_t n)
{
    const row_table *r = &e->rows;
    return (rill_scorer_rows){
        .struct_size = sizeof(rill_scorer_rows),
        .n = n,
        .phase = phase,
        .item_id = r->item_id + first,
        .timestep = r->depth + first,
        .rank = r->rank + first,
        .score = r->score + first,
        .history = r->history + first,
        .histories = e->forest.h,
        .info = &e->info,
        .model = e->model,
    };
}

/* Let every scorer speak about rows [first, first + n). */
static rill_status run_scorers(rill_engine *e, rill_ask_builder *b, int32_t phase, int32_t first, int32_t n)
{
    rill_scorer_rows rows = scorer_rows(e, phase, first, n);
    RILL__TRY(ask_begin(b, n));
    for (int32_t i = 0; i < e->chain.n_scorers; i++) {
        const chain_scorer *s = &e->chain.scorers[i];
        b->scorer = i;
        rill_error_clear(e->ctx);
        rill_status status = s->table->score(s->self, &rows, b);
        if (status < 0 && rill_error_status(e->ctx) != status)
            return rill_fail(e->ctx, status, "scorer %s failed with %s", s->table->name, rill_status_name(status));
        RILL__TRY(status);
    }
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

/* What was said of row a of the call and of row b of one item alone. */
static int same_rules(const ask_rules *x, int32_t a, const ask_rules *y, int32_t b)
{
    int limits = (x->limit != NULL ? x->limit[a] : INT32_MAX) == (y->limit != NULL ? y->limit[b] : INT32_MAX);
    int rules = (x->end_rule != NULL ? x->end_rule[a] : 0) == (y->end_rule != NULL ? y->end_rule[b] : 0);
    int rewards = (x->reward != NULL ? x->reward[a] : 0) == (y->reward != NULL ? y->reward[b] : 0);
    int ends = (x->end_reward != NULL ? x->end_reward[a] : 0) == (y->end_reward != NULL ? y->end_reward[b] : 0);
    return limits && rules && rewards && ends &&
           same_span(x->ban_offset, x->ban_action, NULL, a, y->ban_offset, y->ban_action, NULL, b) &&
           same_span(x->allow_offset, x->allow_action, NULL, a, y->allow_offset, y->allow_action, NULL, b) &&
           same_span(x->add_offset, x->add_action, x->add_score, a, y->add_offset, y->add_action, y->add_score, b);
}

/* Ask the scorers about each item alone and compare with what they said of all. */
static rill_status check_scorers(rill_engine *e, const ask_rules *all, int32_t phase, int32_t max_choices)
{
    const row_table *r = &e->rows;
    for (int32_t first = 0, n; first < r->n; first += n) {
        for (n = 1; first + n < r->n && r->item[first + n] == r->item[first];) n++;
        ask_rules one;
        RILL__TRY(run_scorers(e, &e->check_asks, phase, first, n));
        RILL__TRY(ask_build(&e->check_asks, max_choices, &one));
        for (int32_t i = 0; i < n; i++)
            if (!same_rules(all, first + i, &one, i))
                return rill_fail(
                    e->ctx, RILL_ERR_CHECK,
                    "%s %s treats input %lld differently alone than among others: it must look at one item at "
                    "a time and remember nothing",
                    e->chain.n_scorers == 1 ? "scorer" : "the scorer chain that begins with",
                    e->chain.scorers[0].table->name, (long long)r->item_id[first]);
    }
    return RILL_OK;
}

/* --- limits ------------------------------------------------------------------------------------------------------- */

/* In the timestep after the last action nothing but the end is left (at-limit end). */
static rill_end_rule end_rule(const rill_engine *e, int32_t row)
{
    int32_t depth = e->rows.depth[row];
    int over = e->settings.at_limit == RILL_LIMIT_END && depth >= e->items[e->rows.slot[row]].max_length;
    /* The limit wins over the least length: an item that may neither end nor go on would die. */
    if (over) return RILL_END_REQUIRED;
    return depth < e->settings.min_length ? RILL_END_NOT_YET : RILL_END_ALLOWED;
}

static int any_end_rule(const rill_engine *e)
{
    for (int32_t i = 0; i < e->rows.n; i++)
        if (end_rule(e, i) != RILL_END_ALLOWED) return 1;
    return 0;
}

/* What the settings have to say of the rows, behind what the scorers said. */
static rill_status ask_limits(rill_engine *e, int last)
{
    for (int32_t i = 0; i < e->rows.n; i++) {
        if (last) RILL__TRY(rill_ask_end(&e->asks, i, end_rule(e, i)));
        if (e->unknown < 0) continue;
        if (isinf(e->settings.unknown_penalty))
            RILL__TRY(rill_ask_ban(&e->asks, i, e->unknown));
        else
            RILL__TRY(rill_ask_add(&e->asks, i, e->unknown, -(float)e->settings.unknown_penalty));
    }
    return RILL_OK;
}

/* The rules of the phase: what scorers and settings say. */
static rill_status make_rules(rill_engine *e, int32_t phase, int32_t max_choices, ask_rules *rules)
{
    int last = phase == e->info.phases - 1;
    int limited = e->unknown >= 0 || (last && any_end_rule(e));
    if (e->chain.n_scorers == 0 && !limited) {
        *rules = (ask_rules){.max_choices = max_choices, .plain = 1};
        return RILL_OK;
    }
    RILL__TRY(run_scorers(e, &e->asks, phase, 0, e->rows.n));
    if (e->settings.check && e->chain.n_scorers > 0) {
        RILL__TRY(ask_build(&e->asks, max_choices, rules));
        RILL__TRY(check_scorers(e, rules, phase, max_choices));
    }
    if (limited) RILL__TRY(ask_limits(e, last));
    return ask_build(&e->asks, max_choices, rules);
}

/* --- choices ------------------------------------------------------------------------------------------------------ */

static int32_t max_choices(const rill_engine *e, int32_t phase)
{
    int32_t m = rill__merge_limit(&e->settings);
    if (e->info.max_choices_phases >> phase & 1) m = e->settings.max_candidates;
    return m < e->info.actions ? m : e->info.actions;
}

static rill_rows part_of(const rill_rows *rows, int32_t from, int32_t n)
{
    rill_rows part = *rows;
    part.n = n;
    part.node += from;
    part.parent += from;
    part.state_parent += from;
    part.action += from;
    part.slot += from;
    part.depth += from;
    return part;
}

/* Score rows from `from` on, as many as the selector takes at once, and go to the next ones. */
static rill_status score_part(rill_engine *e, const rill_rows *rows, int32_t *from)
{
    rill_ask ask;
    rill_choices out;
    int32_t n = selector_part(&e->selector, *from, &ask, &out), bad;
    rill_rows part = n < rows->n ? part_of(rows, *from, n) : *rows;
    double start = engine_now();
    rill_error_clear(e->ctx);
    RILL__TRY(engine_domain_status(e, e->domain->score(e->self, &part, &ask, &out), "score"));
    double scored = engine_now();
    e->seconds.score += scored - start;
    const char *wrong = selector_take(&e->selector, *from, n, rows->phase == e->info.phases - 1, &bad);
    e->seconds.select += engine_now() - scored;
    *from += n;
    if (wrong == NULL) return RILL_OK;
    return rill_fail(e->ctx, RILL_ERR_PLUGIN, "domain %s: choices of input %lld at timestep %d are %s", e->domain->name,
                     (long long)e->rows.item_id[bad], e->rows.depth[bad], wrong);
}

rill_status engine_expand(rill_engine *e, int32_t n, int32_t phase)
{
    ask_rules rules;
    int32_t from = 0;
    double start = engine_now();
    RILL__TRY(make_rows(e, n));
    rill_rows rows = domain_rows(e, phase);
    double t0 = engine_now();
    e->seconds.choose += t0 - start;
    rill_error_clear(e->ctx);
    RILL__TRY(engine_domain_status(e, e->domain->step(e->self, &rows), "step"));
    double t1 = engine_now();
    e->seconds.step += t1 - t0;
    for (int32_t i = 0; i < e->rows.n; i++) forest_stepped(&e->forest, e->rows.history[i]);
    engine_free_rows(e);
    RILL__TRY(make_rules(e, phase, max_choices(e, phase), &rules));
    RILL__TRY(selector_ask(&e->selector, &rules, rows.n));
    e->seconds.scorers += engine_now() - t1;
    do RILL__TRY(score_part(e, &rows, &from));
    while (from < rows.n);
    return RILL_OK;
}
