/* Reader of the patterns of @rule and @prefer.
 *
 *     (flight|number|{al}) {digits:1-9999}      a rule: (...) is context, the rest is replaced
 *     the _ run|runs                            a preference: _ is the surface in question
 *
 * An element is one or more alternatives joined by '|'; a trailing '?' makes it optional. An alternative is a word or a
 * {class}; number classes may have a range. Patterns are short, so matching by backtracking over optional elements
 * stays cheap and shallow. Invariant of an accepted pattern: first <= body <= right <= last, and at most
 * RILL__MAX_ELEMENTS elements. A rule's body begins with an element that is not optional, so that it always replaces
 * something. */
#include "domain_base.h"
#include "lexicon_internal.h"

#include <string.h>

static int print_length(rill_slice word)
{
    return word.length > 80 ? 80 : (int)word.length;
}

typedef struct class_name {
    const char *name;
    rill__pattern_class kind;
    int ranged;
} class_name;

static const class_name class_names[] = {
    {"digits", RILL__DIGITS, 1}, {"int", RILL__INT, 1},     {"ord", RILL__ORDINAL, 1},
    {"year", RILL__YEAR, 0},     {"clock", RILL__CLOCK, 0}, {"clockwords", RILL__CLOCK_WORDS, 0},
    {"time", RILL__TIME, 0},     {"entry", RILL__ENTRY, 0}, {"word", RILL__ANY, 0},
    {"start", RILL__START, 0},   {"end", RILL__END, 0},
};

/* Read a range such as "5-31". Returns 1 on success, 0 if it is malformed. */
static int read_range(rill_slice text, int64_t *low, int64_t *high)
{
    int64_t *into = low;
    int digits = 0;
    *low = *high = 0;
    for (size_t i = 0; i < text.length; i++) {
        char c = text.data[i];
        if (c == '-' && into == low && digits) {
            into = high;
            digits = 0;
        } else if (c >= '0' && c <= '9' && digits++ < 12) {
            *into = *into * 10 + (c - '0');
        } else {
            return 0;
        }
    }
    return into == high && digits && *low <= *high;
}

/* Read "{name}" or "{name:low-high}"; `text` excludes the braces. */
static rill_status read_class(rill_lexicon *lexicon, rill_slice text, rill__alternative *out)
{
    const char *colon = memchr(text.data, ':', text.length);
    rill_slice name = {text.data, colon ? (size_t)(colon - text.data) : text.length};
    *out = (rill__alternative){.kind = RILL__TYPE, .id = RILL__NONE, .low = 0, .high = INT64_MAX};
    int ranged = 0;
    for (size_t i = 0; i < sizeof class_names / sizeof *class_names; i++) {
        const class_name *known = &class_names[i];
        if (!rill_slice_is(name, known->name)) continue;
        out->kind = known->kind;
        ranged = known->ranged;
    }
    if (out->kind == RILL__TYPE) {
        out->id = rill__lexicon_type(lexicon, name.data, name.length);
        if (out->id == RILL__NONE)
            return rill__lexicon_fail(lexicon, "'{%.*s}' is neither a class nor a type declared above",
                                      print_length(name), name.data);
    }
    if (!colon) return RILL_OK;
    rill_slice range = {colon + 1, text.length - name.length - 1};
    if (!ranged || !read_range(range, &out->low, &out->high))
        return rill__lexicon_fail(lexicon, "'{%.*s}': only {digits}, {int} and {ord} take a range, such as {int:1-31}",
                                  print_length(text), text.data);
    return RILL_OK;
}

