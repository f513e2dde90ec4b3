/* Strict reader of a lexicon file: directives (@...), entries, and the patterns of @rule and @prefer (format: docs/lexicon.md).
 *
 *     (flight|number|{al}) {digits:1-9999}      a rule: (...) is context, the rest is replaced
 *     the _ run|runs                            a preference: _ is the name in question
 *
 * An entry may have optional words ("mount mckinley", "mckinley"); the trie has a path for each combination. A pattern element lists
 * alternatives, words or {classes}, joined by '|'; a trailing '?' makes it optional.
 * Tables:
 *   words  a vocabulary: the number of each word
 *   trie   a vocabulary of pairs (state, word): pair i is the only edge to state i + 1; a state has a list of candidates
 *   types  an array, searched linearly
 * Invariants: all indices are in range. In a pattern first <= body <= right <= last; a rule's body begins with a mandatory element. */
#include <string.h>

#include "lexicon.h"
#include "rill/file.h"

/* A lexicon is maintained by hand, so a larger file is a mistake. The limit keeps all indices within int32_t. */
#define SOURCE_LIMIT ((size_t)64 << 20)

enum { MAX_LEXICON_COLUMNS = 8, FORMAT = 1, MAX_ALTERNATIVES = 64, MAX_DIGITS = 12 };

