/* Reading tokenizer.json; tokenizer_json.h.
 *
 * Source: the form as the library tokenizers writes and reads it, old forms among them (a "type" that is missing, merges as texts).
 * What a key may be is listed where it is read; any other type is refused by its name.
 * Divisions: keys · normalizers · words · decoders and templates · models · added tokens · the whole. */
#include "tokenizer_json.h"

#include <stdio.h>
#include <string.h>

#include "grow.h"
#include "pipeline.h"

/* --- keys --------------------------------------------------------------------------------------------------------- */

typedef struct reader {
    rill_pipeline *p;
    rill_context *ctx;
    const char *name;
    rill_tokens *tokens;
} reader;

static rill_status refuse(const reader *r, const char *key, const char *why)
{
    return rill_fail(r->ctx, RILL_ERR_FORMAT, "%s: %s: %s", r->name, key, why);
}

static const char *type_of(const json_t *part)
{
    const char *type = json_string_value(json_object_get(part, "type"));
    return type != NULL ? type : "";
}

static rill_status refuse_type(const reader *r, const char *key, const json_t *part)
{
    return rill_fail(r->ctx, RILL_ERR_FORMAT, "%s: %s: \"%.40s\" is not known here", r->name, key, type_of(part));
}

static int is_nothing(const json_t *value)
{
    return value == NULL || json_is_null(value) || json_is_false(value);
}

/* A switch that is off where it is missing, unless `fallback` says otherwise. */
static int is_on(const json_t *part, const char *key, int fallback)
{
    const json_t *value = json_object_get(part, key);
    return value == NULL || json_is_null(value) ? fallback : json_is_true(value);
}

static rill_status keep(const reader *r, const json_t *text, rill_slice *out)
{
    const size_t length = json_string_length(text);
    char *copy;
    TRY(rill_blocks_get(&r->p->blocks, &copy, length + 1, 1, r->name));
    memcpy(copy, json_string_value(text), length + 1);
    *out = (rill_slice){copy, length};
    return RILL_OK;
}

/* The parts of a sequence at `list`, or the one part that it is. */
typedef rill_status (*part_fn)(reader *r, const json_t *part);
static rill_status each_part(reader *r, const char *key, const json_t *part, const char *list, part_fn read, int depth)
{
    if (is_nothing(part)) return RILL_OK;
    if (!json_is_object(part)) return refuse(r, key, "expected an object");
    if (strcmp(type_of(part), "Sequence") != 0) return read(r, part);
    const json_t *parts = json_object_get(part, list);
    if (!json_is_array(parts) || depth > 8) return refuse(r, key, "expected a list of parts");
    for (size_t i = 0; i < json_array_size(parts); i++)
        TRY(each_part(r, key, json_array_get(parts, i), list, read, depth + 1));
    return RILL_OK;
}

/* --- normalizers -------------------------------------------------------------------------------------------------- */

