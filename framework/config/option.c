/* Options: find a row by name, suggest the nearest known name, read and write values. */
#include "rill/option.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* Whether the first `length` bytes of `a` equal the word `b`, "-" and "_" being equivalent. */
static int same_word(const char *a, size_t length, const char *b)
{
    for (; length > 0 && *b != '\0'; a++, b++, length--)
        if (*a != *b && !((*a == '-' || *a == '_') && (*b == '-' || *b == '_'))) return 0;
    return length == 0 && *b == '\0';
}

int rill__same_name(const char *a, const char *b)
{
    return same_word(a, strlen(a), b);
}

static int has_name(const rill_option *option, const char *name)
{
    if (rill__same_name(option->name, name)) return 1;
    const char *alias = option->aliases != NULL ? option->aliases : "";
    for (size_t length; (length = strcspn(alias, " ")) > 0; alias += length, alias += *alias == ' ')
        if (same_word(alias, length, name)) return 1;
    return 0;
}

const char *rill_option_name(const rill_option *option, int i, char out[RILL_OPTION_MAX])
{
    const char *aliases = option->aliases != NULL ? option->aliases : "";
    if (i == 0) return option->name;
    for (; i > 1 && *aliases != '\0'; i--) aliases += strcspn(aliases, " "), aliases += strspn(aliases, " ");
    snprintf(out, RILL_OPTION_MAX, "%.*s", (int)strcspn(aliases, " "), aliases);
    return out[0] != '\0' ? out : NULL;
}

const rill_option *rill_option_find(const rill_option *table, const char *name)
{
    if (table == NULL) return NULL;
    while (table->name != NULL && !has_name(table, name)) table++;
    return table->name != NULL ? table : NULL;
}

/* --- "did you mean" ----------------------------------------------------------------------------------------------- */

enum { MAX_NAME = 64, MIN_PREFIX = 3 };

static char fold_char(char c)
{
    if (c >= 'A' && c <= 'Z') return (char)(c - 'A' + 'a');
    return c == '_' ? '-' : c;
}

/* Returns the Levenshtein distance of two names, ignoring case and "-" against "_". Names longer than MAX_NAME resemble none. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t row[MAX_NAME + 1], na = strlen(a), nb = strlen(b);
    if (na > MAX_NAME || nb > MAX_NAME) return MAX_NAME;
    for (size_t j = 0; j <= nb; j++) row[j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t best = diagonal + (fold_char(a[i - 1]) != fold_char(b[j - 1]));
            diagonal = row[j];
            if (diagonal + 1 < best) best = diagonal + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[nb];
}

/* Whether the name is a prefix of the candidate, like "max-cand" of "max-candidates". */
static int is_prefix(const char *name, const char *candidate)
{
    while (*name != '\0' && fold_char(*name) == fold_char(*candidate)) name++, candidate++;
    return *name == '\0';
}

/* Returns the edit distance from which on a name is not suggested: 1 for a single letter, so that it resembles no other. */
static size_t max_distance(const char *name)
{
    size_t n = strlen(name);
    return n < 4 ? n / 2 + 1 : n / 3 + 2;
}

/* If the candidate's edit distance to the name is below *best_distance, lower *best_distance to it and return 1; else return 0. */
static int is_nearer(const char *name, const char *candidate, size_t *best_distance)
{
    size_t distance = edit_distance(name, candidate), far = max_distance(name) - 1;
    if (distance > far && strlen(name) >= MIN_PREFIX && is_prefix(name, candidate)) distance = far;
    if (distance >= *best_distance) return 0;
    *best_distance = distance;
    return 1;
}

void rill_option_nearer(const rill_option *row, const char *word, rill_option_near *near)
{
    char alias[RILL_OPTION_MAX];
    const char *name;
    if (near->name[0] == '\0') near->distance = max_distance(word);
    for (int i = 0; (name = rill_option_name(row, i, alias)) != NULL; i++)
        if (is_nearer(word, name, &near->distance)) snprintf(near->name, sizeof near->name, "%s", name);
}

const char *rill_nearest(const char *word, const char *const *names, size_t n)
{
    const char *found = NULL;
    size_t best_distance = max_distance(word);
    for (size_t i = 0; i < n; i++)
        if (is_nearer(word, names[i], &best_distance)) found = names[i];
    return found;
}

/* --- names in messages -------------------------------------------------------------------------------------------- */

