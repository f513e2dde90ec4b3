/* Reads tokens' names, ids and flags from tokenizer_config.json, special_tokens_map.json and added_tokens.json: the first file with a key
 * counts. Adds added tokens to Marian and FSMT vocabularies. */
#include "family.h"

#include <stdlib.h>
#include <string.h>

#include "config_json.h"
#include "rill/file.h"

/* --- configuration files ------------------------------------------------------------------------------------------ */

rill_status rill_tokenizer_config_read(const rill_tokenizer_config *config, const char *file, rill_config **out)
{
    SCOPED(rill_text_clear) rill_text path = {.ctx = config->ctx};
    if (!rill_directory_has_file(config->directory, file)) return RILL_OK;
    TRY(rill_path_join(&path, config->directory, file));
    return rill_config_open(out, config->ctx, path.data);
}

rill_status rill_tokenizer_config_open(rill_tokenizer_config *config, rill_context *ctx, const char *directory)
{
    *config = (rill_tokenizer_config){.ctx = ctx, .directory = directory};
    TRY(rill_tokenizer_config_read(config, "tokenizer_config.json", &config->config));
    TRY(rill_tokenizer_config_read(config, "special_tokens_map.json", &config->special_tokens_map));
    return rill_tokenizer_config_read(config, "added_tokens.json", &config->added_tokens);
}

void rill_tokenizer_config_close(rill_tokenizer_config *config)
{
    rill_config_close(config->config);
    rill_config_close(config->special_tokens_map);
    rill_config_close(config->added_tokens);
    rill_config_close(config->tokenizer);
    *config = (rill_tokenizer_config){0};
}

/* --- values of the configuration ---------------------------------------------------------------------------------- */

/* The string of a token, which is a JSON string or an object's "content"; NULL for another value. */
static const char *token_content(const json_t *value)
{
    return json_string_value(json_is_object(value) ? json_object_get(value, "content") : value);
}

const char *rill_tokenizer_config_string(const rill_tokenizer_config *config, const char *key)
{
    const char *text = token_content(json_object_get(rill_config_root(config->config), key));
    return text != NULL ? text : token_content(json_object_get(rill_config_root(config->special_tokens_map), key));
}

/* --- added tokens ------------------------------------------------------------------------------------------------- */

typedef struct numbered_token {
    long long id;
    const char *text;
    int flags;
} numbered_token;

static int by_id(const void *a, const void *b)
{
    const numbered_token *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

int rill_added_token_flags(const json_t *token)
{
    static const struct {
        const char *key;
        int flag;
    } known[] = {{"special", RILL_TOKEN_SPECIAL},
                 {"lstrip", RILL_TOKEN_LSTRIP},
                 {"rstrip", RILL_TOKEN_RSTRIP},
                 {"single_word", RILL_TOKEN_SINGLE_WORD}};
    int flags = 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (json_is_true(json_object_get(token, known[i].key))) flags |= known[i].flag;
    return flags;
}

/* Read a member of added_tokens_decoder: {"ID": {"content": TEXT, ...}} */
static rill_status read_token_by_id(const rill_tokenizer_config *config, const char *key, const json_t *token,
                                    numbered_token *out)
{
    char *end;
    *out = (numbered_token){
        .id = strtoll(key, &end, 10), .text = token_content(token), .flags = rill_added_token_flags(token)};
    if (*key >= '0' && *key <= '9' && *end == '\0' && out->text != NULL && out->text[0] != '\0') return RILL_OK;
    return rill_fail(config->ctx, RILL_ERR_FORMAT,
                     "%s/tokenizer_config.json: added_tokens_decoder: expected NUMBER: {\"content\": TEXT}, found "
                     "\"%.40s\"",
                     config->directory, key);
}

/* Read a member of added_tokens.json: {"TEXT": ID} */
static rill_status read_id_by_token(const rill_tokenizer_config *config, const char *key, const json_t *id,
                                    numbered_token *out)
{
    *out = (numbered_token){.id = rill_json_integer(id, -1), .text = key};
    if (out->id >= 0 && key[0] != '\0') return RILL_OK;
    return rill_fail(config->ctx, RILL_ERR_FORMAT, "%s/added_tokens.json: \"%.60s\": expected a number",
                     config->directory, key);
}

/* Add all tokens of a JSON object, in order of their ids; `read` reads a member. */
static rill_status add_numbered(const rill_tokenizer_config *config, json_t *object, rill_token_set *tokens,
                                rill_status (*read)(const rill_tokenizer_config *, const char *, const json_t *,
                                                    numbered_token *))
{
    SCOPED(rill_arena_clear) rill_arena arena = {.ctx = config->ctx};
    numbered_token *list;
    size_t n = 0;
    const char *key;
    json_t *value;
    if (json_object_size(object) == 0) return RILL_OK;
    TRY(rill_arena_alloc(&arena, &list, json_object_size(object), sizeof *list, "added tokens"));
    json_object_foreach(object, key, value) TRY(read(config, key, value, &list[n++]));
    qsort(list, n, sizeof *list, by_id);
    for (size_t i = 0; i < n; i++)
        TRY(rill_token_set_add(tokens, list[i].text, strlen(list[i].text), list[i].id, list[i].flags));
    return RILL_OK;
}

rill_status rill_tokenizer_config_add_tokens(const rill_tokenizer_config *config, rill_token_set *tokens)
{
    json_t *decoder = json_object_get(rill_config_root(config->config), "added_tokens_decoder");
    TRY(add_numbered(config, decoder, tokens, read_token_by_id));
    return add_numbered(config, rill_config_root(config->added_tokens), tokens, read_id_by_token);
}

/* Add the special tokens of a JSON array of strings, or of objects with "content". */
static rill_status add_list(const json_t *list, rill_token_set *tokens)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *token = json_array_get(list, i);
        const char *text = token_content(token);
        const int flags = (json_is_object(token) ? rill_added_token_flags(token) : 0) | RILL_TOKEN_SPECIAL;
        if (text != NULL && text[0] != '\0') TRY(rill_token_set_add(tokens, text, strlen(text), -1, flags));
    }
    return RILL_OK;
}

