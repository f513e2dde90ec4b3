/* Requests. An input with its own settings and arguments has the result of an engine created with them, and leaves
 * other results unchanged. Cancelled inputs release all their memory. At a deadline an input returns the outputs found
 * so far. Scorers see the inputs' texts and keep states. All under every schedule. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/harness.h"
#include "support/problem.h"
#include "support/tables.h"

/* --- settings of requests ----------------------------------------------------------------------------------------- */

enum { VARIANTS = 4 }; /* variant 0 is the engine's own settings */

typedef struct variants {
    problem p[VARIANTS];
} variants;

static int32_t input_variant(int32_t i)
{
    return i * 7 % 5 % VARIANTS;
}

static rill_status submit_variant(void *user, rill_engine *engine, const problem *p, int32_t i)
{
    variants *all = user;
    const problem *v = &all->p[input_variant(i)];
    const char *heuristics[NAIVE_MAX_CHAIN], *scorers[NAIVE_MAX_CHAIN];
    for (int32_t j = 0; j < v->n_heuristics; j++) heuristics[j] = v->heuristic[j].arguments;
    for (int32_t j = 0; j < v->n_scorers; j++) scorers[j] = v->scorer[j].arguments;
    rill_request r = {
        .struct_size = sizeof r, .text = p->input[i], .length = strlen(p->input[i]), .user = &all->p[i % VARIANTS]};
    if (input_variant(i) > 0) {
        r.settings = &v->settings;
        r.heuristics = v->n_heuristics > 0 ? heuristics : NULL;
        r.scorers = v->n_scorers > 0 ? scorers : NULL;
    }
    int64_t id = -1;
    rill_status status = rill_engine_submit_request(engine, &r, &id);
    if (status == RILL_OK) assert_int_equal(id, i);
    return status;
}

static void run_limits_of_group(problem_group group, int64_t iterations)
{
    uint64_t first = harness_seed(1);
    int64_t compared = 0;
    static variants all;
    for (int64_t i = 0; i < harness_iterations(iterations); i++) {
        uint64_t seed = first + (uint64_t)i;
        dice d = dice_seeded(dice_mix(seed, 60 + (uint64_t)group));
        engine_record alone[VARIANTS], mixed;
        schedule s;
        problem_draw(&all.p[0], group, &d);
        if (dice_chance(&d, 50)) problem_draw_conventions(&all.p[0], group, &d);
        schedule_draw(&s, group, &d);
        s.by_run = 0;
        s.untraced = (int)(i % 2);
        if (dice_chance(&d, 30)) s.max_nodes = dice_range(&d, 4, 80);
        problem_draw_variants(all.p, VARIANTS, group, &d);
        for (int v = 0; v < VARIANTS; v++) {
            engine_run(&all.p[v], &s, NULL, &alone[v]);
            assert_int_equal(alone[v].status, RILL_OK);
        }
        const hooks h = {.user = &all, .submit = submit_variant};
        s.hooks = &h;
        engine_run(&all.p[0], &s, NULL, &mixed);
        assert_int_equal(mixed.status, RILL_OK);
        for (int32_t input = 0; input < all.p[0].n_inputs; input++) {
            int v = input_variant(input);
            problem_expect_same(&all.p[v], &s, seed, input, &mixed.result[input], &alone[v].result[input]);
            assert_ptr_equal(mixed.result[input].user, &all.p[input % VARIANTS]);
            compared += v > 0;
        }
        assert_int_equal(mixed.toy.violations, 0);
        for (int v = 0; v < VARIANTS; v++) engine_record_clear(&alone[v]);
        engine_record_clear(&mixed);
    }
    HARNESS_ASSERT_COVERED(compared > iterations);
}

static void own_limits(void **state)
{
    (void)state;
    run_limits_of_group(PROBLEM_PRUNED, 400);
    run_limits_of_group(PROBLEM_FIXED_TOP, 100);
    run_limits_of_group(PROBLEM_FIXED, 100);
}

/* --- cancelling --------------------------------------------------------------------------------------------------- */

typedef struct canceller {
    dice d;
    int32_t n_inputs, percent;
    int cancelled[PROBLEM_MAX_INPUTS];
    int64_t steps, cancel_all_step; /* steps so far; the step after which all inputs are cancelled, 0: never */
} canceller;

