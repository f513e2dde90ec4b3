/* Search settings: the table of fields, reading a value from text, and resolving presets.
 *
 * One row of FIELDS is all there is to a setting: name, help, type, range and place in the struct; help texts,
 * configuration files and error messages come from it. A method is a preset: a policy's name plus what it fixes; an option
 * that contradicts it is refused here, so that the engine sees consistent settings only.
 *
 * Divisions: fields · reading values · methods · resolving. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* --- fields ------------------------------------------------------------------------------------------------------- */

typedef enum field_type {
    FIELD_INT,
    FIELD_REAL,
    FIELD_SWITCH,
    FIELD_METHOD,
    FIELD_WORD, /* one of those in `argument`, counted from 1 */
    FIELD_SORT,
    FIELD_BYTES
} field_type;

/* X(name, argument, help, type, member, least, most) */
#define FIELDS(X)                                                                                                      \
    X("method", "NAME", "search method (default stream-all)", FIELD_METHOD, method, 0, 0)                              \
    X("k", "K", "beam width (default 10; greedy: 1)", FIELD_INT, k, 1, 65536)                                          \
    X("n", "N", "batch size: items decoded together (default 10)", FIELD_INT, n, 1, 1048576)                           \
    X("max-items", "N", "items in flight, streaming methods (default n, or 100 n under a budget)", FIELD_INT,          \
      max_items, 1, 1048576)                                                                                           \
    X("budget", "B", "most candidates expanded per timestep (default 0: none)", FIELD_INT, budget, 0, INT_MAX)         \
    X("refill", "E", "admit inputs once this share of max-items is in flight (default 1/6; top-up 1/2)", FIELD_REAL,   \
      refill, 0, 1)                                                                                                    \
    X("max-candidates", "M", "children kept per parent (default k; 2k under finish immediate)", FIELD_INT,             \
      max_candidates, 1, 131072)                                                                                       \
    X("finish", "top|immediate|shrink", "when an ended hypothesis leaves the beam (default: the method's)",            \
      FIELD_WORD, finish, 0, 0)                                                                                        \
    X("stop-after", "Z", "outputs after which an item stops (default k)", FIELD_INT, stop_after, 1, 131072)            \
    X("patience", "P", "stop after round(k*P) outputs; instead of stop-after", FIELD_REAL, patience, 1e-6, 65536)      \
    X("min-length", "L", "actions before a hypothesis may end (default 0)", FIELD_INT, min_length, 0, INT_MAX)         \
    X("max-length", "L", "most actions of a hypothesis (default: the model's)", FIELD_INT, max_length, 1, INT_MAX)     \
    X("length-penalty", "A", "order outputs by score / length^A (default 0: by score; 1: by mean)", FIELD_REAL,        \
      length_penalty, -25, 25)                                                                                         \
    X("n-best", "N", "outputs given per input; widens what a model recommends, nothing else (default 1)", FIELD_INT,   \
      n_best, 1, 131072)                                                                                               \
    X("distinct", "", "leave out outputs whose text is that of a better one", FIELD_SWITCH, distinct, 0, 1)            \
    X("sort", "none|length|longest-first[:W]",                                                                         \
      "admit inputs by size within windows of W inputs (default none; W: the larger of max-items and 1000)",           \
      FIELD_SORT, sort, 0, 0)                                                                                          \
    X("flush-every", "T", "every T timesteps finish all in flight before admitting more (default 0: never)",           \
      FIELD_INT, flush_every, 0, INT_MAX)                                                                              \
    X("unordered", "", "give results in order of completion", FIELD_SWITCH, unordered, 0, 1)                           \
    X("check", "", "prove heuristics and scorers segment-local while decoding (slow)", FIELD_SWITCH, check, 0, 1)      \
    X("max-nodes", "N", "most states kept at once; items wait, no answer changes (default 0: no bound)", FIELD_INT,    \
      max_nodes, 0, INT_MAX)                                                                                           \
    X("memory", "SIZE", "the same in bytes, inputs in flight included, as in 2G (default 0: no bound)", FIELD_BYTES,   \
      memory, 0, 9e15)                                                                                                 \
    X("like", "hf|fairseq|marian|ct2", "decode by another decoder's conventions where nothing else is given",          \
      FIELD_WORD, like, 0, 0)                                                                                          \
    X("keep", "all|first|best", "outputs kept once there are stop-after (default all)", FIELD_WORD, keep, 0, 0)        \
    X("stop", "count|bound|bound-max|top", "when an item that has stop-after outputs stops (default count: at once)",  \
      FIELD_WORD, stop, 0, 0)                                                                                          \
    X("at-limit", "open|first|end|end-free", "how hypotheses end at the length limit (default open: as they are)",     \
      FIELD_WORD, at_limit, 0, 0)                                                                                      \
    X("count-end", "", "count the end action in the length that penalties use", FIELD_SWITCH, count_end, 0, 1)         \
    X("max-length-factor", "A", "most actions: A times the input's size, plus max-length (default 0: max-length)",     \
      FIELD_REAL, max_length_factor, 0, 1e6)                                                                           \
    X("word-penalty", "W", "order outputs by (score - W * length) / length^A (default 0)", FIELD_REAL, word_penalty,   \
      -1e6, 1e6)                                                                                                       \
    X("min-width", "W", "candidates that heuristics leave an item at least, its outputs counted (default 0)",          \
      FIELD_INT, min_width, 0, 131072)                                                                                 \
    X("require-end", "", "give no output that was cut short; an input with no other fails", FIELD_SWITCH, require_end, \
      0, 1)                                                                                                            \
    X("unknown-penalty", "U", "taken from the score of the unknown action; inf: never choose it (default 0)",          \
      FIELD_REAL, unknown_penalty, -1e6, HUGE_VAL)

