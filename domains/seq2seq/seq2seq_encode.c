/* Encodes inputs: splits texts into sentences, removes invisible characters, tokenizes, runs the encoder.
 *
 * Texts are split because translation models often stop early on long ones. Inputs are concatenated without padding. A long input runs
 * alone. */
#include <string.h>

#include "sentence_splitter.h"
#include "seq2seq.h"

enum {
    MAX_SENTENCE_TOKENS = 128, /* inputs with more tokens are split into sentences; the limit is Bergamot's */
    MAX_SENTENCE_BYTES = 8192, /* inputs with more bytes are split without counting their tokens */
    FIRST_UNSPACED = 0xE00,    /* first code point of the scripts written without spaces */
    FIRST_SYMBOL = 0x10000     /* first code point of emoji and other symbols */
};

/* --- sentence splitting ------------------------------------------------------------------------------------------- */

static rill_status is_long(const seq_model *m, rill_context *ctx, const char *text, size_t length, int *out)
{
    const size_t max_tokens = m->max_input_length < MAX_SENTENCE_TOKENS ? (size_t)m->max_input_length
                                                                        : MAX_SENTENCE_TOKENS;
    int32_t *ids = NULL;
    size_t capacity = 0;
    rill_ids read = {.ctx = ctx, .ids = &ids, .capacity = &capacity};
    rill_output_prefix opening;
    *out = length > MAX_SENTENCE_BYTES;
    if (length < max_tokens || *out) return RILL_OK;
    const rill_status status = rill_tokenizer_encode(m->net[0]->tokenizer, text, length, &read, &opening);
    *out = status == RILL_OK && read.n_ids > max_tokens;
    rill_free(ctx, ids, capacity * sizeof *ids);
    if (status != RILL_ERR_INPUT) return status;
    rill_error_clear(ctx); /* ignored here: encoding the input will report the error */
    return RILL_OK;
}

typedef struct sentence_collector {
    size_t offset;
    rill_part *part;
    int32_t capacity, n_parts;
} sentence_collector;

static int collect_sentence(void *user, size_t begin, size_t end)
{
    sentence_collector *f = user;
    if (f->n_parts < f->capacity) f->part[f->n_parts] = (rill_part){f->offset + begin, end - begin};
    return ++f->n_parts == INT32_MAX;
}

rill_status seq_split(void *model, rill_context *ctx, int always, const char *text, size_t length, rill_part *part,
                      int32_t capacity, int32_t *n, size_t *head)
{
    const seq_model *m = model;
    sentence_collector f = {.part = part, .capacity = capacity};
    int cuts = always;
    *n = 0;
    const int translates = rill_tokenizer_is_translation(m->net[0]->tokenizer, text, length, head);
    if (translates < 0)
        return rill_fail(ctx, RILL_ERR_NOT_FOUND,
                         "the model's inputs are not texts that can be translated sentence by sentence");
    if (translates == 0) return RILL_OK;
    if (!always) TRY(is_long(m, ctx, text, length, &cuts));
    f.offset = *head;
    /* *head: number of bytes before the sentences. They may be language columns, the first of which is the source language. If it is
     * empty or absent, use the model's. */
    const char *language = *head > 0 && text[0] != '\t' && memchr(text, '\t', *head) != NULL ? text
                                                                                             : m->source_language;
    if (cuts) rill_sentences_split(text + *head, length - *head, language, collect_sentence, &f);
    *n = f.n_parts > 1 ? f.n_parts : 1;
    return RILL_OK;
}

/* --- invisible characters --------------------------------------------------------------------------------------- */

static int has_spaces(int32_t c)
{
    return c < FIRST_UNSPACED || c >= FIRST_SYMBOL;
}

/* Return 1 for a soft hyphen, word joiner or byte order mark. Also for a zero-width space between characters of scripts written with
 * spaces. */
static int is_ignorable(int32_t c, int32_t prev_char, int32_t next_char)
{
    return c == 0xAD || c == 0x2060 || c == 0xFEFF || (c == 0x200B && has_spaces(prev_char) && has_spaces(next_char));
}

/* Return 1 for a line or page separator; a space replaces it, because most tokenizers drop it or do not know it. */
static int ends_line(int32_t c)
{
    return c == 0xB || c == 0xC || c == 0x85 || c == 0x2028 || c == 0x2029;
}