/* Record "<file>:<line>: <sentence>" and return RILL_ERR_FORMAT. */
#define FAIL_LINE(lexicon, format, ...) \
    rill_fail((lexicon)->ctx, RILL_ERR_FORMAT, "%s:%d: " format, (lexicon)->name, (lexicon)->line, ##__VA_ARGS__)

/* Return a word's length for "%.*s" in messages, at most 80. */
static int print_length(rill_slice word)
{
    return word.length > 80 ? 80 : (int)word.length;
}

/* A word as the two arguments that "%.*s" takes. */
#define SHOWN(word) print_length(word), (word).data

/* --- trie of tokens ----------------------------------------------------------------------------------------------- */

int32_t rill__lexicon_next_state(const rill_lexicon *lexicon, int32_t state, int32_t word)
{
    const int32_t pair[] = {state, word};
    if (word == RILL__NONE) return RILL__NONE;
    const int32_t edge = rill_vocabulary_id(lexicon->edges, (const char *)pair, sizeof pair);
    return edge >= 0 ? edge + 1 : RILL__NONE;
}

/* Set *out to the trie state that `word` leads to from `state`; a missing state is added. */
static rill_status add_state(rill_lexicon *lexicon, int32_t state, int32_t word, int32_t *out)
{
    const int32_t pair[] = {state, word};
    int32_t edge;
    TRY(rill_vocabulary_intern(lexicon->edges, (const char *)pair, sizeof pair, &edge));
    *out = edge + 1;
    if ((size_t)*out == lexicon->state_count)
        PUSH(&lexicon->arena, lexicon->states, lexicon->state_count, RILL__NONE, "lexicon trie states");
    return RILL_OK;
}

/* --- types and placeholders --------------------------------------------------------------------------------------- */

/* Return the index in lexicon->types of the type with this name; RILL__NONE if the lexicon declares no such type. */
static int32_t type_index(const rill_lexicon *lexicon, const char *data, size_t length)
{
    for (size_t i = 0; i < lexicon->type_count; i++)
        if (rill_slice_equal(lexicon->types[i].name, (rill_slice){data, length})) return (int32_t)i;
    return RILL__NONE;
}

int32_t rill__lexicon_placeholder(const rill_lexicon *lexicon, const char *data, size_t length, int64_t *number)
{
    size_t name = length;
    while (name > 0 && data[name - 1] >= '0' && data[name - 1] <= '9') name--;
    if (name == 0 || length - name > 9) return RILL__NONE;
    int32_t type = type_index(lexicon, data, name);
    if (type == RILL__NONE || lexicon->types[type].unnumbered != (name == length)) return RILL__NONE;
    *number = 0;
    for (size_t i = name; i < length; i++) *number = *number * 10 + (data[i] - '0');
    return type;
}

/* --- splitting lines ---------------------------------------------------------------------------------------------- */

/* Split `text` at `separator` into at most `capacity` parts. Returns the number of parts, which may exceed `capacity`. */
static int split_at(rill_slice text, char separator, rill_slice *parts, int capacity)
{
    int count = 0;
    for (int more = 1; more; count++) {
        rill_slice part;
        more = rill_slice_cut(&text, separator, &part);
        if (count < capacity) parts[count] = part;
    }
    return count;
}

/* Read a number of at most MAX_DIGITS digits. Returns 1 on success, 0 if it is malformed. */
static int read_decimal(rill_slice text, int64_t *out)
{
    if (text.length == 0 || text.length > MAX_DIGITS) return 0;
    *out = 0;
    for (size_t i = 0; i < text.length; i++) {
        if (!rill_is_digit(text.data[i])) return 0;
        *out = *out * 10 + (text.data[i] - '0');
    }
    return 1;
}

/* Read a range such as "5-31". Returns 1 on success, 0 if it is malformed. */
static int read_range(rill_slice text, int64_t *low, int64_t *high)
{
    rill_slice ends[2];
    return split_at(text, '-', ends, 2) == 2 && read_decimal(ends[0], low) && read_decimal(ends[1], high) &&
           *low <= *high;
}

/* Refuse a word that no question can contain: tokens are lower case and have no punctuation at the end. */
static rill_status check_word(rill_lexicon *lexicon, rill_slice word)
{
    if (word.length == 0) return FAIL_LINE(lexicon, "empty word; put single spaces between words and none at the ends");
    if (word.length > RILL__MAX_WORD_BYTES)
        return FAIL_LINE(lexicon, "a word of more than %d bytes would never match; shorten it", RILL__MAX_WORD_BYTES);
    for (size_t i = 0; i < word.length; i++)
        if (word.data[i] >= 'A' && word.data[i] <= 'Z')
            return FAIL_LINE(lexicon, "'%.*s' has capital letters and would never match; write it in lower case",
                             SHOWN(word));
    if (word.length > 1 && strchr(".,;:?!\"", word.data[word.length - 1]))
        return FAIL_LINE(lexicon, "'%.*s' ends in punctuation, which is removed from questions; write it without",
                         SHOWN(word));
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
        return FAIL_LINE(lexicon, "more than %d words in a row", RILL__MAX_PATH_WORDS);
    for (int i = 0; i < count; i++) {
        TRY(check_word(lexicon, parts[i]));
        TRY(rill_vocabulary_intern(lexicon->words, parts[i].data, parts[i].length, &path->words[path->count]));
        path->count++;
    }
    return RILL_OK;
}

static rill_status add_candidate(rill_lexicon *lexicon, const surface_path *path, rill__candidate candidate)
{
    int32_t state = 0;
    for (int i = 0; i < path->count; i++) TRY(add_state(lexicon, state, path->words[i], &state));
    int32_t last = RILL__NONE;
    for (int32_t index = lexicon->states[state]; index != RILL__NONE; index = lexicon->candidates[index].next) {
        const rill__candidate *old = &lexicon->candidates[index];
        if (old->type == candidate.type && rill_slice_equal(old->text, candidate.text))
            return FAIL_LINE(lexicon, "already listed with this type and constant in line %d; remove one", old->line);
        last = index;
    }
    candidate.next = RILL__NONE;
    candidate.line = lexicon->line;
    PUSH(&lexicon->arena, lexicon->candidates, lexicon->candidate_count, candidate, "lexicon entries");
    int32_t *link = last == RILL__NONE ? &lexicon->states[state] : &lexicon->candidates[last].next;
    *link = (int32_t)lexicon->candidate_count - 1;
    return RILL_OK;
}

/* --- entries of constants ----------------------------------------------------------------------------------------- */

/* Read a column of alternatives: "a|b", "!a|b", or empty. parts[0] is empty and is one of the alternatives, unless '!' forbids that. */
static rill_status read_alternatives(rill_lexicon *lexicon, rill_slice text, rill_slice *parts, int *count)
{
    *count = 0;
    int compulsory = text.length && text.data[0] == '!';
    if (compulsory)
        text = (rill_slice){text.data + 1, text.length - 1};
    else
        parts[(*count)++] = (rill_slice){text.data, 0};
    if (text.length == 0) {
        if (compulsory) return FAIL_LINE(lexicon, "'!' without words after it");
        return RILL_OK;
    }
    int more = split_at(text, '|', parts + *count, MAX_ALTERNATIVES - *count);
    if (*count + more > MAX_ALTERNATIVES)
        return FAIL_LINE(lexicon, "more than %d heads or tails", MAX_ALTERNATIVES - 1);
    *count += more;
    return RILL_OK;
}

static rill_status find_type(rill_lexicon *lexicon, rill_slice name, int32_t *out)
{
    *out = type_index(lexicon, name.data, name.length);
    if (*out == RILL__NONE)
        return FAIL_LINE(lexicon, "unknown type '%.*s'; declare it above with '@type<TAB>%.*s'", SHOWN(name),
                         SHOWN(name));
    return RILL_OK;
}

static rill_status check_constant(rill_lexicon *lexicon, rill_slice text)
{
    if (text.length == 0 || text.data[0] == ' ' || text.data[text.length - 1] == ' ')
        return FAIL_LINE(lexicon, "the third column must be the constant, without spaces at its ends");
    return RILL_OK;
}

/* Add one surface form of an entry: the words of head, name and tail. An empty head or tail is left out. */
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
        return FAIL_LINE(lexicon,
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
            return FAIL_LINE(lexicon, "unknown flag '%.*s'; the only flag is 'cue'", SHOWN(column[5]));
        candidate.needs_preference = 1;
    }
    for (int h = 0; h < head_count; h++)
        for (int t = 0; t < tail_count; t++) TRY(add_surface(lexicon, heads[h], column[0], tails[t], candidate));
    return RILL_OK;
}

