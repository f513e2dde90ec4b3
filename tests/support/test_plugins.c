/* See test_plugins.h.
 * Sections: random decisions · heuristics · scorers · schedulers · registration. */
#include "support/test_plugins.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/dice.h"

/* --- random decisions --------------------------------------------------------------------------------------------- */

static uint64_t hash_double(uint64_t hash, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return dice_mix(hash, bits);
}

static uint64_t beam_hash(const test_random *r, int64_t item, int32_t timestep, int32_t phase, int32_t k,
                          int32_t outputs, double best_output, double best)
{
    uint64_t hash = dice_mix(dice_mix(r->seed, (uint64_t)item), (uint64_t)timestep * 8 + (uint64_t)phase);
    hash = dice_mix(hash, (uint64_t)k * 1000 + (uint64_t)outputs);
    return hash_double(hash_double(hash, best_output), best);
}

static int drops(const test_random *r, uint64_t beam, double sum, float logp, int32_t parent_rank, int32_t action,
                 int ended)
{
    uint64_t hash = hash_double(hash_double(beam, sum), (double)logp);
    hash = dice_mix(dice_mix(hash, (uint64_t)parent_rank), (uint64_t)action * 2 + (uint64_t)(ended != 0));
    return (int32_t)(hash % 100) < r->percent;
}

static int32_t width_for(uint64_t beam)
{
    return beam % 5 == 0 ? (int32_t)(beam / 5 % 4) + 1 : INT32_MAX;
}

static int stop_for(uint64_t beam)
{
    return beam % 37 == 0;
}

void test_random_apply(void *user, naive_beam *b)
{
    const test_random *r = user;
    uint64_t hash = beam_hash(r, b->item, b->timestep, b->phase, b->k, b->outputs, b->best_output, b->best);
    for (int32_t i = 0; i < b->n; i++) {
        const naive_hypothesis *c = &b->candidate[i];
        b->keep[i] = !drops(r, hash, c->sum, c->logp[c->n - 1], c->parent_rank, c->action[c->n - 1], c->ended);
    }
    b->width = width_for(hash);
    b->stop = stop_for(hash);
}

/* A multiple of 1/8 from -1 to 1, so that sums of such numbers are exact in any order. */
static float eighth(uint64_t hash)
{
    return 0.125f * (float)((int32_t)(hash % 17) - 8);
}

static void draw_modifiers(const test_random *r, uint64_t hash, naive_modifiers *w)
{
    w->restricted = (r->flags & TEST_ALLOW) && hash % 4 == 0;
    for (int32_t a = 0; a < r->actions; a++) {
        uint64_t h = dice_mix(hash, (uint64_t)a);
        if ((r->flags & TEST_ADD) && h % 3 == 0) w->add[a] = eighth(h / 3);
        if ((r->flags & TEST_BAN) && h / 64 % 5 == 0) w->ban[a] = 1;
        if (w->restricted && h / 512 % 2 == 0) w->allow[a] = 1;
    }
    if ((r->flags & TEST_END_RULE) && hash / 7 % 3 != 0)
        w->rule = 1 << hash / 21 % 3; /* one of: forbidden (1), required (2), banned for a minimum length (4) */
    if (r->flags & TEST_REWARD) w->reward = eighth(hash / 11);
    if (r->flags & TEST_END_REWARD) w->end_reward = eighth(hash / 13);
    if ((r->flags & TEST_LIMIT) && hash / 17 % 3 != 0) w->limit = (int32_t)(hash / 51 % 5) + 1;
}

static uint64_t row_hash(const test_random *r, int64_t item, int32_t timestep, int32_t phase, int32_t rank,
                         double score)
{
    uint64_t hash = dice_mix(dice_mix(r->seed, (uint64_t)item), (uint64_t)timestep * 8 + (uint64_t)phase);
    if (r->flags & TEST_USE_RANK) hash = dice_mix(hash, (uint64_t)rank);
    return r->flags & TEST_USE_SCORE ? hash_double(hash, score) : hash;
}

void test_random_score(void *user, int64_t item, int32_t timestep, int32_t phase, int32_t rank,
                       const naive_hypothesis *parent, naive_modifiers *modifiers)
{
    const test_random *r = user;
    uint64_t hash = row_hash(r, item, timestep, phase, rank, parent->sum);
    for (int32_t i = parent->n - 1; i >= 0; i--) hash = dice_mix(hash, (uint64_t)parent->action[i]);
    draw_modifiers(r, hash, modifiers);
}

