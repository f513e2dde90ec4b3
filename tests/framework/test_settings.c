/* Settings: accepted texts of each field, messages of refused ones, presets, and combinations that contradict a
 * method. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"
#include "rill/engine.h"
#include "rill/search_config.h"
#include "rill/settings.h"
#include "support/dice.h"
#include "support/harness.h"

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

static void expect_set(const char *name, const char *value)
{
    rill_settings s;
    rill_settings_default(&s);
    if (rill_settings_set(ctx, &s, name, value) != RILL_OK) fail_msg("%s=%s: %s", name, value, rill_error(ctx));
}

/* The value must be refused: the message has the option's name and the value, and the settings are unchanged. */
static void expect_refused_value(const char *name, const char *value)
{
    rill_settings s, old;
    rill_settings_default(&s);
    memcpy(&old, &s, sizeof s);
    if (rill_settings_set(ctx, &s, name, value) != RILL_ERR_OPTION) fail_msg("%s=%s is accepted", name, value);
    expect_mention(rill_option_find(rill_setting_table(), name)->name);
    if (strchr(value, ':') == NULL) expect_mention(value); /* with a colon, the message has only the part after it */
    assert_memory_equal(&old, &s, sizeof s);
}

/* --- fields ------------------------------------------------------------------------------------------------------- */

static void ranges(void **state)
{
    (void)state;
    static const struct {
        const char *name, *good[5], *bad[9];
    } fields[] = {
        {"k", {"1", "7", "65536"}, {"0", "65537", "-1", "x", "1.5", "99999999999999999999"}},
        {"n", {"1", "1048576"}, {"0", "1048577", "-3", "1e400", "0x2", "2e0", " 2", "+2"}},
        {"max-items", {"1", "1048576"}, {"0", "-1", "many", "2000000"}},
        {"budget", {"0", "1", "2147483647"}, {"-1", "2147483648", "inf", "0.5"}},
        {"refill", {"0", "1", "0.5", "1/6", "1e-3"}, {"-0.1", "1.01", "nan", "x", "1/0", "1/", "0x1", "+1"}},
        {"max-candidates", {"1", "131072"}, {"0", "131073", "-2", "3x"}},
        {"finish",
         {"top", "immediate", "shrink", "one-step"},
         {"bottom", "1", "TOP", "top ", "top|immediate", "immediat"}},
        {"like", {"hf", "fairseq", "marian", "ct2"}, {"HF", "ct", "ct22", "1"}},
        {"keep", {"all", "first", "best"}, {"none", "1"}},
        {"stop", {"count", "bound", "bound-max", "top"}, {"bound-", "never", "0"}},
        {"at-limit", {"open", "first", "end", "best-ended"}, {"end-", "free"}},
        {"count-end", {"1", "0", "true", "false"}, {"2", "eos"}},
        {"max-length-factor", {"0", "3", "1.5", "1e6"}, {"-1", "inf", "nan", "a"}},
        {"word-penalty", {"0", "-1", "0.5"}, {"inf", "nan", "w"}},
        {"min-width", {"0", "1", "131072"}, {"-1", "131073", "1.5", "w"}},
        {"require-end", {"1", "0", "true", "false"}, {"2", "-1", "yes"}},
        {"certify", {"1", "0", "true", "false"}, {"2", "yes"}},
        {"exact", {"1", "0", "true", "false"}, {"2", "yes"}},
        {"exact-rows", {"1", "2147483647"}, {"0", "-1", "1.5", "r"}},
        {"cube", {"none", "naive", "accelerated"}, {"", "fast", "1"}},
        {"no-repeat-ngram", {"0", "1", "3"}, {"-1", "1.5", "n"}},
        {"repetition-penalty", {"1", "0.5", "1.2"}, {"0", "-1", "nan", "r"}},
        {"sample", {"1", "65536"}, {"0", "-1", "65537", "1.5"}},
        {"temperature", {"1", "0.5", "1e3"}, {"0", "-1", "nan", "t"}},
        {"top-k", {"0", "1", "50"}, {"-1", "1.5", "k"}},
        {"top-p", {"1", "0.9"}, {"0", "-1", "1.1", "nan", "p"}},
        {"groups", {"1", "65536"}, {"0", "-1", "1.5"}},
        {"diversity", {"1e-6", "0.5"}, {"0", "-1", "nan", "d"}},
        {"seed", {"0", "2147483647"}, {"-1", "1.5", "s"}},
        {"unknown-penalty", {"0", "-1", "2.5", "inf"}, {"nan", "-inf", "u"}},
        {"stop-after", {"1", "131072"}, {"0", "-1", "131073", "1.2"}},
        {"patience", {"0.5", "1", "3"}, {"0", "-1", "nan", "inf", "p"}},
        {"min-length", {"0", "5"}, {"-1", "2147483648", "five"}},
        {"max-length", {"1", "2147483647"}, {"0", "-1", "2147483648"}},
        {"length-penalty", {"0", "1", "-0.5", "0.6"}, {"nan", "inf", "101", "-101", "a"}},
        {"n-best", {"1", "131072"}, {"0", "-1", "131073"}},
        {"sort",
         {"none", "length", "longest-first", "length:1", "longest-first:500"},
         {"size", "length:0", "length:", "none:3", "length:x", "length:-1"}},
        {"flush-every", {"0", "1"}, {"-1", "2147483648", "."}},
        {"unordered", {"1", "0", "true", "false"}, {"2", "-1", "yes"}},
        {"distinct", {"1", "0", "true", "false"}, {"2", "-1", "yes"}},
        {"check", {"1", "0", "true", "false"}, {"2", "maybe"}},
        {"max-nodes", {"0", "1", "2147483647"}, {"-1", "0.5", "2147483648", "2G"}},
        {"memory", {"0", "1000", "2G", "1.5k", "1t"}, {"-1", "0.5", "2 ", "2GB", "1e16", "nan", "2X"}},
        {"method", {"greedy", "fixed", "var-batch", "var-stream-fifo", "stream-all"}, {"beam", "Greedy", "greedy "}},
    };
    for (size_t f = 0; f < sizeof fields / sizeof *fields; f++) {
        for (size_t i = 0; i < 5 && fields[f].good[i] != NULL; i++) expect_set(fields[f].name, fields[f].good[i]);
        for (size_t i = 0; i < 7 && fields[f].bad[i] != NULL; i++)
            expect_refused_value(fields[f].name, fields[f].bad[i]);
        expect_refused_value(fields[f].name, " ");
    }
    size_t rows = 0;
    while (rill_setting_table()[rows].name != NULL) rows++;
    assert_int_equal(rows, sizeof fields / sizeof *fields); /* fails if a new field has no row in the table above */
}

