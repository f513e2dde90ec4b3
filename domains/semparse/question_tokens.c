/* Splits a line into input tokens, and finds those typed as names.
 *
 * Spaces separate chunks:
 *   - a word of the lexicon stays whole: "c++", "tcp/ip", ".net", "-er";
 *   - quotes, brackets and sentence punctuation at the ends are dropped;
 *   - the rest is split at hyphens, slashes and the like: "one-way" is two tokens;
 *   - "río" becomes "rio" if the lexicon has only "rio";
 *   - "1,700" loses its comma, "p.m." and "u.s." their dots, "$500" becomes "$" and "500".
 * Splitting never lengthens the line, so one buffer of its length suffices.
 *
 * Names are quoted, or capitalised, except at a sentence start, in lines without small letters, and the word I. */
#include <string.h>
#include <uchar.h>
#include <utf8proc.h>

#include "question.h"

/* --- normalising characters --------------------------------------------------------------------------------------- */

static size_t write_char(uint32_t code, char *out)
{
    return (size_t)utf8proc_encode_char((utf8proc_int32_t)code, (utf8proc_uint8_t *)out);
}

/* Convert a code point to lower case, independently of the locale. The result never takes more bytes of UTF-8 than the argument. */
static uint32_t lower_case(uint32_t c)
{
    if (c < 0x80) return c >= 'A' && c <= 'Z' ? c + 32 : c;
    if (c >= 0xc0 && c <= 0xde && c != 0xd7) return c + 32;
    if (c == 0x130) return 'i';
    if (c == 0x178) return 0xff;
    if ((c >= 0x100 && c <= 0x137) || (c >= 0x14a && c <= 0x177)) return c | 1;
    if ((c >= 0x139 && c <= 0x148) || (c >= 0x179 && c <= 0x17e)) return c & 1 ? c + 1 : c;
    if (c >= 0x391 && c <= 0x3a9 && c != 0x3a2) return c + 32;
    if (c >= 0x410 && c <= 0x42f) return c + 32;
    if (c >= 0x400 && c <= 0x40f) return c + 80;
    return c;
}

/* Return the normal form of a character (no white space): lower case, plain quotes and dashes. */
static uint32_t normal_character(uint32_t c)
{
    if (rill_char_in(c, U"‘’‚‛′´`")) return '\'';
    if (rill_char_in(c, U"“”„″«»")) return '"';
    if (rill_char_in(c, U"\u2010\u2011\u2012\u2013\u2014\u2015\u2212")) return '-'; /* hyphens, dashes, minus */
    return rill_char_in(c, U"…¡¿•") ? ' ' : lower_case(c);
}

/* --- splitting into tokens ---------------------------------------------------------------------------------------- */

/* Return a word's number in the lexicon, or RILL__NONE. Texts longer than any word are not looked up, to keep time linear. */
static int32_t find_word(const rill_question *question, size_t offset, size_t length)
{
    if (!question->lexicon || length > RILL__MAX_WORD_BYTES) return RILL__NONE;
    return rill_vocabulary_id(question->lexicon->words, question->raw_bytes + offset, length);
}

/* Return the base letter of a lower-case letter with diacritics (Latin-1, Latin Extended-A); 0 for a combining mark; else the character. */
static uint32_t base_letter(uint32_t c)
{
    static const char letters[] =
        "aaaaaa.ceeeeiiii.nooooo.ouuuuy.y" /* letters without accents, from U+00E0 on; '.': the character stays */
        "aaaaaaccccccccddddeeeeeeeeeegggg"
        "gggghhhhiiiiiiiiii..jjkk.lllllll"
        "lllnnnnnn...oooooo..rrrrrrssssss"
        "ssttttttuuuuuuuuuuuuwwyyyzzzzzz.";
    if (c >= 0x300 && c <= 0x36f) return 0;
    if (c < 0xe0 || c > 0x17f || letters[c - 0xe0] == '.') return c;
    return (uint32_t)letters[c - 0xe0];
}

/* Replace "río" by "rio" if only that is in the lexicon (with or without 's). Returns the length. Other words stay: the model may know
 * them. */
static size_t drop_diacritics(const rill_question *question, size_t offset, size_t length)
{
    char *data = question->raw_bytes + offset, bare[RILL__MAX_WORD_BYTES];
    size_t kept = 0;
    if (!question->lexicon || length > sizeof bare) return length;
    for (size_t pos = 0; pos < length;) {
        const uint32_t code = base_letter((uint32_t)rill_utf8_read(data, length, &pos));
        if (code) kept += write_char(code, bare + kept);
    }
    if (kept == length || find_word(question, offset, length) != RILL__NONE) return length;
    int owner = kept > 2 && bare[kept - 2] == '\'' && bare[kept - 1] == 's';
    if (rill_vocabulary_id(question->lexicon->words, bare, kept) == RILL__NONE &&
        (!owner || rill_vocabulary_id(question->lexicon->words, bare, kept - 2) == RILL__NONE))
        return length;
    memcpy(data, bare, kept);
    return kept;
}