#define AS_INFO(name, argument, help, type, member, least, most) {name, argument, help},
#define AS_FIELD(name, argument, help, type, member, least, most) {type, offsetof(rill_settings, member), least, most},

static const rill_setting_info infos[] = {FIELDS(AS_INFO){NULL, NULL, NULL}};

typedef struct field {
    field_type type;
    size_t offset;
    double least, most;
} field;
static const field fields[] = {FIELDS(AS_FIELD)};

const rill_setting_info *rill_setting_table(void)
{
    return infos;
}

_Static_assert(sizeof fields / sizeof *fields <= 64, "rill_settings.given has a bit for each");

/* No member but the first is known to lie in a struct of another size. */
void rill_settings_init(rill_settings *settings, size_t size)
{
    memset(settings, 0, size);
    settings->struct_size = size;
    if (size != sizeof *settings) return;
    settings->refill = -1.0;
    snprintf(settings->method, sizeof settings->method, "stream-all");
}

static rill_status check_size(rill_context *ctx, const rill_settings *settings)
{
    if (settings->struct_size == sizeof *settings) return RILL_OK;
    return rill_fail(ctx, RILL_ERR_ABI, "settings of %zu bytes, this rill has %zu: rebuild the caller",
                     settings->struct_size, sizeof *settings);
}

/* --- reading values ----------------------------------------------------------------------------------------------- */

static rill_status refuse(rill_context *ctx, const char *name, const char *value, const char *wanted)
{
    return rill_fail(ctx, RILL_ERR_OPTION, "%s: \"%s\" is not %s", name, value, wanted);
}

static rill_status read_number(rill_context *ctx, const char *name, const field *f, const char *value, double *out)
{
    char *end, wanted[96];
    errno = 0;
    double number = strtod(value, &end);
    int whole = f->type != FIELD_REAL;
    /* "1/6" is how the sources write the refill share. */
    if (!whole && end != value && *end == '/') {
        double divisor = strtod(end + 1, &end);
        number = divisor != 0 ? number / divisor : NAN;
    }
    int good = end != value && *end == '\0' && errno == 0 && number >= f->least && number <= f->most &&
               (!whole || number == floor(number));
    if (!good) {
        snprintf(wanted, sizeof wanted, "%s from %.10g to %.10g", whole ? "a whole number" : "a number", f->least,
                 f->most);
        return refuse(ctx, name, value, wanted);
    }
    *out = number;
    return RILL_OK;
}

