/* Calls a run's scorers: begin() after encoding, score() for a timestep's rows, found() for an item's outputs, done() when the input
 * leaves.
 *
 * score() is called once for adjacent rows whose items share an instance. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine_internal.h"

/* --- states of scorers --------------------------------------------------------------------------------------------- */

void scorer_states_finish(scorer_states *s)
{
    rill_free(s->ctx, s->node_states, s->node_states_bytes);
    rill_free(s->ctx, s->row_states, s->row_states_bytes);
    rill_columns_free(s->ctx, &s->memory);
}

rill_status scorer_states_begin(rill_engine *e, const row_table *rows)
{
    scorer_states *s = &e->scorer_states;
    const chain *c = &e->chain;
    const rill_array columns[] = {RILL_ARRAY(s->text), RILL_ARRAY(s->length)};
    RILL__TRY(RILL__GROW_COLUMNS(s->ctx, &s->memory, (size_t)rows->n, columns, "rows of scorers"));
    for (int32_t i = 0; i < rows->n; i++) {
        const queued_input *in = e->items.item[rows->slot[i]].input;
        s->text[i] = in->text;
        s->length[i] = in->length;
    }
    if (c->state_bytes == 0) return RILL_OK;
    RILL__TRY(
        RILL__GROW(s->ctx, s->row_states, s->row_states_bytes, (size_t)rows->n * c->state_bytes, "scorers' states"));
    return RILL__GROW(s->ctx, s->node_states, s->node_states_bytes, (size_t)e->hyps.node_capacity * c->state_bytes,
                      "scorers' states");
}

/* Returns the state that the scorer `link` has stored for the hypothesis with this node (state id). */
static char *node_state(const scorer_states *s, const chain *c, const chain_link *link, int32_t node)
{
    return s->node_states + (size_t)node * c->state_bytes + link->state_offset;
}

/* Copy the scorer states of the parents of rows [first, first + n); zeros without parent. Returns row_states, or NULL if the scorer has no
 * state. */
static void *gather_states(scorer_states *s, const chain *c, const chain_link *link, const row_table *rows,
                           int32_t first, int32_t n)
{
    const size_t bytes = link->scorer->state_bytes;
    if (bytes == 0) return NULL;
    for (int32_t i = 0; i < n; i++) {
        int32_t parent = rows->state_parent[first + i];
        if (parent >= 0)
            memcpy(s->row_states + (size_t)i * bytes, node_state(s, c, link, parent), bytes);
        else
            memset(s->row_states + (size_t)i * bytes, 0, bytes);
    }
    return s->row_states;
}

/* After a scorer's call: store the states of rows [first, first + n), which the scorer wrote to row_states. */
static void keep_states(scorer_states *s, const chain *c, const chain_link *link, const row_table *rows, int32_t first,
                        int32_t n)
{
    size_t bytes = link->scorer->state_bytes;
    for (int32_t i = 0; i < n && bytes > 0; i++)
        memcpy(node_state(s, c, link, rows->node[first + i]), s->row_states + (size_t)i * bytes, bytes);
}

/* For the setting `check`: returns 1 if the scorer's call for one input alone wrote the same states as the first call, else 0. */
static int same_states(const scorer_states *s, const chain *c, const chain_link *link, const row_table *rows,
                       int32_t first, int32_t n)
{
    size_t bytes = link->scorer->state_bytes;
    for (int32_t i = 0; i < n && bytes > 0; i++)
        if (memcmp(node_state(s, c, link, rows->node[first + i]), s->row_states + (size_t)i * bytes, bytes) != 0)
            return 0;
    return 1;
}

/* --- calling scorers with rows ------------------------------------------------------------------------------------ */

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

const char *engine_scorer_label(const rill_engine *e)
{
    return e->chain.n_scorers == 1 ? "scorer" : "the list of scorers that begins with";
}

