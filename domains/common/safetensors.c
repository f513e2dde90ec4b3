/* A strict reader of the header of a safetensors file.
 *
 * Invariant: after reading, every tensor's bytes lie inside the data section, and their number is the number of elements
 * of its shape times the element size. The tensors of a file cover the data section without gap or overlap. The header's
 * JSON document stays in memory, because the names of tensors point into it.
 *
 * Divisions: header entries · layout of the data · the header · the whole. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor_file.h"
#include "try.h"

enum {
    LENGTH_BYTES = 8,
    MAX_LFS_POINTER = 1024 /* a Git LFS pointer file is shorter than 1024 bytes, by its specification */
};
#define MAX_HEADER ((uint64_t)100 << 20) /* bytes of the longest header; the limit of the reference reader */

/* --- header entries ----------------------------------------------------------------------------------------------- */

/* A part whose header is being read, and the entries made from it. */
typedef struct part_reader {
    rill_tensor_file *tensor_file;
    tensor_part *part;
    tensor_entry *entry; /* [count] tensors of this part */
    size_t count;
} part_reader;

/* Fail with a message about one tensor. */
static rill_status fail_tensor(const part_reader *r, const char *name, const char *why)
{
    return tensor_fail(r->tensor_file, r->part, name, why);
}

static int is_size(const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 0;
}

/* Read "shape", and set *bytes to the size of the tensor's data; `element` is the size of an element in bytes. */
static rill_status read_shape(const part_reader *r, const json_t *shape, size_t element, rill_file_tensor *e,
                              size_t *bytes)
{
    if (!json_is_array(shape)) return fail_tensor(r, e->name, "expected an array as shape");
    if (json_array_size(shape) > RILL_TENSOR_MAX_RANK)
        return fail_tensor(r, e->name, "expected a shape of at most 8 dimensions");
    e->rank = (int)json_array_size(shape);
    *bytes = element;
    for (int i = 0; i < e->rank; i++) {
        const json_t *size = json_array_get(shape, (size_t)i);
        if (!is_size(size)) return fail_tensor(r, e->name, "expected a shape of integers from 0");
        e->shape[i] = json_integer_value(size);
        if (__builtin_mul_overflow(*bytes, (size_t)e->shape[i], bytes))
            return fail_tensor(r, e->name, "its shape is too large");
    }
    return RILL_OK;
}

static rill_status read_offsets(const part_reader *r, const json_t *offsets, rill_file_tensor *e)
{
    const json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !is_size(begin) || !is_size(end))
        return fail_tensor(r, e->name, "expected data_offsets with two integers from 0");
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

static rill_status read_entry(const part_reader *r, const char *name, const json_t *value, rill_file_tensor *e)
{
    *e = (rill_file_tensor){.name = name};
    const char *type_name = json_string_value(json_object_get(value, "dtype"));
    if (type_name == NULL) return fail_tensor(r, name, "expected an object with dtype, shape and data_offsets");
    const tensor_type *type = tensor_type_find(type_name);
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

/* Compare tensors by offset, for qsort(). An empty tensor comes before the tensor that starts at the same offset. */
static int by_offset(const void *a, const void *b)
{
    const rill_file_tensor *x = &((const tensor_entry *)a)->tensor, *y = &((const tensor_entry *)b)->tensor;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

/* Check that the tensors cover the data section without gap or overlap. Sorts them by offset. */
static rill_status check_layout(const part_reader *r)
{
    char why[120];
    size_t offset = 0;
    if (r->count > 0) qsort(r->entry, r->count, sizeof *r->entry, by_offset);
    for (size_t i = 0; i < r->count; i++) {
        const rill_file_tensor *e = &r->entry[i].tensor;
        if (e->begin != offset) {
            snprintf(why, sizeof why, "expected at byte %zu of the data, found at %zu: tensors %s", offset, e->begin,
                     e->begin < offset ? "overlap" : "leave a gap");
            return fail_tensor(r, e->name, why);
        }
        offset = e->end;
    }
    if (offset != r->part->data_size)
        return rill_fail(r->tensor_file->arena.ctx, RILL_ERR_FORMAT,
                         "%s: tensors end at byte %zu of the data, which has %zu", r->part->name, offset,
                         r->part->data_size);
    return RILL_OK;
}

/* --- the header --------------------------------------------------------------------------------------------------- */

static rill_status parse_header(rill_context *ctx, tensor_part *p, size_t length)
{
    json_error_t error;
    char *text = rill_alloc(ctx, length);
    if (text == NULL) return rill_fail_memory(ctx, length, p->name);
    rill_status status = tensor_part_read(p, LENGTH_BYTES, length, text);
    if (status == RILL_OK) {
        p->header_json = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
        if (p->header_json == NULL)
            status = rill_fail(ctx, RILL_ERR_FORMAT, "%s: header, byte %d: %s", p->name, error.position, error.text);
        else if (!json_is_object((const json_t *)p->header_json))
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
    TRY(tensor_part_read(p, 0, sizeof prefix, prefix));
    uint64_t length = 0;
    for (int i = LENGTH_BYTES - 1; i >= 0; i--) length = length << 8 | prefix[i];
    if (memcmp(prefix, "version ", LENGTH_BYTES) == 0 && p->size < MAX_LFS_POINTER)
        return rill_fail(ctx, RILL_ERR_FORMAT,
                         "%s: the file is a Git LFS pointer: fetch the weights with `git lfs pull`", p->name);
    if (length > p->size - LENGTH_BYTES)
        return rill_fail(ctx, RILL_ERR_FORMAT, "%s: the header of %llu bytes ends after the file (%zu bytes)", p->name,
                         (unsigned long long)length, p->size);
    if (length > MAX_HEADER)
        return rill_fail(ctx, RILL_ERR_FORMAT, "%s: expected a header of at most 100 MiB, found %llu bytes", p->name,
                         (unsigned long long)length);
    p->data_offset = LENGTH_BYTES + (size_t)length;
    p->data_size = p->size - p->data_offset;
    return parse_header(ctx, p, (size_t)length);
}

void safetensors_free_header(tensor_part *part)
{
    json_decref(part->header_json);
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static rill_status read_entries(rill_tensor_file *t, size_t part)
{
    part_reader r = {.tensor_file = t, .part = &t->part[part], .entry = t->entries + t->count};
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)r.part->header_json, name, value)
    {
        if (strcmp(name, "__metadata__") == 0) continue;
        tensor_entry *entry = &r.entry[r.count++];
        *entry = (tensor_entry){.part = part};
        TRY(read_entry(&r, name, value, &entry->tensor));
    }
    t->count += r.count;
    return check_layout(&r);
}

rill_status safetensors_read(rill_tensor_file *t)
{
    size_t max_entries = 0;
    for (size_t i = 0; i < t->n_parts; i++) {
        TRY(read_header(t->arena.ctx, &t->part[i]));
        max_entries += json_object_size(t->part[i].header_json);
    }
    TRY(tensor_reserve_entries(t, max_entries));
    for (size_t i = 0; i < t->n_parts; i++) TRY(read_entries(t, i));
    tensor_sort_entries(t);
    return RILL_OK;
}