/* A number of bytes, with K, M, G or T behind it as powers of 1,024. Less than one byte would be read as 0, no bound. */
static rill_status read_bytes(rill_context *ctx, const char *name, const field *f, const char *value, int64_t *out)
{
    static const char units[] = "KkMmGgTt";
    char *end;
    errno = 0;
    double number = strtod(value, &end);
    const char *unit = end != value && *end != '\0' ? strchr(units, *end) : NULL;
    if (unit != NULL) {
        number = ldexp(number, 10 * (int)((unit - units) / 2 + 1));
        end++;
    }
    int good = number >= f->least && number <= f->most && (number == 0 || number >= 1);
    if (end == value || *end != '\0' || errno != 0 || !good)
        return refuse(ctx, name, value, "a number of bytes, as in 500M or 2G");
    *out = (int64_t)number;
    return RILL_OK;
}

static rill_status read_sort(rill_context *ctx, rill_settings *settings, const char *value)
{
    static const char *const names[] = {"none", "length", "longest-first"};
    size_t length = strcspn(value, ":");
    for (int i = 0; i < 3; i++) {
        if (strlen(names[i]) != length || strncmp(value, names[i], length) != 0) continue;
        double window = 0;
        static const field window_field = {FIELD_INT, 0, 1, 1e9};
        if (value[length] == ':') {
            if (i == RILL_SORT_NONE) break;
            RILL__TRY(read_number(ctx, "sort window", &window_field, value + length + 1, &window));
        }
        settings->sort = (rill_sort)i;
        settings->sort_window = (int32_t)window;
        return RILL_OK;
    }
    return refuse(ctx, "sort", value, "none, length, longest-first, or one of the last two with :W");
}

static rill_status find_method(rill_context *ctx, const char *value, const rill_method_info **out)
{
    const rill_method_info *methods = rill_method_table();
    for (const rill_method_info *m = methods; m->name != NULL; m++)
        if (strcmp(m->name, value) == 0) {
            *out = m;
            return RILL_OK;
        }
    const char *near = rill__nearest(value, &methods->name, sizeof *methods);
    if (near != NULL)
        return rill_fail(ctx, RILL_ERR_OPTION, "unknown method \"%s\": did you mean \"%s\"?", value, near);
    return rill_fail(ctx, RILL_ERR_OPTION, "unknown method \"%s\": `rill list` names them", value);
}

static rill_status read_method(rill_context *ctx, rill_settings *settings, const char *value)
{
    const rill_method_info *method = NULL;
    RILL__TRY(find_method(ctx, value, &method));
    snprintf(settings->method, sizeof settings->method, "%s", method->name);
    return RILL_OK;
}

/* The place of `value` among words with bars between, from 1; 0 if it is none of them. */
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

static int32_t count_words(const char *words)
{
    int32_t n = 1;
    for (; *words != '\0'; words++) n += *words == '|';
    return n;
}

static rill_status read_word(rill_context *ctx, const rill_setting_info *info, const char *value, int32_t *out)
{
    char wanted[96];
    int32_t word = find_word(info->argument, value);
    snprintf(wanted, sizeof wanted, "one of %s", info->argument);
    if (word == 0) return refuse(ctx, info->name, value, wanted);
    *out = word;
    return RILL_OK;
}

static int same_name(const char *a, const char *b)
{
    for (; *a != '\0' && *b != '\0'; a++, b++)
        if (*a != *b && !((*a == '-' || *a == '_') && (*b == '-' || *b == '_'))) return 0;
    return *a == *b;
}

static rill_status unknown_setting(rill_context *ctx, const char *name)
{
    const char *near = rill__nearest(name, &infos[0].name, sizeof infos[0]);
    if (near != NULL)
        return rill_fail(ctx, RILL_ERR_OPTION, "unknown setting \"%s\": did you mean \"%s\"?", name, near);
    return rill_fail(ctx, RILL_ERR_OPTION, "unknown setting \"%s\"", name);
}

static size_t find_field(const char *name)
{
    size_t i = 0;
    while (infos[i].name != NULL && !same_name(infos[i].name, name)) i++;
    return i;
}

