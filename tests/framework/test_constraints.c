/* Constraints, n-gram blocking and forced decoding against the naive search, on random problems under random schedules:
 * same outputs, same scores to the last bit. Also messages about inputs whose constraints leave no output. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rill/constraints.h"
#include "support/harness.h"
#include "support/problem.h"

static void constrained(problem_group group, int64_t iterations, int conventions)
{
    uint64_t first = harness_seed(1);
    int bad = 0;
    int64_t outputs = 0, none = 0, n_by_kind[TEST_PHRASE_KINDS] = {0};
    for (int64_t i = 0; i < harness_iterations(iterations) && bad < 5; i++) {
        uint64_t seed = first + (uint64_t)i;
        dice d = dice_seeded(dice_mix(seed, 91 + (uint64_t)group));
        problem p;
        problem_draw(&p, group, &d);
        if (conventions) problem_draw_conventions(&p, group, &d);
        problem_draw_constraints(&p, &d);
        problem_solve(&p);
        for (int32_t j = 0; j < p.n_scorers; j++)
            if (p.phrases[j].n > 0) n_by_kind[p.phrases[j].kind]++;
        for (int32_t j = 0; j < p.n_inputs; j++) {
            outputs += p.expected[j].n;
            none += p.expected[j].n == 0;
        }
        for (int j = 0; j < 2; j++) {
            schedule s;
            schedule_draw(&s, group, &d);
            bad += problem_differs(&p, &s, seed, bad >= 5, NULL);
        }
        problem_clear(&p);
    }
    assert_int_equal(bad, 0);
    for (int kind = 0; kind < TEST_PHRASE_KINDS; kind++) HARNESS_ASSERT_COVERED(n_by_kind[kind] > 0);
    HARNESS_ASSERT_COVERED(outputs > 0 && none > 0);
}

static void pruned(void **state)
{
    (void)state;
    constrained(PROBLEM_PRUNED, 1000, 0);
}

static void fixed_top(void **state)
{
    (void)state;
    constrained(PROBLEM_FIXED_TOP, 500, 0);
}

static void fixed(void **state)
{
    (void)state;
    constrained(PROBLEM_FIXED, 500, 0);
}

static void greedy(void **state)
{
    (void)state;
    constrained(PROBLEM_GREEDY, 400, 0);
}

static void conventions(void **state)
{
    (void)state;
    constrained(PROBLEM_PRUNED, 700, 1);
}

/* --- forced decoding ---------------------------------------------------------------------------------------------- */

/* Each output of a run gets the same score from a search that forces this output. */
typedef struct rescoring {
    const engine_record *found;
    char arguments[PROBLEM_MAX_INPUTS][NAIVE_MAX_LENGTH * 4];
    const char *scorers[1];
    rill_settings settings;
    int32_t rank;
} rescoring;

static void force_output(void *user, const problem *p, int32_t i, rill_request *request)
{
    rescoring *r = user;
    const record_result *found = &r->found->result[i];
    if (found->n <= r->rank) return;
    const record_output *o = &found->output[r->rank];
    size_t used = (size_t)snprintf(r->arguments[i], sizeof r->arguments[i], "ids");
    for (int32_t a = 0; a < o->value.n_ids; a++)
        used += (size_t)snprintf(r->arguments[i] + used, sizeof r->arguments[i] - used, " %d", (int)o->action[a]);
    r->scorers[0] = r->arguments[i];
    request->scorers = r->scorers;
    r->settings = p->settings;
    r->settings.max_length = o->value.length > 0 ? o->value.length : 1;
    if (is_truncated(&o->value)) request->settings = &r->settings;
}

static int compare_rescored(const problem *p, const engine_record *found, const engine_record *again,
                            int32_t output_rank, char *wrong, size_t size)
{
    for (int32_t i = 0; i < p->n_inputs; i++) {
        if (!problem_is_searched(p, i) || found->result[i].n <= output_rank) continue;
        const record_output *a = &found->result[i].output[output_rank], *b = again->result[i].output;
        if (again->result[i].n != 1) {
            snprintf(wrong, size, "input %d has %d outputs: %s", (int)i, (int)again->result[i].n,
                     again->result[i].message);
            return 0;
        }
        const size_t n = (size_t)a->value.n_ids;
        if (a->value.n_ids != b->value.n_ids || memcmp(a->action, b->action, n * sizeof *a->action) != 0 ||
            memcmp(a->logps, b->logps, n * sizeof *a->logps) != 0 ||
            memcmp(&a->value.path_score, &b->value.path_score, sizeof a->value.path_score) != 0 ||
            memcmp(&a->value.logp, &b->value.logp, sizeof a->value.logp) != 0 ||
            is_truncated(&a->value) != is_truncated(&b->value)) {
            snprintf(wrong, size, "input %d: %.17g was found, %.17g is the score of the output", (int)i,
                     a->value.path_score, b->value.path_score);
            return 0;
        }
    }
    return 1;
}

