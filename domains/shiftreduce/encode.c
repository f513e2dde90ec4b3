/* Admitting sentences: lines to words, words to features, both LSTM layers, and the products of positions into slots.
 *
 * Sentences run together, longest first, through each layer and direction; a finished one leaves the batch, so no row is padding
 * (lstm.h). What the inputs contribute to the gates is one multiplication per layer for all frames of a block. The sentences of
 * a call are dealt to spans in turn, so that each has long and short ones, and spans are what the pool shares out.
 *
 * Invariant: an input that fails takes no part in what follows. A sentence's results do not depend on the others: rows of all
 * operations stand for themselves. Divisions: lines to features · the call · a block's memory · layers · products · the whole. */
#include <string.h>

#include "lstm.h"
#include "model.h"

/* --- lines to features -------------------------------------------------------------------------------------------- */

static rill_status find_features(parser *p, const sentence *s, const parser_reading *reading)
{
    const size_t width = parser_features(p);
    TRY(rill_grow(p->ctx, (void **)&p->feature, &p->feature_room, (reading->first + (size_t)reading->frames) * width,
                  sizeof *p->feature, "features of words"));
    int32_t *feature = p->feature + reading->first * width;
    parser_edge_features(p, PARSER_START, feature);
    for (int32_t i = 0; i < s->words; i++) TRY(parser_word_features(p, sentence_word(s, i), feature += width));
    parser_edge_features(p, PARSER_END, feature + width);
    return RILL_OK;
}

static rill_status read_inputs(parser *p, int32_t m, rill_input *inputs, size_t *sentences)
{
    TRY(rill_grow(p->ctx, (void **)&p->reading, &p->reading_room, (size_t)m, sizeof *p->reading, "sentences"));
    size_t frames = 0, n = 0;
    for (int32_t i = 0; i < m; i++) {
        int32_t words;
        TRY(parser_read(p, &inputs[i], &words));
        if (words == 0) continue;
        p->reading[n] = (parser_reading){.slot = inputs[i].slot, .frames = words + PARSER_FRAME, .first = frames};
        TRY(find_features(p, &p->slot[inputs[i].slot].sentence, &p->reading[n]));
        frames += (size_t)p->reading[n++].frames;
    }
    *sentences = n;
    return RILL_OK;
}

/* --- the call ----------------------------------------------------------------------------------------------------- */

enum {
    BLOCK = 64,         /* sentences */
    BLOCK_FRAMES = 512, /* unless one sentence alone has more: gates of 512 frames take 2.4 MB at H = 144 */
    SPAN_SENTENCES = 3  /* least sentences worth a unit of their own */
};

/* The m sentences of one call: those of each span stand together, in order of falling length. */
typedef struct batch {
    parser *p;
    rill_cut cut;
    int32_t *given;                 /* [m] frames in the order of the readings */
    int32_t *order;                 /* [m] readings in order of falling length */
    rill_room **room;               /* [m] of the readings' slots */
    const parser_reading **reading; /* [m] what stands at this place */
    size_t *dealt;                  /* [spans] places filled so far */
    size_t frames;                  /* most of a block */
    char *scratch;                  /* [spans, span_bytes] */
    size_t span_bytes;
} batch;

/* --- a block's memory --------------------------------------------------------------------------------------------- */

/* n sentences with `frames` frames in all; frames of sentence i begin at first[i]. */
typedef struct block {
    const batch *b;
    const parser_reading *const *reading; /* [n] */
    size_t n, frames;
    int32_t *length;        /* [n] frames to be read in the direction at work */
    int32_t *first;         /* [n] */
    const int32_t **input;  /* [n] -> frames in the order they are read */
    float **out;            /* [n] */
    int32_t *index;         /* [n] */
    float *state;           /* [n, 2H] h, c */
    float *gates;           /* [n, 4H] */
    float *ends;            /* [n, 2D] */
    float *bias;            /* [PRODUCTS * D] of one sentence */
    int32_t *forward;       /* [frames] 0, 1, 2, ... */
    int32_t *backward;      /* [frames] a sentence's frames from last to first */
    int32_t *tag;           /* [frames] */
    float *x;               /* [frames, E] */
    float *start;           /* [frames, 8H] gates' inputs, forward then backward; of either layer in turn */
    float *outputs;         /* [frames, 2H] of the first layer */
    float *positions;       /* [frames, 2H] p_0 .. p_n of a sentence from its first frame on */
    int32_t *untagged;      /* [frames] frames whose tag is to be predicted */
    float *logits;          /* [frames, tags] */
    int32_t *best, *counts; /* [frames] */
} block;

