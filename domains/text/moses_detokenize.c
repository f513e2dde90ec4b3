/* Moses' detokenizer: joins tokens, with spaces between some of them; see moses.h.
 *
 * The kind of a token determines whether a space precedes it and whether one may follow it. Quotes of the same kind open and
 * close alternately.
 *
 * Divisions: kinds of tokens · quotes · the whole. */
#include <string.h>
#include <utf8proc.h>

#include "domain_base.h"
#include "moses.h"

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

/* Return 1 for a character of the blocks from Hangul Jamo to the ideographs of plane 2, whose scripts are written without
 * spaces. */
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

/* Return 1 if all characters of a token are currency signs, opening brackets, or the inverted marks at the start of a
 * Spanish sentence. */
static int is_opening_token(const moses_token *t)
{
    for (size_t i = 0; i < t->length; i++)
        if (!char_in(t->chars[i], U"([{¿¡") &&
            (t->chars[i] > 0xFFFF || utf8proc_category((utf8proc_int32_t)t->chars[i]) != UTF8PROC_CATEGORY_SC))
            return 0;
    return 1;
}

/* Return 1 for contractions ('s, 're), which are attached to the previous word. */
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
    TRY(GROW(m->ctx, m->quotes, m->quotes_capacity, m->n_quotes + 1, "an output's quotes"));
    m->quotes[m->n_quotes] = q;
    *out = &m->quotes[m->n_quotes++];
    return RILL_OK;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

typedef struct spacing {
    int space_before; /* a space precedes the token, unless the previous token has space_after = 0 */
    int space_after;  /* a space may follow the token */
} spacing;

/* The spacing of a quotation mark. An apostrophe after s is a possessive in English, attached to the word: the Jones' house. */
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

/* Write one space before, between and after the tokens, so that the rule for " @-@ " matches at both ends of the text too. */
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
    m->text.ctx = m->spare.ctx = m->ctx;
    TRY(rill_chars_read(&m->text, tokens, length));
    TRY(pad_with_spaces(m));
    TRY(rill_rewrite(unescape_rules, sizeof unescape_rules / sizeof *unescape_rules, &m->text, &m->spare));
    TRY(join_spaced(m));
    return rill_chars_write(m->spare.data, m->spare.length, out);
}
