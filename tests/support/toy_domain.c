/* See toy_domain.h.
 *
 * Invariant: one step() makes a node and one free() ends it; meanwhile its item uses its slot. A child stores its parent's serial
 * number, so an id recycled too early is noticed.
 *
 * With state=parent a node keeps the hash of its hypothesis, as recurrent networks do. With state=path the hash is computed from all
 * ancestors, which detects ancestors freed too early.
 *
 * A copy of the table without start and stop is a domain without runners.
 *
 * Sections: violations · opening · encode · states · step · score · finalize · names · closing · table. */
#include "support/toy_domain.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "support/dice.h"
#include "support/toy_select.h"

typedef struct toy_slot {
    int used;
    int64_t generation; /* number of items that have used this slot */
    toy_input input;
} toy_slot;

typedef struct toy_node {
    int made, pending;
    int64_t birth, parent_birth;
    int64_t generation; /* value of the slot's `generation` when the node was made */
    int32_t slot, parent, action, depth, phase;
    uint64_t state; /* hash of the node's hypothesis; only with state=parent */
} toy_node;

/* A model, or a runner. A model that has runners uses only the member `model`. */
typedef struct toy {
    rill_context *ctx;
    rill_sequence forbidden[TOY_MAX_FORBIDDEN];
    int32_t forbidden_action[TOY_MAX_FORBIDDEN][TOY_MAX_FORBIDDEN_LENGTH];
    toy_model model;
    toy_report report; /* added to the thread's report when this model or runner ends */
    toy_node *nodes;
    size_t node_capacity;
    toy_slot *slots;
    size_t slot_capacity;
    int32_t n_nodes, n_slots; /* ids of nodes and slots that may be used are below these numbers */
    int64_t births;
    uint64_t legal[(TOY_MAX_ACTIONS + TOY_MAX_SPARE) / 64 + 1];
    int32_t stepped; /* number of rows of the last step call */
    int32_t encode_calls, step_calls, score_calls, finalize_calls;
    int failed; /* 1: a call of this domain has failed, so the engine may stop midway */
    char pending_error[512];
} toy;

static int32_t total_actions(const toy *t)
{
    return t->model.actions + t->model.spare;
}

/* Whether each choice of a row needs a flag that says whether it ends the hypothesis. */
static int flags_terminals(const toy *t)
{
    return t->model.last && t->model.phases == 1;
}

/* --- violations --------------------------------------------------------------------------------------------------- */

static _Thread_local toy_report report;
static _Atomic int64_t all_nodes, all_nodes_peak; /* nodes alive in all threads; their peak */

static void count_node(int more)
{
    int64_t now = atomic_fetch_add(&all_nodes, more) + more, peak = atomic_load(&all_nodes_peak);
    while (now > peak && !atomic_compare_exchange_weak(&all_nodes_peak, &peak, now)) continue;
}

int64_t toy_nodes_peak(void)
{
    return atomic_exchange(&all_nodes_peak, atomic_load(&all_nodes));
}

toy_report *toy_report_get(void)
{
    return &report;
}

void toy_report_reset(void)
{
    report = (toy_report){0};
}

__attribute__((format(printf, 2, 3))) static rill_status violation(toy *t, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(t->pending_error, sizeof t->pending_error, format, list);
    va_end(list);
    if (t->report.violations++ == 0)
        snprintf(t->report.first_violation, sizeof t->report.first_violation, "%s", t->pending_error);
    t->failed = 1;
    return rill_fail(t->ctx, RILL_ERR_ARGUMENT, "toy: %s", t->pending_error);
}

/* Begins every call that returns a status: reports misuse that earlier calls without a status noticed, and injects failures. */
static rill_status begin_call(toy *t, const char *what, int32_t *calls, int32_t failing_number)
{
    if (t->pending_error[0] != '\0') return rill_fail(t->ctx, RILL_ERR_ARGUMENT, "toy: earlier: %s", t->pending_error);
    if (++*calls != failing_number) return RILL_OK;
    t->failed = 1;
    return rill_fail(t->ctx, RILL_ERR_IO, "toy: injected failure in call %d of %s", (int)*calls, what);
}