static void cancel_some(void *user, rill_engine *engine)
{
    canceller *c = user;
    int all = ++c->steps == c->cancel_all_step;
    for (int32_t i = 0; i < c->n_inputs; i++) {
        if (!all && !dice_chance(&c->d, c->percent)) continue;
        rill_status status = rill_engine_cancel(engine, i);
        assert_true(status == RILL_OK || status == RILL_ERR_NOT_FOUND);
        if (status == RILL_OK) {
            assert_false(c->cancelled[i]);
            c->cancelled[i] = 1;
        }
    }
    rill_stats stats = {.struct_size = sizeof stats};
    rill_engine_stats(engine, &stats);
    if (all) {
        assert_int_equal(rill_engine_pending(engine), 0);
        assert_int_equal(stats.nodes_in_use, 0);
        assert_int_equal(stats.histories_in_use, 0);
        assert_int_equal(toy_report_get()->nodes, 0);
        assert_int_equal(toy_report_get()->slots, 0);
    }
}

static void cancelled(void **state)
{
    (void)state;
    uint64_t first = harness_seed(1);
    int64_t n_cancelled = 0, n_others = 0;
    for (int64_t i = 0; i < harness_iterations(500); i++) {
        uint64_t seed = first + (uint64_t)i;
        dice d = dice_seeded(dice_mix(seed, 70));
        problem p;
        schedule s;
        engine_record baseline, some;
        problem_draw_undisturbed(&p, &s, (problem_group)(i % 4), &d, &baseline);
        canceller c = {.d = dice_seeded(seed), .n_inputs = p.n_inputs, .percent = DICE_PICK(&d, 2, 10, 30)};
        if (dice_chance(&d, 30)) c.cancel_all_step = dice_range(&d, 1, 6);
        const hooks h = {.user = &c, .on_step = cancel_some};
        s.hooks = &h;
        engine_run(&p, &s, NULL, &some);
        assert_int_equal(some.status, RILL_OK);
        if (some.toy.violations != 0) problem_fail(&p, &s, seed, some.toy.first_violation);
        for (int32_t input = 0; input < p.n_inputs; input++) {
            const record_result *r = &some.result[input];
            assert_int_equal(r->taken, 1);
            if (c.cancelled[input]) {
                assert_int_equal(r->status, RILL_ERR_CANCELLED);
                n_cancelled++;
            } else {
                problem_expect_same(&p, &s, seed, input, r, &baseline.result[input]);
                n_others++;
            }
        }
        engine_record_clear(&baseline);
        engine_record_clear(&some);
    }
    HARNESS_ASSERT_COVERED(n_cancelled > 100 && n_others > 100);
}

/* --- progress ----------------------------------------------------------------------------------------------------- */

/* What an input's progress callback received. */
typedef struct watched {
    int32_t calls, timestep, final_actions;
    char final[2000];
    int wrong; /* a timestep was reported twice, or a final prefix changed */
} watched;

typedef struct watchers {
    watched items[PROBLEM_MAX_INPUTS];
} watchers;

static int begins_with(const char *text, const char *begin)
{
    const size_t n = strlen(begin);
    return n == 0 || (strncmp(text, begin, n) == 0 && (text[n] == '\0' || text[n] == ' '));
}

static void check_progress(void *user, const rill_progress *p)
{
    watched *w = user;
    w->wrong |= p->final_actions > p->draft_actions || !begins_with(p->draft_text, p->final_text);
    w->wrong |= strlen(p->final_text) != p->final_length || strlen(p->draft_text) != p->draft_length;
    w->wrong |= p->timestep <= w->timestep; /* a restarted input does not report its first timesteps again */
    w->wrong |= p->final_actions < w->final_actions || !begins_with(p->final_text, w->final);
    w->timestep = p->timestep;
    w->final_actions = p->final_actions;
    snprintf(w->final, sizeof w->final, "%s", p->final_text);
    w->calls++;
}

static rill_status submit_watched(void *user, rill_engine *engine, const problem *p, int32_t i)
{
    watchers *all = user;
    rill_request r = {.struct_size = sizeof r,
                      .text = p->input[i],
                      .length = strlen(p->input[i]),
                      .user = &all->items[i],
                      .progress = i % 3 > 0 ? check_progress : NULL};
    return rill_engine_submit_request(engine, &r, NULL);
}

