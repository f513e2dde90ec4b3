/* Layers of search options: taking them from the command line, and composing them; see search.h for the rules.
 *
 * Whether a default fits a method is not decided by a list here, which would drift from the library's: each soft setting is
 * tried, and kept when rill_settings_resolve() accepts the whole. */
#include "search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- layers ------------------------------------------------------------------------------------------------------- */

/* "max_items" and "max-items" are one name; layers keep the second form. */
static int normal_name(const char *name, char *out)
{
    if (strlen(name) >= CLI_NAME_MAX) return 0;
    for (; *name; name++) *out++ = (char)(*name == '_' ? '-' : *name);
    *out = '\0';
    return 1;
}

int cli_same_name(const char *a, const char *b)
{
    char first[CLI_NAME_MAX], second[CLI_NAME_MAX];
    return normal_name(a, first) && normal_name(b, second) && !strcmp(first, second);
}

const char *cli_layer_get(const cli_layer *layer, const char *name)
{
    for (int i = 0; i < layer->n; i++)
        if (!strcmp(layer->setting[i].name, name)) return layer->setting[i].value;
    return NULL;
}

int cli_layer_says(const cli_layer *layer, const char *name)
{
    char normal[CLI_NAME_MAX];
    if (!normal_name(name, normal)) return 0;
    return cli_layer_get(layer, normal) || (layer->budget && !strcmp(normal, "budget"));
}

int cli_layer_set(rill_context *ctx, cli_layer *layer, const char *name, const char *value)
{
    cli_setting setting;
    rill_settings trial;
    rill_settings_default(&trial);
    if (rill_settings_set(ctx, &trial, name, value) < 0) return cli_fail_context(ctx);
    if (!normal_name(name, setting.name) || strlen(value) >= CLI_VALUE_MAX)
        return cli_fail("%s: the value is too long", name);
    strcpy(setting.value, value);
    int i = 0;
    while (i < layer->n && strcmp(layer->setting[i].name, setting.name)) i++;
    if (i == CLI_SETTINGS_MAX) return cli_fail("%s: more than %d settings", name, CLI_SETTINGS_MAX);
    layer->setting[i] = setting;
    if (i == layer->n) layer->n++;
    return CLI_OK;
}

int cli_chain_add_pair(cli_chain *chain, const char *name, const char *arguments)
{
    if (chain->n == CLI_CHAIN_MAX) return cli_fail("a chain has at most %d elements", CLI_CHAIN_MAX);
    if (!name[0]) return cli_fail("\":%s\": a name must stand before the colon", arguments);
    if (strlen(name) >= CLI_NAME_MAX || strlen(arguments) >= CLI_ARGUMENTS_MAX)
        return cli_fail("%.40s: name or arguments are too long", name);
    cli_link *link = &chain->link[chain->n++];
    chain->said = 1;
    strcpy(link->name, name);
    strcpy(link->arguments, arguments);
    return CLI_OK;
}

/* Take "NAME:ARGS" apart; returns ARGS, or NULL after a message. */
static const char *split(const char *text, char name[CLI_NAME_MAX])
{
    size_t length = strcspn(text, ":");
    if (length >= CLI_NAME_MAX) {
        cli_say("%.40s...: the name is too long", text);
        return NULL;
    }
    memcpy(name, text, length);
    name[length] = '\0';
    return text[length] ? text + length + 1 : "";
}

int cli_chain_add(cli_chain *chain, const char *text)
{
    char name[CLI_NAME_MAX];
    const char *arguments = split(text, name);
    return arguments ? cli_chain_add_pair(chain, name, arguments) : CLI_FAILED;
}

/* --- options ------------------------------------------------------------------------------------------------------ */

enum { TAKE_SETTING = 1000, TAKE_SHORTHAND, TAKE_HEURISTIC, TAKE_SCORER, TAKE_POLICY, TAKE_END };

