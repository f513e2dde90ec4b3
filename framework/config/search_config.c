/* Combining option sources into a setup; see rill/search_config.h for the rules.
 *
 * Whether a default fits a method is not decided by a list here, which would become outdated: each soft setting is tried, and kept when
 * rill_settings_resolve() accepts the result.
 *
 * Divisions: dropped options · chains · settings · the whole. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "option_sources.h"

enum { MAX_DEFAULTS = 8, IGNORED_BYTES = 512 };
/* Indexes of option sources, highest precedence first: OWN is a request's own source; FIRM has options that must fit the
 * method; from 0 on, soft sources have defaults, which are dropped if they do not fit. NOWHERE: no source. */
enum { OWN = -2, FIRM = -1, NOWHERE = INT_MAX };

/* A configuration: the public struct, followed by private members. */
typedef struct search_config {
    rill_search_config config; /* must be the first member; points to the members setup, resolved and ignored */
    rill_engine_setup setup;
    rill_settings resolved;
    rill_context *ctx;
    char ignored[IGNORED_BYTES];
    /* own: the source of a request, firm too; NULL in the configuration of a run */
    const rill_option_source *own, *required, *defaults[MAX_DEFAULTS];
    int n;
    /* NULL, or an owned list: a source's scorers, then n_added from rill_search_config_add_scorer() */
    rill_chain_entry *scorers;
    size_t scorers_capacity;
    int32_t n_added;
} search_config;

static const rill_option *setting_row(const char *name)
{
    return rill_option_find(rill_setting_table(), name);
}

static const rill_option_source *get_source(const search_config *p, int index)
{
    return index == OWN ? p->own : index == FIRM ? p->required : p->defaults[index];
}

/* The value of a setting in the first source that sets it, of those with higher precedence than soft[index]; NULL: none
 * sets it. A budget function has the value "function". */
static const char *nearer_value(const search_config *p, int index, const rill_option *row)
{
    const char *value = NULL;
    for (int i = OWN; i < index && value == NULL; i++)
        if (get_source(p, i) != NULL) value = rill_option_source_get(get_source(p, i), row->name);
    return value;
}

static int has_chain(const rill_option_source *layer, rill_chain chain)
{
    return layer != NULL && layer->chain[chain].is_set;
}

/* Whether a source with higher precedence than soft[index] sets a preset (`like`). The preset then overrides the search
 * settings of soft[index], but not its schedule. */
static int preset_is_nearer(const search_config *p, int index)
{
    return nearer_value(p, index, setting_row("like")) != NULL;
}

/* --- dropped options ---------------------------------------------------------------------------------------------- */

/* Append a dropped option to `ignored` if its source is a file; spelt with underscores, as in the file. */
static void note_ignored(search_config *p, const rill_option_source *layer, const char *what, const char *name)
{
    const size_t used = strlen(p->ignored);
    if (layer->origin != RILL_FROM_FILE) return;
    const int from = snprintf(p->ignored + used, IGNORED_BYTES - used, "%s%s", used > 0 ? ", " : "", what);
    if (from <= 0 || used + (size_t)from >= IGNORED_BYTES) return;
    char *text = p->ignored + used + from;
    snprintf(text, IGNORED_BYTES - used - (size_t)from, "%s", name);
    for (; *text != '\0'; text++)
        if (*text == '-') *text = '_';
}

/* Append a dropped chain with all of its entries to `ignored` if its source is a file. */
static void note_chain_ignored(search_config *p, const rill_option_source *layer, const char *what,
                               const rill__chain *chain)
{
    size_t used;
    note_ignored(p, layer, what, "");
    if (layer->origin != RILL_FROM_FILE) return;
    for (size_t i = 0; i < chain->n && (used = strlen(p->ignored)) + 1 < IGNORED_BYTES; i++) {
        const rill_chain_entry *entry = &chain->entry[i];
        const size_t n_free = IGNORED_BYTES - used;
        const int n = snprintf(p->ignored + used, n_free, "%s%s%s%s%s", i > 0 ? ", " : " (", entry->name,
                               entry->arguments[0] != '\0' ? ":" : "", entry->arguments, i + 1 == chain->n ? ")" : "");
        if (n >= (int)n_free) memcpy(p->ignored + IGNORED_BYTES - 4, "...", 4);
    }
}

/* --- chains ------------------------------------------------------------------------------------------------------- */

static int same_chain(const rill_chain_entry *a, int32_t n, const rill_chain_entry *b, int32_t m)
{
    for (int32_t i = 0; i < n && n == m; i++)
        if (strcmp(a[i].name, b[i].name) != 0 || strcmp(a[i].arguments, b[i].arguments) != 0) return 0;
    return n == m;
}