/* Fail the run (setting `check`) because a scorer's result for the row depends on other inputs than the row's own. */
static rill_status fail_not_independent(rill_engine *e, const timestep *t, int32_t row)
{
    return rill_fail(
        e->ctx, RILL_ERR_CHECK,
        "%s %s gives input %lld another result alone than in a batch: it must use one input at a time and keep no "
        "state",
        engine_scorer_label(e), e->chain.link[e->chain.n_heuristics].scorer->name, (long long)t->rows.item_id[row]);
}

/* Returns the instance of scorer number i that the row's input uses. */
static const chain_instance *row_instance(const rill_engine *e, const timestep *t, int32_t i, int32_t row)
{
    return e->items.item[t->rows.slot[row]].instances[e->chain.n_heuristics + i];
}

static int row_has_failed(const rill_engine *e, const timestep *t, int32_t row)
{
    return e->items.item[t->rows.slot[row]].failed < 0;
}

/* Returns the index after the last row that belongs to the same input as `row`, at most `end`. */
static int32_t item_end(const timestep *t, int32_t row, int32_t end)
{
    const int32_t own = t->rows.item[row];
    while (row < end && t->rows.item[row] == own) row++;
    return row;
}

/* Call scorer number i for rows [first, next), which share an instance. Modifiers are added to `b`, whose row 0 is row `from` of the
 * timestep. */
static rill_status run_scorer_on_rows(rill_engine *e, const timestep *t, rill_modifiers *b, int32_t i, int32_t from,
                                      int32_t first, int32_t next)
{
    const chain_link *link = &e->chain.link[e->chain.n_heuristics + i];
    const rill_scorer *table = link->scorer;
    const chain_instance *instance = row_instance(e, t, i, first);
    const int checking = b == &e->check_modifiers;
    /* the setting `check` calls a new instance, unless the scorer keeps data about inputs */
    const int is_fresh = checking && table->begin == NULL;
    rill_scorer_rows rows = engine_scorer_rows(e, t, first, next - first);
    void *self = instance->self;
    rows.state = gather_states(&e->scorer_states, &e->chain, link, &t->rows, first, rows.n);
    b->first_row = first - from;
    b->n_scorer_rows = next - first;
    if (is_fresh) RILL__TRY(chain_create_instance(e->ctx, link, instance->arguments, &self));
    rill_error_clear(e->ctx);
    const rill_status status = table->score(self, &rows, b);
    if (is_fresh) chain_destroy_instance(link, self);
    RILL__TRY(rill__method_status(e->ctx, status, "scorer", table->name, "score"));
    if (!checking)
        keep_states(&e->scorer_states, &e->chain, link, &t->rows, first, rows.n);
    else if (!same_states(&e->scorer_states, &e->chain, link, &t->rows, first, rows.n))
        return fail_not_independent(e, t, first);
    return RILL_OK;
}

/* Scorer number i has failed for rows [first, next). If a request set its arguments, call it for each input alone, and fail the inputs
 * whose own call fails. Otherwise fail the run. Returns RILL_AGAIN if inputs failed: call all scorers again. */
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

/* Call scorer number i for rows [from, end). Adjacent rows are passed in one call if their inputs share an instance. */
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

/* Returns the name of a search variant of the input that excludes constraint banks, or NULL. */
static const char *banks_conflict(const item *it)
{
    FOR_VARIANTS (v, it->variants, choose_children) return v->name;
    FOR_VARIANTS (v, it->variants, make_rows) return v->name;
    return NULL;
}

