/* Composing layers into a setup; see rill/layers.h for the rules.
 *
 * Whether a default fits a method is not decided by a list here, which would drift: each soft setting is tried, and kept when
 * rill_settings_resolve() accepts the whole.
 *
 * Divisions: what is left out · chains · settings · the whole. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layers.h"

enum { SOFT_MAX = 8, LEFT_MAX = 512 };
/* Layers by place, nearest first: a request's own, the firm one, the soft ones from 0 on. */
enum { OWN = -2, FIRM = -1, NOWHERE = INT_MAX };

/* What a plan was made from, behind what callers see. */
typedef struct plan {
    rill_search_config seen; /* first */
    rill_context *ctx;
    char left[LEFT_MAX];
    const rill_layer *own, *firm, *soft[SOFT_MAX]; /* own: firm too; NULL but for a request */
    int n;
    rill_chain_entry *scorer; /* NULL, or the plan's own list: the chain's and n_added more */
    size_t scorer_room;
    int32_t n_added;
} plan;

static const rill_option *row_of(const char *name)
{
    return rill_option_find(rill_setting_table(), name);
}

static const rill_layer *layer_at(const plan *p, int at)
{
    return at == OWN ? p->own : at == FIRM ? p->firm : p->soft[at];
}

/* What a layer nearer than soft[at] says of a setting, "function" included; NULL: none does. */
static const char *said_nearer(const plan *p, int at, const rill_option *row)
{
    const char *value = NULL;
    for (int i = OWN; i < at && value == NULL; i++)
        if (layer_at(p, i) != NULL) value = rill_layer_get(layer_at(p, i), row->name);
    return value;
}

static int has_chain(const rill_layer *layer, rill_chain chain)
{
    return layer != NULL && layer->chain[chain].said;
}

/* A preset that was asked for stands before what layers farther away say of the search; of the schedule they keep their say. */
static int preset_is_nearer(const plan *p, int at)
{
    return said_nearer(p, at, row_of("like")) != NULL;
}

/* --- what is left out --------------------------------------------------------------------------------------------- */

/* Note something that is left out of a layer, as it is written there, if that is to be told. */
static void leave_out(plan *p, const rill_layer *layer, const char *what, const char *name)
{
    const size_t used = strlen(p->left);
    if (layer->origin != RILL_FROM_FILE) return;
    const int from = snprintf(p->left + used, LEFT_MAX - used, "%s%s", used > 0 ? ", " : "", what);
    if (from <= 0 || used + (size_t)from >= LEFT_MAX) return;
    char *at = p->left + used + from;
    snprintf(at, LEFT_MAX - used - (size_t)from, "%s", name);
    for (; *at != '\0'; at++)
        if (*at == '-') *at = '_';
}

