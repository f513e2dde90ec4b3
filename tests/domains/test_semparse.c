/* domains/semparse: correct log-probabilities, however rows are grouped, and bounded memory.
 *
 * The tests drive the domain through its table, one row at a time or many, without an engine. */
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "domain_driver.h"
#include "helpers.h"
#include "random_parser.h"
#include "reference.h"
#include "semparse.h"

static const rill_domain *const domain = &rill_semparse_domain;

static rill_status open_at(rill_context *ctx, const char *path, int threads, int tokenized, started *out,
                           rill_domain_info *info)
{
    rill_open_options options = {
        .struct_size = sizeof options, .path = path, .threads = threads, .tokenized = tokenized};
    return start_model(ctx, domain, &options, out, info);
}

/* --- driving single rows ------------------------------------------------------------------------------------------ */

enum { MAX_ACTIONS = 512 };

/* Make one node and return the log-probabilities of all actions, -infinity for no choice. */
static void expand(rill_context *ctx, void *self, int32_t actions, int32_t node, int32_t parent, int32_t action,
                   int32_t slot, int32_t depth, float *logp)
{
    answer a = answer_row(ctx, domain, self, actions, (one_row){0, node, parent, action, slot, depth});
    answer_logp(&a, 0, logp);
    assert_int_equal(answer_ends(&a, 0), RILL_LIVE);
    answer_free(&a);
}

/* --- reference vectors -------------------------------------------------------------------------------------------- */

static void assert_vector(const float *found, const json_t *expected, const char *what)
{
    size_t i;
    json_t *value;
    json_array_foreach(expected, i, value)
    {
        if (json_is_null(value))
            assert_true(found[i] == -INFINITY);
        else
            assert_near((double)found[i], json_real_value(value), 1e-5, what, i);
    }
}

/* Return the tokens of case i joined by spaces, malloc()ed. */
static char *case_question(const json_t *cases, int32_t i)
{
    return reference_text(json_object_get(json_array_get(cases, (size_t)i), "tokens"));
}

static void check_encoder(rill_context *ctx, const semparse_runner *r, int32_t slot, const json_t *one)
{
    const semparse *s = r->model;
    const json_t *rows = json_object_get(one, "encoder");
    float *found = calloc(2 * s->ld, sizeof *found);
    size_t t;
    json_t *row;
    assert_non_null(found);
    assert_int_equal(rill_session_units(r->session, slot), json_array_size(rows));
    json_array_foreach(rows, t, row)
    {
        assert_ok(ctx, rill_session_read(r->session, s->tables.encoder_outputs, slot, (int32_t)t, 1, found));
        assert_vector(found, row, "encoder output");
    }
    assert_ok(ctx, rill_session_read(r->session, s->tables.encoder_state, slot, 0, 1, found));
    assert_vector(found, json_object_get(one, "state_h"), "last h");
    assert_vector(found + s->ld, json_object_get(one, "state_c"), "last c");
    free(found);
}

static void check_forced(rill_context *ctx, semparse_runner *s, int32_t slot, const json_t *one)
{
    const json_t *forced = json_object_get(one, "forced");
    float logp[MAX_ACTIONS];
    int32_t action = RILL_ACTION_START;
    size_t t;
    json_t *row;
    json_array_foreach(json_object_get(one, "log_probabilities"), t, row)
    {
        expand(ctx, s, s->model->target_vocab_size, (int32_t)t, (int32_t)t - 1, action, slot, (int32_t)t, logp);
        assert_vector(logp, row, "log-probability");
        action = (int32_t)json_integer_value(json_array_get(forced, t));
    }
}

static void check_greedy(rill_context *ctx, semparse_runner *s, int32_t slot, const json_t *one, int32_t max_length)
{
    const json_t *greedy = json_object_get(one, "greedy"), *expected = json_object_get(greedy, "actions");
    float logp[MAX_ACTIONS];
    int32_t action = RILL_ACTION_START, depth = 0;
    double score = 0;
    for (;; depth++) {
        if (depth == max_length) break;
        expand(ctx, s, s->model->target_vocab_size, depth % 2, depth > 0 ? (depth - 1) % 2 : RILL_NO_NODE, action, slot,
               depth, logp);
        action = 0;
        for (int32_t a = 1; a < s->model->target_vocab_size; a++)
            if (logp[a] > logp[action]) action = a;
        score += (double)logp[action];
        if (action == SEMPARSE_EOS) break;
        assert_int_equal(action, json_integer_value(json_array_get(expected, (size_t)depth)));
    }
    assert_int_equal(depth, json_array_size(expected));
    assert_near(score, json_real_value(json_object_get(greedy, "score")), 1e-5, "greedy score of length",
                (size_t)depth);
}