/* --- patterns ----------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    rill__pattern_class kind;
    int ranged;
} class_names[] = {
    {"digits", RILL__DIGITS, 1}, {"int", RILL__INT, 1},     {"ord", RILL__ORDINAL, 1},
    {"year", RILL__YEAR, 0},     {"clock", RILL__CLOCK, 0}, {"clockwords", RILL__CLOCK_WORDS, 0},
    {"time", RILL__TIME, 0},     {"entry", RILL__ENTRY, 0}, {"word", RILL__ANY, 0},
    {"start", RILL__START, 0},   {"end", RILL__END, 0},
};

/* Read "{name}" or "{name:low-high}"; `text` excludes the braces. */
static rill_status read_class(rill_lexicon *lexicon, rill_slice text, rill__alternative *out)
{
    const char *colon = memchr(text.data, ':', text.length);
    rill_slice name = {text.data, colon ? (size_t)(colon - text.data) : text.length};
    *out = (rill__alternative){.kind = RILL__TYPE, .id = RILL__NONE, .low = 0, .high = INT64_MAX};
    int ranged = 0;
    for (size_t i = 0; i < sizeof class_names / sizeof *class_names; i++) {
        if (!rill_slice_is(name, class_names[i].name)) continue;
        out->kind = class_names[i].kind;
        ranged = class_names[i].ranged;
    }
    if (out->kind == RILL__TYPE) {
        out->id = type_index(lexicon, name.data, name.length);
        if (out->id == RILL__NONE)
            return FAIL_LINE(lexicon, "'{%.*s}' is neither a class nor a type declared above", SHOWN(name));
    }
    if (!colon) return RILL_OK;
    rill_slice range = {colon + 1, text.length - name.length - 1};
    if (!ranged || !read_range(range, &out->low, &out->high))
        return FAIL_LINE(lexicon, "'{%.*s}': only {digits}, {int} and {ord} take a range, such as {int:1-31}",
                         SHOWN(text));
    return RILL_OK;
}

static rill_status add_alternative(rill_lexicon *lexicon, rill_slice text)
{
    rill__alternative choice = {.kind = RILL__WORD};
    if (text.length == 0)
        return FAIL_LINE(lexicon, "empty alternative in a pattern; put single spaces between elements");
    if (text.data[0] == '{' && text.data[text.length - 1] == '}' && text.length > 2)
        TRY(read_class(lexicon, (rill_slice){text.data + 1, text.length - 2}, &choice));
    else if (memchr(text.data, '{', text.length) || memchr(text.data, '(', text.length) ||
             memchr(text.data, ')', text.length))
        return FAIL_LINE(lexicon, "'%.*s': brackets must enclose whole elements of a pattern", SHOWN(text));
    else
        TRY(check_word(lexicon, text));
    if (choice.kind == RILL__WORD) TRY(rill_vocabulary_intern(lexicon->words, text.data, text.length, &choice.id));
    PUSH(&lexicon->arena, lexicon->alternatives, lexicon->alternative_count, choice, "lexicon patterns");
    return RILL_OK;
}

