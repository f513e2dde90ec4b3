/* The input queue: submitted inputs that wait to be admitted.
 *
 * Unsorted it is a queue of up to max_items inputs. Sorted it works in windows: a window fills, is sorted once, and is used up before
 * the next one fills, so the order of admission depends only on the inputs and the windows. A window is closed when it is full, or when
 * the engine is stepped: a slow pipe makes short windows. Texts are copied into reused buffers, so memory is proportional to the largest
 * window, not to the stream. An input taken from the queue keeps its entry, with its text and its request, until it is released. */
#ifndef RILL_INPUT_QUEUE_H
#define RILL_INPUT_QUEUE_H

#include "request.h"

typedef struct queued_input {
    char *text;
    size_t capacity, length;
    int64_t id, size;
    rill_status failed;  /* RILL_OK, or why this input has already failed */
    request *request;    /* options of this input, or NULL */
    size_t packed_bytes; /* bytes after the text's NUL of a packed request that no engine has unpacked; 0: none */
    int has_note;        /* the domain's warning is stored after the text's NUL */
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
    int is_sorted; /* sorted mode: the window is sorted and in use */
} input_queue;

void input_queue_init(input_queue *in, rill_context *ctx, const rill_settings *settings);
void input_queue_finish(input_queue *in);

/* Number of inputs that can be added now. */
int32_t input_queue_space(const input_queue *in);
/* Copy one input. RILL_OK · RILL_ERR_MEMORY (nothing taken) */
rill_status input_queue_add(input_queue *in, int64_t id, const char *text, size_t length, int64_t size,
                            rill_status failed, request *own_request);
/* Append an input with a packed request of any size. */
rill_status input_queue_add_packed(input_queue *in, int64_t id, const char *text, size_t length, rill_status failed,
                                   const char *packed, size_t bytes);
static inline const char *queued_input_packed(const queued_input *entry)
{
    return entry->text + entry->length + 1;
}
/* Mark an input as failed: the message replaces its text and packed request. RILL_OK · RILL_ERR_MEMORY */
rill_status input_queue_fail(input_queue *in, queued_input *entry, rill_status failed, const char *message);
/* Store the domain's warning about an input that was taken. RILL_OK · RILL_ERR_MEMORY */
rill_status input_queue_set_note(input_queue *in, queued_input *entry, const char *note);
static inline const char *queued_input_note(const queued_input *entry)
{
    return entry->has_note ? entry->text + entry->length + 1 : "";
}
/* Sort the window, if any, before entries are taken. `ctx`: for temporary memory and the error. */
rill_status input_queue_sort(input_queue *in, rill_context *ctx);
/* The index of the i-th waiting entry. */
static inline int32_t input_queue_entry(const input_queue *in, int32_t i)
{
    return in->order[in->first + i];
}
/* Remove the first `count` waiting entries; or the i-th. */
void input_queue_pop(input_queue *in, int32_t count);
void input_queue_remove(input_queue *in, int32_t i);
/* Free an entry that is not waiting. */
void input_queue_free_entry(input_queue *in, int32_t entry);

#endif
