/* Top-k selection (framework/engine/topk.h) against enumeration: random rows of random models with random modifiers.
 * The engine's choices equal those of an exhaustive scan, to the bit, and a row's choices do not depend on other rows.
 *
 * The reference works from the modifiers as the scorer set them, in the test's own record. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/dice.h"
#include "support/harness.h"
#include "support/toy_select.h"
#include "topk.h"

enum { ROWS = 5, CAPACITY = 420, SCORERS = 3 };

/* One scorer's modifiers of a row. */
typedef struct row_modifiers {
    uint8_t ban[CAPACITY], allow[CAPACITY], restricted;
    float add[CAPACITY];
    uint8_t rule;
    float reward, end_reward;
    int32_t limit; /* the scorer's limit on the row's children; 0: none */
} row_modifiers;

typedef struct row {
    toy_choice choice[CAPACITY]; /* the legal choices, in order of action */
    int32_t n;
    rill_row_ends ends;
    row_modifiers modifiers[SCORERS];
} row;

typedef struct world {
    rill_domain_info info;
    uint64_t legal[CAPACITY / 64 + 1];
    int32_t n, scorers, max_choices;
    row rows[ROWS];
} world;

/* --- drawing ------------------------------------------------------------------------------------------------------ */

/* Multiples of 2^-10, and rewards of 2^-3: sums are exact, so ties are never accidental. */
static float draw_logp(dice *d, int32_t levels)
{
    if (levels > 0) return -0.25f * (float)dice_range(d, 0, levels);
    return -0x1p-10f * (float)dice_range(d, 0, 8000);
}

static void draw_info(world *w, dice *d)
{
    static const int32_t sizes[] = {1, 2, 5, 30, 64, 200, 256, 257, 300, 384, CAPACITY};
    w->info = (rill_domain_info){.actions = sizes[dice_range(d, 0, 10)], .phases = 1, .max_length = 9};
    w->info.has_end_action = dice_chance(d, 70);
    w->info.end_action = w->info.has_end_action ? dice_range(d, 0, w->info.actions - 1) : RILL_NO_ACTION;
    w->info.terminals_by_flag = dice_chance(d, 25);
    memset(w->legal, 0, sizeof w->legal);
    int32_t percent = DICE_PICK(d, 30, 80, 100);
    for (int32_t a = 0; a < w->info.actions; a++)
        if (dice_chance(d, percent)) w->legal[a / 64] |= (uint64_t)1 << a % 64;
    w->info.legal = dice_chance(d, 50) ? w->legal : NULL;
}

static rill_terminal terminal_kind(const world *w, rill_row_ends ends, int32_t action, dice *d)
{
    if (ends == RILL_ENDS_LAST) return RILL_LAST;
    if (ends == RILL_ENDS_BY_FLAG) return (rill_terminal)dice_range(d, RILL_LIVE, RILL_LAST);
    return action == w->info.end_action ? RILL_END : RILL_LIVE;
}

static void draw_row(const world *w, row *r, dice *d)
{
    int32_t percent = DICE_PICK(d, 0, 10, 60, 100), levels = DICE_PICK(d, 0, 0, 1, 3), forced = dice_chance(d, 10);
    r->ends = dice_chance(d, 25) ? RILL_ENDS_LAST : RILL_ENDS_BY_ACTION;
    if (w->info.terminals_by_flag && dice_chance(d, 60)) r->ends = RILL_ENDS_BY_FLAG;
    r->n = 0;
    for (int32_t a = 0; a < w->info.actions; a++) {
        int ever = w->info.legal == NULL || (w->legal[a / 64] >> a % 64 & 1);
        if (!ever || !dice_chance(d, percent)) continue;
        r->choice[r->n++] = (toy_choice){a, forced ? 0.0f : draw_logp(d, levels), terminal_kind(w, r->ends, a, d)};
        if (forced) break;
    }
}

