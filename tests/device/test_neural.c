/* examples/neural_domain.c, loaded as a plugin. Its outputs' scores must equal those of the same network written as
 * loops, and its greedy outputs must be the same letter by letter. Uses only installed headers and libraries. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rill/plugin.h"
#include "rill/rill.h"

enum { E = 7, H = 12, LETTERS = 26, END = 26, ACTIONS = 27, CAPACITY = 40 };

/* --- the model's file --------------------------------------------------------------------------------------------- */

static struct tensor {
    const char *name;
    int rows, columns; /* columns: 0 for a vector */
    float *data;
} tensors[] = {
    {"source.embedding", LETTERS, E, NULL},    {"target.embedding", ACTIONS + 1, E, NULL},
    {"encoder.input.weight", 3 * H, E, NULL},  {"encoder.input.bias", 3 * H, 0, NULL},
    {"encoder.hidden.weight", 3 * H, H, NULL}, {"encoder.hidden.bias", 3 * H, 0, NULL},
    {"decoder.input.weight", 3 * H, E, NULL},  {"decoder.input.bias", 3 * H, 0, NULL},
    {"decoder.hidden.weight", 3 * H, H, NULL}, {"decoder.hidden.bias", 3 * H, 0, NULL},
    {"attention.weight", H, 2 * H, NULL},      {"attention.bias", H, 0, NULL},
    {"output.weight", ACTIONS, H, NULL},       {"output.bias", ACTIONS, 0, NULL},
};
enum { TENSORS = sizeof tensors / sizeof *tensors };

static const float *weights(const char *name)
{
    for (int i = 0; i < TENSORS; i++)
        if (strcmp(tensors[i].name, name) == 0) return tensors[i].data;
    fail_msg("no tensor %s", name);
    return NULL;
}

static size_t n_floats(const struct tensor *t)
{
    return (size_t)t->rows * (size_t)(t->columns > 0 ? t->columns : 1);
}

/* Write random weights that make choices neither certain nor equal. `missing`: index of a tensor to leave out, or -1. */
static void write_model(const char *path, int missing)
{
    char header[4000];
    size_t offset = 0;
    uint32_t state = 12345;
    int used = snprintf(header, sizeof header, "{");
    for (int i = 0; i < TENSORS; i++) {
        struct tensor *t = &tensors[i];
        free(t->data);
        t->data = malloc(n_floats(t) * sizeof *t->data);
        for (size_t k = 0; k < n_floats(t); k++) {
            state = state * 1664525u + 1013904223u;
            t->data[k] = ((float)(state >> 8) / 8388608.0f - 1.0f) * 1.2f;
        }
        if (i == missing) continue;
        const size_t end = offset + n_floats(t) * sizeof *t->data;
        char shape[32];
        snprintf(shape, sizeof shape, t->columns > 0 ? "%d,%d" : "%d", t->rows, t->columns);
        used += snprintf(header + used, sizeof header - (size_t)used,
                         "%s\"%s\":{\"dtype\":\"F32\",\"shape\":[%s],\"data_offsets\":[%zu,%zu]}",
                         offset > 0 ? "," : "", t->name, shape, offset, end);
        offset = end;
    }
    used += snprintf(header + used, sizeof header - (size_t)used, "}");
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    const uint64_t length = (uint64_t)used;
    fwrite(&length, 8, 1, file);
    fwrite(header, (size_t)used, 1, file);
    for (int i = 0; i < TENSORS; i++)
        if (i != missing) fwrite(tensors[i].data, sizeof(float), n_floats(&tensors[i]), file);
    fclose(file);
}

/* --- reference loops ---------------------------------------------------------------------------------------------- */

static double sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

static double dot(const float *w, const double *x, int n)
{
    double sum = 0.0;
    for (int i = 0; i < n; i++) sum += (double)w[i] * x[i];
    return sum;
}

