/* Finds the longest match at an input token among rules, names and rewrites, and reads numbers: "seventeen hundred", 27th, 5:30pm.
 *
 * Ties: a rule wins over a name, an earlier rule over a later one, a preferred type over others. Values stay below 10^15. */
#include <string.h>

#include "question.h"

enum { MAX_DIGITS = 12 };

/* Number words: 1 to 19, then tens from 20; ordinals 1st to 19th, then 20th and 30th. */
static const char cardinals[] =
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen";
static const char tens[] = "twenty thirty forty fifty sixty seventy eighty ninety";
static const char ordinals[] = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth "
                               "thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth";
static const char ordinal_tens[] = "twentieth thirtieth";

/* --- reading one number -------------------------------------------------------------------------------------------- */

/* Return 1 if `value` = hour * 100 + minute is a time of day, else 0. */
static int is_clock_time(int64_t value)
{
    return value >= 0 && value <= 2400 && value % 100 < 60;
}

/* Convert hour * 100 + minute from the 12-hour to the 24-hour clock. afternoon 1: p.m. Readings from 13:00 on are unchanged. */
static int64_t half_day(int64_t value, int afternoon)
{
    int64_t hour = value / 100;
    if (hour == 12) return afternoon ? value : value - 1200;
    return afternoon && hour < 12 ? value + 1200 : value;
}

/* Read digits, optionally with a colon in the middle and a suffix: am, pm, th, st, nd, rd, k, +. */
static rill__number read_digits(const char *data, size_t length)
{
    rill__number number = {.form = RILL__FORM_DIGITS};
    size_t pos = 0, colon = 0;
    for (; pos < length; pos++) {
        if (data[pos] == ':' && !colon && number.digits)
            colon = pos;
        else if (data[pos] >= '0' && data[pos] <= '9' && number.digits++ < MAX_DIGITS)
            number.value = number.value * 10 + (data[pos] - '0');
        else
            break;
    }
    const char *rest = data + pos;
    size_t n_rest = length - pos;
    rill__number none = {.form = RILL__FORM_NONE};
    if (number.digits > MAX_DIGITS || (colon && pos - colon != 3)) return none;
    if (colon) number.form = RILL__FORM_COLON;
    if (n_rest == 2 && (rest[0] == 'a' || rest[0] == 'p') && rest[1] == 'm') {
        if (!colon && number.digits <= 2) number.value *= 100;
        if (!is_clock_time(number.value)) return none;
        number.form = RILL__FORM_TIME;
        number.value = half_day(number.value, rest[0] == 'p');
    } else if (!colon && n_rest == 2 &&
               (!memcmp(rest, "th", 2) || !memcmp(rest, "st", 2) || !memcmp(rest, "nd", 2) || !memcmp(rest, "rd", 2))) {
        number.form = RILL__FORM_ORDINAL;
    } else if (!colon && n_rest == 1 && rest[0] == 'k' && number.digits <= 6) {
        number.value *= 1000;
    } else if (!colon && n_rest == 1 && rest[0] == '+') {
        number.form = RILL__FORM_DIGITS; /* the "10+" of "10+ years" is read as 10 */
    } else if (n_rest) {
        return none;
    }
    return number;
}

rill__number rill__number_read(const char *data, size_t length)
{
    rill__number none = {.form = RILL__FORM_NONE};
    if (length == 0 || length > 20) return none;
    if (data[0] >= '0' && data[0] <= '9') return read_digits(data, length);
    const rill_slice word = {data, length};
    int n;
    if ((n = rill_word_index(word, cardinals)) >= 0)
        return (rill__number){.form = n < 9 ? RILL__FORM_UNIT : RILL__FORM_TEEN, .value = n + 1};
    if ((n = rill_word_index(word, tens)) >= 0) return (rill__number){.form = RILL__FORM_TENS, .value = 20 + 10 * n};
    if ((n = rill_word_index(word, ordinals)) >= 0)
        return (rill__number){.form = n < 9 ? RILL__FORM_ORDINAL_UNIT : RILL__FORM_ORDINAL_TEEN, .value = n + 1};
    if ((n = rill_word_index(word, ordinal_tens)) >= 0)
        return (rill__number){.form = RILL__FORM_ORDINAL_TENS, .value = 20 + 10 * n};
    if (rill_slice_is(word, "hundred")) return (rill__number){.form = RILL__FORM_HUNDRED, .value = 100};
    if (rill_slice_is(word, "thousand")) return (rill__number){.form = RILL__FORM_THOUSAND, .value = 1000};
    return rill_slice_is(word, "and") ? (rill__number){.form = RILL__FORM_AND} : none;
}

