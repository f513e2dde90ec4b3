/* Inputs that fit no worker's share of the memory limit run alone: in endless ordered streams, whatever is cancelled or late
 * meanwhile, and however full the reorder buffer is. Meant for the thread sanitizer too. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "rill/plugin.h"
#include "rill/workers.h"
#include "support/dice.h"
#include "support/harness.h"
#include "support/toy_domain.h"

enum {
    N_TEXTS = 64,
    /* number of states; with two workers each worker gets 14, and an input with a beam of 8 may need 28 */
    LIMIT = 28,
    PATIENCE = 150 /* seconds until a run that makes no progress fails */
};

#define ARGUMENTS "seed=5 depth=6 actions=4 ending=5 legal=95"

typedef struct stream {
    rill_context *ctx;
    rill_workers *workers;
    harness_memory memory;
    dice d;
    /* percent: share of cancelled inputs, and share of inputs with a deadline */
    int32_t inputs, n_read, written, percent;
    int sorted, unordered;
    int64_t n_cancelled, n_timed_out, n_decoded;
    _Atomic int64_t ticks;
    int cancelled[N_TEXTS]; /* the last inputs read: whether each was cancelled */
} stream;

static void write_text(int32_t number, char *out, size_t size)
{
    snprintf(out, size, "in %d", (int)(number % N_TEXTS));
}

/* The setup of all runs here. */
static void set_up(rill_engine_setup *setup, int32_t max_items)
{
    rill_engine_setup_default(setup);
    setup->settings.k = 8;
    setup->settings.n = setup->settings.max_items = max_items;
    setup->settings.max_nodes = LIMIT;
}

/* --- an endless stream -------------------------------------------------------------------------------------------- */

/* The results of one engine with the whole limit. */
static struct {
    rill_status status[N_TEXTS];
    char text[N_TEXTS][64];
} baseline;

static rill_status read_each(void *user, int may_block, const char **text, size_t *length)
{
    static char line[32];
    int32_t *n_read = user;
    (void)may_block;
    write_text(*n_read, line, sizeof line);
    *text = line;
    *length = strlen(line);
    return (*n_read)++ < N_TEXTS ? RILL_OK : RILL_END_OF_INPUT;
}

static const char *best_text(const rill_result *result)
{
    return result->n_outputs > 0 ? rill_result_output(result, 0)->text : "";
}

static rill_status write_baseline(void *user, const rill_result *result)
{
    (void)user;
    baseline.status[result->id] = result->status;
    snprintf(baseline.text[result->id], sizeof baseline.text[0], "%s", best_text(result));
    return RILL_OK;
}

static void make_baseline(void)
{
    int32_t n_read = 0, n_failed = 0;
    rill_model *model;
    rill_engine *engine;
    rill_engine_setup setup;
    rill_open_options open = {.struct_size = sizeof open, .threads = 1, .arguments = ARGUMENTS};
    rill_context *ctx = harness_context(NULL);
    set_up(&setup, 4);
    assert_int_equal(rill_model_open(&model, ctx, "toy", &open), RILL_OK);
    assert_int_equal(rill_engine_create(&engine, ctx, model, &setup), RILL_OK);
    assert_int_equal(rill_run(engine, read_each, &n_read, write_baseline, NULL), RILL_OK);
    for (int32_t i = 0; i < N_TEXTS; i++) n_failed += baseline.status[i] != RILL_OK;
    assert_int_equal(n_failed, 0);
    rill_engine_destroy(engine);
    rill_model_close(model);
    rill_context_destroy(ctx);
}

/* Cancel some of the last inputs read. Their results may already have been written. */
static void cancel_some(stream *s)
{
    if (!dice_chance(&s->d, s->percent) || s->n_read == 0) return;
    const int32_t back = dice_range(&s->d, 0, N_TEXTS - 1), id = s->n_read - 1 - back;
    if (id < 0) return;
    const rill_status status = rill_workers_cancel(s->workers, id);
    if (status == RILL_OK)
        s->cancelled[id % N_TEXTS] = 1;
    else
        assert_int_equal(status, RILL_ERR_NOT_FOUND);
}