static void check_reference(const char *name)
{
    failing_allocator memory;
    rill_context *ctx = failing_allocator_context(&memory);
    reference r = reference_open(name);
    int32_t n = (int32_t)json_array_size(r.cases);
    rill_input inputs[16];
    started s;
    rill_domain_info info;
    assert_ok(ctx, open_at(ctx, r.path, 1, 1, &s, &info));
    assert_ok(ctx, domain->reserve(s.self, 20, n));
    for (int32_t i = 0; i < n; i++) inputs[i] = make_input(case_question(r.cases, i), i);
    assert_ok(ctx, domain->encode(s.self, n, inputs));
    for (int32_t i = 0; i < n; i++) {
        const json_t *one = json_array_get(r.cases, (size_t)i);
        if (inputs[i].length == 0) {
            assert_int_equal(inputs[i].status, RILL_EMPTY);
        } else {
            check_encoder(ctx, s.self, i, one);
            check_forced(ctx, s.self, i, one);
            check_greedy(ctx, s.self, i, one, info.max_length);
        }
        free((char *)(uintptr_t)inputs[i].text);
    }
    stop_model(domain, &s);
    reference_close(&r);
    failing_allocator_finish(&memory, ctx);
}

static void reference_tiny(void **state)
{
    (void)state;
    check_reference("semparse/tiny");
}

static void reference_odd(void **state)
{
    (void)state;
    check_reference("semparse/odd");
}

/* --- grouping ----------------------------------------------------------------------------------------------------- */

/* A synthetic search: at each depth every item has WIDTH nodes, children of random nodes of the depth before. */
enum { ITEMS = 7, DEPTH = 5, WIDTH = 6, NODES = ITEMS * DEPTH * WIDTH, ACTIONS = 300 };

typedef struct plan {
    int32_t parent[NODES], action[NODES], slot[NODES], depth[NODES];
    char question[ITEMS][64];
} plan;

/* Nodes are ordered by depth; items are mixed within a depth. */
static void make_plan(plan *p)
{
    uint64_t state = 3;
    for (int32_t i = 0; i < ITEMS; i++) {
        size_t pos = 0, words = 1 + random_below(&state, 9);
        for (size_t w = 0; w < words; w++)
            pos += (size_t)sprintf(p->question[i] + pos, "w%u ", random_below(&state, 60));
    }
    for (int32_t v = 0; v < NODES; v++) {
        p->depth[v] = v / (ITEMS * WIDTH);
        p->slot[v] = v * 3 % ITEMS;
        p->parent[v] = RILL_NO_NODE;
        p->action[v] = RILL_ACTION_START;
        if (p->depth[v] == 0) continue;
        int32_t first = (p->depth[v] - 1) * ITEMS * WIDTH;
        do p->parent[v] = first + (int32_t)random_below(&state, ITEMS * WIDTH);
        while (p->slot[p->parent[v]] != p->slot[v]);
        p->action[v] = 3 + (int32_t)random_below(&state, ACTIONS - 3);
    }
}

/* Compute the log-probabilities of all actions of all nodes, with `group` rows per call and `questions` inputs per
 * encode. */