static void bytes_have_units(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        int64_t bytes;
    } cases[] = {{"1000", 1000},      {"1.5k", 1536},  {"1K", 1 << 10},   {"3m", 3 << 20},  {"1M", 1 << 20},
                 {"1.5g", 3LL << 29}, {"1G", 1 << 30}, {"2t", 2LL << 40}, {"1T", 1LL << 40}};
    rill_settings s;
    rill_settings_default(&s);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(rill_settings_set(ctx, &s, "memory", cases[i].value), RILL_OK);
        assert_int_equal(s.memory, cases[i].bytes);
    }
}

static void values_arrive(void **state)
{
    (void)state;
    rill_settings s;
    rill_settings_default(&s);
    assert_int_equal(s.struct_size, sizeof s);
    assert_string_equal(s.method, "stream-all");
    assert_int_equal(rill_settings_set(ctx, &s, "max_items", "77"), RILL_OK);
    assert_int_equal(rill_settings_set(ctx, &s, "max-candidates", "3"), RILL_OK);
    assert_int_equal(rill_settings_set(ctx, &s, "refill", "1/4"), RILL_OK);
    assert_int_equal(rill_settings_set(ctx, &s, "sort", "longest-first:55"), RILL_OK);
    assert_int_equal(rill_settings_set(ctx, &s, "finish", "immediate"), RILL_OK);
    assert_int_equal(rill_settings_set(ctx, &s, "unordered", ""), RILL_OK);
    assert_int_equal(s.max_items, 77);
    assert_int_equal(s.max_candidates, 3);
    assert_true(s.refill == 0.25);
    assert_int_equal(s.sort, RILL_SORT_LONGEST_FIRST);
    assert_int_equal(s.sort_window, 55);
    assert_int_equal(s.finish, RILL_FINISH_IMMEDIATE);
    assert_int_equal(s.unordered, 1);
}

