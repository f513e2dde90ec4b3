/* The scorer `lmbr`: n-gram posteriors in the beam (Iglesias et al. 2018, "Accelerating NMT Batched Beam Decoding with LMBR Posteriors for
 * Deployment").
 *
 * An action gains theta_m P for each n-gram of length m, 1 to 4, that it completes (P: posterior, rill/evidence.h), and theta_0 in any
 * case. The paper multiplies log-probabilities by lambda; here the thetas are divided by lambda, which gives the same order of outputs.
 *
 * With self=N an input is decoded twice: the best N outputs of the first search are the evidence of the second. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "internal.h"
#include "ngrams.h"

/* The evidence of an input in flight. */
typedef struct input_evidence {
    int64_t id; /* id of the input */
    rill_ngrams *ngrams;
} input_evidence;

typedef struct lmbr {
    rill_context *ctx;
    rill_evidence *file;     /* evidence file; NULL: evidence comes from the search's own outputs */
    int32_t max_outputs;     /* self=N: number of outputs used as evidence */
    double scale;            /* self=N: factor of the outputs' scores (rill_ngrams_finish()) */
    rill_evidence_kind kind; /* kind of evidence that fits the model; valid if has_kind */
    int has_kind;
    double theta[1 + RILL_NGRAM_MAX]; /* theta_0 to theta_4, divided by lambda */
    input_evidence *input;            /* [n] evidence of the inputs in flight, ascending by id */
    size_t n, capacity;
} lmbr;

/* --- evidence of inputs ----------------------------------------------------------------------------------------------- */

static int compare_ids(const void *left, const void *right)
{
    const input_evidence *a = left, *b = right;
    return (a->id > b->id) - (a->id < b->id);
}

/* Returns the evidence of the input with this id, or NULL. */
static input_evidence *find_evidence(const lmbr *l, int64_t id)
{
    return l->n > 0 ? bsearch(&(input_evidence){.id = id}, l->input, l->n, sizeof *l->input, compare_ids) : NULL;
}

static rill_status add_evidence(lmbr *l, int64_t id, const rill_evidence_kind *kind, rill_ngrams **out)
{
    RILL__TRY(RILL__GROW(l->ctx, l->input, l->capacity, l->n + 1, "evidence"));
    RILL__TRY(rill_ngrams_create(out, l->ctx, kind));
    size_t place = l->n++;
    for (; place > 0 && l->input[place - 1].id > id; place--) l->input[place] = l->input[place - 1];
    l->input[place] = (input_evidence){id, *out};
    return RILL_OK;
}

static void done(void *self, int64_t item_id)
{
    lmbr *l = self;
    input_evidence *own = find_evidence(l, item_id);
    if (own == NULL) return;
    rill_ngrams_free(own->ngrams);
    memmove(own, own + 1, (size_t)(l->input + --l->n - own) * sizeof *own);
}

static rill_status begin(void *self, int64_t item_id)
{
    lmbr *l = self;
    rill_ngrams *ngrams;
    if (l->file == NULL) return RILL_OK;
    RILL__TRY(add_evidence(l, item_id, rill_evidence_kind_in_file(l->file), &ngrams));
    const rill_status status = rill_evidence_get(l->file, item_id, ngrams);
    if (status < 0) done(l, item_id);
    return status;
}

/* Set l->kind to the kind of evidence that fits the model, at the scorer's first call: an instance serves one model. */
static rill_status set_kind(lmbr *l, const rill_model *model)
{
    if (l->has_kind) return RILL_OK;
    l->kind.struct_size = sizeof l->kind;
    RILL__TRY(rill_evidence_kind_for_model(&l->kind, l->ctx, model));
    if (l->file != NULL) RILL__TRY(rill_evidence_fits(l->file, &l->kind));
    l->has_kind = 1;
    return RILL_OK;
}

static rill_status found(void *self, const rill_found *outputs)
{
    lmbr *l = self;
    rill_ngrams *ngrams;
    if (l->file != NULL || find_evidence(l, outputs->item_id) != NULL) return RILL_OK;
    RILL__TRY(set_kind(l, outputs->model));
    RILL__TRY(add_evidence(l, outputs->item_id, &l->kind, &ngrams));
    for (int32_t i = 0; i < outputs->n && i < l->max_outputs; i++) {
        const rill_found_output *o = rill_found_output_at(outputs, i);
        RILL__TRY(rill_ngrams_entry(ngrams, o->ids, o->n_ids, o->score));
    }
    RILL__TRY(rill_ngrams_finish(ngrams, l->scale));
    return RILL_AGAIN;
}

/* --- arguments of the scorer ------------------------------------------------------------------------------------------ */