static void run_plan(const char *folder, const plan *p, int threads, int32_t group, int32_t questions, float *logp)
{
    failing_allocator memory;
    rill_context *ctx = failing_allocator_context(&memory);
    started s;
    rill_domain_info info;
    assert_ok(ctx, open_at(ctx, folder, threads, 1, &s, &info));
    assert_ok(ctx, domain->reserve(s.self, NODES, ITEMS));
    rill_input inputs[ITEMS];
    for (int32_t i = 0; i < ITEMS; i++) inputs[i] = make_input(p->question[i], i);
    for (int32_t i = 0; i < ITEMS; i += questions)
        assert_ok(ctx, domain->encode(s.self, i + questions <= ITEMS ? questions : ITEMS - i, inputs + i));
    int32_t node[NODES];
    answer a = answer_make(NODES, ACTIONS);
    for (int32_t v = 0; v < NODES; v++) node[v] = v;
    for (int32_t from = 0, n; from < NODES; from += n) {
        int32_t rest = (p->depth[from] + 1) * ITEMS * WIDTH - from; /* a call has rows of one depth only */
        n = group < rest ? group : rest;
        rill_rows rows = {.n = n,
                          .node = node + from,
                          .parent = p->parent + from,
                          .state_parent = p->parent + from,
                          .action = p->action + from,
                          .slot = p->slot + from,
                          .depth = p->depth + from};
        answer_rows(ctx, domain, s.self, &rows, &a);
        for (int32_t r = 0; r < n; r++) {
            assert_int_equal(a.out.count[r], ACTIONS - 2);
            answer_logp(&a, r, logp + (size_t)(from + r) * ACTIONS);
        }
    }
    answer_free(&a);
    stop_model(domain, &s);
    failing_allocator_finish(&memory, ctx);
}

static void results_do_not_depend_on_grouping(void **state)
{
    (void)state;
    char *folder = folder_make();
    model_write(folder, &(model_spec){.embedding = 20, .hidden = 70, .words = 60, .actions = ACTIONS, .seed = 9});
    plan p;
    make_plan(&p);
    float *alone = calloc((size_t)NODES * ACTIONS, sizeof *alone),
          *other = calloc((size_t)NODES * ACTIONS, sizeof *other);
    assert_true(alone != NULL && other != NULL);
    run_plan(folder, &p, 1, 1, 1, alone);
    static const struct {
        int threads, group, questions;
    } ways[] = {
        {1, NODES, ITEMS}, {1, 5, 3}, {1, 17, 2}, {2, NODES, ITEMS}, {2, 13, 4}, {2, 1, 1}, {3, 64, 1},
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        memset(other, 0, (size_t)NODES * ACTIONS * sizeof *other);
        run_plan(folder, &p, ways[i].threads, ways[i].group, ways[i].questions, other);
        assert_memory_equal(alone, other, (size_t)NODES * ACTIONS * sizeof *alone);
    }
    free(alone), free(other);
    folder_remove(folder);
}

/* --- varied requests ---------------------------------------------------------------------------------------------- */

typedef struct fixture {
    failing_allocator memory;
    rill_context *ctx;
    char *folder;
    started model;
    void *self;
    rill_domain_info info;
} fixture;

static void open_small(fixture *f, int tokenized)
{
    f->ctx = failing_allocator_context(&f->memory);
    f->folder = folder_make();
    model_write(f->folder, &SMALL_MODEL);
    assert_ok(f->ctx, open_at(f->ctx, f->folder, 1, tokenized, &f->model, &f->info));
    f->self = f->model.self;
    assert_ok(f->ctx, domain->reserve(f->self, 8, 4));
}

static void close_small(fixture *f)
{
    stop_model(domain, &f->model);
    folder_remove(f->folder);
    failing_allocator_finish(&f->memory, f->ctx);
}

static void asks_are_heeded(void **state)
{
    (void)state;
    enum { ROWS = 3 };
    fixture f;
    open_small(&f, 1);
    rill_input inputs[] = {make_input("w1 w2", 0), make_input("w1 w2 w3", 2)};
    assert_ok(f.ctx, domain->encode(f.self, 2, inputs));
    float all[9];
    assert_true(f.info.has_end_action && f.info.end_action == SEMPARSE_EOS && !f.info.terminals_by_flag);
    expand(f.ctx, f.self, 9, 0, RILL_NO_NODE, RILL_ACTION_START, 0, 0, all);
    assert_true(isinf(all[SEMPARSE_BOS]) && isinf(all[SEMPARSE_UNK]));
    expand(f.ctx, f.self, 9, 4, RILL_NO_NODE, RILL_ACTION_START, 2, 0, all);
    expand(f.ctx, f.self, 9, 5, 4, 3, 2, 1, all);
    const int32_t node[ROWS] = {5, 0, 4}, slot[ROWS] = {2, 0, 2};
    const rill_rows rows = {.n = ROWS, .node = node, .slot = slot};
    check_random_requests(f.ctx, domain, f.self, &f.info, &rows, 500);
    close_small(&f);
}

