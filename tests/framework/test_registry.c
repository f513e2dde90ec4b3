/* Registration of plugin tables. Tables of another ABI are refused with both numbers in the message. Names are unique.
 * A plugin is loaded completely or not at all. The build sets PLUGIN_FOLDER. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rill/engine.h"
#include "rill/plugin.h"
#include "support/harness.h"
#include "support/toy_domain.h"

static rill_context *ctx;

static int make_context(void **state)
{
    (void)state;
    return rill_context_create(&ctx, NULL);
}

static int end_context(void **state)
{
    (void)state;
    rill_context_destroy(ctx);
    return 0;
}

static void expect_mention(const char *what)
{
    if (strstr(rill_error(ctx), what) == NULL) fail_msg("\"%s\" does not mention \"%s\"", rill_error(ctx), what);
}

static void expect_mention_of_number(size_t number)
{
    char text[32];
    snprintf(text, sizeof text, "%zu", number);
    expect_mention(text);
}

/* --- tables ------------------------------------------------------------------------------------------------------- */

static rill_status keep_all(void *self, rill_candidates *candidates)
{
    (void)self, (void)candidates;
    return RILL_OK;
}

static rill_heuristic heuristic(const char *name)
{
    return (rill_heuristic){RILL_ABI_VERSION, sizeof(rill_heuristic), name, "", "a test", NULL, keep_all, NULL};
}

static void wrong_abi_version(void **state)
{
    (void)state;
    rill_domain d = toy_domain;
    d.abi_version = 987;
    assert_int_equal(rill_register_domain(ctx, &d), RILL_ERR_ABI);
    expect_mention("987");
    expect_mention_of_number(RILL_ABI_VERSION);
    /* a table of another ABI may have its name elsewhere, so the message says only "domain" */
    expect_mention("domain");
    d.abi_version = 1;
    assert_int_equal(rill_register_domain(ctx, &d), RILL_ERR_ABI);
    expect_mention("was built for ABI version 1, this rill has 4: rebuild it with this rill's headers, after renaming");
    expect_mention("docs/renamed.md"); /* the message says what to change */
    d.abi_version = 3;
    assert_int_equal(rill_register_domain(ctx, &d), RILL_ERR_ABI);
    expect_mention("was built for ABI version 3, this rill has 4: rebuild it with this rill's headers, after renaming");
    assert_null(rill_find_domain(ctx, "toy"));
    rill_heuristic h = heuristic("h");
    h.abi_version = 654;
    assert_int_equal(rill_register_heuristic(ctx, &h), RILL_ERR_ABI);
    expect_mention("654");
    rill_scorer s = {.abi_version = 321, .struct_size = sizeof s, .name = "s"};
    assert_int_equal(rill_register_scorer(ctx, &s), RILL_ERR_ABI);
    expect_mention("321");
    rill_scheduler p = {.abi_version = 135, .struct_size = sizeof p, .name = "p"};
    assert_int_equal(rill_register_scheduler(ctx, &p), RILL_ERR_ABI);
    expect_mention("135");
}

static void wrong_struct_size(void **state)
{
    (void)state;
    rill_domain d = toy_domain;
    d.struct_size = 24;
    assert_int_equal(rill_register_domain(ctx, &d), RILL_ERR_ABI);
    expect_mention("24");
    expect_mention_of_number(sizeof(rill_domain));
    d.struct_size = sizeof d + 64; /* compiled with a newer header: optional members that this librill does not know */
    assert_int_equal(rill_register_domain(ctx, &d), RILL_OK);
    rill_heuristic h = heuristic("h");
    h.struct_size = 16;
    assert_int_equal(rill_register_heuristic(ctx, &h), RILL_ERR_ABI);
    expect_mention("16");
    expect_mention_of_number(sizeof(rill_heuristic));
    assert_null(rill_find_heuristic(ctx, "h"));
    h.struct_size = sizeof(rill_heuristic) + 8; /* compiled with an older header, whose table had one more member */
    assert_int_equal(rill_register_heuristic(ctx, &h), RILL_OK);
}