/* --- numbers of several tokens ----------------------------------------------------------------------------------------------- */

static rill__number_form number_form(const rill_question *question, size_t i)
{
    return i < question->raw_count ? question->raw[i].number.form : RILL__FORM_NONE;
}

/* Read a number in words, from "one" to "ninety nine". */
static size_t read_below_hundred(const rill_question *question, size_t first, int64_t *value)
{
    rill__number_form form = number_form(question, first);
    if (form == RILL__FORM_UNIT || form == RILL__FORM_TEEN) {
        *value = question->raw[first].number.value;
        return 1;
    }
    if (form != RILL__FORM_TENS) return 0;
    *value = question->raw[first].number.value;
    if (number_form(question, first + 1) != RILL__FORM_UNIT) return 1;
    *value += question->raw[first + 1].number.value;
    return 2;
}

/* Multiply *value by `unit`, and add the number below `unit` that may follow. first: index of the token after the word for `unit`.
 * Returns the index of the token after the number. */
static size_t add_rest(const rill_question *question, size_t first, int64_t unit,
                       size_t (*read)(const rill_question *question, size_t first, int64_t *value), int64_t *value)
{
    int64_t rest;
    const size_t begin = first + (number_form(question, first) == RILL__FORM_AND);
    const size_t used = read(question, begin, &rest);
    *value *= unit;
    if (!used || rest >= unit) return first;
    *value += rest;
    return begin + used;
}

/* Read a number in words, from "one" to "ninety nine hundred [and] ninety nine". */
static size_t read_below_ten_thousand(const rill_question *question, size_t first, int64_t *value)
{
    const size_t used = read_below_hundred(question, first, value);
    if (!used || number_form(question, first + used) != RILL__FORM_HUNDRED) return used;
    return add_rest(question, first + used + 1, 100, read_below_hundred, value) - first;
}

static size_t read_digit_token(const rill_question *question, size_t first, int64_t *value)
{
    *value = question->raw[first].number.value;
    return number_form(question, first) == RILL__FORM_DIGITS;
}

static size_t read_int(const rill_question *question, size_t first, int64_t *value)
{
    if (number_form(question, first) == RILL__FORM_DIGITS) {
        *value = question->raw[first].number.value;
        if (number_form(question, first + 1) != RILL__FORM_THOUSAND || question->raw[first].number.digits > 6) return 1;
        *value *= 1000;
        return 2;
    }
    const size_t used = read_below_ten_thousand(question, first, value);
    if (!used || number_form(question, first + used) != RILL__FORM_THOUSAND) return used;
    return add_rest(question, first + used + 1, 1000, read_below_ten_thousand, value) - first;
}

static size_t read_ordinal(const rill_question *question, size_t first, int64_t *value)
{
    rill__number_form form = number_form(question, first);
    if (form == RILL__FORM_NONE) return 0;
    *value = question->raw[first].number.value;
    if (form == RILL__FORM_ORDINAL || form == RILL__FORM_ORDINAL_UNIT || form == RILL__FORM_ORDINAL_TEEN ||
        form == RILL__FORM_ORDINAL_TENS)
        return 1;
    if (form != RILL__FORM_TENS || number_form(question, first + 1) != RILL__FORM_ORDINAL_UNIT) return 0;
    *value += question->raw[first + 1].number.value;
    return 2;
}