/* Progress callbacks change no result, and the final prefix that they report begins all outputs. */
static void progress(void **state)
{
    (void)state;
    uint64_t first = harness_seed(1);
    int64_t n_calls = 0, final = 0;
    static watchers all;
    for (int64_t i = 0; i < harness_iterations(500); i++) {
        uint64_t seed = first + (uint64_t)i;
        dice d = dice_seeded(dice_mix(seed, 75));
        problem p;
        schedule s;
        engine_record baseline, some;
        problem_draw_undisturbed(&p, &s, (problem_group)(i % 4), &d, &baseline);
        memset(&all, 0, sizeof all);
        s.by_run = 0;
        const hooks h = {.user = &all, .submit = submit_watched};
        s.hooks = &h;
        engine_run(&p, &s, NULL, &some);
        if (some.status != RILL_OK) problem_fail(&p, &s, seed, some.toy.first_violation);
        assert_int_equal(some.status, RILL_OK);
        if (some.toy.violations != 0) problem_fail(&p, &s, seed, some.toy.first_violation);
        for (int32_t input = 0; input < p.n_inputs; input++) {
            const record_result *r = &some.result[input];
            const watched *w = &all.items[input];
            problem_expect_same(&p, &s, seed, input, r, &baseline.result[input]);
            if (w->wrong || (w->calls > 0 && input % 3 == 0)) problem_fail(&p, &s, seed, "progress");
            for (int32_t j = 0; j < r->n; j++)
                if (!begins_with(r->output[j].text, w->final)) problem_fail(&p, &s, seed, "what was final is not");
            n_calls += w->calls;
            final += w->final_actions;
        }
        engine_record_clear(&baseline);
        engine_record_clear(&some);
    }
    HARNESS_ASSERT_COVERED(n_calls > 1000 && final > 300);
}

/* --- deadlines ---------------------------------------------------------------------------------------------------- */

enum { MAX_TIMESTEPS = 64 };

/* A clock that stands still until a given step; after it all deadlines have passed. */
typedef struct step_deadline {
    int64_t steps, deadline;
} step_deadline;

static double read_clock(void *user)
{
    const step_deadline *g = user;
    return g->steps >= g->deadline ? 1000 : 10;
}

static rill_status submit_urgent(void *user, rill_engine *engine, const problem *p, int32_t i)
{
    const step_deadline *g = user;
    rill_request r = {.struct_size = sizeof r, .text = p->input[i], .length = strlen(p->input[i])};
    if (i % 4 != 3 && g->steps < g->deadline) r.timeout = 1;
    return rill_engine_submit_request(engine, &r, NULL);
}

static void count_step(void *user, rill_engine *engine)
{
    (void)engine;
    ((step_deadline *)user)->steps++;
}

/* The heuristic stop-at:T asks each item to stop after T timesteps. */
static int32_t stop_timestep;

static rill_status apply_stop(void *self, rill_candidates *candidates)
{
    (void)self;
    for (int32_t i = 0; i < candidates->n; i++) candidates->stop[i] = candidates->timestep[i] + 1 >= stop_timestep;
    return RILL_OK;
}

static rill_status register_stop(rill_context *ctx)
{
    static const rill_heuristic stop = TEST_HEURISTIC("stop-at", .apply = apply_stop);
    return rill_register_heuristic(ctx, &stop);
}

/* Get the problem's results if all items stop after `timesteps`. */
static void run_stopped(const problem *p, const schedule *s, int32_t timesteps, engine_record *out)
{
    problem with = *p;
    schedule plain = *s;
    plain.hooks = NULL;
    stop_timestep = timesteps;
    snprintf(with.heuristic[with.n_heuristics].name, sizeof with.heuristic[0].name, "stop-at");
    with.heuristic[with.n_heuristics++].arguments[0] = '\0';
    engine_run_with(&with, &plain, NULL, register_stop, out);
}

static int32_t finished_timesteps(const engine_record *r, int32_t input)
{
    for (int64_t i = r->n_events - 1; i >= 0; i--)
        if (r->event[i].kind == RILL_TRACE_FINISHED && r->event[i].item == input) return r->event[i].item_timesteps;
    return 0;
}