/* Each mandatory member is removed in turn; the message names it. */
static void missing_members(void **state)
{
    (void)state;
    rill_domain d;
#define WITHOUT(member)                                               \
    d = toy_domain;                                                   \
    d.member = NULL;                                                  \
    assert_int_equal(rill_register_domain(ctx, &d), RILL_ERR_PLUGIN); \
    expect_mention(#member);                                          \
    expect_mention("toy")
    WITHOUT(open);
    WITHOUT(reserve);
    WITHOUT(encode);
    WITHOUT(step);
    WITHOUT(score);
    WITHOUT(finalize);
    WITHOUT(close);
    d = toy_domain;
    d.drop = NULL; /* optional members may be missing */
    d.free = NULL;
    d.measure = NULL;
    d.canonical = NULL;
    d.action_name = NULL;
    d.find_action = NULL;
    assert_int_equal(rill_register_domain(ctx, &d), RILL_OK);
    rill_heuristic h = heuristic("h");
    h.apply = NULL;
    assert_int_equal(rill_register_heuristic(ctx, &h), RILL_ERR_PLUGIN);
    expect_mention("apply");
    rill_scorer s = {RILL_ABI_VERSION, sizeof s, "s", "", "a test", NULL, NULL, NULL, .state_bytes = 0};
    assert_int_equal(rill_register_scorer(ctx, &s), RILL_ERR_PLUGIN);
    expect_mention("score");
    rill_scheduler p = {RILL_ABI_VERSION, sizeof p, "p", "a test", NULL, NULL, NULL, NULL, NULL, 0};
    assert_int_equal(rill_register_scheduler(ctx, &p), RILL_ERR_PLUGIN);
    expect_mention("choose");
}

static void bad_names(void **state)
{
    (void)state;
    static const char *const bad[] = {NULL, "", "Up", "a b", "a:b", "a,b", "\xc3\xa9"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        rill_heuristic h = heuristic(bad[i]);
        if (rill_register_heuristic(ctx, &h) >= 0) fail_msg("the name \"%s\" is accepted", bad[i] ? bad[i] : "(null)");
    }
}

static void names_are_taken_once(void **state)
{
    (void)state;
    rill_heuristic a = heuristic("same"), b = heuristic("same");
    assert_int_equal(rill_register_heuristic(ctx, &a), RILL_OK);
    assert_int_equal(rill_register_heuristic(ctx, &b), RILL_ERR_ARGUMENT);
    expect_mention("same");
    assert_ptr_equal(rill_find_heuristic(ctx, "same"), &a);
    assert_null(rill_find_heuristic(ctx, "other"));
    assert_null(rill_find_scheduler(ctx, "same")); /* each kind has its own namespace */
    assert_ptr_equal(rill_heuristic_at(ctx, 0), &a);
    assert_null(rill_heuristic_at(ctx, 1));
}

static void core_is_registered_once(void **state)
{
    (void)state;
    assert_int_equal(rill_register_core(ctx), RILL_OK);
    assert_non_null(rill_find_heuristic(ctx, "absolute"));
    assert_non_null(rill_find_heuristic(ctx, "relative"));
    assert_non_null(rill_find_heuristic(ctx, "relative_local"));
    for (const rill_method_info *m = rill_method_table(); m->name != NULL; m++)
        assert_non_null(rill_find_scheduler(ctx, m->scheduler));
    size_t n = 0;
    while (rill_heuristic_at(ctx, n) != NULL) n++;
    assert_true(rill_register_core(ctx) < 0);
    assert_null(rill_heuristic_at(ctx, n));
}

static void models_are_found_by_name(void **state)
{
    (void)state;
    rill_model *model;
    rill_open_options options = {.struct_size = sizeof options, .threads = 1, .arguments = "depth=3"};
    assert_int_equal(rill_register_domain(ctx, &toy_domain), RILL_OK);
    assert_int_equal(rill_model_open(&model, ctx, "tyo", &options), RILL_ERR_NOT_FOUND);
    assert_null(model);
    expect_mention("tyo");
    assert_int_equal(rill_model_open(&model, ctx, "toyy", &options), RILL_ERR_NOT_FOUND);
    expect_mention("unknown domain \"toyy\": did you mean \"toy\"?");
    options.arguments = "depth=three";
    assert_int_equal(rill_model_open(&model, ctx, "toy", &options), RILL_ERR_OPTION);
    assert_null(model);
    expect_mention("depth=three");
    options.arguments = "depth=3 actions=7";
    assert_int_equal(rill_model_open(&model, ctx, "toy", &options), RILL_OK);
    assert_ptr_equal(rill_model_domain(model), &toy_domain);
    assert_int_equal(rill_model_info(model)->actions, 7);
    assert_int_equal(rill_model_info(model)->phases, 1);
    rill_model_close(model);
    rill_model_close(NULL);
}

/* An option of a domain must reach the domain, so a search setting may not have its name. */
static void options_are_checked(void **state)
{
    static const rill_option good = {"depth", "N", "", "", RILL_OPTION_INT, RILL_OPTION_MODEL, 0, 9, 0, NULL};
    static const struct {
        rill_option first, second;
        const char *why;
    } bad[] = {
        {{"Depth", "N", "", "", RILL_OPTION_INT, RILL_OPTION_MODEL, 0, 9, 0, NULL}, {0}, "the name must have"},
        {{"the_depth", "N", "", "", RILL_OPTION_INT, RILL_OPTION_MODEL, 0, 9, 0, NULL}, {0}, "the name must have"},
        {{"d", "N", "", "", RILL_OPTION_INT, RILL_OPTION_MODEL, 0, 9, 0, NULL}, {0}, "\"d\": the name must have"},
        {{"-", "N", "", "", RILL_OPTION_INT, RILL_OPTION_MODEL, 0, 9, 0, NULL}, {0}, "the name must have"},
        {{"-depth", "N", "", "", RILL_OPTION_INT, RILL_OPTION_MODEL, 0, 9, 0, NULL}, {0}, "the name must have"},
        {{"depth-", "N", "", "", RILL_OPTION_INT, RILL_OPTION_MODEL, 0, 9, 0, NULL}, {0}, "the name must have"},
        {{"a-depth-of-more-than-forty-bytes-in-all--", "N", "", "", RILL_OPTION_INT, RILL_OPTION_MODEL, 0, 9, 0, NULL},
         {0},
         "the name must have"},
        {{"depth", NULL, "", "", RILL_OPTION_INT, RILL_OPTION_MODEL, 0, 9, 0, NULL}, {0}, "must not be NULL"},
        {{"depth", "N", "", "", (rill_option_type)0, RILL_OPTION_MODEL, 0, 9, 0, NULL}, {0}, "type or kind"},
        {{"depth", "N", "", "", RILL_OPTION_INT, RILL_OPTION_SEARCH, 0, 9, 0, NULL}, {0}, "type or kind"},
        {{"max-items", "N", "", "", RILL_OPTION_INT, RILL_OPTION_MODEL, 0, 9, 0, NULL},
         {0},
         "the name is taken: use another"},
        {{"scorer", "N", "", "", RILL_OPTION_TEXT, RILL_OPTION_MODEL, 0, 9, 0, NULL},
         {0},
         "the name is taken: use another"},
        {{"depth", "N", "", "", RILL_OPTION_INT, RILL_OPTION_MODEL, 0, 9, 0, NULL},
         {"depth", "M", "", "", RILL_OPTION_INT, RILL_OPTION_MODEL, 0, 9, 0, NULL},
         "the name is taken: use another"},
        {{"depth", "N", "", "", RILL_OPTION_INT, RILL_OPTION_MODEL, 0, 9, 0, "lenpen"},
         {0},
         "\"lenpen\": the name is taken: use another"},
        {{"depth", "N", "", "", RILL_OPTION_INT, RILL_OPTION_MODEL, 0, 9, 0, "deep k"},
         {0},
         "\"k\": the name must have"},
        {{"depth", "N", "", "", RILL_OPTION_INT, RILL_OPTION_MODEL, 0, 9, 0, "deep"},
         {"deep", "M", "", "", RILL_OPTION_INT, RILL_OPTION_MODEL, 0, 9, 0, NULL},
         "the name is taken: use another"},
    };
    (void)state;
    rill_domain with_options = toy_domain;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const rill_option rows[] = {bad[i].first, bad[i].second, {0}};
        with_options.options = rows;
        assert_int_equal(rill_register_domain(ctx, &with_options), RILL_ERR_PLUGIN);
        expect_mention(bad[i].why);
    }
    const rill_option rows[] = {good, {0}};
    with_options.options = rows;
    assert_int_equal(rill_register_domain(ctx, &with_options), RILL_OK);
    const rill_option alias_of_another[] = {{"deep", "N", "", "", RILL_OPTION_INT, RILL_OPTION_MODEL, 0, 9, 0, "depth"},
                                            {0}};
    rill_domain second = toy_domain;
    second.name = "second";
    second.options = alias_of_another;
    assert_int_equal(rill_register_domain(ctx, &second), RILL_ERR_PLUGIN);
    expect_mention("\"depth\": another domain has an option of that name with another type: use another name");
    rill_model *model;
    const rill_pair value = {"depth", "10"};
    rill_open_options options = {
        .struct_size = sizeof options, .threads = 1, .arguments = "depth=3", .values = &value, .n_values = 1};
    assert_int_equal(rill_model_open(&model, ctx, "toy", &options), RILL_ERR_OPTION);
    expect_mention("depth: \"10\" is not a whole number from 0 to 9");
}