/* Read a year: 1993, nineteen ninety three, nineteen hundred and ten, two thousand [and] five, twenty twenty six. */
static size_t read_year(const rill_question *question, size_t first, int64_t *value)
{
    size_t used = read_int(question, first, value);
    if (used && *value >= 1900 && *value <= 2099) return used;
    int64_t century, years;
    rill__number_form form = number_form(question, first);
    if (form != RILL__FORM_TEEN && form != RILL__FORM_TENS) return 0;
    century = question->raw[first].number.value;
    if (century != 19 && century != 20) return 0;
    size_t more = read_below_hundred(question, first + 1, &years);
    if (!more || years < 10) return 0;
    *value = century * 100 + years;
    return 1 + more;
}

/* Read a clock time in words: five, five thirty, five forty five. */
static size_t read_clock_words(const rill_question *question, size_t first, int64_t *value)
{
    rill__number_form form = number_form(question, first);
    if ((form != RILL__FORM_UNIT && form != RILL__FORM_TEEN) || question->raw[first].number.value > 12) return 0;
    *value = question->raw[first].number.value * 100;
    int64_t minute = 0;
    size_t more = read_below_hundred(question, first + 1, &minute);
    if (!more || minute < 10 || minute > 59) return 1;
    *value += minute;
    return 1 + more;
}

/* Read a clock time in digits without am or pm. Returns 1 on success; *value = hour * 100 + minute. */
static int read_clock(rill__number number, int64_t *value)
{
    if (number.form != RILL__FORM_DIGITS && number.form != RILL__FORM_COLON) return 0;
    *value = number.form == RILL__FORM_DIGITS && number.digits <= 2 ? number.value * 100 : number.value;
    return *value > 0 && is_clock_time(*value);
}

#define NO_MATCH SIZE_MAX

/* --- matching surface forms --------------------------------------------------------------------------------------- */

/* A walk down the trie of names and rewrites, one input token at a time. */
typedef struct trie_walk {
    size_t next; /* index of the input token that the walk reads next */
    int32_t state;
    int at_possessive; /* 1: the last token matched only without its final 's, and so the walk ends after it */
} trie_walk;

static int advance_walk(const rill_question *question, trie_walk *walk)
{
    if (walk->next >= question->raw_count || walk->at_possessive) return 0;
    const rill__raw_token *raw = &question->raw[walk->next];
    int32_t state = rill__lexicon_next_state(question->lexicon, walk->state, raw->word);
    if (state == RILL__NONE) {
        state = rill__lexicon_next_state(question->lexicon, walk->state, raw->possessor);
        walk->at_possessive = 1;
    }
    if (state == RILL__NONE) return 0;
    walk->state = state;
    walk->next++;
    return 1;
}

/* Return the number of tokens of the longest name at input token `first` of `type`, or of any type; else NO_MATCH. */
static size_t longest_surface(const rill_question *question, size_t first, int any, int32_t type)
{
    trie_walk walk = {.next = first};
    size_t longest = NO_MATCH;
    while (advance_walk(question, &walk)) {
        int32_t c = question->lexicon->states[walk.state];
        for (; c != RILL__NONE; c = question->lexicon->candidates[c].next) {
            int32_t found = question->lexicon->candidates[c].type;
            if (any ? found != RILL__NONE : found == type) longest = walk.next - first;
        }
    }
    return longest;
}

/* --- matching patterns -------------------------------------------------------------------------------------------- */

typedef struct rule_match {
    const rill_question *question;
    const rill__pattern *pattern;
    size_t start; /* index of the first input token of the part that the rule replaces */
    rill__match found;
} rule_match;

/* Capture a clock time without am or pm. Its value is p.m. in the lexicon's afternoon range. full 1: the time has the form "200", which is
 * never p.m. by default. Both readings are captured too. */
static void capture_clock(rule_match *attempt, int64_t reading, int full)
{
    const rill_lexicon *lexicon = attempt->question->lexicon;
    int64_t hour = reading / 100;
    int afternoon = !full && hour >= lexicon->afternoon_low && hour <= lexicon->afternoon_high;
    attempt->found.value = afternoon ? reading + 1200 : reading;
    attempt->found.value_am = half_day(reading, 0);
    attempt->found.value_pm = half_day(reading, 1);
}

