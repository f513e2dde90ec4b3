/* FSMT's tokenizer: Moses' punctuation normaliser and tokenizer, then BPE; and Moses' detokenizer.
 *
 * The order of rules matters. Moses' rules that cannot match after an earlier rule are omitted. Deviation: sacremoses replaces dots by
 * DOTMULTI and back, which changes texts with that word. Here the placeholder is a character that texts cannot contain.
 *
 * Detokenizer: the kind of a token says whether a space precedes it, and whether one may follow. Quotes of a kind open and close
 * alternately. */
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
    {U" :", U":", 0}, {U" ;", U";", 0}, {U"`", U"'", 0}, {U"''", U" \" ", 0}, {U"„", U"\"", 0},
    {U"–", U"-", 0}, {U"—", U" - ", 0}, {U" " RW_RUN, U" ", 0}, {U"´", U"'", 0}, {U"‘", U"'", 0},
    {U"‚", U"'", 0}, {U"''", U"\"", 0}, {NBSP U"«" NBSP, U"\"", 0}, {U"«" NBSP, U"\"", 0}, {U"«", U"\"", 0},
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
static const rill_rewrite_rule russian_punctuation[] = {
    {RW_DIGIT NBSP RW_DIGIT, RW_P0 U"." RW_P2, 0},
};

/* --- tokens ------------------------------------------------------------------------------------------------------- */

static const rill_rewrite_rule cleaning_rules[] = {
    {RW_INVISIBLE, U"", 0},
    {RW_WHITE_SPACE RW_RUN, U" ", 0},
};

/* The marks . ' ` , - may be part of a word. A - between words becomes @-@, a run of dots one token. */
static const rill_rewrite_rule token_rules[] = {
    {RW_MARK, U" " RW_P0 U" ", 0},
    {RW_WORD U"-" RW_WORD, RW_P0 U" @-@ ", 1},
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
    [RILL_MOSES_RU] = {russian_punctuation, other_apostrophes, COUNT(russian_punctuation), COUNT(other_apostrophes)},
};

/* --- periods ------------------------------------------------------------------------------------------------------ */

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

/* *out = 0 if the period after word[0 .. length) ends a sentence. `next`: the next word's first character; 0 at the
 * end of the text. */
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

/* Remove the space at the start and at the end of the text; there is at most one at each. */
static void trim_ends(rill_chars *text)
{
    size_t begin = text->length > 0 && text->data[0] == ' ';
    if (begin) memmove(text->data, text->data + 1, (text->length - 1) * sizeof *text->data);
    text->length -= begin;
    if (text->length > 0 && text->data[text->length - 1] == ' ') text->length--;
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

static rill_status apply_rules(rill_moses *m, int lower)
{
    const rules *own = &language_rules[m->language];
    for (size_t i = 0; lower && i < m->text.length; i++)
        m->text.data[i] = (char32_t)utf8proc_tolower((utf8proc_int32_t)m->text.data[i]);
    replace_pairs(&m->text);
    TRY(rill_rewrite(unicode_rules, COUNT(unicode_rules), &m->text, &m->spare));
    TRY(rill_rewrite(punctuation_rules, COUNT(punctuation_rules), &m->text, &m->spare));
    TRY(rill_rewrite(own->punctuation, own->n_punctuation, &m->text, &m->spare));
    TRY(rill_rewrite(cleaning_rules, COUNT(cleaning_rules), &m->text, &m->spare));
    trim_ends(&m->text);
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
    static const struct {
        char32_t low, high;
    } block[] = {{0x1100, 0x11FF},   {0x2E80, 0xA4CF},   {0xA840, 0xA87F},  {0xAC00, 0xD7AF},
                 {0xF900, 0xFAFF},   {0xFE30, 0xFE4F},   {0xFF65, 0xFFDC},  {0x17000, 0x18AFF},
                 {0x1B000, 0x1B12F}, {0x1B170, 0x1B2FF}, {0x20000, 0x2FFFF}};
    for (size_t i = 0; i < sizeof block / sizeof *block; i++)
        if (c >= block[i].low && c <= block[i].high) return 1;
    return 0;
}

static int char_in(char32_t c, const char32_t *list)
{
    while (*list != 0 && *list != c) list++;
    return *list != 0;
}

static int all_in(const moses_token *t, const char32_t *list)
{
    for (size_t i = 0; i < t->length; i++)
        if (!char_in(t->chars[i], list)) return 0;
    return 1;
}

/* Returns 1 if all characters are currency signs, opening brackets or Spanish inverted marks. */
static int is_opening_token(const moses_token *t)
{
    for (size_t i = 0; i < t->length; i++)
        if (!char_in(t->chars[i], U"([{¿¡") &&
            (t->chars[i] > 0xFFFF || utf8proc_category((utf8proc_int32_t)t->chars[i]) != UTF8PROC_CATEGORY_SC))
            return 0;
    return 1;
}

/* Returns 1 for contractions ('s, 're), which are attached to the previous word. */
static int is_contraction(const moses_token *t)
{
    return t->length > 1 && t->chars[0] == '\'' && rill_char_is(t->chars[1], RW_LETTER);
}

/* --- quotes ------------------------------------------------------------------------------------------------------- */

/* Find or add the state of a quotation mark. The double quotes „ “ ” are one kind. */
static rill_status find_quote(rill_moses *m, const moses_token *t, rill_quote **out)
{
    rill_quote q = {.text = t->chars, .length = t->length};
    if (all_in(t, U"„“”")) q = (rill_quote){.text = U"\"", .length = 1};
    for (size_t i = 0; i < m->n_quotes; i++) {
        *out = &m->quotes[i];
        if ((*out)->length == q.length && memcmp((*out)->text, q.text, q.length * sizeof *q.text) == 0) return RILL_OK;
    }
    TRY(GROW(&m->arena, m->quotes, m->n_quotes + 1, "an output's quotes"));
    m->quotes[m->n_quotes] = q;
    *out = &m->quotes[m->n_quotes++];
    return RILL_OK;
}

/* --- detokenizing ---------------------------------------------------------------------------------------------------- */

typedef struct spacing {
    int space_before; /* a space precedes the token, unless the previous token has space_after = 0 */
    int space_after;  /* a space may follow the token */
} spacing;

/* In English an apostrophe after s belongs to the word: the Jones' house. */
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
};

