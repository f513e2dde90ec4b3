/* Tokens and their ids; see vocabulary.h.
 *
 * A vocabulary is a copy of the file with NULs for line feeds, the offset of each token, and a hash table of ids.
 *
 * Invariant: token i is text[start[i]] .. text[start[i + 1] - 2], followed by a NUL. The hash table uses open addressing
 * with linear probing. Its size is a power of two, at least twice the number of tokens, so every probe sequence reaches an
 * empty slot (-1), and an unsuccessful search takes 2.5 probes on average (Knuth, vol. 3, 6.4). Tokens are never removed.
 *
 * Sections: hashing · reading · opening and closing · JSON · lookups. For JSON, jansson's document lives as long as the list of
 * tokens, which points into it; jansson has checked that strings are UTF-8 without NULs, and that an object has no token twice. */
#include <jansson.h>
#include <string.h>

#include "config_json.h"
#include "domain_base.h"
#include "rill/file.h"
#include "utf8.h"
#include "vocabulary.h"

struct rill_vocabulary {
    rill_arena arena;
    char *text;      /* the file's bytes, with a NUL after each token */
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

/* --- reading ------------------------------------------------------------------------------------------------------ */

static int32_t count_lines(const char *bytes, size_t length, int32_t limit)
{
    int32_t lines = 0;
    const char *end = bytes + length;
    while (bytes < end && lines <= limit) {
        const char *feed = memchr(bytes, '\n', (size_t)(end - bytes));
        lines++;
        bytes = feed != NULL ? feed + 1 : end;
    }
    return lines;
}

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

/* Add the token of `size` bytes at text[offset], with this id, to the hash table. */
static rill_status enter_token(rill_vocabulary *v, const char *name, int32_t id, uint32_t offset, size_t size)
{
    char *token = v->text + offset;
    token[size] = '\0';
    v->start[id] = offset;
    v->start[id + 1] = offset + (uint32_t)size + 1;
    uint32_t place = find_slot(v, token, size);
    if (v->table[place] >= 0)
        return rill_fail(v->arena.ctx, RILL_ERR_FORMAT, "%s:%d: \"%.60s\" is also in line %d", name, id + 1, token,
                         v->table[place] + 1);
    v->table[place] = id;
    return RILL_OK;
}

/* Split v->text at line feeds, and add each line to the hash table; its number is the id. */
static rill_status enter_lines(rill_vocabulary *v, const char *name, size_t length)
{
    uint32_t offset = 0;
    for (int32_t id = 0; id < v->count; id++) {
        char *token = v->text + offset;
        char *feed = memchr(token, '\n', length - offset);
        size_t size = feed != NULL ? (size_t)(feed - token) : length - offset;
        rill_status status = check_token(v->arena.ctx, name, id + 1, token, size);
        if (status == RILL_OK) status = enter_token(v, name, id, offset, size);
        if (status != RILL_OK) return status;
        offset = v->start[id + 1];
    }
    return RILL_OK;
}

/* Allocate an empty vocabulary for `count` tokens, which take `bytes` bytes in total, NULs included. */
static rill_status alloc_vocabulary(rill_vocabulary **out, rill_context *ctx, const char *name, int32_t count,
                                    size_t bytes)
{
    size_t places = 4;
    while (places < 2 * (size_t)count) places *= 2;
    if (bytes >= UINT32_MAX)
        return rill_fail(ctx, RILL_ERR_FORMAT, "%s: expected less than 4 GiB, found %zu bytes", name, bytes);
    rill_vocabulary *v = rill_calloc(ctx, 1, sizeof *v);
    if (v == NULL) return rill_fail_memory(ctx, sizeof *v, name);
    *v = (rill_vocabulary){.arena.ctx = ctx, .count = count, .mask = (uint32_t)(places - 1)};
    rill_status status = rill_arena_alloc(&v->arena, &v->text, bytes, 1, name);
    if (status == RILL_OK) status = rill_arena_alloc(&v->arena, &v->start, (size_t)count + 1, sizeof *v->start, name);
    if (status == RILL_OK) status = rill_arena_alloc(&v->arena, &v->table, places, sizeof *v->table, name);
    if (status == RILL_OK)
        memset(v->table, 0xFF, places * sizeof *v->table);
    else
        rill_vocabulary_close(v);
    if (status == RILL_OK) *out = v;
    return status;
}

/* If the status is RILL_OK, set *out to v; otherwise close v. Return the status. */
static rill_status finish_open(rill_vocabulary **out, rill_vocabulary *v, rill_status status)
{
    if (status == RILL_OK)
        *out = v;
    else
        rill_vocabulary_close(v);
    return status;
}

/* --- opening and closing ------------------------------------------------------------------------------------------ */

rill_status rill_vocabulary_parse(rill_vocabulary **out, rill_context *ctx, const char *name, const char *bytes,
                                  size_t length, int32_t limit)
{
    *out = NULL;
    if (length == 0)
        return rill_fail(ctx, RILL_ERR_FORMAT, "%s: expected one token per line, found an empty file", name);
    int32_t count = count_lines(bytes, length, limit);
    if (count > limit)
        return rill_fail(ctx, RILL_ERR_FORMAT, "%s:%d: expected at most %d tokens", name, limit + 1, limit);
    rill_vocabulary *v;
    TRY(alloc_vocabulary(&v, ctx, name, count, length + 1));
    memcpy(v->text, bytes, length);
    return finish_open(out, v, enter_lines(v, name, length));
}

rill_status rill_vocabulary_from_list(rill_vocabulary **out, rill_context *ctx, const char *name,
                                      const rill_slice *token, int32_t count)
{
    size_t bytes = 0;
    uint32_t offset = 0;
    rill_vocabulary *v;
    *out = NULL;
    for (int32_t i = 0; i < count; i++) bytes += token[i].length + 1;
    rill_status status = alloc_vocabulary(&v, ctx, name, count, bytes);
    if (status != RILL_OK) return status;
    for (int32_t i = 0; status == RILL_OK && i < count; i++) {
        memcpy(v->text + offset, token[i].data, token[i].length);
        status = enter_token(v, name, i, offset, token[i].length);
        offset += (uint32_t)token[i].length + 1;
    }
    return finish_open(out, v, status);
}

rill_status rill_vocabulary_open(rill_vocabulary **out, rill_context *ctx, const char *path, int32_t limit)
{
    static const char ending[] = ".json";
    const size_t length = strlen(path), n = sizeof ending - 1;
    const int json = length > n && strcmp(path + length - n, ending) == 0;
    *out = NULL;
    rill_text text = {.ctx = ctx};
    rill_status status = rill_file_read(&text, path, RILL_FILE_TEXT_MAX);
    if (status == RILL_OK)
        status = (json ? rill_vocabulary_parse_json : rill_vocabulary_parse)(out, ctx, path, text.data, text.length,
                                                                             limit);
    rill_text_clear(&text);
    return status;
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
    rill_status status = rill_vocabulary_open(out, ctx, path, LIMIT);
    if (status != RILL_OK) return status;
    status = check_expected(*out, ctx, path, key, size, special, specials);
    if (status == RILL_OK) return RILL_OK;
    rill_vocabulary_close(*out);
    *out = NULL;
    return status;
}

void rill_vocabulary_close(rill_vocabulary *v)
{
    if (v == NULL) return;
    rill_context *ctx = v->arena.ctx;
    rill_arena_clear(&v->arena);
    rill_free(ctx, v, sizeof *v);
}

/* --- JSON: an object {token: id}, or an array of tokens in order of ids ------------------------------------------- */

/* Store a token of a JSON vocabulary in list[id], where `number` is its id. `list` has `count` elements; an element
 * whose data is NULL has no token yet. */
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

static rill_status from_root(rill_vocabulary **out, rill_context *ctx, const char *name, json_t *root, int32_t limit)
{
    const size_t count = json_is_array(root) ? json_array_size(root) : json_object_size(root);
    if (count == 0)
        return rill_fail(ctx, RILL_ERR_FORMAT, "%s: expected an object of token: number, or a list of tokens", name);
    if (count > (size_t)limit)
        return rill_fail(ctx, RILL_ERR_FORMAT, "%s: expected at most %d tokens, found %zu", name, limit, count);
    rill_arena arena = {.ctx = ctx};
    rill_slice *list;
    rill_status status = rill_arena_alloc(&arena, &list, count, sizeof *list, name);
    if (status == RILL_OK) memset(list, 0, count * sizeof *list);
    if (status == RILL_OK) status = read_list(ctx, name, root, list);
    if (status == RILL_OK) status = rill_vocabulary_from_list(out, ctx, name, list, (int32_t)count);
    rill_arena_clear(&arena);
    return status;
}

rill_status rill_vocabulary_parse_json(rill_vocabulary **out, rill_context *ctx, const char *name, const char *bytes,
                                       size_t length, int32_t limit)
{
    *out = NULL;
    json_t *root;
    TRY(rill_json_parse(ctx, name, bytes, length, &root));
    rill_status status = from_root(out, ctx, name, root, limit);
    json_decref(root);
    return status;
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
