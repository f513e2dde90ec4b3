/* Mistakes of callers and plugins at each interface: each yields an error that names the culprit or the likely
 * intention, and never a crash, a hang or a wrong result. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "rill/plugin.h"
#include "rill/run.h"
#include "rill/workers.h"
#include "support/harness.h"
#include "support/tables.h"
#include "support/toy_domain.h"

typedef struct fixture_engine {
    rill_context *ctx;
    rill_model *model;
    rill_engine_setup setup; /* setup of the next engine */
    rill_chain_entry entry;  /* its heuristic or scorer, if any */
    rill_engine *engine;
    harness_memory memory;
} fixture_engine;

static const char *toy_arguments = "seed=3 depth=4"; /* arguments of the next toy model */

static void open_fixture_engine(fixture_engine *h, const rill_domain *domain)
{
    const rill_open_options options = {.struct_size = sizeof options, .threads = 1, .arguments = toy_arguments};
    h->engine = NULL;
    rill_engine_setup_default(&h->setup);
    h->ctx = harness_begin(&h->memory);
    if (domain != NULL) assert_int_equal(rill_register_domain(h->ctx, domain), RILL_OK);
    assert_int_equal(rill_model_open(&h->model, h->ctx, domain != NULL ? domain->name : "toy", &options), RILL_OK);
}

static void use_heuristic(fixture_engine *h, const rill_heuristic *heuristic)
{
    assert_int_equal(rill_register_heuristic(h->ctx, heuristic), RILL_OK);
    h->entry = (rill_chain_entry){heuristic->name, ""};
    h->setup.heuristics = &h->entry;
    h->setup.n_heuristics = 1;
}

static void use_scorer(fixture_engine *h, const rill_scorer *scorer)
{
    assert_int_equal(rill_register_scorer(h->ctx, scorer), RILL_OK);
    h->entry = (rill_chain_entry){scorer->name, ""};
    h->setup.scorers = &h->entry;
    h->setup.n_scorers = 1;
}

static rill_status make_engine(fixture_engine *h)
{
    return rill_engine_create(&h->engine, h->ctx, h->model, &h->setup);
}

/* Decode one input; stop at the first call that fails. */
static rill_status decode_one(fixture_engine *h)
{
    rill_status status = RILL_OK;
    assert_int_equal(make_engine(h), RILL_OK);
    assert_int_equal(rill_engine_submit(h->engine, "in", 2), RILL_OK);
    rill_engine_close_input(h->engine);
    while (status == RILL_OK) status = rill_engine_step(h->engine);
    return status;
}

static void close_fixture_engine(fixture_engine *h)
{
    rill_engine_destroy(h->engine);
    rill_model_close(h->model);
    harness_end(h->ctx, &h->memory);
}

/* --- callers ------------------------------------------------------------------------------------------------------ */

static rill_status never_read(void *user, int may_block, const char **text, size_t *length)
{
    (void)user, (void)may_block, (void)text, (void)length;
    fail_msg("the input is closed");
    return RILL_END_OF_INPUT;
}

static rill_status count_result(void *user, const rill_result *result)
{
    (void)result;
    ++*(int *)user;
    return RILL_OK;
}

static void a_run_on_closed_input_ends(void **state)
{
    (void)state;
    fixture_engine h;
    int results = 0;
    open_fixture_engine(&h, NULL);
    assert_int_equal(make_engine(&h), RILL_OK);
    for (int i = 0; i < 2; i++) assert_int_equal(rill_engine_submit(h.engine, "in", 2), RILL_OK);
    rill_engine_close_input(h.engine);
    assert_int_equal(rill_run(h.engine, never_read, NULL, count_result, &results), RILL_OK);
    assert_int_equal(results, 2);
    assert_int_equal(rill_run(h.engine, never_read, NULL, count_result, &results), RILL_OK);
    assert_int_equal(results, 2);
    close_fixture_engine(&h);
}

