/* Makes the texts of outputs (detokenized, or in the domain's own notation), with finalize() of the domain (the model's code).
 *
 * Normally the engine's thread makes the texts when an item finishes, while the item's states and slot still exist. If finalize() needs
 * neither (rill_domain_info.finalize_anywhere) and results go to another thread anyway, that thread makes the texts (workers.c). A
 * result record then leaves the engine with actions but no texts, and with extra outputs if the setting `distinct` may drop some. */
#ifndef RILL_OUTPUT_WRITER_H
#define RILL_OUTPUT_WRITER_H

#include "item.h"
#include "reorder_buffer.h"
#include "rill/domain.h"

/* Memory for the actions, states and scores along one hypothesis, which domains get as a rill_hypothesis. */
typedef struct backtrace_buffer {
    rill_context *ctx;
    rill_columns memory;
    int32_t *action, *node;
    float *logp, *score;
} backtrace_buffer;

typedef struct output_writer {
    rill_context *ctx;
    const rill_domain *domain;
    void *self;                /* the runner (one thread's use of the model) to pass to the domain's functions */
    const char *const *fields; /* [n_fields] names of output fields; borrowed from the setup */
    int32_t n_fields;
    /* 1: results leave the engine without texts, and another thread makes these; 0: the engine makes them */
    int is_deferred;
    backtrace_buffer backtrace;
} output_writer;

void backtrace_finish(backtrace_buffer *u);
/* Backtrace: write the actions of an output of the item in `slot`, oldest action first, to *hypothesis. `phases`: number of the domain's
 * phases; a timestep adds one action per phase. The arrays of *hypothesis are in `u` and stay valid until the next call.
 *   RILL_OK · RILL_ERR_MEMORY */
rill_status backtrace_output(backtrace_buffer *u, const hyp_pool *f, int32_t slot, const item_output *output,
                             int32_t phases, rill_hypothesis *hypothesis);

/* Append the text of a hypothesis, NUL-terminated, and the texts of its additional fields to `text`; set out->text_bytes. `text` already
 * holds the texts of outputs[0, n). If `distinct` is 1 and one of these texts equals the new one, nothing is appended and *is_new is 0.
 *   RILL_OK · RILL_ERR_MEMORY · a failure of the domain's finalize() or field() */
rill_status output_writer_append(const output_writer *w, const rill_hypothesis *h, int distinct,
                                 const rill_output *outputs, int32_t n, rill_text *text, rill_output *out, int *is_new);
/* Set the pointers of the record's outputs to their texts, actions and log-probabilities. Call this when all outputs have
 * been added, since appending may move these arrays. */
void output_writer_set_pointers(const output_writer *w, result_record *record, const rill_text *text);
/* Make the texts of a record that left the engine without texts. They are stored in `text`, and are valid until `text` is used again. */
rill_status output_writer_write_deferred(const output_writer *w, result_record *record, rill_text *text);

#endif