static rill_open_options seen;

static rill_status note_options(const rill_domain *table, rill_context *c, const rill_open_options *options,
                                void **self, rill_domain_info *info)
{
    seen = *options;
    return toy_domain.open(table, c, options, self, info);
}

/* If the caller was compiled with an older header, members added later count as not set, and no byte after its struct
 * is read. */
static void options_of_old_callers(void **state)
{
    (void)state;
    rill_model *model;
    rill_domain noting = toy_domain;
    const size_t sizes[] = {offsetof(rill_open_options, ensemble), offsetof(rill_open_options, n_values),
                            sizeof(rill_open_options)};
    noting.name = "noting";
    noting.open = note_options;
    assert_int_equal(rill_register_domain(ctx, &noting), RILL_OK);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        rill_open_options options = {.struct_size = sizes[i], .threads = 3, .arguments = "depth=3"};
        memset((char *)&options + sizes[i], 0x5a, sizeof options - sizes[i]);
        assert_int_equal(rill_model_open(&model, ctx, "noting", &options), RILL_OK);
        rill_model_close(model);
        assert_int_equal(seen.struct_size, sizeof seen);
        assert_int_equal(seen.threads, 3);
        assert_string_equal(seen.arguments, "depth=3");
        assert_true(seen.ensemble == NULL && seen.n_ensemble == 0 && seen.n_values == 0);
    }
    const size_t wrong[] = {0, offsetof(rill_open_options, arguments), sizeof(rill_open_options) + 8};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        rill_open_options options = {.struct_size = wrong[i], .threads = 3};
        assert_int_equal(rill_model_open(&model, ctx, "noting", &options), RILL_ERR_ABI);
        assert_null(model);
        expect_mention_of_number(wrong[i]);
        expect_mention_of_number(sizeof options);
    }
}