static rill_status add_alternative(rill_lexicon *lexicon, rill_slice text)
{
    rill__alternative choice = {.kind = RILL__WORD};
    if (text.length == 0)
        return rill__lexicon_fail(lexicon, "empty alternative in a pattern; put single spaces between elements");
    if (text.data[0] == '{' && text.data[text.length - 1] == '}' && text.length > 2)
        TRY(read_class(lexicon, (rill_slice){text.data + 1, text.length - 2}, &choice));
    else if (memchr(text.data, '{', text.length) || memchr(text.data, '(', text.length) ||
             memchr(text.data, ')', text.length))
        return rill__lexicon_fail(lexicon, "'%.*s': brackets must enclose whole elements of a pattern",
                                  print_length(text), text.data);
    else
        TRY(rill__lexicon_check_word(lexicon, text));
    if (choice.kind == RILL__WORD) TRY(rill__lexicon_intern(lexicon, text, &choice.id));
    PUSH(lexicon->ctx, lexicon->alternatives, lexicon->alternative_capacity, lexicon->alternative_count, choice,
         "lexicon patterns");
    return RILL_OK;
}

/* Add an element; `text` excludes context brackets. */
static rill_status add_element(rill_lexicon *lexicon, rill_slice text)
{
    rill__element element = {.first = (int32_t)lexicon->alternative_count};
    if (text.length > 1 && text.data[text.length - 1] == '?') {
        element.optional = 1;
        text.length--;
    }
    for (;;) {
        const char *bar = memchr(text.data, '|', text.length);
        size_t length = bar ? (size_t)(bar - text.data) : text.length;
        TRY(add_alternative(lexicon, (rill_slice){text.data, length}));
        if (!bar) break;
        text = (rill_slice){bar + 1, text.length - length - 1};
    }
    element.count = (int32_t)lexicon->alternative_count - element.first;
    PUSH(lexicon->ctx, lexicon->elements, lexicon->element_capacity, lexicon->element_count, element,
         "lexicon patterns");
    return RILL_OK;
}

/* The part of a pattern being read. Parts come in this order, each at most once. */
typedef enum pattern_part { PART_LEFT, PART_BODY, PART_RIGHT, PART_DONE } pattern_part;

typedef struct pattern_reader {
    pattern_part part;
    int in_bracket; /* between '(' and ')' */
} pattern_reader;

/* Add an element of a rule. Brackets around a context advance the reader to the next part. */
static rill_status rule_element(rill_lexicon *lexicon, pattern_reader *reader, rill_slice text, rill__pattern *out)
{
    int32_t n_elements = (int32_t)lexicon->element_count;
    if (text.data[0] == '(') {
        reader->part = reader->part == PART_LEFT && n_elements == out->first ? PART_LEFT
                       : reader->part == PART_BODY                           ? PART_RIGHT
                                                                             : PART_DONE;
        if (reader->part == PART_RIGHT) out->right = n_elements;
        reader->in_bracket = 1;
        text = (rill_slice){text.data + 1, text.length - 1};
    } else if (!reader->in_bracket) {
        if (reader->part == PART_LEFT) reader->part = PART_BODY;
        if (reader->part == PART_RIGHT) reader->part = PART_DONE;
    }
    if (reader->part == PART_DONE)
        return rill__lexicon_fail(lexicon,
                                  "a pattern is '(left context) replaced elements (right context)', in this order");
    int closes = text.length && text.data[text.length - 1] == ')';
    if (closes) text.length--;
    if (closes && !reader->in_bracket) return rill__lexicon_fail(lexicon, "')' without '(' in a pattern");
    rill_status status = add_element(lexicon, text);
    if (closes) {
        reader->in_bracket = 0;
        if (reader->part == PART_LEFT) {
            reader->part = PART_BODY;
            out->body = (int32_t)lexicon->element_count;
        }
    }
    return status;
}

/* Add an element of a preference. */
static rill_status preference_element(rill_lexicon *lexicon, pattern_reader *reader, rill_slice text,
                                      rill__pattern *out)
{
    if (text.length != 1 || text.data[0] != '_') return add_element(lexicon, text);
    if (reader->part != PART_LEFT) return rill__lexicon_fail(lexicon, "'_' occurs twice in a pattern");
    reader->part = PART_RIGHT;
    out->body = out->right = (int32_t)lexicon->element_count;
    return RILL_OK;
}

/* Whether a class may occur in a left context. Left contexts match words that are already
 * rewritten, where numbers have become mentions or plain tokens. */
