/* Opens a translation model with one runner, as an engine does. To be included by a test's only source file. */
#pragma once

#include "mt.h"

/* *out is NULL on failure. */
static inline rill_status runner_open(rill_context *ctx, const rill_open_options *options, seq_runner **out,
                                      rill_domain_info *info)
{
    void *model = NULL, *runner = NULL;
    *out = NULL;
    rill_status status = rill_mt_domain.open(&rill_mt_domain, ctx, options, &model, info);
    if (status != RILL_OK) return status;
    status = rill_mt_domain.start(model, ctx, options->threads, &runner);
    if (status == RILL_OK)
        *out = runner;
    else
        rill_mt_domain.close(model);
    return status;
}

static inline void runner_close(seq_runner *runner)
{
    void *model = (void *)(uintptr_t)runner->model;
    rill_mt_domain.stop(runner);
    rill_mt_domain.close(model);
}
