/* domains/shiftreduce under the engine. The beams are those of the reference decoder, for every method and number of
 * threads. Trees have exactly the input's words, for any weights and sentences. */
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "helpers.h"
#include "random_parser.h"
#include "reference.h"
#include "rill/engine.h"
#include "shiftreduce.h"
#include "support/unescape_brackets.h"
#include "tree.h"

static const rill_domain *const domains[] = {&rill_shiftreduce_domain};

#include "engine_fixture.h"

static rill_model *open_model(const char *path, const char *form, int threads)
{
    rill_model *model;
    const rill_pair format = {"input-format", form};
    rill_open_options options = {.struct_size = sizeof options,
                                 .path = path,
                                 .threads = threads,
                                 .tokenized = 1,
                                 .values = &format,
                                 .n_values = form != NULL};
    assert_ok(ctx, rill_model_open(&model, ctx, "shiftreduce", &options));
    return model;
}

/* --- runs --------------------------------------------------------------------------------------------------------- */

typedef void (*seen_fn)(const rill_result *result, const void *user);

typedef struct run {
    const char *method;
    int32_t k, n, max_candidates, max_length; /* 0: the default of the settings */
    int64_t budget;
    const char *absolute; /* argument of "absolute"; NULL: no heuristic */
    seen_fn seen;
    const void *user;
} run;

/* Decode the lines and check each result; returns the expansions. */
static int64_t decode(rill_model *model, const run *r, char *const *line, size_t lines)
{
    rill_engine_setup setup;
    rill_engine_setup_default(&setup);
    strcpy(setup.settings.method, r->method);
    setup.settings.k = r->k;
    setup.settings.n = r->n;
    setup.settings.n_best = 10;
    if (r->budget) setup.settings.budget = r->budget;
    if (r->max_candidates) setup.settings.max_candidates = r->max_candidates;
    if (r->max_length) setup.settings.max_length = r->max_length;
    rill_chain_entry absolute = {"absolute", r->absolute};
    setup.heuristics = &absolute;
    setup.n_heuristics = r->absolute != NULL;
    rill_engine *engine;
    assert_ok(ctx, rill_engine_create(&engine, ctx, model, &setup));
    size_t submitted = 0, seen = 0;
    while (seen < lines) {
        for (; submitted < lines && rill_engine_free_slots(engine) > 0; submitted++)
            assert_ok(ctx, rill_engine_submit(engine, line[submitted], strlen(line[submitted])));
        if (submitted == lines) rill_engine_close_input(engine);
        assert_ok(ctx, rill_engine_step(engine));
        const rill_result *result;
        for (; rill_engine_next(engine, &result) == RILL_OK; seen++) {
            assert_int_equal(result->id, seen);
            r->seen(result, r->user);
        }
    }
    rill_stats stats = {.struct_size = sizeof stats};
    rill_engine_stats(engine, &stats);
    rill_engine_destroy(engine);
    return stats.expansions;
}

/* --- the reference decoder ---------------------------------------------------------------------------------------- */

enum { MAX_LINES = 64 };

typedef struct cases {
    char *line[MAX_LINES];
    const json_t *one[MAX_LINES];
    size_t n;
} cases;

/* Choose the cases with tags, or those without. */
static cases choose_cases(const json_t *all, int tagged)
{
    cases c = {.n = 0};
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *one = json_array_get(all, i), *tags = json_object_get(one, "tags");
        if (json_is_null(tags) == tagged) continue;
        assert_true(c.n < MAX_LINES);
        c.one[c.n] = one;
        c.line[c.n++] = reference_tagged(json_object_get(one, "tokens"), tags);
    }
    return c;
}

static void check_output(const rill_output *found, const json_t *expected, size_t words)
{
    const json_t *structure = json_object_get(expected, "structure"), *label = json_object_get(expected, "label");
    assert_string_equal(found->text, json_string_value(json_object_get(expected, "tree")));
    assert_true(fabs(found->path_score - json_real_value(json_object_get(expected, "score"))) < 1e-4);
    assert_int_equal(found->length, 2 * words - 1);
    assert_int_equal(found->n_ids, 2 * found->length);
    assert_int_equal(found->finish_reason, RILL_FINISH_REASON_STOP);
    for (size_t t = 0; t < (size_t)found->length; t++) {
        assert_int_equal(found->ids[2 * t], json_integer_value(json_array_get(structure, t)));
        assert_int_equal(found->ids[2 * t + 1], 2 + json_integer_value(json_array_get(label, t)));
    }
}