static void inputs_that_are_null(void **state)
{
    (void)state;
    fixture_engine h;
    const rill_result *result;
    open_fixture_engine(&h, NULL);
    assert_int_equal(make_engine(&h), RILL_OK);
    assert_int_equal(rill_engine_submit(h.engine, NULL, 3), RILL_ERR_ARGUMENT);
    assert_int_equal(rill_engine_submit(h.engine, NULL, 0), RILL_OK); /* an empty line */
    assert_int_equal(rill_engine_submit_failed(h.engine, RILL_ERR_IO, NULL), RILL_OK);
    rill_engine_close_input(h.engine);
    while (rill_engine_step(h.engine) == RILL_OK) continue;
    assert_int_equal(rill_engine_next(h.engine, &result), RILL_OK);
    assert_int_equal(result->status, RILL_OK);
    assert_int_equal(rill_engine_next(h.engine, &result), RILL_OK);
    assert_int_equal(result->status, RILL_ERR_IO);
    assert_string_equal(result->message, rill_status_name(RILL_ERR_IO));
    close_fixture_engine(&h);
}

static rill_status read_null(void *user, int may_block, const char **text, size_t *length)
{
    int *n_read = user;
    (void)may_block;
    *text = NULL;
    *length = *n_read == 0 ? 3 : 0; /* the second is an empty line */
    return (*n_read)++ < 2 ? RILL_OK : RILL_END_OF_INPUT;
}

static rill_status expect_null(void *user, const rill_result *result)
{
    assert_int_equal(result->status, result->id == 0 ? RILL_ERR_ARGUMENT : RILL_OK);
    if (result->id == 0) assert_string_equal(result->message, "the text is NULL, with a length of 3 bytes");
    return count_result(user, result);
}

static rill_workers *open_workers(rill_context *ctx, int32_t n)
{
    const rill_open_options open = {.struct_size = sizeof open, .threads = 1, .arguments = toy_arguments};
    const rill_workers_options options = {.struct_size = sizeof options, .workers = n};
    rill_workers *workers;
    assert_int_equal(rill_workers_open(&workers, ctx, "toy", &open, &options), RILL_OK);
    return workers;
}

/* A run continues after an input that is NULL, with one engine and with several. */
static void runs_with_null_inputs(void **state)
{
    (void)state;
    rill_engine_setup setup;
    const rill_engine_setup *setups[2] = {&setup, &setup};
    rill_engine_setup_default(&setup);
    for (int32_t n = 1; n <= 2; n++) {
        int n_read = 0, results = 0;
        harness_memory memory;
        rill_context *ctx = harness_begin(&memory);
        rill_workers *workers = open_workers(ctx, n);
        assert_int_equal(rill_workers_begin(workers, setups), RILL_OK);
        assert_int_equal(rill_workers_run(workers, read_null, &n_read, expect_null, &results), RILL_OK);
        assert_int_equal(results, 2);
        rill_workers_close(workers);
        harness_end(ctx, &memory);
    }
}

/* Workers without engines, before they are started and after they have ended, decode and count nothing. */
static void workers_without_engines(void **state)
{
    (void)state;
    rill_engine_setup setup;
    const rill_engine_setup *setups[2] = {&setup, &setup};
    rill_engine_setup_default(&setup);
    for (int32_t n = 1; n <= 2; n++) {
        harness_memory memory;
        rill_context *ctx = harness_begin(&memory);
        rill_workers *workers = open_workers(ctx, n);
        for (int finished = 0; finished < 2; finished++) {
            rill_stats stats = {.struct_size = sizeof stats, .inputs = 7};
            assert_int_equal(rill_workers_run(workers, never_read, NULL, count_result, NULL), RILL_ERR_ARGUMENT);
            assert_string_equal(rill_error(ctx), "the workers have no engines: call rill_workers_begin() first");
            rill_workers_stats(workers, &stats);
            assert_int_equal(stats.inputs, 0);
            if (!finished) assert_int_equal(rill_workers_begin(workers, setups), RILL_OK);
            if (!finished) rill_workers_finish(workers);
        }
        rill_workers_close(workers);
        harness_end(ctx, &memory);
    }
}

