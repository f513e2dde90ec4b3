/* Making states and scoring them: where nearly all of a decode's time goes.
 *
 * step:   gates = start[action] + W_hh h_parent, then the LSTM cell. Siblings share their parent's product, and a beam is full of
 *         siblings, so the product is computed once per distinct parent and added to each child's start row.
 * score:  p = softmax(m_t . h);  a = tanh(W_s h + b_a + sum_t p_t (W_c m_t));  log-softmax(W_o a + b_o), best M.
 *
 * Invariant: a row's result is a function of that row alone (kernels.h); neither sharing a parent nor a call's size changes
 * an operation's order. Divisions: distinct parents · step · score · lookup. */
#include <string.h>

#include "model.h"

#define TRY SEMPARSE_TRY

/* --- distinct parents --------------------------------------------------------------------------------------------- */

typedef struct steps {
    int32_t *parent; /* [u] distinct nodes whose h is multiplied */
    int32_t *origin; /* [n] node whose c a row continues */
    int32_t *place;  /* [n] where a row's parent stands in `parent` */
    int32_t *word;   /* [n] row of the start table */
    float *product;  /* [u, 4H] */
    float *gates;    /* [n, 4H] */
} steps;

static void lay_out_steps(const semparse *s, size_t n, steps *x, semparse_carver *carver)
{
    size_t width = 4 * s->hidden;
    x->parent = semparse_carve(carver, n, sizeof *x->parent);
    x->origin = semparse_carve(carver, n, sizeof *x->origin);
    x->place = semparse_carve(carver, n, sizeof *x->place);
    x->word = semparse_carve(carver, n, sizeof *x->word);
    x->product = semparse_carve(carver, n * width, sizeof *x->product);
    x->gates = semparse_carve(carver, n * width, sizeof *x->gates);
}

/* A first node continues the encoder's last state, which is put in the node's own row: rows may read what they write. */
static int32_t origin_of(semparse *s, const rill_rows *rows, int32_t r)
{
    if (rows->state_parent[r] != RILL_NO_NODE) return rows->state_parent[r];
    size_t to = (size_t)rows->node[r] * s->ld, from = (size_t)rows->slot[r] * s->ld;
    memcpy(s->h + to, s->last_h + from, s->hidden * sizeof *s->h);
    memcpy(s->c + to, s->last_c + from, s->hidden * sizeof *s->c);
    return rows->node[r];
}

/* Number the distinct parents in order of appearance. s->place is -1 everywhere between calls. */
static size_t find_parents(semparse *s, const rill_rows *rows, steps *x)
{
    int32_t distinct = 0;
    for (int32_t r = 0; r < rows->n; r++) {
        int32_t origin = origin_of(s, rows, r);
        if (s->place[origin] < 0) {
            s->place[origin] = distinct;
            x->parent[distinct++] = origin;
        }
        x->origin[r] = origin;
        x->place[r] = s->place[origin];
        x->word[r] = rows->action[r] >= 0 ? rows->action[r] : SEMPARSE_START;
    }
    for (int32_t i = 0; i < distinct; i++) s->place[x->parent[i]] = -1;
    return (size_t)distinct;
}

/* --- step --------------------------------------------------------------------------------------------------------- */

rill_status semparse_step(semparse *s, const rill_rows *rows)
{
    if (rows->n == 0) return RILL_OK;
    size_t n = (size_t)rows->n, width = 4 * s->hidden;
    steps x;
    semparse_carver carver = {0};
    lay_out_steps(s, n, &x, &carver);
    TRY(semparse_carve_again(s, &carver));
    lay_out_steps(s, n, &x, &carver);
    size_t distinct = find_parents(s, rows, &x);
    s->kernels.gemm(&(rill_gemm){.w = &s->decoder.recurrent, .rows = distinct, .a = s->h, .lda = s->ld, .a_index = x.parent,
                                 .c = x.product, .ldc = width}, s->pool);
    s->kernels.embed(&(rill_embed){.rows = n, .width = width, .table = s->decoder.start, .ld_table = width, .id = x.word,
                                   .scale = 1.0f, .position = x.product, .ld_position = width, .pos = x.place,
                                   .out = x.gates, .ld_out = width}, s->pool);
    s->kernels.lstm(&(rill_lstm){.rows = n, .hidden = s->hidden, .gates = x.gates, .ld_gates = width, .c_prev = s->c,
                                 .ld_c_prev = s->ld, .prev_index = x.origin, .c = s->c, .h = s->h, .ld_c = s->ld,
                                 .ld_h = s->ld, .out_index = rows->node}, s->pool);
    return RILL_OK;
}

/* --- score -------------------------------------------------------------------------------------------------------- */

typedef struct scores {
    float *weights;  /* [n, longest] attention */
    float *context;  /* [n, ld] */
    float *attended; /* [n, ld] */
    float *logits;   /* [n, V] */
    float *log_norm; /* [n] */
    int32_t *action; /* [n, best] when the answer goes through rill_select() */
    float *logp;     /* [n, best] */
    int32_t *count;  /* [n] */
    size_t longest, best, ld_logits;
} scores;

static void lay_out_scores(const semparse *s, size_t n, scores *x, semparse_carver *carver)
{
    x->weights = semparse_carve(carver, n * x->longest, sizeof *x->weights);
    x->context = semparse_carve(carver, n * s->ld, sizeof *x->context);
    x->attended = semparse_carve(carver, n * s->ld, sizeof *x->attended);
    x->logits = semparse_carve(carver, n * x->ld_logits, sizeof *x->logits);
    x->log_norm = semparse_carve(carver, n, sizeof *x->log_norm);
    x->action = semparse_carve(carver, n * x->best, sizeof *x->action);
    x->logp = semparse_carve(carver, n * x->best, sizeof *x->logp);
    x->count = semparse_carve(carver, n, sizeof *x->count);
}

