/* Inputs with different settings and arguments in one run. Each must have the result of an engine created with its own
 * settings, whatever the other inputs use. This holds under several schedules, with workers and with an asynchronous
 * domain. A request is refused if such an engine is refused. Settings are drawn from the table of options, so new
 * options are covered. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/async_domain.h"
#include "support/harness.h"
#include "support/problem.h"

enum { VARIANTS = 5, INPUTS = 10, SCORERS = 7, ANSWER_BYTES = 1500, RUNS = 4 };

static const char *const SCORER[SCORERS] = {"require", "prefix", "ban", "allow", "word_reward", "word_reward", "lmbr"};

/* Settings that some inputs share. */
typedef struct variant {
    rill_settings settings;
    char describes[1200];
    char argument[SCORERS][40];
    char heuristic[16];
    rill_status refused; /* the status with which an engine refuses these settings */
} variant;

typedef struct mix {
    rill_context *ctx;
    dice d;
    char model[320], input[INPUTS][32];
    int32_t n, n_scorers, n_heuristics;
    rill_chain_entry scorers[SCORERS], heuristic;
    variant variants[VARIANTS];
    int32_t variant_index[INPUTS], next; /* [i]: the variant of input i; index of the next input to be read */
    char alone[VARIANTS][INPUTS][ANSWER_BYTES], mixed[INPUTS][ANSWER_BYTES];
    char (*answers)[ANSWER_BYTES]; /* where results of the run go */
} mix;

static int64_t n_compared, n_refused, failed_alone;

/* --- drawing ------------------------------------------------------------------------------------------------------ */

/* A value that the row allows, mostly small, since the search spaces are small. */
static void draw_value(const rill_option *o, dice *d, char *out, size_t size)
{
    static const double numbers[] = {-1, 0.2, 0.5, 0.9, 1, 1.2, 2, 3, 4, 5, 7, 20};
    double value = numbers[dice_range(d, 0, 11)];
    if (o->type == RILL_OPTION_INT) value = (double)dice_range(d, 0, 8);
    if (dice_chance(d, 5)) value = o->min;
    if (value < o->min) value = o->min;
    if (value > o->max) value = o->max;
    snprintf(out, size, o->type == RILL_OPTION_INT ? "%.0f" : "%.9g", value);
    if (o->type == RILL_OPTION_SWITCH) snprintf(out, size, "1");
    if (o->type != RILL_OPTION_WORD) return;
    const char *word = o->argument;
    int32_t words = 1;
    for (const char *c = word; *c != '\0'; c++) words += *c == '|';
    for (int32_t skip = dice_range(d, 0, words - 1); skip > 0; skip--) word = strchr(word, '|') + 1;
    snprintf(out, size, "%.*s", (int)strcspn(word, "|"), word);
}

/* Draw some compatible settings, and sometimes incompatible ones. */
static void draw_settings(mix *m, variant *v)
{
    dice *d = &m->d;
    char value[40];
    const int32_t percent = DICE_PICK(d, 4, 10, 20, 35);
    rill_settings_default(&v->settings);
    v->describes[0] = '\0';
    for (const rill_option *o = rill_setting_table(); o->name != NULL; o++) {
        if (!rill_setting_is_per_request(o) || !dice_chance(d, percent)) continue;
        draw_value(o, d, value, sizeof value);
        assert_int_equal(rill_settings_set(m->ctx, &v->settings, o->name, value), RILL_OK);
        const size_t length = strlen(v->describes);
        snprintf(v->describes + length, sizeof v->describes - length, " %s=%s", o->name, value);
    }
}

/* Choose among mostly incompatible kinds of search, so that the rest is more likely to be valid. */
static void draw_kind(mix *m, variant *v)
{
    static const char *const kinds[] = {"sample=3",         "groups=2", "cube=naive",
                                        "cube=accelerated", "k=4",      "finish=shrink"};
    const char *kind = kinds[dice_range(&m->d, 0, 5)];
    char name[20];
    if (!dice_chance(&m->d, 50)) return;
    rill_settings_default(&v->settings);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(kind, "="), kind);
    assert_int_equal(rill_settings_set(m->ctx, &v->settings, name, strchr(kind, '=') + 1), RILL_OK);
    snprintf(v->describes, sizeof v->describes, " %s", kind);
    if (!dice_chance(&m->d, 50)) return;
    assert_int_equal(rill_settings_set(m->ctx, &v->settings, "n-best", "3"), RILL_OK);
    strcat(v->describes, " n-best=3");
}

