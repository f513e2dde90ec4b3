/* Reads tokenizer.json. Source: the tokenizers library, with its older forms (no "type", merges as strings). An unsupported type is an
 * error. */
#include "segmenters.h"

#include <stdio.h>
#include <string.h>

/* --- checking keys ------------------------------------------------------------------------------------------------ */

typedef struct tokenizer_json_reader {
    rill_pipeline *p;
    rill_context *ctx;
    const char *name;
    rill_token_set *tokens;
} tokenizer_json_reader;

static rill_status refuse_key(const tokenizer_json_reader *r, const char *key, const char *why)
{
    return rill_fail(r->ctx, RILL_ERR_FORMAT, "%s: %s: %s", r->name, key, why);
}

static const char *part_type(const json_t *part)
{
    const char *type = json_string_value(json_object_get(part, "type"));
    return type != NULL ? type : "";
}

static rill_status refuse_type(const tokenizer_json_reader *r, const char *key, const json_t *part)
{
    return rill_fail(r->ctx, RILL_ERR_FORMAT, "%s: %s: \"%.40s\" is not supported", r->name, key, part_type(part));
}

static int is_absent(const json_t *value)
{
    return value == NULL || json_is_null(value) || json_is_false(value);
}

static int get_bool(const json_t *part, const char *key, int fallback)
{
    const json_t *value = json_object_get(part, key);
    return value == NULL || json_is_null(value) ? fallback : json_is_true(value);
}

static rill_status copy_string(const tokenizer_json_reader *r, const json_t *text, rill_slice *out)
{
    out->length = json_string_length(text);
    return rill_arena_copy(&r->p->arena, json_string_value(text), out->length, r->name, &out->data);
}

/* A part of type "Sequence" stands for the parts in the array at key `list`, recursively. */
typedef rill_status (*part_fn)(tokenizer_json_reader *r, const json_t *part);
static rill_status for_each_part(tokenizer_json_reader *r, const char *key, const json_t *part, const char *list,
                                 part_fn read, int depth)
{
    if (is_absent(part)) return RILL_OK;
    if (!json_is_object(part)) return refuse_key(r, key, "expected an object");
    if (strcmp(part_type(part), "Sequence") != 0) return read(r, part);
    const json_t *parts = json_object_get(part, list);
    if (!json_is_array(parts) || depth > 8) return refuse_key(r, key, "expected a list of parts");
    for (size_t i = 0; i < json_array_size(parts); i++)
        TRY(for_each_part(r, key, json_array_get(parts, i), list, read, depth + 1));
    return RILL_OK;
}

/* --- normalizers -------------------------------------------------------------------------------------------------- */

static int base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* `out` is as long as the text. Returns the number of bytes, 0 if the text is invalid. */
static size_t decode_base64(const char *text, size_t length, char *out)
{
    size_t n = 0;
    uint32_t bits = 0;
    while (length > 0 && text[length - 1] == '=') length--;
    for (size_t i = 0; i < length; i++) {
        const int digit = base64_digit(text[i]);
        if (digit < 0) return 0;
        bits = bits << 6 | (uint32_t)digit;
        if (i % 4 != 0) out[n++] = (char)(bits >> (6 - 2 * (i % 4)) & 0xFF);
    }
    return n;
}

static rill_status read_charsmap(tokenizer_json_reader *r, const json_t *part, rill_normalizer *out)
{
    const json_t *text = json_object_get(part, "precompiled_charsmap");
    char *bytes;
    if (json_is_null(text) || (json_is_string(text) && json_string_length(text) == 0)) {
        *out = (rill_normalizer){.kind = RILL_NORMALIZER_STRIP}; /* trims neither end: does nothing */
        return RILL_OK;
    }
    if (!json_is_string(text)) return refuse_key(r, "normalizer.precompiled_charsmap", "expected a text");
    TRY(rill_arena_alloc(&r->p->arena, &bytes, json_string_length(text) + 1, 1, r->name));
    const size_t size = decode_base64(json_string_value(text), json_string_length(text), bytes);
    if (rill_normalizer_read_charsmap(out, bytes, size)) return RILL_OK;
    return refuse_key(r, "normalizer.precompiled_charsmap", "the table is damaged");
}

/* The pattern is a string, a regular expression without special characters, " {2,}" (runs of spaces), or "\\n" (line
 * feeds). */
