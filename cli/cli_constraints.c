/* Constraints from a file; see cli_constraints.h. */
#include "cli_constraints.h"

#include <string.h>

static int has_scorer(const rill_search_config *search_config, const char *name)
{
    for (int32_t i = 0; i < search_config->setup->n_scorers; i++)
        if (!strcmp(search_config->setup->scorers[i].name, name)) return 1;
    return 0;
}

rill_status cli_constraints_add_scorers(rill_search_config *search_config)
{
    rill_status status = RILL_OK;
    for (const char *const *name = rill_constraint_names(); *name && status >= 0; name++)
        if (!has_scorer(search_config, *name)) status = rill_search_config_add_scorer(search_config, *name, "");
    return status;
}

int cli_constraints_open(cli_constraints *c, rill_context *ctx, const char *path, int64_t skip,
                         rill_search_config *search_config)
{
    if (cli_constraints_add_scorers(search_config) < 0) return cli_fail_context(ctx);
    if (rill_constraints_create(&c->reader, ctx, search_config->setup) < 0) return cli_fail_context(ctx);
    int code = cli_input_open(&c->input, ctx, path, RILL_FILE_STREAM);
    for (rill_status status = RILL_OK; code == CLI_OK && skip > 0 && status != RILL_END_OF_INPUT; skip--) {
        status = cli_input_read(&c->input, 1, &c->line, &c->length);
        if (status < 0 && status != RILL_ERR_INPUT) code = cli_fail_context(ctx);
    }
    return code;
}

void cli_constraints_close(cli_constraints *c)
{
    if (c->reader) cli_input_close(&c->input);
    rill_constraints_free(c->reader);
    c->reader = NULL;
}

static rill_status fail_input(rill_request *request, const char *message)
{
    request->text = message;
    request->length = strlen(message);
    return RILL_ERR_INPUT;
}

rill_status cli_constraints_wait(cli_constraints *c, int may_block)
{
    if (!c->has_line) c->status = cli_input_read(&c->input, may_block, &c->line, &c->length);
    c->has_line = c->status != RILL_AGAIN;
    return c->has_line ? RILL_OK : RILL_AGAIN;
}

rill_status cli_constraints_apply(cli_constraints *c, rill_context *ctx, rill_status status, rill_request *request)
{
    if (status != RILL_OK && status != RILL_ERR_INPUT) return status;
    c->has_line = 0;
    if (status < 0) return status;
    if (c->status == RILL_END_OF_INPUT) return fail_input(request, "the --constraints file has no line for this input");
    if (c->status == RILL_ERR_INPUT) return fail_input(request, c->line);
    if (c->status < 0) return c->status;
    status = rill_constraints_read(c->reader, c->line, c->length, &request->scorers);
    return status == RILL_ERR_INPUT ? fail_input(request, rill_error(ctx)) : status;
}