static rill_status add_element(rill_lexicon *lexicon, rill_slice text)
{
    rill__element element = {.first = (int32_t)lexicon->alternative_count};
    if (text.length > 1 && text.data[text.length - 1] == '?') {
        element.optional = 1;
        text.length--;
    }
    for (int more = 1; more;) {
        rill_slice part;
        more = rill_slice_cut(&text, '|', &part);
        TRY(add_alternative(lexicon, part));
    }
    element.count = (int32_t)lexicon->alternative_count - element.first;
    PUSH(&lexicon->arena, lexicon->elements, lexicon->element_count, element, "lexicon patterns");
    return RILL_OK;
}

/* Add the elements of a part of a pattern, separated by single spaces. */
static rill_status add_elements(rill_lexicon *lexicon, rill_slice text)
{
    do {
        rill_slice element;
        rill_slice_cut(&text, ' ', &element);
        if (element.length == 0) return FAIL_LINE(lexicon, "put single spaces between elements and none at the ends");
        TRY(add_element(lexicon, element));
    } while (text.length);
    return RILL_OK;
}

/* Sets of pattern classes, as bits. LEFT_CLASSES: what a left context may contain. It is compared with rewritten words, in which numbers
 * are no longer recognised. PLAIN_CLASSES: elements that capture no value for the {} of the rule's constant. */
enum {
    LEFT_CLASSES = 1 << RILL__WORD | 1 << RILL__TYPE | 1 << RILL__ANY | 1 << RILL__START,
    PLAIN_CLASSES = 1 << RILL__WORD | 1 << RILL__TYPE | 1 << RILL__START | 1 << RILL__END
};

/* Return 1 if some alternative of the elements [from, to) is of none of these classes. */
static int has_other_class(const rill_lexicon *lexicon, int32_t from, int32_t to, int classes)
{
    for (const rill__element *e = lexicon->elements + from; e < lexicon->elements + to; e++)
        for (int32_t c = e->first; c < e->first + e->count; c++)
            if ((classes >> lexicon->alternatives[c].kind & 1) == 0) return 1;
    return 0;
}

/* Set the end of a pattern, and check its size and its left context. */
static rill_status end_pattern(rill_lexicon *lexicon, rill__pattern *pattern)
{
    pattern->last = (int32_t)lexicon->element_count;
    if (pattern->last - pattern->first > RILL__MAX_ELEMENTS)
        return FAIL_LINE(lexicon, "more than %d elements in a pattern", RILL__MAX_ELEMENTS);
    if (!has_other_class(lexicon, pattern->first, pattern->body, LEFT_CLASSES)) return RILL_OK;
    return FAIL_LINE(lexicon, "a left context may hold words, {types}, {word} and {start} only");
}

