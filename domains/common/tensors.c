/* Named tensors of model files: opening, finding and reading, whatever form the files have; see tensors.h.
 *
 * Invariant: entries are sorted by name and their bytes lie inside their part. So reading one is a search by name, a comparison of
 * shapes and a loop.
 *
 * Divisions: element types · parts · opening and closing · finding · reading. */
#include "tensors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "try.h"

/* --- element types ------------------------------------------------------------------------------------------------ */

static const tensor_type types[] = {
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

const tensor_type *tensor_type_named(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, name) == 0) return &types[i];
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

/* Make each of n narrower numbers, which lie at the end of `out`, fp32 in place: number i is written over numbers that were read
 * before. */
static void widen_bytes(float *out, size_t n)
{
    const int8_t *narrow = (const int8_t *)out + (sizeof *out - 1) * n;
    for (size_t i = 0; i < n; i++) {
        const int8_t value = narrow[i];
        out[i] = (float)value;
    }
}

static void widen_halves(float *out, int flag, size_t n)
{
    const char *narrow = (const char *)out + 2 * n;
    for (size_t i = 0; i < n; i++) {
        uint16_t bits;
        memcpy(&bits, narrow + i * sizeof bits, sizeof bits);
        out[i] = flag == RILL_TENSOR_F16    ? float_of_half(bits)
                 : flag == RILL_TENSOR_BF16 ? float_of_bits((uint32_t)bits << 16)
                                            : (float)(bits < 32768 ? bits : bits - 65536);
    }
}

static void widen(float *out, const tensor_type *type, size_t n)
{
    if (type->bytes == 1) widen_bytes(out, n);
    if (type->bytes == 2) widen_halves(out, type->flag, n);
}

/* --- parts -------------------------------------------------------------------------------------------------------- */

rill_status tensor_fail(const rill_tensors *t, const tensor_part *part, const char *name, const char *why)
{
    return rill_fail(t->blocks.ctx, RILL_ERR_FORMAT, "%s: tensor \"%s\": %s", part->name, name, why);
}

rill_status tensor_get(const tensor_part *part, size_t at, size_t n, void *out)
{
    if (part->bytes == NULL) return rill_file_get(&part->file, at, n, out);
    memcpy(out, part->bytes + at, n);
    return RILL_OK;
}

rill_status tensor_text(rill_tensors *t, const char *text, const char **out)
{
    const size_t size = strlen(text) + 1;
    char *copy;
    TRY(rill_blocks_get(&t->blocks, &copy, size, 1, text));
    *out = memcpy(copy, text, size);
    return RILL_OK;
}

rill_status tensor_parts(rill_tensors *t, size_t count)
{
    TRY(rill_blocks_get(&t->blocks, &t->part, count, sizeof *t->part, t->name));
    memset(t->part, 0, count * sizeof *t->part);
    t->parts = count;
    return RILL_OK;
}

rill_status tensor_part_open(rill_tensors *t, size_t i, const char *path, const char *bytes, size_t length)
{
    tensor_part *part = &t->part[i];
    TRY(tensor_text(t, path, &part->name));
    part->bytes = bytes;
    part->size = length;
    if (bytes != NULL) return RILL_OK;
    TRY(rill_file_open(&part->file, t->blocks.ctx, part->name, RILL_FILE_REGULAR));
    part->size = (size_t)part->file.size;
    return RILL_OK;
}

/* --- opening and closing ------------------------------------------------------------------------------------------ */

static const char WEIGHTS[] = "model.safetensors", INDEX[] = ".index.json";

static int by_name(const void *a, const void *b)
{
    return strcmp(((const tensor_entry *)a)->tensor.name, ((const tensor_entry *)b)->tensor.name);
}

static int is_index(const char *path)
{
    const size_t length = strlen(path), ending = sizeof INDEX - 1;
    return length >= ending && strcmp(path + length - ending, INDEX) == 0;
}

void tensor_sort(rill_tensors *t)
{
    if (t->count > 0) qsort(t->entry, t->count, sizeof *t->entry, by_name);
}

/* *out = the file, or the index beside it where there is no such file; *found whether there is either. */
static rill_status find_one(const char *path, rill_text *out, int *found)
{
    struct stat info;
    rill_text_reset(out);
    TRY(rill_text_printf(out, "%s", path));
    *found = 1;
    if (stat(out->data, &info) == 0) return RILL_OK;
    TRY(rill_text_printf(out, "%s", INDEX));
    *found = stat(out->data, &info) == 0;
    return RILL_OK;
}

/* What is opened at `path`: of a folder its file of weights, if it has one. */
static rill_status find_file(const char *path, rill_text *out)
{
    struct stat info;
    int found = 0;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
        rill_text inside = {.ctx = out->ctx};
        rill_status status = rill_path_join(&inside, path, WEIGHTS);
        if (status == RILL_OK) status = find_one(inside.data, out, &found);
        rill_text_clear(&inside);
        TRY(status);
    }
    if (!found) TRY(find_one(path, out, &found));
    if (found) return RILL_OK;
    rill_text_reset(out);
    return rill_text_printf(out, "%s", path);
}