/* Fail inputs whose rows differ in constraint banks, or whose settings exclude banks. Returns RILL_AGAIN if inputs failed. */
static rill_status check_banks(rill_engine *e, const timestep *t, const rill_modifiers *b)
{
    rill_status outcome = RILL_OK;
    char message[200];
    for (int32_t row = 0, end; b->has_banks && row < t->rows.n; row = end) {
        const int32_t slot = t->rows.slot[row], banks = b->n_banks[row];
        const char *conflict = banks_conflict(&e->items.item[slot]);
        int same = 1;
        end = item_end(t, row, t->rows.n);
        for (int32_t i = row; i < end; i++) same &= b->n_banks[i] == banks;
        if (same && (banks == 0 || conflict == NULL)) continue;
        if (!same)
            snprintf(
                message, sizeof message,
                "%s %s divides the beam of one input into different numbers of banks: expected one number per input",
                engine_scorer_label(e), e->chain.link[e->chain.n_heuristics].scorer->name);
        else
            snprintf(message, sizeof message,
                     "%s cannot be combined with a scorer that divides beams into banks, such as require", conflict);
        RILL__TRY(engine_fail_selected(e, slot, same ? RILL_ERR_OPTION : RILL_ERR_PLUGIN, message));
        outcome = RILL_AGAIN;
    }
    return outcome;
}

/* Call every scorer for rows [first, first + n). Returns RILL_AGAIN if inputs have failed. */
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

/* Call every scorer for rows [first, first + n). If inputs fail, repeat the calls without them. Then all actions are forbidden in the rows
 * of failed inputs. */
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

/* Record in an item the first reason why scorers refuse its input. */
static rill_status note_refusals(rill_engine *e, const timestep *t, const rill_modifiers *mods)
{
    for (size_t i = 0; i < mods->n_refusals; i++) {
        item *it = &e->items.item[t->rows.slot[mods->refusals[i].row]];
        const char *reason = mods->reasons.data + mods->refusals[i].text_offset;
        if (it->fail_reason.length == 0) RILL__TRY(rill_text_append(&it->fail_reason, reason, strlen(reason)));
    }
    return RILL_OK;
}

rill_status engine_call_scorers(rill_engine *e, const timestep *t, rill_modifiers *mods)
{
    if (e->chain.n_scorers > 0) RILL__TRY(scorer_states_begin(e, &t->rows));
    RILL__TRY(run_scorers(e, t, mods, 0, t->rows.n));
    return mods->n_refusals > 0 ? note_refusals(e, t, mods) : RILL_OK;
}

/* --- checking scorers --------------------------------------------------------------------------------------------- */

static int same_spans(span a, span b)
{
    if (a.n != b.n) return 0;
    for (int32_t i = 0; i < a.n; i++) {
        const float factor = a.factor != NULL ? a.factor[i] : 1, other = b.factor != NULL ? b.factor[i] : 1;
        if (a.action[i] != b.action[i] || a.value[i] != b.value[i] || factor != other) return 0;
    }
    return 1;
}

static int same_rules(const row_rules *a, const row_rules *b)
{
    return a->max_choices == b->max_choices && a->end_rule == b->end_rule && a->reward == b->reward &&
           a->end_reward == b->end_reward && a->n_banks == b->n_banks &&
           (a->n_banks == 0 || a->default_bank == b->default_bank) && same_spans(a->kept, b->kept) &&
           same_spans(a->bans, b->bans) && same_spans(a->allowed, b->allowed) && same_spans(a->additions, b->additions);
}

double engine_max_bonus(const chain *c, const item *it, double *end)
{
    double action = 0;
    *end = 0;
    for (int32_t i = c->n_heuristics; i < c->n; i++) {
        double own_end = 0;
        action += c->link[i].scorer->max_bonus(it->instances[i]->self, &own_end);
        *end += own_end;
    }
    return action;
}

/* Returns 0 if an action gets more than the sum of all scorers' max_bonus, else 1. */
static int is_within_max_bonus(const chain *c, const item *it, const row_rules *r, const rill_domain_info *info)
{
    for (int32_t i = c->n_heuristics; i < c->n; i++)
        if (c->link[i].scorer->max_bonus == NULL) return 1;
    double total_end;
    const double total = engine_max_bonus(c, it, &total_end);
    const double slack = 1e-5, reward = (double)r->reward, end = (double)r->end_reward,
                 action = total + slack * (1 + fabs(total)), last = total_end + slack * (1 + fabs(total_end));
    /* 1: every action may have a modifier of its own; 0: some action gets only the row's reward */
    const int names_all = info->has_end_action + r->additions.n + r->bans.n >= info->actions || r->allowed.n > 0;
    if (reward > action && !names_all) return 0;
    if (info->has_end_action && end > last) return 0;
    for (int32_t i = 0; i < r->additions.n; i++) {
        const int ends = info->has_end_action && r->additions.action[i] == info->end_action;
        if ((double)r->additions.value[i] + (ends ? end : reward) > (ends ? last : action)) return 0;
    }
    return 1;
}