size_t rill__drop_character(char *data, size_t length, char c)
{
    size_t kept = 0;
    for (size_t i = 0; i < length; i++)
        if (data[i] != c) data[kept++] = data[i];
    return kept;
}

/* Append the token raw_bytes[offset .. offset + length). span: number of its bytes before characters were dropped. */
static rill_status add_token(rill_question *question, size_t offset, size_t length, size_t span)
{
    if (length == 0) return RILL_OK;
    char *data = question->raw_bytes + offset;
    length = drop_diacritics(question, offset, length);
    rill__raw_token raw = {.offset = offset,
                           .length = length,
                           .line_begin = question->raw_offsets[offset],
                           .line_end = question->raw_offsets[offset + span],
                           .possessor = RILL__NONE};
    raw.word = find_word(question, offset, length);
    if (raw.word == RILL__NONE && length > 2 && data[length - 2] == '\'' && data[length - 1] == 's')
        raw.possessor = find_word(question, offset, length - 2);
    if (raw.word == RILL__NONE && raw.possessor == RILL__NONE && question->lexicon &&
        !question->lexicon->keep_apostrophe && memchr(data, '\'', length)) {
        raw.length = rill__drop_character(data, length, '\'');
        if (raw.length == 0) return RILL_OK;
        raw.word = find_word(question, offset, raw.length);
    }
    raw.number = rill__number_read(data, raw.length);
    PUSH(&question->arena, question->raw, question->raw_count, raw, "tokens of a question");
    return RILL_OK;
}

static int is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (unsigned char)c >= 0x80;
}

/* Return 1 if the character may be inside a token, 0 if it separates tokens. */
static int is_inner(char c)
{
    return is_letter(c) || rill_is_digit(c) || strchr("'+#_$&@%", c) != NULL;
}

/* Return 1 if the text is an abbreviation, else 0: one or two letters between dots, such as "p.m", "u.s.a" or "ph.d". */
static int is_abbreviation(const char *data, size_t length)
{
    size_t piece = 0, dots = 0;
    for (size_t i = 0; i < length; i++) {
        if (data[i] == '.') {
            if (piece == 0) return 0;
            piece = 0;
            dots++;
        } else if (!is_letter(data[i]) || ++piece > 2) {
            return 0;
        }
    }
    return dots > 0 && piece > 0;
}

/* Return 1 to drop the character at `pos` of a chunk (1,700), 0 to keep it (5.30), -1 to split there. */
static int punctuation_action(const char *data, size_t length, size_t pos)
{
    int prev_digit = pos > 0 && rill_is_digit(data[pos - 1]),
        next_digit = pos + 1 < length && rill_is_digit(data[pos + 1]);
    if (data[pos] == ',') return prev_digit && next_digit ? 1 : -1;
    if (data[pos] == ':') return prev_digit && next_digit ? 0 : -1;
    if (data[pos] != '.') return -1;
    if (prev_digit && next_digit) return 0;
    int half = pos > 0 && (data[pos - 1] == 'a' || data[pos - 1] == 'p') && pos + 1 < length && data[pos + 1] == 'm';
    return half && pos > 1 && rill_is_digit(data[pos - 2]) ? 1 : -1;
}

/* Split a stripped chunk into tokens. Dropped characters are removed in place. */
static rill_status cut_chunk(rill_question *question, size_t offset, size_t length)
{
    char *data = question->raw_bytes + offset;
    if (is_abbreviation(data, length))
        return add_token(question, offset, rill__drop_character(data, length, '.'), length);
    size_t start = 0, kept = 0;
    for (size_t i = 0; i < length; i++) {
        int drop = is_inner(data[i]) ? 0 : punctuation_action(data, length, i);
        int money = data[i] == '$' && i + 1 < length && rill_is_digit(data[i + 1]);
        if (drop == 0) data[kept++] = data[i];
        if (drop >= 0 && !money) continue;
        const size_t end = i + (drop >= 0); /* a currency sign is a token of its own, so the token ends after it */
        TRY(add_token(question, offset + start, kept - start, end - start));
        start = kept = i + 1;
    }
    return add_token(question, offset + start, kept - start, length - start);
}

/* --- splitting at spaces ------------------------------------------------------------------------------------------ */