/* The whole chain goes, and each of its elements is named. */
static void leave_out_chain(plan *p, const rill_layer *layer, const char *what, const rill__chain *chain)
{
    size_t used;
    leave_out(p, layer, what, "");
    if (layer->origin != RILL_FROM_FILE) return;
    for (size_t i = 0; i < chain->n && (used = strlen(p->left)) + 1 < LEFT_MAX; i++) {
        const rill_chain_entry *entry = &chain->entry[i];
        const size_t room = LEFT_MAX - used;
        const int n = snprintf(p->left + used, room, "%s%s%s%s%s", i > 0 ? ", " : " (", entry->name,
                               entry->arguments[0] != '\0' ? ":" : "", entry->arguments, i + 1 == chain->n ? ")" : "");
        if (n >= (int)room) memcpy(p->left + LEFT_MAX - 4, "...", 4);
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

/* The nearest layer's that has one; NOWHERE: none does. */
static int nearest_with(const plan *p, rill_chain chain)
{
    for (int i = OWN; i < p->n; i++)
        if (has_chain(layer_at(p, i), chain)) return i;
    return NOWHERE;
}

static void take_heuristics(plan *p, int pruned)
{
    const int at = nearest_with(p, RILL_CHAIN_HEURISTICS);
    if (at == NOWHERE || (at >= 0 && preset_is_nearer(p, at))) return;
    const rill__chain *chain = &layer_at(p, at)->chain[RILL_CHAIN_HEURISTICS];
    if (at >= 0 && !pruned) {
        if (chain->n > 0) leave_out_chain(p, layer_at(p, at), "heuristics", chain);
        return;
    }
    p->seen.setup.heuristics = chain->entry;
    p->seen.setup.n_heuristics = (int32_t)chain->n;
}

static void take_scorers(plan *p)
{
    const int at = nearest_with(p, RILL_CHAIN_SCORERS);
    if (at == NOWHERE) return;
    p->seen.setup.scorers = layer_at(p, at)->chain[RILL_CHAIN_SCORERS].entry;
    p->seen.setup.n_scorers = (int32_t)layer_at(p, at)->chain[RILL_CHAIN_SCORERS].n;
}

/* A policy goes with the method of its own layer or of one farther away: naming a method asks for that method's schedule. */
static void take_policy(plan *p)
{
    int replaced = 0;
    for (int i = OWN; i < p->n && p->seen.setup.policy == NULL; i++) {
        const rill_layer *layer = layer_at(p, i);
        if (layer == NULL) continue;
        const rill__chain *chain = &layer->chain[RILL_CHAIN_POLICY];
        if (chain->n > 0 && !replaced) p->seen.setup.policy = &chain->entry[0];
        if (chain->n > 0 && replaced) leave_out_chain(p, layer, "policy", chain);
        replaced |= rill__layer_value(layer, row_of("method")) != NULL;
    }
}

/* The function of the nearest layer that says anything of the budget. */
static void take_budget(plan *p)
{
    for (int i = OWN; i < p->n; i++) {
        const rill_layer *layer = layer_at(p, i);
        if (layer == NULL || rill_layer_get(layer, "budget") == NULL) continue;
        p->seen.setup.budget = layer->budget;
        p->seen.setup.budget_user = layer->budget_user;
        return;
    }
}

static void take_cube_key(plan *p)
{
    for (int i = p->n - 1; i >= OWN; i--) {
        const rill_layer *layer = layer_at(p, i);
        if (layer == NULL || layer->cube_key == NULL) continue;
        p->seen.setup.cube_key = layer->cube_key;
        p->seen.setup.cube_key_user = layer->cube_key_user;
    }
}

/* --- settings ----------------------------------------------------------------------------------------------------- */

static rill_status take_firm(plan *p, const char *method)
{
    rill_settings *settings = &p->seen.setup.settings;
    rill_status status = rill_settings_set(p->ctx, settings, "method", method);
    for (const rill_option *row = rill_setting_table(); row->name != NULL && status == RILL_OK; row++) {
        const char *value = p->own != NULL ? rill__layer_value(p->own, row) : NULL;
        if (value == NULL) value = rill__layer_value(p->firm, row);
        if (value != NULL) status = rill_settings_set(p->ctx, settings, row->name, value);
    }
    return status;
}

/* A layer's finish rule goes with the method it had in mind: "top" meant for var-stream does not make fixed another search. */
static int meant_for_another(const rill_layer *layer, const rill_option *row, const char *method)
{
    const char *own = rill__layer_value(layer, row_of("method"));
    return strcmp(row->name, "finish") == 0 && own != NULL && strcmp(own, method) != 0;
}

/* Does the whole stay possible with this setting? Then it is in. */
static int fits(plan *p, const char *name, const char *value)
{
    rill_settings with = p->seen.setup.settings;
    if (rill_settings_set(p->ctx, &with, name, value) < 0) return 0;
    rill_settings trial = with;
    if (rill_settings_resolve(p->ctx, &trial, p->seen.setup.n_heuristics > 0) < 0) return 0;
    p->seen.setup.settings = with;
    return 1;
}

/* Add what fits of soft[at] and no nearer layer has said, in rounds, for one setting may need another that stands behind it. */
static void take_soft(plan *p, int at)
{
    const rill_layer *layer = p->soft[at];
    const rill_option *wanted[64];
    int n = 0;
    if (layer == NULL) return;
    for (const rill_option *row = rill_setting_table(); row->name != NULL; row++) {
        if (rill__layer_value(layer, row) == NULL || said_nearer(p, at, row) != NULL || row == row_of("method"))
            continue;
        if (row->kind == RILL_OPTION_SEARCH && preset_is_nearer(p, at)) continue;
        if (meant_for_another(layer, row, p->seen.setup.settings.method))
            leave_out(p, layer, "search.", row->name);
        else
            wanted[n++] = row;
    }
    for (int before = n + 1; n < before;) {
        int rest = 0;
        before = n;
        for (int i = 0; i < n; i++)
            if (!fits(p, wanted[i]->name, rill__layer_value(layer, wanted[i]))) wanted[rest++] = wanted[i];
        n = rest;
    }
    for (int i = 0; i < n; i++) leave_out(p, layer, "search.", wanted[i]->name);
    rill_error_clear(p->ctx);
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

/* As rill_option_read() takes it: 1e1 is 10. */
static int whole_of(const char *value)
{
    return (int)rill_read_number(value, NULL);
}

/* The method decides what of the soft layers is kept, so it is settled first; and so is whether outputs are drawn, or chosen by groups. */
static rill_status compose(plan *p)
{
    rill_settings defaults;
    rill_settings_default(&defaults);
    const char *method = said_nearer(p, p->n, row_of("method"));
    if (method == NULL) method = defaults.method;
    const rill_method_info *info = find_method(method);
    const char *sample = said_nearer(p, p->n, row_of("sample")), *groups = said_nearer(p, p->n, row_of("groups"));
    const int divided = (sample != NULL && whole_of(sample) > 0) || (groups != NULL && whole_of(groups) > 1);
    take_heuristics(p, info != NULL && info->pruned && !divided);
    take_scorers(p);
    take_policy(p);
    RILL__TRY(take_firm(p, method));
    for (int i = 0; i < p->n; i++) take_soft(p, i);
    take_budget(p);
    take_cube_key(p);
    p->seen.resolved = p->seen.setup.settings;
    return rill__settings_resolve(p->ctx, &p->seen.resolved, p->seen.setup.n_heuristics > 0,
                                  p->seen.setup.budget != NULL);
}

static rill_status make(plan **out, rill_context *ctx, const rill_layer *own, const rill_layer *firm,
                        const rill_layer *const *soft, int n)
{
    *out = NULL;
    if (n > SOFT_MAX)
        return rill_fail(ctx, RILL_ERR_ARGUMENT, "a plan of %d layers, at most %d are possible", n, SOFT_MAX);
    plan *p = rill_calloc(ctx, 1, sizeof *p);
    if (p == NULL) return rill_fail_memory(ctx, sizeof *p, "a plan");
    p->ctx = ctx;
    p->own = own;
    p->firm = firm;
    p->n = n;
    for (int i = 0; i < n; i++) p->soft[i] = soft[i];
    p->seen.left = p->left;
    rill_engine_setup_default(&p->seen.setup);
    const rill_status status = compose(p);
    if (status < 0)
        rill_free(ctx, p, sizeof *p);
    else
        *out = p;
    return status;
}

rill_status rill_search_config_make(rill_search_config **out, rill_context *ctx, const rill_layer *firm,
                                    const rill_layer *const *soft, int n)
{
    plan *p;
    const rill_status status = make(&p, ctx, NULL, firm, soft, n);
    *out = status < 0 ? NULL : &p->seen;
    return status;
}

/* Heuristics are the run's, for all inputs alike: a request may have none of them applied by drawing or by groups alone. */
static rill_status check_heuristics(const plan *run, const plan *p)
{
    const rill_engine_setup *all = &run->seen.setup, *own = &p->seen.setup;
    if (same_chain(all->heuristics, all->n_heuristics, own->heuristics, own->n_heuristics)) return RILL_OK;
    if (own->settings.sample > 0 || own->settings.groups > 1) return RILL_OK;
    return rill_fail(
        p->ctx, RILL_ERR_OPTION,
        "%s leaves out the heuristics of this run (%s), which all inputs share: give it as an option of the run",
        rill_layer_get(p->own, "like") != NULL ? "like" : "heuristics",
        all->n_heuristics > 0 ? all->heuristics[0].name : "none");
}

rill_status rill_search_config_request(rill_search_config **out, const rill_search_config *run, rill_context *ctx,
                                       const rill_layer *own, int gives_way)
{
    const plan *of = (const plan *)run;
    const rill_layer *soft[SOFT_MAX + 1] = {of->firm};
    plan *p;
    memcpy(soft + 1, of->soft, (size_t)of->n * sizeof *soft);
    *out = NULL;
    RILL__TRY(make(&p, ctx, gives_way ? NULL : own, gives_way ? own : of->firm, soft + !gives_way, of->n + gives_way));
    p->own = own; /* for the message */
    const rill_status status = check_heuristics(of, p);
    if (status < 0)
        rill_free(ctx, p, sizeof *p);
    else
        *out = &p->seen;
    return status;
}

void rill_search_config_free(rill_search_config *seen)
{
    plan *p = (plan *)seen;
    if (p == NULL) return;
    rill_free(p->ctx, p->scorer, p->scorer_room * sizeof *p->scorer);
    rill_free(p->ctx, p, sizeof *p);
}

rill_status rill_search_config_add_scorer(rill_search_config *seen, const char *name, const char *arguments)
{
    plan *p = (plan *)seen;
    rill_engine_setup *setup = &seen->setup;
    const size_t n = (size_t)setup->n_scorers;
    const int borrowed = p->scorer == NULL;
    RILL__TRY(RILL__GROW(p->ctx, p->scorer, p->scorer_room, n + 1, "a chain"));
    if (borrowed && n > 0) memcpy(p->scorer, setup->scorers, n * sizeof *p->scorer);
    p->scorer[n] = (rill_chain_entry){name, arguments};
    setup->scorers = p->scorer;
    setup->n_scorers++;
    p->n_added++;
    return RILL_OK;
}

/* The scorers that were added to a plan, for its twin. */
static rill_status add_as(const plan *p, rill_search_config *twin)
{
    for (int32_t i = p->seen.setup.n_scorers - p->n_added; i < p->seen.setup.n_scorers; i++)
        RILL__TRY(rill_search_config_add_scorer(twin, p->scorer[i].name, p->scorer[i].arguments));
    return RILL_OK;
}

static const rill_layer *twin_of(const rill_layer *layer, int32_t worker)
{
    return layer != NULL && (size_t)worker < layer->n_twins ? layer->twin[worker] : NULL;
}

rill_status rill_search_config_twin(const rill_search_config *seen, rill_context *ctx, int32_t worker,
                                    rill_search_config **out)
{
    const plan *p = (const plan *)seen;
    const rill_layer *soft[SOFT_MAX];
    int has_twins = 0;
    *out = NULL;
    for (int i = 0; i < p->n; i++) {
        const rill_layer *twin = twin_of(p->soft[i], worker);
        has_twins |= twin != NULL;
        soft[i] = twin != NULL ? twin : p->soft[i];
    }
    if (!has_twins) return RILL_OK;
    RILL__TRY(rill_search_config_make(out, ctx, p->firm, soft, p->n));
    const rill_status status = add_as(p, *out);
    if (status >= 0) return RILL_OK;
    rill_search_config_free(*out);
    *out = NULL;
    return status;
}

int rill_search_config_same_search(const rill_search_config *a, const rill_search_config *b)
{
    char x[RILL_OPTION_MAX], y[RILL_OPTION_MAX];
    const rill_engine_setup *s = &a->setup, *t = &b->setup;
    for (const rill_option *row = rill_setting_table(); row->name != NULL; row++)
        if (row->kind != RILL_OPTION_SCHEDULE && row != row_of("n-best") && /* of one search more or fewer are given */
            strcmp(rill_settings_get(&a->resolved, row, x), rill_settings_get(&b->resolved, row, y)) != 0)
            return 0;
    return same_chain(s->heuristics, s->n_heuristics, t->heuristics, t->n_heuristics) &&
           same_chain(s->scorers, s->n_scorers, t->scorers, t->n_scorers);
}
