/* One instance of a heuristic or scorer that several engines share: what `rill check` decodes twice with, since an engine makes
 * instances of its own. */
#ifndef CLI_CHECK_INSTANCE_H
#define CLI_CHECK_INSTANCE_H

#include "rill/plugin.h"

/* The tables' name. */
#define CLI_CHECK_INSTANCE "rill-check-instance"

typedef struct cli_check_instance {
    rill_heuristic heuristic; /* tables that stand in for the real ones; theirs are `self` */
    rill_scorer scorer;
    const rill_heuristic *real_heuristic;
    const rill_scorer *real_scorer;
    void *self;
} cli_check_instance;

/* Fill the tables and register them, where the instance stays until the context is destroyed. */
rill_status cli_check_instance_register(cli_check_instance *instance, rill_context *ctx);

/* Make the instance that they stand for, of a heuristic or, where that is NULL, of a scorer. What create() returns. */
rill_status cli_check_instance_make(cli_check_instance *instance, rill_context *ctx, const rill_heuristic *heuristic,
                                    const rill_scorer *scorer, const char *arguments);
/* Destroy it. Does nothing where none was made. */
void cli_check_instance_end(cli_check_instance *instance);

#endif