static rill_status read_stream(void *user, int may_block, rill_request *out)
{
    static char line[32];
    stream *s = user;
    cancel_some(s);
    s->ticks++;
    if (!may_block && dice_chance(&s->d, 10)) return RILL_AGAIN;
    if (s->n_read == s->inputs) return RILL_END_OF_INPUT;
    s->cancelled[s->n_read % N_TEXTS] = 0;
    write_text(s->n_read, line, sizeof line);
    out->text = line;
    out->length = strlen(line);
    if (dice_chance(&s->d, s->percent)) out->timeout = 1e-3 * dice_range(&s->d, 1, 60);
    s->n_read++;
    return RILL_OK;
}

static double read_ticks(void *user)
{
    return 1e-3 * (double)((stream *)user)->ticks;
}

static rill_status write_stream(void *user, const rill_result *result)
{
    stream *s = user;
    const int32_t text = (int32_t)(result->id % N_TEXTS);
    if (!s->unordered) assert_int_equal(result->id, s->written);
    s->written++;
    if (result->status == RILL_ERR_CANCELLED) {
        if (s->n_read - result->id <= N_TEXTS) assert_true(s->cancelled[text]);
        s->n_cancelled++;
    } else if (result->timed_out) {
        s->n_timed_out++;
    } else {
        assert_int_equal(result->status, RILL_OK);
        assert_string_equal(best_text(result), baseline.text[text]);
        s->n_decoded++;
    }
    cancel_some(s);
    return RILL_OK;
}

/* Runs with far more inputs than the reorder buffer holds. A good part of them fits no worker's share. */
static void endless_streams(void **state)
{
    (void)state;
    int64_t n_cancelled = 0, n_timed_out = 0, n_alone = 0;
    make_baseline();
    for (int32_t run = 0; run < 8; run++) {
        stream s = {.d = dice_seeded(harness_seed(1) + (uint64_t)run),
                    .inputs = (int32_t)harness_iterations(12000),
                    .percent = run % 2 ? 15 : 2,
                    .sorted = run % 4 >= 2,
                    .unordered = run >= 6};
        rill_stats stats = {.struct_size = sizeof stats};
        rill_engine_setup setup;
        const rill_engine_setup *setups[3] = {&setup, &setup, &setup};
        rill_open_options open = {.struct_size = sizeof open, .threads = 1, .arguments = ARGUMENTS};
        rill_workers_options options = {.struct_size = sizeof options, .workers = run == 5 ? 3 : 2};
        set_up(&setup, run % 3 + 1);
        if (s.sorted) setup.settings.sort = RILL_SORT_LENGTH, setup.settings.sort_window = 50;
        setup.settings.unordered = s.unordered;
        setup.clock = read_ticks;
        setup.clock_user = &s;
        alarm(PATIENCE);
        s.ctx = harness_begin(&s.memory);
        assert_int_equal(rill_workers_open(&s.workers, s.ctx, run == 3 ? "toy-alone" : "toy", &open, &options),
                         RILL_OK);
        assert_int_equal(rill_workers_begin(s.workers, setups), RILL_OK);
        assert_int_equal(rill_workers_run_requests(s.workers, read_stream, &s, write_stream, &s), RILL_OK);
        assert_int_equal(s.written, s.inputs);
        rill_workers_stats(s.workers, &stats);
        assert_int_equal(stats.inputs, s.inputs);
        assert_int_equal(stats.nodes_in_use, 0);
        n_alone += stats.restarted;
        n_cancelled += s.n_cancelled;
        n_timed_out += s.n_timed_out;
        rill_workers_close(s.workers);
        harness_end(s.ctx, &s.memory);
        alarm(0);
    }
    print_message("%lld cancelled, %lld late, %lld restarts\n", (long long)n_cancelled, (long long)n_timed_out,
                  (long long)n_alone);
    HARNESS_ASSERT_COVERED(n_cancelled > 500 && n_timed_out > 500 && n_alone > 500);
}

