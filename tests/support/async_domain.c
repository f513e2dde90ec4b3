/* See async_domain.h. Invariant: queued calls run in order of submission, before any synchronous call.
 *
 * Sections: the queue · asynchronous calls · collecting · synchronous calls · opening and closing. */
#include "support/async_domain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_QUEUED = 16 };

typedef struct call {
    int is_score, done;
    rill_status status;
    char message[300];
    rill_rows rows; /* step call: a copy of the engine's rows; score call: the engine's own rows */
    int32_t *copy;
    const rill_rows *engine_rows;
    const rill_score_request *request;
    /* out: the engine's result, which collect() fills; answer: the result computed by the wrapped domain */
    rill_score_result *out, answer;
    /* hash of the arguments when the call was submitted: they must not change until it is collected */
    uint64_t request_hash;
} call;

typedef struct async_model {
    async_table *table;
    const rill_domain *inner;
    rill_context *ctx;
    void *self;
    call queue[MAX_QUEUED];
    int n;
} async_model;

/* --- the queue ---------------------------------------------------------------------------------------------------- */

static void *checked(void *block)
{
    if (block == NULL) abort();
    return block;
}

static uint64_t hashed(uint64_t hash, const void *data, size_t n)
{
    const unsigned char *byte = data;
    for (size_t i = 0; i < n && data != NULL; i++) hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* Hash of all arguments of a submitted call, pointers included. */
static uint64_t hash_request(const call *c)
{
    const rill_rows *r = c->engine_rows;
    const rill_score_request *a = c->request;
    const int32_t *const columns[] = {r->node, r->parent, r->state_parent, r->action, r->slot, r->depth};
    uint64_t hash = hashed(hashed(7, r, sizeof *r), a, sizeof *a);
    hash = hashed(hash, c->out, sizeof *c->out);
    for (int i = 0; i < 6; i++) hash = hashed(hash, columns[i], (size_t)r->n * sizeof(int32_t));
    hash = hashed(hash, a->row_max_choices, (size_t)r->n * sizeof(int32_t));
    hash = hashed(hash, a->legal_set, (size_t)r->n * sizeof(int32_t));
    hash = hashed(hash, a->pick_row, (size_t)a->n_picks * sizeof(int32_t));
    return hashed(hash, a->pick_action, (size_t)a->n_picks * sizeof(int32_t));
}

static void make_answer(call *c)
{
    const size_t n = (size_t)c->rows.n, entries = n * (size_t)c->out->stride;
    c->answer = (rill_score_result){.stride = c->out->stride,
                                    .count = checked(calloc(n + 1, sizeof(int32_t))),
                                    .action = checked(calloc(entries + 1, sizeof(int32_t))),
                                    .logp = checked(calloc(entries + 1, sizeof(float))),
                                    .ends = checked(calloc(n + 1, 1)),
                                    .terminal = checked(calloc(entries + 1, 1)),
                                    .pick_logp = checked(calloc((size_t)c->request->n_picks + 1, sizeof(float)))};
}

static void run_call(async_model *l, call *c)
{
    c->done = 1; /* set even if the call fails: an engine that ends because of the failure must not run it again */
    c->status = c->is_score ? l->inner->score(l->self, &c->rows, c->request, &c->answer)
                            : l->inner->step(l->self, &c->rows);
    if (c->status < 0) snprintf(c->message, sizeof c->message, "%s", rill_error(l->ctx));
}

static void clear_request(call *c)
{
    free(c->copy);
    free(c->answer.count);
    free(c->answer.action);
    free(c->answer.logp);
    free(c->answer.ends);
    free(c->answer.terminal);
    free(c->answer.pick_logp);
}

/* Run all queued calls, and free those whose results need no collect(). Returns the first failure of a step call. */
static rill_status run_queue(async_model *l)
{
    int kept = 0;
    rill_status status = RILL_OK;
    for (int i = 0; i < l->n; i++) {
        call *c = &l->queue[i];
        if (!c->done) run_call(l, c);
        if (!c->is_score && c->status < 0 && status == RILL_OK) status = rill_fail(l->ctx, c->status, "%s", c->message);
        if (c->is_score)
            l->queue[kept++] = *c;
        else
            clear_request(c);
    }
    l->n = kept;
    return status;
}

/* Run all queued calls before a synchronous call, and count the score calls that this forces to run early. */
static rill_status flush_queue(async_model *l)
{
    for (int i = 0; i < l->n; i++) l->table->forced_early += l->queue[i].is_score;
    return run_queue(l);
}

static call *enqueue(async_model *l, const rill_rows *rows)
{
    if (l->n == MAX_QUEUED) run_queue(l);
    if (l->n == MAX_QUEUED) abort();
    call *c = &l->queue[l->n++];
    *c = (call){.rows = *rows};
    return c;
}

/* --- asynchronous calls ------------------------------------------------------------------------------------------- */

static rill_status step(void *self, const rill_rows *rows)
{
    async_model *l = self;
    const size_t n = (size_t)rows->n;
    call *c = enqueue(l, rows);
    const int32_t **columns[] = {&c->rows.node,   &c->rows.parent, &c->rows.state_parent,
                                 &c->rows.action, &c->rows.slot,   &c->rows.depth};
    c->copy = checked(malloc(6 * n * sizeof(int32_t) + 1));
    for (size_t i = 0; i < 6; i++) {
        if (n > 0) memcpy(c->copy + i * n, *columns[i], n * sizeof(int32_t));
        *columns[i] = c->copy + i * n;
    }
    return RILL_OK;
}

static rill_status score(void *self, const rill_rows *rows, const rill_score_request *request, rill_score_result *out)
{
    async_model *l = self;
    int64_t waiting = 1;
    if (l->table->sync_group == rows->group + 1) {
        rill_status status = flush_queue(l);
        return status < 0 ? status : l->inner->score(l->self, rows, request, out);
    }
    for (int i = 0; i < l->n; i++) {
        waiting += l->queue[i].is_score;
        if (l->queue[i].is_score && l->queue[i].rows.group == rows->group)
            return rill_fail(l->ctx, RILL_ERR_ARGUMENT, "late: group %d has a call submitted", (int)rows->group);
    }
    call *c = enqueue(l, rows);
    c->is_score = 1;
    c->engine_rows = rows;
    c->request = request;
    c->out = out;
    make_answer(c);
    memcpy(c->answer.ends, out->ends, (size_t)rows->n);
    memset(out->count, 0x5a, (size_t)rows->n * sizeof *out->count);
    memset(out->ends, 0x5a, (size_t)rows->n);
    c->request_hash = hash_request(c);
    l->table->submitted++;
    if (waiting > l->table->max_queued) l->table->max_queued = waiting;
    return RILL_AGAIN;
}

/* --- collecting --------------------------------------------------------------------------------------------------- */

static void copy_answer(const call *c)
{
    const size_t n = (size_t)c->rows.n;
    memcpy(c->out->count, c->answer.count, n * sizeof(int32_t));
    memcpy(c->out->ends, c->answer.ends, n);
    for (size_t r = 0; r < n; r++) { /* entries after the counted ones are not read */
        const size_t offset = r * (size_t)c->out->stride, n_copied = (size_t)c->answer.count[r];
        /* more actions than there is room for: the engine detects this error */
        if (n_copied > (size_t)c->out->stride) continue;
        memcpy(c->out->action + offset, c->answer.action + offset, n_copied * sizeof(int32_t));
        memcpy(c->out->logp + offset, c->answer.logp + offset, n_copied * sizeof(float));
        if (c->answer.ends[r] == RILL_ENDS_BY_FLAG)
            memcpy(c->out->terminal + offset, c->answer.terminal + offset, n_copied);
    }
    if (c->request->n_picks > 0)
        memcpy(c->out->pick_logp, c->answer.pick_logp, (size_t)c->request->n_picks * sizeof(float));
}

static rill_status collect(void *self, int32_t group)
{
    async_model *l = self;
    int pos = 0;
    rill_status status = run_queue(l);
    while (pos < l->n && l->queue[pos].rows.group != group) pos++;
    if (pos == l->n) return rill_fail(l->ctx, RILL_ERR_ARGUMENT, "late: group %d has submitted nothing", (int)group);
    call c = l->queue[pos];
    const int changed = hash_request(&c) != c.request_hash;
    if (status >= 0 && c.status >= 0 && !changed) copy_answer(&c);
    memmove(&l->queue[pos], &l->queue[pos + 1], (size_t)(--l->n - pos) * sizeof c);
    clear_request(&c);
    if (changed) return rill_fail(l->ctx, RILL_ERR_ARGUMENT, "late: what group %d was given has changed", (int)group);
    if (++l->table->collected == l->table->fail_collect)
        return rill_fail(l->ctx, RILL_ERR_IO, "late: injected failure in collect");
    return status < 0 || c.status >= 0 ? status : rill_fail(l->ctx, c.status, "%s", c.message);
}

/* --- synchronous calls -------------------------------------------------------------------------------------------- */

static rill_status reserve(void *self, int32_t nodes, int32_t slots)
{
    async_model *l = self;
    rill_status status = flush_queue(l);
    return status < 0 ? status : l->inner->reserve(l->self, nodes, slots);
}

static rill_status encode(void *self, int32_t m, rill_input *inputs)
{
    async_model *l = self;
    const int64_t prev_forced = l->table->forced_early;
    rill_status status = flush_queue(l);
    l->table->encoded++;
    l->table->encoded_during += l->table->forced_early > prev_forced;
    return status < 0 ? status : l->inner->encode(l->self, m, inputs);
}

static rill_status finalize(void *self, const rill_hypothesis *hypothesis, rill_text *out)
{
    async_model *l = self;
    rill_status status = flush_queue(l);
    return status < 0 ? status : l->inner->finalize(l->self, hypothesis, out);
}

static void drop(void *self, int32_t slot)
{
    async_model *l = self;
    flush_queue(l);
    if (l->inner->drop != NULL) l->inner->drop(l->self, slot);
}

static void free_nodes(void *self, int32_t n, const int32_t *nodes)
{
    async_model *l = self;
    flush_queue(l);
    if (l->inner->free != NULL) l->inner->free(l->self, n, nodes);
}

static int64_t measure(void *self, const char *text, size_t length)
{
    const async_model *l = self;
    return l->inner->measure(l->self, text, length);
}

/* --- names of actions --------------------------------------------------------------------------------------------- */

static rill_status action_name(void *self, int32_t action, rill_text *out)
{
    const async_model *l = self;
    return l->inner->action_name(l->self, action, out);
}

static int32_t find_action(void *self, const char *text, size_t length)
{
    const async_model *l = self;
    return l->inner->find_action(l->self, text, length);
}

static rill_status tokenize(void *self, rill_context *ctx, const char *text, size_t length, int32_t *action,
                            int32_t capacity, int32_t *n)
{
    const async_model *l = self;
    return l->inner->tokenize(l->self, ctx, text, length, action, capacity, n);
}

static int32_t first_action(void *self, rill_context *ctx, const char *input, size_t length)
{
    const async_model *l = self;
    return l->inner->first_action(l->self, ctx, input, length);
}

static int32_t unknown_action(void *self)
{
    const async_model *l = self;
    return l->inner->unknown_action(l->self);
}

static rill_status recommend(void *self, const char *like, rill_text *out)
{
    const async_model *l = self;
    return l->inner->recommend(l->self, like, out);
}

/* --- opening and closing ------------------------------------------------------------------------------------------ */

static async_model *make(async_table *table, rill_context *ctx)
{
    async_model *l = checked(calloc(1, sizeof *l));
    l->table = table;
    l->inner = table->inner;
    l->ctx = ctx;
    return l;
}

static rill_status open_async(const rill_domain *domain, rill_context *ctx, const rill_open_options *options,
                              void **self, rill_domain_info *info)
{
    async_table *table = (async_table *)(uintptr_t)domain;
    async_model *l = make(table, ctx);
    rill_status status = l->inner->open(l->inner, ctx, options, &l->self, info);
    if (status < 0) return free(l), status;
    info->group_rows = table->group_rows;
    *self = l;
    return status;
}

static rill_status start(const void *model, rill_context *ctx, int threads, void **runner)
{
    const async_model *m = model;
    async_model *l = make(m->table, ctx);
    rill_status status = l->inner->start(m->self, ctx, threads, &l->self);
    if (status < 0) return free(l), status;
    *runner = l;
    return status;
}

/* Free the model. Aborts unless the results of all submitted calls have been collected. */
static void end(async_model *l)
{
    run_queue(l);
    if (l->n > 0) abort();
    free(l);
}

static void stop(void *runner)
{
    if (runner == NULL) return;
    ((async_model *)runner)->inner->stop(((async_model *)runner)->self);
    end(runner);
}

static void close_async(void *self)
{
    if (self == NULL) return;
    ((async_model *)self)->inner->close(((async_model *)self)->self);
    end(self);
}

void async_make(async_table *out, const char *name, const rill_domain *inner, int32_t group_rows)
{
    *out = (async_table){.domain = *inner, .inner = inner, .group_rows = group_rows};
    rill_domain *d = &out->domain;
    d->name = name;
    d->open = open_async;
    d->close = close_async;
    d->reserve = reserve;
    d->encode = encode;
    d->step = step;
    d->score = score;
    d->collect = collect;
    d->finalize = finalize;
    d->drop = drop;
    d->free = free_nodes;
    d->start = inner->start != NULL ? start : NULL;
    d->stop = inner->start != NULL ? stop : NULL;
    d->measure = inner->measure != NULL ? measure : NULL;
    d->action_name = inner->action_name != NULL ? action_name : NULL;
    d->find_action = inner->find_action != NULL ? find_action : NULL;
    d->unknown_action = inner->unknown_action != NULL ? unknown_action : NULL;
    d->recommend = inner->recommend != NULL ? recommend : NULL;
    d->canonical = NULL;
    d->field = NULL;
    d->tokenize = inner->tokenize != NULL ? tokenize : NULL;
    d->first_action = inner->first_action != NULL ? first_action : NULL;
    d->profile = NULL;
    d->profile_row = NULL;
    d->limits = NULL;
}