static size_t match_clock(rule_match *attempt, const rill__alternative *choice, size_t i)
{
    const rill_question *question = attempt->question;
    int64_t reading;
    if (choice->kind == RILL__CLOCK_WORDS) {
        size_t used = read_clock_words(question, i, &reading);
        if (!used) return NO_MATCH;
        capture_clock(attempt, reading, 0);
        return used;
    }
    rill__number number = question->raw[i].number;
    if (choice->kind == RILL__TIME) {
        if (number.form != RILL__FORM_TIME) return NO_MATCH;
        attempt->found.value = attempt->found.value_am = attempt->found.value_pm = number.value;
        return 1;
    }
    if (!read_clock(number, &reading)) return NO_MATCH;
    capture_clock(attempt, reading, number.form == RILL__FORM_DIGITS && number.digits >= 3 && reading % 100 == 0);
    return 1;
}

static size_t match_number(rule_match *attempt, const rill__alternative *choice, size_t i)
{
    static size_t (*const readers[])(const rill_question *, size_t, int64_t *) = {[RILL__DIGITS] = read_digit_token,
                                                                                  [RILL__INT] = read_int,
                                                                                  [RILL__ORDINAL] = read_ordinal,
                                                                                  [RILL__YEAR] = read_year};
    int64_t value = 0;
    const size_t used = readers[choice->kind](attempt->question, i, &value);
    if (!used || value < choice->low || value > choice->high) return NO_MATCH;
    attempt->found.value = attempt->found.value_am = attempt->found.value_pm = value;
    return used;
}

/* Return the number of input tokens that a pattern's alternative matches at input token `i`, or NO_MATCH. */
static size_t match_alternative(rule_match *attempt, const rill__alternative *choice, size_t i, int in_body)
{
    const rill_question *question = attempt->question;
    if (choice->kind == RILL__END) return i == question->raw_count ? 0 : NO_MATCH;
    if (choice->kind == RILL__START) return i == 0 ? 0 : NO_MATCH;
    if (i >= question->raw_count) return NO_MATCH;
    if (choice->kind == RILL__WORD) return question->raw[i].word == choice->id ? 1 : NO_MATCH;
    if (choice->kind == RILL__TYPE) return longest_surface(question, i, 0, choice->id);
    if (choice->kind == RILL__ENTRY || choice->kind == RILL__ANY) {
        size_t used = choice->kind == RILL__ANY ? 1 : longest_surface(question, i, 1, RILL__NONE);
        if (in_body && used != NO_MATCH) {
            attempt->found.value_raw = i;
            attempt->found.value_length = used;
        }
        return used;
    }
    rill__match saved = attempt->found;
    size_t used = choice->kind == RILL__CLOCK || choice->kind == RILL__CLOCK_WORDS || choice->kind == RILL__TIME
                      ? match_clock(attempt, choice, i)
                      : match_number(attempt, choice, i);
    if (!in_body) attempt->found = saved;
    return used;
}

/* Match the pattern's elements [e, last) from input token `i` on. Returns 1 if they match. */
static int match_right(rule_match *attempt, int32_t e, size_t i)
{
    const rill_lexicon *lexicon = attempt->question->lexicon;
    const rill__pattern *pattern = attempt->pattern;
    if (e == pattern->right) attempt->found.length = i - attempt->start;
    if (e == pattern->last) return 1;
    const rill__element *element = &lexicon->elements[e];
    for (int32_t c = element->first; c < element->first + element->count; c++) {
        size_t used = match_alternative(attempt, &lexicon->alternatives[c], i, e < pattern->right);
        if (used != NO_MATCH && match_right(attempt, e + 1, i + used)) return 1;
    }
    return element->optional && match_right(attempt, e + 1, i);
}

