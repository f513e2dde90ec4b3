/* Named tensors of a model file: the safetensors format, read strictly.
 *
 * Invariant: after opening, every entry's bytes lie inside the data, its shape times its element size is exactly their
 * number, and the entries cover the data without gap or overlap. So reading one is a search by name, a comparison of
 * shapes and a loop. The header's document is kept, since names are borrowed from it.
 *
 * Divisions: element types · header entries · layout of the data · opening and closing · finding · reading. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blocks.h"
#include "rill/file.h"
#include "rill/safetensors.h"
#include "try.h"

enum { LENGTH_BYTES = 8, POINTER_LIMIT = 1024 /* bytes that a pointer of Git LFS stays below: its specification */ };
#define HEADER_LIMIT ((uint64_t)100 << 20) /* as in the format's own reader */

struct rill_tensors {
    rill_blocks blocks;
    rill_file file;    /* all zero when ... */
    const char *bytes; /* ... the bytes are the caller's */
    size_t size;       /* of the file */
    const char *name;  /* what errors call it; in blocks */
    json_t *header;
    size_t data, data_size; /* the data section: where it begins */
    rill_tensor *entry;     /* [count], by name once open */
    size_t count;
};

/* --- element types ------------------------------------------------------------------------------------------------ */

typedef struct dtype {
    const char *name;
    size_t bytes;
    int flag; /* RILL_TENSOR_*, 0 for those that are never read */
} dtype;

static const dtype dtypes[] = {
    {"F32", 4, RILL_TENSOR_F32},
    {"F16", 2, RILL_TENSOR_F16},
    {"BF16", 2, RILL_TENSOR_BF16},
    {"F64", 8, 0},
    {"I64", 8, 0},
    {"U64", 8, 0},
    {"I32", 4, 0},
    {"U32", 4, 0},
    {"I16", 2, 0},
    {"U16", 2, 0},
    {"I8", 1, 0},
    {"U8", 1, 0},
    {"BOOL", 1, 0},
    {"F8_E4M3", 1, 0},
    {"F8_E5M2", 1, 0},
};

static const dtype *dtype_named(const char *name)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (strcmp(dtypes[i].name, name) == 0) return &dtypes[i];
    return NULL;
}

static float float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* IEEE 754 half precision, without asking anything of the processor. Weights are converted once, at load. */
static float float_of_half(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = half & 1023;
    if (exponent == 31) return float_of_bits(sign | 0x7F800000 | fraction << 13);
    if (exponent != 0) return float_of_bits(sign | (exponent + 112) << 23 | fraction << 13);
    float tiny = (float)fraction * 0x1p-24f; /* zero or subnormal: exact in fp32 */
    return sign != 0 ? -tiny : tiny;
}

/* Make the 16 bits of each of n numbers, which lie in the second half of `out`, fp32 in place: number i is written over numbers that
 * were read before. */
static void widen(float *out, int flag, size_t n)
{
    const char *halves = (const char *)out + 2 * n;
    for (size_t i = 0; i < n; i++) {
        uint16_t bits;
        memcpy(&bits, halves + i * sizeof bits, sizeof bits);
        out[i] = flag == RILL_TENSOR_F16 ? float_of_half(bits) : float_of_bits((uint32_t)bits << 16);
    }
}

/* --- header entries ----------------------------------------------------------------------------------------------- */

/* One sentence about one tensor. */
static rill_status fail_tensor(const rill_tensors *t, const char *name, const char *why)
{
    return rill_fail(t->blocks.ctx, RILL_ERR_FORMAT, "%s: tensor \"%s\": %s", t->name, name, why);
}

static int is_size(const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 0;
}

/* Reads "shape" and gives the number of bytes that it and the element type call for. */
static rill_status read_shape(const rill_tensors *t, const json_t *shape, size_t element, rill_tensor *e, size_t *bytes)
{
    if (!json_is_array(shape)) return fail_tensor(t, e->name, "expected an array as shape");
    if (json_array_size(shape) > RILL_TENSOR_MAX_RANK)
        return fail_tensor(t, e->name, "expected a shape of at most 8 dimensions");
    e->rank = (int)json_array_size(shape);
    *bytes = element;
    for (int i = 0; i < e->rank; i++) {
        const json_t *size = json_array_get(shape, (size_t)i);
        if (!is_size(size)) return fail_tensor(t, e->name, "expected integers from 0 up in its shape");
        e->shape[i] = json_integer_value(size);
        if (__builtin_mul_overflow(*bytes, (size_t)e->shape[i], bytes))
            return fail_tensor(t, e->name, "its shape is too large");
    }
    return RILL_OK;
}

