/* Lexically constrained decoding with dynamic beam allocation (Post and Vilar 2018).
 *
 *   require:TEXT[ ||| TEXT]   outputs contain all phrases, in any order
 *
 * A hypothesis's bank is the number of phrase tokens that it has. A token that advances a phrase is a candidate at any rank. An automaton
 * per phrase (Knuth, Morris and Pratt 1977) finds matches that overlap. */
#include "internal.h"
#include "text_constraints.h"

enum { MAX_PHRASES = 32, MAX_REQUIRED = RILL_MAX_BANKS - 1 };

/* For each phrase: how many of its first actions the hypothesis's last actions match. Once all are matched, the number stays. */
typedef struct phrase_progress {
    uint8_t n_matched[MAX_PHRASES];
} phrase_progress;

typedef struct required_phrases {
    constraint constraint; /* must be first, so that a pointer to this struct is a pointer to a constraint */
    /* KMP failure function: of a phrase's first i + 1 actions, the longest proper prefix that is also a suffix */
    uint8_t fallback[MAX_REQUIRED];
    int32_t n_distinct;
    int32_t distinct[MAX_REQUIRED]; /* distinct actions of all phrases */
} required_phrases;

static rill_status create_lexical(const rill_scorer *table, rill_context *ctx, const char *arguments, void **self)
{
    return constraint_create(table, ctx, arguments, sizeof(required_phrases), self);
}

/* Return how many actions of phrase i are matched after `action`, if n_matched were matched before it. */
static uint8_t next_progress(const required_phrases *r, size_t i, uint8_t n_matched, int32_t action)
{
    const phrase *p = &r->constraint.phrase[i];
    const int32_t *actions = r->constraint.action + p->first;
    if (n_matched == p->n) return n_matched;
    while (n_matched > 0 && actions[n_matched] != action) n_matched = r->fallback[p->first + n_matched - 1];
    return (uint8_t)(n_matched + (actions[n_matched] == action));
}

static void build_fallback(required_phrases *r, const phrase *p)
{
    const int32_t *actions = r->constraint.action + p->first;
    uint8_t *back = r->fallback + p->first, n_matched = 0;
    back[0] = 0;
    for (int32_t i = 1; i < p->n; i++) {
        while (n_matched > 0 && actions[n_matched] != actions[i]) n_matched = back[n_matched - 1];
        n_matched = (uint8_t)(n_matched + (actions[n_matched] == actions[i]));
        back[i] = n_matched;
    }
}

static rill_status read_phrases(required_phrases *r, const rill_scorer_rows *rows)
{
    constraint *c = &r->constraint;
    RILL__TRY(constraint_read(c, rows->model, c->arguments));
    c->is_read = 1;
    if (c->n_phrases > MAX_PHRASES || c->n_actions > MAX_REQUIRED)
        return constraint_refuse(c, "%zu actions in %zu phrases: at most %d actions in %d phrases can be required",
                                 c->n_actions, c->n_phrases, MAX_REQUIRED, MAX_PHRASES);
    for (size_t i = 0; i < c->n_phrases; i++) build_fallback(r, &c->phrase[i]);
    for (size_t i = 0; i < c->n_actions; i++) {
        int32_t index = 0;
        while (index < r->n_distinct && r->distinct[index] != c->action[i]) index++;
        if (index == r->n_distinct) r->distinct[r->n_distinct++] = c->action[i];
    }
    return RILL_OK;
}

/* Returns the constraint bank of a hypothesis after `action`. RILL_NO_ACTION stands for any action that is in no phrase. */
static int32_t bank_after(const required_phrases *r, const phrase_progress *now, int32_t action)
{
    int32_t bank = 0;
    for (size_t i = 0; i < r->constraint.n_phrases; i++) bank += next_progress(r, i, now->n_matched[i], action);
    return bank;
}

static rill_status modify_row(const required_phrases *r, const phrase_progress *now, rill_modifiers *mods, int32_t row)
{
    const int32_t all = (int32_t)r->constraint.n_actions, rest = bank_after(r, now, RILL_NO_ACTION);
    RILL__TRY(rill_modifiers_divide_banks(mods, row, all + 1, rest));
    if (rest == all) return RILL_OK;
    for (int32_t i = 0; i < r->n_distinct; i++) {
        const int32_t bank = bank_after(r, now, r->distinct[i]);
        if (bank != rest) RILL__TRY(rill_modifiers_assign_bank(mods, row, r->distinct[i], bank));
    }
    return rill_modifiers_end_rule(mods, row, RILL_END_FORBIDDEN);
}

static rill_status score_lexical(void *self, const rill_scorer_rows *rows, rill_modifiers *mods)
{
    required_phrases *r = self;
    phrase_progress *states = rows->state;
    int active;
    if (!r->constraint.is_read) RILL__TRY(read_phrases(r, rows));
    RILL__TRY(constraint_check_rows(&r->constraint, rows, mods, &active));
    for (int32_t row = 0; row < rows->n && active && r->constraint.n_phrases > 0; row++) {
        const rill_hyp_node *h = &rows->hyp_nodes[rows->hyp_node[row]];
        for (size_t i = 0; i < r->constraint.n_phrases && h->parent >= 0; i++)
            states[row].n_matched[i] = next_progress(r, i, states[row].n_matched[i], h->action);
        RILL__TRY(modify_row(r, &states[row], mods, row));
    }
    return RILL_OK;
}

const rill_scorer rill__lexical_scorer = {
    .abi_version = RILL_ABI_VERSION,
    .struct_size = sizeof(rill_scorer),
    .name = "require",
    .arguments = "TEXT[ ||| TEXT]",
    .summary = "outputs contain each of the phrases, in any order",
    .create = create_lexical,
    .score = score_lexical,
    .destroy = constraint_destroy,
    .state_bytes = sizeof(phrase_progress),
};
