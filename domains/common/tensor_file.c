/* Finds tensors by name and reads them, in all formats. Invariant: entries are sorted by name, and their bytes lie inside a part (file). */
#include "tensor_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- element types ------------------------------------------------------------------------------------------------ */

/* clang-format off */
static const tensor_type types[] = {
    {"F32", 4, RILL_TENSOR_F32}, {"F16", 2, RILL_TENSOR_F16}, {"BF16", 2, RILL_TENSOR_BF16}, {"F64", 8, 0},
    {"I64", 8, 0}, {"U64", 8, 0}, {"I32", 4, 0}, {"U32", 4, 0}, {"I16", 2, 0}, {"U16", 2, 0}, {"I8", 1, 0}, {"U8", 1, 0},
    {"BOOL", 1, 0}, {"F8_E4M3", 1, 0}, {"F8_E5M2", 1, 0}};
/* clang-format on */

const tensor_type *tensor_type_find(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, name) == 0) return &types[i];
    return NULL;
}

static float bits_to_float(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Convert IEEE 754 half precision to single precision. Portable C is fast enough: weights are converted once, at load. */
static float half_to_float(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = half & 1023;
    if (exponent == 31) return bits_to_float(sign | 0x7F800000 | fraction << 13);
    if (exponent != 0) return bits_to_float(sign | (exponent + 112) << 23 | fraction << 13);
    float tiny = (float)fraction * 0x1p-24f; /* zero or subnormal: exact in fp32 */
    return sign != 0 ? -tiny : tiny;
}

/* Convert n values in place. The narrow values end where `out` ends, so no write reaches an unread value. */
static void widen(float *out, const tensor_type *type, size_t n)
{
    const char *narrow = (const char *)out + (sizeof *out - type->bytes) * n;
    for (size_t i = 0; type->bytes == 1 && i < n; i++) {
        const int8_t value = (int8_t)narrow[i];
        out[i] = (float)value;
    }
    for (size_t i = 0; type->bytes == 2 && i < n; i++) {
        uint16_t bits;
        memcpy(&bits, narrow + i * sizeof bits, sizeof bits);
        out[i] = type->accept_flag == RILL_TENSOR_F16    ? half_to_float(bits)
                 : type->accept_flag == RILL_TENSOR_BF16 ? bits_to_float((uint32_t)bits << 16)
                                                         : (float)(bits < 32768 ? bits : bits - 65536);
    }
}

/* --- files of a model --------------------------------------------------------------------------------------------- */

rill_status tensor_part_read(const tensor_part *part, size_t offset, size_t n, void *out)
{
    if (part->bytes == NULL) return rill_file_get(&part->file, offset, n, out);
    memcpy(out, part->bytes + offset, n);
    return RILL_OK;
}

rill_status tensor_copy_string(rill_tensor_file *t, const char *text, const char **out)
{
    return rill_arena_copy(&t->arena, text, strlen(text), text, out);
}

rill_status tensor_alloc_parts(rill_tensor_file *t, size_t count)
{
    TRY(rill_arena_alloc(&t->arena, &t->part, count, sizeof *t->part, t->name));
    memset(t->part, 0, count * sizeof *t->part);
    t->n_parts = count;
    return RILL_OK;
}

rill_status tensor_part_open(rill_tensor_file *t, size_t i, const char *path, const char *bytes, size_t length)
{
    tensor_part *part = &t->part[i];
    TRY(tensor_copy_string(t, path, &part->name));
    part->bytes = bytes;
    part->size = length;
    if (bytes != NULL) return RILL_OK;
    TRY(rill_file_open(&part->file, t->arena.ctx, part->name, RILL_FILE_REGULAR));
    part->size = (size_t)part->file.size;
    return RILL_OK;
}

/* --- sorting tensors by name -------------------------------------------------------------------------------------- */

static int compare_entry_names(const void *a, const void *b)
{
    return strcmp(((const tensor_entry *)a)->tensor.name, ((const tensor_entry *)b)->tensor.name);
}

void tensor_sort_entries(rill_tensor_file *t)
{
    if (t->count > 0) qsort(t->entries, t->count, sizeof *t->entries, compare_entry_names);
}

/* --- finding tensors ---------------------------------------------------------------------------------------------- */

tensor_entry *tensor_find_entry(const rill_tensor_file *t, size_t count, const char *name)
{
    const tensor_entry key = {.tensor = {.name = name}};
    return count > 0 ? bsearch(&key, t->entries, count, sizeof *t->entries, compare_entry_names) : NULL;
}

const rill_file_tensor *rill_tensor_file_find(const rill_tensor_file *t, const char *name)
{
    const tensor_entry *entry = tensor_find_entry(t, t->count, name);
    return entry != NULL ? &entry->tensor : NULL;
}

size_t rill_tensor_file_count(const rill_tensor_file *t)
{
    return t->count;
}

const rill_file_tensor *rill_tensor_file_tensor(const rill_tensor_file *t, size_t i)
{
    return &t->entries[i].tensor;
}

static const tensor_part *tensor_part_for(const rill_tensor_file *t, const rill_file_tensor *tensor)
{
    return &t->part[((const tensor_entry *)tensor)->part];
}

/* Name of a tensor for messages; for a view, the name of its base tensor. */
static const char *tensor_file_name(const rill_file_tensor *tensor)
{
    const tensor_entry *entry = (const tensor_entry *)tensor;
    return entry->base_name != NULL ? entry->base_name : tensor->name;
}

/* --- views of tensors --------------------------------------------------------------------------------------------- */

/* Insert an entry into the entries, which stay sorted by name. */
static void insert_entry(rill_tensor_file *t, const tensor_entry *entry)
{
    size_t i = t->count++;
    for (; i > 0 && compare_entry_names(entry, &t->entries[i - 1]) < 0; i--) t->entries[i] = t->entries[i - 1];
    t->entries[i] = *entry;
}

rill_status tensor_add_view(rill_tensor_file *t, const char *name, const char *base_name, size_t from, size_t rows,
                            size_t zeros)
{
    const rill_file_tensor *base = rill_tensor_file_find(t, base_name);
    if (base == NULL)
        return rill_fail(t->arena.ctx, RILL_ERR_FORMAT, "%s: tensor \"%s\" is missing", t->name, base_name);
    const size_t all = base->rank > 0 ? (size_t)base->shape[0] : 0;
    if (from > all || rows > all - from)
        return TENSOR_FAIL(t, tensor_part_for(t, base), base_name, "expected a shape with at least %zu rows, found %zu",
                           from + rows, all);
    if (rill_tensor_file_find(t, name) != NULL)
        return TENSOR_FAIL(t, tensor_part_for(t, base), name, "another tensor has a part of this name");
    tensor_entry view = *(const tensor_entry *)base;
    const size_t row = all > 0 ? (base->end - base->begin) / all : 0;
    view.base_name = base->name;
    view.tensor.read = 0;
    view.tensor.begin += from * row;
    view.tensor.end = view.tensor.begin + rows * row;
    view.tensor.shape[0] = (int64_t)(rows + zeros);
    if (view.n_scales > 1) {
        view.scales_offset += from * sizeof(float);
        view.n_scales = rows;
    }
    view.zero_rows = zeros;
    TRY(tensor_copy_string(t, name, &view.tensor.name));
    TRY(GROW(&t->arena, t->entries, t->count + 1, t->name));
    insert_entry(t, &view);
    return RILL_OK;
}

/* --- reading tensors as floats ------------------------------------------------------------------------------------ */

/* Write a shape as "[64, 16]" to `buffer`, truncated to its size. */
static const char *shape_text(int rank, const int64_t *shape, char *buffer, size_t size)
{
    size_t used = (size_t)snprintf(buffer, size, "[");
    for (int i = 0; i < rank && used < size; i++)
        used += (size_t)snprintf(buffer + used, size - used, "%s%lld", i > 0 ? ", " : "", (long long)shape[i]);
    if (used < size) snprintf(buffer + used, size - used, "]");
    return buffer;
}

static rill_status fail_dtype(const rill_tensor_file *t, const rill_file_tensor *e, int accept)
{
    char names[100];
    size_t used = 0;
    for (size_t i = 0, seen = 0; i < sizeof types / sizeof *types; i++)
        if ((types[i].accept_flag & accept) != 0)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", seen++ > 0 ? " or " : "",
                                     types[i].name);
    return TENSOR_FAIL(t, tensor_part_for(t, e), tensor_file_name(e), "expected dtype %s, found %s", names, e->dtype);
}

