/* The intake: inputs that were submitted and wait to be admitted.
 *
 * Unsorted it is a queue of up to max_items inputs. Sorted it works in windows: a window fills, is put in order once, and is
 * used up before the next one fills, so that
 * the order of admission depends on the inputs and on the windows alone. A window is closed when it is full, or when the
 * engine is stepped: a slow pipe makes short windows. Texts are copied into buffers that are used again, so memory follows the
 * largest window, not the stream. An input that was taken keeps its entry, for its text and its request, until it is released. */
#ifndef RILL_INTAKE_H
#define RILL_INTAKE_H

#include "request.h"

typedef struct intake_entry {
    char *text;
    size_t capacity, length;
    int64_t id, size;
    rill_status failed; /* RILL_OK, or why this input is bad already */
    request *request;   /* what it wants of its own, or NULL */
    size_t parcel;      /* bytes behind the text's NUL of a parcel that no engine has made a request of; 0: none */
    int noted;          /* behind the text's NUL is what the domain says about it */
} intake_entry;

typedef struct intake {
    rill_context *ctx;
    rill_sort sort;
    int32_t window; /* most entries held */
    intake_entry *entries;
    size_t entries_capacity;
    int32_t *spare; /* entries not in use */
    size_t spare_capacity;
    int32_t n_spare;
    int32_t *order; /* entries in order of admission: order[first, first + n) wait */
    size_t order_capacity;
    int32_t first, n;
    int sealed; /* sorted mode: the window is in use */
} intake;

void intake_init(intake *in, rill_context *ctx, const rill_settings *settings);
void intake_finish(intake *in);

/* How many more inputs fit now. */
int32_t intake_room(const intake *in);
/* Copy one input. RILL_OK · RILL_ERR_MEMORY (nothing taken) */
rill_status intake_add(intake *in, int64_t id, const char *text, size_t length, int64_t size, rill_status failed,
                       request *wants);
/* The same with a parcel, of any size. */
rill_status intake_add_parcel(intake *in, int64_t id, const char *text, size_t length, rill_status failed,
                              const char *parcel, size_t bytes);
static inline const char *intake_parcel(const intake_entry *entry)
{
    return entry->text + entry->length + 1;
}
/* An input turns out to be bad: the message takes its text's place, and that of its parcel. RILL_OK · RILL_ERR_MEMORY */
rill_status intake_spoil(intake *in, intake_entry *entry, rill_status failed, const char *message);
/* Keep what the domain says about an input that was taken. RILL_OK · RILL_ERR_MEMORY */
rill_status intake_note(intake *in, intake_entry *entry, const char *note);
static inline const char *intake_noted(const intake_entry *entry)
{
    return entry->noted ? entry->text + entry->length + 1 : "";
}
/* Order the window, if there is one to order; before entries are taken. `ctx`: for the memory that this takes meanwhile, and for
 * its failure. */
rill_status intake_seal(intake *in, rill_context *ctx);
/* The index of the i-th waiting entry. */
static inline int32_t intake_at(const intake *in, int32_t i)
{
    return in->order[in->first + i];
}
/* The first `count` wait no more; and the i-th does not. */
void intake_take(intake *in, int32_t count);
void intake_remove(intake *in, int32_t i);
/* An entry that does not wait may be used again. */
void intake_release(intake *in, int32_t entry);

#endif
