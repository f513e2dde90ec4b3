/* The outbox: finished results on their way to the caller, and the order in which they leave.
 *
 * Every submitted input has a place in a ring until it has been delivered and all before it are finished. The ring's size
 * bounds how far the stream may run ahead of its oldest unfinished input; the engine takes no new input beyond it. That
 * makes memory constant, and it is also what keeps a paused item from waiting for ever while new ones come in. Results are
 * kept in records that are used again. */
#ifndef RILL_OUTBOX_H
#define RILL_OUTBOX_H

#include "internal.h"
#include "rill/carve.h"
#include "rill/engine.h"

/* A result and the memory its pointers refer to. */
typedef struct outbox_record {
    rill_result result;
    rill_output *outputs;
    size_t outputs_capacity;
    rill_text text;     /* outputs' texts, each NUL-terminated, one behind the other */
    int32_t *actions;   /* outputs' actions, likewise */
    float *logps;       /* ... and what these had each */
    rill_columns steps; /* memory of both */
    int32_t unwritten;  /* above 0: its texts are to be written, of so many of its outputs (writing.h) ... */
    int distinct;       /* ... no two of which have the same */
    char message[300];
    char note[256];
    struct outbox_record *next; /* in the list it is in */
    void *home; /* one of a worker's that is on its way through the front (front.h): where it goes back to */
} outbox_record;

typedef struct outbox {
    rill_context *ctx;
    int unordered;
    int fed;              /* inputs were numbered elsewhere: results leave by outbox_take(), by completion */
    int32_t span;         /* how far ids may run ahead of the oldest unfinished */
    outbox_record **ring; /* [ring_capacity] finished, waiting for their turn */
    uint8_t *finished;    /* [ring_capacity] */
    size_t ring_capacity; /* a power of two; grows up to span */
    int64_t oldest;       /* every id below is finished (and, ordered, delivered) */
    int64_t next_id;      /* of the next input */
    outbox_record *done_first, *done_last; /* unordered: finished, in order of completion */
    outbox_record *spare;
    outbox_record *lent;           /* what the last rill_engine_next() gave */
    int64_t waiting, waiting_peak; /* finished and not delivered */
} outbox;

void outbox_init(outbox *o, rill_context *ctx, const rill_settings *settings);
void outbox_finish(outbox *o);

/* How many more inputs may be submitted before the oldest must finish. */
int64_t outbox_room(const outbox *o);
/* Number a new input. RILL_OK · RILL_ERR_MEMORY (not numbered) */
rill_status outbox_number(outbox *o, int64_t *id);
/* Whether the input of a number that was given out has been finished. */
int outbox_has_finished(const outbox *o, int64_t id);
/* Take back the number just given. */
void outbox_unnumber(outbox *o);
/* An empty record for input `id`, to be filled and given to outbox_put(). */
rill_status outbox_record_get(outbox *o, int64_t id, outbox_record **out);
/* Room for so many actions, and their log-probabilities. */
rill_status outbox_record_steps(rill_context *ctx, outbox_record *record, size_t need);
/* Give a record back, unused or taken. */
void outbox_record_drop(outbox *o, outbox_record *record);
/* Free a list of records that are in no outbox. */
void outbox_list_destroy(outbox_record *record);
/* Finish an input. */
void outbox_put(outbox *o, outbox_record *record);
/* Take the next result of an outbox that is fed, with its memory, for another outbox to deliver; NULL: none now. It comes back by
 * outbox_record_drop(). */
outbox_record *outbox_take(outbox *o);
/* Deliver the next. `over`: nothing more will be finished, so that results need not wait for inputs before them, which are
 * skipped. RILL_OK · RILL_AGAIN */
rill_status outbox_next(outbox *o, int over, rill_result *out);

#endif