static rill_status read_field(rill_context *ctx, rill_settings *settings, size_t i, const char *value)
{
    const field *f = &fields[i];
    void *place = (char *)settings + f->offset;
    double number = 0;
    switch (f->type) {
    case FIELD_METHOD: return read_method(ctx, settings, value);
    case FIELD_WORD: return read_word(ctx, &infos[i], value, place);
    case FIELD_SORT: return read_sort(ctx, settings, value);
    case FIELD_BYTES: return read_bytes(ctx, infos[i].name, f, value, place);
    case FIELD_SWITCH:
        if (value[0] == '\0' || strcmp(value, "true") == 0) value = "1";
        if (strcmp(value, "false") == 0) value = "0";
        /* fall through */
    case FIELD_INT:
        RILL__TRY(read_number(ctx, infos[i].name, f, value, &number));
        *(int32_t *)place = (int32_t)number;
        return RILL_OK;
    case FIELD_REAL:
        RILL__TRY(read_number(ctx, infos[i].name, f, value, &number));
        *(double *)place = number;
        return RILL_OK;
    }
    return RILL_OK;
}

rill_status rill_settings_set(rill_context *ctx, rill_settings *settings, const char *name, const char *value)
{
    size_t i = find_field(name);
    RILL__TRY(check_size(ctx, settings));
    if (infos[i].name == NULL) return unknown_setting(ctx, name);
    RILL__TRY(read_field(ctx, settings, i, value));
    settings->given |= UINT64_C(1) << i;
    return RILL_OK;
}

/* --- methods ------------------------------------------------------------------------------------------------------ */

static const rill_method_info methods[] = {
    {"greedy", "batch", "beam of one, whole batches", 0, 0, RILL_FINISH_TOP, 0, 1, 0},
    {"fixed", "batch", "constant beam width, whole batches: the field's usual search", 0, 0, RILL_FINISH_IMMEDIATE, 1,
     0, 0},
    {"var-batch", "batch", "pruned beams, whole batches", 0, 1, RILL_FINISH_TOP, 1, 0, 0},
    {"var-stream", "least-advanced", "pruned beams, refilled; the least advanced items first", 1, 1, RILL_FINISH_TOP, 1,
     0, 1.0 / 6},
    {"var-stream-fifo", "most-advanced", "pruned beams, refilled; the most advanced items first", 1, 1, RILL_FINISH_TOP,
     1, 0, 1.0 / 6},
    {"fixed-stream", "least-advanced", "constant beam width, refilled; the least advanced items first", 1, 0,
     RILL_FINISH_TOP, 1, 0, 1.0 / 6},
    {"top-up", "top-up", "pruned beams, mixed lengths; encoding runs ahead, a half-empty batch is topped up", 1, 1,
     RILL_FINISH_TOP, 1, 0, 1.0 / 2},
    {"stream-all", "all", "pruned beams, mixed lengths, refilled; items with most ahead first", 1, 1, RILL_FINISH_TOP,
     1, 0, 1.0 / 6},
    {NULL, NULL, NULL, 0, 0, RILL_FINISH_DEFAULT, 0, 0, 0},
};

const rill_method_info *rill_method_table(void)
{
    return methods;
}

/* --- presets ------------------------------------------------------------------------------------------------------ */

/* What other decoders do, in this one's settings. The engine knows settings only. Sources: transformers' generation/utils.py,
 * fairseq's sequence_generator.py, marian-dev's translator/beam_search.cpp and history.h, CTranslate2's decoding.cc. */
static const struct preset {
    const char *settings;
    const char *unpenalised; /* more, when the length does not count */
} presets[] = {
    [RILL_LIKE_HF] = {"k=5 finish=immediate keep=best stop=bound at-limit=first count-end=1 length-penalty=1", ""},
    [RILL_LIKE_FAIRSEQ] = {"k=5 finish=immediate keep=first at-limit=end count-end=1 length-penalty=1 min-length=1 "
                           "max-length=200",
                           ""},
    [RILL_LIKE_MARIAN] = {"k=12 finish=shrink count-end=1 max-length-factor=3 unknown-penalty=inf", ""},
    [RILL_LIKE_CT2] = {"k=2 finish=immediate at-limit=first count-end=1 length-penalty=1 min-length=1 max-length=256",
                       "stop=top"},
};

/* Fields may have been set without rill_settings_set(). */
static int is_given(const rill_settings *settings, size_t i)
{
    rill_settings defaults;
    rill_settings_default(&defaults);
    size_t offset = fields[i].offset;
    size_t size = fields[i].type == FIELD_REAL || fields[i].type == FIELD_BYTES ? sizeof(double) : sizeof(int32_t);
    return (settings->given >> i & 1) ||
           memcmp((const char *)settings + offset, (const char *)&defaults + offset, size) != 0;
}