static void gru(const char *side, const float *embedding, double *h)
{
    char name[4][40];
    double x[E], next[H];
    snprintf(name[0], 40, "%s.input.weight", side);
    snprintf(name[1], 40, "%s.input.bias", side);
    snprintf(name[2], 40, "%s.hidden.weight", side);
    snprintf(name[3], 40, "%s.hidden.bias", side);
    const float *wx = weights(name[0]), *bx = weights(name[1]), *wh = weights(name[2]), *bh = weights(name[3]);
    for (int i = 0; i < E; i++) x[i] = (double)embedding[i];
    for (int j = 0; j < H; j++) {
        double in[3], state[3];
        for (int g = 0; g < 3; g++) {
            in[g] = (double)bx[g * H + j] + dot(wx + (g * H + j) * E, x, E);
            state[g] = (double)bh[g * H + j] + dot(wh + (g * H + j) * H, h, H);
        }
        const double reset = sigmoid(in[0] + state[0]), update = sigmoid(in[1] + state[1]);
        next[j] = (1.0 - update) * tanh(in[2] + reset * state[2]) + update * h[j];
    }
    memcpy(h, next, sizeof next);
}

typedef struct reading {
    int length;
    double memory[CAPACITY][H], h[H];
} reading;

static reading read_word(const char *word)
{
    reading r = {.length = (int)strlen(word)};
    for (int t = 0; t < r.length; t++) {
        gru("encoder", weights("source.embedding") + (word[t] - 'a') * E, r.h);
        memcpy(r.memory[t], r.h, sizeof r.h);
    }
    return r;
}

/* Compute the log-probabilities from the decoder state h. */
static void look(const reading *r, const double *h, double *logp)
{
    double share[CAPACITY], joined[2 * H] = {0}, a[H], sum = 0.0, max = -INFINITY;
    for (int t = 0; t < r->length; t++) {
        share[t] = 0.0;
        for (int j = 0; j < H; j++) share[t] += r->memory[t][j] * h[j];
        max = fmax(max, share[t]);
    }
    for (int t = 0; t < r->length; t++) sum += share[t] = exp(share[t] - max);
    for (int t = 0; t < r->length; t++)
        for (int j = 0; j < H; j++) joined[j] += share[t] / sum * r->memory[t][j];
    memcpy(joined + H, h, H * sizeof *h);
    for (int j = 0; j < H; j++)
        a[j] = tanh((double)weights("attention.bias")[j] + dot(weights("attention.weight") + j * 2 * H, joined, 2 * H));
    sum = 0.0;
    for (int v = 0; v < ACTIONS; v++)
        sum += exp(logp[v] = (double)weights("output.bias")[v] + dot(weights("output.weight") + v * H, a, H));
    for (int v = 0; v < ACTIONS; v++) logp[v] -= log(sum);
}

/* Return the log-probability of an output, with its end unless truncated. With `greedy`, write the most probable
 * letters to it instead. */
static double spell(const char *word, const char *output, int ended, char *greedy)
{
    const reading r = read_word(word);
    double h[H], logp[ACTIONS], sum = 0.0;
    int symbol = ACTIONS, t = 0;
    memcpy(h, r.h, sizeof h);
    for (;; t++) {
        gru("decoder", weights("target.embedding") + symbol * E, h);
        look(&r, h, logp);
        symbol = END;
        if (greedy != NULL) {
            for (int v = 0; v < ACTIONS; v++)
                if (logp[v] > logp[symbol]) symbol = v;
        } else if (output[t] != '\0') {
            symbol = output[t] - 'a';
        } else if (!ended) {
            return sum;
        }
        if (greedy != NULL && t == 2 * r.length + 10) symbol = END;
        sum += logp[symbol];
        if (symbol == END) break;
        if (greedy != NULL) greedy[t] = (char)('a' + symbol);
    }
    if (greedy != NULL) greedy[t] = '\0';
    return sum;
}

/* --- the plugin --------------------------------------------------------------------------------------------------- */

static const char *const words[] = {"abc", "zz", "streaming", "x", "beam", "search", "qq", "abcdefghijklmnop"};
enum { WORDS = sizeof words / sizeof *words };

typedef struct result {
    char text[WORDS][100];
    double score[WORDS];
    int truncated[WORDS], n[WORDS];
} result;

