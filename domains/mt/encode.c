/* Admitting inputs: text to pieces, pieces through the encoder, its output into slots.
 *
 * Inputs of a call stand one behind the other as rows of one matrix, each followed by the end symbol; attention looks
 * at an input's own rows, everything else treats all rows alike, and no row is padding. What the decoder's layers make
 * of the encoder's output does not depend on the output yet to come, so it is computed here, once per piece, and kept
 * with the slot. A call may bring a thousand inputs: they are taken in blocks of whole inputs whose rows stay in the
 * caches.
 *
 * Invariant: an input that fails takes no part in what follows. An empty one has a slot of length 0 and no rows.
 * Divisions: text to pieces · room in slots · layers · blocks. */
#include <math.h>
#include <string.h>

#include "model.h"

enum {
    BLOCK_ROWS = 512,      /* of inputs that go through the layers together; a longer input is a block by itself */
    SHARES = 1 << 20,      /* of attention that are kept at a time; all of a long input's would go with its square */
    LENGTH_FACTOR = 3,     /* an output has at most so many actions per piece of the input ... */
    LENGTH_ALLOWANCE = 50, /* ... and so many more: marian-decoder's factor, and room for short inputs */
    POSITION_BYTES = 64    /* of text, at most, for each of the model's positions: many times what pieces have */
};

/* --- text to pieces ----------------------------------------------------------------------------------------------- */

static int32_t longest_output(const mt_model *m, int32_t length)
{
    int64_t bound = (int64_t)LENGTH_FACTOR * length + LENGTH_ALLOWANCE;
    return bound < m->max_length ? (int32_t)bound : m->max_length;
}

/* SentencePiece takes quadratic time over a word: half a minute for one of a megabyte. What has so many bytes would
 * have too many pieces anyway, or be of no use. */
static rill_status check_length(mt_model *m, size_t length)
{
    size_t most = (size_t)m->positions * POSITION_BYTES;
    if (length <= most) return RILL_OK;
    return rill_fail(m->ctx, RILL_ERR_INPUT, "expected at most %zu bytes for a model of %d positions, found %zu", most,
                     m->positions, length);
}

/* Bring one input to numbers; what is wrong with it is its own failure. reading->length is 0 for an empty one. */
static rill_status read_input(mt_model *m, rill_input *input, mt_ids *ids, mt_reading *reading)
{
    *reading = (mt_reading){.input = input, .slot = input->slot, .offset = ids->used};
    rill_status status = check_length(m, input->length);
    if (status == RILL_OK) status = mt_text_read(m->text, input->text, input->length, ids);
    size_t count = ids->used - reading->offset;
    if (status == RILL_OK && count >= (size_t)m->positions)
        status = rill_fail(m->ctx, RILL_ERR_INPUT, "expected at most %d pieces, found %zu", m->positions - 1, count);
    if (status == RILL_ERR_INPUT) {
        rill_input_fail(input, status, "%s", rill_error(m->ctx));
        ids->used = reading->offset;
        return RILL_OK;
    }
    if (status != RILL_OK || count == 0) {
        input->max_length = 1;
        return status;
    }
    TRY(rill_grow(m->ctx, (void **)&m->ids, &m->ids_room, ids->used + 1, sizeof *m->ids, "an input's pieces"));
    m->ids[ids->used++] = m->settings.source_end;
    reading->length = (int32_t)count + 1;
    input->size = reading->length;
    input->max_length = longest_output(m, reading->length);
    return RILL_OK;
}

/* The inputs that did not fail, in order. */
static rill_status read_inputs(mt_model *m, int32_t n, rill_input *inputs, size_t *readings)
{
    mt_ids ids = {.ctx = m->ctx, .ids = &m->ids, .room = &m->ids_room};
    TRY(rill_grow(m->ctx, (void **)&m->reading, &m->reading_room, (size_t)n, sizeof *m->reading, "inputs"));
    *readings = 0;
    for (int32_t i = 0; i < n; i++) {
        TRY(read_input(m, &inputs[i], &ids, &m->reading[*readings]));
        *readings += inputs[i].status >= 0;
    }
    return RILL_OK;
}

/* --- room in slots ------------------------------------------------------------------------------------------------ */

