/* Encodes questions: text to word ids, then one encoder run, which writes its outputs to the questions' slots.
 *
 * The encoder reads <s>, the question's words from last to first, </s>. Invariant: an input that fails is left out of
 * the batch, and its slot stays free.
 * Divisions: text to ids · names · entry point. */
#include <string.h>

#include "domain_base.h"
#include "semparse_model.h"

enum { FRAME_TOKENS = 2 }; /* <s> and </s> */

/* --- text to ids -------------------------------------------------------------------------------------------------- */

/* Write <s>, the word ids in reverse, </s>, from `offset` on. */
static rill_status add_framed_ids(semparse_runner *r, const rill_slice *token, size_t count, size_t offset)
{
    TRY(GROW(r->ctx, r->token_ids, r->word_capacity, offset + count + FRAME_TOKENS, "word ids"));
    int32_t *word = r->token_ids + offset;
    *word++ = SEMPARSE_BOS;
    for (size_t i = count; i-- > 0;) {
        int32_t id = rill_vocabulary_id(r->model->source_vocab, token[i].data, token[i].length);
        *word++ = id >= 0 ? id : SEMPARSE_UNK;
    }
    *word = SEMPARSE_EOS;
    return RILL_OK;
}

/* Set the slot's subset of placeholders that the question does not mention; empty if the question is tokenized. A
 * placeholder typed literally counts as mentioned. */
static rill_status set_unmentioned(semparse_runner *r, int32_t slot, int tokenized, const rill_slice *token,
                                   size_t count)
{
    const semparse *s = r->model;
    int32_t n = 0;
    if (s->n_placeholders == 0) return RILL_OK;
    memset(r->mentioned, 0, (size_t)s->target_vocab_size);
    for (size_t i = 0; i < count; i++) {
        int32_t action = rill_vocabulary_id(s->target_vocab, token[i].data, token[i].length);
        if (action >= 0) r->mentioned[action] = 1;
    }
    for (size_t i = 0; i < s->n_placeholders && !tokenized; i++)
        if (!r->mentioned[s->placeholder_ids[i]]) r->unmentioned[n++] = s->placeholder_ids[i];
    return rill_session_set_vocab_subset(r->session, s->tables.unmentioned, slot, n, r->unmentioned);
}

/* --- names -------------------------------------------------------------------------------------------------------- */

/* Whether the text between two words may be part of a name: "Las Palmas", "St. Gallen". */
static int is_within_name(const char *from, const char *to)
{
    while (from < to && (*from == ' ' || *from == '-' || *from == '.')) from++;
    return from == to;
}

static int is_listed(const rill_text *names, rill_slice name)
{
    for (const char *entry = names->data; entry != NULL && names->length > 0; entry = strstr(entry, ", ")) {
        if (*entry == ',') entry += 2;
        const size_t length = strcspn(entry, ",");
        if (length == name.length && memcmp(entry, name.data, length) == 0) return 1;
    }
    return 0;
}

static rill_status add_name(rill_text *names, rill_slice name)
{
    if (name.length == 0 || is_listed(names, name)) return RILL_OK;
    if (names->length > 0) TRY(rill_text_append(names, ", ", 2));
    return rill_text_append(names, name.data, name.length);
}

/* List the names that neither lexicon nor vocabulary contains, each once, in the line's order. The model sees all of
 * them as <unk> and cannot distinguish them. */
static rill_status list_unknown_names(semparse_runner *r, rill_input *input, int tokenized, const rill_slice *token,
                                      size_t count)
{
    rill_text *names = &r->unknown_names[input->slot];
    rill_slice pending = {input->text, 0};
    rill_text_reset(names);
    for (size_t i = 0; i < count && !tokenized; i++) {
        if (rill_vocabulary_id(r->model->source_vocab, token[i].data, token[i].length) >= 0) continue;
        const rill_slice name = rill_question_name(r->question, i);
        if (name.length == 0) continue;
        if (pending.length > 0 && is_within_name(pending.data + pending.length, name.data)) {
            pending.length = (size_t)(name.data + name.length - pending.data);
            continue;
        }
        TRY(add_name(names, pending));
        pending = name;
    }
    TRY(add_name(names, pending));
    if (names->length > 0) rill_input_warn(input, "names that the model does not know: %s", names->data);
    return RILL_OK;
}

/* Append the word ids of one input at r->token_ids + used. *length = number of ids, 0 if the input is empty or invalid.
 * An invalid input fails alone. */
static rill_status read_input(semparse_runner *r, rill_input *input, size_t used, int32_t *length)
{
    const semparse *s = r->model;
    const int tokenized = rill_input_switch(input, "tokenized", s->tokenized);
    const rill_slice *token;
    size_t count;
    *length = 0;
    rill_status status = rill_question_prepare(r->question, input->text, input->length, tokenized, &token, &count,
                                               &r->mentions_by_slot[input->slot]);
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
    TRY(set_unmentioned(r, input->slot, tokenized, token, count));
    TRY(list_unknown_names(r, input, tokenized, token, count));
    TRY(add_framed_ids(r, token, count, used));
    *length = (int32_t)(count + FRAME_TOKENS);
    return RILL_OK;
}

static rill_status read_inputs(semparse_runner *r, int32_t m, rill_input *inputs, int32_t *questions)
{
    TRY(GROW(r->ctx, r->slot, r->slot_capacity, (size_t)m, "questions"));
    TRY(GROW(r->ctx, r->length, r->length_capacity, (size_t)m, "questions"));
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

/* --- entry point -------------------------------------------------------------------------------------------------- */

rill_status semparse_encode(void *self, int32_t m, rill_input *inputs)
{
    semparse_runner *r = self;
    rill_run_arguments run = {.struct_size = sizeof run};
    TRY(read_inputs(r, m, inputs, &run.n));
    TRY(rill_session_set_slots(r->session, run.n, r->slot, r->length));
    run.columns = (const int32_t *[]){
        [ENCODE_SLOT] = r->slot, [ENCODE_LENGTH] = r->length, [ENCODE_TOKEN] = r->token_ids};
    return rill_session_run(r->session, r->model->encode, &run);
}