const cli_option cli_chain_options[] = {
    {"absolute", 0, "D", "drop candidates more than D below the best", .id = TAKE_SHORTHAND},
    {"relative", 0, "R", "drop candidates with less than R times the best's probability", .id = TAKE_SHORTHAND},
    {"relative-local", 0, "R", "the same, for the probability of the last action alone", .id = TAKE_SHORTHAND},
    {"heuristic", 0, "NAME:ARGS",
     "any heuristic of `rill list heuristics`; all are applied in the order given, the three above too; max_candidates:M and "
     "patience:P set the settings of that name",
     .id = TAKE_HEURISTIC},
    {"scorer", 0, "NAME:ARGS", "add a scorer of `rill list scorers`; may be repeated", .id = TAKE_SCORER},
    {"policy", 0, "NAME[:ARGS]", "schedule by this policy instead of the method's", .id = TAKE_POLICY},
    {.name = NULL},
};

void cli_search_options(cli_option *settings, const char *except)
{
    int n = 0;
    for (const rill_setting_info *s = rill_setting_table(); s->name && n < CLI_SETTINGS_MAX; s++) {
        if (except && !strcmp(s->name, except)) continue;
        char letter = s->name[1] ? 0 : s->name[0];
        settings[n++] = (cli_option){s->name, letter, s->argument, s->help, .id = TAKE_SETTING};
    }
    settings[n] = (cli_option){0};
}

int cli_search_owns(const cli_option *option)
{
    return option->id >= TAKE_SETTING && option->id < TAKE_END;
}

/* Options are spelt with dashes, registered names as their author liked. */
static const char *registered_name(const rill_context *ctx, const char *name)
{
    static const char underscored[] = "relative_local";
    if (rill_find_heuristic(ctx, name)) return name;
    return !strcmp(name, "relative-local") && rill_find_heuristic(ctx, underscored) ? underscored : name;
}

const char *const cli_heuristic_settings[] = {"max_candidates", "patience", NULL};

/* These are settings of the search here, and any method's chain may do without. */
int cli_layer_heuristic(rill_context *ctx, cli_layer *layer, const char *name, const char *arguments)
{
    for (const char *const *s = cli_heuristic_settings; *s; s++)
        if (cli_same_name(name, *s) && !rill_find_heuristic(ctx, name)) /* else a plugin's of that name */
            return cli_layer_set(ctx, layer, name, arguments);
    return cli_chain_add_pair(&layer->heuristics, name, arguments);
}

static int take_heuristic(rill_context *ctx, cli_layer *layer, const char *text)
{
    char name[CLI_NAME_MAX];
    const char *arguments = split(text, name);
    return arguments ? cli_layer_heuristic(ctx, layer, name, arguments) : CLI_FAILED;
}

int cli_search_take(rill_context *ctx, cli_layer *layer, const cli_option *option, const char *value)
{
    switch (option->id) {
    case TAKE_SETTING: return cli_layer_set(ctx, layer, option->name, cli_option_is_switch(option) ? "1" : value);
    case TAKE_SHORTHAND: return cli_chain_add_pair(&layer->heuristics, registered_name(ctx, option->name), value);
    case TAKE_HEURISTIC: return take_heuristic(ctx, layer, value);
    case TAKE_SCORER: return cli_chain_add(&layer->scorers, value);
    case TAKE_POLICY: layer->policy.n = 0; return cli_chain_add(&layer->policy, value);
    default: return cli_fail("--%s: not an option of the search", option->name);
    }
}

int cli_search_take_named(rill_context *ctx, cli_layer *layer, const char *name, const char *value)
{
    char normal[CLI_NAME_MAX];
    if (!normal_name(name, normal)) return cli_fail("%.40s...: the name is too long", name);
    for (const cli_option *o = cli_chain_options; o->name; o++)
        if (!strcmp(o->name, normal)) return cli_search_take(ctx, layer, o, value);
    return cli_layer_set(ctx, layer, name, value);
}

/* --- composing ---------------------------------------------------------------------------------------------------- */

const rill_method_info *cli_method(const char *name)
{
    const rill_method_info *m = rill_method_table();
    while (m->name && strcmp(m->name, name)) m++;
    return m->name ? m : NULL;
}