static rill_status check_finite(const rill_tensor_file *t, const rill_file_tensor *e, const float *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (isfinite(values[i])) continue;
        return TENSOR_FAIL(t, tensor_part_for(t, e), tensor_file_name(e),
                           "expected finite values, found %g at element %zu", (double)values[i], i);
    }
    return RILL_OK;
}

/* Dequantize `out` in place: divide each row of integers by its scale, which is read from the file. */
static rill_status apply_scales(const rill_tensor_file *t, const tensor_entry *entry, size_t rows, size_t columns,
                                float *out)
{
    enum { SCALES_AT_ONCE = 256 };
    const tensor_part *part = &t->part[entry->part];
    float scale[SCALES_AT_ONCE];
    for (size_t r = 0; r < rows; r++, out += columns) {
        const size_t i = entry->n_scales == 1 ? 0 : r % SCALES_AT_ONCE, remaining = rows - r;
        const size_t some = entry->n_scales == 1 ? 1 : remaining < SCALES_AT_ONCE ? remaining : SCALES_AT_ONCE;
        if (entry->fixed_scale != 0.0f)
            scale[0] = entry->fixed_scale;
        else if (i == 0 && (r == 0 || entry->n_scales > 1))
            TRY(tensor_part_read(part,
                                 part->data_offset + entry->scales_offset + r * sizeof *scale * (entry->n_scales > 1),
                                 some * sizeof *scale, scale));
        if (!(scale[i] > 0.0f) || !isfinite(scale[i]))
            return TENSOR_FAIL(t, part, tensor_file_name(&entry->tensor),
                               "scale of row %zu: expected a positive number, found %g", r, (double)scale[i]);
        for (size_t c = 0; c < columns; c++) out[c] /= scale[i];
    }
    return RILL_OK;
}

