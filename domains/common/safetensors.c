/* The safetensors format, read strictly: entries of what a file's header says.
 *
 * Invariant: after reading, every entry's bytes lie inside the data, its shape times its element size is exactly their
 * number, and the entries of a file cover its data without gap or overlap. The header's document is kept, since names are borrowed
 * from it.
 *
 * Divisions: header entries · layout of the data · the header · the whole. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensors.h"
#include "try.h"

enum { LENGTH_BYTES = 8, POINTER_LIMIT = 1024 /* bytes that a pointer of Git LFS stays below: its specification */ };
#define HEADER_LIMIT ((uint64_t)100 << 20) /* as in the format's own reader */

/* --- header entries ----------------------------------------------------------------------------------------------- */

/* What is being read: a part's header, and the entries that it becomes. */
typedef struct reading {
    rill_tensors *t;
    tensor_part *part;
    tensor_entry *entry; /* [count] of this part */
    size_t count;
} reading;

/* One sentence about one tensor. */
static rill_status fail_tensor(const reading *r, const char *name, const char *why)
{
    return tensor_fail(r->t, r->part, name, why);
}

static int is_size(const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 0;
}

/* Reads "shape" and gives the number of bytes that it and the element type call for. */
static rill_status read_shape(const reading *r, const json_t *shape, size_t element, rill_tensor *e, size_t *bytes)
{
    if (!json_is_array(shape)) return fail_tensor(r, e->name, "expected an array as shape");
    if (json_array_size(shape) > RILL_TENSOR_MAX_RANK)
        return fail_tensor(r, e->name, "expected a shape of at most 8 dimensions");
    e->rank = (int)json_array_size(shape);
    *bytes = element;
    for (int i = 0; i < e->rank; i++) {
        const json_t *size = json_array_get(shape, (size_t)i);
        if (!is_size(size)) return fail_tensor(r, e->name, "expected integers from 0 up in its shape");
        e->shape[i] = json_integer_value(size);
        if (__builtin_mul_overflow(*bytes, (size_t)e->shape[i], bytes))
            return fail_tensor(r, e->name, "its shape is too large");
    }
    return RILL_OK;
}

static rill_status read_offsets(const reading *r, const json_t *offsets, rill_tensor *e)
{
    const json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !is_size(begin) || !is_size(end))
        return fail_tensor(r, e->name, "expected data_offsets of two integers from 0 up");
    uint64_t from = (uint64_t)json_integer_value(begin), to = (uint64_t)json_integer_value(end);
    if (from > to) return fail_tensor(r, e->name, "its data_offsets end before they begin");
    if (to > r->part->data_size) {
        char why[120];
        snprintf(why, sizeof why, "its data ends at byte %llu of the data, which has %zu", (unsigned long long)to,
                 r->part->data_size);
        return fail_tensor(r, e->name, why);
    }
    e->begin = (size_t)from;
    e->end = (size_t)to;
    return RILL_OK;
}

static rill_status read_entry(const reading *r, const char *name, const json_t *value, rill_tensor *e)
{
    *e = (rill_tensor){.name = name};
    const char *type_name = json_string_value(json_object_get(value, "dtype"));
    if (type_name == NULL) return fail_tensor(r, name, "expected an object with dtype, shape and data_offsets");
    const tensor_type *type = tensor_type_named(type_name);
    char why[120];
    if (type == NULL) {
        snprintf(why, sizeof why, "its dtype \"%.20s\" is not known", type_name);
        return fail_tensor(r, name, why);
    }
    e->dtype = type->name;
    size_t bytes = 0;
    TRY(read_shape(r, json_object_get(value, "shape"), type->bytes, e, &bytes));
    TRY(read_offsets(r, json_object_get(value, "data_offsets"), e));
    if (e->end - e->begin == bytes) return RILL_OK;
    snprintf(why, sizeof why, "its shape takes %zu bytes, its data_offsets span %zu", bytes, e->end - e->begin);
    return fail_tensor(r, name, why);
}

/* --- layout of the data ------------------------------------------------------------------------------------------- */

