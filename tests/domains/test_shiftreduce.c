/* domains/shiftreduce: right values, the same values however rows are grouped, and memory that comes to rest.
 *
 * The domain is driven through its table alone, a row at a time or many, without an engine. */
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
#include "model.h"
#include "model_maker.h"
#include "reference.h"
#include "shiftreduce.h"

static const rill_domain *const domain = &rill_shiftreduce_domain;

static rill_status open_at(rill_context *ctx, const char *path, int threads, const char *form, int tokenized,
                           void **self, rill_domain_info *info)
{
    rill_open_options options = {
        .struct_size = sizeof options, .path = path, .threads = threads, .tokenized = tokenized, .input_format = form};
    return domain->open(ctx, &options, self, info);
}

static rill_input input_of(const char *text, int32_t slot)
{
    return (rill_input){.text = text, .length = strlen(text), .slot = slot};
}

/* --- a driver of single rows -------------------------------------------------------------------------------------- */

enum { MOST_ACTIONS = 64 };

/* Make one node and give the log-probabilities of all actions, -infinity where there is none; returns the terminal kind. */
static int expand(rill_context *ctx, void *self, int32_t phase, int32_t node, int32_t parent, int32_t action,
                  int32_t slot, float *logp)
{
    const int32_t actions = PARSER_LABELS + ((const parser *)self)->labels;
    const int32_t depth = 0; /* the domain does not look at it */
    rill_rows rows = {.n = 1,
                      .phase = phase,
                      .node = &node,
                      .parent = &parent,
                      .state_parent = &parent,
                      .action = &action,
                      .slot = &slot,
                      .depth = &depth};
    rill_ask ask = {.max_choices = actions, .plain = 1};
    int32_t count, chosen[MOST_ACTIONS];
    float chosen_logp[MOST_ACTIONS], score[MOST_ACTIONS];
    uint8_t terminal[MOST_ACTIONS];
    rill_choices out = {.stride = actions,
                        .count = &count,
                        .action = chosen,
                        .logp = chosen_logp,
                        .score = score,
                        .terminal = terminal};
    assert_true(actions <= MOST_ACTIONS);
    assert_ok(ctx, domain->step(self, &rows));
    assert_ok(ctx, domain->score(self, &rows, &ask, &out));
    assert_true(count > 0);
    for (int32_t a = 0; a < actions; a++) logp[a] = -INFINITY;
    for (int32_t i = 0; i < count; i++) {
        logp[chosen[i]] = chosen_logp[i];
        assert_true(score[i] == chosen_logp[i]);
        assert_int_equal(terminal[i], terminal[0]);
        if (i > 0) assert_true(score[i] <= score[i - 1]);
    }
    return terminal[0];
}

/* --- reference vectors -------------------------------------------------------------------------------------------- */

static void assert_near(double found, double expected, const char *what, size_t at)
{
    double slack = 1e-4 * (fabs(expected) > 1 ? fabs(expected) : 1);
    if (!(fabs(found - expected) <= slack)) fail_msg("%s %zu: expected %.9g, found %.9g", what, at, expected, found);
}

/* word_TAG tokens, or words alone, between blanks; malloc()ed. */
static char *sentence_of(const json_t *one)
{
    const json_t *tokens = json_object_get(one, "tokens"), *tags = json_object_get(one, "tags");
    char *text = calloc(1 + json_array_size(tokens) * 64, 1);
    assert_non_null(text);
    for (size_t i = 0; i < json_array_size(tokens); i++) {
        if (i > 0) strcat(text, " ");
        strcat(text, json_string_value(json_array_get(tokens, i)));
        if (json_is_null(tags)) continue;
        strcat(text, "_");
        strcat(text, json_string_value(json_array_get(tags, i)));
    }
    return text;
}

/* Suffixes that are not in the vocabulary are left out of the reference. */
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

