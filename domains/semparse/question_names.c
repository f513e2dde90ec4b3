/* Finds the tokens of a line that were typed as names.
 *
 * A token with a capital letter is a name. Exceptions are the first letter of a sentence, the word I, and lines without
 * small letters. A quoted token is a name too. Only the spelling counts here:
 * semparse_encode.c decides whether the model knows a name. Divisions: capitals · sentences · quotes · names. */
#include "question_internal.h"

#include <string.h>

/* --- capitals ----------------------------------------------------------------------------------------------------- */

static int is_upper_case(uint32_t code)
{
    return rill__text_lower(code) != code;
}

/* Number of capital letters in [from, to); *first = whether the first character is a capital. */
static int count_capitals(const char *line, size_t from, size_t to, int *first)
{
    int n = 0;
    *first = 0;
    for (size_t pos = from; pos < to;) {
        uint32_t code;
        const int begins = pos == from;
        pos += rill__text_decode(line + pos, &code);
        n += is_upper_case(code);
        if (begins) *first = is_upper_case(code);
    }
    return n;
}

static int has_lower_case(const rill_question *question)
{
    for (size_t pos = 0; pos < question->line_length;) {
        uint32_t code;
        pos += rill__text_decode(question->line + pos, &code);
        if (code >= 'a' && code <= 'z') return 1;
        if (code >= 0xdf && code < 0x500 && !is_upper_case(code)) return 1;
    }
    return 0;
}

/* Whether the word is the pronoun I, also with a contraction: I'm, I'd. */
static int is_pronoun(const char *word, size_t length)
{
    return word[0] == 'I' && (length == 1 || word[1] == '\'' || (unsigned char)word[1] >= 0x80);
}

/* --- sentences ---------------------------------------------------------------------------------------------------- */

/* Whether the full stop at `pos` ends a sentence. It does not after an abbreviation ("St. Louis"). */
static int ends_sentence(const char *line, size_t pos)
{
    enum { MAX_ABBREVIATION = 3 };
    size_t letters = 0;
    while (letters < pos && line[pos - letters - 1] != ' ' && line[pos - letters - 1] != '.') letters++;
    return letters > MAX_ABBREVIATION;
}

/* Whether only quotes and brackets precede `pos` in its sentence. */
static int begins_sentence(const char *line, size_t pos)
{
    while (pos > 0 && strchr(" \"'([{", line[pos - 1]) != NULL) pos--;
    if (pos == 0) return 1;
    const char prev = line[pos - 1];
    return prev == '?' || prev == '!' || (prev == '.' && ends_sentence(line, pos - 1));
}

/* --- quotes ------------------------------------------------------------------------------------------------------- */

static char quote_kind(uint32_t code)
{
    switch (code) {
    case '"':
    case 0xab:
    case 0xbb:
    case 0x201c:
    case 0x201d:
    case 0x201e: return '"';
    case '\'':
    case 0x2018:
    case 0x2019:
    case 0x201a: return '\'';
    default: return 0;
    }
}

/* Whether the token [from, to) is inside quotes. An opening quote is at the start of a word, a closing quote at its
 * end; any other quote is an apostrophe. Single and double quotes are tracked separately, because an apostrophe may
 * look like an opening quote. */
static int is_quoted(const rill_question *question, size_t from, size_t to)
{
    const char *line = question->line;
    const size_t length = question->line_length;
    size_t opened[2] = {0, 0}; /* of single, double quotes: start of the quoted text; 0: none is open */
    for (size_t pos = 0; pos < length && (opened[0] || opened[1] || pos < to);) {
        uint32_t code;
        const size_t begin = pos;
        pos += rill__text_decode(line + pos, &code);
        const char quote = quote_kind(code);
        const int leads = begin == 0 || strchr(" \t([{", line[begin - 1]) != NULL;
        const int trails = pos == length || strchr(" \t.,;:!?)]}", line[pos]) != NULL;
        size_t *open = &opened[quote == '"'];
        if (quote == 0) continue;
        if (*open == 0 && leads && !trails) {
            *open = pos;
        } else if (*open > 0 && trails) {
            if (from >= *open && to <= begin) return 1;
            *open = 0;
        }
    }
    return 0;
}

/* --- names -------------------------------------------------------------------------------------------------------- */

static int is_name(const rill_question *question, size_t from, size_t to)
{
    int first;
    const char *line = question->line;
    const int capitals = count_capitals(line, from, to, &first);
    if (is_quoted(question, from, to)) return 1;
    if (capitals == 0 || is_pronoun(line + from, to - from) || !has_lower_case(question)) return 0;
    return capitals > 1 || !first || !begins_sentence(line, from);
}

/* End of the token without a possessive 's: "London" of "London's". */
static size_t strip_possessive(const char *line, size_t from, size_t to)
{
    static const char *const owners[] = {"'s", "\xe2\x80\x99s"};
    for (size_t i = 0; i < 2; i++) {
        const size_t length = strlen(owners[i]);
        if (to - from > length && memcmp(line + to - length, owners[i], length) == 0) return to - length;
    }
    return to;
}

rill_slice rill_question_name(const rill_question *question, size_t i)
{
    const size_t raw_index = question->items[i].raw_plus_1;
    if (raw_index == 0) return (rill_slice){question->line, 0};
    const rill__raw_token *raw = &question->raw[raw_index - 1];
    if (!is_name(question, raw->line_begin, raw->line_end)) return (rill_slice){question->line, 0};
    return (rill_slice){question->line + raw->line_begin,
                        strip_possessive(question->line, raw->line_begin, raw->line_end) - raw->line_begin};
}
