/* Search settings: values as text, methods and presets, contradictions, resolving. A method is a scheduler and fixed settings.
 *
 * Contradictions are refused here, so the engine sees only consistent settings. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* The smallest rill_settings that callers may pass. In later members 0 means unset. */
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

/* --- search methods ----------------------------------------------------------------------------------------------- */

static const rill_method_info methods[] = {
    {"greedy", "batch", "beam of one, whole batches", 0, 0, RILL_FINISH_TOP, 0, 1, 0},
    {"fixed", "batch", "constant beam width, whole batches: the usual batched beam search", 0, 0, RILL_FINISH_TOP, 1, 0,
     0},
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

const rill_method_info *rill__find_method(const char *name)
{
    const rill_method_info *m = methods;
    while (m->name != NULL && strcmp(m->name, name) != 0) m++;
    return m->name != NULL ? m : NULL;
}

static rill_status find_method(rill_context *ctx, const char *name, const rill_method_info **out)
{
    rill_option_near near = {0};
    *out = rill__find_method(name);
    if (*out != NULL) return RILL_OK;
    for (const rill_method_info *m = methods; m->name != NULL; m++)
        rill_option_nearer(&(rill_option){.name = m->name}, name, &near);
    return rill__fail_unknown_name(ctx, RILL_ERR_OPTION, "method", name, NULL, &near, "`rill list methods` shows all");
}

/* --- values ------------------------------------------------------------------------------------------------------- */

static const char *const sort_names[] = {"none", "length", "longest-first"};

static rill_status read_sort(rill_context *ctx, rill_settings *settings, const char *value)
{
    static const rill_option window_row = {.name = "sort window", .type = RILL_OPTION_INT, .min = 1, .max = 1e9};
    const size_t length = strcspn(value, ":");
    char label[RILL_OPTION_MAX];
    int i = 0;
    int32_t window = 0;
    while (i < 3 && (strlen(sort_names[i]) != length || memcmp(value, sort_names[i], length) != 0)) i++;
    if (i == 3 || (i == RILL_SORT_NONE && value[length] == ':'))
        return rill_fail(ctx, RILL_ERR_OPTION,
                         "%s: \"%s\" is not none, length, longest-first, length:W or longest-first:W",
                         rill__option_label(ctx, "sort", label), value);
    if (value[length] == ':') RILL__TRY(rill_option_read(ctx, &window_row, value + length + 1, &window));
    settings->sort = (rill_sort)i;
    settings->sort_window = window;
    return RILL_OK;
}

static rill_status read_value(rill_context *ctx, rill_settings *settings, const rill_option *option, const char *value)
{
    const rill_method_info *method;
    if (option->offset == offsetof(rill_settings, method)) {
        RILL__TRY(find_method(ctx, value, &method));
        snprintf(settings->method, sizeof settings->method, "%s", method->name);
        return RILL_OK;
    }
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
        snprintf(out, RILL_OPTION_MAX, "%.*s", RILL_OPTION_MAX - 1, settings->method);
    else if (option->offset == offsetof(rill_settings, top_k) && settings->top_k == INT_MAX)
        snprintf(out, RILL_OPTION_MAX, "0");
    else if (option->offset != offsetof(rill_settings, sort))
        rill_option_write(option, settings, out);
    /* a value outside the enum is a mistake of the calling program; check_ranges() refuses it */
    else if ((unsigned)settings->sort > RILL_SORT_LONGEST_FIRST)
        snprintf(out, RILL_OPTION_MAX, "%d", (int)settings->sort);
    else if (settings->sort != RILL_SORT_NONE && settings->sort_window != 0)
        snprintf(out, RILL_OPTION_MAX, "%s:%d", sort_names[settings->sort], settings->sort_window);
    else
        snprintf(out, RILL_OPTION_MAX, "%s", sort_names[settings->sort]);
    return out;
}

static uint64_t option_bit(const rill_option *option)
{
    return UINT64_C(1) << (option - rill_setting_table());
}

rill_status rill_settings_set(rill_context *ctx, rill_settings *settings, const char *name, const char *value)
{
    const rill_option *option;
    rill_settings own;
    RILL__TRY(rill__settings_copy(ctx, &own, settings));
    RILL__TRY(rill__find_option(ctx, name, 0, &option));
    if (option->offset >= settings->struct_size)
        return rill_fail(ctx, RILL_ERR_ABI, "%s: this program was built for a version of rill without this setting",
                         name);
    RILL__TRY(read_value(ctx, &own, option, value));
    own.given |= option_bit(option);
    copy_back(settings, &own);
    return RILL_OK;
}

/* --- presets ------------------------------------------------------------------------------------------------------ */

/* Defaults of other decoders, expressed as settings. Sources: transformers' generation/utils.py, fairseq's sequence_generator.py,
 * marian-dev's translator/beam_search.cpp and history.h, CTranslate2's decoding.cc. */
static const struct preset {
    const char *settings;
    const char *unpenalised; /* further settings of the preset, applied only if there is no length penalty */
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

/* Fill unset settings for sampling and beam groups, before presets. Their beam has a fixed size: the entry of a finished hypothesis stays
 * empty. */
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

/* Whether an option is set, also if the field was set without rill_settings_set(). */
static int is_set(const rill_settings *settings, const rill_option *option)
{
    rill_settings defaults;
    char is[RILL_OPTION_MAX], was[RILL_OPTION_MAX];
    rill_settings_default(&defaults);
    if ((settings->given & option_bit(option)) != 0) return 1;
    if (option->type == RILL_OPTION_TEXT)
        return strcmp(rill_settings_get(settings, option, is), rill_settings_get(&defaults, option, was)) != 0;
    return rill__option_number(option, settings) != rill__option_number(option, &defaults);
}

/* Whether a setting is part of greedy search: a beam of one hypothesis that stops at its first end action. */
static int is_greedy_setting(const rill_option *option)
{
    return option->offset == offsetof(rill_settings, k) || option->offset == offsetof(rill_settings, finish) ||
           option->offset == offsetof(rill_settings, keep) || option->offset == offsetof(rill_settings, stop);
}

rill_status rill__settings_fill(rill_context *ctx, rill_settings *settings, const char *text)
{
    const rill_method_info *m = NULL;
    const rill_option *option;
    char name[RILL__PAIR_MAX], *value;
    RILL__TRY(find_method(ctx, settings->method, &m));
    fill_fixed_beam(settings);
    for (;;) {
        RILL__TRY(rill__next_pair(ctx, &text, name, &value));
        if (value == NULL) return RILL_OK;
        RILL__TRY(rill__find_option(ctx, name, 0, &option));
        if (!is_set(settings, option) && !(m->greedy && is_greedy_setting(option)))
            RILL__TRY(read_value(ctx, settings, option, value));
        settings->given |= option_bit(option);
    }
}

/* --- resolving defaults ------------------------------------------------------------------------------------------- */

void rill__settings_use_domain(rill_settings *s, const rill_domain *domain)
{
    const int has_own_rule = s->finish != RILL_FINISH_DEFAULT || s->like != 0 || s->sample > 0 || s->groups > 1;
    if (domain != NULL && (domain->features & RILL_FIXED_AS_FAIRSEQ) != 0 && strcmp(s->method, "fixed") == 0 &&
        !has_own_rule)
        s->finish = RILL_FINISH_IMMEDIATE;
}

/* Check the ranges, since fields may be set without rill_settings_set(). 0, or a refill below 0, means the default. */
static rill_status check_ranges(rill_context *ctx, const rill_settings *settings)
{
    for (const rill_option *o = rill_setting_table(); o->name != NULL; o++) {
        const double value = rill__option_number(o, settings);
        double max_value = o->type == RILL_OPTION_WORD ? 1 : o->max;
        for (const char *words = o->argument; o->type == RILL_OPTION_WORD && *words != '\0'; words++)
            max_value += *words == '|';
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

int32_t rill__max_children(const rill_settings *s)
{
    return s->finish == RILL_FINISH_IMMEDIATE ? 2 * s->k : s->k;
}

static int has_bound(const rill_settings *s)
{
    return s->stop == RILL_STOP_BOUND || s->stop == RILL_STOP_BOUND_MAX;
}

/* Fill unset settings, in this order: for a fixed beam, from the preset, from the method, with defaults. Filling twice has no further
 * effect. */
static rill_status fill(rill_context *ctx, rill_settings *s, const rill_method_info *m, int budgeted)
{
    fill_fixed_beam(s);
    if (s->like != 0) RILL__TRY(rill__settings_fill(ctx, s, presets[s->like].settings));
    if (s->like != 0 && s->length_penalty == 0) RILL__TRY(rill__settings_fill(ctx, s, presets[s->like].unpenalised));
    if (s->k == 0) s->k = m->greedy ? 1 : 10;
    if (s->finish == RILL_FINISH_DEFAULT) s->finish = m->finish;
    if (s->max_candidates == 0) s->max_candidates = rill__max_children(s);
    if (s->n == 0) s->n = 10;
    if (s->max_items == 0) {
        int64_t items = m->streaming && (budgeted || s->budget > 0) ? 100 * (int64_t)s->n : s->n;
        s->max_items = items < 1048576 ? (int32_t)items : 1048576;
    }
    if (s->refill < 0) s->refill = m->refill;
    if (s->sort_window == 0) s->sort_window = s->max_items > 1000 ? s->max_items : 1000;
    if (s->stop_after == 0 && s->patience > 0) {
        double outputs = floor(s->k * s->patience + 0.5);
        /* clamp to the range of stop-after, so that the resolved settings can be resolved again */
        const double max_outputs = rill__setting("stop-after")->max;
        s->stop_after = outputs < 1 ? 1 : (int32_t)(outputs < max_outputs ? outputs : max_outputs);
    }
    s->patience = 0;
    if (s->stop == 0) s->stop = RILL_STOP_COUNT;
    if (s->cube == 0) s->cube = RILL_CUBE_NONE;
    if (s->keep == 0) s->keep = has_bound(s) ? RILL_KEEP_BEST : RILL_KEEP_ALL;
    if (s->at_limit == 0) s->at_limit = RILL_LIMIT_OPEN;
    if (s->stop_after == 0) s->stop_after = s->stop == RILL_STOP_TOP ? 1 : s->k;
    if (s->n_best == 0) s->n_best = 1;
    if (s->exact) s->certify = 1;
    if (s->exact && s->exact_rows == 0) s->exact_rows = 10000;
    return RILL_OK;
}

/* Returns the message of the first contradiction; NULL: none. set: the settings before filling.
 * A message has placeholders: "@NAME" for an option's name, "#NAME" for its value, "@*" for the option that needs a fixed beam. After "|"
 * it lists further settings involved. */
static const char *find_contradiction(const rill_settings *s, const rill_settings *set, const rill_method_info *m,
                                      int has_heuristics)
{
    const int sampled = s->sample > 0, grouped = s->groups > 1, fixed = sampled || grouped, bound = has_bound(s);
    const struct {
        int is_broken;
        const char *message;
    } rules[] = {
        {!sampled && s->temperature != 0, "@temperature has no effect without sampling: set @num-samples too"},
        {!sampled && s->top_k != 0, "@top-k has no effect without sampling: set @num-samples too"},
        {!sampled && s->top_p != 0, "@top-p has no effect without sampling: set @num-samples too"},
        {!sampled && is_set(s, rill__setting("seed")), "@seed has no effect without sampling: set @num-samples too"},
        {sampled && grouped, "@beam-groups cannot be combined with @num-samples"},
        {sampled && s->k != s->sample,
         "@beam-size #beam-size differs from @num-samples #num-samples, the number of samples, each of which is one "
         "hypothesis: leave it out"},
        {grouped && s->k % s->groups != 0, "@beam-size #beam-size is not a multiple of @beam-groups #beam-groups"},
        {fixed && m->greedy, "@method greedy cannot be combined with @*"},
        {fixed && s->at_limit == RILL_LIMIT_BEST_ENDED, "@at-limit best-ended cannot be combined with @*"},
        {fixed && s->finish != RILL_FINISH_SHRINK, "@finish cannot be combined with @*"},
        {fixed && s->stop != RILL_STOP_COUNT, "@stop cannot be combined with @*"},
        {fixed && s->keep != RILL_KEEP_ALL, "@keep cannot be combined with @*"},
        {fixed && s->stop_after != s->k, "@stop-after cannot be combined with @*|beam-size"},
        {fixed && set->patience > 0, "@patience cannot be combined with @*"},
        {fixed && s->max_candidates != s->k, "@max-children cannot be combined with @*|beam-size"},
        {fixed && s->min_width > 0, "@min-width cannot be combined with @*"},
        {fixed && s->cube > RILL_CUBE_NONE, "@cube cannot be combined with @*"},
        {fixed && s->exact, "@exact cannot be combined with @*"},
        {fixed && s->certify, "@certify cannot be combined with @*"},
        {fixed && has_heuristics, "heuristics cannot be combined with @*"},
        {sampled && s->n_best > s->sample, "@n-best #n-best is more than @num-samples #num-samples"},
        {!grouped && s->diversity != 0, "@diversity-penalty has no effect without beam groups: set @beam-groups too"},
        {m->greedy && s->k > 1,
         "@beam-size cannot be combined with @method #method, which has a beam of one hypothesis"},
        {!m->finish_free && s->finish != m->finish,
         "@finish cannot be combined with @method #method, which finishes at the top"},
        {!m->pruned && has_heuristics,
         "heuristics cannot be combined with @method #method, which never prunes: use a var- method"},
        {!m->pruned && s->max_candidates != rill__max_children(s),
         "@max-children cannot be combined with @method #method, which never prunes: use a var- method|finish beam-size"},
        {!m->pruned && s->min_width != 0,
         "@min-width cannot be combined with @method #method, which never prunes: use a var- method"},
        {!m->streaming && s->max_items != s->n,
         "@max-in-flight cannot be combined with @method #method, which always holds batch-size inputs|batch-size"},
        {!m->streaming && s->refill > 0,
         "@refill-threshold cannot be combined with @method #method, which admits inputs when the batch is empty"},
        {!m->streaming && s->flush_every != 0,
         "@flush-every cannot be combined with @method #method, which finishes every batch before it admits inputs"},
        {set->patience > 0 && set->stop_after != 0, "@patience cannot be combined with @stop-after"},
        {bound && s->keep != RILL_KEEP_BEST && s->like == 0, "@stop bound and bound-max need @keep best"},
        {bound && s->keep != RILL_KEEP_BEST,
         "@stop bound and bound-max need @keep best; like sets the one that was not given"},
        {s->max_length > 0 && s->max_length_factor == 0 && s->min_length > s->max_length,
         "@min-length #min-length is above @max-length #max-length"},
        {s->exact_rows > 0 && !s->exact, "@exact-rows has no effect without exact search: set @exact too"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].is_broken) return rules[i].message;
    return NULL;
}

/* Write out a message of find_contradiction(), and note the settings that it names. */
static rill_status fail_contradiction(rill_context *ctx, const rill_settings *s, const char *message,
                                      rill__contradiction *found)
{
    char text[512] = "", name[RILL_OPTION_MAX], word[RILL_OPTION_MAX];
    for (size_t length; *message != '\0' && *message != '|'; message += length) {
        const size_t used = strlen(text);
        if (*message != '@' && *message != '#') {
            length = strcspn(message, "@#|");
            snprintf(text + used, sizeof text - used, "%.*s", (int)length, message);
            continue;
        }
        length = 1 + strspn(message + 1, "abcdefghijklmnopqrstuvwxyz-*");
        snprintf(name, sizeof name, "%.*s", (int)length - 1, message + 1);
        if (name[0] == '*') snprintf(name, sizeof name, "%s", s->sample > 0 ? "num-samples" : "beam-groups");
        found->named |= option_bit(rill__setting(name));
        snprintf(text + used, sizeof text - used, "%s",
                 *message == '@' ? rill__option_label(ctx, name, word)
                                 : rill_settings_get(s, rill__setting(name), word));
    }
    for (size_t length; *message == '|' || *message == ' '; message += length + 1) {
        length = strcspn(message + 1, " ");
        snprintf(name, sizeof name, "%.*s", (int)length, message + 1);
        found->involved |= option_bit(rill__setting(name));
    }
    return rill_fail(ctx, RILL_ERR_OPTION, "%s", text);
}

rill_status rill__settings_resolve(rill_context *ctx, rill_settings *settings, int has_heuristics, int budgeted,
                                   rill__contradiction *found)
{
    rill__contradiction own = {0};
    const rill_method_info *m = NULL;
    settings->method[sizeof settings->method - 1] = '\0';
    const rill_settings set = *settings;
    RILL__TRY(find_method(ctx, settings->method, &m));
    RILL__TRY(check_ranges(ctx, settings));
    RILL__TRY(fill(ctx, settings, m, budgeted));
    const char *message = find_contradiction(settings, &set, m, has_heuristics);
    if (message == NULL) return RILL_OK;
    const rill_status status = fail_contradiction(ctx, settings, message, &own);
    const uint64_t preset = settings->given & ~set.given;
    if (((own.named | own.involved) & preset) != 0) own.involved |= option_bit(rill__setting("like"));
    if (found != NULL) *found = own;
    return status;
}

rill_status rill_settings_resolve(rill_context *ctx, rill_settings *settings, int has_heuristics)
{
    rill_settings own;
    RILL__TRY(rill__settings_copy(ctx, &own, settings));
    RILL__TRY(rill__settings_resolve(ctx, &own, has_heuristics, 0, NULL));
    copy_back(settings, &own);
    return RILL_OK;
}