static void draw_row_modifiers(const world *w, row_modifiers *s, dice *d)
{
    int32_t ban = DICE_PICK(d, 0, 0, 3, 15, 60, 100), add = DICE_PICK(d, 0, 0, 2, 20, 100),
            allow = DICE_PICK(d, 0, 3, 30, 90);
    memset(s, 0, sizeof *s);
    s->restricted = (uint8_t)dice_chance(d, 25);
    for (int32_t a = 0; a < w->info.actions; a++) {
        s->ban[a] = (uint8_t)dice_chance(d, ban);
        s->allow[a] = (uint8_t)(s->restricted && dice_chance(d, allow));
        s->add[a] = dice_chance(d, add) ? 0.125f * (float)dice_range(d, -40, 40) : 0;
    }
    s->rule = (uint8_t)(dice_chance(d, 30) ? dice_range(d, 0, 7) : 0);
    s->reward = dice_chance(d, 30) ? 0.125f * (float)dice_range(d, -16, 16) : 0;
    s->end_reward = dice_chance(d, 30) ? 0.125f * (float)dice_range(d, -64, 64) : 0;
    s->limit = dice_chance(d, 30) ? dice_range(d, 1, 8) : 0;
}

static void draw_world(world *w, dice *d)
{
    draw_info(w, d);
    w->n = dice_range(d, 1, ROWS);
    w->scorers = DICE_PICK(d, 0, 1, 1, 2, 3);
    w->max_choices = dice_range(d, 1, w->info.actions < 12 ? w->info.actions : 12);
    for (int32_t r = 0; r < w->n; r++) {
        draw_row(w, &w->rows[r], d);
        /* rows that repeat the action sets of the row before */
        int silent = dice_chance(d, 25), like_previous = r > 0 && dice_chance(d, 30);
        for (int32_t s = 0; s < w->scorers; s++) {
            if (like_previous)
                w->rows[r].modifiers[s] = w->rows[r - 1].modifiers[s];
            else if (silent)
                memset(&w->rows[r].modifiers[s], 0, sizeof(row_modifiers));
            else
                draw_row_modifiers(w, &w->rows[r].modifiers[s], d);
        }
    }
}

/* --- reference ---------------------------------------------------------------------------------------------------- */

typedef struct scored {
    toy_choice choice;
    float score;
} scored;

typedef struct truth {
    scored items[CAPACITY];
    int32_t n;
} truth;

static int permitted(const world *w, const row *r, const toy_choice *c)
{
    int rule = 0;
    for (int32_t s = 0; s < w->scorers; s++) {
        const row_modifiers *modifiers = &r->modifiers[s];
        rule |= modifiers->rule;
        if (modifiers->ban[c->action] || (modifiers->restricted && !modifiers->allow[c->action])) return 0;
    }
    if ((rule & RILL_END_FORBIDDEN) && c->terminal != RILL_LIVE) return 0;
    if ((rule & RILL_END_REQUIRED) && c->terminal == RILL_LIVE) return 0;
    return !((rule & RILL_END_NOT_YET) && c->terminal == RILL_END);
}

static int by_score(const void *a, const void *b)
{
    const scored *x = a, *y = b;
    if (x->score != y->score) return x->score > y->score ? -1 : 1;
    return (x->choice.action > y->choice.action) - (x->choice.action < y->choice.action);
}

static void enumerate(const world *w, const row *r, truth *t)
{
    int32_t max_n = w->max_choices;
    t->n = 0;
    for (int32_t i = 0; i < r->n; i++) {
        const toy_choice *c = &r->choice[i];
        float score = c->logp;
        if (!permitted(w, r, c)) continue;
        for (int32_t s = 0; s < w->scorers; s++) {
            score += r->modifiers[s].add[c->action];
            score += c->terminal == RILL_END ? r->modifiers[s].end_reward : r->modifiers[s].reward;
        }
        t->items[t->n++] = (scored){*c, score};
    }
    for (int32_t s = 0; s < w->scorers; s++)
        if (r->modifiers[s].limit > 0 && r->modifiers[s].limit < max_n) max_n = r->modifiers[s].limit;
    qsort(t->items, (size_t)t->n, sizeof t->items[0], by_score);
    if (t->n > max_n) t->n = max_n;
}

/* --- the engine --------------------------------------------------------------------------------------------------- */

static void expect_ok(rill_status status)
{
    if (status != RILL_OK) fail_msg("%s", rill_status_name(status));
}

