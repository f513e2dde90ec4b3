/* Admitting inputs: text to pieces, pieces through the encoder, its output into slots.
 *
 * Inputs of a run stand one behind the other, each followed by the end symbol. A long input runs by itself, so that when the memory
 * does not suffice for it, it fails alone.
 * Invariant: an input that fails takes no part in what follows. Divisions: text to pieces · positions · runs. */
#include "grow.h"
#include "seq2seq.h"

enum {
    LONG = 512,            /* pieces of an input that runs by itself */
    LENGTH_FACTOR = 3,     /* an output has at most so many actions per piece of the input ... */
    LENGTH_ALLOWANCE = 50, /* ... and so many more: marian-decoder's factor, and room for short inputs */
    POSITION_BYTES = 64    /* of text, at most, for each of the model's positions: many times what pieces have */
};

/* --- text to pieces ----------------------------------------------------------------------------------------------- */

static int32_t longest_output(const seq_model *m, int32_t length)
{
    int64_t bound = (int64_t)LENGTH_FACTOR * length + LENGTH_ALLOWANCE;
    return bound < m->max_length ? (int32_t)bound : m->max_length;
}

/* SentencePiece takes quadratic time over a word: half a minute for one of a megabyte. What has so many bytes would
 * have too many pieces anyway, or be of no use. */
static rill_status check_length(const seq_runner *r, size_t length)
{
    size_t most = (size_t)r->model->usual * POSITION_BYTES;
    if (length <= most) return RILL_OK;
    return rill_fail(r->ctx, RILL_ERR_INPUT, "expected at most %zu bytes for a model of %d positions, found %zu", most,
                     r->model->usual, length);
}

/* Bring one input to numbers; what is wrong with it is its own failure. */
static rill_status read_input(seq_runner *r, rill_input *input, rill_ids *ids, seq_reading *reading)
{
    const seq_model *m = r->model;
    const seq_net *net = m->net[0];
    const size_t marks = (size_t)(net->source_begin >= 0) + (size_t)(net->source_end >= 0);
    *reading = (seq_reading){.input = input, .offset = ids->used};
    const char *text = input->text;
    size_t length = input->length;
    rill_status status = check_length(r, length);
    rill_opening *opening = &r->opening[input->slot];
    if (status == RILL_OK && m->reads_text) status = seq_seen(r->ctx, &text, &length, &r->seen, &r->seen_room);
    if (status == RILL_OK) status = rill_codec_read(net->text, text, length, ids, opening);
    const size_t count = ids->used - reading->offset;
    if (status == RILL_OK && count > (size_t)m->positions)
        status = rill_fail(r->ctx, RILL_ERR_INPUT, "expected at most %d pieces, found %zu", m->positions - (int)marks,
                           count - marks);
    if (status == RILL_ERR_INPUT) {
        rill_input_fail(input, status, "%s", rill_error(r->ctx));
        ids->used = reading->offset;
        return RILL_OK;
    }
    if (status == RILL_OK && count == 0) input->status = RILL_EMPTY;
    if (status != RILL_OK || count == 0) return status;
    reading->length = (int32_t)count;
    input->size = reading->length;
    input->max_length = longest_output(m, reading->length);
    return RILL_OK;
}

/* The inputs that are to be encoded, in order. */
static rill_status read_inputs(seq_runner *r, int32_t n, rill_input *inputs, size_t *readings)
{
    rill_ids ids = {.ctx = r->ctx, .ids = &r->ids, .room = &r->ids_room};
    TRY(GROW(r->ctx, r->reading, r->reading_room, (size_t)n, "inputs"));
    *readings = 0;
    for (int32_t i = 0; i < n; i++) {
        TRY(read_input(r, &inputs[i], &ids, &r->reading[*readings]));
        *readings += inputs[i].status == RILL_OK;
    }
    return RILL_OK;
}

/* --- positions ---------------------------------------------------------------------------------------------------- */