/* The method decides what of the soft layers is kept, so it is settled first. */
static const char *method_of(const cli_layer *firm, const cli_layer *const *soft, int n, const char *otherwise)
{
    const char *method = cli_layer_get(firm, "method");
    for (int i = 0; i < n && !method; i++) method = cli_layer_get(soft[i], "method");
    return method ? method : otherwise;
}

/* Note something that is left out of a layer, if that is to be told. */
static void leave_out(cli_plan *plan, const cli_layer *layer, const char *what, const char *name)
{
    size_t used = strlen(plan->left);
    if (!layer->source) return;
    int from = snprintf(plan->left + used, sizeof plan->left - used, "%s%s", used ? ", " : "", what);
    if (from > 0 && name[0] && used + (size_t)from < sizeof plan->left) {
        char *at = plan->left + used + from;
        snprintf(at, sizeof plan->left - used - (size_t)from, "%s", name);
        for (; *at; at++) /* as it is written there */
            if (*at == '-') *at = '_';
    }
}

/* The whole chain goes, and each of its links is named. */
static void leave_out_chain(cli_plan *plan, const cli_layer *layer, const char *what, const cli_chain *chain)
{
    size_t used;
    leave_out(plan, layer, what, "");
    if (!layer->source) return;
    for (int i = 0; i < chain->n && (used = strlen(plan->left)) + 1 < sizeof plan->left; i++) {
        const cli_link *link = &chain->link[i];
        const size_t room = sizeof plan->left - used;
        const int n = snprintf(plan->left + used, room, "%s%s%s%s%s", i ? ", " : " (", link->name,
                               link->arguments[0] ? ":" : "", link->arguments, i + 1 == chain->n ? ")" : "");
        if (n >= (int)room) memcpy(plan->left + sizeof plan->left - 4, "...", 4);
    }
}

/* A preset that was asked for stands before what layers farther away say of the search; of the schedule they keep their say. */
static int preset_is_nearer(const cli_layer *firm, const cli_layer *const *soft, int at)
{
    int said = cli_layer_get(firm, "like") != NULL;
    for (int j = 0; j < at && !said; j++) said = cli_layer_get(soft[j], "like") != NULL;
    return said;
}

static int shapes_search(const char *name)
{
    static const char *const schedule[] = {"method", "n",           "max-items", "budget",     "refill",
                                           "sort",   "flush-every", "unordered", "check",      "max-nodes",
                                           "memory", "n-best",      "distinct",  "require-end"};
    for (size_t i = 0; i < sizeof schedule / sizeof schedule[0]; i++)
        if (!strcmp(schedule[i], name)) return 0;
    return 1;
}

static void take_heuristics(const cli_layer *firm, const cli_layer *const *soft, int n, int pruned, cli_plan *plan)
{
    int at = 0;
    plan->heuristics = firm->heuristics;
    if (firm->heuristics.said) return;
    while (at < n && !soft[at]->heuristics.said) at++;
    if (at == n || preset_is_nearer(firm, soft, at)) return;
    if (pruned)
        plan->heuristics = soft[at]->heuristics;
    else if (soft[at]->heuristics.n)
        leave_out_chain(plan, soft[at], "heuristics", &soft[at]->heuristics);
}

static void take_scorers(const cli_layer *firm, const cli_layer *const *soft, int n, cli_plan *plan)
{
    plan->scorers = firm->scorers;
    for (int i = 0; i < n && !plan->scorers.said; i++) plan->scorers = soft[i]->scorers;
}

/* A policy goes with the method of its own layer or of one farther away: naming a method asks for that method's schedule. */
static void take_policy(const cli_layer *firm, const cli_layer *const *soft, int n, cli_plan *plan)
{
    int replaced = cli_layer_get(firm, "method") != NULL;
    plan->policy = firm->policy;
    for (int i = 0; i < n && !plan->policy.n; i++) {
        if (!replaced)
            plan->policy = soft[i]->policy;
        else if (soft[i]->policy.n)
            leave_out_chain(plan, soft[i], "policy", &soft[i]->policy);
        replaced |= cli_layer_get(soft[i], "method") != NULL;
    }
}

