/* Search settings: the table of options, reading a value from text, and resolving presets.
 *
 * One row of OPTIONS is all there is to a setting; help texts, configurations, reports and error messages come from it. A method
 * is a preset: a policy's name plus what it fixes; an option that contradicts it is refused here, so that the engine sees consistent
 * settings only.
 *
 * Divisions: options · values · methods · samples and groups · presets · resolving. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* --- options ------------------------------------------------------------------------------------------------------ */

/* clang-format off */
#define ROW(name, argument, initial, type, kind, least, most, member, help) \
    {name, argument, initial, help, RILL_OPTION_##type, RILL_OPTION_##kind, least, most, offsetof(rill_settings, member)}
static const rill_option OPTIONS[] = {
    ROW("method", "NAME", "stream-all", TEXT, SCHEDULE, 0, 0, method, "search method"),
    ROW("k", "K", "10; greedy: 1", INT, SEARCH, 1, 65536, k, "beam width"),
    ROW("n", "N", "10", INT, SCHEDULE, 1, 1048576, n, "batch size: items decoded together"),
    ROW("max-items", "N", "n, or 100 n under a budget", INT, SCHEDULE, 1, 1048576, max_items,
        "items in flight, streaming methods"),
    ROW("budget", "B", "0: none", INT, SCHEDULE, 0, INT_MAX, budget, "most candidates expanded per timestep"),
    ROW("refill", "E", "1/6; top-up 1/2", REAL, SCHEDULE, 0, 1, refill,
        "admit inputs when at most this share of max-items is in flight"),
    ROW("max-candidates", "M", "k; 2k under finish immediate", INT, SEARCH, 1, 131072, max_candidates,
        "children kept per parent"),
    ROW("finish", "top|immediate|shrink", "the method's", WORD, SEARCH, 0, 0, finish,
        "when an ended hypothesis leaves the beam"),
    ROW("stop-after", "Z", "k", INT, SEARCH, 1, 131072, stop_after, "outputs after which an item stops"),
    ROW("patience", "P", "", REAL, SEARCH, 1e-6, 65536, patience, "stop after round(k*P) outputs; instead of stop-after"),
    ROW("min-length", "L", "0", INT, SEARCH, 0, INT_MAX, min_length, "actions before a hypothesis may end"),
    ROW("max-length", "L", "the model's", INT, SEARCH, 1, INT_MAX, max_length, "most actions of a hypothesis"),
    ROW("length-penalty", "A", "0: by score; 1: by mean", REAL, SEARCH, -25, 25, length_penalty,
        "order outputs by score / length^A"),
    ROW("n-best", "N", "1", INT, OUTPUT, 1, 131072, n_best,
        "outputs given per input, of what the search finds"),
    ROW("distinct", "", "", SWITCH, OUTPUT, 0, 1, distinct, "leave out outputs whose text is that of a better one"),
    ROW("sort", "none|length|longest-first[:W]", "none; W: the larger of max-items and 1000", TEXT, SCHEDULE, 0, 0, sort,
        "admit inputs by size within windows of W inputs"),
    ROW("flush-every", "T", "0: never", INT, SCHEDULE, 0, INT_MAX, flush_every,
        "every T timesteps finish all in flight before admitting more"),
    ROW("unordered", "", "", SWITCH, SCHEDULE, 0, 1, unordered, "give results in order of completion"),
    ROW("check", "", "", SWITCH, SCHEDULE, 0, 1, check,
        "check while decoding that heuristics and scorers look at one item at a time (slow)"),
    ROW("max-nodes", "N", "0: no bound", INT, SCHEDULE, 0, INT_MAX, max_nodes,
        "most states kept at once; items wait, no answer changes"),
    ROW("memory", "SIZE", "0: no bound", BYTES, SCHEDULE, 0, 9e15, memory,
        "the same in bytes, inputs in flight included, as in 2G"),
    ROW("like", "hf|fairseq|marian|ct2", "", WORD, SEARCH, 0, 0, like,
        "decode by another decoder's conventions where nothing else is given"),
    ROW("keep", "all|first|best", "all", WORD, SEARCH, 0, 0, keep, "outputs kept once there are stop-after"),
    ROW("stop", "count|bound|bound-max|top", "count: at once", WORD, SEARCH, 0, 0, stop,
        "when an item that has stop-after outputs stops"),
    ROW("at-limit", "open|first|end|end-free|best-ended", "open: as they are", WORD, SEARCH, 0, 0, at_limit,
        "how hypotheses end at the length limit"),
    ROW("count-end", "", "", SWITCH, SEARCH, 0, 1, count_end, "count the end action in the length that penalties use"),
    ROW("max-length-factor", "A", "0: max-length alone", REAL, SEARCH, 0, 1e6, max_length_factor,
        "most actions: A times the input's size, plus max-length"),
    ROW("word-penalty", "W", "0", REAL, SEARCH, -1e6, 1e6, word_penalty,
        "order outputs by (score - W * length) / length^A"),
    ROW("min-width", "W", "0", INT, SEARCH, 0, 131072, min_width,
        "fewest candidates that heuristics leave an item, its outputs included"),
    ROW("require-end", "", "", SWITCH, OUTPUT, 0, 1, require_end,
        "give no output that was cut short; an input with no other fails"),
    ROW("unknown-penalty", "U", "0", REAL, SEARCH, -1e6, HUGE_VAL, unknown_penalty,
        "taken from the score of the unknown action; inf: never choose it"),
    ROW("cube", "none|naive|accelerated", "none", WORD, SEARCH, 0, 0, cube,
        "cube pruning: expand one hypothesis for all that end alike; naive scores anew what it takes of the others"),
    ROW("certify", "", "", SWITCH, OUTPUT, 0, 1, certify,
        "tell which outputs are provably the best that the model has for their input"),
    ROW("exact", "", "", SWITCH, SEARCH, 0, 1, exact,
        "search until the n best are certified, behind the beam search; sets certify"),
    ROW("exact-rows", "N", "10000", INT, SEARCH, 1, INT_MAX, exact_rows,
        "most hypotheses that exact search expands for an input"),
    ROW("no-repeat-ngram", "N", "0: any may", INT, SEARCH, 0, INT_MAX, no_repeat_ngram,
        "no N actions in a row may be in an output twice"),
    ROW("repetition-penalty", "P", "1: none", REAL, SEARCH, 1e-3, 1e3, repetition_penalty,
        "multiply log-probabilities of actions that the output has already by P"),
    ROW("sample", "N", "0: search", INT, SEARCH, 1, 65536, sample, "draw N outputs in place of searching for the best"),
    ROW("temperature", "T", "1", REAL, SEARCH, 1e-3, 1e3, temperature, "divide scores by T before drawing"),
    ROW("top-k", "K", "50", INT, SEARCH, 0, INT_MAX, top_k,
        "draw among the best K choices of a hypothesis; 0: among all, which takes longer"),
    ROW("top-p", "P", "1", REAL, SEARCH, 1e-6, 1, top_p, "draw among the fewest best choices that have probability P"),
    ROW("seed", "S", "0", INT, SEARCH, 0, INT_MAX, seed, "what is drawn by, with the number of the input"),
    ROW("groups", "G", "1", INT, SEARCH, 1, 65536, groups,
        "divide the beam into G groups, each of which avoids what those before it choose"),
    ROW("diversity", "D", "0.5", REAL, SEARCH, 1e-6, 1e6, diversity,
        "what a choice loses for each group before that has made it"),
    {0},
};
/* clang-format on */

_Static_assert(sizeof OPTIONS / sizeof *OPTIONS <= 64, "rill_settings.given has a bit for each");

const rill_option *rill_setting_table(void)
{
    return OPTIONS;
}

/* No member but the first is known to lie in a struct of another size. */
void rill_settings_init(rill_settings *settings, size_t size)
{
    memset(settings, 0, size);
    settings->struct_size = size;
    if (size != sizeof *settings) return;
    settings->refill = -1.0;
    snprintf(settings->method, sizeof settings->method, "stream-all");
}

rill_status rill__settings_check_size(rill_context *ctx, const rill_settings *settings)
{
    if (settings->struct_size == sizeof *settings) return RILL_OK;
    return rill_fail(ctx, RILL_ERR_ABI, "settings of %zu bytes, this rill has %zu: rebuild the caller",
                     settings->struct_size, sizeof *settings);
}

/* --- values ------------------------------------------------------------------------------------------------------- */

static const char *const sort_names[] = {"none", "length", "longest-first"};

static rill_status read_sort(rill_context *ctx, rill_settings *settings, const char *value)
{
    static const rill_option window_row = {.name = "sort window", .type = RILL_OPTION_INT, .min = 1, .max = 1e9};
    size_t length = strcspn(value, ":");
    for (int i = 0; i < 3; i++) {
        if (strlen(sort_names[i]) != length || strncmp(value, sort_names[i], length) != 0) continue;
        int32_t window = 0;
        if (value[length] == ':') {
            if (i == RILL_SORT_NONE) break;
            RILL__TRY(rill_option_read(ctx, &window_row, value + length + 1, &window));
        }
        settings->sort = (rill_sort)i;
        settings->sort_window = window;
        return RILL_OK;
    }
    return rill_fail(ctx, RILL_ERR_OPTION,
                     "sort: \"%s\" is not none, length, longest-first, or one of the last two with :W", value);
}

static rill_status find_method(rill_context *ctx, const char *value, const rill_method_info **out)
{
    const rill_method_info *methods = rill_method_table();
    for (const rill_method_info *m = methods; m->name != NULL; m++)
        if (strcmp(m->name, value) == 0) {
            *out = m;
            return RILL_OK;
        }
    const char *near = rill__nearest_in_table(value, &methods->name, sizeof *methods);
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

static rill_status read_value(rill_context *ctx, rill_settings *settings, const rill_option *option, const char *value)
{
    if (option->offset == offsetof(rill_settings, method)) return read_method(ctx, settings, value);
    if (option->offset == offsetof(rill_settings, sort)) return read_sort(ctx, settings, value);
    RILL__TRY(rill_option_read(ctx, option, value, settings));
    if (option->offset == offsetof(rill_settings, top_k) && settings->top_k == 0) settings->top_k = INT_MAX;
    return RILL_OK;
}

const char *rill_settings_get(const rill_settings *settings, const rill_option *option, char out[RILL_OPTION_MAX])
{
    if (option->offset == offsetof(rill_settings, method))
        snprintf(out, RILL_OPTION_MAX, "%s", settings->method);
    else if (option->offset == offsetof(rill_settings, top_k) && settings->top_k == INT_MAX)
        snprintf(out, RILL_OPTION_MAX, "0");
    else if (option->offset != offsetof(rill_settings, sort))
        rill_option_write(option, settings, out);
    else if (settings->sort != RILL_SORT_NONE && settings->sort_window != 0)
        snprintf(out, RILL_OPTION_MAX, "%s:%d", sort_names[settings->sort], settings->sort_window);
    else
        snprintf(out, RILL_OPTION_MAX, "%s", sort_names[settings->sort]);
    return out;
}

static rill_status unknown_setting(rill_context *ctx, const char *name)
{
    const char *near = rill__nearest_in_table(name, &OPTIONS[0].name, sizeof OPTIONS[0]),
               *gone = rill_removed_option("setting", name);
    if (gone != NULL) return rill_fail(ctx, RILL_ERR_OPTION, "unknown setting \"%s\": %s", name, gone);
    if (near != NULL)
        return rill_fail(ctx, RILL_ERR_OPTION, "unknown setting \"%s\": did you mean \"%s\"?", name, near);
    return rill_fail(ctx, RILL_ERR_OPTION, "unknown setting \"%s\"", name);
}

static uint64_t option_bit(const rill_option *option)
{
    return UINT64_C(1) << (option - OPTIONS);
}

rill_status rill_settings_set(rill_context *ctx, rill_settings *settings, const char *name, const char *value)
{
    const rill_option *option = rill_option_find(OPTIONS, name);
    RILL__TRY(rill__settings_check_size(ctx, settings));
    if (option == NULL) return unknown_setting(ctx, name);
    RILL__TRY(read_value(ctx, settings, option, value));
    settings->given |= option_bit(option);
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

/* --- samples and groups ------------------------------------------------------------------------------------------- */

/* Samples, and the hypotheses of groups, are a beam whose places what ends leaves empty. Presets have no say in that. */
static void fill_fixed_beam(rill_settings *s)
{
    if (s->sample == 0 && s->groups <= 1) return;
    if (s->k == 0) s->k = s->sample > 0 ? s->sample : s->groups > 10 ? s->groups : 10 - 10 % s->groups;
    if (s->finish == RILL_FINISH_DEFAULT) s->finish = RILL_FINISH_SHRINK;
    if (s->stop == 0) s->stop = RILL_STOP_COUNT;
    if (s->keep == 0) s->keep = RILL_KEEP_ALL;
    if (s->stop_after == 0) s->stop_after = s->k;
    if (s->max_candidates == 0) s->max_candidates = s->k;
    if (s->groups > 1 && s->diversity == 0) s->diversity = 0.5;
    if (s->sample == 0) return;
    if (s->n_best == 0) s->n_best = s->sample;
    if (s->top_k == 0) s->top_k = 50;
    if (s->temperature == 0) s->temperature = 1;
    if (s->top_p == 0) s->top_p = 1;
}

/* What does not go with a beam of such places. */
static rill_status check_fixed_beam(rill_context *ctx, const rill_settings *s, int greedy, int has_heuristics,
                                    const char *what, const char *why)
{
    const struct {
        const char *name;
        int contradicts;
    } searches[] = {{"method greedy", greedy},
                    {"finish", s->finish != RILL_FINISH_SHRINK},
                    {"stop", s->stop != RILL_STOP_COUNT},
                    {"keep", s->keep != RILL_KEEP_ALL},
                    {"stop-after", s->stop_after != s->k},
                    {"patience", s->patience > 0},
                    {"max-candidates", s->max_candidates != s->k},
                    {"min-width", s->min_width > 0},
                    {"at-limit best-ended", s->at_limit == RILL_LIMIT_BEST_ENDED},
                    {"cube", s->cube > RILL_CUBE_NONE},
                    {"certify", s->certify || s->exact},
                    {"a heuristic", has_heuristics}};
    for (size_t i = 0; i < sizeof searches / sizeof *searches; i++)
        if (searches[i].contradicts)
            return rill_fail(ctx, RILL_ERR_OPTION, "%s contradicts %s: %s", searches[i].name, what, why);
    return RILL_OK;
}

static rill_status check_sample(rill_context *ctx, const rill_settings *s, int greedy, int has_heuristics)
{
    static const char why[] = "what is drawn is not searched for";
    const int seeded = s->seed != 0 ||
                       (s->given & option_bit(rill_option_find(OPTIONS, "seed"))) != 0; /* 0 is a seed */
    const int how = s->temperature != 0 || s->top_k != 0 || s->top_p != 0 || seeded;
    if (s->sample == 0 && how)
        return rill_fail(ctx, RILL_ERR_OPTION,
                         "temperature, top-k, top-p and seed say how to draw, and nothing is drawn: set sample");
    if (s->sample == 0) return RILL_OK;
    if (s->k != s->sample || s->groups > 1)
        return rill_fail(ctx, RILL_ERR_OPTION, "%s contradicts sample: %s", s->groups > 1 ? "groups" : "k", why);
    RILL__TRY(check_fixed_beam(ctx, s, greedy, has_heuristics, "sample", why));
    if (s->n_best <= s->sample) return RILL_OK;
    return rill_fail(ctx, RILL_ERR_OPTION, "n-best %d contradicts sample: %d outputs are drawn", s->n_best, s->sample);
}

static rill_status check_groups(rill_context *ctx, const rill_settings *s, int greedy, int has_heuristics)
{
    if (s->groups <= 1 && s->diversity != 0)
        return rill_fail(ctx, RILL_ERR_OPTION, "diversity is between groups, and there is one: set groups");
    if (s->groups <= 1) return RILL_OK;
    if (s->k % s->groups != 0)
        return rill_fail(ctx, RILL_ERR_OPTION, "k %d has no equal parts for %d groups", s->k, s->groups);
    return check_fixed_beam(ctx, s, greedy, has_heuristics, "groups", "a group's places are its own");
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
static int is_set(const rill_settings *settings, const rill_option *option)
{
    rill_settings defaults;
    char is[RILL_OPTION_MAX], was[RILL_OPTION_MAX];
    rill_settings_default(&defaults);
    return (settings->given & option_bit(option)) != 0 ||
           strcmp(rill_settings_get(settings, option, is), rill_settings_get(&defaults, option, was)) != 0;
}

/* A beam of one that ends at its first end action is what greedy search is everywhere. */
static int is_greedy_setting(const char *name)
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
    fill_fixed_beam(settings);
    for (text += strspn(text, " "); *text != '\0'; text += strspn(text, " ")) {
        size_t length = strcspn(text, " "), sign = strcspn(text, "= ");
        if (length >= sizeof name || text[sign] != '=')
            return rill_fail(ctx, RILL_ERR_PLUGIN, "\"%.*s\" is not NAME=VALUE", (int)length, text);
        snprintf(name, sizeof name, "%.*s", (int)length, text);
        name[sign] = '\0';
        const rill_option *option = rill_option_find(OPTIONS, name);
        if (option == NULL) return unknown_setting(ctx, name);
        if (!is_set(settings, option) && !(m->greedy && is_greedy_setting(name)))
            RILL__TRY(read_value(ctx, settings, option, name + sign + 1));
        settings->given |= option_bit(option);
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

static rill_status fail_contradiction(rill_context *ctx, const rill_settings *settings, const char *option,
                                      const char *why)
{
    return rill_fail(ctx, RILL_ERR_OPTION, "%s contradicts method %s: %s", option, settings->method, why);
}

int32_t rill__max_children(const rill_settings *s)
{
    return s->finish == RILL_FINISH_IMMEDIATE ? 2 * s->k : s->k;
}

/* Resolving twice must change nothing, so a value equal to what the preset gives is never a contradiction. */

static rill_status resolve_beam(rill_context *ctx, rill_settings *s, const rill_method_info *m, int has_heuristics)
{
    if (m->greedy && s->k > 1) return fail_contradiction(ctx, s, "k", "its beam holds one hypothesis");
    if (s->k == 0) s->k = m->greedy ? 1 : 10;
    if (s->finish != RILL_FINISH_DEFAULT && s->finish != m->finish && !m->finish_free)
        return fail_contradiction(ctx, s, "finish", "it finishes at the top");
    if (s->finish == RILL_FINISH_DEFAULT) s->finish = m->finish;
    int32_t children = rill__max_children(s);
    if (!m->pruned && has_heuristics)
        return fail_contradiction(ctx, s, "a heuristic", "it never prunes; use a var- method");
    if (!m->pruned && s->max_candidates != 0 && s->max_candidates != children)
        return fail_contradiction(ctx, s, "max-candidates", "it never prunes; use a var- method");
    if (!m->pruned && s->min_width != 0)
        return fail_contradiction(ctx, s, "min-width", "it never prunes; use a var- method");
    if (s->max_candidates == 0) s->max_candidates = children;
    return RILL_OK;
}

static rill_status resolve_schedule(rill_context *ctx, rill_settings *s, const rill_method_info *m, int budgeted)
{
    if (s->n == 0) s->n = 10;
    if (!m->streaming) {
        if (s->max_items != 0 && s->max_items != s->n)
            return fail_contradiction(ctx, s, "max-items", "it always holds n items");
        if (s->refill > 0) return fail_contradiction(ctx, s, "refill", "it admits inputs when the batch is empty");
        if (s->flush_every != 0) return fail_contradiction(ctx, s, "flush-every", "it finishes every batch anyway");
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
        const double max_outputs =
            rill_option_find(OPTIONS, "stop-after")->max; /* resolved twice it is a number like any other */
        s->stop_after = outputs < 1 ? 1 : (int32_t)(outputs < max_outputs ? outputs : max_outputs);
        s->patience = 0;
    }
    if (s->stop == 0) s->stop = RILL_STOP_COUNT;
    int bound = s->stop == RILL_STOP_BOUND || s->stop == RILL_STOP_BOUND_MAX;
    if (s->cube == 0) s->cube = RILL_CUBE_NONE;
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
    if (s->exact) s->certify = 1;
    if (s->exact_rows > 0 && !s->exact)
        return rill_fail(ctx, RILL_ERR_OPTION, "exact-rows limits exact search, and there is none: set exact");
    if (s->exact && s->exact_rows == 0) s->exact_rows = 10000;
    return RILL_OK;
}

static int32_t count_words(const char *words)
{
    int32_t n = 1;
    for (; *words != '\0'; words++) n += *words == '|';
    return n;
}

/* Fields may have been set without rill_settings_set(). 0 means the default everywhere; a refill below 0 does. */
static rill_status check_ranges(rill_context *ctx, const rill_settings *settings)
{
    for (const rill_option *o = OPTIONS; o->name != NULL; o++) {
        const void *place = (const char *)settings + o->offset;
        double value = 0, max_value = o->max;
        if (o->type == RILL_OPTION_INT || o->type == RILL_OPTION_SWITCH || o->type == RILL_OPTION_WORD)
            value = *(const int32_t *)place;
        if (o->type == RILL_OPTION_WORD) max_value = count_words(o->argument);
        if (o->type == RILL_OPTION_REAL) value = *(const double *)place;
        if (o->type == RILL_OPTION_BYTES) value = (double)*(const int64_t *)place;
        int unset = value == 0 || (o->offset == offsetof(rill_settings, refill) && value < 0);
        if (unset || (value >= o->min && value <= max_value)) continue;
        return rill_fail(ctx, RILL_ERR_OPTION, "%s: %.10g is not a number from %.10g to %.10g", o->name, value, o->min,
                         max_value);
    }
    if ((unsigned)settings->sort > RILL_SORT_LONGEST_FIRST || settings->sort_window < 0)
        return rill_fail(ctx, RILL_ERR_OPTION, "sort or sort_window has a value that does not exist");
    return RILL_OK;
}

rill_status rill__settings_resolve(rill_context *ctx, rill_settings *settings, int has_heuristics, int budgeted)
{
    RILL__TRY(rill__settings_check_size(ctx, settings));
    const rill_method_info *m = NULL;
    settings->method[sizeof settings->method - 1] = '\0';
    RILL__TRY(find_method(ctx, settings->method, &m));
    RILL__TRY(check_ranges(ctx, settings));
    fill_fixed_beam(settings);
    RILL__TRY(check_sample(ctx, settings, m->greedy, has_heuristics));
    RILL__TRY(check_groups(ctx, settings, m->greedy, has_heuristics));
    RILL__TRY(fill_preset(ctx, settings));
    RILL__TRY(resolve_beam(ctx, settings, m, has_heuristics));
    RILL__TRY(resolve_schedule(ctx, settings, m, budgeted));
    return resolve_stops(ctx, settings);
}

rill_status rill_settings_resolve(rill_context *ctx, rill_settings *settings, int has_heuristics)
{
    return rill__settings_resolve(ctx, settings, has_heuristics, 0);
}
