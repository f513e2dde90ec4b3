/* domains/mt: log-probabilities and states equal those of transformers and, for recurrent models, of a NumPy reference,
 * however rows are grouped.
 *
 * The tests drive the domain through its table, one row at a time or many, without an engine. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "domain_driver.h"
#include "helpers.h"
#include "mt.h"
#include "mt_runner.h"
#include "reference.h"

static const rill_domain *const domain = &rill_mt_domain;

#include "context_fixture.h"

/* The reference values of the last one are those of an ensemble with the first one. */
static const char *const models[] = {
    "mt/shared",    "mt/odd",         "mt/separate",       "mt/fsmt",         "mt/fsmt-tied",   "mt/rnn",
    "mt/rnn-own",   "mt/rnn-simple",  "mt/rnn-simple-two", "mt/m2m",          "mt/m2m-odd",     "mt/mbart",
    "mt/mbart-odd", "mt/bart",        "mt/bart-untied",    "mt/pegasus",      "mt/pegasus-odd", "mt/t5",
    "mt/t5-gated",  "mt/mt5",         "mt/mt5-silu",       "mt/umt5",         "mt/umt5-relu",   "mt/byt5",
    "mt/codet5",    "mt/t5-tables",   "mt/marian-pre",     "mt/ssru",         "mt/ssru-pre",    "mt/ssru-tied",
    "mt/average",   "mt/average-pre", "mt/average-plain",  "mt/average-free", "mt/ensemble"};
enum { MODELS = sizeof models / sizeof *models, FIRST_RECURRENT = 5, FIRST_FAMILY = 9, ENSEMBLE = MODELS - 1 };

/* Open the domain as the engine would; `also` is the second model of an ensemble, or NULL. */
static seq_runner *open_both(const char *path, const char *also, int threads, int tokenized, rill_domain_info *info)
{
    rill_open_options options = {.struct_size = sizeof options,
                                 .path = path,
                                 .threads = threads,
                                 .tokenized = tokenized,
                                 .ensemble = &also,
                                 .n_ensemble = also != NULL};
    seq_runner *self;
    assert_ok(ctx, runner_open(ctx, &options, &self, info));
    return self;
}

static seq_runner *open_at(const char *path, int threads, int tokenized, rill_domain_info *info)
{
    return open_both(path, NULL, threads, tokenized, info);
}

/* Open models[i], whose directory is `path`. */
static seq_runner *open_ith(size_t i, const char *path, int threads, rill_domain_info *info)
{
    char *first = data_path(models[0]);
    seq_runner *self = i == ENSEMBLE ? open_both(first, path, threads, 1, info) : open_at(path, threads, 1, info);
    free(first);
    return self;
}

/* Return the tokens of case i joined by spaces, malloc()ed. */
static char *case_subwords(const json_t *cases, int32_t i)
{
    return reference_text(json_object_get(json_array_get(cases, (size_t)i), "pieces"));
}

/* --- driving rows ------------------------------------------------------------------------------------------------- */

enum { MAX_ACTIONS = 600 };

/* Make one node and return its log-probabilities. */
static void expand(void *self, int32_t actions, int32_t node, int32_t parent, int32_t action, int32_t slot, float *logp)
{
    answer a = answer_row(ctx, domain, self, actions, (one_row){0, node, parent, action, slot, node});
    answer_logp(&a, 0, logp);
    answer_free(&a);
}

/* --- reference vectors -------------------------------------------------------------------------------------------- */

static int is_recurrent(const seq_runner *m)
{
    return m->model->net[0]->arch == &rnn_arch;
}

/* Check what the last decoder layer reads of the input. In a transformer these are the encoder states times the layer's
 * key and value weights; in a recurrent model, the annotations. */
