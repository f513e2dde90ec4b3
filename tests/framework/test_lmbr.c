/* The scorer lmbr against dense posteriors: for each action the naive search scans the whole evidence. The problems,
 * phases, schedules, memory limits and numbers of workers are random. The evidence comes from a file or from a first
 * search. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rill/evidence.h"
#include "rill/plugin.h"
#include "support/harness.h"
#include "support/problem.h"

enum { MAX_ENTRIES = 12 };

/* An output of the evidence, and its probability mass. */
typedef struct entry {
    int32_t action[NAIVE_MAX_LENGTH], n;
    double score, mass;
} entry;

typedef struct evidence {
    entry items[MAX_ENTRIES];
    int32_t n; /* number of entries; 0: no evidence */
} evidence;

/* The n-gram bonuses, as the naive search computes them. */
typedef struct dense_posteriors {
    evidence input[PROBLEM_MAX_INPUTS];
    double theta[1 + RILL_NGRAM_MAX];
    int32_t phases, actions;
} dense_posteriors;

/* --- dense posteriors ------------------------------------------------------------------------------------------------- */

static double rounded(double score)
{
    char text[32];
    snprintf(text, sizeof text, "%.9g", score);
    return strtod(text, NULL);
}

static void set_masses(evidence *e, double scale)
{
    double best = -INFINITY, sum = 0;
    for (int32_t i = 0; i < e->n; i++) best = fmax(best, rounded(e->items[i].score));
    for (int32_t i = 0; i < e->n; i++) sum += e->items[i].mass = exp(scale * (rounded(e->items[i].score) - best));
    for (int32_t i = 0; i < e->n; i++) e->items[i].mass /= sum;
}

static int has_ngram(const entry *e, int32_t phases, int32_t phase, const int32_t *gram, int32_t m)
{
    for (int32_t from = phase; from + (m - 1) * phases < e->n; from += phases) {
        int32_t same = 0;
        while (same < m && e->action[from + same * phases] == gram[same]) same++;
        if (same == m) return 1;
    }
    return 0;
}

static float posterior(const evidence *e, int32_t phases, int32_t phase, const int32_t *gram, int32_t m)
{
    double sum = 0;
    for (int32_t i = 0; i < e->n; i++)
        if (has_ngram(&e->items[i], phases, phase, gram, m)) sum += e->items[i].mass;
    return sum < 1 ? (float)sum : 1;
}

static void score_dense(void *user, int64_t item, int32_t timestep, int32_t phase, int32_t rank,
                        const naive_hypothesis *parent, naive_modifiers *modifiers)
{
    const dense_posteriors *all = user;
    const evidence *e = &all->input[item];
    (void)timestep;
    (void)rank;
    if (e->n == 0) return;
    modifiers->reward = modifiers->end_reward = (float)all->theta[0];
    for (int32_t action = 0; action < all->actions; action++) {
        double sum = 0;
        for (int32_t m = 1; m <= RILL_NGRAM_MAX; m++) {
            int32_t gram[RILL_NGRAM_MAX], pos = parent->n;
            gram[m - 1] = action;
            for (int32_t i = m - 2; i >= 0; i--) gram[i] = (pos -= all->phases) >= 0 ? parent->action[pos] : -1;
            if (pos < 0) break;
            sum += all->theta[m] * (double)posterior(e, all->phases, phase, gram, m);
        }
        modifiers->add[action] = (float)sum;
    }
}

/* --- problems --------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *text;
    double lambda, T, p, r;
    double theta[5]; /* bonuses by n-gram length, used as given if T is 0 */
} PARAMETERS[] = {{"T=1,p=.5,r=.5", 1, 1, 0.5, 0.5, {0}},
                  {"lambda=.5,p=1", 0.5, 10, 1, 0.7, {0}},
                  {"theta=1/-2/.5/0/3", 1, 0, 0, 0, {1, -2, 0.5, 0, 3}}};

static void set_theta(dense_posteriors *all, int which)
{
    for (int m = 0; m <= RILL_NGRAM_MAX; m++) {
        const double T = PARAMETERS[which].T, p = PARAMETERS[which].p, r = PARAMETERS[which].r;
        all->theta[m] = T == 0 ? PARAMETERS[which].theta[m] : m == 0 ? -1 / T : 1 / (4 * T * p * pow(r, m - 1));
        all->theta[m] /= PARAMETERS[which].lambda;
    }
}

static void add_scorer(problem *p, dense_posteriors *all, const char *source, int which)
{
    p->naive.scorer[p->n_scorers] = (naive_scorer){all, score_dense};
    problem_name *s = &p->scorer[p->n_scorers++];
    snprintf(s->name, sizeof s->name, "lmbr");
    if (snprintf(s->arguments, sizeof s->arguments, "%s,%s", source, PARAMETERS[which].text) >=
        (int)sizeof s->arguments)
        abort();
}