static const rill_method_info *find_method(const char *name)
{
    const rill_method_info *m = rill_method_table();
    while (m->name != NULL && strcmp(m->name, name) != 0) m++;
    return m->name != NULL ? m : NULL;
}

/* Index of the first source that has the chain; NOWHERE: none. */
static int nearest_with_chain(const search_config *p, rill_chain chain)
{
    for (int i = OWN; i < p->n; i++)
        if (has_chain(get_source(p, i), chain)) return i;
    return NOWHERE;
}

static void select_heuristics(search_config *p, int pruned)
{
    const int index = nearest_with_chain(p, RILL_CHAIN_HEURISTICS);
    if (index == NOWHERE || (index >= 0 && preset_is_nearer(p, index))) return;
    const rill__chain *chain = &get_source(p, index)->chain[RILL_CHAIN_HEURISTICS];
    if (index >= 0 && !pruned) {
        if (chain->n > 0) note_chain_ignored(p, get_source(p, index), "heuristics", chain);
        return;
    }
    p->setup.heuristics = chain->entry;
    p->setup.n_heuristics = (int32_t)chain->n;
}

static void select_scorers(search_config *p)
{
    const int index = nearest_with_chain(p, RILL_CHAIN_SCORERS);
    if (index == NOWHERE) return;
    p->setup.scorers = get_source(p, index)->chain[RILL_CHAIN_SCORERS].entry;
    p->setup.n_scorers = (int32_t)get_source(p, index)->chain[RILL_CHAIN_SCORERS].n;
}

/* Use the first scheduler that a source sets, unless a source with higher precedence sets the method: choosing a method
 * also chooses its scheduler. */
static void select_scheduler(search_config *p)
{
    int replaced = 0;
    for (int i = OWN; i < p->n && p->setup.scheduler == NULL; i++) {
        const rill_option_source *layer = get_source(p, i);
        if (layer == NULL) continue;
        const rill__chain *chain = &layer->chain[RILL_CHAIN_SCHEDULER];
        if (chain->n > 0 && !replaced) p->setup.scheduler = &chain->entry[0];
        if (chain->n > 0 && replaced) note_chain_ignored(p, layer, "scheduler", chain);
        replaced |= rill__source_value(layer, setting_row("method")) != NULL;
    }
}

/* Use the budget function of the first source that sets a budget. */
static void select_budget(search_config *p)
{
    for (int i = OWN; i < p->n; i++) {
        const rill_option_source *layer = get_source(p, i);
        if (layer == NULL || rill_option_source_get(layer, "max-batch-hypotheses") == NULL) continue;
        p->setup.budget = layer->budget;
        p->setup.budget_user = layer->budget_user;
        return;
    }
}

static void select_cube_key(search_config *p)
{
    for (int i = p->n - 1; i >= OWN; i--) {
        const rill_option_source *layer = get_source(p, i);
        if (layer == NULL || layer->cube_key == NULL) continue;
        p->setup.cube_key = layer->cube_key;
        p->setup.cube_key_user = layer->cube_key_user;
    }
}

/* --- settings ----------------------------------------------------------------------------------------------------- */

static rill_status apply_required(search_config *p, const char *method)
{
    rill_settings *settings = &p->setup.settings;
    rill_status status = rill_settings_set(p->ctx, settings, "method", method);
    for (const rill_option *row = rill_setting_table(); row->name != NULL && status == RILL_OK; row++) {
        const char *value = p->own != NULL ? rill__source_value(p->own, row) : NULL;
        if (value == NULL) value = rill__source_value(p->required, row);
        if (value != NULL) status = rill_settings_set(p->ctx, settings, row->name, value);
    }
    return status;
}

/* Whether the setting is `finish` and its source sets it for another method than the one in use. It is ignored then:
 * "top" meant for var-stream must not change the search of the method fixed. */
static int is_for_other_method(const rill_option_source *layer, const rill_option *row, const char *method)
{
    const char *own = rill__source_value(layer, setting_row("method"));
    return strcmp(row->name, "finish") == 0 && own != NULL && strcmp(own, method) != 0;
}

/* Apply the setting if the configuration stays valid with it; returns 1 if it was applied, else 0. */
static int try_setting(search_config *p, const char *name, const char *value)
{
    rill_settings with = p->setup.settings;
    if (rill_settings_set(p->ctx, &with, name, value) < 0) return 0;
    rill_settings trial = with;
    if (rill_settings_resolve(p->ctx, &trial, p->setup.n_heuristics > 0) < 0) return 0;
    p->setup.settings = with;
    return 1;
}

