/* A program that versions.py compiles against several versions of the headers. It fills every struct that a program
 * makes, reads every struct that librill makes, and uses no struct's last member. */
#include <stdio.h>
#include <string.h>

#include "rill/rill.h"
#include "rill/script.h"

static const char *const inputs[] = {"how big is texas", "what state has the highest population",
                                     "which rivers are in ohio"};
enum { INPUTS = sizeof inputs / sizeof *inputs };

typedef struct program {
    rill_context *ctx;
    rill_settings own; /* settings of every second input */
    int read, reports;
} program;

static void count_report(void *user, const rill_progress *progress)
{
    program *p = user;
    p->reports += progress->timestep > 0;
}

static rill_status read_input(void *user, int may_block, rill_request *request)
{
    program *p = user;
    (void)may_block;
    if (p->read == INPUTS) return RILL_END_OF_INPUT;
    *request = (rill_request){
        .struct_size = sizeof *request, .text = inputs[p->read], .user = p, .progress = count_report};
    request->length = strlen(request->text);
    if (p->read++ % 2 == 1) request->settings = &p->own;
    return RILL_OK;
}

static rill_status print_result(void *user, const rill_result *result)
{
    (void)user;
    if (result->status < 0) printf("%d: %s\n", (int)result->id, result->message);
    for (int32_t i = 0; i < result->n_outputs; i++) {
        const rill_output *o = rill_result_output(result, i);
        printf("%d: %s score %.4f logp %.4f, %d ids, %s\n", (int)result->id, o->text, o->score, o->logp, (int)o->n_ids,
               rill_finish_reason_name(o->finish_reason));
    }
    if (rill_result_output(result, result->n_outputs) != NULL || rill_result_output(result, -1) != NULL)
        printf("an output that is none\n");
    return RILL_OK;
}

static rill_status run(program *p, const char *model, rill_workers **workers)
{
    /* The bytes after a program's struct may have any value. */
    struct {
        rill_engine_setup setup;
        char after[64];
    } own;
    const rill_script_options script_options = {.struct_size = sizeof script_options, .memory = 1 << 20};
    const rill_open_options open = {.struct_size = sizeof open, .path = model, .threads = 1};
    const rill_workers_options options = {.struct_size = sizeof options, .workers = 2};
    rill_script *script;
    rill_status status = rill_register_builtins(p->ctx);
    if (status >= 0) status = rill_workers_open(workers, p->ctx, "semparse", &open, &options);
    if (status >= 0) status = rill_script_load_text(&script, p->ctx, "s.lua", "local a = 1", 11, &script_options);
    memset(&own, 0x5a, sizeof own);
    rill_engine_setup_default(&own.setup);
    rill_settings_default(&p->own);
    if (status >= 0) status = rill_settings_set(p->ctx, &own.setup.settings, "beam-size", "4");
    if (status >= 0) status = rill_settings_set(p->ctx, &p->own, "num-samples", "3");
    for (size_t i = 0; i < sizeof own.after; i++)
        if (own.after[i] != 0x5a) printf("written past the setup\n");
    own.setup.settings.n_best = 2;
    const rill_engine_setup *const setups[] = {&own.setup, &own.setup};
    if (status >= 0) status = rill_workers_begin(*workers, setups);
    if (status >= 0) status = rill_workers_run_requests(*workers, read_input, p, print_result, p);
    return status;
}

int main(int argc, char **argv)
{
    program p = {0};
    rill_workers *workers = NULL;
    struct {
        rill_stats stats;
        char after[64];
    } counts;
    rill_cost cost = {.struct_size = sizeof cost};
    const rill_context_options options = {.struct_size = sizeof options};
    if (argc != 2 || rill_context_create(&p.ctx, &options) < 0) {
        /* without a context there is no message, only a status */
        fprintf(stderr, "%s: rebuild the program\n", rill_status_name(RILL_ERR_ABI));
        return 1;
    }
    const rill_status status = run(&p, argv[1], &workers);
    if (status >= 0) {
        memset(&counts, 0x5a, sizeof counts);
        counts.stats.struct_size = sizeof counts.stats;
        rill_workers_stats(workers, &counts.stats);
        rill_settings_cost(rill_workers_settings(workers), rill_model_info(rill_workers_model(workers)), 5, &cost);
        printf("%d inputs, %d expansions, at most %.0f steps, %d reports\n", (int)counts.stats.inputs,
               (int)counts.stats.expansions, cost.steps, p.reports);
        for (size_t i = 0; i < sizeof counts.after; i++)
            if (counts.after[i] != 0x5a) printf("written past the statistics\n");
    } else {
        fprintf(stderr, "%s\n", rill_error(p.ctx));
    }
    rill_workers_close(workers);
    rill_context_destroy(p.ctx);
    return status < 0;
}