const char *rill_option_spell(rill_option_style style, const char *name, char out[RILL_OPTION_MAX])
{
    const char *dashes = strlen(name) > 1 ? "--" : "-";
    snprintf(out, RILL_OPTION_MAX, "%s%s", style == RILL_OPTION_DASHED ? dashes : "", name);
    for (char *p = out; style == RILL_OPTION_UNDERSCORED && *p != '\0'; p++)
        if (*p == '-') *p = '_';
    return out;
}

const char *rill__option_label(const rill_context *ctx, const char *name, char out[RILL_OPTION_MAX])
{
    return rill_option_spell(ctx->option_style, name, out);
}

rill_option_style rill_option_set_style(rill_context *ctx, rill_option_style style)
{
    const rill_option_style old = ctx->option_style;
    ctx->option_style = style;
    return old;
}

rill_status rill__fail_unknown_name(rill_context *ctx, rill_status status, const char *what, const char *name,
                                    const char *why, const rill_option_near *near, const char *hint)
{
    char nearest[RILL_OPTION_MAX + 32];
    snprintf(nearest, sizeof nearest, "did you mean \"%s\"?", near->name);
    if (why == NULL) why = near->name[0] != '\0' ? nearest : hint;
    return rill_fail(ctx, status, "unknown %s \"%s\"%s%s", what, name, why[0] != '\0' ? ": " : "", why);
}

/* Write a number of bytes with the largest unit that divides it, as in "2G". */
static const char *write_size(double bytes, char out[RILL_OPTION_MAX])
{
    static const char units[] = "KMGT";
    int unit = -1;
    for (; bytes > 0 && unit < 3 && fmod(bytes, 1024) == 0; unit++) bytes /= 1024;
    rill_print(out, RILL_OPTION_MAX, "%.0f%.*s", bytes, unit >= 0, unit >= 0 ? units + unit : "");
    return out;
}

static const char *describe_values(const rill_option *option, char out[96])
{
    static const char *const types[] = {[RILL_OPTION_REAL] = "a number",
                                        [RILL_OPTION_SWITCH] = "true or false",
                                        [RILL_OPTION_TEXT] = "a text or a number",
                                        [RILL_OPTION_PATH] = "the path of a file"};
    char min_text[RILL_OPTION_MAX], max_text[RILL_OPTION_MAX];
    const int is_integer = option->type == RILL_OPTION_INT, is_bounded = !isinf(option->min) || !isinf(option->max);
    if (is_integer || (option->type == RILL_OPTION_REAL && is_bounded))
        rill_print(out, 96, "%s from %.10g to %.10g", is_integer ? "a whole number" : "a number", option->min,
                   option->max);
    else if (option->type == RILL_OPTION_BYTES)
        snprintf(out, 96, "a number of bytes from %.20s to %.20s, as in 500K", write_size(option->min, min_text),
                 write_size(option->max, max_text));
    else if (option->type == RILL_OPTION_WORD)
        snprintf(out, 96, "%s%s", strchr(option->argument, '|') != NULL ? "one of " : "", option->argument);
    else
        snprintf(out, 96, "%s", types[option->type]);
    return out;
}

/* Fail because the option does not accept `value`. quote: quotation mark around it; "" for JSON text or a description such as "an array".
 */
static rill_status fail_value(rill_context *ctx, const rill_option *option, const char *quote, const char *value)
{
    char label[RILL_OPTION_MAX], wanted[96];
    return rill_fail(ctx, RILL_ERR_OPTION, "%s: %s%s%s is not %s", rill__option_label(ctx, option->name, label), quote,
                     value, quote, describe_values(option, wanted));
}

/* --- reading values ----------------------------------------------------------------------------------------------- */

/* A parsed value. whole: integer part, switch (0 or 1), or index of a word. */
typedef struct number {
    double real;
    int64_t whole;
} number;

static number real_number(double value)
{
    return (number){value, fabs(value) < 0x1p63 ? (int64_t)value : 0};
}

/* Returns the text after the number; NULL: none. Digits are also read as an integer, since doubles are exact only to 2^53. */
static const char *read_number(const char *text, number *out)
{
    char *end, *digits_end;
    errno = 0;
    *out = real_number(rill_read_number(text, &end));
    if (end == text || errno != 0) return NULL;
    const long long digits = strtoll(text, &digits_end, 10);
    if (digits_end == end) out->whole = digits;
    return end;
}

