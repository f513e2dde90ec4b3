/* Configurations of hostile scripts: whatever a script has changed or used up, its table is read correctly. */
#include <stdio.h>
#include <string.h>

#include "rill/script_config.h"
#include "support/harness.h"

static rill_context *ctx;

static int set_up(void **state)
{
    (void)state;
    ctx = harness_context(NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    rill_context_destroy(ctx);
    return 0;
}

static rill_script *load(const char *text, int64_t instructions)
{
    const rill_script_options options = {.struct_size = sizeof options, .instructions = instructions};
    rill_script *script = NULL;
    if (rill_script_load_text(&script, ctx, "run.lua", text, strlen(text), &options) < 0)
        fail_msg("%s", rill_error(ctx));
    return script;
}

/* Replaces every function that scripts can reach, and sets metatables on the tables that are read. */
static const char hostile[] =
    "local mine, all = error, {}\n"
    "for _, library in ipairs{ string, table, math, utf8, coroutine } do\n"
    "  for name in pairs(library) do all[#all + 1] = { library, name } end\n"
    "end\n"
    "for name, value in pairs(_G) do if type(value) == 'function' then all[#all + 1] = { _G, name } end end\n"
    "local sweep, setmetatable, ipairs = rill.sweep, setmetatable, ipairs\n"
    "for _, place in ipairs(all) do place[1][place[2]] = function() mine('mine') end end\n"
    "local meta = { __index = mine, __newindex = mine, __len = mine, __pairs = mine, __eq = mine, __lt = mine, __concat = mine,\n"
    "  __name = 'no', __tostring = mine, __call = mine }\n"
    "local function watched(t) return setmetatable(t, meta) end\n";

static void config_hostile(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"{ modle = 1 }", "run.lua: modle: unknown key; did you mean \"model\"?"},
        {"{ options = watched{ max_itmes = 3 } }", "options.max_itmes: unknown key; did you mean \"max_items\"?"},
        {"{ options = { k = watched{} } }", "options.k: a table is not a whole number from 1 to 65536"},
        {"{ model = watched{} }", "model: 1 to 17 models were expected"},
        {"{ heuristics = watched{ watched{ 'x', watched{} } } }",
         "heuristics[1]: arguments of x: a number, a string or a boolean was expected, not a table"},
        {"{ threads = 2.5 }", "threads: a whole number from 1 to 1024 was expected"},
    };
    char text[2048];
    rill_script_config *config;
    snprintf(
        text, sizeof text,
        "%sreturn watched{ model = 'm', options = watched{ k = 7.0 }, heuristics = watched{ watched{ 'x', 2.5 } },\n"
        "  plugins = watched{ 'p.lua' }, sweep = sweep{ n = watched{ 1, 2 } } }",
        hostile);
    rill_script *script = load(text, 0);
    for (int i = 0; i < 3; i++) {
        rill_status status = i < 2 ? rill_script_sweep_point(script, i, &config)
                                   : rill_script_config_read(script, &config);
        if (status < 0) fail_msg("%s", rill_error(ctx));
        assert_string_equal(config->model, "m");
        assert_string_equal(config->settings[0].value, "7");
        assert_string_equal(config->heuristics.entry[0].arguments, "2.5");
        assert_int_equal(config->n_plugins, i == 2);
        rill_script_config_free(config);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(text, sizeof text, "%sreturn watched%s", hostile, wrong[i][0]);
        assert_int_equal(rill_script_config_read(load(text, 0), &config), RILL_ERR_OPTION);
        if (!strstr(rill_error(ctx), wrong[i][1])) fail_msg("%s\n  expected: %s", rill_error(ctx), wrong[i][1]);
    }
}

/* Reading the table counts as the script's own work under its limits. Messages contain positions in the script only. */
static void config_limits(void **state)
{
    (void)state;
    static const char text[] = "local t = {} for i = 1, 1e4 do t['x' .. i] = i end return { model = t, options = t }";
    rill_script_config *config;
    assert_int_equal(rill_script_config_read(load(text, 100000), &config), RILL_ERR_OPTION);
    assert_int_equal(rill_script_config_read(load("return {}", 1000), &config), RILL_ERR_PLUGIN);
    assert_non_null(strstr(rill_error(ctx), "stopped after 1000 instructions"));
    assert_null(strstr(rill_error(ctx), "rill:"));
    assert_null(config);
}

/* An axis of a sweep may have a million values. Reading one of them must cost far less than a millionth of a call's
 * limit. */
static void config_long_axis(void **state)
{
    (void)state;
    rill_script_config *config;
    rill_script *script = load("local t = {} for i = 1, 30000 do t[i] = i / 1e7 end\n"
                               "return { sweep = rill.sweep{ length_penalty = t } }",
                               30000 * 200);
    if (rill_script_config_read(script, &config) < 0) fail_msg("%s", rill_error(ctx));
    assert_int_equal(config->sweep_points, 30000);
    assert_string_equal(config->sweep->value[29999], "0.003");
    rill_script_config_free(config);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(config_hostile, set_up, tear_down),
    cmocka_unit_test_setup_teardown(config_limits, set_up, tear_down),
    cmocka_unit_test_setup_teardown(config_long_axis, set_up, tear_down),
};

HARNESS_MAIN(tests)