static rill_engine *make_engine(rill_context *ctx, rill_model *model, int32_t k)
{
    rill_engine *engine;
    rill_engine_setup setup;
    rill_engine_setup_default(&setup);
    setup.settings.k = k;
    setup.settings.stop_after = 1;
    if (rill_engine_create(&engine, ctx, model, &setup) != RILL_OK) fail_msg("%s", rill_error(ctx));
    return engine;
}

static void decode(rill_engine *engine, result *out)
{
    const rill_result *got;
    for (int i = 0; i < WORDS; i++) assert_int_equal(rill_engine_submit(engine, words[i], strlen(words[i])), RILL_OK);
    rill_engine_close_input(engine);
    while (rill_engine_step(engine) == RILL_OK) continue;
    while (rill_engine_next(engine, &got) == RILL_OK) {
        assert_int_equal(got->status, RILL_OK);
        snprintf(out->text[got->id], sizeof *out->text, "%s", rill_result_output(got, 0)->text);
        out->score[got->id] = rill_result_output(got, 0)->path_score;
        out->truncated[got->id] = rill_result_output(got, 0)->finish_reason != RILL_FINISH_REASON_STOP;
        out->n[got->id] = got->n_outputs;
    }
    rill_engine_destroy(engine);
}

static rill_context *open_context(void)
{
    rill_context *ctx;
    assert_int_equal(rill_context_create(&ctx, NULL), RILL_OK);
    assert_int_equal(rill_register_builtins(ctx), RILL_OK);
    if (rill_plugin_load(ctx, NEURAL_PLUGIN) != RILL_OK) fail_msg("%s", rill_error(ctx));
    return ctx;
}

static void outputs_are_the_networks(void **state)
{
    (void)state;
    write_model(NEURAL_MODEL, -1);
    rill_context *ctx = open_context();
    for (int threads = 1; threads <= 2; threads++) {
        const rill_open_options options = {.struct_size = sizeof options, .path = NEURAL_MODEL, .threads = threads};
        rill_model *model;
        if (rill_model_open(&model, ctx, "neural", &options) != RILL_OK) fail_msg("%s", rill_error(ctx));
        result greedy = {0}, wide = {0};
        /* two engines that share one model */
        rill_engine *first = make_engine(ctx, model, 1), *second = make_engine(ctx, model, 6);
        decode(first, &greedy);
        decode(second, &wide);
        rill_model_close(model);
        for (int i = 0; i < WORDS; i++) {
            char letters[100];
            const double best = spell(words[i], NULL, 1, letters);
            assert_string_equal(greedy.text[i], letters);
            if (!greedy.truncated[i]) assert_true(fabs(greedy.score[i] - best) < 1e-3);
            assert_true(wide.n[i] > 0);
            assert_true(fabs(wide.score[i] - spell(words[i], wide.text[i], !wide.truncated[i], NULL)) < 1e-3);
        }
    }
    rill_context_destroy(ctx);
}

static void bad_models_are_refused(void **state)
{
    (void)state;
    rill_context *ctx = open_context();
    rill_open_options options = {.struct_size = sizeof options, .threads = 1};
    rill_model *model;
    assert_int_equal(rill_model_open(&model, ctx, "neural", &options), RILL_ERR_OPTION);
    options.path = NEURAL_MODEL;
    write_model(NEURAL_MODEL, 10);
    assert_int_equal(rill_model_open(&model, ctx, "neural", &options), RILL_ERR_FORMAT);
    assert_non_null(strstr(rill_error(ctx), "attention.weight"));
    const rill_pair device = {"device", "tpu"};
    options.values = &device;
    options.n_values = 1;
    assert_int_equal(rill_model_open(&model, ctx, "neural", &options), RILL_ERR_OPTION);
    assert_int_equal(rill_memory_used(ctx) > 0, 1);
    rill_context_destroy(ctx);
    remove(NEURAL_MODEL);
    for (int i = 0; i < TENSORS; i++) free(tensors[i].data), tensors[i].data = NULL;
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(outputs_are_the_networks),
    cmocka_unit_test(bad_models_are_refused),
};

int main(void)
{
    return cmocka_run_group_tests(tests, NULL, NULL);
}