static void deadlines(void **state)
{
    (void)state;
    uint64_t first = harness_seed(1);
    int64_t n_timed_out = 0, n_nothing = 0, n_others = 0;
    static engine_record stopped[MAX_TIMESTEPS];
    for (int64_t i = 0; i < harness_iterations(250); i++) {
        uint64_t seed = first + (uint64_t)i;
        dice d = dice_seeded(dice_mix(seed, 80));
        problem p;
        schedule s;
        engine_record baseline, urgent;
        int known[MAX_TIMESTEPS] = {0};
        problem_draw(&p, PROBLEM_PRUNED, &d);
        if (p.n_heuristics == NAIVE_MAX_CHAIN) continue;
        if (dice_chance(&d, 50)) problem_draw_conventions(&p, PROBLEM_PRUNED, &d);
        schedule_draw(&s, PROBLEM_PRUNED, &d);
        s.by_run = s.check = 0;
        engine_run(&p, &s, NULL, &baseline);
        assert_int_equal(baseline.status, RILL_OK);
        step_deadline g = {.deadline = dice_range(&d, 0, 6)};
        const hooks h = {.user = &g, .clock = read_clock, .submit = submit_urgent, .on_step = count_step};
        s.hooks = &h;
        engine_run(&p, &s, NULL, &urgent);
        assert_int_equal(urgent.status, RILL_OK);
        if (urgent.toy.violations != 0) problem_fail(&p, &s, seed, urgent.toy.first_violation);
        for (int32_t input = 0; input < p.n_inputs; input++) {
            const record_result *r = &urgent.result[input];
            const record_result *expected = &baseline.result[input];
            int32_t t = finished_timesteps(&urgent, input);
            if (r->status == RILL_ERR_DEADLINE) {
                /* without require_end, live hypotheses may be outputs too */
                if (!p.settings.require_end) assert_int_equal(t, 0);
                assert_int_not_equal(input % 4, 3);
                n_nothing++;
                continue;
            }
            if (r->timed_out) {
                assert_in_range(t, 1, MAX_TIMESTEPS - 1);
                if (!known[t]) run_stopped(&p, &s, t, &stopped[t]);
                known[t] = 1;
                expected = &stopped[t].result[input];
                n_timed_out++;
            } else {
                n_others++;
            }
            problem_expect_same(&p, &s, seed, input, r, expected);
        }
        for (int t = 0; t < MAX_TIMESTEPS; t++)
            if (known[t]) engine_record_clear(&stopped[t]);
        engine_record_clear(&baseline);
        engine_record_clear(&urgent);
    }
    print_message("%lld late, %lld with nothing, %lld in time\n", (long long)n_timed_out, (long long)n_nothing,
                  (long long)n_others);
    HARNESS_ASSERT_COVERED(n_timed_out > 100 && n_nothing > 20 && n_others > 100);
}

/* --- scorers' texts and states ------------------------------------------------------------------------------------ */

/* The state that the scorer keeps per hypothesis: its actions and the input. */
typedef struct kept {
    uint64_t hash;
    int32_t actions; /* number of actions, start included */
    char first;      /* first byte of the input's text, plus 1 */
} kept;

static const problem *known_problem; /* the texts that the scorer expects */
static int64_t rows_seen;

static uint64_t hypothesis_hash(const rill_scorer_rows *rows, int32_t history)
{
    int32_t path[256], n = 0;
    for (; history >= 0; history = rows->hyp_nodes[history].parent) path[n++] = rows->hyp_nodes[history].action;
    uint64_t hash = 0;
    while (n > 0) hash = dice_mix(hash, (uint64_t)(uint32_t)path[--n]);
    return hash;
}

/* The row's state must be that of its parent, and the text that of its input. `self` distinguishes the scorer's
 * instances. */
