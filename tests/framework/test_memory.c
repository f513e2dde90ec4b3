/* Memory: each allocation of a whole run fails in turn, once and from then on; nothing leaks, and sizes passed to free
 * are right. A stream of a million inputs needs as much memory as a short one. */
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "support/harness.h"
#include "support/problem.h"
#include "support/resident.h"

/* A request with all members set, to values equal to the engine's own settings. */
static rill_status submit_request(void *user, rill_engine *engine, const problem *p, int32_t i)
{
    const char *heuristics[NAIVE_MAX_CHAIN], *scorers[NAIVE_MAX_CHAIN];
    char padded[NAIVE_MAX_CHAIN][200];
    for (int32_t j = 0; j < p->n_scorers; j++) scorers[j] = p->scorer[j].arguments;
    for (int32_t j = 0; j < p->n_heuristics; j++) { /* another instance of the same heuristic */
        int number = strcmp(p->heuristic[j].name, "test-random") != 0;
        snprintf(padded[j], sizeof padded[j], "%s%s", number && i % 2 ? "0" : "", p->heuristic[j].arguments);
        heuristics[j] = padded[j];
    }
    rill_request r = {.struct_size = sizeof r,
                      .text = p->input[i],
                      .length = strlen(p->input[i]),
                      .user = user,
                      .settings = &p->settings,
                      .heuristics = heuristics,
                      .scorers = scorers,
                      .timeout = 1e9};
    return rill_engine_submit_request(engine, &r, NULL);
}

/* Make a problem that allocates everywhere: chains, two phases, invalid inputs, ordered output, several sort
 * windows. */
static void full_problem(problem *p, schedule *s, int variant)
{
    dice d = dice_seeded(900 + (uint64_t)variant);
    char message[200];
    problem_draw(p, PROBLEM_PRUNED, &d);
    snprintf(p->arguments, sizeof p->arguments, "seed=%d actions=5 depth=4 phases=%d state=%s", variant,
             1 + variant % 2, variant % 3 ? "path" : "parent");
    assert_int_equal(toy_model_parse(&p->model, p->arguments, message, sizeof message), RILL_OK);
    for (p->n_inputs = 0; p->n_inputs < 7; p->n_inputs++)
        snprintf(p->input[p->n_inputs], sizeof p->input[0], "%s %d", p->n_inputs == 3 ? "!bad" : "in",
                 (int)p->n_inputs);
    strcpy(p->input[4], " ");
    p->settings.max_length = p->settings.min_length = 0;
    p->naive.min_length = 0;
    for (int32_t i = 0; i < p->n_scorers; i++) p->random_scorer[i].actions = 5;
    if (variant >= 3) problem_draw_constraints(p, &d);
    p->naive.max_candidates_phases = 0;
    static const hooks requests = {.submit = submit_request};
    *s = (schedule){.hooks = variant % 2 == 0 ? &requests : NULL,
                    .method = variant % 2 ? "top-up" : "var-stream",
                    .n = 2,
                    .refill = -1,
                    .sort = RILL_SORT_LENGTH,
                    .sort_window = 3,
                    .check = variant % 3 == 1,
                    .by_run = variant % 2,
                    .budget = variant % 4 == 2 ? 7 : 0,
                    .max_items = 2};
    problem_solve(p);
}

static void expect_clean_memory(const harness_memory *m, const engine_record *r, int variant, int64_t n)
{
    if (m->blocks != 0 || m->bytes != 0)
        fail_msg("variant %d, request %lld: %lld blocks of %zu bytes are lost after %s", variant, (long long)n,
                 (long long)m->blocks, m->bytes, r->message);
    if (m->wrong_sizes != 0) fail_msg("variant %d, request %lld: wrong sizes are given back", variant, (long long)n);
    if (r->toy.violations != 0) fail_msg("variant %d, request %lld: %s", variant, (long long)n, r->toy.first_violation);
    if (r->toy.opened != r->toy.closed) fail_msg("variant %d, request %lld: a model stays open", variant, (long long)n);
}