static rill_domain_info reported_info; /* the domain info that this domain's open() returns */

static rill_status open_with_info(const rill_domain *table, rill_context *c, const rill_open_options *options,
                                  void **self, rill_domain_info *info)
{
    const rill_status status = toy_domain.open(table, c, options, self, info);
    *info = reported_info;
    return status;
}

/* Invalid domain info is refused with a message that names it, and the opened model is closed. */
static void domain_info_is_checked(void **state)
{
    (void)state;
    static const struct {
        rill_domain_info info;
        const char *message; /* NULL: accepted */
    } cases[] = {
        {{.actions = 1, .max_length = 1}, NULL},
        {{.actions = 3, .max_length = 9, .phases = 8, .has_end_action = 1, .end_action = 2}, NULL},
        {{.actions = 0, .max_length = 9}, "has 0 actions"},
        {{.actions = -1, .max_length = 9}, "has -1 actions"},
        {{.actions = 3, .max_length = 9, .phases = 9}, "has 9 phases"},
        {{.actions = 3, .max_length = 9, .phases = -1}, "has -1 phases"},
        {{.actions = 3, .max_length = 9, .has_end_action = 1, .end_action = 3}, "its end action 3 is not one of them"},
        {{.actions = 3, .max_length = 9, .has_end_action = 1, .end_action = -1},
         "its end action -1 is not one of them"},
        {{.actions = 3, .max_length = 0}, "a max_length of 0"},
    };
    rill_domain saying = toy_domain;
    const rill_open_options options = {.struct_size = sizeof options, .threads = 1, .arguments = "depth=3"};
    saying.name = "saying";
    saying.open = open_with_info;
    assert_int_equal(rill_register_domain(ctx, &saying), RILL_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rill_model *model;
        reported_info = cases[i].info;
        const rill_status status = rill_model_open(&model, ctx, "saying", &options);
        assert_int_equal(status, cases[i].message == NULL ? RILL_OK : RILL_ERR_PLUGIN);
        assert_true((model == NULL) == (status != RILL_OK));
        if (cases[i].message != NULL) expect_mention(cases[i].message);
        rill_model_close(model);
    }
}