static rill_status take_firm(rill_context *ctx, const cli_layer *firm, const char *method, rill_settings *settings)
{
    rill_status status = rill_settings_set(ctx, settings, "method", method);
    for (int i = 0; i < firm->n && status == RILL_OK; i++)
        status = rill_settings_set(ctx, settings, firm->setting[i].name, firm->setting[i].value);
    return status;
}

/* A layer's finish rule goes with the method it had in mind: "top" meant for var-stream does not make fixed another search. */
static int meant_for_another(const cli_layer *layer, const char *name, const char *method)
{
    const char *own = cli_layer_get(layer, "method");
    return !strcmp(name, "finish") && own && strcmp(own, method);
}

/* Settings of soft[at] that no nearer layer has said; those for another method are left out. Returns their number. */
static int list_soft(const cli_layer *firm, const cli_layer *const *soft, int at, const char *method, cli_plan *plan,
                     const cli_setting **wanted)
{
    int n = 0;
    for (int i = 0; i < soft[at]->n; i++) {
        const cli_setting *s = &soft[at]->setting[i];
        int said = cli_layer_says(firm, s->name) || !strcmp(s->name, "method");
        for (int j = 0; j < at && !said; j++) said = cli_layer_says(soft[j], s->name);
        said = said || (shapes_search(s->name) && preset_is_nearer(firm, soft, at));
        if (said) continue;
        if (meant_for_another(soft[at], s->name, method))
            leave_out(plan, soft[at], "search.", s->name);
        else
            wanted[n++] = s;
    }
    return n;
}

/* Does the whole stay possible with this setting? Then it is in. */
static int fits(rill_context *ctx, const cli_setting *wanted, int has_heuristics, rill_settings *settings)
{
    rill_settings with = *settings;
    if (rill_settings_set(ctx, &with, wanted->name, wanted->value) < 0) return 0;
    rill_settings trial = with;
    if (rill_settings_resolve(ctx, &trial, has_heuristics) < 0) return 0;
    *settings = with;
    return 1;
}

/* Add what fits of soft[at], in rounds, for one setting may need another that stands behind it. */
static void take_soft(rill_context *ctx, const cli_layer *firm, const cli_layer *const *soft, int at, cli_plan *plan,
                      rill_settings *settings)
{
    const cli_setting *wanted[CLI_SETTINGS_MAX];
    int n = list_soft(firm, soft, at, settings->method, plan, wanted), has_heuristics = plan->heuristics.n > 0;
    for (int before = n + 1; n < before;) {
        int rest = 0;
        before = n;
        for (int i = 0; i < n; i++)
            if (!fits(ctx, wanted[i], has_heuristics, settings)) wanted[rest++] = wanted[i];
        n = rest;
    }
    for (int i = 0; i < n; i++) leave_out(plan, soft[at], "search.", wanted[i]->name);
    rill_error_clear(ctx);
}

/* What a layer nearer than soft[at] says of a setting; NULL: none does. */
static const char *said_nearer(const cli_layer *firm, const cli_layer *const *soft, int at, const char *name)
{
    const char *value = cli_layer_get(firm, name);
    for (int i = 0; i < at && !value; i++) value = cli_layer_get(soft[i], name);
    return value;
}

static int heuristics_are_nearer(const cli_layer *firm, const cli_layer *const *soft, int at)
{
    int said = firm->heuristics.said;
    for (int i = 0; i < at && !said; i++) said = soft[i]->heuristics.said;
    return said;
}

