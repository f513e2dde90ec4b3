/* A translation model with one runner, as an engine has them. Included by a test's one file. */
#ifndef TEST_DOMAINS_MT_RUNNER_H
#define TEST_DOMAINS_MT_RUNNER_H

#include "model.h"
#include "mt.h"

/* *out is NULL on failure. */
static inline rill_status runner_open(rill_context *ctx, const rill_open_options *options, mt_runner **out,
                                      rill_domain_info *info)
{
    void *runner = NULL;
    rill_status status = rill_mt_domain.open(&rill_mt_domain, ctx, options, &runner, info);
    *out = status == RILL_OK ? runner : NULL;
    return status;
}

static inline void runner_close(mt_runner *runner)
{
    rill_mt_domain.close(runner);
}

#endif
