/* Finds the heuristic, scorer or scheduler with which rill_engine_create() failed. Names and arguments are only
 * checked when an engine is created, long after the configuration was read. So each entry is tried alone, and the
 * message can name its line. */
#include <stdio.h>
#include <string.h>

#include "run_config.h"

/* Return 1 if the entry's plugin exists and accepts the entry's arguments, else 0. The code is the same for
 * heuristics, scorers and schedulers. */
#define RETURN_WORKS(type, find)                                              \
    do {                                                                      \
        const type *table = find(ctx, entry->name);                           \
        if (table == NULL) return 0;                                          \
        if (table->create == NULL) return entry->arguments[0] == '\0';        \
        if (table->create(table, ctx, entry->arguments, &self) < 0) return 0; \
        if (table->destroy != NULL) table->destroy(self);                     \
        return 1;                                                             \
    } while (0)

static int entry_works(rill_context *ctx, script_kind kind, const rill_chain_entry *entry)
{
    void *self = NULL;
    if (kind == SCRIPT_HEURISTIC) RETURN_WORKS(rill_heuristic, rill_find_heuristic);
    if (kind == SCRIPT_SCORER) RETURN_WORKS(rill_scorer, rill_find_scorer);
    RETURN_WORKS(rill_scheduler, rill_find_scheduler);
}

/* Put file, line and key before the context's message: those of the first entry whose name is in the message and
 * that also fails alone. */
void rill_script_config_locate_error(rill_script *script, const rill_script_config *config)
{
    static const char *const keys[] = {"heuristics[%d]", "scorers[%d]", "scheduler"};
    const rill_script_chain *const chains[] = {&config->heuristics, &config->scorers, &config->scheduler};
    rill_context *ctx = script->ctx;
    char message[SCRIPT_MESSAGE_MAX], key[SCRIPT_NAME_MAX];
    rill_status status = rill_error_status(ctx);
    int found = 0;
    snprintf(message, sizeof message, "%s", rill_error(ctx));
    for (int kind = SCRIPT_HEURISTIC; kind <= SCRIPT_SCHEDULER && !found; kind++)
        for (int32_t i = 0; i < chains[kind]->n && !found; i++) {
            const rill_chain_entry *entry = &chains[kind]->entry[i];
            found = strstr(message, entry->name) != NULL && !entry_works(ctx, (script_kind)kind, entry);
            if (found) snprintf(key, sizeof key, keys[kind], (int)i + 1);
        }
    if (found) script_config_fail(script, key, message);
    rill_fail(ctx, status, "%s", found ? rill_error(ctx) : message);
}
