/* Making states and scoring them: where nearly all of a decode's time goes.
 *
 * step:   gates = start[action] + W_hh h_parent, then the LSTM cell. Siblings share their parent's product, which is computed
 *         once per distinct parent of a block and added to each child's start row.
 * score:  p = softmax(m_t . h);  a = tanh(W_s h + b_a + sum_t p_t (W_c m_t));  log-softmax(W_o a + b_o), best M.
 *
 * A call's rows are cut into spans, one per unit of work for the pool, and each span is walked in blocks: what a block hands from
 * one operation to the next then stays in the nearest caches of the processor that runs it, and the pool is asked once per call.
 *
 * Invariant: a row's result is a function of that row alone (kernels.h); neither sharing a parent nor the cut changes the order
 * of any operation. Divisions: spans and blocks · distinct parents · step · score · answers. */
#include <math.h>
#include <string.h>

#include "model.h"

/* --- spans and blocks --------------------------------------------------------------------------------------------- */

enum {
    BLOCK = 96,   /* rows: as many as the gemm keeps close at once; gates of 96 rows of 4 x 200 take 300 KB */
    SPAN_ROWS = 6 /* least rows worth a unit of their own: the height of the gemm's tile */
};

/* One call, as its units see it. */
typedef struct work {
    semparse *s;
    const rill_rows *rows;
    rill_cut cut;
    char *scratch; /* [spans, span_bytes] */
    size_t span_bytes;
    size_t longest; /* score: tokens of the longest memory */
    size_t ld_logits;
    const rill_ask *ask;
    rill_choices *out;
} work;

static void cut(work *w)
{
    w->cut = rill_cut_make(w->s->pool, (size_t)w->rows->n, SPAN_ROWS, BLOCK);
}

/* Rows [from, from + n) of the call: what a block works on. */
typedef struct block {
    const work *w;
    size_t from, n;
    const int32_t *node, *slot;
} block;

/* What one span has carved, for all of them. */
static rill_status take_scratch(work *w, rill_carver *carver)
{
    w->span_bytes = carver->used;
    carver->used *= w->cut.spans;
    TRY(semparse_carve_again(w->s, carver));
    w->scratch = carver->base;
    return RILL_OK;
}

typedef void (*block_fn)(const block *b, char *scratch);

static void walk_span(const work *w, size_t span, block_fn run)
{
    size_t end = rill_cut_from(&w->cut, span + 1);
    for (size_t from = rill_cut_from(&w->cut, span); from < end; from += w->cut.block) {
        block b = {.w = w,
                   .from = from,
                   .n = end - from < w->cut.block ? end - from : w->cut.block,
                   .node = w->rows->node + from,
                   .slot = w->rows->slot + from};
        run(&b, w->scratch + span * w->span_bytes);
    }
}

/* --- distinct parents --------------------------------------------------------------------------------------------- */

enum { PLACES = 256 }; /* of the hash table: a power of two, more than twice a block */

typedef struct steps {
    int32_t *parent; /* [u] distinct nodes whose h is multiplied */
    int32_t *origin; /* [n] node whose c a row continues */
    int32_t *place;  /* [n] where a row's parent stands in `parent` */
    int32_t *word;   /* [n] row of the start table */
    float *product;  /* [u, 4H] */
    float *gates;    /* [n, 4H] */
} steps;

static void lay_out_steps(const work *w, steps *x, rill_carver *carver)
{
    size_t n = w->cut.block, width = 4 * w->s->hidden;
    x->parent = rill_carve(carver, n, sizeof *x->parent);
    x->origin = rill_carve(carver, n, sizeof *x->origin);
    x->place = rill_carve(carver, n, sizeof *x->place);
    x->word = rill_carve(carver, n, sizeof *x->word);
    x->product = rill_carve(carver, n * width, sizeof *x->product);
    x->gates = rill_carve(carver, n * width, sizeof *x->gates);
}

/* A first node continues the encoder's last state, which is put in the node's own row: rows may read what they write. */
static int32_t origin_of(semparse *s, const rill_rows *rows, size_t r)
{
    if (rows->state_parent[r] != RILL_NO_NODE) return rows->state_parent[r];
    size_t width = 2 * s->ld;
    memcpy(s->state + (size_t)rows->node[r] * width, s->last + (size_t)rows->slot[r] * width, width * sizeof *s->state);
    return rows->node[r];
}

/* Number the distinct parents of a block in order of appearance; a small open-addressed table remembers them. */
static size_t find_parents(const block *b, const steps *x)
{
    int32_t table[PLACES]; /* index into x->parent, -1 for an empty place */
    memset(table, 0xFF, sizeof table);
    int32_t distinct = 0;
    for (size_t r = 0; r < b->n; r++) {
        const int32_t origin = origin_of(b->w->s, b->w->rows, b->from + r), action = b->w->rows->action[b->from + r];
        size_t place = ((uint32_t)origin * 2654435761u) >> 24;
        while (table[place] >= 0 && x->parent[table[place]] != origin) place = (place + 1) % PLACES;
        if (table[place] < 0) {
            table[place] = distinct;
            x->parent[distinct++] = origin;
        }
        x->origin[r] = origin;
        x->place[r] = table[place];
        x->word[r] = action >= 0 ? action : SEMPARSE_START;
    }
    return (size_t)distinct;
}