static rill_status make_room(mt_model *m, const mt_reading *reading)
{
    mt_slot *slot = &m->slot[reading->slot];
    size_t floats = m->decoder.layers * (size_t)reading->length * 2 * m->width;
    m->slot_length[reading->slot] = slot->length = reading->length;
    if (slot->capacity >= floats) return RILL_OK;
    rill_free(m->ctx, slot->rows, slot->capacity * sizeof *slot->rows);
    slot->capacity = 0;
    slot->rows = rill_alloc(m->ctx, floats * sizeof *slot->rows);
    if (slot->rows == NULL) return rill_fail_memory(m->ctx, floats * sizeof *slot->rows, "encoder memory");
    slot->capacity = floats;
    return RILL_OK;
}

/* --- layers ------------------------------------------------------------------------------------------------------- */

/* Inputs that go through the layers together, and the arrays they need on the way. */
typedef struct block {
    const mt_reading *reading; /* [inputs], none of them empty */
    const int32_t *ids;        /* [rows] */
    size_t inputs, rows, longest;
    size_t together;      /* rows that attend at a time */
    int32_t *position;    /* [rows] */
    int32_t *input;       /* [rows] which of the inputs a row belongs to */
    int32_t *length;      /* [inputs] */
    const float **keys;   /* [inputs] */
    const float **values; /* [inputs] */
    float *x;             /* [rows, D] */
    float *query;         /* [rows, D] */
    float *memory;        /* [rows, 2D] */
    float *context;       /* [rows, D] */
    float *inner;         /* [rows, F] */
    float *weights;       /* [together, heads, longest] */
} block;

static void lay_out(const mt_model *m, block *b, rill_carver *c)
{
    b->position = rill_carve(c, b->rows, sizeof *b->position);
    b->input = rill_carve(c, b->rows, sizeof *b->input);
    b->length = rill_carve(c, b->inputs, sizeof *b->length);
    b->keys = rill_carve(c, b->inputs, sizeof *b->keys);
    b->values = rill_carve(c, b->inputs, sizeof *b->values);
    b->x = rill_carve(c, b->rows * m->width, sizeof *b->x);
    b->query = rill_carve(c, b->rows * m->width, sizeof *b->query);
    b->memory = rill_carve(c, b->rows * 2 * m->width, sizeof *b->memory);
    b->context = rill_carve(c, b->rows * m->width, sizeof *b->context);
    b->inner = rill_carve(c, b->rows * m->encoder.inner, sizeof *b->inner);
    b->weights = rill_carve(c, b->together * m->encoder.heads * b->longest, sizeof *b->weights);
}

/* Which piece of which input a row is. */
static void place_rows(const mt_model *m, block *b)
{
    for (size_t i = 0, row = 0; i < b->inputs; i++) {
        b->length[i] = b->reading[i].length;
        b->keys[i] = b->memory + row * 2 * m->width;
        b->values[i] = b->keys[i] + m->width;
        for (int32_t t = 0; t < b->length[i]; t++, row++) {
            b->position[row] = t;
            b->input[row] = (int32_t)i;
        }
    }
}

/* Each row to all rows of its input. */
static void attend(const mt_model *m, const block *b)
{
    const size_t head = m->width / m->encoder.heads;
    for (size_t from = 0; from < b->rows; from += b->together) {
        rill_attention attention = {.rows = b->rows - from < b->together ? b->rows - from : b->together,
                                    .heads = m->encoder.heads,
                                    .key_width = head,
                                    .scale = 1.0f / sqrtf((float)head),
                                    .query = b->query + from * m->width,
                                    .ld_query = m->width,
                                    .slot_keys = b->keys,
                                    .ld_keys = 2 * m->width,
                                    .slot_values = b->values,
                                    .ld_values = 2 * m->width,
                                    .length = b->length,
                                    .slot = b->input + from,
                                    .weights = b->weights,
                                    .ld_weights = b->longest,
                                    .out = b->context + from * m->width,
                                    .ld_out = m->width};
        m->kernels.attention(&attention, m->threads.pool);
    }
}