rill_status rill_tokenizer_config_add_special(const rill_tokenizer_config *config, rill_token_set *tokens)
{
    static const char *const keys[] = {"additional_special_tokens", "extra_special_tokens"};
    for (size_t i = 0; i < 2; i++) {
        const json_t *list = json_object_get(rill_config_root(config->config), keys[i]),
                     *other = json_object_get(rill_config_root(config->special_tokens_map), keys[i]);
        TRY(add_list(list != NULL ? list : other, tokens));
    }
    return RILL_OK;
}

/* --- Marian and FSMT ---------------------------------------------------------------------------------------------- */

/* Source: transformers' tokenization_python.py. Texts are split at added and special tokens first. Source and target must give added
 * tokens equal ids. */

/* Add the special tokens of the tokenizer class, if the vocabulary has them. Only FSMT has <s>. */
static rill_status add_specials(const rill_tokenizer_config *config, int has_begin, rill_token_set *tokens)
{
    /* the key of tokenizer_config.json, and the name without that key */
    static const char *const names[][2] = {{"eos_token", "</s>"},
                                           {"unk_token", "<unk>"},
                                           {"pad_token", "<pad>"},
                                           {"sep_token", "</s>"},
                                           {"bos_token", "<s>"}};
    for (size_t i = 0; i < sizeof names / sizeof *names - !has_begin; i++) {
        const char *own = rill_tokenizer_config_string(config, names[i][0]), *name = own != NULL ? own : names[i][1];
        if (rill_token_set_find(tokens, name, strlen(name)) >= 0)
            TRY(rill_token_set_add(tokens, name, strlen(name), -1, RILL_TOKEN_SPECIAL));
    }
    return RILL_OK;
}

/* Add those of the source's added tokens that its vocabulary file lacks, which has `first` tokens, to the target's
 * vocabulary. */
static rill_status add_to_target(rill_tokenizer *t, const rill_tokenizer_files *files, int32_t first)
{
    SCOPED(rill_token_set_clear)
    rill_token_set tokens = {
        .arena.ctx = t->ctx, .name = files->target, .vocabulary = t->target, .limit = files->target_vocab_size};
    for (size_t i = 0; i < t->added->n_added; i++) {
        const rill_added_token *a = &t->added->added[i];
        if (a->id >= first) TRY(rill_token_set_add(&tokens, a->text.data, a->text.length, a->id, a->flags));
    }
    return RILL_OK;
}

rill_status rill_added_tokens_open(rill_tokenizer *t, const rill_tokenizer_files *files)
{
    SCOPED(rill_tokenizer_config_close) rill_tokenizer_config config = {0};
    const int32_t first = rill_vocabulary_count(t->source);
    TRY(rill_struct_alloc(t->ctx, &t->added, sizeof *t->added, "added tokens"));
    TRY(rill_tokenizer_config_open(&config, t->ctx, files->directory));
    *t->added = (rill_token_set){
        .arena.ctx = t->ctx, .name = files->source, .vocabulary = t->source, .limit = files->source_vocab_size};
    TRY(add_specials(&config, files->kind == RILL_TOKENIZER_MOSES_BPE, t->added));
    TRY(rill_tokenizer_config_add_tokens(&config, t->added));
    TRY(rill_tokenizer_config_add_special(&config, t->added));
    if (t->target != t->source) TRY(add_to_target(t, files, first));
    TRY(rill_token_set_finish(t->added));
    return rill_config_bool_or(config.config, "clean_up_tokenization_spaces", 0, &t->clean_up_spaces);
}

void rill_added_tokens_close(rill_tokenizer *t)
{
    if (t->added == NULL) return;
    rill_token_set_clear(t->added);
    rill_free(t->ctx, t->added, sizeof *t->added);
}