/* Read the pattern of a rule: "(left context) replaced elements (right context)". */
static rill_status read_rule_pattern(rill_lexicon *lexicon, rill_slice text, rill__pattern *out)
{
    rill_slice left = {text.data, 0}, right = {text.data, 0};
    int spaced = 1; /* 1: a space separates the contexts from the body */
    const char *close = text.length && text.data[0] == '(' ? memchr(text.data, ')', text.length) : NULL;
    if (close) {
        left = (rill_slice){text.data + 1, (size_t)(close - text.data) - 1};
        text = (rill_slice){close + 1, text.length - left.length - 2};
        spaced = text.length == 0 || text.data[0] == ' ';
        if (text.length) text = (rill_slice){text.data + 1, text.length - 1};
    }
    const char *open = text.length && text.data[text.length - 1] == ')' ? memrchr(text.data, '(', text.length) : NULL;
    if (open) {
        right = (rill_slice){open + 1, text.length - (size_t)(open - text.data) - 2};
        text.length = (size_t)(open - text.data);
        spaced &= text.length == 0 || text.data[text.length - 1] == ' ';
    }
    const int opens = memchr(text.data, '(', text.length) != NULL, closes = memchr(text.data, ')', text.length) != NULL;
    if (!spaced || (opens && closes))
        return FAIL_LINE(lexicon, "a pattern is '(left context) replaced elements (right context)', in this order");
    if (opens) return FAIL_LINE(lexicon, "'(' without ')' in a pattern");
    if (closes) return FAIL_LINE(lexicon, "')' without '(' in a pattern");
    if (text.length == 0)
        return FAIL_LINE(lexicon, "the pattern replaces nothing; put the replaced elements outside the brackets");
    out->first = (int32_t)lexicon->element_count;
    if (close) TRY(add_elements(lexicon, left));
    out->body = (int32_t)lexicon->element_count;
    TRY(add_elements(lexicon, text));
    out->right = (int32_t)lexicon->element_count;
    if (open) TRY(add_elements(lexicon, right));
    if (lexicon->elements[out->body].optional)
        return FAIL_LINE(lexicon, "the replaced elements may not begin with an optional one");
    return end_pattern(lexicon, out);
}

/* Read the pattern of a preference: words around "_", which marks the place of the name. */
static rill_status read_preference_pattern(rill_lexicon *lexicon, rill_slice text, rill__pattern *out)
{
    int marks = 0;
    rill_slice left = {text.data, 0}, right = {text.data, 0}, element;
    for (rill_slice rest = text; rest.length;) {
        rill_slice_cut(&rest, ' ', &element);
        if (!rill_slice_is(element, "_")) continue;
        if (marks++ > 0) return FAIL_LINE(lexicon, "'_' occurs twice in a pattern");
        left.length = (size_t)(element.data - text.data);
        right = rest;
    }
    if (marks == 0 || text.length == 1)
        return FAIL_LINE(lexicon, "a preference is words around '_', such as 'the _ river'");
    out->first = (int32_t)lexicon->element_count;
    if (left.length) TRY(add_elements(lexicon, left));
    out->body = out->right = (int32_t)lexicon->element_count;
    if (right.length) TRY(add_elements(lexicon, right));
    return end_pattern(lexicon, out);
}

/* Split a rule's constant at its {}, {am} or {pm}. */
static rill_status read_constant(rill_lexicon *lexicon, rill_slice text, rill__rule *rule)
{
    const char *open = memchr(text.data, '{', text.length);
    rule->prefix = text;
    rule->suffix = (rill_slice){text.data, 0};
    if (!open) return RILL_OK;
    rule->prefix.length = (size_t)(open - text.data);
    rill_slice rest = {open, text.length - rule->prefix.length};
    const char *close = memchr(rest.data, '}', rest.length);
    size_t length = close ? (size_t)(close - open) + 1 : 0;
    rule->slot = length == 2                                   ? RILL__SLOT_VALUE
                 : length == 4 && memcmp(open, "{am}", 4) == 0 ? RILL__SLOT_AM
                 : length == 4 && memcmp(open, "{pm}", 4) == 0 ? RILL__SLOT_PM
                                                               : RILL__SLOT_NONE;
    if (rule->slot == RILL__SLOT_NONE)
        return FAIL_LINE(lexicon, "a constant may hold {}, {am} or {pm}, not '%.*s'", SHOWN(rest));
    rule->suffix = (rill_slice){open + length, rest.length - length};
    if (memchr(rule->suffix.data, '{', rule->suffix.length))
        return FAIL_LINE(lexicon, "a constant takes one value only");
    if (!has_other_class(lexicon, rule->pattern.body, rule->pattern.right, PLAIN_CLASSES))
        return FAIL_LINE(lexicon, "the constant uses a value, but no replaced element has one");
    return RILL_OK;
}

/* --- directives --------------------------------------------------------------------------------------------------- */

static rill_status read_format(rill_lexicon *lexicon, const rill_slice *column)
{
    int64_t format;
    lexicon->has_format = read_decimal(column[1], &format) && format == FORMAT;
    if (lexicon->has_format) return RILL_OK;
    return FAIL_LINE(lexicon, "unknown format '%.*s'; this program reads format %d", SHOWN(column[1]), FORMAT);
}