static void check_beam(const rill_result *result, const void *user)
{
    const json_t *one = ((const cases *)user)->one[result->id], *beam = json_object_get(one, "beam");
    assert_int_equal(result->status, RILL_OK);
    assert_int_equal(result->n_outputs, json_array_size(beam));
    for (size_t i = 0; i < (size_t)result->n_outputs; i++)
        check_output(rill_result_output(result, i), json_array_get(beam, i),
                     json_array_size(json_object_get(one, "tokens")));
}

static void check_greedy(const rill_result *result, const void *user)
{
    const json_t *one = ((const cases *)user)->one[result->id];
    assert_int_equal(result->n_outputs, 1);
    check_output(rill_result_output(result, 0), json_object_get(one, "greedy"),
                 json_array_size(json_object_get(one, "tokens")));
}

static int64_t decode_cases(const char *path, const json_t *all, int tagged, int threads, const char *method, int32_t n)
{
    cases c = choose_cases(all, tagged);
    rill_model *model = open_model(path, tagged ? "tagged" : "text", threads);
    assert_true(c.n > 0);
    const int64_t expansions = decode(
        model,
        &(run){.method = method, .k = 4, .n = n, .max_candidates = 3, .absolute = "3", .seen = check_beam, .user = &c},
        c.line, c.n);
    decode(model, &(run){.method = "greedy", .k = 1, .n = n, .seen = check_greedy, .user = &c}, c.line, c.n);
    rill_model_close(model);
    for (size_t i = 0; i < c.n; i++) free(c.line[i]);
    return expansions;
}

static void check_model(const char *name)
{
    static const char *const methods[] = {"var-batch", "var-stream", "var-stream-fifo", "top-up", "stream-all"};
    reference r = reference_open(name);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        for (int way = RACES_ONLY ? 3 : 0; way < 4; way++) {
            const int threads = 1 + way / 2;
            const int32_t n = way % 2 ? 4 : 1;
            const int64_t expansions = decode_cases(r.path, r.cases, 0, threads, methods[i], n) +
                                       decode_cases(r.path, r.cases, 1, threads, methods[i], n);
            assert_int_equal(expansions, json_integer_value(json_object_get(r.expected, "expansions")));
        }
    }
    reference_close(&r);
}

static void beams_tiny(void **state)
{
    (void)state;
    check_model("shiftreduce/tiny");
}

static void beams_odd(void **state)
{
    (void)state;
    check_model("shiftreduce/odd");
}

/* --- random sentences under random weights ------------------------------------------------------------------------ */

static char *random_line(uint64_t *state, uint32_t words)
{
    static const char *const word[] = {"w0",    "w1",    "w2",
                                       "w3",    "w4",    "w5",
                                       "(",     ")",     "f(x)",
                                       "{",     "}}",    "\xC3\x9Cn\xC3\xAF",
                                       "x",     "1,000", "never-seen-before",
                                       "-LRB-", "a_b"};
    char *line = calloc(1 + words * 24, 1);
    assert_non_null(line);
    for (uint32_t i = 0; i < words; i++)
        strcat(strcat(line, i > 0 ? " " : ""), word[random_below(state, sizeof word / sizeof *word)]);
    return line;
}

/* The tree's words joined by spaces must equal the line's words. Brackets in the tree are unescaped; in the line they
 * may be escaped. */
static void check_words(const rill_tree *tree, const char *line)
{
    rill_text found = {.ctx = ctx}, expected = {.ctx = ctx};
    for (int32_t i = 0; i < tree->count; i++) {
        const rill_tree_node *node = &tree->node[i];
        if (node->word.data == NULL) continue;
        if (found.length > 0) assert_ok(ctx, rill_text_append(&found, " ", 1));
        assert_ok(ctx, unescape_brackets(&found, node->word.data, node->word.length));
        assert_true(strncmp(node->label.data, "T0", 2) == 0 || strncmp(node->label.data, "T1", 2) == 0 ||
                    strncmp(node->label.data, "-LRB-", 5) == 0);
    }
    assert_ok(ctx, unescape_brackets(&expected, line, strlen(line)));
    assert_string_equal(found.data, expected.data);
    rill_text_clear(&found);
    rill_text_clear(&expected);
}

/* A node's only child must not have the node's own label. */
static void check_chains(const rill_tree *tree)
{
    for (int32_t i = 0; i + 1 < tree->count; i++) {
        const rill_tree_node *node = &tree->node[i], *next = &tree->node[i + 1];
        if (next->word.data != NULL || node->word.data != NULL || next->end != node->end) continue;
        assert_false(node->label.length == next->label.length &&
                     memcmp(node->label.data, next->label.data, node->label.length) == 0);
    }
}