static void check_memory(const seq_runner *m, int32_t slot, const json_t *one)
{
    const json_t *expected = json_object_get(one, "memory");
    const mt_net *net = is_recurrent(m) ? NULL : mt_from_seq(m->model->net[0]);
    const rnn_net *rnn = is_recurrent(m) ? rnn_from_seq(m->model->net[0]) : NULL;
    const rill_table table = rnn != NULL ? rnn->annotations : net->decoder.layer[net->decoder.n_layers - 1].encoder_kv;
    const size_t length = json_array_size(expected),
                 width = 2 * (rnn != NULL ? rnn->encoder_width : net->decoder.attention_width);
    float *rows = calloc(length * width, sizeof *rows);
    assert_non_null(rows);
    assert_int_equal(rill_session_units(m->session, slot), length);
    assert_ok(ctx, rill_session_read(m->session, table, slot, 0, (int32_t)length, rows));
    for (size_t t = 0; t < length; t++) {
        const json_t *row = json_array_get(expected, t);
        assert_int_equal(json_array_size(row), width);
        for (size_t j = 0; j < width; j++)
            assert_near((double)rows[t * width + j], json_real_value(json_array_get(row, j)), 1e-4, "memory of piece",
                        t);
    }
    free(rows);
}

static void check_forced(seq_runner *m, int32_t slot, const json_t *one)
{
    float logp[MAX_ACTIONS];
    int32_t action = RILL_ACTION_START, actions = m->model->net[0]->target_vocab_size;
    size_t t;
    json_t *row;
    json_array_foreach(json_object_get(one, "steps"), t, row)
    {
        expand(m, actions, (int32_t)t, (int32_t)t - 1, action, slot, logp);
        assert_int_equal(json_array_size(row), actions);
        for (int32_t a = 0; a < actions; a++) {
            /* whether the vocabulary has this token */
            const int legal = (int)(m->model->legal[a / 64] >> (a % 64) & 1);
            if (!legal || json_is_null(json_array_get(row, (size_t)a)))
                assert_true(logp[a] == -INFINITY);
            else
                assert_near((double)logp[a], json_number_value(json_array_get(row, (size_t)a)), 1e-4, "log-probability",
                            t);
        }
        action = (int32_t)json_integer_value(json_array_get(json_object_get(one, "forced"), t));
    }
}

/* Number of pairs SOURCE-TARGET in the text, separated by spaces; *found: whether s-t is one of them. */
static size_t count_pairs(const rill_text *text, size_t s, size_t t, int *found)
{
    size_t count = 0, subword, action;
    int length;
    *found = 0;
    for (const char *pos = text->length > 0 ? text->data : "";
         sscanf(pos, "%zu-%zu%n", &subword, &action, &length) == 2; pos += length, count++)
        *found |= subword == s && action == t;
    return count;
}

/* Check the alignment after check_forced(), which has made the nodes: action t was chosen at node t. */
static void check_alignment(seq_runner *m, int32_t slot, const json_t *one)
{
    const json_t *forced = json_object_get(one, "forced"), *expected = json_object_get(one, "attention"), *row;
    int32_t action[MAX_ACTIONS], node[MAX_ACTIONS], n = (int32_t)json_array_size(forced);
    for (int32_t t = 0; t < n; t++) {
        action[t] = (int32_t)json_integer_value(json_array_get(forced, (size_t)t));
        node[t] = t + 1 < n ? t + 1 : RILL_NO_NODE;
    }
    const rill_hypothesis hypothesis = {.slot = slot, .length = n, .action = action, .node = node};
    rill_text soft = {.ctx = ctx}, hard = {.ctx = ctx}, some = {.ctx = ctx};
    assert_ok(ctx, domain->field(m, "alignment=soft", &hypothesis, &soft));
    assert_ok(ctx, domain->field(m, "alignment", &hypothesis, &hard));
    assert_ok(ctx, domain->field(m, "alignment=0.3", &hypothesis, &some));
    assert_int_equal(json_array_size(expected), n);
    const char *pos = soft.data;
    size_t t, min_pairs = 0, max_pairs = 0;
    int found;
    json_array_foreach(expected, t, row)
    {
        size_t best = 0, subwords = json_array_size(row);
        for (size_t s = 0; s < subwords; s++) {
            const double share = json_number_value(json_array_get(row, s));
            char *end;
            assert_near(strtod(pos, &end), share, 1e-4, "share of action", t);
            assert_true(*end == (s + 1 < subwords ? ',' : t + 1 < (size_t)n ? ' ' : '\0'));
            pos = end + 1;
            if (share > json_number_value(json_array_get(row, best))) best = s;
            min_pairs += share > 0.3001, max_pairs += share > 0.2999;
            count_pairs(&some, s, t, &found);
            assert_true(share > 0.3001 ? found : share > 0.2999 || !found);
        }
        assert_int_equal(count_pairs(&hard, best, t, &found), n);
        assert_true(found);
    }
    assert_in_range(count_pairs(&some, 0, 0, &found), min_pairs, max_pairs);
    rill_text_clear(&soft), rill_text_clear(&hard), rill_text_clear(&some);
}

