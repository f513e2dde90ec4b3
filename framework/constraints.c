/* Constraints: scorers that strike actions. Their arguments are phrases (phrases.h); without any they say nothing, so that
 * a run may have them for the sake of the inputs that want something (rill/constraints.h).
 *
 *   prefix:TEXT             outputs begin with the text
 *   ban:TEXT[ ||| TEXT]     outputs contain none of the phrases: the last action of one is struck where the others have just been written
 *   allow:TEXT[ ||| TEXT]   outputs are made of the actions of these texts, and of the end action
 * Where all outputs of an input begin with an action of their own (rill_domain.first_action) texts follow that one.
 *
 * They strike before selection, so what is struck takes no place in a beam. require.c has the one that asks for something to be said. */
#include "builtin.h"
#include "phrases.h"

static rill_status create(const rill_scorer *table, rill_context *ctx, const char *arguments, void **self)
{
    return constraint_create(table, ctx, arguments, sizeof(constraint), self);
}

static rill_status score_prefix(void *self, const rill_scorer_rows *rows, rill_ask_builder *ask)
{
    constraint *c = self;
    int go;
    RILL__TRY(constraint_begin(c, rows, ask, &go));
    for (int32_t row = 0; row < rows->n && go; row++) {
        const int32_t at = rows_position(rows, row), first = rows_first(rows, row, c->ctx);
        const size_t from = phrases_begin_behind(&c->list, first);
        if (at == 0 && from > 0) RILL__TRY(rill_ask_allow(ask, row, first));
        if ((size_t)at >= from && (size_t)at - from < c->list.n_actions)
            RILL__TRY(rill_ask_allow(ask, row, c->list.action[(size_t)at - from]));
    }
    return RILL_OK;
}

static rill_status score_ban(void *self, const rill_scorer_rows *rows, rill_ask_builder *ask)
{
    constraint *c = self;
    int go;
    RILL__TRY(constraint_begin(c, rows, ask, &go));
    for (int32_t row = 0; row < rows->n && go; row++)
        for (size_t i = 0; i < c->list.n; i++) {
            const phrase *p = &c->list.at[i];
            const int32_t *action = c->list.action + p->first;
            if (path_ends_with(rows->histories, rows->history[row], action, p->n - 1))
                RILL__TRY(rill_ask_ban(ask, row, action[p->n - 1]));
        }
    return RILL_OK;
}

static rill_status score_allow(void *self, const rill_scorer_rows *rows, rill_ask_builder *ask)
{
    constraint *c = self;
    int go;
    RILL__TRY(constraint_begin(c, rows, ask, &go));
    for (int32_t row = 0; row < rows->n && go; row++) {
        for (size_t i = 0; i < c->list.n_actions; i++) RILL__TRY(rill_ask_allow(ask, row, c->list.action[i]));
        if (rows->info->end_action >= 0) RILL__TRY(rill_ask_allow(ask, row, rows->info->end_action));
        const int32_t first = rows_position(rows, row) == 0 ? rows_first(rows, row, c->ctx) : RILL_NO_ACTION;
        if (first >= 0) RILL__TRY(rill_ask_allow(ask, row, first));
    }
    return RILL_OK;
}

#define CONSTRAINT(word, written, what)                                                                           \
    {                                                                                                             \
        .abi_version = RILL_ABI_VERSION, .struct_size = sizeof(rill_scorer), .name = #word, .arguments = written, \
        .summary = what, .create = create, .score = score_##word, .destroy = constraint_destroy,                  \
        .most = rill__adds_nothing                                                                                \
    }
static const rill_scorer tables[] = {
    CONSTRAINT(prefix, "TEXT", "outputs begin with the text"),
    CONSTRAINT(ban, "TEXT[ ||| TEXT]", "outputs contain none of the phrases"),
    CONSTRAINT(allow, "TEXT[ ||| TEXT]", "outputs are made of the actions of these texts"),
};

rill_status rill__register_constraints(rill_context *ctx)
{
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) RILL__TRY(rill_register_scorer(ctx, &tables[i]));
    RILL__TRY(rill_register_scorer(ctx, &rill__require_scorer));
    RILL__TRY(rill_register_scorer(ctx, &rill__trie_scorer));
    return rill_register_scorer(ctx, &rill__given_scorer);
}
