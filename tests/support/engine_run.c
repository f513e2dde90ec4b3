/* Runs the engine on a problem and copies its borrowed results; see problem.h.
 *
 * Copies come from malloc(), because the test's allocator may refuse requests. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rill/plugin.h"
#include "support/harness.h"
#include "support/problem.h"

/* --- copying ------------------------------------------------------------------------------------------------------ */

static void *copied(const void *from, size_t size)
{
    void *copy = malloc(size + 1);
    if (copy == NULL) abort();
    if (size > 0) memcpy(copy, from, size);
    ((char *)copy)[size] = '\0';
    return copy;
}

static void *grown(void *block, int64_t n, int64_t *capacity, size_t size)
{
    if (n < *capacity) return block;
    *capacity = *capacity * 2 + 16;
    block = realloc(block, (size_t)*capacity * size);
    if (block == NULL) abort();
    return block;
}

static void copy_result(engine_record *out, const rill_result *result)
{
    if (result->id < 0 || result->id >= PROBLEM_MAX_INPUTS) abort();
    record_result *r = &out->result[result->id];
    if (r->taken++ > 0) return;
    r->status = result->status;
    r->position = out->n_results++;
    r->outputs_found = result->outputs_found;
    r->timed_out = result->timed_out;
    r->user = result->user;
    r->n = result->n_outputs;
    snprintf(r->message, sizeof r->message, "%s", result->message);
    r->output = calloc((size_t)result->n_outputs + 1, sizeof *r->output);
    if (r->output == NULL) abort();
    for (int32_t i = 0; i < result->n_outputs; i++) {
        const rill_output *o = rill_result_output(result, i);
        size_t n = (size_t)o->n_ids;
        r->output[i] = (record_output){copied(o->text, o->text_bytes), copied(o->ids, n * sizeof *o->ids),
                                       copied(o->id_logps, n * sizeof *o->id_logps), *o};
    }
}

static void record_trace(void *user, const rill_trace_event *e)
{
    engine_record *out = user;
    out->event = grown(out->event, out->n_events, &out->event_capacity, sizeof *out->event);
    out->event[out->n_events] = (record_event){e->kind, e->timestep, e->item_id, e->item_timesteps, e->worker};
    if (e->kind == RILL_TRACE_TIMESTEP) {
        out->timestep = grown(out->timestep, out->n_timesteps, &out->timestep_capacity, sizeof *out->timestep);
        record_timestep *t = &out->timestep[out->n_timesteps++];
        size_t n = (size_t)e->n;
        *t = (record_timestep){.n = e->n,
                               .in_flight = e->in_flight,
                               .rows = e->rows,
                               .seconds = e->seconds,
                               .item = copied(e->items, n * sizeof *e->items),
                               .depth = copied(e->depths, n * sizeof *e->depths),
                               .width = copied(e->widths_before, n * sizeof *e->widths_before),
                               .merged = copied(e->widths_merged, n * sizeof *e->widths_merged),
                               .kept = copied(e->widths_after, n * sizeof *e->widths_after),
                               .event_index = out->n_events};
        for (size_t i = 0; i < n; i++)
            if (t->width[i] > t->widest) t->widest = t->width[i];
    }
    out->n_events++;
}

/* --- setting up --------------------------------------------------------------------------------------------------- */