static void forced_outputs(void **state)
{
    (void)state;
    uint64_t first = harness_seed(1);
    int64_t outputs = 0, truncated = 0;
    rescoring *r = calloc(1, sizeof *r);
    assert_non_null(r);
    for (int64_t i = 0; i < harness_iterations(400); i++) {
        uint64_t seed = first + (uint64_t)i;
        dice d = dice_seeded(dice_mix(seed, 97));
        problem p;
        schedule s, forced;
        engine_record found, again;
        char wrong[300];
        hooks forcing = {.user = r, .set_request = force_output};
        problem_draw(&p, PROBLEM_PRUNED, &d);
        p.n_scorers = 0;
        p.settings.n_best = 3;
        schedule_draw(&s, PROBLEM_PRUNED, &d);
        schedule_draw(&forced, PROBLEM_PRUNED, &d);
        s.max_nodes = forced.max_nodes = 0;
        s.memory = forced.memory = 0;
        engine_run(&p, &s, NULL, &found);
        p.n_heuristics = 0;
        p.n_scorers = 1;
        snprintf(p.scorer[0].name, sizeof p.scorer[0].name, "given");
        p.scorer[0].arguments[0] = '\0';
        p.settings.k = p.settings.n_best = 1;
        /* a minimum length may raise the model's maximum length */
        const int32_t limit = p.model.max_length > 0 ? p.model.max_length : p.model.depth;
        if (!p.model.own_max_length && p.settings.max_length == 0 && p.settings.min_length > limit)
            p.settings.max_length = p.settings.min_length;
        p.settings.stop_after = p.settings.max_candidates = p.settings.min_length = 0;
        p.settings.patience = 0;
        forced.hooks = &forcing;
        forced.by_run = 1;
        *r = (rescoring){.found = &found};
        for (; r->rank < 3; r->rank++) {
            engine_run(&p, &forced, NULL, &again);
            if (!compare_rescored(&p, &found, &again, r->rank, wrong, sizeof wrong))
                problem_fail(&p, &forced, seed, wrong);
            engine_record_clear(&again);
        }
        for (int32_t j = 0; j < p.n_inputs; j++) outputs += found.result[j].n;
        for (int32_t j = 0; j < p.n_inputs; j++)
            for (int32_t o = 0; o < found.result[j].n; o++) truncated += is_truncated(&found.result[j].output[o].value);
        engine_record_clear(&found);
        problem_clear(&p);
    }
    free(r);
    HARNESS_ASSERT_COVERED(outputs > 0 && truncated > 0);
}

/* --- tries -------------------------------------------------------------------------------------------------------- */

enum { MAX_SEQUENCES = 40, MAX_SEQUENCE_LENGTH = 6 };

typedef struct sequences {
    int32_t n, length[MAX_SEQUENCES], action[MAX_SEQUENCES][MAX_SEQUENCE_LENGTH];
} sequences;

static void draw_sequences(sequences *set, const problem *p, dice *d)
{
    const int32_t end = toy_end_action(&p->model), max_action = dice_chance(d, 50) ? 2 : p->model.actions - 1;
    set->n = dice_range(d, 1, MAX_SEQUENCES);
    for (int32_t i = 0; i < set->n; i++) {
        int32_t *n = &set->length[i];
        *n = dice_range(d, 1, MAX_SEQUENCE_LENGTH);
        for (int32_t j = 0; j < *n; j++)
            set->action[i][j] = dice_range(d, 0, max_action < p->model.actions ? max_action : p->model.actions - 1);
        if (end >= 0 && dice_chance(d, 80)) set->action[i][*n - 1] = end;
    }
}

static void allow_in_set(void *user, int64_t item, int32_t timestep, int32_t phase, int32_t rank,
                         const naive_hypothesis *parent, naive_modifiers *w)
{
    const sequences *set = user;
    (void)item, (void)timestep, (void)phase, (void)rank;
    w->restricted = 1;
    for (int32_t i = 0; i < set->n; i++)
        if (set->length[i] > parent->n &&
            memcmp(set->action[i], parent->action, (size_t)parent->n * sizeof *parent->action) == 0)
            w->allow[set->action[i][parent->n]] = 1;
}

