/* Option sources: the options of one source, such as a command line; see rill/search_config.h. search_config.c combines several
 * sources. */
#include "option_sources.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- texts -------------------------------------------------------------------------------------------------------- */

static char *copy_text(rill_context *ctx, const char *text, size_t length)
{
    char *copy = rill_alloc(ctx, length + 1);
    if (copy == NULL) {
        rill_fail_memory(ctx, length + 1, "an option");
        return NULL;
    }
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

static void free_text(rill_context *ctx, const char *text)
{
    if (text != NULL) rill_free(ctx, (char *)(uintptr_t)text, strlen(text) + 1);
}

/* --- creation and destruction ------------------------------------------------------------------------------------- */

rill_status rill_option_source_create(rill_option_source **out, rill_context *ctx, rill_origin origin)
{
    *out = rill_calloc(ctx, 1, sizeof **out);
    if (*out == NULL) return rill_fail_memory(ctx, sizeof **out, "a layer of options");
    (*out)->ctx = ctx;
    (*out)->origin = origin;
    return RILL_OK;
}

static void clear_chain(rill_context *ctx, rill__chain *chain)
{
    for (size_t i = 0; i < chain->n; i++) {
        free_text(ctx, chain->entry[i].name);
        free_text(ctx, chain->entry[i].arguments);
    }
    chain->n = 0;
}

void rill_option_source_free(rill_option_source *layer)
{
    if (layer == NULL) return;
    rill_context *ctx = layer->ctx;
    for (size_t i = 0; i < sizeof layer->value / sizeof *layer->value; i++) free_text(ctx, layer->value[i]);
    for (size_t i = 0; i < RILL__CHAIN_OPTIONS; i++) free_text(ctx, layer->chain_value[i]);
    for (size_t i = 0; i < layer->n_options; i++) {
        free_text(ctx, layer->option[i].name);
        free_text(ctx, layer->option[i].value);
    }
    rill_free(ctx, layer->option, layer->options_capacity * sizeof *layer->option);
    for (int i = 0; i < RILL_CHAINS; i++) {
        clear_chain(ctx, &layer->chain[i]);
        rill_free(ctx, layer->chain[i].entry, layer->chain[i].capacity * sizeof *layer->chain[i].entry);
    }
    rill_free(ctx, layer->worker_copy, layer->worker_copies_capacity * sizeof *layer->worker_copy);
    rill_free(ctx, layer, sizeof *layer);
}

rill_status rill_option_source_set_worker_copy(rill_option_source *layer, int32_t worker,
                                               rill_option_source *worker_copy)
{
    const size_t n = (size_t)worker + 1;
    RILL__TRY(RILL__GROW(layer->ctx, layer->worker_copy, layer->worker_copies_capacity, n, "layers of workers"));
    for (; layer->n_worker_copies < n; layer->n_worker_copies++) layer->worker_copy[layer->n_worker_copies] = NULL;
    layer->worker_copy[worker] = worker_copy;
    return RILL_OK;
}

/* --- chains ------------------------------------------------------------------------------------------------------- */

#define TYPED_ROW(name, aliases, argument, type, kind, help)                               \
    {                                                                                      \
        name, argument, "", help, RILL_OPTION_##type, RILL_OPTION_##kind, 0, 0, 0, aliases \
    }
#define ROW(name, argument, kind, help) TYPED_ROW(name, NULL, argument, TEXT, kind, help)
#define PRUNE "prune-" /* followed by the heuristic's name */
static const rill_option CHAIN_OPTIONS[] = {
    TYPED_ROW(PRUNE "absolute", "absolute", "D", TEXT, SEARCH, "drop candidates more than D below the best"),
    TYPED_ROW(PRUNE "relative", "relative", "R", TEXT, SEARCH,
              "drop candidates with less than R times the best's probability"),
    TYPED_ROW(PRUNE "relative-local", "relative-local", "R", TEXT, SEARCH,
              "drop candidates whose last action has less than R times the probability of the item's best last "
              "action"),
    ROW("heuristic", "NAME:ARGS", SEARCH,
        "add a heuristic of `rill list heuristics`; may be repeated; all apply in the order given, prune-* included"),
    ROW("scorer", "NAME:ARGS", SEARCH, "add a scorer of `rill list scorers`; may be repeated"),
    TYPED_ROW(
        "lmbr", NULL, "FILE[,NAME=X...]", PATH, SEARCH,
        "reward n-grams by their posteriors in FILE, made by `rill evidence`; docs/guides/lmbr.md explains lambda, "
        "T, p, r and theta"),
    ROW("lmbr-self", "N[,NAME=X...]", SEARCH,
        "reward n-grams by their posteriors among the input's N best outputs; decodes every input twice"),
    TYPED_ROW("scheduler", "policy", "NAME[:ARGS]", TEXT, SCHEDULE, "use this scheduler instead of the method's"),
    {0},
};

_Static_assert(sizeof CHAIN_OPTIONS / sizeof *CHAIN_OPTIONS <= RILL__CHAIN_OPTIONS, "a source has a value for each");

const rill_option *rill_chain_table(void)
{
    return CHAIN_OPTIONS;
}

#define OUTPUT(name, argument, type, help)                                              \
    {                                                                                   \
        name, argument, "", help, RILL_OPTION_##type, RILL_OPTION_OUTPUT, 0, 1, 0, NULL \
    }
static const rill_option OUTPUT_OPTIONS[] = {
    OUTPUT("alignment", "[=FORM]", TEXT,
           "append \" ||| \" and the alignment with the input to each output; FORM: hard (default), soft or a share"),
    OUTPUT("word-scores", "", SWITCH,
           "append \" ||| WordScores=\" and the log-probability of each token to each output"),
    OUTPUT("unknown-names", "", SWITCH,
           "append \" ||| \" and the input's names that the model does not know to each output"),
    OUTPUT("ids", "", SWITCH, "write token ids, as in `rill list actions`, in place of texts"),
    OUTPUT("split", "HOW", TEXT,
           "decode inputs sentence by sentence and join the outputs; auto (default): inputs longer than the "
           "translation model's training sentences; sentences: all; off: none"),
    OUTPUT("pretty", "", SWITCH, "write trees indented, one constituent per line"),
    {0},
};

const rill_option *rill_output_table(void)
{
    return OUTPUT_OPTIONS;
}

static rill_status append_to_chain(rill_context *ctx, rill__chain *chain, const char *name, size_t length,
                                   const char *arguments)
{
    if (length == 0) return rill_fail(ctx, RILL_ERR_OPTION, "\":%s\": expected a name before the colon", arguments);
    RILL__TRY(RILL__GROW(ctx, chain->entry, chain->capacity, chain->n + 1, "a chain"));
    rill_chain_entry *entry = &chain->entry[chain->n];
    entry->name = copy_text(ctx, name, length);
    entry->arguments = copy_text(ctx, arguments, strlen(arguments));
    if (entry->name != NULL && entry->arguments != NULL) {
        chain->n++;
        chain->is_set = 1;
        return RILL_OK;
    }
    free_text(ctx, entry->name);
    free_text(ctx, entry->arguments);
    return RILL_ERR_MEMORY;
}

static rill_status add_to_chain(rill_option_source *layer, rill_chain chain, const char *name, size_t length,
                                const char *arguments)
{
    if (chain == RILL_CHAIN_SCHEDULER) clear_chain(layer->ctx, &layer->chain[chain]);
    return append_to_chain(layer->ctx, &layer->chain[chain], name, length, arguments);
}

rill_status rill_option_source_add_to_chain(rill_option_source *layer, rill_chain chain, const char *name,
                                            const char *arguments)
{
    return add_to_chain(layer, chain, name, strlen(name), arguments != NULL ? arguments : "");
}

/* The registered name of the heuristic that an option names. Option names have dashes where registered names may have
 * underscores. */
static const char *registered_name(const rill_context *ctx, const char *name)
{
    const rill_heuristic *h;
    if (rill_find_heuristic(ctx, name) != NULL) return name;
    for (size_t i = 0; (h = rill_heuristic_at(ctx, i)) != NULL; i++)
        if (rill__same_name(h->name, name)) return h->name;
    return name;
}

/* Add the scorer lmbr without a file of evidence: "self=N" makes it use the outputs of a first search of the same input. */
static rill_status add_lmbr_self(rill_option_source *layer, const char *value)
{
    rill_text arguments = {.ctx = layer->ctx};
    rill_status status = rill_text_printf(&arguments, "self=%s", value);
    if (status == RILL_OK) status = rill_option_source_add_to_chain(layer, RILL_CHAIN_SCORERS, "lmbr", arguments.data);
    rill_text_clear(&arguments);
    return status;
}

/* Add a heuristic, scorer or scheduler to its chain. `value` is "NAME:ARGS", or only the arguments if the option itself
 * names the heuristic or scorer, as prune-absolute and lmbr do. */
static rill_status add_entry(rill_option_source *layer, const rill_option *row, const char *value)
{
    static const char *const chains[RILL_CHAINS] = {"heuristic", "scorer", "scheduler"};
    const size_t length = strcspn(value, ":");
    if (strcmp(row->name, "lmbr") == 0)
        return rill_option_source_add_to_chain(layer, RILL_CHAIN_SCORERS, row->name, value);
    if (strcmp(row->name, "lmbr-self") == 0) return add_lmbr_self(layer, value);
    for (int i = 0; i < RILL_CHAINS; i++)
        if (strcmp(row->name, chains[i]) == 0)
            return add_to_chain(layer, (rill_chain)i, value, length, value[length] != '\0' ? value + length + 1 : "");
    const char *heuristic = strncmp(row->name, PRUNE, sizeof PRUNE - 1) == 0 ? row->name + sizeof PRUNE - 1 : row->name;
    return rill_option_source_add_to_chain(layer, RILL_CHAIN_HEURISTICS, registered_name(layer->ctx, heuristic), value);
}

/* Whether both texts stand for the same value of the option, as "1" and "1.0" do. */
static int is_same_value(rill_context *ctx, const rill_option *row, const char *a, const char *b)
{
    union {
        double real;
        int64_t bytes;
        int32_t word;
    } x = {.bytes = 0}, y = {.bytes = 0};
    rill_option alone = *row;
    alone.offset = 0;
    if (strcmp(a, b) == 0) return 1;
    if (strncmp(row->name, PRUNE, sizeof PRUNE - 1) == 0) {
        alone.type = RILL_OPTION_REAL; /* the row has type TEXT, but thresholds are usually numbers */
        alone.min = -HUGE_VAL;
        alone.max = HUGE_VAL;
    } else if (row->type == RILL_OPTION_TEXT || row->type == RILL_OPTION_PATH) {
        return 0;
    }
    if (rill_option_read(ctx, &alone, a, &x) < 0 || rill_option_read(ctx, &alone, b, &y) < 0) return 0;
    return alone.type == RILL_OPTION_REAL ? x.real == y.real : x.bytes == y.bytes;
}

/* Refuse a second, different value of an option, even under an alias, since one of the two values would be lost. */
static rill_status check_repeated(const rill_option_source *layer, const rill_option *row, const char *old_value,
                                  const char *value)
{
    char label[RILL_OPTION_MAX];
    if (old_value == NULL || is_same_value(layer->ctx, row, old_value, value)) return RILL_OK;
    return rill_fail(layer->ctx, RILL_ERR_OPTION, "%s is given twice, \"%s\" and \"%s\"",
                     rill__option_label(layer->ctx, row->name, label), old_value, value);
}

/* Set an option of rill_chain_table(). A source has at most one scheduler and one value of each prune-* option. The other
 * options may be repeated: each value adds a heuristic or scorer. */
static rill_status set_chain(rill_option_source *layer, const rill_option *row, const char *value)
{
    char **place = &layer->chain_value[row - CHAIN_OPTIONS];
    const int is_threshold = strncmp(row->name, PRUNE, sizeof PRUNE - 1) == 0;
    if (!is_threshold && strcmp(row->name, "scheduler") != 0) return add_entry(layer, row, value);
    RILL__TRY(check_repeated(layer, row, *place, value));
    if (*place != NULL) return RILL_OK;
    RILL__TRY(add_entry(layer, row, value));
    *place = copy_text(layer->ctx, value, strlen(value));
    return *place != NULL ? RILL_OK : RILL_ERR_MEMORY;
}

void rill_option_source_set_chain(rill_option_source *layer, rill_chain chain)
{
    layer->chain[chain].is_set = 1;
}

int rill_option_source_has_chain(const rill_option_source *layer, rill_chain chain)
{
    return layer->chain[chain].is_set;
}

const rill_chain_entry *rill_option_source_chain(const rill_option_source *layer, rill_chain chain, int32_t *n)
{
    *n = (int32_t)layer->chain[chain].n;
    return layer->chain[chain].entry;
}

/* --- settings and options of domains ------------------------------------------------------------------------------ */

const rill_option *rill_option_row(const rill_context *ctx, const char *name)
{
    const rill_option *const own[] = {rill_setting_table(), CHAIN_OPTIONS, OUTPUT_OPTIONS}, *row = NULL;
    const rill_domain *d;
    for (size_t i = 0; row == NULL && i < sizeof own / sizeof *own; i++) row = rill_option_find(own[i], name);
    for (size_t i = 0; row == NULL && (d = rill_domain_at(ctx, i)) != NULL; i++)
        row = rill_option_find(d->options, name);
    return row;
}

/* Check the value of a domain option or output option. If several domains have the option, at least one must accept the
 * value. */
static rill_status check_option(rill_context *ctx, const rill_option *row, const char *value)
{
    const rill_domain *d;
    for (size_t i = 0; (d = rill_domain_at(ctx, i)) != NULL; i++) {
        const rill_option *other = rill_option_find(d->options, row->name);
        if (other != NULL && rill_option_read(ctx, other, value, NULL) == RILL_OK) return RILL_OK;
    }
    return rill_option_read(ctx, row, value, NULL);
}

static rill_status set_option(rill_option_source *layer, const rill_option *row, const char *value)
{
    size_t i = 0;
    while (i < layer->n_options && strcmp(layer->option[i].name, row->name) != 0) i++;
    if (i < layer->n_options) return check_repeated(layer, row, layer->option[i].value, value);
    RILL__TRY(RILL__GROW(layer->ctx, layer->option, layer->options_capacity, i + 1, "a layer of options"));
    char *copy = copy_text(layer->ctx, value, strlen(value));
    char *name = copy != NULL ? copy_text(layer->ctx, row->name, strlen(row->name)) : NULL;
    if (name == NULL) {
        free_text(layer->ctx, copy);
        return RILL_ERR_MEMORY;
    }
    layer->option[layer->n_options++] = (rill_pair){name, copy};
    return RILL_OK;
}

static void find_nearer(const char *name, const rill_option *table, rill_option_near *near)
{
    for (; table != NULL && table->name != NULL; table++) rill_option_nearer(table, name, near);
}

static rill_status fail_unknown_option(rill_context *ctx, const char *name)
{
    const char *why = rill_refused_option("setting", name);
    if (why == NULL) why = rill_refused_option("opening", name);
    if (why != NULL) return rill_fail(ctx, RILL_ERR_OPTION, "unknown setting \"%s\": %s", name, why);
    rill_option_near near = {0};
    const rill_domain *d;
    find_nearer(name, rill_setting_table(), &near);
    find_nearer(name, CHAIN_OPTIONS, &near);
    find_nearer(name, OUTPUT_OPTIONS, &near);
    for (size_t i = 0; (d = rill_domain_at(ctx, i)) != NULL; i++) find_nearer(name, d->options, &near);
    if (near.name[0] != '\0')
        return rill_fail(ctx, RILL_ERR_OPTION, "unknown setting \"%s\": did you mean \"%s\"?", name, near.name);
    return rill_fail(ctx, RILL_ERR_OPTION, "unknown setting \"%s\"", name);
}

static rill_status set_setting(rill_option_source *layer, const rill_option *row, const char *value)
{
    rill_settings trial;
    rill_settings_default(&trial);
    RILL__TRY(rill_settings_set(layer->ctx, &trial, row->name, value));
    char **place = &layer->value[row - rill_setting_table()];
    RILL__TRY(check_repeated(layer, row, *place, value));
    if (*place == NULL) *place = copy_text(layer->ctx, value, strlen(value));
    return *place != NULL ? RILL_OK : RILL_ERR_MEMORY;
}

static rill_status set_any(rill_option_source *layer, const char *name, const char *value)
{
    const rill_option *row = rill_option_row(layer->ctx, name);
    if (row == NULL) return fail_unknown_option(layer->ctx, name);
    if (row == rill_option_find(rill_setting_table(), name)) return set_setting(layer, row, value);
    if (row == rill_option_find(CHAIN_OPTIONS, name)) return set_chain(layer, row, value);
    RILL__TRY(check_option(layer->ctx, row, value));
    return set_option(layer, row, value);
}

/* Set how messages about this source write option names: as keys ("beam_size") if the source is a file, else unchanged.
 * Returns the previous style. */
static rill_option_style enter_style(const rill_option_source *layer)
{
    rill_context *ctx = layer->ctx;
    return rill_option_set_style(ctx, layer->origin == RILL_FROM_FILE ? RILL_OPTION_UNDERSCORED : ctx->option_style);
}

rill_status rill_option_source_set(rill_option_source *layer, const char *name, const char *value)
{
    const rill_option_style style = enter_style(layer);
    const rill_status status = set_any(layer, name, value);
    rill_option_set_style(layer->ctx, style);
    return status;
}

rill_status rill_option_source_set_all(rill_option_source *layer, const char *text)
{
    rill_status status = RILL_OK;
    for (text += strspn(text, " "); *text != '\0' && status == RILL_OK; text += strspn(text, " ")) {
        const size_t length = strcspn(text, " "), sign = strcspn(text, "= ");
        if (text[sign] != '=')
            return rill_fail(layer->ctx, RILL_ERR_PLUGIN, "\"%.*s\" is not NAME=VALUE", (int)length, text);
        char *pair = copy_text(layer->ctx, text, length);
        if (pair == NULL) return RILL_ERR_MEMORY;
        pair[sign] = '\0';
        status = rill_option_source_set(layer, pair, pair + sign + 1);
        rill_free(layer->ctx, pair, length + 1);
        text += length;
    }
    return status;
}

void rill_option_source_set_budget(rill_option_source *layer, rill_budget_fn budget, void *user)
{
    layer->budget = budget;
    layer->budget_user = user;
}

void rill_option_source_set_cube_key(rill_option_source *layer, rill_key_fn key, void *user)
{
    layer->cube_key = key;
    layer->cube_key_user = user;
}

const char *rill__source_value(const rill_option_source *layer, const rill_option *row)
{
    return layer != NULL ? layer->value[row - rill_setting_table()] : NULL;
}

const char *rill_option_source_get(const rill_option_source *layer, const char *name)
{
    const rill_option *row = rill_option_find(rill_setting_table(), name);
    if (row != NULL && layer->budget != NULL && row->offset == offsetof(rill_settings, budget)) return "function";
    if (row != NULL) return rill__source_value(layer, row);
    row = rill_option_row(layer->ctx, name);
    for (size_t i = 0; row != NULL && i < layer->n_options; i++)
        if (strcmp(layer->option[i].name, row->name) == 0) return layer->option[i].value;
    return NULL;
}

const char *rill_option_sources_get(const rill_option_source *const *layers, int n, const char *name)
{
    const char *value = NULL;
    for (int i = 0; i < n && value == NULL; i++)
        if (layers[i] != NULL) value = rill_option_source_get(layers[i], name);
    return value;
}

int rill_option_source_sets_search(const rill_option_source *layer)
{
    int sets_search = layer->budget != NULL || layer->cube_key != NULL || layer->chain[RILL_CHAIN_HEURISTICS].is_set ||
                      layer->chain[RILL_CHAIN_SCORERS].is_set;
    for (size_t i = 0; i < sizeof layer->value / sizeof *layer->value; i++) sets_search |= layer->value[i] != NULL;
    return sets_search;
}

static rill_status check_alone(const rill_option_source *layer)
{
    rill_settings settings;
    rill_settings_default(&settings);
    for (const rill_option *row = rill_setting_table(); row->name != NULL; row++) {
        const char *value = rill__source_value(layer, row);
        if (value != NULL) RILL__TRY(rill_settings_set(layer->ctx, &settings, row->name, value));
    }
    return rill_settings_resolve(layer->ctx, &settings, layer->chain[RILL_CHAIN_HEURISTICS].n > 0);
}

rill_status rill_option_source_check(const rill_option_source *layer)
{
    const rill_option_style style = enter_style(layer);
    const rill_status status = check_alone(layer);
    rill_option_set_style(layer->ctx, style);
    return status;
}

/* Whether a source of higher precedence than layers[index] sets the option too. */
static int is_overridden(const rill_option_source *const *layers, int index, const char *name)
{
    for (int i = 0; i < index; i++)
        for (size_t j = 0; layers[i] != NULL && j < layers[i]->n_options; j++)
            if (strcmp(layers[i]->option[j].name, name) == 0) return 1;
    return 0;
}

rill_status rill_option_sources_domain_values(rill_context *ctx, const rill_option_source *const *layers, int n,
                                              rill_pair **out, int32_t *n_out)
{
    size_t count = 0;
    *out = NULL;
    *n_out = 0;
    for (int filling = 0; filling < 2; filling++) {
        count = 0;
        for (int i = 0; i < n; i++)
            for (size_t j = 0; layers[i] != NULL && j < layers[i]->n_options; j++) {
                const char *name = layers[i]->option[j].name;
                if (rill_option_find(OUTPUT_OPTIONS, name) != NULL || is_overridden(layers, i, name)) continue;
                if (filling) (*out)[count] = layers[i]->option[j];
                count++;
            }
        if (count == 0) return RILL_OK;
        if (!filling && (*out = rill_calloc(ctx, count, sizeof **out)) == NULL)
            return rill_fail_memory(ctx, count * sizeof **out, "options of a model");
    }
    *n_out = (int32_t)count;
    return RILL_OK;
}