/* Ask for the memories that score() will read. A thousand items in flight hold more than the second-level cache, and attention
 * jumps from item to item; but which ones is known here, a gemm earlier. */
static void fetch_memories(const block *b)
{
    enum { LINE = 64 };
    const semparse *s = b->w->s;
    for (size_t r = 0; r < b->n; r++) {
        int32_t slot = b->slot[r];
        if (r > 0 && slot == b->slot[r - 1]) continue;
        size_t bytes = (size_t)s->length[slot] * s->ld * sizeof(float);
        for (size_t i = 0; i < bytes; i += LINE) {
            __builtin_prefetch((const char *)s->memory[slot] + i, 0, 2);
            __builtin_prefetch((const char *)s->projected[slot] + i, 0, 2);
        }
    }
}

/* --- step --------------------------------------------------------------------------------------------------------- */

static void step_block(const block *b, char *scratch)
{
    semparse *s = b->w->s;
    size_t width = 4 * s->hidden;
    steps x;
    lay_out_steps(b->w, &x, &(rill_carver){.base = scratch});
    fetch_memories(b);
    size_t distinct = find_parents(b, &x);
    rill_gemm gemm = {.w = &s->decoder.recurrent,
                      .rows = distinct,
                      .a = s->state,
                      .lda = 2 * s->ld,
                      .a_index = x.parent,
                      .c = x.product,
                      .ldc = width};
    s->kernels.gemm(&gemm, NULL);
    rill_embed embed = {.rows = b->n,
                        .width = width,
                        .table = s->decoder.start,
                        .ld_table = width,
                        .id = x.word,
                        .scale = 1.0f,
                        .position = x.product,
                        .ld_position = width,
                        .pos = x.place,
                        .out = x.gates,
                        .ld_out = width};
    s->kernels.embed(&embed, NULL);
    rill_lstm lstm = {.rows = b->n,
                      .hidden = s->hidden,
                      .gates = x.gates,
                      .ld_gates = width,
                      .c_prev = s->state + s->ld,
                      .ld_c_prev = 2 * s->ld,
                      .prev_index = x.origin,
                      .c = s->state + s->ld,
                      .h = s->state,
                      .ld_c = 2 * s->ld,
                      .ld_h = 2 * s->ld,
                      .out_index = b->node};
    s->kernels.lstm(&lstm, NULL);
}

static void step_span(void *call, size_t span)
{
    walk_span(call, span, step_block);
}

rill_status semparse_step(void *self, const rill_rows *rows)
{
    semparse *s = self;
    if (rows->n == 0) return RILL_OK;
    work w = {.s = s, .rows = rows};
    cut(&w);
    steps x;
    rill_carver carver = {0};
    lay_out_steps(&w, &x, &carver);
    TRY(take_scratch(&w, &carver));
    rill_pool_run(s->pool, step_span, &w, w.cut.spans);
    return RILL_OK;
}

/* --- score -------------------------------------------------------------------------------------------------------- */

typedef struct scores {
    float *weights;  /* [n, longest] attention */
    float *context;  /* [n, ld] */
    float *attended; /* [n, ld] */
    float *logits;   /* [n, ld_logits] */
    float *log_norm; /* [n] */
    int32_t *none;   /* [n] in place of choices when none are wanted */
} scores;

static void lay_out_scores(const work *w, scores *x, rill_carver *carver)
{
    size_t n = w->cut.block;
    x->weights = rill_carve(carver, n * w->longest, sizeof *x->weights);
    x->context = rill_carve(carver, n * w->s->ld, sizeof *x->context);
    x->attended = rill_carve(carver, n * w->s->ld, sizeof *x->attended);
    x->logits = rill_carve(carver, n * w->ld_logits, sizeof *x->logits);
    x->log_norm = rill_carve(carver, n, sizeof *x->log_norm);
    x->none = rill_carve(carver, n, sizeof *x->none);
}

/* x->context: projected memory, summed up by attention. */
static void attend(const block *b, const scores *x)
{
    const semparse *s = b->w->s;
    rill_attention attention = {.rows = b->n,
                                .key_width = s->hidden,
                                .scale = 1.0f,
                                .query = s->state,
                                .ld_query = 2 * s->ld,
                                .query_index = b->node,
                                .slot_keys = s->memory,
                                .ld_keys = s->ld,
                                .slot_values = s->projected,
                                .ld_values = s->ld,
                                .length = s->length,
                                .slot = b->slot,
                                .weights = x->weights,
                                .ld_weights = b->w->longest,
                                .out = x->context,
                                .ld_out = s->ld};
    s->kernels.attention(&attention, NULL);
}

