/* Tokens and their ids.
 *
 * Invariant: token i is text[start[i]] .. text[start[i + 1] - 2], then a NUL. The hash table uses linear probing, and is at most half
 * full. */
#include <fnmatch.h>
#include <jansson.h>
#include <string.h>

#include "config_json.h"
#include "domain_base.h"
#include "rill/file.h"
#include "vocabulary.h"

enum { FIRST_SLOTS = 16 }; /* size of the hash table of an empty vocabulary */

struct rill_vocabulary {
    rill_arena arena;
    char *text;      /* the tokens, with a NUL after each */
    uint32_t *start; /* [count + 1] offsets in text */
    int32_t *table;  /* [mask + 1] token ids, -1 for an empty slot */
    uint32_t mask;
    int32_t count;
};

/* --- hashing ------------------------------------------------------------------------------------------------------ */

/* FNV-1a. The upper half is folded into the lower half, because find_slot() uses the low bits. */
static uint32_t hash(const char *bytes, size_t length)
{
    uint64_t value = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < length; i++) value = (value ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
    return (uint32_t)(value ^ value >> 32);
}

/* The slot of a token in the hash table, or the empty slot in which it would be stored. */
static uint32_t find_slot(const rill_vocabulary *v, const char *token, size_t length)
{
    uint32_t place = hash(token, length) & v->mask;
    for (;; place = (place + 1) & v->mask) {
        int32_t id = v->table[place];
        if (id < 0) return place;
        size_t other = v->start[id + 1] - v->start[id] - 1;
        if (other == length && memcmp(v->text + v->start[id], token, length) == 0) return place;
    }
}

static rill_status resize_table(rill_vocabulary *v, size_t slots)
{
    TRY(GROW(&v->arena, v->table, slots, "a vocabulary"));
    memset(v->table, 0xFF, slots * sizeof *v->table);
    v->mask = (uint32_t)(slots - 1);
    for (int32_t id = 0; id < v->count; id++)
        v->table[find_slot(v, v->text + v->start[id], v->start[id + 1] - v->start[id] - 1)] = id;
    return RILL_OK;
}

/* --- adding tokens ------------------------------------------------------------------------------------------------ */

rill_status rill_vocabulary_create(rill_vocabulary **out, rill_context *ctx)
{
    TRY(rill_struct_alloc(ctx, out, sizeof **out, "a vocabulary"));
    (*out)->arena.ctx = ctx;
    rill_status status = GROW(&(*out)->arena, (*out)->start, 1, "a vocabulary");
    if (status == RILL_OK) status = rill_vocabulary_reset(*out);
    return RILL_OPENED(status, out, rill_vocabulary_close);
}

rill_status rill_vocabulary_reset(rill_vocabulary *v)
{
    v->count = 0;
    v->start[0] = 0;
    return resize_table(v, FIRST_SLOTS);
}

void rill_vocabulary_close(rill_vocabulary *v)
{
    if (v == NULL) return;
    rill_context *ctx = v->arena.ctx;
    rill_arena_clear(&v->arena);
    rill_free(ctx, v, sizeof *v);
}

rill_status rill_vocabulary_intern(rill_vocabulary *v, const char *token, size_t length, int32_t *id)
{
    const size_t begin = v->start[v->count], end = begin + length + 1;
    *id = rill_vocabulary_id(v, token, length);
    if (*id >= 0) return RILL_OK;
    if (end > UINT32_MAX) return rill_fail(v->arena.ctx, RILL_ERR_FORMAT, "a vocabulary has more than 4 GiB of tokens");
    TRY(GROW(&v->arena, v->text, end, "a vocabulary"));
    TRY(GROW(&v->arena, v->start, (size_t)v->count + 2, "a vocabulary"));
    if (2 * ((size_t)v->count + 1) > v->mask) TRY(resize_table(v, 2 * ((size_t)v->mask + 1)));
    memcpy(v->text + begin, token, length);
    v->text[end - 1] = '\0';
    v->start[v->count + 1] = (uint32_t)end;
    v->table[find_slot(v, token, length)] = *id = v->count++;
    return RILL_OK;
}

