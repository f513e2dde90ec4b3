/* domains/shiftreduce: correct log-probabilities, however rows are grouped, and bounded memory.
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
#include "reference.h"

/* Included after helpers.h, since it uses names from there. */
#include "parser_fixture.h"

/* --- driving single rows ------------------------------------------------------------------------------------------ */

enum { MAX_ACTIONS = 64 };

/* Make one node and return the log-probabilities of all actions, -infinity for no choice; the result is the terminal
 * kind. */
static int expand(rill_context *ctx, void *self, int32_t phase, int32_t node, int32_t parent, int32_t action,
                  int32_t slot, float *logp)
{
    const int32_t actions = PARSER_FIRST_LABEL + ((const parser_runner *)self)->model->n_labels;
    assert_true(actions <= MAX_ACTIONS);
    answer a = answer_row(ctx, domain, self, actions, (one_row){phase, node, parent, action, slot, 0});
    const int kind = (int)answer_ends(&a, 0);
    answer_logp(&a, 0, logp);
    assert_true(a.out.count[0] > 0);
    answer_free(&a);
    return kind;
}

/* --- reference vectors -------------------------------------------------------------------------------------------- */

/* Suffixes that are not in the vocabulary do not occur in the reference. */
static void check_features(const int32_t *feature, int32_t suffixes, const json_t *ids, size_t frame, size_t frames)
{
    assert_int_equal(feature[0], json_integer_value(json_array_get(json_object_get(ids, "words"), frame)));
    if (frame == 0 || frame + 1 == frames) {
        for (int32_t i = 1; i < 2 + suffixes; i++) assert_int_equal(feature[i], -1);
        return;
    }
    assert_int_equal(feature[1], json_integer_value(json_array_get(json_object_get(ids, "shapes"), frame - 1)));
    const json_t *expected = json_array_get(json_object_get(ids, "suffixes"), frame - 1);
    size_t found = 0;
    for (int32_t i = 0; i < suffixes; i++)
        if (feature[2 + i] >= 0)
            assert_int_equal(feature[2 + i], json_integer_value(json_array_get(expected, found++)));
    assert_int_equal(found, json_array_size(expected));
}

/* Check how the only sentence of a call was read. */
static void check_reading(const parser_runner *r, const json_t *one)
{
    int32_t feature[PARSER_MAX_FEATURES];
    const json_t *ids = json_object_get(one, "ids"), *predicted = json_object_get(one, "predicted");
    const size_t frames = json_array_size(json_object_get(ids, "words"));
    assert_int_equal(r->frames[0], frames);
    for (size_t t = 0; t < frames; t++) {
        for (size_t f = 0; f < parser_features(r->model); f++) feature[f] = r->feature[f][t];
        check_features(feature, r->model->suffix_length, ids, t, frames);
    }
    for (size_t i = 0; i + 2 < frames && json_is_null(json_object_get(one, "tags")); i++)
        assert_int_equal(r->sentence[r->slot[0]].tag[i], json_integer_value(json_array_get(predicted, i)));
}

/* Check `actions` actions from `first` on. The reference has null for illegal actions, and null for all actions if one
 * is forced. */
static void check_logp(const float *logp, int32_t first, int32_t actions, const json_t *expected, const char *what,
                       size_t i)
{
    int32_t legal = 0;
    for (int32_t a = 0; a < actions; a++) {
        const json_t *value = json_array_get(expected, (size_t)a);
        legal += logp[first + a] > -INFINITY;
        if (json_is_null(expected)) {
            assert_true(logp[first + a] == 0.0f || logp[first + a] == -INFINITY);
        } else if (json_is_null(value)) {
            assert_true(logp[first + a] == -INFINITY);
        } else {
            assert_near((double)logp[first + a], json_real_value(value), 1e-4, what, i);
        }
    }
    assert_true(json_is_null(expected) ? legal == 1 : legal > 1);
}