static void check_greedy(seq_runner *m, int32_t slot, const json_t *one, int32_t max_length)
{
    const json_t *greedy = json_object_get(one, "greedy"), *expected = json_object_get(greedy, "actions");
    float logp[MAX_ACTIONS];
    int32_t action = RILL_ACTION_START, depth = 0;
    double score = 0;
    for (; depth < max_length; depth++) {
        expand(m, m->model->net[0]->target_vocab_size, depth, depth - 1, action, slot, logp);
        action = 0;
        for (int32_t a = 1; a < m->model->net[0]->target_vocab_size; a++)
            if (logp[a] > logp[action]) action = a;
        score += (double)logp[action];
        if (action == m->model->net[0]->eos) break;
        assert_int_equal(action, json_integer_value(json_array_get(expected, (size_t)depth)));
    }
    assert_int_equal(depth, json_array_size(expected));
    assert_near(score, json_real_value(json_object_get(greedy, "score")), 1e-4, "greedy score of length",
                (size_t)depth);
}

static void check_reference(size_t which)
{
    reference r = reference_open(models[which]);
    int32_t n = (int32_t)json_array_size(r.cases);
    const int32_t longest = (int32_t)json_integer_value(json_object_get(r.expected, "max_length"));
    rill_input inputs[16];
    rill_domain_info info;
    seq_runner *m = open_ith(which, r.path, 1, &info);
    assert_int_equal(info.state_need, RILL_STATE_PATH);
    assert_int_equal(info.max_length, is_recurrent(m) ? 40 : longest);
    assert_ok(ctx, domain->reserve(m, info.max_length, n));
    for (int32_t i = 0; i < n; i++) inputs[i] = make_input(case_subwords(r.cases, i), i);
    assert_ok(ctx, domain->encode(m, n, inputs));
    for (int32_t i = 0; i < n; i++) {
        const json_t *one = json_array_get(r.cases, (size_t)i);
        assert_int_equal(inputs[i].status, RILL_OK);
        assert_int_equal(inputs[i].size, json_array_size(json_object_get(one, "ids")));
        if (which != ENSEMBLE) check_memory(m, i, one);
        check_forced(m, i, one);
        if (which != ENSEMBLE) check_alignment(m, i, one);
        check_greedy(m, i, one, longest);
        free((char *)(uintptr_t)inputs[i].text);
    }
    runner_close(m);
    reference_close(&r);
}

static void reference_shared(void **state)
{
    (void)state;
    check_reference(0);
}

static void reference_odd(void **state)
{
    (void)state;
    check_reference(1);
}

static void reference_separate(void **state)
{
    (void)state;
    check_reference(2);
}

static void reference_fsmt(void **state)
{
    (void)state;
    check_reference(3);
}

static void reference_fsmt_tied(void **state)
{
    (void)state;
    check_reference(4);
}

