/* FSMT's and Argos' tokenizer: Moses' punctuation normaliser and tokenizer, then BPE; and Moses' detokenizer.
 *
 * The order of rules matters. sacremoses replaces dots by the word DOTMULTI; here the placeholder cannot occur in texts. */
#include <string.h>
#include <utf8proc.h>

#include "config_json.h"
#include "moses.h"
#include "rill/file.h"
#include "segmenters.h"

#define COUNT(rules) (sizeof(rules) / sizeof *(rules))
#define NBSP U"\u00A0"

/* --- punctuation -------------------------------------------------------------------------------------------------- */

/* replace-unicode-punctuation: pairs of a character and its replacement; then longer rules. */
static const char32_t unicode_pairs[] = U"，,、,”\"“\"∶:：:？?《\"》\"）)！!（(；;」\"「\"～~"
                                        U"’'━-〈<〉>【[】]％%０0１1２2３3４4５5６6７7８8９9";
static const rill_rewrite_rule unicode_rules[] = {
    {U"。" RW_WHITE_SPACE RW_ANY, U". ", 0},
    {U"．" RW_WHITE_SPACE RW_ANY, U". ", 0},
    {U"…", U"...", 0},
};

/* Rules of normalize-punctuation for all languages: brackets, quotes, dashes, non-breaking spaces. */
/* clang-format off */
static const rill_rewrite_rule punctuation_rules[] = {
    {U"\r", U"", 0}, {U"(", U" (", 0}, {U")", U") ", 0}, {U" " RW_RUN, U" ", 0},
    {U") " RW_CLOSER, U")" RW_P2, 0}, {U"( ", U"(", 0}, {U" )", U")", 0}, {RW_DIGIT U" %", RW_P0 U"%", 0},
    {U" :", U":", 0}, {U" ;", U";", 0}, {U"`", U"'", 0}, {U"''", U" \" ", 0}, {U"„", U"\"", 0}, {U"“", U"\"", 0}, {U"”", U"\"", 0},
    {U"–", U"-", 0}, {U"—", U" - ", 0}, {U" " RW_RUN, U" ", 0}, {U"´", U"'", 0}, {U"‘", U"'", 0},
    {U"‚", U"'", 0}, {U"’", U"'", 0}, {U"''", U"\"", 0}, {U"…", U"...", 0},
    {NBSP U"«" NBSP, U"\"", 0}, {U"«" NBSP, U"\"", 0}, {U"«", U"\"", 0},
    {NBSP U"»" NBSP, U"\"", 0}, {NBSP U"»", U"\"", 0}, {U"»", U"\"", 0}, {NBSP U"%", U"%", 0},
    {U"nº" NBSP, U"nº ", 0}, {NBSP U":", U":", 0}, {NBSP U"ºC", U" ºC", 0}, {NBSP U"cm", U" cm", 0},
    {NBSP U"?", U"?", 0}, {NBSP U"!", U"!", 0}, {NBSP U";", U";", 0}, {U"," NBSP, U", ", 0},
    {U" " RW_RUN, U" ", 0}};
/* clang-format on */

/* normalize-punctuation by language. English writes stops before the closing quote, German after it. */
static const rill_rewrite_rule english_punctuation[] = {
    {U"\"" RW_STOP RW_RUN, RW_P1 U"\"", 0},
    {RW_DIGIT NBSP RW_DIGIT, RW_P0 U"." RW_P2, 0},
};
static const rill_rewrite_rule german_punctuation[] = {
    {U",\"", U"\",", 0},
    {U"." RW_RUN U"\"" RW_WHITE_SPACE RW_ANY RW_NO_ANGLE, U"\"" RW_P0 RW_P2 RW_P3, 0},
    {RW_DIGIT NBSP RW_DIGIT, RW_P0 U"," RW_P2, 0},
};
static const rill_rewrite_rule other_punctuation[] = {
    {RW_DIGIT NBSP RW_DIGIT, RW_P0 U"." RW_P2, 0},
};

/* --- rules of tokens ---------------------------------------------------------------------------------------------- */

static const rill_rewrite_rule invisible_rules[] = {{RW_INVISIBLE, U"", 0}};
static const rill_rewrite_rule space_rules[] = {{RW_WHITE_SPACE RW_RUN, U" ", 0}};