static void check_forced(rill_context *ctx, void *self, int32_t slot, const json_t *one)
{
    const json_t *forced = json_object_get(one, "forced"), *structure = json_object_get(forced, "structure"),
                 *label = json_object_get(forced, "label");
    const size_t timesteps = json_array_size(structure);
    const int32_t labels = ((const parser_runner *)self)->model->n_labels;
    int32_t node = 0, action = RILL_ACTION_START;
    float logp[MAX_ACTIONS];
    assert_int_equal(timesteps, 2 * json_array_size(json_object_get(one, "tokens")) - 1);
    for (size_t t = 0; t < timesteps; t++) {
        int kind = expand(ctx, self, PARSER_PHASE_STRUCTURE, node, node - 1, action, slot, logp);
        assert_int_equal(kind, RILL_LIVE);
        check_logp(logp, 0, 2, json_array_get(json_object_get(forced, "structure_logp"), t), "structure", t);
        action = (int32_t)json_integer_value(json_array_get(structure, t));
        assert_true(logp[action] > -INFINITY);
        kind = expand(ctx, self, PARSER_PHASE_LABEL, node + 1, node, action, slot, logp);
        assert_int_equal(kind, t + 1 == timesteps ? RILL_LAST : RILL_LIVE);
        check_logp(logp, PARSER_FIRST_LABEL, labels, json_array_get(json_object_get(forced, "label_logp"), t), "label",
                   t);
        action = PARSER_FIRST_LABEL + (int32_t)json_integer_value(json_array_get(label, t));
        node += 2;
    }
}

/* Encode one sentence per call, because a model reads all lines in one form; other tests check batches. */
static void check_case(rill_context *ctx, void *self, int32_t slot, const json_t *one)
{
    const parser_runner *r = self;
    char *text = reference_tagged(json_object_get(one, "tokens"), json_object_get(one, "tags"));
    rill_input input = make_input(text, slot);
    ((parser *)(uintptr_t)r->model)->form = json_is_null(json_object_get(one, "tags")) ? PARSER_FORM_TEXT
                                                                                       : PARSER_FORM_TAGGED;
    assert_ok(ctx, domain->encode(self, 1, &input));
    assert_int_equal(input.status, RILL_OK);
    assert_int_equal(input.size, json_array_size(json_object_get(one, "tokens")));
    assert_int_equal(input.max_length, 2 * input.size - 1);
    check_reading(r, one);
    check_forced(ctx, self, slot, one);
    free(text);
}

static void check_reference(const char *name)
{
    failing_allocator memory;
    rill_context *ctx = failing_allocator_context(&memory);
    reference r = reference_open(name);
    const int32_t n = (int32_t)json_array_size(r.cases);
    started s;
    rill_domain_info info;
    assert_true(n > 3);
    assert_ok(ctx, open_at(ctx, r.path, 1, NULL, 1, &s, &info));
    assert_int_equal(info.phases, 2);
    assert_int_equal(info.max_choices_phases, 1 << PARSER_PHASE_LABEL);
    assert_ok(ctx, domain->reserve(s.self, 400, n));
    for (int32_t i = 0; i < n; i++) check_case(ctx, s.self, i, json_array_get(r.cases, (size_t)i));
    stop_model(domain, &s);
    reference_close(&r);
    failing_allocator_finish(&memory, ctx);
}

static void reference_tiny(void **state)
{
    (void)state;
    check_reference("shiftreduce/tiny");
}

static void reference_odd(void **state)
{
    (void)state;
    check_reference("shiftreduce/odd");
}

/* --- grouping ----------------------------------------------------------------------------------------------------- */

/* A synthetic search: in each phase every item has WIDTH nodes, children of random nodes of the phase before. */
enum {
    ITEMS = 7,
    TIMESTEPS = 7,
    WIDTH = 5,
    LAYER = ITEMS * WIDTH,
    NODES = 2 * TIMESTEPS * LAYER,
    LABELS = 40,
    ACTIONS = PARSER_FIRST_LABEL + LABELS
};

typedef struct plan {
    int32_t parent[NODES], action[NODES], slot[NODES], depth[NODES];
    int32_t stack[NODES], shifted[NODES]; /* [node]: spans on the stack; words shifted */
    char sentence[ITEMS][128];
} plan;

/* Choose the action that leads to node v. In a label node it is a shift or combine that is legal after the parent; in a
 * structure node it is a label. */
