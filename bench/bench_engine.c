/* bench_engine.c: the engine's own cost per row, with a domain that costs next to nothing.
 *
 * usage: bench_engine [--quick] [--rounds R]
 *
 * The domain looks its choices up in a table by a hash of the row's action and depth. It has no states and writes no
 * text, so a step's time without encode, step and score is the engine's. All items in flight are expanded; finished
 * ones, after 20 to 40 timesteps, are replaced at once. The number in flight is chosen for the given number of rows per
 * timestep. "path": the states of all ancestors are kept, as a KV cache needs them. Each figure is the least of R runs
 * (5): nanoseconds per row, by stage. One thread. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"
#include "rill/plugin.h"
#include "rill/rill.h"

enum { ACTIONS = 1000, PATTERNS = 4096, PATTERN_CHOICES = 100, MIN_TIMESTEPS = 20, TIMESTEPS_RANGE = 21 };

/* A search configuration. `rows`: about how many rows an item has in a timestep. */
typedef struct search {
    const char *name;
    int32_t k, max_candidates;
    rill_finish finish;
    const char *threshold;
    int path;
    double rows;
} search;

static const search searches[] = {
    {"fixed k=5", 5, 0, RILL_FINISH_IMMEDIATE, NULL, 1, 5},
    {"fixed k=10", 10, 0, RILL_FINISH_IMMEDIATE, NULL, 1, 10},
    {"fixed k=50", 50, 0, RILL_FINISH_IMMEDIATE, NULL, 1, 50},
    {"top k=10", 10, 0, RILL_FINISH_TOP, NULL, 0, 6.4},
    {"pruned k=10", 10, 3, RILL_FINISH_TOP, "2.5", 0, 5},
    {"pruned k=10 path", 10, 3, RILL_FINISH_TOP, "2.5", 1, 5},
};

/* The choices of a row: log-probabilities in descending order; the end action is rare and unlikely. */
typedef struct pattern {
    int32_t action[PATTERN_CHOICES];
    float score[PATTERN_CHOICES];
} pattern;

typedef struct table {
    rill_context *ctx;
    pattern *pattern; /* [PATTERNS] drawn at random */
} table;

static uint32_t next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static rill_status open_table(const rill_domain *domain, rill_context *ctx, const rill_open_options *options,
                              void **self, rill_domain_info *info)
{
    (void)domain;
    table *t = rill_calloc(ctx, 1, sizeof *t);
    if (t == NULL) return RILL_ERR_MEMORY;
    t->ctx = ctx;
    t->pattern = rill_calloc(ctx, PATTERNS, sizeof *t->pattern);
    if (t->pattern == NULL) return RILL_ERR_MEMORY;
    uint32_t state = 7;
    for (int32_t p = 0; p < PATTERNS; p++) {
        float score = 0;
        for (int32_t i = 0; i < PATTERN_CHOICES; i++) {
            t->pattern[p].action[i] = 1 + (int32_t)(next(&state) % (ACTIONS - 1));
            score -= 0.05F + (float)(next(&state) % 4096) / 2048;
            t->pattern[p].score[i] = score;
        }
        int32_t end = 1 + (int32_t)(next(&state) % 40);
        if (end < PATTERN_CHOICES) t->pattern[p].action[end] = 0;
    }
    *self = t;
    *info = (rill_domain_info){.actions = ACTIONS,
                               .has_end_action = 1, /* the end action is 0 */
                               .max_length = MIN_TIMESTEPS,
                               .state_need = options->arguments != NULL ? RILL_STATE_PATH : RILL_STATE_PARENT};
    return RILL_OK;
}

static void close_table(void *self)
{
    table *t = self;
    if (t == NULL) return;
    rill_free(t->ctx, t->pattern, PATTERNS * sizeof *t->pattern);
    rill_free(t->ctx, t, sizeof *t);
}

static rill_status reserve(void *self, int32_t nodes, int32_t slots)
{
    (void)self, (void)nodes, (void)slots;
    return RILL_OK;
}

static rill_status encode(void *self, int32_t m, rill_input *inputs)
{
    (void)self;
    for (int32_t i = 0; i < m; i++) {
        inputs[i].max_length = MIN_TIMESTEPS + (int32_t)((inputs[i].id * 2654435761u >> 7) % TIMESTEPS_RANGE);
        inputs[i].size = inputs[i].max_length;
    }
    return RILL_OK;
}

static rill_status step(void *self, const rill_rows *rows)
{
    (void)self, (void)rows;
    return RILL_OK;
}

static rill_status score(void *self, const rill_rows *rows, const rill_score_request *score_request,
                         rill_score_result *out)
{
    const table *t = self;
    const size_t n = (size_t)(score_request->max_choices < PATTERN_CHOICES ? score_request->max_choices
                                                                           : PATTERN_CHOICES);
    for (int32_t r = 0; r < rows->n; r++) {
        /* The hash depends on the path only, so that a schedule changes nothing. */
        uint32_t hash = (uint32_t)rows->action[r] * 2654435761u + (uint32_t)rows->depth[r] * 40503u;
        const pattern *p = &t->pattern[(hash >> 9) % PATTERNS];
        const int64_t base = (int64_t)r * out->stride;
        out->count[r] = (int32_t)n;
        memcpy(out->action + base, p->action, n * sizeof *p->action);
        memcpy(out->logp + base, p->score, n * sizeof *p->score);
    }
    return RILL_OK;
}