static void reference_recurrent(void **state)
{
    (void)state;
    for (size_t i = FIRST_RECURRENT; i < FIRST_FAMILY; i++) check_reference(i);
}

static void reference_families(void **state)
{
    (void)state;
    for (size_t i = FIRST_FAMILY; i < ENSEMBLE; i++) check_reference(i);
}

static void reference_ensemble(void **state)
{
    (void)state;
    check_reference(ENSEMBLE);
}

/* --- grouping ----------------------------------------------------------------------------------------------------- */

/* A synthetic search: item i has WIDTH nodes at each depth, children of random nodes of the depth before. It starts i
 * calls late, so that the rows of a call differ in depth. */
enum { ITEMS = 6, DEPTH = 7, WIDTH = 5, NODES = ITEMS * DEPTH * WIDTH, CALLS = DEPTH + ITEMS };

typedef struct plan {
    int32_t call[NODES], parent[NODES], action[NODES], slot[NODES], depth[NODES];
} plan;

static void make_plan(plan *p, int32_t actions)
{
    uint64_t dice = 3;
    for (int32_t v = 0; v < NODES; v++) {
        p->slot[v] = v / (DEPTH * WIDTH);
        p->depth[v] = v / WIDTH % DEPTH;
        p->call[v] = p->depth[v] + p->slot[v];
        const int first = p->depth[v] == 0;
        p->parent[v] = first ? RILL_NO_NODE : v / WIDTH * WIDTH - WIDTH + (int32_t)random_below(&dice, WIDTH);
        p->action[v] = first ? RILL_ACTION_START : (int32_t)random_below(&dice, (uint32_t)actions);
    }
}

/* Gather up to `max_rows` nodes of the call, after the first `skip`, as rows; returns their number. */
static int32_t gather(const plan *p, int32_t call, int32_t skip, int32_t max_rows, int32_t table[6][NODES],
                      rill_rows *rows)
{
    int32_t n = 0;
    for (int32_t v = 0; v < NODES && n < max_rows; v++) {
        if (p->call[v] != call || skip-- > 0) continue;
        table[0][n] = v, table[1][n] = p->parent[v], table[2][n] = p->action[v];
        table[3][n] = p->slot[v], table[4][n] = p->depth[v];
        n++;
    }
    *rows = (rill_rows){.n = n,
                        .node = table[0],
                        .parent = table[1],
                        .state_parent = table[1],
                        .action = table[2],
                        .slot = table[3],
                        .depth = table[4]};
    return n;
}

/* Compute the log-probabilities of all actions of all nodes, with `group` rows per call and `together` inputs per
 * encode. */
static void run_plan(seq_runner *m, const rill_domain_info *info, const json_t *cases, int32_t group, int32_t together,
                     float *logp)
{
    const int32_t actions = m->model->net[0]->target_vocab_size;
    static plan p;
    static int32_t table[6][NODES];
    rill_input inputs[ITEMS];
    make_plan(&p, actions);
    assert_ok(ctx, domain->reserve(m, NODES / 2, ITEMS / 2));
    assert_ok(ctx, domain->reserve(m, NODES, ITEMS));
    for (int32_t i = 0; i < ITEMS; i++) inputs[i] = make_input(case_subwords(cases, i), i);
    for (int32_t i = 0; i < ITEMS; i += together)
        assert_ok(ctx, domain->encode(m, i + together <= ITEMS ? together : ITEMS - i, inputs + i));
    answer a = answer_make(group, actions);
    for (int32_t call = 0, from = 0, n; call < CALLS; from += n) {
        rill_rows rows;
        n = gather(&p, call, from, group, table, &rows);
        answer_rows(ctx, domain, m, &rows, &a);
        for (int32_t r = 0; r < n; r++) {
            answer_logp(&a, r, logp + (size_t)table[0][r] * (size_t)actions);
            assert_int_equal(answer_ends(&a, r), RILL_LIVE);
        }
        if (n > 0) check_random_requests(ctx, domain, m, info, &rows, RACES_ONLY ? 1 : 6);
        if (n < group) call++, from = -n;
    }
    answer_free(&a);
    for (int32_t i = 0; i < ITEMS; i++) free((char *)(uintptr_t)inputs[i].text);
    runner_close(m);
}

