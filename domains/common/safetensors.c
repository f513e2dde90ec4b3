/* Opens model files of all formats. Reads safetensors headers strictly, of one file or several with an index.
 *
 * Invariant: a file's tensors cover its data without gap or overlap. An index's "metadata" is ignored: some programs write a wrong total
 * size. */
#include "tensor_file.h"

#include <fnmatch.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "config_json.h"

enum {
    LENGTH_BYTES = 8,
    MAX_LFS_POINTER = 1024 /* a Git LFS pointer file is shorter than 1024 bytes, by its specification */
};
#define MAX_HEADER ((uint64_t)100 << 20) /* bytes of the longest header; the limit of the reference reader */

/* --- header entries ----------------------------------------------------------------------------------------------- */

/* A safetensors file whose header is being read (one part of the model). */
typedef struct part_reader {
    rill_tensor_file *tensor_file;
    tensor_part *part;
} part_reader;

static int is_size(const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 0;
}

/* Read "shape", and set *bytes to the size of the tensor's data; `element` is the size of an element in bytes. */
static rill_status read_shape(const part_reader *r, const json_t *shape, size_t element, rill_file_tensor *e,
                              size_t *bytes)
{
    if (!json_is_array(shape)) return TENSOR_FAIL(r->tensor_file, r->part, e->name, "expected an array as shape");
    if (json_array_size(shape) > RILL_TENSOR_MAX_RANK)
        return TENSOR_FAIL(r->tensor_file, r->part, e->name, "expected a shape of at most 8 dimensions");
    e->rank = (int)json_array_size(shape);
    *bytes = element;
    for (int i = 0; i < e->rank; i++) {
        const json_t *size = json_array_get(shape, (size_t)i);
        if (!is_size(size)) return TENSOR_FAIL(r->tensor_file, r->part, e->name, "expected a shape of integers from 0");
        e->shape[i] = json_integer_value(size);
        if (__builtin_mul_overflow(*bytes, (size_t)e->shape[i], bytes))
            return TENSOR_FAIL(r->tensor_file, r->part, e->name, "its shape is too large");
    }
    return RILL_OK;
}

static rill_status read_offsets(const part_reader *r, const json_t *offsets, rill_file_tensor *e)
{
    const json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !is_size(begin) || !is_size(end))
        return TENSOR_FAIL(r->tensor_file, r->part, e->name, "expected data_offsets with two integers from 0");
    uint64_t from = (uint64_t)json_integer_value(begin), to = (uint64_t)json_integer_value(end);
    if (from > to) return TENSOR_FAIL(r->tensor_file, r->part, e->name, "its data_offsets end before they begin");
    if (to > r->part->data_size)
        return TENSOR_FAIL(r->tensor_file, r->part, e->name, "its data ends at byte %llu of the data, which has %zu",
                           (unsigned long long)to, r->part->data_size);
    e->begin = (size_t)from;
    e->end = (size_t)to;
    return RILL_OK;
}

