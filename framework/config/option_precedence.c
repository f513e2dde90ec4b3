/* Option sources, and the search configuration that they make (rules: rill/search_config.h).
 *
 * A setting has the value of the highest source that sets it. Of contradicting values (settings.c), the one from the lowest source is
 * ignored. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"
#include "rill/search_config.h"

enum { MAX_DEFAULTS = 8, IGNORED_BYTES = 512 };

/* A source's list of heuristics, list of scorers, or single scheduler. */
typedef struct chain {
    /* [n] the heuristics, scorers or scheduler; the name and the arguments of each are in one allocated block */
    rill_chain_entry *entry;
    size_t n, capacity;
    int is_set;
} chain;

typedef struct option_value {
    const rill_option *row;
    char *text;       /* the value, and after its NUL the name; one allocated block */
    const char *name; /* the name under which the value was given; may be an alias */
} option_value;

struct rill_option_source {
    rill_context *ctx;
    rill_origin origin;
    /* [n_values] values set by name: of settings, of output and domain options, and of chain options (heuristics, scorers, scheduler) that
     * take one value */
    option_value *value;
    size_t n_values, values_capacity;
    chain chain[RILL_CHAINS];
    rill_budget_fn budget; /* function that replaces the setting max-batch-hypotheses; NULL: none */
    void *budget_user;
    rill_key_fn cube_key; /* function that replaces the default equivalence classes of cube pruning; NULL: none */
    void *cube_key_user;
    const rill_domain *domain; /* domain of the model for which the options are used; NULL: unknown */
    /* [n_worker_copies] the source that each worker uses instead of this one; NULL: the worker has no copy */
    rill_option_source **worker_copy;
    size_t n_worker_copies, worker_copies_capacity;
};

/* A configuration: the public struct, followed by private members. */
typedef struct search_config {
    rill_search_config config; /* public struct, first member; points to setup, resolved and ignored */
    rill_engine_setup setup;
    rill_settings resolved;
    rill_context *ctx;
    char ignored[IGNORED_BYTES];
    /* [n] the sources, highest precedence first: a request's own, the required one, defaults. NULL: an empty source. No option of the first
     * n_firm sources may be dropped */
    const rill_option_source *source[MAX_DEFAULTS + 2];
    int n, n_firm;
    /* NULL, or an owned list: one source's scorers, then n_added from rill_search_config_add_scorer() */
    rill_chain_entry *scorers;
    size_t scorers_capacity;
    int32_t n_added;
} search_config;

/* --- creation and destruction ------------------------------------------------------------------------------------- */

rill_status rill_option_source_create(rill_option_source **out, rill_context *ctx, rill_origin origin)
{
    *out = rill_calloc(ctx, 1, sizeof **out);
    if (*out == NULL) return rill_fail_memory(ctx, sizeof **out, "an option source");
    (*out)->ctx = ctx;
    (*out)->origin = origin;
    return RILL_OK;
}

static void clear_chain(rill_context *ctx, chain *c)
{
    for (size_t i = 0; i < c->n; i++) {
        const char *const name = c->entry[i].name, *const arguments = c->entry[i].arguments;
        rill_free(ctx, (char *)(uintptr_t)name, (size_t)(arguments - name) + strlen(arguments) + 1);
    }
    c->n = 0;
}

void rill_option_source_free(rill_option_source *source)
{
    if (source == NULL) return;
    rill_context *ctx = source->ctx;
    for (size_t i = 0; i < source->n_values; i++) {
        const option_value *v = &source->value[i];
        rill_free(ctx, v->text, (size_t)(v->name - v->text) + strlen(v->name) + 1);
    }
    rill_free(ctx, source->value, source->values_capacity * sizeof *source->value);
    for (int i = 0; i < RILL_CHAINS; i++) {
        clear_chain(ctx, &source->chain[i]);
        rill_free(ctx, source->chain[i].entry, source->chain[i].capacity * sizeof *source->chain[i].entry);
    }
    rill_free(ctx, source->worker_copy, source->worker_copies_capacity * sizeof *source->worker_copy);
    rill_free(ctx, source, sizeof *source);
}