static void send_row_modifiers(const world *w, const row_modifiers *s, int32_t row_index, rill_modifiers *b)
{
    int allowed = 0;
    for (int32_t a = w->info.actions - 1; a >= 0; a--) {
        if (s->ban[a]) expect_ok(rill_modifiers_ban(b, row_index, a));
        if (s->allow[a]) expect_ok(rill_modifiers_allow(b, row_index, a));
        if (s->add[a] != 0) expect_ok(rill_modifiers_add(b, row_index, a, s->add[a]));
        allowed |= s->allow[a];
    }
    if (s->restricted && !allowed) expect_ok(rill_modifiers_allow_none(b, row_index));
    expect_ok(rill_modifiers_end_rule(b, row_index, (rill_end_rule)s->rule));
    if (s->reward != 0) expect_ok(rill_modifiers_reward(b, row_index, s->reward));
    if (s->end_reward != 0) expect_ok(rill_modifiers_end_reward(b, row_index, s->end_reward));
    if (s->limit > 0) expect_ok(rill_modifiers_limit_children(b, row_index, s->limit));
}

typedef struct bench {
    rill_context *ctx;
    rill_modifiers requests;
    topk selector;
    /* number of calls of each kind; shared: calls with fewer action sets than rows that have one */
    int64_t sets, picks, legal_sets, plain, shared;
} bench;

/* Check the engine's side of the contract: a request may ask the domain for no more than necessary. */
static void check_contract(bench *b, const world *w, const rill_score_request *request, int32_t n)
{
    int32_t largest = 0, rows = 0;
    assert_int_equal(request->legal_words, (w->info.actions + 63) / 64);
    assert_true(!w->info.terminals_by_flag || (request->legal == NULL && request->n_picks == 0));
    for (int32_t r = 0; r < n && request->legal_set != NULL; r++) {
        rows += request->legal_set[r] >= 0;
        if (request->legal_set[r] > largest) largest = request->legal_set[r];
        for (size_t i = 0; i < request->legal_words && w->info.legal != NULL; i++) {
            assert_true(request->legal_set[r] >= 0);
            assert_true((request->legal[(size_t)request->legal_set[r] * request->legal_words + i] & ~w->legal[i]) == 0);
        }
    }
    b->sets += request->legal != NULL;
    b->picks += request->n_picks > 0;
    b->legal_sets += w->info.terminals_by_flag && request->max_choices == w->info.actions;
    b->shared += largest + 1 < rows;
}

/* Select for rows [first, first + n) in one call. */
static void select_rows(bench *b, const world *w, int32_t first, int32_t n)
{
    modifier_table rules;
    rill_score_request request;
    rill_score_result out;
    expect_ok(modifiers_begin(&b->requests, n));
    for (int32_t s = 0; s < w->scorers; s++) {
        b->requests.current_scorer = s;
        for (int32_t r = n - 1; r >= 0; r--) send_row_modifiers(w, &w->rows[first + r].modifiers[s], r, &b->requests);
    }
    expect_ok(modifiers_build(&b->requests, w->max_choices, &rules));
    expect_ok(topk_begin(&b->selector, &rules, n, INT32_MAX));
    assert_int_equal(topk_request_part(&b->selector, 0, &request, &out), n);
    check_contract(b, w, &request, n);
    b->plain += rules.limits_only;
    if (w->rows[first].n % 2 == 0)
        request.row_max_choices = NULL; /* without it, every row gets as many choices as the largest maximum */
    for (int32_t r = 0; r < n; r++)
        toy_answer_slowly(&request, r, w->rows[first + r].n, w->rows[first + r].choice, w->rows[first + r].ends, &out);
    const char *wrong = topk_take_result(&b->selector, 0, n, 1);
    if (wrong != NULL) fail_msg("row %d is %s", (int)b->selector.error_row, wrong);
}

static void compare(bench *b, const world *w, int32_t first, int32_t n, uint64_t seed)
{
    const choice_table *c = &b->selector.choices;
    static truth t;
    for (int32_t r = 0; r < n; r++) {
        topk_choice found;
        for (int32_t i = 0; topk_next(&b->selector, r, i, &found);) i++; /* read the choices as the merge does */
        enumerate(w, &w->rows[first + r], &t);
        if (c->count[r] != t.n)
            fail_msg("seed %llu: row %d has %d choices, not %d", (unsigned long long)seed, (int)(first + r),
                     (int)c->count[r], (int)t.n);
        for (int32_t i = 0; i < t.n; i++) {
            size_t offset = (size_t)r * (size_t)c->stride + (size_t)i;
            const scored *s = &t.items[i];
            if (c->action[offset] != s->choice.action || c->logp[offset] != s->choice.logp ||
                c->score[offset] != s->score || c->terminal[offset] != s->choice.terminal)
                fail_msg("seed %llu: row %d choice %d: action %d score %.9g kind %d, not %d %.9g %d",
                         (unsigned long long)seed, (int)(first + r), (int)i, (int)c->action[offset], c->score[offset],
                         c->terminal[offset], (int)s->choice.action, s->score, (int)s->choice.terminal);
        }
    }
}