/* Mark a tensor as read; if it is a view, its base tensor too. */
static void mark_read(const rill_tensor_file *t, const tensor_entry *entry)
{
    tensor_entry *base = entry->base_name != NULL ? tensor_find_entry(t, t->count, entry->base_name) : NULL;
    t->entries[entry - t->entries].tensor.read = 1;
    if (base != NULL) base->tensor.read = 1;
}

rill_status rill_tensor_file_read(const rill_tensor_file *t, const char *name, int accept, int rank,
                                  const int64_t *shape, float *out)
{
    char expected[120], found[120];
    shape_text(rank, shape, expected, sizeof expected);
    const rill_file_tensor *e = rill_tensor_file_find(t, name);
    if (e == NULL)
        return rill_fail(t->arena.ctx, RILL_ERR_FORMAT, "%s: tensor \"%s\" is missing, expected with shape %s", t->name,
                         name, expected);
    const tensor_entry *entry = (const tensor_entry *)e;
    const tensor_part *part = tensor_part_for(t, e);
    const tensor_type *type = tensor_type_find(e->dtype);
    if (((entry->n_scales > 0 ? RILL_TENSOR_SCALED : type->accept_flag) & accept) == 0) return fail_dtype(t, e, accept);
    if (e->rank != rank || memcmp(e->shape, shape, (size_t)rank * sizeof *shape) != 0)
        return TENSOR_FAIL(t, part, tensor_file_name(e), "expected shape %s, found %s", expected,
                           shape_text(e->rank, e->shape, found, sizeof found));
    const size_t size = e->end - e->begin, n = size / type->bytes;
    const size_t rows = rank > 0 ? (size_t)shape[0] - entry->zero_rows : 1;
    size_t columns = 1;
    for (int i = 1; i < rank; i++) columns *= (size_t)shape[i];
    TRY(tensor_part_read(part, part->data_offset + e->begin, size, (char *)out + (n * sizeof *out - size)));
    widen(out, type, n);
    if (entry->n_scales > 0) TRY(apply_scales(t, entry, rows, columns, out));
    memset(out + n, 0, entry->zero_rows * columns * sizeof *out);
    mark_read(t, entry);
    return check_finite(t, e, out, n);
}