static void plan_action(plan *p, int32_t v, int32_t words, uint64_t *state)
{
    const int32_t from = p->parent[v];
    p->stack[v] = from >= 0 ? p->stack[from] : 0;
    p->shifted[v] = from >= 0 ? p->shifted[from] : 0;
    if (v / LAYER % 2 == PARSER_PHASE_STRUCTURE) {
        if (from >= 0) p->action[v] = PARSER_FIRST_LABEL + (int32_t)random_below(state, LABELS);
        return;
    }
    const int can_shift = p->shifted[v]<words, can_combine = p->stack[v]> 1;
    const int shift = can_shift && (!can_combine || random_below(state, 2));
    p->action[v] = shift ? PARSER_SHIFT : PARSER_COMBINE;
    p->stack[v] += shift ? 1 : -1;
    p->shifted[v] += shift;
}

/* Nodes are ordered by phase; items are mixed within a phase. Sentences are long enough that none ends before the last
 * phase. */
static void make_plan(plan *p)
{
    uint64_t state = 3;
    int32_t words[ITEMS];
    for (int32_t i = 0; i < ITEMS; i++) {
        size_t pos = 0;
        words[i] = (TIMESTEPS + 1) / 2 + (int32_t)random_below(&state, 6);
        for (int32_t w = 0; w < words[i]; w++)
            pos += (size_t)sprintf(p->sentence[i] + pos, "w%u ", random_below(&state, 60));
    }
    for (int32_t v = 0; v < NODES; v++) {
        const int32_t layer = v / LAYER;
        p->depth[v] = layer / 2;
        p->slot[v] = v * 3 % ITEMS;
        p->parent[v] = RILL_NO_NODE;
        p->action[v] = RILL_ACTION_START;
        if (layer > 0) do
                p->parent[v] = (layer - 1) * LAYER + (int32_t)random_below(&state, LAYER);
            while (p->slot[p->parent[v]] != p->slot[v]);
        plan_action(p, v, words[p->slot[v]], &state);
    }
}

/* Compute the log-probabilities of all actions of all nodes, with `group` rows per call and `sentences` inputs per
 * encode. */
