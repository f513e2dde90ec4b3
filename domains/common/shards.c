/* Sharded safetensors: several files, and an index that maps each tensor to its file.
 *
 * The index has the format of transformers' save_pretrained(): an object whose "weight_map" maps a tensor's name to the
 * name of a file in the index's directory. "metadata" is ignored, because several programs write a wrong total size,
 * which is its only member. Invariant: the index and the files agree. A missing file, a tensor missing in its file, and a
 * tensor missing in the index are errors, whose message names the file or tensor. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "tensor_file.h"
#include "try.h"

enum { MAX_FILES = 256 }; /* safetensors files of one model, all open at the same time */

typedef struct shard_reader {
    rill_tensor_file *tensor_file;
    rill_context *ctx;
    const json_t *weight_map;
    const char *file_names[MAX_FILES]; /* names in order of first occurrence; part i is file_names[i] */
    size_t n_files;
} shard_reader;

/* --- files -------------------------------------------------------------------------------------------------------- */

static rill_status add_file_name(shard_reader *x, const char *tensor, const json_t *value)
{
    const char *name = json_string_value(value);
    if (name == NULL || name[0] == '\0' || strchr(name, '/') != NULL || strcmp(name, "..") == 0)
        return rill_fail(x->ctx, RILL_ERR_FORMAT,
                         "%s: weight_map: \"%s\": expected the name of a file in the same "
                         "folder",
                         x->tensor_file->name, tensor);
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
    char path[4096], why[512];
    const char *end = strrchr(x->tensor_file->name, '/');
    const int folder = end != NULL ? (int)(end + 1 - x->tensor_file->name) : 0;
    if (snprintf(path, sizeof path, "%.*s%s", folder, x->tensor_file->name, x->file_names[i]) >= (int)sizeof path)
        return rill_fail(x->ctx, RILL_ERR_FORMAT, "%s: weight_map: the path of a file is too long",
                         x->tensor_file->name);
    const rill_status status = tensor_part_open(x->tensor_file, i, path, NULL, 0);
    if (status != RILL_ERR_NOT_FOUND) return status;
    snprintf(why, sizeof why, "%s", rill_error(x->ctx));
    return rill_fail(x->ctx, RILL_ERR_FORMAT, "%s: weight_map names a file that does not exist: %s",
                     x->tensor_file->name, why);
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
                     "%s: tensor \"%s\" is missing in %s, where the weight_map of %s "
                     "places it",
                     x->tensor_file->part[entry->part].name, name, expected_file, x->tensor_file->name);
}

/* Check that each tensor is in the file that the index names, and that each tensor of the index exists. Since the index
 * has one file for each name, no two files have a tensor of the same name. */
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

/* --- the whole ---------------------------------------------------------------------------------------------------- */

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

rill_status shards_read(rill_tensor_file *t)
{
    rill_context *ctx = t->arena.ctx;
    rill_text text = {.ctx = ctx};
    json_error_t error;
    rill_status status = rill_file_read(&text, t->name, RILL_FILE_TEXT_MAX);
    if (status == RILL_OK) {
        json_t *root = json_loadb(text.data, text.length, JSON_REJECT_DUPLICATES, &error);
        if (root == NULL)
            status = rill_fail(ctx, RILL_ERR_FORMAT, "%s:%d: %s", t->name, error.line, error.text);
        else
            status = read_weight_map(t, json_object_get(root, "weight_map"));
        json_decref(root);
    }
    rill_text_clear(&text);
    return status;
}