static void draw_argument(mix *m, int32_t scorer, char *out, size_t size)
{
    dice *d = &m->d;
    const int32_t a = dice_range(d, 0, 6), b = dice_range(d, 0, 6);
    out[0] = '\0';
    if (strcmp(m->scorers[scorer].name, "lmbr") == 0) {
        snprintf(out, size, "self=%d", dice_range(d, 1, 3));
    } else if (strcmp(m->scorers[scorer].name, "word_reward") == 0) {
        static const char *const rewards[] = {"0", "0.3", "-1", "3e38"};
        snprintf(out, size, "%s", rewards[DICE_PICK(d, 0, 0, 1, 1, 2, 3)]);
    } else if (dice_chance(d, 50)) {
        snprintf(out, size, dice_chance(d, 50) ? "a%d" : dice_chance(d, 50) ? "a%d a%d" : "a%d ||| a%d", a, b);
    }
}

static void draw(mix *m)
{
    dice *d = &m->d;
    const int32_t phases = DICE_PICK(d, 1, 1, 2), seed = dice_range(d, 0, 1000000), depth = dice_range(d, 2, 6);
    const char *terminal = dice_chance(d, 30) ? "last" : "end", *need = dice_chance(d, 50) ? "path" : "parent";
    snprintf(m->model, sizeof m->model,
             "seed=%d actions=%d depth=%d phases=%d state=%s ties=%d terminal=%s legal=%d mixed=2", (int)seed,
             (int)dice_range(d, 5, 9), (int)depth, (int)phases, need, (int)DICE_PICK(d, 0, 0, 2), terminal,
             (int)DICE_PICK(d, 60, 100));
    m->n = dice_range(d, 4, INPUTS);
    for (int32_t i = 0; i < m->n; i++)
        snprintf(m->input[i], sizeof m->input[i], "%s%d%.*s", dice_chance(d, 4) ? "!bad " : "",
                 (int)dice_range(d, 0, 99999), (int)(2 * dice_range(d, 0, 3)), " a b c");
    m->n_scorers = dice_chance(d, 70) ? dice_range(d, 1, 3) : 0;
    const int32_t first = dice_range(d, 0, SCORERS - 1);
    for (int32_t i = 0; i < m->n_scorers; i++) {
        m->scorers[i] = (rill_chain_entry){SCORER[(first + i) % SCORERS], ""};
        if (strcmp(m->scorers[i].name, "lmbr") == 0) m->scorers[i].arguments = "self=1";
        if (strcmp(m->scorers[i].name, "word_reward") == 0) m->scorers[i].arguments = "0";
    }
    m->n_heuristics = dice_chance(d, 40);
    m->heuristic = (rill_chain_entry){"absolute", "2"};
    for (int32_t k = 0; k < VARIANTS; k++) {
        variant *v = &m->variants[k];
        draw_settings(m, v);
        draw_kind(m, v);
        for (int32_t i = 0; i < m->n_scorers; i++) draw_argument(m, i, v->argument[i], sizeof v->argument[i]);
        snprintf(v->heuristic, sizeof v->heuristic, "%s", dice_chance(d, 50) ? "2" : "0.7");
    }
    for (int32_t i = 0; i < m->n; i++) m->variant_index[i] = dice_range(d, 0, VARIANTS - 1);
}

/* --- results ------------------------------------------------------------------------------------------------------ */

