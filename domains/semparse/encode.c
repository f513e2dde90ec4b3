/* Admitting questions: text to word ids, ids through the encoder, memory into slots.
 *
 * The encoder reads <s>, the question's words from last to first, </s>. Questions run together, longest first; a finished one
 * leaves the batch, so no row is padding (lstm.h). Behind the recurrence, each memory row is multiplied by the
 * context half of the attention layer, once per token here instead of once per expansion later (model.h).
 * A call may bring a thousand questions: they are taken in blocks whose states and gates stay in the nearest caches, and spans
 * of blocks are what the pool shares out.
 *
 * Invariant: an input that fails takes no part in what follows and leaves its slot free (length 0).
 * Divisions: text to ids · blocks · the whole. */
#include <string.h>

#include "lstm.h"
#include "model.h"

enum { FRAME = 2 }; /* <s> and </s> */

/* --- text to ids -------------------------------------------------------------------------------------------------- */

/* Write the framed ids behind those of the questions before: the words stand in reverse. */
static rill_status frame(semparse *s, const rill_word *token, size_t count, semparse_reading *reading)
{
    size_t end = reading->offset + count + FRAME;
    TRY(rill_grow(s->ctx, (void **)&s->ids, &s->ids_room, end, sizeof *s->ids, "word ids"));
    int32_t *ids = s->ids + reading->offset;
    *ids++ = SEMPARSE_START;
    for (size_t i = count; i-- > 0;) {
        int32_t id = rill_vocabulary_id(s->source, token[i].data, token[i].length);
        *ids++ = id >= 0 ? id : SEMPARSE_UNKNOWN;
    }
    *ids = SEMPARSE_END;
    reading->length = (int32_t)(count + FRAME);
    return RILL_OK;
}

/* Note which placeholders the question leaves unmentioned. One that was typed as such is a token like those that mentions have
 * become, and stands for itself. */
static void ban_unmentioned(semparse *s, int32_t slot, const rill_word *token, size_t count)
{
    size_t banned = 0;
    if (s->placeholders == 0) return;
    int32_t *ban = s->ban + (size_t)slot * s->placeholders;
    memset(s->mentioned, 0, (size_t)s->actions);
    for (size_t i = 0; i < count; i++) {
        int32_t action = rill_vocabulary_id(s->target, token[i].data, token[i].length);
        if (action >= 0) s->mentioned[action] = 1;
    }
    for (size_t i = 0; i < s->placeholders; i++)
        if (!s->mentioned[s->placeholder[i]]) ban[banned++] = s->placeholder[i];
    s->slot[slot].banned = banned;
}

/* Bring one input to ids; what is wrong with it is its own failure. On success reading->length is set, else 0. */
static rill_status read_input(semparse *s, rill_input *input, semparse_reading *reading)
{
    const rill_word *token;
    size_t count;
    reading->slot = input->slot;
    reading->length = 0;
    rill_status status = rill_question_prepare(s->question, input->text, input->length, s->tokenized, &token, &count,
                                               &s->slot[input->slot].mentions);
    if (status == RILL_ERR_INPUT) {
        rill_input_fail(input, status, "%s", rill_error(s->ctx));
        return RILL_OK;
    }
    if (status != RILL_OK) return status;
    input->size = (int64_t)count;
    if (count == 0) {
        rill_input_fail(input, RILL_ERR_INPUT, "empty input");
        return RILL_OK;
    }
    if (count > (size_t)s->max_input) {
        rill_input_fail(input, RILL_ERR_INPUT, "expected at most %d tokens, found %zu", s->max_input, count);
        return RILL_OK;
    }
    ban_unmentioned(s, input->slot, token, count);
    return frame(s, token, count, reading);
}

static rill_status read_inputs(semparse *s, int32_t m, rill_input *inputs, size_t *questions)
{
    TRY(rill_grow(s->ctx, (void **)&s->reading, &s->reading_room, (size_t)m, sizeof *s->reading, "questions"));
    size_t used = 0, n = 0;
    for (int32_t i = 0; i < m; i++) {
        semparse_reading *reading = &s->reading[n];
        reading->offset = used;
        TRY(read_input(s, &inputs[i], reading));
        used += (size_t)reading->length;
        n += reading->length > 0;
    }
    *questions = n;
    return RILL_OK;
}

/* --- blocks ------------------------------------------------------------------------------------------------------- */

enum {
    BLOCK = 64,        /* questions: gates and states of 64 rows take 300 KB at H = 200 */
    SPAN_QUESTIONS = 4 /* least questions worth a unit of their own */
};

/* The m questions of one call, in order of falling length. */
typedef struct batch {
    semparse *s;
    size_t m;
    rill_cut cut;
    int32_t *given;        /* [m] lengths in the order of the readings */
    rill_room **room;      /* [m] of the readings' slots */
    int32_t *order;        /* [m] reading that stands at this place */
    int32_t *length;       /* [m] */
    const int32_t **input; /* [m] -> ids */
    float **out;           /* [m] -> memory of the slot */
    char *scratch;         /* [spans, span_bytes] */
    size_t span_bytes;
} batch;

