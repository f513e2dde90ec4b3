/* The input queue; input_queue.h. */
#include <stdlib.h>
#include <string.h>

#include "input_queue.h"

void input_queue_init(input_queue *in, rill_context *ctx, const rill_settings *settings)
{
    int32_t window = settings->sort == RILL_SORT_NONE ? settings->max_items : settings->sort_window;
    *in = (input_queue){.ctx = ctx, .sort = settings->sort, .max_entries = window};
}

void input_queue_finish(input_queue *in)
{
    for (size_t i = 0; i < in->entries_capacity; i++) rill_free(in->ctx, in->entries[i].text, in->entries[i].capacity);
    rill_free(in->ctx, in->entries, in->entries_capacity * sizeof *in->entries);
    rill_free(in->ctx, in->free_entries, in->free_entries_capacity * sizeof *in->free_entries);
    rill_free(in->ctx, in->order, in->order_capacity * sizeof *in->order);
    *in = (input_queue){0};
}

int32_t input_queue_space(const input_queue *in)
{
    return in->is_sorted ? 0 : in->max_entries - in->n;
}

static rill_status grow_entries(input_queue *in)
{
    size_t old = in->entries_capacity;
    RILL__TRY(
        RILL__GROW(in->ctx, in->free_entries, in->free_entries_capacity, old + old / 2 + 8, "the queue of inputs"));
    RILL__TRY(RILL__GROW(in->ctx, in->entries, in->entries_capacity, old + 1, "the queue of inputs"));
    memset(in->entries + old, 0, (in->entries_capacity - old) * sizeof *in->entries);
    for (size_t i = in->entries_capacity; i > old; i--) in->free_entries[in->n_free_entries++] = (int32_t)i - 1;
    return RILL_OK;
}

static rill_status reserve_entry(input_queue *in)
{
    if (in->n_free_entries == 0) RILL__TRY(grow_entries(in));
    if ((size_t)(in->first + in->n) < in->order_capacity) return RILL_OK;
    /* Reserve twice the number of waiting entries, so that they are seldom moved to the front of the array. */
    RILL__TRY(RILL__GROW(in->ctx, in->order, in->order_capacity, 2 * ((size_t)in->n + 8), "the queue of inputs"));
    memmove(in->order, in->order + in->first, (size_t)in->n * sizeof *in->order);
    in->first = 0;
    return RILL_OK;
}

static rill_status set_text(input_queue *in, queued_input *entry, const char *text, size_t length)
{
    RILL__TRY(RILL__GROW(in->ctx, entry->text, entry->capacity, length + 1, "an input"));
    if (length > 0) memcpy(entry->text, text, length);
    entry->text[length] = '\0';
    entry->length = length;
    entry->has_note = 0;
    return RILL_OK;
}

rill_status input_queue_add(input_queue *in, int64_t id, const char *text, size_t length, int64_t size,
                            rill_status failed, request *own_request)
{
    /* Skip all leading byte order marks, not only the first: with workers an input passes here twice, and its text must be the same. */
    for (; length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0; length -= 3) text += 3;
    RILL__TRY(reserve_entry(in));
    int32_t index = in->free_entries[in->n_free_entries - 1];
    queued_input *entry = &in->entries[index];
    RILL__TRY(set_text(in, entry, text, length));
    entry->id = id;
    entry->size = size;
    entry->failed = failed;
    entry->request = own_request;
    in->n_free_entries--;
    in->order[in->first + in->n++] = index;
    return RILL_OK;
}

rill_status input_queue_fail(input_queue *in, queued_input *entry, rill_status failed, const char *message)
{
    entry->failed = failed;
    return set_text(in, entry, message, strlen(message));
}

rill_status input_queue_set_note(input_queue *in, queued_input *entry, const char *note)
{
    const size_t from = entry->length + 1, bytes = strlen(note) + 1;
    RILL__TRY(RILL__GROW(in->ctx, entry->text, entry->capacity, from + bytes, "an input"));
    memcpy(entry->text + from, note, bytes);
    entry->has_note = 1;
    return RILL_OK;
}

/* Sort key for qsort(): ids make the order total, so the sort need not be stable. */
typedef struct sort_key {
    int64_t size, id;
    int32_t entry;
} sort_key;

static int compare_keys(const void *left, const void *right)
{
    const sort_key *a = left, *b = right;
    if (a->size != b->size) return a->size < b->size ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

rill_status input_queue_sort(input_queue *in, rill_context *ctx)
{
    if (in->sort == RILL_SORT_NONE || in->is_sorted || in->n == 0) return RILL_OK;
    sort_key *keys = rill_alloc(ctx, (size_t)in->n * sizeof *keys);
    if (keys == NULL) return rill_fail_memory(ctx, (size_t)in->n * sizeof *keys, "sorting inputs");
    for (int32_t i = 0; i < in->n; i++) {
        const queued_input *entry = &in->entries[input_queue_entry(in, i)];
        int64_t size = in->sort == RILL_SORT_LONGEST_FIRST ? -entry->size : entry->size; /* sizes are >= 0 */
        keys[i] = (sort_key){size, entry->id, in->order[in->first + i]};
    }
    qsort(keys, (size_t)in->n, sizeof *keys, compare_keys);
    for (int32_t i = 0; i < in->n; i++) in->order[in->first + i] = keys[i].entry;
    rill_free(ctx, keys, (size_t)in->n * sizeof *keys);
    in->is_sorted = 1;
    return RILL_OK;
}

void input_queue_pop(input_queue *in, int32_t count)
{
    in->first += count;
    in->n -= count;
    if (in->n == 0) in->first = in->is_sorted = 0;
}

void input_queue_remove(input_queue *in, int32_t i)
{
    int32_t *entry = in->order + in->first + i;
    memmove(entry, entry + 1, (size_t)(in->n - i - 1) * sizeof *entry);
    in->n--;
    if (in->n == 0) in->first = in->is_sorted = 0;
}

void input_queue_free_entry(input_queue *in, int32_t entry)
{
    in->free_entries[in->n_free_entries++] = entry;
}