static rill_status write_part(void *user, const void *bytes, size_t n)
{
    return fwrite(bytes, 1, n, user) == n ? RILL_OK : RILL_ERR_IO;
}

static void write_trie(const sequences *set, int32_t actions, FILE *file)
{
    harness_memory counted;
    rill_context *ctx = harness_begin(&counted);
    rill_trie *trie;
    assert_int_equal(rill_trie_create(&trie, ctx, actions), RILL_OK);
    assert_int_equal(rill_trie_write(trie, write_part, file), RILL_ERR_ARGUMENT); /* an empty trie cannot be written */
    assert_int_equal(rill_trie_add(trie, &actions, 1), RILL_ERR_ARGUMENT);
    for (int32_t i = 0; i < set->n; i++) assert_int_equal(rill_trie_add(trie, set->action[i], set->length[i]), RILL_OK);
    assert_int_equal(rill_trie_write(trie, write_part, file), RILL_OK);
    rill_trie_free(trie);
    harness_end(ctx, &counted);
}

/* Write a random trie file under the path that p's last scorer names. */
static void draw_trie(problem *p, sequences *set, const char *path, dice *d)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    draw_sequences(set, p, d);
    write_trie(set, p->model.actions + p->model.spare, file);
    assert_int_equal(fclose(file), 0);
    p->naive.scorer[p->n_scorers] = (naive_scorer){set, allow_in_set};
    snprintf(p->scorer[p->n_scorers].name, sizeof p->scorer[0].name, "trie");
    snprintf(p->scorer[p->n_scorers].arguments, sizeof p->scorer[0].arguments, "%s", path);
    p->n_scorers++;
}

/* A trie file that contains the model's last action is read; one with the next higher action is refused when read. */
static void tries_have_the_models_actions(void **state)
{
    (void)state;
    enum { ACTIONS = 9 };
    harness_memory counted;
    rill_context *ctx = harness_begin(&counted);
    const rill_scorer *table = rill_find_scorer(ctx, "trie");
    static sequences set = {.n = 1, .length = {1}, .action = {{ACTIONS - 1}}};
    for (int32_t last = ACTIONS - 1; last <= ACTIONS; last++) {
        char path[] = "trie-XXXXXX";
        FILE *file = fdopen(mkstemp(path), "w+");
        void *self = NULL;
        assert_non_null(file);
        write_trie(&set, ACTIONS, file);
        assert_int_equal(fseek(file, -4, SEEK_END), 0);
        assert_int_equal(fwrite(&last, 4, 1, file), 1);
        assert_int_equal(fclose(file), 0);
        assert_int_equal(table->create(table, ctx, path, &self), last < ACTIONS ? RILL_OK : RILL_ERR_FORMAT);
        if (last < ACTIONS)
            table->destroy(self);
        else
            assert_non_null(strstr(rill_error(ctx), "its nodes are out of order"));
        unlink(path);
    }
    harness_end(ctx, &counted);
}

static void tries(void **state)
{
    (void)state;
    uint64_t first = harness_seed(1);
    int64_t outputs = 0;
    int bad = 0;
    char path[] = "trie-XXXXXX";
    sequences set;
    const int fd = mkstemp(path);
    assert_true(fd >= 0 && close(fd) == 0);
    for (int64_t i = 0; i < harness_iterations(500) && bad < 5; i++) {
        uint64_t seed = first + (uint64_t)i;
        problem_group group = i % 3 == 0 ? PROBLEM_FIXED : PROBLEM_PRUNED;
        dice d = dice_seeded(dice_mix(seed, 99));
        problem p;
        schedule s;
        problem_draw(&p, group, &d);
        draw_trie(&p, &set, path, &d);
        problem_solve(&p);
        for (int32_t j = 0; j < p.n_inputs; j++) outputs += p.expected[j].n;
        schedule_draw(&s, group, &d);
        if (i % 4 == 1) s.workers = 3;
        bad += problem_differs(&p, &s, seed, bad >= 5, NULL);
        problem_clear(&p);
    }
    unlink(path);
    assert_int_equal(bad, 0);
    HARNESS_ASSERT_COVERED(outputs > 0);
}

/* --- lines of constraints, and memory ----------------------------------------------------------------------------- */

static const rill_chain_entry chain[] = {{"word_reward", "1"}, {"ban", ""}, {"require", ""}};