static rill_status read_replace(tokenizer_json_reader *r, const json_t *part, rill_normalizer *out)
{
    const json_t *pattern = json_object_get(part, "pattern"), *to = json_object_get(part, "content");
    const json_t *text = json_object_get(pattern, "String"), *expression = json_object_get(pattern, "Regex");
    *out = (rill_normalizer){.kind = RILL_NORMALIZER_REPLACE};
    if (!json_is_string(to)) return refuse_key(r, "normalizer.content", "expected a text");
    TRY(copy_string(r, to, &out->to));
    if (json_is_string(expression)) {
        out->space_runs = strcmp(json_string_value(expression), " {2,}") == 0;
        if (out->space_runs) return RILL_OK;
        if (strpbrk(json_string_value(expression), "\\^$.|?*+()[]{}") == NULL) text = expression;
        if (strcmp(json_string_value(expression), "\\n") == 0) {
            out->from = (rill_slice){"\n", 1};
            return RILL_OK;
        }
    }
    if (!json_is_string(text) || json_string_length(text) == 0)
        return rill_fail(
            r->ctx, RILL_ERR_FORMAT,
            "%s: normalizer.pattern: expected a String, or a Regex that is a text, \" {2,}\" or a line feed, found "
            "\"%.40s\"",
            r->name, json_is_string(expression) ? json_string_value(expression) : "");
    return copy_string(r, text, &out->from);
}

static rill_status read_normalizer(tokenizer_json_reader *r, const json_t *part)
{
    const char *type = part_type(part);
    rill_pipeline *p = r->p;
    rill_normalizer one = {.kind = RILL_NORMALIZER_STRIP,
                           .strip_left = get_bool(part, "strip_left", 1),
                           .strip_right = get_bool(part, "strip_right", 1)};
    enum { MAX_NORMALIZERS = 16 };
    if (p->n_normalizers == MAX_NORMALIZERS) return refuse_key(r, "normalizer", "expected at most 16 parts");
    if (p->normalizers == NULL)
        TRY(rill_arena_alloc(&p->arena, &p->normalizers, MAX_NORMALIZERS, sizeof *p->normalizers, r->name));
    if (strcmp(type, "Precompiled") == 0)
        TRY(read_charsmap(r, part, &one));
    else if (strcmp(type, "Replace") == 0)
        TRY(read_replace(r, part, &one));
    else if (strcmp(type, "Prepend") == 0) {
        one.kind = RILL_NORMALIZER_PREPEND;
        if (!json_is_string(json_object_get(part, "prepend")))
            return refuse_key(r, "normalizer.prepend", "expected a text");
        TRY(copy_string(r, json_object_get(part, "prepend"), &one.to));
    } else if (strcmp(type, "Strip") != 0)
        return refuse_type(r, "normalizer", part);
    p->normalizers[p->n_normalizers++] = one;
    return RILL_OK;
}

/* --- splitting into words ----------------------------------------------------------------------------------------- */

/* Read a Metaspace pre-tokenizer. Older files have the key add_prefix_space, newer files prepend_scheme. */
static rill_status read_metaspace(tokenizer_json_reader *r, const json_t *part)
{
    rill_pipeline *p = r->p;
    const char *scheme = json_string_value(json_object_get(part, "prepend_scheme"));
    const json_t *mark = json_object_get(part, "replacement");
    if (p->metaspace) return refuse_key(r, "pre_tokenizer", "expected one Metaspace");
    const size_t length = json_string_length(mark);
    if (length == 0 || rill_utf8_length(json_string_value(mark), length) != length)
        return refuse_key(r, "pre_tokenizer.replacement", "expected a character");
    TRY(copy_string(r, mark, &p->mark));
    p->metaspace = 1;
    p->keep_whole = !get_bool(part, "split", 1);
    p->prepend = get_bool(part, "add_prefix_space", 1) ? RILL_PREPEND_ALWAYS : RILL_PREPEND_NEVER;
    if (scheme == NULL) return RILL_OK;
    if (strcmp(scheme, "always") != 0 && strcmp(scheme, "first") != 0 && strcmp(scheme, "never") != 0)
        return refuse_key(r, "pre_tokenizer.prepend_scheme", "expected always, first or never");
    p->prepend = scheme[0] == 'a' ? RILL_PREPEND_ALWAYS : scheme[0] == 'f' ? RILL_PREPEND_FIRST : RILL_PREPEND_NEVER;
    return RILL_OK;
}

/* Read a pre-tokenizer. Supported are WhitespaceSplit, Metaspace, WhitespaceSplit followed by Metaspace, and ByteLevel
 * alone. */
static rill_status read_pre_tokenizer(tokenizer_json_reader *r, const json_t *part)
{
    const char *type = part_type(part);
    rill_pipeline *p = r->p;
    if (p->byte_level) return refuse_key(r, "pre_tokenizer", "nothing may follow ByteLevel");
    if (strcmp(type, "Metaspace") == 0) return read_metaspace(r, part);
    if (strcmp(type, "WhitespaceSplit") == 0 && !p->metaspace) {
        p->whitespace_split = 1;
        return RILL_OK;
    }
    if (strcmp(type, "ByteLevel") != 0 || p->metaspace || p->whitespace_split)
        return refuse_type(r, "pre_tokenizer", part);
    if (!get_bool(part, "use_regex", 1)) return refuse_key(r, "pre_tokenizer.use_regex", "only true is supported");
    p->byte_level = 1;
    p->add_prefix_space = get_bool(part, "add_prefix_space", 1);
    return RILL_OK;
}

