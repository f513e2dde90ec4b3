/* Runs problems with the interpreter and the executor.
 * Sections: outcomes · the interpreter · the executor · comparing. */
#include "run_problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu.h"
#include "support/harness.h"

int (*should_retry)(rill_status status);

#define EXPECT_OK(call)                                                                        \
    do {                                                                                       \
        rill_status status_ = (call);                                                          \
        while (should_retry != NULL && status_ < 0 && should_retry(status_)) status_ = (call); \
        assert_int_equal(status_, RILL_OK);                                                    \
    } while (0)

static void *alloc_poisoned(size_t count, size_t size)
{
    void *memory = malloc((count + 1) * size);
    if (memory == NULL) abort();
    memset(memory, 0x5A, (count + 1) * size);
    return memory;
}

static outcome make_outcome(const problem *p)
{
    const size_t n = (size_t)p->n, stride = (size_t)p->selection.stride;
    outcome o = {.w = copy_world(p), .ld_watched = SPEC_MAX_NODES};
    const rill_column tags[2] = {p->s.tag, p->s.unit_tag};
    for (int i = 0; i < 2; i++) {
        const size_t count = tags[i] != 0 ? p->t.column[tags[i]].count : 0;
        o.tag[i] = alloc_poisoned(count, sizeof(int32_t));
        if (count > 0) memcpy(o.tag[i], p->t.column[tags[i]].entry, count * sizeof(int32_t));
    }
    o.count = alloc_poisoned(n, sizeof *o.count);
    o.action = alloc_poisoned(n * stride, sizeof *o.action);
    o.logp = alloc_poisoned(n * stride, sizeof *o.logp);
    o.pick = alloc_poisoned((size_t)p->selection.n_picks, sizeof *o.pick);
    o.watched = alloc_poisoned(n * o.ld_watched, sizeof *o.watched);
    return o;
}

void free_outcome(outcome *o)
{
    free_world(o->w);
    free(o->tag[0]), free(o->tag[1]), free(o->count), free(o->action), free(o->logp), free(o->pick), free(o->watched);
}

/* --- the interpreter ---------------------------------------------------------------------------------------------- */

outcome interpret_problem(problem *p, const rill_kernels *kernels)
{
    outcome o = make_outcome(p);
    const rill_column tags[2] = {p->s.tag, p->s.unit_tag};
    int32_t *old_entries[2] = {0};
    answers a = {.n = p->n, .selection = p->selection, .watched = o.watched, .ld_watched = o.ld_watched};
    a.selection.count = o.count;
    a.selection.action = o.action;
    a.selection.logp = o.logp;
    a.selection.pick_logp = o.pick;
    for (int i = 0; i < 2; i++) {
        old_entries[i] = p->t.column[tags[i]].entry;
        if (tags[i] != 0) p->t.column[tags[i]].entry = o.tag[i];
    }
    if (p->n > 0) interpret(&p->t, kernels, o.w, &a);
    for (int i = 0; i < 2; i++)
        if (tags[i] != 0) p->t.column[tags[i]].entry = old_entries[i];
    return o;
}

/* --- the executor ------------------------------------------------------------------------------------------------- */

/* Copy rows of one table between the session and the world. */
static void exchange_rows(rill_session *s, size_t table, size_t first, size_t n, float *rows, int into)
{
    const dev_backend *backend = s->network->device->backend;
    if (n > 0) EXPECT_OK(into ? backend->write(s, table, first, n, rows) : backend->read(s, table, first, n, rows));
}