/* A beam of one that ends at its first end action is what greedy search is everywhere. */
static int greedy_has_its_own(const char *name)
{
    static const char *const own[] = {"k", "finish", "keep", "stop"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(own[i], name) == 0) return 1;
    return 0;
}

rill_status rill__settings_fill(rill_context *ctx, rill_settings *settings, const char *text)
{
    const rill_method_info *m = NULL;
    char name[64];
    RILL__TRY(find_method(ctx, settings->method, &m));
    for (text += strspn(text, " "); *text != '\0'; text += strspn(text, " ")) {
        size_t length = strcspn(text, " "), sign = strcspn(text, "= ");
        if (length >= sizeof name || text[sign] != '=')
            return rill_fail(ctx, RILL_ERR_PLUGIN, "\"%.*s\" is not NAME=VALUE", (int)length, text);
        snprintf(name, sizeof name, "%.*s", (int)length, text);
        name[sign] = '\0';
        size_t i = find_field(name);
        if (infos[i].name == NULL) return unknown_setting(ctx, name);
        if (!is_given(settings, i) && !(m->greedy && greedy_has_its_own(name)))
            RILL__TRY(read_field(ctx, settings, i, name + sign + 1));
        settings->given |= UINT64_C(1) << i;
        text += length;
    }
    return RILL_OK;
}

static rill_status fill_preset(rill_context *ctx, rill_settings *s)
{
    if (s->like == 0) return RILL_OK;
    const struct preset *preset = &presets[s->like];
    RILL__TRY(rill__settings_fill(ctx, s, preset->settings));
    return s->length_penalty == 0 ? rill__settings_fill(ctx, s, preset->unpenalised) : RILL_OK;
}

/* --- resolving ---------------------------------------------------------------------------------------------------- */

static rill_status contradiction(rill_context *ctx, const rill_settings *settings, const char *option, const char *why)
{
    return rill_fail(ctx, RILL_ERR_OPTION, "%s contradicts method %s: %s", option, settings->method, why);
}

int32_t rill__merge_limit(const rill_settings *s)
{
    return s->finish == RILL_FINISH_IMMEDIATE ? 2 * s->k : s->k;
}

/* Resolving twice must change nothing, so a value equal to what the preset gives is never a contradiction. */

static rill_status resolve_beam(rill_context *ctx, rill_settings *s, const rill_method_info *m, int has_heuristics)
{
    if (m->greedy && s->k > 1) return contradiction(ctx, s, "k", "its beam holds one hypothesis");
    if (s->k == 0) s->k = m->greedy ? 1 : 10;
    if (s->finish != RILL_FINISH_DEFAULT && s->finish != m->finish && !m->finish_free)
        return contradiction(ctx, s, "finish", "it finishes at the top");
    if (s->finish == RILL_FINISH_DEFAULT) s->finish = m->finish;
    int32_t children = rill__merge_limit(s);
    if (!m->pruned && has_heuristics) return contradiction(ctx, s, "a heuristic", "it never prunes; use a var- method");
    if (!m->pruned && s->max_candidates != 0 && s->max_candidates != children)
        return contradiction(ctx, s, "max-candidates", "it never prunes; use a var- method");
    if (!m->pruned && s->min_width != 0)
        return contradiction(ctx, s, "min-width", "it never prunes; use a var- method");
    if (s->max_candidates == 0) s->max_candidates = children;
    return RILL_OK;
}

static rill_status resolve_schedule(rill_context *ctx, rill_settings *s, const rill_method_info *m, int budgeted)
{
    if (s->n == 0) s->n = 10;
    if (!m->streaming) {
        if (s->max_items != 0 && s->max_items != s->n)
            return contradiction(ctx, s, "max-items", "it always holds n items");
        if (s->refill > 0) return contradiction(ctx, s, "refill", "it admits inputs when the batch is empty");
        if (s->flush_every != 0) return contradiction(ctx, s, "flush-every", "it finishes every batch anyway");
        s->max_items = s->n;
        s->refill = 0;
    }
    if (s->max_items == 0) {
        int64_t items = budgeted || s->budget > 0 ? 100 * (int64_t)s->n : s->n;
        s->max_items = items < 1048576 ? (int32_t)items : 1048576;
    }
    if (s->refill < 0) s->refill = m->refill;
    if (s->sort_window == 0) s->sort_window = s->max_items > 1000 ? s->max_items : 1000;
    return RILL_OK;
}

