/* A plugin with one heuristic, one scorer and one scheduler, written as an outside author would. */
#include "rill/plugin.h"

static rill_status keep_first(void *self, rill_candidates *candidates)
{
    (void)self;
    for (int32_t i = 0; i < candidates->n; i++) candidates->width[i] = 1;
    return RILL_OK;
}

static rill_status reward_nothing(void *self, const rill_scorer_rows *rows, rill_modifiers *modifiers)
{
    (void)self;
    return rows->n > 0 ? rill_modifiers_reward(modifiers, 0, 0) : RILL_OK;
}

static rill_status choose_all(void *self, const rill_sched_view *view, int32_t *order, int32_t *count)
{
    (void)self;
    for (int32_t i = 0; i < view->n; i++) order[i] = i;
    *count = view->n;
    return RILL_OK;
}

static rill_status admit(void *self, const rill_sched_view *view, int32_t *count)
{
    (void)self;
    *count = view->max_items;
    return RILL_OK;
}

static const rill_heuristic heuristic = {.abi_version = RILL_ABI_VERSION,
                                         .struct_size = sizeof(rill_heuristic),
                                         .name = "plugged-first",
                                         .arguments = "",
                                         .summary = "keeps the first",
                                         .apply = keep_first};
static const rill_scorer scorer = {.abi_version = RILL_ABI_VERSION,
                                   .struct_size = sizeof(rill_scorer),
                                   .name = "plugged-silent",
                                   .arguments = "",
                                   .summary = "says nothing",
                                   .score = reward_nothing};
static const rill_scheduler scheduler = {.abi_version = RILL_ABI_VERSION,
                                         .struct_size = sizeof(rill_scheduler),
                                         .name = "plugged-all",
                                         .summary = "all, always",
                                         .choose = choose_all,
                                         .refill = admit};

static const rill_heuristic *const heuristics[] = {&heuristic, NULL};
static const rill_scorer *const scorers[] = {&scorer, NULL};
static const rill_scheduler *const schedulers[] = {&scheduler, NULL};

RILL_API const rill_plugin_table *rill_plugin(void);

RILL_API const rill_plugin_table *rill_plugin(void)
{
    static const rill_plugin_table table = {.abi_version = RILL_ABI_VERSION,
                                            .struct_size = sizeof table,
                                            .name = "good",
                                            .heuristics = heuristics,
                                            .scorers = scorers,
                                            .schedulers = schedulers};
    return &table;
}
