/* Makes the texts of outputs from finished hypotheses; declared in engine_internal.h. */
#include "engine_internal.h"

#include <string.h>

/* Walk the path only once, because each hypothesis is a cache miss. The arrays are filled from their end, since the length is not known
 * yet. */
rill_status backtrace_output(backtrace_buffer *u, const hyp_pool *f, int32_t slot, const item_output *output,
                             int32_t phases, rill_hypothesis *hypothesis)
{
    const rill_array columns[] = {RILL_ARRAY(u->action), RILL_ARRAY(u->node), RILL_ARRAY(u->logp),
                                  RILL_ARRAY(u->score)};
    size_t capacity = ((size_t)output->length + 1) * (size_t)phases, from = capacity;
    RILL__TRY(RILL__GROW_COLUMNS(u->ctx, &u->memory, capacity, columns, "a hypothesis"));
    /* the hypothesis whose state follows h's last action: h itself, unless cube pruning shares states */
    int32_t state = output->hyp;
    for (int32_t h = output->hyp; f->hyp[h].parent >= 0; h = f->hyp[h].parent) {
        const rill_hyp_node *node = &f->hyp[h];
        from--;
        u->action[from] = node->action;
        u->node[from] = f->state_need == RILL_STATE_PATH ? hyp_pool_node(f, state) : RILL_NO_NODE;
        state = node->internal[HYP_STATE_PARENT];
        u->logp[from] = node->logp;
        u->score[from] = node->path_score;
    }
    double logp = 0;
    for (size_t i = from; i < capacity; i++) logp += (double)u->logp[i];
    *hypothesis = (rill_hypothesis){.slot = slot,
                                    .length = (int32_t)(capacity - from),
                                    .action = u->action + from,
                                    .action_logp = u->logp + from,
                                    .action_path_score = u->score + from,
                                    .node = u->node + from,
                                    .path_score = output->path_score,
                                    .logp = logp,
                                    .truncated = output->truncated};
    return RILL_OK;
}

/* Check the text after a domain's function appended to its old_length bytes. If its length is impossible, cut it back and fail. */
static rill_status check_text(const output_writer *w, rill_status status, const char *method, size_t old_length,
                              rill_text *text)
{
    status = rill__domain_status(w->ctx, w->domain, status, method);
    if (text->length >= old_length && text->length <= text->capacity) return status;
    size_t wrong_length = text->length;
    text->length = old_length <= text->capacity ? old_length : 0;
    RILL__TRY(status);
    return rill_fail(w->ctx, RILL_ERR_PLUGIN, "domain %s: %s must append to the text of %zu bytes, but left %zu of %zu",
                     w->domain->name, method, old_length, wrong_length, text->capacity);
}

/* Append the texts of the output's additional fields, each followed by a NUL; rill_output_field() reads them. */
static rill_status add_fields(const output_writer *w, const rill_hypothesis *hypothesis, rill_text *text)
{
    for (int32_t i = 0; i < w->n_fields; i++) {
        const size_t old_length = text->length;
        rill_error_clear(w->ctx);
        rill_status status = w->domain->field(w->self, w->fields[i], hypothesis, text);
        RILL__TRY(check_text(w, status, "field", old_length, text));
        for (size_t i_byte = old_length; i_byte < text->length; i_byte++)
            if (text->data[i_byte] == '\0') text->data[i_byte] = ' ';
        RILL__TRY(rill_text_append(text, "", 1));
    }
    return RILL_OK;
}

/* Returns the address after an output's text and the texts of its fields: there the next output's text begins. */
static const char *next_text(const char *text, const rill_output *output, int32_t n_fields)
{
    text += output->text_bytes + 1;
    for (int32_t i = 0; i < n_fields; i++) text += strlen(text) + 1;
    return text;
}

const char *rill_output_field(const rill_output *output, int32_t index)
{
    return next_text(output->text, output, index);
}

/* Returns 1 if the text from byte `from` on equals one of the n outputs' texts, else 0. */
static int is_repeated(const output_writer *w, const rill_output *outputs, int32_t n, const rill_text *text,
                       size_t from)
{
    const char *other = text->data, *written = other + from;
    size_t length = text->length - from;
    for (int32_t i = 0; i < n; i++) {
        if (outputs[i].text_bytes == length && memcmp(other, written, length) == 0) return 1;
        other = next_text(other, &outputs[i], w->n_fields);
    }
    return 0;
}

rill_status output_writer_append(const output_writer *w, const rill_hypothesis *h, int distinct,
                                 const rill_output *outputs, int32_t n, rill_text *text, rill_output *out, int *is_new)
{
    const size_t old_length = text->length;
    rill_error_clear(w->ctx);
    RILL__TRY(check_text(w, w->domain->finalize(w->self, h, text), "finalize", old_length, text));
    out->text_bytes = text->length - old_length;
    *is_new = !distinct || !is_repeated(w, outputs, n, text, old_length);
    if (!*is_new) {
        text->length = old_length;
        return RILL_OK;
    }
    RILL__TRY(rill_text_append(text, "", 1));
    return add_fields(w, h, text);
}

void output_writer_set_pointers(const output_writer *w, result_record *record, const rill_text *text)
{
    const char *text_pos = text->data;
    const int32_t *action = record->actions;
    const float *logp = record->logps;
    for (int32_t i = 0; i < record->result.n_outputs; i++) {
        rill_output *output = &record->outputs[i];
        output->text = text_pos;
        output->ids = action;
        output->id_logps = logp;
        text_pos = next_text(text_pos, output, w->n_fields);
        action += output->n_ids;
        logp += output->n_ids;
    }
}

/* Returns an output's hypothesis for finalize(), without the slot and the states, because these are already freed. */
static rill_hypothesis stateless_hypothesis(const rill_output *output, const int32_t *action, const float *logp)
{
    return (rill_hypothesis){.slot = RILL_NO_NODE,
                             .length = output->n_ids,
                             .action = action,
                             .action_logp = logp,
                             .path_score = output->path_score,
                             .logp = output->logp,
                             .truncated = output->finish_reason != RILL_FINISH_REASON_STOP};
}

rill_status output_writer_write_deferred(const output_writer *w, result_record *record, rill_text *text)
{
    const int32_t n = record->result.n_outputs, wanted = record->n_unwritten;
    size_t from = 0, to = 0;
    int32_t written = 0;
    text->length = 0;
    for (int32_t i = 0; i < n && written < wanted; i++) {
        rill_output output = record->outputs[i];
        const size_t actions = (size_t)output.n_ids;
        const rill_hypothesis h = stateless_hypothesis(&output, record->actions + from, record->logps + from);
        int is_new;
        RILL__TRY(output_writer_append(w, &h, record->distinct, record->outputs, written, text, &output, &is_new));
        if (is_new) {
            memmove(record->actions + to, record->actions + from, actions * sizeof *record->actions);
            memmove(record->logps + to, record->logps + from, actions * sizeof *record->logps);
            record->outputs[written++] = output;
            to += actions;
        }
        from += actions;
    }
    record->result.n_outputs = written;
    output_writer_set_pointers(w, record, text);
    return RILL_OK;
}