static rill_status resolve_stops(rill_context *ctx, rill_settings *s)
{
    if (s->patience > 0) {
        if (s->stop_after != 0)
            return rill_fail(ctx, RILL_ERR_OPTION, "patience and stop-after set the same thing: give one of them");
        double outputs = floor(s->k * s->patience + 0.5);
        s->stop_after = outputs < 1 ? 1 : outputs > 1e9 ? 1000000000 : (int32_t)outputs;
        s->patience = 0;
    }
    if (s->stop == 0) s->stop = RILL_STOP_COUNT;
    int bound = s->stop == RILL_STOP_BOUND || s->stop == RILL_STOP_BOUND_MAX;
    if (s->keep == 0) s->keep = bound ? RILL_KEEP_BEST : RILL_KEEP_ALL;
    if (bound && s->keep != RILL_KEEP_BEST)
        return rill_fail(
            ctx, RILL_ERR_OPTION,
            "stop bound and bound-max compare with the worst of the best outputs: they go with keep best%s",
            s->like != 0 ? "; like fills in whichever of them is not given" : "");
    if (s->at_limit == 0) s->at_limit = RILL_LIMIT_OPEN;
    if (s->stop_after == 0) s->stop_after = s->stop == RILL_STOP_TOP ? 1 : s->k;
    if (s->max_length > 0 && s->max_length_factor == 0 && s->min_length > s->max_length)
        return rill_fail(ctx, RILL_ERR_OPTION, "min-length %d is above max-length %d", s->min_length, s->max_length);
    if (s->n_best == 0) s->n_best = 1;
    return RILL_OK;
}

/* Fields may have been set without rill_settings_set(). 0 means the default everywhere; a refill below 0 does. */
static rill_status check_ranges(rill_context *ctx, const rill_settings *settings)
{
    for (size_t i = 0; infos[i].name != NULL; i++) {
        const field *f = &fields[i];
        const void *place = (const char *)settings + f->offset;
        double value = 0;
        double most = f->most;
        if (f->type == FIELD_INT || f->type == FIELD_SWITCH || f->type == FIELD_WORD) value = *(const int32_t *)place;
        if (f->type == FIELD_WORD) most = count_words(infos[i].argument);
        if (f->type == FIELD_REAL) value = *(const double *)place;
        if (f->type == FIELD_BYTES) value = (double)*(const int64_t *)place;
        int unset = value == 0 || (f->offset == offsetof(rill_settings, refill) && value < 0);
        if (unset || (value >= f->least && value <= most)) continue;
        return rill_fail(ctx, RILL_ERR_OPTION, "%s: %.10g is not a number from %.10g to %.10g", infos[i].name, value,
                         f->least, most);
    }
    if ((unsigned)settings->sort > RILL_SORT_LONGEST_FIRST || settings->sort_window < 0)
        return rill_fail(ctx, RILL_ERR_OPTION, "sort or sort_window has a value that does not exist");
    return RILL_OK;
}

rill_status rill__settings_resolve(rill_context *ctx, rill_settings *settings, int has_heuristics, int budgeted)
{
    RILL__TRY(check_size(ctx, settings));
    const rill_method_info *m = NULL;
    settings->method[sizeof settings->method - 1] = '\0';
    RILL__TRY(find_method(ctx, settings->method, &m));
    RILL__TRY(check_ranges(ctx, settings));
    RILL__TRY(fill_preset(ctx, settings));
    RILL__TRY(resolve_beam(ctx, settings, m, has_heuristics));
    RILL__TRY(resolve_schedule(ctx, settings, m, budgeted));
    return resolve_stops(ctx, settings);
}

rill_status rill_settings_resolve(rill_context *ctx, rill_settings *settings, int has_heuristics)
{
    return rill__settings_resolve(ctx, settings, has_heuristics, 0);
}