static void unknown_names(void **state)
{
    (void)state;
    static const struct {
        const char *typed, *suggested;
    } names[] = {{"max-candidate", "max-candidates"},  {"buget", "budget"},
                 {"strop-after", "stop-after"},        {"min_lenght", "min-length"},
                 {"lenght-penalty", "length-penalty"}, {"n_bets", "n-best"},
                 {"Max_cand", "max-candidates"}};
    rill_settings s;
    rill_settings_default(&s);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(rill_settings_set(ctx, &s, names[i].typed, "1"), RILL_ERR_OPTION);
        expect_mention(names[i].typed);
        expect_mention(names[i].suggested);
    }
    assert_int_equal(rill_settings_set(ctx, &s, "", "1"), RILL_ERR_OPTION);
    assert_int_equal(rill_settings_set(ctx, &s, "quite-unlike-anything-known", "1"), RILL_ERR_OPTION);
    expect_mention("quite-unlike-anything-known");
    assert_int_equal(rill_settings_set(ctx, &s, "method", "var-straem"), RILL_ERR_OPTION);
    expect_mention("\"var-stream\"");
}

static void tables_are_complete(void **state)
{
    (void)state;
    for (const rill_option *i = rill_setting_table(); i->name != NULL; i++) {
        assert_non_null(i->argument);
        assert_true(strlen(i->help) > 9);
    }
    static const char *const names[] = {"greedy",       "fixed",           "var-batch", "var-stream",
                                        "fixed-stream", "var-stream-fifo", "top-up",    "stream-all"};
    int found = 0;
    for (const rill_method_info *m = rill_method_table(); m->name != NULL; m++, found++) {
        size_t i = 0;
        while (i < 8 && strcmp(names[i], m->name) != 0) i++;
        assert_true(i < 8);
        assert_non_null(m->scheduler);
        assert_non_null(m->summary);
    }
    assert_int_equal(found, 8);
}

/* --- presets ------------------------------------------------------------------------------------------------------ */

static rill_settings resolved(const char *method, int32_t k, int32_t n, int32_t budget)
{
    rill_settings s, again;
    rill_settings_default(&s);
    snprintf(s.method, sizeof s.method, "%s", method);
    s.k = k;
    s.n = n;
    s.budget = budget;
    if (rill_settings_resolve(ctx, &s, 0) != RILL_OK) fail_msg("%s: %s", method, rill_error(ctx));
    memcpy(&again, &s, sizeof s);
    assert_int_equal(rill_settings_resolve(ctx, &again, 0), RILL_OK);
    assert_memory_equal(&s, &again, sizeof s); /* resolving again changes nothing */
    return s;
}

static void presets(void **state)
{
    (void)state;
    rill_settings s = resolved("var-stream", 0, 0, 0);
    assert_int_equal(s.k, 10);
    assert_int_equal(s.n, 10);
    assert_int_equal(s.max_items, 10);
    assert_int_equal(s.max_candidates, 10);
    assert_int_equal(s.stop_after, 10);
    assert_int_equal(s.n_best, 1);
    assert_int_equal(s.finish, RILL_FINISH_TOP);
    assert_int_equal(s.sort_window, 1000);
    assert_int_equal(s.stop, RILL_STOP_COUNT);
    assert_int_equal(s.keep, RILL_KEEP_ALL);
    assert_int_equal(s.at_limit, RILL_LIMIT_OPEN);
    assert_true(s.refill == 1.0 / 6);
    assert_int_equal(resolved("var-stream-fifo", 3, 7, 100).max_items, 700);
    assert_int_equal(resolved("stream-all", 3, 50, 100).sort_window, 5000);
    assert_true(resolved("top-up", 3, 4, 0).refill == 0.5);
    assert_int_equal(resolved("greedy", 0, 5, 0).k, 1);
    assert_int_equal(resolved("greedy", 1, 5, 0).max_items, 5);
    s = resolved("fixed", 5, 4, 0);
    assert_int_equal(s.finish, RILL_FINISH_TOP);
    assert_int_equal(s.max_candidates, 5);
    assert_int_equal(s.max_items, 4);
    assert_int_equal(resolved("fixed-stream", 5, 4, 0).finish, RILL_FINISH_TOP);
    assert_int_equal(resolved("var-batch", 5, 4, 30).max_items, 4);
}