/* Match the pattern's elements [first, e) backwards from the end of items[0..count). Returns 1 if they match. */
static int match_left(const rill_question *question, const rill__pattern *pattern, int32_t e, size_t count)
{
    if (e == pattern->first) return 1;
    const rill__element *element = &question->lexicon->elements[e - 1];
    for (int32_t c = element->first; c < element->first + element->count; c++) {
        const rill__alternative *choice = &question->lexicon->alternatives[c];
        if (choice->kind == RILL__START) {
            if (count == 0 && match_left(question, pattern, e - 1, 0)) return 1;
            continue;
        }
        if (count == 0) continue;
        const rill__output_token *item = &question->items[count - 1];
        int same = choice->kind == RILL__ANY || (choice->kind == RILL__WORD && item->word == choice->id) ||
                   (choice->kind == RILL__TYPE && item->type == choice->id);
        if (same && match_left(question, pattern, e - 1, count - 1)) return 1;
    }
    return element->optional && match_left(question, pattern, e - 1, count);
}

/* --- choosing a candidate ----------------------------------------------------------------------------------------- */

/* Return 1 if a preference asks for `type` in the context of the name that ends before input token `after`. */
static int has_preference(const rill_question *question, int32_t type, size_t after)
{
    const rill_lexicon *lexicon = question->lexicon;
    for (size_t i = 0; i < lexicon->preference_count; i++) {
        const rill__rule *preference = &lexicon->preferences[i];
        if (preference->type != type) continue;
        rule_match attempt = {.question = question, .pattern = &preference->pattern, .start = after};
        if (match_right(&attempt, preference->pattern.right, after) &&
            match_left(question, &preference->pattern, preference->pattern.body, question->item_count))
            return 1;
    }
    return 0;
}

/* Choose the candidate of the name whose words lead to `state` and end before input token `after`; RILL__NONE if none fits the context. */
static int32_t choose_candidate(const rill_question *question, int32_t state, size_t after)
{
    const rill_lexicon *lexicon = question->lexicon;
    int32_t first = lexicon->states[state], fallback = RILL__NONE;
    if (first == RILL__NONE) return RILL__NONE;
    int is_only = lexicon->candidates[first].next == RILL__NONE && !lexicon->candidates[first].needs_preference;
    for (int32_t c = first; c != RILL__NONE; c = lexicon->candidates[c].next) {
        const rill__candidate *candidate = &lexicon->candidates[c];
        if (!is_only && candidate->type != RILL__NONE && has_preference(question, candidate->type, after)) return c;
        if (fallback == RILL__NONE && !candidate->needs_preference) fallback = c;
    }
    return fallback;
}

/* --- the best match ----------------------------------------------------------------------------------------------- */

static void match_rules(const rill_question *question, size_t first, rill__match *best)
{
    const rill_lexicon *lexicon = question->lexicon;
    for (size_t i = 0; i < lexicon->rule_count; i++) {
        const rill__pattern *pattern = &lexicon->rules[i].pattern;
        rule_match attempt = {.question = question, .pattern = pattern, .start = first};
        if (!match_right(&attempt, pattern->body, first) || attempt.found.length <= best->length) continue;
        if (!match_left(question, pattern, pattern->body, question->item_count)) continue;
        *best = attempt.found;
        best->rule = (int32_t)i;
        best->candidate = RILL__NONE;
        const rill__raw_token *last = &question->raw[first + best->length - 1];
        best->has_possessive = last->word == RILL__NONE && last->possessor != RILL__NONE;
    }
}

rill__match rill__question_match(const rill_question *question, size_t first)
{
    rill__match best = {.candidate = RILL__NONE, .rule = RILL__NONE};
    match_rules(question, first, &best);
    trie_walk walk = {.next = first};
    while (advance_walk(question, &walk)) {
        if (walk.next - first <= best.length) continue;
        int32_t candidate = choose_candidate(question, walk.state, walk.next);
        if (candidate == RILL__NONE) continue;
        best = (rill__match){.length = walk.next - first,
                             .candidate = candidate,
                             .rule = RILL__NONE,
                             .has_possessive = walk.at_possessive};
    }
    return best;
}