/* The marks . ' ` , - may be part of a word. */
static const rill_rewrite_rule mark_rules[] = {{RW_MARK, U" " RW_P0 U" ", 0}};

/* Aggressive dash splits: a - between words becomes @-@. */
static const rill_rewrite_rule dash_rules[] = {{RW_WORD U"-" RW_WORD, RW_P0 U" @-@ ", 1}};

/* A run of dots is one token; commas, except between numbers, are tokens. */
static const rill_rewrite_rule token_rules[] = {
    {U"..", RW_HIDDEN_DOT, 1},
    {RW_HIDDEN_DOT U".", RW_HIDDEN_DOT RW_HIDDEN_DOT U" ", 0},
    {RW_NOT_HIDDEN RW_HIDDEN_DOT, RW_P0 U" " RW_HIDDEN_DOT, 0},
    {RW_NO_NUMBER U",", RW_P0 U" , ", 0},
    {U"," RW_NO_NUMBER, U" , " RW_P1, 0},
    {RW_NUMBER U"," RW_END, RW_P0 U" , ", 0},
};

/* An English apostrophe between letters belongs to the part of the word after it (it 's); other apostrophes are tokens. */
static const rill_rewrite_rule english_apostrophes[] = {
    {RW_NO_LETTER U"'" RW_NO_LETTER, RW_P0 U" ' " RW_P2, 0},
    {RW_NOT_ALNUM U"'" RW_LETTER, RW_P0 U" ' " RW_P2, 0},
    {RW_LETTER U"'" RW_NO_LETTER, RW_P0 U" ' " RW_P2, 0},
    {RW_LETTER U"'" RW_LETTER, RW_P0 U" '" RW_P2, 0},
    {RW_NUMBER U"'s", RW_P0 U" 's", 0},
};
static const rill_rewrite_rule other_apostrophes[] = {{U"'", U" ' ", 0}};

/* Escape characters that Moses uses as markup. Applied after split_periods(). */
static const rill_rewrite_rule escape_rules[] = {
    {U".'" RW_END, U" . ' ", 0}, {RW_HIDDEN_DOT, U".", 0}, {U"&", U"&amp;", 0},  {U"|", U"&#124;", 0},
    {U"<", U"&lt;", 0},          {U">", U"&gt;", 0},       {U"'", U"&apos;", 0}, {U"\"", U"&quot;", 0},
    {U"[", U"&#91;", 0},         {U"]", U"&#93;", 0},
};

typedef struct rules {
    const rill_rewrite_rule *punctuation, *apostrophes;
    size_t n_punctuation, n_apostrophes;
} rules;

static const rules language_rules[] = {
    [RILL_MOSES_EN] = {english_punctuation, english_apostrophes, COUNT(english_punctuation),
                       COUNT(english_apostrophes)},
    [RILL_MOSES_DE] = {german_punctuation, other_apostrophes, COUNT(german_punctuation), COUNT(other_apostrophes)},
    [RILL_MOSES_RU] = {other_punctuation, other_apostrophes, COUNT(other_punctuation), COUNT(other_apostrophes)},
    [RILL_MOSES_OTHER] = {other_punctuation, other_apostrophes, COUNT(other_punctuation), COUNT(other_apostrophes)},
};

/* --- splitting off periods ---------------------------------------------------------------------------------------- */

static int has_letters_and_period(const char32_t *word, size_t length)
{
    int letters = 0, period = 0;
    for (size_t i = 0; i < length; i++) {
        letters |= rill_char_is(word[i], RW_LETTER);
        period |= word[i] == '.';
    }
    return letters && period;
}

static int is_lower(char32_t c)
{
    return c == 0xAA || c == 0xBA || utf8proc_category((utf8proc_int32_t)c) == UTF8PROC_CATEGORY_LL;
}

