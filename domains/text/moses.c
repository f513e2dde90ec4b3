/* Moses' punctuation normaliser and tokenizer; see moses.h.
 *
 * Rules are applied in the order in which they are listed, which matters. Rules of Moses that cannot match after an earlier
 * rule are omitted.
 *
 * Deviation: sacremoses replaces runs of dots by the placeholder DOTMULTI, so that this word in a text becomes dots. Here
 * the placeholder is a character that does not occur in texts.
 *
 * Divisions: punctuation · tokens · periods · the whole. */
#include <string.h>
#include <utf8proc.h>

#include "domain_base.h"
#include "moses.h"

#define COUNT(rules) (sizeof(rules) / sizeof *(rules))
#define NBSP U"\u00A0"

/* --- punctuation -------------------------------------------------------------------------------------------------- */

/* Rules of replace-unicode-punctuation, for full-width and Chinese punctuation. */
static const rill_rewrite_rule unicode_rules[] = {
    {U"，", U",", 0},
    {U"。" RW_WHITE_SPACE RW_ANY, U". ", 0},
    {U"、", U",", 0},
    {U"”", U"\"", 0},
    {U"“", U"\"", 0},
    {U"∶", U":", 0},
    {U"：", U":", 0},
    {U"？", U"?", 0},
    {U"《", U"\"", 0},
    {U"》", U"\"", 0},
    {U"）", U")", 0},
    {U"！", U"!", 0},
    {U"（", U"(", 0},
    {U"；", U";", 0},
    {U"」", U"\"", 0},
    {U"「", U"\"", 0},
    {U"．" RW_WHITE_SPACE RW_ANY, U". ", 0},
    {U"～", U"~", 0},
    {U"’", U"'", 0},
    {U"…", U"...", 0},
    {U"━", U"-", 0},
    {U"〈", U"<", 0},
    {U"〉", U">", 0},
    {U"【", U"[", 0},
    {U"】", U"]", 0},
    {U"％", U"%", 0},
    {U"０", U"0", 0},
    {U"１", U"1", 0},
    {U"２", U"2", 0},
    {U"３", U"3", 0},
    {U"４", U"4", 0},
    {U"５", U"5", 0},
    {U"６", U"6", 0},
    {U"７", U"7", 0},
    {U"８", U"8", 0},
    {U"９", U"9", 0},
};

/* Rules of normalize-punctuation for all languages: brackets, quotes, dashes, non-breaking spaces. */
static const rill_rewrite_rule punctuation_rules[] = {
    {U"\r", U"", 0},
    {U"(", U" (", 0},
    {U")", U") ", 0},
    {U" " RW_RUN, U" ", 0},
    {U") " RW_CLOSER, U")" RW_P2, 0},
    {U"( ", U"(", 0},
    {U" )", U")", 0},
    {RW_DIGIT U" %", RW_P0 U"%", 0},
    {U" :", U":", 0},
    {U" ;", U";", 0},
    {U"`", U"'", 0},
    {U"''", U" \" ", 0},
    {U"„", U"\"", 0},
    {U"–", U"-", 0},
    {U"—", U" - ", 0},
    {U" " RW_RUN, U" ", 0},
    {U"´", U"'", 0},
    {U"‘", U"'", 0},
    {U"‚", U"'", 0},
    {U"''", U"\"", 0},
    {NBSP U"«" NBSP, U"\"", 0},
    {U"«" NBSP, U"\"", 0},
    {U"«", U"\"", 0},
    {NBSP U"»" NBSP, U"\"", 0},
    {NBSP U"»", U"\"", 0},
    {U"»", U"\"", 0},
    {NBSP U"%", U"%", 0},
    {U"nº" NBSP, U"nº ", 0},
    {NBSP U":", U":", 0},
    {NBSP U"ºC", U" ºC", 0},
    {NBSP U"cm", U" cm", 0},
    {NBSP U"?", U"?", 0},
    {NBSP U"!", U"!", 0},
    {NBSP U";", U";", 0},
    {U"," NBSP, U", ", 0},
    {U" " RW_RUN, U" ", 0},
};

/* Rules of normalize-punctuation for one language. English writes stops before the closing quote, German after it. A
 * non-breaking space between digits becomes the language's separator. */
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

/* Separate punctuation, except . ' ` , and -, which may be part of a word. A - between words becomes @-@. A run of dots is
 * one token; a comma between digits belongs to the number. */
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

/* *out = 1 if the period after word[0 .. length) belongs to the word, 0 if it ends a sentence. `next`: first character of
 * the next word; 0 at the end of the text. */
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

/* --- the whole ---------------------------------------------------------------------------------------------------- */

void rill_moses_clear(rill_moses *m)
{
    rill_chars_clear(&m->text);
    rill_chars_clear(&m->spare);
    rill_text_clear(&m->bytes);
    FREE_ARRAY(m->ctx, m->quotes, m->quotes_capacity);
}

/* Remove the space at the start and at the end of the text; there is at most one at each. */
static void trim_ends(rill_chars *text)
{
    size_t begin = text->length > 0 && text->data[0] == ' ';
    if (begin) memmove(text->data, text->data + 1, (text->length - 1) * sizeof *text->data);
    text->length -= begin;
    if (text->length > 0 && text->data[text->length - 1] == ' ') text->length--;
}

static rill_status apply_rules(rill_moses *m, int lower)
{
    const rules *own = &language_rules[m->language];
    for (size_t i = 0; lower && i < m->text.length; i++)
        m->text.data[i] = (char32_t)utf8proc_tolower((utf8proc_int32_t)m->text.data[i]);
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
    m->text.ctx = m->spare.ctx = m->bytes.ctx = m->ctx;
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