static void check_reading(const parser *p, const parser_reading *reading, const json_t *one)
{
    const json_t *ids = json_object_get(one, "ids"), *predicted = json_object_get(one, "predicted");
    const size_t frames = json_array_size(json_object_get(ids, "words"));
    assert_int_equal(reading->frames, frames);
    for (size_t t = 0; t < frames; t++)
        check_features(p->feature + (reading->first + t) * parser_features(p), p->suffix_length, ids, t, frames);
    for (size_t i = 0; i + 2 < frames && json_is_null(json_object_get(one, "tags")); i++)
        assert_int_equal(p->slot[reading->slot].sentence.tag[i], json_integer_value(json_array_get(predicted, i)));
}

/* Of `actions` actions from `first` on; the reference has null where nothing is legal, and null for all when one is forced. */
static void check_logp(const float *logp, int32_t first, int32_t actions, const json_t *expected, const char *what,
                       size_t at)
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
            assert_near((double)logp[first + a], json_real_value(value), what, at);
        }
    }
    assert_true(json_is_null(expected) ? legal == 1 : legal > 1);
}

static void check_forced(rill_context *ctx, void *self, int32_t slot, const json_t *one)
{
    const json_t *forced = json_object_get(one, "forced"), *structure = json_object_get(forced, "structure"),
                 *label = json_object_get(forced, "label");
    const size_t timesteps = json_array_size(structure);
    const int32_t labels = ((const parser *)self)->labels;
    int32_t node = 0, action = RILL_ACTION_START;
    float logp[MOST_ACTIONS];
    assert_int_equal(timesteps, 2 * json_array_size(json_object_get(one, "tokens")) - 1);
    for (size_t t = 0; t < timesteps; t++) {
        int kind = expand(ctx, self, PARSER_STRUCTURE, node, node - 1, action, slot, logp);
        assert_int_equal(kind, RILL_LIVE);
        check_logp(logp, 0, 2, json_array_get(json_object_get(forced, "structure_logp"), t), "structure", t);
        action = (int32_t)json_integer_value(json_array_get(structure, t));
        assert_true(logp[action] > -INFINITY);
        kind = expand(ctx, self, PARSER_LABEL, node + 1, node, action, slot, logp);
        assert_int_equal(kind, t + 1 == timesteps ? RILL_LAST : RILL_LIVE);
        check_logp(logp, PARSER_LABELS, labels, json_array_get(json_object_get(forced, "label_logp"), t), "label", t);
        action = PARSER_LABELS + (int32_t)json_integer_value(json_array_get(label, t));
        node += 2;
    }
}

/* One sentence per call, since a model reads all lines in one form; that calls may hold many is tested below. */
static void check_case(rill_context *ctx, void *self, int32_t slot, const json_t *one)
{
    parser *p = self;
    char *text = sentence_of(one);
    rill_input input = input_of(text, slot);
    p->form = json_is_null(json_object_get(one, "tags")) ? FORM_TEXT : FORM_TAGGED;
    assert_ok(ctx, domain->encode(self, 1, &input));
    assert_int_equal(input.status, RILL_OK);
    assert_int_equal(input.size, json_array_size(json_object_get(one, "tokens")));
    assert_int_equal(input.max_length, 2 * input.size - 1);
    check_reading(p, &p->reading[0], one);
    check_forced(ctx, self, slot, one);
    free(text);
}

static void check_reference(const char *name)
{
    miser memory;
    rill_context *ctx = miser_context(&memory);
    char *path = data_path(name);
    json_t *expected = reference_load(path);
    const json_t *cases = json_object_get(expected, "cases");
    const int32_t n = (int32_t)json_array_size(cases);
    void *self;
    rill_domain_info info;
    assert_true(n > 3);
    assert_ok(ctx, open_at(ctx, path, 1, NULL, 1, &self, &info));
    assert_int_equal(info.phases, 2);
    assert_int_equal(info.max_choices_phases, 1 << PARSER_LABEL);
    assert_ok(ctx, domain->reserve(self, 400, n));
    for (int32_t i = 0; i < n; i++) check_case(ctx, self, i, json_array_get(cases, (size_t)i));
    domain->close(self);
    json_decref(expected);
    free(path);
    assert_int_equal(rill_memory_used(ctx), 0);
    rill_context_destroy(ctx);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_tiny),
        cmocka_unit_test(reference_odd),
    };
    return cmocka_run_group_tests_name("domains_shiftreduce", tests, NULL, NULL);
}