rill_status rill_tensor_file_same_values(const rill_tensor_file *t, const rill_file_tensor *a,
                                         const rill_file_tensor *b, int *same)
{
    char first[4096], second[sizeof first];
    const size_t size = a->end - a->begin;
    const tensor_part *x = tensor_part_for(t, a), *y = tensor_part_for(t, b);
    *same = a->dtype == b->dtype && a->rank == b->rank && size == b->end - b->begin &&
            ((const tensor_entry *)a)->scales_offset == ((const tensor_entry *)b)->scales_offset &&
            memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) == 0;
    if (*same && x == y && a->begin == b->begin) return RILL_OK;
    for (size_t offset = 0, part; offset < size && *same; offset += part) {
        part = size - offset < sizeof first ? size - offset : sizeof first;
        TRY(tensor_part_read(x, x->data_offset + a->begin + offset, part, first));
        TRY(tensor_part_read(y, y->data_offset + b->begin + offset, part, second));
        *same = memcmp(first, second, part) == 0;
    }
    return RILL_OK;
}

/* --- weights of a model ------------------------------------------------------------------------------------------- */

rill_status rill_weights_read_into(const rill_tensor_file *tensors, const char *name, size_t rows, size_t columns,
                                   float *out)
{
    const int64_t shape[2] = {(int64_t)rows, (int64_t)columns};
    return rill_tensor_file_read(tensors, name, RILL_TENSOR_FLOATS, columns > 0 ? 2 : 1, shape, out);
}

rill_status rill_weights_check_size(const rill_tensor_file *tensors, const char *name, size_t rows, size_t columns)
{
    const rill_file_tensor *tensor = rill_tensor_file_find(tensors, name);
    const size_t count = rows * (columns > 0 ? columns : 1);
    if (tensor != NULL && rill_weights_n_values(tensor) >= count) return RILL_OK;
    return rill_weights_read_into(tensors, name, rows, columns, NULL);
}

rill_status rill_weights_read(const rill_tensor_file *tensors, rill_arena *arena, const char *name, size_t rows,
                              size_t columns, float **out)
{
    TRY(rill_weights_check_size(tensors, name, rows, columns));
    TRY(rill_arena_alloc(arena, out, rows * (columns > 0 ? columns : 1), sizeof **out, name));
    return rill_weights_read_into(tensors, name, rows, columns, *out);
}

rill_status rill_load_floats(rill_loader *l, const char *name, size_t rows, size_t columns, float **out)
{
    return rill_weights_read(l->tensors, &l->temp, name, rows, columns, out);
}

rill_status rill_load_kept(rill_loader *l, const char *name, size_t rows, size_t columns, float **out)
{
    return rill_weights_read(l->tensors, l->arena, name, rows, columns, out);
}

rill_status rill_load_constant(rill_loader *l, const char *name, size_t rows, size_t columns, rill_constant *out)
{
    float *table;
    TRY(rill_load_kept(l, name, rows, columns, &table));
    *out = rill_network_constant(l->network, table, columns > 0 ? rows : 1, columns > 0 ? columns : rows);
    return RILL_OK;
}

rill_matrix rill_load_matrix(const rill_loader *l, size_t n, size_t k, const float *w, size_t stride)
{
    return rill_network_matrix(l->network, l->type, n, k, w, stride);
}

rill_status rill_loader_check_all_read(const rill_loader *l, int (*is_optional)(const char *name))
{
    const rill_file_tensor *first = NULL;
    size_t n_unread = 0;
    char others[40] = "";
    for (size_t i = 0; i < rill_tensor_file_count(l->tensors); i++) {
        const rill_file_tensor *tensor = rill_tensor_file_tensor(l->tensors, i);
        if (tensor->read || (is_optional != NULL && is_optional(tensor->name))) continue;
        if (n_unread++ == 0) first = tensor;
    }
    if (n_unread == 0) return RILL_OK;
    if (n_unread > 1) snprintf(others, sizeof others, " (and %zu more)", n_unread - 1);
    return rill_fail(l->ctx, RILL_ERR_FORMAT, "%s: the model that config.json describes has no tensor \"%s\"%s",
                     l->path.data, first->name, others);
}