/* Parse a number. REAL accepts "1/6", BYTES units K, M, G, T (powers of 1,024). Less than one byte is refused, since 0 means no limit. */
static int parse_number(const rill_option *option, const char *text, number *out)
{
    static const char units[] = "KkMmGgTt";
    const char *end = read_number(text, out), *unit;
    if (end != NULL && *end == '/' && option->type == RILL_OPTION_REAL) {
        const double dividend = out->real;
        end = read_number(end + 1, out);
        *out = real_number(out->real != 0 ? dividend / out->real : NAN);
    }
    if (end != NULL && *end != '\0' && option->type == RILL_OPTION_BYTES && (unit = strchr(units, *end)) != NULL) {
        *out = real_number(ldexp(out->real, 10 * (int)((unit - units) / 2 + 1)));
        end++;
    }
    const double value = out->real;
    return end != NULL && *end == '\0' && value >= option->min && value <= option->max &&
           (option->type != RILL_OPTION_INT || text[strspn(text, "-0123456789")] == '\0') &&
           (option->type != RILL_OPTION_BYTES || value == 0 || value >= 1);
}

/* Position of `value`, counted from 1, in a list of words separated by "|"; 0: not found. */
static int32_t find_word(const char *words, const char *value)
{
    size_t length = strlen(value);
    for (int32_t i = 1;; i++) {
        size_t n = strcspn(words, "|");
        if (n == length && strncmp(words, value, n) == 0) return i;
        if (words[n] == '\0') return 0;
        words += n + 1;
    }
}

/* Translate another toolkit's value of an option ("float32") to rill's ("f32"). All other values are returned unchanged. */
static const char *own_value(const rill_option *option, const char *value)
{
    static const struct {
        const char *option, *value, *own;
    } foreign[] = {{"weights", "float32", "f32"},
                   {"weights", "bfloat16", "bf16"},
                   {"weights", "float16", "f16"},
                   {"length-penalty", "avg", "1"}, /* OpenNMT's spelling */
                   {"length-penalty", "none", "0"}};
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (strcmp(foreign[i].value, value) == 0 && strcmp(foreign[i].option, option->name) == 0) return foreign[i].own;
    return value;
}

/* Parse a value of the option's type; *out stays zero for texts and paths. Returns 1 if the option accepts it, else 0. */
static int parse(const rill_option *option, const char *value, number *out)
{
    *out = (number){0};
    switch (option->type) {
    case RILL_OPTION_TEXT:
    case RILL_OPTION_PATH: return 1;
    case RILL_OPTION_SWITCH:
        out->whole = value[0] == '\0' || strcmp(value, "true") == 0 || strcmp(value, "1") == 0;
        return out->whole || strcmp(value, "false") == 0 || strcmp(value, "0") == 0;
    case RILL_OPTION_WORD:
        out->whole = find_word(option->argument, value);
        if (out->whole == 0) out->whole = find_word(option->argument, own_value(option, value));
        return out->whole != 0;
    default: return parse_number(option, own_value(option, value), out);
    }
}

rill_status rill_option_read(rill_context *ctx, const rill_option *option, const char *value, void *out)
{
    number n;
    if (!parse(option, value, &n)) return fail_value(ctx, option, "\"", value);
    if (out == NULL || option->type == RILL_OPTION_TEXT || option->type == RILL_OPTION_PATH) return RILL_OK;
    void *member = (char *)out + option->offset;
    if (option->type == RILL_OPTION_REAL)
        *(double *)member = n.real;
    else if (option->type == RILL_OPTION_BYTES)
        *(int64_t *)member = n.whole;
    else
        *(int32_t *)member = (int32_t)n.whole;
    return RILL_OK;
}

int rill_option_same_value(const rill_option *option, const char *a, const char *b)
{
    number x, y;
    if (strcmp(a, b) == 0) return 1;
    return option->type != RILL_OPTION_TEXT && option->type != RILL_OPTION_PATH && parse(option, a, &x) &&
           parse(option, b, &y) && x.real == y.real && x.whole == y.whole;
}

rill_status rill__next_pair(rill_context *ctx, const char **text, char name[RILL__PAIR_MAX], char **value)
{
    const char *const pair = *text + strspn(*text, " ");
    const size_t length = strcspn(pair, " "), sign = strcspn(pair, "= ");
    *value = NULL;
    *text = pair + length;
    if (length == 0) return RILL_OK;
    if (pair[sign] != '=') return rill_fail(ctx, RILL_ERR_PLUGIN, "\"%.*s\" is not NAME=VALUE", (int)length, pair);
    if (length >= RILL__PAIR_MAX)
        return rill_fail(ctx, RILL_ERR_PLUGIN, "\"%.60s...\" has %zu bytes, and NAME=VALUE has at most %d", pair,
                         length, RILL__PAIR_MAX - 1);
    memcpy(name, pair, length);
    name[sign] = name[length] = '\0';
    *value = name + sign + 1;
    return RILL_OK;
}

