/* Checks that no schedule changes a result. Decodes a file under every method over a grid of batches, budgets, refills, threads,
 * flushes and orders, and compares all n-best lists, scores included, with those of one input at a time: byte by byte,
 * scores as the hexadecimal form of their doubles, so that rounding hides no difference.
 *
 * Two families are compared within themselves: the pruned methods with var-batch, fixed-stream with fixed --finish top.
 *
 * usage: identical [--quick] [--tokenized] [--lines N] [--weights f32|bf16|int8] [--absolute D] DOMAIN MODEL FILE
 *   --quick      a part of the grid, on the first 60 lines
 *   --lines      the first N lines only
 *   --absolute   threshold of the pruned methods (10)
 * Exit code 0: all the same; 1: a difference, or a run that failed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"
#include "rill/plugin.h"
#include "rill/rill.h"

enum { QUICK_LINES = 60 };

static const int32_t batches[] = {1, 3, 10, 64}, quick_batches[] = {1, 10};
static const int32_t budgets[] = {10, 37, 100, 0}, quick_budgets[] = {37, 0};
static const double refills[] = {1.0 / 12, 1.0 / 6, 1.0 / 2}, quick_refills[] = {1.0 / 6};
static const char *const sorts[] = {"none", "longest-first"};
static const int32_t flushes[] = {0, 7};

typedef struct method {
    const char *name;
    int streaming; /* whether refill and flush apply */
    int pruned;
} method;

static const method methods[] = {{"var-batch", 0, 1},   {"var-stream", 1, 1}, {"var-stream-fifo", 1, 1},
                                 {"top-up", 1, 1},      {"stream-all", 1, 1}, {"fixed", 0, 0},
                                 {"fixed-stream", 1, 0}};

typedef struct point {
    const method *method;
    int32_t n, budget, threads, flush;
    double refill;
    const char *sort;
} point;

typedef struct lines {
    char *data;
    char **line;
    size_t count;
} lines;

/* One run: the reader's position and the written output. */
typedef struct run {
    const lines *in;
    size_t next;
    rill_text out;
    rill_stats stats;
} run;

static int read_lines(const char *path, size_t max_lines, lines *out)
{
    FILE *f = fopen(path, "rb");
    if (!f) return -1;
    size_t length = 0, capacity = 1 << 16, got;
    out->data = malloc(capacity + 1);
    while (out->data && (got = fread(out->data + length, 1, capacity - length, f)) > 0) {
        length += got;
        if (length == capacity) {
            char *more = realloc(out->data, (capacity *= 2) + 1);
            if (!more) free(out->data);
            out->data = more;
        }
    }
    fclose(f);
    if (!out->data) return -1;
    out->data[length] = '\n'; /* a last line without a newline counts too */
    size_t total = 0;
    for (size_t i = 0; i < length; i++) total += out->data[i] == '\n' || i + 1 == length;
    out->line = malloc((total + 1) * sizeof *out->line);
    if (!out->line) return -1;
    char *pos = out->data;
    for (out->count = 0; out->count < total && out->count < max_lines; out->count++) {
        char *end = strchr(pos, '\n');
        *end = 0;
        out->line[out->count] = pos;
        pos = end + 1;
    }
    return 0;
}

static rill_status read_next_line(void *user, int may_block, const char **text, size_t *length)
{
    run *r = user;
    (void)may_block;
    if (r->next == r->in->count) return RILL_END_OF_INPUT;
    *text = r->in->line[r->next++];
    *length = strlen(*text);
    return RILL_OK;
}

static rill_status append_result(void *user, const rill_result *result)
{
    run *r = user;
    rill_status s = rill_text_printf(&r->out, "%lld %d %s\n", (long long)result->id, result->status, result->message);
    for (int32_t i = 0; s == RILL_OK && i < result->n_outputs; i++) {
        const rill_output *o = rill_result_output(result, i);
        s = rill_text_printf(&r->out, "%lld ||| %s ||| %a %a %a %d %d", (long long)result->id, o->text, o->path_score,
                             o->score, o->logp, o->length, (int)o->finish_reason);
        for (int32_t a = 0; s == RILL_OK && a < o->n_ids; a++)
            s = rill_text_printf(&r->out, " %d:%a", o->ids[a], (double)o->id_logps[a]);
        if (s == RILL_OK) s = rill_text_append(&r->out, "\n", 1);
    }
    return s;
}