static void run_layer(mt_model *m, const mt_layer *layer, const block *b)
{
    rill_gemm query = mt_product(&layer->self.query, b->rows, b->x, b->query);
    rill_gemm memory = mt_product(&layer->self.memory, b->rows, b->x, b->memory);
    m->kernels.gemm(&query, m->threads.pool);
    m->kernels.gemm(&memory, m->threads.pool);
    attend(m, b);
    mt_add_norm(m, &layer->self.out, &layer->self.norm, b->rows, b->context, b->x);
    mt_feed_forward(m, &layer->feed, b->rows, b->x, b->inner);
}

/* What decoder layer `index` will attend to. */
static void fill_slots(mt_model *m, size_t index, const block *b)
{
    rill_gemm memory = mt_product(&m->decoder.layer[index].cross.memory, b->rows, b->x, b->memory);
    m->kernels.gemm(&memory, m->threads.pool);
    for (size_t i = 0; i < b->inputs; i++) {
        size_t floats = (size_t)b->length[i] * 2 * m->width;
        memcpy(m->slot[b->reading[i].slot].rows + index * floats, b->keys[i], floats * sizeof(float));
    }
}

/* --- blocks ------------------------------------------------------------------------------------------------------- */

static rill_status run_block(mt_model *m, block *b)
{
    const size_t together = SHARES / (m->encoder.heads * b->longest);
    rill_carver carver = {0};
    b->together = together < 1 ? 1 : together < b->rows ? together : b->rows;
    lay_out(m, b, &carver);
    TRY(mt_carve_again(m, &carver));
    lay_out(m, b, &carver);
    place_rows(m, b);
    const mt_symbols symbols = {.rows = b->rows, .most = b->longest, .id = b->ids, .position = b->position};
    TRY(mt_embed(m, &m->encoder, &symbols, b->x));
    for (size_t i = 0; i < m->encoder.layers; i++) run_layer(m, &m->encoder.layer[i], b);
    for (size_t i = 0; i < m->decoder.layers; i++) fill_slots(m, i, b);
    return RILL_OK;
}

/* The inputs from the first on that make a block: neighbours, whose numbers stand behind each other. */
static block find_block(const mt_reading *reading, size_t count)
{
    block b = {.reading = reading};
    for (; b.inputs < count; b.inputs++) {
        size_t length = (size_t)reading[b.inputs].length;
        if (length == 0 || (b.inputs > 0 && b.rows + length > BLOCK_ROWS)) break;
        b.rows += length;
        if (length > b.longest) b.longest = length;
    }
    return b;
}

/* What an input longer than a block needs may be more than there is when all others have enough: that is its own failure
 * then. */
static rill_status forgive(mt_model *m, mt_reading *reading, rill_status status)
{
    if (status != RILL_ERR_MEMORY || reading->length <= BLOCK_ROWS) return status;
    rill_input_fail(reading->input, RILL_ERR_INPUT, "%d pieces are too many for the memory there is: %s",
                    reading->length, rill_error(m->ctx));
    m->slot_length[reading->slot] = m->slot[reading->slot].length = reading->length = 0;
    return RILL_OK;
}

/* Into the model's slots. */
static rill_status encode_readings(mt_model *m, mt_reading *reading, size_t readings, const int32_t *ids)
{
    for (size_t i = 0; i < readings; i++) {
        TRY(forgive(m, &reading[i], make_room(m, &reading[i])));
        if (m->shortlist == NULL) continue;
        TRY(mt_list_make(m, ids + reading[i].offset, reading[i].length, &m->slot[reading[i].slot].list));
    }
    for (size_t i = 0; i < readings;) {
        block b = find_block(reading + i, readings - i);
        b.ids = ids + reading[i].offset;
        if (b.inputs > 0) TRY(forgive(m, &reading[i], run_block(m, &b)));
        i += b.inputs > 0 ? b.inputs : 1;
    }
    return RILL_OK;
}

/* Inputs are read once: all models of an ensemble have the same vocabulary. */
rill_status mt_encode(mt_model *m, int32_t n, rill_input *inputs)
{
    size_t readings;
    TRY(read_inputs(m, n, inputs, &readings));
    for (mt_model *one = m; one != NULL; one = one->next) TRY(encode_readings(one, m->reading, readings, m->ids));
    return RILL_OK;
}