/* --- languages ---------------------------------------------------------------------------------------------------- */

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

static rill_status open_all(rill_moses_bpe *f, const char *directory)
{
    SCOPED(rill_text_clear) rill_text path = {.ctx = f->ctx};
    TRY(find_languages(f, directory));
    for (size_t i = 0; i < 2; i++) TRY(rill_prefixes_open(&f->prefixes[i], f->ctx, directory, f->language[i]));
    TRY(rill_path_join(&path, directory, "merges.txt"));
    return rill_merges_open(&f->merges, f->ctx, path.data);
}

rill_status rill_moses_bpe_open(rill_moses_bpe **out, rill_context *ctx, const char *directory)
{
    TRY(rill_struct_alloc(ctx, out, sizeof **out, "a tokeniser"));
    (*out)->ctx = ctx;
    const rill_status status = open_all(*out, directory);
    CLOSE_UNLESS_OK(status, out, rill_moses_bpe_close);
    return status;
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

typedef struct bpe_receiver {
    rill_bpe *bpe;
    rill_word_fn fn;
    void *user;
} bpe_receiver;

static rill_status split_token(void *user, const char *token, size_t length)
{
    bpe_receiver *r = user;
    return rill_bpe_split(r->bpe, token, length, r->fn, r->user);
}

rill_status rill_moses_bpe_split(const rill_moses_bpe *f, rill_context *ctx, rill_side side, const char *text,
                                 size_t length, rill_word_fn fn, void *user)
{
    SCOPED(rill_bpe_clear) rill_bpe bpe = {.ctx = ctx, .merges = f->merges};
    SCOPED(rill_moses_clear)
    rill_moses moses = {.ctx = ctx, .language = f->language[side], .prefixes = f->prefixes[side]};
    return rill_moses_split(&moses, text, length, f->lower, split_token, &(bpe_receiver){&bpe, fn, user});
}

/* Append a subword token to the text. Each </w> in it becomes a space; its other spaces are removed. */
static rill_status append_piece(rill_text *words, const char *piece, size_t length)
{
    for (size_t pos = 0; pos < length;) {
        const int ends = length - pos >= 4 && memcmp(piece + pos, "</w>", 4) == 0;
        if (ends || piece[pos] != ' ') TRY(rill_text_append(words, ends ? " " : piece + pos, 1));
        pos += ends ? 4 : 1;
    }
    return RILL_OK;
}

rill_status rill_moses_bpe_join(const rill_moses_bpe *f, size_t n, const char *const *piece, const size_t *length,
                                rill_text *out)
{
    SCOPED(rill_text_clear) rill_text words = {.ctx = out->ctx};
    SCOPED(rill_moses_clear) rill_moses moses = {.ctx = out->ctx, .language = f->language[RILL_SIDE_TARGET]};
    for (size_t i = 0; i < n; i++) TRY(append_piece(&words, piece[i], length[i]));
    return rill_moses_join(&moses, words.data, words.length, out);
}
