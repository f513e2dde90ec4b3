/* Moses' detokeniser: where blanks go when tokens become text again.
 *
 * Each token decides whether a blank stands before it and whether it forbids the one behind it. Quotation marks of a
 * kind open and close in turn.
 *
 * Divisions: kinds of tokens · quotes · the whole. */
#include <string.h>
#include <utf8proc.h>

#include "grow.h"
#include "moses.h"
#include "try.h"

static const rill_rule unescape_rules[] = {
    {U" @-@ ", U"-", 0},  {U"&bar;", U"|", 0}, {U"&#124;", U"|", 0}, {U"&lt;", U"<", 0},
    {U"&gt;", U">", 0},   {U"&bra;", U"[", 0}, {U"&ket;", U"]", 0},  {U"&quot;", U"\"", 0},
    {U"&apos;", U"'", 0}, {U"&#91;", U"[", 0}, {U"&#93;", U"]", 0},  {U"&amp;", U"&", 0},
};

/* A token of the text at work. */
typedef struct token {
    const char32_t *at;
    size_t length;
} token;

/* --- kinds of tokens ---------------------------------------------------------------------------------------------- */

/* Scripts that are written without blanks: blocks from Hangul Jamo to the ideographs of plane 2. */
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

static int is_one_of(char32_t c, const char32_t *list)
{
    while (*list != 0 && *list != c) list++;
    return *list != 0;
}

static int all_of(const token *t, const char32_t *list)
{
    for (size_t i = 0; i < t->length; i++)
        if (!is_one_of(t->at[i], list)) return 0;
    return 1;
}

/* Currency signs and what opens a bracket or a Spanish sentence. */
static int opens(const token *t)
{
    for (size_t i = 0; i < t->length; i++)
        if (!is_one_of(t->at[i], U"([{¿¡") &&
            (t->at[i] > 0xFFFF || utf8proc_category((utf8proc_int32_t)t->at[i]) != UTF8PROC_CATEGORY_SC))
            return 0;
    return 1;
}

/* 's, 're: part of the word before. */
static int is_contraction(const token *t)
{
    return t->length > 1 && t->at[0] == '\'' && rill_char_is(t->at[1], RW_LETTER);
}

/* --- quotes ------------------------------------------------------------------------------------------------------- */

/* The entry of the quotes like t, a new one if there is none; double ones of all directions are alike. */
static rill_status find_quote(rill_moses *m, const token *t, rill_quote **out)
{
    rill_quote q = {.at = t->at, .length = t->length};
    if (all_of(t, U"„“”")) q = (rill_quote){.at = U"\"", .length = 1};
    for (size_t i = 0; i < m->n_quotes; i++) {
        *out = &m->quotes[i];
        if ((*out)->length == q.length && memcmp((*out)->at, q.at, q.length * sizeof *q.at) == 0) return RILL_OK;
    }
    TRY(GROW(m->ctx, m->quotes, m->quotes_room, m->n_quotes + 1, "an output's quotes"));
    m->quotes[m->n_quotes] = q;
    *out = &m->quotes[m->n_quotes++];
    return RILL_OK;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

typedef struct spacing {
    int before; /* a blank stands before the token, unless the one before forbids it */
    int behind; /* one may stand behind it */
} spacing;

/* The apostrophe behind an s stays there: the Jones' house. */
static rill_status space_quote(rill_moses *m, const token *t, const token *last, spacing *out)
{
    rill_quote *quote;
    TRY(find_quote(m, t, &quote));
    const int possessive = m->language == RILL_EN && !quote->open && t->length == 1 && *t->at == '\'' &&
                           last->length > 0 && last->at[last->length - 1] == 's';
    if (!possessive) quote->open = !quote->open;
    *out = quote->open ? (spacing){1, 0} : (spacing){0, 1};
    return RILL_OK;
}

/* `last` is the token before, of length 0 for the first. */
static rill_status space(rill_moses *m, const token *t, const token *last, spacing *out)
{
    *out = (spacing){1, 1};
    if (is_cjk(t->at[0]))
        out->before = last->length == 0 || !is_cjk(last->at[last->length - 1]);
    else if (opens(t))
        out->behind = 0;
    else if (all_of(t, U",.?!:;\\%}])"))
        out->before = 0;
    else if (m->language == RILL_EN && last->length > 0 && is_contraction(t))
        out->before = 0;
    else if (all_of(t, U"'\"„“`"))
        return space_quote(m, t, last, out);
    return RILL_OK;
}

static rill_status join(rill_moses *m)
{
    token last = {.length = 0};
    int allowed = 0; /* no blank before the first token */
    m->spare.used = m->n_quotes = 0;
    for (size_t from = 0;;) {
        token t;
        spacing s;
        t.at = m->text.at + rill_chars_word(&m->text, &from, &t.length);
        if (t.length == 0) return RILL_OK;
        TRY(space(m, &t, &last, &s));
        if (s.before && allowed) TRY(rill_chars_append(&m->spare, U" ", 1));
        TRY(rill_chars_append(&m->spare, t.at, t.length));
        allowed = s.behind;
        last = t;
    }
}

/* One blank before, between and behind the tokens, so that " @-@ " stands between blanks wherever it is. */
static rill_status pad(rill_moses *m)
{
    m->spare.used = 0;
    for (size_t from = 0, length;;) {
        const size_t begin = rill_chars_word(&m->text, &from, &length);
        TRY(rill_chars_append(&m->spare, U" ", 1));
        if (length == 0) break;
        TRY(rill_chars_append(&m->spare, m->text.at + begin, length));
    }
    rill_chars_swap(&m->text, &m->spare);
    return RILL_OK;
}

rill_status rill_moses_join(rill_moses *m, const char *tokens, size_t length, rill_text *out)
{
    m->text.ctx = m->spare.ctx = m->ctx;
    TRY(rill_chars_read(&m->text, tokens, length));
    TRY(pad(m));
    TRY(rill_rewrite(unescape_rules, sizeof unescape_rules / sizeof *unescape_rules, &m->text, &m->spare));
    TRY(join(m));
    return rill_chars_write(m->spare.at, m->spare.used, out);
}