static void results_do_not_depend_on_grouping(void **state)
{
    (void)state;
    static const struct {
        int threads;
        int32_t group, together;
    } ways[] = {{1, NODES, ITEMS}, {1, 5, 3}, {1, 17, 2}, {2, NODES, ITEMS}, {2, 13, 4}, {3, 64, 1}};
    const size_t bytes = (size_t)NODES * MAX_ACTIONS * sizeof(float);
    for (size_t i = 0; i < MODELS; i++) {
        /* of each family, one model per layout and per kind of positions */
        if (i >= FIRST_FAMILY && i < ENSEMBLE && i % 3 != 0) continue;
        reference r = reference_open(models[i]);
        rill_domain_info info;
        float *alone = calloc(1, bytes), *other = calloc(1, bytes);
        assert_true(alone != NULL && other != NULL);
        run_plan(open_ith(i, r.path, 1, &info), &info, r.cases, RACES_ONLY ? NODES : 1, 1, alone);
        for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
            if (RACES_ONLY && ways[w].threads == 1) continue;
            memset(other, 0, bytes);
            run_plan(open_ith(i, r.path, ways[w].threads, &info), &info, r.cases, ways[w].group, ways[w].together,
                     other);
            assert_memory_equal(alone, other, bytes);
        }
        free(alone), free(other);
        reference_close(&r);
    }
}

/* An input without tokens takes no slot and does not affect other inputs. */
static void nothing_is_encoded_of_nothing(void **state)
{
    (void)state;
    char *path = data_path(models[0]);
    rill_domain_info info;
    seq_runner *m = open_at(path, 1, 1, &info);
    rill_input inputs[3] = {make_input(" ", 0),
                            make_input("\xE2\x96\x81"
                                       "a",
                                       1),
                            make_input("", 2)};
    assert_ok(ctx, domain->reserve(m, 1, 3));
    assert_ok(ctx, domain->encode(m, 3, inputs));
    for (int32_t i = 0; i < 3; i++) {
        assert_int_equal(inputs[i].status, i == 1 ? RILL_OK : RILL_EMPTY);
        assert_int_equal(rill_session_units(m->session, i), i == 1 ? 2 : 0);
    }
    runner_close(m);
    free(path);
}

/* An ensemble of a model with itself equals the model. */
static void a_model_with_itself_is_the_model(void **state)
{
    (void)state;
    const size_t bytes = (size_t)NODES * MAX_ACTIONS * sizeof(float);
    reference r = reference_open(models[0]);
    rill_domain_info info;
    float *alone = calloc(1, bytes), *twice = calloc(1, bytes);
    assert_true(alone != NULL && twice != NULL);
    run_plan(open_at(r.path, 1, 1, &info), &info, r.cases, 7, 2, alone);
    run_plan(open_both(r.path, r.path, 1, 1, &info), &info, r.cases, 7, 2, twice);
    for (size_t i = 0; i < bytes / sizeof *alone; i++) {
        if (isinf(alone[i]))
            assert_true(alone[i] == twice[i]);
        else
            assert_true(fabsf(twice[i] - alone[i]) <= 1e-6f * fmaxf(1.0f, fabsf(alone[i])));
    }
    free(alone), free(twice);
    reference_close(&r);
}

/* With a limit on choices, an ensemble returns the best of all its choices, although neither model ranks them in this
 * order. */