/* --- names of actions --------------------------------------------------------------------------------------------- */

static rill_model *open_as(rill_domain *table, const char *name)
{
    rill_model *model;
    rill_open_options options = {.struct_size = sizeof options, .threads = 1, .arguments = "actions=7 terminal=end"};
    table->name = name;
    assert_int_equal(rill_register_domain(ctx, table), RILL_OK);
    assert_int_equal(rill_model_open(&model, ctx, name, &options), RILL_OK);
    return model;
}

static int32_t find(const rill_model *model, const char *text)
{
    return rill_model_find_action(model, text, strlen(text));
}

static void actions_have_names(void **state)
{
    (void)state;
    rill_domain d = toy_domain;
    rill_model *model = open_as(&d, "named");
    rill_text text = {.ctx = ctx};
    int ends = 0;
    for (int32_t action = 0; action < 7; action++) {
        rill_text_reset(&text);
        assert_int_equal(rill_text_append(&text, "is ", 3), RILL_OK);
        assert_int_equal(rill_model_action_name(model, action, &text), RILL_OK);
        assert_memory_equal(text.data, "is ", 3); /* action_name() appends to the text */
        assert_int_equal(rill_model_find_action(model, text.data + 3, text.length - 3), action);
        ends += strcmp(text.data, "is end") == 0;
    }
    assert_int_equal(ends, 1);
    assert_int_equal(find(model, "a7"), RILL_NO_ACTION);
    assert_int_equal(find(model, ""), RILL_NO_ACTION);
    assert_int_equal(rill_model_action_name(model, 7, &text), RILL_ERR_NOT_FOUND);
    expect_mention("7");
    assert_int_equal(rill_model_action_name(model, -1, &text), RILL_ERR_NOT_FOUND);
    assert_int_equal(toy_report_get()->violations, 0); /* a domain is asked only about actions it has */
    rill_text_reset(&text);
    assert_string_equal(text.data, "");
    rill_text_clear(&text);
    rill_model_close(model);
}