/* --- decoders and templates --------------------------------------------------------------------------------------- */

/* The decoder's settings are not read: tokens are joined by the inverse of the rules that split them. */
static rill_status check_decoder(tokenizer_json_reader *r, const json_t *part)
{
    static const char *const known[] = {"Metaspace", "Replace", "ByteFallback", "Fuse", "Strip"};
    const char *type = part_type(part);
    const int fits = r->p->byte_level ? strcmp(type, "ByteLevel") == 0 : RILL_NAME_INDEX(type, known) >= 0;
    return fits ? RILL_OK : refuse_type(r, "decoder", part);
}

/* The settings are ignored: the family's row in the table gives the special tokens of an input. */
static rill_status check_template(tokenizer_json_reader *r, const json_t *part)
{
    static const char *const known[] = {"TemplateProcessing", "RobertaProcessing", "BertProcessing", "ByteLevel"};
    return RILL_NAME_INDEX(part_type(part), known) >= 0 ? RILL_OK : refuse_type(r, "post_processor", part);
}

/* --- tokenization models ------------------------------------------------------------------------------------------ */

/* Read a unigram model: an array of [TOKEN, SCORE], whose index is the id of the token. */
static rill_status read_unigram(tokenizer_json_reader *r, const json_t *model)
{
    rill_pipeline *p = r->p;
    const json_t *vocabulary = json_object_get(model, "vocab"), *unknown = json_object_get(model, "unk_id");
    double min_score = 0;
    p->n_scores = json_array_size(vocabulary);
    if (p->n_scores == 0) return refuse_key(r, "model.vocab", "expected a list of [TOKEN, SCORE]");
    TRY(rill_arena_alloc(&p->arena, &p->score, p->n_scores, sizeof *p->score, r->name));
    for (size_t i = 0; i < p->n_scores; i++) {
        const json_t *pair = json_array_get(vocabulary, i), *token = json_array_get(pair, 0),
                     *score = json_array_get(pair, 1);
        if (json_array_size(pair) != 2 || !json_is_string(token) || !json_is_number(score))
            return refuse_key(r, "model.vocab", "expected a list of [TOKEN, SCORE]");
        p->score[i] = json_number_value(score);
        if (i == 0 || p->score[i] < min_score) min_score = p->score[i];
        TRY(rill_vocabulary_add(r->tokens->vocabulary, r->name, json_string_value(token), json_string_length(token)));
    }
    const json_int_t id = json_is_integer(unknown) ? json_integer_value(unknown) : -1;
    if (id < 0 || (size_t)id >= p->n_scores) return refuse_key(r, "model.unk_id", "expected the number of a token");
    p->unk_id = (int32_t)id;
    p->unk_score = min_score - 10; /* the tokenizers library's penalty for unknown characters */
    p->fuse_unk = 1;
    return RILL_OK;
}

/* Append a merge, "A B" or ["A", "B"], to `out` in the format of merges.txt. */
static rill_status append_merge(const tokenizer_json_reader *r, const json_t *merge, rill_text *out)
{
    const json_t *first = json_array_get(merge, 0), *second = json_array_get(merge, 1);
    if (json_is_string(merge)) return rill_text_append(out, json_string_value(merge), json_string_length(merge));
    if (json_array_size(merge) != 2 || !json_is_string(first) || !json_is_string(second) ||
        strchr(json_string_value(first), ' ') != NULL || strchr(json_string_value(second), ' ') != NULL)
        return refuse_key(r, "model.merges", "expected a list of \"A B\" or [\"A\", \"B\"]");
    TRY(rill_text_append(out, json_string_value(first), json_string_length(first)));
    TRY(rill_text_append(out, " ", 1));
    return rill_text_append(out, json_string_value(second), json_string_length(second));
}

static rill_status read_merges(tokenizer_json_reader *r, const json_t *merges)
{
    SCOPED(rill_text_clear) rill_text lines = {.ctx = r->ctx};
    if (json_array_size(merges) == 0) return refuse_key(r, "model.merges", "expected a list of pairs");
    for (size_t i = 0; i < json_array_size(merges); i++) {
        const size_t from = lines.length;
        TRY(append_merge(r, json_array_get(merges, i), &lines));
        if (memchr(lines.data + from, '\n', lines.length - from) != NULL)
            return refuse_key(r, "model.merges", "a token may not contain a line feed");
        TRY(rill_text_append(&lines, "\n", 1));
    }
    return rill_merges_parse(&r->p->merges, r->ctx, r->name, lines.data, lines.length);
}

