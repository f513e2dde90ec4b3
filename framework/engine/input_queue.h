/* The input queue: submitted inputs that wait to be admitted.
 *
 * Without sorting it is a first-in, first-out queue of up to max_items inputs. With sorting it works in windows: a window fills, is sorted
 * once, and is used up before the next one fills. So the order of admission depends only on the inputs and the windows. A window is closed
 * when it is full, or when the engine is stepped, so a slow input pipe makes short windows. Texts are copied into reused buffers, so memory
 * is proportional to the largest window, not to the stream. A popped input keeps its entry, with its text and its request, until
 * input_queue_free_entry(). */
#ifndef RILL_INPUT_QUEUE_H
#define RILL_INPUT_QUEUE_H

#include "requests.h"

typedef struct queued_input {
    char *text;
    size_t capacity, length;
    int64_t id, size;
    rill_status failed; /* RILL_OK, or why this input has already failed */
    request *request;   /* options of this input, or NULL */
    int has_note;       /* the domain's warning is stored after the text's NUL */
} queued_input;

typedef struct input_queue {
    rill_context *ctx;
    rill_sort sort;
    int32_t max_entries; /* maximum number of waiting entries */
    queued_input *entries;
    size_t entries_capacity;
    int32_t *free_entries; /* stack of indexes of unused entries */
    size_t free_entries_capacity;
    int32_t n_free_entries;
    int32_t *order; /* indexes of entries in order of admission: order[first, first + n) are waiting */
    size_t order_capacity;
    int32_t first, n;
    int is_sorted; /* sorted mode: the window is sorted and in use */
} input_queue;

void input_queue_init(input_queue *in, rill_context *ctx, const rill_settings *settings);
void input_queue_finish(input_queue *in);

/* Number of inputs that can be added now. */
int32_t input_queue_space(const input_queue *in);
/* Append a copy of an input. RILL_OK · RILL_ERR_MEMORY (the queue is unchanged) */
rill_status input_queue_add(input_queue *in, int64_t id, const char *text, size_t length, int64_t size,
                            rill_status failed, request *own_request);
/* Mark an input as failed: the message replaces its text. RILL_OK · RILL_ERR_MEMORY */
rill_status input_queue_fail(input_queue *in, queued_input *entry, rill_status failed, const char *message);
/* Store the domain's warning about an encoded input in its entry. RILL_OK · RILL_ERR_MEMORY */
rill_status input_queue_set_note(input_queue *in, queued_input *entry, const char *note);
static inline const char *queued_input_note(const queued_input *entry)
{
    return entry->has_note ? entry->text + entry->length + 1 : "";
}
/* With sorting, sort the window, before entries are popped. `ctx`: for temporary memory and the error. */
rill_status input_queue_sort(input_queue *in, rill_context *ctx);
/* The index of the i-th waiting entry. */
static inline int32_t input_queue_entry(const input_queue *in, int32_t i)
{
    return in->order[in->first + i];
}
/* input_queue_pop() removes the first `count` waiting entries from the order, input_queue_remove() the i-th. Neither frees an entry. */
void input_queue_pop(input_queue *in, int32_t count);
void input_queue_remove(input_queue *in, int32_t i);
/* Free an entry that is not waiting. */
void input_queue_free_entry(input_queue *in, int32_t entry);

#endif