static int is_left_class(rill__pattern_class kind)
{
    return kind == RILL__WORD || kind == RILL__TYPE || kind == RILL__ANY || kind == RILL__START;
}

static rill_status check_left_context(rill_lexicon *lexicon, const rill__pattern *pattern)
{
    for (int32_t e = pattern->first; e < pattern->body; e++) {
        const rill__element *element = &lexicon->elements[e];
        for (int32_t c = element->first; c < element->first + element->count; c++)
            if (!is_left_class(lexicon->alternatives[c].kind))
                return rill__lexicon_fail(lexicon, "a left context may hold words, {types}, {word} and {start} only");
    }
    return RILL_OK;
}

static rill_status check_pattern(rill_lexicon *lexicon, const pattern_reader *reader, int preference,
                                 const rill__pattern *pattern)
{
    if (pattern->last - pattern->first > RILL__MAX_ELEMENTS)
        return rill__lexicon_fail(lexicon, "more than %d elements in a pattern", RILL__MAX_ELEMENTS);
    if (preference) {
        if (reader->part != PART_RIGHT || pattern->last == pattern->first)
            return rill__lexicon_fail(lexicon, "a preference is words around '_', such as 'the _ river'");
        return check_left_context(lexicon, pattern);
    }
    if (reader->in_bracket) return rill__lexicon_fail(lexicon, "'(' without ')' in a pattern");
    if (pattern->body == pattern->right)
        return rill__lexicon_fail(lexicon, "the pattern replaces nothing; put the replaced elements outside the "
                                           "brackets");
    if (lexicon->elements[pattern->body].optional)
        return rill__lexicon_fail(lexicon, "the replaced elements may not begin with an optional one");
    return check_left_context(lexicon, pattern);
}

rill_status rill__lexicon_pattern(rill_lexicon *lexicon, rill_slice text, int preference, rill__pattern *out)
{
    pattern_reader reader = {.part = PART_LEFT};
    int32_t first = (int32_t)lexicon->element_count;
    *out = (rill__pattern){.first = first, .body = first, .right = RILL__NONE};
    while (text.length) {
        const char *space_at = memchr(text.data, ' ', text.length);
        size_t length = space_at ? (size_t)(space_at - text.data) : text.length;
        if (length == 0) return rill__lexicon_fail(lexicon, "put single spaces between elements and none at the ends");
        rill_slice element = {text.data, length};
        TRY(preference ? preference_element(lexicon, &reader, element, out)
                       : rule_element(lexicon, &reader, element, out));
        text = space_at ? (rill_slice){space_at + 1, text.length - length - 1} : (rill_slice){text.data, 0};
    }
    out->last = (int32_t)lexicon->element_count;
    if (out->right == RILL__NONE) out->right = out->last;
    return check_pattern(lexicon, &reader, preference, out);
}

/* Whether an element of the body captures a value, which replaces {} in the rule's constant. */
static int has_value(const rill_lexicon *lexicon, const rill__pattern *pattern)
{
    for (int32_t e = pattern->body; e < pattern->right; e++) {
        const rill__element *element = &lexicon->elements[e];
        for (int32_t c = element->first; c < element->first + element->count; c++) {
            rill__pattern_class kind = lexicon->alternatives[c].kind;
            if (kind != RILL__WORD && kind != RILL__TYPE && kind != RILL__START && kind != RILL__END) return 1;
        }
    }
    return 0;
}

rill_status rill__lexicon_constant(rill_lexicon *lexicon, rill_slice text, rill__rule *rule)
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
        return rill__lexicon_fail(lexicon, "a constant may hold {}, {am} or {pm}, not '%.*s'", print_length(rest),
                                  rest.data);
    rule->suffix = (rill_slice){open + length, rest.length - length};
    if (memchr(rule->suffix.data, '{', rule->suffix.length))
        return rill__lexicon_fail(lexicon, "a constant takes one value only");
    if (!has_value(lexicon, &rule->pattern))
        return rill__lexicon_fail(lexicon, "the constant uses a value, but no replaced element has one");
    return RILL_OK;
}