static void actions_without_names(void **state)
{
    (void)state;
    rill_text text = {.ctx = ctx};
    rill_domain without = toy_domain, half = toy_domain;
    without.action_name = NULL;
    without.find_action = NULL;
    half.find_action = NULL;
    rill_model *models[] = {open_as(&without, "without"), open_as(&half, "half")};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rill_model_action_name(models[i], 1, &text), i == 0 ? RILL_ERR_NOT_FOUND : RILL_OK);
        if (i == 0) expect_mention("without");
        assert_int_equal(find(models[i], "a1"), RILL_NO_ACTION);
        assert_int_equal(find(models[i], "end"), RILL_NO_ACTION);
        rill_model_close(models[i]);
    }
    rill_text_clear(&text);
}

static rill_status open_with_end(const rill_domain *table, rill_context *context, const rill_open_options *options,
                                 void **self, rill_domain_info *info)
{
    rill_status status = toy_domain.open(table, context, options, self, info);
    if (status < 0) return status;
    info->has_end_action = options->threads > 1;
    info->end_action = options->threads - 3;
    return RILL_OK;
}

/* A domain's end action must be one of its actions; without one the member is not read. */
static void end_actions(void **state)
{
    (void)state;
    static rill_domain ending;
    rill_model *model;
    ending = toy_domain;
    ending.name = "ending";
    ending.open = open_with_end;
    assert_int_equal(rill_register_domain(ctx, &ending), RILL_OK);
    for (int32_t threads = 1; threads <= 9; threads++) {
        rill_open_options options = {.struct_size = sizeof options, .threads = threads, .arguments = "actions=5"};
        const int32_t end = threads - 3;
        rill_status expected = threads > 1 && (end < 0 || end > 4) ? RILL_ERR_PLUGIN : RILL_OK;
        assert_int_equal(rill_model_open(&model, ctx, "ending", &options), expected);
        if (expected != RILL_OK) expect_mention_of_number((size_t)(end < 0 ? -end : end));
        if (expected == RILL_OK)
            assert_int_equal(rill_model_info(model)->end_action, threads > 1 ? end : RILL_NO_ACTION);
        rill_model_close(model);
    }
}

static rill_status name_and_fail(void *self, int32_t action, rill_text *out)
{
    (void)self;
    return action == 0 ? rill_text_append(out, "zero", 4) < 0 ? RILL_ERR_MEMORY : RILL_ERR_NOT_FOUND : RILL_OK;
}

static int32_t wild_action(void *self, const char *text, size_t length)
{
    (void)self, (void)length;
    return text[0] == 'x' ? 7 : -5;
}

/* A domain that returns bad names causes no access out of bounds. */
static void bad_names_of_actions(void **state)
{
    (void)state;
    rill_domain d = toy_domain;
    d.action_name = name_and_fail;
    d.find_action = wild_action;
    rill_model *model = open_as(&d, "careless");
    rill_text text = {.ctx = ctx};
    assert_int_equal(rill_text_append(&text, "kept", 4), RILL_OK);
    assert_int_equal(rill_model_action_name(model, 0, &text), RILL_ERR_NOT_FOUND);
    expect_mention("careless");
    assert_string_equal(text.data, "kept");
    assert_int_equal(text.length, 4);
    assert_int_equal(find(model, "x"), RILL_NO_ACTION);
    assert_int_equal(find(model, "y"), RILL_NO_ACTION);
    rill_text_clear(&text);
    rill_model_close(model);
}

/* --- plugins ------------------------------------------------------------------------------------------------------ */