rill_context *rill__source_context(const rill_option_source *source)
{
    return source->ctx;
}

rill_status rill_option_source_set_worker_copy(rill_option_source *source, int32_t worker,
                                               rill_option_source *worker_copy)
{
    const size_t n = (size_t)worker + 1;
    RILL__TRY(
        RILL__GROW(source->ctx, source->worker_copy, source->worker_copies_capacity, n, "workers' option sources"));
    for (; source->n_worker_copies < n; source->n_worker_copies++) source->worker_copy[source->n_worker_copies] = NULL;
    source->worker_copy[worker] = worker_copy;
    return RILL_OK;
}

/* --- setting options ---------------------------------------------------------------------------------------------- */

static const option_value *find_option_value(const rill_option_source *source, const rill_option *row)
{
    for (size_t i = 0; source != NULL && i < source->n_values; i++)
        if (strcmp(source->value[i].row->name, row->name) == 0) return &source->value[i];
    return NULL;
}

static const char *find_value(const rill_option_source *source, const rill_option *row)
{
    const option_value *found = find_option_value(source, row);
    return found != NULL ? found->text : NULL;
}

static rill_status store_value(rill_option_source *source, const rill_option *row, const char *name, const char *value)
{
    const size_t n = source->n_values, length = strlen(value), bytes = length + 1 + strlen(name) + 1;
    RILL__TRY(RILL__GROW(source->ctx, source->value, source->values_capacity, n + 1, "an option source"));
    char *text = rill_alloc(source->ctx, bytes);
    if (text == NULL) return rill_fail_memory(source->ctx, bytes, "an option");
    snprintf(text, bytes, "%s%c%s", value, '\0', name);
    source->value[source->n_values++] = (option_value){row, text, text + length + 1};
    return RILL_OK;
}

/* Append an entry to the source's heuristics or scorers, or replace its scheduler. The entry's arguments are `prefix` + `arguments`. */
static rill_status add_entry(rill_option_source *source, rill_chain which, const char *name, size_t length,
                             const char *prefix, const char *arguments)
{
    rill_context *ctx = source->ctx;
    chain *c = &source->chain[which];
    const size_t bytes = length + 1 + strlen(prefix) + strlen(arguments) + 1;
    if (length == 0) return rill_fail(ctx, RILL_ERR_OPTION, "\":%s\": expected a name before the colon", arguments);
    if (which == RILL_CHAIN_SCHEDULER) clear_chain(ctx, c);
    RILL__TRY(RILL__GROW(ctx, c->entry, c->capacity, c->n + 1, "a chain"));
    char *text = rill_alloc(ctx, bytes);
    if (text == NULL) return rill_fail_memory(ctx, bytes, "an option");
    snprintf(text, bytes, "%.*s", (int)length, name);
    snprintf(text + length + 1, bytes - length - 1, "%s%s", prefix, arguments);
    c->entry[c->n++] = (rill_chain_entry){text, text + length + 1};
    c->is_set = 1;
    return RILL_OK;
}

rill_status rill_option_source_add_to_chain(rill_option_source *source, rill_chain which, const char *name,
                                            const char *arguments)
{
    return add_entry(source, which, name, strlen(name), "", arguments != NULL ? arguments : "");
}

void rill_option_source_set_chain(rill_option_source *source, rill_chain which)
{
    source->chain[which].is_set = 1;
}

/* The heuristic, scorer or scheduler that an option of rill_chain_table() adds. */
typedef struct chain_option {
    const char *option;
    rill_chain chain;
    /* name: the plugin that is added, with arguments `prefix` + the option's value; NULL: the value is "NAME:ARGS" */
    const char *name, *prefix;
    /* 0: each value adds a list entry; else one value, where equal values of this type (2.5 and 2.50) count as one. RILL_OPTION_REAL: a
     * threshold, checked with rill__read_threshold() */
    rill_option_type compared;
} chain_option;