rill_status rill_vocabulary_add(rill_vocabulary *v, const char *name, const char *token, size_t length)
{
    const int32_t next = v->count;
    int32_t id;
    TRY(rill_vocabulary_intern(v, token, length, &id));
    if (id == next) return RILL_OK;
    return rill_fail(v->arena.ctx, RILL_ERR_FORMAT, "%s:%d: \"%.60s\" is also in line %d", name, next + 1,
                     rill_vocabulary_token(v, id, NULL), id + 1);
}

/* --- JSON: an object {token: id}, or an array of tokens in order of ids ------------------------------------------- */

/* Store a token at list[id]; `number` is the id. Elements without a token have data NULL. */
static rill_status put_token(rill_context *ctx, const char *name, rill_slice *list, json_int_t count, const char *token,
                             const json_t *number)
{
    json_int_t id = json_is_integer(number) ? json_integer_value(number) : -1;
    if (id < 0 || id >= count)
        return rill_fail(ctx, RILL_ERR_FORMAT,
                         "%s: \"%.60s\": expected an id from 0 to %d, a different one for each token", name, token,
                         (int)count - 1);
    if (list[id].data != NULL)
        return rill_fail(ctx, RILL_ERR_FORMAT, "%s: \"%.60s\" and \"%.60s\" have the same id %d", name, list[id].data,
                         token, (int)id);
    list[id] = (rill_slice){token, strlen(token)};
    return RILL_OK;
}

static rill_status read_list(rill_context *ctx, const char *name, json_t *root, rill_slice *list)
{
    const char *token;
    json_t *number;
    json_object_foreach(root, token, number)
        TRY(put_token(ctx, name, list, (json_int_t)json_object_size(root), token, number));
    for (size_t i = 0; i < json_array_size(root); i++) {
        token = json_string_value(json_array_get(root, i));
        if (token == NULL) return rill_fail(ctx, RILL_ERR_FORMAT, "%s: no token has the id %zu", name, i);
        list[i] = (rill_slice){token, strlen(token)};
    }
    return RILL_OK;
}

rill_status rill_vocabulary_add_json(rill_vocabulary *v, const char *name, json_t *root, int32_t limit)
{
    rill_context *ctx = v->arena.ctx;
    const size_t count = json_is_array(root) ? json_array_size(root) : json_object_size(root);
    if (count == 0)
        return rill_fail(ctx, RILL_ERR_FORMAT, "%s: expected an object of token: number, or a list of tokens", name);
    if (count > (size_t)limit)
        return rill_fail(ctx, RILL_ERR_FORMAT, "%s: expected at most %d tokens, found %zu", name, limit, count);
    SCOPED(rill_arena_clear) rill_arena arena = {.ctx = ctx};
    rill_slice *list;
    TRY(rill_arena_alloc(&arena, &list, count, sizeof *list, name));
    memset(list, 0, count * sizeof *list);
    TRY(read_list(ctx, name, root, list));
    for (size_t i = 0; i < count; i++) TRY(rill_vocabulary_add(v, name, list[i].data, list[i].length));
    return RILL_OK;
}

static rill_status add_json_text(rill_vocabulary *v, const char *name, const char *bytes, size_t length, int32_t limit)
{
    json_auto_t *root = NULL;
    TRY(rill_json_parse(v->arena.ctx, name, bytes, length, &root));
    return rill_vocabulary_add_json(v, name, root, limit);
}

/* --- vocabulary files --------------------------------------------------------------------------------------------- */

static rill_status check_token(rill_context *ctx, const char *name, int32_t line, const char *token, size_t length)
{
    if (length == 0) return rill_fail(ctx, RILL_ERR_FORMAT, "%s:%d: expected a token, found an empty line", name, line);
    if (token[length - 1] == '\r')
        return rill_fail(ctx, RILL_ERR_FORMAT, "%s:%d: expected lines that end with a line feed, found CR LF", name,
                         line);
    size_t good = rill_utf8_check(token, length);
    if (good < length)
        return rill_fail(ctx, RILL_ERR_FORMAT, "%s:%d: byte %zu of the line is not UTF-8", name, line, good + 1);
    if (memchr(token, '\0', length) != NULL)
        return rill_fail(ctx, RILL_ERR_FORMAT, "%s:%d: a token may not contain a NUL byte", name, line);
    return RILL_OK;
}