/* *out: 0 if the period after word[0 .. length) ends a sentence. next: first character of the next word, or 0. */
static rill_status keeps_period(rill_moses *m, const char32_t *word, size_t length, char32_t next, int *out)
{
    *out = 1;
    if (has_letters_and_period(word, length)) return RILL_OK;
    rill_text_reset(&m->bytes);
    TRY(rill_chars_write(word, length, &m->bytes));
    rill_prefix_kind kind = rill_prefixes_find(m->prefixes, m->bytes.data, m->bytes.length);
    *out = kind == RILL_PREFIX_ALWAYS || is_lower(next) ||
           (kind == RILL_PREFIX_NUMERIC_ONLY && next >= '0' && next <= '9');
    return RILL_OK;
}

/* Write a space before periods that end a sentence. Words remain separated by one space. */
static rill_status split_periods(rill_moses *m)
{
    size_t from = 0, length;
    size_t begin = rill_chars_word(&m->text, &from, &length);
    m->spare.length = 0;
    while (length > 0) {
        const char32_t *word = m->text.data + begin;
        size_t size = length, next = rill_chars_word(&m->text, &from, &length);
        int kept = 1;
        if (size > 1 && word[size - 1] == '.')
            TRY(keeps_period(m, word, size - 1, length > 0 ? m->text.data[next] : 0, &kept));
        if (m->spare.length > 0) TRY(rill_chars_append(&m->spare, U" ", 1));
        TRY(rill_chars_append(&m->spare, word, kept ? size : size - 1));
        if (!kept) TRY(rill_chars_append(&m->spare, U" .", 2));
        begin = next;
    }
    rill_chars_swap(&m->text, &m->spare);
    return RILL_OK;
}

/* --- tokenizing ---------------------------------------------------------------------------------------------------- */

void rill_moses_clear(rill_moses *m)
{
    rill_chars_clear(&m->text);
    rill_chars_clear(&m->spare);
    rill_text_clear(&m->bytes);
    rill_arena_clear(&m->arena);
}

static void trim_spaces(rill_chars *text)
{
    size_t begin = 0;
    while (begin < text->length && text->data[begin] == ' ') begin++;
    if (begin > 0) memmove(text->data, text->data + begin, (text->length - begin) * sizeof *text->data);
    text->length -= begin;
    while (text->length > 0 && text->data[text->length - 1] == ' ') text->length--;
}

static void replace_pairs(rill_chars *text)
{
    for (size_t i = 0; i < text->length; i++)
        for (const char32_t *pair = unicode_pairs; *pair != 0; pair += 2)
            if (text->data[i] == pair[0]) {
                text->data[i] = pair[1];
                break;
            }
}

/* Drop control characters, RW_HIDDEN_DOT included. */
static void drop_controls(rill_chars *text)
{
    size_t n = 0;
    for (size_t i = 0; i < text->length; i++)
        if (text->data[i] >= ' ') text->data[n++] = text->data[i];
    text->length = n;
}

static rill_status replace_unicode(rill_moses *m)
{
    replace_pairs(&m->text);
    return rill_rewrite(unicode_rules, COUNT(unicode_rules), &m->text, &m->spare);
}

static rill_status apply_rules(rill_moses *m, int lower)
{
    const rules *own = &language_rules[m->language];
    for (size_t i = 0; lower && i < m->text.length; i++)
        m->text.data[i] = (char32_t)utf8proc_tolower((utf8proc_int32_t)m->text.data[i]);
    if (!m->default_steps) TRY(replace_unicode(m));
    TRY(rill_rewrite(punctuation_rules, COUNT(punctuation_rules), &m->text, &m->spare));
    TRY(rill_rewrite(own->punctuation, own->n_punctuation, &m->text, &m->spare));
    if (!m->default_steps) TRY(rill_rewrite(invisible_rules, COUNT(invisible_rules), &m->text, &m->spare));
    TRY(rill_rewrite(space_rules, COUNT(space_rules), &m->text, &m->spare));
    if (m->default_steps) drop_controls(&m->text);
    trim_spaces(&m->text);
    TRY(rill_rewrite(mark_rules, COUNT(mark_rules), &m->text, &m->spare));
    if (!m->default_steps) TRY(rill_rewrite(dash_rules, COUNT(dash_rules), &m->text, &m->spare));
    TRY(rill_rewrite(token_rules, COUNT(token_rules), &m->text, &m->spare));
    TRY(rill_rewrite(own->apostrophes, own->n_apostrophes, &m->text, &m->spare));
    TRY(split_periods(m));
    return rill_rewrite(escape_rules, COUNT(escape_rules), &m->text, &m->spare);
}