/* A bare name resolves to a file in the working directory; tests/cli/plugin_templates.sh covers the directory of installed plugins. */
static void plugins_are_found(void **state)
{
    (void)state;
    rill_text text = {.ctx = ctx};
    assert_int_equal(rill_text_append(&text, "<", 1), RILL_OK);
    assert_int_equal(rill_plugin_find("no-such-plugin", &text), RILL_ERR_NOT_FOUND);
    assert_string_equal(text.data, "<");
    expect_mention("a plugin of that name in ");
    assert_int_equal(rill_plugin_find("no/such", &text), RILL_OK);
    assert_string_equal(text.data, "<no/such");
    assert_int_equal(chdir(PLUGIN_FOLDER), 0);
    assert_int_equal(rill_plugin_find("rill-test-good.so", &text), RILL_OK);
    assert_string_equal(text.data, "<no/suchrill-test-good.so");
    assert_int_equal(rill_plugin_load(ctx, "rill-test-good.so"), RILL_OK);
    rill_text_clear(&text);
}

static rill_status load(const char *name)
{
    char path[2000];
    snprintf(path, sizeof path, "%s/rill-%s.so", PLUGIN_FOLDER, name);
    return rill_plugin_load(ctx, path);
}

static void good_plugin(void **state)
{
    (void)state;
    if (load("test-good") != RILL_OK) fail_msg("%s", rill_error(ctx));
    assert_non_null(rill_find_heuristic(ctx, "plugged-first"));
    assert_non_null(rill_find_scorer(ctx, "plugged-silent"));
    assert_non_null(rill_find_scheduler(ctx, "plugged-all"));
    assert_int_equal(load("test-good"), RILL_ERR_ARGUMENT); /* refused: the names of its tables are taken */
    expect_mention("plugged-");
    assert_non_null(rill_find_heuristic(ctx, "plugged-first"));
    assert_null(rill_heuristic_at(ctx, 1));
}

static void refused_plugins(void **state)
{
    (void)state;
    assert_int_equal(load("test-wrong-abi"), RILL_ERR_ABI);
    expect_mention("4242");
    expect_mention_of_number(RILL_ABI_VERSION);
    assert_int_equal(load("test-half"), RILL_ERR_ABI);
    expect_mention_of_number(RILL_ABI_VERSION + 76);
    expect_mention("heuristic");
    assert_null(rill_find_heuristic(ctx, "half-loaded"));
    assert_null(rill_heuristic_at(ctx, 0));
    assert_int_equal(load("test-no-symbol"), RILL_ERR_NOT_FOUND);
    expect_mention("rill_plugin");
    expect_mention("rill-test-no-symbol.so");
    assert_true(load("test-nothing") < 0);
    assert_int_equal(load("test-hidden-option"), RILL_ERR_PLUGIN);
    expect_mention("option \"max-items\": the name is taken");
    assert_null(rill_find_domain(ctx, "toy"));
    assert_int_equal(load("not-there"), RILL_ERR_NOT_FOUND);
    expect_mention("rill-not-there.so");
    assert_int_equal(load("test-good"), RILL_OK); /* refusals leave the context usable */
}

/* rill_unregister_since() removes later tables, which can then be registered again, and keeps earlier ones. */
static void registrations_are_taken_back(void **state)
{
    (void)state;
    rill_heuristic a = heuristic("a"), b = heuristic("b");
    assert_int_equal(rill_register_core(ctx), RILL_OK);
    assert_int_equal(rill_register_heuristic(ctx, &a), RILL_OK);
    rill_registry_mark mark = rill_registry_size(ctx);
    assert_int_equal(rill_register_heuristic(ctx, &b), RILL_OK);
    assert_int_equal(rill_register_domain(ctx, &toy_domain), RILL_OK);
    rill_registry_restore(ctx, mark);
    assert_null(rill_find_heuristic(ctx, "b"));
    assert_null(rill_find_domain(ctx, "toy"));
    assert_ptr_equal(rill_find_heuristic(ctx, "a"), &a);
    assert_non_null(rill_find_heuristic(ctx, "absolute"));
    rill_registry_mark now = rill_registry_size(ctx);
    assert_memory_equal(&now, &mark, sizeof now);
    assert_int_equal(rill_register_heuristic(ctx, &b), RILL_OK);
    rill_registry_mark later = rill_registry_size(ctx);
    assert_int_equal(later.heuristics, mark.heuristics + 1);
}

