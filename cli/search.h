/* The search as options describe it, in layers, and the setup that follows from them.
 *
 * A layer is one source of wishes: the command line, a configuration in Lua, the model's config.json, a method of `rill bench`
 * with its own values. One layer is *firm*: what it says must be possible, or the run is refused. The others are *soft*: they
 * are defaults, and what a method cannot do is left out of them, so that `--method greedy` works with a model whose defaults
 * prune. Of a model this is done silently; of a configuration, which is the user's own, the plan tells what it was.
 * Nearer layers win, setting by setting; the chain of heuristics is taken whole from the nearest layer that has one.
 * A model's defaults were chosen for the best output alone. Where a nearer layer asks for n outputs (n-best) they give way: what they
 * say of k, stop-after and max-candidates is n at least, and their heuristics leave n candidates (min-width). */
#ifndef CLI_SEARCH_H
#define CLI_SEARCH_H

#include "cli.h"
#include "options.h"

enum { CLI_SETTINGS_MAX = 48, CLI_CHAIN_MAX = 32, CLI_NAME_MAX = 48, CLI_VALUE_MAX = 64, CLI_ARGUMENTS_MAX = 1024 };

/* "NAME:ARGS" taken apart. */
typedef struct cli_link {
    char name[CLI_NAME_MAX];
    char arguments[CLI_ARGUMENTS_MAX];
} cli_link;

typedef struct cli_chain {
    cli_link link[CLI_CHAIN_MAX];
    int n;
    int said; /* though it be empty: then none is wanted, whatever layers farther away hold */
} cli_chain;

typedef struct cli_setting {
    char name[CLI_NAME_MAX];
    char value[CLI_VALUE_MAX];
} cli_setting;

typedef struct cli_layer {
    cli_setting setting[CLI_SETTINGS_MAX]; /* each name once */
    int n;
    cli_chain heuristics, scorers, policy; /* policy: at most one */
    rill_budget_fn budget;                 /* a function that sets it, instead of the setting of that name */
    void *budget_user;
    int defaults;                  /* a model's, which widen with the outputs that others ask for */
    const char *source;            /* the file it was read from, if what is left out of it is to be told; else NULL */
    const struct cli_layer *twins; /* [workers] the same, read from each worker's own script; NULL: there are none */
} cli_layer;

/* "max_items" and "max-items" are one name. */
int cli_same_name(const char *a, const char *b);

/* Note a setting, or set it again. The value is checked alone. CLI_OK or CLI_FAILED after a message. */
int cli_layer_set(rill_context *ctx, cli_layer *layer, const char *name, const char *value);
const char *cli_layer_get(const cli_layer *layer, const char *name); /* NULL when not set */
int cli_layer_says(const cli_layer *layer, const char *name);        /* set, or by a function; "-" and "_" are one */

/* Append "NAME" or "NAME:ARGS". */
int cli_chain_add(cli_chain *chain, const char *text);
/* Append a name and its arguments. */
int cli_chain_add_pair(cli_chain *chain, const char *name, const char *arguments);
/* Settings that go by a heuristic's name, for the literature lists them there: as scripts spell them; NULL ends the list. */
extern const char *const cli_heuristic_settings[];
/* Append a heuristic, or note the setting that goes by a heuristic's name. */
int cli_layer_heuristic(rill_context *ctx, cli_layer *layer, const char *name, const char *arguments);

/* The options that every command with a search offers: fill the tables, and take one of their options.
 * `settings` has room for CLI_SETTINGS_MAX + 1 entries and is made from rill_setting_table(), without the setting `except`
 * (NULL: with all). */
void cli_search_options(cli_option *settings, const char *except);
extern const cli_option cli_chain_options[];
int cli_search_take(rill_context *ctx, cli_layer *layer, const cli_option *option, const char *value);
int cli_search_owns(const cli_option *option);

/* The same for a name and a value from elsewhere: a configuration file, a list of methods. "-" and "_" are one. */
int cli_search_take_named(rill_context *ctx, cli_layer *layer, const char *name, const char *value);

enum { CLI_LEFT_MAX = 512, CLI_SOFT_MAX = 3 };

/* What the layers make together. Pointers of `setup` lead into the plan itself: it must not be moved. */
typedef struct cli_plan {
    rill_engine_setup setup;
    rill_settings resolved; /* setup.settings with presets applied */
    cli_chain heuristics, scorers, policy;
    rill_chain_entry heuristic_entries[CLI_CHAIN_MAX], scorer_entries[CLI_CHAIN_MAX], policy_entry;
    char left[CLI_LEFT_MAX]; /* "heuristics (absolute:10), search.k": what was left out of layers with a source */
    const cli_layer *firm, *soft[CLI_SOFT_MAX]; /* what it was made from */
    int n_soft;
} cli_plan;

/* Compose `firm` with soft[0..n), nearest first.
 * The plan keeps the pointers. n <= CLI_SOFT_MAX.
 *   RILL_OK · RILL_ERR_OPTION: what `firm` says is impossible, or contradicts itself */
rill_status cli_plan_try(rill_context *ctx, const cli_layer *firm, const cli_layer *const *soft, int n, cli_plan *plan);
/* The same. CLI_OK or CLI_FAILED after a message. */
int cli_plan_make(rill_context *ctx, const cli_layer *firm, const cli_layer *const *soft, int n, cli_plan *plan);

/* The row of the method, NULL if there is none. */
const rill_method_info *cli_method(const char *name);

#endif