static int digit_of(char c)
{
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Base64, into memory as long as it. 0: it is none. */
static size_t decode(const char *text, size_t length, char *out)
{
    size_t n = 0;
    uint32_t bits = 0;
    while (length > 0 && text[length - 1] == '=') length--;
    for (size_t i = 0; i < length; i++) {
        const int digit = digit_of(text[i]);
        if (digit < 0) return 0;
        bits = bits << 6 | (uint32_t)digit;
        if (i % 4 != 0) out[n++] = (char)(bits >> (6 - 2 * (i % 4)) & 0xFF);
    }
    return n;
}

static rill_status read_table(reader *r, const json_t *part, rill_normal *out)
{
    const json_t *text = json_object_get(part, "precompiled_charsmap");
    char *bytes;
    if (json_is_null(text) || (json_is_string(text) && json_string_length(text) == 0)) {
        *out = (rill_normal){.kind = RILL_NORMAL_STRIP}; /* of nothing */
        return RILL_OK;
    }
    if (!json_is_string(text)) return refuse(r, "normalizer.precompiled_charsmap", "expected a text");
    TRY(rill_blocks_get(&r->p->blocks, &bytes, json_string_length(text) + 1, 1, r->name));
    const size_t size = decode(json_string_value(text), json_string_length(text), bytes);
    if (rill_normal_table(out, bytes, size)) return RILL_OK;
    return refuse(r, "normalizer.precompiled_charsmap", "the table is damaged");
}

/* A pattern is a text, or an expression that means one, or runs of blanks. */
static rill_status read_replace(reader *r, const json_t *part, rill_normal *out)
{
    const json_t *pattern = json_object_get(part, "pattern"), *to = json_object_get(part, "content");
    const json_t *text = json_object_get(pattern, "String"), *expression = json_object_get(pattern, "Regex");
    *out = (rill_normal){.kind = RILL_NORMAL_REPLACE};
    if (!json_is_string(to)) return refuse(r, "normalizer.content", "expected a text");
    TRY(keep(r, to, &out->to));
    if (json_is_string(expression)) {
        out->runs = strcmp(json_string_value(expression), " {2,}") == 0;
        if (out->runs) return RILL_OK;
        if (strpbrk(json_string_value(expression), "\\^$.|?*+()[]{}") == NULL) text = expression;
    }
    if (!json_is_string(text) || json_string_length(text) == 0)
        return rill_fail(r->ctx, RILL_ERR_FORMAT,
                         "%s: normalizer.pattern: expected a String, or a Regex that is a text or \" {2,}\", found "
                         "\"%.40s\"",
                         r->name, json_is_string(expression) ? json_string_value(expression) : "");
    return keep(r, text, &out->from);
}

static rill_status read_normal(reader *r, const json_t *part)
{
    const char *type = type_of(part);
    rill_pipeline *p = r->p;
    rill_normal one = {
        .kind = RILL_NORMAL_STRIP, .left = is_on(part, "strip_left", 1), .right = is_on(part, "strip_right", 1)};
    enum { MOST = 16 };
    if (p->normals == MOST) return refuse(r, "normalizer", "expected at most 16 parts");
    if (p->normal == NULL) TRY(rill_blocks_get(&p->blocks, &p->normal, MOST, sizeof *p->normal, r->name));
    if (strcmp(type, "Precompiled") == 0)
        TRY(read_table(r, part, &one));
    else if (strcmp(type, "Replace") == 0)
        TRY(read_replace(r, part, &one));
    else if (strcmp(type, "Prepend") == 0) {
        one.kind = RILL_NORMAL_PREPEND;
        if (!json_is_string(json_object_get(part, "prepend")))
            return refuse(r, "normalizer.prepend", "expected a text");
        TRY(keep(r, json_object_get(part, "prepend"), &one.to));
    } else if (strcmp(type, "Strip") != 0)
        return refuse_type(r, "normalizer", part);
    p->normal[p->normals++] = one;
    return RILL_OK;
}

/* --- words -------------------------------------------------------------------------------------------------------- */

/* Old files have add_prefix_space, later ones prepend_scheme. */
static rill_status read_marks(reader *r, const json_t *part)
{
    rill_pipeline *p = r->p;
    const char *scheme = json_string_value(json_object_get(part, "prepend_scheme"));
    const json_t *mark = json_object_get(part, "replacement");
    if (p->by_marks) return refuse(r, "pre_tokenizer", "expected one Metaspace");
    if (!json_is_string(mark) || json_string_length(mark) == 0)
        return refuse(r, "pre_tokenizer.replacement", "expected a character");
    TRY(keep(r, mark, &p->mark));
    p->by_marks = 1;
    p->whole = !is_on(part, "split", 1);
    p->prepend = is_on(part, "add_prefix_space", 1) ? RILL_PREPEND_ALWAYS : RILL_PREPEND_NEVER;
    if (scheme == NULL) return RILL_OK;
    if (strcmp(scheme, "always") != 0 && strcmp(scheme, "first") != 0 && strcmp(scheme, "never") != 0)
        return refuse(r, "pre_tokenizer.prepend_scheme", "expected always, first or never");
    p->prepend = scheme[0] == 'a' ? RILL_PREPEND_ALWAYS : scheme[0] == 'f' ? RILL_PREPEND_FIRST : RILL_PREPEND_NEVER;
    return RILL_OK;
}

/* Order matters: blanks, then marks; bytes stand alone. */
static rill_status read_words(reader *r, const json_t *part)
{
    const char *type = type_of(part);
    rill_pipeline *p = r->p;
    if (p->bytes) return refuse(r, "pre_tokenizer", "nothing may follow ByteLevel");
    if (strcmp(type, "Metaspace") == 0) return read_marks(r, part);
    if (strcmp(type, "WhitespaceSplit") == 0 && !p->by_marks) {
        p->by_blanks = 1;
        return RILL_OK;
    }
    if (strcmp(type, "ByteLevel") != 0 || p->by_marks || p->by_blanks) return refuse_type(r, "pre_tokenizer", part);
    if (!is_on(part, "use_regex", 1)) return refuse(r, "pre_tokenizer.use_regex", "only true is supported");
    p->bytes = 1;
    p->prefix = is_on(part, "add_prefix_space", 1);
    return RILL_OK;
}

/* --- decoders and templates --------------------------------------------------------------------------------------- */

/* Outputs are joined as they are cut: a decoder says no more than what it is for. */
static rill_status check_decoder(reader *r, const json_t *part)
{
    static const char *const known[] = {"Metaspace", "Replace", "ByteFallback", "Fuse", "Strip"};
    const char *type = type_of(part);
    if (strcmp(type, "ByteLevel") == 0 && r->p->bytes) return RILL_OK;
    for (size_t i = 0; i < sizeof known / sizeof *known && !r->p->bytes; i++)
        if (strcmp(type, known[i]) == 0) return RILL_OK;
    return refuse_type(r, "decoder", part);
}

/* What stands around a text is the family's affair. */
static rill_status check_template(reader *r, const json_t *part)
{
    static const char *const known[] = {"TemplateProcessing", "RobertaProcessing", "BertProcessing", "ByteLevel"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(type_of(part), known[i]) == 0) return RILL_OK;
    return refuse_type(r, "post_processor", part);
}

/* --- models ------------------------------------------------------------------------------------------------------- */

/* [TOKEN, SCORE] in order of numbers. */
static rill_status read_unigram(reader *r, const json_t *model)
{
    rill_pipeline *p = r->p;
    const json_t *vocabulary = json_object_get(model, "vocab"), *unknown = json_object_get(model, "unk_id");
    double least = 0;
    p->scores = json_array_size(vocabulary);
    if (p->scores == 0) return refuse(r, "model.vocab", "expected a list of [TOKEN, SCORE]");
    TRY(rill_blocks_get(&p->blocks, &p->score, p->scores, sizeof *p->score, r->name));
    for (size_t i = 0; i < p->scores; i++) {
        const json_t *pair = json_array_get(vocabulary, i), *token = json_array_get(pair, 0),
                     *score = json_array_get(pair, 1);
        if (json_array_size(pair) != 2 || !json_is_string(token) || !json_is_number(score))
            return refuse(r, "model.vocab", "expected a list of [TOKEN, SCORE]");
        p->score[i] = json_number_value(score);
        if (i == 0 || p->score[i] < least) least = p->score[i];
        TRY(rill_tokens_base(r->tokens, json_string_value(token), json_string_length(token)));
    }
    const json_int_t id = json_is_integer(unknown) ? json_integer_value(unknown) : -1;
    if (id < 0 || (size_t)id >= p->scores) return refuse(r, "model.unk_id", "expected the number of a token");
    p->unknown_id = (int32_t)id;
    p->unknown_score = least - 10; /* the library's penalty */
    p->fuse = 1;
    rill_slice name;
    TRY(keep(r, json_array_get(json_array_get(vocabulary, (size_t)id), 0), &name));
    p->unknown = name.data;
    return RILL_OK;
}

/* {TOKEN: NUMBER}, no number left out. */
static rill_status read_numbers(reader *r, json_t *vocabulary)
{
    const size_t n = json_object_size(vocabulary);
    rill_blocks blocks = {.ctx = r->ctx};
    const char **text, *token;
    json_t *number;
    if (n == 0) return refuse(r, "model.vocab", "expected an object of TOKEN: NUMBER");
    rill_status status = rill_blocks_get(&blocks, &text, n, sizeof *text, r->name);
    if (status == RILL_OK) memset(text, 0, n * sizeof *text);
    json_object_foreach(vocabulary, token, number)
    {
        const json_int_t id = json_is_integer(number) ? json_integer_value(number) : -1;
        if (status == RILL_OK && (id < 0 || (size_t)id >= n || text[id] != NULL))
            status = rill_fail(r->ctx, RILL_ERR_FORMAT,
                               "%s: model.vocab: \"%.60s\": expected a number of its own from 0 to %zu", r->name, token,
                               n - 1);
        if (status == RILL_OK) text[id] = token;
    }
    for (size_t i = 0; status == RILL_OK && i < n; i++) status = rill_tokens_base(r->tokens, text[i], strlen(text[i]));
    rill_blocks_clear(&blocks);
    return status;
}

/* "A B" or ["A", "B"]. */
static rill_status append_merge(const reader *r, const json_t *merge, rill_text *out)
{
    const json_t *left = json_array_get(merge, 0), *right = json_array_get(merge, 1);
    if (json_is_string(merge)) return rill_text_append(out, json_string_value(merge), json_string_length(merge));
    if (json_array_size(merge) != 2 || !json_is_string(left) || !json_is_string(right) ||
        strchr(json_string_value(left), ' ') != NULL || strchr(json_string_value(right), ' ') != NULL)
        return refuse(r, "model.merges", "expected a list of \"A B\" or [\"A\", \"B\"]");
    TRY(rill_text_append(out, json_string_value(left), json_string_length(left)));
    TRY(rill_text_append(out, " ", 1));
    return rill_text_append(out, json_string_value(right), json_string_length(right));
}

static rill_status read_merges(reader *r, const json_t *merges)
{
    rill_text lines = {.ctx = r->ctx};
    rill_status status = RILL_OK;
    if (json_array_size(merges) == 0) return refuse(r, "model.merges", "expected a list of pairs");
    for (size_t i = 0; status == RILL_OK && i < json_array_size(merges); i++) {
        const size_t from = lines.length;
        status = append_merge(r, json_array_get(merges, i), &lines);
        if (status == RILL_OK && memchr(lines.data + from, '\n', lines.length - from) != NULL)
            status = refuse(r, "model.merges", "a piece may have no line feed");
        if (status == RILL_OK) status = rill_text_append(&lines, "\n", 1);
    }
    if (status == RILL_OK) status = rill_merges_parse(&r->p->merges, r->ctx, r->name, lines.data, lines.length);
    rill_text_clear(&lines);
    return status;
}

static rill_status read_pairs(reader *r, const json_t *model)
{
    static const char *const marks[] = {"continuing_subword_prefix", "end_of_word_suffix"};
    const json_t *dropout = json_object_get(model, "dropout"), *unknown = json_object_get(model, "unk_token");
    rill_slice name;
    if (!is_nothing(dropout) && json_number_value(dropout) != 0)
        return refuse(r, "model.dropout", "only null is supported");
    for (size_t i = 0; i < 2; i++) {
        const json_t *mark = json_object_get(model, marks[i]);
        if (!is_nothing(mark) && json_string_length(mark) > 0)
            return rill_fail(r->ctx, RILL_ERR_FORMAT, "%s: model.%s: only null is supported", r->name, marks[i]);
    }
    r->p->fuse = is_on(model, "fuse_unk", 0);
    r->p->whole_words = is_on(model, "ignore_merges", 0);
    if (json_is_string(unknown)) {
        TRY(keep(r, unknown, &name));
        r->p->unknown = name.data;
    }
    TRY(read_numbers(r, json_object_get(model, "vocab")));
    return read_merges(r, json_object_get(model, "merges"));
}

static rill_status read_model(reader *r, const json_t *model)
{
    const char *type = type_of(model);
    if (!json_is_object(model)) return refuse(r, "model", "expected an object");
    if (type[0] == '\0') type = json_is_array(json_object_get(model, "vocab")) ? "Unigram" : "BPE";
    r->p->fallback = is_on(model, "byte_fallback", 0);
    if (strcmp(type, "Unigram") == 0) return read_unigram(r, model);
    return strcmp(type, "BPE") == 0 ? read_pairs(r, model) : refuse_type(r, "model", model);
}

/* --- added tokens ------------------------------------------------------------------------------------------------- */

static int flags_of(const json_t *token)
{
    return (is_on(token, "special", 0) ? RILL_TOKEN_SPECIAL : 0) | (is_on(token, "lstrip", 0) ? RILL_TOKEN_LEFT : 0) |
           (is_on(token, "rstrip", 0) ? RILL_TOKEN_RIGHT : 0) | (is_on(token, "single_word", 0) ? RILL_TOKEN_WORD : 0);
}

/* In order of their numbers, as they are written. */
static rill_status read_added(reader *r, const json_t *list)
{
    if (!is_nothing(list) && !json_is_array(list)) return refuse(r, "added_tokens", "expected a list");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *token = json_array_get(list, i), *text = json_object_get(token, "content"),
                     *id = json_object_get(token, "id");
        if (!json_is_string(text) || json_string_length(text) == 0 || !json_is_integer(id) ||
            json_integer_value(id) < 0)
            return refuse(r, "added_tokens", "expected a list of {\"id\": NUMBER, \"content\": TEXT, ...}");
        TRY(rill_tokens_add(r->tokens, json_string_value(text), json_string_length(text), json_integer_value(id),
                            flags_of(token)));
    }
    return RILL_OK;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static rill_status read_all(reader *r, const json_t *document)
{
    TRY(each_part(r, "normalizer", json_object_get(document, "normalizer"), "normalizers", read_normal, 0));
    TRY(each_part(r, "pre_tokenizer", json_object_get(document, "pre_tokenizer"), "pretokenizers", read_words, 0));
    TRY(each_part(r, "decoder", json_object_get(document, "decoder"), "decoders", check_decoder, 0));
    TRY(each_part(r, "post_processor", json_object_get(document, "post_processor"), "processors", check_template, 0));
    TRY(read_model(r, json_object_get(document, "model")));
    TRY(rill_tokens_settle(r->tokens));
    return read_added(r, json_object_get(document, "added_tokens"));
}

rill_status rill_pipeline_open(rill_pipeline **out, rill_context *ctx, const char *name, const json_t *document,
                               rill_tokens *tokens)
{
    rill_pipeline *p = rill_calloc(ctx, 1, sizeof *p);
    *out = NULL;
    if (p == NULL) return rill_fail_memory(ctx, sizeof *p, "a tokeniser");
    *p = (rill_pipeline){.blocks.ctx = ctx, .name = name};
    reader r = {.p = p, .ctx = ctx, .name = name, .tokens = tokens};
    const rill_status status = read_all(&r, document);
    if (status == RILL_OK)
        *out = p;
    else
        rill_pipeline_close(p);
    return status;
}