static rill_status read_offsets(const rill_tensors *t, const json_t *offsets, rill_tensor *e)
{
    const json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !is_size(begin) || !is_size(end))
        return fail_tensor(t, e->name, "expected data_offsets of two integers from 0 up");
    uint64_t from = (uint64_t)json_integer_value(begin), to = (uint64_t)json_integer_value(end);
    if (from > to) return fail_tensor(t, e->name, "its data_offsets end before they begin");
    if (to > t->data_size) {
        char why[120];
        snprintf(why, sizeof why, "its data ends at byte %llu of the data, which has %zu", (unsigned long long)to,
                 t->data_size);
        return fail_tensor(t, e->name, why);
    }
    e->begin = (size_t)from;
    e->end = (size_t)to;
    return RILL_OK;
}

static rill_status read_entry(const rill_tensors *t, const char *name, const json_t *value, rill_tensor *e)
{
    *e = (rill_tensor){.name = name};
    const char *type_name = json_string_value(json_object_get(value, "dtype"));
    if (type_name == NULL) return fail_tensor(t, name, "expected an object with dtype, shape and data_offsets");
    const dtype *type = dtype_named(type_name);
    char why[120];
    if (type == NULL) {
        snprintf(why, sizeof why, "its dtype \"%.20s\" is not known", type_name);
        return fail_tensor(t, name, why);
    }
    e->dtype = type->name;
    size_t bytes = 0;
    rill_status status = read_shape(t, json_object_get(value, "shape"), type->bytes, e, &bytes);
    if (status == RILL_OK) status = read_offsets(t, json_object_get(value, "data_offsets"), e);
    if (status == RILL_OK && e->end - e->begin != bytes) {
        snprintf(why, sizeof why, "its shape takes %zu bytes, its data_offsets span %zu", bytes, e->end - e->begin);
        status = fail_tensor(t, name, why);
    }
    return status;
}

/* --- layout of the data ------------------------------------------------------------------------------------------- */

/* By place; a tensor without bytes comes before the one that starts where it stands. */
static int by_place(const void *a, const void *b)
{
    const rill_tensor *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const rill_tensor *)a)->name, ((const rill_tensor *)b)->name);
}

/* The tensors must lie end to end. Leaves the entries in order of place. */
static rill_status check_layout(rill_tensors *t)
{
    char why[120];
    size_t at = 0;
    if (t->count > 0) qsort(t->entry, t->count, sizeof *t->entry, by_place);
    for (size_t i = 0; i < t->count; i++) {
        const rill_tensor *e = &t->entry[i];
        if (e->begin != at) {
            snprintf(why, sizeof why, "expected at byte %zu of the data, found at %zu: tensors %s", at, e->begin,
                     e->begin < at ? "overlap" : "leave a gap");
            return fail_tensor(t, e->name, why);
        }
        at = e->end;
    }
    if (at != t->data_size)
        return rill_fail(t->blocks.ctx, RILL_ERR_FORMAT, "%s: tensors end at byte %zu of the data, which has %zu",
                         t->name, at, t->data_size);
    return RILL_OK;
}

/* --- opening and closing ------------------------------------------------------------------------------------------ */

static rill_status get(const rill_tensors *t, size_t at, size_t n, void *out)
{
    if (t->bytes == NULL) return rill_file_get(&t->file, at, n, out);
    memcpy(out, t->bytes + at, n);
    return RILL_OK;
}