static const chain_option *find_chain_option(const rill_option *row)
{
    static const chain_option options[] = {
        {"prune-absolute", RILL_CHAIN_HEURISTICS, "absolute", "", RILL_OPTION_REAL},
        {"prune-relative", RILL_CHAIN_HEURISTICS, "relative", "", RILL_OPTION_REAL},
        {"prune-relative-local", RILL_CHAIN_HEURISTICS, "relative_local", "", RILL_OPTION_REAL},
        {"heuristic", RILL_CHAIN_HEURISTICS, NULL, "", 0},
        {"scorer", RILL_CHAIN_SCORERS, NULL, "", 0},
        {"lmbr", RILL_CHAIN_SCORERS, "lmbr", "", 0},
        {"lmbr-self", RILL_CHAIN_SCORERS, "lmbr", "self=", 0},
        {"scheduler", RILL_CHAIN_SCHEDULER, NULL, "", RILL_OPTION_TEXT},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (strcmp(options[i].option, row->name) == 0) return &options[i];
    return NULL;
}

static rill_status add_value(rill_option_source *source, const chain_option *option, const char *value)
{
    const size_t length = strcspn(value, ":");
    if (option->name != NULL)
        return add_entry(source, option->chain, option->name, strlen(option->name), option->prefix, value);
    return add_entry(source, option->chain, value, length, "", value[length] != '\0' ? value + length + 1 : "");
}

/* Check an option's value alone. At least one of the domains that have the option must accept it. */
static rill_status check_value(rill_context *ctx, const rill_option *row, const char *value)
{
    rill_settings trial;
    const rill_domain *d;
    rill_settings_default(&trial);
    if (rill__setting(row->name) == row) return rill_settings_set(ctx, &trial, row->name, value);
    for (size_t i = 0; (d = rill_domain_at(ctx, i)) != NULL; i++) {
        const rill_option *other = rill_option_find(d->options, row->name);
        if (other != NULL && rill_option_read(ctx, other, value, NULL) == RILL_OK) return RILL_OK;
    }
    return rill_option_read(ctx, row, value, NULL);
}

/* Fail because an option has the value `old`, and another one under `name`. */
static rill_status fail_given_twice(rill_context *ctx, const option_value *old, const char *name, const char *value)
{
    char old_label[RILL_OPTION_MAX], label[RILL_OPTION_MAX];
    rill__option_label(ctx, old->name, old_label);
    if (strcmp(old_label, rill__option_label(ctx, name, label)) == 0)
        return rill_fail(ctx, RILL_ERR_OPTION, "%s is given twice, \"%s\" and \"%s\"", label, old->text, value);
    return rill_fail(ctx, RILL_ERR_OPTION, "%s \"%s\" and %s \"%s\" are one option, given twice", old_label, old->text,
                     label, value);
}

/* A second, different value of an option is refused, even under an alias. */
static rill_status set_option(rill_option_source *source, const char *name, const char *value)
{
    rill_context *ctx = source->ctx;
    const rill_option *row;
    char label[RILL_OPTION_MAX];
    double threshold;
    RILL__TRY(rill__find_option(ctx, name, 1, &row));
    const chain_option *in_chain = find_chain_option(row);
    if (in_chain != NULL && in_chain->compared == 0) return add_value(source, in_chain, value);
    if (in_chain == NULL) RILL__TRY(check_value(ctx, row, value));
    if (in_chain != NULL && in_chain->compared == RILL_OPTION_REAL)
        RILL__TRY(rill__read_threshold(ctx, in_chain->name, rill__option_label(ctx, name, label), value, &threshold));
    const option_value *const old = find_option_value(source, row);
    if (old == NULL) {
        if (in_chain != NULL) RILL__TRY(add_value(source, in_chain, value));
        return store_value(source, row, name, value);
    }
    rill_option compared = *row;
    if (in_chain != NULL) {
        compared.type = in_chain->compared;
        compared.min = -HUGE_VAL;
        compared.max = HUGE_VAL;
    }
    return rill_option_same_value(&compared, old->text, value) ? RILL_OK : fail_given_twice(ctx, old, name, value);
}

rill_status rill_option_source_set(rill_option_source *source, const char *name, const char *value)
{
    rill_context *ctx = source->ctx;
    const rill_option_style style = ctx->option_style;
    if (source->origin == RILL_FROM_FILE) rill_option_set_style(ctx, RILL_OPTION_UNDERSCORED);
    const rill_status status = set_option(source, name, value);
    rill_option_set_style(ctx, style);
    return status;
}

rill_status rill_option_source_set_all(rill_option_source *source, const char *text)
{
    char name[RILL__PAIR_MAX], *value;
    for (;;) {
        RILL__TRY(rill__next_pair(source->ctx, &text, name, &value));
        if (value == NULL) return RILL_OK;
        RILL__TRY(rill_option_source_set(source, name, value));
    }
}

void rill_option_source_set_budget(rill_option_source *source, rill_budget_fn budget, void *user)
{
    source->budget = budget;
    source->budget_user = user;
}

void rill_option_source_set_cube_key(rill_option_source *source, rill_key_fn key, void *user)
{
    source->cube_key = key;
    source->cube_key_user = user;
}

void rill_option_source_set_domain(rill_option_source *source, const rill_domain *domain)
{
    source->domain = domain;
}

/* --- reading a source --------------------------------------------------------------------------------------------- */

static const char *get_value(const rill_option_source *source, const rill_option *row)
{
    const int is_function = source != NULL && source->budget != NULL && strcmp(row->name, "max-batch-hypotheses") == 0;
    return is_function ? "function" : find_value(source, row);
}

const char *rill_option_source_get(const rill_option_source *source, const char *name)
{
    const rill_option *row = rill_option_row(source->ctx, name);
    return row != NULL && find_chain_option(row) == NULL ? get_value(source, row) : NULL;
}

const char *rill_option_sources_get(const rill_option_source *const *sources, int n, const char *name)
{
    const char *value = NULL;
    for (int i = 0; i < n && value == NULL; i++)
        if (sources[i] != NULL) value = rill_option_source_get(sources[i], name);
    return value;
}

int rill_option_source_has_chain(const rill_option_source *source, rill_chain which)
{
    return source->chain[which].is_set;
}

const rill_chain_entry *rill_option_source_chain(const rill_option_source *source, rill_chain which, int32_t *n)
{
    *n = (int32_t)source->chain[which].n;
    return source->chain[which].entry;
}

int rill_option_source_sets_search(const rill_option_source *source)
{
    int sets_search = source->budget != NULL || source->cube_key != NULL ||
                      source->chain[RILL_CHAIN_HEURISTICS].is_set || source->chain[RILL_CHAIN_SCORERS].is_set;
    for (size_t i = 0; i < source->n_values; i++) sets_search |= rill__setting(source->value[i].row->name) != NULL;
    return sets_search;
}

/* Write the values of domain options to `out`; NULL: only count them. Returns their number. */
static int32_t list_domain_values(const rill_option_source *const *sources, int n, rill_pair *out)
{
    int32_t count = 0;
    for (int i = 0; i < n; i++)
        for (size_t j = 0; sources[i] != NULL && j < sources[i]->n_values; j++) {
            const option_value *v = &sources[i]->value[j];
            if (v->row->kind != RILL_OPTION_MODEL || rill_option_sources_get(sources, i, v->row->name) != NULL)
                continue;
            if (out != NULL) out[count] = (rill_pair){v->row->name, v->text};
            count++;
        }
    return count;
}

rill_status rill_option_sources_domain_values(rill_context *ctx, const rill_option_source *const *sources, int n,
                                              rill_pair **out, int32_t *n_out)
{
    *n_out = list_domain_values(sources, n, NULL);
    *out = NULL;
    if (*n_out == 0) return RILL_OK;
    *out = rill_calloc(ctx, (size_t)*n_out, sizeof **out);
    if (*out == NULL) return rill_fail_memory(ctx, (size_t)*n_out * sizeof **out, "options of a model");
    list_domain_values(sources, n, *out);
    return RILL_OK;
}

/* --- ignored options ---------------------------------------------------------------------------------------------- */

static void append_ignored(search_config *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void append_ignored(search_config *c, const char *format, ...)
{
    const size_t used = strlen(c->ignored), n_free = IGNORED_BYTES - used;
    const int length = RILL__PRINT_ARGUMENTS(rill_print_list, c->ignored + used, n_free, format);
    if (length >= (int)n_free) memcpy(c->ignored + IGNORED_BYTES - 4, "...", 4);
}

/* Record that a setting from a file was left out, spelt as in the file. */
static void note_setting(search_config *c, const rill_option_source *source, const rill_option *row)
{
    char name[RILL_OPTION_MAX];
    if (source->origin == RILL_FROM_FILE)
        append_ignored(c, "%soptions.%s", c->ignored[0] != '\0' ? ", " : "",
                       rill_option_spell(RILL_OPTION_UNDERSCORED, row->name, name));
}

/* Record that a file's list of heuristics or scorers, or its scheduler, was left out with all of its entries. */
static void note_chain(search_config *c, const rill_option_source *source, const char *what, const chain *list)
{
    if (source->origin != RILL_FROM_FILE || list->n == 0) return;
    append_ignored(c, "%s%s", c->ignored[0] != '\0' ? ", " : "", what);
    for (size_t i = 0; i < list->n; i++) {
        const rill_chain_entry *entry = &list->entry[i];
        append_ignored(c, "%s%s%s%s%s", i > 0 ? ", " : " (", entry->name, entry->arguments[0] != '\0' ? ":" : "",
                       entry->arguments, i + 1 == list->n ? ")" : "");
    }
}

/* --- precedence of sources ---------------------------------------------------------------------------------------- */

/* Returns the setting's value in the first of n sources that sets it; NULL: none does. */
static const char *first_value(const search_config *c, int n, const rill_option *row)
{
    const char *value = NULL;
    for (int i = 0; i < n && value == NULL; i++) value = get_value(c->source[i], row);
    return value;
}

/* Whether a higher source sets a preset (`like`), which overrides the search settings of the default source `index`. */
static int is_overridden_by_preset(const search_config *c, int index)
{
    return index >= c->n_firm && first_value(c, index, rill__setting("like")) != NULL;
}

/* Return the index of the first source that sets this list (heuristics, scorers or scheduler); c->n: no source does. */
static int first_with_chain(const search_config *c, rill_chain which)
{
    int i = 0;
    while (i < c->n && (c->source[i] == NULL || !c->source[i]->chain[which].is_set)) i++;
    return i;
}

/* Choose the heuristics. Defaults are dropped if the method does not prune, or with sampling or beam groups. */
static void select_heuristics(search_config *c, const rill_method_info *method)
{
    const char *const sample = first_value(c, c->n, rill__setting("num-samples"));
    const char *const groups = first_value(c, c->n, rill__setting("beam-groups"));
    const int is_fixed = (sample != NULL && rill_read_number(sample, NULL) > 0) ||
                         (groups != NULL && rill_read_number(groups, NULL) > 1);
    const int index = first_with_chain(c, RILL_CHAIN_HEURISTICS);
    if (index == c->n || is_overridden_by_preset(c, index)) return;
    if (index >= c->n_firm && (!method->pruned || is_fixed))
        note_chain(c, c->source[index], "heuristics", &c->source[index]->chain[RILL_CHAIN_HEURISTICS]);
    else
        c->setup.heuristics = rill_option_source_chain(c->source[index], RILL_CHAIN_HEURISTICS, &c->setup.n_heuristics);
}

/* Take scorers, scheduler and user functions from the first source that sets each. A source that sets a method hides the schedulers of
 * lower sources. */
static void select_others(search_config *c)
{
    int has_method = 0, has_budget = 0;
    const int with_scorers = first_with_chain(c, RILL_CHAIN_SCORERS);
    if (with_scorers < c->n)
        c->setup.scorers = rill_option_source_chain(c->source[with_scorers], RILL_CHAIN_SCORERS, &c->setup.n_scorers);
    for (int i = 0; i < c->n; i++) {
        const rill_option_source *source = c->source[i];
        if (source == NULL) continue;
        const chain *scheduler = &source->chain[RILL_CHAIN_SCHEDULER];
        if (c->setup.scheduler == NULL && has_method) note_chain(c, source, "scheduler", scheduler);
        if (c->setup.scheduler == NULL && !has_method && scheduler->n > 0) c->setup.scheduler = scheduler->entry;
        has_method |= find_value(source, rill__setting("method")) != NULL;
        if (!has_budget && get_value(source, rill__setting("max-batch-hypotheses")) != NULL) {
            c->setup.budget = source->budget;
            c->setup.budget_user = source->budget_user;
            has_budget = 1;
        }
        if (c->setup.cube_key == NULL) {
            c->setup.cube_key = source->cube_key;
            c->setup.cube_key_user = source->cube_key_user;
        }
    }
}

/* Whether the row is `finish`, set by a source that also sets another method than the one in use. Such a `finish` is left out. */
static int is_for_other_method(const search_config *c, const rill_option_source *source, const rill_option *row)
{
    const char *own = find_value(source, rill__setting("method"));
    return row == rill__setting("finish") && own != NULL && strcmp(own, c->setup.settings.method) != 0;
}

static void use_domains(const search_config *c, rill_settings *settings)
{
    for (int i = 0; i < c->n; i++)
        if (c->source[i] != NULL) rill__settings_use_domain(settings, c->source[i]->domain);
}

/* If settings contradict each other, choose an option of the bit set `candidates` to leave out: the last one that the error message names,
 * else the last other one involved. Returns its bit; 0: none. */
static uint64_t find_default_to_leave_out(const search_config *c, uint64_t candidates)
{
    rill_settings resolved = c->setup.settings;
    rill__contradiction found = {0};
    use_domains(c, &resolved);
    if (rill__settings_resolve(c->ctx, &resolved, c->setup.n_heuristics > 0, 0, &found) >= 0) return 0;
    const uint64_t involved = (found.named & candidates) != 0 ? found.named & candidates : found.involved & candidates;
    return involved != 0 ? UINT64_C(1) << (63 - __builtin_clzll(involved)) : 0;
}

/* Apply a source's settings that no higher source sets. Defaults that cause contradictions are left out, one at a time. */
static rill_status apply_source(search_config *c, int index)
{
    const rill_option_source *source = c->source[index];
    const rill_option *const table = rill_setting_table();
    const rill_settings before = c->setup.settings;
    const int is_firm = index < c->n_firm;
    uint64_t wanted = 0, left_out = 0, victim = 0;
    for (int i = 0; table[i].name != NULL; i++) {
        const rill_option *row = &table[i];
        if (find_value(source, row) == NULL || first_value(c, index, row) != NULL || row == rill__setting("method"))
            continue;
        if (row->kind == RILL_OPTION_SEARCH && is_overridden_by_preset(c, index)) continue;
        if (!is_firm && is_for_other_method(c, source, row))
            note_setting(c, source, row);
        else
            wanted |= UINT64_C(1) << i;
    }
    do {
        left_out |= victim;
        c->setup.settings = before;
        for (int i = 0; table[i].name != NULL; i++)
            if ((wanted & ~left_out) >> i & 1)
                RILL__TRY(rill_settings_set(c->ctx, &c->setup.settings, table[i].name, find_value(source, &table[i])));
    } while (!is_firm && (victim = find_default_to_leave_out(c, wanted & ~left_out)) != 0);
    if (is_firm) return RILL_OK;
    for (int i = 0; table[i].name != NULL; i++)
        if (left_out >> i & 1) note_setting(c, source, &table[i]);
    rill_error_clear(c->ctx);
    return RILL_OK;
}

static rill_status combine(search_config *c)
{
    const char *method = first_value(c, c->n, rill__setting("method"));
    if (method == NULL) method = c->setup.settings.method;
    RILL__TRY(rill_settings_set(c->ctx, &c->setup.settings, "method", method));
    select_heuristics(c, rill__find_method(method));
    select_others(c);
    for (int i = 0; i < c->n; i++) RILL__TRY(apply_source(c, i));
    use_domains(c, &c->setup.settings);
    c->resolved = c->setup.settings;
    return rill__settings_resolve(c->ctx, &c->resolved, c->setup.n_heuristics > 0, c->setup.budget != NULL, NULL);
}

/* --- making the configuration ------------------------------------------------------------------------------------- */

void rill_search_config_free(rill_search_config *config)
{
    search_config *c = (search_config *)config;
    if (c == NULL) return;
    rill_free(c->ctx, c->scorers, c->scorers_capacity * sizeof *c->scorers);
    rill_free(c->ctx, c, sizeof *c);
}

/* Combine `first` and n other sources, highest precedence first. No option of the first n_firm sources may be dropped. */
static rill_status make(rill_search_config **out, rill_context *ctx, const rill_option_source *first,
                        const rill_option_source *const *others, int n, int n_firm)
{
    const int n_soft = n - (n_firm - 1);
    *out = NULL;
    if (n_soft > MAX_DEFAULTS)
        return rill_fail(ctx, RILL_ERR_ARGUMENT, "%d option sources: at most %d can be combined", n_soft, MAX_DEFAULTS);
    search_config *c = rill_calloc(ctx, 1, sizeof *c);
    if (c == NULL) return rill_fail_memory(ctx, sizeof *c, "a search configuration");
    *out = &c->config;
    c->ctx = ctx;
    c->n = n + 1;
    c->n_firm = n_firm;
    c->source[0] = first;
    if (n > 0) memcpy(c->source + 1, others, (size_t)n * sizeof *others);
    c->config = (rill_search_config){.setup = &c->setup, .resolved = &c->resolved, .ignored = c->ignored};
    rill_engine_setup_default(&c->setup);
    const rill_option_style style = ctx->option_style;
    const rill_option_source *required = c->source[n_firm - 1];
    if (required != NULL && required->origin == RILL_FROM_FILE) rill_option_set_style(ctx, RILL_OPTION_UNDERSCORED);
    const rill_status status = combine(c);
    rill_option_set_style(ctx, style);
    return RILL_OPENED(status, out, rill_search_config_free);
}

rill_status rill_search_config_make(rill_search_config **out, rill_context *ctx, const rill_option_source *firm,
                                    const rill_option_source *const *soft, int n)
{
    return make(out, ctx, firm, soft, n, 1);
}

rill_status rill_option_source_check(const rill_option_source *source)
{
    static const rill__table_kind kinds[RILL_CHAINS] = {RILL__HEURISTIC, RILL__SCORER, RILL__SCHEDULER};
    rill_search_config *alone;
    for (int which = 0; which < RILL_CHAINS; which++)
        for (size_t i = 0; i < source->chain[which].n; i++)
            RILL__TRY(rill__check_registered(source->ctx, kinds[which], source->chain[which].entry[i].name));
    const rill_status status = rill_search_config_make(&alone, source->ctx, source, NULL, 0);
    rill_search_config_free(alone);
    return status;
}

static int same_chain(const rill_chain_entry *a, int32_t n, const rill_chain_entry *b, int32_t m)
{
    for (int32_t i = 0; i < n && n == m; i++)
        if (strcmp(a[i].name, b[i].name) != 0 || strcmp(a[i].arguments, b[i].arguments) != 0) return 0;
    return n == m;
}

/* Refuse a request whose heuristics differ from the run's. Sampling and beam groups are accepted: they ignore heuristics. */
static rill_status check_heuristics(const rill_engine_setup *run, const search_config *c)
{
    const rill_engine_setup *own = &c->setup;
    if (same_chain(run->heuristics, run->n_heuristics, own->heuristics, own->n_heuristics)) return RILL_OK;
    if (own->settings.sample > 0 || own->settings.groups > 1) return RILL_OK;
    return rill_fail(c->ctx, RILL_ERR_OPTION,
                     "%s removes the heuristics of this run (%s), which all inputs share: set it for the whole run",
                     get_value(c->source[0], rill__setting("like")) != NULL ? "like" : "heuristics",
                     run->n_heuristics > 0 ? run->heuristics[0].name : "none");
}

rill_status rill_search_config_request(rill_search_config **out, const rill_search_config *run, rill_context *ctx,
                                       const rill_option_source *own, int gives_way)
{
    const search_config *of_run = (const search_config *)run;
    RILL__TRY(make(out, ctx, own, of_run->source, of_run->n, gives_way ? 1 : 2));
    return RILL_OPENED(check_heuristics(run->setup, (const search_config *)*out), out, rill_search_config_free);
}

rill_status rill_search_config_add_scorer(rill_search_config *config, const char *name, const char *arguments)
{
    search_config *c = (search_config *)config;
    rill_engine_setup *setup = config->setup;
    const size_t n = (size_t)setup->n_scorers;
    const int borrowed = c->scorers == NULL;
    RILL__TRY(RILL__GROW(c->ctx, c->scorers, c->scorers_capacity, n + 1, "a chain"));
    if (borrowed && n > 0) memcpy(c->scorers, setup->scorers, n * sizeof *c->scorers);
    c->scorers[n] = (rill_chain_entry){name, arguments};
    setup->scorers = c->scorers;
    setup->n_scorers++;
    c->n_added++;
    return RILL_OK;
}

rill_status rill_search_config_worker_copy(const rill_search_config *config, rill_context *ctx, int32_t worker,
                                           rill_search_config **out)
{
    const search_config *c = (const search_config *)config;
    const rill_option_source *sources[MAX_DEFAULTS + 2];
    int has_copies = 0;
    *out = NULL;
    for (int i = 0; i < c->n; i++) {
        sources[i] = c->source[i];
        if (sources[i] == NULL || (size_t)worker >= sources[i]->n_worker_copies) continue;
        if (sources[i]->worker_copy[worker] == NULL) continue;
        sources[i] = sources[i]->worker_copy[worker];
        has_copies = 1;
    }
    if (!has_copies) return RILL_OK;
    rill_status status = make(out, ctx, sources[0], sources + 1, c->n - 1, c->n_firm);
    for (int32_t i = c->setup.n_scorers - c->n_added; i < c->setup.n_scorers && status == RILL_OK; i++)
        status = rill_search_config_add_scorer(*out, c->scorers[i].name, c->scorers[i].arguments);
    return RILL_OPENED(status, out, rill_search_config_free);
}

int rill_search_config_same_search(const rill_search_config *a, const rill_search_config *b)
{
    char x[RILL_OPTION_MAX], y[RILL_OPTION_MAX];
    const rill_engine_setup *s = a->setup, *t = b->setup;
    for (const rill_option *row = rill_setting_table(); row->name != NULL; row++)
        if (row->kind != RILL_OPTION_SCHEDULE &&
            /* n-best may differ: it only changes how many outputs of the search are returned */
            row != rill__setting("n-best") &&
            strcmp(rill_settings_get(a->resolved, row, x), rill_settings_get(b->resolved, row, y)) != 0)
            return 0;
    return same_chain(s->heuristics, s->n_heuristics, t->heuristics, t->n_heuristics) &&
           same_chain(s->scorers, s->n_scorers, t->scorers, t->n_scorers);
}
