/* Options that all domains of rill's own refuse; see options.h. */
#include "options.h"

rill_status rill_options_check(rill_context *ctx, const char *domain, const rill_open_options *options)
{
    if (options->path == NULL)
        return rill_fail(ctx, RILL_ERR_OPTION, "%s: expected the path of a model's directory, found none", domain);
    if (options->arguments != NULL && options->arguments[0] != '\0')
        return rill_fail(ctx, RILL_ERR_OPTION, "%s: expected no arguments for the domain, found \"%.60s\"", domain,
                         options->arguments);
    return RILL_OK;
}