static void set_up(const problem *p, const schedule *s, rill_engine_setup *setup, rill_chain_entry *entries)
{
    rill_settings *t = &setup->settings;
    *t = p->settings;
    snprintf(t->method, sizeof t->method, "%s", s->method);
    t->n = s->n;
    t->max_items = s->max_items;
    t->budget = s->budget;
    t->max_nodes = s->max_nodes;
    t->memory = s->memory;
    t->refill = s->refill;
    t->sort = s->sort;
    t->sort_window = s->sort_window;
    t->flush_every = s->flush_every;
    t->unordered = s->unordered;
    t->check = s->check;
    for (int32_t i = 0; i < p->n_heuristics; i++)
        entries[i] = (rill_chain_entry){p->heuristic[i].name, p->heuristic[i].arguments};
    setup->heuristics = entries;
    setup->n_heuristics = p->n_heuristics;
    entries += NAIVE_MAX_CHAIN;
    for (int32_t i = 0; i < p->n_scorers; i++)
        entries[i] = (rill_chain_entry){p->scorer[i].name, p->scorer[i].arguments};
    setup->scorers = entries;
    setup->n_scorers = p->n_scorers;
    setup->cube_key = p->cube_key;
    setup->budget = s->budget_fn;
    setup->budget_user = s->budget_user;
    setup->overdue_first = s->overdue_first;
    entries += NAIVE_MAX_CHAIN;
    *entries = (rill_chain_entry){s->scheduler, s->scheduler_arguments};
    if (s->scheduler != NULL) setup->scheduler = entries;
}

/* --- the two loops ------------------------------------------------------------------------------------------------ */

static rill_status submit(const problem *p, const hooks *h, rill_engine *engine, int32_t i)
{
    if (h != NULL && h->submit != NULL) return h->submit(h->user, engine, p, i);
    return rill_engine_submit(engine, p->input[i], strlen(p->input[i]));
}

/* Take all finished results. Check that each result's has_more says correctly whether another result follows. */
static void take_finished(rill_engine *engine, engine_record *out)
{
    const rill_result *result;
    int more = -1;
    for (; rill_engine_next(engine, &result) == RILL_OK; more = result->has_more) {
        if (more == 0) fail_msg("result %lld comes behind one that was the last", (long long)result->id);
        copy_result(out, result);
    }
    if (more == 1) fail_msg("another result was promised");
}

static rill_status step_loop(const problem *p, const hooks *h, rill_engine *engine, engine_record *out)
{
    int32_t next = 0, refused = 0;
    for (;;) {
        while (next < p->n_inputs && rill_engine_free_slots(engine) > 0) {
            rill_status status = submit(p, h, engine, next);
            /* The engine goes on after a failed submission. Stop after three of them, because an allocator that always fails would cause an
             * endless loop. */
            if (status == RILL_ERR_MEMORY && refused++ < 3) continue;
            if (status != RILL_OK) return status;
            next++;
        }
        if (next == p->n_inputs) rill_engine_close_input(engine);
        rill_status status = rill_engine_step(engine);
        take_finished(engine, out);
        out->stats.struct_size = sizeof out->stats;
        rill_engine_stats(engine, &out->stats);
        if (h != NULL && h->on_step != NULL) h->on_step(h->user, engine);
        if (out->stats.inputs - out->n_results > out->max_held) out->max_held = out->stats.inputs - out->n_results;
        if (status < 0) return status;
        if (status == RILL_AGAIN && next == p->n_inputs && rill_engine_idle(engine)) return RILL_OK;
        if (status == RILL_AGAIN && next == p->n_inputs)
            /* the engine waits although all inputs were submitted: without this line the loop would never end */
            return RILL_ERR_ARGUMENT;
    }
}

typedef struct reader {
    const problem *p;
    int32_t next, blocks;
    uint64_t state;
    engine_record *out;
    const hooks *hooks;
    test_cancel cancel;
    void *runner;
} reader;

static void call_hook(const reader *r)
{
    if (r->hooks != NULL && r->hooks->on_call != NULL) r->hooks->on_call(r->hooks->user, r->cancel, r->runner, r->out);
}

static rill_status read_input(void *user, int may_block, const char **text, size_t *length)
{
    reader *r = user;
    call_hook(r);
    r->state = dice_mix(r->state, 1);
    if (r->blocks && !may_block && r->state % 3 != 0) return RILL_AGAIN;
    if (r->next == r->p->n_inputs) return RILL_END_OF_INPUT;
    *text = r->p->input[r->next++];
    *length = strlen(*text);
    return RILL_OK;
}