static rill_status read_bpe(tokenizer_json_reader *r, const json_t *model)
{
    static const char *const marks[] = {"continuing_subword_prefix", "end_of_word_suffix"};
    const json_t *dropout = json_object_get(model, "dropout");
    json_t *vocabulary = json_object_get(model, "vocab"); /* {TOKEN: ID} */
    if (!is_absent(dropout) && json_number_value(dropout) != 0)
        return refuse_key(r, "model.dropout", "only null is supported");
    for (size_t i = 0; i < 2; i++) {
        const json_t *mark = json_object_get(model, marks[i]);
        if (!is_absent(mark) && json_string_length(mark) > 0)
            return rill_fail(r->ctx, RILL_ERR_FORMAT, "%s: model.%s: only null is supported", r->name, marks[i]);
    }
    r->p->fuse_unk = get_bool(model, "fuse_unk", 0);
    r->p->ignore_merges = get_bool(model, "ignore_merges", 0);
    char where[4200];
    if (!json_is_object(vocabulary)) return refuse_key(r, "model.vocab", "expected an object of TOKEN: NUMBER");
    snprintf(where, sizeof where, "%s: model.vocab", r->name);
    TRY(rill_vocabulary_add_json(r->tokens->vocabulary, where, vocabulary, r->tokens->limit));
    return read_merges(r, json_object_get(model, "merges"));
}

static rill_status read_model(tokenizer_json_reader *r, const json_t *model)
{
    const char *type = part_type(model);
    if (!json_is_object(model)) return refuse_key(r, "model", "expected an object");
    if (type[0] == '\0') type = json_is_array(json_object_get(model, "vocab")) ? "Unigram" : "BPE";
    r->p->byte_fallback = get_bool(model, "byte_fallback", 0);
    if (strcmp(type, "Unigram") == 0) return read_unigram(r, model);
    return strcmp(type, "BPE") == 0 ? read_bpe(r, model) : refuse_type(r, "model", model);
}

/* --- added tokens ------------------------------------------------------------------------------------------------- */

/* Add the added tokens of the file, which the tokenizers library writes in order of their ids. */
static rill_status read_added(tokenizer_json_reader *r, const json_t *list)
{
    if (!is_absent(list) && !json_is_array(list)) return refuse_key(r, "added_tokens", "expected a list");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *token = json_array_get(list, i), *text = json_object_get(token, "content"),
                     *id = json_object_get(token, "id");
        if (!json_is_string(text) || json_string_length(text) == 0 || !json_is_integer(id) ||
            json_integer_value(id) < 0)
            return refuse_key(r, "added_tokens", "expected a list of {\"id\": NUMBER, \"content\": TEXT, ...}");
        TRY(rill_token_set_add(r->tokens, json_string_value(text), json_string_length(text), json_integer_value(id),
                               rill_added_token_flags(token)));
    }
    return RILL_OK;
}

/* --- entry point -------------------------------------------------------------------------------------------------- */

static rill_status read_all(tokenizer_json_reader *r, const json_t *document)
{
    TRY(for_each_part(r, "normalizer", json_object_get(document, "normalizer"), "normalizers", read_normalizer, 0));
    TRY(for_each_part(r, "pre_tokenizer", json_object_get(document, "pre_tokenizer"), "pretokenizers",
                      read_pre_tokenizer, 0));
    TRY(for_each_part(r, "decoder", json_object_get(document, "decoder"), "decoders", check_decoder, 0));
    TRY(for_each_part(r, "post_processor", json_object_get(document, "post_processor"), "processors", check_template,
                      0));
    TRY(read_model(r, json_object_get(document, "model")));
    TRY(rill_token_set_end_base(r->tokens));
    return read_added(r, json_object_get(document, "added_tokens"));
}

rill_status rill_pipeline_add_tokens(rill_context *ctx, const char *name, const json_t *document,
                                     rill_token_set *tokens)
{
    tokenizer_json_reader r = {.ctx = ctx, .name = name, .tokens = tokens};
    return read_added(&r, json_object_get(document, "added_tokens"));
}

rill_status rill_pipeline_open(rill_pipeline **out, rill_context *ctx, const char *name, const json_t *document,
                               rill_token_set *tokens)
{
    TRY(rill_struct_alloc(ctx, out, sizeof **out, "a tokeniser"));
    **out = (rill_pipeline){.arena.ctx = ctx, .name = name};
    tokenizer_json_reader r = {.p = *out, .ctx = ctx, .name = name, .tokens = tokens};
    const rill_status status = read_all(&r, document);
    CLOSE_UNLESS_OK(status, out, rill_pipeline_close);
    return status;
}