/* --- heuristics --------------------------------------------------------------------------------------------------- */

static rill_status create_random(rill_context *ctx, const char *arguments, void **self)
{
    test_random *r = rill_calloc(ctx, 1, sizeof *r + sizeof ctx);
    if (r == NULL) return rill_fail_memory(ctx, sizeof *r, "a random plugin");
    memcpy(r + 1, &ctx, sizeof ctx);
    unsigned long long seed = 0;
    int32_t number = 0;
    if (sscanf(arguments, "%llu,%d", &seed, &number) < 1) {
        rill_free(ctx, r, sizeof *r + sizeof ctx);
        return rill_fail(ctx, RILL_ERR_OPTION, "a random plugin wants SEED,NUMBER, not \"%s\"", arguments);
    }
    *r = (test_random){.seed = seed, .percent = number, .flags = number};
    *self = r;
    return RILL_OK;
}

static void destroy_random(void *self)
{
    rill_context *ctx;
    if (self == NULL) return;
    memcpy(&ctx, (test_random *)self + 1, sizeof ctx);
    rill_free(ctx, self, sizeof(test_random) + sizeof ctx);
}

static rill_status apply_random(void *self, rill_candidates *b)
{
    const test_random *r = self;
    for (int32_t i = 0; i < b->n; i++) {
        uint64_t hash = beam_hash(r, b->item_id[i], b->timestep[i], b->phase, b->k[i], b->outputs[i],
                                  b->best_output_score[i], b->best_path_score[i]);
        for (int32_t c = b->offset[i]; c < b->offset[i + 1]; c++)
            b->keep[c] = !drops(r, hash, b->path_score[c], b->action_logp[c], b->parent_rank[c], b->action[c],
                                b->ended[c]);
        b->width[i] = width_for(hash);
        b->stop[i] = (uint8_t)stop_for(hash);
    }
    return RILL_OK;
}

static rill_status apply_mixing(void *self, rill_candidates *b)
{
    const test_random *r = self;
    for (int32_t i = 0; i < b->n && b->n > 1; i++) {
        if (r->seed == 0) b->width[i] = 1;
        if (r->seed == 1 && b->offset[i + 1] - b->offset[i] > 1) b->keep[b->offset[i] + 1] = 0;
        if (r->seed == 2) b->stop[i] = b->timestep[i] > 1;
    }
    return RILL_OK;
}

static rill_status apply_counting(void *self, rill_candidates *b)
{
    test_random *r = self;
    for (int32_t i = 0; i < b->n; i++)
        if (b->offset[i + 1] > b->offset[i] && ++r->percent % 3 == 0) b->width[i] = 1;
    return RILL_OK;
}

enum { REMEMBERED = 64 };

/* test-remembering cuts an item's beam to 1 candidate if it has not seen the item's first timestep. */
static rill_status apply_remembering(void *self, rill_candidates *b)
{
    test_random *r = self;
    for (int32_t i = 0; i < b->n; i++) {
        uint64_t bit = UINT64_C(1) << b->item_id[i] % REMEMBERED;
        if (b->timestep[i] == 0) r->seed |= bit;
        if (!(r->seed & bit)) b->width[i] = 1;
    }
    return RILL_OK;
}

static rill_status create_random_heuristic(const rill_heuristic *table, rill_context *ctx, const char *arguments,
                                           void **self)
{
    (void)table;
    return create_random(ctx, arguments, self);
}

static const rill_heuristic heuristics[] = {
    {RILL_ABI_VERSION, sizeof(rill_heuristic), "test-random", "SEED,PERCENT", "random per item",
     create_random_heuristic, apply_random, destroy_random},
    {RILL_ABI_VERSION, sizeof(rill_heuristic), "test-mixing", "KIND", "mixes items", create_random_heuristic,
     apply_mixing, destroy_random},
    {RILL_ABI_VERSION, sizeof(rill_heuristic), "test-counting", "SEED", "carries state", create_random_heuristic,
     apply_counting, destroy_random},
    {RILL_ABI_VERSION, sizeof(rill_heuristic), "test-remembering", "0", "carries state that no neighbour changes",
     create_random_heuristic, apply_remembering, destroy_random},
};