/* Where n outputs are asked for, the model's defaults at soft[at] give way; `otherwise` is what a setting is that they do not say. */
static void widen(rill_context *ctx, const cli_layer *firm, const cli_layer *const *soft, int at, const cli_plan *plan,
                  rill_settings *settings)
{
    static const struct {
        const char *name;
        int otherwise, prunes;
    } narrow[] = {{"k", 10, 0}, {"stop-after", INT32_MAX, 0}, {"max-candidates", INT32_MAX, 0}, {"min-width", 0, 1}};
    const char *asked = said_nearer(firm, soft, at, "n-best");
    const int outputs = asked ? atoi(asked) : 1;
    const int prunes = plan->heuristics.n > 0 && !heuristics_are_nearer(firm, soft, at);
    cli_setting wanted;
    if (outputs <= 1 || preset_is_nearer(firm, soft, at)) return;
    for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++) {
        const char *value = cli_layer_get(soft[at], narrow[i].name);
        const int is = value ? atoi(value) : cli_layer_get(soft[at], "like") ? INT32_MAX : narrow[i].otherwise;
        if (is >= outputs || said_nearer(firm, soft, at, narrow[i].name) || (narrow[i].prunes && !prunes)) continue;
        snprintf(wanted.name, sizeof wanted.name, "%s", narrow[i].name);
        snprintf(wanted.value, sizeof wanted.value, "%d", outputs);
        fits(ctx, &wanted, plan->heuristics.n > 0, settings);
    }
    rill_error_clear(ctx);
}

static void point_at(const cli_chain *chain, rill_chain_entry *entries)
{
    for (int i = 0; i < chain->n; i++) entries[i] = (rill_chain_entry){chain->link[i].name, chain->link[i].arguments};
}

/* The function of the nearest layer that says anything of the budget. */
static void take_budget(const cli_layer *firm, const cli_layer *const *soft, int n, rill_engine_setup *setup)
{
    const cli_layer *nearest = firm;
    for (int i = 0; i < n && !cli_layer_says(nearest, "budget"); i++) nearest = soft[i];
    setup->budget = nearest->budget;
    setup->budget_user = nearest->budget_user;
}

static void fill_setup(cli_plan *plan, const rill_settings *settings)
{
    rill_engine_setup_default(&plan->setup);
    plan->setup.settings = *settings;
    point_at(&plan->heuristics, plan->heuristic_entries);
    point_at(&plan->scorers, plan->scorer_entries);
    point_at(&plan->policy, &plan->policy_entry);
    plan->setup.heuristics = plan->heuristic_entries;
    plan->setup.n_heuristics = plan->heuristics.n;
    plan->setup.scorers = plan->scorer_entries;
    plan->setup.n_scorers = plan->scorers.n;
    plan->setup.policy = plan->policy.n ? &plan->policy_entry : NULL;
}

/* As the engine will, which takes a function for a budget when it sizes what is in flight. */
static rill_status resolve(rill_context *ctx, cli_plan *plan)
{
    plan->resolved = plan->setup.settings;
    if (plan->setup.budget) plan->resolved.budget = 1;
    rill_status status = rill_settings_resolve(ctx, &plan->resolved, plan->heuristics.n > 0);
    plan->resolved.budget = plan->setup.settings.budget;
    return status;
}

rill_status cli_plan_try(rill_context *ctx, const cli_layer *firm, const cli_layer *const *soft, int n, cli_plan *plan)
{
    rill_settings settings;
    rill_settings_default(&settings);
    const char *method = method_of(firm, soft, n, settings.method);
    const rill_method_info *info = cli_method(method);
    plan->left[0] = '\0';
    plan->firm = firm;
    plan->n_soft = n;
    for (int i = 0; i < n; i++) plan->soft[i] = soft[i];
    take_heuristics(firm, soft, n, info && info->pruned, plan);
    take_scorers(firm, soft, n, plan);
    take_policy(firm, soft, n, plan);
    rill_status status = take_firm(ctx, firm, method, &settings);
    if (status < 0) return status;
    for (int i = 0; i < n; i++) take_soft(ctx, firm, soft, i, plan, &settings);
    for (int i = 0; i < n; i++)
        if (soft[i]->defaults) widen(ctx, firm, soft, i, plan, &settings);
    fill_setup(plan, &settings);
    take_budget(firm, soft, n, &plan->setup);
    return resolve(ctx, plan);
}

int cli_plan_make(rill_context *ctx, const cli_layer *firm, const cli_layer *const *soft, int n, cli_plan *plan)
{
    return cli_plan_try(ctx, firm, soft, n, plan) < 0 ? cli_fail_context(ctx) : CLI_OK;
}
