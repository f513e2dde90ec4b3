/* Output writer: finalize outputs into texts.
 *
 * Normally done as an item finishes, on the engine's thread, while its states and its slot still exist. If the domain needs neither
 * (rill_domain_info.finalize_anywhere) and results go to another thread anyway, texts are written there (worker_pool.c): a record then
 * leaves the engine with its outputs' actions only, and with extra outputs if `distinct` may drop some. */
#ifndef RILL_OUTPUT_WRITER_H
#define RILL_OUTPUT_WRITER_H

#include "backtrace.h"
#include "reorder_buffer.h"
#include "rill/domain.h"

typedef struct output_writer {
    rill_context *ctx;
    const rill_domain *domain;
    void *self;                /* a runner's */
    const char *const *fields; /* [n_fields] borrowed from the setup */
    int32_t n_fields;
    int is_deferred; /* results leave the engine without texts */
    backtrace_buffer backtrace;
} output_writer;

/* Append the text of a hypothesis, NUL-terminated, and its fields. With `distinct`, if one of the n outputs whose texts are in `text` has
 * the same text, nothing is appended and *is_new is 0.
 *   RILL_OK · what the domain fails with */
rill_status output_writer_append(const output_writer *w, const rill_hypothesis *h, int distinct,
                                 const rill_output *outputs, int32_t n, rill_text *text, rill_output *out, int *is_new);
/* Set the outputs' pointers to their texts and actions, which will not move any more. */
void output_writer_set_pointers(const output_writer *w, result_record *record, const rill_text *text);
/* Write the texts of a record that the engine delivered without texts. The texts are stored in `text`, and valid until its next use. */
rill_status output_writer_write_deferred(const output_writer *w, result_record *record, rill_text *text);

#endif
