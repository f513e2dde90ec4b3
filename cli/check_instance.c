/* A shared instance; see check_instance.h. create() makes nothing: it returns the struct that contains the registered table. */
#include "check_instance.h"

#include <stddef.h>

static rill_status create_heuristic(const rill_heuristic *table, rill_context *ctx, const char *arguments, void **self)
{
    (void)ctx;
    (void)arguments;
    *self = (char *)(uintptr_t)table - offsetof(cli_check_instance, heuristic);
    return RILL_OK;
}

static rill_status create_scorer(const rill_scorer *table, rill_context *ctx, const char *arguments, void **self)
{
    (void)ctx;
    (void)arguments;
    *self = (char *)(uintptr_t)table - offsetof(cli_check_instance, scorer);
    return RILL_OK;
}

static rill_status apply(void *self, rill_candidates *candidates)
{
    const cli_check_instance *instance = self;
    return instance->real_heuristic->apply(instance->self, candidates);
}

static rill_status score(void *self, const rill_scorer_rows *rows, rill_modifiers *modifiers)
{
    const cli_check_instance *instance = self;
    return instance->real_scorer->score(instance->self, rows, modifiers);
}

static rill_status begin(void *self, int64_t item_id)
{
    const cli_check_instance *instance = self;
    return instance->real_scorer->begin(instance->self, item_id);
}

static rill_status found(void *self, const rill_found *found_for)
{
    const cli_check_instance *instance = self;
    return instance->real_scorer->found(instance->self, found_for);
}

static void done(void *self, int64_t item_id)
{
    const cli_check_instance *instance = self;
    instance->real_scorer->done(instance->self, item_id);
}

rill_status cli_check_instance_register(cli_check_instance *instance, rill_context *ctx)
{
    *instance = (cli_check_instance){.heuristic = {.abi_version = RILL_ABI_VERSION,
                                                   .struct_size = sizeof(rill_heuristic),
                                                   .name = CLI_CHECK_INSTANCE,
                                                   .arguments = "",
                                                   .summary = "",
                                                   .create = create_heuristic,
                                                   .apply = apply},
                                     .scorer = {.abi_version = RILL_ABI_VERSION,
                                                .struct_size = sizeof(rill_scorer),
                                                .name = CLI_CHECK_INSTANCE,
                                                .arguments = "",
                                                .summary = "",
                                                .create = create_scorer,
                                                .score = score}};
    rill_status status = rill_register_heuristic(ctx, &instance->heuristic);
    return status < 0 ? status : rill_register_scorer(ctx, &instance->scorer);
}

rill_status cli_check_instance_make(cli_check_instance *instance, rill_context *ctx, const rill_heuristic *heuristic,
                                    const rill_scorer *scorer, const char *arguments)
{
    instance->real_heuristic = heuristic;
    instance->real_scorer = heuristic ? NULL : scorer;
    instance->self = NULL;
    if (heuristic) return heuristic->create ? heuristic->create(heuristic, ctx, arguments, &instance->self) : RILL_OK;
    instance->scorer.state_bytes = scorer->state_bytes;
    instance->scorer.begin = scorer->begin ? begin : NULL;
    instance->scorer.found = scorer->found ? found : NULL;
    instance->scorer.done = scorer->done ? done : NULL;
    return scorer->create ? scorer->create(scorer, ctx, arguments, &instance->self) : RILL_OK;
}

void cli_check_instance_end(cli_check_instance *instance)
{
    const rill_heuristic *heuristic = instance->real_heuristic;
    const rill_scorer *scorer = instance->real_scorer;
    if (heuristic && heuristic->destroy) heuristic->destroy(instance->self);
    if (scorer && scorer->destroy) scorer->destroy(instance->self);
    instance->real_heuristic = NULL;
    instance->real_scorer = NULL;
}
