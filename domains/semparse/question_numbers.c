/* Numbers in text: 1,700 and "seventeen hundred", 27th and "twenty seventh", 5:30pm and "five thirty".
 *
 * rill__number_read() classifies each token once. The readers below combine the classes of adjacent tokens. Each
 * returns the number of tokens of the longest reading, 0 if there is none.
 * Invariant: values stay below 10^15, so sums and products of readings cannot overflow int64_t. */
#include "question_internal.h"

#include <string.h>

enum { MAX_DIGITS = 12 };

typedef struct number_word {
    const char *text;
    rill__number_form form;
    int value;
} number_word;

static const number_word number_words[] = {
    {"one", RILL__FORM_UNIT, 1},
    {"two", RILL__FORM_UNIT, 2},
    {"three", RILL__FORM_UNIT, 3},
    {"four", RILL__FORM_UNIT, 4},
    {"five", RILL__FORM_UNIT, 5},
    {"six", RILL__FORM_UNIT, 6},
    {"seven", RILL__FORM_UNIT, 7},
    {"eight", RILL__FORM_UNIT, 8},
    {"nine", RILL__FORM_UNIT, 9},
    {"ten", RILL__FORM_TEEN, 10},
    {"eleven", RILL__FORM_TEEN, 11},
    {"twelve", RILL__FORM_TEEN, 12},
    {"thirteen", RILL__FORM_TEEN, 13},
    {"fourteen", RILL__FORM_TEEN, 14},
    {"fifteen", RILL__FORM_TEEN, 15},
    {"sixteen", RILL__FORM_TEEN, 16},
    {"seventeen", RILL__FORM_TEEN, 17},
    {"eighteen", RILL__FORM_TEEN, 18},
    {"nineteen", RILL__FORM_TEEN, 19},
    {"twenty", RILL__FORM_TENS, 20},
    {"thirty", RILL__FORM_TENS, 30},
    {"forty", RILL__FORM_TENS, 40},
    {"fifty", RILL__FORM_TENS, 50},
    {"sixty", RILL__FORM_TENS, 60},
    {"seventy", RILL__FORM_TENS, 70},
    {"eighty", RILL__FORM_TENS, 80},
    {"ninety", RILL__FORM_TENS, 90},
    {"hundred", RILL__FORM_HUNDRED, 100},
    {"thousand", RILL__FORM_THOUSAND, 1000},
    {"and", RILL__FORM_AND, 0},
    {"first", RILL__FORM_ORDINAL_UNIT, 1},
    {"second", RILL__FORM_ORDINAL_UNIT, 2},
    {"third", RILL__FORM_ORDINAL_UNIT, 3},
    {"fourth", RILL__FORM_ORDINAL_UNIT, 4},
    {"fifth", RILL__FORM_ORDINAL_UNIT, 5},
    {"sixth", RILL__FORM_ORDINAL_UNIT, 6},
    {"seventh", RILL__FORM_ORDINAL_UNIT, 7},
    {"eighth", RILL__FORM_ORDINAL_UNIT, 8},
    {"ninth", RILL__FORM_ORDINAL_UNIT, 9},
    {"tenth", RILL__FORM_ORDINAL_TEEN, 10},
    {"eleventh", RILL__FORM_ORDINAL_TEEN, 11},
    {"twelfth", RILL__FORM_ORDINAL_TEEN, 12},
    {"thirteenth", RILL__FORM_ORDINAL_TEEN, 13},
    {"fourteenth", RILL__FORM_ORDINAL_TEEN, 14},
    {"fifteenth", RILL__FORM_ORDINAL_TEEN, 15},
    {"sixteenth", RILL__FORM_ORDINAL_TEEN, 16},
    {"seventeenth", RILL__FORM_ORDINAL_TEEN, 17},
    {"eighteenth", RILL__FORM_ORDINAL_TEEN, 18},
    {"nineteenth", RILL__FORM_ORDINAL_TEEN, 19},
    {"twentieth", RILL__FORM_ORDINAL_TENS, 20},
    {"thirtieth", RILL__FORM_ORDINAL_TENS, 30},
};

/* --- one token ---------------------------------------------------------------------------------------------------- */

/* Whether `value` = hour * 100 + minute is a time of day. */
static int is_clock_time(int64_t value)
{
    return value >= 0 && value <= 2400 && value % 100 < 60;
}

int64_t rill__number_half_day(int64_t value, int afternoon)
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
        number.value = rill__number_half_day(number.value, rest[0] == 'p');
    } else if (!colon && n_rest == 2 &&
               (!memcmp(rest, "th", 2) || !memcmp(rest, "st", 2) || !memcmp(rest, "nd", 2) || !memcmp(rest, "rd", 2))) {
        number.form = RILL__FORM_ORDINAL;
    } else if (!colon && n_rest == 1 && rest[0] == 'k' && number.digits <= 6) {
        number.value *= 1000;
    } else if (!colon && n_rest == 1 && rest[0] == '+') {
        number.form = RILL__FORM_DIGITS; /* "10+ years" */
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
    for (size_t i = 0; i < sizeof number_words / sizeof *number_words; i++) {
        const number_word *known = &number_words[i];
        if (known->text[0] == data[0] && strlen(known->text) == length && memcmp(known->text, data, length) == 0)
            return (rill__number){.form = known->form, .value = known->value};
    }
    return none;
}