static void patience_resolves_to_outputs(void **state)
{
    (void)state;
    static const struct {
        int32_t k;
        double patience;
        int32_t outputs;
    } cases[] = {{10, 1, 10}, {10, 0.5, 5}, {5, 0.5, 3}, {4, 2, 8}, {10, 0.01, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rill_settings s;
        rill_settings_default(&s);
        s.k = cases[i].k;
        s.patience = cases[i].patience;
        assert_int_equal(rill_settings_resolve(ctx, &s, 0), RILL_OK);
        assert_int_equal(s.stop_after, cases[i].outputs);
        assert_int_equal(rill_settings_resolve(ctx, &s, 0), RILL_OK);
        assert_int_equal(s.stop_after, cases[i].outputs);
    }
}

/* A value written to the struct without rill_settings_set() counts as set: a model's default search does not replace
 * it. */
static void own_values_are_not_filled(void **state)
{
    (void)state;
    rill_settings s;
    rill_settings_default(&s);
    s.sort = RILL_SORT_LONGEST_FIRST;
    s.sort_window = 7;
    s.k = 3;
    snprintf(s.method, sizeof s.method, "fixed");
    assert_int_equal(rill__settings_fill(ctx, &s, "sort=length:99 method=greedy k=4 n=5"), RILL_OK);
    assert_true(s.sort == RILL_SORT_LONGEST_FIRST && s.sort_window == 7 && s.k == 3 && s.n == 5);
    assert_string_equal(s.method, "fixed");
    rill_settings_default(&s);
    assert_int_equal(rill__settings_fill(ctx, &s, "sort=length:99 method=greedy"), RILL_OK);
    assert_true(s.sort == RILL_SORT_LENGTH && s.sort_window == 99);
    assert_string_equal(s.method, "greedy");
}

/* --- names -------------------------------------------------------------------------------------------------------- */

static int n_called(const char *name)
{
    const rill_option *const tables[] = {rill_setting_table(), rill_chain_table(), rill_output_table()};
    int n = 0;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        for (const rill_option *o = tables[i]; o->name != NULL; o++) {
            const rill_option table[] = {*o, {.name = NULL}};
            n += rill_option_find(table, name) != NULL;
        }
    return n;
}

static void every_name_means_one_option(void **state)
{
    (void)state;
    const rill_option *const tables[] = {rill_setting_table(), rill_chain_table(), rill_output_table()};
    int n_aliases = 0;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        for (const rill_option *o = tables[i]; o->name != NULL; o++) {
            char words[256];
            snprintf(words, sizeof words, "%s %s", o->name, o->aliases != NULL ? o->aliases : "");
            for (char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " "), n_aliases++) {
                if (n_called(word) != 1) fail_msg("%d options are called %s", n_called(word), word);
                assert_ptr_equal(rill_option_find(tables[i], word), o);
                assert_null(rill_refused_option("setting", word));
                assert_null(rill_refused_option("opening", word));
            }
        }
    assert_true(n_aliases > 90);
}

static void aliases_set_the_option(void **state)
{
    (void)state;
    rill_settings s;
    rill_settings_default(&s);
    assert_int_equal(rill_settings_set(ctx, &s, "num_beams", "7"), RILL_OK);
    assert_int_equal(rill_settings_set(ctx, &s, "max-new-tokens", "30"), RILL_OK);
    assert_int_equal(s.k, 7);
    assert_int_equal(s.max_length, 30);
    assert_int_equal(rill_settings_set(ctx, &s, "num-beam", "7"), RILL_ERR_OPTION);
    expect_mention("did you mean \"num-beams\"?");
    assert_int_equal(rill_settings_set(ctx, &s, "max_len_b", "7"), RILL_ERR_OPTION);
    expect_mention("fairseq's ax + b");
    assert_int_equal(rill_settings_set(ctx, &s, "script", "own.lua"), RILL_ERR_OPTION);
    expect_mention("--plugin FILE.lua");
}