/* Read a directive that takes one of two words. */
static rill_status read_switch(rill_lexicon *lexicon, const rill_slice *column)
{
    const struct {
        const char *name, *yes, *no;
        int *out;
    } switches[] = {{"@stem", "english", "none", &lexicon->stem},
                    {"@apostrophe", "keep", "drop", &lexicon->keep_apostrophe},
                    {"@possessive", "keep", "drop", &lexicon->keep_possessive}};
    size_t i = 0;
    while (!rill_slice_is(column[0], switches[i].name)) i++;
    *switches[i].out = rill_slice_is(column[1], switches[i].yes);
    if (*switches[i].out || rill_slice_is(column[1], switches[i].no)) return RILL_OK;
    return FAIL_LINE(lexicon, "'%s' takes '%s' or '%s', not '%.*s'", switches[i].name, switches[i].yes, switches[i].no,
                     SHOWN(column[1]));
}

static rill_status read_afternoon(rill_lexicon *lexicon, const rill_slice *column)
{
    int64_t *low = &lexicon->afternoon_low, *high = &lexicon->afternoon_high;
    if (read_range(column[1], low, high) && *low >= 1 && *high <= 11) return RILL_OK;
    return FAIL_LINE(lexicon, "'@afternoon' takes a range of hours within 1-11, such as 1-6");
}

static rill_status read_type(rill_lexicon *lexicon, const rill_slice *column)
{
    rill_slice name = column[1];
    const int more = column[2].data != NULL;
    for (size_t i = 0; i < name.length; i++)
        if (name.data[i] != '_' && (name.data[i] < 'a' || name.data[i] > 'z')) name.length = 0;
    if (name.length == 0 || name.length > 64)
        return FAIL_LINE(lexicon, "'%.*s' is not a type name; use letters a-z and '_'", SHOWN(column[1]));
    if (type_index(lexicon, name.data, name.length) != RILL__NONE)
        return FAIL_LINE(lexicon, "type '%.*s' is declared twice; remove one", SHOWN(name));
    if (more && !rill_slice_is(column[2], "plain"))
        return FAIL_LINE(lexicon, "'%.*s' after a type: expected 'plain'", SHOWN(column[2]));
    const rill__type type = {.name = name, .unnumbered = more};
    PUSH(&lexicon->arena, lexicon->types, lexicon->type_count, type, "lexicon types");
    return RILL_OK;
}

/* Read the directive @keep. Its token is stored as a word of the lexicon, because such tokens are never split. */
static rill_status read_keep(rill_lexicon *lexicon, const rill_slice *column)
{
    int32_t word;
    if (column[1].length == 0 || column[1].length > RILL__MAX_WORD_BYTES ||
        memchr(column[1].data, ' ', column[1].length))
        return FAIL_LINE(lexicon, "'@keep' takes one token of at most %d bytes", RILL__MAX_WORD_BYTES);
    return rill_vocabulary_intern(lexicon->words, column[1].data, column[1].length, &word);
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
    TRY(read_rule_pattern(lexicon, column[2], &rule.pattern));
    TRY(check_constant(lexicon, column[3]));
    TRY(read_constant(lexicon, column[3], &rule));
    PUSH(&lexicon->arena, lexicon->rules, lexicon->rule_count, rule, "lexicon rules");
    return RILL_OK;
}

static rill_status read_prefer(rill_lexicon *lexicon, const rill_slice *column)
{
    rill__rule preference = {.slot = RILL__SLOT_NONE};
    TRY(find_type(lexicon, column[1], &preference.type));
    TRY(read_preference_pattern(lexicon, column[2], &preference.pattern));
    PUSH(&lexicon->arena, lexicon->preferences, lexicon->preference_count, preference, "lexicon preferences");
    return RILL_OK;
}

typedef struct directive {
    const char *name;
    int min_columns, max_columns; /* minimum and maximum number of columns, including the directive's name */
    const char *usage;
    /* reads the directive; a column that the line does not have has data = NULL */
    rill_status (*read)(rill_lexicon *lexicon, const rill_slice *column);
} directive;