/* Apply the settings of soft[index] that fit and are not set yet, in rounds, since one setting may require a later one. */
static void apply_defaults(search_config *p, int index)
{
    const rill_option_source *layer = p->defaults[index];
    const rill_option *wanted[64];
    int n = 0;
    if (layer == NULL) return;
    for (const rill_option *row = rill_setting_table(); row->name != NULL; row++) {
        if (rill__source_value(layer, row) == NULL || nearer_value(p, index, row) != NULL ||
            row == setting_row("method"))
            continue;
        if (row->kind == RILL_OPTION_SEARCH && preset_is_nearer(p, index)) continue;
        if (is_for_other_method(layer, row, p->setup.settings.method))
            note_ignored(p, layer, "options.", row->name);
        else
            wanted[n++] = row;
    }
    for (int old_n = n + 1; n < old_n;) {
        int rest = 0;
        old_n = n;
        for (int i = 0; i < n; i++)
            if (!try_setting(p, wanted[i]->name, rill__source_value(layer, wanted[i]))) wanted[rest++] = wanted[i];
        n = rest;
    }
    for (int i = 0; i < n; i++) note_ignored(p, layer, "options.", wanted[i]->name);
    rill_error_clear(p->ctx);
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

/* Parse an integer as rill_option_read() does: 1e1 is 10. */
static int read_int(const char *value)
{
    return (int)rill_read_number(value, NULL);
}

/* The method decides which soft options are kept, so it is determined first; so are sampling and beam groups. */
static rill_status compose_sources(search_config *p)
{
    rill_settings defaults;
    rill_settings_default(&defaults);
    const char *method = nearer_value(p, p->n, setting_row("method"));
    if (method == NULL) method = defaults.method;
    const rill_method_info *info = find_method(method);
    const char *sample = nearer_value(p, p->n, setting_row("num-samples")),
               *groups = nearer_value(p, p->n, setting_row("beam-groups"));
    const int divided = (sample != NULL && read_int(sample) > 0) || (groups != NULL && read_int(groups) > 1);
    select_heuristics(p, info != NULL && info->pruned && !divided);
    select_scorers(p);
    select_scheduler(p);
    RILL__TRY(apply_required(p, method));
    for (int i = 0; i < p->n; i++) apply_defaults(p, i);
    select_budget(p);
    select_cube_key(p);
    p->resolved = p->setup.settings;
    return rill__settings_resolve(p->ctx, &p->resolved, p->setup.n_heuristics > 0, p->setup.budget != NULL);
}

static rill_status make(search_config **out, rill_context *ctx, const rill_option_source *own,
                        const rill_option_source *firm, const rill_option_source *const *soft, int n)
{
    *out = NULL;
    if (n > MAX_DEFAULTS)
        return rill_fail(ctx, RILL_ERR_ARGUMENT, "%d option sources: at most %d can be combined", n, MAX_DEFAULTS);
    search_config *p = rill_calloc(ctx, 1, sizeof *p);
    if (p == NULL) return rill_fail_memory(ctx, sizeof *p, "a plan");
    p->ctx = ctx;
    p->own = own;
    p->required = firm;
    p->n = n;
    for (int i = 0; i < n; i++) p->defaults[i] = soft[i];
    p->config = (rill_search_config){.setup = &p->setup, .resolved = &p->resolved, .ignored = p->ignored};
    rill_engine_setup_default(&p->setup);
    const rill_option_style style = ctx->option_style;
    if (firm != NULL && firm->origin == RILL_FROM_FILE) rill_option_set_style(ctx, RILL_OPTION_UNDERSCORED);
    const rill_status status = compose_sources(p);
    rill_option_set_style(ctx, style);
    if (status < 0)
        rill_free(ctx, p, sizeof *p);
    else
        *out = p;
    return status;
}

rill_status rill_search_config_make(rill_search_config **out, rill_context *ctx, const rill_option_source *required,
                                    const rill_option_source *const *defaults, int n)
{
    search_config *p;
    const rill_status status = make(&p, ctx, NULL, required, defaults, n);
    *out = status < 0 ? NULL : &p->config;
    return status;
}

/* Heuristics belong to the run. A request can only disable them by sampling or beam groups. */
static rill_status check_heuristics(const search_config *run, const search_config *p)
{
    const rill_engine_setup *all = &run->setup, *own = &p->setup;
    if (same_chain(all->heuristics, all->n_heuristics, own->heuristics, own->n_heuristics)) return RILL_OK;
    if (own->settings.sample > 0 || own->settings.groups > 1) return RILL_OK;
    return rill_fail(p->ctx, RILL_ERR_OPTION,
                     "%s removes the heuristics of this run (%s), which all inputs share: set it for the whole run",
                     rill_option_source_get(p->own, "like") != NULL ? "like" : "heuristics",
                     all->n_heuristics > 0 ? all->heuristics[0].name : "none");
}

rill_status rill_search_config_request(rill_search_config **out, const rill_search_config *run, rill_context *ctx,
                                       const rill_option_source *own, int gives_way)
{
    const search_config *run_config = (const search_config *)run;
    const rill_option_source *soft[MAX_DEFAULTS + 1] = {run_config->required};
    search_config *p;
    memcpy(soft + 1, run_config->defaults, (size_t)run_config->n * sizeof *soft);
    *out = NULL;
    RILL__TRY(make(&p, ctx, gives_way ? NULL : own, gives_way ? own : run_config->required, soft + !gives_way,
                   run_config->n + gives_way));
    p->own = own; /* the request's options, for messages */
    const rill_status status = check_heuristics(run_config, p);
    if (status < 0)
        rill_free(ctx, p, sizeof *p);
    else
        *out = &p->config;
    return status;
}

void rill_search_config_free(rill_search_config *config)
{
    search_config *p = (search_config *)config;
    if (p == NULL) return;
    rill_free(p->ctx, p->scorers, p->scorers_capacity * sizeof *p->scorers);
    rill_free(p->ctx, p, sizeof *p);
}

rill_status rill_search_config_add_scorer(rill_search_config *config, const char *name, const char *arguments)
{
    search_config *p = (search_config *)config;
    rill_engine_setup *setup = config->setup;
    const size_t n = (size_t)setup->n_scorers;
    const int borrowed = p->scorers == NULL;
    RILL__TRY(RILL__GROW(p->ctx, p->scorers, p->scorers_capacity, n + 1, "a chain"));
    if (borrowed && n > 0) memcpy(p->scorers, setup->scorers, n * sizeof *p->scorers);
    p->scorers[n] = (rill_chain_entry){name, arguments};
    setup->scorers = p->scorers;
    setup->n_scorers++;
    p->n_added++;
    return RILL_OK;
}

/* Copy the scorers that were added to a configuration to a worker's copy. */
static rill_status copy_added_scorers(const search_config *p, rill_search_config *worker_copy)
{
    for (int32_t i = p->setup.n_scorers - p->n_added; i < p->setup.n_scorers; i++)
        RILL__TRY(rill_search_config_add_scorer(worker_copy, p->scorers[i].name, p->scorers[i].arguments));
    return RILL_OK;
}

static const rill_option_source *find_worker_copy(const rill_option_source *layer, int32_t worker)
{
    return layer != NULL && (size_t)worker < layer->n_worker_copies ? layer->worker_copy[worker] : NULL;
}

rill_status rill_search_config_worker_copy(const rill_search_config *config, rill_context *ctx, int32_t worker,
                                           rill_search_config **out)
{
    const search_config *p = (const search_config *)config;
    const rill_option_source *defaults[MAX_DEFAULTS];
    int has_copies = 0;
    *out = NULL;
    for (int i = 0; i < p->n; i++) {
        const rill_option_source *worker_copy = find_worker_copy(p->defaults[i], worker);
        has_copies |= worker_copy != NULL;
        defaults[i] = worker_copy != NULL ? worker_copy : p->defaults[i];
    }
    if (!has_copies) return RILL_OK;
    RILL__TRY(rill_search_config_make(out, ctx, p->required, defaults, p->n));
    const rill_status status = copy_added_scorers(p, *out);
    if (status >= 0) return RILL_OK;
    rill_search_config_free(*out);
    *out = NULL;
    return status;
}

int rill_search_config_same_search(const rill_search_config *a, const rill_search_config *b)
{
    char x[RILL_OPTION_MAX], y[RILL_OPTION_MAX];
    const rill_engine_setup *s = a->setup, *t = b->setup;
    for (const rill_option *row = rill_setting_table(); row->name != NULL; row++)
        if (row->kind != RILL_OPTION_SCHEDULE &&
            row != setting_row("n-best") && /* more or fewer outputs of the same search */
            strcmp(rill_settings_get(a->resolved, row, x), rill_settings_get(b->resolved, row, y)) != 0)
            return 0;
    return same_chain(s->heuristics, s->n_heuristics, t->heuristics, t->n_heuristics) &&
           same_chain(s->scorers, s->n_scorers, t->scorers, t->n_scorers);
}