static void names_in_messages_have_the_style_of_the_source(void **state)
{
    (void)state;
    static const char *const expected[] = {
        [RILL_OPTION_PLAIN] = "beam-size cannot be combined with method greedy",
        [RILL_OPTION_DASHED] = "--beam-size cannot be combined with --method greedy",
        [RILL_OPTION_UNDERSCORED] = "beam_size cannot be combined with method greedy"};
    for (int style = RILL_OPTION_PLAIN; style <= RILL_OPTION_UNDERSCORED; style++) {
        rill_settings s;
        rill_settings_default(&s);
        assert_int_equal(rill_option_set_style(ctx, (rill_option_style)style), RILL_OPTION_PLAIN);
        assert_int_equal(rill_settings_set(ctx, &s, "method", "greedy"), RILL_OK);
        assert_int_equal(rill_settings_set(ctx, &s, "k", "2"), RILL_OK);
        assert_int_equal(rill_settings_resolve(ctx, &s, 0), RILL_ERR_OPTION);
        assert_int_equal(rill_option_set_style(ctx, RILL_OPTION_PLAIN), style);
        if (strncmp(rill_error(ctx), expected[style], strlen(expected[style])) != 0) fail_msg("%s", rill_error(ctx));
    }
}

/* --- contradictions ----------------------------------------------------------------------------------------------- */

static void contradicts(const char *method, const char *name, const char *value, int heuristics)
{
    rill_settings s;
    rill_settings_default(&s);
    assert_int_equal(rill_settings_set(ctx, &s, "method", method), RILL_OK);
    if (name != NULL) assert_int_equal(rill_settings_set(ctx, &s, name, value), RILL_OK);
    if (rill_settings_resolve(ctx, &s, heuristics) != RILL_ERR_OPTION)
        fail_msg("method %s with %s is accepted", method, name ? name : "a heuristic");
    expect_mention(method);
    if (name != NULL) expect_mention(name);
}

static void contradictions(void **state)
{
    (void)state;
    static const char *const batch[] = {"greedy", "fixed", "var-batch"};
    for (size_t i = 0; i < 3; i++) {
        contradicts(batch[i], "max-in-flight", "77", 0);
        contradicts(batch[i], "refill-threshold", "0.5", 0);
        contradicts(batch[i], "flush-every", "5", 0);
    }
    static const char *const unpruned[] = {"greedy", "fixed", "fixed-stream"};
    for (size_t i = 0; i < 3; i++) {
        contradicts(unpruned[i], NULL, NULL, 1);
        contradicts(unpruned[i], "max-children", "3", 0);
    }
    contradicts("greedy", "finish", "immediate", 0);
    contradicts("greedy", "beam-size", "2", 0);
}

static void contradictions_between_settings(void **state)
{
    (void)state;
    rill_settings s;
    rill_settings_default(&s);
    s.patience = 2;
    s.stop_after = 3;
    assert_int_equal(rill_settings_resolve(ctx, &s, 0), RILL_ERR_OPTION);
    expect_mention("patience");
    expect_mention("stop-after");
    rill_settings_default(&s);
    s.exact_rows = 5;
    assert_int_equal(rill_settings_resolve(ctx, &s, 0), RILL_ERR_OPTION);
    expect_mention("exact-rows");
    rill_settings_default(&s);
    s.exact = 1;
    assert_int_equal(rill_settings_resolve(ctx, &s, 0), RILL_OK);
    assert_int_equal(s.certify, 1);
    assert_int_equal(s.exact_rows, 10000);
    rill_settings_default(&s);
    s.min_length = 9;
    s.max_length = 8;
    assert_int_equal(rill_settings_resolve(ctx, &s, 0), RILL_ERR_OPTION);
    expect_mention("min-length 9");
    expect_mention("max-length 8");
    rill_settings_default(&s);
    s.struct_size = 8;
    assert_int_equal(rill_settings_resolve(ctx, &s, 0), RILL_ERR_ABI);
    rill_settings_default(&s);
    snprintf(s.method, sizeof s.method, "beam");
    assert_int_equal(rill_settings_resolve(ctx, &s, 0), RILL_ERR_OPTION);
}