/* Node states and contexts to logits, bias included. */
static void compute_logits(const block *b, const scores *x)
{
    const work *w = b->w;
    const semparse *s = w->s;
    rill_gemm layer = {.w = &s->from_state,
                       .rows = b->n,
                       .a = s->state,
                       .lda = 2 * s->ld,
                       .a_index = b->node,
                       .bias = s->attention_bias,
                       .add = x->context,
                       .ld_add = s->ld,
                       .epilogue = RILL_EPILOGUE_TANH,
                       .c = x->attended,
                       .ldc = s->ld};
    rill_gemm output = {.w = &s->output,
                        .rows = b->n,
                        .a = x->attended,
                        .lda = s->ld,
                        .bias = s->output_bias,
                        .c = x->logits,
                        .ldc = w->ld_logits};
    s->kernels.gemm(&layer, NULL);
    s->kernels.gemm(&output, NULL);
}

/* Behind the bias and before the softmax: what is left shares what banned actions had. */
static void ban_actions(const block *b, const scores *x)
{
    const work *w = b->w;
    const semparse *s = w->s;
    if (s->placeholders == 0) return;
    for (size_t r = 0; r < b->n; r++) {
        const int32_t *ban = s->ban + (size_t)b->slot[r] * s->placeholders;
        float *logits = x->logits + r * w->ld_logits;
        for (size_t i = 0; i < s->slot[b->slot[r]].banned; i++) logits[ban[i]] = -INFINITY;
    }
}

/* --- answers ------------------------------------------------------------------------------------------------------ */

/* The kernel writes the best where the engine wants them. With M = 0 its own choice goes nowhere: only log_norm is wanted. */
static void choose_best(const block *b, const scores *x)
{
    const work *w = b->w;
    const rill_ask *ask = w->ask;
    const size_t actions = (size_t)w->s->actions, stride = (size_t)w->out->stride, most = (size_t)ask->most;
    rill_best best = {.rows = b->n,
                      .symbols = actions,
                      .best = most < actions ? most : actions,
                      .logits = x->logits,
                      .ld_logits = w->ld_logits,
                      .legal = ask->legal,
                      .ld_legal = ask->legal_words,
                      .legal_index = ask->legal != NULL ? ask->legal_set + b->from : NULL,
                      .ids = w->out->action + b->from * stride,
                      .logp = w->out->logp + b->from * stride,
                      .ld_out = stride,
                      .counts = w->out->count + b->from,
                      .log_norm = x->log_norm};
    if (most == 0) {
        best.best = best.ld_out = 1;
        best.ids = x->none;
        best.logp = NULL;
    }
    w->s->kernels.best(&best, NULL);
    for (size_t r = b->from; r < b->from + b->n && most == 0; r++) w->out->count[r] = 0;
}

/* To the bit what the kernel gives for the best ones (kernels.h). */
static void answer_picks(const block *b, const scores *x)
{
    const rill_ask *ask = b->w->ask;
    const int32_t end = rill_ask_first_pick(ask, (int32_t)(b->from + b->n));
    for (int32_t q = rill_ask_first_pick(ask, (int32_t)b->from); q < end; q++) {
        const size_t r = (size_t)ask->pick_row[q] - b->from;
        b->w->out->pick_logp[q] = x->logits[r * b->w->ld_logits + (size_t)ask->pick_action[q]] - x->log_norm[r];
    }
}

static void score_block(const block *b, char *scratch)
{
    scores x;
    lay_out_scores(b->w, &x, &(rill_carver){.base = scratch});
    attend(b, &x);
    compute_logits(b, &x);
    ban_actions(b, &x);
    choose_best(b, &x);
    answer_picks(b, &x);
}

static void score_span(void *call, size_t span)
{
    walk_span(call, span, score_block);
}

static size_t longest_memory(const semparse *s, const rill_rows *rows)
{
    int32_t longest = 1;
    for (int32_t r = 0; r < rows->n; r++)
        if (s->length[rows->slot[r]] > longest) longest = s->length[rows->slot[r]];
    return (size_t)longest;
}

rill_status semparse_score(void *self, const rill_rows *rows, const rill_ask *ask, rill_choices *out)
{
    semparse *s = self;
    if (rows->n == 0) return RILL_OK;
    work w = {.s = s, .rows = rows, .ask = ask, .out = out, .longest = longest_memory(s, rows)};
    w.ld_logits = ((size_t)s->actions + 15) / 16 * 16;
    cut(&w);
    scores x;
    rill_carver carver = {0};
    lay_out_scores(&w, &x, &carver);
    TRY(take_scratch(&w, &carver));
    rill_pool_run(s->pool, score_span, &w, w.cut.spans);
    return RILL_OK;
}