/* Remove invisible characters and replace unusual line separators by spaces. *text and *length may become those of a copy in the arena. */
static rill_status clean_text(rill_arena *arena, const char **text, size_t *length, char **copy)
{
    size_t next, to = 0;
    int32_t prev = 0;
    int any = 0;
    for (size_t pos = 0; pos + 1 < *length && !any; pos++) {
        const unsigned char c = (unsigned char)(*text)[pos];
        any = c == 0xC2 || c == 0xE2 || c == 0xEF || ends_line(c);
    }
    if (!any || rill_utf8_check(*text, *length) < *length) return RILL_OK; /* invalid UTF-8 is refused later */
    TRY(GROW(arena, *copy, *length, "an input's text"));
    for (size_t pos = 0; pos < *length; pos = next) {
        next = pos;
        const int32_t c = rill_utf8_read(*text, *length, &next);
        size_t after = next;
        if (is_ignorable(c, prev, next < *length ? rill_utf8_read(*text, *length, &after) : 0)) continue;
        if (ends_line(c)) {
            (*copy)[to++] = ' ';
        } else {
            memcpy(*copy + to, *text + pos, next - pos);
            to += next - pos;
        }
        prev = c;
    }
    *text = *copy;
    *length = to;
    return RILL_OK;
}

enum {
    LONG_INPUT = 512,       /* inputs with more tokens than this are encoded alone */
    LENGTH_FACTOR = 3,      /* maximum actions of an output: LENGTH_FACTOR * input tokens + LENGTH_ALLOWANCE */
    LENGTH_ALLOWANCE = 50,  /* added for short inputs; the factor is that of marian-decoder */
    MAX_POSITION_BYTES = 64 /* maximum bytes of text per position of the model; far more than a token has */
};

/* --- tokenization ------------------------------------------------------------------------------------------------- */

static int32_t max_output_length(const seq_model *m, int32_t length)
{
    int64_t bound = (int64_t)LENGTH_FACTOR * length + LENGTH_ALLOWANCE;
    return bound < m->max_length ? (int32_t)bound : m->max_length;
}

/* Fail if the input has too many bytes: SentencePiece's time is quadratic in a word's length. */
static rill_status check_length(const seq_runner *r, size_t length)
{
    size_t max_bytes = (size_t)r->model->config_positions * MAX_POSITION_BYTES;
    if (length <= max_bytes) return RILL_OK;
    return rill_fail(r->ctx, RILL_ERR_INPUT, "expected at most %zu bytes for a model of %d positions, found %zu",
                     max_bytes, r->model->config_positions, length);
}

/* Tokenize one input. If it is invalid, record the failure in `input` and return RILL_OK, so that the other inputs
 * continue. */
static rill_status read_input(seq_runner *r, rill_input *input, rill_ids *ids, seq_pending_input *reading)
{
    const seq_model *m = r->model;
    const seq_net *net = m->net[0];
    const size_t marks = (size_t)(net->tokenizer->source_bos >= 0) + (size_t)(net->tokenizer->source_eos >= 0);
    *reading = (seq_pending_input){.input = input, .offset = ids->n_ids};
    const char *text = input->text;
    size_t length = input->length;
    rill_status status = check_length(r, length);
    rill_output_prefix *opening = &r->output_prefix[input->slot];
    if (status == RILL_OK && m->takes_raw_text) status = clean_text(&r->arena, &text, &length, &r->clean_text);
    if (status == RILL_OK) status = rill_tokenizer_encode(net->tokenizer, text, length, ids, opening);
    const size_t count = ids->n_ids - reading->offset;
    if (status == RILL_OK && count > (size_t)m->max_input_length)
        status = rill_fail(r->ctx, RILL_ERR_INPUT, "expected at most %d tokens, found %zu",
                           m->max_input_length - (int)marks, count - marks);
    if (status == RILL_ERR_INPUT) {
        rill_input_fail(input, status, "%s", rill_error(r->ctx));
        ids->n_ids = reading->offset;
        return RILL_OK;
    }
    if (status == RILL_OK && count == 0) input->status = RILL_EMPTY;
    if (status != RILL_OK || count == 0) return status;
    reading->length = (int32_t)count;
    input->size = reading->length;
    input->max_length = max_output_length(m, reading->length);
    return RILL_OK;
}

/* Tokenize the inputs, and list in r->pending those that must be encoded. *readings = their number. */
static rill_status read_inputs(seq_runner *r, int32_t n, rill_input *inputs, size_t *readings)
{
    rill_ids ids = {.ctx = r->ctx, .ids = &r->ids, .capacity = &r->ids_capacity};
    TRY(GROW(&r->arena, r->pending, (size_t)n, "inputs"));
    *readings = 0;
    for (int32_t i = 0; i < n; i++) {
        TRY(read_input(r, &inputs[i], &ids, &r->pending[*readings]));
        *readings += inputs[i].status == RILL_OK;
    }
    return RILL_OK;
}