rill_status engine_check_scorers(rill_engine *e, const timestep *t, const modifier_table *all, int32_t max_choices)
{
    const row_table *r = &t->rows;
    for (int32_t first = 0, n; first < r->n; first += n) {
        n = item_end(t, first, r->n) - first;
        if (row_has_failed(e, t, first)) continue;
        modifier_table one;
        RILL__TRY(run_scorers(e, t, &e->check_modifiers, first, n));
        RILL__TRY(modifiers_build(&e->check_modifiers, max_choices, &one));
        for (int32_t i = 0; i < n; i++) {
            const row_rules rules = make_row_rules(all, first + i), alone = make_row_rules(&one, i);
            if (!same_rules(&rules, &alone)) return fail_not_independent(e, t, first);
            if (!is_within_max_bonus(&e->chain, &e->items.item[r->slot[first]], &rules, &e->info))
                return rill_fail(e->ctx, RILL_ERR_CHECK,
                                 "%s %s adds more to an action of input %lld than its declared max_bonus",
                                 engine_scorer_label(e), e->chain.link[e->chain.n_heuristics].scorer->name,
                                 (long long)r->item_id[first]);
        }
    }
    return RILL_OK;
}

/* --- beginning and end of an input -------------------------------------------------------------------------------- */

static const rill_scorer *get_scorer(const rill_engine *e, int32_t i)
{
    return e->chain.link[e->chain.n_heuristics + i].scorer;
}

void engine_scorers_done(const rill_engine *e, chain_instance *const *instances, int64_t id, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        if (get_scorer(e, i)->done != NULL) get_scorer(e, i)->done(instances[e->chain.n_heuristics + i]->self, id);
}

rill_status engine_scorers_begin(rill_engine *e, rill_input *input, const request *own_request)
{
    chain_instance *const *instances = request_instances(&e->chain, own_request);
    for (int32_t i = 0; i < e->chain.n_scorers; i++) {
        const rill_scorer *table = get_scorer(e, i);
        if (table->begin == NULL) continue;
        rill_error_clear(e->ctx);
        rill_status status = table->begin(instances[e->chain.n_heuristics + i]->self, input->id);
        status = rill__method_status(e->ctx, status, "scorer", table->name, "begin");
        if (status >= 0) continue;
        engine_scorers_done(e, instances, input->id, i);
        return rill_input_fail(input, status, "%s", rill_error(e->ctx));
    }
    return RILL_OK;
}

const rill_found_output *rill_found_output_at(const rill_found *found, int32_t i)
{
    return (const rill_found_output *)found->outputs + i;
}

/* Write the input's outputs, which are already sorted, to *found, as scorers' found() takes them. */
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
    const item *it = &e->items.item[slot];
    rill_found found = {0};
    int wanted = 0;
    for (int32_t i = 0; i < e->chain.n_scorers; i++) {
        const rill_scorer *table = get_scorer(e, i);
        if (table->found == NULL) continue;
        if (found.n == 0) RILL__TRY(list_outputs(e, slot, &found));
        rill_error_clear(e->ctx);
        rill_status status = table->found(it->instances[e->chain.n_heuristics + i]->self, &found);
        status = rill__method_status(e->ctx, status, "scorer", table->name, "found");
        if (status < 0) return status;
        wanted |= status == RILL_AGAIN;
    }
    return wanted ? RILL_AGAIN : RILL_OK;
}
