/* See scripted.h. */
#include "scripted.h"

#include <stdio.h>
#include <string.h>

/* Argument of load(): engine_run_with() has no parameter for it. */
static _Thread_local const char *script_text;
static _Thread_local const rill_script_options *script_options;

static rill_status load(rill_context *ctx)
{
    rill_script *script;
    return rill_script_load_text(&script, ctx, "test.lua", script_text, strlen(script_text), script_options);
}

void scripted_run(const char *text, const rill_script_options *options, const problem *p, const schedule *s,
                  const rill_context_options *memory, engine_record *out)
{
    script_text = text;
    script_options = options;
    engine_run_with(p, s, memory, load, out);
}

void scripted_problem(problem *p, int seed, int32_t inputs, int32_t k)
{
    char message[200];
    memset(p, 0, sizeof *p);
    snprintf(p->arguments, sizeof p->arguments, "seed=%d actions=8 depth=6 flat=2 ending=30 legal=80", seed);
    assert_int_equal(toy_model_parse(&p->model, p->arguments, message, sizeof message), RILL_OK);
    for (p->n_inputs = 0; p->n_inputs < inputs; p->n_inputs++)
        snprintf(p->input[p->n_inputs], sizeof p->input[0], "in %d", (int)p->n_inputs);
    rill_settings_default(&p->settings);
    p->settings.k = k;
    p->settings.n_best = 100;
}

void scripted_entry(problem_name *entry, const char *name, const char *arguments)
{
    snprintf(entry->name, sizeof entry->name, "%s", name);
    snprintf(entry->arguments, sizeof entry->arguments, "%s", arguments);
}

static void same_result(int32_t i, const record_result *a, const record_result *b)
{
    if (a->status != b->status || a->n != b->n || a->outputs_found != b->outputs_found)
        fail_msg("input %d: %s and %d outputs, %s and %d outputs", (int)i, rill_status_name(a->status), (int)a->n,
                 rill_status_name(b->status), (int)b->n);
    for (int32_t o = 0; o < a->n; o++) {
        const record_output *x = &a->output[o], *y = &b->output[o];
        if (strcmp(x->text, y->text) != 0 ||
            memcmp(&x->value.path_score, &y->value.path_score, sizeof x->value.path_score) != 0)
            fail_msg("input %d output %d: \"%s\" %.17g, \"%s\" %.17g", (int)i, (int)o, x->text, x->value.path_score,
                     y->text, y->value.path_score);
    }
}

void scripted_same(const problem *p, const engine_record *a, const engine_record *b)
{
    if (a->status != RILL_OK) fail_msg("%s", a->message);
    if (b->status != RILL_OK) fail_msg("%s", b->message);
    for (int32_t i = 0; i < p->n_inputs; i++) same_result(i, &a->result[i], &b->result[i]);
    assert_int_equal(a->stats.expansions, b->stats.expansions);
}

static void check_words(const char *message, va_list words)
{
    for (const char *word; (word = va_arg(words, const char *)) != NULL;)
        if (strstr(message, word) == NULL) fail_msg("\"%s\" lacks \"%s\"", message, word);
}

void scripted_fails(const char *text, const problem *p, const schedule *s, rill_status status, ...)
{
    engine_record r;
    va_list words;
    scripted_run(text, NULL, p, s, NULL, &r);
    if (r.status != status) fail_msg("%s: %s", rill_status_name(r.status), r.message);
    va_start(words, status);
    check_words(r.message, words);
    va_end(words);
    assert_int_equal(r.toy.violations, 0);
    engine_record_clear(&r);
}

void scripted_refused(const char *text, const char *words)
{
    rill_context *ctx = harness_context(NULL);
    rill_script *script = NULL;
    rill_registry_mark mark = rill_registry_size(ctx), after;
    rill_status status = rill_script_load_text(&script, ctx, "test.lua", text, strlen(text), NULL);
    if (status == RILL_OK) fail_msg("accepted, though \"%s\" was expected", words);
    if (strstr(rill_error(ctx), words) == NULL) fail_msg("\"%s\" lacks \"%s\"", rill_error(ctx), words);
    if (strncmp(rill_error(ctx), "test.lua:", 9) != 0) fail_msg("\"%s\" names no line", rill_error(ctx));
    after = rill_registry_size(ctx);
    assert_memory_equal(&mark, &after, sizeof mark);
    rill_context_destroy(ctx);
}