static void few_choices_are_the_best_of_all(void **state)
{
    (void)state;
    char *first = data_path(models[0]), *second = data_path(models[ENSEMBLE]);
    rill_domain_info info;
    seq_runner *m = open_both(first, second, 1, 1, &info);
    rill_input input = make_input("\xE2\x96\x81"
                                  "a",
                                  0);
    assert_ok(ctx, domain->reserve(m, 1, 1));
    assert_ok(ctx, domain->encode(m, 1, &input));
    int32_t node = 0, none = RILL_NO_NODE, start = RILL_ACTION_START, zero = 0;
    rill_rows rows = {
        .n = 1, .node = &node, .parent = &none, .state_parent = &none, .action = &start, .slot = &zero, .depth = &zero};
    answer all = answer_make(1, info.actions), few = answer_make(1, info.actions);
    assert_ok(ctx, domain->step(m, &rows));
    assert_ok(ctx, domain->score(m, &rows, &(rill_score_request){.max_choices = info.actions}, &all.out));
    assert_int_equal(all.out.count[0], info.actions - 1); /* all but the padding token */
    double sum = 0;
    for (int32_t i = 0; i < all.out.count[0]; i++) sum += exp((double)all.out.logp[i]);
    assert_true(sum < 1.0 && sum > 0.1);
    for (int32_t best = 1; best < info.actions; best++) {
        assert_ok(ctx, domain->score(m, &rows, &(rill_score_request){.max_choices = best}, &few.out));
        assert_int_equal(few.out.count[0], best);
        assert_memory_equal(few.out.action, all.out.action, (size_t)best * sizeof(int32_t));
        assert_memory_equal(few.out.logp, all.out.logp, (size_t)best * sizeof(float));
    }
    answer_free(&all), answer_free(&few);
    runner_close(m);
    free(first), free(second);
}

/* --- runners ------------------------------------------------------------------------------------------------------ */

enum { SHARING = 2 };

/* The work of a thread that shares a model: encode a text, make a node for each input, compute log-probabilities,
 * decode tokens to text. */
typedef struct sharer {
    const seq_model *model;
    float logp[3][MAX_ACTIONS];
    char text[3][100];
    int32_t actions;
} sharer;

static void *use_model(void *user)
{
    static const char *const texts[] = {"a book", "the house is small", "a b c"};
    sharer *s = user;
    void *runner = NULL;
    rill_context *own;
    if (rill_context_create(&own, NULL) != RILL_OK) return NULL;
    if (domain->start(s->model, own, 1, &runner) == RILL_OK && domain->reserve(runner, 3, 3) == RILL_OK) {
        rill_input inputs[3];
        rill_text text = {.ctx = own};
        for (int32_t i = 0; i < 3; i++) inputs[i] = make_input(texts[i], i);
        assert_ok(own, domain->encode(runner, 3, inputs));
        for (int32_t i = 0; i < 3; i++) {
            const one_row first = {.node = i, .parent = RILL_NO_NODE, .action = RILL_ACTION_START, .slot = i};
            answer a = answer_row(own, domain, runner, s->actions, first);
            answer_logp(&a, 0, s->logp[i]);
            answer_free(&a);
            rill_text_reset(&text);
            const rill_hypothesis h = {.slot = i, .length = 3, .action = (const int32_t[]){5, 6, 7 + i}};
            assert_ok(own, domain->finalize(runner, &h, &text));
            snprintf(s->text[i], sizeof s->text[i], "%s", text.data);
        }
        rill_text_clear(&text);
    }
    domain->stop(runner);
    rill_context_destroy(own);
    return s;
}

/* Use the runners first one after the other, then in two threads at once, each with its own context: the results are
 * the same. */