static void invalid_setups(void **state)
{
    (void)state;
    static const rill_chain_entry nameless[] = {{NULL, ""}};
    fixture_engine h;
    rill_engine_setup wrong[8];
    open_fixture_engine(&h, NULL);
    for (int i = 0; i < 8; i++) wrong[i] = h.setup;
    wrong[0].n_heuristics = -1;
    wrong[1].n_heuristics = 2;
    wrong[2].n_scorers = -1;
    wrong[3].n_scorers = 1;
    wrong[4].scorers = nameless, wrong[4].n_scorers = 1;
    wrong[5].n_fields = -1;
    wrong[6].n_fields = 1;
    wrong[7].scheduler = nameless;
    for (int i = 0; i < 8; i++) {
        h.setup = wrong[i];
        assert_int_equal(make_engine(&h), RILL_ERR_ARGUMENT);
        assert_null(h.engine);
        assert_true(rill_error(h.ctx)[0] != '\0');
    }
    close_fixture_engine(&h);
}

/* --- domains ------------------------------------------------------------------------------------------------------ */

static int fault_case;

static rill_status encode_faulty(void *self, int32_t m, rill_input *inputs)
{
    rill_status status = toy_domain.encode(self, m, inputs);
    switch (fault_case) {
    case 0: inputs[m - 1].slot = 1 << 20; break;
    case 1: inputs[m - 1].id = -7; break;
    case 2: inputs[m - 1].text = NULL; break;
    case 3: inputs[m - 1].length = 1 << 30; break;
    case 4: inputs[m - 1].size = -1; break;
    case 5: inputs[m - 1].max_length = -1; break;
    /* without a NUL at the end, which is harmless */
    default: memset(inputs[m - 1].message, 'x', sizeof inputs[m - 1].message); break;
    }
    return status;
}

static void domains_corrupt_inputs(void **state)
{
    (void)state;
    for (fault_case = 0; fault_case < 7; fault_case++) {
        fixture_engine h;
        rill_domain domain = toy_domain;
        domain.name = "slipper";
        domain.encode = encode_faulty;
        open_fixture_engine(&h, &domain);
        assert_int_equal(make_engine(&h), RILL_OK);
        for (int i = 0; i < 3; i++) assert_int_equal(rill_engine_submit(h.engine, "in", 2), RILL_OK);
        rill_status status = rill_engine_step(h.engine);
        assert_int_equal(status, fault_case < 6 ? RILL_ERR_PLUGIN : RILL_OK);
        if (status < 0) assert_non_null(strstr(rill_error(h.ctx), "domain slipper: encode"));
        toy_report_reset();
        close_fixture_engine(&h);
    }
}

static rill_status score_faulty(void *self, const rill_rows *rows, const rill_score_request *request,
                                rill_score_result *out)
{
    static const float wrong[] = {NAN, INFINITY};
    rill_status status = toy_domain.score(self, rows, request, out);
    for (int32_t q = 0; q < request->n_picks; q++)
        if (fault_case < 2) out->pick_logp[q] = wrong[fault_case];
    return status;
}

static rill_status finalize_faulty(void *self, const rill_hypothesis *h, rill_text *out)
{
    rill_status status = toy_domain.finalize(self, h, out);
    if (fault_case == 2) out->length = out->capacity + 1;
    if (fault_case == 3) out->length = SIZE_MAX;
    if (fault_case == 4 && h->slot >= 0) out->length = 0; /* finalizing the second output overwrites the first */
    return status;
}

static rill_status add_one_half(void *self, const rill_scorer_rows *rows, rill_modifiers *modifiers)
{
    (void)self;
    rill_status status = RILL_OK;
    for (int32_t r = 0; r < rows->n && status == RILL_OK; r++) status = rill_modifiers_add(modifiers, r, 0, 0.5f);
    return status;
}

