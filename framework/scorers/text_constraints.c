/* Constraints: scorers that ban actions. Their arguments are phrases (phrases.h). Without arguments they do nothing, so a
 * run can list them without arguments, and single inputs set their own (rill/constraints.h).
 *
 *   prefix:TEXT             outputs begin with the text
 *   ban:TEXT[ ||| TEXT]     outputs contain none of the phrases: an action that would complete one is banned
 *   allow:TEXT[ ||| TEXT]   outputs consist of the actions of these texts, and of the end action
 * If outputs have a forced first action (rill_domain.first_action), the texts follow it.
 *
 * Bans apply before selection, so a banned action takes no place in a beam. lexical_constraints.c has required phrases. */
#include "builtin.h"
#include "phrases.h"

static rill_status create_constraint(const rill_scorer *table, rill_context *ctx, const char *arguments, void **self)
{
    return constraint_create(table, ctx, arguments, sizeof(constraint), self);
}

static rill_status score_prefix(void *self, const rill_scorer_rows *rows, rill_modifiers *mods)
{
    constraint *c = self;
    int active;
    RILL__TRY(constraint_prepare(c, rows, mods, &active));
    for (int32_t row = 0; row < rows->n && active; row++) {
        const int32_t pos = row_length(rows, row), first = row_first_action(rows, row, c->ctx);
        const size_t first_pos = phrases_start(&c->phrases, first);
        if (pos == 0 && first_pos > 0) RILL__TRY(rill_modifiers_allow(mods, row, first));
        if ((size_t)pos >= first_pos && (size_t)pos - first_pos < c->phrases.n_actions)
            RILL__TRY(rill_modifiers_allow(mods, row, c->phrases.action[(size_t)pos - first_pos]));
    }
    return RILL_OK;
}

static rill_status score_ban(void *self, const rill_scorer_rows *rows, rill_modifiers *mods)
{
    constraint *c = self;
    int active;
    RILL__TRY(constraint_prepare(c, rows, mods, &active));
    for (int32_t row = 0; row < rows->n && active; row++)
        for (size_t i = 0; i < c->phrases.n; i++) {
            const phrase *p = &c->phrases.phrase[i];
            const int32_t *action = c->phrases.action + p->first;
            if (hyp_ends_with(rows->hyp_nodes, rows->hyp_node[row], action, p->n - 1))
                RILL__TRY(rill_modifiers_ban(mods, row, action[p->n - 1]));
        }
    return RILL_OK;
}

static rill_status score_allow(void *self, const rill_scorer_rows *rows, rill_modifiers *mods)
{
    constraint *c = self;
    int active;
    RILL__TRY(constraint_prepare(c, rows, mods, &active));
    for (int32_t row = 0; row < rows->n && active; row++) {
        for (size_t i = 0; i < c->phrases.n_actions; i++)
            RILL__TRY(rill_modifiers_allow(mods, row, c->phrases.action[i]));
        if (rows->info->end_action >= 0) RILL__TRY(rill_modifiers_allow(mods, row, rows->info->end_action));
        const int32_t first = row_length(rows, row) == 0 ? row_first_action(rows, row, c->ctx) : RILL_NO_ACTION;
        if (first >= 0) RILL__TRY(rill_modifiers_allow(mods, row, first));
    }
    return RILL_OK;
}

#define CONSTRAINT(word, written, what)                                                                           \
    {                                                                                                             \
        .abi_version = RILL_ABI_VERSION, .struct_size = sizeof(rill_scorer), .name = #word, .arguments = written, \
        .summary = what, .create = create_constraint, .score = score_##word, .destroy = constraint_destroy,       \
        .max_bonus = rill__no_bonus                                                                               \
    }
static const rill_scorer constraint_scorers[] = {
    CONSTRAINT(prefix, "TEXT", "outputs begin with the text"),
    CONSTRAINT(ban, "TEXT[ ||| TEXT]", "outputs contain none of the phrases"),
    CONSTRAINT(allow, "TEXT[ ||| TEXT]", "outputs are made of the actions of these texts"),
};

rill_status rill__register_constraints(rill_context *ctx)
{
    for (size_t i = 0; i < sizeof constraint_scorers / sizeof *constraint_scorers; i++)
        RILL__TRY(rill_register_scorer(ctx, &constraint_scorers[i]));
    RILL__TRY(rill_register_scorer(ctx, &rill__lexical_scorer));
    RILL__TRY(rill_register_scorer(ctx, &rill__trie_scorer));
    return rill_register_scorer(ctx, &rill__forced_scorer);
}