/* Copy all tables between the session and the world, through the session's memory. */
static void exchange(const problem *p, rill_session *s, world *w, int into)
{
    for (int32_t i = 1; i <= p->t.tables; i++) {
        const size_t table = (size_t)i - 1;
        const rill_table_kind kind = p->t.table[i].kind;
        for (int32_t slot = 0; kind == RILL_TABLE_RAGGED && slot < w->slots; slot++)
            exchange_rows(s, table, (size_t)s->first[slot], (size_t)w->units[slot], w->ragged[i][slot], into);
        if (kind == RILL_TABLE_RAGGED || kind == RILL_TABLE_HOST) continue;
        exchange_rows(s, table, 0, (size_t)(kind == RILL_TABLE_NODES ? w->nodes : w->slots), w->rows[i], into);
    }
    if (s->table[s->network->n_tables].capacity > 0)
        exchange_rows(s, s->network->n_tables, 0, (size_t)w->nodes, (float *)(void *)w->parent, into);
}

static void open_stream(rill_context *ctx, const problem *p, const rill_network *network, int threads, world *w,
                        rill_session **out)
{
    EXPECT_OK(rill_session_open(out, ctx, network, threads));
    rill_session *s = *out;
    int32_t slots[SPEC_MAX_SLOTS];
    for (int32_t i = 0; i < w->slots; i++) slots[i] = i;
    EXPECT_OK(rill_session_reserve(s, w->nodes, w->slots));
    EXPECT_OK(rill_session_set_slots(s, w->slots, slots, w->units));
    EXPECT_OK(rill_session_fill(s, p->host, 0, w->host_rows, w->rows[p->host]));
    for (rill_vocab_subset l = 1; l <= p->t.vocab_subsets; l++)
        for (int32_t i = 0; i < w->slots; i++)
            EXPECT_OK(rill_session_set_vocab_subset(s, l, i, w->symbols[l][i], w->symbol[l][i]));
    exchange(p, s, w, 1);
}

/* A run of the problem's rows order[0..n), with its inputs and outputs. */
typedef struct run_part {
    const int32_t *order;
    int32_t n;
    int32_t *columns[SPEC_MAX_PARTS];
    rill_selection selection;
    int32_t *set, *pick, *row, *action; /* [requests]; pick: index of the pick in the problem */
    float *watched;
} run_part;

/* Find for each row the index of its first unit in the problem. */
static void first_units(const problem *p, int32_t first[2][SPEC_MAX_SLOTS * 30])
{
    const rill_column lengths[2] = {p->s.length, p->s.shorter};
    for (int32_t k = 0; k < 2 && p->s.units != 0; k++)
        for (int32_t r = 0, units = 0; r < p->n; r++) first[k][r] = units, units += p->t.column[lengths[k]].entry[r];
}

static void make_columns(const problem *p, const outcome *o, run_part *x)
{
    const net_spec *t = &p->t;
    const rill_column lengths[2] = {p->s.length, p->s.shorter};
    int32_t first[2][SPEC_MAX_SLOTS * 30];
    first_units(p, first);
    for (rill_column c = 1; c <= t->columns; c++) {
        const int32_t *from = c == p->s.tag ? o->tag[0] : c == p->s.unit_tag ? o->tag[1] : t->column[c].entry;
        int32_t *to = x->columns[c - 1] = alloc_poisoned(t->column[c].count, sizeof(int32_t));
        const int32_t k = t->column[c].space == p->s.units2;
        for (int32_t r = 0; r < x->n; r++) {
            const int32_t row = x->order[r];
            if (t->column[c].space == RILL_ROWS) {
                *to++ = from[row];
                continue;
            }
            for (int32_t i = 0; i < t->column[lengths[k]].entry[row]; i++) *to++ = from[first[k][row] + i];
        }
    }
}