static void expect_line(rill_constraints *c, const char *line, const char *reward, const char *ban,
                        const char *required)
{
    const char *const expected[] = {reward, ban, required};
    const char *const *scorers;
    assert_int_equal(rill_constraints_read(c, line, strlen(line), &scorers), RILL_OK);
    if (scorers == NULL) assert_true(reward == NULL && ban == NULL && required == NULL);
    for (int i = 0; i < 3 && scorers != NULL; i++) {
        assert_int_equal(scorers[i] == NULL, expected[i] == NULL);
        if (expected[i] != NULL) assert_string_equal(scorers[i], expected[i]);
    }
}

static void lines_of_constraints(void **state)
{
    (void)state;
    harness_memory counted;
    rill_context *ctx = harness_begin(&counted);
    rill_engine_setup setup;
    rill_constraints *c;
    const char *const *scorers;
    rill_engine_setup_default(&setup);
    setup.scorers = chain;
    setup.n_scorers = 3;
    assert_int_equal(rill_constraints_create(&c, ctx, &setup), RILL_OK);
    expect_line(c, "", NULL, NULL, NULL);
    expect_line(c, "  ", NULL, NULL, NULL);
    expect_line(c, "ban:a b", NULL, "a b", NULL);
    expect_line(c, "ban:a b ||| require:c ||| ban:d", NULL, "a b ||| d", "c");
    expect_line(c, " word_reward:0.5 ||| require:", "0.5", NULL, "");
    expect_line(c, "ban:a:b|||c", NULL, "a:b|||c", NULL);
    assert_int_equal(rill_constraints_read(c, "ban:x ||| y", 11, &scorers), RILL_ERR_INPUT);
    assert_string_equal(rill_error(ctx), "constraints: expected NAME:TEXT, found \"y\"");
    assert_int_equal(rill_constraints_read(c, "prefix:x", 8, &scorers), RILL_ERR_INPUT);
    assert_string_equal(rill_error(ctx), "constraints: this run has no scorer \"prefix\"");
    expect_line(c, "require:after ||| ban:x", NULL, "x", "after");
    rill_constraints_free(c);
    rill_constraints_free(NULL);
    harness_end(ctx, &counted);
}

static rill_status take_part(void *user, const void *bytes, size_t n)
{
    (void)bytes;
    *(size_t *)user += n;
    return RILL_OK;
}

static rill_status use_all(rill_context *ctx)
{
    rill_engine_setup setup;
    rill_constraints *c = NULL;
    rill_trie *trie = NULL;
    const char *const *scorers;
    const int32_t sequence[] = {1, 2, 3};
    size_t bytes = 0;
    rill_engine_setup_default(&setup);
    setup.scorers = chain;
    setup.n_scorers = 3;
    rill_status status = rill_constraints_create(&c, ctx, &setup);
    if (status == RILL_OK) status = rill_constraints_read(c, "ban:a ||| require:b ||| ban:c", 29, &scorers);
    if (status == RILL_OK) status = rill_trie_create(&trie, ctx, 9);
    for (int32_t i = 0; i < 3 && status == RILL_OK; i++) status = rill_trie_add(trie, sequence + i, 3 - i);
    if (status == RILL_OK) status = rill_trie_write(trie, take_part, &bytes);
    rill_constraints_free(c);
    rill_trie_free(trie);
    return status;
}

static void each_allocation_fails(void **state)
{
    (void)state;
    for (int64_t n = 1, done = 0; !done; n++) {
        harness_memory m = {0};
        rill_context_options options = harness_memory_options(&m);
        rill_context *ctx = harness_context(&options);
        const int64_t blocks_before = m.blocks;
        m.failing_request = m.requests + n;
        const rill_status status = use_all(ctx);
        done = m.refused == 0;
        assert_int_equal(status, done ? RILL_OK : RILL_ERR_MEMORY);
        assert_int_equal(m.blocks, blocks_before);
        assert_int_equal(m.wrong_sizes, 0);
        rill_context_destroy(ctx);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(pruned),
    cmocka_unit_test(fixed_top),
    cmocka_unit_test(fixed),
    cmocka_unit_test(greedy),
    cmocka_unit_test(conventions),
    cmocka_unit_test(forced_outputs),
    cmocka_unit_test(tries_have_the_models_actions),
    cmocka_unit_test(tries),
    cmocka_unit_test(lines_of_constraints),
    cmocka_unit_test(each_allocation_fails),
};

HARNESS_MAIN(tests)