static void run_plan(const char *folder, const plan *p, int threads, int32_t group, int32_t sentences, float *logp)
{
    failing_allocator memory;
    rill_context *ctx = failing_allocator_context(&memory);
    started s;
    rill_domain_info info;
    assert_ok(ctx, open_at(ctx, folder, threads, "text", 1, &s, &info));
    assert_ok(ctx, domain->reserve(s.self, NODES, ITEMS));
    rill_input inputs[ITEMS];
    for (int32_t i = 0; i < ITEMS; i++) inputs[i] = make_input(p->sentence[i], i);
    for (int32_t i = 0; i < ITEMS; i += sentences)
        assert_ok(ctx, domain->encode(s.self, i + sentences <= ITEMS ? sentences : ITEMS - i, inputs + i));
    static int32_t node[NODES];
    answer a = answer_make(LAYER, ACTIONS);
    for (int32_t v = 0; v < NODES; v++) node[v] = v;
    for (int32_t from = 0, n; from < NODES; from += n) {
        const int32_t rest = (from / LAYER + 1) * LAYER - from; /* a call has rows of one phase only */
        n = group < rest ? group : rest;
        rill_rows rows = {.n = n,
                          .phase = from / LAYER % 2,
                          .node = node + from,
                          .parent = p->parent + from,
                          .state_parent = p->parent + from,
                          .action = p->action + from,
                          .slot = p->slot + from,
                          .depth = p->depth + from};
        answer_rows(ctx, domain, s.self, &rows, &a);
        for (int32_t r = 0; r < n; r++) {
            assert_true(a.out.count[r] > 0);
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
    static plan p;
    static const struct {
        int threads, group, sentences;
    } ways[] = {
        {1, LAYER, ITEMS}, {1, 4, 3}, {1, 17, 2}, {2, LAYER, ITEMS}, {2, 13, 4}, {2, 1, 1}, {3, 30, 7},
    };
    char *folder = folder_make();
    const size_t size = (size_t)NODES * ACTIONS;
    float *alone = calloc(size, sizeof *alone), *other = calloc(size, sizeof *other);
    assert_true(alone != NULL && other != NULL);
    parser_write_model(folder, &(model_spec){.embedding = 20, .hidden = 37, .words = 60, .actions = LABELS, .seed = 9});
    make_plan(&p);
    run_plan(folder, &p, 1, 1, 1, alone);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        memset(other, 0, size * sizeof *other);
        run_plan(folder, &p, ways[i].threads, ways[i].group, ways[i].sentences, other);
        assert_memory_equal(alone, other, size * sizeof *alone);
    }
    free(alone), free(other);
    folder_remove(folder);
}

/* --- varied requests ---------------------------------------------------------------------------------------------- */

enum { SMALL_ACTIONS = PARSER_FIRST_LABEL + 9 };

static void requests_are_heeded(void **state)
{
    (void)state;
    fixture f;
    open_small(&f, "text", 1);
    rill_input inputs[] = {make_input("w1 w2", 0), make_input("w1 w2 w3", 1)};
    assert_ok(f.ctx, domain->encode(f.self, 2, inputs));
    float all[SMALL_ACTIONS], last[SMALL_ACTIONS];
    expand(f.ctx, f.self, PARSER_PHASE_STRUCTURE, 0, RILL_NO_NODE, RILL_ACTION_START, 0, all);
    assert_true(all[PARSER_SHIFT] == 0.0f && all[PARSER_COMBINE] == -INFINITY);
    expand(f.ctx, f.self, PARSER_PHASE_LABEL, 1, 0, PARSER_SHIFT, 0, all);
    expand(f.ctx, f.self, PARSER_PHASE_STRUCTURE, 2, 1, PARSER_FIRST_LABEL, 0, all);
    expand(f.ctx, f.self, PARSER_PHASE_LABEL, 3, 2, PARSER_SHIFT, 0, all);
    expand(f.ctx, f.self, PARSER_PHASE_STRUCTURE, 4, 3, PARSER_FIRST_LABEL, 0, all);
    assert_true(all[PARSER_COMBINE] == 0.0f && all[PARSER_SHIFT] == -INFINITY);
    /* The last timestep: all labels are terminal and begin with the root. */
    assert_int_equal(expand(f.ctx, f.self, PARSER_PHASE_LABEL, 5, 4, PARSER_COMBINE, 0, last), RILL_LAST);
    for (int32_t i = PARSER_FIRST_LABEL; i < SMALL_ACTIONS; i++)
        assert_int_equal(last[i] > -INFINITY, i - PARSER_FIRST_LABEL > 4);
    /* A node whose next structure action is not forced: two of three words are on the stack. */
    expand(f.ctx, f.self, PARSER_PHASE_STRUCTURE, 6, RILL_NO_NODE, RILL_ACTION_START, 1, all);
    expand(f.ctx, f.self, PARSER_PHASE_LABEL, 7, 6, PARSER_SHIFT, 1, all);
    expand(f.ctx, f.self, PARSER_PHASE_STRUCTURE, 8, 7, PARSER_FIRST_LABEL, 1, all);
    expand(f.ctx, f.self, PARSER_PHASE_LABEL, 9, 8, PARSER_SHIFT, 1, all);
    expand(f.ctx, f.self, PARSER_PHASE_STRUCTURE, 10, 9, PARSER_FIRST_LABEL, 1, all);
    assert_true(all[PARSER_COMBINE] > -INFINITY && all[PARSER_SHIFT] > -INFINITY);
    const int32_t structure[] = {4, 10, 0, 8}, label[] = {7, 5, 3, 1}, structure_slot[] = {0, 1, 0, 1},
                  label_slot[] = {1, 0, 0, 0};
    const rill_rows rows[] = {{.n = 4, .phase = PARSER_PHASE_STRUCTURE, .node = structure, .slot = structure_slot},
                              {.n = 4, .phase = PARSER_PHASE_LABEL, .node = label, .slot = label_slot}};
    for (int phase = 0; phase < 2; phase++) check_random_requests(f.ctx, domain, f.self, &f.info, &rows[phase], 500);
    close_small(&f);
}

static void no_rows_are_legal(void **state)
{
    (void)state;
    fixture f;
    open_small(&f, NULL, 0);
    assert_ok(f.ctx, domain->encode(f.self, 0, NULL));
    assert_ok(f.ctx, domain->step(f.self, &(rill_rows){0}));
    assert_ok(f.ctx,
              domain->score(f.self, &(rill_rows){0}, &(rill_score_request){.max_choices = 1}, &(rill_score_result){0}));
    close_small(&f);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

/* Run the whole life of an item, with forced actions. */
static rill_status use_model(void *self, const char *line, rill_text *text)
{
    static const int32_t action[] = {PARSER_SHIFT, 3, PARSER_SHIFT,   4, PARSER_COMBINE, 2,
                                     PARSER_SHIFT, 3, PARSER_COMBINE, 7};
    rill_input input = make_input(line, 0);
    rill_status status = domain->encode(self, 1, &input);
    int32_t node, parent, previous = RILL_ACTION_START, slot = 0, depth = 0, count, chosen[4];
    float logp[4];
    uint8_t ends;
    rill_score_result out = {.stride = 4, .count = &count, .action = chosen, .logp = logp, .ends = &ends};
    for (node = 0; node < 10 && status == RILL_OK; node++) {
        parent = node - 1;
        rill_rows rows = {.n = 1,
                          .phase = node % 2,
                          .node = &node,
                          .parent = &parent,
                          .state_parent = &parent,
                          .action = &previous,
                          .slot = &slot,
                          .depth = &depth};
        status = domain->step(self, &rows);
        if (status == RILL_OK) status = domain->score(self, &rows, &(rill_score_request){.max_choices = 4}, &out);
        previous = action[node];
    }
    rill_text_reset(text);
    if (status == RILL_OK) status = domain->finalize(self, &(rill_hypothesis){.length = 10, .action = action}, text);
    return status;
}

static void steady_state_allocates_nothing(void **state)
{
    (void)state;
    fixture f;
    open_small(&f, NULL, 0);
    rill_text text = {.ctx = f.ctx};
    assert_ok(f.ctx, use_model(f.self, "(TOP (T0 w1) (T1 w2) (T0 w3))", &text));
    assert_ok(f.ctx, use_model(f.self, "w1, w22.", &text));
    long calls = f.memory.calls;
    for (int i = 0; i < 5; i++)
        assert_ok(f.ctx, use_model(f.self, i % 2 ? "w2 w1?" : "(TOP (T0 w1) (T1 w2) (T0 w3))", &text));
    assert_int_equal(f.memory.calls, calls);
    rill_text_clear(&text);
    close_small(&f);
}

static rill_status open_use_close(rill_context *ctx, const char *folder)
{
    started s;
    rill_domain_info info;
    rill_text text = {.ctx = ctx};
    rill_status status = open_at(ctx, folder, 2, NULL, 0, &s, &info);
    if (status == RILL_OK) status = domain->reserve(s.self, 4, 2);
    if (status == RILL_OK) status = domain->reserve(s.self, 40, 20);
    if (status == RILL_OK) status = use_model(s.self, "(TOP (T0 w1) (T1 w2) (T0 w3))", &text);
    if (status == RILL_OK) status = use_model(s.self, "\xE2\x80\x9Cw1.", &text);
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
    parser_write_model(folder, &SMALL_PARSER);
    assert_true(refuse_each_call(&memory, ctx, open_use_close, folder) > 80);
    folder_remove(folder);
    failing_allocator_finish(&memory, ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_tiny),
        cmocka_unit_test(reference_odd),
        cmocka_unit_test(results_do_not_depend_on_grouping),
        cmocka_unit_test(requests_are_heeded),
        cmocka_unit_test(no_rows_are_legal),
        cmocka_unit_test(steady_state_allocates_nothing),
        cmocka_unit_test(every_refusal_of_memory_is_survived),
    };
    return cmocka_run_group_tests_name("domains_shiftreduce", tests, NULL, NULL);
}
