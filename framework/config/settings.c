/* Search settings: the option table, parsing values, and resolving presets.
 *
 * Each setting is one row of OPTIONS. Help texts, configuration keys, reports and error messages are derived from it. A method is a
 * preset: a scheduler and some fixed settings. Options that contradict the method are refused here, so that the engine only
 * sees consistent settings.
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
#define NAMED(name, aliases, argument, initial, type, kind, min_value, max_value, member, help) \
    {name, argument, initial, help, RILL_OPTION_##type, RILL_OPTION_##kind, min_value, max_value, offsetof(rill_settings, member), aliases}
#define ROW(name, argument, initial, type, kind, min_value, max_value, member, help) \
    NAMED(name, NULL, argument, initial, type, kind, min_value, max_value, member, help)
static const rill_option OPTIONS[] = {
    ROW("method", "NAME", "stream-all", TEXT, SCHEDULE, 0, 0, method, "search method"),
    NAMED("beam-size", "k b num-beams beam beams beam-width", "K", "10; greedy: 1", INT, SEARCH, 1, 65536, k,
        "hypotheses in the beam of an input"),
    NAMED("batch-size", "n mini-batch max-batch-size max-sentences", "N", "10", INT, SCHEDULE, 1, 1048576, n,
        "inputs decoded together; for Marian's -n (--normalize) use --length-penalty"),
    NAMED("max-in-flight", "max-items", "N", "batch-size, or 100 times that with max-batch-hypotheses", INT, SCHEDULE, 1, 1048576,
        max_items, "inputs in flight, streaming methods"),
    NAMED("max-batch-hypotheses", "budget", "B", "0: no limit", INT, SCHEDULE, 0, INT_MAX, budget,
        "maximum number of hypotheses expanded in a timestep"),
    NAMED("refill-threshold", "refill", "E", "1/6; top-up 1/2", REAL, SCHEDULE, 0, 1, refill,
        "admit new inputs when this share of max-in-flight or less is in flight"),
    NAMED("max-children", "max-candidates", "M", "beam-size; twice that with finish immediate", INT, SEARCH, 1, 131072,
        max_candidates, "maximum number of children kept per parent hypothesis"),
    ROW("finish", "top|immediate|shrink", "the method's", WORD, SEARCH, 0, 0, finish,
        "when a hypothesis that ended leaves the beam"),
    ROW("stop-after", "Z", "beam-size", INT, SEARCH, 1, 131072, stop_after, "outputs after which an input stops"),
    ROW("patience", "P", "", REAL, SEARCH, 1e-6, 65536, patience,
        "stop after round(P * beam-size) outputs; instead of stop-after"),
    NAMED("min-length", "min-new-tokens min-decoding-length min-len", "L", "0", INT, SEARCH, 0, INT_MAX, min_length,
        "actions before a hypothesis may end"),
    NAMED("max-length", "max-new-tokens max-decoding-length max-len", "L", "the model's", INT, SEARCH, 1, INT_MAX, max_length,
        "maximum number of actions of a hypothesis"),
    NAMED("length-penalty", "lenpen normalize", "A", "0: by path_score; 1: by its mean", REAL, SEARCH, -25, 25, length_penalty,
        "order outputs by path_score / length^A"),
    NAMED("n-best", "num-hypotheses num-return-sequences nbest", "N", "1", INT, OUTPUT, 1, 131072, n_best,
        "maximum number of outputs per input"),
    ROW("distinct", "", "", SWITCH, OUTPUT, 0, 1, distinct, "leave out outputs with the same text as a better one"),
    ROW("sort", "none|length|longest-first[:W]", "none; W: the larger of max-in-flight and 1000", TEXT, SCHEDULE, 0, 0, sort,
        "admit inputs by size within windows of W inputs"),
    ROW("flush-every", "T", "0: never", INT, SCHEDULE, 0, INT_MAX, flush_every,
        "every T timesteps, finish all inputs in flight before admitting more"),
    ROW("unordered", "", "", SWITCH, SCHEDULE, 0, 1, unordered, "return results in order of completion"),
    ROW("check", "", "", SWITCH, SCHEDULE, 0, 1, check,
        "check while decoding that heuristics and scorers use one input at a time (slow)"),
    ROW("max-nodes", "N", "0: no bound", INT, SCHEDULE, 0, INT_MAX, max_nodes,
        "maximum number of states kept at once; inputs wait, results do not change"),
    ROW("memory", "SIZE", "0: no bound", BYTES, SCHEDULE, 0, 0x1p53, memory,
        "maximum memory of states and inputs in flight in bytes, as in 2G; inputs wait, results do not change"),
    ROW("like", "hf|fairseq|marian|ct2", "", WORD, SEARCH, 0, 0, like,
        "use the conventions of another decoder for options that are not set"),
    ROW("keep", "all|first|best", "all", WORD, SEARCH, 0, 0, keep, "which outputs are kept once stop-after were found"),
    ROW("stop", "count|bound|bound-max|top", "count: at once", WORD, SEARCH, 0, 0, stop,
        "when an input with stop-after outputs stops"),
    ROW("at-limit", "open|first|end|end-free|best-ended", "open: as they are", WORD, SEARCH, 0, 0, at_limit,
        "how hypotheses end at the length limit"),
    ROW("count-end", "", "", SWITCH, SEARCH, 0, 1, count_end, "count the end action in the length that penalties use"),
    ROW("max-length-factor", "A", "0: max-length alone", REAL, SEARCH, 0, 1e6, max_length_factor,
        "maximum number of actions: A times the input's size, plus max-length"),
    ROW("word-penalty", "W", "0", REAL, SEARCH, -1e6, 1e6, word_penalty,
        "order outputs by (path_score - W * length) / length^A"),
    ROW("min-width", "W", "0", INT, SEARCH, 0, 131072, min_width,
        "minimum number of candidates that heuristics leave an input, its outputs included"),
    ROW("require-end", "", "", SWITCH, OUTPUT, 0, 1, require_end,
        "return no truncated output; an input without another fails"),
    NAMED("unknown-penalty", "unkpen", "U", "0", REAL, SEARCH, -1e6, HUGE_VAL, unknown_penalty,
        "subtracted from the log-probability of the unknown token; inf: never choose it"),
    ROW("cube", "none|naive|accelerated", "none", WORD, SEARCH, 0, 0, cube,
        "cube pruning: expand one hypothesis for all with equal endings; naive rescores the chosen extensions of "
"the others"),
    ROW("certify", "", "", SWITCH, OUTPUT, 0, 1, certify,
        "report which outputs are provably the model's best for their input"),
    ROW("exact", "", "", SWITCH, SEARCH, 0, 1, exact,
        "after the beam search, search until the n best outputs are proved optimal; sets certify"),
    ROW("exact-rows", "N", "10000", INT, SEARCH, 1, INT_MAX, exact_rows,
        "maximum number of hypotheses that exact search expands for an input"),
    NAMED("no-repeat-ngram-size", "no-repeat-ngram", "N", "0: any may repeat", INT, SEARCH, 0, INT_MAX, no_repeat_ngram,
        "no output repeats a sequence of N tokens"),
    ROW("repetition-penalty", "P", "1: none", REAL, SEARCH, 1e-3, 1e3, repetition_penalty,
        "multiply the log-probabilities of tokens that the output already has by P"),
    NAMED("num-samples", "sample", "N", "0: search", INT, SEARCH, 1, 65536, sample, "draw N outputs instead of searching for the best"),
    NAMED("temperature", "sampling-temperature", "T", "1", REAL, SEARCH, 1e-3, 1e3, temperature,
        "divide log-probabilities by T before drawing"),
    NAMED("top-k", "sampling-topk", "K", "50", INT, SEARCH, 0, INT_MAX, top_k,
        "draw from the best K tokens of a hypothesis; 0: from all, which takes longer"),
    NAMED("top-p", "sampling-topp", "P", "1", REAL, SEARCH, 1e-6, 1, top_p, "draw from the fewest best tokens whose probabilities sum to "
"P"),
    ROW("seed", "S", "0", INT, SEARCH, 0, INT_MAX, seed, "seed of the random numbers; each input draws its own"),
    NAMED("beam-groups", "groups num-beam-groups diverse-beam-groups", "G", "1", INT, SEARCH, 1, 65536, groups,
        "diverse beam search: divide the beam into G groups that avoid each other's tokens"),
    NAMED("diversity-penalty", "diversity diverse-beam-strength", "D", "0.5", REAL, SEARCH, 1e-6, 1e6, diversity,
        "subtracted from a token's score for each earlier group that chose it"),
    {0},
};
/* clang-format on */