/* Domains that return invalid numbers or invalid text fail with a message. */
static void domains_return_nonsense(void **state)
{
    (void)state;
    /* its additions make the engine request these actions by id */
    static const rill_scorer adder = TEST_SCORER("adder", .score = add_one_half);
    for (fault_case = 0; fault_case < 6; fault_case++) {
        fixture_engine h;
        rill_domain domain = toy_domain;
        const rill_result *result;
        domain.name = "slipper";
        domain.score = score_faulty;
        domain.finalize = finalize_faulty;
        open_fixture_engine(&h, &domain);
        use_scorer(&h, &adder);
        h.setup.settings.n_best = 5;
        rill_status status = decode_one(&h);
        if (fault_case < 5) {
            assert_int_equal(status, RILL_ERR_PLUGIN);
            assert_non_null(strstr(rill_error(h.ctx),
                                   fault_case < 2 ? "domain slipper: choices of input 0" : "domain slipper: finalize"));
        } else {
            assert_int_equal(rill_engine_next(h.engine, &result), RILL_OK);
            assert_true(result->n_outputs > 1);
        }
        toy_report_reset();
        close_fixture_engine(&h);
    }
}

/* Returns an invalid last choice in the last row; merging the rows never reads that choice. */
static rill_status score_bad_last_choice(void *self, const rill_rows *rows, const rill_score_request *request,
                                         rill_score_result *out)
{
    rill_status status = toy_domain.score(self, rows, request, out);
    const int32_t r = rows->n - 1, n = out->count[r];
    if (r > 3 && n > 1) out->action[(size_t)r * (size_t)out->stride + (size_t)n - 1] = -5;
    return status;
}

/* Invalid choices that the search does not use are found with --check only. */
static void checks_read_every_choice(void **state)
{
    (void)state;
    toy_arguments = "seed=3 depth=6 actions=30 legal=100 ending=0";
    for (int check = 0; check < 2; check++) {
        fixture_engine h;
        rill_domain domain = toy_domain;
        domain.name = "hider";
        domain.score = score_bad_last_choice;
        open_fixture_engine(&h, &domain);
        strcpy(h.setup.settings.method, "fixed");
        h.setup.settings.k = 5;
        h.setup.settings.check = check;
        rill_status status = decode_one(&h);
        if (check ? status != RILL_ERR_PLUGIN : status < 0) fail_msg("%d %s", (int)status, rill_error(h.ctx));
        if (check) assert_non_null(strstr(rill_error(h.ctx), "domain hider: choices of input 0"));
        toy_report_reset();
        close_fixture_engine(&h);
    }
    toy_arguments = "seed=3 depth=4";
}

/* --- heuristics --------------------------------------------------------------------------------------------------- */

static rill_status write_over(void *self, rill_candidates *b)
{
    (void)self;
    *b = (rill_candidates){.n = 1000};
    return RILL_OK;
}

static void heuristics_overwrite_candidates(void **state)
{
    (void)state;
    static const rill_heuristic writer = TEST_HEURISTIC("writer", .apply = write_over);
    toy_arguments = "seed=3 depth=6 actions=30 legal=100 ending=0";
    for (int check = 0; check < 2; check++) {
        fixture_engine h;
        const rill_result *result;
        open_fixture_engine(&h, NULL);
        use_heuristic(&h, &writer);
        h.setup.settings.check = check;
        assert_true(decode_one(&h) >= 0);
        assert_int_equal(rill_engine_next(h.engine, &result), RILL_OK);
        assert_int_equal(result->status, RILL_OK);
        close_fixture_engine(&h);
    }
}

/* --- failures without a message ----------------------------------------------------------------------------------- */

static rill_status refuse_heuristic(const rill_heuristic *table, rill_context *ctx, const char *arguments, void **self)
{
    (void)table, (void)ctx, (void)arguments, (void)self;
    return RILL_ERR_INPUT;
}

static rill_status create_with_error(const rill_heuristic *table, rill_context *ctx, const char *arguments, void **self)
{
    (void)table, (void)arguments;
    *self = NULL;
    rill_fail(ctx, RILL_ERR_INPUT, "it is made all the same");
    return RILL_OK;
}

static rill_status refuse_scheduler(const rill_scheduler *table, rill_context *ctx, const char *arguments, void **self)
{
    (void)table, (void)ctx, (void)arguments, (void)self;
    return RILL_ERR_INPUT;
}

static rill_status choose_none(void *self, const rill_sched_view *view, int32_t *order, int32_t *count)
{
    (void)self, (void)view, (void)order;
    *count = 0;
    return RILL_OK;
}