/* Add each line as a token; its number is the id. */
static rill_status add_lines(rill_vocabulary *v, const char *name, const char *bytes, size_t length, int32_t limit)
{
    rill_context *ctx = v->arena.ctx;
    if (length == 0)
        return rill_fail(ctx, RILL_ERR_FORMAT, "%s: expected one token per line, found an empty file", name);
    for (rill_slice rest = {bytes, length}, token; rest.length > 0;) {
        rill_slice_cut(&rest, '\n', &token);
        if (v->count == limit)
            return rill_fail(ctx, RILL_ERR_FORMAT, "%s:%d: expected at most %d tokens", name, limit + 1, limit);
        TRY(check_token(ctx, name, v->count + 1, token.data, token.length));
        TRY(rill_vocabulary_add(v, name, token.data, token.length));
    }
    return RILL_OK;
}

rill_status rill_vocabulary_parse(rill_vocabulary **out, rill_context *ctx, const char *name, const char *bytes,
                                  size_t length, int32_t limit)
{
    TRY(rill_vocabulary_create(out, ctx));
    return RILL_OPENED(add_lines(*out, name, bytes, length, limit), out, rill_vocabulary_close);
}

rill_status rill_vocabulary_add_file(rill_vocabulary *v, const char *path, int32_t limit)
{
    const int json = fnmatch("*.json", path, 0) == 0;
    SCOPED(rill_text_clear) rill_text text = {.ctx = v->arena.ctx};
    TRY(rill_file_read(&text, path, RILL_FILE_TEXT_MAX));
    return (json ? add_json_text : add_lines)(v, path, text.data, text.length, limit);
}

rill_status rill_vocabulary_open(rill_vocabulary **out, rill_context *ctx, const char *path, int32_t limit)
{
    TRY(rill_vocabulary_create(out, ctx));
    return RILL_OPENED(rill_vocabulary_add_file(*out, path, limit), out, rill_vocabulary_close);
}

static rill_status check_expected(const rill_vocabulary *v, rill_context *ctx, const char *path, const char *key,
                                  int32_t size, const char *const *special, int32_t specials)
{
    int32_t count = rill_vocabulary_count(v);
    if (count != size)
        return rill_fail(ctx, RILL_ERR_FORMAT, "%s: expected %d tokens, the value of %s in config.json, found %d", path,
                         size, key, count);
    for (int32_t i = 0; i < specials; i++)
        if (i >= count || strcmp(rill_vocabulary_token(v, i, NULL), special[i]) != 0)
            return rill_fail(ctx, RILL_ERR_FORMAT, "%s:%d: expected %s, found %.60s", path, i + 1, special[i],
                             i < count ? rill_vocabulary_token(v, i, NULL) : "the end");
    return RILL_OK;
}

rill_status rill_vocabulary_open_checked(rill_vocabulary **out, rill_context *ctx, const char *path, const char *key,
                                         int32_t size, const char *const *special, int32_t specials)
{
    enum { LIMIT = 1 << 22 }; /* larger than any `size`, so that the error message can state the number found */
    TRY(rill_vocabulary_open(out, ctx, path, LIMIT));
    return RILL_OPENED(check_expected(*out, ctx, path, key, size, special, specials), out, rill_vocabulary_close);
}

/* --- lookups ------------------------------------------------------------------------------------------------------ */

int32_t rill_vocabulary_count(const rill_vocabulary *v)
{
    return v->count;
}

int32_t rill_vocabulary_id(const rill_vocabulary *v, const char *token, size_t length)
{
    return v->table[find_slot(v, token, length)];
}

const char *rill_vocabulary_token(const rill_vocabulary *v, int32_t id, size_t *length)
{
    if (length != NULL) *length = v->start[id + 1] - v->start[id] - 1;
    return v->text + v->start[id];
}

rill_status rill_vocabulary_write(const rill_vocabulary *v, int32_t id, rill_text *out)
{
    size_t length;
    const char *token = rill_vocabulary_token(v, id, &length);
    return rill_text_append(out, token, length);
}