/* Draw evidence: outputs of a search without evidence, and random ones. */
static void draw_evidence(const problem *p, int32_t i, evidence *e, dice *d)
{
    e->n = dice_range(d, 1, MAX_ENTRIES);
    for (int32_t j = 0; j < e->n; j++) {
        entry *drawn_entry = &e->items[j];
        const naive_result *found = &p->expected[i];
        drawn_entry->score = -0.37 * (double)dice_range(d, 0, 20);
        drawn_entry->n = 0;
        if (found->n > 0 && dice_chance(d, 80)) {
            const naive_hypothesis *h = &found->output[dice_range(d, 0, found->n - 1)].hypothesis;
            drawn_entry->n = h->n;
            memcpy(drawn_entry->action, h->action, sizeof drawn_entry->action);
        }
        for (int32_t more = dice_range(d, 0, 3); more > 0 && drawn_entry->n < 20; more--)
            drawn_entry->action[drawn_entry->n++] = dice_range(d, 0, p->model.actions - 1);
    }
    set_masses(e, 1);
}

static rill_status write_file(void *user, const void *bytes, size_t n)
{
    return fwrite(bytes, 1, n, user) == n ? RILL_OK : RILL_ERR_IO;
}

static rill_evidence_kind evidence_kind_of_problem(const problem *p)
{
    rill_evidence_kind kind = {.struct_size = sizeof kind};
    rill_model *model;
    rill_context *ctx = harness_context(NULL);
    const rill_open_options options = {.struct_size = sizeof options, .arguments = p->arguments, .threads = 1};
    assert_int_equal(rill_model_open(&model, ctx, "toy", &options), RILL_OK);
    assert_int_equal(rill_evidence_kind_for_model(&kind, ctx, model), RILL_OK);
    rill_model_close(model);
    rill_context_destroy(ctx);
    return kind;
}

static void write_evidence(const problem *p, const dense_posteriors *all, const char *path)
{
    rill_evidence_writer *writer;
    rill_ngrams *ngrams;
    rill_context *ctx = harness_context(NULL);
    const rill_evidence_kind kind = evidence_kind_of_problem(p);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(rill_ngrams_create(&ngrams, ctx, &kind), RILL_OK);
    assert_int_equal(rill_evidence_writer_create(&writer, ctx, &kind, write_file, file), RILL_OK);
    for (int32_t i = 0; i < p->n_inputs; i++) {
        const evidence *e = &all->input[i];
        rill_ngrams_begin(ngrams);
        for (int32_t j = 0; j < e->n; j++)
            assert_int_equal(rill_ngrams_entry(ngrams, e->items[j].action, e->items[j].n, e->items[j].score), RILL_OK);
        assert_int_equal(rill_ngrams_finish(ngrams, 1), RILL_OK);
        assert_int_equal(rill_evidence_put(writer, i, ngrams), RILL_OK);
    }
    assert_int_equal(rill_evidence_writer_finish(writer), RILL_OK);
    rill_evidence_writer_free(writer);
    rill_ngrams_free(ngrams);
    rill_context_destroy(ctx);
    assert_int_equal(fclose(file), 0);
}

static void solve_again(problem *p)
{
    problem_clear(p);
    problem_solve(p);
}

/* The expected counters of an input are the sums of both searches. */
static void add_first_search(const problem *p, naive_result *first)
{
    for (int32_t i = 0; i < p->n_inputs; i++) {
        naive_result *e = &p->expected[i];
        e->expansions += first[i].expansions;
        e->candidates += first[i].candidates;
        e->pruned += first[i].pruned;
        if (first[i].states > e->states) e->states = first[i].states;
        naive_result_free(&first[i]);
    }
    free(first);
}

static void solve_self(problem *p, dense_posteriors *all, int32_t max_entries, double scale)
{
    naive_result *first = p->expected;
    for (int32_t i = 0; i < p->n_inputs; i++) {
        evidence *e = &all->input[i];
        for (e->n = 0; problem_is_searched(p, i) && e->n < first[i].n && e->n < max_entries; e->n++) {
            const naive_output *o = &first[i].output[e->n];
            e->items[e->n].n = o->hypothesis.n;
            e->items[e->n].score = o->score;
            memcpy(e->items[e->n].action, o->hypothesis.action, sizeof o->hypothesis.action);
        }
        set_masses(e, scale);
    }
    p->expected = NULL;
    problem_solve(p);
    for (int32_t i = 0; i < p->n_inputs; i++)
        if (all->input[i].n == 0) { /* no second search */
            p->expected[i].expansions = p->expected[i].candidates = p->expected[i].pruned = 0;
        }
    add_first_search(p, first);
}

/* --- the property: same results as the naive search --------------------------------------------------------------- */

static int differs(problem *p, problem_group group, uint64_t seed, dice *d, int quiet)
{
    int bad = 0;
    for (int j = 0; j < 3 && !bad; j++) {
        schedule s;
        schedule_draw(&s, group, d);
        if (dice_chance(d, 20)) s.workers = dice_range(d, 2, 3);
        if (s.workers > 1) s.hooks = NULL, s.max_nodes = s.bound = 0, s.memory = 0;
        bad = problem_differs(p, &s, seed, quiet, NULL);
    }
    return bad;
}