static void choices_equal_enumeration(void **state)
{
    (void)state;
    static world w;
    bench b = {.ctx = harness_context(NULL)};
    uint64_t first = harness_seed(1);
    for (int64_t i = 0; i < harness_iterations(20000); i++) {
        dice d = dice_seeded(first + (uint64_t)i);
        draw_world(&w, &d);
        modifiers_init(&b.requests, b.ctx, w.info.actions);
        topk_init(&b.selector, b.ctx, &w.info);
        b.selector.check_all = i % 2 == 0;
        select_rows(&b, &w, 0, w.n);
        compare(&b, &w, 0, w.n, first + (uint64_t)i);
        for (int32_t r = 0; r < w.n && w.n > 1; r++) {
            select_rows(&b, &w, r, 1);
            compare(&b, &w, r, 1, first + (uint64_t)i);
        }
        modifiers_finish(&b.requests);
        topk_finish(&b.selector);
    }
    HARNESS_ASSERT_COVERED(b.sets > 0 && b.picks > 0 && b.legal_sets > 0 && b.plain > 0 && b.shared > 0);
    rill_context_destroy(b.ctx);
}

/* --- readable cases ----------------------------------------------------------------------------------------------- */

/* A case by hand: nine legal actions of 300. One of them is a low-ranked pick, one is banned, and the end gets no
 * reward. */
static void one_row(void **state)
{
    (void)state;
    const rill_domain_info info = {.actions = 300, .phases = 1, .has_end_action = 1, .end_action = 0};
    const toy_choice legal[] = {{0, -1.0f, RILL_END},   {1, -1.0f, RILL_LIVE},   {3, -3.0f, RILL_LIVE},
                                {4, -0.5f, RILL_LIVE},  {200, -2.5f, RILL_LIVE}, {201, -2.5f, RILL_LIVE},
                                {202, -2.5f, RILL_LIVE}};
    rill_context *ctx = harness_context(NULL);
    rill_modifiers b;
    topk s;
    modifier_table rules;
    rill_score_request request;
    rill_score_result out;
    modifiers_init(&b, ctx, info.actions);
    topk_init(&s, ctx, &info);
    expect_ok(modifiers_begin(&b, 1));
    expect_ok(rill_modifiers_ban(&b, 0, 1));
    expect_ok(rill_modifiers_add(&b, 0, 3, 2.5f));
    expect_ok(rill_modifiers_add(&b, 0, 202, -1.0f));
    expect_ok(rill_modifiers_reward(&b, 0, 0.25f));
    expect_ok(modifiers_build(&b, 3, &rules));
    expect_ok(topk_begin(&s, &rules, 1, INT32_MAX));
    assert_int_equal(topk_request_part(&s, 0, &request, &out), 1);
    assert_int_equal(request.max_choices, 6); /* three, plus one each for the ban, the negative addition and the end */
    assert_null(request.legal);
    assert_int_equal(request.n_picks, 3);
    assert_int_equal(request.pick_action[0], 0);
    assert_int_equal(request.pick_action[1], 3);
    assert_int_equal(request.pick_action[2], 202);
    toy_answer_slowly(&request, 0, 7, legal, RILL_ENDS_BY_ACTION, &out);
    assert_null(topk_take_result(&s, 0, 1, 1));
    const choice_table *c = &s.choices;
    assert_int_equal(c->count[0], 3);
    assert_int_equal(c->action[0], 3); /* -0.5 + 0.25 ties with action 4, and the smaller id wins */
    assert_int_equal(c->action[1], 4);
    assert_int_equal(c->action[2], 0); /* the end action has no reward */
    assert_true(c->score[0] == -0.25f && c->score[1] == -0.25f && c->score[2] == -1.0f);
    assert_true(c->logp[0] == -3.0f);
    assert_int_equal(c->terminal[0], RILL_LIVE);
    assert_int_equal(c->terminal[2], RILL_END);
    modifiers_finish(&b);
    topk_finish(&s);
    rill_context_destroy(ctx);
}