_Static_assert(sizeof OPTIONS / sizeof *OPTIONS <= 64, "rill_settings.given has a bit for each");
_Static_assert(sizeof(rill_settings) <= RILL_SETTINGS_SPACE, "structs have settings inside");

const rill_option *rill_setting_table(void)
{
    return OPTIONS;
}

/* The smallest struct that callers may pass: its last member is `given`. In a member added later 0 means unset. */
enum { MIN_SETTINGS = offsetof(rill_settings, given) + sizeof(uint64_t) };

void rill_settings_init(rill_settings *settings, size_t size)
{
    memset(settings, 0, size);
    settings->struct_size = size;
    if (size < MIN_SETTINGS) return;
    settings->refill = -1.0;
    snprintf(settings->method, sizeof settings->method, "stream-all");
}

rill_status rill__settings_copy(rill_context *ctx, rill_settings *own, const rill_settings *from)
{
    return rill_copy_struct(ctx, "rill_settings", own, sizeof *own, from, MIN_SETTINGS);
}

/* Copy settings to a caller's struct, which may be shorter than this version's. */
static void copy_back(rill_settings *to, const rill_settings *own)
{
    const size_t size = to->struct_size;
    memcpy(to, own, size);
    to->struct_size = size;
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
    char label[RILL_OPTION_MAX];
    return rill_fail(ctx, RILL_ERR_OPTION, "%s: \"%s\" is not none, length, longest-first, length:W or longest-first:W",
                     rill__option_label(ctx, "sort", label), value);
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
    return rill_fail(ctx, RILL_ERR_OPTION, "unknown method \"%s\": `rill list methods` shows all", value);
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

const char *rill_settings_get(const rill_settings *from, const rill_option *option, char out[RILL_OPTION_MAX])
{
    rill_settings own;
    const rill_settings *settings = &own;
    if (from->struct_size == sizeof own)
        settings = from;
    else if (rill__settings_copy(NULL, &own, from) < 0)
        rill_settings_default(&own);
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
    const char *why = rill_refused_option("setting", name);
    rill_option_near near = {0};
    if (why != NULL) return rill_fail(ctx, RILL_ERR_OPTION, "unknown setting \"%s\": %s", name, why);
    for (const rill_option *o = OPTIONS; o->name != NULL; o++) rill_option_nearer(o, name, &near);
    if (near.name[0] != '\0')
        return rill_fail(ctx, RILL_ERR_OPTION, "unknown setting \"%s\": did you mean \"%s\"?", name, near.name);
    return rill_fail(ctx, RILL_ERR_OPTION, "unknown setting \"%s\"", name);
}

static uint64_t option_bit(const rill_option *option)
{
    return UINT64_C(1) << (option - OPTIONS);
}

rill_status rill_settings_set(rill_context *ctx, rill_settings *settings, const char *name, const char *value)
{
    const rill_option *option = rill_option_find(OPTIONS, name);
    rill_settings own;
    RILL__TRY(rill__settings_copy(ctx, &own, settings));
    if (option == NULL) return unknown_setting(ctx, name);
    if (option->offset >= settings->struct_size)
        return rill_fail(ctx, RILL_ERR_ABI, "%s: this program was built for a version of rill without this setting",
                         name);
    RILL__TRY(read_value(ctx, &own, option, value));
    own.given |= option_bit(option);
    copy_back(settings, &own);
    return RILL_OK;
}

/* --- methods ------------------------------------------------------------------------------------------------------ */

static const rill_method_info methods[] = {
    {"greedy", "batch", "beam of one, whole batches", 0, 0, RILL_FINISH_TOP, 0, 1, 0},
    {"fixed", "batch", "constant beam width, whole batches: the usual batched beam search", 0, 0, RILL_FINISH_IMMEDIATE,
     1, 0, 0},
    {"var-batch", "batch", "pruned beams, whole batches", 0, 1, RILL_FINISH_TOP, 1, 0, 0},
    {"var-stream", "least-advanced", "pruned beams, refilled; the least advanced items first", 1, 1, RILL_FINISH_TOP, 1,
     0, 1.0 / 6},
    {"var-stream-fifo", "most-advanced", "pruned beams, refilled; the most advanced items first", 1, 1, RILL_FINISH_TOP,
     1, 0, 1.0 / 6},
    {"fixed-stream", "least-advanced", "constant beam width, refilled; the least advanced items first", 1, 0,
     RILL_FINISH_TOP, 1, 0, 1.0 / 6},
    {"top-up", "top-up", "pruned beams, mixed lengths; encodes inputs ahead and refills a half-empty batch", 1, 1,
     RILL_FINISH_TOP, 1, 0, 1.0 / 2},
    {"stream-all", "all", "pruned beams, mixed lengths, refilled; the items with the most remaining timesteps first", 1,
     1, RILL_FINISH_TOP, 1, 0, 1.0 / 6},
    {NULL, NULL, NULL, 0, 0, RILL_FINISH_DEFAULT, 0, 0, 0},
};

const rill_method_info *rill_method_table(void)
{
    return methods;
}

/* --- samples and groups ------------------------------------------------------------------------------------------- */

/* Sampling and beam groups use a beam of fixed size, in which a finished hypothesis leaves its place empty. Presets do not change
 * that. */
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

/* Report "--finish cannot be combined with --num-samples". `value`: the first option's value after a space (" greedy"),
 * or "". */
static rill_status fail_combination(rill_context *ctx, const char *name, const char *value, const char *with)
{
    char a[RILL_OPTION_MAX], b[RILL_OPTION_MAX];
    return rill_fail(ctx, RILL_ERR_OPTION, "%s%s cannot be combined with %s", rill__option_label(ctx, name, a), value,
                     rill__option_label(ctx, with, b));
}

/* Refuse options that change the shape of the beam; `with`: the option that needs a fixed beam, num-samples or beam-groups. */
static rill_status check_fixed_beam(rill_context *ctx, const rill_settings *s, int greedy, int has_heuristics,
                                    const char *with)
{
    char label[RILL_OPTION_MAX];
    const struct {
        const char *name;
        int contradicts;
    } searches[] = {{"finish", s->finish != RILL_FINISH_SHRINK},
                    {"stop", s->stop != RILL_STOP_COUNT},
                    {"keep", s->keep != RILL_KEEP_ALL},
                    {"stop-after", s->stop_after != s->k},
                    {"patience", s->patience > 0},
                    {"max-children", s->max_candidates != s->k},
                    {"min-width", s->min_width > 0},
                    {"cube", s->cube > RILL_CUBE_NONE},
                    {"exact", s->exact},
                    {"certify", s->certify}};
    if (greedy) return fail_combination(ctx, "method", " greedy", with);
    if (s->at_limit == RILL_LIMIT_BEST_ENDED) return fail_combination(ctx, "at-limit", " best-ended", with);
    for (size_t i = 0; i < sizeof searches / sizeof *searches; i++)
        if (searches[i].contradicts) return fail_combination(ctx, searches[i].name, "", with);
    if (!has_heuristics) return RILL_OK;
    return rill_fail(ctx, RILL_ERR_OPTION, "heuristics cannot be combined with %s",
                     rill__option_label(ctx, with, label));
}

static rill_status check_sample(rill_context *ctx, const rill_settings *s, int greedy, int has_heuristics)
{
    char a[RILL_OPTION_MAX], b[RILL_OPTION_MAX];
    const int seeded = s->seed != 0 ||
                       (s->given & option_bit(rill_option_find(OPTIONS, "seed"))) != 0; /* seed 0 is valid */
    const char *how = s->temperature != 0 ? "temperature"
                      : s->top_k != 0     ? "top-k"
                      : s->top_p != 0     ? "top-p"
                      : seeded            ? "seed"
                                          : NULL;
    if (s->sample == 0 && how != NULL)
        return rill_fail(ctx, RILL_ERR_OPTION, "%s has no effect without sampling: set %s too",
                         rill__option_label(ctx, how, a), rill__option_label(ctx, "num-samples", b));
    if (s->sample == 0) return RILL_OK;
    if (s->groups > 1) return fail_combination(ctx, "beam-groups", "", "num-samples");
    if (s->k != s->sample)
        return rill_fail(ctx, RILL_ERR_OPTION,
                         "%s %d differs from %s %d, the number of samples, each of which is one "
                         "hypothesis: leave it out",
                         rill__option_label(ctx, "beam-size", a), s->k, rill__option_label(ctx, "num-samples", b),
                         s->sample);
    RILL__TRY(check_fixed_beam(ctx, s, greedy, has_heuristics, "num-samples"));
    if (s->n_best <= s->sample) return RILL_OK;
    return rill_fail(ctx, RILL_ERR_OPTION, "%s %d is more than %s %d", rill__option_label(ctx, "n-best", a), s->n_best,
                     rill__option_label(ctx, "num-samples", b), s->sample);
}

static rill_status check_groups(rill_context *ctx, const rill_settings *s, int greedy, int has_heuristics)
{
    char a[RILL_OPTION_MAX], b[RILL_OPTION_MAX];
    if (s->groups <= 1 && s->diversity != 0)
        return rill_fail(ctx, RILL_ERR_OPTION, "%s has no effect without beam groups: set %s too",
                         rill__option_label(ctx, "diversity-penalty", a), rill__option_label(ctx, "beam-groups", b));
    if (s->groups <= 1) return RILL_OK;
    if (s->k % s->groups != 0)
        return rill_fail(ctx, RILL_ERR_OPTION, "%s %d is not a multiple of %s %d",
                         rill__option_label(ctx, "beam-size", a), s->k, rill__option_label(ctx, "beam-groups", b),
                         s->groups);
    return check_fixed_beam(ctx, s, greedy, has_heuristics, "beam-groups");
}

/* --- presets ------------------------------------------------------------------------------------------------------ */

/* Defaults of other decoders, expressed as settings. Sources: transformers' generation/utils.py, fairseq's sequence_generator.py,
 * marian-dev's translator/beam_search.cpp and history.h, CTranslate2's decoding.cc. */
static const struct preset {
    const char *settings;
    const char *unpenalised; /* more settings, if there is no length penalty */
} presets[] = {
    [RILL_LIKE_HF] = {"beam-size=5 finish=immediate keep=best stop=bound at-limit=first count-end=1 length-penalty=1",
                      ""},
    [RILL_LIKE_FAIRSEQ] =
        {"beam-size=5 finish=immediate keep=first at-limit=end count-end=1 length-penalty=1 min-length=1 "
         "max-length=200",
         ""},
    [RILL_LIKE_MARIAN] = {"beam-size=12 finish=shrink count-end=1 max-length-factor=3 unknown-penalty=inf", ""},
    [RILL_LIKE_CT2] =
        {"beam-size=2 finish=immediate at-limit=first count-end=1 length-penalty=1 min-length=1 max-length=256",
         "stop=top"},
};

/* Whether an option is set, also if the field was set without rill_settings_set(). */
static int is_set(const rill_settings *settings, const rill_option *option)
{
    rill_settings defaults;
    char is[RILL_OPTION_MAX], was[RILL_OPTION_MAX];
    rill_settings_default(&defaults);
    return (settings->given & option_bit(option)) != 0 ||
           strcmp(rill_settings_get(settings, option, is), rill_settings_get(&defaults, option, was)) != 0;
}

/* Whether a setting is part of plain greedy search: a beam of one that ends at its first end action. */
static int is_greedy_setting(const char *name)
{
    static const char *const own[] = {"beam-size", "finish", "keep", "stop"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (rill__same_name(own[i], name)) return 1;
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
        if (!is_set(settings, option) && !(m->greedy && is_greedy_setting(option->name)))
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

/* Report that an option (NULL: heuristics) cannot be combined with the method. `why`: what the method does, as "never
 * prunes". */
static rill_status fail_method(rill_context *ctx, const rill_settings *settings, const char *option, const char *why)
{
    char label[RILL_OPTION_MAX], method[RILL_OPTION_MAX];
    return rill_fail(ctx, RILL_ERR_OPTION, "%s cannot be combined with %s %s, which %s",
                     option != NULL ? rill__option_label(ctx, option, label) : "heuristics",
                     rill__option_label(ctx, "method", method), settings->method, why);
}

int32_t rill__max_children(const rill_settings *s)
{
    return s->finish == RILL_FINISH_IMMEDIATE ? 2 * s->k : s->k;
}

/* Resolving settings twice must have no effect, so a value equal to the one that resolving sets is not a contradiction. */

static rill_status resolve_beam(rill_context *ctx, rill_settings *s, const rill_method_info *m, int has_heuristics)
{
    if (m->greedy && s->k > 1) return fail_method(ctx, s, "beam-size", "has a beam of one hypothesis");
    if (s->k == 0) s->k = m->greedy ? 1 : 10;
    if (s->finish != RILL_FINISH_DEFAULT && s->finish != m->finish && !m->finish_free)
        return fail_method(ctx, s, "finish", "finishes at the top");
    if (s->finish == RILL_FINISH_DEFAULT) s->finish = m->finish;
    int32_t children = rill__max_children(s);
    if (!m->pruned && has_heuristics) return fail_method(ctx, s, NULL, "never prunes: use a var- method");
    if (!m->pruned && s->max_candidates != 0 && s->max_candidates != children)
        return fail_method(ctx, s, "max-children", "never prunes: use a var- method");
    if (!m->pruned && s->min_width != 0) return fail_method(ctx, s, "min-width", "never prunes: use a var- method");
    if (s->max_candidates == 0) s->max_candidates = children;
    return RILL_OK;
}

static rill_status resolve_schedule(rill_context *ctx, rill_settings *s, const rill_method_info *m, int budgeted)
{
    if (s->n == 0) s->n = 10;
    if (!m->streaming) {
        if (s->max_items != 0 && s->max_items != s->n)
            return fail_method(ctx, s, "max-in-flight", "always holds batch-size inputs");
        if (s->refill > 0) return fail_method(ctx, s, "refill-threshold", "admits inputs when the batch is empty");
        if (s->flush_every != 0)
            return fail_method(ctx, s, "flush-every", "finishes every batch before it admits inputs");
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
    char a[RILL_OPTION_MAX], b[RILL_OPTION_MAX];
    if (s->patience > 0) {
        if (s->stop_after != 0) return fail_combination(ctx, "patience", "", "stop-after");
        double outputs = floor(s->k * s->patience + 0.5);
        const double max_outputs = rill_option_find(OPTIONS, "stop-after")->max; /* resolving again must accept it */
        s->stop_after = outputs < 1 ? 1 : (int32_t)(outputs < max_outputs ? outputs : max_outputs);
        s->patience = 0;
    }
    if (s->stop == 0) s->stop = RILL_STOP_COUNT;
    int bound = s->stop == RILL_STOP_BOUND || s->stop == RILL_STOP_BOUND_MAX;
    if (s->cube == 0) s->cube = RILL_CUBE_NONE;
    if (s->keep == 0) s->keep = bound ? RILL_KEEP_BEST : RILL_KEEP_ALL;
    if (bound && s->keep != RILL_KEEP_BEST)
        return rill_fail(ctx, RILL_ERR_OPTION, "%s bound and bound-max need %s best%s",
                         rill__option_label(ctx, "stop", a), rill__option_label(ctx, "keep", b),
                         s->like != 0 ? "; like sets the one that was not given" : "");
    if (s->at_limit == 0) s->at_limit = RILL_LIMIT_OPEN;
    if (s->stop_after == 0) s->stop_after = s->stop == RILL_STOP_TOP ? 1 : s->k;
    if (s->max_length > 0 && s->max_length_factor == 0 && s->min_length > s->max_length)
        return rill_fail(ctx, RILL_ERR_OPTION, "%s %d is above %s %d", rill__option_label(ctx, "min-length", a),
                         s->min_length, rill__option_label(ctx, "max-length", b), s->max_length);
    if (s->n_best == 0) s->n_best = 1;
    if (s->exact) s->certify = 1;
    if (s->exact_rows > 0 && !s->exact)
        return rill_fail(ctx, RILL_ERR_OPTION, "%s has no effect without exact search: set %s too",
                         rill__option_label(ctx, "exact-rows", a), rill__option_label(ctx, "exact", b));
    if (s->exact && s->exact_rows == 0) s->exact_rows = 10000;
    return RILL_OK;
}

static int32_t count_words(const char *words)
{
    int32_t n = 1;
    for (; *words != '\0'; words++) n += *words == '|';
    return n;
}

/* Check the range of each setting, since fields may have been set without rill_settings_set(). 0 means the
 * default, and so does a refill below 0. */
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
        char label[RILL_OPTION_MAX];
        return rill_fail(ctx, RILL_ERR_OPTION, "%s: %.10g is not a number from %.10g to %.10g",
                         rill__option_label(ctx, o->name, label), value, o->min, max_value);
    }
    if ((unsigned)settings->sort > RILL_SORT_LONGEST_FIRST || settings->sort_window < 0)
        return rill_fail(ctx, RILL_ERR_OPTION, "sort or sort_window has an invalid value");
    return RILL_OK;
}

rill_status rill__settings_resolve(rill_context *ctx, rill_settings *settings, int has_heuristics, int budgeted)
{
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
    rill_settings own;
    RILL__TRY(rill__settings_copy(ctx, &own, settings));
    RILL__TRY(rill__settings_resolve(ctx, &own, has_heuristics, 0));
    copy_back(settings, &own);
    return RILL_OK;
}