static toy_slot *slot_in_use(toy *t, int32_t slot)
{
    return slot >= 0 && slot < t->n_slots && t->slots[slot].used ? &t->slots[slot] : NULL;
}

static toy_node *made_node(toy *t, int32_t node)
{
    return node >= 0 && node < t->n_nodes && t->nodes[node].made ? &t->nodes[node] : NULL;
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

static void add_report(const toy_report *more)
{
    int64_t *sum = &report.opened;
    const int64_t *value = &more->opened;
    const int64_t peaks[] = {report.nodes_peak, report.slots_peak, report.max_rows, report.max_choices};
    if (report.violations == 0)
        snprintf(report.first_violation, sizeof report.first_violation, "%s", more->first_violation);
    for (size_t i = 0; i < offsetof(toy_report, first_violation) / sizeof *sum; i++) sum[i] += value[i];
    report.nodes_peak = peaks[0] > more->nodes_peak ? peaks[0] : more->nodes_peak;
    report.slots_peak = peaks[1] > more->slots_peak ? peaks[1] : more->slots_peak;
    report.max_rows = peaks[2] > more->max_rows ? peaks[2] : more->max_rows;
    report.max_choices = peaks[3] > more->max_choices ? peaks[3] : more->max_choices;
}

static void end(toy *t)
{
    if (t->report.nodes != 0) violation(t, "%lld nodes are not freed at its end", (long long)t->report.nodes);
    if (t->report.slots != 0) violation(t, "%lld slots are not dropped at its end", (long long)t->report.slots);
    add_report(&t->report);
    rill_context *ctx = t->ctx;
    rill_free(ctx, t->nodes, t->node_capacity * sizeof *t->nodes);
    rill_free(ctx, t->slots, t->slot_capacity * sizeof *t->slots);
    rill_free(ctx, t, sizeof *t);
}

static void close_toy(void *self)
{
    if (self == NULL) return;
    report.closed++;
    end(self);
}

static void set_forbidden(toy *t)
{
    for (int32_t i = 0; i < toy_forbidden_count(&t->model); i++)
        t->forbidden[i] = (rill_sequence){t->forbidden_action[i], toy_forbidden(&t->model, i, t->forbidden_action[i])};
}

static rill_status begin(rill_context *ctx, const toy_model *model, void **out)
{
    toy *t = rill_calloc(ctx, 1, sizeof *t);
    if (t == NULL) return rill_fail_memory(ctx, sizeof *t, "the toy");
    t->ctx = ctx;
    t->model = *model;
    for (int32_t a = 0; a < model->actions; a++) t->legal[a / 64] |= (uint64_t)1 << a % 64;
    set_forbidden(t);
    *out = t;
    return RILL_OK;
}

static rill_status start(const void *model, rill_context *ctx, int threads, void **runner)
{
    (void)threads;
    rill_status status = begin(ctx, &((const toy *)model)->model, runner);
    report.started += status == RILL_OK;
    return status;
}

static void stop(void *runner)
{
    if (runner == NULL) return;
    report.stopped++;
    end(runner);
}

static rill_status open_toy(const rill_domain *table, rill_context *ctx, const rill_open_options *options, void **self,
                            rill_domain_info *info)
{
    (void)table;
    toy_model model;
    char message[200];
    rill_status status = toy_model_parse(&model, options->arguments, message, sizeof message);
    if (status < 0) return rill_fail(ctx, status, "%s", message);
    if (model.fail_open) return rill_fail(ctx, RILL_ERR_IO, "toy: injected failure in open");
    status = begin(ctx, &model, self);
    if (status < 0) return status;
    const toy *t = *self;
    *info = (rill_domain_info){.actions = total_actions(t),
                               .phases = model.phases,
                               .state_need = model.path ? RILL_STATE_PATH : RILL_STATE_PARENT,
                               .max_choices_phases = (uint32_t)model.max_choices_phases,
                               .max_length = model.max_length > 0 ? model.max_length : model.depth,
                               .description = "a toy",
                               .node_bytes = TOY_NODE_BYTES,
                               .slot_bytes = TOY_SLOT_BYTES,
                               .slot_unit_bytes = TOY_UNIT_BYTES,
                               .has_end_action = !model.last,
                               .end_action = model.last ? 1 : toy_end_action(&model),
                               .terminals_by_flag = flags_terminals(t),
                               .finalize_anywhere = model.finalize_anywhere,
                               .legal = model.listed ? t->legal : NULL,
                               .forbidden = t->forbidden,
                               .n_forbidden = toy_forbidden_count(&model)};
    report.opened++;
    return RILL_OK;
}

static rill_status grow_zeroed(toy *t, void **block, size_t *capacity, size_t need, size_t size)
{
    size_t had = *capacity;
    rill_status status = rill_grow(t->ctx, block, capacity, need, size, "the toy's rows");
    if (status == RILL_OK && *capacity > had) memset((char *)*block + had * size, 0, (*capacity - had) * size);
    return status;
}

static rill_status reserve(void *self, int32_t nodes, int32_t slots)
{
    toy *t = self;
    if (nodes < t->n_nodes || slots < t->n_slots) return violation(t, "capacity shrinks");
    t->failed = 1; /* reset when both arrays have grown */
    rill_status status = grow_zeroed(t, (void **)&t->nodes, &t->node_capacity, (size_t)nodes, sizeof *t->nodes);
    if (status == RILL_OK)
        status = grow_zeroed(t, (void **)&t->slots, &t->slot_capacity, (size_t)slots, sizeof *t->slots);
    if (status < 0) return status;
    t->failed = 0;
    t->n_nodes = nodes;
    t->n_slots = slots;
    return RILL_OK;
}

/* --- encode ------------------------------------------------------------------------------------------------------- */

static rill_status encode(void *self, int32_t m, rill_input *inputs)
{
    toy *t = self;
    rill_status status = begin_call(t, "encode", &t->encode_calls, t->model.fail_encode);
    if (status < 0) return status;
    t->report.encode_calls++;
    for (int32_t i = 0; i < m; i++) {
        rill_input *in = &inputs[i];
        if (in->slot < 0 || in->slot >= t->n_slots) return violation(t, "slot %d is not reserved", (int)in->slot);
        if (t->slots[in->slot].used) return violation(t, "slot %d is given twice", (int)in->slot);
        if (in->status != RILL_OK || in->max_length != 0) return violation(t, "an input is not given clean");
        toy_input read = toy_input_read(&t->model, in->text, in->length);
        t->report.encoded++;
        if (read.status < 0) {
            rill_input_fail(in, read.status, "toy: input %lld is bad", (long long)in->id);
            continue;
        }
        toy_slot *slot = &t->slots[in->slot];
        *slot = (toy_slot){.used = 1, .generation = slot->generation + 1, .input = read};
        if (t->model.own_max_length) in->max_length = read.depth;
        in->size = read.depth;
        if (++t->report.slots > t->report.slots_peak) t->report.slots_peak = t->report.slots;
    }
    return RILL_OK;
}

/* --- states ------------------------------------------------------------------------------------------------------- */

/* Get the hash of a node's hypothesis; with state=path every ancestor must be alive. Returns 1, or 0 after reporting a violation. */
static int read_node_state(toy *t, int32_t id, uint64_t *state)
{
    const toy_node *node = &t->nodes[id];
    if (!t->model.path) return *state = node->state, 1;
    int32_t path[1024], n = 0;
    for (int32_t current = id; n < 1024;) {
        const toy_node *ancestor = &t->nodes[current];
        path[n++] = current;
        if (ancestor->parent == RILL_NO_NODE) break;
        const toy_node *up = made_node(t, ancestor->parent);
        if (up == NULL || up->birth != ancestor->parent_birth) {
            violation(t, "node %d reads its ancestor %d, which is freed", (int)id, (int)ancestor->parent);
            return 0;
        }
        current = ancestor->parent;
    }
    uint64_t hash = t->slots[node->slot].input.start;
    for (int32_t i = n - 2; i >= 0; i--) hash = toy_extend(hash, t->nodes[path[i]].action);
    *state = hash;
    return 1;
}

static const toy_choice *legal_choice(toy *t, const toy_node *node, uint64_t state, int32_t action, toy_choice *all)
{
    int32_t n = toy_expand(&t->model, &t->slots[node->slot].input, state, node->depth, node->phase, all);
    for (int32_t i = 0; i < n; i++)
        if (all[i].action == action) return &all[i];
    return NULL;
}

/* --- step --------------------------------------------------------------------------------------------------------- */

static rill_status check_first(toy *t, const rill_rows *rows, int32_t i)
{
    if (rows->parent[i] != RILL_NO_NODE || rows->state_parent[i] != RILL_NO_NODE || rows->depth[i] != 0 ||
        rows->phase != 0)
        return violation(t, "a first node has parent %d, depth %d, phase %d", (int)rows->parent[i], (int)rows->depth[i],
                         (int)rows->phase);
    return RILL_OK;
}

static rill_status check_child(toy *t, const rill_rows *rows, int32_t i)
{
    int32_t from = rows->state_parent[i], depth = rows->depth[i];
    const toy_node *parent = made_node(t, from);
    if (parent == NULL || parent->pending) return violation(t, "step continues node %d, which is not made", (int)from);
    if (rows->parent[i] != from && !t->model.mixed)
        return violation(t, "parent %d differs from state_parent", (int)rows->parent[i]);
    if (parent->slot != rows->slot[i] || parent->generation != t->slots[rows->slot[i]].generation)
        return violation(t, "step continues node %d of another item", (int)from);
    int32_t phase = (parent->phase + 1) % t->model.phases;
    if (rows->phase != phase || depth != parent->depth + (phase == 0))
        return violation(t, "a child of depth %d phase %d is stepped at depth %d phase %d", (int)parent->depth,
                         (int)parent->phase, (int)depth, (int)rows->phase);
    uint64_t state;
    toy_choice all[TOY_MAX_ACTIONS];
    if (t->model.trivial) return RILL_OK;
    if (!read_node_state(t, from, &state)) return RILL_ERR_ARGUMENT;
    const toy_choice *choice = legal_choice(t, parent, state, rows->action[i], all);
    if (choice == NULL) return violation(t, "action %d is illegal in its parent", (int)rows->action[i]);
    if (choice->terminal != RILL_LIVE) return violation(t, "step behind a terminal action");
    return RILL_OK;
}

static rill_status check_row(toy *t, const rill_rows *rows, int32_t i)
{
    int32_t id = rows->node[i];
    if (id < 0 || id >= t->n_nodes) return violation(t, "node %d is not reserved", (int)id);
    if (slot_in_use(t, rows->slot[i]) == NULL) return violation(t, "slot %d is not in use", (int)rows->slot[i]);
    if (t->nodes[id].made || t->nodes[id].pending) return violation(t, "node %d is made twice", (int)id);
    return rows->action[i] == RILL_ACTION_START ? check_first(t, rows, i) : check_child(t, rows, i);
}

static void make(toy *t, const rill_rows *rows, int32_t i)
{
    toy_node *node = &t->nodes[rows->node[i]];
    const toy_slot *slot = &t->slots[rows->slot[i]];
    int first = rows->action[i] == RILL_ACTION_START;
    const toy_node *parent = first ? NULL : &t->nodes[rows->state_parent[i]];
    *node = (toy_node){.made = 1,
                       .birth = ++t->births,
                       .parent_birth = first ? 0 : parent->birth,
                       .generation = slot->generation,
                       .slot = rows->slot[i],
                       .parent = rows->state_parent[i],
                       .action = rows->action[i],
                       .depth = rows->depth[i],
                       .phase = rows->phase};
    if (!t->model.path) node->state = first ? slot->input.start : toy_extend(parent->state, rows->action[i]);
    t->report.made++;
    count_node(1);
    if (++t->report.nodes > t->report.nodes_peak) t->report.nodes_peak = t->report.nodes;
}

/* All rows are checked before any is made, so a row cannot use a parent from the same call. */
static rill_status step(void *self, const rill_rows *rows)
{
    toy *t = self;
    rill_status status = begin_call(t, "step", &t->step_calls, t->model.fail_step);
    int32_t checked = 0;
    while (status == RILL_OK && checked < rows->n) {
        status = check_row(t, rows, checked);
        if (status == RILL_OK) t->nodes[rows->node[checked++]].pending = 1;
    }
    for (int32_t i = 0; i < checked; i++) t->nodes[rows->node[i]].pending = 0;
    for (int32_t i = 0; i < rows->n && status == RILL_OK; i++) make(t, rows, i);
    t->stepped = rows->n;
    return status;
}

/* --- score -------------------------------------------------------------------------------------------------------- */

static int picks_are_sorted(const rill_score_request *request, int32_t n, int32_t actions)
{
    for (int32_t q = 0; q < request->n_picks; q++) {
        int32_t row = request->pick_row[q], action = request->pick_action[q];
        if (row < 0 || row >= n || action < 0 || action >= actions) return 0;
        if (q > 0 && (row < request->pick_row[q - 1] ||
                      (row == request->pick_row[q - 1] && action <= request->pick_action[q - 1])))
            return 0;
    }
    return 1;
}

static int sets_are_sound(const toy *t, const rill_score_request *request, int32_t n)
{
    if (request->legal == NULL) return request->legal_set == NULL;
    for (int32_t r = 0; r < n; r++) {
        int32_t set = request->legal_set[r];
        if (set < -1 || (t->model.listed && set < 0)) return 0;
        for (size_t w = 0; set >= 0 && t->model.listed && w < request->legal_words; w++)
            if (request->legal[(size_t)set * request->legal_words + w] & ~t->legal[w]) return 0;
    }
    return 1;
}

static rill_status check_request(toy *t, const rill_score_request *request, int32_t n, const rill_score_result *out)
{
    int32_t actions = total_actions(t);
    if (request->max_choices < 0 || out->stride < request->max_choices) return violation(t, "no room for the choices");
    if (request->legal_words != (size_t)(actions + 63) / 64) return violation(t, "sets of another size");
    if (!picks_are_sorted(request, n, actions)) return violation(t, "picks are not sorted, repeat or name no action");
    if (!sets_are_sound(t, request, n)) return violation(t, "sets of actions that are never legal");
    if (flags_terminals(t) && (request->n_picks > 0 || request->legal != NULL))
        return violation(t, "a pick says not how it ends");
    for (int32_t r = 0; r < n; r++) {
        if (request->row_max_choices != NULL &&
            (request->row_max_choices[r] < 0 || request->row_max_choices[r] > request->max_choices))
            return violation(t, "row %d wants %d of %d choices", (int)r, (int)request->row_max_choices[r],
                             (int)request->max_choices);
        if (out->ends[r] != RILL_ENDS_BY_ACTION) return violation(t, "ends are not given clean");
    }
    return RILL_OK;
}

static rill_status check_scored(toy *t, const rill_rows *rows, int32_t i)
{
    const toy_node *node = made_node(t, rows->node[i]);
    if (node == NULL) return violation(t, "score reads node %d, which is not made", (int)rows->node[i]);
    if (slot_in_use(t, node->slot) == NULL || node->generation != t->slots[node->slot].generation)
        return violation(t, "score reads node %d of an item that is gone", (int)rows->node[i]);
    if (node->slot != rows->slot[i] || node->depth != rows->depth[i] || node->phase != rows->phase ||
        node->action != rows->action[i] || (t->model.path && node->parent != rows->state_parent[i]))
        return violation(t, "score describes node %d otherwise than step did", (int)rows->node[i]);
    return RILL_OK;
}

/* Append choices with score RILL_SCORE_DEAD, which must never be taken. */
static void add_dead_choices(const toy *t, const rill_score_request *request, int32_t row, rill_score_result *out)
{
    for (int32_t a = 0; a < t->model.actions && out->count[row] < request->max_choices; a++) {
        int64_t first = (int64_t)row * out->stride, pos = first + out->count[row];
        int taken = 0;
        for (int64_t i = first; i < pos; i++) taken |= out->action[i] == a;
        if (taken) continue;
        out->action[pos] = a;
        out->logp[pos] = (float)RILL_SCORE_DEAD;
        out->terminal[pos] = RILL_LIVE;
        out->count[row]++;
    }
}

/* Choose how to report which choices of a row are terminal, by `state` where several forms are valid. */
static rill_row_ends choose_row_ends(const toy *t, int32_t n, const toy_choice *legal, uint64_t state)
{
    int32_t lasts = 0;
    for (int32_t i = 0; i < n; i++) lasts += legal[i].terminal == RILL_LAST;
    if (!flags_terminals(t)) return lasts > 0 ? RILL_ENDS_LAST : RILL_ENDS_BY_ACTION;
    if (state % 3 == 0 && (lasts == 0 || lasts == n)) return lasts > 0 ? RILL_ENDS_LAST : RILL_ENDS_BY_ACTION;
    return RILL_ENDS_BY_FLAG;
}

static rill_status choose(toy *t, const rill_rows *rows, int32_t row, const rill_score_request *request,
                          rill_score_result *out)
{
    const toy_node *node = &t->nodes[rows->node[row]];
    toy_choice legal[TOY_MAX_ACTIONS];
    toy_row slow, fast;
    uint64_t state;
    char message[300];
    if (!read_node_state(t, rows->node[row], &state)) return RILL_ERR_ARGUMENT;
    int32_t n = toy_expand(&t->model, &t->slots[node->slot].input, state, node->depth, node->phase, legal);
    rill_row_ends ends = choose_row_ends(t, n, legal, state);
    rill_score_request more = *request;
    if (state % 2 == 0) more.row_max_choices = NULL; /* ignore the rows' own limits on choices */
    request = &more;
    if (t->model.select != TOY_SELECT_RILL) toy_answer_slowly(request, row, n, legal, ends, out);
    if (t->model.select == TOY_SELECT_BOTH) toy_row_copy(request, row, out, &slow);
    if (t->model.select != TOY_SELECT_OWN) toy_answer_by_rill(request, row, n, legal, ends, state, out);
    if (t->model.select == TOY_SELECT_BOTH) {
        toy_row_copy(request, row, out, &fast);
        if (toy_row_differs(&slow, &fast, message, sizeof message))
            return violation(t, "row %d: %s", (int)row, message);
    }
    if (t->model.dead) add_dead_choices(t, request, row, out);
    return RILL_OK;
}

/* Make an answer that violates the contract; the engine must refuse it. */
static void garble(toy *t, const rill_score_request *request, rill_score_result *out)
{
    switch (t->model.garble_kind) {
    case 0: out->count[0] = request->max_choices + 1; break;
    case 1: out->action[0] = total_actions(t); break;
    case 2: out->action[0] = -7; break;
    case 3: out->logp[0] = NAN; break;
    case 4: out->ends[0] = 9; break;
    case 5: out->count[0] = -1; break;
    case 6: out->logp[0] = INFINITY; break;
    case 7:
        out->ends[0] = RILL_ENDS_BY_FLAG; /* a form that the domain's info does not announce; 9 is no valid flag */
        out->terminal[0] = 9;
        break;
    default: /* the same action twice, or more choices than requested */
        out->count[0] = 2;
        if (request->max_choices < 2) break;
        out->action[1] = out->action[0];
        out->logp[1] = out->logp[0];
        break;
    }
}

static rill_status score(void *self, const rill_rows *rows, const rill_score_request *request, rill_score_result *out)
{
    toy *t = self;
    rill_status status = begin_call(t, "score", &t->score_calls, t->model.fail_score);
    if (status == RILL_OK) status = check_request(t, request, rows->n, out);
    for (int32_t i = 0; i < rows->n && status == RILL_OK; i++) {
        status = check_scored(t, rows, i);
        if (status == RILL_OK) status = choose(t, rows, i, request, out);
    }
    if (t->model.garble > 0 && t->score_calls >= t->model.garble && rows->n > 0 && out->count[0] > 0)
        garble(t, request, out);
    if (rows->n > t->report.max_rows) t->report.max_rows = rows->n;
    if (request->max_choices > t->report.max_choices) t->report.max_choices = request->max_choices;
    t->report.set_calls += request->legal != NULL;
    t->report.pick_calls += request->n_picks > 0;
    t->report.part_calls += rows->n < t->stepped;
    t->report.scored += rows->n;
    return status;
}

/* --- finalize ----------------------------------------------------------------------------------------------------- */

/* Replay the hypothesis and check it: its actions must be legal and have the toy's log-probabilities, and only the last one may end it. */
static rill_status check_hypothesis(toy *t, const rill_hypothesis *h)
{
    const toy_slot *slot = slot_in_use(t, h->slot);
    if (slot == NULL) return violation(t, "finalize of slot %d, which is not in use", (int)h->slot);
    toy_node current = {.slot = h->slot};
    uint64_t state = slot->input.start;
    double sum = 0, logp = 0;
    for (int32_t i = 0; i < h->length; i++) {
        toy_choice all[TOY_MAX_ACTIONS];
        const toy_choice *choice = legal_choice(t, &current, state, h->action[i], all);
        /* 0: with cube pruning, another hypothesis's state may decide what is legal */
        const int own = t->model.mixed == 0;
        if (own && (choice == NULL || choice->logp != h->action_logp[i]))
            return violation(t, "finalize: action %d at %d is illegal or has another log-probability",
                             (int)h->action[i], (int)i);
        int must_end = i == h->length - 1 && !h->truncated;
        if (own && (choice->terminal != RILL_LIVE) != must_end)
            return violation(t, "finalize: action %d of %d is %sterminal", (int)i, (int)h->length,
                             must_end ? "not " : "");
        const toy_node *node = made_node(t, h->node[i]);
        if (t->model.path && i < h->length - 1 &&
            (node == NULL || (node->action != h->action[i] && t->model.mixed < 2) ||
             node->generation != slot->generation))
            return violation(t, "finalize: row %d of action %d is not alive", (int)h->node[i], (int)i);
        if (!t->model.path && h->node[i] != RILL_NO_NODE) return violation(t, "finalize names rows that are recycled");
        state = toy_extend(state, h->action[i]);
        current.phase = (current.phase + 1) % t->model.phases;
        current.depth += current.phase == 0;
        sum += (double)h->action_path_score[i];
        logp += (double)h->action_logp[i];
    }
    if (sum != h->path_score || logp != h->logp)
        return violation(t, "finalize: score %.17g is not the sum %.17g", h->path_score, sum);
    return RILL_OK;
}

static rill_status finalize(void *self, const rill_hypothesis *h, rill_text *out)
{
    toy *t = self;
    rill_status status = begin_call(t, "finalize", &t->finalize_calls, t->model.fail_finalize);
    const int is_anywhere = t->model.finalize_anywhere && h->slot == RILL_NO_NODE;
    t->report.finalized_anywhere += is_anywhere;
    if (is_anywhere && (h->node != NULL || h->action_path_score != NULL || t->step_calls > 0))
        return violation(t, "finalize: apart, and with what nobody knows there");
    if (status == RILL_OK && !is_anywhere && !t->model.trivial) status = check_hypothesis(t, h);
    for (int32_t i = 0; i < h->length && status == RILL_OK; i++)
        status = rill_text_printf(out, "%s%d", i > 0 ? " " : "", (int)h->action[i] >> t->model.blur);
    t->report.finalized++;
    return status;
}

/* --- names -------------------------------------------------------------------------------------------------------- */

/* Write the name of an action: "end" for the end action, else "a" and its number. */
static rill_status action_name(void *self, int32_t action, rill_text *out)
{
    const toy *t = self;
    if (action < 0 || action >= total_actions(t)) {
        report.violations++;
        return rill_fail(out->ctx, RILL_ERR_ARGUMENT, "toy: action_name() of action %d is asked", (int)action);
    }
    return action == toy_end_action(&t->model) ? rill_text_append(out, "end", 3)
                                               : rill_text_printf(out, "a%d", (int)action);
}

static int32_t find_action(void *self, const char *text, size_t length)
{
    const toy *t = self;
    int32_t action = 0, end = toy_end_action(&t->model);
    if (length == 3 && memcmp(text, "end", 3) == 0) return end >= 0 ? end : RILL_NO_ACTION;
    if (length < 2 || length > 4 || text[0] != 'a') return RILL_NO_ACTION;
    for (size_t i = 1; i < length; i++) {
        if (text[i] < '0' || text[i] > '9') return RILL_NO_ACTION;
        action = 10 * action + (text[i] - '0');
    }
    return action < t->model.actions && action != end ? action : RILL_NO_ACTION;
}

/* Convert names of actions, separated by spaces, to actions. */
static rill_status tokenize(void *self, rill_context *ctx, const char *text, size_t length, int32_t *action,
                            int32_t capacity, int32_t *n)
{
    const char *end = text + length;
    while (text < end) {
        size_t word = 0;
        while (text + word < end && text[word] != ' ') word++;
        if (word > 0) {
            int32_t named = find_action(self, text, word);
            if (named < 0) return rill_fail(ctx, RILL_ERR_INPUT, "toy: no action is named %.*s", (int)word, text);
            if (*n < capacity) action[*n] = named;
            ++*n;
        }
        text += word + (text + word < end);
    }
    return RILL_OK;
}

/* --- closing ------------------------------------------------------------------------------------------------------ */

static void drop(void *self, int32_t slot)
{
    toy *t = self;
    toy_slot *used = slot_in_use(t, slot);
    if (used == NULL) {
        if (!t->failed) violation(t, "drop of slot %d, which is not in use", (int)slot);
        return;
    }
    used->used = 0;
    t->report.slots--;
    t->report.dropped++;
}

/* After an injected failure the engine may free ids that it reserved and that were never made. */
static void free_nodes(void *self, int32_t n, const int32_t *nodes)
{
    toy *t = self;
    for (int32_t i = 0; i < n; i++) {
        toy_node *node = made_node(t, nodes[i]);
        if (node == NULL) {
            if (!t->failed) violation(t, "free of node %d, which is not made", (int)nodes[i]);
            continue;
        }
        node->made = 0;
        t->report.nodes--;
        count_node(-1);
        t->report.freed++;
    }
}

/* --- table -------------------------------------------------------------------------------------------------------- */

static int32_t unknown_action(void *self)
{
    return ((const toy *)self)->model.actions > 1 ? TOY_UNKNOWN : RILL_NO_ACTION;
}

/* Recommend default search settings; the toy has some only for the preset hf. */
static rill_status recommend(void *self, const char *like, rill_text *out)
{
    (void)self;
    if (strcmp(like, "hf") != 0) return RILL_OK;
    return rill_text_append(out, TOY_RECOMMENDED, strlen(TOY_RECOMMENDED));
}

#define TOY_TABLE(NAME, ...)                                                                                    \
    {                                                                                                           \
        .abi_version = RILL_ABI_VERSION, .struct_size = sizeof(rill_domain), .name = (NAME),                    \
        .summary = "a hash in place of a model; its optimum is known by enumeration", .open = open_toy,         \
        .reserve = reserve, .encode = encode, .step = step, .score = score, .finalize = finalize, .drop = drop, \
        .free = free_nodes, .close = close_toy, .action_name = action_name, .find_action = find_action,         \
        .unknown_action = unknown_action, .recommend = recommend, .tokenize = tokenize, __VA_ARGS__             \
    }

const rill_domain toy_domain = TOY_TABLE("toy", .start = start, .stop = stop);
const rill_domain toy_without_runners = TOY_TABLE("toy-alone", .start = NULL);