static rill_status admit_none(void *self, const rill_sched_view *view, int32_t *admit)
{
    (void)self, (void)view;
    *admit = 0;
    return RILL_OK;
}

static void silent_failures_are_named(void **state)
{
    (void)state;
    static const rill_heuristic mute = TEST_HEURISTIC("mute", .create = refuse_heuristic, .apply = write_over),
                                failing = TEST_HEURISTIC("failing", .create = create_with_error, .apply = write_over);
    const rill_chain_entry entry = {"mute", ""};
    static const rill_scheduler scheduler = TEST_SCHEDULER("mute", .create = refuse_scheduler, .choose = choose_none,
                                                           .refill = admit_none);
    for (int i = 0; i < 2; i++) {
        fixture_engine h;
        open_fixture_engine(&h, NULL);
        /* the message of an earlier failure is not attributed to the scheduler */
        use_heuristic(&h, i == 0 ? &mute : &failing);
        assert_int_equal(rill_register_scheduler(h.ctx, &scheduler), RILL_OK);
        h.setup.scheduler = i == 1 ? &entry : NULL;
        assert_int_equal(make_engine(&h), RILL_ERR_INPUT);
        assert_non_null(
            strstr(rill_error(h.ctx), i == 0 ? "heuristic mute: create() failed" : "scheduler mute: create() failed"));
        close_fixture_engine(&h);
    }
}

static int32_t fake_count, fake_action;

static rill_status tokenize_faulty(void *self, rill_context *ctx, const char *text, size_t length, int32_t *action,
                                   int32_t capacity, int32_t *n)
{
    (void)self, (void)ctx, (void)text, (void)length;
    for (int32_t i = 0; i < fake_count && i < capacity; i++) action[i] = fake_action;
    *n = fake_count;
    return RILL_OK;
}

/* The actions that tokenize() returns are checked, up to the caller's capacity. */
static void domains_tokenize_badly(void **state)
{
    (void)state;
    fixture_engine h;
    rill_domain domain = toy_domain;
    domain.name = "slipper";
    domain.tokenize = tokenize_faulty;
    open_fixture_engine(&h, &domain);
    const int32_t actions = rill_model_info(h.model)->actions;
    const struct {
        int32_t count, action;
        rill_status status;
    } cases[] = {{2, 0, RILL_OK},          {9, actions - 1, RILL_OK},     {-1, 0, RILL_ERR_PLUGIN},
                 {2, -1, RILL_ERR_PLUGIN}, {9, actions, RILL_ERR_PLUGIN}, {0, actions, RILL_OK}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int32_t action[4], n = -7;
        fake_count = cases[i].count;
        fake_action = cases[i].action;
        assert_int_equal(rill_model_tokenize(h.model, h.ctx, "in", 2, action, 4, &n), cases[i].status);
        assert_int_equal(n, cases[i].status < 0 ? 0 : fake_count);
        if (cases[i].status < 0) assert_non_null(strstr(rill_error(h.ctx), "domain slipper: tokenize"));
    }
    int32_t n = -7;
    assert_int_equal(rill_model_tokenize(h.model, h.ctx, NULL, 2, NULL, 0, &n), RILL_ERR_ARGUMENT);
    assert_int_equal(n, 0);
    close_fixture_engine(&h);
}

/* --- scorers ------------------------------------------------------------------------------------------------------ */

static float modifier_value;
static int modifier_kind;

static rill_status add_modifier(void *self, const rill_scorer_rows *rows, rill_modifiers *modifiers)
{
    (void)self;
    for (int32_t r = 0; r < rows->n; r++) {
        rill_status status = modifier_kind == 0   ? rill_modifiers_add(modifiers, r, 0, modifier_value)
                             : modifier_kind == 3 ? rill_modifiers_add(modifiers, r, 0, modifier_value) +
                                                        rill_modifiers_reward(modifiers, r, modifier_value)
                             : modifier_kind == 1 ? rill_modifiers_reward(modifiers, r, modifier_value)
                                                  : rill_modifiers_end_reward(modifiers, r, modifier_value);
        if (status < 0) return status;
    }
    return RILL_OK;
}