static void make_score_request(const problem *p, run_part *x)
{
    const size_t picks = (size_t)p->selection.n_picks, n = (size_t)x->n, stride = (size_t)p->selection.stride;
    rill_selection *request = &x->selection;
    *request = p->selection;
    request->n_picks = 0;
    x->set = alloc_poisoned(n, sizeof *x->set);
    x->pick = alloc_poisoned(picks, sizeof *x->pick);
    x->row = alloc_poisoned(picks, sizeof *x->row);
    x->action = alloc_poisoned(picks, sizeof *x->action);
    for (int32_t r = 0; r < x->n; r++) {
        x->set[r] = request->legal_set != NULL ? request->legal_set[x->order[r]] : -1;
        for (int32_t i = 0; i < p->selection.n_picks; i++) {
            if (p->selection.pick_row[i] != x->order[r]) continue;
            x->pick[request->n_picks] = i;
            x->row[request->n_picks] = r;
            x->action[request->n_picks++] = p->selection.pick_action[i];
        }
    }
    if (request->legal_set != NULL) request->legal_set = x->set;
    request->pick_row = x->row, request->pick_action = x->action;
    request->pick_logp = alloc_poisoned((size_t)request->n_picks, sizeof *request->pick_logp);
    request->count = alloc_poisoned(n, sizeof *request->count);
    request->action = alloc_poisoned(n * stride, sizeof *request->action);
    request->logp = alloc_poisoned(n * stride, sizeof *request->logp);
}

/* Start a run. late: see rill_run_arguments. Afterwards overwrite everything that the caller may free. */
static void begin_rows(const problem *p, rill_session *s, rill_graph graph, int32_t late, const outcome *o, run_part *x)
{
    make_columns(p, o, x);
    make_score_request(p, x);
    x->watched = alloc_poisoned((size_t)x->n * o->ld_watched, sizeof *x->watched);
    rill_selection request = x->selection;
    const rill_run_arguments arguments = {.struct_size = sizeof arguments,
                                          .n = x->n,
                                          .columns = (const int32_t *const *)x->columns,
                                          .selection = p->t.selects ? &request : NULL,
                                          .watched = x->watched,
                                          .ld_watched = o->ld_watched,
                                          .async_group = late};
    rill_status status = rill_session_run(s, graph, &arguments);
    while (should_retry != NULL && status < 0 && should_retry(status)) status = rill_session_run(s, graph, &arguments);
    if (late == 0 || status != RILL_AGAIN) assert_int_equal(status, RILL_OK);
    memset(&request, 0x5A, sizeof request);
}

/* Copy the results of the run's rows to the places of these rows in the problem. */
static void take_rows(const problem *p, const run_part *x, outcome *o)
{
    const size_t stride = (size_t)p->selection.stride;
    int32_t first[2][SPEC_MAX_SLOTS * 30];
    first_units(p, first);
    for (int32_t r = 0, i_unit = 0; r < x->n; r++) {
        const size_t to = (size_t)x->order[r];
        o->count[to] = x->selection.count[r];
        memcpy(o->action + to * stride, x->selection.action + (size_t)r * stride, stride * 4);
        memcpy(o->logp + to * stride, x->selection.logp + (size_t)r * stride, stride * 4);
        memcpy(o->watched + to * o->ld_watched, x->watched + (size_t)r * o->ld_watched, o->ld_watched * 4);
        o->tag[0][to] = x->columns[p->s.tag - 1][r];
        for (int32_t i = 0; p->s.units != 0 && i < p->t.column[p->s.length].entry[to]; i++)
            o->tag[1][first[0][to] + i] = x->columns[p->s.unit_tag - 1][i_unit++];
    }
    for (int32_t i = 0; i < x->selection.n_picks; i++) o->pick[x->pick[i]] = x->selection.pick_logp[i];
}

static void end_rows(const problem *p, rill_session *s, int32_t late, run_part *x, outcome *o)
{
    if (late > 0) EXPECT_OK(rill_session_collect(s, late - 1));
    take_rows(p, x, o);
    for (rill_column c = 1; c <= p->t.columns; c++) free(x->columns[c - 1]);
    free(x->set), free(x->pick), free(x->row), free(x->action), free(x->watched);
    free(x->selection.count), free(x->selection.action), free(x->selection.logp), free(x->selection.pick_logp);
}