/* By place; a tensor without bytes comes before the one that starts where it stands. */
static int by_place(const void *a, const void *b)
{
    const rill_tensor *x = &((const tensor_entry *)a)->tensor, *y = &((const tensor_entry *)b)->tensor;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

/* The tensors must lie end to end. Leaves the entries in order of place. */
static rill_status check_layout(const reading *r)
{
    char why[120];
    size_t at = 0;
    if (r->count > 0) qsort(r->entry, r->count, sizeof *r->entry, by_place);
    for (size_t i = 0; i < r->count; i++) {
        const rill_tensor *e = &r->entry[i].tensor;
        if (e->begin != at) {
            snprintf(why, sizeof why, "expected at byte %zu of the data, found at %zu: tensors %s", at, e->begin,
                     e->begin < at ? "overlap" : "leave a gap");
            return fail_tensor(r, e->name, why);
        }
        at = e->end;
    }
    if (at != r->part->data_size)
        return rill_fail(r->t->blocks.ctx, RILL_ERR_FORMAT, "%s: tensors end at byte %zu of the data, which has %zu",
                         r->part->name, at, r->part->data_size);
    return RILL_OK;
}

/* --- the header --------------------------------------------------------------------------------------------------- */

static rill_status parse_header(rill_context *ctx, tensor_part *p, size_t length)
{
    json_error_t error;
    char *text = rill_alloc(ctx, length);
    if (text == NULL) return rill_fail_memory(ctx, length, p->name);
    rill_status status = tensor_get(p, LENGTH_BYTES, length, text);
    if (status == RILL_OK) {
        p->header = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
        if (p->header == NULL)
            status = rill_fail(ctx, RILL_ERR_FORMAT, "%s: header, byte %d: %s", p->name, error.position, error.text);
        else if (!json_is_object((const json_t *)p->header))
            status = rill_fail(ctx, RILL_ERR_FORMAT, "%s: header: expected an object", p->name);
    }
    rill_free(ctx, text, length);
    return status;
}

static rill_status read_header(rill_context *ctx, tensor_part *p)
{
    unsigned char prefix[LENGTH_BYTES];
    if (p->size < LENGTH_BYTES)
        return rill_fail(ctx, RILL_ERR_FORMAT, "%s: expected 8 bytes of header length, the file has %zu bytes", p->name,
                         p->size);
    TRY(tensor_get(p, 0, sizeof prefix, prefix));
    uint64_t length = 0;
    for (int i = LENGTH_BYTES - 1; i >= 0; i--) length = length << 8 | prefix[i];
    if (memcmp(prefix, "version ", LENGTH_BYTES) == 0 && p->size < POINTER_LIMIT)
        return rill_fail(ctx, RILL_ERR_FORMAT,
                         "%s: this is Git LFS's pointer to the weights, not the weights: `git lfs pull` fetches them",
                         p->name);
    if (length > p->size - LENGTH_BYTES)
        return rill_fail(ctx, RILL_ERR_FORMAT,
                         "%s: the header of %llu bytes goes beyond the end of the file (%zu bytes)", p->name,
                         (unsigned long long)length, p->size);
    if (length > HEADER_LIMIT)
        return rill_fail(ctx, RILL_ERR_FORMAT, "%s: expected a header of at most 100 MiB, found %llu bytes", p->name,
                         (unsigned long long)length);
    p->data = LENGTH_BYTES + (size_t)length;
    p->data_size = p->size - p->data;
    return parse_header(ctx, p, (size_t)length);
}

void safetensors_release(tensor_part *part)
{
    json_decref(part->header);
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static rill_status read_entries(rill_tensors *t, size_t part)
{
    reading r = {.t = t, .part = &t->part[part], .entry = t->entry + t->count};
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)r.part->header, name, value)
    {
        if (strcmp(name, "__metadata__") == 0) continue;
        tensor_entry *entry = &r.entry[r.count++];
        *entry = (tensor_entry){.part = part};
        TRY(read_entry(&r, name, value, &entry->tensor));
    }
    t->count += r.count;
    return check_layout(&r);
}

rill_status safetensors_read(rill_tensors *t)
{
    size_t most = 0;
    for (size_t i = 0; i < t->parts; i++) {
        TRY(read_header(t->blocks.ctx, &t->part[i]));
        most += json_object_size(t->part[i].header);
    }
    TRY(tensor_more(t, most));
    for (size_t i = 0; i < t->parts; i++) TRY(read_entries(t, i));
    tensor_sort(t);
    return RILL_OK;
}