static rill_status take(void *user, const rill_result *r)
{
    mix *m = user;
    char *to = m->answers[r->id];
    int n = snprintf(to, ANSWER_BYTES, "%d %d found %d", (int)r->status, r->n_outputs, r->outputs_found);
    for (int32_t i = 0; i < r->n_outputs && n < ANSWER_BYTES - 400; i++) {
        const rill_output *o = rill_result_output(r, i);
        n += snprintf(to + n, (size_t)(ANSWER_BYTES - n), " | %.100s %.17g %.17g %.17g %d", o->text, o->path_score,
                      o->score, o->logp, (int)o->finish_reason);
    }
    if (r->status < 0) snprintf(to + n, (size_t)(ANSWER_BYTES - n), ": %s", r->message);
    return RILL_OK;
}

static rill_status read_plain(void *user, int may_block, const char **text, size_t *length)
{
    mix *m = user;
    (void)may_block;
    if (m->next == m->n) return RILL_END_OF_INPUT;
    *text = m->input[m->next++];
    *length = strlen(*text);
    return RILL_OK;
}

static const char *arguments[SCORERS], *heuristics[1]; /* arguments of the request read last */

static rill_status read_request(void *user, int may_block, rill_request *out)
{
    mix *m = user;
    (void)may_block;
    if (m->next == m->n) return RILL_END_OF_INPUT;
    const variant *v = &m->variants[m->variant_index[m->next]];
    out->text = m->input[m->next];
    out->length = strlen(out->text);
    out->settings = &v->settings;
    for (int32_t i = 0; i < m->n_scorers; i++) arguments[i] = v->argument[i];
    heuristics[0] = v->heuristic;
    out->scorers = m->n_scorers > 0 ? arguments : NULL;
    out->heuristics = m->n_heuristics > 0 ? heuristics : NULL;
    m->next++;
    return RILL_OK;
}

static void set_up(mix *m, rill_engine_setup *setup)
{
    rill_engine_setup_default(setup);
    setup->scorers = m->scorers;
    setup->n_scorers = m->n_scorers;
    setup->heuristics = &m->heuristic;
    setup->n_heuristics = m->n_heuristics;
}

/* Decode all inputs with one variant's settings and arguments, one after the other, by an engine created with them. */
static void run_alone(mix *m, rill_model *model, int32_t k)
{
    variant *v = &m->variants[k];
    rill_engine_setup setup;
    rill_chain_entry own[SCORERS], heuristic = {m->heuristic.name, v->heuristic};
    rill_engine *engine;
    set_up(m, &setup);
    setup.settings = v->settings;
    setup.settings.n = setup.settings.max_items = 1;
    /* A setting of the run only; a preset that sets another value does not override it. */
    assert_int_equal(rill_settings_set(m->ctx, &setup.settings, "unknown-penalty", "0"), RILL_OK);
    for (int32_t i = 0; i < m->n_scorers; i++) own[i] = (rill_chain_entry){m->scorers[i].name, v->argument[i]};
    setup.scorers = own;
    setup.heuristics = &heuristic;
    /* sampling and beam groups use no pruning heuristics */
    if (v->settings.sample > 0 || v->settings.groups > 1) setup.n_heuristics = 0;
    v->refused = rill_engine_create(&engine, m->ctx, model, &setup);
    if (v->refused < 0) return;
    m->answers = m->alone[k];
    m->next = 0;
    if (rill_run(engine, read_plain, m, take, m) != RILL_OK) fail_msg("alone:%s: %s", v->describes, rill_error(m->ctx));
    rill_engine_destroy(engine);
}

/* --- a mix -------------------------------------------------------------------------------------------------------- */

static rill_status run_engine(mix *m, rill_model *model, const rill_engine_setup *setup)
{
    rill_engine *engine;
    rill_status status = rill_engine_create(&engine, m->ctx, model, setup);
    if (status < 0) return status;
    status = rill_run_requests(engine, read_request, m, take, m);
    rill_engine_destroy(engine);
    return status;
}

static rill_status run_workers(mix *m, const rill_open_options *open, const rill_engine_setup *setup)
{
    rill_workers *workers;
    rill_workers_options options = {.struct_size = sizeof options, .workers = 2};
    const rill_engine_setup *setups[] = {setup, setup};
    rill_status status = rill_workers_open(&workers, m->ctx, "toy", open, &options);
    if (status >= 0) status = rill_workers_begin(workers, setups);
    if (status >= 0) status = rill_workers_run_requests(workers, read_request, m, take, m);
    rill_workers_close(workers);
    return status;
}

