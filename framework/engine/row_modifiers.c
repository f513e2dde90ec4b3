/* The modifiers of a timestep's rows: those of scorers (scorer_calls.c), then those that follow from settings: the number of choices, end
 * rules, the unknown penalty, and what n-grams forbid (ngram_blocking.h).
 *
 * Divisions: the number of choices · all modifiers. */
#include <math.h>
#include <string.h>

#include "engine_internal.h"

/* --- the number of choices ---------------------------------------------------------------------------------------- */

/* Return the number of choices to request for a row of the item: the maximum number of children per parent, or the number of choices to
 * sample from. Further choices could not enter the item's beam. */
static int32_t item_choices(const rill_engine *e, const item *it, int32_t phase)
{
    const rill_settings *s = it->settings;
    int32_t m = rill__max_children(s), own = 0;
    FOR_VARIANTS (v, it->variants, n_choices) own = own > 0 ? own : v->n_choices(e, it);
    if (own > 0)
        m = own;
    else if (e->info.max_choices_phases >> phase & 1 && s->max_candidates < m)
        m = s->max_candidates;
    return m < e->info.actions ? m : e->info.actions;
}

/* Return 1 if all items are known to request the same number of choices, else 0. */
static int same_choices(const rill_engine *e, const timestep *t)
{
    return e->requests.n_requests == 0 && t->n_owned == 0;
}

/* Maximum of item_choices() over the selected items. */
static int32_t max_choices(const rill_engine *e, const timestep *t)
{
    int32_t max_m = 1;
    if (same_choices(e, t)) return item_choices(e, &e->items.item[t->selected[0]], t->phase);
    for (int32_t i = 0; i < t->n; i++) {
        int32_t m = item_choices(e, &e->items.item[t->selected[i]], t->phase);
        if (m > max_m) max_m = m;
    }
    return max_m;
}

/* Return 1 if some row needs its own limit on choices: fewer choices than the maximum, or an owner, to whose items scorers' limits do not
 * apply. */
static int any_limit(const rill_engine *e, const timestep *t, int32_t max_m)
{
    for (int32_t i = 0; i < t->n && !same_choices(e, t); i++) {
        const item *it = &e->items.item[t->selected[i]];
        if (item_choices(e, it, t->phase) < max_m || (it->owner != NULL && e->chain.n_scorers > 0)) return 1;
    }
    return 0;
}

/* --- all modifiers ------------------------------------------------------------------------------------------------ */

static int any_ngram_blocking(const rill_engine *e, const timestep *t)
{
    if (e->requests.n_requests == 0) return ngram_blocking_is_on(&e->settings);
    for (int32_t i = 0; i < t->n; i++)
        if (ngram_blocking_is_on(e->items.item[t->selected[i]].settings)) return 1;
    return 0;
}

static int any_end_rule(const rill_engine *e, const timestep *t)
{
    for (int32_t i = 0; i < t->n; i++)
        if (stop_end_rule(&e->items.item[t->selected[i]]) != RILL_END_ALLOWED) return 1;
    return 0;
}

/* Add the modifiers that follow from settings, after the scorers' modifiers. */
static rill_status add_setting_modifiers(rill_engine *e, timestep *t, int32_t max_m)
{
    int last = t->phase == e->info.phases - 1;
    rill_modifiers *mods = &timestep_round(t)->modifiers;
    mods->current_scorer = -1;
    for (int32_t i = 0; i < t->rows.n; i++) {
        const item *it = &e->items.item[t->rows.slot[i]];
        int32_t m = item_choices(e, it, t->phase);
        if (it->owner != NULL) modifiers_unlimit(mods, i);
        if (m < max_m) RILL__TRY(rill_modifiers_limit_children(mods, i, m));
        if (last) RILL__TRY(rill_modifiers_end_rule(mods, i, stop_end_rule(it)));
        if (ngram_blocking_is_on(it->settings))
            RILL__TRY(ngram_blocking_add(mods, i, it->settings, e->hyps.hyp, t->rows.hyp[i], e->info.start_action));
        if (e->bad_words.n > 0) RILL__TRY(bad_words_ban(&e->bad_words, mods, i, e->hyps.hyp, t->rows.hyp[i]));
        if (e->unknown_action < 0) continue;
        if (isinf(e->settings.unknown_penalty))
            RILL__TRY(rill_modifiers_ban(mods, i, e->unknown_action));
        else
            RILL__TRY(rill_modifiers_add(mods, i, e->unknown_action, -(float)e->settings.unknown_penalty));
    }
    return RILL_OK;
}

/* The variants of the search that the modifiers of the phase's first rows make part of it. */
static uint32_t variants_of_modifiers(const modifier_table *rules)
{
    uint32_t set = 0;
    for (int i = 0; search_variants[i] != NULL; i++)
        if (search_variants[i]->has_modifiers != NULL && search_variants[i]->has_modifiers(rules))
            set |= UINT32_C(1) << i;
    return set;
}

rill_status engine_make_modifiers(rill_engine *e, timestep *t)
{
    const int32_t max_m = max_choices(e, t);
    rill_modifiers *mods = &timestep_round(t)->modifiers;
    modifier_table *rules = &timestep_round(t)->modifier_table;
    int last = t->phase == e->info.phases - 1;
    int limited = e->unknown_action >= 0 || (last && any_end_rule(e, t)) || any_limit(e, t, max_m) ||
                  any_ngram_blocking(e, t) || e->bad_words.n > 0 || t->round > 0;
    t->modifier_variants = 0;
    if (e->chain.n_scorers == 0 && !limited) {
        *rules = (modifier_table){.max_choices = max_m, .limits_only = 1};
        return RILL_OK;
    }
    RILL__TRY(engine_call_scorers(e, t, mods));
    if (e->settings.check && e->chain.n_scorers > 0) {
        RILL__TRY(modifiers_build(mods, max_m, rules));
        RILL__TRY(engine_check_scorers(e, t, rules, max_m));
    }
    if (limited) RILL__TRY(add_setting_modifiers(e, t, max_m));
    mods->current_scorer = e->chain.n_scorers; /* modifiers added from here on are not attributed to a scorer */
    FOR_VARIANTS (v, t->round > 0 ? t->variants : 0, restrict_rows) RILL__TRY(v->restrict_rows(t));
    RILL__TRY(modifiers_build(mods, max_m, rules));
    t->modifier_variants = variants_of_modifiers(&t->rounds[0].modifier_table); /* merging reads the first round's */
    return RILL_OK;
}