static void runners_share_a_model(void **state)
{
    (void)state;
    static const char *const shared[] = {"mt/shared", "mt/fsmt"};
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
        char *path = data_path(shared[i]);
        rill_domain_info info;
        seq_runner *m = open_at(path, 1, 0, &info);
        sharer alone = {.model = m->model, .actions = info.actions}, many[SHARING];
        pthread_t thread[SHARING];
        assert_ptr_equal(use_model(&alone), &alone);
        for (int t = 0; t < SHARING; t++) {
            many[t] = (sharer){.model = m->model, .actions = info.actions};
            assert_int_equal(pthread_create(&thread[t], NULL, use_model, &many[t]), 0);
        }
        for (int t = 0; t < SHARING; t++) {
            assert_int_equal(pthread_join(thread[t], NULL), 0);
            assert_memory_equal(many[t].logp, alone.logp, sizeof alone.logp);
            assert_memory_equal(many[t].text, alone.text, sizeof alone.text);
        }
        assert_true(alone.text[0][0] != '\0' && isfinite(alone.logp[2][5]));
        runner_close(m);
        free(path);
    }
}

static void no_rows_are_no_work(void **state)
{
    (void)state;
    char *path = data_path(models[0]);
    rill_domain_info info;
    seq_runner *self = open_at(path, 1, 1, &info);
    rill_rows rows = {.n = 0};
    rill_score_result out = {.stride = 1};
    assert_int_equal(domain->encode(self, 0, NULL), RILL_OK);
    assert_int_equal(domain->step(self, &rows), RILL_OK);
    assert_int_equal(domain->score(self, &rows, &(rill_score_request){.max_choices = 1}, &out), RILL_OK);
    runner_close(self);
    free(path);
}

/* --- text --------------------------------------------------------------------------------------------------------- */

static void check_texts(const char *name)
{
    reference r = reference_open(name);
    json_t *texts = json_object_get(r.expected, "texts"), *one;
    rill_domain_info info;
    seq_runner *m = open_at(r.path, 1, 0, &info);
    size_t i;
    json_array_foreach(json_object_get(texts, "into"), i, one)
    {
        const json_t *text = json_object_get(one, "text"), *ids = json_object_get(one, "ids");
        int32_t *found = NULL;
        size_t capacity = 0, j;
        rill_ids out = {.ctx = ctx, .ids = &found, .capacity = &capacity};
        rill_output_prefix opening;
        assert_ok(ctx, rill_tokenizer_encode(m->model->net[0]->tokenizer, json_string_value(text),
                                             json_string_length(text), &out, &opening));
        assert_int_equal(opening.decoder_start, -1);
        assert_int_equal(opening.forced_bos, -1);
        /* The reference ends in </s> even for an empty output. */
        assert_int_equal(out.n_ids, json_array_size(ids) > 1 ? json_array_size(ids) : 0);
        for (j = 0; j < out.n_ids; j++) assert_int_equal(found[j], json_integer_value(json_array_get(ids, j)));
        rill_free(ctx, found, capacity * sizeof *found);
    }
    json_array_foreach(json_object_get(texts, "back"), i, one)
    {
        const json_t *actions = json_object_get(one, "actions");
        int32_t action[64], n = (int32_t)json_array_size(actions);
        for (int32_t j = 0; j < n; j++) action[j] = (int32_t)json_integer_value(json_array_get(actions, (size_t)j));
        action[n] = m->model->net[0]->eos;
        rill_text out = {.ctx = ctx};
        assert_ok(ctx, domain->finalize(m, &(rill_hypothesis){.length = n + 1, .action = action}, &out));
        assert_string_equal(out.data != NULL ? out.data : "", json_string_value(json_object_get(one, "text")));
        rill_text_clear(&out);
    }
    runner_close(m);
    reference_close(&r);
}

static void texts_are_those_of_the_reference(void **state)
{
    (void)state;
    for (size_t i = 0; i < FIRST_FAMILY; i++) check_texts(models[i]);
    check_texts(models[ENSEMBLE]);
}

