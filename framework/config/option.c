/* Options: finding a row, parsing and formatting values. */
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

const rill_option *rill_option_find(const rill_option *table, const char *name)
{
    if (table == NULL) return NULL;
    while (table->name != NULL && !has_name(table, name)) table++;
    return table->name != NULL ? table : NULL;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

const char *rill__option_label(const rill_context *ctx, const char *name, char out[RILL_OPTION_MAX])
{
    snprintf(out, RILL_OPTION_MAX, "%s%s", ctx->option_style == RILL_OPTION_DASHED ? "--" : "", name);
    for (char *p = out; ctx->option_style == RILL_OPTION_UNDERSCORED && *p != '\0'; p++)
        if (*p == '-') *p = '_';
    return out;
}

rill_option_style rill_option_set_style(rill_context *ctx, rill_option_style style)
{
    const rill_option_style old = ctx->option_style;
    ctx->option_style = style;
    return old;
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

/* Describe the values of an option. */
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

/* Fail because the option does not accept `value`. `quote` is printed around `value`: a quotation mark, or "" if `value` is
 * not a text but a JSON value such as null or a noun such as "a list". */
static rill_status fail_found(rill_context *ctx, const rill_option *option, const char *quote, const char *value)
{
    char label[RILL_OPTION_MAX], wanted[96];
    return rill_fail(ctx, RILL_ERR_OPTION, "%s: %s%s%s is not %s", rill__option_label(ctx, option->name, label), quote,
                     value, quote, describe_values(option, wanted));
}

static rill_status fail_value(rill_context *ctx, const rill_option *option, const char *value)
{
    return fail_found(ctx, option, "\"", value);
}

/* Translate another toolkit's value of an option ("float32") to rill's ("f32"). All other values are returned unchanged. */
static const char *own_value(const rill_option *option, const char *value)
{
    static const struct {
        const char *option, *value, *own;
    } foreign[] = {{"weights", "float32", "f32"},
                   {"weights", "bfloat16", "bf16"},
                   {"weights", "float16", "f16"},
                   {"length-penalty", "avg", "1"}, /* OpenNMT */
                   {"length-penalty", "none", "0"}};
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (strcmp(foreign[i].value, value) == 0 && strcmp(foreign[i].option, option->name) == 0) return foreign[i].own;
    return value;
}

static rill_status read_number(rill_context *ctx, const rill_option *option, const char *value, double *out)
{
    char *end;
    errno = 0;
    double number = rill_read_number(own_value(option, value), &end);
    int is_integer = option->type != RILL_OPTION_REAL;
    /* The refill threshold may be a fraction such as "1/6". */
    if (!is_integer && end != value && *end == '/') {
        double divisor = rill_read_number(end + 1, &end);
        number = divisor != 0 ? number / divisor : NAN;
    }
    int good = end != value && *end == '\0' && errno == 0 && number >= option->min && number <= option->max &&
               (!is_integer || number == floor(number));
    *out = number;
    if (good) return RILL_OK;
    return fail_value(ctx, option, value);
}

/* Read a number of bytes. K, M, G and T are powers of 1,024. A value below one byte would become 0, which means no limit, so it is an
 * error. */
static rill_status read_bytes(rill_context *ctx, const rill_option *option, const char *value, int64_t *out)
{
    static const char units[] = "KkMmGgTt";
    char *end;
    errno = 0;
    double number = rill_read_number(value, &end);
    const char *unit = end != value && *end != '\0' ? strchr(units, *end) : NULL;
    if (unit != NULL) {
        number = ldexp(number, 10 * (int)((unit - units) / 2 + 1));
        end++;
    }
    int good = number >= option->min && number <= option->max && (number == 0 || number >= 1);
    if (end == value || *end != '\0' || errno != 0 || !good) return fail_value(ctx, option, value);
    *out = (int64_t)number;
    return RILL_OK;
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

static rill_status read_word(rill_context *ctx, const rill_option *option, const char *value, int32_t *out)
{
    *out = find_word(option->argument, value);
    if (*out == 0) *out = find_word(option->argument, own_value(option, value));
    return *out != 0 ? RILL_OK : fail_value(ctx, option, value);
}

static rill_status read_switch(rill_context *ctx, const rill_option *option, const char *value, int32_t *out)
{
    *out = value[0] == '\0' || strcmp(value, "true") == 0 || strcmp(value, "1") == 0;
    const int good = *out || strcmp(value, "false") == 0 || strcmp(value, "0") == 0;
    return good ? RILL_OK : fail_value(ctx, option, value);
}

rill_status rill_option_read(rill_context *ctx, const rill_option *option, const char *value, void *out)
{
    void *member = out != NULL ? (char *)out + option->offset : NULL;
    double number = 0;
    int64_t bytes = 0;
    int32_t word = 0;
    switch (option->type) {
    case RILL_OPTION_TEXT:
    case RILL_OPTION_PATH: return RILL_OK;
    case RILL_OPTION_BYTES:
        RILL__TRY(read_bytes(ctx, option, value, &bytes));
        if (member != NULL) *(int64_t *)member = bytes;
        return RILL_OK;
    case RILL_OPTION_REAL:
        RILL__TRY(read_number(ctx, option, value, &number));
        if (member != NULL) *(double *)member = number;
        return RILL_OK;
    case RILL_OPTION_WORD: RILL__TRY(read_word(ctx, option, value, &word)); break;
    case RILL_OPTION_SWITCH: RILL__TRY(read_switch(ctx, option, value, &word)); break;
    case RILL_OPTION_INT:
        RILL__TRY(read_number(ctx, option, value, &number));
        word = (int32_t)number;
        break;
    }
    if (member != NULL) *(int32_t *)member = word;
    return RILL_OK;
}

/* --- values from JSON documents and scripts ----------------------------------------------------------------------- */

/* Write a whole number without a fraction (4.0 as "4"), and any other number with enough digits to be read back exactly. */
static void write_real(double value, char out[RILL_OPTION_MAX])
{
    const int is_whole = value == floor(value) && fabs(value) < 1e15;
    rill_print(out, RILL_OPTION_MAX, is_whole ? "%.0f" : "%.15g", value);
    if (!is_whole && rill_read_number(out, NULL) != value) rill_print(out, RILL_OPTION_MAX, "%.17g", value);
}

rill_status rill_option_text(rill_context *ctx, const rill_option *option, const rill_value *value,
                             char buffer[RILL_OPTION_MAX], const char **text)
{
    const int is_number = value->kind == RILL_VALUE_INTEGER || value->kind == RILL_VALUE_REAL;
    *text = buffer;
    switch (value->kind) {
    case RILL_VALUE_NULL: return fail_found(ctx, option, "", "null");
    case RILL_VALUE_OTHER: return fail_found(ctx, option, "", value->text);
    case RILL_VALUE_BOOLEAN:
        if (option->type != RILL_OPTION_SWITCH) return fail_found(ctx, option, "", value->integer ? "true" : "false");
        snprintf(buffer, RILL_OPTION_MAX, "%d", value->integer != 0);
        break;
    case RILL_VALUE_INTEGER: snprintf(buffer, RILL_OPTION_MAX, "%lld", (long long)value->integer); break;
    case RILL_VALUE_REAL: write_real(value->real, buffer); break;
    case RILL_VALUE_TEXT:
        if (strlen(value->text) != value->length) return fail_found(ctx, option, "", "a text with a NUL byte");
        *text = value->text;
        break;
    }
    if (option->type == RILL_OPTION_PATH && is_number) return fail_found(ctx, option, "", buffer);
    if ((*text)[0] == '\0' && (option->type == RILL_OPTION_SWITCH || option->type == RILL_OPTION_PATH))
        return fail_value(ctx, option, "");
    return RILL_OK;
}

/* Whether two words are anagrams of each other. */
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
        const size_t distance = rill__edit_distance(key, others[i]);
        if (distance == 0 || (i < 2 && (distance == 1 || (distance == 2 && same_letters(key, others[i]))))) return 1;
    }
    return 0;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

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

const char *rill_refused_option(const char *what, const char *name)
{
    static const struct {
        const char *what, *name, *instead;
    } refused[] = {
        {"opening", "backend", "rill's own kernels compute all matrix products: leave it out"},
        {"setting", "deterministic", "results never depend on the schedule: leave it out"},
        {"setting", "max-len-a", "set max-length-factor, which is a of fairseq's ax + b"},
        {"setting", "max-len-b", "for fairseq's ax + b, set max-length-factor to a and max-length to b"},
        {"setting", "do-sample", "to sample, set num-samples to the number of outputs; otherwise leave it out"},
        {"setting", "sampling", "to sample, set num-samples to the number of outputs; otherwise leave it out"},
        {"setting", "early-stopping",
         "set stop to count for true of transformers, bound for false, bound-max for never; like hf sets its "
         "defaults"},
        {"setting", "unk-penalty", "set unknown-penalty"},
        {"setting", "greedy", "set method to greedy"},
        {"setting", "unnormalized", "set length-penalty to 0"},
        {"setting", "no-early-stop", "set stop to bound"},
        {"setting", "max-tokens", "fairseq limits the tokens of a batch: set batch-size to a number of inputs"},
        {"setting", "disable-unk", "set unknown-penalty to inf"},
        {"setting", "allow-unk", "set unknown-penalty to 0, or leave it out"},
        {"opening", "fp16", "set weights to f16"},
        {"opening", "half", "set weights to f16"},
        {"opening", "bf16", "set weights to bf16"},
        {"opening", "int8", "set weights to int8"},
        {"opening", "gpu", "set device to cuda, or to cuda:NUMBER"},
        {"opening", "gpus", "set device to cuda:0,cuda:1 and so on"},
        {"opening", "cuda", "set device to cuda, or to cuda:NUMBER"},
        {"opening", "device-index", "set device to cuda:NUMBER"},
        {"opening", "cpu", "set device to cpu, or leave it out"},
        {"opening", "cpu-threads",
         "set workers for Marian's threads, which decode in parallel; threads run inside an operation"},
        {"opening", "num-workers", "fairseq's workers load data; set workers for threads that decode in parallel"},
        {"heuristic", "beam_width",
         "set beam-size for the number of hypotheses in a beam, or prune-relative for a ratio of probabilities"},
        {"heuristic", "max_candidates", "set the option max-children"},
        {"heuristic", "patience", "set the option patience"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (strcmp(refused[i].what, what) == 0 && rill__same_name(refused[i].name, name)) return refused[i].instead;
    return NULL;
}
