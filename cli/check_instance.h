/* One instance of a heuristic or scorer, shared by several engines. `rill check` decodes twice with it; an engine would create a new
 * instance each time. */
#ifndef CLI_CHECK_INSTANCE_H
#define CLI_CHECK_INSTANCE_H

#include "rill/plugin.h"

/* The name under which both tables are registered. */
#define CLI_CHECK_INSTANCE "rill-check-instance"

typedef struct cli_check_instance {
    rill_heuristic heuristic; /* registered tables: they forward calls to the real tables */
    rill_scorer scorer;
    const rill_heuristic *real_heuristic;
    const rill_scorer *real_scorer;
    void *self; /* the instance that the real table created */
} cli_check_instance;

/* Fill in the function tables of the instance (heuristic and scorer) and register them. `instance` must outlive the context. */
rill_status cli_check_instance_register(cli_check_instance *instance, rill_context *ctx);

/* Create the real instance: of the heuristic, or of the scorer if `heuristic` is NULL. Returns what create() returns. */
rill_status cli_check_instance_make(cli_check_instance *instance, rill_context *ctx, const rill_heuristic *heuristic,
                                    const rill_scorer *scorer, const char *arguments);
/* Destroy the real instance, if one exists. */
void cli_check_instance_end(cli_check_instance *instance);

#endif