/* --- scorers ------------------------------------------------------------------------------------------------------ */

static rill_status send_modifiers(const test_random *r, const naive_modifiers *w, int32_t row,
                                  rill_modifiers *modifiers)
{
    rill_status status = RILL_OK;
    int allowed = 0;
    /* in descending order, because the order must not matter */
    for (int32_t a = r->actions - 1; a >= 0 && status == RILL_OK; a--) {
        if (w->add[a] != 0) status = rill_modifiers_add(modifiers, row, a, w->add[a] - 0.5f);
        if (w->add[a] != 0 && status == RILL_OK) status = rill_modifiers_add(modifiers, row, a, 0.5f);
        if (w->ban[a] && status == RILL_OK) status = rill_modifiers_ban(modifiers, row, a);
        if (w->ban[a] && status == RILL_OK) status = rill_modifiers_ban(modifiers, row, a);
        if (w->allow[a] && status == RILL_OK) status = rill_modifiers_allow(modifiers, row, a);
        allowed |= w->allow[a];
    }
    if (status == RILL_OK && w->restricted && !allowed) status = rill_modifiers_allow_none(modifiers, row);
    if (status == RILL_OK && w->rule != 0) status = rill_modifiers_end_rule(modifiers, row, (rill_end_rule)w->rule);
    if (status == RILL_OK && w->reward != 0) status = rill_modifiers_reward(modifiers, row, w->reward);
    if (status == RILL_OK && w->end_reward != 0) status = rill_modifiers_end_reward(modifiers, row, w->end_reward);
    if (status == RILL_OK && w->limit > 0) status = rill_modifiers_limit_children(modifiers, row, w->limit);
    if (status == RILL_OK && w->limit > 0) /* a second limit, to check that the smaller one holds */
        status = rill_modifiers_limit_children(modifiers, row, w->limit + 3);
    return status;
}

/* Whether the scores of a hypothesis's actions add up to the hypothesis's score. The root must have the score 0. */
static int scores_add_up(const rill_scorer_rows *rows, int32_t row)
{
    const rill_hyp_node *h = &rows->hyp_nodes[rows->hyp_node[row]];
    double sum = 0;
    for (; h->parent >= 0; h = &rows->hyp_nodes[h->parent]) sum += (double)h->path_score;
    return h->action == RILL_ACTION_START && h->logp == 0 && h->path_score == 0 &&
           fabs(sum - rows->path_score[row]) <= 1e-6 * (1 + fabs(sum));
}

static rill_status score_random(void *self, const rill_scorer_rows *rows, rill_modifiers *modifiers)
{
    test_random *r = self;
    r->actions = rows->info->actions < NAIVE_MAX_ACTIONS ? rows->info->actions : NAIVE_MAX_ACTIONS;
    rill_status status = RILL_OK;
    for (int32_t i = rows->n - 1; i >= 0 && status == RILL_OK; i--) {
        if (!scores_add_up(rows, i)) return RILL_ERR_ARGUMENT;
        uint64_t hash = row_hash(r, rows->item_id[i], rows->timestep[i], rows->phase, rows->rank[i],
                                 rows->path_score[i]);
        for (int32_t h = rows->hyp_node[i]; rows->hyp_nodes[h].action != RILL_ACTION_START;
             h = rows->hyp_nodes[h].parent)
            hash = dice_mix(hash, (uint64_t)rows->hyp_nodes[h].action);
        naive_modifiers w = {0};
        draw_modifiers(r, hash, &w);
        status = send_modifiers(r, &w, i, modifiers);
    }
    return status;
}

static double random_max_bonus(const void *self, double *end)
{
    const test_random *r = self;
    *end = (r->flags & TEST_ADD ? 1 : 0) + (r->flags & TEST_END_REWARD ? 1 : 0);
    return (r->flags & TEST_ADD ? 1 : 0) + (r->flags & TEST_REWARD ? 1 : 0);
}

static rill_status score_cheating(void *self, const rill_scorer_rows *rows, rill_modifiers *modifiers)
{
    const test_random *r = self;
    for (int32_t i = 0; i < rows->n; i++) {
        if (r->seed == 2 && rows->timestep[i] + rows->phase > 0) continue;
        rill_status status = r->seed == 0 ? rill_modifiers_add(modifiers, i, rows->n % rows->info->actions, 0.5f)
                                          : rill_modifiers_limit_children(modifiers, i, rows->n % 3 + 1);
        if (status < 0) return status;
    }
    return RILL_OK;
}