outcome run_problem(rill_context *ctx, problem *p, const rill_network *network, rill_graph graph, const variant *v)
{
    outcome o = make_outcome(p);
    rill_session *s;
    int32_t order[SPEC_MAX_SLOTS];
    for (int32_t r = 0; r < p->n; r++) order[r] = r;
    for (int32_t r = p->n - 1; v->permuted && r > 0; r--) {
        const int32_t other = dice_range(&p->d, 0, r), moved = order[r];
        order[r] = order[other];
        order[other] = moved;
    }
    if (strcmp(network->device->name, "cpu") == 0)
        *(cpu_device *)network->device->data = (cpu_device){v->block, v->span, v->shares};
    open_stream(ctx, p, network, v->threads, o.w, &s);
    const int32_t first = v->split < p->n ? v->split : 0;
    run_part front = {.order = order, .n = first}, back = {.order = order + first, .n = p->n - first};
    begin_rows(p, s, graph, v->async, &o, &front);
    if (!v->async) end_rows(p, s, 0, &front, &o);
    begin_rows(p, s, graph, 2 * v->async, &o, &back);
    end_rows(p, s, 2 * v->async, &back, &o);
    if (v->async) end_rows(p, s, 1, &front, &o);
    exchange(p, s, o.w, 0);
    rill_session_close(s);
    return o;
}

/* --- comparing ---------------------------------------------------------------------------------------------------- */

static int is_near(float a, float b, tolerance t)
{
    if (memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b))) return 1;
    return fabsf(a - b) <= t.absolute + t.relative * (fabsf(a) + fabsf(b)) && t.absolute > 0.0f;
}

/* Index of the first entry that differs, or -1. */
static int64_t differs(const float *a, const float *b, size_t n, tolerance t)
{
    for (size_t i = 0; i < n; i++)
        if (!is_near(a[i], b[i], t)) return (int64_t)i;
    return -1;
}

const char *compare_outcomes(const problem *p, const outcome *a, const outcome *b, tolerance t)
{
    const size_t n = (size_t)p->n, stride = (size_t)p->selection.stride;
    for (int32_t i = 1; i <= p->t.tables; i++) {
        const size_t width = p->t.table[i].width;
        const rill_table_kind kind = p->t.table[i].kind;
        for (int32_t s = 0; kind == RILL_TABLE_RAGGED && s < a->w->slots; s++)
            if (!(differs(a->w->ragged[i][s], b->w->ragged[i][s], (size_t)a->w->units[s] * width, t) < 0))
                return "rows of slots";
        const size_t rows = kind == RILL_TABLE_NODES ? (size_t)a->w->nodes : (size_t)a->w->slots;
        if (kind < RILL_TABLE_RAGGED)
            if (!(differs(a->w->rows[i], b->w->rows[i], rows * width, t) < 0))
                return kind == RILL_TABLE_NODES ? "nodes" : "slots";
    }
    if (!(memcmp(a->w->parent, b->w->parent, sizeof a->w->parent) == 0 || p->t.paths == 0)) return "paths";
    if (!(memcmp(a->tag[0], b->tag[0], n * 4) == 0)) return "columns of rows";
    if (p->s.units != 0)
        if (!(memcmp(a->tag[1], b->tag[1], p->t.column[p->s.unit_tag].count * 4) == 0)) return "columns of units";
    if (p->t.watches)
        if (!(differs(a->watched, b->watched, n * a->ld_watched, t) < 0)) return "watched weights";
    if (!p->t.selects) return NULL;
    for (size_t r = 0; r < n && p->selection.max_choices == 0; r++)
        if (!(b->count[r] == 0)) return "counts";
    if (!(p->selection.max_choices == 0 || memcmp(a->count, b->count, n * 4) == 0)) return "counts";
    if (!(memcmp(a->action, b->action, n * stride * 4) == 0)) return "actions";
    if (!(differs(a->logp, b->logp, n * stride, t) < 0)) return "log-probabilities";
    if (!(differs(a->pick, b->pick, (size_t)p->selection.n_picks, t) < 0)) return "picks";
    return NULL;
}
