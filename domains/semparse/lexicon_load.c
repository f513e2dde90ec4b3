/* Strict reader of a lexicon file's lines: directives (@...) and entries.
 *
 * A lexicon decides what a decoder sees, so the reader guesses nothing: a line it does not understand is an error that
 * says what to write instead. Types are declared before they are used, and the file states its format version first.
 *
 * An entry may list heads and tails: words before and after the surface. The trie gets one path for each combination of
 * one head or none with one tail or none ("mount mckinley", "mckinley"). A '!' before a list makes one of its elements
 * compulsory ("red river", never "red"). Invariant: after a line succeeded every index made from it is in range. After
 * a failure the lexicon can only be closed. Divisions: helpers, paths of the trie, entries, directives, lines. */
#include "domain_base.h"
#include "lexicon_internal.h"
#include "utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MAX_LEXICON_COLUMNS = 8, FORMAT = 1, MAX_ALTERNATIVES = 64 };

rill_status rill__lexicon_fail(rill_lexicon *lexicon, const char *format, ...)
{
    char sentence[512];
    va_list arguments;
    va_start(arguments, format);
    rill_print_message_list(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return rill_fail(lexicon->ctx, RILL_ERR_FORMAT, "%s:%d: %s", lexicon->name, lexicon->line, sentence);
}

/* A word's length for "%.*s" in messages, at most 80. */
static int print_length(rill_slice word)
{
    return word.length > 80 ? 80 : (int)word.length;
}

/* --- helpers ------------------------------------------------------------------------------------------------------ */

/* Split `text` at `separator` into at most `capacity` parts. Returns the number of parts, which may exceed `capacity`. */
static int split_at(rill_slice text, char separator, rill_slice *parts, int capacity)
{
    int count = 0;
    for (;;) {
        const char *end = memchr(text.data, separator, text.length);
        size_t length = end ? (size_t)(end - text.data) : text.length;
        if (count < capacity) parts[count] = (rill_slice){text.data, length};
        count++;
        if (!end) return count;
        text = (rill_slice){end + 1, text.length - length - 1};
    }
}

static int read_decimal(rill_slice text, int *out)
{
    int value = 0;
    if (text.length == 0 || text.length > 6) return 0;
    for (size_t i = 0; i < text.length; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') return 0;
        value = value * 10 + (text.data[i] - '0');
    }
    *out = value;
    return 1;
}

rill_status rill__lexicon_check_word(rill_lexicon *lexicon, rill_slice word)
{
    if (word.length == 0)
        return rill__lexicon_fail(lexicon, "empty word; put single spaces between words and none at the ends");
    if (word.length > RILL__MAX_WORD_BYTES)
        return rill__lexicon_fail(lexicon, "a word of more than %d bytes would never match; shorten it",
                                  RILL__MAX_WORD_BYTES);
    for (size_t i = 0; i < word.length; i++)
        if (word.data[i] >= 'A' && word.data[i] <= 'Z')
            return rill__lexicon_fail(lexicon,
                                      "'%.*s' has capital letters and would never match; write it in "
                                      "lower case",
                                      print_length(word), word.data);
    if (word.length > 1 && strchr(".,;:?!\"", word.data[word.length - 1]))
        return rill__lexicon_fail(lexicon,
                                  "'%.*s' ends in punctuation, which is removed from questions; write it "
                                  "without",
                                  print_length(word), word.data);
    return RILL_OK;
}

/* --- paths of the trie -------------------------------------------------------------------------------------------- */

typedef struct surface_path {
    int32_t words[RILL__MAX_PATH_WORDS];
    int count;
} surface_path;

static rill_status path_append(rill_lexicon *lexicon, surface_path *path, rill_slice text)
{
    rill_slice parts[RILL__MAX_PATH_WORDS];
    int count = split_at(text, ' ', parts, RILL__MAX_PATH_WORDS);
    if (path->count + count > RILL__MAX_PATH_WORDS)
        return rill__lexicon_fail(lexicon, "more than %d words in a row", RILL__MAX_PATH_WORDS);
    for (int i = 0; i < count; i++) {
        TRY(rill__lexicon_check_word(lexicon, parts[i]));
        TRY(rill__lexicon_intern(lexicon, parts[i], &path->words[path->count]));
        path->count++;
    }
    return RILL_OK;
}

static rill_status add_candidate(rill_lexicon *lexicon, const surface_path *path, rill__candidate candidate)
{
    int32_t state = 0;
    for (int i = 0; i < path->count; i++) TRY(rill__lexicon_add_state(lexicon, state, path->words[i], &state));
    int32_t last = RILL__NONE;
    for (int32_t index = lexicon->states[state]; index != RILL__NONE; index = lexicon->candidates[index].next) {
        const rill__candidate *old = &lexicon->candidates[index];
        if (old->type == candidate.type && rill_slice_equal(old->text, candidate.text))
            return rill__lexicon_fail(lexicon, "already listed with this type and constant in line %d; remove one",
                                      old->line);
        last = index;
    }
    TRY(GROW(lexicon->ctx, lexicon->candidates, lexicon->candidate_capacity, lexicon->candidate_count + 1,
             "lexicon entries"));
    candidate.next = RILL__NONE;
    candidate.line = lexicon->line;
    lexicon->candidates[lexicon->candidate_count] = candidate;
    int32_t *link = last == RILL__NONE ? &lexicon->states[state] : &lexicon->candidates[last].next;
    *link = (int32_t)lexicon->candidate_count++;
    return RILL_OK;
}

/* --- entries ------------------------------------------------------------------------------------------------------ */

/* Read a column of alternatives: "a|b", "!a|b", or empty. parts[0] is the empty alternative, unless '!' forbids it. */
static rill_status read_alternatives(rill_lexicon *lexicon, rill_slice text, rill_slice *parts, int *count)
{
    *count = 0;
    int compulsory = text.length && text.data[0] == '!';
    if (compulsory)
        text = (rill_slice){text.data + 1, text.length - 1};
    else
        parts[(*count)++] = (rill_slice){text.data, 0};
    if (text.length == 0) {
        if (compulsory) return rill__lexicon_fail(lexicon, "'!' without words after it");
        return RILL_OK;
    }
    int more = split_at(text, '|', parts + *count, MAX_ALTERNATIVES - *count);
    if (*count + more > MAX_ALTERNATIVES)
        return rill__lexicon_fail(lexicon, "more than %d heads or tails", MAX_ALTERNATIVES - 1);
    *count += more;
    return RILL_OK;
}

static rill_status find_type(rill_lexicon *lexicon, rill_slice name, int32_t *out)
{
    *out = rill__lexicon_type(lexicon, name.data, name.length);
    if (*out == RILL__NONE)
        return rill__lexicon_fail(lexicon, "unknown type '%.*s'; declare it above with '@type<TAB>%.*s'",
                                  print_length(name), name.data, print_length(name), name.data);
    return RILL_OK;
}

static rill_status check_constant(rill_lexicon *lexicon, rill_slice text)
{
    if (text.length == 0 || text.data[0] == ' ' || text.data[text.length - 1] == ' ')
        return rill__lexicon_fail(lexicon, "the third column must be the constant, without spaces at its ends");
    return RILL_OK;
}

/* Add one surface form of an entry; an empty head or tail is left out. */
static rill_status add_surface(rill_lexicon *lexicon, rill_slice head, rill_slice name, rill_slice tail,
                               rill__candidate candidate)
{
    surface_path path = {.count = 0};
    if (head.length) TRY(path_append(lexicon, &path, head));
    TRY(path_append(lexicon, &path, name));
    if (tail.length) TRY(path_append(lexicon, &path, tail));
    return add_candidate(lexicon, &path, candidate);
}

/* Read an entry. Its columns are surface, type, constant, tails, heads, flags. */
static rill_status read_entry(rill_lexicon *lexicon, const rill_slice *column, int count)
{
    if (count < 3 || count > 6)
        return rill__lexicon_fail(lexicon,
                                  "%d columns; an entry is 'surface<TAB>type<TAB>constant', then optionally "
                                  "tails, heads and flags",
                                  count);
    rill__candidate candidate = {.text = column[2]};
    TRY(find_type(lexicon, column[1], &candidate.type));
    TRY(check_constant(lexicon, column[2]));
    rill_slice tails[MAX_ALTERNATIVES], heads[MAX_ALTERNATIVES], none = {column[0].data, 0};
    int tail_count, head_count;
    TRY(read_alternatives(lexicon, count > 3 ? column[3] : none, tails, &tail_count));
    TRY(read_alternatives(lexicon, count > 4 ? column[4] : none, heads, &head_count));
    if (count > 5 && column[5].length) {
        if (!rill_slice_is(column[5], "cue"))
            return rill__lexicon_fail(lexicon, "unknown flag '%.*s'; the only flag is 'cue'", print_length(column[5]),
                                      column[5].data);
        candidate.needs_preference = 1;
    }
    for (int h = 0; h < head_count; h++)
        for (int t = 0; t < tail_count; t++) TRY(add_surface(lexicon, heads[h], column[0], tails[t], candidate));
    return RILL_OK;
}

/* --- directives --------------------------------------------------------------------------------------------------- */

static rill_status read_format(rill_lexicon *lexicon, const rill_slice *column)
{
    if (!read_decimal(column[1], &lexicon->format) || lexicon->format != FORMAT)
        return rill__lexicon_fail(lexicon, "unknown format '%.*s'; this program reads format %d",
                                  print_length(column[1]), column[1].data, FORMAT);
    return RILL_OK;
}

/* Read a directive that has two possible values: *out = 1 for `yes`, 0 for `no`. */
static rill_status read_one_of(rill_lexicon *lexicon, const rill_slice *column, const char *yes, const char *no,
                               int *out)
{
    *out = rill_slice_is(column[1], yes);
    if (*out || rill_slice_is(column[1], no)) return RILL_OK;
    return rill__lexicon_fail(lexicon, "'%.*s' takes '%s' or '%s', not '%.*s'", print_length(column[0]), column[0].data,
                              yes, no, print_length(column[1]), column[1].data);
}

static rill_status read_stem(rill_lexicon *lexicon, const rill_slice *column)
{
    return read_one_of(lexicon, column, "english", "none", &lexicon->stem);
}

static rill_status read_apostrophe(rill_lexicon *lexicon, const rill_slice *column)
{
    return read_one_of(lexicon, column, "keep", "drop", &lexicon->keep_apostrophe);
}

static rill_status read_possessive(rill_lexicon *lexicon, const rill_slice *column)
{
    return read_one_of(lexicon, column, "keep", "drop", &lexicon->keep_possessive);
}

static rill_status read_afternoon(rill_lexicon *lexicon, const rill_slice *column)
{
    rill_slice ends[2];
    if (split_at(column[1], '-', ends, 2) != 2 || !read_decimal(ends[0], &lexicon->afternoon_low) ||
        !read_decimal(ends[1], &lexicon->afternoon_high) || lexicon->afternoon_low < 1 ||
        lexicon->afternoon_high > 11 || lexicon->afternoon_low > lexicon->afternoon_high)
        return rill__lexicon_fail(lexicon, "'@afternoon' takes a range of hours within 1-11, such as 1-6");
    return RILL_OK;
}

static rill_status read_type(rill_lexicon *lexicon, const rill_slice *column)
{
    rill_slice name = column[1];
    const int more = column[2].data != NULL;
    for (size_t i = 0; i < name.length; i++)
        if (name.data[i] != '_' && (name.data[i] < 'a' || name.data[i] > 'z')) name.length = 0;
    if (name.length == 0 || name.length > 64)
        return rill__lexicon_fail(lexicon, "'%.*s' is not a type name; use letters a-z and '_'",
                                  print_length(column[1]), column[1].data);
    if (rill__lexicon_type(lexicon, name.data, name.length) != RILL__NONE)
        return rill__lexicon_fail(lexicon, "type '%.*s' is declared twice; remove one", print_length(name), name.data);
    if (more && !rill_slice_is(column[2], "plain"))
        return rill__lexicon_fail(lexicon, "'%.*s' after a type: expected 'plain'", print_length(column[2]),
                                  column[2].data);
    const rill__type type = {.name = name, .unnumbered = more};
    PUSH(lexicon->ctx, lexicon->types, lexicon->type_capacity, lexicon->type_count, type, "lexicon types");
    return RILL_OK;
}

/* Read @keep: intern the token, since tokens that are words of the lexicon are never split. */
static rill_status read_keep(rill_lexicon *lexicon, const rill_slice *column)
{
    int32_t word;
    if (column[1].length == 0 || column[1].length > RILL__MAX_WORD_BYTES ||
        memchr(column[1].data, ' ', column[1].length))
        return rill__lexicon_fail(lexicon, "'@keep' takes one token of at most %d bytes", RILL__MAX_WORD_BYTES);
    return rill__lexicon_intern(lexicon, column[1], &word);
}

static rill_status read_rewrite(rill_lexicon *lexicon, const rill_slice *column)
{
    surface_path from = {.count = 0}, to = {.count = 0};
    TRY(path_append(lexicon, &from, column[1]));
    TRY(path_append(lexicon, &to, column[2]));
    return add_candidate(lexicon, &from, (rill__candidate){.type = RILL__NONE, .text = column[2]});
}

static rill_status read_rule(rill_lexicon *lexicon, const rill_slice *column)
{
    rill__rule rule = {.slot = RILL__SLOT_NONE};
    TRY(find_type(lexicon, column[1], &rule.type));
    TRY(rill__lexicon_pattern(lexicon, column[2], 0, &rule.pattern));
    TRY(check_constant(lexicon, column[3]));
    TRY(rill__lexicon_constant(lexicon, column[3], &rule));
    PUSH(lexicon->ctx, lexicon->rules, lexicon->rule_capacity, lexicon->rule_count, rule, "lexicon rules");
    return RILL_OK;
}

static rill_status read_prefer(rill_lexicon *lexicon, const rill_slice *column)
{
    rill__preference preference = {.type = RILL__NONE};
    TRY(find_type(lexicon, column[1], &preference.type));
    TRY(rill__lexicon_pattern(lexicon, column[2], 1, &preference.pattern));
    PUSH(lexicon->ctx, lexicon->preferences, lexicon->preference_capacity, lexicon->preference_count, preference,
         "lexicon preferences");
    return RILL_OK;
}

typedef struct directive {
    const char *name;
    int min_columns, max_columns; /* number of columns, the directive's name included */
    const char *usage;
    rill_status (*read)(rill_lexicon *lexicon, const rill_slice *column); /* missing columns have NULL data */
} directive;

static const directive directives[] = {
    {"@format", 2, 2, "@format<TAB>1", read_format},
    {"@stem", 2, 2, "@stem<TAB>english or none", read_stem},
    {"@apostrophe", 2, 2, "@apostrophe<TAB>keep or drop", read_apostrophe},
    {"@possessive", 2, 2, "@possessive<TAB>keep or drop", read_possessive},
    {"@afternoon", 2, 2, "@afternoon<TAB>1-6", read_afternoon},
    {"@type", 2, 3, "@type<TAB>name[<TAB>plain]", read_type},
    {"@keep", 2, 2, "@keep<TAB>token", read_keep},
    {"@rewrite", 3, 3, "@rewrite<TAB>words<TAB>words", read_rewrite},
    {"@rule", 4, 4, "@rule<TAB>type<TAB>pattern<TAB>constant", read_rule},
    {"@prefer", 3, 3, "@prefer<TAB>type<TAB>pattern with _", read_prefer},
};

static rill_status read_directive(rill_lexicon *lexicon, const rill_slice *column, int count)
{
    for (size_t i = 0; i < sizeof directives / sizeof *directives; i++) {
        const directive *known = &directives[i];
        if (!rill_slice_is(column[0], known->name)) continue;
        if (!lexicon->format && known->read != read_format)
            return rill__lexicon_fail(lexicon, "'%s' before '@format'; begin the file with '@format<TAB>%d'",
                                      known->name, FORMAT);
        if (count < known->min_columns || count > known->max_columns)
            return rill__lexicon_fail(lexicon, "%d columns; write '%s'", count, known->usage);
        return known->read(lexicon, column);
    }
    return rill__lexicon_fail(lexicon, "unknown directive '%.*s'; docs/lexicon.md lists them", print_length(column[0]),
                              column[0].data);
}

/* --- lines -------------------------------------------------------------------------------------------------------- */

rill_status rill__lexicon_line(rill_lexicon *lexicon, const char *text, size_t length)
{
    if (length && text[length - 1] == '\r') length--;
    size_t bad = rill_utf8_check(text, length);
    if (bad < length)
        return rill__lexicon_fail(lexicon, "byte %zu of the line is not UTF-8; save the file as UTF-8", bad + 1);
    if (length == 0 || text[0] == '#') return RILL_OK;
    rill_slice column[MAX_LEXICON_COLUMNS] = {0};
    int count = split_at((rill_slice){text, length}, '\t', column, MAX_LEXICON_COLUMNS);
    if (count > MAX_LEXICON_COLUMNS) return rill__lexicon_fail(lexicon, "%d columns; no line has more than 6", count);
    if (text[0] == '@') return read_directive(lexicon, column, count);
    if (!lexicon->format)
        return rill__lexicon_fail(lexicon, "an entry before '@format'; begin the file with '@format<TAB>%d'", FORMAT);
    return read_entry(lexicon, column, count);
}