/* --- values from JSON documents and scripts ----------------------------------------------------------------------- */

rill_status rill_option_text(rill_context *ctx, const rill_option *option, const rill_value *value,
                             char buffer[RILL_OPTION_MAX], const char **text)
{
    const int is_number = value->kind == RILL_VALUE_INTEGER || value->kind == RILL_VALUE_REAL;
    *text = buffer;
    switch (value->kind) {
    case RILL_VALUE_NULL: return fail_value(ctx, option, "", "null");
    case RILL_VALUE_OTHER: return fail_value(ctx, option, "", value->text);
    case RILL_VALUE_BOOLEAN:
        if (option->type != RILL_OPTION_SWITCH) return fail_value(ctx, option, "", value->integer ? "true" : "false");
        snprintf(buffer, RILL_OPTION_MAX, "%d", value->integer != 0);
        break;
    case RILL_VALUE_INTEGER: snprintf(buffer, RILL_OPTION_MAX, "%lld", (long long)value->integer); break;
    case RILL_VALUE_REAL: rill_write_number(buffer, RILL_OPTION_MAX, value->real); break;
    case RILL_VALUE_TEXT:
        if (strlen(value->text) != value->length) return fail_value(ctx, option, "", "a text with a NUL byte");
        *text = value->text;
        break;
    }
    if (option->type == RILL_OPTION_PATH && is_number) return fail_value(ctx, option, "", buffer);
    if ((*text)[0] == '\0' && (option->type == RILL_OPTION_SWITCH || option->type == RILL_OPTION_PATH))
        return fail_value(ctx, option, "\"", "");
    return RILL_OK;
}

static int same_letters(const char *a, const char *b)
{
    int count[128] = {0}, differs = 0;
    for (; *a != '\0'; a++) count[*a & 127]++;
    for (; *b != '\0'; b++) count[*b & 127]--;
    for (int i = 0; i < 128; i++) differs |= count[i];
    return !differs;
}

int rill_is_options_key(const char *key)
{
    static const char *const others[] = {"options",    "settings",      "search",      "params",
                                         "parameters", "rill_settings", "rill_options"};
    if (strcmp(key, "options") == 0) return 0;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const size_t distance = edit_distance(key, others[i]);
        if (distance == 0 || (i < 2 && (distance == 1 || (distance == 2 && same_letters(key, others[i]))))) return 1;
    }
    return 0;
}

/* --- writing values ----------------------------------------------------------------------------------------------- */

double rill__option_number(const rill_option *option, const void *from)
{
    const void *member = (const char *)from + option->offset;
    switch (option->type) {
    case RILL_OPTION_REAL: return *(const double *)member;
    case RILL_OPTION_BYTES: return (double)*(const int64_t *)member;
    case RILL_OPTION_TEXT:
    case RILL_OPTION_PATH: return 0;
    default: return *(const int32_t *)member;
    }
}

const char *rill_option_write(const rill_option *option, const void *from, char out[RILL_OPTION_MAX])
{
    const void *member = (const char *)from + option->offset;
    int32_t value = 0;
    out[0] = '\0';
    switch (option->type) {
    case RILL_OPTION_REAL: rill_write_number(out, RILL_OPTION_MAX, *(const double *)member); break;
    case RILL_OPTION_BYTES: snprintf(out, RILL_OPTION_MAX, "%lld", (long long)*(const int64_t *)member); break;
    case RILL_OPTION_WORD: {
        const char *words = option->argument;
        for (value = *(const int32_t *)member; value > 1 && strchr(words, '|') != NULL; value--)
            words = strchr(words, '|') + 1;
        if (value == 1) snprintf(out, RILL_OPTION_MAX, "%.*s", (int)strcspn(words, "|"), words);
        break;
    }
    case RILL_OPTION_INT:
    case RILL_OPTION_SWITCH: snprintf(out, RILL_OPTION_MAX, "%d", (int)*(const int32_t *)member); break;
    default: break;
    }
    return out;
}
