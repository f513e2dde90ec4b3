/* See lua_domain_run.h. */
#include "lua_domain_run.h"

#include <stdio.h>
#include <string.h>

#include "rill/plugin.h"

rill_status domain_read(void *user, int may_block, const char **text, size_t *length)
{
    domain_lines *lines = user;
    (void)may_block;
    if (*lines->input == NULL) return RILL_END_OF_INPUT;
    *text = *lines->input++;
    *length = strlen(*text);
    return RILL_OK;
}

static void append(domain_run *run, const char *text)
{
    size_t length = strlen(run->out);
    snprintf(run->out + length, sizeof run->out - length, "%s", text);
}

static rill_status domain_write(void *user, const rill_result *result)
{
    domain_run *run = ((domain_lines *)user)->run;
    if (result->n_outputs > 0) snprintf(run->last, sizeof run->last, "%s", rill_result_output(result, 0)->text);
    if (result->status < 0) append(run, "!");
    append(run, result->message);
    for (int32_t i = 0; i < result->n_outputs; i++) {
        append(run, i > 0 ? "|" : "");
        append(run, rill_result_output(result, i)->text);
    }
    append(run, "\n");
    return RILL_OK;
}

rill_status domain_decode(domain_run *run, rill_context *ctx, rill_model *model, const char *const *input)
{
    rill_engine *engine = NULL;
    rill_engine_setup setup;
    rill_engine_setup_default(&setup);
    snprintf(setup.settings.method, sizeof setup.settings.method, "%s", run->method ? run->method : "var-stream");
    if (setup.settings.method[0] != 'g') setup.settings.k = run->k > 0 ? run->k : 3;
    setup.settings.n = 4;
    setup.settings.n_best = 50;
    rill_chain_entry scorer = {run->scorer, run->scorer_arguments ? run->scorer_arguments : ""};
    setup.scorers = &scorer;
    setup.n_scorers = run->scorer != NULL;
    rill_status status = rill_engine_create(&engine, ctx, model, &setup);
    domain_lines lines = {input, run};
    if (status == RILL_OK) status = rill_run(engine, domain_read, &lines, domain_write, &lines);
    rill_engine_destroy(engine);
    return status;
}

void domain_try(domain_run *run, const char *lua, const char *const *input, const rill_context_options *memory)
{
    rill_context *ctx = NULL;
    rill_script *script = NULL;
    rill_model *model = NULL;
    rill_open_options open = {.struct_size = sizeof open, .threads = 1, .path = run->path, .arguments = run->arguments};
    run->out[0] = run->message[0] = '\0';
    run->loaded = run->opened = 0;
    run->options.struct_size = sizeof run->options;
    run->status = rill_context_create(&ctx, memory);
    if (run->status == RILL_OK) run->status = rill_register_core(ctx);
    if (run->status == RILL_OK)
        run->status = rill_script_load_text(&script, ctx, "test.lua", lua, strlen(lua), &run->options);
    run->loaded = run->status == RILL_OK;
    if (run->status == RILL_OK) run->status = rill_model_open(&model, ctx, "d", &open);
    run->opened = run->status == RILL_OK;
    if (run->status == RILL_OK) run->status = domain_decode(run, ctx, model, input);
    if (ctx != NULL) snprintf(run->message, sizeof run->message, "%s", rill_error(ctx));
    rill_model_close(model);
    rill_context_destroy(ctx);
}
