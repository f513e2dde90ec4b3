/* Checks of the options that all built-in domains share, and opening the device; see common_options.h. */
#include "common_options.h"

#include <stdio.h>
#include <string.h>

rill_status rill_options_check(rill_context *ctx, const char *domain, const rill_open_options *options)
{
    if (options->path == NULL)
        return rill_fail(ctx, RILL_ERR_OPTION, "%s: expected the path of a model's directory, found none", domain);
    if (options->arguments != NULL && options->arguments[0] != '\0')
        return rill_fail(ctx, RILL_ERR_OPTION, "%s: expected no arguments for the domain, found \"%.60s\"", domain,
                         options->arguments);
    return RILL_OK;
}

rill_status rill_options_device(rill_context *ctx, const char *domain, const rill_open_options *options,
                                rill_device **out)
{
    const char *weights = rill_open_option(options, "weights");
    const rill_device_options wanted = {.struct_size = sizeof wanted,
                                        .name = rill_open_option(options, "device"),
                                        .fast = rill_open_switch(options, "fast"),
                                        .int8 = weights != NULL && strcmp(weights, "int8") == 0};
    char why[500];
    rill_status status = rill_device_open(out, ctx, &wanted);
    if (status == RILL_OK && wanted.name != NULL && strcmp(wanted.name, "auto") == 0)
        rill_log(ctx, RILL_LOG_INFO, "%s: the model runs on %s", domain, rill_device_name(*out));
    if (status != RILL_ERR_OPTION) return status;
    snprintf(why, sizeof why, "%s", rill_error(ctx));
    return rill_fail(ctx, status, "%s: %s", domain, why);
}

void rill_options_describe(const rill_device *device, char *description, size_t size)
{
    const char *name = rill_device_name(device);
    const size_t used = strlen(description);
    if (strcmp(name, "cpu") != 0) snprintf(description + used, size - used, ", on %s", name);
}