/* The command line's options. */
typedef struct identical_options {
    int quick, tokenized;
    size_t lines;
    const char *weights, *absolute;
} identical_options;

static rill_status decode(rill_context *ctx, rill_model *model, const identical_options *c, const point *p, run *r)
{
    const rill_chain_entry chain[] = {{"absolute", c->absolute}};
    rill_engine_setup setup;
    rill_engine_setup_default(&setup);
    rill_settings *s = &setup.settings;
    snprintf(s->method, sizeof s->method, "%s", p->method->name);
    s->k = 10;
    s->n = p->n;
    s->n_best = 10;
    s->budget = p->budget;
    if (p->method->pruned) {
        s->max_candidates = 3;
        setup.heuristics = chain;
        setup.n_heuristics = 1;
    } else {
        s->finish = RILL_FINISH_TOP;
    }
    if (p->method->streaming) {
        s->refill = p->refill;
        s->flush_every = p->flush;
    }
    rill_engine *engine = NULL;
    rill_status status = rill_settings_set(ctx, s, "sort", p->sort);
    if (status == RILL_OK) status = rill_engine_create(&engine, ctx, model, &setup);
    if (status == RILL_OK) status = rill_run(engine, read_next_line, r, append_result, r);
    if (status == RILL_OK) {
        r->stats.struct_size = sizeof r->stats;
        rill_engine_stats(engine, &r->stats);
    }
    rill_engine_destroy(engine);
    return status;
}

static void print_point(const point *p)
{
    printf("%s n=%d budget=%d refill=%.4f threads=%d flush=%d sort=%s", p->method->name, p->n, p->budget, p->refill,
           p->threads, p->flush, p->sort);
}

/* The data of all runs, and their totals. */
typedef struct grid {
    const identical_options *choices;
    rill_context *ctx;
    rill_model *model[3]; /* [threads - 1] */
    const lines *in;
    /* [pruned]: the results that runs are compared with */
    run reference[2];
    int64_t runs, differences, min_timesteps[2], max_timesteps[2]; /* [pruned]: timesteps */
} grid;