/* The struct of a program compiled with an older header is shorter: it is read and written up to its end. Longer
 * structs are refused. */
static void structs_of_other_sizes(void **state)
{
    (void)state;
    enum { SHORTER_BY = sizeof(double) }; /* an older struct, which ends before top_p */
    struct {
        rill_engine_setup setup;
        char tail[SHORTER_BY];
    } own, untouched;
    char text[RILL_OPTION_MAX];
    rill_settings *settings = &own.setup.settings;
    memset(&own, 0x5a, sizeof own);
    untouched = own;
    rill_settings_init(settings, sizeof *settings - SHORTER_BY);
    assert_int_equal(rill_settings_set(ctx, settings, "beam-size", "7"), RILL_OK);
    assert_int_equal(rill_settings_set(ctx, settings, "top-p", "0.5"), RILL_ERR_ABI);
    expect_mention("top-p");
    assert_int_equal(rill_settings_resolve(ctx, settings, 0), RILL_OK);
    assert_int_equal(settings->stop_after, 7);
    assert_int_equal(settings->struct_size, sizeof *settings - SHORTER_BY);
    assert_string_equal(rill_settings_get(settings, rill_option_find(rill_setting_table(), "beam-size"), text), "7");
    assert_string_equal(rill_settings_get(settings, rill_option_find(rill_setting_table(), "top-p"), text), "0");
    assert_memory_equal((char *)(settings + 1) - SHORTER_BY, untouched.tail, SHORTER_BY);
    for (int more = -(int)sizeof *settings + 8; more <= SHORTER_BY; more += (int)sizeof *settings) {
        own = untouched;
        rill_settings_init(settings, (size_t)((int)sizeof *settings + more));
        assert_int_equal(rill_settings_set(ctx, settings, "beam-size", "1"), RILL_ERR_ABI);
        expect_mention("rebuild the program");
        assert_int_equal(rill_settings_resolve(ctx, settings, 0), RILL_ERR_ABI);
    }
    own = untouched;
    rill_engine_setup_init(&own.setup, sizeof own.setup - SHORTER_BY);
    assert_int_equal(own.setup.struct_size, sizeof own.setup - SHORTER_BY);
    assert_int_equal(rill_settings_set(ctx, settings, "k", "1"), RILL_OK);
    assert_memory_equal((char *)(&own.setup + 1) - SHORTER_BY, untouched.tail, SHORTER_BY);
}

/* Fields may be set without rill_settings_set(); resolving then refuses values out of range. */
static void fields_out_of_range(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t offset;
        int32_t value;
    } cases[] = {
        {"k", offsetof(rill_settings, k), -1},
        {"k", offsetof(rill_settings, k), 65537},
        {"n", offsetof(rill_settings, n), -1},
        {"max-items", offsetof(rill_settings, max_items), -1},
        {"max-items", offsetof(rill_settings, max_items), INT_MAX},
        {"budget", offsetof(rill_settings, budget), -1},
        {"max-candidates", offsetof(rill_settings, max_candidates), -1},
        {"stop-after", offsetof(rill_settings, stop_after), -1},
        {"min-length", offsetof(rill_settings, min_length), -1},
        {"max-length", offsetof(rill_settings, max_length), -1},
        {"n-best", offsetof(rill_settings, n_best), -1},
        {"flush-every", offsetof(rill_settings, flush_every), -1},
        {"sort", offsetof(rill_settings, sort), 77},
    };
    int accepted = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rill_settings s;
        rill_settings_default(&s);
        memcpy((char *)&s + cases[i].offset, &cases[i].value, sizeof cases[i].value);
        if (rill_settings_resolve(ctx, &s, 0) == RILL_OK) {
            print_error("%s = %d is accepted\n", cases[i].name, (int)cases[i].value);
            accepted++;
        } else {
            expect_mention(rill_option_find(rill_setting_table(), cases[i].name)->name);
            assert_int_equal(rill__settings_fill(ctx, &s, "beam-size=4 sort=length"), RILL_OK);
        }
    }
    assert_int_equal(accepted, 0);
}