static void fail_each(int persistent)
{
    int64_t total = 0;
    for (int variant = 0; variant < 8; variant++) {
        problem p;
        schedule s;
        full_problem(&p, &s, variant);
        int done = 0;
        for (int64_t n = 1; !done; n++) {
            harness_memory m = {.failing_request = n, .persistent = persistent};
            rill_context_options options = harness_memory_options(&m);
            engine_record r;
            char message[500];
            engine_run(&p, &s, &options, &r);
            expect_clean_memory(&m, &r, variant, n);
            done = m.refused == 0;
            /* Whichever allocation failed, the results that are no errors must be right. */
            if (r.status == RILL_OK && problem_compare(&p, &s, &r, message, sizeof message))
                fail_msg("variant %d, request %lld: %s", variant, (long long)n, message);
            if (done)
                assert_int_equal(r.status, RILL_OK);
            else if (persistent || r.status != RILL_OK)
                assert_int_equal(r.status, RILL_ERR_MEMORY);
            if (r.status < 0 && r.message[0] == '\0' && n > 1 && strcmp(rill_status_name(r.status), "") == 0)
                fail_msg("variant %d, request %lld: no sentence", variant, (long long)n);
            engine_record_clear(&r);
            total++;
        }
        problem_clear(&p);
    }
    assert_true(total > 200);
    print_message("%lld decodes with a failed allocation\n", (long long)total);
}

static void each_allocation_fails_once(void **state)
{
    (void)state;
    fail_each(0);
}

static void each_allocation_fails_for_ever(void **state)
{
    (void)state;
    fail_each(1);
}

static void worker_contexts_without_memory(void **state)
{
    (void)state;
    for (int64_t n = 1, refused = 1; refused > 0; n++) {
        harness_memory memory;
        rill_context *ctx = harness_begin(&memory), *worker = ctx;
        memory.failing_request = memory.requests + n;
        const rill_status status = rill_context_create_worker(&worker, ctx, NULL);
        refused = memory.refused;
        assert_int_equal(status, refused ? RILL_ERR_MEMORY : RILL_OK);
        assert_true((worker == NULL) == (refused > 0));
        assert_true(n < 20 && (refused || n > 1));
        rill_context_destroy(worker);
        harness_end(ctx, &memory);
    }
}

/* --- pages ---------------------------------------------------------------------------------------------------------- */

/* Blocks slightly larger than a power of two, such as packed weights, do not waste most of a huge page. */
static void blocks_use_little_more(void **state)
{
    (void)state;
    enum { COUNT = 16 };
    char word[64] = "";
    FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
    if (file != NULL && fgets(word, sizeof word, file) == NULL) word[0] = '\0';
    if (file != NULL) fclose(file);
    if (strstr(word, "[always]") != NULL) skip(); /* with huge pages "always", the system uses them for every block */
#if defined(M_PERTURB)
    mallopt(M_PERTURB, 0); /* filling freed memory would touch more pages than requested */
#endif
    const size_t size[] = {(1 << 20) + 64, (2 << 20) + 64, (4 << 20) + 64};
    rill_context *ctx;
    void *block[3 * COUNT];
    double held = 0;
    assert_int_equal(rill_context_create(&ctx, NULL), RILL_OK);
    const double used_before = resident();
    for (size_t i = 0; i < 3 * COUNT; i++) {
        block[i] = rill_alloc(ctx, size[i % 3]);
        assert_non_null(block[i]);
        memset(block[i], 1, size[i % 3]);
        held += (double)size[i % 3] / 1e6;
    }
    const double after = resident();
    for (size_t i = 0; i < 3 * COUNT; i++) rill_free(ctx, block[i], size[i % 3]);
    rill_context_destroy(ctx);
    if (used_before >= 0 && after - used_before > 1.3 * held) fail_msg("%.1f MB for %.1f", after - used_before, held);
}