static rill_status score_remembering(void *self, const rill_scorer_rows *rows, rill_modifiers *modifiers)
{
    test_random *r = self;
    for (int32_t i = 0; i < rows->n; i++) {
        uint64_t bit = UINT64_C(1) << rows->item_id[i] % REMEMBERED;
        if (rows->timestep[i] == 0) r->seed |= bit;
        rill_status status = r->seed & bit ? RILL_OK : rill_modifiers_limit_children(modifiers, i, 1);
        if (status < 0) return status;
    }
    return RILL_OK;
}

static rill_status score_limit(void *self, const rill_scorer_rows *rows, rill_modifiers *modifiers)
{
    const test_random *r = self;
    rill_status status = RILL_OK;
    for (int32_t i = 0; i < rows->n && status == RILL_OK; i++)
        status = rill_modifiers_limit_children(modifiers, i, (int32_t)r->seed);
    return status;
}

static rill_status flood(uint64_t hash, int32_t actions, int32_t row, rill_modifiers *modifiers)
{
    rill_status status = hash % 4 == 0 ? RILL_OK : rill_modifiers_reward(modifiers, row, -4e6f);
    if (status == RILL_OK && hash / 4 % 3 == 0)
        status = rill_modifiers_limit_children(modifiers, row, 1 + (int32_t)(hash / 12 % 4));
    for (int32_t a = 0; a < actions && status == RILL_OK && hash / 48 % 3 == 0; a++)
        if (dice_mix(hash, (uint64_t)a) % 3 == 0) status = rill_modifiers_ban(modifiers, row, a);
    return status;
}

static rill_status score_flood(void *self, const rill_scorer_rows *rows, rill_modifiers *modifiers)
{
    const test_random *r = self;
    rill_status status = RILL_OK;
    for (int32_t i = 0; i < rows->n && status == RILL_OK; i++) {
        uint64_t hash = row_hash(r, rows->item_id[i], rows->timestep[i], rows->phase, rows->rank[i],
                                 rows->path_score[i]);
        status = flood(dice_mix(hash, (uint64_t)rows->rank[i]), rows->info->actions, i, modifiers);
    }
    return status;
}

static rill_status create_random_scorer(const rill_scorer *table, rill_context *ctx, const char *arguments, void **self)
{
    (void)table;
    return create_random(ctx, arguments, self);
}

static const rill_scorer scorers[] = {
    {RILL_ABI_VERSION, sizeof(rill_scorer), "test-random", "SEED,FLAGS", "random per row", create_random_scorer,
     score_random, destroy_random, .max_bonus = random_max_bonus},
    {RILL_ABI_VERSION, sizeof(rill_scorer), "test-cheating", "KIND", "mixes rows", create_random_scorer, score_cheating,
     destroy_random, .state_bytes = 0},
    {RILL_ABI_VERSION, sizeof(rill_scorer), "test-remembering", "0", "carries state that no neighbour changes",
     create_random_scorer, score_remembering, destroy_random, .state_bytes = 0},
    {RILL_ABI_VERSION, sizeof(rill_scorer), "test-flood", "SEED", "ties", create_random_scorer, score_flood,
     destroy_random, .state_bytes = 0},
    {RILL_ABI_VERSION, sizeof(rill_scorer), "test-limit", "M", "few choices", create_random_scorer, score_limit,
     destroy_random, .state_bytes = 0},
};

/* --- schedulers --------------------------------------------------------------------------------------------------- */

static rill_status choose_nothing(void *self, const rill_sched_view *view, int32_t *order, int32_t *count)
{
    (void)self, (void)view, (void)order;
    *count = 0;
    return RILL_OK;
}

static rill_status admit_none(void *self, const rill_sched_view *view, int32_t *admit)
{
    (void)self, (void)view;
    *admit = 0;
    return RILL_OK;
}

static rill_status admit_all(void *self, const rill_sched_view *view, int32_t *admit)
{
    (void)self, (void)view;
    *admit = INT32_MAX;
    return RILL_OK;
}