/* What a span needs while it runs. */
typedef struct states {
    int32_t *index; /* [block] */
    float *state;   /* [block, 2 ld] h, c */
    float *gates;   /* [block, 4H] */
} states;

static void lay_out_states(const batch *b, states *x, rill_carver *carver)
{
    x->index = rill_carve(carver, b->cut.block, sizeof *x->index);
    x->state = rill_carve(carver, b->cut.block * 2 * b->s->ld, sizeof *x->state);
    x->gates = rill_carve(carver, b->cut.block * 4 * b->s->hidden, sizeof *x->gates);
}

static void lay_out(batch *b, rill_carver *carver)
{
    states x;
    rill_carver span = {0};
    lay_out_states(b, &x, &span);
    b->span_bytes = span.used;
    b->given = rill_carve(carver, b->m, sizeof *b->given);
    b->room = rill_carve(carver, b->m, sizeof *b->room);
    b->order = rill_carve(carver, b->m, sizeof *b->order);
    b->length = rill_carve(carver, b->m, sizeof *b->length);
    b->input = rill_carve(carver, b->m, sizeof *b->input);
    b->out = rill_carve(carver, b->m, sizeof *b->out);
    b->scratch = rill_carve(carver, b->cut.spans * b->span_bytes, 1);
}

/* Give every slot of the readings room for memory, and behind it projected memory, of its question. */
static rill_status make_rooms(semparse *s, const batch *b)
{
    for (size_t i = 0; i < b->m; i++) b->room[i] = &s->slot[s->reading[i].slot].room;
    TRY(rill_rooms_make(&s->rooms, 2 * s->ld, b->m, b->room, b->given));
    for (size_t i = 0; i < b->m; i++) {
        int32_t index = s->reading[i].slot;
        const rill_room *room = &s->slot[index].room;
        s->memory[index] = room->rows;
        s->projected[index] = room->rows + room->capacity * s->ld;
    }
    return RILL_OK;
}

static rill_status gather_batch(batch *b)
{
    semparse *s = b->s;
    for (size_t i = 0; i < b->m; i++) b->given[i] = s->reading[i].length;
    rill_lstm_order(b->m, b->given, b->order);
    TRY(make_rooms(s, b));
    for (size_t i = 0; i < b->m; i++) {
        const semparse_reading *reading = &s->reading[b->order[i]];
        b->length[i] = reading->length;
        b->input[i] = s->ids + reading->offset;
        b->out[i] = s->slot[reading->slot].room.rows;
    }
    return RILL_OK;
}

/* The slot's own: last state, projected memory, and length, which says that it is in use. */
static void fill_slot(semparse *s, int32_t slot, int32_t length, const float *state)
{
    float *last = s->last + (size_t)slot * 2 * s->ld;
    memcpy(last, state, s->hidden * sizeof *state);
    memcpy(last + s->ld, state + s->ld, s->hidden * sizeof *state);
    s->length[slot] = length;
    const float *memory = s->memory[slot];
    float *projected = s->slot[slot].room.rows + s->slot[slot].room.capacity * s->ld;
    rill_gemm projection = {
        .w = &s->from_context, .rows = (size_t)length, .a = memory, .lda = s->ld, .c = projected, .ldc = s->ld};
    s->kernels.gemm(&projection, NULL);
}

static void run_block(const batch *b, const states *x, size_t from, size_t n)
{
    semparse *s = b->s;
    rill_lstm_batch encoder = {.kernels = &s->kernels,
                               .recurrent = &s->encoder.recurrent,
                               .hidden = s->hidden,
                               .start = s->encoder.start,
                               .ld_start = 4 * s->hidden,
                               .m = n,
                               .length = b->length + from,
                               .input = b->input + from,
                               .out = b->out + from,
                               .ld_out = s->ld,
                               .h = x->state,
                               .c = x->state + s->ld,
                               .ld_state = 2 * s->ld,
                               .gates = x->gates,
                               .index = x->index};
    rill_lstm_run(&encoder);
    for (size_t i = 0; i < n; i++)
        fill_slot(s, s->reading[b->order[from + i]].slot, b->length[from + i], x->state + i * 2 * s->ld);
}

static void run_span(void *call, size_t span)
{
    const batch *b = call;
    states x;
    lay_out_states(b, &x, &(rill_carver){.base = b->scratch + span * b->span_bytes});
    size_t end = rill_cut_from(&b->cut, span + 1);
    for (size_t from = rill_cut_from(&b->cut, span); from < end; from += b->cut.block)
        run_block(b, &x, from, end - from < b->cut.block ? end - from : b->cut.block);
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

rill_status semparse_encode(void *self, int32_t m, rill_input *inputs)
{
    semparse *s = self;
    batch b = {.s = s};
    TRY(read_inputs(s, m, inputs, &b.m));
    if (b.m == 0) return RILL_OK;
    b.cut = rill_cut_make(s->pool, b.m, SPAN_QUESTIONS, BLOCK);
    rill_carver carver = {0};
    lay_out(&b, &carver);
    TRY(semparse_carve_again(s, &carver));
    lay_out(&b, &carver);
    TRY(gather_batch(&b));
    rill_pool_run(s->pool, run_span, &b, b.cut.spans);
    return RILL_OK;
}