static void scorers_add_no_number(void **state)
{
    (void)state;
    static const rill_scorer adder = TEST_SCORER("adder", .score = add_modifier);
    const float wrong[] = {NAN, INFINITY}, right[] = {-INFINITY, 0, -3};
    for (modifier_kind = 0; modifier_kind < 3; modifier_kind++)
        for (int i = 0; i < 5; i++) {
            fixture_engine h;
            modifier_value = i < 2 ? wrong[i] : right[i - 2];
            open_fixture_engine(&h, NULL);
            use_scorer(&h, &adder);
            assert_int_equal(make_engine(&h), RILL_OK);
            assert_int_equal(rill_engine_submit(h.engine, "in", 2), RILL_OK);
            rill_status status = rill_engine_step(h.engine);
            if ((status == RILL_OK) != (i >= 2)) fail_msg("%g: %s", (double)modifier_value, rill_error(h.ctx));
            if (i < 2) assert_non_null(strstr(rill_error(h.ctx), "scorer adder: "));
            close_fixture_engine(&h);
        }
}

/* --- warnings of a domain about inputs ---------------------------------------------------------------------------- */

static int empty_texts_seen, inputs_seen;

/* The second input is empty; the third has a warning of two-byte characters that is far too long. */
static rill_status encode_with_warnings(void *self, int32_t m, rill_input *inputs)
{
    for (rill_input *in = inputs; in < inputs + m; in++) {
        empty_texts_seen += in->length < 2;
        inputs_seen++;
        assert_true(in->length < 3 || memcmp(in->text, "\xef\xbb\xbf", 3) != 0);
        if (in->id == 1)
            in->status = RILL_EMPTY;
        else if (toy_domain.encode(self, 1, in) < 0)
            return RILL_ERR_PLUGIN;
        if (in->id == 0) rill_input_warn(in, "%s and %d", "so", 7);
        if (in->id != 2) continue;
        char text[401] = "";
        for (int i = 0; i < 200; i++) strcat(text, "\xc3\xa4");
        rill_input_warn(in, "%s", text);
    }
    return RILL_OK;
}

static void warnings_and_empty_inputs(void **state)
{
    (void)state;
    /* A truncated UTF-8 sequence before the end, a letter or a sign is no white space. A byte order mark at the start
     * is not part of the text. */
    static const char *const texts[] = {" \xe3\x80",
                                        "\xef\xbb\xbfin 2",
                                        "\xef\xbb\xbf\xef\xbb\xbfin 3",
                                        " \xc2",
                                        " \xc2\x41",
                                        " \xe3\x80\x41",
                                        " ",
                                        "\xc2\x85\xd8\x9c\xe1\xa0\x8e",
                                        "\xe2\x81\xa0 \xe3\x80\x80\xe2\x80\x8e\xe2\x80\xae\xe2\x81\xa6\xe2\x81\xa9",
                                        "\xef\xbb\xbf"};
    enum { N = sizeof texts / sizeof *texts };
    rill_domain warner = toy_domain;
    fixture_engine h;
    const rill_result *r;
    warner.name = "warner";
    warner.encode = encode_with_warnings;
    open_fixture_engine(&h, &warner);
    assert_int_equal(make_engine(&h), RILL_OK);
    empty_texts_seen = inputs_seen = 0;
    for (int i = 0; i < N; i++) assert_int_equal(rill_engine_submit(h.engine, texts[i], strlen(texts[i])), RILL_OK);
    rill_engine_close_input(h.engine);
    for (int i = 0; i < N; i++) {
        while (rill_engine_next(h.engine, &r) != RILL_OK) assert_int_equal(rill_engine_step(h.engine), RILL_OK);
        assert_int_equal(r->status, RILL_OK);
        assert_string_equal(r->message, "");
        const int empty = i == 1 || i > 5;
        assert_int_equal(r->n_outputs, 1);
        if (empty)
            assert_int_equal(rill_result_output(r, 0)->text_bytes + (size_t)rill_result_output(r, 0)->n_ids +
                                 (size_t)rill_result_output(r, 0)->length,
                             0);
        if (empty) assert_string_equal(rill_result_output(r, 0)->text, "");
        if (i == 2) assert_int_equal(strlen(r->warning), 246); /* 123 whole characters */
        if (i != 2) assert_string_equal(r->warning, i == 0 ? "so and 7" : "");
    }
    assert_int_equal(empty_texts_seen, 0);
    assert_int_equal(inputs_seen, 6);
    close_fixture_engine(&h);
}