/* Parsed arguments. T, p and r determine the thetas, unless the argument `theta` sets them. */
typedef struct parameters {
    double lambda, T, p, r, scale, self;
    int has_shape, has_thetas; /* has_shape: 1 if T, p or r is among the arguments; has_thetas: 1 if the thetas are */
} parameters;

static rill_status fail_arguments(rill_context *ctx, const char *text, size_t length)
{
    return rill_fail(
        ctx, RILL_ERR_OPTION,
        "lmbr: found \"%.*s\", expected FILE or self=N, followed by lambda, T, p, r, theta=A/B/C/D/E and, with "
        "self, scale, as in lmbr:FILE,lambda=0.5,T=10,p=0.8,r=0.7",
        (int)length, text);
}

static int read_number(const char *text, const char *end, double *out)
{
    char *stop;
    *out = rill_read_number(text, &stop);
    return stop > text && stop == end && isfinite(*out);
}

static int read_thetas(lmbr *l, const char *text, const char *end)
{
    for (int m = 0; m <= RILL_NGRAM_MAX; m++) {
        const char *slash = memchr(text, '/', (size_t)(end - text));
        const char *stop = m < RILL_NGRAM_MAX ? slash : end;
        if (stop == NULL || !read_number(text, stop, &l->theta[m])) return 0;
        text = stop + (m < RILL_NGRAM_MAX);
    }
    return 1;
}

/* Parse NAME=VALUE from `text` to `end`; 0: not a known parameter. */
static int read_parameter(lmbr *l, parameters *parsed, const char *text, const char *end)
{
    const struct {
        const char *name;
        double *value;
        int shapes;
    } names[] = {{"lambda=", &parsed->lambda, 0}, {"T=", &parsed->T, 1},         {"p=", &parsed->p, 1},
                 {"r=", &parsed->r, 1},           {"scale=", &parsed->scale, 0}, {"self=", &parsed->self, 0}};
    static const char theta[] = "theta=";
    if (strncmp(text, theta, sizeof theta - 1) == 0) {
        parsed->has_thetas = 1;
        return read_thetas(l, text + sizeof theta - 1, end);
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const size_t n = strlen(names[i].name);
        if (strncmp(text, names[i].name, n) != 0) continue;
        parsed->has_shape |= names[i].shapes;
        return read_number(text + n, end, names[i].value) && *names[i].value > 0;
    }
    return 0;
}

/* Compute the thetas by the paper's formulas, divided by lambda. */
static rill_status set_thetas(lmbr *l, const parameters *parsed)
{
    if (parsed->has_thetas && parsed->has_shape)
        return rill_fail(l->ctx, RILL_ERR_OPTION,
                         "lmbr: theta cannot be combined with T, p and r, from which it is computed otherwise");
    if (!parsed->has_thetas) {
        l->theta[0] = -1 / parsed->T;
        for (int m = 1; m <= RILL_NGRAM_MAX; m++) l->theta[m] = 1 / (4 * parsed->T * parsed->p * pow(parsed->r, m - 1));
    }
    for (int m = 0; m <= RILL_NGRAM_MAX; m++) {
        l->theta[m] /= parsed->lambda;
        if (!(fabs(l->theta[m]) <= 1e6))
            return rill_fail(l->ctx, RILL_ERR_OPTION,
                             "lmbr: theta of order %d, divided by lambda, is %g; the maximum is 1e6", m, l->theta[m]);
    }
    return RILL_OK;
}

static rill_status open_file(lmbr *l, const char *path, size_t length)
{
    RILL__SCOPED_TEXT(name, l->ctx);
    RILL__TRY(rill_text_append(&name, path, length));
    return rill_evidence_open(&l->file, l->ctx, name.data);
}

static rill_status read_arguments(lmbr *l, const char *text)
{
    parameters parsed = {.lambda = 1, .T = 10, .p = 0.8, .r = 0.7, .scale = 1, .self = 0};
    const size_t first = strcspn(text, ",");
    const int is_self = strncmp(text, "self=", 5) == 0;
    if (first == 0) return fail_arguments(l->ctx, text, strlen(text));
    for (const char *pos = is_self ? text : strchr(text, ','); pos != NULL; pos = strchr(pos, ',')) {
        pos += *pos == ',';
        const size_t length = strcspn(pos, ",");
        if (!read_parameter(l, &parsed, pos, pos + length)) return fail_arguments(l->ctx, pos, length);
    }
    if (is_self ? parsed.self < 1 || parsed.self > INT32_MAX || parsed.self != floor(parsed.self)
                : parsed.self > 0 || parsed.scale != 1)
        return fail_arguments(l->ctx, text, strlen(text));
    l->max_outputs = is_self ? (int32_t)parsed.self : 0;
    l->scale = parsed.scale;
    RILL__TRY(set_thetas(l, &parsed));
    return is_self ? RILL_OK : open_file(l, text, first);
}