/* Draw a value that the row allows: an end of its range, or a value between. */
static void draw_value(const rill_option *o, dice *d, char *out, size_t size)
{
    const int32_t words = o->type == RILL_OPTION_WORD ? dice_range(d, 0, 4) : 0;
    double value = DICE_PICK(d, 1, 2, 3, 7, 20, 500);
    const char *word = o->argument;
    if (dice_chance(d, 30)) value = dice_chance(d, 50) ? o->min : o->max;
    if (value < o->min) value = o->min;
    if (value > o->max) value = o->max;
    snprintf(out, size, "%.17g", value);
    if (o->type == RILL_OPTION_SWITCH) snprintf(out, size, "1");
    if (o->type == RILL_OPTION_TEXT)
        snprintf(out, size, "%s",
                 strcmp(o->name, "sort") == 0 ? "length:7" : rill_method_table()[dice_range(d, 0, 7)].name);
    if (o->type != RILL_OPTION_WORD) return;
    for (int32_t i = 0; i < words && strchr(word, '|') != NULL; i++) word = strchr(word, '|') + 1;
    snprintf(out, size, "%.*s", (int)strcspn(word, "|"), word);
}

/* Resolving twice equals resolving once, for every setting of the table, also at the ends of its range, and for many
 * settings at once. */
static void resolving_twice_changes_nothing(void **state)
{
    (void)state;
    int64_t resolved = 0;
    const rill_option *table = rill_setting_table();
    int32_t rows = 0;
    while (table[rows].name != NULL) rows++;
    for (int64_t i = 0; i < harness_iterations(20000); i++) {
        dice d = dice_seeded(dice_mix(harness_seed(1) + (uint64_t)i, 36));
        const int has_heuristics = dice_chance(&d, 30), percent = DICE_PICK(&d, 2, 5, 10, 20);
        rill_settings once, twice;
        char value[64], all_pairs[2000] = "";
        rill_settings_default(&once);
        for (int32_t row = 0; row < rows; row++) {
            if (row != i % rows && !dice_chance(&d, percent)) continue;
            draw_value(&table[row], &d, value, sizeof value);
            if (rill_settings_set(ctx, &once, table[row].name, value) < 0)
                continue; /* the method does not use this setting */
            const size_t length = strlen(all_pairs);
            snprintf(all_pairs + length, sizeof all_pairs - length, " %s=%s", table[row].name, value);
        }
        if (rill_settings_resolve(ctx, &once, has_heuristics) < 0) continue;
        memcpy(&twice, &once, sizeof once);
        if (rill_settings_resolve(ctx, &twice, has_heuristics) < 0) fail_msg("%s: %s", all_pairs, rill_error(ctx));
        if (memcmp(&once, &twice, sizeof once) != 0) fail_msg("%s: resolved twice they are others", all_pairs);
        resolved++;
    }
    HARNESS_ASSERT_COVERED(resolved > 1000);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(ranges),
    cmocka_unit_test(bytes_have_units),
    cmocka_unit_test(values_arrive),
    cmocka_unit_test(unknown_names),
    cmocka_unit_test(tables_are_complete),
    cmocka_unit_test(presets),
    cmocka_unit_test(patience_resolves_to_outputs),
    cmocka_unit_test(own_values_are_not_filled),
    cmocka_unit_test(resolving_twice_changes_nothing),
    cmocka_unit_test(every_name_means_one_option),
    cmocka_unit_test(aliases_set_the_option),
    cmocka_unit_test(names_in_messages_have_the_style_of_the_source),
    cmocka_unit_test(contradictions),
    cmocka_unit_test(contradictions_between_settings),
    cmocka_unit_test(structs_of_other_sizes),
    cmocka_unit_test(fields_out_of_range),
};

int main(int argc, char **argv)
{
    if (harness_options(argc, argv) != 0) return 2;
    return cmocka_run_group_tests(tests, make_context, end_context);
}