static const directive directives[] = {
    {"@format", 2, 2, "@format<TAB>1", read_format},
    {"@stem", 2, 2, "@stem<TAB>english or none", read_switch},
    {"@apostrophe", 2, 2, "@apostrophe<TAB>keep or drop", read_switch},
    {"@possessive", 2, 2, "@possessive<TAB>keep or drop", read_switch},
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
        if (!lexicon->has_format && known->read != read_format)
            return FAIL_LINE(lexicon, "'%s' before '@format'; begin the file with '@format<TAB>%d'", known->name,
                             FORMAT);
        if (count < known->min_columns || count > known->max_columns)
            return FAIL_LINE(lexicon, "%d columns; write '%s'", count, known->usage);
        return known->read(lexicon, column);
    }
    return FAIL_LINE(lexicon, "unknown directive '%.*s'; docs/lexicon.md lists them", SHOWN(column[0]));
}

/* --- reading a line ----------------------------------------------------------------------------------------------- */

/* Read one line of the file, without newline. */
static rill_status read_line(rill_lexicon *lexicon, const char *text, size_t length)
{
    if (length && text[length - 1] == '\r') length--;
    size_t bad = rill_utf8_check(text, length);
    if (bad < length) return FAIL_LINE(lexicon, "byte %zu of the line is not UTF-8; save the file as UTF-8", bad + 1);
    if (length == 0 || text[0] == '#') return RILL_OK;
    rill_slice column[MAX_LEXICON_COLUMNS] = {0};
    int count = split_at((rill_slice){text, length}, '\t', column, MAX_LEXICON_COLUMNS);
    if (count > MAX_LEXICON_COLUMNS) return FAIL_LINE(lexicon, "%d columns; no line has more than 6", count);
    if (text[0] == '@') return read_directive(lexicon, column, count);
    if (!lexicon->has_format)
        return FAIL_LINE(lexicon, "an entry before '@format'; begin the file with '@format<TAB>%d'", FORMAT);
    return read_entry(lexicon, column, count);
}

/* --- reading a file ----------------------------------------------------------------------------------------------- */

static rill_status read_lines(rill_lexicon *lexicon)
{
    TRY(rill_vocabulary_create(&lexicon->words, lexicon->ctx));
    TRY(rill_vocabulary_create(&lexicon->edges, lexicon->ctx));
    /* add the root of the trie, state 0 */
    PUSH(&lexicon->arena, lexicon->states, lexicon->state_count, RILL__NONE, "lexicon trie states");
    for (rill_slice rest = {lexicon->source.data, lexicon->source.length}, line; rest.length > 0;) {
        rill_slice_cut(&rest, '\n', &line);
        lexicon->line++;
        TRY(read_line(lexicon, line.data, line.length));
    }
    if (!lexicon->has_format)
        return rill_fail(lexicon->ctx, RILL_ERR_FORMAT,
                         "%s: no '@format' line; the first directive must be '@format<TAB>1'", lexicon->name);
    return RILL_OK;
}

rill_status rill_lexicon_read(rill_context *ctx, const char *name, const char *bytes, size_t length, rill_lexicon **out)
{
    TRY(rill_struct_alloc(ctx, out, sizeof **out, "lexicon"));
    **out = (rill_lexicon){.ctx = ctx, .name = name, .source.ctx = ctx, .arena.ctx = ctx};
    rill_status status = rill_text_append(&(*out)->source, bytes, length);
    if (status == RILL_OK) status = read_lines(*out);
    (*out)->name = NULL;
    return RILL_OPENED(status, out, rill_lexicon_close);
}

rill_status rill_lexicon_open(rill_context *ctx, const char *path, rill_lexicon **out)
{
    SCOPED(rill_text_clear) rill_text source = {.ctx = ctx};
    *out = NULL;
    TRY(rill_file_read(&source, path, SOURCE_LIMIT));
    return rill_lexicon_read(ctx, path, source.data, source.length, out);
}

/* --- closing the lexicon ------------------------------------------------------------------------------------------ */

void rill_lexicon_close(rill_lexicon *lexicon)
{
    if (!lexicon) return;
    rill_context *ctx = lexicon->ctx;
    rill_vocabulary_close(lexicon->words);
    rill_vocabulary_close(lexicon->edges);
    rill_text_clear(&lexicon->source);
    rill_arena_clear(&lexicon->arena);
    rill_free(ctx, lexicon, sizeof *lexicon);
}