/* --- several tokens ----------------------------------------------------------------------------------------------- */

static rill__number_form number_form(const rill__raw_token *raw, size_t count, size_t i)
{
    return i < count ? raw[i].number.form : RILL__FORM_NONE;
}

/* Read "one" .. "ninety nine". */
static size_t read_below_hundred(const rill__raw_token *raw, size_t count, size_t first, int64_t *value)
{
    rill__number_form form = number_form(raw, count, first);
    if (form == RILL__FORM_UNIT || form == RILL__FORM_TEEN) {
        *value = raw[first].number.value;
        return 1;
    }
    if (form != RILL__FORM_TENS) return 0;
    *value = raw[first].number.value;
    if (number_form(raw, count, first + 1) != RILL__FORM_UNIT) return 1;
    *value += raw[first + 1].number.value;
    return 2;
}

/* Read "one" .. "ninety nine hundred [and] ninety nine". */
static size_t read_below_ten_thousand(const rill__raw_token *raw, size_t count, size_t first, int64_t *value)
{
    size_t used = read_below_hundred(raw, count, first, value);
    if (!used || number_form(raw, count, first + used) != RILL__FORM_HUNDRED) return used;
    *value *= 100;
    used++;
    int64_t small = 0;
    size_t skip = number_form(raw, count, first + used) == RILL__FORM_AND;
    size_t more = read_below_hundred(raw, count, first + used + skip, &small);
    *value += small;
    return more ? used + skip + more : used;
}

size_t rill__number_int(const rill__raw_token *raw, size_t count, size_t first, int64_t *value)
{
    if (number_form(raw, count, first) == RILL__FORM_DIGITS) {
        *value = raw[first].number.value;
        if (number_form(raw, count, first + 1) != RILL__FORM_THOUSAND || raw[first].number.digits > 6) return 1;
        *value *= 1000;
        return 2;
    }
    size_t used = read_below_ten_thousand(raw, count, first, value);
    if (!used || number_form(raw, count, first + used) != RILL__FORM_THOUSAND) return used;
    *value *= 1000;
    used++;
    int64_t rest = 0;
    size_t skip = number_form(raw, count, first + used) == RILL__FORM_AND;
    size_t more = read_below_ten_thousand(raw, count, first + used + skip, &rest);
    if (!more || rest > 999) return used;
    *value += rest;
    return used + skip + more;
}

size_t rill__number_ordinal(const rill__raw_token *raw, size_t count, size_t first, int64_t *value)
{
    rill__number_form form = number_form(raw, count, first);
    if (form == RILL__FORM_NONE) return 0;
    *value = raw[first].number.value;
    if (form == RILL__FORM_ORDINAL || form == RILL__FORM_ORDINAL_UNIT || form == RILL__FORM_ORDINAL_TEEN ||
        form == RILL__FORM_ORDINAL_TENS)
        return 1;
    if (form != RILL__FORM_TENS || number_form(raw, count, first + 1) != RILL__FORM_ORDINAL_UNIT) return 0;
    *value += raw[first + 1].number.value;
    return 2;
}

/* Years: 1993, nineteen ninety three, nineteen hundred and ten, two thousand [and] five, twenty twenty six. */
size_t rill__number_year(const rill__raw_token *raw, size_t count, size_t first, int64_t *value)
{
    size_t used = rill__number_int(raw, count, first, value);
    if (used && *value >= 1900 && *value <= 2099) return used;
    int64_t century, years;
    rill__number_form form = number_form(raw, count, first);
    if (form != RILL__FORM_TEEN && form != RILL__FORM_TENS) return 0;
    century = raw[first].number.value;
    if (century != 19 && century != 20) return 0;
    size_t more = read_below_hundred(raw, count, first + 1, &years);
    if (!more || years < 10) return 0;
    *value = century * 100 + years;
    return 1 + more;
}

/* Clock times in words: five, five thirty, five forty five. */
size_t rill__number_clock_words(const rill__raw_token *raw, size_t count, size_t first, int64_t *value)
{
    rill__number_form form = number_form(raw, count, first);
    if ((form != RILL__FORM_UNIT && form != RILL__FORM_TEEN) || raw[first].number.value > 12) return 0;
    *value = raw[first].number.value * 100;
    int64_t minute = 0;
    size_t more = read_below_hundred(raw, count, first + 1, &minute);
    if (!more || minute < 10 || minute > 59) return 1;
    *value += minute;
    return 1 + more;
}

int rill__number_clock(rill__number number, int64_t *value)
{
    if (number.form != RILL__FORM_DIGITS && number.form != RILL__FORM_COLON) return 0;
    *value = number.form == RILL__FORM_DIGITS && number.digits <= 2 ? number.value * 100 : number.value;
    return *value > 0 && is_clock_time(*value);
}