static void compare(const mix *m, uint64_t seed, int run)
{
    for (int32_t i = 0; i < m->n; i++) {
        const variant *v = &m->variants[m->variant_index[i]];
        const char *mixed = m->mixed[i], *alone = m->alone[m->variant_index[i]][i];
        char status[20];
        if (run == 1 && strstr(mixed, "max-nodes") != NULL) continue;
        snprintf(status, sizeof status, "%d ", (int)v->refused);
        n_refused += v->refused < 0;
        failed_alone += strncmp(alone, "0 ", 2) != 0;
        n_compared++;
        if (v->refused < 0 ? strncmp(mixed, status, strlen(status)) == 0 : strcmp(mixed, alone) == 0) continue;
        print_error("seed %llu run %d %s input %d \"%s\":%s\n", (unsigned long long)seed, run, m->model, (int)i,
                    m->input[i], v->describes);
        for (int32_t j = 0; j < m->n_scorers; j++) print_error(" %s:%s", m->scorers[j].name, v->argument[j]);
        print_error("\nmixed %s\nalone %s\n", mixed, v->refused < 0 ? "refused" : alone);
        fail();
    }
}

static void run_mix(mix *m, rill_model *const *models, const rill_open_options *open, uint64_t seed, int run)
{
    static const char *const methods[] = {"stream-all", "var-stream", "top-up", "var-batch"};
    rill_engine_setup setup;
    set_up(m, &setup);
    snprintf(setup.settings.method, sizeof setup.settings.method, "%s", methods[dice_range(&m->d, 0, 3)]);
    setup.settings.n = dice_range(&m->d, 2, 8);
    if (dice_chance(&m->d, 30) && strcmp(setup.settings.method, "var-batch") != 0)
        setup.settings.budget = dice_range(&m->d, 1, 20);
    if (run == 1) setup.settings.max_nodes = dice_range(&m->d, 20, 200);
    memset(m->mixed, 0, sizeof m->mixed);
    m->answers = m->mixed;
    m->next = 0;
    const rill_status status = run < 3 ? run_engine(m, models[run == 2], &setup) : run_workers(m, open, &setup);
    if (status < 0) {
        for (int32_t k = 0; k < VARIANTS; k++) print_error("%s\n", m->variants[k].describes);
        fail_msg("seed %llu run %d: the run ended: %s", (unsigned long long)seed, run, rill_error(m->ctx));
    }
    compare(m, seed, run);
}

static void each_input_as_alone(void **state)
{
    (void)state;
    const uint64_t first = harness_seed(1);
    static mix m;
    static async_table async;
    m.ctx = harness_context(NULL);
    async_make(&async, "late", &toy_domain, 2);
    assert_int_equal(rill_register_domain(m.ctx, &async.domain), RILL_OK);
    for (int64_t i = 0; i < harness_iterations(300); i++) {
        const uint64_t seed = first + (uint64_t)i;
        rill_model *models[2];
        m.d = dice_seeded(dice_mix(seed, 35));
        draw(&m);
        rill_open_options open = {.struct_size = sizeof open, .threads = 1, .arguments = m.model};
        assert_int_equal(rill_model_open(&models[0], m.ctx, "toy", &open), RILL_OK);
        assert_int_equal(rill_model_open(&models[1], m.ctx, "late", &open), RILL_OK);
        for (int32_t k = 0; k < VARIANTS; k++) run_alone(&m, models[0], k);
        for (int run = 0; run < RUNS; run++) run_mix(&m, models, &open, seed, run);
        rill_model_close(models[0]);
        rill_model_close(models[1]);
    }
    HARNESS_ASSERT_COVERED(n_compared > 0 && n_refused > 0 && failed_alone > 0);
    rill_context_destroy(m.ctx);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(each_input_as_alone)};

HARNESS_MAIN(tests)