static void check_trees(const rill_result *result, const void *user)
{
    char *const *line = user;
    rill_tree tree = {.ctx = ctx};
    assert_int_equal(result->status, RILL_OK);
    assert_true(result->n_outputs > 0);
    for (int32_t i = 0; i < result->n_outputs; i++) {
        assert_ok(ctx, rill_tree_parse(&tree, rill_result_output(result, i)->text,
                                       rill_result_output(result, i)->text_bytes, RILL_TREE_AS_WRITTEN));
        assert_true(tree.node[0].label.length == 3 && memcmp(tree.node[0].label.data, "TOP", 3) == 0);
        check_words(&tree, line[result->id]);
        check_chains(&tree);
        if (rill_result_output(result, i)->finish_reason == RILL_FINISH_REASON_STOP)
            assert_int_equal(rill_result_output(result, i)->length, 2 * tree.words - 1);
    }
    rill_tree_clear(&tree);
}

/* Results of a run, for bitwise comparison. */
typedef struct record {
    char *text;
    size_t used, capacity;
} record;

static void write_down(const rill_result *result, const void *user)
{
    record *r = (record *)(uintptr_t)user;
    for (int32_t i = 0; i < result->n_outputs; i++) {
        const rill_output *o = rill_result_output(result, i);
        if (r->used + o->text_bytes + 64 > r->capacity)
            r->text = realloc(r->text, r->capacity = 2 * r->capacity + o->text_bytes + 64);
        assert_non_null(r->text);
        r->used += (size_t)sprintf(r->text + r->used, "%d %a %a %s\n", (int)result->id, o->path_score, o->logp,
                                   o->text);
    }
}

enum { SENTENCES = 40 };

static void check_random(uint64_t seed)
{
    char *folder = folder_make(), *line[SENTENCES];
    uint64_t state = seed;
    parser_write_model(folder, &(model_spec){.embedding = 7, .hidden = 9, .words = 9, .actions = 13, .seed = seed});
    for (int i = 0; i < SENTENCES; i++)
        line[i] = random_line(&state, i == 0 ? 1 : i == 1 ? 250 : 1 + random_below(&state, 60));
    static const run runs[] = {
        {.method = "greedy", .k = 1, .n = 5},
        {.method = "fixed", .k = 3, .n = 6},
        {.method = "var-batch", .k = 10, .n = 10, .max_candidates = 3, .absolute = "2.5"},
        {.method = "stream-all", .k = 5, .n = 3, .max_candidates = 2, .absolute = "1", .budget = 20},
        {.method = "stream-all", .k = 4, .n = 7, .max_candidates = 4, .absolute = "9", .max_length = 12},
    };
    rill_model *model = open_model(folder, "text", 1);
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        run r = runs[i];
        r.seen = check_trees;
        r.user = line;
        decode(model, &r, line, SENTENCES);
    }
    rill_model_close(model);
    for (int i = 0; i < SENTENCES; i++) free(line[i]);
    folder_remove(folder);
}

static void every_output_is_a_tree_over_the_words(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4 && !RACES_ONLY; seed++) check_random(seed);
}

static void methods_and_threads_change_no_bit(void **state)
{
    (void)state;
    static const char *const methods[] = {"var-batch", "var-stream", "var-stream-fifo", "top-up", "stream-all"};
    char *folder = folder_make(), *line[SENTENCES];
    uint64_t seed = 11;
    record first = {0};
    parser_write_model(folder, &(model_spec){.embedding = 20, .hidden = 33, .words = 9, .actions = 40, .seed = seed});
    for (int i = 0; i < SENTENCES; i++) line[i] = random_line(&seed, 1 + random_below(&seed, i % 8 == 0 ? 120 : 30));
    for (int threads = 1 + RACES_ONLY; threads <= 3; threads++) {
        rill_model *model = open_model(folder, "text", threads);
        for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
            record other = {0};
            const run r = {.method = methods[m],
                           .k = 6,
                           .n = 1 + (int32_t)m * 4,
                           .max_candidates = 3,
                           .budget = m % 2 ? 30 : 0,
                           .absolute = "2.5",
                           .seen = write_down,
                           .user = &other};
            decode(model, &r, line, SENTENCES);
            if (first.text == NULL) {
                first = other;
                continue;
            }
            assert_int_equal(other.used, first.used);
            assert_memory_equal(other.text, first.text, first.used);
            free(other.text);
        }
        rill_model_close(model);
    }
    assert_true(first.used > 10000);
    free(first.text);
    for (int i = 0; i < SENTENCES; i++) free(line[i]);
    folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(beams_tiny),
        CASE(beams_odd),
        CASE(every_output_is_a_tree_over_the_words),
        CASE(methods_and_threads_change_no_bit),
    };
    return cmocka_run_group_tests_name("domains_shiftreduce_search", tests, NULL, NULL);
}