static void lay_out_block(const batch *b, block *x, rill_carver *carver)
{
    const parser *p = b->p;
    const size_t n = b->cut.block, frames = b->frames, hidden = p->hidden;
    x->length = rill_carve(carver, n, sizeof *x->length);
    x->first = rill_carve(carver, n, sizeof *x->first);
    x->input = rill_carve(carver, n, sizeof *x->input);
    x->out = rill_carve(carver, n, sizeof *x->out);
    x->index = rill_carve(carver, n, sizeof *x->index);
    x->state = rill_carve(carver, n * 2 * hidden, sizeof *x->state);
    x->gates = rill_carve(carver, n * 4 * hidden, sizeof *x->gates);
    x->ends = rill_carve(carver, n * 2 * p->net, sizeof *x->ends);
    x->bias = rill_carve(carver, PRODUCTS * p->net, sizeof *x->bias);
    x->forward = rill_carve(carver, frames, sizeof *x->forward);
    x->backward = rill_carve(carver, frames, sizeof *x->backward);
    x->tag = rill_carve(carver, frames, sizeof *x->tag);
    x->x = rill_carve(carver, frames * p->embedding, sizeof *x->x);
    x->start = rill_carve(carver, frames * 8 * hidden, sizeof *x->start);
    x->outputs = rill_carve(carver, frames * 2 * hidden, sizeof *x->outputs);
    x->positions = rill_carve(carver, frames * 2 * hidden, sizeof *x->positions);
    x->untagged = rill_carve(carver, frames, sizeof *x->untagged);
    x->logits = rill_carve(carver, frames * (size_t)p->tags, sizeof *x->logits);
    x->best = rill_carve(carver, frames, sizeof *x->best);
    x->counts = rill_carve(carver, frames, sizeof *x->counts);
}

static void lay_out(batch *b, rill_carver *carver)
{
    const size_t m = b->cut.n;
    block x;
    rill_carver span = {0};
    lay_out_block(b, &x, &span);
    b->span_bytes = span.used;
    b->given = rill_carve(carver, m, sizeof *b->given);
    b->order = rill_carve(carver, m, sizeof *b->order);
    b->room = rill_carve(carver, m, sizeof *b->room);
    b->reading = rill_carve(carver, m, sizeof *b->reading);
    b->dealt = rill_carve(carver, b->cut.spans, sizeof *b->dealt);
    b->scratch = rill_carve(carver, b->cut.spans * b->span_bytes, 1);
}

/* The block that begins at place `from`, of at most so many sentences as fit. */
static void begin_block(const batch *b, size_t from, size_t end, char *scratch, block *x)
{
    lay_out_block(b, x, &(rill_carver){.base = scratch});
    x->b = b;
    x->reading = b->reading + from;
    for (x->n = 0, x->frames = 0; from + x->n < end && x->n < b->cut.block; x->n++) {
        const size_t frames = (size_t)x->reading[x->n]->frames;
        if (x->frames + frames > b->frames) return;
        x->first[x->n] = (int32_t)x->frames;
        for (size_t t = 0; t < frames; t++) {
            x->forward[x->frames + t] = (int32_t)(x->frames + t);
            x->backward[x->frames + t] = (int32_t)(x->frames + frames - 1 - t);
        }
        x->frames += frames;
    }
}

/* --- layers ------------------------------------------------------------------------------------------------------- */

static void add_row(float *to, const float *table, int32_t row, size_t width)
{
    if (row < 0) return;
    for (size_t i = 0; i < width; i++) to[i] += table[(size_t)row * width + i];
}

/* x = word + shape + suffixes, in this order. */
static void embed(const block *x)
{
    const parser *p = x->b->p;
    const size_t width = p->embedding, features = parser_features(p);
    for (size_t i = 0; i < x->n; i++) {
        for (size_t t = 0; t < (size_t)x->reading[i]->frames; t++) {
            const int32_t *feature = p->feature + (x->reading[i]->first + t) * features;
            float *to = x->x + ((size_t)x->first[i] + t) * width;
            memcpy(to, p->word_rows + (size_t)feature[0] * width, width * sizeof *to);
            add_row(to, p->shape_rows, feature[1], width);
            for (size_t f = 2; f < features; f++) add_row(to, p->suffix_rows, feature[f], width);
        }
    }
}