rill_status seq_reach(seq_runner *r, size_t count)
{
    const seq_model *m = r->model;
    if (count <= r->reached) return RILL_OK;
    for (size_t i = 0; i < m->nets; i++)
        if (m->net[i]->kind->reach != NULL) TRY(m->net[i]->kind->reach(r, m->net[i], r->reached, count));
    r->reached = count;
    return RILL_OK;
}

/* --- runs --------------------------------------------------------------------------------------------------------- */

/* Inputs that run together, neighbours whose numbers stand behind each other, and their columns. */
typedef struct group {
    seq_reading *reading; /* [inputs] */
    size_t inputs, pieces, longest;
    int32_t *length, *slot; /* [inputs] */
    int32_t *position;      /* [pieces] */
} group;

static void lay_out(group *g, rill_carver *c)
{
    g->length = rill_carve(c, g->inputs, sizeof *g->length);
    g->slot = rill_carve(c, g->inputs, sizeof *g->slot);
    g->position = rill_carve(c, g->pieces, sizeof *g->position);
}

/* A long input, or the neighbours that are not. */
static group find_group(seq_reading *reading, size_t count)
{
    group g = {.reading = reading};
    for (; g.inputs < count; g.inputs++) {
        const size_t length = (size_t)reading[g.inputs].length;
        if (g.inputs > 0 && (length > LONG || g.longest > LONG)) break;
        g.pieces += length;
        if (length > g.longest) g.longest = length;
    }
    return g;
}

static rill_status fill_columns(seq_runner *r, group *g)
{
    rill_carver c = {0};
    int32_t *position;
    lay_out(g, &c);
    TRY(seq_carve_again(r, &c));
    lay_out(g, &c);
    position = g->position;
    for (size_t i = 0; i < g->inputs; i++) {
        g->length[i] = g->reading[i].length;
        g->slot[i] = g->reading[i].input->slot;
        for (int32_t t = 0; t < g->length[i]; t++) *position++ = t;
    }
    return RILL_OK;
}

/* The slot's symbols, for all nets. */
static rill_status make_list(seq_runner *r, const seq_reading *reading)
{
    const seq_model *m = r->model;
    if (m->shortlist == NULL) return RILL_OK;
    TRY(seq_list_make(m->shortlist, r->ctx, r->ids + reading->offset, reading->length, &r->list));
    for (size_t i = 0; i < m->nets; i++)
        TRY(rill_stream_list(r->stream, m->net[i]->list, reading->input->slot, r->list.n, r->list.symbol));
    return RILL_OK;
}

static rill_status encode_group(seq_runner *r, group *g)
{
    TRY(seq_reach(r, g->longest));
    TRY(fill_columns(r, g));
    TRY(rill_stream_slots(r->stream, (int32_t)g->inputs, g->slot, g->length));
    for (size_t i = 0; i < g->inputs; i++) TRY(make_list(r, &g->reading[i]));
    const int32_t *const columns[] = {g->length, g->slot, r->ids + g->reading[0].offset, g->position};
    return rill_stream_run(
        r->stream, r->model->programs.encode,
        &(rill_run_arguments){.struct_size = sizeof(rill_run_arguments), .n = (int32_t)g->inputs, .columns = columns});
}

/* What a long input needs may be more than there is when all others have enough: that is its own failure then. */
static rill_status forgive(seq_runner *r, const group *g, rill_status status)
{
    rill_input *input = g->reading[0].input;
    if (status != RILL_ERR_MEMORY || g->longest <= LONG) return status;
    rill_input_fail(input, RILL_ERR_INPUT, "%d pieces are too many for the memory there is: %s", g->reading[0].length,
                    rill_error(r->ctx));
    rill_stream_drop(r->stream, input->slot);
    return RILL_OK;
}

/* Inputs are read once: all nets have the same vocabulary. */
rill_status seq_encode(void *self, int32_t n, rill_input *inputs)
{
    seq_runner *r = self;
    size_t readings;
    TRY(read_inputs(r, n, inputs, &readings));
    for (size_t i = 0; i < readings;) {
        group g = find_group(r->reading + i, readings - i);
        TRY(forgive(r, &g, encode_group(r, &g)));
        i += g.inputs;
    }
    return RILL_OK;
}