/* --- position embeddings ------------------------------------------------------------------------------------------ */

rill_status seq_prepare_positions(seq_runner *r, size_t count)
{
    const seq_model *m = r->model;
    if (count <= r->positions_ready) return RILL_OK;
    for (size_t i = 0; i < m->n_nets; i++)
        if (m->net[i]->arch->prepare_positions != NULL)
            TRY(m->net[i]->arch->prepare_positions(r, m->net[i], r->positions_ready, count));
    r->positions_ready = count;
    return RILL_OK;
}

/* --- encoding batches --------------------------------------------------------------------------------------------- */

/* Adjacent pending inputs that one run of the encoder graph encodes. */
typedef struct encode_batch {
    seq_pending_input *pending; /* [n_inputs] the inputs of this batch */
    size_t n_inputs, n_tokens, max_length;
} encode_batch;

/* Return the next batch: one long input alone, or adjacent short ones. */
static encode_batch next_encode_batch(seq_pending_input *reading, size_t count)
{
    encode_batch g = {.pending = reading};
    for (; g.n_inputs < count; g.n_inputs++) {
        const size_t length = (size_t)reading[g.n_inputs].length;
        if (g.n_inputs > 0 && (length > LONG_INPUT || g.max_length > LONG_INPUT)) break;
        g.n_tokens += length;
        if (length > g.max_length) g.max_length = length;
    }
    return g;
}

/* With a shortlist: compute the vocabulary subset of the input and store it in all nets, at the input's slot. */
static rill_status set_vocab_subset(seq_runner *r, const seq_pending_input *reading)
{
    const seq_model *m = r->model;
    if (m->shortlist == NULL) return RILL_OK;
    TRY(seq_vocab_subset_make(m->shortlist, &r->arena, r->ids + reading->offset, reading->length, &r->vocab_subset));
    for (size_t i = 0; i < m->n_nets; i++)
        TRY(rill_session_set_vocab_subset(r->session, m->net[i]->vocab_subset, reading->input->slot, r->vocab_subset.n,
                                          r->vocab_subset.ids));
    return RILL_OK;
}

static rill_status run_encode_batch(seq_runner *r, const encode_batch *g)
{
    const size_t n = g->n_inputs;
    TRY(seq_prepare_positions(r, g->max_length));
    TRY(GROW(&r->arena, r->column, 2 * n + g->n_tokens, "columns of inputs"));
    int32_t *length = r->column, *slot = length + n, *position = slot + n, *next = position;
    for (size_t i = 0; i < n; i++) {
        length[i] = g->pending[i].length;
        slot[i] = g->pending[i].input->slot;
        for (int32_t t = 0; t < length[i]; t++) *next++ = t;
    }
    TRY(rill_session_set_slots(r->session, (int32_t)n, slot, length));
    for (size_t i = 0; i < n; i++) TRY(set_vocab_subset(r, &g->pending[i]));
    const int32_t *const columns[] = {length, slot, r->ids + g->pending[0].offset, position};
    const rill_run_arguments run = {.struct_size = sizeof run, .n = (int32_t)n, .columns = columns};
    return rill_session_run(r->session, r->model->graphs.encode, &run);
}

/* Fail a long input, which is alone in its batch, if encoding it ran out of memory, and return RILL_OK. Otherwise return `status`. */
static rill_status fail_long_input(seq_runner *r, const encode_batch *g, rill_status status)
{
    rill_input *input = g->pending[0].input;
    if (status != RILL_ERR_MEMORY || g->max_length <= LONG_INPUT) return status;
    rill_input_fail(input, RILL_ERR_INPUT, "the input of %d tokens needs more memory than there is: %s",
                    g->pending[0].length, rill_error(r->ctx));
    rill_session_drop(r->session, input->slot);
    return RILL_OK;
}

/* Encode inputs. They are tokenized once for all nets of an ensemble, because the nets have the same vocabularies. */
rill_status seq_encode(void *self, int32_t n, rill_input *inputs)
{
    seq_runner *r = self;
    size_t readings;
    TRY(read_inputs(r, n, inputs, &readings));
    for (size_t i = 0; i < readings;) {
        encode_batch g = next_encode_batch(r->pending + i, readings - i);
        TRY(fail_long_input(r, &g, run_encode_batch(r, &g)));
        i += g.n_inputs;
    }
    return RILL_OK;
}