static rill_status finalize(void *self, const rill_hypothesis *hypothesis, rill_text *out)
{
    (void)self, (void)hypothesis;
    return rill_text_append(out, "", 0);
}

static const rill_domain domain = {
    .abi_version = RILL_ABI_VERSION,
    .struct_size = sizeof(rill_domain),
    .name = "table",
    .summary = "choices from a table",
    .open = open_table,
    .reserve = reserve,
    .encode = encode,
    .step = step,
    .score = score,
    .finalize = finalize,
    .close = close_table,
};

/* --- runs --------------------------------------------------------------------------------------------------------- */

typedef struct run {
    int64_t n_read, inputs;
} run;

static rill_status next_bench_input(void *user, int may_block, const char **text, size_t *length)
{
    run *r = user;
    (void)may_block;
    if (r->n_read++ == r->inputs) return RILL_END_OF_INPUT;
    *text = "x";
    *length = 1;
    return RILL_OK;
}

static rill_status ignore_result(void *user, const rill_result *result)
{
    (void)user, (void)result;
    return RILL_OK;
}

static rill_status decode(rill_context *ctx, rill_model *model, const search *way, int32_t items, int64_t inputs,
                          rill_stats *out)
{
    const rill_chain_entry threshold = {"absolute", way->threshold};
    rill_engine *engine;
    rill_engine_setup setup;
    rill_engine_setup_default(&setup);
    rill_settings *s = &setup.settings;
    snprintf(s->method, sizeof s->method, "stream-all");
    s->k = way->k;
    s->n = items;
    s->finish = way->finish;
    s->max_candidates = way->max_candidates;
    setup.heuristics = &threshold;
    setup.n_heuristics = way->threshold != NULL;
    rill_status status = rill_engine_create(&engine, ctx, model, &setup);
    if (status < 0) return status;
    run r = {.inputs = inputs};
    status = rill_run(engine, next_bench_input, &r, ignore_result, &r);
    *out = (rill_stats){.struct_size = sizeof *out};
    rill_engine_stats(engine, out);
    rill_engine_destroy(engine);
    return status;
}

static double engine_seconds(const rill_stats *s)
{
    return s->seconds.total - s->seconds.encode - s->seconds.step - s->seconds.score;
}

static void print_row(const search *way, int32_t rows, const rill_stats *s)
{
    const rill_seconds *t = &s->seconds;
    const double each = 1e9 / (double)s->expansions;
    printf("%-16s %6d %9.0f %6.1f %8.0f %8.0f %8.0f %8.0f %8.0f %8.0f\n", way->name, rows,
           (double)s->expansions / (double)s->timesteps, (double)s->candidates / (double)s->expansions,
           engine_seconds(s) * each, t->choose * each, t->select * each, (t->prune + t->scorers) * each,
           t->commit * each, t->finalize * each);
}

static int fail(rill_context *ctx)
{
    fprintf(stderr, "bench_engine: %s\n", ctx != NULL ? rill_error(ctx) : "no context");
    return 1;
}

static rill_status measure(rill_context *ctx, rill_model *model, const search *way, int32_t rows, int quick, int rounds)
{
    rill_stats best = {0}, s;
    const int32_t items = (int32_t)((double)rows / way->rows);
    const int64_t inputs = (quick ? 3 : 12) * (int64_t)items + (quick ? 50 : 500);
    for (int r = 0; r < rounds; r++) {
        rill_status status = decode(ctx, model, way, items, inputs, &s);
        if (status < 0) return status;
        if (r == 0 || engine_seconds(&s) < engine_seconds(&best)) best = s;
    }
    print_row(way, rows, &best);
    return RILL_OK;
}

int main(int argc, char **argv)
{
    static const int32_t sizes[] = {100, 1000, 4000};
    int rounds = 5, quick = 0;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--quick"))
            quick = 1;
        else if (!strcmp(argv[i], "--rounds") && i + 1 < argc)
            rounds = atoi(argv[++i]);
        else
            return fprintf(stderr, "usage: bench_engine [--quick] [--rounds R]\n"), 1;
    }
    rill_context *ctx;
    rill_model *model[2];
    if (rill_context_create(&ctx, NULL) < 0) return fail(NULL);
    if (rill_register_builtins(ctx) < 0 || rill_register_domain(ctx, &domain) < 0) return fail(ctx);
    for (int path = 0; path < 2; path++) {
        const rill_open_options options = {
            .struct_size = sizeof options, .threads = 1, .arguments = path ? "path" : NULL};
        if (rill_model_open(&model[path], ctx, "table", &options) < 0) return fail(ctx);
    }
    print_command("bench_engine", argc, argv);
    printf("%-16s %6s %9s %6s %8s %8s %8s %8s %8s %8s   ns per row\n", "beams", "rows", "exp/step", "child", "engine",
           "choose", "select", "prune", "commit", "finish");
    for (size_t i = 0; i < sizeof searches / sizeof *searches; i++)
        for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++)
            if (measure(ctx, model[searches[i].path], &searches[i], sizes[j], quick, rounds) < 0) return fail(ctx);
    for (int path = 0; path < 2; path++) rill_model_close(model[path]);
    rill_context_destroy(ctx);
    return 0;
}
