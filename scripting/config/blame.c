/* Which entry of a configuration's chains does not work: names are known and arguments read only when an engine is made, long
 * after the table was. Then entries are tried alone, so that the message can name the place. */
#include <stdio.h>
#include <string.h>

#include "config.h"

/* Heuristics, scorers and policies are found and made alike. */
#define WORKS(type, find)                                                 \
    const type *table = find(ctx, entry->name);                           \
    void *self = NULL;                                                    \
    if (table == NULL) return 0;                                          \
    if (table->create == NULL) return entry->arguments[0] == '\0';        \
    if (table->create(table, ctx, entry->arguments, &self) < 0) return 0; \
    if (table->destroy != NULL) table->destroy(self);                     \
    return 1

static int heuristic_works(rill_context *ctx, const rill_chain_entry *entry)
{
    WORKS(rill_heuristic, rill_find_heuristic);
}

static int scorer_works(rill_context *ctx, const rill_chain_entry *entry)
{
    WORKS(rill_scorer, rill_find_scorer);
}

static int policy_works(rill_context *ctx, const rill_chain_entry *entry)
{
    WORKS(rill_policy, rill_find_policy);
}

/* The entry that the message is about: it fails alone, and is named. -1: none. */
static int32_t find_culprit(rill_context *ctx, const rill_script_chain *chain, const char *message,
                            int (*works)(rill_context *, const rill_chain_entry *))
{
    for (int32_t i = 0; i < chain->n; i++)
        if (strstr(message, chain->entry[i].name) != NULL && !works(ctx, &chain->entry[i])) return i;
    return -1;
}

void rill_script_config_blame(rill_script *script, const rill_script_config *config)
{
    rill_context *ctx = script->ctx;
    char message[SCRIPT_MESSAGE_MAX], path[SCRIPT_NAME_MAX] = "";
    rill_status status = rill_error_status(ctx);
    snprintf(message, sizeof message, "%s", rill_error(ctx));
    int32_t heuristic = find_culprit(ctx, &config->heuristics, message, heuristic_works);
    int32_t scorer = find_culprit(ctx, &config->scorers, message, scorer_works);
    int32_t policy = find_culprit(ctx, &config->policy, message, policy_works);
    if (heuristic >= 0)
        snprintf(path, sizeof path, "heuristics[%d]", (int)heuristic + 1);
    else if (scorer >= 0)
        snprintf(path, sizeof path, "scorers[%d]", (int)scorer + 1);
    else if (policy >= 0)
        snprintf(path, sizeof path, "policy");
    if (path[0] != '\0') script_config_fail(script, path, message);
    rill_fail(ctx, status, "%s", path[0] != '\0' ? rill_error(ctx) : message);
}