static rill_status parse_header(rill_tensors *t, size_t length)
{
    rill_context *ctx = t->blocks.ctx;
    json_error_t error;
    char *text = rill_alloc(ctx, length);
    if (text == NULL) return rill_fail_memory(ctx, length, t->name);
    rill_status status = get(t, LENGTH_BYTES, length, text);
    if (status == RILL_OK) {
        t->header = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
        if (t->header == NULL)
            status = rill_fail(ctx, RILL_ERR_FORMAT, "%s: header, byte %d: %s", t->name, error.position, error.text);
        else if (!json_is_object(t->header))
            status = rill_fail(ctx, RILL_ERR_FORMAT, "%s: header: expected an object", t->name);
    }
    rill_free(ctx, text, length);
    return status;
}

static rill_status read_header(rill_tensors *t)
{
    rill_context *ctx = t->blocks.ctx;
    unsigned char prefix[LENGTH_BYTES];
    if (t->size < LENGTH_BYTES)
        return rill_fail(ctx, RILL_ERR_FORMAT, "%s: expected 8 bytes of header length, the file has %zu bytes", t->name,
                         t->size);
    TRY(get(t, 0, sizeof prefix, prefix));
    uint64_t length = 0;
    for (int i = LENGTH_BYTES - 1; i >= 0; i--) length = length << 8 | prefix[i];
    if (memcmp(prefix, "version ", LENGTH_BYTES) == 0 && t->size < POINTER_LIMIT)
        return rill_fail(ctx, RILL_ERR_FORMAT,
                         "%s: this is Git LFS's pointer to the weights, not the weights: `git lfs pull` fetches them",
                         t->name);
    if (length > t->size - LENGTH_BYTES)
        return rill_fail(ctx, RILL_ERR_FORMAT,
                         "%s: the header of %llu bytes goes beyond the end of the file (%zu bytes)", t->name,
                         (unsigned long long)length, t->size);
    if (length > HEADER_LIMIT)
        return rill_fail(ctx, RILL_ERR_FORMAT, "%s: expected a header of at most 100 MiB, found %llu bytes", t->name,
                         (unsigned long long)length);
    t->data = LENGTH_BYTES + (size_t)length;
    t->data_size = t->size - t->data;
    return parse_header(t, (size_t)length);
}

static rill_status read_entries(rill_tensors *t)
{
    rill_status status = rill_blocks_get(&t->blocks, &t->entry, json_object_size(t->header), sizeof *t->entry, t->name);
    if (status != RILL_OK) return status;
    const char *name;
    json_t *value;
    json_object_foreach(t->header, name, value)
    {
        if (strcmp(name, "__metadata__") == 0) continue;
        status = read_entry(t, name, value, &t->entry[t->count++]);
        if (status != RILL_OK) return status;
    }
    status = check_layout(t);
    if (status == RILL_OK && t->count > 0) qsort(t->entry, t->count, sizeof *t->entry, by_name);
    return status;
}

static rill_status load(rill_tensors *t, const char *name, const char *bytes, size_t length)
{
    char *copy;
    rill_status status = rill_blocks_get(&t->blocks, &copy, strlen(name) + 1, 1, name);
    if (status != RILL_OK) return status;
    t->name = memcpy(copy, name, strlen(name) + 1);
    t->bytes = bytes;
    t->size = length;
    if (bytes == NULL) {
        status = rill_file_open(&t->file, t->blocks.ctx, t->name, RILL_FILE_REGULAR);
        t->size = (size_t)t->file.size;
    }
    if (status == RILL_OK) status = read_header(t);
    return status == RILL_OK ? read_entries(t) : status;
}

/* Of the file `name` where there are no bytes. */
static rill_status start(rill_tensors **out, rill_context *ctx, const char *name, const char *bytes, size_t length)
{
    *out = NULL;
    rill_tensors *t = rill_calloc(ctx, 1, sizeof *t);
    if (t == NULL) return rill_fail_memory(ctx, sizeof *t, name);
    t->blocks.ctx = ctx;
    rill_status status = load(t, name, bytes, length);
    if (status == RILL_OK)
        *out = t;
    else
        rill_tensors_close(t);
    return status;
}

rill_status rill_tensors_open(rill_tensors **out, rill_context *ctx, const char *path)
{
    return start(out, ctx, path, NULL, 0);
}

rill_status rill_tensors_parse(rill_tensors **out, rill_context *ctx, const char *name, const char *bytes,
                               size_t length)
{
    return start(out, ctx, name, bytes, length);
}