/* The domain is asked for the largest limit of all rows. Limits alone are no end rules. */
static void limits(void **state)
{
    (void)state;
    rill_modifiers b;
    modifier_table rules;
    rill_context *ctx = harness_context(NULL);
    modifiers_init(&b, ctx, 9);
    assert_int_equal(modifiers_begin(&b, 3), RILL_OK);
    assert_int_equal(rill_modifiers_limit_children(&b, 0, 2), RILL_OK);
    assert_int_equal(rill_modifiers_limit_children(&b, 2, 7), RILL_OK);
    assert_int_equal(rill_modifiers_limit_children(&b, 2, 4), RILL_OK);
    assert_int_equal(rill_modifiers_limit_children(&b, 2, 5), RILL_OK);
    assert_int_equal(modifiers_build(&b, 6, &rules), RILL_OK);
    assert_int_equal(rules.limit[0], 2);
    assert_int_equal(rules.limit[1], INT32_MAX);
    assert_int_equal(rules.limit[2], 4);
    assert_int_equal(rules.max_choices, 6); /* row 1 has no limit */
    assert_int_equal(rill_modifiers_limit_children(&b, 1, 3), RILL_OK);
    assert_int_equal(modifiers_build(&b, 6, &rules), RILL_OK);
    assert_int_equal(rules.max_choices, 4);
    assert_true(rules.limits_only);
    assert_int_equal(rill_modifiers_ban(&b, 1, 3), RILL_OK);
    assert_int_equal(modifiers_build(&b, 6, &rules), RILL_OK);
    assert_int_equal(rules.max_choices, 4);
    assert_false(rules.limits_only);
    assert_int_equal(rill_modifiers_limit_children(&b, 0, 0), RILL_ERR_PLUGIN);
    assert_int_equal(rill_modifiers_limit_children(&b, 3, 1), RILL_ERR_PLUGIN);
    assert_int_equal(rill_modifiers_limit_children(&b, -1, 1), RILL_ERR_PLUGIN);
    assert_int_equal(modifiers_begin(&b, 3), RILL_OK); /* the limit of the last timestep is gone */
    assert_int_equal(modifiers_build(&b, 6, &rules), RILL_OK);
    assert_null(rules.limit);
    assert_int_equal(rules.max_choices, 6);
    modifiers_finish(&b);
    rill_context_destroy(ctx);
}

/* The choices of all rows may exceed memory; the call is then split. */
static void in_parts(void **state)
{
    (void)state;
    enum { MANY = 1 << 20, CALL = 5 };
    const rill_domain_info info = {.actions = MANY, .phases = 1, .terminals_by_flag = 1, .end_action = RILL_NO_ACTION};
    rill_context *ctx = harness_context(NULL);
    rill_modifiers b;
    topk s;
    modifier_table rules;
    rill_score_request request;
    rill_score_result out;
    int32_t parts = 0;
    modifiers_init(&b, ctx, info.actions);
    topk_init(&s, ctx, &info);
    expect_ok(modifiers_begin(&b, CALL));
    for (int32_t r = 0; r < CALL; r++) expect_ok(rill_modifiers_ban(&b, r, r));
    expect_ok(modifiers_build(&b, 2, &rules));
    expect_ok(topk_begin(&s, &rules, CALL, INT32_MAX));
    for (int32_t from = 0, n; from < CALL; from += n, parts++) {
        n = topk_request_part(&s, from, &request, &out);
        assert_true(n > 0 && from + n <= CALL);
        assert_int_equal(request.max_choices, MANY);
        for (int32_t r = 0; r < n; r++) {
            toy_choice c[] = {{from + r, -1, RILL_LIVE}, {7, -2.0f - (float)from, RILL_LAST}, {MANY - 1, -9, RILL_END}};
            toy_answer_slowly(&request, r, 3, c, RILL_ENDS_BY_FLAG, &out);
        }
        assert_null(topk_take_result(&s, from, n, 1));
    }
    assert_true(parts > 1);
    for (int32_t r = 0; r < CALL; r++) {
        assert_int_equal(s.choices.count[r], 2);
        assert_int_equal(s.choices.action[2 * r], 7);
        assert_int_equal(s.choices.terminal[2 * r], RILL_LAST);
        assert_int_equal(s.choices.action[2 * r + 1], MANY - 1);
    }
    modifiers_finish(&b);
    topk_finish(&s);
    rill_context_destroy(ctx);
}