rill_status rill_moses_split(rill_moses *m, const char *text, size_t length, int lower, rill_word_fn fn, void *user)
{
    m->text.arena.ctx = m->spare.arena.ctx = m->bytes.ctx = m->ctx;
    TRY(rill_chars_read(&m->text, text, length));
    TRY(apply_rules(m, lower));
    for (size_t from = 0, size;;) {
        size_t begin = rill_chars_word(&m->text, &from, &size);
        if (size == 0) return RILL_OK;
        rill_text_reset(&m->bytes);
        TRY(rill_chars_write(m->text.data + begin, size, &m->bytes));
        TRY(fn(user, m->bytes.data, m->bytes.length));
    }
}

static const rill_rewrite_rule unescape_rules[] = {
    {U" @-@ ", U"-", 0},  {U"&bar;", U"|", 0}, {U"&#124;", U"|", 0}, {U"&lt;", U"<", 0},
    {U"&gt;", U">", 0},   {U"&bra;", U"[", 0}, {U"&ket;", U"]", 0},  {U"&quot;", U"\"", 0},
    {U"&apos;", U"'", 0}, {U"&#91;", U"[", 0}, {U"&#93;", U"]", 0},  {U"&amp;", U"&", 0},
};

/* A token of the text being joined. */
typedef struct moses_token {
    const char32_t *chars;
    size_t length;
} moses_token;

/* --- kinds of tokens ---------------------------------------------------------------------------------------------- */

/* Returns 1 for scripts without spaces, from Hangul Jamo to the ideographs of plane 2. */
static int is_cjk(char32_t c)
{
    static const int32_t blocks[] = {0x1100,  0x11FF,  0x2E80,  0xA4CF,  0xA840,  0xA87F, 0xAC00,  0xD7AF,
                                     0xF900,  0xFAFF,  0xFE30,  0xFE4F,  0xFF65,  0xFFDC, 0x17000, 0x18AFF,
                                     0x1B000, 0x1B12F, 0x1B170, 0x1B2FF, 0x20000, 0x2FFFF};
    return RILL_IN_RANGES((int32_t)c, blocks);
}

static int all_in(const moses_token *t, const char32_t *list)
{
    for (size_t i = 0; i < t->length; i++)
        if (!rill_char_in(t->chars[i], list)) return 0;
    return 1;
}

/* Returns 1 if all characters are currency signs, opening brackets or Spanish inverted marks. */
static int is_opening_token(const moses_token *t)
{
    for (size_t i = 0; i < t->length; i++)
        if (!rill_char_in(t->chars[i], U"([{¿¡") &&
            (t->chars[i] > 0xFFFF || utf8proc_category((utf8proc_int32_t)t->chars[i]) != UTF8PROC_CATEGORY_SC))
            return 0;
    return 1;
}

/* Returns 1 for contractions ('s, 're), which are attached to the previous word. */
static int is_contraction(const moses_token *t)
{
    return t->length > 1 && t->chars[0] == '\'' && rill_char_is(t->chars[1], RW_LETTER);
}

/* --- pairs of quotes ---------------------------------------------------------------------------------------------- */

/* Find or add the state of a quotation mark. The double quotes „ “ ” are one kind. */
static rill_status find_quote(rill_moses *m, const moses_token *t, rill_quote **out)
{
    rill_quote q = {.text = t->chars, .length = t->length};
    if (all_in(t, U"„“”")) q = (rill_quote){.text = U"\"", .length = 1};
    for (size_t i = 0; i < m->n_quotes; i++) {
        *out = &m->quotes[i];
        if ((*out)->length == q.length && memcmp((*out)->text, q.text, q.length * sizeof *q.text) == 0) return RILL_OK;
    }
    PUSH(&m->arena, m->quotes, m->n_quotes, q, "an output's quotes");
    *out = &m->quotes[m->n_quotes - 1];
    return RILL_OK;
}

/* --- detokenizing ---------------------------------------------------------------------------------------------------- */

typedef struct spacing {
    int space_before; /* a space precedes the token, unless the previous token has space_after = 0 */
    int space_after;  /* a space may follow the token */
} spacing;

