/* Fuzz target: any text as a script with small limits. Its declarations are then used: heuristics, scorers and
 * schedulers with the toy domain, domains alone.
 *
 * For any text: no crash, no hang, no leak, and a message for each failure. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "rill/engine.h"
#include "rill/plugin.h"
#include "rill/run.h"
#include "rill/script.h"
#include "support/toy_domain.h"

/* --- using what was declared -------------------------------------------------------------------------------------- */

static rill_status read_line(void *user, int may_block, const char **text, size_t *length)
{
    static const char *const lines[] = {"first", "second one", "!bad", "the fourth"};
    size_t *next = user;
    (void)may_block;
    if (*next == sizeof lines / sizeof *lines) return RILL_END_OF_INPUT;
    *text = lines[(*next)++];
    *length = strlen(*text);
    return RILL_OK;
}

static rill_status drop_result(void *user, const rill_result *result)
{
    (void)user;
    (void)result;
    return RILL_OK;
}

static void run(rill_context *ctx, rill_model *model, const rill_engine_setup *setup)
{
    rill_engine *engine = NULL;
    size_t next = 0;
    rill_status status = rill_engine_create(&engine, ctx, model, setup);
    if (status == RILL_OK) status = rill_run(engine, read_line, &next, drop_result, NULL);
    if (status < 0) require(rill_error(ctx)[0] != '\0');
    rill_engine_destroy(engine);
}

typedef struct plugin_use {
    const char *domain; /* NULL: the toy domain */
    rill_chain_entry heuristic, scorer, scheduler;
} plugin_use;

static void use(rill_context *ctx, const plugin_use *u)
{
    rill_model *model = NULL;
    rill_open_options options = {.struct_size = sizeof options,
                                 .arguments = u->domain ? NULL : "seed=7 actions=6 depth=5"};
    if (rill_model_open(&model, ctx, u->domain != NULL ? u->domain : "toy", &options) < 0) {
        require(rill_error(ctx)[0] != '\0');
        return;
    }
    rill_engine_setup setup;
    rill_engine_setup_default(&setup);
    setup.settings.k = 3;
    setup.settings.n = 2;
    setup.settings.max_items = 3;
    setup.heuristics = &u->heuristic;
    setup.n_heuristics = u->heuristic.name != NULL;
    setup.scorers = &u->scorer;
    setup.n_scorers = u->scorer.name != NULL;
    if (u->scheduler.name != NULL) setup.scheduler = &u->scheduler;
    run(ctx, model, &setup);
    rill_model_close(model);
}

enum { MAX_USED = 3 };

static void use_all(rill_context *ctx, rill_registry_mark mark)
{
    const rill_heuristic *h;
    const rill_scorer *s;
    const rill_scheduler *p;
    const rill_domain *d;
    for (size_t i = 0; i < MAX_USED && (h = rill_heuristic_at(ctx, mark.heuristics + i)) != NULL; i++)
        use(ctx, &(plugin_use){.heuristic = {h->name, h->arguments[0] != 0 ? "1" : ""}});
    for (size_t i = 0; i < MAX_USED && (s = rill_scorer_at(ctx, mark.scorers + i)) != NULL; i++)
        use(ctx, &(plugin_use){.scorer = {s->name, s->arguments[0] != 0 ? "1" : ""}});
    for (size_t i = 0; i < MAX_USED && (p = rill_scheduler_at(ctx, mark.schedulers + i)) != NULL; i++)
        use(ctx, &(plugin_use){.scheduler = {p->name, ""}});
    for (size_t i = 0; i < MAX_USED && (d = rill_domain_at(ctx, mark.domains + i)) != NULL; i++)
        use(ctx, &(plugin_use){.domain = d->name});
}

/* --- the target --------------------------------------------------------------------------------------------------- */

/* The C library's allocator, with the sum of sizes: a leak checker cannot see blocks within the library's chunks. */
static void *allocate(void *user, void *block, size_t old_size, size_t new_size)
{
    size_t *held = user;
    void *fresh = new_size > 0 ? aligned_alloc(64, (new_size + 63) / 64 * 64) : NULL;
    if (new_size > 0 && fresh == NULL) return NULL;
    if (fresh != NULL && block != NULL) memcpy(fresh, block, old_size < new_size ? old_size : new_size);
    free(block);
    *held += new_size - old_size;
    return fresh;
}

static void ignore_line(void *user, const char *line)
{
    (void)user;
    require(strchr(line, '\n') == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const rill_script_options small = {
        .struct_size = sizeof small, .memory = 4 << 20, .instructions = 400000, .print = ignore_line};
    size_t held = 0;
    rill_context_options options = {.struct_size = sizeof options, .allocate = allocate, .allocate_user = &held};
    rill_context *ctx;
    rill_script *script;
    require(rill_context_create(&ctx, &options) == RILL_OK);
    require(rill_register_core(ctx) == RILL_OK && rill_register_domain(ctx, &toy_domain) == RILL_OK);
    rill_registry_mark mark = rill_registry_size(ctx), after;
    if (rill_script_load_text(&script, ctx, "fuzz.lua", (const char *)data, size, &small) == RILL_OK) {
        use_all(ctx, mark);
        require(rill_script_memory(script) <= small.memory);
    } else {
        after = rill_registry_size(ctx);
        require(memcmp(&mark, &after, sizeof mark) == 0 && strstr(rill_error(ctx), "fuzz.lua") != NULL);
    }
    rill_context_destroy(ctx);
    require(held == 0 && toy_report_get()->violations == 0);
    return 0;
}