/* --- end of a context --------------------------------------------------------------------------------------------- */

typedef struct deferral {
    rill_context *ctx;
    void *block; /* allocated now, freed in the callback */
    int number;
} deferral;

static int called[4], n_called;

static void give_back(void *user)
{
    deferral *d = user;
    /* in the callback, plugins are still registered ... */
    assert_non_null(rill_find_heuristic(d->ctx, "plugged-first"));
    assert_string_equal(rill_find_heuristic(d->ctx, "plugged-first")->name, "plugged-first");
    rill_free(d->ctx, d->block, 100); /* ... and memory can be freed */
    called[n_called++] = d->number;
}

static void deferred_calls_are_made_in_reverse(void **state)
{
    (void)state;
    harness_memory memory = {0};
    rill_context_options options = harness_memory_options(&memory);
    rill_context *own;
    deferral d[3];
    n_called = 0;
    assert_int_equal(rill_context_create(&own, &options), RILL_OK);
    rill_context *kept = ctx;
    ctx = own;
    assert_int_equal(load("test-good"), RILL_OK);
    ctx = kept;
    for (int i = 0; i < 3; i++) {
        d[i] = (deferral){own, rill_alloc(own, 100), i};
        assert_int_equal(rill_context_defer(own, give_back, &d[i]), RILL_OK);
    }
    assert_int_equal(n_called, 0);
    rill_context_destroy(own);
    assert_int_equal(n_called, 3);
    for (int i = 0; i < 3; i++) assert_int_equal(called[i], 2 - i);
    assert_int_equal(memory.bytes, 0);
    assert_int_equal(memory.wrong_sizes, 0);
}

static void deferral_that_finds_no_memory(void **state)
{
    (void)state;
    harness_memory memory = {0};
    rill_context_options options = harness_memory_options(&memory);
    rill_context *own;
    deferral d = {0};
    n_called = 0;
    assert_int_equal(rill_context_create(&own, &options), RILL_OK);
    memory.failing_request = memory.requests + 1;
    assert_int_equal(rill_context_defer(own, give_back, &d), RILL_ERR_MEMORY);
    rill_context_destroy(own);
    assert_int_equal(n_called, 0);
    assert_int_equal(memory.blocks, 0);
}

/* A message as long as a script's traceback fits. A longer message is truncated, and nothing is written past the
 * record. */
static void long_messages_are_cut(void **state)
{
    (void)state;
    char text[6000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    assert_int_equal(rill_fail(ctx, RILL_ERR_PLUGIN, "%s", text), RILL_ERR_PLUGIN);
    assert_int_equal(strlen(rill_error(ctx)), 3999);
    text[3999] = '\0';
    rill_fail(ctx, RILL_ERR_PLUGIN, "%s", text);
    assert_string_equal(rill_error(ctx), text);
}

static const struct CMUnitTest tests[] = {
#define EACH(test) cmocka_unit_test_setup_teardown(test, make_context, end_context)
    EACH(wrong_abi_version),
    EACH(wrong_struct_size),
    EACH(missing_members),
    EACH(bad_names),
    EACH(names_are_taken_once),
    EACH(core_is_registered_once),
    EACH(models_are_found_by_name),
    EACH(options_are_checked),
    EACH(options_of_old_callers),
    EACH(domain_info_is_checked),
    EACH(plugins_are_found),
    EACH(good_plugin),
    EACH(refused_plugins),
    EACH(actions_have_names),
    EACH(actions_without_names),
    EACH(end_actions),
    EACH(bad_names_of_actions),
    EACH(registrations_are_taken_back),
    EACH(deferred_calls_are_made_in_reverse),
    EACH(deferral_that_finds_no_memory),
    EACH(long_messages_are_cut),
};

HARNESS_MAIN(tests)