/* One direction of a layer over the frames that `input` lists; sentences are read without their last frame when `shorter`. */
static void run_direction(const block *x, int layer, int backward, int shorter, float *out)
{
    const parser *p = x->b->p;
    const size_t hidden = p->hidden;
    const int32_t *frames = backward ? x->backward : x->forward;
    for (size_t i = 0; i < x->n; i++) {
        x->length[i] = x->reading[i]->frames - shorter;
        x->input[i] = frames + x->first[i];
        x->out[i] = out + (size_t)x->first[i] * 2 * hidden + (backward ? hidden : 0);
    }
    rill_lstm_batch lstm = {.kernels = &p->kernels,
                            .recurrent = &p->layer[layer].recurrent[backward],
                            .hidden = hidden,
                            .start = x->start + (backward ? 4 * hidden : 0),
                            .ld_start = 8 * hidden,
                            .m = x->n,
                            .length = x->length,
                            .input = x->input,
                            .out = x->out,
                            .ld_out = 2 * hidden,
                            .out_reversed = backward,
                            .h = x->state,
                            .c = x->state + hidden,
                            .ld_state = 2 * hidden,
                            .gates = x->gates,
                            .index = x->index};
    rill_lstm_run(&lstm);
}

static void run_first_layer(const block *x)
{
    const parser *p = x->b->p;
    rill_gemm gates = {.w = &p->layer[0].input,
                       .rows = x->frames,
                       .a = x->x,
                       .lda = p->embedding,
                       .bias = p->first_bias,
                       .c = x->start,
                       .ldc = 8 * p->hidden};
    p->kernels.gemm(&gates, NULL);
    run_direction(x, 0, 0, 0, x->outputs);
    run_direction(x, 0, 1, 0, x->outputs);
}

/* Given tags are taken over; frames without any are listed. */
static size_t list_untagged(const block *x)
{
    const parser *p = x->b->p;
    size_t n = 0;
    for (size_t i = 0; i < x->n; i++) {
        const sentence *s = &p->slot[x->reading[i]->slot].sentence;
        const int32_t first = x->first[i];
        x->tag[first] = x->tag[first + s->words + 1] = PARSER_NO_TAG;
        for (int32_t w = 0; w < s->words; w++) {
            x->tag[first + 1 + w] = s->tag[w];
            if (s->tag[w] == SENTENCE_NO_TAG) x->untagged[n++] = first + 1 + w;
        }
    }
    return n;
}

/* A count of 0 comes of weights that made no number of a row; such a word gets the first tag, and its sentence scores none. */
static void predict_tags(const block *x)
{
    const parser *p = x->b->p;
    const size_t n = list_untagged(x), tags = (size_t)p->tags;
    rill_gemm layer = {.w = &p->tagger,
                       .rows = n,
                       .a = x->outputs,
                       .lda = 2 * p->hidden,
                       .a_index = x->untagged,
                       .bias = p->tagger_bias,
                       .c = x->logits,
                       .ldc = tags};
    rill_best best = {.rows = n,
                      .symbols = tags,
                      .best = 1,
                      .logits = x->logits,
                      .ld_logits = tags,
                      .ids = x->best,
                      .ld_out = 1,
                      .counts = x->counts};
    p->kernels.gemm(&layer, NULL);
    p->kernels.best(&best, NULL);
    for (size_t i = 0; i < n; i++) x->tag[x->untagged[i]] = x->counts[i] > 0 ? x->best[i] : PARSER_NO_TAG + 1;
    for (size_t i = 0; i < x->n && n > 0; i++) {
        sentence *s = &p->slot[x->reading[i]->slot].sentence;
        memcpy(s->tag, x->tag + x->first[i] + 1, (size_t)s->words * sizeof *s->tag);
    }
}

/* Forward outputs are wanted up to the last word, backward ones down to the first: each leaves out one frame, and both then fill the
 * rows of positions 0 .. n. */
static void run_second_layer(const block *x)
{
    const parser *p = x->b->p;
    rill_gemm gates = {.w = &p->layer[1].input,
                       .rows = x->frames,
                       .a = x->outputs,
                       .lda = 2 * p->hidden,
                       .add = p->tag_start,
                       .ld_add = 8 * p->hidden,
                       .add_index = x->tag,
                       .c = x->start,
                       .ldc = 8 * p->hidden};
    p->kernels.gemm(&gates, NULL);
    run_direction(x, 1, 0, 1, x->positions);
    run_direction(x, 1, 1, 1, x->positions);
}

/* --- products ----------------------------------------------------------------------------------------------------- */