/* --- rill_score_result_fill() ------------------------------------------------------------------------------------------ */

/* Draw a request for one row as any caller may write it: any number of choices, even 0, with action sets and picks. */
static rill_score_request draw_request(dice *d, int32_t actions, int32_t n_picks, const int32_t *pick, uint64_t *set)
{
    static const int32_t zeros[TOY_MAX_ACTIONS], wanted[] = {3};
    rill_score_request request = {.max_choices = dice_range(d, 0, actions), .legal_words = 1};
    if (dice_chance(d, 30) && request.max_choices >= 3) request.row_max_choices = wanted;
    if (dice_chance(d, 50)) {
        request.n_picks = n_picks;
        request.pick_row = zeros;
        request.pick_action = pick;
    }
    if (dice_chance(d, 50)) {
        request.legal = set;
        request.legal_set = zeros;
        *set = dice_mix((uint64_t)dice_range(d, 0, 1 << 30), 1);
    }
    return request;
}

static void logits_to_choices(void **state)
{
    (void)state;
    uint64_t first = harness_seed(1);
    for (int64_t i = 0; i < harness_iterations(30000); i++) {
        dice d = dice_seeded(first + (uint64_t)i);
        int32_t actions = dice_range(&d, 1, TOY_MAX_ACTIONS), n = 0, n_picks = 0, pick[TOY_MAX_ACTIONS];
        int32_t percent = DICE_PICK(&d, 20, 70, 100), levels = DICE_PICK(&d, 0, 0, 1, 4);
        toy_choice choice[TOY_MAX_ACTIONS];
        rill_row_ends ends = (rill_row_ends)dice_range(&d, 0, 2);
        uint64_t set;
        for (int32_t a = 0; a < actions; a++) {
            if (dice_chance(&d, 20)) pick[n_picks++] = a;
            if (!dice_chance(&d, percent)) continue;
            choice[n++] = (toy_choice){a, draw_logp(&d, levels), (rill_terminal)dice_range(&d, 0, 2)};
        }
        rill_score_request request = draw_request(&d, actions, n_picks, pick, &set);
        int32_t count[1], action[TOY_MAX_ACTIONS];
        float logp[TOY_MAX_ACTIONS], picks[TOY_MAX_ACTIONS];
        uint8_t terminal_row[1], terminal[TOY_MAX_ACTIONS];
        rill_score_result out = {request.max_choices, count, action, logp, terminal_row, terminal, picks};
        toy_row slow, fast;
        char message[300];
        toy_answer_slowly(&request, 0, n, choice, ends, &out);
        toy_row_copy(&request, 0, &out, &slow);
        toy_answer_by_rill(&request, 0, n, choice, ends, (uint64_t)i, &out);
        toy_row_copy(&request, 0, &out, &fast);
        if (toy_row_differs(&slow, &fast, message, sizeof message))
            fail_msg("seed %llu: %s", (unsigned long long)(first + (uint64_t)i), message);
    }
}

/* A pick with a NaN or dead score counts as a pick that the row lacks. */
static void picks_with_nan_scores(void **state)
{
    (void)state;
    const float nothing[] = {NAN, -INFINITY};
    for (int32_t i = 0; i < 2; i++) {
        const int32_t pick_rows[] = {0, 0}, pick[] = {0, 1}, mine[] = {0, 1};
        const rill_score_request request = {.max_choices = 2, .n_picks = 2, .pick_row = pick_rows, .pick_action = pick};
        const float scores[] = {nothing[i], -1};
        int32_t count[1], action[2];
        float logp[2], picks[2];
        rill_score_result out = {2, count, action, logp, NULL, NULL, picks};
        rill_score_result_fill(&request, 0, 2, mine, scores, NULL, &out);
        assert_int_equal(count[0], 1);
        assert_int_equal(action[0], 1);
        assert_true(picks[0] == (float)RILL_SCORE_DEAD);
        assert_true(picks[1] == -1);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(picks_with_nan_scores),
    cmocka_unit_test(one_row),
    cmocka_unit_test(choices_equal_enumeration),
    cmocka_unit_test(limits),
    cmocka_unit_test(in_parts),
    cmocka_unit_test(logits_to_choices),
};

HARNESS_MAIN(tests)
