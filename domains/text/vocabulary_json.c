/* Reads vocabularies in JSON: an object {token: id}, or, as CTranslate2 writes it, an array of tokens in order of ids.
 *
 * Invariant: jansson's document lives as long as the list of tokens, which points into it. jansson has checked that strings
 * are UTF-8 without NULs, and that an object has no token twice. */
#include <jansson.h>
#include <string.h>

#include "domain_base.h"
#include "rill/file.h"
#include "vocabulary.h"

/* The tokens in order of their ids. */
typedef struct token_list {
    const char **token; /* [count] tokens in order of ids; NULL: the id has no token yet */
    size_t *length;
    int32_t count;
} token_list;

static rill_status put_token(rill_context *ctx, const char *name, const token_list *l, const char *token,
                             const json_t *number)
{
    json_int_t id = json_is_integer(number) ? json_integer_value(number) : -1;
    if (id < 0 || id >= l->count)
        return rill_fail(ctx, RILL_ERR_FORMAT,
                         "%s: \"%.60s\": expected an id from 0 to %d, a different one for "
                         "each token",
                         name, token, l->count - 1);
    if (l->token[id] != NULL)
        return rill_fail(ctx, RILL_ERR_FORMAT, "%s: \"%.60s\" and \"%.60s\" have the same id %d", name, l->token[id],
                         token, (int)id);
    l->token[id] = token;
    l->length[id] = strlen(token);
    return RILL_OK;
}

static rill_status read_list(rill_arena *arena, const char *name, json_t *root, token_list *l)
{
    size_t count = (size_t)l->count;
    TRY(rill_arena_alloc(arena, &l->token, count, sizeof *l->token, name));
    TRY(rill_arena_alloc(arena, &l->length, count, sizeof *l->length, name));
    memset(l->token, 0, count * sizeof *l->token);
    const char *token;
    json_t *number;
    json_object_foreach(root, token, number) TRY(put_token(arena->ctx, name, l, token, number));
    for (size_t i = 0; i < json_array_size(root); i++) {
        token = json_string_value(json_array_get(root, i));
        if (token == NULL) return rill_fail(arena->ctx, RILL_ERR_FORMAT, "%s: no token has the id %zu", name, i);
        l->token[i] = token;
        l->length[i] = strlen(token);
    }
    return RILL_OK;
}

static rill_status from_root(rill_vocabulary **out, rill_context *ctx, const char *name, json_t *root, int32_t limit)
{
    const size_t count = json_is_array(root) ? json_array_size(root) : json_object_size(root);
    if (count == 0)
        return rill_fail(ctx, RILL_ERR_FORMAT, "%s: expected an object of token: number, or a list of tokens", name);
    if (count > (size_t)limit)
        return rill_fail(ctx, RILL_ERR_FORMAT, "%s: expected at most %d tokens, found %zu", name, limit, count);
    rill_arena arena = {.ctx = ctx};
    token_list l = {.count = (int32_t)count};
    rill_status status = read_list(&arena, name, root, &l);
    if (status == RILL_OK) status = rill_vocabulary_from_list(out, ctx, name, l.token, l.length, l.count);
    rill_arena_clear(&arena);
    return status;
}

rill_status rill_vocabulary_parse_json(rill_vocabulary **out, rill_context *ctx, const char *name, const char *bytes,
                                       size_t length, int32_t limit)
{
    *out = NULL;
    json_error_t error;
    json_t *root = json_loadb(bytes, length, JSON_REJECT_DUPLICATES, &error);
    if (root == NULL) return rill_fail(ctx, RILL_ERR_FORMAT, "%s:%d: %s", name, error.line, error.text);
    rill_status status = from_root(out, ctx, name, root, limit);
    json_decref(root);
    return status;
}

rill_status rill_vocabulary_open_json(rill_vocabulary **out, rill_context *ctx, const char *path, int32_t limit)
{
    *out = NULL;
    rill_text text = {.ctx = ctx};
    rill_status status = rill_file_read(&text, path, RILL_FILE_TEXT_MAX);
    if (status == RILL_OK) status = rill_vocabulary_parse_json(out, ctx, path, text.data, text.length, limit);
    rill_text_clear(&text);
    return status;
}
