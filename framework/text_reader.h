/* A reader of texts, as one of requests: what rill_run() and rill_workers_run() make of theirs. */
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

/* What is wrong with an input that the reader could not read. */
static inline const char *read_error_text(const rill_request *read)
{
    return read->text != NULL ? read->text : "unreadable input";
}

#endif
