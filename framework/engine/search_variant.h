/* Search variants change plain beam search for some inputs, such as sampling or cube pruning.
 *
 * Hooks are called only for items with a variant; NULL does nothing. A new variant is a file with its table, listed in search/variants.c.
 */
#pragma once

#include "timestep.h"

/* Return value of search_variant.choose_children(): the variant does not choose, and the input's children are chosen by score. */
enum { VARIANT_BY_SCORE = -1 };

typedef struct search_variant {
    const char *name;
    /* The variant is used for an input if the int32_t setting at this offset in rill_settings is at least `min`. Offset 0: has_modifiers
     * decides. */
    struct {
        size_t setting;
        int32_t min;
    } selected_by;
    /* Returns 1 if the scorers' modifiers of the timestep's rows require the variant in this phase, else 0. */
    int (*has_modifiers)(const modifier_table *rules);

    /* Fail if the settings select the variant and it cannot be combined with the other settings, the scorers or the domain. */
    rill_status (*check)(rill_context *ctx, const chain *c, const rill_settings *s, const rill_domain_info *info);

    /* Called once per phase, in this order. In a second scoring pass, t->rows are the rows that add_round() added. */

    /* t->rows has one row per live hypothesis, still without nodes (state ids). Keep some of the rows, and set t->row_of and
     * t->spare_nodes. */
    rill_status (*make_rows)(rill_engine *e, timestep *t);
    /* Called in each scoring pass, before the rows get their nodes (state ids) and states. */
    rill_status (*before_step)(rill_engine *e, timestep *t);
    /* Called when the rows have their choices. May begin a second scoring pass, with engine_add_row() and engine_step_rows(), and then
     * returns RILL_AGAIN. */
    rill_status (*add_round)(rill_engine *e, timestep *t);
    /* Called when the scorers' modifiers of the second scoring pass are collected: the variant that began the pass adds its
     * restrictions. */
    rill_status (*restrict_rows)(timestep *t);
    /* Called after all scoring passes; t->rows are the last pass's rows. last: 1 in the timestep's last phase. */
    rill_status (*before_merge)(rill_engine *e, timestep *t, int last);

    /* Free the memory that the variant keeps in a timestep. */
    void (*free_timestep)(timestep *t);

    /* The hooks below are called for a single input, in the order of a timestep. */

    /* Returns how many choices to request for each row; 0: as many as the beam may have children. */
    int32_t (*n_choices)(const rill_engine *e, const item *it);
    /* Before merging: enlarge *n_children, the maximum number of children, and *need, scratch memory. stride: maximum choices per row. */
    void (*reserve)(const item *it, int32_t stride, int64_t *n_children, children_size *need);
    /* Read the input's choices, before merging in the last phase. rows: [width] row of each beam entry; NULL: from `row` on. */
    void (*read_choices)(rill_engine *e, timestep *t, item *it, const int32_t *rows, int32_t row);
    /* Choose the input's children: write t->heads in rank order and return their number, or VARIANT_BY_SCORE. row: the first row. */
    int32_t (*choose_children)(timestep *t, const item *it, int32_t row);
    /* Called when an input stops, or times out without an output; not if it fails, is cancelled, preempted, or has an owner.
     *   needs_output: 1: no candidate has ended. Returns 1 if the variant has added an output, else 0. */
    int (*before_outputs)(rill_engine *e, item *it, int needs_output);
    /* Called after a phase, when the input's candidates have become its new beam or its outputs. */
    void (*phase_over)(const rill_engine *e, item *it);
    /* Make the next beam of an input owned by the variant (item.owner), instead of merge, heuristics and commit. Set items.done if it
     * stops. */
    rill_status (*advance)(rill_engine *e, const timestep *t, int32_t slot, int last);
    /* Called when the input's outputs are final and sorted. Returns RILL_AGAIN if the input continues, owned by the variant. */
    rill_status (*after_stop)(rill_engine *e, int32_t slot);
    /* Called when the only input's states do not fit. Returns 1 if the variant ends the search with the outputs so far, else 0. */
    int (*out_of_memory)(rill_engine *e, item *it);
    /* Forget the input's search; the input's arena frees its hypotheses (hyp_pool.h). Returns 1 if some of them may have states, else 0. */
    int (*clear)(item *it);
    /* Free the memory that the variant keeps for the input. */
    void (*free_item)(rill_context *ctx, item *it);
} search_variant;

/* All search variants; NULL ends the list. A set of variants is a bit mask of their indexes in this list. */
extern const search_variant *const search_variants[];

/* Remove the first variant from a set (bit mask), which must not be empty, and return it. */
static inline const search_variant *variant_take(uint32_t *set)
{
    const search_variant *v = search_variants[__builtin_ctz(*set)];
    *set &= *set - 1;
    return v;
}

/* Loop over the variants `v` of a set that have this hook. The body may return, but not break. */
#define FOR_VARIANTS(v, set, hook)            \
    for (uint32_t left_ = (set); left_ != 0;) \
        for (const search_variant *v = variant_take(&left_); v != NULL && v->hook != NULL; v = NULL)

static inline int is_selected(const search_variant *v, const rill_settings *s)
{
    const size_t setting = v->selected_by.setting;
    return setting > 0 && *(const int32_t *)(const void *)((const char *)s + setting) >= v->selected_by.min;
}

/* Returns the variants that the settings select or the modifiers require, as a bit set; rules NULL: no modifiers. */
static inline uint32_t variants_of(const rill_settings *s, const modifier_table *rules)
{
    uint32_t set = 0;
    for (int i = 0; search_variants[i] != NULL; i++) {
        const search_variant *v = search_variants[i];
        const int is_in = (s != NULL && is_selected(v, s)) ||
                          (rules != NULL && v->has_modifiers != NULL && v->has_modifiers(rules));
        set |= (uint32_t)is_in << i;
    }
    return set;
}

/* Call check() of the variants that the settings select. */
static inline rill_status variants_check(rill_context *ctx, const chain *c, const rill_settings *s,
                                         const rill_domain_info *info)
{
    FOR_VARIANTS (v, variants_of(s, NULL), check) RILL__TRY(v->check(ctx, c, s, info));
    return RILL_OK;
}

/* certify.c: returns an upper bound on the final score of a hypothesis of the input's current length. */
double certify_bound(const chain *c, const item *it, double path_score, int32_t phases);

/* Bytes of a prefix in the frontier of exact search (exact.c). */
enum { EXACT_ENTRY_BYTES = 32 };