static void destroy(void *self)
{
    lmbr *l = self;
    if (l == NULL) return;
    for (size_t i = 0; i < l->n; i++) rill_ngrams_free(l->input[i].ngrams);
    rill_free(l->ctx, l->input, l->capacity * sizeof *l->input);
    rill_evidence_close(l->file);
    rill_free(l->ctx, l, sizeof *l);
}

static rill_status create(const rill_scorer *table, rill_context *ctx, const char *arguments, void **self)
{
    (void)table;
    lmbr *l = *self = rill_calloc(ctx, 1, sizeof *l);
    if (l == NULL) return rill_fail_memory(ctx, sizeof *l, "a scorer");
    l->ctx = ctx;
    return RILL_OPENED(read_arguments(l, arguments), self, destroy);
}

/* --- scoring ---------------------------------------------------------------------------------------------------------- */

/* Write the row's last actions of the current phase to out[0, 3), oldest first, right-aligned. Returns their number, at most 3. */
static int32_t get_last_actions(const rill_scorer_rows *rows, int32_t row, int32_t phases, int32_t *out)
{
    int32_t n = 0, back = phases;
    for (int32_t h = rows->hyp_node[row]; rows->hyp_nodes[h].parent >= 0; h = rows->hyp_nodes[h].parent) {
        if (--back > 0) continue;
        back = phases;
        out[RILL_NGRAM_MAX - 2 - n++] = rows->hyp_nodes[h].action;
        if (n == RILL_NGRAM_MAX - 1) break;
    }
    return n;
}

static rill_status add_row(const lmbr *l, const rill_ngrams *g, const rill_scorer_rows *rows, int32_t row,
                           rill_modifiers *mods)
{
    const ngram_level *level = g->level[rows->phase];
    ngram_range in[RILL_NGRAM_MAX] = {{0, 0}};
    int32_t last[RILL_NGRAM_MAX - 1];
    const int32_t n_known = get_last_actions(rows, row, g->kind.phases, last);
    for (int32_t m = 0; m <= n_known; m++) in[m] = ngrams_extend(g, rows->phase, last + RILL_NGRAM_MAX - 1 - m, m);
    for (;;) {
        int32_t action = INT32_MAX;
        double sum = 0;
        for (int m = 0; m <= n_known; m++)
            if (in[m].begin < in[m].end && level[m].action[in[m].begin] < action) action = level[m].action[in[m].begin];
        if (action == INT32_MAX) return RILL_OK;
        for (int m = 0; m <= n_known; m++)
            if (in[m].begin < in[m].end && level[m].action[in[m].begin] == action)
                sum += l->theta[m + 1] * (double)level[m].posterior[in[m].begin++];
        RILL__TRY(rill_modifiers_add(mods, row, action, (float)sum));
    }
}

static rill_status score(void *self, const rill_scorer_rows *rows, rill_modifiers *mods)
{
    lmbr *l = self;
    const input_evidence *own = NULL;
    RILL__TRY(set_kind(l, rows->model));
    for (int32_t row = 0; row < rows->n; row++) {
        if (row == 0 || rows->item_id[row] != rows->item_id[row - 1]) own = find_evidence(l, rows->item_id[row]);
        if (own == NULL) continue; /* the first search with self=N has no evidence */
        RILL__TRY(rill_modifiers_reward(mods, row, (float)l->theta[0]));
        RILL__TRY(rill_modifiers_end_reward(mods, row, (float)l->theta[0]));
        RILL__TRY(add_row(l, own->ngrams, rows, row, mods));
    }
    return RILL_OK;
}

/* Returns an upper bound on the bonus: theta_0 plus all positive thetas, because posteriors are at most 1. 1e-5 covers rounding. */
static double max_bonus(const void *self, double *end)
{
    const lmbr *l = self;
    double sum = l->theta[0] + 1e-5;
    for (int m = 1; m <= RILL_NGRAM_MAX; m++) sum += l->theta[m] > 0 ? l->theta[m] : 0;
    *end = sum;
    return sum > 0 ? sum : 0; /* never negative: a search without evidence adds nothing */
}

/* --- table of the scorer ---------------------------------------------------------------------------------------------- */

const rill_scorer rill__lmbr_scorer = {
    .abi_version = RILL_ABI_VERSION,
    .struct_size = sizeof(rill_scorer),
    .name = "lmbr",
    .arguments = "FILE or self=N, then [,lambda=L][,T=T][,p=P][,r=R] or [,theta=A/B/C/D/E]",
    .summary =
        "reward n-grams by their posteriors, from a file of `rill evidence` or from the N best outputs of a first "
        "search",
    .create = create,
    .score = score,
    .destroy = destroy,
    .begin = begin,
    .found = found,
    .done = done,
    .max_bonus = max_bonus,
};
