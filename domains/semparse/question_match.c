/* Finds the longest match at a raw token, among the rules, surfaces and rewrites of the lexicon.
 *
 * A rule wins over a surface of the same length, an earlier rule over a later one. If a surface has several candidates,
 * the first wins whose type a preference asks for in this context. Otherwise the first that needs no preference wins.
 * If all candidates of a surface need a preference and none matches, a shorter surface is tried.
 * Right contexts match raw tokens; left contexts match the output so far (items).
 * Invariant: matching writes nothing. Its cost per token is at most the length of the longest surface plus that of the
 * rules. Divisions: surfaces, patterns to the right, patterns to the left, candidates, the match. */
#include "question_internal.h"

#include <string.h>

#define NO_MATCH SIZE_MAX

/* --- surfaces ----------------------------------------------------------------------------------------------------- */

/* A walk down the trie, one raw token at a time. */
typedef struct trie_walk {
    size_t next; /* index of the next raw token */
    int32_t state;
    int at_possessive; /* the last token matched without its final 's; the walk ends here */
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

/* Number of tokens of the longest surface at `first` that can have `type`, or any type if `any`; NO_MATCH if there is
 * none. */
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

/* --- patterns to the right ---------------------------------------------------------------------------------------- */

typedef struct rule_match {
    const rill_question *question;
    const rill__pattern *pattern;
    size_t start; /* index of the body's first raw token */
    rill__match found;
} rule_match;

/* Capture a clock time without am or pm: both 24-hour readings, and the likelier one as the value. An hour in the
 * lexicon's afternoon range is read as pm, except if `full` is set. `full`: the time is a full hour in three digits or
 * more ("200"), which is a 24-hour time already. */
static void capture_clock(rule_match *attempt, int64_t reading, int full)
{
    const rill_lexicon *lexicon = attempt->question->lexicon;
    int64_t hour = reading / 100;
    int afternoon = !full && hour >= lexicon->afternoon_low && hour <= lexicon->afternoon_high;
    attempt->found.value = afternoon ? reading + 1200 : reading;
    attempt->found.value_am = rill__number_half_day(reading, 0);
    attempt->found.value_pm = rill__number_half_day(reading, 1);
}

static size_t match_clock(rule_match *attempt, const rill__alternative *choice, size_t i)
{
    const rill_question *question = attempt->question;
    int64_t reading;
    if (choice->kind == RILL__CLOCK_WORDS) {
        size_t used = rill__number_clock_words(question->raw, question->raw_count, i, &reading);
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
    if (!rill__number_clock(number, &reading)) return NO_MATCH;
    capture_clock(attempt, reading, number.form == RILL__FORM_DIGITS && number.digits >= 3 && reading % 100 == 0);
    return 1;
}

static size_t match_number(rule_match *attempt, const rill__alternative *choice, size_t i)
{
    const rill__raw_token *raw = attempt->question->raw;
    size_t count = attempt->question->raw_count, used;
    int64_t value = 0;
    if (choice->kind == RILL__DIGITS) {
        used = raw[i].number.form == RILL__FORM_DIGITS;
        value = raw[i].number.value;
    } else if (choice->kind == RILL__INT) {
        used = rill__number_int(raw, count, i, &value);
    } else if (choice->kind == RILL__ORDINAL) {
        used = rill__number_ordinal(raw, count, i, &value);
    } else {
        used = rill__number_year(raw, count, i, &value);
    }
    if (!used || value < choice->low || value > choice->high) return NO_MATCH;
    attempt->found.value = attempt->found.value_am = attempt->found.value_pm = value;
    return used;
}

/* Number of raw tokens that an alternative matches at `i`; NO_MATCH if none. */
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

/* Match the pattern's elements [e, last) from raw token `i` on. Returns 1 if they match. */
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

/* --- candidates --------------------------------------------------------------------------------------------------- */

/* Whether a preference asks for `type`, for a surface that ends before raw token `after`. */
static int has_preference(const rill_question *question, int32_t type, size_t after)
{
    const rill_lexicon *lexicon = question->lexicon;
    for (size_t i = 0; i < lexicon->preference_count; i++) {
        const rill__preference *preference = &lexicon->preferences[i];
        if (preference->type != type) continue;
        rule_match attempt = {.question = question, .pattern = &preference->pattern, .start = after};
        if (match_right(&attempt, preference->pattern.right, after) &&
            match_left(question, &preference->pattern, preference->pattern.body, question->item_count))
            return 1;
    }
    return 0;
}

/* The candidate of a trie state that fits the context, or RILL__NONE. The surface ends before raw token `after`. */
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

/* --- the match ---------------------------------------------------------------------------------------------------- */

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
