/* The built-in scorer `lmbr`: n-gram posteriors in the beam (Iglesias et al. 2018, "Accelerating NMT Batched Beam Decoding with LMBR
 * Posteriors for Deployment").
 *
 * An action that completes n-grams of its input's evidence gains theta_m P of each of them, m = 1 to 4 their lengths, and every action,
 * the end included, gains theta_0. The source multiplies the model's log-probability by lambda; here everything else is divided by
 * it, which gives the same order and leaves scores, thresholds of heuristics and penalties in the model's unit.
 *
 * What a row's actions gain is found in the evidence: for each m the n-grams that begin with the row's last m - 1 actions are one
 * range of a level (ngrams.h), ascending by action, and the four ranges are merged. The work is proportional to what is found.
 *
 * With self=N an input is decoded twice: the first search knows no evidence, and its best N outputs are the evidence of the second.
 *
 * Divisions: what is kept of inputs · arguments · speaking · the table. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "builtin.h"
#include "ngrams.h"

/* The evidence of an input in flight. */
typedef struct kept {
    int64_t id; /* -1: the place is empty */
    rill_ngrams *ngrams;
} kept;

typedef struct lmbr {
    rill_context *ctx;
    rill_evidence *file;     /* NULL: evidence is the search's own */
    int32_t most;            /* outputs that it is made of, then ... */
    double scale;            /* ... and of their scores */
    rill_evidence_kind kind; /* of the model, once `known` */
    int known;
    double theta[1 + RILL_NGRAM_MOST]; /* divided by lambda */
    kept *at;                          /* [places] by id, as far behind their place as those before are full */
    size_t places, n;                  /* a power of 2, or 0 */
} lmbr;

/* --- what is kept of inputs ------------------------------------------------------------------------------------------- */

/* Where the id is, or would be; there is an empty place. */
static size_t place_of(const lmbr *l, int64_t id)
{
    size_t at = (size_t)id & (l->places - 1);
    while (l->at[at].id >= 0 && l->at[at].id != id) at = (at + 1) & (l->places - 1);
    return at;
}

static const rill_ngrams *ngrams_of(const lmbr *l, int64_t id)
{
    return l->n > 0 ? l->at[place_of(l, id)].ngrams : NULL;
}

/* Twice the places. */
static rill_status grow(lmbr *l)
{
    const lmbr old = *l;
    const size_t places = old.places > 0 ? 2 * old.places : 64;
    kept *at = rill_alloc(l->ctx, places * sizeof *at);
    if (at == NULL) return rill_fail_memory(l->ctx, places * sizeof *at, "evidence");
    for (size_t i = 0; i < places; i++) at[i] = (kept){-1, NULL};
    l->at = at;
    l->places = places;
    for (size_t i = 0; i < old.places; i++)
        if (old.at[i].id >= 0) l->at[place_of(l, old.at[i].id)] = old.at[i];
    rill_free(l->ctx, old.at, old.places * sizeof *old.at);
    return RILL_OK;
}

static rill_status keep(lmbr *l, int64_t id, const rill_evidence_kind *kind, rill_ngrams **out)
{
    if (2 * l->n >= l->places) RILL__TRY(grow(l));
    RILL__TRY(rill_ngrams_create(out, l->ctx, kind));
    l->at[place_of(l, id)] = (kept){id, *out};
    l->n++;
    return RILL_OK;
}

/* Those behind it move up where they may. */
static void done(void *self, int64_t item_id)
{
    lmbr *l = self;
    if (ngrams_of(l, item_id) == NULL) return;
    size_t hole = place_of(l, item_id);
    rill_ngrams_free(l->at[hole].ngrams);
    l->at[hole] = (kept){-1, NULL};
    l->n--;
    for (size_t at = (hole + 1) & (l->places - 1); l->at[at].id >= 0; at = (at + 1) & (l->places - 1)) {
        const kept moved = l->at[at];
        l->at[at] = (kept){-1, NULL};
        l->at[place_of(l, moved.id)] = moved;
    }
}

static rill_status begin(void *self, int64_t item_id)
{
    lmbr *l = self;
    rill_ngrams *ngrams;
    if (l->file == NULL) return RILL_OK;
    RILL__TRY(keep(l, item_id, rill_evidence_kind_in(l->file), &ngrams));
    const rill_status status = rill_evidence_get(l->file, item_id, ngrams);
    if (status < 0) done(l, item_id);
    return status;
}

/* Of each model an instance sees one alone. */
static rill_status know(lmbr *l, const rill_model *model)
{
    if (l->known) return RILL_OK;
    RILL__TRY(rill_evidence_kind_of(&l->kind, l->ctx, model));
    if (l->file != NULL) RILL__TRY(rill_evidence_fits(l->file, &l->kind));
    l->known = 1;
    return RILL_OK;
}