/* Spaces around a quote. In English an apostrophe after s belongs to the word: the Jones' house. */
static rill_status quote_spacing(rill_moses *m, const moses_token *t, const moses_token *last, spacing *out)
{
    rill_quote *quote;
    TRY(find_quote(m, t, &quote));
    const int possessive = m->language == RILL_MOSES_EN && !quote->open && t->length == 1 && *t->chars == '\'' &&
                           last->length > 0 && last->chars[last->length - 1] == 's';
    if (!possessive) quote->open = !quote->open;
    *out = quote->open ? (spacing){1, 0} : (spacing){0, 1};
    return RILL_OK;
}

/* The spacing of the token t. `last`: the previous token; its length is 0 at the start of the text. */
static rill_status token_spacing(rill_moses *m, const moses_token *t, const moses_token *last, spacing *out)
{
    *out = (spacing){1, 1};
    if (is_cjk(t->chars[0]))
        out->space_before = last->length == 0 || !is_cjk(last->chars[last->length - 1]);
    else if (is_opening_token(t))
        out->space_after = 0;
    else if (all_in(t, U",.?!:;\\%}])"))
        out->space_before = 0;
    else if (m->language == RILL_MOSES_EN && last->length > 0 && is_contraction(t))
        out->space_before = 0;
    else if (all_in(t, U"'\"„“`"))
        return quote_spacing(m, t, last, out);
    return RILL_OK;
}

static rill_status join_spaced(rill_moses *m)
{
    moses_token last = {.length = 0};
    int allowed = 0; /* no space before the first token */
    m->spare.length = m->n_quotes = 0;
    for (size_t from = 0;;) {
        moses_token t;
        spacing s;
        t.chars = m->text.data + rill_chars_word(&m->text, &from, &t.length);
        if (t.length == 0) return RILL_OK;
        TRY(token_spacing(m, &t, &last, &s));
        if (s.space_before && allowed) TRY(rill_chars_append(&m->spare, U" ", 1));
        TRY(rill_chars_append(&m->spare, t.chars, t.length));
        allowed = s.space_after;
        last = t;
    }
}

/* Spaces at both ends let the rule for " @-@ " match there too. */
static rill_status pad_with_spaces(rill_moses *m)
{
    m->spare.length = 0;
    for (size_t from = 0, length;;) {
        const size_t begin = rill_chars_word(&m->text, &from, &length);
        TRY(rill_chars_append(&m->spare, U" ", 1));
        if (length == 0) break;
        TRY(rill_chars_append(&m->spare, m->text.data + begin, length));
    }
    rill_chars_swap(&m->text, &m->spare);
    return RILL_OK;
}

rill_status rill_moses_join(rill_moses *m, const char *tokens, size_t length, rill_text *out)
{
    m->text.arena.ctx = m->spare.arena.ctx = m->arena.ctx = m->ctx;
    TRY(rill_chars_read(&m->text, tokens, length));
    TRY(pad_with_spaces(m));
    TRY(rill_rewrite(unescape_rules, sizeof unescape_rules / sizeof *unescape_rules, &m->text, &m->spare));
    TRY(join_spaced(m));
    return rill_chars_write(m->spare.data, m->spare.length, out);
}

struct rill_moses_bpe {
    rill_context *ctx;
    rill_moses_language language[2]; /* source language, target language */
    rill_prefixes *prefixes[2];
    rill_vocabulary *merges;
    int has_languages; /* 1: the configuration names the languages */
    int lower;         /* 1: convert inputs to lower case */
    int argos;         /* 1: an Argos package's: Moses' default steps, and tokens that end in @@ */
};

/* --- languages of a model ----------------------------------------------------------------------------------------- */

static rill_status read_moses_config(void *user, const rill_config *config)
{
    static const char *const side[] = {"source", "target"};
    rill_moses_bpe *f = user;
    int lower;
    TRY(rill_config_bool_or(config, "do_lower_case", 0, &lower));
    f->lower |= lower;
    for (size_t i = 0; i < 2; i++) {
        const char *name;
        TRY(rill_config_array_string(config, "langs", i, 2, &name));
        f->has_languages = name != NULL;
        if (!f->has_languages) return RILL_OK;
        if (rill_moses_language_find(name, &f->language[i])) continue;
        return rill_config_fail(config, "langs",
                                "the built-in tokenizer supports de, en and ru, and the %s language is "
                                "\"%.20s\": tokenize the text with another program and set tokenized",
                                side[i], name);
    }
    return RILL_OK;
}

