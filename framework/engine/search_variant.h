/* Variants of the search: what some inputs do differently from the plain beam search, each a table of hooks in a file of search/.
 *
 * The loop calls a hook only if the timestep, or the item, has a variant: a plain run pays one test at each point. `search_variants`
 * (search/variants.c) is the only symbol of search/ that the loop knows; item.h and timestep.h hold a pointer for each variant that keeps
 * data. A new variant is a file with its table, an entry in search/variants.c and in meson.build, and its settings.
 *
 * A hook that is NULL does nothing. Hooks that return rill_status fail the run with a negative status. */
#ifndef RILL_SEARCH_VARIANT_H
#define RILL_SEARCH_VARIANT_H

#include "timestep.h"

/* Returned by choose(): the item's children are chosen by score, as if there were no variant. */
enum { VARIANT_BY_SCORE = -1 };

typedef struct search_variant {
    const char *name;
    /* Return 1 if an item with these settings has the variant, else 0. NULL: see has_modifiers. */
    int (*has_settings)(const rill_settings *s);
    /* Return 1 if the modifiers of the timestep's rows make the variant part of this phase, else 0. */
    int (*has_modifiers)(const modifier_table *rules);

    /* Refuse a run, or a request, whose settings select the variant and cannot be combined with the rest. */
    rill_status (*check)(rill_context *ctx, const chain *c, const rill_settings *s, const rill_domain_info *info);

    /* Of a timestep, for all of its items, in the order of a phase. In a second round t->rows are the further rows. */

    /* The rows are listed, one per live beam entry, without nodes: keep some of them, and set t->row_of and t->spare_nodes. */
    rill_status (*make_rows)(rill_engine *e, timestep *t);
    /* In each round: the rows have no nodes and states yet. */
    rill_status (*before_step)(rill_engine *e, timestep *t);
    /* The rows have their choices. RILL_AGAIN: the variant has begun a second round, with rows made by engine_add_row() and stepped by
     * engine_step_rows(). */
    rill_status (*add_round)(rill_engine *e, timestep *t);
    /* The scorers' modifiers of a second round's rows are collected: add those of the variant that began the round. */
    rill_status (*restrict_rows)(timestep *t);
    /* All rounds are scored; t->rows are those of the last round. `last`: 1 in the last phase. */
    rill_status (*before_merge)(rill_engine *e, timestep *t, int last);

    /* Free the variant's memory in a timestep. */
    void (*free_timestep)(timestep *t);

    /* Of an item, in the order of a timestep. */

    /* The number of choices to request for each of the item's rows; 0: as many as the beam may have children. */
    int32_t (*n_choices)(const rill_engine *e, const item *it);
    /* Before merging: enlarge *n_children, the number of children that merging may make, and the scratch memory that the hooks below use.
     * `stride`: choices of each row. */
    void (*reserve)(const item *it, int32_t stride, int64_t *n_children, children_size *need);
    /* Before merging in the last phase: read the choices of the item's rows. rows: [width] or NULL, the item's part of timestep.row_of;
     * `row`: the item's first row if rows is NULL. */
    void (*read_choices)(rill_engine *e, timestep *t, item *it, const int32_t *rows, int32_t row);
    /* Choose the item's children, in place of the best ones by score: write them to t->heads in rank order and return their number, or
     * VARIANT_BY_SCORE. `row`: the item's first row; its rows are adjacent. */
    int32_t (*choose)(timestep *t, const item *it, int32_t row);
    /* An item without owner stops, or is at its deadline without an output; an item that is cancelled, preempted or fails is only cleared.
     * If needs_output is 1 no candidate has ended: return 1 after adding an output in place of truncated ones, else 0. */
    int (*before_outputs)(rill_engine *e, item *it, int needs_output);
    /* The item's candidates of this phase have become its beam or outputs. */
    void (*phase_over)(const rill_engine *e, item *it);
    /* Of an item that the variant owns (item.owner): make its beam for the next phase, in place of merging, heuristics and commit; set
     * items.done if the item stops. */
    rill_status (*advance)(rill_engine *e, const timestep *t, int32_t slot, int last);
    /* The item has stopped, with its outputs sorted. RILL_AGAIN: it continues in flight, and the variant owns it. */
    rill_status (*after_stop)(rill_engine *e, int32_t slot);
    /* Memory is short with this item left alone. Returns 1 if the variant ends the item's search with the outputs so far, else 0. */
    int (*out_of_memory)(rill_engine *e, item *it);
    /* Drop the item's data; its hypotheses are freed with its arena. Returns 1 if there were hypotheses with states, else 0. */
    int (*clear)(item *it);
    /* Free the memory of the variant in the item. */
    void (*free_item)(rill_context *ctx, item *it);
} search_variant;

/* The variants, NULL at the end. A set of variants is a bit mask of their indexes. */
extern const search_variant *const search_variants[];

/* Remove the first variant of a set that is not empty, and return it. */
static inline const search_variant *variant_take(uint32_t *set)
{
    const search_variant *v = search_variants[__builtin_ctz(*set)];
    *set &= *set - 1;
    return v;
}

/* For each variant `v` of a set that has the hook; the body may return, but not break. */
#define FOR_VARIANTS(v, set, hook)            \
    for (uint32_t left_ = (set); left_ != 0;) \
        for (const search_variant *v = variant_take(&left_); v != NULL && v->hook != NULL; v = NULL)

/* The variants of an item with these settings. */
static inline uint32_t variants_of_settings(const rill_settings *s)
{
    uint32_t set = 0;
    for (int i = 0; search_variants[i] != NULL; i++)
        if (search_variants[i]->has_settings != NULL && search_variants[i]->has_settings(s)) set |= UINT32_C(1) << i;
    return set;
}

/* Call check() of the variants that the settings select. */
static inline rill_status variants_check(rill_context *ctx, const chain *c, const rill_settings *s,
                                         const rill_domain_info *info)
{
    FOR_VARIANTS (v, variants_of_settings(s), check) RILL__TRY(v->check(ctx, c, s, info));
    return RILL_OK;
}

#endif
