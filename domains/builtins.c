/* Registers everything built in: heuristics, scorers, schedulers, domains. To add a domain: one include and one line here. */

#include "mt.h"
#include "rill/plugin.h"
#include "semparse.h"
#include "shiftreduce.h"

static const rill_domain *const domains[] = {
    &rill_mt_domain,
    &rill_semparse_domain,
    &rill_shiftreduce_domain,
};

rill_status rill_register_builtins(rill_context *ctx)
{
    rill_status status = rill_register_core(ctx);
    for (size_t i = 0; status == RILL_OK && i < sizeof domains / sizeof *domains; i++)
        status = rill_register_domain(ctx, domains[i]);
    return status;
}
