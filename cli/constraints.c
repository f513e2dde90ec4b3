/* Constraints of inputs; constraints.h. */
#include "constraints.h"

#include <string.h>

static int has_scorer(const rill_search_config *plan, const char *name)
{
    for (int32_t i = 0; i < plan->setup.n_scorers; i++)
        if (!strcmp(plan->setup.scorers[i].name, name)) return 1;
    return 0;
}

rill_status cli_constraints_join_run(rill_search_config *plan)
{
    rill_status status = RILL_OK;
    for (const char *const *name = rill_constraint_names(); *name && status >= 0; name++)
        if (!has_scorer(plan, *name)) status = rill_search_config_add_scorer(plan, *name, "");
    return status;
}

int cli_constraints_open(cli_constraints *c, rill_context *ctx, const char *path, int64_t skip,
                         rill_search_config *plan)
{
    if (cli_constraints_join_run(plan) < 0) return cli_fail_context(ctx);
    if (rill_constraints_create(&c->reader, ctx, &plan->setup) < 0) return cli_fail_context(ctx);
    int code = cli_input_open(&c->lines, ctx, path, RILL_FILE_STREAM);
    for (rill_status status = RILL_OK; code == CLI_OK && skip > 0 && status != RILL_END_OF_INPUT; skip--) {
        status = cli_input_read(&c->lines, 1, &c->line, &c->length);
        if (status < 0 && status != RILL_ERR_INPUT) code = cli_fail_context(ctx);
    }
    return code;
}

void cli_constraints_close(cli_constraints *c)
{
    if (c->reader) cli_input_close(&c->lines);
    rill_constraints_free(c->reader);
    c->reader = NULL;
}

static rill_status bad(rill_request *request, const char *message)
{
    request->text = message;
    request->length = strlen(message);
    return RILL_ERR_INPUT;
}

rill_status cli_constraints_wait(cli_constraints *c, int may_block)
{
    if (!c->have) c->status = cli_input_read(&c->lines, may_block, &c->line, &c->length);
    c->have = c->status != RILL_AGAIN;
    return c->have ? RILL_OK : RILL_AGAIN;
}

rill_status cli_constraints_join(cli_constraints *c, rill_context *ctx, rill_status status, rill_request *request)
{
    if (status != RILL_OK && status != RILL_ERR_INPUT) return status;
    c->have = 0;
    if (status < 0) return status;
    if (c->status == RILL_END_OF_INPUT) return bad(request, "--constraints has no line for it");
    if (c->status == RILL_ERR_INPUT) return bad(request, c->line);
    if (c->status < 0) return c->status;
    status = rill_constraints_read(c->reader, c->line, c->length, &request->scorers);
    return status == RILL_ERR_INPUT ? bad(request, rill_error(ctx)) : status;
}
