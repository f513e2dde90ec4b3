/* Adapts a reader of texts to a reader of requests, for rill_run() and rill_workers_run(). */
#ifndef RILL_TEXT_READER_H
#define RILL_TEXT_READER_H

#include "rill/run.h"

typedef struct text_reader {
    rill_read_fn read;
    void *user;
} text_reader;

static inline rill_status text_reader_read(void *user, int may_block, rill_request *out)
{
    const text_reader *r = user;
    return r->read(r->user, may_block, &out->text, &out->length);
}

/* The error message of an input that the reader could not read. */
static inline const char *read_error_text(const rill_request *read)
{
    return read->text != NULL ? read->text : "unreadable input";
}

#endif
