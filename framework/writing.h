/* Writing: outputs become texts.
 *
 * It is done as an item finishes, on the engine's thread, while its states and its slot still exist. Where texts need neither
 * (rill_domain_info.texts_apart) and the results go to another thread anyway, they are written there (front.c): a record then leaves the
 * engine with its outputs' actions, and with more outputs than are wanted where some may be left out. */
#ifndef RILL_WRITING_H
#define RILL_WRITING_H

#include "outbox.h"
#include "rill/domain.h"
#include "unroll.h"

typedef struct writing {
    rill_context *ctx;
    const rill_domain *domain;
    void *self;                /* a runner's */
    const char *const *fields; /* [n_fields] of the setup, which keeps them */
    int32_t n_fields;
    int apart; /* results leave without texts */
    unroll unroll;
} writing;

/* Append the text of a hypothesis, NUL-terminated, and its fields. With `distinct`, unless one of the n outputs whose texts are
 * in `text` has the same: nothing is appended then, and *kept is 0.
 *   RILL_OK · what the domain fails with */
rill_status writing_append(const writing *w, const rill_hypothesis *h, int distinct, const rill_output *outputs,
                           int32_t n, rill_text *text, rill_output *out, int *kept);
/* Have the outputs point to their texts and actions, which nothing moves any more. */
void writing_point(const writing *w, outbox_record *record, const rill_text *text);
/* Write the texts of a record that left without them. They are in `text` until it is used again. */
rill_status writing_catch_up(const writing *w, outbox_record *record, rill_text *text);

#endif
