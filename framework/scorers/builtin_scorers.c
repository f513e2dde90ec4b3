/* The scorer word_reward, and the registration of everything built in.
 *
 *   word_reward:W   add W to every action except the end action; W > 0 favours longer outputs (He et al. 2016, "Improved neural machine
 *                   translation with SMT features") */
#include <math.h>
#include <stdlib.h>

#include "internal.h"

typedef struct word_reward {
    rill_context *ctx;
    float value;
} word_reward;

static rill_status create_word_reward(const rill_scorer *table, rill_context *ctx, const char *arguments, void **self)
{
    (void)table;
    char *end;
    float value = (float)rill_read_number(arguments, &end);
    if (end == arguments || *end != '\0' || !isfinite(value))
        return rill_fail(ctx, RILL_ERR_OPTION, "word_reward: \"%s\" is not a number, as in word_reward:0.5", arguments);
    word_reward *w = rill_alloc(ctx, sizeof *w);
    if (w == NULL) return rill_fail_memory(ctx, sizeof *w, "a scorer");
    *w = (word_reward){ctx, value};
    *self = w;
    return RILL_OK;
}

static rill_status score_word_reward(void *self, const rill_scorer_rows *rows, rill_modifiers *mods)
{
    const word_reward *w = self;
    for (int32_t row = 0; row < rows->n; row++) RILL__TRY(rill_modifiers_reward(mods, row, w->value));
    return RILL_OK;
}

static double max_word_reward(const void *self, double *end)
{
    (void)end;
    return (double)((const word_reward *)self)->value;
}

static void destroy_word_reward(void *self)
{
    word_reward *w = self;
    if (w != NULL) rill_free(w->ctx, w, sizeof *w);
}

static const rill_scorer word_reward_scorer = {
    .abi_version = RILL_ABI_VERSION,
    .struct_size = sizeof(rill_scorer),
    .name = "word_reward",
    .arguments = "W",
    .summary = "add W to the score of every action but the end action",
    .create = create_word_reward,
    .score = score_word_reward,
    .destroy = destroy_word_reward,
    .max_bonus = max_word_reward,
};

rill_status rill_register_core(rill_context *ctx)
{
    static const rill_scorer *const scorers[] = {&word_reward_scorer,    &rill__lmbr_scorer,     &rill__text_scorers[0],
                                                 &rill__text_scorers[1], &rill__text_scorers[2], &rill__lexical_scorer,
                                                 &rill__trie_scorer,     &rill__forced_scorer};
    for (size_t i = 0; i < sizeof rill__heuristics / sizeof *rill__heuristics; i++)
        RILL__TRY(rill_register_heuristic(ctx, &rill__heuristics[i]));
    for (size_t i = 0; i < sizeof scorers / sizeof *scorers; i++) RILL__TRY(rill_register_scorer(ctx, scorers[i]));
    for (size_t i = 0; i < sizeof rill__schedulers / sizeof *rill__schedulers; i++)
        RILL__TRY(rill_register_scheduler(ctx, &rill__schedulers[i]));
    return RILL_OK;
}