static int try_point(grid *g, const point *p)
{
    run r = {.in = g->in, .out = {.ctx = g->ctx}};
    const run *expected = &g->reference[p->method->pruned];
    g->runs++;
    rill_status status = decode(g->ctx, g->model[p->threads], g->choices, p, &r);
    int same = 0;
    if (status < 0) {
        print_point(p);
        printf(": %s\n", rill_error(g->ctx));
    } else {
        same = r.out.length == expected->out.length && !memcmp(r.out.data, expected->out.data, r.out.length);
        if (!same) {
            size_t pos = 0;
            while (pos < r.out.length && pos < expected->out.length && r.out.data[pos] == expected->out.data[pos])
                pos++;
            print_point(p);
            printf(": differs from byte %zu on\n", pos);
        }
        int64_t *min = &g->min_timesteps[p->method->pruned], *max = &g->max_timesteps[p->method->pruned];
        if (!*min || r.stats.timesteps < *min) *min = r.stats.timesteps;
        if (r.stats.timesteps > *max) *max = r.stats.timesteps;
    }
    g->differences += !same;
    rill_text_clear(&r.out);
    return same;
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Run every point of the grid that makes sense for `m`: a batch that is never refilled has no refill and no flush. */
static void try_method(grid *g, const method *m, int quick)
{
    const int32_t *n = quick ? quick_batches : batches, *budget = quick ? quick_budgets : budgets;
    const double *refill = quick ? quick_refills : refills;
    size_t ns = quick ? COUNT(quick_batches) : COUNT(batches), bs = quick ? COUNT(quick_budgets) : COUNT(budgets);
    size_t es = !m->streaming ? 1 : quick ? COUNT(quick_refills) : COUNT(refills);
    size_t fs = m->streaming ? COUNT(flushes) : 1;
    int64_t runs = g->runs, differences = g->differences;
    double start = now();
    for (size_t i = 0; i < ns * bs * es * fs * COUNT(sorts) * 2; i++) {
        size_t rest = i;
        point p = {.method = m};
        p.threads = 1 + (int32_t)(rest % 2), rest /= 2;
        p.sort = sorts[rest % COUNT(sorts)], rest /= COUNT(sorts);
        p.flush = m->streaming ? flushes[rest % fs] : 0, rest /= fs;
        p.refill = m->streaming ? refill[rest % es] : 0, rest /= es;
        p.budget = budget[rest % bs], rest /= bs;
        p.n = n[rest];
        try_point(g, &p);
    }
    printf("  %-16s %5lld runs  %3lld differ  %7.1f s\n", m->name, (long long)(g->runs - runs),
           (long long)(g->differences - differences), now() - start);
    fflush(stdout);
}

static int fail(const grid *g, const char *what)
{
    fprintf(stderr, "identical: %s: %s\n", what, g->ctx ? rill_error(g->ctx) : "no context");
    return 1;
}

static int compare(grid *g, const char *domain, const char *path)
{
    if (rill_register_builtins(g->ctx) < 0) return fail(g, "built-ins");
    for (int threads = 1; threads <= 2; threads++) {
        const rill_pair weights = {"weights", g->choices->weights};
        rill_open_options o = {.struct_size = sizeof o,
                               .path = path,
                               .threads = threads,
                               .tokenized = g->choices->tokenized,
                               .values = &weights,
                               .n_values = weights.value != NULL};
        if (rill_model_open(&g->model[threads], g->ctx, domain, &o) < 0) return fail(g, path);
    }
    for (int pruned = 0; pruned < 2; pruned++) {
        point alone = {.method = pruned ? &methods[0] : &methods[5], .n = 1, .threads = 1, .sort = "none"};
        g->reference[pruned] = (run){.in = g->in, .out = {.ctx = g->ctx}};
        if (decode(g->ctx, g->model[1], g->choices, &alone, &g->reference[pruned]) < 0) return fail(g, "one at a time");
    }
    printf("%s: %zu inputs; n-best lists of %zu bytes pruned, %zu fixed\n", path, g->in->count,
           g->reference[1].out.length, g->reference[0].out.length);
    for (size_t i = 0; i < COUNT(methods); i++) try_method(g, &methods[i], g->choices->quick);
    printf("%s: %lld runs, %lld differ; timesteps %lld to %lld pruned, %lld to %lld fixed\n", path, (long long)g->runs,
           (long long)g->differences, (long long)g->min_timesteps[1], (long long)g->max_timesteps[1],
           (long long)g->min_timesteps[0], (long long)g->max_timesteps[0]);
    return g->differences != 0;
}

/* Parse the options up to the first other argument; return its index. */
static int read_options(identical_options *c, int argc, char **argv)
{
    int arg_index = 1;
    for (; arg_index < argc && !strncmp(argv[arg_index], "--", 2); arg_index++) {
        const char *value = arg_index + 1 < argc ? argv[arg_index + 1] : "";
        if (!strcmp(argv[arg_index], "--quick"))
            c->quick = 1;
        else if (!strcmp(argv[arg_index], "--tokenized"))
            c->tokenized = 1;
        else if (!strcmp(argv[arg_index], "--lines"))
            c->lines = (size_t)strtoul(value, NULL, 10), arg_index++;
        else if (!strcmp(argv[arg_index], "--weights"))
            c->weights = value, arg_index++;
        else if (!strcmp(argv[arg_index], "--absolute"))
            c->absolute = value, arg_index++;
        else
            break;
    }
    return arg_index;
}

int main(int argc, char **argv)
{
    identical_options c = {.lines = SIZE_MAX, .absolute = "10"};
    int arg_index = read_options(&c, argc, argv);
    if (argc - arg_index != 3) {
        fprintf(stderr,
                "usage: identical [--quick] [--tokenized] [--lines N] [--weights f32|bf16|int8] [--absolute D] DOMAIN "
                "MODEL FILE\n");
        return 1;
    }
    if (c.quick && c.lines > QUICK_LINES) c.lines = QUICK_LINES;
    lines in = {0};
    grid g = {.choices = &c, .in = &in};
    int code = 1;
    if (read_lines(argv[arg_index + 2], c.lines, &in) < 0)
        fprintf(stderr, "identical: %s: cannot be read\n", argv[arg_index + 2]);
    else if (rill_context_create(&g.ctx, NULL) < 0)
        fail(&g, "context");
    else
        code = compare(&g, argv[arg_index], argv[arg_index + 1]);
    for (int i = 0; i < 2; i++)
        if (g.reference[i].out.ctx) rill_text_clear(&g.reference[i].out);
    for (int i = 1; i < 3; i++) rill_model_close(g.model[i]);
    rill_context_destroy(g.ctx);
    free(in.line);
    free(in.data);
    return code;
}