static void no_rows_are_legal(void **state)
{
    (void)state;
    fixture f;
    open_small(&f, 1);
    assert_ok(f.ctx, domain->encode(f.self, 0, NULL));
    assert_ok(f.ctx, domain->step(f.self, &(rill_rows){0}));
    assert_ok(f.ctx,
              domain->score(f.self, &(rill_rows){0}, &(rill_score_request){.max_choices = 1}, &(rill_score_result){0}));
    close_small(&f);
}

/* --- inputs and outputs ------------------------------------------------------------------------------------------- */

static void bad_inputs_fail_alone(void **state)
{
    (void)state;
    fixture f;
    open_small(&f, 1);
    rill_input inputs[4] = {make_input("  ", 0), make_input("w1 \xFFw2", 1), make_input("w1 never-seen", 2),
                            make_input("", 3)};
    char many[100] = "";
    for (int i = 0; i < 31; i++) strcat(many, "w1 ");
    inputs[3] = make_input(many, 3);
    assert_ok(f.ctx, domain->encode(f.self, 4, inputs));
    assert_int_equal(inputs[0].status, RILL_EMPTY);
    assert_int_equal(inputs[1].status, RILL_ERR_INPUT);
    assert_string_equal(inputs[1].message, "the line is not UTF-8 at byte 4 (0xff)");
    assert_int_equal(inputs[2].status, RILL_OK);
    assert_int_equal(inputs[2].size, 2);
    assert_int_equal(inputs[3].status, RILL_ERR_INPUT);
    assert_string_equal(inputs[3].message, "expected at most 30 tokens, found 31");
    const semparse_runner *r = f.self;
    assert_int_equal(rill_session_units(r->session, 0), 0);
    assert_int_equal(rill_session_units(r->session, 2), 4);
    domain->drop(f.self, 2);
    assert_int_equal(rill_session_units(r->session, 2), 0);
    close_small(&f);
}

/* Words become ids, in reverse order, between the ids of <s> and </s>. */
static void words_have_their_numbers(void **state)
{
    (void)state;
    fixture f;
    open_small(&f, 1);
    rill_input input = make_input("w1 <s> never-seen", 0);
    assert_ok(f.ctx, domain->encode(f.self, 1, &input));
    const semparse_runner *r = f.self;
    const int32_t expected[] = {SEMPARSE_BOS, SEMPARSE_UNK, SEMPARSE_BOS,
                                rill_vocabulary_id(r->model->source_vocab, "w1", 2), SEMPARSE_EOS};
    assert_memory_equal(r->token_ids, expected, sizeof expected);
    close_small(&f);
}

static void outputs_are_joined_by_blanks(void **state)
{
    (void)state;
    fixture f;
    open_small(&f, 0);
    rill_input input = make_input("Which W1, please?", 1);
    assert_ok(f.ctx, domain->encode(f.self, 1, &input));
    assert_int_equal(input.status, RILL_OK);
    rill_text text = {.ctx = f.ctx};
    int32_t action[4] = {3, 8, 4, SEMPARSE_EOS};
    assert_ok(f.ctx, domain->finalize(f.self, &(rill_hypothesis){.slot = 1, .length = 4, .action = action}, &text));
    assert_string_equal(text.data, "a0 a5 a1");
    rill_text_reset(&text);
    assert_ok(f.ctx, domain->finalize(f.self, &(rill_hypothesis){.slot = 1, .length = 1, .action = action + 3}, &text));
    assert_int_equal(text.length, 0);
    rill_text_clear(&text);
    assert_int_equal(domain->measure(f.self, " two  words\t", 12), 2);
    assert_int_equal(domain->measure(f.self, "", 0), 0);
    close_small(&f);
}