/* Freed large blocks return to the system, even beside a live one; growing a block keeps its contents. */
static void large_blocks_are_returned(void **state)
{
    (void)state;
    enum { COUNT = 8 };
    static const size_t sizes[] = {1000, 600000, (1 << 20) - 1, 1 << 20, (3 << 20) + 5, 17 << 20};
    const size_t size = 9 << 20;
    rill_context *ctx;
    void *block[COUNT];
    assert_int_equal(rill_context_create(&ctx, NULL), RILL_OK);
    void *text = NULL;
    size_t has = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_int_equal(rill_grow(ctx, &text, &has, sizes[i], 1, "a text"), RILL_OK);
        assert_int_equal((uintptr_t)text % 64, 0);
        if (i == 0) memset(text, 'x', sizes[0]);
        for (size_t c = 0; c + 1 < sizes[0]; c++) assert_int_equal(((char *)text)[c], 'x');
        ((char *)text)[has - 1] = 'y';
    }
    rill_free(ctx, text, has);
    const double used_before = resident();
    for (int turn = 0; turn < 3; turn++) {
        for (size_t i = 0; i < COUNT; i++) block[i] = memset(rill_alloc(ctx, size), 1, size);
        for (size_t i = 0; i + 1 < COUNT; i++) rill_free(ctx, block[i], size);
        const double kept = resident() - used_before;
        rill_free(ctx, block[COUNT - 1], size);
/* under these sanitizers all blocks come from the C library's allocator */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        if (used_before >= 0 && kept > 20) fail_msg("%.1f MB stay of one block of 9", kept);
#else
        (void)kept;
#endif
    }
    rill_context_destroy(ctx);
}

/* Adjacent blocks that grow in turn keep their contents, and no more memory is touched than is written. */
static void growing_blocks_touch_little(void **state)
{
    (void)state;
    enum { COUNT = 3, TURNS = 5, STRIDE = 70001 };
    rill_context *ctx;
    unsigned char *block[COUNT] = {0}, *idle = NULL;
    size_t size[COUNT] = {0}, idle_size = 0;
    assert_int_equal(rill_context_create(&ctx, NULL), RILL_OK);
    for (size_t turn = 1; turn <= TURNS; turn++) {
        for (size_t i = 0; i < COUNT; i++) {
            const size_t had = size[i];
            assert_int_equal(rill_grow(ctx, (void **)&block[i], &size[i], (turn << 20) * (i + 1) + i, 1, "b"), RILL_OK);
            assert_int_equal((uintptr_t)block[i] % 64, 0);
            for (size_t c = 0; c < size[i]; c += STRIDE) {
                if (c < had) assert_int_equal(block[i][c], (unsigned char)(c / STRIDE + i));
                block[i][c] = (unsigned char)(c / STRIDE + i);
            }
        }
    }
    const double used_before = resident();
    for (size_t wanted = 4 << 20; wanted <= 128 << 20; wanted *= 2) {
        assert_int_equal(rill_grow(ctx, (void **)&idle, &idle_size, wanted, 1, "idle"), RILL_OK);
        idle[wanted / 2] = 1;
    }
    const double touched = resident() - used_before;
    rill_free(ctx, idle, idle_size);
    for (size_t i = 0; i < COUNT; i++) rill_free(ctx, block[i], size[i]);
    rill_context_destroy(ctx);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && defined(__linux__)
    if (used_before >= 0 && touched > 30) fail_msg("%.1f MB are touched of a block that is hardly written", touched);
#else
    (void)touched;
#endif
}

/* --- a million inputs ----------------------------------------------------------------------------------------------- */

typedef struct stream {
    int64_t inputs, n_read, n_written, wrong;
    char text[32];
} stream;

static rill_status read_input(void *user, int may_block, const char **text, size_t *length)
{
    stream *s = user;
    (void)may_block;
    if (s->n_read == s->inputs) return RILL_END_OF_INPUT;
    *length = (size_t)snprintf(s->text, sizeof s->text, "%s%lld", s->n_read % 1000 == 7 ? "!bad " : "",
                               (long long)(s->n_read % 5003));
    *text = s->text;
    s->n_read++;
    return RILL_OK;
}

static rill_status write_result(void *user, const rill_result *result)
{
    stream *s = user;
    s->wrong += result->id != s->n_written; /* results must come in input order */
    s->wrong += (result->status == RILL_ERR_INPUT) != (s->n_written % 1000 == 7);
    s->wrong += result->status == RILL_OK && result->n_outputs != 1;
    s->n_written++;
    return RILL_OK;
}

