/* What a folder says of its tokens beside its vocabulary: tokenizer_config.json, special_tokens_map.json, added_tokens.json; family.h.
 *
 * Of a key the first of these files that has it counts. jansson has checked that texts are UTF-8 without NULs.
 * Divisions: files · values · added tokens. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "family.h"
#include "rill/file.h"
#include "try.h"

/* --- files -------------------------------------------------------------------------------------------------------- */

int rill_said_has(const char *directory, const char *file)
{
    char path[4096];
    const size_t used = strlen(directory), more = strlen(file);
    if (used + more + 2 > sizeof path) return 0;
    memcpy(path, directory, used);
    path[used] = '/';
    memcpy(path + used + 1, file, more + 1);
    return access(path, F_OK) == 0;
}

/* "model_max_length" is often 10^30, which is no number of jansson's but as a real one; then all are. */
static json_t *parse(const rill_text *text, json_error_t *error)
{
    json_error_t again;
    json_t *root = json_loadb(text->data, text->length, JSON_REJECT_DUPLICATES, error);
    if (root != NULL || json_error_code(error) != json_error_numeric_overflow) return root;
    return json_loadb(text->data, text->length, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &again);
}

static rill_status read_json(rill_context *ctx, const char *path, json_t **out)
{
    json_error_t error;
    rill_text text = {.ctx = ctx};
    rill_status status = rill_file_read(&text, path, RILL_FILE_TEXT_MAX);
    if (status == RILL_OK) {
        *out = parse(&text, &error);
        if (*out == NULL)
            status = rill_fail(ctx, RILL_ERR_FORMAT, "%s:%d: %s", path, error.line, error.text);
        else if (!json_is_object(*out))
            status = rill_fail(ctx, RILL_ERR_FORMAT, "%s: expected an object", path);
    }
    rill_text_clear(&text);
    return status;
}

static rill_status open_one(const rill_said *said, const char *file, json_t **out)
{
    rill_text path = {.ctx = said->ctx};
    if (!rill_said_has(said->directory, file)) return RILL_OK;
    rill_status status = rill_path_join(&path, said->directory, file);
    if (status == RILL_OK) status = read_json(said->ctx, path.data, out);
    rill_text_clear(&path);
    return status;
}

rill_status rill_said_open(rill_said *said, rill_context *ctx, const char *directory, int tokenizer)
{
    *said = (rill_said){.ctx = ctx, .directory = directory};
    TRY(open_one(said, "tokenizer_config.json", &said->config));
    TRY(open_one(said, "special_tokens_map.json", &said->map));
    TRY(open_one(said, "added_tokens.json", &said->added));
    return tokenizer ? open_one(said, "tokenizer.json", &said->tokenizer) : RILL_OK;
}

void rill_said_close(rill_said *said)
{
    json_decref(said->config);
    json_decref(said->map);
    json_decref(said->added);
    json_decref(said->tokenizer);
    *said = (rill_said){0};
}

/* --- values ------------------------------------------------------------------------------------------------------- */

/* A text, or what an object has at "content". */
static const char *content(const json_t *value)
{
    return json_string_value(json_is_object(value) ? json_object_get(value, "content") : value);
}

const char *rill_said_text(const rill_said *said, const char *key)
{
    const char *text = content(json_object_get(said->config, key));
    return text != NULL ? text : content(json_object_get(said->map, key));
}

rill_status rill_said_switch(const rill_said *said, const char *key, int fallback, int *out)
{
    const json_t *value = json_object_get(said->config, key);
    *out = value == NULL || json_is_null(value) ? fallback : json_is_true(value);
    if (value == NULL || json_is_null(value) || json_is_boolean(value)) return RILL_OK;
    return rill_fail(said->ctx, RILL_ERR_FORMAT, "%s/tokenizer_config.json: %s: expected true or false",
                     said->directory, key);
}

/* A whole number, however it was read; else `otherwise`. */
static int64_t whole(const json_t *value, int64_t otherwise)
{
    const double real = json_is_real(value) ? json_real_value(value) : 0.5;
    if (json_is_integer(value)) return json_integer_value(value);
    return real > -1e15 && real < 1e15 && (double)(int64_t)real == real ? (int64_t)real : otherwise;
}

