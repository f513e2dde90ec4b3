/* Required phrases: lexically constrained decoding with dynamic beam allocation (Post and Vilar 2018).
 *
 *   require:TEXT[ ||| TEXT]   outputs contain each of the phrases, in any order
 *
 * An item's bank is how many actions of phrases its hypothesis has written, a phrase that is being written counted as far as it
 * has come. The beam is divided among banks (banks.c), what advances a phrase is a candidate wherever the model ranks it, and a
 * hypothesis may end once all phrases are there. How far a phrase has come is what its own automaton says (Knuth, Morris and Pratt 1977):
 * phrases may overlap, and one that breaks off falls back to the longest beginning that still stands. */
#include "builtin.h"
#include "phrases.h"

enum { MOST_PHRASES = 32, MOST_REQUIRED = RILL_MOST_BANKS - 1 };

/* Of a hypothesis: actions of each phrase that it has just written, or all of them once it has. */
typedef struct progress {
    uint8_t at[MOST_PHRASES];
} progress;

typedef struct require {
    constraint base; /* first */
    uint8_t back
        [MOST_REQUIRED]; /* of the first i + 1 actions of a phrase: how long the longest beginning is that ends them */
    int32_t n_distinct;
    int32_t distinct[MOST_REQUIRED]; /* actions of phrases, each once */
} require;

static rill_status create_require(const rill_scorer *table, rill_context *ctx, const char *arguments, void **self)
{
    return constraint_create(table, ctx, arguments, sizeof(require), self);
}

/* How far phrase i is when `action` follows. */
static uint8_t next(const require *r, size_t i, uint8_t at, int32_t action)
{
    const phrase *p = &r->base.list.at[i];
    const int32_t *of = r->base.list.action + p->first;
    if (at == p->n) return at;
    while (at > 0 && of[at] != action) at = r->back[p->first + at - 1];
    return (uint8_t)(at + (of[at] == action));
}

static void prepare_phrase(require *r, const phrase *p)
{
    const int32_t *of = r->base.list.action + p->first;
    uint8_t *back = r->back + p->first, at = 0;
    back[0] = 0;
    for (int32_t i = 1; i < p->n; i++) {
        while (at > 0 && of[at] != of[i]) at = back[at - 1];
        at = (uint8_t)(at + (of[at] == of[i]));
        back[i] = at;
    }
}

static rill_status prepare(require *r, const rill_scorer_rows *rows)
{
    constraint *c = &r->base;
    phrases *list = &c->list;
    RILL__TRY(phrases_read(list, c->name, rows->model, c->arguments));
    list->ready = 1;
    if (list->n > MOST_PHRASES || list->n_actions > MOST_REQUIRED)
        return phrases_refuse(list, c->name,
                              "%zu actions in phrases, of which there are %zu: at most %d and %d are possible",
                              list->n_actions, list->n, MOST_REQUIRED, MOST_PHRASES);
    for (size_t i = 0; i < list->n; i++) prepare_phrase(r, &list->at[i]);
    for (size_t i = 0; i < list->n_actions; i++) {
        int32_t at = 0;
        while (at < r->n_distinct && r->distinct[at] != list->action[i]) at++;
        if (at == r->n_distinct) r->distinct[r->n_distinct++] = list->action[i];
    }
    return RILL_OK;
}

/* The bank that a hypothesis is in after `action`; RILL_NO_ACTION: one that is in no phrase. */
static int32_t bank_after(const require *r, const progress *now, int32_t action)
{
    int32_t bank = 0;
    for (size_t i = 0; i < r->base.list.n; i++) bank += next(r, i, now->at[i], action);
    return bank;
}

static rill_status ask_row(const require *r, const progress *now, rill_ask_builder *ask, int32_t row)
{
    const int32_t all = (int32_t)r->base.list.n_actions, rest = bank_after(r, now, RILL_NO_ACTION);
    RILL__TRY(rill_ask_banks(ask, row, all + 1, rest));
    if (rest == all) return RILL_OK;
    for (int32_t i = 0; i < r->n_distinct; i++) {
        const int32_t bank = bank_after(r, now, r->distinct[i]);
        if (bank != rest) RILL__TRY(rill_ask_bank(ask, row, r->distinct[i], bank));
    }
    return rill_ask_end(ask, row, RILL_END_FORBIDDEN);
}

static rill_status score_require(void *self, const rill_scorer_rows *rows, rill_ask_builder *ask)
{
    require *r = self;
    progress *states = rows->state;
    int go;
    if (!r->base.list.ready) RILL__TRY(prepare(r, rows));
    RILL__TRY(constraint_heed(&r->base, rows, ask, &go));
    for (int32_t row = 0; row < rows->n && go && r->base.list.n > 0; row++) {
        const rill_history *h = &rows->histories[rows->history[row]];
        for (size_t i = 0; i < r->base.list.n && h->parent >= 0; i++)
            states[row].at[i] = next(r, i, states[row].at[i], h->action);
        RILL__TRY(ask_row(r, &states[row], ask, row));
    }
    return RILL_OK;
}

const rill_scorer rill__require_scorer = {
    .abi_version = RILL_ABI_VERSION,
    .struct_size = sizeof(rill_scorer),
    .name = "require",
    .arguments = "TEXT[ ||| TEXT]",
    .summary = "outputs contain each of the phrases, in any order",
    .create = create_require,
    .score = score_require,
    .destroy = constraint_destroy,
    .state_bytes = sizeof(progress),
};