static rill_status choose_reverse(void *self, const rill_sched_view *view, int32_t *order, int32_t *count)
{
    (void)self;
    for (int32_t i = 0; i < view->n; i++) order[i] = view->n - 1 - i;
    *count = view->n;
    return RILL_OK;
}

/* Always chooses the item that was admitted last, so all other items wait while inputs come in. */
static rill_status choose_newest(void *self, const rill_sched_view *view, int32_t *order, int32_t *count)
{
    (void)self;
    *count = view->n > 0;
    if (view->n > 0) order[0] = view->n - 1;
    return RILL_OK;
}

static rill_status choose_random(void *self, const rill_sched_view *view, int32_t *order, int32_t *count)
{
    test_random *r = self;
    for (int32_t i = 0; i < view->n; i++) order[i] = i;
    for (int32_t i = view->n - 1; i > 0; i--) {
        r->seed = dice_mix(r->seed, 3);
        int32_t j = (int32_t)(r->seed % (uint64_t)(i + 1)), other = order[j];
        order[j] = order[i];
        order[i] = other;
    }
    r->seed = dice_mix(r->seed, 4);
    *count = (int32_t)(r->seed % (uint64_t)(view->n + 1));
    return RILL_OK;
}

static rill_status admit_random(void *self, const rill_sched_view *view, int32_t *admit)
{
    test_random *r = self;
    r->seed = dice_mix(r->seed, (uint64_t)view->n);
    *admit = (int32_t)(r->seed % 5);
    return RILL_OK;
}

static rill_status choose_garbage(void *self, const rill_sched_view *view, int32_t *order, int32_t *count)
{
    const test_random *r = self;
    *count = view->n;
    for (int32_t i = 0; i < view->n; i++) order[i] = i;
    if (view->n == 0) return RILL_OK;
    if (r->seed == 0) order[0] = view->n;            /* an index after the last item */
    if (r->seed == 1) order[0] = -1;                 /* a negative index */
    if (r->seed == 2) order[0] = order[view->n - 1]; /* the same index twice; possible if there are two items */
    if (r->seed == 3) *count = -1;
    if (r->seed == 4) *count = view->n + 1;
    return RILL_OK;
}

static int32_t encode_everything(void *self, const rill_sched_view *view)
{
    (void)self, (void)view;
    return INT32_MAX;
}

static rill_status create_random_scheduler(const rill_scheduler *table, rill_context *ctx, const char *arguments,
                                           void **self)
{
    (void)table;
    return create_random(ctx, arguments, self);
}

static const rill_scheduler schedulers[] = {
    {RILL_ABI_VERSION, sizeof(rill_scheduler), "test-nothing", "", NULL, choose_nothing, admit_none, NULL, NULL, 0},
    {RILL_ABI_VERSION, sizeof(rill_scheduler), "test-reverse", "", NULL, choose_reverse, admit_all, NULL, NULL, 0},
    {RILL_ABI_VERSION, sizeof(rill_scheduler), "test-newest", "", NULL, choose_newest, admit_all, NULL, NULL, 0},
    {RILL_ABI_VERSION, sizeof(rill_scheduler), "test-random", "", create_random_scheduler, choose_random, admit_random,
     destroy_random, NULL, 1},
    {RILL_ABI_VERSION, sizeof(rill_scheduler), "test-garbage", "", create_random_scheduler, choose_garbage, admit_all,
     destroy_random, NULL, 0},
    {RILL_ABI_VERSION, sizeof(rill_scheduler), "test-huge", "", NULL, choose_reverse, admit_all, NULL,
     encode_everything, 0},
};

/* --- registration ------------------------------------------------------------------------------------------------- */

rill_status test_plugins_register(rill_context *ctx)
{
    rill_status status = RILL_OK;
    for (size_t i = 0; i < sizeof heuristics / sizeof *heuristics && status == RILL_OK; i++)
        status = rill_register_heuristic(ctx, &heuristics[i]);
    for (size_t i = 0; i < sizeof scorers / sizeof *scorers && status == RILL_OK; i++)
        status = rill_register_scorer(ctx, &scorers[i]);
    for (size_t i = 0; i < sizeof schedulers / sizeof *schedulers && status == RILL_OK; i++)
        status = rill_register_scheduler(ctx, &schedulers[i]);
    return status;
}