static rill_status load_one(rill_tensors *t, const char *bytes, size_t length)
{
    unsigned char first[64];
    TRY(tensor_parts(t, 1));
    TRY(tensor_part_open(t, 0, t->name, bytes, length));
    const size_t n = t->part->size < sizeof first ? t->part->size : sizeof first;
    TRY(tensor_get(t->part, 0, n, first));
    return ct2_is(first, n) ? ct2_read(t) : safetensors_read(t);
}

static rill_status load(rill_tensors *t, const char *name, const char *bytes, size_t length)
{
    TRY(tensor_text(t, name, &t->name));
    return bytes == NULL && is_index(name) ? shards_read(t) : load_one(t, bytes, length);
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
    rill_text found = {.ctx = ctx};
    *out = NULL;
    rill_status status = find_file(path, &found);
    if (status == RILL_OK) status = start(out, ctx, found.data, NULL, 0);
    rill_text_clear(&found);
    return status;
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
    for (size_t i = 0; i < t->parts; i++) {
        safetensors_release(&t->part[i]);
        rill_file_close(&t->part[i].file);
    }
    rill_blocks_clear(&t->blocks);
    rill_free(ctx, t, sizeof *t);
}

/* --- finding ------------------------------------------------------------------------------------------------------ */

const rill_tensor *rill_tensors_find(const rill_tensors *t, const char *name)
{
    const tensor_entry key = {.tensor = {.name = name}};
    const tensor_entry *entry = t->count > 0 ? bsearch(&key, t->entry, t->count, sizeof *t->entry, by_name) : NULL;
    return entry != NULL ? &entry->tensor : NULL;
}

size_t rill_tensors_count(const rill_tensors *t)
{
    return t->count;
}

const rill_tensor *rill_tensors_at(const rill_tensors *t, size_t i)
{
    return &t->entry[i].tensor;
}

/* The entry that a tensor is handed out from. */
static const tensor_entry *entry_of(const rill_tensor *tensor)
{
    return (const tensor_entry *)tensor;
}

static const tensor_part *part_of(const rill_tensors *t, const rill_tensor *tensor)
{
    return &t->part[entry_of(tensor)->part];
}

/* What errors call it: the name in the file. */
static const char *name_of(const rill_tensor *tensor)
{
    const tensor_entry *entry = entry_of(tensor);
    return entry->of != NULL ? entry->of : tensor->name;
}

/* --- views -------------------------------------------------------------------------------------------------------- */

rill_status tensor_more(rill_tensors *t, size_t more)
{
    tensor_entry *entry;
    if (t->room - t->count >= more) return RILL_OK;
    const size_t room = more > t->count ? t->count + more : 2 * t->count;
    TRY(rill_blocks_get(&t->blocks, &entry, room, sizeof *entry, t->name));
    if (t->count > 0) memcpy(entry, t->entry, t->count * sizeof *entry);
    t->entry = entry;
    t->room = room;
    return RILL_OK;
}

/* Put an entry where its name belongs. */
static void insert(rill_tensors *t, const tensor_entry *entry)
{
    size_t at = t->count++;
    for (; at > 0 && by_name(entry, &t->entry[at - 1]) < 0; at--) t->entry[at] = t->entry[at - 1];
    t->entry[at] = *entry;
}

rill_status tensor_view(rill_tensors *t, const char *name, const char *of, size_t from, size_t rows, size_t zeros)
{
    const rill_tensor *whole = rill_tensors_find(t, of);
    char why[120];
    if (whole == NULL) return rill_fail(t->blocks.ctx, RILL_ERR_FORMAT, "%s: tensor \"%s\" is missing", t->name, of);
    const size_t all = whole->rank > 0 ? (size_t)whole->shape[0] : 0;
    snprintf(why, sizeof why, "expected a shape with at least %zu rows, found %zu", from + rows, all);
    if (from > all || rows > all - from) return tensor_fail(t, part_of(t, whole), of, why);
    if (rill_tensors_find(t, name) != NULL)
        return tensor_fail(t, part_of(t, whole), name, "a part of another tensor is called so");
    tensor_entry view = *entry_of(whole);
    const size_t row = all > 0 ? (whole->end - whole->begin) / all : 0;
    view.of = whole->name;
    view.tensor.read = 0;
    view.tensor.begin += from * row;
    view.tensor.end = view.tensor.begin + rows * row;
    view.tensor.shape[0] = (int64_t)(rows + zeros);
    if (view.scales > 1) {
        view.scale += from * sizeof(float);
        view.scales = rows;
    }
    view.zeros = zeros;
    TRY(tensor_text(t, name, &view.tensor.name));
    TRY(tensor_more(t, 1));
    insert(t, &view);
    return RILL_OK;
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
    for (size_t i = 0, seen = 0; i < sizeof types / sizeof *types; i++)
        if ((types[i].flag & accept) != 0)
            at += (size_t)snprintf(why + at, sizeof why - at, "%s%s", seen++ > 0 ? " or " : "", types[i].name);
    snprintf(why + at, sizeof why - at, ", found %s", e->dtype);
    return tensor_fail(t, part_of(t, e), name_of(e), why);
}