static rill_status read_request(void *user, int may_block, rill_request *out)
{
    reader *r = user;
    rill_status status = read_input(r, may_block, &out->text, &out->length);
    if (status == RILL_OK) r->hooks->set_request(r->hooks->user, r->p, r->next - 1, out);
    return status;
}

static rill_status write_result(void *user, const rill_result *result)
{
    reader *r = user;
    copy_result(r->out, result);
    call_hook(r);
    return RILL_OK;
}

static rill_status cancel_in_engine(void *engine, int64_t id)
{
    return rill_engine_cancel(engine, id);
}

static rill_status cancel_in_workers(void *workers, int64_t id)
{
    return rill_workers_cancel(workers, id);
}

/* --- running ------------------------------------------------------------------------------------------------------ */

/* Return 0 for a synchronous domain, or 1 + the group_rows of the asynchronous domain to use. */
static int32_t async_option(const schedule *s)
{
    return s->async_rows > 0 ? s->async_rows : (int32_t)harness_async();
}

static const char *opened_domain_name(const problem *p, const schedule *s)
{
    return async_option(s) > 0 ? "late" : p->domain != NULL ? p->domain : "toy";
}

static rill_status register_async(const problem *p, const schedule *s, rill_context *ctx, engine_record *out)
{
    const rill_domain *inner = rill_find_domain(ctx, p->domain != NULL ? p->domain : "toy");
    async_make(&out->async, "late", inner, async_option(s) - 1);
    out->async.fail_collect = s->fail_collect;
    out->async.sync_group = s->sync_group;
    return rill_register_domain(ctx, &out->async.domain);
}

static rill_status run_workers(const problem *p, const schedule *s, const rill_engine_setup *setup, rill_context *ctx,
                               engine_record *out)
{
    rill_workers *workers;
    const rill_engine_setup *setups[8] = {setup, setup, setup, setup, setup, setup, setup, setup};
    rill_open_options open = {.struct_size = sizeof open, .threads = 1, .arguments = p->arguments};
    rill_workers_options options = {.struct_size = sizeof options, .workers = s->workers, .apart = s->own_thread};
    rill_status status = rill_workers_open(&workers, ctx, opened_domain_name(p, s), &open, &options);
    if (status == RILL_OK) status = rill_workers_begin(workers, setups);
    if (status == RILL_OK) {
        reader r = {p, 0, s->reader_blocks, 1, out, s->hooks, cancel_in_workers, workers};
        status = s->hooks != NULL && s->hooks->set_request != NULL
                     ? rill_workers_run_requests(workers, read_request, &r, write_result, &r)
                     : rill_workers_run(workers, read_input, &r, write_result, &r);
        out->stats.struct_size = sizeof out->stats;
        rill_workers_stats(workers, &out->stats);
    }
    rill_workers_close(workers);
    return status;
}

