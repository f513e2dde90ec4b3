/* Profiles of operations, measured by the domain; rill/profile.h. */
#include "engine_internal.h"

static rill_status fail_no_profile(const rill_engine *e)
{
    return rill_fail(e->ctx, RILL_ERR_OPTION,
                     "profile: domain %s has no profiles, because it runs no graphs on a device", e->domain->name);
}

rill_status rill_engine_profile(rill_engine *e, int on)
{
    if (e->domain->profile == NULL) return fail_no_profile(e);
    return engine_domain_status(e, e->domain->profile(e->self, on), "profile");
}

int rill_engine_profile_row(const rill_engine *e, int32_t i, rill_op_profile *out)
{
    return e->domain->profile != NULL && e->domain->profile_row(e->self, i, out);
}

rill_status rill_engine_limits(rill_engine *e, rill_limits *out)
{
    if (e->domain->profile == NULL) return fail_no_profile(e);
    return engine_domain_status(e, e->domain->limits(e->self, out), "limits");
}