static rill_status read_entry(const part_reader *r, const char *name, const json_t *value, rill_file_tensor *e)
{
    *e = (rill_file_tensor){.name = name};
    const char *type_name = json_string_value(json_object_get(value, "dtype"));
    if (type_name == NULL)
        return TENSOR_FAIL(r->tensor_file, r->part, name, "expected an object with dtype, shape and data_offsets");
    const tensor_type *type = tensor_type_find(type_name);
    if (type == NULL) return TENSOR_FAIL(r->tensor_file, r->part, name, "its dtype \"%.20s\" is not known", type_name);
    e->dtype = type->name;
    size_t bytes = 0;
    TRY(read_shape(r, json_object_get(value, "shape"), type->bytes, e, &bytes));
    TRY(read_offsets(r, json_object_get(value, "data_offsets"), e));
    if (e->end - e->begin == bytes) return RILL_OK;
    return TENSOR_FAIL(r->tensor_file, r->part, name, "its shape takes %zu bytes, its data_offsets span %zu", bytes,
                       e->end - e->begin);
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
static rill_status check_layout(const part_reader *r, tensor_entry *entries, size_t count)
{
    size_t offset = 0;
    if (count > 0) qsort(entries, count, sizeof *entries, by_offset);
    for (size_t i = 0; i < count; i++) {
        const rill_file_tensor *e = &entries[i].tensor;
        if (e->begin != offset)
            return TENSOR_FAIL(r->tensor_file, r->part, e->name,
                               "expected at byte %zu of the data, found at %zu: tensors %s", offset, e->begin,
                               e->begin < offset ? "overlap" : "leave a gap");
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
    SCOPED(rill_arena_clear) rill_arena arena = {.ctx = ctx};
    char *text;
    TRY(rill_arena_alloc(&arena, &text, length, 1, p->name));
    TRY(tensor_part_read(p, LENGTH_BYTES, length, text));
    p->header_json = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    if (p->header_json == NULL)
        return rill_fail(ctx, RILL_ERR_FORMAT, "%s: header, byte %d: %s", p->name, error.position, error.text);
    if (json_is_object((const json_t *)p->header_json)) return RILL_OK;
    return rill_fail(ctx, RILL_ERR_FORMAT, "%s: header: expected an object", p->name);
}

static rill_status read_header(rill_context *ctx, tensor_part *p)
{
    unsigned char prefix[LENGTH_BYTES];
    if (p->size < LENGTH_BYTES)
        return rill_fail(ctx, RILL_ERR_FORMAT, "%s: expected 8 bytes of header length, the file has %zu bytes", p->name,
                         p->size);
    TRY(tensor_part_read(p, 0, sizeof prefix, prefix));
    const uint64_t length = rill_little_endian(prefix, LENGTH_BYTES);
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

/* --- entries of all files ------------------------------------------------------------------------------------------ */

static rill_status read_entries(rill_tensor_file *t, size_t part)
{
    const part_reader r = {.tensor_file = t, .part = &t->part[part]};
    const size_t first = t->count;
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)r.part->header_json, name, value)
    {
        if (strcmp(name, "__metadata__") == 0) continue;
        tensor_entry *entry = &t->entries[t->count++];
        *entry = (tensor_entry){.part = part};
        TRY(read_entry(&r, name, value, &entry->tensor));
    }
    return check_layout(&r, t->entries + first, t->count - first);
}

static rill_status safetensors_read(rill_tensor_file *t)
{
    size_t max_entries = 0;
    for (size_t i = 0; i < t->n_parts; i++) {
        TRY(read_header(t->arena.ctx, &t->part[i]));
        max_entries += json_object_size(t->part[i].header_json);
    }
    TRY(GROW(&t->arena, t->entries, max_entries, t->name));
    for (size_t i = 0; i < t->n_parts; i++) TRY(read_entries(t, i));
    tensor_sort_entries(t);
    return RILL_OK;
}

enum { MAX_FILES = 256 }; /* maximum number of safetensors files of one model; all are open at the same time */

typedef struct shard_reader {
    rill_tensor_file *tensor_file;
    rill_context *ctx;
    const json_t *weight_map;
    /* names of the files in the order in which the index first names them; part i of the model is file_names[i] */
    const char *file_names[MAX_FILES];
    size_t n_files;
} shard_reader;

/* --- files that an index names ------------------------------------------------------------------------------------- */

static rill_status add_file_name(shard_reader *x, const char *tensor, const json_t *value)
{
    const char *name = json_string_value(value);
    if (name == NULL || name[0] == '\0' || strchr(name, '/') != NULL || strcmp(name, "..") == 0)
        return rill_fail(x->ctx, RILL_ERR_FORMAT,
                         "%s: weight_map: \"%s\": expected the name of a file in the same folder", x->tensor_file->name,
                         tensor);
    for (size_t i = 0; i < x->n_files; i++)
        if (strcmp(x->file_names[i], name) == 0) return RILL_OK;
    if (x->n_files == MAX_FILES)
        return rill_fail(x->ctx, RILL_ERR_FORMAT, "%s: weight_map: expected at most %d files", x->tensor_file->name,
                         MAX_FILES);
    x->file_names[x->n_files++] = name;
    return RILL_OK;
}

/* Open shard i. A missing file is RILL_ERR_FORMAT rather than RILL_ERR_NOT_FOUND, because the index names the file. */
static rill_status open_shard(const shard_reader *x, size_t i)
{
    char path[4096];
    const char *end = strrchr(x->tensor_file->name, '/');
    const int folder = end != NULL ? (int)(end + 1 - x->tensor_file->name) : 0;
    if (snprintf(path, sizeof path, "%.*s%s", folder, x->tensor_file->name, x->file_names[i]) >= (int)sizeof path)
        return rill_fail(x->ctx, RILL_ERR_FORMAT, "%s: weight_map: the path of a file is too long",
                         x->tensor_file->name);
    const rill_status status = tensor_part_open(x->tensor_file, i, path, NULL, 0);
    if (status != RILL_ERR_NOT_FOUND) return status;
    return rill_fail(x->ctx, RILL_ERR_FORMAT, "%s: weight_map names a file that does not exist: %s",
                     x->tensor_file->name, rill_error(x->ctx));
}

/* --- comparing index and files ------------------------------------------------------------------------------------ */

static rill_status check_shard_of_entry(const shard_reader *x, const tensor_entry *entry)
{
    const char *name = entry->tensor.name, *expected_file = json_string_value(json_object_get(x->weight_map, name));
    if (expected_file == NULL)
        return rill_fail(x->ctx, RILL_ERR_FORMAT, "%s: tensor \"%s\" is not in the weight_map of %s",
                         x->tensor_file->part[entry->part].name, name, x->tensor_file->name);
    if (strcmp(expected_file, x->file_names[entry->part]) == 0) return RILL_OK;
    return rill_fail(x->ctx, RILL_ERR_FORMAT,
                     "%s: tensor \"%s\" is missing in %s, where the weight_map of %s places it",
                     x->tensor_file->part[entry->part].name, name, expected_file, x->tensor_file->name);
}

/* The index has one file for each name, so no tensor can be in two files. */
static rill_status check_index_matches(const shard_reader *x)
{
    const char *name;
    json_t *value;
    for (size_t i = 0; i < x->tensor_file->count; i++) TRY(check_shard_of_entry(x, &x->tensor_file->entries[i]));
    json_object_foreach((json_t *)(uintptr_t)x->weight_map, name, value)
    {
        if (rill_tensor_file_find(x->tensor_file, name) != NULL) continue;
        return rill_fail(x->ctx, RILL_ERR_FORMAT, "%s: weight_map: tensor \"%s\" is not in %s", x->tensor_file->name,
                         name, json_string_value(value));
    }
    return RILL_OK;
}

/* --- index of the shards ------------------------------------------------------------------------------------------ */

static rill_status read_weight_map(rill_tensor_file *t, const json_t *map)
{
    shard_reader x = {.tensor_file = t, .ctx = t->arena.ctx, .weight_map = map};
    const char *name;
    json_t *value;
    if (!json_is_object(map) || json_object_size(map) == 0)
        return rill_fail(x.ctx, RILL_ERR_FORMAT, "%s: weight_map: expected an object of tensor: file", t->name);
    json_object_foreach((json_t *)(uintptr_t)map, name, value) TRY(add_file_name(&x, name, value));
    TRY(tensor_alloc_parts(t, x.n_files));
    for (size_t i = 0; i < x.n_files; i++) TRY(open_shard(&x, i));
    TRY(safetensors_read(t));
    return check_index_matches(&x);
}

static rill_status read_index(rill_tensor_file *t)
{
    json_auto_t *root = NULL;
    TRY(rill_json_read(t->arena.ctx, t->name, &root));
    return read_weight_map(t, json_object_get(root, "weight_map"));
}

/* --- opening and closing ------------------------------------------------------------------------------------------ */

/* Set *out to the path of the file to open. In a directory that is model.safetensors or model.safetensors.index.json, else `path` or
 * PATH.index.json. If none exists, *out is `path`, which fails to open. */
static rill_status resolve_path(const char *path, rill_text *out)
{
    static const char *const inside[] = {"model.safetensors", "model.safetensors.index.json"};
    static const char *const endings[] = {"", ".index.json", ""};
    struct stat info;
    const int is_directory = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    for (size_t i = 0; is_directory && i < sizeof inside / sizeof *inside; i++) {
        TRY(rill_path_join(out, path, inside[i]));
        if (stat(out->data, &info) == 0) return RILL_OK;
    }
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        rill_text_reset(out);
        TRY(rill_text_printf(out, "%s%s", path, endings[i]));
        if (stat(out->data, &info) == 0) break;
    }
    return RILL_OK;
}

