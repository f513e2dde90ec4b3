/* Tensors in several safetensors files, and the index that says which of them is in which file.
 *
 * The form is that of transformers' save_pretrained(): an object with "weight_map", name of a tensor -> name of a file beside the index.
 * "metadata" beside it is not looked at: what it tells, a total of bytes, several writers get wrong.
 * Invariant: what the index says is what the files hold. A tensor that is not where it should be, or is in a file and not in the index,
 * is refused by its name, and so is a file that is not there: half a model is none. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "tensors.h"
#include "try.h"

enum { MOST_FILES = 256 }; /* which stay open */

typedef struct shard_index {
    rill_tensors *t;
    rill_context *ctx;
    const json_t *map;
    const char *file[MOST_FILES]; /* in the order in which they are first named: part i is file[i] */
    size_t files;
} shard_index;

/* --- files -------------------------------------------------------------------------------------------------------- */

static rill_status add_file(shard_index *x, const char *tensor, const json_t *value)
{
    const char *name = json_string_value(value);
    if (name == NULL || name[0] == '\0' || strchr(name, '/') != NULL || strcmp(name, "..") == 0)
        return rill_fail(x->ctx, RILL_ERR_FORMAT, "%s: weight_map: \"%s\": expected the name of a file beside it",
                         x->t->name, tensor);
    for (size_t i = 0; i < x->files; i++)
        if (strcmp(x->file[i], name) == 0) return RILL_OK;
    if (x->files == MOST_FILES)
        return rill_fail(x->ctx, RILL_ERR_FORMAT, "%s: weight_map: expected at most %d files", x->t->name, MOST_FILES);
    x->file[x->files++] = name;
    return RILL_OK;
}

/* A missing file is the index's fault: it is not one that need not be there. */
static rill_status open_file(const shard_index *x, size_t i)
{
    char path[4096], why[512];
    const char *end = strrchr(x->t->name, '/');
    const int folder = end != NULL ? (int)(end + 1 - x->t->name) : 0;
    if (snprintf(path, sizeof path, "%.*s%s", folder, x->t->name, x->file[i]) >= (int)sizeof path)
        return rill_fail(x->ctx, RILL_ERR_FORMAT, "%s: weight_map: the path of a file is too long", x->t->name);
    const rill_status status = tensor_part_open(x->t, i, path, NULL, 0);
    if (status != RILL_ERR_NOT_FOUND) return status;
    snprintf(why, sizeof why, "%s", rill_error(x->ctx));
    return rill_fail(x->ctx, RILL_ERR_FORMAT, "%s: weight_map names a file that is not there: %s", x->t->name, why);
}

/* --- the two sides compared --------------------------------------------------------------------------------------- */

static rill_status check_entry(const shard_index *x, const tensor_entry *entry)
{
    const char *name = entry->tensor.name, *said = json_string_value(json_object_get(x->map, name));
    if (said == NULL)
        return rill_fail(x->ctx, RILL_ERR_FORMAT, "%s: tensor \"%s\" is not in the weight_map of %s",
                         x->t->part[entry->part].name, name, x->t->name);
    if (strcmp(said, x->file[entry->part]) == 0) return RILL_OK;
    return rill_fail(x->ctx, RILL_ERR_FORMAT, "%s: tensor \"%s\" should be in %s by the weight_map of %s",
                     x->t->part[entry->part].name, name, said, x->t->name);
}

/* Entries have names of their own once each is where the index says. */
static rill_status compare(const shard_index *x)
{
    const char *name;
    json_t *value;
    for (size_t i = 0; i < x->t->count; i++) TRY(check_entry(x, &x->t->entry[i]));
    json_object_foreach((json_t *)(uintptr_t)x->map, name, value)
    {
        if (rill_tensors_find(x->t, name) != NULL) continue;
        return rill_fail(x->ctx, RILL_ERR_FORMAT, "%s: weight_map: tensor \"%s\" is not in %s", x->t->name, name,
                         json_string_value(value));
    }
    return RILL_OK;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static rill_status read_all(rill_tensors *t, const json_t *map)
{
    shard_index x = {.t = t, .ctx = t->blocks.ctx, .map = map};
    const char *name;
    json_t *value;
    if (!json_is_object(map) || json_object_size(map) == 0)
        return rill_fail(x.ctx, RILL_ERR_FORMAT, "%s: weight_map: expected an object of tensor: file", t->name);
    json_object_foreach((json_t *)(uintptr_t)map, name, value) TRY(add_file(&x, name, value));
    TRY(tensor_parts(t, x.files));
    for (size_t i = 0; i < x.files; i++) TRY(open_file(&x, i));
    TRY(safetensors_read(t));
    return compare(&x);
}

rill_status shards_read(rill_tensors *t)
{
    rill_context *ctx = t->blocks.ctx;
    rill_text text = {.ctx = ctx};
    json_error_t error;
    rill_status status = rill_file_read(&text, t->name, RILL_FILE_TEXT_MAX);
    if (status == RILL_OK) {
        json_t *root = json_loadb(text.data, text.length, JSON_REJECT_DUPLICATES, &error);
        if (root == NULL)
            status = rill_fail(ctx, RILL_ERR_FORMAT, "%s:%d: %s", t->name, error.line, error.text);
        else
            status = read_all(t, json_object_get(root, "weight_map"));
        json_decref(root);
    }
    rill_text_clear(&text);
    return status;
}
