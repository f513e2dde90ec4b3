/* Admitting questions: text to word ids, ids through the encoder into slots.
 *
 * The encoder reads <s>, the question's words from last to first, </s>. Invariant: an input that fails takes no part in what follows
 * and leaves its slot free.
 * Divisions: text to ids · names · the whole. */
#include <string.h>

#include "grow.h"
#include "model.h"

enum { FRAME = 2 }; /* <s> and </s> */

/* --- text to ids -------------------------------------------------------------------------------------------------- */

/* Write the framed ids from `at` on: the words stand in reverse. */
static rill_status frame(semparse_runner *r, const rill_slice *token, size_t count, size_t at)
{
    TRY(GROW(r->ctx, r->word, r->word_room, at + count + FRAME, "word ids"));
    int32_t *word = r->word + at;
    *word++ = SEMPARSE_START;
    for (size_t i = count; i-- > 0;) {
        int32_t id = rill_vocabulary_id(r->model->source, token[i].data, token[i].length);
        *word++ = id >= 0 ? id : SEMPARSE_UNKNOWN;
    }
    *word = SEMPARSE_END;
    return RILL_OK;
}

/* Note which placeholders a question leaves unmentioned; none where it is in token form. One that was typed as such is a token like those
 * that mentions have become, and stands for itself. */
static rill_status list_unmentioned(semparse_runner *r, int32_t slot, int tokenized, const rill_slice *token,
                                    size_t count)
{
    const semparse *s = r->model;
    int32_t n = 0;
    if (s->placeholders == 0) return RILL_OK;
    memset(r->mentioned, 0, (size_t)s->actions);
    for (size_t i = 0; i < count; i++) {
        int32_t action = rill_vocabulary_id(s->target, token[i].data, token[i].length);
        if (action >= 0) r->mentioned[action] = 1;
    }
    for (size_t i = 0; i < s->placeholders && !tokenized; i++)
        if (!r->mentioned[s->placeholder[i]]) r->unmentioned[n++] = s->placeholder[i];
    return rill_stream_list(r->stream, s->tables.unmentioned, slot, n, r->unmentioned);
}

/* --- names -------------------------------------------------------------------------------------------------------- */

/* Whether no more stands between two places of a line than within a name: "Las Palmas", "St. Gallen". */
static int is_joined(const char *from, const char *to)
{
    while (from < to && (*from == ' ' || *from == '-' || *from == '.')) from++;
    return from == to;
}

static int is_listed(const rill_text *names, rill_slice name)
{
    for (const char *at = names->data; at != NULL && names->length > 0; at = strstr(at, ", ")) {
        if (*at == ',') at += 2;
        const size_t length = strcspn(at, ",");
        if (length == name.length && memcmp(at, name.data, length) == 0) return 1;
    }
    return 0;
}

static rill_status list_name(rill_text *names, rill_slice name)
{
    if (name.length == 0 || is_listed(names, name)) return RILL_OK;
    if (names->length > 0) TRY(rill_text_append(names, ", ", 2));
    return rill_text_append(names, name.data, name.length);
}

/* Names that neither the lexicon nor the vocabulary has: to the model they are all the same word, and its answer cannot tell what they
 * are. Each once, in the line's order. */
static rill_status list_unknown(semparse_runner *r, rill_input *input, int tokenized, const rill_slice *token,
                                size_t count)
{
    rill_text *names = &r->unknown[input->slot];
    rill_slice whole = {input->text, 0};
    rill_text_reset(names);
    for (size_t i = 0; i < count && !tokenized; i++) {
        if (rill_vocabulary_id(r->model->source, token[i].data, token[i].length) >= 0) continue;
        const rill_slice name = rill_question_name(r->question, i);
        if (name.length == 0) continue;
        if (whole.length > 0 && is_joined(whole.data + whole.length, name.data)) {
            whole.length = (size_t)(name.data + name.length - whole.data);
            continue;
        }
        TRY(list_name(names, whole));
        whole = name;
    }
    TRY(list_name(names, whole));
    if (names->length > 0) rill_input_note(input, "names that the model does not know: %s", names->data);
    return RILL_OK;
}

/* Bring one input to ids behind the `used` ones; what is wrong with it is its own failure. On success *length is set, else 0. */
static rill_status read_input(semparse_runner *r, rill_input *input, size_t used, int32_t *length)
{
    const semparse *s = r->model;
    const int tokenized = rill_input_switch(input, "tokenized", s->tokenized);
    const rill_slice *token;
    size_t count;
    *length = 0;
    rill_status status = rill_question_prepare(r->question, input->text, input->length, tokenized, &token, &count,
                                               &r->mentions[input->slot]);
    if (status == RILL_ERR_INPUT) {
        rill_input_fail(input, status, "%s", rill_error(r->ctx));
        return RILL_OK;
    }
    if (status != RILL_OK) return status;
    input->size = (int64_t)count;
    if (count == 0) {
        input->status = RILL_EMPTY;
        return RILL_OK;
    }
    if (count > (size_t)s->max_input) {
        rill_input_fail(input, RILL_ERR_INPUT, "expected at most %d tokens, found %zu", s->max_input, count);
        return RILL_OK;
    }
    TRY(list_unmentioned(r, input->slot, tokenized, token, count));
    TRY(list_unknown(r, input, tokenized, token, count));
    TRY(frame(r, token, count, used));
    *length = (int32_t)(count + FRAME);
    return RILL_OK;
}

static rill_status read_inputs(semparse_runner *r, int32_t m, rill_input *inputs, int32_t *questions)
{
    TRY(GROW(r->ctx, r->slot, r->slot_room, (size_t)m, "questions"));
    TRY(GROW(r->ctx, r->length, r->length_room, (size_t)m, "questions"));
    size_t used = 0;
    int32_t n = 0;
    for (int32_t i = 0; i < m; i++) {
        r->slot[n] = inputs[i].slot;
        TRY(read_input(r, &inputs[i], used, &r->length[n]));
        used += (size_t)r->length[n];
        n += r->length[n] > 0;
    }
    *questions = n;
    return RILL_OK;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

rill_status semparse_encode(void *self, int32_t m, rill_input *inputs)
{
    semparse_runner *r = self;
    rill_run_arguments run = {.struct_size = sizeof run};
    TRY(read_inputs(r, m, inputs, &run.n));
    TRY(rill_stream_slots(r->stream, run.n, r->slot, r->length));
    run.columns = (const int32_t *[]){[ENCODE_SLOT] = r->slot, [ENCODE_LENGTH] = r->length, [ENCODE_WORD] = r->word};
    return rill_stream_run(r->stream, r->model->encode, &run);
}