static void run(int64_t iterations, int self)
{
    static dense_posteriors all;
    char folder[] = "/tmp/lmbr-XXXXXX", path[40];
    const uint64_t first = harness_seed(1);
    int bad = 0;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/e", folder);
    for (int64_t i = 0; i < harness_iterations(iterations); i++) {
        const uint64_t seed = first + (uint64_t)i;
        const problem_group group = seed % 8 == 7 ? PROBLEM_GREEDY : (problem_group)(seed % 4 % 3);
        dice d = dice_seeded(seed * 4 + 3);
        problem p;
        problem_draw(&p, group, &d);
        if (dice_chance(&d, 50)) problem_draw_conventions(&p, group, &d);
        if (p.n_scorers == NAIVE_MAX_CHAIN) p.n_scorers--;
        memset(&all, 0, sizeof all);
        all.phases = p.model.phases;
        all.actions = p.model.actions;
        const int which = dice_range(&d, 0, 2), max_entries = dice_range(&d, 1, 6);
        set_theta(&all, which);
        if (self) snprintf(path, sizeof path, "self=%d", max_entries);
        add_scorer(&p, &all, path, which);
        problem_solve(&p);
        for (int32_t j = 0; j < p.n_inputs && !self; j++) draw_evidence(&p, j, &all.input[j], &d);
        if (self)
            solve_self(&p, &all, max_entries, 1);
        else
            write_evidence(&p, &all, path), solve_again(&p);
        bad += differs(&p, group, seed, &d, bad >= 3);
        problem_clear(&p);
    }
    if (!self) unlink(path);
    rmdir(folder);
    assert_int_equal(bad, 0);
}

static void evidence_from_a_file(void **state)
{
    (void)state;
    run(1200, 0);
}

static void evidence_from_a_first_search(void **state)
{
    (void)state;
    run(1200, 1);
}

/* --- memory ------------------------------------------------------------------------------------------------------------ */

/* Whichever allocation fails, the run or an input fails with it, and nothing leaks. */
static void without_memory(void **state)
{
    (void)state;
    int failed = 0;
    for (int64_t n = 1, done = 0; !done; n += 1 + n / 40) {
        dice d = dice_seeded(11);
        problem p;
        engine_record r;
        const schedule s = {.method = "var-stream", .n = 3, .refill = -1};
        harness_memory memory = {.failing_request = n};
        const rill_context_options options = harness_memory_options(&memory);
        problem_draw(&p, PROBLEM_PRUNED, &d);
        p.n_scorers = 1;
        snprintf(p.scorer[0].name, sizeof p.scorer[0].name, "lmbr");
        snprintf(p.scorer[0].arguments, sizeof p.scorer[0].arguments, "self=3");
        engine_run(&p, &s, &options, &r);
        done = memory.refused == 0;
        failed += r.status == RILL_ERR_MEMORY;
        if (r.status < 0 && r.status != RILL_ERR_MEMORY) fail_msg("request %d: %s", (int)n, r.message);
        assert_int_equal(memory.bytes, 0);
        assert_int_equal(memory.wrong_sizes, 0);
        engine_record_clear(&r);
    }
    assert_true(failed > 5);
}

/* --- arguments --------------------------------------------------------------------------------------------------------- */

static void arguments(void **state)
{
    static const char *const wrong[] = {"",
                                        ",T=1",
                                        "self=",
                                        "self=0",
                                        "self=1.5",
                                        "self=-1",
                                        "self=1e99",
                                        "self=2,x=1",
                                        "self=2,T=",
                                        "self=2,T=0",
                                        "self=2,p=a",
                                        "self=2,r=inf",
                                        "self=2,",
                                        "self=2,theta=1",
                                        "self=2,theta=1/2/3/4/5/6",
                                        "self=2,theta=1/2/3/4/x",
                                        "self=2,T=1,theta=1/2/3/4/5",
                                        "self=2,lambda=1e-300",
                                        "nothing-here,scale=2",
                                        "nothing-here,self=3"};
    static const char *const right[] = {"self=1", "self=10,T=2,p=0.5,r=0.5,lambda=0.5,scale=3",
                                        "self=3,theta=-0.1/1e-3/-2/0/4"};
    (void)state;
    harness_memory memory = {0};
    rill_context *ctx = harness_begin(&memory);
    const rill_scorer *lmbr = rill_find_scorer(ctx, "lmbr");
    void *self;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (lmbr->create(lmbr, ctx, wrong[i], &self) == RILL_OK) fail_msg("\"%s\" is taken", wrong[i]);
        assert_true(strncmp(rill_error(ctx), "lmbr: ", 6) == 0);
    }
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        assert_int_equal(lmbr->create(lmbr, ctx, right[i], &self), RILL_OK);
        lmbr->destroy(self);
    }
    assert_int_equal(lmbr->create(lmbr, ctx, "nothing-here,T=2", &self), RILL_ERR_NOT_FOUND);
    lmbr->destroy(NULL);
    harness_end(ctx, &memory);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(evidence_from_a_file),
                                              cmocka_unit_test(evidence_from_a_first_search),
                                              cmocka_unit_test(without_memory), cmocka_unit_test(arguments)};
    if (harness_options(argc, argv) != 0) return 2;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