static void actions_are_words_of_the_vocabulary(void **state)
{
    (void)state;
    fixture f;
    open_small(&f, 0);
    rill_text text = {.ctx = f.ctx};
    assert_ok(f.ctx, domain->action_name(f.model.model, SEMPARSE_EOS, &text));
    assert_ok(f.ctx, domain->action_name(f.model.model, 8, &text));
    assert_string_equal(text.data, "</s>a5");
    assert_int_equal(domain->find_action(f.model.model, "a5", 2), 8);
    assert_int_equal(domain->find_action(f.model.model, "a5 ", 3), RILL_NO_ACTION);
    /* w1 is a word of questions, not an action */
    assert_int_equal(domain->find_action(f.model.model, "w1", 2), RILL_NO_ACTION);
    rill_text_clear(&text);
    close_small(&f);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

/* Run the whole life of an item, with `width` children of the root. */
static rill_status use_model(rill_context *ctx, void *self, int32_t width, rill_text *text)
{
    rill_input input = make_input("w1 w2 w3", 0);
    rill_status status = domain->encode(self, 1, &input);
    int32_t node[8], parent[8], action[8], slot[8] = {0}, depth[8], count[8], chosen[16];
    float logp[16];
    uint8_t ends[8] = {0};
    rill_rows rows = {
        .n = 1, .node = node, .parent = parent, .state_parent = parent, .action = action, .slot = slot, .depth = depth};
    rill_score_result out = {.stride = 2, .count = count, .action = chosen, .logp = logp, .ends = ends};
    node[0] = 0, parent[0] = RILL_NO_NODE, action[0] = RILL_ACTION_START, depth[0] = 0;
    if (status == RILL_OK) status = domain->step(self, &rows);
    if (status == RILL_OK) status = domain->score(self, &rows, &(rill_score_request){.max_choices = 2}, &out);
    for (int32_t i = 0; i < width; i++) node[i] = 1 + i, parent[i] = 0, action[i] = 3 + i, depth[i] = 1;
    rows.n = width;
    if (status == RILL_OK) status = domain->step(self, &rows);
    if (status == RILL_OK) status = domain->score(self, &rows, &(rill_score_request){.max_choices = 2}, &out);
    rill_text_reset(text);
    if (status == RILL_OK) status = domain->finalize(self, &(rill_hypothesis){.length = width, .action = action}, text);
    if (status == RILL_OK) domain->drop(self, 0);
    (void)ctx;
    return status;
}

static void steady_state_allocates_nothing(void **state)
{
    (void)state;
    fixture f;
    open_small(&f, 1);
    rill_text text = {.ctx = f.ctx};
    assert_ok(f.ctx, use_model(f.ctx, f.self, 6, &text));
    long calls = f.memory.calls;
    for (int32_t i = 0; i < 5; i++) assert_ok(f.ctx, use_model(f.ctx, f.self, 1 + i, &text));
    assert_int_equal(f.memory.calls, calls);
    rill_text_clear(&text);
    close_small(&f);
}

static rill_status open_use_close(rill_context *ctx, const char *folder)
{
    started s;
    rill_domain_info info;
    rill_text text = {.ctx = ctx};
    rill_status status = open_at(ctx, folder, 2, 0, &s, &info);
    if (status == RILL_OK) status = domain->reserve(s.self, 4, 2);
    if (status == RILL_OK) status = domain->reserve(s.self, 40, 20);
    if (status == RILL_OK) status = use_model(ctx, s.self, 5, &text);
    rill_text_clear(&text);
    stop_model(domain, &s);
    return status;
}

static void every_refusal_of_memory_is_survived(void **state)
{
    (void)state;
    failing_allocator memory;
    rill_context *ctx = failing_allocator_context(&memory);
    char *folder = folder_make();
    model_write(folder, &SMALL_MODEL);
    write_string(folder, "lexicon.tsv", "@format\t1\n@type\ta\n");
    assert_true(refuse_each_call(&memory, ctx, open_use_close, folder) > 40);
    folder_remove(folder);
    failing_allocator_finish(&memory, ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_tiny),
        cmocka_unit_test(reference_odd),
        cmocka_unit_test(results_do_not_depend_on_grouping),
        cmocka_unit_test(asks_are_heeded),
        cmocka_unit_test(no_rows_are_legal),
        cmocka_unit_test(bad_inputs_fail_alone),
        cmocka_unit_test(words_have_their_numbers),
        cmocka_unit_test(outputs_are_joined_by_blanks),
        cmocka_unit_test(actions_are_words_of_the_vocabulary),
        cmocka_unit_test(steady_state_allocates_nothing),
        cmocka_unit_test(every_refusal_of_memory_is_survived),
    };
    return cmocka_run_group_tests_name("domains_semparse", tests, NULL, NULL);
}