/* Languages for which sacremoses has separate rules, unlike RILL_MOSES_OTHER; they are refused. */
static const char *const languages_with_rules[] = {"cs", "cz", "es", "fi", "fr", "ga", "it", "ja", "ko", "zh"};

static rill_status read_argos_language(const rill_config *config, const char *key, rill_moses_language *out)
{
    const char *name;
    TRY(rill_config_string(config, key, &name));
    *out = RILL_MOSES_OTHER;
    if (rill_moses_language_find(name, out) || RILL_NAME_INDEX(name, languages_with_rules) < 0) return RILL_OK;
    return rill_config_fail(config, key,
                            "the package has a BPE model, whose rules for \"%.20s\" are not supported: tokenize the "
                            "text with another program and set tokenized",
                            name);
}

static rill_status read_argos_config(void *user, const rill_config *config)
{
    rill_moses_bpe *f = user;
    TRY(read_argos_language(config, "from_code", &f->language[RILL_SIDE_SOURCE]));
    return read_argos_language(config, "to_code", &f->language[RILL_SIDE_TARGET]);
}

static rill_status find_languages(rill_moses_bpe *f, const char *directory)
{
    int found;
    TRY(rill_config_read(f->ctx, directory, "tokenizer_config.json", read_moses_config, f, &found));
    if (!f->has_languages) TRY(rill_config_read(f->ctx, directory, "config.json", read_moses_config, f, NULL));
    if (f->has_languages) return RILL_OK;
    return rill_fail(f->ctx, RILL_ERR_FORMAT, "%s/config.json: langs is missing: expected an array of two languages",
                     directory);
}

/* --- opening and closing ------------------------------------------------------------------------------------------ */

/* Codes of other versions have the end of a word as a symbol of its own. */
static rill_status check_version(rill_context *ctx, const char *path)
{
    static const char version[] = "#version: 0.2\n";
    char first[sizeof version] = "";
    rill_file file;
    TRY(rill_file_open(&file, ctx, path, RILL_FILE_REGULAR));
    rill_status status = RILL_OK;
    if (file.size >= sizeof version - 1) status = rill_file_get(&file, 0, sizeof version - 1, first);
    rill_file_close(&file);
    if (status != RILL_OK || strcmp(first, version) == 0) return status;
    return rill_fail(ctx, RILL_ERR_FORMAT,
                     "%s:1: expected subword-nmt's codes, which begin with \"#version: 0.2\", or the "
                     "option tokenized for inputs that are tokens",
                     path);
}

static rill_status open_all(rill_moses_bpe *f, const char *directory, const char *codes)
{
    SCOPED(rill_text_clear) rill_text path = {.ctx = f->ctx};
    if (codes == NULL)
        TRY(find_languages(f, directory));
    else
        TRY(rill_config_read(f->ctx, directory, codes[0] == '.' ? "../metadata.json" : "metadata.json",
                             read_argos_config, f, NULL));
    for (size_t i = 0; i < 2; i++) TRY(rill_prefixes_open(&f->prefixes[i], f->ctx, directory, f->language[i]));
    TRY(rill_path_join(&path, directory, codes != NULL ? codes : "merges.txt"));
    if (codes != NULL) TRY(check_version(f->ctx, path.data));
    return rill_merges_open(&f->merges, f->ctx, path.data);
}

rill_status rill_moses_bpe_open(rill_moses_bpe **out, rill_context *ctx, const char *directory, const char *codes)
{
    TRY(rill_struct_alloc(ctx, out, sizeof **out, "a tokeniser"));
    **out = (rill_moses_bpe){.ctx = ctx, .argos = codes != NULL};
    return RILL_OPENED(open_all(*out, directory, codes), out, rill_moses_bpe_close);
}

void rill_moses_bpe_close(rill_moses_bpe *f)
{
    if (f == NULL) return;
    rill_prefixes_close(f->prefixes[0]);
    rill_prefixes_close(f->prefixes[1]);
    rill_vocabulary_close(f->merges);
    rill_free(f->ctx, f, sizeof *f);
}