/* --- at a gate ---------------------------------------------------------------------------------------------------- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int open, waiting;
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void set_gate(int open)
{
    pthread_mutex_lock(&gate.lock);
    gate.open = open;
    if (!open) gate.waiting = 0;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.lock);
}

static void pass_gate(void)
{
    pthread_mutex_lock(&gate.lock);
    gate.waiting++;
    pthread_cond_broadcast(&gate.changed);
    while (!gate.open) pthread_cond_wait(&gate.changed, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
}

/* Wait until another thread is, or was, at the gate. */
static void await_other(void)
{
    pthread_mutex_lock(&gate.lock);
    while (gate.waiting == 0) pthread_cond_wait(&gate.changed, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
}

enum { MAX_AHEAD = 2 * 4096, DEEP = 6, SHALLOW = 1 }; /* places of the reorder buffer; depths of inputs, in timesteps */

/* Return the first text of this depth. In its third timestep a deep input needs more than half of the limit. */
static const char *text_of_depth(int32_t depth)
{
    static char line[32];
    toy_model model;
    char message[100];
    assert_int_equal(toy_model_parse(&model, ARGUMENTS, message, sizeof message), RILL_OK);
    for (int i = 0; i < N_TEXTS; i++) {
        write_text(i, line, sizeof line);
        if (toy_input_read(&model, line, strlen(line)).depth == depth) return line;
    }
    fail_msg("no text has depth %d", (int)depth);
    return NULL;
}

typedef struct gated_run {
    rill_context *ctx;
    rill_workers *workers;
    harness_memory memory;
    int32_t inputs, n_read, written;
    _Atomic int has_cancelled; /* whether the first input was cancelled */
    int awaits_cancel;         /* whether note_first() waits for has_cancelled */
    rill_status first;         /* status of the first input's result */
    int64_t waiting_peak;
} gated_run;

static _Atomic int n_restarted, first_has_finished;

/* Count the restarts, and note when the first item has finished. With `awaits_cancel`, the restart waits until the
 * input is cancelled. */
static void note_first(void *user, const rill_trace_event *event)
{
    static const struct timespec moment = {.tv_nsec = 1000000};
    const gated_run *r = user;
    n_restarted += event->kind == RILL_TRACE_RESTARTED;
    while (event->kind == RILL_TRACE_RESTARTED && r->awaits_cancel && !r->has_cancelled) nanosleep(&moment, NULL);
    if (event->kind == RILL_TRACE_FINISHED && event->item_id == 0) first_has_finished = 1;
}

/* The first input is deep, all others are shallow. */
static rill_status read_gated(void *user, int may_block, rill_request *out)
{
    gated_run *r = user;
    (void)may_block;
    if (r->n_read == r->inputs) return RILL_END_OF_INPUT;
    out->text = text_of_depth(r->n_read == 0 ? DEEP : SHALLOW);
    out->length = strlen(out->text);
    r->n_read++;
    return RILL_OK;
}

static rill_status write_gated(void *user, const rill_result *result)
{
    gated_run *r = user;
    assert_int_equal(result->id, r->written);
    if (r->written++ == 0) r->first = result->status;
    return RILL_OK;
}

static void run_gated(gated_run *r, const rill_domain *domain, rill_read_request_fn read, rill_write_fn write)
{
    rill_engine_setup setup;
    rill_stats stats = {.struct_size = sizeof stats};
    const rill_engine_setup *setups[2] = {&setup, &setup};
    rill_open_options open = {.struct_size = sizeof open, .threads = 1, .arguments = ARGUMENTS};
    rill_workers_options options = {.struct_size = sizeof options, .workers = 2};
    set_up(&setup, 1);
    setup.trace = note_first;
    setup.trace_user = r;
    n_restarted = first_has_finished = 0;
    set_gate(0);
    alarm(PATIENCE);
    r->ctx = harness_begin(&r->memory);
    assert_int_equal(rill_register_domain(r->ctx, domain), RILL_OK);
    assert_int_equal(rill_workers_open(&r->workers, r->ctx, domain->name, &open, &options), RILL_OK);
    assert_int_equal(rill_workers_begin(r->workers, setups), RILL_OK);
    assert_int_equal(rill_workers_run_requests(r->workers, read, r, write, r), RILL_OK);
    assert_int_equal(r->written, r->inputs);
    assert_int_equal(n_restarted, 1);
    rill_workers_stats(r->workers, &stats);
    r->waiting_peak = stats.waiting_peak;
    rill_workers_close(r->workers);
    harness_end(r->ctx, &r->memory);
    alarm(0);
}

/* The gate opens when the last input that fits in the reorder buffer is encoded. */
static rill_status encode_until_full(void *self, int32_t m, rill_input *inputs)
{
    for (int32_t i = 0; i < m; i++)
        if (inputs[i].id == MAX_AHEAD - 1) set_gate(1);
    return toy_domain.encode(self, m, inputs);
}

/* The deep first input waits at the gate; other inputs are too shallow to reach depth 2. */
static rill_status step_at_gate(void *self, const rill_rows *rows)
{
    if (rows->depth[0] >= 2) pass_gate();
    return toy_domain.step(self, rows);
}

/* The oldest input outgrows its worker's share when the reorder buffer behind it is full: nothing can be read until it
 * has run. */
static void behind_a_full_buffer(void **state)
{
    (void)state;
    gated_run r = {.inputs = 2 * MAX_AHEAD};
    rill_domain gated = toy_domain;
    gated.name = "gated";
    gated.encode = encode_until_full;
    gated.step = step_at_gate;
    run_gated(&r, &gated, read_gated, write_gated);
    assert_int_equal(r.first, RILL_OK);
    assert_in_range(r.waiting_peak, MAX_AHEAD - 1, MAX_AHEAD);
}

static _Atomic int n_taken_meanwhile; /* inputs encoded between the first one's restart and its end */

/* The second input waits at the gate; the first one waits until the second is there. */
static rill_status encode_second_at_gate(void *self, int32_t m, rill_input *inputs)
{
    for (int32_t i = 0; i < m; i++) {
        if (inputs[i].id == 0) await_other();
        if (inputs[i].id == 1) pass_gate();
        if (inputs[i].id > 1 && n_restarted > 0 && !first_has_finished) n_taken_meanwhile++;
    }
    return toy_domain.encode(self, m, inputs);
}

static rill_status read_and_cancel_first(void *user, int may_block, rill_request *out)
{
    gated_run *r = user;
    if (r->n_read == 2 && !r->has_cancelled && n_restarted > 0) {
        assert_int_equal(rill_workers_cancel(r->workers, 0), RILL_OK);
        r->has_cancelled = 1;
    }
    if (r->n_read == 2 && r->written == 0) return RILL_AGAIN;
    return read_gated(user, may_block, out);
}

static rill_status write_and_open(void *user, const rill_result *result)
{
    if (result->id == 0) set_gate(1);
    return write_gated(user, result);
}

/* An input that waits for the others to end can be cancelled at once, also when it is just about to wait. */
static void cancelled_while_it_waits(void **state)
{
    (void)state;
    for (int32_t i = 0; i < 20; i++) {
        gated_run r = {.inputs = 40, .awaits_cancel = i % 2};
        rill_domain gated = toy_domain;
        gated.name = "gated";
        gated.encode = encode_second_at_gate;
        run_gated(&r, &gated, read_and_cancel_first, write_and_open);
        assert_int_equal(r.first, RILL_ERR_CANCELLED);
    }
}

static _Atomic int n_met;

/* After the first input, both workers take inputs again: the third and the fourth input wait for each other. */
static rill_status encode_and_meet(void *self, int32_t m, rill_input *inputs)
{
    static const struct timespec moment = {.tv_nsec = 1000000};
    if (inputs[0].id == 2 || inputs[0].id == 3) n_met++;
    while (n_met == 1) nanosleep(&moment, NULL);
    return encode_second_at_gate(self, m, inputs);
}

/* Make the first input run alone for so long that the other worker wakes and waits again. */
static rill_status step_slowly(void *self, const rill_rows *rows)
{
    static const struct timespec moment = {.tv_nsec = 1000000};
    if (n_restarted > 0 && !first_has_finished) nanosleep(&moment, NULL);
    return toy_domain.step(self, rows);
}

static rill_status read_while_it_waits(void *user, int may_block, rill_request *out)
{
    gated_run *r = user;
    if (r->n_read == r->inputs && n_restarted > 0) set_gate(1);
    if (r->n_read == r->inputs && n_restarted == 0) return RILL_AGAIN;
    return read_gated(user, may_block, out);
}

/* While an input waits to run alone, and while it runs, no other input is taken. */
static void nothing_is_taken_meanwhile(void **state)
{
    (void)state;
    for (int32_t i = 0; i < 20; i++) {
        gated_run r = {.inputs = 40};
        rill_domain gated = toy_domain;
        gated.name = "gated";
        gated.encode = encode_and_meet;
        gated.step = step_slowly;
        n_taken_meanwhile = n_met = 0;
        run_gated(&r, &gated, read_while_it_waits, write_gated);
        assert_int_equal(r.first, RILL_OK);
        assert_int_equal(n_taken_meanwhile, 0);
    }
}

/* --- another search ----------------------------------------------------------------------------------------------- */

/* A scorer that asks for a second search, with a wider beam than the first. The second search may exceed the engine's
 * share of states. */
static _Atomic int n_found[N_TEXTS];

static rill_status narrow_first(void *self, const rill_scorer_rows *rows, rill_modifiers *modifiers)
{
    (void)self;
    for (int32_t i = 0; i < rows->n; i++)
        if (n_found[rows->item_id[i]] == 0) assert_int_equal(rill_modifiers_limit_children(modifiers, i, 1), RILL_OK);
    return RILL_OK;
}

static rill_status search_again(void *self, const rill_found *found)
{
    (void)self;
    return n_found[found->item_id]++ == 0 ? RILL_AGAIN : RILL_OK;
}

static const rill_scorer again = {.abi_version = RILL_ABI_VERSION,
                                  .struct_size = sizeof again,
                                  .name = "again",
                                  .arguments = "",
                                  .summary = "a second search",
                                  .score = narrow_first,
                                  .found = search_again};

static _Atomic int64_t ticks; /* the clock, which advances each time it is read */

static double tick(void *user)
{
    (void)user;
    return 1e-3 * (double)ticks++;
}

static struct {
    dice d;
    int32_t n_read, n_saved;
} n_timed_out_runs;

static rill_status read_with_deadlines(void *user, int may_block, rill_request *out)
{
    static char line[32];
    (void)user;
    (void)may_block;
    if (n_timed_out_runs.n_read == 40) return RILL_END_OF_INPUT;
    write_text(n_timed_out_runs.n_read++, line, sizeof line);
    out->text = line;
    out->length = strlen(line);
    if (n_timed_out_runs.n_read % 3 == 0) out->timeout = 0.001 * (20 + dice_range(&n_timed_out_runs.d, 0, 399));
    return RILL_OK;
}

static rill_status write_late(void *user, const rill_result *result)
{
    (void)user;
    if (result->status == RILL_ERR_DEADLINE) assert_int_equal(n_found[result->id], 0);
    n_timed_out_runs.n_saved += result->status == RILL_OK && result->timed_out;
    return RILL_OK;
}

/* If the deadline passes in an input's second search, or while it waits to run alone, the result is that of the
 * complete first search. */
static void complete_results_survive(void **state)
{
    (void)state;
    n_timed_out_runs.n_saved = 0;
    for (int64_t i = 0; i < harness_iterations(200); i++) {
        static const rill_chain_entry scorers[] = {{.name = "again"}};
        const rill_open_options open = {.struct_size = sizeof open, .threads = 1, .arguments = ARGUMENTS};
        const rill_workers_options options = {.struct_size = sizeof options, .workers = 2};
        harness_memory memory;
        rill_context *ctx = harness_begin(&memory);
        rill_workers *workers;
        rill_engine_setup setup;
        const rill_engine_setup *setups[] = {&setup, &setup};
        set_up(&setup, 2);
        setup.settings.max_nodes = 20;
        setup.scorers = scorers;
        setup.n_scorers = 1;
        setup.clock = tick;
        n_timed_out_runs.d = dice_seeded(harness_seed(1) + (uint64_t)i);
        n_timed_out_runs.n_read = 0;
        for (int j = 0; j < N_TEXTS; j++) n_found[j] = 0;
        assert_int_equal(rill_register_scorer(ctx, &again), RILL_OK);
        assert_int_equal(rill_workers_open(&workers, ctx, "toy", &open, &options), RILL_OK);
        assert_int_equal(rill_workers_begin(workers, setups), RILL_OK);
        assert_int_equal(rill_workers_run_requests(workers, read_with_deadlines, NULL, write_late, NULL), RILL_OK);
        rill_workers_close(workers);
        harness_end(ctx, &memory);
    }
    HARNESS_ASSERT_COVERED(n_timed_out_runs.n_saved > 20);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(endless_streams),          cmocka_unit_test(behind_a_full_buffer),
    cmocka_unit_test(cancelled_while_it_waits), cmocka_unit_test(nothing_is_taken_meanwhile),
    cmocka_unit_test(complete_results_survive),
};

HARNESS_MAIN(tests)
