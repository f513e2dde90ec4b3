/* See domain_driver.h. Errors fail the test. */
#include "domain_driver.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "helpers.h"

rill_status start_model(rill_context *ctx, const rill_domain *domain, const rill_open_options *options, started *out,
                        rill_domain_info *info)
{
    *out = (started){0};
    rill_status status = domain->open(domain, ctx, options, &out->model, info);
    if (status != RILL_OK || domain->start == NULL) {
        out->self = out->model;
        return status;
    }
    status = domain->start(out->model, ctx, options->threads, &out->self);
    if (status != RILL_OK) stop_model(domain, out);
    return status;
}

void stop_model(const rill_domain *domain, started *s)
{
    if (domain->stop != NULL) domain->stop(s->self);
    domain->close(s->model);
    *s = (started){0};
}

static size_t words_of(int32_t actions)
{
    return ((size_t)actions + 63) / 64;
}

answer answer_make(int32_t rows, int32_t actions)
{
    const size_t entries = (size_t)rows * (size_t)actions + 1;
    answer a = {.actions = actions,
                .out = {.stride = actions,
                        .count = calloc((size_t)rows + 1, sizeof(int32_t)),
                        .action = calloc(entries, sizeof(int32_t)),
                        .logp = calloc(entries, sizeof(float)),
                        .ends = calloc((size_t)rows + 1, 1),
                        .terminal = calloc(entries, 1),
                        .pick_logp = calloc(entries, sizeof(float))}};
    assert_true(a.out.count && a.out.action && a.out.logp && a.out.ends && a.out.terminal && a.out.pick_logp);
    return a;
}

void answer_free(answer *a)
{
    free(a->out.count), free(a->out.action), free(a->out.logp);
    free(a->out.ends), free(a->out.terminal), free(a->out.pick_logp);
}

static void answer_request(rill_context *ctx, const rill_domain *domain, void *self, const rill_rows *rows,
                           const rill_score_request *request, answer *a)
{
    memset(a->out.ends, RILL_ENDS_BY_ACTION, (size_t)rows->n);
    assert_ok(ctx, domain->score(self, rows, request, &a->out));
}

void answer_rows(rill_context *ctx, const rill_domain *domain, void *self, const rill_rows *rows, answer *a)
{
    assert_ok(ctx, domain->step(self, rows));
    answer_request(ctx, domain, self, rows,
                   &(rill_score_request){.max_choices = a->actions, .legal_words = words_of(a->actions)}, a);
}

answer answer_row(rill_context *ctx, const rill_domain *domain, void *self, int32_t actions, one_row row)
{
    answer a = answer_make(1, actions);
    const rill_rows rows = {.n = 1,
                            .phase = row.phase,
                            .node = &row.node,
                            .parent = &row.parent,
                            .state_parent = &row.parent,
                            .action = &row.action,
                            .slot = &row.slot,
                            .depth = &row.depth};
    answer_rows(ctx, domain, self, &rows, &a);
    return a;
}

void answer_logp(const answer *a, int32_t r, float *logp)
{
    for (int32_t i = 0; i < a->actions; i++) logp[i] = -INFINITY;
    const size_t first = (size_t)r * (size_t)a->actions;
    for (size_t i = first; i < first + (size_t)a->out.count[r]; i++) {
        logp[a->out.action[i]] = a->out.logp[i];
        assert_true(i == first || a->out.logp[i] < a->out.logp[i - 1] ||
                    (a->out.logp[i] == a->out.logp[i - 1] && a->out.action[i] > a->out.action[i - 1]));
    }
}

rill_terminal answer_ends(const answer *a, int32_t r)
{
    assert_int_not_equal(a->out.ends[r], RILL_ENDS_BY_FLAG);
    return a->out.ends[r] == RILL_ENDS_LAST ? RILL_LAST : RILL_LIVE;
}

/* --- varied requests ---------------------------------------------------------------------------------------------- */

enum { MANY_ROWS = 150, SETS = 3 }; /* more rows than a domain scores at once */

typedef struct drawn_request {
    rill_score_request request;
    int32_t wanted[MANY_ROWS], legal_set[MANY_ROWS];
    uint64_t *legal;                 /* [SETS, words] bit sets of actions */
    int32_t *pick_row, *pick_action; /* [rows * actions] in use at most */
    float *logp;                     /* [actions] log-probabilities of the row that is compared */
} drawn_request;

static void draw_sets(drawn_request *x, const rill_domain_info *info, int32_t n, uint64_t *state)
{
    const size_t words = words_of(info->actions);
    for (size_t w = 0; w < SETS * words; w++) {
        const uint64_t some = (uint64_t)random_below(state, UINT32_MAX) << 32 | random_below(state, UINT32_MAX);
        x->legal[w] = w < words && info->legal != NULL ? info->legal[w] : some;
        if (info->legal != NULL) x->legal[w] &= info->legal[w % words];
    }
    /* A model with info.legal must get a legal set for every row. */
    for (int32_t r = 0; r < n; r++) x->legal_set[r] = (int32_t)random_below(state, SETS + 1) - (info->legal == NULL);
    for (int32_t r = 0; r < n; r++)
        if (x->legal_set[r] >= SETS) x->legal_set[r] = 0;
    x->request.legal = x->legal;
    x->request.legal_set = x->legal_set;
}

