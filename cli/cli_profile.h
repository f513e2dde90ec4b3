/* --profile: time, operations and bytes of each operation of the model, compared with the limits of the machine. */
#ifndef CLI_PROFILE_H
#define CLI_PROFILE_H

#include <jansson.h>
#include <stdio.h>

#include "cli.h"
#include "rill/workers.h"

/* Operations of one or several runs. Operations with the same name in the same program are added up. Zero-initialise. */
typedef struct cli_profile {
    rill_op_profile *op; /* [n] */
    int n;
    rill_limits limits;
} cli_profile;

/* Let the engines of these workers count operations. RILL_OK · a negative status, with the error in `ctx` */
rill_status cli_profile_begin(rill_context *ctx, rill_workers *workers);

/* Add the counters of the workers to the profile. Measures the machine's limits first, unless an earlier call has. Names are borrowed
 * from the model. RILL_OK · a negative status, with the error in `ctx` */
rill_status cli_profile_take(cli_profile *profile, rill_context *ctx, rill_workers *workers);

/* Print a table with one line per operation. In each program the most expensive operation comes first. */
void cli_profile_print(const cli_profile *profile, FILE *to);

/* The profile as an object: a new reference, or NULL when out of memory. */
json_t *cli_profile_json(const cli_profile *profile);

void cli_profile_end(cli_profile *profile);

#endif