static rill_status load_single(rill_tensor_file *t, const char *bytes, size_t length)
{
    unsigned char first[64];
    TRY(tensor_alloc_parts(t, 1));
    TRY(tensor_part_open(t, 0, t->name, bytes, length));
    const size_t n = t->part->size < sizeof first ? t->part->size : sizeof first;
    TRY(tensor_part_read(t->part, 0, n, first));
    return is_ct2_file(first, n) ? ct2_read(t) : safetensors_read(t);
}

static rill_status load_tensor_file(rill_tensor_file *t, const char *name, const char *bytes, size_t length)
{
    TRY(tensor_copy_string(t, name, &t->name));
    return bytes == NULL && fnmatch("*.index.json", name, 0) == 0 ? read_index(t) : load_single(t, bytes, length);
}

/* `bytes` NULL: read the file `name`. */
rill_status rill_tensor_file_parse(rill_tensor_file **out, rill_context *ctx, const char *name, const char *bytes,
                                   size_t length)
{
    TRY(rill_struct_alloc(ctx, out, sizeof **out, name));
    (*out)->arena.ctx = ctx;
    return RILL_OPENED(load_tensor_file(*out, name, bytes, length), out, rill_tensor_file_close);
}

rill_status rill_tensor_file_open(rill_tensor_file **out, rill_context *ctx, const char *path)
{
    SCOPED(rill_text_clear) rill_text found = {.ctx = ctx};
    *out = NULL;
    TRY(resolve_path(path, &found));
    return rill_tensor_file_parse(out, ctx, found.data, NULL, 0);
}

void rill_tensor_file_close(rill_tensor_file *t)
{
    if (t == NULL) return;
    rill_context *ctx = t->arena.ctx;
    for (size_t i = 0; i < t->n_parts; i++) {
        json_decref(t->part[i].header_json);
        rill_file_close(&t->part[i].file);
    }
    rill_arena_clear(&t->arena);
    rill_free(ctx, t, sizeof *t);
}

rill_status rill_loader_open(rill_loader *l, const char *file)
{
    l->temp.ctx = l->path.ctx = l->ctx;
    TRY(rill_path_join(&l->path, l->directory, file));
    return rill_tensor_file_open(&l->tensors, l->ctx, l->path.data);
}

void rill_loader_close(rill_loader *l)
{
    rill_tensor_file_close(l->tensors);
    rill_arena_clear(&l->temp);
    rill_text_clear(&l->path);
}