/* What the sentence's own ends contribute: x->ends. */
static void multiply_ends(const block *x)
{
    const parser *p = x->b->p;
    const size_t width = 2 * p->hidden;
    for (size_t i = 0; i < x->n; i++) x->index[i] = x->first[i] + x->reading[i]->frames - PARSER_FRAME; /* p_n */
    rill_gemm ends = {.w = &p->ends,
                      .rows = x->n,
                      .a = x->positions,
                      .lda = width,
                      .a_index = x->index,
                      .a2 = x->positions,
                      .lda2 = width,
                      .a2_index = x->first,
                      .k1 = width,
                      .bias = p->ends_bias,
                      .c = x->ends,
                      .ldc = 2 * p->net};
    p->kernels.gemm(&ends, NULL);
}

static void multiply_positions(const block *x)
{
    const parser *p = x->b->p;
    const size_t net = p->net, width = 2 * p->hidden;
    multiply_ends(x);
    memset(x->bias, 0, PRODUCTS * net * sizeof *x->bias);
    for (size_t i = 0; i < x->n; i++) {
        memcpy(x->bias + PRODUCT_C * net, x->ends + i * 2 * net, net * sizeof *x->bias);
        memcpy(x->bias + PRODUCT_LABEL_C * net, x->ends + i * 2 * net + net, net * sizeof *x->bias);
        rill_gemm products = {.w = &p->products,
                              .rows = (size_t)x->reading[i]->frames - 1, /* p_0 .. p_n */
                              .a = x->positions + (size_t)x->first[i] * width,
                              .lda = width,
                              .bias = x->bias,
                              .c = p->slot[x->reading[i]->slot].room.rows,
                              .ldc = PRODUCTS * net};
        p->kernels.gemm(&products, NULL);
    }
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static void run_span(void *call, size_t span)
{
    const batch *b = call;
    block x;
    const size_t end = rill_cut_from(&b->cut, span + 1);
    for (size_t from = rill_cut_from(&b->cut, span); from < end; from += x.n) {
        begin_block(b, from, end, b->scratch + span * b->span_bytes, &x);
        embed(&x);
        run_first_layer(&x);
        predict_tags(&x);
        run_second_layer(&x);
        multiply_positions(&x);
    }
}

/* Longest first, to each span in turn. */
static void deal(batch *b)
{
    const parser *p = b->p;
    size_t span = 0;
    rill_lstm_order(b->cut.n, b->given, b->order);
    memset(b->dealt, 0, b->cut.spans * sizeof *b->dealt);
    for (size_t i = 0; i < b->cut.n; i++, span = (span + 1) % b->cut.spans) {
        while (rill_cut_from(&b->cut, span) + b->dealt[span] == rill_cut_from(&b->cut, span + 1))
            span = (span + 1) % b->cut.spans;
        b->reading[rill_cut_from(&b->cut, span) + b->dealt[span]++] = &p->reading[b->order[i]];
    }
}

static rill_status make_rooms(batch *b)
{
    parser *p = b->p;
    for (size_t i = 0; i < b->cut.n; i++) {
        b->given[i] = p->reading[i].frames;
        b->room[i] = &p->slot[p->reading[i].slot].room;
    }
    return rill_rooms_make(&p->rooms, PRODUCTS * p->net, b->cut.n, b->room, b->given);
}

/* Frames of the largest block there can be. */
static size_t most_frames(const parser *p, size_t m)
{
    size_t longest = 0, all = 0;
    for (size_t i = 0; i < m; i++) {
        const size_t frames = (size_t)p->reading[i].frames;
        if (frames > longest) longest = frames;
        all += frames;
    }
    const size_t most = all < BLOCK_FRAMES ? all : BLOCK_FRAMES;
    return most > longest ? most : longest;
}

rill_status parser_encode(void *self, int32_t m, rill_input *inputs)
{
    parser *p = self;
    batch b = {.p = p};
    size_t sentences;
    TRY(read_inputs(p, m, inputs, &sentences));
    if (sentences == 0) return RILL_OK;
    b.cut = rill_cut_make(p->pool, sentences, SPAN_SENTENCES, BLOCK);
    b.frames = most_frames(p, sentences);
    rill_carver carver = {0};
    lay_out(&b, &carver);
    TRY(parser_carve_again(p, &carver));
    lay_out(&b, &carver);
    TRY(make_rooms(&b));
    deal(&b);
    rill_pool_run(p->pool, run_span, &b, b.cut.spans);
    return RILL_OK;
}