/* Two finite additions have an infinite sum. The message does not blame the domain, and the run continues. */
static void scorers_sum_to_infinity(void **state)
{
    (void)state;
    static const rill_scorer lifter = TEST_SCORER("lifter", .score = add_modifier);
    fixture_engine h;
    modifier_value = 3e38f;
    modifier_kind = 3;
    open_fixture_engine(&h, NULL);
    use_scorer(&h, &lifter);
    assert_int_equal(decode_one(&h), RILL_AGAIN);
    const rill_result *r;
    assert_int_equal(rill_engine_next(h.engine, &r), RILL_OK);
    assert_int_equal(r->status, RILL_ERR_PLUGIN);
    assert_non_null(strstr(r->message, "scorer lifter: the score of a choice of input 0"));
    close_fixture_engine(&h);
}

/* Wherever a message or a quotation is cut, no partial character remains. Bytes that are not UTF-8 stay, since file
 * names may contain them. */
static void messages_are_cut_at_characters(void **state)
{
    (void)state;
    static const char text[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"; /* characters of 1, 2, 3 and 4 bytes */
    static const int kept_bytes[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10};
    rill_context *ctx;
    char wanted[64], small_buffer[16];
    assert_int_equal(rill_context_create(&ctx, NULL), RILL_OK);
    for (int cut = 0; cut <= 10; cut++) {
        rill_fail(ctx, RILL_ERR_INPUT, "\"%.*s\" no", cut, text);
        snprintf(wanted, sizeof wanted, "\"%.*s\" no", kept_bytes[cut], text);
        assert_string_equal(rill_error(ctx), wanted);
        rill_fail(ctx, RILL_ERR_INPUT, "%.*s...", cut, text);
        snprintf(wanted, sizeof wanted, "%.*s...", kept_bytes[cut], text);
        assert_string_equal(rill_error(ctx), wanted);
        assert_int_equal(rill_print_message(small_buffer, (size_t)cut + 1, "%s", text), kept_bytes[cut]);
        assert_memory_equal(small_buffer, text, (size_t)kept_bytes[cut]);
        assert_int_equal(small_buffer[kept_bytes[cut]], 0);
    }
    char long_text[3 * 2000 + 1];
    for (int i = 0; i < 2000; i++) memcpy(long_text + 3 * i, "\xe2\x82\xac", 4);
    for (int n_prefix = 0; n_prefix < 3; n_prefix++) {
        rill_fail(ctx, RILL_ERR_INPUT, "%.*s%s", n_prefix, "xx", long_text);
        const size_t length = strlen(rill_error(ctx));
        assert_int_equal((length - (size_t)n_prefix) % 3, 0);
        assert_in_range(length, 3000, 4095);
    }
    rill_fail(ctx, RILL_ERR_IO, "caf\xe9s.txt and \xe9.txt");
    assert_string_equal(rill_error(ctx), "caf\xe9s.txt and \xe9.txt");
    rill_context_destroy(ctx);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(messages_are_cut_at_characters),
    cmocka_unit_test(a_run_on_closed_input_ends),
    cmocka_unit_test(inputs_that_are_null),
    cmocka_unit_test(runs_with_null_inputs),
    cmocka_unit_test(workers_without_engines),
    cmocka_unit_test(invalid_setups),
    cmocka_unit_test(domains_corrupt_inputs),
    cmocka_unit_test(domains_tokenize_badly),
    cmocka_unit_test(scorers_add_no_number),
    cmocka_unit_test(warnings_and_empty_inputs),
    cmocka_unit_test(domains_return_nonsense),
    cmocka_unit_test(checks_read_every_choice),
    cmocka_unit_test(heuristics_overwrite_candidates),
    cmocka_unit_test(silent_failures_are_named),
    cmocka_unit_test(scorers_sum_to_infinity),
};

HARNESS_MAIN(tests)