static void forms_of_alignment(void **state)
{
    (void)state;
    static const char *const good[] = {"alignment", "alignment=hard", "alignment=soft", "alignment=1",
                                       "alignment=0.05"};
    static const char *const bad[] = {"alignment=", "alignment=2", "alignment=0", "alignment=0.2x", "alignments", "x"};
    char *path = data_path(models[0]);
    rill_domain_info info;
    seq_runner *m = open_at(path, 1, 1, &info);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_int_equal(domain->field(m, good[i], NULL, NULL), RILL_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(domain->field(m, bad[i], NULL, NULL), RILL_ERR_OPTION);
    assert_string_equal(rill_error(ctx), "mt: outputs have no field \"x\", only alignment");
    runner_close(m);
    free(path);
}

static void inputs_fail_alone(void **state)
{
    (void)state;
    char *path = data_path(models[0]), subwords[100] = "";
    rill_domain_info info;
    for (int i = 0; i < 40; i++) strcat(subwords, "a ");
    seq_runner *typed = open_at(path, 1, 0, &info), *pretokenized = open_at(path, 1, 1, &info);
    rill_input inputs[] = {make_input("a \xFF", 0), make_input(">>fr<< a", 1), make_input(">>a book", 2),
                           make_input("  ", 3)};
    rill_input long_input = make_input(subwords, 0);
    assert_ok(ctx, domain->reserve(typed, 4, 4));
    assert_ok(ctx, domain->reserve(pretokenized, 4, 4));
    assert_ok(ctx, domain->encode(typed, 4, inputs));
    assert_int_equal(inputs[0].status, RILL_ERR_INPUT);
    assert_string_equal(inputs[0].message, "byte 3 is not UTF-8");
    assert_int_equal(inputs[1].status, RILL_ERR_INPUT);
    assert_string_equal(inputs[1].message, "unknown language tag >>fr<<");
    assert_int_equal(inputs[2].status, RILL_OK);
    assert_int_equal(inputs[3].status, RILL_EMPTY);
    assert_ok(ctx, domain->encode(pretokenized, 1, &long_input));
    assert_int_equal(long_input.status, RILL_ERR_INPUT);
    assert_string_equal(long_input.message, "expected at most 39 tokens, found 40");
    runner_close(typed);
    runner_close(pretokenized);
    free(path);
}

static void actions_have_names(void **state)
{
    (void)state;
    char *path = data_path(models[0]);
    rill_domain_info info;
    seq_runner *m = open_at(path, 1, 1, &info);
    void *model = (void *)(uintptr_t)m->model;
    for (int32_t a = 0; a < info.actions; a++) {
        rill_text name = {.ctx = ctx};
        assert_ok(ctx, domain->action_name(model, a, &name));
        assert_int_equal(domain->find_action(model, name.data, name.length), a);
        rill_text_clear(&name);
    }
    assert_int_equal(domain->find_action(model, "nothing", 7), RILL_NO_ACTION);
    runner_close(m);
    free(path);
}

int main(void)
{
    const struct CMUnitTest threaded[] = {CASE(results_do_not_depend_on_grouping), CASE(runners_share_a_model)};
    const struct CMUnitTest tests[] = {
        CASE(reference_shared),
        CASE(reference_odd),
        CASE(reference_separate),
        CASE(reference_fsmt),
        CASE(reference_fsmt_tied),
        CASE(reference_recurrent),
        CASE(reference_families),
        CASE(reference_ensemble),
        CASE(a_model_with_itself_is_the_model),
        CASE(few_choices_are_the_best_of_all),
        CASE(results_do_not_depend_on_grouping),
        CASE(nothing_is_encoded_of_nothing),
        CASE(runners_share_a_model),
        CASE(no_rows_are_no_work),
        CASE(texts_are_those_of_the_reference),
        CASE(forms_of_alignment),
        CASE(inputs_fail_alone),
        CASE(actions_have_names),
    };
    return RACES_ONLY ? cmocka_run_group_tests_name("domains_mt", threaded, NULL, NULL)
                      : cmocka_run_group_tests_name("domains_mt", tests, NULL, NULL);
}