static rill_status run(const problem *p, const schedule *s, rill_status (*more)(rill_context *), rill_context *ctx,
                       engine_record *out)
{
    rill_model *model = NULL;
    rill_engine *engine = NULL;
    rill_engine_setup setup;
    rill_chain_entry entries[2 * NAIVE_MAX_CHAIN + 1];
    rill_open_options options = {.struct_size = sizeof options, .threads = 1, .arguments = p->arguments};
    rill_status status = rill_register_core(ctx);
    if (status == RILL_OK) status = rill_register_domain(ctx, &toy_domain);
    if (status == RILL_OK) status = rill_register_domain(ctx, &toy_without_runners);
    if (status == RILL_OK) status = test_plugins_register(ctx);
    if (status == RILL_OK && more != NULL) status = more(ctx);
    if (status == RILL_OK && async_option(s) > 0) status = register_async(p, s, ctx, out);
    if (status == RILL_OK) {
        rill_engine_setup_default(&setup);
        set_up(p, s, &setup, entries);
        if (!s->untraced) setup.trace = record_trace;
        setup.trace_user = out;
        setup.clock = s->hooks != NULL ? s->hooks->clock : NULL;
        setup.clock_user = s->hooks != NULL ? s->hooks->user : NULL;
        if (s->workers > 1 || s->own_thread) return run_workers(p, s, &setup, ctx, out);
    }
    if (status == RILL_OK) status = rill_model_open(&model, ctx, opened_domain_name(p, s), &options);
    if (status == RILL_OK) status = rill_engine_create(&engine, ctx, model, &setup);
    if (status == RILL_OK) {
        reader r = {p, 0, s->reader_blocks, 1, out, s->hooks, cancel_in_engine, engine};
        if (!s->by_run)
            status = step_loop(p, s->hooks, engine, out);
        else if (s->hooks != NULL && s->hooks->set_request != NULL)
            status = rill_run_requests(engine, read_request, &r, write_result, &r);
        else
            status = rill_run(engine, read_input, &r, write_result, &r);
        out->stats.struct_size = sizeof out->stats;
        rill_engine_stats(engine, &out->stats);
    }
    rill_engine_destroy(engine);
    rill_model_close(model);
    return status;
}

void engine_run_with(const problem *p, const schedule *s, const rill_context_options *memory,
                     rill_status (*more)(rill_context *), engine_record *out)
{
    memset(out, 0, sizeof *out);
    toy_report_reset();
    rill_context *ctx = NULL;
    out->status = rill_context_create(&ctx, memory);
    if (out->status == RILL_OK) {
        out->status = run(p, s, more, ctx, out);
        snprintf(out->message, sizeof out->message, "%s", rill_error(ctx));
        rill_context_destroy(ctx);
    }
    out->toy = *toy_report_get();
}

void engine_run(const problem *p, const schedule *s, const rill_context_options *memory, engine_record *out)
{
    engine_run_with(p, s, memory, NULL, out);
}

void engine_record_clear(engine_record *record)
{
    for (int32_t i = 0; i < PROBLEM_MAX_INPUTS; i++) {
        record_result *r = &record->result[i];
        for (int32_t o = 0; o < r->n && r->output != NULL; o++) {
            free(r->output[o].text);
            free(r->output[o].action);
            free(r->output[o].logps);
        }
        free(r->output);
    }
    for (int64_t i = 0; i < record->n_timesteps; i++) {
        free(record->timestep[i].item);
        free(record->timestep[i].depth);
        free(record->timestep[i].width);
        free(record->timestep[i].merged);
        free(record->timestep[i].kept);
    }
    free(record->timestep);
    free(record->event);
    memset(record, 0, sizeof *record);
}

int record_differ(const record_result *a, const record_result *b, char *where, size_t size)
{
    snprintf(where, size, "status %d and %d, %d and %d outputs of %d and %d", (int)a->status, (int)b->status, (int)a->n,
             (int)b->n, (int)a->outputs_found, (int)b->outputs_found);
    if (a->status != b->status || a->n != b->n || a->outputs_found != b->outputs_found) return 1;
    for (int32_t o = 0; o < a->n; o++) {
        const record_output *x = &a->output[o], *y = &b->output[o];
        snprintf(where, size, "output %d: \"%s\" %.17g and \"%s\" %.17g", (int)o, x->text, x->value.path_score, y->text,
                 y->value.path_score);
        if (strcmp(x->text, y->text) != 0 || memcmp(&x->value.path_score, &y->value.path_score, sizeof(double)) != 0 ||
            memcmp(&x->value.score, &y->value.score, sizeof(double)) != 0 || x->value.length != y->value.length ||
            is_truncated(&x->value) != is_truncated(&y->value) || x->value.n_ids != y->value.n_ids ||
            memcmp(x->logps, y->logps, (size_t)x->value.n_ids * sizeof *x->logps) != 0)
            return 1;
    }
    return 0;
}