static rill_status check_finite(const rill_tensors *t, const rill_tensor *e, const float *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (isfinite(values[i])) continue;
        char why[80];
        rill_print(why, sizeof why, "expected finite values, found %g at element %zu", (double)values[i], i);
        return tensor_fail(t, part_of(t, e), name_of(e), why);
    }
    return RILL_OK;
}

/* Divide the rows of integers by their scales. */
static rill_status unscale(const rill_tensors *t, const tensor_entry *entry, size_t rows, size_t columns, float *out)
{
    enum { AT_ONCE = 256 };
    const tensor_part *part = &t->part[entry->part];
    float scale[AT_ONCE];
    for (size_t r = 0; r < rows; r++, out += columns) {
        const size_t i = entry->scales == 1 ? 0 : r % AT_ONCE, left = rows - r;
        const size_t some = entry->scales == 1 ? 1 : left < AT_ONCE ? left : AT_ONCE;
        if (i == 0 && (r == 0 || entry->scales > 1))
            TRY(tensor_get(part, part->data + entry->scale + r * sizeof *scale * (entry->scales > 1),
                           some * sizeof *scale, scale));
        if (!(scale[i] > 0.0f) || !isfinite(scale[i])) {
            char why[100];
            rill_print(why, sizeof why, "the scale of row %zu: expected a positive number, found %g", r,
                       (double)scale[i]);
            return tensor_fail(t, part, entry->of != NULL ? entry->of : entry->tensor.name, why);
        }
        for (size_t c = 0; c < columns; c++) out[c] /= scale[i];
    }
    return RILL_OK;
}

/* It was given, and so was what it is a view of. */
static void mark(const rill_tensors *t, const tensor_entry *entry)
{
    const rill_tensor *of = entry->of != NULL ? rill_tensors_find(t, entry->of) : NULL;
    t->entry[entry - t->entry].tensor.read = 1;
    if (of != NULL) t->entry[entry_of(of) - t->entry].tensor.read = 1;
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
    const tensor_entry *entry = entry_of(e);
    const tensor_type *type = tensor_type_named(e->dtype);
    if (((entry->scales > 0 ? RILL_TENSOR_SCALED : type->flag) & accept) == 0) return fail_dtype(t, e, accept);
    if (e->rank != rank || memcmp(e->shape, shape, (size_t)rank * sizeof *shape) != 0)
        return rill_fail(t->blocks.ctx, RILL_ERR_FORMAT, "%s: tensor \"%s\": expected shape %s, found %s",
                         part_of(t, e)->name, name_of(e), expected, shape_text(e->rank, e->shape, found, sizeof found));
    const tensor_part *part = part_of(t, e);
    const size_t size = e->end - e->begin, n = size / type->bytes;
    const size_t rows = rank > 0 ? (size_t)shape[0] - entry->zeros : 1;
    size_t columns = 1;
    for (int i = 1; i < rank; i++) columns *= (size_t)shape[i];
    TRY(tensor_get(part, part->data + e->begin, size, (char *)out + (n * sizeof *out - size)));
    widen(out, type, n);
    if (entry->scales > 0) TRY(unscale(t, entry, rows, columns, out));
    memset(out + n, 0, entry->zeros * columns * sizeof *out);
    mark(t, entry);
    return check_finite(t, e, out, n);
}

rill_status rill_tensors_same(const rill_tensors *t, const rill_tensor *a, const rill_tensor *b, int *same)
{
    char first[4096], second[sizeof first];
    const size_t size = a->end - a->begin;
    const tensor_part *x = part_of(t, a), *y = part_of(t, b);
    *same = a->dtype == b->dtype && a->rank == b->rank && size == b->end - b->begin &&
            entry_of(a)->scale == entry_of(b)->scale &&
            memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) == 0;
    if (*same && x == y && a->begin == b->begin) return RILL_OK;
    for (size_t at = 0, part; at < size && *same; at += part) {
        part = size - at < sizeof first ? size - at : sizeof first;
        TRY(tensor_get(x, x->data + a->begin + at, part, first));
        TRY(tensor_get(y, y->data + b->begin + at, part, second));
        *same = memcmp(first, second, part) == 0;
    }
    return RILL_OK;
}