/* Decode `inputs` inputs; returns the peak memory of the context. */
static size_t peak_memory(int64_t inputs, const char *method, const char *scheduler, int overdue_first,
                          rill_stats *stats)
{
    rill_context *ctx = harness_context(NULL);
    rill_model *model;
    rill_engine *engine;
    rill_engine_setup setup;
    rill_open_options options = {.struct_size = sizeof options,
                                 .threads = 1,
                                 .arguments = "trivial=1 actions=2 depth=2 ending=60 ties=2 select=rill"};
    assert_int_equal(rill_model_open(&model, ctx, "toy", &options), RILL_OK);
    rill_engine_setup_default(&setup);
    snprintf(setup.settings.method, sizeof setup.settings.method, "%s", method);
    setup.settings.k = 1;
    setup.settings.n = 100;
    setup.overdue_first = overdue_first;
    rill_chain_entry entry = {scheduler, ""};
    if (scheduler != NULL) setup.scheduler = &entry;
    assert_int_equal(rill_engine_create(&engine, ctx, model, &setup), RILL_OK);
    stream s = {.inputs = inputs};
    assert_int_equal(rill_run(engine, read_input, &s, write_result, &s), RILL_OK);
    assert_int_equal(s.n_written, inputs);
    assert_int_equal(s.wrong, 0);
    stats->struct_size = sizeof *stats;
    rill_engine_stats(engine, stats);
    size_t peak = rill_memory_peak(ctx);
    rill_engine_destroy(engine);
    rill_model_close(model);
    rill_context_destroy(ctx);
    return peak;
}

static void constant_memory_for_a_million_inputs(void **state)
{
    (void)state;
    rill_stats small, large;
    int64_t many = harness_iterations(1000000);
    size_t few = peak_memory(10000, "var-stream", NULL, 0, &small),
           million = peak_memory(many, "var-stream", NULL, 0, &large);
    print_message("peak %zu bytes for 10,000 inputs, %zu for %lld\n", few, million, (long long)many);
    assert_int_equal(large.inputs, many);
    if (many > 10000) assert_true(million <= few + few / 50);
    assert_true(large.waiting_peak <= 2 * small.waiting_peak + 100);
}

static void methods_hold_constant_memory(void **state)
{
    (void)state;
    static const char *const methods[] = {"var-batch", "var-stream-fifo", "top-up", "stream-all"};
    rill_stats stats;
    for (size_t i = 0; i < 4; i++) {
        size_t few = peak_memory(20000, methods[i], NULL, 0, &stats),
               many = peak_memory(100000, methods[i], NULL, 0, &stats);
        if (many > few + few / 50) fail_msg("%s: %zu bytes become %zu", methods[i], few, many);
    }
}

/* A scheduler that expands the newest item only. The first input's result holds all later results back. Its item is
 * expanded when it is overdue; without that rule, no more inputs are admitted once the reorder buffer is full. Memory
 * does not grow with the stream. */
static void starving_schedulers_hold_constant_memory(void **state)
{
    (void)state;
    rill_stats stats;
    for (int overdue_first = 0; overdue_first < 2; overdue_first++) {
        size_t few = peak_memory(20000, "var-stream", "test-newest", overdue_first, &stats);
        int64_t waiting = stats.waiting_peak;
        size_t many = peak_memory(100000, "var-stream", "test-newest", overdue_first, &stats);
        print_message("overdue_first=%d: %zu bytes, %lld results held back\n", overdue_first, few, (long long)waiting);
        if (many > few + few / 50)
            fail_msg("%zu bytes (%lld results held back) become %zu (%lld)", few, (long long)waiting, many,
                     (long long)stats.waiting_peak);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_allocation_fails_once),
    cmocka_unit_test(each_allocation_fails_for_ever),
    cmocka_unit_test(worker_contexts_without_memory),
    cmocka_unit_test(blocks_use_little_more),
    cmocka_unit_test(growing_blocks_touch_little),
    cmocka_unit_test(large_blocks_are_returned),
    cmocka_unit_test(constant_memory_for_a_million_inputs),
    cmocka_unit_test(methods_hold_constant_memory),
    cmocka_unit_test(starving_schedulers_hold_constant_memory),
};

HARNESS_MAIN(tests)