/* Turn a chunk, the text between two spaces, into tokens: strip quotes and punctuation at its ends, then cut it. */
static rill_status strip_and_cut(rill_question *question, size_t offset, size_t length)
{
    const char *data = question->raw_bytes + offset;
    for (;;) {
        if (length == 0) return RILL_OK;
        if (find_word(question, offset, length) != RILL__NONE) return add_token(question, offset, length, length);
        if (strchr("?!,;:.\"')]}>", data[length - 1])) {
            length--;
        } else if (strchr("\"'([{<", data[0])) {
            data++;
            offset++;
            length--;
        } else {
            return cut_chunk(question, offset, length);
        }
    }
}

/* Fill raw_bytes with the normalised line, and raw_offsets with the position in the line of each of its bytes. */
static rill_status normalise(rill_question *question)
{
    const size_t length = question->line_length;
    question->raw_bytes_length = 0;
    TRY(GROW(&question->arena, question->raw_bytes, length + 1, "bytes of a question"));
    TRY(GROW(&question->arena, question->raw_offsets, length + 1, "bytes of a question"));
    for (size_t pos = 0; pos < length;) {
        const size_t from = pos, begin = question->raw_bytes_length,
                     n_space = rill_blank_bytes(question->line + pos, length - pos);
        const uint32_t code = (uint32_t)rill_utf8_read(question->line, length, &pos);
        question->raw_bytes_length += write_char(n_space ? ' ' : normal_character(code), question->raw_bytes + begin);
        for (size_t i = begin; i < question->raw_bytes_length; i++) question->raw_offsets[i] = from;
    }
    question->raw_offsets[question->raw_bytes_length] = length;
    return RILL_OK;
}

rill_status rill__question_split(rill_question *question)
{
    question->raw_count = 0;
    TRY(normalise(question));
    size_t start = 0;
    for (size_t pos = 0; pos <= question->raw_bytes_length; pos++) {
        if (pos < question->raw_bytes_length && question->raw_bytes[pos] != ' ') continue;
        TRY(strip_and_cut(question, start, pos - start));
        start = pos + 1;
    }
    return RILL_OK;
}

/* --- capital letters ---------------------------------------------------------------------------------------------- */

static int is_upper_case(uint32_t code)
{
    return lower_case(code) != code;
}

/* Return the number of capital letters in the bytes [from, to) of the line. *first: 1 if the first character is a capital. */
static int count_capitals(const char *line, size_t from, size_t to, int *first)
{
    int n = 0;
    *first = 0;
    for (size_t pos = from; pos < to;) {
        const int begins = pos == from;
        const uint32_t code = (uint32_t)rill_utf8_read(line, to, &pos);
        n += is_upper_case(code);
        if (begins) *first = is_upper_case(code);
    }
    return n;
}

static int has_lower_case(const rill_question *question)
{
    for (size_t pos = 0; pos < question->line_length;) {
        const uint32_t code = (uint32_t)rill_utf8_read(question->line, question->line_length, &pos);
        if (code >= 'a' && code <= 'z') return 1;
        if (code >= 0xdf && code < 0x500 && !is_upper_case(code)) return 1;
    }
    return 0;
}

/* Return 1 if the word is the pronoun I, alone or in a contraction such as I'm or I'd. */
static int is_pronoun(const char *word, size_t length)
{
    return word[0] == 'I' && (length == 1 || word[1] == '\'' || (unsigned char)word[1] >= 0x80);
}

/* --- ends of sentences -------------------------------------------------------------------------------------------- */

/* Return 1 if the full stop at `pos` ends a sentence, 0 if it belongs to an abbreviation ("St. Louis"). */
static int ends_sentence(const char *line, size_t pos)
{
    enum { MAX_ABBREVIATION = 3 };
    size_t letters = 0;
    while (letters < pos && line[pos - letters - 1] != ' ' && line[pos - letters - 1] != '.') letters++;
    return letters > MAX_ABBREVIATION;
}

/* Return 1 if only quotes, brackets and spaces stand between the start of the sentence and `pos`. */
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
    if (rill_char_in(code, U"\"«»“”„")) return '"';
    return rill_char_in(code, U"'‘’‚") ? '\'' : 0;
}

/* Return 1 if the bytes [from, to) are inside quotes. Single and double quotes are tracked separately, because an apostrophe may look like
 * an opening quote. */
static int is_quoted(const rill_question *question, size_t from, size_t to)
{
    const char *line = question->line;
    const size_t length = question->line_length;
    /* position after each kind of opening quote (single, double) whose text is still open; 0: no quote is open */
    size_t opened[2] = {0, 0};
    for (size_t pos = 0; pos < length && (opened[0] || opened[1] || pos < to);) {
        const size_t begin = pos;
        const char quote = quote_kind((uint32_t)rill_utf8_read(line, length, &pos));
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

/* Return the end of the token at the bytes [from, to) without its possessive 's: the end of "London" in "London's". */
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