rill_status rill_said_number(const rill_said *said, const char *key, int64_t least, int64_t most, int64_t fallback,
                             int64_t *out)
{
    const json_t *value = json_object_get(said->config, key);
    *out = fallback;
    if (value == NULL || json_is_null(value)) return RILL_OK;
    *out = whole(value, least - 1);
    if (*out >= least && *out <= most) return RILL_OK;
    return rill_fail(said->ctx, RILL_ERR_FORMAT, "%s/tokenizer_config.json: %s: expected an integer from %lld to %lld",
                     said->directory, key, (long long)least, (long long)most);
}

/* --- added tokens ------------------------------------------------------------------------------------------------- */

/* A token and its number. */
typedef struct numbered {
    long long id;
    const char *text;
    int flags;
} numbered;

static int compare(const void *a, const void *b)
{
    const numbered *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

static int flags_of(const json_t *token)
{
    static const struct {
        const char *key;
        int flag;
    } known[] = {{"special", RILL_TOKEN_SPECIAL},
                 {"lstrip", RILL_TOKEN_LEFT},
                 {"rstrip", RILL_TOKEN_RIGHT},
                 {"single_word", RILL_TOKEN_WORD}};
    int flags = 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (json_is_true(json_object_get(token, known[i].key))) flags |= known[i].flag;
    return flags;
}

/* {"ID": {"content": TEXT, ...}} */
static rill_status number_of(const rill_said *said, const char *key, const json_t *token, numbered *out)
{
    char *end;
    *out = (numbered){.id = strtoll(key, &end, 10), .text = content(token), .flags = flags_of(token)};
    if (*key >= '0' && *key <= '9' && *end == '\0' && out->text != NULL && out->text[0] != '\0') return RILL_OK;
    return rill_fail(said->ctx, RILL_ERR_FORMAT,
                     "%s/tokenizer_config.json: added_tokens_decoder: expected NUMBER: {\"content\": TEXT}, found "
                     "\"%.40s\"",
                     said->directory, key);
}

/* {"TEXT": ID} */
static rill_status text_of(const rill_said *said, const char *key, const json_t *id, numbered *out)
{
    *out = (numbered){.id = whole(id, -1), .text = key};
    if (out->id >= 0 && key[0] != '\0') return RILL_OK;
    return rill_fail(said->ctx, RILL_ERR_FORMAT, "%s/added_tokens.json: \"%.60s\": expected a number", said->directory,
                     key);
}

/* All of an object, in order of their numbers. */
static rill_status add_all(const rill_said *said, json_t *object, rill_tokens *tokens,
                           rill_status (*read)(const rill_said *, const char *, const json_t *, numbered *))
{
    rill_blocks blocks = {.ctx = said->ctx};
    numbered *list;
    size_t n = 0;
    const char *key;
    json_t *value;
    if (json_object_size(object) == 0) return RILL_OK;
    rill_status status = rill_blocks_get(&blocks, &list, json_object_size(object), sizeof *list, "added tokens");
    json_object_foreach(object, key, value)
    {
        if (status == RILL_OK) status = read(said, key, value, &list[n++]);
    }
    if (status == RILL_OK) qsort(list, n, sizeof *list, compare);
    for (size_t i = 0; status == RILL_OK && i < n; i++)
        status = rill_tokens_add(tokens, list[i].text, strlen(list[i].text), list[i].id, list[i].flags);
    rill_blocks_clear(&blocks);
    return status;
}

rill_status rill_said_add(const rill_said *said, rill_tokens *tokens)
{
    TRY(add_all(said, json_object_get(said->config, "added_tokens_decoder"), tokens, number_of));
    return add_all(said, said->added, tokens, text_of);
}

/* Texts, or objects with one. */
static rill_status add_list(const json_t *list, rill_tokens *tokens)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *token = json_array_get(list, i);
        const char *text = content(token);
        const int flags = (json_is_object(token) ? flags_of(token) : 0) | RILL_TOKEN_SPECIAL;
        if (text != NULL && text[0] != '\0') TRY(rill_tokens_add(tokens, text, strlen(text), -1, flags));
    }
    return RILL_OK;
}

rill_status rill_said_add_listed(const rill_said *said, rill_tokens *tokens)
{
    static const char *const keys[] = {"additional_special_tokens", "extra_special_tokens"};
    for (size_t i = 0; i < 2; i++) {
        const json_t *list = json_object_get(said->config, keys[i]);
        TRY(add_list(list != NULL ? list : json_object_get(said->map, keys[i]), tokens));
    }
    return RILL_OK;
}