/* --- encoding and decoding ---------------------------------------------------------------------------------------- */

static const char WORD_END[] = "</w>", CONTINUES[] = "@@";

enum { WORD_END_BYTES = sizeof WORD_END - 1, CONTINUES_BYTES = sizeof CONTINUES - 1 };

typedef struct bpe_receiver {
    rill_bpe *bpe;
    rill_text *marked; /* Argos: space for a token with its mark @@; NULL: tokens end in </w> */
    rill_word_fn fn;
    void *user;
} bpe_receiver;

static int ends_word(const char *piece, size_t length)
{
    return length >= WORD_END_BYTES && memcmp(piece + length - WORD_END_BYTES, WORD_END, WORD_END_BYTES) == 0;
}

/* A word has no text </w>, since < is escaped. */
static rill_status mark_continuation(void *user, const char *piece, size_t length)
{
    bpe_receiver *r = user;
    if (ends_word(piece, length)) return r->fn(r->user, piece, length - WORD_END_BYTES);
    rill_text_reset(r->marked);
    TRY(rill_text_append(r->marked, piece, length));
    TRY(rill_text_append(r->marked, CONTINUES, CONTINUES_BYTES));
    return r->fn(r->user, r->marked->data, r->marked->length);
}

static rill_status split_token(void *user, const char *token, size_t length)
{
    bpe_receiver *r = user;
    if (r->marked != NULL) return rill_bpe_split(r->bpe, token, length, mark_continuation, r);
    return rill_bpe_split(r->bpe, token, length, r->fn, r->user);
}

rill_status rill_moses_bpe_split(const rill_moses_bpe *f, rill_context *ctx, rill_side side, const char *text,
                                 size_t length, rill_word_fn fn, void *user)
{
    SCOPED(rill_bpe_clear) rill_bpe bpe = {.ctx = ctx, .merges = f->merges};
    SCOPED(rill_text_clear) rill_text marked = {.ctx = ctx};
    SCOPED(rill_moses_clear)
    rill_moses moses = {
        .ctx = ctx, .language = f->language[side], .default_steps = f->argos, .prefixes = f->prefixes[side]};
    bpe_receiver r = {.bpe = &bpe, .marked = f->argos ? &marked : NULL, .fn = fn, .user = user};
    return rill_moses_split(&moses, text, length, f->lower, split_token, &r);
}

/* Append a subword token to the text. Each </w> in it becomes a space; its other spaces are removed. */
static rill_status append_piece(rill_text *words, const char *piece, size_t length)
{
    for (size_t pos = 0; pos < length;) {
        const int ends = length - pos >= WORD_END_BYTES && memcmp(piece + pos, WORD_END, WORD_END_BYTES) == 0;
        if (ends || piece[pos] != ' ') TRY(rill_text_append(words, ends ? " " : piece + pos, 1));
        pos += ends ? WORD_END_BYTES : 1;
    }
    return RILL_OK;
}

/* Append a subword token of an Argos package. The last token of an output keeps its @@, as in Argos Translate. */
static rill_status append_marked(rill_text *words, const char *piece, size_t length, int is_last)
{
    const int continues = !is_last && length >= CONTINUES_BYTES &&
                          memcmp(piece + length - CONTINUES_BYTES, CONTINUES, CONTINUES_BYTES) == 0;
    TRY(rill_text_append(words, piece, continues ? length - CONTINUES_BYTES : length));
    return continues ? RILL_OK : rill_text_append(words, " ", 1);
}

rill_status rill_moses_bpe_join(const rill_moses_bpe *f, size_t n, const char *const *piece, const size_t *length,
                                rill_text *out)
{
    SCOPED(rill_text_clear) rill_text words = {.ctx = out->ctx};
    SCOPED(rill_moses_clear) rill_moses moses = {.ctx = out->ctx, .language = f->language[RILL_SIDE_TARGET]};
    for (size_t i = 0; i < n; i++)
        TRY(f->argos ? append_marked(&words, piece[i], length[i], i + 1 == n)
                     : append_piece(&words, piece[i], length[i]));
    return rill_moses_join(&moses, words.data, words.length, out);
}
