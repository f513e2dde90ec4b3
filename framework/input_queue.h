/* The intake: inputs that were submitted and wait to be admitted.
 *
 * Unsorted it is a queue of up to max_items inputs. Sorted it works in windows: a window fills, is put in order once, and is
 * used up before the next one fills, so that
 * the order of admission depends on the inputs and on the windows alone. A window is closed when it is full, or when the
 * engine is stepped: a slow pipe makes short windows. Texts are copied into buffers that are used again, so memory follows the
 * largest window, not the stream. An input that was taken keeps its entry, for its text and its request, until it is released. */
#ifndef RILL_INPUT_QUEUE_H
#define RILL_INPUT_QUEUE_H

#include "request.h"

typedef struct queued_input {
    char *text;
    size_t capacity, length;
    int64_t id, size;
    rill_status failed;  /* RILL_OK, or why this input is bad already */
    request *request;    /* what it wants of its own, or NULL */
    size_t packed_bytes; /* bytes behind the text's NUL of a parcel that no engine has made a request of; 0: none */
    int has_note;        /* behind the text's NUL is what the domain says about it */
} queued_input;

typedef struct input_queue {
    rill_context *ctx;
    rill_sort sort;
    int32_t max_entries; /* most entries held */
    queued_input *entries;
    size_t entries_capacity;
    int32_t *free_entries; /* entries not in use */
    size_t free_entries_capacity;
    int32_t n_free_entries;
    int32_t *order; /* entries in order of admission: order[first, first + n) wait */
    size_t order_capacity;
    int32_t first, n;
    int is_sorted; /* sorted mode: the window is in use */
} input_queue;

void input_queue_init(input_queue *in, rill_context *ctx, const rill_settings *settings);
void input_queue_finish(input_queue *in);

/* How many more inputs fit now. */
int32_t input_queue_space(const input_queue *in);
/* Copy one input. RILL_OK · RILL_ERR_MEMORY (nothing taken) */
rill_status input_queue_add(input_queue *in, int64_t id, const char *text, size_t length, int64_t size,
                            rill_status failed, request *own_request);
/* The same with a parcel, of any size. */
rill_status input_queue_add_packed(input_queue *in, int64_t id, const char *text, size_t length, rill_status failed,
                                   const char *packed, size_t bytes);
static inline const char *queued_input_packed(const queued_input *entry)
{
    return entry->text + entry->length + 1;
}
/* An input turns out to be bad: the message takes its text's place, and that of its parcel. RILL_OK · RILL_ERR_MEMORY */
rill_status input_queue_fail(input_queue *in, queued_input *entry, rill_status failed, const char *message);
/* Keep what the domain says about an input that was taken. RILL_OK · RILL_ERR_MEMORY */
rill_status input_queue_set_note(input_queue *in, queued_input *entry, const char *note);
static inline const char *queued_input_note(const queued_input *entry)
{
    return entry->has_note ? entry->text + entry->length + 1 : "";
}
/* Order the window, if there is one to order; before entries are taken. `ctx`: for the memory that this takes meanwhile, and for
 * its failure. */
rill_status input_queue_sort(input_queue *in, rill_context *ctx);
/* The index of the i-th waiting entry. */
static inline int32_t input_queue_entry(const input_queue *in, int32_t i)
{
    return in->order[in->first + i];
}
/* The first `count` wait no more; and the i-th does not. */
void input_queue_pop(input_queue *in, int32_t count);
void input_queue_remove(input_queue *in, int32_t i);
/* An entry that does not wait may be used again. */
void input_queue_free_entry(input_queue *in, int32_t entry);

#endif