static size_t longest_memory(const semparse *s, const rill_rows *rows)
{
    int32_t longest = 1;
    for (int32_t r = 0; r < rows->n; r++)
        if (s->length[rows->slot[r]] > longest) longest = s->length[rows->slot[r]];
    return (size_t)longest;
}

/* Node states to logits, bias included. */
static void compute_logits(const semparse *s, const rill_rows *rows, const scores *x)
{
    size_t n = (size_t)rows->n;
    s->kernels.attention(&(rill_attention){.rows = n, .key_width = s->hidden, .scale = 1.0f, .query = s->h,
                                           .ld_query = s->ld, .query_index = rows->node, .keys = s->memory,
                                           .ld_keys = s->ld, .values = s->projected, .ld_values = s->ld,
                                           .length = s->length, .slot = rows->slot, .weights = x->weights,
                                           .ld_weights = x->longest, .out = x->context, .ld_out = s->ld}, s->pool);
    s->kernels.gemm(&(rill_gemm){.w = &s->state, .rows = n, .a = s->h, .lda = s->ld, .a_index = rows->node,
                                 .bias = s->attention_bias, .add = x->context, .ld_add = s->ld,
                                 .epilogue = RILL_EPILOGUE_TANH, .c = x->attended, .ldc = s->ld}, s->pool);
    s->kernels.gemm(&(rill_gemm){.w = &s->output, .rows = n, .a = x->attended, .lda = s->ld, .bias = s->output_bias,
                                 .c = x->logits, .ldc = x->ld_logits}, s->pool);
}

static void choose_best(const semparse *s, size_t n, const scores *x, int32_t *action, float *logp, size_t ld, int32_t *count)
{
    s->kernels.best(&(rill_best){.rows = n, .symbols = (size_t)s->actions, .best = x->best, .logits = x->logits,
                                 .ld_logits = x->ld_logits, .ids = action, .logp = logp, .ld_out = ld, .counts = count,
                                 .log_norm = x->log_norm}, s->pool);
}

/* Nothing but the best M is asked: the kernel writes them where the engine wants them. */
static void answer_plain(const semparse *s, int32_t n, const scores *x, rill_choices *out)
{
    size_t stride = (size_t)out->stride;
    choose_best(s, (size_t)n, x, out->action, out->logp, stride, out->count);
    for (size_t r = 0; r < (size_t)n; r++) {
        for (size_t i = r * stride; i < r * stride + (size_t)out->count[r]; i++) {
            out->score[i] = out->logp[i];
            out->terminal[i] = out->action[i] == SEMPARSE_END ? RILL_END : RILL_LIVE;
        }
    }
}

/* To the bit what the kernel gives for the best ones (kernels.h). -infinity for what is never an action. */
static float logp_of(const semparse_scored *scored, int32_t row, int32_t action)
{
    return scored->logits[(size_t)row * scored->ld_logits + (size_t)action] - scored->log_norm[row];
}

static float lookup_raw(void *user, int32_t row, int32_t action)
{
    return logp_of(&((const semparse *)user)->scored, row, action);
}

static void answer_asked(semparse *s, int32_t n, const scores *x, const rill_ask *ask, rill_choices *out)
{
    choose_best(s, (size_t)n, x, x->action, x->logp, x->best, x->count);
    for (int32_t r = 0; r < n; r++) {
        size_t first = (size_t)r * x->best;
        rill_raw raw = {.n = x->count[r], .action = x->action + first, .logp = x->logp + first,
                        .end_action = SEMPARSE_END, .lookup = lookup_raw, .user = s};
        rill_select(ask, r, &raw, out);
    }
}

rill_status semparse_score(semparse *s, const rill_rows *rows, const rill_ask *ask, rill_choices *out)
{
    if (rows->n == 0) return RILL_OK;
    size_t wanted = (size_t)ask->max_choices + (ask->plain ? 0 : (size_t)ask->extra);
    scores x = {.longest = longest_memory(s, rows), .ld_logits = ((size_t)s->actions + 15) / 16 * 16};
    x.best = wanted < (size_t)s->actions ? wanted : (size_t)s->actions;
    semparse_carver carver = {0};
    lay_out_scores(s, (size_t)rows->n, &x, &carver);
    TRY(semparse_carve_again(s, &carver));
    lay_out_scores(s, (size_t)rows->n, &x, &carver);
    compute_logits(s, rows, &x);
    s->scored = (semparse_scored){.n = rows->n, .logits = x.logits, .ld_logits = x.ld_logits, .log_norm = x.log_norm};
    if (ask->plain)
        answer_plain(s, rows->n, &x, out);
    else
        answer_asked(s, rows->n, &x, ask, out);
    return RILL_OK;
}

/* --- lookup ------------------------------------------------------------------------------------------------------- */

rill_status semparse_lookup(semparse *s, const rill_rows *rows, const rill_queries *queries)
{
    if (queries->n > 0 && s->scored.n != rows->n)
        return rill_fail(s->ctx, RILL_ERR_ARGUMENT, "semparse: lookup of %d rows, but %d were just scored", rows->n,
                         s->scored.n);
    for (int32_t q = 0; q < queries->n; q++) queries->logp[q] = logp_of(&s->scored, queries->row[q], queries->action[q]);
    return RILL_OK;
}
