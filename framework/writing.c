/* Texts of outputs; writing.h. */
#include "writing.h"

#include <string.h>

/* A method of the domain's has appended to a text of `before` bytes. What it has done to them instead is not used. */
static rill_status check_text(const writing *w, rill_status status, const char *method, size_t before, rill_text *text)
{
    status = rill__domain_status(w->ctx, w->domain, status, method);
    if (text->length >= before && text->length <= text->capacity) return status;
    size_t said = text->length;
    text->length = before <= text->capacity ? before : 0;
    RILL__TRY(status);
    return rill_fail(w->ctx, RILL_ERR_PLUGIN,
                     "domain %s: %s was to append to a text of %zu bytes, and leaves %zu of %zu", w->domain->name,
                     method, before, said, text->capacity);
}

/* What the domain adds to the text just written, each behind a NUL; see rill_output_field(). */
static rill_status add_fields(const writing *w, const rill_hypothesis *hypothesis, rill_text *text)
{
    for (int32_t i = 0; i < w->n_fields; i++) {
        const size_t before = text->length;
        rill_error_clear(w->ctx);
        rill_status status = w->domain->field(w->self, w->fields[i], hypothesis, text);
        RILL__TRY(check_text(w, status, "field", before, text));
        for (size_t at = before; at < text->length; at++)
            if (text->data[at] == '\0') text->data[at] = ' ';
        RILL__TRY(rill_text_append(text, "", 1));
    }
    return RILL_OK;
}

const char *rill_output_field(const rill_output *output, int32_t index)
{
    const char *field = output->text + output->length + 1;
    while (index-- > 0) field += strlen(field) + 1;
    return field;
}

/* The text behind that of an output and its fields. */
static const char *next_text(const char *text, const rill_output *output, int32_t n_fields)
{
    text += output->length + 1;
    for (int32_t i = 0; i < n_fields; i++) text += strlen(text) + 1;
    return text;
}

/* Does one of the n outputs have the text that starts at `from` and has just been written? */
static int is_repeated(const writing *w, const rill_output *outputs, int32_t n, const rill_text *text, size_t from)
{
    const char *at = text->data, *written = at + from;
    size_t length = text->length - from;
    for (int32_t i = 0; i < n; i++) {
        if (outputs[i].length == length && memcmp(at, written, length) == 0) return 1;
        at = next_text(at, &outputs[i], w->n_fields);
    }
    return 0;
}

rill_status writing_append(const writing *w, const rill_hypothesis *h, int distinct, const rill_output *outputs,
                           int32_t n, rill_text *text, rill_output *out, int *kept)
{
    const size_t before = text->length;
    rill_error_clear(w->ctx);
    RILL__TRY(check_text(w, w->domain->finalize(w->self, h, text), "finalize", before, text));
    out->length = text->length - before;
    *kept = !distinct || !is_repeated(w, outputs, n, text, before);
    if (!*kept) {
        text->length = before;
        return RILL_OK;
    }
    RILL__TRY(rill_text_append(text, "", 1));
    return add_fields(w, h, text);
}

void writing_point(const writing *w, outbox_record *record, const rill_text *text)
{
    const char *at = text->data;
    const int32_t *action = record->actions;
    const float *logp = record->logps;
    for (int32_t i = 0; i < record->result.n; i++) {
        rill_output *output = &record->outputs[i];
        output->text = at;
        output->action = action;
        output->action_logp = logp;
        at = next_text(at, output, w->n_fields);
        action += output->n_actions;
        logp += output->n_actions;
    }
}

/* The hypothesis of an output whose states are gone. */
static rill_hypothesis bare(const rill_output *output, const int32_t *action, const float *logp)
{
    return (rill_hypothesis){.slot = RILL_NO_NODE,
                             .length = output->n_actions,
                             .action = action,
                             .action_logp = logp,
                             .score = output->score,
                             .logp = output->logp,
                             .truncated = output->truncated};
}

rill_status writing_catch_up(const writing *w, outbox_record *record, rill_text *text)
{
    const int32_t n = record->result.n, wanted = record->unwritten;
    size_t from = 0, to = 0;
    int32_t written = 0;
    text->length = 0;
    for (int32_t i = 0; i < n && written < wanted; i++) {
        rill_output output = record->outputs[i];
        const size_t actions = (size_t)output.n_actions;
        const rill_hypothesis h = bare(&output, record->actions + from, record->logps + from);
        int kept;
        RILL__TRY(writing_append(w, &h, record->distinct, record->outputs, written, text, &output, &kept));
        if (kept) {
            memmove(record->actions + to, record->actions + from, actions * sizeof *record->actions);
            memmove(record->logps + to, record->logps + from, actions * sizeof *record->logps);
            record->outputs[written++] = output;
            to += actions;
        }
        from += actions;
    }
    record->result.n = written;
    writing_point(w, record, text);
    return RILL_OK;
}