static rill_status score_remembered(void *self, const rill_scorer_rows *rows, rill_modifiers *modifiers)
{
    kept *state = rows->state;
    int32_t salt = self != NULL ? *(int32_t *)self : 0;
    for (int32_t i = 0; i < rows->n; i++) {
        const rill_hyp_node *h = &rows->hyp_nodes[rows->hyp_node[i]];
        const char *text = known_problem->input[rows->item_id[i]];
        if (rows->text_length[i] != strlen(text) || strcmp(rows->text[i], text) != 0) return RILL_ERR_PLUGIN;
        if (h->parent < 0 && (h->action != RILL_ACTION_START || h->logp != 0 || h->path_score != 0))
            return RILL_ERR_PLUGIN;
        if (h->parent < 0 ? state[i].actions != 0 || state[i].hash != 0 || state[i].first != 0
                          : state[i].hash != hypothesis_hash(rows, h->parent) + (uint64_t)salt ||
                                state[i].first != (char)(text[0] + 1))
            return RILL_ERR_PLUGIN;
        uint64_t parent_hash = h->parent < 0 ? 0 : state[i].hash - (uint64_t)salt;
        state[i].hash = dice_mix(parent_hash, (uint64_t)(uint32_t)h->action) + (uint64_t)salt;
        state[i].actions++;
        state[i].first = (char)(text[0] + 1);
        rill_status status = rill_modifiers_reward(modifiers, i, (float)(state[i].hash % 8) / 16);
        if (status < 0) return status;
        rows_seen++;
    }
    return RILL_OK;
}

static rill_status create_salt(const rill_scorer *table, rill_context *ctx, const char *arguments, void **self)
{
    (void)table, (void)ctx;
    static int32_t salts[] = {0, 1, 2};
    *self = &salts[arguments[0] == '\0' ? 0 : arguments[0] - '0'];
    return RILL_OK;
}

static rill_status register_remembering(rill_context *ctx)
{
    static const rill_scorer odd = {.abi_version = RILL_ABI_VERSION,
                                    .struct_size = sizeof(rill_scorer),
                                    .name = "remember",
                                    .arguments = "",
                                    .summary = "a test",
                                    .create = create_salt,
                                    .score = score_remembered,
                                    .state_bytes = sizeof(kept)};
    return rill_register_scorer(ctx, &odd);
}

static rill_status submit_salted(void *user, rill_engine *engine, const problem *p, int32_t i)
{
    static const char *const salts[] = {"0", "1", "2"};
    const char *scorers[2] = {NULL, salts[i % 3]};
    (void)user;
    rill_request r = {.struct_size = sizeof r, .text = p->input[i], .length = strlen(p->input[i]), .scorers = scorers};
    return rill_engine_submit_request(engine, &r, NULL);
}

/* Two scorers keep separate states per hypothesis, under every schedule, with and without restarts under a memory
 * limit, and with and without --check. */
static void scorer_states_are_kept(void **state)
{
    (void)state;
    uint64_t first = harness_seed(1);
    int64_t n_restarted = 0;
    for (int64_t i = 0; i < harness_iterations(300); i++) {
        uint64_t seed = first + (uint64_t)i;
        dice d = dice_seeded(dice_mix(seed, 90));
        problem p;
        schedule s;
        engine_record a, b;
        problem_group group = (problem_group)(i % 4);
        problem_draw(&p, group, &d);
        p.n_scorers = 2;
        for (int32_t j = 0; j < 2; j++) p.scorer[j] = (problem_name){"remember", ""};
        known_problem = &p;
        const hooks h = {.submit = submit_salted};
        for (int run = 0; run < 2; run++) {
            schedule_draw(&s, group, &d);
            s.by_run = 0;
            s.hooks = &h;
            if (run == 1) s.max_nodes = dice_range(&d, 8, 60);
            engine_run_with(&p, &s, NULL, register_remembering, run == 0 ? &a : &b);
        }
        if (a.status != RILL_OK) problem_fail(&p, &s, seed, a.message);
        if (b.status != RILL_OK) problem_fail(&p, &s, seed, b.message);
        for (int32_t input = 0; input < p.n_inputs; input++) {
            char where[300];
            if (b.result[input].status != RILL_ERR_INPUT &&
                record_differ(&a.result[input], &b.result[input], where, sizeof where))
                problem_fail(&p, &s, seed, where);
        }
        n_restarted += b.stats.restarted;
        engine_record_clear(&a);
        engine_record_clear(&b);
    }
    HARNESS_ASSERT_COVERED(rows_seen > 1000);
    HARNESS_ASSERT_COVERED(n_restarted > 0);
}

/* Counts its calls in its state, so the state it keeps for an item depends on other items. */
static rill_status count_calls(void *self, const rill_scorer_rows *rows, rill_modifiers *modifiers)
{
    (void)self, (void)modifiers;
    for (int32_t i = 0; i < rows->n; i++) ((int32_t *)rows->state)[i] += rows->n;
    return RILL_OK;
}