void rill_tensors_close(rill_tensors *t)
{
    if (t == NULL) return;
    rill_context *ctx = t->blocks.ctx;
    json_decref(t->header);
    rill_file_close(&t->file);
    rill_blocks_clear(&t->blocks);
    rill_free(ctx, t, sizeof *t);
}

/* --- finding ------------------------------------------------------------------------------------------------------ */

const rill_tensor *rill_tensors_find(const rill_tensors *t, const char *name)
{
    rill_tensor key = {.name = name};
    return t->count > 0 ? bsearch(&key, t->entry, t->count, sizeof *t->entry, by_name) : NULL;
}

size_t rill_tensors_count(const rill_tensors *t)
{
    return t->count;
}

const rill_tensor *rill_tensors_at(const rill_tensors *t, size_t i)
{
    return &t->entry[i];
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* "[64, 16]", cut where the buffer ends. */
static const char *shape_text(int rank, const int64_t *shape, char *buffer, size_t size)
{
    size_t at = (size_t)snprintf(buffer, size, "[");
    for (int i = 0; i < rank && at < size; i++)
        at += (size_t)snprintf(buffer + at, size - at, "%s%lld", i > 0 ? ", " : "", (long long)shape[i]);
    if (at < size) snprintf(buffer + at, size - at, "]");
    return buffer;
}

static rill_status fail_dtype(const rill_tensors *t, const rill_tensor *e, int accept)
{
    char why[120];
    size_t at = (size_t)snprintf(why, sizeof why, "expected dtype ");
    for (size_t i = 0, seen = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if ((dtypes[i].flag & accept) != 0)
            at += (size_t)snprintf(why + at, sizeof why - at, "%s%s", seen++ > 0 ? " or " : "", dtypes[i].name);
    snprintf(why + at, sizeof why - at, ", found %s", e->dtype);
    return fail_tensor(t, e->name, why);
}

static rill_status check_finite(const rill_tensors *t, const char *name, const float *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (isfinite(values[i])) continue;
        char why[80];
        snprintf(why, sizeof why, "expected finite values, found %g at element %zu", (double)values[i], i);
        return fail_tensor(t, name, why);
    }
    return RILL_OK;
}

rill_status rill_tensors_read(const rill_tensors *t, const char *name, int accept, int rank, const int64_t *shape,
                              float *out)
{
    char expected[120], found[120];
    shape_text(rank, shape, expected, sizeof expected);
    const rill_tensor *e = rill_tensors_find(t, name);
    if (e == NULL)
        return rill_fail(t->blocks.ctx, RILL_ERR_FORMAT, "%s: tensor \"%s\" is missing, expected with shape %s",
                         t->name, name, expected);
    const dtype *type = dtype_named(e->dtype);
    if ((type->flag & accept) == 0) return fail_dtype(t, e, accept);
    if (e->rank != rank || memcmp(e->shape, shape, (size_t)rank * sizeof *shape) != 0)
        return rill_fail(t->blocks.ctx, RILL_ERR_FORMAT, "%s: tensor \"%s\": expected shape %s, found %s", t->name,
                         name, expected, shape_text(e->rank, e->shape, found, sizeof found));
    const size_t size = e->end - e->begin, n = size / type->bytes;
    TRY(get(t, t->data + e->begin, size, (char *)out + (n * sizeof *out - size)));
    if (type->flag != RILL_TENSOR_F32) widen(out, type->flag, n);
    t->entry[e - t->entry].read = 1;
    return check_finite(t, name, out, n);
}

rill_status rill_tensors_same(const rill_tensors *t, const rill_tensor *a, const rill_tensor *b, int *same)
{
    char first[4096], second[sizeof first];
    const size_t size = a->end - a->begin;
    *same = a->dtype == b->dtype && a->rank == b->rank && size == b->end - b->begin &&
            memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) == 0;
    for (size_t at = 0, part; at < size && *same; at += part) {
        part = size - at < sizeof first ? size - at : sizeof first;
        rill_status status = get(t, t->data + a->begin + at, part, first);
        if (status == RILL_OK) status = get(t, t->data + b->begin + at, part, second);
        if (status != RILL_OK) return status;
        *same = memcmp(first, second, part) == 0;
    }
    return RILL_OK;
}