static rill_status found(void *self, const rill_found *outputs)
{
    lmbr *l = self;
    rill_ngrams *ngrams;
    if (l->file != NULL || ngrams_of(l, outputs->item_id) != NULL) return RILL_OK;
    RILL__TRY(know(l, outputs->model));
    RILL__TRY(keep(l, outputs->item_id, &l->kind, &ngrams));
    for (int32_t i = 0; i < outputs->n && i < l->most; i++) {
        const rill_found_output *o = &outputs->output[i];
        RILL__TRY(rill_ngrams_entry(ngrams, o->action, o->n_actions, o->rank_score));
    }
    RILL__TRY(rill_ngrams_finish(ngrams, l->scale));
    return RILL_AGAIN;
}

/* --- arguments -------------------------------------------------------------------------------------------------------- */

/* What thetas come from, unless they are given. */
typedef struct parameters {
    double lambda, T, p, r, scale, most;
    int shaped, weighed; /* T, p or r were given; thetas were */
} parameters;

static rill_status wrong(rill_context *ctx, const char *text, size_t length)
{
    return rill_fail(
        ctx, RILL_ERR_OPTION,
        "lmbr: \"%.*s\": FILE or self=N is expected, and behind it lambda, T, p, r, theta=A/B/C/D/E and, with "
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
    for (int m = 0; m <= RILL_NGRAM_MOST; m++) {
        const char *slash = memchr(text, '/', (size_t)(end - text));
        const char *stop = m < RILL_NGRAM_MOST ? slash : end;
        if (stop == NULL || !read_number(text, stop, &l->theta[m])) return 0;
        text = stop + (m < RILL_NGRAM_MOST);
    }
    return 1;
}

/* NAME=VALUE from `text` to `end`; 0: it is no such thing. */
static int read_parameter(lmbr *l, parameters *given, const char *text, const char *end)
{
    const struct {
        const char *name;
        double *value;
        int shapes;
    } names[] = {{"lambda=", &given->lambda, 0}, {"T=", &given->T, 1},         {"p=", &given->p, 1},
                 {"r=", &given->r, 1},           {"scale=", &given->scale, 0}, {"self=", &given->most, 0}};
    static const char theta[] = "theta=";
    if (strncmp(text, theta, sizeof theta - 1) == 0) {
        given->weighed = 1;
        return read_thetas(l, text + sizeof theta - 1, end);
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const size_t n = strlen(names[i].name);
        if (strncmp(text, names[i].name, n) != 0) continue;
        given->shaped |= names[i].shapes;
        return read_number(text + n, end, names[i].value) && *names[i].value > 0;
    }
    return 0;
}

/* Thetas by the source's formulas, and everything divided by lambda. */
static rill_status weigh(lmbr *l, const parameters *given)
{
    if (given->weighed && given->shaped)
        return rill_fail(l->ctx, RILL_ERR_OPTION, "lmbr: theta says what T, p and r would: give one or the other");
    if (!given->weighed) {
        l->theta[0] = -1 / given->T;
        for (int m = 1; m <= RILL_NGRAM_MOST; m++) l->theta[m] = 1 / (4 * given->T * given->p * pow(given->r, m - 1));
    }
    for (int m = 0; m <= RILL_NGRAM_MOST; m++) {
        l->theta[m] /= given->lambda;
        if (!(fabs(l->theta[m]) <= 1e6))
            return rill_fail(l->ctx, RILL_ERR_OPTION, "lmbr: theta of order %d, divided by lambda, is %g: at most 1e6",
                             m, l->theta[m]);
    }
    return RILL_OK;
}

static rill_status open_file(lmbr *l, const char *path, size_t length)
{
    rill_text name = {.ctx = l->ctx};
    rill_status status = rill_text_append(&name, path, length);
    if (status >= 0) status = rill_evidence_open(&l->file, l->ctx, name.data);
    rill_text_clear(&name);
    return status;
}

static rill_status read_arguments(lmbr *l, const char *text)
{
    parameters given = {.lambda = 1, .T = 10, .p = 0.8, .r = 0.7, .scale = 1, .most = 0};
    const size_t first = strcspn(text, ",");
    const int own = strncmp(text, "self=", 5) == 0;
    if (first == 0) return wrong(l->ctx, text, strlen(text));
    for (const char *at = own ? text : strchr(text, ','); at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        const size_t length = strcspn(at, ",");
        if (!read_parameter(l, &given, at, at + length)) return wrong(l->ctx, at, length);
    }
    if (own ? given.most < 1 || given.most > INT32_MAX || given.most != floor(given.most)
            : given.most > 0 || given.scale != 1)
        return wrong(l->ctx, text, strlen(text));
    l->most = own ? (int32_t)given.most : 0;
    l->scale = given.scale;
    RILL__TRY(weigh(l, &given));
    return own ? RILL_OK : open_file(l, text, first);
}

static void destroy(void *self)
{
    lmbr *l = self;
    if (l == NULL) return;
    for (size_t i = 0; i < l->places; i++)
        if (l->at[i].id >= 0) rill_ngrams_free(l->at[i].ngrams);
    rill_free(l->ctx, l->at, l->places * sizeof *l->at);
    rill_evidence_close(l->file);
    rill_free(l->ctx, l, sizeof *l);
}

static rill_status create(const rill_scorer *table, rill_context *ctx, const char *arguments, void **self)
{
    (void)table;
    lmbr *l = rill_calloc(ctx, 1, sizeof *l);
    if (l == NULL) return rill_fail_memory(ctx, sizeof *l, "a scorer");
    l->ctx = ctx;
    const rill_status status = read_arguments(l, arguments);
    if (status < 0)
        destroy(l);
    else
        *self = l;
    return status;
}

/* --- speaking --------------------------------------------------------------------------------------------------------- */

/* The last actions of the rows' phase, the latest at the end of out[0, 3); returns how many there are. */
static int32_t last_actions(const rill_scorer_rows *rows, int32_t row, int32_t phases, int32_t *out)
{
    int32_t n = 0, back = phases;
    for (int32_t h = rows->history[row]; rows->histories[h].parent >= 0; h = rows->histories[h].parent) {
        if (--back > 0) continue;
        back = phases;
        out[RILL_NGRAM_MOST - 2 - n++] = rows->histories[h].action;
        if (n == RILL_NGRAM_MOST - 1) break;
    }
    return n;
}

static rill_status add_row(const lmbr *l, const rill_ngrams *g, const rill_scorer_rows *rows, int32_t row,
                           rill_ask_builder *ask)
{
    const ngram_level *level = g->level[rows->phase];
    ngram_range in[RILL_NGRAM_MOST] = {{0, 0}};
    int32_t last[RILL_NGRAM_MOST - 1];
    const int32_t known = last_actions(rows, row, g->kind.phases, last);
    for (int32_t m = 0; m <= known; m++) in[m] = ngrams_extend(g, rows->phase, last + RILL_NGRAM_MOST - 1 - m, m);
    for (;;) {
        int32_t action = INT32_MAX;
        double sum = 0;
        for (int m = 0; m <= known; m++)
            if (in[m].begin < in[m].end && level[m].action[in[m].begin] < action) action = level[m].action[in[m].begin];
        if (action == INT32_MAX) return RILL_OK;
        for (int m = 0; m <= known; m++)
            if (in[m].begin < in[m].end && level[m].action[in[m].begin] == action)
                sum += l->theta[m + 1] * (double)level[m].posterior[in[m].begin++];
        RILL__TRY(rill_ask_add(ask, row, action, (float)sum));
    }
}

static rill_status score(void *self, const rill_scorer_rows *rows, rill_ask_builder *ask)
{
    lmbr *l = self;
    const rill_ngrams *g = NULL;
    RILL__TRY(know(l, rows->model));
    for (int32_t row = 0; row < rows->n; row++) {
        if (row == 0 || rows->item_id[row] != rows->item_id[row - 1]) g = ngrams_of(l, rows->item_id[row]);
        if (g == NULL) continue; /* its first search */
        RILL__TRY(rill_ask_reward(ask, row, (float)l->theta[0]));
        RILL__TRY(rill_ask_end_reward(ask, row, (float)l->theta[0]));
        RILL__TRY(add_row(l, g, rows, row, ask));
    }
    return RILL_OK;
}

/* A posterior is at most 1; the rest is what sums of floats may be off by. */
static double most(const void *self, double *end)
{
    const lmbr *l = self;
    double sum = l->theta[0] + 1e-5;
    for (int m = 1; m <= RILL_NGRAM_MOST; m++) sum += l->theta[m] > 0 ? l->theta[m] : 0;
    *end = sum;
    return sum > 0 ? sum : 0; /* a search without evidence adds nothing */
}

/* --- the table -------------------------------------------------------------------------------------------------------- */

const rill_scorer rill__lmbr = {
    .abi_version = RILL_ABI_VERSION,
    .struct_size = sizeof(rill_scorer),
    .name = "lmbr",
    .arguments = "FILE or self=N, then [,lambda=L][,T=T][,p=P][,r=R] or [,theta=A/B/C/D/E]",
    .summary =
        "reward n-grams by their posteriors: of a file of `rill evidence`, or of a first search's best N outputs",
    .create = create,
    .score = score,
    .destroy = destroy,
    .begin = begin,
    .found = found,
    .done = done,
    .most = most,
};