static rill_status register_counting(rill_context *ctx)
{
    static const rill_scorer mixing = {.abi_version = RILL_ABI_VERSION,
                                       .struct_size = sizeof(rill_scorer),
                                       .name = "mixing",
                                       .arguments = "",
                                       .summary = "a test",
                                       .create = NULL,
                                       .score = count_calls,
                                       .state_bytes = sizeof(int32_t)};
    return rill_register_scorer(ctx, &mixing);
}

/* --check finds a scorer whose state depends on which rows share a call. */
static void states_are_checked(void **state)
{
    (void)state;
    dice d = dice_seeded(5);
    problem p;
    engine_record r;
    problem_draw(&p, PROBLEM_PRUNED, &d);
    for (p.n_inputs = 0; p.n_inputs < 5; p.n_inputs++)
        snprintf(p.input[p.n_inputs], sizeof p.input[0], "in %d", (int)p.n_inputs);
    p.n_scorers = 1;
    p.scorer[0] = (problem_name){"mixing", ""};
    schedule s = {.method = "var-batch", .n = 5, .refill = -1};
    for (int check = 0; check < 2; check++) {
        s.check = check;
        engine_run_with(&p, &s, NULL, register_counting, &r);
        assert_int_equal(r.status, check ? RILL_ERR_CHECK : RILL_OK);
        assert_true(!check || strstr(r.message, "mixing") != NULL);
        engine_record_clear(&r);
    }
}

static void tokenized_texts(void **state)
{
    (void)state;
    rill_context *ctx = harness_context(NULL);
    const rill_open_options options = {
        .struct_size = sizeof options, .threads = 1, .arguments = "actions=5 terminal=end"};
    rill_model *model;
    int32_t action[2], n;
    assert_int_equal(rill_model_open(&model, ctx, "toy", &options), RILL_OK);
    assert_int_equal(rill_model_tokenize(model, ctx, "a1  a3 end", 10, action, 2, &n), RILL_OK);
    assert_int_equal(n, 3);
    assert_int_equal(action[0], 1);
    assert_int_equal(action[1], 3);
    assert_int_equal(rill_model_tokenize(model, ctx, "", 0, action, 2, &n), RILL_OK);
    assert_int_equal(n, 0);
    assert_int_equal(rill_model_tokenize(model, ctx, "a1 b", 4, action, 2, &n), RILL_ERR_INPUT);
    assert_non_null(strstr(rill_error(ctx), "b"));
    rill_model_close(model);
    /* a domain without tokenize(): the text is split into names at spaces, and a number is no name */
    rill_domain plain = toy_domain, mute = toy_domain;
    plain.name = "plain";
    plain.tokenize = NULL;
    assert_int_equal(rill_register_domain(ctx, &plain), RILL_OK);
    assert_int_equal(rill_model_open(&model, ctx, "plain", &options), RILL_OK);
    assert_int_equal(rill_model_tokenize(model, ctx, " a3\ta1 a2 ", 10, action, 2, &n), RILL_OK);
    assert_int_equal(n, 3);
    assert_int_equal(action[0], 3);
    assert_int_equal(action[1], 1);
    assert_int_equal(rill_model_tokenize(model, ctx, "a1 3", 4, action, 2, &n), RILL_ERR_INPUT);
    assert_string_equal(rill_error(ctx), "the model has no action \"3\"");
    assert_int_equal(n, 0);
    rill_model_close(model);
    mute.name = "mute";
    mute.tokenize = NULL;
    mute.find_action = NULL;
    assert_int_equal(rill_register_domain(ctx, &mute), RILL_OK);
    assert_int_equal(rill_model_open(&model, ctx, "mute", &options), RILL_OK);
    assert_int_equal(rill_model_tokenize(model, ctx, "a1", 2, action, 2, &n), RILL_ERR_NOT_FOUND);
    rill_model_close(model);
    rill_context_destroy(ctx);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(own_limits),
    cmocka_unit_test(cancelled),
    cmocka_unit_test(progress),
    cmocka_unit_test(deadlines),
    cmocka_unit_test(scorer_states_are_kept),
    cmocka_unit_test(states_are_checked),
    cmocka_unit_test(tokenized_texts),
};

HARNESS_MAIN(tests)