static void draw_request(drawn_request *x, const rill_domain_info *info, int32_t n, uint64_t *state)
{
    const int32_t actions = info->actions;
    x->request = (rill_score_request){.legal_words = words_of(actions)};
    x->request.max_choices = random_below(state, 4) == 0
                                 ? 0
                                 : 1 + (int32_t)random_below(state, random_below(state, 2) ? 6 : (uint32_t)actions);
    if (x->request.max_choices > actions) x->request.max_choices = actions;
    if (random_below(state, 3) == 0) x->request.row_max_choices = x->wanted;
    for (int32_t r = 0; r < n; r++) x->wanted[r] = (int32_t)random_below(state, (uint32_t)x->request.max_choices + 1);
    if (random_below(state, 2) == 0) draw_sets(x, info, n, state);
    if (random_below(state, 2) == 0) return;
    const uint32_t rare = 1 + random_below(state, 5);
    for (int32_t i = 0; i < n * actions; i++) {
        if (random_below(state, rare) != 0) continue;
        x->pick_row[x->request.n_picks] = i / actions;
        x->pick_action[x->request.n_picks++] = i % actions;
    }
    x->request.pick_row = x->pick_row;
    x->request.pick_action = x->pick_action;
}

static void compare_row(drawn_request *x, const rill_score_result *all, const rill_score_result *found, int32_t r,
                        int32_t actions)
{
    const rill_score_request *request = &x->request;
    const int32_t max_n = request->row_max_choices != NULL ? request->row_max_choices[r] : request->max_choices;
    const size_t from = (size_t)r * (size_t)all->stride;
    int32_t n = 0, n_found = found->count[r];
    assert_int_equal(found->ends[r], all->ends[r]);
    assert_in_range(n_found, 0, request->max_choices);
    for (int32_t i = 0, j = 0; i < all->count[r] && n < max_n; i++) {
        const int32_t action = all->action[from + (size_t)i];
        if (!rill_score_request_allows(request, r, action)) {
            /* A pick may only repeat a returned choice if the row returned all its choices. */
            if (j < n_found && found->action[from + (size_t)j] == action) assert_int_equal(n_found, all->count[r]), j++;
            continue;
        }
        assert_true(j < n_found && found->action[from + (size_t)j] == action);
        assert_memory_equal(&found->logp[from + (size_t)j], &all->logp[from + (size_t)i], sizeof(float));
        j++, n++;
    }
    for (int32_t i = 0; i < actions; i++) x->logp[i] = -INFINITY;
    for (int32_t i = 0; i < all->count[r]; i++) x->logp[all->action[from + (size_t)i]] = all->logp[from + (size_t)i];
    for (int32_t q = rill_score_request_first_pick(request, r); q < request->n_picks && request->pick_row[q] == r; q++)
        assert_memory_equal(&found->pick_logp[q], &x->logp[request->pick_action[q]], sizeof *x->logp);
}

void check_random_requests(rill_context *ctx, const rill_domain *domain, void *self, const rill_domain_info *info,
                           const rill_rows *rows, int rounds)
{
    const size_t entries = (size_t)MANY_ROWS * (size_t)info->actions + 1;
    answer all = answer_make(MANY_ROWS, info->actions), found = answer_make(MANY_ROWS, info->actions);
    drawn_request x = {.legal = calloc(SETS * words_of(info->actions), sizeof(uint64_t)),
                       .pick_row = calloc(entries, sizeof(int32_t)),
                       .pick_action = calloc(entries, sizeof(int32_t)),
                       .logp = calloc((size_t)info->actions, sizeof(float))};
    uint64_t state = 7;
    int32_t node[MANY_ROWS], slot[MANY_ROWS], depth[MANY_ROWS];
    assert_true(x.legal && x.pick_row && x.pick_action && x.logp);
    for (int32_t r = 0; r < MANY_ROWS; r++) node[r] = rows->node[r % rows->n], slot[r] = rows->slot[r % rows->n];
    for (int32_t r = 0; r < MANY_ROWS; r++) depth[r] = rows->depth != NULL ? rows->depth[r % rows->n] : 1;
    const rill_rows many = {.n = MANY_ROWS, .phase = rows->phase, .node = node, .slot = slot, .depth = depth};
    answer_request(ctx, domain, self, &many,
                   &(rill_score_request){.max_choices = info->actions, .legal_words = words_of(info->actions)}, &all);
    for (int round = 0; round < rounds; round++) {
        draw_request(&x, info, MANY_ROWS, &state);
        answer_request(ctx, domain, self, &many, &x.request, &found);
        for (int32_t r = 0; r < MANY_ROWS; r++) compare_row(&x, &all.out, &found.out, r, info->actions);
    }
    free(x.legal), free(x.pick_row), free(x.pick_action), free(x.logp);
    answer_free(&all);
    answer_free(&found);
}
