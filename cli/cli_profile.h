/* --profile: what each operation of the model cost, and what share of the machine's limits it reached. */
#ifndef CLI_PROFILE_H
#define CLI_PROFILE_H

#include <jansson.h>
#include <stdio.h>

#include "cli.h"
#include "rill/workers.h"

/* Operations of a run, counted by the engine; those of equal name in one program are added up. Zero-initialise. */
typedef struct cli_profile {
    rill_op_profile *op; /* [n] */
    int n;
    rill_limits limits;
} cli_profile;

/* Have the engines of these workers count. What fails is recorded in `ctx`. */
rill_status cli_profile_begin(rill_context *ctx, rill_workers *workers);

/* Add what they counted to the profile, measuring the limits first if that is still to be done. Names are borrowed from the model.
 * What fails is recorded in `ctx`. */
rill_status cli_profile_take(cli_profile *profile, rill_context *ctx, rill_workers *workers);

/* A table, a line per operation, dearest first within its program, on `to`. */
void cli_profile_print(const cli_profile *profile, FILE *to);

/* The same as an object; a new reference, NULL when out of memory. */
json_t *cli_profile_json(const cli_profile *profile);

void cli_profile_end(cli_profile *profile);

#endif
